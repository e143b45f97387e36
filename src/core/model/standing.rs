//! Where applications and gangs stand: the functions that give an application a state, and its gang the stage that goes
//! with it.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Key, QueueId};
use crate::core::event::Mode;
use crate::core::model::application::App;
use crate::core::model::books::Books;
use crate::core::model::countdown::{Countdown, Deadline, Deadlines};
use crate::core::model::gang::{Gang, SETTLE_MS, Stage};
use crate::core::model::group::Group;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::timers::Timer;
use crate::core::time::Millis;

impl Books {
    /// Takes an event of the state machine: the one function that gives an application another state. Its gang gets the
    /// stage that goes with it. Returns whether the event meant anything.
    pub fn transit(&mut self, id: AppId, event: AppEvent) -> bool {
        let app = &mut self.apps[id];
        let Some(next) = app.state.next(event) else { return false };
        app.state = next;
        let gang = app.gang;
        if matches!(next, AppState::Resuming | AppState::Rejected | AppState::Completed | AppState::Killed) {
            self.give_up_all_kept(id);
        }
        match next {
            AppState::New | AppState::Rejected | AppState::Completed | AppState::Killed => {
                self.enter(gang, Stage::Outside);
            }
            AppState::Resuming => self.enter(gang, Stage::Leaving),
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
            Stage::Outside | Stage::Gate | Stage::Reserving | Stage::Leaving | Stage::Started => None,
        };
        if matches!(stage, Stage::Outside | Stage::Leaving | Stage::Started) {
            self.leave_front(id);
        }
        self.timers.stop(Timer::Settle(id));
        self.timers.stop(Timer::BackOff(id));
        due.into_iter().for_each(|(timer, at)| self.timers.set(timer, at));
        self.reserve_for(id, &stage);
        self.count_start(id, &stage);
        self.gangs[id].stage = stage;
    }

    /// A member came while the gang settles: it waits a little longer for more.
    pub fn extend_settling(&mut self, id: GangId) {
        if let Stage::Settling { latest, .. } = self.gangs[id].stage {
            let until = self.now.mono.after(SETTLE_MS);
            self.enter(id, Stage::Settling { until, latest });
        }
    }

    /// Something that may last only so long has begun, or goes on. Returns whether it has just begun.
    pub fn goes_on(&mut self, id: AppId, what: Deadline) -> bool {
        let begins = Countdown::beginning(self.now);
        let was = self.apps[id].countdowns.of(what);
        self.count_down(id, what, Some(was.unwrap_or(begins)));
        was.is_none()
    }

    /// It has ended. Returns whether it lasted until now.
    pub fn has_ended(&mut self, id: AppId, what: Deadline) -> bool {
        let lasted = self.apps[id].countdowns.of(what).is_some();
        if lasted {
            self.count_down(id, what, None);
        }
        lasted
    }

    /// Gives an application this countdown, with its timer: the one function that does.
    pub fn count_down(&mut self, id: AppId, what: Deadline, countdown: Option<Countdown>) {
        let due = countdown.zip(self.timeout(id, what)).map(|(countdown, timeout)| countdown.ends(timeout).0);
        match due {
            // What is due by now is looked at in this step.
            Some(due) if due > self.now.mono => self.timers.set(Timer::Deadline(id, what), due),
            Some(_) | None => self.timers.stop(Timer::Deadline(id, what)),
        }
        self.apps[id].countdowns.set(what, countdown);
    }

    /// Whether it has lasted as long as it may.
    pub fn is_over(&self, id: AppId, what: Deadline) -> bool {
        let countdown = self.apps[id].countdowns.of(what);
        let ends = countdown.zip(self.timeout(id, what)).map(|(countdown, timeout)| countdown.ends(timeout).0);
        ends.is_some_and(|at| at <= self.now.mono)
    }

    /// How long it may last: of several task groups the longest counts, as timeouts are changed one object after the other.
    pub fn timeout(&self, id: AppId, what: Deadline) -> Option<Millis> {
        let groups = self.apps[id].groups.iter().map(|group| self.groups[*group].spec().timeouts.of(what));
        groups.reduce(|one, other| one.zip(other).map(|(one, other)| one.max(other))).flatten()
    }

    /// When what runs out.
    pub fn deadlines(&self, id: AppId) -> Deadlines {
        let mut deadlines = Deadlines::default();
        for what in Deadline::ALL {
            let ends = self.apps[id].countdowns.of(what).zip(self.timeout(id, what));
            deadlines.set(what, ends.map(|(countdown, timeout)| countdown.ends(timeout).1));
        }
        // It is not complete before what is kept for it is given back.
        let completes =
            deadlines.of(Deadline::Completion).map(|at| self.kept_lost_until(id).map_or(at, |kept| kept.max(at)));
        deadlines.set(Deadline::Completion, completes);
        deadlines
    }

    /// Nothing lasts any more.
    pub fn end_countdowns(&mut self, id: AppId) {
        Deadline::ALL.into_iter().for_each(|what| self.count_down(id, what, None));
        self.timers.stop(Timer::Unsaid(id));
        self.timers.stop(Timer::NextLife(id));
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
        self.end_countdowns(id);
        self.give_up_all_kept(id);
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
        let named = self.groups[group].named_by_pods();
        self.doubt_groups_of(&named);
    }

    /// Takes a task group out of its application and gang. Returns the application, if there was one.
    pub fn put_out(&mut self, group: GroupId) -> Option<AppId> {
        if self.groups[group].app.is_some() {
            self.give_up_kept_of_group(group);
        }
        let entry = &mut self.groups[group];
        let (app, gang) = (entry.app.take(), entry.gang.take());
        gang.into_iter().for_each(|gang| self.gangs[gang].groups.retain(|own| *own != group));
        if let Some(app) = app {
            self.apps[app].groups.retain(|own| *own != group);
            let named = self.groups[group].named_by_pods();
            self.doubt_groups_of(&named);
        }
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

    /// Whether seats of a gang are held before there is a node for each of them (NonStrict).
    pub fn holds_one_by_one(&self, gang: GangId) -> bool {
        // All task groups of a gang have the same mode.
        self.groups_of(gang).next().is_some_and(|group| group.spec().mode == Mode::NonStrict)
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
