//! A plan's own view of the nodes: what it would take and give back, at the cost of what it touches.

use crate::core::base::ids::{NodeId, Text};
use crate::core::base::resources::Resources;
use crate::core::model::node::{Nodes, clamp, ports_conflict};
use crate::core::place::shortlist::Shortlists;
use crate::core::shape::HostPort;

/// Changes on top of [`Nodes`] which are forgotten in O(1). Owns the buffers of planning, so that a plan allocates
/// nothing once they are warm, and remembers what it found: a scratch belongs to one pair of nodes and classes, and
/// is cloned with them.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    epoch: u32,
    /// Per slot the epoch in which it was last touched, and where its change is.
    marks: Vec<(u32, u32)>,
    deltas: Vec<Delta>,
    /// How many of `deltas` belong to this epoch.
    used: usize,
    /// Buffer of [`crate::core::place::fill`]: feasible nodes with their rank.
    pub(in crate::core) choices: Vec<(u64, u32)>,
    /// Buffer of [`crate::core::place::fill`]: the order in which demands are placed.
    pub(in crate::core) order: Vec<usize>,
    /// The first choices of the classes that were placed last.
    pub(in crate::core) shortlists: Shortlists,
}

/// What a plan changes on one node: positive is taken, negative is given back. Exact, since credits of foreign pods
/// may be absurd.
#[derive(Clone, Debug)]
struct Delta {
    index: usize,
    base: [i128; 4],
    rare: Vec<(Text, i128)>,
    ports: Vec<(HostPort, i64)>,
}

impl Scratch {
    /// Starts a new plan: forgets all changes.
    pub fn begin(&mut self) {
        self.used = 0;
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            self.marks.clear();
            1
        });
    }

    /// As if `times` pods were placed on a node.
    pub fn take(&mut self, node: NodeId, request: &Resources, ports: &[HostPort], times: u32) {
        self.apply(node, request, ports, i64::from(times));
    }

    /// As if `times` pods were gone from a node.
    pub fn credit(&mut self, node: NodeId, request: &Resources, ports: &[HostPort], times: u32) {
        self.apply(node, request, ports, -i64::from(times));
    }

    fn apply(&mut self, node: NodeId, request: &Resources, ports: &[HostPort], times: i64) {
        let delta = self.touch(node.index as usize);
        for (change, amount) in delta.base.iter_mut().zip(request.base) {
            *change += i128::from(amount) * i128::from(times);
        }
        for (name, amount) in &request.rare {
            *entry(&mut delta.rare, name) += i128::from(*amount) * i128::from(times);
        }
        for port in ports {
            *entry(&mut delta.ports, port) += times;
        }
    }

    fn touch(&mut self, index: usize) -> &mut Delta {
        if index >= self.marks.len() {
            self.marks.resize(index + 1, (0, 0));
        }
        // Epoch 0 is the mark of a slot that was never touched.
        self.epoch = self.epoch.max(1);
        if self.marks[index].0 != self.epoch {
            self.marks[index] = (self.epoch, self.used as u32);
            self.start_delta(index);
        }
        &mut self.deltas[self.marks[index].1 as usize]
    }

    fn start_delta(&mut self, index: usize) {
        if self.used == self.deltas.len() {
            self.deltas.push(Delta { index, base: [0; 4], rare: Vec::new(), ports: Vec::new() });
        }
        let delta = &mut self.deltas[self.used];
        (delta.index, delta.base) = (index, [0; 4]);
        delta.rare.clear();
        delta.ports.clear();
        self.used += 1;
    }

    fn delta(&self, index: usize) -> Option<&Delta> {
        let (epoch, at) = *self.marks.get(index)?;
        (epoch == self.epoch).then(|| &self.deltas[at as usize])
    }
}

fn entry<'a, K: Clone + PartialEq, V: Default>(pairs: &'a mut Vec<(K, V)>, key: &K) -> &'a mut V {
    let at = pairs.iter().position(|(other, _)| other == key).unwrap_or_else(|| {
        pairs.push((key.clone(), V::default()));
        pairs.len() - 1
    });
    &mut pairs[at].1
}

/// The nodes as the plan sees them, by slot.
impl Scratch {
    pub(in crate::core) fn is_untouched(&self) -> bool {
        self.used == 0
    }

    pub(in crate::core) fn is_touched(&self, index: usize) -> bool {
        self.delta(index).is_some()
    }

    pub(in crate::core) fn touched(&self) -> impl Iterator<Item = usize> {
        self.deltas[..self.used].iter().map(|delta| delta.index)
    }

    pub(in crate::core) fn free(&self, nodes: &Nodes, index: usize) -> [i64; 4] {
        match self.delta(index) {
            None => std::array::from_fn(|resource| nodes.column(resource)[index]),
            Some(_) => self.exact_free(nodes, index).map(clamp),
        }
    }

    pub(in crate::core) fn exact_free(&self, nodes: &Nodes, index: usize) -> [i128; 4] {
        let (free, taken) = (nodes.exact_free(index), self.delta(index).map_or([0; 4], |delta| delta.base));
        std::array::from_fn(|resource| free[resource] - taken[resource])
    }

    pub(in crate::core) fn exact_rare(&self, nodes: &Nodes, index: usize, name: &str) -> i128 {
        let changes = self.delta(index).map_or(&[][..], |delta| &delta.rare);
        let taken = changes.iter().find(|(other, _)| **other == *name).map_or(0, |(_, taken)| *taken);
        nodes.exact_rare(index, name) - taken
    }

    /// What is free of the base resources and of others by name, as near as `i64` can say it.
    pub(super) fn free_of(&self, nodes: &Nodes, index: usize, rare: &[&Text]) -> Vec<i64> {
        let rare = rare.iter().map(|name| clamp(self.exact_rare(nodes, index, name)));
        self.free(nodes, index).into_iter().chain(rare).collect()
    }

    pub(in crate::core) fn rank(&self, nodes: &Nodes, index: usize) -> u64 {
        let Some(delta) = self.delta(index) else { return nodes.ranks()[index] };
        let charged = nodes.charged_at(index);
        nodes.rank_with(index, std::array::from_fn(|resource| charged[resource] + delta.base[resource]))
    }

    /// Whether one of the wanted ports is taken.
    pub(in crate::core) fn ports_clash(&self, nodes: &Nodes, index: usize, wanted: &[HostPort]) -> bool {
        let changes = self.delta(index).map_or(&[][..], |delta| &delta.ports);
        let change = |port| changes.iter().find(|(other, _)| other == port).map_or(0, |(_, change)| *change);
        let held = nodes.ports_at(index).iter().filter(|(port, count)| i64::from(*count) + change(port) > 0);
        let taken = changes.iter().filter(|(_, change)| *change > 0);
        let mut used = held.map(|(port, _)| port).chain(taken.map(|(port, _)| port));
        used.any(|port| wanted.iter().any(|wanted| ports_conflict(port, wanted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::resources::CPU;
    use crate::core::shape::NodeSpec;

    fn node(nodes: &mut Nodes, name: &str) -> NodeId {
        let mut allocatable = Resources { base: [4000, 40, 0, 110], rare: Vec::new() };
        allocatable.set("x/gpu", 2);
        nodes.see(&name.into(), NodeSpec { allocatable, ..NodeSpec::default() }).node
    }

    #[test]
    fn a_plan_sees_what_it_took_and_what_it_gave_back() {
        let (mut nodes, mut scratch) = (Nodes::default(), Scratch::default());
        let (a, b) = (node(&mut nodes, "a"), node(&mut nodes, "b"));
        let mut pod = Resources::pod(1000, 10);
        pod.set("x/gpu", 1);
        scratch.take(a, &pod, &[], 3);
        scratch.credit(b, &pod, &[], 1);
        let view = |scratch: &Scratch, id: NodeId| {
            let index = id.index as usize;
            (scratch.free(&nodes, index)[CPU], scratch.exact_rare(&nodes, index, "x/gpu"))
        };
        assert_eq!((view(&scratch, a), view(&scratch, b)), ((1000, -1), (5000, 3)));
        scratch.credit(a, &pod, &[], 3);
        assert_eq!(view(&scratch, a), (4000, 2));
        scratch.begin();
        assert_eq!((view(&scratch, a), view(&scratch, b)), ((4000, 2), (4000, 2)));
        assert_eq!(scratch.touched().count(), 0);
        [a, b].into_iter().for_each(|id| scratch.take(id, &Resources::pod(1, 1), &[], 1));
        assert_eq!((view(&scratch, a), view(&scratch, b)), ((3999, 2), (3999, 2)));
    }

    #[test]
    fn ports_are_free_while_their_holder_is_credited() {
        let (mut nodes, mut scratch) = (Nodes::default(), Scratch::default());
        let (a, pod) = (node(&mut nodes, "a"), Resources::pod(1, 1));
        let port = [HostPort { address: "".into(), protocol: "TCP".into(), port: 80 }];
        let clash = |nodes: &Nodes, scratch: &Scratch| scratch.ports_clash(nodes, a.index as usize, &port);
        assert!(!clash(&nodes, &scratch));
        scratch.take(a, &pod, &port, 1);
        assert!(clash(&nodes, &scratch));
        scratch.begin();
        nodes.charge(a, &pod, &port);
        assert!(clash(&nodes, &scratch));
        scratch.credit(a, &pod, &port, 1);
        assert!(!clash(&nodes, &scratch));
        scratch.take(a, &pod, &port, 1);
        assert!(clash(&nodes, &scratch));
    }

    #[test]
    fn an_epoch_that_wraps_forgets_too() {
        let (mut nodes, mut scratch) = (Nodes::default(), Scratch::default());
        let (a, pod) = (node(&mut nodes, "a"), Resources::pod(1000, 1));
        scratch.begin();
        scratch.take(a, &pod, &[], 1);
        scratch.epoch = u32::MAX;
        scratch.begin();
        assert!(!scratch.is_touched(a.index as usize));
        scratch.take(a, &pod, &[], 1);
        assert_eq!(scratch.free(&nodes, a.index as usize)[CPU], 3000);
    }
}
