//! What Koordinator asserts of what it writes: statuses, annotations, conditions, metrics and answers.

use super::{NO_BIND_MARKS, NO_METRIC};
use crate::peers::table::Row;
use crate::peers::table::Verdict::{self, Better, Different, Missing, NotApplicable, Same};

const PHASES: &[&str] = &["spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods"];
const PHASES_IN_TURN: &[&str] = &[
    "spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is",
    "spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods",
];
const STATUS: &[&str] = &["spec_pod_groups::the_status_of_a_pod_group_says_how_far_its_gang_is"];
const LACKS: &[&str] = &[
    "spec_dialects::each_member_of_a_gang_that_finds_no_nodes_says_so_once",
    "spec_reserve::what_the_next_seat_lacks_is_said",
];
const NO_OCCUPIED: Verdict = Missing("`occupiedBy` is not written; what somebody else wrote there stays");
const TOGETHER: Verdict =
    Different("all members are bound in one step, so that nobody waits between; until then the gang is `Scheduling`");
const NO_REMEDY: Verdict = Missing("there is no advice; every member says what nodes lack for the next one");

pub(super) const ROWS: &[Row] = &[
    Row::of("Test_Run: Group running", "two of two run: `Running`", Same, PHASES_IN_TURN),
    Row::of("Test_Run: Group running, more than min member", "as many run as must, or more: `Running`", Same, PHASES),
    Row::of("Test_Run: Group failed", "both failed: `Failed`", Same, PHASES),
    Row::of("Test_Run: Group finished", "both succeeded: `Finished`", Same, PHASES_IN_TURN),
    Row::of(
        "Test_Run: Group status convert from scheduling to scheduled",
        "both have nodes and do not run yet: `Scheduled`",
        Same,
        STATUS,
    ),
    Row::of(
        "Test_Run: Group status convert from scheduling to succeed (two cases)",
        "both succeeded before anybody saw them run: `Finished`",
        Same,
        PHASES,
    ),
    Row::of(
        "Test_Run: Group status convert from pending to prescheduling",
        "both succeeded while the phase was `Pending`: `Finished`, after `PreScheduling`",
        Different("`Finished` at once; nothing is ever `PreScheduling`, which says no more than `Scheduling`"),
        PHASES,
    ),
    Row::of(
        "Test_Run: Group should not enqueue, created too long",
        "a PodGroup of three days ago keeps its phase, though its pods run",
        Better("the status follows the pods, however old the PodGroup is"),
        PHASES,
    ),
    Row::of("Test_Run: Group min member more than Pod number", "too few pods: `Pending`", Same, STATUS),
    Row::of("Test_Run: Group status convert from running to pending", "no pods any more: `Pending`", Same, PHASES),
    Row::of(
        "Test_Run: Group status convert from scheduling to scheduled, bugCase",
        "four of four run: `Running`, and `scheduled` is 4, whatever it was (#2030)",
        Same,
        PHASES,
    ),
    Row::of(
        "TestFillGroupStatusOccupied, TestFillOccupiedObj",
        "`occupiedBy` says whose pods these are, in order, from the first that was enough",
        NO_OCCUPIED,
        STATUS,
    ),
    Row::of(
        "TestPostBind (1.3): pg status convert to scheduled",
        "the only one has a node: `Scheduled`, 1",
        Same,
        STATUS,
    ),
    Row::of(
        "TestPostBind (1.3): pg status convert to scheduling",
        "one of two has a node: `Scheduling`, 1",
        TOGETHER,
        PHASES,
    ),
    Row::of(
        "TestPostBind (1.3): pg status does not convert, although scheduled pods change",
        "one more of three has a node, and not all have: `Scheduling` still",
        TOGETHER,
        PHASES,
    ),
    Row::of(
        "TestPreBind: gang satisfied, should set labels on pod",
        "pods say with which gang group they were bound, and of how many",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPreBind: pod not in gang, should not set labels",
        "a pod of no gang does not say so",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPreBind: pod has existing labels, should overwrite gang labels",
        "what else is on the pod stays",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPreBind: gang OnceSatisfied with retry pod, should not set gang annotations",
        "a pod that is tried again after its gang was satisfied says so, too (its name says that it does not)",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPreBind: gang oversub: min=2, total=3, all pods should get consistent memberCount=2",
        "all pods say the same number, though there are more",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPreBindReservation (three cases)",
        "a Reservation that is a member of a gang says the same",
        Missing("Koordinator's Reservations are not read, and `bind-gang-*` is not written"),
        &[],
    ),
    Row::of(
        "TestGetGangBindingInfo (three cases)",
        "the number is that of the pods which wait in all gangs of the group; none for a pod of no gang",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestPatchGangPendingPodsCondition: nil postFilterStatus does nothing",
        "without an answer from preemption no condition is written",
        NotApplicable("a condition says what nodes lack, which does not come from preemption"),
        &[],
    ),
    Row::of(
        "TestPatchGangPendingPodsCondition: excludes current pod and already attempted pods",
        "those members that were not tried get the condition `Unschedulable` of the one that found no node",
        Better("every member has it, in the same words, and there is none that was not tried"),
        LACKS,
    ),
    Row::of(
        "TestPatchGangPendingPodsCondition: no patches when all others are attempted",
        "who was tried gets no second condition",
        Same,
        &["spec_dialects::each_member_of_a_gang_that_finds_no_nodes_says_so_once"],
    ),
    Row::of(
        "TestAfterPostFilter_PatchConditionOnlyOnce",
        "the conditions of a gang are written once in each attempt",
        Better("once, until there is something else to say"),
        &["spec_dialects::each_member_of_a_gang_that_finds_no_nodes_says_so_once"],
    ),
    Row::of(
        "TestAfterPostFilter_SuggestionPropagation (two cases), TestBeforePreFilter_SuggestionPropagation (two cases)",
        "what would help the member that found no node is said of the others, too",
        NO_REMEDY,
        LACKS,
    ),
    Row::of(
        "TestClearGangSchedulingContext_RecordsMetricWithReasonAndJobSize, TestSetGangSchedulingContext_InitializesStartTimeOnce",
        "the metric `gang_schedule_cycle_duration_seconds` has how long an attempt took, from its beginning, why it ended and how large the job is",
        NO_METRIC,
        &[],
    ),
    Row::of(
        "TestClearGangSchedulingContext_NilContextIsNoOp, TestClearGangSchedulingContext_ZeroStartTimeSkipsMetric",
        "no attempt, or one without a beginning, is not in that metric",
        NO_METRIC,
        &[],
    ),
    Row::of(
        "TestEndpointsQueryGangInfo",
        "an endpoint answers with all that is known of a gang: its pods, who waits, who is bound, policy and group",
        Missing(
            "there is no such endpoint; the status of the TaskGroup and `gangline why` say why it waits, in other words",
        ),
        &[],
    ),
];
