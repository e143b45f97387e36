//! What people and machines do to a cluster, and what can be read off its objects. What they do to pods: `pods`; what of a
//! gang that disturbs: `disturb`.

use std::collections::BTreeMap;

use gangline::api::queue::{HeadOfLine, QueueSpec};
use gangline::api::task_group::{Mode, PlaceholderFor, Reservation, Style, TaskGroupSpec};
use gangline::core::base::ids::Key;
use gangline::shim::decode;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::is_gated;
use gangline::sim::job::Jobs;
use gangline::sim::ordered::Sets;
use gangline::sim::quota;
use gangline::sim::store::{metadata, metadata_mut};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::acts::{Act, Flaw, GroupAct, QueueAct};
use super::amount::{Amount, GPU};
use super::coverage::MEETINGS;
use super::homes;
use super::limits::{of_queue, stamp};
use super::marks::uid_mark;
use super::place::Place;
use super::pods::{born_again, requests};
use super::spoken::in_other_words;
use super::words::{Family, PodGroupAct, Terms, edit, object, terms_of};
use super::world::World;

/// A timeout that is longer than any play: a year.
pub(super) const ENDLESS_S: u32 = 31_536_000;
/// The namespace of everything that Gangline schedules.
pub(crate) const NS: &str = "ns";
/// Another one.
pub(crate) const ABROAD: &str = "other";

pub(super) const TASK_GROUP: &str = "gangline.dev/task-group";
pub(super) const APPLICATION: &str = "gangline.dev/application-id";
/// What somebody writes who means [`TASK_GROUP`].
pub(crate) const MISTYPED: &str = "gangline.dev/taskgroup";

/// What a TaskGroup asks for, or whom it lists, is wrong.
fn spoil(flaw: Flaw, name: &str, asks: &mut BTreeMap<String, Quantity>, gang_group: &mut Vec<String>) {
    match flaw {
        Flaw::Field => _ = asks.insert("pods".to_owned(), Quantity("1".to_owned())),
        Flaw::Huge => _ = asks.insert("cpu".to_owned(), Quantity("9300000000000000".to_owned())),
        Flaw::Abroad => {
            if gang_group.is_empty() {
                gang_group.push(format!("{NS}/{name}"));
            }
            gang_group.push(format!("{ABROAD}/{name}"));
        }
    }
}

impl World {
    /// Does what a plan says; nothing where it makes no sense.
    pub(crate) fn act(&mut self, act: &Act) {
        match act {
            Act::Node(node) => self.set_node(node),
            Act::LoseNode { name } => self.lose_node(name),
            Act::Drain { name } => self.drain(name),
            Act::Die { node } => self.die_on(node),
            Act::Evict { node } => self.evict(node),
            Act::Revive { node } => self.revive(node),
            Act::Autoscale { name, cpu } => self.autoscale(name, *cpu),
            Act::Queue(queue) => self.set_queue(queue),
            Act::DropQueue { path } => self.drop_queue(path),
            Act::Group(group) => self.set_group(group),
            Act::DropGroup { name } => self.drop_group(name),
            Act::PodGroup(group) => self.set_pod_group(group),
            Act::DropPodGroup { family, name } => self.drop_pod_group(family.kind(), name),
            Act::Pod(pod) => self.set_pod(pod),
            Act::Job(job) => self.set_job(job),
            Act::Set(set) => self.set_set(set),
            Act::DropPod { name, again } => {
                let key = Key::new(NS, name.as_str());
                if let (true, Some(Body::Pod(pod))) = (*again, self.api.store.get(Kind::Pod, &key)) {
                    let anew = born_again(pod);
                    self.come_again.insert(key, anew);
                }
                self.drop_pod(name);
            }
            Act::LetGo { name } => drop(self.api.let_go(Kind::Pod, &Key::new(NS, name.as_str()))),
            Act::Label { name, group, app } => self.relabel(name, group.as_deref(), app.as_deref()),
            Act::Ungate { name } => self.ungate(name),
            Act::End { name, well } => drop(self.end(name, *well)),
            Act::DropPlaceholder { group, nth, fails } => {
                let all = self.placeholders_of(group);
                let Some(name) = all.get(*nth as usize % all.len().max(1)) else { return };
                let key = Key::new(NS, name.as_str());
                if *fails && self.runs(&key) {
                    self.put_off(&key, "Evicted");
                } else if !fails {
                    self.drop_pod(name);
                }
            }
            Act::Forge { group, milli, squats } => self.forge(group, *milli, *squats),
            Act::Foreign { name, node, cpu } => self.foreign(name, node, *cpu),
            Act::Resize { name, milli } => self.resize(name, *milli),
            Act::Quota { milli } => self.set_namespace_quota(*milli),
            Act::Namespace(namespace) => self.set_namespace(namespace),
            Act::DropNamespace { for_ms } => self.drop_namespace(*for_ms),
            Act::Garble { kind, name, for_ms } => {
                self.disturb_readers(*kind, name);
                self.note_unreadable(*kind, name);
                self.garble(*kind, &key_of(*kind, name), *for_ms);
            }
            Act::Hang { node, for_ms } => self.hang(node, *for_ms),
            Act::Vanish { kind, for_ms } => self.vanish(*kind, *for_ms),
            Act::Kill { down_ms } => self.kill(*down_ms),
            Act::Overlap { for_ms, newer_ends } => self.overlap(*for_ms, *newer_ends),
            Act::Cut { kind } => self.cut(*kind, 0),
            Act::Mute { kind, for_ms } => self.mute(*kind, *for_ms),
            Act::Storm { code, for_ms } => self.storm(*code, *for_ms),
            Act::Away { for_ms } => self.go_away(*for_ms),
            Act::Compact => self.api.store.forget(u64::MAX),
            Act::Jump { ms } => self.wall_ms += ms,
            Act::Replica { which, does, ms } => self.befalls(*which, *does, *ms),
        }
    }

    /// The same under the definitions of an earlier version.
    pub(crate) fn apply_as_before(&mut self, kind: Kind, object: &Value) -> bool {
        self.api.lets_all_through = true;
        let is_taken = self.apply(kind, object);
        self.api.lets_all_through = false;
        is_taken
    }

    /// Creates an object, or changes the spec of one that is there. Whether the server took it: admission may refuse what is
    /// new, and its definition what is of ours.
    pub(crate) fn apply(&mut self, kind: Kind, object: &Value) -> bool {
        let seen = decode::seen(kind, &object.to_string()).expect("the object has a name");
        let (key, mut body) = (seen.key, seen.body.expect("the object decodes"));
        // What the scheduler does not read.
        metadata_mut(&mut body).finalizers = serde_json::from_value(object["metadata"]["finalizers"].clone()).ok();
        let now = self.now().wall;
        match self.api.store.get(kind, &key) {
            None => self.api.create(&key, body, now).is_ok(),
            Some(old) => {
                let annotations = metadata(&body).annotations.clone();
                *metadata_mut(&mut body) = metadata(old).clone();
                if Family::ALL.map(Family::kind).contains(&kind) {
                    // They say what others have fields for.
                    metadata_mut(&mut body).annotations = annotations;
                }
                // What a node has is its status, and comes with it.
                if let (Body::Node(old), Body::Node(new)) = (old, &body) {
                    if old != new {
                        self.api.store.put(&key, body);
                    }
                    true
                } else {
                    self.api.edit(kind, &key, |object| *object = body).is_ok()
                }
            }
        }
    }

    /// A process that starts while a pod cannot be read takes it for gone, and counts it once more when it can be.
    fn note_unreadable(&mut self, kind: Kind, name: &str) {
        let pod = self.api.store.get(kind, &key_of(kind, name)).filter(|_| kind == Kind::Pod);
        let Some(uid) = pod.and_then(uid_mark).map(str::to_owned) else { return };
        *self.ended.entry(uid.clone()).or_default() += 1;
        *self.lost.entry(uid).or_default() += 1;
    }

    /// A queue of so many cores.
    pub(crate) fn queue(&mut self, path: &str, cpu: u32) {
        self.write_queue(&QueueAct { path: path.to_owned(), cpu, ..QueueAct::default() });
    }

    pub(crate) fn write_queue(&mut self, queue: &QueueAct) {
        let QueueAct { path, cpu, mib, gpu, apps, overtakes, overtaken_s, guaranteed, sorts, offset, .. } = queue;
        let (namespace_selector, child_template) = homes::of_queue(queue);
        let cpu = Some(("cpu".to_owned(), Quantity(cpu.to_string())));
        let memory = mib.map(|mib| ("memory".to_owned(), Quantity(format!("{mib}Mi"))));
        let gpus = gpu.map(|gpu| (GPU.to_owned(), Quantity(gpu.to_string())));
        let spec = QueueSpec {
            parent: path.rsplit_once('.').map(|(parent, _)| parent.to_owned()),
            max: cpu.into_iter().chain(memory).chain(gpus).collect(),
            max_applications: *apps,
            head_of_line: (overtakes.is_some() || overtaken_s.is_some())
                .then_some(HeadOfLine { max_overtakes: *overtakes, after_seconds: *overtaken_s }),
            guaranteed: guaranteed.map(|cpu| ("cpu".to_owned(), Quantity(cpu.to_string()))).into_iter().collect(),
            sort_policy: *sorts,
            priority_offset: *offset,
            stopped: queue.stopped.then_some(true),
            limits: of_queue(&queue.limits),
            namespace_selector,
            child_template,
        };
        self.apply(Kind::Queue, &json!({"metadata": {"name": path}, "spec": spec}));
    }

    fn set_queue(&mut self, queue: &QueueAct) {
        let QueueAct { path, cpu, mib, gpu, apps, limits, .. } = queue;
        let key = Key::cluster(path.as_str());
        let (most, limits_before, chose) = match self.api.store.get(Kind::Queue, &key) {
            Some(Body::Queue(old)) => {
                (Some(Amount::of_queue(old)), old.spec.limits.clone(), old.spec.namespace_selector.is_some())
            }
            Some(_) | None => (None, Vec::new(), false),
        };
        if chose || queue.chooses.is_some() {
            self.found_all();
            self.rehome();
        }
        let now = Amount {
            milli: u64::from(*cpu) * 1_000,
            mib: mib.map_or(u64::MAX, u64::from),
            gpu: gpu.map_or(u64::MAX, u64::from),
        };
        let is_limited_anew = !limits.is_empty() && limits_before != of_queue(limits);
        if most.is_none_or(|most| !most.is_within(now)) || is_limited_anew {
            // Who was interrupted in the middle of a swap may find its seat's share gone.
            let there = self.groups_in(path);
            self.unfinished().iter().filter(|group| there.contains(group)).for_each(|group| self.disturb(group));
        }
        let there_first = self.api.store.of_kind(Kind::TaskGroup).next().is_none() && most.is_none();
        let limits_apps = apps.is_some() || limits.iter().any(|limit| limit.apps.is_some());
        if limits_apps && !there_first {
            self.relimited.insert(path.clone());
        }
        self.write_queue(queue);
    }

    fn drop_queue(&mut self, path: &str) {
        // A gang whose driver runs keeps what it holds there; a new process gives it up.
        self.groups_in(path).iter().for_each(|group| self.disturb(group));
        if self.doors().get(path).is_some_and(Option::is_some) {
            self.rehome();
        }
        self.delete(Kind::Queue, path);
    }

    /// What all pods of the namespace may request together, or no quota.
    pub(crate) fn set_namespace_quota(&mut self, milli: Option<u32>) {
        match milli {
            None => self.api.store.remove(Kind::ResourceQuota, &Key::new(NS, "quota")),
            Some(milli) => {
                if self.calm_ms.is_none() {
                    self.api.admission.get_or_insert(quota::admit);
                }
                let spec = json!({"hard": {"requests.cpu": format!("{milli}m")}});
                self.apply(Kind::ResourceQuota, &json!({"metadata": {"name": "quota", "namespace": NS}, "spec": spec}));
            }
        }
    }

    /// The definition of a kind is deleted: all its objects go, then nobody is told of it any more, until it is back.
    fn vanish(&mut self, kind: Kind, for_ms: u64) {
        let names: Vec<String> = self.api.store.of_kind(kind).map(|(key, _)| key.name.to_string()).collect();
        for name in names {
            match kind {
                Kind::Queue => self.drop_queue(&name),
                Kind::KoordinatorPodGroup
                | Kind::CoschedulingPodGroup
                | Kind::VolcanoPodGroup
                | Kind::KubernetesPodGroup => {
                    self.drop_pod_group(kind, &name);
                }
                Kind::TaskGroup => self.drop_group(&name),
                // Kubernetes' own are always served.
                Kind::Pod | Kind::Node | Kind::ResourceQuota | Kind::Namespace => {}
            }
        }
        self.stop_serving(kind, for_ms);
    }

    fn drop_group(&mut self, name: &str) {
        self.note_deed(name, "deleted");
        self.disturb(name);
        self.excuse_rounds(name);
        self.delete(Kind::TaskGroup, name);
    }

    /// Another system's PodGroup comes, or is edited.
    fn set_pod_group(&mut self, group: &PodGroupAct) {
        let (kind, name) = (group.family.kind(), &group.name);
        let key = Key::new(NS, name.as_str());
        let there = self.api.store.get(kind, &key);
        let before = there.and_then(terms_of);
        if there.is_some() {
            // Its gang may live, and no status say so yet.
            self.disturb(name);
            self.excuse_rounds(name);
        }
        self.apply(kind, &object(group));
        let now = self.api.store.get(kind, &key).and_then(terms_of);
        before.zip(now).iter().for_each(|(before, now)| self.note_annotations(name, before, now));
    }

    /// What a PodGroup says beside its number and its time is edited, while its gang waits or when it has started.
    fn note_annotations(&mut self, name: &str, before: &Terms, now: &Terms) {
        let group = self.groups().into_iter().find(|(known, _)| known == name);
        let state = group.and_then(|(_, group)| Some(group.status?.application_state)).unwrap_or_default();
        let has_started = match state.as_str() {
            "New" | "Accepted" => false,
            "Running" => true,
            _ => return,
        };
        before.annotations_that_differ(now).for_each(|what| self.note(|| edit(what, has_started)));
    }

    /// One goes: what was made of it counts no more, and is taken away some time later.
    fn drop_pod_group(&mut self, kind: Kind, name: &str) {
        self.disturb(name);
        self.excuse_rounds(name);
        self.delete(kind, name);
    }

    /// A task group of members of one core.
    pub(crate) fn group(&mut self, name: &str, min_member: u32, more: &Value) {
        let mut spec =
            json!({"minMember": min_member, "minResource": {"cpu": "1"}, "placeholderTimeoutSeconds": ENDLESS_S});
        more.as_object().into_iter().flatten().for_each(|(field, value)| spec[field] = value.clone());
        let metadata = json!({"name": name, "namespace": NS});
        self.apply(Kind::TaskGroup, &json!({"metadata": metadata, "spec": spec}));
    }

    fn set_group(&mut self, group: &GroupAct) {
        let GroupAct {
            name,
            min,
            milli,
            mib,
            gpu,
            queue,
            direct,
            all,
            app,
            gang,
            timeout,
            hard,
            one_by_one,
            policy,
            total,
            holds,
            waits,
            admits,
            hold,
            flaw,
            place,
            by,
        } = group;
        let is_edit = self.api.store.get(Kind::TaskGroup, &Key::new(NS, name.as_str())).is_some();
        let mut asks = requests(*milli, *mib, *gpu);
        let mut gang_group: Vec<String> = gang.iter().map(|name| format!("{NS}/{name}")).collect();
        flaw.iter().for_each(|flaw| spoil(*flaw, name, &mut asks, &mut gang_group));
        let spec = TaskGroupSpec {
            application_id: app.clone(),
            queue: queue.clone(),
            min_member: *min,
            total_member: *total,
            min_resource: asks,
            gang_group,
            reservation: if *direct { Reservation::Direct } else { Reservation::Placeholder },
            placeholder_for: if *all { PlaceholderFor::All } else { PlaceholderFor::Missing },
            placeholder_template: place.map(Place::template),
            style: if *hard { Style::Hard } else { Style::Soft },
            mode: if *one_by_one { Mode::NonStrict } else { Mode::Strict },
            match_policy: *policy,
            admission_timeout_seconds: *admits,
            // Where nothing else is drawn nobody lives to see it.
            placeholder_timeout_seconds: Some(holds.unwrap_or(ENDLESS_S)),
            wait_timeout_seconds: *waits,
            completion_timeout_seconds: *timeout,
            seat_hold_seconds: *hold,
        };
        let metadata = json!({"name": name, "namespace": NS, "annotations": stamp(by.as_ref())});
        let object = json!({"metadata": metadata, "spec": spec});
        let is_old = flaw.is_some_and(Flaw::is_refused);
        let is_taken =
            if is_old { self.apply_as_before(Kind::TaskGroup, &object) } else { self.apply(Kind::TaskGroup, &object) };
        if !is_edit {
            self.note_twins(name);
        }
        if is_taken && is_edit {
            self.note_deed(name, "edited");
            // It may live, and its status not say so yet.
            self.disturb(name);
            self.excuse_rounds(name);
        }
    }

    /// Somebody does something to a task group, which is in some state.
    fn note_deed(&mut self, name: &str, deed: &'static str) {
        let group = self.groups().into_iter().find(|(known, _)| known == name);
        let state = group.and_then(|(_, group)| Some(group.status?.application_state));
        state.into_iter().for_each(|state| self.note(|| format!("group {deed} while {state}")));
    }

    /// A task group comes: perhaps not alone.
    fn note_twins(&mut self, name: &str) {
        let groups = self.groups();
        let came = |name: &str| {
            let group = groups.iter().find(|(known, _)| known == name);
            group.and_then(|(_, group)| group.metadata.creation_timestamp.clone())
        };
        let own = came(name);
        if own.is_some() && groups.iter().any(|(other, _)| other != name && came(other) == own) {
            self.note(|| MEETINGS[1].to_owned());
        }
    }

    /// A member of so many cores: GROUP-NUMBER.
    pub(crate) fn member(&mut self, group: &str, number: u32, cpu: &str) {
        self.pod(&format!("{group}-{number}"), &json!({"gangline.dev/task-group": group}), cpu);
    }

    /// The namespace is deleted; its controller takes what is in it.
    fn drop_namespace(&mut self, for_ms: u64) {
        let groups = self.groups();
        groups.iter().for_each(|(name, _)| self.disturb(name));
        (self.jobs, self.sets) = (Jobs::default(), Sets::default());
        self.api.namespaces.delete(NS);
        self.sweep(for_ms);
    }

    /// Somebody deletes an object that nothing keeps.
    pub(crate) fn delete(&mut self, kind: Kind, name: &str) {
        self.api.store.remove(kind, &key_of(kind, name));
    }

    /// Names of placeholders, sorted.
    pub(crate) fn placeholders(&self) -> Vec<String> {
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, pod)| is_placeholder(pod));
        pods.map(|(key, _)| key.name.to_string()).collect()
    }

    fn placeholders_of(&self, group: &str) -> Vec<String> {
        let own = |pod: &Body| is_placeholder(pod) && label(pod, TASK_GROUP) == Some(group);
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, pod)| own(pod));
        pods.map(|(key, _)| key.name.to_string()).collect()
    }
}

/// A label, or what says the same in another system's words.
pub(crate) fn label<'a>(pod: &'a Body, key: &str) -> Option<&'a str> {
    let own = metadata(pod).labels.as_ref()?.get(key).map(String::as_str);
    own.or_else(|| in_other_words(pod, key))
}

/// The marker of another system's gangs in plans.
pub(crate) const FOREIGN: &str = "scheduling.x-k8s.io/pod-group";

/// Whether a pod says that it is a placeholder.
pub(crate) fn is_placeholder(body: &Body) -> bool {
    matches!(body, Body::Pod(pod) if says_placeholder(pod))
}

pub(crate) fn says_placeholder(pod: &Pod) -> bool {
    pod.metadata.labels.iter().flatten().any(|(key, value)| key == "gangline.dev/placeholder" && value == "true")
}

/// Whether a pod has a label that somebody mistyped: it is refused, whatever else it says.
pub(crate) fn is_mistyped(body: &Body) -> bool {
    label(body, MISTYPED).is_some()
}

/// Whether a pod says that its gang has timed out: it waits for nothing any more.
pub(crate) fn says_timed_out(body: &Body) -> bool {
    let said = metadata(body).annotations.as_ref().and_then(|all| all.get("gang.scheduling.koordinator.sh/timeout"));
    said.is_some_and(|said| said == "true")
}

/// Whether somebody holds a pod back by a scheduling gate.
pub(crate) fn is_held_back(body: &Body) -> bool {
    matches!(body, Body::Pod(pod) if is_gated(pod))
}

pub(crate) fn node_of(pod: &Body) -> Option<&str> {
    let Body::Pod(pod) = pod else { return None };
    pod.spec.as_ref()?.node_name.as_deref()
}

/// The key of an object of this name.
fn key_of(kind: Kind, name: &str) -> Key {
    match kind {
        Kind::Pod
        | Kind::TaskGroup
        | Kind::ResourceQuota
        | Kind::KoordinatorPodGroup
        | Kind::CoschedulingPodGroup
        | Kind::VolcanoPodGroup
        | Kind::KubernetesPodGroup => Key::new(NS, name),
        Kind::Node | Kind::Queue | Kind::Namespace => Key::cluster(name),
    }
}

/// A queue and all above it, from the root on.
pub(crate) fn levels(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').map(|(at, _)| at).chain([path.len()]).map(|end| &path[..end])
}
