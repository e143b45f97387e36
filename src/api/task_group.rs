//! TaskGroup: a named set of equal members that start together (design 03, 3.2).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LocalObjectReference, NodeAffinity, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of equal members of an application that start together or not at all.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangline.dev",
    version = "v1alpha1",
    kind = "TaskGroup",
    plural = "taskgroups",
    namespaced,
    status = "TaskGroupStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct TaskGroupSpec {
    /// What is submitted together. Default: the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_id: Option<String>,
    /// Path of the leaf queue. Default: `root.default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// How many members start together, at least 1.
    pub min_member: u32,
    /// What one member needs.
    pub min_resource: BTreeMap<String, Quantity>,
    /// `namespace/name` of every TaskGroup of the application, this one included. Default: this one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gang_group: Vec<String>,
    /// How the places are held until the members run. Default: `Placeholder`.
    #[serde(default)]
    pub reservation: Reservation,
    /// For whom placeholders are created. Default: `missing`.
    #[serde(default)]
    pub placeholder_for: PlaceholderFor,
    /// What a placeholder needs to stand where a member will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_template: Option<PlaceholderTemplate>,
    /// How long the application may have neither allocations nor asks before it is Completed. Default: 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_timeout_seconds: Option<u32>,
}

/// How the places of a task group are held until the members run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Reservation {
    /// By placeholder pods.
    #[default]
    Placeholder,
    /// By no pods: the members themselves are planned and bound together.
    Direct,
}

/// For whom placeholders are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceholderFor {
    /// For members that do not exist yet.
    #[default]
    Missing,
    /// For every member.
    All,
}

/// What a placeholder needs to stand where a member will.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceholderTemplate {
    /// `nodeSelector` of the pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// `tolerations` of the pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// `affinity` of the pod: node affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<PlaceholderAffinity>,
    /// `priorityClassName` of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// `runtimeClassName` of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    /// Labels of the pod. Keys under `gangline.dev/` and `*.kubernetes.io/` are refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod. Keys under `gangline.dev/` and `*.kubernetes.io/` are refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// `imagePullSecrets` of the pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

/// Affinity of a placeholder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceholderAffinity {
    /// `nodeAffinity` of the pod: its required part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// What Gangline observed of a task group and decided about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskGroupStatus {
    /// Generation of the spec that this status is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// State of the application: New, Accepted, Running, Waiting, Completed or Rejected.
    #[serde(default)]
    pub application_state: String,
    /// Number of the application's life under this object, from 1; 0 = never accepted.
    #[serde(default)]
    pub incarnation: u32,
    /// The most telling condition's reason, for people.
    #[serde(default)]
    pub reason: String,
    /// One sentence: what it waits for, with counts and the binding constraint.
    #[serde(default)]
    pub message: String,
    /// What the whole application reserves: the sum over its task groups and originators.
    #[serde(default)]
    pub placeholder_ask: BTreeMap<String, Quantity>,
    /// Numbers of seats and members.
    #[serde(default)]
    pub counts: Counts,
    /// When something ends unless it changes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Accepted, QuotaReserved, Placed, Running, Finished.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Selects the group's pods, for the scale subresource.
    #[serde(default)]
    pub selector: String,
}

/// Numbers of seats and members of one task group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Seats: `minMember`.
    #[serde(default)]
    pub required: u32,
    /// Members that wait for a node.
    #[serde(default)]
    pub pending: u32,
    /// Seats held by a bound placeholder.
    #[serde(default)]
    pub held: u32,
    /// Placeholder pods that exist.
    #[serde(default)]
    pub placeholders: u32,
    /// Placeholders that gave their seat to a member, in this incarnation.
    #[serde(default)]
    pub replaced: u32,
    /// Members that have a node and are not finished.
    #[serde(default)]
    pub running: u32,
    /// Members that succeeded.
    #[serde(default)]
    pub succeeded: u32,
    /// Members that failed.
    #[serde(default)]
    pub failed: u32,
}

/// When something ends unless it changes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// Waiting becomes Completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Time>,
}
