//! A cluster in a process: the controller, the API server's model, kubelets and the garbage collector.

use std::collections::BTreeMap;

use gangline::controller::Controller;
use gangline::controller::settings::Settings;
use gangline::core::ids::Key;
use gangline::core::time::{Mono, Now, Wall};
use gangline::shim::decode;
use gangline::shim::observation::{Body, Observation, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use gangline::sim::api::Api;
use gangline::sim::kubelet;
use gangline::sim::store::{metadata, metadata_mut};
use serde_json::{Value, json};

/// The namespace of everything.
pub(crate) const NS: &str = "ns";
/// How long a world is left alone until it counts as at rest: longer than every pause of the scheduler.
const REST_MS: u64 = 300_000;
/// How long a call is on its way.
const CALL_MS: u64 = 5;
/// Most rounds of one rest: a world that does not come to rest is a finding.
const ROUNDS_MAX: u32 = 20_000;

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

/// A cluster.
pub(crate) struct World {
    /// The API server.
    pub(crate) api: Api,
    /// Every write so far: `create pods ns/g`.
    pub(crate) writes: Vec<String>,
    controller: Controller,
    processes: u64,
    now_ms: u64,
    read: BTreeMap<Kind, u64>,
    batch: Vec<Observation>,
    calls: Vec<Call>,
    wake: Option<Mono>,
    death: Option<(usize, Death)>,
}

impl World {
    /// An empty cluster, in which the process dies at its n-th write, if it is to.
    pub(crate) fn new(death: Option<(usize, Death)>) -> Self {
        let mut world = Self {
            api: Api::default(),
            writes: Vec::new(),
            controller: controller(0),
            processes: 0,
            now_ms: 1_000,
            read: BTreeMap::new(),
            batch: Vec::new(),
            calls: Vec::new(),
            wake: None,
            death,
        };
        world.start();
        world
    }

    /// The process starts anew, knows nothing, and lists everything.
    pub(crate) fn start(&mut self) {
        self.processes += 1;
        self.controller = controller(self.processes);
        self.batch.clear();
        self.calls.clear();
        for kind in Kind::ALL {
            let (revision, objects) = self.api.store.list(kind);
            self.observe(kind, WatchFact::ListBegin);
            objects.into_iter().for_each(|seen| self.observe(kind, WatchFact::Listed(seen)));
            self.observe(kind, WatchFact::ListEnd);
            self.read.insert(kind, revision);
        }
        self.step();
    }

    /// Lets everything happen that happens by itself, and time pass.
    pub(crate) fn rest(&mut self) {
        let until = self.now_ms + REST_MS;
        for _ in 0..ROUNDS_MAX {
            if self.round() {
                continue;
            }
            match self.wake {
                Some(at) if at.0 <= until => self.now_ms = self.now_ms.max(at.0),
                _ => {
                    self.now_ms = until;
                    return;
                }
            }
            self.step();
        }
        panic!("no rest; the last writes: {:#?}", &self.writes[self.writes.len().saturating_sub(30)..]);
    }

    /// Watches speak, the controller decides, its calls are carried out, the actors act; false: nothing of it.
    fn round(&mut self) -> bool {
        let heard = self.hear();
        if heard || !self.batch.is_empty() {
            self.step();
        }
        let calls = std::mem::take(&mut self.calls);
        let called = !calls.is_empty();
        for call in calls {
            if !self.send(&call) {
                break;
            }
        }
        let acted = kubelet::act(&mut self.api) | self.collect_garbage();
        heard || called || acted
    }

    fn hear(&mut self) -> bool {
        let mut facts = Vec::new();
        for kind in Kind::ALL {
            let from = self.read.get(&kind).copied().unwrap_or(0);
            for change in self.api.store.after(kind, from).expect("nothing is compacted") {
                let seen = change.seen.clone();
                facts.push((kind, if change.deleted { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) }));
            }
            self.read.insert(kind, self.api.store.revision());
        }
        let heard = !facts.is_empty();
        facts.into_iter().for_each(|(kind, fact)| self.observe(kind, fact));
        heard
    }

    fn observe(&mut self, kind: Kind, fact: WatchFact) {
        self.batch.push(Observation::Watch { kind, conn: 1, fact });
    }

    fn step(&mut self) {
        loop {
            let turn = self.controller.step(self.now(), &mut self.batch);
            self.calls.extend(turn.calls);
            self.wake = turn.wake;
            if !turn.more {
                break;
            }
        }
        assert_eq!(self.controller.stats().violations, 0, "the books are right");
    }

    const fn now(&self) -> Now {
        Now { mono: Mono(self.now_ms), wall: Wall(1_700_000_000_000 + self.now_ms.cast_signed()) }
    }

    /// Carries a call out; false: the process died over it.
    fn send(&mut self, call: &Call) -> bool {
        self.now_ms += CALL_MS;
        let now = self.now();
        if let Op::GetPod { .. } = call.op {
            let outcome = self.api.call(&call.op, now.wall);
            self.batch.push(Observation::Outcome { id: call.id, outcome });
            return true;
        }
        let death = self.death.filter(|(at, _)| *at == self.writes.len()).map(|(_, death)| death);
        self.writes.push(name(&call.op));
        match death {
            None => {
                let outcome = self.api.call(&call.op, now.wall);
                self.batch.push(Observation::Outcome { id: call.id, outcome });
                return true;
            }
            Some(Death::Before) => {}
            Some(Death::AnswerLost) => drop(self.api.call(&call.op, now.wall)),
            Some(Death::After) => {
                let outcome = self.api.call(&call.op, now.wall);
                self.batch.push(Observation::Outcome { id: call.id, outcome });
                self.step();
            }
            Some(Death::Late) => {
                self.start();
                self.api.call(&call.op, now.wall);
                return false;
            }
        }
        self.start();
        false
    }

    /// Pods whose owner is gone go.
    fn collect_garbage(&mut self) -> bool {
        let (_, groups) = self.api.store.list(Kind::TaskGroup);
        let (_, pods) = self.api.store.list(Kind::Pod);
        let mut acted = false;
        for pod in pods {
            let Ok(body) = &pod.body else { continue };
            let meta = metadata(body);
            let lives = |uid: &str| groups.iter().any(|group| &*group.uid.0 == uid);
            let is_orphan = meta.owner_references.iter().flatten().any(|owner| !lives(&owner.uid));
            if is_orphan && meta.deletion_timestamp.is_none() {
                let now = self.now().wall;
                acted |= self.api.delete_pod(&pod.key, None, now).is_ok();
            }
        }
        acted
    }

    /// Creates an object, or changes the spec of one that is there.
    pub(crate) fn apply(&mut self, kind: Kind, object: &Value) {
        let body = decode::seen(kind, &object.to_string()).expect("the object has a name");
        let (key, mut body) = (body.key, body.body.expect("the object decodes"));
        let now = self.now().wall;
        match self.api.store.get(kind, &key) {
            None => drop(self.api.create(&key, body, now).expect("it is new")),
            Some(old) => {
                let mut meta = metadata(old).clone();
                meta.generation = meta.generation.map(|generation| generation + 1);
                keep_status(&mut body, old);
                *metadata_mut(&mut body) = meta;
                self.api.store.put(&key, body);
            }
        }
    }

    /// A node of so many cores.
    pub(crate) fn node(&mut self, name: &str, cpu: u32) {
        let allocatable = json!({"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110"});
        self.apply(Kind::Node, &json!({"metadata": {"name": name}, "status": {"allocatable": allocatable}}));
    }

    /// A queue of so many cores.
    pub(crate) fn queue(&mut self, path: &str, cpu: u32) {
        let parent = path.rsplit_once('.').map(|(parent, _)| parent);
        let spec = json!({"parent": parent, "max": {"cpu": cpu.to_string()}});
        self.apply(Kind::Queue, &json!({"metadata": {"name": path}, "spec": spec}));
    }

    /// A task group of members of one core.
    pub(crate) fn group(&mut self, name: &str, min_member: u32, more: &Value) {
        let mut spec = json!({"minMember": min_member, "minResource": {"cpu": "1"}});
        more.as_object().into_iter().flatten().for_each(|(field, value)| spec[field] = value.clone());
        let metadata = json!({"name": name, "namespace": NS});
        self.apply(Kind::TaskGroup, &json!({"metadata": metadata, "spec": spec}));
    }

    /// A member of so many cores: GROUP-NUMBER.
    pub(crate) fn member(&mut self, group: &str, number: u32, cpu: &str) {
        self.pod(&format!("{group}-{number}"), &json!({"gangline.dev/task-group": group}), cpu);
    }

    /// A pod that Gangline schedules.
    pub(crate) fn pod(&mut self, name: &str, labels: &Value, cpu: &str) {
        let container = json!({"name": "main", "resources": {"requests": {"cpu": cpu}}});
        let spec = json!({"schedulerName": "gangline", "containers": [container]});
        let metadata = json!({"name": name, "namespace": NS, "labels": labels});
        self.apply(Kind::Pod, &json!({"metadata": metadata, "spec": spec}));
    }

    /// A pod ends well.
    pub(crate) fn succeed(&mut self, pod: &str) {
        let answer = self.api.change_pod(&Key::new(NS, pod), |pod| {
            pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
            Ok(())
        });
        answer.expect("the pod is there");
    }

    /// Somebody deletes a pod.
    pub(crate) fn delete_pod(&mut self, pod: &str) {
        let now = self.now().wall;
        self.api.delete_pod(&Key::new(NS, pod), None, now).expect("the pod is there");
    }

    /// Somebody deletes an object that nothing keeps.
    pub(crate) fn delete(&mut self, kind: Kind, name: &str) {
        let key = if kind == Kind::TaskGroup { Key::new(NS, name) } else { Key::cluster(name) };
        self.api.store.remove(kind, &key);
    }

    /// A node goes, and pod garbage collection takes its pods.
    pub(crate) fn lose_node(&mut self, name: &str) {
        self.delete(Kind::Node, name);
        for (key, pod) in self.pods() {
            if node_of(&pod) == Some(name) {
                self.api.store.remove(Kind::Pod, &key);
            }
        }
    }

    /// Names of placeholders, sorted.
    pub(crate) fn placeholders(&self) -> Vec<String> {
        let pods = self.pods().into_iter().filter(|(_, pod)| is_placeholder(pod));
        pods.map(|(key, _)| key.name.to_string()).collect()
    }

    fn pods(&self) -> Vec<(Key, Body)> {
        let (_, pods) = self.api.store.list(Kind::Pod);
        pods.into_iter().filter_map(|seen| Some((seen.key, seen.body.ok()?))).collect()
    }

    /// What is to be the same however often the process died: of every gang what it says of itself and what it has, and
    /// of every queue what it says is used. Without times, names of equal pods, and nodes.
    pub(crate) fn summary(&self) -> Vec<String> {
        let pods = self.pods();
        let (_, groups) = self.api.store.list(Kind::TaskGroup);
        let mut lines: Vec<String> =
            groups.iter().filter_map(|seen| self.gang_line(seen.body.as_ref().ok()?, &pods)).collect();
        let (_, queues) = self.api.store.list(Kind::Queue);
        for seen in queues {
            let Ok(Body::Queue(queue)) = &seen.body else { continue };
            let status = queue.status.clone().unwrap_or_default();
            lines.push(format!("queue {}: uses {}", seen.key.name, json!(status.allocated)));
        }
        let bound = |(_, pod): &&(Key, Body)| !is_placeholder(pod) && group_of(pod).is_none() && node_of(pod).is_some();
        lines.push(format!("other pods bound: {}", pods.iter().filter(bound).count()));
        lines
    }

    fn gang_line(&self, body: &Body, pods: &[(Key, Body)]) -> Option<String> {
        let Body::TaskGroup(group) = body else { return None };
        let name = group.metadata.name.as_deref()?;
        let status = group.status.clone().unwrap_or_default();
        let own = || pods.iter().filter(|(_, pod)| group_of(pod) == Some(name)).map(|(_, pod)| pod);
        let placeholders = own().filter(|pod| is_placeholder(pod)).count();
        let bound = own().filter(|pod| !is_placeholder(pod) && node_of(pod).is_some()).count();
        let counts = &status.counts;
        Some(format!(
            "gang {name}: {} {} held {} running {}; {bound} members bound, {placeholders} placeholders",
            status.application_state, status.reason, counts.held, counts.running
        ))
    }
}

fn controller(instance: u64) -> Controller {
    Controller::new(Settings { scheduler_names: vec!["gangline".into()], placeholder_image: "pause".into(), instance })
}

fn keep_status(body: &mut Body, old: &Body) {
    match (body, old) {
        (Body::TaskGroup(new), Body::TaskGroup(old)) => std::sync::Arc::make_mut(new).status = old.status.clone(),
        (Body::Queue(new), Body::Queue(old)) => std::sync::Arc::make_mut(new).status = old.status.clone(),
        (Body::Pod(new), Body::Pod(old)) => std::sync::Arc::make_mut(new).status = old.status.clone(),
        (Body::Pod(_) | Body::Node(_) | Body::TaskGroup(_) | Body::Queue(_) | Body::ResourceQuota(_), _) => {}
    }
}

fn label<'a>(pod: &'a Body, key: &str) -> Option<&'a str> {
    metadata(pod).labels.as_ref()?.get(key).map(String::as_str)
}

fn group_of(pod: &Body) -> Option<&str> {
    label(pod, "gangline.dev/task-group")
}

fn is_placeholder(pod: &Body) -> bool {
    label(pod, "gangline.dev/placeholder") == Some("true")
}

fn node_of(pod: &Body) -> Option<&str> {
    let Body::Pod(pod) = pod else { return None };
    pod.spec.as_ref()?.node_name.as_deref()
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
