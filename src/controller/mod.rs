//! Shim, core and outbox as one pure value: observations and a time in, calls out.

pub mod access;
mod announce;
mod answers;
mod bucket;
mod cadence;
mod carry_out;
mod declare;
mod denied;
mod fail;
pub mod follower;
pub mod lease;
mod make;
pub mod outbox;
mod pod_list;
pub mod settings;
mod state;
pub mod stats;
pub mod target;
mod timed_out;
pub mod turn;

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AskId, Key, Text};
use crate::core::codes::Code;
use crate::core::event::{Event, Mark};
use crate::core::reason::AskReason;
use crate::core::step::Scheduler;
use crate::core::time::{Mono, Now};
use crate::shim::dialect::pod_group::System;
use crate::shim::ledger::Ledger;
use crate::shim::observation::{Observation, Outcome, Seen, WatchFact};
use crate::shim::op::{CallId, Kind, Rule};
use crate::shim::pod::Served;
use announce::Matter;
use cadence::Written;
use declare::Declarations;
use denied::Denied;
use outbox::{Outbox, Slot};
use pod_list::PodList;
use settings::Settings;
use target::Target;
use turn::{News, Turn};

/// Everything that is known and wanted. `Clone`, so that a test can fork it.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    ledger: Ledger,
    core: Scheduler,
    outbox: Outbox<Target>,
    /// Kinds that were listed or are known to be unserved.
    answered: BTreeSet<Kind>,
    /// Kinds of which the last answer was that they are not served.
    unserved: BTreeSet<Kind>,
    pod_list: PodList,
    events: Vec<Event>,
    /// Bindings decided and not settled.
    bindings: BTreeMap<AskId, (Text, Mark)>,
    /// Pods that are to fail, with the reason and message that each is to have.
    failing: BTreeMap<AskId, (Code, Text)>,
    /// Events that wait, by number.
    matters: BTreeMap<u64, Matter>,
    next_matter: u64,
    /// The reason last announced of a TaskGroup or pod; `None` where it went before its event left.
    announced: BTreeMap<Target, Option<Code>>,
    /// How many texts may still be written in this step; `None` if more were wanted than that.
    texts: Option<u32>,
    /// What follows from the calls that left in this step.
    follows: Vec<Follow>,
    /// The sentence that was asked for last, and the core's revision then.
    sentence: Option<(u64, AskReason, Text)>,
    /// The status of a TaskGroup or Queue that was last sent.
    written: BTreeMap<Target, Written>,
    denied: Denied,
    declarations: Declarations,
    /// Whether the gang of each TaskGroup is given up by its wait timeout, as its pods are to say in Koordinator's words.
    given_up: BTreeMap<Key, bool>,
    decided: BTreeMap<&'static str, u64>,
    audits: u64,
    violations: u64,
    audited: Mono,
    stopping: bool,
    now: Now,
}

/// What follows from a call that leaves, once all that were ready have left.
#[derive(Clone, Debug)]
enum Follow {
    /// The condition of a pod leaves: an event tells of it too.
    Pod(AskId),
    /// The status of a task group leaves, with this reason: an event tells of it if none has.
    Group(Key, Code),
    /// The status of a task group leaves that was made of a PodGroup: that has a status too.
    PodGroup(System, Key),
    /// The status of a queue with a limit, its own or one above, was looked at: the headroom of the queues below it may
    /// have changed.
    Headroom(Text),
}

/// The command that brings our kinds to a cluster.
pub const APPLY_KINDS: &str = "gangline crds | kubectl apply --server-side -f -";

/// How often the books are audited: it reads everything once, some milliseconds at 100 000 pods.
const AUDIT_EVERY_MS: u64 = 60_000;

/// How many texts (conditions, statuses and events) are written in one step, whether they are sent or not: a sentence
/// about a gang that waits for room takes a plan and a look at every node, some milliseconds at 10 000 nodes. What is
/// left has its turn in the next step, after whatever has come until then.
const TEXTS_PER_STEP: u32 = 8;

impl Controller {
    /// A controller that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        let served = Served::new(settings.scheduler_names.iter().cloned())
            .ignoring_foreign_markers(settings.ignore_foreign_markers)
            .speaking(settings.dialects.iter().copied())
            .waiting_for(settings.default_wait_timeout_seconds)
            .knowing_submitters(settings.submitters);
        Self {
            ledger: Ledger::new(served),
            core: Scheduler::with_most_placeholders(settings.max_placeholders),
            outbox: Outbox::new(settings.instance),
            settings,
            answered: BTreeSet::new(),
            unserved: BTreeSet::new(),
            pod_list: PodList::default(),
            events: Vec::new(),
            bindings: BTreeMap::new(),
            failing: BTreeMap::new(),
            matters: BTreeMap::new(),
            next_matter: 0,
            announced: BTreeMap::new(),
            texts: None,
            follows: Vec::new(),
            sentence: None,
            written: BTreeMap::new(),
            denied: Denied::default(),
            declarations: Declarations::default(),
            given_up: BTreeMap::new(),
            decided: BTreeMap::new(),
            audits: 0,
            violations: 0,
            audited: Mono(0),
            stopping: false,
            now: Now::default(),
        }
    }

    /// Takes what was observed, decides, and says what is to be sent. Drains `batch`.
    pub fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn {
        self.now = now;
        batch.drain(..).for_each(|observation| self.observe(observation));
        if self.stopping {
            // What is in flight ends by itself; what was decided and not sent is decided again by the next process.
            return Turn::default();
        }
        let step = self.core.step(now, std::mem::take(&mut self.events));
        let news = step.decisions.iter().filter_map(News::of).collect();
        step.decisions.into_iter().for_each(|decision| self.carry_out(decision));
        self.audit_sometimes();
        self.texts = Some(TEXTS_PER_STEP);
        let calls = self.calls();
        // Before everything is synced nothing leaves, so there is nothing to wake for.
        let outbox = self.core.is_synced().then(|| self.outbox.wake(now.mono)).flatten();
        let wake = step.wake.into_iter().chain(outbox).min();
        Turn { calls, wake, more: step.more || !self.events.is_empty() || self.texts.is_none(), news }
    }

    fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Watch { kind, fact, .. } => self.watch(kind, fact),
            Observation::Outcome { id, outcome } => {
                self.outbox.rule(id).into_iter().for_each(|rule| self.rights(rule, &outcome));
                let declared = self.outbox.about(id).filter(|(slot, _)| *slot == Slot::Declare).cloned();
                let report = if self.is_outdated(id, &outcome) {
                    self.outbox.outdated(self.now.mono, id, &outcome)
                } else {
                    self.outbox.outcome(self.now.mono, id, outcome)
                };
                report.into_iter().for_each(|report| self.answer(report));
                if let Some((_, Target::Group(key))) = declared {
                    self.hold_back(&key);
                }
            }
            Observation::Stop => self.stopping = true,
        }
    }

    /// Whether an answer shows a pod that is not known, and pods were listed since its call left: the pod may have gone
    /// before that list, and then nothing will say so. The call counts as one without an answer, and is settled like
    /// one.
    fn is_outdated(&self, id: CallId, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Ok(Some(seen)) if !self.ledger.knows_pod(seen)) && self.pod_list.may_hide(id)
    }

    /// What an answer says about our rights, beside what it says about its object.
    fn rights(&mut self, rule: Rule, outcome: &Outcome) {
        match outcome {
            Outcome::Ok(_) | Outcome::Removed => self.denied.call_works(rule),
            Outcome::Pruned => self.denied.call_pruned(rule),
            Outcome::Refused { code: 404 | 409 | 422, .. } => self.denied.call_permitted(rule),
            Outcome::Refused { .. } | Outcome::Unknown | Outcome::NotSent => {}
        }
    }

    fn watch(&mut self, kind: Kind, fact: WatchFact) {
        if kind == Kind::Pod {
            self.pod_list.hear(&fact, self.outbox.newest());
        }
        match &fact {
            WatchFact::Unserved => {
                if self.unserved.insert(kind) {
                    tell_unserved(kind);
                }
                self.denied.watch_works(kind);
                self.answered.insert(kind);
            }
            WatchFact::ListEnd => {
                if self.unserved.remove(&kind) {
                    tracing::info!(kind = kind.plural(), "the cluster serves this kind now");
                }
                self.denied.watch_works(kind);
                self.answered.insert(kind);
            }
            WatchFact::Broken { code, message } => {
                self.denied.watch_broke(kind, *code, message);
                if fact.leaves_out(kind) {
                    self.answered.insert(kind);
                }
            }
            WatchFact::ListBegin | WatchFact::Listed(_) | WatchFact::Upsert(_) | WatchFact::Gone(_) => {}
        }
        let listed = matches!(fact, WatchFact::ListEnd | WatchFact::Unserved) || fact.leaves_out(kind);
        let list_ends = matches!(fact, WatchFact::ListEnd);
        let may_be_gone = list_ends || matches!(fact, WatchFact::Gone(_));
        let queue = (kind == Kind::Queue).then(|| named_queue(&fact)).flatten();
        self.warn_of_malformed(kind, &fact);
        let shown = shown(&fact);
        let pod = shown.filter(|_| kind == Kind::Pod).map(|seen| seen.key.clone());
        let object = System::of(kind).zip(named(&fact)).map(|(system, seen)| (system, seen.key.clone()));
        let seen = shown
            .filter(|_| matches!(kind, Kind::TaskGroup | Kind::Queue))
            .and_then(|seen| Some((seen.key.clone(), seen.body.clone().ok()?)));
        let is_one = matches!(fact, WatchFact::Listed(_) | WatchFact::Upsert(_) | WatchFact::Gone(_));
        let events = self.ledger.watch(kind, fact);
        self.take(events);
        seen.into_iter().for_each(|(key, body)| self.look_at_status(&key, &body));
        pod.into_iter().for_each(|key| self.look_at_condition(&key));
        if kind == Kind::Queue && may_be_gone {
            self.forget_queues();
        }
        if System::of(kind).is_some() && !is_one {
            self.look_at_those_behind();
        }
        queue.into_iter().for_each(|queue| self.show_queues_from(queue));
        object.into_iter().for_each(|(system, key)| self.hear_of_object(system, &key));
        match kind {
            Kind::TaskGroup if list_ends => self.events.push(Event::GroupsListed),
            Kind::Queue if list_ends => self.events.push(Event::QueuesListed),
            Kind::TaskGroup
            | Kind::Queue
            | Kind::Pod
            | Kind::Node
            | Kind::ResourceQuota
            | Kind::Namespace
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => {}
        }
        let is_whole = Kind::watched(&self.settings.dialects).all(|kind| self.answered.contains(&kind));
        if listed && is_whole && !self.core.is_synced() {
            self.events.push(Event::Synced);
        }
    }

    /// An object that does not decode is said once in the log.
    fn warn_of_malformed(&self, kind: Kind, fact: &WatchFact) {
        if let WatchFact::Listed(seen) | WatchFact::Upsert(seen) = fact
            && let Err(malformed) = &seen.body
            && self.ledger.problem(kind, &seen.key) != Some(&malformed.problem)
        {
            let (kind, object, problem) = (kind.plural(), &seen.key, &malformed.problem);
            tracing::warn!(kind, %object, %problem, "an object cannot be read and is left aside");
        }
    }

    /// Notes what events mean for calls that are wanted or in doubt, and hands them to the core.
    fn take(&mut self, events: Vec<Event>) {
        for mut event in events {
            self.settle_calls(&event);
            self.hear_of_declarations(&event);
            self.follow_object(&mut event);
            self.events.push(event);
        }
    }

    fn audit_sometimes(&mut self) {
        if self.now.mono.since(self.audited) < AUDIT_EVERY_MS {
            return;
        }
        self.audited = self.now.mono;
        self.audits += 1;
        let violations = self.core.audit();
        self.violations += violations.len() as u64;
        for violation in violations {
            tracing::error!(%violation, "the books do not add up: this is a bug of gangline");
        }
    }

    /// The deciding part, to be looked at.
    pub fn core(&self) -> &Scheduler {
        &self.core
    }
}

/// What makes an API server serve PodGroups of Kubernetes' own. Without the gate nobody can tell that pods were to be a gang.
const NEEDS_GATE: &str = "it takes the feature gate GenericWorkload, without which spec.schedulingGroup is dropped from new pods, so that \
                          each starts alone, and --runtime-config=scheduling.k8s.io/v1beta1=true";

/// What is not served is said once.
fn tell_unserved(kind: Kind) {
    if kind.is_brought() {
        tracing::warn!(kind = kind.plural(), "the cluster does not serve this kind; apply it: {APPLY_KINDS}");
    } else if kind == Kind::KubernetesPodGroup {
        tracing::warn!(kind = kind.plural(), "the cluster does not serve this kind; {NEEDS_GATE}");
    } else {
        tracing::info!(kind = kind.plural(), "the cluster does not serve this kind: no gang is declared by one");
    }
}

/// The object that a fact is about.
fn named(fact: &WatchFact) -> Option<&Seen> {
    match fact {
        WatchFact::Listed(seen) | WatchFact::Upsert(seen) | WatchFact::Gone(seen) => Some(seen),
        WatchFact::ListEnd | WatchFact::Unserved | WatchFact::ListBegin | WatchFact::Broken { .. } => None,
    }
}

/// The queue that a fact about Queues concerns, together with all below it. After a list that is `root`, since any
/// queue may be gone.
fn named_queue(fact: &WatchFact) -> Option<Text> {
    let is_list = matches!(fact, WatchFact::ListEnd);
    named(fact).map(|seen| seen.key.name.clone()).or_else(|| is_list.then(|| "root".into()))
}

/// The object that a fact shows, as it is.
fn shown(fact: &WatchFact) -> Option<&Seen> {
    match fact {
        WatchFact::Listed(seen) | WatchFact::Upsert(seen) => Some(seen),
        WatchFact::Unserved
        | WatchFact::ListBegin
        | WatchFact::ListEnd
        | WatchFact::Gone(_)
        | WatchFact::Broken { .. } => None,
    }
}
