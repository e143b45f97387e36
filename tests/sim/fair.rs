//! L8: no queue below what it is promised waits, with a pod that could be placed now, while one that has its promise is served
//! (01, 1.12).
//!
//! Looked at with every step of a process, by its books: who got a node with it, and who waited for nodes before it and does after
//! it. Less is claimed than is promised, so that the order within the step does not have to be known:
//! - of those who are served pods outside applications and seats of gangs that have not started (members of gangs that run
//!   go before all others, and so does what is kept for them), of queues that had all that they are promised, on every level,
//!   without anything that was placed in the same step;
//! - of those who wait ordinary pods, which need no others and say that they wait for nodes and for nothing else, whose queue
//!   or one above it uses less than it is promised, and which the node of the other one could have, with all else as it is.

use std::collections::BTreeSet;

use gangline::core::base::ids::{AskId, NodeId, QueueId};
use gangline::core::base::resources::{Limit, Totals};
use gangline::core::codes::Code;
use gangline::core::event::Role;
use gangline::core::model::ask::{Ask, AskState, WaitsFor};
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
}

/// What a step showed of the order of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Somebody below a promise waited for nodes while others were served.
    pub(crate) waits: bool,
    /// Somebody below a promise was served, and others wait who could have been in that place: the promise made the choice.
    pub(crate) decides: bool,
}

/// Who got a node with a step, and in which queue.
pub(super) struct Served<'a> {
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
            let waits = books.asks.iter().filter(|(_, ask)| ask.state == AskState::Waiting).map(|(id, _)| id);
            let all: BTreeSet<AskId> = waits.collect();
            let for_nodes = all.iter().copied().filter(|id| self.waits_for_nodes(*id)).collect();
            Waiting { all, for_nodes }
        })
    }

    /// L8, of a step before which these did not have a node. What it showed where it is right.
    pub(crate) fn judge_order(&self, before: &Waiting) -> Result<Order, Violation> {
        let books = self.books();
        let served: Vec<Served<'_>> = before.all.iter().filter_map(|id| served(books.asks.get(*id)?)).collect();
        let others = || served.iter().filter(|one| has_a_turn(books, one.ask) && has_its_promise(self, one, &served));
        let waits = before.for_nodes.iter().filter(|id| self.waits_for_nodes(**id));
        let waits: Vec<&Ask> = waits.filter_map(|id| books.asks.get(*id)).filter(|ask| is_below(books, ask)).collect();
        for other in others() {
            if let Some(waiting) = waits.iter().find(|ask| self.could_go(ask, other)) {
                let (one, two) = (&waiting.spec.key, &other.ask.spec.key);
                let queue = &books.queues[other.queue].path;
                let what =
                    format!("{one} is of a queue below its promise and waits for nodes; {two} of {queue} has one");
                return Err(Violation::new("L8", what));
            }
        }
        let waits = !waits.is_empty() && others().next().is_some();
        Ok(Order { waits, decides: self.promise_decides(before, &served) })
    }

    /// Whether somebody of a queue below its promise was served, in the place of somebody who waits and whose queues have what
    /// they are promised.
    fn promise_decides(&self, before: &Waiting, served: &[Served<'_>]) -> bool {
        let books = self.books();
        let waits = before.for_nodes.iter().filter(|id| self.waits_for_nodes(**id));
        let waits: Vec<&Ask> = waits.filter_map(|id| books.asks.get(*id)).filter(|ask| !is_below(books, ask)).collect();
        let mut owed = served.iter().filter(|one| has_a_turn(books, one.ask) && !has_its_promise(self, one, served));
        owed.any(|one| waits.iter().any(|ask| self.could_go(ask, one)))
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

/// Who has a node by now.
pub(super) fn served(ask: &Ask) -> Option<Served<'_>> {
    match ask.state {
        AskState::Assumed { node, .. } | AskState::Bound { node } => {
            Some(Served { ask, node, queue: ask.charge.as_ref()?.queue? })
        }
        AskState::Waiting | AskState::Parked { .. } | AskState::Finished => None,
    }
}

/// Whether somebody gets a node in the order of queues alone.
fn has_a_turn(books: &Books, ask: &Ask) -> bool {
    let waits = || ask.app.is_some_and(|app| books.apps[app].state() == AppState::Accepted);
    let is_sent = matches!(ask.state, AskState::Assumed { .. });
    is_sent && (ask.spec.role == Role::Singleton && ask.app.is_none() || ask.is_placeholder() && waits())
}

/// Whether no queue of somebody was below its promise, without all that was placed with it.
fn has_its_promise(process: &Process, one: &Served<'_>, served: &[Served<'_>]) -> bool {
    let books = process.books();
    let leaf = books.queues.leaf(one.queue);
    let mut path = books.queues.path(leaf).filter(|at| is_promised(&books.queues[*at]));
    path.all(|at| {
        let within = |other: &&Served<'_>| books.queues.path(books.queues.leaf(other.queue)).any(|above| above == at);
        let asks = served.iter().filter(within).filter_map(|other| process.pods.get(&other.ask.spec.key));
        let placed: Amount = asks.map(|pod| pod.asks).sum();
        reaches(used_of(&books.queues[at]).less(placed), &books.queues[at].spec.guaranteed)
    })
}

/// Whether the queue of a pod that waits, or one above it, is below its promise.
fn is_below(books: &Books, ask: &Ask) -> bool {
    let path = queue_of(ask).into_iter().flat_map(|queue| books.queues.path(books.queues.leaf(queue)));
    let mut promised = path.map(|at| &books.queues[at]).filter(|queue| is_promised(queue));
    promised.any(|queue| !reaches(used_of(queue), &queue.spec.guaranteed))
}

/// In which queue, or part of one, a pod waits for room.
const fn queue_of(ask: &Ask) -> Option<QueueId> {
    match ask.waits_for {
        WaitsFor::Room(line) => Some(line.queue),
        WaitsFor::Nothing | WaitsFor::Seat(_) | WaitsFor::Start(_) | WaitsFor::Queue => None,
    }
}

fn is_promised(queue: &Queue) -> bool {
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
