//! What YuniKorn's core asserts of nodes and of whole partitions (`scheduler`, `scheduler/tests`).

use gangline::core::event::{GroupSpec, QueueSpec, SortPolicy};
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::NodeSpec;

use crate::support::cluster::{Cluster, listed};
use crate::support::phases::{held, running};

/// Two task groups of one application, with a placeholder for each member.
fn pair(cluster: &mut Cluster, sizes: [u32; 2]) {
    for (name, min) in ["a", "b"].into_iter().zip(sizes) {
        let gang = listed(["a", "b"]);
        let spec = GroupSpec { application: "job".into(), gang, ..cluster.all(name, min) };
        cluster.apply(name, spec);
    }
}

/// TestRemoveNodeWithReplacement: a member goes to another node than its placeholder has; when the node of the placeholder is
/// lost, the member keeps its own, and the application goes on.
#[test]
fn a_swap_to_another_node_outlives_the_node_of_its_placeholder() {
    let mut cluster = running();
    for name in ["n0", "n1"] {
        cluster.show_node(name, NodeSpec { unschedulable: true, ..cluster.nodes[name].clone() });
    }
    cluster.node("n2", 1);
    cluster.member("g-1", "g");
    cluster.step();
    let leaves = cluster.waiting().into_iter().find(|line| line.starts_with("release")).expect("a swap begins");
    let leaves = leaves.split(' ').nth(1).expect("a name").to_owned();
    let node = cluster.node_of(&leaves).expect("it is bound");
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!((cluster.node_of("g-1"), cluster.state("g")), (Some("n2".into()), AppState::Running));
}

/// TestRemoveNodeWithReal: a member is to go to another node, which is lost before its placeholder is gone; what the
/// placeholder says then is a legal word about a swap that is over (P6: there it ends the process).
#[test]
fn a_confirmation_after_the_target_was_lost_is_a_legal_word() {
    let mut cluster = running();
    for name in ["n0", "n1"] {
        cluster.show_node(name, NodeSpec { unschedulable: true, ..cluster.nodes[name].clone() });
    }
    cluster.node("n2", 1);
    cluster.member("g-1", "g");
    cluster.step();
    cluster.lose_node("n2");
    cluster.step();
    cluster.carry("release");
    cluster.settle();
    assert_eq!((cluster.node_of("g-1"), cluster.why("g-1")), (None, Some("Unschedulable")));
    cluster.node("n3", 1);
    cluster.settle();
    assert_eq!(cluster.node_of("g-1"), Some("n3".into()));
}

/// TestPlaceholderMatch: a pod of a task group goes by its placeholder while there is one, further members are ordinary pods.
/// One of an unknown task group is allocated directly there; here it waits until that task group is there.
#[test]
fn a_member_goes_by_its_seat_and_never_by_an_unknown_group() {
    let mut cluster = held();
    cluster.member("stranger", "unknown");
    cluster.members("g", 3);
    cluster.step();
    let waiting = cluster.waiting();
    assert!(waiting.len() == 3 && waiting.iter().all(|line| line.ends_with("replaced")), "{waiting:?}");
    cluster.settle();
    cluster.member("g-3", "g");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2", "g-3"]);
    assert_eq!((cluster.report("g").replaced, cluster.why("stranger")), (3, Some("TaskGroupNotFound")));
}

/// TestAddAppTaskGroup asserts that a Fair queue takes no gang; one whose queue becomes Fair later stays there (P26). Here it is
/// judged again: one that has not started gives its seats back, one that runs goes on.
#[test]
fn a_gang_whose_queue_becomes_fair_is_judged_again() {
    for (mut cluster, state) in [(held(), AppState::Rejected), (running(), AppState::Running)] {
        let before = cluster.queues["root.q"].clone();
        cluster.show_queue("root.q", QueueSpec { sort_policy: Some(SortPolicy::Fair), ..before.clone() });
        cluster.settle();
        let is_rejected = state == AppState::Rejected;
        assert_eq!((cluster.state("g"), cluster.placeholders()), (state, if is_rejected { 0 } else { 2 }));
        cluster.show_queue("root.q", before);
        cluster.settle();
        assert_ne!(cluster.state("g"), AppState::Rejected);
    }
}

/// TestTryPlaceholderAllocate and TestPlaceholderAllocationTracking: of three placeholders one is replaced and two are removed:
/// one allocation is left, and no placeholder. Here the room of those that were removed is kept for members that are to come
/// (01, 1.5).
#[test]
fn one_is_replaced_and_two_are_removed() {
    let mut cluster = running();
    let members = |cluster: &Cluster| {
        let report = cluster.report("g");
        (report.members.scheduled, report.members.placeholders, cluster.cpu("root.q"))
    };
    assert_eq!(members(&cluster), (1, 2, 3_000));
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!((members(&cluster), cluster.report("g").seats.kept), ((1, 1, 3_000), 1));
    cluster.delete("ph-g-1-2-0");
    cluster.settle();
    assert_eq!((members(&cluster), cluster.report("g").seats.kept), ((1, 0, 3_000), 2));
    assert_eq!(cluster.state("g"), AppState::Running);
}

/// TestPlaceholderAllocationAndReplacementAfterRecovery: a placeholder of one task group is found after a restart, one of
/// another is missing, and a member comes: the missing one is made, then the member has its node.
#[test]
fn a_member_of_one_group_starts_after_a_restart_that_lost_a_seat_of_another() {
    let mut cluster = Cluster::default().nodes(1, 4);
    pair(&mut cluster, [1, 1]);
    cluster.settle();
    cluster.pods.remove("ph-b-1-0-0").expect("it was made");
    cluster.member("a-0", "a");
    cluster.taken();
    cluster.restart().step();
    assert_eq!(cluster.waiting(), ["create b/0"], "no member starts before all seats are held");
    cluster.settle();
    let held = ["a", "b"].map(|name| cluster.report(name).seats.held);
    assert_eq!((cluster.node_of("a-0"), held), (Some("n0".into()), [0, 1]), "{:#?}", cluster.log);
}

/// TestPlaceholderRecovery: placeholders are found, others asked for, members come and everything is removed.
#[test]
fn what_is_found_what_is_added_and_what_is_removed() {
    let mut cluster = Cluster::default().nodes(1, 3);
    pair(&mut cluster, [2, 3]);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.bound().len()), (5, 0), "two cpu are missing");
    cluster.restart();
    cluster.node("n1", 2);
    cluster.settle();
    cluster.members("a", 2);
    cluster.members("b", 4);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders(), cluster.why("b-3")), (5, 0, Some("Unschedulable")));
    assert_eq!(cluster.clear_away(), [""; 0]);
}
