//! Token buckets: failures, status, conditions and events never take the server's time from binds for long.

use super::want::Slot;
use crate::core::time::Mono;

/// Failures, conditions and status each: a twentieth of what a small control plane takes (about 1700 writes a second,
/// measured); the burst lets a few hundred gangs change state at once, or a gang of a few hundred fail.
const PATCH: Rate = Rate { per_second: 100, burst: 200 };
/// Events are kept for an hour by the server and read by people: the rate of client-go's event broadcaster is lower.
const EVENT: Rate = Rate { per_second: 20, burst: 50 };

/// Tokens per second and how many may be saved up.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: u64,
    burst: u64,
}

/// One bucket, in thousandths of a token so that a millisecond adds `per_second` of them.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: Rate,
    /// Thousandths of a token at `at`.
    level: u64,
    at: Mono,
}

impl Bucket {
    const fn full(rate: Rate) -> Self {
        Self { rate, level: rate.burst * 1000, at: Mono(0) }
    }

    fn level(&self, now: Mono) -> u64 {
        let gained = now.since(self.at).saturating_mul(self.rate.per_second);
        self.level.saturating_add(gained).min(self.rate.burst * 1000)
    }

    /// When there is a token.
    fn when(&self, now: Mono) -> Mono {
        let missing = 1000_u64.saturating_sub(self.level(now));
        now.after(missing.div_ceil(self.rate.per_second))
    }

    fn take(&mut self, now: Mono) {
        self.level = self.level(now).saturating_sub(1000);
        self.at = now;
    }
}

/// The buckets of the slots that have one.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    failure: Bucket,
    condition: Bucket,
    status: Bucket,
    event: Bucket,
}

impl Default for Buckets {
    fn default() -> Self {
        let patch = Bucket::full(PATCH);
        Self { failure: patch, condition: patch, status: patch, event: Bucket::full(EVENT) }
    }
}

impl Buckets {
    /// When a call of this rank may leave: now, or when there is a token.
    pub(super) fn when(&self, rank: Slot, now: Mono) -> Mono {
        match rank {
            Slot::Bind | Slot::Delete | Slot::Create => now,
            Slot::Fail => self.failure.when(now),
            Slot::Condition => self.condition.when(now),
            Slot::Status => self.status.when(now),
            Slot::Event => self.event.when(now),
        }
    }

    /// A call of this rank leaves.
    pub(super) fn take(&mut self, rank: Slot, now: Mono) {
        match rank {
            Slot::Bind | Slot::Delete | Slot::Create => {}
            Slot::Fail => self.failure.take(now),
            Slot::Condition => self.condition.take(now),
            Slot::Status => self.status.take(now),
            Slot::Event => self.event.take(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut buckets = Buckets::default();
        let start = Mono(5);
        for _ in 0..EVENT.burst {
            assert_eq!(buckets.when(Slot::Event, start), start);
            buckets.take(Slot::Event, start);
        }
        assert_eq!(buckets.when(Slot::Event, start), Mono(55));
        assert_eq!(buckets.when(Slot::Event, Mono(30)), Mono(55));
        buckets.take(Slot::Event, Mono(55));
        assert_eq!(buckets.when(Slot::Event, Mono(55)), Mono(105));
        assert_eq!(buckets.when(Slot::Status, start), start, "each its own");
    }

    #[test]
    fn no_more_than_the_burst_is_saved() {
        let mut bucket = Bucket::full(EVENT);
        bucket.take(Mono(0));
        assert_eq!(bucket.level(Mono(3_600_000)), EVENT.burst * 1000);
    }
}
