//! Queues, Nodes and ResourceQuotas come, change and go.

use crate::core::base::ids::{NodeId, QueueId, Text};
use crate::core::base::resources::Limit;
use crate::core::event::QueueSpec;
use crate::core::model::books::Books;
use crate::core::shape::NodeSpec;

impl Books {
    /// A Queue as last observed and found valid.
    pub(in crate::core) fn see_queue(&mut self, path: &Text, spec: QueueSpec) {
        let chose = self.queues.choosing().contains(path);
        if let Some(id) = self.queues.define(path, spec) {
            self.queue_changed(id);
            self.choose_anew(path, chose);
        }
    }

    /// A Queue whose object is there and that has no valid place.
    pub(in crate::core) fn displace_queue(&mut self, path: &Text, spec: QueueSpec) {
        let chose = self.queues.choosing().contains(path);
        if let Some(id) = self.queues.displace(path, spec) {
            self.drain(id);
            self.choose_anew(path, chose);
        }
    }

    /// The Queue's object is gone.
    pub(in crate::core) fn lose_queue(&mut self, path: &Text) {
        self.queues.forget_limits(path);
        let chose = self.queues.choosing().contains(path);
        if let Some(id) = self.queues.find(path).filter(|id| self.queues[*id].has_object()) {
            self.drain(id);
            self.choose_anew(path, chose);
            self.give_again(path);
        }
    }

    pub(super) fn drain(&mut self, id: QueueId) {
        self.queues.retain(id);
        self.queues.undefine(id);
        self.queue_changed(id);
        self.queues.release(id);
    }

    /// Applications that wait or were refused because of a queue on their path are judged again; pods outside
    /// applications look for their queue again.
    pub(in crate::core) fn queue_changed(&mut self, changed: QueueId) {
        self.changes.pass_due = true;
        self.due.queues.insert(self.queues[changed].path.clone());
        // Another bound may hold for who is first in line.
        self.changes.fronts.extend(self.fronts.keys());
    }

    /// A Node as last observed.
    pub(in crate::core) fn see_node(&mut self, name: &Text, spec: NodeSpec) {
        let old = self.nodes.id(name).and_then(|id| self.nodes.spec(id));
        let shrank = old.is_some_and(|old| old.allocatable.first_beyond(&spec.allocatable).is_some());
        let is_new = old.is_none();
        let (was_ready, is_ready) = (old.is_none_or(|old| !old.is_not_ready()), !spec.is_not_ready());
        let change = self.nodes.see(name, spec);
        if change.eligibility {
            self.classes.node_changed(&self.nodes, change.node);
        }
        if was_ready != is_ready {
            self.readiness_changed(change.node, is_ready);
        }
        if is_new {
            // A pod can be seen on a node before the Node object is. Until then a placeholder there could not hold its
            // seat, so it is looked at again.
            for id in self.residents(change.node) {
                self.due.found.insert(id);
                self.note(id);
            }
        }
        self.changes.nodes |= change.eligibility || change.grew || shrank;
        self.changes.outside.nodes += u64::from(change.eligibility || change.grew || shrank);
        if change.eligibility || shrank {
            self.due.shrunk.insert(change.node);
        }
        if change.eligibility || change.grew {
            self.changes.grown.insert(change.node);
            self.changes.pass_due = true;
        }
    }

    /// What is said of gangs with members on a node says whether it is ready.
    fn readiness_changed(&mut self, node: NodeId, is_ready: bool) {
        if is_ready {
            self.not_ready.remove(&node)
        } else {
            self.not_ready.insert(node)
        };
        let residents = self.residents.get(&node).into_iter().flatten();
        self.changes.groups.extend(residents.filter_map(|ask| self.asks[*ask].group));
    }

    /// The Node is gone.
    pub(in crate::core) fn lose_node(&mut self, name: &Text) {
        let Some(node) = self.nodes.id(name) else { return };
        if self.nodes.gone(name).is_some() {
            self.readiness_changed(node, true);
            self.classes.node_changed(&self.nodes, node);
            self.due.lost.insert(node);
            self.changes.nodes = true;
            self.changes.outside.nodes += 1;
        }
    }

    /// What the ResourceQuotas of a namespace allow at all.
    pub(in crate::core) fn see_namespace_limit(&mut self, namespace: &Text, limit: &Limit) {
        let old = if limit.is_unlimited() {
            self.namespace_limits.remove(namespace)
        } else {
            self.namespace_limits.insert(namespace.clone(), limit.clone())
        };
        if old.unwrap_or_default() == *limit {
            return;
        }
        self.due.namespaces.insert(namespace.clone());
    }
}
