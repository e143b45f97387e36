//! A cluster in a process: the scheduler, the API server's model, kubelets and garbage collection, and an agenda of what
//! happens when.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::ids::Key;
use gangline::core::time::{Mono, Now, Wall};
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, CallId, Kind, Op};
use gangline::sim::api::Api;
use gangline::sim::store::metadata;
use gangline::sim::{garbage, kubelet};

use super::chance::Chance;
use super::oracle::Violation;
use super::people::node_of;
use super::plan::{Act, Faults};
use super::process::Process;

/// How long a world is left alone until it counts as at rest: longer than every pause of the scheduler.
const REST_MS: u64 = 300_000;
/// How long a call is on its way, and its answer.
const CALL_MS: u64 = 3;
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
#[derive(Debug)]
enum Event {
    Act(Box<Act>),
    /// A process starts.
    Start,
    /// A process gets the list of a kind.
    List(u64, Kind),
    /// The watch of a kind speaks to a process.
    Watch(u64, Kind),
    /// A call reaches the server.
    Arrive(Box<Call>, Fate),
    /// A process hears how a call ended.
    Answer(u64, CallId, Box<Outcome>),
    Kubelet(Key),
    Collect(Key),
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is carried out, and answered after so long.
    Fine(u64),
    /// The same, and the answer is lost.
    AnswerLost,
    /// It is refused with this code.
    Refused(u16),
    /// It was given up before it arrived.
    Late,
}

/// A cluster.
pub(crate) struct World {
    /// The API server.
    pub(crate) api: Api,
    /// Every write so far: `create pods ns/g`.
    pub(crate) writes: Vec<String>,
    /// Steps so far.
    pub(crate) steps: u64,
    /// The first promise that was broken.
    pub(crate) violation: Option<Violation>,
    /// Whether to print what happens.
    pub(crate) verbose: bool,
    /// Groups from which something outside took members or seats.
    pub(crate) disturbed: BTreeSet<String>,
    pub(crate) process: Option<Process>,
    chance: Chance,
    faults: Faults,
    processes: u64,
    now_ms: u64,
    /// How far the wall clock is from where it began, beside the time that has passed.
    pub(crate) wall_ms: i64,
    /// Whether lists come in another order.
    permuted: bool,
    agenda: BTreeMap<(u64, u64), Event>,
    serial: u64,
    step_at: Option<u64>,
    wake: Option<Mono>,
    /// How far the actors have seen.
    acted_on: u64,
    /// Watches that are going to speak.
    speaking: BTreeSet<(u64, Kind)>,
    /// Pods that are going to be looked at, by kubelets and by garbage collection.
    looked_at: BTreeSet<(bool, Key)>,
    /// UIDs of the pods that the scheduler created.
    made: BTreeSet<String>,
    death: Option<(usize, Death)>,
}

impl World {
    /// An empty cluster, in which the process dies at its n-th write, if it is to.
    pub(crate) fn new(seed: u64, faults: Faults, death: Option<(usize, Death)>) -> Self {
        let mut world = Self {
            api: Api::default(),
            writes: Vec::new(),
            steps: 0,
            violation: None,
            verbose: false,
            disturbed: BTreeSet::new(),
            process: None,
            chance: Chance::new(seed),
            faults,
            processes: 0,
            now_ms: 1_000,
            wall_ms: 0,
            permuted: false,
            agenda: BTreeMap::new(),
            serial: 0,
            step_at: None,
            wake: None,
            acted_on: 0,
            speaking: BTreeSet::new(),
            looked_at: BTreeSet::new(),
            made: BTreeSet::new(),
            death,
        };
        world.start();
        world
    }

    /// With lists in another order.
    pub(crate) fn permuted(mut self) -> Self {
        self.permuted = true;
        self
    }

    /// Acts happen later, counted from now.
    pub(crate) fn plan(&mut self, acts: &[(u64, Act)]) {
        for (at, act) in acts {
            self.at(self.now_ms + at, Event::Act(Box::new(act.clone())));
        }
    }

    /// From now on nothing goes wrong any more.
    pub(crate) fn calm_down(&mut self) {
        self.say(|| "calm".to_owned());
        self.faults = Faults::default();
    }

    /// Lets happen what happens in so much time.
    pub(crate) fn run_for(&mut self, span_ms: u64) {
        let until = self.now_ms + span_ms;
        while self.violation.is_none() && self.next_at().is_some_and(|at| at <= until) {
            self.happen();
        }
        self.now_ms = until;
    }

    /// Lets everything happen that happens by itself, and time pass.
    pub(crate) fn rest(&mut self) {
        self.react();
        let mut until = self.now_ms + REST_MS;
        for _ in 0..EVENTS_MAX {
            match self.next_at() {
                Some(at) if at <= until && self.violation.is_none() => {
                    // A process that only looks at its timers is at rest.
                    if !self.agenda.is_empty() {
                        until = until.max(at + REST_MS);
                    }
                    self.happen();
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
        let wake = self.wake.filter(|_| self.process.is_some()).map(|at| at.0.max(self.now_ms));
        agenda.into_iter().chain(self.step_at).chain(wake).min()
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
            None => self.step(),
        }
        self.react();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Act(act) => {
                self.say(|| format!("{act:?}"));
                self.act(&act);
            }
            Event::Start => self.start(),
            Event::List(number, kind) => {
                if self.is_alive(number) {
                    self.list(kind);
                }
            }
            Event::Watch(number, kind) => {
                self.speaking.remove(&(number, kind));
                if self.is_alive(number) {
                    self.watch(kind);
                }
            }
            Event::Arrive(call, fate) => self.arrive(&call, fate),
            Event::Answer(number, id, outcome) => {
                if let Some(process) = self.process.as_mut().filter(|process| process.number == number) {
                    process.answer(id, *outcome);
                    self.step_soon();
                }
            }
            Event::Kubelet(key) => {
                self.looked_at.remove(&(true, key.clone()));
                if kubelet::task(&self.api, &key) == Some(kubelet::Task::Collect) {
                    self.disturb_group_at(&key);
                }
                let now = self.now().wall;
                kubelet::act(&mut self.api, &key, now);
            }
            Event::Collect(key) => {
                self.looked_at.remove(&(false, key.clone()));
                let now = self.now().wall;
                garbage::collect(&mut self.api, &key, now);
            }
        }
    }

    fn is_alive(&self, number: u64) -> bool {
        self.process.as_ref().is_some_and(|process| process.number == number)
    }

    fn at(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.agenda.insert((at, self.serial), event);
    }

    /// The process starts anew, knows nothing, and lists everything.
    pub(crate) fn start(&mut self) {
        self.processes += 1;
        self.say(|| "start".to_owned());
        self.process = Some(Process::new(self.processes));
        (self.step_at, self.wake) = (None, None);
        for kind in Kind::ALL {
            match self.chance.delay("list", kind.plural(), self.faults.lag_ms) {
                0 => self.list(kind),
                delay => self.at(self.now_ms + delay, Event::List(self.processes, kind)),
            }
        }
        if self.faults.lag_ms == 0 {
            self.step();
        }
    }

    /// The process is killed, and comes again after a while.
    pub(crate) fn kill(&mut self, down_ms: u64) {
        if self.process.take().is_some() {
            self.say(|| format!("killed for {down_ms} ms"));
            self.at(self.now_ms + down_ms, Event::Start);
        }
    }

    /// A watch breaks, and lists anew.
    pub(crate) fn cut(&mut self, kind: Kind, code: u16) {
        let (now, lag) = (self.now(), self.chance.delay("list", kind.plural(), self.faults.lag_ms));
        let Some(process) = self.process.as_mut().filter(|process| process.listed.contains(&kind)) else { return };
        process.hear(now, kind, WatchFact::Broken { code, message: "cut".into() });
        let number = process.number;
        self.at(self.now_ms + lag, Event::List(number, kind));
        self.step_soon();
    }

    fn list(&mut self, kind: Kind) {
        let now = self.now();
        let (revision, mut objects) = self.api.store.list(kind);
        if self.permuted {
            objects.reverse();
        }
        let Some(process) = &mut self.process else { return };
        process.hear(now, kind, WatchFact::ListBegin);
        objects.into_iter().for_each(|seen| process.hear(now, kind, WatchFact::Listed(seen)));
        process.hear(now, kind, WatchFact::ListEnd);
        process.read.insert(kind, revision);
        self.step_soon();
    }

    fn watch(&mut self, kind: Kind) {
        let now = self.now();
        let Some(process) = self.process.as_mut().filter(|process| process.listed.contains(&kind)) else { return };
        let from = process.read.get(&kind).copied().unwrap_or(0);
        let Ok(changes) = self.api.store.after(kind, from) else { return self.cut(kind, 410) };
        for change in changes {
            let seen = change.seen.clone();
            process.hear(now, kind, if change.deleted { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) });
        }
        process.read.insert(kind, self.api.store.revision());
        if self.chance.percent("cut", kind.plural(), self.faults.cut) {
            self.cut(kind, 0);
        }
        self.step_soon();
    }

    fn step_soon(&mut self) {
        let pause = self.chance.delay("step", "", self.faults.stall_ms);
        let at = self.now_ms + pause;
        self.step_at = Some(self.step_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn step(&mut self) {
        self.step_at = None;
        let now = self.now();
        loop {
            let Some(process) = &mut self.process else { return };
            let turn = process.controller.step(now, &mut process.batch);
            self.steps += 1;
            self.wake = turn.wake;
            let number = process.number;
            for call in turn.calls {
                self.leave(call);
                if !self.is_alive(number) {
                    return;
                }
            }
            if !turn.more {
                break;
            }
        }
    }

    pub(crate) const fn now(&self) -> Now {
        Now { mono: Mono(self.now_ms), wall: Wall(1_700_000_000_000 + self.now_ms.cast_signed() + self.wall_ms) }
    }

    /// A call leaves the process, which may die over it.
    fn leave(&mut self, call: Call) {
        let Some(process) = &mut self.process else { return };
        if let Err(violation) = process.judge(call.id, &call.op, &self.made) {
            self.violation.get_or_insert(violation);
        }
        let name = name(&call.op);
        let fate = if self.faults.denied.is_some_and(|denied| denied.concerns(&call.op)) {
            Fate::Refused(403)
        } else {
            self.fate(&name)
        };
        let travels = CALL_MS + self.chance.delay("way", &name, self.faults.slow_ms);
        self.say(|| format!("    -> {name} ({fate:?})"));
        if matches!(call.op, Op::GetPod { .. }) {
            return self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate));
        }
        let planned = self.death.filter(|(at, _)| *at == self.writes.len()).map(|(_, death)| death);
        self.writes.push(name.clone());
        let death = planned.or_else(|| {
            let dies = self.chance.percent("crash", &name, self.faults.crash);
            dies.then(|| Death::ALL[self.chance.below("death", &name, 4) as usize])
        });
        match death {
            None => self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate)),
            Some(death) => self.die(&call, death, planned.is_some()),
        }
    }

    /// The process dies over a write; at once, and back at once, where a test counts its writes.
    fn die(&mut self, call: &Call, death: Death, counted: bool) {
        self.say(|| format!("dies: {death:?}"));
        let down = if counted { 0 } else { self.chance.below("down", "", DOWN_MS) };
        if death == Death::AnswerLost || death == Death::After {
            let (outcome, now) = (self.carry_out(&call.op), self.now());
            if let (Death::After, Some(process)) = (death, &mut self.process) {
                process.answer(call.id, outcome);
                process.controller.step(now, &mut process.batch);
            }
        }
        if counted {
            self.process = None;
            self.start();
        } else {
            self.kill(down);
        }
        if death == Death::Late {
            self.at(self.now_ms + down + 1, Event::Arrive(Box::new(call.clone()), Fate::Late));
        }
    }

    fn fate(&mut self, name: &str) -> Fate {
        let Faults { refused, answer_lost, lost, late, slow_ms, .. } = self.faults;
        if self.chance.percent("refused", name, refused) {
            let codes = [429, 500, 503, 504];
            return Fate::Refused(codes[self.chance.below("code", name, 4) as usize]);
        }
        if self.chance.percent("answer lost", name, answer_lost) {
            return Fate::AnswerLost;
        }
        // Not made, and told as if it might have been.
        if self.chance.percent("lost", name, lost) {
            return Fate::Refused(0);
        }
        if self.chance.percent("late", name, late) {
            return Fate::Late;
        }
        Fate::Fine(CALL_MS + self.chance.delay("answer", name, slow_ms))
    }

    fn arrive(&mut self, call: &Call, fate: Fate) {
        let number = call.id.incarnation;
        let (delay, outcome) = match fate {
            Fate::Fine(delay) => (delay, self.carry_out(&call.op)),
            Fate::AnswerLost => {
                self.carry_out(&call.op);
                (GIVEN_UP_MS, Outcome::Unknown)
            }
            Fate::Refused(0) => (GIVEN_UP_MS, Outcome::Unknown),
            Fate::Refused(code) => {
                let message = "try again".into();
                (CALL_MS, Outcome::Refused { code, reason: "Trouble".into(), message, retry_after: None })
            }
            Fate::Late => {
                if self.is_alive(number) {
                    // It is made a while after it was given up.
                    let at = self.now_ms + GIVEN_UP_MS + self.chance.below("lateness", "", GIVEN_UP_MS);
                    let call = Call { id: CallId { incarnation: 0, ..call.id }, ..call.clone() };
                    self.at(at, Event::Arrive(Box::new(call), Fate::Late));
                } else {
                    self.carry_out(&call.op);
                    self.say(|| format!("late: {}", name(&call.op)));
                    return;
                }
                (GIVEN_UP_MS, Outcome::Unknown)
            }
        };
        self.at(self.now_ms + delay, Event::Answer(number, call.id, Box::new(outcome)));
    }

    /// A question after a pod that a replica answers which has not heard of the last change.
    fn late_answer(&mut self, op: &Op) -> Option<Outcome> {
        let Op::GetPod { pod } = op else { return None };
        if !self.chance.percent("stale", &pod.name, self.faults.stale) {
            return None;
        }
        let all = self.api.store.all_after(0).ok()?;
        let before = all.iter().rev().filter(|change| change.kind == Kind::Pod && change.seen.key == *pod).nth(1);
        self.say(|| format!("    <- as it was: {}", name(op)));
        let there = before.filter(|change| !change.deleted);
        Some(there.map_or_else(
            || Outcome::Refused { code: 404, reason: "NotFound".into(), message: "late".into(), retry_after: None },
            |change| Outcome::Ok(Some(Box::new(change.seen.clone()))),
        ))
    }

    fn carry_out(&mut self, op: &Op) -> Outcome {
        let outcome = self.late_answer(op).unwrap_or_else(|| self.api.call(op, self.now().wall));
        if let (Op::CreatePod(_), Outcome::Ok(Some(seen))) = (op, &outcome) {
            self.made.insert(seen.uid.0.to_string());
        }
        if let Outcome::Refused { code, .. } = &outcome {
            self.say(|| format!("    <- {code} {}", name(op)));
        }
        outcome
    }

    /// Those who watch the cluster notice what has changed.
    fn react(&mut self) {
        let changes = self.api.store.all_after(self.acted_on).expect("nothing is compacted").to_vec();
        self.acted_on = self.api.store.revision();
        for change in changes {
            self.announce(change.kind);
            match change.kind {
                Kind::Pod if !change.deleted => self.look_at(&change.seen.key),
                Kind::TaskGroup | Kind::Node if change.deleted || change.kind == Kind::Node => {
                    let node = &*change.seen.key.name;
                    let concerned = |key: &Key, pod| {
                        let there = change.kind == Kind::Node && node_of(pod) == Some(node);
                        there || change.kind == Kind::TaskGroup && garbage::is_garbage(&self.api, key)
                    };
                    let pods = self.api.store.of_kind(Kind::Pod).filter(|(key, pod)| concerned(key, pod));
                    let keys: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
                    keys.iter().for_each(|key| self.look_at(key));
                }
                Kind::Pod | Kind::Node | Kind::TaskGroup | Kind::Queue | Kind::ResourceQuota => {}
            }
        }
    }

    /// A watch is going to tell of it.
    fn announce(&mut self, kind: Kind) {
        let Some(number) = self.process.as_ref().map(|process| process.number) else { return };
        if self.speaking.insert((number, kind)) {
            let lag = self.chance.delay("watch", kind.plural(), self.faults.lag_ms);
            self.at(self.now_ms + lag, Event::Watch(number, kind));
        }
    }

    fn look_at(&mut self, key: &Key) {
        let idle = self.faults.idle_ms;
        if kubelet::task(&self.api, key).is_some() && self.looked_at.insert((true, key.clone())) {
            let delay = self.chance.delay("kubelet", &key.name, idle);
            self.at(self.now_ms + delay, Event::Kubelet(key.clone()));
        }
        if garbage::is_garbage(&self.api, key) && self.looked_at.insert((false, key.clone())) {
            let delay = self.chance.delay("garbage", &key.name, idle);
            self.at(self.now_ms + delay, Event::Collect(key.clone()));
        }
    }

    /// Something outside took members or seats from a group.
    pub(crate) fn disturb(&mut self, group: &str) {
        self.disturbed.insert(group.to_owned());
    }

    /// A promise is broken; the first one counts.
    pub(crate) fn violated(&mut self, promise: &'static str, what: String) {
        self.violation.get_or_insert(Violation::new(promise, what));
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("{:>8} {}", self.now_ms, what());
        }
    }

    /// Whether this process is not the first.
    pub(crate) const fn has_died(&self) -> bool {
        self.processes > 1
    }

    /// UIDs of the pods that the scheduler created.
    pub(crate) fn is_made(&self, pod: &gangline::shim::observation::Body) -> bool {
        metadata(pod).uid.as_ref().is_some_and(|uid| self.made.contains(uid))
    }
}

/// `create pods/binding ns/g-0`.
fn name(op: &Op) -> String {
    let (resource, verb) = op.rule();
    let about = match op {
        Op::Bind { pod, .. } | Op::DeletePod { pod, .. } | Op::GetPod { pod } | Op::PatchPodCondition { pod, .. } => {
            pod.to_string()
        }
        Op::CreatePod(pod) => pod.metadata.name.clone().unwrap_or_default(),
        Op::PatchTaskGroupStatus { group, status, .. } => {
            format!("{group} {} {}", status.application_state, status.reason)
        }
        Op::PatchQueueStatus { queue, .. } => queue.to_string(),
        Op::CreateEvent(event) => event.note.clone().unwrap_or_default(),
    };
    format!("{verb} {resource} {about}")
}
