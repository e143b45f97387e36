//! What Koordinator asserts of gangs as pods and PodGroups make them.

use super::{NO_BIND_MARKS, NO_METRIC, NO_REPRESENTATIVE};
use crate::peers::table::Row;
use crate::peers::table::Verdict::{self, Better, Different, NotApplicable, Same};

const FIRST_BY_NAME: Verdict =
    Different("the first by name counts, which is the same after a restart, and the others are told");

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestGangCache_OnPodAdd: add invalid pod, add invalid pod2",
        "a pod that names no gang makes none",
        Same,
        &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: add pod announcing Gang in CRD way before CRD created,gang should be created but not initialized",
        "a pod before its PodGroup makes a gang that does not start yet",
        Same,
        &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: add pod announcing Gang in Annotation way",
        "of pods that declare a gang differently the first one seen counts, and the other is one of the gang",
        FIRST_BY_NAME,
        &["spec_koordinator::of_pods_that_declare_a_gang_differently_one_is_heeded_and_the_other_told"],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: …in Annotation way, pod1 has a node",
        "a gang of which one pod has a node is satisfied for good",
        Different(
            "one does not make it whole: after a restart in the middle of binding the others come before anything else, or it says `PartiallyLost`",
        ),
        &[
            "spec_interrupted::an_interrupted_gang_goes_first",
            "spec_interrupted::an_interrupted_gang_that_cannot_be_completed_does_not_hold_up_the_others",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: add pod announcing Gang in lightweight-coscheduling way",
        "labels declare a gang, too, with the configured waiting time",
        Same,
        &[
            "spec_koordinator::labels_declare_a_gang_too",
            "src/shim/dialect/koordinator/tests::a_gang_is_one_task_group_without_placeholders",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: add pods announcing Gang in Annotation way,but with illegal args (gangb: the minimum)",
        "a pod without a legal minimum is one of the gang, and the next legal one declares it",
        Different("the pod is refused with `InvalidDeclaration`, and is none of the gang"),
        &[
            "spec_koordinator::a_gang_is_declared_by_its_name_and_its_number",
            "src/shim/dialect/koordinator/tests::what_is_wrong_or_not_supported_is_named_where_it_is_written",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: …with illegal args (gangb: the rest)",
        "a `total-number` below the minimum, a mode, a waiting time and a list that make no sense are the defaults",
        Better("as there, and the pod is told"),
        &[
            "src/shim/dialect/koordinator/tests::koordinators_defaults_are_taken_and_told",
            "src/shim/dialect/koordinator/tests::a_waiting_time_is_gos_and_the_default_where_it_makes_no_sense",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodAdd: …with illegal args (gangc, gangd)",
        "waiting times of 0 and -20s, and the list `[a,b]`, are the defaults; a minimum of 0 is legal",
        Better("as there, and the pod is told"),
        &[
            "src/shim/dialect/koordinator/tests::a_waiting_time_is_gos_and_the_default_where_it_makes_no_sense",
            "src/shim/dialect/koordinator/tests::koordinators_defaults_are_taken_and_told",
            "spec_koordinator::a_gang_of_nobody_waits_for_nobody",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodUpdate: add invalid pod; add pod announcing Gang in Annotation way",
        "an update says what an addition says",
        FIRST_BY_NAME,
        &[
            "spec_koordinator::of_pods_that_declare_a_gang_differently_one_is_heeded_and_the_other_told",
            "spec_recovery::a_list_of_what_is_known_changes_nothing",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodDelete: delete invalid pod,has no gang; delete invalid pod2,gang has not find",
        "a pod that goes and was not known changes nothing",
        Same,
        &["spec_completion::what_is_late_unknown_or_repeated_changes_nothing"],
    ),
    Row::of(
        "TestGangCache_OnPodDelete: delete gangA's pods one by one,finally gangA should be deleted",
        "a gang that pods declare goes with the last of them",
        Different(
            "its TaskGroup goes with the controller of the pods, or with the pod for which it was made where they have none",
        ),
        &[
            "src/shim/dialect/koordinator/tests::a_task_group_goes_with_the_controller_of_its_pods",
            "e2e/gangs/koordinator::by_labels",
            "e2e/gangs/koordinator::by_annotations",
        ],
    ),
    Row::of(
        "TestGangCache_OnPodDelete: delete gangB's pods one by one,but gangB is created by CRD",
        "a gang of a PodGroup stays without pods, as it was",
        Same,
        &["spec_dialects::a_gang_of_a_pod_group_outlives_its_pods"],
    ),
    Row::of(
        "TestGangCache_OnPodGroupAdd: update podGroup with annotations",
        "annotations of a PodGroup are read",
        Same,
        &["spec_pod_groups::annotations_of_koordinators_pod_groups_are_read"],
    ),
    Row::of(
        "TestGangCache_OnPodGroupAdd: update podGroup with illegal annotations",
        "what makes no sense in them is the default",
        Better("as there, and a pod that names it is told"),
        &[
            "spec_pod_groups::annotations_of_koordinators_pod_groups_are_read",
            "spec_koordinator::a_total_number_delays_nothing",
        ],
    ),
    Row::of(
        "TestGangCache_OnGangDelete: the gang of a PodGroup",
        "it goes with its PodGroup",
        Same,
        &["spec_pod_groups::pods_that_name_a_pod_group_start_together", "e2e/gangs/pod_groups::koordinator"],
    ),
    Row::of(
        "TestGangCache_OnGangDelete: a gang of annotations",
        "it stays when a PodGroup goes",
        Same,
        &["spec_dialects::a_gang_that_pods_declare_does_not_go_with_a_pod_group_of_its_name"],
    ),
    Row::of(
        "TestGangCache_onPodGroupUpdate",
        "another `minMember` counts at once",
        Different("before the start it does; a gang that has started keeps its size (01, 1.2.4)"),
        &[
            "spec_pod_groups::an_edit_of_a_pod_group_before_the_start_is_one_of_its_task_group",
            "spec_pod_groups::an_edit_of_a_pod_group_whose_gang_runs_changes_nothing",
        ],
    ),
    Row::of(
        "TestGetGangGroupInfo_DeleteGangGroupInfo, TestOnPodAdd_OnPodDeleteWithGangGroupInfo, TestOnPgAdd_OnPgDeleteWithGangGroupInfo",
        "a gang group is counted by its gangs, and goes with the last of them",
        NotApplicable("no references are counted: an application is what its TaskGroups and pods say"),
        &["spec_recovery::nothing_leaks_over_a_restart"],
    ),
    Row::of(
        "TestGangCache_getPendingPods, TestGangCache_getPendingPodsNum, TestGangCache_getWaitingPods, TestGangCache_getWaitingPodsNum, TestGang_getWaitingChildrenFromGang",
        "pods of a gang are listed by whether they wait for a node or with one",
        NotApplicable("there are no such lists: members are counted where their place changes"),
        &["spec_said::scheduled_is_not_running"],
    ),
    Row::of(
        "TestGangCache_onPodDelete_Tombstone, TestGangCache_onPodGroupDelete_Tombstone",
        "an object that went unseen is unwrapped from the informer's tombstone",
        NotApplicable("there are no informers: what a list lacks is gone"),
        &["spec_pod_groups::a_kind_may_be_missing_come_later_and_go"],
    ),
    Row::of(
        "TestNewGangGroupInfo_FieldInitialization, TestSetInitialized_TransitionsToTrue, TestGangGroupInfo_FullLifecycle",
        "a gang group begins uninitialised, and goes through its life",
        NotApplicable("no flags: the state of an application is one word, from one table of transitions"),
        &["spec_completion::each_state_leaves_to_what_the_table_says"],
    ),
    Row::of(
        "TestSetInitialized_ConcurrentSafe, TestSetResourceSatisfied_ConcurrentSafe, TestSetBindingMembers_ConcurrentSafe",
        "many threads may write at a time",
        NotApplicable("one thread owns all of it, and there are no locks (ADR 3)"),
        &[],
    ),
    Row::of(
        "TestSetResourceSatisfied_OnceTrue_IsIrreversible",
        "a gang that was satisfied once stays so",
        Different("in its life: when all its pods are gone and others come, these start as a gang"),
        &["spec_gang::after_the_start_members_are_ordinary", "spec_anew::a_restart_after_the_hold_waits_as_a_whole"],
    ),
    Row::of(
        "TestAddWaitingGang_InsertsAllGroupIDs, TestRemoveWaitingGang_RemovesSingleID, TestClearWaitingGang_ClearsAllIDs",
        "the gangs are noted of which pods wait with a node",
        NotApplicable("nobody waits with a node while others are tried"),
        &[],
    ),
    Row::of(
        "TestAddWaitingGang_Metric… (2), TestAddWaitingGang_EmptyGroupNoMetricChange, TestRemoveWaitingGang_Metric… (2), TestRemoveWaitingGang_NoMetricChangeWhenAlreadyEmpty, TestClearWaitingGang_Metric… (2)",
        "the metric `waiting_gang_group_number` rises with the first and falls with the last gang that waits",
        NO_METRIC,
        &[],
    ),
    Row::of(
        "TestRemoveWaitingGang_ClearsBindingMemberPodsWhenEmpty, TestRemoveWaitingGang_DoesNotClearBindingMemberPodsWhenNonEmpty, TestClearWaitingGang_ClearsBindingMemberPods, TestClearWaitingGang_NilBindingMemberPodsIsNoop, TestSetBindingMembers_… (2), TestGetBindingMembers_NilWhenNotSet",
        "who is bound together is noted until nobody waits",
        NO_BIND_MARKS,
        &[],
    ),
    Row::of(
        "TestRecordIfNoRepresentatives_… (2), TestDeleteIfRepresentative_… (3), TestIsRepresentative_… (3), TestClearCurrentRepresentative_… (2)",
        "one pod stands for a gang group in the queue until it is tried or goes",
        NO_REPRESENTATIVE,
        &[],
    ),
    Row::of(
        "TestGetGangGroupId",
        "a gang group is named by its gangs, in whichever order they are listed",
        Same,
        &[
            "src/shim/dialect/koordinator/tests::gangs_of_one_group_are_one_application",
            "spec_koordinator::gangs_of_one_group_start_together",
        ],
    ),
    Row::of(
        "TestGetId",
        "namespace and name are joined by a slash",
        NotApplicable("a key has two parts, and no text is made of them"),
        &[],
    ),
    Row::of(
        "TestGetGangNameByPod",
        "the label of a PodGroup names the gang before the other label, and that before the annotation",
        Same,
        &[
            "spec_pod_groups::what_a_pod_says_itself_counts_before_its_pod_group",
            "src/shim/dialect/koordinator/tests::labels_count_before_annotations_and_that_is_told",
        ],
    ),
    Row::of(
        "TestGetGangMinNumFromPod",
        "the label says the minimum before the annotation, and is an error where it is no number",
        Same,
        &["src/shim/dialect/koordinator/tests::labels_count_before_annotations_and_that_is_told"],
    ),
    Row::of(
        "TestIsPodNeedGang",
        "a pod is of a gang if it names one",
        Same,
        &[
            "spec_dialects::who_says_nothing_of_a_gang_is_placed_alone",
            "spec_koordinator::a_gang_is_declared_by_its_name_and_its_number",
        ],
    ),
    Row::of(
        "TestGetWaitTimeDuration",
        "the time of a PodGroup counts if it is above 0, and else the configured one",
        Same,
        &["spec_pod_groups::the_time_of_a_pod_group_is_the_wait_timeout"],
    ),
    Row::of(
        "TestStringToGangGroupSlice",
        "a list is a JSON array; nothing is no list, and anything else is an error",
        Same,
        &[
            "src/shim/dialect/koordinator/tests::koordinators_defaults_are_taken_and_told",
            "src/shim/dialect/koordinator/tests::gangs_of_one_group_are_one_application",
        ],
    ),
    Row::of(
        "TestCreateMergePatch",
        "of a changed PodGroup the difference is written",
        Different("its whole status is, if it is still the same object by its UID"),
        &["src/shim/wire_tests::requests_are_what_the_server_expects"],
    ),
];
