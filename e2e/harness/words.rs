//! What tests of gangs say often: make a queue, a TaskGroup, its members; read what became of them.

use std::collections::BTreeMap;
use std::ops::Range;

use gangline::api::names;
use gangline::api::queue::Queue;
use gangline::api::task_group::{TaskGroup, TaskGroupStatus};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::context::{Context, TEST, merge, node, phase};
use crate::support::error::Result;
use crate::support::objects::Objects;

/// Selects placeholders.
pub(crate) const PLACEHOLDERS: &str = "gangline.dev/placeholder";
/// Selects all other pods.
pub(crate) const MEMBERS: &str = "!gangline.dev/placeholder";

impl Context {
    /// The TaskGroups of the test's namespace.
    pub(crate) fn groups(&self) -> Objects<TaskGroup> {
        self.objects()
    }

    /// Creates a TaskGroup whose placeholders go to the test's nodes; `patch` is merged into its spec. What deleted members
    /// leave is free at once, unless that says how long it is kept.
    pub(crate) async fn group(&self, name: &str, min: u32, cpu: &str, patch: Value) -> Result<TaskGroup> {
        let template = self.placement();
        let mut spec = json!({
            "minMember": min, "minResource": {"cpu": cpu}, "placeholderTemplate": template, "seatHoldSeconds": 0,
        });
        merge(&mut spec, patch);
        self.groups().create(json!({"metadata": {"name": name}, "spec": spec})).await
    }

    /// Creates one member, `GROUP-NUMBER`.
    pub(crate) async fn member(&self, group: &str, number: u32, cpu: &str, patch: Value) -> Result<Pod> {
        let labels = BTreeMap::from([(names::TASK_GROUP, group)]);
        let mut pod = self.pod(&format!("{group}-{number}"), cpu, json!({"metadata": {"labels": labels}}));
        merge(&mut pod, patch);
        self.pods().create(pod).await
    }

    /// Creates members of these numbers.
    pub(crate) async fn members(&self, group: &str, numbers: Range<u32>, cpu: &str) -> Result<()> {
        for number in numbers {
            self.member(group, number, cpu, json!({})).await?;
        }
        Ok(())
    }

    /// Deletes members of these numbers.
    pub(crate) async fn delete_members(&self, group: &str, numbers: Range<u32>) -> Result<()> {
        for number in numbers {
            self.pods().delete(&format!("{group}-{number}")).await?;
        }
        Ok(())
    }

    /// Creates a queue of the test's own below `root`; its path.
    pub(crate) async fn queue(&self, max: Value) -> Result<String> {
        let path = format!("root.{}", self.id);
        self.queue_at(&path, json!({"max": max})).await?;
        Ok(path)
    }

    /// Creates a queue with a path; `spec` without the parent.
    pub(crate) async fn queue_at(&self, path: &str, mut spec: Value) -> Result<Queue> {
        spec["parent"] = json!(path.rsplit_once('.').map(|(parent, _)| parent));
        let object = json!({"metadata": {"name": path, "labels": {TEST: self.id}}, "spec": spec});
        self.everywhere::<Queue>().create(object).await
    }

    /// Waits until a TaskGroup shows a reason for its present spec.
    pub(crate) async fn wait_reason(&self, group: &str, reason: &str) -> Result<TaskGroup> {
        let shows = |group: &TaskGroup| {
            let seen = status(group);
            seen.reason == reason && Some(seen.observed_generation) == group.metadata.generation
        };
        self.groups().wait(group, &format!("shows {reason}"), shows).await
    }

    /// Waits until exactly this many members of a group run.
    pub(crate) async fn wait_running(&self, group: &str, count: usize) -> Result<Vec<Pod>> {
        let labels = format!("{MEMBERS},{}={group}", names::TASK_GROUP);
        let all = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == count;
        self.pods().wait_all(&labels, &format!("{count} members of {group} run"), all).await
    }

    /// Waits until the pod waits for a reason; the message of its condition.
    pub(crate) async fn wait_pod_reason(&self, pod: &str, reason: &str) -> Result<String> {
        let waits = |pod: &Pod| why_waits(pod).0 == reason;
        let pod = self.pods().wait(pod, &format!("waits with reason {reason}"), waits).await?;
        Ok(why_waits(&pod).1.to_owned())
    }

    /// Waits until exactly this many placeholders exist and all are as expected.
    pub(crate) async fn wait_placeholders(
        &self,
        what: &str,
        count: usize,
        all: impl Fn(&Pod) -> bool,
    ) -> Result<Vec<Pod>> {
        let fine = |pods: &[&Pod]| pods.len() == count && pods.iter().all(|pod| all(pod));
        self.pods().wait_all(PLACEHOLDERS, &format!("{count} placeholders {what}"), fine).await
    }

    /// Waits until there are no placeholders.
    pub(crate) async fn wait_no_placeholders(&self) -> Result<()> {
        self.wait_placeholders("are left", 0, |_| true).await.map(drop)
    }
}

/// Status of a TaskGroup, perhaps empty.
pub(crate) fn status(group: &TaskGroup) -> TaskGroupStatus {
    group.status.clone().unwrap_or_default()
}

/// Status and reason of a TaskGroup's condition.
pub(crate) fn condition(group: &TaskGroup, kind: &str) -> (String, String) {
    let status = status(group);
    let found = status.conditions.into_iter().find(|condition| condition.type_ == kind);
    found.map(|condition| (condition.status, condition.reason)).unwrap_or_default()
}

/// Whether a pod has a node.
pub(crate) fn is_bound(pod: &Pod) -> bool {
    !node(pod).is_empty()
}

/// Whether a pod is a placeholder.
pub(crate) fn is_placeholder(pod: &Pod) -> bool {
    label(pod, names::PLACEHOLDER) == "true"
}

/// A label, empty if it is not there.
pub(crate) fn label<'a>(pod: &'a Pod, key: &str) -> &'a str {
    pod.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map_or("", String::as_str)
}

/// An annotation, empty if it is not there.
pub(crate) fn annotation<'a>(pod: &'a Pod, key: &str) -> &'a str {
    pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key)).map_or("", String::as_str)
}

/// A word of the mark that a Binding left, empty if it is not there: read without the code that wrote it.
pub(crate) fn marked<'a>(pod: &'a Pod, word: &str) -> &'a str {
    let mut words = annotation(pod, names::BINDING).split(' ').filter_map(|word| word.split_once('='));
    words.find(|(key, _)| *key == word).map_or("", |(_, value)| value)
}

/// Reason and message of `PodScheduled=False`; empty if the pod does not have it.
pub(crate) fn why_waits(pod: &Pod) -> (&str, &str) {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let waits = conditions.into_iter().find(|one| one.type_ == "PodScheduled" && one.status == "False");
    waits
        .map_or(("", ""), |one| (one.reason.as_deref().unwrap_or_default(), one.message.as_deref().unwrap_or_default()))
}

/// UID of a TaskGroup.
pub(crate) fn uid(group: &TaskGroup) -> &str {
    group.metadata.uid.as_deref().unwrap_or_default()
}
