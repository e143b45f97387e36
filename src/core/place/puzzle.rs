//! Pods of several kinds and the nodes they may share, as bare numbers: packed by trying, within a bound.

/// How many packings one search tries at most. So many decide every gang of up to a dozen pods that tests/fits draws; and
/// one way through is found within them for a thousand nodes.
pub(super) const STEPS: u32 = 4_000;

/// One comparison with so many failed states counts as one more step: they are what a long search spends its time on.
const NOTES_PER_STEP: usize = 16;

/// So many pods of each kind are to be packed.
#[derive(Debug)]
pub(super) struct Puzzle {
    /// Pods of each kind; what is hard to place first.
    pub(super) need: Vec<u32>,
    /// What a pod of each kind asks for, by resource.
    pub(super) asks: Vec<Vec<i64>>,
    /// For each two kinds whether their ports exclude each other on one node.
    pub(super) clash: Vec<Vec<bool>>,
    /// The nodes, in the order in which they are filled.
    pub(super) bins: Vec<Bin>,
}

/// One node.
#[derive(Debug)]
pub(super) struct Bin {
    /// What is free, by resource.
    pub(super) free: Vec<i64>,
    /// How many pods of each kind it takes if no other is put there.
    pub(super) most: Vec<u32>,
}

/// What a search came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<T> {
    /// There is a way: this one.
    Found(T),
    /// There is no way.
    Impossible,
    /// There may be a way: the bound was reached.
    GaveUp,
}

impl Puzzle {
    /// Looks for a way to pack all pods: so many of each kind in each bin. Counts its steps down.
    pub(super) fn solve(&self, steps: &mut u32) -> Answer<Vec<Vec<u32>>> {
        let mut left = self.need.clone();
        let mut packs: Vec<_> = self.bins.iter().map(|_| vec![0; left.len()]).collect();
        let shared = self.pack_unshared(&mut left, &mut packs);
        let mut trail = Trail::new(self, &shared, left);
        match trail.walk(steps) {
            Answer::Found(()) => {}
            Answer::Impossible => return Answer::Impossible,
            Answer::GaveUp => return Answer::GaveUp,
        }
        for (bin, level) in shared.iter().zip(trail.levels) {
            packs[*bin] = level.pack;
        }
        Answer::Found(packs)
    }

    /// Fills the bins that pods of one kind alone can use: no other way is better. Returns the other bins, those first
    /// that the fewest kinds can use.
    fn pack_unshared(&self, left: &mut [u32], packs: &mut [Vec<u32>]) -> Vec<usize> {
        let mut shared: Vec<_> = (0..self.bins.len()).collect();
        loop {
            let before = shared.len();
            shared.retain(|bin| match self.users(*bin, left)[..] {
                [] => false,
                [kind] => {
                    let count = self.bins[*bin].most[kind].min(left[kind]);
                    packs[*bin][kind] = count;
                    left[kind] -= count;
                    false
                }
                [..] => true,
            });
            if shared.len() == before {
                shared.sort_by_key(|bin| self.users(*bin, left).len());
                return shared;
            }
        }
    }

    /// The kinds of which pods are left that a bin takes.
    fn users(&self, bin: usize, left: &[u32]) -> Vec<usize> {
        (0..left.len()).filter(|kind| left[*kind] > 0 && self.bins[bin].most[*kind] > 0).collect()
    }

    /// How many pods of a kind a bin takes beside those that are in it.
    fn more(&self, bin: &Bin, pack: &[u32], kind: usize) -> u32 {
        let is_there = |other: &usize| *other != kind && pack[*other] > 0;
        if (0..pack.len()).filter(is_there).any(|other| self.clash[kind][other]) {
            return 0;
        }
        let mut more = bin.most[kind].saturating_sub(pack[kind]);
        for (resource, asked) in self.asks[kind].iter().enumerate().filter(|(_, asked)| **asked > 0) {
            let taken =
                pack.iter().zip(&self.asks).map(|(count, asks)| i128::from(*count) * i128::from(asks[resource]));
            let free = i128::from(bin.free[resource]) - taken.sum::<i128>();
            more = more.min(u32::try_from(free.max(0) / i128::from(*asked)).unwrap_or(u32::MAX));
        }
        more
    }

    /// Puts in as many pods as fit of each kind from one on, one kind after the other.
    fn refill(&self, bin: &Bin, pack: &mut [u32], left: &[u32], from: usize) {
        pack[from..].fill(0);
        for kind in from..pack.len() {
            if left[kind] > 0 && bin.most[kind] > 0 {
                pack[kind] = self.more(bin, pack, kind).min(left[kind]);
            }
        }
    }

    /// The next packing of a bin into which not one pod more goes; `false` after the last. Fuller ones include all
    /// others, so that no others need be tried. Counts those that are passed over.
    fn next(&self, bin: &Bin, pack: &mut [u32], left: &[u32], steps: &mut u32) -> bool {
        while *steps > 0 {
            let last = pack.len().saturating_sub(1);
            let Some(kind) = (0..last).rev().find(|kind| pack[*kind] > 0) else { return false };
            pack[kind] -= 1;
            self.refill(bin, pack, left, kind + 1);
            let takes_more = |kind: usize| pack[kind] < left[kind] && self.more(bin, pack, kind) > 0;
            if !(0..=kind).any(takes_more) {
                return true;
            }
            *steps -= 1;
        }
        false
    }
}

/// One bin on the way.
#[derive(Debug)]
struct Level {
    bin: usize,
    /// How it is packed now.
    pack: Vec<u32>,
    /// What is left for it and those behind it.
    left: Vec<u32>,
    /// With what was left here before and found no way: with as much or more there is none either.
    failed: Vec<Vec<u32>>,
    /// How many pods of each kind it and those behind it take, each kind alone.
    most: Vec<u64>,
    /// What is free of each resource, in it and those behind it that pods which ask for it can use.
    free: Vec<i128>,
}

/// A walk through the bins: on by the next packing of one, back where there is none.
struct Trail<'a> {
    puzzle: &'a Puzzle,
    levels: Vec<Level>,
    /// What the last packing left.
    left: Vec<u32>,
}

impl<'a> Trail<'a> {
    fn new(puzzle: &'a Puzzle, bins: &[usize], left: Vec<u32>) -> Self {
        let mut most = vec![0; left.len()];
        let mut free = vec![0; puzzle.asks.first().map_or(0, Vec::len)];
        let mut levels = Vec::with_capacity(bins.len());
        for bin in bins.iter().rev() {
            let numbers = &puzzle.bins[*bin];
            most.iter_mut().zip(&numbers.most).for_each(|(sum, most)| *sum += u64::from(*most));
            for (resource, sum) in free.iter_mut().enumerate() {
                let uses = |kind: usize| numbers.most[kind] > 0 && puzzle.asks[kind][resource] > 0;
                let is_used = (0..left.len()).any(uses);
                *sum += i128::from(if is_used { numbers.free[resource] } else { 0 });
            }
            let pack = vec![0; left.len()];
            let (most, free) = (most.clone(), free.clone());
            levels.push(Level { bin: *bin, pack, left: Vec::new(), failed: Vec::new(), most, free });
        }
        levels.reverse();
        Self { puzzle, levels, left }
    }

    /// Whether all pods find a place; if they do, each level says how its bin is packed.
    fn walk(&mut self, steps: &mut u32) -> Answer<()> {
        let (mut at, mut goes_on) = (0, true);
        while self.left.iter().any(|left| *left > 0) || !goes_on {
            if *steps == 0 {
                return Answer::GaveUp;
            }
            *steps -= 1;
            goes_on = if goes_on { at < self.levels.len() && self.enter(at, steps) } else { self.change(at, steps) };
            if goes_on {
                at += 1;
            } else if at == 0 {
                return if *steps > 0 { Answer::Impossible } else { Answer::GaveUp };
            } else {
                at -= 1;
            }
        }
        self.levels[at..].iter_mut().for_each(|level| level.pack.fill(0));
        Answer::Found(())
    }

    /// Packs a bin for the first time with what is left now; `false` if that is known to lead nowhere.
    fn enter(&mut self, at: usize, steps: &mut u32) -> bool {
        let (puzzle, level) = (self.puzzle, &mut self.levels[at]);
        *steps = steps.saturating_sub((level.failed.len() / NOTES_PER_STEP) as u32);
        let is_beyond = |failed: &Vec<u32>| failed.iter().zip(&self.left).all(|(failed, left)| failed <= left);
        if !level.suffices(puzzle, &self.left) || level.failed.iter().any(is_beyond) {
            return false;
        }
        level.left.clone_from(&self.left);
        puzzle.refill(&puzzle.bins[level.bin], &mut level.pack, &level.left, 0);
        self.leave(at);
        true
    }

    /// Packs a bin in the next way; `false` if there is none, which is noted.
    fn change(&mut self, at: usize, steps: &mut u32) -> bool {
        let (puzzle, level) = (self.puzzle, &mut self.levels[at]);
        if puzzle.next(&puzzle.bins[level.bin], &mut level.pack, &level.left, steps) {
            self.leave(at);
            return true;
        }
        let is_beyond = |failed: &Vec<u32>| failed.iter().zip(&level.left).all(|(failed, left)| left <= failed);
        level.failed.retain(|failed| !is_beyond(failed));
        level.failed.push(level.left.clone());
        false
    }

    fn leave(&mut self, at: usize) {
        let Level { pack, left, .. } = &self.levels[at];
        self.left.clear();
        self.left.extend(left.iter().zip(pack).map(|(left, pack)| left - pack));
    }
}

impl Level {
    /// Whether this bin and those behind it may take what is left: each kind alone, and all in the sum.
    fn suffices(&self, puzzle: &Puzzle, left: &[u32]) -> bool {
        let asked = |resource: usize| {
            let of_kind = puzzle.asks.iter().zip(left);
            of_kind.map(|(asks, left)| i128::from(asks[resource]) * i128::from(*left)).sum::<i128>()
        };
        left.iter().zip(&self.most).all(|(left, most)| u64::from(*left) <= *most)
            && self.free.iter().enumerate().all(|(resource, free)| asked(resource) <= *free)
    }
}

#[cfg(test)]
mod tests;
