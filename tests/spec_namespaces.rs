//! Queues by namespace: which are for whom, and what each has of its own (01, 1.12, 1.2.3).

use gangline::core::base::ids::{Key, Text};
use gangline::core::base::resources::Limit;
use gangline::core::event::{Event, GroupSpec, LeafSpec, NamespaceSpec, OwnQueue, QueueSpec, Role, Selector};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::SpecError;
use gangline::core::shape::{Operator, Requirement};

use crate::support::cluster::{Cluster, NS, listed};

/// So many cores.
fn cores(cpu: i128) -> Limit {
    Limit::new([("cpu".into(), cpu * 1000)])
}

/// A queue for the namespaces of a team.
fn of_team(team: &str) -> QueueSpec {
    let requirement = Requirement { key: "team".into(), operator: Operator::In, values: vec![team.into()] };
    QueueSpec { namespaces: Some(Selector(vec![requirement])), ..QueueSpec::default() }
}

/// The same, where each of them has a queue of its own of so many cores.
fn with_leaves(team: &str, cpu: i128) -> QueueSpec {
    QueueSpec { template: Some(LeafSpec { max: cores(cpu), ..LeafSpec::default() }), ..of_team(team) }
}

/// A namespace of a team.
fn namespace(team: &str) -> NamespaceSpec {
    NamespaceSpec { labels: [("team".into(), team.into())].into(), ..NamespaceSpec::default() }
}

/// A Direct gang that names no queue, with all its members.
fn gang(cluster: &mut Cluster, name: &str, min: u32) {
    let spec = GroupSpec { queue: None, ..cluster.direct(name, min) };
    cluster.apply(name, spec);
    cluster.members(name, min);
}

/// A pod outside applications, of any namespace, which may name a queue.
fn single(cluster: &mut Cluster, name: &str, namespace: &str, queue: Option<&str>) {
    let mut spec = cluster.pod(name, Role::Singleton);
    (spec.key, spec.queue) = (Key::new(namespace, name), queue.map(Text::from));
    cluster.show(spec);
}

/// Where gangs of team a have 2 cores in each namespace, and 10 are there.
fn teams() -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 10);
    cluster.show_queue("root.teams", with_leaves("a", 2));
    cluster.show_namespace(NS, namespace("a"));
    cluster.show_namespace("other", namespace("b"));
    cluster
}

/// Namespaces of one team below root.teams, `root.teams.NAME` each with what it uses.
fn leaves(cluster: &Cluster) -> Vec<(String, i128)> {
    let leaves = cluster.queue_report("root.teams").leaves;
    leaves.iter().map(|leaf| (leaf.path.to_string(), leaf.allocated.get("cpu"))).collect()
}

/// 01, 1.12: "Namespace → queue mapping (dynamic leaf queues from a template) is built in": work of a namespace that names no
/// queue goes into the one that the namespace has of its own, and no further than its limit; that of others where it always
/// went.
#[test]
fn a_namespace_has_a_queue_of_its_own() {
    let mut cluster = teams();
    gang(&mut cluster, "first", 2);
    gang(&mut cluster, "second", 1);
    single(&mut cluster, "stranger", "other", None);
    cluster.settle();
    assert_eq!(&*cluster.report("first").queue, "root.teams.ns");
    assert_eq!((cluster.state("first"), cluster.report("second").reason), (AppState::Running, "WaitingForQuota"));
    assert_eq!((cluster.cpu("root.teams"), cluster.cpu("root.default")), (2_000, 1_000));
    assert_eq!(leaves(&cluster), [("root.teams.ns".to_owned(), 2_000)]);
    let seen = cluster.summary();
    cluster.restart().settle();
    assert_eq!(cluster.summary(), seen);
    assert_eq!(leaves(&cluster), [("root.teams.ns".to_owned(), 2_000)]);
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// 01, 1.2.3: "not open to this namespace" is a reason to reject: of a queue with a selector, of every queue below it, and of
/// what another namespace has of its own. Who may, can name it.
#[test]
fn a_queue_is_open_to_those_that_it_chooses() {
    let mut cluster = teams();
    cluster.show_queue("root.b", of_team("b"));
    cluster.show_queue("root.b.x", QueueSpec::default());
    cluster.show_namespace("third", namespace("a"));
    for (name, namespace, queue) in [
        ("own", NS, "root.teams.ns"),
        ("brothers", "third", "root.teams.ns"),
        ("strangers", "other", "root.teams.ns"),
        ("above", NS, "root.teams"),
        ("missing", NS, "root.teams.none"),
        ("closed", NS, "root.b.x"),
        ("open", "other", "root.b.x"),
        ("default", "other", "root.default"),
    ] {
        single(&mut cluster, name, namespace, Some(queue));
    }
    let spec = cluster.direct("gang", 1);
    cluster.submit("gang", "root.b.x", spec);
    cluster.settle();
    assert_eq!(cluster.bound(), ["default", "open", "own"]);
    for name in ["brothers", "strangers", "closed"] {
        assert_eq!(cluster.why(name), Some("QueueNotOpen"), "{name}");
    }
    assert_eq!((cluster.why("above"), cluster.why("missing")), (Some("QueueNotLeaf"), Some("QueueNotFound")));
    assert_eq!((cluster.state("gang"), cluster.report("gang").reason), (AppState::Rejected, "QueueNotOpen"));
    let message = cluster.report("gang").message;
    assert!(
        message.contains("queue root.b.x is not open to namespace ns: root.b is for other namespaces"),
        "{message}"
    );
    cluster.show_queue("root.b", QueueSpec::default());
    cluster.settle();
    assert_eq!((cluster.why("closed"), cluster.state("gang")), (None, AppState::Accepted), "it is open to all now");
    cluster.show_queue("root.default", of_team("b"));
    single(&mut cluster, "late", NS, Some("root.default"));
    cluster.settle();
    assert_eq!(cluster.why("late"), Some("QueueNotOpen"), "this one too can be for some alone");
}

/// Of several queues that choose a namespace the first by path takes its work; one that has queues below it and gives none to
/// namespaces takes none.
#[test]
fn the_first_by_path_takes_the_work() {
    let home = |cluster: &mut Cluster, name: &str| {
        gang(cluster, name, 1);
        cluster.settle();
        cluster.report(name).queue.to_string()
    };
    let mut cluster = Cluster::default().nodes(1, 10);
    cluster.show_namespace(NS, namespace("a"));
    cluster.show_queue("root.m", of_team("a"));
    assert_eq!(home(&mut cluster, "g1"), "root.m");
    cluster.show_queue("root.z", with_leaves("a", 9));
    assert_eq!(home(&mut cluster, "g2"), "root.m");
    cluster.show_queue("root.b", with_leaves("a", 9));
    assert_eq!(home(&mut cluster, "g3"), "root.b.ns");
    cluster.lose_queue("root.b");
    cluster.show_queue("root.m.x", QueueSpec::default());
    assert_eq!(home(&mut cluster, "g4"), "root.z.ns", "root.m is no leaf any more");
    cluster.show_queue("root.m.x", of_team("a"));
    assert_eq!(home(&mut cluster, "g5"), "root.m.x");
    cluster.show_queue("root.m", of_team("b"));
    assert_eq!(home(&mut cluster, "g6"), "root.z.ns", "root.m.x is for those of root.m alone");
    cluster.show_queue("root.z", of_team("b"));
    assert_eq!(home(&mut cluster, "g7"), "root.default");
}

/// A namespace may say below which of the queues that choose it its own is (YuniKorn's `parentqueue`); below others it is not.
#[test]
fn a_namespace_says_below_which_queue_its_own_is() {
    let mut cluster = teams();
    let says = |above: &str| {
        let says = OwnQueue { above: Some(above.into()), ..OwnQueue::default() };
        NamespaceSpec { says, ..namespace("a") }
    };
    cluster.show_queue("root.z", with_leaves("a", 9));
    cluster.show_queue("root.plain", of_team("a"));
    cluster.show_queue("root.b", with_leaves("b", 9));
    cluster.show_namespace(NS, says("root.z"));
    gang(&mut cluster, "g", 1);
    cluster.settle();
    assert_eq!(&*cluster.report("g").queue, "root.z.ns");
    for (number, above) in ["root.b", "root.plain", "root.none"].into_iter().enumerate() {
        cluster.show_namespace(NS, says(above));
        let name = format!("g{number}");
        gang(&mut cluster, &name, 1);
        cluster.settle();
        assert_eq!(
            (cluster.state(&name), cluster.report(&name).reason),
            (AppState::Rejected, "QueueNotOpen"),
            "{above}"
        );
        let message = cluster.report(&name).message;
        assert!(message.contains(&format!("its queue is below {above}")), "{message}");
    }
    cluster.show_namespace(NS, namespace("a"));
    cluster.settle();
    assert_eq!((cluster.state("g0"), &*cluster.report("g0").queue), (AppState::Running, "root.plain"), "first by path");
}

/// The next life goes where its namespace is by then, whoever is still on the way out of the last one, and stays there: also for a
/// process that begins when all of it runs, or while it waits.
#[test]
fn the_next_life_goes_where_its_namespace_is() {
    for interrupted in [false, true] {
        let mut cluster = teams();
        gang(&mut cluster, "g", 2);
        cluster.settle();
        assert_eq!((cluster.state("g"), &*cluster.report("g").queue), (AppState::Running, "root.teams.ns"));
        cluster.change("g-0", |spec| spec.terminating = true);
        cluster.delete("g-1");
        cluster.show_namespace(NS, namespace("c"));
        cluster.settle();
        cluster.member("new-0", "g");
        cluster.settle();
        if interrupted {
            cluster.restart().settle();
        }
        cluster.member("new-1", "g");
        cluster.settle();
        let is_there = |cluster: &Cluster| (cluster.state("g"), cluster.report("g").queue.to_string());
        assert_eq!(is_there(&cluster), (AppState::Running, "root.default".to_owned()), "{interrupted}");
        cluster.restart().settle();
        assert_eq!(is_there(&cluster), (AppState::Running, "root.default".to_owned()), "{interrupted}");
    }
}

/// Without a queue that chooses any namespace what one says of its queue says nothing. The first that comes changes that for those who
/// wait, also if it does not choose them.
#[test]
fn what_a_namespace_says_counts_from_the_first_queue_that_chooses() {
    let mut cluster = Cluster::default();
    let says = OwnQueue { above: Some("root.crew".into()), ..OwnQueue::default() };
    cluster.show_namespace(NS, NamespaceSpec { says, ..namespace("a") });
    single(&mut cluster, "alone", NS, None);
    cluster.settle();
    assert_eq!(cluster.why("alone"), Some("Unschedulable"));
    cluster.show_queue("root.crew", of_team("b"));
    cluster.settle();
    assert_eq!(cluster.why("alone"), Some("QueueNotOpen"));
    cluster.node("n0", 1);
    cluster.settle();
    assert_eq!(cluster.bound(), Vec::<String>::new());
}

/// A Queue object of the name that a namespace's own queue has counts in its place, and when it goes the template again.
#[test]
fn a_queue_object_of_that_name_counts() {
    let mut cluster = teams();
    gang(&mut cluster, "large", 3);
    cluster.settle();
    assert_eq!(cluster.report("large").reason, "ExceedsMaxQuota");
    cluster.set_queue("root.teams.ns", 3);
    cluster.settle();
    assert_eq!((cluster.state("large"), cluster.cpu("root.teams.ns")), (AppState::Running, 3_000));
    assert_eq!(leaves(&cluster), [], "its own status tells of it");
    single(&mut cluster, "stranger", "other", Some("root.teams.ns"));
    cluster.lose_queue("root.teams.ns");
    gang(&mut cluster, "late", 1);
    cluster.settle();
    assert_eq!((cluster.state("large"), cluster.report("late").reason), (AppState::Running, "WaitingForQuota"));
    assert_eq!((cluster.why("stranger"), leaves(&cluster).len()), (Some("QueueNotOpen"), 1));
}

/// A path is a label value too: where it would be too long, that is said with what to do.
#[test]
fn a_name_that_would_be_too_long_is_refused() {
    let above = format!("root.{}", "t".repeat(56));
    let mut cluster = Cluster::default().nodes(1, 10);
    cluster.show_namespace(NS, namespace("a"));
    cluster.show_queue(&above, with_leaves("a", 9));
    gang(&mut cluster, "g", 1);
    single(&mut cluster, "s", NS, None);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Rejected, "QueueNameTooLong"));
    let message = cluster.report("g").message;
    assert!(message.contains("has 64 characters: more than 63; name another queue"), "{message}");
    assert_eq!((cluster.why("s"), cluster.bound().len()), (Some("QueueNameTooLong"), 0));
    cluster.change("s", |spec| spec.queue = Some("root.default".into()));
    let shorter = format!("root.{}", "t".repeat(55));
    cluster.lose_queue(&above);
    cluster.show_queue(&shorter, with_leaves("a", 9));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").queue.len()), (AppState::Running, 63));
    assert_eq!(cluster.why("s"), None);
}

/// Labels, selectors and templates change live: what waits is judged by them, what runs goes on under the last limits of its
/// queue, also for a process that begins; its queue is forgotten with the last of it.
#[test]
fn what_waits_moves_and_what_runs_stays() {
    let mut cluster = teams();
    cluster.show_queue("root.b", with_leaves("b", 9));
    gang(&mut cluster, "runs", 2);
    gang(&mut cluster, "waits", 1);
    single(&mut cluster, "one", NS, None);
    cluster.settle();
    assert_eq!((cluster.report("waits").reason, cluster.why("one")), ("WaitingForQuota", Some("WaitingForQuota")));
    cluster.show_namespace(NS, namespace("b"));
    cluster.settle();
    assert_eq!((cluster.state("waits"), &*cluster.report("waits").queue), (AppState::Running, "root.b.ns"));
    assert_eq!((cluster.cpu("root.b.ns"), cluster.cpu("root.teams.ns")), (2_000, 2_000));
    assert!(cluster.queue_report("root.teams").leaves[0].drains);
    assert_eq!(cluster.queue_report("root.teams").leaves[0].max, cores(2), "its last limits");
    // A member that comes later goes where the others run.
    cluster.delete("runs-0");
    cluster.member("runs-2", "runs");
    cluster.settle();
    assert_eq!((cluster.cpu("root.b.ns"), cluster.cpu("root.teams.ns")), (2_000, 2_000));
    cluster.restart().settle();
    assert_eq!((cluster.cpu("root.b.ns"), cluster.cpu("root.teams.ns")), (2_000, 2_000));
    assert_eq!((&*cluster.report("runs").queue, cluster.state("runs")), ("root.teams.ns", AppState::Running));
    ["runs-1", "runs-2"].into_iter().for_each(|pod| cluster.delete(pod));
    cluster.lose_group("runs");
    cluster.settle().wait(120_000).settle();
    assert!(!cluster.knows_queue("root.teams.ns") && leaves(&cluster).is_empty());
    cluster.lose_queue("root.b");
    gang(&mut cluster, "last", 1);
    cluster.settle();
    assert_eq!((cluster.state("waits"), &*cluster.report("last").queue), (AppState::Running, "root.default"));
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// A gang that waits for nodes with placeholders gives them back when its namespace gets another queue, and begins there.
#[test]
fn what_is_held_is_given_back_by_who_moves() {
    let mut cluster = teams();
    cluster.show_queue("root.b", with_leaves("b", 9));
    let spec = GroupSpec { queue: None, ..cluster.all("g", 2) };
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.cpu("root.teams.ns"), cluster.placeholders()), (2_000, 2));
    cluster.show_namespace(NS, namespace("b"));
    cluster.settle().wait(60_000).settle();
    assert_eq!((cluster.cpu("root.teams"), cluster.cpu("root.b.ns"), cluster.placeholders()), (0, 2_000, 2));
}

/// What a namespace says of its queue counts in place of what the template says, live, and what it leaves out is as that says.
#[test]
fn what_a_namespace_says_counts_before_the_template() {
    let mut cluster = teams();
    gang(&mut cluster, "g", 3);
    gang(&mut cluster, "h", 1);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.state("h")), ("ExceedsMaxQuota", AppState::Running));
    let says = |max: Option<Limit>, max_applications| {
        let says = OwnQueue { max, max_applications, ..OwnQueue::default() };
        NamespaceSpec { says, ..namespace("a") }
    };
    cluster.show_namespace(NS, says(Some(cores(9)), Some(1)));
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "WaitingForApplications");
    cluster.show_namespace(NS, says(Some(cores(9)), None));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.teams.ns")), (AppState::Running, 4_000));
    // Less than is in use: nobody who runs is disturbed, and the template counts again for those who come.
    cluster.show_namespace(NS, namespace("a"));
    gang(&mut cluster, "i", 1);
    cluster.settle();
    assert_eq!((cluster.cpu("root.teams.ns"), cluster.report("i").reason), (4_000, "WaitingForQuota"));
    let errors = vec![SpecError { field: "annotation".into(), problem: "is wrong".into() }];
    cluster.show_namespace(NS, NamespaceSpec { errors: errors.clone(), ..says(Some(cores(9)), None) });
    cluster.settle();
    assert_eq!(cluster.queue_report("root.teams").leaves[0].errors, errors, "the queue above tells of it");
    assert_eq!(cluster.state("i"), AppState::Running, "what it said last counts");
    cluster.show_queue("root.teams", with_leaves("a", 1));
    cluster.settle();
    assert_eq!(cluster.queue_report("root.teams").leaves[0].max, cores(9), "not what the template says");
}

/// Of a namespace that is wrong and does not use its queue the queue above tells too.
#[test]
fn what_is_wrong_is_told_though_nothing_is_in_use() {
    let mut cluster = teams();
    cluster.settle();
    assert_eq!(leaves(&cluster), [], "it is there, and nobody asks");
    let errors = vec![SpecError { field: "annotation".into(), problem: "is wrong".into() }];
    cluster.show_namespace(NS, NamespaceSpec { errors, ..namespace("a") });
    cluster.step();
    let shown = format!("{:?}", cluster.decisions);
    assert!(shown.contains("ShowQueue(\"root.teams\")"), "{shown}");
    assert_eq!(leaves(&cluster), [("root.teams.ns".to_owned(), 0)]);
}

/// Design 02, 2.2: the order of arrival decides nothing: a pod can be seen before its Namespace, and waits for that where some
/// queue chooses namespaces, whatever queue it names; where none does nobody asks.
#[test]
fn the_order_in_which_they_come_decides_nothing() {
    let mut cluster = Cluster::default().nodes(1, 10);
    single(&mut cluster, "early", "third", None);
    cluster.settle();
    assert_eq!(cluster.cpu("root.default"), 1_000, "no queue chooses namespaces");
    cluster.show_queue("root.teams", with_leaves("a", 2));
    gang(&mut cluster, "g", 2);
    single(&mut cluster, "s", "other", None);
    single(&mut cluster, "named", "other", Some("root.default"));
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.why("s")), ("WaitingForNamespace", Some("WaitingForNamespace")));
    assert_eq!(cluster.why("named"), Some("WaitingForNamespace"));
    cluster.show_namespace("other", namespace("b"));
    cluster.show_namespace(NS, namespace("a"));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 5));
    let (seen, expected) = (cluster.summary(), [("root.teams.ns".to_owned(), 2_000)]);
    for by in 0..11 {
        cluster.restart_in_order(|objects| objects.rotate_left(by)).settle();
        assert_eq!((cluster.summary(), leaves(&cluster)), (seen.clone(), expected.to_vec()), "rotated by {by}");
    }

    // Who waits for a namespace waits no more when no queue chooses any.
    let mut cluster = Cluster::default().nodes(1, 10);
    cluster.show_queue("root.teams", of_team("a"));
    gang(&mut cluster, "g", 2);
    single(&mut cluster, "s", "other", None);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.bound().len()), ("WaitingForNamespace", 0));
    cluster.lose_queue("root.teams");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 3));
}

/// TaskGroups of one gang: one that says nothing agrees with one that names `root.default`, which counts then.
#[test]
fn a_gang_of_which_one_names_a_queue_is_there() {
    let mut cluster = teams();
    let gang = listed(["a", "b"]);
    for (name, queue) in [("a", None), ("b", Some("root.default".into()))] {
        let spec = GroupSpec { queue, application: "app".into(), gang: gang.clone(), ..cluster.direct(name, 1) };
        cluster.apply(name, spec);
        cluster.members(name, 1);
    }
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.cpu("root.default")), (AppState::Running, 2_000));
}

/// A namespace that goes takes its queue along; one that is made anew under its name has another.
#[test]
fn a_namespace_that_goes_has_no_queue() {
    let mut cluster = teams();
    single(&mut cluster, "s", NS, None);
    cluster.settle();
    assert_eq!(cluster.cpu("root.teams.ns"), 1_000);
    cluster.lose_namespace(NS);
    cluster.settle();
    assert!(cluster.queue_report("root.teams").leaves[0].drains);
    cluster.tell(Event::NamespaceGone("nobody".into()));
    cluster.delete("s");
    cluster.settle();
    assert!(!cluster.knows_queue("root.teams.ns"));
    cluster.show_namespace(NS, namespace("a"));
    cluster.settle();
    assert!(cluster.knows_queue("root.teams.ns"));
}
