//! Small clusters and gangs, drawn by number.

use std::sync::Arc;

use gangline::core::base::resources::Resources;
use gangline::core::shape::{Effect, HostPort, NodeSpec, Shape, Taint, Toleration};

/// What makes it hard to find room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// cpu alone.
    Cpu,
    /// cpu and memory.
    Memory,
    /// cpu, memory and GPUs.
    Gpu,
    /// All of it, with selectors, taints and host ports, on nodes that are in use.
    All,
    /// As all, and there are more members than seats, which differ.
    Members,
}

pub(crate) const KINDS: [Kind; 5] = [Kind::Cpu, Kind::Memory, Kind::Gpu, Kind::All, Kind::Members];

/// Nodes, and a gang that is to be placed on them.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) nodes: Vec<Node>,
    pub(super) groups: Vec<Group>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) spec: NodeSpec,
    /// What other schedulers put there.
    pub(super) pods: Vec<Arc<Shape>>,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Seats.
    pub(super) need: u32,
    /// Its members: so many of each shape.
    pub(super) members: Vec<(Arc<Shape>, u32)>,
}

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `least` to `most`.
    fn within(&mut self, least: i64, most: i64) -> i64 {
        least + (self.next() % (most - least + 1).cast_unsigned()).cast_signed()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// Seats of one gang at most: so many the exact search can try in all ways.
const SEATS: i64 = 14;

pub(super) fn instance(seed: u64, kind: Kind) -> Instance {
    let mut dice = Dice(seed);
    let nodes = (0..dice.within(2, 6)).map(|_| node(&mut dice, kind)).collect();
    let count = dice.within(1, 4);
    let groups = (0..count).map(|_| group(&mut dice, kind, SEATS / count)).collect();
    Instance { nodes, groups }
}

fn node(dice: &mut Dice, kind: Kind) -> Node {
    let memory = if kind == Kind::Cpu { 99 } else { dice.within(2, 12) };
    let pods = if dice.chance(10) { dice.within(1, 4) } else { 110 };
    let mut allocatable = Resources { base: [dice.within(2, 12) * 1000, memory << 30, 0, pods], rare: Vec::new() };
    if matches!(kind, Kind::Gpu | Kind::All | Kind::Members) && dice.chance(40) {
        allocatable.set("example.com/gpu", dice.within(1, 3));
    }
    let mut spec = NodeSpec { allocatable, ..NodeSpec::default() };
    let mut pods = Vec::new();
    if matches!(kind, Kind::All | Kind::Members) {
        spec.labels.insert("zone".into(), dice.within(0, 1).to_string().into());
        if dice.chance(25) {
            spec.taints.push(Taint { key: "only".into(), value: "".into(), effect: Effect::NoSchedule });
        }
        pods = (0..dice.within(0, 2)).map(|_| pod(dice, kind, 2)).collect();
    }
    Node { spec, pods }
}

fn group(dice: &mut Dice, kind: Kind, most: i64) -> Group {
    let need = dice.within(1, most.min(5)) as u32;
    if kind != Kind::Members {
        return Group { need, members: vec![(pod(dice, kind, 6), need)] };
    }
    let more = need + dice.within(0, 2) as u32;
    let first = dice.within(0, i64::from(more)) as u32;
    let members = [(pod(dice, kind, 6), first), (pod(dice, kind, 6), more - first)];
    Group { need, members: members.into_iter().filter(|(_, count)| *count > 0).collect() }
}

fn pod(dice: &mut Dice, kind: Kind, most: i64) -> Arc<Shape> {
    let memory = if kind == Kind::Cpu { 1 } else { dice.within(1, most) };
    let mut shape = Shape { request: Resources::pod(dice.within(1, most) * 1000, memory << 30), ..Shape::default() };
    if matches!(kind, Kind::Gpu | Kind::All | Kind::Members) && dice.chance(30) {
        shape.request.set("example.com/gpu", 1);
    }
    if matches!(kind, Kind::All | Kind::Members) {
        if dice.chance(20) {
            shape.selector.insert("zone".into(), dice.within(0, 1).to_string().into());
        }
        if dice.chance(40) {
            let all = Toleration { key: Some("only".into()), exists: true, value: "".into(), effect: None };
            shape.tolerations.push(all);
        }
        if dice.chance(15) {
            let address = if dice.chance(50) { "" } else { "10.0.0.1" }.into();
            shape.ports.push(HostPort { address, protocol: "TCP".into(), port: dice.within(80, 81) as u16 });
        }
    }
    Arc::new(shape)
}
