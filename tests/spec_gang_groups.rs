//! Gangs whose task groups lie in several namespaces (01, 1.6; seed 002 "GangGroup").
//!
//! Code: `src/core/gang/judge.rs`, `src/core/model/group.rs`.

use gangline::core::base::ids::Text;
use gangline::core::event::{GroupSpec, NamespaceSpec, PlaceholderFor, QueueSpec, Reservation, Selector};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::SpecError;
use gangline::core::shape::{Operator, Requirement};

use crate::support::cluster::{Cluster, NS, listed};

/// `a` and `b` of two namespaces.
const PAIR: [&str; 2] = ["a", "other/b"];

/// A task group that lists these; all that list the same, themselves included, have the same name together.
fn group(cluster: &Cluster, name: &str, min: u32, lists: &[&str]) -> GroupSpec {
    let own = name.rsplit('/').next().unwrap_or(name);
    let across: Option<Text> = lists.contains(&name).then(|| lists.join(" and ").into());
    GroupSpec { gang: listed(lists.iter().copied()), across, ..cluster.direct(own, min) }
}

/// The pair with so many members each.
fn pair(cluster: &mut Cluster, change: impl Fn(&mut GroupSpec)) {
    for name in PAIR {
        let mut spec = group(cluster, name, 2, &PAIR);
        change(&mut spec);
        cluster.apply(name, spec);
    }
}

/// Members of a task group come.
fn members(cluster: &mut Cluster, group: &str, count: u32) {
    (0..count).for_each(|number| cluster.member(&format!("{}-{number}", group.replace('/', "-")), group));
}

/// Seed 002: "the gangs in one gangGroup can from different namespaces"; "All pods in a GangGroup can trigger the bind process only
/// after all roles in a GangGroup meet their Gang conditions".
#[test]
fn task_groups_of_two_namespaces_start_together_or_not_at_all() {
    for reservation in [Reservation::Direct, Reservation::Placeholder] {
        let mut cluster = Cluster::default().nodes(1, 3);
        pair(&mut cluster, |spec| (spec.reservation, spec.placeholder_for) = (reservation, PlaceholderFor::All));
        members(&mut cluster, "a", 2);
        cluster.settle();
        assert!(cluster.bound().iter().all(|name| name.starts_with("ph-")), "{:?}", cluster.bound());
        members(&mut cluster, "other/b", 2);
        cluster.settle();
        assert_eq!((cluster.bound().len(), cluster.report("a").reason), (0, "WaitingForCapacity"), "{reservation:?}");
        assert_eq!(cluster.report("other/b").reason, "WaitingForCapacity", "{reservation:?}");
        cluster.node("n1", 1);
        cluster.settle();
        assert_eq!(cluster.bound(), ["a-0", "a-1", "other-b-0", "other-b-1"], "{reservation:?}");
        let mut again = cluster.clone();
        again.restart().settle();
        for cluster in [&cluster, &again] {
            assert_eq!((cluster.state("a"), cluster.state("other/b")), (AppState::Running, AppState::Running));
            assert_eq!(cluster.bound().len(), 4);
        }
    }
}

/// 01, 1.6: "a TaskGroup that lists one which does not list it back has no effect on that one, and waits with a reason that names
/// it", whether that one is not there, goes alone, or lists others.
#[test]
fn who_is_not_listed_back_waits_and_the_other_is_not_concerned() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = group(&cluster, "a", 2, &PAIR);
    cluster.apply("a", spec);
    members(&mut cluster, "a", 2);
    cluster.settle();
    let missing = "1 of 2 TaskGroups of the gang exist and list the same; missing: other/b";
    let theirs: [&[&str]; 3] = [&[], &["other/b"], &["other/b", "other/c"]];
    for (generation, lists) in (1..).zip(theirs) {
        if !lists.is_empty() {
            let spec = GroupSpec { generation, ..group(&cluster, "other/b", 1, lists) };
            cluster.apply("other/b", if lists.len() == 1 { GroupSpec { across: None, ..spec } } else { spec });
            cluster.settle();
        }
        assert_eq!((cluster.state("a"), cluster.report("a").message), (AppState::New, missing.into()));
        assert_eq!((cluster.why("a-0"), cluster.bound().len()), (Some("WaitingForTaskGroups"), 0));
    }
    assert_ne!(cluster.report("other/b").reason, "GangGroupMismatch");
    // Now it does.
    let spec = GroupSpec { generation: 9, ..group(&cluster, "other/b", 1, &PAIR) };
    cluster.apply("other/b", spec);
    members(&mut cluster, "other/b", 1);
    cluster.settle();
    assert_eq!(
        cluster.bound(),
        ["a-0", "a-1", "other-b-0"],
        "{} / {}",
        cluster.report("a").message,
        cluster.report("other/b").message
    );
}

/// A list of another namespace alone, as of a file that is applied in the wrong one, is told to be wrong: nobody is waited for.
#[test]
fn who_does_not_list_itself_is_told_so() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let error = SpecError { field: "spec.gangGroup".into(), problem: "must list the TaskGroup itself".into() };
    let spec = GroupSpec { errors: vec![error], ..group(&cluster, "a", 1, &["other/a", "other/b"]) };
    cluster.apply("a", spec);
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::Rejected, "InvalidSpec"));
}

/// As above: who is listed starts without those who list it.
#[test]
fn who_is_listed_by_others_starts_alone() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let (theirs, own) = (group(&cluster, "other/b", 1, &PAIR), cluster.direct("a", 2));
    cluster.apply("other/b", theirs);
    cluster.apply("a", own);
    members(&mut cluster, "other/b", 1);
    members(&mut cluster, "a", 2);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.state("other/b")), (vec!["a-0".into(), "a-1".into()], AppState::New));
}

/// 01, 1.1: "agree on queue": one queue for all.
#[test]
fn a_gang_of_two_namespaces_is_in_one_queue() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 3);
    pair(&mut cluster, |spec| spec.queue = Some("root.q".into()));
    for name in PAIR {
        members(&mut cluster, name, 2);
    }
    cluster.settle();
    assert_eq!((cluster.report("a").reason, cluster.report("other/b").reason), ("ExceedsMaxQuota", "ExceedsMaxQuota"));
    cluster.show_queue("root.q", QueueSpec::default());
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (4, 4_000));
    let mut differ = Cluster::default().nodes(2, 4).queue("root.q", 9);
    for (name, queue) in PAIR.into_iter().zip(["root.q", "root.default"]) {
        let spec = group(&differ, name, 1, &PAIR);
        differ.submit(name, queue, spec);
    }
    differ.settle();
    assert_eq!(differ.report("a").reason, "GangGroupMismatch");
}

/// As above: a queue that is not for one of the namespaces refuses the gang, whether it is named or the home of the first.
#[test]
fn the_queue_must_be_open_to_each_namespace() {
    let of_team =
        |team: &str| NamespaceSpec { labels: [("team".into(), team.into())].into(), ..NamespaceSpec::default() };
    for queue in [Some("root.q"), None] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let requirement = Requirement { key: "team".into(), operator: Operator::In, values: vec!["a".into()] };
        let namespaces = Some(Selector(vec![requirement]));
        cluster.show_queue("root.q", QueueSpec { namespaces, ..QueueSpec::default() });
        cluster.show_namespace(NS, of_team("a"));
        cluster.show_namespace("other", of_team("b"));
        pair(&mut cluster, |spec| spec.queue = queue.map(Into::into));
        cluster.settle();
        assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::Rejected, "QueueNotOpen"), "{queue:?}");
        cluster.show_namespace("other", of_team("a"));
        cluster.settle();
        assert_eq!(cluster.report("a").reason, "WaitingForMembers", "{queue:?}");
    }
}

/// 01, 1.3 "Bound": placeholders are counted in the namespace in which they are made.
#[test]
fn placeholders_are_counted_by_namespace() {
    let mut cluster = Cluster::default().nodes(4, 4);
    pair(&mut cluster, |spec| {
        (spec.reservation, spec.placeholder_for) = (Reservation::Placeholder, PlaceholderFor::All)
    });
    cluster.step();
    let reserved = &cluster.scheduler.books.reserved;
    let counted: Vec<_> = reserved.iter().map(|(namespace, count)| (&**namespace, *count)).collect();
    assert_eq!(counted, [("ns", 2), ("other", 2)]);
    cluster.settle();
    cluster.lose_group("other/b");
    cluster.settle();
    assert!(cluster.scheduler.books.reserved.is_empty(), "it is not whole any more");
    assert_eq!((cluster.placeholders(), cluster.report("a").reason), (0, "WaitingForTaskGroups"));
}
