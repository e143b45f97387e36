//! That a gang has timed out, as pods say it in Koordinator's words (the fourth seed, 002 "After Gang"; ADR 42): written to them,
//! read of them, and taken off again where the gang goes on.

use std::collections::BTreeSet;

use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::dialect::koordinator::TIMEOUT;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::spec_koordinator::{conditions, gang, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::edit;
use crate::spec_yunikorn::{bound, declared, run, run_refusing};
use crate::support::driven::{Driven, member, node};

/// In an empty cluster with a node of 16 cpu.
fn cluster() -> Driven {
    let mut driven = Driven::speaking(&[Dialect::YuniKorn, Dialect::Koordinator]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

/// More pods than the node has room for, which wait for 20 s once some have found room.
fn too_many() -> Vec<Value> {
    gang("g", 17, 17, &json!({"waiting-time": "20s"}))
}

/// The same pods, which say that their gang has timed out.
fn given_up(pods: &[Value]) -> Vec<Value> {
    let mut pods = pods.to_vec();
    pods.iter_mut().for_each(|pod| pod["metadata"]["annotations"][TIMEOUT] = json!("true"));
    pods
}

/// What is written to pods, each time.
fn written(calls: &[Call]) -> Vec<(&str, bool)> {
    let written = calls.iter().filter_map(|call| {
        if let Op::AnnotateTimeout { pod, timed_out, .. } = &call.op { Some((&*pod.name, *timed_out)) } else { None }
    });
    written.collect()
}

/// That each of these pods, and nobody else, is told once.
fn assert_told_once(calls: &[Call], pods: &[Value], timed_out: bool) {
    let expected: BTreeSet<_> =
        pods.iter().map(|pod| (pod["metadata"]["name"].as_str().expect("a name"), timed_out)).collect();
    let written = written(calls);
    assert_eq!((written.len(), written.into_iter().collect::<BTreeSet<_>>()), (pods.len(), expected));
}

/// The last status of the one TaskGroup.
fn status(calls: &[Call]) -> Value {
    let mut statuses = calls.iter().filter_map(|call| {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op { serde_json::to_value(status).ok() } else { None }
    });
    statuses.next_back().expect("it was written")
}

/// The TaskGroup that was made, with its last status, and what was called until it had timed out.
fn timed_out(driven: &mut Driven) -> (Value, Vec<Call>) {
    let calls = run(driven, 30);
    let mut group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    group["metadata"]["generation"] = json!(1);
    group["status"] = status(&calls);
    (group, calls)
}

/// Seed 002 "After Gang": "If WaitTime is timeout, scheduler will roll back all assumed pods, update each pod's annotation with
/// gang.scheduling.koordinator.sh/timeout=true"; "Un-reserve": "When permit stage is timeout, we will give an annotation like
/// gang.scheduling.koordinator.sh/timeout=true to all the pods belong to the Gang": once, and of another gang, or of a pod in our
/// own words, nothing is written.
#[test]
fn each_pod_without_a_node_is_told_once() {
    let mut driven = cluster();
    let runs = gang("h", 2, 2, &json!({}));
    see(&mut driven, &runs);
    let calls = run(&mut driven, 5);
    see(&mut driven, &as_bound(&runs, &calls));
    let pods = gang("g", 16, 15, &json!({"waiting-time": "20s"}));
    see(&mut driven, &pods);
    see(&mut driven, &[member("own")]);
    assert_eq!(written(&run(&mut driven, 15)), Vec::new());
    let calls = run(&mut driven, 15);
    assert_told_once(&calls, &pods, true);
    assert_eq!(why(&driven.controller, "own"), Some(Code::WaitTimeout));
    see(&mut driven, &given_up(&pods));
    let calls = run(&mut driven, 60);
    assert_eq!((written(&calls).len(), conditions(&calls).len()), (0, 0), "and the reason is the gang's as before");
    assert_eq!(why(&driven.controller, "g-0"), Some(Code::WaitTimeout));
}

/// ADR 23: the status says it first: what is written to pods follows from what any later process reads.
#[test]
fn the_status_says_it_first() {
    let mut driven = cluster();
    see(&mut driven, &too_many());
    let calls = run(&mut driven, 30);
    let reason = |call: &Call| {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status.reason.clone()) } else { None }
    };
    let is_said = |call: &Call| reason(call).as_deref() == Some(Code::WaitTimeout.name());
    let said = calls.iter().position(is_said).expect("the status says it");
    let first = calls.iter().position(|call| matches!(call.op, Op::AnnotateTimeout { .. })).expect("it is written");
    assert!(said < first);
}

/// Seed 002 "After Gang": "and won't schedule these pods anymore"; "Un-reserve": "The Gang will not be scheduled anymore, user
/// should manually handle the timeout event": also not by a process that begins, which writes to the rest of them alone.
#[test]
fn after_a_restart_the_rest_is_told() {
    let mut driven = cluster();
    see(&mut driven, &too_many());
    let (group, _) = timed_out(&mut driven);
    let (n1, n2) = (node("n1"), node("n2"));
    for told in [17, 9, 0] {
        let pods = [given_up(&too_many()[..told]), too_many()[told..].to_vec()].concat();
        let mut driven = Driven::speaking(&[Dialect::Koordinator]);
        let objects = [(Kind::Node, &n1), (Kind::Node, &n2), (Kind::TaskGroup, &group)];
        let pods_listed = pods.iter().map(|pod| (Kind::Pod, pod));
        driven.list(&objects.into_iter().chain(pods_listed).collect::<Vec<_>>());
        let calls = run(&mut driven, 60);
        assert_told_once(&calls, &pods[told..], true);
        assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
        assert_eq!(why(&driven.controller, "g-0"), Some(Code::WaitTimeout));
    }
}

/// 01, 1.7: "is not scheduled again until it is resubmitted or changed": a gang that goes on takes the annotation off its pods, and
/// starts when that is seen.
#[test]
fn a_gang_that_is_changed_takes_it_off_and_starts() {
    let mut driven = cluster();
    see(&mut driven, &too_many());
    let (mut group, _) = timed_out(&mut driven);
    see(&mut driven, &given_up(&too_many()));
    run(&mut driven, 5);
    (group["spec"]["minMember"], group["metadata"]["generation"]) = (json!(16), json!(2));
    driven.upsert(Kind::TaskGroup, &group);
    let calls = run(&mut driven, 10);
    assert_told_once(&calls, &too_many(), false);
    assert_eq!(bound(&calls).len(), 0, "none before it is seen");
    see(&mut driven, &too_many());
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls).len(), written(&calls).len()), (16, 0));
}

/// ADR 38: a TaskGroup follows its PodGroup also while its pods say that they are given up.
#[test]
fn an_edit_of_a_pod_group_reaches_a_gang_that_timed_out() {
    let mut driven = cluster();
    let mut object = json!({"metadata": {"name": "g", "namespace": "ns", "uid": "pg"},
                            "spec": {"minMember": 17, "scheduleTimeoutSeconds": 20}});
    driven.upsert(Kind::KoordinatorPodGroup, &object);
    let pods: Vec<Value> = (0..17)
        .map(|number| {
            let mut pod = member(&format!("g-{number}"));
            pod["metadata"]["labels"] = json!({"pod-group.scheduling.sigs.k8s.io": "g"});
            pod
        })
        .collect();
    see(&mut driven, &pods);
    let (mut group, calls) = timed_out(&mut driven);
    assert_told_once(&calls, &pods, true);
    see(&mut driven, &given_up(&pods));
    run(&mut driven, 5);
    object["spec"]["minMember"] = json!(16);
    driven.upsert(Kind::KoordinatorPodGroup, &object);
    let calls = run(&mut driven, 5);
    assert_eq!(calls.iter().find_map(edit), Some((16, Some(20))));
    (group["spec"]["minMember"], group["metadata"]["generation"]) = (json!(16), json!(2));
    driven.upsert(Kind::TaskGroup, &group);
    let calls = [calls, run(&mut driven, 10)].concat();
    assert_told_once(&calls, &pods, false);
    see(&mut driven, &pods);
    assert_eq!(bound(&run(&mut driven, 10)).len(), 16);
}

/// Seed 002 "PreFilter": "Check whether the Gang has been timeout(check the pod's annotation,later introduced at Permit section), and
/// reject the pod if positive": it declares nothing, and is told what to do.
#[test]
fn a_pod_that_says_so_from_the_beginning_is_placed_no_more() {
    let pods = gang("g", 2, 2, &json!({}));
    let mut driven = cluster();
    see(&mut driven, &given_up(&pods));
    let calls = run(&mut driven, 40);
    assert_eq!((bound(&calls).len(), declared(&calls).len(), written(&calls).len()), (0, 0, 0));
    let told = conditions(&calls);
    assert_eq!(told.len(), 2, "{told:?}");
    for (reason, message) in told {
        assert_eq!(reason, Code::WaitTimeout.name());
        assert!(message.contains(TIMEOUT) && message.contains("delete the pod and submit it again"), "{message}");
    }
    see(&mut driven, &pods);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (2, 1), "without it they are a gang as any other");
}

/// As above: where another pod declares the gang there is a TaskGroup, which knows better than the annotation.
#[test]
fn the_task_group_knows_better() {
    let pods = gang("g", 3, 3, &json!({}));
    let mut driven = cluster();
    see(&mut driven, &given_up(&pods[..2]));
    see(&mut driven, &pods[2..]);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 1));
    assert_told_once(&calls, &pods[..2], false);
    see(&mut driven, &pods[..2]);
    assert_eq!(bound(&run(&mut driven, 10)).len(), 3);
}

/// ADR 42: "While its gang is refused it is told what its gang is told": a gang that waits for a TaskGroup which is gone is refused no
/// more, and goes on no more either. So its pods say what to do, as do those whose TaskGroup it was.
#[test]
fn where_a_task_group_of_the_gang_goes_each_pod_is_told_what_to_do() {
    let mut driven = cluster();
    let terms = json!({"waiting-time": "20s", "groups": "[\"ns/g\", \"ns/h\"]"});
    let pods = [gang("g", 9, 9, &terms), gang("h", 8, 8, &terms)].concat();
    see(&mut driven, &pods);
    let calls = run(&mut driven, 30);
    assert_told_once(&calls, &pods, true);
    see(&mut driven, &given_up(&pods));
    run(&mut driven, 5);
    let group =
        made(&calls).into_iter().find(|group| group.metadata.name.as_deref() == Some("h")).expect("it was made");
    let gone = driven.seen(Kind::TaskGroup, &serde_json::to_value(group).expect("it is JSON"));
    driven.fact(Kind::TaskGroup, WatchFact::Gone(gone));
    driven.step();
    let told = conditions(&run(&mut driven, 10));
    assert_eq!(told.len(), pods.len(), "{told:?}");
    assert!(told.iter().all(|(_, message)| message.contains("delete the pod and submit it again")), "{told:?}");
}

/// Seed 002 "After Gang": "User should pay attention to this status and delete pods timely": pods that come instead are the next life.
#[test]
fn pods_that_come_instead_are_not_told() {
    let mut driven = cluster();
    see(&mut driven, &too_many());
    timed_out(&mut driven);
    see(&mut driven, &given_up(&too_many()));
    let mut others = gang("g", 17, 40, &json!({"waiting-time": "20s"})).split_off(23);
    others.iter_mut().for_each(|pod| pod["metadata"]["creationTimestamp"] = json!("2024-01-01T00:00:00Z"));
    see(&mut driven, &others);
    assert_eq!(written(&run(&mut driven, 40)), Vec::new());
    assert_eq!(why(&driven.controller, "g-30"), Some(Code::WaitTimeout), "the others are there yet");
}

/// 02, 2.2: "Bound everything": a refusal is shown where the right is missing, tried again more and more seldom, and holds nobody up.
#[test]
fn a_refusal_is_shown_tried_again_and_holds_nobody_up() {
    let refuses = |code: u16| move |op: &Op| matches!(op, Op::AnnotateTimeout { .. }).then_some(code);
    let is_denied = |driven: &Driven| driven.controller.stats().denied.contains(&("pods", "patch"));
    for (code, is_shown) in [(403, true), (422, false)] {
        let mut driven = cluster();
        see(&mut driven, &too_many());
        run(&mut driven, 15);
        let calls = run_refusing(&mut driven, 60, refuses(code));
        let tries = written(&calls).len();
        assert!((2 * 17..=8 * 17).contains(&tries), "{code}: {tries}");
        assert_eq!(is_denied(&driven), is_shown, "{code}");
        see(&mut driven, &gang("other", 2, 2, &json!({})));
        assert_eq!(bound(&run_refusing(&mut driven, 5, refuses(code))).len(), 2, "{code}");
        let calls = run(&mut driven, 120);
        assert_told_once(&calls, &too_many(), true);
        assert!(!is_denied(&driven), "{code}");
    }
}

/// Who comes after the end of a gang that is given up, and says so, is of its next life, and is left alone.
#[test]
fn who_comes_later_and_says_so_is_left_alone() {
    let mut driven = cluster();
    see(&mut driven, &too_many());
    run(&mut driven, 40);
    let mut late = given_up(&gang("g", 17, 18, &json!({"waiting-time": "20s"}))[17..]);
    late[0]["metadata"]["creationTimestamp"] = json!("2100-01-01T00:00:00Z");
    see(&mut driven, &late);
    assert_eq!(written(&run(&mut driven, 60)), []);
}

/// 43, 7: what is no `true` says nothing, and is written over when the gang has timed out.
#[test]
fn other_values_mean_nothing() {
    let huge = "true".repeat(1 << 18);
    for value in ["TRUE", "1", "yes", "false", "", " true", &*huge] {
        let mut driven = cluster();
        see(&mut driven, &gang("g", 2, 2, &json!({"timeout": value})));
        let calls = run(&mut driven, 40);
        assert_eq!((bound(&calls).len(), written(&calls).len()), (2, 0), "{value:.99}");
    }
    let mut driven = cluster();
    let pods = gang("g", 17, 17, &json!({"waiting-time": "20s", "timeout": "TRUE"}));
    see(&mut driven, &pods);
    assert_told_once(&run(&mut driven, 30), &pods, true);
}
