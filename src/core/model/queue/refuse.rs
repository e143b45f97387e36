//! Why a queue, one above it, or a limit of a user or group does not let something in (01, 1.2.3, 1.2.5).

use super::{First, Keep, Kept, Queues, QuotaExcess, sum};
use crate::core::base::ids::{QueueId, Text};
use crate::core::base::resources::{Resources, Totals};
use crate::core::event::Submitter;
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;

impl Queues {
    /// Why `asked` can never run here: for each resource the nearest queue whose limit it exceeds, from the leaf
    /// upwards (01, 1.2.3: every reason at once). `submitter`: for whom limits of users and groups count, too.
    pub fn exceeds_max(&self, id: QueueId, submitter: Option<&Submitter>, asked: &Totals) -> Vec<QuotaExcess> {
        let mut found: Vec<QuotaExcess> = Vec::new();
        for at in self.path(id) {
            let queue = &self.arena[at];
            let limits = submitter.into_iter().flat_map(|submitter| queue.spec.limits_of(submitter));
            let limits = limits.map(|(whose, limit)| (whose.of(&queue.path), &limit.max));
            for (path, max) in limits.chain([(queue.path.clone(), &queue.spec.max)]) {
                for excess in max.all_refused(&Totals::default(), asked) {
                    if found.iter().all(|known| known.excess.resource != excess.resource) {
                        found.push(QuotaExcess { queue: path.clone(), excess, kept: None });
                    }
                }
            }
        }
        found
    }

    /// Why `asked` does not fit now, beside what is used.
    pub fn refuses(&self, id: QueueId, asked: &Totals) -> Option<QuotaExcess> {
        self.charged(id).find_map(|at| self.refusal(at, &self.arena[at].allocated, asked))
    }

    /// Whether more is used of one of these resources than a limit allows: of a queue, one above it, or a user or group.
    pub fn is_overdrawn(&self, id: QueueId, of: &Resources) -> bool {
        self.charged(id).any(|at| {
            let queue = &self.arena[at];
            queue.spec.max.iter().any(|(name, max)| of.get(name) > 0 && queue.allocated.get(name) > max)
        })
    }

    /// Why `asked` does not fit now beside what gangs before `rank` claim, although it fits beside what is used.
    pub fn refuses_behind(&self, id: QueueId, rank: &Rank, asked: &Totals, which: Before) -> Option<QuotaExcess> {
        self.charged(id).find_map(|at| self.refusal_behind(at, (id, rank), asked, which))
    }

    /// Why a pod that would start an application does not fit now beside what is kept for gangs that are first in line.
    pub fn refuses_start(&self, id: QueueId, rank: &Rank, asked: &Totals) -> Option<QuotaExcess> {
        let kept = |at| self.keep_before(at, (id, rank));
        self.path(id).find_map(|at| self.refusal_beside(at, kept(at)?, (0, Totals::default()), asked))
    }

    /// For whom headroom is kept on the path of a queue.
    pub fn keeps_on_path(&self, id: QueueId) -> impl Iterator<Item = &Keep> {
        self.path(id).filter_map(|at| self.arena[at].keeps.as_ref())
    }

    fn refusal_behind(
        &self,
        id: QueueId,
        place: (QueueId, &Rank),
        asked: &Totals,
        which: Before,
    ) -> Option<QuotaExcess> {
        let queue = &self.arena[id];
        // What is kept for a gang past the gate that is about to be planned is a claim of it.
        let keep = self.keep_before(id, place).filter(|keep| !queue.claims.counts(&keep.rank, which));
        // Most often all that is claimed fits, and nobody need count what stands before whom.
        if keep.is_none() {
            self.refusal(id, &sum(&queue.allocated, queue.claims.total(which)), asked)?;
        }
        let claimed = self.claimed_before(id, place, which);
        match keep {
            Some(keep) => self.refusal_beside(id, keep, claimed, asked),
            None => self.refusal_of_claims(id, claimed, None, asked),
        }
    }

    fn refusal_beside(
        &self,
        id: QueueId,
        keep: &Keep,
        (gangs, mut claimed): (u32, Totals),
        asked: &Totals,
    ) -> Option<QuotaExcess> {
        claimed.add_all(&keep.need);
        self.refusal_of_claims(id, (gangs + 1, claimed), Some(&keep.first), asked)
    }

    fn refusal_of_claims(
        &self,
        id: QueueId,
        (gangs, claimed): (u32, Totals),
        first: Option<&First>,
        asked: &Totals,
    ) -> Option<QuotaExcess> {
        let queue = &self.arena[id];
        let mut refused = self.refusal(id, &sum(&queue.allocated, &claimed), asked)?;
        let amount = claimed.get(&refused.excess.resource);
        refused.excess.left = queue.left_of(&refused.excess.resource).unwrap_or(0);
        refused.kept = Some(Kept { gangs, amount, first: first.cloned() });
        Some(refused)
    }

    pub(super) fn refusal(&self, id: QueueId, used: &Totals, asked: &Totals) -> Option<QuotaExcess> {
        let queue = &self.arena[id];
        if queue.spec.max.is_unlimited() {
            return None;
        }
        let excess = queue.spec.max.refuses(used, asked)?;
        Some(QuotaExcess { queue: queue.path.clone(), excess, kept: None })
    }

    /// Whether a queue, one above it or a limit there bounds how many applications there are.
    pub fn limits_applications(&self, id: QueueId) -> bool {
        self.charged(id).any(|at| self.arena[at].spec.max_applications.is_some())
    }

    /// The queue of the path, or the limit of a user or group, that has no place for one more application, and how many it
    /// has.
    pub fn full_of_applications(&self, id: QueueId) -> Option<(Text, u32)> {
        self.charged(id).find_map(|at| {
            let queue = &self.arena[at];
            queue.spec.max_applications.filter(|max| queue.admitted >= *max).map(|max| (queue.path.clone(), max))
        })
    }
}
