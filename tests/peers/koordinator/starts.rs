//! What Koordinator asserts of pods that have found a node, and of those that found none.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Different, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "core TestPermit: pod1 does not belong to any pg, allow",
        "a pod of no gang is bound",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"],
    ),
    Row::of(
        "core TestPermit: pod2 belongs to a non-existing pg",
        "a pod of an unknown gang waits",
        Same,
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "core TestPermit: pod3 belongs to gangA that doesn't have enough assumed pods",
        "two of three hold their nodes, and wait for the third as long as the gang says",
        Different("nothing is held in part; the same time runs while some would find nodes and not all"),
        &[
            "spec_koordinator::nothing_is_bound_before_all_are_there_and_have_room",
            "spec_koordinator::a_gang_of_which_some_have_found_nodes_waits_so_long_and_no_longer",
        ],
    ),
    Row::of(
        "core TestPermit: pod3 belongs to gangA that doesn't have enough assumed pods, but once satisfied",
        "a pod of a gang that was satisfied once is bound at once",
        Same,
        &["spec_koordinator::after_the_start_members_are_ordinary_pods"],
    ),
    Row::of(
        "core TestPermit: pod3 belongs to gangA that doesn't have enough assumed pods, once satisfied, but matchPolicy not once satisfied",
        "with `only-waiting` it waits for others all the same",
        Same,
        &["spec_rounds::only_those_that_wait_count"],
    ),
    Row::of(
        "core TestPermit: pod3 …, but with Running pods is enough, matchPolicy waiting-and-running (two cases)",
        "running pods count with `waiting-and-running`, and not with `only-waiting`",
        Same,
        &["spec_rounds::those_that_run_count_too", "spec_rounds::only_those_that_wait_count"],
    ),
    Row::of(
        "core TestPermit: pod4 belongs to gangB that gangA has resourceSatisfied",
        "the last of three lets all three be bound",
        Same,
        &[
            "spec_koordinator::nothing_is_bound_before_all_are_there_and_have_room",
            "spec_pod_groups::pods_that_name_a_pod_group_start_together",
        ],
    ),
    Row::of(
        "core TestPermit: pod5 belongs to gangC that gangC has resourceSatisfied, but gangD has not satisfied",
        "a whole gang waits while another one of its group is not whole",
        Same,
        &["spec_koordinator::gangs_of_one_group_start_together"],
    ),
    Row::of(
        "core TestPermit: pod6 belongs to gangE that gangE has resourceSatisfied, and gangF has satisfied too",
        "both gangs of a group are whole: they are bound",
        Same,
        &["spec_koordinator::gangs_of_one_group_start_together"],
    ),
    Row::of(
        "TestPermit: pod1 does not belong to any pg, allow",
        "a pod of no gang is bound",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"],
    ),
    Row::of(
        "TestPermit: pod2 belongs to a non-existing pg",
        "a pod of an unknown gang waits",
        Same,
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "TestPermit: pod3 belongs to gangA that doesn't have enough assumed pods",
        "a pod waits with its node while too few others have one",
        Different("it waits without one"),
        &["spec_pod_groups::pods_that_name_a_pod_group_start_together"],
    ),
    Row::of(
        "TestPermit: pod4 belongs to gangA that gangA has resourceSatisfied",
        "the last one that was missing lets all that wait be bound",
        Same,
        &["spec_pod_groups::pods_that_name_a_pod_group_start_together"],
    ),
    Row::of(
        "TestPermit: pod4 belongs to gangA that gangA has resourceSatisfied, but gangA matchPolicy is not once-satisfied",
        "with `only-waiting`, too, as soon as enough of them wait",
        Same,
        &["spec_rounds::only_those_that_wait_count"],
    ),
    Row::of(
        "TestPermit: pod5 belongs to gangB that gangB has resourceSatisfied, but gangA has not satisfied",
        "gang B lists gang A, which does not list it: B waits until A is whole",
        Different("B waits until A lists it, too, and A starts without it (ADR 36)"),
        &[
            "spec_koordinator::who_does_not_list_back_is_not_held_up",
            "spec_koordinator::the_gangs_of_a_group_can_be_of_different_namespaces",
            "spec_gang_groups::who_is_not_listed_back_waits_and_the_other_is_not_concerned",
        ],
    ),
    Row::of(
        "TestPermit: pod6 belongs to gangD that gangD has resourceSatisfied, and gangC is waiting for gangD",
        "the last pod of a group in two namespaces lets all waiting pods of both gangs be bound",
        Same,
        &[
            "spec_koordinator::the_gangs_of_a_group_can_be_of_different_namespaces",
            "spec_gang_groups::task_groups_of_two_namespaces_start_together_or_not_at_all",
        ],
    ),
    Row::of(
        "TestPostFilter: pod does not belong to any pod group",
        "a pod of no gang that finds no node concerns nobody else",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"],
    ),
    Row::of(
        "TestPostFilter: pod belongs to non-existing gang",
        "of a pod of an unknown gang it is said that the gang is not known",
        Same,
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "TestPostFilter: gangA is resourceSatisfied,do not reject the gang",
        "a pod that finds no node after the start takes nothing from the others",
        Same,
        &["spec_koordinator::after_the_start_members_are_ordinary_pods"],
    ),
    Row::of(
        "TestPostFilter: gangA is resourceSatisfied but matchPolicy is only-waiting, reject the gang",
        "with `only-waiting` it makes those that wait give their nodes back",
        Different("those that wait hold none: all of a round find nodes together, or nothing is held"),
        &["spec_rounds::a_round_finds_room_for_all_or_takes_none"],
    ),
    Row::of(
        "TestPostFilter: resource not Satisfied,but gangB is NonStrictMode,do not reject the gang",
        "in a `NonStrict` gang those that wait keep their nodes",
        Same,
        &[
            "spec_koordinator::a_gang_that_is_not_strict_holds_what_it_finds",
            "spec_modes::a_member_that_fits_nowhere_has_no_effect_on_the_others",
        ],
    ),
    Row::of(
        "TestPostFilter: resource not Satisfied,StrictMode,reject all pods belong to gangA",
        "in a `Strict` gang those that wait give their nodes back when one finds none",
        Same,
        &[
            "spec_koordinator::a_gang_that_does_not_fit_holds_nothing",
            "spec_dialects::of_four_gang_groups_the_one_that_can_start_does_and_the_others_hold_nothing",
        ],
    ),
    Row::of(
        "TestUnreserve: pod1 comes to Unreserve due to timeout,reject all gangA's pods",
        "when the waiting time of one ends, all of the gang give their nodes back and begin again",
        Different(
            "nothing is held; the gang is given up until its pods are gone and others come, or it is changed (01, 1.7)",
        ),
        &[
            "spec_koordinator::a_gang_of_which_some_have_found_nodes_waits_so_long_and_no_longer",
            "spec_koordinator_timeout::each_pod_without_a_node_is_told_once",
            "spec_timeouts::who_found_nodes_for_some_only_comes_back_when_it_is_changed_or_resubmitted",
        ],
    ),
];
