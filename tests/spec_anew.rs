//! A gang restarts as a gang (01, 1.8).

use gangline::core::base::ids::Uid;
use gangline::core::event::{GroupSpec, PlaceholderFor, Reservation, Role};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, timeouts};
use crate::support::phases::{HOLD_MS, full, full_direct};

/// Who waits for room: another gang of one, which came before the restart.
fn stranger(cluster: &mut Cluster) {
    let spec = GroupSpec { created: 1, ..cluster.direct("a", 1) };
    cluster.submit("a", "root.q", spec);
    cluster.members("a", 1);
    cluster.settle();
    assert_eq!(cluster.node_of("a-0"), None);
}

const KINDS: [(Reservation, PlaceholderFor); 3] = [
    (Reservation::Direct, PlaceholderFor::Missing),
    (Reservation::Placeholder, PlaceholderFor::Missing),
    (Reservation::Placeholder, PlaceholderFor::All),
];

/// 01, 1.8: "when no started pod of the application lives and a new member comes, that is a new incarnation at once, from
/// Accepted"; "The new one inherits Kept seats, charges included, so a restart inside the hold needs no new room".
#[test]
fn a_restart_inside_the_hold_starts_whole_in_its_own_room() {
    for (reservation, placeholder_for) in KINDS {
        for fails in [true, false] {
            let mut cluster = full(4, 1, (reservation, placeholder_for));
            stranger(&mut cluster);
            for number in 0..4 {
                let name = format!("g-{number}");
                if fails { cluster.finish(&name, false) } else { cluster.delete(&name) }
            }
            cluster.settle();
            assert_eq!((cluster.state("g"), cluster.report("g").seats.kept), (AppState::Waiting, 4));
            // One after the other, within the hold.
            for number in 4..8 {
                cluster.wait(5_000);
                let started = cluster.bound().len();
                assert!(started == 0 || number > 4 && reservation == Reservation::Placeholder, "{:#?}", cluster.log);
                cluster.member(&format!("g-{number}"), "g");
                cluster.settle();
                assert_eq!(cluster.report("g").incarnation, 2);
            }
            cluster.wait(5_000).settle();
            let bound: Vec<_> = (4..8).map(|number| format!("g-{number}")).collect();
            let of_gang: Vec<_> = cluster.bound().into_iter().filter(|name| bound.contains(name)).collect();
            assert_eq!((of_gang, cluster.state("g")), (bound, AppState::Running), "{:#?}", cluster.log);
            assert_eq!((cluster.node_of("a-0"), cluster.cpu("root.q")), (None, 4000));
        }
    }
}

/// 01, 1.8: after the hold it is like a first start: it waits for room as a whole.
#[test]
fn a_restart_after_the_hold_waits_as_a_whole() {
    for (reservation, placeholder_for) in KINDS {
        let mut cluster = full(4, 1, (reservation, placeholder_for));
        stranger(&mut cluster);
        let spec =
            GroupSpec { generation: 2, timeouts: timeouts(Deadline::Completion, 600), ..cluster.groups["g"].clone() };
        cluster.apply("g", spec);
        (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
        cluster.settle().wait(HOLD_MS).settle();
        assert!(cluster.node_of("a-0").is_some(), "{:#?}", cluster.log);
        (4..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        cluster.settle().wait(10_000).settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
        assert_eq!((cluster.bound(), cluster.report("g").reason), (vec!["a-0".into()], "WaitingForQuota"));
        cluster.finish("a-0", true);
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 4), "{:#?}", cluster.log);
    }
}

/// 01, 1.8: "still in Running with the old ones terminating"; "terminating predecessors stay charged until they are gone
/// and hand their room over the same way".
#[test]
fn predecessors_that_terminate_hand_their_room_over() {
    for (reservation, placeholder_for) in KINDS {
        let mut cluster = full(4, 1, (reservation, placeholder_for));
        stranger(&mut cluster);
        (0..4).for_each(|number| cluster.change(&format!("g-{number}"), |spec| spec.terminating = true));
        (4..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
        for number in 0..4 {
            assert!((4..8).all(|number| cluster.node_of(&format!("g-{number}")).is_none()), "{:#?}", cluster.log);
            assert_eq!((cluster.node_of("a-0"), cluster.cpu("root.q")), (None, 4000));
            cluster.delete(&format!("g-{number}"));
            cluster.settle();
        }
        cluster.wait(10_000).settle();
        assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 4), "{:#?}", cluster.log);
        assert_eq!(cluster.node_of("a-0"), None);
    }
}

/// 01, 1.8: "Except: where some of the old members Succeeded under the newcomer's own controller (a Job with more
/// completions than parallelism), it goes on as the same incarnation"; seed 000: "If new allocation asks are added to the
/// application it will transition back to a running state."
#[test]
fn a_job_with_more_completions_than_parallelism_goes_on() {
    for is_gone in [false, true] {
        let mut cluster = Cluster::default().nodes(1, 4);
        let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
        cluster.apply("g", spec);
        let of_job = |cluster: &Cluster, name: &str, job: &str| {
            let mut pod = cluster.pod(name, Role::Member { group: "g".into() });
            pod.controller = Some(Uid::new(job));
            pod.created += i64::from(job == "another");
            pod
        };
        for name in ["g-0", "g-1"] {
            let pod = of_job(&cluster, name, "job");
            cluster.show(pod);
        }
        cluster.settle();
        for name in ["g-0", "g-1"] {
            cluster.finish(name, true);
            if is_gone {
                cluster.settle();
                cluster.delete(name);
            }
        }
        cluster.settle();
        assert_eq!(cluster.state("g"), AppState::Waiting);
        let pod = of_job(&cluster, "g-2", "job");
        cluster.show(pod);
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 1));
        assert!(cluster.node_of("g-2").is_some());
        cluster.finish("g-2", true);
        // Another Job is another run.
        let pod = of_job(&cluster, "g-3", "another");
        cluster.show(pod);
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
        assert_eq!((cluster.node_of("g-3"), cluster.report("g").reason), (None, "WaitingForMembers"));
    }
}

/// 01, 1.8: "originators included": while the driver lives its executors may drop to none; and where the driver is lost
/// before its executors these live.
#[test]
fn whoever_lives_keeps_the_life_going() {
    for driver_first in [true, false] {
        let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
        let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
        cluster.submit("g", "root.q", spec);
        cluster.members("g", 2);
        cluster.originator("driver", "g");
        cluster.settle();
        let lost: &[&str] = if driver_first { &["driver"] } else { &["g-0", "g-1"] };
        lost.iter().for_each(|name| cluster.delete(name));
        cluster.settle();
        if driver_first {
            cluster.originator("driver-2", "g");
        } else {
            cluster.member("g-2", "g");
        }
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 1));
        assert!(cluster.node_of(if driver_first { "driver-2" } else { "g-2" }).is_some());
        // Now the others go too, and with them the life.
        let rest: &[&str] = if driver_first { &["driver-2", "g-0", "g-1"] } else { &["driver", "g-2"] };
        rest.iter().for_each(|name| cluster.delete(name));
        cluster.originator("driver-3", "g");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
        cluster.member("g-4", "g");
        cluster.member("g-5", "g");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 3), "{:#?}", cluster.log);
    }
}

/// 01, 1.8: "inherits Kept and Held seats for what is left of their hold": placeholders of the life that is over.
#[test]
fn held_seats_are_handed_over() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.all("g", 4) };
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").seats.held), (2, 2));
    stranger(&mut cluster);
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    (2..6).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle().wait(10_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 4), "{:#?}", cluster.log);
    assert_eq!((cluster.report("g").incarnation, cluster.node_of("a-0"), cluster.placeholders()), (2, None, 0));
}

/// 01, 1.11: a new process decides the same: of one that begins anew, and of one that had begun.
#[test]
fn a_restart_goes_on_over_a_restart_of_the_process() {
    for began in [true, false] {
        let mut cluster = full_direct(4, 1);
        (0..4).for_each(|number| cluster.change(&format!("g-{number}"), |spec| spec.terminating = true));
        (4..6).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        if began {
            cluster.settle();
            cluster.carry_out_shows();
        }
        cluster.restart().settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2), "{began}");
        (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
        (6..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 4));
    }
}

/// 01, 1.8: a restart in the middle of a restart: those that came for the second life go before it starts.
#[test]
fn a_restart_in_the_middle_of_a_restart() {
    let mut cluster = full_direct(4, 1);
    stranger(&mut cluster);
    (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
    (4..6).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    (4..6).for_each(|number| cluster.delete(&format!("g-{number}")));
    (6..10).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2));
    assert_eq!((cluster.node_of("a-0"), cluster.report("g").seats.taken), (None, 4));
}

/// 01, 1.8 with 1.7: of a gang that timed out before anybody came, those who come start as a gang.
#[test]
fn who_comes_after_a_soft_timeout_without_pods_starts_whole() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = GroupSpec {
        timeouts: timeouts(Deadline::Completion, 300).with(Deadline::Placeholder, Some(5_000)),
        ..cluster.all("g", 3)
    };
    cluster.apply("g", spec);
    cluster.settle().wait(5_000).settle().carry_out_shows();
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Waiting, 0), "{:#?}", cluster.log);
    cluster.member("g-0", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2));
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").seats.held), (1, 2), "{:#?}", cluster.log);
}

/// 01, 1.8: a job that is taken away while a pod of it waits begins another life and ends it.
#[test]
fn a_job_that_goes_away_waits_for_its_end() {
    let mut cluster = full_direct(4, 1);
    cluster.member("g-4", "g");
    cluster.settle();
    (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
    cluster.delete("g-4");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.open), (AppState::Waiting, 4), "{:#?}", cluster.log);
    cluster.wait(HOLD_MS).settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.q")), (AppState::Completed, 0));
}

/// As above, and what is submitted after that is new: it reserves though no pod is there.
#[test]
fn what_is_submitted_after_a_job_went_away_reserves() {
    let mut cluster = full_direct(4, 1);
    (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.member("g-4", "g");
    cluster.settle();
    cluster.delete("g-4");
    cluster.settle().wait(2 * HOLD_MS).settle();
    assert_eq!(cluster.state("g"), AppState::Completed);
    let spec = GroupSpec { generation: 2, ..cluster.all("g", 4) };
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 4), "{:#?}", cluster.log);
}

/// 01, 1.8: what ran before the start is no part of the life: its end begins no other one.
#[test]
fn a_launcher_that_ends_before_the_start_begins_nothing_anew() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.originator("launcher", "g");
    cluster.settle();
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.change("launcher", |spec| spec.held_up = Some("word".into()));
    cluster.settle();
    cluster.members("g", 2);
    cluster.finish("launcher", true);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 1));
    assert_eq!((cluster.report("g").seats.taken, cluster.logged("create")), (2, 2), "{:#?}", cluster.log);
}

/// 01, 1.8 with 1.5: members of the life before that still terminate count for no seat of this one.
#[test]
fn predecessors_take_no_kept_seat() {
    let mut cluster = Cluster::default().nodes(1, 8);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 4) };
    cluster.apply("g", spec);
    cluster.members("g", 4);
    cluster.settle();
    (0..4).for_each(|number| cluster.change(&format!("g-{number}"), |spec| spec.terminating = true));
    (4..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((cluster.report("g").incarnation, cluster.report("g").seats.taken), (2, 4));
    cluster.finish("g-4", true);
    cluster.delete("g-5");
    cluster.settle();
    assert_eq!((cluster.report("g").seats.kept, cluster.report("g").seats.taken), (1, 3));
}

/// 01, 1.8: "`completionTimeoutSeconds` decides only when the ID is called Completed and leaves its queue, never whether
/// a restart is a gang."
#[test]
fn how_long_an_application_waits_for_its_end_makes_no_difference_to_a_restart() {
    for (seconds, state) in [(0, AppState::Completed), (3_600, AppState::Waiting)] {
        let mut cluster = Cluster::default().nodes(1, 4);
        let spec = GroupSpec { timeouts: timeouts(Deadline::Completion, seconds), ..cluster.direct("g", 2) };
        cluster.apply("g", spec);
        cluster.members("g", 2);
        cluster.settle();
        (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
        cluster.settle().wait(100_000).settle();
        assert_eq!(cluster.state("g"), state);
        cluster.member("g-2", "g");
        cluster.settle();
        let report = cluster.report("g");
        assert_eq!((report.state, report.incarnation, report.reason), (AppState::Accepted, 2, "WaitingForMembers"));
        assert_eq!(cluster.node_of("g-2"), None);
        cluster.member("g-3", "g");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 2));
    }
}

/// 01, 1.8: "with everything that a first start has: gate, whole plan, …, timeouts".
#[test]
fn the_next_life_has_the_timeouts_of_a_first_one() {
    for (what, queue) in [(Deadline::Admission, "root.q"), (Deadline::Wait, "root.default")] {
        let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 2);
        let timeouts = timeouts(Deadline::Completion, 30).with(what, Some(60_000));
        let spec = GroupSpec { timeouts, ..cluster.direct("g", 2) };
        cluster.submit("g", "root.q", spec);
        cluster.members("g", 2);
        cluster.settle();
        assert_eq!(cluster.state("g"), AppState::Running);
        (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
        // Somebody else takes some of the quota, or of the node.
        cluster.other("other", queue, 1);
        (2..4).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
        assert_eq!(cluster.report("g").deadlines.of(what), Some(cluster.now.wall.after(60_000)), "{what}");
        cluster.wait(59_999).settle();
        assert_eq!(cluster.state("g"), AppState::Accepted, "{what}");
        cluster.wait(1).settle();
        assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Rejected, what.code().name()));
    }
}

/// 01, 1.8: "inherits Kept and Held seats for what is left of their hold": a gang that begins anew and is not whole in
/// time gives the room to those that wait. Who comes renews what is kept, to at most twice the time.
#[test]
fn what_a_restart_inherits_is_kept_no_longer_than_before() {
    for (second_at, ends) in [(None, HOLD_MS), (Some(50_000), 110_000), (Some(59_999), 119_999)] {
        let mut cluster = full_direct(4, 1);
        stranger(&mut cluster);
        (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
        cluster.member("g-4", "g");
        cluster.settle();
        assert_eq!((cluster.report("g").incarnation, cluster.scheduler.books.kept.iter().count()), (2, 4));
        if let Some(at) = second_at {
            cluster.wait(at).settle();
            cluster.member("g-5", "g");
            cluster.settle();
        }
        cluster.wait(ends - second_at.unwrap_or(0) - 1).settle();
        assert_eq!((cluster.node_of("a-0"), cluster.cpu("root.q")), (None, 4_000), "until {ends} ms");
        cluster.wait(1).settle();
        assert_eq!((cluster.node_of("a-0").is_some(), cluster.cpu("root.q")), (true, 1_000), "{:#?}", cluster.log);
        assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Accepted, 1));
    }
}

/// 01, 1.5: "running members … never count for a successor of the same name": nor does the room that was kept for the old
/// gang.
#[test]
fn a_successor_inherits_no_kept_seat() {
    let mut cluster = full_direct(4, 2);
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    let spec = GroupSpec { uid: Uid::new("uid-g-2"), created: 30, ..cluster.groups["g"].clone() };
    cluster.lose_group("g");
    cluster.apply("g", spec);
    (4..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.reason, report.incarnation), (AppState::Accepted, "WaitingForQuota", 1));
    let charged = |cluster: &Cluster| (cluster.scheduler.books.kept.iter().count(), cluster.cpu("root.q"));
    assert_eq!(charged(&cluster), (0, 2_000));
    cluster.delete("g-2");
    cluster.settle();
    assert_eq!(charged(&cluster), (0, 1_000));
    cluster.delete("g-3");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, 4), "{:#?}", cluster.log);
}

/// 01, 1.8 with 1.4: of two jobs under one TaskGroup the one has the seats, and of the other as many run as there is
/// room. When the first goes whole and nobody of the other runs, these begin another life; else they take the seats.
#[test]
fn two_jobs_with_room_for_one_and_a_half() {
    for (cores, lives) in [(6, 1), (4, 2)] {
        for restart in [false, true] {
            let mut cluster = Cluster::default().nodes(1, cores);
            let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 4) };
            cluster.apply("g", spec);
            for job in ["a", "b"] {
                for number in 0..4 {
                    let mut pod = cluster.pod(&format!("{job}-{number}"), Role::Member { group: "g".into() });
                    pod.controller = Some(Uid::new(job));
                    cluster.show(pod);
                }
            }
            cluster.settle();
            let bound = usize::try_from(cores).expect("small");
            assert_eq!((cluster.bound().len(), cluster.report("g").seats.taken), (bound, 4), "{:#?}", cluster.log);
            assert_eq!(cluster.why("b-3"), Some("Unschedulable"));
            if restart {
                cluster.restart().settle();
            }
            (0..4).for_each(|number| cluster.delete(&format!("a-{number}")));
            cluster.settle();
            let report = cluster.report("g");
            assert_eq!((report.state, report.incarnation, report.seats.taken), (AppState::Running, lives, 4));
            assert_eq!(cluster.bound(), ["b-0", "b-1", "b-2", "b-3"]);
            assert_eq!(cluster.scheduler.books.kept.iter().count(), 0);
        }
    }
}

/// 01, 1.8: "terminating predecessors stay charged until they are gone and hand their room over": the newcomer may go again
/// meanwhile, and others come before or after they are gone.
#[test]
fn a_newcomer_that_goes_again_changes_nothing_while_its_predecessors_terminate() {
    for (reservation, placeholder_for) in KINDS {
        for early in [true, false] {
            let mut cluster = full(2, 1, (reservation, placeholder_for));
            stranger(&mut cluster);
            ["g-0", "g-1"].into_iter().for_each(|name| cluster.change(name, |spec| spec.terminating = true));
            cluster.member("g-2", "g");
            cluster.settle();
            assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
            cluster.delete("g-2");
            cluster.settle();
            assert_eq!(cluster.state("g"), AppState::Accepted, "nothing of this life has started");
            let come = |cluster: &mut Cluster| ["g-3", "g-4"].into_iter().for_each(|name| cluster.member(name, "g"));
            if early {
                come(&mut cluster);
                cluster.settle();
                assert_eq!(cluster.bound(), ["g-0", "g-1"], "{:#?}", cluster.log);
            }
            ["g-0", "g-1"].into_iter().for_each(|name| cluster.delete(name));
            cluster.settle();
            assert_eq!(cluster.node_of("a-0"), None, "the room is kept: {:#?}", cluster.log);
            if !early {
                come(&mut cluster);
            }
            cluster.settle().wait(5_000).settle();
            assert_eq!(cluster.bound(), ["g-3", "g-4"], "{:#?}", cluster.log);
            assert_eq!(cluster.report("g").incarnation, if early { 2 } else { 3 });
        }
    }
}

/// 01, 1.5: "If the node is gone …, the seat is planned elsewhere at once": also of a gang that has begun anew and waits for
/// members.
#[test]
fn what_is_kept_for_a_gang_that_begins_anew_is_kept_elsewhere_when_its_node_goes() {
    let mut cluster = full_direct(4, 1);
    cluster.node("n1", 4);
    (0..4).for_each(|number| cluster.change(&format!("g-{number}"), |spec| spec.terminating = true));
    cluster.member("g-4", "g");
    cluster.settle();
    cluster.lose_node("n0");
    (0..4).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").kept), (AppState::Accepted, 4));
    cluster.single("s");
    cluster.settle();
    assert_eq!(cluster.node_of("s"), None, "{}", cluster.report("g").message);
    (5..8).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-4", "g-5", "g-6", "g-7"]);
}
