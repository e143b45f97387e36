//! What pods and PodGroups say in Volcano's words, and what becomes of what is wrong in them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::super::pod_group::{self, Found, PodGroup, Volcano};
use super::*;
use crate::api::names;
use crate::api::task_group::{Mode, Reservation};
use crate::core::reason::SpecError;

/// A pod that requests a core.
fn pod(labels: &Value, annotations: &Value) -> Pod {
    let metadata = json!({"namespace": "data", "name": "p", "labels": labels, "annotations": annotations});
    let container = json!({"name": "main", "resources": {"requests": {"cpu": "1"}}});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [container]}})).expect("a pod")
}

fn said(annotations: &Value) -> Spoken {
    read(&pod(&json!({}), annotations)).expect("it speaks")
}

fn found(spec: &Value) -> Found {
    let object = json!({"metadata": {"namespace": "data", "name": "pg", "uid": "u"}, "spec": spec});
    let group: PodGroup<Volcano> = serde_json::from_value(object).expect("a PodGroup");
    pod_group::read(&group).expect("it stays")
}

fn fields(problems: &[SpecError]) -> Vec<&str> {
    problems.iter().map(|problem| &*problem.field).collect()
}

#[test]
fn who_says_nothing_is_not_read() {
    for annotations in [
        json!({}),
        json!({GROUP_NAME: "", OWN_GROUP_NAME: ""}),
        json!({"scheduling.volcano.sh/queue-name": "q", "volcano.sh/preemptable": "true"}),
        json!({"volcano.sh/task-spec": "worker", "scheduling.volcano.sh/group-min-member": "3"}),
    ] {
        assert_eq!(read(&pod(&json!({}), &annotations)), None, "{annotations}");
    }
    assert_eq!(read(&pod(&json!({GROUP_NAME: "pg"}), &json!({}))), None, "it is no label");
}

/// peers 3.1: "annotation `scheduling.k8s.io/group-name` (the one integrators use) or `scheduling.volcano.sh/group-name`".
#[test]
fn a_pod_refers_to_the_pod_group_that_its_annotation_names() {
    for (annotations, name, warnings) in [
        (json!({GROUP_NAME: "pg", "volcano.sh/task-spec": "worker"}), "pg", 0),
        (json!({OWN_GROUP_NAME: "pg"}), "pg", 0),
        (json!({GROUP_NAME: "pg", OWN_GROUP_NAME: "pg"}), "pg", 0),
        (json!({GROUP_NAME: "pg", OWN_GROUP_NAME: "other"}), "pg", 1),
    ] {
        let spoken = said(&annotations);
        let reference = spoken.refers.as_ref().expect("it names one");
        assert_eq!((reference.system, &*reference.name), (System::Volcano, name), "{annotations}");
        assert_eq!(&*reference.words(), "PodGroup pg of scheduling.volcano.sh");
        assert!(reference.says_nothing_itself());
        assert_eq!((spoken.group.as_deref(), spoken.warnings.len(), spoken.problems.len()), (Some(name), warnings, 0));
        assert!(spoken.warnings.iter().all(|told| told.contains("\"other\" is left out")), "{:?}", spoken.warnings);
    }
    // The second is in another namespace, by trick.
    for name in ["x".repeat(64), "other/pg".to_owned()] {
        let wrong = said(&json!({GROUP_NAME: name}));
        assert_eq!((fields(&wrong.problems), wrong.refers), (vec![GROUP_NAME], None), "{name}");
    }
    let wrong = read(&pod(&json!({names::QUEUE: "a b"}), &json!({OWN_GROUP_NAME: "pg"}))).expect("it speaks");
    assert_eq!((fields(&wrong.problems), wrong.refers), (vec![names::QUEUE], None));
}

/// Volcano has no time after which a gang is given up, and no words for one.
#[test]
fn a_gang_is_one_task_group_without_a_time() {
    let spoken = said(&json!({GROUP_NAME: "pg"}));
    let reference = spoken.refers.expect("it names one");
    let object = json!({
        "minMember": 3, "minResources": {"cpu": "100"}, "priorityClassName": "high", "queue": "default",
        "scheduleTimeoutSeconds": 9,
    });
    let declared = reference.declared(&found(&object)).expect("it is right");
    let spec = &declared.spec;
    assert_eq!((spec.min_member, spec.wait_timeout_seconds, spec.mode), (3, None, Mode::Strict));
    assert_eq!((spec.reservation, &spec.queue), (Reservation::Direct, &None));
    assert_eq!((spec.application_id.as_deref(), spec.gang_group.len()), (Some("pg"), 0));
    let owner = &declared.owner;
    assert_eq!((&*owner.api_version, &*owner.kind, &*owner.uid), ("scheduling.volcano.sh/v1beta1", "PodGroup", "u"));
    let metadata = ObjectMeta { owner_references: Some(vec![owner.clone()]), ..ObjectMeta::default() };
    assert_eq!(pod_group::origin(&metadata).map(|(system, _)| system), Some(System::Volcano));
}

/// In Volcano a PodGroup without `minMember` has 0, which waits for nobody.
#[test]
fn the_least_number_is_one_where_none_is_said() {
    let least = |spec: Value| {
        let reference = said(&json!({GROUP_NAME: "pg"})).refers.expect("it names one");
        reference.declared(&found(&spec)).map(|declared| declared.spec.min_member)
    };
    for (spec, expected) in [(json!({}), 1), (json!({"minMember": 0}), 1), (json!({"minMember": 7}), 7)] {
        assert_eq!(least(spec.clone()), Ok(expected), "{spec}");
    }
    for wrong in [json!({"minMember": -1}), json!({"minMember": 5_000_000_000_u64})] {
        assert_eq!(fields(&least(wrong.clone()).expect_err("it is wrong")), ["spec.minMember"], "{wrong}");
    }
}

/// Its queues are flat, and `default` is the queue of whoever says nothing.
#[test]
fn a_queue_lies_below_root_and_the_pods_own_counts_first() {
    let queue = |labels: &Value, name: &str| {
        let spoken = read(&pod(labels, &json!({GROUP_NAME: "pg"}))).expect("it speaks");
        let declared = spoken.refers.expect("it names one").declared(&found(&json!({"minMember": 1, "queue": name})));
        declared.expect("it is right").spec.queue
    };
    for (name, expected) in [
        ("", None),
        ("default", None),
        ("research", Some("root.research")),
        ("team.a", Some("root.team.a")),
        ("root", Some("root")),
        ("root.research", Some("root.research")),
        ("rooted", Some("root.rooted")),
    ] {
        assert_eq!(queue(&json!({}), name).as_deref(), expected, "{name}");
        assert_eq!(queue(&json!({names::QUEUE: "root.own"}), name).as_deref(), Some("root.own"), "{name}");
    }
    for name in ["-x", "a..b", "Big", &*"x".repeat(60)] {
        assert_eq!(fields(&found(&json!({"queue": name})).problems), ["spec.queue"], "{name}");
    }
}

/// Design 03, 3.4: "Bad values are refused visibly", and what Volcano reads and nothing here does.
#[test]
fn what_is_not_read_and_decides_something_is_refused() {
    for (more, wrong) in [
        (json!({"minTaskMember": {"master": 1, "worker": 2}}), Some("spec.minTaskMember")),
        (json!({"minTaskMember": {"worker": 2}}), Some("spec.minTaskMember")),
        (json!({"minTaskMember": {"master": 1, "worker": 3}}), None),
        (json!({"minTaskMember": {"worker": 0}}), None),
        (json!({"minTaskMember": {}}), None),
        (json!({"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}), Some("spec.networkTopology")),
        (json!({"networkTopology": {"highestTierName": "rack"}}), Some("spec.networkTopology")),
        (json!({"subGroupPolicy": [{"name": "a", "subGroupSize": 2}]}), Some("spec.subGroupPolicy")),
        (json!({"subGroupPolicy": []}), None),
        (json!({"priorityClassName": "high", "minResources": {"cpu": 1}}), None),
    ] {
        let mut spec = json!({"minMember": 3});
        more.as_object().expect("fields").iter().for_each(|(field, value)| spec[field] = value.clone());
        let found = found(&spec);
        assert_eq!(fields(&found.problems), wrong.into_iter().collect::<Vec<_>>(), "{spec}");
        assert_eq!(found.warnings.len(), 0, "{spec}");
    }
    let soft = found(&json!({"minMember": 3, "networkTopology": {"mode": "soft"}}));
    assert_eq!(soft.problems.len(), 0);
    assert!(soft.warnings.len() == 1 && soft.warnings[0].starts_with("spec.networkTopology: "), "{:?}", soft.warnings);
}
