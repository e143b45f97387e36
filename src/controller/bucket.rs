//! A token bucket: so much a second on average, and what was not used is saved up to a bound.

use crate::core::time::Mono;

/// Tokens per second and how many may be saved up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) per_second: u64,
    pub(super) burst: u64,
}

/// One bucket, in thousandths of a token so that a millisecond adds `per_second` of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// Thousandths of a token at `at`.
    level: u64,
    at: Mono,
}

impl Bucket {
    pub(super) const fn full(rate: Rate) -> Self {
        Self { rate, level: rate.burst * 1000, at: Mono(0) }
    }

    fn level(&self, now: Mono) -> u64 {
        let gained = now.since(self.at).saturating_mul(self.rate.per_second);
        self.level.saturating_add(gained).min(self.rate.burst * 1000)
    }

    /// When there is a token.
    pub(super) fn when(&self, now: Mono) -> Mono {
        let missing = 1000_u64.saturating_sub(self.level(now));
        now.after(missing.div_ceil(self.rate.per_second))
    }

    pub(super) fn take(&mut self, now: Mono) {
        self.level = self.level(now).saturating_sub(1000);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_burst_is_saved() {
        let mut bucket = Bucket::full(Rate { per_second: 20, burst: 50 });
        bucket.take(Mono(0));
        assert_eq!(bucket.level(Mono(3_600_000)), 50_000);
    }
}
