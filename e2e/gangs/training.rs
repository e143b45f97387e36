//! Gangs that training-operator makes by PodGroups: of scheduler-plugins for a PyTorchJob (`--gang-scheduler-name` with our name),
//! of Volcano for another one and for a TFJob (`volcano`), where it makes no pods before the PodGroup is let in. The operator is the
//! real one, without its webhooks.

use k8s_openapi::api::core::v1::Pod;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::operated::is_true;
use super::pod_groups::{self, CoschedulingGroup, PodGroup, VolcanoGroup};
use crate::harness::operators::Operator;
use crate::harness::words::{annotation, label};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::objects::Kind;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test(
            "training operator: a PyTorchJob starts as a gang, as does one that is made anew, and loses no room",
            Needs::Nodes(1),
            lives::<PyTorchJob, CoschedulingGroup>,
        ),
        test(
            "training operator: a PyTorchJob of Volcano starts as a gang, as does one that is made anew, and loses no room",
            Needs::Nodes(1),
            lives::<PyTorchJob, VolcanoGroup>,
        ),
        test(
            "training operator: a TFJob of Volcano starts as a gang, as does one that is made anew",
            Needs::Nodes(1),
            lives::<TfJob, VolcanoGroup>,
        ),
        test(
            "training operator: a PyTorchJob waits as a whole, and after a break starts as one",
            Needs::Nodes(1),
            waits::<PyTorchJob, CoschedulingGroup>,
        ),
        test(
            "training operator: a TFJob of Volcano waits as a whole, and after a break starts as one",
            Needs::Nodes(1),
            waits::<TfJob, VolcanoGroup>,
        ),
    ];
    tests.map(Test::operated).into()
}

/// A PyTorchJob, as far as tests need its type.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "kubeflow.org",
    version = "v1",
    kind = "PyTorchJob",
    plural = "pytorchjobs",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
struct PyTorchJobSpec {
    #[serde(flatten)]
    fields: Value,
}

/// A TFJob, likewise.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "kubeflow.org",
    version = "v1",
    kind = "TFJob",
    root = "TfJob",
    plural = "tfjobs",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
struct TfJobSpec {
    #[serde(flatten)]
    fields: Value,
}

/// A kind of jobs.
trait Job: Kind {
    /// Whether a worker that is deleted is made anew. A TFJob is failed for good as soon as one is seen to terminate.
    const REPLACES: bool;

    /// One of one CPU, and three of a size, which are the workers.
    fn replicas(t: &Context, cpu: &str) -> Value;

    fn status(&self) -> Option<&Value>;
}

impl Job for PyTorchJob {
    const REPLACES: bool = true;

    fn replicas(t: &Context, cpu: &str) -> Value {
        json!({"pytorchReplicaSpecs": {
            "Master": replicas(1, &t.template("pytorch", "1")), "Worker": replicas(3, &t.template("pytorch", cpu)),
        }})
    }

    fn status(&self) -> Option<&Value> {
        self.status.as_ref()
    }
}

impl Job for TfJob {
    const REPLACES: bool = false;

    fn replicas(t: &Context, cpu: &str) -> Value {
        json!({"tfReplicaSpecs": {
            "PS": replicas(1, &t.template("tensorflow", "1")), "Worker": replicas(3, &t.template("tensorflow", cpu)),
        }})
    }

    fn status(&self) -> Option<&Value> {
        self.status.as_ref()
    }
}

/// What the operator makes of jobs.
trait Gangs: PodGroup {
    /// What its flag says, and so who is to schedule the pods.
    const SCHEDULER: &'static str;
    /// The phase of a PodGroup that waits for room.
    const WAITS: &'static str;

    /// The PodGroup that a pod names.
    fn named_by(pod: &Pod) -> &str;
}

impl Gangs for CoschedulingGroup {
    const SCHEDULER: &'static str = "gangline";
    const WAITS: &'static str = "Scheduling";

    fn named_by(pod: &Pod) -> &str {
        label(pod, Self::NAMED_BY.1)
    }
}

impl Gangs for VolcanoGroup {
    const SCHEDULER: &'static str = "volcano";
    const WAITS: &'static str = "Inqueue";

    fn named_by(pod: &Pod) -> &str {
        annotation(pod, Self::NAMED_BY.1)
    }
}

fn replicas(count: u32, template: &Value) -> Value {
    json!({"replicas": count, "restartPolicy": "OnFailure", "template": template})
}

/// Starts the operator.
async fn operate<G: Gangs>(t: &mut Context) -> Result<()> {
    pod_groups::define::<G>(t).await?;
    t.operate(Operator::Training, G::SCHEDULER).await
}

/// Creates a job whose workers have this size.
async fn create<J: Job>(t: &Context, name: &str, cpu: &str) -> Result<()> {
    t.objects::<J>().create(json!({"metadata": {"name": name}, "spec": J::replicas(t, cpu)})).await.map(drop)
}

/// Waits until the operator says so of a job.
async fn is<J: Job>(t: &Context, name: &str, condition: &str) -> Result<()> {
    let is = |job: &J| is_true(job.status(), condition);
    t.objects::<J>().wait(name, &format!("is {condition}"), is).await.map(drop)
}

async fn suspend<J: Job>(t: &Context, name: &str, suspend: bool) -> Result<()> {
    t.objects::<J>().patch(name, json!({"spec": {"runPolicy": {"suspend": suspend}}})).await.map(drop)
}

async fn delete<J: Job>(t: &Context, name: &str) -> Result<()> {
    t.objects::<J>().delete(name).await?;
    t.objects::<J>().wait_gone(name).await?;
    t.wait_nothing_left().await
}

async fn lives<J: Job, G: Gangs>(t: &mut Context) -> Result<()> {
    operate::<G>(t).await?;
    create::<J>(t, "training", "3").await?;
    let pods = t.start_whole(4, 4).await?;
    for pod in &pods {
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()), Some(G::SCHEDULER));
        assert_eq!(G::named_by(pod), "training");
    }
    let groups = t.wait_groups(1, "Running").await?;
    assert_eq!((groups[0].name_any().as_str(), groups[0].spec.min_member), ("training", 4));
    pod_groups::says::<G>(t, "training", "Running", 4).await?;
    is::<J>(t, "training", "Running").await?;
    if J::REPLACES {
        let worker = pods.iter().find(|pod| label(pod, "training.kubeflow.org/replica-type") == "worker");
        // Six CPUs are free, and nine without it.
        t.comes_back(worker.expect("there are three"), 4, "8").await?;
    }
    // Another job of the same name.
    delete::<J>(t, "training").await?;
    create::<J>(t, "training", "3").await?;
    t.start_whole(4, 4).await?;
    delete::<J>(t, "training").await
}

async fn waits<J: Job, G: Gangs>(t: &mut Context) -> Result<()> {
    operate::<G>(t).await?;
    // Three of four would fit.
    create::<J>(t, "large", "7").await?;
    t.wait_groups(1, "WaitingForCapacity").await?;
    pod_groups::says::<G>(t, "large", G::WAITS, 0).await?;
    t.holds_nothing_until_there_is_room().await?;
    t.start_whole(4, 4).await?;
    // Its PodGroup goes, and another one comes.
    suspend::<J>(t, "large", true).await?;
    is::<J>(t, "large", "Suspended").await?;
    t.wait_nothing_left().await?;
    suspend::<J>(t, "large", false).await?;
    t.start_whole(4, 4).await?;
    pod_groups::says::<G>(t, "large", "Running", 4).await?;
    delete::<J>(t, "large").await
}
