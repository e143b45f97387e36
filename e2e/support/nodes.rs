//! Nodes that exist as objects only.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::error::{During, Result};

/// Requests in flight while nodes are made.
const IN_FLIGHT: usize = 16;

/// A set of equal nodes.
#[derive(Clone, Debug)]
pub struct NodeSet {
    /// Names are this, a hyphen and a number from 0.
    pub prefix: String,
    /// How many.
    pub count: u32,
    /// CPU of each, as a quantity.
    pub cpu: String,
    /// Memory of each, as a quantity.
    pub memory: String,
    /// Pods that each may hold.
    pub pods: u32,
    /// Further resources of each, such as `example.com/gpu`.
    pub extended: BTreeMap<String, String>,
    /// Labels of each, besides `kubernetes.io/hostname`.
    pub labels: BTreeMap<String, String>,
    /// Taints of each: key, value, effect.
    pub taints: Vec<(String, String, String)>,
    /// Whether to say that they are Ready; kwok does it where it runs.
    pub ready: bool,
}

impl NodeSet {
    /// Nodes of 16 CPUs, 64 GiB and 110 pods.
    pub fn new(prefix: impl Into<String>, count: u32) -> Self {
        Self {
            prefix: prefix.into(),
            count,
            cpu: "16".to_owned(),
            memory: "64Gi".to_owned(),
            pods: 110,
            extended: BTreeMap::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            ready: false,
        }
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        (0..self.count).map(|number| format!("{}-{number}", self.prefix)).collect()
    }

    /// Creates them.
    pub async fn create(&self, client: &Client) -> Result<()> {
        let nodes: Api<Node> = Api::all(client.clone());
        let created = stream::iter(self.names()).map(|name| {
            let nodes = nodes.clone();
            async move {
                let step = format!("creating node {name}");
                let node = self.object(&name)?;
                nodes.create(&PostParams::default(), &node).await.during(&step).map(drop)
            }
        });
        created.buffer_unordered(IN_FLIGHT).try_collect().await
    }

    fn object(&self, name: &str) -> Result<Node> {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        labels.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
        labels.insert("kubernetes.io/arch".to_owned(), "amd64".to_owned());
        let mut resources = self.extended.clone();
        resources.insert("cpu".to_owned(), self.cpu.clone());
        resources.insert("memory".to_owned(), self.memory.clone());
        resources.insert("pods".to_owned(), self.pods.to_string());
        let taints = self.taints.iter();
        let taints: Vec<_> =
            taints.map(|(key, value, effect)| json!({"key": key, "value": value, "effect": effect})).collect();
        // The status given at creation is kept.
        let mut status = json!({"capacity": resources, "allocatable": resources});
        if self.ready {
            status["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "NoKubelet"}]);
        }
        let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}, "status": status});
        serde_json::from_value(node).during(format!("describing node {name}"))
    }
}
