//! What is known between plans about how many more pods of a class fit: work that cannot succeed is not tried again.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{ClassId, NodeId};
use crate::core::base::resources::CPU;
use crate::core::model::books::Books;
use crate::core::place::fill::{Demand, copies_on};

/// Upper bounds of what fits. They fall with plans that fail, and rise with nodes that get more room.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// By class, with the cpu that one pod asks for; a class that is absent is not known, so worth trying.
    room: BTreeMap<ClassId, (u32, i64)>,
    /// The same classes by that: a node with little room raises the bounds of small ones only.
    by_cpu: BTreeSet<(i64, ClassId)>,
    /// How often nodes got more room.
    growth: u64,
    /// Demands that were searched for in vain since then.
    vain: BTreeMap<Vec<Demand>, Vain>,
    /// How many searches there were.
    searches: u64,
}

/// A search that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vain {
    /// Whether there is nothing to find.
    pub is_proven: bool,
    /// How many steps it took.
    pub steps: u32,
}

/// How many vain searches are remembered: so many gangs that differ may wait for room and cost no search each time they
/// are looked at; a few hundred kilobytes.
const VAIN_SEARCHES: usize = 1024;

impl Bounds {
    /// How many more pods of a class fit at most, where that is known.
    pub fn of(&self, class: ClassId) -> Option<u32> {
        self.room.get(&class).map(|(room, _)| *room)
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
    pub fn learn(&mut self, books: &Books, class: ClassId, fit: u32) {
        let cpu = books.classes.shape(class).request.base[CPU];
        self.room.insert(class, (fit, cpu));
        self.by_cpu.insert((cpu, class));
    }

    /// Demands were searched for in vain.
    pub(super) fn note_vain(&mut self, demands: &[Demand], vain: Vain) {
        if self.vain.len() >= VAIN_SEARCHES {
            self.vain.clear();
        }
        self.vain.insert(demands.to_vec(), vain);
    }

    /// What a search for these demands came to, if it was in vain and nodes have got no more room since.
    pub(super) fn vain(&self, demands: &[Demand]) -> Option<Vain> {
        self.vain.get(demands).copied()
    }

    /// A search begins.
    pub(super) fn count_search(&mut self) {
        self.searches += 1;
    }

    /// How often more than the first order of demands was tried.
    pub const fn searches(&self) -> u64 {
        self.searches
    }

    /// A class is not in use any more.
    pub fn forget(&mut self, class: ClassId) {
        self.vain.retain(|demands, _| demands.iter().all(|demand| demand.class != class));
        if let Some((_, cpu)) = self.room.remove(&class) {
            self.by_cpu.remove(&(cpu, class));
        }
    }

    /// Nodes that got more room raise the bounds of the classes that fit there. Returns these with their bounds.
    pub fn widen(&mut self, books: &Books, grown: &BTreeSet<NodeId>) -> Vec<(ClassId, u32)> {
        self.growth += 1;
        self.vain.clear();
        let mut raised = BTreeMap::new();
        for node in grown {
            // Others may have overdrawn it; whoever asks for none does not mind.
            let free = books.nodes.column(CPU).get(node.index as usize).copied().unwrap_or(0).max(0);
            for (_, class) in self.by_cpu.range(..=(free, ClassId { index: u32::MAX, generation: u32::MAX })) {
                let more = copies_on(&books.nodes, &books.classes, *class, *node);
                if more > 0 {
                    let (room, _) = self.room.get_mut(class).expect("both list the same classes");
                    *room = room.saturating_add(more);
                    raised.insert(*class, *room);
                }
            }
        }
        raised.into_iter().collect()
    }

    /// How often nodes got more room: as long as it is the same, a plan that failed fails again.
    pub const fn growth(&self) -> u64 {
        self.growth
    }

    /// Of how many classes and demands something is known.
    pub(in crate::core) fn len(&self) -> usize {
        self.room.len() + self.vain.len()
    }
}
