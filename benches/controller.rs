//! The longest step of the whole controller while thousands of gangs wait on thousands of nodes: how long it is deaf.
//!
//! `cargo bench --no-default-features --bench controller`. Time is virtual, and that of steps is the processor's, so that
//! others on the machine do not count: an API server that carries out everything answers after ten milliseconds, and once a
//! second another scheduler's pod comes or goes on one of the few nodes that could take a member, so that every gang lacks
//! something else.

#![allow(clippy::print_stdout, reason = "what is measured is printed")]

use std::time::{Duration, Instant};

use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::core::time::{Mono, Now, Wall};
use gangline::shim::decode;
use gangline::shim::observation::{Observation, Outcome, WatchFact};
use gangline::shim::op::{Call, Kind};
use serde_json::{Value, json};

const NODES: u32 = 10_000;
const GANGS: u32 = 2_000;
/// Members of each, one less than the nodes that could take one.
const MEMBERS: u32 = 4;
/// Gangs of one shape.
const SAME: u32 = 20;
/// As many facts as the shell puts into a step.
const BATCH: usize = 1_024;
/// How long an answer takes.
const TICK_MS: u64 = 10;
/// How long they wait: numbers are written every thirty seconds.
const WAIT_MS: u64 = 90_000;

fn main() {
    let mut cluster = Cluster::new();
    let mut objects: Vec<(Kind, Value)> = (0..NODES).map(|at| (Kind::Node, node(at))).collect();
    for gang in 0..GANGS {
        objects.push((Kind::TaskGroup, group(gang)));
        objects.extend((0..MEMBERS).map(|member| (Kind::Pod, pod(gang, member))));
    }
    cluster.list(&objects);
    cluster.report("list, to the first decisions");
    for at in (0..WAIT_MS).step_by(TICK_MS as usize) {
        match at % 2_000 {
            0 => cluster.hear(Kind::Pod, WatchFact::Upsert, &foreign(at)),
            1_000 => cluster.hear(Kind::Pod, WatchFact::Gone, &foreign(at - 1_000)),
            _ => {}
        }
        cluster.tick();
        if at == WAIT_MS / 3 {
            cluster.report("wait, from the beginning");
        }
    }
    cluster.report("wait, later");
}

/// A controller with everything that it hears, and how long its steps took.
struct Cluster {
    controller: Controller,
    batch: Vec<Observation>,
    flying: Vec<Call>,
    now_ms: u64,
    version: u64,
    steps: Vec<Duration>,
    calls: usize,
}

impl Cluster {
    fn new() -> Self {
        let settings = Settings {
            scheduler_names: vec!["gangline".into()],
            placeholder_image: "pause".into(),
            ignore_foreign_markers: false,
            dialects: Vec::new(),
            default_wait_timeout_seconds: 600,
            submitters: true,
            max_placeholders: 5_000,
            instance: 1,
        };
        let (batch, flying, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { controller: Controller::new(settings), batch, flying, now_ms: 1_000, version: 0, steps, calls: 0 }
    }

    fn fact(&mut self, kind: Kind, fact: WatchFact) {
        self.batch.push(Observation::Watch { kind, conn: 1, fact });
        if self.batch.len() >= BATCH {
            self.step();
        }
    }

    fn hear(&mut self, kind: Kind, said: fn(gangline::shim::observation::Seen) -> WatchFact, object: &Value) {
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["uid"] = json!(format!("{}-{}", kind.plural(), object["metadata"]["name"]));
        let seen = decode::seen(kind, &object.to_string()).expect("it has a name");
        self.fact(kind, said(seen));
    }

    fn list(&mut self, objects: &[(Kind, Value)]) {
        for kind in Kind::ALL {
            self.fact(kind, WatchFact::ListBegin);
            objects.iter().filter(|(of, _)| *of == kind).for_each(|(_, object)| {
                self.hear(kind, WatchFact::Listed, object);
            });
            self.fact(kind, WatchFact::ListEnd);
        }
        self.steps_until_done();
    }

    /// Everything that is in flight is answered.
    fn tick(&mut self) {
        self.now_ms += TICK_MS;
        let answered = std::mem::take(&mut self.flying).into_iter();
        self.batch.extend(answered.map(|call| Observation::Outcome { id: call.id, outcome: Outcome::Ok(None) }));
        self.steps_until_done();
    }

    fn steps_until_done(&mut self) {
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        let now = Now { mono: Mono(self.now_ms), wall: Wall(1_700_000_000_000 + self.now_ms.cast_signed()) };
        let begin = Instant::now();
        let turn = self.controller.step(now, &mut self.batch);
        self.steps.push(begin.elapsed());
        self.calls += turn.calls.len();
        self.flying.extend(turn.calls);
        turn.more
    }

    fn report(&mut self, what: &str) {
        self.steps.sort_unstable();
        let ms = |at: usize| self.steps[at].as_secs_f64() * 1e3;
        let (steps, last) = (self.steps.len(), self.steps.len() - 1);
        println!(
            "{what}: {steps} steps, {} calls; longest {:.1} ms, 99th percentile {:.2} ms, median {:.3} ms",
            self.calls,
            ms(last),
            ms(last * 99 / 100),
            ms(last / 2)
        );
        self.steps.clear();
        self.calls = 0;
    }
}

/// A node of 64 cores; but for a few too small for any member.
fn node(at: u32) -> Value {
    let cpu = if at < MEMBERS - 1 { "64" } else { "2" };
    let status = json!({"allocatable": {"cpu": cpu, "memory": "256Gi", "pods": "110"}});
    json!({"metadata": {"name": format!("node-{at:05}")}, "status": status})
}

fn cpu(gang: u32) -> String {
    format!("{}m", 40_000 + 100 * (gang / SAME))
}

fn group(gang: u32) -> Value {
    let spec = json!({"minMember": MEMBERS, "minResource": {"cpu": cpu(gang)}, "reservation": "Direct"});
    json!({"metadata": {"name": format!("gang-{gang}"), "namespace": "ns", "generation": 1}, "spec": spec})
}

fn pod(gang: u32, member: u32) -> Value {
    let labels = json!({"gangline.dev/task-group": format!("gang-{gang}")});
    let resources = json!({"requests": {"cpu": cpu(gang), "memory": "1Gi"}});
    json!({"metadata": {"name": format!("gang-{gang}-{member}"), "namespace": "ns", "labels": labels},
           "spec": {"schedulerName": "gangline", "containers": [{"name": "main", "resources": resources}]},
           "status": {"phase": "Pending"}})
}

/// Another scheduler's pod.
fn foreign(time: u64) -> Value {
    let resources = json!({"requests": {"cpu": "60"}});
    json!({"metadata": {"name": format!("foreign-{time}"), "namespace": "ns"},
           "spec": {"nodeName": "node-00000", "containers": [{"name": "main", "resources": resources}]},
           "status": {"phase": "Running"}})
}
