//! Submission: whole, judged once with every reason, judged again, closed (01, 1.1 and 1.2).

use gangline::core::base::ids::{Key, Uid};
use gangline::core::base::resources::Limit;
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, Event, GroupSpec, Place, QueueSpec, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::SpecError;

use crate::support::cluster::{Cluster, NS, listed, size};

/// 01, 1.1 Identity: "it stays New until all of them exist".
#[test]
fn a_gang_waits_until_every_listed_task_group_exists() {
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["a", "b"] {
        let mut spec = cluster.direct(name, 1);
        (spec.application, spec.gang) = ("job".into(), listed(["a", "b"]));
        cluster.apply(name, spec);
        cluster.member(&format!("{name}-0"), name);
        cluster.settle();
        if name == "a" {
            assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::New, "WaitingForTaskGroups"));
            assert_eq!(cluster.why("a-0"), Some("WaitingForTaskGroups"));
            assert_eq!(
                cluster.report("a").message,
                "1 of 2 TaskGroups of the gang exist and list the same; missing: b"
            );
            assert_eq!(cluster.bound(), [""; 0]);
        }
    }
    assert_eq!(cluster.bound(), ["a-0", "b-0"]);
}

/// 01, 1.1: the TaskGroups of a gang are one application; one that exists elsewhere is not missing, it disagrees. Judged
/// again when it comes, changes or goes, whether it lists the others or not.
#[test]
fn a_listed_task_group_of_another_application_is_a_mismatch() {
    for mutual in [true, false] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = GroupSpec { gang: listed(["a", "b"]), ..cluster.direct("a", 1) };
        cluster.apply("a", spec);
        cluster.settle();
        assert_eq!(cluster.report("a").reason, "WaitingForTaskGroups");
        let theirs = if mutual { listed(["a", "b"]) } else { listed(["b"]) };
        let other = GroupSpec { gang: theirs, ..cluster.direct("b", 1) };
        cluster.apply("b", other.clone());
        cluster.settle();
        for name in ["a", "b"].iter().take(if mutual { 2 } else { 1 }) {
            let report = cluster.report(name);
            assert_eq!((report.state, report.reason), (AppState::Rejected, "GangGroupMismatch"));
            assert!(report.message.contains("spec.applicationId"), "{}", report.message);
        }
        let mut again = cluster.clone();
        again.restart().settle();
        assert_eq!(again.report("a").reason, "GangGroupMismatch");
        let mut gone = cluster.clone();
        gone.lose_group("b");
        gone.settle();
        assert_eq!((gone.state("a"), gone.report("a").reason), (AppState::New, "WaitingForTaskGroups"));
        cluster.apply("b", GroupSpec { application: "a".into(), gang: listed(["a", "b"]), generation: 2, ..other });
        cluster.settle();
        assert_eq!((cluster.state("a"), cluster.state("b")), (AppState::Accepted, AppState::Accepted));
    }
}

/// 01, 1.1: "a later one that is not listed is refused (ApplicationClosed)", whether it comes before or after.
#[test]
fn a_task_group_that_the_gang_does_not_list_stays_outside() {
    for at_once in [true, false] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.direct("a", 1);
        cluster.apply("a", spec);
        if !at_once {
            cluster.settle();
        }
        let mut late = cluster.direct("b", 1);
        (late.application, late.created) = ("a".into(), 11);
        cluster.apply("b", late);
        cluster.member("b-0", "b");
        cluster.member("a-0", "a");
        cluster.settle();
        assert_eq!(cluster.report("b").reason, "ApplicationClosed");
        assert_eq!(cluster.why("b-0"), Some("ApplicationClosed"));
        assert_eq!(cluster.bound(), ["a-0"]);
        let log = cluster.taken();
        cluster.restart().settle();
        assert_eq!((cluster.report("b").reason, cluster.bound()), ("ApplicationClosed", vec!["a-0".into()]), "{log:?}");
    }
}

pub(crate) fn of_pair(cluster: &Cluster, name: &str) -> GroupSpec {
    GroupSpec { application: "pair".into(), gang: listed(["p0", "p1"]), ..cluster.direct(name, 1) }
}

/// A gang of p0 and p1 that runs, of which p1 was deleted.
fn half_of_a_running_pair() -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["p0", "p1"] {
        let spec = of_pair(&cluster, name);
        cluster.apply(name, spec);
        cluster.member(&format!("{name}-0"), name);
    }
    cluster.settle();
    cluster.lose_group("p1");
    cluster.settle();
    cluster
}

/// 01, 1.1: "a later one that is not listed is refused": one that is listed comes back, into the gang as it runs.
#[test]
fn a_listed_task_group_comes_back_into_a_running_application() {
    for waiting in [false, true] {
        let mut cluster = half_of_a_running_pair();
        if waiting {
            ["p0-0", "p1-0"].iter().for_each(|name| cluster.finish(name, true));
            cluster.settle();
        }
        let again = GroupSpec { uid: Uid::new("uid-p1-new"), min_member: 2, ..of_pair(&cluster, "p1") };
        cluster.apply("p1", again);
        cluster.settle();
        let state = if waiting { AppState::Waiting } else { AppState::Running };
        assert_eq!((cluster.state("p1"), cluster.report("p1").seats.open), (state, 2));
        let mut restarted = cluster.clone();
        restarted.restart().settle();
        for cluster in [&mut cluster, &mut restarted] {
            assert_eq!((cluster.state("p1"), cluster.report("p0").incarnation), (state, 1));
            cluster.member("p1-new", "p1");
            cluster.settle();
            assert!(cluster.bound().contains(&"p1-new".into()), "{:?}", cluster.why("p1-new"));
            assert_eq!((cluster.state("p1"), cluster.report("p1").seats.taken), (AppState::Running, 1));
        }
    }
}

/// As above, where it says something else now: outside, and it says why.
#[test]
fn a_task_group_that_differs_from_its_running_gang_stays_outside() {
    type Change = fn(&mut GroupSpec);
    let changes: [(Change, &str); 3] = [
        (|spec| spec.queue = Some("root".into()), "it disagrees with the gang about spec.queue"),
        (|spec| spec.errors = vec![wrong("spec.minMember")], "spec.minMember: is wrong"),
        (|spec| spec.gang = listed(["p1"]), "it disagrees with the gang about spec.gangGroup"),
    ];
    for (change, words) in changes {
        let mut cluster = half_of_a_running_pair();
        let mut again = GroupSpec { uid: Uid::new("uid-p1-new"), created: 30, ..of_pair(&cluster, "p1") };
        change(&mut again);
        cluster.apply("p1", again.clone());
        cluster.member("p1-new", "p1");
        cluster.settle();
        for restart in [false, true] {
            if restart {
                cluster.restart().settle();
            }
            let report = cluster.report("p1");
            assert_eq!((report.reason, cluster.why("p1-new")), ("ApplicationClosed", Some("ApplicationClosed")));
            let text = format!("the application is Running; {words}");
            assert!(report.message.contains(&text), "{restart}: {}", report.message);
            assert_eq!((cluster.state("p0"), cluster.bound()), (AppState::Running, vec!["p0-0".into(), "p1-0".into()]));
        }
        cluster.apply("p1", GroupSpec { generation: 2, uid: again.uid, ..of_pair(&cluster, "p1") });
        cluster.settle();
        assert_eq!((cluster.state("p1"), cluster.bound().len()), (AppState::Running, 3));
    }
}

/// 01, 1.1, `ApplicationClosed`: by the state that the application is in.
#[test]
fn a_task_group_outside_is_told_the_state_of_its_application() {
    for (min, state) in [(1, AppState::Accepted), (9, AppState::Rejected)] {
        let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
        let spec = cluster.direct("a", min);
        cluster.submit("a", "root.q", spec);
        cluster.settle();
        let mut late = cluster.direct("b", 1);
        (late.application, late.created) = ("a".into(), 11);
        cluster.apply("b", late);
        cluster.settle();
        let message = format!("the application is {state}; its gangGroup does not list this TaskGroup");
        assert_eq!((cluster.state("a"), cluster.report("b").message), (state, message));
    }
}

/// 01, 1.1: the application consists of exactly its gang; when that is gone, another may have its ID.
#[test]
fn a_task_group_outside_comes_in_when_the_gang_is_gone() {
    for ran in [false, true] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.direct("a", 1);
        cluster.apply("a", spec);
        if ran {
            cluster.member("a-0", "a");
        }
        cluster.settle();
        let mut late = cluster.direct("b", 1);
        late.application = "a".into();
        cluster.apply("b", late);
        cluster.member("b-0", "b");
        cluster.settle();
        assert_eq!(cluster.report("b").reason, "ApplicationClosed");
        cluster.lose_group("a");
        cluster.settle();
        assert_eq!(cluster.state("b"), AppState::Running);
        assert_eq!(cluster.bound(), if ran { vec!["a-0", "b-0"] } else { vec!["b-0"] });
    }
}

fn wrong(field: &str) -> SpecError {
    SpecError { field: field.into(), problem: "is wrong".into() }
}

/// 01, 1.2.3: "Rejected, with a typed reason …: invalid spec (every error at once, each naming its field)".
#[test]
fn a_rejection_names_every_reason_at_once() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 2);
    let mut spec = cluster.group("g", 3);
    spec.errors = vec![wrong("spec.minMember"), wrong("spec.queue")];
    cluster.submit("g", "root.q", spec);
    cluster.member("g-0", "g");
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.reason), (AppState::Rejected, "InvalidSpec"));
    for part in ["spec.minMember", "spec.queue", "root.q allows at most 2"] {
        assert!(report.message.contains(part), "{part}: {}", report.message);
    }
    assert_eq!(cluster.why("g-0"), Some("InvalidSpec"));
    assert_eq!(cluster.log, [""; 0]);
}

/// 01, 1.2.3: "queue missing, not a leaf, … draining"; seed 000 "placeholderAsk is larger than the queue quota".
#[test]
fn a_queue_that_cannot_take_the_gang_rejects_it() {
    for (path, reason) in [
        ("root.none", "QueueNotFound"),
        ("root.a", "QueueNotLeaf"),
        ("root.a.b", "ExceedsMaxQuota"),
        ("root.a.c", "ExceedsMaxQuota"),
    ] {
        let mut cluster = Cluster::default().nodes(9, 4).queue("root.a", 5).queue("root.a.b", 3).queue("root.a.c", 9);
        let spec = cluster.group("g", 6);
        cluster.submit("g", path, spec);
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Rejected, reason), "{path}");
    }
}

/// 01, 1.2.3: "the namespace's ResourceQuota cannot hold placeholderAsk plus its largest member in Placeholder".
#[test]
fn a_namespace_quota_without_room_for_a_swap_rejects_placeholders_only() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let limit = |pods| Limit::new([("pods".into(), pods)]);
    cluster.tell(Event::NamespaceLimit(NS.into(), limit(3)));
    let (held, direct) = (cluster.all("held", 3), cluster.direct("direct", 3));
    cluster.apply("held", held);
    cluster.apply("direct", direct);
    cluster.settle();
    assert_eq!(cluster.report("held").reason, "NamespaceQuotaTooSmall");
    assert_eq!(cluster.state("direct"), AppState::Accepted);
    cluster.tell(Event::NamespaceLimit(NS.into(), limit(4)));
    cluster.settle();
    assert_eq!(cluster.state("held"), AppState::Accepted);
    cluster.tell(Event::NamespaceLimit(NS.into(), limit(3)));
    cluster.settle();
    assert_eq!(
        cluster.report("held").reason,
        "NamespaceQuotaTooSmall",
        "it comes by a watch of its own, so also later"
    );
    assert_eq!(cluster.state("direct"), AppState::Accepted);
}

/// 01, 1.2.3: "A rejection is judged again when the spec, or a Queue on its path, changes".
#[test]
fn a_rejection_is_judged_again() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.a", 2).queue("root.a.b", 9);
    let spec = cluster.direct("g", 3);
    cluster.submit("g", "root.a.b", spec.clone());
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Rejected);
    cluster.set_queue("root.a", 3);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Accepted, "WaitingForMembers"));
    cluster.set_queue("root.a", 2);
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Rejected);
    let mut smaller = GroupSpec { min_member: 2, generation: 2, ..spec };
    smaller.queue = Some("root.a.b".into());
    cluster.apply("g", smaller);
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Accepted);
}

/// 01, 1.2.2 and S6: the originator "is part of rejection, gate and transaction".
#[test]
fn an_originator_counts_in_rejection_and_its_going_is_judged() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 3);
    cluster.originator("driver", "g");
    let spec = cluster.direct("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.why("driver")), ("ExceedsMaxQuota", Some("ExceedsMaxQuota")));
    cluster.delete("driver");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"]);
}

/// 01, 1.2.2: the originator gets a seat with the gang: all or none.
#[test]
fn an_originator_starts_with_its_gang_or_not_at_all() {
    let mut cluster = Cluster::default().nodes(1, 3);
    let spec = cluster.direct("g", 3);
    cluster.originator("driver", "g");
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.report("g").reason), (0, "WaitingForCapacity"));
    assert_eq!((cluster.why("driver"), cluster.why("g-2")), (Some("Unschedulable"), Some("Unschedulable")));
    cluster.node("n1", 1);
    cluster.settle();
    assert_eq!(cluster.bound(), ["driver", "g-0", "g-1", "g-2"]);
}

/// 01, 1.2.2: one that comes later, but before the first real pod is bound, joins in the same way: "no headroom: seats
/// given back, before the gate again".
#[test]
fn an_originator_that_comes_while_seats_are_held_is_of_the_gang() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
    cluster.other("other", "root.q", 1);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster.originator("driver", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 0), "{:#?}", cluster.log);
    assert_eq!(cluster.why("driver"), Some("WaitingForQuota"));
    for restart in [false, true] {
        let mut cluster = cluster.clone();
        if restart {
            cluster.restart();
        }
        cluster.delete("other");
        cluster.settle().wait(60_000).settle();
        assert!(cluster.bound().contains(&"driver".into()), "{:#?}", cluster.log);
        assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 4));
    }
}

/// As above: "the ask is summed up again and judged again (too large: Rejected and everything given back)", whoever
/// came first, and whatever process looks at it.
#[test]
fn the_order_in_which_an_originator_comes_decides_nothing() {
    for restart in [false, true] {
        let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 3);
        let spec = cluster.all("g", 3);
        cluster.submit("g", "root.q", spec);
        let gated = AskSpec { place: Place::Gated, ..cluster.pod("d", Role::Originator { application: "g".into() }) };
        cluster.show(gated);
        cluster.settle();
        assert_eq!(cluster.report("g").seats.held, 3);
        cluster.change("d", |spec| spec.place = Place::Pending);
        if restart {
            cluster.restart();
        }
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Rejected, 0), "{:#?}", cluster.log);
        assert_eq!(cluster.why("d"), Some("ExceedsMaxQuota"));
        cluster.delete("d");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3));
    }
}

/// As above where nodes have no room for it beside the seats: these are given back, and all of them planned together.
#[test]
fn an_originator_that_finds_no_node_beside_the_seats_waits_with_them() {
    let mut cluster = Cluster::default().nodes(3, 1);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.originator("driver", "g");
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.held), ("JoinedLate", 0), "{:#?}", cluster.log);
    cluster.wait(1_000).settle();
    assert_eq!((cluster.report("g").reason, cluster.why("driver")), ("WaitingForCapacity", Some("Unschedulable")));
    cluster.node("n9", 1);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 3));
}

/// 01, 1.2.3: what the members that exist really need is judged, in any order of arrival, and judged again when they go.
#[test]
fn a_gang_whose_members_need_more_than_the_queue_can_ever_give_is_rejected() {
    for first in [true, false] {
        for kind in [Cluster::group, Cluster::all, Cluster::direct] {
            let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
            let spec = kind(&cluster, "g", 3);
            if first {
                cluster.large_member("g-0", "g", 3);
            }
            cluster.submit("g", "root.q", spec);
            cluster.settle();
            if !first {
                cluster.large_member("g-0", "g", 3);
            }
            cluster.members("h", 0);
            cluster.settle();
            let found = (cluster.report("g").reason, cluster.why("g-0"), cluster.placeholders());
            assert_eq!(found, ("ExceedsMaxQuota", Some("ExceedsMaxQuota"), 0), "first: {first}");
            cluster.delete("g-0");
            cluster.members("g", 3);
            cluster.settle().wait(1_000).settle();
            assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"], "first: {first}");
        }
    }
}

/// As above: one that is too large does not count where there are enough others.
#[test]
fn a_member_beyond_the_seats_does_not_get_its_gang_rejected() {
    let mut cluster = Cluster::default().nodes(9, 9).queue("root.q", 4);
    let spec = cluster.direct("g", 3);
    cluster.large_member("a", "g", 9);
    cluster.members("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_ne!(cluster.state("g"), AppState::Rejected);
}

/// 01, 1.2.5: at the gate members that exist count with their own size.
#[test]
fn members_that_exist_count_with_their_own_size_at_the_gate() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 6);
    cluster.other("other", "root.q", 2);
    cluster.large_member("g-0", "g", 3);
    let spec = cluster.group("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle().wait(5_000).settle();
    assert_eq!((cluster.report("g").reason, cluster.log.len()), ("WaitingForQuota", 1), "{:#?}", cluster.log);
    assert!(cluster.report("g").message.contains("asks for 5 cpu"), "{}", cluster.report("g").message);
}

/// 01, 1.2.7: "Pods that arrive before their TaskGroup object are parked … no rejection, no scheduling, a reason".
#[test]
fn pods_before_their_task_group_park() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.log.len(), cluster.why("g-0")), (0, Some("TaskGroupNotFound")));
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"]);
}

/// 01, 1.2.7: "Gated pods are not members until ungated."
#[test]
fn gated_pods_are_no_members() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.member("g-0", "g");
    let mut gated = cluster.pod("g-1", Role::Member { group: "g".into() });
    gated.place = Place::Gated;
    cluster.show(gated);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.why("g-1")), (0, None));
    cluster.change("g-1", |spec| spec.place = Place::Pending);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 2);
}

/// 01, 1.2.2: "exact integer arithmetic; overflow is a rejection"; huge requests of pods fit nowhere and harm nothing.
#[test]
fn absurd_amounts_are_refused_and_never_panic() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
    let mut spec = cluster.direct("g", 100_000);
    spec.min_resource = size(i64::MAX / 1000);
    cluster.submit("g", "root.q", spec);
    let single = cluster.sized("s", Role::Singleton, i64::MAX / 1000);
    cluster.show(single);
    let mut foreign = cluster.sized("f", Role::Foreign, i64::MAX / 1000);
    foreign.place = Place::On { node: "n0".into(), running: true };
    cluster.show(foreign);
    cluster.single("fine");
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.why("s")), ("AskTooLarge", Some("Unschedulable")));
    assert!(cluster.bound().contains(&"fine".into()));
}

/// 01, 1.12: "a deleted queue drains": what runs in it does not get more than the queue had.
#[test]
fn a_draining_queue_keeps_its_limits() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 1);
    let spec = cluster.direct("g", 1);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0"]);
    cluster.lose_queue("root.q");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("g-1")), (vec!["g-0".into()], Some("WaitingForQuota")));
    cluster.finish("g-0", true);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-1"]);
    cluster.set_queue("root.q", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-1", "g-2"]);
}

/// 01, 1.2.3: every reason at once: each resource that goes beyond a limit, with the nearest queue that limits it.
#[test]
fn every_exceeded_resource_is_named() {
    let mut cluster = Cluster::default().nodes(2, 9);
    let limit = |limits: &[(&str, i128)]| QueueSpec {
        max: Limit::new(limits.iter().map(|(name, max)| ((*name).into(), *max))),
        ..QueueSpec::default()
    };
    cluster.show_queue("root", limit(&[("cpu", 3000), ("pods", 1)]));
    cluster.show_queue("root.q", limit(&[("cpu", 1000), ("memory", 1)]));
    let spec = cluster.direct("g", 4);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    let message = cluster.report("g").message;
    for part in ["4 cpu, but queue root.q", "memory, but queue root.q", "4 pods, but queue root allows"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(message.matches("can never start").count(), 3, "{message}");
}

/// 01, 1.2.3: `NamespaceQuotaTooSmall` suggests Direct where that helps.
#[test]
fn direct_is_suggested_only_where_the_members_alone_fit() {
    for (pods, suggested) in [(3, true), (2, false)] {
        let mut cluster = Cluster::default().nodes(2, 9);
        let limit = Limit::new(vec![("pods".into(), pods)]);
        cluster.tell(Event::NamespaceLimit(NS.into(), limit));
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.settle();
        let report = cluster.report("g");
        assert_eq!(report.reason, "NamespaceQuotaTooSmall");
        assert_eq!(report.message.contains("use reservation Direct"), suggested, "{}", report.message);
    }
}

/// 01, 1.5: labels of a pod that waits can change: what it belonged to lacks it from then on, and is forgotten if nothing is left
/// of it. Also seed 004 "ask add": "If the ask already exists this add is automatically converted into an update".
#[test]
fn a_pod_that_waits_may_change_sides() {
    let mut cluster = Cluster::default();
    let spec = cluster.direct("a", 2);
    cluster.apply("a", spec);
    cluster.members("a", 2);
    cluster.originator("o", "x");
    cluster.settle();
    assert_eq!(cluster.report("a").reason, "WaitingForCapacity");
    cluster.change("a-1", |spec| spec.role = Role::Member { group: "b".into() });
    cluster.change("o", |spec| spec.role = Role::Originator { application: "y".into() });
    cluster.settle();
    assert_eq!((cluster.report("a").reason, cluster.why("a-1")), ("WaitingForMembers", Some("TaskGroupNotFound")));
    let known = |name: &str| cluster.scheduler.books.app_ids.get(&Key::new(NS, name)).is_some();
    assert_eq!((known("x"), known("y")), (false, true));
}

/// As above for a surplus member: the task group that it leaves says so.
#[test]
fn a_task_group_says_that_a_pod_has_left_it() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let spec = cluster.direct("a", 1);
    cluster.apply("a", spec);
    cluster.members("a", 2);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("a").members.pending), (vec!["a-0".to_owned()], 1));
    cluster.change("a-1", |spec| spec.role = Role::Member { group: "b".into() });
    cluster.step();
    let left = *cluster.scheduler.books.group_ids.get(&Key::new(NS, "a")).expect("it is known");
    let shown = |decision: &Decision| matches!(decision, Decision::ShowGroup(group) if *group == left);
    assert_eq!((cluster.report("a").members.pending, cluster.decisions.iter().any(shown)), (0, true));
}

/// As above for one that has its place, and waits for the start: what it belongs to is settled with its Binding.
#[test]
fn a_member_that_is_held_back_may_change_sides() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.group("a", 3);
    cluster.apply("a", spec);
    cluster.members("a", 2);
    cluster.step().wait(1_000).step().carry("create");
    cluster.step();
    assert_eq!(cluster.report("a").seats.assumed, 3, "{:?}", cluster.waiting());
    cluster.change("a-0", |spec| spec.role = Role::Member { group: "b".into() });
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("a").seats.taken), (AppState::Running, 1), "{:#?}", cluster.log);
    assert_eq!((cluster.node_of("a-0"), cluster.why("a-0")), (None, Some("TaskGroupNotFound")));
}
