//! TaskGroups come, change and go, and with them what an application consists of (01, 1.1, 1.5).

use std::mem;

use crate::core::base::ids::{AppId, GroupId, Key};
use crate::core::decision::TerminationType;
use crate::core::event::GroupSpec;
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::countdown::Deadline;
use crate::core::model::due::Verdict;
use crate::core::model::lifecycle::AppState;

impl Books {
    /// A TaskGroup as last observed.
    pub(in crate::core) fn see_group(&mut self, key: &Key, spec: GroupSpec) {
        if spec.terminating {
            return self.lose_group(key);
        }
        let id = self.group_at(key);
        match &self.groups[id].spec {
            Some(old) if old.uid == spec.uid => self.update_group(id, spec),
            Some(_) => {
                self.lose_group(key);
                let id = self.group_at(key);
                self.add_group(id, spec);
            }
            None => self.add_group(id, spec),
        }
    }

    /// A TaskGroup of which only the name was known is read for the first time. It is taken out of its application and
    /// comes in again with its pods, as if a new process found them.
    pub(in crate::core) fn read_group(&mut self, key: &Key, spec: GroupSpec) {
        let known = self.group_ids.get(key).copied().filter(|id| self.groups[*id].spec.is_some());
        let Some(id) = known.filter(|_| !spec.terminating) else { return self.see_group(key, spec) };
        let app = self.groups[id].app;
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        let group = &mut self.groups[id];
        (group.spec, group.edited, group.lived) = (Some(Box::new(spec)), None, 0);
        self.becomes_incomplete(app);
        self.arrive(id);
    }

    fn add_group(&mut self, id: GroupId, spec: GroupSpec) {
        self.groups[id].spec = Some(Box::new(spec));
        self.arrive(id);
    }

    /// Notes that a TaskGroup came. Only once all facts of the step are in does it come into the application that it
    /// names, or stay outside because the application is closed to it.
    fn arrive(&mut self, id: GroupId) {
        self.due.arrived.insert(id);
        self.changes.groups.insert(id);
    }

    /// Takes a TaskGroup out of its application, or out of the outsiders of the application that it names.
    fn detach(&mut self, id: GroupId) {
        self.end_life(id);
        let app = self.put_out(id);
        let group = &mut self.groups[id];
        group.closed_out = false;
        let (application, named) = (group.application(), group.named_by_pods());
        self.doubt_groups_of(&named);
        let outside = self.app_ids.get(&application).copied();
        if let (None, Some(app)) = (app, outside) {
            self.apps[app].outsiders.remove(&id);
            self.forget_app_if_idle(app);
        }
        self.unlink_all(id);
    }

    /// An application that started keeps the spec that it started with, but for timeouts; before that, and after its
    /// end, a new spec is judged (01, 1.2.4, ADR 0009).
    fn update_group(&mut self, id: GroupId, spec: GroupSpec) {
        self.heed_status(id, &spec);
        let has_turned = self.heed_edit(id, spec.awaits_edit);
        let group = &self.groups[id];
        let (app, latest) = (group.app, group.edited.as_deref().unwrap_or(group.spec()));
        let state = app.map_or(AppState::New, |app| self.apps[app].state());
        let is_to_start = matches!(state, AppState::New | AppState::Accepted | AppState::Rejected);
        if latest.generation == spec.generation && !(has_turned && is_to_start) {
            return;
        }
        let only_timeouts = group.spec().differs_in_timeouts_only(&spec);
        match state {
            AppState::Resuming | AppState::Running | AppState::Waiting => self.edit_later(id, spec, only_timeouts),
            AppState::Accepted if only_timeouts && !has_turned => self.edit_later(id, spec, only_timeouts),
            AppState::New | AppState::Accepted | AppState::Rejected | AppState::Completed | AppState::Killed => {
                self.resubmit(id, spec)
            }
        }
        self.changes.groups.insert(id);
        self.changes.apps.extend(app);
    }

    /// The status says that the application timed out: what follows from that waits for it (02, 2.1 "written ahead").
    fn heed_status(&mut self, id: GroupId, spec: &GroupSpec) {
        let group = &mut self.groups[id];
        let Some(app) = group.app.filter(|app| self.apps[*app].timed_out.is_some()) else { return };
        let is_of_this_life = spec.remembered.incarnation == self.apps[app].incarnation;
        if is_of_this_life && spec.remembered.timed_out.is_some() && !group.says_timed_out {
            group.says_timed_out = true;
            self.changes.apps.insert(app);
        }
    }

    /// Notes whether a TaskGroup is to be edited before its gang starts. Returns whether that is new.
    fn heed_edit(&mut self, id: GroupId, awaits_edit: bool) -> bool {
        let group = &mut self.groups[id];
        let specs = group.spec.iter_mut().chain(&mut group.edited);
        specs
            .map(|spec| mem::replace(&mut spec.awaits_edit, awaits_edit) != awaits_edit)
            .fold(false, |any, one| any | one)
    }

    /// Timeouts hold at once; everything else waits for the next life.
    fn edit_later(&mut self, id: GroupId, spec: GroupSpec, only_timeouts: bool) {
        self.change_timeouts(id, &spec);
        let group = &mut self.groups[id];
        if only_timeouts {
            group.spec.as_mut().expect("looked at just now").generation = spec.generation;
        }
        group.edited = (!only_timeouts).then(|| Box::new(spec));
    }

    fn change_timeouts(&mut self, id: GroupId, spec: &GroupSpec) {
        let stored = self.groups[id].spec.as_mut().expect("looked at just now");
        let times = |spec: &GroupSpec| (spec.seat_hold, spec.timeouts.of(Deadline::Placeholder));
        let is_held_as_long = times(stored) == times(spec);
        (stored.timeouts, stored.seat_hold) = (spec.timeouts, spec.seat_hold);
        if !is_held_as_long && let Some(app) = self.groups[id].app {
            self.rehold(app);
        }
        // A deadline that runs already moves with the timeout, and every task group of the application shows it.
        let app = self.groups[id].app.map(|app| &self.apps[app]);
        self.changes.groups.extend(app.into_iter().flat_map(|app| &app.groups));
    }

    pub(in crate::core) fn resubmit(&mut self, id: GroupId, spec: GroupSpec) {
        let group = &mut self.groups[id];
        let old = group.spec();
        let remembered = old.remembered.clone();
        let stays = group.app.is_some() && old.application_of(&group.key) == spec.application_of(&group.key);
        group.edited = None;
        let app = group.app;
        let spec = GroupSpec { remembered, ..spec };
        if stays {
            let before = group.named_by_pods();
            group.spec = Some(Box::new(spec));
            let now = group.named_by_pods();
            self.doubt_groups_of(&before);
            self.doubt_groups_of(&now);
            return app.into_iter().for_each(|app| self.due.judge(app, Verdict::Resubmitted));
        }
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        self.groups[id].spec = Some(Box::new(spec));
        self.becomes_incomplete(app);
        self.arrive(id);
    }

    /// The TaskGroup is gone: its placeholders go, unbound members park, running ones stay charged (01, 1.5).
    pub(in crate::core) fn lose_group(&mut self, key: &Key) {
        let Some(id) = self.group_ids.get(key).copied() else { return };
        if self.groups[id].spec.is_none() {
            return self.forget_group_if_idle(id);
        }
        let app = self.groups[id].app;
        self.empty_seats(id, TerminationType::StoppedByRm);
        self.detach(id);
        let group = &mut self.groups[id];
        (group.spec, group.edited, group.lived) = (None, None, 0);
        self.changes.groups.remove(&id);
        self.orphan(id);
        self.becomes_incomplete(app);
        self.forget_group_if_idle(id);
        self.wake_awaiting(key);
    }

    fn becomes_incomplete(&mut self, app: Option<AppId>) {
        app.into_iter().for_each(|app| self.due.judge(app, Verdict::Incomplete));
    }

    /// The TaskGroup of these pods is gone. Placeholders are released. Waiting members park until there is a TaskGroup
    /// of that name again. Members with a node belong to nothing any more; but if the Binding of one has not left, it
    /// is recalled, and the member parks too.
    fn orphan(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            let entry = &self.asks[ask];
            let parks = entry.is_placeholder() || entry.state == AskState::Waiting;
            self.stand_in_line(ask, WaitsFor::Nothing);
            self.link(ask, None, parks.then_some(id));
            if self.asks[ask].is_placeholder() {
                self.release(ask, TerminationType::StoppedByRm);
            } else if self.is_being_bound(ask) {
                self.due.doubted.insert(ask);
            }
            self.changes.asks.insert(ask);
        }
    }
}
