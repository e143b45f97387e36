//! Reads manifests as `kubectl apply` takes them. What is wrong is said with its file, object and field.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use serde_json::Value;

use super::{fields, millis, nodes};
use crate::api::names;
use crate::core::ids::Key;
use crate::runtime::args::SimulateArgs;
use crate::runtime::text::{self, escape};
use crate::shim::decode;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::sim::play::{Arrival, Thing};

/// Most bytes of one file: an etcd value is smaller by far, and a file holds a workload, not a cluster.
const FILE_MAX: u64 = 64 << 20;

/// Most documents of one file, and keys and values in all of them.
const DOCUMENTS_MAX: usize = 200_000;
const NODES_MAX: usize = 20_000_000;

/// Most pods of one Job at a time: a gang of that size is played in seconds.
const PARALLELISM_MAX: i32 = 100_000;

/// What cannot be played.
#[derive(Debug, thiserror::Error)]
pub(in crate::runtime::cli) enum InputError {
    /// A file that cannot be had.
    #[error("{file}: {source}")]
    File { file: String, source: std::io::Error },
    /// A file that is no YAML.
    #[error("{file}: {problem}")]
    Text { file: String, problem: String },
    /// An object of it.
    #[error("{file}: {object}: {problem}")]
    Object { file: String, object: String, problem: String },
    /// A flag.
    #[error("{0}")]
    Flag(String),
}

/// Everything that is to be played.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) arrivals: Vec<Arrival>,
    /// How many objects of each kind are left out.
    pub(super) left_out: BTreeMap<String, u32>,
    /// Pods that have ended: they hold nothing.
    ended: u32,
    /// How many pods name a scheduler that nobody plays.
    pub(super) of_others: u32,
    /// Kind and name of everything that comes.
    known: BTreeSet<(String, Key)>,
}

impl Input {
    /// Nodes that no file names.
    pub(super) fn take_nodes(&mut self, nodes: Vec<Arrival>) {
        self.known.extend(nodes.iter().map(|node| ("Node".to_owned(), node.key.clone())));
        self.arrivals.extend(nodes);
    }

    /// What a reader should know of it; empty if nothing.
    pub(super) fn note(&self) -> String {
        let mut lines = Vec::new();
        if !self.left_out.is_empty() {
            let kinds: Vec<_> = self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            lines.push(
                escape(&format!("Left out, as kinds that are not simulated: {}.", kinds.join(", "))).into_owned(),
            );
        }
        if self.ended > 0 {
            lines.push(format!("Pods that have ended: {}. They are left out.", self.ended));
        }
        if self.of_others > 0 {
            let (count, ours) = (self.of_others, names::SCHEDULER);
            lines.push(format!("Pods or Jobs without schedulerName {ours}: {count}. Nobody places them here."));
        }
        lines.join("\n")
    }
}

/// Reads the files and flags of a command line.
pub(super) fn all(args: &SimulateArgs) -> Result<Input, InputError> {
    let mut input = Input::default();
    for (number, text) in args.nodes.iter().enumerate() {
        input.take_nodes(nodes::of(text, number)?);
    }
    for path in &args.files {
        let text = text_of(path)?;
        add(&mut input, &path.display().to_string(), &text, args.runs)?;
    }
    if !input.arrivals.iter().any(|arrival| matches!(arrival.what, Thing::Object(Body::Node(_)))) {
        return Err(InputError::Flag("there are no nodes: add --nodes, for example --nodes 20x32cpu,256Gi".to_owned()));
    }
    Ok(input)
}

/// `-` is standard input.
fn text_of(path: &Path) -> Result<String, InputError> {
    let file = || path.display().to_string();
    let wrong = |source| InputError::File { file: file(), source };
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(FILE_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|opened| opened.take(FILE_MAX + 1).read_to_string(&mut text))
    };
    if read.map_err(wrong)? as u64 > FILE_MAX {
        return Err(InputError::Text { file: file(), problem: format!("more than {} MiB", FILE_MAX >> 20) });
    }
    Ok(text)
}

/// Adds what one file says.
pub(super) fn add(input: &mut Input, file: &str, text: &str, runs: Duration) -> Result<(), InputError> {
    // The library's own limits are for settings: a workload has thousands of pods, each a document.
    let budget =
        serde_saphyr::budget! { max_documents: DOCUMENTS_MAX, max_nodes: NODES_MAX, max_events: 2 * NODES_MAX };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, serde_saphyr::options! { budget: budget })
            .map_err(|error| InputError::Text { file: file.to_owned(), problem: error.to_string() })?;
    for document in documents.iter().filter(|document| !document.is_null()) {
        let is_list = document.get("kind").is_some_and(|kind| kind == "List");
        match document.get("items").and_then(Value::as_array).filter(|_| is_list) {
            Some(items) => items.iter().try_for_each(|item| add_one(input, file, item, runs))?,
            None => add_one(input, file, document, runs)?,
        }
    }
    Ok(())
}

fn add_one(input: &mut Input, file: &str, object: &Value, runs: Duration) -> Result<(), InputError> {
    let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let wrong = |problem: String| {
        let object = if name.is_empty() { format!("an object of kind {kind:?}") } else { format!("{kind} {name}") };
        InputError::Object { file: file.to_owned(), object, problem }
    };
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    let namespace = Some(text("/metadata/namespace")).filter(|namespace| !namespace.is_empty()).unwrap_or("default");
    let key = match (group, kind) {
        ("", "Node") | (names::GROUP, "Queue") => Key::cluster(name),
        ("", "Pod") | ("batch", "Job") | (names::GROUP, "TaskGroup") => Key::new(namespace, name),
        (_, "") => return Err(wrong("kind: missing".to_owned())),
        _ => {
            *input.left_out.entry(kind.to_owned()).or_default() += 1;
            return Ok(());
        }
    };
    if name.is_empty() {
        return Err(wrong("metadata.name: missing".to_owned()));
    }
    // Applied twice it would be changed; played, each comes once, and which of two was meant nobody can tell.
    if !input.known.insert((kind.to_owned(), key.clone())) {
        return Err(wrong("there is one of this name already".to_owned()));
    }
    if let Some(field) = fields::unknown(kind, object).filter(|_| group == names::GROUP) {
        return Err(wrong(format!("unknown field {field:?}")));
    }
    if kind == "Pod" && matches!(text("/status/phase"), "Succeeded" | "Failed") {
        input.ended += 1;
        return Ok(());
    }
    let what = match kind {
        "Job" => Thing::Job(Box::new(job(object).map_err(wrong)?)),
        "Pod" => body(Kind::Pod, object).map_err(wrong)?,
        "Node" => body(Kind::Node, object).map_err(wrong)?,
        "Queue" => body(Kind::Queue, object).map_err(wrong)?,
        _ => body(Kind::TaskGroup, object).map_err(wrong)?,
    };
    input.of_others += u32::from(is_of_another(&what));
    let lasts = duration(object, names::SIMULATED_RUN).map_err(wrong)?.unwrap_or(runs);
    let at = duration(object, names::SIMULATED_START).map_err(wrong)?.unwrap_or_default();
    input.arrivals.push(Arrival { at: millis(at), key, what, lasts: millis(lasts) });
    Ok(())
}

/// An object that the scheduler watches, as it comes to it.
fn body(kind: Kind, object: &Value) -> Result<Thing, String> {
    let seen = decode::seen(kind, &object.to_string()).ok_or_else(|| "metadata.name: missing".to_owned())?;
    let mut body = seen.body.map_err(|bad| bad.problem.to_string())?;
    // What a cluster said of it is what the play is to find out.
    match &mut body {
        Body::TaskGroup(group) => Arc::make_mut(group).status = None,
        Body::Queue(queue) => Arc::make_mut(queue).status = None,
        Body::Pod(pod) => Arc::make_mut(pod).metadata.deletion_timestamp = None,
        Body::Node(_) | Body::ResourceQuota(_) => {}
    }
    let Body::Node(node) = &body else { return Ok(Thing::Object(body)) };
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    if allocatable.is_none() {
        return Err("status.allocatable: missing, so that nothing fits on it".to_owned());
    }
    Ok(Thing::Object(body))
}

fn job(object: &Value) -> Result<Job, String> {
    let job: Job =
        serde_path_to_error::deserialize(object).map_err(|error| format!("{}: {}", error.path(), error.inner()))?;
    let parallelism = job.spec.as_ref().and_then(|spec| spec.parallelism).unwrap_or(1);
    if parallelism > PARALLELISM_MAX {
        return Err(format!("spec.parallelism: {parallelism} pods at once are more than {PARALLELISM_MAX}"));
    }
    Ok(job)
}

fn is_of_another(what: &Thing) -> bool {
    let spec = match what {
        Thing::Object(Body::Pod(pod)) => pod.spec.as_ref(),
        Thing::Job(job) => job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()),
        Thing::Object(Body::Node(_) | Body::Queue(_) | Body::TaskGroup(_) | Body::ResourceQuota(_)) => return false,
    };
    spec.and_then(|spec| spec.scheduler_name.as_deref()) != Some(names::SCHEDULER)
}

/// A duration in an annotation: `90s`, `1h 30m`.
fn duration(object: &Value, name: &str) -> Result<Option<Duration>, String> {
    let Some(value) = object.pointer("/metadata/annotations").and_then(|all| all.get(name)) else { return Ok(None) };
    text::duration(value.as_str().unwrap_or_default())
        .map(Some)
        .ok_or_else(|| format!("metadata.annotations[{name}]: {value} is no duration as in \"90s\" or \"1h 30m\""))
}
