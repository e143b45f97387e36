//! Plays a cluster in virtual time, where nothing goes wrong: the scheduler as it is, and everybody that it meets.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;

use super::api::Api;
use super::story::{Record, Story};
use super::{garbage, job, kubelet};
use crate::controller::Controller;
use crate::controller::settings::Settings;
use crate::core::ids::Key;
use crate::core::time::{Millis, Mono, Now, Wall};
use crate::shim::observation::{Body, Observation, Outcome, WatchFact};
use crate::shim::op::{Call, CallId, Kind};

/// When the cluster begins, milliseconds since the epoch: a round number, shown to nobody.
const BEGINS: i64 = 1_700_000_000_000;
/// How long a request takes, there and back.
const CALL_MS: u64 = 4;
/// How long a node takes to start a pod, or to end one.
const NODE_MS: u64 = 500;
/// Nothing more will happen when nothing did for so long: the longest timeout that a TaskGroup may have is shorter.
const QUIET_MS: u64 = 30 * 24 * 3_600_000;

/// Something that comes into the cluster.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When, milliseconds after the beginning.
    pub at: Millis,
    /// Its name; empty namespace for what has none.
    pub key: Key,
    /// What it is.
    pub what: Thing,
    /// How long a pod, or each pod of a Job, runs.
    pub lasts: Millis,
}

/// What can come into the cluster.
#[derive(Clone, Debug)]
pub enum Thing {
    /// An object that the scheduler watches.
    Object(Body),
    /// A Job, which makes pods.
    Job(Box<Job>),
}

enum Event {
    Arrives(Box<Arrival>),
    Called(Box<Call>),
    Answered(CallId, Box<Outcome>),
    /// The node of a pod does what is to be done.
    OnNode(Key),
    /// A pod has done its work.
    Ends(Key),
}

/// A cluster that is played.
pub struct Play {
    api: Api,
    controller: Controller,
    batch: Vec<Observation>,
    record: Record,
    now_ms: u64,
    /// When something last happened.
    happened_ms: u64,
    agenda: BTreeMap<(u64, u64), Event>,
    serial: u64,
    wake: Option<Mono>,
    /// How far the scheduler has been told, and the nodes and Jobs have looked.
    told: u64,
    jobs: Vec<(job::Running, Millis)>,
    /// Whether a Job has come, or a pod has ended, since they looked.
    jobs_look: bool,
    lasts: BTreeMap<Key, Millis>,
}

impl Play {
    /// An empty cluster with a scheduler that has begun.
    pub fn new(settings: Settings) -> Self {
        let mut play = Self {
            api: Api::default(),
            controller: Controller::new(settings),
            batch: Vec::new(),
            record: Record::default(),
            now_ms: 0,
            happened_ms: 0,
            agenda: BTreeMap::new(),
            serial: 0,
            wake: None,
            told: 0,
            jobs: Vec::new(),
            jobs_look: false,
            lasts: BTreeMap::new(),
        };
        for kind in Kind::ALL {
            let facts = [WatchFact::ListBegin, WatchFact::ListEnd].into_iter();
            play.batch.extend(facts.map(|fact| Observation::Watch { kind, conn: 1, fact }));
        }
        play.step();
        play
    }

    /// Something comes at its time. What comes at one time comes in the order of these calls.
    pub fn expect(&mut self, arrival: Arrival) {
        self.at(arrival.at, Event::Arrives(Box::new(arrival)));
    }

    /// Lets everything happen that happens by itself, but nothing later than this; then tells what happened.
    pub fn run(mut self, until: Millis) -> Story {
        while let Some(at) = self.next_at().filter(|at| *at <= until) {
            if self.agenda.is_empty() && at - self.happened_ms > QUIET_MS {
                break;
            }
            self.now_ms = self.now_ms.max(at);
            let mut due = false;
            while let Some(event) = self.agenda.first_entry().filter(|event| event.key().0 <= at) {
                let event = event.remove();
                self.handle(event);
                (due, self.happened_ms) = (true, self.now_ms);
            }
            if due {
                self.react();
            }
            self.step();
        }
        self.record.end(self.happened_ms, &self.api, self.controller.core())
    }

    fn next_at(&self) -> Option<u64> {
        let agenda = self.agenda.first_key_value().map(|((at, _), _)| *at);
        agenda.into_iter().chain(self.wake.map(|at| at.0.max(self.now_ms))).min()
    }

    const fn now(&self) -> Now {
        Now { mono: Mono(self.now_ms), wall: Wall(BEGINS + self.now_ms.cast_signed()) }
    }

    fn at(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.agenda.insert((at, self.serial), event);
    }

    fn handle(&mut self, event: Event) {
        let now = self.now().wall;
        match event {
            Event::Arrives(arrival) => self.arrive(*arrival),
            Event::Called(call) => {
                let outcome = self.api.call(&call.op, now);
                self.at(self.now_ms + CALL_MS / 2, Event::Answered(call.id, Box::new(outcome)));
            }
            Event::Answered(id, outcome) => self.batch.push(Observation::Outcome { id, outcome: *outcome }),
            Event::OnNode(key) => {
                let starts = kubelet::task(&self.api, &key) == Some(kubelet::Task::Start);
                kubelet::act(&mut self.api, &key, now);
                if let (true, Some(lasts)) = (starts, self.lasts.get(&key)) {
                    self.at(self.now_ms.saturating_add(*lasts), Event::Ends(key));
                }
            }
            Event::Ends(key) => {
                kubelet::succeed(&mut self.api, &key);
                self.jobs_look = true;
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let now = self.now().wall;
        match arrival.what {
            Thing::Object(body) => {
                if matches!(body, Body::Pod(_)) {
                    self.lasts.insert(arrival.key.clone(), arrival.lasts);
                }
                // A Job may have made a pod of this name.
                let _ = self.api.create(&arrival.key, body, now);
            }
            Thing::Job(job) => {
                self.jobs.push((job::Running::new(arrival.key, *job), arrival.lasts));
                self.jobs_look = true;
            }
        }
    }

    /// Everybody looks at what has changed.
    fn react(&mut self) {
        let now = self.now().wall;
        let jobs = if std::mem::take(&mut self.jobs_look) { &mut self.jobs[..] } else { &mut [] };
        for (job, lasts) in jobs {
            let made = job.act(&mut self.api, now);
            self.lasts.extend(made.into_iter().map(|pod| (pod, *lasts)));
        }
        let changes = self.api.store.all_after(self.told).unwrap_or_default();
        let pods: Vec<Key> = (changes.iter())
            .filter(|change| change.kind == Kind::Pod && !change.deleted)
            .map(|change| change.seen.key.clone())
            .collect();
        for pod in pods {
            garbage::collect(&mut self.api, &pod, now);
            if kubelet::task(&self.api, &pod).is_some() {
                self.at(self.now_ms + NODE_MS, Event::OnNode(pod));
            }
        }
        for change in self.api.store.all_after(self.told).unwrap_or_default() {
            let seen = change.seen.clone();
            let fact = if change.deleted { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) };
            self.batch.push(Observation::Watch { kind: change.kind, conn: 1, fact });
        }
        self.told = self.api.store.revision();
        // Nobody reads further back.
        self.api.store.compact();
    }

    fn step(&mut self) {
        loop {
            let turn = self.controller.step(self.now(), &mut self.batch);
            self.wake = turn.wake;
            for call in turn.calls {
                self.at(self.now_ms + CALL_MS / 2, Event::Called(Box::new(call)));
            }
            if !turn.more {
                break;
            }
        }
        self.record.look(self.now_ms, self.controller.core());
    }
}
