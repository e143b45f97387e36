//! The verbs: each takes a pod from one place in the books to another, with line, charge, state, seat and tallies at
//! once, and notes what it changed.

use crate::core::base::ids::{AskId, GroupId, NodeId, QueueId};
use crate::core::decision::TerminationType;
use crate::core::event::{PlaceholderName, Role};
use crate::core::model::ask::{AskState, Charge, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::gang::LOST_AGAIN_MS;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::model::timers::Timer;
use crate::core::reason::{Loss, Reason};

impl Books {
    /// Gives a waiting pod a node, and a member this seat of its group: decided is counted. Its Binding is decided
    /// apart, at once or together with the rest of its gang ([`Self::commit_to_bind`]).
    pub fn assume(&mut self, id: AskId, node: NodeId, queue: QueueId, seat: Option<u32>) {
        // It is charged before it leaves its line: nothing else may refer to its submitter's part of the queue.
        self.charge_whole(id, node, Some(queue));
        self.stand_in_line(id, WaitsFor::Nothing);
        self.change(id, |ask| ask.state = AskState::Assumed { node, sent: false });
        let is_placeholder = self.asks[id].is_placeholder();
        let state = if is_placeholder { SeatState::Binding(id) } else { SeatState::Assumed(id) };
        if let Some((group, seat)) = self.asks[id].group.zip(seat) {
            self.seat(group, seat, state);
        }
    }

    /// The Binding of a pod that has a node is decided. The node and the queue it is charged to; `None` without either.
    pub fn commit_to_bind(&mut self, id: AskId) -> Option<(NodeId, QueueId)> {
        let ask = &self.asks[id];
        let (node, queue) = ask.node().zip(ask.charge.as_ref().and_then(|charge| charge.queue))?;
        self.change(id, |ask| ask.state = AskState::Assumed { node, sent: true });
        Some((node, queue))
    }

    /// The API server has a pod on a node. If the pod is not charged there yet, it is charged now, to this queue; the
    /// seat of a member is taken.
    pub fn confirm(&mut self, id: AskId, node: NodeId, queue: Option<QueueId>) {
        if self.asks[id].charge.as_ref().map(|charge| charge.node) != Some(node) {
            self.charge_whole(id, node, queue);
        }
        self.stand_in_line(id, WaitsFor::Nothing);
        self.change(id, |ask| ask.state = AskState::Bound { node });
        let ask = &self.asks[id];
        // The mark is seen after the answer. One that ran before there was a task group has another.
        let is_of = |life: u32| ask.spec.mark.is_none() || self.life_of(ask) == Some(life);
        let app = ask.app.filter(|_| !ask.is_placeholder());
        let app = app.filter(|app| self.apps[*app].has_started() && is_of(self.apps[*app].incarnation));
        if let Some(app) = app {
            let newest = Some(ask.spec.created);
            let app = &mut self.apps[app];
            (app.has_lived, app.newest_lived) = (true, app.newest_lived.max(newest));
        }
        let ask = &self.asks[id];
        if let (false, Some((group, seat))) = (ask.is_placeholder(), ask.group.zip(ask.seat)) {
            self.seat(group, seat, SeatState::Taken(Some(id)));
        }
    }

    /// A member waits for the placeholder of a held seat to go: until then it is charged with what it needs beyond the
    /// placeholder.
    pub fn park(&mut self, group: GroupId, (seat, placeholder, member): (u32, AskId, AskId), charge: Charge) {
        self.stand_in_line(member, WaitsFor::Nothing);
        self.charge(member, charge);
        self.change(member, |ask| ask.state = AskState::Parked { placeholder });
        self.seat(group, seat, SeatState::Releasing { placeholder, member });
    }

    /// A placeholder is gone. If a member was parked for its seat, the seat is the member's from now on, and the member
    /// gets a node before anything else is placed ([`Self::hand_over`]). Returns whether there was such a member.
    pub fn step_aside(&mut self, placeholder: AskId) -> bool {
        let Some((group, seat, member)) = self.swap_of(placeholder) else { return false };
        self.free(placeholder);
        self.seat(group, seat, SeatState::Freed(member));
        self.due.freed.insert(member);
        true
    }

    /// Ends a swap after the placeholder is gone. With a place the member takes the seat on that node; without one it
    /// waits like any other member, and the seat is open.
    pub fn hand_over(&mut self, member: AskId, place: Option<(NodeId, QueueId)>) {
        let Some((group, seat)) = self.asks[member].group.zip(self.asks[member].seat) else { return };
        let count = &mut self.groups[group].replaced;
        // The count may come from a status, which anybody can have written: it must not overflow.
        *count = count.saturating_add(1);
        match place {
            Some((node, queue)) => {
                self.charge_whole(member, node, Some(queue));
                self.change(member, |ask| ask.state = AskState::Assumed { node, sent: false });
                self.seat(group, seat, SeatState::Assumed(member));
            }
            None => self.call_off(member),
        }
    }

    /// Calls off a swap for the member: it waits again, and the seat is open. The placeholder is deleted all the same.
    fn call_off(&mut self, member: AskId) {
        self.free(member);
        self.change(member, |ask| ask.state = AskState::Waiting);
        if let Some((group, seat)) = self.asks[member].group.zip(self.asks[member].seat) {
            self.seat(group, seat, SeatState::Open(Reserve::None));
            self.groups[group].seats.raise_attempt(seat);
        }
    }

    /// Gives the seat of a pod another state, if it has one. After a placeholder the next one has another name.
    pub fn vacate(&mut self, id: AskId, state: SeatState) {
        let ask = &self.asks[id];
        let (Some(group), Some(seat)) = (ask.group, ask.seat) else { return };
        let attempt = match &ask.spec.role {
            Role::Placeholder(name) => name.attempt.saturating_add(1),
            Role::Foreign | Role::Singleton | Role::Originator { .. } | Role::Member { .. } => 0,
        };
        self.seat(group, seat, state);
        self.groups[group].seats.next_attempt(seat, attempt);
        self.changes.pass_due = true;
    }

    /// Calls off a swap for the member, and puts the member into the line in which it waits.
    pub(in crate::core) fn unpark(&mut self, member: AskId) {
        let is_seated = self.asks[member].seat.is_some();
        self.call_off(member);
        if is_seated {
            self.line_up(member);
        }
    }

    /// The member of a swap goes. What the placeholder has is not free before that is gone; after the start it is kept then for
    /// the next member, as the room of any other lost seat is (01, 1.5).
    pub(in crate::core) fn leave_swap(&mut self, member: AskId) {
        let ask = &self.asks[member];
        let seat = ask.group.zip(ask.seat);
        let AskState::Parked { placeholder } = ask.state else { return };
        let Some((group, seat)) = seat.filter(|_| self.asks.get(placeholder).is_some_and(|ask| ask.node().is_some()))
        else {
            return self.unpark(member);
        };
        self.unpark(member);
        self.seat(group, seat, SeatState::Leaving(placeholder));
    }

    /// Takes back the node that a pod was to have: it waits again, and its seat is open.
    pub(in crate::core) fn unassume(&mut self, id: AskId) {
        self.free(id);
        self.change(id, |ask| ask.state = AskState::Waiting);
        self.vacate(id, SeatState::Open(Reserve::None));
        // The pod's TaskGroup may have come or gone while the pod had a node.
        self.relink(id);
        self.line_up(id);
    }

    /// A placeholder is given up, once (seed "released"): its deletion is to be decided. Nothing is freed until it is
    /// gone.
    pub(in crate::core) fn release(&mut self, id: AskId, why: TerminationType) {
        let ask = &mut self.asks[id];
        if ask.leaving.is_none() && self.listed.all {
            ask.leaving = Some(why);
            self.changes.given_up.insert(id);
        }
    }

    /// Releases a placeholder and opens its seat; what it uses is freed when it is gone.
    pub(in crate::core) fn give_back(&mut self, placeholder: AskId, why: TerminationType) {
        self.vacate(placeholder, SeatState::Open(Reserve::None));
        self.release(placeholder, why);
    }

    /// A gang loses a seat before its start. The seat is open, and planned again, only when its placeholder is gone:
    /// until then the placeholder is charged, and would take the room from its own successor.
    pub(in crate::core) fn lose_seat(&mut self, placeholder: AskId) {
        self.vacate(placeholder, SeatState::Leaving(placeholder));
        self.release(placeholder, TerminationType::StoppedByRm);
        self.changes.apps.extend(self.asks[placeholder].app);
    }

    /// The placeholder of a seat is lost: its node refuses or evicts it, or somebody deletes it. The seat is planned
    /// again at once. If that happened again and again, placeholders would be made for ever, as fast as the API server
    /// takes them. So the second time within [`LOST_AGAIN_MS`] the gang gives everything back, and waits before it
    /// tries again, longer each time (docs/adr/0015).
    pub(in crate::core) fn placeholder_lost(&mut self, group: GroupId, seat: u32, how: Loss) {
        let now = self.now.mono;
        let group = &mut self.groups[group];
        let again = group.seats.lost_again(seat, now, LOST_AGAIN_MS);
        if let Some(gang) = group.gang.filter(|_| again) {
            self.due.setback(gang, None, Reason::PlaceholdersLost(how));
        }
    }

    /// Opens every seat of a group that is not taken and gives back what holds it, and what those have who would start with it
    /// beyond the seats.
    pub(in crate::core) fn empty_seats(&mut self, id: GroupId, why: TerminationType) {
        self.empty_unused_seats(id, why);
        let seats: Vec<_> = self.groups[id].seats.iter().map(|(_, seat)| seat).collect();
        for seat in seats {
            match seat.state {
                SeatState::Assumed(ask) => match self.asks[ask].state {
                    // The member's Binding is on its way and cannot be taken back.
                    AskState::Assumed { sent: true, .. } => {}
                    AskState::Assumed { sent: false, .. }
                    | AskState::Waiting
                    | AskState::Parked { .. }
                    | AskState::Bound { .. }
                    | AskState::Finished => self.unassume(ask),
                },
                SeatState::Releasing { member, .. } | SeatState::Freed(member) => self.unpark(member),
                SeatState::Open(_)
                | SeatState::Held(_)
                | SeatState::Leaving(_)
                | SeatState::Binding(_)
                | SeatState::Kept(_)
                | SeatState::Taken(_) => {}
            }
        }
        for member in self.going_along(&self.groups[id]) {
            self.unassume(member);
        }
    }

    /// Gives back what holds seats of a group that no member has or is about to take.
    pub(in crate::core) fn empty_unused_seats(&mut self, id: GroupId, why: TerminationType) {
        let seats: Vec<_> = self.groups[id].seats.iter().collect();
        for (number, seat) in seats {
            match seat.state {
                SeatState::Open(Reserve::Creating) => self.cancel_creation(id, number),
                SeatState::Open(Reserve::Pending(ask))
                | SeatState::Held(ask)
                | SeatState::Leaving(ask)
                | SeatState::Binding(ask) => self.give_back(ask, why),
                SeatState::Open(Reserve::None)
                | SeatState::Assumed(_)
                | SeatState::Releasing { .. }
                | SeatState::Freed(_)
                | SeatState::Kept(_)
                | SeatState::Taken(_) => {}
            }
        }
    }

    /// Takes back the creation of a seat's placeholder. If the call was sent already, it is decided when the
    /// placeholder appears whether that is of use or is deleted.
    pub(in crate::core) fn cancel_creation(&mut self, id: GroupId, seat: u32) {
        let Some(name) = self.placeholder_name(id, seat) else { return };
        self.seat(id, seat, SeatState::Open(Reserve::None));
        self.groups[id].seats.next_attempt(seat, name.attempt.saturating_add(1));
        self.changes.called_off.insert(name);
    }

    /// The name of the present or next placeholder of a seat.
    pub(in crate::core) fn placeholder_name(&self, id: GroupId, seat: u32) -> Option<PlaceholderName> {
        let group = &self.groups[id];
        let incarnation = self.apps[group.app?].incarnation;
        let (spec, attempt) = (group.spec.as_ref()?, group.seats.get(seat)?.attempt);
        Some(PlaceholderName { group: group.key.clone(), uid: spec.uid.clone(), incarnation, seat, attempt })
    }

    pub(in crate::core) fn forget_retry(&mut self, id: AskId) {
        self.asks[id].refused = None;
        self.timers.stop(Timer::Retry(id));
    }
}
