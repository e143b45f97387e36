//! Whom of the gangs a deed disturbs: what a judge then excuses, because somebody took something from it.

use std::collections::BTreeSet;

use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;

use super::amount::Amount;
use super::marks::{application_of_pod, group_of};
use super::oracle::{Counted, application_of, in_force};
use super::people::{NS, TASK_GROUP, label, node_of};
use super::world::World;

impl World {
    /// What cannot be read is not known to a process that begins, and not seen to change by another.
    pub(super) fn disturb_readers(&mut self, kind: Kind, name: &str) {
        match kind {
            Kind::Pod => {
                let key = Key::new(NS, name);
                let groups = self.groups_of_pod(&key);
                groups.iter().for_each(|group| self.excuse_rounds(group));
                self.disturb_group_at(&key);
            }
            Kind::Node => self.disturb_node(name),
            Kind::TaskGroup
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => {
                self.excuse_rounds(name);
                self.disturb(name);
            }
            Kind::Queue => self.groups_in(name).iter().for_each(|group| self.disturb(group)),
            // A process that begins knows of no queue of it, and lets all of it wait.
            Kind::Namespace if self.api.store.get(kind, &Key::cluster(name)).is_some() => {
                let groups = self.groups();
                groups.iter().for_each(|(group, _)| self.disturb(group));
                self.rehome();
            }
            Kind::ResourceQuota | Kind::Namespace => {}
        }
    }

    /// Members and seats on a node are lost, or cannot be had there any more.
    pub(super) fn disturb_node(&mut self, name: &str) {
        let on_it = |body: &&Body| node_of(body) == Some(name);
        let there: Vec<Body> = self.api.store.of_kind(Kind::Pod).map(|(_, body)| body).filter(on_it).cloned().collect();
        there.iter().for_each(|pod| self.disturb_group_of(pod));
        let on_their_way = self.on_their_way(name).unwrap_or_else(|| {
            // Who hears late may still give away what is there.
            let perhaps = if self.hears_late() { self.incomplete() } else { self.unfinished() };
            perhaps.into_iter().chain(self.ledger.begun()).collect()
        });
        on_their_way.iter().for_each(|group| self.disturb(group));
    }

    /// Groups of pods that the scheduler has sent to a node, and that are not there: whose Binding is on its way or has to
    /// wait, or who is in the middle of a swap. `None` where it may decide by what is not so any more, or is not there.
    fn on_their_way(&self, node: &str) -> Option<Vec<String>> {
        let mut processes = self.running();
        let (process, others) = (processes.next()?, processes.next());
        if others.is_some() || self.hears_late() || !process.is_synced() {
            return None;
        }
        let is_there = |pod: &&Key| self.api.store.get(Kind::Pod, pod).is_some_and(|pod| node_of(pod) == Some(node));
        let sent = process.residents(node).filter(|pod| !is_there(pod));
        Some(sent.flat_map(|pod| self.groups_of_pod(pod)).collect())
    }

    /// Somebody took room on a node, whatever else is there.
    pub(super) fn room_taken(&mut self, node: &str) {
        // It may be the room of a swap.
        let perhaps = || self.in_a_swap().into_iter().chain(self.ledger.begun()).collect();
        let on_their_way: Vec<String> = self.on_their_way(node).unwrap_or_else(perhaps);
        on_their_way.iter().for_each(|group| self.disturb(group));
        if self.is_overdrawn(node) {
            self.disturb_node(node);
        }
    }

    /// Whether pods on a node ask for more than it has.
    pub(super) fn is_overdrawn(&self, node: &str) -> bool {
        let Some(Body::Node(found)) = self.api.store.get(Kind::Node, &Key::cluster(node)) else { return false };
        let on_it = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| node_of(body) == Some(node));
        let asked = on_it.map(|(_, body)| match body {
            Body::Pod(pod) if !has_ended(pod) => Amount::of_pod(pod),
            Body::Pod(_)
            | Body::Node(_)
            | Body::TaskGroup(_)
            | Body::Queue(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => Amount::default(),
        });
        !asked.sum::<Amount>().is_within(Amount::of_node(found))
    }

    /// Groups that lack members, of gangs that have something of what they need, or say that they run.
    pub(super) fn unfinished(&self) -> Vec<String> {
        self.of_begun(|Counted { numbers, group, .. }| numbers.bound < group.spec.min_member)
    }

    /// Groups that have neither a member nor a placeholder for some of their seats, or will not have, of gangs as above.
    fn in_a_swap(&self) -> Vec<String> {
        self.of_begun(|Counted { numbers, group, .. }| {
            numbers.called_off > 0 || numbers.bound + numbers.held < in_force(group)
        })
    }

    fn of_begun(&self, lacks: impl Fn(&Counted) -> bool) -> Vec<String> {
        let groups = self.counted();
        let has_begun = |Counted { numbers, group, .. }: &&Counted| {
            let started = group.status.as_ref().is_some_and(|status| status.application_state == "Running");
            numbers.bound + numbers.held > 0 || started
        };
        let begun: BTreeSet<&String> = groups.iter().filter(has_begun).map(|counted| &counted.application).collect();
        let found = groups.iter().filter(|counted| begun.contains(&counted.application) && lacks(counted));
        found.map(|counted| counted.name.clone()).collect()
    }

    /// Groups that do not have every member yet.
    pub(super) fn incomplete(&self) -> Vec<String> {
        let mut groups = self.counted();
        groups.retain(|counted| counted.numbers.bound < counted.group.spec.min_member);
        groups.into_iter().map(|counted| counted.name).collect()
    }

    /// All groups of the gang that a pod belongs to.
    pub(super) fn gang_of_pod(&self, key: &Key) -> BTreeSet<String> {
        let own = self.groups_of_pod(key);
        let groups = self.groups();
        let applications = groups.iter().filter(|(name, _)| own.contains(name));
        let applications: Vec<String> = applications.map(|(name, group)| application_of(name, group)).collect();
        let applications: Vec<Option<&str>> = applications.iter().map(|one| Some(&**one)).collect();
        self.groups_of_applications(&applications).into_iter().chain(own).collect()
    }

    /// The groups that a pod is of: that of a member, or, of a driver, all of its application.
    fn groups_of_pod(&self, key: &Key) -> Vec<String> {
        let Some(pod) = self.api.store.get(Kind::Pod, key) else { return Vec::new() };
        match group_of(pod) {
            Some(group) => vec![group.to_owned()],
            None => self.groups_of_applications(&[application_of_pod(pod)]),
        }
    }

    /// The group of a pod that goes with its node.
    pub(crate) fn disturb_group_at(&mut self, key: &Key) {
        if let Some(pod) = self.api.store.get(Kind::Pod, key).cloned() {
            self.disturb_group_of(&pod);
        }
    }

    pub(super) fn disturb_group_of(&mut self, pod: &Body) {
        if let Some(group) = label(pod, TASK_GROUP) {
            self.disturb(group);
        }
    }
}
