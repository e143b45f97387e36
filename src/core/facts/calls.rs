//! What becomes of our calls about pods: Bindings and deletions are decided, end, and are tried again where refused.

use crate::core::base::ids::{AskId, QueueId};
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::{BindOutcome, Mark, Place, Role};
use crate::core::model::ask::AskState;
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::model::timers::Timer;
use crate::core::reason::{Loss, Reason, Refusal};
use crate::core::step::Scheduler;
use crate::core::time::Millis;

/// Pause after a refused Binding: long enough that a pod whose Binding is refused for good (an admission policy) costs
/// next to nothing, short enough that nobody waits for a race that has passed.
const BIND_RETRY_MS: Millis = 5_000;

/// Pause after a refused deletion: nobody waits for it, and what refuses it (an admission webhook) rarely changes soon.
const RELEASE_RETRY_MS: Millis = 60_000;

impl Scheduler {
    /// Decides the deletion of a placeholder, once (seed "released"), and again only where it was refused. Nothing is freed
    /// until it is gone.
    pub(in crate::core) fn release(&mut self, id: AskId, why: TerminationType) {
        let ask = &mut self.books.asks[id];
        if ask.leaving.is_none() && self.synced {
            ask.leaving = Some(why);
            if !ask.spec.terminating {
                self.decide(Decision::Release(id, why));
            }
        }
    }

    /// How a Binding ended.
    pub(in crate::core) fn bind_ended(&mut self, id: AskId, outcome: BindOutcome) {
        let Some(ask) = self.books.asks.get(id) else { return };
        let AskState::Assumed { node, sent: true } = ask.state else { return };
        match outcome {
            BindOutcome::Bound => {
                let node = self.books.nodes.name(node).expect("a charged node has a name").clone();
                self.bound(id, &node);
            }
            BindOutcome::Failed(refusal) => self.bind_failed(id, refusal),
            BindOutcome::Recalled => {
                // Nothing is wrong with the pod: planned again at once, a placeholder as another one.
                self.unassume(id);
                if self.books.asks[id].is_placeholder() {
                    self.release(id, TerminationType::StoppedByRm);
                }
            }
        }
        self.follow_labels(id);
        self.books.note(id);
    }

    fn bind_failed(&mut self, id: AskId, refusal: Refusal) {
        if self.books.asks[id].is_placeholder() {
            self.placeholder_not_bound(id, refusal);
        } else if self.books.asks[id].node().is_none_or(|node| self.books.nodes.spec(node).is_none()) {
            // Nothing is wrong with the pod: planned again at once.
            self.unassume(id);
        } else {
            self.try_later(id, refusal, BIND_RETRY_MS);
            // A gang that has begun to start keeps the room of its member until the next try: given away meanwhile, the
            // gang would stay in parts (01, 1.3).
            if !self.is_being_started(id) {
                self.unassume(id);
            }
        }
    }

    /// Whether a Binding of the pod was decided, and has not ended as far as is known.
    pub(in crate::core) fn is_being_bound(&self, id: AskId) -> bool {
        self.books.asks.get(id).is_some_and(|ask| matches!(ask.state, AskState::Assumed { sent: true, .. }))
    }

    /// Whether a Binding of the pod was decided, and the pod was not seen with it: for whom that is only its mark says.
    pub(in crate::core) fn is_bound_unseen(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let is_seen = ask.spec.mark.is_some() || matches!(ask.spec.place, Place::On { .. });
        matches!(ask.state, AskState::Bound { .. }) && !is_seen || self.is_being_bound(id)
    }

    /// Whether a pod belongs where it did when its Binding was decided, and asks for nothing that we cannot give.
    pub(in crate::core) fn is_as_decided(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let is_refused = matches!(ask.spec.place, Place::Refused(_)) && !ask.is_placeholder();
        !self.lacks_its_group(id) && ask.relabelled.is_none() && !is_refused
    }

    /// Whether a member's TaskGroup is gone.
    pub(in crate::core) fn lacks_its_group(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        matches!(ask.spec.role, Role::Member { .. }) && ask.group.is_none()
    }

    /// Whether the pod belongs to a gang that has started and is not complete yet.
    fn is_being_started(&self, id: AskId) -> bool {
        let app = self.books.asks[id].app.map(|app| &self.books.apps[app]);
        app.is_some_and(|app| app.state() == AppState::Running && !app.placed && !app.groups.is_empty())
    }

    /// A placeholder that changed under our hands is a lost seat, planned again at once, and one that is on its way out
    /// (its node is gone, say) was given up before. One that may not be bound would not be bound the next time either: the
    /// gang gives back what it holds and backs off.
    fn placeholder_not_bound(&mut self, id: AskId, refusal: Refusal) {
        let is_changed = matches!(refusal.code, 404 | 409);
        let is_lost = self.books.asks[id].leaving.is_some() || is_changed;
        let seat = self.seat_of_placeholder(id).filter(|_| is_changed);
        self.unassume(id);
        self.release(id, TerminationType::StoppedByRm);
        if let Some((group, seat)) = seat {
            self.placeholder_lost(group, seat, Loss::Changed);
        }
        let group = self.books.asks[id].group.map(|group| &self.books.groups[group]);
        if let Some(gang) = group.and_then(|group| group.gang)
            && !is_lost
            && self.books.gangs[gang].is_before_start()
        {
            self.fall_back(gang, Reason::PlaceholderRejected(refusal));
        }
    }

    /// The deletion of a placeholder is refused: it stays charged, its seat is open, a member that waited for it does not
    /// wait any longer, and the deletion is tried again later, for ever: what is left over must go some day.
    pub(in crate::core) fn release_refused(&mut self, id: AskId, refusal: Refusal) {
        let Some(ask) = self.books.asks.get(id) else { return };
        if ask.leaving.is_none() {
            return;
        }
        let seat = ask.group.zip(ask.seat).and_then(|(group, seat)| self.books.groups[group].seats.get(seat));
        self.try_later(id, refusal, RELEASE_RETRY_MS);
        match seat.map(|seat| seat.state) {
            Some(SeatState::Releasing { placeholder, member }) if placeholder == id => {
                self.unpark(member);
                self.books.note(member);
            }
            Some(SeatState::Leaving(own)) if own == id => self.books.vacate(id, SeatState::Open(Reserve::None)),
            Some(
                SeatState::Open(_)
                | SeatState::Assumed(_)
                | SeatState::Binding(_)
                | SeatState::Held(_)
                | SeatState::Leaving(_)
                | SeatState::Releasing { .. }
                | SeatState::Taken(_),
            )
            | None => {}
        }
        self.books.note(id);
    }

    /// The deletion of a placeholder is refused for now and tried on: nothing changes but what is said to the member that
    /// waits for it.
    pub(in crate::core) fn release_held_up(&mut self, id: AskId, refusal: Refusal) {
        let Some(ask) = self.books.asks.get(id).filter(|ask| ask.leaving.is_some()) else { return };
        let seat = ask.group.zip(ask.seat).and_then(|(group, seat)| self.books.groups[group].seats.get(seat));
        let member = seat.and_then(|seat| match seat.state {
            SeatState::Releasing { placeholder, member } => (placeholder == id).then_some(member),
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Taken(_) => None,
        });
        self.forget_retry(id);
        self.books.asks[id].refused = Some((refusal, self.now.mono));
        self.books.changes.asks.extend(member);
    }

    fn try_later(&mut self, id: AskId, refusal: Refusal, pause: Millis) {
        self.forget_retry(id);
        let until = self.now.mono.after(pause);
        self.books.asks[id].refused = Some((refusal, until));
        self.books.timers.set(Timer::Retry(id), until);
    }

    pub(in crate::core) fn forget_retry(&mut self, id: AskId) {
        self.books.asks[id].refused = None;
        self.books.timers.stop(Timer::Retry(id));
    }

    /// Calls whose pause is over, in the order of the pods' names: ids depend on the order of arrival.
    pub(in crate::core) fn retry_due(&mut self, due: &[AskId]) {
        let mut due: Vec<_> = due.iter().map(|id| (self.books.asks[*id].spec.key.clone(), *id)).collect();
        due.sort_unstable();
        for (_, id) in due {
            self.forget_retry(id);
            self.retry(id);
            self.books.changes.apps.extend(self.books.asks[id].app);
            self.books.changes.asks.insert(id);
        }
    }

    fn retry(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        match (ask.leaving, ask.state) {
            (Some(_), _) if ask.spec.terminating => {}
            (Some(why), _) => self.decide(Decision::Release(id, why)),
            // It kept its room, and goes there: planned anew beside others of its gang, it might find none.
            (None, AskState::Assumed { sent: true, .. }) if self.may_go_on(id) => self.send(id),
            (None, AskState::Assumed { sent: true, .. }) => self.unassume(id),
            (None, AskState::Assumed { sent: false, .. } | AskState::Waiting) => self.reshelve(id),
            (None, AskState::Parked { .. } | AskState::Bound { .. } | AskState::Finished) => {}
        }
    }

    /// Whether what was decided for a pod is still to be done: the same gang is being started, in the same queue, and the node
    /// takes it.
    fn may_go_on(&mut self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let charged = ask.charge.as_ref().and_then(|charge| charge.queue);
        let is_of_queue = ask.app.is_some_and(|app| self.books.apps[app].queue == charged);
        is_of_queue && self.is_being_started(id) && !self.lacks_its_group(id) && self.still_fits(id)
    }

    /// What a Binding of this ask writes on the pod.
    pub(in crate::core) fn mark(&self, id: AskId, queue: QueueId, seat: Option<u32>, started: bool) -> Mark {
        let ask = &self.books.asks[id];
        let app = ask.app.map(|app| &self.books.apps[app]);
        let first = app.and_then(|app| app.groups.first().copied());
        let group = ask.group.or(first).and_then(|group| self.books.groups.get(group)?.spec.as_ref());
        // A life has a number from its acceptance on.
        let group = group.filter(|_| app.is_some_and(|app| app.incarnation > 0));
        let (task_group, application) = match &ask.spec.role {
            Role::Member { group } => (Some(group.clone()), None),
            Role::Originator { application } => (None, Some(application.clone())),
            Role::Foreign | Role::Singleton | Role::Placeholder(_) => (None, None),
        };
        Mark {
            task_group,
            application,
            group: group.map(|spec| spec.uid.clone()),
            incarnation: app.map_or(0, |app| app.incarnation),
            seat,
            started: started && group.is_some(),
            queue: self.books.queues[queue].path.clone(),
        }
    }
}
