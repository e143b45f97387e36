//! What is known between plans about how many more pods of a class fit: work that cannot succeed is not tried again.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{ClassId, NodeId};
use crate::core::model::books::Books;
use crate::core::place::fill::copies_on;

/// Upper bounds of what fits. They fall with plans that fail, and rise with nodes that get more room.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// By class; one that is absent is not known, so worth trying.
    room: BTreeMap<ClassId, u32>,
    /// How often nodes got more room.
    growth: u64,
}

impl Bounds {
    /// How many more pods of a class fit at most, where that is known.
    pub fn of(&self, class: ClassId) -> Option<u32> {
        self.room.get(&class).copied()
    }

    /// Whether no pod of a class fits.
    pub fn is_full(&self, class: ClassId) -> bool {
        self.of(class) == Some(0)
    }

    /// Whether fewer pods of a class fit than these.
    pub fn is_short(&self, class: ClassId, need: u32) -> bool {
        self.of(class).is_some_and(|room| room < need)
    }

    /// A plan found that no more than these fit.
    pub fn learn(&mut self, class: ClassId, fit: u32) {
        self.room.insert(class, fit);
    }

    /// A class is not in use any more.
    pub fn forget(&mut self, class: ClassId) {
        self.room.remove(&class);
    }

    /// Nodes that got more room raise the bound of every class.
    pub fn widen(&mut self, books: &Books, grown: &BTreeSet<NodeId>) {
        self.growth += u64::from(!grown.is_empty());
        for (class, room) in &mut self.room {
            for node in grown {
                *room = room.saturating_add(copies_on(&books.nodes, &books.classes, *class, *node));
            }
        }
    }

    /// How often nodes got more room: as long as it is the same, a plan that failed fails again.
    pub const fn growth(&self) -> u64 {
        self.growth
    }

    /// Of how many classes something is known.
    pub(in crate::core) fn len(&self) -> usize {
        self.room.len()
    }
}
