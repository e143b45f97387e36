//! Random plans on the model of the API server: whatever goes wrong, every promise is kept (design 04, 4.2).
//!
//! `make sim SEEDS=100000 FIRST=5000` plays so many from there on. `make sim-one SEED=17` plays one and prints it,
//! `make sim-one PLAN=FILE` one from a file; with `SHRINK=1` the smallest that breaks the same promise, and with `SHRINK=0`
//! those that are found are printed as they are. `make sim REACH="seat Held: creation ok"` looks for a plan that reaches this,
//! and prints the smallest part of it that does.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use std::{iter, thread};

use crate::sim::coverage::{Reached, gaps};
use crate::sim::draw::draw;
use crate::sim::oracle::Violation;
use crate::sim::plan::Plan;
use crate::sim::run::{Played, play, play_and_look};
use crate::sim::shrink::{shrink, smallest};

/// How many plans every run of the tests plays, always the same ones.
const SEEDS: u64 = 20_000;
/// How many steps these take at least.
const STEPS: u64 = 10_000_000;
/// How many more it plays, others each time.
const FRESH: u64 = 300;
/// Fresh plans are none of the fixed ones.
const FRESH_FROM: u64 = 1_000_000_000;
/// Plans that break a promise and are not repaired yet (docs/verification.md); one that does not any more leaves the list.
const KNOWN: &[(u64, &str)] = &[];
/// Most broken plans that are named.
const NAMED: usize = 40;

#[test]
fn whatever_goes_wrong_every_promise_is_kept() {
    if let Some(path) = variable("PLAN") {
        let text = std::fs::read_to_string(path).expect("a file that can be read");
        return show(&Plan::parse(&text).expect("a plan"));
    }
    if let Some(seed) = number("SEED") {
        return show(&draw(seed));
    }
    if let Some(what) = variable("REACH") {
        return find(&what, number("FIRST").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS));
    }
    if let Some(count) = number("SEEDS") {
        return keeps_every_promise(number("FIRST").unwrap_or(0), count);
    }
    keeps_every_promise(0, SEEDS);
    keeps_every_promise(fresh(), FRESH);
}

/// Prints the smallest part of the first plan that reaches something and breaks no promise.
fn find(what: &str, first: u64, count: u64) {
    let reaches = |plan: &Plan| {
        let played = play_and_look(plan);
        played.violation.is_none() && played.reached.contains(what)
    };
    let plan = (first..first + count).map(draw).find(reaches).expect("a plan that reaches it");
    println!("{}", smallest(&plan, reaches).text());
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    variable(name).map(|text| text.parse().expect("a number"))
}

/// Where the fresh plans begin: a number that no run has had before.
fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    FRESH_FROM + since.as_secs() * FRESH
}

/// Plays so many plans, and prints the smallest part of the first that breaks a promise.
fn keeps_every_promise(first: u64, count: u64) {
    let begun = Instant::now();
    let played = play_all(first..first + count);
    let steps: u64 = played.iter().map(|(_, one)| one.steps).sum();
    let writes: usize = played.iter().map(|(_, one)| one.writes).sum();
    let broken: Vec<_> =
        played.iter().filter_map(|(seed, one)| one.violation.as_ref().map(|violation| (*seed, violation))).collect();
    let (took, broke) = (begun.elapsed(), broken.len());
    say(&format!("{count} plans from {first} on, {steps} steps, {writes} writes, {took:.1?}: {broke} broken"));
    for (seed, violation) in broken.iter().take(NAMED) {
        let line = violation.what.lines().next().unwrap_or_default();
        say(&format!("seed {seed}: {} {line:.200}", violation.promise));
    }
    let reached: Reached = played.iter().flat_map(|(_, one)| one.reached.clone()).collect();
    let is_known = |seed: u64, promise: &str| KNOWN.contains(&(seed, promise));
    let found = broken.iter().filter(|(seed, violation)| is_known(*seed, violation.promise)).count();
    let expected = KNOWN.iter().filter(|(seed, _)| (first..first + count).contains(seed)).count();
    assert_eq!(found, expected, "a known plan keeps its promise: take it off the list");
    if let Some((seed, _)) = broken.iter().find(|(seed, violation)| !is_known(*seed, violation.promise)) {
        let plan = draw(*seed);
        let small = if variable("SHRINK").as_deref() == Some("0") { plan } else { shrink(&plan) };
        let violation = play(&small, false).violation.expect("it broke a promise before");
        let again =
            format!("again: make sim-one SEED={seed} SHRINK=1, or, of a file with the above: make sim-one PLAN=FILE");
        panic!("seed {seed} breaks {}: {}\n{}\n{again}", violation.promise, violation.what, small.text());
    }
    if count >= SEEDS {
        assert!(steps >= STEPS, "{steps} steps: the plans have become shorter");
        let rare = plans("reached").into_iter().flat_map(|(_, plan)| play_and_look(&plan).reached);
        assert_eq!(gaps(&reached.into_iter().chain(rare).collect()), Vec::<String>::new());
    }
}

/// Says it, also where the words of tests that pass are kept.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("it can be written to");
}

/// What is kept of a play.
struct Outcome {
    violation: Option<Violation>,
    steps: u64,
    writes: usize,
    reached: Reached,
}

impl Outcome {
    fn of(played: Played) -> Self {
        let Played { violation, steps, writes, calls: _, reached } = played;
        Self { violation, steps, writes: writes.len(), reached }
    }
}

/// Plays the plans of these seeds on all processors; in the order of the seeds.
fn play_all(seeds: Range<u64>) -> Vec<(u64, Outcome)> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    // Some plans take longer than others: who is done takes the next.
    let next = AtomicU64::new(seeds.start);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| seeds.contains(seed));
    let play = |seed| (seed, Outcome::of(play_and_look(&draw(seed))));
    let mut played: Vec<(u64, Outcome)> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| iter::from_fn(take).map(play).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a play catches its panics")).collect()
    });
    played.sort_by_key(|(seed, _)| *seed);
    played
}

/// Every bug that the simulation found is a plan that failed before its fix.
#[test]
fn plans_that_broke_a_promise_once_keep_it() {
    let plans = plans("plans");
    assert!(plans.len() >= 8, "{} plans", plans.len());
    for (path, plan) in plans {
        assert_eq!(play(&plan, false).violation, None, "make sim-one PLAN={}", path.display());
    }
}

/// What few or none of the fixed plans reach has one of its own, which is named after it.
#[test]
fn plans_reach_what_they_are_named_after() {
    for (path, plan) in plans("reached") {
        let played = play_and_look(&plan);
        assert_eq!(played.violation, None, "make sim-one PLAN={}", path.display());
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(played.reached.iter().any(|what| slug(what) == name), "{name} is not reached");
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
    let entries = std::fs::read_dir(&dir).expect("the plans are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a file that can be read");
        let plan = Plan::parse(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        (path, plan)
    };
    paths.into_iter().map(read).collect()
}

fn show(plan: &Plan) {
    let plan = if variable("SHRINK").is_some_and(|text| text != "0") { shrink(plan) } else { plan.clone() };
    println!("{}", plan.text());
    let played = play(&plan, true);
    assert_eq!(played.violation, None);
}

#[test]
fn a_plan_is_its_text() {
    let plan = draw(1);
    assert_eq!(Plan::parse(&plan.text()), Ok(plan));
}
