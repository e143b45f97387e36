//! Match policies (01, 1.6; peers 1.3): who counts once a gang has started, and so who is placed together once more.

use gangline::core::decision::Decision;
use gangline::core::event::{GroupSpec, MatchPolicy, Mode, Place, Role};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, listed, timeouts};
use crate::support::phases::HOLD_MS;

const WAITS: Option<&str> = Some("WaitingForMembers");
const LACKS: Option<&str> = Some("Unschedulable");

/// A gang without placeholders of so many members of one core in root.q, on as many nodes of one core, and it runs.
fn running(policy: MatchPolicy, min: u32, seat_hold: u64) -> Cluster {
    let mut cluster = Cluster::default().nodes(min, 1).queue("root.q", 100);
    let spec = GroupSpec { match_policy: policy, seat_hold, ..cluster.direct("g", min) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", min);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, min as usize));
    drop(cluster.taken());
    cluster
}

fn come(cluster: &mut Cluster, names: &[&str]) {
    names.iter().for_each(|name| cluster.member(name, "g"));
    cluster.settle();
}

fn go(cluster: &mut Cluster, names: &[&str]) {
    names.iter().for_each(|name| cluster.delete(name));
    cluster.settle();
}

fn node_of_each(cluster: &Cluster, names: &[&str]) -> usize {
    names.iter().filter(|name| cluster.node_of(name).is_some()).count()
}

/// 01, 1.6: "`OnceSatisfied` (default: afterwards, within one incarnation, members are ordinary pods, seed "After Gang")". That is
/// seed 002 "After Gang": "some bound pods are preempted\rescheduled, should the constraints of Gang still be effective in the
/// process of resource reallocation?"
#[test]
fn once_satisfied_each_is_placed_alone() {
    for seat_hold in [0, HOLD_MS] {
        let mut cluster = running(MatchPolicy::default(), 3, seat_hold);
        go(&mut cluster, &["g-0", "g-1"]);
        come(&mut cluster, &["late"]);
        assert_eq!(node_of_each(&cluster, &["late"]), 1);
    }
}

/// 01, 1.6: "`WaitingAndRunning` (bound plus waiting members count towards `minMember` again)". What is kept for those that are
/// lost is kept for all who come in their place.
#[test]
fn those_that_run_count_too() {
    for seat_hold in [0, HOLD_MS] {
        let mut cluster = running(MatchPolicy::WaitingAndRunning, 3, seat_hold);
        go(&mut cluster, &["g-0", "g-1"]);
        come(&mut cluster, &["new-0"]);
        assert_eq!((node_of_each(&cluster, &["new-0"]), cluster.why("new-0")), (0, WAITS));
        let shown = cluster.report("g");
        assert!(shown.message.contains("2 of 3 members of g wait or have a node"), "{}", shown.message);
        if seat_hold > 0 {
            cluster.single("stranger");
            cluster.settle();
            assert_eq!(cluster.why("stranger"), LACKS, "the room is kept meanwhile");
        }
        come(&mut cluster, &["new-1"]);
        assert_eq!(node_of_each(&cluster, &["new-0", "new-1"]), 2, "{}", cluster.report("g").message);
        assert_eq!((cluster.report("g").reason, cluster.why("new-0")), ("Running", None));
        assert_eq!(cluster.cpu("root.q"), 3_000);
    }
}

/// The same: with `minMember` that run, those that come are ordinary pods.
#[test]
fn beyond_those_that_run_each_is_placed_alone() {
    let mut cluster = running(MatchPolicy::WaitingAndRunning, 3, 0);
    cluster.node("n3", 2);
    come(&mut cluster, &["more"]);
    assert_eq!(node_of_each(&cluster, &["more"]), 1);
    go(&mut cluster, &["g-0"]);
    come(&mut cluster, &["again"]);
    assert_eq!(node_of_each(&cluster, &["again"]), 1, "one that was beyond the seats has taken the one that was lost");
}

/// 01, 1.6: "`OnlyWaiting` (each round needs `minMember` waiting)": those that run do not count, and nor does it matter whether
/// somebody was lost.
#[test]
fn only_those_that_wait_count() {
    let mut cluster = running(MatchPolicy::OnlyWaiting, 3, 0);
    (3..9).for_each(|number| cluster.node(&format!("n{number}"), 1));
    come(&mut cluster, &["a", "b"]);
    assert_eq!((node_of_each(&cluster, &["a", "b"]), cluster.why("a")), (0, WAITS));
    let shown = cluster.report("g");
    assert_eq!(shown.reason, "Running");
    assert!(shown.message.contains("2 of 3 members of g wait;"), "{}", shown.message);
    come(&mut cluster, &["c", "d"]);
    assert_eq!(node_of_each(&cluster, &["a", "b", "c", "d"]), 3, "three start, and one waits for the next round");
    go(&mut cluster, &["g-0"]);
    come(&mut cluster, &["e"]);
    assert_eq!(node_of_each(&cluster, &["d", "e"]), 0, "two wait");
    come(&mut cluster, &["f"]);
    assert_eq!(node_of_each(&cluster, &["d", "e", "f"]), 3);
    assert_eq!((cluster.report("g").seats.taken, cluster.cpu("root.q")), (3, 8_000));
}

/// The same at the first start: who is there beyond `minMember` waits for a round of its own.
#[test]
fn who_is_beyond_the_first_start_waits_for_the_next_round() {
    for (members, bound) in [(3, 2), (4, 4)] {
        let mut cluster = Cluster::default().nodes(8, 1).queue("root.q", 100);
        let spec = GroupSpec { match_policy: MatchPolicy::OnlyWaiting, ..cluster.direct("g", 2) };
        cluster.submit("g", "root.q", spec);
        cluster.members("g", members);
        cluster.settle();
        assert_eq!(cluster.bound().len(), bound, "of {members}");
    }
}

/// No partial hold in a round: all of it finds nodes, or nothing is held and nobody is bound; exactly those that it wants to
/// place call for nodes.
#[test]
fn a_round_finds_room_for_all_or_takes_none() {
    let mut lost = running(MatchPolicy::WaitingAndRunning, 4, 0);
    go(&mut lost, &["g-0", "g-1", "g-2"]);
    ["other-0", "other-1"].iter().for_each(|name| lost.single(name));
    lost.settle();
    let mut more = running(MatchPolicy::OnlyWaiting, 3, 0);
    more.node("n3", 1);
    for (what, mut cluster) in [("lost", lost), ("more", more)] {
        let before = cluster.cpu("root.q");
        come(&mut cluster, &["a", "b", "c", "d"]);
        let whys = ["a", "b", "c", "d"].map(|name| cluster.why(name));
        assert_eq!(whys, [LACKS, LACKS, LACKS, Some("WaitingForCapacity")], "{what}: {}", cluster.report("g").message);
        assert_eq!(cluster.cpu("root.q"), before, "{what}");
        cluster.single("passing");
        cluster.settle();
        assert!(cluster.node_of("passing").is_some(), "{what}: what is free is anybody's");
        cluster.node("n8", 2);
        cluster.settle();
        assert_eq!(node_of_each(&cluster, &["a", "b", "c", "d"]), 0, "{what}");
        cluster.node("n9", 1);
        cluster.settle();
        assert_eq!(node_of_each(&cluster, &["a", "b", "c"]), 3, "{what}: {}", cluster.report("g").message);
    }
}

/// A round that found too few nodes is not planned again for what happens to others of its gang, but when somebody else waits, and when
/// there may be room.
#[test]
fn a_round_that_lacks_nodes_is_planned_again_for_a_reason_only() {
    let mut cluster = running(MatchPolicy::OnlyWaiting, 2, 0);
    come(&mut cluster, &["a", "b"]);
    assert_eq!(cluster.why("a"), LACKS);
    let runs = |cluster: &mut Cluster, is_so: bool| {
        cluster.change("g-0", |spec| {
            if let Place::On { running, .. } = &mut spec.place {
                *running = is_so;
            }
        });
        cluster.settle();
    };
    let planned = cluster.scheduler.plans();
    runs(&mut cluster, false);
    runs(&mut cluster, true);
    assert_eq!(cluster.scheduler.plans(), planned, "what a kubelet says of one that runs");
    come(&mut cluster, &["c"]);
    assert!(cluster.scheduler.plans() > planned, "another one might fit");
    let planned = cluster.scheduler.plans();
    cluster.node("n2", 1);
    cluster.settle();
    assert_eq!(cluster.scheduler.plans(), planned, "there is room for one");
    cluster.node("n3", 1);
    cluster.settle();
    assert_eq!((node_of_each(&cluster, &["a", "b"]), cluster.scheduler.plans() > planned), (2, true));
}

/// The same where in one step one goes and another comes that asks for the same: the plan wants to place that one, which calls for nodes.
#[test]
fn who_comes_in_the_place_of_one_that_waits_for_a_round_is_told_what_it_lacks() {
    let mut cluster = running(MatchPolicy::OnlyWaiting, 2, 0);
    come(&mut cluster, &["a", "b"]);
    cluster.delete("b");
    come(&mut cluster, &["c"]);
    assert_eq!(["a", "c"].map(|name| cluster.why(name)), [LACKS; 2]);
}

/// Also of a gang whose seats were held one by one before its start (mode NonStrict).
#[test]
fn a_round_holds_nothing_in_part_in_either_mode() {
    let mut cluster = Cluster::default().nodes(3, 1).queue("root.q", 100);
    let (mode, match_policy) = (Mode::NonStrict, MatchPolicy::OnlyWaiting);
    let spec = GroupSpec { mode, match_policy, ..cluster.direct("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 3);
    cluster.settle();
    cluster.node("n3", 1);
    come(&mut cluster, &["a", "b", "c"]);
    assert_eq!((cluster.why("a"), cluster.cpu("root.q")), (LACKS, 3_000));
    cluster.single("passing");
    cluster.settle();
    assert!(cluster.node_of("passing").is_some());
}

/// No placeholder is made for a round, also where placeholders were made for the start.
#[test]
fn no_placeholder_stands_in_for_a_round() {
    let mut cluster = Cluster::default().nodes(3, 1).queue("root.q", 100);
    let match_policy = MatchPolicy::WaitingAndRunning;
    let spec = GroupSpec { match_policy, seat_hold: 0, ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.report("g").placed), (3, true));
    go(&mut cluster, &["g-0", "g-1"]);
    come(&mut cluster, &["new-0"]);
    assert_eq!((cluster.why("new-0"), cluster.placeholders()), (WAITS, 0));
    come(&mut cluster, &["new-1"]);
    assert_eq!((node_of_each(&cluster, &["new-0", "new-1"]), cluster.placeholders()), (2, 0));
}

/// 01, 1.7 Soft: what a timeout ended is no gang any more: its pods are placed one by one, whatever its policy.
#[test]
fn after_a_timeout_there_are_no_rounds() {
    for match_policy in [MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting] {
        let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
        let timeouts = timeouts(Deadline::Completion, 30).with(Deadline::Placeholder, Some(60_000));
        let spec = GroupSpec { match_policy, timeouts, ..cluster.all("g", 3) };
        cluster.submit("g", "root.q", spec);
        let gated = cluster.pod("g-0", Role::Member { group: "g".into() });
        cluster.show(gated);
        cluster.change("g-0", |spec| spec.place = Place::Gated);
        cluster.settle().wait(60_000).settle();
        cluster.change("g-0", |spec| spec.place = Place::Pending);
        cluster.settle();
        assert_eq!(cluster.bound(), ["g-0"], "{match_policy:?}");
    }
}

/// The quota counts like the nodes: a round waits until it holds all of it, and is told of it.
#[test]
fn a_round_waits_for_quota_as_a_whole() {
    let mut cluster = running(MatchPolicy::OnlyWaiting, 2, 0);
    cluster.node("n2", 8);
    cluster.set_queue("root.q", 3);
    come(&mut cluster, &["a", "b"]);
    assert_eq!((node_of_each(&cluster, &["a", "b"]), cluster.why("a")), (0, Some("WaitingForQuota")));
    let said = cluster.report("g").message;
    assert!(said.contains("the next round of the gang asks for 2 cpu, but queue root.q has 1 of 3 left"), "{said}");
    cluster.other("other", "root.q", 1);
    cluster.settle();
    assert!(cluster.node_of("other").is_some(), "it keeps nobody from what it cannot use");
    cluster.set_queue("root.q", 5);
    cluster.settle();
    assert_eq!(node_of_each(&cluster, &["a", "b"]), 2);
}

/// The same: a member that the quota never holds costs the others nothing; and where quota goes while nodes lack room, nobody calls
/// for nodes any more, and all are told what is left, also later.
#[test]
fn a_round_asks_for_the_least_and_says_what_is_so() {
    let mut cluster = running(MatchPolicy::WaitingAndRunning, 2, 0);
    cluster.set_queue("root.q", 4);
    go(&mut cluster, &["g-0"]);
    cluster.large_member("a", "g", 8);
    come(&mut cluster, &["b"]);
    assert_eq!((node_of_each(&cluster, &["b"]), cluster.cpu("root.q")), (1, 2_000), "{}", cluster.report("g").message);

    let mut cluster = running(MatchPolicy::OnlyWaiting, 2, 0);
    come(&mut cluster, &["a", "b"]);
    assert_eq!(cluster.why("a"), LACKS);
    cluster.set_queue("root.q", 3);
    cluster.settle();
    assert_eq!(cluster.why("a"), Some("WaitingForQuota"));
    cluster.node("n2", 1);
    cluster.other("other", "root.q", 1);
    cluster.settle().wait(31_000).settle();
    let shown = cluster.report("g");
    assert!(shown.message.contains("queue root.q has 0 of 3 left"), "{}", shown.message);
}

/// Until a start is complete nobody starts beside it: who would take the seat of one that is lost is one of its own.
#[test]
fn no_round_begins_before_the_start_is_complete() {
    let mut cluster = Cluster::default().nodes(4, 1).queue("root.q", 100);
    let spec = GroupSpec { match_policy: MatchPolicy::OnlyWaiting, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 4);
    cluster.step();
    let bound = |cluster: &Cluster| {
        cluster.decisions.iter().filter(|decision| matches!(decision, Decision::Allocate { .. })).count()
    };
    assert_eq!(bound(&cluster), 2);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 4, "and then the next two");
}

/// 01, 1.11: a new process counts the same; what was kept is forgotten (1.5).
#[test]
fn a_new_process_counts_the_same() {
    for policy in [MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting] {
        let mut cluster = running(policy, 3, HOLD_MS);
        go(&mut cluster, &["g-0", "g-1"]);
        come(&mut cluster, &["new-0"]);
        cluster.restart().settle();
        assert_eq!((node_of_each(&cluster, &["new-0"]), cluster.why("new-0")), (0, WAITS));
        cluster.node("n3", 1);
        come(&mut cluster, &["new-1", "new-2"]);
        assert_eq!(node_of_each(&cluster, &["new-0", "new-1", "new-2"]), 3, "{}", cluster.report("g").message);
    }
}

/// 01, 1.6: "Restart in the middle of binding: the gang is planned first, before anything else", whatever its policy: a start is
/// completed, and only then its policy counts.
#[test]
fn a_start_that_was_interrupted_is_completed() {
    for policy in [MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting] {
        let mut cluster = Cluster::default().nodes(3, 1).queue("root.q", 100);
        let spec = GroupSpec { match_policy: policy, ..cluster.direct("g", 3) };
        cluster.submit("g", "root.q", spec);
        cluster.members("g", 3);
        cluster.step();
        let decisions = std::mem::take(&mut cluster.decisions);
        let first = decisions.into_iter().find(|decision| matches!(decision, Decision::Allocate { .. }));
        cluster.carry_out(first.expect("three are bound"));
        assert_eq!(cluster.bound().len(), 1);
        cluster.restart().settle();
        assert_eq!((cluster.bound().len(), cluster.report("g").reason), (3, "Running"), "{policy:?}");
    }
}

/// 01, 1.6: gangs of one group, and task groups of one application, start together once more; they have one policy.
#[test]
fn task_groups_of_one_gang_have_one_policy_and_one_round() {
    let of_gang = |cluster: &Cluster, name: &str, match_policy: MatchPolicy| GroupSpec {
        application: "app".into(),
        gang: listed(["a", "b"]),
        match_policy,
        seat_hold: 0,
        ..cluster.direct(name, 2)
    };
    let mut cluster = Cluster::default().nodes(4, 1).queue("root.q", 100);
    for name in ["a", "b"] {
        let spec = of_gang(&cluster, name, MatchPolicy::WaitingAndRunning);
        cluster.submit(name, "root.q", spec);
        cluster.members(name, 2);
    }
    cluster.settle();
    assert_eq!(cluster.bound().len(), 4);
    ["a-0", "b-0"].iter().for_each(|name| cluster.delete(name));
    cluster.settle();
    cluster.member("a-2", "a");
    cluster.settle();
    assert_eq!((cluster.node_of("a-2"), cluster.why("a-2")), (None, WAITS), "b lacks one, too");
    cluster.member("b-2", "b");
    cluster.settle();
    assert_eq!(node_of_each(&cluster, &["a-2", "b-2"]), 2);

    let mut cluster = Cluster::default().nodes(4, 1).queue("root.q", 100);
    for (name, policy) in [("a", MatchPolicy::WaitingAndRunning), ("b", MatchPolicy::OnlyWaiting)] {
        let spec = of_gang(&cluster, name, policy);
        cluster.submit(name, "root.q", spec);
        cluster.members(name, 1);
    }
    cluster.settle();
    assert_eq!((cluster.state("a"), cluster.report("a").reason), (AppState::Rejected, "GangGroupMismatch"));
    assert!(cluster.report("a").message.contains("matchPolicy"), "{}", cluster.report("a").message);
}

/// 01, 1.8: "when no started pod of the application lives, and a new member comes, that is a new incarnation", which starts whole
/// like the first.
#[test]
fn when_nobody_is_left_another_life_begins() {
    for policy in [MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting] {
        let mut cluster = running(policy, 2, 0);
        go(&mut cluster, &["g-0", "g-1"]);
        come(&mut cluster, &["new-0"]);
        assert_eq!((cluster.state("g"), cluster.why("new-0")), (AppState::Accepted, WAITS));
        come(&mut cluster, &["new-1"]);
        assert_eq!((cluster.state("g"), node_of_each(&cluster, &["new-0", "new-1"])), (AppState::Running, 2));
        assert_eq!(cluster.clear_away(), [""; 0]);
    }
}

/// Pods outside task groups are ordinary pods after the start, and what is kept of theirs is for them alone.
#[test]
fn an_originator_has_no_part_in_a_round() {
    let mut cluster = Cluster::default().nodes(3, 1).queue("root.q", 100);
    let spec = GroupSpec { match_policy: MatchPolicy::WaitingAndRunning, seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
    cluster.originator("driver", "g");
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
    ["driver", "g-0"].iter().for_each(|name| cluster.delete(name));
    cluster.settle();
    come(&mut cluster, &["g-2"]);
    assert_eq!((node_of_each(&cluster, &["g-2"]), cluster.cpu("root.q")), (1, 3_000), "the driver's room is kept");
    let driver = cluster.pod("driver-1", Role::Originator { application: "g".into() });
    cluster.show(driver);
    cluster.settle();
    assert_eq!((node_of_each(&cluster, &["driver-1"]), cluster.cpu("root.q")), (1, 3_000));
}
