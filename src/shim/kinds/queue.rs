//! What is kept of Queues: the tree that they make, and their status as it stands and as it is on its way.

use super::Kept;
use crate::api::queue::{Queue, QueueStatus};
use crate::core::base::ids::{Key, Uid};
use crate::core::event::Event;
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::queue::QueueTree;
use crate::shim::shown::Shown;

/// All Queues.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct Queues {
    known: Known<QueueFacts>,
    /// What is in force.
    pub(in crate::shim) tree: QueueTree,
}

impl Queues {
    /// No Queues, where it is known who submitted an object if it `is`.
    pub(in crate::shim) fn new(knows_submitters: bool) -> Self {
        Self { tree: QueueTree::knowing_submitters(knows_submitters), ..Self::default() }
    }
}

/// What is kept of a Queue.
#[derive(Clone, Debug)]
pub struct QueueFacts {
    /// Its UID.
    pub uid: Uid,
    /// Its generation.
    pub generation: i64,
    /// Its status.
    pub status: Shown<QueueStatus>,
}

impl Kept for Queues {
    type Object = Queue;
    type Facts = QueueFacts;

    fn known(&self) -> &Known<QueueFacts> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<QueueFacts> {
        &mut self.known
    }

    fn see(&mut self, at: Version, queue: &Queue) -> Vec<Event> {
        if matches!(self.known.sight(&at), Sight::Stale) {
            return Vec::new();
        }
        let name = at.key.name.clone();
        let generation = queue.metadata.generation.unwrap_or(0);
        match self.known.get_mut(&at.key) {
            Some(facts) => facts.generation = generation,
            None => {
                let status = Shown::new(queue.status.clone().unwrap_or_default());
                let facts = QueueFacts { uid: at.uid.clone(), generation, status };
                self.known.put(at, Whose::Ours, facts);
            }
        }
        self.tree.upsert(&name, queue)
    }

    fn see_malformed(&mut self, at: Version, malformed: Malformed) -> Vec<Event> {
        if matches!(self.known.sight(&at), Sight::Stale) {
            return Vec::new();
        }
        let Malformed { problem, generation } = malformed;
        let name = at.key.name.clone();
        match self.known.get_mut(&at.key) {
            // What its status said is still there.
            Some(facts) => facts.generation = generation,
            None => {
                let facts = QueueFacts { uid: at.uid.clone(), generation, status: Shown::default() };
                self.known.put(at, Whose::Ours, facts);
            }
        }
        self.tree.unreadable(&name, &problem)
    }

    fn lost(&mut self, key: &Key, _: QueueFacts) -> Vec<Event> {
        self.tree.gone(&key.name)
    }

    fn beside(&self) -> Option<&'static str> {
        (!self.tree.is_empty()).then_some("tree of queues")
    }
}
