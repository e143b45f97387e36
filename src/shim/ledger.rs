//! What the shim knows: names and UIDs of objects, and the core's ids for them. Facts about pods, seats and queues are
//! the core's alone.

use std::collections::BTreeMap;

use super::dialect::Dialect;
pub use super::kinds::{GroupFacts, PodName, QueueFacts};
use super::kinds::{Kept, Kind, Kinds, Namespaces, Pods, Queues, TaskGroups};
use super::known::{Version, Whose};
use super::observation::{Malformed, Seen, WatchFact};
use super::pod::Served;
use crate::core::base::ids::{AskId, Key, Text, Uid};
use crate::core::event::Event;
use crate::core::reason::SpecError;

/// Everything the shim keeps of the cluster's objects.
#[derive(Clone, Debug)]
pub struct Ledger {
    kinds: Kinds,
    quarantine: BTreeMap<(Kind, Key), Quarantined>,
}

/// An object that does not decode.
#[derive(Clone, Debug)]
struct Quarantined {
    /// The decoder's words.
    problem: Text,
    /// Whether it was seen since the last list began.
    listed: bool,
}

impl Ledger {
    /// An empty ledger of a scheduler with these names.
    pub fn new(served: Served) -> Self {
        let namespaces = Namespaces::new(served.speaks(Dialect::YuniKorn));
        let groups = TaskGroups::new(served.knows_submitters());
        let queues = Queues::new(served.knows_submitters());
        let kinds = Kinds { groups, queues, namespaces, pods: Pods::new(served), ..Kinds::default() };
        Self { kinds, quarantine: BTreeMap::new() }
    }

    /// Takes what a watch said; the events for the core.
    pub fn watch(&mut self, kind: Kind, fact: WatchFact) -> Vec<Event> {
        match fact {
            WatchFact::ListBegin => {
                self.list_begins(kind);
                Vec::new()
            }
            WatchFact::Listed(seen) => {
                let key = seen.key.clone();
                let events = self.see(kind, seen);
                self.kinds.of_mut(kind).listed(&key);
                events
            }
            WatchFact::Upsert(seen) => self.see(kind, seen),
            WatchFact::Gone(seen) => {
                // An object that cannot be read may be ours.
                let whose = seen.body.as_ref().map_or(Whose::Ours, |body| self.kinds.whose(body));
                self.bury(kind, &seen.key, &seen.uid, whose)
            }
            WatchFact::ListEnd => self.list_ends(kind),
            // A kind that is not served has no objects to be seen; what was known stays until a list says otherwise.
            WatchFact::Unserved | WatchFact::Broken { .. } => Vec::new(),
        }
    }

    fn list_begins(&mut self, kind: Kind) {
        let of_kind = self.quarantine.iter_mut().filter(|((of, _), _)| *of == kind);
        of_kind.for_each(|(_, quarantined)| quarantined.listed = false);
        self.kinds.of_mut(kind).list_begins();
    }

    fn list_ends(&mut self, kind: Kind) -> Vec<Event> {
        self.quarantine.retain(|(of, _), quarantined| *of != kind || quarantined.listed);
        self.kinds.of_mut(kind).list_ends()
    }

    /// Takes a pod as it stands in an answer; one that is known to be gone stays so.
    pub fn answered(&mut self, seen: Seen) -> Vec<Event> {
        if self.kinds.pods.known().is_buried(&seen.uid) { Vec::new() } else { self.see(Kind::Pod, seen) }
    }

    /// Whether this very pod is known to be there, or known to be gone.
    pub fn knows_pod(&self, seen: &Seen) -> bool {
        let there = self.ask(&seen.key).and_then(|ask| self.pod(ask));
        there.is_some_and(|pod| pod.uid == seen.uid) || self.kinds.pods.known().is_buried(&seen.uid)
    }

    /// Takes one object as seen at one version.
    pub fn see(&mut self, kind: Kind, seen: Seen) -> Vec<Event> {
        let Seen { key, uid, rv, body } = seen;
        let at = Version { key, uid, rv };
        match body {
            Ok(body) => {
                self.note_readable(kind, &at.key);
                self.kinds.see(at, &body)
            }
            Err(malformed) => {
                self.quarantine(kind, &at.key, &malformed);
                self.kinds.of_mut(kind).see_malformed(at, malformed)
            }
        }
    }

    fn note_readable(&mut self, kind: Kind, key: &Key) {
        self.quarantine.remove(&(kind, key.clone()));
    }

    fn quarantine(&mut self, kind: Kind, key: &Key, malformed: &Malformed) {
        let quarantined = Quarantined { problem: malformed.problem.clone(), listed: true };
        self.quarantine.insert((kind, key.clone()), quarantined);
    }

    /// An object is gone, as an answer to a call about it says.
    pub fn lose(&mut self, kind: Kind, key: &Key, uid: &Uid) -> Vec<Event> {
        self.bury(kind, key, uid, Whose::Ours)
    }

    fn bury(&mut self, kind: Kind, key: &Key, uid: &Uid, whose: Whose) -> Vec<Event> {
        self.note_readable(kind, key);
        self.kinds.of_mut(kind).lose(key, uid, whose)
    }

    /// The pod of an ask.
    pub fn pod(&self, ask: AskId) -> Option<&PodName> {
        self.kinds.pods.asks.get(ask)
    }

    /// Another condition is sent to a pod now than the one with which it was last seen.
    pub fn forget_said(&mut self, ask: AskId) {
        self.kinds.pods.asks.get_mut(ask).into_iter().for_each(PodName::forget_said);
    }

    /// The ask of a pod's name.
    pub fn ask(&self, key: &Key) -> Option<AskId> {
        self.kinds.pods.known().get(key).copied()
    }

    /// A TaskGroup.
    pub fn group(&self, key: &Key) -> Option<&GroupFacts> {
        self.kinds.groups.known().get(key)
    }

    /// A TaskGroup, to note what was written.
    pub fn group_mut(&mut self, key: &Key) -> Option<&mut GroupFacts> {
        self.kinds.groups.known_mut().get_mut(key)
    }

    /// A Queue.
    pub fn queue(&self, path: &str) -> Option<&QueueFacts> {
        self.kinds.queues.known().get(&Key::cluster(path))
    }

    /// A Queue, to note what was written.
    pub fn queue_mut(&mut self, path: &str) -> Option<&mut QueueFacts> {
        self.kinds.queues.known_mut().get_mut(&Key::cluster(path))
    }

    /// What is wrong with a Queue.
    pub fn queue_problems(&self, path: &str) -> &[SpecError] {
        self.kinds.queues.tree.problem(path).unwrap_or(&[])
    }

    /// Whether a Queue's spec is wrong and an earlier one counts.
    pub fn keeps_earlier_spec(&self, path: &str) -> bool {
        self.kinds.queues.tree.keeps_earlier(path)
    }

    /// Names of the Queue objects below one.
    pub fn queues_below(&self, path: &str) -> impl Iterator<Item = &Text> {
        self.kinds.queues.tree.below(path)
    }

    /// How many objects of a kind are known.
    pub fn count(&self, kind: Kind) -> usize {
        self.kinds.of(kind).count()
    }

    /// What is still remembered though every object is gone, as names of maps.
    pub fn leftovers(&self) -> impl Iterator<Item = &'static str> {
        let objects = |kind: Kind| (self.count(kind) > 0).then_some(kind.plural());
        let of_kinds = Kind::ALL.into_iter().flat_map(move |kind| [objects(kind), self.kinds.of(kind).beside()]);
        of_kinds.flatten().chain((!self.quarantine.is_empty()).then_some("quarantine"))
    }

    /// Objects of a kind that do not decode, with the decoder's words.
    pub fn malformed(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Text)> {
        let of_kind = self.quarantine.iter().filter(move |((of, _), _)| *of == kind);
        of_kind.map(|((_, key), quarantined)| (key, &quarantined.problem))
    }

    /// What is wrong with an object that does not decode.
    pub fn problem(&self, kind: Kind, key: &Key) -> Option<&Text> {
        self.quarantine.get(&(kind, key.clone())).map(|quarantined| &quarantined.problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::shim::decode;

    fn pod(name: &str, scheduler: &str, rv: u64) -> Seen {
        let metadata = json!({"namespace": "ns", "name": name, "uid": name, "resourceVersion": rv.to_string()});
        let spec = json!({"schedulerName": scheduler, "containers": [], "nodeName": "n"});
        let pod = json!({"metadata": metadata, "spec": spec}).to_string();
        decode::seen(Kind::Pod, &pod).expect("it has a name")
    }

    /// An answer can be older than what the watch said since. More pods of others than are remembered come and go
    /// meanwhile, half of them seen before they go.
    #[test]
    fn a_pod_of_ours_that_is_gone_stays_so_however_many_pods_of_others_go() {
        let mut ledger = Ledger::new(Served::default());
        let mine = pod("mine", "gangline", 1);
        assert_eq!(ledger.watch(Kind::Pod, WatchFact::Upsert(mine.clone())).len(), 1);
        assert_eq!(ledger.watch(Kind::Pod, WatchFact::Gone(mine.clone())).len(), 1);
        for number in 2..10_000 {
            let other = pod(&format!("other{number}"), "default-scheduler", number);
            if number % 2 == 0 {
                ledger.watch(Kind::Pod, WatchFact::Upsert(other.clone()));
            }
            ledger.watch(Kind::Pod, WatchFact::Gone(other));
        }
        assert!(ledger.knows_pod(&mine));
        assert!(ledger.answered(mine).is_empty());
        assert!(ledger.leftovers().next().is_none());
    }
}
