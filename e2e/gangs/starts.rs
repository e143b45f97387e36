//! How gangs start: together, by members or by placeholders that members replace.

use std::collections::BTreeSet;

use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::harness::context::{TEST, phase};
use crate::harness::words::{MEMBERS, annotation, condition, is_bound, label, marked, status, uid, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::objects::Objects;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: a singleton runs", Needs::Nodes(1), singleton),
        test("gangs: three members start together, and none before", Needs::Nodes(2), direct),
        test("gangs: a Binding brings its mark with the node", Needs::Nodes(2), mark),
        test("gangs: placeholders for all members hold seats and are replaced", Needs::Nodes(2), all),
        test("gangs: only missing members get placeholders", Needs::Nodes(2), missing),
        test("gangs: two task groups and their originator start together", Needs::Nodes(2), application),
        test("gangs: of two gangs of 60 % one runs and the other holds nothing", Needs::Nodes(2), two_gangs),
        test("gangs: the more urgent gang goes first", Needs::Nodes(1), priority),
        test("gangs: more members than minMember are ordinary pods", Needs::Nodes(1), more_members),
        test("gangs: members are of one namespace", Needs::Nodes(1), namespaces),
        test("gangs: task groups of two namespaces that list each other start together", Needs::Nodes(1), across),
        test("gangs: a gated member counts once it is ungated", Needs::Nodes(1), gated),
    ]
}

async fn singleton(t: &mut Context) -> Result<()> {
    t.pods().create(t.pod("alone", "1", json!({}))).await?;
    let pod = t.pods().wait("alone", "runs", |pod| phase(pod) == "Running").await?;
    assert_eq!(annotation(&pod, names::BINDING), "queue=root.default", "a pod outside task groups has no incarnation");
    Ok(())
}

async fn direct(t: &mut Context) -> Result<()> {
    let two = async {
        t.members("trio", 0..2, "1").await?;
        t.wait_pod_reason("trio-1", "TaskGroupNotFound").await?;
        t.group("trio", 3, "1", json!({"reservation": "Direct"})).await?;
        let message = t.wait_pod_reason("trio-1", "WaitingForMembers").await?;
        assert_eq!(message, "2 of 3 members of trio exist; the gang starts when all do");
        let group = t.wait_reason("trio", "WaitingForMembers").await?;
        assert_eq!(status(&group).message, message);
        for object in ["tg/trio", "pod/trio-1"] {
            let (code, answer) = t.gangline(&["why", object])?;
            assert!(code == Some(0) && answer.contains(&message), "why {object}: {answer}");
        }
        Ok(group)
    };
    let group = t.pods().always("", "no member has a node", |pods| !pods.iter().any(|pod| is_bound(pod)), two).await?;
    assert_eq!(condition(&group, "Accepted").0, "True");
    assert_eq!(condition(&group, "Placed"), ("False".to_owned(), "WaitingForMembers".to_owned()));
    t.members("trio", 2..3, "1").await?;
    t.wait_running("trio", 3).await?;
    let placed = |group: &_| condition(group, "Placed").0 == "True";
    let group = t.groups().wait("trio", "is placed", placed).await?;
    let conditions =
        ["Accepted", "QuotaReserved", "Placed", "Running", "Finished"].map(|kind| condition(&group, kind).0);
    assert_eq!(conditions, ["True", "True", "True", "True", "False"]);
    Ok(())
}

/// A watch shows every version of a pod: the first one with a node has the mark already.
async fn mark(t: &mut Context) -> Result<()> {
    let group = t.group("pair", 2, "1", json!({"reservation": "Direct", "applicationId": "app.1"})).await?;
    let incarnation = format!("{}.1", uid(&group));
    let seats = ["0", "1"];
    let complete = |pods: &[&Pod]| {
        pods.iter().filter(|pod| is_bound(pod)).all(|pod| {
            seats.contains(&marked(pod, "seat"))
                && marked(pod, "incarnation") == incarnation
                && marked(pod, "started") == "true"
                && marked(pod, "queue") == "root.default"
        })
    };
    let run = async {
        t.members("pair", 0..1, "1").await?;
        // The watch is on its way now.
        t.wait_pod_reason("pair-0", "WaitingForMembers").await?;
        t.members("pair", 1..2, "1").await?;
        t.wait_running("pair", 2).await
    };
    let pods = t.pods().always("", "a pod with a node has its mark", complete, run).await?;
    let taken: BTreeSet<_> = pods.iter().map(|pod| marked(pod, "seat")).collect();
    assert_eq!(taken, BTreeSet::from(seats), "each member has its own seat");
    Ok(())
}

async fn all(t: &mut Context) -> Result<()> {
    let spec = json!({"placeholderFor": "all", "applicationId": "spark", "placeholderTemplate": {
        "labels": {"app": "spark"}, "annotations": {"example.com/note": "kept"},
    }});
    let group = t.group("execs", 3, "1500m", spec).await?;
    let held = t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    for pod in &held {
        check_placeholder(pod, uid(&group), &t.id);
    }
    let names: BTreeSet<_> = held.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
    assert_eq!(names.len(), 3);
    let shows = |group: &_| status(group).reason == "WaitingForMembers" && status(group).counts.held == 3;
    let group = t.groups().wait("execs", "holds three seats", shows).await?;
    assert_eq!(condition(&group, "QuotaReserved").0, "True");
    assert_eq!(condition(&group, "Placed").0, "False");
    assert_eq!(status(&group).placeholder_ask["cpu"].0, "4500m");

    t.members("execs", 0..3, "1500m").await?;
    t.wait_running("execs", 3).await?;
    t.wait_no_placeholders().await?;
    let placed = |group: &_| condition(group, "Placed").0 == "True" && condition(group, "Running").0 == "True";
    t.groups().wait("execs", "is placed", placed).await?;
    let counts = |group: &_| (status(group).counts.replaced, status(group).counts.running) == (3, 3);
    t.groups().wait("execs", "counts", counts).await.map(drop)
}

/// As design 03, 3.5 says.
fn check_placeholder(pod: &Pod, group: &str, test: &str) {
    let value = serde_json::to_value(pod).unwrap_or_default();
    let (metadata, spec) = (&value["metadata"], &value["spec"]);
    let expected = [
        (names::PLACEHOLDER, "true"),
        (names::APPLICATION, "spark"),
        (names::TASK_GROUP, "execs"),
        (names::QUEUE, "root.default"),
        ("app", "spark"),
    ];
    for (key, expected) in expected {
        assert_eq!(label(pod, key), expected, "label {key}");
    }
    assert_eq!(annotation(pod, "cluster-autoscaler.kubernetes.io/safe-to-evict"), "true");
    assert_eq!(annotation(pod, "example.com/note"), "kept");
    let owner = json!([{"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup", "name": "execs", "uid": group,
        "controller": true, "blockOwnerDeletion": false}]);
    assert_eq!(metadata["ownerReferences"], owner);
    assert!(metadata["name"].as_str().is_some_and(|name| name.starts_with("tg-execs-") && name.len() <= 63));
    assert_eq!(spec["terminationGracePeriodSeconds"], 0);
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["nodeSelector"], json!({TEST: test}));
    assert_eq!(spec["readinessGates"], json!([{"conditionType": names::READINESS_GATE}]));
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
    assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = &spec["containers"][0];
    assert_eq!(container["resources"], json!({"requests": {"cpu": "1500m"}, "limits": {"cpu": "1500m"}}));
    let security =
        json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}});
    assert_eq!(container["securityContext"], security);
}

async fn missing(t: &mut Context) -> Result<()> {
    t.members("some", 0..1, "1").await?;
    t.wait_pod_reason("some-0", "TaskGroupNotFound").await?;
    let few = |pods: &[&Pod]| pods.len() <= 2;
    let reserve = async {
        t.group("some", 3, "1", json!({})).await?;
        t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await
    };
    t.pods().always("gangline.dev/placeholder", "at most two placeholders", few, reserve).await?;
    // Every seat is held or assumed, so the member that exists runs at once.
    t.wait_running("some", 1).await?;
    t.members("some", 1..3, "1").await?;
    t.wait_running("some", 3).await?;
    t.wait_no_placeholders().await
}

async fn application(t: &mut Context) -> Result<()> {
    let gang = json!([format!("{}/left", t.namespace), format!("{}/right", t.namespace)]);
    let spec = json!({"applicationId": "both", "gangGroup": gang, "placeholderFor": "all"});
    let driver = json!({"metadata": {"labels": {names::APPLICATION: "both"}}});
    let one = async {
        t.group("left", 2, "1", spec.clone()).await?;
        t.pods().create(t.pod("driver", "1", driver)).await?;
        let group = t.wait_reason("left", "WaitingForTaskGroups").await?;
        assert_eq!(status(&group).message, "1 of 2 TaskGroups of the gang exist and list the same; missing: right");
        assert_eq!(status(&group).application_state, "New");
        t.wait_pod_reason("driver", "WaitingForTaskGroups").await
    };
    t.pods().always("", "nothing is bound or held", |pods| pods.iter().all(|pod| !is_bound(pod)), one).await?;

    let first = |pods: &[&Pod]| {
        let (held, others): (Vec<&Pod>, Vec<_>) = pods.iter().partition(|pod| label(pod, names::PLACEHOLDER) == "true");
        !others.iter().any(|pod| is_bound(pod)) || held.iter().filter(|pod| is_bound(pod)).count() == 3
    };
    let start = async {
        t.group("right", 1, "2", spec.clone()).await?;
        t.pods().wait("driver", "runs", |pod| phase(pod) == "Running").await
    };
    let driver = t.pods().always("", "the driver starts after all seats are held", first, start).await?;
    assert_eq!(marked(&driver, "started"), "true");
    t.members("left", 0..2, "1").await?;
    t.members("right", 0..1, "2").await?;
    t.wait_running("left", 2).await?;
    t.wait_running("right", 1).await?;
    t.wait_no_placeholders().await?;
    for group in ["left", "right"] {
        t.groups().wait(group, "is placed", |group| condition(group, "Placed").0 == "True").await?;
    }
    Ok(())
}

/// Each gang fills 60 % of 32 CPUs: a scheduler that goes pod by pod would start a part of both.
async fn two_gangs(t: &mut Context) -> Result<()> {
    for name in ["first", "second"] {
        t.group(name, 5, "4", json!({"reservation": "Direct"})).await?;
    }
    let either = |pods: &[&Pod]| {
        let of = |group| pods.iter().filter(|pod| label(pod, names::TASK_GROUP) == group && is_bound(pod)).count();
        of("first") == 0 || of("second") == 0
    };
    let both = async {
        for number in 0..5 {
            t.member("first", number, "4", json!({})).await?;
            t.member("second", number, "4", json!({})).await?;
        }
        let five = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 5;
        t.pods().wait_all("", "one gang runs", five).await
    };
    let pods = t.pods().always("", "only one gang has nodes", either, both).await?;
    let first = pods.iter().find(|pod| is_bound(pod)).map_or("", |pod| label(pod, names::TASK_GROUP)).to_owned();
    let second = if first == "first" { "second" } else { "first" };
    let group = t.wait_reason(second, "WaitingForCapacity").await?;
    let found = format!("3 of 5 members of {second} find a node; for the next one 0/");
    assert!(status(&group).message.starts_with(&found), "{}", status(&group).message);
    t.delete_members(&first, 0..5).await?;
    t.wait_running(second, 5).await.map(drop)
}

async fn priority(t: &mut Context) -> Result<()> {
    use k8s_openapi::api::scheduling::v1::PriorityClass;
    let class = format!("urgent-{}", t.id);
    let classes = t.everywhere::<PriorityClass>();
    classes.create(json!({"metadata": {"name": class, "labels": {TEST: t.id}}, "value": 1000})).await?;
    t.pods().create(t.pod("blocker", "16", json!({}))).await?;
    t.pods().wait("blocker", "runs", |pod| phase(pod) == "Running").await?;
    for (group, patch) in [("patient", json!({})), ("urgent", json!({"spec": {"priorityClassName": class}}))] {
        t.group(group, 2, "5", json!({"reservation": "Direct"})).await?;
        for number in 0..2 {
            t.member(group, number, "5", patch.clone()).await?;
        }
        t.wait_reason(group, "WaitingForCapacity").await?;
    }
    let patient = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let urgent = async {
        t.pods().delete("blocker").await?;
        t.wait_running("urgent", 2).await
    };
    t.pods().always("gangline.dev/task-group=patient", "the other waits", patient, urgent).await?;
    classes.delete(&class).await
}

async fn more_members(t: &mut Context) -> Result<()> {
    t.group("more", 2, "4", json!({"reservation": "Direct"})).await?;
    t.members("more", 0..5, "4").await?;
    t.wait_running("more", 4).await?;
    let waits = |pods: &[&Pod]| pods.iter().filter(|pod| why_waits(pod).0 == "Unschedulable").count() == 1;
    t.pods().wait_all(MEMBERS, "the fifth fits no node", waits).await?;
    let group = t.groups().wait("more", "is placed", |group| condition(group, "Placed").0 == "True").await?;
    assert_eq!(status(&group).application_state, "Running");
    Ok(())
}

async fn gated(t: &mut Context) -> Result<()> {
    t.members("gate", 0..1, "1").await?;
    t.member("gate", 1, "1", json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}})).await?;
    t.wait_pod_reason("gate-0", "TaskGroupNotFound").await?;
    t.group("gate", 2, "1", json!({"reservation": "Direct"})).await?;
    let group = t.wait_reason("gate", "WaitingForMembers").await?;
    assert!(status(&group).message.starts_with("1 of 2 members"), "{}", status(&group).message);
    t.pods().patch("gate-1", json!({"spec": {"schedulingGates": []}})).await?;
    t.wait_running("gate", 2).await.map(drop)
}

/// A label names a TaskGroup of the pod's own namespace only.
/// Who lists a TaskGroup of another namespace waits until that lists it, too.
async fn across(t: &mut Context) -> Result<()> {
    let other = t.add_namespace("other", json!({})).await?;
    let (groups, pods) = (Objects::<TaskGroup>::of(&t.client, &other), Objects::<Pod>::of(&t.client, &other));
    let there = format!("{other}/there");
    let gang = json!([format!("{}/here", t.namespace), there]);
    t.group("here", 1, "1", json!({"reservation": "Direct", "gangGroup": gang})).await?;
    t.members("here", 0..1, "1").await?;
    let labels = json!({"metadata": {"namespace": other, "labels": {names::TASK_GROUP: "there"}}});
    pods.create(t.pod("there-0", "1", labels)).await?;
    let alone = json!({"minMember": 2, "minResource": {"cpu": "1"}, "reservation": "Direct"});
    groups.create(json!({"metadata": {"name": "there"}, "spec": alone})).await?;
    let told =
        |group: &TaskGroup| status(group).reason == "WaitingForTaskGroups" && status(group).message.contains(&there);
    t.groups().wait("here", "names the one that does not list it", told).await?;
    let waits = |group: &TaskGroup| status(group).reason == "WaitingForMembers";
    groups.wait("there", "waits for its own member alone", waits).await?;

    groups.patch("there", json!({"spec": {"gangGroup": gang, "minMember": 1}})).await?;
    t.wait_running("here", 1).await?;
    pods.wait("there-0", "runs", |pod| phase(pod) == "Running").await?;
    for (groups, name) in [(&t.groups(), "here"), (&groups, "there")] {
        groups.wait(name, "runs", |group| status(group).application_state == "Running").await?;
    }
    Ok(())
}

async fn namespaces(t: &mut Context) -> Result<()> {
    let other = t.add_namespace("other", json!({})).await?;
    t.group("pair", 2, "1", json!({"reservation": "Direct"})).await?;
    t.members("pair", 0..1, "1").await?;
    let labels = json!({"metadata": {"namespace": other, "labels": {names::TASK_GROUP: "pair"}}});
    let pods = Objects::<Pod>::of(&t.client, &other);
    pods.create(t.pod("pair-1", "1", labels)).await?;
    pods.wait("pair-1", "waits", |pod| why_waits(pod).0 == "TaskGroupNotFound").await?;
    t.wait_pod_reason("pair-0", "WaitingForMembers").await?;
    t.members("pair", 1..2, "1").await?;
    t.wait_running("pair", 2).await?;
    assert_eq!(pods.get("pair-1").await?.as_ref().map(is_bound), Some(false));
    Ok(())
}
