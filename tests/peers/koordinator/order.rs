//! What Koordinator asserts of who comes before whom.

use super::NO_TURNS;
use crate::peers::table::Row;
use crate::peers::table::Verdict::{self, Better, Different, Missing, NotApplicable, Same};

const NO_SUB_PRIORITY: Verdict =
    Missing("the label `koordinator.sh/priority` is not read: of equal priority the older comes first");
const BY_CREATION: Verdict =
    Better("by when it was created, which a restart of the scheduler does not change; there by its first try");

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestLess (1.3): p1.priority less than p2.priority,but p1's subPriority is greater than p2's; …and the other way round",
        "the priority counts before `koordinator.sh/priority`",
        Same,
        &["spec_order::ties_are_broken_by_priority_then_age_then_name"],
    ),
    Row::of(
        "TestLess (1.3): equal priority. p1's subPriority is less than p2's subPriority; …is greater than p2's subPriority",
        "of equal priority the higher `koordinator.sh/priority` comes first",
        NO_SUB_PRIORITY,
        &[],
    ),
    Row::of(
        "TestLess (1.3): equal priority. p1's subPriority is illegal , p2's subPriority is greater than 0",
        "a `koordinator.sh/priority` that makes no sense is 0",
        NO_SUB_PRIORITY,
        &[],
    ),
    Row::of(
        "TestLess (1.3): equal priority, but p1 is added to schedulingQ earlier than p2",
        "of pods without gangs, of equal priority and `koordinator.sh/priority`, the earlier comes first",
        BY_CREATION,
        &["spec_order::ties_are_broken_by_priority_then_age_then_name"],
    ),
    Row::of(
        "TestLess (1.3): p1.priority less than p2.priority, p1 belongs to gangB",
        "a pod without a gang comes before a gang of lower priority",
        Same,
        &["spec_order::gangs_and_ordinary_pods_are_one_order"],
    ),
    Row::of(
        "TestLess (1.3): equal priority, p1 is added to schedulingQ earlier than p2",
        "of pods without gangs and of equal priority the earlier comes first",
        BY_CREATION,
        &["spec_order::ties_are_broken_by_priority_then_age_then_name"],
    ),
    Row::of(
        "TestLess (1.3): equal priority, p1 is added to schedulingQ earlier than p2, but p1 belongs to gangB",
        "of equal priority a pod without a gang comes before one of a gang, though that is older",
        Different("gangs and other pods are in one order, by age"),
        &["spec_order::gangs_and_ordinary_pods_are_one_order"],
    ),
    Row::of(
        "TestLess (1.3): p1.priority less than p2.priority, p1 belongs to gangA and p2 belongs to gangB",
        "the gang of higher priority comes first",
        Same,
        &["spec_order::waiting_gangs_start_first_come_first_served"],
    ),
    Row::of(
        "TestLess (1.3): equal priority. p2 is added to schedulingQ earlier than p1, p1 belongs to gangA and p2 belongs to gangB",
        "gangs of equal priority are in the order of their group's name, and not of their age",
        Different("the older gang comes first; names decide between those of one age"),
        &["spec_order::waiting_gangs_start_first_come_first_served"],
    ),
    Row::of(
        "TestLess (1.3): equal priority and creation time, both belongs to gangB",
        "of one gang the first by name comes first, though it is younger",
        Different("of one gang the older comes first, and names decide between those of one age"),
        &["spec_reserve::direct_takes_the_urgent_then_the_older_then_the_first_by_name"],
    ),
    Row::of(
        "TestLess (1.3): equal priority and creation time, p1 belongs to gangA that has been satisfied",
        "a gang that was satisfied comes after one that was not",
        Different("what has started gets what it asks for, by age like all others"),
        &["spec_order::running_applications_get_what_they_ask_for_while_a_gang_waits"],
    ),
    Row::of(
        "TestFairness (1.6)",
        "of four gang groups with 233 pods each is tried in every round, the only one that can start does, and nobody is left waiting with a node",
        Better("the same, and a gang is not tried in vain again while what it lacked has not changed"),
        &[
            "spec_dialects::of_four_gang_groups_the_one_that_can_start_does_and_the_others_hold_nothing",
            "spec_room::what_was_searched_for_in_vain_is_not_searched_for_again",
        ],
    ),
    Row::of(
        "TestDeadLockFree (1.6)",
        "four gangs of 13 pods with room for 13 run one after the other",
        Same,
        &[
            "spec_dialects::four_gangs_with_room_for_one_run_one_after_the_other",
            "spec_reserve::two_gangs_never_wait_for_each_others_seats",
        ],
    ),
    Row::of(
        "TestNoRejectWhenInvalidCycle (1.6)",
        "a pod that is refused for its cycle alone does not make the others give their nodes back",
        NotApplicable("there are no cycles, and nobody waits with a node"),
        &[],
    ),
    Row::of(
        "TestGangGroupInfo_SetGangGroupInfo, TestGangGroupInfo (1.6)",
        "a gang group begins with cycle 1, and counts how many pods its gangs have in all",
        NO_TURNS,
        &[],
    ),
    Row::of(
        "TestDeletePod (1.6)",
        "with a pod its cycle and the time of its last try go",
        NO_TURNS,
        &["spec_recovery::nothing_leaks_over_a_restart"],
    ),
    Row::of(
        "TestIsScheduleCycleValid_GetScheduleCycle_GetChildScheduleCycle_SetChildScheduleCycle (1.6)",
        "cycles of gangs and of pods are what was set",
        NO_TURNS,
        &[],
    ),
    Row::of(
        "TestInitPodLastScheduleTime_GetPodLastScheduleTime_ResetPodLastScheduleTime (1.6)",
        "a pod that comes late has the time of its group's last try",
        NO_TURNS,
        &[],
    ),
    Row::of("TestScheduleCycleRelated (1.6)", "an invalid cycle is over once every pod of it was tried", NO_TURNS, &[]),
];
