//! Timeouts and styles (01, 1.7; seed 000/001 "Gang scheduling timeout").

use gangline::core::decision::Decision;
use gangline::core::event::{GroupSpec, Place, Role, Style};
use gangline::core::model::countdown::{Deadline, Timeouts};
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, listed, timeouts};

/// Three held seats, for which nobody comes; a pod with a scheduling gate is there.
fn held(style: Style) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    let spec = GroupSpec { style, timeouts: both(60), ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    let gated = cluster.pod("g-0", Role::Member { group: "g".into() });
    cluster.show(gated);
    cluster.change("g-0", |spec| spec.place = Place::Gated);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3), "{:#?}", cluster.log);
    cluster
}

/// Placeholders hold for so many seconds, and completion takes 30.
fn both(seconds: u64) -> Timeouts {
    timeouts(Deadline::Completion, 30).with(Deadline::Placeholder, Some(1_000 * seconds))
}

fn states(cluster: &Cluster) -> (AppState, usize, &'static str) {
    (cluster.state("g"), cluster.placeholders(), cluster.report("g").reason)
}

/// 01, 1.7: "placeholder … starts: first placeholder allocated (seed)"; seed 000: "can thus not be linked to the creation
/// of the application or the asks"; visible in status, and moved by an edit.
#[test]
fn the_placeholder_timeout_starts_with_the_first_placeholder_that_has_a_node() {
    let mut cluster = Cluster::default().queue("root.q", 4);
    let spec = GroupSpec { timeouts: both(60), ..cluster.all("g", 2) };
    cluster.submit("g", "root.q", spec.clone());
    cluster.settle().wait(300_000).settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").deadlines.of(Deadline::Placeholder)), (2, None), "no node");
    let mut cluster = cluster.nodes(1, 2);
    cluster.settle();
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Placeholder), Some(cluster.now.wall.after(60_000)));
    cluster.wait(10_000);
    cluster.apply("g", GroupSpec { queue: Some("root.q".into()), generation: 2, timeouts: both(20), ..spec });
    cluster.settle().wait(9_999).settle();
    assert_eq!(states(&cluster), (AppState::Accepted, 2, "WaitingForMembers"));
    cluster.wait(1).settle();
    assert_eq!(states(&cluster).1, 0);
}

/// 01, 1.7 Soft: "Accepted → Resuming; all placeholders are released; when the last is gone the real pods are scheduled as
/// ordinary pods"; 1.9: Resuming → Waiting when no pod came.
#[test]
fn soft_places_pods_one_by_one() {
    let mut cluster = held(Style::Soft);
    cluster.taken();
    cluster.wait(59_999).settle();
    assert_eq!((cluster.state("g"), cluster.taken()), (AppState::Accepted, vec![]));
    cluster.wait(1);
    assert_eq!(states(&cluster), (AppState::Resuming, 3, "Resuming"));
    cluster.settle();
    assert_eq!(
        cluster.taken(),
        ["release ph-g-1-0-0 timeout", "release ph-g-1-1-0 timeout", "release ph-g-1-2-0 timeout"]
    );
    assert_eq!((states(&cluster), cluster.cpu("root.q")), ((AppState::Waiting, 0, "WaitingForCompletion"), 0));
    cluster.change("g-0", |spec| spec.place = Place::Pending);
    cluster.settle();
    assert_eq!((states(&cluster), cluster.bound()), ((AppState::Running, 0, "PlaceholderTimeout"), vec!["g-0".into()]));
    assert!(cluster.report("g").message.ends_with("1 of 3 members runs"), "{}", cluster.report("g").message);
    assert!(!cluster.report("g").placed, "not all are");
}

/// 03, 3.2: whoever waits is told why: also a pod of a gang whose placeholders leave.
#[test]
fn pods_are_told_that_placeholders_leave_first() {
    let mut cluster = held(Style::Soft);
    cluster.wait(60_000).carry_out_shows().step();
    assert_eq!((states(&cluster).0, cluster.placeholders()), (AppState::Resuming, 3));
    cluster.member("g-1", "g");
    cluster.step();
    assert_eq!(cluster.why("g-1"), Some("PlaceholdersLeaving"));
    cluster.settle();
    assert!(cluster.bound().contains(&"g-1".into()), "{:#?}", cluster.log);
}

/// As above: the pods wait until the last placeholder is gone, and no placeholder is made again, by whichever process.
#[test]
fn soft_waits_for_the_last_placeholder() {
    for restarts in [false, true] {
        let mut cluster = held(Style::Soft);
        cluster.wait(60_000);
        cluster.change("g-0", |spec| spec.place = Place::Pending);
        // Statuses, and what follows from them: the deletions are decided and not carried out.
        let shows = std::mem::take(&mut cluster.decisions);
        shows.into_iter().for_each(|decision| cluster.carry_out(decision));
        cluster.step();
        if restarts {
            cluster.restart().step();
        }
        cluster.carry("release ph-g-1-0-0").carry("release ph-g-1-1-0");
        assert_eq!((states(&cluster), cluster.bound().len()), ((AppState::Resuming, 1, "Resuming"), 1), "{restarts}");
        assert!(cluster.report("g").message.contains("1 placeholder leaves"), "{}", cluster.report("g").message);
        cluster.settle();
        assert_eq!((states(&cluster).0, cluster.bound()), (AppState::Running, vec!["g-0".into()]), "{restarts}");
        cluster.restart().settle().wait(300_000).settle();
        assert_eq!((states(&cluster), cluster.bound().len()), ((AppState::Running, 0, "PlaceholderTimeout"), 1));
        cluster.member("g-1", "g");
        cluster.member("g-2", "g");
        cluster.settle();
        assert_eq!((states(&cluster).2, cluster.report("g").placed), ("Running", true), "all came after all");
    }
}

/// 01, 1.7 Hard: "Accepted → Killed … releases (all TIMEOUT) … the application leaves the queue when the last placeholder
/// is gone. Real pods that never got a node get pod phase Failed"; seed 000: "Entering into the killed state must move
/// the application out of the queue automatically".
#[test]
fn hard_fails_pods_and_leaves_the_queue() {
    let mut cluster = held(Style::Hard);
    cluster.taken();
    cluster.wait(60_000);
    assert_eq!(
        (states(&cluster), cluster.taken()),
        ((AppState::Killed, 3, "PlaceholderTimeout"), vec![]),
        "status first"
    );
    cluster.carry_out_shows().step();
    let expected = [
        "release ph-g-1-0-0 timeout",
        "release ph-g-1-1-0 timeout",
        "release ph-g-1-2-0 timeout",
        "fail g-0 PlaceholderTimeout",
    ];
    let mut taken = cluster.taken();
    taken.sort_by_key(|line| line.starts_with("fail"));
    assert_eq!(taken, expected);
    assert_eq!(cluster.applications("root.q"), [(AppState::Killed, 1)]);
    cluster.settle();
    assert_eq!(
        (states(&cluster), cluster.applications("root.q")),
        ((AppState::Killed, 0, "PlaceholderTimeout"), vec![])
    );
    assert!(matches!(cluster.pods["g-0"].1.place, Place::Failed { .. }));
    let sentence =
        "the gang did not start within 60 s after its first placeholder had a node (placeholderTimeoutSeconds)";
    assert!(cluster.report("g").message.starts_with(sentence), "{}", cluster.report("g").message);
}

/// 02, 2.1: "Killed, Resuming and timed-out are acknowledged in status before the first delete that follows from them", and
/// a status that can never be written does not keep the room for ever.
#[test]
fn nothing_is_deleted_before_status_says_so() {
    for style in [Style::Soft, Style::Hard] {
        let mut cluster = held(style);
        cluster.taken();
        cluster.wait(60_000);
        cluster.decisions.clear();
        cluster.wait(29_999);
        assert_eq!((cluster.taken(), cluster.placeholders()), (vec![], 3), "the status is lost");
        cluster.wait(1);
        assert_eq!(cluster.taken().iter().filter(|line| line.starts_with("release")).count(), 3);
    }
}

/// 01, 1.11: whatever of it had been done when the process died: the next one does the same, and reserves nothing.
#[test]
fn a_timeout_survives_every_restart() {
    for style in [Style::Soft, Style::Hard] {
        for done in 0..6 {
            let mut cluster = held(style);
            cluster.wait(60_000);
            for _ in 0..done {
                if let Some(decision) = (!cluster.decisions.is_empty()).then(|| cluster.decisions.remove(0)) {
                    cluster.carry_out(decision);
                    cluster.step();
                }
            }
            cluster.taken();
            cluster.restart().settle();
            let end = if style == Style::Hard { AppState::Killed } else { AppState::Waiting };
            assert_eq!((cluster.state("g"), cluster.placeholders()), (end, 0), "{style:?} {done}: {:#?}", cluster.log);
            assert!(!cluster.taken().iter().any(|line| line.starts_with("create")), "{style:?} {done}");
            let failed = matches!(cluster.pods["g-0"].1.place, Place::Failed { .. });
            assert_eq!(failed, style == Style::Hard, "{done}");
        }
    }
}

/// 01, 1.7: "After the first real pod was bound: leftover placeholders are released with TIMEOUT, the application goes on
/// in either style."
#[test]
fn after_the_start_leftovers_are_released() {
    for style in [Style::Soft, Style::Hard] {
        let mut cluster = held(style);
        cluster.wait(30_000);
        cluster.change("g-0", |spec| spec.place = Place::Pending);
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.placeholders(), cluster.bound().len()), (AppState::Running, 2, 3));
        cluster.taken();
        cluster.wait(30_000).settle();
        assert_eq!(cluster.taken(), ["release ph-g-1-1-0 timeout", "release ph-g-1-2-0 timeout"], "{style:?}");
        assert_eq!((states(&cluster), cluster.cpu("root.q")), ((AppState::Running, 0, "PlaceholderTimeout"), 1_000));
        // A process that starts now holds no seats either, and a member that comes is an ordinary pod.
        cluster.restart().settle();
        assert_eq!((states(&cluster), cluster.taken()), ((AppState::Running, 0, "PlaceholderTimeout"), vec![]));
        cluster.member("g-1", "g");
        cluster.settle();
        assert_eq!((states(&cluster).0, cluster.bound().len()), (AppState::Running, 2));
    }
}

/// 01, 1.7: "ends: every seat Taken or released".
#[test]
fn a_gang_whose_seats_are_taken_has_no_placeholder_timeout() {
    let mut cluster = held(Style::Hard);
    cluster.change("g-0", |spec| spec.place = Place::Pending);
    cluster.member("g-1", "g");
    cluster.member("g-2", "g");
    cluster.settle();
    assert_eq!(
        (states(&cluster), cluster.report("g").deadlines.of(Deadline::Placeholder)),
        ((AppState::Running, 0, "Running"), None)
    );
    cluster.wait(600_000).settle();
    assert_eq!(states(&cluster), (AppState::Running, 0, "Running"));
}

/// As above: a swap that goes on when the time is over is no seat that nobody took.
#[test]
fn a_member_that_comes_in_the_last_moment_is_in_time() {
    let mut cluster = held(Style::Soft);
    cluster.change("g-0", |spec| spec.place = Place::Pending);
    cluster.member("g-1", "g");
    cluster.settle().wait(59_999);
    cluster.member("g-2", "g");
    cluster.step();
    assert_eq!(cluster.report("g").seats.releasing, 1);
    cluster.wait(1).settle();
    assert_eq!((states(&cluster), &cluster.report("g").timed_out), ((AppState::Running, 0, "Running"), &None));
}

/// 02, 2.1: "jumps of the wall clock neither fire nor freeze anything": nor the pause before another life.
#[test]
fn no_pause_runs_on_the_wall_clock() {
    const DAY_MS: i64 = 86_400_000;
    for jump in [-DAY_MS, DAY_MS] {
        let mut cluster = held(Style::Hard);
        cluster.wait(60_000).settle();
        let mut pod = cluster.pod("again", Role::Member { group: "g".into() });
        pod.created = cluster.now.wall.0 / 1_000 + 1;
        cluster.show(pod);
        cluster.settle();
        assert_eq!(states(&cluster), (AppState::Killed, 0, "WaitingForNextLife"));
        cluster.now.wall.0 += jump;
        cluster.wait(19_999).settle();
        assert_eq!(cluster.state("g"), AppState::Killed, "{jump}");
        cluster.wait(1);
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2), "{jump}");
    }
}

/// 01, 1.8: "An ID may be used again after … Killed …: a new incarnation, from New"; "the nth life in a row that never
/// started begins at the earliest min(2^n, 60) × 10 s after the last".
#[test]
fn a_killed_application_lives_again_after_a_pause() {
    let mut cluster = held(Style::Hard);
    cluster.wait(60_000).settle();
    for (lives, pause) in [(1, 20_000), (2, 40_000), (3, 80_000)] {
        let killed = cluster.now;
        assert_eq!(cluster.report("g").unstarted_lives, lives);
        let name = format!("again-{lives}");
        let mut pod = cluster.pod(&name, Role::Member { group: "g".into() });
        pod.created = killed.wall.0 / 1_000 + 1;
        cluster.wait(1_000);
        cluster.show(pod);
        cluster.settle();
        assert_eq!(states(&cluster), (AppState::Killed, 0, "WaitingForNextLife"));
        assert_eq!(cluster.why(&name), Some("WaitingForNextLife"));
        cluster.restart().settle().wait(pause - 1_001).settle();
        assert_eq!(cluster.state("g"), AppState::Killed, "{lives}");
        cluster.change(&name, |spec| spec.place = Place::Gated);
        cluster.change(&name, |spec| spec.place = Place::Pending);
        cluster.step();
        cluster.wait(1);
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, lives + 1), "{lives}");
        cluster.change(&name, |spec| spec.place = Place::Gated);
        cluster.settle();
        assert_eq!(cluster.report("g").seats.held, 3);
        cluster.wait(60_000).settle();
        assert_eq!(cluster.state("g"), AppState::Killed);
    }
    let mut spec = cluster.groups["g"].clone();
    spec.generation = 2;
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(
        (cluster.state("g"), cluster.report("g").seats.held),
        (AppState::Accepted, 3),
        "a new spec waits for nothing"
    );
}

/// A gang of two at the gate of a full queue.
fn at_the_gate() -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 2);
    cluster.other("o", "root.q", 1);
    let timeouts = both(900).with(Deadline::Admission, Some(60_000));
    let spec = GroupSpec { timeouts, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.settle().wait(300_000).settle();
    assert_eq!((states(&cluster).0, cluster.report("g").deadlines.of(Deadline::Admission)), (AppState::Accepted, None));
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Admission), Some(cluster.now.wall.after(60_000)));
    cluster
}

/// 01, 1.7: "admission … starts: first pod of this incarnation; ends: gate opened; Rejected with the reason it waited for".
#[test]
fn who_does_not_pass_the_gate_in_time_is_rejected() {
    let mut cluster = at_the_gate();
    cluster.wait(59_999).settle();
    assert_eq!(states(&cluster), (AppState::Accepted, 0, "WaitingForQuota"));
    cluster.wait(1).settle();
    let sentence = "the gang did not pass the gate within 60 s (admissionTimeoutSeconds): the gang asks for 2 cpu, but queue \
                    root.q has 1 of 2 left";
    for restarts in [false, true] {
        if restarts {
            cluster.restart().settle();
        }
        assert_eq!(
            (states(&cluster), &*cluster.report("g").message),
            ((AppState::Rejected, 0, "AdmissionTimeout"), sentence)
        );
        assert_eq!(cluster.why("g-0"), Some("AdmissionTimeout"));
        // Room alone does not bring it back, nor does a pod that joins those.
        cluster.set_queue("root.q", 3);
        cluster.settle();
        assert_eq!(states(&cluster), (AppState::Rejected, 0, "AdmissionTimeout"));
    }
    let mut edited = cluster.clone();
    let spec = GroupSpec { generation: 2, ..edited.groups["g"].clone() };
    edited.apply("g", spec);
    edited.settle();
    assert_eq!((edited.state("g"), edited.report("g").incarnation), (AppState::Running, 2), "changed");
    ["g-0", "g-1"].into_iter().for_each(|pod| cluster.delete(pod));
    for number in 2..4 {
        let mut pod = cluster.pod(&format!("g-{number}"), Role::Member { group: "g".into() });
        pod.created = cluster.now.wall.0 / 1_000 + 5;
        cluster.show(pod);
    }
    cluster.settle();
    assert_eq!(states(&cluster), (AppState::Rejected, 0, "WaitingForNextLife"));
    cluster.wait(20_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2), "submitted again");
}

/// As above: a gang that passes in time is not rejected later.
#[test]
fn the_admission_timeout_ends_at_the_gate() {
    let mut cluster = at_the_gate();
    cluster.wait(59_999);
    cluster.set_queue("root.q", 3);
    cluster.settle().wait(60_000).settle();
    assert_eq!(cluster.state("g"), AppState::Running);
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Admission), None);
}

/// 01, 1.7: "wait … first member that gets a node without all getting one: … Strict its first plan that places some but not
/// all; … the gang is marked timed out and is not scheduled again until it is resubmitted or changed".
#[test]
fn who_finds_nodes_for_some_only_is_rejected_in_time() {
    let mut cluster = Cluster::default();
    let timeouts = both(900).with(Deadline::Wait, Some(60_000));
    let spec = GroupSpec { timeouts, ..cluster.direct("g", 2) };
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle().wait(300_000).settle();
    assert_eq!(
        (states(&cluster), cluster.report("g").deadlines.of(Deadline::Wait)),
        ((AppState::Accepted, 0, "WaitingForCapacity"), None)
    );
    let mut cluster = cluster.nodes(1, 1);
    cluster.settle();
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Wait), Some(cluster.now.wall.after(60_000)));
    cluster.restart().settle().wait(59_999).settle();
    assert_eq!(states(&cluster), (AppState::Accepted, 0, "WaitingForCapacity"));
    cluster.wait(1).settle();
    assert_eq!((states(&cluster), cluster.why("g-0")), ((AppState::Rejected, 0, "WaitTimeout"), Some("WaitTimeout")));
    cluster.restart();
    let mut cluster = cluster.nodes(2, 4);
    cluster.settle();
    assert_eq!((states(&cluster), cluster.bound().len()), ((AppState::Rejected, 0, "WaitTimeout"), 0), "it is over");
}

/// 01, 1.7: "wait … ends: satisfied": a gang that has all its seats waits for members, and not for nodes.
#[test]
fn the_wait_timeout_ends_with_the_last_seat() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let timeouts = both(900).with(Deadline::Wait, Some(60_000));
    let spec = GroupSpec { timeouts, ..cluster.all("g", 2) };
    cluster.apply("g", spec);
    cluster.settle();
    assert!(cluster.report("g").deadlines.of(Deadline::Wait).is_some());
    let mut cluster = cluster.nodes(2, 1);
    cluster.settle();
    assert_eq!((cluster.report("g").seats.held, cluster.report("g").deadlines.of(Deadline::Wait)), (2, None));
    cluster.wait(60_000).settle();
    assert_eq!(states(&cluster), (AppState::Accepted, 2, "WaitingForMembers"));
}

/// 01, 1.9: "Completed, Killed → a new incarnation": who changes a Killed gang keeps the pods that have not failed yet,
/// whether that was decided or not.
#[test]
fn pods_of_a_gang_that_was_changed_do_not_fail() {
    for decided in [false, true] {
        let mut cluster = held(Style::Hard);
        cluster.wait(60_000);
        if decided {
            cluster.carry_out_shows().step();
            assert!(cluster.waiting().iter().any(|line| line.starts_with("fail")));
            cluster.carry("release");
        }
        let spec = GroupSpec { generation: 2, queue: Some("root.q".into()), ..cluster.groups["g"].clone() };
        cluster.apply("g", spec);
        cluster.step();
        // The controller makes a failure only of a pod that is still to fail.
        cluster.decisions.retain(|decision| !matches!(decision, Decision::Fail(..)));
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2), "{decided}");
        cluster.change("g-0", |spec| spec.place = Place::Pending);
        cluster.settle();
        assert_eq!(
            (cluster.state("g"), cluster.bound().contains(&"g-0".into())),
            (AppState::Running, true),
            "{decided}"
        );
    }
}

/// 02, 2.1: of two task groups one says that the gang was killed, and the process dies: the next one fails the pods that
/// were there before it takes those that came since for a new life.
#[test]
fn pods_fail_before_the_next_life_begins() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    for name in ["g", "h"] {
        let gang = listed(["g", "h"]);
        let spec =
            GroupSpec { style: Style::Hard, timeouts: both(60), gang, application: "a".into(), ..cluster.all(name, 1) };
        cluster.submit(name, "root.q", spec);
        let gated = cluster.pod(&format!("{name}-0"), Role::Member { group: name.into() });
        cluster.show(gated);
        cluster.change(&format!("{name}-0"), |spec| spec.place = Place::Gated);
    }
    cluster.settle().wait(60_000);
    let before = cluster.statuses["h"].clone();
    cluster.carry_out_shows();
    cluster.statuses.insert("h".into(), before);
    for (name, created) in [("g-1", 200), ("h-1", 200)] {
        let mut pod = cluster.pod(name, Role::Member { group: name[..1].into() });
        pod.created = created;
        cluster.show(pod);
    }
    cluster.restart().wait(100_000);
    assert_eq!(cluster.state("g"), AppState::Killed);
    cluster.settle();
    let failed = |name: &str| matches!(cluster.pods[name].1.place, Place::Failed { .. });
    assert_eq!(["g-0", "h-0", "g-1", "h-1"].map(failed), [true, true, false, false], "{:#?}", cluster.log);
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2));
}

/// 01, 1.5: a TaskGroup that is made anew while placeholders leave begins a new gang, also beside a driver.
#[test]
fn a_task_group_made_anew_while_resuming_is_a_gang() {
    let mut cluster = held(Style::Soft);
    cluster.originator("driver", "g");
    cluster.change("driver", |spec| spec.place = Place::Gated);
    cluster.settle().wait(60_000);
    assert_eq!(cluster.state("g"), AppState::Resuming);
    let spec = cluster.groups["g"].clone();
    cluster.lose_group("g");
    cluster.apply("g", GroupSpec { uid: gangline::core::base::ids::Uid::new("uid-g-anew"), ..spec });
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3), "{:#?}", cluster.log);
}

/// 01, 1.7 Hard: "The shim deletes the pods of pending placeholders, then of allocated ones."
#[test]
fn pending_placeholders_go_first() {
    let mut cluster = held(Style::Hard);
    cluster.wait(59_999).settle();
    cluster.delete("ph-g-1-2-0");
    cluster.step();
    // The next one is there in the moment in which the time is over.
    let creation = cluster.decisions.iter().position(|one| cluster.text(one).as_deref() == Some("create g/2"));
    let creation = cluster.decisions.remove(creation.expect("the seat is planned again"));
    cluster.carry_out(creation);
    cluster.wait(1).taken();
    cluster.carry_out_shows().step();
    let releases: Vec<_> = cluster.taken().into_iter().filter(|line| line.starts_with("release")).collect();
    let expected = ["ph-g-1-2-1", "ph-g-1-0-0", "ph-g-1-1-0"].map(|name| format!("release {name} timeout"));
    assert_eq!(releases, expected);
}

/// 01, 1.7 Hard: "a pod that has a node is never failed": here another scheduler gave it one just before.
#[test]
fn who_has_a_node_does_not_fail() {
    for decided in [false, true] {
        let mut cluster = held(Style::Hard);
        cluster.member("g-1", "g");
        cluster.change("g-1", |spec| spec.place = Place::Gated);
        cluster.settle().wait(60_000);
        if decided {
            cluster.carry_out_shows().step();
            assert_eq!(cluster.logged("fail g-1"), 1);
            // The call names the version without a node, and is refused.
            cluster.decisions.retain(|decision| !matches!(decision, Decision::Fail(..)));
        }
        cluster.taken();
        cluster.change("g-1", |spec| spec.place = Place::On { node: "n0".into(), running: true });
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.logged("fail g-1"), cluster.node_of("g-1")), (0, Some("n0".into())), "{decided}");
        assert_eq!((cluster.placeholders(), cluster.cpu("root")), (0, 1_000), "{decided}: {:#?}", cluster.log);
    }
}

/// 01, 1.7 wait: "is not scheduled again until it is resubmitted or changed"; seed 000 "AllocationAskRelease": pending
/// placeholders are released with TIMEOUT.
#[test]
fn who_found_nodes_for_some_only_comes_back_when_it_is_changed_or_resubmitted() {
    for changed in [true, false] {
        let mut cluster = Cluster::default().nodes(1, 1);
        let timeouts = both(900).with(Deadline::Wait, Some(60_000));
        let spec = GroupSpec { timeouts, ..cluster.all("g", 2) };
        cluster.apply("g", spec);
        cluster.member("g-0", "g");
        cluster.settle().taken();
        cluster.wait(60_000).settle();
        assert_eq!(cluster.taken(), ["release ph-g-1-0-0 timeout", "release ph-g-1-1-0 timeout"]);
        cluster.node("n1", 1);
        cluster.settle().wait(600_000).settle();
        assert_eq!(states(&cluster), (AppState::Rejected, 0, "WaitTimeout"));
        if changed {
            let spec = GroupSpec { generation: 2, ..cluster.groups["g"].clone() };
            cluster.apply("g", spec);
        } else {
            cluster.delete("g-0");
            let mut pod = cluster.pod("g-1", Role::Member { group: "g".into() });
            pod.created = cluster.now.wall.0 / 1_000;
            cluster.show(pod);
        }
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2), "{changed}");
        assert_eq!((cluster.report("g").seats.held, cluster.report("g").timed_out.is_none()), (1, true), "{changed}");
    }
}

/// 01, 1.7: "admission": of a gang that was past the gate and goes back, since others took the quota meanwhile, it begins anew
/// then. (Number 147175011375405.)
#[test]
fn a_gang_that_goes_back_before_the_gate_waits_there_no_longer_than_it_may() {
    let mut cluster = Cluster::default().nodes(1, 1).queue("root.q", 2);
    let timeouts = both(900).with(Deadline::Admission, Some(60_000));
    let spec = GroupSpec { timeouts, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!(states(&cluster).2, "WaitingForCapacity");
    cluster.wait(100_000);
    cluster.other("o", "root.q", 1);
    cluster.settle();
    assert_eq!(states(&cluster).2, "WaitingForQuota");
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Admission), Some(cluster.now.wall.after(60_000)));
    cluster.wait(60_000).settle();
    assert_eq!(states(&cluster).2, "AdmissionTimeout");
}
