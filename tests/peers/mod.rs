//! The behaviours of other gang schedulers, one by one, by the names of the tests that show each there: a page of `docs/` for each of
//! them. UPDATE=1 writes them anew.

mod coscheduling;
mod koordinator;
mod table;
mod yunikorn;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use table::{Peer, Row, Verdict};

static PEERS: [Peer; 3] = [yunikorn::PEER, koordinator::PEER, coscheduling::PEER];

/// Files of tests that are there for the tables: each test of them is in one.
const OWN: [&str; 5] =
    ["spec_dialects", "yunikorn/end_to_end", "yunikorn/objects", "yunikorn/partition", "yunikorn/shim"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn rows() -> impl Iterator<Item = &'static Row> {
    PEERS.iter().flat_map(Peer::rows)
}

/// How many rows of these have each verdict.
fn counts<'a>(rows: impl Iterator<Item = &'a Row>) -> [usize; Verdict::NAMES.len()] {
    let mut counts = [0; Verdict::NAMES.len()];
    for row in rows {
        let place = Verdict::NAMES.iter().position(|name| *name == row.verdict.name()).expect("each has a name");
        counts[place] += 1;
    }
    counts
}

/// The file of a test of ours, and its name there; a file alone has none.
fn place(ours: &str) -> (PathBuf, Option<&str>) {
    let below = if ours.starts_with("src/") || ours.starts_with("e2e/") { "" } else { "tests/" };
    match ours.split_once("::") {
        Some((file, test)) => (root().join(format!("{below}{file}.rs")), Some(test)),
        None => (root().join(format!("{below}{ours}")), None),
    }
}

fn line(row: &Row) -> String {
    let Row { theirs, says, verdict, ours } = row;
    let ours = ours.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", ");
    let reason = verdict.reason();
    let verdict = if reason.is_empty() { verdict.name().to_owned() } else { format!("{}: {reason}", verdict.name()) };
    format!("| {} | {says} | {verdict} | {ours} |\n", theirs.replace('|', "\\|"))
}

fn page(peer: &Peer) -> String {
    let (name, source) = (peer.name, peer.source());
    let mut page = format!(
        "# {name}'s behaviours, one by one\n\nGenerated from `{source}` (UPDATE=1): what each of {name}'s own tests of gangs asserts, \
         what becomes of it here, and the test of ours that shows it. Tests are files below `tests/`, or paths.\n\n",
    );
    writeln!(page, "| section | {} |", Verdict::NAMES.join(" | ")).expect("it fits");
    writeln!(page, "|---|{}", "---|".repeat(Verdict::NAMES.len())).expect("it fits");
    let mut count = |title: &str, counts: [usize; Verdict::NAMES.len()]| {
        let counts = counts.map(|count| count.to_string()).join(" | ");
        writeln!(page, "| {title} | {counts} |").expect("it fits");
    };
    peer.sections.iter().for_each(|(title, rows)| count(title, counts(rows.iter())));
    count("all", counts(peer.rows()));
    for (title, rows) in peer.sections {
        write!(page, "\n## {title}\n\n| {name} | says | here | shown by |\n|---|---|---|---|\n").expect("it fits");
        rows.iter().for_each(|row| page.push_str(&line(row)));
    }
    page
}

#[test]
fn the_pages_of_behaviours_are_what_the_tables_say() {
    let mut old = Vec::new();
    for peer in &PEERS {
        let (page, path) = (page(peer), root().join(peer.page()));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &page).expect("writable");
        }
        if fs::read_to_string(&path).unwrap_or_default() != page {
            old.push(peer.page());
        }
    }
    assert!(old.is_empty(), "{old:?}: run the tests with UPDATE=1");
}

/// The numbers at the top of a page are those of the rows below them.
#[test]
fn the_counts_are_those_of_the_rows() {
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    for peer in &PEERS {
        let page = page(peer);
        let all = page.lines().find(|line| line.starts_with("| all ")).expect("there is a sum");
        let below: Vec<_> = page.lines().skip_while(|line| !line.starts_with("## ")).collect();
        for (name, count) in Verdict::NAMES.iter().zip(&cells(all)[1..]) {
            let has = |line: &&&str| line.starts_with("| ") && cells(line)[2].split(':').next() == Some(*name);
            assert_eq!(below.iter().filter(has).count().to_string(), *count, "{}: {name}", peer.name);
        }
    }
}

/// Every test that a table names exists and is a test.
#[test]
fn every_test_that_is_named_exists() {
    for ours in rows().flat_map(|row| row.ours) {
        let (file, test) = place(ours);
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{ours}: {error}"));
        let Some(test) = test else { continue };
        let before = text.split_once(&format!("fn {test}(")).unwrap_or_else(|| panic!("{ours}: there is none")).0;
        let attributes =
            before.trim_end().lines().rev().take_while(|line| !line.trim().is_empty() && line.trim() != "}");
        let is_test = attributes.into_iter().any(|line| line.contains("test]"));
        assert!(is_test || ours.starts_with("e2e/"), "{ours} is no test");
    }
}

/// What is asserted there is shown here, or the row says why not; and each defect has its row.
#[test]
fn every_row_is_shown_or_says_why_not() {
    for peer in &PEERS {
        for row in peer.rows() {
            let needs_test = match row.verdict {
                Verdict::Same | Verdict::Better(_) | Verdict::Different(_) => true,
                Verdict::NotApplicable(_) | Verdict::Missing(_) => false,
            };
            assert!(!needs_test || !row.ours.is_empty(), "{}: {}", peer.name, row.theirs);
            let says_why = row.verdict == Verdict::Same || !row.verdict.reason().is_empty();
            assert!(says_why, "{}: {}", peer.name, row.theirs);
        }
        let names: Vec<_> = peer.rows().map(|row| row.theirs).collect();
        let twice: Vec<_> =
            names.iter().filter(|name| names.iter().filter(|other| other == name).count() > 1).collect();
        assert!(twice.is_empty(), "{}, each once: {twice:?}", peer.name);
        let pains: BTreeSet<_> = (1..=peer.pains).map(|number| format!("P{number}")).collect();
        let told = names.iter().filter(|name| name.len() <= 3).map(|name| (*name).to_owned());
        assert_eq!(told.collect::<BTreeSet<_>>(), pains, "{}", peer.name);
    }
}

/// Every test that is there for a table is named in one.
#[test]
fn every_test_that_is_there_for_a_table_is_in_one() {
    let named: BTreeSet<_> = rows().flat_map(|row| row.ours).copied().collect();
    for file in OWN {
        let text = fs::read_to_string(root().join(format!("tests/{file}.rs"))).expect("it is there");
        for after in text.split("#[test]\nfn ").skip(1) {
            let test = after.split('(').next().expect("a name");
            assert!(named.contains(&*format!("{file}::{test}")), "{file}::{test}");
        }
    }
}
