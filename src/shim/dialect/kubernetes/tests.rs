//! What pods and PodGroups say in Kubernetes' own words, what becomes of what is wrong in them, and what is said of a gang.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::pod_group::{self, Found, Kubernetes, PodGroup, PodGroupStatus, Volcano};
use super::*;
use crate::api::names;
use crate::api::task_group::{Mode, Reservation};
use crate::core::base::resources::Totals;
use crate::core::event::Style;
use crate::core::model::group::{Ended, Members};
use crate::core::model::seat::Tally;
use crate::core::reason::SpecError;

/// A pod that requests a core and has this scheduling group.
fn pod(labels: &Value, group: &Value) -> Pod {
    let metadata = json!({"namespace": "data", "name": "p", "labels": labels});
    let container = json!({"name": "main", "resources": {"requests": {"cpu": "1"}}});
    let spec = json!({"containers": [container], "schedulingGroup": group});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod")
}

fn said(name: &str) -> Spoken {
    read(&pod(&json!({}), &json!({"podGroupName": name}))).expect("it speaks")
}

fn found(spec: &Value) -> Found {
    let object = json!({"metadata": {"namespace": "data", "name": "pg", "uid": "u"}, "spec": spec});
    let group: PodGroup<Kubernetes> = serde_json::from_value(object).expect("a PodGroup");
    pod_group::read(&group).expect("it stays")
}

fn fields(problems: &[SpecError]) -> Vec<&str> {
    problems.iter().map(|problem| &*problem.field).collect()
}

#[test]
fn who_says_nothing_is_not_read() {
    for group in [json!(null), json!({}), json!({"podGroupName": null}), json!({"podGroupName": ""})] {
        assert_eq!(read(&pod(&json!({}), &group)), None, "{group}");
    }
    assert_eq!(read(&Pod::default()), None);
}

/// peers 6.1: "spec.schedulingGroup.podGroupName (immutable)".
#[test]
fn a_pod_refers_to_the_pod_group_that_its_field_names() {
    let spoken = said("pg");
    let reference = spoken.refers.as_ref().expect("it names one");
    assert_eq!((reference.system, &*reference.name), (System::Kubernetes, "pg"));
    assert_eq!(&*reference.words(), "PodGroup pg of scheduling.k8s.io");
    assert!(reference.says_nothing_itself());
    assert_eq!((spoken.group.as_deref(), spoken.warnings.len(), spoken.problems.len()), (Some("pg"), 0, 0));
    let long = said(&"x".repeat(64));
    assert_eq!((fields(&long.problems), long.refers), (vec![GROUP_NAME], None));
    let queue = json!({names::QUEUE: "a b"});
    let wrong = read(&pod(&queue, &json!({"podGroupName": "pg"}))).expect("it speaks");
    assert_eq!((fields(&wrong.problems), wrong.refers), (vec![names::QUEUE], None));
}

/// kube-scheduler has no time after which a gang is given up, and no words for one.
#[test]
fn a_gang_is_one_task_group_without_a_time() {
    let reference = said("pg").refers.expect("it names one");
    let object = json!({
        "schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"all": {}}, "priorityClassName": "high",
        "priority": 7, "workloadRef": {"workloadName": "w", "templateName": "t"}, "minMember": 9,
    });
    let declared = reference.declared(&found(&object)).expect("it is right");
    let spec = &declared.spec;
    assert_eq!((spec.min_member, spec.wait_timeout_seconds, spec.mode), (3, None, Mode::Strict));
    assert_eq!((spec.total_member, spec.reservation, &spec.queue), (Some(MAX_MEMBERS), Reservation::Direct, &None));
    assert_eq!((spec.application_id.as_deref(), spec.gang_group.len()), (Some("pg"), 0));
    let owner = &declared.owner;
    assert_eq!((&*owner.api_version, &*owner.kind, &*owner.uid), ("scheduling.k8s.io/v1beta1", "PodGroup", "u"));
    let metadata = ObjectMeta { owner_references: Some(vec![owner.clone()]), ..ObjectMeta::default() };
    assert_eq!(pod_group::origin(&metadata).map(|(system, _)| system), Some(System::Kubernetes));
}

/// The policy `basic` starts each pod by itself, and there is no other than the two.
#[test]
fn the_least_number_is_that_of_the_policy() {
    let least = |policy: Value| {
        let reference = said("pg").refers.expect("it names one");
        let declared = reference.declared(&found(&json!({"schedulingPolicy": policy})));
        declared.map(|declared| (declared.spec.min_member, declared.spec.total_member))
    };
    let all = json!({"gang": {"minCount": MAX_MEMBERS}});
    for (policy, expected) in [
        (json!({"basic": {}}), (1, None)),
        (json!({"gang": {"minCount": 7}}), (7, Some(MAX_MEMBERS))),
        (all, (MAX_MEMBERS, None)),
    ] {
        assert_eq!(least(policy.clone()), Ok(expected), "{policy}");
    }
    for wrong in [
        json!(null),
        json!({}),
        json!({"basic": null, "gang": null, "later": null}),
        json!({"gang": {}}),
        json!({"gang": {"minCount": 0}}),
        json!({"gang": {"minCount": 5_000_000_000_u64}}),
    ] {
        let problems = least(wrong.clone()).expect_err("it is wrong");
        assert_eq!(fields(&problems), ["spec.schedulingPolicy.gang.minCount"], "{wrong}");
    }
}

/// Design 03, 3.4: "Bad values are refused visibly", and what kube-scheduler reads and nothing here does.
#[test]
fn what_is_not_read_and_decides_something_is_refused() {
    for (more, wrong) in [
        (json!({"schedulingConstraints": {"topology": [{"key": "rack"}]}}), Some("spec.schedulingConstraints")),
        (json!({"schedulingConstraints": {"later": {"a": 1}}}), Some("spec.schedulingConstraints")),
        (json!({"schedulingConstraints": "rack"}), Some("spec.schedulingConstraints")),
        (json!({"schedulingConstraints": {"topology": []}}), None),
        (json!({"schedulingConstraints": {}}), None),
        (json!({"schedulingConstraints": null}), None),
        (json!({"resourceClaims": [{"name": "gpus"}]}), Some("spec.resourceClaims")),
        (json!({"resourceClaims": []}), None),
        (json!({"parentCompositePodGroupName": "parent"}), Some("spec.parentCompositePodGroupName")),
        (json!({"parentCompositePodGroupName": null}), None),
        (json!({"disruptionMode": {"all": {}}, "preemptionPolicy": "Never", "priorityClassName": "high"}), None),
    ] {
        for policy in [json!({"basic": {}}), json!({"gang": {"minCount": 3}})] {
            let mut spec = json!({"schedulingPolicy": policy});
            more.as_object().expect("fields").iter().for_each(|(field, value)| spec[field] = value.clone());
            let found = found(&spec);
            assert_eq!(fields(&found.problems), wrong.into_iter().collect::<Vec<_>>(), "{spec}");
            assert_eq!(found.warnings.len(), 0, "{spec}");
        }
    }
}

/// "In the future, new fields may appear" there (of `basic`, 1.37).
#[test]
fn fields_of_a_policy_that_are_not_known_are_refused() {
    for (policy, wrong) in [
        (json!({"basic": {"later": true, "other": null}}), "spec.schedulingPolicy.basic.later"),
        (json!({"gang": {"minCount": 3, "later": {"a": 1}, "other": null}}), "spec.schedulingPolicy.gang.later"),
        (json!({"gang": {"minCount": 3}, "later": {}}), "spec.schedulingPolicy.later"),
    ] {
        assert_eq!(fields(&found(&json!({"schedulingPolicy": policy})).problems), [wrong], "{policy}");
    }
}

/// kube-scheduler starts no gang whose priority is not that of its pods (`validatePodGroup`).
#[test]
fn a_priority_that_is_not_the_pods_is_told() {
    let told = |of_pod: Value, of_object: Value| {
        let mut pod = pod(&json!({}), &json!({"podGroupName": "pg"}));
        pod.spec.iter_mut().for_each(|spec| spec.priority = serde_json::from_value(of_pod.clone()).expect("a number"));
        let reference = read(&pod).expect("it speaks").refers.expect("it names one");
        let object = json!({"schedulingPolicy": {"basic": {}}, "priority": of_object});
        reference.warnings(&found(&object)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = "spec.priority: 7 is left out: pods count with their own, which is -5 here";
    assert_eq!(told(json!(-5), json!(7)), [said]);
    for (of_pod, of_object) in [(json!(7), json!(7)), (json!(null), json!(7)), (json!(7), json!(null))] {
        assert_eq!(told(of_pod, of_object), Vec::<String>::new());
    }
}

/// Its finalizer waits for the pods that name it, so that these must not wait for it.
#[test]
fn one_that_is_deleted_counts_until_it_is_gone() {
    let metadata = json!({"namespace": "data", "name": "pg", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let object = json!({"metadata": metadata, "spec": {"minMember": 1, "schedulingPolicy": {"basic": {}}}});
    let own: PodGroup<Kubernetes> = serde_json::from_value(object.clone()).expect("a PodGroup");
    assert!(pod_group::read(&own).is_some_and(|found| found.problems.is_empty()));
    let other: PodGroup<Volcano> = serde_json::from_value(object).expect("a PodGroup");
    assert_eq!(pod_group::read(&other), None);
}

/// A gang of three of which so many have a node.
fn report(state: AppState, scheduled: u32) -> GroupReport {
    GroupReport {
        kept: 0,
        state,
        incarnation: 1,
        reason: Code::WaitingForMembers,
        ask: Totals::default(),
        seats: Tally::default(),
        required: 3,
        members: Members { scheduled, ..Members::default() },
        ended: Ended::default(),
        replaced: 0,
        accepted: true,
        past_gate: false,
        placed: false,
        deadlines: Default::default(),
        style: Style::Soft,
        timed_out: None,
        unstarted_lives: 0,
        generation: 1,
        queue: "root.default".into(),
    }
}

/// Of the API (1.37): "Once this condition transitions to True, it serves as a terminal state and will never revert to False".
#[test]
fn once_all_had_a_node_the_condition_stays_true() {
    let of = |state, scheduled, before: Option<&InitiallyScheduled>, second: i64| {
        InitiallyScheduled::of(&report(state, scheduled), "2 of 3 lack cpu", before, Wall(1_000 * second))
    };
    assert_eq!(of(AppState::Running, 2, None, 1), None, "it is being placed");
    let waits = of(AppState::Accepted, 0, None, 1).expect("it waits");
    assert_eq!((waits.holds, &*waits.reason, &*waits.message), (false, "WaitingForMembers", "2 of 3 lack cpu"));
    assert_eq!(of(AppState::Running, 2, Some(&waits), 2), Some(waits.clone()), "nothing new is said meanwhile");
    let placed = of(AppState::Running, 3, Some(&waits), 9).expect("it is placed");
    assert_eq!((placed.holds, &*placed.reason, &*placed.since), (true, "Scheduled", "1970-01-01T00:00:09Z"));
    for state in [AppState::Accepted, AppState::Waiting, AppState::Rejected] {
        assert_eq!(of(state, 0, Some(&placed), 20), Some(placed.clone()), "{state:?}");
    }
    let before = GroupReport { placed: true, ..report(AppState::Running, 1) };
    assert!(InitiallyScheduled::of(&before, "", None, Wall(0)).is_some_and(|said| said.holds), "they had one once");
}

/// Of the API: "Unschedulable: The PodGroup cannot be scheduled due to resource constraints, affinity/anti-affinity rules, or
/// insufficient capacity for the gang". Who waits for pods, quota or a mended spec is said to wait for that.
#[test]
fn only_who_finds_no_nodes_is_unschedulable() {
    for code in Code::ALL {
        let report = GroupReport { reason: code, ..report(AppState::Accepted, 0) };
        let said = InitiallyScheduled::of(&report, "2 of 3", None, Wall(0)).expect("it waits");
        let expected = if code == Code::WaitingForCapacity { "Unschedulable" } else { code.name() };
        assert_eq!((said.holds, &*said.reason), (false, expected));
    }
}

/// ADR 22: what changes to and fro is not written each time.
#[test]
fn a_sentence_with_other_numbers_is_not_said_again() {
    let report = report(AppState::Accepted, 0);
    let of = |message: &str, before: Option<&InitiallyScheduled>, second: i64| {
        InitiallyScheduled::of(&report, message, before, Wall(1_000 * second)).expect("it waits")
    };
    let first = of("2 of 3 members", None, 1);
    assert_eq!(of("1 of 3 members", Some(&first), 2), first);
    let other = of("3 of 3 lack cpu", Some(&first), 2);
    assert_eq!((&*other.message, &*other.since), ("3 of 3 lack cpu", "1970-01-01T00:00:01Z"), "since it is not true");
    assert_eq!(other.written().get("observedGeneration"), Some(&Value::Null), "another one's is taken away");
}

/// What is written is read again as it was; what else stands there, or makes no sense, is not.
#[test]
fn a_condition_is_read_as_it_was_written() {
    let report = report(AppState::Accepted, 0);
    let said = InitiallyScheduled::of(&report, "1 of 3", None, Wall(5_000)).expect("it waits");
    let status = json!({"conditions": [{"type": "DisruptionTarget", "status": "True"}, said.written()]});
    assert_eq!(InitiallyScheduled::read(&status), Some(said));
    let with = |conditions: Value| json!({"conditions": conditions});
    for nothing in [json!({}), json!(null), with(json!({})), with(json!([{"type": "DisruptionTarget"}, 7]))] {
        assert_eq!(InitiallyScheduled::read(&nothing), None, "{nothing}");
    }
    let system = System::Kubernetes;
    assert_eq!(PodGroupStatus::read(system, &json!(null)), None);
    assert_eq!(PodGroupStatus::read(system, &json!({"phase": "Running"})), Some(PodGroupStatus::default()));
    let others = PodGroupStatus::read(System::Volcano, &status).expect("there is one");
    assert_eq!(others.condition, None, "it is Kubernetes' alone");
}
