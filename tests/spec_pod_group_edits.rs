//! PodGroups that are edited (design 01, 1.2.4; ADR 38): what was made of one follows it before its gang starts, in all that can be
//! followed, and says so where it cannot.

use gangline::api::task_group::{MatchPolicy, Mode};
use gangline::core::codes::Code;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, GroupEdit, Kind, Op};
use serde_json::{Value, json};

use crate::spec_koordinator::{adjusted, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::{KOORDINATOR_LABEL, LABEL, annotated, cluster, gone, pod_group, pods, speaking};
use crate::spec_yunikorn::{bound, run, run_refusing};
use crate::support::driven::{Driven, node, refused};

const KIND: Kind = Kind::KoordinatorPodGroup;

/// What TaskGroups are edited to.
fn edits(calls: &[Call]) -> Vec<&GroupEdit> {
    calls
        .iter()
        .filter_map(|call| if let Op::EditTaskGroup { edit, .. } = &call.op { Some(edit) } else { None })
        .collect()
}

/// A TaskGroup as it is after an edit.
fn after(group: &Value, edit: &GroupEdit, generation: u32) -> Value {
    let mut group = group.clone();
    group["metadata"]["generation"] = json!(generation);
    let spec = &mut group["spec"];
    (spec["minMember"], spec["totalMember"]) = (json!(edit.min_member), json!(edit.total_member));
    edit.mode.into_iter().for_each(|mode| spec["mode"] = json!(mode));
    edit.match_policy.into_iter().for_each(|policy| spec["matchPolicy"] = json!(policy));
    edit.wait_timeout_seconds.into_iter().for_each(|seconds| spec["waitTimeoutSeconds"] = json!(seconds));
    group
}

/// 43, 2: "edited while waiting", seed 002 "CRD way": what its annotations say follows like its number.
#[test]
fn annotations_that_are_edited_before_the_start_reach_the_task_group() {
    for (annotations, mode, policy, total) in [
        (json!({"mode": "NonStrict"}), Mode::NonStrict, MatchPolicy::OnceSatisfied, 3),
        (json!({"match-policy": "only-waiting"}), Mode::Strict, MatchPolicy::OnlyWaiting, 3),
        (json!({"total-number": "5"}), Mode::Strict, MatchPolicy::OnceSatisfied, 5),
    ] {
        let mut driven = cluster();
        let plain = pod_group("g", &json!({"minMember": 3}));
        driven.upsert(KIND, &plain);
        see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 2));
        let calls = run(&mut driven, 5);
        let group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
        driven.upsert(KIND, &annotated(plain.clone(), &annotations));
        driven.wait(1_000);
        let calls = driven.taken();
        let [edit] = edits(&calls)[..] else { panic!("edited once: {annotations}") };
        assert_eq!((edit.mode, edit.match_policy, edit.total_member), (Some(mode), Some(policy), total));
        calls.iter().for_each(|call| driven.grant_one(call));
        driven.upsert(Kind::TaskGroup, &after(&group, edit, 2));
        let calls = run(&mut driven, 5);
        assert_eq!((edits(&calls).len(), adjusted(&calls).len()), (0, 0), "{annotations}");
        driven.upsert(KIND, &plain);
        driven.wait(1_000);
        let calls = driven.taken();
        let [back] = edits(&calls)[..] else { panic!("and back: {annotations}") };
        let plainly = (Some(Mode::Strict), Some(MatchPolicy::OnceSatisfied), 3);
        assert_eq!((back.mode, back.match_policy, back.total_member), plainly);
    }
}

/// 01, 1.2.4: "once started, only timeouts can be changed". What waits then for a node is told that the TaskGroup says something else.
#[test]
fn annotations_that_are_edited_after_the_start_are_told_to_who_waits() {
    let mut driven = cluster();
    let plain = pod_group("g", &json!({"minMember": 2}));
    driven.upsert(KIND, &plain);
    let pods = pods(KOORDINATOR_LABEL, "g", 18);
    see(&mut driven, &pods[..2]);
    let calls = run(&mut driven, 5);
    see(&mut driven, &as_bound(&pods[..2], &calls));
    run(&mut driven, 5);
    see(&mut driven, &pods[2..]);
    let calls = run(&mut driven, 5);
    see(&mut driven, &as_bound(&pods[2..], &calls));
    driven.upsert(KIND, &annotated(plain, &json!({"mode": "NonStrict", "total-number": "7"})));
    let calls = run(&mut driven, 5);
    assert_eq!(edits(&calls).len(), 0);
    let told = adjusted(&calls);
    assert!(told.iter().any(|told| told.contains("totalMember") && told.contains("mode")), "{told:?}");
}

/// What a system has no word for is nobody's edit: whatever somebody wrote into the TaskGroup stays.
#[test]
fn what_a_pod_group_cannot_say_is_left_as_it_is() {
    let mut driven = cluster();
    let kind = Kind::CoschedulingPodGroup;
    driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
    see(&mut driven, &pods(LABEL, "g", 2));
    let calls = run(&mut driven, 5);
    let mut group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    group["metadata"]["generation"] = json!(2);
    (group["spec"]["mode"], group["spec"]["totalMember"]) = (json!("NonStrict"), json!(6));
    driven.upsert(Kind::TaskGroup, &group);
    assert_eq!(edits(&run(&mut driven, 5)).len(), 0);
    driven.upsert(kind, &pod_group("g", &json!({"minMember": 4})));
    driven.wait(1_000);
    let calls = driven.taken();
    let [edit] = edits(&calls)[..] else { panic!("edited once") };
    assert_eq!((edit.min_member, edit.total_member, edit.mode, edit.match_policy), (4, 6, None, None));
    assert_eq!(bound(&calls).len(), 0);
}

/// The TaskGroup that was made of a PodGroup of three, with two of its pods that wait.
fn made_of_three(driven: &mut Driven) -> Value {
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 3})));
    see(driven, &pods(KOORDINATOR_LABEL, "g", 2));
    let mut group = serde_json::to_value(made(&run(driven, 5))[0]).expect("it is JSON");
    group["metadata"]["generation"] = json!(1);
    driven.upsert(Kind::TaskGroup, &group);
    group
}

/// ADR 38: no gang starts by a number that is known to be out of date, nor by the next one before the API server has it: a process that
/// ends in between would leave a gang in part. Each pod says what is waited for.
#[test]
fn a_gang_whose_pod_group_was_just_edited_starts_when_its_task_group_is() {
    for now in [2, 4] {
        let mut driven = cluster();
        let group = made_of_three(&mut driven);
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": now})));
        see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 4)[2..]);
        // A status that is written meanwhile shows the TaskGroup as it was.
        let mut touched = group.clone();
        touched["status"] = json!({"message": "as it was"});
        driven.upsert(Kind::TaskGroup, &touched);
        driven.wait(5_000);
        let calls = driven.taken();
        assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (0, 0));
        assert_eq!(why(&driven.controller, "g-3"), Some(Code::WaitingForTaskGroups));
        let edit = edits(&calls)[0].clone();
        assert_eq!(edit.min_member, now);
        calls.iter().for_each(|call| driven.grant_one(call));
        // It may leave once more before the watch shows what became of it, and is refused by the generation that it carries.
        driven.taken().iter().for_each(|call| driven.answer(call, refused(422)));
        driven.upsert(Kind::TaskGroup, &after(&group, &edit, 2));
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), edits(&calls).len()), (4, 0), "{now}");
    }
}

/// As above: what was edited while nobody waited is heeded by those who come, and what is edited back is no edit any more.
#[test]
fn an_edit_that_nobody_waited_for_is_heeded_by_who_comes() {
    for (now, starts) in [(5, 0), (3, 3)] {
        let mut driven = cluster();
        made_of_three(&mut driven);
        pods(KOORDINATOR_LABEL, "g", 2).iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
        run(&mut driven, 5);
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 5})));
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": now})));
        for pod in &mut pods(KOORDINATOR_LABEL, "g", 5)[2..] {
            let pod = driven.seen(Kind::Pod, pod);
            driven.fact(Kind::Pod, WatchFact::Upsert(pod));
        }
        driven.step();
        let calls = run(&mut driven, 5);
        assert_eq!(bound(&calls).len(), starts, "{now}: {:?}", why(&driven.controller, "g-4"));
    }
}

/// As above, in a process that has just begun: in whichever order the three kinds are listed.
#[test]
fn an_edit_is_heeded_in_whichever_order_kinds_are_listed() {
    let group = made_of_three(&mut cluster());
    let edited = pod_group("g", &json!({"minMember": 5}));
    let pods = pods(KOORDINATOR_LABEL, "g", 3);
    let kinds = [Kind::Pod, Kind::TaskGroup, KIND];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders.map(|order| order.map(|place| kinds[place])) {
        let mut driven = speaking();
        let node = node("n1");
        let objects = [(Kind::Node, &node), (Kind::TaskGroup, &group), (KIND, &edited)];
        let of_pods = pods.iter().map(|pod| (Kind::Pod, pod));
        let objects: Vec<_> = objects.into_iter().chain(of_pods).collect();
        let others = Kind::ALL.into_iter().filter(|kind| !order.contains(kind));
        driven.list_in(others.chain(order), &objects);
        driven.wait(1_000);
        let calls = driven.taken();
        assert_eq!((bound(&calls).len(), edits(&calls).len()), (0, 1), "{order:?}");
    }
}

/// 01, 1.2.4: of a gang that has started nothing is edited, in whichever order a process that begins learns of it.
#[test]
fn of_a_gang_that_has_started_nothing_is_edited_by_a_process_that_begins() {
    let mut first = cluster();
    let mut group = made_of_three(&mut first);
    let three = pods(KOORDINATOR_LABEL, "g", 3);
    see(&mut first, &three[2..]);
    let bound_pods = as_bound(&three, &run(&mut first, 5));
    group["status"] = json!({"applicationState": "Running", "incarnation": 1, "observedGeneration": 1});
    let edited = pod_group("g", &json!({"minMember": 5}));
    let fourth = pods(KOORDINATOR_LABEL, "g", 4).remove(3);
    let kinds = [Kind::Pod, Kind::TaskGroup, KIND];
    for order in [[2, 0, 1], [0, 2, 1], [1, 0, 2]].map(|order| order.map(|place| kinds[place])) {
        let mut driven = speaking();
        let node = node("n1");
        let objects = [(Kind::Node, &node), (Kind::TaskGroup, &group), (KIND, &edited), (Kind::Pod, &fourth)];
        let of_pods = bound_pods.iter().map(|pod| (Kind::Pod, pod));
        let objects: Vec<_> = objects.into_iter().chain(of_pods).collect();
        let others = Kind::ALL.into_iter().filter(|kind| !order.contains(kind));
        driven.list_in(others.chain(order), &objects);
        let calls = run(&mut driven, 5);
        let said = why(&driven.controller, "g-3");
        assert_eq!(
            (bound(&calls).len(), edits(&calls).len()),
            (1, 0),
            "the fourth is an ordinary pod: {order:?} {said:?}"
        );
    }
}

/// As above, whatever ends it: edited back while the edit is on its way, whose answer may be a refusal or none; the PodGroup is wrong by
/// then, or its kind is not served any more; the first pod says something itself. Nobody waits for an edit that is none.
#[test]
fn a_gang_goes_on_when_its_task_group_is_not_edited_after_all() {
    let back: [fn(&mut Driven); 4] = [
        |driven| driven.upsert(KIND, &pod_group("g", &json!({"minMember": 3}))),
        |driven| driven.upsert(KIND, &pod_group("g", &json!({"minMember": 0}))),
        |driven| {
            driven.fact(KIND, WatchFact::Unserved);
            driven.step();
        },
        |driven| {
            let pod = annotated(pods(KOORDINATOR_LABEL, "g", 1).remove(0), &json!({"min-available": "3"}));
            driven.upsert(Kind::Pod, &pod);
        },
    ];
    for (number, back) in back.into_iter().enumerate() {
        for (code, refused_before) in [(403, false), (422, false), (503, false), (403, true), (422, true), (503, true)]
        {
            let mut driven = cluster();
            made_of_three(&mut driven);
            driven.upsert(KIND, &pod_group("g", &json!({"minMember": 5})));
            let calls = driven.taken();
            let edit = calls.iter().find(|call| matches!(call.op, Op::EditTaskGroup { .. })).expect("it is edited");
            see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 3)[2..]);
            if refused_before {
                driven.answer(edit, refused(code));
            }
            back(&mut driven);
            if !refused_before {
                assert_eq!(bound(&driven.taken()).len(), 0, "{number}: what is on its way may yet come about");
                driven.answer(edit, refused(code));
            }
            let calls = run(&mut driven, 5);
            let said = why(&driven.controller, "g-2");
            assert_eq!((bound(&calls).len(), edits(&calls).len()), (3, 0), "{number}, {code}: {said:?}");
        }
    }
}

/// As above: what came about counts before it is seen, also where the PodGroup says by then what the TaskGroup was.
#[test]
fn a_gang_waits_for_an_edit_that_came_about_and_is_not_seen_yet() {
    let mut driven = cluster();
    let group = made_of_three(&mut driven);
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 5})));
    let calls = driven.taken();
    let edit = edits(&calls)[0].clone();
    calls.iter().for_each(|call| driven.grant_one(call));
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 3})));
    see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 3)[2..]);
    let calls = driven.taken();
    assert_eq!(bound(&calls).len(), 0, "the API server has five");
    calls.iter().for_each(|call| driven.grant_one(call));
    driven.upsert(Kind::TaskGroup, &after(&group, &edit, 2));
    let calls = run(&mut driven, 10);
    let back = edits(&calls)[0].clone();
    assert_eq!((back.min_member, bound(&calls).len()), (3, 0));
    driven.upsert(Kind::TaskGroup, &after(&group, &back, 3));
    assert_eq!(bound(&run(&mut driven, 5)).len(), 3);
}

/// As above: what is refused is tried again, be it with the code that a gang which has just started gets.
#[test]
fn an_edit_that_is_refused_for_a_while_comes_about() {
    for code in [409, 422, 403] {
        let mut driven = cluster();
        let group = made_of_three(&mut driven);
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2})));
        let refused_for_a_while = |op: &Op| matches!(op, Op::EditTaskGroup { .. }).then_some(code);
        assert_eq!(bound(&run_refusing(&mut driven, 100, refused_for_a_while)).len(), 0, "{code}");
        let calls = run(&mut driven, 90);
        let edit = edits(&calls).first().copied().cloned().expect("it is tried again");
        driven.upsert(Kind::TaskGroup, &after(&group, &edit, 2));
        assert_eq!(bound(&run(&mut driven, 5)).len(), 2, "{code}");
    }
}
