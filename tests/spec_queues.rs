//! Queues: the tree, its usage and limits, and their changes (01, 1.12).

use gangline::core::base::resources::{Limit, Totals};
use gangline::core::decision::Decision;
use gangline::core::event::{QueueSpec, Role};
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::Cluster;

/// A pod outside applications in a queue.
fn single(cluster: &mut Cluster, name: &str, queue: &str) {
    let mut spec = cluster.pod(name, Role::Singleton);
    spec.queue = Some(queue.into());
    cluster.show(spec);
}

/// A Direct gang with all its members.
fn direct(cluster: &mut Cluster, name: &str, queue: &str, min: u32) {
    let spec = cluster.direct(name, min);
    cluster.submit(name, queue, spec);
    cluster.members(name, min);
}

fn limits(max: &[(&str, i128)], max_applications: Option<u32>) -> QueueSpec {
    let max = Limit::new(max.iter().map(|(name, amount)| ((*name).into(), *amount)));
    QueueSpec { max, max_applications, ..QueueSpec::default() }
}

/// A pod of an application that has no task groups.
fn alone(cluster: &mut Cluster, name: &str, queue: &str) {
    let mut spec = cluster.sized(name, Role::Originator { application: "app".into() }, 1);
    spec.queue = Some(queue.into());
    cluster.show(spec);
}

/// 01, 1.12: "shrinking or deleting one never disturbs running work": of an application of pods alone, what comes goes on
/// in its queue while some of it runs, also for a new process. When nothing does, it is as if it had just come.
#[test]
fn an_application_of_pods_alone_goes_on_in_its_queue() {
    /// What becomes of a queue, and what is said of who comes to it then.
    type Change = (fn(&mut Cluster), &'static str);
    let changes: [Change; 2] = [
        (|cluster| cluster.show_queue("root.q.below", limits(&[], None)), "QueueNotLeaf"),
        (|cluster| cluster.lose_queue("root.q"), "QueueNotFound"),
    ];
    for (change, reason) in changes {
        let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 10);
        ["a-0", "a-1", "a-2"].into_iter().for_each(|pod| alone(&mut cluster, pod, "root.q"));
        cluster.settle();
        assert_eq!((cluster.bound(), cluster.why("a-2")), (vec!["a-0".into(), "a-1".into()], Some("Unschedulable")));
        change(&mut cluster);
        cluster.settle().restart().settle();
        assert_eq!(cluster.why("a-2"), Some("Unschedulable"), "with {reason}");
        cluster.delete("a-0");
        cluster.settle();
        assert_eq!(cluster.bound(), ["a-1", "a-2"], "with {reason}");
        alone(&mut cluster, "a-3", "root.q");
        ["a-1", "a-2"].into_iter().for_each(|pod| cluster.delete(pod));
        cluster.step();
        assert_eq!((cluster.bound(), cluster.why("a-3")), (vec![], Some(reason)));
        cluster.restart().settle();
        assert_eq!((cluster.bound(), cluster.why("a-3")), (vec![], Some(reason)));
    }
}

/// 01, 1.12: "`root` and `root.default` exist implicitly, unlimited"; who names no queue is in `root.default`.
#[test]
fn root_and_the_default_queue_exist_by_themselves() {
    let mut cluster = Cluster::default().nodes(4, 100);
    cluster.single("s");
    let spec = cluster.direct("g", 50);
    cluster.apply("g", spec);
    cluster.members("g", 50);
    cluster.settle();
    assert_eq!(
        (cluster.cpu("root.default"), cluster.cpu("root"), cluster.headroom("root.default")),
        (51_000, 51_000, None)
    );
    cluster.set_queue("root.default", 51);
    cluster.single("late");
    cluster.settle();
    assert_eq!(cluster.why("late"), Some("WaitingForQuota"));
    cluster.set_queue("root.default", 0);
    cluster.settle();
    assert_eq!(cluster.why("late"), Some("ExceedsMaxQuota"), "what it asks for alone is too much");
    cluster.lose_queue("root.default");
    cluster.settle();
    assert_eq!((cluster.why("late"), cluster.headroom("root.default")), (None, None), "unlimited again");
}

/// 01, 1.12: "leaf queues hold applications": pods outside applications likewise, whatever changes the tree.
#[test]
fn only_leaves_take_work() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 9);
    single(&mut cluster, "before", "root.a");
    direct(&mut cluster, "old", "root.a", 2);
    cluster.settle();
    cluster.set_queue("root.a.b", 9);
    direct(&mut cluster, "new", "root.a", 2);
    single(&mut cluster, "after", "root.a");
    single(&mut cluster, "nowhere", "root.none");
    cluster.settle();
    assert_eq!((cluster.state("new"), cluster.report("new").reason), (AppState::Rejected, "QueueNotLeaf"));
    assert_eq!((cluster.why("after"), cluster.why("nowhere")), (Some("QueueNotLeaf"), Some("QueueNotFound")));
    assert_eq!((cluster.state("old"), cluster.cpu("root.a")), (AppState::Running, 3000), "what runs goes on");
    cluster.lose_queue("root.a.b");
    cluster.settle();
    assert_eq!((cluster.state("new"), cluster.why("after")), (AppState::Running, None));
}

/// 01, 1.12: "Usage is accounted on every level, placeholders included".
#[test]
fn usage_counts_on_every_level() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 9).queue("root.a.b", 9).queue("root.a.c", 9);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.a.b", spec);
    direct(&mut cluster, "d", "root.a.c", 2);
    single(&mut cluster, "s", "root.a.c");
    cluster.settle();
    let usage = |cluster: &Cluster| ["root.a.b", "root.a.c", "root.a", "root"].map(|path| cluster.cpu(path));
    assert_eq!(usage(&cluster), [3000, 3000, 6000, 6000]);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(usage(&cluster), [3000, 3000, 6000, 6000], "a member instead of each placeholder");
    cluster.finish("s", true);
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(usage(&cluster), [2000, 2000, 4000, 4000]);
    assert_eq!(cluster.applications("root.a"), [(AppState::Running, 2)]);
}

/// 01, 1.12: "headroom is the minimum over the path", of each resource; never less than nothing.
#[test]
fn headroom_is_the_minimum_over_the_path() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 6).queue("root.a.b", 4).queue("root.a.c", 9);
    cluster.show_queue("root", limits(&[("memory", 5 << 30)], None));
    direct(&mut cluster, "d", "root.a.c", 3);
    cluster.settle();
    let room =
        |cluster: &Cluster| (cluster.headroom("root.a.b"), cluster.headroom("root.a.c"), cluster.headroom("root.a"));
    assert_eq!(room(&cluster), (Some(3000), Some(3000), Some(3000)));
    let memory = cluster.queue_report("root.a.b").headroom;
    assert!(memory.contains(&("memory".into(), 2 << 30)), "{memory:?}");
    direct(&mut cluster, "e", "root.a.b", 3);
    cluster.settle();
    assert!(cluster.report("e").message.contains("queue root has 2Gi of 5Gi left"), "{}", cluster.report("e").message);
    cluster.set_queue("root.a", 2);
    cluster.settle();
    assert_eq!(room(&cluster), (Some(0), Some(0), Some(0)));
}

/// 01, 1.12 `maxApplications`: it counts on every level, and those past the gate alone.
#[test]
fn max_applications_counts_on_every_level() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a.b", 9).queue("root.a.c", 2);
    cluster.show_queue("root.a", limits(&[], Some(1)));
    direct(&mut cluster, "a", "root.a.c", 2);
    cluster.settle();
    direct(&mut cluster, "b", "root.a.b", 1);
    single(&mut cluster, "s", "root.a.b");
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "s"], "pods outside applications do not count");
    assert!(cluster.report("b").message.contains("root.a already runs 1"), "{}", cluster.report("b").message);
    cluster.show_queue("root.a", limits(&[], Some(2)));
    cluster.settle();
    assert_eq!(cluster.report("b").reason, "Running");
    cluster.show_queue("root.a", limits(&[], Some(1)));
    cluster.member("a-2", "a");
    cluster.settle();
    assert_eq!(cluster.report("a").state, AppState::Running, "what is past the gate stays so");
}

/// As above: a gang that waits for members or quota does not count, nor does one that is back before the gate.
#[test]
fn who_is_before_the_gate_does_not_count() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a.b", 3).queue("root.a.c", 9);
    cluster.show_queue("root.a", limits(&[], Some(1)));
    let spec = cluster.all("first", 3);
    cluster.submit("first", "root.a.b", spec);
    cluster.settle();
    assert!(cluster.report("first").past_gate);
    direct(&mut cluster, "second", "root.a.c", 2);
    cluster.settle();
    assert_eq!(cluster.report("second").reason, "WaitingForApplications");
    cluster.set_queue("root.a.b", 2);
    cluster.settle();
    assert_eq!((cluster.report("first").past_gate, cluster.state("second")), (false, AppState::Running));
}

/// 01, 1.12: "Changing a queue is live": more quota lets what waits go at once, without another event. Also seed 004 "Code merges":
/// "All configuration changes will now update the scheduler objects directly".
#[test]
fn more_quota_is_used_at_once() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 3);
    for name in ["a", "b"] {
        direct(&mut cluster, name, "root.a", 2);
    }
    for number in 0..2 {
        single(&mut cluster, &format!("s{number}"), "root.a");
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "s0"]);
    cluster.set_queue("root.a", 4);
    cluster.settle();
    assert_eq!((cluster.why("s1"), cluster.report("b").reason), (None, "WaitingForQuota"));
    cluster.set_queue("root.a", 6);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 6);
}

/// As above: a limit on another resource, on another level, taken away again.
#[test]
fn any_limit_on_the_path_is_live() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 9);
    cluster.show_queue("root", limits(&[("pods", 2)], None));
    direct(&mut cluster, "a", "root.a", 3);
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::Rejected, "ExceedsMaxQuota"));
    cluster.lose_queue("root");
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
}

/// 01, 1.12: "shrinking or deleting one never disturbs running work (a deleted queue drains)": swaps go on, usage stays,
/// nothing new is accepted, and the queue is forgotten with its last user.
#[test]
fn a_deleted_queue_drains() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 9);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.lose_queue("root.q");
    cluster.member("g-1", "g");
    direct(&mut cluster, "new", "root.q", 1);
    single(&mut cluster, "s", "root.q");
    cluster.settle();
    assert_eq!(
        (cluster.state("g"), cluster.bound()),
        (AppState::Running, vec!["g-0".into(), "g-1".into(), "ph-g-1-2-0".into()])
    );
    assert_eq!((cluster.cpu("root.q"), cluster.cpu("root")), (3000, 3000));
    assert_eq!((cluster.report("new").reason, cluster.why("s")), ("QueueDraining", Some("QueueDraining")));
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle().wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.knows_queue("root.q")), (AppState::Completed, false));
    assert_eq!((cluster.cpu("root"), cluster.report("new").state), (0, AppState::Rejected));
}

/// As above: what has not started gives back what it holds, and starts when the queue is there again.
#[test]
fn a_gang_before_its_start_leaves_a_deleted_queue() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 9);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.lose_queue("root.q");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Rejected, 0));
    cluster.set_queue("root.q", 3);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3));
}

/// A queue that has drained is none any more, live as after a restart: nobody is told that something of it goes on.
#[test]
fn a_queue_that_has_drained_is_not_there() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 9);
    direct(&mut cluster, "old", "root.q", 2);
    cluster.settle();
    cluster.lose_queue("root.q");
    direct(&mut cluster, "new", "root.q", 1);
    single(&mut cluster, "s", "root.q");
    cluster.settle();
    assert_eq!(
        (cluster.report("new").reason, cluster.told("s").map(|told| told.0)),
        ("QueueDraining", Some("QueueDraining"))
    );
    ["old-0", "old-1"].iter().for_each(|pod| cluster.delete(pod));
    cluster.settle();
    cluster.wait(60_000).settle();
    assert_eq!(cluster.state("old"), AppState::Completed);
    assert_eq!(
        (cluster.report("new").reason, cluster.told("s").map(|told| told.0)),
        ("QueueNotFound", Some("QueueNotFound"))
    );
}

/// As above: a queue that drains and is defined again has what is used in it.
#[test]
fn a_queue_that_comes_back_knows_its_usage() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 9);
    direct(&mut cluster, "old", "root.q", 3);
    cluster.settle();
    cluster.lose_queue("root.q");
    cluster.settle();
    cluster.set_queue("root.q", 4);
    direct(&mut cluster, "new", "root.q", 2);
    cluster.settle();
    assert_eq!((cluster.headroom("root.q"), cluster.report("new").reason), (Some(1000), "WaitingForQuota"));
    cluster.delete("old-0");
    cluster.settle();
    assert_eq!((cluster.state("new"), cluster.cpu("root.q")), (AppState::Running, 4000));
}

/// 01, 1.2.3: "objects of one kubectl apply arrive in any order": a Queue after its TaskGroup and its pods.
#[test]
fn a_queue_may_come_after_its_task_group() {
    let mut cluster = Cluster::default().nodes(4, 4);
    direct(&mut cluster, "g", "root.a.b", 2);
    single(&mut cluster, "s", "root.a.b");
    cluster.settle();
    assert_eq!(
        (cluster.report("g").reason, cluster.why("g-0"), cluster.why("s")),
        ("QueueNotFound", Some("QueueNotFound"), Some("QueueNotFound"))
    );
    cluster.set_queue("root.a", 1);
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "QueueNotFound");
    cluster.set_queue("root.a.b", 9);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.bound()), ("ExceedsMaxQuota", vec!["s".into()]));
    cluster.set_queue("root.a", 3);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "s"]);
}

/// 02, 2.2: "Decided = counted": an allocation is on the books when it is decided, and taken back by a failed call. Also seed 004
/// "Code merges": "The concept of an in flight allocation will be removed. Allocation will be made in the same scheduling iteration
/// without events or creation of a proposal".
#[test]
fn what_is_decided_is_counted() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 2);
    single(&mut cluster, "s0", "root.q");
    single(&mut cluster, "s1", "root.q");
    single(&mut cluster, "s2", "root.q");
    cluster.step();
    assert_eq!((cluster.cpu("root.q"), cluster.waiting().len(), cluster.why("s2")), (2000, 2, Some("WaitingForQuota")));
    let refused =
        gangline::core::event::BindOutcome::Failed(gangline::core::reason::Refusal { code: 422, message: "no".into() });
    let ask = cluster.pods["s0"].0;
    cluster.decisions.clear();
    cluster.tell(gangline::core::event::Event::Bind(ask, refused));
    cluster.step();
    assert_eq!((cluster.why("s0"), cluster.cpu("root.q")), (Some("BindRefused"), 2000), "s2 has its place");
    assert!(cluster.waiting()[0].starts_with("bind s2"), "{:?}", cluster.waiting());
}

/// What is reported of a queue: what it uses, what waiting gangs ask for, how many applications are in which state.
#[test]
fn a_queue_reports_what_waits_in_it() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.a", 3).queue("root.a.b", 3);
    direct(&mut cluster, "a", "root.a.b", 2);
    direct(&mut cluster, "b", "root.a.b", 3);
    cluster.settle();
    for path in ["root.a.b", "root.a", "root"] {
        assert_eq!(cluster.queue_report(path).pending.get("cpu"), 3000, "{path}");
        assert_eq!(cluster.applications(path), [(AppState::Accepted, 1), (AppState::Running, 1)], "{path}");
    }
    cluster.lose_group("b");
    cluster.settle();
    assert_eq!(cluster.queue_report("root").pending, Totals::default());
}

/// 03, 3.7: the words of a pod's reason follow what somebody changed, also where its code stays.
#[test]
fn what_a_pod_is_told_follows_its_queue() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 1);
    let mut single = cluster.sized("single", Role::Singleton, 3);
    single.queue = Some("root.q".into());
    cluster.show(single);
    let spec = cluster.direct("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.member("g-0", "g");
    cluster.settle();
    for max in [1, 2] {
        cluster.set_queue("root.q", max);
        cluster.settle();
        for pod in ["single", "g-0"] {
            let (code, words) = cluster.told(pod).expect("it waits");
            assert_eq!(code, "ExceedsMaxQuota");
            assert!(words.contains(&format!("allows at most {max}:")), "{pod}: {words}");
        }
    }
}

/// 01, 1.2.3, 1.11: a driver that ran before its gang came is no start of it, for the next process neither.
#[test]
fn a_gang_whose_driver_ran_before_it_is_judged_when_its_queue_shrinks() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    cluster.originator("driver", "g");
    cluster.settle();
    let spec = cluster.direct("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.state("g")), (vec!["driver".to_owned()], AppState::Accepted));
    cluster.set_queue("root.q", 1);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.state("g")), (vec!["driver".to_owned()], AppState::Rejected));
}

/// 01, 1.12: a change of a queue concerns those above and below it, and no other.
#[test]
fn a_queue_that_changes_is_shown_with_those_on_its_path() {
    let mut cluster = Cluster::default();
    for path in ["root.a", "root.a.b", "root.a.c", "root.ab", "root.d"] {
        cluster.show_queue(path, limits(&[], None));
    }
    cluster.settle();
    cluster.set_queue("root.a.b", 7);
    cluster.step();
    let shown: Vec<&str> = (cluster.decisions.iter())
        .map(|decision| {
            let Decision::ShowQueue(path) = decision else { panic!("{decision:?}") };
            &**path
        })
        .collect();
    assert_eq!(shown, ["root", "root.a", "root.a.b"]);
}

/// A pod outside applications is charged to the queue that it names when it is bound: one that waits may be edited into another,
/// and of one that runs that means nothing.
#[test]
fn a_pod_that_is_edited_into_another_queue() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.a", 0).queue("root.b", 4);
    single(&mut cluster, "s", "root.a");
    cluster.settle();
    assert_eq!((cluster.why("s"), cluster.bound().len()), (Some("ExceedsMaxQuota"), 0));
    let name = |cluster: &mut Cluster, queue: &str| {
        cluster.change("s", |spec| spec.queue = Some(queue.into()));
        cluster.settle();
        (cluster.cpu("root.a"), cluster.cpu("root.b"))
    };
    assert_eq!(name(&mut cluster, "root.b"), (0, 1000));
    assert_eq!(name(&mut cluster, "root.a"), (0, 1000));
    cluster.restart().settle();
    assert_eq!((cluster.cpu("root.a"), cluster.cpu("root.b")), (0, 1000));
}
