//! What YuniKorn's core asserts of applications, placeholders and queues.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, Missing, NotApplicable, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestRemoveAllocAskWithPlaceholders",
        "the application is Completing when its last placeholder ask is removed",
        Different("a gang that has not started still wants its seats: they are asked for again, and it stays Accepted"),
        &[
            "yunikorn/objects::pending_placeholders_that_go_are_asked_for_again",
            "spec_loss::a_pending_placeholder_that_goes_is_created_again",
        ],
    ),
    Row::of(
        "TestRemovePlaceholderAllocationWithNoRealAllocation",
        "the application is Completing when its only placeholder is removed",
        Different("the seat is held again"),
        &["yunikorn/objects::the_only_placeholder_that_goes_is_made_again"],
    ),
    Row::of(
        "TestStateChangeOnPlaceholderAdd",
        "a placeholder leaves its application Accepted; it counts in the queue, and not as a real allocation",
        Same,
        &[
            "spec_seeds::placeholders_leave_an_application_accepted",
            "spec_seeds::placeholders_are_told_from_members_and_count_like_them",
        ],
    ),
    Row::of(
        "TestGangAllocChange",
        "the application is Running when the placeholders add up to what it asks for",
        Different("with its first real pod, whatever the placeholders add up to (P4)"),
        &["yunikorn/objects::a_gang_runs_with_its_first_member_and_not_with_its_last_placeholder"],
    ),
    Row::of(
        "TestReplaceAllocation",
        "placeholder out and real allocation in at once; without a partner the placeholder goes, and counts as replaced",
        Different("a swap is the same; a placeholder that goes without a partner is not counted as replaced"),
        &[
            "yunikorn/objects::a_placeholder_without_a_partner_is_not_counted_as_replaced",
            "spec_swap::nothing_is_freed_before_the_confirmation_and_the_node_is_the_same",
        ],
    ),
    Row::of(
        "TestReplaceAllocationTracking: swaps",
        "placeholders are there until the last swap; a second removal of one changes nothing",
        Same,
        &[
            "yunikorn/objects::placeholders_are_counted_down_with_each_swap",
            "spec_completion::what_is_late_unknown_or_repeated_changes_nothing",
        ],
    ),
    Row::of(
        "TestReplaceAllocationTracking: summary",
        "the summary of an application says for how long placeholders had which resources",
        Missing("no sum of resources over time is kept"),
        &[],
    ),
    Row::of(
        "TestTimeoutPlaceholderSoft",
        "the timer starts with the first placeholder that has a node; all are released, pending and bound; Resuming",
        Same,
        &[
            "spec_timeouts::the_placeholder_timeout_starts_with_the_first_placeholder_that_has_a_node",
            "spec_timeouts::soft_places_pods_one_by_one",
            "spec_timeouts::pending_placeholders_go_first",
        ],
    ),
    Row::of(
        "TestTimeoutPlaceholderHard",
        "as with Soft, and the application fails; usage is held until the placeholders are gone",
        Same,
        &["spec_timeouts::hard_fails_pods_and_leaves_the_queue"],
    ),
    Row::of(
        "TestTimeoutPlaceholderAllocReleased",
        "of an application that runs only the placeholders that do not leave already are released",
        Same,
        &[
            "yunikorn/objects::a_timeout_takes_no_placeholder_that_leaves_already",
            "spec_timeouts::a_member_that_comes_in_the_last_moment_is_in_time",
        ],
    ),
    Row::of(
        "TestTimeoutPlaceholderAllocPreempted, TestTimeoutPlaceholderCompletingWithPreemptedPh",
        "a placeholder that is preempted when the time is over is not released again",
        Same,
        &[
            "yunikorn/objects::a_timeout_does_not_release_what_is_being_evicted",
            "spec_completion::a_placeholder_on_its_way_out_is_not_released_again",
        ],
    ),
    Row::of(
        "TestTimeoutPlaceholderCompleting",
        "an application that is Completing gives placeholders up at the placeholder timeout and stays so",
        Same,
        &["yunikorn/objects::a_gang_that_waits_for_its_end_gives_placeholders_up_in_time"],
    ),
    Row::of(
        "TestAppTimersAfterAppRemoval",
        "with an application its timers go",
        Same,
        &[
            "yunikorn/objects::an_application_that_is_removed_leaves_no_timer",
            "spec_recovery::nothing_leaks_over_a_restart",
        ],
    ),
    Row::of(
        "TestCanReplace",
        "an ask can replace a placeholder if its task group has one that is neither replaced nor timed out, by counters",
        Better("seats that exist are looked at; there is no counter that could be wrong (P1)"),
        &[
            "spec_swap::more_members_than_seats_are_ordinary",
            "spec_timeouts::after_the_start_leftovers_are_released",
            "spec_loss::no_loss_pends_a_member_for_ever",
        ],
    ),
    Row::of(
        "TestPlaceholderLargerEvent, TestSendPlaceholderLargerEvent",
        "an event says that a pod is larger than its placeholder",
        Same,
        &["spec_events::a_member_larger_than_its_seat_has_an_event_that_names_the_resource"],
    ),
    Row::of(
        "TestGetOutstandingRequests_AskReplaceable",
        "the autoscaler is not told of asks that can replace a placeholder",
        Same,
        &[
            "yunikorn/objects::a_pod_that_can_take_a_seat_calls_for_no_node",
            "spec_reserve::surplus_members_of_a_waiting_gang_are_not_unschedulable",
        ],
    ),
    Row::of(
        "TestTryPlaceHolderAllocateNoPlaceHolders",
        "without a placeholder nothing is replaced",
        Same,
        &["spec_swap::more_members_than_seats_are_ordinary"],
    ),
    Row::of(
        "TestTryPlaceHolderAllocateSmallerRequest",
        "a smaller pod goes to the node of its placeholder; nothing is freed until that is confirmed",
        Same,
        &["spec_swap::a_smaller_member_returns_the_difference"],
    ),
    Row::of(
        "TestTryPlaceHolderAllocateLargerRequest",
        "for a larger pod its placeholder is released, and it gets nothing",
        Better("it keeps its seat, and waits for the difference alone (P10)"),
        &[
            "spec_swap::a_larger_member_does_not_hold_up_the_others",
            "spec_gang::a_member_larger_than_its_seat_waits_for_the_difference_and_the_other_seats_stay",
        ],
    ),
    Row::of(
        "TestTryPlaceHolderAllocateDifferentTaskGroups",
        "a placeholder of another task group is not replaced",
        Same,
        &["spec_seeds::a_member_takes_a_seat_of_its_own_task_group_alone"],
    ),
    Row::of(
        "TestTryPlaceHolderAllocateDifferentNodes",
        "a pod that cannot go to the node of its placeholder goes to another one",
        Same,
        &["spec_swap::a_swap_to_another_node_charges_the_queue_once"],
    ),
    Row::of(
        "TestCompletedStateTransition, TestCompletingStateTransition and those beside them",
        "which state follows which",
        Different(
            "states and transitions are those of the first design, Waiting and Killed for Completing and Failed; one table has them all",
        ),
        &[
            "spec_completion::each_state_leaves_to_what_the_table_says",
            "src/core/model/lifecycle::the_table_is_what_the_design_says",
        ],
    ),
    Row::of(
        "TestSortAppsWithPlaceholderAllocations",
        "a list has the applications that have placeholders and pending asks",
        NotApplicable(
            "a swap is decided in the step in which its pod comes, and no cycle looks for applications that have one to make",
        ),
        &["spec_swap::all_swaps_are_in_flight_at_once"],
    ),
    Row::of(
        "TestSupportTaskGroup",
        "a FIFO leaf takes gangs; a parent and a Fair leaf take none",
        Same,
        &["spec_policies::a_fair_queue_takes_no_gang", "spec_queues::only_leaves_take_work"],
    ),
    Row::of(
        "TestPlaceHolder, TestNewReplacedAllocationResult",
        "what is a placeholder, and of which task group, is read of what the shim says",
        Better("a placeholder is recognised by labels, name and owner together, and a forged one is none"),
        &[
            "src/shim/placeholder::a_placeholder_is_recognised_until_anything_about_it_is_forged",
            "spec_swap::a_forged_placeholder_takes_no_seat",
        ],
    ),
    Row::of(
        "TestNodeReplaceAllocation",
        "after a swap the node is charged with the real pod",
        Same,
        &["yunikorn/objects::a_node_has_the_difference_after_a_swap"],
    ),
    Row::of(
        "TestTryPreemption and those beside it, required_node_preemptor_test",
        "placeholders that are released are no victims",
        Missing("Gangline preempts nothing yet"),
        &[],
    ),
    Row::of(
        "TestConvertSITimeout",
        "a timeout of 0, below 0 or beyond all bounds is the default",
        Same,
        &[
            "src/shim/dialect/yunikorn/tests::what_yunikorn_overlooks_is_overlooked_and_told",
            "spec_deadlines::absurd_times_are_long_times",
        ],
    ),
    Row::of(
        "TestConvertSITimeoutWithAdjustment",
        "the age of the application is taken off its timeout; one that is over is 1 ms",
        Better("a deadline is a time in status and is read back from there (P24)"),
        &["spec_deadlines::each_deadline_goes_on_over_a_restart", "spec_deadlines::no_deadline_runs_on_the_wall_clock"],
    ),
];
