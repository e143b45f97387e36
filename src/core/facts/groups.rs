//! TaskGroups come, change and go, and with them what an application consists of (01, 1.1, 1.5).

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Key};
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::GroupSpec;
use crate::core::model::ask::{AskState, Shelf};
use crate::core::model::group::Group;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::step::Scheduler;

impl Scheduler {
    /// A TaskGroup as last observed.
    pub(in crate::core) fn see_group(&mut self, key: &Key, spec: GroupSpec) {
        if spec.terminating {
            return self.lose_group(key);
        }
        let id = self.books.group_at(key);
        match &self.books.groups[id].spec {
            Some(old) if old.uid == spec.uid => self.update_group(id, spec),
            Some(_) => {
                self.lose_group(key);
                let id = self.books.group_at(key);
                self.add_group(id, spec);
            }
            None => self.add_group(id, spec),
        }
    }

    /// A TaskGroup is read for the first time, of which only its name was known: it and its pods are found anew, as by a new
    /// process.
    pub(in crate::core) fn read_group(&mut self, key: &Key, spec: GroupSpec) {
        let known = self.books.group_ids.get(key).copied().filter(|id| self.books.groups[*id].spec.is_some());
        let Some(id) = known.filter(|_| !spec.terminating) else { return self.see_group(key, spec) };
        let app = self.books.groups[id].app;
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        let group = &mut self.books.groups[id];
        (group.spec, group.edited, group.lived) = (Some(Box::new(spec)), None, 0);
        app.into_iter().for_each(|app| self.lacks_a_group(app));
        self.attach(id);
    }

    fn add_group(&mut self, id: GroupId, spec: GroupSpec) {
        self.books.groups[id].spec = Some(Box::new(spec));
        self.attach(id);
    }

    /// Adds a TaskGroup to the application that it names, or notes that it is closed to it.
    pub(in crate::core) fn attach(&mut self, id: GroupId) {
        let app = self.books.app_at(&app_key(&self.books.groups[id]));
        let is_open = self.takes(app, id);
        if is_open {
            self.books.take_in(app, id);
            self.renew_unless_started(app);
        } else {
            self.books.groups[id].closed_out = true;
            self.books.apps[app].latecomers.insert(id);
        }
        self.relink_all(id);
        if is_open && self.books.apps[app].has_started() {
            self.join(app, id);
        }
        self.books.changes.groups.insert(id);
        self.books.touch(app);
        self.wake_awaiting(&self.books.groups[id].key.clone());
    }

    /// A TaskGroup comes back into a gang that runs: its seats are open, and nothing begins anew.
    fn join(&mut self, app: AppId, id: GroupId) {
        self.books.groups[id].lived = self.books.apps[app].incarnation;
        self.load_remembered(id);
        self.make_seats(id);
    }

    /// What an application consists of changed: judged again, unless it started with what it had.
    fn renew_unless_started(&mut self, app: AppId) {
        let is_first = self.books.apps[app].groups.len() == 1;
        if is_first || !self.books.apps[app].has_started() {
            self.renew(app);
        }
        if is_first {
            // With its first TaskGroup it is another application, with lives of its own.
            let app = &mut self.books.apps[app];
            (app.incarnation, app.placed) = (0, false);
        }
    }

    /// Takes a TaskGroup out of its application, or from those that wait outside.
    fn detach(&mut self, id: GroupId) {
        self.books.end_life(id);
        let app = self.books.put_out(id);
        let group = &mut self.books.groups[id];
        group.closed_out = false;
        let outside = self.books.app_ids.get(&app_key(group)).copied();
        if let (None, Some(app)) = (app, outside) {
            self.books.apps[app].latecomers.remove(&id);
            self.forget_app_if_idle(app);
        }
        self.unlink_all(id);
    }

    /// An application that started keeps the spec that it started with, but for timeouts; before that, and after its end,
    /// a new spec is judged (01, 1.2.4, ADR 0009).
    fn update_group(&mut self, id: GroupId, spec: GroupSpec) {
        let group = &self.books.groups[id];
        let (app, latest) = (group.app, group.edited.as_deref().unwrap_or(group.spec()));
        if latest.generation == spec.generation {
            return;
        }
        let only_timeouts = group.spec().differs_in_timeouts_only(&spec);
        match app.map_or(AppState::New, |app| self.books.apps[app].state()) {
            AppState::Running | AppState::Waiting => self.edit_later(id, spec, only_timeouts),
            AppState::Accepted if only_timeouts => self.edit_later(id, spec, only_timeouts),
            AppState::New | AppState::Accepted | AppState::Rejected | AppState::Completed => self.resubmit(id, spec),
        }
        self.books.changes.groups.insert(id);
        self.books.changes.apps.extend(app);
    }

    /// Timeouts hold at once; everything else waits for the next life.
    fn edit_later(&mut self, id: GroupId, spec: GroupSpec, only_timeouts: bool) {
        self.change_timeouts(id, &spec);
        let group = &mut self.books.groups[id];
        if only_timeouts {
            group.spec.as_mut().expect("looked at just now").generation = spec.generation;
        }
        group.edited = (!only_timeouts).then(|| Box::new(spec));
    }

    /// What was edited while the application lived holds from its end on. By itself it begins no new life.
    pub(in crate::core) fn take_up_edits(&mut self, app: AppId) {
        for id in self.books.apps[app].groups.clone() {
            let group = &mut self.books.groups[id];
            let Some(spec) = group.edited.take() else { continue };
            if spec.application == group.spec().application {
                group.spec = Some(Box::new(GroupSpec { remembered: group.spec().remembered.clone(), ..*spec }));
            } else {
                self.resubmit(id, *spec);
            }
        }
    }

    fn change_timeouts(&mut self, id: GroupId, spec: &GroupSpec) {
        let stored = self.books.groups[id].spec.as_mut().expect("looked at just now");
        stored.completion_timeout_ms = spec.completion_timeout_ms;
        // A deadline that runs already moves along, for all of them.
        let app = self.books.groups[id].app.map(|app| &self.books.apps[app]);
        self.books.changes.groups.extend(app.into_iter().flat_map(|app| &app.groups));
    }

    fn resubmit(&mut self, id: GroupId, spec: GroupSpec) {
        let group = &mut self.books.groups[id];
        let old = group.spec();
        let remembered = old.remembered.clone();
        let stays = group.app.is_some() && old.application == spec.application;
        group.edited = None;
        let app = group.app;
        let spec = GroupSpec { remembered, ..spec };
        if stays {
            group.spec = Some(Box::new(spec));
            return app.into_iter().for_each(|app| self.renew(app));
        }
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        self.books.groups[id].spec = Some(Box::new(spec));
        app.into_iter().for_each(|app| self.lacks_a_group(app));
        self.attach(id);
    }

    pub(in crate::core) fn relink_all(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            self.relink(ask);
            if self.books.asks[ask].is_placeholder() {
                self.absorb(ask);
            }
            self.reshelve(ask);
            self.books.changes.asks.insert(ask);
        }
    }

    /// A group's pods in the order of their names: decisions must not depend on the order of arrival.
    pub(in crate::core) fn sorted_asks(&self, id: GroupId) -> Vec<AskId> {
        let Some(group) = self.books.groups.get(id) else { return Vec::new() };
        let mut asks: Vec<_> = group.asks.iter().map(|ask| (&self.books.asks[*ask].spec.key, *ask)).collect();
        asks.sort_unstable();
        asks.into_iter().map(|(_, ask)| ask).collect()
    }

    /// The TaskGroup is gone: its placeholders go, unbound members park, running ones stay charged (01, 1.5).
    pub(in crate::core) fn lose_group(&mut self, key: &Key) {
        let Some(id) = self.books.group_ids.get(key).copied() else { return };
        if self.books.groups[id].spec.is_none() {
            return self.books.forget_group_if_idle(id);
        }
        let app = self.books.groups[id].app;
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        let group = &mut self.books.groups[id];
        (group.spec, group.edited, group.lived) = (None, None, 0);
        self.books.changes.groups.remove(&id);
        self.orphan(id);
        app.into_iter().for_each(|app| self.lacks_a_group(app));
        self.books.forget_group_if_idle(id);
        self.wake_awaiting(key);
    }

    /// One of its TaskGroups is gone: before its start it is not the same gang any more and is judged again.
    fn lacks_a_group(&mut self, app: AppId) {
        match self.books.apps[app].state() {
            AppState::New | AppState::Accepted | AppState::Rejected => self.renew(app),
            AppState::Running | AppState::Waiting | AppState::Completed => {}
        }
        self.let_latecomers_in(app);
        self.books.touch(app);
        self.forget_app_if_idle(app);
    }

    /// Pods without their TaskGroup: those with a node are nobody's, the others park until there is one again. So do those
    /// whose Binding has not left.
    fn orphan(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            let entry = &self.books.asks[ask];
            let parks = entry.is_placeholder() || entry.state == AskState::Waiting;
            self.books.shelve(ask, Shelf::Off);
            self.books.link(ask, None, parks.then_some(id));
            if self.books.asks[ask].is_placeholder() {
                self.release(ask, TerminationType::StoppedByRm);
            } else if self.is_being_bound(ask) {
                self.decide(Decision::Recall(ask));
            }
            self.books.changes.asks.insert(ask);
        }
    }

    pub(in crate::core) fn unlink_all(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            self.books.shelve(ask, Shelf::Off);
            self.books.link(ask, None, Some(id));
            self.books.changes.asks.insert(ask);
        }
    }

    /// Opens every seat of a group that is not taken and gives back what holds it.
    pub(in crate::core) fn empty_seats(&mut self, id: GroupId, why: TerminationType) {
        let seats: Vec<_> = self.books.groups[id].seats.iter().collect();
        for (number, seat) in seats {
            match seat.state {
                SeatState::Open(Reserve::Creating) => self.cancel_creation(id, number),
                SeatState::Open(Reserve::Pending(ask))
                | SeatState::Held(ask)
                | SeatState::Leaving(ask)
                | SeatState::Binding(ask) => self.give_back(ask, why),
                SeatState::Assumed(ask) => match self.books.asks[ask].state {
                    // Its Binding is on its way and cannot be taken back.
                    AskState::Assumed { sent: true, .. } => {}
                    AskState::Assumed { sent: false, .. }
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
    pub(in crate::core) fn give_back(&mut self, placeholder: AskId, why: TerminationType) {
        self.books.vacate(placeholder, SeatState::Open(Reserve::None));
        self.release(placeholder, why);
    }

    /// Nothing is held any more: every seat is open, every assumption taken back (01, 1.3 "No hold and wait").
    pub(in crate::core) fn abandon(&mut self, id: GangId, why: TerminationType) {
        for group in self.books.gangs[id].groups.clone() {
            self.empty_seats(group, why);
        }
        for ask in self.books.originators_of(id) {
            if let AskState::Assumed { sent: false, .. } = self.books.asks[ask].state {
                self.unassume(ask);
            }
        }
        self.close_gate(id);
    }

    /// To be judged (again), where the state machine allows it. An ended application whose placeholders still leave is
    /// judged when they are gone.
    pub(in crate::core) fn renew(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        if app.state() == AppState::Completed && app.queue.is_some() {
            app.resubmitted = true;
            return self.books.touch(id);
        }
        let (gang, state) = (app.gang, app.state());
        if state == AppState::Accepted {
            self.abandon(gang, TerminationType::StoppedByRm);
        }
        if self.books.transit(id, AppEvent::Renew) {
            let app = &mut self.books.apps[id];
            (app.resubmitted, app.placed) = (false, false);
            app.rejected.clear();
            self.books.end_idling(id);
            let gang_entry = &mut self.books.gangs[gang];
            (gang_entry.waits, gang_entry.blocked, gang_entry.real_ask) = (None, None, None);
            self.take_no_turn(gang);
            self.leave_queue(id);
            for group in self.books.apps[id].groups.clone() {
                self.books.end_life(group);
            }
            self.reshelve_originators(gang);
            self.books.show_app(id);
        }
        self.books.touch(id);
    }

    /// Forgets an application that neither a TaskGroup nor a pod names.
    pub(in crate::core) fn forget_app_if_idle(&mut self, id: AppId) {
        let is_idle = |app: &crate::core::model::application::App| {
            app.groups.is_empty() && app.asks.is_empty() && app.latecomers.is_empty()
        };
        if !self.books.apps.get(id).is_some_and(is_idle) {
            return;
        }
        self.take_no_turn(self.books.apps[id].gang);
        self.leave_queue(id);
        self.await_groups(id, &[]);
        self.books.forget_app(id);
        self.cramped.remove(&id);
    }

    /// The application leaves its queue: it is not counted there any more.
    pub(in crate::core) fn leave_queue(&mut self, id: AppId) {
        self.dismiss(id);
        self.books.count_app(id, None);
        if let Some(queue) = self.books.apps[id].queue.take() {
            self.books.changes.queues.insert(queue);
            self.books.changes.groups.extend(&self.books.apps[id].groups);
            self.books.queues.release(queue);
            self.books.changes.pass_due = true;
        }
    }

    /// Takes the application off `maxApplications`.
    pub(in crate::core) fn dismiss(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        if std::mem::replace(&mut app.admitted, false)
            && let Some(queue) = app.queue
        {
            self.books.queues.dismiss(queue);
            self.books.changes.pass_due = true;
        }
    }
}

fn app_key(group: &Group) -> Key {
    Key { namespace: group.key.namespace.clone(), name: group.spec().application.clone() }
}
