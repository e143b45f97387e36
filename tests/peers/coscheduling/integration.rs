//! What the plugin and its controller assert on a whole cluster.

use super::NO_MIN_RESOURCES;
use crate::peers::table::Row;
use crate::peers::table::Verdict::{self, Different, Same};

const NO_PREEMPTION: Verdict =
    Different("so where all of them wait; who has started is not preempted for the others yet");

const ROOM: &[&str] = &["spec_dialects::a_gang_that_cannot_be_whole_leaves_the_room_to_the_others"];
const ROOM_AND_LEAST: &[&str] = &[
    "spec_dialects::a_gang_that_cannot_be_whole_leaves_the_room_to_the_others",
    "spec_dialects::the_least_resources_of_a_pod_group_decide_nothing",
];
const URGENT: &[&str] = &["spec_dialects::the_more_urgent_of_those_that_wait_get_the_room"];
const PHASES: &[&str] = &["spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods"];
const PHASES_IN_TURN: &[&str] = &[
    "spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is",
    "spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods",
];

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestCoschedulingPlugin: equal priority, sequentially pg1 meet min and pg2 not meet min",
        "of two gangs only one fits: its pods have nodes",
        Same,
        ROOM,
    ),
    Row::of(
        "TestCoschedulingPlugin: equal priority, not sequentially pg1 meet min and pg2 not meet min",
        "so where their pods come mixed",
        Same,
        ROOM,
    ),
    Row::of(
        "TestCoschedulingPlugin: equal priority, not sequentially pg1 not meet min and 3 regular pods",
        "a gang lacks a pod: the pods without a gang have nodes",
        Same,
        ROOM,
    ),
    Row::of(
        "TestCoschedulingPlugin: different priority, sequentially pg1 meet min and pg2 meet min",
        "of two gangs with room for one the one of higher priority has it, though the other came first",
        NO_PREEMPTION,
        URGENT,
    ),
    Row::of(
        "TestCoschedulingPlugin: different priority, not sequentially pg1 meet min and pg2 meet min",
        "so where their pods come mixed",
        NO_PREEMPTION,
        URGENT,
    ),
    Row::of(
        "TestCoschedulingPlugin: different priority, not sequentially pg1 meet min and 3 regular pods",
        "so of a gang and pods of higher priority",
        NO_PREEMPTION,
        URGENT,
    ),
    Row::of(
        "TestCoschedulingPlugin: equal priority, not sequentially pg1 meet min and p2 p3 not meet min",
        "of three gangs only one fits: its pods have nodes",
        Same,
        ROOM,
    ),
    Row::of(
        "TestCoschedulingPlugin: equal priority, not sequentially pg1 meet min and p2 p3 not meet min, pgs have min resources",
        "so with `minResources`, which the others do not find",
        NO_MIN_RESOURCES,
        ROOM_AND_LEAST,
    ),
    Row::of(
        "TestCoschedulingPlugin: equal priority, not sequentially pg1 meet min and pg2 not meet min, pgs have min resources",
        "so with two gangs",
        NO_MIN_RESOURCES,
        ROOM_AND_LEAST,
    ),
    Row::of(
        "TestPodCompleted: pg cannot be scheduled with completed pod",
        "a pod that has completed does not count for the gang, which waits",
        Same,
        &["spec_dialects::a_pod_that_has_completed_does_not_count_for_a_gang_to_come"],
    ),
    Row::of(
        "TestPodgroupBackoff: pg1 can not be scheduled and pg2 can be scheduled",
        "a gang that is too large keeps no smaller one waiting",
        Same,
        ROOM,
    ),
    Row::of(
        "TestPodGroupController: Statuses of all pods change from pending to running",
        "first `Scheduling`, then `Running` with 3",
        Same,
        PHASES_IN_TURN,
    ),
    Row::of(
        "TestPodGroupController: Statuses of all pods change from running to succeeded",
        "first `Running`, then `Finished` with 3",
        Same,
        PHASES_IN_TURN,
    ),
    Row::of(
        "TestPodGroupController: The status of one pod changes from running to succeeded",
        "`Running`, with 2 and 1 that succeeded",
        Same,
        PHASES,
    ),
    Row::of(
        "TestPodGroupController: The status of the pod changes from running to failed",
        "`Failed`, with 2 that run and 1 that failed",
        Same,
        PHASES,
    ),
    Row::of(
        "TestPodGroupController: The status of no podGroup label pod changes from pending to running",
        "other pods do not count: `Pending`",
        Different("nothing is written on a PodGroup that no pod of ours names (ADR 38)"),
        &["spec_pod_groups::of_a_pod_group_without_pods_of_ours_nothing_is_made"],
    ),
];
