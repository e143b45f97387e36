//! What tests of gangs that operators make have in common: what a whole start is, and that nothing is left.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;

use crate::harness::Context;
use crate::harness::context::phase;
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
pub(super) fn holds_nothing(pods: &[&Pod]) -> bool {
    pods.iter().all(|pod| !is_bound(pod))
}

/// How many members run.
pub(super) fn running(pods: &[&Pod]) -> usize {
    pods.iter().filter(|pod| !is_placeholder(pod) && stays(pod) && phase(pod) == "Running").count()
}

impl Context {
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
