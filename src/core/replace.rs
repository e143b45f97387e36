//! Replacing a placeholder: the seed's steps 1 to 6 (01, 1.4).
//!
//! 1. A held seat is chosen that the member fits with the placeholder gone; the same node first.
//! 2. The seat is marked Releasing, the member parked, the placeholder's deletion decided. Nothing is freed yet.
//! 3. When the placeholder is gone, in one update: it leaves the books, and the member has the node.
//! 4. Its Binding is decided.

use std::collections::BTreeSet;

use super::ask::{AskState, Charge, Shelf};
use super::books::Books;
use super::decision::TerminationType;
use super::fill::{Demand, fill_some};
use super::ids::{AskId, ClassId, GroupId, NodeId, QueueId};
use super::misfit::fits;
use super::queue::Ahead;
use super::resources::{Resources, Totals};
use super::scheduler::Scheduler;
use super::scratch::Scratch;
use super::seat::{Reserve, SeatState};

impl Scheduler {
    /// Starts as many swaps as members and held seats allow; one never waits for another.
    pub(super) fn replace(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        if group.waiting.is_empty() || group.seats.tally().held == 0 {
            return;
        }
        let (app, waiting) = (group.app, group.waiting.iter().map(|(_, ask)| *ask).collect::<Vec<_>>());
        // Members of one class fail alike.
        let mut failed: BTreeSet<ClassId> = BTreeSet::new();
        for member in waiting {
            let Some(class) = self.books.asks[member].class else { continue };
            if failed.contains(&class) || !self.swap(id, member, class) {
                failed.insert(class);
                self.shown_asks.insert(member);
            }
        }
        if !failed.is_empty() {
            self.cramped.extend(app);
        }
    }

    fn swap(&mut self, group: GroupId, member: AskId, class: ClassId) -> bool {
        let Some(queue) = self.books.groups[group].app.and_then(|app| self.books.apps[app].queue) else { return false };
        let (books, scratch) = (&self.books, &mut self.scratch);
        let here = books.groups[group].seats.held().find_map(|(seat, placeholder)| {
            let node = books.asks[placeholder].node()?;
            let excess = books.request(member).excess_over(books.request(placeholder));
            let fits = room_for(books, queue, &excess) && fits_instead(books, scratch, class, placeholder, node);
            fits.then_some((seat, placeholder, node, excess))
        });
        if let Some((seat, placeholder, node, excess)) = here {
            let charge = Charge { node, on_node: excess.clone(), queue: Some(queue), in_queue: excess };
            self.park(group, (seat, placeholder, member), charge);
            return true;
        }
        self.swap_elsewhere(group, member, (class, queue))
    }

    /// The target is charged now, the old node until confirmation, the queue once.
    fn swap_elsewhere(&mut self, group: GroupId, member: AskId, (class, queue): (ClassId, QueueId)) -> bool {
        let Some((seat, placeholder)) = self.books.groups[group].seats.held().next() else { return false };
        let request = self.books.request(member).clone();
        let excess = request.excess_over(self.books.request(placeholder));
        if !room_for(&self.books, queue, &excess) {
            return false;
        }
        let Some(node) = self.find_node(class) else { return false };
        let charge = Charge { node, on_node: request, queue: Some(queue), in_queue: excess };
        self.park(group, (seat, placeholder, member), charge);
        true
    }

    fn park(&mut self, group: GroupId, (seat, placeholder, member): (u32, AskId, AskId), charge: Charge) {
        self.books.shelve(member, Shelf::Off, false);
        self.books.charge(member, charge);
        self.books.change(member, |ask| ask.state = AskState::Parked { placeholder });
        self.books.seat(group, seat, SeatState::Releasing { placeholder, member });
        self.shown_asks.insert(member);
        self.release(placeholder, TerminationType::PlaceholderReplaced);
    }

    fn find_node(&mut self, class: ClassId) -> Option<NodeId> {
        if self.room.get(&class) == Some(&0) {
            return None;
        }
        let mut placed = std::mem::take(&mut self.placed);
        placed.clear();
        self.scratch.begin();
        fill_some(&self.books.nodes, &self.books.classes, &mut self.scratch, Demand { class, count: 1 }, &mut placed);
        let node = placed.first().map(|placed| placed.node);
        self.placed = placed;
        if node.is_none() {
            self.room.insert(class, 0);
        }
        node
    }

    /// The placeholder of a swap is gone: one update of application, queue and node. `false` if it was no swap.
    pub(super) fn confirm_replacement(&mut self, placeholder: AskId) -> bool {
        let ask = &self.books.asks[placeholder];
        let Some((group, seat)) = ask.group.zip(ask.seat) else { return false };
        let Some(SeatState::Releasing { placeholder: leaves, member }) =
            self.books.groups[group].seats.get(seat).map(|seat| seat.state)
        else {
            return false;
        };
        if leaves != placeholder {
            return false;
        }
        self.books.groups[group].replaced += 1;
        let chosen = self.books.asks[member].charge.as_ref().map(|charge| charge.node);
        let queue = self.books.asks[member].app.and_then(|app| self.books.apps[app].queue);
        self.free(placeholder);
        self.free(member);
        let class = self.books.asks[member].class;
        self.scratch.begin();
        let still = |node: &NodeId| {
            class.is_some_and(|class| fits(&self.books.nodes, &self.books.classes, &self.scratch, class, *node).is_ok())
        };
        let node = chosen.filter(still).or_else(|| class.and_then(|class| self.find_node(class)));
        match node.zip(queue) {
            Some((node, queue)) => {
                self.books.charge_whole(member, node, Some(queue));
                self.books.change(member, |ask| ask.state = AskState::Assumed { node, sent: false });
                self.books.seat(group, seat, SeatState::Assumed(member));
                self.send(member);
            }
            None => self.reopen(group, seat, member),
        }
        self.shown_asks.insert(member);
        self.touch(self.books.asks[member].app);
        true
    }

    /// The member becomes an ordinary ask, the seat is open.
    fn reopen(&mut self, group: GroupId, seat: u32, member: AskId) {
        self.books.change(member, |ask| ask.state = AskState::Waiting);
        let attempt = self.books.groups[group].seats.get(seat).map_or(0, |seat| seat.attempt + 1);
        self.books.seat(group, seat, SeatState::Open(Reserve::None));
        self.books.groups[group].seats.next_attempt(seat, attempt);
        self.reshelve(member);
    }

    /// A swap is called off from the member's side; the placeholder leaves all the same.
    pub(super) fn unpark(&mut self, member: AskId) {
        self.free(member);
        let (group, seat) = (self.books.asks[member].group, self.books.asks[member].seat);
        match group.zip(seat) {
            Some((group, seat)) => self.reopen(group, seat, member),
            None => self.books.change(member, |ask| ask.state = AskState::Waiting),
        }
    }
}

/// Whether what a member needs beyond its seat fits the quota.
fn room_for(books: &Books, queue: QueueId, excess: &Resources) -> bool {
    if excess.iter().all(|(_, amount)| amount == 0) {
        return true;
    }
    let mut asked = Totals::default();
    asked.add(excess, 1);
    books.queues.refuses(queue, &Ahead::default(), &asked).is_none()
}

/// Whether a class fits a node with one placeholder gone from it: ports and everything else included, so that a slot is
/// never given up for a member that cannot use it.
fn fits_instead(books: &Books, scratch: &mut Scratch, class: ClassId, placeholder: AskId, node: NodeId) -> bool {
    let shape = &books.asks[placeholder].spec.shape;
    scratch.begin();
    scratch.credit(node, &shape.request, &shape.ports, 1);
    fits(&books.nodes, &books.classes, scratch, class, node).is_ok()
}
