//! What gangs that are past the gate and have no nodes yet ask for: it decides what is left for those behind them (01,
//! 1.2.5).

use std::collections::BTreeMap;

use crate::core::base::ids::{GangId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;

/// What one gang still has to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose it is.
    pub gang: GangId,
    /// Its queue.
    pub queue: QueueId,
    /// How much.
    pub need: Totals,
    /// Its plan found too few nodes, so that others may start before it does.
    pub blocked: bool,
}

/// Which claims count against a gang behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Those of gangs that are about to be planned: they are as good as used.
    Planned,
    /// Those of gangs that nodes block as well.
    All,
}

/// The claims on one queue and all below it, in the order of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    by_rank: BTreeMap<Rank, Claim>,
    total: Totals,
    /// What of it is of gangs that nodes do not block.
    planned: Totals,
}

impl Claims {
    pub(super) fn add(&mut self, rank: &Rank, claim: &Claim) {
        self.total.add_all(&claim.need);
        if !claim.blocked {
            self.planned.add_all(&claim.need);
        }
        let old = self.by_rank.insert(rank.clone(), claim.clone());
        debug_assert!(old.is_none(), "a gang has one claim");
    }

    pub(super) fn remove(&mut self, rank: &Rank) {
        if let Some(claim) = self.by_rank.remove(rank) {
            self.total.sub_all(&claim.need);
            if !claim.blocked {
                self.planned.sub_all(&claim.need);
            }
        }
    }

    /// Returns whether that is new.
    pub(super) fn block(&mut self, rank: &Rank) -> bool {
        let Some(claim) = self.by_rank.get_mut(rank).filter(|claim| !claim.blocked) else { return false };
        claim.blocked = true;
        self.planned.sub_all(&claim.need);
        true
    }

    /// Whether there is a claim at this place that counts.
    pub fn counts(&self, rank: &Rank, which: Before) -> bool {
        self.by_rank.get(rank).is_some_and(|claim| which == Before::All || !claim.blocked)
    }

    /// The sum of all that count.
    pub fn total(&self, which: Before) -> &Totals {
        match which {
            Before::Planned => &self.planned,
            Before::All => &self.total,
        }
    }

    /// How many gangs before this place have claims that count, and the sum of these.
    pub fn before(&self, rank: &Rank, which: Before) -> (u32, Totals) {
        if which == Before::All && self.by_rank.last_key_value().is_none_or(|(last, _)| last < rank) {
            return (self.by_rank.len() as u32, self.total.clone());
        }
        let mut sum = (0, Totals::default());
        let earlier = self.by_rank.range(..rank).map(|(_, claim)| claim);
        for claim in earlier.filter(|claim| which == Before::All || !claim.blocked) {
            sum.0 += 1;
            sum.1.add_all(&claim.need);
        }
        sum
    }

    /// All, in the order of a pass.
    pub fn iter(&self) -> impl Iterator<Item = (&Rank, &Claim)> {
        self.by_rank.iter()
    }
}
