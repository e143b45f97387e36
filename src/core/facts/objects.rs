//! Queues, Nodes and ResourceQuotas come, change and go.

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, NodeId, QueueId, Text};
use crate::core::base::resources::Limit;
use crate::core::decision::TerminationType;
use crate::core::event::QueueSpec;
use crate::core::model::ask::{Ask, AskState};
use crate::core::model::books::Books;
use crate::core::model::queue::Queue;
use crate::core::model::seat::SeatState;
use crate::core::shape::NodeSpec;

impl Books {
    /// A Queue as last observed and found valid.
    pub(in crate::core) fn see_queue(&mut self, path: &Text, spec: QueueSpec) {
        if let Some(id) = self.queues.define(path, spec) {
            self.queue_changed(id);
        }
    }

    /// A Queue whose object is there and that has no valid place.
    pub(in crate::core) fn displace_queue(&mut self, path: &Text, spec: QueueSpec) {
        if let Some(id) = self.queues.displace(path, spec) {
            self.drain(id);
        }
    }

    /// The Queue's object is gone.
    pub(in crate::core) fn lose_queue(&mut self, path: &Text) {
        self.queues.forget_limits(path);
        if let Some(id) = self.queues.find(path).filter(|id| self.queues[*id].defined) {
            self.drain(id);
        }
    }

    fn drain(&mut self, id: QueueId) {
        self.queues.retain(id);
        self.queues.undefine(id);
        self.queue_changed(id);
        self.queues.release(id);
    }

    /// Applications that wait or were refused because of a queue on their path are judged again; pods outside
    /// applications look for their queue again.
    pub(in crate::core) fn queue_changed(&mut self, changed: QueueId) {
        self.changes.pass_due = true;
        let path = self.queues[changed].path.clone();
        let concerned = |(_, queue): &(QueueId, &Queue)| is_on_one_path(&queue.path, &path);
        let concerned = self.queues.iter().filter(concerned).map(|(id, _)| id).collect();
        self.line_up_singles(&concerned);
        self.changes.queues.extend(concerned);
        self.due.queues.insert(path);
    }

    /// Looks again in which line pods outside applications wait, since their queue may have begun or ceased to take
    /// pods: a queue that gets its first child, for example, is no leaf any more.
    fn line_up_singles(&mut self, concerned: &BTreeSet<QueueId>) {
        let mut asks: Vec<AskId> = self.queueless.iter().copied().collect();
        for ((queue, _), waiting) in &self.ordinary {
            if concerned.contains(queue) {
                asks.extend(waiting.iter().map(|(_, ask)| *ask));
            }
        }
        for ask in asks {
            if self.asks[ask].app.is_none() {
                self.line_up(ask);
            }
            self.changes.asks.insert(ask);
        }
    }

    /// A Node as last observed.
    pub(in crate::core) fn see_node(&mut self, name: &Text, spec: NodeSpec) {
        let old = self.nodes.id(name).and_then(|id| self.nodes.spec(id));
        let shrank = old.is_some_and(|old| old.allocatable.first_beyond(&spec.allocatable).is_some());
        let is_new = old.is_none();
        let change = self.nodes.see(name, spec);
        if change.eligibility {
            self.classes.node_changed(&self.nodes, change.node);
        }
        if is_new {
            // A pod can be seen on a node before the Node object is. Until then a placeholder there could not hold its
            // seat, so it is looked at again.
            for id in self.residents(change.node) {
                self.due.found.insert(id);
                self.note(id);
            }
        }
        if change.eligibility || shrank {
            self.due.shrunk.insert(change.node);
        }
        if change.eligibility || change.grew {
            self.changes.grown.insert(change.node);
            self.changes.pass_due = true;
        }
    }

    /// The pods charged on a node, in the order of their names.
    pub(in crate::core) fn residents(&self, node: NodeId) -> Vec<AskId> {
        self.by_name(self.residents.get(&node).into_iter().flatten().copied())
    }

    /// The Node is gone: seats held there are lost; real members stay on the books until their pods are gone (01, 1.5).
    pub(in crate::core) fn lose_node(&mut self, name: &Text) {
        let Some(node) = self.nodes.id(name) else { return };
        let residents = self.residents(node);
        if self.nodes.gone(name).is_none() {
            return;
        }
        self.classes.node_changed(&self.nodes, node);
        residents.into_iter().for_each(|id| self.lose_place(id, node));
    }

    fn lose_place(&mut self, id: AskId, node: NodeId) {
        if self.is_being_bound(id) {
            // The API server would still bind a pod to a node that is gone (design 04, 4.3), so the Binding must be
            // recalled.
            self.due.doubted.insert(id);
        }
        let ask = &self.asks[id];
        let (app, group) = (ask.app, ask.group);
        match ask.state {
            AskState::Assumed { sent: false, .. } => self.unassume(id),
            AskState::Parked { placeholder } if self.asks.get(placeholder).and_then(Ask::node) != Some(node) => {
                // The member was to come to this node, but its placeholder is on another one. The swap goes on, and
                // another node is looked for when the placeholder is gone.
                self.free(id);
            }
            AskState::Assumed { .. } | AskState::Bound { .. } if self.awaits_start(id) => self.lose_seat(id),
            AskState::Assumed { .. } | AskState::Bound { .. } if ask.is_placeholder() && ask.leaving.is_none() => {
                self.give_back(id, TerminationType::StoppedByRm);
            }
            AskState::Assumed { .. }
            | AskState::Bound { .. }
            | AskState::Parked { .. }
            | AskState::Waiting
            | AskState::Finished => {}
        }
        self.changes.groups.extend(group);
        self.changes.apps.extend(app);
    }

    /// What the ResourceQuotas of a namespace allow at all.
    pub(in crate::core) fn see_namespace(&mut self, namespace: &Text, limit: &Limit) {
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

    /// Whether a placeholder holds a seat of a gang that has not started, or is being bound for such a seat.
    pub(in crate::core) fn awaits_start(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        let (Some(group), Some(seat)) = (ask.group.map(|group| &self.groups[group]), ask.seat) else {
            return false;
        };
        let holds = matches!(
            group.seats.get(seat).map(|seat| seat.state),
            Some(SeatState::Held(own) | SeatState::Binding(own)) if own == id
        );
        holds && group.gang.is_some_and(|gang| self.gangs[gang].is_before_start())
    }
}

/// Whether one of two queues is the other or lies below it.
pub(in crate::core) fn is_on_one_path(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// Whether one path is another or lies below it.
fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
