//! Queue: a cluster-scoped node of the quota tree (design 03, 3.3).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue of the quota tree, named by its path: `root.data` lies below `root`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "gangline.dev", version = "v1alpha1", kind = "Queue", plural = "queues", status = "QueueStatus")]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// Path of the queue above: the name without its last part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What the queue and all below it may use at most. A resource that is not listed is not limited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max: BTreeMap<String, Quantity>,
    /// How many applications of the queue and all below it may be past the gate at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_applications: Option<u32>,
}

/// What Gangline observed of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Generation of the spec that this status is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// What pods of the queue and all below it use, placeholders included.
    #[serde(default)]
    pub allocated: BTreeMap<String, Quantity>,
    /// What waiting applications of the queue and all below it ask for.
    #[serde(default)]
    pub pending: BTreeMap<String, Quantity>,
    /// What may still be used of each resource that is limited here or above.
    #[serde(default)]
    pub headroom: BTreeMap<String, Quantity>,
    /// Number of applications by state.
    #[serde(default)]
    pub applications: BTreeMap<String, u32>,
    /// `Active`: whether the queue has a valid place in the tree.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
