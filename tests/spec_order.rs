//! Order: the same history the same decisions, ties broken by content, first come first served (02, 2.2 and 2.6; 01, 1.2.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use gangline::core::base::ids::Key;
use gangline::core::event::{Event, GroupSpec, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::Shape;

use crate::support::cluster::{Cluster, listed, size};

/// More work than there is room and quota, with every tie there can be; nothing of it was looked at yet.
fn crowded() -> Cluster {
    let mut cluster = Cluster::default().queue("root.a", 9).queue("root.b", 7);
    for number in 0..5 {
        cluster.node(&format!("n{number}"), 3 + number % 2);
    }
    for (at, name) in ["e", "b", "d", "a", "c"].into_iter().enumerate() {
        let mut spec = match at % 3 {
            0 => cluster.direct(name, 3),
            1 => cluster.all(name, 2),
            _ => cluster.group(name, 3),
        };
        spec.created = if name < "c" { 10 } else { 11 };
        cluster.submit(name, if at % 2 == 0 { "root.a" } else { "root.b" }, spec);
        cluster.members(name, 4);
    }
    for name in ["s3", "s1", "s2", "s0"] {
        let mut spec = cluster.sized(name, Role::Singleton, if name == "s1" { 2 } else { 1 });
        (spec.priority, spec.created) = (i32::from(name == "s2"), 12);
        cluster.show(spec);
    }
    cluster.change("d-1", |spec| spec.priority = 3);
    cluster
}

fn places(cluster: &Cluster) -> BTreeMap<String, String> {
    cluster.bound().into_iter().filter_map(|name| Some((name.clone(), cluster.node_of(&name)?))).collect()
}

fn played(mut cluster: Cluster) -> (BTreeMap<String, String>, Vec<String>) {
    cluster.settle().wait(1_000).settle();
    cluster.delete("s2");
    cluster.lose_node("n1");
    cluster.settle().wait(5_000).settle();
    (places(&cluster), cluster.log)
}

/// 02, 2.2 Determinism: "same history, same decisions", in the same order.
#[test]
fn the_same_history_leads_to_the_same_decisions() {
    let first = played(crowded());
    assert!(first.0.len() > 8 && first.1.len() > first.0.len(), "{first:?}");
    for _ in 0..3 {
        assert_eq!(played(crowded()), first);
    }
}

/// 02, 2.6: "a restart or a permuted list must not change winners".
#[test]
fn permuted_lists_have_the_same_winners() {
    let mut listed = crowded();
    listed.restart();
    let first = played(listed);
    let orders: [fn(&mut Vec<Event>); 4] = [
        |objects| objects.reverse(),
        |objects| objects.rotate_left(11),
        |objects| objects.sort_by_key(|event| format!("{event:?}").len()),
        |objects| {
            let (odd, even): (Vec<_>, Vec<_>) = objects.drain(..).enumerate().partition(|(at, _)| at % 2 == 1);
            objects.extend(odd.into_iter().chain(even).map(|(_, event)| event));
        },
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let mut cluster = crowded();
        cluster.restart_in_order(order);
        assert_eq!(played(cluster), first, "order {number}");
    }
}

/// A pod: namespace, name, priority, created.
type Pod = (&'static str, &'static str, i32, i64);

/// Which of some pods gets the one free core.
fn winner(pods: &[Pod]) -> String {
    let mut cluster = Cluster::default();
    for (namespace, name, priority, created) in pods {
        let mut spec = cluster.pod(name, Role::Singleton);
        (spec.key, spec.priority, spec.created) = (Key::new(*namespace, *name), *priority, *created);
        cluster.show(spec);
    }
    cluster.settle();
    cluster.node("n0", 1);
    cluster.settle();
    let bound = cluster.bound();
    assert_eq!(bound.len(), 1);
    bound[0].clone()
}

/// 02, 2.6: "Ties are broken by content (priority, creationTimestamp, namespace/name …), never by index or order of arrival". Also
/// seed 002 "QueueSortPlugin": "Firstly, compare the priorities of the two pods, the higher priority is at the front of the queue";
/// "Secondly, compare creationTimestamp of two pods"; "Finally, compare pod's namespace".
#[test]
fn ties_are_broken_by_priority_then_age_then_name() {
    let cases: [(&[Pod], &str); 5] = [
        (&[("a", "a", 0, 1), ("a", "b", 1, 2)], "b"),
        (&[("a", "a", -1, 1), ("a", "b", 0, 2)], "b"),
        (&[("a", "a", 0, 2), ("a", "b", 0, 1)], "b"),
        (&[("b", "a", 0, 1), ("a", "b", 0, 1)], "b"),
        (&[("a", "a", 0, 1), ("a", "b", 0, 1)], "a"),
    ];
    for (pods, expected) in cases {
        let reversed: Vec<_> = pods.iter().rev().copied().collect();
        assert_eq!((winner(pods), winner(&reversed)), (expected.into(), expected.into()), "{pods:?}");
    }
}

/// 02, 2.6: "for nodes a fixed hash of the name": whichever node was there first.
#[test]
fn nodes_come_in_the_order_of_their_names_hashes() {
    let place = |nodes: &[u32]| {
        let mut cluster = Cluster::default();
        nodes.iter().for_each(|number| cluster.node(&format!("n{number}"), 2));
        (0..5).for_each(|number| cluster.single(&format!("s{number}")));
        cluster.settle();
        places(&cluster)
    };
    let first = place(&[0, 1, 2, 3, 4, 5]);
    assert_eq!((place(&[5, 4, 3, 2, 1, 0]), place(&[2, 0, 5, 1, 4, 3])), (first.clone(), first));
}

/// Two Direct gangs that only one at a time has quota for: (name, created, priority of its members).
fn gangs(gangs: &[(&str, i64, i32)]) -> Cluster {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 2);
    for (name, created, priority) in gangs {
        let mut spec = cluster.direct(name, 2);
        spec.created = *created;
        cluster.submit(name, "root.q", spec);
        for number in 0..2 {
            let mut member = cluster.pod(&format!("{name}-{number}"), Role::Member { group: (*name).into() });
            // The age of the pods does not count, the submission of the gang does.
            (member.priority, member.created) = (*priority, 100 - *created);
            cluster.show(member);
        }
    }
    cluster
}

/// 01, 1.2.5 "Order of a pass: priority, queue policy, submission, namespace/name": FIFO between waiting gangs. Also seed 002
/// "QueueSortPlugin": "if pod belongs to a Gang, then we compare creationTimestamp of the Gang, the one created first will be at
/// the front of the queue …, then we compare Gang name".
#[test]
fn waiting_gangs_start_first_come_first_served() {
    for (gangs_in_order, first) in [
        ([("a", 2, 0), ("b", 1, 0)], "b"),
        ([("a", 1, 0), ("b", 1, 0)], "a"),
        ([("b", 1, 0), ("a", 1, 0)], "a"),
        ([("a", 1, 0), ("b", 2, 5)], "b"),
        ([("a", 1, -5), ("b", 2, 0)], "b"),
    ] {
        let mut cluster = gangs(&gangs_in_order);
        cluster.settle();
        let expected = [format!("{first}-0"), format!("{first}-1")];
        assert_eq!(cluster.bound(), expected, "{gangs_in_order:?}");
        let waits = if first == "a" { "b" } else { "a" };
        assert_eq!(cluster.report(waits).reason, "WaitingForQuota");
    }
}

/// As above: who waits longest is next, also when others came meanwhile.
#[test]
fn a_gang_that_waits_is_not_overtaken_by_equals() {
    let mut cluster = gangs(&[("a", 1, 0), ("b", 2, 0)]);
    cluster.settle();
    for (name, created) in [("0", 3), ("c", 4)] {
        let mut spec = cluster.direct(name, 2);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
        cluster.members(name, 2);
    }
    cluster.settle();
    for expected in ["a", "b", "0", "c"] {
        let bound = cluster.bound();
        assert_eq!(bound, [format!("{expected}-0"), format!("{expected}-1")]);
        bound.iter().for_each(|name| cluster.delete(name));
        cluster.settle();
    }
}

/// As above between gangs and ordinary pods: one order for all.
#[test]
fn gangs_and_ordinary_pods_are_one_order() {
    for (created, priority, expected) in [(5, 0, "s"), (15, 0, "g"), (15, 1, "s"), (5, -1, "g")] {
        let mut cluster = Cluster::default();
        let spec = cluster.direct("g", 3);
        cluster.apply("g", spec);
        cluster.members("g", 3);
        let mut single = cluster.pod("s", Role::Singleton);
        (single.created, single.priority) = (created, priority);
        cluster.show(single);
        cluster.settle();
        cluster.node("n0", 3);
        cluster.settle();
        assert!(cluster.log[0].starts_with(&format!("bind {expected}")), "{created} {priority}: {:?}", cluster.log);
    }
}

/// 43, 2: "The group's position is that of its first-submitted gang": of task groups that start together the oldest says when their
/// gang came, whatever it is called. Who is older than all of them comes first.
#[test]
fn a_gang_of_several_is_as_old_as_its_oldest_task_group() {
    let of_the_gang = ["a-0", "b-0"];
    for (old, young, between) in [("a", "b", 3), ("b", "a", 3), ("a", "b", 0)] {
        let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 2);
        for (name, created) in [(old, 1), (young, 5)] {
            let (application, gang) = ("job".into(), listed(["a", "b"]));
            let spec = GroupSpec { application, gang, created, ..cluster.direct(name, 1) };
            cluster.submit(name, "root.q", spec);
            cluster.members(name, 1);
        }
        let spec = GroupSpec { created: between, ..cluster.direct("other", 2) };
        cluster.submit("other", "root.q", spec);
        cluster.members("other", 2);
        cluster.settle();
        let first = if between == 0 { ["other-0", "other-1"] } else { of_the_gang };
        assert_eq!(cluster.bound(), first, "{old} is the older one; the other gang came at {between}");
        let waits = if between == 0 { "a" } else { "other" };
        assert_eq!(cluster.report(waits).reason, "WaitingForQuota");
    }
}

/// 43, 2: "members of one gang are never interleaved with another's in Strict", in whichever turns their pods came, and though there
/// is no room for all. That is seed 002 "QueueSortPlugin": "we implement the Less function to gather pods belong to same Gang".
#[test]
fn pods_of_one_gang_are_placed_one_after_the_other() {
    for (cores, gangs) in [(6, 3), (5, 2), (3, 1), (1, 0)] {
        let mut cluster = Cluster::default();
        for (created, name) in (1..).zip(["c", "b", "a"]) {
            let spec = GroupSpec { created, ..cluster.direct(name, 2) };
            cluster.apply(name, spec);
        }
        for (created, (name, group)) in
            (20..).zip([("a-0", "a"), ("b-0", "b"), ("c-0", "c"), ("b-1", "b"), ("a-1", "a"), ("c-1", "c")])
        {
            let mut member = cluster.pod(name, Role::Member { group: group.into() });
            member.created = created;
            cluster.show(member);
        }
        cluster.settle();
        cluster.node("n0", cores);
        cluster.settle();
        let mut expected = ["c-0", "c-1", "b-0", "b-1", "a-0", "a-1"][..2 * gangs].to_vec();
        expected.sort_unstable();
        assert_eq!(cluster.bound(), expected, "{cores} cores");
        let binds: Vec<&str> = cluster.log.iter().filter_map(|line| line.strip_prefix("bind ")).collect();
        let are_of_one = |pair: &[&str]| pair[0].split('-').next() == pair[1].split('-').next();
        assert!(binds.len() == 2 * gangs && binds.chunks(2).all(are_of_one), "{cores} cores: {binds:?}");
    }
}

/// Seed 000: "this does not stop scheduling of other applications in the queue(s). Applications that are already running
/// in the queue could ask for more resources": though a gang that nodes block is charged virtually before them.
#[test]
fn running_applications_get_what_they_ask_for_while_a_gang_waits() {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", 8);
    let mut runs = cluster.direct("runs", 1);
    runs.created = 20;
    cluster.submit("runs", "root.q", runs);
    cluster.member("runs-0", "runs");
    cluster.settle();
    let blocked = cluster.all("blocked", 6);
    cluster.submit("blocked", "root.q", blocked);
    cluster.settle();
    assert_eq!(cluster.report("blocked").reason, "WaitingForCapacity");
    (1..4).for_each(|number| cluster.member(&format!("runs-{number}"), "runs"));
    cluster.settle();
    assert_eq!(cluster.bound(), ["runs-0", "runs-1", "runs-2", "runs-3"]);
    assert_eq!((cluster.state("blocked"), cluster.state("runs")), (AppState::Accepted, AppState::Running));
}

/// As above for a gang that waits for quota, in another queue below the same limit too.
#[test]
fn a_gang_that_waits_for_quota_holds_nobody_up() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.p", 5).queue("root.p.a", 9).queue("root.p.b", 9);
    let (runs, waits) = (cluster.direct("runs", 2), cluster.direct("waits", 4));
    cluster.submit("runs", "root.p.a", runs);
    cluster.members("runs", 2);
    cluster.settle();
    cluster.submit("waits", "root.p.b", waits);
    cluster.members("waits", 4);
    cluster.settle();
    (2..5).for_each(|number| cluster.member(&format!("runs-{number}"), "runs"));
    cluster.settle();
    assert_eq!((cluster.cpu("root.p.a"), cluster.report("waits").reason), (5000, "WaitingForQuota"));
    (0..4).for_each(|number| cluster.delete(&format!("runs-{number}")));
    cluster.settle();
    assert_eq!((cluster.cpu("root.p.b"), cluster.report("waits").reason), (4000, "Running"));
}

/// 01, 1.2.5: who waits is looked at when there is room, also where that comes of a pod that is made smaller in place.
#[test]
fn who_runs_and_becomes_smaller_makes_room() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let large = cluster.sized("large", Role::Singleton, 4);
    cluster.show(large);
    cluster.settle();
    cluster.single("late");
    assert_eq!(cluster.settle().bound(), ["large"]);
    cluster.change("large", |spec| spec.shape = Arc::new(Shape { request: size(2), ..Shape::default() }));
    assert_eq!(cluster.settle().bound(), ["large", "late"]);
}
