//! What docs/coming-from-yunikorn.md says is told in place of YuniKorn's events: every word of it is one that is said.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gangline::core::codes::Code;
use gangline::core::model::lifecycle::AppState;

/// What YuniKorn writes: reasons of events, and actions of those with the reason `GangScheduling`, of its k8shim at commit 23b6b47
/// (`Eventf`, `failWithEvent` and `rollbackAllocation` in `pkg/cache`); then reasons of conditions and of pods that it fails.
const THEIRS: [&str; 31] = [
    "ApplicationFailed",
    "AssumePodError",
    "AssumePodFailed",
    "CreatingPlaceholders",
    "FailedScheduling",
    "GangReservationComplete",
    "GangScheduling",
    "GangSchedulingFailed",
    "Informational",
    "NodeAccepted",
    "NodeDeleted",
    "NodeRejected",
    "PlaceholderAllocated",
    "PlaceholderCreateFailed",
    "PlaceholderTimeOut",
    "PlaceholderTimeout",
    "PodBindFailure",
    "PodBindSuccessful",
    "PodUnschedulable",
    "PodVolumesBindFailure",
    "Scheduled",
    "Scheduling",
    "TaskCompleted",
    "TaskFailed",
    "TaskGroupMatch",
    "TaskGroupsError",
    "TaskRejected",
    "SchedulingSkipped",
    "Unschedulable",
    "ApplicationRejected",
    "ResourceReservationTimeout",
];

/// Words on the right that are no reasons: a condition of Kubernetes, and a command.
const OTHERS: [&str; 2] = ["PodScheduled", "gangline why"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is there")
}

/// The cells of the rows of the table: what YuniKorn says, of what, and what is said here.
fn rows() -> Vec<[String; 3]> {
    let page = read("docs/coming-from-yunikorn.md");
    let section =
        page.split("\n## ").find(|section| section.starts_with("What is told where\n")).expect("there is one");
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells =
        |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect() };
    lines.map(|line| cells(line).try_into().unwrap_or_else(|_| panic!("not three cells: {line}"))).collect()
}

/// What is marked as code.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_word_of_ours_is_said() {
    let is_said = |word: &str| Code::from_name(word).is_some() || AppState::from_name(word).is_some();
    for [theirs, _, ours] in rows() {
        for word in words(&ours) {
            assert!(is_said(word) || OTHERS.contains(&word), "{word}, in place of {theirs}");
        }
        let says_nothing = ours.starts_with("nothing");
        assert!(says_nothing || words(&ours).any(is_said), "{theirs} has neither a reason nor \"nothing\": {ours}");
    }
    // What the text above the table says of events of pods.
    assert!(read("src/controller/announce.rs").contains("reason: \"FailedScheduling\""));
}

#[test]
fn every_word_of_theirs_is_in_the_table() {
    let rows = rows();
    // A field of a pod is named in some of the rows.
    let named: BTreeSet<_> =
        rows.iter().flat_map(|[theirs, ..]| words(theirs)).filter(|word| *word != "status.reason").collect();
    assert_eq!(named, BTreeSet::from(THEIRS));
}
