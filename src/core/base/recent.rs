//! Slots in the order of their last change: whoever noted the clock finds each slot that changed since, once, however
//! often it changed.

/// No slot.
const NONE: u32 = u32::MAX;

/// A linked list through all slots, the latest changed first.
#[derive(Clone, Debug)]
pub struct Recent {
    links: Vec<Link>,
    newest: u32,
    clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    changed: u64,
    older: u32,
    newer: u32,
}

impl Default for Recent {
    fn default() -> Self {
        Self { links: Vec::new(), newest: NONE, clock: 0 }
    }
}

impl Recent {
    /// How many changes there were.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Records a change of a slot, in O(1).
    pub fn touch(&mut self, index: usize) {
        self.clock += 1;
        if index >= self.links.len() {
            self.links.resize(index + 1, Link { changed: 0, older: NONE, newer: NONE });
        }
        if self.newest != index as u32 {
            self.unlink(index);
            self.push(index);
        }
        self.links[index].changed = self.clock;
    }

    /// The slots that changed after a reading of [`Self::clock`], each once, the latest first.
    pub fn since(&self, clock: u64) -> impl Iterator<Item = usize> {
        let link = |at: u32| self.links.get(at as usize).map(|link| (at, link));
        std::iter::successors(link(self.newest), move |(_, newer)| link(newer.older))
            .take_while(move |(_, link)| link.changed > clock)
            .map(|(at, _)| at as usize)
    }

    fn unlink(&mut self, index: usize) {
        let Link { older, newer, .. } = self.links[index];
        if let Some(link) = self.links.get_mut(newer as usize) {
            link.older = older;
        }
        if let Some(link) = self.links.get_mut(older as usize) {
            link.newer = newer;
        }
    }

    fn push(&mut self, index: usize) {
        let older = std::mem::replace(&mut self.newest, index as u32);
        if let Some(link) = self.links.get_mut(older as usize) {
            link.newer = index as u32;
        }
        self.links[index] = Link { older, newer: NONE, ..self.links[index] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_slot_is_found_once() {
        let mut recent = Recent::default();
        let check = |recent: &Recent, clock, expected: &[usize]| {
            assert_eq!(recent.since(clock).collect::<Vec<_>>(), expected);
        };
        check(&recent, 0, &[]);
        [0, 1, 2, 1, 1, 5].into_iter().for_each(|index| recent.touch(index));
        check(&recent, 0, &[5, 1, 2, 0]);
        check(&recent, 3, &[5, 1]);
        let clock = recent.clock();
        check(&recent, clock, &[]);
        [0, 5, 0].into_iter().for_each(|index| recent.touch(index));
        check(&recent, clock, &[0, 5]);
        check(&recent, 0, &[0, 5, 1, 2]);
    }
}
