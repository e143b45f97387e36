//! Restarts between two writes of status, with objects changed or gone meanwhile (01, 1.11): a gang never starts in
//! parts, and what ended or runs is taken for what it is.

use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::{GroupSpec, PlaceholderName, Remembered};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::SpecError;

use crate::support::cluster::{Cluster, NS, listed};

/// Two task groups of one gang with a member each.
fn pair(cluster: &mut Cluster) {
    for name in ["p0", "p1"] {
        let gang = listed(["p0", "p1"]);
        let spec = GroupSpec { application: "pair".into(), gang, ..cluster.direct(name, 1) };
        cluster.apply(name, spec);
    }
}

fn running_pair() -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4);
    pair(&mut cluster);
    cluster.member("p0-0", "p0");
    cluster.member("p1-0", "p1");
    cluster.settle();
    cluster
}

/// The first life of a pair is over; what p1's status said while it waited for the end, and at the end.
fn ended_pair() -> (Cluster, [Remembered; 2]) {
    let mut cluster = running_pair();
    cluster.finish("p0-0", true);
    cluster.finish("p1-0", true);
    cluster.settle();
    let waiting = cluster.statuses["p1"].clone();
    cluster.wait(30_000).settle();
    assert_eq!(cluster.state("p0"), AppState::Completed);
    let ended = cluster.statuses["p1"].clone();
    cluster.delete("p0-0");
    cluster.delete("p1-0");
    cluster.settle();
    (cluster, [waiting, ended])
}

/// 01, 1.11: "Placed=True" of the incarnation in force: the other task group's status may still tell of the life before.
#[test]
fn placed_in_an_earlier_life_starts_no_half_of_a_gang() {
    let (mut cluster, [waiting, _]) = ended_pair();
    cluster.member("p0-1", "p0");
    cluster.settle();
    assert_eq!((cluster.report("p0").incarnation, cluster.bound().len()), (2, 0));
    cluster.statuses.insert("p1".into(), waiting);
    cluster.restart().settle();
    assert_eq!((cluster.state("p0"), cluster.bound().len()), (AppState::Accepted, 0), "{:#?}", cluster.log);
    assert_eq!((cluster.report("p0").incarnation, cluster.why("p0-1")), (2, Some("WaitingForMembers")));
}

/// As above for a terminal state: members of the life in force run.
#[test]
fn an_earlier_end_does_not_end_what_runs() {
    let (mut cluster, [_, ended]) = ended_pair();
    cluster.member("p0-1", "p0");
    cluster.member("p1-1", "p1");
    cluster.settle();
    assert_eq!(cluster.bound(), ["p0-1", "p1-1"]);
    cluster.statuses.insert("p1".into(), ended.clone());
    cluster.restart().settle();
    assert_eq!((cluster.state("p0"), cluster.report("p1").incarnation), (AppState::Running, 2));
    // Whatever status says of this life, members that run say more.
    let ended = Remembered { incarnation: 2, ..ended };
    cluster.statuses.insert("p1".into(), ended);
    cluster.restart().settle();
    assert_eq!((cluster.state("p0"), cluster.report("p1").incarnation), (AppState::Running, 2));
}

/// 01, 1.11: what runs stays what it is, even if a TaskGroup of it was deleted: as it would have without a restart.
#[test]
fn a_started_gang_goes_on_without_one_of_its_task_groups() {
    for placed in [true, false] {
        let mut cluster = running_pair();
        cluster.lose_group("p1");
        cluster.settle();
        if !placed {
            cluster.statuses.clear();
        }
        cluster.restart().settle();
        assert_eq!(cluster.state("p0"), AppState::Running, "{:#?}", cluster.report("p0").message);
        cluster.member("p0-x", "p0");
        cluster.settle();
        assert_eq!(cluster.bound(), ["p0-0", "p0-x", "p1-0"]);
    }
}

/// As above: placeholders that still hold seats stay.
#[test]
fn seats_of_a_started_gang_stay_held_without_one_of_its_task_groups() {
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["p0", "p1"] {
        let gang = listed(["p0", "p1"]);
        let spec = GroupSpec { application: "pair".into(), gang, ..cluster.all(name, 2) };
        cluster.apply(name, spec);
    }
    cluster.member("p0-0", "p0");
    cluster.settle();
    cluster.lose_group("p1");
    cluster.settle();
    cluster.taken();
    cluster.restart().settle();
    assert_eq!((cluster.state("p0"), cluster.report("p0").seats.held), (AppState::Running, 1), "{:#?}", cluster.log);
}

/// As above for one that ended: it stays ended until there is something to do.
#[test]
fn an_ended_gang_stays_ended_without_one_of_its_task_groups() {
    let (mut cluster, _) = ended_pair();
    cluster.lose_group("p1");
    cluster.settle();
    cluster.restart().settle();
    assert_eq!(cluster.state("p0"), AppState::Completed);
    cluster.member("p0-1", "p0");
    cluster.settle();
    assert_eq!((cluster.state("p0"), cluster.why("p0-1")), (AppState::New, Some("WaitingForTaskGroups")));
    // That it had started once is no start of what is not whole.
    for _ in 0..2 {
        cluster.restart().settle();
        assert_eq!((cluster.state("p0"), cluster.bound().len()), (AppState::New, 0), "{:#?}", cluster.log);
        assert_eq!((cluster.report("p0").incarnation, cluster.report("p0").placed), (1, false));
    }
}

/// 01, 1.9: what ended and was judged and refused after that is Rejected, whoever looks: it is not the life that ended.
#[test]
fn refused_after_its_end_is_refused_after_a_restart() {
    let (mut cluster, _) = ended_pair();
    cluster.member("p0-1", "p0");
    for (generation, queue) in [(2, "root.nowhere"), (3, "root.default")] {
        for name in ["p0", "p1"] {
            let spec = GroupSpec { generation, queue: Some(queue.into()), ..cluster.groups[name].clone() };
            cluster.apply(name, spec);
        }
        cluster.settle();
        let before = cluster.report("p0");
        assert_eq!((before.state == AppState::Rejected, before.placed), (generation == 2, false));
        cluster.restart().settle();
        let after = cluster.report("p0");
        assert_eq!((after.state, after.reason, after.incarnation), (before.state, before.reason, before.incarnation));
        assert_eq!(cluster.bound().len(), 0, "{:#?}", cluster.log);
    }
}

/// 01, 1.11: "no placeholder is created for a gang that already started": its deadline of completion says so.
#[test]
fn a_gang_that_waits_for_its_end_reserves_nothing() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.finish("g-0", true);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    let ends = cluster.report("g").deadlines.of(Deadline::Completion);
    assert_eq!((cluster.state("g"), ends.is_some()), (AppState::Waiting, true));
    cluster.taken();
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.report("g").deadlines.of(Deadline::Completion)), (AppState::Waiting, ends));
    assert_eq!(cluster.log, [""; 0]);
    cluster.wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Completed, 0));
}

/// As above: a deadline of an earlier life says nothing of this one.
#[test]
fn an_earlier_deadline_starts_nothing() {
    let (mut cluster, [waiting, _]) = ended_pair();
    cluster.member("p0-1", "p0");
    cluster.settle();
    cluster.statuses.insert("p1".into(), Remembered { placed: false, ..waiting });
    cluster.restart().settle();
    assert_eq!((cluster.state("p0"), cluster.bound().len()), (AppState::Accepted, 0));
}

/// 01, 1.2.4: "after a terminal state a new generation is a new incarnation": also one that came while we were down.
#[test]
fn an_edit_of_an_ended_application_while_we_are_down() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 1);
    cluster.apply("g", spec);
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.finish("g-0", true);
    cluster.settle().wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").placed), (AppState::Completed, true));
    let mut same = cluster.clone();
    same.restart().settle();
    assert_eq!((same.state("g"), same.report("g").incarnation), (AppState::Completed, 1));
    let spec = cluster.groups.get_mut("g").expect("it exists");
    (spec.generation, spec.min_member) = (2, 2);
    cluster.restart().settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.incarnation, report.seats.held), (AppState::Accepted, 2, 2), "{:#?}", cluster.log);
    assert_eq!(cluster.statuses["g"].generation, 2);
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
}

/// ADR 0009: an edit before the start, while we are down: placeholders made by the old spec hold no seats of the new one.
#[test]
fn an_edit_of_an_accepted_application_while_we_are_down() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.groups.get_mut("g").expect("it exists").generation = 2;
    cluster.restart().settle();
    assert_eq!((cluster.report("g").generation, cluster.report("g").incarnation), (2, 2));
    assert_eq!(cluster.bound(), ["ph-g-2-0-0", "ph-g-2-1-0"]);
}

fn forge(cluster: &mut Cluster, incarnation: u32) {
    let uid = Uid::new("uid-g");
    let name = PlaceholderName { group: Key::new(NS, "g"), uid, incarnation, seat: 0, attempt: 0 };
    cluster.create(&name);
}

/// 01, 1.11: status and what we bound say which life it is; a pod with a name that somebody else made up does not.
#[test]
fn a_forged_placeholder_does_not_count_lives() {
    for incarnation in [2, 7, u32::MAX] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.all("g", 2);
        cluster.apply("g", spec);
        forge(&mut cluster, u32::MAX);
        cluster.restart().settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 1));
        assert_eq!(cluster.bound(), ["ph-g-1-0-0", "ph-g-1-1-0"]);
        cluster.members("g", 2);
        cluster.settle();
        forge(&mut cluster, incarnation);
        cluster.statuses.clear();
        cluster.restart().settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 1), "{incarnation}");
        assert_eq!(cluster.bound(), ["g-0", "g-1"]);
    }
}

/// As above: placeholders of a new life that died before it was written down keep it from being taken for the old one.
#[test]
fn placeholders_of_a_life_that_was_not_written_down() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    let status = cluster.statuses["g"].clone();
    cluster.wait(30_000).settle();
    cluster.member("g-2", "g");
    cluster.step().carry("create");
    assert_eq!((cluster.report("g").incarnation, cluster.placeholders()), (2, 2));
    cluster.statuses.insert("g".into(), status);
    cluster.restart();
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
}

/// 01, 1.11: "Running members are never failed": nor does a spec that nobody would accept cost a seat each.
#[test]
fn a_started_gang_with_an_absurd_spec_runs_on() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    let spec = cluster.groups.get_mut("g").expect("it exists");
    (spec.generation, spec.min_member) = (2, u32::MAX);
    spec.errors = vec![SpecError { field: "spec.minMember".into(), problem: "is absurd".into() }];
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 2));
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").seats.open), (2, 0));
}

/// 01, 1.11, 1.2.2: an originator that was there before the reservation began finds its node together with the gang, for a
/// new process too.
#[test]
fn an_originator_from_before_the_gate_belongs_to_the_gang_after_a_restart() {
    let mut cluster = Cluster::default().nodes(1, 2);
    cluster.originator("driver", "g");
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.placeholders()), (Vec::new(), 2), "one cpu is missing");
    cluster.restart().settle();
    assert_eq!((cluster.bound(), cluster.placeholders()), (Vec::new(), 2));
    cluster.node("n9", 1);
    cluster.settle();
    assert!(cluster.bound().contains(&"driver".to_owned()) && cluster.bound().len() == 3, "{:?}", cluster.bound());
}
