//! Placeholders in a world that is not theirs alone: controllers, users, admission and quota.

use gangline::api::names;
use k8s_openapi::api::admissionregistration::v1::{MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{LimitRange, Pod, ResourceQuota, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::harness::context::{TEST, node, phase};
use crate::harness::words::{
    MEMBERS, PLACEHOLDERS, condition, is_bound, is_placeholder, label, marked, status, uid, why_waits,
};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: a ReplicaSet keeps its members though placeholders have its labels", Needs::Nodes(2), replica_set),
        test("gangs: a member 1 MiB larger than its seat", Needs::Nodes(1), larger),
        test("gangs: placeholders are planned as a LimitRange made them", Needs::Nodes(2), limit_range),
        test("gangs: a ResourceQuota refuses the third placeholder", Needs::Nodes(1), quota_refuses),
        test("gangs: a ResourceQuota too small for a swap is a rejection", Needs::Nodes(1), quota_too_small),
        test("gangs: a pending placeholder deleted by a user comes again", Needs::Nodes(1), deleted_pending),
        test("gangs: a held placeholder deleted by a user comes again", Needs::Nodes(1), deleted_held),
        test("gangs: a placeholder that a finalizer keeps holds its member up, not others", Needs::Nodes(1), slow_swap),
        test("gangs: a forged placeholder gains nothing", Needs::Nodes(1), forged),
        test("gangs: pods of other schedulers are charged", Needs::Nodes(1), foreign),
        test("gangs: a placeholder that failed is made anew", Needs::Nodes(1), failed),
        test("gangs: a webhook that changes placeholders is named, and left out", Needs::Nodes(1), injected),
        test(
            "gangs: Services send nothing to placeholders unless they ask for what is not ready",
            Needs::Nodes(1),
            served,
        ),
    ]
}

/// Placeholders with the members' labels: without a controller of their own they would be adopted and members deleted.
async fn replica_set(t: &mut Context) -> Result<()> {
    t.group("web", 3, "1", json!({"placeholderFor": "all", "placeholderTemplate": {"labels": {"app": "web"}}})).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    let mut template = t.pod("", "1", json!({"metadata": {"labels": {"app": "web", names::TASK_GROUP: "web"}}}));
    template["metadata"] = json!({"labels": {"app": "web", names::TASK_GROUP: "web"}});
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": template["metadata"], "spec": {
        "schedulerName": "gangline", "containers": template["spec"]["containers"],
        "nodeSelector": template["spec"]["nodeSelector"], "tolerations": template["spec"]["tolerations"],
    }}});
    let run = async {
        t.objects::<ReplicaSet>().create(json!({"metadata": {"name": "web"}, "spec": spec})).await?;
        t.wait_running("web", 3).await?;
        t.wait_no_placeholders().await?;
        let ready = |set: &ReplicaSet| set.status.as_ref().and_then(|status| status.ready_replicas) == Some(3);
        t.objects::<ReplicaSet>().wait("web", "is ready", ready).await
    };
    let kept = |pods: &[&Pod]| pods.len() <= 3 && pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_none());
    t.pods().always(MEMBERS, "no member is deleted", kept, run).await?;
    t.objects::<ReplicaSet>().delete("web").await
}

/// A placeholder has the labels of its template, and of its members' only those: a Service finds it by them alone. It is
/// never ready; but a Service may not care.
async fn served(t: &mut Context) -> Result<()> {
    let template = json!({"labels": {"app": "web"}});
    t.group("web", 2, "1", json!({"placeholderFor": "all", "placeholderTemplate": template})).await?;
    let ready = |pod: &Pod| phase(pod) == "Running";
    t.wait_placeholders("run", 2, ready).await?;
    for (name, selector, publishes) in [
        ("by-template", json!({"app": "web"}), false),
        ("by-group", json!({names::TASK_GROUP: "web"}), true),
        ("by-member", json!({"role": "member"}), true),
    ] {
        let ports = json!([{"port": 80}]);
        let spec =
            json!({"selector": selector, "publishNotReadyAddresses": publishes, "clusterIP": "None", "ports": ports});
        t.objects::<Service>().create(json!({"metadata": {"name": name}, "spec": spec})).await?;
    }
    t.member("web", 0, "1", json!({"metadata": {"labels": {"role": "member"}}})).await?;
    t.pods().wait("web-0", "runs", ready).await?;
    // One placeholder is left beside the member.
    addresses(t, "by-template", &[false]).await?;
    addresses(t, "by-group", &[true, true]).await?;
    addresses(t, "by-member", &[true]).await
}

/// Waits until a Service has so many addresses, ready or not.
async fn addresses(t: &Context, service: &str, expected: &[bool]) -> Result<()> {
    let found = |slices: &[&EndpointSlice]| {
        let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
        let mut ready: Vec<bool> = endpoints
            .map(|one| one.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or_default())
            .collect();
        ready.sort_unstable();
        ready == expected
    };
    let labels = format!("kubernetes.io/service-name={service}");
    t.objects::<EndpointSlice>().wait_all(&labels, &format!("{service} has {expected:?}"), found).await.map(drop)
}

/// The seat is counted for the member; only the excess must fit the quota.
async fn larger(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"memory": "129Mi"})).await?;
    let requests = |memory: &str| json!({"cpu": "1", "memory": memory});
    let container = |memory| json!([{"name": "main", "image": "i", "resources": {"requests": requests(memory)}}]);
    let patch = |memory| json!({"spec": {"containers": container(memory)}});
    // Another pod uses what it needs beyond the seat: without it the gang would fit the queue.
    let mut other = t.pod("other", "1", patch("1Mi"));
    other["metadata"]["labels"] = json!({"gangline.dev/queue": queue});
    t.pods().create(other).await?;
    t.pods().wait("other", "has a node", is_bound).await?;
    let resource = json!({"minResource": {"cpu": "1", "memory": "64Mi"}, "placeholderFor": "all", "queue": queue});
    t.group("tight", 2, "1", resource).await?;
    t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await?;
    t.member("tight", 0, "1", patch("65Mi")).await?;
    t.member("tight", 1, "1", patch("64Mi")).await?;
    t.pods().wait("tight-1", "runs", |pod| phase(pod) == "Running").await?;
    let message = t.wait_pod_reason("tight-0", "SeatTooSmall").await?;
    assert!(message.starts_with("the pod needs 1Mi memory more than the seat kept for it"), "{message}");
    t.wait_placeholders("keeps the seat", 1, is_bound).await?;
    t.pods().delete("other").await?;
    t.wait_running("tight", 2).await?;
    t.wait_no_placeholders().await
}

async fn limit_range(t: &mut Context) -> Result<()> {
    let limits = json!([{"type": "Container", "default": {"memory": "30Gi"}, "defaultRequest": {"memory": "30Gi"}}]);
    t.objects::<LimitRange>().create(json!({"metadata": {"name": "limits"}, "spec": {"limits": limits}})).await?;
    t.group("grown", 5, "1", json!({"placeholderFor": "all"})).await?;
    let pods = t.wait_placeholders("are Unschedulable", 5, |pod| why_waits(pod).0 == "Unschedulable").await?;
    let request = serde_json::to_value(&pods[0]).unwrap_or_default();
    assert_eq!(request["spec"]["containers"][0]["resources"]["requests"]["memory"], "30Gi");
    let group = t.wait_reason("grown", "WaitingForCapacity").await?;
    assert!(status(&group).message.starts_with("4 of 5 members of grown find a node"), "{}", status(&group).message);
    t.add_nodes("more", 1, |_| ()).await?;
    t.wait_placeholders("run", 5, |pod| phase(pod) == "Running").await.map(drop)
}

/// Room for a gang of three and a swap, were it not for pods that are there already.
async fn quota_refuses(t: &mut Context) -> Result<()> {
    let quotas = t.objects::<ResourceQuota>();
    quotas.create(json!({"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "4"}}})).await?;
    let counted = |quota: &ResourceQuota| quota.status.as_ref().is_some_and(|status| status.used.is_some());
    quotas.wait("pods", "is counted", counted).await?;
    for name in ["other-0", "other-1"] {
        t.pods().create(t.pod(name, "1", json!({}))).await?;
    }
    let group = async {
        t.group("refused", 3, "1", json!({"placeholderFor": "all"})).await?;
        let group = t.wait_reason("refused", "PlaceholderRejected").await?;
        t.wait_no_placeholders().await?;
        Ok(group)
    };
    let held = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let group = t.pods().always(PLACEHOLDERS, "no placeholder has a node", held, group).await?;
    let message = status(&group).message;
    assert!(message.contains("exceeded quota: pods"), "{message}");
    assert_eq!(condition(&group, "Placed"), ("False".to_owned(), "PlaceholderRejected".to_owned()));
    quotas.patch("pods", json!({"spec": {"hard": {"pods": "6"}}})).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await.map(drop)
}

async fn quota_too_small(t: &mut Context) -> Result<()> {
    let quotas = t.objects::<ResourceQuota>();
    quotas.create(json!({"metadata": {"name": "cpu"}, "spec": {"hard": {"requests.cpu": "3"}}})).await?;
    t.group("exact", 3, "1", json!({"placeholderFor": "all"})).await?;
    let group = t.wait_reason("exact", "NamespaceQuotaTooSmall").await?;
    let message = status(&group).message;
    assert!(message.contains("need 4 cpu") && message.contains("reservation Direct"), "{message}");
    assert_eq!(t.pods().list(PLACEHOLDERS).await?.len(), 0);
    // Without placeholders it fits.
    t.group("direct", 3, "1", json!({"reservation": "Direct"})).await?;
    t.members("direct", 0..3, "1").await?;
    t.wait_running("direct", 3).await.map(drop)
}

async fn deleted_pending(t: &mut Context) -> Result<()> {
    t.group("wide", 3, "8", json!({"placeholderFor": "all"})).await?;
    let pods = t.wait_placeholders("are Unschedulable", 3, |pod| why_waits(pod).0 == "Unschedulable").await?;
    let gone = pods[0].name_any();
    t.pods().delete(&gone).await?;
    let waits = |pod: &Pod| why_waits(pod).0 == "Unschedulable" && pod.name_any() != gone;
    t.wait_placeholders("are there again", 3, waits).await?;
    t.add_nodes("more", 1, |_| ()).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await.map(drop)
}

async fn deleted_held(t: &mut Context) -> Result<()> {
    let group = t.group("held", 3, "1", json!({"placeholderFor": "all"})).await?;
    let pods = t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    let gone = pods[0].name_any();
    t.pods().delete(&gone).await?;
    t.wait_placeholders("run again", 3, |pod| phase(pod) == "Running" && pod.name_any() != gone).await?;
    // Also all of them at once, while members come.
    t.members("held", 0..3, "1").await?;
    for pod in t.pods().list(PLACEHOLDERS).await? {
        // It may be replaced already.
        let _ = t.pods().delete(&pod.name_any()).await;
    }
    let members = t.wait_running("held", 3).await?;
    t.wait_no_placeholders().await?;
    let incarnation = format!("{}.1", uid(&group));
    assert!(members.iter().all(|pod| marked(pod, "incarnation") == incarnation));
    Ok(())
}

/// The slot of a swap is not free before the placeholder is really gone; the other swaps go on.
async fn slow_swap(t: &mut Context) -> Result<()> {
    t.group("slow", 3, "5", json!({"placeholderFor": "all"})).await?;
    let pods = t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    let kept = pods[0].name_any();
    t.pods().patch(&kept, json!({"metadata": {"finalizers": ["example.com/slow"]}})).await?;
    let early = |pods: &[&Pod]| {
        let stays = pods.iter().any(|pod| pod.name_any() == kept);
        !stays || pods.iter().filter(|pod| !is_placeholder(pod) && is_bound(pod)).count() <= 2
    };
    let swap = async {
        t.members("slow", 0..3, "5").await?;
        t.wait_running("slow", 2).await?;
        let leaves = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
        t.pods().wait(&kept, "is being deleted", leaves).await?;
        t.pods().patch(&kept, json!({"metadata": {"finalizers": null}})).await?;
        t.wait_running("slow", 3).await
    };
    t.pods().always("", "the slot is not given twice", early, swap).await?;
    t.wait_no_placeholders().await
}

/// The shipped policy refuses the label from everybody else; what looks alike in other ways is an ordinary pod.
async fn forged(t: &mut Context) -> Result<()> {
    t.group("real", 2, "1", json!({"placeholderFor": "all"})).await?;
    let real = t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await?;
    let mut labels = serde_json::to_value(&real[0].metadata.labels).unwrap_or_default();
    let forged = t.pod("forged", "1", json!({"metadata": {"labels": labels}}));
    let refused = t.pods().create(forged).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("Placeholder pods are Gangline's"), "{refused}");
    labels[names::PLACEHOLDER] = Value::Null;
    labels[names::SEAT] = json!("0");
    t.pods().create(t.pod("alike", "1", json!({"metadata": {"labels": labels}}))).await?;
    // It is a member, no more.
    let pod = t.pods().wait("alike", "runs", |pod| phase(pod) == "Running").await?;
    assert_eq!(label(&pod, names::TASK_GROUP), "real");
    t.wait_placeholders("is left", 1, |pod| phase(pod) == "Running").await.map(drop)
}

async fn foreign(t: &mut Context) -> Result<()> {
    let host = format!("{}-node-0", t.id);
    let other = json!({"spec": {"schedulerName": "somebody-else", "nodeName": host}});
    t.pods().create(t.pod("other", "9", other)).await?;
    t.pods().wait("other", "runs", |pod| phase(pod) == "Running").await?;
    t.group("late", 2, "4", json!({"reservation": "Direct"})).await?;
    t.members("late", 0..2, "4").await?;
    let group = t.wait_reason("late", "WaitingForCapacity").await?;
    let message = status(&group).message;
    assert!(message.starts_with("1 of 2 members of late finds a node"), "{message}");
    t.pods().delete("other").await?;
    let pods = t.wait_running("late", 2).await?;
    assert!(pods.iter().all(|pod| node(pod) == host && label(pod, TEST).is_empty()));
    Ok(())
}

async fn failed(t: &mut Context) -> Result<()> {
    t.group("evicted", 2, "1", json!({"placeholderFor": "all"})).await?;
    let pods = t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await?;
    let gone = pods[1].name_any();
    t.pods().patch_status(&gone, json!({"phase": "Failed", "reason": "Evicted"})).await?;
    t.wait_placeholders("run again", 2, |pod| phase(pod) == "Running" && pod.name_any() != gone).await?;
    t.members("evicted", 0..2, "1").await?;
    t.wait_running("evicted", 2).await.map(drop)
}

/// A mutating policy stands for a sidecar injector: what it adds is refused by the shipped policy, which says what to do.
async fn injected(t: &mut Context) -> Result<()> {
    let (name, labels) = (format!("inject-{}", t.id), json!({TEST: t.id}));
    let patch = r#"[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "sidecar", image: "proxy"}}]"#;
    let policies = t.everywhere::<MutatingAdmissionPolicy>();
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    policies
        .create(json!({"metadata": {"name": name, "labels": labels}, "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"namespaceSelector": {"matchLabels": labels}, "resourceRules": [rule]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]}}))
        .await?;
    let bindings = t.everywhere::<MutatingAdmissionPolicyBinding>();
    bindings.create(json!({"metadata": {"name": name, "labels": labels}, "spec": {"policyName": name}})).await?;
    let tried = injected_and_left_out(t, &name).await;
    bindings.delete(&name).await?;
    policies.delete(&name).await?;
    tried
}

/// Pods by which it is tried whether a policy is in force: it takes a second or so, each a few milliseconds.
const PROBES: u32 = 2_000;

async fn injected_and_left_out(t: &Context, policy: &str) -> Result<()> {
    for number in 0..PROBES {
        let probe = t.pod(&format!("probe-{number}"), "0", json!({"spec": {"schedulerName": "nobody"}}));
        if t.pods().create(probe).await?.spec.is_some_and(|spec| spec.containers.len() == 2) {
            break;
        }
    }
    t.group("meshed", 2, "1", json!({"placeholderFor": "all"})).await?;
    let group = t.wait_reason("meshed", "PlaceholderRejected").await?;
    let message = status(&group).message;
    assert!(message.contains("gangline-self-restraint"), "{message}");
    let left_out = json!({"matchExpressions": [{"key": names::PLACEHOLDER, "operator": "DoesNotExist"}]});
    let policies = t.everywhere::<MutatingAdmissionPolicy>();
    policies.patch(policy, json!({"spec": {"matchConstraints": {"objectSelector": left_out}}})).await?;
    t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await.map(drop)
}
