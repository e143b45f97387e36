//! Reads one object: whether it is right, what is played of it, and when it comes.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Node as KubeNode, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::amounts;
use super::annotations::{self, Times};
use super::input::{Input, Origin, is_ours};
use super::kinds::{self, Played, Sort};
use super::notes::Note;
use super::read::{InputError, field_of};
use super::{fields, millis, typed};
use crate::core::base::ids::Key;
use crate::runtime::cli::source::Node;
use crate::shim::decode;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::sim::job::completions;
use crate::sim::play::{Arrival, Thing};
use crate::sim::schema;
use crate::sim::store::generated;

/// Most pods of one Job at a time: a gang of that size is played in seconds.
const PARALLELISM_MAX: i32 = 100_000;

/// An object of a file, as it is written and as JSON, where it stands there (`document 2, item 3`), and how long its pods run
/// if they do not say.
pub(super) struct Given<'a> {
    pub(super) file: &'a str,
    pub(super) place: String,
    pub(super) node: &'a Node,
    pub(super) object: Value,
    pub(super) runs: Duration,
}

impl Given<'_> {
    fn wrong(&self, problem: String) -> InputError {
        InputError::Object {
            file: self.file.to_owned(),
            document: self.place.clone(),
            object: title(&self.object, &self.place),
            at: self.node.place_of(field_of(&problem)),
            problem,
        }
    }

    fn origin(&self) -> Origin {
        let (file, document) = (self.file.to_owned(), self.place.clone());
        Origin { file, document, title: title(&self.object, &self.place), node: self.node.clone() }
    }
}

/// Adds an object, or the items of a list; or everything that is wrong with it.
pub(super) fn add(input: &mut Input, mut given: Given) {
    if let Err(problems) = take(input, &mut given) {
        input.errors.extend(problems.into_iter().map(|problem| given.wrong(problem)));
    }
}

fn take(input: &mut Input, given: &mut Given) -> Result<(), Vec<String>> {
    match sort(&given.object).map_err(|problem| vec![problem])? {
        Sort::Other(kind) => {
            annotations::times(&given.object, None)?;
            input.notes.leave_out(kind);
            Ok(())
        }
        Sort::List(of) => {
            add_items(input, given, of);
            Ok(())
        }
        Sort::One(played) => take_one(input, given, played),
    }
}

fn add_items(input: &mut Input, given: &mut Given, of: Option<Played>) {
    let items = given.object.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let nodes = given.node.get("items").map(Node::items).unwrap_or_default();
    for ((mut object, node), number) in items.into_iter().zip(nodes).zip(1..) {
        inherit(&mut object, of, &given.object["apiVersion"]);
        let place = format!("{}, item {number}", given.place);
        add(input, Given { file: given.file, place, node, object, runs: given.runs });
    }
}

/// The server says once what the items of a list of one kind are.
fn inherit(item: &mut Value, of: Option<Played>, api_version: &Value) {
    if let (Some(of), Some(fields)) = (of, item.as_object_mut()) {
        fields.entry("kind").or_insert_with(|| of.name().into());
        fields.entry("apiVersion").or_insert_with(|| api_version.clone());
    }
}

fn sort(object: &Value) -> Result<Sort, String> {
    let (api_version, kind) = (text(object, "apiVersion")?, text(object, "kind")?);
    kinds::sort(api_version.unwrap_or_default(), kind.unwrap_or_default())
}

/// How an object is called when something is wrong with it: by its name, with the namespace that it names, or where it
/// stands.
fn title(object: &Value, place: &str) -> String {
    match (text(object, "kind"), text(object, "metadata.name")) {
        (Ok(Some(kind)), Ok(Some(name))) if !name.is_empty() => match text(object, "metadata.namespace") {
            Ok(Some(namespace)) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            Ok(_) | Err(_) => format!("{kind} {name}"),
        },
        (Ok(Some(kind)), _) => format!("{place}, of kind {kind:?}"),
        _ => place.to_owned(),
    }
}

/// A field that is text, if it is there.
fn text<'a>(object: &'a Value, field: &str) -> Result<Option<&'a str>, String> {
    match object.pointer(&format!("/{}", field.replace('.', "/"))) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{field}: must be text (quote it)")),
    }
}

/// A name that the server makes, where one is asked for.
fn give_name(object: &mut Value, number: usize) -> Result<(), String> {
    if text(object, "metadata.name")?.is_some_and(|name| !name.is_empty()) {
        return Ok(());
    }
    match text(object, "metadata.generateName")?.filter(|prefix| !prefix.is_empty()) {
        Some(prefix) => object["metadata"]["name"] = generated(prefix, number as u64).into(),
        None => return Err("metadata.name: missing".to_owned()),
    }
    Ok(())
}

/// Adds an object of a kind that is played.
fn take_one(input: &mut Input, given: &mut Given, played: Played) -> Result<(), Vec<String>> {
    let (times, mut problems) = match annotations::times(&given.object, Some(played)) {
        Ok(times) => (times, Vec::new()),
        Err(problems) => (Times::default(), problems),
    };
    let key = match give_name(&mut given.object, input.known.len()).and_then(|()| key(&given.object, played)) {
        Ok(key) => key,
        Err(problem) => {
            problems.push(problem);
            return Err(problems);
        }
    };
    if matches!(played, Played::Queue | Played::TaskGroup) {
        schema::without_nulls(&mut given.object);
        // It is not read.
        given.object.as_object_mut().and_then(|fields| fields.remove("status"));
    }
    let title = format!("{} {key}", played.name());
    problems.extend(introduce(input, given, played, &title));
    problems.extend(wrong_fields(&given.object, played));
    match read(&given.object, played) {
        Ok(what) if problems.is_empty() => come(input, given, what, times, key),
        Ok(_) => return Err(problems),
        Err(more) => return Err(problems.into_iter().chain(more).collect()),
    }
    Ok(())
}

/// Notes that there is such an object, and the fields of it that nobody knows.
fn introduce(input: &mut Input, given: &Given, played: Played, title: &str) -> Option<String> {
    for field in fields::ignored(played, &given.object) {
        input.notes.add(Note::Unknown, format!("{}: {title}: {field}", given.file));
        input.ignored.push((title.to_owned(), field));
    }
    let origin = input.remembers.then(|| given.origin());
    // Applied twice it would be changed; played, each comes once, and which of two was meant nobody can tell.
    let twice = input.known.insert(title.to_owned(), origin).is_some();
    twice.then(|| "metadata.name: there is one of this name already".to_owned())
}

/// An object that is right comes, if there is anything left to do with it.
fn come(input: &mut Input, given: &Given, what: Option<Read>, times: Times, key: Key) {
    match what {
        Some(Read::Class(class)) => input.classes.add(&key.name, &class),
        Some(Read::Thing(what)) => {
            let lasts = times.run.or((!stays(&what)).then_some(given.runs)).map(millis);
            let ended = has_ended(&given.object, &what);
            let arrival = Arrival { at: millis(times.start.unwrap_or_default()), key, what, lasts };
            if ended { input.notes.add(Note::Ended, arrival.title()) } else { input.arrivals.push(arrival) }
        }
        None => {}
    }
}

/// What a server refuses of an object of ours: fields that its kind does not have, and what its definition says.
fn wrong_fields(object: &Value, played: Played) -> Vec<String> {
    let unknown = fields::unknown(played.name(), object).into_iter().map(|field| format!("unknown field {field:?}"));
    unknown.chain(schema::problems(played.name(), object, None).into_iter().map(|problem| problem.said)).collect()
}

fn key(object: &Value, played: Played) -> Result<Key, String> {
    let name = text(object, "metadata.name")?.unwrap_or_default();
    let namespace = text(object, "metadata.namespace")?.filter(|namespace| !namespace.is_empty());
    Ok(match played {
        Played::Node | Played::Queue | Played::PriorityClass | Played::Namespace => Key::cluster(name),
        Played::Pod | Played::Job | Played::TaskGroup | Played::PodGroup(_) => {
            Key::new(namespace.unwrap_or("default"), name)
        }
    })
}

/// An object of which every field is of the right type.
enum Read {
    Thing(Thing),
    Class(Box<PriorityClass>),
}

/// An object as it is played; none of ours that its definition refuses.
fn read(object: &Value, played: Played) -> Result<Option<Read>, Vec<String>> {
    let right = |problems: Vec<String>| if problems.is_empty() { Ok(()) } else { Err(problems) };
    let thing = |thing| Ok(Some(Read::Thing(thing)));
    match played {
        Played::PriorityClass => {
            let class: PriorityClass = decoded(object)?;
            Ok(Some(Read::Class(Box::new(class))))
        }
        Played::Job => thing(Thing::Job(Box::new(job(object)?))),
        Played::Pod => {
            let pod: Pod = decoded(object)?;
            right(pod.spec.as_ref().map(|spec| amounts::of_pod("spec", spec)).unwrap_or_default())?;
            thing(body(Kind::Pod, object)?)
        }
        Played::Node => {
            right(right_node(&decoded(object)?))?;
            thing(body(Kind::Node, object)?)
        }
        Played::Queue | Played::TaskGroup if !schema::problems(played.name(), object, None).is_empty() => Ok(None),
        Played::Queue => thing(body(Kind::Queue, object)?),
        Played::Namespace => thing(body(Kind::Namespace, object)?),
        Played::TaskGroup => thing(body(Kind::TaskGroup, object)?),
        Played::PodGroup(system) => thing(body(system.kind(), object)?),
    }
}

/// An object that the scheduler watches, as it comes to it.
fn body(kind: Kind, object: &Value) -> Result<Thing, Vec<String>> {
    let seen = decode::seen(kind, &object.to_string()).ok_or_else(|| vec!["metadata.name: missing".to_owned()])?;
    let mut body = seen.body.map_err(|bad| vec![bad.problem.to_string()])?;
    // What a cluster said of it is what the play is to find out.
    match &mut body {
        Body::TaskGroup(group) => Arc::make_mut(group).status = None,
        Body::Queue(queue) => Arc::make_mut(queue).status = None,
        Body::Pod(pod) => Arc::make_mut(pod).metadata.deletion_timestamp = None,
        Body::Node(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => {}
    }
    Ok(Thing::Object(body))
}

fn right_node(node: &KubeNode) -> Vec<String> {
    if node.status.as_ref().is_none_or(|status| status.allocatable.is_none()) {
        return vec!["status.allocatable: missing, so that nothing fits on it".to_owned()];
    }
    amounts::of_node(node)
}

fn decoded<T: DeserializeOwned>(object: &Value) -> Result<T, Vec<String>> {
    T::deserialize(object).map_err(|_| typed::problems::<T>(object))
}

fn job(object: &Value) -> Result<Job, Vec<String>> {
    let job: Job = decoded(object)?;
    let mut wrong = Vec::new();
    let number = |of: fn(&JobSpec) -> Option<i32>| job.spec.as_ref().and_then(of).unwrap_or(1);
    let parallelism = number(|spec| spec.parallelism);
    for (field, number) in [("parallelism", parallelism), ("completions", number(|spec| spec.completions))] {
        if number < 0 {
            wrong.push(format!("spec.{field}: {number} is below 0"));
        }
    }
    if parallelism > PARALLELISM_MAX {
        wrong.push(format!("spec.parallelism: {parallelism} pods at once are more than {PARALLELISM_MAX}"));
    }
    if let Some(spec) = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()) {
        wrong.extend(amounts::of_pod("spec.template.spec", spec));
    }
    if wrong.is_empty() { Ok(job) } else { Err(wrong) }
}

/// Whether an exported object has nothing left to do. The status of a pod is not kept by what reads it.
fn has_ended(object: &Value, what: &Thing) -> bool {
    match what {
        Thing::Job(job) => job_has_ended(job),
        Thing::Object(Body::Pod(_)) => {
            matches!(text(object, "status.phase"), Ok(Some("Succeeded" | "Failed")))
        }
        Thing::Object(
            Body::Node(_)
            | Body::Queue(_)
            | Body::TaskGroup(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_),
        ) => false,
    }
}

fn job_has_ended(job: &Job) -> bool {
    let Some(status) = &job.status else { return false };
    let mut conditions = status.conditions.iter().flatten();
    let says_so = conditions.any(|is| matches!(&*is.type_, "Complete" | "Failed") && is.status == "True");
    let succeeded = status.succeeded.unwrap_or(0).max(0).cast_unsigned();
    says_so || succeeded > 0 && job.spec.as_ref().is_some_and(|spec| succeeded >= completions(spec))
}

/// Whether a pod was there before and is none of ours: a part of its node, such as a DaemonSet's, which does not end.
fn stays(what: &Thing) -> bool {
    let Thing::Object(Body::Pod(pod)) = what else { return false };
    let spec = pod.spec.as_ref();
    spec.is_some_and(|spec| spec.node_name.is_some() && !is_ours(spec))
}
