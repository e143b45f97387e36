//! Shim, core and outbox together, at the level of Kubernetes objects: what is said to the API server, and how often.

use gangline::controller::turn::News;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::driven::{Driven, group, member, node, refused};

fn is_status(call: &Call) -> bool {
    matches!(call.op, Op::PatchTaskGroupStatus { .. })
}

/// 02, 2.1: what an answer leaves open is done again. A status is a fact that recovery builds on.
#[test]
fn a_status_is_written_in_the_end_whatever_the_first_answer() {
    let silent = Outcome::Unknown;
    for outcome in
        [silent, refused(429), refused(503), refused(504), refused(409), refused(403), refused(422), refused(404)]
    {
        let mut driven = Driven::synced();
        driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct"})));
        driven.wait(5_000);
        for call in driven.taken() {
            driven.answer(&call, if is_status(&call) { outcome.clone() } else { Outcome::Ok(None) });
        }
        driven.wait(300_000);
        let again: Vec<_> = driven.taken().into_iter().filter(is_status).collect();
        assert_eq!(again.len(), 1, "{outcome:?}");
        driven.answer(&again[0], Outcome::Ok(None));
        driven.wait(300_000);
        assert_eq!(driven.taken().into_iter().filter(is_status).count(), 0, "{outcome:?}");
    }
}

/// As above, where the API server does not find what is still known here: seldom, and for ever.
#[test]
fn a_status_that_finds_no_object_is_written_seldom() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct"})));
    let mut written = 0;
    for _ in 0..300 {
        driven.wait(1_000);
        for call in driven.taken() {
            written += u32::from(is_status(&call));
            driven.answer(&call, if is_status(&call) { refused(404) } else { Outcome::Ok(None) });
        }
    }
    assert!((4..=15).contains(&written), "{written} times in five minutes");
}

/// The same of the reason that a pod shows: an autoscaler waits for it.
#[test]
fn a_condition_is_written_in_the_end_whatever_the_first_answer() {
    for outcome in [Outcome::Unknown, refused(503), refused(409), refused(403), refused(422)] {
        let mut driven = Driven::synced();
        driven.upsert(Kind::Pod, &member("m"));
        driven.wait(1_000);
        let calls = driven.taken();
        assert_eq!(calls.iter().filter(|call| matches!(call.op, Op::PatchPodCondition { .. })).count(), 1);
        for call in calls {
            let is_condition = matches!(call.op, Op::PatchPodCondition { .. });
            driven.answer(&call, if is_condition { outcome.clone() } else { Outcome::Ok(None) });
        }
        driven.wait(300_000);
        assert_eq!(driven.rules().get("patch pods/status"), Some(&1), "{outcome:?}");
    }
}

/// What a pod shares with its gang the gang's own event says; what concerns it alone has an event of its own.
#[test]
fn a_pod_has_an_event_for_a_reason_of_its_own() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct", "minMember": 2})));
    driven.upsert(Kind::Pod, &member("m"));
    let pod = json!({"metadata": {"name": "large", "namespace": "ns"}, "spec": {"schedulerName": "gangline",
                     "containers": [{"name": "main", "resources": {"requests": {"cpu": "17"}}}]}});
    driven.upsert(Kind::Pod, &pod);
    driven.wait(5_000);
    let events = driven.taken().into_iter().filter_map(|call| {
        let Op::CreateEvent(event) = call.op else { return None };
        let about = event.regarding.unwrap_or_default();
        // The API server takes it in the namespace of its object only.
        assert_eq!((event.metadata.namespace, about.namespace), (Some("ns".to_owned()), Some("ns".to_owned())));
        let about = about.name.unwrap_or_default();
        let code = event.note.unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
        Some((about, event.reason.unwrap_or_default(), code))
    });
    let of_pods: Vec<_> = events.filter(|(.., reason, _)| reason == "FailedScheduling").collect();
    assert_eq!(of_pods, [("large".to_owned(), "FailedScheduling".to_owned(), "Unschedulable".to_owned())]);
}

/// 01, 1.4: nothing is given up because a placeholder cannot be deleted yet, but everybody is told, and it is tried on.
#[test]
fn a_placeholder_that_cannot_be_deleted_keeps_its_seat_and_says_so() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    driven.grant();
    driven.upsert(Kind::Pod, &member("m"));
    let is_deletion = |call: &Call| matches!(call.op, Op::DeletePod { .. });
    let mut told = None;
    for _ in 0..3 {
        driven.wait(60_000);
        let (deletions, others): (Vec<_>, Vec<_>) = driven.taken().into_iter().partition(is_deletion);
        assert_eq!(deletions.len(), 1, "of its own seat, and no other");
        driven.answer(&deletions[0], refused(403));
        for call in others {
            if let Op::PatchPodCondition { condition, .. } = &call.op {
                told.clone_from(&condition.reason);
            }
            driven.answer(&call, Outcome::Ok(None));
        }
    }
    driven.wait(60_000);
    assert_eq!(told.as_deref(), Some("PlaceholderKept"));
    assert_eq!(driven.controller.stats().denied, [("pods", "delete")]);
    let last = driven.taken().into_iter().find(is_deletion).expect("it is tried again");
    driven.answer(&last, refused(404));
    let calls = driven.taken();
    let bound = calls.iter().any(|call| matches!(&call.op, Op::Bind { pod, .. } if &*pod.name == "m"));
    assert!(bound, "the swap ends as it began: {calls:#?}");
    assert!(driven.controller.stats().denied.is_empty(), "a right that is missing is found before an object is");
}

/// Who tells a story looks at what there is news of, and at nothing else: of a gang that comes at its task group and its queue.
#[test]
fn there_is_news_of_what_changed() {
    let mut driven = Driven::synced();
    driven.news.clear();
    let spec = group(&json!({"placeholderFor": "all"}));
    driven.upsert(Kind::TaskGroup, &spec);
    let groups: Vec<_> = driven.controller.core().books.groups.iter().map(|(id, _)| News::Group(id)).collect();
    assert!(groups.len() == 1 && groups.iter().all(|news| driven.news.contains(news)), "{:?}", driven.news);
    assert!(driven.news.contains(&News::Queue("root.default".into())), "{:?}", driven.news);
    driven.news.clear();
    driven.upsert(Kind::TaskGroup, &spec);
    assert_eq!(driven.news, []);
}

/// What metrics count: decisions by their names, and seats of all groups by their states.
#[test]
fn decisions_and_seats_are_counted() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    let mut other = group(&json!({"placeholderFor": "all"}));
    other["metadata"]["name"] = json!("other");
    driven.upsert(Kind::TaskGroup, &other);
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    driven.grant();
    let stats = driven.controller.stats();
    assert_eq!((stats.decisions["create_placeholder"], stats.decisions["allocate"]), (4, 4));
    assert_eq!((stats.seats["held"], stats.seats["open"]), (4, 0));
}

/// 01, 1.3: a pod that admission has made something else of is no placeholder; the gang says so and goes on trying.
#[test]
fn a_placeholder_that_comes_back_as_something_else_is_said() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    for call in driven.taken() {
        let Op::CreatePod(pod) = &call.op else { continue };
        let mut pod = serde_json::to_value(pod).unwrap();
        pod["spec"]["schedulerName"] = json!("yunikorn");
        let pod = driven.seen(Kind::Pod, &pod);
        driven.answer(&call, Outcome::Ok(Some(Box::new(pod))));
    }
    let state = driven.controller.state();
    assert_eq!(state["taskGroups"][0]["reason"], "PlaceholderRejected", "{state}");
    let message = state["taskGroups"][0]["message"].as_str().unwrap();
    assert!(message.contains("admission changed its labels or schedulerName"), "{message}");
    driven.wait(10_000);
    assert!(driven.rules().contains_key("create pods"), "it is tried again");
}

/// What somebody else writes over a status does not stay: everybody reads it as ours.
#[test]
fn a_status_that_somebody_else_wrote_is_written_again() {
    let mut driven = Driven::synced();
    let mut object = group(&json!({"reservation": "Direct"}));
    driven.upsert(Kind::TaskGroup, &object);
    driven.wait(5_000);
    let calls = driven.taken();
    let written = calls.iter().find_map(|call| match &call.op {
        Op::PatchTaskGroupStatus { status, .. } => Some(serde_json::to_value(status).unwrap()),
        Op::Bind { .. }
        | Op::DeletePod { .. }
        | Op::FailPod { .. }
        | Op::CreatePod(_)
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::GetPod { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => None,
    });
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    object["status"] = written.expect("a status was written");
    driven.wait(60_000);
    driven.upsert(Kind::TaskGroup, &object);
    driven.wait(60_000);
    assert_eq!(driven.rules(), [].into(), "its own status is no news");
    object["status"]["message"] = json!("a lie");
    driven.upsert(Kind::TaskGroup, &object);
    driven.wait(60_000);
    let calls = driven.taken();
    assert_eq!((calls.len(), calls.iter().filter(|call| is_status(call)).count()), (1, 1), "{calls:?}");
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    // Written while the watch was cut: only the list tells.
    object["status"]["message"] = json!("another");
    driven.wait(60_000);
    driven.list(&[(Kind::Node, &node("n1")), (Kind::TaskGroup, &object)]);
    driven.wait(60_000);
    assert_eq!(driven.rules().get("patch taskgroups/status"), Some(&1));
}

/// Design 03, 3.7: an event is for what needs action, not for a pod that merely waits its turn.
#[test]
fn a_pod_that_waits_a_moment_costs_no_event() {
    let mut driven = Driven::synced();
    let mut single = member("s");
    single["metadata"]["labels"] = json!({});
    driven.upsert(Kind::Pod, &single);
    let mut large = single.clone();
    large["metadata"]["name"] = json!("large");
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("17");
    driven.upsert(Kind::Pod, &large);
    driven.wait(300);
    assert_eq!(driven.rules(), [("create pods/binding".to_owned(), 1)].into());
    driven.wait(1_000);
    let expected = [("create events".to_owned(), 1), ("patch pods/status".to_owned(), 1)];
    assert_eq!(driven.rules(), expected.into());
}

/// Of a gang that comes slowly through its stages one is written after a moment, and then one every 10 s.
#[test]
fn the_stages_of_a_slow_start_are_not_all_written() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    driven.wait(2_500);
    let (statuses, creations): (Vec<Call>, Vec<Call>) = driven.taken().into_iter().partition(is_status);
    assert_eq!((statuses.len(), creations.len()), (1, 2), "placeholders are being created");
    statuses.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    for call in creations {
        let Op::CreatePod(pod) = &call.op else { panic!("{call:?}") };
        let pod = driven.seen(Kind::Pod, &serde_json::to_value(pod).unwrap());
        driven.answer(&call, Outcome::Ok(Some(Box::new(pod.clone()))));
        driven.fact(Kind::Pod, WatchFact::Upsert(pod));
    }
    driven.wait(5_000);
    assert_eq!(driven.rules(), [("create pods/binding".to_owned(), 2)].into(), "they are being bound");
    driven.wait(5_000);
    assert_eq!(driven.rules(), [("patch taskgroups/status".to_owned(), 1)].into(), "and that takes long");
}

/// However long nothing was written: a number that changes is often the first of many, and the last of them tells all.
#[test]
fn the_first_number_that_changes_is_not_written_by_itself() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct"})));
    driven.wait(5_000);
    let statuses = |driven: &mut Driven| driven.taken().into_iter().filter(is_status).collect::<Vec<_>>();
    let told = statuses(&mut driven);
    assert_eq!(told.len(), 1, "it waits for its members");
    driven.answer(&told[0], Outcome::Ok(None));
    driven.wait(60_000);
    driven.upsert(Kind::Pod, &member("m0"));
    driven.wait(500);
    assert_eq!(statuses(&mut driven).len(), 0, "one of two is there");
    driven.upsert(Kind::Pod, &member("m1"));
    driven.wait(2_000);
    assert_eq!(statuses(&mut driven).len(), 1, "it starts, and that takes long");
}

/// Who makes a gang and asks a moment later sees how many members there are; how many more come is written seldom.
#[test]
fn the_first_numbers_after_a_reason_come_soon_and_more_of_them_seldom() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct", "minMember": 9})));
    let mut written = Vec::new();
    for second in 0..60 {
        if second % 8 == 1 {
            driven.upsert(Kind::Pod, &member(&format!("m{second}")));
        }
        driven.wait(1_000);
        for call in driven.taken() {
            if is_status(&call) {
                written.push(second);
            }
            driven.answer(&call, Outcome::Ok(None));
        }
    }
    assert!(matches!(written[..], [0, 2..=4, 32..=36]), "{written:?}");
}

/// A state that was left and comes back while the status that told of the other one is on its way is told at once: what
/// is on its way is what everybody will see.
#[test]
fn a_status_on_its_way_is_what_news_are_compared_with() {
    let reason = |call: &Call| {
        let Op::PatchTaskGroupStatus { status, .. } = &call.op else { panic!("{call:?}") };
        status.reason.clone()
    };
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct", "minResource": {"cpu": "10"}})));
    let large = |name: &str| {
        let mut pod = member(name);
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("10");
        pod
    };
    driven.upsert(Kind::Pod, &large("m0"));
    driven.upsert(Kind::Pod, &large("m1"));
    driven.grant();
    driven.wait(20_000);
    let told: Vec<Call> = driven.taken().into_iter().filter(is_status).collect();
    assert_eq!(told.iter().map(reason).collect::<Vec<_>>(), ["WaitingForCapacity"]);
    driven.answer(&told[0], Outcome::Ok(None));
    driven.grant();
    let gone = driven.seen(Kind::Pod, &large("m1"));
    driven.fact(Kind::Pod, WatchFact::Gone(gone));
    driven.wait(5_000);
    let told: Vec<Call> = driven.taken().into_iter().filter(is_status).collect();
    assert_eq!(told.iter().map(reason).collect::<Vec<_>>(), ["WaitingForMembers"]);
    driven.upsert(Kind::Pod, &large("m2"));
    driven.wait(5_000);
    driven.answer(&told[0], Outcome::Ok(None));
    driven.wait(1_000);
    let told: Vec<Call> = driven.taken().into_iter().filter(is_status).collect();
    assert_eq!(told.iter().map(reason).collect::<Vec<_>>(), ["WaitingForCapacity"]);
}

/// Design 04, 4.2: the books are audited once a minute, not with every step: an audit reads all of them.
#[test]
fn the_books_are_audited_once_a_minute() {
    let mut driven = Driven::synced();
    let before = driven.controller.stats().audits;
    driven.wait(180_000);
    assert_eq!(driven.controller.stats().audits - before, 3);
}

/// A condition that waits for a node, in these words.
fn condition(reason: &str, message: &str) -> Value {
    json!([{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}])
}

/// A pod that no node has room for.
fn too_large() -> Value {
    let mut pod = member("m0");
    pod["metadata"]["labels"] = json!({});
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("100");
    pod
}

/// The reason and the message of the first condition that was written since the last time. All that was written is granted.
fn told(driven: &mut Driven) -> Option<(String, String)> {
    let calls = driven.taken();
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    let told = calls.into_iter().find_map(|call| {
        let Op::PatchPodCondition { condition, .. } = call.op else { return None };
        Some((condition.reason, condition.message))
    });
    told.map(|(reason, message)| (reason.unwrap_or_default(), message.unwrap_or_default()))
}

/// Design 03, 3.5: a pod that says the right reason in other words is told the right ones.
#[test]
fn a_condition_in_other_words_is_written() {
    let words = |said: Option<&str>| {
        let mut driven = Driven::synced();
        let mut pod = too_large();
        if let Some(message) = said {
            pod["status"]["conditions"] = condition("Unschedulable", message);
        }
        driven.upsert(Kind::Pod, &pod);
        driven.wait(5_000);
        told(&mut driven)
    };
    let told = words(None).expect("it waits for a node");
    assert_eq!(told.0, "Unschedulable");
    assert_eq!(words(Some("otherwise")).as_ref(), Some(&told));
    assert_eq!(words(Some(&told.1)), None, "it says so already");
}

/// As above, of another reason: somebody else wrote it, or an earlier write of ours came late.
#[test]
fn a_condition_with_another_reason_is_written_again() {
    let mut driven = Driven::synced();
    let mut pod = too_large();
    driven.upsert(Kind::Pod, &pod);
    driven.wait(5_000);
    let (reason, message) = told(&mut driven).expect("it waits for a node");
    pod["status"]["conditions"] = condition("WaitingForQuota", "late");
    driven.upsert(Kind::Pod, &pod);
    driven.wait(60_000);
    assert_eq!(told(&mut driven).map(|(reason, _)| reason).as_deref(), Some("Unschedulable"));
    pod["status"]["conditions"] = condition(&reason, &message);
    driven.upsert(Kind::Pod, &pod);
    driven.wait(60_000);
    assert_eq!(told(&mut driven), None, "it says so");
}
