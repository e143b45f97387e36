//! One process of the scheduler, and what it has observed: what it does is judged by that, never by its own books.

use std::collections::{BTreeMap, BTreeSet};

use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::core::ids::{Key, Uid};
use gangline::core::time::{Mono, Now};
use gangline::shim::observation::{Body, Observation, Outcome, Seen, WatchFact};
use gangline::shim::op::{CallId, Kind, Op};

use super::oracle::Violation;
use super::people::{allocatable_of, is_placeholder, label, levels, limit_of, milli_of, node_of};

/// How long after something changed under a decision that decision may still be carried out.
pub(crate) const EXCUSED_MS: u64 = 30_000;

/// A process.
pub(crate) struct Process {
    pub(crate) controller: Controller,
    pub(crate) number: u64,
    /// What it was told and has not looked at.
    pub(crate) batch: Vec<Observation>,
    /// Kinds whose list it has.
    pub(crate) listed: BTreeSet<Kind>,
    /// Kinds that were listed at least once.
    ever: BTreeSet<Kind>,
    /// How far it has read each kind.
    pub(crate) read: BTreeMap<Kind, u64>,
    pods: BTreeMap<Key, PodSeen>,
    nodes: BTreeMap<Key, NodeSeen>,
    queues: BTreeMap<Key, QueueSeen>,
    /// UIDs of all TaskGroups that it has seen.
    groups: BTreeSet<Uid>,
    /// Bindings that may have happened or may yet.
    intents: BTreeMap<Uid, Intent>,
    /// Where each pod was last sent, and when that was decided.
    sent: BTreeMap<Uid, (String, u64)>,
    calls: BTreeMap<CallId, Sent>,
    /// What a list under way has not named.
    unnamed: BTreeMap<Kind, BTreeSet<Key>>,
    now_ms: u64,
    /// Revision of its last list of pods.
    pub(crate) pods_listed: u64,
    /// When it looks at what it was told.
    pub(crate) step_at: Option<u64>,
    /// When it wants to be woken.
    pub(crate) wake: Option<Mono>,
}

struct PodSeen {
    uid: Uid,
    rv: u64,
    node: Option<String>,
    queue: Option<String>,
    milli: u64,
    ended: bool,
    ours: bool,
}

struct NodeSeen {
    milli: u64,
    pods: u64,
    /// When something else than our own pods last changed what is left of it.
    changed_ms: u64,
    /// Since when it takes no pods.
    cordoned_ms: Option<u64>,
}

struct QueueSeen {
    milli: Option<u64>,
    /// When something else than our own decisions last changed what is left of it.
    changed_ms: u64,
    /// Its limit was lowered, perhaps below what is used: a member may still take the seat that is held for it.
    lowered: bool,
}

struct Intent {
    node: String,
    queue: String,
    milli: u64,
    /// It may have happened, whatever later answers say.
    doubtful: bool,
    /// When it was first sent: one that is refused for now is sent again.
    decided_ms: u64,
}

/// A call in flight.
enum Sent {
    Bind(Uid),
    Delete(Key, Uid),
}

impl Process {
    pub(crate) fn new(number: u64) -> Self {
        let settings =
            Settings { scheduler_names: vec!["gangline".into()], placeholder_image: "pause".into(), instance: number };
        Self {
            controller: Controller::new(settings),
            number,
            batch: Vec::new(),
            listed: BTreeSet::new(),
            ever: BTreeSet::new(),
            read: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            queues: BTreeMap::new(),
            groups: BTreeSet::new(),
            intents: BTreeMap::new(),
            sent: BTreeMap::new(),
            calls: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            now_ms: 0,
            pods_listed: 0,
            step_at: None,
            wake: None,
        }
    }

    /// When its next step is.
    pub(crate) fn due_at(&self, now_ms: u64) -> Option<u64> {
        let wake = self.wake.map(|at| at.0.max(now_ms));
        self.step_at.into_iter().chain(wake).min()
    }

    /// Tells it something.
    pub(crate) fn hear(&mut self, now: Now, kind: Kind, fact: WatchFact) {
        self.now_ms = now.mono.0;
        match &fact {
            WatchFact::ListBegin => {
                let known: BTreeSet<Key> = match kind {
                    Kind::Pod => self.pods.keys().cloned().collect(),
                    Kind::Node => self.nodes.keys().cloned().collect(),
                    Kind::Queue => self.queues.keys().cloned().collect(),
                    Kind::TaskGroup | Kind::ResourceQuota => BTreeSet::new(),
                };
                self.unnamed.insert(kind, known);
            }
            WatchFact::Listed(seen) => {
                self.unnamed.get_mut(&kind).map(|known| known.remove(&seen.key));
                self.see(seen);
            }
            WatchFact::ListEnd => {
                self.unnamed.remove(&kind).unwrap_or_default().iter().for_each(|key| self.forget(kind, key));
                self.listed.insert(kind);
                if self.ever.insert(kind) && self.is_synced() {
                    self.mark_overdrawn();
                }
            }
            WatchFact::Upsert(seen) => self.see(seen),
            WatchFact::Gone(seen) => self.forget(kind, &seen.key),
            WatchFact::Broken { .. } => drop(self.listed.remove(&kind)),
            WatchFact::Unserved => {
                self.listed.remove(&kind);
                if self.ever.insert(kind) && self.is_synced() {
                    self.mark_overdrawn();
                }
            }
        }
        self.batch.push(Observation::Watch { kind, conn: 1, fact });
    }

    /// Tells it how a call ended.
    pub(crate) fn answer(&mut self, id: CallId, outcome: Outcome) {
        let code = if let Outcome::Refused { code, .. } = &outcome { *code } else { 0 };
        let in_doubt = matches!(outcome, Outcome::Unknown) || matches!(code, 408 | 500 | 502 | 504);
        match self.calls.remove(&id) {
            Some(Sent::Bind(uid)) if in_doubt => {
                self.intents.entry(uid).and_modify(|intent| intent.doubtful = true);
            }
            Some(Sent::Bind(uid)) if code != 0 => {
                if !matches!(code, 429 | 503) {
                    self.sent.remove(&uid);
                }
                if code == 404 || self.intents.get(&uid).is_some_and(|intent| !intent.doubtful) {
                    self.intents.remove(&uid);
                }
            }
            // Gone, before the watch says so.
            Some(Sent::Delete(key, uid)) if code == 404 && self.pods.get(&key).is_some_and(|pod| pod.uid == uid) => {
                self.forget(Kind::Pod, &key);
            }
            Some(Sent::Bind(_) | Sent::Delete(..)) | None => {}
        }
        if let Outcome::Ok(Some(seen)) = &outcome {
            self.settle(seen);
        }
        // The answer to a creation shows the pod, or that to a question the next one of its name, before the watch does.
        if let Outcome::Ok(Some(seen)) = &outcome
            && self.pods.get(&seen.key).is_none_or(|known| known.uid != seen.uid && known.rv < seen.rv)
        {
            self.see(seen);
        }
        self.batch.push(Observation::Outcome { id, outcome });
    }

    /// Whether every kind was listed once.
    fn is_synced(&self) -> bool {
        self.ever.len() == Kind::ALL.len()
    }

    /// A queue that is over its limit when everything is first listed: it was lowered before.
    fn mark_overdrawn(&mut self) {
        let used: Vec<u64> = self.queues.keys().map(|key| self.used_in(&key.name)).collect();
        for (queue, used) in self.queues.values_mut().zip(used) {
            queue.lowered |= queue.milli.is_some_and(|most| used > most);
        }
    }

    /// What is used in a queue and those below it.
    fn used_in(&self, queue: &str) -> u64 {
        let of_queue = |pod: &&PodSeen| !pod.ended && pod.queue.as_deref().is_some_and(|of| is_within(of, queue));
        self.pods.values().filter(of_queue).map(|pod| pod.milli).sum()
    }

    /// What is being deleted without a node gets none any more, whatever is on its way.
    fn settle(&mut self, seen: &Seen) {
        let terminates = |body: &Body| gangline::sim::store::metadata(body).deletion_timestamp.is_some();
        if seen.body.as_ref().is_ok_and(|body| terminates(body) && node_of(body).is_none()) {
            self.intents.remove(&seen.uid);
        }
    }

    fn see(&mut self, seen: &Seen) {
        self.settle(seen);
        let Ok(body) = &seen.body else { return };
        match body {
            Body::Pod(_) => self.see_pod(seen, body),
            Body::Node(node) => {
                let (milli, pods) = allocatable_of(node);
                let changed_ms = match self.nodes.get(&seen.key) {
                    None => 0,
                    Some(old) if old.milli <= milli && old.pods <= pods => old.changed_ms,
                    Some(_) => self.now_ms,
                };
                let is_cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
                let since = self.nodes.get(&seen.key).and_then(|old| old.cordoned_ms).unwrap_or(self.now_ms);
                let cordoned_ms = is_cordoned.then_some(since);
                self.nodes.insert(seen.key.clone(), NodeSeen { milli, pods, changed_ms, cordoned_ms });
            }
            Body::Queue(queue) => {
                let milli = limit_of(queue);
                let lowered = |old: &QueueSeen| match (old.milli, milli) {
                    (Some(old), Some(new)) => new < old,
                    (None, Some(_)) => true,
                    (_, None) => false,
                };
                // These exist without an object, unlimited.
                let implicit = matches!(&*seen.key.name, "root" | "root.default") && self.is_synced();
                let old = self.queues.get(&seen.key);
                let changed_ms = old.map_or(0, |old| old.changed_ms);
                // One that comes back may find more in use than it has.
                let overdrawn = || milli.is_some_and(|most| self.used_in(&seen.key.name) > most);
                let lowered = old.map_or_else(|| implicit || overdrawn(), |old| old.lowered || lowered(old));
                self.queues.insert(seen.key.clone(), QueueSeen { milli, changed_ms, lowered });
            }
            Body::TaskGroup(_) => _ = self.groups.insert(seen.uid.clone()),
            Body::ResourceQuota(_) => {}
        }
    }

    fn see_pod(&mut self, seen: &Seen, body: &Body) {
        let Body::Pod(pod) = body else { return };
        let node = node_of(body).map(str::to_owned);
        let ours = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()) == Some("gangline");
        let known = self.pods.get(&seen.key).filter(|old| old.uid == seen.uid);
        let arrives = known.is_none_or(|old| old.node != node);
        if let (Some(node), true) = (&node, arrives && self.is_synced()) {
            // Whoever did that: it was not decided here, or it was and is no news.
            let decided = self.intents.get(&seen.uid).is_some_and(|intent| intent.node == *node);
            if let (false, Some(seen)) = (decided, self.nodes.get_mut(&Key::cluster(node.as_str()))) {
                seen.changed_ms = self.now_ms;
            }
            if !decided {
                let queue = queue_mark(body).unwrap_or_default();
                let levels = self.queues.iter_mut().filter(|(key, _)| is_within(&queue, &key.name));
                levels.for_each(|(_, level)| level.changed_ms = self.now_ms);
            }
        }
        if node.is_some() {
            self.intents.remove(&seen.uid);
        }
        let ended = gangline::sim::api::has_ended(pod);
        let queue = queue_mark(body);
        let seen_pod = PodSeen { uid: seen.uid.clone(), rv: seen.rv, node, queue, milli: milli_of(pod), ended, ours };
        if let Some(old) = self.pods.insert(seen.key.clone(), seen_pod)
            && old.uid != seen.uid
        {
            self.intents.remove(&old.uid);
        }
    }

    fn forget(&mut self, kind: Kind, key: &Key) {
        match kind {
            Kind::Pod => {
                if let Some(old) = self.pods.remove(key) {
                    self.intents.remove(&old.uid);
                }
            }
            Kind::Node => drop(self.nodes.remove(key)),
            Kind::Queue => drop(self.queues.remove(key)),
            Kind::TaskGroup | Kind::ResourceQuota => {}
        }
    }

    /// Judges a call as it leaves, by what was observed until then.
    pub(crate) fn judge(&mut self, id: CallId, op: &Op, made: &BTreeSet<String>) -> Result<(), Violation> {
        if !self.is_synced() {
            return Err(Violation::new("I10", format!("{op:?} leaves before everything is listed")));
        }
        match op {
            Op::Bind { pod, uid, node, annotations } => {
                let queue = annotations.get("gangline.dev/binding").and_then(|mark| queue_in(mark)).unwrap_or_default();
                self.calls.insert(id, Sent::Bind(uid.clone()));
                self.judge_bind(pod, uid, node, queue)
            }
            Op::DeletePod { pod, uid } if !made.contains(&*uid.0) => {
                Err(Violation::new("I8", format!("{pod} is deleted, and is no placeholder of ours")))
            }
            Op::DeletePod { pod, uid } => {
                self.calls.insert(id, Sent::Delete(pod.clone(), uid.clone()));
                Ok(())
            }
            Op::CreatePod(pod) => self.judge_create(pod),
            Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::PatchTaskGroupStatus { .. }
            | Op::PatchQueueStatus { .. }
            | Op::CreateEvent(_) => Ok(()),
        }
    }

    /// I9: a placeholder goes with a TaskGroup that was seen, by its UID.
    fn judge_create(&self, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Violation> {
        let mut owners = pod.metadata.owner_references.iter().flatten();
        if owners.any(|owner| owner.kind == "TaskGroup" && self.groups.contains(&Uid::new(owner.uid.as_str()))) {
            return Ok(());
        }
        Err(Violation::new("I9", format!("{:?} is made for nobody", pod.metadata.name)))
    }

    fn judge_bind(&mut self, key: &Key, uid: &Uid, node: &str, queue: &str) -> Result<(), Violation> {
        if let Some(intent) = self.intents.get(uid) {
            let same = intent.node == node;
            let what = || format!("{key} goes to {node}, and may be bound to {} yet", intent.node);
            return if same { Ok(()) } else { Err(Violation::new("I1", what())) };
        }
        let Some(pod) = self.pods.get(key).filter(|pod| pod.uid == *uid) else {
            return Err(Violation::new("I1", format!("{key} goes to {node}, and is not there")));
        };
        if let Some(old) = &pod.node {
            return Err(Violation::new("I1", format!("{key} goes to {node}, and is on {old}")));
        }
        if !pod.ours {
            return Err(Violation::new("I8", format!("{key} goes to {node}, and is not ours")));
        }
        let before = self.sent.get(uid).filter(|(to, _)| to == node).map(|(_, at)| *at);
        let decided_ms = before.unwrap_or(self.now_ms);
        let (milli, doubtful) = (pod.milli, false);
        let intent = Intent { node: node.to_owned(), queue: queue.to_owned(), milli, doubtful, decided_ms };
        self.sent.insert(uid.clone(), (node.to_owned(), decided_ms));
        self.judge_node(key, &intent)?;
        self.judge_queues(key, &intent)?;
        self.intents.insert(uid.clone(), intent);
        Ok(())
    }

    /// I2: with everything that is on the node and may be.
    fn judge_node(&self, key: &Key, new: &Intent) -> Result<(), Violation> {
        let Some(node) = self.nodes.get(&Key::cluster(new.node.as_str())) else {
            return Err(Violation::new("I2", format!("{key} goes to {}, which is not there", new.node)));
        };
        if node.cordoned_ms.is_some_and(|since| new.decided_ms.saturating_sub(since) >= EXCUSED_MS) {
            return Err(Violation::new("I2", format!("{key} goes to {}, which takes no pods", new.node)));
        }
        if new.decided_ms.saturating_sub(node.changed_ms) < EXCUSED_MS {
            return Ok(());
        }
        let there = self.pods.values().filter(|pod| !pod.ended && pod.node.as_deref() == Some(&new.node));
        let coming = self.intents.values().filter(|intent| intent.node == new.node);
        let all: Vec<u64> =
            there.map(|pod| pod.milli).chain(coming.map(|intent| intent.milli)).chain([new.milli]).collect();
        let (used, count) = (all.iter().sum::<u64>(), all.len() as u64);
        if used > node.milli || count > node.pods {
            let what = format!("{key} goes to {}: {used}m of {}m, {count} of {} pods", new.node, node.milli, node.pods);
            return Err(Violation::new("I2", what));
        }
        Ok(())
    }

    /// I3: on every level of the queue's path.
    fn judge_queues(&self, key: &Key, new: &Intent) -> Result<(), Violation> {
        for level in levels(&new.queue) {
            let Some(queue) = self.queues.get(&Key::cluster(level)) else { continue };
            let Some(most) = queue.milli else { continue };
            if queue.lowered || new.decided_ms.saturating_sub(queue.changed_ms) < EXCUSED_MS {
                continue;
            }
            let within = |queue: &str| is_within(queue, level);
            let there = self.pods.values().filter(|pod| !pod.ended && pod.queue.as_deref().is_some_and(within));
            let coming = self.intents.values().filter(|intent| within(&intent.queue));
            let used: u64 =
                there.map(|pod| pod.milli).chain(coming.map(|intent| intent.milli)).sum::<u64>() + new.milli;
            if used > most {
                return Err(Violation::new("I3", format!("{key} takes {level} to {used}m of {most}m")));
            }
        }
        Ok(())
    }
}

/// Whether a queue is another or lies below it.
fn is_within(queue: &str, level: &str) -> bool {
    queue == level || queue.strip_prefix(level).is_some_and(|rest| rest.starts_with('.'))
}

/// The queue that a pod is charged to, by its Binding.
pub(crate) fn queue_mark(pod: &Body) -> Option<String> {
    node_of(pod)?;
    let mark = gangline::sim::store::metadata(pod).annotations.as_ref()?.get("gangline.dev/binding")?;
    queue_in(mark).map(str::to_owned)
}

/// UID of the TaskGroup for which a pod was bound, by its Binding.
pub(crate) fn uid_mark(pod: &Body) -> Option<&str> {
    let mark = gangline::sim::store::metadata(pod).annotations.as_ref()?.get("gangline.dev/binding")?;
    mark.split(' ').find_map(|part| part.strip_prefix("incarnation="))?.rsplit_once('.').map(|(uid, _)| uid)
}

/// Incarnation and seat of a member, by its Binding.
pub(crate) fn seat_mark(pod: &Body) -> Option<(&str, &str)> {
    let mark = gangline::sim::store::metadata(pod).annotations.as_ref()?.get("gangline.dev/binding")?;
    let of = |name| mark.split(' ').find_map(|part| part.strip_prefix(name));
    of("incarnation=").zip(of("seat="))
}

/// Incarnation and seat of a placeholder.
pub(crate) fn seat_label(pod: &Body) -> Option<(&str, &str)> {
    label(pod, "gangline.dev/incarnation").zip(label(pod, "gangline.dev/seat"))
}

fn queue_in(mark: &str) -> Option<&str> {
    mark.split(' ').find_map(|part| part.strip_prefix("queue="))
}

/// The group of a pod.
pub(crate) fn group_of(pod: &Body) -> Option<&str> {
    label(pod, "gangline.dev/task-group")
}

/// A member: not a placeholder, and not one that says so.
pub(crate) fn is_member(pod: &Body) -> bool {
    !is_placeholder(pod) && group_of(pod).is_some()
}
