//! Everything that is to be played, and what of it will not be as its author may think.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::notes::{Note, Notes};
use super::read::InputError;
use crate::api::names;
use crate::core::base::ids::{Key, Text};
use crate::core::time::Millis;
use crate::runtime::cli::source::Node;
use crate::shim::observation::Body;
use crate::shim::queue::QueueTree;
use crate::sim::job::{completions, owner};
use crate::sim::play::{Arrival, Thing};
use crate::sim::priority::Classes;

/// Everything that is to be played.
#[derive(Debug, Default)]
pub(in crate::runtime::cli) struct Input {
    pub(in crate::runtime::cli) arrivals: Vec<Arrival>,
    pub(super) classes: Classes,
    pub(super) notes: Notes,
    /// Whether it is remembered where objects are written.
    pub(super) remembers: bool,
    /// Kind and name of everything that comes, and where it is written.
    pub(in crate::runtime::cli) known: BTreeMap<String, Option<Origin>>,
    /// Objects with a field that nobody knows.
    pub(in crate::runtime::cli) ignored: Vec<(String, String)>,
    /// Everything that is wrong.
    pub(in crate::runtime::cli) errors: Vec<InputError>,
}

/// Where an object is written.
#[derive(Clone, Debug)]
pub(in crate::runtime::cli) struct Origin {
    pub(in crate::runtime::cli) file: String,
    /// `document 2, item 3`.
    pub(in crate::runtime::cli) document: String,
    /// Kind and name, with the namespace that it names.
    pub(in crate::runtime::cli) title: String,
    pub(in crate::runtime::cli) node: Node,
}

impl Input {
    /// One that knows where its objects are written.
    pub(in crate::runtime::cli) fn remembering() -> Self {
        Self { remembers: true, ..Self::default() }
    }

    /// Nodes that no file names.
    pub(super) fn take_nodes(&mut self, nodes: Vec<Arrival>) {
        self.known.extend(nodes.iter().map(|node| (format!("Node {}", node.key), None)));
        self.arrivals.extend(nodes);
    }

    /// Kinds that are left out, and how many of each.
    pub(in crate::runtime::cli) fn left_out(&self) -> impl Iterator<Item = (&str, u32)> {
        self.notes.left_out.iter().map(|(kind, count)| (&**kind, *count))
    }

    /// Everything is read: what an object needs of others is there or not.
    pub(super) fn settle(&mut self) {
        let Self { arrivals, classes, notes, known, .. } = self;
        arrivals.retain(|arrival| {
            let strange = node(&arrival.what).filter(|node| !known.contains_key(&format!("Node {node}")));
            if let Some(node) = strange {
                notes.add(Note::Nodeless, format!("{} on {node}", arrival.key));
            }
            strange.is_none()
        });
        run_as_their_jobs(arrivals);
        look_at_queues(arrivals, notes);
        make_namespaces(arrivals);
        for arrival in arrivals {
            look(arrival, classes, notes);
        }
    }
}

/// Notes the queues that will not be in force, even when all of them are there.
fn look_at_queues(arrivals: &[Arrival], notes: &mut Notes) {
    let queues = arrivals.iter().filter_map(|arrival| match &arrival.what {
        Thing::Object(Body::Queue(queue)) => Some((&*arrival.key.name, &**queue)),
        Thing::Object(
            Body::Pod(_)
            | Body::Node(_)
            | Body::TaskGroup(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_),
        )
        | Thing::Job(_) => None,
    });
    let mut tree = QueueTree::knowing_submitters(true);
    let names: Vec<&str> =
        queues.inspect(|(name, queue)| drop(tree.upsert(name, queue))).map(|(name, _)| name).collect();
    for name in names {
        let problems = tree.problem(name).unwrap_or_default().iter();
        let problems: Vec<_> = problems.map(|error| format!("{}: {}", error.field, error.problem)).collect();
        if !problems.is_empty() {
            notes.add(Note::Void, format!("{name}: {}", problems.join("; ")));
        }
    }
}

/// A namespace that no file names is there all the same, from the beginning, and each has the label that the API server gives
/// it. Where no queue chooses namespaces nobody asks.
pub(in crate::runtime::cli) fn make_namespaces(arrivals: &mut Vec<Arrival>) {
    let chooses = |arrival: &Arrival| match &arrival.what {
        Thing::Object(Body::Queue(queue)) => queue.spec.namespace_selector.is_some(),
        Thing::Object(_) | Thing::Job(_) => false,
    };
    if !arrivals.iter().any(chooses) {
        return;
    }
    let mut lacking: BTreeSet<Text> = arrivals.iter().map(|arrival| arrival.key.namespace.clone()).collect();
    lacking.remove("");
    for arrival in arrivals.iter_mut() {
        if let Thing::Object(Body::Namespace(namespace)) = &mut arrival.what {
            lacking.remove(&arrival.key.name);
            name_label(&mut Arc::make_mut(namespace).metadata, &arrival.key.name);
        }
    }
    arrivals.extend(lacking.into_iter().map(|name| {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_string());
        name_label(&mut namespace.metadata, &name);
        Arrival {
            at: 0,
            key: Key::cluster(name),
            what: Thing::Object(Body::Namespace(Arc::new(namespace))),
            lasts: None,
        }
    }));
}

fn name_label(metadata: &mut ObjectMeta, name: &str) {
    metadata.labels.get_or_insert_default().insert("kubernetes.io/metadata.name".to_owned(), name.to_owned());
}

/// A pod that was exported with its Job runs as long as the Job's others, if it does not say.
fn run_as_their_jobs(arrivals: &mut [Arrival]) {
    let is_job = |arrival: &&Arrival| matches!(arrival.what, Thing::Job(_));
    let jobs: BTreeMap<Key, Option<Millis>> =
        arrivals.iter().filter(is_job).map(|job| (job.key.clone(), job.lasts)).collect();
    for arrival in arrivals {
        let Thing::Object(body @ Body::Pod(pod)) = &arrival.what else { continue };
        let says = pod.metadata.annotations.iter().any(|all| all.contains_key(names::SIMULATED_RUN));
        if let Some(lasts) = owner(&arrival.key, body).and_then(|job| jobs.get(&job)).filter(|_| !says) {
            arrival.lasts = *lasts;
        }
    }
}

/// The node on which a pod is.
fn node(what: &Thing) -> Option<&str> {
    let Thing::Object(Body::Pod(pod)) = what else { return None };
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Whether a pod names our scheduler.
pub(super) fn is_ours(spec: &PodSpec) -> bool {
    spec.scheduler_name.as_deref() == Some(names::SCHEDULER)
}

/// Notes what of an object will not be as its author may think.
fn look(arrival: &Arrival, classes: &Classes, notes: &mut Notes) {
    let key = &arrival.key;
    let mut class = |name: Option<&str>, title: &str| {
        if let Some(name) = name.filter(|name| !name.is_empty() && !classes.has(name)) {
            notes.add(Note::Classless, format!("{name} of {title} {key}"));
        }
    };
    match &arrival.what {
        Thing::Object(Body::TaskGroup(group)) => {
            let template = group.spec.placeholder_template.as_ref();
            class(template.and_then(|template| template.priority_class_name.as_deref()), "TaskGroup");
        }
        Thing::Object(Body::Pod(pod)) => {
            let spec = pod.spec.as_ref().filter(|spec| spec.priority.is_none());
            class(spec.and_then(|spec| spec.priority_class_name.as_deref()), "Pod");
            look_at_pod(pod, &format!("Pod {key}"), notes);
            if pod.spec.as_ref().is_some_and(|spec| spec.active_deadline_seconds.is_some()) {
                notes.add(Note::Bounded, format!("Pod {key}"));
            }
        }
        Thing::Job(job) => {
            let Some(spec) = &job.spec else { return };
            let template = &spec.template;
            let pod = Pod {
                metadata: template.metadata.clone().unwrap_or_default(),
                spec: template.spec.clone(),
                status: None,
            };
            let named = template.spec.as_ref().filter(|spec| spec.priority.is_none());
            class(named.and_then(|spec| spec.priority_class_name.as_deref()), "Job");
            look_at_pod(&pod, &format!("Job {key}"), notes);
            let of_pods = template.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
            if spec.active_deadline_seconds.or(of_pods).is_some() {
                notes.add(Note::Bounded, format!("Job {key}"));
            }
            if spec.suspend == Some(true) {
                notes.add(Note::Suspended, key.to_string());
            } else if spec.parallelism == Some(0) || completions(spec) == 0 {
                notes.add(Note::Idle, key.to_string());
            }
        }
        Thing::Object(
            Body::Node(_)
            | Body::Queue(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_),
        ) => {}
    }
}

/// A pod that we do not place. One that has a node needs nobody.
fn look_at_pod(pod: &Pod, title: &str, notes: &mut Notes) {
    let spec = pod.spec.as_ref();
    if spec.is_some_and(is_ours) {
        return;
    }
    let group = pod.metadata.labels.as_ref().and_then(|labels| labels.get(names::TASK_GROUP));
    let scheduler = spec.and_then(|spec| spec.scheduler_name.as_deref());
    match (group, scheduler) {
        (Some(group), Some(name)) => {
            notes.add(Note::Forgotten, format!("{title} of TaskGroup {group}: schedulerName {name}"));
        }
        (Some(group), None) => notes.add(Note::Forgotten, format!("{title} of TaskGroup {group}: no schedulerName")),
        (None, _) if spec.is_none_or(|spec| spec.node_name.is_none()) => notes.add(Note::OfOthers, title.to_owned()),
        (None, _) => {}
    }
}
