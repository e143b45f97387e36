//! Objects of Kubernetes read without `metadata.managedFields`, which nobody here reads: they are a third of a pod, and
//! would be made into a tree of values.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Namespace, NamespaceSpec, NamespaceStatus, Node, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, ResourceQuota,
    ResourceQuotaSpec, ResourceQuotaStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::Deserialize;

/// An object with a spec and a status.
#[derive(Debug, Deserialize)]
pub struct Lean<S, T> {
    #[serde(default)]
    metadata: Meta,
    spec: Option<S>,
    status: Option<T>,
}

/// The part of `ObjectMeta` that decides anything.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<Meta> for ObjectMeta {
    fn from(meta: Meta) -> Self {
        Self {
            name: meta.name,
            namespace: meta.namespace,
            uid: meta.uid,
            resource_version: meta.resource_version,
            generation: meta.generation,
            creation_timestamp: meta.creation_timestamp,
            deletion_timestamp: meta.deletion_timestamp,
            labels: meta.labels,
            annotations: meta.annotations,
            owner_references: meta.owner_references,
            ..Self::default()
        }
    }
}

impl From<Lean<PodSpec, PodStatus>> for Pod {
    fn from(lean: Lean<PodSpec, PodStatus>) -> Self {
        Self { metadata: lean.metadata.into(), spec: lean.spec, status: lean.status }
    }
}

impl From<Lean<NodeSpec, NodeStatus>> for Node {
    fn from(lean: Lean<NodeSpec, NodeStatus>) -> Self {
        Self { metadata: lean.metadata.into(), spec: lean.spec, status: lean.status }
    }
}

impl From<Lean<NamespaceSpec, NamespaceStatus>> for Namespace {
    fn from(lean: Lean<NamespaceSpec, NamespaceStatus>) -> Self {
        Self { metadata: lean.metadata.into(), spec: lean.spec, status: lean.status }
    }
}

impl From<Lean<ResourceQuotaSpec, ResourceQuotaStatus>> for ResourceQuota {
    fn from(lean: Lean<ResourceQuotaSpec, ResourceQuotaStatus>) -> Self {
        Self { metadata: lean.metadata.into(), spec: lean.spec, status: lean.status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_is_read_and_managed_fields_are_not() {
        let json = r#"{
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "12", "generation": 3,
                "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:01Z",
                "labels": {"a": "b"}, "annotations": {"c": "d"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "x"}]
            },
            "spec": {"containers": [{"name": "a"}], "nodeName": "n1"}, "status": {"phase": "Running"}
        }"#;
        let whole: Pod = serde_json::from_str(json).expect("a pod");
        let managed = json.replacen("\"labels\"", "\"managedFields\": 7, \"labels\"", 1);
        let lean: Lean<PodSpec, PodStatus> = serde_json::from_str(&managed).expect("managedFields are not looked at");
        assert_eq!(Pod::from(lean), whole);
    }
}
