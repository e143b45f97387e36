//! What Koordinator asserts of preemption for gangs, and of gangs that are to be close to each other in a network.

use super::{NO_PREEMPTION, NO_TOPOLOGY};
use crate::peers::table::Row;
use crate::peers::table::Verdict::Same;

const REFUSED: &[&str] = &[
    "spec_koordinator::what_is_not_read_is_refused",
    "spec_pod_groups::annotations_of_koordinators_pod_groups_are_read",
];

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestPodGroupManager_PostFilter: preemption not enabled",
        "without preemption a gang that finds no nodes is `Unschedulable`, with a message of the gang",
        Same,
        &["spec_dialects::each_member_of_a_gang_that_finds_no_nodes_says_so_once"],
    ),
    Row::of(
        "TestPodGroupManager_PostFilter: bare pod",
        "a pod of no gang is left to the usual preemption",
        NO_PREEMPTION,
        &[],
    ),
    Row::of("TestPodGroupManager_PostFilter: gang pod", "for a gang its own preemption is asked", NO_PREEMPTION, &[]),
    Row::of(
        "TestPodGroupManager_PostFilter: gang pod with suggestion propagated to gangSchedulingContext",
        "what that advises is kept for the other members",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "TestPostFilter_PreemptionMessageForNonRootCausePod (three cases)",
        "other members repeat why preemption did not help the first one that found no node",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "TestAfterPostFilter_PreemptionDiagnosisFailedMessage (four cases)",
        "the first one alone says why preemption did not help, and once",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: already preempted",
        "in one attempt of a gang there is one preemption",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: no pending pods",
        "a gang of which nobody waits preempts nobody",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: job not eligible due to preemption policy",
        "a gang of the policy `Never` preempts nobody",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: job not eligible due to terminating pod",
        "while a victim terminates on a node that was nominated nobody else is preempted",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: unschedulableAndUnResolvable",
        "nobody is preempted on a node that would not do without him either",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: no potential victims",
        "without victims the gang waits",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "Test_preemptionEvaluatorImpl_preempt: preempt success; preempt success with one waiting pod",
        "victims are chosen for the whole gang, and each member is nominated for a node",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "TestJobPreemptionState_addMoreDetailForStateToMarshal",
        "what was tried is told in JSON",
        NO_PREEMPTION,
        &[],
    ),
    Row::of(
        "TestPodGroupManager_PreFilter (four cases)",
        "a pod of a gang that was planned goes to the node of the plan; no other pod and no first pod has such a plan",
        NO_TOPOLOGY,
        REFUSED,
    ),
    Row::of(
        "TestPodGroupManager_NetworkTopology (five cases), TestPodGroupManager_PreScore",
        "a gang is gathered in one domain of the network, as it prefers or must, with preemption where it has to",
        NO_TOPOLOGY,
        REFUSED,
    ),
    Row::of(
        "TestTopologyNodeLessFunc (seven cases), TestTopologyNodeLessFunc_ScoreFallback (two cases), TestTopologyNodeLessFunc_NilParent",
        "domains are in the order of how many members they take, then of those above them, of scores and of names",
        NO_TOPOLOGY,
        REFUSED,
    ),
    Row::of(
        "TestDistributeOfferSlot_WithPodCountMultiple (four cases), TestConstrainOfferSlotByPodCountMultiple (four cases), TestGetLayerPodCountMultiple (seven cases), TestDistributeOfferSlot_PodCountMultipleInsufficientSlots",
        "a domain takes a multiple of `podCountMultiple`, on each layer that has one above 1, or nobody",
        NO_TOPOLOGY,
        REFUSED,
    ),
    Row::of("Test_calculateNodeExistingPodsNum", "members that have nodes are counted by node", NO_TOPOLOGY, REFUSED),
];
