//! What the cluster shows of earlier lives of an application: a start, a leader change and a re-list are one path (01, 1.11).

use super::decision::TerminationType;
use super::event::{Remembered, Role};
use super::ids::{AppId, AskId, GroupId, Uid};
use super::lifecycle::AppEvent;
use super::scheduler::Scheduler;

/// How far the cluster shows an application's latest life to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// It reserves at most.
    Reserve,
    /// Members of it were bound; `placed`: all of them.
    Start {
        /// `Placed=True`.
        placed: bool,
    },
    /// It is Completed.
    End,
}

impl Scheduler {
    /// An application that the cluster shows to have started, or to have ended, is not judged again (01, 1.11), not even
    /// where a TaskGroup of it is gone.
    pub(super) fn recovers(&mut self, id: AppId) -> bool {
        let own = self.books.apps[id].incarnation;
        match self.latest_life(id) {
            (life, Reached::End) if life >= own => self.stays_ended(id, life),
            (life, Reached::Start { placed }) if life > own => self.goes_on(id, life, placed),
            (_, Reached::Reserve | Reached::Start { .. } | Reached::End) => return false,
        }
        true
    }

    fn stays_ended(&mut self, id: AppId, life: u32) {
        self.books.apps[id].incarnation = life;
        self.forget_remembered(id);
        self.release_placeholders(id, TerminationType::Timeout);
        self.transit(id, AppEvent::Complete);
    }

    fn goes_on(&mut self, id: AppId, life: u32, placed: bool) {
        let app = &mut self.books.apps[id];
        (app.incarnation, app.placed) = (life, placed);
        self.accept(id, true);
    }

    /// Before it is judged: the same life goes on where it had not started, so that its placeholders keep their names.
    pub(super) fn number_life(&mut self, id: AppId) {
        let (life, _) = self.latest_life(id);
        let app = &mut self.books.apps[id];
        if life > app.incarnation {
            app.incarnation = life - 1;
        }
        self.forget_remembered(id);
    }

    /// The latest incarnation that anything tells of, and how far it came. What the status of a TaskGroup says counts
    /// only for the incarnation that it is about: statuses are written one by one.
    fn latest_life(&self, id: AppId) -> (u32, Reached) {
        let app = &self.books.apps[id];
        let remembered = || app.groups.iter().map(|group| &self.books.groups[*group].spec().remembered);
        let latest = remembered().map(|status| status.incarnation).max().unwrap_or(0);
        let life = latest.max(self.incarnation_of_pods(id)).max(app.incarnation);
        let says =
            |what: fn(&Remembered) -> bool| remembered().any(|status| status.incarnation == life && what(status));
        let placed = says(|status| status.placed);
        // A deadline of completion runs only after a start, of which nothing else may be left.
        let started = placed || says(|status| status.completion_deadline.is_some()) || self.has_started(id, life);
        let reached = match (says(|status| status.completed) && !self.runs(id, life), started) {
            (true, _) => Reached::End,
            (false, true) => Reached::Start { placed },
            (false, false) => Reached::Reserve,
        };
        (life, reached)
    }

    /// Status is read once: afterwards this process knows better.
    pub(super) fn forget_remembered(&mut self, id: AppId) {
        for group in self.books.apps[id].groups.clone() {
            if let Some(spec) = &mut self.books.groups[group].spec {
                spec.remembered = Default::default();
            }
        }
    }

    /// The latest incarnation that pods of the application bear.
    fn incarnation_of_pods(&self, id: AppId) -> u32 {
        self.app_asks(id).filter_map(|ask| self.borne_incarnation(ask)).max().unwrap_or(0)
    }

    fn borne_incarnation(&self, ask: AskId) -> Option<u32> {
        let ask = &self.books.asks[ask];
        let uids = |uid| self.is_uid_of(ask.app, uid);
        match (&ask.spec.role, &ask.spec.mark) {
            (Role::Placeholder(name), _) if uids(&name.uid) => Some(name.incarnation),
            (_, Some(mark)) if mark.group.as_ref().is_some_and(uids) => Some(mark.incarnation),
            _ => None,
        }
    }

    fn is_uid_of(&self, app: Option<AppId>, uid: &Uid) -> bool {
        app.and_then(|app| self.books.apps.get(app))
            .is_some_and(|app| app.groups.iter().any(|group| self.books.groups[*group].spec().uid == *uid))
    }

    /// Whether a member was bound in this life.
    fn has_started(&self, id: AppId, life: u32) -> bool {
        self.app_asks(id).any(|ask| self.started_in(ask, life))
    }

    /// Whether a member that was bound in this life still runs.
    fn runs(&self, id: AppId, life: u32) -> bool {
        self.app_asks(id).any(|ask| self.books.asks[ask].is_active() && self.started_in(ask, life))
    }

    fn started_in(&self, ask: AskId, life: u32) -> bool {
        let mark = self.books.asks[ask].spec.mark.as_ref();
        mark.is_some_and(|mark| mark.started && mark.incarnation == life) && self.borne_incarnation(ask).is_some()
    }

    /// Whether the cluster shows that a task group was accepted before.
    pub(super) fn has_history(&self, id: GroupId) -> bool {
        let group = &self.books.groups[id];
        group.spec().remembered.incarnation > 0 || group.asks.iter().any(|ask| self.borne_incarnation(*ask).is_some())
    }

    /// All pods of an application, in no order.
    pub(super) fn app_asks(&self, id: AppId) -> impl Iterator<Item = AskId> {
        let app = &self.books.apps[id];
        let of_groups = app.groups.iter().flat_map(|group| self.books.groups[*group].asks.iter());
        app.asks.iter().chain(of_groups).copied()
    }
}
