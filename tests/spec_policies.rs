//! Queue policies: who goes first among queues and within one (01, 1.2.5, 1.12).

use gangline::core::base::resources::Limit;
use gangline::core::event::{AskSpec, GroupSpec, QueueSpec, Role, SortPolicy};
use gangline::core::model::lifecycle::AppState;
use proptest::prelude::*;

use crate::support::cluster::Cluster;

fn cores(amount: i128) -> Limit {
    Limit::new([("cpu".into(), amount * 1_000)])
}

fn promised(amount: i128) -> QueueSpec {
    QueueSpec { guaranteed: cores(amount), ..QueueSpec::default() }
}

fn sorted(policy: SortPolicy) -> QueueSpec {
    QueueSpec { sort_policy: Some(policy), ..QueueSpec::default() }
}

/// `count` pods outside applications wait in a queue, NAME-00, NAME-01, …
fn singles(cluster: &mut Cluster, name: &str, queue: &str, count: u32) {
    changed_singles(cluster, (name, queue, count), |_| ());
}

/// The same, each of them changed before it is made.
fn changed_singles(cluster: &mut Cluster, (name, queue, count): (&str, &str, u32), change: impl Fn(&mut AskSpec)) {
    for number in 0..count {
        let mut spec = cluster.pod(&format!("{name}-{number:02}"), Role::Singleton);
        spec.queue = Some(queue.into());
        change(&mut spec);
        cluster.show(spec);
    }
}

/// `count` pods of an application without a gang wait in a queue.
fn pods_of(cluster: &mut Cluster, app: &str, queue: &str, count: u32) {
    for number in 0..count {
        let name = format!("{app}-{number:02}");
        let mut spec = cluster.pod(&name, Role::Originator { application: app.into() });
        spec.queue = Some(queue.into());
        cluster.show(spec);
    }
}

/// How many bound pods have a name that begins so.
fn bound(cluster: &Cluster, start: &str) -> usize {
    cluster.bound().iter().filter(|name| name.starts_with(start)).count()
}

fn gang(cluster: &mut Cluster, name: &str, queue: &str, created: i64) {
    let mut spec = cluster.group(name, 2);
    spec.created = created;
    cluster.submit(name, queue, spec);
}

/// 01, 1.12: `guaranteed` orders queues under contention: the one furthest below its share goes first, also before pods
/// that came earlier and have a higher priority.
#[test]
fn the_queue_that_is_furthest_below_its_promise_goes_first() {
    let mut cluster = Cluster::default().nodes(1, 12);
    cluster.show_queue("root.none", QueueSpec::default());
    cluster.show_queue("root.four", promised(4));
    cluster.show_queue("root.eight", promised(8));
    changed_singles(&mut cluster, ("none", "root.none", 12), |spec| (spec.priority, spec.created) = (1_000, 1));
    singles(&mut cluster, "four", "root.four", 12);
    singles(&mut cluster, "eight", "root.eight", 12);
    cluster.settle();
    assert_eq!(["none", "four", "eight"].map(|name| bound(&cluster, name)), [0, 4, 8]);
}

/// In proportion: with room for half of what is promised each has half of its own.
#[test]
fn scarce_room_is_shared_in_proportion_to_promises() {
    let mut cluster = Cluster::default().nodes(1, 6);
    cluster.show_queue("root.four", promised(4));
    cluster.show_queue("root.eight", promised(8));
    singles(&mut cluster, "four", "root.four", 12);
    singles(&mut cluster, "eight", "root.eight", 12);
    cluster.settle();
    assert_eq!(["four", "eight"].map(|name| bound(&cluster, name)), [2, 4]);
    for round in 0..6 {
        // Whatever ends, the room goes to who is furthest below.
        let pod = cluster.bound().into_iter().find(|name| name.starts_with("eight")).expect("one runs");
        cluster.delete(&pod);
        cluster.settle();
        assert_eq!(["four", "eight"].map(|name| bound(&cluster, name)), [2, 4], "round {round}");
    }
}

/// Who is at or beyond its promise, and who has none, wait in the order of all.
#[test]
fn beyond_promises_the_order_is_that_of_submission() {
    let mut cluster = Cluster::default().nodes(1, 6);
    cluster.show_queue("root.two", promised(2));
    cluster.show_queue("root.none", QueueSpec::default());
    changed_singles(&mut cluster, ("none", "root.none", 3), |spec| spec.created = 1);
    singles(&mut cluster, "two", "root.two", 12);
    cluster.settle();
    assert_eq!(["none", "two"].map(|name| bound(&cluster, name)), [3, 3]);
}

/// The queues at the top decide before those below them; below one that has what it is promised they still come before
/// those that are promised nothing.
#[test]
fn promises_hold_on_every_level() {
    let mut cluster = Cluster::default().nodes(1, 10);
    cluster.show_queue("root.a", promised(4));
    cluster.show_queue("root.a.x", promised(3));
    cluster.show_queue("root.a.y", QueueSpec::default());
    cluster.show_queue("root.b", QueueSpec::default());
    cluster.show_queue("root.b.x", promised(2));
    cluster.show_queue("root.b.y", QueueSpec::default());
    for (name, queue) in [("ax", "root.a.x"), ("ay", "root.a.y"), ("bx", "root.b.x")] {
        singles(&mut cluster, name, queue, 10);
    }
    changed_singles(&mut cluster, ("by", "root.b.y", 10), |spec| spec.created = 1);
    cluster.settle();
    // a: 3 of x and 1 more; then what b.x is promised; then the oldest.
    assert_eq!(["ax", "ay", "bx", "by"].map(|name| bound(&cluster, name)), [4, 0, 2, 4]);
}

/// A gang counts as its pods do, and it waits at the gate for a quota above which somebody before it in time, but not in
/// promises, would take.
#[test]
fn a_gang_of_a_queue_below_its_promise_passes_the_gate_first() {
    let mut cluster = Cluster::default().nodes(4, 4);
    cluster.show_queue("root", QueueSpec { max: cores(3), ..QueueSpec::default() });
    cluster.show_queue("root.a", QueueSpec::default());
    cluster.show_queue("root.b", promised(2));
    gang(&mut cluster, "old", "root.a", 1);
    gang(&mut cluster, "owed", "root.b", 2);
    for name in ["old", "owed"] {
        cluster.members(name, 2);
    }
    cluster.settle();
    assert_eq!((cluster.state("old"), cluster.state("owed")), (AppState::Accepted, AppState::Running));
    assert_eq!(cluster.report("old").reason, "WaitingForQuota");
}

/// The same where nodes are what is scarce: room that becomes free goes to gangs of the queue below its promise, in the order of
/// submission, and then to those that came before them.
#[test]
fn on_scarce_nodes_gangs_of_a_queue_below_its_promise_go_first() {
    for all in [false, true] {
        let mut cluster = Cluster::default().nodes(1, 8);
        for (queue, spec) in [("root.none", 0), ("root.four", 4), ("root.others", 0)] {
            cluster.show_queue(queue, if spec == 0 { QueueSpec::default() } else { promised(spec) });
        }
        (0..4).for_each(|number| cluster.other(&format!("runs-{number}"), "root.others", 2));
        cluster.settle();
        let names = ["none-0", "none-1", "four-0", "four-1", "four-2"];
        for (created, name) in (0..).zip(names) {
            let mut spec = if all { cluster.all(name, 2) } else { cluster.direct(name, 2) };
            spec.created = created;
            cluster.submit(name, &format!("root.{}", &name[..4]), spec);
            cluster.members(name, 2);
        }
        cluster.settle();
        let mut started: Vec<&str> = Vec::new();
        for number in 0..4 {
            assert!(names.iter().all(|name| started.contains(name) || cluster.state(name) == AppState::Accepted));
            cluster.delete(&format!("runs-{number}"));
            cluster.settle();
            let runs = |name: &&&str| !started.contains(*name) && cluster.state(name) == AppState::Running;
            let next: Vec<&str> = names.iter().filter(runs).copied().collect();
            started.extend(next);
        }
        assert_eq!(started, ["four-0", "four-1", "none-0", "none-1"], "placeholders for all: {all}");
    }
}

/// What is kept for who is first in line, in a queue that has what it is promised, keeps no queue below its promise waiting.
#[test]
fn a_hold_keeps_no_queue_below_its_promise_waiting() {
    use gangline::core::event::HeadOfLine;
    let mut cluster = Cluster::default().nodes(4, 4);
    let bound_now = Some(HeadOfLine::MaxOvertakes(0));
    cluster.show_queue("root", QueueSpec { max: cores(4), head_of_line: bound_now, ..QueueSpec::default() });
    cluster.show_queue("root.a", QueueSpec::default());
    cluster.show_queue("root.b", promised(2));
    cluster.show_queue("root.c", QueueSpec::default());
    cluster.other("runs", "root.c", 2);
    let mut big = cluster.direct("big", 3);
    big.created = 1;
    cluster.submit("big", "root.a", big);
    cluster.members("big", 3);
    cluster.settle();
    assert_eq!(cluster.report("big").reason, "WaitingForQuota");
    singles(&mut cluster, "other", "root.c", 1);
    cluster.settle();
    assert_eq!(bound(&cluster, "other"), 0, "it is kept for the gang");
    let mut later = cluster.clone();
    singles(&mut cluster, "owed", "root.b", 3);
    cluster.settle();
    assert_eq!(bound(&cluster, "owed"), 2, "and not from who is owed more");
    // Whenever that is promised.
    later.show_queue("root.b", QueueSpec::default());
    singles(&mut later, "owed", "root.b", 3);
    later.settle();
    assert_eq!(bound(&later, "owed"), 0);
    later.show_queue("root.b", promised(2));
    later.settle();
    assert_eq!(bound(&later, "owed"), 2);
}

/// 01, 1.12: `priorityOffset` is added to the priority of its pods where they meet those of other queues.
#[test]
fn a_priority_offset_counts_among_queues() {
    for (offset, first) in [(0, "a"), (10, "b"), (-10, "a")] {
        let mut cluster = Cluster::default().nodes(1, 3);
        cluster.show_queue("root.a", QueueSpec::default());
        cluster.show_queue("root.b", QueueSpec { priority_offset: offset - 1, ..QueueSpec::default() });
        cluster.show_queue("root.b.x", QueueSpec { priority_offset: 1, ..QueueSpec::default() });
        changed_singles(&mut cluster, ("a", "root.a", 3), |spec| spec.priority = 5);
        singles(&mut cluster, "b", "root.b.x", 3);
        cluster.settle();
        assert_eq!(bound(&cluster, first), 3, "{offset}");
    }
}

/// 01, 1.12: `Fair` shares what there is among applications, each measured by the resource of which it uses most.
#[test]
fn a_fair_queue_shares_among_applications() {
    let mut cluster = Cluster::default().nodes(1, 9);
    cluster.show_queue("root.q", sorted(SortPolicy::Fair));
    for app in ["a", "b", "c"] {
        pods_of(&mut cluster, app, "root.q", 9);
    }
    cluster.settle();
    assert_eq!(["a", "b", "c"].map(|app| bound(&cluster, app)), [3, 3, 3]);
    // One that comes later, and uses nothing, gets what comes free until it has as much as the others.
    pods_of(&mut cluster, "late", "root.q", 9);
    for pod in ["a-00", "b-00", "c-00"] {
        cluster.delete(pod);
    }
    cluster.settle();
    assert_eq!(["a", "b", "c", "late"].map(|app| bound(&cluster, app)), [3, 2, 2, 2]);
}

/// Shares are measured by what the queue is promised, else by what may be used in it, else by all nodes.
#[test]
fn shares_are_measured_by_what_is_promised_or_may_be_used() {
    let memory = |gib: i128| Limit::new([("memory".into(), gib << 30)]);
    let by_promise = QueueSpec { guaranteed: memory(10), ..sorted(SortPolicy::Fair) };
    let by_limit = QueueSpec { max: memory(50), ..sorted(SortPolicy::Fair) };
    // Each pod asks for 1 GiB; those of b for two cores, of six.
    for (spec, expected) in [(by_promise, [2, 2]), (by_limit, [2, 2]), (sorted(SortPolicy::Fair), [4, 1])] {
        let mut cluster = Cluster::default().nodes(1, 6);
        cluster.show_queue("root.q", spec);
        pods_of(&mut cluster, "a", "root.q", 6);
        for number in 0..6 {
            let role = Role::Originator { application: "b".into() };
            let large = AskSpec { queue: Some("root.q".into()), ..cluster.sized(&format!("b-{number}"), role, 2) };
            cluster.show(large);
        }
        cluster.settle();
        assert_eq!(["a-", "b-"].map(|app| bound(&cluster, app)), expected);
    }
}

/// Priority comes first in each policy.
#[test]
fn priority_comes_before_shares() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.show_queue("root.q", sorted(SortPolicy::Fair));
    pods_of(&mut cluster, "a", "root.q", 4);
    pods_of(&mut cluster, "b", "root.q", 4);
    (0..3).for_each(|number| cluster.change(&format!("b-{number:02}"), |spec| spec.priority = 7));
    cluster.settle();
    assert_eq!(["a", "b"].map(|app| bound(&cluster, app)), [1, 3]);
}

/// A policy is the one of the queue above where a queue has none; it changes while pods wait.
#[test]
fn a_policy_is_inherited_and_changes_live() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.show_queue("root.q.x", QueueSpec::default());
    cluster.show_queue("root.q", sorted(SortPolicy::Fifo));
    cluster.node("n0", 0);
    for (app, created) in [("a", 1), ("b", 2)] {
        pods_of(&mut cluster, app, "root.q.x", 4);
        (0..4).for_each(|number| cluster.change(&format!("{app}-{number:02}"), |spec| spec.created = created));
    }
    cluster.settle();
    cluster.show_queue("root.q", sorted(SortPolicy::Fair));
    cluster.settle();
    cluster.node("n0", 2);
    cluster.settle();
    assert_eq!(["a", "b"].map(|app| bound(&cluster, app)), [1, 1]);
    cluster.show_queue("root.q", sorted(SortPolicy::Fifo));
    cluster.settle();
    cluster.node("n0", 4);
    cluster.settle();
    assert_eq!(["a", "b"].map(|app| bound(&cluster, app)), [3, 1]);
}

/// 01, 1.2.3: "queue's sort policy is `Fair` and the application asks for a gang": refused, and judged again when that
/// changes. What runs goes on.
#[test]
fn a_fair_queue_takes_no_gang() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.show_queue("root.q", sorted(SortPolicy::StateAware));
    gang(&mut cluster, "runs", "root.q", 1);
    cluster.members("runs", 2);
    cluster.settle();
    cluster.show_queue("root.q", sorted(SortPolicy::Fair));
    gang(&mut cluster, "g", "root.q", 2);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.state("runs"), cluster.state("g")), (AppState::Running, AppState::Rejected));
    assert_eq!((cluster.report("g").reason, cluster.why("g-0")), ("GangInFairQueue", Some("GangInFairQueue")));
    cluster.restart().settle();
    assert_eq!((cluster.state("runs"), cluster.state("g")), (AppState::Running, AppState::Rejected));
    cluster.show_queue("root.q", sorted(SortPolicy::Fifo));
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Running);
}

/// As above: nobody waits for another in a task group of one member without placeholders, which has its turn like a single pod.
#[test]
fn a_fair_queue_takes_a_task_group_of_one() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.show_queue("root.q", sorted(SortPolicy::Fair));
    let expected = [
        ("one", cluster.direct("one", 1), AppState::Running),
        ("two", cluster.direct("two", 2), AppState::Rejected),
        ("held", cluster.group("held", 1), AppState::Rejected),
        ("with", GroupSpec { total_member: Some(2), ..cluster.direct("with", 1) }, AppState::Rejected),
    ];
    for (name, spec, state) in &expected {
        cluster.submit(name, "root.q", spec.clone());
        cluster.members(name, 2);
        cluster.settle();
        assert_eq!(cluster.state(name), *state, "{name}");
    }
    assert_eq!(cluster.bound(), ["one-0", "one-1"]);
    cluster.restart().settle();
    expected.iter().for_each(|(name, _, state)| assert_eq!(cluster.state(name), *state, "{name}"));
}

/// 01, 1.2.5: "StateAware: at most one application at a time is between the open gate and Running": of those with gangs.
#[test]
fn in_a_state_aware_queue_one_gang_starts_at_a_time() {
    let mut cluster = Cluster::default().nodes(4, 4);
    cluster.show_queue("root.q", sorted(SortPolicy::StateAware));
    for (name, created) in [("a", 1), ("b", 2), ("c", 3)] {
        let mut spec = cluster.all(name, 2);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    assert_eq!((cluster.report("a").reason, cluster.placeholders()), ("WaitingForMembers", 2));
    for name in ["b", "c"] {
        assert_eq!(cluster.report(name).reason, "WaitingForStart");
    }
    assert!(cluster.report("b").message.contains("ns/a"), "{}", cluster.report("b").message);
    cluster.restart().settle();
    assert_eq!((cluster.report("b").reason, cluster.placeholders()), ("WaitingForStart", 2));
    cluster.members("a", 2);
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("b").reason), (AppState::Running, "WaitingForMembers"));
    assert_eq!(cluster.report("c").reason, "WaitingForStart");
    cluster.wait(30_000).settle();
    assert!(cluster.report("c").message.contains("ns/b"), "who starts now: {}", cluster.report("c").message);
    // Whoever keeps the others waiting may go, too.
    cluster.lose_group("b");
    cluster.settle();
    assert_eq!(cluster.report("c").reason, "WaitingForMembers");
}

/// 01, 1.2.5: "one that is blocked by nodes does not count"; nor does another policy keep anybody waiting.
#[test]
fn who_is_blocked_by_nodes_keeps_nobody_waiting_in_a_state_aware_queue() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.show_queue("root.q", sorted(SortPolicy::StateAware));
    let mut large = cluster.all("large", 9);
    large.created = 1;
    cluster.submit("large", "root.q", large);
    let small = cluster.all("small", 2);
    cluster.submit("small", "root.q", small);
    let last = cluster.all("tiny", 1);
    cluster.submit("tiny", "root.q", last);
    cluster.settle();
    assert_eq!(
        (cluster.report("large").reason, cluster.report("small").reason),
        ("WaitingForCapacity", "WaitingForMembers")
    );
    assert_eq!(cluster.report("tiny").reason, "WaitingForStart");
    cluster.show_queue("root.q", sorted(SortPolicy::Fifo));
    cluster.settle();
    assert_eq!(cluster.report("tiny").reason, "WaitingForMembers");
}

/// 01, 1.2.3: a stopped queue, or one below it, takes nothing new; what has started goes on and gets what it asks for.
#[test]
fn a_stopped_queue_takes_nothing_new() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.show_queue("root.q", QueueSpec::default());
    cluster.show_queue("root.q.x", QueueSpec::default());
    gang(&mut cluster, "runs", "root.q.x", 1);
    cluster.members("runs", 2);
    cluster.settle();
    cluster.show_queue("root.q", QueueSpec { stopped: true, ..QueueSpec::default() });
    gang(&mut cluster, "g", "root.q.x", 2);
    cluster.members("g", 2);
    singles(&mut cluster, "s", "root.q.x", 1);
    cluster.member("runs-2", "runs");
    cluster.settle();
    assert_eq!((cluster.state("runs"), cluster.node_of("runs-2").is_some()), (AppState::Running, true));
    assert_eq!((cluster.report("g").reason, cluster.why("s-00")), ("QueueStopped", Some("QueueStopped")));
    cluster.restart().settle();
    assert_eq!((cluster.state("runs"), cluster.state("g")), (AppState::Running, AppState::Rejected));
    cluster.show_queue("root.q", QueueSpec::default());
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.node_of("s-00").is_some()), (AppState::Running, true));
}

/// 01, 1.8: "a new incarnation at once": a job that begins anew where room is kept for it has started, also in a queue that
/// takes nothing new.
#[test]
fn a_job_begins_anew_in_a_queue_that_takes_nothing_new() {
    let changes: [fn(&mut Cluster); 3] = [
        |cluster| cluster.show_queue("root.q", QueueSpec { stopped: true, ..QueueSpec::default() }),
        |cluster| cluster.show_queue("root.q", sorted(SortPolicy::Fair)),
        |cluster| cluster.lose_queue("root.q"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
        let spec = GroupSpec { seat_hold: 60_000, ..cluster.direct("g", 2) };
        cluster.submit("g", "root.q", spec);
        cluster.members("g", 2);
        cluster.settle();
        change(&mut cluster);
        ["g-0", "g-1"].iter().for_each(|pod| cluster.finish(pod, false));
        cluster.settle();
        ["g-2", "g-3"].iter().for_each(|pod| cluster.member(pod, "g"));
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2), "{number}");
    }
}

/// What is shown of a queue: how much of its promise it uses, and who is first in line and holds.
#[test]
fn a_queue_shows_its_share_and_who_is_first() {
    use gangline::core::event::HeadOfLine;
    let mut cluster = Cluster::default().nodes(1, 4);
    let head_of_line = Some(HeadOfLine::After(5_000));
    cluster.show_queue("root.q", QueueSpec { guaranteed: cores(8), head_of_line, ..QueueSpec::default() });
    cluster.other("s", "root.q", 3);
    let spec = cluster.direct("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    let report = cluster.queue_report("root.q");
    let first = report.first.expect("somebody waits");
    assert_eq!((report.share, &*first.application, first.holds), (Some(37), "ns/g", false));
    assert_eq!((cluster.queue_report("root").share, cluster.queue_report("root").first), (None, None));
    cluster.wait(5_000).settle();
    assert!(cluster.queue_report("root.q").first.is_some_and(|first| first.holds));
    cluster.delete("s");
    cluster.settle();
    assert_eq!((cluster.queue_report("root.q").first, cluster.queue_report("root.q").share), (None, Some(25)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// 01, 1.12: "no queue below its guaranteed share waits, with an ask that could be placed now, while one above it is
    /// served": of pods that are alike, in queues that want more than there is, each queue gets what it is promised or all
    /// it wants, as long as there is room for all promises.
    #[test]
    fn every_promise_is_kept_while_there_is_room_for_all(
        queues in proptest::collection::vec((0..6_u32, 0..9_u32), 1..6),
        spare in 0..6_u32,
    ) {
        let promised_sum: u32 = queues.iter().map(|(promise, wanted)| (*promise).min(*wanted)).sum();
        let room = promised_sum + spare;
        let mut cluster = Cluster::default().nodes(1, i64::from(room));
        for (number, (promise, wanted)) in queues.iter().enumerate() {
            let path = format!("root.q{number}");
            cluster.show_queue(&path, promised(i128::from(*promise)));
            singles(&mut cluster, &format!("q{number}"), &path, *wanted);
        }
        cluster.settle();
        let served: Vec<_> = (0..queues.len()).map(|number| bound(&cluster, &format!("q{number}-")) as u32).collect();
        for ((promise, wanted), served) in queues.iter().zip(&served) {
            prop_assert!(*served >= (*promise).min(*wanted), "{queues:?} with room for {room}: {served:?}");
        }
        let wanted: u32 = queues.iter().map(|(_, wanted)| wanted).sum();
        prop_assert_eq!(served.iter().sum::<u32>(), wanted.min(room), "no room is left while somebody waits");
    }
}
