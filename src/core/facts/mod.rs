//! Events become facts in the books: pods, task groups, queues, nodes, and what became of our calls. Nothing is decided
//! here: what facts call for is noted ([`crate::core::model::due`]).

mod calls;
mod groups;
mod namespaces;
mod objects;
mod pods;

use crate::core::event::Event;
use crate::core::model::books::Books;

impl Books {
    /// Takes a fact in. Every fact is legal, however late and however often it comes.
    pub(in crate::core) fn apply(&mut self, event: Event) {
        match event {
            Event::Ask(id, spec) => self.see_ask(id, *spec),
            Event::AskGone(id) => self.lose_ask(id),
            Event::Group(key, spec) => self.see_group(&key, *spec),
            Event::GroupRead(key, spec) => self.read_group(&key, *spec),
            Event::GroupGone(key) => self.lose_group(&key),
            Event::Queue(path, spec) => self.see_queue(&path, spec),
            Event::QueueDisplaced(path, spec) => self.displace_queue(&path, spec),
            Event::QueueGone(path) => self.lose_queue(&path),
            Event::Node(name, spec) => self.see_node(&name, *spec),
            Event::NodeGone(name) => self.lose_node(&name),
            Event::Namespace(name, spec) => self.see_namespace(&name, *spec),
            Event::NamespaceGone(name) => self.lose_namespace(&name),
            Event::NamespaceLimit(namespace, limit) => self.see_namespace_limit(&namespace, &limit),
            Event::Bind(ask, outcome) => self.bind_ended(ask, outcome),
            Event::CreateRefused(name, refusal) => self.create_refused(name, refusal),
            Event::ReleaseRefused(ask, refusal) => self.release_refused(ask, refusal),
            Event::ReleaseHeldUp(ask, refusal) => self.release_held_up(ask, refusal),
            Event::GroupsListed => self.groups_are_listed(),
            Event::QueuesListed => self.queues_are_listed(),
            Event::Synced => self.begin(),
        }
    }

    /// Whether an event says nothing new: the object was written, but none of the fields that we read has changed.
    pub(in crate::core) fn knows(&self, event: &Event) -> bool {
        match event {
            // The stored role of a relabelled pod is not the observed one, so that the specs cannot be compared.
            Event::Ask(id, spec) => {
                self.asks.get(*id).is_some_and(|ask| ask.relabelled.is_none() && ask.spec == **spec)
            }
            Event::Node(name, spec) => self.nodes.id(name).and_then(|id| self.nodes.spec(id)) == Some(&**spec),
            Event::AskGone(_)
            | Event::Group(..)
            | Event::GroupRead(..)
            | Event::GroupGone(_)
            | Event::Queue(..)
            | Event::QueueDisplaced(..)
            | Event::QueueGone(_)
            | Event::NodeGone(_)
            | Event::Namespace(..)
            | Event::NamespaceGone(_)
            | Event::NamespaceLimit(..)
            | Event::Bind(..)
            | Event::CreateRefused(..)
            | Event::ReleaseRefused(..)
            | Event::ReleaseHeldUp(..)
            | Event::GroupsListed
            | Event::QueuesListed
            | Event::Synced => false,
        }
    }

    /// A placeholder of which no TaskGroup is known is a stray now; and what no TaskGroup of an application lists it does not
    /// have.
    fn groups_are_listed(&mut self) {
        if !std::mem::replace(&mut self.listed.groups, true) {
            self.look_at_placeholders();
            let named = self.asks.iter().map(|(_, ask)| &ask.spec);
            let named = named.filter_map(|spec| Some(spec.key.beside(spec.application.as_ref()?)));
            self.due.regroup.extend(named);
        }
    }

    /// Applications and pods whose queue was not known until now are judged.
    fn queues_are_listed(&mut self) {
        if !std::mem::replace(&mut self.listed.queues, true) {
            self.changes.apps.extend(self.apps.iter().map(|(id, _)| id));
            self.changes.asks.extend(self.queueless.iter().copied());
        }
    }

    /// All kinds are listed: whatever was absorbed so far is looked at now (01, 1.11).
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.listed.all, true) {
            self.changes.apps.extend(self.apps.iter().map(|(id, _)| id));
            self.changes.pass_due = true;
            self.look_at_placeholders();
        }
    }

    /// Notes every placeholder to be looked at: the task group of some may be gone, or may have been created anew.
    fn look_at_placeholders(&mut self) {
        self.due.found.extend(self.asks.iter().filter(|(_, ask)| ask.is_placeholder()).map(|(id, _)| id));
    }
}
