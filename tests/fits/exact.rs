//! Whether a gang fits, by trying every way; knows nothing of how Gangline looks for one.

use std::collections::HashSet;

use gangline::core::base::resources::Resources;
use gangline::core::shape::{HostPort, Shape};

use super::draw::{Instance, Node};

/// What is left on a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Room {
    free: Resources,
    ports: Vec<HostPort>,
}

impl Room {
    pub(super) fn of(node: &Node) -> Self {
        let mut room = Self { free: node.spec.allocatable.clone(), ports: Vec::new() };
        node.pods.iter().for_each(|pod| room.take(pod));
        room
    }

    pub(super) fn take(&mut self, pod: &Shape) {
        for (name, asked) in pod.request.iter() {
            self.free.set(name, self.free.get(name) - asked);
        }
        self.ports.extend(pod.ports.iter().cloned());
        self.ports.sort_unstable();
    }

    /// Whether kube-scheduler would put one more pod there.
    pub(super) fn fits(&self, node: &Node, pod: &Shape) -> bool {
        let clash = |one: &HostPort, other: &HostPort| {
            one.port == other.port
                && (one.address == other.address || one.address.is_empty() || other.address.is_empty())
        };
        pod.request.iter().all(|(name, asked)| asked == 0 || asked <= self.free.get(name))
            && pod.selector.iter().all(|(key, value)| node.spec.labels.get(key) == Some(value))
            && (node.spec.taints.is_empty() || !pod.tolerations.is_empty())
            && !self.ports.iter().any(|held| pod.ports.iter().any(|port| clash(held, port)))
    }
}

/// One shape of a group's members.
struct Part<'a> {
    group: usize,
    shape: &'a Shape,
    members: u32,
}

/// Part, node, seats to fill in each group, members left of the part, room.
type State = (usize, usize, Vec<u32>, u32, Vec<Room>);

/// A search through all ways.
struct Tries<'a> {
    nodes: &'a [Node],
    parts: Vec<Part<'a>>,
    /// From where there is no way.
    failed: HashSet<State>,
}

pub(super) fn fits(instance: &Instance) -> bool {
    let parts = instance.groups.iter().enumerate().flat_map(|(group, of)| {
        of.members.iter().map(move |(shape, members)| Part { group, shape, members: *members })
    });
    let mut tries = Tries { nodes: &instance.nodes, parts: parts.collect(), failed: HashSet::new() };
    let need = instance.groups.iter().map(|group| group.need).collect();
    let members = tries.parts[0].members;
    tries.go(0, 0, need, members, instance.nodes.iter().map(Room::of).collect())
}

impl Tries<'_> {
    /// Puts one more pod of a part on this node, or goes on to the next node, or to the next part.
    fn go(&mut self, part: usize, node: usize, need: Vec<u32>, members: u32, room: Vec<Room>) -> bool {
        if need.iter().all(|need| *need == 0) {
            return true;
        }
        if node == room.len() {
            let Some(next) = self.parts.get(part + 1) else { return false };
            let members = next.members;
            return self.go(part + 1, 0, need, members, room);
        }
        let Part { group, shape, .. } = self.parts[part];
        let to_come: u32 =
            self.parts[part + 1..].iter().filter(|next| next.group == group).map(|next| next.members).sum();
        if need[group] > members + to_come || need[..group].iter().any(|need| *need > 0) {
            return false;
        }
        if need[group] == 0 {
            return self.go(part, room.len(), need, 0, room);
        }
        let state = (part, node, need, members, room);
        if self.failed.contains(&state) {
            return false;
        }
        let (.., need, _, room) = &state;
        if members > 0 && room[node].fits(&self.nodes[node], shape) {
            let (mut need, mut room) = (need.clone(), room.clone());
            need[group] -= 1;
            room[node].take(shape);
            if self.go(part, node, need, members - 1, room) {
                return true;
            }
        }
        if self.go(part, node + 1, need.clone(), members, room.clone()) {
            return true;
        }
        self.failed.insert(state);
        false
    }
}
