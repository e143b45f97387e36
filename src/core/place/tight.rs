//! Demands that their first order does not place: other orders, with nodes kept for those who need them, then a search.

use std::cmp::Reverse;

use crate::core::base::bits::Bits;
use crate::core::base::ids::Text;
use crate::core::base::resources::{CPU, MEMORY};
use crate::core::model::class::Classes;
use crate::core::model::node::{Nodes, ports_conflict};
use crate::core::place::fill::{Demand, Filler, Placed, Shortfall, take_back};
use crate::core::place::overlay::Scratch;
use crate::core::place::puzzle::{Answer, Bin, Puzzle};
use crate::core::place::search::{Choice, Search};
use crate::core::shape::Shape;

/// Why demands found no nodes, although more was tried than their first order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// One falls short even if nothing else is placed.
    Alone(Shortfall),
    /// There is no way to place them together.
    Searched,
    /// No way was found before the bound on steps was reached.
    GaveUp,
}

/// Places all demands or none, by whatever order does it; counts every try down from `steps`. What is placed is
/// appended to `out` and taken in the scratch; after a failure both are as before.
pub(super) fn fill_tight(
    nodes: &Nodes,
    classes: &Classes,
    scratch: &mut Scratch,
    demands: &[Demand],
    out: &mut Vec<Placed>,
    steps: &mut u32,
) -> Result<(), Miss> {
    let alone = demands.iter().map(|demand| Alone::of(nodes, classes, scratch, *demand)).collect::<Vec<_>>();
    if let Some(demand) = alone.iter().position(|alone| alone.fit < u64::from(alone.demand.count)) {
        return Err(Miss::Alone(Shortfall { demand, fit: alone[demand].fit as u32 }));
    }
    let tight = Tight::new(classes, demands, alone);
    let mut filler = Filler { nodes, classes, scratch, out };
    if tight.try_orders(&mut filler, steps) {
        return Ok(());
    }
    tight.search(&mut filler, steps)
}

/// What one demand finds while nothing else is placed.
struct Alone {
    demand: Demand,
    /// The nodes that take at least one.
    choices: Vec<Choice>,
    /// How many fit on all of them; no more are counted than are told apart.
    fit: u64,
    /// How many fit on the roomiest.
    most: u32,
}

impl Alone {
    fn of(nodes: &Nodes, classes: &Classes, scratch: &Scratch, demand: Demand) -> Self {
        let search = Search::new(nodes, classes, demand.class);
        let mut choices = Vec::new();
        search.scan(scratch, |choice| choices.push(choice));
        let (mut fit, mut most) = (0, 0);
        for (_, index) in &choices {
            let copies = search.copies(scratch, *index as usize);
            (fit, most) = (fit + u64::from(copies), most.max(copies));
        }
        Self { demand, choices, fit, most }
    }
}

/// Demands that each find enough nodes, and stand in each other's way.
struct Tight<'a> {
    classes: &'a Classes,
    demands: &'a [Demand],
    alone: Vec<Alone>,
    /// Those that can be left without a place by others.
    hard: Vec<usize>,
    /// Those that find a place whatever is placed before them, in the order in which this is so.
    easy: Vec<usize>,
    /// The nodes where pods fit that ask for more than base resources.
    kept: Bits,
}

impl<'a> Tight<'a> {
    fn new(classes: &'a Classes, demands: &'a [Demand], alone: Vec<Alone>) -> Self {
        let mut tight = Self { classes, demands, alone, hard: Vec::new(), easy: Vec::new(), kept: Bits::default() };
        tight.tell_apart();
        for at in 0..demands.len() {
            if tight.asks_for_rare(at) {
                for (_, index) in &tight.alone[at].choices {
                    tight.kept.set(*index as usize, true);
                }
            }
        }
        tight
    }

    /// A demand with as many nodes as there are pods in all finds a place after all others: each of these takes away
    /// one node at most. Then it does not count for the others either.
    fn tell_apart(&mut self) {
        let mut pods: u64 = self.demands.iter().map(|demand| u64::from(demand.count)).sum();
        self.hard = (0..self.demands.len()).collect();
        while let Some(at) = self.hard.iter().position(|at| self.alone[*at].choices.len() as u64 >= pods) {
            let easy = self.hard.remove(at);
            pods -= u64::from(self.demands[easy].count);
            self.easy.insert(0, easy);
        }
    }

    fn asks_for_rare(&self, at: usize) -> bool {
        self.shape(at).request.rare.iter().any(|(_, asked)| *asked > 0)
    }

    fn shape(&self, at: usize) -> &'a Shape {
        self.classes.shape(self.demands[at].class)
    }

    /// Whether one of the other orders places all.
    fn try_orders(&self, filler: &mut Filler<'_>, steps: &mut u32) -> bool {
        let mut orders = self.orders();
        orders.dedup();
        orders.into_iter().any(|order| {
            *steps = steps.saturating_sub(1);
            self.place(filler, &order)
        })
    }

    /// The hard demands: scarcest resource first; fewest nodes first; largest first.
    fn orders(&self) -> Vec<Vec<usize>> {
        let size = |at: usize| {
            let base = self.shape(at).request.base;
            Reverse((base[CPU], base[MEMORY]))
        };
        let by = |key: &dyn Fn(usize) -> (u64, u64)| {
            let mut order = self.hard.clone();
            order.sort_by_key(|at| (key(*at), size(*at), *at));
            order
        };
        let of = |at: usize| &self.alone[at];
        // How often it would fit, in thousandths.
        let slack = |at: usize| of(at).fit.saturating_mul(1000) / u64::from(of(at).demand.count.max(1));
        vec![
            by(&|at| (u64::from(!self.asks_for_rare(at)), slack(at))),
            by(&|at| (of(at).choices.len() as u64, u64::from(of(at).most))),
            by(&|at| (u64::from(of(at).most), slack(at))),
        ]
    }

    /// Places the hard demands in an order, and then the easy ones; all or none.
    fn place(&self, filler: &mut Filler<'_>, order: &[usize]) -> bool {
        let start = filler.out.len();
        let all = order.iter().chain(&self.easy).all(|at| {
            let (demand, none) = (self.demands[*at], Bits::default());
            filler.place_apart(*at, demand, if self.asks_for_rare(*at) { &none } else { &self.kept }) == demand.count
        });
        if !all {
            take_back(self.classes, filler.scratch, self.demands, filler.out.drain(start..));
        }
        all
    }

    /// Looks for a way to place the hard demands by trying; the others find a place in any case.
    fn search(&self, filler: &mut Filler<'_>, steps: &mut u32) -> Result<(), Miss> {
        let kinds = self.orders().swap_remove(0);
        let bins = self.bins(filler, &kinds);
        let puzzle = self.puzzle(filler, &kinds, &bins);
        let packs = match puzzle.solve(steps) {
            Answer::Found(packs) => packs,
            Answer::Impossible => return Err(Miss::Searched),
            Answer::GaveUp => return Err(Miss::GaveUp),
        };
        for ((_, index), pack) in bins.iter().zip(packs) {
            let node = filler.nodes.id_at(*index as usize);
            for (kind, count) in kinds.iter().zip(pack).filter(|(_, count)| *count > 0) {
                let shape = self.shape(*kind);
                filler.scratch.take(node, &shape.request, &shape.ports, count);
                filler.out.push(Placed { demand: *kind, node, count });
            }
        }
        let all = self.place(filler, &[]);
        debug_assert!(all, "what finds a place after all others finds one");
        if all { Ok(()) } else { Err(Miss::GaveUp) }
    }

    /// The nodes that take pods of these demands, in the order of filling.
    fn bins(&self, filler: &Filler<'_>, kinds: &[usize]) -> Vec<Choice> {
        let mut bins: Vec<_> = kinds.iter().flat_map(|kind| &self.alone[*kind].choices).copied().collect();
        if let Some(first) = kinds.first() {
            let search = Search::new(filler.nodes, self.classes, self.demands[*first].class);
            bins.sort_unstable_by(|one, other| search.order(one, other));
        }
        bins.dedup();
        bins
    }

    fn puzzle(&self, filler: &Filler<'_>, kinds: &[usize], bins: &[Choice]) -> Puzzle {
        let shapes: Vec<_> = kinds.iter().map(|kind| self.shape(*kind)).collect();
        let mut rare: Vec<&Text> = shapes.iter().flat_map(|shape| &shape.request.rare).map(|(name, _)| name).collect();
        rare.sort_unstable();
        rare.dedup();
        let asks = |shape: &&Shape| {
            shape.request.base.into_iter().chain(rare.iter().map(|name| shape.request.get(name))).collect()
        };
        let searches: Vec<_> =
            kinds.iter().map(|kind| Search::new(filler.nodes, self.classes, self.demands[*kind].class)).collect();
        let bin = |index: usize| Bin {
            free: filler.scratch.free_of(filler.nodes, index, &rare),
            most: searches.iter().map(|search| search.copies(filler.scratch, index)).collect(),
        };
        Puzzle {
            need: kinds.iter().map(|kind| self.demands[*kind].count).collect(),
            asks: shapes.iter().map(asks).collect(),
            clash: shapes.iter().map(|one| shapes.iter().map(|other| exclude(one, other)).collect()).collect(),
            bins: bins.iter().map(|(_, index)| bin(*index as usize)).collect(),
        }
    }
}

/// Whether the ports of two pods exclude each other on one node.
fn exclude(one: &Shape, other: &Shape) -> bool {
    one.ports.iter().any(|port| other.ports.iter().any(|other| ports_conflict(port, other)))
}

#[cfg(test)]
mod tests;
