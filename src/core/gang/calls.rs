//! Calls about pods: Bindings are decided, recalled and tried again, placeholders deleted.

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, NodeId, QueueId};
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::{Mark, Role};
use crate::core::model::ask::AskState;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Decides the Binding of an assumed ask.
    pub(in crate::core) fn send(&mut self, ask: AskId) {
        self.decide_binding(ask, false);
    }

    /// Decides the Binding of a member whose placeholder has just gone: nothing else leaves before it.
    pub(in crate::core) fn send_next(&mut self, ask: AskId) {
        self.decide_binding(ask, true);
    }

    fn decide_binding(&mut self, ask: AskId, next: bool) {
        let Some((node, queue)) = self.books.commit_to_bind(ask) else { return };
        let entry = &self.books.asks[ask];
        let mark = self.mark(ask, queue, entry.seat, !entry.is_placeholder());
        self.decide(Decision::Allocate { ask, node, mark, next });
    }

    /// Decides the deletion of placeholders that were given up, and calls off the creation of those that are not wanted
    /// any more; both in the order of their names, and those without a node first (01, 1.7).
    pub(in crate::core) fn withdraw(&mut self) {
        let given_up = std::mem::take(&mut self.books.changes.given_up);
        let mut given_up = self.books.by_name(given_up);
        given_up.sort_by_key(|id| self.books.asks[*id].node().is_some());
        for id in given_up {
            let ask = &self.books.asks[id];
            if let Some(why) = ask.leaving.filter(|_| !ask.spec.terminating) {
                self.decide(Decision::Release(id, why));
            }
        }
        for name in std::mem::take(&mut self.books.changes.called_off) {
            self.decide(Decision::CancelPlaceholder(name));
        }
    }

    /// Nodes that went, and are not back: seats held there are lost; real members stay facts until their pods go (01, 1.5).
    pub(super) fn lose_nodes(&mut self) {
        let lost = std::mem::take(&mut self.books.due.lost);
        for node in self.nodes_by_name(&lost) {
            if self.books.nodes.spec(node).is_none() {
                self.books.due.kept.extend(self.books.kept_on.get(&node).into_iter().flatten());
                self.books.residents(node).into_iter().for_each(|id| self.lose_place(id, node));
            }
        }
    }

    fn lose_place(&mut self, id: AskId, node: NodeId) {
        let ask = &self.books.asks[id];
        let (app, group) = (ask.app, ask.group);
        match ask.state {
            // A Binding that was refused is not on its way.
            AskState::Assumed { sent, .. } if !ask.is_placeholder() && (!sent || ask.refused.is_some()) => {
                self.books.unassume(id);
            }
            AskState::Parked { placeholder } if self.books.asks[placeholder].node() != Some(node) => {
                // Only the target on another node is lost; the swap goes on and looks for another at confirmation.
                self.books.free(id);
            }
            AskState::Assumed { .. } | AskState::Bound { .. } if self.books.awaits_start(id) => {
                self.books.lose_seat(id)
            }
            AskState::Assumed { .. } | AskState::Bound { .. } if ask.is_placeholder() && ask.leaving.is_none() => {
                self.books.keep(id);
                self.books.give_back(id, TerminationType::StoppedByRm);
            }
            AskState::Assumed { .. }
            | AskState::Bound { .. }
            | AskState::Parked { .. }
            | AskState::Waiting
            | AskState::Finished => {}
        }
        if self.books.is_being_bound(id) {
            // The API server would bind it (design 04, 4.3).
            self.books.due.doubted.insert(id);
        }
        self.books.changes.groups.extend(group);
        self.books.changes.apps.extend(app);
    }

    fn nodes_by_name(&self, nodes: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let mut nodes: Vec<_> = nodes.iter().filter_map(|id| Some((self.books.nodes.name(*id)?, *id))).collect();
        nodes.sort_unstable();
        nodes.into_iter().map(|(_, node)| node).collect()
    }

    /// What was decided, and does not hold any more: of nodes that take less, and of pods that are not what they were.
    pub(super) fn doubt_decisions(&mut self) {
        let shrunk = std::mem::take(&mut self.books.due.shrunk);
        for node in self.nodes_by_name(&shrunk) {
            self.books.due.kept.extend(self.books.kept_on.get(&node).into_iter().flatten());
            self.check_assumed(node);
        }
        self.check_kept();
        let doubted = std::mem::take(&mut self.books.due.doubted);
        for id in self.books.by_name(doubted) {
            if self.books.is_being_bound(id) && !(self.books.is_as_decided(id) && self.still_fits(id)) {
                self.decide(Decision::Recall(id));
            }
        }
    }

    /// Checks the pods that are to be bound to a node, and the seats that gangs before their start hold there. A pod
    /// that does not fit any more is taken back, or its Binding doubted; a seat that no member could take there is
    /// lost.
    fn check_assumed(&mut self, node: NodeId) {
        for id in self.books.residents(node) {
            let assumed = match self.books.asks[id].state {
                AskState::Assumed { sent, .. } => Some(sent),
                AskState::Bound { .. } | AskState::Parked { .. } | AskState::Waiting | AskState::Finished => None,
            };
            match assumed.filter(|_| !self.still_fits(id)) {
                // A Binding that was refused is not on its way.
                Some(true) if self.books.asks[id].refused.is_none() => drop(self.books.due.doubted.insert(id)),
                Some(true) if self.books.asks[id].is_placeholder() => {}
                Some(true) => self.books.unassume(id),
                Some(false) => self.books.unassume(id),
                None => {}
            }
            if self.books.awaits_start(id) && !self.planner.may_stay(&self.books, id) {
                self.books.lose_seat(id);
            }
            if self.books.swap_of(id).is_some() {
                // Its member may not find the room that it waits for.
                self.books.changes.apps.extend(self.books.asks[id].app);
            }
        }
    }

    /// Whether a pod can still be bound to the node that it was given.
    pub(in crate::core) fn still_fits(&mut self, id: AskId) -> bool {
        self.planner.still_fits(&self.books, id)
    }

    /// Calls whose pause is over, in the order of the pods' names: ids depend on the order of arrival.
    pub(in crate::core) fn retry_due(&mut self, due: &[AskId]) {
        for id in self.books.by_name(due.iter().copied()) {
            self.books.forget_retry(id);
            self.retry(id);
            self.books.changes.apps.extend(self.books.asks[id].app);
            self.books.changes.asks.insert(id);
        }
    }

    fn retry(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        match (ask.leaving, ask.state) {
            (Some(_), _) if ask.spec.terminating => {}
            (Some(_), _) => drop(self.books.changes.given_up.insert(id)),
            // The member kept its room and is bound to the same node. If it were planned anew beside others of its
            // gang, it might find no node.
            (None, AskState::Assumed { sent: true, .. }) if self.may_go_on(id) => self.send(id),
            (None, AskState::Assumed { sent: true, .. }) => self.books.unassume(id),
            (None, AskState::Assumed { sent: false, .. } | AskState::Waiting) => self.books.line_up(id),
            (None, AskState::Parked { .. } | AskState::Bound { .. } | AskState::Finished) => {}
        }
    }

    /// Whether what was decided for a pod is still to be done: the same gang is being started, in the same queue, and
    /// the node takes it.
    fn may_go_on(&mut self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let charged = ask.charge.as_ref().and_then(|charge| charge.queue);
        let is_of_queue = ask.app.is_some_and(|app| self.books.apps[app].queue == charged);
        is_of_queue && self.books.is_being_started(id) && !self.books.lacks_its_group(id) && self.still_fits(id)
    }

    /// What a Binding of this ask writes on the pod.
    pub(in crate::core) fn mark(&self, id: AskId, queue: QueueId, seat: Option<u32>, started: bool) -> Mark {
        let ask = &self.books.asks[id];
        let app = ask.app.map(|app| &self.books.apps[app]);
        let first = app.and_then(|app| app.groups.first().copied());
        let group = ask.group.or(first).and_then(|group| self.books.groups.get(group)?.spec.as_ref());
        // An incarnation gets its number when the application is accepted; before that the mark cannot name one.
        let group = group.filter(|_| app.is_some_and(|app| app.incarnation > 0));
        let (task_group, application) = match &ask.spec.role {
            Role::Member { .. } if self.books.is_ordinary(id) => (None, app.map(|app| app.key.name.clone())),
            Role::Member { group } => (Some(group.clone()), None),
            Role::Originator { application } => (None, Some(application.clone())),
            Role::Foreign | Role::Singleton | Role::Placeholder(_) => (None, None),
        };
        Mark {
            task_group,
            application,
            group: group.map(|spec| spec.uid.clone()),
            incarnation: app.map_or(0, |app| app.incarnation),
            seat,
            started: started && group.is_some(),
            queue: self.books.queues[queue].path.clone(),
        }
    }
}
