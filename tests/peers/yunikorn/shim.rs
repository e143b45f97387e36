//! What YuniKorn's shim asserts of annotations, placeholders and recovery.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, Missing, NotApplicable, Same};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestFindAppTaskGroup",
        "a task group is found by its name; an unknown one is an error",
        Same,
        &["src/shim/dialect/yunikorn/tests::what_is_wrong_is_named_where_it_is_written"],
    ),
    Row::of(
        "TestGeneratePlaceholderName",
        "a placeholder's name has parts of application and task group, and ten random characters",
        Different(
            "it follows from TaskGroup, life, seat and attempt, so that a creation that is repeated makes no second pod (P15)",
        ),
        &[
            "src/shim/placeholder::names_are_stable_for_ever",
            "src/shim/placeholder::any_group_gives_a_legal_name_and_reads_back",
        ],
    ),
    Row::of(
        "TestGetSchedulingPolicyParams",
        "what cannot be read among the parameters is left out",
        Better("as there, and the pod is told"),
        &[
            "yunikorn/shim::parameters_are_read_as_there",
            "src/shim/dialect/yunikorn/tests::what_yunikorn_overlooks_is_overlooked_and_told",
        ],
    ),
    Row::of(
        "Test_GetPlaceholderResourceRequest, TestNewPlaceholderExtendedResources",
        "a placeholder requests `minResource`, huge pages and GPUs too",
        Same,
        &["yunikorn/shim::a_placeholder_asks_for_gpus_and_huge_pages"],
    ),
    Row::of(
        "TestNewPlaceholder",
        "names, labels, security context, requests as limits, no grace period, pull secrets",
        Same,
        &[
            "src/shim/placeholder::a_placeholder_is_made_of_the_template_and_of_what_it_must_be",
            "src/shim/placeholder::a_placeholder_says_whose_it_is",
        ],
    ),
    Row::of(
        "TestNewPlaceholderWithNodeSelectors, …Tolerations, …PriorityClassName",
        "a placeholder has node selectors, tolerations and priority class",
        Same,
        &["yunikorn/shim::a_placeholder_goes_where_its_members_may"],
    ),
    Row::of(
        "TestNewPlaceholderWithAffinity, …TopologySpread",
        "a placeholder has the affinity and the spread constraints of its task group",
        Missing(
            "node affinity and what is preferred are taken; required affinity between pods and required spread are refused, with the field",
        ),
        &["src/shim/dialect/yunikorn/tests::what_is_wrong_is_named_where_it_is_written"],
    ),
    Row::of(
        "TestNewPlaceholderTaskGroupsDefinition",
        "a placeholder carries the annotation with all task groups",
        Different("labels name its TaskGroup, which says the rest"),
        &["src/shim/placeholder::a_placeholder_says_whose_it_is"],
    ),
    Row::of(
        "TestNewPlaceholderWithPlaceHolderConfig, TestPlaceholderConfigParsing",
        "image, user and group of placeholders are configured",
        Different("the image is; user and group are what the `restricted` Pod Security standard admits everywhere"),
        &[
            "src/shim/placeholder::a_placeholder_is_made_of_the_template_and_of_what_it_must_be",
            "src/runtime/settings/tests::every_field_is_honoured_and_flags_win",
        ],
    ),
    Row::of(
        "TestCreateAppPlaceholders: made",
        "30 placeholders are made for two task groups",
        Same,
        &["yunikorn/shim::the_placeholders_that_are_found_are_not_made_again"],
    ),
    Row::of(
        "TestCreateAppPlaceholders: refused",
        "the error of the creation that fails is returned, and the gang is run as none",
        Better("it is tried again, and until then nothing is held (P5)"),
        &[
            "spec_reserve::a_refused_placeholder_gives_everything_back_and_backs_off",
            "scenarios/creation-refused-hard.txt",
        ],
    ),
    Row::of(
        "TestCreateAppPlaceholdersWithExistingPods",
        "of 30 placeholders 3 are there and 27 are made",
        Better("nor is any made for a pod of the task group that exists"),
        &[
            "yunikorn/shim::the_placeholders_that_are_found_are_not_made_again",
            "yunikorn/shim::thirty_placeholders_are_made_and_none_for_those_that_exist",
        ],
    ),
    Row::of(
        "TestCreateAppPlaceholdersWithOwnReference",
        "the originator owns each placeholder",
        Different("it owns the TaskGroup (or who makes it anew does), and that owns the placeholders"),
        &[
            "yunikorn/shim::placeholders_go_with_their_originator",
            "spec_yunikorn::the_groups_of_a_driver_are_made_with_its_owner_and_the_gang_starts_whole",
        ],
    ),
    Row::of(
        "TestCleanUp",
        "placeholders alone are deleted; one that cannot be is kept in mind",
        Same,
        &[
            "spec_endings::a_task_group_deleted_in_any_state_leaves_its_running_members_only",
            "spec_seats::a_refused_release_is_tried_again",
        ],
    ),
    Row::of(
        "TestCleanOrphanPlaceholders, TestPlaceholderManagerCleanup",
        "placeholders of no application are deleted until they are gone",
        Better("also those that a process finds when it starts (P15)"),
        &[
            "spec_recovery::strays_are_deleted_once_task_groups_are_listed",
            "spec_seats::a_refused_release_of_a_stray_is_tried_again",
        ],
    ),
    Row::of(
        "TestNewPlaceholderManager, TestPlaceholderManagerStartStop",
        "the thread that deletes orphans starts and stops",
        NotApplicable("there is no such thread"),
        &[],
    ),
    Row::of(
        "TestSetTaskGroupsAndSchedulingPolicy",
        "what a gang asks for is the sum over its task groups",
        Same,
        &["spec_gang::the_ask_is_the_sum_over_all_task_groups"],
    ),
    Row::of(
        "TestTryReserve",
        "an accepted application makes its placeholders",
        Same,
        &["yunikorn/shim::thirty_placeholders_are_made_and_none_for_those_that_exist"],
    ),
    Row::of(
        "TestTryReservePostRestart",
        "after a restart an application with an allocated pod is Running and makes no placeholders; the test sets that state by hand",
        Better("Bindings say which pods have started (P3)"),
        &["spec_recovery::a_started_gang_gets_no_placeholders", "scenarios/restarted-after-every-swap.txt"],
    ),
    Row::of(
        "TestIsPlaceholderTimeoutElapsed",
        "after a restart a timeout that was set is found to be over",
        Better("also a default one: the deadline is in status (P24)"),
        &["spec_timeouts::a_timeout_survives_every_restart", "spec_deadlines::each_deadline_goes_on_over_a_restart"],
    ),
    Row::of(
        "TestOnReservingCreatesPlaceholdersWhenTimeoutNotElapsed, …WithExistingPlaceholders",
        "after a restart the placeholders that are missing are made",
        Same,
        &[
            "spec_recovery::seats_lost_while_we_are_down",
            "yunikorn/shim::the_placeholders_that_are_found_are_not_made_again",
        ],
    ),
    Row::of(
        "TestOnReservingSkipsTimedOutPlaceholders",
        "after a restart none are made where the time is over",
        Same,
        &["spec_endings::a_new_process_reserves_nothing_for_what_has_timed_out"],
    ),
    Row::of(
        "TestSkipReservationStage",
        "without task groups, or with a pod that is allocated, nothing is reserved; with new pods alone it is",
        Same,
        &[
            "spec_gang::a_singleton_is_bound",
            "spec_recovery::a_started_gang_gets_no_placeholders",
            "spec_gang::all_reserves_with_placeholders_and_swaps_them",
        ],
    ),
    Row::of(
        "TestSetUnallocatedPodsToFailedWhenFailApplication",
        "pods of a gang that failed (Hard) get the phase Failed",
        Better("never one that has a node (P3)"),
        &[
            "spec_timeouts::hard_fails_pods_and_leaves_the_queue",
            "spec_timeouts::who_has_a_node_does_not_fail",
            "src/controller/fail/tests::phase_reason_and_message_are_written_of_the_version_that_was_seen",
        ],
    ),
    Row::of(
        "TestSetUnallocatedPodsToFailedWhenRejectApplication",
        "pods of a rejected application get the phase Failed",
        Different("they wait with the reason, and start when queue or gang are made right"),
        &["spec_completion::pods_under_a_dead_id_wait_with_its_reason", "spec_submission::a_rejection_is_judged_again"],
    ),
    Row::of(
        "TestReleaseAppAllocation, TestReleaseAppAllocationInFailingState",
        "a release deletes the pod and the application stays Running, or Failing",
        Better("before the start a placeholder that goes starts nobody (P2)"),
        &[
            "spec_loss::a_held_placeholder_that_goes_is_planned_again",
            "spec_timeouts::hard_fails_pods_and_leaves_the_queue",
        ],
    ),
    Row::of(
        "TestResumingStateTransitions",
        "Resuming lasts until the last placeholder is gone",
        Same,
        &["spec_timeouts::soft_waits_for_the_last_placeholder"],
    ),
    Row::of(
        "TestGetPlaceholderTasks, TestTryAddReleasableTaskDedupe",
        "lists of placeholders, and of what is to be released, name each once",
        NotApplicable("no second copy of the core's books is kept"),
        &["spec_endings::a_task_group_deleted_in_any_state_leaves_its_running_members_only"],
    ),
    Row::of(
        "TestDeferredReleaseOnAccept",
        "pods that go before their application is accepted are released when it is",
        NotApplicable("facts are applied in the step in which they come, whatever the state"),
        &["spec_facts::edited_and_gone_at_once"],
    ),
    Row::of(
        "TestPlaceholderTimeoutEvents",
        "a timeout is an event on the originator",
        Different("a condition of the TaskGroup, written before anything is deleted"),
        &[
            "spec_deadlines::a_timeout_is_a_condition_before_anything_is_deleted",
            "controller_shown::a_timeout_is_told_at_once_while_seats_are_kept",
        ],
    ),
    Row::of(
        "TestApplication_onReservationStateChange",
        "Running when each task group has as many placeholders as it needs; others do not count",
        Same,
        &[
            "spec_gang::a_gang_is_satisfied_with_the_last_of_its_task_groups",
            "spec_swap::a_forged_placeholder_takes_no_seat",
        ],
    ),
    Row::of(
        "TestTriggerAppSubmission",
        "ask, timeout, style and tags are told to the core",
        Same,
        &["src/shim/dialect/yunikorn/tests::spark_s_groups_are_two_task_groups_of_one_application"],
    ),
    Row::of(
        "application_state_test: events",
        "each event of the shim's state machine has its arguments",
        NotApplicable("there is one state machine, in the core, and its events have none"),
        &["src/core/model/lifecycle::the_table_is_what_the_design_says"],
    ),
    Row::of(
        "TestGetTaskGroupFromAnnotation",
        "JSON, names, `minMember` and `minResource` that are wrong are errors",
        Better("all of them are told, each with its place, on the pod (P5)"),
        &[
            "src/shim/dialect/yunikorn/tests::what_is_wrong_is_named_where_it_is_written",
            "spec_yunikorn::a_wrong_declaration_is_refused_on_the_pod_and_nothing_is_made_of_it",
        ],
    ),
    Row::of(
        "TestGetTaskGroupFromAnnotationValidatesResources, TestValidatedTaskGroupsNeverProduceNegativePlaceholderAsk, …RejectsPodsAggregateOverflow",
        "amounts below zero and sums that overflow are refused",
        Same,
        &[
            "src/shim/dialect/yunikorn/tests::what_is_wrong_is_named_where_it_is_written",
            "spec_submission::absurd_amounts_are_refused_and_never_panic",
            "quantities.rs",
        ],
    ),
    Row::of(
        "TestGetAppMetadata, TestGetTaskMetadata",
        "application and queue are read of labels and annotations; with wrong task groups the pod is no gang",
        Better("with wrong task groups it is refused (P5)"),
        &[
            "src/shim/dialect/yunikorn/tests::the_application_is_looked_for_where_yunikorn_does_in_its_order",
            "src/shim/dialect/yunikorn/tests::a_queue_is_below_the_root_whether_it_says_so_or_not",
            "spec_yunikorn::a_wrong_declaration_is_refused_on_the_pod_and_nothing_is_made_of_it",
        ],
    ),
    Row::of(
        "TestGetOwnerReferences",
        "an originator is an owner; a placeholder passes its own owners on",
        Different("what owns the originator, and makes it anew, owns the TaskGroups"),
        &["spec_yunikorn::the_groups_of_a_driver_are_made_with_its_owner_and_the_gang_starts_whole"],
    ),
    Row::of(
        "TestOriginatorPodAfterRestart",
        "the originator is the same after a restart, though placeholders are seen first",
        Better("who it is follows from its labels, and no order of arrival decides"),
        &[
            "spec_restart::an_originator_from_before_the_gate_belongs_to_the_gang_after_a_restart",
            "spec_recovery::the_order_of_the_lists_does_not_count",
        ],
    ),
    Row::of(
        "TestPlaceholderTask_AssumePodFails",
        "a placeholder that cannot be assumed fails",
        Different("one that may not be bound has all seats given back, and planned again"),
        &["spec_reserve::a_placeholder_that_may_not_be_bound_backs_off"],
    ),
    Row::of(
        "TestResuming_AppReserving, …AppNotReserving, …AppNotFound",
        "Resuming is entered from Reserving alone, and by no unknown application",
        Same,
        &[
            "src/core/model/lifecycle::the_table_is_what_the_design_says",
            "spec_timeouts::after_the_start_leftovers_are_released",
        ],
    ),
    Row::of(
        "TestSetTaskGroup, TestGetTaskGroupFromPodSpec",
        "the task group of a pod is read of its annotation",
        Same,
        &["src/shim/dialect/yunikorn/tests::spark_s_groups_are_two_task_groups_of_one_application"],
    ),
    Row::of(
        "TestGetPlaceholderFlagFromPodSpec",
        "what says of itself that it is a placeholder is one",
        Better("a pod with that annotation is refused, since no pod of ours has it (P36)"),
        &[
            "src/shim/dialect/yunikorn/tests::a_queue_is_heeded_without_an_application_and_a_placeholder_of_yunikorn_is_nothing",
        ],
    ),
];
