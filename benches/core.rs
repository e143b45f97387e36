//! Micro-benchmarks of the core: how long a decision takes, by cluster size and state.
//!
//! `cargo bench --no-default-features --bench core`. A gang's time is for planning and committing all its members;
//! it is discharged outside the measured part.

mod gangs;

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use gangline::core::base::ids::{NodeId, Text};
use gangline::core::base::resources::Resources;
use gangline::core::model::class::Classes;
use gangline::core::model::node::Nodes;
use gangline::core::place::fill::{Demand, Placed, fill, fill_some};
use gangline::core::place::overlay::Scratch;
use gangline::core::shape::{NodeSpec, Shape};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Pods of one round of singletons.
const PODS: u32 = 10_000;
const GIB: i64 = 1 << 30;

/// What the cluster looks like before the measured part.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Equal empty nodes: all ties.
    Empty,
    /// Three sizes, 0 to 90 % in use, cpu-heavy and memory-heavy.
    Varied,
    /// As varied, but nothing fits on 19 of 20 nodes.
    Full,
}

const STATES: [State; 3] = [State::Empty, State::Varied, State::Full];

/// A small generator with a fixed seed, so that every run measures the same cluster.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).cast_signed() % limit
    }
}

struct World {
    nodes: Nodes,
    classes: Classes,
    scratch: Scratch,
    out: Vec<Placed>,
    /// Requests of the classes that are placed.
    demands: Vec<Demand>,
    /// What was committed: class, node, count.
    books: Vec<(usize, NodeId, u32)>,
}

impl World {
    fn new(count: usize, state: State, classes: u32) -> Self {
        let (mut nodes, mut dice) = (Nodes::default(), Dice(1));
        for at in 0..count {
            add_node(&mut nodes, &mut dice, state, at);
        }
        let (classes_of, scratch) = (Classes::default(), Scratch::default());
        let (out, demands, books) = (Vec::new(), Vec::new(), Vec::new());
        let mut world = Self { nodes, classes: classes_of, scratch, out, demands, books };
        (0..i64::from(classes))
            .for_each(|at| world.add_class(1000 + 100 * (at % 20), (1 + (7 * at) % 19) * GIB / 4 + at));
        world
    }

    fn add_class(&mut self, cpu: i64, memory: i64) {
        let shape = Arc::new(Shape { request: Resources::pod(cpu, memory), ..Shape::default() });
        let class = self.classes.intern(&shape, &self.nodes);
        self.demands.push(Demand { class, count: 0 });
    }

    /// Plans and commits a gang.
    fn gang(&mut self, count: u32) -> bool {
        let demand = Demand { count, ..self.demands[0] };
        self.scratch.begin();
        self.out.clear();
        let placed = fill(&self.nodes, &self.classes, &mut self.scratch, &[demand], &mut self.out);
        self.commit(0);
        placed.is_ok()
    }

    /// Plans and commits pods that do not need each other.
    fn singletons(&mut self, class: usize, count: u32) {
        let demand = Demand { count, ..self.demands[class] };
        self.scratch.begin();
        self.out.clear();
        let fit = fill_some(&self.nodes, &self.classes, &mut self.scratch, demand, &mut self.out);
        assert_eq!(fit, count);
        self.commit(class);
    }

    /// Charges pod by pod, as the scheduler does.
    fn commit(&mut self, class: usize) {
        let shape = self.classes.shape(self.demands[class].class);
        for placed in &self.out {
            (0..placed.count).for_each(|_| self.nodes.charge(placed.node, &shape.request, &shape.ports));
            self.books.push((class, placed.node, placed.count));
        }
    }

    fn undo(&mut self) {
        for (class, node, count) in self.books.drain(..) {
            let shape = self.classes.shape(self.demands[class].class);
            (0..count).for_each(|_| self.nodes.discharge(node, &shape.request, &shape.ports));
        }
    }
}

fn add_node(nodes: &mut Nodes, dice: &mut Dice, state: State, at: usize) {
    let cpu = match state {
        State::Empty => 64,
        State::Varied | State::Full => [32, 64, 128][dice.below(3) as usize],
    };
    let allocatable = Resources { base: [cpu * 1000, cpu * 4 * GIB, 100 * GIB, 250], rare: Vec::new() };
    let name = Text::from(format!("node-{at:06}"));
    let id = nodes.see(&name, NodeSpec { allocatable, ..NodeSpec::default() }).node;
    let (percent_cpu, percent_memory) = match state {
        State::Empty => (0, 0),
        State::Varied => (dice.below(90), dice.below(90)),
        State::Full if dice.below(20) > 0 => [(100, 40), (40, 100)][dice.below(2) as usize],
        State::Full => (0, 0),
    };
    nodes.charge(id, &Resources::pod(cpu * 10 * percent_cpu, cpu * 4 * GIB / 100 * percent_memory), &[]);
}

/// Measures `round` on a world that is put back as it was before each.
fn measure(bencher: Bencher<'_, '_>, world: World, items: u32, round: impl Fn(&mut World)) {
    let world = std::cell::RefCell::new(world);
    bencher
        .counter(ItemsCount::new(items))
        .with_inputs(|| world.borrow_mut().undo())
        .bench_local_values(|()| round(&mut world.borrow_mut()));
}

fn cases() -> impl Iterator<Item = (usize, State)> {
    SIZES.into_iter().flat_map(|size| STATES.map(|state| (size, state)))
}

/// One gang of 1000 equal members.
#[divan::bench(args = cases(), sample_count = 50)]
fn gang_of_1000(bencher: Bencher<'_, '_>, (size, state): (usize, State)) {
    measure(bencher, World::new(size, state, 1), 1000, |world| assert!(world.gang(1000)));
}

/// A gang that is larger than the cluster.
#[divan::bench(args = cases(), sample_count = 50)]
fn gang_that_does_not_fit(bencher: Bencher<'_, '_>, (size, state): (usize, State)) {
    measure(bencher, World::new(size, state, 1), 1, |world| assert!(!world.gang(10_000_000)));
}

/// 10,000 singletons of one class, as one run.
#[divan::bench(args = STATES, sample_count = 20)]
fn singletons_of_one_class(bencher: Bencher<'_, '_>, state: State) {
    measure(bencher, World::new(10_000, state, 1), PODS, |world| world.singletons(0, PODS));
}

/// 10,000 singletons of 20 classes, one run per class.
#[divan::bench(args = STATES, sample_count = 20)]
fn singletons_of_20_classes(bencher: Bencher<'_, '_>, state: State) {
    measure(bencher, World::new(10_000, state, 20), PODS, |world| {
        (0..20).for_each(|class| world.singletons(class, PODS / 20));
    });
}

/// 10,000 singletons of many classes in turn: no run is longer than one pod.
#[divan::bench(args = [20, 256].into_iter().flat_map(|classes| STATES.map(|state| (classes, state))), sample_count = 10)]
fn singletons_in_turn(bencher: Bencher<'_, '_>, (classes, state): (u32, State)) {
    measure(bencher, World::new(10_000, state, classes), PODS, |world| {
        (0..PODS).for_each(|at| world.singletons((at % classes) as usize, 1));
    });
}
