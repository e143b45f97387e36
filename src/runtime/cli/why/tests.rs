//! Answers about objects as data: each sentence as a person reads it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;
use crate::api::names;

const NOW: &str = "2026-01-01T01:00:00Z";
const CREATED: &str = "2026-01-01T00:58:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn merged(mut base: Value, over: &Value) -> Value {
    let (Some(inner), Some(more)) = (base.as_object_mut(), over.as_object()) else { return over.clone() };
    for (key, value) in more {
        let old = inner.remove(key).unwrap_or_default();
        inner.insert(key.clone(), merged(old, value));
    }
    base
}

/// A TaskGroup that waits for capacity, changed by `over`.
fn tg(over: &Value) -> TaskGroup {
    let base = json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup",
        "metadata": {"name": "executors", "namespace": "data", "generation": 1, "creationTimestamp": CREATED},
        "spec": {"minMember": 10, "minResource": {"cpu": "2"}, "applicationId": "spark-pi", "queue": "root.edited"},
        "status": {"queue": "root.data", "observedGeneration": 1, "applicationState": "Accepted", "reason": "WaitingForCapacity",
            "message": "4 of 10 seats fit no node: 38 nodes have too little cpu", "counts": {"held": 6, "pending": 4},
            "conditions": [condition("Placed", "False", "WaitingForCapacity"), condition("Accepted", "True", "Accepted")]}});
    serde_json::from_value(merged(base, over)).unwrap()
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": CREATED})
}

/// A pending member, changed by `over`.
fn member(over: &Value) -> Pod {
    let base = json!({"metadata": {"name": "exec-1", "namespace": "data", "creationTimestamp": CREATED,
            "labels": {"gangline.dev/task-group": "executors"}},
        "spec": {"schedulerName": "gangline", "containers": []}, "status": {"phase": "Pending"}});
    serde_json::from_value(merged(base, over)).unwrap()
}

fn pod_words(pod: &Pod, gang: &Gang) -> String {
    words(&pod::answer(pod, gang, &["gangline".to_owned()], now()))
}

fn waiting() -> Gang {
    Gang::Found(Box::new(tg(&json!({}))))
}

const WAITING: &str = "\
TaskGroup data/executors is Accepted (WaitingForCapacity): 4 of 10 seats fit no node: 38 nodes have too little cpu.
  10 must start together: 6 held by placeholders, 4 pending. Queue root.data, application spark-pi.
";

#[test]
fn a_gang_that_waits_says_counts_and_constraint() {
    let answer = group::answer(&tg(&json!({})), now());
    assert_eq!(words(&answer), WAITING);
    let value: Value = serde_json::from_str(&reply(&answer, PlainOutput::Json).out).unwrap();
    assert_eq!((&value["kind"], &value["state"]), (&json!("TaskGroup"), &json!("Accepted")));
    let step = json!({"condition": "Placed", "reason": "WaitingForCapacity", "message": ""});
    assert_eq!(value["waitingFor"], step);
    assert_eq!(value["counts"]["required"], 10);
}

#[test]
fn a_gang_that_runs_waits_for_nothing() {
    let running = tg(&json!({"status": {"applicationState": "Running", "reason": "AllMembersRunning", "message": "",
        "counts": {"held": 0, "pending": 0, "running": 10}, "conditions": [condition("Running", "True", "x")]}}));
    let expected = "\
TaskGroup data/executors is Running (AllMembersRunning).
  10 must start together: 10 running. Queue root.data, application spark-pi.
";
    let answer = group::answer(&running, now());
    assert_eq!((words(&answer).as_str(), &answer.waiting_for), (expected, &None));
}

#[test]
fn a_gang_without_status_is_unseen_and_the_answer_says_how_to_check() {
    let mut group = tg(&json!({}));
    group.status = None;
    let expected = "\
TaskGroup data/executors: Gangline has said nothing about it in the 2m since it was created.
Is Gangline running? kubectl get pods -A -l app.kubernetes.io/name=gangline
";
    let answer = group::answer(&group, now());
    assert_eq!((words(&answer).as_str(), &*answer.state), (expected, "Unseen"));
    group.metadata.creation_timestamp = Some(Time("2026-01-01T00:59:55Z".parse().unwrap()));
    let hints = group::answer(&group, now()).hints;
    assert_eq!(hints, ["It is new: ask again in some seconds."], "silence is no sign yet");
}

#[test]
fn stale_rejected_and_deleted_are_said() {
    let group = tg(&json!({"metadata": {"generation": 3, "deletionTimestamp": NOW},
        "status": {"applicationState": "Rejected", "reason": "ExceedsMaxQuota"}}));
    let hints = group::answer(&group, now()).hints;
    assert!(hints[0].contains("generation 1") && hints[0].contains("not judged generation 3 yet"), "{hints:?}");
    assert!(hints[1].contains("judged again") && hints[2].contains("deleted"), "{hints:?}");
}

/// 01, 1.7: what runs out next is said, and what brings back who timed out: not room.
#[test]
fn deadlines_and_what_they_did_are_said() {
    let next = "2026-01-01T01:00:00Z: Rejected (admissionTimeoutSeconds)";
    let hints = group::answer(&tg(&json!({"status": {"nextDeadline": next}})), now()).hints;
    assert_eq!(hints, [format!("Deadline: {next}.")]);
    let timed_out = json!([condition("TimedOut", "True", "AdmissionTimeout")]);
    let status = json!({"applicationState": "Rejected", "reason": "AdmissionTimeout", "conditions": timed_out});
    let hints = group::answer(&tg(&json!({"status": status})), now()).hints;
    assert_eq!(hints, ["It is judged again when its spec changes, or its pods are gone and others come."]);
}

#[test]
fn a_waiting_member_says_its_own_reason_and_then_its_gangs() {
    let said = member(&json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "WaitingForGang", "message": "waits for the gang data/executors."}]}}));
    let own = "Pod data/exec-1, a member of TaskGroup executors, waits (WaitingForGang): waits for the gang data/executors.\n";
    assert_eq!(pod_words(&said, &waiting()), format!("{own}{WAITING}"));
    let unsaid = "Pod data/exec-1, a member of TaskGroup executors, has waited for a node for 2m.\n";
    assert_eq!(pod_words(&member(&json!({})), &waiting()), format!("{unsaid}{WAITING}"));
}

#[test]
fn a_pod_of_another_scheduler_ends_the_matter() {
    let pod = member(&json!({"spec": {"schedulerName": "default-scheduler"}}));
    let answer = pod::answer(&pod, &waiting(), &["gangline".to_owned()], now());
    let expected = "\
Pod data/exec-1 is scheduled by default-scheduler, not by Gangline.
It has the label gangline.dev/task-group, which has no effect without spec.schedulerName: gangline.
";
    assert_eq!(reply(&answer, PlainOutput::Table), Reply { out: expected.into(), note: String::new(), code: NO });
}

/// Whatever names the command was told.
#[test]
fn what_a_gangline_wrote_on_a_pod_shows_that_it_serves_it() {
    let says = |reason: &str| {
        json!({"spec": {"schedulerName": "gangs"}, "status": {"conditions": [{"type": "PodScheduled", "status": "False",
            "reason": reason, "message": "why"}]}})
    };
    let state = |over: &Value| pod::answer(&member(over), &Gang::None, &["gangline".to_owned()], now()).state;
    assert_eq!(state(&says("WaitingForCapacity")), "Pending");
    assert_eq!(state(&says("Unschedulable")), "Foreign", "kube-scheduler says so too");
    let bound = json!({"metadata": {"annotations": {"gangline.dev/binding": "queue=root.data"}},
        "spec": {"schedulerName": "gangs", "nodeName": "n"}});
    assert_eq!(state(&bound), "Bound");
    let answer = pod::answer(&member(&says("Unschedulable")), &Gang::None, &["gangline".to_owned()], now());
    assert!(answer.hints[1].ends_with("ask with --scheduler-name gangs."), "{:?}", answer.hints);
}

#[test]
fn a_direct_gang_that_lacks_members_for_long_is_told_of_placeholders() {
    let hints = |reservation: &str, pending: u32| {
        let group = tg(&json!({"spec": {"reservation": reservation},
            "status": {"reason": "WaitingForMembers", "counts": {"held": 0, "pending": pending}}}));
        let hints = group::answer(&group, now()).hints;
        hints.iter().any(|hint| hint.contains("reservation Placeholder"))
    };
    assert_eq!([hints("Direct", 1), hints("Direct", 0), hints("Placeholder", 1)], [true, false, false]);
    let mut new = tg(&json!({"spec": {"reservation": "Direct"}, "status": {"reason": "WaitingForMembers"}}));
    new.metadata.creation_timestamp = Some(Time("2026-01-01T00:59:05Z".parse().unwrap()));
    assert!(group::answer(&new, now()).hints.is_empty(), "they may be on their way");
}

#[test]
fn a_bound_member_says_where_since_when_and_in_which_seat() {
    let pod = member(
        &json!({"metadata": {"annotations": {"gangline.dev/binding": "queue=root.data task-group=executors incarnation=u.1 seat=3"}},
        "spec": {"nodeName": "node-7"}, "status": {"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:59:15Z"}]}}),
    );
    let expected = "Pod data/exec-1, a member of TaskGroup executors, is on node node-7 in seat 3 \
                    since 2026-01-01T00:59:15Z (45s); phase Running.\n";
    assert_eq!(pod_words(&pod, &Gang::None), expected);
    let answer = pod::answer(&pod, &Gang::None, &["gangline".to_owned()], now());
    let facts = (answer.state.as_str(), answer.node.as_deref(), answer.queue.as_deref(), answer.seat.as_deref());
    assert_eq!(facts, ("Bound", Some("node-7"), Some("root.data"), Some("3")));
    let broken = json!({"metadata": {"annotations": {"gangline.dev/binding": "seat=3"}}, "spec": {"nodeName": "n"}});
    let answer = pod::answer(&member(&broken), &Gang::None, &["gangline".to_owned()], now());
    assert_eq!((answer.seat, answer.hints.len()), (None, 1));
    assert!(answer.hints[0].starts_with("Its annotation gangline.dev/binding cannot be read"), "{:?}", answer.hints);
}

#[test]
fn a_placeholder_names_its_seat_and_group() {
    let labels = json!({"gangline.dev/placeholder": "true", "gangline.dev/seat": "4"});
    let pod = member(&json!({"metadata": {"name": "p-1", "labels": labels}, "spec": {"nodeName": "n"},
        "status": {"phase": "Running"}}));
    let expected =
        "Pod data/p-1, the placeholder that holds seat 4 of TaskGroup executors, is on node n; phase Running.\n";
    assert_eq!(pod_words(&pod, &Gang::None), expected);
}

#[test]
fn gates_ends_and_deletions_are_said() {
    for (over, words) in [
        (
            json!({"spec": {"schedulingGates": [{"name": "a/b"}, {"name": "c"}]}}),
            "waits for its scheduling gates to be removed: a/b, c.",
        ),
        (json!({"status": {"phase": "Failed"}, "spec": {"nodeName": "n"}}), "is finished (Failed) on node n."),
        (json!({"status": {"phase": "Failed"}}), "is finished (Failed) without a node."),
        (json!({"metadata": {"deletionTimestamp": NOW}}), "is being deleted; it never had a node."),
    ] {
        let expected = format!("Pod data/exec-1, a member of TaskGroup executors, {words}\n");
        assert_eq!(pod_words(&member(&over), &Gang::None), expected);
    }
}

#[test]
fn a_member_without_its_group_says_so() {
    let text = pod_words(&member(&json!({})), &Gang::Missing("executors".into()));
    assert!(
        text.ends_with("TaskGroup executors does not exist in namespace data: the pod waits until it does.\n"),
        "{text}"
    );
    let conditions = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]);
    let text = pod_words(&member(&json!({"status": {"conditions": conditions}})), &Gang::Missing("executors".into()));
    assert!(!text.contains("does not exist"), "an ordinary pod of its application waits for room: {text}");
    let text = pod_words(&member(&json!({})), &Gang::Unreadable("executors".into(), "forbidden\u{1b}[2J".into()));
    assert!(text.ends_with("TaskGroup executors cannot be read: forbidden\\u{1b}[2J\n"), "{text}");
}

#[test]
fn an_originator_is_told_about_the_group_that_holds_it_up() {
    let found = |name: &str, over: &Value| {
        let object = Box::new(tg(&merged(json!({"metadata": {"name": name}}), over)));
        Found { namespace: "data".into(), name: name.into(), object: Ok(object) }
    };
    let listed = vec![
        found("a", &json!({"status": {"applicationState": "Running"}})),
        found("b", &json!({"spec": {"applicationId": "other"}})),
        found("c", &json!({})),
    ];
    let gang = Gang::from_list("spark-pi", Ok(listed));
    assert!(matches!(&gang, Gang::Found(group) if group.metadata.name.as_deref() == Some("c")), "{gang:?}");
    let pod = member(&json!({"metadata": {"labels": {"gangline.dev/application-id": "spark-pi"}}}));
    let text = pod_words(&without_group(pod), &gang);
    assert!(text.starts_with("Pod data/exec-1, of application spark-pi outside its task groups, has waited"), "{text}");
}

fn without_group(mut pod: Pod) -> Pod {
    pod.metadata.labels.as_mut().unwrap().remove(names::TASK_GROUP);
    pod
}

fn got<K>(object: K) -> Got<K> {
    Ok(Some(Found { namespace: "data".into(), name: "x".into(), object: Ok(Box::new(object)) }))
}

#[test]
fn the_other_kind_is_suggested_when_the_name_is_of_that_kind() {
    let chosen = choose(Target::Pod("x"), Ok(None), got(tg(&json!({})))).unwrap();
    let Chosen::Neither(also) = chosen else { panic!("there is no pod") };
    let text = missing(Target::Pod("x"), "data", also);
    let expected =
        "Pod x does not exist in namespace data. A taskgroup has that name: gangline why taskgroup/x -n data";
    assert_eq!(text, expected);
    let chosen = choose(Target::Group("x"), got(member(&json!({}))), Ok(None)).unwrap();
    let Chosen::Neither(also) = chosen else { panic!("there is no group") };
    assert!(missing(Target::Group("x"), "data", also).ends_with("gangline why pod/x -n data"));
}

#[test]
fn a_bare_name_finds_either_and_prefers_the_group() {
    let both = choose(Target::Either("x"), got(member(&json!({}))), got(tg(&json!({})))).unwrap();
    assert!(matches!(both, Chosen::Group(_, Some(_))));
    let refused = || Err(FetchError::Unserved("taskgroups".into()));
    let pod = choose(Target::Either("x"), got(member(&json!({}))), refused()).unwrap();
    assert!(matches!(pod, Chosen::Pod(_)));
    assert!(choose(Target::Either("x"), Ok(None), refused()).is_err());
    assert!(choose(Target::Group("x"), got(member(&json!({}))), refused()).is_err());
}

#[test]
fn targets_are_what_kubectl_users_write() {
    for (text, target) in [
        ("x", Some(Target::Either("x"))),
        ("po/x", Some(Target::Pod("x"))),
        ("pods/x", Some(Target::Pod("x"))),
        ("tg/x", Some(Target::Group("x"))),
        ("taskgroups.gangline.dev/x", Some(Target::Group("x"))),
        ("", None),
        ("job/x", None),
        ("pod/", None),
        ("pod/x/y", None),
    ] {
        assert_eq!(Target::parse(text).ok(), target, "{text}");
    }
}
