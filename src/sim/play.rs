//! Plays a cluster in virtual time, where nothing goes wrong: the scheduler as it is, and everybody that it meets.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;

use super::api::Api;
use super::job::Jobs;
use super::priority::Classes;
use super::story::{End, Ending, Later, Record, Story};
use super::{garbage, kubelet};
use crate::controller::Controller;
use crate::controller::settings::Settings;
use crate::core::base::ids::Key;
use crate::core::time::{Millis, Mono, Now, Wall};
use crate::shim::observation::{Body, Observation, Outcome, WatchFact};
use crate::shim::op::{Call, CallId, Kind, Op};

/// When the cluster begins, milliseconds since the epoch: a round number, shown to nobody.
const BEGINS: i64 = 1_700_000_000_000;
/// How long a request takes, there and back.
const CALL_MS: u64 = 4;
/// How long a node takes to start a pod, or to end one.
const NODE_MS: u64 = 500;
/// Nothing more will happen when nothing did for so long: the longest timeout that a TaskGroup may have is half of it.
const QUIET_MS: u64 = 2 * 24 * 3_600_000;
/// Most pods that are made in one play, twice the largest gang: they stay, with some kilobytes each, and a Job without end
/// has an answer within half a minute.
pub const PODS_MAX: usize = 200_000;

/// Something that comes into the cluster.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When, milliseconds after the beginning.
    pub at: Millis,
    /// Its name; empty namespace for what has none.
    pub key: Key,
    /// What it is.
    pub what: Thing,
    /// How long a pod, or each pod of a Job, runs; `None`: for ever.
    pub lasts: Option<Millis>,
}

/// What can come into the cluster.
#[derive(Clone, Debug)]
pub enum Thing {
    /// An object that the scheduler watches.
    Object(Body),
    /// A Job, which makes pods.
    Job(Box<Job>),
}

impl Arrival {
    /// Kind and name.
    pub fn title(&self) -> String {
        let kind = match &self.what {
            Thing::Job(_) => "Job",
            Thing::Object(Body::Pod(_)) => "Pod",
            Thing::Object(Body::Node(_)) => "Node",
            Thing::Object(Body::TaskGroup(_)) => "TaskGroup",
            Thing::Object(Body::Queue(_)) => "Queue",
            Thing::Object(Body::ResourceQuota(_)) => "ResourceQuota",
            Thing::Object(Body::Namespace(_)) => "Namespace",
            Thing::Object(
                Body::KoordinatorPodGroup(_)
                | Body::CoschedulingPodGroup(_)
                | Body::VolcanoPodGroup(_)
                | Body::KubernetesPodGroup(_),
            ) => "PodGroup",
        };
        format!("{kind} {}", self.key)
    }
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
    jobs: Jobs,
    classes: Classes,
    lasts: BTreeMap<Key, Millis>,
    /// Pods made so far, by Jobs and by the scheduler.
    made: usize,
    /// How many there may be.
    most: usize,
    /// A Job that wanted more than there may be.
    lacks: Option<Key>,
}

impl Play {
    /// An empty cluster with a scheduler that has begun.
    pub fn new(settings: Settings, classes: Classes) -> Self {
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
            jobs: Jobs::default(),
            classes,
            lasts: BTreeMap::new(),
            made: 0,
            most: PODS_MAX,
            lacks: None,
        };
        play.api.store.keeps_uids = true;
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

    /// Lets everything happen that happens by itself, but nothing later than this; then tells what happened. `look` sees
    /// again and again how far it is, and the cluster as it is then.
    pub fn run(mut self, until: Millis, mut look: impl FnMut(Millis, &Api)) -> Story {
        while let Some(at) = self.next_at().filter(|at| *at <= until && self.lacks.is_none() && !self.is_quiet(*at)) {
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
            look(self.now_ms, &self.api);
        }
        let ending = self.ending(until);
        self.record.end(ending, &self.api, self.controller.core())
    }

    /// Whether nothing can happen any more if the scheduler alone wakes, and not before this time.
    fn is_quiet(&self, at: u64) -> bool {
        self.agenda.is_empty() && at - self.happened_ms > QUIET_MS
    }

    fn ending(&self, until: Millis) -> Ending {
        let (played, end) = match (self.lacks.is_some(), self.goes_on()) {
            (true, _) => (self.now_ms, End::TooManyPods),
            (false, true) => (until, End::Until),
            (false, false) => (self.happened_ms, End::NothingMore),
        };
        let later = self.agenda.iter().filter_map(|((at, _), event)| match event {
            Event::Arrives(arrival) => Some(Later { at: *at, what: arrival.title() }),
            Event::Called(_) | Event::Answered(..) | Event::OnNode(_) | Event::Ends(_) => None,
        });
        Ending { played, end, lacks: self.lacks.clone(), later: later.collect() }
    }

    /// Whether anything would happen later: something is due, or the scheduler would do something by itself.
    fn goes_on(&self) -> bool {
        let (mut controller, mut next) = (self.controller.clone(), self.next_at());
        while self.agenda.is_empty() {
            let Some(at) = next.filter(|at| !self.is_quiet(*at)) else { return false };
            let turn = controller.step(moment(at), &mut Vec::new());
            if !turn.calls.is_empty() {
                return true;
            }
            // A moment later at least, so that this has an end.
            next = turn.wake.map(|wake| wake.0.max(at + 1));
        }
        true
    }

    fn next_at(&self) -> Option<u64> {
        let agenda = self.agenda.first_key_value().map(|((at, _), _)| *at);
        agenda.into_iter().chain(self.wake.map(|at| at.0.max(self.now_ms))).min()
    }

    const fn now(&self) -> Now {
        moment(self.now_ms)
    }

    fn at(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.agenda.insert((at, self.serial), event);
    }

    fn handle(&mut self, event: Event) {
        let now = self.now().wall;
        match event {
            Event::Arrives(arrival) => self.arrive(*arrival),
            Event::Called(mut call) => {
                self.admit(&mut call.op);
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
            Event::Ends(key) => kubelet::succeed(&mut self.api, &key),
        }
    }

    /// A placeholder is a new pod like any other.
    fn admit(&mut self, op: &mut Op) {
        if let Op::CreatePod(pod) = op {
            self.made += 1;
            self.classes.admit(pod.spec.get_or_insert_default());
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let now = self.now().wall;
        match arrival.what {
            Thing::Object(mut body) => {
                if let Body::Pod(pod) = &mut body {
                    self.classes.admit(Arc::make_mut(pod).spec.get_or_insert_default());
                    self.lasts.extend(arrival.lasts.map(|lasts| (arrival.key.clone(), lasts)));
                }
                // A Job may have made a pod of this name.
                let _ = self.api.create(&arrival.key, body, now);
            }
            Thing::Job(mut job) => {
                if let Some(spec) = &mut job.spec {
                    self.classes.admit(spec.template.spec.get_or_insert_default());
                }
                self.jobs.add(&arrival.key, *job, arrival.lasts.unwrap_or(Millis::MAX));
            }
        }
    }

    /// Jobs look at what became of their pods, and make those that they want.
    fn jobs_act(&mut self) {
        for change in self.api.store.all_after(self.told).unwrap_or_default() {
            if let Ok(body) = &change.seen.body {
                self.jobs.note(&change.seen.key, body, change.deleted);
            }
        }
        let (now, most) = (self.now().wall, self.most.saturating_sub(self.made));
        let made = self.jobs.act(&mut self.api, now, most);
        self.made += made.pods.len();
        self.lasts.extend(made.pods);
        self.lacks = made.lacks;
    }

    /// Everybody looks at what has changed.
    fn react(&mut self) {
        let now = self.now().wall;
        self.jobs_act();
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
            if let Ok(body) = &seen.body {
                self.record.note_pod(self.now_ms, &seen.key, body, change.deleted);
            }
            let fact = if change.deleted { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) };
            self.batch.push(Observation::Watch { kind: change.kind, conn: 1, fact });
        }
        self.told = self.api.store.revision();
        // Nobody reads further back.
        self.api.store.forget(self.told);
    }

    fn step(&mut self) {
        let mut news = Vec::new();
        loop {
            let turn = self.controller.step(self.now(), &mut self.batch);
            self.wake = turn.wake;
            news.extend(turn.news);
            for call in turn.calls {
                self.at(self.now_ms + CALL_MS / 2, Event::Called(Box::new(call)));
            }
            if !turn.more {
                break;
            }
        }
        self.record.look(self.now_ms, self.controller.core(), &news);
    }
}

/// So long after the beginning.
const fn moment(at: Millis) -> Now {
    Now { mono: Mono(at), wall: Wall(BEGINS + at.cast_signed()) }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};
    use k8s_openapi::api::scheduling::v1::PriorityClass;
    use serde_json::json;

    use super::*;

    fn play(classes: Classes) -> Play {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "p".into(),
            ignore_foreign_markers: false,
            dialects: Vec::new(),
            default_wait_timeout_seconds: 600,
            submitters: true,
            max_placeholders: 5_000,
            instance: 1,
        };
        Play::new(settings, classes)
    }

    /// Pods that end at once, as often as there are numbers: a play ends all the same.
    #[test]
    fn a_job_without_end_has_one() {
        let mut play = play(Classes::default());
        play.most = 50;
        let status = json!({"allocatable": {"cpu": "4", "pods": "110"}});
        let node: Node = serde_json::from_value(json!({"status": status})).expect("a node");
        let spec = json!({"parallelism": 20, "completions": 2_000_000_000,
                          "template": {"spec": {"schedulerName": "gangline", "containers": []}}});
        let job: Job = serde_json::from_value(json!({"spec": spec})).expect("a Job");
        let arrival = |key, what| Arrival { at: 0, key, what, lasts: Some(0) };
        play.expect(arrival(Key::cluster("n"), Thing::Object(Body::Node(Arc::new(node)))));
        play.expect(arrival(Key::new("ns", "j"), Thing::Job(Box::new(job))));
        let story = play.run(Millis::MAX / 2, |_, _| {});
        assert_eq!((story.end, story.lacks.as_deref(), story.outside[0].pods), (End::TooManyPods, Some("ns/j"), 50));
    }

    #[test]
    fn placeholders_have_the_priority_of_their_class() {
        let mut classes = Classes::default();
        classes.add("high", &PriorityClass { value: Some(9), ..PriorityClass::default() });
        let mut pod = Pod::default();
        pod.spec.get_or_insert_default().priority_class_name = Some("high".to_owned());
        let mut op = Op::CreatePod(Box::new(pod));
        play(classes).admit(&mut op);
        assert!(matches!(op, Op::CreatePod(pod) if pod.spec.as_ref().is_some_and(|spec| spec.priority == Some(9))));
    }
}
