//! The kinds we define and the names of labels and annotations. No logic.

pub mod names;
pub mod queue;
pub mod task_group;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// The definitions of our kinds, by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![queue::Queue::crd(), task_group::TaskGroup::crd()]
}
