//! Pods come, change and go: what each means for seats and books (01, 1.4, 1.5).

use super::ask::{Ask, AskState, Shelf};
use super::decision::{Decision, TerminationType};
use super::event::{AskSpec, BindOutcome, Mark, Place, PlaceholderName, Role};
use super::ids::{AppId, AskId, GroupId, Key, NodeId, QueueId};
use super::lifecycle::AppState;
use super::queue::DEFAULT_QUEUE;
use super::reason::Refusal;
use super::scheduler::Scheduler;
use super::seat::{Reserve, SeatState};

impl Scheduler {
    /// A pod as last observed.
    pub(super) fn see_ask(&mut self, id: AskId, spec: AskSpec) {
        match self.books.asks.get(id) {
            None => self.add_ask(id, spec),
            Some(ask) if ask.spec == spec => return,
            Some(_) => self.replace_spec(id, spec),
        }
        let was_known = self.books.asks[id].app.is_some();
        self.relink(id);
        self.follow_place(id);
        self.reshelve(id);
        if let (false, Some(app)) = (was_known, self.books.asks[id].app) {
            self.extend_settling(app);
        }
        self.note(id);
    }

    /// Marks everything that a change of this ask can concern.
    fn note(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        let (app, group) = (ask.app, ask.group);
        if ask.spec.role != Role::Foreign {
            self.shown_asks.insert(id);
        }
        self.shown_groups.extend(group);
        self.touch(app);
    }

    fn add_ask(&mut self, id: AskId, spec: AskSpec) {
        let ask = Ask {
            class: None,
            app: None,
            group: None,
            state: AskState::Waiting,
            seat: None,
            charge: None,
            shelf: Shelf::Off,
            leaving: None,
            refused: None,
            shown: None,
            spec,
        };
        self.books.asks.insert(id, ask);
        self.intern(id);
    }

    fn replace_spec(&mut self, id: AskId, spec: AskSpec) {
        self.books.shelve(id, Shelf::Off, false);
        let (reshaped, charge) = {
            let ask = &self.books.asks[id];
            (ask.spec.shape != spec.shape, ask.charge.clone())
        };
        if reshaped {
            self.books.discharge(id);
            self.drop_class(id);
        }
        self.books.change(id, |ask| ask.spec = spec);
        if reshaped {
            self.intern(id);
            if let Some(charge) = charge {
                self.books.charge_whole(id, charge.node, charge.queue);
                self.grown.insert(charge.node);
                self.stirred = true;
            }
        }
    }

    /// Gives a pod that we may place its class.
    fn intern(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        let waits = !matches!(ask.spec.place, Place::On { .. } | Place::Finished { .. });
        if ask.class.is_none() && waits && ask.spec.role != Role::Foreign {
            let shape = ask.spec.shape.clone();
            self.books.asks[id].class = Some(self.books.classes.intern(&shape, &self.books.nodes));
        }
    }

    fn drop_class(&mut self, id: AskId) {
        if let Some(class) = self.books.asks[id].class.take() {
            self.books.classes.release(class);
            if !self.books.classes.contains(class) {
                self.room.remove(&class);
            }
        }
    }

    /// Links a pod to what it belongs to. Settled once it has a node and an application.
    pub(super) fn relink(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        if ask.state != AskState::Waiting && ask.app.is_some() {
            return;
        }
        let namespace = ask.spec.key.namespace.clone();
        let (app, group) = match ask.spec.role.clone() {
            Role::Foreign | Role::Singleton => (None, None),
            Role::Originator { application } => (Some(self.books.app_at(&Key { namespace, name: application })), None),
            Role::Member { group } => self.membership(id, &Key { namespace, name: group }),
            Role::Placeholder(name) => {
                let group = self.books.group_at(&name.group);
                (self.books.groups[group].app, Some(group))
            }
        };
        let old = (self.books.asks[id].app, self.books.asks[id].group);
        self.books.link(id, app, group);
        if old != (app, group) {
            self.touch(old.0);
            self.leave_idle(old.0, old.1);
        }
    }

    /// A member that runs under the UID of another TaskGroup of the same name never counts for this one (01, 1.5).
    fn membership(&mut self, id: AskId, key: &Key) -> (Option<AppId>, Option<GroupId>) {
        let group = self.books.group_at(key);
        let uid = self.books.groups[group].spec.as_ref().map(|spec| spec.uid.clone());
        let marked = self.books.asks[id].spec.mark.as_ref().and_then(|mark| mark.group.clone());
        match (marked, uid) {
            (Some(marked), Some(uid)) if marked != uid => {
                self.books.forget_group_if_idle(group);
                (None, None)
            }
            _ => (self.books.groups[group].app, Some(group)),
        }
    }

    /// Forgets a group and an application that nothing names any more.
    pub(super) fn leave_idle(&mut self, app: Option<AppId>, group: Option<GroupId>) {
        if let Some(group) = group {
            self.books.forget_group_if_idle(group);
        }
        if let Some(app) = app {
            self.forget_app_if_idle(app);
        }
    }

    /// Where the pod stands now, compared with where we thought it stood.
    fn follow_place(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        match (ask.spec.place.clone(), ask.state) {
            (Place::On { .. }, AskState::Finished) | (Place::Finished { .. }, AskState::Finished) => {}
            (Place::On { node, .. }, _) => {
                let node = self.books.nodes.id_of(&node);
                self.bound(id, node);
            }
            (Place::Finished { .. }, _) => self.finish(id),
            // A watch that lags behind our own Binding changes nothing; a member not yet bound gives its seat back.
            (Place::Gated | Place::Refused(_), AskState::Assumed { sent: false, .. }) => self.unassume(id),
            (Place::Pending, AskState::Assumed { sent: false, .. }) if ask.spec.terminating => self.unassume(id),
            (Place::Pending, AskState::Waiting) if ask.is_placeholder() => self.absorb(id),
            (Place::Gated | Place::Refused(_) | Place::Pending, _) => {}
        }
    }

    /// The API server has the pod on a node: charged there, whatever we had decided.
    pub(super) fn bound(&mut self, id: AskId, node: NodeId) {
        let ask = &self.books.asks[id];
        match ask.state {
            AskState::Bound { node: known } if known == node && ask.charge.is_some() => return,
            AskState::Parked { .. } => self.unpark(id),
            AskState::Waiting | AskState::Assumed { .. } | AskState::Bound { .. } | AskState::Finished => {}
        }
        let already = self.books.asks[id].charge.as_ref().map(|charge| charge.node);
        if already != Some(node) {
            let queue = self.queue_of(id);
            if let Some(other) = already {
                self.grown.insert(other);
                self.stirred = true;
            }
            self.books.charge_whole(id, node, queue);
        }
        self.books.change(id, |ask| ask.state = AskState::Bound { node });
        self.absorb(id);
    }

    /// The queue a pod with a node is charged to; `None` for other schedulers' pods.
    fn queue_of(&mut self, id: AskId) -> Option<QueueId> {
        let ask = &self.books.asks[id];
        if ask.spec.role == Role::Foreign {
            return None;
        }
        if let Some(queue) = ask.app.and_then(|app| self.books.apps[app].queue) {
            return Some(queue);
        }
        let marked = ask.spec.mark.as_ref().map(|mark| mark.queue.clone());
        let of_group = || Some(self.books.groups.get(ask.group?)?.spec.as_ref()?.queue.clone());
        let path = marked.or_else(|| ask.spec.queue.clone()).or_else(of_group);
        Some(self.books.queues.at(path.as_deref().unwrap_or(DEFAULT_QUEUE)))
    }

    /// Succeeded or failed: uses nothing any more. A finished placeholder is a lost seat.
    fn finish(&mut self, id: AskId) {
        if matches!(self.books.asks[id].state, AskState::Parked { .. }) {
            self.unpark(id);
        }
        self.free(id);
        self.books.change(id, |ask| ask.state = AskState::Finished);
        let succeeded = self.books.asks[id].spec.place == Place::Finished { succeeded: true };
        let is_placeholder = self.books.asks[id].is_placeholder();
        if succeeded && !is_placeholder {
            self.vacate(id, SeatState::Taken(None));
        } else {
            self.vacate(id, SeatState::Open(Reserve::None));
        }
        if is_placeholder {
            self.release(id, TerminationType::StoppedByRm);
        }
    }

    /// The pod is gone: confirms a release, or takes an ask or allocation away.
    pub(super) fn lose_ask(&mut self, id: AskId) {
        let Some(ask) = self.books.asks.get(id) else { return };
        let (app, group, state) = (ask.app, ask.group, ask.state);
        self.books.shelve(id, Shelf::Off, false);
        if !self.confirm_replacement(id) {
            if let AskState::Parked { .. } = state {
                self.unpark(id);
            }
            self.free(id);
            self.vacate(id, SeatState::Open(Reserve::None));
        }
        self.books.link(id, None, None);
        self.drop_class(id);
        self.forget_queueless(id);
        self.books.asks.remove(id);
        self.shown_asks.remove(&id);
        self.shown_groups.extend(group.filter(|group| self.books.groups.get(*group).is_some()));
        self.touch(app);
        self.leave_idle(app, group);
    }

    /// Takes an ask off the books and lets waiting work know.
    pub(super) fn free(&mut self, id: AskId) {
        if let Some(charge) = self.books.discharge(id) {
            self.grown.insert(charge.node);
            self.shown_queues.extend(charge.queue);
            self.stirred = true;
        }
    }

    /// Gives the seat of an ask another state, if it has one.
    pub(super) fn vacate(&mut self, id: AskId, state: SeatState) {
        let ask = &self.books.asks[id];
        let (Some(group), Some(seat)) = (ask.group, ask.seat) else { return };
        let attempt = match &ask.spec.role {
            Role::Placeholder(name) => name.attempt + 1,
            Role::Foreign | Role::Singleton | Role::Originator { .. } | Role::Member { .. } => 0,
        };
        self.books.seat(group, seat, state);
        self.books.groups[group].seats.next_attempt(seat, attempt);
        self.stirred = true;
    }

    /// Takes back an assumption that was not sent.
    pub(super) fn unassume(&mut self, id: AskId) {
        self.free(id);
        self.books.change(id, |ask| ask.state = AskState::Waiting);
        self.vacate(id, SeatState::Open(Reserve::None));
        let app = self.books.asks[id].app;
        self.touch(app);
        self.reshelve(id);
    }

    /// Finds the seat that a pod's own marks or our decision give it. Needs an accepted application; before that the
    /// pod is only charged, and acceptance comes back to it (01, 1.11).
    pub(super) fn absorb(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        match &ask.spec.role {
            Role::Placeholder(name) => {
                let name = name.clone();
                self.absorb_placeholder(id, &name);
            }
            Role::Member { .. } => self.absorb_member(id),
            Role::Foreign | Role::Singleton | Role::Originator { .. } => {}
        }
    }

    fn absorb_placeholder(&mut self, id: AskId, name: &PlaceholderName) {
        let Some(group) = self.books.asks[id].group else { return };
        if !self.synced {
            return;
        }
        if self.is_stray(group, name) {
            self.release(id, TerminationType::StoppedByRm);
            return;
        }
        let Some(seat) = self.books.groups[group].seats.get(name.seat) else { return };
        let ask = &self.books.asks[id];
        let usable = !ask.spec.terminating && ask.leaving.is_none();
        let is_bound = matches!(ask.state, AskState::Bound { .. });
        match seat.state {
            SeatState::Open(Reserve::Pending(own)) | SeatState::Assumed(own) | SeatState::Held(own) if own == id => {
                if !usable {
                    self.vacate(id, SeatState::Open(Reserve::None));
                } else if is_bound {
                    self.books.seat(group, name.seat, SeatState::Held(id));
                }
            }
            SeatState::Releasing { placeholder, .. } if placeholder == id => {}
            SeatState::Open(Reserve::None | Reserve::Creating) if usable => {
                let state = if is_bound { SeatState::Held(id) } else { SeatState::Open(Reserve::Pending(id)) };
                self.books.seat(group, name.seat, state);
                self.books.groups[group].seats.next_attempt(name.seat, name.attempt);
                self.stirred = true;
            }
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Held(_)
            | SeatState::Releasing { .. }
            | SeatState::Taken(_) => {
                self.books.groups[group].seats.next_attempt(name.seat, name.attempt + 1);
                self.release(id, TerminationType::StoppedByRm);
            }
        }
    }

    /// A placeholder that no seat can want: another incarnation's, a deleted group's, or of a gang that needs none.
    fn is_stray(&self, group: GroupId, name: &PlaceholderName) -> bool {
        let group = &self.books.groups[group];
        let Some((spec, app)) = group.spec.as_ref().zip(group.app) else { return self.groups_listed };
        let app = &self.books.apps[app];
        let known = matches!(app.state, AppState::Accepted | AppState::Running | AppState::Waiting);
        let wanted = known && name.incarnation == app.incarnation && name.seat < group.seats.len();
        // Before it is judged again nothing is thrown away.
        spec.uid != name.uid || !(wanted || app.state == AppState::New)
    }

    fn absorb_member(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        let (Some(group), Some(_)) = (ask.group, ask.app) else { return };
        match ask.state {
            AskState::Bound { .. } => {}
            AskState::Finished => return self.absorb_succeeded(id, group),
            AskState::Waiting | AskState::Parked { .. } | AskState::Assumed { .. } => return,
        }
        if let Some(seat) = ask.seat {
            self.books.seat(group, seat, SeatState::Taken(Some(id)));
            return;
        }
        let seats = &self.books.groups[group].seats;
        let is_open = |seat: &u32| matches!(seats.get(*seat).map(|seat| seat.state), Some(SeatState::Open(_)));
        let marked = ask.spec.mark.as_ref().and_then(|mark| mark.seat).filter(is_open);
        let Some(seat) = marked.or_else(|| seats.first_open()) else { return };
        if let Some(SeatState::Open(Reserve::Pending(placeholder))) = seats.get(seat).map(|seat| seat.state) {
            self.release(placeholder, TerminationType::PlaceholderReplaced);
        }
        self.books.seat(group, seat, SeatState::Taken(Some(id)));
    }

    /// A member that succeeded keeps its seat taken, also across a restart.
    fn absorb_succeeded(&mut self, id: AskId, group: GroupId) {
        let ask = &self.books.asks[id];
        let seats = &self.books.groups[group].seats;
        let seat = ask.spec.mark.as_ref().and_then(|mark| mark.seat);
        let is_open = |seat: &u32| matches!(seats.get(*seat).map(|seat| seat.state), Some(SeatState::Open(_)));
        let current = ask.app.is_some_and(|app| {
            ask.spec.mark.as_ref().is_some_and(|mark| mark.incarnation == self.books.apps[app].incarnation)
        });
        if let (true, true, Some(seat)) =
            (current, ask.spec.place == Place::Finished { succeeded: true }, seat.filter(is_open))
        {
            self.books.seat(group, seat, SeatState::Taken(None));
        }
    }

    /// Decides the deletion of a placeholder, once (seed "released"). Nothing is freed until it is gone.
    pub(super) fn release(&mut self, id: AskId, why: TerminationType) {
        let ask = &mut self.books.asks[id];
        if ask.leaving.is_none() {
            ask.leaving = Some(why);
            self.decide(Decision::Release(id, why));
        }
    }

    /// Placeholders found at the start whose group is gone or was re-created.
    pub(super) fn release_strays(&mut self) {
        let mut found: Vec<_> = (self.books.asks.iter())
            .filter(|(_, ask)| ask.is_placeholder())
            .map(|(id, ask)| (ask.spec.key.clone(), id))
            .collect();
        found.sort_unstable();
        for (_, id) in found {
            self.absorb(id);
        }
    }

    /// How a Binding ended.
    pub(super) fn bind_ended(&mut self, id: AskId, outcome: BindOutcome) {
        let Some(ask) = self.books.asks.get(id) else { return };
        let AskState::Assumed { node, sent: true } = ask.state else { return };
        match outcome {
            BindOutcome::Bound => self.bound(id, node),
            BindOutcome::Failed(refusal) => self.bind_failed(id, refusal),
        }
        self.note(id);
    }

    fn bind_failed(&mut self, id: AskId, refusal: Refusal) {
        let until = self.now.mono.after(BIND_RETRY_MS);
        self.books.asks[id].refused = Some((refusal, until));
        self.retries.insert((until, id));
        self.unassume(id);
        if self.books.asks[id].is_placeholder() {
            self.release(id, TerminationType::StoppedByRm);
        }
    }

    /// The deletion of a placeholder is refused for good: it stays charged, and its seat is open.
    pub(super) fn release_refused(&mut self, id: AskId) {
        if self.books.asks.get(id).is_some() {
            self.note(id);
        }
    }

    /// What a Binding of this ask writes on the pod.
    pub(super) fn mark(&self, id: AskId, queue: QueueId, seat: Option<u32>, started: bool) -> Mark {
        let ask = &self.books.asks[id];
        let app = ask.app.map(|app| &self.books.apps[app]);
        let first = app.and_then(|app| app.groups.first().copied());
        let group = ask.group.or(first).and_then(|group| self.books.groups.get(group)?.spec.as_ref());
        Mark {
            group: group.map(|spec| spec.uid.clone()),
            incarnation: app.map_or(0, |app| app.incarnation),
            seat,
            started: started && group.is_some(),
            queue: self.books.queues[queue].path.clone(),
        }
    }
}

/// Pause after a refused Binding: long enough that a pod whose Binding is refused for good (an admission policy) costs
/// next to nothing, short enough that nobody waits for a race that has passed.
const BIND_RETRY_MS: u64 = 5_000;
