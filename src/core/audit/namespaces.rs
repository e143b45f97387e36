//! Which queues choose which namespaces, and what those have of their own, computed anew and compared.

use std::collections::BTreeSet;

use crate::core::base::ids::Text;
use crate::core::model::namespaces::{Namespace, own_path};
use crate::core::model::queue::MAX_PATH;
use crate::core::step::Scheduler;

impl Scheduler {
    pub(super) fn audit_namespaces(&self, violations: &mut Vec<String>) {
        let queues = self.books.queues.iter().map(|(_, queue)| queue);
        let choosing = queues.filter(|queue| queue.defined && queue.spec.namespaces.is_some());
        let choosing: BTreeSet<Text> = choosing.map(|queue| queue.path.clone()).collect();
        if choosing != *self.books.queues.choosing() {
            violations.push(format!("queues that choose namespaces are {choosing:?}"));
        }
        let mut own = BTreeSet::new();
        for (name, known) in &self.books.namespaces {
            self.audit_namespace(name, known, violations);
            own.extend(known.chosen_by.iter().map(|queue| own_path(queue, name)));
        }
        for (_, queue) in self.books.queues.iter() {
            if queue.defined && queue.namespace.is_some() && !own.contains(&queue.path) {
                violations.push(format!("queue {} is no namespace's own", queue.path));
            }
        }
    }

    fn audit_namespace(&self, name: &Text, known: &Namespace, violations: &mut Vec<String>) {
        let queues = &self.books.queues;
        let chosen_by = queues.choosing().iter().filter(|queue| queues.chooses(queue, &known.spec.labels));
        if chosen_by.clone().ne(&known.chosen_by) {
            violations.push(format!("namespace {name} is chosen by others than {:?}", known.chosen_by));
        }
        for queue in chosen_by {
            let own = own_path(queue, name);
            let given = queues.leaf_below(queue, &known.spec.says).filter(|_| own.len() <= MAX_PATH);
            let there = queues.find(&own).map(|id| &queues[id]).filter(|queue| queue.defined);
            let is_right = match (given, there) {
                (_, Some(there)) if there.has_object() => true,
                (Some(given), Some(there)) => there.spec == given && there.namespace.as_ref() == Some(name),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_right {
                violations.push(format!("queue {own} is not what namespace {name} is given"));
            }
        }
    }
}
