//! TaskGroups, Queues, Nodes and ResourceQuotas come, change and go.

use super::ask::{AskState, Shelf};
use super::decision::TerminationType;
use super::event::{GroupSpec, QueueSpec};
use super::ids::{AppId, AskId, GroupId, Key, NodeId, QueueId, Text};
use super::lifecycle::{AppEvent, AppState};
use super::resources::Limit;
use super::scheduler::Scheduler;
use super::seat::{Reserve, SeatState, Seats};
use super::shape::NodeSpec;

impl Scheduler {
    /// A TaskGroup as last observed.
    pub(super) fn see_group(&mut self, key: &Key, spec: GroupSpec) {
        if spec.terminating {
            return self.lose_group(key);
        }
        let id = self.books.group_at(key);
        let same_object = |old: &GroupSpec| old.uid == spec.uid && old.application == spec.application;
        match &self.books.groups[id].spec {
            Some(old) if same_object(old) => self.update_group(id, spec),
            Some(_) => {
                self.lose_group(key);
                let id = self.books.group_at(key);
                self.add_group(id, spec);
            }
            None => self.add_group(id, spec),
        }
    }

    fn add_group(&mut self, id: GroupId, spec: GroupSpec) {
        let key = Key { namespace: self.books.groups[id].key.namespace.clone(), name: spec.application.clone() };
        let app = self.books.app_at(&key);
        let is_open = self.takes_groups(app);
        let group = &mut self.books.groups[id];
        group.spec = Some(Box::new(spec));
        group.closed_out = !is_open;
        group.app = is_open.then_some(app);
        if is_open {
            self.books.apps[app].groups.push(id);
            let groups = &self.books.groups;
            self.books.apps[app].groups.sort_unstable_by(|a, b| groups[*a].key.cmp(&groups[*b].key));
            self.renew(app);
        }
        self.relink_all(id);
        self.shown_groups.insert(id);
        self.touch(Some(app));
    }

    /// An accepted application is closed to further TaskGroups; one that consisted of pods alone begins anew with them.
    fn takes_groups(&mut self, app: AppId) -> bool {
        let entry = &self.books.apps[app];
        match entry.state {
            AppState::New | AppState::Rejected | AppState::Completed => true,
            AppState::Accepted | AppState::Running | AppState::Waiting if entry.groups.is_empty() => {
                self.leave_queue(app);
                self.renew(app);
                true
            }
            AppState::Accepted | AppState::Running | AppState::Waiting => false,
        }
    }

    /// Once accepted, only timeouts can be changed; before that a new spec is judged, after the end it is a new life.
    fn update_group(&mut self, id: GroupId, spec: GroupSpec) {
        let app = self.books.groups[id].app;
        let old = self.books.groups[id].spec();
        if old.generation == spec.generation {
            return;
        }
        let fixed = app.is_some_and(|app| {
            matches!(self.books.apps[app].state, AppState::Accepted | AppState::Running | AppState::Waiting)
        });
        let group = &mut self.books.groups[id];
        let stored = group.spec.as_mut().expect("looked at just now");
        if fixed {
            stored.completion_timeout_ms = spec.completion_timeout_ms;
            stored.generation = spec.generation;
        } else {
            **stored = GroupSpec { remembered: stored.remembered.clone(), ..spec };
            app.into_iter().for_each(|app| self.renew(app));
        }
        self.shown_groups.insert(id);
        self.touch(app);
    }

    fn relink_all(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            self.relink(ask);
            if self.books.asks[ask].is_placeholder() {
                self.absorb(ask);
            }
            self.reshelve(ask);
            self.shown_asks.insert(ask);
        }
    }

    /// A group's pods in the order of their names: decisions must not depend on the order of arrival.
    pub(super) fn sorted_asks(&self, id: GroupId) -> Vec<AskId> {
        let Some(group) = self.books.groups.get(id) else { return Vec::new() };
        let mut asks: Vec<_> = group.asks.iter().map(|ask| (&self.books.asks[*ask].spec.key, *ask)).collect();
        asks.sort_unstable();
        asks.into_iter().map(|(_, ask)| ask).collect()
    }

    /// The TaskGroup is gone: its placeholders go, unbound members park, running ones stay charged (01, 1.5).
    pub(super) fn lose_group(&mut self, key: &Key) {
        let Some(id) = self.books.group_ids.get(key).copied() else { return };
        if self.books.groups[id].spec.is_none() {
            return self.books.forget_group_if_idle(id);
        }
        let app = self.books.groups[id].app;
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.books.replace_seats(id, Seats::default());
        let group = &mut self.books.groups[id];
        (group.spec, group.app, group.shown) = (None, None, None);
        group.closed_out = false;
        self.shown_groups.remove(&id);
        for ask in self.sorted_asks(id) {
            self.books.shelve(ask, Shelf::Off, false);
            self.books.link(ask, None, Some(id));
            self.shown_asks.insert(ask);
        }
        if let Some(app) = app {
            self.books.apps[app].groups.retain(|group| *group != id);
            if self.books.apps[app].state == AppState::Accepted {
                self.abandon(app, TerminationType::StoppedByRm);
                self.renew(app);
            }
            self.touch(Some(app));
            self.forget_app_if_idle(app);
        }
        self.books.forget_group_if_idle(id);
    }

    /// Opens every seat of a group that is not taken and gives back what holds it.
    pub(super) fn empty_seats(&mut self, id: GroupId, why: TerminationType) {
        let seats: Vec<_> = self.books.groups[id].seats.iter().collect();
        for (number, seat) in seats {
            match seat.state {
                SeatState::Open(Reserve::Creating) => {
                    self.cancel_creation(id, number);
                    self.books.seat(id, number, SeatState::Open(Reserve::None));
                }
                SeatState::Open(Reserve::Pending(ask)) | SeatState::Held(ask) => self.give_back(ask, why),
                SeatState::Assumed(ask) => match self.books.asks[ask].state {
                    AskState::Assumed { sent: true, .. } if !self.books.asks[ask].is_placeholder() => {}
                    AskState::Assumed { .. } if self.books.asks[ask].is_placeholder() => self.give_back(ask, why),
                    AskState::Assumed { .. }
                    | AskState::Waiting
                    | AskState::Parked { .. }
                    | AskState::Bound { .. }
                    | AskState::Finished => self.unassume(ask),
                },
                SeatState::Releasing { member, .. } => self.unpark(member),
                SeatState::Open(Reserve::None) | SeatState::Taken(_) => {}
            }
        }
    }

    /// Releases a placeholder and opens its seat; what it uses is freed when it is gone.
    fn give_back(&mut self, placeholder: AskId, why: TerminationType) {
        self.vacate(placeholder, SeatState::Open(Reserve::None));
        self.release(placeholder, why);
    }

    /// Nothing is held any more: every seat is open, every assumption taken back (01, 1.3 "No hold and wait").
    pub(super) fn abandon(&mut self, app: AppId, why: TerminationType) {
        for group in self.books.apps[app].groups.clone() {
            self.empty_seats(group, why);
        }
        for ask in self.books.apps[app].asks.clone() {
            if let AskState::Assumed { sent: false, .. } = self.books.asks[ask].state {
                self.unassume(ask);
            }
        }
        self.close_gate(app);
    }

    /// To be judged (again), where the state machine allows it.
    pub(super) fn renew(&mut self, app: AppId) {
        let state = self.books.apps[app].state;
        if let Some(next) = state.next(AppEvent::Renew) {
            self.leave_contest(app);
            let app = &mut self.books.apps[app];
            (app.state, app.waits) = (next, None);
            app.rejected.clear();
        }
        self.touch(Some(app));
    }

    /// Forgets an application that neither a TaskGroup nor a pod names.
    pub(super) fn forget_app_if_idle(&mut self, id: AppId) {
        if !self.books.apps.get(id).is_some_and(|app| app.groups.is_empty() && app.asks.is_empty()) {
            return;
        }
        self.leave_contest(id);
        self.leave_queue(id);
        let app = self.books.apps.remove(id).expect("looked at just now");
        self.books.app_ids.remove(&app.key);
        self.dirty.remove(&id);
        self.cramped.remove(&id);
    }

    /// The application leaves its queue: it is not counted there any more.
    pub(super) fn leave_queue(&mut self, id: AppId) {
        self.dismiss(id);
        if let Some(queue) = self.books.apps[id].queue.take() {
            self.books.queues.release(queue);
            self.shown_queues.insert(queue);
            self.stirred = true;
        }
    }

    /// Takes the application off `maxApplications`.
    pub(super) fn dismiss(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        if std::mem::replace(&mut app.admitted, false)
            && let Some(queue) = app.queue
        {
            self.books.queues.dismiss(queue);
            self.stirred = true;
        }
    }

    /// A Queue as last observed and found valid.
    pub(super) fn see_queue(&mut self, path: &Text, spec: QueueSpec) {
        if let Some(id) = self.books.queues.define(path, spec) {
            self.queue_changed(id);
            self.adopt_queueless();
        }
    }

    /// The Queue drains.
    pub(super) fn lose_queue(&mut self, path: &Text) {
        if let Some(id) = self.books.queues.find(path) {
            self.books.queues.retain(id);
            self.books.queues.undefine(path);
            self.queue_changed(id);
            self.books.queues.release(id);
            self.shown_queues.remove(&id);
        }
    }

    /// Applications that wait or were refused because of a queue on their path are judged again; pods outside
    /// applications look for their queue again.
    fn queue_changed(&mut self, changed: QueueId) {
        self.stirred = true;
        let path = self.books.queues[changed].path.clone();
        let concerns = |name: &str| path.starts_with(name) || name.starts_with(&*path);
        let apps: Vec<_> = (self.books.apps.iter())
            .filter(|(_, app)| self.app_queue_path(app).is_some_and(|name| concerns(&name)))
            .map(|(id, app)| (id, app.state))
            .collect();
        for (id, state) in apps {
            match state {
                AppState::Rejected | AppState::New => self.renew(id),
                AppState::Accepted => self.judge_again(id),
                AppState::Running | AppState::Waiting | AppState::Completed => {}
            }
            self.touch(Some(id));
        }
        self.shown_queues.extend(self.books.queues.iter().filter(|(_, queue)| concerns(&queue.path)).map(|(id, _)| id));
        self.reshelve_ordinary(changed);
    }

    fn app_queue_path(&self, app: &super::application::App) -> Option<Text> {
        let group = app.groups.first().and_then(|group| self.books.groups[*group].spec.as_ref());
        let own = || app.asks.first().and_then(|ask| self.books.asks[*ask].spec.queue.clone());
        group.map(|spec| spec.queue.clone()).or_else(own).or_else(|| Some(super::queue::DEFAULT_QUEUE.into()))
    }

    /// Ordinary asks of a queue that may not take them any more.
    fn reshelve_ordinary(&mut self, changed: QueueId) {
        let asks: Vec<_> = (self.books.ordinary.iter())
            .filter(|((queue, _), _)| *queue == changed)
            .flat_map(|(_, asks)| asks.iter().map(|(_, ask)| *ask))
            .collect();
        for ask in asks {
            self.reshelve(ask);
            self.shown_asks.insert(ask);
        }
    }

    fn adopt_queueless(&mut self) {
        for ask in std::mem::take(&mut self.queueless).into_values().flatten() {
            if self.books.asks.get(ask).is_some() {
                self.reshelve(ask);
                self.shown_asks.insert(ask);
            }
        }
    }

    pub(super) fn forget_queueless(&mut self, id: AskId) {
        let Some(path) = self.books.asks[id].spec.queue.clone() else { return };
        if let Some(asks) = self.queueless.get_mut(&path) {
            asks.remove(&id);
            if asks.is_empty() {
                self.queueless.remove(&path);
            }
        }
    }

    /// A Node as last observed.
    pub(super) fn see_node(&mut self, name: &Text, spec: NodeSpec) {
        let change = self.books.nodes.see(name, spec);
        if change.eligibility {
            self.books.classes.node_changed(&self.books.nodes, change.node);
        }
        if change.eligibility || change.grew {
            self.grown.insert(change.node);
            self.stirred = true;
        }
    }

    /// The Node is gone: seats held there are lost; real members stay facts until their pods go (01, 1.5).
    pub(super) fn lose_node(&mut self, name: &Text) {
        let Some(node) = self.books.nodes.id(name) else { return };
        let mut residents: Vec<_> = (self.books.residents.get(&node).into_iter().flatten())
            .map(|id| (self.books.asks[*id].spec.key.clone(), *id))
            .collect();
        residents.sort_unstable();
        if let Some(node) = self.books.nodes.gone(name) {
            self.books.classes.node_changed(&self.books.nodes, node);
        }
        residents.into_iter().for_each(|(_, id)| self.lose_place(id, node));
    }

    fn lose_place(&mut self, id: AskId, node: NodeId) {
        let ask = &self.books.asks[id];
        let (app, group) = (ask.app, ask.group);
        match ask.state {
            AskState::Assumed { sent: false, .. } => self.unassume(id),
            AskState::Parked { placeholder } if self.books.asks[placeholder].node() != Some(node) => {
                // Only the target on another node is lost; the swap goes on and looks for another at confirmation.
                self.free(id);
            }
            AskState::Assumed { .. } | AskState::Bound { .. } if ask.is_placeholder() && ask.leaving.is_none() => {
                self.give_back(id, TerminationType::StoppedByRm);
            }
            AskState::Assumed { .. }
            | AskState::Bound { .. }
            | AskState::Parked { .. }
            | AskState::Waiting
            | AskState::Finished => {}
        }
        self.shown_groups.extend(group);
        self.touch(app);
    }

    /// What the ResourceQuotas of a namespace allow at all.
    pub(super) fn see_namespace(&mut self, namespace: &Text, limit: &Limit) {
        if self.books.namespace_limits.insert(namespace.clone(), limit.clone()).is_some_and(|old| old == *limit) {
            return;
        }
        let apps: Vec<_> = (self.books.apps.iter())
            .filter(|(_, app)| app.key.namespace == *namespace && app.state == AppState::Rejected)
            .map(|(id, _)| id)
            .collect();
        apps.into_iter().for_each(|id| self.renew(id));
    }
}
