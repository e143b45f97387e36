//! Shares: how much of an amount is in use, compared exactly, without fractions that are rounded.

use std::cmp::Ordering;

use crate::core::base::resources::{Limit, Resources, Totals};

/// How much of an amount is in use.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    used: u128,
    /// At least 1.
    of: u128,
}

impl Share {
    /// Nothing of it.
    pub const NOTHING: Self = Self { used: 0, of: 1 };

    /// The share of the resource of which most is in use, measured by `of`, if `count` copies of `more` are in use
    /// beside `used`. `None` where `of` has nothing of anything.
    pub fn dominant(of: &Limit, used: &Totals, (more, count): (&Resources, u32)) -> Option<Self> {
        let real = of.iter().filter(|(_, amount)| *amount > 0);
        let shares = real.map(|(name, amount)| {
            let used = used.get(name) + i128::from(more.get(name)) * i128::from(count);
            Self { used: used.max(0).unsigned_abs(), of: amount.unsigned_abs() }
        });
        shares.max()
    }

    /// Whether all of it is in use, or more.
    pub const fn is_whole(self) -> bool {
        self.used >= self.of
    }

    /// In percent, rounded down.
    pub const fn percent(self) -> u128 {
        self.used.saturating_mul(100) / self.of
    }
}

impl Ord for Share {
    /// By whole parts first, and then by what is left, upside down (as Euclid has it): so no product is made, which could
    /// be too large.
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut one, mut two, mut turned) = (*self, *other, false);
        loop {
            let whole = (one.used / one.of).cmp(&(two.used / two.of));
            let (left_one, left_two) = (one.used % one.of, two.used % two.of);
            let found = match (whole, left_one, left_two) {
                (Ordering::Equal, 0, 0) => Ordering::Equal,
                (Ordering::Equal, 0, _) => Ordering::Less,
                (Ordering::Equal, _, 0) => Ordering::Greater,
                (Ordering::Equal, _, _) => {
                    (one, two) = (Self { used: one.of, of: left_one }, Self { used: two.of, of: left_two });
                    turned = !turned;
                    continue;
                }
                (Ordering::Less | Ordering::Greater, _, _) => whole,
            };
            return if turned { found.reverse() } else { found };
        }
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Share {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn share(used: u128, of: u128) -> Share {
        Share { used, of }
    }

    proptest! {
        #[test]
        fn shares_compare_as_fractions_do(a in 0..u64::MAX, b in 1..u64::MAX, c in 0..u64::MAX, d in 1..u64::MAX) {
            let [a, b, c, d] = [a, b, c, d].map(u128::from);
            prop_assert_eq!(share(a, b).cmp(&share(c, d)), (a * d).cmp(&(c * b)));
        }

        #[test]
        fn small_shares_compare_as_fractions_do(a in 0..9_u128, b in 1..9_u128, c in 0..9_u128, d in 1..9_u128) {
            prop_assert_eq!(share(a, b).cmp(&share(c, d)), (a * d).cmp(&(c * b)));
        }
    }

    #[test]
    fn the_largest_amounts_are_compared_too() {
        assert!(share(u128::MAX, 3) > share(u128::MAX - 1, 3));
        assert!(share(1, u128::MAX) < share(1, u128::MAX - 1));
        assert_eq!(share(u128::MAX, u128::MAX), share(1, 1));
    }

    #[test]
    fn the_dominant_share_is_that_of_the_resource_that_is_scarcest() {
        let of = Limit::new([("cpu".into(), 4_000), ("memory".into(), 100), ("pods".into(), 0)]);
        let mut used = Totals::default();
        used.add(&Resources::pod(1_000, 50), 1);
        let dominant = |more: &Resources, count| Share::dominant(&of, &used, (more, count));
        assert_eq!(dominant(&Resources::default(), 0), Some(share(1, 2)), "an amount of nothing is no measure");
        assert_eq!(dominant(&Resources::pod(1_000, 0), 3), Some(share(1, 1)));
        assert!(dominant(&Resources::pod(1_000, 0), 3).is_some_and(Share::is_whole));
        assert_eq!(dominant(&Resources::pod(0, 25), 1).map(Share::percent), Some(75));
        assert_eq!(Share::dominant(&Limit::default(), &used, (&Resources::default(), 0)), None);
    }
}
