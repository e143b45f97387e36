//! Scenarios: histories as text with the decisions they lead to (tests/scenarios/*.txt, the words in its README).
//!
//! `UPDATE=1 cargo test --test checks scenarios` writes the decisions into the files; read the difference before it is
//! committed.

mod words;

use std::path::{Path, PathBuf};

use words::act;

use crate::support::cluster::Cluster;

#[test]
fn scenarios_lead_to_their_decisions() {
    let mut problems = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a scenario is UTF-8");
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        match replay(&text) {
            Err(problem) => problems.push(format!("tests/scenarios/{name}:{problem}")),
            Ok(played) if played == text => {}
            Ok(played) if std::env::var_os("UPDATE").is_some() => std::fs::write(&path, played).expect("writable"),
            Ok(played) => problems.push(format!("tests/scenarios/{name}:{}", difference(&text, &played))),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(directory).expect("the directory of the scenarios");
    let paths = entries.map(|entry| entry.expect("a directory can be read").path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|ending| ending == "txt")).collect();
    files.sort();
    assert!(!files.is_empty(), "there are scenarios");
    files
}

/// The text with the decisions as they are; a problem begins with the number of its line.
fn replay(text: &str) -> Result<String, String> {
    let mut cluster = Cluster::default();
    cluster.step();
    let mut played = String::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with("  ")) {
        played.push_str(&format!("{line}\n"));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let said = act(&mut cluster, line).map_err(|problem| format!("{}: {problem}", number + 1))?;
        said.iter().for_each(|line| played.push_str(&format!("  {line}\n")));
    }
    let left = cluster.clear_away();
    if left.is_empty() { Ok(played) } else { Err(format!("{}: {left:?} are left over", text.lines().count())) }
}

fn difference(expected: &str, played: &str) -> String {
    let (mut expected, mut played) = (expected.lines(), played.lines());
    for number in 1.. {
        match (expected.next(), played.next()) {
            (one, other) if one == other && one.is_some() => {}
            (one, other) => {
                return format!("{number}: expected {:?}, but it is {:?}", one.unwrap_or(""), other.unwrap_or(""));
            }
        }
    }
    unreachable!("the texts differ")
}

#[test]
fn a_line_that_means_nothing_is_named() {
    for (text, expected) in [
        ("node n0 4\n\nfrobnicate", "3: this is no sentence: frobnicate"),
        ("node n0 four", "1: four is no number that fits"),
        ("# why\nqueue root.q cpus=3", "2: cpus= has no meaning here"),
        ("lose pod p", "1: there is no p"),
        ("group g 1 kind=none", "1: a group is all, missing or direct, not none"),
        ("refuse create g/0 403", "1: nothing is decided like create g/0"),
        ("restart jobs", "1: nodes, queues, groups and pods can be listed first, no jobs"),
        ("single s\n  bind s n9\nshow t", "3: there is no t"),
    ] {
        assert_eq!(replay(text), Err(expected.to_owned()));
    }
}
