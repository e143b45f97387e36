//! Why pods do not fit nodes: causes, how many nodes each one excludes, and the node that comes nearest.

use std::borrow::Cow;

use crate::core::base::ids::{ClassId, NodeId};
use crate::core::base::resources::{BASE_NAMES, PODS, Resources};
use crate::core::model::class::Classes;
use crate::core::model::fit::Constraints;
use crate::core::model::node::{Nodes, clamp};
use crate::core::place::overlay::Scratch;
use crate::core::shape::Shape;

/// One reason why a class does not fit a node, in the order in which kube-scheduler's filters find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Misfit {
    /// There is no such node.
    Gone,
    /// `spec.unschedulable`.
    Unschedulable,
    /// A taint that is not tolerated.
    Taint,
    /// Node selector or required node affinity.
    Affinity,
    /// A host port is taken.
    Ports,
    /// Too little of a base resource, by index.
    Base(u8),
    /// Too little of another resource, by its place in the class's `request.rare`; from `RARE_KINDS` on they are not
    /// told apart.
    Rare(u8),
}

/// How many rare resources of one request are told apart; no pod asks for more in practice, and the rest is counted
/// together.
const RARE_KINDS: u8 = 4;

/// The causes that are counted, [`Misfit::Gone`] excepted.
const CAUSES: [Misfit; 13] = [
    Misfit::Unschedulable,
    Misfit::Taint,
    Misfit::Affinity,
    Misfit::Ports,
    Misfit::Base(0),
    Misfit::Base(1),
    Misfit::Base(2),
    Misfit::Base(3),
    Misfit::Rare(0),
    Misfit::Rare(1),
    Misfit::Rare(2),
    Misfit::Rare(3),
    Misfit::Rare(RARE_KINDS),
];

impl Misfit {
    /// The resource that is short, by its Kubernetes name.
    pub fn resource(self, request: &Resources) -> Option<&str> {
        match self {
            Self::Base(resource) => BASE_NAMES.get(usize::from(resource)).copied(),
            Self::Rare(RARE_KINDS) => None,
            Self::Rare(at) => request.rare.get(usize::from(at)).map(|(name, _)| &**name),
            Self::Gone | Self::Unschedulable | Self::Taint | Self::Affinity | Self::Ports => None,
        }
    }

    /// The cause in kube-scheduler's words, as they follow a number of nodes.
    pub fn wording(self, request: &Resources) -> Cow<'static, str> {
        match self {
            Self::Gone => "node(s) are gone".into(),
            Self::Unschedulable => "node(s) were unschedulable".into(),
            Self::Taint => "node(s) had untolerated taint(s)".into(),
            Self::Affinity => "node(s) didn't match Pod's node affinity/selector".into(),
            Self::Ports => "node(s) didn't have free ports for the requested pod ports".into(),
            Self::Base(resource) if usize::from(resource) == PODS => "Too many pods".into(),
            Self::Base(_) | Self::Rare(_) => {
                format!("Insufficient {}", self.resource(request).unwrap_or("other resources")).into()
            }
        }
    }

    fn slot(self) -> Option<usize> {
        CAUSES.iter().position(|cause| *cause == self)
    }
}

/// For each cause the nodes it excludes. A node that is short of two resources counts for both, as in kube-scheduler's
/// events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// All nodes.
    pub nodes: u32,
    /// Nodes where one more pod fits now.
    pub fit: u32,
    /// Among the nodes that lack nothing but resources, the one that lacks least.
    pub nearest: Option<Nearest>,
    counts: [u32; CAUSES.len()],
}

/// A node where a pod would fit if there were a little more of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The node.
    pub node: NodeId,
    /// The resource of which it lacks most, measured by what is asked.
    pub lacks: Misfit,
    /// How much of it is missing; cpu in millicores.
    pub missing: i64,
    /// How much of it is asked.
    asked: i64,
}

impl Histogram {
    /// Every cause that excludes a node, with the number of nodes.
    pub fn iter(&self) -> impl Iterator<Item = (Misfit, u32)> {
        CAUSES.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }

    fn count(&mut self, misfit: Misfit) {
        if let Some(slot) = misfit.slot() {
            self.counts[slot] += 1;
        }
    }
}

/// Whether one more pod of a class fits a node, seen through a plan; the first cause if not.
pub fn fits(nodes: &Nodes, classes: &Classes, scratch: &Scratch, class: ClassId, node: NodeId) -> Result<(), Misfit> {
    fits_within(nodes, scratch, classes.constraints(class), classes.shape(class), node)
}

/// As [`fits`], for a shape that need not be of a class: pods that were found on their nodes have none.
pub(in crate::core) fn fits_shape(nodes: &Nodes, scratch: &Scratch, shape: &Shape, node: NodeId) -> Result<(), Misfit> {
    fits_within(nodes, scratch, &Constraints::of(shape), shape, node)
}

fn fits_within(
    nodes: &Nodes,
    scratch: &Scratch,
    constraints: &Constraints,
    shape: &Shape,
    node: NodeId,
) -> Result<(), Misfit> {
    let (name, spec) = nodes.name(node).zip(nodes.spec(node)).ok_or(Misfit::Gone)?;
    constraints.check(name, spec)?;
    let index = node.index as usize;
    if scratch.ports_clash(nodes, index, &shape.ports) {
        return Err(Misfit::Ports);
    }
    lacks(nodes, scratch, &shape.request, index).next().map_or(Ok(()), |(misfit, ..)| Err(misfit))
}

/// Counts the nodes by what keeps one more pod of a class away from them, seen through a plan. Reads every node: for
/// explanations only.
pub fn misfits(nodes: &Nodes, classes: &Classes, scratch: &Scratch, class: ClassId) -> Histogram {
    let request = &classes.shape(class).request;
    let mut histogram = Histogram { nodes: nodes.len() as u32, ..Histogram::default() };
    for index in nodes.live().iter() {
        let node = nodes.id_at(index);
        match fits(nodes, classes, scratch, class, node) {
            Ok(()) => histogram.fit += 1,
            Err(Misfit::Base(_) | Misfit::Rare(_)) => {
                // A node counts once for all that are not told apart: they come one after the other.
                let mut last = None;
                let causes = lacks(nodes, scratch, request, index).map(|(misfit, ..)| misfit);
                causes.filter(|cause| last.replace(*cause) != Some(*cause)).for_each(|cause| histogram.count(cause));
                let worst = worst(node, lacks(nodes, scratch, request, index));
                histogram.nearest = nearer(nodes, histogram.nearest, worst);
            }
            Err(why) => histogram.count(why),
        }
    }
    histogram
}

/// What a node has too little of, with the missing and the asked amount, in kube-scheduler's order: pods first. A
/// resource that is not asked for is never short, even where less than nothing of it is free.
fn lacks(
    nodes: &Nodes,
    scratch: &Scratch,
    request: &Resources,
    index: usize,
) -> impl Iterator<Item = (Misfit, i128, i64)> {
    let free = scratch.exact_free(nodes, index);
    let base = [3, 0, 1, 2_u8].map(|at| (Misfit::Base(at), request.base[usize::from(at)], free[usize::from(at)]));
    let kinds = (0..RARE_KINDS).chain(std::iter::repeat(RARE_KINDS));
    let rare = request
        .rare
        .iter()
        .zip(kinds)
        .map(move |((name, asked), at)| (Misfit::Rare(at), *asked, scratch.exact_rare(nodes, index, name)));
    let all = base.into_iter().chain(rare);
    all.filter(|(_, asked, free)| *asked > 0 && i128::from(*asked) > *free)
        .map(|(misfit, asked, free)| (misfit, i128::from(asked) - free, asked))
}

/// The resource of which a node lacks most.
fn worst(node: NodeId, lacks: impl Iterator<Item = (Misfit, i128, i64)>) -> Option<Nearest> {
    let lacks = lacks.map(|(lacks, missing, asked)| Nearest { node, lacks, missing: clamp(missing), asked });
    lacks.reduce(|worst, next| if less(&worst, &next) { next } else { worst })
}

fn nearer(nodes: &Nodes, one: Option<Nearest>, other: Option<Nearest>) -> Option<Nearest> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let order = |near: &Nearest| (nodes.ranks()[near.node.index as usize], nodes.name_at(near.node.index as usize));
    let first = less(&one, &other) || (!less(&other, &one) && order(&one) <= order(&other));
    Some(if first { one } else { other })
}

/// Whether `one` misses a smaller part of what is asked than `other`; exact.
fn less(one: &Nearest, other: &Nearest) -> bool {
    i128::from(one.missing) * i128::from(other.asked) < i128::from(other.missing) * i128::from(one.asked)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::base::resources::{CPU, MEMORY};
    use crate::core::shape::{Effect, HostPort, NodeSpec, Taint};

    struct World {
        nodes: Nodes,
        classes: Classes,
    }

    fn spec(cpu: i64, pods: i64) -> NodeSpec {
        let mut allocatable = Resources { base: [cpu, 1000, 0, pods], rare: Vec::new() };
        allocatable.set("x/gpu", 2);
        NodeSpec { allocatable, labels: [("zone".into(), "1".into())].into(), ..NodeSpec::default() }
    }

    fn world() -> World {
        let mut nodes = Nodes::default();
        let taints = vec![Taint { key: "k".into(), value: "".into(), effect: Effect::NoSchedule }];
        for (name, spec) in [
            ("large", spec(8000, 110)),
            ("small", spec(3000, 110)),
            ("crowded", spec(2000, 0)),
            ("tainted", NodeSpec { taints, ..spec(8000, 110) }),
            ("cordoned", NodeSpec { unschedulable: true, ..spec(8000, 110) }),
            ("elsewhere", NodeSpec { labels: [].into(), ..spec(8000, 110) }),
        ] {
            let _ = nodes.see(&name.into(), spec);
        }
        let ghost = nodes.id_of(&"ghost".into());
        nodes.charge(ghost, &Resources::pod(1, 1), &[]);
        World { nodes, classes: Classes::default() }
    }

    fn shape(request: Resources) -> Shape {
        Shape { request, selector: [("zone".into(), "1".into())].into(), ..Shape::default() }
    }

    fn count(world: &mut World, shape: &Shape) -> (Histogram, Vec<String>) {
        let class = world.classes.intern(&Arc::new(shape.clone()), &world.nodes);
        let histogram = misfits(&world.nodes, &world.classes, &Scratch::default(), class);
        let words = histogram.iter().map(|(why, count)| format!("{count} {}", why.wording(&shape.request)));
        (histogram, words.collect())
    }

    #[test]
    fn causes_are_counted_in_kubernetes_words() {
        let mut world = world();
        let (histogram, words) = count(&mut world, &shape(Resources::pod(4000, 1)));
        let expected = [
            "1 node(s) were unschedulable",
            "1 node(s) had untolerated taint(s)",
            "1 node(s) didn't match Pod's node affinity/selector",
            "2 Insufficient cpu",
            "1 Too many pods",
        ];
        assert_eq!((histogram.nodes, histogram.fit, words), (6, 1, expected.map(String::from).to_vec()));
        let small = world.nodes.id("small").unwrap();
        let nearest = Nearest { node: small, lacks: Misfit::Base(0), missing: 1000, asked: 4000 };
        assert_eq!(histogram.nearest, Some(nearest));
    }

    #[test]
    fn the_nearest_lacks_the_smallest_part_of_what_is_asked() {
        let mut world = world();
        let mut request = Resources::pod(16_000, 1100);
        request.set("x/gpu", 3);
        let (histogram, words) = count(&mut world, &shape(request));
        assert_eq!(
            words[3..],
            ["3 Insufficient cpu", "3 Insufficient memory", "1 Too many pods", "3 Insufficient x/gpu"]
        );
        let nearest = histogram.nearest.unwrap();
        assert_eq!(
            (nearest.node, nearest.lacks, nearest.missing),
            (world.nodes.id("large").unwrap(), Misfit::Base(0), 8000)
        );
    }

    #[test]
    fn the_nearest_is_the_same_whoever_came_first() {
        let nearest = |order: [(&str, NodeSpec); 3], request| {
            let mut world = World { nodes: Nodes::default(), classes: Classes::default() };
            for (name, spec) in order {
                let _ = world.nodes.see(&name.into(), spec);
            }
            let nearest = count(&mut world, &shape(request)).0.nearest.unwrap();
            (world.nodes.name(nearest.node).unwrap().to_string(), nearest.lacks)
        };
        let (a, b, full) = (("a", spec(1000, 110)), ("b", spec(1000, 110)), ("full", spec(2000, 0)));
        // Half of the cpu is missing on a and b, all of the one pod on the third.
        let one = nearest([a.clone(), b.clone(), full.clone()], Resources::pod(2000, 1));
        assert_eq!(one, nearest([full, b, a], Resources::pod(2000, 1)));
        assert_eq!(one.1, Misfit::Base(CPU as u8));
    }

    #[test]
    fn what_is_not_asked_for_is_never_short() {
        let mut world = world();
        let large = world.nodes.id("large").unwrap();
        world.nodes.charge(large, &Resources { base: [9000, i64::MAX, 9, 1], rare: Vec::new() }, &[]);
        for (request, expected) in [
            (Resources::pod(0, 0), Ok(())),
            (Resources::pod(1, 0), Err(Misfit::Base(CPU as u8))),
            (Resources::pod(0, 1), Err(Misfit::Base(MEMORY as u8))),
        ] {
            let class = world.classes.intern(&Arc::new(shape(request)), &world.nodes);
            assert_eq!(fits(&world.nodes, &world.classes, &Scratch::default(), class, large), expected);
        }
    }

    #[test]
    fn what_is_not_told_apart_is_counted_once_and_named_truly() {
        let mut world = world();
        let mut request = Resources::pod(1, 1);
        (0..300).for_each(|kind| request.set(&format!("x/{kind:03}"), 1));
        let (_, words) = count(&mut world, &shape(request));
        assert_eq!(words[3], "1 Too many pods");
        let named =
            ["x/000", "x/001", "x/002", "x/003", "other resources"].map(|name| format!("3 Insufficient {name}"));
        assert_eq!(words[4..], named);
    }

    #[test]
    fn a_credit_makes_room_for_one() {
        let mut world = world();
        let (mut scratch, small) = (Scratch::default(), world.nodes.id("small").unwrap());
        let ports = vec![HostPort { address: "".into(), protocol: "TCP".into(), port: 80 }];
        let pod = Shape { ports: ports.clone(), ..shape(Resources::pod(2000, 1)) };
        let class = world.classes.intern(&Arc::new(pod.clone()), &world.nodes);
        world.nodes.charge(small, &pod.request, &ports);
        assert_eq!(fits(&world.nodes, &world.classes, &scratch, class, small), Err(Misfit::Ports));
        scratch.credit(small, &pod.request, &ports, 1);
        assert_eq!(fits(&world.nodes, &world.classes, &scratch, class, small), Ok(()));
        assert!(world.nodes.gone("small").is_some());
        assert_eq!(fits(&world.nodes, &world.classes, &scratch, class, small), Err(Misfit::Gone));
    }
}
