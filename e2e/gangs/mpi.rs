//! Gangs that mpi-operator makes by PodGroups of scheduler-plugins, as its users have them: `--gang-scheduling` with our name, and
//! nothing on the jobs. The operator is the real one; no launcher reaches its workers, as pretended nodes run them.

use k8s_openapi::api::core::v1::Pod;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::operated::is_true;
use super::pod_groups::{self, CoschedulingGroup};
use crate::harness::operators::Operator;
use crate::harness::words::label;
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test(
            "mpi operator: a job starts as a gang, a lost worker comes back, and nothing is left",
            Needs::Nodes(1),
            lives,
        ),
        test("mpi operator: a job waits as a whole, and after a break starts as one", Needs::Nodes(1), waits),
    ];
    tests.map(Test::operated).into()
}

/// An MPIJob, as far as tests need its type.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "kubeflow.org",
    version = "v2beta1",
    kind = "MPIJob",
    root = "MpiJob",
    plural = "mpijobs",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
struct MpiJobSpec {
    #[serde(flatten)]
    fields: Value,
}

/// Label of a pod: launcher or worker.
const ROLE: &str = "training.kubeflow.org/job-role";

/// Starts the operator, and a job of a launcher of one CPU and three workers of a size. With its launcher the job ends, and its
/// workers go then.
async fn create(t: &mut Context, name: &str, cpu: &str) -> Result<()> {
    pod_groups::define::<CoschedulingGroup>(t).await?;
    t.operate(Operator::Mpi, "gangline").await?;
    let mut launcher = t.template("mpi", "1");
    // Pods of Jobs end at once on pretended nodes, unless they say otherwise.
    launcher["metadata"] = json!({"annotations": {"gangline.dev/demo-run-for": "1h"}});
    let spec = json!({
        "slotsPerWorker": 1,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": launcher},
            "Worker": {"replicas": 3, "template": t.template("mpi", cpu)},
        },
    });
    t.objects::<MpiJob>().create(json!({"metadata": {"name": name}, "spec": spec})).await.map(drop)
}

/// Waits until the operator says so of a job.
async fn is(t: &Context, name: &str, condition: &str) -> Result<()> {
    let is = |job: &MpiJob| is_true(job.status.as_ref(), condition);
    t.objects::<MpiJob>().wait(name, &format!("is {condition}"), is).await.map(drop)
}

async fn delete(t: &Context, name: &str) -> Result<()> {
    t.objects::<MpiJob>().delete(name).await?;
    t.objects::<MpiJob>().wait_gone(name).await?;
    t.wait_nothing_left().await
}

async fn lives(t: &mut Context) -> Result<()> {
    create(t, "training", "3").await?;
    let pods = t.start_whole(4, 4).await?;
    for pod in &pods {
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()), Some("gangline"));
        assert_eq!(label(pod, "scheduling.x-k8s.io/pod-group"), "training");
    }
    let groups = t.wait_groups(1, "Running").await?;
    assert_eq!((groups[0].name_any().as_str(), groups[0].spec.min_member), ("training", 4));
    pod_groups::says::<CoschedulingGroup>(t, "training", "Running", 4).await?;
    is(t, "training", "Running").await?;
    let with_role = |role: &str| pods.iter().find(|pod| label(pod, ROLE) == role).expect("there is one");
    // Six CPUs are free, and nine without it.
    t.comes_back(with_role("worker"), 4, "8").await?;
    // The end of the launcher is that of the job.
    t.pods().patch_status(&with_role("launcher").name_any(), json!({"phase": "Succeeded"})).await?;
    is(t, "training", "Succeeded").await?;
    let only_launcher = |pods: &[&Pod]| pods.iter().all(|pod| label(pod, ROLE) == "launcher");
    t.pods().wait_all("", "the workers are gone", only_launcher).await?;
    pod_groups::is_gone::<CoschedulingGroup>(t, "training").await?;
    delete(t, "training").await
}

async fn waits(t: &mut Context) -> Result<()> {
    // The launcher and two of three workers would fit.
    create(t, "large", "7").await?;
    t.wait_groups(1, "WaitingForCapacity").await?;
    pod_groups::says::<CoschedulingGroup>(t, "large", "Scheduling", 0).await?;
    t.holds_nothing_until_there_is_room().await?;
    t.start_whole(4, 4).await?;
    // Its PodGroup goes, and another one comes.
    t.objects::<MpiJob>().patch("large", json!({"spec": {"runPolicy": {"suspend": true}}})).await?;
    is(t, "large", "Suspended").await?;
    t.wait_nothing_left().await?;
    t.objects::<MpiJob>().patch("large", json!({"spec": {"runPolicy": {"suspend": false}}})).await?;
    t.start_whole(4, 4).await?;
    pod_groups::says::<CoschedulingGroup>(t, "large", "Running", 4).await?;
    delete(t, "large").await
}
