//! The nodes as columns by slot: what is free, what is charged, and in which order they are filled.

use crate::core::base::arena::{Arena, Lookup};
use crate::core::base::bits::Bits;
use crate::core::base::ids::{NodeId, Text};
use crate::core::base::recent::Recent;
use crate::core::base::resources::{Limit, Resources, Totals};
use crate::core::model::fullness::{hash, rank};
use crate::core::shape::{HostPort, NodeSpec};

/// Nodes per block with a common upper bound of what is free: small enough that a block of full nodes is common in a
/// packed cluster, large enough that 100k nodes need only 400 comparisons.
pub const BLOCK: usize = 256;

/// Columns are padded to whole words of [`Bits`], so that 64 nodes are compared without a bounds check each.
const WORD: usize = 64;

/// All nodes, and all names of nodes that pods refer to (*ghosts*: charged, but nothing is placed there).
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    ids: Lookup<Text, NodeId>,
    rows: Arena<NodeId, Row>,
    /// The id of the present or last life of each slot.
    at: Vec<NodeId>,
    /// Slots with a Node object.
    live: Bits,
    /// Free amounts of the base resources; may be negative. `i64::MIN` where there is no Node object.
    free: [Vec<i64>; 4],
    /// Filling order, see [`crate::core::model::fullness`].
    rank: Vec<u64>,
    /// Per block an upper bound of each free column.
    ceiling: [Vec<i64>; 4],
    /// Per block the changes since its bound was exact.
    drift: Vec<usize>,
    recent: Recent,
    /// What all nodes with a Node object offer.
    offered: Totals,
}

#[derive(Clone, Debug)]
struct Row {
    name: Text,
    hash: u64,
    spec: Option<NodeSpec>,
    /// How many charges there are; a ghost disappears with its last.
    charges: u32,
    charged: Totals,
    ports: Vec<(HostPort, u32)>,
}

/// What [`Nodes::see`] changed.
#[must_use = "classes must be told when the static part of a node changes"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The node.
    pub node: NodeId,
    /// Whether other pods may be eligible now: tell [`crate::core::model::class::Classes::node_changed`].
    pub eligibility: bool,
    /// Whether more of some resource is free than before: waiting work may fit.
    pub grew: bool,
}

impl Nodes {
    /// The id of a known name.
    pub fn id(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// The id of a name; creates a ghost, which the caller charges at once.
    pub fn id_of(&mut self, name: &Text) -> NodeId {
        if let Some(id) = self.id(name) {
            return id;
        }
        let hash = hash(name);
        let charged = Totals::default();
        let id = self.rows.insert(Row { name: name.clone(), hash, spec: None, charges: 0, charged, ports: Vec::new() });
        self.ids.insert(name.clone(), id);
        self.make_room(id);
        self.refresh(id);
        id
    }

    /// What all nodes offer together.
    pub fn offered(&self) -> Limit {
        Limit::new(self.offered.iter().map(|(name, amount)| (name.into(), amount)))
    }

    /// A Node object as it is now. Charges of pods that came first stay.
    pub fn see(&mut self, name: &Text, spec: NodeSpec) -> Change {
        let node = self.id_of(name);
        let row = &mut self.rows[node];
        let (eligibility, grew) = row.spec.as_ref().map_or((true, true), |old| {
            let fixed =
                old.labels == spec.labels && old.taints == spec.taints && old.unschedulable == spec.unschedulable;
            (!fixed, spec.allocatable.first_beyond(&old.allocatable).is_some())
        });
        self.offered.add(&spec.allocatable, 1);
        if let Some(old) = row.spec.replace(spec) {
            self.offered.sub(&old.allocatable, 1);
        }
        self.live.set(node.index as usize, true);
        self.refresh(node);
        Change { node, eligibility, grew }
    }

    /// The Node object is deleted: a ghost is left as long as pods are charged. Returns the id to pass to
    /// [`crate::core::model::class::Classes::node_changed`], or `None` when there was no object.
    pub fn gone(&mut self, name: &str) -> Option<NodeId> {
        let id = self.id(name)?;
        let old = self.rows[id].spec.take()?;
        self.offered.sub(&old.allocatable, 1);
        self.live.set(id.index as usize, false);
        self.refresh(id);
        self.forget_if_unused(id);
        Some(id)
    }

    /// Puts one pod on the books of a node. Never refuses: the pod is there, whatever it asks.
    pub fn charge(&mut self, id: NodeId, request: &Resources, ports: &[HostPort]) {
        let row = &mut self.rows[id];
        row.charges += 1;
        row.charged.add(request, 1);
        for port in ports {
            match row.ports.iter_mut().find(|(other, _)| other == port) {
                Some((_, count)) => *count += 1,
                None => row.ports.push((port.clone(), 1)),
            }
        }
        self.refresh(id);
    }

    /// Takes one pod off the books, with exactly what it was charged with.
    ///
    /// # Panics
    /// If it was not charged: our own books would be wrong.
    pub fn discharge(&mut self, id: NodeId, request: &Resources, ports: &[HostPort]) {
        let row = &mut self.rows[id];
        row.charges = row.charges.checked_sub(1).expect("a pod is discharged once");
        row.charged.sub(request, 1);
        for port in ports {
            let held = row.ports.iter().position(|(other, _)| other == port).expect("a discharged port was charged");
            row.ports[held].1 -= 1;
            if row.ports[held].1 == 0 {
                row.ports.swap_remove(held);
            }
        }
        self.refresh(id);
        self.forget_if_unused(id);
    }

    /// How many nodes there are, ghosts not included.
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// How many names are known, ghosts included.
    pub fn names(&self) -> usize {
        self.rows.len()
    }

    /// The name under a live id.
    pub fn name(&self, id: NodeId) -> Option<&Text> {
        self.rows.get(id).map(|row| &row.name)
    }

    /// The Node object's content; `None` for a ghost.
    pub fn spec(&self, id: NodeId) -> Option<&NodeSpec> {
        self.rows.get(id)?.spec.as_ref()
    }

    /// What all pods on a node ask for together.
    pub fn charged(&self, id: NodeId) -> Option<&Totals> {
        self.rows.get(id).map(|row| &row.charged)
    }

    /// What is free on a node, by the resources it offers; `None` for a ghost.
    #[cfg(test)]
    pub fn free(&self, id: NodeId) -> Option<Resources> {
        let row = self.rows.get(id)?;
        let mut free = Resources { base: row.free().map(clamp), rare: Vec::new() };
        for (name, _) in &row.spec.as_ref()?.allocatable.rare {
            free.set(name, clamp(row.free_rare(name)));
        }
        Some(free)
    }

    /// Whether more of a resource is charged than the node offers, or there is no node.
    pub fn is_overdrawn(&self, id: NodeId) -> bool {
        let lacks = |row: &Row| {
            row.free().iter().any(|free| *free < 0) || row.charged.rare().any(|name| row.free_rare(name) < 0)
        };
        self.rows.get(id).is_none_or(|row| row.spec.is_none() || lacks(row))
    }

    /// All nodes in slot order, ghosts not included: for sums and audits, never to choose one.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Text, &NodeSpec)> {
        self.rows.iter().filter_map(|(id, row)| row.spec.as_ref().map(|spec| (id, &row.name, spec)))
    }

    fn make_room(&mut self, id: NodeId) {
        let index = id.index as usize;
        if index == self.at.len() {
            self.at.push(id);
        }
        self.at[index] = id;
        let room = self.at.len().next_multiple_of(WORD);
        let blocks = room.div_ceil(BLOCK);
        for (free, ceiling) in self.free.iter_mut().zip(&mut self.ceiling) {
            free.resize(room, i64::MIN);
            ceiling.resize(blocks, i64::MIN);
        }
        self.rank.resize(room, u64::MAX);
        self.drift.resize(blocks, 0);
    }

    /// Derives the columns of one node again; the one place that writes them.
    fn refresh(&mut self, id: NodeId) {
        let (index, row) = (id.index as usize, &self.rows[id]);
        let free = if row.spec.is_some() { row.free().map(clamp) } else { [i64::MIN; 4] };
        self.rank[index] = row.rank(row.charged.base());
        self.recent.touch(index);
        let block = index / BLOCK;
        for (resource, free) in free.into_iter().enumerate() {
            self.free[resource][index] = free;
            let ceiling = &mut self.ceiling[resource][block];
            *ceiling = free.max(*ceiling);
        }
        self.drift[block] += 1;
        if self.drift[block] >= BLOCK {
            self.tighten(block);
        }
    }

    /// Makes the bounds of a block exact again. Once per [`BLOCK`] changes, so that it costs nothing per change.
    fn tighten(&mut self, block: usize) {
        self.drift[block] = 0;
        for (free, ceiling) in self.free.iter().zip(&mut self.ceiling) {
            let end = free.len().min((block + 1) * BLOCK);
            ceiling[block] = free[block * BLOCK..end].iter().copied().max().unwrap_or(i64::MIN);
        }
    }

    fn forget_if_unused(&mut self, id: NodeId) {
        if self.rows[id].spec.is_none() && self.rows[id].charges == 0 {
            let row = self.rows.remove(id).expect("the row was just read");
            self.ids.remove(&row.name);
        }
    }
}

/// By slot, for planning.
impl Nodes {
    pub(in crate::core) fn live(&self) -> &Bits {
        &self.live
    }

    pub(in crate::core) fn id_at(&self, index: usize) -> NodeId {
        self.at[index]
    }

    /// One free column of the base resources.
    pub(in crate::core) fn column(&self, resource: usize) -> &[i64] {
        &self.free[resource]
    }

    pub(in crate::core) fn blocks(&self) -> usize {
        self.drift.len()
    }

    /// An upper bound of what any node of a block has free.
    pub(in crate::core) fn ceiling(&self, block: usize, resource: usize) -> i64 {
        self.ceiling[resource][block]
    }

    /// How many changes there were.
    pub(in crate::core) fn clock(&self) -> u64 {
        self.recent.clock()
    }

    /// The slots that changed after a reading of the clock, each once.
    pub(in crate::core) fn changed_since(&self, clock: u64) -> impl Iterator<Item = usize> {
        self.recent.since(clock)
    }

    /// The filling order: the least first; equal ranks by name.
    pub(in crate::core) fn ranks(&self) -> &[u64] {
        &self.rank
    }

    /// The rank a node would have with other charges.
    pub(in crate::core) fn rank_with(&self, index: usize, charged: [i128; 4]) -> u64 {
        self.row(index).rank(charged)
    }

    pub(in crate::core) fn charged_at(&self, index: usize) -> [i128; 4] {
        self.row(index).charged.base()
    }

    /// Exactly what is free of the base resources.
    pub(in crate::core) fn exact_free(&self, index: usize) -> [i128; 4] {
        self.row(index).free()
    }

    /// Exactly what is free of any other resource.
    pub(in crate::core) fn exact_rare(&self, index: usize, name: &str) -> i128 {
        self.row(index).free_rare(name)
    }

    pub(in crate::core) fn ports_at(&self, index: usize) -> &[(HostPort, u32)] {
        &self.row(index).ports
    }

    pub(in crate::core) fn name_at(&self, index: usize) -> &Text {
        &self.row(index).name
    }

    fn row(&self, index: usize) -> &Row {
        &self.rows[self.at[index]]
    }
}

impl Row {
    fn free(&self) -> [i128; 4] {
        let offered = self.spec.as_ref().map_or([0; 4], |spec| spec.allocatable.base);
        let charged = self.charged.base();
        std::array::from_fn(|resource| i128::from(offered[resource]) - charged[resource])
    }

    fn free_rare(&self, name: &str) -> i128 {
        let offered = self.spec.as_ref().map_or(0, |spec| spec.allocatable.get(name));
        i128::from(offered) - self.charged.get(name)
    }

    fn rank(&self, charged: [i128; 4]) -> u64 {
        rank(self.hash, self.spec.as_ref().map_or([0; 4], |spec| spec.allocatable.base), charged)
    }
}

/// An exact amount as near as `i64` can say it.
pub(in crate::core) fn clamp(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX })
}

/// Whether two pods with these host ports cannot share a node, as kube-scheduler's `HostPortInfo` decides.
pub fn ports_conflict(one: &HostPort, other: &HostPort) -> bool {
    one.port != 0
        && one.port == other.port
        && one.protocol == other.protocol
        && (one.address == other.address || one.address.is_empty() || other.address.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::resources::{CPU, MEMORY};
    use crate::core::shape::{Effect, Taint};

    fn spec(cpu: i64, memory: i64) -> NodeSpec {
        let allocatable = Resources { base: [cpu, memory, 0, 110], rare: Vec::new() };
        NodeSpec { allocatable, ..NodeSpec::default() }
    }

    fn name(text: &str) -> Text {
        text.into()
    }

    #[test]
    fn a_ghost_lives_as_long_as_it_is_charged() {
        let (mut nodes, pod, node) = (Nodes::default(), Resources::pod(1000, 10), name("a"));
        let ghost = nodes.id_of(&node);
        nodes.charge(ghost, &pod, &[]);
        assert_eq!((nodes.len(), nodes.free(ghost)), (0, None));
        assert_eq!(nodes.see(&node, spec(4000, 40)), Change { node: ghost, eligibility: true, grew: true });
        assert_eq!(nodes.free(ghost).unwrap().base, [3000, 30, 0, 109]);
        assert_eq!(nodes.gone("a"), Some(ghost));
        assert_eq!((nodes.gone("a"), nodes.gone("b"), nodes.len()), (None, None, 0));
        nodes.discharge(ghost, &pod, &[]);
        assert_eq!((nodes.id("a"), nodes.name(ghost)), (None, None));
        let next = nodes.see(&name("b"), spec(1, 1)).node;
        assert_eq!((next.index, nodes.spec(ghost)), (ghost.index, None));
    }

    #[test]
    fn a_full_node_is_not_overdrawn() {
        let (mut nodes, node) = (Nodes::default(), name("a"));
        let id = nodes.id_of(&node);
        assert!(nodes.is_overdrawn(id), "there is no node yet");
        let rare = |amount| Resources { rare: vec![("gpu".into(), amount)], ..Resources::pod(2000, 20) };
        let _ =
            nodes.see(&node, NodeSpec { allocatable: Resources { base: [4000, 40, 0, 2], ..rare(2) }, ..spec(0, 0) });
        nodes.charge(id, &rare(1), &[]);
        nodes.charge(id, &rare(1), &[]);
        assert!(!nodes.is_overdrawn(id), "full");
        nodes.charge(id, &rare(0), &[]);
        assert!(nodes.is_overdrawn(id), "too much of what all ask for");
        nodes.discharge(id, &rare(0), &[]);
        nodes.charge(id, &Resources { base: [0; 4], ..rare(1) }, &[]);
        assert!(nodes.is_overdrawn(id), "too much of a rare one");
    }

    #[test]
    fn a_change_says_what_it_may_open() {
        let (mut nodes, node) = (Nodes::default(), name("a"));
        let _ = nodes.see(&node, spec(4000, 40));
        let labelled = NodeSpec { labels: [(name("k"), name("v"))].into(), ..spec(3000, 41) };
        let taint = Taint { key: name("k"), value: name(""), effect: Effect::NoExecute };
        for (spec, eligibility, grew) in [
            (spec(4000, 40), false, false),
            (spec(4000, 39), false, false),
            (spec(3000, 40), false, true),
            (labelled.clone(), true, true),
            (labelled.clone(), false, false),
            (NodeSpec { unschedulable: true, ..labelled.clone() }, true, false),
            (NodeSpec { taints: vec![taint.clone()], unschedulable: true, ..labelled.clone() }, true, false),
            (NodeSpec { taints: vec![taint], ..labelled }, true, false),
        ] {
            let change = nodes.see(&node, spec);
            assert_eq!((change.eligibility, change.grew), (eligibility, grew));
        }
    }

    #[test]
    fn absurd_requests_are_counted_exactly() {
        let mut nodes = Nodes::default();
        let id = nodes.see(&name("a"), spec(4000, i64::MAX)).node;
        let absurd = Resources { base: [i64::MAX; 4], rare: vec![("x/y".into(), i64::MAX)] };
        for _ in 0..3 {
            nodes.charge(id, &absurd, &[]);
        }
        assert_eq!(nodes.free(id).unwrap().base[CPU], i64::MIN);
        assert_eq!(nodes.free(id).unwrap().base[MEMORY], -i64::MAX - 1);
        for _ in 0..3 {
            nodes.discharge(id, &absurd, &[]);
        }
        assert_eq!(nodes.free(id).unwrap().base, [4000, i64::MAX, 0, 110]);
    }

    #[test]
    fn the_bound_of_a_block_is_never_below_a_node_and_becomes_exact() {
        let (mut nodes, pod) = (Nodes::default(), Resources::pod(1000, 1));
        let ids: Vec<_> = (0..300).map(|i| nodes.see(&name(&format!("n{i}")), spec(2000, 10)).node).collect();
        for _ in 0..2 {
            for id in &ids[..BLOCK] {
                assert!(nodes.ceiling(0, CPU) >= *nodes.column(CPU)[..BLOCK].iter().max().unwrap());
                nodes.charge(*id, &pod, &[]);
            }
        }
        assert_eq!((nodes.ceiling(0, CPU), nodes.ceiling(1, CPU)), (0, 2000));
        nodes.discharge(ids[7], &pod, &[]);
        assert_eq!(nodes.ceiling(0, CPU), 1000);
    }

    #[test]
    fn ports_conflict_through_the_wildcard_address() {
        let port =
            |address: &str, protocol: &str, port| HostPort { address: name(address), protocol: name(protocol), port };
        for (one, other, conflict) in [
            (port("", "TCP", 80), port("", "TCP", 80), true),
            (port("", "TCP", 80), port("127.0.0.1", "TCP", 80), true),
            (port("127.0.0.1", "TCP", 80), port("127.0.0.1", "TCP", 80), true),
            (port("127.0.0.1", "TCP", 80), port("127.0.0.2", "TCP", 80), false),
            (port("", "TCP", 80), port("", "UDP", 80), false),
            (port("", "TCP", 80), port("", "TCP", 81), false),
            (port("", "TCP", 0), port("", "TCP", 0), false),
        ] {
            assert_eq!((ports_conflict(&one, &other), ports_conflict(&other, &one)), (conflict, conflict));
        }
    }
}
