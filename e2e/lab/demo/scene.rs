//! The gangs as the API server shows them at one moment.

use std::collections::BTreeMap;

use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};

use crate::support::error::Result;
use crate::support::objects::Objects;

/// One task group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gang {
    pub(super) name: String,
    pub(super) application: String,
    pub(super) min: usize,
    /// Placeholders that have a node.
    pub(super) held: usize,
    /// Members that have a node and are not finished.
    pub(super) taken: usize,
    /// Members that have succeeded.
    pub(super) done: usize,
    pub(super) state: String,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Gang {
    /// Members that have or had a node.
    pub(super) fn bound(&self) -> usize {
        self.taken + self.done
    }

    /// Some members run and the gang cannot: what must never be.
    pub(super) fn is_partial(&self) -> bool {
        (1..self.min).contains(&self.bound())
    }

    /// Seats that nothing holds.
    pub(super) fn open(&self) -> usize {
        self.min.saturating_sub(self.held + self.bound())
    }
}

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    /// In the order in which they were made.
    pub(super) gangs: Vec<Gang>,
    pub(super) pods: Vec<Pod>,
}

impl Scene {
    /// Reads it.
    pub(super) async fn read(client: &Client) -> Result<Self> {
        // Pods first: a gang's words are then never older than its seats.
        let pods = Objects::<Pod>::all(client).list("").await?;
        let mut groups = Objects::<TaskGroup>::all(client).list("").await?;
        groups.sort_by_key(|group| (version(group), group.name_any()));
        let mut gangs: Vec<Gang> = groups.iter().map(gang).collect();
        count(&mut gangs, &pods);
        Ok(Self { gangs, pods })
    }

    /// The gang of this name; an empty one if there is none yet.
    pub(super) fn gang(&self, name: &str) -> Gang {
        self.gangs.iter().find(|gang| gang.name == name).cloned().unwrap_or_default()
    }

    /// Whether a pod has a node.
    pub(super) fn is_bound(&self, pod: &str) -> bool {
        self.pods.iter().any(|found| found.name_any() == pod && node(found).is_some())
    }

    /// Placeholder pods that exist.
    pub(super) fn placeholders(&self) -> usize {
        self.pods.iter().filter(|pod| is_placeholder(pod)).count()
    }

    /// Each member of a gang with its node: `worker-0 on node-3`.
    pub(super) fn places(&self, gang: &str) -> Vec<String> {
        let members = self.pods.iter().filter(|pod| group(pod) == Some(gang) && !is_placeholder(pod));
        members.filter_map(|pod| Some(format!("{} on {}", pod.name_any(), node(pod)?))).collect()
    }

    /// Real pods by node.
    pub(super) fn by_node(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for node in self.pods.iter().filter(|pod| !is_placeholder(pod)).filter_map(node) {
            *counts.entry(node).or_default() += 1;
        }
        counts
    }
}

/// When it was made, to the second; the API server says no more.
fn version(group: &TaskGroup) -> Option<jiff::Timestamp> {
    group.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn gang(group: &TaskGroup) -> Gang {
    let status = group.status.clone().unwrap_or_default();
    Gang {
        name: group.name_any(),
        application: group.spec.application_id.clone().unwrap_or_else(|| group.name_any()),
        min: group.spec.min_member as usize,
        state: status.application_state,
        reason: status.reason,
        message: status.message,
        ..Gang::default()
    }
}

fn count(gangs: &mut [Gang], pods: &[Pod]) {
    for pod in pods.iter().filter(|pod| node(pod).is_some()) {
        let Some(gang) = gangs.iter_mut().find(|gang| Some(gang.name.as_str()) == group(pod)) else { continue };
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        match phase {
            _ if is_placeholder(pod) => gang.held += 1,
            Some("Succeeded") => gang.done += 1,
            _ => gang.taken += 1,
        }
    }
}

/// The task group that a pod says it is a member of.
pub(super) fn group(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(names::TASK_GROUP).map(String::as_str)
}

/// Whether a pod stands for a member that is not there.
pub(super) fn is_placeholder(pod: &Pod) -> bool {
    pod.labels().contains_key(names::PLACEHOLDER)
}

fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}
