//! What becomes of nodes: they come, change, are drained, die and go.

use std::sync::Arc;

use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use k8s_openapi::api::core::v1::Taint;
use serde_json::json;

use super::acts::NodeAct;
use super::amount::{Amount, GPU, pods_of_node};
use super::people::node_of;
use super::place::{self, ZONE, is_tainted, zone_of};
use super::world::World;

impl World {
    /// A node of so many cores.
    pub(crate) fn node(&mut self, name: &str, cpu: u32) {
        self.set_node(&NodeAct { name: name.to_owned(), cpu, ..NodeAct::default() });
    }

    pub(super) fn set_node(&mut self, node: &NodeAct) {
        let NodeAct { name, cpu, mib, gpu, pods, cordoned, tainted } = node;
        let (mib, pods) = (mib.unwrap_or(64 << 10), pods.unwrap_or(110));
        let has = Amount { milli: u64::from(*cpu) * 1_000, mib: mib.into(), gpu: u64::from(*gpu) };
        if let Some(Body::Node(node)) = self.api.store.get(Kind::Node, &Key::cluster(name.as_str())) {
            let shrinks = !Amount::of_node(node).is_within(has) || u64::from(pods) < pods_of_node(node);
            if *cordoned || *tainted || shrinks {
                self.disturb_node(name);
            }
        }
        let memory = format!("{mib}Mi");
        let mut allocatable = json!({"cpu": cpu.to_string(), "memory": memory, "pods": pods.to_string()});
        if *gpu > 0 {
            allocatable[GPU] = json!(gpu.to_string());
        }
        let mut spec = json!({"unschedulable": cordoned});
        let dedicated = tainted.then(place::taint).into_iter();
        let unreachable = self.is_marked(name).then(place::unreachable).into_iter().flatten();
        let taints: Vec<Taint> = dedicated.chain(unreachable).collect();
        if !taints.is_empty() {
            spec["taints"] = json!(taints);
        }
        let metadata = json!({"name": name, "labels": {ZONE: zone_of(name)}});
        self.apply(Kind::Node, &json!({"metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}));
    }

    /// A node goes, and pod garbage collection takes its pods.
    pub(crate) fn lose_node(&mut self, name: &str) {
        self.disturb_node(name);
        self.dead.remove(name);
        self.delete(Kind::Node, name);
    }

    /// A node takes no pods any more, and everything on it is deleted.
    pub(super) fn drain(&mut self, name: &str) {
        let Some(Body::Node(node)) = self.api.store.get(Kind::Node, &Key::cluster(name)) else { return };
        let Amount { milli, mib, gpu } = Amount::of_node(node);
        let drained = NodeAct {
            name: name.to_owned(),
            cpu: (milli / 1_000) as u32,
            mib: Some(mib as u32),
            gpu: gpu as u32,
            pods: Some(pods_of_node(node) as u32),
            cordoned: true,
            tainted: is_tainted(node),
        };
        self.set_node(&drained);
        self.evict(name);
    }

    /// Everything on a node is deleted.
    pub(super) fn evict(&mut self, name: &str) {
        self.disturb_node(name);
        let there = self.api.store.of_kind(Kind::Pod).filter(|(_, pod)| node_of(pod) == Some(name));
        let there: Vec<Key> = there.map(|(key, _)| key.clone()).collect();
        let now = self.now().wall;
        there.iter().for_each(|key| drop(self.api.delete_pod(key, None, now)));
    }

    /// A node of which nothing is heard is marked, so that nobody is sent there.
    pub(crate) fn mark_dead(&mut self, name: &str) {
        if self.dead.contains(name) && !self.is_marked(name) {
            self.disturb_node(name);
            self.set_taints(name, |taints| taints.extend(place::unreachable()));
        }
    }

    /// The machine of a node is back, and its kubelet looks at what is there.
    pub(super) fn revive(&mut self, name: &str) {
        if self.dead.remove(name) {
            self.set_taints(name, |taints| taints.retain(|taint| !place::is_unreachable(taint)));
        }
    }

    fn set_taints(&mut self, name: &str, change: impl FnOnce(&mut Vec<Taint>)) {
        let key = Key::cluster(name);
        let Some(Body::Node(node)) = self.api.store.get(Kind::Node, &key) else { return };
        let mut node = node.clone();
        change(Arc::make_mut(&mut node).spec.get_or_insert_default().taints.get_or_insert_default());
        self.api.store.put(&key, Body::Node(node));
    }

    /// Whether it is written on a node that nothing is heard of it.
    fn is_marked(&self, name: &str) -> bool {
        let found = self.api.store.get(Kind::Node, &Key::cluster(name));
        self.dead.contains(name) && matches!(found, Some(Body::Node(node)) if place::is_dead(node))
    }

    /// Whether a pod without a node is marked for an autoscaler.
    pub(crate) fn somebody_finds_no_node(&self) -> bool {
        let is_marked = |body: &Body| {
            let Body::Pod(pod) = body else { return false };
            let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions.any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"))
        };
        self.api.store.of_kind(Kind::Pod).any(|(_, body)| node_of(body).is_none() && is_marked(body))
    }
}
