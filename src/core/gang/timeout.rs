//! Timeouts: what may last only so long, and what becomes of a gang where it lasts longer (01, 1.7).

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Text};
use crate::core::codes::Code;
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::{Place, Style};
use crate::core::model::ask::AskState;
use crate::core::model::countdown::{Deadline, TimedOut};
use crate::core::model::gang::Stage;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::timers::Timer;
use crate::core::reason::{Reason, RejectReason};
use crate::core::step::Scheduler;
use crate::core::time::{Millis, Wall};

/// So long the deletion of placeholders waits for the status that says why. Longer than the API server is away for a
/// moment; a status that can never be written does not keep room for ever.
const UNSAID_MS: Millis = 30_000;
/// First pause before the next life of an application that never started; it doubles with each.
const REST_MS: Millis = 20_000;
/// Longest such pause.
const REST_AT_MOST_MS: Millis = 600_000;

impl Scheduler {
    /// Begins and ends what may last only so long, after an application was moved on.
    pub(super) fn keep_time(&mut self, id: AppId) {
        for what in Deadline::ALL {
            let lasts = self.lasts(id, what);
            let begins = lasts && self.books.goes_on(id, what);
            if begins || !lasts && self.books.has_ended(id, what) {
                self.books.changes.groups.extend(&self.books.apps[id].groups);
            }
            if begins && self.books.is_over(id, what) {
                self.books.touch(id);
            }
        }
    }

    /// Whether something goes on that may last only so long.
    fn lasts(&self, id: AppId, what: Deadline) -> bool {
        let app = &self.books.apps[id];
        let gang = &self.books.gangs[app.gang];
        if app.groups.is_empty() {
            return false;
        }
        match what {
            Deadline::Admission => {
                // A pause of ours is no wait for quota.
                *gang.stage() == Stage::Gate && self.somebody_comes(app.gang)
            }
            Deadline::Placeholder => app.timed_out.is_none() && self.holds_by_placeholders(id),
            Deadline::Wait => {
                // What is held one by one may also be left of a whole gang: of its seats one was lost before the start.
                let has_begun = || app.countdowns().of(what).is_some() || self.keeps_what_it_holds(app.gang);
                app.state() == AppState::Accepted && has_begun() && self.lacks_something(app.gang)
            }
            // One that is found after a restart, and of which nothing is left, is Running for a moment.
            Deadline::Completion => {
                matches!(app.state(), AppState::Running | AppState::Waiting) && app.active == 0 && app.pending == 0
            }
        }
    }

    /// Whether a placeholder of it has a node that no member is about to take.
    fn holds_by_placeholders(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        matches!(app.state(), AppState::Accepted | AppState::Running | AppState::Waiting)
            && app.groups.iter().any(|group| {
                let tally = self.books.groups[*group].seats.tally();
                tally.binding + tally.held + tally.leaving > 0
            })
    }

    /// Whether something has lasted as long as it may.
    pub(super) fn ran_out(&self, id: AppId, what: Deadline) -> bool {
        self.lasts(id, what) && self.books.is_over(id, what)
    }

    /// A plan found nodes for some of a gang and not for all: from now on it waits, in the sense of `waitTimeoutSeconds`.
    pub(super) fn some_found_nodes(&mut self, id: GangId) {
        for app in self.books.gangs[id].apps.clone() {
            if self.books.goes_on(app, Deadline::Wait) {
                self.books.changes.groups.extend(&self.books.apps[app].groups);
            }
        }
    }

    /// Whether no plan has found a node for any of a gang yet that may wait only so long after that.
    pub(super) fn awaits_a_first_node(&self, id: GangId) -> bool {
        self.books.gangs[id].apps.iter().any(|app| {
            let waits = self.books.apps[*app].countdowns().of(Deadline::Wait);
            waits.is_none() && self.books.timeout(*app, Deadline::Wait).is_some()
        })
    }

    /// Ends the attempt to start of a gang that may try no longer. Returns whether it may not.
    pub(super) fn gives_up(&mut self, id: GangId) -> bool {
        let apps = self.books.gangs[id].apps.clone();
        let before_start = [Deadline::Placeholder, Deadline::Wait, Deadline::Admission];
        let Some(what) = before_start.into_iter().find(|what| apps.iter().any(|app| self.ran_out(*app, *what))) else {
            return false;
        };
        for app in apps {
            self.time_out(app, what);
            match (what, self.style(app)) {
                (Deadline::Placeholder, Style::Soft) => self.transit(app, AppEvent::Resume),
                (Deadline::Placeholder, Style::Hard) => {
                    self.never_started(app);
                    self.transit(app, AppEvent::Kill);
                }
                (Deadline::Admission | Deadline::Wait | Deadline::Completion, _) => self.refuse_timed_out(app),
            }
        }
        self.books.take_no_turn(id);
        // What it waited for is in the sentence of its end.
        self.books.gangs[id].waits = None;
        true
    }

    fn style(&self, id: AppId) -> Style {
        self.books.apps[id].groups.first().map_or(Style::Soft, |group| self.books.groups[*group].spec().style)
    }

    /// Notes that a timeout has ended the reservation of this life, and since when.
    pub(super) fn time_out(&mut self, id: AppId, what: Deadline) {
        let sentence = self.timeout_sentence(id, what);
        // The pods that are here now belong to this life, by the clock of the API server, which made them.
        let (pods_until, since) = (self.newest_pod(id), self.books.now.wall);
        for group in self.books.apps[id].groups.clone() {
            self.books.groups[group].says_timed_out = false;
        }
        let since = Wall(since.0.div_euclid(1_000) * 1_000);
        self.books.apps[id].timed_out = Some(TimedOut { what, since, pods_until, sentence });
        self.say_before_deleting(id);
        self.books.show_app(id);
        self.books.touch(id);
    }

    /// When the newest pod of an application was made.
    pub(super) fn newest_pod(&self, id: AppId) -> Option<Wall> {
        let real = self.books.app_asks(id).map(|ask| &self.books.asks[ask]).filter(|ask| !ask.is_placeholder());
        real.map(|ask| Wall(ask.spec.created.saturating_mul(1_000))).max()
    }

    /// From now on nothing is deleted for the timeout before status says so, or for long enough could not be written.
    pub(super) fn say_before_deleting(&mut self, id: AppId) {
        let until = self.books.now.mono.after(UNSAID_MS);
        self.books.apps[id].unsaid_until = until;
        self.books.timers.set(Timer::Unsaid(id), until);
    }

    fn timeout_sentence(&self, id: AppId, what: Deadline) -> Text {
        let app = &self.books.apps[id];
        let after = self.books.timeout(id, what).unwrap_or(0) / 1_000;
        let waits = || match &self.books.gangs[app.gang].waits {
            Some(reason) => format!(": {}", self.gang_words_now(app.gang, reason)),
            None => String::new(),
        };
        match what {
            Deadline::Admission => format!("the gang did not pass the gate within {after} s ({what}){}", waits()),
            Deadline::Wait => format!("not all of the gang found nodes within {after} s ({what}){}", waits()),
            Deadline::Placeholder if app.has_started() => {
                format!("{after} s after the first placeholder had a node ({what}) not every seat had a member")
            }
            Deadline::Placeholder => {
                format!(
                    "the gang did not start within {after} s after its first placeholder had a node ({what}){}",
                    waits()
                )
            }
            Deadline::Completion => format!("nothing ran for {after} s ({what})"),
        }
        .into()
    }

    /// One more life in a row ended before anything of it ran.
    fn never_started(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        app.unstarted_lives = app.unstarted_lives.saturating_add(1);
        self.rest(id);
    }

    /// When the next life of an application may begin that never started (01, 1.8). Asked once: clocks on the wall may
    /// jump later.
    pub(super) fn rest(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        let Some(since) = app.timed_out.as_ref().map(|timed_out| timed_out.since) else { return };
        let doubled = REST_MS.saturating_mul(1 << app.unstarted_lives.saturating_sub(1).min(16));
        let pause = doubled.min(REST_AT_MOST_MS);
        app.rests_until = (self.books.now.due(since.after(pause), pause), since.after(pause));
    }

    /// Refused until it is changed, or its pods are gone and others come.
    fn refuse_timed_out(&mut self, id: AppId) {
        self.never_started(id);
        let app = &self.books.apps[id];
        let (gang, timed_out) = (app.gang, app.timed_out.clone());
        self.abandon(gang, TerminationType::Timeout);
        self.renew(id);
        self.books.apps[id].timed_out = timed_out;
        self.reject_timed_out(id);
    }

    /// Rejected, with what timed out.
    pub(super) fn reject_timed_out(&mut self, id: AppId) {
        let timed_out = self.books.apps[id].timed_out.clone();
        let reasons = timed_out.map(|TimedOut { what, sentence, .. }| RejectReason::TimedOut { what, sentence });
        self.reject(id, reasons.into_iter().collect());
    }

    /// Whether the status of every task group says that the application timed out: nothing is deleted before, so that no
    /// process reserves again for the same pods (02, 2.1). It is not waited for without end.
    pub(super) fn is_said(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        app.timed_out.is_some()
            && (app.unsaid_until <= self.books.now.mono
                || app.groups.iter().all(|group| self.books.groups[*group].says_timed_out))
    }

    /// Resuming: when the last placeholder is gone its pods are ordinary ones.
    pub(super) fn resume(&mut self, id: AppId) {
        if !self.is_said(id) {
            return;
        }
        self.give_all_back(id);
        if self.books.apps[id].groups.iter().any(|group| self.books.groups[*group].members.placeholders > 0) {
            return self.await_placeholders_going(id);
        }
        let app = &self.books.apps[id];
        let goes_on = app.active > 0 || app.pending > 0;
        self.books.gangs[app.gang].waits = None;
        self.transit(id, if goes_on { AppEvent::Run } else { AppEvent::Idle });
    }

    /// Killed: its placeholders go, its pods without a node fail, and it leaves its queue with the last placeholder.
    pub(super) fn finish_off(&mut self, id: AppId) {
        // One that was changed meanwhile, or found to run, goes on with the pods that it has.
        let resubmitted = self.books.apps[id].resubmitted;
        if self.is_said(id) {
            self.give_all_back(id);
            if !resubmitted {
                self.fail_pods(id);
            }
            self.leave_queue_when_empty(id);
        } else if !resubmitted {
            return;
        }
        self.live_again(id);
    }

    fn give_all_back(&mut self, id: AppId) {
        self.release_placeholders(id, TerminationType::Timeout);
        for ask in self.books.apps[id].asks.clone() {
            if let AskState::Assumed { sent: false, .. } = self.books.asks[ask].state {
                self.books.unassume(ask);
            }
        }
    }

    /// "Real pods that never got a node get pod phase Failed": those that were made before the timeout.
    fn fail_pods(&mut self, id: AppId) {
        let Some(TimedOut { sentence, .. }) = self.books.apps[id].timed_out.clone() else { return };
        let is_left = |ask: &AskId| !self.books.asks[*ask].failing && self.is_of_timed_out(id, *ask);
        let left: Vec<_> = self.books.app_asks(id).filter(is_left).collect();
        for ask in self.books.by_name(left) {
            self.books.asks[ask].failing = true;
            self.books.line_up(ask);
            self.decide(Decision::Fail(ask, Code::PlaceholderTimeout, sentence.clone()));
        }
    }

    /// Pods that were to fail, and have not, belong to the next life.
    pub(super) fn fail_no_more(&mut self, id: AppId) {
        let failing: Vec<_> = self.books.app_asks(id).filter(|ask| self.books.asks[*ask].failing).collect();
        for ask in self.books.by_name(failing) {
            self.books.asks[ask].failing = false;
            self.books.line_up(ask);
        }
    }

    /// Whether a pod waits that was there when its application timed out.
    pub(super) fn is_of_timed_out(&self, id: AppId, ask: AskId) -> bool {
        let until = self.books.apps[id].timed_out.as_ref().and_then(|timed_out| timed_out.pods_until);
        let ask = &self.books.asks[ask];
        let waits = match ask.spec.place {
            Place::Gated | Place::Refused(_) | Place::Pending => !ask.spec.terminating,
            Place::On { .. } | Place::Succeeded | Place::Failed { .. } => false,
        };
        let made = Wall(ask.spec.created.saturating_mul(1_000));
        waits && !ask.is_placeholder() && ask.state == AskState::Waiting && until.is_some_and(|until| made <= until)
    }

    /// Whether the gang of a task group is given up, since not all of it found nodes within `waitTimeoutSeconds`. `None` where it
    /// is not and does not go on either: before it is judged, where it is refused for something else, or over.
    pub fn is_given_up(&self, id: GroupId) -> Option<bool> {
        let app = &self.books.apps[self.books.groups.get(id)?.app?];
        match app.state() {
            AppState::Rejected => {
                let what = app.timed_out.as_ref().map(|timed_out| timed_out.what);
                (what == Some(Deadline::Wait)).then_some(true)
            }
            AppState::Accepted | AppState::Resuming | AppState::Running | AppState::Waiting => Some(false),
            AppState::New | AppState::Completed | AppState::Killed => None,
        }
    }

    /// Whether a pod without a node was there when its application timed out.
    pub fn is_left_of_timed_out(&self, id: AskId) -> bool {
        let app = self.books.asks.get(id).and_then(|ask| ask.app);
        app.is_some_and(|app| self.is_of_timed_out(app, id))
    }

    /// An application that timed out before its start begins a new life when none of its pods is left and others have
    /// come; longer after each life that never started.
    pub(super) fn live_again(&mut self, id: AppId) {
        let comes = self.others_come(id);
        let app = &self.books.apps[id];
        let (gang, resubmitted, (at, wall)) = (app.gang, app.resubmitted, app.rests_until);
        if resubmitted || comes && at <= self.books.now.mono {
            let is_in_queue = self.books.apps[id].queue.is_some();
            return if is_in_queue { self.await_placeholders_going(id) } else { self.renew(id) };
        }
        if comes {
            let lives = self.books.apps[id].unstarted_lives;
            self.books.timers.set(Timer::NextLife(id), at);
            self.wait(gang, Reason::WaitingForNextLife { lives, at: wall });
        } else if self.books.gangs[gang].waits.take().is_some() {
            self.books.show_app(id);
        }
    }

    /// Whether pods wait that were made after the timeout. Of an application that was refused all earlier ones must be gone.
    fn others_come(&self, id: AppId) -> bool {
        let is_old = |ask: AskId| self.is_of_timed_out(id, ask);
        if self.books.apps[id].state() == AppState::Rejected && self.books.app_asks(id).any(is_old) {
            return false;
        }
        self.books.app_asks(id).any(|ask| {
            let entry = &self.books.asks[ask];
            entry.is_pending() && !entry.is_placeholder() && !is_old(ask)
        })
    }

    /// The seats that no member took in time are given back; a swap that goes on is not disturbed.
    pub(super) fn give_leftovers_back(&mut self, id: AppId) {
        if self.ran_out(id, Deadline::Placeholder) {
            self.time_out(id, Deadline::Placeholder);
        }
        if self.is_said(id) {
            for group in self.books.apps[id].groups.clone() {
                self.books.empty_unused_seats(group, TerminationType::Timeout);
            }
        }
    }
}
