//! Random plans on the model of the API server: whatever goes wrong, every promise is kept (design 04, 4.2).
//!
//! `CIRCLE` says how many are played (`circle.rs`), or `make sim SEEDS=100000 FIRST=5000` so many from there on.
//! `make sim-one SEED=17` plays one and prints it, `make sim-one PLAN=FILE` one from a file; with `SHRINK=1` the smallest that
//! breaks the same promise, and with `SHRINK=0` those that are found are printed as they are. `make sim REACH="seat Held:
//! creation ok; reason Running"` looks for plans that reach these, and prints the smallest part of each that does; with
//! `PLAN=FILE` among those of this file that differ in their seed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::circle::{FIXED, number, size, variable};
use crate::sim::coverage::{Reached, could_be, gaps, untrue};
use crate::sim::draw::draw;
use crate::sim::oracle::Violation;
use crate::sim::pair;
use crate::sim::plan::Plan;
use crate::sim::run::{Played, play, play_and_look, play_closely};
use crate::sim::shrink::{shrink, smallest};
use crate::sim::sweep::{each, first_that};

/// How many steps the fixed plans take at least.
const STEPS: u64 = 10_000_000;
/// In how many of them at least what a queue is promised decides who is served: less shows little of the order of queues (L8). About
/// half of how often it is so, which each run says.
const CONTENDED: u64 = 500;
/// Fresh plans are none of the fixed ones.
const FRESH_FROM: u64 = 1_000_000_000;
/// Most broken plans that are named.
const NAMED: usize = 40;
/// What can be looked for, for example.
const TRY: &str = "one of \"seat Held: creation ok\", \"reason WaitingForQuota\", \"call delete pods: late\", as tests/sim/coverage.rs and \
                   tests/sim/heard.rs list them";

#[test]
fn whatever_goes_wrong_every_promise_is_kept() {
    let plan = variable("PLAN").map(|path| read(Path::new(&path)));
    if let (Some(plan), None) = (&plan, variable("REACH")) {
        return show(plan);
    }
    if let Some(seed) = number("SEED") {
        return show(&draw(seed));
    }
    if let Some(what) = variable("REACH") {
        let first = number("FIRST").unwrap_or(0);
        let of_seed = |seed| plan.as_ref().map_or_else(|| draw(seed), |plan| plan.with_seed(seed));
        return find(&what, first..first + number("SEEDS").unwrap_or(FIXED), &of_seed);
    }
    let parts = match number("SEEDS") {
        Some(0) => panic!("SEEDS is how many plans to play, from 1 on"),
        Some(count) => parts(number("FIRST").unwrap_or(0), count),
        None => {
            let fresh = fresh(size().fresh);
            let of_two = |first: u64, count: u64| pair::FROM + first..pair::FROM + first + count / 10;
            let two = [of_two(0, size().plans), of_two(fresh.start, size().fresh)];
            [0..size().plans, fresh].into_iter().chain(two).collect()
        }
    };
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let played: Vec<_> = parts.map(|seeds| (seeds.clone(), play_all(seeds))).collect();
    played.iter().for_each(|(seeds, sum)| keeps_every_promise(seeds, sum));
}

/// The fixed plans apart: of these it is known what they reach.
fn parts(first: u64, count: u64) -> Vec<Range<u64>> {
    let cut = if first == 0 { count.min(FIXED) } else { first };
    vec![first..cut, cut..first + count]
}

/// Of each of these, separated by `;`, prints the smallest part of the first plan that reaches it and breaks no promise.
fn find(all: &str, seeds: Range<u64>, of_seed: &(impl Fn(u64) -> Plan + Sync)) {
    let all: Vec<&str> = all.split(';').map(str::trim).collect();
    let unknown: Vec<&&str> = all.iter().filter(|what| !could_be(what)).collect();
    assert!(unknown.is_empty(), "{unknown:?} is nothing that can be reached: {TRY}");
    let found = Mutex::new(BTreeMap::new());
    let count = seeds.end - seeds.start;
    let sign = |begun| say(&format!("{begun} of {count} plans begun"));
    first_that(seeds, sign, |seed| {
        let played = play_and_look(&of_seed(seed));
        let reached = |what: &&&str| played.violation.is_none() && played.reached.contains(**what);
        let mut found = found.lock().expect("nobody fails over a map");
        for what in all.iter().filter(reached) {
            found.entry(*what).or_insert_with(|| {
                say(&format!("seed {seed} reaches {what:?}"));
                seed
            });
        }
        found.len() == all.len()
    });
    let found = found.into_inner().expect("as above");
    for (what, seed) in &found {
        let reaches = |plan: &Plan| {
            let played = play_and_look(plan);
            played.violation.is_none() && played.reached.contains(*what)
        };
        println!("# {what}\n{}", smallest(&of_seed(*seed), reaches).text());
    }
    let missed: Vec<_> = all.iter().filter(|what| !found.contains_key(**what)).collect();
    assert!(missed.is_empty(), "no plan of {count} reaches {missed:?}");
}

/// Plans that no other source has had before: `FRESH` is a number made of all that is committed, so that what was red is red
/// again, and what was green stays green until something changes. Without it, the time.
fn fresh(count: u64) -> Range<u64> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_secs();
    let first = FRESH_FROM + number("FRESH").unwrap_or_else(now) * count;
    first..first + count
}

/// What these plans came to is what was promised; of the first that breaks a promise the smallest part that does is printed.
fn keeps_every_promise(seeds: &Range<u64>, Sum { steps, contended, writes: _, broken, reached }: &Sum) {
    if let Some((seed, _)) = broken.first() {
        let plan = draw(*seed);
        let small = if variable("SHRINK").as_deref() == Some("0") { plan } else { shrink(&plan) };
        let violation = play(&small, false).violation.expect("it broke a promise before");
        let circle = variable("CIRCLE").map_or_else(String::new, |circle| format!("CIRCLE={circle} "));
        let again = format!(
            "again: {circle}make sim-one SEED={seed} SHRINK=1, or, of a file with the above: {circle}make sim-one PLAN=FILE"
        );
        panic!("seed {seed} breaks {}: {}\n{}\n{again}", violation.promise, violation.what, small.text());
    }
    assert_eq!(untrue(reached), Vec::<String>::new());
    if *seeds == (0..FIXED) {
        assert!(*steps >= STEPS, "{steps} steps: the plans have become shorter");
        assert!(
            *contended >= CONTENDED,
            "a promise decides in {contended} steps, and {CONTENDED} are asked for: the plans have become emptier, or CONTENDED, and the \
             row of L8 in docs/verification.md, are to be {}",
            contended / 2
        );
        let rare = plans("reached").into_iter().flat_map(|(_, plan)| play_and_look(&plan).reached);
        assert_eq!(gaps(&rare.chain(reached.iter().cloned()).collect()), Vec::<String>::new());
    }
}

/// Says it, also where the words of tests that pass are kept.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("it can be written to");
}

/// What many plays came to.
#[derive(Default)]
struct Sum {
    steps: u64,
    contended: u64,
    writes: usize,
    broken: Vec<(u64, Violation)>,
    reached: Reached,
}

impl Sum {
    fn add(&mut self, seed: u64, played: Played) {
        let Played { violation, steps, contended, writes, calls: _, reached } = played;
        self.steps += steps;
        self.contended += contended;
        self.writes += writes.len();
        self.reached.extend(reached);
        let Some(violation) = violation else { return };
        if self.broken.len() < NAMED {
            let line = violation.what.lines().next().unwrap_or_default();
            say(&format!("seed {seed}: {} {line:.200}", violation.promise));
        }
        self.broken.push((seed, violation));
    }
}

/// Plays the plans of these seeds, and says what they came to; what is broken in the order of the seeds.
fn play_all(seeds: Range<u64>) -> Sum {
    let begun = Instant::now();
    let (sum, first, count) = (Mutex::new(Sum::default()), seeds.start, seeds.end - seeds.start);
    let sum_so_far = || sum.lock().expect("a play catches its panics");
    let sign = |begun| say(&format!("{begun} of {count} plans begun, {} broken so far", sum_so_far().broken.len()));
    each(seeds, sign, |seed| {
        let played = play_and_look(&draw(seed));
        sum_so_far().add(seed, played);
    });
    let mut sum = sum.into_inner().expect("a play catches its panics");
    sum.broken.sort_by_key(|(seed, _)| *seed);
    let (Sum { steps, contended, writes, broken, .. }, took) = (&sum, begun.elapsed());
    let (broke, most) = (broken.len(), contended * FIXED / count.max(1));
    say(&format!("{count} plans from {first} on, {steps} steps, {writes} writes, {took:.1?}: {broke} broken"));
    say(&format!(
        "a promise decides in {contended} steps, so in some {most} of {FIXED} plans (CONTENDED is {CONTENDED}: half of that)"
    ));
    sum
}

/// Every bug that the simulation found is a plan that failed before its fix; so is what its judges took for one, and what is
/// known and excused. The pages tell of each.
#[test]
fn plans_that_broke_a_promise_once_keep_it() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let read = |page| fs::read_to_string(docs.join(page)).expect("the page is there");
    let pages = ["verification.md", "known-breaks.md"].map(read).concat();
    let plans = plans("plans");
    assert!(plans.len() >= 50, "{} plans", plans.len());
    for (path, plan) in plans {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(
            pages.contains(&format!("`{name}`")),
            "neither docs/verification.md nor docs/known-breaks.md tells of {name}"
        );
        assert_eq!(play_closely(&plan).violation, None, "make sim-one PLAN={}", path.display());
    }
}

/// What shows a bug of another scheduler (`tests/rivals/`) breaks nothing without it.
#[test]
fn plans_of_the_bugs_of_others_break_nothing() {
    for (path, plan) in plans("rivals") {
        assert_eq!(play(&plan, false).violation, None, "make sim-one PLAN={}", path.display());
    }
}

/// What few or none of the fixed plans reach has one of its own, which is named after it.
#[test]
fn plans_reach_what_they_are_named_after() {
    for (path, plan) in plans("reached") {
        let played = play_and_look(&plan);
        assert_eq!(played.violation, None, "make sim-one PLAN={}", path.display());
        assert_eq!(untrue(&played.reached), Vec::<String>::new(), "{}", path.display());
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let alike: Vec<_> = played.reached.iter().filter(|what| what.starts_with("seat ")).collect();
        assert!(played.reached.iter().any(|what| slug(what) == name), "{name} is not reached, but {alike:?}");
    }
}

/// As a file is named: lower case, and nothing but hyphens between words.
fn slug(what: &str) -> String {
    let lower = what.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The plans in a directory beside the simulation.
fn plans(directory: &str) -> Vec<(PathBuf, Plan)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim").join(directory);
    let entries = fs::read_dir(&dir).expect("the plans are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let with_plan = |path: PathBuf| {
        let plan = read(&path);
        (path, plan)
    };
    paths.into_iter().map(with_plan).collect()
}

fn read(path: &Path) -> Plan {
    let text = fs::read_to_string(path).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    Plan::parse(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()))
}

fn show(plan: &Plan) {
    let plan = if variable("SHRINK").is_some_and(|text| text != "0") { shrink(plan) } else { plan.clone() };
    println!("{}", plan.text());
    let violation = play(&plan, true).violation;
    assert_eq!(violation.or_else(|| play_closely(&plan).violation), None);
}

#[test]
fn a_plan_is_its_text() {
    let plan = draw(1);
    assert_eq!(Plan::parse(&plan.text()), Ok(plan));
}
