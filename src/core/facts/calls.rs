//! How our calls about pods ended: Bindings, deletions and creations that were carried out, refused or recalled.

use crate::core::base::ids::AskId;
use crate::core::decision::TerminationType;
use crate::core::event::{BindOutcome, PlaceholderName};
use crate::core::model::ask::AskState;
use crate::core::model::books::Books;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::model::timers::Timer;
use crate::core::reason::{Loss, Reason, Refusal};
use crate::core::time::Millis;

/// Pause after a refused Binding: long enough that a pod whose Binding is refused for good (an admission policy) costs
/// next to nothing, short enough that a pod whose Binding only lost a race does not wait long.
const BIND_RETRY_MS: Millis = 5_000;

/// Pause after a refused deletion: no pod waits for the deletion, and the admission webhook that refuses it rarely
/// changes soon.
const RELEASE_RETRY_MS: Millis = 60_000;

impl Books {
    /// How a Binding ended.
    pub(in crate::core) fn bind_ended(&mut self, id: AskId, outcome: BindOutcome) {
        let Some(ask) = self.asks.get(id) else { return };
        let AskState::Assumed { node, sent: true } = ask.state else { return };
        match outcome {
            BindOutcome::Bound => {
                let node = self.nodes.name(node).expect("a charged node has a name").clone();
                self.bound(id, &node);
            }
            BindOutcome::Failed(refusal) => self.bind_failed(id, refusal),
            BindOutcome::Recalled => {
                // Nothing is wrong with the pod, so it is planned again at once. A placeholder is deleted, and another
                // one is planned for its seat.
                self.unassume(id);
                if self.asks[id].is_placeholder() {
                    self.release(id, TerminationType::StoppedByRm);
                }
            }
        }
        self.follow_labels(id);
        self.note(id);
    }

    fn bind_failed(&mut self, id: AskId, refusal: Refusal) {
        if self.asks[id].is_placeholder() {
            self.placeholder_not_bound(id, refusal);
        } else if self.asks[id].node().is_none_or(|node| self.nodes.spec(node).is_none()) {
            // The node is gone and nothing is wrong with the pod, so it is planned again at once.
            self.unassume(id);
        } else {
            self.try_later(id, refusal, BIND_RETRY_MS);
            // A gang that has begun to start keeps the room of this member until the next try. If others took the room
            // meanwhile, the gang would go on running without the member (01, 1.3).
            if !self.is_being_started(id) {
                self.unassume(id);
            }
        }
    }

    /// The Binding of a placeholder was refused. If somebody else changed or deleted the placeholder (404, 409), its
    /// seat is lost and is planned again at once. If the placeholder had been given up before (its node is gone, say),
    /// nothing else follows. Any other refusal would come again at the next try, so the gang gives back what it holds
    /// and backs off.
    fn placeholder_not_bound(&mut self, id: AskId, refusal: Refusal) {
        let is_changed = matches!(refusal.code, 404 | 409);
        let is_lost = self.asks[id].leaving.is_some() || is_changed;
        let seat = self.seat_of_placeholder(id).filter(|_| is_changed);
        let node = self.asks[id].node();
        self.unassume(id);
        self.release(id, TerminationType::StoppedByRm);
        if let Some((group, seat)) = seat {
            self.placeholder_lost(group, seat, Loss::Changed);
        }
        let group = self.asks[id].group.map(|group| &self.groups[group]);
        if let Some(gang) = group.and_then(|group| group.gang).filter(|_| !is_lost) {
            self.due.setback(gang, node, Reason::PlaceholderRejected(refusal));
        }
    }

    /// The deletion of a placeholder is refused. The placeholder stays charged and its seat is opened; a member that
    /// was parked for the seat waits for a node like any other again. The deletion is tried again after a pause,
    /// without end, because a leftover placeholder must go some day.
    pub(in crate::core) fn release_refused(&mut self, id: AskId, refusal: Refusal) {
        let Some(ask) = self.asks.get(id) else { return };
        if ask.leaving.is_none() {
            return;
        }
        let seat = ask.group.zip(ask.seat).and_then(|(group, seat)| self.groups[group].seats.get(seat));
        let is_leaving = seat.is_some_and(|seat| seat.state == SeatState::Leaving(id));
        self.try_later(id, refusal, RELEASE_RETRY_MS);
        if let Some((_, _, member)) = self.swap_of(id) {
            self.unpark(member);
            self.note(member);
        } else if is_leaving {
            self.vacate(id, SeatState::Open(Reserve::None));
        }
        self.note(id);
    }

    /// The deletion of a placeholder is refused for now, and is tried again without another decision. Only the reason
    /// changes that is shown on the member parked for its seat.
    pub(in crate::core) fn release_held_up(&mut self, id: AskId, refusal: Refusal) {
        if self.asks.get(id).is_none_or(|ask| ask.leaving.is_none()) {
            return;
        }
        self.forget_retry(id);
        self.asks[id].refused = Some((refusal, self.now.mono));
        self.changes.asks.extend(self.swap_of(id).map(|(_, _, member)| member));
    }

    fn try_later(&mut self, id: AskId, refusal: Refusal, pause: Millis) {
        self.forget_retry(id);
        let until = self.now.mono.after(pause);
        self.asks[id].refused = Some((refusal, until));
        self.timers.set(Timer::Retry(id), until);
    }

    /// Notes that the API server refused to create a placeholder. The refusal counts only if the placeholder has not
    /// been seen once all facts of the step are in: it may say no more than that the placeholder exists already.
    pub(in crate::core) fn create_refused(&mut self, name: PlaceholderName, refusal: Refusal) {
        self.due.refused.insert(name, refusal);
    }
}
