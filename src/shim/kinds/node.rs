//! What is kept of nodes: that they are there.

use k8s_openapi::api::core::v1::Node;

use super::Kept;
use crate::core::base::ids::Key;
use crate::core::event::Event;
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::node::node_spec;
use crate::shim::observation::Malformed;

/// All nodes.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct Nodes {
    known: Known<()>,
}

impl Kept for Nodes {
    type Object = Node;
    type Facts = ();

    fn known(&self) -> &Known<()> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<()> {
        &mut self.known
    }

    fn see(&mut self, at: Version, node: &Node) -> Vec<Event> {
        let mut events = Vec::new();
        match self.known.sight(&at) {
            Sight::Stale => return events,
            Sight::Replaced(()) => events.extend(self.lost(&at.key, ())),
            Sight::New | Sight::Changed => {}
        }
        events.push(Event::Node(at.key.name.clone(), Box::new(node_spec(node))));
        self.known.put(at, Whose::Ours, ());
        events
    }

    fn see_malformed(&mut self, at: Version, _: Malformed) -> Vec<Event> {
        match self.known.sight(&at) {
            Sight::Replaced(()) => self.lost(&at.key, ()),
            Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
        }
    }

    fn lost(&mut self, key: &Key, (): ()) -> Vec<Event> {
        vec![Event::NodeGone(key.name.clone())]
    }
}
