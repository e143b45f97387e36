//! When a pod that is to fail does, and what becomes of it when it may not.

use std::num::NonZeroU64;

use serde_json::{Value, json};

use super::super::settings::Settings;
use super::*;
use crate::core::base::ids::{Key, Uid};
use crate::core::decision::Decision;
use crate::core::event::PlaceholderName;
use crate::core::time::{Mono, Now, Wall};
use crate::shim::decode;
use crate::shim::observation::{Observation, Outcome, Seen, WatchFact};
use crate::shim::op::{Call, Kind};
use crate::shim::placeholder::{self, Blueprint, PlaceholderConfig};

/// Longer than any pause before another try.
const LONG_MS: u64 = 60_000;
/// How finely time passes.
const TICK_MS: u64 = 100;

/// A controller in a cluster without nodes, in which everything is listed.
struct Bench {
    controller: Controller,
    batch: Vec<Observation>,
    calls: Vec<Call>,
    now_ms: u64,
    version: u64,
}

impl Bench {
    /// One that has seen this pod, which is to fail.
    fn failing(pod: &Value) -> Self {
        let mut bench = Self::new();
        bench.see(pod);
        bench.decide(pod);
        bench
    }

    fn new() -> Self {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "pause".into(),
            ignore_foreign_markers: false,
            dialects: Vec::new(),
            default_wait_timeout_seconds: 600,
            submitters: true,
            max_placeholders: 5_000,
            instance: 1,
        };
        let controller = Controller::new(settings);
        let mut bench = Self { controller, batch: Vec::new(), calls: Vec::new(), now_ms: 1_000, version: 10 };
        for kind in Kind::ALL {
            bench.told(kind, WatchFact::ListBegin);
            bench.told(kind, WatchFact::ListEnd);
        }
        bench.step();
        bench
    }

    fn told(&mut self, kind: Kind, fact: WatchFact) {
        self.batch.push(Observation::Watch { kind, conn: 1, fact });
    }

    /// A pod in its next version.
    fn next(&mut self, pod: &Value) -> Seen {
        self.version += 1;
        let mut pod = pod.clone();
        pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
        decode::seen(Kind::Pod, &pod.to_string()).expect("it has a name")
    }

    /// The watch shows a pod in its next version.
    fn see(&mut self, pod: &Value) {
        let seen = self.next(pod);
        self.told(Kind::Pod, WatchFact::Upsert(seen));
        self.step();
    }

    /// The core decides that a pod fails.
    fn decide(&mut self, pod: &Value) {
        let name = pod["metadata"]["name"].as_str().expect("it has a name");
        let ask = self.controller.ledger.ask(&Key::new("ns", name)).expect("it was seen");
        self.controller.core.books.asks[ask].failing = true;
        self.controller.carry_out(Decision::Fail(ask, Code::ReservationLost, "too late".into()));
    }

    /// Calls that neither fail nor look at a pod are granted.
    fn step(&mut self) {
        let now = Now { mono: Mono(self.now_ms), wall: Wall(1_700_000_000_000 + self.now_ms.cast_signed()) };
        for call in self.controller.step(now, &mut self.batch).calls {
            if matches!(call.op, Op::FailPod { .. } | Op::GetPod { .. }) {
                self.calls.push(call);
            } else {
                self.batch.push(Observation::Outcome { id: call.id, outcome: Outcome::Ok(None) });
            }
        }
    }

    /// The calls of the next minute that fail pods, or look at them.
    fn calls(&mut self) -> Vec<Call> {
        self.step();
        for _ in 0..LONG_MS / TICK_MS {
            self.now_ms += TICK_MS;
            self.step();
        }
        std::mem::take(&mut self.calls)
    }

    /// The only one of them.
    fn call(&mut self) -> Call {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }

    fn answer(&mut self, call: &Call, outcome: Outcome) {
        self.batch.push(Observation::Outcome { id: call.id, outcome });
        self.step();
    }

    /// Its failure met a conflict, and a look at it shows this.
    fn conflict(&mut self, pod: &Value) {
        let call = self.call();
        assert!(matches!(call.op, Op::FailPod { .. }), "{call:?}");
        self.answer(&call, refused(409));
        let look = self.call();
        assert!(matches!(look.op, Op::GetPod { .. }), "{look:?}");
        let seen = self.next(pod);
        self.answer(&look, Outcome::Ok(Some(Box::new(seen))));
    }

    /// Nothing is wanted of the pod any more.
    fn is_over(&mut self) {
        assert_eq!(self.calls().len(), 0);
        assert!(self.controller.failing.is_empty());
    }
}

fn refused(code: u16) -> Outcome {
    Outcome::Refused { code, reason: "".into(), message: "no".into(), retry_after: None }
}

/// A pod of ours without a node.
fn pod() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"schedulerName": "gangline", "containers": [{"name": "main"}]},
        "status": {"phase": "Pending"},
    })
}

/// The same with another value somewhere.
fn with(pointer: &[&str], value: Value) -> Value {
    let mut pod = pod();
    let field = pointer.iter().fold(&mut pod, |at, name| &mut at[*name]);
    *field = value;
    pod
}

fn bound() -> Value {
    with(&["spec", "nodeName"], json!("n1"))
}

/// Pods that do not fail any more, and why.
fn past_failing() -> [(Value, &'static str); 4] {
    let deleted = json!("2026-01-01T00:00:00Z");
    [
        (bound(), "it has a node"),
        (with(&["status", "phase"], json!("Succeeded")), "it has ended"),
        (with(&["status", "phase"], json!("Failed")), "it has failed"),
        (with(&["metadata", "deletionTimestamp"], deleted), "it is being deleted"),
    ]
}

/// The failure in this version.
fn failure(version: u64) -> Op {
    Op::FailPod {
        pod: Key::new("ns", "p"),
        uid: Uid::new("u"),
        resource_version: NonZeroU64::new(version).expect("versions begin at 1"),
        reason: Code::ReservationLost,
        message: "too late".into(),
    }
}

#[test]
fn phase_reason_and_message_are_written_of_the_version_that_was_seen() {
    let mut bench = Bench::failing(&pod());
    let call = bench.call();
    assert_eq!(call.op, failure(11));
    bench.answer(&call, Outcome::Ok(None));
    bench.is_over();
    bench.see(&with(&["status", "phase"], json!("Failed")));
    bench.is_over();
}

#[test]
fn what_is_past_failing_when_the_call_would_leave_does_not_fail() {
    for (then, why) in past_failing() {
        let mut bench = Bench::failing(&pod());
        bench.see(&then);
        assert_eq!(bench.calls().len(), 0, "{why}");
        bench.is_over();
    }
    let mut bench = Bench::failing(&pod());
    let gone = bench.next(&pod());
    bench.told(Kind::Pod, WatchFact::Gone(gone));
    bench.is_over();
}

/// A failure without an answer is made anew, not repeated: by then the pod's gang may go on.
#[test]
fn what_is_to_fail_no_more_does_not_fail_by_a_call_that_had_no_answer() {
    for still in [true, false] {
        let mut bench = Bench::failing(&pod());
        let call = bench.call();
        let ask = bench.controller.ledger.ask(&Key::new("ns", "p")).expect("it was seen");
        bench.controller.core.books.asks[ask].failing = still;
        bench.answer(&call, Outcome::Unknown);
        assert_eq!(bench.calls().len(), usize::from(still));
    }
}

/// 01, 1.7: a pod that has a node is never failed, whoever has given it that node, and however late that is heard of.
#[test]
fn what_is_past_failing_when_the_call_arrives_does_not_fail() {
    for (then, why) in past_failing() {
        let mut bench = Bench::failing(&pod());
        bench.conflict(&then);
        assert_eq!(bench.calls().len(), 0, "{why}");
        bench.is_over();
    }
}

#[test]
fn one_that_was_changed_and_still_waits_fails_as_it_is_now() {
    let labelled = with(&["metadata", "labels"], json!({"team": "a"}));
    let mut bench = Bench::failing(&pod());
    bench.conflict(&labelled);
    let call = bench.call();
    assert_eq!(call.op, failure(12));
    // The watch tells of another change before the look does, which then shows nothing new.
    bench.answer(&call, refused(409));
    let look = bench.call();
    bench.see(&labelled);
    let seen = Seen { rv: bench.version, ..bench.next(&labelled) };
    bench.version -= 1;
    bench.answer(&look, Outcome::Ok(Some(Box::new(seen))));
    let call = bench.call();
    assert_eq!(call.op, failure(13));
    bench.answer(&call, Outcome::Ok(None));
    bench.is_over();
}

#[test]
fn a_refused_one_is_tried_again() {
    for (outcome, is_denied) in
        [(refused(403), true), (refused(422), false), (refused(503), false), (Outcome::Unknown, false)]
    {
        let mut bench = Bench::failing(&pod());
        let call = bench.call();
        bench.answer(&call, outcome);
        let denied = bench.controller.stats().denied;
        assert_eq!(denied.contains(&("pods/status", "patch")), is_denied);
        let again = bench.call();
        assert_eq!(again.op, failure(11));
        bench.answer(&again, Outcome::Ok(None));
        assert!(bench.controller.stats().denied.is_empty(), "it works again");
        bench.is_over();
    }
}

/// Whatever says so of a pod that nobody has changed.
#[test]
fn a_conflict_without_a_cause_is_tried_again_ever_more_rarely() {
    let mut bench = Bench::failing(&pod());
    let there = Seen { rv: bench.version, ..bench.next(&pod()) };
    let mut tries = 0;
    for _ in 0..LONG_MS / TICK_MS {
        bench.step();
        for call in std::mem::take(&mut bench.calls) {
            let looks = matches!(call.op, Op::GetPod { .. });
            tries += usize::from(!looks);
            bench.answer(&call, if looks { Outcome::Ok(Some(Box::new(there.clone()))) } else { refused(409) });
        }
        bench.now_ms += TICK_MS;
    }
    assert!((4..=8).contains(&tries), "{tries} times a minute");
    assert_eq!(bench.controller.failing.len(), 1, "and is not given up");
}

#[test]
fn one_that_is_not_found_is_gone() {
    let mut bench = Bench::failing(&pod());
    let call = bench.call();
    bench.answer(&call, refused(404));
    bench.is_over();
    assert_eq!(bench.controller.ledger.ask(&Key::new("ns", "p")), None);
}

/// What cannot be read may have a node.
#[test]
fn one_that_cannot_be_read_fails_when_it_can() {
    let mut bench = Bench::failing(&pod());
    bench.see(&with(&["spec", "containers"], json!("none")));
    assert_eq!(bench.calls().len(), 0);
    bench.see(&pod());
    let call = bench.call();
    assert_eq!(call.op, failure(13));
}

#[test]
fn neither_a_placeholder_nor_a_pod_that_is_being_bound_fails() {
    let mut bench = Bench::new();
    let (group, uid) = (Key::new("ns", "g"), Uid::new("g"));
    let name = PlaceholderName { group, uid, incarnation: 1, seat: 0, attempt: 0 };
    let scheduler_name = "gangline".into();
    let config =
        PlaceholderConfig { scheduler_name, image: "pause".into(), queue: "root.default".into(), submitter: None };
    let made = placeholder::pod(&name, &Blueprint { application: "g".into(), ..Blueprint::default() }, &config);
    let mut made = serde_json::to_value(made).expect("a pod is JSON");
    made["metadata"]["uid"] = json!("made");
    bench.see(&made);
    bench.decide(&made);
    assert_eq!(bench.calls().len(), 0);

    let mut bench = Bench::new();
    let node = json!({"metadata": {"name": "n1", "uid": "n1", "resourceVersion": "5"},
                      "status": {"allocatable": {"cpu": "1", "pods": "9"}}});
    let seen = decode::seen(Kind::Node, &node.to_string()).expect("it has a name");
    bench.told(Kind::Node, WatchFact::Upsert(seen));
    bench.see(&pod());
    bench.decide(&pod());
    assert_eq!(bench.calls().len(), 0, "its Binding is in flight");
}
