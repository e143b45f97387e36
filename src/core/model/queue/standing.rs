//! Whose turn it is among queues: those that use less than they are promised go first (01, 1.12).

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use crate::core::base::ids::{GangId, Key, QueueId, Text};
use crate::core::base::resources::{Limit, Resources, Totals};
use crate::core::base::share::Share;
use crate::core::event::SortPolicy;
use crate::core::model::ask::Rank;
use crate::core::model::claims::{Before, Claim};
use crate::core::model::queue::share::Part;
use crate::core::model::queue::{Keep, Queue, Queues};

/// How far the queues on a path are below what they are promised. The further below goes first; the queues at the top of
/// the tree decide before those below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing(
    /// From the root down, each with what it uses of its promise; `None`: it has none, or is not below it. Without those
    /// at the end that are `None`.
    Vec<Option<Share>>,
);

/// A place in the order of a pass among queues.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Of its queue.
    pub standing: Standing,
    /// With what its queues add, higher first.
    pub priority: Reverse<i64>,
    /// Seconds since the epoch, earlier first.
    pub created: i64,
    /// Breaks ties by content.
    pub key: Key,
    /// Path of its queue: likewise, where a pod and an application have one name.
    pub queue: Text,
}

impl Seen {
    /// The same as it is seen from above a queue which adds this to priorities and is so far below its promise.
    #[must_use]
    pub fn from_above(mut self, owed: Option<Share>, offset: i32) -> Self {
        self.priority.0 += i64::from(offset);
        if owed.is_some() || !self.standing.is_met() {
            self.standing.0.insert(0, owed);
        }
        self
    }
}

impl Standing {
    /// Whether no queue of the path is below its promise.
    pub fn is_met(&self) -> bool {
        self.0.is_empty()
    }

    /// The same without how far below: what is claimed or kept for somebody is so until a queue has what it is promised,
    /// and not until another one has a little less.
    pub(super) fn coarse(mut self) -> Self {
        self.0.iter_mut().flatten().for_each(|share| *share = Share::NOTHING);
        self
    }
}

impl Ord for Standing {
    fn cmp(&self, other: &Self) -> Ordering {
        let levels = self.0.len().max(other.0.len());
        let at = |standing: &Self, level: usize| standing.0.get(level).copied().flatten();
        let by_level = (0..levels).map(|level| match (at(self, level), at(other, level)) {
            (Some(one), Some(two)) => one.cmp(&two),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
        by_level.fold(Ordering::Equal, Ordering::then)
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Queue {
    /// How much of its promise it uses; `None` without one.
    pub fn share(&self) -> Option<Share> {
        self.share_with((&Resources::default(), 0))
    }

    fn share_with(&self, more: (&Resources, u32)) -> Option<Share> {
        Share::dominant(&self.spec.guaranteed, &self.allocated, more)
    }
}

impl Queues {
    /// Whether some queue is promised something, or adds to priorities: otherwise the order of all work is that of its ranks.
    pub(in crate::core) const fn are_ordered(&self) -> bool {
        self.ordering > 0
    }

    /// How far the queues of a path are below what they are promised.
    pub(in crate::core) fn standing(&self, id: QueueId) -> Standing {
        self.standing_with(id, (&Resources::default(), 0))
    }

    /// The same if so many copies of this were used in the queue, too.
    pub(in crate::core) fn standing_with(&self, id: QueueId, more: (&Resources, u32)) -> Standing {
        if self.are_ordered() { self.standing_of(self.path(id), more) } else { Standing::default() }
    }

    /// How far these queues are below what they are promised, from a leaf upwards, with so many copies more.
    pub(in crate::core) fn standing_of(
        &self,
        path: impl Iterator<Item = QueueId>,
        more: (&Resources, u32),
    ) -> Standing {
        let mut levels: Vec<_> = path.map(|at| self.owed(at, more)).skip_while(Option::is_none).collect();
        levels.reverse();
        Standing(levels)
    }

    /// What a queue uses of its promise with so many copies more, if it is below that then.
    pub(in crate::core) fn owed(&self, id: QueueId, more: (&Resources, u32)) -> Option<Share> {
        self.arena[id].share_with(more).filter(|share| !share.is_whole())
    }

    /// What the queues of a path add to the priority of its pods.
    pub(in crate::core) fn priority_offset(&self, id: QueueId) -> i64 {
        if !self.are_ordered() {
            return 0;
        }
        self.path(id).map(|at| i64::from(self.arena[at].spec.priority_offset)).sum()
    }

    /// The place of somebody in a queue, as it is seen within that.
    pub(in crate::core) fn seen_within(&self, id: QueueId, rank: &Rank) -> Seen {
        let (priority, queue) = (Reverse(i64::from(rank.priority.0)), self.arena[id].path.clone());
        Seen { standing: Standing::default(), priority, created: rank.created, key: rank.key.clone(), queue }
    }

    /// The place of somebody in a queue in the order of what is claimed and kept.
    fn seen_coarse(&self, id: QueueId, rank: &Rank) -> Seen {
        let mut seen = self.seen_within(id, rank);
        seen.priority.0 += self.priority_offset(id);
        Seen { standing: self.standing(id).coarse(), ..seen }
    }

    /// In which order applications of a queue start.
    pub(in crate::core) fn sort_policy(&self, id: QueueId) -> SortPolicy {
        self.path(id).find_map(|at| self.arena[at].spec.sort_policy).unwrap_or_default()
    }

    /// What shares of the applications of a `Fair` queue are measured by: what the queue is promised; else what may be
    /// used in it; nothing where neither is said.
    pub(in crate::core) fn measure(&self, id: QueueId) -> Limit {
        let id = self.leaf(id);
        let promised = &self.arena[id].spec.guaranteed;
        if promised.iter().any(|(_, amount)| amount > 0) {
            return promised.clone();
        }
        let limits = self.path(id).flat_map(|at| self.arena[at].spec.max.iter());
        let mut least: BTreeMap<Text, i128> = BTreeMap::new();
        for (name, amount) in limits {
            let known = least.entry(name.into()).or_insert(amount);
            *known = amount.min(*known);
        }
        Limit::new(least)
    }

    /// Whether one, in a queue at or below this one, goes before another there.
    fn goes_before(&self, at: QueueId, one: (QueueId, &Rank), other: (QueueId, &Rank)) -> bool {
        let (one, other) = ((self.leaf(one.0), one.1), (self.leaf(other.0), other.1));
        if one.0 == other.0 || at == one.0 || !self.are_ordered() {
            return one.1 < other.1;
        }
        self.seen_coarse(one.0, one.1) < self.seen_coarse(other.0, other.1)
    }

    /// What is kept at a queue for somebody who goes before this place of a queue at or below it.
    pub(super) fn keep_before(&self, at: QueueId, place: (QueueId, &Rank)) -> Option<&Keep> {
        self.arena[at].keeps.as_ref().filter(|keep| self.goes_before(at, (keep.leaf, &keep.rank), place))
    }

    /// How many gangs have claims on a queue that go before this place of a queue at or below it, and what they claim.
    pub(in crate::core) fn claimed_before(&self, at: QueueId, place: (QueueId, &Rank), which: Before) -> (u32, Totals) {
        let claims = &self.arena[at].claims;
        let place = (self.leaf(place.0), place.1);
        if at == place.0 || !self.are_ordered() {
            return claims.before(place.1, which);
        }
        let counts = |claim: &(&Rank, &Claim)| which == Before::All || !claim.1.blocked;
        let own = self.seen_coarse(place.0, place.1);
        let is_before = |(rank, claim): &(&Rank, &Claim)| {
            if self.leaf(claim.queue) == place.0 { *rank < place.1 } else { self.seen_coarse(claim.queue, rank) < own }
        };
        let first = claims.iter().filter(counts).filter(is_before);
        first.fold((0, Totals::default()), |(count, mut sum), (_, claim)| {
            sum.add_all(&claim.need);
            (count + 1, sum)
        })
    }

    /// The gangs past the gate that the limits of this queue may not hold any more beside those before them.
    pub fn squeezed(&self, id: QueueId) -> Vec<GangId> {
        let Some(queue) = self.get(id) else { return Vec::new() };
        if self.refusal(id, &queue.allocated, queue.claims.total(Before::All)).is_none() {
            return Vec::new();
        }
        let mut claims: Vec<_> = queue.claims.iter().collect();
        let is_one_line = queue.part == Part::Queue && self.is_leaf(id);
        if self.are_ordered() && !is_one_line {
            claims.sort_by_cached_key(|(rank, claim)| self.seen_coarse(claim.queue, rank));
        }
        let mut used = queue.allocated.clone();
        let mut squeezed = Vec::new();
        for (_, claim) in claims {
            if self.refusal(id, &used, &claim.need).is_some() {
                squeezed.push(claim.gang);
            }
            used.add_all(&claim.need);
        }
        squeezed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(levels: &[Option<i128>]) -> Standing {
        let share = |used: i128| {
            let mut totals = Totals::default();
            totals.add(&Resources::pod(i64::try_from(used).expect("small"), 0), 1);
            Share::dominant(&Limit::new([("cpu".into(), 10)]), &totals, (&Resources::default(), 0)).expect("cpu")
        };
        Standing(levels.iter().map(|used| used.map(share)).collect())
    }

    #[test]
    fn who_is_further_below_a_promise_goes_first_and_the_top_of_the_tree_decides() {
        let in_order = [
            standing(&[None, Some(1)]),
            standing(&[None, Some(2), Some(3)]),
            standing(&[None, Some(2)]),
            standing(&[None, None, Some(0)]),
            standing(&[]),
        ];
        assert!(in_order.is_sorted_by(|one, two| one < two));
        let coarse: Vec<_> = in_order.iter().cloned().map(Standing::coarse).collect();
        assert_eq!(coarse[0], coarse[2], "how far below does not count");
        assert!(coarse[1] < coarse[0] && coarse[2] < coarse[3] && coarse[3] < coarse[4]);
    }
}
