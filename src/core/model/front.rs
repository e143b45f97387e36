//! Gangs that wait for quota or for nodes, by their leaf queue: who is first in line (01, 1.2.6).

use std::collections::BTreeMap;

use crate::core::base::ids::{GangId, QueueId};
use crate::core::model::ask::Rank;
use crate::core::model::books::Books;
use crate::core::time::{Mono, Now};

/// The gangs of one queue that wait.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// In the order of a pass, those that may be first: none that is known to be impossible.
    open: BTreeMap<Rank, GangId>,
    /// Those that would find too few nodes even if none of our pods were there, by the epoch in which that was found.
    impossible: BTreeMap<(u64, Rank), GangId>,
}

/// A gang's place in the front of its queue, which it keeps while it pauses between two attempts.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its queue.
    pub queue: QueueId,
    /// Its place in the order of a pass.
    pub rank: Rank,
    /// Since when it waits.
    pub since: Now,
    /// What was so when it was first in line the last time; it goes on when it is so again.
    pub turn_as_first: Option<TurnAsFirst>,
    chance: Chance,
}

/// That a gang is first in line.
#[derive(Clone, Debug)]
pub struct TurnAsFirst {
    /// Since when.
    pub since: Now,
    /// Who has overtaken it since, each with the time; only where a number bounds them, and no more than that.
    pub overtakers: Vec<(Mono, Rank)>,
}

/// Whether a gang would find nodes if none of our pods were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Nobody has looked since it changed.
    Unknown,
    /// It would, in this epoch ([`Outside::epoch`](crate::core::model::changes::Outside::epoch)).
    Possible(u64),
    /// It would not, in this epoch; in epoch 0 if it asks for something else by now.
    Impossible(u64),
}

impl Front {
    /// The first that is not known to be impossible.
    pub fn first(&self) -> Option<(&Rank, GangId)> {
        self.open.first_key_value().map(|(rank, id)| (rank, *id))
    }

    /// Those that are known to be impossible, each with the epoch, the oldest first.
    pub fn impossible(&self) -> impl Iterator<Item = (u64, GangId)> {
        self.impossible.iter().map(|((epoch, _), id)| (*epoch, *id))
    }

    /// Whether something that is known of the first, or of those that are impossible, was found before this epoch.
    pub fn is_old(&self, books: &Books, epoch: u64) -> bool {
        let first = self.first().and_then(|(_, id)| books.gangs[id].chance());
        let is_old = |chance| matches!(chance, Chance::Possible(at) if at < epoch);
        first.is_some_and(is_old) || self.impossible().next().is_some_and(|(at, _)| at < epoch)
    }

    /// How many wait.
    pub(in crate::core) fn len(&self) -> usize {
        self.open.len() + self.impossible.len()
    }

    fn put(&mut self, place: &Place, id: GangId) {
        match place.chance {
            Chance::Impossible(at) => self.impossible.insert((at, place.rank.clone()), id),
            Chance::Unknown | Chance::Possible(_) => self.open.insert(place.rank.clone(), id),
        };
    }

    fn take(&mut self, place: &Place) {
        match place.chance {
            Chance::Impossible(at) => self.impossible.remove(&(at, place.rank.clone())),
            Chance::Unknown | Chance::Possible(_) => self.open.remove(&place.rank),
        };
    }

    /// Whether a gang stands where its place says.
    pub(in crate::core) fn has(&self, place: &Place, id: GangId) -> bool {
        let found = match place.chance {
            Chance::Impossible(at) => self.impossible.get(&(at, place.rank.clone())),
            Chance::Unknown | Chance::Possible(_) => self.open.get(&place.rank),
        };
        found == Some(&id)
    }
}

impl Books {
    /// A gang waits at this place of the order in its queue.
    pub fn stand_in_front(&mut self, id: GangId, queue: QueueId, rank: &Rank) {
        match &self.gangs[id].place {
            Some(place) if place.queue == queue && place.rank == *rank => {}
            Some(place) if place.queue == queue => self.move_in_front(id, |place| place.rank = rank.clone()),
            Some(_) | None => {
                self.leave_front(id);
                let (rank, since) = (rank.clone(), self.now);
                let place = Place { queue, rank, since, turn_as_first: None, chance: Chance::Unknown };
                self.fronts.entry(queue).or_default().put(&place, id);
                self.gangs[id].place = Some(place);
                self.changes.fronts.insert(queue);
            }
        }
    }

    /// A gang does not wait any more: it has what it lacked, or lacks something else.
    pub fn leave_front(&mut self, id: GangId) {
        let Some(place) = self.gangs[id].place.take() else { return };
        if let Some(front) = self.fronts.get_mut(&place.queue) {
            front.take(&place);
            if front.len() == 0 {
                self.fronts.remove(&place.queue);
            }
        }
        self.changes.fronts.insert(place.queue);
    }

    /// A gang asks for something else: what is known of its chance may not be so any more. One that was impossible is
    /// among the next to be judged again, and not first in line before that.
    pub fn doubt(&mut self, id: GangId) {
        match self.gangs[id].chance() {
            Some(Chance::Possible(_)) => self.judge_in_front(id, Chance::Unknown),
            Some(Chance::Impossible(epoch)) if epoch > 0 => {
                self.judge_in_front(id, Chance::Impossible(0));
                self.changes.doubted = true;
            }
            Some(Chance::Unknown | Chance::Impossible(_)) | None => {}
        }
    }

    /// Remembers a gang's turn as the first in line, while it waits.
    pub fn remember_turn(&mut self, id: GangId, turn: TurnAsFirst) {
        if let Some(place) = self.gangs.get_mut(id).and_then(|gang| gang.place.as_mut()) {
            place.turn_as_first = Some(turn);
        }
    }

    /// Notes what is known of a gang's chance.
    pub fn judge_in_front(&mut self, id: GangId, chance: Chance) {
        self.move_in_front(id, |place| place.chance = chance);
    }

    fn move_in_front(&mut self, id: GangId, change: impl FnOnce(&mut Place)) {
        let Some(mut place) = self.gangs[id].place.take() else { return };
        let front = self.fronts.entry(place.queue).or_default();
        front.take(&place);
        change(&mut place);
        front.put(&place, id);
        self.changes.fronts.insert(place.queue);
        self.gangs[id].place = Some(place);
    }
}

impl Place {
    /// What is known of its chance.
    pub const fn chance(&self) -> Chance {
        self.chance
    }
}
