//! Losing seats, nodes and members; deleting TaskGroups in every phase (01, 1.5).

use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::{GroupSpec, Place};
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::NodeSpec;

use crate::support::cluster::{Cluster, NS, listed};
use crate::support::phases::{held, phases, running};

/// 01, 1.5: "A placeholder deleted by a user, evicted, preempted, failed …: the seat goes back to Open and is planned
/// again while the application still needs it"; the other seats are untouched.
#[test]
fn a_held_placeholder_that_goes_is_planned_again() {
    let acts: [fn(&mut Cluster); 3] = [
        |cluster| cluster.delete("ph-g-1-1-0"),
        |cluster| cluster.finish("ph-g-1-1-0", false),
        |cluster| cluster.finish("ph-g-1-1-0", true),
    ];
    for act in acts {
        let mut cluster = held();
        act(&mut cluster);
        cluster.settle();
        assert_eq!(cluster.bound(), ["ph-g-1-0-0", "ph-g-1-1-1", "ph-g-1-2-0"], "{:#?}", cluster.log);
        assert_eq!((cluster.report("g").seats.held, cluster.placeholders()), (3, 3));
    }
}

/// 01, 1.3: a member that is being deleted before its gang starts has no part in it: its seat is planned for somebody else.
#[test]
fn a_member_that_terminates_while_the_gang_reserves_gives_its_seat_back() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.members("g", 2);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.settle().wait(1_000).carry("create");
    // One for the placeholder, which is being bound.
    assert_eq!((cluster.placeholders(), cluster.report("g").seats.assumed), (1, 3), "{:?}", cluster.waiting());
    cluster.change("g-0", |spec| spec.terminating = true);
    cluster.step();
    assert_eq!(cluster.report("g").seats.assumed, 2);
    cluster.carry("bind");
    assert_eq!((cluster.placeholders(), cluster.report("g").seats.held), (1, 1), "{:#?}", cluster.log);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 1), "{:#?}", cluster.log);
}

/// As above, while it terminates: its room is not free yet and it holds nothing any more; nobody starts on it.
#[test]
fn a_placeholder_that_is_being_evicted_holds_no_seat() {
    let mut cluster = held();
    cluster.taken();
    cluster.change("ph-g-1-1-0", |spec| spec.terminating = true);
    cluster.members("g", 3);
    cluster.settle();
    let seats = cluster.report("g").seats;
    assert_eq!((seats.held, seats.leaving, cluster.state("g")), (2, 1, AppState::Accepted));
    assert_eq!((cluster.log.len(), cluster.cpu("root.q")), (0, 3000), "{:#?}", cluster.log);
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.placeholders()), (vec!["g-0".into(), "g-1".into(), "g-2".into()], 0));
}

/// 01, 1.5: "Deletion of a *pending* placeholder likewise."
#[test]
fn a_pending_placeholder_that_goes_is_created_again() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.taken();
    cluster.delete("ph-g-1-0-0");
    cluster.settle();
    assert_eq!((cluster.taken(), cluster.placeholders()), (vec!["create g/0".to_owned()], 3));
    assert_eq!(cluster.why("ph-g-1-0-1"), Some("Unschedulable"));
    cluster.node("n1", 1);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
}

/// 01, 1.5: "or lost with its node: the seat goes back to Open and is planned again"; 1.3: "at once".
#[test]
fn seats_lost_with_their_node_are_planned_on_another() {
    for quota in [3, 9] {
        let mut cluster = Cluster::default().nodes(3, 2).queue("root.q", quota);
        let spec = cluster.all("g", 3);
        cluster.submit("g", "root.q", spec);
        cluster.settle();
        let lost = cluster.node_of("ph-g-1-0-0").expect("it is bound");
        cluster.lose_node(&lost);
        cluster.settle();
        assert_eq!((cluster.report("g").seats.held, cluster.placeholders()), (3, 3), "{:#?}", cluster.log);
        assert!(cluster.bound().iter().all(|name| cluster.node_of(name) != Some(lost.clone())));
    }
}

/// 01, 1.5: a placeholder that is lost: "the seat goes back to Open and is planned again while the application still needs it
/// (… after [the start] too, while members are to come)". After the start no placeholder is created: its room is kept.
#[test]
fn a_seat_lost_after_the_start_waits_for_its_member() {
    let mut cluster = running();
    cluster.taken();
    cluster.delete("ph-g-1-2-0");
    cluster.settle();
    let seats = cluster.report("g").seats;
    assert_eq!((seats.open, seats.kept, seats.held, cluster.report("g").reason), (0, 1, 1, "SeatsKept"));
    (1..3).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.logged("create")), (vec!["g-0".into(), "g-1".into(), "g-2".into()], 0));
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.taken), ("Running", 3));
}

/// 01, 1.4: "Confirmation is whatever says first that the pod is gone": here a user deletes the placeholder of a swap
/// before Gangline does.
#[test]
fn a_placeholder_deleted_in_the_middle_of_its_swap_confirms_it() {
    let mut cluster = held();
    let node = cluster.node_of("ph-g-1-0-0").expect("it is bound");
    cluster.member("g-0", "g");
    cluster.step();
    cluster.taken();
    cluster.delete("ph-g-1-0-0");
    cluster.step();
    assert_eq!(cluster.taken(), [format!("bind g-0 {node} started")]);
    cluster.settle();
    assert_eq!((cluster.report("g").replaced, cluster.cpu("root.q")), (1, 3000));
}

/// 01, 1.5: "A node lost mid-swap: the member is planned again": here the other node that the member was to go to,
/// after the start: before it, a seat whose node was cordoned is planned again itself.
#[test]
fn the_target_of_a_swap_is_lost() {
    let mut cluster = held();
    cluster.member("g-0", "g");
    cluster.settle();
    for name in ["n0", "n1"] {
        cluster.show_node(name, NodeSpec { unschedulable: true, ..cluster.nodes[name].clone() });
    }
    cluster.node("n2", 1);
    cluster.member("g-1", "g");
    cluster.step();
    assert_eq!(cluster.report("g").seats.releasing, 1);
    cluster.lose_node("n2");
    cluster.settle();
    assert_eq!((cluster.why("g-1"), cluster.report("g").seats.open), (Some("Unschedulable"), 1));
    cluster.node("n3", 1);
    cluster.settle();
    assert_eq!(cluster.node_of("g-1"), Some("n3".into()));
}

/// 01, 1.4.3: "the member is allocated on that node, or if it no longer fits there on another node, or else it becomes
/// Unschedulable … while the seat returns to Open": another scheduler was faster, after the start.
#[test]
fn the_room_of_a_swap_is_lost() {
    for others in [1, 2] {
        let mut cluster = running();
        let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
        cluster.member("g-1", "g");
        cluster.step();
        let nodes = ["n0", "n1"].iter().filter(|name| others == 2 || **name == node);
        for name in nodes {
            let mut foreign = cluster.sized(&format!("foreign-{name}"), gangline::core::event::Role::Foreign, 4);
            foreign.place = Place::On { node: (*name).into(), running: true };
            cluster.show(foreign);
        }
        cluster.settle();
        if others == 1 {
            assert_eq!(cluster.node_of("g-1"), Some(if node == "n0" { "n1".into() } else { "n0".into() }));
        } else {
            assert_eq!((cluster.why("g-1"), cluster.report("g").seats.open), (Some("Unschedulable"), 1));
        }
    }
}

/// 01, 1.5: "a bind cannot be undone, so a gang that lost members after its start says PartiallyLost", be it in the middle
/// of its Bindings; a member that comes completes it.
#[test]
fn a_member_lost_between_the_bindings() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.step().carry("g-0");
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("g").reason), (vec!["g-0".into(), "g-2".into()], "PartiallyLost"));
    assert!(!cluster.report("g").placed);
    let id = *cluster.scheduler.books.group_ids.get(&Key::new(NS, "g")).expect("known");
    assert!(!cluster.scheduler.is_in_progress(id), "nothing of it passes by itself: it is told at once");
    cluster.member("g-3", "g");
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.report("g").reason, cluster.report("g").placed), (3, "Running", true));
}

/// As above for members that end: a failed one gives its seat back, one that succeeded keeps it.
#[test]
fn members_that_end_after_the_start() {
    for (succeeded, reason, taken) in [(false, "PartiallyLost", 2), (true, "Running", 3)] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.direct("g", 3);
        cluster.apply("g", spec);
        cluster.members("g", 3);
        cluster.settle();
        cluster.finish("g-1", succeeded);
        cluster.settle();
        assert_eq!((cluster.report("g").reason, cluster.report("g").seats.taken), (reason, taken));
    }
}

/// 02, 2.1: the API server's word holds. Another instance binds a member that waits here for its placeholder to go: it is
/// charged whole, also on the node where only what it needs beyond its seat was.
#[test]
fn a_member_that_another_instance_binds_in_its_swap_is_charged_whole() {
    for larger in [false, true] {
        let mut cluster = held();
        let cpu = 1 + i64::from(larger);
        cluster.large_member("g-0", "g", cpu);
        cluster.step();
        assert_eq!(
            (cluster.waiting(), cluster.report("g").seats.releasing),
            (vec!["release ph-g-1-0-0 replaced".into()], 1)
        );
        let node = cluster.node_of("ph-g-1-0-0").expect("it holds a seat");
        cluster.change("g-0", |spec| spec.place = Place::On { node: node.as_str().into(), running: true });
        cluster.settle();
        assert_eq!((cluster.cpu("root.q"), cluster.report("g").seats.taken), (i128::from(2 + cpu) * 1000, 1));
    }
}

/// 01, 1.4: a gang that has been complete does not start again while somebody comes for a lost seat.
#[test]
fn a_gang_that_is_completed_again_runs() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "PartiallyLost");
    cluster.member("g-2", "g");
    cluster.step();
    assert_eq!(cluster.waiting(), ["bind g-2 n0 started"]);
    let shown = cluster.report("g");
    assert_eq!((shown.reason, &*shown.message), ("Running", "1 of 2 members runs"));
}

/// 01, 1.6, `OnceSatisfied`: "afterwards members are ordinary pods": once a gang has been complete, who comes for a lost
/// seat waits in the order of all.
#[test]
fn who_comes_for_a_lost_seat_does_not_go_first() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    cluster.single("urgent");
    cluster.change("urgent", |spec| spec.priority = 1);
    cluster.settle();
    cluster.delete("g-0");
    cluster.member("g-2", "g");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("g-2")), (vec!["g-1".into(), "urgent".into()], Some("Unschedulable")));
}

/// 01, 1.5: "a gang that lost members after its start says `PartiallyLost`": with a node too, whose members are facts until their
/// pods go (otherwise than in seed 004 "node update and removal": "remove alloations and inform RM"); then others are placed.
#[test]
fn a_node_lost_after_the_start() {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", 9);
    let spec = cluster.direct("g", 4);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 4);
    cluster.settle();
    let lost: Vec<_> =
        cluster.bound().into_iter().filter(|name| cluster.node_of(name) == Some("n0".to_owned())).collect();
    cluster.lose_node("n0");
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.cpu("root.q")), ("Running", 4000));
    lost.iter().for_each(|name| cluster.delete(name));
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.cpu("root.q")), ("PartiallyLost", 2000));
    cluster.node("n2", 2);
    lost.iter().for_each(|name| cluster.member(&format!("{name}-again"), "g"));
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.bound().len()), ("Running", 4));
}

/// 01, 1.5: "Gangline deletes its placeholders itself", also while the object terminates: nothing waits until it is gone.
#[test]
fn a_terminating_task_group_counts_as_deleted() {
    let mut cluster = held();
    let spec = GroupSpec { terminating: true, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.placeholders(), 0);
}

/// 01, 1.5: "unbound members park": also one in the middle of its swap, whose placeholder leaves all the same.
#[test]
fn a_member_in_a_swap_parks_when_its_task_group_goes() {
    let mut cluster = held();
    cluster.member("g-0", "g");
    cluster.step();
    cluster.lose_group("g");
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.why("g-0")), (0, Some("TaskGroupNotFound")));
    assert_eq!((cluster.cpu("root"), cluster.placeholders()), (0, 0));
}

fn successor(cluster: &Cluster) -> GroupSpec {
    GroupSpec { uid: Uid::new("uid-g-2"), created: 30, queue: Some("root.q".into()), ..cluster.direct("g", 3) }
}

/// 01, 1.5: "running members stay charged under the UID in their annotation and never count for a successor of the same
/// name", also after a restart.
#[test]
fn running_members_never_count_for_a_successor() {
    for restart in [false, true] {
        let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 5);
        let spec = GroupSpec { queue: Some("root.q".into()), ..cluster.direct("g", 3) };
        cluster.apply("g", spec);
        cluster.members("g", 3);
        cluster.settle();
        cluster.lose_group("g");
        cluster.settle();
        assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (3, 3000));
        let spec = successor(&cluster);
        cluster.apply("g", spec);
        (3..6).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        if restart {
            cluster.restart();
        }
        cluster.settle();
        let report = cluster.report("g");
        assert_eq!((report.state, report.seats.open, report.members.scheduled), (AppState::Accepted, 3, 0));
        assert_eq!((report.reason, cluster.cpu("root.q")), ("WaitingForQuota", 3000));
        cluster.delete("g-1");
        cluster.settle();
        assert_eq!(cluster.bound(), ["g-0", "g-2", "g-3", "g-4", "g-5"]);
        assert_eq!(cluster.report("g").seats.taken, 3);
    }
}

/// As above for members whose Bindings were on their way when the TaskGroup went.
#[test]
fn members_bound_after_their_task_group_went_belong_to_nobody() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 9);
    let spec = GroupSpec { queue: Some("root.q".into()), ..cluster.direct("g", 3) };
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.step().carry("g-0");
    cluster.lose_group("g");
    let spec = successor(&cluster);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (3, 3000), "{:#?}", cluster.log);
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.open), ("WaitingForMembers", 3));
}

/// 01, 1.5 "Deleting a TaskGroup": one is deleted and created again with another size before anybody looks: its old
/// placeholders go.
#[test]
fn a_recreated_task_group_begins_anew() {
    let mut cluster = held();
    cluster.taken();
    let spec = GroupSpec { uid: Uid::new("uid-g-2"), queue: Some("root.q".into()), ..cluster.all("g", 2) };
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound(), ["ph-g-2-1-0-0", "ph-g-2-1-1-0"], "{:#?}", cluster.log);
    assert_eq!((cluster.logged("release"), cluster.report("g").seats.held), (3, 2));
}

/// 01, 1.5 "Deleting a TaskGroup": of one of two of a gang: before the start the other holds nothing either, after it it
/// goes on.
#[test]
fn a_gang_that_loses_one_of_its_task_groups() {
    for started in [false, true] {
        let mut cluster = Cluster::default().nodes(2, 4);
        for name in ["a", "b"] {
            let gang = listed(["a", "b"]);
            let spec = GroupSpec { application: "job".into(), gang, ..cluster.all(name, 2) };
            cluster.apply(name, spec);
        }
        cluster.settle();
        if started {
            cluster.members("a", 2);
            cluster.settle();
        }
        cluster.lose_group("b");
        cluster.settle();
        if started {
            assert_eq!((cluster.bound(), cluster.state("a")), (vec!["a-0".into(), "a-1".into()], AppState::Running));
        } else {
            assert_eq!((cluster.placeholders(), cluster.report("a").reason), (0, "WaitingForTaskGroups"));
        }
    }
}

/// 01, 1.5: "None pends a member for ever": whatever was lost, with room and a whole gang everything runs in the end.
#[test]
fn no_loss_pends_a_member_for_ever() {
    let losses: [fn(&mut Cluster); 4] = [
        |cluster| cluster.lose_node("n0"),
        |cluster| cluster.lose_node("n1"),
        |cluster| {
            let placeholders: Vec<_> = cluster.pods.keys().filter(|name| name.starts_with("ph-")).cloned().collect();
            placeholders.iter().for_each(|name| cluster.delete(name));
        },
        |cluster| {
            let unbound = |(_, spec): &&(_, gangline::core::event::AskSpec)| spec.place == Place::Pending;
            let names: Vec<_> = cluster.pods.values().filter(unbound).map(|(_, spec)| spec.key.name.clone()).collect();
            names.iter().for_each(|name| cluster.delete(name));
        },
    ];
    let alive = ["gate", "creating", "pending", "binding", "held", "swapping", "starting", "running", "waiting"];
    for loss in losses {
        for (phase, mut cluster) in phases().into_iter().filter(|(phase, _)| alive.contains(phase)) {
            loss(&mut cluster);
            cluster.settle();
            cluster.node("n8", 8);
            cluster.set_queue("root.q", 20);
            (5..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
            cluster.settle().wait(2_000).settle();
            let pending = |(_, spec): &&(_, gangline::core::event::AskSpec)| spec.place == Place::Pending;
            let left: Vec<_> = cluster.pods.values().filter(pending).map(|(_, spec)| &spec.key).collect();
            assert!(left.is_empty(), "{phase}: {left:?} of {:?}: {:#?}", cluster.report("g"), cluster.log);
            assert!(cluster.bound().contains(&"g-7".to_owned()), "{phase}");
        }
    }
}

/// 01, 1.11: the state is a function of what the cluster holds: a restart would give the seat to the member that runs
/// without one.
#[test]
fn a_member_that_runs_beyond_the_seats_has_one_that_is_lost() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.report("g").seats.taken), (3, 2));
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").reason), (2, "Running"));
}

/// 01, 1.1: one seat for each guaranteed member. Who has succeeded keeps its own, also when its pod is gone; one that is
/// lost is for who has none.
#[test]
fn who_has_succeeded_takes_no_second_seat() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.apply("g", cluster.direct("g", 2));
    cluster.members("g", 3);
    cluster.settle();
    cluster.finish("g-0", true);
    cluster.finish("g-1", false);
    cluster.settle();
    assert_eq!(
        (cluster.report("g").seats.taken, cluster.report("g").reason),
        (2, "Running"),
        "g-2 has the seat of g-1"
    );
    cluster.finish("g-2", false);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.taken, 1, "that of g-0");
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.report("g").seats.taken, 1);
}

/// 01, 1.5: a seat is lost with its node; a placeholder that is seen on a node before the node itself is holds its seat
/// when that comes.
#[test]
fn a_placeholder_is_seen_before_its_node() {
    let mut cluster = Cluster::default();
    let spec = cluster.all("g", 1);
    cluster.apply("g", spec);
    cluster.settle();
    let name = cluster.pods.keys().find(|name| name.starts_with("ph-")).expect("it is created").clone();
    cluster.change(&name, |spec| spec.place = Place::On { node: "n0".into(), running: true });
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.held), ("PlaceholdersLeaving", 0));
    let mut cordoned = cluster.clone();
    cluster.node("n0", 1);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.held), ("WaitingForMembers", 1));
    let allocatable = cluster.nodes["n0"].allocatable.clone();
    cordoned.show_node("n0", NodeSpec { allocatable, unschedulable: true, ..NodeSpec::default() });
    cordoned.settle();
    let report = cordoned.report("g");
    assert_eq!(
        (report.reason, report.seats.held, cordoned.logged("release")),
        ("WaitingForCapacity", 0, 1),
        "no member could come"
    );
}

/// 02, 2.1: the API server's word holds. A pod that somebody else bound elsewhere leaves the room that it was to have.
#[test]
fn a_pod_that_was_bound_elsewhere_gives_its_room_to_who_waits() {
    let mut cluster = Cluster::default().nodes(1, 1);
    cluster.single("a");
    cluster.step();
    cluster.single("b");
    cluster.step();
    assert_eq!(cluster.waiting(), ["bind a n0"]);
    cluster.change("a", |spec| spec.place = Place::On { node: "elsewhere".into(), running: true });
    cluster.step();
    assert!(cluster.waiting().contains(&"bind b n0".to_owned()), "{:?}", cluster.waiting());
}
