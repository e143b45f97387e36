//! Where applications and gangs stand: the functions that give an application a state, and its gang the stage that goes
//! with it.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Key, QueueId};
use crate::core::model::application::App;
use crate::core::model::books::Books;
use crate::core::model::gang::{Gang, SETTLE_MS, Stage};
use crate::core::model::group::Group;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::timers::Timer;

impl Books {
    /// Takes an event of the state machine: the one function that gives an application another state. Its gang gets the
    /// stage that goes with it. Returns whether the event meant anything.
    pub fn transit(&mut self, id: AppId, event: AppEvent) -> bool {
        let app = &mut self.apps[id];
        let Some(next) = app.state.next(event) else { return false };
        app.state = next;
        let gang = app.gang;
        match next {
            AppState::New | AppState::Rejected | AppState::Completed => self.enter(gang, Stage::Outside),
            AppState::Accepted => self.enter(gang, Stage::Gate),
            AppState::Running | AppState::Waiting => self.enter(gang, Stage::Started),
        }
        true
    }

    /// Gives a gang another stage, with the timer that belongs to it.
    pub fn enter(&mut self, id: GangId, stage: Stage) {
        let due = match &stage {
            Stage::Settling { until, latest } => Some((Timer::Settle(id), *until.min(latest))),
            Stage::BackOff { until } => Some((Timer::BackOff(id), *until)),
            Stage::Outside | Stage::Gate | Stage::Reserving | Stage::Started => None,
        };
        if matches!(stage, Stage::Outside | Stage::Started) {
            self.leave_front(id);
        }
        self.timers.stop(Timer::Settle(id));
        self.timers.stop(Timer::BackOff(id));
        due.into_iter().for_each(|(timer, at)| self.timers.set(timer, at));
        self.reserve_for(id, &stage);
        self.gangs[id].stage = stage;
    }

    /// A member came while the gang settles: it waits a little longer for more.
    pub fn extend_settling(&mut self, id: GangId) {
        if let Stage::Settling { latest, .. } = self.gangs[id].stage {
            let until = self.now.mono.after(SETTLE_MS);
            self.enter(id, Stage::Settling { until, latest });
        }
    }

    /// An application has something to do again, or has ended.
    pub fn end_idling(&mut self, id: AppId) {
        self.apps[id].idle = None;
        self.timers.stop(Timer::Completion(id));
    }

    /// The application of a key; a new one is made, with a gang of its own, where none is known.
    pub fn app_at(&mut self, key: &Key) -> AppId {
        if let Some(id) = self.app_ids.get(key) {
            return *id;
        }
        let gang = self.gangs.insert(Gang::default());
        let id = self.apps.insert(App::new(key.clone(), gang));
        self.gangs[gang].apps.push(id);
        self.app_ids.insert(key.clone(), id);
        id
    }

    /// Forgets an application and its gang.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn forget_app(&mut self, id: AppId) {
        self.timers.stop(Timer::Completion(id));
        let app = self.apps.remove(id).expect("an application is forgotten once");
        self.app_ids.remove(&app.key);
        self.enter(app.gang, Stage::Outside);
        self.gangs.remove(app.gang);
    }

    /// Makes a task group a part of an application and of its gang.
    pub fn take_in(&mut self, app: AppId, group: GroupId) {
        let gang = self.apps[app].gang;
        let entry = &mut self.groups[group];
        (entry.app, entry.gang, entry.closed_out) = (Some(app), Some(gang), false);
        let Self { groups, apps, gangs, .. } = self;
        for own in [&mut apps[app].groups, &mut gangs[gang].groups] {
            own.push(group);
            own.sort_unstable_by(|a, b| groups[*a].key.cmp(&groups[*b].key));
        }
    }

    /// Takes a task group out of its application and gang. Returns the application, if there was one.
    pub fn put_out(&mut self, group: GroupId) -> Option<AppId> {
        let entry = &mut self.groups[group];
        let (app, gang) = (entry.app.take(), entry.gang.take());
        gang.into_iter().for_each(|gang| self.gangs[gang].groups.retain(|own| *own != group));
        app.into_iter().for_each(|app| self.apps[app].groups.retain(|own| *own != group));
        app
    }

    /// The gang of an application's originators.
    pub fn gang_of(&self, app: AppId) -> &Gang {
        &self.gangs[self.apps[app].gang]
    }

    pub(super) fn gang_of_mut(&mut self, app: AppId) -> &mut Gang {
        let gang = self.apps[app].gang;
        &mut self.gangs[gang]
    }

    /// The task groups of a gang, in the order of their names.
    pub fn groups_of(&self, gang: GangId) -> impl Iterator<Item = &Group> {
        self.gangs[gang].groups.iter().map(|group| &self.groups[*group])
    }

    /// The queue of a gang, while its applications are in one.
    pub fn queue_of(&self, gang: GangId) -> Option<QueueId> {
        self.gangs[gang].apps.first().and_then(|app| self.apps[*app].queue)
    }

    /// The pods outside task groups of the applications of a gang.
    pub fn originators_of(&self, gang: GangId) -> BTreeSet<AskId> {
        self.gangs[gang].apps.iter().flat_map(|app| &self.apps[*app].asks).copied().collect()
    }
}
