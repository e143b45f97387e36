//! What YuniKorn asserts on a whole cluster.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "Verify_Annotation_TaskGroup_Def",
        "an originator outside its task group starts with five placeholders, which five pods replace",
        Same,
        &[
            "yunikorn/end_to_end::an_originator_and_a_group_of_five",
            "spec_yunikorn::a_driver_outside_its_groups_starts_with_them",
            "e2e/gangs/yunikorn::spark",
        ],
    ),
    Row::of(
        "Verify_Multiple_TaskGroups_Nodes",
        "pods of three task groups are on the nodes where their placeholders were",
        Same,
        &["yunikorn/end_to_end::members_are_where_their_placeholders_were"],
    ),
    Row::of(
        "Verify_TG_with_More_Than_minMembers",
        "three seats and six pods: all have nodes, three placeholders were replaced",
        Same,
        &["yunikorn/end_to_end::six_members_of_a_group_of_three"],
    ),
    Row::of(
        "Verify_Default_GS_Style",
        "one of two task groups fits no node: at the timeout placeholders go, and pods run one by one",
        Different(
            "nothing is held for a gang that does not fit whole, so there is nothing to time out: it waits ([why](coming-from-yunikorn.md#what-is-different-the-placeholder-timeout))",
        ),
        &[
            "yunikorn/end_to_end::a_gang_of_which_one_group_fits_no_node_holds_nothing",
            "spec_timeouts::who_finds_nodes_for_some_only_is_rejected_in_time",
            "e2e/gangs/yunikorn_scenarios::never_fits",
        ],
    ),
    Row::of(
        "Verify_Hard_GS_Failed_State",
        "as before, and the application fails",
        Different("as before; what fails is a gang that held its seats and did not start"),
        &[
            "yunikorn/end_to_end::a_gang_of_which_one_group_fits_no_node_holds_nothing",
            "spec_timeouts::hard_fails_pods_and_leaves_the_queue",
        ],
    ),
    Row::of(
        "Verify_GangApp_FIFO_Order",
        "a gang that waits for quota holds what there is of it, and who comes after it waits",
        Different("it holds nothing; how often, or how long, it is overtaken is what its queue says"),
        &[
            "yunikorn/end_to_end::a_gang_that_waits_for_quota_is_overtaken_as_its_queue_says",
            "spec_head::the_first_in_line_is_overtaken_so_often_and_no_more",
        ],
    ),
    Row::of(
        "Verify_Deleted_Placeholders",
        "all bound placeholders are deleted: nothing is used any more",
        Better("the gang has its seats again, and starts (P11)"),
        &[
            "yunikorn/end_to_end::all_bound_placeholders_are_deleted",
            "scenarios/every-bound-placeholder-deleted.txt",
            "e2e/gangs/yunikorn_scenarios::bound_deleted",
        ],
    ),
    Row::of(
        "Verify_Completed_Job_Placeholders_Cleanup",
        "a Job is deleted before its start: its placeholders go, running and pending",
        Same,
        &["yunikorn/end_to_end::a_job_that_goes_before_its_start_leaves_nothing", "e2e/gangs/yunikorn::owned"],
    ),
    Row::of(
        "Verify_OriginatorDeletion_Trigger_Placeholders_Cleanup, …WithOwnerreference",
        "with the originator its placeholders go",
        Same,
        &[
            "yunikorn/shim::placeholders_go_with_their_originator",
            "yunikorn/shim::placeholders_are_deleted_when_their_task_group_is_gone",
        ],
    ),
    Row::of(
        "Verify_HugePage",
        "a placeholder asks for huge pages",
        Same,
        &["yunikorn/shim::a_placeholder_asks_for_gpus_and_huge_pages"],
    ),
    Row::of(
        "Verify_Gang_App_Originator_Pod_Does_Not_Change_After_Restart",
        "after a restart the originator is the same, and the application runs",
        Same,
        &[
            "spec_restart::an_originator_from_before_the_gate_belongs_to_the_gang_after_a_restart",
            "spec_kept::a_new_process_knows_who_started_with_the_gang",
        ],
    ),
    Row::of(
        "Verify_GangScheduling_TwoGangs_Restart_YK",
        "of two gangs one holds its seats; after a restart the same pods are there, and in time both go on",
        Same,
        &[
            "yunikorn/end_to_end::two_gangs_over_a_restart",
            "spec_recovery::a_restart_in_any_phase_ends_where_it_would_have_ended",
        ],
    ),
    Row::of(
        "Verify_GangScheduling_PendingPlaceholders_Restart_YK",
        "placeholders wait for nodes while the scheduler restarts; with room the Job succeeds",
        Same,
        &["yunikorn/end_to_end::pending_placeholders_over_a_restart"],
    ),
    Row::of(
        "Verify_Gang_Scheduling_With_Priority",
        "placeholders have the priority of their gang, and the higher one goes first",
        Same,
        &[
            "spec_seats::placeholders_have_their_priority",
            "spec_gate::the_order_is_priority_then_submission_then_name",
            "yunikorn/shim::a_placeholder_goes_where_its_members_may",
        ],
    ),
    Row::of(
        "placeholderData of the REST interface",
        "how many placeholders were made, replaced and timed out, also of what has ended",
        Different("the TaskGroup's status says it, also of what has ended"),
        &[
            "spec_recovery::the_count_of_replaced_placeholders_goes_on",
            "spec_completion::what_has_ended_is_shown_while_its_task_group_is_there",
        ],
    ),
];
