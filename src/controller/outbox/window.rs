//! How many calls may be in flight: grows by one a round, halves when the server is in trouble, pauses when it is down.

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

/// The window and what it learned.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: usize,
    /// Successes since it last grew.
    credit: usize,
    /// The newest call when it last shrank: troubles of calls up to this one are of the same round.
    shrank_at: u64,
    /// Troubles in a row at size 1.
    failures: u32,
    paused_until: Mono,
}

impl Default for Window {
    fn default() -> Self {
        Self { size: MAX, credit: 0, shrank_at: 0, failures: 0, paused_until: Mono(0) }
    }
}

impl Window {
    /// Whether another call may leave now.
    pub(super) fn admits(&self, now: Mono, in_flight: usize) -> bool {
        now >= self.paused_until && self.has_room(in_flight)
    }

    /// Whether another call may leave, were it not for a pause.
    pub(super) const fn has_room(&self, in_flight: usize) -> bool {
        in_flight < self.size
    }

    /// How many calls may be in flight.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// No call leaves before.
    pub(super) const fn paused_until(&self) -> Mono {
        self.paused_until
    }

    /// A call has ended; `newest` is the newest one sent so far.
    pub(super) fn ended(&mut self, now: Mono, sequence: u64, newest: u64, outcome: &Outcome) {
        match outcome {
            Outcome::Refused { code: 429 | 500.., retry_after, .. } => {
                self.shrink(now, sequence, newest);
                self.pause(now, retry_after.unwrap_or(0).min(RETRY_AFTER_MAX_MS));
            }
            Outcome::Unknown | Outcome::NotSent => self.shrink(now, sequence, newest),
            Outcome::Ok(_) | Outcome::Refused { .. } => self.grow(),
        }
    }

    fn grow(&mut self) {
        self.failures = 0;
        self.credit += 1;
        if self.credit >= self.size {
            self.credit = 0;
            self.size = (self.size + 1).min(MAX);
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
            self.pause(now, (PAUSE_MS.0 << (self.failures - 1).min(5)).min(PAUSE_MS.1));
        }
        self.size = (self.size / 2).max(1);
        self.credit = 0;
        self.shrank_at = newest;
    }

    fn pause(&mut self, now: Mono, millis: Millis) {
        self.paused_until = self.paused_until.max(now.after(millis));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, retry_after: Option<Millis>) -> Outcome {
        Outcome::Refused { code, reason: "".into(), message: "".into(), retry_after }
    }

    #[test]
    fn one_round_of_trouble_halves_once() {
        let mut window = Window::default();
        for sequence in 1..=64 {
            window.ended(Mono(0), sequence, 64, &refused(503, None));
        }
        assert_eq!(window.size(), 32);
        window.ended(Mono(0), 65, 96, &Outcome::Unknown);
        assert_eq!(window.size(), 16);
    }

    #[test]
    fn it_grows_by_one_a_round_up_to_the_maximum() {
        let mut window = Window { size: 8, ..Window::default() };
        for sequence in 1..=8 {
            window.ended(Mono(0), sequence, 8, &Outcome::Ok(None));
        }
        assert_eq!(window.size(), 9);
        for sequence in 9..10_000 {
            window.ended(Mono(0), sequence, sequence, &refused(409, None));
        }
        assert_eq!(window.size(), MAX, "a certain answer is a healthy server");
    }

    #[test]
    fn a_dead_server_is_asked_ever_more_rarely() {
        let mut window = Window::default();
        let mut now = Mono(0);
        let mut asked = 0;
        for sequence in 1.. {
            now = now.max(window.paused_until());
            if now >= Mono(60_000) {
                break;
            }
            asked += 1;
            window.ended(now, sequence, sequence, &Outcome::NotSent);
        }
        assert!((20..40).contains(&asked), "{asked} times a minute");
        window.ended(now, u64::MAX, u64::MAX, &Outcome::Ok(None));
        assert_eq!((window.failures, window.size()), (0, 2));
    }

    #[test]
    fn retry_after_stops_everything_for_a_bounded_time() {
        let mut window = Window::default();
        window.ended(Mono(1_000), 1, 1, &refused(429, Some(2_000)));
        assert!(!window.admits(Mono(2_999), 0) && window.admits(Mono(3_000), 0));
        window.ended(Mono(3_000), 2, 2, &refused(503, Some(3_600_000)));
        assert_eq!(window.paused_until(), Mono(33_000));
    }
}
