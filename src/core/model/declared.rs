//! What the pods of an application declare, in another system's words, of its task groups.

use std::collections::BTreeMap;

use crate::core::base::ids::Text;

/// What all pods of one application declare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// How many pods declare something.
    pods: u32,
    /// By whom each task group is declared, by the name of its TaskGroup.
    groups: BTreeMap<Text, Declarers>,
}

/// How many pods declare one task group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Declarers {
    /// Those that wait for a node: while there are any the TaskGroup is made.
    waiting: u32,
    /// All of them.
    all: u32,
}

impl Declared {
    /// A pod declares these from now on, or did until now. Whether something else is known of the application now.
    pub fn count(&mut self, groups: &[Text], waits: bool, is_more: bool) -> bool {
        let change = |tally: &mut u32| *tally = if is_more { *tally + 1 } else { *tally - 1 };
        let before = self.known();
        change(&mut self.pods);
        for group in groups {
            let declarers = self.groups.entry(group.clone()).or_default();
            change(&mut declarers.all);
            if waits {
                change(&mut declarers.waiting);
            }
            if declarers.all == 0 {
                self.groups.remove(group);
            }
        }
        self.known() != before
    }

    /// What it matters by: whether anything is declared, and which task groups, by pods that wait or not.
    fn known(&self) -> (bool, Vec<(Text, bool)>) {
        let groups = self.groups.iter().map(|(name, declarers)| (name.clone(), declarers.waiting > 0));
        (self.pods > 0, groups.collect())
    }

    /// Whether no pod declares anything.
    pub const fn is_nothing(&self) -> bool {
        self.pods == 0
    }

    /// Whether a pod declares this task group.
    pub fn has(&self, group: &Text) -> bool {
        self.groups.contains_key(group)
    }

    /// Whether its TaskGroup is made if it is not there.
    pub fn makes(&self, group: &Text) -> bool {
        self.groups.get(group).is_some_and(|declarers| declarers.waiting > 0)
    }

    /// Those that are made if they are not there, in the order of their names.
    pub fn made(&self) -> impl Iterator<Item = &Text> {
        self.groups.keys().filter(|group| self.makes(group))
    }
}
