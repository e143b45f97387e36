//! What becomes of gangs in the hands of kube-scheduler, and here (`docs/beside-kube-scheduler.md`): the tests of either side that the
//! page names are there, and it names all of those with kube-scheduler.

use std::fs;
use std::path::Path;

use super::root;

const PAGE: &str = include_str!("../../docs/beside-kube-scheduler.md");

/// What all tests with kube-scheduler are called.
const STOCK: &str = "stock kube-scheduler: ";

/// The text of all source files below a directory.
fn sources(dir: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("a directory can be read").path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("a source file is UTF-8"));
        }
    }
    text
}

/// The names between backquotes.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_end_to_end_test_that_is_named_exists() {
    let e2e = sources(&root().join("e2e"));
    // Below the titles.
    let rows: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(!rows.is_empty(), "there is a table");
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let [_, _, theirs, _, ours] = cells[..] else { panic!("no row of five: {row}") };
        for side in [theirs, ours] {
            assert!(!names(side).is_empty(), "nothing shows a side of {row}");
            for name in names(side) {
                assert!(e2e.contains(&format!("\"{name}\"")), "{name} is no test");
            }
        }
        assert!(names(theirs).iter().all(|name| name.starts_with(STOCK)), "{theirs}");
    }
}

#[test]
fn every_test_with_kube_scheduler_is_named() {
    let e2e = sources(&root().join("e2e"));
    let tests: Vec<_> = e2e.split('"').filter(|text| text.starts_with(STOCK)).collect();
    assert!(!tests.is_empty(), "there are some");
    for name in tests {
        assert!(PAGE.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
