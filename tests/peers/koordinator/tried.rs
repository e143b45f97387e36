//! What Koordinator asserts of pods before it looks for nodes for them.

use super::{NO_CYCLE, NO_PREEMPTION, NO_REPRESENTATIVE};
use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, NotApplicable, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestPlugin_PreFilter (1.3): pod does not belong to any gang",
        "a pod of no gang is tried",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone", "spec_gang::a_singleton_is_bound"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pod belongs to a non-existing pg",
        "a pod whose PodGroup is not there is refused, with the names of gang and pod",
        Same,
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): gang ResourceSatisfied",
        "a pod of a gang that was satisfied once is tried, whatever the others do",
        Same,
        &["spec_koordinator::after_the_start_members_are_ordinary_pods"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pod count less than minMember",
        "a pod is refused while its gang has fewer pods than its minimum",
        Same,
        &["spec_koordinator::nothing_is_bound_before_all_are_there_and_have_room"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pods count equal with minMember,but is NonStrictMode",
        "a pod of a `NonStrict` gang is tried, and no cycle is counted",
        Same,
        &[
            "spec_koordinator::a_gang_that_is_not_strict_holds_what_it_finds",
            "spec_modes::seats_are_held_as_nodes_come",
        ],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): due to reschedule pod6's podScheduleCycle is equal with the gangScheduleCycle",
        "a pod is tried once in each cycle of its gang",
        NO_CYCLE,
        &["spec_room::what_was_searched_for_in_vain_is_not_searched_for_again"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pods count equal with minMember,is StrictMode,but the gang's scheduleCycle is not valid due to pre pod Filter Failed",
        "once a member found no node the others are refused for the rest of the cycle, and count as tried",
        NO_CYCLE,
        &[
            "spec_koordinator::a_gang_that_does_not_fit_holds_nothing",
            "spec_room::what_was_searched_for_in_vain_is_not_searched_for_again",
        ],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pods count equal with minMember,is StrictMode, disable check scheduleCycle even if the gang's scheduleCycle is not valid",
        "the check of cycles can be switched off",
        NotApplicable("there are no cycles to check"),
        &[],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pods count equal with minMember,is StrictMode,scheduleCycle valid,but childrenNum is not reach to total num",
        "with fewer pods than `total-number`, and enough for the minimum, the gang is tried",
        Same,
        &["spec_koordinator::a_total_number_delays_nothing"],
    ),
    Row::of(
        "TestPlugin_PreFilter (1.3): pods count more than minMember,is StrictMode,scheduleCycle valid,and childrenNum reach to total num",
        "the next cycle begins once all of `total-number` were tried",
        NO_CYCLE,
        &["spec_koordinator::a_total_number_delays_nothing"],
    ),
    Row::of(
        "TestPlugin_PreFilter_ResetScheduleTime (1.6)",
        "each try of a member moves its whole gang group back in the queue",
        Different(
            "who waits keeps its place, and others that fit overtake it, as often or as long as the queue lets them (ADR 21)",
        ),
        &[
            "spec_order::a_gang_that_waits_is_not_overtaken_by_equals",
            "spec_head::the_first_in_line_is_overtaken_so_often_and_no_more",
        ],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): pod does not belong to any gang",
        "a pod of no gang is queued",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): pod belongs to a non-existing pg",
        "a pod whose PodGroup is not there is not queued",
        Better(
            "nor is it here, and its condition says which PodGroup it waits for; there no event tells of it (#2480)",
        ),
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): gang ResourceSatisfied",
        "a pod of a gang that was satisfied once is queued",
        Same,
        &["spec_koordinator::after_the_start_members_are_ordinary_pods"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): pod count less than minMember",
        "a pod is not queued while a gang of its group has too few pods, and the message names that gang",
        Better("nor is it here, and its condition says how many there are; there no event tells of it (#2480)"),
        &["spec_koordinator::nothing_is_bound_before_all_are_there_and_have_room"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): pods count equal with minMember,but is NonStrictMode",
        "a pod of a `NonStrict` gang is queued",
        Same,
        &["spec_koordinator::a_gang_that_is_not_strict_holds_what_it_finds"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): due to reschedule pod6's podScheduleCycle is equal with the gangScheduleCycle, but pod6's nominatedNodeName is not empty",
        "a pod that preemption nominated for a node is queued all the same",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): …disable check scheduleCycle…, …but childrenNum is not reach to total num",
        "neither cycles nor `total-number` keep a pod out of the queue",
        Same,
        &["spec_koordinator::a_total_number_delays_nothing"],
    ),
    Row::of(
        "TestPlugin_PreEnqueue (main): pods count more than minMember,is StrictMode,scheduleCycle valid,and childrenNum reach to total num",
        "one pod stands for its gang group in the queue, and the next one is told that it is there",
        NO_REPRESENTATIVE,
        &[],
    ),
];
