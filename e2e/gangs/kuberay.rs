//! Gangs that KubeRay's operator makes for YuniKorn, as its users ask for them: by three labels of a RayCluster or a RayJob.
//! The operator is the real one; pretended nodes run what it makes, so nobody answers as Ray would.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::operated::{is_whole, running};
use crate::harness::context::{merge, phase};
use crate::harness::operators::Operator;
use crate::harness::words::{annotation, label, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test("kuberay: a RayCluster starts as a gang, and leaves nothing", Needs::Nodes(1), starts),
        test("kuberay: a RayCluster without room waits as a whole", Needs::Nodes(1), waits),
        test("kuberay: a RayCluster that is suspended, or made anew, starts as a gang again", Needs::Nodes(1), again),
        test("kuberay: workers come and go above and below minReplicas", Needs::Nodes(1), scales),
        test("kuberay: workers with minReplicas 0 are no part of the gang", Needs::Nodes(1), of_nobody),
        test(
            "kuberay: a RayJob starts as a gang with who submits it, and so does its next try",
            Needs::Nodes(1),
            retries,
        ),
    ];
    tests.map(Test::operated).into()
}

/// A RayCluster, as far as tests need its type.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "ray.io", version = "v1", kind = "RayCluster", namespaced, schema = "disabled", status = "Value")]
pub(super) struct RayClusterSpec {
    #[serde(flatten)]
    fields: Value,
}

/// A RayJob, likewise.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "ray.io", version = "v1", kind = "RayJob", namespaced, schema = "disabled", status = "Value")]
struct RayJobSpec {
    #[serde(flatten)]
    fields: Value,
}

/// Where the operator says which task group a pod is of.
const GROUP: &str = "yunikorn.apache.org/task-group-name";

/// How long a pod may wait for the room that lost members leave: they keep it for a minute.
const HELD_WITHIN: Duration = Duration::from_secs(120);

/// What KubeRay's users write on a RayCluster or RayJob.
fn metadata(name: &str, queue: &str) -> Value {
    json!({"name": name, "labels": {
        "yunikorn.apache.org/app-id": name, "yunikorn.apache.org/queue": queue, "ray.io/gang-scheduling-enabled": "true",
    }})
}

/// A pod template of this size on the test's nodes.
fn template(t: &Context, cpu: &str) -> Value {
    let resources = json!({"requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {"memory": "1Gi"}});
    let mut spec = json!({"terminationGracePeriodSeconds": 1,
               "containers": [{"name": "ray", "image": "rayproject/ray:2.52.0", "resources": resources}]});
    merge(&mut spec, t.placement());
    json!({"spec": spec})
}

/// One group of workers.
pub(super) fn workers(t: &Context, cpu: &str, (min, now, max): (u32, u32, u32)) -> Value {
    json!([{"groupName": "small", "minReplicas": min, "replicas": now, "maxReplicas": max, "rayStartParams": {},
            "template": template(t, cpu)}])
}

/// A head of one CPU and these workers.
pub(super) fn cluster_spec(t: &Context, workers: &Value) -> Value {
    json!({"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": template(t, "1")},
           "workerGroupSpecs": workers})
}

/// Creates a RayCluster of a head and so many workers of a size.
async fn create(t: &Context, name: &str, queue: &str, cpu: &str, count: u32) -> Result<()> {
    let spec = cluster_spec(t, &workers(t, cpu, (count, count, count)));
    t.objects::<RayCluster>().create(json!({"metadata": metadata(name, queue), "spec": spec})).await.map(drop)
}

/// Deletes a RayCluster and waits until it and everything of it is gone.
pub(super) async fn delete(t: &Context, name: &str) -> Result<()> {
    t.objects::<RayCluster>().delete(name).await?;
    t.objects::<RayCluster>().wait_gone(name).await?;
    t.wait_nothing_left().await
}

/// Waits until the operator says so of a RayCluster.
pub(super) async fn is_ready(t: &Context, name: &str) -> Result<()> {
    let ready = |cluster: &RayCluster| cluster.status.as_ref().is_some_and(|status| status["state"] == "ready");
    t.objects::<RayCluster>().wait(name, "is ready", ready).await.map(drop)
}

async fn starts(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    let queue = t.queue(json!({"cpu": "10"})).await?;
    create(t, "training", &queue, "2", 3).await?;
    let pods = t.start_whole(4, 4).await?;
    for pod in &pods {
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()), Some("yunikorn"));
        assert_eq!((label(pod, "applicationId"), label(pod, "queue")), ("training", queue.as_str()));
    }
    let groups = t.wait_groups(2, "Running").await?;
    for group in &groups {
        assert_eq!(group.spec.application_id.as_deref(), Some("training"));
        assert_eq!(group.spec.queue.as_deref(), Some(queue.as_str()));
        let owners = group.metadata.owner_references.iter().flatten();
        assert_eq!(owners.map(|owner| owner.kind.as_str()).collect::<Vec<_>>(), ["RayCluster"]);
    }
    let members: Vec<_> = groups.iter().map(|group| group.spec.min_member).collect();
    assert!(members.contains(&1) && members.contains(&3), "{members:?}");
    is_ready(t, "training").await?;
    delete(t, "training").await
}

async fn waits(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    let queue = t.queue(json!({})).await?;
    // Three of four would fit.
    create(t, "large", &queue, "7", 3).await?;
    t.wait_groups(2, "WaitingForCapacity").await?;
    t.holds_nothing_until_there_is_room().await?;
    t.start_whole(4, 4).await?;
    delete(t, "large").await
}

async fn again(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    let (clusters, queue) = (t.objects::<RayCluster>(), t.queue(json!({})).await?);
    create(t, "tuning", &queue, "3", 3).await?;
    t.start_whole(4, 4).await?;
    // The same RayCluster: its TaskGroups stay.
    clusters.patch("tuning", json!({"spec": {"suspend": true}})).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await?;
    assert_eq!(t.groups().list("").await?.len(), 2);
    // What ran is still kept for what comes in its place, as long as a TaskGroup says that declares nothing of it.
    t.pods().create(t.pod("other", "10", json!({}))).await?;
    t.pods().within(HELD_WITHIN).wait("other", "runs", |pod| phase(pod) == "Running").await?;
    clusters.patch("tuning", json!({"spec": {"suspend": false}})).await?;
    t.wait_groups(2, "WaitingForCapacity").await?;
    t.pods().delete("other").await?;
    t.pods().wait_gone("other").await?;
    t.start_whole(4, 4).await?;
    assert!(t.groups().list("").await?.iter().all(|group| status(group).incarnation == 2));
    // Another RayCluster of the same name and application.
    delete(t, "tuning").await?;
    create(t, "tuning", &queue, "3", 3).await?;
    t.start_whole(4, 4).await?;
    delete(t, "tuning").await
}

/// Changes the workers of a RayCluster as Ray's autoscaler does; those of these names are to go.
async fn scale(t: &Context, (min, now, max): (u32, u32, u32), to_delete: &[String]) -> Result<()> {
    let mut groups = workers(t, "3", (min, now, max));
    groups[0]["scaleStrategy"] = json!({"workersToDelete": to_delete});
    t.objects::<RayCluster>().patch("serving", json!({"spec": {"workerGroupSpecs": groups}})).await.map(drop)
}

async fn scales(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    let queue = t.queue(json!({})).await?;
    let mut spec = cluster_spec(t, &workers(t, "3", (2, 2, 5)));
    // The operator gives the head one more container, of which its task group does not know.
    spec["enableInTreeAutoscaling"] = json!(true);
    t.objects::<RayCluster>().create(json!({"metadata": metadata("serving", &queue), "spec": spec})).await?;
    t.start_whole(3, 3).await?;
    // Above: ordinary pods, each where it has room.
    scale(t, (2, 5, 5), &[]).await?;
    let four_run = |pods: &[&Pod]| running(pods) == 5 && pods.len() == 6;
    t.pods().wait_all("", "all workers run but one", four_run).await?;
    let waiting = t.pods().list("").await?.into_iter().find(|pod| phase(pod) != "Running").expect("one waits");
    t.wait_pod_reason(&waiting.name_any(), "Unschedulable").await?;
    // Below: no placeholder is made for those who were let go.
    let pods = t.pods().list("ray.io/node-type=worker").await?;
    let names: Vec<_> = pods.iter().map(Pod::name_any).skip(1).collect();
    scale(t, (1, 1, 5), &names).await?;
    t.pods().wait_all("", "the head and a worker are left", |pods| running(pods) == 2 && pods.len() == 2).await?;
    scale(t, (1, 3, 5), &[]).await?;
    let pods = t.pods();
    let three_run = pods.wait_all("", "three workers run", |pods| running(pods) == 4);
    let no_placeholder = |pods: &[&Pod]| pods.is_empty();
    pods.always("gangline.dev/placeholder", "there is no placeholder", no_placeholder, three_run).await?;
    // One that fails is made anew.
    let failed = t.pods().list("ray.io/node-type=worker").await?.remove(0).name_any();
    t.pods().patch_status(&failed, json!({"phase": "Failed"})).await?;
    t.pods().wait_gone(&failed).await?;
    t.pods().wait_all("", "three workers run again", |pods| running(pods) == 4 && pods.len() == 4).await?;
    delete(t, "serving").await
}

async fn of_nobody(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    let queue = t.queue(json!({})).await?;
    let spec = cluster_spec(t, &workers(t, "3", (0, 2, 5)));
    t.objects::<RayCluster>().create(json!({"metadata": metadata("idle", &queue), "spec": spec})).await?;
    let pods = t.pods().wait_all("", "head and workers run", |pods| running(pods) == 3 && pods.len() == 3).await?;
    assert!(pods.iter().all(|pod| label(pod, "queue") == queue));
    t.wait_groups(1, "Running").await?;
    let is_told = |events: &[&Event]| events.iter().any(|event| event.reason.as_deref() == Some("DeclarationAdjusted"));
    t.objects::<Event>().wait_all("", "it is told that the group is left out", is_told).await?;
    delete(t, "idle").await
}

async fn retries(t: &mut Context) -> Result<()> {
    t.operate(Operator::KubeRay, "yunikorn").await?;
    collector_knows(t).await?;
    let queue = t.queue(json!({})).await?;
    let mut submitter = template(t, "500m");
    submitter["metadata"] = json!({"annotations": {"gangline.dev/demo-fail-after": "2s"}});
    submitter["spec"]["restartPolicy"] = json!("Never");
    let cluster = cluster_spec(t, &workers(t, "2", (2, 2, 2)));
    let spec = json!({"entrypoint": "python train.py", "backoffLimit": 1, "rayClusterSpec": cluster,
                      "submitterPodTemplate": submitter, "submitterConfig": {"backoffLimit": 0}});
    t.objects::<RayJob>().create(json!({"metadata": metadata("nightly", &queue), "spec": spec})).await?;
    // A head, two workers, and a seat for the pod that submits, which comes when they run.
    let pods = t.pods();
    let all_run = |pods: &[&Pod]| running(pods) == 4 && pods.iter().any(|pod| submits(pod));
    let started = pods.wait_all("", "the first try runs", all_run);
    let whole = |pods: &[&Pod]| is_whole(pods, 4);
    let first = pods.always("", "none starts before every seat is held", whole, started).await?;
    let old: Vec<String> = first.iter().map(Pod::name_any).collect();
    let new = |pods: &[&Pod]| {
        pods.iter().copied().filter(|pod| !old.contains(&pod.name_any())).cloned().collect::<Vec<Pod>>()
    };
    let new_run = |pods: &[&Pod]| {
        let new = new(pods);
        running(&new.iter().collect::<Vec<_>>()) == 4 && new.iter().any(submits)
    };
    let pods = t.pods();
    let started = pods.wait_all("", "the second try runs", new_run);
    let whole = |pods: &[&Pod]| is_whole(&new(pods).iter().collect::<Vec<_>>(), 4);
    pods.always("", "none of the second try starts before every seat is held", whole, started).await?;
    let failed = |job: &RayJob| job.status.as_ref().is_some_and(|status| status["jobDeploymentStatus"] == "Failed");
    t.objects::<RayJob>().wait("nightly", "fails for good", failed).await?;
    t.objects::<RayJob>().delete("nightly").await?;
    t.wait_nothing_left().await
}

/// Waits until the garbage collector knows RayClusters. It looks for new kinds every 30 seconds, and until then what is of a
/// deleted RayCluster stays: with a RayJob's second try there would be the pods of the first.
async fn collector_knows(t: &Context) -> Result<()> {
    let mut spec = cluster_spec(t, &json!([]));
    spec["suspend"] = json!(true);
    let cluster = t.objects::<RayCluster>().create(json!({"metadata": {"name": "known"}, "spec": spec})).await?;
    let owner =
        json!([{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "known", "uid": cluster.metadata.uid}]);
    t.objects::<ConfigMap>().create(json!({"metadata": {"name": "of-known", "ownerReferences": owner}})).await?;
    t.objects::<RayCluster>().delete("known").await?;
    t.objects::<ConfigMap>().wait_gone("of-known").await
}

/// Whether a pod is the one that submits the work of a RayJob.
fn submits(pod: &Pod) -> bool {
    annotation(pod, GROUP) == "submittergroup"
}
