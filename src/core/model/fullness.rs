//! The order in which nodes are filled: the fullest first, ties by a hash of the name.

use crate::core::base::resources::{CPU, MEMORY};

/// Shares are counted in 1/32767: two of them fill 16 bits, and 48 are left for the hash.
const SHARE_MAX: u64 = (1 << 15) - 1;
const HASH_BITS: u32 = 48;

/// Where a node stands in the order of filling, the least first: how full it is (the mean of cpu and memory, as
/// kube-scheduler's MostAllocated), then a hash of its name, so that neither slot nor arrival decides.
pub(in crate::core) fn rank(hash: u64, offered: [i64; 4], charged: [i128; 4]) -> u64 {
    let full: u64 = [CPU, MEMORY].into_iter().map(|resource| share(charged[resource], offered[resource])).sum();
    (2 * SHARE_MAX - full) << HASH_BITS | hash >> (64 - HASH_BITS)
}

/// `used` of `offered` as a share from 0 to [`SHARE_MAX`]; never falls when `used` grows.
fn share(used: i128, offered: i64) -> u64 {
    let offered = offered.max(0).unsigned_abs();
    let used = u64::try_from(used.max(0)).unwrap_or(u64::MAX).min(offered);
    if offered == 0 {
        return SHARE_MAX;
    }
    // Beyond 2^49 the lowest bits are dropped, so that the product stays below 2^64.
    let shift = 15_u32.saturating_sub(offered.leading_zeros());
    (used >> shift) * SHARE_MAX / (offered >> shift)
}

/// FNV-1a: fixed for ever, unlike the standard library's hashers.
pub(in crate::core) fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_fall_when_use_grows() {
        for offered in [1, 3, 4000, 1 << 37, (1 << 50) + 7, i64::MAX] {
            let steps = (0..=64).map(|step| i128::from(offered) * step / 48);
            let shares: Vec<_> = steps.map(|used| share(used, offered)).collect();
            assert!(shares.is_sorted(), "{offered}: {shares:?}");
            assert_eq!((shares[0], shares[64]), (0, SHARE_MAX));
        }
        assert_eq!(share(0, 0), SHARE_MAX);
    }

    #[test]
    fn the_fuller_goes_first_then_the_hash_which_never_changes() {
        let (a, b) = (hash("node-1"), hash("node-2"));
        let rank = |hash, cpu, memory| rank(hash, [4000, 400, 0, 0], [cpu, memory, 0, 0]);
        assert!(rank(a, 1000, 100) < rank(a, 1000, 99));
        assert!(rank(a, 1001, 100) < rank(b, 1000, 100) && rank(b, 1001, 100) < rank(a, 1000, 100));
        // Published vectors of FNV-1a.
        assert_eq!((hash("a"), hash("foobar")), (0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8));
    }
}
