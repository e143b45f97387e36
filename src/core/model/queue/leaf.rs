//! Who may use a queue: some namespaces only, or one that has it as its own (01, 1.12, 1.2.3).

use std::collections::{BTreeMap, BTreeSet};

use super::{Queue, Queues};
use crate::core::base::ids::{QueueId, Text};
use crate::core::event::{LeafSpec, OwnQueue, QueueSpec, Selector};
use crate::core::model::fit::holds;
use crate::core::reason::RejectReason;

/// Longest path of a queue: it is a label value too.
pub const MAX_PATH: usize = 63;

impl Queue {
    /// Whether a Queue object defines it, or it always exists.
    pub const fn has_object(&self) -> bool {
        self.defined && self.namespace.is_none()
    }
}

impl Queues {
    /// Paths of the queues that choose namespaces.
    pub const fn choosing(&self) -> &BTreeSet<Text> {
        &self.choosing
    }

    /// Whether a queue chooses namespaces with these labels.
    pub fn chooses(&self, path: &Text, labels: &BTreeMap<Text, Text>) -> bool {
        let queue = self.choosing.get(path).and_then(|path| self.find(path));
        let selector = queue.and_then(|id| self.arena[id].spec.namespaces.as_ref());
        selector.is_some_and(|selector| selector.chooses(labels))
    }

    /// What the queue of a namespace below this one is, if namespaces have one there.
    pub fn leaf_below(&self, path: &Text, says: &OwnQueue) -> Option<QueueSpec> {
        let queue = self.choosing.get(path).and_then(|path| self.find(path))?;
        Some(self.arena[queue].spec.template.as_ref()?.of(says))
    }

    /// Gives a namespace this queue of its own, or changes it. One that a Queue object defines stays as that says. Returns
    /// the queue, if something changed.
    pub fn give(&mut self, path: &Text, namespace: &Text, spec: QueueSpec) -> Option<QueueId> {
        let has_object = self.find(path).is_some_and(|id| self.arena[id].has_object());
        if has_object { None } else { self.define_for(path, Some(namespace), spec) }
    }

    /// The queue of this path, if a namespace has it as its own.
    pub fn own(&self, path: &str, namespace: &Text) -> Option<QueueId> {
        let is_own = |id: &QueueId| self.arena[*id].defined && self.arena[*id].namespace.as_ref() == Some(namespace);
        self.find(path).filter(is_own)
    }

    /// The queue of a path, if it takes work.
    ///
    /// # Errors
    /// Why it takes none.
    pub fn usable(&self, path: &str) -> Result<QueueId, RejectReason> {
        let Some(id) = self.find(path) else { return Err(RejectReason::QueueNotFound(path.into())) };
        let queue = &self.arena[id];
        if !queue.defined {
            return Err(RejectReason::QueueDraining(queue.path.clone()));
        }
        if let Some(stopped) = self.path(id).find(|at| self.arena[*at].spec.stopped) {
            return Err(RejectReason::QueueStopped(self.arena[stopped].path.clone()));
        }
        if self.is_leaf(id) { Ok(id) } else { Err(RejectReason::QueueNotLeaf(queue.path.clone())) }
    }

    /// Of a queue and those above it, from the leaf upwards, the first that is for other namespaces. `chosen_by`: the
    /// queues that choose this one.
    pub fn closed_to(&self, id: QueueId, namespace: &Text, chosen_by: &BTreeSet<Text>) -> Option<&Text> {
        let is_for_others = |queue: &&Queue| match &queue.namespace {
            Some(owner) => owner != namespace,
            None => queue.spec.namespaces.is_some() && !chosen_by.contains(&queue.path),
        };
        self.path(id).map(|at| &self.arena[at]).find(is_for_others).map(|queue| &queue.path)
    }

    /// Notes whether a queue chooses namespaces.
    pub(super) fn note_choosing(&mut self, id: QueueId) {
        let queue = &self.arena[id];
        if queue.defined && queue.spec.namespaces.is_some() {
            self.choosing.insert(queue.path.clone());
        } else {
            self.choosing.remove(&queue.path);
        }
    }
}

impl Selector {
    /// Whether it chooses what has these labels.
    pub fn chooses(&self, labels: &BTreeMap<Text, Text>) -> bool {
        self.0.iter().all(|requirement| holds(requirement, labels.get(&requirement.key).map(|value| &**value)))
    }
}

impl LeafSpec {
    /// The queue of a namespace that says this.
    fn of(&self, says: &OwnQueue) -> QueueSpec {
        QueueSpec {
            max: says.max.clone().unwrap_or_else(|| self.max.clone()),
            guaranteed: says.guaranteed.clone().unwrap_or_else(|| self.guaranteed.clone()),
            sort_policy: self.sort_policy,
            max_applications: says.max_applications.or(self.max_applications),
            ..QueueSpec::default()
        }
    }
}
