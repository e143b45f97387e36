//! Gangs that KubeRay's operator makes for Volcano (`--batch-scheduler=volcano`): a PodGroup of each RayCluster, without a word on it
//! but the queue. The operator is the real one; pretended nodes run what it makes.

use gangline::api::task_group::TaskGroup;
use kube::ResourceExt;
use serde_json::json;

use super::kuberay::{RayCluster, cluster_spec, delete, is_ready, workers};
use super::pod_groups::{self, VolcanoGroup};
use crate::harness::operators::Operator;
use crate::harness::words::{annotation, label, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test(
            "kuberay: a RayCluster of Volcano starts as a gang, as does one that is made anew, and loses no room",
            Needs::Nodes(1),
            lives,
        ),
        test(
            "kuberay: a RayCluster of Volcano waits as a whole, and after a break starts as one",
            Needs::Nodes(1),
            waits,
        ),
    ];
    tests.map(Test::operated).into()
}

async fn operate(t: &mut Context) -> Result<()> {
    pod_groups::define::<VolcanoGroup>(t).await?;
    t.operate(Operator::KubeRay, "volcano").await
}

/// Creates a RayCluster of a head of one CPU and three workers of a size.
async fn create(t: &Context, name: &str, queue: &str, cpu: &str) -> Result<()> {
    let metadata = json!({"name": name, "labels": {"volcano.sh/queue-name": queue}});
    let spec = cluster_spec(t, &workers(t, cpu, (3, 3, 3)));
    t.objects::<RayCluster>().create(json!({"metadata": metadata, "spec": spec})).await.map(drop)
}

async fn lives(t: &mut Context) -> Result<()> {
    operate(t).await?;
    let queue = t.queue(json!({"cpu": "10"})).await?;
    create(t, "training", &queue, "3").await?;
    let pods = t.start_whole(4, 4).await?;
    for pod in &pods {
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()), Some("volcano"));
        assert_eq!(annotation(pod, "scheduling.k8s.io/group-name"), "ray-training-pg");
    }
    let groups = t.wait_groups(1, "Running").await?;
    assert_eq!((groups[0].name_any().as_str(), groups[0].spec.min_member), ("ray-training-pg", 4));
    assert_eq!(groups[0].spec.queue.as_ref(), Some(&queue));
    pod_groups::says::<VolcanoGroup>(t, "ray-training-pg", "Running", 4).await?;
    is_ready(t, "training").await?;
    let worker = pods.iter().find(|pod| label(pod, "ray.io/node-type") == "worker");
    // Six CPUs are free, and nine without it.
    t.comes_back(worker.expect("there are three"), 4, "8").await?;
    // Another RayCluster of the same name.
    delete(t, "training").await?;
    create(t, "training", &queue, "3").await?;
    t.start_whole(4, 4).await?;
    delete(t, "training").await
}

async fn waits(t: &mut Context) -> Result<()> {
    operate(t).await?;
    let queue = t.queue(json!({})).await?;
    // Three of four would fit.
    create(t, "large", &queue, "7").await?;
    t.wait_groups(1, "WaitingForCapacity").await?;
    pod_groups::says::<VolcanoGroup>(t, "ray-large-pg", "Inqueue", 0).await?;
    t.holds_nothing_until_there_is_room().await?;
    t.start_whole(4, 4).await?;
    // Its PodGroup stays.
    t.objects::<RayCluster>().patch("large", json!({"spec": {"suspend": true}})).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await?;
    t.objects::<RayCluster>().patch("large", json!({"spec": {"suspend": false}})).await?;
    t.start_whole(4, 4).await?;
    let runs_again = |group: &TaskGroup| status(group).incarnation == 2 && status(group).reason == "Running";
    t.groups().wait("ray-large-pg", "runs for the second time", runs_again).await?;
    pod_groups::says::<VolcanoGroup>(t, "ray-large-pg", "Running", 4).await?;
    delete(t, "large").await
}
