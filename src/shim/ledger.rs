//! What the shim knows: names and UIDs of objects, and the core's ids for them. Facts about pods, seats and queues are
//! the core's alone.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition, ResourceQuota};

use super::known::{Known, Sight};
use super::observation::{Body, Malformed, Seen, WatchFact};
use super::op::Kind;
use super::placeholder::Blueprint;
use super::pod::{Served, ask_spec};
use super::queue::QueueTree;
use super::shown::Shown;
use super::{node, resource_quota, task_group};
use crate::api::queue::{Queue, QueueStatus};
use crate::api::task_group::{TaskGroup, TaskGroupStatus};
use crate::core::arena::Arena;
use crate::core::event::{Event, GroupSpec, Place, PlaceholderFor, Remembered, Reservation, Role};
use crate::core::ids::{AskId, Key, Text, Uid};
use crate::core::reason::SpecError;
use crate::core::resources::{Limit, Resources};

/// Everything the shim keeps of the cluster's objects.
#[derive(Clone, Debug)]
pub struct Ledger {
    served: Served,
    pods: Known<AskId>,
    asks: Arena<AskId, PodName>,
    nodes: Known<()>,
    groups: Known<GroupFacts>,
    queues: Known<QueueFacts>,
    tree: QueueTree,
    quotas: Known<Option<Limit>>,
    quarantine: BTreeMap<(Kind, Key), Quarantined>,
}

/// An object that does not decode.
#[derive(Clone, Debug)]
struct Quarantined {
    /// The decoder's words.
    problem: Text,
    /// Whether it was there since the last list began.
    listed: bool,
}

/// What a call about a pod needs.
#[derive(Clone, Debug)]
pub struct PodName {
    /// Namespace and name.
    pub key: Key,
    /// UID.
    pub uid: Uid,
    /// What its `PodScheduled=False` said when it was last seen, unless it was told something else since: reason and
    /// message.
    said: Option<Box<(String, String)>>,
}

impl PodName {
    /// Whether the pod's condition says this already.
    pub fn says(&self, condition: &PodCondition) -> bool {
        let said = self.said.as_deref();
        said.is_some_and(|(reason, message)| {
            condition.reason.as_ref() == Some(reason) && condition.message.as_ref() == Some(message)
        })
    }

    /// The reason that the pod's condition gives.
    pub fn reason_said(&self) -> Option<&str> {
        self.said.as_deref().map(|(reason, _)| reason.as_str())
    }
}

/// What is kept of a TaskGroup.
#[derive(Clone, Debug)]
pub struct GroupFacts {
    /// Its UID.
    pub uid: Uid,
    /// What its placeholders are made of; `None` while it could never be read.
    pub blueprint: Option<Blueprint>,
    /// Its status.
    pub status: Shown<TaskGroupStatus>,
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

impl Ledger {
    /// An empty ledger of a scheduler with these names.
    pub fn new(served: Served) -> Self {
        Self {
            served,
            pods: Known::default(),
            asks: Arena::default(),
            nodes: Known::default(),
            groups: Known::default(),
            queues: Known::default(),
            tree: QueueTree::default(),
            quotas: Known::default(),
            quarantine: BTreeMap::new(),
        }
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
                self.listed(kind, &key);
                events
            }
            WatchFact::Upsert(seen) => self.see(kind, seen),
            WatchFact::Gone(seen) => self.lose(kind, &seen.key, &seen.uid),
            WatchFact::ListEnd => self.list_ends(kind),
            // A kind that is not served has no objects to be seen; what was known stays until a list says otherwise.
            WatchFact::Unserved | WatchFact::Broken { .. } => Vec::new(),
        }
    }

    fn list_begins(&mut self, kind: Kind) {
        let of_kind = self.quarantine.iter_mut().filter(|((of, _), _)| *of == kind);
        of_kind.for_each(|(_, quarantined)| quarantined.listed = false);
        match kind {
            Kind::Pod => self.pods.list_begins(),
            Kind::Node => self.nodes.list_begins(),
            Kind::TaskGroup => self.groups.list_begins(),
            Kind::Queue => self.queues.list_begins(),
            Kind::ResourceQuota => self.quotas.list_begins(),
        }
    }

    fn listed(&mut self, kind: Kind, key: &Key) {
        match kind {
            Kind::Pod => self.pods.listed(key),
            Kind::Node => self.nodes.listed(key),
            Kind::TaskGroup => self.groups.listed(key),
            Kind::Queue => self.queues.listed(key),
            Kind::ResourceQuota => self.quotas.listed(key),
        }
    }

    fn list_ends(&mut self, kind: Kind) -> Vec<Event> {
        self.quarantine.retain(|(of, _), quarantined| *of != kind || quarantined.listed);
        match kind {
            Kind::Pod => self.pods.list_ends().into_iter().map(|(_, ask)| self.drop_ask(ask)).collect(),
            Kind::Node => self.nodes.list_ends().into_iter().map(|(key, ())| Event::NodeGone(key.name)).collect(),
            Kind::TaskGroup => self.groups.list_ends().into_iter().map(|(key, _)| Event::GroupGone(key)).collect(),
            Kind::Queue => {
                let gone = self.queues.list_ends();
                gone.into_iter().flat_map(|(key, _)| self.tree.gone(&key.name)).collect()
            }
            Kind::ResourceQuota => {
                let gone = self.quotas.list_ends();
                gone.into_iter().map(|(key, _)| self.namespace_limit(key.namespace)).collect()
            }
        }
    }

    /// Takes a pod as it stands in an answer; one that is known to be gone stays so.
    pub fn answered(&mut self, seen: Seen) -> Vec<Event> {
        if self.pods.is_buried(&seen.uid) { Vec::new() } else { self.see(Kind::Pod, seen) }
    }

    /// Whether this very pod is there, or gone, as far as is known.
    pub fn knows_pod(&self, seen: &Seen) -> bool {
        let there = self.pods.get(&seen.key).and_then(|ask| self.asks.get(*ask));
        there.is_some_and(|pod| pod.uid == seen.uid) || self.pods.is_buried(&seen.uid)
    }

    /// Takes one object as seen at one version.
    pub fn see(&mut self, kind: Kind, seen: Seen) -> Vec<Event> {
        let Seen { key, uid, rv, body } = seen;
        match body {
            Ok(body) => {
                self.note_readable(kind, &key);
                match body {
                    Body::Pod(pod) => self.see_pod(key, uid, rv, &pod),
                    Body::Node(node) => self.see_node(key, uid, rv, &node),
                    Body::TaskGroup(group) => self.see_group(key, uid, rv, &group),
                    Body::Queue(queue) => self.see_queue(&key, uid, rv, &queue),
                    Body::ResourceQuota(quota) => self.see_quota(&key, uid, rv, &quota),
                }
            }
            Err(malformed) => {
                let Malformed { problem, generation } = malformed;
                self.quarantine.insert((kind, key.clone()), Quarantined { problem: problem.clone(), listed: true });
                self.see_malformed(kind, (key, uid, rv), generation, problem)
            }
        }
    }

    fn note_readable(&mut self, kind: Kind, key: &Key) {
        self.quarantine.remove(&(kind, key.clone()));
    }

    fn see_pod(&mut self, key: Key, uid: Uid, rv: u64, pod: &Pod) -> Vec<Event> {
        let mut events = Vec::new();
        match self.pods.sight(&key, &uid, rv) {
            Sight::Stale => return events,
            Sight::Replaced(old) => events.push(self.drop_ask(old)),
            Sight::New | Sight::Changed => {}
        }
        let spec = ask_spec(pod, &self.served);
        // Another scheduler's pod matters while it uses a node.
        if spec.role == Role::Foreign && !matches!(spec.place, Place::On { .. }) {
            if self.pods.get(&key).is_some() {
                events.extend(self.pods.gone(&key, &uid).map(|ask| self.drop_ask(ask)));
            }
            return events;
        }
        let said = waits_because(pod);
        let known = self.pods.get(&key).copied();
        let ask = known.unwrap_or_else(|| {
            let ask = self.asks.insert(PodName { key: key.clone(), uid: uid.clone(), said: None });
            self.pods.put(key, uid, rv, ask);
            ask
        });
        if let Some(pod) = self.asks.get_mut(ask) {
            pod.said = said;
        }
        events.push(Event::Ask(ask, Box::new(spec)));
        events
    }

    fn drop_ask(&mut self, ask: AskId) -> Event {
        self.asks.remove(ask);
        Event::AskGone(ask)
    }

    fn see_node(&mut self, key: Key, uid: Uid, rv: u64, node: &Node) -> Vec<Event> {
        let mut events = Vec::new();
        match self.nodes.sight(&key, &uid, rv) {
            Sight::Stale => return events,
            Sight::Replaced(()) => events.push(Event::NodeGone(key.name.clone())),
            Sight::New | Sight::Changed => {}
        }
        events.push(Event::Node(key.name.clone(), Box::new(node::node_spec(node))));
        self.nodes.put(key, uid, rv, ());
        events
    }

    fn see_group(&mut self, key: Key, uid: Uid, rv: u64, group: &TaskGroup) -> Vec<Event> {
        let mut events = Vec::new();
        match self.groups.sight(&key, &uid, rv) {
            Sight::Stale => return events,
            Sight::Replaced(_) => events.push(Event::GroupGone(key.clone())),
            Sight::New | Sight::Changed => {}
        }
        let blueprint = Some(task_group::blueprint(group));
        let spec = Box::new(task_group::group_spec(group));
        let is_first_reading = self.groups.get(&key).is_some_and(|facts| facts.blueprint.is_none());
        match self.groups.get_mut(&key) {
            Some(facts) => facts.blueprint = blueprint,
            None => {
                let status = Shown::new(group.status.clone().unwrap_or_default());
                self.groups.put(key.clone(), uid.clone(), rv, GroupFacts { uid, blueprint, status });
            }
        }
        events.push(if is_first_reading { Event::GroupRead(key, spec) } else { Event::Group(key, spec) });
        events
    }

    fn see_queue(&mut self, key: &Key, uid: Uid, rv: u64, queue: &Queue) -> Vec<Event> {
        if matches!(self.queues.sight(key, &uid, rv), Sight::Stale) {
            return Vec::new();
        }
        let generation = queue.metadata.generation.unwrap_or(0);
        match self.queues.get_mut(key) {
            Some(facts) => facts.generation = generation,
            None => {
                let status = Shown::new(queue.status.clone().unwrap_or_default());
                self.queues.put(key.clone(), uid.clone(), rv, QueueFacts { uid, generation, status });
            }
        }
        self.tree.upsert(&key.name, queue)
    }

    fn see_quota(&mut self, key: &Key, uid: Uid, rv: u64, quota: &ResourceQuota) -> Vec<Event> {
        if matches!(self.quotas.sight(key, &uid, rv), Sight::Stale) {
            return Vec::new();
        }
        let (namespace, limit) = (key.namespace.clone(), resource_quota::limit(quota));
        self.quotas.put(key.clone(), uid, rv, limit);
        vec![self.namespace_limit(namespace)]
    }

    fn namespace_limit(&self, namespace: Text) -> Event {
        let from = Key::new(namespace.clone(), "");
        let of_namespace = (self.quotas.from(&from)).take_while(|(key, _)| key.namespace == namespace);
        let limit = resource_quota::merge(of_namespace.filter_map(|(_, limit)| limit.as_ref()));
        Event::Namespace(namespace, limit)
    }

    /// An object that does not decode is quarantined: what was known of it stays, and where it has a status it says why.
    fn see_malformed(
        &mut self,
        kind: Kind,
        (key, uid, rv): (Key, Uid, u64),
        generation: i64,
        problem: Text,
    ) -> Vec<Event> {
        match kind {
            Kind::Pod => match self.pods.sight(&key, &uid, rv) {
                Sight::Replaced(ask) => vec![self.drop_ask(ask)],
                Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
            },
            Kind::Node => match self.nodes.sight(&key, &uid, rv) {
                Sight::Replaced(()) => vec![Event::NodeGone(key.name)],
                Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
            },
            Kind::ResourceQuota => match self.quotas.sight(&key, &uid, rv) {
                Sight::Replaced(_) => vec![self.namespace_limit(key.namespace)],
                Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
            },
            Kind::Queue => match self.queues.sight(&key, &uid, rv) {
                Sight::Stale => Vec::new(),
                Sight::New | Sight::Replaced(_) | Sight::Changed => {
                    let facts = QueueFacts { uid: uid.clone(), generation, status: Shown::default() };
                    self.queues.put(key.clone(), uid, rv, facts);
                    self.tree.unreadable(&key.name, &problem)
                }
            },
            Kind::TaskGroup => match self.groups.sight(&key, &uid, rv) {
                // What was known of it stays: its members may run.
                Sight::Stale | Sight::Changed => Vec::new(),
                Sight::New | Sight::Replaced(_) => {
                    let status = Shown::default();
                    let facts = GroupFacts { uid: uid.clone(), blueprint: None, status };
                    self.groups.put(key.clone(), uid.clone(), rv, facts);
                    let spec = unreadable_group(&key, uid, generation, problem);
                    vec![Event::GroupGone(key.clone()), Event::Group(key, Box::new(spec))]
                }
            },
        }
    }

    /// An object is gone, said by a watch or by an answer.
    pub fn lose(&mut self, kind: Kind, key: &Key, uid: &Uid) -> Vec<Event> {
        self.note_readable(kind, key);
        match kind {
            Kind::Pod => self.pods.gone(key, uid).map(|ask| self.drop_ask(ask)).into_iter().collect(),
            Kind::Node => self.nodes.gone(key, uid).map(|()| Event::NodeGone(key.name.clone())).into_iter().collect(),
            Kind::TaskGroup => self.groups.gone(key, uid).map(|_| Event::GroupGone(key.clone())).into_iter().collect(),
            Kind::Queue => self.queues.gone(key, uid).map(|_| self.tree.gone(&key.name)).unwrap_or_default(),
            Kind::ResourceQuota => {
                let gone = self.quotas.gone(key, uid);
                gone.map(|_| self.namespace_limit(key.namespace.clone())).into_iter().collect()
            }
        }
    }

    /// The pod of an ask.
    pub fn pod(&self, ask: AskId) -> Option<&PodName> {
        self.asks.get(ask)
    }

    /// A pod is told something else now than what it said when it was last seen.
    pub fn forget_said(&mut self, ask: AskId) {
        if let Some(pod) = self.asks.get_mut(ask) {
            pod.said = None;
        }
    }

    /// The ask of a pod's name.
    pub fn ask(&self, key: &Key) -> Option<AskId> {
        self.pods.get(key).copied()
    }

    /// A TaskGroup.
    pub fn group(&self, key: &Key) -> Option<&GroupFacts> {
        self.groups.get(key)
    }

    /// A TaskGroup, to note what was written.
    pub fn group_mut(&mut self, key: &Key) -> Option<&mut GroupFacts> {
        self.groups.get_mut(key)
    }

    /// A Queue.
    pub fn queue(&self, path: &str) -> Option<&QueueFacts> {
        self.queues.get(&Key::cluster(path))
    }

    /// A Queue, to note what was written.
    pub fn queue_mut(&mut self, path: &str) -> Option<&mut QueueFacts> {
        self.queues.get_mut(&Key::cluster(path))
    }

    /// What is wrong with a Queue.
    pub fn queue_problems(&self, path: &str) -> &[SpecError] {
        self.tree.problem(path).unwrap_or(&[])
    }

    /// Whether a Queue's spec is wrong and an earlier one counts.
    pub fn keeps_earlier_spec(&self, path: &str) -> bool {
        self.tree.keeps_earlier(path)
    }

    /// Names of the Queue objects below one.
    pub fn queues_below(&self, path: &str) -> impl Iterator<Item = &Text> {
        self.tree.below(path)
    }

    /// How many objects of a kind are known.
    pub fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Pod => self.pods.len(),
            Kind::Node => self.nodes.len(),
            Kind::TaskGroup => self.groups.len(),
            Kind::Queue => self.queues.len(),
            Kind::ResourceQuota => self.quotas.len(),
        }
    }

    /// What is still remembered though every object is gone, as names of maps.
    pub fn leftovers(&self) -> impl Iterator<Item = &'static str> {
        let kinds = Kind::ALL.map(|kind| (kind.plural(), self.count(kind)));
        let own = [
            ("names of pods", self.asks.len()),
            ("tree of queues", usize::from(!self.tree.is_empty())),
            ("quarantine", self.quarantine.len()),
        ];
        kinds.into_iter().chain(own).filter(|(_, count)| *count > 0).map(|(name, _)| name)
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

/// Reason and message of `PodScheduled=False`.
fn waits_because(pod: &Pod) -> Option<Box<(String, String)>> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    Some(Box::new((condition.reason.clone()?, condition.message.clone()?)))
}

/// A TaskGroup of which nothing is known but that it cannot be read.
fn unreadable_group(key: &Key, uid: Uid, generation: i64, problem: Text) -> GroupSpec {
    GroupSpec {
        uid,
        generation,
        created: 0,
        application: key.name.clone(),
        queue: crate::core::queue::DEFAULT_QUEUE.into(),
        min_member: 1,
        min_resource: Resources::default(),
        shape: Default::default(),
        gang: vec![key.name.clone()],
        reservation: Reservation::Placeholder,
        placeholder_for: PlaceholderFor::Missing,
        completion_timeout_ms: 0,
        errors: vec![SpecError { field: "the object".into(), problem }],
        remembered: Remembered::default(),
        terminating: false,
    }
}
