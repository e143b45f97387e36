//! The first few choices of a class, kept from one plan to the next: a single pod costs what changed in between.

use crate::core::base::ids::ClassId;
use crate::core::place::overlay::Scratch;
use crate::core::place::search::{Choice, Search};

/// How many choices a new list holds: enough that a full scan is shared by many pods, few enough that finding one
/// of them costs less than the commit. Tests have short lists, so that they see their ends.
const LENGTH: usize = if cfg!(test) { 4 } else { 128 };

/// After so many changed nodes a scan is as cheap as looking at each of them.
const MOST_CHANGES: usize = if cfg!(test) { 16 } else { 512 };

/// How many classes have a list; they share by slot. With twice 128 choices each, 4 MiB at most.
const LISTS: usize = 1024;

/// The largest demand that asks the lists: a larger one would soon have to scan anyway.
pub(in crate::core) const LARGEST_DEMAND: u32 = LENGTH as u32;

/// The lists of the classes that were asked for last.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Shortlists(Vec<Shortlist>);

/// All choices of a class that come before `end` in the order of filling, as the nodes were at `clock`, no plan
/// considered.
#[derive(Clone, Debug, Default)]
struct Shortlist {
    class: Option<ClassId>,
    clock: u64,
    /// Sorted.
    choices: Vec<Choice>,
    /// The rank of the first candidate that may be missing; `u64::MAX` when none is.
    end: u64,
}

impl Shortlists {
    /// Appends the first `count` choices of a class, as the plan sees them, in no useful order, and more of those the
    /// plan touched. Returns whether the list is whole: then these are as many as `count` pods need, or all there are.
    pub(in crate::core) fn first(
        &mut self,
        (search, class): (&Search<'_>, ClassId),
        scratch: &Scratch,
        count: usize,
        out: &mut Vec<Choice>,
    ) -> bool {
        let slot = class.index as usize % LISTS;
        if slot >= self.0.len() {
            self.0.resize_with(slot + 1, Shortlist::default);
        }
        let list = &mut self.0[slot];
        if list.class != Some(class) || !list.catch_up(search) {
            list.class = Some(class);
            list.rebuild(search, out);
        }
        out.extend(search.touched(scratch).filter(|touched| touched.0 < list.end));
        let untouched = list.choices.iter().filter(|listed| !scratch.is_touched(listed.1 as usize));
        out.extend(untouched.take(count));
        list.end == u64::MAX
    }
}

#[cfg(test)]
impl Shortlists {
    /// Whether every list is in order, no longer than it may be, and holds nothing from its end on.
    pub(in crate::core) fn are_sound(&self) -> bool {
        assert!(self.0.len() <= LISTS, "whatever the number of classes");
        assert!(self.0.iter().all(|list| list.choices.len() <= 2 * LENGTH), "however many nodes come back");
        let ranks = |list: &Shortlist| list.choices.iter().map(|listed| listed.0).collect::<Vec<_>>();
        self.0.iter().all(|list| ranks(list).is_sorted() && ranks(list).last().is_none_or(|last| *last < list.end))
    }
}

impl Shortlist {
    /// Takes in what changed since the list was used; `false` when it must be made anew.
    fn catch_up(&mut self, search: &Search<'_>) -> bool {
        let (nodes, bare) = (search.nodes, Scratch::default());
        if nodes.changed_since(self.clock).nth(MOST_CHANGES).is_some() {
            return false;
        }
        // All that changed leave before any comes back: a listed slot may have lost its node, and the node may have
        // come back in another slot, where only its name would tell the two apart.
        for index in nodes.changed_since(self.clock) {
            self.choices.retain(|listed| listed.1 as usize != index);
        }
        for index in nodes.changed_since(self.clock) {
            if let Some(candidate) = search.candidate(&bare, index).filter(|candidate| candidate.0 < self.end) {
                let at = self.choices.partition_point(|listed| search.order(listed, &candidate).is_lt());
                self.choices.insert(at, candidate);
            }
        }
        self.clock = nodes.clock();
        self.shorten();
        self.end == u64::MAX || !self.choices.is_empty()
    }

    /// Finds the first choices by a scan; `buffer` is empty and left empty.
    fn rebuild(&mut self, search: &Search<'_>, buffer: &mut Vec<Choice>) {
        search.scan(&Scratch::default(), |candidate| buffer.push(candidate));
        if buffer.len() > LENGTH + 1 {
            buffer.select_nth_unstable_by(LENGTH, |one, other| search.order(one, other));
            buffer.truncate(LENGTH + 1);
        }
        buffer.sort_unstable_by(|one, other| search.order(one, other));
        (self.clock, self.end) = (search.nodes.clock(), u64::MAX);
        self.choices.clear();
        self.choices.append(buffer);
        if self.choices.len() > LENGTH {
            self.cut();
        }
    }

    fn shorten(&mut self) {
        if self.choices.len() > 2 * LENGTH {
            self.cut();
        }
    }

    /// Keeps the first choices. The end is a rank alone, without a name, since the node that had it may go; so of
    /// equal ranks none or all are kept.
    fn cut(&mut self) {
        self.end = self.choices[LENGTH].0;
        let end = self.end;
        self.choices.truncate(self.choices.partition_point(|listed| listed.0 < end));
    }
}
