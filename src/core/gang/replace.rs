//! Replacing a placeholder: the seed's steps 1 to 6 (01, 1.4).
//!
//! 1. A held seat is chosen that the member fits with the placeholder gone; the same node first. (Open seats are taken
//!    before any held one.)
//! 2. The seat is marked Releasing, the member parked, the placeholder's deletion decided. Nothing is freed yet.
//! 3. When the placeholder is gone, in one update: it leaves the books, and the member has the node.
//! 4. Its Binding is decided.
//!
//! [`super::swap`] has the last two.

use std::collections::BTreeMap;

use crate::core::base::ids::{AskId, ClassId, GroupId, QueueId};
use crate::core::base::resources::{Resources, Totals};
use crate::core::decision::TerminationType;
use crate::core::model::application::App;
use crate::core::model::ask::Charge;
use crate::core::model::books::Books;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::QuotaExcess;
use crate::core::step::Scheduler;

/// What a swap may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum Reach {
    /// No more than the room of the placeholder.
    Seat,
    /// Also room beyond the placeholder's, or another node. Only in the pass, after the open seats of gangs whose start
    /// was interrupted.
    Beyond,
}

impl Scheduler {
    /// Starts as many swaps as members and held seats allow; one never waits for another. If the members that count on
    /// a held seat cannot use all of these, the other members of the group may try (with [`Reach::Beyond`]).
    pub(in crate::core) fn replace(&mut self, id: GroupId, reach: Reach) {
        let group = &self.books.groups[id];
        if group.seats.tally().held == 0 && self.books.holds_back(group) {
            // They wait for no held seat.
            return;
        }
        let mut tries = Tries::new();
        let waiting = self.books.groups[id].waiting.iter().map(|(_, ask)| *ask).collect();
        let all_swap = self.swap_each(id, waiting, (&mut tries, reach));
        if reach == Reach::Beyond {
            let others = self.books.groups[id].overflow.iter().map(|(_, ask)| *ask).collect();
            self.swap_each(id, others, (&mut tries, reach));
        }
        if let (false, Some(app)) = (all_swap, self.books.groups[id].app) {
            self.books.changes.pass_due |= self.books.lacking_room.insert(app) && reach == Reach::Seat;
        }
    }

    /// Starts a swap for as many of these members as possible, while there are held seats. Returns whether all of them
    /// swap.
    fn swap_each(&mut self, id: GroupId, members: Vec<AskId>, (tries, reach): (&mut Tries, Reach)) -> bool {
        let mut all_swap = true;
        for member in members {
            let Some(class) = self.books.asks[member].class else { continue };
            if self.books.groups[id].seats.tally().held == 0 {
                return false;
            }
            let from = tries.entry(class).or_insert(Some(0));
            *from = from.and_then(|from| self.swap(id, member, class, (from, reach)));
            if from.is_none() {
                all_swap = false;
                self.books.changes.asks.insert(member);
            }
        }
        all_swap
    }

    /// Starts the swap of a member with the placeholder of a held seat, looking from seat `from` on. Returns where the
    /// next member of its class goes on looking; `None` if no seat will do.
    fn swap(&mut self, group: GroupId, member: AskId, class: ClassId, (from, reach): (u32, Reach)) -> Option<u32> {
        let queue = self.books.apps[self.books.groups[group].app?].queue?;
        let (books, planner) = (&self.books, &mut self.planner);
        let here = books.groups[group].seats.held_from(from).find_map(|(seat, placeholder)| {
            let node = books.asks[placeholder].node()?;
            let excess = books.request(member).excess_over(books.request(placeholder));
            let fits = (reach == Reach::Beyond || is_nothing(&excess))
                && excess_refused(books, queue, &excess).is_none()
                && planner.fits_instead(books, class, placeholder, node);
            fits.then_some((seat, placeholder, node, excess))
        });
        if let Some((seat, placeholder, node, excess)) = here {
            let charge = Charge { node, on_node: excess.clone(), queue: Some(queue), in_queue: excess };
            self.begin_swap(group, (seat, placeholder, member), charge);
            return Some(seat);
        }
        let seats = self.books.groups[group].seats.len();
        (reach == Reach::Beyond && self.swap_elsewhere(group, member, (class, queue))).then_some(seats)
    }

    /// Whether the start of a group's gang was interrupted: the gang runs, not every seat has had a bound member yet, a
    /// seat is open, and members wait. These members get their nodes in the pass, in the order of the gangs.
    pub(in crate::core) fn is_interrupted(&self, id: GroupId) -> bool {
        let group = &self.books.groups[id];
        let app = group.app.map(|app| &self.books.apps[app]);
        let starts = |app: &App| app.state() == AppState::Running && !app.placed && app.timed_out.is_none();
        app.is_some_and(|app| starts(app) && app.queue.is_some())
            && group.seats.tally().open > 0
            && group.without_node().next().is_some()
    }

    /// "An Open seat with a waiting member is planned for that member" (01, 1.4), and before a placeholder gives up a
    /// held one. Such seats are left by a process that ended in the middle of a start. Members that are no larger than
    /// a seat come first: a larger one would take more than the room of its own seat, and so might leave none for
    /// another open seat of its gang.
    pub(in crate::core) fn fill_open_seats(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        let queue = group.app.and_then(|app| self.books.apps[app].queue);
        let Some(queue) = queue.filter(|_| self.is_interrupted(id)) else { return };
        let size = &group.spec().min_resource;
        let is_larger = |ask: &AskId| self.books.request(*ask).first_beyond(size).is_some();
        let mut members: Vec<_> = group.without_node().map(|(rank, ask)| (is_larger(ask), rank, *ask)).collect();
        members.sort_unstable();
        for member in members.into_iter().map(|(.., ask)| ask).collect::<Vec<_>>() {
            if self.books.groups[id].seats.tally().open == 0 {
                return;
            }
            self.take_open_seat(member, queue);
        }
        self.books.lacking_room.extend(self.books.groups[id].app);
    }

    fn take_open_seat(&mut self, member: AskId, queue: QueueId) {
        let Some(class) = self.books.asks[member].class else { return };
        let request = self.books.request(member).clone();
        if excess_refused(&self.books, queue, &request).is_none()
            && let Some(node) = self.planner.find(&self.books, class)
        {
            self.allocate(member, node, queue);
        }
    }

    /// Starts a swap to another node: that node is charged now, the node of the placeholder until the placeholder is
    /// gone, and the queue only with what the member needs beyond the placeholder.
    fn swap_elsewhere(&mut self, group: GroupId, member: AskId, (class, queue): (ClassId, QueueId)) -> bool {
        let Some((seat, placeholder)) = self.books.groups[group].seats.held().next() else { return false };
        let request = self.books.request(member).clone();
        let excess = request.excess_over(self.books.request(placeholder));
        if excess_refused(&self.books, queue, &excess).is_some() {
            return false;
        }
        let Some(node) = self.planner.find(&self.books, class) else { return false };
        let charge = Charge { node, on_node: request, queue: Some(queue), in_queue: excess };
        self.begin_swap(group, (seat, placeholder, member), charge);
        true
    }

    fn begin_swap(&mut self, group: GroupId, swap: (u32, AskId, AskId), charge: Charge) {
        self.books.park(group, swap, charge);
        self.books.release(swap.1, TerminationType::PlaceholderReplaced);
    }
}

/// Where the members of each class go on looking for a seat; `None` where no seat will do. A seat that did not fit one
/// member does not fit the next one of its class: no room becomes free before the placeholders are gone.
type Tries = BTreeMap<ClassId, Option<u32>>;

fn is_nothing(excess: &Resources) -> bool {
    excess.iter().all(|(_, amount)| amount == 0)
}

/// Why the quota has no room for what a member needs beyond its seat.
pub(in crate::core) fn excess_refused(books: &Books, queue: QueueId, excess: &Resources) -> Option<QuotaExcess> {
    if is_nothing(excess) {
        return None;
    }
    let mut asked = Totals::default();
    asked.add(excess, 1);
    books.queues.refuses(queue, &asked)
}
