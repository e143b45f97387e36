//! Token buckets: failures, status, conditions and events never take the server's time from binds for long.

use super::want::Slot;
use crate::controller::bucket::{Bucket, Rate};
use crate::core::time::Mono;

/// Failures, conditions, annotations and status each: a twentieth of what a small control plane takes (about 1700 writes a second,
/// measured); the burst lets a few hundred gangs change state at once, or a gang of a few hundred fail.
const PATCH: Rate = Rate { per_second: 100, burst: 200 };
/// Events are kept for an hour by the server and read by people: the rate of client-go's event broadcaster is lower.
const EVENT: Rate = Rate { per_second: 20, burst: 50 };

/// The buckets of the slots that have one.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    failure: Bucket,
    condition: Bucket,
    annotation: Bucket,
    status: Bucket,
    event: Bucket,
}

impl Default for Buckets {
    fn default() -> Self {
        let patch = Bucket::full(PATCH);
        Self { failure: patch, condition: patch, annotation: patch, status: patch, event: Bucket::full(EVENT) }
    }
}

impl Buckets {
    /// When a call of this rank may leave: now, or when there is a token.
    pub(super) fn when(&self, rank: Slot, now: Mono) -> Mono {
        match rank {
            Slot::Bind | Slot::Delete | Slot::Create | Slot::Declare => now,
            Slot::Fail => self.failure.when(now),
            Slot::Condition => self.condition.when(now),
            Slot::Annotate => self.annotation.when(now),
            Slot::Status => self.status.when(now),
            Slot::Event => self.event.when(now),
        }
    }

    /// A call of this rank leaves.
    pub(super) fn take(&mut self, rank: Slot, now: Mono) {
        match rank {
            Slot::Bind | Slot::Delete | Slot::Create | Slot::Declare => {}
            Slot::Fail => self.failure.take(now),
            Slot::Condition => self.condition.take(now),
            Slot::Annotate => self.annotation.take(now),
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
}
