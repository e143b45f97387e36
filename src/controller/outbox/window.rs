//! How many calls may be in flight: grows by one a round, halves in trouble, pauses when nothing answers.
//!
//! Each slot has a window of its own: a webhook that fails or hangs on one kind of call must not stop the others. What
//! the server says about itself (`Retry-After`) stops all.

use super::want::Slot;
use crate::core::time::{Millis, Mono};
use crate::shim::observation::Outcome;

/// Most calls in flight. Measured on a small control plane: 16/32/64/128 in flight give 1446/1562/1712/1931 binds a
/// second at 7/13/24/45 ms a bind; beyond 64 latency doubles for an eighth more.
const MAX: usize = 64;
/// Longest `Retry-After` that is honoured: a proxy's "in an hour" must not stop the scheduler for an hour.
const RETRY_AFTER_MAX_MS: Millis = 30_000;
/// First and longest pause when even single calls fail: soon enough to notice a server that restarts (3 s, measured),
/// rare enough to leave it in peace.
const PAUSE_MS: (Millis, Millis) = (100, 3_000);

/// Most calls of a slot in flight: of those that are many as many as let a server work on them alone. The patches and events
/// have token buckets that rarely need two.
const fn most(slot: Slot) -> usize {
    match slot {
        Slot::Bind => MAX,
        Slot::Delete => 24,
        // A gang of hundreds has failed within a second.
        Slot::Fail => 2,
        Slot::Create => 21,
        Slot::Declare => 17,
        Slot::Condition | Slot::Status => 3,
        Slot::Annotate | Slot::Event => 2,
    }
}

/// Slots that share what they have in flight. A gang that is declared wants its TaskGroup first, then placeholders, and then these
/// deleted: seldom all have much to do, and who is nearer to a Binding goes first. So all but binds together leave a quarter of
/// [`MAX`] to binds whatever hangs, and whichever of these hang, one or two of them, there is room for the third.
pub(super) const SHARED: [(&[Slot], usize); 4] = [
    (&[Slot::Delete, Slot::Create, Slot::Declare], 36),
    (&[Slot::Delete, Slot::Create], 33),
    (&[Slot::Delete, Slot::Declare], 33),
    (&[Slot::Create, Slot::Declare], 24),
];

/// The windows of all slots.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    windows: [Window; Slot::ALL.len()],
    paused_until: Mono,
}

impl Default for Windows {
    fn default() -> Self {
        Self { windows: Slot::ALL.map(|slot| Window::new(most(slot))), paused_until: Mono(0) }
    }
}

impl Windows {
    /// When another call of this rank may leave, as far as time alone decides; `None` if a call in flight must end
    /// first.
    pub(super) fn when(&self, rank: Slot) -> Option<Mono> {
        let window = &self.windows[rank as usize];
        self.when_next(rank).filter(|_| window.flying < window.size)
    }

    /// The same of a call that is [`super::Urgency::Next`]: the window of its own slot does not hold it up, since the
    /// call that made it possible (the DELETE of a placeholder) has just left another window.
    pub(super) fn when_next(&self, rank: Slot) -> Option<Mono> {
        let total: usize = self.windows.iter().map(|window| window.flying).sum();
        let have_room = |(slots, most): &(&[Slot], usize)| !slots.contains(&rank) || self.flying(slots) < *most;
        let has_room = total < MAX && SHARED.iter().all(have_room);
        has_room.then(|| self.windows[rank as usize].paused_until.max(self.paused_until))
    }

    fn flying(&self, slots: &[Slot]) -> usize {
        slots.iter().map(|slot| self.windows[*slot as usize].flying).sum()
    }

    /// A call of this rank leaves.
    pub(super) const fn left(&mut self, rank: Slot) {
        self.windows[rank as usize].flying += 1;
    }

    /// A call of this rank has ended; `newest` is the newest one sent so far.
    pub(super) fn ended(&mut self, now: Mono, rank: Slot, sequence: u64, newest: u64, outcome: &Outcome) {
        let window = &mut self.windows[rank as usize];
        window.flying = window.flying.saturating_sub(1);
        match outcome {
            Outcome::Refused { code: 408 | 429 | 500.., retry_after, .. } => {
                window.shrink(now, sequence, newest);
                let pause = retry_after.unwrap_or(0).min(RETRY_AFTER_MAX_MS);
                self.paused_until = self.paused_until.max(now.after(pause));
            }
            Outcome::Unknown | Outcome::NotSent => window.shrink(now, sequence, newest),
            Outcome::Ok(_) | Outcome::Removed | Outcome::Pruned | Outcome::Refused { .. } => window.grow(),
        }
    }

    /// How many calls of this rank may be in flight.
    pub(super) const fn size(&self, rank: Slot) -> usize {
        self.windows[rank as usize].size
    }
}

/// The window of one slot and what it learned.
#[derive(Clone, Debug)]
struct Window {
    most: usize,
    size: usize,
    flying: usize,
    /// Successes since it last grew.
    credit: usize,
    /// The newest call when it last shrank: troubles of calls up to this one are of the same round.
    shrank_at: u64,
    /// Troubles in a row at size 1.
    failures: u32,
    paused_until: Mono,
}

impl Window {
    const fn new(most: usize) -> Self {
        Self { most, size: most, flying: 0, credit: 0, shrank_at: 0, failures: 0, paused_until: Mono(0) }
    }

    fn grow(&mut self) {
        self.failures = 0;
        self.credit += 1;
        // Far below the maximum it doubles a round: after a restart of the server nothing is left of the trouble.
        if self.credit >= self.size || self.size < self.most / 4 {
            self.credit = 0;
            self.size = (self.size + 1).min(self.most);
        }
    }

    /// Halves, once a round: calls sent before the last halving only say again what it already answered.
    fn shrink(&mut self, now: Mono, sequence: u64, newest: u64) {
        if sequence <= self.shrank_at {
            return;
        }
        if self.size == 1 {
            self.failures += 1;
            // 2^5 times the first pause is beyond the longest.
            let pause = (PAUSE_MS.0 << (self.failures - 1).min(5)).min(PAUSE_MS.1);
            self.paused_until = now.after(pause);
        }
        self.size = (self.size / 2).max(1);
        self.credit = 0;
        self.shrank_at = newest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, retry_after: Option<Millis>) -> Outcome {
        Outcome::Refused { code, reason: "".into(), message: "".into(), retry_after }
    }

    fn end(windows: &mut Windows, now: u64, sequence: u64, newest: u64, outcome: &Outcome) {
        windows.ended(Mono(now), Slot::Bind, sequence, newest, outcome);
    }

    #[test]
    fn one_round_of_trouble_halves_once() {
        let mut windows = Windows::default();
        for sequence in 1..=64 {
            end(&mut windows, 0, sequence, 64, &refused(503, None));
        }
        assert_eq!(windows.size(Slot::Bind), 32);
        end(&mut windows, 0, 65, 96, &Outcome::Unknown);
        assert_eq!(windows.size(Slot::Bind), 16);
        end(&mut windows, 0, 97, 128, &refused(408, None));
        assert_eq!(windows.size(Slot::Bind), 8, "it had no time for the request: nothing is certain");
        assert_eq!(windows.size(Slot::Create), most(Slot::Create), "each its own");
    }

    #[test]
    fn it_grows_by_one_a_round_up_to_the_maximum() {
        let mut windows = Windows::default();
        windows.windows[0].size = 20;
        for sequence in 1..=20 {
            end(&mut windows, 0, sequence, 20, &Outcome::Ok(None));
        }
        assert_eq!(windows.size(Slot::Bind), 21);
        for sequence in 9..10_000 {
            end(&mut windows, 0, sequence, sequence, &refused(409, None));
        }
        assert_eq!(windows.size(Slot::Bind), MAX, "a certain answer is a healthy server");
    }

    #[test]
    fn a_dead_server_is_asked_ever_more_rarely() {
        let mut windows = Windows::default();
        let (mut now, mut asked) = (0, 0);
        for sequence in 1.. {
            now = windows.when(Slot::Bind).expect("nothing is in flight").0.max(now);
            if now >= 60_000 {
                break;
            }
            asked += 1;
            end(&mut windows, now, sequence, sequence, &Outcome::NotSent);
        }
        assert!((20..40).contains(&asked), "{asked} times a minute");
        end(&mut windows, now, u64::MAX, u64::MAX, &Outcome::Ok(None));
        assert_eq!((windows.windows[0].failures, windows.size(Slot::Bind)), (0, 2));
    }

    #[test]
    fn after_a_restart_it_is_soon_back() {
        let mut windows = Windows::default();
        windows.windows[0].size = 1;
        (1..16).for_each(|sequence| end(&mut windows, 0, sequence, sequence, &Outcome::Ok(None)));
        assert_eq!(windows.size(Slot::Bind), 16);
    }

    #[test]
    fn retry_after_stops_everything_for_a_bounded_time() {
        let mut windows = Windows::default();
        end(&mut windows, 1_000, 1, 1, &refused(429, Some(2_000)));
        assert_eq!(windows.when(Slot::Status), Some(Mono(3_000)));
        end(&mut windows, 3_000, 2, 2, &refused(503, Some(3_600_000)));
        assert_eq!(windows.when(Slot::Status), Some(Mono(33_000)));
    }

    #[test]
    fn whatever_hangs_binds_have_room() {
        let mut windows = Windows::default();
        for slot in Slot::ALL.into_iter().filter(|slot| *slot != Slot::Bind) {
            while windows.when(slot).is_some() {
                windows.left(slot);
            }
        }
        let room = std::iter::repeat_with(|| windows.when(Slot::Bind).map(|_| windows.left(Slot::Bind)));
        assert_eq!(room.take_while(Option::is_some).count(), MAX / 4);
    }

    /// The first hangs, and the second has what is left, or hangs too, and the third has three.
    #[test]
    fn whichever_of_those_that_share_hang_there_is_room_for_the_others() {
        for (slots, room) in [
            ([Slot::Delete, Slot::Create, Slot::Declare], [24, 9, 3]),
            ([Slot::Delete, Slot::Declare, Slot::Create], [24, 9, 3]),
            ([Slot::Create, Slot::Delete, Slot::Declare], [21, 12, 3]),
            ([Slot::Create, Slot::Declare, Slot::Delete], [21, 3, 12]),
            ([Slot::Declare, Slot::Delete, Slot::Create], [17, 16, 3]),
            ([Slot::Declare, Slot::Create, Slot::Delete], [17, 7, 12]),
        ] {
            let mut windows = Windows::default();
            let leave = |slot: Slot| {
                let left = std::iter::repeat_with(|| windows.when(slot).map(|_| windows.left(slot)));
                left.take_while(Option::is_some).count()
            };
            assert_eq!(slots.map(leave), room, "{slots:?}");
        }
    }
}
