//! What becomes of gangs in the hands of kube-scheduler, and here (`docs/beside-kube-scheduler.md`): the tests of either side that the
//! page names are among those of this suite, and it names all of those with kube-scheduler. The same of the scenarios in the words of
//! other systems (`docs/verification.md`): each test that is named there is one.

use std::collections::BTreeSet;

use crate::harness::{Test, bare};
use crate::support::error::Result;

const PAGE: &str = include_str!("../docs/beside-kube-scheduler.md");

/// Where it is said which scenario is played in whose words, and what follows there.
const WORDS: (&str, &str) = (include_str!("../docs/verification.md"), "## Which scenario in whose words\n");

/// What all tests with kube-scheduler are called.
const STOCK: &str = "stock kube-scheduler: ";

/// The page, and these tests.
pub(crate) fn test(tests: &[Test]) -> Test {
    let known: BTreeSet<&'static str> = tests.iter().map(Test::name).collect();
    bare(
        "pages: what is said of gangs in others' words and hands is shown by tests that there are",
        async move || -> Result<()> {
            every_row_is_shown(&known);
            every_test_is_named(&known);
            every_scenario_is_shown(&known);
            Ok(())
        },
    )
}

/// The names between backquotes.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn every_scenario_is_shown(known: &BTreeSet<&str>) {
    let (page, title) = WORDS;
    let (_, section) = page.split_once(title).expect("the section is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(!rows.is_empty(), "there is a table");
    for row in rows {
        let shown = row.rsplit(" | ").next().map(names).unwrap_or_default();
        assert!(!shown.is_empty(), "nothing shows {row}");
        let unknown: Vec<_> = shown.into_iter().filter(|name| !known.contains(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?} are no tests");
    }
}

fn every_row_is_shown(known: &BTreeSet<&str>) {
    // Below the titles.
    let rows: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(!rows.is_empty(), "there is a table");
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let [_, _, theirs, _, ours] = cells[..] else { panic!("no row of five: {row}") };
        for side in [theirs, ours] {
            assert!(!names(side).is_empty(), "nothing shows a side of {row}");
            let unknown: Vec<_> = names(side).into_iter().filter(|name| !known.contains(name)).collect();
            assert!(unknown.is_empty(), "{unknown:?} are no tests");
        }
        assert!(names(theirs).iter().all(|name| name.starts_with(STOCK)), "{theirs}");
    }
}

fn every_test_is_named(known: &BTreeSet<&str>) {
    let tests: Vec<_> = known.iter().filter(|name| name.starts_with(STOCK)).collect();
    assert!(!tests.is_empty(), "there are some");
    for name in tests {
        assert!(PAGE.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
