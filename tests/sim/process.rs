//! One process of the scheduler, and what it has observed: what it does is judged by that, never by its own books.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::TaskGroup;
use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::time::{Mono, Now};
use gangline::shim::observation::{Body, Observation, Outcome, Seen, WatchFact};
use gangline::shim::op::{CallId, Kind, Op};

use super::amount::{Amount, pods_of_node};
use super::marks::{Seat, group_of, member_of, queue_mark, seat_in, seat_label, seat_mark, uid_mark};
use super::people::{is_placeholder, label, node_of};
use super::place::{Wants, ZONE, is_dead, is_tainted};

#[path = "judge.rs"]
mod judge;

/// How long after something changed under a decision that decision may still be carried out.
pub(crate) const EXCUSED_MS: u64 = 30_000;

/// A process.
#[derive(Clone)]
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
    /// All TaskGroups that it has seen, and which was the last of a name.
    groups: BTreeMap<Uid, GroupSeen>,
    group_uids: BTreeMap<Key, Uid>,
    /// Who was seen last under each name.
    uids: BTreeMap<(Kind, Key), Uid>,
    /// Who was seen ever, under which name.
    ever_seen: BTreeSet<(Kind, Key, Uid)>,
    /// Bindings that may have happened or may yet.
    intents: BTreeMap<Uid, Intent>,
    /// Where each pod was last sent, and when that was decided.
    sent: BTreeMap<Uid, (String, u64)>,
    calls: BTreeMap<CallId, Sent>,
    /// Placeholders that it made or tried to, by name, with their TaskGroups.
    created: BTreeSet<(Option<String>, Option<Uid>)>,
    /// Pods that have a node, by an answer.
    answered: BTreeSet<Uid>,
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

#[derive(Clone)]
struct PodSeen {
    uid: Uid,
    rv: u64,
    node: Option<String>,
    queue: Option<String>,
    asks: Amount,
    ended: bool,
    terminating: bool,
    /// A question was answered by 404 since: its room is free, for who believes that.
    perhaps_gone: bool,
    ours: bool,
    wants: Wants,
    /// The group that it names; and the others, or none, that it named, while a Binding for them may be on its way.
    group: Option<String>,
    earlier: BTreeSet<Option<String>>,
    /// The queue that it names for itself, and whether it ever named an application, whose queue counts.
    names_queue: Option<String>,
    is_of_application: bool,
    relabelled_ms: u64,
    /// Whether it says that it is a placeholder.
    placeholder: bool,
    /// UID of the task group for which it is or was bound, and the seat that it holds or was given.
    life_of: Option<Uid>,
    seat: Option<u32>,
}

impl PodSeen {
    /// Whether nobody else may have its room.
    const fn has_room(&self) -> bool {
        !self.ended && !self.perhaps_gone
    }

    /// Whether it names this group, or named it when its Binding may have been decided.
    fn names(&self, group: Option<&str>, since_ms: u64) -> bool {
        let earlier = || self.earlier.iter().any(|earlier| earlier.as_deref() == group);
        self.group.as_deref() == group || since_ms <= self.relabelled_ms + EXCUSED_MS && earlier()
    }
}

/// A TaskGroup as it was seen under one UID.
#[derive(Clone)]
struct GroupSeen {
    key: Key,
    /// `minMember`, where that was always the same.
    min: Option<u32>,
    /// Names of all task groups of its gang.
    gang: Vec<Key>,
    /// Every queue that it named.
    queues: BTreeSet<String>,
}

#[derive(Clone)]
struct NodeSeen {
    has: Amount,
    pods: u64,
    /// When something else than our own pods last changed what is left of it.
    changed_ms: u64,
    /// Since when it takes no pods, and since when only those that tolerate its taint.
    cordoned_ms: Option<u64>,
    tainted_ms: Option<u64>,
    zone: Option<String>,
}

#[derive(Clone)]
struct QueueSeen {
    most: Amount,
    /// When something else than our own decisions last changed what is left of it.
    changed_ms: u64,
    /// More was used than it has when its limit came or was lowered, or a pod grew, and still is: a member may take the seat
    /// that is held for it.
    lowered: bool,
}

#[derive(Clone)]
struct Intent {
    node: String,
    queue: String,
    asks: Amount,
    /// It may have happened, whatever later answers say.
    doubtful: bool,
    /// When it was first sent: one that is refused for now is sent again.
    decided_ms: u64,
}

/// Seats that nobody holds or has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    pub(crate) seats: BTreeSet<u32>,
    /// Members that count on any of them.
    spare: usize,
}

impl Missing {
    /// How many members are missing.
    pub(crate) fn count(&self) -> usize {
        self.seats.len().saturating_sub(self.spare)
    }
}

/// What a call does in the start of a gang.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A member gets a seat.
    Seat(u32),
    /// It is said that the gang has started; perhaps that it lacks members that somebody took.
    Said { lost: bool },
}

/// A call in flight.
#[derive(Clone)]
enum Sent {
    Bind(Uid),
    Delete(Key, Uid),
    Get(Key),
}

impl Process {
    pub(crate) fn new(number: u64) -> Self {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "pause".into(),
            ignore_foreign_markers: false,
            max_placeholders: 5_000,
            instance: number,
        };
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
            groups: BTreeMap::new(),
            group_uids: BTreeMap::new(),
            uids: BTreeMap::new(),
            ever_seen: BTreeSet::new(),
            intents: BTreeMap::new(),
            sent: BTreeMap::new(),
            calls: BTreeMap::new(),
            created: BTreeSet::new(),
            answered: BTreeSet::new(),
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

    /// Whether it knows another pod under a name.
    pub(crate) fn knew_another(&self, kind: Kind, seen: &Seen) -> bool {
        kind == Kind::Pod && self.pods.get(&seen.key).is_some_and(|known| known.uid != seen.uid)
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
                    Kind::TaskGroup => self.group_uids.keys().cloned().collect(),
                    Kind::ResourceQuota => BTreeSet::new(),
                };
                self.unnamed.insert(kind, known);
            }
            WatchFact::Listed(seen) => {
                self.unnamed.get_mut(&kind).map(|known| known.remove(&seen.key));
                self.see(kind, seen);
            }
            WatchFact::ListEnd => {
                self.unnamed.remove(&kind).unwrap_or_default().iter().for_each(|key| self.forget(kind, key));
                self.listed.insert(kind);
                if self.ever.insert(kind) && self.is_synced() {
                    self.mark_overdrawn();
                }
            }
            WatchFact::Upsert(seen) => self.see(kind, seen),
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
    pub(crate) fn answer(&mut self, now: Now, id: CallId, outcome: Outcome) {
        self.now_ms = now.mono.0;
        // What was not sent was not made either, and may be sent again.
        let code = match &outcome {
            Outcome::Refused { code, .. } => *code,
            Outcome::NotSent => 503,
            Outcome::Ok(_) | Outcome::Removed | Outcome::Pruned | Outcome::Unknown => 0,
        };
        let in_doubt = matches!(outcome, Outcome::Unknown) || matches!(code, 408 | 500 | 502 | 504);
        let call = self.calls.remove(&id);
        match &call {
            Some(Sent::Bind(uid)) if in_doubt => {
                self.intents.entry(uid.clone()).and_modify(|intent| intent.doubtful = true);
            }
            Some(Sent::Bind(uid)) if code != 0 => {
                if !matches!(code, 429 | 503) {
                    self.sent.remove(uid);
                }
                if code == 404 || self.intents.get(uid).is_some_and(|intent| !intent.doubtful) {
                    self.intents.remove(uid);
                }
            }
            // Gone, before the watch says so.
            Some(Sent::Delete(key, uid)) if code == 404 || matches!(outcome, Outcome::Removed) => {
                if self.pods.get(key).is_some_and(|pod| pod.uid == *uid) {
                    self.forget(Kind::Pod, &key.clone());
                }
            }
            Some(Sent::Get(key)) if code == 404 => {
                if let Some(pod) = self.pods.get_mut(key) {
                    pod.perhaps_gone = true;
                    self.intents.remove(&pod.uid);
                }
            }
            Some(Sent::Bind(_) | Sent::Delete(..) | Sent::Get(_)) | None => {}
        }
        if let (Some(Sent::Bind(uid)), Outcome::Ok(_)) = (&call, &outcome) {
            self.answered.insert(uid.clone());
        }
        if let Outcome::Ok(Some(seen)) = &outcome {
            self.settle(seen);
        }
        // The answer to a creation shows the pod, or that to a question the next one of its name, before the watch does.
        if let Outcome::Ok(Some(seen)) = &outcome
            && self.pods.get(&seen.key).is_none_or(|known| known.uid != seen.uid && known.rv < seen.rv)
        {
            self.see(Kind::Pod, seen);
        }
        self.batch.push(Observation::Outcome { id, outcome });
    }

    /// Pods that it has on a node, or sends there, by its own books.
    pub(crate) fn residents(&self, node: &str) -> impl Iterator<Item = &Key> {
        let books = &self.controller.core().books;
        let there = books.nodes.id(node).and_then(|node| books.residents.get(&node));
        there.into_iter().flatten().map(|ask| &books.asks[*ask].spec.key)
    }

    /// What it counts in a queue and those below it, by its own books: also for seats that it has not made placeholders for.
    fn counted_in(&self, queue: &str) -> Amount {
        let queues = &self.controller.core().books.queues;
        let found = queues.find(queue).and_then(|queue| queues.get(queue));
        let amount = |name| found.map_or(0, |queue| queue.allocated.get(name)) as u64;
        Amount { milli: amount("cpu"), mib: amount("memory") >> 20 }
    }

    /// Whether more is used in a queue than this, or is to be.
    fn is_overdrawn(&self, queue: &str, most: Amount) -> bool {
        !self.used_in(queue).is_within(most) || !self.counted_in(queue).is_within(most)
    }

    /// A queue that is within its limit again is judged again.
    fn forget_overdrawn(&mut self) {
        let lowered = self.queues.iter().filter(|(_, queue)| queue.lowered);
        let within =
            lowered.filter(|(key, queue)| !self.is_overdrawn(&key.name, queue.most)).map(|(key, _)| key.clone());
        for key in within.collect::<Vec<_>>() {
            self.queues.entry(key).and_modify(|queue| queue.lowered = false);
        }
    }

    /// Whether every kind was listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.ever.len() == Kind::ALL.len()
    }

    /// A queue that is over its limit when everything is first listed: it was lowered before.
    fn mark_overdrawn(&mut self) {
        let used: Vec<Amount> = self.queues.keys().map(|key| self.used_in(&key.name)).collect();
        for (queue, used) in self.queues.values_mut().zip(used) {
            queue.lowered |= !used.is_within(queue.most);
        }
    }

    /// What is used in a queue and those below it.
    fn used_in(&self, queue: &str) -> Amount {
        let of_queue = |pod: &&PodSeen| !pod.ended && pod.queue.as_deref().is_some_and(|of| is_within(of, queue));
        self.pods.values().filter(of_queue).map(|pod| pod.asks).sum()
    }

    /// What has a node has been bound; what is being deleted without one gets none any more, whatever is on its way.
    fn settle(&mut self, seen: &Seen) {
        let terminates = |body: &Body| gangline::sim::store::metadata(body).deletion_timestamp.is_some();
        let Ok(body) = &seen.body else { return };
        if node_of(body).is_some() {
            self.answered.insert(seen.uid.clone());
        } else if terminates(body) {
            self.intents.remove(&seen.uid);
        }
    }

    fn see(&mut self, kind: Kind, seen: &Seen) {
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
                let node = NodeSeen { has, pods, changed_ms, cordoned_ms, tainted_ms, zone };
                self.nodes.insert(seen.key.clone(), node);
            }
            Body::Queue(queue) => {
                let most = Amount::of_queue(queue);
                let old = self.queues.get(&seen.key);
                let changed_ms = old.map_or(0, |old| old.changed_ms);
                // Who comes, or comes back, may find more in use than it has too.
                let lowered = old.is_none_or(|old| old.lowered || !old.most.is_within(most));
                let lowered = lowered && self.is_overdrawn(&seen.key.name, most);
                self.queues.insert(seen.key.clone(), QueueSeen { most, changed_ms, lowered });
            }
            Body::TaskGroup(group) => self.see_group(seen, group),
            Body::ResourceQuota(_) => {}
        }
    }

    fn see_group(&mut self, seen: &Seen, group: &TaskGroup) {
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
        });
        known.min = known.min.filter(|known| *known == min);
        known.gang = gang;
        known.queues.insert(group.spec.queue.clone().unwrap_or_else(|| "root.default".to_owned()));
    }

    /// All task groups of the gang of this one, with what each needs, where all of that is known.
    pub(crate) fn gang_of(&self, uid: &Uid) -> Vec<(&Uid, &Key, u32)> {
        let group = |key: &Key| {
            let (uid, group) = self.groups.get_key_value(self.group_uids.get(key)?)?;
            Some((uid, &group.key, group.min?))
        };
        let own = self.groups.get(uid).filter(|own| self.group_uids.get(&own.key) == Some(uid));
        let all = own.and_then(|own| own.gang.iter().map(group).collect());
        all.unwrap_or_default()
    }

    /// Seats of a task group that nobody holds or has, as far as this process was told, of so many; and how many were bound
    /// for no seat, who may count on any.
    pub(crate) fn unseated(&self, uid: &Uid, min: u32) -> Missing {
        let has_node = |pod: &&PodSeen| pod.node.is_some() || self.answered.contains(&pod.uid);
        let there = self.pods.values().filter(|pod| !(pod.placeholder && pod.ended)).filter(has_node);
        let own: Vec<Option<u32>> = there.filter(|pod| pod.life_of.as_ref() == Some(uid)).map(|pod| pod.seat).collect();
        let spare = own.iter().filter(|seat| seat.is_none()).count();
        Missing { seats: (0..min).filter(|seat| !own.contains(&Some(*seat))).collect(), spare }
    }

    /// How many members of a task group have no node and may get one, as far as this process was told.
    pub(crate) fn waiting(&self, group: &Key) -> usize {
        let own = self.pods.iter().filter(|(key, pod)| {
            key.namespace == group.namespace && pod.group.as_deref() == Some(&*group.name) && !pod.placeholder
        });
        let waits = |pod: &PodSeen| !pod.ended && !pod.terminating && pod.node.is_none();
        own.filter(|(_, pod)| waits(pod) && !self.answered.contains(&pod.uid)).count()
    }

    /// When it was decided to bind a pod.
    pub(crate) fn decided(&self, uid: &Uid) -> Option<u64> {
        self.sent.get(uid).map(|(_, at)| *at)
    }

    /// What a call does to start a gang, or goes on with it: a member gets a seat, or it is said that it has started.
    pub(crate) fn start_in(&self, op: &Op) -> Option<(Uid, String, Step)> {
        match op {
            Op::Bind { pod, annotations, .. } => {
                let is_member =
                    self.pods.get(pod).is_some_and(|pod| !pod.placeholder && member_of(annotations).is_some());
                let seat = seat_in(annotations).filter(|_| is_member)?;
                Some((seat.uid(), seat.incarnation, Step::Seat(seat.number)))
            }
            Op::PatchTaskGroupStatus { uid, status, .. } if status.application_state == "Running" => {
                let lost = status.reason == "PartiallyLost";
                Some((uid.clone(), format!("{}.{}", uid.0, status.incarnation), Step::Said { lost }))
            }
            Op::DeletePod { .. }
            | Op::CreatePod(_)
            | Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::PatchTaskGroupStatus { .. }
            | Op::PatchQueueStatus { .. }
            | Op::CreateEvent(_) => None,
        }
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
                self.groups.entry(seen.uid.clone()).or_insert(GroupSeen { key, min: None, gang, queues });
            }
            Kind::Pod | Kind::Node | Kind::Queue | Kind::ResourceQuota => {}
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
        let (queue, asks) = (queue_mark(body), Amount::of_pod(pod));
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
        let seat = given.map(|given| given.number);
        let wants = Wants::of(pod);
        let seen_pod = PodSeen {
            uid,
            rv,
            node,
            queue,
            asks,
            ended,
            terminating: pod.metadata.deletion_timestamp.is_some(),
            perhaps_gone: false,
            ours,
            wants,
            group,
            earlier,
            names_queue,
            is_of_application,
            relabelled_ms,
            placeholder,
            life_of,
            seat,
        };
        if grows {
            self.take_room(&seen_pod);
        }
        if let Some(old) = self.pods.insert(seen.key.clone(), seen_pod)
            && old.uid != seen.uid
        {
            self.intents.remove(&old.uid);
        }
    }

    /// A pod that has a node asks for more: what is there is what it is, and may be too little.
    fn take_room(&mut self, pod: &PodSeen) {
        let node = pod.node.as_deref().and_then(|node| self.nodes.get_mut(&Key::cluster(node)));
        node.into_iter().for_each(|node| node.changed_ms = self.now_ms);
        let queue = pod.queue.as_deref().unwrap_or_default();
        for (_, level) in self.queues.iter_mut().filter(|(key, _)| is_within(queue, &key.name)) {
            (level.changed_ms, level.lowered) = (self.now_ms, true);
        }
    }

    fn forget(&mut self, kind: Kind, key: &Key) {
        self.uids.remove(&(kind, key.clone()));
        match kind {
            Kind::Pod => {
                if let Some(old) = self.pods.remove(key) {
                    self.intents.remove(&old.uid);
                }
            }
            Kind::Node => drop(self.nodes.remove(key)),
            Kind::Queue => drop(self.queues.remove(key)),
            Kind::TaskGroup => drop(self.group_uids.remove(key)),
            Kind::ResourceQuota => {}
        }
    }
}

/// Whether a queue is another or lies below it.
fn is_within(queue: &str, level: &str) -> bool {
    queue == level || queue.strip_prefix(level).is_some_and(|rest| rest.starts_with('.'))
}
