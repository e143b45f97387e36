//! A cluster in a process: the scheduler, the API server's model, kubelets and garbage collection, and an agenda of what
//! happens when.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::Key;
use gangline::core::time::{Mono, Now, Wall};
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::Outcome;
use gangline::shim::op::{Call, CallId, Kind, Op};
use gangline::sim::api::Api;
use gangline::sim::garbage;
use gangline::sim::job::Jobs;
use gangline::sim::ordered::Sets;
use gangline::sim::store::{Change, metadata};
use k8s_openapi::api::core::v1::Pod;

use super::acts::{Act, Needs};
use super::chance::Chance;
use super::coverage::Coverage;
use super::homes::NamespaceAct;
use super::oracle::Violation;
use super::plan::{Admission, Faults};
use super::process::{EXCUSED_MS, Process};
use super::words::USUAL;
use firsts::Firsts;
use ledger::Ledger;
pub(crate) use ledger::START_MS;
use replicas::{Post, Replicas};
use rounds::Rounds;
pub(crate) use watching::GARBLED;
use watching::Silence;

#[path = "actors.rs"]
mod actors;
#[path = "calls.rs"]
mod calls;
#[path = "firsts.rs"]
mod firsts;
#[path = "lease.rs"]
mod lease;
#[path = "ledger.rs"]
mod ledger;
#[path = "lives.rs"]
mod lives;
#[path = "replicas.rs"]
mod replicas;
#[path = "rounds.rs"]
mod rounds;
#[path = "watching.rs"]
mod watching;

/// How long a world is left alone until it counts as at rest: longer than every pause of the scheduler.
const REST_MS: u64 = 660_000;
/// How long a call is on its way, and its answer.
const CALL_MS: u64 = 3;
/// What takes longer is slow.
const LONG_MS: u64 = 20;
/// After this time a call without an answer is given up.
const GIVEN_UP_MS: u64 = 5_000;
/// Most events of one rest: a world that does not come to rest is a finding.
const EVENTS_MAX: u32 = 200_000;
/// How long a process that crashed is away, at most.
const DOWN_MS: u64 = 3_000;

/// What happens to the process at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// It ends before the write.
    Before,
    /// The write is made, and it ends before it hears of it.
    AnswerLost,
    /// It hears of it, decides what follows, and ends before anything of that leaves.
    After,
    /// It ends, and the write is made when the next process has listed everything.
    Late,
}

impl Death {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::AnswerLost, Self::After, Self::Late];
}

/// What is going to happen.
#[derive(Clone, Debug)]
enum Event {
    Act(Box<Act>),
    /// A process starts.
    Start,
    /// A process ends, and another goes on.
    End(u64),
    /// A process gets the list of a kind.
    List(u64, Kind),
    /// The watch of a kind speaks to a process.
    Watch(u64, Kind),
    /// A kind is served again.
    Serve(Kind),
    /// It is noticed that a watch has said nothing for long.
    Unmute(Kind),
    /// A call reaches the server.
    Arrive(Box<Call>, Fate),
    /// A process hears how a call ended.
    Answer(u64, CallId, Box<Outcome>),
    Kubelet(Key),
    Collect(Key),
    /// The garbage collector takes what was made of a PodGroup that is gone, by its UID.
    Orphans(String),
    /// The namespace controller looks; when nothing is left, somebody makes the namespace again after so long.
    Sweep(u64),
    /// Somebody makes the namespace.
    Found,
    /// An object is written so that it can be read.
    Mend(Kind, Key),
    /// Nothing was heard of a node for a while.
    Mark(String),
    /// The controllers of Jobs and StatefulSets look at their pods.
    Jobs,
    /// Something happens to one of two processes.
    Lease(Box<Post>),
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is carried out, and answered after so long.
    Fine(u64),
    /// The same, and the answer is lost.
    AnswerLost,
    /// It never arrives.
    Lost,
    /// It is refused with this code.
    Refused(u16),
    /// It was given up before it arrived, and is made a while after.
    Late,
    /// It is carried out, and nobody waits for the answer any more.
    Unheard,
}

/// A cluster.
#[derive(Clone)]
pub(crate) struct World {
    /// The API server.
    pub(crate) api: Api,
    /// Every write so far: `create pods ns/g`.
    pub(crate) writes: Vec<String>,
    /// Since when nothing goes wrong any more.
    pub(crate) calm_ms: Option<u64>,
    /// Whether somebody did something since it was last looked at.
    pub(crate) has_acted: bool,
    /// Pods that were bound, created or deleted so far.
    pub(crate) deeds: usize,
    /// Steps so far.
    pub(crate) steps: u64,
    /// Those of them in which what a queue is promised decided who was served.
    pub(crate) contended: u64,
    /// The first promise that was broken.
    pub(crate) violation: Option<Violation>,
    /// Whether to print what happens.
    pub(crate) verbose: bool,
    /// Whether what is said at rest is looked into, in copies of it ([`super::forks`]).
    pub(crate) looks_closely: bool,
    /// Groups from which something outside took members or seats, and until when a process may not know of the last time.
    pub(crate) disturbed: BTreeMap<String, u64>,
    /// Groups of gangs of which a pod was bound by a process that another did not know of, and until when one may not have
    /// heard.
    pub(crate) overtaken: BTreeMap<String, u64>,
    /// The scheduler; of several the one that began last.
    pub(crate) process: Option<Process>,
    /// Those that go on beside it.
    older: Vec<Process>,
    /// Whose words each of them understands.
    dialects: &'static [Dialect],
    /// The two of which one decides, where there are two.
    replicas: Option<Box<Replicas>>,
    /// Whether whatever one process has sent is made before the next one begins, if it is.
    is_orderly: bool,
    chance: Chance,
    pub(crate) faults: Faults,
    processes: u64,
    now_ms: u64,
    /// How far the wall clock is from where it began, beside the time that has passed.
    pub(crate) wall_ms: i64,
    /// In which order lists come, if not in the server's.
    order: Option<u64>,
    /// Every call as it left, where that is compared.
    pub(crate) calls: Option<Vec<Op>>,
    agenda: BTreeMap<(u64, u64), Event>,
    serial: u64,
    /// How far the actors have seen.
    acted_on: u64,
    /// Watches that are going to speak.
    speaking: BTreeSet<(u64, Kind)>,
    /// Pods that are going to be looked at, by kubelets and by garbage collection.
    looked_at: BTreeSet<(bool, Key)>,
    /// Nodes whose kubelet does nothing, and until when.
    hanging: BTreeMap<String, u64>,
    /// Nodes whose machine is dead.
    pub(crate) dead: BTreeSet<String>,
    /// What Jobs and StatefulSets have and want, and whether their controllers are going to look.
    pub(crate) jobs: Jobs,
    pub(crate) sets: Sets,
    jobs_due: bool,
    /// UIDs of the placeholders: pods that the scheduler created, and those that nothing tells from these.
    made: BTreeSet<String>,
    /// UIDs of the latter.
    forged: BTreeSet<String>,
    /// UIDs of pods whose deletion was sent.
    pub(crate) called_off: BTreeSet<String>,
    /// Who says to be first in line.
    firsts: Firsts,
    death: Option<(usize, Death)>,
    /// Queues whose limit of applications came when they were in use, perhaps.
    pub(crate) relimited: BTreeSet<String>,
    /// Pods whose condition was written so late that it may have come after a newer one, or by a process beside another.
    /// Another reason is seen then, and written again; the same reason with another sentence is not.
    pub(crate) said_late: BTreeSet<String>,
    /// Applications of which there was no living pod at some moment since they started.
    pub(crate) paused: BTreeSet<String>,
    /// Until then a process may decide by what is not so any more, since nobody told it.
    deaf_until: u64,
    /// What the server does not serve, and what it does not say.
    silence: Silence,
    /// How many members of a task group, by its UID, had ended and are gone.
    pub(crate) ended: BTreeMap<String, u32>,
    /// How many had a node and are gone without having ended.
    pub(crate) lost: BTreeMap<String, u32>,
    /// Every `minMember` that a task group ever had, by its UID.
    pub(crate) mins: BTreeMap<String, BTreeSet<u32>>,
    /// When task groups went, by their UID.
    went: BTreeMap<String, u64>,
    /// The last two states of each pod, where a question after it may be answered by the one before.
    states: BTreeMap<Key, [Option<Change>; 2]>,
    /// Who was bound and lost of each gang.
    pub(crate) rounds: Rounds,
    /// What was last said of each namespace of which something ever was.
    pub(crate) namespaces: BTreeMap<String, NamespaceAct>,
    /// Groups that were there when work that names no queue may have gone to another one from then on.
    pub(crate) rehomed: BTreeSet<String>,
    /// Pods that are made anew when they are gone.
    pub(crate) come_again: BTreeMap<Key, Pod>,
    /// What was given to whom.
    pub(crate) ledger: Ledger,
    /// Notes what is reached, where it is to.
    pub(crate) coverage: Option<Coverage>,
}

impl World {
    /// An empty cluster, in which the process dies at its n-th write, if it is to.
    pub(crate) fn new(seed: u64, faults: Faults, death: Option<(usize, Death)>) -> Self {
        let mut world = Self {
            api: Api::default(),
            writes: Vec::new(),
            calm_ms: None,
            has_acted: false,
            deeds: 0,
            steps: 0,
            contended: 0,
            violation: None,
            verbose: false,
            looks_closely: seed.is_multiple_of(crate::circle::size().forked),
            disturbed: BTreeMap::new(),
            ledger: Ledger::default(),
            overtaken: BTreeMap::new(),
            process: None,
            older: Vec::new(),
            dialects: USUAL,
            replicas: None,
            is_orderly: false,
            chance: Chance::new(seed),
            faults,
            processes: 0,
            // Later than what happened long ago.
            now_ms: 2 * EXCUSED_MS,
            wall_ms: 0,
            order: None,
            calls: None,
            agenda: BTreeMap::new(),
            serial: 0,
            acted_on: 0,
            speaking: BTreeSet::new(),
            looked_at: BTreeSet::new(),
            hanging: BTreeMap::new(),
            dead: BTreeSet::new(),
            jobs: Jobs::default(),
            sets: Sets::default(),
            jobs_due: false,
            made: BTreeSet::new(),
            forged: BTreeSet::new(),
            called_off: BTreeSet::new(),
            firsts: Firsts::default(),
            death,
            relimited: BTreeSet::new(),
            said_late: BTreeSet::new(),
            paused: BTreeSet::new(),
            deaf_until: 0,
            silence: Silence::default(),
            ended: BTreeMap::new(),
            lost: BTreeMap::new(),
            mins: BTreeMap::new(),
            went: BTreeMap::new(),
            states: BTreeMap::new(),
            rounds: Rounds::default(),
            namespaces: BTreeMap::new(),
            rehomed: BTreeSet::new(),
            come_again: BTreeMap::new(),
            coverage: None,
        };
        world.api.admission = faults.admission.map(Admission::hook);
        world.start();
        world
    }

    /// With lists in another order, one for each number.
    pub(crate) const fn listing_in_order(mut self, order: u64) -> Self {
        self.order = Some(order);
        self
    }

    /// With a record of every call.
    pub(crate) fn noting_calls(mut self) -> Self {
        self.calls = Some(Vec::new());
        self
    }

    /// Acts happen later, counted from now.
    pub(crate) fn plan(&mut self, acts: &[(u64, Act)]) {
        for (at, act) in acts {
            self.at(self.now_ms + at, Event::Act(Box::new(act.clone())));
        }
    }

    /// From now on nothing goes wrong any more. Nor does a quota of the namespace refuse a pod: what is refused is tried
    /// again for ever, and there would be no rest.
    pub(crate) fn calm_down(&mut self) {
        self.say(|| "calm".to_owned());
        if self.api.admission.take().is_some() {
            // A gang may remember how large its placeholders came out.
            self.incomplete().iter().for_each(|group| self.disturb(group));
        }
        self.faults = Faults::default();
        self.clear_squatters();
        self.hanging.clear();
        self.calm_ms = Some(self.now_ms);
        self.serve_all();
        self.elect();
    }

    /// Lets happen what happens in so much time.
    pub(crate) fn run_for(&mut self, span_ms: u64) {
        self.react();
        let until = self.now_ms + span_ms;
        while self.violation.is_none() && self.next_at().is_some_and(|at| at <= until) {
            self.happen();
        }
        self.now_ms = until;
    }

    /// Lets everything happen that happens by itself, and time pass.
    pub(crate) fn rest(&mut self) {
        self.react();
        let mut before = BTreeMap::new();
        let mut until = self.now_ms + REST_MS;
        for _ in 0..EVENTS_MAX {
            match self.next_at() {
                Some(at) if at <= until && self.violation.is_none() => {
                    // A process that only looks at its timers is at rest.
                    if !self.agenda.is_empty() {
                        until = until.max(at + REST_MS);
                    }
                    self.happen();
                    self.check_no_repetition(&mut before);
                }
                _ => {
                    self.now_ms = until;
                    return;
                }
            }
        }
        let last = &self.writes[self.writes.len().saturating_sub(10)..];
        self.violated("L1", format!("no rest; the last writes: {last:#?}"));
    }

    fn next_at(&self) -> Option<u64> {
        let agenda = self.agenda.first_key_value().map(|((at, _), _)| *at);
        agenda.into_iter().chain(self.next_step().map(|(at, _)| at)).min()
    }

    /// The next thing happens.
    fn happen(&mut self) {
        let Some(at) = self.next_at() else { return };
        self.now_ms = self.now_ms.max(at);
        let due = self.agenda.first_entry().filter(|event| event.key().0 <= at);
        match due {
            Some(event) => {
                let event = event.remove();
                self.handle(event);
            }
            None => self.next_step().into_iter().for_each(|(_, number)| self.step(number)),
        }
        self.react();
    }

    fn handle(&mut self, event: Event) {
        if let Some(until) = self.not_before(&event) {
            return self.at(until, event);
        }
        match event {
            Event::Act(act) => match self.refused_until(&act) {
                // Who is refused tries again.
                Some(until) => self.at(until, Event::Act(act)),
                None => {
                    self.say(|| format!("{act:?}"));
                    self.has_acted = true;
                    let before = self.api.store.revision();
                    self.act(&act);
                    // What concerns objects had an effect if one changed.
                    if act.needs() == Needs::Nobody || self.api.store.revision() > before {
                        self.coverage.iter_mut().for_each(|coverage| coverage.act(&act));
                    }
                }
            },
            Event::Serve(kind) => self.serve(kind),
            Event::Unmute(kind) => self.unmute(kind),
            Event::Start => self.start(),
            Event::End(number) => self.stop(number),
            Event::List(number, kind) => self.list(number, kind),
            Event::Watch(number, kind) => {
                self.speaking.remove(&(number, kind));
                self.watch(number, kind);
            }
            Event::Arrive(call, fate) => self.arrive(&call, fate),
            Event::Answer(number, id, outcome) => {
                let now = self.now();
                let outcome = self.unless_away(number, outcome);
                self.note_landed(number, &outcome);
                self.coverage.iter_mut().for_each(|coverage| coverage.answer(&outcome));
                if let Some(process) = self.life(number) {
                    process.answer(now, id, *outcome);
                    self.step_soon(number);
                }
            }
            Event::Kubelet(key) => {
                self.looked_at.remove(&(true, key.clone()));
                self.look_on_node(&key);
            }
            Event::Collect(key) => {
                self.looked_at.remove(&(false, key.clone()));
                let now = self.now().wall;
                garbage::collect(&mut self.api, &key, now);
            }
            Event::Orphans(owner) => self.collect_orphans(&owner),
            Event::Sweep(for_ms) => self.sweep(for_ms),
            Event::Found => self.found_again(),
            Event::Mend(kind, key) => self.mend(kind, &key),
            Event::Mark(node) => self.mark_dead(&node),
            Event::Jobs => self.jobs_act(),
            Event::Lease(post) => self.happens_at_lease(*post),
        }
    }

    fn at(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.agenda.insert((at, self.serial), event);
    }

    pub(crate) const fn now(&self) -> Now {
        Now { mono: Mono(self.now_ms), wall: Wall(1_700_000_000_000 + self.now_ms.cast_signed() + self.wall_ms) }
    }

    /// Those who watch the cluster notice what has changed, and what others then do at once.
    fn react(&mut self) {
        while self.acted_on < self.api.store.revision() {
            let changes = self.api.store.all_after(self.acted_on).expect("nothing is compacted").to_vec();
            self.acted_on = self.api.store.revision();
            changes.iter().for_each(|change| self.notice(change));
        }
    }

    /// Something was reached.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(coverage) = &mut self.coverage {
            coverage.reached.insert(what());
        }
    }

    /// A delay that a fault makes long, now and then.
    fn delayed(&mut self, fault: &'static str, (site, object): (&str, &str), longest: u64) -> u64 {
        let delay = self.chance.delay(site, object, longest);
        if delay > LONG_MS {
            self.note(|| format!("fault {fault}"));
        }
        delay
    }

    /// Something outside took members or seats from a group.
    pub(crate) fn disturb(&mut self, group: &str) {
        let heard_ms = self.heard_ms();
        self.disturbed.insert(group.to_owned(), heard_ms);
    }

    /// When at the latest a process hears of what happens now.
    pub(crate) const fn heard_ms(&self) -> u64 {
        self.now_ms + self.faults.lag_ms + self.faults.stall_ms
    }

    /// A promise is broken; the first one counts.
    pub(crate) fn violated(&mut self, promise: &'static str, what: String) {
        self.violation.get_or_insert(Violation::new(promise, what));
    }

    /// Whether nothing has gone wrong for so long.
    pub(crate) fn is_calm_for(&self, ms: u64) -> bool {
        self.calm_ms.is_some_and(|since| self.now_ms >= since + ms)
    }

    /// Whether the process may decide by what is not so any more.
    pub(crate) const fn hears_late(&self) -> bool {
        self.faults.lag_ms > 0 || self.faults.stall_ms > 0 || self.now_ms < self.deaf_until
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("{:>8} {}", self.now_ms, what());
        }
    }

    /// A placeholder that somebody else made is one as far as anybody can tell.
    pub(crate) fn take_for_made(&mut self, pod: &Key) {
        let uid = self.api.store.get(Kind::Pod, pod).and_then(|body| metadata(body).uid.clone());
        self.forged.extend(uid.clone());
        self.made.extend(uid);
    }

    /// Whether somebody else made a placeholder.
    pub(crate) fn is_forged(&self, pod: &gangline::shim::observation::Body) -> bool {
        metadata(pod).uid.as_ref().is_some_and(|uid| self.forged.contains(uid))
    }

    /// Whether it is a placeholder, and not a pod that only says so.
    pub(crate) fn is_made(&self, pod: &gangline::shim::observation::Body) -> bool {
        metadata(pod).uid.as_ref().is_some_and(|uid| self.made.contains(uid))
    }
}
