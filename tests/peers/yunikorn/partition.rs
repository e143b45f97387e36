//! What YuniKorn's core asserts of nodes and of whole partitions.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, NotApplicable, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestRemoveNodeWithPlaceholders",
        "a node is lost with a placeholder that is being replaced: the real pod waits again, and nothing is charged",
        Same,
        &["spec_swap::a_node_lost_in_the_middle_of_a_swap", "scenarios/node-lost-in-a-swap.txt"],
    ),
    Row::of(
        "TestPlaceholderDataWithPlaceholderPreemption",
        "a DaemonSet's pod preempts a placeholder, which counts as timed out",
        Different("whoever evicts it, its seat is planned again before the start; Gangline itself preempts nothing"),
        &["spec_loss::a_placeholder_that_is_being_evicted_holds_no_seat", "scenarios/bound-placeholder-preempted.txt"],
    ),
    Row::of(
        "TestPlaceholderDataWithNodeRemoval",
        "placeholders lost with their node count as timed out",
        Better("their seats are planned on other nodes (P11)"),
        &["spec_loss::seats_lost_with_their_node_are_planned_on_another"],
    ),
    Row::of(
        "TestPlaceholderDataWithRemoval",
        "a placeholder that is removed counts as timed out",
        Better("its seat is planned again (P11)"),
        &["spec_loss::a_held_placeholder_that_goes_is_planned_again"],
    ),
    Row::of(
        "TestRemoveNodeWithReplacement",
        "the node of a placeholder is lost while its pod has another one: the pod stays there",
        Same,
        &["yunikorn/partition::a_swap_to_another_node_outlives_the_node_of_its_placeholder"],
    ),
    Row::of(
        "TestRemoveNodeWithReal",
        "the target of a swap is lost: the pod waits again, and the placeholder stays",
        Better("what the placeholder's end says afterwards is a legal word, and frees its room (P6)"),
        &[
            "yunikorn/partition::a_confirmation_after_the_target_was_lost_is_a_legal_word",
            "spec_loss::the_target_of_a_swap_is_lost",
            "scenarios/target-lost-with-the-confirmation.txt",
        ],
    ),
    Row::of(
        "TestAddAppTaskGroup",
        "a gang in a Fair queue, or larger than its queue, is an error",
        Same,
        &[
            "spec_policies::a_fair_queue_takes_no_gang",
            "spec_gang::a_gang_larger_than_the_quota_is_rejected_and_judged_again",
        ],
    ),
    Row::of(
        "TestRemoveAllPlaceholderAllocs",
        "all placeholders of an application are released at once",
        Same,
        &["spec_endings::a_task_group_deleted_in_any_state_leaves_its_running_members_only"],
    ),
    Row::of(
        "TestPlaceholderSmallerThanReal, TestPlaceholderSmallerMulti",
        "one pod that is larger than its placeholder has all placeholders of its task group released",
        Better("it costs the others nothing (P10)"),
        &[
            "spec_swap::a_larger_member_does_not_hold_up_the_others",
            "spec_seats::a_member_that_is_too_large_does_not_block_one_that_fits",
        ],
    ),
    Row::of(
        "TestPlaceholderBiggerThanReal",
        "queue and node are charged with the placeholder until the swap is confirmed, then with the pod",
        Same,
        &[
            "spec_swap::a_smaller_member_returns_the_difference",
            "yunikorn/objects::a_node_has_the_difference_after_a_swap",
        ],
    ),
    Row::of(
        "TestPlaceholderMatch",
        "a pod goes by a placeholder of its task group while there is one; further ones, and those of unknown task groups, are allocated",
        Same,
        &[
            "yunikorn/partition::a_member_goes_by_its_seat_and_never_by_an_unknown_group",
            "spec_ordinary::pods_of_a_task_group_that_nobody_declares_start_beside_the_gang",
        ],
    ),
    Row::of(
        "TestPreemptedPlaceholderSkip",
        "a placeholder that is preempted is not used for a swap",
        Same,
        &["spec_loss::a_placeholder_that_is_being_evicted_holds_no_seat"],
    ),
    Row::of(
        "TestTryPlaceholderAllocate",
        "a placeholder is never replaced by another; what is counted before, during and after a swap",
        Same,
        &[
            "spec_swap::nothing_is_freed_before_the_confirmation_and_the_node_is_the_same",
            "yunikorn/objects::placeholders_are_counted_down_with_each_swap",
        ],
    ),
    Row::of(
        "TestFailReplacePlaceholder",
        "a swap to another node charges both until it is confirmed",
        Same,
        &["spec_swap::a_swap_to_another_node_charges_the_queue_once"],
    ),
    Row::of(
        "TestPlaceholderAllocationTracking",
        "of three placeholders one is replaced and two are removed: one allocation, no placeholder",
        Same,
        &["yunikorn/partition::one_is_replaced_and_two_are_removed"],
    ),
    Row::of(
        "TestPlaceholderAllocationAndReplacementAfterRecovery",
        "a placeholder that was found, one that is asked for, and a pod: allocated and replaced without a panic",
        Same,
        &["yunikorn/partition::a_member_of_one_group_starts_after_a_restart_that_lost_a_seat_of_another"],
    ),
    Row::of(
        "TestCompleteApp",
        "an application that is Completing is Completed in time",
        Same,
        &["spec_completion::waiting_ends_with_its_timeout"],
    ),
    Row::of(
        "TestCleanupCompletedApps",
        "applications that have completed are forgotten after three days",
        Different("the end is shown in status for as long as the TaskGroup is there, and forgotten with it"),
        &[
            "spec_completion::what_has_ended_is_shown_while_its_task_group_is_there",
            "yunikorn/objects::an_application_that_is_removed_leaves_no_timer",
        ],
    ),
    Row::of(
        "TestPlaceholderRecovery",
        "placeholders are found after a restart, others asked for, pods come and go",
        Same,
        &[
            "yunikorn/partition::what_is_found_what_is_added_and_what_is_removed",
            "spec_recovery::placeholders_found_are_replaced_like_others",
        ],
    ),
    Row::of(
        "TestDupReleasesInGangScheduling",
        "a swap that is confirmed twice counts once",
        Same,
        &[
            "controller_swaps::the_watch_confirms_once_more",
            "spec_completion::what_is_late_unknown_or_repeated_changes_nothing",
        ],
    ),
    Row::of(
        "BenchmarkScheduling",
        "how much is scheduled in a second",
        NotApplicable("`make bench` and `make perf` measure it, and no test asserts a figure"),
        &[],
    ),
];
