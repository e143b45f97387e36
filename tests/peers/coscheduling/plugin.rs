//! What the plugin asserts of single pods: their order, and whether they are tried, wait or are let go.

use super::NO_MIN_RESOURCES;
use crate::peers::table::Row;
use crate::peers::table::Verdict::{self, Better, Different, NotApplicable, Same};

const BY_CREATION: Verdict =
    Better("by when it was created, which a restart of the scheduler does not change; there by its first try");
const BY_TASK_GROUP: Verdict =
    Different("a gang is as old as its TaskGroup, which is made when the first pod is seen that names the PodGroup");
const NO_PART: Verdict = Different("nothing is held in part, so that there is no part to keep or to give back");

const ONE_ORDER: &[&str] = &["spec_order::gangs_and_ordinary_pods_are_one_order"];
const GANGS: &[&str] = &["spec_order::waiting_gangs_start_first_come_first_served"];
const PODS: &[&str] = &["spec_order::ties_are_broken_by_priority_then_age_then_name"];
const ALONE: &[&str] = &["spec_dialects::who_says_nothing_of_a_gang_is_placed_alone"];
const TOGETHER: &[&str] = &["spec_pod_groups::pods_that_name_a_pod_group_start_together"];
const NOT_THERE: &[&str] = &["spec_pod_groups::pods_wait_for_a_pod_group_that_is_not_there_yet"];
const GATES: &[&str] = &["spec_dialects::pods_with_gates_do_not_count_for_a_pod_group"];
const LEAST: &[&str] = &["spec_dialects::the_least_resources_of_a_pod_group_decide_nothing"];
const NOTHING_HELD: &[&str] = &[
    "spec_koordinator::a_gang_that_does_not_fit_holds_nothing",
    "spec_dialects::a_gang_that_cannot_be_whole_leaves_the_room_to_the_others",
];

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "TestLess: p1.priority less than p2.priority; p1.priority greater than p2.priority",
        "of pods without a PodGroup the one of higher priority comes first",
        Same,
        PODS,
    ),
    Row::of(
        "TestLess: equal priority. p1 is added to schedulingQ earlier than p2; …p2 … earlier than p1",
        "of equal priority the earlier comes first",
        BY_CREATION,
        PODS,
    ),
    Row::of(
        "TestLess: p1.priority less than p2.priority, p1 belongs to pg1; p1.priority greater than p2.priority, p1 belongs to pg1",
        "of a gang and a pod the one of higher priority comes first",
        Same,
        ONE_ORDER,
    ),
    Row::of(
        "TestLess: equal priority. p1 is added to schedulingQ earlier than p2, p1 belongs to pg1; …p2 … earlier than p1, p1 belongs to pg1",
        "of equal priority the earlier comes first: a gang counts by when its PodGroup was created",
        BY_TASK_GROUP,
        ONE_ORDER,
    ),
    Row::of(
        "TestLess: p1.priority less than p2.priority, p1 belongs to pg1 and p2 belongs to pg2; p1.priority greater than p2.priority, …",
        "the gang of higher priority comes first",
        Same,
        GANGS,
    ),
    Row::of(
        "TestLess: equal priority. p1 is added to schedulingQ earlier than p2, p1 belongs to pg1 and p2 belongs to pg2; …p2 … earlier than p1, …",
        "of gangs of equal priority the one comes first whose PodGroup is older",
        BY_TASK_GROUP,
        GANGS,
    ),
    Row::of(
        "TestLess: equal priority and creation time, p1 belongs pg1 and p2 belong to pg2",
        "of gangs of one age the first by namespace and name comes first",
        Same,
        GANGS,
    ),
    Row::of(
        "TestLess: equal priority and creation time, and p2 belong to pg2",
        "so of a pod and a gang of one age",
        Same,
        &["spec_dialects::a_gang_and_a_pod_of_one_age_go_by_their_names"],
    ),
    Row::of(
        "TestLessAfterScheduleFailure",
        "a gang that found no nodes comes after one that is younger, until it has found some",
        Different(
            "it keeps its place, and those that fit overtake it, as often or as long as the queue lets them (ADR 21)",
        ),
        &[
            "spec_gate::a_later_gang_that_fits_overtakes",
            "spec_order::a_gang_that_waits_is_not_overtaken_by_equals",
            "spec_head::the_first_in_line_is_overtaken_so_often_and_no_more",
        ],
    ),
    Row::of(
        "TestPodGroupBackoffTime: prevent pod falling into infinite scheduling loop",
        "the first pod of a gang that waits calls the others; when one finds no node the gang is not tried for a while",
        Different(
            "all members are planned at once; a plan that failed is not made again while what it lacked has not changed",
        ),
        &[
            "spec_koordinator::a_gang_that_does_not_fit_holds_nothing",
            "spec_room::what_was_searched_for_in_vain_is_not_searched_for_again",
        ],
    ),
    Row::of("TestPermit: pods do not belong to any podGroup", "a pod without a PodGroup is bound", Same, ALONE),
    Row::of(
        "TestPermit: pods belong to a pg1, but quorum not satisfied",
        "a pod waits with its node while too few others have one",
        Different("it waits without one"),
        TOGETHER,
    ),
    Row::of(
        "TestPermit: pods belong to a podGroup, and quorum satisfied",
        "with the last one that was missing all that wait are bound",
        Same,
        TOGETHER,
    ),
    Row::of(
        "TestPostFilter: pod does not belong to any pod group",
        "a pod without a PodGroup that finds no node is `Unschedulable`, and concerns nobody else",
        Same,
        ALONE,
    ),
    Row::of(
        "TestPostFilter: enough pods assigned, do not reject all",
        "a pod that finds no node takes nothing from a gang that has enough",
        Same,
        &[
            "spec_koordinator::after_the_start_members_are_ordinary_pods",
            "spec_gang::after_the_start_members_are_ordinary",
        ],
    ),
    Row::of(
        "TestPostFilter: pod failed at filter phase, reject all pods",
        "else all of the gang give their nodes back",
        Same,
        NOTHING_HELD,
    ),
    Row::of(
        "TestPostFilterRejectThreshold: default 10%: 9/10 assigned; 50%: 6/10 assigned",
        "where few enough are missing the others keep their nodes",
        NO_PART,
        NOTHING_HELD,
    ),
    Row::of(
        "TestPostFilterRejectThreshold: default 10%: 8/10 assigned; 50%: 4/10 assigned; 0%: 9/10 assigned",
        "where more are missing, or with 0 %, they give them back",
        Same,
        NOTHING_HELD,
    ),
    Row::of(
        "TestPostFilterRejectThreshold: 100%: 0/10 assigned",
        "with 100 % nobody ever gives a node back",
        NO_PART,
        NOTHING_HELD,
    ),
];

pub(super) const CORE: &[Row] = &[
    Row::of("core TestPreFilter: pod does not belong to any pg", "a pod without a PodGroup is tried", Same, ALONE),
    Row::of(
        "core TestPreFilter: pod belongs to a non-existent pg",
        "so is one whose PodGroup is not there; it is refused once it has found a node",
        Better("it waits without a node, and says which PodGroup it waits for"),
        NOT_THERE,
    ),
    Row::of(
        "core TestPreFilter: pod count less than minMember",
        "a pod is refused while its gang has too few",
        Same,
        TOGETHER,
    ),
    Row::of("core TestPreFilter: pod count equal minMember", "with as many as must be it is tried", Same, TOGETHER),
    Row::of(
        "core TestPreFilter: pod count more than minMember",
        "with more of them, too",
        Same,
        &["spec_dialects::the_phase_of_a_pod_group_is_that_of_its_pods"],
    ),
    Row::of(
        "core TestPreFilter: gated pods but still meeting quorum (minMember < replicas)",
        "pods with scheduling gates do not matter where the others are enough",
        Same,
        GATES,
    ),
    Row::of(
        "core TestPreFilter: gated pods push group below quorum",
        "where the others are too few they are refused",
        Same,
        GATES,
    ),
    Row::of("core TestPreFilter: all sibling pods are gated", "so where all have gates", Same, GATES),
    Row::of(
        "core TestPreFilter: cluster's resource satisfies minResource",
        "a gang is tried if its `minResources` are free in the whole cluster",
        NO_MIN_RESOURCES,
        LEAST,
    ),
    Row::of(
        "core TestPreFilter: cluster's resource cannot satisfy minResource",
        "and refused if they are not",
        NO_MIN_RESOURCES,
        LEAST,
    ),
    Row::of(
        "core TestPermit: pod does not belong to any pg",
        "a pod without a PodGroup is none of the gangs'",
        Same,
        ALONE,
    ),
    Row::of(
        "core TestPermit: pod specifies a non-existent pg",
        "a PodGroup that is not there is told",
        Same,
        NOT_THERE,
    ),
    Row::of(
        "core TestPermit: pod belongs to a pg that doesn't have quorum",
        "too few pods of a gang wait",
        Same,
        TOGETHER,
    ),
    Row::of(
        "core TestPermit: pod belongs to a pg that have quorum satisfied",
        "enough of them are bound",
        Same,
        TOGETHER,
    ),
    Row::of(
        "TestCheckClusterResource: Cluster resource enough; Cluster resource not enough",
        "what is free on all nodes together is compared with `minResources`",
        NO_MIN_RESOURCES,
        LEAST,
    ),
    Row::of(
        "TestCheckClusterResource: Cluster resource enough as p1's resource needs to be excluded from minResources",
        "what pods of the gang have already counts as free for it",
        NotApplicable("nothing is compared with the whole cluster, and no part of a gang has anything"),
        &[],
    ),
    Row::of(
        "TestMarkAndClearPodGroupScheduleFailure",
        "when a gang last failed is noted once, and forgotten when it starts or goes",
        NotApplicable("no failures are noted: a gang keeps its place in the order"),
        &["spec_order::a_gang_that_waits_is_not_overtaken_by_equals"],
    ),
    Row::of(
        "TestSchemeRestriction",
        "the plugin's client knows the kinds that it needs, and no others",
        NotApplicable("each kind is read by itself, as far as it is needed"),
        &["spec_pod_groups::what_is_not_read_is_not_waited_for"],
    ),
];
