//! The verbs: each takes a pod from one place in the books to another, with shelf, charge, state, seat and tallies at once,
//! and notes what it changed.

use crate::core::base::ids::{AskId, GroupId, NodeId, QueueId};
use crate::core::event::Role;
use crate::core::model::ask::{AskState, Charge, Shelf};
use crate::core::model::books::Books;
use crate::core::model::seat::{Reserve, SeatState};

impl Books {
    /// Gives a waiting pod a node, and a member this seat of its group: decided is counted. Whether its Binding leaves at once
    /// or waits for the rest of its gang is said apart ([`Self::commit_to_bind`]).
    pub fn assume(&mut self, id: AskId, node: NodeId, queue: QueueId, seat: Option<u32>) {
        self.shelve(id, Shelf::Off);
        self.charge_whole(id, node, Some(queue));
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

    /// The API server has a pod on a node: there it is charged, to this queue if it was not yet.
    pub fn confirm(&mut self, id: AskId, node: NodeId, queue: Option<QueueId>) {
        self.shelve(id, Shelf::Off);
        if self.asks[id].charge.as_ref().map(|charge| charge.node) != Some(node) {
            self.charge_whole(id, node, queue);
        }
        self.change(id, |ask| ask.state = AskState::Bound { node });
    }

    /// A member waits for the placeholder of a held seat to go: until then it is charged with what it needs beyond that.
    pub fn park(&mut self, group: GroupId, (seat, placeholder, member): (u32, AskId, AskId), charge: Charge) {
        self.shelve(member, Shelf::Off);
        self.charge(member, charge);
        self.change(member, |ask| ask.state = AskState::Parked { placeholder });
        self.seat(group, seat, SeatState::Releasing { placeholder, member });
    }

    /// A placeholder is gone for whose seat a member was parked: the member has it, on this node, or waits like any other
    /// while the seat is open.
    pub fn replace(&mut self, placeholder: AskId, member: AskId, place: Option<(NodeId, QueueId)>) {
        let Some((group, seat)) = self.asks[member].group.zip(self.asks[member].seat) else { return };
        let count = &mut self.groups[group].replaced;
        // A status is what anybody may have written.
        *count = count.saturating_add(1);
        match place {
            Some((node, queue)) => {
                self.charge_whole(member, node, Some(queue));
                self.free(placeholder);
                self.change(member, |ask| ask.state = AskState::Assumed { node, sent: false });
                self.seat(group, seat, SeatState::Assumed(member));
            }
            None => {
                self.free(placeholder);
                self.call_off(member);
            }
        }
    }

    /// A swap is called off from the member's side: it waits again, and the seat is open. The placeholder leaves all the same.
    pub fn call_off(&mut self, member: AskId) {
        self.free(member);
        self.change(member, |ask| ask.state = AskState::Waiting);
        if let Some((group, seat)) = self.asks[member].group.zip(self.asks[member].seat) {
            self.seat(group, seat, SeatState::Open(Reserve::None));
            self.groups[group].seats.raise_attempt(seat);
        }
    }

    /// Takes back the node that a pod was to have: it waits again, and its seat is open.
    pub fn take_back(&mut self, id: AskId) {
        self.free(id);
        self.change(id, |ask| ask.state = AskState::Waiting);
        self.vacate(id, SeatState::Open(Reserve::None));
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
}
