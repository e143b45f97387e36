//! Lists and answers beside each other, and what a list cannot tell.

use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::driven::{Driven, group, member, node};

/// 02, 2.1: an answer can be newer than the list that a broken watch begins again with.
#[test]
fn a_list_older_than_an_answer_takes_nothing_away_for_good() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    let made = driven.grant();
    assert_eq!(made.len(), 2);
    driven.fact(Kind::Pod, WatchFact::ListBegin);
    driven.fact(Kind::Pod, WatchFact::ListEnd);
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    assert_eq!(driven.controller.stats().objects["pods"], 2);
    driven.wait(1_000);
    assert_eq!(driven.rules().get("create pods"), None, "they are there");
}

/// 01, 1.11: a kind that comes to be served while we run is known when its list ends, and not when that begins: until then
/// a placeholder's TaskGroup may still come, and so may a gang's queue.
#[test]
fn a_kind_that_is_served_later_is_known_when_its_list_ends() {
    let mut before = Driven::synced();
    let group = group(&json!({"placeholderFor": "all", "queue": "root.late"}));
    let queue = json!({"metadata": {"name": "root.late", "generation": 1}, "spec": {"parent": "root"}});
    before.upsert(Kind::Queue, &queue);
    before.upsert(Kind::TaskGroup, &group);
    let placeholders = before.grant();
    assert_eq!(placeholders.len(), 2);

    let mut driven = Driven::unsynced();
    for kind in [Kind::TaskGroup, Kind::Queue] {
        driven.fact(kind, WatchFact::Unserved);
    }
    let node = driven.seen(Kind::Node, &node("n1"));
    driven.fact(Kind::Node, WatchFact::Listed(node));
    placeholders.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Listed(pod.clone())));
    for kind in [Kind::Node, Kind::Pod, Kind::ResourceQuota, Kind::Namespace] {
        driven.fact(kind, WatchFact::ListEnd);
    }
    driven.step();
    let (group, queue) = (driven.seen(Kind::TaskGroup, &group), driven.seen(Kind::Queue, &queue));
    let facts = [
        (Kind::TaskGroup, WatchFact::ListBegin),
        (Kind::TaskGroup, WatchFact::Listed(group)),
        (Kind::TaskGroup, WatchFact::ListEnd),
        (Kind::Queue, WatchFact::ListBegin),
        (Kind::Queue, WatchFact::Listed(queue)),
        (Kind::Queue, WatchFact::ListEnd),
    ];
    let mut bound = 0;
    for (kind, fact) in facts {
        driven.fact(kind, fact.clone());
        driven.wait(1_000);
        let state = driven.controller.state();
        let is_rejected =
            state["taskGroups"].as_array().is_some_and(|all| all.iter().any(|g| g["state"] == "Rejected"));
        let calls = driven.taken();
        calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        let is_deleted = calls.iter().any(|call| matches!(call.op, Op::DeletePod { .. }));
        assert_eq!((is_deleted, is_rejected), (false, false), "after {fact:?} of {kind:?}");
        bound += calls.iter().filter(|call| matches!(call.op, Op::Bind { .. })).count();
    }
    assert_eq!(bound, 2, "{}", driven.controller.state());
}

/// What an earlier process wrote and announced is not written and announced again.
#[test]
fn a_restart_repeats_nothing() {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
               "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let waits = "1 of 2 members of g exist; the gang starts when all do";
    let mut pod = member("m");
    pod["status"]["conditions"] = json!([condition("PodScheduled", "False", "WaitingForMembers", waits)]);
    let mut group = group(&json!({"reservation": "Direct"}));
    let no = |kind: &str| condition(kind, "False", "WaitingForMembers", waits);
    group["status"] = json!({
        "observedGeneration": 1, "queue": "root.default", "applicationState": "Accepted", "incarnation": 1,
        "reason": "WaitingForMembers", "message": waits, "placeholderAsk": {"cpu": "2", "pods": "2"},
        "counts": {"required": 2, "pending": 1, "held": 0, "placeholders": 0, "replaced": 0, "running": 0,
                   "succeeded": 0, "failed": 0},
        "selector": "gangline.dev/task-group=g",
        "conditions": [condition("Accepted", "True", "Accepted", "the application was taken into its queue"),
                       no("QuotaReserved"), no("Placed"), no("Running"), no("Finished"), no("TimedOut")]});
    let mut driven = Driven::unsynced();
    driven.list(&[(Kind::Node, &node("n1")), (Kind::TaskGroup, &group), (Kind::Pod, &pod)]);
    driven.wait(60_000);
    assert_eq!(driven.rules(), [].into());
    driven.upsert(Kind::Pod, &member("n"));
    driven.wait(1_000);
    assert_eq!(driven.rules().get("create pods/binding"), Some(&2), "and then it goes on");
}

/// One object that cannot be read takes nothing away that is known, and is counted while it is there.
#[test]
fn what_cannot_be_read_stays_as_it_was_known() {
    let mut driven = Driven::synced();
    let mut bad = node("n1");
    bad["status"]["allocatable"] = json!(7);
    let malformed = |driven: &Driven, kind: &str| driven.controller.stats().malformed.get(kind).copied().unwrap_or(0);
    let list = |driven: &mut Driven, kind, object: Option<&Value>| {
        driven.fact(kind, WatchFact::ListBegin);
        if let Some(object) = object {
            let seen = driven.seen(kind, object);
            driven.fact(kind, WatchFact::Listed(seen));
        }
        driven.fact(kind, WatchFact::ListEnd);
        driven.step();
    };
    list(&mut driven, Kind::Node, Some(&bad));
    assert_eq!((driven.controller.stats().objects["nodes"], malformed(&driven, "nodes")), (1, 1));
    list(&mut driven, Kind::Node, Some(&node("n1")));
    assert_eq!((driven.controller.stats().objects["nodes"], malformed(&driven, "nodes")), (1, 0));
    driven.upsert(Kind::TaskGroup, &group(&json!({"minMember": "x"})));
    assert_eq!(malformed(&driven, "taskgroups"), 1);
    list(&mut driven, Kind::TaskGroup, None);
    assert_eq!(malformed(&driven, "taskgroups"), 0);
}

/// A placeholder that was made and is gone before pods are listed anew, which nobody tells of: its answer, if it comes only
/// then, is no fact, and the call is made again. So it is where the list is on its way when the answer comes, and where the
/// watch had told of the pod before.
#[test]
fn what_an_answer_shows_that_is_older_than_a_list_is_not_believed() {
    use WatchFact::{ListBegin, ListEnd, Unserved};
    let broken = || WatchFact::Broken { code: 0, message: "cut".into() };
    // Whether the watch tells of the pod, what it says then, and after the answer; how often the pod is made, and bound.
    type Case = (bool, Vec<WatchFact>, Vec<WatchFact>, (usize, bool));
    let cases: [Case; 7] = [
        (false, vec![], vec![], (1, true)),
        (false, vec![broken(), ListBegin, ListEnd], vec![], (2, false)),
        (false, vec![broken(), ListBegin], vec![], (2, false)),
        (false, vec![broken(), ListBegin], vec![ListEnd], (2, false)),
        // The next list shows what is there.
        (false, vec![broken(), ListBegin, broken()], vec![], (1, true)),
        (false, vec![broken(), ListBegin, Unserved], vec![], (1, true)),
        // Known by the watch, and not by the list: the next attempt is made.
        (true, vec![broken(), ListBegin], vec![ListEnd], (2, true)),
    ];
    for (is_told, before, after, expected) in cases {
        let said = format!("{is_told} {before:?} {after:?}");
        let mut driven = Driven::synced();
        driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all", "minMember": 1})));
        let is_creation = |call: &Call| matches!(call.op, Op::CreatePod(_));
        let mut creations: Vec<Call> = driven.taken().into_iter().filter(is_creation).collect();
        let creation = creations.pop().expect("a placeholder is made");
        let Op::CreatePod(pod) = &creation.op else { unreachable!("a creation") };
        let pod = driven.seen(Kind::Pod, &serde_json::to_value(pod).expect("a pod is JSON"));
        if is_told {
            driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone()));
            driven.step();
        }
        before.into_iter().for_each(|fact| driven.fact(Kind::Pod, fact));
        driven.answer(&creation, Outcome::Ok(Some(Box::new(pod))));
        after.into_iter().for_each(|fact| driven.fact(Kind::Pod, fact));
        driven.wait(10_000);
        let calls = driven.taken();
        let is_bound = calls.iter().any(|call| matches!(call.op, Op::Bind { .. }));
        assert_eq!(
            (1 + calls.iter().filter(|call| is_creation(call)).count(), is_bound),
            expected,
            "{said}: {calls:?}"
        );
    }
}
