//! The gate: the whole ask against the quota, in order, without stopping those that still fit (01, 1.2.5).

use gangline::core::base::ids::Key;
use gangline::core::event::{AskSpec, GroupSpec, QueueSpec, Role};
use gangline::core::model::gang::{BACK_OFF_AT_MOST_MS, BACK_OFF_MS, NUMBERS_MS};
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, size};

fn created(log: &[String]) -> Vec<&str> {
    log.iter().filter_map(|line| line.strip_prefix("create ")).collect()
}

/// Seed 000 "Scheduling in queues with a quota set": "we should not start scheduling until there are enough resources
/// available in the queue to satisfy the total request"; 01: "no placeholder exists".
#[test]
fn before_the_gate_there_is_no_placeholder() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
    for (name, min) in [("a", 3), ("b", 2)] {
        let spec = cluster.all(name, min);
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    assert_eq!(created(&cluster.log), ["a/0", "a/1", "a/2"]);
    assert_eq!((cluster.report("b").reason, cluster.report("b").past_gate), ("WaitingForQuota", false));
    cluster.wait(NUMBERS_MS).settle();
    assert!(cluster.report("b").message.contains("root.q has 1 of 4 left"), "{}", cluster.report("b").message);
}

/// 01, 1.2.5: "the headroom of the queue and all its ancestors"; seed 000: the quota "could be set on one of the parent
/// queues".
#[test]
fn an_ancestors_quota_counts() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.a", 4).queue("root.a.x", 4).queue("root.a.y", 4);
    for (name, queue) in [("a", "root.a.x"), ("b", "root.a.y")] {
        let spec = cluster.direct(name, 3);
        cluster.submit(name, queue, spec);
        cluster.members(name, 3);
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "a-2"]);
    assert!(cluster.report("b").message.contains("queue root.a has 1 of 4 left"), "{}", cluster.report("b").message);
}

/// Seed 000: "Applications that are already running in the queue could ask for more resources."
#[test]
fn running_applications_go_on() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
    let (a, b) = (cluster.direct("a", 2), cluster.direct("b", 3));
    cluster.submit("a", "root.q", a);
    cluster.members("a", 2);
    cluster.settle();
    cluster.submit("b", "root.q", b);
    cluster.members("b", 3);
    cluster.settle();
    cluster.member("a-2", "a");
    cluster.member("a-3", "a");
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "a-2", "a-3"]);
    assert_eq!(cluster.report("b").reason, "WaitingForQuota");
}

/// 01, 1.2.5: "Order of a pass: priority, queue policy, submission, namespace/name."
#[test]
fn the_order_is_priority_then_submission_then_name() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 2);
    for (name, priority, created) in [("d", 0, 9), ("c", 0, 5), ("b", 0, 5), ("a", 7, 9)] {
        let mut spec = cluster.direct(name, 2);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
        cluster.members(name, 2);
        for number in 0..2 {
            cluster.change(&format!("{name}-{number}"), |spec| spec.priority = priority);
        }
    }
    for expected in ["a", "b", "c", "d"] {
        cluster.settle();
        let bound = cluster.bound();
        assert_eq!(bound, [format!("{expected}-0"), format!("{expected}-1")]);
        bound.iter().for_each(|name| cluster.delete(name));
    }
}

/// A gang of six that no nodes hold, and behind it one of three, both with placeholders; in a queue of so much cpu.
fn six_before_three_with_placeholders(cpu: i64) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", cpu);
    for (name, min, created) in [("a", 6, 1), ("b", 3, 2)] {
        let mut spec = cluster.all(name, min);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    cluster
}

/// 01, 1.2.5: "of the gangs of a queue that are past the gate and blocked by nodes, taken in order, each whose ask fits the
/// headroom beside those before it keeps its pending placeholders and is Unschedulable".
#[test]
fn gangs_that_nodes_block_have_placeholders_as_far_as_the_quota_holds_them_together() {
    let cluster = six_before_three_with_placeholders(9);
    assert_eq!(["a", "b"].map(|name| cluster.report(name).reason), ["WaitingForCapacity"; 2]);
    assert_eq!(created(&cluster.log).len(), 9);
    assert_eq!(["ph-a-1-0-0", "ph-b-1-0-0"].map(|name| cluster.why(name)), [Some("Unschedulable"); 2]);
}

/// 01, 1.2.5: "The others make no placeholders and are not Unschedulable: each is planned on trial, and goes through and
/// overtakes when its plan succeeds."
#[test]
fn a_gang_behind_those_is_planned_on_trial() {
    let mut cluster = six_before_three_with_placeholders(8);
    cluster.member("b-0", "b");
    cluster.settle();
    assert_eq!(["a", "b"].map(|name| cluster.report(name).reason), ["WaitingForCapacity", "WaitingBehind"]);
    assert_eq!((created(&cluster.log).len(), cluster.why("b-0")), (6, Some("WaitingBehind")));
    let message = cluster.report("b").message;
    for part in ["2 of 3 members of b find a node", "8 of 8 left", "gangs before it (1)", "first 6", "nearest is n0"] {
        assert!(message.contains(part), "{message}");
    }
    cluster.node("n1", 1);
    cluster.settle();
    assert_eq!((cluster.state("b"), cluster.bound().len()), (AppState::Running, 3));
    assert_eq!((cluster.report("a").reason, cluster.placeholders()), ("WaitingForQuota", 2), "3 of 8 are used");
}

/// A gang that comes first, by its priority, takes the place of one that waits for nodes with placeholders: that gives
/// them back, and comes again with back-off.
#[test]
fn who_is_outranked_gives_its_placeholders_back() {
    let mut cluster = six_before_three_with_placeholders(8);
    let mut spec = cluster.all("first", 5);
    spec.created = 0;
    cluster.submit("first", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.report("a").reason, cluster.placeholders()), ("WaitingForQuota", 8), "the first may start");
    cluster.wait(BACK_OFF_MS).settle();
    let reasons = ["first", "a", "b"].map(|name| cluster.report(name).reason);
    assert_eq!(reasons, ["WaitingForCapacity", "WaitingBehind", "WaitingForCapacity"], "5 + 3 of 8, and 6 not");
    assert_eq!((cluster.placeholders(), cluster.why("ph-b-1-0-0")), (8, Some("Unschedulable")));
}

/// A plan on trial believed in placeholders as small as announced, and they came out larger: it is not believed again while
/// nodes have no more room.
#[test]
fn a_plan_on_trial_that_was_wrong_is_not_believed_again() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 8);
    let mut spec = cluster.all("a", 6);
    spec.created = 1;
    cluster.submit("a", "root.q", spec);
    cluster.settle();
    let mut spec = cluster.all("b", 3);
    spec.created = 2;
    cluster.admitted.insert("b".into(), cluster.sized("", Role::Singleton, 2).shape);
    cluster.submit("b", "root.q", spec);
    for _ in 0..5 {
        cluster.settle().wait(61_000);
    }
    assert_eq!((cluster.report("b").reason, created(&cluster.log).len()), ("WaitingBehind", 9), "{:#?}", cluster.log);
}

/// A plan on trial counts on placeholders for members that do not exist, and not for those that do and fit nowhere.
#[test]
fn a_plan_on_trial_has_no_placeholders_for_members_that_exist() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 9);
    for (spec, created) in [(cluster.all("a", 6), 1), (cluster.group("b", 3), 2)] {
        let name = spec.application.to_string();
        cluster.submit(&name, "root.q", GroupSpec { created, ..spec });
    }
    ["b-0", "b-1"].iter().for_each(|name| cluster.large_member(name, "b", 4));
    for _ in 0..4 {
        cluster.settle().wait(61_000);
        cluster.node("grows", 0);
        cluster.lose_node("grows");
    }
    cluster.settle();
    assert_eq!((cluster.report("b").reason, created(&cluster.log).len()), ("WaitingBehind", 6), "{:#?}", cluster.log);
}

/// Who asks for no cpu does not mind that a node has less than none.
#[test]
fn room_on_a_node_whose_cpu_is_overdrawn() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let memory = |cluster: &Cluster, name: &str, cpu: i64, gib: i64| {
        let mut spec = cluster.pod(name, Role::Singleton);
        let request = gangline::core::base::resources::Resources::pod(cpu * 1000, gib << 30);
        spec.shape = gangline::core::shape::Shape { request, ..Default::default() }.into();
        spec
    };
    let mut foreign = memory(&cluster, "foreign", 3, 1);
    foreign.role = Role::Foreign;
    foreign.place = gangline::core::event::Place::On { node: "n0".into(), running: true };
    cluster.show(foreign);
    for (name, gib) in [("x", 90), ("y", 50)] {
        let spec = memory(&cluster, name, 0, gib);
        cluster.show(spec);
        cluster.settle();
    }
    assert_eq!((cluster.bound(), cluster.why("y")), (vec!["foreign".into(), "x".into()], Some("Unschedulable")));
    cluster.delete("x");
    cluster.settle();
    assert_eq!(cluster.bound(), ["foreign", "y"]);
}

/// What admission does to placeholders in one namespace holds nobody up in another.
#[test]
fn gangs_of_other_namespaces_do_not_wait_for_what_admission_does_here() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 8);
    let spec = cluster.all("a", 6);
    cluster.submit("a", "root.q", GroupSpec { created: 1, ..spec });
    cluster.settle();
    let spec = GroupSpec { created: 2, ..cluster.all("b", 3) };
    cluster.admitted.insert("b".into(), cluster.sized("", Role::Singleton, 2).shape);
    cluster.submit("b", "root.q", spec.clone());
    cluster.settle().wait(61_000).settle();
    assert_eq!(cluster.report("b").reason, "WaitingBehind");
    let before = created(&cluster.log).len();
    let theirs = GroupSpec {
        application: "d".into(),
        gang: vec![Key::new("other", "d")],
        queue: Some("root.q".into()),
        created: 3,
        ..spec
    };
    cluster.tell(gangline::core::event::Event::Group(Key::new("other", "d"), theirs.into()));
    cluster.settle();
    assert_eq!(created(&cluster.log)[before..], ["d/0", "d/1", "d/2"]);
}

/// 01, 1.2.5: "a gang that nothing can ever satisfy (a typo in a node selector) costs the others nothing"; here one too
/// large for every node, in their queue and in one beside it.
#[test]
fn who_fits_no_node_costs_the_others_nothing() {
    for (first, second) in [("root.p.q", "root.p.q"), ("root.p.q", "root.p.r")] {
        let mut cluster = Cluster::default().nodes(2, 4).queue("root.p", 8).queue("root.p.q", 8).queue("root.p.r", 8);
        let large = GroupSpec { min_resource: size(5), created: 1, ..cluster.direct("large", 1) };
        cluster.submit("large", first, large);
        cluster.large_member("large-0", "large", 5);
        let spec = cluster.all("small", 4);
        cluster.submit("small", second, GroupSpec { created: 2, ..spec });
        cluster.settle();
        assert_eq!(
            (cluster.report("small").seats.held, cluster.why("large-0")),
            (4, Some("WaitingForQuota")),
            "4 of 8"
        );
    }
}

/// What one of many that wait for the same is told: the cause at once, and other numbers within half a minute.
#[test]
fn who_stands_in_a_line_is_told_what_holds_now() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
    for (name, created) in [("a", 1), ("b", 2), ("c", 3)] {
        let spec = cluster.direct(name, 3);
        cluster.submit(name, "root.q", GroupSpec { created, ..spec });
        cluster.members(name, 3);
    }
    cluster.settle();
    let left = |cluster: &Cluster, amount: &str| {
        ["b", "c"].map(|name| cluster.report(name).message.contains(&format!("root.q has {amount} left")))
    };
    assert_eq!((cluster.state("a"), left(&cluster, "1 of 4")), (AppState::Running, [true; 2]));
    cluster.member("a-3", "a");
    cluster.settle().wait(NUMBERS_MS).settle();
    assert_eq!(left(&cluster, "0 of 4"), [true; 2], "{}", cluster.report("c").message);
    // One more comes, in the moment in which there is more.
    let spec = cluster.direct("d", 3);
    cluster.submit("d", "root.q", GroupSpec { created: 4, ..spec });
    cluster.members("d", 3);
    cluster.delete("a-3");
    cluster.settle().wait(NUMBERS_MS).settle();
    assert_eq!(left(&cluster, "1 of 4"), [true; 2], "{}", cluster.report("c").message);
    // Both find what they wait for; the first takes it, and the second is told what is left.
    ["a-0", "a-1", "a-2"].iter().for_each(|name| cluster.delete(name));
    cluster.settle().wait(NUMBERS_MS).settle();
    assert_eq!((cluster.state("b"), cluster.report("c").reason), (AppState::Running, "WaitingForQuota"));
    assert!(left(&cluster, "1 of 4")[1], "{}", cluster.report("c").message);
}

/// A gang of six, too large for the nodes, and behind it one of three that fits; in a queue of so much cpu.
fn six_before_three(cpu: i64) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", cpu);
    for (name, min, created) in [("a", 6, 1), ("b", 3, 2)] {
        let mut spec = cluster.direct(name, min);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
        cluster.members(name, min);
    }
    cluster
}

/// 01, 1.2.5: "A gang that waits never stops another that could start, neither for quota nor for nodes".
#[test]
fn a_gang_that_waits_for_nodes_keeps_nothing_from_those_behind() {
    let mut cluster = six_before_three(8);
    cluster.settle();
    assert_eq!(cluster.bound(), ["b-0", "b-1", "b-2"]);
    assert_eq!(cluster.report("a").reason, "WaitingForQuota", "3 of 8 are used");
    cluster.delete("a-5");
    cluster.settle();
    assert_eq!(cluster.report("a").reason, "WaitingForMembers", "{}", cluster.report("a").message);
}

/// 01, 1.2.5: "later applications that still fit may overtake it".
#[test]
fn a_later_gang_that_fits_overtakes() {
    let mut cluster = six_before_three(9);
    cluster.settle();
    assert_eq!(cluster.bound(), ["b-0", "b-1", "b-2"]);
}

/// 01, 1.12 `maxApplications`: so many are past the gate at once; the next follows when one ends.
#[test]
fn max_applications_bounds_those_past_the_gate() {
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = QueueSpec { max_applications: Some(1), ..QueueSpec::default() };
    cluster.show_queue("root.q", spec);
    for (name, created) in [("a", 1), ("b", 2)] {
        let mut spec = cluster.direct(name, 2);
        spec.created = created;
        cluster.submit(name, "root.q", spec);
        cluster.members(name, 2);
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1"]);
    assert_eq!(
        (cluster.report("b").reason, cluster.why("b-0")),
        ("WaitingForApplications", Some("WaitingForApplications"))
    );
    cluster.delete("a-0");
    cluster.delete("a-1");
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.bound()), (AppState::Waiting, vec!["b-0".into(), "b-1".into()]));
    // Nothing was kept for it: it begins anew like any other.
    ["a-2", "a-3"].iter().for_each(|name| cluster.member(name, "a"));
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::Accepted, "WaitingForApplications"));
    ["b-0", "b-1"].iter().for_each(|name| cluster.finish(name, true));
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.node_of("a-2").is_some()), (AppState::Running, true));
}

/// 01, 1.3: "a gang that waits for quota …: another reason, never Unschedulable"; it changes with the cause.
#[test]
fn reasons_of_ordinary_pods_follow_the_cause() {
    let mut cluster = Cluster::default().nodes(1, 1).queue("root.q", 1);
    for name in ["s0", "s1"] {
        let mut spec = cluster.pod(name, Role::Singleton);
        spec.queue = Some("root.q".into());
        cluster.show(spec);
    }
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("s1")), (vec!["s0".to_owned()], Some("WaitingForQuota")));
    cluster.set_queue("root.q", 2);
    cluster.step();
    let shows_s1 = cluster.decisions.iter().any(
        |decision| matches!(decision, gangline::core::decision::Decision::ShowAsk(ask) if *ask == cluster.pods["s1"].0),
    );
    assert!(shows_s1 && cluster.why("s1") == Some("Unschedulable"));
}

/// 01, 1.12: "shrinking … never disturbs running work", but what has not started is judged again.
#[test]
fn a_quota_below_usage_stops_only_what_is_new() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 6);
    let (a, b) = (cluster.direct("a", 3), cluster.all("b", 3));
    cluster.submit("a", "root.q", a);
    cluster.members("a", 3);
    cluster.submit("b", "root.q", b);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 6);
    cluster.set_queue("root.q", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "a-2"]);
    assert_eq!((cluster.state("a"), cluster.report("b").reason), (AppState::Running, "ExceedsMaxQuota"));
    cluster.member("a-3", "a");
    cluster.settle();
    assert_eq!(cluster.why("a-3"), Some("WaitingForQuota"));
}

/// What exists may be larger than announced (LimitRange): the gang waits for quota without flapping.
#[test]
fn placeholders_larger_than_announced_do_not_flap() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 3);
    let mut spec = cluster.all("g", 3);
    spec.shape = cluster.sized("", Role::Singleton, 2).shape;
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    for _ in 0..5 {
        cluster.wait(61_000).settle();
    }
    assert_eq!((cluster.report("g").reason, created(&cluster.log).len()), ("WaitingForQuota", 3), "{:#?}", cluster.log);
    cluster.set_queue("root.q", 6);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
    let before = cluster.bound();
    cluster.delete(&before[0]);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3, "{:#?}", cluster.log);
    assert!(before[1..].iter().all(|name| cluster.bound().contains(name)), "only the lost one is planned again");

    // Others take the quota of a lost seat: what the one seat lacked is not the ask of the gang that begins anew.
    let made = created(&cluster.log).len();
    let lost = cluster.bound()[0].clone();
    cluster.delete(&lost);
    for name in ["one", "two"] {
        let mut single = cluster.sized(name, Role::Singleton, 2);
        (single.queue, single.priority) = (Some("root.q".into()), 1);
        cluster.show(single);
    }
    for _ in 0..5 {
        cluster.settle();
        cluster.wait(61_000);
    }
    assert_eq!((cluster.bound(), cluster.report("g").reason), (vec!["one".into(), "two".into()], "WaitingForQuota"));
    assert_eq!(created(&cluster.log).len(), made, "the whole gang does not fit");
}

/// 01, 1.12 `maxApplications`: an application without TaskGroups is one too; what runs when the limit comes, or over a
/// restart, stays.
#[test]
fn applications_without_task_groups_count() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let limit = |max| QueueSpec { max_applications: max, ..QueueSpec::default() };
    cluster.show_queue("root.q", limit(Some(1)));
    let come = |cluster: &mut Cluster, pod: &str, app: &str| {
        let mut spec = cluster.pod(pod, Role::Originator { application: app.into() });
        spec.queue = Some("root.q".into());
        cluster.show(spec);
    };
    for (pod, app) in [("z-0", "z"), ("y-0", "y"), ("x-0", "x"), ("x-1", "x")] {
        come(&mut cluster, pod, app);
    }
    cluster.settle();
    assert_eq!(
        (cluster.bound(), cluster.why("y-0")),
        (vec!["x-0".into(), "x-1".into()], Some("WaitingForApplications"))
    );
    cluster.restart().settle();
    come(&mut cluster, "x-2", "x");
    cluster.settle();
    assert_eq!(
        (cluster.bound(), cluster.why("z-0")),
        (["x-0", "x-1", "x-2"].map(String::from).to_vec(), Some("WaitingForApplications"))
    );
    ["x-0", "x-1", "x-2"].iter().for_each(|pod| cluster.delete(pod));
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("z-0")), (vec!["y-0".into()], Some("WaitingForApplications")));
    cluster.show_queue("root.q", limit(None));
    cluster.settle();
    cluster.show_queue("root.q", limit(Some(1)));
    cluster.settle();
    cluster.restart().settle();
    assert_eq!(cluster.bound(), ["y-0", "z-0"]);
    come(&mut cluster, "w-0", "w");
    cluster.settle();
    assert_eq!(cluster.why("w-0"), Some("WaitingForApplications"));
}

/// As above: a limit above several queues lets applications in in their order, whichever of the queues they are in.
#[test]
fn a_limit_above_takes_applications_in_their_order() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.a.b", 9).queue("root.a.c", 9);
    cluster.show_queue("root.a", QueueSpec { max_applications: Some(2), ..QueueSpec::default() });
    for (name, queue, created) in [("first", "root.a.b", 1), ("third", "root.a.b", 3), ("second", "root.a.c", 2)] {
        let spec = cluster.pod(name, Role::Originator { application: name.into() });
        cluster.show(AskSpec { created, queue: Some(queue.into()), ..spec });
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["first", "second"]);
}

/// The order of a pass holds for pods of applications that are let in in it.
#[test]
fn the_first_in_the_order_gets_the_place_whatever_it_belongs_to() {
    let mut cluster = Cluster::default().nodes(1, 1);
    cluster.single("a-single");
    let mut spec = cluster.pod("b-0", Role::Originator { application: "b".into() });
    spec.priority = 1;
    cluster.show(spec);
    cluster.settle();
    assert_eq!(cluster.bound(), ["b-0"]);
}

/// The same where the end of another application lets it in, and gives room for one.
#[test]
fn who_is_let_in_takes_its_turn_at_once() {
    let mut cluster = Cluster::default().nodes(1, 1);
    cluster.show_queue("root.q", QueueSpec { max_applications: Some(1), ..QueueSpec::default() });
    for (pod, app, priority) in [("x-0", "x", 2), ("b-0", "b", 1)] {
        let mut spec = cluster.pod(pod, Role::Originator { application: app.into() });
        (spec.queue, spec.priority) = (Some("root.q".into()), priority);
        cluster.show(spec);
    }
    cluster.settle();
    cluster.single("a-single");
    cluster.settle();
    let waits = (cluster.bound(), cluster.why("b-0"), cluster.why("a-single"));
    assert_eq!(waits, (vec!["x-0".into()], Some("WaitingForApplications"), Some("Unschedulable")));
    cluster.delete("x-0");
    cluster.settle();
    assert_eq!(cluster.bound(), ["b-0"]);
}

/// 01, 1.2.5: "later applications that still fit may overtake it": what it waits for then is what they took.
#[test]
fn a_gang_that_was_overtaken_waits_for_the_quota_that_is_gone() {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root", 3);
    let spec = cluster.direct("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "WaitingForCapacity");
    cluster.single("s");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("g").reason), (vec!["s".to_owned()], "WaitingForQuota"));
}

/// 01, 1.3: who waits for quota never says Unschedulable. A gang that starts behind one that waits for nodes, with members
/// larger than announced, takes quota that the other needs.
#[test]
fn a_gang_that_is_overtaken_by_another_waits_for_the_quota_that_it_took() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 12);
    let large = GroupSpec { min_resource: size(3), ..cluster.direct("a", 3) };
    cluster.submit("a", "root.q", large);
    (0..3).for_each(|number| cluster.large_member(&format!("a-{number}"), "a", 3));
    cluster.settle();
    assert_eq!(cluster.why("a-0"), Some("Unschedulable"), "two of three fit");
    cluster.submit("b", "root.q", cluster.direct("b", 3));
    (0..3).for_each(|number| cluster.large_member(&format!("b-{number}"), "b", 2));
    cluster.settle();
    assert_eq!(cluster.state("b"), AppState::Running);
    assert_eq!(cluster.why("a-0"), Some("WaitingForQuota"), "9 of 12 are asked for, and 6 are used");
}

/// Placeholders that came out larger than announced are too much for the queue, before any has a node: they go, and the
/// gang says what it waits for.
#[test]
fn placeholders_that_wait_and_are_too_much_for_the_queue_go() {
    let mut cluster = Cluster::default().queue("root.q", 3);
    cluster.submit("g", "root.q", cluster.all("g", 3));
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").reason), (3, "WaitingForCapacity"));
    let names: Vec<String> = cluster.pods.keys().filter(|name| name.starts_with("ph-")).cloned().collect();
    let larger = cluster.sized("larger", Role::Singleton, 2).shape;
    for name in names {
        cluster.change(&name, |spec| spec.shape = larger.clone());
    }
    cluster.node("n0", 9);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.bound()), (0, Vec::new()));
    // Others would be as large, whoever comes meanwhile.
    let made = created(&cluster.log).len();
    cluster.member("g-0", "g");
    cluster.settle();
    assert_eq!(created(&cluster.log).len(), made, "it backs off before it makes others");
}

/// 01, 1.2.5: "Going in and out of the gate has a price: a gang that had to give placeholders back because others took the
/// quota comes again with back-off." Its placeholders would be made and deleted as often as others come and go.
#[test]
fn who_loses_the_quota_again_and_again_makes_placeholders_less_and_less() {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 4);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").reason), (3, "WaitingForCapacity"));
    let mut pause = BACK_OFF_MS;
    for round in 0..8 {
        for name in ["a", "b"] {
            let pod = cluster.pod(&format!("{name}-{round}"), Role::Singleton);
            cluster.show(AskSpec { queue: Some("root.q".into()), ..pod });
        }
        cluster.settle();
        assert_eq!((cluster.placeholders(), cluster.report("g").reason), (0, "WaitingForQuota"), "round {round}");
        ["a", "b"].iter().for_each(|name| cluster.delete(&format!("{name}-{round}")));
        cluster.settle().wait(pause - 1).settle();
        assert_eq!(cluster.placeholders(), 0, "not before its pause of {pause} ms, in round {round}");
        cluster.wait(1).settle();
        assert_eq!(cluster.placeholders(), 3, "after its pause, in round {round}");
        pause = BACK_OFF_AT_MOST_MS.min(2 * pause);
    }
}

/// 01, 1.2.5: "Quota is charged when a plan commits, and only then": neither at the gate nor for placeholders that wait.
#[test]
fn quota_is_charged_when_a_plan_commits() {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 3);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.step();
    assert_eq!((cluster.report("g").past_gate, cluster.cpu("root.q")), (true, 0), "they are being created");
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.cpu("root.q"), cluster.headroom("root.q")), (3, 0, Some(3000)));
    cluster.node("n1", 1);
    cluster.step();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (0, 3000), "no Binding was made yet");
}
