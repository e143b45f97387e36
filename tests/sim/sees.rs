//! What one process has observed, taken down from what its watches showed.

use std::collections::BTreeSet;
use std::sync::Arc;

use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::{Body, Seen};
use gangline::shim::op::Kind;
use k8s_openapi::api::core::v1::Pod;

use super::housed::NO_QUEUE;
use super::{GroupSeen, NodeSeen, PodSeen, Process, is_within};
use crate::sim::amount::{Amount, pods_of_node};
use crate::sim::homes::Door;
use crate::sim::limits::Submitter;
use crate::sim::marks::{Seat, application_of_pod, group_of, life_mark, queue_mark, seat_label, seat_mark, uid_mark};
use crate::sim::oracle::has_phase;
use crate::sim::people::{is_placeholder, label, node_of};
use crate::sim::place::{Wants, ZONE, is_dead, is_tainted};
use crate::sim::spoken::declares;
use crate::sim::words::words_of;

impl Process {
    /// What has a node has been bound; what is being deleted without one gets none any more, whatever is on its way.
    pub(super) fn settle(&mut self, seen: &Seen) {
        let terminates = |body: &Body| gangline::sim::store::metadata(body).deletion_timestamp.is_some();
        let Ok(body) = &seen.body else { return };
        if node_of(body).is_some() {
            self.answered.insert(seen.uid.clone());
        } else if terminates(body) {
            self.intents.remove(&seen.uid);
        }
    }

    pub(super) fn see(&mut self, kind: Kind, seen: &Seen) {
        self.settle(seen);
        self.uids.insert((kind, seen.key.clone()), seen.uid.clone());
        self.ever_seen.insert((kind, seen.key.clone(), seen.uid.clone()));
        let Ok(body) = &seen.body else { return self.see_unreadable(kind, seen) };
        match body {
            Body::Pod(_) => self.see_pod(seen, body),
            Body::Node(node) => {
                let (has, pods) = (Amount::of_node(node), pods_of_node(node));
                let changed_ms = match self.nodes.get(&seen.key) {
                    None => 0,
                    Some(old) if old.has.is_within(has) && old.pods <= pods => old.changed_ms,
                    Some(_) => self.now_ms,
                };
                let is_cordoned =
                    is_dead(node) || node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
                let old = self.nodes.get(&seen.key);
                // One that was so when it was first seen was always so.
                let since = |at: fn(&NodeSeen) -> Option<u64>| old.map_or(0, |old| at(old).unwrap_or(self.now_ms));
                let cordoned_ms = is_cordoned.then(|| since(|old| old.cordoned_ms));
                let tainted_ms = is_tainted(node).then(|| since(|old| old.tainted_ms));
                let zone = label(body, ZONE).map(str::to_owned);
                let is_same = |old: &NodeSeen| {
                    let before = (old.has, old.pods, old.cordoned_ms, old.tainted_ms, &old.zone);
                    before == (has, pods, cordoned_ms, tainted_ms, &zone)
                };
                if !old.is_some_and(is_same) {
                    self.give_up_lost_on(&seen.key.name);
                }
                let node = NodeSeen { has, pods, changed_ms, cordoned_ms, tainted_ms, zone };
                self.nodes.insert(seen.key.clone(), node);
            }
            Body::Queue(queue) => {
                let bounds = self.bounds_of(&seen.key.name, queue, self.queues.get(&seen.key));
                self.see_limit(&seen.key, Amount::of_queue(queue), bounds);
                self.see_door(&seen.key, Door::of(queue));
            }
            Body::TaskGroup(group) => self.see_group(seen, group),
            Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => {
                self.see_pod_group(kind, seen);
            }
            Body::Namespace(namespace) => self.see_namespace(seen, namespace),
            Body::ResourceQuota(_) => {}
        }
    }

    fn see_group(&mut self, seen: &Seen, group: &Arc<TaskGroup>) {
        self.group_uids.insert(seen.key.clone(), seen.uid.clone());
        let min = group.spec.min_member;
        let listed = group.spec.gang_group.iter().filter_map(|name| name.split_once('/'));
        let gang: Vec<Key> = listed.map(|(namespace, name)| Key::new(namespace, name)).collect();
        let gang = if gang.is_empty() { vec![seen.key.clone()] } else { gang };
        let known = self.groups.entry(seen.uid.clone()).or_insert_with(|| GroupSeen {
            key: seen.key.clone(),
            min: Some(min),
            gang: Vec::new(),
            queues: BTreeSet::new(),
            last: None,
            edited: false,
        });
        let before = known.last.replace(group.clone());
        known.edited |= before.is_some_and(|before| before.spec != group.spec);
        known.min = known.min.filter(|known| *known == min);
        known.gang = gang;
        known.queues.insert(group.spec.queue.clone().unwrap_or_else(|| NO_QUEUE.to_owned()));
    }

    /// Of what cannot be read is known that whoever had its name before is gone.
    fn see_unreadable(&mut self, kind: Kind, seen: &Seen) {
        match kind {
            Kind::Pod if self.pods.get(&seen.key).is_some_and(|pod| pod.uid != seen.uid && pod.rv < seen.rv) => {
                self.forget(kind, &seen.key);
            }
            Kind::TaskGroup => {
                self.group_uids.insert(seen.key.clone(), seen.uid.clone());
                let (key, gang, queues) = (seen.key.clone(), Vec::new(), BTreeSet::new());
                let unread = GroupSeen { key, min: None, gang, queues, last: None, edited: true };
                self.groups.entry(seen.uid.clone()).or_insert(unread).edited = true;
            }
            Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => {
                self.see_pod_group(kind, seen);
            }
            Kind::Namespace => self.see_unreadable_namespace(seen),
            Kind::Pod | Kind::Node | Kind::Queue | Kind::ResourceQuota => {}
        }
    }

    fn see_pod(&mut self, seen: &Seen, body: &Body) {
        let Body::Pod(pod) = body else { return };
        let node = node_of(body).map(str::to_owned);
        let ours = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()) == Some("gangline");
        let knows_where = self.pods.get(&seen.key).is_some_and(|old| old.uid == seen.uid && old.node == node);
        if let (Some(node), true) = (&node, !knows_where && self.is_synced()) {
            // Whoever did that: it was not decided here, or it was and is no news.
            if self.intents.get(&seen.uid).is_none_or(|intent| intent.node != *node) {
                self.note_stranger(node, &queue_mark(body).unwrap_or_default());
            }
        }
        if node.is_some() {
            self.intents.remove(&seen.uid);
        }
        let known = self.pods.get(&seen.key).filter(|old| old.uid == seen.uid);
        let (ended, queue, asks) = (gangline::sim::api::has_ended(pod), queue_mark(body), Amount::of_pod(pod));
        let grows = known.is_some_and(|old| !asks.is_within(old.asks)) && node.is_some();
        let group = group_of(body).map(str::to_owned);
        let (earlier, relabelled_ms) = match known.filter(|old| old.uid == seen.uid && node.is_none()) {
            Some(old) if old.group != group => (old.earlier.iter().chain([&old.group]).cloned().collect(), self.now_ms),
            Some(old) => (old.earlier.clone(), old.relabelled_ms),
            None => (BTreeSet::new(), 0),
        };
        let is_of_application = label(body, "gangline.dev/application-id").is_some();
        let is_of_application = is_of_application || known.is_some_and(|old| old.is_of_application);
        let names_queue = label(body, "gangline.dev/queue").map(str::to_owned);
        let placeholder = is_placeholder(body);
        let (uid, rv) = (seen.uid.clone(), seen.rv);
        let given = if placeholder { seat_label(body) } else { seat_mark(body) };
        let life_of = given.as_ref().map(Seat::uid).or_else(|| uid_mark(body).map(Uid::new));
        let life = given.as_ref().and_then(Seat::life).or_else(|| life_mark(body));
        let seat = given.map(|given| given.number);
        let seen_pod = PodSeen {
            uid,
            rv,
            node,
            queue,
            submitter: Submitter::of_pod(pod),
            asks,
            ended,
            terminating: pod.metadata.deletion_timestamp.is_some(),
            perhaps_gone: false,
            ours,
            wants: Wants::of(pod),
            group,
            earlier,
            names_queue,
            is_of_application,
            application: application_of_pod(body).map(str::to_owned),
            relabelled_ms,
            placeholder,
            life_of,
            life,
            seat,
            succeeded: has_phase(pod, "Succeeded"),
            refused: is_refused(pod),
            declares: declares(body),
            words: words_of(body),
            outlived: known.is_some_and(|old| old.outlived),
        };
        if grows {
            self.take_room(&seen_pod);
        }
        let comes = !knows_where || seen_pod.node.is_none();
        self.know(&seen.key, seen_pod);
        if comes {
            self.note_comer(&seen.key);
        }
        self.note_outlived();
    }

    /// A pod has this node, and is of this queue, by somebody else's decision.
    fn note_stranger(&mut self, node: &str, queue: &str) {
        if let Some(seen) = self.nodes.get_mut(&Key::cluster(node)) {
            seen.changed_ms = self.now_ms;
        }
        self.give_up_lost_on(node);
        let levels = self.queues.iter_mut().filter(|(key, _)| is_within(queue, &key.name));
        levels.for_each(|(_, level)| level.changed_ms = self.now_ms);
    }

    fn know(&mut self, key: &Key, pod: PodSeen) {
        let (uid, lives_on) = (pod.uid.clone(), pod.lives_in().is_some());
        if let Some(old) = self.pods.insert(key.clone(), pod) {
            if old.uid != uid {
                self.intents.remove(&old.uid);
            }
            self.note_death(&old, old.uid == uid && lives_on);
            match self.pods.get(key).filter(|pod| pod.uid == old.uid).cloned() {
                Some(now) if now.ended => self.note_loss(&old, Some(&now)),
                Some(_) => {}
                None => self.note_loss(&old, None),
            }
        }
    }

    fn note_death(&mut self, old: &PodSeen, lives_on: bool) {
        if let Some((of, life)) = old.lives_in().filter(|_| !lives_on) {
            self.last_died.insert((of.clone(), life), self.now_ms);
        }
    }

    /// A pod that has a node asks for more: what is there is what it is, and may be too little.
    fn take_room(&mut self, pod: &PodSeen) {
        let node = pod.node.as_deref().and_then(|node| self.nodes.get_mut(&Key::cluster(node)));
        node.into_iter().for_each(|node| node.changed_ms = self.now_ms);
        pod.node.iter().for_each(|node| self.give_up_lost_on(node));
        let queue = pod.queue.as_deref().unwrap_or_default();
        for (_, level) in self.queues.iter_mut().filter(|(key, _)| is_within(queue, &key.name)) {
            (level.changed_ms, level.lowered) = (self.now_ms, true);
            Self::outgrow(pod, level);
        }
    }

    pub(super) fn forget(&mut self, kind: Kind, key: &Key) {
        self.uids.remove(&(kind, key.clone()));
        match kind {
            Kind::Pod => {
                if let Some(old) = self.pods.remove(key) {
                    self.intents.remove(&old.uid);
                    self.note_death(&old, false);
                    self.note_loss(&old, None);
                }
            }
            Kind::Node => {
                self.nodes.remove(key);
                self.give_up_lost_on(&key.name);
            }
            Kind::Queue => {
                self.queues.remove(key);
                self.lose_door(key);
            }
            // A hold does not go on when its task group comes again.
            Kind::TaskGroup => {
                self.lost.retain(|_, lost| self.groups.get(&lost.of).is_some_and(|group| !group.gang.contains(key)));
                self.group_uids.remove(key);
            }
            Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => {
                drop(self.pod_groups.remove(&(kind, key.clone())));
            }
            Kind::Namespace => self.lose_namespace(key),
            Kind::ResourceQuota => {}
        }
    }
}

/// Whether the node of a pod that failed never started a container of it.
fn is_refused(pod: &Pod) -> bool {
    let told = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    has_phase(pod, "Failed") && told.filter(|container| container.state.is_some()).count() == 0
}
