//! What the shim knows: names and UIDs of objects, and the core's ids for them. Facts about pods, seats and queues are
//! the core's alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::pod_group::{Found, Reference, System};
use super::dialect::{Declared, Dialect, Spoken};
pub use super::kinds::{GroupFacts, MadeOf, PodGroupFacts, PodName, QueueFacts};
use super::kinds::{Kept, Kind, Kinds, Namespaces, Pods, Queues, TaskGroups};
use super::known::{Version, Whose};
use super::observation::{Malformed, Seen, WatchFact};
use super::pod::Served;
use crate::core::base::ids::{AskId, Key, Text, Uid};
use crate::core::event::Event;
use crate::core::reason::SpecError;

/// What was read of an object otherwise than it is written, or what is wrong with it.
pub type Reading = Result<Vec<Text>, Vec<SpecError>>;

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
        if fact.ends_sight(kind) {
            // What is made of an object that is gone is taken away by the API server, and would be made anew.
            self.kinds.of_mut(kind).forget();
        }
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
                let (key, uid) = (at.key.clone(), at.uid.clone());
                let events = self.kinds.see(at, &body);
                self.without_what_is_left(kind, &key, &uid, events)
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
        let events = self.kinds.of_mut(kind).lose(key, uid, whose);
        let is_gone = System::of(kind).is_some_and(|system| self.is_made_of(key, |made| made.uid == *uid, system));
        if is_gone { self.leave(key, events) } else { events }
    }

    /// What follows of an object that was seen, where a TaskGroup was made of a PodGroup whose name another one has by now: the API
    /// server takes it away, some time later. It counts as gone, so that no pod of the next gang starts with it.
    fn without_what_is_left(&mut self, kind: Kind, key: &Key, uid: &Uid, events: Vec<Event>) -> Vec<Event> {
        let is_left = match (kind, System::of(kind)) {
            (Kind::TaskGroup, _) => {
                let made_of = self.group(key).and_then(|facts| facts.made_of.as_ref()).filter(|made| !made.is_left);
                let there = made_of.and_then(|made| Some((self.pod_group(made.system, key)?, made)));
                there.is_some_and(|(there, made)| there.uid != made.uid)
            }
            (_, Some(system)) => self.is_made_of(key, |made| made.uid != *uid, system),
            (_, None) => false,
        };
        if is_left { self.leave(key, events) } else { events }
    }

    /// Whether there is a TaskGroup that was made of such a PodGroup of a system, and counts.
    fn is_made_of(&self, key: &Key, is: impl Fn(&MadeOf) -> bool, system: System) -> bool {
        let made_of = self.group(key).and_then(|facts| facts.made_of.as_ref());
        made_of.is_some_and(|made| made.system == system && !made.is_left && is(made))
    }

    /// The TaskGroup of this name counts as gone.
    fn leave(&mut self, key: &Key, mut events: Vec<Event>) -> Vec<Event> {
        let made_of = self.group_mut(key).and_then(|facts| facts.made_of.as_mut());
        made_of.into_iter().for_each(|made| made.is_left = true);
        events.retain(|event| !matches!(event, Event::Group(of, _) | Event::GroupRead(of, _) if of == key));
        events.push(Event::GroupGone(key.clone()));
        events
    }

    /// The pod of an ask.
    pub fn pod(&self, ask: AskId) -> Option<&PodName> {
        self.kinds.pods.asks.get(ask)
    }

    /// Names of the TaskGroups that a pod declares, itself or by an object that it names, while it waits for a node; `None` if it
    /// says nothing of that.
    pub fn declares(&self, ask: AskId) -> Option<Vec<Text>> {
        let Spoken { declares, refers, .. } = self.pod(ask)?.spoken()?;
        let named = refers.iter().map(|object| &object.name);
        Some(declares.iter().map(|declared| &declared.name).chain(named).cloned().collect())
    }

    /// The TaskGroup of this name as a pod declares it, if it does and the object that it names is there and right. Of a gang that
    /// has timed out, as the pod says, none is made.
    pub fn declared(&self, ask: AskId, name: &str) -> Option<Arc<Declared>> {
        let pod = self.pod(ask)?;
        let spoken = pod.spoken().filter(|spoken| !spoken.has_timed_out())?;
        let own = spoken.declares.iter().find(|declared| *declared.name == *name).cloned();
        own.or_else(|| {
            let object = spoken.refers.as_ref().filter(|object| *object.name == *name)?;
            object.declared(self.found(object, &pod.key.namespace)?).ok().map(Arc::new)
        })
    }

    /// The object that declares the TaskGroup of a pod, if it is there: what was read of it otherwise than it is written, or decides
    /// nothing beside what the pod says; or what is wrong with it.
    pub fn object_of(&self, ask: AskId) -> Option<(&Reference, Reading)> {
        let pod = self.pod(ask)?;
        let object = pod.spoken()?.refers.as_deref()?;
        if let Some(problem) = self.problem(object.system.kind(), &pod.key.beside(&object.name)) {
            return Some((object, Err(vec![SpecError { field: "the object".into(), problem: problem.clone() }])));
        }
        let found = self.found(object, &pod.key.namespace)?;
        Some((object, object.declared(found).map(|_| object.warnings(found))))
    }

    /// What the TaskGroup of this name was made of, and that as it is declared now: where the object is there and right, and this pod
    /// names it and leaves it all to it.
    pub fn follows(&self, ask: AskId, key: &Key) -> Option<(&MadeOf, Declared)> {
        let facts = self.group(key)?;
        let made = facts.made_of.as_ref().filter(|made| !made.is_left)?;
        let object = self.pod(ask)?.spoken()?.refers.as_ref()?;
        let is_its = object.system == made.system && *object.name == *key.name && object.says_nothing_itself();
        let there = self.pod_group(made.system, key).filter(|there| is_its && there.uid == made.uid)?;
        Some((made, object.declared(there.found.as_ref()?).ok()?))
    }

    fn found(&self, object: &Reference, namespace: &Text) -> Option<&Found> {
        let key = Key::new(namespace.clone(), object.name.clone());
        self.pod_group(object.system, &key)?.found.as_ref()
    }

    /// A PodGroup of a system.
    pub fn pod_group(&self, system: System, key: &Key) -> Option<&PodGroupFacts> {
        match system {
            System::Koordinator => self.kinds.koordinator_groups.known().get(key),
            System::Coscheduling => self.kinds.coscheduling_groups.known().get(key),
            System::Volcano => self.kinds.volcano_groups.known().get(key),
            System::Kubernetes => self.kinds.kubernetes_groups.known().get(key),
        }
    }

    /// A PodGroup of a system, to note what was written.
    pub fn pod_group_mut(&mut self, system: System, key: &Key) -> Option<&mut PodGroupFacts> {
        match system {
            System::Koordinator => self.kinds.koordinator_groups.known_mut().get_mut(key),
            System::Coscheduling => self.kinds.coscheduling_groups.known_mut().get_mut(key),
            System::Volcano => self.kinds.volcano_groups.known_mut().get_mut(key),
            System::Kubernetes => self.kinds.kubernetes_groups.known_mut().get_mut(key),
        }
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
