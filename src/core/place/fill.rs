//! Places runs of equal members: onto the fullest nodes that still fit, as many per node as fit.

use std::cmp::Reverse;

use crate::core::base::bits::Bits;
use crate::core::base::ids::{ClassId, NodeId};
use crate::core::base::resources::{CPU, MEMORY};
use crate::core::model::class::Classes;
use crate::core::model::node::Nodes;
use crate::core::place::overlay::Scratch;
use crate::core::place::search::{Choice, Search};
use crate::core::place::shortlist::LARGEST_DEMAND;

/// So many choices are put in order at first.
const CHUNK: usize = 32;

/// So many pods of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// The class.
    pub class: ClassId,
    /// How many.
    pub count: u32,
}

/// A part of a demand on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which of the demands; 0 for a single one.
    pub demand: usize,
    /// Where.
    pub node: NodeId,
    /// How many, at least 1.
    pub count: u32,
}

/// The first demand that did not find enough nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Which of the demands.
    pub demand: usize,
    /// How many of it fit.
    pub fit: u32,
}

/// Places all demands or none. Demands with the fewest eligible nodes go first, of equal ones the largest requests,
/// so that what is hard to place chooses before what is easy. What is placed is appended to `out`, in the order of
/// filling, and taken in the scratch; after a shortfall both are as before.
///
/// The same nodes, whatever the order in which they arrived, get the same pods.
pub fn fill(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demands: &[Demand],
    out: &mut Vec<Placed>,
) -> Result<(), Shortfall> {
    let start = out.len();
    let Some(short) = fill_for(Goal::All, nodes, classes, scratch, demands, out) else { return Ok(()) };
    take_back(classes, scratch, demands, out.drain(start..));
    Err(short)
}

/// As if these had not been placed.
pub(super) fn take_back(
    classes: &Classes,
    scratch: &mut Scratch,
    demands: &[Demand],
    placed: impl Iterator<Item = Placed>,
) {
    for placed in placed {
        let shape = classes.shape(demands[placed.demand].class);
        scratch.credit(placed.node, &shape.request, &shape.ports, placed.count);
    }
}

/// As [`fill`], but the pods that find a node stay in the scratch, also those of the demand that falls short. So the
/// scratch shows the nodes as they look to the first pod that finds none.
pub fn fill_until_short(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demands: &[Demand],
) -> Option<Shortfall> {
    fill_for(Goal::Most, nodes, classes, scratch, demands, &mut Vec::new())
}

/// Places the demands one after the other until one falls short.
fn fill_for(
    goal: Goal,
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demands: &[Demand],
    out: &mut Vec<Placed>,
) -> Option<Shortfall> {
    let mut order = std::mem::take(&mut scratch.order);
    order.clear();
    order.extend(0..demands.len());
    order.sort_unstable_by_key(|at| {
        let (class, request) = (demands[*at].class, &classes.shape(demands[*at].class).request);
        (classes.eligible_count(class), Reverse((request.base[CPU], request.base[MEMORY])), *at)
    });
    let short = order.iter().find_map(|at| {
        let fit = Filler { nodes, classes, scratch, out }.place(*at, demands[*at], goal);
        (fit < demands[*at].count).then_some(Shortfall { demand: *at, fit })
    });
    scratch.order = order;
    short
}

/// Places as many of a demand as fit and returns how many: for pods that do not need each other.
pub fn fill_some(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demand: Demand,
    out: &mut Vec<Placed>,
) -> u32 {
    Filler { nodes, classes, scratch, out }.place(0, demand, Goal::Most)
}

/// How many more pods of a class a node holds now: what a change of this one node can add at most.
pub fn copies_on(nodes: &Nodes, classes: &Classes, class: ClassId, node: NodeId) -> u32 {
    let known = nodes.spec(node).is_some();
    if known { Search::new(nodes, classes, class).copies(&Scratch::default(), node.index as usize) } else { 0 }
}

/// Whether a part of a demand is of use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// No: of a demand that does not fit whole nothing need be placed.
    All,
    /// Yes: as much as fits is placed.
    Most,
}

/// Places demands in a scratch, and writes down where.
pub(super) struct Filler<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) classes: &'a Classes,
    pub(super) scratch: &'a mut Scratch,
    pub(super) out: &'a mut Vec<Placed>,
}

impl Filler<'_> {
    /// Places one demand and returns how many of it fit. With [`Goal::All`], not all pods that fit are placed when the
    /// demand falls short: the others are only counted.
    fn place(&mut self, at: usize, demand: Demand, goal: Goal) -> u32 {
        let mut choices = std::mem::take(&mut self.scratch.choices);
        let fit = self.place_short(at, demand, &mut choices).unwrap_or_else(|placed| {
            placed + self.place_long(at, Demand { count: demand.count - placed, ..demand }, goal, &mut choices)
        });
        self.scratch.choices = choices;
        fit
    }

    /// Places a small demand on the class's shortlist; returns how many found a place: `Err` if a scan may find places
    /// for more.
    fn place_short(&mut self, at: usize, demand: Demand, choices: &mut Vec<Choice>) -> Result<u32, u32> {
        if demand.count > LARGEST_DEMAND {
            return Err(0);
        }
        let search = Search::new(self.nodes, self.classes, demand.class);
        let mut lists = std::mem::take(&mut self.scratch.shortlists);
        choices.clear();
        let of = (&search, demand.class);
        let whole = lists.first(of, self.scratch, demand.count as usize, choices);
        self.scratch.shortlists = lists;
        let placed = self.take_first(at, demand, choices);
        if whole || placed == demand.count { Ok(placed) } else { Err(placed) }
    }

    /// Places a demand by one scan of all nodes. No more choices are kept than there are pods to place, since each holds at
    /// least one.
    fn place_long(&mut self, at: usize, demand: Demand, goal: Goal, choices: &mut Vec<Choice>) -> u32 {
        let search = Search::new(self.nodes, self.classes, demand.class);
        choices.clear();
        let count = demand.count as usize;
        let mut last = None;
        search.scan(self.scratch, |candidate| {
            if last.is_none_or(|last| search.order(&candidate, &last).is_lt()) {
                choices.push(candidate);
                if choices.len() >= 2 * count.max(CHUNK) {
                    last = Some(keep_first(&search, choices, count.max(CHUNK)));
                }
            }
        });
        if goal == Goal::All {
            let fit = self.capacity(&search, choices, demand.count);
            if fit < demand.count {
                return fit;
            }
        }
        self.take_first(at, demand, choices)
    }

    /// How many pods the choices hold; counts no further than is asked for.
    fn capacity(&self, search: &Search<'_>, choices: &[Choice], asked: u32) -> u32 {
        if choices.len() >= asked as usize {
            return asked;
        }
        let mut fit = 0_u32;
        for (_, index) in choices {
            fit = fit.saturating_add(search.copies(self.scratch, *index as usize));
            if fit >= asked {
                return asked;
            }
        }
        fit
    }

    /// Places as many of a demand as fit and returns how many; nodes in `kept` are taken when nothing else is left.
    pub(super) fn place_apart(&mut self, at: usize, demand: Demand, kept: &Bits) -> u32 {
        let (mut choices, mut last) = (Vec::new(), Vec::new());
        Search::new(self.nodes, self.classes, demand.class).scan(self.scratch, |choice| {
            if kept.contains(choice.1 as usize) { last.push(choice) } else { choices.push(choice) }
        });
        let placed = self.take_first(at, demand, &mut choices);
        placed + self.take_first(at, Demand { count: demand.count - placed, ..demand }, &mut last)
    }

    /// Fills the choices one after the other. They are put in order chunk by chunk, since a node holds many pods as a rule,
    /// and few of the choices are needed then.
    fn take_first(&mut self, at: usize, demand: Demand, choices: &mut [Choice]) -> u32 {
        let search = Search::new(self.nodes, self.classes, demand.class);
        let (mut left, mut later, mut size) = (demand.count, choices, CHUNK);
        while left > 0 && !later.is_empty() {
            let chunk;
            (chunk, later) = split_first(&search, later, size);
            for (_, index) in chunk {
                if left == 0 {
                    break;
                }
                let (index, node) = (*index as usize, self.nodes.id_at(*index as usize));
                let count = search.copies(self.scratch, index).min(left);
                self.scratch.take(node, &search.shape.request, &search.shape.ports, count);
                self.out.push(Placed { demand: at, node, count });
                left -= count;
            }
            size *= 4;
        }
        demand.count - left
    }
}

/// The first choices in their order, and the others in none.
fn split_first<'a>(
    search: &Search<'_>,
    choices: &'a mut [Choice],
    count: usize,
) -> (&'a mut [Choice], &'a mut [Choice]) {
    if count < choices.len() {
        choices.select_nth_unstable_by(count, |one, other| search.order(one, other));
    }
    let (first, others) = choices.split_at_mut(count.min(choices.len()));
    first.sort_unstable_by(|one, other| search.order(one, other));
    (first, others)
}

/// Drops all but the first choices; returns the last of these.
fn keep_first(search: &Search<'_>, choices: &mut Vec<Choice>, count: usize) -> Choice {
    let last = *choices.select_nth_unstable_by(count - 1, |one, other| search.order(one, other)).1;
    choices.truncate(count);
    last
}

#[cfg(test)]
mod history;
#[cfg(test)]
mod tests;
