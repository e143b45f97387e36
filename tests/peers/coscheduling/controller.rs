//! What the plugin's controller asserts of the status of PodGroups.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Missing, Same};

const PHASES: &[&str] = &["spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods"];
const PHASES_IN_TURN: &[&str] = &[
    "spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is",
    "spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods",
];

pub(super) const ROWS: &[Row] = &[
    Row::of("Test_Run: Group running", "two of two run: `Running`", Same, PHASES_IN_TURN),
    Row::of("Test_Run: Group running, more than min member", "four run, of which two must: `Running`", Same, PHASES),
    Row::of("Test_Run: Group failed", "both failed: `Failed`", Same, PHASES),
    Row::of("Test_Run: Group finished", "both succeeded: `Finished`", Same, PHASES_IN_TURN),
    Row::of(
        "Test_Run: Group status convert from pending to prescheduling",
        "as many pods are there as must, and none has a node: `Scheduling`",
        Same,
        PHASES,
    ),
    Row::of(
        "Test_Run: Group status convert from scheduling to finished",
        "both succeeded before anybody saw them run: `Finished`",
        Same,
        PHASES,
    ),
    Row::of("Test_Run: Group status keeps pending", "two run, of which there must be three: `Pending`", Same, PHASES),
    Row::of(
        "Test_Run: Group status convert from pending to finished",
        "both succeeded while the phase was `Pending`: `Finished`",
        Same,
        PHASES,
    ),
    Row::of(
        "Test_Run: Group should not enqueue, created too long",
        "a PodGroup of three days ago keeps its phase, though its pods run",
        Better("the status follows the pods, however old the PodGroup is"),
        PHASES,
    ),
    Row::of(
        "Test_Run: Group min member more than Pod number",
        "two wait, of which there must be three: `Pending`",
        Same,
        &["spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is"],
    ),
    Row::of(
        "Test_Run: Group status convert from running to pending",
        "two are left, of which there must be four: `Pending`",
        Same,
        PHASES,
    ),
    Row::of(
        "TestFillGroupStatusOccupied (two cases)",
        "`occupiedBy` says whose pods these are, in order, when there are enough",
        Missing("`occupiedBy` is not written; what somebody else wrote there stays"),
        &["spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is"],
    ),
];
