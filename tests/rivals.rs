//! Bugs of other schedulers, put back in on purpose (`src/rivals.rs`): each breaks a promise in its plan, which holds
//! without it.
//!
//! `make reinject` looks for each anew, and writes the smallest plan that shows it and the table of
//! `docs/verification.md`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, panic};

use gangline::rivals::{Bug, with};

use crate::sim::draw::draw;
use crate::sim::plan::Plan;
use crate::sim::run::play;
use crate::sim::shrink::shrink;
use crate::sim::sweep::first_that;

/// A bug is to be found within so many plans.
const PLANS_MAX: u64 = 10_000;
/// Where the table begins and ends in the page.
const TABLE: [&str; 2] = ["<!-- make reinject: begin -->\n", "<!-- make reinject: end -->\n"];

/// A bug, whose it is, and what it did there.
type Known = (Bug, &'static str, &'static str);

/// All of them, in the order of the table.
const KNOWN: &[Known] = &[
    (Bug::ActsOnHalfAPicture, "k8s #137308", "A new leader decides before it has seen everything"),
    (Bug::NodesLookFree, "kueue #5104, #5276", "After a restart, cache filled in the wrong order, all nodes look free"),
    (Bug::ForeignPodsMissing, "YUNIKORN-3317", "Pods of other schedulers are not known"),
    (Bug::CordonIsMissed, "YUNIKORN-3269", "That a node is cordoned is not seen"),
    (Bug::ListBuriesNobody, "YUNIKORN-3374", "After a node flapped, pods that are gone stay assumed"),
    (Bug::OnlyTheLeafCounts, "volcano #3932", "Of the limits of a queue and those above it only its own is checked"),
    (Bug::QuotaAtRecovery, "YUNIKORN-3228", "Recovery rejects what runs beyond a quota"),
    (Bug::ReadmitsTheFinished, "kueue #1654", "A restart admits finished work again"),
    (Bug::RunningGangReservesAgain, "YuniKorn P3, S1", "A restart reserves again for a gang that runs"),
    (Bug::FoundPlaceholdersGo, "YUNIKORN-1161, -1197", "A restart replaces placeholders that hold seats"),
    (Bug::EarlierLifeCounts, "YuniKorn P16", "What is left of an application counts for the next with its id"),
    (Bug::OldSpecStays, "volcano #6010", "With an old PodGroup in the cache its old policy holds"),
    (Bug::MembersBindAlone, "volcano #6010", "With an old PodGroup in the cache a part of a gang is bound"),
    (Bug::HalfAGangStarts, "YuniKorn P2, S4", "One placeholder that is taken away starts half a gang"),
    (Bug::RefusalStartsTheGang, "YuniKorn P5, S10", "One placeholder that is refused starts a part of a gang"),
    (Bug::HoldsAndWaits, "YuniKorn P8, S5", "Two gangs hold a part each, and wait for each other"),
    (Bug::LargeMemberDropsTheSeats, "YuniKorn P10, S11", "One larger member drops all seats of its gang"),
    (Bug::LostPlaceholderIsAwaited, "YuniKorn P1, S3", "A placeholder that is deleted while it waits is waited for"),
    (Bug::LateCreationStays, "YuniKorn P15", "Placeholders that were being created when the gang gave up stay"),
    (Bug::CreatesOnceMore, "k8s #129795", "What was created is not seen, and created again"),
    (Bug::CounterDrifts, "YUNIKORN-2926, -2953", "Counters of placeholders drift"),
    (Bug::SwapIsNotCounted, "kueue #14609", "What is used is counted too low for ever"),
    (Bug::SwapsOntoALostNode, "YuniKorn P6, S9", "A node that goes in the middle of a swap ends the process"),
    (Bug::BindsToALostNode, "YUNIKORN-2171", "A node is removed while something is placed on it"),
    (Bug::AssumedPodExpires, "k8s #106361", "A slow Binding expires, and its room is given away"),
    (Bug::FailedBindIsForgotten, "k8s #49314", "A pod whose Binding failed is stuck for ever"),
    (Bug::FailedBindKeepsItsRoom, "k8s #28883", "A Binding that failed corrupts the cache"),
    (Bug::SaidToRun, "volcano #4383", "A pod fails to be bound, and its PodGroup says Running"),
    (Bug::EndedStaysCharged, "YUNIKORN-1993, -3036", "What has ended stays in the use of its queue"),
    (Bug::EndsWithPendingPods, "YUNIKORN-1205", "An application completes while its pods wait"),
    (Bug::LeftoversStay, "YUNIKORN-1900", "An application completes, and what it had placed is orphaned"),
    (Bug::NewNodeWakesNobody, "volcano #1689", "Some jobs are not scheduled until a restart"),
    (Bug::NameIsEnough, "k8s #102761", "A pod that was made anew is taken for the earlier one of its name"),
    (Bug::EndsForEver, "kuberay #5301", "A job that comes again under an id that has ended is never placed"),
];

/// A plan in which a bug is found.
struct Found {
    /// How many plans were played until one broke a promise.
    plans: u64,
    promise: String,
    plan: Plan,
}

#[test]
fn the_simulation_finds_the_bugs_of_others() {
    if std::env::var_os("REINJECT").is_some() {
        let missed: Vec<_> = KNOWN.iter().filter(|known| !find_anew(known)).map(|(bug, ..)| bug).collect();
        fs::write(page(), with_table(&table())).expect("the page can be written");
        assert!(missed.is_empty(), "not found within {PLANS_MAX} plans: {missed:?}");
        return;
    }
    for known @ (bug, ..) in KNOWN {
        let Found { plan, promise, .. } = read(known);
        let broken = || play(&plan, false).violation.map(|violation| violation.promise);
        assert_eq!(with(*bug, broken), Some(&*promise), "{bug:?} in {}", path(*bug).display());
        assert_eq!(broken(), None, "without {bug:?} in {}", path(*bug).display());
    }
    let plans = path(KNOWN[0].0).with_file_name("");
    assert_eq!(fs::read_dir(plans).expect("they are there").count(), KNOWN.len(), "a plan of no bug");
    let stale = "the page is not what the plans say: make reinject";
    assert!(with_table(&table()) == fs::read_to_string(page()).expect("the page is there"), "{stale}");
}

/// Looks for a bug, and writes the smallest plan that shows it. Whether there is one.
fn find_anew(known: &Known) -> bool {
    let (bug, begun) = (known.0, Instant::now());
    say(&format!("{bug:?} "));
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
fn search(bug: Bug) -> Option<u64> {
    first_that(0..PLANS_MAX, |_| say("."), |seed| with(bug, || play(&draw(seed), false)).violation.is_some())
}

/// Prints a part of a line at once.
fn say(text: &str) {
    print!("{text}");
    std::io::stdout().flush().expect("somebody looks");
}

/// Where the plan of a bug is kept.
fn path(bug: Bug) -> PathBuf {
    let mut name = String::new();
    for letter in format!("{bug:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/sim/rivals/{name}.plan"))
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/verification.md")
}

/// A plan as it is kept: three lines for people and for the table, then the plan.
fn text((_, source, what): &Known, Found { plans, promise, plan }: &Found) -> String {
    format!("# {source}: {what}\n# plans until found: {plans}\n# breaks: {promise}\n{}", plan.text())
}

/// Inverse of [`text`].
fn read(known: &Known) -> Found {
    let path = path(known.0);
    let kept = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is not there: make reinject", path.display()));
    let of = |name: &str| kept.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let plan = Plan::parse(&kept).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    let plans = of("# plans until found: ").parse().expect("a number");
    let found = Found { plans, promise: of("# breaks: "), plan };
    assert_eq!(text(known, &found), kept, "{} is not as it would be written: make reinject", path.display());
    found
}

fn table() -> String {
    let rows = KNOWN.iter().filter(|known| path(known.0).exists()).map(|known @ (_, source, what)| {
        let Found { plans, promise, .. } = read(known);
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
