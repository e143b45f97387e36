//! Choices that follow from what they are about: a hash of the seed, the site, the object and how often, never a draw
//! from one running generator, so that without one object the choices about others are as they were. (What is about no
//! object, such as a pause of the process, goes by how often alone.)

use std::collections::BTreeMap;

/// The choices of one seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    seed: u64,
    /// How often each was made.
    made: BTreeMap<u64, u64>,
}

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, made: BTreeMap::new() }
    }

    /// The next number of a site and object.
    fn number(&mut self, site: &str, object: &str) -> u64 {
        let place = object.bytes().fold(hash(self.seed, site.as_bytes()), |hash, byte| mix(hash ^ u64::from(byte)));
        let nth = self.made.entry(place).or_default();
        *nth += 1;
        mix(place.wrapping_add(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Whether something happens that does so often in a hundred.
    pub(crate) fn percent(&mut self, site: &str, object: &str, percent: u8) -> bool {
        percent > 0 && self.number(site, object) % 100 < u64::from(percent)
    }

    /// A number below another; 0 below 0.
    pub(crate) fn below(&mut self, site: &str, object: &str, end: u64) -> u64 {
        if end == 0 { 0 } else { self.number(site, object) % end }
    }

    /// A delay: mostly short, now and then up to the longest.
    pub(crate) fn delay(&mut self, site: &str, object: &str, longest: u64) -> u64 {
        let length = self.below(site, object, 10);
        let most = if length < 7 { longest.min(20) } else { longest };
        self.below(site, object, most + 1)
    }
}

/// A number for some bytes, another one for each seed.
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(mix(seed), |hash, byte| mix(hash ^ u64::from(*byte)))
}

/// The finaliser of SplitMix64.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
