//! Bulk fill against a model that places one pod at a time by counting, and against itself by other ways.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::core::base::ids::Text;
use crate::core::base::resources::Resources;
use crate::core::model::node::ports_conflict;
use crate::core::shape::{HostPort, NodeSpec, Shape};

/// A node with the pods that are on it already.
#[derive(Clone, Debug)]
pub(in crate::core) struct Node {
    name: String,
    spec: NodeSpec,
    pods: Vec<Shape>,
}

#[derive(Default)]
pub(in crate::core) struct World {
    pub(in crate::core) nodes: Nodes,
    pub(in crate::core) classes: Classes,
}

impl World {
    pub(in crate::core) fn of(model: &[Node]) -> Self {
        let mut world = Self::default();
        for node in model {
            let name = Text::from(node.name.as_str());
            let id = world.nodes.id_of(&name);
            node.pods.iter().for_each(|pod| world.nodes.charge(id, &pod.request, &pod.ports));
            let _ = world.nodes.see(&name, node.spec.clone());
        }
        world
    }

    pub(in crate::core) fn demands(&mut self, shapes: &[(Shape, u32)]) -> Vec<Demand> {
        let shapes = shapes.iter();
        shapes.map(|(shape, count)| self.demand(shape, *count)).collect()
    }

    pub(in crate::core) fn demand(&mut self, shape: &Shape, count: u32) -> Demand {
        Demand { class: self.classes.intern(&Arc::new(shape.clone()), &self.nodes), count }
    }

    fn fill(&self, scratch: &mut Scratch, demands: &[Demand]) -> Result<Vec<Placed>, Shortfall> {
        let mut out = Vec::new();
        let result = fill(&self.nodes, &self.classes, scratch, demands, &mut out);
        assert!(result.is_ok() || out.is_empty());
        result.map(|()| out)
    }

    pub(in crate::core) fn fill_some(&self, scratch: &mut Scratch, demand: Demand) -> Vec<Placed> {
        let mut out = Vec::new();
        let fit = fill_some(&self.nodes, &self.classes, scratch, demand, &mut out);
        assert_eq!(fit, total(&out));
        out
    }

    /// Without shortlists.
    pub(in crate::core) fn scan(&self, scratch: &mut Scratch, demand: Demand) -> Vec<Placed> {
        let (mut out, mut candidates) = (Vec::new(), Vec::new());
        let mut filler = Filler { nodes: &self.nodes, classes: &self.classes, scratch, out: &mut out };
        filler.place_long(0, demand, Goal::Most, &mut candidates);
        out
    }

    fn named(&self, placed: &[Placed]) -> Vec<(usize, Text, u32)> {
        let name = |placed: &Placed| self.nodes.name(placed.node).unwrap().clone();
        placed.iter().map(|placed| (placed.demand, name(placed), placed.count)).collect()
    }
}

/// A list that has to be made anew saves the scan that it costs: the first candidates are on it.
#[test]
fn a_new_shortlist_has_what_is_asked_for() {
    let node = |number| Node {
        name: format!("n{number}"),
        spec: NodeSpec { allocatable: Resources::pod(4000, 40), ..NodeSpec::default() },
        pods: Vec::new(),
    };
    let mut world = World::of(&(0..9).map(node).collect::<Vec<_>>());
    let class = world.demand(&Shape { request: Resources::pod(1000, 10), ..Shape::default() }, 3).class;
    let (search, mut out) = (Search::new(&world.nodes, &world.classes, class), Vec::new());
    let whole = Scratch::default().shortlists.first((&search, class), &Scratch::default(), 3, &mut out);
    assert_eq!((whole, out.len()), (false, 3));
}

fn total(placed: &[Placed]) -> u32 {
    placed.iter().map(|placed| placed.count).sum()
}

/// One pod more, if kube-scheduler would place it there.
fn add(node: &mut Node, pod: &Shape) -> bool {
    let eligible = pod.selector.iter().all(|(key, value)| node.spec.labels.get(key) == Some(value));
    let used = node.pods.iter().fold(Resources::default(), |sum, pod| sum.plus(&pod.request));
    let room =
        pod.request.iter().all(|(name, asked)| asked == 0 || asked <= node.spec.allocatable.get(name) - used.get(name));
    let clash = |held: &HostPort| pod.ports.iter().any(|wanted| ports_conflict(held, wanted));
    let fits = eligible && room && !node.pods.iter().flat_map(|pod| &pod.ports).any(clash);
    if fits {
        node.pods.push(pod.clone());
    }
    fits
}

/// How many fit, by trying.
fn count(model: &[Node], pod: &Shape, most: u32) -> u32 {
    let mut model = model.to_vec();
    let mut each =
        model.iter_mut().flat_map(|node| std::iter::repeat_with(move || add(node, pod)).take_while(|fits| *fits));
    each.by_ref().take(most as usize).count() as u32
}

/// Whether every pod really fits where it was placed.
fn holds(model: &[Node], placed: &[(usize, Text, u32)], shapes: &[(Shape, u32)]) -> bool {
    let mut model = model.to_vec();
    placed.iter().all(|(demand, name, count)| {
        let node = model.iter_mut().find(|node| node.name == **name).expect("a node that exists");
        (0..*count).all(|_| add(node, &shapes[*demand].0))
    })
}

prop_compose! {
    pub(in crate::core) fn shape()(cpu in 0..4_i64, memory in 0..4_i64, gpu in 0..8_i64, zone in 0..4_u8, port in 0..12_u16, any in any::<bool>()) -> Shape {
        let mut shape = Shape { request: Resources::pod(cpu * 500, memory << 28), ..Shape::default() };
        shape.request.set("x/gpu", if gpu < 2 { gpu } else { 0 });
        if zone < 2 {
            shape.selector.insert("zone".into(), zone.to_string().into());
        }
        if port < 3 {
            let address = if any { "" } else { "10.0.0.1" }.into();
            shape.ports.push(HostPort { address, protocol: "TCP".into(), port });
        }
        shape
    }
}

prop_compose! {
    pub(in crate::core) fn spec()(cpu in 0..6_i64, memory in 0..6_i64, gpu in 0..3_i64, pods in 0..8_i64, zone in 0..2_u8) -> NodeSpec {
        let mut allocatable = Resources { base: [cpu * 1000, memory << 29, 0, pods], rare: Vec::new() };
        allocatable.set("x/gpu", gpu);
        NodeSpec { allocatable, labels: [("zone".into(), zone.to_string().into())].into(), ..NodeSpec::default() }
    }
}

pub(in crate::core) fn model(most: usize) -> impl Strategy<Value = Vec<Node>> {
    let node = (spec(), prop::collection::vec(shape(), 0..4));
    prop::collection::vec(node, 0..most).prop_map(|nodes| {
        let nodes = nodes.into_iter().enumerate();
        nodes.map(|(at, (spec, pods))| Node { name: format!("node-{at}"), spec, pods }).collect()
    })
}

fn gang() -> impl Strategy<Value = Vec<(Shape, u32)>> {
    prop::collection::vec((shape(), 0..12_u32), 1..4)
}

proptest! {
    #[test]
    fn as_many_fit_as_by_trying(model in model(90), shape in shape(), most in 0..60_u32) {
        let mut world = World::of(&model);
        let demand = world.demand(&shape, most);
        let placed = world.fill_some(&mut Scratch::default(), demand);
        prop_assert_eq!(total(&placed), count(&model, &shape, most));
        prop_assert!(holds(&model, &world.named(&placed), &[(shape.clone(), most)]));
        let all = world.fill(&mut Scratch::default(), &[demand]);
        prop_assert_eq!(all.is_ok(), count(&model, &shape, most) == most);
        let copies = model.iter().map(|node| {
            let id = world.nodes.id(&node.name).expect("a node that exists");
            (copies_on(&world.nodes, &world.classes, demand.class, id), count(std::slice::from_ref(node), &shape, 100))
        });
        for (counted, tried) in copies {
            prop_assert_eq!(counted, tried);
        }
    }

    #[test]
    fn a_gang_is_placed_whole_or_not_at_all(model in model(40), gang in gang()) {
        let mut world = World::of(&model);
        let (demands, mut scratch) = (world.demands(&gang), Scratch::default());
        match world.fill(&mut scratch, &demands) {
            Ok(placed) => {
                for (at, demand) in demands.iter().enumerate() {
                    let parts = placed.iter().filter(|placed| placed.demand == at);
                    prop_assert_eq!(parts.map(|placed| placed.count).sum::<u32>(), demand.count);
                }
                prop_assert!(holds(&model, &world.named(&placed), &gang));
            }
            Err(short) => {
                prop_assert!(short.fit < demands[short.demand].count);
                for demand in demands {
                    let fresh = world.fill_some(&mut Scratch::default(), demand);
                    let mut after = scratch.clone();
                    prop_assert_eq!(world.fill_some(&mut after, demand), fresh);
                }
            }
        }
    }

    #[test]
    fn many_at_once_go_where_one_after_the_other_would(model in model(40), shape in shape(), most in 0..30_u32) {
        let mut world = World::of(&model);
        let (many, one) = (world.demand(&shape, most), world.demand(&shape, 1));
        let bulk = world.fill_some(&mut Scratch::default(), many);
        let mut scratch = Scratch::default();
        let mut single: Vec<Placed> = Vec::new();
        for placed in (0..most).flat_map(|_| world.fill_some(&mut scratch, one)) {
            match single.last_mut() {
                Some(last) if last.node == placed.node => last.count += placed.count,
                Some(_) | None => single.push(placed),
            }
        }
        prop_assert_eq!(bulk, single);
    }

    #[test]
    fn the_order_of_arrival_decides_nothing((model, shuffled) in model(40).prop_flat_map(|model| (Just(model.clone()), Just(model).prop_shuffle())), gang in gang()) {
        let (mut one, mut other) = (World::of(&model), World::of(&shuffled));
        let (first, second) = (one.demands(&gang), other.demands(&gang));
        let first = one.fill(&mut Scratch::default(), &first).map(|placed| one.named(&placed));
        prop_assert_eq!(first, other.fill(&mut Scratch::default(), &second).map(|placed| other.named(&placed)));
    }

    #[test]
    fn a_plan_sees_what_a_commit_makes(
        model in model(20),
        gang in gang(),
        next in shape(),
        credited in any::<prop::sample::Index>(),
    ) {
        let (mut planned, mut real) = (World::of(&model), World::of(&model));
        let (demands, next) = (planned.demands(&gang), planned.demand(&next, 20));
        real.classes = planned.classes.clone();
        let mut scratch = Scratch::default();
        for (demand, (shape, _)) in demands.iter().zip(&gang) {
            for placed in planned.fill_some(&mut scratch, *demand) {
                (0..placed.count).for_each(|_| real.nodes.charge(placed.node, &shape.request, &shape.ports));
            }
        }
        let held: Vec<_> = model.iter().flat_map(|node| node.pods.iter().map(move |pod| (&node.name, pod))).collect();
        if !held.is_empty() {
            let (name, pod) = credited.get(&held);
            let id = real.nodes.id(name).expect("a node that exists");
            scratch.credit(id, &pod.request, &pod.ports, 1);
            real.nodes.discharge(id, &pod.request, &pod.ports);
        }
        prop_assert_eq!(planned.fill_some(&mut scratch, next), real.fill_some(&mut Scratch::default(), next));
    }
}

/// More nodes than a block and a shortlist hold, most of them full.
#[test]
fn a_large_cluster_is_searched_to_its_end() {
    let spec = |cpu| NodeSpec {
        allocatable: Resources { base: [cpu, 1 << 30, 0, 110], rare: Vec::new() },
        ..NodeSpec::default()
    };
    let node = |at: usize| Node {
        name: format!("n{at}"),
        spec: spec(if at.is_multiple_of(7) || at == 999 { 2000 } else { 500 }),
        pods: Vec::new(),
    };
    let model: Vec<_> = (0..1000).map(node).collect();
    let shape = Shape { request: Resources::pod(1000, 1), ..Shape::default() };
    let mut world = World::of(&model);
    for asked in [1, 2, 64, 65, 287, 288, 289] {
        let demand = world.demand(&shape, asked);
        let placed = world.fill_some(&mut Scratch::default(), demand);
        let fit = asked.min(2 * (143 + 1));
        assert_eq!((total(&placed), world.fill(&mut Scratch::default(), &[demand]).is_ok()), (fit, fit == asked));
    }
}

/// The one node of a small zone is not given away to those who could go elsewhere; of equals the larger goes first.
#[test]
fn what_is_hard_to_place_chooses_first() {
    let spec = |zone: &str, cpu| NodeSpec {
        allocatable: Resources { base: [cpu, 1 << 30, 0, 110], rare: Vec::new() },
        labels: [("zone".into(), zone.into())].into(),
        ..NodeSpec::default()
    };
    let shape = |cpu, zone: Option<&str>| Shape {
        request: Resources::pod(cpu, 1),
        selector: zone.map(|zone| ("zone".into(), zone.into())).into_iter().collect(),
        ..Shape::default()
    };
    let check = |zones: &[(&str, i64)], gang: &[(Shape, u32)]| {
        let nodes = zones.iter().enumerate();
        let node = |(at, (zone, cpu)): (usize, &(&str, i64))| Node {
            name: format!("n{at}"),
            spec: spec(zone, *cpu),
            pods: Vec::new(),
        };
        let mut world = World::of(&nodes.map(node).collect::<Vec<_>>());
        let demands = world.demands(gang);
        assert!(world.fill(&mut Scratch::default(), &demands).is_ok(), "{zones:?} {gang:?}");
    };
    for zones in [[("a", 1000), ("b", 1000)], [("b", 1000), ("a", 1000)]] {
        check(&zones, &[(shape(1000, None), 1), (shape(1000, Some("a")), 1)]);
        check(&zones, &[(shape(1000, None), 1), (shape(1000, Some("b")), 1)]);
        check(&zones, &[(shape(100, None), 10), (shape(1000, None), 1)]);
        check(&zones, &[(shape(1000, None), 1), (shape(100, None), 10)]);
    }
    check(&[("a", 2000), ("a", 1000)], &[(shape(500, None), 2), (shape(2000, None), 1)]);
    check(&[("a", 1000), ("b", 2000)], &[(shape(500, None), 2), (shape(2000, None), 1)]);
}
