//! The whole pure controller, driven by hand: facts and answers in, calls out, time as it is told.

use std::collections::BTreeMap;

use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::controller::turn::News;
use gangline::core::time::{Mono, Now, Wall};
use gangline::shim::decode;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Observation, Outcome, Seen, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

/// How often a step may ask for another one at once.
const STEPS_MAX: u32 = 50;
/// How finely time passes.
const TICK_MS: u64 = 50;

/// A controller and what it said.
pub struct Driven {
    /// The controller.
    pub controller: Controller,
    now_ms: u64,
    batch: Vec<Observation>,
    calls: Vec<Call>,
    /// Of what there was something new to say, so far.
    pub news: Vec<News>,
    version: u64,
}

impl Driven {
    /// One that has seen nothing.
    pub fn unsynced() -> Self {
        Self::speaking(&[])
    }

    /// The same, which understands the words of other systems.
    pub fn speaking(dialects: &[Dialect]) -> Self {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "pause".into(),
            ignore_foreign_markers: false,
            dialects: dialects.to_vec(),
            default_wait_timeout_seconds: 600,
            submitters: true,
            max_placeholders: 5_000,
            instance: 1,
        };
        let controller = Controller::new(settings);
        Self { controller, now_ms: 1_000, batch: Vec::new(), calls: Vec::new(), news: Vec::new(), version: 100 }
    }

    /// One in an empty cluster with a node of 16 cpu.
    pub fn synced() -> Self {
        let mut driven = Self::unsynced();
        driven.list(&[(Kind::Node, &node("n1"))]);
        driven
    }

    /// Every kind is listed, with these objects.
    pub fn list(&mut self, objects: &[(Kind, &Value)]) {
        self.list_in(Kind::ALL, objects);
    }

    /// The same in this order.
    pub fn list_in(&mut self, order: impl IntoIterator<Item = Kind>, objects: &[(Kind, &Value)]) {
        for kind in order {
            self.fact(kind, WatchFact::ListBegin);
            for (_, object) in objects.iter().filter(|(of, _)| *of == kind) {
                let seen = self.seen(kind, object);
                self.fact(kind, WatchFact::Listed(seen));
            }
            self.fact(kind, WatchFact::ListEnd);
        }
        self.step();
    }

    /// What a watch says next.
    pub fn fact(&mut self, kind: Kind, fact: WatchFact) {
        self.batch.push(Observation::Watch { kind, conn: 1, fact });
    }

    /// An object is added or changed.
    pub fn upsert(&mut self, kind: Kind, object: &Value) {
        let seen = self.seen(kind, object);
        self.fact(kind, WatchFact::Upsert(seen));
        self.step();
    }

    /// An object in a version of its own.
    pub fn seen(&mut self, kind: Kind, object: &Value) -> Seen {
        let mut object = object.clone();
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", object["metadata"]["name"].as_str().unwrap_or("?")));
        }
        decode::seen(kind, &object.to_string()).expect("the object has a name")
    }

    /// Steps until nothing more is to be done now.
    pub fn step(&mut self) {
        for _ in 0..STEPS_MAX {
            let now = Now { mono: Mono(self.now_ms), wall: self.wall() };
            let turn = self.controller.step(now, &mut self.batch);
            self.calls.extend(turn.calls);
            self.news.extend(turn.news);
            if !turn.more {
                return;
            }
        }
        panic!("the controller does not come to rest");
    }

    /// What the clock on the wall says.
    pub fn wall(&self) -> Wall {
        Wall(1_700_000_000_000 + self.now_ms.cast_signed())
    }

    /// Lets time pass.
    pub fn wait(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(TICK_MS) {
            self.now_ms += TICK_MS;
            self.step();
        }
    }

    /// The calls that have left since the last time.
    pub fn taken(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    /// The calls that have left since the last time, as `verb resource`, with how often.
    pub fn rules(&mut self) -> BTreeMap<String, usize> {
        let mut rules = BTreeMap::new();
        for call in self.taken() {
            let (resource, verb) = call.op.rule();
            *rules.entry(format!("{verb} {resource}")).or_default() += 1;
        }
        rules
    }

    /// Answers a call.
    pub fn answer(&mut self, call: &Call, outcome: Outcome) {
        self.hear(call, outcome);
        self.step();
    }

    /// A call was answered, of which the next step hears.
    pub fn hear(&mut self, call: &Call, outcome: Outcome) {
        self.batch.push(Observation::Outcome { id: call.id, outcome });
    }

    /// Answers the calls that have left as an API server does that grants everything; gives back the pods it made.
    pub fn grant(&mut self) -> Vec<Seen> {
        let mut made = Vec::new();
        for call in self.taken() {
            let pod = self.created(&call);
            made.extend(pod.clone());
            self.answer(&call, Outcome::Ok(pod.map(Box::new)));
        }
        made
    }

    /// Answers one call likewise; a pod that is deleted is gone at once.
    pub fn grant_one(&mut self, call: &Call) {
        let is_deleted = matches!(call.op, Op::DeletePod { .. });
        let outcome = if is_deleted { Outcome::Removed } else { Outcome::Ok(self.created(call).map(Box::new)) };
        self.answer(call, outcome);
    }

    /// The pod that a call makes.
    fn created(&mut self, call: &Call) -> Option<Seen> {
        let Op::CreatePod(pod) = &call.op else { return None };
        Some(self.seen(Kind::Pod, &serde_json::to_value(pod).expect("a pod is JSON")))
    }
}

/// A node of 16 cpu.
pub fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}})
}

/// The TaskGroup `ns/g` of two members.
pub fn group(spec: &Value) -> Value {
    let mut group = json!({"metadata": {"name": "g", "namespace": "ns", "generation": 1},
                           "spec": {"minMember": 2, "minResource": {"cpu": "1"}}});
    for (field, value) in spec.as_object().expect("a spec is a map") {
        group["spec"][field] = value.clone();
    }
    group
}

/// A member of it.
pub fn member(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "labels": {"gangline.dev/task-group": "g"}},
           "spec": {"schedulerName": "gangline",
                    "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
           "status": {"phase": "Pending"}})
}

/// A refusal of the API server.
pub fn refused(code: u16) -> Outcome {
    Outcome::Refused { code, reason: "".into(), message: "no".into(), retry_after: None }
}
