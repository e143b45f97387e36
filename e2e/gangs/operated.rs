//! What tests of gangs that operators make have in common: what a whole start is, and that nothing is left.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::harness::Context;
use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, is_placeholder, status};
use crate::support::error::Result;

/// Whether a pod will run no more.
pub(super) fn is_ended(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether a pod goes on: it has not ended, and nobody has deleted it.
fn stays(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none() && !is_ended(pod)
}

/// Whether no member has a node, or every seat is a member's or held by a placeholder that has one.
pub(super) fn is_whole(pods: &[&Pod], seats: usize) -> bool {
    let members = pods.iter().filter(|pod| !is_placeholder(pod) && stays(pod));
    // A placeholder that goes leaves its room to a member, which is there.
    let held = pods.iter().filter(|pod| is_placeholder(pod) && is_bound(pod) && stays(pod));
    let one_has_started = pods.iter().any(|pod| !is_placeholder(pod) && is_bound(pod) && stays(pod));
    !one_has_started || members.count() + held.count() >= seats
}

/// Whether nothing has a node.
fn holds_nothing(pods: &[&Pod]) -> bool {
    pods.iter().all(|pod| !is_bound(pod))
}

/// How many members run.
pub(super) fn running(pods: &[&Pod]) -> usize {
    pods.iter().filter(|pod| !is_placeholder(pod) && stays(pod) && phase(pod) == "Running").count()
}

/// Whether a condition of a job is true.
pub(super) fn is_true(status: Option<&Value>, condition: &str) -> bool {
    let mut conditions = status.and_then(|status| status["conditions"].as_array()).into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

/// A pod that a test makes beside a gang, and what selects it.
const OTHER: (&str, &str) = ("other", "other=true");

impl Context {
    /// A pod template of one container with this name, of this size, on the test's nodes.
    pub(super) fn template(&self, container: &str, cpu: &str) -> Value {
        let container =
            json!({"name": container, "image": "example.org/job:1", "resources": {"requests": {"cpu": cpu}}});
        let mut spec = json!({"terminationGracePeriodSeconds": 1, "containers": [container]});
        merge(&mut spec, self.placement());
        json!({"spec": spec})
    }

    /// Creates a pod that is none of the gang's.
    async fn create_other(&self, cpu: &str) -> Result<()> {
        let labels = json!({"metadata": {"labels": {OTHER.0: "true"}}});
        self.pods().create(self.pod(OTHER.0, cpu, labels)).await.map(drop)
    }

    async fn delete_other(&self) -> Result<()> {
        self.pods().delete(OTHER.0).await?;
        self.pods().wait_gone(OTHER.0).await
    }

    /// The gang waits and holds nothing: what would be enough for a part of it others have meanwhile. Then there is one node more.
    pub(super) async fn holds_nothing_until_there_is_room(&mut self) -> Result<()> {
        self.create_other("16").await?;
        let pods = self.pods();
        let other_runs = pods.wait(OTHER.0, "runs", |pod| phase(pod) == "Running");
        pods.always("other!=true", "the gang holds nothing", holds_nothing, other_runs).await?;
        self.delete_other().await?;
        self.add_nodes("more", 1, |_| ()).await.map(drop)
    }

    /// A member is lost, and made anew by whoever makes the gang, of which so many run. It gets its room again, which would be enough
    /// for another pod of this size that waits for it.
    pub(super) async fn comes_back(&self, lost: &Pod, count: usize, other_cpu: &str) -> Result<()> {
        self.create_other(other_cpu).await?;
        self.wait_pod_reason(OTHER.0, "Unschedulable").await?;
        self.pods().delete(&lost.name_any()).await?;
        let is_back = |pods: &[&Pod]| running(pods) == count && pods.iter().all(|pod| pod.uid() != lost.uid());
        let (pods, what) = (self.pods(), format!("{count} run again"));
        let all_run = pods.wait_all("other!=true", &what, is_back);
        pods.always(OTHER.1, "nobody else gets the room", holds_nothing, all_run).await?;
        self.delete_other().await
    }

    /// Waits until so many pods run that are no placeholders, and there is nothing else; none starts before each of so many
    /// seats is taken or held.
    pub(super) async fn start_whole(&self, seats: usize, pods: usize) -> Result<Vec<Pod>> {
        let all_run = |seen: &[&Pod]| running(seen) == pods && seen.len() == pods;
        let objects = self.pods();
        let what = format!("{pods} pods run, and nothing else");
        let started = objects.wait_all("", &what, all_run);
        objects.always("", "none starts before every seat is held", |pods| is_whole(pods, seats), started).await
    }

    /// Waits until there are so many TaskGroups and all say so.
    pub(super) async fn wait_groups(&self, count: usize, reason: &str) -> Result<Vec<TaskGroup>> {
        let say =
            |groups: &[&TaskGroup]| groups.len() == count && groups.iter().all(|group| status(group).reason == reason);
        self.groups().wait_all("", &format!("{count} TaskGroups say {reason}"), say).await
    }

    /// Waits until there is neither pod nor TaskGroup in the test's namespace.
    pub(super) async fn wait_nothing_left(&self) -> Result<()> {
        self.pods().wait_all("", "no pod is left", |pods| pods.is_empty()).await?;
        self.groups().wait_all("", "no TaskGroup is left", |groups| groups.is_empty()).await.map(drop)
    }
}
