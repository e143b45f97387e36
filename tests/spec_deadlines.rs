//! Deadlines as such, each like every other: by which clock they run, over processes, and with edits (01, 1.7; 02, 2.1).

use gangline::core::event::{GroupSpec, Style};
use gangline::core::model::countdown::{Deadline, Timeouts};
use gangline::core::model::lifecycle::AppState;
use gangline::core::time::{Mono, Wall};
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::json;

use crate::support::cluster::{Cluster, timeouts};
use crate::support::driven::{Driven, group};
use crate::support::phases::{full_direct, unclaimed};

/// A day, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// Something that has just begun and may last 60 seconds.
struct Lasting {
    /// Which timeout bounds it; `None`: it is the hold of a seat.
    what: Option<Deadline>,
    cluster: Cluster,
    is_over: fn(&Cluster) -> bool,
}

impl Lasting {
    fn check(&self, is_over: bool, said: &str) {
        assert_eq!((self.is_over)(&self.cluster), is_over, "{:?} {said}: {:#?}", self.what, self.cluster.log);
    }

    /// It lasts for so long, and not a millisecond longer.
    fn lasts(&mut self, millis: u64, said: &str) {
        if millis > 0 {
            self.check(false, said);
            self.cluster.wait(millis - 1).settle();
            self.check(false, said);
            self.cluster.wait(1).settle();
        }
        self.check(true, said);
    }

    /// Its spec says so many seconds from now on; `None`: as long as it likes.
    fn edit(&mut self, seconds: Option<u64>) {
        let mut spec = self.cluster.groups["g"].clone();
        spec.generation += 1;
        match self.what {
            Some(what) => spec.timeouts = spec.timeouts.with(what, seconds.map(|seconds| 1_000 * seconds)),
            None => spec.seat_hold = 1_000 * seconds.unwrap_or(0),
        }
        self.cluster.apply("g", spec);
        self.cluster.settle();
    }
}

fn minute(what: Deadline) -> Timeouts {
    timeouts(Deadline::Completion, 30).with(what, Some(60_000))
}

/// Two members that wait: at the gate of a queue that is full, or for the second node.
fn two_wait(what: Deadline) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 1 + i64::from(what == Deadline::Admission)).queue("root.q", 2);
    if what == Deadline::Admission {
        cluster.other("other", "root.q", 1);
    }
    let spec = GroupSpec { timeouts: minute(what), ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    cluster
}

fn all() -> Vec<Lasting> {
    let is_rejected = |cluster: &Cluster| cluster.state("g") == AppState::Rejected;
    let mut ended = full_direct(2, 1);
    let spec = GroupSpec { timeouts: minute(Deadline::Completion), seat_hold: 0, ..ended.groups["g"].clone() };
    ended.apply("g", GroupSpec { generation: 2, ..spec });
    (0..2).for_each(|number| ended.delete(&format!("g-{number}")));
    ended.settle();
    let mut lost = full_direct(2, 1);
    lost.delete("g-1");
    lost.settle();
    vec![
        Lasting { what: Some(Deadline::Admission), cluster: two_wait(Deadline::Admission), is_over: is_rejected },
        Lasting {
            what: Some(Deadline::Placeholder),
            cluster: unclaimed(Style::Soft),
            is_over: |cluster| cluster.state("g") != AppState::Accepted,
        },
        Lasting { what: Some(Deadline::Wait), cluster: two_wait(Deadline::Wait), is_over: is_rejected },
        Lasting {
            what: Some(Deadline::Completion),
            cluster: ended,
            is_over: |cluster| cluster.state("g") == AppState::Completed,
        },
        Lasting { what: None, cluster: lost, is_over: |cluster| cluster.report("g").seats.kept == 0 },
    ]
}

/// 01, 1.7: "All deadlines are … visible in the TaskGroup's status"; the hold of a seat in its sentence.
#[test]
fn each_deadline_is_shown_while_it_runs() {
    for mut lasting in all() {
        let ends = lasting.cluster.now.wall.after(60_000);
        let report = lasting.cluster.report("g");
        match lasting.what {
            Some(what) => assert_eq!(report.deadlines.of(what), Some(ends), "{what}"),
            None => assert!(report.message.contains(&ends.to_string()), "{}", report.message),
        }
        lasting.lasts(60_000, "as it was set");
        let still = lasting.what.and_then(|what| lasting.cluster.report("g").deadlines.of(what));
        assert_eq!(still, None, "{:?}", lasting.what);
    }
}

/// 02, 2.1: "jumps of the wall clock neither fire nor freeze anything": a deadline runs on the clock of the process.
#[test]
fn no_deadline_runs_on_the_wall_clock() {
    for jump in [-DAY_MS, DAY_MS] {
        for mut lasting in all() {
            lasting.cluster.wait(30_000);
            let Wall(wall) = lasting.cluster.now.wall;
            lasting.cluster.now.wall = Wall(wall + jump);
            lasting.cluster.settle();
            lasting.lasts(30_000, &format!("after a jump of {jump} ms"));
        }
    }
}

/// 01, 1.7: "All deadlines are durable across a restart": time goes on while no process is there, one in the past is over at
/// once, and one that lies too far ahead (the clock was set back) is as far as it may be at most.
#[test]
fn each_deadline_goes_on_over_a_restart() {
    for (away, left) in [(20_000, 40_000), (59_999, 1), (60_000, 0), (DAY_MS, 0), (-DAY_MS, 60_000)] {
        for mut lasting in all() {
            let Wall(wall) = lasting.cluster.now.wall;
            (lasting.cluster.now.wall, lasting.cluster.now.mono) = (Wall(wall + away), Mono(7));
            lasting.cluster.restart().settle();
            // What is kept is memory (1.5).
            let left = if lasting.what.is_some() { left } else { 0 };
            lasting.lasts(left, &format!("after {away} ms without a process"));
        }
    }
}

/// 01, 1.2.4: "only timeouts can be changed", while they run too: it ends as if it had always been so long, and what is over
/// by that ends at once.
#[test]
fn each_deadline_changes_while_it_runs() {
    for (seconds, left) in [(45, 15_000), (90, 60_000), (31, 1_000), (30, 0), (10, 0)] {
        for mut lasting in all() {
            lasting.cluster.wait(30_000).settle();
            lasting.edit(Some(seconds));
            lasting.lasts(left, &format!("of {seconds} s from 30 s on"));
        }
    }
}

/// 01, 1.7, default "none": what waits without a limit waits on, also where the limit was taken away meanwhile.
#[test]
fn what_has_no_limit_any_more_lasts() {
    for mut lasting in all() {
        if matches!(lasting.what, Some(Deadline::Admission | Deadline::Wait)) {
            lasting.cluster.wait(59_999).settle();
            lasting.edit(None);
            lasting.cluster.wait(3_600_000).settle();
            lasting.check(false, "without a limit");
            assert_eq!(lasting.cluster.report("g").deadlines.of(lasting.what.expect("one of two")), None);
        }
    }
}

/// 01, 1.7: "placeholder … ends: every seat Taken or released": a gang that lost its room holds nothing, and has its whole
/// time again when it holds seats again (ADR 23).
#[test]
fn a_gang_that_holds_nothing_is_not_timed_out_for_what_it_held() {
    let mut cluster = Cluster::default().nodes(1, 3);
    let spec = GroupSpec { timeouts: minute(Deadline::Placeholder), ..cluster.all("g", 3) };
    cluster.apply("g", spec);
    cluster.settle().wait(50_000);
    cluster.lose_node("n0");
    cluster.settle();
    assert_eq!((cluster.report("g").seats.held, cluster.report("g").deadlines.of(Deadline::Placeholder)), (0, None));
    cluster.wait(60_000).settle();
    assert_eq!(cluster.state("g"), AppState::Accepted);
    cluster.node("n1", 3);
    cluster.settle();
    let ends = cluster.now.wall.after(60_000);
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Placeholder), Some(ends), "{:#?}", cluster.log);
    cluster.wait(59_999).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3));
}

/// 01, 1.7: a time that no clock reaches is no trouble (a cluster whose definitions are older may let it in).
#[test]
fn absurd_times_are_long_times() {
    for what in Deadline::ALL {
        for millis in [u64::MAX, u64::MAX / 2, 1 << 62] {
            let mut cluster = two_wait(what);
            let spec = cluster.groups["g"].clone();
            let timeouts = spec.timeouts.with(what, Some(millis));
            cluster.apply("g", GroupSpec { generation: 2, timeouts, ..spec });
            cluster.settle().wait(1 << 40).settle();
            cluster.restart().settle();
            assert_eq!(cluster.state("g"), AppState::Accepted, "{what} {millis}");
        }
    }
}

/// How many of these calls delete a pod.
fn deletions(calls: &[Call]) -> usize {
    calls.iter().filter(|call| matches!(call.op, Op::DeletePod { .. })).count()
}

/// 01, 1.7: "the gang is marked timed out (condition …)": of the placeholder timeout too, and nothing is deleted before
/// the watch shows that condition (02, 2.1).
#[test]
fn a_timeout_is_a_condition_before_anything_is_deleted() {
    let mut driven = Driven::synced();
    let spec = json!({"placeholderFor": "all", "placeholderTimeoutSeconds": 10, "style": "Hard"});
    driven.upsert(Kind::TaskGroup, &group(&spec));
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    let mut calls = Vec::new();
    for _ in 0..15 {
        driven.wait(1_000);
        let left = driven.taken();
        left.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        calls.extend(left);
    }
    let mut statuses = calls.iter().filter_map(|call| {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status.clone()) } else { None }
    });
    let last = statuses.next_back().expect("it is told");
    let marks: Vec<_> = last.conditions.iter().filter(|one| one.type_ == "TimedOut" && one.status == "True").collect();
    assert_eq!(marks.iter().map(|one| &*one.reason).collect::<Vec<_>>(), ["PlaceholderTimeout"]);
    assert_eq!((&*last.application_state, last.unstarted_lives, deletions(&calls)), ("Killed", 1, 0));
    let mut seen = group(&spec);
    seen["status"] = json!(last);
    driven.upsert(Kind::TaskGroup, &seen);
    assert_eq!(deletions(&driven.taken()), 2);
}
