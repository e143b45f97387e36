//! `totalMember` (01, 1.3): "members up to it that exist are planned with it as far as they fit", and nobody waits for them.

use gangline::core::base::resources::Limit;
use gangline::core::event::{AskSpec, GroupSpec, Mode, QueueSpec, Role};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, timeouts};

const LACKS: Option<&str> = Some("Unschedulable");

/// A gang in root.q of two of so many, and that many pods of it.
fn two_of(cluster: &mut Cluster, spec: GroupSpec, total: Option<u32>, members: u32) {
    let spec = GroupSpec { total_member: total, ..spec };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", members);
}

/// Nodes of one core, and a quota.
fn cores(nodes: u32, quota: i64) -> Cluster {
    Cluster::default().nodes(nodes, 1).queue("root.q", quota)
}

/// 01, 1.3: "it says how many belong to it, so members up to it that exist are planned with it as far as they fit": before the next in
/// line has its turn. Those beyond it come after that one, as all do where nothing is said.
#[test]
fn those_who_belong_to_it_are_placed_with_it() {
    for (total, own) in [(None, 3), (Some(3), 3), (Some(4), 4), (Some(9), 4)] {
        let mut cluster = cores(4, 100);
        let spec = cluster.direct("g", 2);
        two_of(&mut cluster, spec, total, 4);
        cluster.single("other");
        cluster.settle();
        let bound = cluster.bound();
        assert_eq!(bound.iter().filter(|name| name.starts_with("g-")).count(), own, "{total:?}: {bound:?}");
        assert_eq!(cluster.why("other"), if own == 4 { LACKS } else { None }, "{total:?}");
        assert_eq!((cluster.report("g").seats.taken, cluster.report("g").placed), (2, true));
    }
}

/// 01, 1.3: "`totalMember` never delays the first attempt: with `minMember` there the gang is tried."
#[test]
fn nobody_waits_for_them() {
    let mut cluster = cores(4, 100);
    let spec = cluster.direct("g", 2);
    two_of(&mut cluster, spec, Some(4), 2);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.state("g")), (2, AppState::Running));
    cluster.member("late", "g");
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3, "who comes later is an ordinary pod");
}

/// 01, 1.3: "as far as they fit": the gate, and the plan, ask for `minMember` alone.
#[test]
fn they_take_what_is_left() {
    for (nodes, quota, why) in [(3, 100, LACKS), (4, 3, Some("WaitingForQuota"))] {
        let mut cluster = cores(nodes, quota);
        let spec = cluster.direct("g", 2);
        two_of(&mut cluster, spec, Some(4), 4);
        cluster.settle();
        assert_eq!((cluster.bound().len(), cluster.why("g-3"), cluster.cpu("root.q")), (3, why, 3_000));
    }
}

/// 01, 1.12: "no queue below its guaranteed share waits, with an ask that could be placed now, while one above it is served": beyond
/// the seats a turn reaches as far as that of ordinary pods. Who is left is one after the start.
#[test]
fn they_do_not_pass_a_queue_that_is_further_below_its_promise() {
    let cores = |cores: i128| Limit::new([("cpu".into(), cores * 1_000)]);
    let mut cluster = Cluster::default().nodes(8, 1);
    for (queue, promise) in [("root.q", 4), ("root.p", 3)] {
        cluster.show_queue(queue, QueueSpec { guaranteed: cores(promise), ..QueueSpec::default() });
    }
    ["p-0", "p-1"].into_iter().for_each(|name| cluster.other(name, "root.p", 1));
    let spec = cluster.direct("g", 1);
    two_of(&mut cluster, spec, Some(6), 6);
    cluster.other("p-2", "root.p", 1);
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2", "g-3", "g-4", "p-0", "p-1", "p-2"]);
    assert_eq!(cluster.why("g-5"), LACKS);
}

/// 01, 1.2.5 "Order of a pass: priority, queue policy, submission": the gang has the priority of the first of them, and each of those
/// beyond the seats its own.
#[test]
fn nor_a_pod_of_a_higher_priority() {
    for (priority, own) in [(0, 3), (5, 2)] {
        let mut cluster = cores(3, 100);
        let spec = cluster.direct("g", 1);
        two_of(&mut cluster, spec, Some(3), 3);
        cluster.change("g-0", |spec| spec.priority = 10);
        let other = cluster.pod("other", Role::Singleton);
        cluster.show(AskSpec { priority, queue: Some("root.q".into()), ..other });
        cluster.settle();
        let bound = cluster.bound();
        assert_eq!(bound.iter().filter(|name| name.starts_with("g-")).count(), own, "{priority}: {bound:?}");
        assert_eq!(bound.len(), 3, "{priority}: {bound:?}");
    }
}

/// 01, 1.3 "Mode": of a NonStrict gang likewise, once all of its seats have nodes.
#[test]
fn of_a_gang_that_holds_one_by_one_they_come_last() {
    let mut cluster = cores(2, 100);
    let timeouts = timeouts(Deadline::Completion, 30).with(Deadline::Wait, Some(60_000));
    let spec = GroupSpec { mode: Mode::NonStrict, timeouts, total_member: Some(4), ..cluster.direct("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 4);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (0, 2_000));
    cluster.node("more", 2);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (4, 4_000));
}

/// A gang with placeholders for all of two seats, of which two more are there, before the placeholders are bound.
fn half_way() -> Cluster {
    let mut cluster = cores(4, 100);
    let spec = cluster.all("g", 2);
    two_of(&mut cluster, spec, Some(4), 4);
    cluster.step();
    cluster.carry("create");
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (0, 4_000), "they have their nodes as the seats have");
    cluster
}

/// With placeholders they wait for the start like everybody, and nothing keeps the start from being called off (ADR 25).
#[test]
fn they_start_when_the_gang_does() {
    let mut cluster = half_way();
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2", "g-3"]);
    assert_eq!((cluster.placeholders(), cluster.report("g").seats.taken), (0, 2));
}

/// Where those are gone for whom the seats were, they take the seats.
#[test]
fn they_take_the_seats_of_those_that_are_gone() {
    let mut cluster = half_way();
    ["g-0", "g-1"].into_iter().for_each(|name| cluster.delete(name));
    cluster.step();
    assert_eq!(cluster.cpu("root.q"), 2_000);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.placeholders()), (vec!["g-2".to_owned(), "g-3".to_owned()], 0));
    assert_eq!(cluster.report("g").seats.taken, 2);
}

/// 01, 1.2.4: "An edit before the start is judged again as a new spec (what is held by the old one is given back)": they hold nothing
/// either; and nor do those of a TaskGroup that is gone.
#[test]
fn an_edit_takes_back_what_they_have() {
    let mut cluster = half_way();
    let spec = cluster.groups["g"].clone();
    cluster.apply("g", GroupSpec { generation: 2, total_member: None, min_member: 5, ..spec });
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (0, 0));
    let mut cluster = half_way();
    cluster.lose_group("g");
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (0, 0));
}
