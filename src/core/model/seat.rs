//! Seats: the places guaranteed to the members of a task group (01, 1.1). Everything else is derived from them.

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, KeptId};
use crate::core::time::{Millis, Mono};

/// The place guaranteed to one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Where it stands.
    pub state: SeatState,
    /// Attempt of its current or next placeholder; rises after the previous one was seen terminal or deleting.
    pub attempt: u32,
    /// When a placeholder of it was last lost: its node refused it, or somebody deleted it.
    pub lost_at: Option<Mono>,
}

/// Where a seat stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatState {
    /// Nobody has it.
    Open(Reserve),
    /// It has a node on the books for this real member.
    Assumed(AskId),
    /// It has a node on the books for this placeholder, whose Binding was decided.
    Binding(AskId),
    /// A bound placeholder holds it.
    Held(AskId),
    /// Its placeholder is lost or terminates, and still exists. The seat opens when the placeholder is gone and its
    /// room is free.
    Leaving(AskId),
    /// The placeholder is being deleted for the parked member.
    Releasing {
        /// Leaves.
        placeholder: AskId,
        /// Comes.
        member: AskId,
    },
    /// The placeholder is gone and the member has no node yet. This lasts only within one step: the member gets a node
    /// before anything else is placed.
    Freed(AskId),
    /// Its member is lost, and the room is kept for the next one.
    Kept(KeptId),
    /// A real member has it: it runs, or has succeeded, and its pod may be gone since then (`None`).
    Taken(Option<AskId>),
}

/// The placeholder of an open seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// There is none.
    None,
    /// Its creation was decided and has not been seen.
    Creating,
    /// It exists and has no node.
    Pending(AskId),
}

/// The seats of one task group with their tally, which only [`Seats::set`] changes.
#[derive(Clone, Debug, Default)]
pub struct Seats {
    seats: Vec<Seat>,
    /// Open without a placeholder.
    bare: BTreeSet<u32>,
    /// Open with a placeholder being created.
    creating: BTreeSet<u32>,
    /// Open with a pending placeholder.
    pending: BTreeSet<u32>,
    held: BTreeSet<u32>,
    kept: BTreeSet<u32>,
    tally: Tally,
}

/// How many seats are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Open, whatever their placeholders.
    pub open: u32,
    /// Open with a placeholder being created.
    pub creating: u32,
    /// Open with a pending placeholder.
    pub pending: u32,
    /// Have a node that is not confirmed: assumed for a member, or a placeholder is being bound.
    pub assumed: u32,
    /// Of these: a placeholder is being bound.
    pub binding: u32,
    /// Held.
    pub held: u32,
    /// Their placeholders are lost or terminate.
    pub leaving: u32,
    /// Releasing.
    pub releasing: u32,
    /// Kept.
    pub kept: u32,
    /// Taken.
    pub taken: u32,
    /// Of these: the member has succeeded, and its pod is gone.
    pub gone: u32,
}

impl Tally {
    /// Assumed for members.
    pub const fn members(&self) -> u32 {
        self.assumed - self.binding
    }

    fn count(&mut self, state: SeatState, by: i32) {
        let slots: [Option<&mut u32>; 2] = match state {
            SeatState::Open(Reserve::None) => [Some(&mut self.open), None],
            SeatState::Open(Reserve::Creating) => [Some(&mut self.open), Some(&mut self.creating)],
            SeatState::Open(Reserve::Pending(_)) => [Some(&mut self.open), Some(&mut self.pending)],
            SeatState::Assumed(_) => [Some(&mut self.assumed), None],
            SeatState::Binding(_) => [Some(&mut self.assumed), Some(&mut self.binding)],
            SeatState::Held(_) => [Some(&mut self.held), None],
            SeatState::Leaving(_) => [Some(&mut self.leaving), None],
            SeatState::Releasing { .. } | SeatState::Freed(_) => [Some(&mut self.releasing), None],
            SeatState::Kept(_) => [Some(&mut self.kept), None],
            SeatState::Taken(Some(_)) => [Some(&mut self.taken), None],
            SeatState::Taken(None) => [Some(&mut self.taken), Some(&mut self.gone)],
        };
        for slot in slots.into_iter().flatten() {
            *slot = slot.checked_add_signed(by).expect("a seat leaves only the state it was counted in");
        }
    }
}

impl Seats {
    /// `count` open seats.
    pub fn new(count: u32) -> Self {
        let seat = Seat { state: SeatState::Open(Reserve::None), attempt: 0, lost_at: None };
        let tally = Tally { open: count, ..Tally::default() };
        Self { seats: vec![seat; count as usize], bare: (0..count).collect(), tally, ..Self::default() }
    }

    /// Number of seats.
    pub(crate) fn len(&self) -> u32 {
        self.seats.len() as u32
    }

    /// One seat.
    pub fn get(&self, number: u32) -> Option<Seat> {
        self.seats.get(number as usize).copied()
    }

    /// All seats with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Seat)> + '_ {
        self.seats.iter().enumerate().map(|(number, seat)| (number as u32, *seat))
    }

    /// How many are in which state.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Changes a seat's state: the one function that does.
    pub fn set(&mut self, number: u32, state: SeatState) {
        let old = std::mem::replace(&mut self.seats[number as usize].state, state);
        self.tally.count(old, -1);
        self.tally.count(state, 1);
        if let Some(seats) = self.alike(old) {
            seats.remove(&number);
        }
        if let Some(seats) = self.alike(state) {
            seats.insert(number);
        }
    }

    /// The set of all seats in such a state, if one is kept: a search for such a seat then looks at no other seats.
    fn alike(&mut self, state: SeatState) -> Option<&mut BTreeSet<u32>> {
        match state {
            SeatState::Open(Reserve::None) => Some(&mut self.bare),
            SeatState::Open(Reserve::Creating) => Some(&mut self.creating),
            SeatState::Open(Reserve::Pending(_)) => Some(&mut self.pending),
            SeatState::Held(_) => Some(&mut self.held),
            SeatState::Kept(_) => Some(&mut self.kept),
            SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Taken(_) => None,
        }
    }

    /// Gives the next placeholder of the seat at least this attempt, so that its name is a new one.
    pub fn next_attempt(&mut self, number: u32, at_least: u32) {
        let seat = &mut self.seats[number as usize];
        seat.attempt = seat.attempt.max(at_least);
    }

    /// The next placeholder of the seat will have another name than the present one.
    pub fn raise_attempt(&mut self, number: u32) {
        let seat = &mut self.seats[number as usize];
        seat.attempt = seat.attempt.saturating_add(1);
    }

    /// Notes that the placeholder of a seat is lost. Returns whether another one was lost before now, but less than
    /// `within` ago.
    pub fn lost_again(&mut self, number: u32, now: Mono, within: Millis) -> bool {
        let before = self.seats[number as usize].lost_at.replace(now);
        before.is_some_and(|at| at < now && now < at.after(within))
    }

    /// The seat that a member takes that runs or is about to: a kept one before an open one, and that, if possible, without
    /// a placeholder; of several the one with the lowest number.
    pub fn first_free(&self) -> Option<u32> {
        self.kept.first().copied().or_else(|| self.first_open())
    }

    /// Kept seats, lowest number first.
    pub fn kept(&self) -> impl Iterator<Item = (u32, KeptId)> + '_ {
        self.kept.iter().filter_map(|number| match self.seats[*number as usize].state {
            SeatState::Kept(kept) => Some((*number, kept)),
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Taken(_) => None,
        })
    }

    fn first_open(&self) -> Option<u32> {
        let with_placeholder = || self.creating.first().into_iter().chain(self.pending.first()).min();
        self.bare.first().or_else(with_placeholder).copied()
    }

    /// Open seats without a placeholder, lowest number first.
    pub fn open_without_placeholder(&self) -> impl Iterator<Item = u32> + '_ {
        self.bare.iter().copied()
    }

    /// Open seats whose placeholder exists, highest number first.
    pub fn open_with_placeholder(&self) -> impl Iterator<Item = (u32, AskId)> + '_ {
        self.pending.iter().rev().filter_map(|number| match self.seats[*number as usize].state {
            SeatState::Open(Reserve::Pending(ask)) => Some((*number, ask)),
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Kept(_)
            | SeatState::Taken(_) => None,
        })
    }

    /// Open seats whose placeholder is being created, highest number first.
    pub fn open_creating(&self) -> impl Iterator<Item = u32> + '_ {
        self.creating.iter().rev().copied()
    }

    /// Held seats with their placeholders, lowest number first.
    pub fn held(&self) -> impl Iterator<Item = (u32, AskId)> + '_ {
        self.held_from(0)
    }

    /// As [`Self::held`], from a number on.
    pub fn held_from(&self, number: u32) -> impl Iterator<Item = (u32, AskId)> + '_ {
        self.held.range(number..).filter_map(|number| match self.seats[*number as usize].state {
            SeatState::Held(ask) => Some((*number, ask)),
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Kept(_)
            | SeatState::Taken(_) => None,
        })
    }

    /// The members for which seats are assumed, in the order of these. Looks at no seat where there are none.
    pub fn assumed(&self) -> impl Iterator<Item = AskId> + '_ {
        let looks = if self.tally.members() == 0 { 0 } else { self.seats.len() };
        self.seats.iter().take(looks).filter_map(|seat| match seat.state {
            SeatState::Assumed(member) => Some(member),
            SeatState::Open(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Kept(_)
            | SeatState::Taken(_) => None,
        })
    }

    /// The tally counted again from the seats, for the audit.
    pub fn recount(&self) -> Tally {
        let mut tally = Tally::default();
        self.seats.iter().for_each(|seat| tally.count(seat.state, 1));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_loss_counts_if_it_is_later_and_not_too_late() {
        let again = |first: u64, second: u64| {
            let mut seats = Seats::new(1);
            assert!(!seats.lost_again(0, Mono(first), 100), "there was none before");
            seats.lost_again(0, Mono(second), 100)
        };
        assert_eq!([again(5, 5), again(5, 6), again(5, 104), again(5, 105)], [false, true, true, false]);
    }
}
