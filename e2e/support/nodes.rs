//! Nodes that exist as objects only.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::Client;
use serde_json::{Value, json};

use super::error::Result;
use super::objects::Objects;

/// Requests in flight while nodes are made.
const IN_FLIGHT: usize = 16;

/// Labels that a cloud gives its nodes.
pub const TOPOLOGY: [(&str, &str); 2] =
    [("topology.kubernetes.io/region", "region-1"), ("topology.kubernetes.io/zone", "zone-1")];

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
    /// Labels of each, besides `kubernetes.io/hostname`; those of a cloud's nodes unless changed. The API server copies
    /// the zone and the region to Bindings and pods, which admission policies then see.
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
            labels: TOPOLOGY.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            taints: Vec::new(),
            ready: false,
        }
    }

    /// Nodes of that many CPUs, with 4 GiB for each.
    pub fn of_cpus(prefix: impl Into<String>, count: u32, cpus: u32) -> Self {
        Self { cpu: cpus.to_string(), memory: format!("{}Gi", 4 * cpus), ..Self::new(prefix, count) }
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        (0..self.count).map(|number| format!("{}-{number}", self.prefix)).collect()
    }

    /// Creates them.
    pub async fn create(&self, client: &Client) -> Result<()> {
        let nodes = Objects::<Node>::all(client);
        let created = stream::iter(self.names()).map(|name| nodes.create(self.object(&name)));
        created.buffer_unordered(IN_FLIGHT).try_for_each(|_| std::future::ready(Ok(()))).await
    }

    /// Waits until all of them are Ready.
    pub async fn wait_ready(&self, client: &Client) -> Result<()> {
        let wanted = self.names();
        let all_ready = |seen: &[&Node]| {
            let ready = seen.iter().filter(|node| is_ready(node)).filter_map(|node| node.metadata.name.as_deref());
            let ready: BTreeSet<&str> = ready.collect();
            wanted.iter().all(|name| ready.contains(name.as_str()))
        };
        Objects::all(client).wait_all("", "all nodes are Ready", all_ready).await.map(drop)
    }

    fn object(&self, name: &str) -> Value {
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
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}, "status": status})
    }
}

/// Whether pods keep off that tolerate nothing.
pub fn is_tainted(node: &Node) -> bool {
    !taints(node).is_empty()
}

/// Whether pods keep off for how the node is, such as one that is not Ready.
pub fn is_tainted_for_now(node: &Node) -> bool {
    taints(node).iter().any(|taint| taint.key.starts_with("node.kubernetes.io/"))
}

/// Whether its condition says that it is Ready.
pub fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}
