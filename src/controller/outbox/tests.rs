//! What leaves when, and what follows from each answer.

use std::num::NonZeroU64;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::entries::EVENTS_MAX;
use super::*;
use crate::api::task_group::{TaskGroup, TaskGroupSpec};
use crate::core::base::ids::{Key, Uid};
use crate::core::codes::Code;
use crate::shim::observation::{Body, Seen};
use crate::shim::op::{GroupEdit, Kind};

pub(super) type Box_ = Outbox<&'static str>;

fn object(name: &str) -> Option<Object> {
    Some((Kind::Pod, Key::new("ns", name)))
}

pub(super) fn want(slot: Slot, key: &'static str) -> Want<&'static str> {
    Want::new(slot, key, (slot != Slot::Event).then(|| object(key)).flatten())
}

pub(super) fn op(slot: Slot, key: &str) -> Op {
    let (pod, uid) = (Key::new("ns", key), Uid::new("u1"));
    match slot {
        Slot::Bind => Op::Bind { pod, uid, node: "n1".into(), annotations: BTreeMap::new() },
        Slot::Delete => Op::DeletePod { pod, uid },
        Slot::Fail => fail(pod, uid),
        Slot::Create => Op::CreatePod(Box::default()),
        Slot::Declare => Op::CreateTaskGroup(Box::new(TaskGroup::new("g", TaskGroupSpec::default()))),
        Slot::Condition => Op::PatchPodCondition { pod, uid, condition: Box::default() },
        Slot::Annotate => Op::AnnotateTimeout { pod, uid, timed_out: true },
        Slot::Status => Op::PatchTaskGroupStatus { group: pod, uid, status: Box::default() },
        Slot::Event => Op::CreateEvent(Box::default()),
    }
}

/// A pod that was seen last at version 6 is to fail.
pub(super) fn fail(pod: Key, uid: Uid) -> Op {
    let resource_version = NonZeroU64::MIN.saturating_add(5);
    Op::FailPod { pod, uid, resource_version, reason: Code::ReservationLost, message: "why".into() }
}

fn edit(key: &str) -> Op {
    Op::EditTaskGroup { group: Key::new("ns", key), uid: Uid::new("u1"), generation: 1, edit: GroupEdit::default() }
}

pub(super) fn next(outbox: &mut Box_, now: u64) -> Vec<Call> {
    outbox.next(Mono(now), &mut |slot, key| Ok(op(slot, key)))
}

pub(super) fn one(outbox: &mut Box_, now: u64) -> Call {
    let mut calls = next(outbox, now);
    assert_eq!(calls.len(), 1, "{calls:?}");
    calls.remove(0)
}

pub(super) fn refused(code: u16) -> Outcome {
    Outcome::Refused { code, reason: "".into(), message: "no".into(), retry_after: None }
}

fn seen(uid: &str, node: Option<&str>) -> Outcome {
    let spec = PodSpec { node_name: node.map(Into::into), ..PodSpec::default() };
    let pod = Pod { spec: Some(spec), ..Pod::default() };
    let body = Ok(Body::Pod(Arc::new(pod)));
    Outcome::Ok(Some(Box::new(Seen { key: Key::new("ns", "a"), uid: Uid::new(uid), rv: 7, body })))
}

/// A pod without a node at this version.
fn seen_at(rv: u64) -> Outcome {
    let Outcome::Ok(Some(mut seen)) = seen("u1", None) else { panic!("it is seen") };
    seen.rv = rv;
    Outcome::Ok(Some(seen))
}

/// A pod without a node that is being deleted, and held.
fn terminating() -> Outcome {
    let Outcome::Ok(Some(mut seen)) = seen("u1", None) else { panic!("it is seen") };
    let Ok(Body::Pod(pod)) = &mut seen.body else { panic!("it is a pod") };
    Arc::make_mut(pod).metadata.deletion_timestamp = Some(Time(Timestamp::default()));
    Outcome::Ok(Some(seen))
}

/// One word for a report.
fn word(report: Option<Report<&'static str>>) -> &'static str {
    match report.map(|report| report.verdict) {
        None => "-",
        Some(Verdict::Done(_)) => "done",
        Some(Verdict::Fact(_)) => "fact",
        Some(Verdict::Gone) => "gone",
        Some(Verdict::Refused(..)) => "refused",
        Some(Verdict::Denied(_)) => "denied",
    }
}

/// Sends and answers in turn; one `verb:word` for each call, and a last one for what would leave within two minutes.
fn story(slot: Slot, outcomes: Vec<Outcome>) -> String {
    let mut outbox = Box_::new(1);
    let mut now = 0;
    let mut told = Vec::new();
    outbox.want(Mono(now), want(slot, "a"));
    for outcome in outcomes {
        now = outbox.wake(Mono(now)).expect("something is left to do").0;
        let call = one(&mut outbox, now);
        let report = outbox.outcome(Mono(now), call.id, outcome);
        told.push(format!("{}:{}", call.op.rule().1, word(report)));
    }
    let left = next(&mut outbox, now + 120_000);
    told.extend(left.iter().map(|call| call.op.rule().1.to_owned()));
    told.join(" ")
}

#[test]
fn every_answer_to_every_slot() {
    use Outcome::{NotSent, Unknown};
    let ok = || Outcome::Ok(None);
    let table: Vec<(Slot, Vec<Outcome>, &str)> = vec![
        (Slot::Bind, vec![ok()], "create:done"),
        (Slot::Bind, vec![refused(404)], "create:gone"),
        (Slot::Bind, vec![refused(403)], "create:refused"),
        (Slot::Bind, vec![refused(422)], "create:refused"),
        (Slot::Bind, vec![refused(429)], "create:- create"),
        (Slot::Bind, vec![refused(503)], "create:- create"),
        (Slot::Bind, vec![NotSent], "create:- create"),
        (Slot::Bind, vec![Unknown], "create:- create"),
        // 409: only the pod can tell why.
        (Slot::Bind, vec![refused(409)], "create:- get"),
        (Slot::Bind, vec![refused(409), seen("u1", Some("n1"))], "create:- get:done"),
        (Slot::Bind, vec![refused(409), seen("u1", Some("n2"))], "create:- get:fact"),
        (Slot::Bind, vec![refused(409), seen("u2", None)], "create:- get:fact"),
        (Slot::Bind, vec![refused(409), seen("u1", None)], "create:- get:refused"),
        (Slot::Bind, vec![refused(409), refused(404)], "create:- get:gone"),
        (Slot::Bind, vec![refused(409), Unknown], "create:- get:- get"),
        (Slot::Bind, vec![refused(409), refused(403)], "create:- get:denied get"),
        // Once in doubt, a negative GET settles nothing.
        (Slot::Bind, vec![Unknown, refused(409), seen("u1", None)], "create:- create:- get:- create"),
        (Slot::Bind, vec![refused(408), refused(409), seen("u1", None)], "create:- create:- get:- create"),
        (Slot::Bind, vec![refused(500), refused(409), seen("u1", None)], "create:- create:- get:- create"),
        (Slot::Bind, vec![refused(502), refused(409), seen("u1", None)], "create:- create:- get:- create"),
        (Slot::Bind, vec![refused(504), refused(409), seen("u1", None)], "create:- create:- get:- create"),
        // But one that shows that the pod is being deleted does: whatever is on its way is refused.
        (Slot::Bind, vec![Unknown, refused(409), terminating()], "create:- create:- get:fact"),
        (Slot::Bind, vec![Unknown, refused(403), seen("u1", None)], "create:- create:- get:denied create"),
        (Slot::Bind, vec![Unknown, refused(403), seen("u1", Some("n1"))], "create:- create:- get:done"),
        (Slot::Bind, vec![Unknown, refused(429), ok()], "create:- create:- create:done"),
        (Slot::Bind, vec![Unknown, refused(404)], "create:- create:gone"),
        (Slot::Delete, vec![ok()], "delete:done"),
        (Slot::Delete, vec![Outcome::Removed], "delete:gone"),
        (Slot::Delete, vec![Unknown, Outcome::Removed], "delete:- delete:gone"),
        (Slot::Delete, vec![refused(404)], "delete:gone"),
        (Slot::Delete, vec![refused(409), seen("u2", None)], "delete:- get:fact"),
        (Slot::Delete, vec![refused(409), refused(404)], "delete:- get:gone"),
        (Slot::Delete, vec![refused(409), seen("u1", None)], "delete:- get:- delete"),
        (Slot::Delete, vec![refused(403)], "delete:denied delete"),
        (Slot::Delete, vec![refused(422)], "delete:refused"),
        (Slot::Delete, vec![Unknown], "delete:- delete"),
        (Slot::Create, vec![seen("u1", None)], "create:done"),
        (Slot::Create, vec![refused(409), seen("u9", None)], "create:- get:done"),
        (Slot::Create, vec![refused(409), refused(404)], "create:- get:- create"),
        (Slot::Create, vec![refused(403)], "create:refused"),
        (Slot::Create, vec![refused(404)], "create:refused"),
        (Slot::Create, vec![Unknown], "create:- create"),
        (Slot::Create, vec![Unknown, refused(403), refused(404)], "create:- create:- get:denied create"),
        (Slot::Create, vec![Unknown, refused(403), seen("u1", None)], "create:- create:- get:done"),
        (Slot::Status, vec![ok()], "patch:done"),
        (Slot::Status, vec![refused(404)], "patch:gone"),
        (Slot::Status, vec![refused(409)], "patch:- patch"),
        (Slot::Status, vec![refused(403)], "patch:denied patch"),
        (Slot::Status, vec![refused(422)], "patch:refused"),
        (Slot::Condition, vec![Unknown, ok()], "patch:- patch:done"),
        (Slot::Annotate, vec![ok()], "patch:done"),
        (Slot::Annotate, vec![refused(403), ok()], "patch:denied patch:done"),
        (Slot::Annotate, vec![refused(422)], "patch:refused"),
        (Slot::Annotate, vec![refused(404)], "patch:gone"),
        (Slot::Annotate, vec![Unknown, ok()], "patch:- patch:done"),
        (Slot::Event, vec![ok()], "create:done"),
        (Slot::Event, vec![Unknown, refused(409)], "create:- create:done"),
        (Slot::Event, vec![Unknown, Unknown, Unknown], "create:- create:- create:refused"),
        (Slot::Event, vec![refused(403)], "create:refused"),
    ];
    stories(table);
}

fn stories(table: Vec<(Slot, Vec<Outcome>, &str)>) {
    for (slot, outcomes, expected) in table {
        let input = format!("{slot:?} {outcomes:?}");
        assert_eq!(story(slot, outcomes), expected, "{input}");
    }
}

/// As above, of pods that are to fail.
#[test]
fn every_answer_to_a_failure() {
    use Outcome::Unknown;
    let ok = || Outcome::Ok(None);
    stories(vec![
        (Slot::Fail, vec![ok()], "patch:done"),
        (Slot::Fail, vec![refused(404)], "patch:gone"),
        (Slot::Fail, vec![refused(403)], "patch:denied patch"),
        (Slot::Fail, vec![refused(422)], "patch:refused"),
        (Slot::Fail, vec![refused(503)], "patch:- patch"),
        (Slot::Fail, vec![Unknown, ok()], "patch:- patch:done"),
        // 409: somebody has changed the pod, which is looked at with all that it is now. It is seen at version 7.
        (Slot::Fail, vec![refused(409), seen("u1", Some("n1"))], "patch:- get:fact"),
        (Slot::Fail, vec![refused(409), seen("u1", None)], "patch:- get:fact"),
        (Slot::Fail, vec![refused(409), refused(404)], "patch:- get:gone"),
        (Slot::Fail, vec![refused(409), Unknown], "patch:- get:- get"),
        (Slot::Fail, vec![Unknown, refused(409), seen("u1", None)], "patch:- patch:- get:fact"),
        // Nobody has, as far as the answer shows.
        (Slot::Fail, vec![refused(409), seen_at(6)], "patch:- get:refused"),
        (Slot::Fail, vec![refused(409), seen("u2", None)], "patch:- get:refused"),
    ]);
}

#[test]
fn what_is_denied_is_the_call_that_was_made() {
    let denied = |outcomes: Vec<Outcome>| {
        let mut outbox = Box_::new(1);
        outbox.want(Mono(0), want(Slot::Bind, "a"));
        let reports = outcomes.into_iter().filter_map(|outcome| {
            let now = outbox.wake(Mono(0)).expect("something is left to do");
            let call = one(&mut outbox, now.0);
            assert_eq!(outbox.rule(call.id), Some(call.op.rule()));
            outbox.outcome(now, call.id, outcome)
        });
        match reports.last().map(|report| report.verdict) {
            Some(Verdict::Denied(why) | Verdict::Refused(why, _)) => why.rule,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(denied(vec![refused(403)]), ("pods/binding", "create"));
    assert_eq!(denied(vec![refused(409), refused(403)]), ("pods", "get"), "not what it was for");
    let explained = vec![Outcome::Unknown, refused(403), seen("u1", None)];
    assert_eq!(denied(explained), ("pods/binding", "create"), "the look went well");
}

#[test]
fn an_unknown_bind_is_repeated_to_the_same_node_whatever_the_maker_says() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "a"));
    let first = one(&mut outbox, 0);
    outbox.outcome(Mono(10), first.id, Outcome::Unknown);
    let again = outbox.next(Mono(1_000), &mut |_, _| panic!("not made again"));
    assert_eq!(again[0].op, first.op);
    assert_ne!(again[0].id, first.id);
}

#[test]
fn no_more_than_the_window_and_one_per_object() {
    let keys: Vec<&'static str> = (0..100).map(|i| &*format!("p{i}").leak()).collect();
    let mut outbox = Box_::new(1);
    for key in &keys {
        outbox.want(Mono(0), want(Slot::Bind, key));
        outbox.want(Mono(0), want(Slot::Delete, key));
    }
    let calls = next(&mut outbox, 0);
    assert_eq!((calls.len(), outbox.in_flight(), outbox.waiting()), (64, 64, 136));
    assert!(calls.iter().all(|call| matches!(call.op, Op::Bind { .. })));
    assert_eq!(outbox.wake(Mono(0)), None, "only an answer makes room");

    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "a"));
    outbox.want(Mono(0), want(Slot::Delete, "a"));
    let bind = one(&mut outbox, 0);
    assert!(next(&mut outbox, 1).is_empty());
    assert_eq!(word(outbox.outcome(Mono(2), bind.id, Outcome::Ok(None))), "done");
    assert!(matches!(one(&mut outbox, 2).op, Op::DeletePod { .. }));
}

#[test]
fn statuses_coalesce_and_an_urgent_one_overtakes() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Status, "a").within(30_000));
    outbox.want(Mono(9), want(Slot::Status, "a").within(30_000));
    assert_eq!(outbox.wake(Mono(9)), Some(Mono(30_000)), "the second want does not put it off");
    outbox.want(Mono(10), want(Slot::Status, "a"));
    let call = one(&mut outbox, 10);
    // A status that is wanted again while it is in flight is sent once more, with the text of that time.
    outbox.want(Mono(11), want(Slot::Status, "a"));
    outbox.want(Mono(12), want(Slot::Status, "a"));
    assert!(next(&mut outbox, 12).is_empty());
    outbox.outcome(Mono(13), call.id, Outcome::Ok(None));
    let call = one(&mut outbox, 13);
    outbox.outcome(Mono(14), call.id, Outcome::Ok(None));
    assert_eq!((outbox.waiting(), outbox.wake(Mono(14))), (0, None));
}

/// However many numbers wait, and however long they have waited; also if a status that had only new numbers gets a new
/// reason.
#[test]
fn news_go_before_numbers() {
    let keys: Vec<&'static str> = (0..100).map(|i| &*format!("p{i}").leak()).collect();
    let mut outbox = Box_::new(1);
    let numbers = |key| want(Slot::Status, key).with(Urgency::Numbers);
    assert!(keys.iter().all(|key| outbox.want(Mono(0), numbers(key).within(10))));
    outbox.want(Mono(10), want(Slot::Status, "news"));
    outbox.want(Mono(10), want(Slot::Status, "p99"));
    outbox.want(Mono(10), numbers("p98"));
    let names = |calls: &[Call]| -> Vec<String> {
        let name = |call: &Call| {
            let Op::PatchTaskGroupStatus { group, .. } = &call.op else { panic!("{call:?}") };
            group.name.to_string()
        };
        calls.iter().map(name).collect()
    };
    let first = next(&mut outbox, 10);
    assert_eq!(names(&first), ["p99", "news", "p0"]);
    // In flight this status becomes news once more; after a failure it then leaves before numbers that wait.
    outbox.want(Mono(11), want(Slot::Status, "p0"));
    outbox.outcome(Mono(12), first[2].id, refused(503));
    assert_eq!(next(&mut outbox, 12).len(), 0, "the window has shrunk to one");
    first[..2].iter().for_each(|call| drop(outbox.outcome(Mono(200), call.id, Outcome::Ok(None))));
    assert_eq!(names(&next(&mut outbox, 200))[0], "p0");
}

#[test]
fn what_is_not_needed_any_more_is_not_sent() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Status, "a"));
    assert!(outbox.next(Mono(0), &mut |_, _| Err(NotMade::Moot)).is_empty());
    assert_eq!((outbox.waiting(), outbox.wake(Mono(0))), (0, None));
}

/// No text is lost, and calls without a text do not wait for texts.
#[test]
fn what_is_made_later_waits() {
    let mut outbox = Box_::new(1);
    for (slot, key) in [(Slot::Status, "a"), (Slot::Status, "b"), (Slot::Event, "c"), (Slot::Bind, "d")] {
        outbox.want(Mono(0), want(slot, key));
    }
    let mut texts = 1;
    let calls = outbox.next(Mono(0), &mut |slot, key| {
        if slot.is_text() && texts == 0 {
            return Err(NotMade::Later);
        }
        texts -= usize::from(slot.is_text());
        Ok(op(slot, key))
    });
    let rules: Vec<_> = calls.iter().map(|call| call.op.rule()).collect();
    assert_eq!(rules, [("pods/binding", "create"), ("taskgroups/status", "patch")]);
    assert_eq!((outbox.waiting(), outbox.wake(Mono(0))), (2, Some(Mono(0))));
    assert_eq!(next(&mut outbox, 0).len(), 2);
}

#[test]
fn cancelling() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Create, "a"));
    assert!(outbox.cancel(Slot::Create, &"a"), "not sent yet");
    assert!(next(&mut outbox, 0).is_empty());

    outbox.want(Mono(0), want(Slot::Create, "a"));
    let call = one(&mut outbox, 0);
    assert!(!outbox.cancel(Slot::Create, &"a"), "too late");
    assert_eq!(word(outbox.outcome(Mono(1), call.id, refused(429))), "refused", "spared");

    for (answer, end) in [(seen("u1", None), "done"), (refused(404), "refused")] {
        let mut outbox = Box_::new(1);
        outbox.want(Mono(0), want(Slot::Create, "a"));
        let call = one(&mut outbox, 0);
        outbox.cancel(Slot::Create, &"a");
        assert_eq!(word(outbox.outcome(Mono(1), call.id, Outcome::Unknown)), "-");
        let look = one(&mut outbox, 1_000);
        assert_eq!(look.op.rule().1, "get", "not sent again");
        assert_eq!(word(outbox.outcome(Mono(1_001), look.id, answer)), end);
    }

    outbox.want(Mono(100_000), want(Slot::Bind, "b"));
    let call = one(&mut outbox, 100_000);
    outbox.cancel(Slot::Bind, &"b");
    outbox.outcome(Mono(100_001), call.id, Outcome::Unknown);
    let again = one(&mut outbox, 200_000);
    assert_eq!(again.op, call.op, "a Binding in doubt must go on");
}

#[test]
fn the_watch_settles_doubt() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "a"));
    let call = one(&mut outbox, 0);
    outbox.outcome(Mono(1), call.id, Outcome::Unknown);
    outbox.settle(Slot::Bind, &"a");
    assert_eq!((outbox.waiting(), outbox.wake(Mono(1))), (0, None));

    outbox.want(Mono(0), want(Slot::Bind, "b"));
    let call = one(&mut outbox, 0);
    outbox.settle(Slot::Bind, &"b");
    assert_eq!(word(outbox.outcome(Mono(1), call.id, Outcome::Unknown)), "-");
    assert_eq!((outbox.waiting(), outbox.wake(Mono(1))), (0, None));
}

#[test]
fn a_refused_entry_that_is_wanted_at_once_again_waits_longer_each_time() {
    let mut outbox = Box_::new(1);
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..6 {
        outbox.want(Mono(now), want(Slot::Create, "a"));
        let at = outbox.wake(Mono(now)).expect("wanted").0;
        waits.push(at - now);
        now = at;
        let call = one(&mut outbox, now);
        outbox.outcome(Mono(now), call.id, refused(403));
        assert_eq!(outbox.waiting(), 0, "it only rests");
    }
    assert_eq!(waits[0], 0);
    assert!((1_000..=2_000).contains(&waits[1]) && (16_000..=32_000).contains(&waits[5]), "{waits:?}");
    assert_eq!(outbox.wake(Mono(now)).map(|at| at.0 <= now + 60_000), Some(true));
    assert!(next(&mut outbox, now + 60_000).is_empty());
    assert_eq!(outbox.wake(Mono(now + 60_000)), None, "and is forgotten");
}

/// The watch has not shown yet what was made or edited: whoever wants it too would only hear that it is there.
#[test]
fn what_was_made_is_not_made_again_before_the_watch_may_have_shown_it() {
    let made = || {
        let mut outbox = Box_::new(1);
        outbox.want(Mono(0), want(Slot::Declare, "g"));
        (one(&mut outbox, 0), outbox)
    };
    let (call, mut outbox) = made();
    outbox.want(Mono(1), want(Slot::Declare, "g"));
    outbox.outcome(Mono(2), call.id, Outcome::Ok(None));
    outbox.want(Mono(3), want(Slot::Declare, "g"));
    assert!(next(&mut outbox, 1_001).is_empty(), "one call for three who want it");
    assert_eq!(outbox.wake(Mono(3)), Some(Mono(1_002)));
    assert_eq!(next(&mut outbox, 1_002).len(), 1, "nobody has seen it");

    let (call, mut outbox) = made();
    outbox.outcome(Mono(2), call.id, Outcome::Ok(None));
    assert_eq!((outbox.waiting(), next(&mut outbox, 2).len()), (0, 0), "it only rests");
    outbox.want(Mono(3), want(Slot::Declare, "g"));
    assert!(next(&mut outbox, 1_001).is_empty(), "who comes later does not make it either");
    outbox.settle(Slot::Declare, &"g");
    assert_eq!((outbox.waiting(), outbox.wake(Mono(1_001))), (0, None), "it is there");

    // Seen before the answer comes, it is to be another one already.
    let (call, mut outbox) = made();
    outbox.settle(Slot::Declare, &"g");
    outbox.want(Mono(1), want(Slot::Declare, "g"));
    outbox.outcome(Mono(2), call.id, Outcome::Ok(None));
    let call = outbox.next(Mono(2), &mut |_, key| Ok(edit(key))).remove(0);
    outbox.want(Mono(3), want(Slot::Declare, "g"));
    outbox.outcome(Mono(4), call.id, Outcome::Ok(None));
    assert!(next(&mut outbox, 4).is_empty());
    outbox.settle(Slot::Declare, &"g");
    outbox.want(Mono(5), want(Slot::Declare, "g"));
    assert_eq!(next(&mut outbox, 5).len(), 1, "to something else, now that the watch has shown it");
}

#[test]
fn a_follower_waits_for_what_it_must_not_overtake() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Status, "group").within(30_000));
    outbox.want(Mono(0), want(Slot::Delete, "pod").after(Slot::Status, "group"));
    let old = one(&mut outbox, 0);
    assert_eq!(old.op.rule().1, "patch", "and makes it leave at once");
    // A newer status: the follower that wants that one is not freed by the older.
    outbox.want(Mono(1), want(Slot::Status, "group"));
    outbox.want(Mono(1), want(Slot::Delete, "pod2").after(Slot::Status, "group"));
    outbox.outcome(Mono(2), old.id, Outcome::Ok(None));
    let calls = next(&mut outbox, 2);
    let pods: Vec<_> = calls.iter().map(|call| call.op.rule().1).collect();
    assert_eq!(pods, ["patch", "delete"], "the status leaves with what waits for it");
    outbox.outcome(Mono(3), calls[0].id, refused(404));
    assert!(matches!(&one(&mut outbox, 3).op, Op::DeletePod { pod, .. } if &*pod.name == "pod2"));
    outbox.want(Mono(4), want(Slot::Delete, "pod3").after(Slot::Status, "group"));
    one(&mut outbox, 4);
}

#[test]
fn events_are_bounded_and_counted() {
    let mut outbox: Outbox<usize> = Outbox::new(1);
    let accepted = (0..EVENTS_MAX + 5).filter(|i| outbox.want(Mono(0), Want::new(Slot::Event, *i, None))).count();
    assert_eq!((accepted, outbox.events_dropped()), (EVENTS_MAX, 5));
    let mut sent = 0;
    loop {
        let calls = outbox.next(Mono(0), &mut |slot, _| Ok(op(slot, "e")));
        let Some(call) = calls.first() else { break };
        sent += 1;
        outbox.outcome(Mono(0), call.id, Outcome::Ok(None));
        calls.iter().skip(1).for_each(|call| drop(outbox.outcome(Mono(0), call.id, refused(403))));
        sent += calls.len() - 1;
    }
    assert_eq!((sent, outbox.events_dropped()), (50, 30), "the bucket's burst, and what was refused of it");
    assert_eq!(outbox.wake(Mono(0)), Some(Mono(50)));
    assert!(outbox.want(Mono(0), Want::new(Slot::Event, 5_000, None)), "there is room again");
}

#[test]
fn retry_after_stops_everything() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "a"));
    let call = one(&mut outbox, 0);
    let busy = Outcome::Refused { code: 429, reason: "".into(), message: "".into(), retry_after: Some(2_000) };
    outbox.outcome(Mono(10), call.id, busy);
    outbox.want(Mono(20), want(Slot::Bind, "b"));
    assert!(next(&mut outbox, 2_009).is_empty());
    assert_eq!(outbox.wake(Mono(20)), Some(Mono(2_010)));
    assert_eq!(next(&mut outbox, 2_010).len(), 2);
}

#[test]
fn answers_of_strangers_are_ignored() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "a"));
    let call = one(&mut outbox, 0);
    for id in [CallId { incarnation: 2, ..call.id }, CallId { sequence: 99, ..call.id }] {
        assert!(outbox.outcome(Mono(1), id, Outcome::Ok(None)).is_none());
    }
    outbox.outcome(Mono(1), call.id, Outcome::Ok(None));
    assert!(outbox.outcome(Mono(1), call.id, Outcome::Ok(None)).is_none(), "nor twice");
    assert_eq!(outbox.answers().get(&("create", "pods/binding", 200)), Some(&1));
}

#[test]
fn a_failing_webhook_is_told_with_its_words_after_a_while() {
    let answers = vec![refused(500), refused(500), refused(500), refused(500), refused(409), seen("u1", None)];
    assert_eq!(story(Slot::Create, answers), "create:- create:- create:- create:denied create:- get:done");
}
