//! Where YuniKorn's gangs go wrong when something fails: the scheduler dies after the start, a node is drained or goes, the API
//! server does not make a placeholder, a controller makes pods anew, members keep apart.

use std::collections::BTreeSet;

use gangline::api::queue::Queue;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::middles::{Middle, Scenario};
use super::yunikorn::APP_ID;
use super::yunikorn_apps::{App, Role, has_placeholders, held, on_node, outlast_first_look};
use crate::breakage::until;
use crate::harness::Context;
use crate::harness::context::{TEST, node, phase};
use crate::harness::words::{MEMBERS, condition, is_bound, is_placeholder, marked, status, why_waits};
use crate::support::error::{During, Result};

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new("yunikorn S4: a bound placeholder is evicted, and the members come", 3, |t, middle| {
            Box::pin(evicted(t, middle))
        }),
        Scenario::new(
            "yunikorn S9: the node that a member changes to goes in the middle of its swap",
            0,
            |t, middle| Box::pin(target_goes(t, middle)),
        ),
        Scenario::new("yunikorn S10: the third placeholder is answered by 500, style Hard", 1, |t, middle| {
            Box::pin(third_fails(t, middle))
        }),
        Scenario::new("yunikorn S13: a controller makes pods anew after a Hard failure", 1, |t, middle| {
            Box::pin(made_anew(t, middle))
        }),
        Scenario::new("yunikorn S14: members that keep apart", 3, |t, middle| Box::pin(apart(t, middle))),
    ]
}

/// What is about a restart, and nothing without one.
pub(super) fn restarts() -> Vec<Scenario> {
    vec![
        Scenario::new("yunikorn S1: restarted after every swap, Soft", 1, |t, middle| {
            Box::pin(restarted(t, middle, ""))
        }),
        Scenario::new("yunikorn S2: restarted after every swap and the timeout, Hard", 1, |t, middle| {
            Box::pin(restarted(t, middle, "placeholderTimeoutInSeconds=2 gangSchedulingStyle=Hard"))
        }),
    ]
}

/// The gang fills its queue, and one of its members goes: a scheduler that took it for one that has not started would reserve for
/// that. Another gang, that comes while nobody looks, must find the queue as full as it is.
async fn restarted(t: &mut Context, middle: &Middle, parameters: &str) -> Result<()> {
    let queue = t.queue(json!({"cpu": "3100m"})).await?;
    let app = App { queue: Some(&queue), parameters, ..App::new(t, "swapped", 3, "1") };
    app.driver().await?;
    held(t, 3).await?;
    app.members(0..3).await?;
    app.wait_run(4).await?;
    t.wait_no_placeholders().await?;
    let placed = |groups: &[&TaskGroup]| groups.iter().all(|group| condition(group, "Placed").0 == "True");
    t.groups().wait_all("", "it is placed", placed).await?;
    t.pods().delete("swapped-2").await?;
    let others = app.wait_run(3).await?;
    if !parameters.is_empty() {
        outlast_timeout(t, parameters).await?;
    }
    let rival = App { queue: Some(&queue), ..App::new(t, "rival", 2, "1") };
    let untouched = |pods: &[&Pod]| {
        let is_there = |one: &Pod| pods.iter().any(|pod| pod.uid() == one.uid() && phase(pod) == "Running");
        others.iter().all(is_there) && !has_placeholders(pods, "swapped")
    };
    let restart = async {
        middle.during(rival.members(0..2)).await?;
        outlast_first_look(t).await?;
        rival.wait_reason("WaitingForQuota").await
    };
    let group = t.pods().always("", "nothing is reserved, and who ran runs", untouched, restart).await?;
    assert!(status(&group).message.contains("has 1 of 3100m left"), "{}", status(&group).message);
    // Charged for what they use, and no more.
    t.everywhere::<Queue>().patch(&queue, json!({"spec": {"max": {"cpu": "4100m"}}})).await?;
    rival.wait_run(2).await.map(drop)
}

/// Waits until a younger gang with the same timeout has lost the seat that nobody took.
async fn outlast_timeout(t: &Context, parameters: &str) -> Result<()> {
    let younger = App { parameters, ..App::new(t, "younger", 2, "1") };
    younger.members(0..1).await?;
    held(t, 1).await?;
    t.wait_no_placeholders().await?;
    younger.wait_reason("PlaceholderTimeout").await?;
    t.pods().delete("younger-0").await?;
    t.pods().wait_gone("younger-0").await
}

/// Keeps a placeholder while it leaves.
const HOLD: &str = "e2e.gangline.dev/hold";

/// The node of one of three placeholders is drained. A finalizer keeps that one while it leaves, so that the other two are still
/// held when the members come: nobody starts with those. As the third seat finds no other node, they are given back.
async fn evicted(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = format!("root.{}", t.id);
    let hard = "placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard";
    // A node has room for one.
    let app = App { queue: Some(&queue), parameters: hard, ..App::new(t, "evicted", 3, "9") };
    reserved_for_nobody(&app, &queue).await?;
    let seat = held(t, 3).await?.remove(0);
    let (placeholder, host) = (seat.name_any(), node(&seat).to_owned());
    t.pods().patch(&placeholder, json!({"metadata": {"finalizers": [HOLD]}})).await?;
    let (nodes, sets) = (t.everywhere::<Node>(), t.objects::<ReplicaSet>());
    let drained = async {
        nodes.patch(&host, json!({"spec": {"unschedulable": true}})).await?;
        t.pods().delete(&placeholder).await?;
        sets.patch(app.id, gates(&Value::Null)).await?;
        sets.patch(app.id, json!({"spec": {"replicas": 3}})).await?;
        ungate(&app).await
    };
    let lost = async {
        middle.during(drained).await?;
        let wait = |pods: &[&Pod]| pods.len() == 3 && pods.iter().all(|pod| why_waits(pod).0 == "PlaceholdersLeaving");
        t.pods().wait_all(&format!("{MEMBERS},{}", pods_of(&app)), "three wait for what leaves", wait).await?;
        t.pods().patch(&placeholder, json!({"metadata": {"finalizers": null}})).await?;
        app.wait_reason("WaitingForCapacity").await?;
        let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
        t.pods().wait_all("", "nothing is held", nothing).await
    };
    let nobody = |pods: &[&Pod]| !pods.iter().any(|pod| !is_placeholder(pod) && is_bound(pod));
    t.pods().always("", "nobody starts with a part of the gang", nobody, lost).await?;
    nodes.patch(&host, json!({"spec": {"unschedulable": false}})).await?;
    app.wait_run(3).await?;
    t.wait_no_placeholders().await
}

/// The seat is on one node, its member may go to every other one. A finalizer keeps the placeholder while it leaves.
async fn target_goes(t: &mut Context, middle: &Middle) -> Result<()> {
    let seat = t.add_nodes("seat", 1, |_| ()).await?.remove(0);
    let target = t.add_nodes("target", 1, |_| ()).await?.remove(0);
    let app = App { node: Some(&seat), ..App::new(t, "moved", 1, "1") };
    app.pod("moved-driver", "100m", Role::Originator, json!({"spec": {"nodeSelector": on_node(&seat)}})).await?;
    let placeholder = held(t, 1).await?.remove(0).name_any();
    t.pods().patch(&placeholder, json!({"metadata": {"finalizers": [HOLD]}})).await?;
    let elsewhere = json!([{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [seat]}]);
    let required = json!({"nodeSelectorTerms": [{"matchExpressions": elsewhere}]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    app.pod("moved-0", "1", Role::Member, json!({"spec": {"affinity": affinity}})).await?;
    let leaves = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
    t.pods().wait(&placeholder, "is being deleted", leaves).await?;
    let nodes = t.everywhere::<Node>();
    let goes = async {
        nodes.delete(&target).await?;
        nodes.wait_gone(&target).await
    };
    middle.during(goes).await?;
    let other = t.add_nodes("other", 1, |_| ()).await?.remove(0);
    t.pods().patch(&placeholder, json!({"metadata": {"finalizers": null}})).await?;
    let pod = t.pods().wait("moved-0", "runs", |pod| phase(pod) == "Running").await?;
    assert_eq!(node(&pod), other);
    t.wait_no_placeholders().await
}

async fn third_fails(t: &mut Context, middle: &Middle) -> Result<()> {
    let webhook = fail_third(t).await?;
    let hard = "placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard";
    let app = App { parameters: hard, ..App::new(t, "failing", 3, "1") };
    let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let fails = async {
        app.driver().await?;
        let group = app.wait_reason("PlaceholderFailed").await?;
        assert_eq!(status(&group).application_state, "Accepted");
        middle.pass().await
    };
    t.pods().always("", "nothing of it has a node", nothing, fails).await?;
    t.everywhere::<ValidatingWebhookConfiguration>().delete(&webhook).await?;
    held(t, 3).await?;
    app.members(0..3).await?;
    app.wait_run(4).await?;
    t.wait_no_placeholders().await
}

/// Has the API server fail over the third placeholder of a gang in this namespace: a webhook that nobody serves is asked about it.
/// Returns when that is so, with its name.
async fn fail_third(t: &Context) -> Result<String> {
    const PROBE: &str = "probe";
    let third = format!(
        "object.metadata.name == '{PROBE}' || object.metadata.?labels[?'gangline.dev/seat'].orValue('') == '2'"
    );
    let webhook = json!({
        "name": "nobody.e2e.gangline.dev", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {TEST: t.id}},
        "matchConditions": [{"name": "third", "expression": third}],
    });
    let metadata = json!({"name": t.id, "labels": {TEST: t.id}});
    let configuration = json!({"metadata": metadata, "webhooks": [webhook]});
    t.everywhere::<ValidatingWebhookConfiguration>().create(configuration).await?;
    let (pods, dry_run) = (t.pods(), PostParams { dry_run: true, ..PostParams::default() });
    let probe = serde_json::from_value::<DynamicObject>(t.pod(PROBE, "1", json!({}))).during("describing a pod")?;
    let fails = async || match pods.untyped().create(&dry_run, &probe).await {
        Err(kube::Error::Api(answer)) => Ok(answer.code == 500),
        other => other.during("probing").map(|_| false),
    };
    until("the API server fails over it", fails).await?;
    Ok(t.id.clone())
}

const GATE: &str = "e2e.gangline.dev/wait";

/// Its seats are reserved before anybody can take them, so that it times out.
async fn made_anew(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = format!("root.{}", t.id);
    let hard = "placeholderTimeoutInSeconds=2 gangSchedulingStyle=Hard";
    let app = App { queue: Some(&queue), parameters: hard, ..App::new(t, "anew", 2, "1") };
    let sets = t.objects::<ReplicaSet>();
    let group = reserved_for_nobody(&app, &queue).await?;
    let failed = |pods: &[&Pod]| pods.iter().any(|pod| phase(pod) == "Failed");
    t.pods().wait_all(&pods_of(&app), "one has failed", failed).await?;
    let group_now = app.wait_reason("PlaceholderTimeout").await?;
    assert_eq!(status(&group_now).application_state, "Killed");

    // The controller has made another one already.
    sets.patch(app.id, gates(&Value::Null)).await?;
    sets.patch(app.id, json!({"spec": {"replicas": 2}})).await?;
    let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let waits = async {
        ungate(&app).await?;
        app.wait_reason("WaitingForNextLife").await?;
        middle.pass().await?;
        let both = |pods: &[&Pod]| pods.iter().filter(|pod| why_waits(pod).0 == "WaitingForNextLife").count() == 2;
        t.pods().wait_all(&pods_of(&app), "two say when they may begin", both).await
    };
    t.pods().always(&pods_of(&app), "nobody begins before the pause is over", nothing, waits).await?;
    // Who corrects what was wrong need not wait.
    t.groups().patch(&group, json!({"spec": {"placeholderFor": "missing"}})).await?;
    let run = app.wait_run(2).await?;
    let lives: BTreeSet<_> = run.iter().filter(|pod| is_bound(pod)).map(|pod| marked(pod, "incarnation")).collect();
    assert!(lives.len() == 1 && lives.iter().all(|life| life.ends_with(".2")), "{lives:?}");
    t.wait_no_placeholders().await
}

/// Selects the pods of an application.
fn pods_of(app: &App<'_>) -> String {
    format!("{APP_ID}={}", app.id)
}

/// Has the seats of a gang reserved while nobody can take them: its TaskGroup is edited before the queue is there, and the one pod
/// that its controller makes after that has a gate. The name of the TaskGroup.
async fn reserved_for_nobody(app: &App<'_>, queue: &str) -> Result<String> {
    let (t, sets) = (app.t, app.t.objects::<ReplicaSet>());
    sets.create(replica_set(app)).await?;
    let group = app.wait_reason("QueueNotFound").await?.name_any();
    t.groups().patch(&group, json!({"spec": {"placeholderFor": "all"}})).await?;
    sets.patch(app.id, gates(&json!([{"name": GATE}]))).await?;
    let first = t.pods().list(&pods_of(app)).await?.remove(0).name_any();
    t.pods().delete(&first).await?;
    t.pods().wait_gone(&first).await?;
    t.queue_at(queue, json!({})).await?;
    Ok(group)
}

/// One that makes members of an application, and is called as that.
fn replica_set(app: &App<'_>) -> Value {
    let pod = app.object(app.id, app.cpu, Role::Member, json!({}));
    let metadata = json!({"labels": pod["metadata"]["labels"], "annotations": pod["metadata"]["annotations"]});
    let template = json!({"metadata": metadata, "spec": pod["spec"]});
    let selector = json!({"matchLabels": {APP_ID: app.id}});
    json!({"metadata": {"name": app.id}, "spec": {"replicas": 1, "selector": selector, "template": template}})
}

/// What gives the pods of a ReplicaSet that are made from now on these gates.
fn gates(gates: &Value) -> Value {
    json!({"spec": {"template": {"spec": {"schedulingGates": gates}}}})
}

/// Lets the pod go on that is gated.
async fn ungate(app: &App<'_>) -> Result<()> {
    let is_gated = |pod: &Pod| {
        let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
        phase(pod) != "Failed" && gates.is_some_and(|gates| !gates.is_empty())
    };
    let gated = |pods: &[&Pod]| pods.iter().any(|pod| is_gated(pod));
    let pods = app.t.pods();
    for pod in pods.wait_all(&pods_of(app), "one is gated", gated).await?.iter().filter(|pod| is_gated(pod)) {
        pods.patch(&pod.name_any(), json!({"spec": {"schedulingGates": []}})).await?;
    }
    Ok(())
}

/// By anti-affinity that is required they cannot yet, which is said and costs nothing; by ports of their nodes they can, although
/// one node holds all of their seats.
async fn apart(t: &mut Context, middle: &Middle) -> Result<()> {
    let anti = App::new(t, "anti", 3, "1");
    let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {APP_ID: "anti"}}});
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod) || is_placeholder(pod));
    let refused = async {
        anti.members_with(0..3, &json!({"spec": {"affinity": {"podAntiAffinity": required}}})).await?;
        let field = |pod: &Pod| why_waits(pod).1.contains("spec.affinity.podAntiAffinity");
        let all = |pods: &[&Pod]| pods.len() == 3 && pods.iter().all(|pod| field(pod));
        t.pods().wait_all("", "each says which field", all).await
    };
    let pods = t.pods().always("", "nothing is held for them", nothing, refused).await?;
    assert!(pods.iter().all(|pod| why_waits(pod).0 == "UnsupportedConstraint"));

    let app = App::new(t, "ports", 3, "1");
    let ports = json!([{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1"}},
                        "ports": [{"containerPort": 7077, "hostPort": 7077}]}]);
    let ports = json!({"spec": {"containers": ports}});
    app.members_with(0..1, &ports).await?;
    held(t, 2).await?;
    middle.during(app.members_with(1..3, &ports)).await?;
    let nodes: BTreeSet<_> = app.wait_run(3).await?.iter().map(|pod| node(pod).to_owned()).collect();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    t.wait_no_placeholders().await
}
