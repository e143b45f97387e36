//! Places runs of equal members: onto the fullest nodes that still fit, as many per node as fit.

use std::cmp::Reverse;

use super::bits::ones;
use super::class::Classes;
use super::ids::{ClassId, NodeId};
use super::node::{BLOCK, Nodes};
use super::resources::{CPU, MEMORY};
use super::scratch::Scratch;
use super::shape::Shape;

/// So many pods of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let mut order = std::mem::take(&mut scratch.order);
    order.clear();
    order.extend(0..demands.len());
    order.sort_unstable_by_key(|at| {
        let (class, request) = (demands[*at].class, &classes.shape(demands[*at].class).request);
        (classes.eligible_count(class), Reverse((request.base[CPU], request.base[MEMORY])), *at)
    });
    let short = order.iter().find_map(|at| {
        let fit = place(nodes, classes, scratch, (*at, demands[*at]), out);
        (fit < demands[*at].count).then_some(Shortfall { demand: *at, fit })
    });
    scratch.order = order;
    let Some(short) = short else { return Ok(()) };
    for placed in out.drain(start..) {
        let shape = classes.shape(demands[placed.demand].class);
        scratch.credit(placed.node, &shape.request, &shape.ports, placed.count);
    }
    Err(short)
}

/// Places as many of a demand as fit and returns how many: for pods that do not need each other.
pub fn fill_some(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demand: Demand,
    out: &mut Vec<Placed>,
) -> u32 {
    place(nodes, classes, scratch, (0, demand), out)
}

/// How many more pods of a class a node holds now: what a change of this one node can add at most.
pub fn copies_on(nodes: &Nodes, classes: &Classes, class: ClassId, node: NodeId) -> u32 {
    let eligible = nodes.spec(node).is_some() && classes.is_eligible(class, node);
    if eligible { copies(nodes, &Scratch::default(), classes.shape(class), node.index as usize) } else { 0 }
}

fn place(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    (at, demand): (usize, Demand),
    out: &mut Vec<Placed>,
) -> u32 {
    let mut candidates = std::mem::take(&mut scratch.candidates);
    candidates.clear();
    match demand.count {
        0 => {}
        1 => candidates.extend(first(nodes, classes, scratch, demand.class)),
        count => {
            scan(nodes, classes, scratch, demand.class, |rank, index| candidates.push((rank, index)));
            keep_first(nodes, &mut candidates, count as usize);
        }
    }
    let (shape, mut left) = (classes.shape(demand.class), demand.count);
    for (_, index) in &candidates {
        if left == 0 {
            break;
        }
        let (index, node) = (*index as usize, nodes.id_at(*index as usize));
        let count = copies(nodes, scratch, shape, index).min(left);
        scratch.take(node, &shape.request, &shape.ports, count);
        out.push(Placed { demand: at, node, count });
        left -= count;
    }
    scratch.candidates = candidates;
    demand.count - left
}

/// The first feasible node in the order of filling.
fn first(nodes: &Nodes, classes: &Classes, scratch: &Scratch, class: ClassId) -> Option<(u64, u32)> {
    let mut best: Option<(u64, u32)> = None;
    scan(nodes, classes, scratch, class, |rank, index| {
        if best.is_none_or(|best| goes_before(nodes, (rank, index), best)) {
            best = Some((rank, index));
        }
    });
    best
}

/// Sorts the candidates, of which no more are needed than there are pods to place, since each holds at least one.
fn keep_first(nodes: &Nodes, candidates: &mut Vec<(u64, u32)>, count: usize) {
    let order = |one: &(u64, u32), other: &(u64, u32)| {
        one.0.cmp(&other.0).then_with(|| nodes.name_at(one.1 as usize).cmp(nodes.name_at(other.1 as usize)))
    };
    if count < candidates.len() {
        candidates.select_nth_unstable_by(count, order);
        candidates.truncate(count);
    }
    candidates.sort_unstable_by(order);
}

fn goes_before(nodes: &Nodes, one: (u64, u32), other: (u64, u32)) -> bool {
    one.0 < other.0 || (one.0 == other.0 && nodes.name_at(one.1 as usize) < nodes.name_at(other.1 as usize))
}

/// Finds every node that holds at least one more pod of a class, with its rank, in no useful order.
fn scan(nodes: &Nodes, classes: &Classes, scratch: &Scratch, class: ClassId, mut found: impl FnMut(u64, u32)) {
    let (shape, eligible) = (classes.shape(class), classes.eligible(class));
    let special = !shape.ports.is_empty() || !shape.request.rare.is_empty();
    let ranks = nodes.ranks();
    let blocks = (0..nodes.blocks()).filter(|block| may_fit(nodes, shape, *block));
    for word in blocks.flat_map(|block| block * (BLOCK / 64)..(block + 1) * (BLOCK / 64)) {
        for bit in ones(feasible(nodes, shape, eligible.word(word) & nodes.live().word(word), word)) {
            let index = word * 64 + bit;
            if !scratch.is_touched(index) && (!special || copies(nodes, scratch, shape, index) > 0) {
                found(ranks[index], index as u32);
            }
        }
    }
    // Touched nodes apart: a credit may have lifted them over the bound of their block.
    for index in scratch.touched().filter(|index| eligible.contains(*index) && nodes.live().contains(*index)) {
        if copies(nodes, scratch, shape, index) > 0 {
            found(scratch.rank(nodes, index), index as u32);
        }
    }
}

fn may_fit(nodes: &Nodes, shape: &Shape, block: usize) -> bool {
    let asked = shape.request.base.into_iter().enumerate();
    asked.into_iter().all(|(resource, asked)| asked <= 0 || nodes.ceiling(block, resource) >= asked)
}

/// Of 64 nodes, given as bits, those with enough of every base resource that is asked for. A resource that is not
/// asked for is not looked at (kube-scheduler's `fitsRequest`).
fn feasible(nodes: &Nodes, shape: &Shape, nodes_asked: u64, word: usize) -> u64 {
    let asked = shape.request.base.into_iter().enumerate().filter(|(_, asked)| *asked > 0);
    asked.fold(nodes_asked, |left, (resource, asked)| {
        if left == 0 { 0 } else { left & at_least(&nodes.column(resource)[word * 64..][..64], asked) }
    })
}

/// Written without branches: the compiler makes vector code of it.
fn at_least(free: &[i64], asked: i64) -> u64 {
    free.iter().enumerate().fold(0, |bits, (bit, free)| bits | u64::from(*free >= asked) << bit)
}

/// How many more pods of a shape fit an eligible node.
fn copies(nodes: &Nodes, scratch: &Scratch, shape: &Shape, index: usize) -> u32 {
    let free = scratch.free(nodes, index).into_iter().zip(shape.request.base);
    let base = free.filter(|(_, asked)| *asked > 0).map(|(free, asked)| free.max(0) / asked).min();
    let rare = shape
        .request
        .rare
        .iter()
        .map(|(name, asked)| scratch.exact_rare(nodes, index, name).max(0) / i128::from(*asked).max(1));
    // A port can be held once: a second copy would conflict with the first.
    let ports = match shape.ports.iter().any(|port| port.port != 0) {
        true if scratch.ports_clash(nodes, index, &shape.ports) => 0,
        true => 1,
        false => u32::MAX,
    };
    let base = base.map_or(u32::MAX, |copies| u32::try_from(copies).unwrap_or(u32::MAX));
    let rare = rare.min().map_or(u32::MAX, |copies| u32::try_from(copies).unwrap_or(u32::MAX));
    base.min(rare).min(ports)
}

#[cfg(test)]
mod tests;
