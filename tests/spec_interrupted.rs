//! What a process that died had begun: a start in the middle, seats that members had, and Bindings that come to light only
//! later (01, 1.6 and 1.11).

use std::sync::Arc;

use gangline::core::base::ids::{Key, Uid};
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, BindOutcome, Event, GroupSpec, Mark, Place, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::Refusal;
use gangline::core::shape::NodeSpec;

use crate::support::cluster::{Cluster, NS, listed};
use crate::support::phases::{held, interrupted};

/// 01, 1.11: when the Binding that a process had sent before it died comes to light while the next one, which could know of
/// no start, reserves again, the gang goes on as after a restart that would have shown it.
#[test]
fn a_binding_of_an_earlier_process_comes_to_light_late() {
    for (rounds, ended) in (0..6).flat_map(|rounds| [(rounds, false), (rounds, true)]) {
        let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
        let spec = cluster.all("g", 3);
        cluster.submit("g", "root.q", spec);
        cluster.settle().members("g", 3);
        cluster.step().carry("release");
        let sent = cluster.decisions.iter().find_map(|decision| {
            if let Decision::Allocate { mark, .. } = decision { Some(mark.clone()) } else { None }
        });
        let mark = sent.expect("members are bound");
        assert_eq!((mark.seat, cluster.waiting()[0].as_str()), (Some(0), "bind g-0 n0 started"));
        cluster.restart();
        for _ in 0..rounds {
            cluster.carry("");
        }
        if cluster.node_of("g-0").is_none() {
            let on = Place::On { node: "n0".into(), running: true };
            // Watches tell of the last change only, where they had to list anew.
            let place = if ended { Place::Succeeded } else { on };
            cluster.change("g-0", |spec| (spec.place, spec.mark) = (place, Some(mark)));
        }
        cluster.settle();
        let what = format!("after {rounds} rounds, ended {ended}");
        let others: Vec<String> = cluster.bound().into_iter().filter(|pod| pod != "g-0").collect();
        assert_eq!((others, cluster.placeholders()), (vec!["g-1".into(), "g-2".into()], 0), "{what}");
        let report = cluster.report("g");
        assert_eq!((report.state, report.placed, report.seats.taken), (AppState::Running, true, 3), "{what}");
    }
}

/// As above, where the next process has rejected the gang for a limit that was lowered: before it had looked at it, or after it
/// had accepted it in the same life.
#[test]
fn a_binding_of_an_earlier_process_comes_to_light_after_a_rejection() {
    for accepted in [false, true] {
        let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
        let spec = cluster.all("g", 2);
        cluster.submit("g", "root.q", spec);
        cluster.settle();
        if accepted {
            cluster.restart().step();
            assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 1));
            cluster.set_queue("root.q", 1);
        } else {
            cluster.set_queue("root.q", 1);
            cluster.restart();
        }
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Rejected, 0));
        runs_in(&mut cluster, "g-0", 0);
        cluster.settle();
        let said =
            |cluster: &Cluster| (cluster.state("g"), cluster.report("g").reason, cluster.report("g").incarnation);
        assert_eq!(said(&cluster), (AppState::Running, "PartiallyLost", 1), "accepted before: {accepted}");
        cluster.restart().settle();
        assert_eq!(said(&cluster), (AppState::Running, "PartiallyLost", 1), "the same anew");
    }
}

/// 01, 1.5: as above for a member that had been bound for an earlier TaskGroup of that name, and is about to be bound for this
/// one: it counts for none, and its seat is open.
#[test]
fn a_binding_for_an_earlier_task_group_comes_to_light_late() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.step();
    assert_eq!(cluster.waiting(), ["bind g-0 n0 started", "bind g-1 n0 started"]);
    let sent = cluster.decisions.iter().position(|decision| matches!(decision, Decision::Allocate { .. }));
    let sent = cluster.decisions.remove(sent.expect("it is there"));
    let Decision::Allocate { ask, mut mark, .. } = sent else { panic!("a Binding") };
    mark.group = Some(Uid::new("uid-earlier"));
    let on = Place::On { node: "n0".into(), running: true };
    cluster.change("g-0", |spec| (spec.place, spec.mark) = (on, Some(mark)));
    cluster.step();
    let conflict = Refusal { code: 409, message: "is already assigned".into() };
    cluster.tell(Event::Bind(ask, BindOutcome::Failed(conflict)));
    cluster.settle();
    let said = |cluster: &Cluster| {
        let report = cluster.report("g");
        (report.state, report.reason, report.members.scheduled, report.seats.taken)
    };
    assert_eq!(said(&cluster), (AppState::Running, "PartiallyLost", 1, 1));
    cluster.restart().settle();
    assert_eq!(said(&cluster), (AppState::Running, "PartiallyLost", 1, 1), "the same anew");
}

/// A member of `g` that an earlier process bound for a seat.
fn runs_in(cluster: &mut Cluster, name: &str, seat: u32) {
    let mut member = cluster.pod(name, Role::Member { group: "g".into() });
    member.place = Place::On { node: "n0".into(), running: true };
    member.mark = Some(Mark {
        group: Some(Uid::new("uid-g")),
        incarnation: 1,
        seat: Some(seat),
        started: true,
        queue: "root.q".into(),
        ..Mark::default()
    });
    cluster.show(member);
}

/// 01, 1.11: as above for a member that has succeeded, seen in one batch with a limit that was lowered below the gang: what
/// has started is not judged again, and a restart decides the same.
#[test]
fn a_start_comes_to_light_with_a_lower_limit() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 2));
    cluster.set_queue("root.q", 1);
    runs_in(&mut cluster, "g-0", 0);
    cluster.change("g-0", |spec| spec.place = Place::Succeeded);
    cluster.settle();
    let said = |cluster: &Cluster| (cluster.state("g"), cluster.report("g").reason, cluster.report("g").seats.taken);
    let now = said(&cluster);
    assert!(cluster.report("g").state != AppState::Rejected, "{now:?}");
    cluster.restart().settle();
    assert_eq!(said(&cluster), now, "the same anew");
}

/// 01, 1.11: a start comes to light in one batch with a pod that takes the room of a member which waits for it: the member
/// is not bound there.
#[test]
fn a_start_that_is_found_binds_nobody_where_there_is_no_room() {
    let mut cluster = Cluster::default().nodes(2, 1).queue("root.q", 3);
    let spec = cluster.group("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.member("g-1", "g");
    cluster.step().wait(2_000).carry("create");
    let assumed = &cluster.scheduler.books.asks[cluster.pods["g-1"].0];
    let node =
        cluster.scheduler.books.nodes.name(assumed.node().expect("it has a node")).cloned().expect("of this name");
    assert!(!cluster.log.iter().any(|line| line.starts_with("bind g-1")), "{:#?}", cluster.log);
    let mut foreign = cluster.sized("foreign", Role::Foreign, 1);
    foreign.place = Place::On { node: node.clone(), running: true };
    cluster.show(foreign);
    runs_in(&mut cluster, "g-0", 0);
    cluster.step();
    assert_eq!(cluster.state("g"), AppState::Running);
    assert!(!cluster.log.contains(&format!("bind g-1 {node} started")), "{:#?}", cluster.log);
}

/// The task group `g` as it is seen by the next process.
fn shrink(cluster: &mut Cluster, min_member: u32) {
    cluster.groups.get_mut("g").expect("it is there").min_member = min_member;
}

/// 01, 1.11: who was bound for a seat has one, before a placeholder that was left, although the task group has fewer now.
#[test]
fn a_member_comes_before_a_placeholder_when_there_are_fewer_seats() {
    let mut cluster = held();
    cluster.pods.remove("ph-g-1-2-0");
    runs_in(&mut cluster, "g-0", 2);
    shrink(&mut cluster, 1);
    cluster.restart().settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").seats.taken), (0, 1), "{:#?}", cluster.log);
}

/// 01, 1.11: of those that were bound for seats, who has one that is still there keeps it.
#[test]
fn a_member_keeps_its_seat_when_there_are_fewer() {
    let mut cluster = held();
    cluster.pods.clear();
    for (name, seat) in [("g-0", 2), ("g-1", 0), ("g-2", 1)] {
        runs_in(&mut cluster, name, seat);
    }
    shrink(&mut cluster, 2);
    cluster.restart().settle();
    let seats = ["g-0", "g-1", "g-2"].map(|name| cluster.scheduler.books.asks[cluster.pods[name].0].seat);
    assert_eq!(seats, [None, Some(0), Some(1)]);
}

/// 01, 1.6: "Restart in the middle of binding (started members, no Placed=True): the gang is planned first, before anything else",
/// be it urgent otherwise. (Otherwise than in seed 002 "Data-Structure": "when handle failover case, if any pod in Gang has been
/// bound, we set ResourceSatisfied=true".)
#[test]
fn an_interrupted_gang_goes_first() {
    let mut cluster = interrupted(1, 4);
    let mut single = cluster.pod("s", Role::Singleton);
    (single.priority, single.created) = (1_000, 0);
    cluster.show(single.clone());
    single.key = Key::new(NS, "s2");
    cluster.show(single);
    cluster.restart().settle();
    assert_eq!(cluster.log[..2], ["bind g-1 n0 started", "bind g-2 n0 started"], "{:#?}", cluster.log);
    assert_eq!((cluster.bound().len(), cluster.report("g").placed), (4, true));
}

/// As above: its largest members first. A small one would take the room that a large one had: 2 of 8 cores are less of a
/// node than 1 of 2.
#[test]
fn the_largest_members_of_an_interrupted_gang_go_first() {
    let mut cluster = Cluster::default();
    cluster.node("small", 2);
    cluster.node("large", 8);
    let mut other = cluster.sized("other", Role::Foreign, 6);
    other.place = Place::On { node: "large".into(), running: true };
    cluster.show(other);
    let gang = listed(["a", "b", "c"]);
    for (name, cpu) in [("a", 1), ("b", 2), ("c", 1)] {
        let shape = cluster_shape(cpu);
        let (gang, min_resource) = (gang.clone(), shape.request.clone());
        cluster
            .apply(name, GroupSpec { application: "p".into(), gang, shape, min_resource, ..cluster.direct(name, 1) });
        cluster.large_member(&format!("{name}-0"), name, cpu);
    }
    bound_before(&mut cluster, "c", "small");
    cluster.restart().settle();
    let nodes = ["a-0", "b-0"].map(|pod| cluster.node_of(pod));
    assert_eq!(nodes, ["small", "large"].map(|node| Some(node.to_owned())));
}

/// As above, and before these who may be on the fewest nodes: a large one would take the only room of one without a choice.
#[test]
fn members_of_an_interrupted_gang_without_a_choice_go_first() {
    for (only, other) in [("n0", "n1"), ("n1", "n0")] {
        let mut cluster = Cluster::default();
        for name in ["n0", "n1", "n2"] {
            let allocatable = cluster_shape(2).request.plus(&cluster_shape(0).request);
            let labels = [("name".into(), name.into())].into();
            cluster.show_node(name, NodeSpec { allocatable, labels, ..NodeSpec::default() });
        }
        let gang = listed(["a", "b", "c"]);
        for (name, cpu) in [("a", 2), ("b", 1), ("c", 2)] {
            let mut shape = (*cluster_shape(cpu)).clone();
            shape.selector.extend((name == "b").then(|| ("name".into(), only.into())));
            let (gang, min_resource, shape) = (gang.clone(), shape.request.clone(), Arc::new(shape));
            let member = AskSpec { shape: shape.clone(), ..cluster.pod(&format!("{name}-0"), member_of(name)) };
            cluster.apply(
                name,
                GroupSpec { application: "p".into(), gang, shape, min_resource, ..cluster.direct(name, 1) },
            );
            cluster.show(member);
        }
        bound_before(&mut cluster, "c", "n2");
        cluster.restart().settle();
        let nodes = ["a-0", "b-0"].map(|pod| cluster.node_of(pod));
        assert_eq!(nodes, [other, only].map(|node| Some(node.to_owned())));
    }
}

/// The first member of a task group was bound by a process that had begun to start its gang.
fn bound_before(cluster: &mut Cluster, group: &str, node: &str) {
    let (uid, queue) = (Some(Uid::new(format!("uid-{group}"))), "root.default".into());
    let mark = Mark { group: uid, incarnation: 1, seat: Some(0), started: true, queue, ..Mark::default() };
    let on = Place::On { node: node.into(), running: true };
    cluster.change(&format!("{group}-0"), |spec| (spec.place, spec.mark) = (on, Some(mark)));
}

fn member_of(group: &str) -> Role {
    Role::Member { group: group.into() }
}

/// 01, 1.6: "if it cannot be completed it is PartiallyLost, its remaining members become ordinary asks, and the cluster
/// goes on."
#[test]
fn an_interrupted_gang_that_cannot_be_completed_does_not_hold_up_the_others() {
    let mut cluster = interrupted(1, 4);
    cluster.node("n0", 2);
    cluster.change("g-2", |spec| spec.shape = cluster_shape(3));
    cluster.restart().settle();
    assert_eq!((cluster.bound(), cluster.why("g-2")), (vec!["g-0".into(), "g-1".into()], Some("Unschedulable")));
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Running, "PartiallyLost"));
    cluster.node("n1", 1);
    cluster.single("s");
    cluster.settle();
    assert_eq!(cluster.node_of("s"), Some("n1".into()));
    cluster.node("n2", 3);
    cluster.settle();
    assert_eq!((cluster.node_of("g-2"), cluster.report("g").reason), (Some("n2".into()), "Running"));
}

/// 01, 1.4: "An Open seat with a waiting member is planned for that member": for those of a seat's size before a larger
/// one, which would take the room of another seat.
#[test]
fn a_larger_member_takes_no_room_of_an_open_seat() {
    let mut cluster = interrupted(1, 4);
    cluster.node("n0", 3);
    cluster.change("g-1", |spec| spec.shape = cluster_shape(2));
    cluster.restart().settle();
    assert_eq!(cluster.bound(), ["g-0", "g-2"]);
    cluster.node("n1", 2);
    cluster.settle();
    assert_eq!((cluster.node_of("g-1"), cluster.report("g").placed), (Some("n1".into()), true));
}

fn cluster_shape(cpu: i64) -> Arc<gangline::core::shape::Shape> {
    Cluster::unsynced().sized("", Role::Singleton, cpu).shape
}
