//! What belongs to what: pods to task groups and applications, applications to queues; and what is forgotten when
//! nothing names it any more.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GroupId, Key, Text};
use crate::core::event::Role;
use crate::core::model::application::App;
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::due::Verdict;
use crate::core::model::gang::Stage;
use crate::core::model::lifecycle::AppState;

/// Why a pod that names a task group is an ordinary pod of its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum Unlisted {
    /// The application has other task groups, or none.
    Undeclared,
    /// Pods that declare it run, and its TaskGroup is gone. Another one would hold seats for those who run.
    Gone,
}

impl Books {
    /// Links a pod to its application and task group. A pod that waits no longer and has an application keeps its
    /// links. A member whose Binding is on its way and whose TaskGroup is gone belongs to none until the pod is seen
    /// with its mark.
    pub(in crate::core) fn relink(&mut self, id: AskId) {
        let ask = &self.asks[id];
        if ask.state != AskState::Waiting && ask.app.is_some() || self.is_bound_unseen(id) && self.lacks_its_group(id) {
            return;
        }
        let namespace = ask.spec.key.namespace.clone();
        let (app, group) = match ask.spec.role.clone() {
            Role::Foreign | Role::Singleton => (None, None),
            Role::Originator { application } => (Some(self.app_at(&Key { namespace, name: application })), None),
            Role::Member { group } => match self.ordinary_of(id) {
                Some((app, _)) => (Some(self.app_at(&app)), None),
                None => self.membership(id, &Key { namespace, name: group }),
            },
            // A pod can only have a seat of its own namespace, whatever it says.
            Role::Placeholder(name) if name.group.namespace != namespace => (None, None),
            Role::Placeholder(name) => {
                let group = self.group_at(&name.group);
                (self.groups[group].app, Some(group))
            }
        };
        let old = (self.asks[id].app, self.asks[id].group);
        self.link(id, app, group);
        if old != (app, group) {
            if self.is_ordinary(id) {
                self.changes.ordinary.insert(id);
            }
            self.leave_idle(old.0, old.1);
        }
    }

    /// The application of which a member is an ordinary pod: the one that it names, if that is known not to have its task
    /// group. None while a TaskGroup of it is there, is being made, or may be.
    pub(in crate::core) fn ordinary_of(&self, id: AskId) -> Option<(Key, Unlisted)> {
        let spec = &self.asks[id].spec;
        let (Role::Member { group }, Some(application)) = (&spec.role, &spec.application) else { return None };
        let app = spec.key.beside(application);
        let object = self.group_ids.get(&spec.key.beside(group)).and_then(|id| self.groups[*id].spec.as_ref());
        if !self.listed.groups || object.is_some_and(|object| object.application == *application) {
            return None;
        }
        let why = self.unlisted(&app, group)?;
        Some((app, why))
    }

    /// Why an application has no task group of this name, if that is known.
    fn unlisted(&self, app: &Key, group: &Text) -> Option<Unlisted> {
        let declared = self.declaring.get(app);
        if declared.is_some_and(|declared| declared.makes(group)) {
            return None;
        }
        if declared.is_some_and(|declared| declared.has(group)) {
            return Some(Unlisted::Gone);
        }
        let groups = self.app_ids.get(app).map(|app| &*self.apps[*app].groups).unwrap_or_default();
        let key = app.beside(group);
        let is_listed = groups.iter().any(|own| self.groups[*own].spec().gang.contains(&key));
        let is_known = !groups.is_empty() || declared.is_some();
        (is_known && !is_listed).then_some(Unlisted::Undeclared)
    }

    /// Whether a pod is an ordinary pod of its application although it names a task group.
    pub(in crate::core) fn is_ordinary(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        matches!(ask.spec.role, Role::Member { .. }) && ask.app.is_some() && ask.group.is_none()
    }

    /// Notes that it may be known otherwise now which task groups an application has.
    pub(in crate::core) fn doubt_groups_of(&mut self, app: &Key) {
        if self.naming.get(app).is_some() {
            self.due.regroup.insert(app.clone());
        }
    }

    /// A member that runs under the UID of another TaskGroup of the same name never counts for this one (01, 1.5).
    fn membership(&mut self, id: AskId, key: &Key) -> (Option<AppId>, Option<GroupId>) {
        let group = self.group_at(key);
        let uid = self.groups[group].spec.as_ref().map(|spec| spec.uid.clone());
        let marked = self.asks[id].spec.mark.as_ref().and_then(|mark| mark.group.clone());
        match (marked, uid) {
            (Some(marked), Some(uid)) if marked != uid => {
                self.forget_group_if_idle(group);
                (None, None)
            }
            _ => (self.groups[group].app, Some(group)),
        }
    }

    /// Forgets a group and an application that nothing names any more.
    pub(in crate::core) fn leave_idle(&mut self, app: Option<AppId>, group: Option<GroupId>) {
        if let Some(group) = group {
            self.forget_group_if_idle(group);
        }
        if let Some(app) = app {
            self.forget_app_if_idle(app);
        }
    }

    /// Takes the pods of a group out of its application: they park.
    pub(in crate::core) fn unlink_all(&mut self, id: GroupId) {
        for ask in self.sorted_asks(id) {
            self.stand_in_line(ask, WaitsFor::Nothing);
            self.link(ask, None, Some(id));
            self.changes.asks.insert(ask);
        }
    }

    /// Forgets an application that neither a TaskGroup nor a pod names.
    pub(in crate::core) fn forget_app_if_idle(&mut self, id: AppId) {
        let is_idle = |app: &App| app.groups.is_empty() && app.asks.is_empty() && app.outsiders.is_empty();
        if !self.apps.get(id).is_some_and(is_idle) {
            return;
        }
        self.leave_queue(id);
        self.await_groups(id, &[]);
        self.forget_app(id);
        self.lacking_room.remove(&id);
    }

    /// The application leaves its queue: it is not counted there any more.
    pub(in crate::core) fn leave_queue(&mut self, id: AppId) {
        self.take_no_turn(self.apps[id].gang);
        self.dismiss(id);
        self.count_app(id, None);
        if let Some(queue) = self.apps[id].queue.take() {
            self.show_queue(queue);
            self.changes.groups.extend(&self.apps[id].groups);
            self.queues.release(queue);
            self.changes.pass_due = true;
        }
    }

    /// Takes the application off `maxApplications`.
    pub(in crate::core) fn dismiss(&mut self, id: AppId) {
        let app = &mut self.apps[id];
        if std::mem::replace(&mut app.admitted, false)
            && let Some(queue) = app.queue
        {
            self.queues.dismiss(queue);
            self.changes.pass_due = true;
        }
    }

    /// The same where nothing of it is active, and no seat is kept for it, nor is about to be.
    pub(in crate::core) fn dismiss_if_idle(&mut self, id: AppId) {
        let app = &self.apps[id];
        let is_at_gate = matches!(self.gangs[app.gang].stage(), Stage::Gate | Stage::BackOff { .. });
        let is_idle = app.state() == AppState::Waiting || is_at_gate && !app.groups.is_empty();
        if is_idle && app.admitted && !self.keeps_its_place(id) {
            self.dismiss(id);
        }
    }

    /// Whether room of lost pods is kept for an application, or pods of it are being deleted that leave theirs. One that never
    /// was among those of its queue leaves none: a driver, say, that ran before its TaskGroup came.
    pub(in crate::core) fn keeps_its_place(&self, id: AppId) -> bool {
        let app = &self.apps[id];
        let hands_over = |ask: AskId| self.hands_over(&self.asks[ask]);
        self.keeps_seats(id) || app.active > app.living && self.app_asks(id).any(hands_over)
    }

    /// Notes for which TaskGroups an application waits: when one of them comes, changes or goes, it is judged again.
    pub(in crate::core) fn await_groups(&mut self, id: AppId, missing: &[Key]) {
        for key in std::mem::replace(&mut self.apps[id].awaits, missing.to_vec()) {
            if let Some(waiting) = self.awaited.get_mut(&key) {
                waiting.remove(&id);
                if waiting.is_empty() {
                    self.awaited.remove(&key);
                }
            }
        }
        for key in missing {
            match self.awaited.get_mut(key) {
                Some(waiting) => drop(waiting.insert(id)),
                None => drop(self.awaited.insert(key.clone(), BTreeSet::from([id]))),
            }
        }
    }

    /// A TaskGroup came, changed or went: the applications that wait for one of that name are judged again.
    pub(in crate::core) fn wake_awaiting(&mut self, key: &Key) {
        for id in self.awaited.get(key).into_iter().flatten() {
            self.due.judge(*id, Verdict::InDoubt);
        }
    }
}
