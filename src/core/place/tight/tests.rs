//! Orders, and what is kept for whom.

use super::*;
use crate::core::base::ids::ClassId;
use crate::core::base::resources::Resources;
use crate::core::place::fill::fill;
use crate::core::place::puzzle::STEPS;
use crate::core::shape::NodeSpec;

/// Demand, node and count.
type On = (usize, String, u32);

#[derive(Default)]
struct World {
    nodes: Nodes,
    classes: Classes,
}

fn resources(cpu: i64, gpu: i64, pods: i64) -> Resources {
    let mut resources = Resources { base: [cpu * 1000, 1 << 20, 0, pods], rare: Vec::new() };
    resources.set("x/gpu", gpu);
    resources
}

impl World {
    fn node(&mut self, name: &str, cpu: i64, gpu: i64) {
        let allocatable = Resources { base: [cpu * 1000, 1 << 30, 0, 110], ..resources(0, gpu, 0) };
        let _ = self.nodes.see(&name.into(), NodeSpec { allocatable, ..NodeSpec::default() });
    }

    fn class(&mut self, cpu: i64, gpu: i64) -> ClassId {
        let shape = Shape { request: resources(cpu, gpu, 1), ..Shape::default() };
        self.classes.intern(&shape.into(), &self.nodes)
    }

    /// What is placed, and how many steps that took.
    fn tight(&self, demands: &[Demand]) -> Result<(Vec<On>, u32), Miss> {
        let (mut scratch, mut out, mut left) = (Scratch::default(), Vec::new(), STEPS);
        let result = fill_tight(&self.nodes, &self.classes, &mut scratch, demands, &mut out, &mut left);
        let taken = |index: usize| scratch.free(&self.nodes, index) != Scratch::default().free(&self.nodes, index);
        assert!(result.is_ok() || !self.nodes.live().iter().any(taken), "after a failure all is as before");
        let name = |placed: &Placed| self.nodes.name(placed.node).unwrap().to_string();
        result.map(|()| (out.iter().map(|one| (one.demand, name(one), one.count)).collect(), STEPS - left))
    }

    fn greedy(&self, demands: &[Demand]) -> bool {
        fill(&self.nodes, &self.classes, &mut Scratch::default(), demands, &mut Vec::new()).is_ok()
    }
}

/// The driver is the larger one, and both nodes take it.
#[test]
fn a_node_with_a_gpu_is_kept_for_who_needs_it() {
    for (with, without) in [("a", "b"), ("b", "a")] {
        let mut world = World::default();
        world.node(with, 8, 1);
        world.node(without, 8, 0);
        let demands = [(6, 0), (4, 1)].map(|(cpu, gpu)| Demand { class: world.class(cpu, gpu), count: 1 });
        let (mut placed, steps) = world.tight(&demands).unwrap();
        placed.sort_unstable();
        assert_eq!(placed, [(0, without.into(), 1), (1, with.into(), 1)]);
        assert!(steps <= 3, "an order does it: {steps}");
    }
}

/// 3 + 2 + 2 on each node: whichever class is placed first fills a node with its own, and then there is no room left.
#[test]
fn what_no_order_places_is_searched_for() {
    let mut world = World::default();
    (0..2).for_each(|at| world.node(&format!("n{at}"), 7, 0));
    let mut demands = |threes, twos| [(3, threes), (2, twos)].map(|(cpu, count)| (world.class(cpu, 0), count));
    let [together, never] = [demands(2, 4), demands(4, 1)].map(|of| of.map(|(class, count)| Demand { class, count }));
    let (mut placed, steps) = world.tight(&together).unwrap();
    placed.sort_unstable();
    let on = |demand, node: &str, count| (demand, node.to_owned(), count);
    assert_eq!(placed, [on(0, "n0", 1), on(0, "n1", 1), on(1, "n0", 2), on(1, "n1", 2)]);
    assert!(!world.greedy(&together) && steps > 2);
    assert_eq!(world.tight(&never), Err(Miss::Searched), "14 of 14, but in no way");
}

/// Whoever finds too little room even alone is named, not those who come in its way.
#[test]
fn a_demand_that_falls_short_alone_is_named() {
    let mut world = World::default();
    (0..3).for_each(|at| world.node(&format!("n{at}"), 8, 0));
    let demands = [(8, 3), (7, 1), (5, 4)].map(|(cpu, count)| Demand { class: world.class(cpu, 0), count });
    assert_eq!(world.tight(&demands), Err(Miss::Alone(Shortfall { demand: 2, fit: 3 })));
}

/// Of 300 nodes the drivers take those with a GPU if nobody keeps these: no step of a search is needed.
#[test]
fn who_finds_nodes_enough_waits_for_those_who_do_not() {
    let mut world = World::default();
    (0..300).for_each(|at| world.node(&format!("n{at}"), 8, i64::from(at % 30 == 0)));
    let demands = [(6, 0, 250), (4, 1, 10)].map(|(cpu, gpu, count)| Demand { class: world.class(cpu, gpu), count });
    let (placed, steps) = world.tight(&demands).unwrap();
    assert_eq!((placed.iter().map(|(.., count)| count).sum::<u32>(), steps), (260, 1));
}
