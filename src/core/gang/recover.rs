//! Recovery: what the cluster shows of earlier lives of an application. A start, a leader change and a re-list are one path (01,
//! 1.11).

use crate::core::base::ids::{AppId, AskId, GroupId};
use crate::core::decision::TerminationType;
use crate::core::event::{Remembered, Role};
use crate::core::model::countdown::{Countdown, Deadline};
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::step::Scheduler;

/// How far the cluster shows an application's latest life to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// It reserves at most.
    Reserve,
    /// Members of it were bound; `placed`: all of them.
    Start {
        /// `Placed=True`.
        placed: bool,
        /// A pod of it was bound, and not merely let in one by one after a timeout.
        lived: bool,
    },
    /// A timeout ended its reservation, and its placeholders leave.
    Resume,
    /// A timeout ended it, and its pods fail.
    Kill,
    /// A timeout ended it at the gate or before every member had a node.
    Refused,
    /// It is Completed; `placed`: all of its members had been bound.
    End {
        /// `Placed=True`.
        placed: bool,
    },
    /// It ended or had not started, and its spec was changed since, or it was not accepted again: the next life begins.
    Over,
}

impl Scheduler {
    /// An application that the cluster shows to have started, or to have ended, is not judged again (01, 1.11), not
    /// even where a TaskGroup of it is gone.
    pub(in crate::core) fn recovers(&mut self, id: AppId) -> bool {
        let own = self.books.apps[id].incarnation;
        match self.latest_life(id) {
            (life, Reached::End { placed }) if life >= own => {
                self.stays_ended(id, life, placed);
            }
            (life, Reached::Start { placed, lived }) if life > own || self.runs(id, life) => {
                self.goes_on(id, life, (placed, AppEvent::Run));
                self.books.apps[id].has_lived |= lived;
            }
            (life, Reached::Resume) if life > own => self.goes_on(id, life, (false, AppEvent::Resume)),
            (life, Reached::Kill) if life >= own => {
                self.stays_timed_out(id, life);
                self.transit(id, AppEvent::Kill);
            }
            (life, Reached::Refused) if life >= own => {
                self.stays_timed_out(id, life);
                self.reject_timed_out(id);
            }
            (
                _,
                Reached::Reserve
                | Reached::Start { .. }
                | Reached::Resume
                | Reached::Kill
                | Reached::Refused
                | Reached::End { .. }
                | Reached::Over,
            ) => return false,
        }
        true
    }

    /// Whether the application consists of pods alone and some of them run by a Binding of ours. Like a gang that has
    /// started, it goes on in its queue, whatever became of the queue.
    pub(in crate::core) fn runs_alone(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        let runs = |ask: &AskId| {
            let ask = &self.books.asks[*ask];
            ask.is_active() && ask.spec.mark.is_some()
        };
        app.groups.is_empty() && app.asks.iter().any(runs)
    }

    fn stays_ended(&mut self, id: AppId, life: u32, placed: bool) {
        let app = &mut self.books.apps[id];
        (app.incarnation, app.placed) = (life, placed);
        self.load_timed_out(id);
        self.books.apps[id].groups.clone().into_iter().for_each(|group| self.load_remembered(group));
        self.release_placeholders(id, TerminationType::Timeout);
        self.transit(id, AppEvent::Complete);
    }

    /// A timeout had ended that life.
    fn stays_timed_out(&mut self, id: AppId, life: u32) {
        self.books.apps[id].incarnation = life;
        self.load_timed_out(id);
        self.books.apps[id].groups.clone().into_iter().for_each(|group| self.load_remembered(group));
    }

    fn goes_on(&mut self, id: AppId, life: u32, (placed, event): (bool, AppEvent)) {
        let app = &mut self.books.apps[id];
        (app.incarnation, app.placed) = (life, placed);
        self.shut_out_misfits(id);
        // Whoever came later than the start cannot be told from those that started with the gang.
        for ask in self.books.apps[id].asks.clone() {
            self.books.asks[ask].started_with_gang = self.books.started_in(ask, life);
        }
        self.accept(id, event);
    }

    /// Sets the number of the last incarnation before an application is judged. One that had only begun to reserve goes
    /// on under its own number, so that its placeholders keep their names. Returns whether the application was accepted
    /// before.
    pub(in crate::core) fn number_life(&mut self, id: AppId) -> bool {
        let (life, reached) = self.latest_life(id);
        let lives = |group: &GroupId| self.books.groups[*group].spec().remembered.unstarted_lives;
        let lives = self.books.apps[id].groups.iter().map(lives).max().unwrap_or(0);
        let app = &mut self.books.apps[id];
        if life > app.incarnation {
            app.incarnation = life - u32::from(reached != Reached::Over);
        }
        app.unstarted_lives = app.unstarted_lives.max(lives);
        life > 0
    }

    /// The latest incarnation that anything tells of, and how far it came. What the status of a TaskGroup says counts
    /// only for the incarnation that it is about: statuses are written one by one.
    fn latest_life(&self, id: AppId) -> (u32, Reached) {
        let life = self.latest_incarnation(id);
        let specs = || self.books.apps[id].groups.iter().map(|group| self.books.groups[*group].spec());
        let says = |what: &dyn Fn(&Remembered) -> bool| {
            specs().any(|spec| spec.remembered.incarnation == life && what(&spec.remembered))
        };
        let is = |state: AppState| says(&|status| status.state == Some(state));
        // A TaskGroup whose status was never written (generation 0) had no part in a life that ended, so there it
        // counts as edited; in a life that has not started it does not, since nothing shows that it was changed.
        let edited =
            |written_from: i64| specs().any(|spec| spec.is_edited() && spec.remembered.generation >= written_from);
        let placed = says(&|status| status.placed);
        let timed_out = says(&|status| status.timed_out.is_some());
        let resumes = timed_out && is(AppState::Resuming);
        let goes_on = timed_out && (is(AppState::Running) || is(AppState::Waiting));
        let has_started = self.has_started(id, life);
        // A completion deadline is written only after a start, and may be all that is left of it.
        let completes = says(&|status| status.deadlines.of(Deadline::Completion).is_some());
        let started = placed || completes || goes_on || has_started;
        let nothing_runs = life > 0 && !self.runs(id, life);
        let is_over = nothing_runs && (is(AppState::Completed) || self.has_run_out(id, life));
        let is_refused = nothing_runs && timed_out && (is(AppState::Killed) || is(AppState::Rejected));
        let is_unaccepted = nothing_runs && says(&Remembered::is_unaccepted);
        if is_unaccepted && (is_over || started || !self.reserves(id, life)) {
            return (life, Reached::Over);
        }
        let reached = match (is_over || is_refused, started || resumes) {
            (true, _) if edited(0) => Reached::Over,
            (true, _) if is_over => Reached::End { placed },
            (true, _) if is(AppState::Killed) => Reached::Kill,
            (true, _) => Reached::Refused,
            (false, true) if !started => Reached::Resume,
            (false, true) => Reached::Start { placed, lived: placed || completes || has_started },
            (false, false) if edited(1) => Reached::Over,
            (false, false) => Reached::Reserve,
        };
        (life, reached)
    }

    /// Whether the time to complete was over when this process judges, and nothing runs: an earlier process had
    /// completed that life, or was about to, and perhaps did not get to write it down. Pods that come now begin the
    /// next incarnation, as a whole gang.
    fn has_run_out(&self, id: AppId, life: u32) -> bool {
        let specs = self.books.apps[id].groups.iter().map(|group| self.books.groups[*group].spec());
        let of_life = specs.filter(|spec| spec.remembered.incarnation == life);
        let deadline = of_life.filter_map(|spec| spec.remembered.deadlines.of(Deadline::Completion)).max();
        deadline.is_some_and(|deadline| deadline <= self.books.now.wall) && !self.runs(id, life)
    }

    /// The latest incarnation, by status and by the marks on pods that we bound. The name of a placeholder counts only
    /// if it is of the incarnation after that, and only while nothing of the known one runs: anybody can create a pod
    /// of such a name.
    fn latest_incarnation(&self, id: AppId) -> u32 {
        let app = &self.books.apps[id];
        let remembered = app.groups.iter().map(|group| self.books.groups[*group].spec().remembered.incarnation);
        let marked = self.books.app_asks(id).filter_map(|ask| self.books.life_of(&self.books.asks[ask]));
        let known = remembered.chain(marked).fold(app.incarnation, u32::max);
        let next = known.saturating_add(1);
        let has_begun = self.books.app_asks(id).any(|ask| self.named_incarnation(ask) == Some(next));
        if has_begun && !self.runs(id, known) { next } else { known }
    }

    /// What status says of a task group, if that is of the present life of its application.
    pub(in crate::core) fn remembered_of_this_life(&self, id: GroupId) -> Option<&Remembered> {
        let group = &self.books.groups[id];
        let life = self.books.apps[group.app?].incarnation;
        Some(&group.spec().remembered).filter(|status| status.incarnation == life)
    }

    /// Takes up how many seats of a task group were handed over (ADR 0017), and how many of its members had ended, as
    /// status says. Status is not read again after that.
    pub(in crate::core) fn load_remembered(&mut self, id: GroupId) {
        let status = self.remembered_of_this_life(id);
        let (replaced, (succeeded, failed)) = status.map_or((0, (0, 0)), |status| (status.replaced, status.ended));
        let mut ended = self.books.found_ended(id);
        (ended.succeeded, ended.failed) = (ended.succeeded.max(succeeded), ended.failed.max(failed));
        let group = &mut self.books.groups[id];
        (group.replaced, group.ended) = (replaced, ended);
        self.forget_remembered(id);
    }

    /// Deadlines that status remembers go on across a restart, and so does what a timeout ended, the count of seats that
    /// were handed over, and that of members that ended.
    pub(super) fn go_on_with_remembered(&mut self, id: AppId) {
        let groups = self.books.apps[id].groups.clone();
        for what in Deadline::ALL {
            let statuses = groups.iter().filter_map(|group| self.remembered_of_this_life(*group));
            let deadline = statuses.filter_map(|status| status.deadlines.of(what)).max();
            if let Some((deadline, timeout)) = deadline.zip(self.books.timeout(id, what)) {
                let countdown = Countdown::ending(self.books.now, deadline, timeout);
                self.books.count_down(id, what, Some(countdown));
            }
        }
        self.load_timed_out(id);
        groups.into_iter().for_each(|group| self.load_remembered(group));
    }

    /// Takes up what status says of a timeout that ended the reservation of this life.
    /// Where a member was found to run, a status that says Killed or Rejected is from before that was known.
    fn load_timed_out(&mut self, id: AppId) {
        // Whoever wrote it: no pod that is still to come belongs to that life.
        let latest = self.newest_pod(id).max(Some(self.books.now.wall));
        let is_over = |state| matches!(state, Some(AppState::Killed | AppState::Rejected));
        let goes_on = self.books.apps[id].has_started();
        for group in self.books.apps[id].groups.clone() {
            let Some(status) = self.remembered_of_this_life(group) else { continue };
            let (mut timed_out, lives) = (status.timed_out.clone(), status.unstarted_lives);
            if goes_on && is_over(status.state) {
                continue;
            }
            if let Some(timed_out) = &mut timed_out {
                timed_out.pods_until = timed_out.pods_until.min(latest);
            }
            self.books.groups[group].says_timed_out = timed_out.is_some();
            let app = &mut self.books.apps[id];
            app.timed_out = app.timed_out.take().or(timed_out);
            app.unstarted_lives = app.unstarted_lives.max(lives);
        }
        if self.books.apps[id].timed_out.is_some() {
            self.say_before_deleting(id);
            self.rest(id);
        }
    }

    /// Status is read once: afterwards this process knows better.
    pub(super) fn forget_remembered(&mut self, id: GroupId) {
        if let Some(spec) = &mut self.books.groups[id].spec {
            spec.remembered = Remembered { generation: spec.generation, ..Remembered::default() };
        }
    }

    /// The incarnation in a placeholder's name.
    fn named_incarnation(&self, ask: AskId) -> Option<u32> {
        let ask = &self.books.asks[ask];
        match &ask.spec.role {
            Role::Placeholder(name) if self.books.is_uid_of(ask.app, &name.uid) => Some(name.incarnation),
            Role::Placeholder(_) | Role::Foreign | Role::Singleton | Role::Originator { .. } | Role::Member { .. } => {
                None
            }
        }
    }

    /// Whether there are placeholders of this life.
    fn reserves(&self, id: AppId, life: u32) -> bool {
        self.books.app_asks(id).any(|ask| self.named_incarnation(ask) == Some(life))
    }

    /// Whether a member was bound in this life.
    fn has_started(&self, id: AppId, life: u32) -> bool {
        self.books.app_asks(id).any(|ask| self.books.started_in(ask, life))
    }

    /// Whether a member that was bound in this life still lives: it runs, and is not being deleted.
    fn runs(&self, id: AppId, life: u32) -> bool {
        let lives = |ask: AskId| self.books.asks[ask].is_active() && !self.books.asks[ask].spec.terminating;
        self.books.app_asks(id).any(|ask| lives(ask) && self.books.started_in(ask, life))
    }

    /// Whether a pod's Binding says that its gang had started in a life after that one, or in that one and the pod
    /// still runs.
    pub(in crate::core) fn started_after(&self, ask: AskId, life: u32) -> bool {
        let lives = self.books.asks[ask].is_active() && !self.books.asks[ask].spec.terminating;
        let is_of = |marked: u32| marked > life || marked == life && lives;
        self.books
            .life_of(&self.books.asks[ask])
            .is_some_and(|marked| is_of(marked) && self.books.started_in(ask, marked))
    }

    /// Whether the cluster shows that a task group was accepted before.
    pub(in crate::core) fn has_history(&self, id: GroupId) -> bool {
        let group = &self.books.groups[id];
        group.spec().remembered.incarnation > 0
            || group
                .asks
                .iter()
                .any(|ask| self.books.life_of(&self.books.asks[*ask]).or(self.named_incarnation(*ask)).is_some())
    }
}
