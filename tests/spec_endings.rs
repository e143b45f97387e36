//! How gangs end: deleted, timed out, given up, replaced, and what the clock and late words do to it (01, 1.5, 1.7, 1.8, 1.10).

use std::collections::BTreeMap;

use gangline::core::base::ids::Uid;
use gangline::core::event::{AskSpec, Event, GroupSpec, Place, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, timeouts};
use crate::support::phases::{HOLD_MS, endings, full_direct, phases, timed_out};

fn state_and_kept(cluster: &Cluster) -> (AppState, u32) {
    (cluster.state("g"), cluster.report("g").seats.kept)
}

/// How much room all nodes have, in cores.
fn cores(cluster: &Cluster) -> usize {
    let cpu: i64 = cluster.nodes.values().map(|node| node.allocatable.base[0] / 1_000).sum();
    usize::try_from(cpu).expect("nodes have room")
}

/// 01, 1.5: "Deleting a TaskGroup: Gangline deletes its placeholders itself"; "unbound members park; running members stay
/// charged"; of kept seats: "nor does one whose TaskGroup is deleted". In every state, each placeholder once.
#[test]
fn a_task_group_deleted_in_any_state_leaves_its_running_members_only() {
    for (phase, mut cluster) in phases().into_iter().chain(endings()) {
        let decided = cluster.waiting();
        cluster.lose_group("g");
        cluster.member("late", "g");
        cluster.step();
        assert_eq!(cluster.scheduler.books.kept.iter().count(), 0, "{phase}: kept seats are given back at once");
        cluster.settle();
        assert_eq!(cluster.placeholders(), 0, "{phase}: {:#?}", cluster.log);
        let waiting = cluster.pods.iter().filter(|(_, (_, spec))| matches!(spec.place, Place::Pending));
        let reasons: BTreeMap<_, _> = waiting.map(|(name, _)| (name.as_str(), cluster.why(name))).collect();
        assert!(reasons.values().all(|why| *why == Some("TaskGroupNotFound")), "{phase}: {reasons:?}");
        assert!(reasons.contains_key("late"), "{phase}");
        let mut released: Vec<_> = cluster.log.iter().chain(&decided).filter(|line| line.starts_with("rel")).collect();
        let count = released.len();
        released.sort();
        released.dedup();
        assert_eq!(released.len(), count, "{phase}: {released:?}");
        let running = cluster.bound().len();
        assert_eq!(cluster.cpu("root"), 1_000 * i128::try_from(running).expect("it is small"), "{phase}");
        // All other room of the nodes is there for others.
        (running..cores(&cluster)).for_each(|number| cluster.single(&format!("other-{number}")));
        cluster.settle();
        assert_eq!(cluster.bound().len(), cores(&cluster), "{phase}: {:#?}", cluster.log);
        assert_eq!(cluster.clear_away(), [""; 0], "{phase}");
    }
}

/// A gang with placeholders that is Rejected, since it passed the gate or found its nodes too late.
fn rejected(deadline: Deadline) -> Cluster {
    let mut cluster = late(deadline);
    cluster.wait(60_000).settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Rejected, 0), "{deadline:?}");
    cluster
}

/// A gang of two whose admission timeout (the queue has room for one) or wait timeout (the node has) of 60 s begins now.
fn late(deadline: Deadline) -> Cluster {
    let quota = if deadline == Deadline::Admission { 2 } else { 9 };
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", quota);
    cluster.other("o", "root.q", 1);
    let spec = GroupSpec { timeouts: timeouts(deadline, 60), ..cluster.all("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    let ends = Some(cluster.now.wall.after(60_000));
    assert_eq!((cluster.state("g"), cluster.report("g").deadlines.of(deadline)), (AppState::Accepted, ends));
    cluster
}

/// 01, 1.7: "After Killed or Resuming the same pods never lead to a new reservation of the same incarnation"; of admission and
/// wait: "is not scheduled again until it is resubmitted or changed". A new process keeps to it, with room for all.
#[test]
fn a_new_process_reserves_nothing_for_what_has_timed_out() {
    let mut resuming = timed_out(Style::Soft);
    resuming.change("g-0", |spec| spec.place = Place::Pending);
    resuming.carry_out_shows().step().carry("release ph-g-1-0-0");
    assert_eq!((resuming.state("g"), resuming.placeholders()), (AppState::Resuming, 2));
    let mut killing = timed_out(Style::Hard);
    killing.carry_out_shows().step().carry("release ph-g-1-0-0");
    assert_eq!((killing.state("g"), killing.placeholders()), (AppState::Killed, 2));
    let mut killed = timed_out(Style::Hard);
    killed.settle();
    let all = [
        (resuming, AppState::Running),
        (killing, AppState::Killed),
        (killed, AppState::Killed),
        (rejected(Deadline::Admission), AppState::Rejected),
        (rejected(Deadline::Wait), AppState::Rejected),
    ];
    for (mut cluster, then) in all {
        cluster.taken();
        cluster.restart();
        cluster.node("n9", 9);
        cluster.set_queue("root.q", 9);
        cluster.settle().wait(600_000).settle();
        assert_eq!((cluster.state("g"), cluster.placeholders()), (then, 0), "{:#?}", cluster.log);
        assert_eq!(cluster.logged("create"), 0, "{:#?}", cluster.log);
        // After Soft the pods are ordinary ones.
        assert_eq!(cluster.logged("bind"), usize::from(then == AppState::Running), "{:#?}", cluster.log);
        assert_eq!(cluster.report("g").incarnation, 1);
    }
}

/// Carries out everything except the Binding of the third placeholder, which is never answered.
fn settle_without_the_third_seat(cluster: &mut Cluster) {
    cluster.step();
    while !cluster.decisions.is_empty() {
        for decision in std::mem::take(&mut cluster.decisions) {
            let text = cluster.text(&decision).unwrap_or_default();
            if !(text.starts_with("bind ph-g-") && text.split('-').nth(3) == Some("2")) {
                cluster.carry_out(decision);
            }
        }
        cluster.step();
    }
}

/// The owner of pods that failed makes another for each. How many.
fn make_anew(cluster: &mut Cluster, made: u32) -> u32 {
    let has_failed = |spec: &AskSpec| matches!(spec.place, Place::Failed { .. });
    let failed = cluster.pods.iter().filter(|(_, (_, spec))| has_failed(spec)).map(|(name, _)| name.clone());
    let failed: Vec<_> = failed.collect();
    let mut number = made;
    for name in failed {
        cluster.delete(&name);
        let pod = cluster.pod(&format!("g-{number}"), Role::Member { group: "g".into() });
        cluster.show(AskSpec { created: cluster.now.wall.0 / 1_000, ..pod });
        number += 1;
    }
    number - made
}

/// 01, 1.8: "An operator that re-creates pods for ever under a dead ID gets a visible terminal state and back-off, not an
/// endless loop: the nth life in a row that never started begins at the earliest min(2^n, 60) × 10 s after the last."
#[test]
fn an_owner_that_never_gives_up_gets_few_lives() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = GroupSpec { style: Style::Hard, timeouts: timeouts(Deadline::Placeholder, 10), ..cluster.all("g", 3) };
    cluster.apply("g", spec);
    cluster.members("g", 3);
    settle_without_the_third_seat(&mut cluster);
    let (mut made, mut state, mut life) = (3, cluster.state("g"), 1);
    let (mut killed, mut pause) = (0, 0);
    // Ten seconds each, and 20, 40, 80, 160, 320 and 600 s between them: the eighth would begin after 1890 s.
    for _ in 0..1_800 {
        made += make_anew(&mut cluster, made);
        cluster.wait(1_000);
        settle_without_the_third_seat(&mut cluster);
        let (was, now) = (state, cluster.now.mono.0);
        state = cluster.state("g");
        assert!(matches!(state, AppState::Accepted | AppState::Killed), "{state:?}");
        if was == AppState::Accepted && state == AppState::Killed {
            (killed, pause) = (now, 10_000 * 2_u64.pow(life).min(60));
        }
        if cluster.report("g").incarnation != life {
            assert!(now - killed >= pause, "life {life} ended at {killed}, and the next begins at {now}");
            life += 1;
        }
    }
    assert_eq!((cluster.report("g").incarnation, made), (7, 3 * 8), "pods fail once in a life");
    assert_eq!((state, cluster.why("g-23")), (AppState::Killed, Some("WaitingForNextLife")));
}

/// 01, 1.5: "A new member of the gang renews the others' holds, to at most twice the time since their loss": also where one
/// comes every ten seconds, after the last one failed or before it does.
#[test]
fn a_member_that_crashes_for_ever_holds_nothing_for_ever() {
    for comes_first in [false, true] {
        let mut cluster = full_direct(100, 10);
        (1..100).for_each(|number| cluster.delete(&format!("g-{number}")));
        cluster.settle();
        assert_eq!(state_and_kept(&cluster), (AppState::Running, 99));
        for round in 0..30 {
            cluster.wait(10_000).settle();
            let (last, next) = (round * 100, (round + 1) * 100);
            if comes_first {
                cluster.member(&format!("g-{next}"), "g");
                cluster.settle();
            }
            cluster.finish(&format!("g-{last}"), false);
            cluster.settle();
            cluster.delete(&format!("g-{last}"));
            if !comes_first {
                cluster.member(&format!("g-{next}"), "g");
            }
            cluster.settle();
            // Those that came kept the others' seats past the hold, and not past twice the hold. Of the last twelve that ran
            // something may still be kept; in a life that does not start none runs after the first, which failed at 10 s.
            let after = 10_000 * (round + 1);
            let left = if comes_first { 12 } else { usize::from(after < 2 * HOLD_MS + 10_000) };
            let (kept, cpu) = (cluster.scheduler.books.kept.iter().count(), cluster.cpu("root.q"));
            if after < 2 * HOLD_MS {
                assert!(kept >= 87 && cpu >= 87_000, "{comes_first} {after}: {kept}, {cpu}");
            } else {
                assert!(kept <= left && cpu <= 13_000, "{comes_first} {after}: {kept}, {cpu}");
            }
        }
    }
}

/// 01, 1.5: "running members stay charged under the UID in their annotation and never count for a successor of the same
/// name": one that comes in its place unseen; what it loses is kept for nobody.
#[test]
fn what_the_predecessors_lose_is_not_kept_for_a_successor() {
    let mut cluster = full_direct(3, 1);
    cluster.node("n9", 3);
    cluster.set_queue("root.q", 5);
    let spec = GroupSpec { uid: Uid::new("uid-g-2"), created: 30, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    (3..6).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((state_and_kept(&cluster), cluster.cpu("root.q")), ((AppState::Accepted, 0), 3_000));
    assert_eq!((cluster.report("g").members.scheduled, cluster.report("g").reason), (0, "WaitingForQuota"));
    cluster.finish("g-0", false);
    cluster.settle();
    assert_eq!((state_and_kept(&cluster), cluster.cpu("root.q")), ((AppState::Running, 0), 5_000));
    assert_eq!(
        (cluster.bound(), cluster.report("g").seats.taken),
        (["g-1", "g-2", "g-3", "g-4", "g-5"].map(String::from).to_vec(), 3)
    );
    assert_eq!(cluster.report("g").members.scheduled, 3);
}

/// 01, 1.8: "when no started pod of the application lives … that is a new incarnation": of two jobs under one TaskGroup one may
/// go; 1.5: "A running member beyond minMember takes over a lost seat at once, and nothing is kept."
#[test]
fn of_two_jobs_in_one_task_group_one_may_go() {
    for (gone, left) in [("a", "b"), ("b", "a")] {
        for fails in [false, true] {
            let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 8);
            let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 3) };
            cluster.submit("g", "root.q", spec);
            let of_job = |cluster: &mut Cluster, job: &str, number: u32| {
                let pod = cluster.pod(&format!("{job}-{number}"), Role::Member { group: "g".into() });
                cluster.show(AskSpec { controller: Some(Uid::new(job)), ..pod });
            };
            (0..3).for_each(|number| ["a", "b"].iter().for_each(|job| of_job(&mut cluster, job, number)));
            cluster.settle();
            let seats = cluster.report("g").seats;
            assert_eq!((cluster.bound().len(), seats.taken, seats.open), (6, 3, 0), "the others are beyond the seats");
            for number in 0..3 {
                let name = format!("{gone}-{number}");
                if fails {
                    cluster.finish(&name, false)
                } else {
                    cluster.delete(&name)
                }
                cluster.settle();
                assert_eq!((state_and_kept(&cluster), cluster.report("g").seats.taken), ((AppState::Running, 0), 3));
            }
            assert_eq!(cluster.cpu("root.q"), 3_000);
            of_job(&mut cluster, gone, 3);
            cluster.settle();
            assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 1));
            assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (4, 4_000));
            assert!(cluster.bound().contains(&format!("{left}-0")));
        }
    }
}

/// 01, 1.10: "Duplicate, late or unknown confirmations are legal inputs and change nothing": of each pod in each state, told
/// twice at once or once more when all is done.
#[test]
fn a_pod_that_goes_twice_goes_once() {
    for (phase, cluster) in phases().into_iter().chain(endings()) {
        for (name, (id, _)) in &cluster.pods {
            let mut once = cluster.clone();
            once.delete(name);
            let mut twice = once.clone();
            twice.tell(Event::AskGone(*id));
            once.step();
            twice.step();
            assert_eq!((twice.waiting(), twice.summary()), (once.waiting(), once.summary()), "{phase}: {name}");
            once.settle();
            let mut late = once.clone();
            late.tell(Event::AskGone(*id));
            late.step();
            assert_eq!((late.waiting(), late.summary()), (once.waiting(), once.summary()), "{phase}: {name}");
        }
    }
}
