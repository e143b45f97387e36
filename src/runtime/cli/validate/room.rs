//! Whether the nodes of the files have room for somebody, if nothing else runs there.

use crate::core::base::ids::Text;
use crate::core::base::resources::{Amount, Resources};
use crate::core::model::fit::Constraints;
use crate::core::shape::{NodeSpec, Shape};
use crate::runtime::text::count as count_of;

/// The nodes of the files.
pub(super) struct Nodes(pub(super) Vec<(Text, NodeSpec)>);

impl Nodes {
    /// Why so many pods of this shape do not find room all at once; `None` where they may, or where there are no nodes.
    pub(super) fn lack_for(&self, shape: &Shape, count: u32) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let constraints = Constraints::of(shape);
        let may = self.0.iter().filter(|(name, node)| constraints.check(name, node).is_ok());
        let may: Vec<&Resources> = may.map(|(_, node)| &node.allocatable).collect();
        if may.is_empty() {
            let nodes = count_of(self.0.len(), "node");
            return Some(format!(
                "of the {nodes} in the files none may take it: selector, affinity or taints are against it"
            ));
        }
        let room: u64 = may.iter().map(|node| room(&shape.request, node)).sum();
        match room {
            0 => Some(too_large(&shape.request, &may)),
            room if room < u64::from(count) => {
                Some(format!("the nodes in the files have room for {room} of {count}, even if nothing else runs there"))
            }
            _ => None,
        }
    }
}

/// How many of these find room on an empty node.
fn room(request: &Resources, node: &Resources) -> u64 {
    let asked = request.iter().filter(|(_, amount)| *amount > 0);
    let times = asked.map(|(name, amount)| node.get(name).max(0).cast_unsigned() / amount.cast_unsigned());
    times.min().unwrap_or(u64::MAX)
}

/// What no node has enough of for one.
fn too_large(request: &Resources, nodes: &[&Resources]) -> String {
    let most = |name: &str| nodes.iter().map(|node| node.get(name)).max().unwrap_or(0);
    match request.iter().find(|(name, amount)| *amount > most(name)) {
        Some((name, amount)) => {
            let (asked, most) = (Amount(name, i128::from(amount)), Amount(name, i128::from(most(name))));
            format!("one asks for {asked} {name}, and no node in the files that may take it has more than {most}")
        }
        None => "no node in the files that may take it has room for one".to_owned(),
    }
}
