//! What a scratch remembers between plans changes no plan: fill against a plain scan over random histories.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;

use super::tests::{Node, World, model, shape, spec};
use super::*;
use crate::core::base::ids::Text;
use crate::core::shape::{NodeSpec, Shape};

#[derive(Clone, Debug)]
enum Step {
    Place { class: Index, count: u32, begin: bool, commit: bool },
    Leave(Index),
    See(Index, NodeSpec),
    Gone(Index),
    Renew(Index, Shape),
}

struct History {
    world: World,
    scratch: Scratch,
    names: Vec<Text>,
    classes: Vec<ClassId>,
    held: Vec<(NodeId, Arc<Shape>)>,
}

impl History {
    fn new(model: &[Node], shapes: &[Shape]) -> Self {
        let mut world = World::of(model);
        let classes = shapes.iter().map(|shape| world.demand(shape, 0).class).collect();
        // Two names more, for nodes that come later.
        let names = (0..model.len() + 2).map(|at| format!("node-{at}").into()).collect();
        Self { world, scratch: Scratch::default(), names, classes, held: Vec::new() }
    }

    fn apply(&mut self, step: Step) -> TestCaseResult {
        match step {
            Step::Place { class, count, begin, commit } => {
                if begin {
                    self.scratch.begin();
                }
                return self.place(Demand { class: *class.get(&self.classes), count }, commit);
            }
            Step::Leave(which) => self.leave(which),
            Step::See(which, spec) => {
                let change = self.world.nodes.see(which.get(&self.names), spec);
                self.world.classes.node_changed(&self.world.nodes, change.node);
            }
            Step::Gone(which) => {
                if let Some(id) = self.world.nodes.gone(which.get::<Text>(&self.names)) {
                    self.world.classes.node_changed(&self.world.nodes, id);
                }
            }
            Step::Renew(which, shape) => {
                let which = which.index(self.classes.len());
                self.world.classes.release(self.classes[which]);
                self.classes[which] = self.world.demand(&shape, 0).class;
            }
        }
        Ok(())
    }

    fn place(&mut self, demand: Demand, commit: bool) -> TestCaseResult {
        let scanned = self.world.scan(&mut self.scratch.clone(), demand);
        let placed = self.world.fill_some(&mut self.scratch, demand);
        prop_assert_eq!(&placed, &scanned);
        prop_assert!(self.scratch.shortlists.are_sound());
        if commit {
            self.scratch.begin();
            let shape = self.world.classes.shape(demand.class);
            let each = placed.iter().flat_map(|placed| (0..placed.count).map(|_| placed.node));
            for node in each {
                self.world.nodes.charge(node, &shape.request, &shape.ports);
                self.held.push((node, shape.clone()));
            }
        }
        Ok(())
    }

    fn leave(&mut self, which: Index) {
        if !self.held.is_empty() {
            let (node, shape) = self.held.swap_remove(which.index(self.held.len()));
            self.world.nodes.discharge(node, &shape.request, &shape.ports);
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let count = prop_oneof![8 => Just(1_u32), 4 => 2..6_u32, 1 => 6..60_u32];
    let place = (index(), count, any::<bool>(), prop::bool::weighted(0.8));
    prop_oneof![
        8 => place.prop_map(|(class, count, begin, commit)| Step::Place { class, count, begin, commit }),
        3 => index().prop_map(Step::Leave),
        1 => (index(), spec()).prop_map(|(which, spec)| Step::See(which, spec)),
        1 => index().prop_map(Step::Gone),
        1 => (index(), shape()).prop_map(|(which, shape)| Step::Renew(which, shape)),
    ]
}

proptest! {
    #[test]
    fn what_a_scratch_remembers_changes_no_plan(
        model in model(100),
        shapes in prop::collection::vec(shape(), 1..6),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut history = History::new(&model, &shapes);
        for step in steps {
            history.apply(step)?;
        }
    }
}
