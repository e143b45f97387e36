//! Gangs as PodGroup objects declare them: Koordinator's "CRD way" (the fourth seed, 002), and those of scheduler-plugins, which
//! operators write (design 03, 3.4). What the two have in common is asked of both.

use std::collections::BTreeSet;

use gangline::api::task_group::MatchPolicy;
use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Map, Value, json};

use crate::spec_koordinator::{adjusted, conditions, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_yunikorn::{bound, declared, events, run};
use crate::support::driven::{Driven, member, node, refused};

pub(super) const LABEL: &str = "scheduling.x-k8s.io/pod-group";
pub(super) const KOORDINATOR_LABEL: &str = "pod-group.scheduling.sigs.k8s.io";
const PREFIX: &str = "gang.scheduling.koordinator.sh/";
/// Their kinds, the labels by which pods name them, and their API groups.
pub(super) const BOTH: [(Kind, &str, &str); 2] = [
    (Kind::CoschedulingPodGroup, LABEL, "scheduling.x-k8s.io"),
    (Kind::KoordinatorPodGroup, KOORDINATOR_LABEL, "scheduling.sigs.k8s.io"),
];

/// Of one that has seen nothing.
pub(super) fn speaking() -> Driven {
    Driven::speaking(&[Dialect::YuniKorn, Dialect::Koordinator, Dialect::Coscheduling])
}

/// In an empty cluster with a node of 16 cpu.
pub(super) fn cluster() -> Driven {
    let mut driven = speaking();
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

/// A PodGroup, with this spec.
pub(super) fn pod_group(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("pg-{name}")}, "spec": spec})
}

/// Pods of one core that name a PodGroup by this label.
pub(super) fn pods(label: &str, group: &str, count: u32) -> Vec<Value> {
    let pod = |number| {
        let mut pod = member(&format!("{group}-{number}"));
        pod["metadata"]["labels"] = json!({label: group});
        pod
    };
    (0..count).map(pod).collect()
}

/// With these annotations under Koordinator's prefix.
pub(super) fn annotated(mut object: Value, annotations: &Value) -> Value {
    for (key, value) in annotations.as_object().expect("annotations") {
        object["metadata"]["annotations"][format!("{PREFIX}{key}")] = value.clone();
    }
    object
}

/// What was said to pods of what they declare that is wrong.
pub(super) fn wrong(calls: &[Call]) -> Vec<String> {
    let told = events(calls).into_iter().filter(|(reason, _)| reason == Code::InvalidDeclaration.name());
    told.map(|(_, note)| note).collect()
}

pub(super) fn gone(driven: &mut Driven, kind: Kind, object: &Value) {
    let seen = driven.seen(kind, object);
    driven.fact(kind, WatchFact::Gone(seen));
    driven.step();
}

/// Seed 002 "CRD way": "User can use PodGroup CRD in community to declare a gang", "Pod should use pod-group.scheduling.sigs.k8s.io
/// in label to associate with PodGroup"; "Definition": "we will be compatible with the way the community declares the PodGroup";
/// peers 2.1. It is a TaskGroup of that name, which goes with it.
#[test]
fn pods_that_name_a_pod_group_start_together() {
    for (kind, label, group) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3, "minResources": {"cpu": "1"}})));
        let pods = pods(label, "g", 3);
        see(&mut driven, &pods[..2]);
        let calls = run(&mut driven, 5);
        let [made] = made(&calls)[..] else { panic!("one TaskGroup") };
        assert_eq!((made.metadata.name.as_deref(), made.spec.min_member), (Some("g"), 3));
        let [owner] = &made.metadata.owner_references.clone().unwrap_or_default()[..] else { panic!("one owner") };
        assert_eq!((&*owner.api_version, &*owner.kind), (&*format!("{group}/v1alpha1"), "PodGroup"));
        assert_eq!((&*owner.name, &*owner.uid, owner.controller), ("g", "pg-g", None));
        assert_eq!((bound(&calls).len(), why(&driven.controller, "g-0")), (0, Some(Code::WaitingForMembers)));
        see(&mut driven, &pods[2..]);
        assert_eq!(bound(&run(&mut driven, 5)).len(), 3, "{group}");
    }
}

/// 01, 1.2.7: "Pods that arrive before their TaskGroup object are parked", here before the object of which that is made; what they
/// wait for is named. Also seed 002 "CRD way": "if pods arrive to scheduler before Gang CRD, we have to build a fake Gang data
/// structure temporarily to collect all related pods, and need to suspend the scheduling of pods until parse the configuration from
/// real Gang CRD".
#[test]
fn pods_wait_for_a_pod_group_that_is_not_there_yet() {
    for (kind, label, group) in BOTH {
        let mut driven = cluster();
        see(&mut driven, &pods(label, "g", 2));
        let calls = run(&mut driven, 5);
        assert_eq!((declared(&calls).len(), bound(&calls).len()), (0, 0));
        for (reason, message) in conditions(&calls) {
            assert_eq!(reason, Code::TaskGroupNotFound.name());
            assert!(message.contains(&format!("PodGroup g of {group}")), "{message}");
        }
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 2})));
        let calls = run(&mut driven, 5);
        assert_eq!((declared(&calls).len(), bound(&calls).len()), (1, 2));
    }
}

/// A PodGroup whose pods another scheduler places is none of ours.
#[test]
fn of_a_pod_group_without_pods_of_ours_nothing_is_made() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 1})));
        let mut other = pods(label, "g", 1).remove(0);
        other["spec"]["schedulerName"] = json!("default-scheduler");
        see(&mut driven, &[other]);
        assert_eq!(run(&mut driven, 5).len(), 0);
    }
}

/// 43, 7: "PodGroup with minMember 0", and every other value that makes no sense: told on a pod, once, and nothing is made of it until
/// it is right.
#[test]
fn what_is_wrong_with_a_pod_group_is_told_on_a_pod_once() {
    for (kind, label, group) in BOTH {
        for spec in
            [json!({"minMember": 0}), json!({"minMember": -3}), json!({"minMember": 5_000_000_000_u64}), json!({})]
        {
            let mut driven = cluster();
            driven.upsert(kind, &pod_group("g", &spec));
            see(&mut driven, &pods(label, "g", 2));
            driven.upsert(kind, &pod_group("g", &spec));
            let calls = run(&mut driven, 5);
            assert_eq!((declared(&calls).len(), bound(&calls).len()), (0, 0), "{spec}");
            let [told] = &wrong(&calls)[..] else { panic!("told once: {spec}") };
            assert!(told.contains(&format!("PodGroup g of {group}")) && told.contains("spec.minMember"), "{told}");
            driven.upsert(kind, &pod_group("g", &json!({"minMember": 2})));
            assert_eq!(bound(&run(&mut driven, 5)).len(), 2, "{spec}");
        }
    }
}

/// An object that cannot be read at all is told likewise, with the place in it.
#[test]
fn a_pod_group_that_cannot_be_read_is_told_on_a_pod() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": "three"})));
        see(&mut driven, &pods(label, "g", 1));
        let calls = run(&mut driven, 5);
        let [told] = &wrong(&calls)[..] else { panic!("told once") };
        assert!(told.contains("spec.minMember") && declared(&calls).is_empty(), "{told}");
    }
}

/// 01, 1.7: "PodGroup's scheduleTimeoutSeconds"; "in Koordinator's and PodGroup dialects a flag's value (600 s)". Neither system
/// takes 0 or less for a time (peers 1.2, "only >0 used"). Also seed 002 "CRD way": "scheduleTimeoutSeconds: 600".
#[test]
fn the_time_of_a_pod_group_is_the_wait_timeout() {
    let cases =
        [(json!(30), 30), (json!(null), 600), (json!(0), 600), (json!(-5), 600), (json!(99_999_999), 31_536_000)];
    for (kind, label, _) in BOTH {
        for (seconds, expected) in &cases {
            let mut driven = cluster();
            driven.upsert(kind, &pod_group("g", &json!({"minMember": 1, "scheduleTimeoutSeconds": seconds})));
            see(&mut driven, &pods(label, "g", 1));
            let calls = run(&mut driven, 5);
            assert_eq!(made(&calls)[0].spec.wait_timeout_seconds, Some(*expected), "{seconds}");
        }
    }
}

/// Seed 002 "CRD way": "gang.scheduling.koordinator.sh/total-number, gang.scheduling.koordinator.sh/mode,
/// gang.scheduling.koordinator.sh/gang-groups should be found in PodGroup's annotation if needed."
#[test]
fn annotations_of_koordinators_pod_groups_are_read() {
    let mut driven = cluster();
    let spec = json!({"minMember": 1});
    for name in ["a", "b"] {
        let group = annotated(pod_group(name, &spec), &json!({"groups": "[\"ns/a\", \"ns/b\"]", "mode": "Strict"}));
        driven.upsert(Kind::KoordinatorPodGroup, &group);
    }
    see(&mut driven, &pods(KOORDINATOR_LABEL, "a", 1));
    let calls = run(&mut driven, 5);
    assert_eq!((made(&calls)[0].spec.gang_group.len(), bound(&calls).len()), (2, 0));
    see(&mut driven, &pods(KOORDINATOR_LABEL, "b", 1));
    assert_eq!(bound(&run(&mut driven, 5)), ["a-0", "b-0"].into());
    let mut driven = cluster();
    let refused = annotated(pod_group("g", &spec), &json!({"network-topology-spec": "{}"}));
    driven.upsert(Kind::KoordinatorPodGroup, &refused);
    see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 1));
    let calls = run(&mut driven, 5);
    let [told] = &wrong(&calls)[..] else { panic!("told once") };
    assert!(told.contains("topology") && declared(&calls).is_empty(), "{told}");
    let mut driven = cluster();
    let waits = annotated(pod_group("g", &spec), &json!({"match-policy": "only-waiting"}));
    driven.upsert(Kind::KoordinatorPodGroup, &waits);
    see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 1));
    assert_eq!(made(&run(&mut driven, 5))[0].spec.match_policy, MatchPolicy::OnlyWaiting);
    for (annotations, place) in
        [(json!({"waiting-time": "600"}), "waiting-time"), (json!({"total-number": "0"}), "total-number")]
    {
        let mut driven = cluster();
        driven.upsert(Kind::KoordinatorPodGroup, &annotated(pod_group("g", &spec), &annotations));
        see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 1));
        let calls = run(&mut driven, 5);
        let [told] = &adjusted(&calls)[..] else { panic!("told once") };
        assert!(told.contains("PodGroup g") && told.contains(place) && bound(&calls).len() == 1, "{told}");
    }
}

/// Seed 002 "Annotation way": "the annotation mode's parameter will overwrite CRD's mode if both exist."
#[test]
fn what_a_pod_says_itself_counts_before_its_pod_group() {
    let mut driven = cluster();
    driven.upsert(
        Kind::KoordinatorPodGroup,
        &annotated(
            pod_group("g", &json!({"minMember": 5, "scheduleTimeoutSeconds": 30})),
            &json!({"groups": "[\"ns/o\"]"}),
        ),
    );
    let own = json!({"min-available": "2", "waiting-time": "1m", "groups": "[\"ns/g\"]", "name": "other"});
    let pods: Vec<Value> = pods(KOORDINATOR_LABEL, "g", 2).into_iter().map(|pod| annotated(pod, &own)).collect();
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    let [made] = made(&calls)[..] else { panic!("one TaskGroup") };
    assert_eq!((made.spec.min_member, made.spec.wait_timeout_seconds, made.spec.gang_group.len()), (2, Some(60), 0));
    assert_eq!((made.metadata.name.as_deref(), bound(&calls).len()), (Some("g"), 2));
    assert!(adjusted(&calls).iter().any(|told| told.contains("\"other\" is left out")), "{:?}", adjusted(&calls));
}

/// 43, 7: "a pod with three dialects at once (precedence, and a warning that says which won)"; the order is that of 03, 3.4.
#[test]
fn of_the_labels_of_several_systems_koordinators_counts_first() {
    let mut driven = cluster();
    for (kind, ..) in BOTH {
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 1})));
    }
    driven.upsert(Kind::CoschedulingPodGroup, &pod_group("o", &json!({"minMember": 1})));
    let mut pod = pods(KOORDINATOR_LABEL, "g", 1).remove(0);
    pod["metadata"]["labels"][LABEL] = json!("o");
    pod["metadata"]["labels"]["applicationId"] = json!("app");
    see(&mut driven, &[pod]);
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls), bound(&calls).len()), (["g".to_owned()].into(), 1));
    let [told] = &adjusted(&calls)[..] else { panic!("told once") };
    assert!(told.contains("scheduler-plugins and YuniKorn") && told.contains("of Koordinator count first"), "{told}");
}

/// The statuses that were written to PodGroups, in order.
pub(super) fn statuses(calls: &[Call]) -> Vec<Map<String, Value>> {
    let mut statuses = Vec::new();
    for call in calls {
        if let Op::PatchPodGroupStatus { uid, status, .. } = &call.op {
            assert_eq!(&*uid.0, "pg-g");
            statuses.push(json!(status).as_object().expect("fields").clone());
        }
    }
    statuses
}

/// 03, 3.4: "status written back"; the words are those of each system's controller (peers 1.2, 2.1, 2.3). What it has written
/// itself stays; seed 002 "Data-Structure": "We can get the children pods from "Children" field, and the BoundChildren,
/// WaitingForBindChildren store the pods binding status".
#[test]
fn the_status_of_a_pod_group_says_how_far_its_gang_is() {
    for (kind, label, _) in BOTH {
        let is_koordinator = kind == Kind::KoordinatorPodGroup;
        let mut driven = cluster();
        let mut group = pod_group("g", &json!({"minMember": 2}));
        group["status"] = json!({"occupiedBy": "ns/job"});
        driven.upsert(kind, &group);
        let pods = pods(label, "g", 2);
        see(&mut driven, &pods[..1]);
        let calls = run(&mut driven, 5);
        let [waiting] = &statuses(&calls)[..] else { panic!("one status: {:?}", statuses(&calls)) };
        assert_eq!((&waiting["phase"], &waiting["running"]), (&json!("Pending"), &json!(0)));
        let is_first = |call: &Call| matches!(call.op, Op::PatchPodGroupStatus { is_first: true, .. });
        assert!(!calls.iter().any(is_first), "what stands there stays");
        assert_eq!(waiting.contains_key("scheduled"), is_koordinator);
        see(&mut driven, &pods[1..]);
        let calls = run(&mut driven, 40);
        let running = as_bound(&pods, &calls);
        assert_eq!(running.len(), 2);
        let last = statuses(&calls).pop().expect("the gang has nodes");
        assert_eq!(last["phase"], if is_koordinator { "Scheduled" } else { "Scheduling" });
        see(&mut driven, &running);
        let last = statuses(&run(&mut driven, 40)).pop().expect("they run");
        assert_eq!((&last["phase"], &last["running"]), (&json!("Running"), &json!(2)));
        for mut pod in running {
            pod["status"]["phase"] = json!("Succeeded");
            driven.upsert(Kind::Pod, &pod);
        }
        let last = statuses(&run(&mut driven, 70)).pop().expect("they are done");
        assert_eq!((&last["phase"], &last["succeeded"]), (&json!("Finished"), &json!(2)));
    }
}

/// 43, 2: "Group CRDs are optional: absent, appearing later, removed, without a restart."
#[test]
fn a_kind_may_be_missing_come_later_and_go() {
    for (kind, label, _) in BOTH {
        let mut driven = Driven::speaking(&[Dialect::Koordinator, Dialect::Coscheduling]);
        driven.list(&[(Kind::Node, &node("n1"))]);
        driven.fact(kind, WatchFact::Unserved);
        see(&mut driven, &pods(label, "g", 1));
        assert_eq!(bound(&run(&mut driven, 5)), BTreeSet::new());
        driven.fact(kind, WatchFact::ListBegin);
        let seen = driven.seen(kind, &pod_group("g", &json!({"minMember": 1})));
        driven.fact(kind, WatchFact::Listed(seen));
        driven.fact(kind, WatchFact::ListEnd);
        driven.step();
        assert_eq!(bound(&run(&mut driven, 5)).len(), 1);
        assert_eq!(driven.controller.stats().objects[kind.plural()], 1);
        driven.fact(kind, WatchFact::Unserved);
        driven.step();
        assert_eq!(driven.controller.stats().objects[kind.plural()], 0, "what is gone with its kind is forgotten");
        see(&mut driven, &pods(label, "h", 1));
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
    }
}

/// 01, 1.11: decisions begin once everything is listed that is read, and not later.
#[test]
fn what_is_not_read_is_not_waited_for() {
    let kinds = [Kind::Pod, Kind::Node, Kind::TaskGroup, Kind::Queue, Kind::ResourceQuota, Kind::Namespace];
    for (dialects, is_synced) in [(&[Dialect::YuniKorn][..], true), (&[Dialect::Coscheduling], false)] {
        let mut driven = Driven::speaking(dialects);
        kinds.iter().for_each(|kind| driven.fact(*kind, WatchFact::ListBegin));
        kinds.iter().for_each(|kind| driven.fact(*kind, WatchFact::ListEnd));
        driven.step();
        assert_eq!(driven.controller.stats().synced, is_synced);
        driven.fact(Kind::CoschedulingPodGroup, WatchFact::Unserved);
        driven.step();
        assert!(driven.controller.stats().synced);
    }
}

/// "It must never be what breaks them": another system's kind that cannot be read, for want of a right or whatever else, holds nobody
/// up; what was known of it counts until a right is missing.
#[test]
fn a_kind_of_another_system_that_cannot_be_read_holds_nobody_up() {
    for (kind, label, _) in BOTH {
        for code in [0, 403, 500] {
            let mut driven = Driven::speaking(&[Dialect::Koordinator, Dialect::Coscheduling]);
            for listed in Kind::ALL.into_iter().filter(|listed| *listed != kind) {
                driven.fact(listed, WatchFact::ListBegin);
                driven.fact(listed, WatchFact::ListEnd);
            }
            driven.fact(kind, WatchFact::Broken { code, message: "list: no".into() });
            driven.step();
            driven.upsert(Kind::Node, &node("n1"));
            let mut alone = member("alone");
            alone["metadata"]["labels"] = json!({});
            see(&mut driven, &[alone]);
            assert_eq!(bound(&run(&mut driven, 5)), ["alone"].into(), "{code}");
            let seen = driven.seen(kind, &pod_group("g", &json!({"minMember": 2})));
            driven.fact(kind, WatchFact::ListBegin);
            driven.fact(kind, WatchFact::Listed(seen));
            driven.fact(kind, WatchFact::ListEnd);
            driven.fact(kind, WatchFact::Broken { code, message: "watch: no".into() });
            driven.step();
            assert_eq!(driven.controller.stats().objects[kind.plural()], u64::from(code != 403), "{code}");
            see(&mut driven, &pods(label, "g", 1));
            assert_eq!(declared(&run(&mut driven, 5)).len(), usize::from(code != 403), "{code}");
        }
    }
}

/// 43, 2: "a group object re-created with another size". (The API server takes its TaskGroup away with the first one.)
#[test]
fn a_pod_group_that_is_made_anew_with_another_size_is_another_gang() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
        see(&mut driven, &pods(label, "g", 2));
        let calls = run(&mut driven, 5);
        let group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
        gone(&mut driven, kind, &pod_group("g", &json!({"minMember": 3})));
        gone(&mut driven, Kind::TaskGroup, &group);
        assert_eq!(declared(&run(&mut driven, 5)).len(), 0, "there is nothing to make it of");
        let mut again = pod_group("g", &json!({"minMember": 2}));
        again["metadata"]["uid"] = json!("pg-again");
        driven.upsert(kind, &again);
        let mut calls = Vec::new();
        for _ in 0..50 {
            driven.wait(100);
            calls.extend(driven.taken());
        }
        let [made] = made(&calls)[..] else { panic!("made anew") };
        assert_eq!(
            (made.spec.min_member, &*made.metadata.owner_references.as_ref().expect("owned")[0].uid),
            (2, "pg-again")
        );
    }
}

/// As above, with the garbage collector late: pods of the next gang do not start with the TaskGroup of the one before.
#[test]
fn a_task_group_whose_pod_group_is_another_one_counts_as_gone() {
    for (kind, label, _) in BOTH {
        for is_gone_first in [true, false] {
            let mut driven = cluster();
            let first = pod_group("g", &json!({"minMember": 2}));
            driven.upsert(kind, &first);
            let pods = pods(label, "g", 3);
            see(&mut driven, &pods[..1]);
            let calls = run(&mut driven, 5);
            let group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
            if is_gone_first {
                gone(&mut driven, kind, &first);
            }
            let mut again = pod_group("g", &json!({"minMember": 3}));
            again["metadata"]["uid"] = json!("pg-again");
            driven.upsert(kind, &again);
            see(&mut driven, &pods[1..2]);
            // Somebody changes what is about to go.
            let mut touched = group.clone();
            touched["metadata"]["annotations"] = json!({"a": "b"});
            driven.upsert(Kind::TaskGroup, &touched);
            let calls = run(&mut driven, 5);
            assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0), "two start no gang of three");
            gone(&mut driven, Kind::TaskGroup, &touched);
            driven.wait(1_000);
            let calls = driven.taken();
            assert_eq!(made(&calls)[0].spec.min_member, 3);
        }
    }
}

/// An edit that the API server refuses since the gang has just started is not told.
#[test]
fn an_edit_that_comes_too_late_leaves_nothing_behind() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
        see(&mut driven, &pods(label, "g", 2));
        run(&mut driven, 5);
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 4})));
        let mut edits = 0;
        for _ in 0..100 {
            driven.wait(1_000);
            for call in driven.taken() {
                if edit(&call).is_some() {
                    edits += 1;
                    driven.answer(&call, refused(422));
                } else {
                    driven.grant_one(&call);
                }
            }
        }
        assert!(edits < 10, "tried {edits} times");
        assert!(driven.controller.stats().denied.is_empty(), "{:?}", driven.controller.stats().denied);
    }
}

/// What becomes wrong once its TaskGroup is there is told as well, and each error once.
#[test]
fn a_pod_group_that_becomes_wrong_is_told_of() {
    let mut driven = cluster();
    let kind = Kind::KoordinatorPodGroup;
    let right = pod_group("g", &json!({"minMember": 3}));
    driven.upsert(kind, &right);
    see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 2));
    assert_eq!(wrong(&run(&mut driven, 5)).len(), 0);
    for (object, place) in [
        (annotated(right.clone(), &json!({"network-topology-spec": "{}"})), "topology"),
        (pod_group("g", &json!({"minMember": 0})), "spec.minMember"),
    ] {
        driven.upsert(kind, &object);
        driven.upsert(kind, &object);
        let calls = run(&mut driven, 5);
        let [told] = &wrong(&calls)[..] else { panic!("told once") };
        assert!(told.contains(place), "{told}");
    }
}

/// 04, I13: nothing is left of what is gone.
#[test]
fn nothing_is_remembered_of_pod_groups_that_are_gone() {
    for (kind, label, _) in BOTH {
        let mut driven = Driven::speaking(&[Dialect::Koordinator, Dialect::Coscheduling]);
        driven.list(&[(Kind::Node, &node("n1"))]);
        let (group, pods) = (pod_group("g", &json!({"minMember": 0})), pods(label, "g", 2));
        driven.upsert(kind, &group);
        see(&mut driven, &pods);
        run(&mut driven, 5);
        let right = pod_group("g", &json!({"minMember": 3}));
        driven.upsert(kind, &right);
        let calls = run(&mut driven, 5);
        let made = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
        pods.iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
        gone(&mut driven, kind, &right);
        gone(&mut driven, Kind::TaskGroup, &made);
        // Of this one it was told that it is wrong, until the end.
        driven.upsert(kind, &pod_group("h", &json!({"minMember": 0})));
        let last = self::pods(label, "h", 1).remove(0);
        see(&mut driven, std::slice::from_ref(&last));
        gone(&mut driven, Kind::Pod, &last);
        gone(&mut driven, kind, &pod_group("h", &json!({"minMember": 0})));
        gone(&mut driven, Kind::Node, &node("n1"));
        run(&mut driven, 60);
        assert_eq!(driven.controller.leftovers(), Vec::<&str>::new());
    }
}

/// 43, 2: "edited while waiting": the TaskGroup is edited likewise (peers 1.10, onPodGroupUpdate). Also seed 002 "CRD way": "user
/// should let high level operator maintain Gang CRD life circle like handling update/create/delete events".
#[test]
fn an_edit_of_a_pod_group_before_the_start_is_one_of_its_task_group() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
        see(&mut driven, &pods(label, "g", 2));
        let calls = run(&mut driven, 5);
        let mut group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 2, "scheduleTimeoutSeconds": 60})));
        driven.wait(1_000);
        let calls = driven.taken();
        let edits = calls.iter().filter(|call| matches!(call.op, Op::EditTaskGroup { .. })).count();
        let (min, wait) = calls.iter().find_map(edit).expect("it is edited");
        assert_eq!((edits, min, wait), (1, 2, Some(60)));
        calls.iter().for_each(|call| driven.grant_one(call));
        (group["spec"]["minMember"], group["spec"]["waitTimeoutSeconds"]) = (json!(min), json!(wait));
        group["metadata"]["generation"] = json!(2);
        driven.upsert(Kind::TaskGroup, &group);
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), adjusted(&calls).len(), calls.iter().find_map(edit)), (2, 0, None));
    }
}

/// What an edit of a TaskGroup asks for.
pub(super) fn edit(call: &Call) -> Option<(u32, Option<u32>)> {
    if let Op::EditTaskGroup { edit, .. } = &call.op {
        Some((edit.min_member, edit.wait_timeout_seconds))
    } else {
        None
    }
}

/// 43, 2: "edited … while running": nothing but another life could be of another size (01, 1.2.4), so that nothing changes.
#[test]
fn an_edit_of_a_pod_group_whose_gang_runs_changes_nothing() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 2})));
        let pods = pods(label, "g", 3);
        see(&mut driven, &pods[..2]);
        let calls = run(&mut driven, 5);
        see(&mut driven, &as_bound(&pods[..2], &calls));
        run(&mut driven, 5);
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 5})));
        see(&mut driven, &pods[2..]);
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls), calls.iter().find_map(edit)), (["g-2"].into(), None));
    }
}

/// What cannot be edited of a TaskGroup, such as its application, is told, and that one counts as it is.
#[test]
fn an_edit_that_makes_another_gang_of_it_is_told_once() {
    let mut driven = cluster();
    let kind = Kind::KoordinatorPodGroup;
    driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
    see(&mut driven, &pods(KOORDINATOR_LABEL, "g", 2));
    run(&mut driven, 5);
    for _ in 0..2 {
        let edited = annotated(pod_group("g", &json!({"minMember": 3})), &json!({"groups": "[\"ns/g\", \"ns/h\"]"}));
        driven.upsert(kind, &edited);
    }
    let calls = run(&mut driven, 5);
    let [told] = &adjusted(&calls)[..] else { panic!("told once") };
    assert!(told.contains("applicationId") && bound(&calls).is_empty(), "{told}");
}
