//! L8: no queue below what it is promised waits, with a pod that could be placed now, while one that has its promise is served
//! (01, 1.12).
//!
//! Looked at with every step of a process, by its books: who got a node with it, and who waited for nodes before it and does after
//! it. Less is claimed than is promised, so that the order within the step does not have to be known:
//! - of those who are served pods outside applications, and who gets a seat of a gang that had not started and for which nothing is
//!   kept, placeholder or member (members of gangs that run go before all others, and so does what is kept; who goes along beyond the
//!   seats, by `totalMember`, has the turn of its gang), of queues that had all that they are promised, on every level, without
//!   anything that was placed in the same step;
//! - of those who wait ordinary pods, which need no others and say that they wait for nodes and for nothing else, whose queue
//!   or one above it uses less than it is promised, and which the node of the other one could have, with all else as it is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::{AskId, Key, NodeId, QueueId};
use gangline::core::base::resources::{Limit, Totals};
use gangline::core::codes::Code;
use gangline::core::event::Role;
use gangline::core::model::ask::{Ask, AskState, Rank, WaitsFor};
use gangline::core::model::books::Books;
use gangline::core::model::lifecycle::AppState;
use gangline::core::model::queue::Queue;

use super::Process;
use crate::sim::amount::{Amount, GPU};
use crate::sim::oracle::Violation;

/// Who has no node before a step.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) all: BTreeSet<AskId>,
    /// Pods that need no others and wait for nodes.
    for_nodes: BTreeSet<AskId>,
    /// Members and placeholders of gangs that have not started and for which nothing is kept.
    pub(crate) starting: BTreeSet<AskId>,
    /// The place in the order of submission of those who may be served: a pod has its own, and who starts with a gang that of it.
    places: BTreeMap<AskId, Rank>,
}

/// What a step showed of the order of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Somebody below a promise waited for nodes while others were served.
    pub(crate) waits: bool,
    /// Somebody below a promise was served, and one waits who comes before it in all else and could have been in that place: the
    /// promise made the choice.
    pub(crate) decides: bool,
}

/// Who got a node with a step, and in which queue.
pub(super) struct Served<'a> {
    id: AskId,
    pub(super) ask: &'a Ask,
    pub(super) node: NodeId,
    pub(super) queue: QueueId,
}

impl Process {
    pub(super) fn books(&self) -> &Books {
        &self.controller.core().books
    }

    /// Who waits, where a queue is promised something.
    pub(crate) fn waiting_asks(&self) -> Option<Waiting> {
        let books = self.books();
        books.queues.iter().any(|(_, queue)| is_promised(queue)).then(|| {
            let mut waiting = Waiting::default();
            for (id, ask) in books.asks.iter().filter(|(_, ask)| ask.state == AskState::Waiting) {
                waiting.all.insert(id);
                if self.waits_for_nodes(id) {
                    waiting.for_nodes.insert(id);
                }
                if starts(books, ask) {
                    waiting.starting.insert(id);
                }
                waiting.places.extend(place(books, ask).map(|place| (id, place)));
            }
            waiting
        })
    }

    /// L8, of a step before which these did not have a node. What it showed where it is right.
    pub(crate) fn judge_order(&self, before: &Waiting) -> Result<Order, Violation> {
        let books = self.books();
        let served: Vec<Served<'_>> = before.all.iter().filter_map(|id| served(books, *id)).collect();
        let in_order = served.iter().filter(|one| has_a_turn(before, one));
        let with_owed = in_order.map(|one| (one, self.owed(one, &served)));
        let (others, owed): (Vec<_>, Vec<_>) = with_owed.partition(|(_, owed)| owed.is_empty());
        let waits = before.for_nodes.iter().filter(|id| self.waits_for_nodes(**id));
        let waits = waits.filter_map(|id| books.asks.get(*id));
        let (below, met): (Vec<&Ask>, Vec<&Ask>) = waits.partition(|ask| is_below(books, ask));
        for (other, _) in &others {
            if let Some(waiting) = below.iter().find(|ask| self.could_go(ask, other)) {
                let (one, two) = (&waiting.spec.key, &other.ask.spec.key);
                let queue = &books.queues[other.queue].path;
                let what =
                    format!("{one} is of a queue below its promise and waits for nodes; {two} of {queue} has one");
                return Err(Violation::new("L8", what));
            }
        }
        let is_chosen = |(one, owed): &(&Served<'_>, Vec<QueueId>)| {
            let place = before.places.get(&one.id);
            place.is_some_and(|place| met.iter().any(|ask| self.is_passed_over(ask, (one, place), owed)))
        };
        Ok(Order { waits: !below.is_empty() && !others.is_empty(), decides: owed.iter().any(is_chosen) })
    }

    /// The queues of somebody who was served that were below their promise, without all that was placed with it.
    fn owed(&self, one: &Served<'_>, served: &[Served<'_>]) -> Vec<QueueId> {
        let books = self.books();
        let is_below = |at: &QueueId| {
            let within = |other: &&Served<'_>| path_of(books, other.queue).any(|above| above == *at);
            let asks = served.iter().filter(within).filter_map(|other| self.pods.get(&other.ask.spec.key));
            let placed: Amount = asks.map(|pod| pod.asks).sum();
            let queue = &books.queues[*at];
            is_promised(queue) && !reaches(used_of(queue).less(placed), &queue.spec.guaranteed)
        };
        path_of(books, one.queue).filter(is_below).collect()
    }

    /// Whether somebody who waits could have been in the place of one who was served, and comes before it in priority and submission:
    /// what is owed to a queue of that one alone made the choice. (In a `Fair` queue applications have shares, which come first.)
    fn is_passed_over(&self, ask: &Ask, (one, place): (&Served<'_>, &Rank), owed: &[QueueId]) -> bool {
        let books = self.books();
        let WaitsFor::Room(line) = ask.waits_for else { return false };
        let is_of_another = owed.iter().any(|at| path_of(books, line.queue).all(|own| own != *at));
        let comes_first = seen(books, line.queue, &ask.rank()) < seen(books, one.queue, place);
        line.app.is_none() && is_of_another && comes_first && self.could_go(ask, one)
    }

    fn waits_for_nodes(&self, id: AskId) -> bool {
        let is_ordinary = |ask: &Ask| queue_of(ask).is_some();
        let reason = || self.controller.core().ask_reason(id);
        self.books().asks.get(id).is_some_and(is_ordinary)
            && reason().is_some_and(|why| why.code() == Code::Unschedulable)
    }

    /// Whether a pod could have the node of another one, in that one's place, and more in its queue.
    fn could_go(&self, ask: &Ask, other: &Served<'_>) -> bool {
        let Some(asks) = self.fits_instead(ask, other) else { return false };
        let books = self.books();
        let line = queue_of(ask);
        let lets_in = |queue: QueueId| {
            let queue = &books.queues[queue];
            most(&queue.spec.max).lets_in(asks, used_of(queue) + asks)
        };
        line.is_some_and(|queue| books.queues.charged(queue).all(lets_in))
    }

    /// What a pod asks for, where it fits on the node of another one, in that one's place.
    pub(super) fn fits_instead(&self, ask: &Ask, other: &Served<'_>) -> Option<Amount> {
        let books = self.books();
        let pods = [ask, other.ask].map(|ask| self.pods.get(&ask.spec.key));
        let node = books
            .nodes
            .name(other.node)
            .and_then(|name| self.nodes.iter().find(|(key, _)| key.name == *name).map(|(_, node)| node));
        let ([Some(pod), Some(in_its_place)], Some(node)) = (pods, node) else { return None };
        let used = books.nodes.charged(other.node).map_or_else(Amount::default, used);
        let count = books.residents.get(&other.node).map_or(0, BTreeSet::len) as u64;
        let is_open = node.cordoned_ms.is_none() && (node.tainted_ms.is_none() || pod.wants.tolerates);
        let has_room = node.has.lets_in(pod.asks, used.less(in_its_place.asks) + pod.asks) && count <= node.pods;
        (is_open && pod.wants.takes(node.zone.as_ref()) && has_room).then_some(pod.asks)
    }
}

/// Whether a pod waits to start with its gang, and not in room that is kept for that: what has no place yet may have one with the step.
fn starts(books: &Books, ask: &Ask) -> bool {
    let keeps = |app| books.gangs[books.apps[app].gang].apps.iter().any(|app| books.kept_of(*app).next().is_some());
    let of_app = |app| books.apps[app].state() == AppState::Accepted && !keeps(app);
    ask.group.is_some() && ask.app.is_some_and(of_app)
}

/// The place in the order of a pod outside applications, or of the gang of another one, if that has one.
fn place(books: &Books, ask: &Ask) -> Option<Rank> {
    match ask.app {
        Some(app) => Some(books.gangs[books.apps[app].gang].turn()?.rank().clone()),
        None => Some(ask.rank()),
    }
}

/// The place of somebody in a queue as it is seen from above all queues, if none is promised anything.
fn seen(books: &Books, queue: QueueId, rank: &Rank) -> (Reverse<i64>, i64, Key) {
    let offsets = path_of(books, queue).map(|at| i64::from(books.queues[at].spec.priority_offset));
    (Reverse(i64::from(rank.priority.0) + offsets.sum::<i64>()), rank.created, rank.key.clone())
}

/// Who has a node by now.
pub(super) fn served(books: &Books, id: AskId) -> Option<Served<'_>> {
    let ask = books.asks.get(id)?;
    match ask.state {
        AskState::Assumed { node, .. } | AskState::Bound { node } => {
            Some(Served { id, ask, node, queue: ask.charge.as_ref()?.queue? })
        }
        AskState::Waiting | AskState::Parked { .. } | AskState::Finished => None,
    }
}

/// Whether somebody gets a node in the order of queues alone.
fn has_a_turn(before: &Waiting, one: &Served<'_>) -> bool {
    let is_alone = one.ask.spec.role == Role::Singleton && one.ask.app.is_none();
    let has_a_seat = || one.ask.seat.is_some() && before.starting.contains(&one.id);
    matches!(one.ask.state, AskState::Assumed { .. }) && (is_alone || has_a_seat())
}

/// Whether the queue of a pod that waits, or one above it, is below its promise.
fn is_below(books: &Books, ask: &Ask) -> bool {
    let path = queue_of(ask).into_iter().flat_map(|queue| path_of(books, queue));
    let mut promised = path.map(|at| &books.queues[at]).filter(|queue| is_promised(queue));
    promised.any(|queue| !reaches(used_of(queue), &queue.spec.guaranteed))
}

/// A queue, or that of which it is a part, and those above it.
fn path_of(books: &Books, queue: QueueId) -> impl Iterator<Item = QueueId> {
    books.queues.path(books.queues.leaf(queue))
}

/// In which queue, or part of one, a pod waits for room.
const fn queue_of(ask: &Ask) -> Option<QueueId> {
    match ask.waits_for {
        WaitsFor::Room(line) => Some(line.queue),
        WaitsFor::Nothing | WaitsFor::Seat(_) | WaitsFor::Start(_) | WaitsFor::Queue => None,
    }
}

pub(super) fn is_promised(queue: &Queue) -> bool {
    queue.spec.guaranteed.iter().any(|(_, amount)| amount > 0)
}

/// Whether of some resource all is used that is promised of it.
fn reaches(used: Amount, promised: &Limit) -> bool {
    let promised = most(promised);
    used.milli >= promised.milli || used.mib >= promised.mib || used.gpu >= promised.gpu
}

pub(super) fn used_of(queue: &Queue) -> Amount {
    used(&queue.allocated)
}

fn used(totals: &Totals) -> Amount {
    let amount = |name| totals.get(name).max(0) as u64;
    Amount { milli: amount("cpu"), mib: amount("memory") >> 20, gpu: amount(GPU) }
}

/// What is not named is endless.
pub(super) fn most(limit: &Limit) -> Amount {
    let amount = |name| limit.get(name).map(|amount| amount.max(0) as u64);
    let mib = amount("memory").map_or(u64::MAX, |bytes| bytes >> 20);
    Amount { milli: amount("cpu").unwrap_or(u64::MAX), mib, gpu: amount(GPU).unwrap_or(u64::MAX) }
}
