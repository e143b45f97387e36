//! What events tell, beside statuses and conditions.

use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Kind, Op};
use serde_json::json;

use crate::support::driven::{Driven, group, member, node, refused};

/// 01, 1.2.3: "Rejected, with a typed reason shown on the TaskGroup, as an event and on each waiting pod".
#[test]
fn a_rejection_is_on_the_task_group_in_an_event_and_on_each_pod() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"queue": "root.none", "reservation": "Direct"})));
    ["m0", "m1"].iter().for_each(|name| driven.upsert(Kind::Pod, &member(name)));
    driven.wait(5_000);
    let (mut statuses, mut events, mut pods) = (Vec::new(), Vec::new(), Vec::new());
    for call in driven.taken() {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
            statuses.push([status.application_state.clone(), status.reason.clone()]);
        } else if let Op::CreateEvent(event) = &call.op {
            let about = event.regarding.as_ref().and_then(|about| about.name.clone());
            events.push([about, event.type_.clone(), event.reason.clone()].map(Option::unwrap_or_default));
        } else if let Op::PatchPodCondition { pod, condition, .. } = &call.op {
            pods.push([pod.name.to_string(), condition.reason.clone().unwrap_or_default()]);
        }
    }
    pods.sort();
    assert_eq!(statuses.last(), Some(&["Rejected", "QueueNotFound"].map(String::from)));
    assert_eq!(events, [["g", "Warning", "QueueNotFound"].map(String::from)]);
    assert_eq!(pods, [["m0", "QueueNotFound"], ["m1", "QueueNotFound"]].map(|pod| pod.map(String::from)));
}

/// 01, 1.4: "until it does, the member waits with an event naming the differing resource, and the seat stays".
#[test]
fn a_member_larger_than_its_seat_has_an_event_that_names_the_resource() {
    let mut driven = Driven::synced();
    let spec = json!({"parent": "root", "max": {"cpu": "2"}});
    driven.upsert(Kind::Queue, &json!({"metadata": {"name": "root.q", "generation": 1}, "spec": spec}));
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all", "queue": "root.q"})));
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    driven.grant();
    driven.upsert(Kind::Pod, &member("m0"));
    for call in driven.taken() {
        let is_deletion = matches!(call.op, Op::DeletePod { .. });
        driven.answer(&call, if is_deletion { Outcome::Removed } else { Outcome::Ok(None) });
    }
    driven.grant();
    let mut large = member("m1");
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
    driven.upsert(Kind::Pod, &large);
    driven.wait(5_000);
    let notes: Vec<String> = (driven.taken().into_iter())
        .filter_map(|call| if let Op::CreateEvent(event) = call.op { Some(event) } else { None })
        .filter(|event| event.regarding.as_ref().is_some_and(|about| about.name.as_deref() == Some("m1")))
        .filter_map(|event| event.note)
        .collect();
    let words = "SeatTooSmall: the pod needs 1 cpu more than the seat kept for it";
    assert!(matches!(&notes[..], [note] if note.starts_with(words)), "{notes:?}");
    assert_eq!(driven.controller.stats().seats["held"], 1);
}

/// 01, 1.3 `all`: a member for which no placeholder can stand in gets its own seat "with an event that says what the template
/// lacks".
#[test]
fn what_the_template_lacks_is_told_once() {
    for (count, words) in [(1, "m0 is given a seat of its own"), (2, "2 members are given seats of their own")] {
        let mut driven = Driven::unsynced();
        let mut labelled = node("n1");
        labelled["metadata"]["labels"] = json!({"pool": "a"});
        driven.list(&[(Kind::Node, &labelled)]);
        driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
        for number in 0..count {
            let mut odd = member(&format!("m{number}"));
            odd["spec"]["nodeSelector"] = json!({"pool": "a"});
            driven.upsert(Kind::Pod, &odd);
        }
        let mut notes = Vec::new();
        for _ in 0..200 {
            driven.wait(50);
            for call in driven.taken() {
                let made =
                    if let Op::CreatePod(pod) = &call.op { Some(driven.seen(Kind::Pod, &json!(pod))) } else { None };
                made.iter().for_each(|seen| driven.fact(Kind::Pod, WatchFact::Upsert(seen.clone())));
                if let Op::CreateEvent(event) = &call.op {
                    notes.extend(event.note.clone().filter(|_| event.reason.as_deref() == Some("TemplateLacks")));
                }
                driven.answer(&call, Outcome::Ok(made.map(Box::new)));
            }
        }
        let lacks = "the placeholderTemplate does not have the same nodeSelector";
        assert!(matches!(&notes[..], [note] if note.starts_with(words) && note.ends_with(lacks)), "{count}: {notes:?}");
    }
}

/// Where statuses may not be written, and are tried again seldom, events tell of each reason all the same.
#[test]
fn events_do_not_wait_for_statuses_that_are_refused() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"minResource": {"cpu": "12"}, "reservation": "Direct"})));
    let mut told = Vec::new();
    for number in 0..2 {
        for _ in 0..40 {
            driven.wait(50);
            for call in driven.taken() {
                if let Op::CreateEvent(event) = &call.op {
                    told.extend(event.reason.clone());
                }
                let is_status = matches!(call.op, Op::PatchTaskGroupStatus { .. });
                driven.answer(&call, if is_status { refused(403) } else { Outcome::Ok(None) });
            }
        }
        let expected = ["WaitingForMembers", "WaitingForCapacity"].map(str::to_owned);
        assert_eq!(told, expected[..=number], "within two seconds");
        for name in ["m0", "m1"] {
            let mut pod = member(name);
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("12");
            driven.upsert(Kind::Pod, &pod);
        }
    }
}
