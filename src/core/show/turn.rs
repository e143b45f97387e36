//! What ordinary pods are told, and what is said of a gang that is first in line and keeps others waiting.

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, GangId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::ask::WaitsFor;
use crate::core::model::queue::{First, QuotaExcess};
use crate::core::reason::AskReason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// A pod waits for what the first of its line waits for.
    pub(super) fn ordinary_reason(&self, id: AskId, queue: QueueId) -> Option<AskReason> {
        let (line, queue) = match self.books.asks[id].waits_for {
            WaitsFor::Room(line) => (self.books.ordinary.get(&line).filter(|_| line.starts), line.queue),
            WaitsFor::Nothing | WaitsFor::Seat(_) | WaitsFor::Start(_) | WaitsFor::Queue => (None, queue),
        };
        let rank = line.and_then(BTreeSet::first).map(|(rank, _)| rank);
        if let Some(first) = rank.and_then(|rank| self.heads.keeps_waiting(self.books.queues.leaf(queue), rank)) {
            return Some(AskReason::BehindFirst(first));
        }
        let mut asked = Totals::default();
        asked.add(self.books.request(id), 1);
        let queues = &self.books.queues;
        let kept = || rank.and_then(|rank| queues.refuses_start(queue, rank, &asked));
        match queues.refuses(queue, &asked).or_else(kept) {
            Some(refused) => Some(match self.never(queue, id, &asked) {
                Some(excess) => AskReason::TooLarge(excess),
                None => AskReason::Quota(refused),
            }),
            None => Some(AskReason::Capacity(self.books.asks[id].class?)),
        }
    }

    /// The limit that is too small for a pod, whatever else runs.
    fn never(&self, queue: QueueId, id: AskId, asked: &Totals) -> Option<QuotaExcess> {
        let submitter = self.books.queues.submitter(queue).or(self.books.asks[id].spec.submitter.as_ref());
        self.books.queues.exceeds_max(queue, submitter.map(|submitter| &**submitter), asked).into_iter().next()
    }

    /// `; first in line in queue root.q: since 2026-01-01T00:00:00Z nothing behind it starts before it does`; empty while a
    /// gang keeps nobody waiting.
    pub(super) fn holds_up(&self, gang: GangId) -> String {
        let first = self.books.gangs[gang].place().and_then(|place| self.heads.is_of(place.queue, gang));
        first.map_or_else(String::new, |First { queue, since, .. }| {
            format!("; first in line in queue {queue}: since {since} nothing behind it starts before it does")
        })
    }
}
