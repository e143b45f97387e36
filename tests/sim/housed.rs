//! I3 where namespaces have queues of their own, or queues choose them (01, 1.12; 03, 3.4): what a process was told of these, where work
//! may be that names no queue, and what a namespace's own queue may use, by what its users wrote.
//!
//! A pod outside applications may be where its work goes now, or went until a short while before its Binding was first sent: what was
//! decided leaves later. A gang may be wherever its work could go since the process began: one that has started stays there. What an
//! own queue may use is judged like the limit of a Queue object (`judge.rs`).

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::Seen;
use k8s_openapi::api::core::v1::Namespace;

use super::{Bounds, EXCUSED_MS, GroupSeen, Process, QueueSeen};
use crate::sim::amount::Amount;
use crate::sim::homes::{Door, Doors, Says, home, own_queues};
use crate::sim::people::{ABROAD, NS};

/// What stands for the queue of a task group that names none.
pub(super) const NO_QUEUE: &str = "";

/// What a process was told of namespaces and of queues that choose them.
#[derive(Clone, Default)]
pub(super) struct Housed {
    namespaces: BTreeMap<Key, (Uid, Says)>,
    doors: Doors,
    /// By namespace, where its work could go that names no queue, since everything was listed, and when it ceased to go there.
    homes: BTreeMap<&'static str, BTreeMap<String, Option<u64>>>,
    /// Queues that have no object, but are given to namespaces.
    own: BTreeSet<Key>,
}

impl Housed {
    /// Names of the namespaces that it knows.
    pub(super) fn names(&self) -> impl Iterator<Item = &Key> {
        self.namespaces.keys()
    }

    /// Whether a queue is known by an object.
    pub(super) fn has_object(&self, queue: &Key) -> bool {
        !self.own.contains(queue)
    }

    fn says(&self, name: &str) -> Option<&Says> {
        self.namespaces.get(&Key::cluster(name)).map(|(_, says)| says)
    }
}

impl Process {
    pub(super) fn see_namespace(&mut self, seen: &Seen, namespace: &Namespace) {
        let last = self.housed.namespaces.get(&seen.key).filter(|(uid, _)| *uid == seen.uid);
        let says = Says::of(namespace, last.map(|(_, says)| says));
        self.housed.namespaces.insert(seen.key.clone(), (seen.uid.clone(), says));
        self.find_homes();
    }

    /// A Namespace cannot be read: what was known of it stays, but of an earlier one of its name.
    pub(super) fn see_unreadable_namespace(&mut self, seen: &Seen) {
        if self.housed.namespaces.get(&seen.key).is_some_and(|(uid, _)| *uid != seen.uid) {
            self.lose_namespace(&seen.key);
        }
    }

    pub(super) fn lose_namespace(&mut self, key: &Key) {
        self.housed.namespaces.remove(key);
        self.find_homes();
    }

    pub(super) fn see_door(&mut self, queue: &Key, door: Option<Door>) {
        self.housed.doors.insert(queue.name.to_string(), door);
        self.find_homes();
    }

    pub(super) fn lose_door(&mut self, queue: &Key) {
        self.housed.doors.remove(&*queue.name);
        self.find_homes();
    }

    /// No queue has an object any more.
    pub(super) fn lose_doors(&mut self) {
        self.housed.doors.clear();
        self.find_homes();
    }

    /// Whether a pod of a namespace that names no queue may have been sent to this one then.
    pub(super) fn is_home(&self, namespace: &str, queue: &str, decided_ms: u64) -> bool {
        let left_ms = self.housed.homes.get(namespace).and_then(|homes| homes.get(queue));
        left_ms.is_some_and(|left_ms| left_ms.is_none_or(|left_ms| decided_ms < left_ms + EXCUSED_MS))
    }

    /// Whether a task group names a queue, or names none and may be there.
    pub(super) fn is_named(&self, group: &GroupSeen, queue: &str) -> bool {
        let was_home = || self.housed.homes.get(&*group.key.namespace).is_some_and(|homes| homes.contains_key(queue));
        group.queues.contains(queue) || group.queues.contains(NO_QUEUE) && was_home()
    }

    /// Where work goes from now on, and what the own queues of namespaces may use. Before everything is listed nobody knows.
    pub(super) fn find_homes(&mut self) {
        if !self.is_synced() {
            return;
        }
        let mut own = BTreeMap::new();
        for name in [NS, ABROAD] {
            let says = self.housed.says(name);
            let home = home(&self.housed.doors, name, says);
            own.extend(says.into_iter().flat_map(|says| own_queues(&self.housed.doors, name, says)));
            let homes = self.housed.homes.entry(name).or_default();
            for (_, left_ms) in homes.iter_mut().filter(|(queue, _)| Some(*queue) != home.as_ref()) {
                left_ms.get_or_insert(self.now_ms);
            }
            homes.extend(home.map(|home| (home, None)));
        }
        let own: BTreeMap<Key, Amount> = own.into_iter().map(|(path, most)| (Key::cluster(path), most)).collect();
        let gone: Vec<Key> = self.housed.own.iter().filter(|key| !own.contains_key(*key)).cloned().collect();
        gone.iter().for_each(|key| drop(self.queues.remove(key)));
        self.housed.own = own.keys().cloned().collect();
        for (key, most) in own {
            self.see_limit(&key, most, Bounds::default());
        }
    }

    /// A queue may use so much.
    pub(super) fn see_limit(&mut self, key: &Key, most: Amount, bounds: Bounds) {
        let old = self.queues.get(key);
        let changed_ms = old.map_or(0, |old| old.changed_ms);
        // Who comes, or comes back, may find more in use than it has too.
        let lowered = old.is_none_or(|old| old.lowered || !old.most.is_within(most));
        let lowered = lowered && self.is_overdrawn(&key.name, most);
        self.queues.insert(key.clone(), QueueSeen { most, changed_ms, lowered, bounds });
    }
}
