//! Namespaces come, change and go, and queues choose others: what each has of its own, and whose work may have another
//! queue now (01, 1.12).

use std::collections::BTreeSet;

use crate::core::base::ids::Text;
use crate::core::event::NamespaceSpec;
use crate::core::model::books::Books;
use crate::core::model::namespaces::{Namespace, own_path};
use crate::core::model::queue::MAX_PATH;

impl Books {
    /// A Namespace as last observed.
    pub(in crate::core) fn see_namespace(&mut self, name: &Text, spec: NamespaceSpec) {
        if self.namespaces.get(name).is_some_and(|known| known.spec == spec) {
            return;
        }
        let chosen_by = self.namespaces.remove(name).map(|known| known.chosen_by).unwrap_or_default();
        let queues: BTreeSet<Text> = self.queues.choosing().union(&chosen_by).cloned().collect();
        self.namespaces.insert(name.clone(), Namespace { spec, chosen_by });
        queues.iter().for_each(|queue| self.choose(queue, name));
        if !queues.is_empty() {
            // It may say something else of its queue, or its pods were there before it.
            self.due.homes.insert(name.clone());
        }
        // Something else may be wrong with it, which the queues that choose it say.
        self.show_choosing(name);
    }

    /// The Namespace is gone.
    pub(in crate::core) fn lose_namespace(&mut self, name: &Text) {
        let Some(Namespace { chosen_by, .. }) = self.namespaces.remove(name) else { return };
        chosen_by.iter().for_each(|queue| self.take_own(queue, name));
        if !chosen_by.is_empty() {
            self.due.homes.insert(name.clone());
        }
    }

    /// A queue came, changed or went that `chose` before, or not: others may be chosen now, or have something else of their
    /// own.
    pub(in crate::core) fn choose_anew(&mut self, path: &Text, chose: bool) {
        if chose || self.queues.choosing().contains(path) {
            let names: Vec<Text> = self.namespaces.keys().cloned().collect();
            names.iter().for_each(|name| self.choose(path, name));
        }
        // With another queue below it one may have become a leaf, or none.
        let up = std::iter::successors(Some(&**path), |path| path.rsplit_once('.').map(|(above, _)| above));
        let choosing: Vec<Text> = up.filter_map(|path| self.queues.choosing().get(path)).cloned().collect();
        if chose || !choosing.is_empty() {
            // What a namespace says of its queue counts as soon as any queue chooses namespaces, also for one that none of them chooses.
            let is_meant = |known: &Namespace| {
                known.spec.says.above.is_some() || choosing.iter().any(|queue| known.chosen_by.contains(queue))
            };
            let names = self.namespaces.iter().filter(|(_, known)| is_meant(known)).map(|(name, _)| name.clone());
            self.due.homes.extend(names);
        }
    }

    /// The object of a queue is gone: a namespace may have it as its own again.
    pub(in crate::core) fn give_again(&mut self, path: &Text) {
        if let Some((above, name)) = path.rsplit_once('.') {
            self.choose(&above.into(), &name.into());
        }
    }

    /// Notes whether a queue chooses a namespace, and gives that what it has of its own there.
    fn choose(&mut self, queue: &Text, name: &Text) {
        let Some(known) = self.namespaces.get_mut(name) else { return };
        let is_chosen = self.queues.chooses(queue, &known.spec.labels);
        let is_new = if is_chosen { known.chosen_by.insert(queue.clone()) } else { known.chosen_by.remove(queue) };
        if is_new {
            self.due.homes.insert(name.clone());
        }
        let own = own_path(queue, name);
        let given = self.queues.leaf_below(queue, &known.spec.says);
        match given.filter(|_| is_chosen && own.len() <= MAX_PATH) {
            Some(spec) => {
                let changed = self.queues.give(&own, name, spec);
                changed.into_iter().for_each(|id| self.queue_changed(id));
            }
            None => self.take_own(queue, name),
        }
    }

    /// A namespace has no queue of its own there any more: it drains.
    fn take_own(&mut self, queue: &Text, name: &Text) {
        if let Some(id) = self.queues.own(&own_path(queue, name), name) {
            self.drain(id);
        }
    }

    fn show_choosing(&mut self, name: &Text) {
        let chosen_by = self.namespaces.get(name).into_iter().flat_map(|known| &known.chosen_by);
        self.changes.queues.extend(chosen_by.filter_map(|queue| self.queues.find(queue)));
    }
}
