//! TaskGroups come into the application that they name, and an application begins anew when its TaskGroups or their
//! specs have changed (01, 1.1, 1.5, 1.8).

use crate::core::base::ids::{AppId, AskId, GangId, GroupId};
use crate::core::decision::TerminationType;
use crate::core::event::GroupSpec;
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Task groups that came since the last step, in the order of their names.
    pub(super) fn attach_arrived(&mut self) {
        let arrived = std::mem::take(&mut self.books.due.arrived);
        let is_new =
            |id: &GroupId| self.books.groups.get(*id).is_some_and(|group| group.spec.is_some() && group.app.is_none());
        let mut arrived: Vec<_> = arrived.into_iter().filter(is_new).collect();
        arrived.sort_unstable_by(|a, b| self.books.groups[*a].key.cmp(&self.books.groups[*b].key));
        arrived.into_iter().for_each(|id| self.attach(id));
    }

    /// Adds a TaskGroup to the application that it names, or notes that the application is closed to the TaskGroup.
    pub(super) fn attach(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        let (application, named) = (group.application(), group.named_by_pods());
        let app = self.books.app_at(&application);
        self.books.doubt_groups_of(&named);
        let is_open = self.takes(app, id);
        if is_open {
            self.books.take_in(app, id);
            self.renew_unless_started(app);
        } else {
            self.books.groups[id].closed_out = true;
            self.books.apps[app].outsiders.insert(id);
        }
        self.relink_all(id);
        if is_open && self.books.apps[app].has_started() {
            self.join(app, id);
        }
        self.books.changes.groups.insert(id);
        self.books.touch(app);
        self.books.wake_awaiting(&self.books.groups[id].key.clone());
    }

    /// An application got another TaskGroup: it is judged again, unless it has started. Its first TaskGroup makes it
    /// begin anew in any case.
    fn renew_unless_started(&mut self, app: AppId) {
        let is_first = self.books.apps[app].groups.len() == 1;
        if is_first || !self.books.apps[app].has_started() {
            self.renew(app);
        }
        if is_first {
            // With its first TaskGroup it is no application of pods alone any more: its incarnations are counted anew.
            let app = &mut self.books.apps[app];
            (app.incarnation, app.placed) = (0, false);
        }
    }

    /// Members of applications of which it may be known otherwise which task groups they have: each is of its task group, or
    /// an ordinary pod.
    pub(super) fn regroup(&mut self) {
        for app in std::mem::take(&mut self.books.due.regroup) {
            let named = self.books.naming.get(&app).into_iter().flatten().copied();
            let waits = |ask: &AskId| self.books.asks[*ask].state == AskState::Waiting;
            for ask in self.books.by_name(named.filter(waits)) {
                self.regroup_one(ask);
            }
        }
    }

    /// An ordinary pod may stand in another line, too: with task groups its application starts without it.
    fn regroup_one(&mut self, ask: AskId) {
        let (was, is) = (self.books.is_ordinary(ask), self.books.ordinary_of(ask).is_some());
        if was != is {
            self.books.stand_in_line(ask, WaitsFor::Nothing);
            self.books.relink(ask);
        }
        if was || is {
            self.books.line_up(ask);
            self.books.changes.asks.insert(ask);
        }
    }

    fn relink_all(&mut self, id: GroupId) {
        for ask in self.books.sorted_asks(id) {
            self.books.relink(ask);
            if self.books.asks[ask].is_placeholder() {
                self.absorb(ask);
            }
            self.books.line_up(ask);
            self.books.changes.asks.insert(ask);
        }
    }

    /// A TaskGroup comes back into a gang that runs: its seats are open, and nothing begins anew.
    fn join(&mut self, app: AppId, id: GroupId) {
        self.books.groups[id].lived = self.books.apps[app].incarnation;
        self.load_remembered(id);
        self.make_seats(id);
    }

    /// Edits that were made while the application lived come into force at its end. They do not begin a new life by
    /// themselves.
    pub(super) fn take_up_edits(&mut self, app: AppId) {
        for id in self.books.apps[app].groups.clone() {
            let group = &mut self.books.groups[id];
            let Some(spec) = group.edited.take() else { continue };
            if spec.application_of(&group.key) == group.application() {
                group.spec = Some(Box::new(GroupSpec { remembered: group.spec().remembered.clone(), ..*spec }));
                let named = group.named_by_pods();
                self.books.doubt_groups_of(&named);
            } else {
                self.books.resubmit(id, *spec);
            }
        }
    }

    /// To be judged (again), where the state machine allows it. An ended application whose placeholders still leave is
    /// judged when they are gone.
    pub(in crate::core) fn renew(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        if app.is_over() && app.queue.is_some() {
            app.resubmitted = true;
            self.fail_no_more(id);
            return self.books.touch(id);
        }
        let (gang, state) = (app.gang, app.state());
        if matches!(state, AppState::Accepted | AppState::Resuming) {
            self.abandon(gang, TerminationType::StoppedByRm);
        }
        if self.books.transit(id, AppEvent::Renew) {
            let app = &mut self.books.apps[id];
            (app.resubmitted, app.placed, app.timed_out) = (false, false, None);
            app.begun_anew = false;
            app.rejected.clear();
            self.books.end_countdowns(id);
            self.fail_no_more(id);
            let gang_entry = &mut self.books.gangs[gang];
            (gang_entry.waits, gang_entry.tried, gang_entry.real_ask) = (None, None, None);
            self.books.take_no_turn(gang);
            self.books.leave_queue(id);
            for group in self.books.apps[id].groups.clone() {
                self.books.end_life(group);
            }
            self.books.line_up_originators(gang);
            self.books.show_app(id);
        }
        self.books.touch(id);
    }

    /// Nothing is held any more: every seat is open, every assumption taken back (01, 1.3 "No hold and wait").
    pub(in crate::core) fn abandon(&mut self, id: GangId, why: TerminationType) {
        for group in self.books.gangs[id].groups.clone() {
            self.books.empty_seats(group, why);
        }
        for ask in self.books.originators_of(id) {
            if let AskState::Assumed { sent: false, .. } = self.books.asks[ask].state {
                self.books.unassume(ask);
            }
        }
        self.close_gate(id);
    }
}
