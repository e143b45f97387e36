//! Replacing placeholders: the seed's steps 1 to 6 (01, 1.4).

use std::sync::Arc;

use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::{AskSpec, BindOutcome, Event, GroupSpec, Mark, Place, PlaceholderName, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::Refusal;
use gangline::core::shape::{HostPort, NodeSpec, Shape};

use crate::support::cluster::{Cluster, NS, size};

/// Two nodes of 4 cores, three held seats of 1 core in `root.q`.
fn held(quota: i64) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", quota);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster.taken();
    cluster
}

fn cpu(cluster: &Cluster, queue: &str) -> i128 {
    let books = &cluster.scheduler.books;
    books.queues[books.queues.find(queue).expect("a known queue")].allocated.get("cpu")
}

/// The placeholder that is about to be deleted.
fn leaves(cluster: &Cluster) -> String {
    let leaves = cluster.waiting().into_iter().find_map(|text| text.strip_prefix("release ").map(str::to_owned));
    leaves.expect("a swap begins").split(' ').next().expect("it has a name").to_owned()
}

/// Seed 000 step 2: "no allocations are released in the core at this point"; step 5: "as one update", same node.
#[test]
fn nothing_is_freed_before_the_confirmation_and_the_node_is_the_same() {
    let mut cluster = held(3);
    let node = |cluster: &Cluster, name: &str| match &cluster.pods[name].1.place {
        Place::On { node, .. } => node.to_string(),
        other => panic!("{name} is {other:?}"),
    };
    let before = node(&cluster, "ph-g-1-0-0");
    cluster.member("g-0", "g");
    cluster.step();
    assert_eq!(cluster.waiting(), ["release ph-g-1-0-0 replaced"]);
    assert_eq!((cpu(&cluster, "root.q"), cluster.report("g").seats.releasing), (3000, 1));
    cluster.carry("release");
    assert_eq!((cpu(&cluster, "root.q"), cluster.waiting()), (3000, vec![format!("bind g-0 {before} started")]));
    cluster.settle();
    assert_eq!((cluster.report("g").replaced, cluster.report("g").seats.taken), (1, 1));
}

/// 01, 1.4: "Many replacements are in flight at once; one never waits for another."
#[test]
fn all_swaps_are_in_flight_at_once() {
    let mut cluster = held(3);
    cluster.members("g", 3);
    cluster.step();
    assert_eq!(cluster.waiting().len(), 3);
    cluster.carry("ph-g-1-2-0");
    assert_eq!(cluster.waiting().iter().filter(|line| line.starts_with("bind")).count(), 1);
}

/// 01, 1.4: "Member smaller than the seat: allowed; the difference is returned at confirmation."
#[test]
fn a_smaller_member_returns_the_difference() {
    let mut cluster = held(3);
    let half = Shape { request: gangline::core::base::resources::Resources::pod(500, 1 << 20), ..Shape::default() };
    let spec = AskSpec { shape: Arc::new(half), ..cluster.pod("g-0", Role::Member { group: "g".into() }) };
    cluster.show(spec);
    cluster.step();
    assert_eq!(cpu(&cluster, "root.q"), 3000);
    cluster.settle();
    assert_eq!((cpu(&cluster, "root.q"), cluster.bound().contains(&"g-0".into())), (2500, true));
}

/// 01, 1.4: "For another node, the target is charged now, the old node until confirmation, the queue once."
#[test]
fn a_swap_to_another_node_charges_the_queue_once() {
    let mut cluster = held(3);
    cluster.member("g-0", "g");
    cluster.settle();
    for name in ["n0", "n1"] {
        let mut spec = cluster.nodes[name].clone();
        spec.unschedulable = true;
        cluster.show_node(name, spec);
    }
    cluster.node("n2", 1);
    cluster.member("g-1", "g");
    cluster.single("s");
    cluster.step();
    assert_eq!((cpu(&cluster, "root.q"), cluster.waiting()), (3000, vec!["release ph-g-1-1-0 replaced".into()]));
    assert_eq!(cluster.why("s"), Some("Unschedulable"), "n2 is taken");
    cluster.settle();
    assert_eq!(cluster.pods["g-1"].1.place, Place::On { node: "n2".into(), running: true });
    assert_eq!(cpu(&cluster, "root.q"), 3000);
}

/// 01, 1.4.1: "ports, … included, so that a slot is never given up for a member that cannot use it".
#[test]
fn a_seat_is_not_given_up_for_a_member_that_cannot_use_it() {
    let mut cluster = held(4);
    let port = HostPort { address: "".into(), protocol: "TCP".into(), port: 80 };
    let shape = Arc::new(Shape { request: size(1), ports: vec![port], ..Shape::default() });
    for node in ["n0", "n1"] {
        let mut foreign = cluster.pod(&format!("f-{node}"), Role::Foreign);
        (foreign.shape, foreign.place) = (shape.clone(), Place::On { node: node.into(), running: true });
        cluster.show(foreign);
    }
    let spec = AskSpec { shape, ..cluster.pod("g-0", Role::Member { group: "g".into() }) };
    cluster.show(spec);
    cluster.settle();
    assert_eq!((cluster.log.len(), cluster.report("g").seats.held), (0, 3));
    assert_eq!(cluster.why("g-0"), Some("Unschedulable"));
}

/// 01, 1.4.1: what a pod takes besides resources is given back with it.
#[test]
fn a_host_port_is_free_again_when_its_pod_is_gone() {
    let mut cluster = Cluster::default().nodes(1, 8);
    let port = HostPort { address: "".into(), protocol: "TCP".into(), port: 80 };
    let shape = Arc::new(Shape { request: size(1), ports: vec![port], ..Shape::default() });
    for name in ["one", "other"] {
        cluster.show(AskSpec { shape: shape.clone(), ..cluster.pod(name, Role::Singleton) });
        cluster.settle();
    }
    assert_eq!(cluster.bound(), ["one"]);
    cluster.delete("one");
    cluster.settle();
    assert_eq!(cluster.bound(), ["other"]);
}

/// 01, 1.4: "More members than minMember: normal allocation, never a reason to wait for seats that do not exist"; seed
/// 000 step 1: "If no placeholder allocations are found a normal allocation cycle will be used".
#[test]
fn more_members_than_seats_are_ordinary() {
    let mut cluster = held(5);
    cluster.members("g", 5);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders()), (5, 0));
}

/// 01, 1.4 (S11): "Member larger: it consumes one seat; only the excess must fit the headroom …; until it does, the
/// member waits …. The other seats are untouched."
#[test]
fn a_larger_member_does_not_hold_up_the_others() {
    let mut cluster = held(5);
    cluster.other("other", "root.q", 2);
    cluster.large_member("g-0", "g", 2);
    (1..3).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").seats.held), (2, 1));
    assert_eq!(cluster.why("g-0"), Some("SeatTooSmall"));
    cluster.delete("g-1");
    cluster.settle();
    assert!(cluster.bound().contains(&"g-0".into()), "{:#?}", cluster.log);
}

/// 01, 1.5 (S9): "A node lost mid-swap: the member is planned again."
#[test]
fn a_node_lost_in_the_middle_of_a_swap() {
    let mut cluster = held(3);
    cluster.members("g", 3);
    cluster.step();
    cluster.lose_node("n0");
    cluster.lose_node("n1");
    cluster.settle();
    // Nothing of it was bound, so it waits for room for all as it did before (docs/adr/0025).
    assert_eq!((cluster.bound().len(), cluster.report("g").seats.open), (0, 3));
    assert_eq!((cluster.report("g").reason, cluster.why("g-0")), ("WaitingForCapacity", Some("WaitingForCapacity")));
    cluster.node("n2", 4);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"]);
}

/// 01, 1.5: "None pends a member for ever": the member of a swap is deleted, is being deleted, or was bound by somebody
/// else: the placeholder leaves, the seat is open for the next one.
#[test]
fn a_member_lost_in_the_middle_of_a_swap() {
    let acts: [fn(&mut Cluster); 3] = [
        |cluster| cluster.delete("g-0"),
        |cluster| cluster.change("g-0", |spec| spec.terminating = true),
        |cluster| {
            cluster.change("g-0", |spec| spec.place = Place::On { node: "n9".into(), running: true });
        },
    ];
    for act in acts {
        let mut cluster = held(9);
        cluster.member("g-0", "g");
        cluster.step();
        act(&mut cluster);
        cluster.settle();
        assert!(!cluster.log.iter().any(|line| line.starts_with("bind g-")), "{:#?}", cluster.log);
        cluster.member("g-1", "g");
        cluster.settle();
        assert!(cluster.bound().contains(&"g-1".into()), "{:#?}", cluster.log);
        assert_eq!(cluster.report("g").seats.releasing, 0);
    }
}

/// 01, 1.10: a finished placeholder confirms like one that is gone; late confirmations change nothing.
#[test]
fn a_placeholder_that_ends_by_itself_confirms() {
    let mut cluster = held(3);
    cluster.member("g-0", "g");
    cluster.step();
    cluster.finish("ph-g-1-0-0", true);
    cluster.step();
    assert_eq!(cluster.report("g").seats.assumed, 1);
    cluster.settle();
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").replaced), (1, 1));
}

/// 01, 1.5: "None pends a member for ever": a placeholder that cannot be deleted does not hold its member up.
#[test]
fn a_refused_release_lets_the_member_go() {
    let mut cluster = held(9);
    cluster.member("g-0", "g");
    cluster.step();
    cluster.decisions.clear();
    let ask = cluster.pods["ph-g-1-0-0"].0;
    cluster.tell(Event::ReleaseRefused(ask, Refusal { code: 403, message: "no".into() }));
    cluster.settle();
    assert!(cluster.bound().contains(&"g-0".into()), "{:#?}", cluster.log);
}

/// 01, 1.4: "A pod can only take a seat of its own TaskGroup object (namespace and UID), never by knowing a name."
#[test]
fn a_forged_placeholder_takes_no_seat() {
    let mut cluster = held(9);
    let name = |uid: &str, incarnation, seat| PlaceholderName {
        group: Key::new(NS, "g"),
        uid: Uid::new(uid),
        incarnation,
        seat,
        attempt: 7,
    };
    for forged in [name("uid-else", 1, 0), name("uid-g", 2, 0), name("uid-g", 1, 99), name("uid-g", 1, 0)] {
        cluster.create(&forged);
        cluster.settle();
        assert_eq!((cluster.placeholders(), cluster.report("g").seats.held), (3, 3), "{forged:?}");
    }
}

/// A gang of two has begun to start: `g-0` has its node, and the Binding of `g-1` waits.
fn half_started() -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 1);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.step().carry("g-0");
    cluster
}

/// The Binding of a pod is refused.
fn refuse_binding(cluster: &mut Cluster, pod: &str, code: u16) {
    let ask = cluster.pods[pod].0;
    cluster.tell(Event::Bind(ask, BindOutcome::Failed(Refusal { code, message: "no".into() })));
}

/// 01, 1.3: a Binding refused after the start is tried again, its reason goes with it, and nobody has its room meanwhile. Also seed
/// 002 "After Gang": "some pods failed in the process of binding".
#[test]
fn a_refused_member_is_tried_again() {
    let mut cluster = half_started();
    cluster.decisions.clear();
    refuse_binding(&mut cluster, "g-1", 422);
    cluster.settle();
    assert_eq!((cluster.why("g-1"), cluster.report("g").reason), (Some("BindRefused"), "Starting"));
    cluster.single("rival");
    cluster.wait(4_000).settle();
    assert_eq!(cluster.bound(), ["g-0"]);
    cluster.wait(1_000).settle();
    assert_eq!((cluster.bound(), cluster.state("g")), (vec!["g-0".into(), "g-1".into()], AppState::Running));
    assert!(cluster.report("g").placed);
}

/// As above: it goes where its room is, although it would be sent elsewhere if it were planned anew.
#[test]
fn a_refused_member_goes_where_its_room_is() {
    let mut cluster = half_started();
    let sent = cluster.waiting();
    assert_eq!(sent, ["bind g-1 n0 started"]);
    cluster.decisions.clear();
    refuse_binding(&mut cluster, "g-1", 422);
    // Half full, which goes before an empty one.
    cluster.node("other", 2);
    let single = cluster.pod("s", Role::Singleton);
    cluster.show(AskSpec { place: Place::On { node: "other".into(), running: true }, ..single });
    cluster.settle().wait(5_000).step();
    assert_eq!(cluster.waiting(), sent);
}

/// As above for a driver whose gang is made anew before the next try: that is another gang, and has not started.
#[test]
fn a_refused_driver_starts_no_other_gang() {
    let mut cluster = Cluster::default().nodes(3, 1);
    let spec = cluster.direct("g", 1);
    cluster.apply("g", spec);
    cluster.originator("d", "g");
    cluster.member("g-0", "g");
    cluster.step();
    assert!(cluster.waiting().contains(&"bind d n0 started".to_owned()), "{:?}", cluster.waiting());
    cluster.decisions.clear();
    refuse_binding(&mut cluster, "d", 403);
    cluster.lose_group("g");
    let anew = GroupSpec { uid: Uid::new("uid-anew"), ..cluster.direct("g", 3) };
    cluster.apply("g", anew);
    cluster.step().wait(5_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Accepted, "WaitingForMembers"));
    assert_eq!((cluster.bound(), cluster.why("d")), (vec![], Some("WaitingForMembers")), "{:#?}", cluster.log);
}

/// 01, 1.4, step 3: "when the placeholder is gone, the member has the node"; where somebody else has bound the member by
/// then, which the same batch tells, it stays where it is.
#[test]
fn a_member_that_somebody_else_binds_as_its_placeholder_goes() {
    let mut cluster = held(9);
    cluster.member("g-0", "g");
    cluster.step();
    let seat = leaves(&cluster);
    cluster.delete(&seat);
    cluster.change("g-0", |spec| spec.place = Place::On { node: "n1".into(), running: true });
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.seats.taken, report.seats.held), (AppState::Running, 1, 2));
    assert_eq!((cluster.node_of("g-0"), cluster.cpu("root.q")), (Some("n1".into()), 3000));
}

/// 01, 1.5: labels are mutable until the Binding leaves. One batch tells that a placeholder is gone, that its member is
/// none any more, and that their node takes nothing: the member is placed elsewhere, as what it says it is.
#[test]
fn a_member_that_is_relabelled_as_its_placeholder_goes_and_its_node_closes() {
    let mut cluster = held(9);
    cluster.member("g-0", "g");
    cluster.step();
    let seat = leaves(&cluster);
    let node = cluster.node_of(&seat).expect("it holds a seat");
    cluster.delete(&seat);
    cluster.change("g-0", |spec| spec.role = Role::Singleton);
    let closed = NodeSpec { unschedulable: true, ..cluster.nodes[&node].clone() };
    cluster.show_node(&node, closed);
    cluster.decisions.clear();
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.seats.taken, report.members.scheduled), (0, 0), "{:#?}", cluster.log);
    // The gang has lost its only member before it was bound: all of its seats are held for those to come.
    assert_eq!((cluster.cpu("root.q"), cluster.cpu("root.default")), (3000, 1000), "{:#?}", cluster.log);
    assert!(cluster.node_of("g-0").is_some_and(|other| other != node), "{:#?}", cluster.log);
}

/// 01, 1.4: the first in the order come first; one that needs more than its seat is not overtaken by one beyond the seats
/// that does not.
#[test]
fn a_larger_member_is_not_overtaken_by_one_beyond_the_seats() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 2);
    let spec = cluster.all("g", 1);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.large_member("g-0", "g", 2);
    cluster.member("g-1", "g");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("g").placed), (vec!["g-0".into()], true), "{:#?}", cluster.log);
}

/// 01, 1.11, after a start that came to light late: a seat that is held only then is for the member that waits beside one
/// that is too small.
#[test]
fn a_seat_that_is_held_after_the_start_is_for_who_waits() {
    let mut cluster = Cluster::default().nodes(3, 1);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    for lost in ["ph-g-1-0-0", "ph-g-1-2-0"] {
        assert!(cluster.pods.remove(lost).is_some(), "it holds a seat");
    }
    cluster.restart().step().carry("create");
    let sent = cluster.waiting();
    let goes =
        |pod: &str| sent.iter().find_map(|text| text.strip_prefix(&format!("bind {pod} "))).expect("it is bound");
    let (first, last) = (goes("ph-g-1-0-0").to_owned(), goes("ph-g-1-2-0").to_owned());
    let mut early = cluster.pod("g-0", Role::Member { group: "g".into() });
    early.place = Place::On { node: first.as_str().into(), running: true };
    let uid = Some(Uid::new("uid-g"));
    early.mark = Some(Mark {
        group: uid,
        incarnation: 1,
        seat: Some(0),
        started: true,
        queue: "root.default".into(),
        ..Mark::default()
    });
    cluster.show(early);
    cluster.large_member("g-1", "g", 2);
    cluster.node(&last, 2);
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 1));
    cluster.carry("bind ph-g-1-2-0");
    assert!(cluster.waiting().contains(&"release ph-g-1-2-0 replaced".to_owned()), "{:?}", cluster.waiting());
    cluster.settle();
    assert_eq!((cluster.node_of("g-1"), cluster.report("g").seats.taken), (Some(last), 2), "{:#?}", cluster.log);
}

/// 01, 1.4: "A member that no held seat suits …: its own ask is tried first in its queue's order and stops nobody".
#[test]
fn a_member_that_no_held_seat_suits_is_tried_first_and_stops_nobody() {
    let mut cluster = held(9);
    cluster.node("b", 1);
    let labels = [("zone".into(), "b".into())].into();
    cluster.show_node("b", NodeSpec { labels, ..cluster.nodes["b"].clone() });
    let mut foreign = cluster.pod("f", Role::Foreign);
    foreign.place = Place::On { node: "b".into(), running: true };
    cluster.show(foreign);
    let in_b = |cluster: &Cluster, name: &str, role: Role| {
        let selector = [("zone".into(), "b".into())].into();
        let shape = Shape { request: size(1), selector, ..Shape::default() };
        AskSpec { shape: Arc::new(shape), queue: Some("root.q".into()), ..cluster.pod(name, role) }
    };
    let member = AskSpec { queue: None, ..in_b(&cluster, "g-0", Role::Member { group: "g".into() }) };
    let rival = AskSpec { priority: 1_000, ..in_b(&cluster, "rival", Role::Singleton) };
    [member, rival].into_iter().for_each(|pod| cluster.show(pod));
    cluster.member("g-1", "g");
    cluster.other("s", "root.q", 1);
    cluster.settle();
    assert_eq!(["g-0", "rival"].map(|pod| cluster.why(pod)), [Some("Unschedulable"); 2]);
    assert!(["g-1", "s"].iter().all(|pod| cluster.node_of(pod).is_some()), "{:#?}", cluster.log);
    cluster.delete("f");
    cluster.settle();
    assert_eq!((cluster.node_of("g-0"), cluster.node_of("rival")), (Some("b".into()), None), "{:#?}", cluster.log);
}

/// 01, 1.4: "the sentence says what keeps the member from the seat's node. Never \"held for those to come\" while a
/// member is there that cannot use it."
#[test]
fn a_seat_that_a_member_cannot_use_is_not_said_to_be_held_for_those_to_come() {
    let of_template = "the placeholderTemplate does not have the same nodeSelector";
    for (larger, why) in [(false, of_template), (true, "it requests more than minResource")] {
        let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 2);
        let spec = cluster.all("g", 2);
        cluster.submit("g", "root.q", spec);
        cluster.settle();
        cluster.member("g-0", "g");
        cluster.settle();
        assert!(cluster.report("g").message.contains("1 seat is held for one to come"));
        let mut odd = cluster.sized("g-1", Role::Member { group: "g".into() }, 1 + i64::from(larger));
        if !larger {
            let selector = [("zone".into(), "b".into())].into();
            odd.shape = Arc::new(Shape { selector, ..(*odd.shape).clone() });
        }
        cluster.show(odd);
        cluster.settle();
        let (message, held) = (cluster.report("g").message, cluster.report("g").seats.held);
        assert!(!message.contains("to come") && held == 1, "{message}");
        assert!(message.contains(&format!("g-1 waits beside a held seat: {why}")), "{message}");
    }
}
