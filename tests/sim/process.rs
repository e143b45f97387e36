//! One process of the scheduler, and what it has observed: what it does is judged by that, never by its own books.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gangline::api::task_group::TaskGroup;
use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::time::{Mono, Now};
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Observation, Outcome, Seen, WatchFact};
use gangline::shim::op::{CallId, Kind, Op};

use super::amount::{Amount, GPU};
use super::limits::Submitter;
use super::marks::{member_of, seat_in};
use super::people::ENDLESS_S;
use super::place::Wants;
use super::words::WordsAct;
pub(crate) use along::Along;
use bounds::Bounds;
pub(crate) use fair::Order;
use housed::Housed;
use kept::Lost;
use written::PodGroupSeen;

#[path = "along.rs"]
mod along;
#[path = "bounds.rs"]
mod bounds;
#[path = "fair.rs"]
mod fair;
#[path = "housed.rs"]
mod housed;
#[path = "judge.rs"]
mod judge;
#[path = "kept.rs"]
mod kept;
#[path = "sees.rs"]
mod sees;
#[path = "written.rs"]
mod written;

/// How long after something changed under a decision that decision may still be carried out.
pub(crate) const EXCUSED_MS: u64 = 30_000;

/// A process.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) controller: Controller,
    pub(crate) number: u64,
    /// How many kinds it watches.
    kinds: usize,
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
    /// Namespaces, and what queues do for them.
    housed: Housed,
    /// All TaskGroups that it has seen, and which was the last of a name.
    groups: BTreeMap<Uid, GroupSeen>,
    group_uids: BTreeMap<Key, Uid>,
    /// PodGroups that are there, by kind and name.
    pod_groups: BTreeMap<(Kind, Key), PodGroupSeen>,
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
    /// When it was last told that a pod of a life of a task group lives no more.
    last_died: BTreeMap<(Uid, u32), u64>,
    /// When it sent the deletion of the placeholder that held a seat.
    swapped: BTreeMap<(Uid, u32, u32), u64>,
    /// Whether it had everything before what it was told and has not looked at.
    has_begun: bool,
    /// Members that were lost, by their UID.
    lost: BTreeMap<Uid, Lost>,
    /// Until when the room of a task group's last loss is kept at most.
    kept_until: BTreeMap<Uid, u64>,
    /// Task groups of which members have succeeded and are gone.
    gone_well: BTreeSet<Uid>,
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
    /// For whom it counts when it has a node.
    submitter: Option<Submitter>,
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
    /// The application that it names, or was bound for.
    application: Option<String>,
    relabelled_ms: u64,
    /// Whether it says that it is a placeholder.
    placeholder: bool,
    /// UID of the task group for which it is or was bound, in which life, and the seat that it holds or was given.
    life_of: Option<Uid>,
    life: Option<u32>,
    seat: Option<u32>,
    /// It has done its work.
    succeeded: bool,
    /// Its node did not take it.
    refused: bool,
    /// The TaskGroups that it declares in YuniKorn's words, and what it says in those of others.
    declares: Vec<String>,
    words: Option<WordsAct>,
    /// It was being deleted while another of its gang waited.
    outlived: bool,
}

impl PodSeen {
    /// Whether nobody else may have its room.
    const fn has_room(&self) -> bool {
        !self.ended && !self.perhaps_gone
    }

    /// The life in which it runs as a member or an originator, and is not being deleted.
    fn lives_in(&self) -> Option<(&Uid, u32)> {
        let lives = self.node.is_some() && !self.ended && !self.terminating && !self.placeholder;
        self.life_of.as_ref().zip(self.life).filter(|_| lives)
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
    /// Every queue that it named; nothing for the one of those that name none.
    queues: BTreeSet<String>,
    /// As it was seen last; and whether its spec was not always the same, or could not be read.
    last: Option<Arc<TaskGroup>>,
    edited: bool,
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
    bounds: Bounds,
}

#[derive(Clone)]
struct Intent {
    node: String,
    queue: String,
    submitter: Option<Submitter>,
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
    pub(crate) fn new(number: u64, dialects: &[Dialect]) -> Self {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "pause".into(),
            ignore_foreign_markers: false,
            dialects: dialects.to_vec(),
            // Who says nothing waits for as long as a play takes.
            default_wait_timeout_seconds: ENDLESS_S,
            submitters: true,
            max_placeholders: 5_000,
            instance: number,
        };
        Self {
            controller: Controller::new(settings),
            number,
            kinds: Kind::watched(dialects).count(),
            batch: Vec::new(),
            listed: BTreeSet::new(),
            ever: BTreeSet::new(),
            read: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            queues: BTreeMap::new(),
            housed: Housed::default(),
            groups: BTreeMap::new(),
            group_uids: BTreeMap::new(),
            pod_groups: BTreeMap::new(),
            uids: BTreeMap::new(),
            ever_seen: BTreeSet::new(),
            intents: BTreeMap::new(),
            sent: BTreeMap::new(),
            calls: BTreeMap::new(),
            created: BTreeSet::new(),
            answered: BTreeSet::new(),
            last_died: BTreeMap::new(),
            swapped: BTreeMap::new(),
            has_begun: false,
            lost: BTreeMap::new(),
            kept_until: BTreeMap::new(),
            gone_well: BTreeSet::new(),
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
        if self.batch.is_empty() {
            self.has_begun = self.is_synced();
        }
        match &fact {
            WatchFact::ListBegin => {
                let known: BTreeSet<Key> = match kind {
                    Kind::Pod => self.pods.keys().cloned().collect(),
                    Kind::Node => self.nodes.keys().cloned().collect(),
                    Kind::Queue => self.queues.keys().filter(|key| self.housed.has_object(key)).cloned().collect(),
                    Kind::TaskGroup => self.group_uids.keys().cloned().collect(),
                    Kind::KoordinatorPodGroup
                    | Kind::CoschedulingPodGroup
                    | Kind::VolcanoPodGroup
                    | Kind::KubernetesPodGroup => self.known_pod_groups(kind).collect(),
                    Kind::Namespace => self.housed.names().cloned().collect(),
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
                self.lost.clear();
                self.lose_sight_of(kind);
                if kind == Kind::Queue {
                    self.lose_doors();
                }
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
        Amount { milli: amount("cpu"), mib: amount("memory") >> 20, gpu: amount(GPU) }
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
        self.forget_lowered();
    }

    /// Whether every kind was listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.ever.len() == self.kinds
    }

    /// A queue that is over its limit when everything is first listed: it was lowered before.
    fn mark_overdrawn(&mut self) {
        self.find_homes();
        let used: Vec<Amount> = self.queues.keys().map(|key| self.used_in(&key.name)).collect();
        for (queue, used) in self.queues.values_mut().zip(used) {
            queue.lowered |= !used.is_within(queue.most);
        }
        self.mark_over();
    }

    /// What is used in a queue and those below it.
    fn used_in(&self, queue: &str) -> Amount {
        let of_queue = |pod: &&PodSeen| !pod.ended && pod.queue.as_deref().is_some_and(|of| is_within(of, queue));
        self.pods.values().filter(of_queue).map(|pod| pod.asks).sum()
    }

    /// All task groups of the gang of this one, with what each needs, where all of that is known.
    pub(crate) fn gang_of(&self, uid: &Uid) -> Vec<(&Uid, &Key, u32)> {
        let group = |key: &Key| {
            let (uid, group) = self.groups.get_key_value(self.group_uids.get(key)?)?;
            let min = group.min.or_else(|| self.written_min(group))?;
            Some((uid, &group.key, min))
        };
        let own = self.groups.get(uid).filter(|own| self.group_uids.get(&own.key) == Some(uid));
        let all = own.and_then(|own| own.gang.iter().map(group).collect());
        all.unwrap_or_default()
    }

    /// Since when nobody of this life of a task group's gang lives, of which some did, as far as this process was told and
    /// sent but this pod; `None` while somebody does, and of one of which a pod has succeeded, be it gone: others may go on
    /// with it.
    pub(crate) fn dead_since(&self, uid: &Uid, life: u32, but: &Uid) -> Option<u64> {
        let gang: Vec<&Uid> = self.gang_of(uid).into_iter().map(|(uid, ..)| uid).collect();
        let is_of = |of: &Uid, in_life: u32| in_life == life && gang.contains(&of);
        let of_life = || {
            self.pods
                .values()
                .filter(|pod| pod.life_of.as_ref().zip(pod.life).is_some_and(|(of, life)| is_of(of, life)))
        };
        let lives = |pod: &PodSeen| pod.lives_in().is_some();
        let is_sent = self.pods.values().any(|pod| {
            let of_gang = pod.group.is_none()
                || gang.iter().any(|uid| {
                    self.groups.get(*uid).is_some_and(|group| pod.group.as_deref() == Some(&*group.key.name))
                });
            of_gang
                && pod.uid != *but
                && (self.intents.contains_key(&pod.uid) || self.answered.contains(&pod.uid) && pod.node.is_none())
        });
        // A driver that came before the task group is of no life of it.
        let drives = |pod: &PodSeen| pod.is_of_application && pod.node.is_some() && !pod.ended;
        let some_succeeded = of_life().any(|pod| pod.succeeded) || gang.iter().any(|uid| self.gone_well.contains(*uid));
        if is_sent || some_succeeded || self.pods.values().any(drives) || of_life().any(lives) {
            return None;
        }
        let died = self.last_died.iter().filter(|((of, in_life), _)| is_of(of, *in_life));
        died.map(|(_, at)| *at).max()
    }

    /// Seats of a task group that nobody holds or has in this life, as far as this process was told, of so many; and how
    /// many were bound for no seat, who may count on any.
    pub(crate) fn unseated(&self, uid: &Uid, life: u32, min: u32) -> Missing {
        let has_node = |pod: &&PodSeen| pod.node.is_some() || self.answered.contains(&pod.uid);
        let there = self.pods.values().filter(|pod| !(pod.placeholder && pod.ended)).filter(has_node);
        // Who lives of an earlier life may have been taken into this one, after an edit that a process found.
        let is_own = |pod: &&PodSeen| {
            pod.life_of.as_ref() == Some(uid) && (pod.life.is_none_or(|of| of == life) || !pod.terminating)
        };
        let own: Vec<Option<u32>> = there.filter(is_own).map(|pod| pod.seat).collect();
        let spare = own.iter().filter(|seat| seat.is_none()).count();
        Missing { seats: (0..min).filter(|seat| !own.contains(&Some(*seat))).collect(), spare }
    }

    /// When it began to swap the placeholder of a seat.
    pub(crate) fn swapped(&self, uid: &Uid, life: u32, seat: u32) -> Option<u64> {
        self.swapped.get(&(uid.clone(), life, seat)).copied()
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
                let lost = ["PartiallyLost", "PlaceholderTimeout"].contains(&&*status.reason);
                Some((uid.clone(), format!("{}.{}", uid.0, status.incarnation), Step::Said { lost }))
            }
            Op::DeletePod { .. }
            | Op::FailPod { .. }
            | Op::CreatePod(_)
            | Op::CreateTaskGroup(_)
            | Op::EditTaskGroup { .. }
            | Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::AnnotateTimeout { .. }
            | Op::PatchTaskGroupStatus { .. }
            | Op::PatchQueueStatus { .. }
            | Op::PatchPodGroupStatus { .. }
            | Op::CreateEvent(_) => None,
        }
    }
}

/// Whether a queue is another or lies below it.
fn is_within(queue: &str, level: &str) -> bool {
    queue == level || queue.strip_prefix(level).is_some_and(|rest| rest.starts_with('.'))
}
