//! The seeds' sentences about gangs, one test each.

use gangline::core::event::{PlaceholderFor, Reservation, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, listed, size};

/// 01, 1.2.1: "a pod that names neither (a singleton: no gang, normal scheduling)".
#[test]
fn a_singleton_is_bound() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.single("a");
    cluster.settle();
    assert_eq!(cluster.bound(), ["a"]);
}

/// 01, 1.3 Direct: "the members themselves, once at least `minMember` of them exist, are planned and then bound together".
#[test]
fn direct_binds_all_members_once_enough_exist() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let mut spec = cluster.group("g", 3);
    spec.reservation = Reservation::Direct;
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), [""; 0]);
    assert_eq!(cluster.report("g").reason, "WaitingForMembers");
    assert_eq!(cluster.why("g-0"), Some("WaitingForMembers"));
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"]);
    assert_eq!(cluster.state("g"), AppState::Running);
    assert!(cluster.report("g").placed);
    assert_eq!(cluster.why("g-0"), None);
}

/// 01, 1.3 `all`: "it reserves as soon as the gate opens, whether or not a pod exists".
#[test]
fn all_reserves_with_placeholders_and_swaps_them() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let mut spec = cluster.group("g", 3);
    spec.placeholder_for = PlaceholderFor::All;
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
    assert_eq!(cluster.report("g").seats.held, 3);
    assert_eq!(cluster.state("g"), AppState::Accepted);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"], "{:#?}", cluster.log);
    assert_eq!(cluster.placeholders(), 0);
    assert_eq!(cluster.report("g").replaced, 3);
    assert!(cluster.report("g").placed);
}

/// 01, 1.3 missing: "create placeholders only for members that do not exist; an existing member is assumed into a seat
/// directly".
#[test]
fn missing_creates_placeholders_only_for_members_that_do_not_exist() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.members("g", 2);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.log, [""; 0]);
    cluster.wait(1_000).settle();
    assert_eq!(cluster.log.iter().filter(|line| line.starts_with("create")).count(), 1, "{:#?}", cluster.log);
    assert_eq!(cluster.bound(), ["g-0", "g-1", "ph-g-1-0-0"], "{:#?}", cluster.log);
    cluster.member("g-2", "g");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"]);
}

/// As above, of members that all exist.
#[test]
fn missing_with_every_member_there_needs_no_placeholder() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.members("g", 3);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1", "g-2"], "{:#?}", cluster.log);
    assert_eq!(cluster.log.len(), 3);
}

/// 01, 1.3: "If nodes do not suffice they stay pending, and only they are Unschedulable".
#[test]
fn a_gang_that_does_not_fit_holds_nothing_and_is_the_only_unschedulable_one() {
    let mut cluster = Cluster::default().nodes(2, 2);
    let mut spec = cluster.group("g", 5);
    spec.placeholder_for = PlaceholderFor::All;
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound(), [""; 0]);
    assert_eq!(cluster.report("g").reason, "WaitingForCapacity");
    assert_eq!(cluster.why("ph-g-1-0-0"), Some("Unschedulable"));
    cluster.node("n9", 1);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 5, "{:#?}", cluster.log);
}

/// Seed 000 "Total placeholder size": "If the placeholderAsk is larger than the queue quota set on the queue the
/// application must be rejected"; 01, 1.2.3: judged again when the queue changes.
#[test]
fn a_gang_larger_than_the_quota_is_rejected_and_judged_again() {
    let mut cluster = Cluster::default().nodes(4, 4).queue("root.q", 2);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Rejected);
    assert_eq!(cluster.report("g").reason, "ExceedsMaxQuota");
    cluster.set_queue("root.q", 3);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
}

/// 01, 1.2.5: "Until the whole `placeholderAsk` fits the headroom of the queue …, none of the gang's seats is planned".
#[test]
fn two_gangs_of_sixty_percent_of_the_quota_run_one_after_the_other() {
    let mut cluster = Cluster::default().nodes(10, 4).queue("root.q", 10);
    for name in ["a", "b"] {
        let mut spec = cluster.group(name, 6);
        spec.queue = Some("root.q".into());
        spec.reservation = Reservation::Direct;
        cluster.apply(name, spec);
        cluster.members(name, 6);
    }
    cluster.settle();
    assert_eq!(cluster.bound().len(), 6);
    assert_eq!((cluster.state("a"), cluster.state("b")), (AppState::Running, AppState::Accepted));
    assert_eq!(cluster.report("b").reason, "WaitingForQuota");
    for number in 0..6 {
        cluster.delete(&format!("a-{number}"));
    }
    cluster.settle();
    assert_eq!(cluster.bound().len(), 6);
    assert_eq!((cluster.state("a"), cluster.state("b")), (AppState::Waiting, AppState::Running));
    cluster.wait(30_000).settle();
    assert_eq!(cluster.state("a"), AppState::Completed);
}

/// 01, 1.3: "if before the start a seat is lost (node …) the missing seats are planned again at once; if that fails,
/// every seat returns to Open".
#[test]
fn a_lost_node_before_the_start_is_replaced_or_everything_is_given_back() {
    let mut cluster = Cluster::default().nodes(2, 2);
    let mut spec = cluster.group("g", 4);
    spec.placeholder_for = PlaceholderFor::All;
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 4);
    cluster.lose_node("n0");
    cluster.settle();
    assert_eq!(cluster.bound().len(), 0, "{:#?}", cluster.log);
    assert_eq!(cluster.report("g").reason, "ReservationLost");
    assert!(cluster.report("g").message.starts_with("2 seats were lost"), "{}", cluster.report("g").message);
    cluster.node("n0", 2);
    cluster.settle().wait(1_000).settle();
    assert_eq!(cluster.bound().len(), 4, "{:#?}", cluster.log);
}

/// 01, 1.4: "Member larger: … only the excess must fit the headroom, with the seat credited".
#[test]
fn a_member_larger_than_its_seat_waits_for_the_difference_and_the_other_seats_stay() {
    let mut cluster = Cluster::default().nodes(1, 8).queue("root.q", 5);
    cluster.other("other", "root.q", 1);
    let spec = cluster.all("g", 4);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    let mut large = cluster.pod("g-0", Role::Member { group: "g".into() });
    large.shape = std::sync::Arc::new(gangline::core::shape::Shape { request: size(2), ..Default::default() });
    cluster.show(large);
    cluster.settle();
    assert_eq!(cluster.why("g-0"), Some("SeatTooSmall"));
    assert_eq!(cluster.report("g").seats.held, 4);
    cluster.delete("other");
    cluster.settle();
    assert!(cluster.bound().contains(&"g-0".to_owned()), "{:#?}", cluster.log);
    assert_eq!(cluster.report("g").seats.held, 3);
}

/// Two TaskGroups of one application, `a` and `b`, of so many members each.
fn pair(cluster: &Cluster, name: &str, min: u32) -> gangline::core::event::GroupSpec {
    let mut spec = cluster.direct(name, min);
    (spec.application, spec.gang) = ("job".into(), listed(["a", "b"]));
    spec
}

/// Seed 002 "GangGroup": "Each role will have several pods and its own Gang conditions", "All pods in a GangGroup can trigger the
/// bind process only after all roles in a GangGroup meet their Gang conditions": enough members of each, and nodes for all of them.
#[test]
fn no_task_group_of_a_gang_starts_alone() {
    for reservation in [Reservation::Direct, Reservation::Placeholder] {
        let mut cluster = Cluster::default().nodes(1, 4);
        for name in ["a", "b"] {
            let mut spec = pair(&cluster, name, if name == "a" { 2 } else { 3 });
            (spec.reservation, spec.placeholder_for) = (reservation, PlaceholderFor::All);
            cluster.apply(name, spec);
        }
        cluster.members("a", 2);
        cluster.settle();
        assert_eq!(cluster.bound(), [""; 0], "{reservation:?}");
        cluster.members("b", 3);
        cluster.settle();
        assert_eq!((cluster.bound().len(), cluster.report("a").reason), (0, "WaitingForCapacity"), "{reservation:?}");
        cluster.node("n1", 1);
        cluster.settle();
        assert_eq!(cluster.bound(), ["a-0", "a-1", "b-0", "b-1", "b-2"], "{reservation:?}");
    }
}

/// As above, 01, 1.3 "Satisfied: every task group …": the seats of one are held, those of the other on their way.
#[test]
fn a_gang_is_satisfied_with_the_last_of_its_task_groups() {
    let mut cluster = Cluster::default().nodes(1, 4);
    for name in ["a", "b"] {
        let mut spec = pair(&cluster, name, 2);
        (spec.reservation, spec.placeholder_for) = (Reservation::Placeholder, PlaceholderFor::All);
        cluster.apply(name, spec);
    }
    cluster.members("a", 2);
    cluster.step().carry("create").carry("bind ph-a");
    assert_eq!((cluster.report("a").seats.held, cluster.state("a")), (2, AppState::Accepted));
    assert_eq!(cluster.waiting().iter().filter(|line| line.starts_with("release")).count(), 0);
    cluster.carry("bind ph-b");
    assert_eq!((cluster.report("a").seats.releasing, cluster.state("a")), (2, AppState::Running));
}

/// 01, 1.2.2: "`placeholderAsk = Σ_taskGroups minMember × minResource`": neither alone exceeds the quota, both do.
#[test]
fn the_ask_is_the_sum_over_all_task_groups() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
    for name in ["a", "b"] {
        let spec = pair(&cluster, name, if name == "a" { 2 } else { 3 });
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    let ask = cluster.report("a").ask.clone();
    assert_eq!((ask.get("cpu"), ask.get("pods"), ask.get("memory")), (5000, 5, 5 << 30));
    assert_eq!((cluster.report("a").reason, cluster.report("b").reason), ("ExceedsMaxQuota", "ExceedsMaxQuota"));
}

/// 01, 1.1: "it stays New until all of them exist and agree on queue, …, reservation and timeouts"; 1.2.3: "the gang group
/// contradicts itself"; judged again when the spec changes.
#[test]
fn task_groups_that_disagree_are_rejected() {
    let disagreements: [fn(&mut gangline::core::event::GroupSpec); 9] = [
        |spec| spec.queue = Some("root.q".into()),
        |spec| spec.reservation = Reservation::Placeholder,
        |spec| spec.style = Style::Hard,
        |spec| _ = spec.timeouts.set(Deadline::Admission, Some(1)),
        |spec| _ = spec.timeouts.set(Deadline::Placeholder, Some(1)),
        |spec| _ = spec.timeouts.set(Deadline::Wait, Some(1)),
        |spec| _ = spec.timeouts.set(Deadline::Completion, Some(1)),
        |spec| _ = spec.timeouts.set(Deadline::Completion, None),
        |spec| spec.gang = listed(["b"]),
    ];
    for (number, disagree) in disagreements.into_iter().enumerate() {
        let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 9);
        let (a, b) = (pair(&cluster, "a", 1), pair(&cluster, "b", 1));
        let mut wrong = b.clone();
        disagree(&mut wrong);
        cluster.apply("a", a);
        cluster.apply("b", wrong);
        cluster.members("a", 1);
        cluster.members("b", 1);
        cluster.settle();
        assert_eq!(cluster.report("a").reason, "GangGroupMismatch", "{number}");
        assert_eq!((cluster.bound().len(), cluster.why("b-0")), (0, Some("GangGroupMismatch")), "{number}");
        cluster.apply("b", gangline::core::event::GroupSpec { generation: 2, ..b });
        cluster.settle();
        assert_eq!(cluster.bound(), ["a-0", "b-0"], "{number}");
    }
}

/// Seed 002 "After Gang": "when once Gang has been satisfied, all subsequent resource allocations are no longer
/// constrained by Gang rules": each member for itself, though the whole gang would not fit again.
#[test]
fn after_the_start_members_are_ordinary() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.direct("g", 4);
    cluster.apply("g", spec);
    cluster.members("g", 4);
    cluster.settle();
    ["g-1", "g-2", "g-3"].iter().for_each(|name| cluster.delete(name));
    cluster.node("n0", 2);
    ["g-1", "g-2"].iter().for_each(|name| cluster.member(name, "g"));
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("g-2")), (vec!["g-0".into(), "g-1".into()], Some("Unschedulable")));
}

/// 01, 1.3 Satisfied: "the real pods are bound, the originator included. … `Placed=True` is written to status after the
/// last."
#[test]
fn a_gang_is_placed_with_the_last_binding_whosever_it_is() {
    for last in ["bind driver", "bind g-1"] {
        let mut cluster = Cluster::default().nodes(1, 4);
        cluster.originator("driver", "g");
        let spec = cluster.direct("g", 2);
        cluster.apply("g", spec);
        cluster.members("g", 2);
        cluster.step();
        for bind in ["bind driver", "bind g-0", "bind g-1"].into_iter().filter(|bind| *bind != last) {
            cluster.carry(bind);
            assert!(!cluster.report("g").placed, "{bind}, and {:?} are to come", cluster.waiting());
        }
        cluster.carry(last);
        assert!(cluster.report("g").placed, "{last}");
    }
}
