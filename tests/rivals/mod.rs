//! Bugs of other schedulers, put back in on purpose: each breaks a promise in its plan, which holds without it. Played in
//! the copy that `scripts/rivals` makes, with the patches beside this file.
//!
//! `make reinject` looks for each anew, and writes the smallest plan that shows it and the table of
//! `docs/verification.md`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
use std::{env, fs, panic};

use gangline::rivals::with;

use crate::circle::variable;
use crate::fits::{KINDS, outcome};
use crate::sim::acts::Act;
use crate::sim::draw::draw;
use crate::sim::oracle::planted;
use crate::sim::plan::Plan;
use crate::sim::run::play;
use crate::sim::same::{deeds, digest};
use crate::sim::shrink::shrink;
use crate::sim::sweep::first_that;

/// A bug is to be found within so many plans.
const PLANS_MAX: u64 = 10_000;
/// Where the table begins and ends in the page.
const TABLE: [&str; 2] = ["<!-- rivals: begin -->\n", "<!-- rivals: end -->\n"];

/// A bug: the name of its patch, whose it is, and what it did there.
#[derive(Debug)]
struct Known {
    name: &'static str,
    source: String,
    what: String,
}

/// A plan in which a bug is found.
struct Found {
    /// How many plans were played until one broke a promise.
    plans: u64,
    promise: String,
    plan: Plan,
}

/// Nobody's: to see that two plays of a plan are compared. No promise says which of two equal nodes is taken.
const ARRIVAL_DECIDES: &str = "arrival-decides";
/// For which a search of every way is asked: a gang that waits for room is given plenty in each plan.
const ONE_GREEDY_ORDER: &str = "one-greedy-order";
/// For which judges of their own are asked.
const ENDED_STAYS_CHARGED: &str = "ended-stays-charged";

#[test]
fn the_simulation_finds_the_bugs_of_others() {
    let known = known();
    if env::var_os("REINJECT").is_some() {
        let only = variable("ONLY");
        let wanted = |bug: &&Known| only.as_ref().is_none_or(|only| only.split(' ').any(|name| name == bug.name));
        let missed: Vec<_> =
            known.iter().filter(wanted).filter(|known| !find_anew(known)).map(|known| known.name).collect();
        fs::write(page(), with_table(&table(&known))).expect("the page can be written");
        assert!(missed.is_empty(), "not found within {PLANS_MAX} plans: {missed:?}");
        return;
    }
    for bug in &known {
        let Found { plan, promise, .. } = read(bug);
        let broken = || play(&plan, false).violation.map(|violation| violation.promise);
        assert_eq!(with(bug.name, broken), Some(&*promise), "{} in its plan", bug.name);
        assert_eq!(broken(), None, "without {} in its plan", bug.name);
    }
    let plans = fs::read_dir(root().join("tests/sim/rivals")).expect("they are there");
    assert_eq!(plans.count(), known.len(), "a plan of no bug");
    if env::var_os("UPDATE").is_some() {
        fs::write(page(), with_table(&table(&known))).expect("the page can be written");
    }
    let stale = "the page is not what the plans say: UPDATE=1 make rivals";
    assert!(with_table(&table(&known)) == fs::read_to_string(page()).expect("the page is there"), "{stale}");
}

/// A choice that follows from what came first is noticed.
#[test]
fn an_order_that_counts_is_noticed() {
    let differs = |seed| {
        let plan = draw(seed);
        with(ARRIVAL_DECIDES, || deeds(&plan, None) != deeds(&plan, Some(seed)))
    };
    assert!((0..20).any(differs));
    let is_told = |seed| with(ARRIVAL_DECIDES, || digest(seed)) != digest(seed);
    assert!((0..20).any(is_told), "by the one number that another process prints");
}

/// A gang that fits, in another way than the first that comes to mind, waits for ever.
#[test]
fn one_greedy_order_is_noticed() {
    let is_missed = |seed| {
        let (_, is_possible, is_placed) = outcome(seed, KINDS[0]);
        is_possible && !is_placed
    };
    assert!((0..500).any(|seed| with(ONE_GREEDY_ORDER, || is_missed(seed))));
    assert!(!(0..500).any(is_missed));
}

#[test]
fn i7_the_books_do_not_add_up() {
    with(ENDED_STAYS_CHARGED, || {
        let mut world = planted::world(true);
        world.act(&Act::End { name: "single".to_owned(), well: true });
        world.run_for(1_000);
        world.check_books();
        let found = world.violation.take().expect("they are computed anew");
        assert!(found.promise == "I7" && found.what.contains("but its charge is"), "{found:?}");
        world.run_for(120_000);
        world.check_audits();
        let found = world.violation.expect("the process has looked");
        assert!(found.promise == "I7" && found.what.contains("a process found"), "{found:?}");
    });
}

/// What the patches say of themselves, in the order of their names.
fn known() -> Vec<Known> {
    let entries = fs::read_dir(root().join("tests/rivals")).expect("they are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a directory can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    paths.sort();
    let known = paths.into_iter().map(|path| {
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a patch is text");
        assert!(text.contains(&format!("crate::rivals::has({name:?})")), "{name}: its switch has its name");
        let said = text.lines().next().and_then(|line| line.split_once(": "));
        let (source, what) = said.unwrap_or_else(|| panic!("{name} does not begin with whose it is, and what it did"));
        Known { name: name.leak(), source: source.to_owned(), what: what.to_owned() }
    });
    known.filter(|known| ![ARRIVAL_DECIDES, ONE_GREEDY_ORDER].contains(&known.name)).collect()
}

/// Looks for a bug, and writes the smallest plan that shows it. Whether there is one.
fn find_anew(known: &Known) -> bool {
    let (bug, begun) = (known.name, Instant::now());
    say(&format!("{bug} "));
    let loud = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let found = search(bug).map(|seed| {
        let plan = with(bug, || shrink(&draw(seed)));
        let broken = with(bug, || play(&plan, false)).violation.expect("the whole plan broke a promise");
        (Found { plans: seed + 1, promise: broken.promise.to_owned(), plan }, broken.what)
    });
    panic::set_hook(loud);
    match &found {
        Some((Found { plans, promise, plan }, what)) => {
            let what = what.lines().next().unwrap_or_default();
            println!("{promise} after {plans} plans, {} acts, {:.1?}: {what:.300}", plan.acts.len(), begun.elapsed());
        }
        None => println!("not found, {:.1?}", begun.elapsed()),
    }
    let text = found.as_ref().map(|(found, _)| text(known, found));
    text.iter().for_each(|text| fs::write(path(bug), text).expect("the plan can be written"));
    found.is_some()
}

/// The first seed whose plan breaks a promise with the bug in.
fn search(bug: &'static str) -> Option<u64> {
    first_that(0..PLANS_MAX, |_| say("."), |seed| with(bug, || play(&draw(seed), false)).violation.is_some())
}

/// Prints a part of a line at once.
fn say(text: &str) {
    print!("{text}");
    std::io::stdout().flush().expect("somebody looks");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Where the plan of a bug is kept.
fn path(bug: &str) -> PathBuf {
    root().join(format!("tests/sim/rivals/{bug}.plan"))
}

fn page() -> PathBuf {
    root().join("docs/verification.md")
}

/// A plan as it is kept: three lines for people and for the table, then the plan.
fn text(Known { source, what, .. }: &Known, Found { plans, promise, plan }: &Found) -> String {
    format!("# {source}: {what}\n# plans until found: {plans}\n# breaks: {promise}\n{}", plan.text())
}

/// Inverse of [`text`].
fn read(known: &Known) -> Found {
    let path = path(known.name);
    let kept = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is not there: make reinject", path.display()));
    let of = |name: &str| kept.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let plan = Plan::parse(&kept).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    let plans = of("# plans until found: ").parse().expect("a number");
    let found = Found { plans, promise: of("# breaks: "), plan };
    assert_eq!(text(known, &found), kept, "{} is not as it would be written: make reinject", path.display());
    found
}

fn table(known: &[Known]) -> String {
    let rows = known.iter().filter(|known| path(known.name).exists()).map(|known| {
        let (Found { plans, promise, .. }, Known { source, what, .. }) = (read(known), known);
        format!("| {what} | {source} | {plans} | {promise} |\n")
    });
    format!("| Bug | Source | Plans until found | Breaks |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

/// The page with this table in its place.
fn with_table(table: &str) -> String {
    let page = fs::read_to_string(page()).expect("the page is there");
    let [begin, end] = TABLE;
    let (before, rest) = page.split_once(begin).expect("the table has a beginning");
    let (_, after) = rest.split_once(end).expect("the table has an end");
    format!("{before}{begin}{table}{end}{after}")
}
