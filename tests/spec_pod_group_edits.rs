//! PodGroups that are edited (design 01, 1.2.4; ADR 38): what was made of one follows it before its gang starts, in all that can be
//! followed, and says so where it cannot.

use gangline::api::task_group::{MatchPolicy, Mode};
use gangline::shim::op::{Call, GroupEdit, Kind, Op};
use serde_json::{Value, json};

use crate::spec_koordinator::{adjusted, made, see};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::{KOORDINATOR_LABEL, LABEL, annotated, cluster, pod_group, pods};
use crate::spec_yunikorn::{bound, run};

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
