//! How long a repetition waits: exponential, capped, and spread by a hash instead of by chance.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::core::time::Millis;

/// How soon a refused or unanswered call is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// At once: the next question of the same conversation.
    Now,
    /// The server is in trouble: it may be over in a moment.
    Brief,
    /// Somebody has to change something first: a role, a quota, a webhook.
    Long,
}

/// First wait and cap. Brief: about ten round trips, up to what a user calls a hiccup. Long: a person or another
/// controller acts in seconds at best; a minute keeps one refused entry below 0.02 requests a second.
const BRIEF_MS: (Millis, Millis) = (100, 10_000);
const LONG_MS: (Millis, Millis) = (2_000, 60_000);

impl Pace {
    /// The wait before attempt number `attempt` (the first repetition is 1) of something that hashes: between half and
    /// all of the nominal wait, so that entries refused together do not come back together.
    pub(super) fn delay(self, salt: &impl Hash, attempt: u32) -> Millis {
        let (first, cap) = match self {
            Self::Now => return 0,
            Self::Brief => BRIEF_MS,
            Self::Long => LONG_MS,
        };
        // 2^10 times the first wait is beyond both caps.
        let nominal = (first << attempt.saturating_sub(1).min(10)).min(cap);
        let mut hasher = DefaultHasher::new();
        (salt, attempt).hash(&mut hasher);
        nominal / 2 + hasher.finish() % (nominal / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        for (attempt, least, most) in [(1, 50, 100), (2, 100, 200), (5, 800, 1_600), (30, 5_000, 10_000)] {
            let delay = Pace::Brief.delay(&"pod", attempt);
            assert!((least..=most).contains(&delay), "attempt {attempt}: {delay}");
        }
        assert!((30_000..=60_000).contains(&Pace::Long.delay(&"pod", u32::MAX)));
        assert_eq!(Pace::Now.delay(&"pod", 9), 0);
    }

    #[test]
    fn entries_are_spread_but_never_by_chance() {
        let delays = |salt: u32| Pace::Long.delay(&salt, 5);
        assert_eq!(delays(1), delays(1));
        let distinct: std::collections::BTreeSet<_> = (0..100).map(delays).collect();
        assert!(distinct.len() > 90);
    }
}
