//! Which nodes hold more pods of one class, and how many: the questions that placement asks of the columns.

use std::cmp::Ordering;

use crate::core::base::bits::{Bits, ones};
use crate::core::base::ids::ClassId;
use crate::core::model::class::Classes;
use crate::core::model::node::{BLOCK, Nodes};
use crate::core::place::overlay::Scratch;
use crate::core::shape::Shape;

/// A node that holds at least one more pod: its rank and its slot.
pub(in crate::core) type Choice = (u64, u32);

/// One class among the nodes.
#[derive(Clone, Copy)]
pub(in crate::core) struct Search<'a> {
    pub(in crate::core) nodes: &'a Nodes,
    pub(in crate::core) shape: &'a Shape,
    eligible: &'a Bits,
}

impl<'a> Search<'a> {
    pub(in crate::core) fn new(nodes: &'a Nodes, classes: &'a Classes, class: ClassId) -> Self {
        Self { nodes, shape: classes.shape(class), eligible: classes.eligible(class) }
    }

    /// The order of filling: by rank, then by name.
    #[inline]
    pub(in crate::core) fn order(&self, one: &Choice, other: &Choice) -> Ordering {
        match one.0.cmp(&other.0) {
            Ordering::Equal => self.order_by_name(one, other),
            unequal @ (Ordering::Less | Ordering::Greater) => unequal,
        }
    }

    /// Apart and cold, since ranks are as good as never equal and sorting is mostly comparing.
    #[cold]
    fn order_by_name(&self, one: &Choice, other: &Choice) -> Ordering {
        self.nodes.name_at(one.1 as usize).cmp(self.nodes.name_at(other.1 as usize))
    }

    /// Finds every candidate, in no useful order.
    pub(in crate::core) fn scan(&self, scratch: &Scratch, mut found: impl FnMut(Choice)) {
        let (ranks, plain, untouched) = (self.nodes.ranks(), self.is_plain(), scratch.is_untouched());
        let blocks = (0..self.nodes.blocks()).filter(|block| self.may_fit(*block));
        for word in blocks.flat_map(|block| block * (BLOCK / 64)..(block + 1) * (BLOCK / 64)) {
            for index in ones(self.feasible(word)).map(|bit| word * 64 + bit) {
                if (untouched || !scratch.is_touched(index)) && (plain || self.copies(scratch, index) > 0) {
                    found((ranks[index], index as u32));
                }
            }
        }
        self.touched(scratch).for_each(found);
    }

    /// The choices among the nodes that the plan touched. They are looked at apart from the columns: a credit may
    /// have lifted them over the bound of their block.
    pub(in crate::core) fn touched(&self, scratch: &Scratch) -> impl Iterator<Item = Choice> {
        scratch.touched().filter_map(|index| self.candidate(scratch, index))
    }

    /// One node, if it is a candidate.
    pub(in crate::core) fn candidate(&self, scratch: &Scratch, index: usize) -> Option<Choice> {
        (self.copies(scratch, index) > 0).then(|| (scratch.rank(self.nodes, index), index as u32))
    }

    /// How many more pods a node holds.
    pub(in crate::core) fn copies(&self, scratch: &Scratch, index: usize) -> u32 {
        if !self.eligible.contains(index) || !self.nodes.live().contains(index) {
            return 0;
        }
        let asked = self.shape.request.base;
        let free = scratch.free(self.nodes, index).into_iter().zip(asked).filter(|(_, asked)| *asked > 0);
        let base = free.map(|(free, asked)| free.max(0) / asked).min();
        let base = base.map_or(u32::MAX, |copies| u32::try_from(copies).unwrap_or(u32::MAX));
        if base == 0 || self.is_plain() { base } else { base.min(self.special_copies(scratch, index)) }
    }

    /// The copies that rare resources and host ports allow.
    fn special_copies(&self, scratch: &Scratch, index: usize) -> u32 {
        let free = |name| scratch.exact_rare(self.nodes, index, name).max(0);
        let rare = self.shape.request.rare.iter().filter(|(_, asked)| *asked > 0);
        let rare = rare.map(|(name, asked)| free(name) / i128::from(*asked)).min();
        let rare = rare.map_or(u32::MAX, |copies| u32::try_from(copies).unwrap_or(u32::MAX));
        let ports = &self.shape.ports;
        if scratch.ports_clash(self.nodes, index, ports) {
            0
        } else if ports.iter().any(|port| port.port != 0) {
            // A second copy would conflict with the first.
            rare.min(1)
        } else {
            rare
        }
    }

    /// Whether base resources decide alone.
    fn is_plain(&self) -> bool {
        self.shape.ports.is_empty() && self.shape.request.rare.is_empty()
    }

    /// The base resources that are asked for. The others are not looked at, even where less than nothing is free
    /// (kube-scheduler's `fitsRequest`).
    fn asked(&self) -> impl Iterator<Item = (usize, i64)> {
        self.shape.request.base.into_iter().enumerate().filter(|(_, asked)| *asked > 0)
    }

    fn may_fit(&self, block: usize) -> bool {
        self.asked().all(|(resource, asked)| self.nodes.ceiling(block, resource) >= asked)
    }

    /// Of 64 nodes those that are eligible and have enough of every base resource, as bits.
    fn feasible(&self, word: usize) -> u64 {
        let start = self.eligible.word(word) & self.nodes.live().word(word);
        self.asked().fold(start, |left, (resource, asked)| {
            if left == 0 { 0 } else { left & at_least(&self.nodes.column(resource)[word * 64..][..64], asked) }
        })
    }
}

/// Without branches: which node is full is not predictable.
fn at_least(free: &[i64], asked: i64) -> u64 {
    free.iter().enumerate().fold(0, |bits, (bit, free)| bits | u64::from(*free >= asked) << bit)
}
