//! One thing that is wanted: where it stands and what it does next.

use super::pace::Pace;
use super::verdict::{Look, Next, Sent, Step, Verdict, Why};
use super::want::{NotMade, Object, Slot, Urgency};
use crate::core::time::Mono;
use crate::shim::op::Op;

/// An entry's name.
pub(super) type Id<K> = (Slot, K);

/// One thing that is wanted of one object.
#[derive(Clone, Debug)]
pub(super) struct Entry<K> {
    /// The Kubernetes object that it is about.
    pub(super) object: Option<Object>,
    /// Its place in the order of arrival; kept over repetitions.
    pub(super) number: u64,
    /// Rises with every want.
    pub(super) version: u32,
    /// Which entries of its slot it goes before.
    pub(super) urgency: Urgency,
    /// Failures in a row.
    pub(super) attempt: u32,
    /// What it does when it leaves.
    pub(super) step: Step,
    /// Where it stands.
    pub(super) phase: Phase,
    /// Whether it is still wanted.
    pub(super) wish: Wish,
    /// Whether the watch has settled it while its call was in flight.
    pub(super) is_shown: bool,
    /// Whether its last call has made what the watch has not shown yet.
    pub(super) is_unseen: bool,
    /// Whoever wants it, it does not leave before this time: its last call was refused, or has made what is not seen yet.
    pub(super) not_before: Mono,
    /// Entries that wait for the end of a call that carries this version or a later one.
    pub(super) followers: Vec<(u32, Id<K>)>,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// May leave as soon as the window has room, with the others of its rank.
    Ready(Slot, Urgency),
    /// Waits for a time.
    Timed(Mono),
    /// Waits for the end of the call about its object.
    Parked,
    /// Waits for the end of another entry.
    Following,
    /// A call is in flight; when it is wanted again, and how urgently, if it is.
    Flying(Option<(Mono, Urgency)>),
    /// Refused, or made and not seen yet, and not wanted. Until this time another try waits; then it is forgotten.
    Resting(Mono),
}

/// How long an entry whose call has ended does not leave again, whoever wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Not at all.
    Not,
    /// It was refused: longer each time.
    Refused,
    /// It was made: as long as a watch may take to show it.
    Made,
}

/// Whether an entry is still wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// It is.
    Wanted,
    /// Not any more, but it may have happened or may yet happen.
    Cancelled,
    /// The watch has settled it.
    Moot,
}

impl Wish {
    /// What follows from an answer, given whether the entry is still wanted; `looked`: the answer is to a GET.
    pub(super) fn bend(self, next: Next, looked: bool) -> Next {
        match (self, next) {
            (Self::Moot, Next::Go { .. }) => Next::Forget,
            (Self::Cancelled, Next::Go { step: Step::Make, why, .. }) => Next::End(Verdict::Refused(why, None)),
            (Self::Cancelled, Next::Go { step: Step::Repeat(op), why, .. }) if matches!(*op, Op::CreatePod(_)) => {
                give_up(op, why, looked)
            }
            (Self::Wanted | Self::Cancelled | Self::Moot, next) => next,
        }
    }
}

/// A creation in doubt that nobody wants any more is looked for once and not sent again: should it happen yet, the
/// watch will show a placeholder that nobody waits for, as after a restart.
fn give_up(op: Box<Op>, why: Why, looked: bool) -> Next {
    if looked {
        return Next::End(Verdict::Refused(why, None));
    }
    let look = Look { op, why: why.clone(), doubt: true };
    Next::Go { step: Step::Look(look), pace: Pace::Brief, why }
}

impl<K> Entry<K> {
    /// A new entry, in no index yet.
    pub(super) const fn new(object: Option<Object>, number: u64, urgency: Urgency) -> Self {
        Self {
            object,
            number,
            version: 1,
            urgency,
            attempt: 0,
            step: Step::Make,
            phase: Phase::Parked,
            wish: Wish::Wanted,
            is_shown: false,
            is_unseen: false,
            not_before: Mono(0),
            followers: Vec::new(),
        }
    }

    /// Whether it may have happened or may yet happen.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Flying(_)) || !matches!(self.step, Step::Make)
    }

    /// How urgent it can be at most: a TaskGroup that has failed leaves before Bindings no more, whoever wants it.
    pub(super) const fn at_most(&self, slot: Slot) -> Urgency {
        if matches!(slot, Slot::Declare) && self.attempt > 0 { Urgency::Numbers } else { Urgency::Next }
    }

    /// The slot and urgency with which it leaves: as early as any entry that waits for it.
    pub(super) fn turn(&self, slot: Slot) -> (Slot, Urgency) {
        match self.followers.iter().map(|(_, (follower, _))| *follower).min() {
            Some(first) => (first.min(slot), self.urgency.min(Urgency::Ordinary)),
            None => (slot, self.urgency),
        }
    }

    /// The call of this moment and what is kept of it.
    pub(super) fn compose(
        &mut self,
        (slot, key): &Id<K>,
        make: &mut dyn FnMut(Slot, &K) -> Result<Op, NotMade>,
    ) -> Result<(Op, Sent), NotMade> {
        match std::mem::replace(&mut self.step, Step::Make) {
            Step::Make if slot.is_made_anew() => Ok((make(*slot, key)?, Sent::Text)),
            Step::Make => {
                let op = make(*slot, key)?;
                Ok((op.clone(), Sent::Write { op: Box::new(op), doubt: false }))
            }
            Step::Repeat(op) => Ok(((*op).clone(), Sent::Write { op, doubt: true })),
            Step::Look(look) => Ok((self.get().ok_or(NotMade::Moot)?, Sent::Look(look))),
        }
    }

    fn get(&self) -> Option<Op> {
        self.object.as_ref().map(|(_, pod)| Op::GetPod { pod: pod.clone() })
    }
}
