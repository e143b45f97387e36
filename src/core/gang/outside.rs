//! TaskGroups that name an application and stay outside it: which, and why (01, 1.1).

use crate::core::base::ids::{AppId, GroupId};
use crate::core::decision::TerminationType;
use crate::core::event::GroupSpec;
use crate::core::gang::judge::disagreements;
use crate::core::model::application::App;
use crate::core::model::lifecycle::AppState;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Whether an application takes in a TaskGroup that names it. One of pods alone does, and so does one that is New
    /// or Rejected. After acceptance its gang must list the TaskGroup, and the two must agree; after completion it is
    /// enough that the gang lists it.
    pub(in crate::core) fn takes(&self, app: AppId, id: GroupId) -> bool {
        let app = &self.books.apps[app];
        if app.groups.is_empty() {
            return true;
        }
        match app.state() {
            AppState::New | AppState::Rejected => true,
            AppState::Completed | AppState::Killed => self.lists(app, id),
            AppState::Accepted | AppState::Resuming | AppState::Running | AppState::Waiting => {
                self.why_outside(app, id).is_none()
            }
        }
    }

    /// Whether the gang of an application lists a TaskGroup.
    fn lists(&self, app: &App, id: GroupId) -> bool {
        let key = &self.books.groups[id].key;
        app.groups.iter().any(|group| self.books.groups[*group].spec().gang.contains(key))
    }

    /// Why a TaskGroup cannot be part of the gang that is there.
    fn why_outside(&self, app: &App, id: GroupId) -> Option<String> {
        if !self.lists(app, id) {
            return Some("its gangGroup does not list this TaskGroup".into());
        }
        let first = self.books.groups[*app.groups.iter().find(|group| **group != id)?].spec();
        differences(first, self.books.groups[id].spec())
    }

    /// The sentence of a TaskGroup that stays outside.
    pub(in crate::core) fn outside_message(&self, id: GroupId) -> String {
        let group = &self.books.groups[id];
        let app = group.spec.as_ref().and_then(|_| self.books.app_ids.get(&group.application()));
        let Some(app) = app.map(|app| &self.books.apps[*app]) else { return String::new() };
        let why = self.why_outside(app, id).unwrap_or_else(|| "looking again".into());
        format!("the application is {}; {why}", app.state())
    }

    /// After a restart a gang is found to have started. A TaskGroup without a history that disagrees with the gang
    /// could not have come in after the start, so it stays outside now too.
    pub(in crate::core) fn shut_out_misfits(&mut self, app: AppId) {
        let (known, new): (Vec<_>, Vec<_>) =
            self.books.apps[app].groups.iter().copied().partition(|group| self.has_history(*group));
        let Some(first) = known.first() else { return };
        for id in new {
            if differences(self.books.groups[*first].spec(), self.books.groups[id].spec()).is_some() {
                self.shut_out(app, id);
            }
        }
    }

    /// TaskGroups that the application was closed to come in if it takes them now: because it has no TaskGroup of its
    /// own any more, or has ended and lists them.
    pub(in crate::core) fn let_outsiders_in(&mut self, app: AppId) {
        let Some(entry) = self.books.apps.get(app) else { return };
        let mut outsiders: Vec<_> = entry.outsiders.iter().copied().collect();
        outsiders.sort_unstable_by(|a, b| self.books.groups[*a].key.cmp(&self.books.groups[*b].key));
        for id in outsiders {
            if self.takes(app, id) {
                self.books.apps[app].outsiders.remove(&id);
                self.attach(id);
            }
        }
    }

    /// A TaskGroup that cannot be part of its application stays outside.
    pub(in crate::core) fn shut_out(&mut self, app: AppId, id: GroupId) {
        self.books.put_out(id);
        self.books.apps[app].outsiders.insert(id);
        self.books.groups[id].closed_out = true;
        self.books.changes.groups.insert(id);
        for ask in self.books.sorted_asks(id) {
            if self.books.asks[ask].is_placeholder() {
                self.books.release(ask, TerminationType::StoppedByRm);
            }
        }
        self.books.unlink_all(id);
    }
}

/// Everything that keeps a TaskGroup out of a gang that was accepted, at once. Timeouts may differ: they can be changed
/// after acceptance, one TaskGroup after the other.
fn differences(gang: &GroupSpec, other: &GroupSpec) -> Option<String> {
    let mut texts: Vec<_> = other.errors.iter().map(ToString::to_string).collect();
    let fields: Vec<_> = disagreements(gang, other, true).map(|field| format!("spec.{field}")).collect();
    if !fields.is_empty() {
        texts.push(format!("it disagrees with the gang about {}", fields.join(", ")));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}
