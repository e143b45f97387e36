//! What people are told: in which order it leaves, and in the words of which moment.

use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::driven::Driven;

/// A TaskGroup of four that holds its seats by no pods.
fn group(name: &str, queue: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "generation": 1},
           "spec": {"minMember": 4, "minResource": {"cpu": "1"}, "reservation": "Direct", "queue": queue}})
}

fn member(group: &str, number: u32) -> Value {
    let labels = json!({"gangline.dev/task-group": group});
    json!({"metadata": {"name": format!("{group}-{number}"), "namespace": "ns", "labels": labels},
           "spec": {"schedulerName": "gangline",
                    "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
           "status": {"phase": "Pending"}})
}

/// Each of these gangs waits with one member.
fn waiting(driven: &mut Driven, names: &[&str]) {
    for name in names {
        driven.upsert(Kind::TaskGroup, &group(name, "root.default"));
        driven.upsert(Kind::Pod, &member(name, 0));
    }
}

/// The names of groups whose status is written, in order.
fn statuses(calls: &[Call]) -> Vec<String> {
    let name = |call: &Call| {
        if let Op::PatchTaskGroupStatus { group, .. } = &call.op { Some(group.name.to_string()) } else { None }
    };
    calls.iter().filter_map(name).collect()
}

/// The events among these calls: whose, why, and the sentence.
fn events(calls: &[Call]) -> Vec<[String; 3]> {
    let event = |call: &Call| {
        let Op::CreateEvent(event) = &call.op else { return None };
        let about = event.regarding.as_ref().and_then(|about| about.name.clone());
        Some([about, event.reason.clone(), event.note.clone()].map(Option::unwrap_or_default))
    };
    calls.iter().filter_map(event).collect()
}

/// Everything is answered until nothing leaves any more.
fn settle(driven: &mut Driven) {
    for _ in 0..100 {
        driven.wait(1_000);
        driven.taken().iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    }
}

/// However many groups have other numbers to tell: what has a new reason is read first.
#[test]
fn a_status_with_a_new_reason_leaves_before_numbers() {
    let mut driven = Driven::synced();
    let names = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"];
    waiting(&mut driven, &names);
    settle(&mut driven);
    driven.taken();
    names.iter().for_each(|name| driven.upsert(Kind::Pod, &member(name, 1)));
    driven.wait(1_950);
    assert_eq!(statuses(&driven.taken()), [""; 0], "numbers wait for what else changes");
    let rejected = driven.seen(Kind::TaskGroup, &group("zz", "root.nowhere"));
    driven.fact(Kind::TaskGroup, WatchFact::Upsert(rejected));
    driven.wait(50);
    assert_eq!(statuses(&driven.taken()), ["zz", "a0", "a1"]);
}

/// Events wait for their tokens and for each other: when one leaves, it says what is so then, or is not sent.
#[test]
fn an_event_tells_what_is_so_when_it_leaves() {
    let mut driven = Driven::synced();
    waiting(&mut driven, &["a0", "a1", "changes", "starts"]);
    driven.wait(1_000);
    let first = driven.taken();
    let flying: Vec<&Call> = first.iter().filter(|call| matches!(call.op, Op::CreateEvent(_))).collect();
    assert_eq!(flying.len(), 2, "no more at a time: {first:#?}");
    driven.upsert(Kind::Pod, &member("changes", 1));
    (1..4).for_each(|number| driven.upsert(Kind::Pod, &member("starts", number)));
    flying.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    let mut told = Vec::new();
    for _ in 0..10 {
        let calls = driven.taken();
        told.extend(events(&calls));
        calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        driven.wait(1_000);
    }
    let of = |name: &str| -> Vec<(&str, &str)> {
        let own = told.iter().filter(|[about, ..]| about == name);
        own.map(|[_, reason, note]| (&**reason, &**note)).collect()
    };
    assert!(matches!(of("changes")[..], [("WaitingForMembers", note)] if note.starts_with("2 of 4")), "{told:?}");
    assert!(of("starts").iter().all(|(reason, _)| *reason != "WaitingForMembers"), "{told:?}");
}

/// The reasons that statuses written among these calls show.
fn reasons(calls: &[Call]) -> Vec<String> {
    let reason = |call: &Call| {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status.reason.clone()) } else { None }
    };
    calls.iter().filter_map(reason).collect()
}

/// A gang of four that has started, and has nothing more to say.
fn started() -> Driven {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group("a", "root.default"));
    (0..4).for_each(|number| driven.upsert(Kind::Pod, &member("a", number)));
    settle(&mut driven);
    driven.taken();
    driven
}

fn delete(driven: &mut Driven, number: u32) {
    let seen = driven.seen(Kind::Pod, &member("a", number));
    driven.fact(Kind::Pod, WatchFact::Gone(seen));
    driven.step();
}

/// Who made the pods that were lost makes others at once, as a rule: that seats are kept is written, and an event tells of
/// it, if nobody came for them within two seconds.
#[test]
fn kept_seats_are_told_of_if_nobody_comes_for_them() {
    let mut driven = started();
    delete(&mut driven, 0);
    driven.wait(1_900);
    assert_eq!(driven.taken().len(), 0);
    driven.wait(200);
    let calls = driven.taken();
    assert_eq!(reasons(&calls), ["SeatsKept"]);
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    driven.wait(1_000);
    assert!(events(&[calls, driven.taken()].concat()).iter().any(|[_, reason, _]| reason == "SeatsKept"));
}

/// A gang that restarts in its room at once: nothing is said of what it was on the way.
#[test]
fn a_restart_at_once_is_told_of_once() {
    let mut driven = started();
    (0..4).for_each(|number| delete(&mut driven, number));
    (4..8).for_each(|number| driven.upsert(Kind::Pod, &member("a", number)));
    let mut all = Vec::new();
    for _ in 0..50 {
        let calls = driven.taken();
        calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        all.extend(calls);
        driven.wait(100);
    }
    let bound = all.iter().filter(|call| matches!(call.op, Op::Bind { .. })).count();
    assert_eq!((bound, events(&all)), (4, Vec::new()));
    let reasons = reasons(&all);
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason != "SeatsKept" && reason != "WaitingForMembers"));
}

/// A gang whose pods were gone, so that its status told of its end, begins anew with one of them: that is told before long, and
/// not only when the turn of the next such stage has come.
#[test]
fn an_end_that_did_not_come_is_told_no_longer() {
    let mut driven = Driven::synced();
    let mut spec = group("a", "root.default");
    spec["spec"]["reservation"] = json!("Placeholder");
    driven.upsert(Kind::TaskGroup, &spec);
    (0..4).for_each(|number| driven.upsert(Kind::Pod, &member("a", number)));
    settle(&mut driven);
    (0..4).for_each(|number| delete(&mut driven, number));
    // The state that was last written in so much time.
    let said = |driven: &mut Driven, millis: u64| {
        let mut last = None;
        for _ in 0..millis / 100 {
            driven.wait(100);
            for call in driven.taken() {
                if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
                    last = Some(status.application_state.clone());
                }
                driven.answer(&call, Outcome::Ok(None));
            }
        }
        last
    };
    assert_eq!(said(&mut driven, 3_000).as_deref(), Some("Waiting"));
    driven.upsert(Kind::Pod, &member("a", 4));
    let after = said(&mut driven, 4_000);
    assert!(after.as_deref().is_some_and(|state| state != "Waiting"), "{after:?}");
}

/// A timeout that ends while seats are kept is not kept back with them: what is deleted for it waits for the status.
#[test]
fn a_timeout_is_told_at_once_while_seats_are_kept() {
    let mut driven = Driven::synced();
    let mut spec = group("a", "root.default");
    spec["spec"]["reservation"] = json!("Placeholder");
    spec["spec"]["placeholderTimeoutSeconds"] = json!(60);
    driven.upsert(Kind::TaskGroup, &spec);
    (0..3).for_each(|number| driven.upsert(Kind::Pod, &member("a", number)));
    // Everything is granted for so long; whether a status said that it timed out, and the last deadline that was shown.
    let mut ends = None;
    let mut granted = |driven: &mut Driven, millis: u64| {
        let mut times_out = false;
        for _ in 0..millis / 100 {
            driven.wait(100);
            let calls = driven.taken();
            for call in &calls {
                if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
                    let mut conditions = status.conditions.iter();
                    times_out |= conditions.any(|one| one.type_ == "TimedOut" && one.status == "True");
                    ends = status.deadlines.as_ref().and_then(|all| all.placeholder.clone()).or(ends.take());
                }
                let made = if let Op::CreatePod(pod) = &call.op {
                    Some(driven.seen(Kind::Pod, &serde_json::to_value(pod).expect("a pod is JSON")))
                } else {
                    None
                };
                driven.answer(call, Outcome::Ok(made.clone().map(Box::new)));
                made.into_iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod)));
            }
        }
        (times_out, ends.clone())
    };
    let (_, ends) = granted(&mut driven, 10_000);
    let left = ends.expect("a seat is held").0.as_millisecond() - driven.wall().0;
    granted(&mut driven, left.unsigned_abs() - 4_000);
    delete(&mut driven, 0);
    let (early, _) = granted(&mut driven, 3_900);
    let (in_time, _) = granted(&mut driven, 1_000);
    assert_eq!((early, in_time), (false, true));
}
