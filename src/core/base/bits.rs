//! A set of small numbers as bits: which nodes are live, which are eligible.

/// A set of slot numbers that knows its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Puts a number into the set or takes it out; returns whether that changed anything.
    pub fn set(&mut self, index: usize, member: bool) -> bool {
        if self.contains(index) == member {
            return false;
        }
        let at = index / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] ^= 1 << (index % 64);
        self.len = if member { self.len + 1 } else { self.len - 1 };
        true
    }

    /// Whether a number is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.word(index / 64) >> (index % 64) & 1 == 1
    }

    /// How many numbers are in the set, in O(1).
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Members 64·`at` to 64·`at`+63 as bits; 0 beyond the end.
    pub fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// All members by number: for counting, never to choose one.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| ones(*word).map(move |bit| at * 64 + bit))
    }
}

/// The places of the bits that are 1.
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_members_and_its_size() {
        let mut set = Bits::default();
        for (index, member, changed) in [
            (3, true, true),
            (3, true, false),
            (200, false, false),
            (200, true, true),
            (64, true, true),
            (3, false, true),
        ] {
            assert_eq!(set.set(index, member), changed, "{index} {member}");
        }
        assert_eq!((set.len(), set.iter().collect::<Vec<_>>()), (2, vec![64, 200]));
        assert_eq!((set.word(1), set.word(99)), (1, 0));
    }
}
