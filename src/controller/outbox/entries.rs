//! Where everything that is wanted stands: ready, waiting for a time, an object or another entry, or in flight.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use super::entry::{Entry, Id, Phase, Rest, Wish};
use super::pace::Pace;
use super::verdict::{Sent, Step};
use super::want::{NotMade, Object, Slot, Urgency, Want};
use crate::core::base::arena::Lookup;
use crate::core::time::{Millis, Mono};
use crate::shim::op::Op;

/// Events that may wait at once. They are for people: beyond this many the newest are dropped and counted (F46).
pub(super) const EVENTS_MAX: usize = 1_000;

/// How long a watch may take to show what was made, so that nobody makes it once more: it takes milliseconds, as a rule.
const SHOWN_WITHIN_MS: Millis = 1_000;

/// What a call leaves behind: the object it is about, which want it carries, what was sent.
pub(super) type Departure = (Option<Object>, u32, Sent);

/// All entries with the indices over them.
#[derive(Clone, Debug)]
pub(super) struct Entries<K> {
    entries: Lookup<Id<K>, Entry<K>>,
    arrivals: u64,
    events: usize,
    resting: usize,
    /// What may leave now, by rank, urgency and arrival.
    ready: BTreeMap<(Slot, Urgency, u64), Id<K>>,
    /// What waits for a time.
    timers: BTreeMap<(Mono, u64), Id<K>>,
    /// Objects with a call in flight, and the entries that wait for its end.
    busy: Lookup<Object, Vec<Id<K>>>,
}

impl<K> Default for Entries<K> {
    fn default() -> Self {
        Self {
            entries: Lookup::default(),
            arrivals: 0,
            events: 0,
            resting: 0,
            ready: BTreeMap::new(),
            timers: BTreeMap::new(),
            busy: Lookup::default(),
        }
    }
}

/// What the controller wants.
impl<K: Clone + Eq + Hash + Debug> Entries<K> {
    /// False: too many events wait already.
    pub(super) fn want(&mut self, now: Mono, want: Want<K>) -> bool {
        let (id, at) = ((want.slot, want.key), now.after(want.delay));
        if self.entries.get(&id).is_some() {
            self.want_again(&id, at, want.urgency);
        } else if id.0 == Slot::Event && self.events >= EVENTS_MAX {
            return false;
        } else {
            self.enter(&id, want.object, at, want.urgency);
        }
        if let Some(leader) = want.after {
            self.follow(now, &id, &leader);
        }
        true
    }

    /// True: it will not happen.
    pub(super) fn cancel(&mut self, id: &Id<K>) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return true };
        if entry.is_open() {
            entry.wish = Wish::Cancelled;
            return false;
        }
        if !matches!(entry.phase, Phase::Resting(_)) {
            self.remove(id);
        }
        true
    }

    /// A fact has settled an entry: its call is not repeated any more.
    pub(super) fn settle(&mut self, id: &Id<K>) {
        match self.entries.get_mut(id) {
            Some(entry) if matches!(entry.phase, Phase::Flying(_)) => {
                (entry.wish, entry.is_shown) = (Wish::Moot, true);
            }
            Some(_) | None => self.remove(id),
        }
    }

    /// Whether a call may yet change what is known, or has and nobody has seen it.
    pub(super) fn is_under_way(&self, id: &Id<K>) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.is_unseen || entry.is_open() && !entry.is_shown)
    }

    fn enter(&mut self, id: &Id<K>, object: Option<Object>, at: Mono, urgency: Urgency) {
        self.arrivals += 1;
        self.events += usize::from(id.0 == Slot::Event);
        self.entries.insert(id.clone(), Entry::new(object, self.arrivals, urgency));
        self.put(id, Phase::Timed(at));
    }

    /// Brings an entry forward; never out of a back-off.
    fn want_again(&mut self, id: &Id<K>, at: Mono, urgency: Urgency) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.version += 1;
        entry.wish = Wish::Wanted;
        if let Phase::Flying(again) = entry.phase {
            let (earlier, other) = again.unwrap_or((at, urgency));
            return self.put(id, Phase::Flying(Some((earlier.min(at), other.min(urgency)))));
        }
        let urgency = urgency.min(entry.urgency).max(entry.at_most(id.0));
        entry.urgency = urgency;
        let at = at.max(entry.not_before);
        let phase = match entry.phase {
            Phase::Resting(_) => Phase::Timed(at),
            Phase::Timed(due) if entry.attempt == 0 => Phase::Timed(due.min(at)),
            Phase::Ready(rank, before) => Phase::Ready(rank, before.min(urgency)),
            phase @ (Phase::Timed(_) | Phase::Parked | Phase::Following | Phase::Flying(_)) => phase,
        };
        self.put(id, phase);
    }

    /// Makes an entry wait for the end of another one, which leaves as early as the waiting one would.
    fn follow(&mut self, now: Mono, id: &Id<K>, leader_id: &Id<K>) {
        if self.entries.get(id).is_none_or(Entry::is_open) {
            return;
        }
        let Some(leader) = self.entries.get_mut(leader_id) else { return };
        leader.followers.retain(|(_, follower)| follower != id);
        match leader.phase {
            Phase::Resting(_) => return,
            Phase::Timed(_) | Phase::Ready(..) if leader.attempt == 0 => {
                leader.followers.push((leader.version, id.clone()));
                let at = now.max(leader.not_before);
                self.put(leader_id, Phase::Timed(at));
            }
            Phase::Timed(_) | Phase::Ready(..) | Phase::Parked | Phase::Following | Phase::Flying(_) => {
                leader.followers.push((leader.version, id.clone()));
            }
        }
        self.put(id, Phase::Following);
    }
}

/// What leaves.
impl<K: Clone + Eq + Hash + Debug> Entries<K> {
    /// Moves whatever waited for a time that has come.
    pub(super) fn ring(&mut self, now: Mono) {
        while let Some((_, id)) = self.timers.first_key_value().filter(|((at, _), _)| *at <= now) {
            let id = id.clone();
            match self.entries.get(&id).map(|entry| entry.phase) {
                Some(Phase::Resting(_)) => self.remove(&id),
                Some(Phase::Timed(_) | Phase::Ready(..) | Phase::Parked | Phase::Following | Phase::Flying(_))
                | None => self.make_ready(&id),
            }
        }
    }

    /// The earliest time that something waits for.
    pub(super) fn next_timer(&self) -> Option<Mono> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first entry of a rank, and how urgent it is.
    pub(super) fn first(&self, rank: Slot) -> Option<(&Id<K>, Urgency)> {
        let of_rank = self.ready.range((rank, Urgency::Next, 0)..).next().filter(|((of, ..), _)| *of == rank);
        of_rank.map(|((_, urgency, _), id)| (id, *urgency))
    }

    /// Sets an entry aside whose object has a call in flight.
    pub(super) fn park_if_busy(&mut self, id: &Id<K>) -> bool {
        let object = self.entries.get(id).and_then(|entry| entry.object.as_ref());
        let Some(parked) = object.and_then(|object| self.busy.get_mut(object)) else { return false };
        parked.push(id.clone());
        self.put(id, Phase::Parked);
        true
    }

    /// The call that leaves.
    pub(super) fn depart(
        &mut self,
        id: &Id<K>,
        make: &mut dyn FnMut(Slot, &K) -> Result<Op, NotMade>,
    ) -> Result<(Op, Departure), NotMade> {
        let entry = self.entries.get_mut(id).ok_or(NotMade::Moot)?;
        let (op, sent) = entry.compose(id, make)?;
        (entry.is_shown, entry.is_unseen) = (false, false);
        let departure = (entry.object.clone(), entry.version, sent);
        if let Some(object) = &departure.0 {
            self.busy.insert(object.clone(), Vec::new());
        }
        self.put(id, Phase::Flying(None));
        Ok((op, departure))
    }

    /// The call about this object has ended: what waited for that may leave.
    pub(super) fn land(&mut self, object: &Object) {
        for id in self.busy.remove(object).unwrap_or_default() {
            if self.entries.get(&id).is_some_and(|entry| entry.phase == Phase::Parked) {
                self.make_ready(&id);
            }
        }
    }

    /// Entries that are wanted, in flight ones too.
    pub(super) fn wanted(&self) -> usize {
        self.entries.len() - self.resting
    }
}

/// What comes back.
impl<K: Clone + Eq + Hash + Debug> Entries<K> {
    /// Failures in a row, and whether it is still wanted.
    pub(super) fn standing(&self, id: &Id<K>) -> Option<(u32, Wish)> {
        self.entries.get(id).map(|entry| (entry.attempt, entry.wish))
    }

    /// Another call follows.
    pub(super) fn again(&mut self, now: Mono, id: &Id<K>, step: Step, pace: Pace) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        // A GET belongs to the attempt whose refusal it looks into.
        entry.attempt += u32::from(pace != Pace::Now);
        if let Phase::Flying(Some((_, again))) = entry.phase {
            entry.urgency = entry.urgency.min(again);
        }
        // After a failure a call is not [`Urgency::Next`] any more: somebody else has taken the room by now, or a
        // moment more does not matter.
        entry.urgency = entry.urgency.max(Urgency::Ordinary).max(entry.at_most(id.0));
        entry.step = step;
        let at = now.after(pace.delay(id, entry.attempt));
        self.put(id, Phase::Timed(at));
    }

    /// The entry's call has ended it: it goes, or rests, or leaves again if it is wanted again.
    pub(super) fn end(&mut self, now: Mono, id: &Id<K>, version: u32, rest: Rest) {
        self.release(id, version);
        let Some(entry) = self.entries.get_mut(id) else { return };
        let refused = rest == Rest::Refused;
        entry.attempt = if refused { entry.attempt + 1 } else { 0 };
        let until = match rest {
            Rest::Refused => Some(now.after(Pace::Long.delay(id, entry.attempt))),
            Rest::Made if !entry.is_shown => Some(now.after(SHOWN_WITHIN_MS)),
            Rest::Made | Rest::Not => None,
        };
        entry.is_unseen = until.is_some() && rest == Rest::Made;
        entry.not_before = until.unwrap_or(entry.not_before);
        let again = match entry.phase {
            Phase::Flying(again) if id.0.is_patch() || refused => again,
            Phase::Flying(_) | Phase::Ready(..) | Phase::Timed(_) | Phase::Parked => None,
            Phase::Following | Phase::Resting(_) => None,
        };
        match (until, again) {
            (None, None) => self.remove(id),
            (Some(until), None) if id.0 == Slot::Event => drop((until, self.remove(id))),
            (Some(until), None) => self.put(id, Phase::Resting(until)),
            (until, Some((at, urgency))) => {
                entry.urgency = urgency.max(entry.at_most(id.0));
                self.put(id, Phase::Timed(until.map_or(at, |until| until.max(at))));
            }
        }
    }

    /// Takes an entry out; what waited for it may leave.
    pub(super) fn remove(&mut self, id: &Id<K>) {
        self.release(id, u32::MAX);
        // Takes it out of the indices: none of them holds parked entries.
        self.put(id, Phase::Parked);
        if self.entries.remove(id).is_some() {
            self.events -= usize::from(id.0 == Slot::Event);
        }
    }

    fn release(&mut self, id: &Id<K>, version: u32) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (free, held) = std::mem::take(&mut entry.followers).into_iter().partition(|(wanted, _)| *wanted <= version);
        entry.followers = held;
        let free: Vec<(u32, Id<K>)> = free;
        for (_, follower) in free {
            if self.entries.get(&follower).is_some_and(|entry| entry.phase == Phase::Following) {
                self.make_ready(&follower);
            }
        }
    }

    fn make_ready(&mut self, id: &Id<K>) {
        if let Some(entry) = self.entries.get(id) {
            let (rank, urgency) = entry.turn(id.0);
            self.put(id, Phase::Ready(rank, urgency));
        }
    }

    /// Moves an entry, in the indices too.
    fn put(&mut self, id: &Id<K>, phase: Phase) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (old, number) = (std::mem::replace(&mut entry.phase, phase), entry.number);
        match old {
            Phase::Ready(rank, urgency) => drop(self.ready.remove(&(rank, urgency, number))),
            Phase::Timed(at) => drop(self.timers.remove(&(at, number))),
            Phase::Resting(at) => {
                self.timers.remove(&(at, number));
                self.resting -= 1;
            }
            Phase::Parked | Phase::Following | Phase::Flying(_) => {}
        }
        match phase {
            Phase::Ready(rank, urgency) => drop(self.ready.insert((rank, urgency, number), id.clone())),
            Phase::Timed(at) => drop(self.timers.insert((at, number), id.clone())),
            Phase::Resting(at) => {
                self.timers.insert((at, number), id.clone());
                self.resting += 1;
            }
            Phase::Parked | Phase::Following | Phase::Flying(_) => {}
        }
    }
}
