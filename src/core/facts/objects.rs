//! Queues, Nodes and ResourceQuotas come, change and go.

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, NodeId, QueueId, Text};
use crate::core::base::resources::Limit;
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::QueueSpec;
use crate::core::gang::judge::queue_path_of;
use crate::core::model::ask::AskState;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::Queue;
use crate::core::model::seat::SeatState;
use crate::core::shape::NodeSpec;
use crate::core::step::Scheduler;

impl Scheduler {
    /// A Queue as last observed and found valid.
    pub(in crate::core) fn see_queue(&mut self, path: &Text, spec: QueueSpec) {
        if let Some(id) = self.books.queues.define(path, spec) {
            self.queue_changed(id);
        }
    }

    /// A Queue whose object is there and that has no valid place.
    pub(in crate::core) fn displace_queue(&mut self, path: &Text, spec: QueueSpec) {
        if let Some(id) = self.books.queues.displace(path, spec) {
            self.drain(id);
        }
    }

    /// The Queue's object is gone.
    pub(in crate::core) fn lose_queue(&mut self, path: &Text) {
        self.books.queues.forget_limits(path);
        if let Some(id) = self.books.queues.find(path).filter(|id| self.books.queues[*id].defined) {
            self.drain(id);
        }
    }

    fn drain(&mut self, id: QueueId) {
        self.books.queues.retain(id);
        self.books.queues.undefine(id);
        self.queue_changed(id);
        self.books.queues.release(id);
    }

    /// What was refused because a queue drains hears that it is gone, once nothing is left in it. Its object may be there
    /// still, below one that is gone: it and those above say that nothing of it is used.
    pub(in crate::core) fn drained_queues_go(&mut self) {
        for path in self.books.queues.take_drained() {
            self.judge_all_of(&path);
            self.books.changes.asks.extend(&self.books.queueless);
            let up = std::iter::successors(Some(&*path), |path| path.rsplit_once('.').map(|(above, _)| above));
            up.for_each(|path| self.decide(Decision::ShowQueue(path.into())));
        }
    }

    /// Applications that wait or were refused because of a queue on their path are judged again; pods outside
    /// applications look for their queue again.
    pub(in crate::core) fn queue_changed(&mut self, changed: QueueId) {
        self.books.changes.pass_due = true;
        let path = self.books.queues[changed].path.clone();
        self.judge_all_of(&path);
        let concerned = |(_, queue): &(QueueId, &Queue)| is_on_one_path(&queue.path, &path);
        let concerned = self.books.queues.iter().filter(concerned).map(|(id, _)| id).collect();
        self.reshelve_singles(&concerned);
        self.books.changes.queues.extend(concerned);
    }

    /// Judges again what names this queue, one above or one below.
    fn judge_all_of(&mut self, path: &str) {
        let apps: Vec<_> = (self.books.apps.iter())
            .filter(|(_, app)| is_on_one_path(&queue_path_of(&self.books, app), path))
            .map(|(id, app)| (app.key.clone(), id))
            .collect();
        self.renew_each(apps);
    }

    /// Judges those of these applications again that have not started, in the order of their names.
    fn renew_each(&mut self, mut apps: Vec<(crate::core::base::ids::Key, crate::core::base::ids::AppId)>) {
        apps.sort_unstable();
        for (_, id) in apps {
            match self.books.apps[id].state() {
                AppState::Accepted => self.judge_again(id),
                AppState::New | AppState::Rejected => self.renew(id),
                AppState::Running | AppState::Waiting | AppState::Completed => {}
            }
            self.books.touch(id);
        }
    }

    /// Pods outside applications whose queue may take them no more, or again: a queue below makes one above no leaf.
    fn reshelve_singles(&mut self, concerned: &BTreeSet<QueueId>) {
        let mut asks: Vec<AskId> = self.books.queueless.iter().copied().collect();
        for ((queue, _), waiting) in &self.books.ordinary {
            if concerned.contains(queue) {
                asks.extend(waiting.iter().map(|(_, ask)| *ask));
            }
        }
        for ask in asks {
            if self.books.asks[ask].app.is_none() {
                self.reshelve(ask);
            }
            self.books.changes.asks.insert(ask);
        }
    }

    /// A Node as last observed.
    pub(in crate::core) fn see_node(&mut self, name: &Text, spec: NodeSpec) {
        let old = self.books.nodes.id(name).and_then(|id| self.books.nodes.spec(id));
        let shrank = old.is_some_and(|old| old.allocatable.first_beyond(&spec.allocatable).is_some());
        let is_new = old.is_none();
        let change = self.books.nodes.see(name, spec);
        if change.eligibility {
            self.books.classes.node_changed(&self.books.nodes, change.node);
        }
        if is_new {
            self.find_again(change.node);
        }
        if change.eligibility || shrank {
            self.check_assumed(change.node);
        }
        if change.eligibility || change.grew {
            self.books.changes.grown.insert(change.node);
            self.books.changes.pass_due = true;
        }
    }

    /// A pod can be seen on a node before the node is: until then a placeholder there seemed to be on its way out.
    fn find_again(&mut self, node: NodeId) {
        for id in self.residents(node) {
            self.absorb(id);
            self.books.note(id);
        }
    }

    /// What was decided about a node and does not hold any more: pods that are to be bound there, and, before a gang's
    /// start, seats that could not be given to their members.
    fn check_assumed(&mut self, node: NodeId) {
        for id in self.residents(node) {
            let assumed = match self.books.asks[id].state {
                AskState::Assumed { sent, .. } => Some(sent),
                AskState::Bound { .. } | AskState::Parked { .. } | AskState::Waiting | AskState::Finished => None,
            };
            match assumed.filter(|_| !self.still_fits(id)) {
                Some(true) => self.decide(Decision::Recall(id)),
                Some(false) => self.unassume(id),
                None => {}
            }
            if self.awaits_start(id) && !self.planner.may_stay(&self.books, id) {
                self.lose_seat(id);
            }
        }
    }

    /// Whether a pod can still be bound to the node that it was given.
    pub(in crate::core) fn still_fits(&mut self, id: AskId) -> bool {
        self.planner.still_fits(&self.books, id)
    }

    /// Whether a placeholder holds a seat, or is being bound to, of a gang before its start.
    fn awaits_start(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let (Some(group), Some(seat)) = (ask.group.map(|group| &self.books.groups[group]), ask.seat) else {
            return false;
        };
        let holds = matches!(
            group.seats.get(seat).map(|seat| seat.state),
            Some(SeatState::Held(own) | SeatState::Binding(own)) if own == id
        );
        holds && group.gang.is_some_and(|gang| self.books.gangs[gang].is_before_start())
    }

    /// A seat is lost to its gang before the start. It is open, and planned again, when its placeholder is gone: until
    /// then that is charged, and would stand in the way of its own successor.
    pub(in crate::core) fn lose_seat(&mut self, placeholder: AskId) {
        self.books.vacate(placeholder, SeatState::Leaving(placeholder));
        self.release(placeholder, TerminationType::StoppedByRm);
        self.books.changes.apps.extend(self.books.asks[placeholder].app);
    }

    /// The pods charged on a node, in the order of their names.
    fn residents(&self, node: NodeId) -> Vec<AskId> {
        let residents = self.books.residents.get(&node).into_iter().flatten();
        let mut residents: Vec<_> = residents.map(|id| (&self.books.asks[*id].spec.key, *id)).collect();
        residents.sort_unstable();
        residents.into_iter().map(|(_, id)| id).collect()
    }

    /// The Node is gone: seats held there are lost; real members stay facts until their pods go (01, 1.5).
    pub(in crate::core) fn lose_node(&mut self, name: &Text) {
        let Some(node) = self.books.nodes.id(name) else { return };
        let residents = self.residents(node);
        if self.books.nodes.gone(name).is_none() {
            return;
        }
        self.books.classes.node_changed(&self.books.nodes, node);
        residents.into_iter().for_each(|id| self.lose_place(id, node));
    }

    fn lose_place(&mut self, id: AskId, node: NodeId) {
        if self.is_being_bound(id) {
            // The API server would bind it (design 04, 4.3).
            self.decide(Decision::Recall(id));
        }
        let ask = &self.books.asks[id];
        let (app, group) = (ask.app, ask.group);
        match ask.state {
            AskState::Assumed { sent: false, .. } => self.unassume(id),
            AskState::Parked { placeholder } if self.books.asks[placeholder].node() != Some(node) => {
                // Only the target on another node is lost; the swap goes on and looks for another at confirmation.
                self.books.free(id);
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
        self.books.changes.groups.extend(group);
        self.books.changes.apps.extend(app);
    }

    /// What the ResourceQuotas of a namespace allow at all.
    pub(in crate::core) fn see_namespace(&mut self, namespace: &Text, limit: &Limit) {
        let old = if limit.is_unlimited() {
            self.books.namespace_limits.remove(namespace)
        } else {
            self.books.namespace_limits.insert(namespace.clone(), limit.clone())
        };
        if old.unwrap_or_default() == *limit {
            return;
        }
        let apps: Vec<_> = (self.books.apps.iter())
            .filter(|(_, app)| app.key.namespace == *namespace)
            .map(|(id, app)| (app.key.clone(), id))
            .collect();
        self.renew_each(apps);
    }
}

/// Whether one of two queues is the other or lies below it.
fn is_on_one_path(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// Whether one path is another or lies below it.
fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
