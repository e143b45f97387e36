//! What the cluster shows of earlier lives of an application: a start, a leader change and a re-list are one path (01, 1.11).

use super::decision::TerminationType;
use super::event::Role;
use super::ids::{AppId, AskId, GroupId, Uid};
use super::lifecycle::AppEvent;
use super::scheduler::Scheduler;

impl Scheduler {
    /// A gang that the cluster shows to have started, or to have ended, is not judged again (01, 1.11).
    pub(super) fn recovers(&mut self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        if app.groups.is_empty() {
            return false;
        }
        let specs = || app.groups.iter().map(|group| self.books.groups[*group].spec());
        let remembered = specs().map(|spec| spec.remembered.incarnation).max().unwrap_or(0);
        let shown = self.incarnation_of_pods(id);
        let incarnation = remembered.max(shown).max(app.incarnation);
        // What status says counts only for the incarnation that it is about.
        let is_current = incarnation == remembered && app.incarnation <= remembered;
        let completed = is_current && specs().any(|spec| spec.remembered.completed);
        let placed = is_current && specs().any(|spec| spec.remembered.placed);
        // A deadline of completion runs only after a start, of which nothing else may be left.
        let ends = is_current && specs().any(|spec| spec.remembered.completion_deadline.is_some());
        let started = placed || ends || self.has_started_pods(id, incarnation);
        if completed && !started_anew(shown, remembered) {
            self.books.apps[id].incarnation = incarnation;
            self.forget_remembered(id);
            self.release_placeholders(id, TerminationType::Timeout);
            self.transit(id, AppEvent::Complete);
            return true;
        }
        if started && incarnation > app.incarnation {
            self.books.apps[id].incarnation = incarnation;
            self.books.apps[id].placed = placed;
            self.accept(id, true);
            return true;
        }
        // The same life goes on where it had not started; its placeholders keep their names.
        if incarnation > app.incarnation {
            self.books.apps[id].incarnation = incarnation - 1;
        }
        self.forget_remembered(id);
        false
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

    fn has_started_pods(&self, id: AppId, incarnation: u32) -> bool {
        self.app_asks(id).any(|ask| {
            let mark = self.books.asks[ask].spec.mark.as_ref();
            mark.is_some_and(|mark| mark.started && mark.incarnation == incarnation)
                && self.borne_incarnation(ask).is_some()
        })
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

/// Pods bear a later incarnation than status: it was written before they came.
fn started_anew(shown: u32, remembered: u32) -> bool {
    shown > remembered
}
