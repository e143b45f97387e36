//! Reads one object: whether it is right, what is played of it, and when it comes.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::amounts;
use super::annotations::{self, Times};
use super::input::{Input, is_ours};
use super::kinds::{self, Played, Sort};
use super::notes::Note;
use super::read::InputError;
use super::{fields, millis};
use crate::core::base::ids::Key;
use crate::shim::decode;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::sim::job::completions;
use crate::sim::play::{Arrival, Thing};
use crate::sim::schema;
use crate::sim::store::generated;

/// Most pods of one Job at a time: a gang of that size is played in seconds.
const PARALLELISM_MAX: i32 = 100_000;

/// An object of a file, where it stands there (`document 2, item 3`), and how long its pods run if they do not say.
pub(super) struct Given<'a> {
    pub(super) file: &'a str,
    pub(super) place: String,
    pub(super) object: Value,
    pub(super) runs: Duration,
}

/// Adds an object, or the items of a list.
pub(super) fn add(input: &mut Input, given: Given) -> Result<(), InputError> {
    let Given { file, place, mut object, runs } = given;
    let wrong = |object: &Value, problem| {
        let object = title(object, &place);
        InputError::Object { file: file.to_owned(), object, problem }
    };
    let times = |object: &Value, played| annotations::times(object, played).map_err(|problem| wrong(object, problem));
    match sort(&object).map_err(|problem| wrong(&object, problem))? {
        Sort::Other(kind) => {
            times(&object, None)?;
            input.notes.leave_out(kind);
            Ok(())
        }
        Sort::List(of) => {
            let items = object.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
            items.into_iter().zip(1..).try_for_each(|(mut item, number)| {
                inherit(&mut item, of, &object["apiVersion"]);
                add(input, Given { file, place: format!("{place}, item {number}"), object: item, runs })
            })
        }
        Sort::One(played) => {
            let times = times(&object, Some(played))?;
            give_name(&mut object, input.known.len()).map_err(|problem| wrong(&object, problem))?;
            if matches!(played, Played::Queue | Played::TaskGroup) {
                schema::without_nulls(&mut object);
                // It is not read.
                object.as_object_mut().and_then(|fields| fields.remove("status"));
            }
            let one = One { file, object: &object, played, times, runs };
            add_one(input, &one).map_err(|problem| wrong(&object, problem))
        }
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

/// An object of a kind that is played.
struct One<'a> {
    file: &'a str,
    object: &'a Value,
    played: Played,
    times: Times,
    runs: Duration,
}

fn add_one(input: &mut Input, one: &One) -> Result<(), String> {
    let key = key(one)?;
    let title = format!("{} {key}", one.played.name());
    // Applied twice it would be changed; played, each comes once, and which of two was meant nobody can tell.
    if !input.known.insert(title.clone()) {
        return Err("metadata.name: there is one of this name already".to_owned());
    }
    if let Some(field) = fields::unknown(one.played.name(), one.object) {
        return Err(format!("unknown field {field:?}"));
    }
    as_defined(one)?;
    for field in fields::ignored(one.played, one.object) {
        input.notes.add(Note::Unknown, format!("{}: {title}: {field}", one.file));
    }
    let what = match one.played {
        Played::PriorityClass => {
            input.classes.add(&key.name, &decoded::<PriorityClass>(one.object)?);
            return Ok(());
        }
        Played::Job => Thing::Job(Box::new(job(one.object)?)),
        Played::Pod => body(Kind::Pod, one.object)?,
        Played::Node => body(Kind::Node, one.object)?,
        Played::Queue => body(Kind::Queue, one.object)?,
        Played::TaskGroup => body(Kind::TaskGroup, one.object)?,
    };
    if has_ended(one.object, &what) {
        input.notes.add(Note::Ended, title);
        return Ok(());
    }
    let lasts = one.times.run.or((!stays(&what)).then_some(one.runs)).map(millis);
    input.arrivals.push(Arrival { at: millis(one.times.start.unwrap_or_default()), key, what, lasts });
    Ok(())
}

/// What its definition refuses of an object of ours, mostly in a cluster's words.
fn as_defined(one: &One) -> Result<(), String> {
    let problems = schema::problems(one.played.name(), one.object, None);
    let said: Vec<_> = problems.into_iter().map(|problem| problem.said).collect();
    if said.is_empty() { Ok(()) } else { Err(said.join("; ")) }
}

fn key(one: &One) -> Result<Key, String> {
    let name = text(one.object, "metadata.name")?.unwrap_or_default();
    let namespace = text(one.object, "metadata.namespace")?.filter(|namespace| !namespace.is_empty());
    Ok(match one.played {
        Played::Node | Played::Queue | Played::PriorityClass => Key::cluster(name),
        Played::Pod | Played::Job | Played::TaskGroup => Key::new(namespace.unwrap_or("default"), name),
    })
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
    match &body {
        Body::Node(node) => right_node(node)?,
        Body::Pod(pod) => pod.spec.as_ref().map_or(Ok(()), |spec| amounts::of_pod("spec", spec))?,
        Body::TaskGroup(_) | Body::Queue(_) | Body::ResourceQuota(_) => {}
    }
    Ok(Thing::Object(body))
}

fn right_node(node: &Node) -> Result<(), String> {
    if node.status.as_ref().is_none_or(|status| status.allocatable.is_none()) {
        return Err("status.allocatable: missing, so that nothing fits on it".to_owned());
    }
    amounts::of_node(node)
}

fn decoded<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error| format!("{}: {}", error.path(), error.inner()))
}

fn job(object: &Value) -> Result<Job, String> {
    let job: Job = decoded(object)?;
    let number = |of: fn(&JobSpec) -> Option<i32>| job.spec.as_ref().and_then(of).unwrap_or(1);
    let parallelism = number(|spec| spec.parallelism);
    for (field, number) in [("parallelism", parallelism), ("completions", number(|spec| spec.completions))] {
        if number < 0 {
            return Err(format!("spec.{field}: {number} is below 0"));
        }
    }
    if parallelism > PARALLELISM_MAX {
        return Err(format!("spec.parallelism: {parallelism} pods at once are more than {PARALLELISM_MAX}"));
    }
    if let Some(spec) = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()) {
        amounts::of_pod("spec.template.spec", spec)?;
    }
    Ok(job)
}

/// Whether an exported object has nothing left to do. The status of a pod is not kept by what reads it.
fn has_ended(object: &Value, what: &Thing) -> bool {
    match what {
        Thing::Job(job) => job_has_ended(job),
        Thing::Object(Body::Pod(_)) => {
            matches!(text(object, "status.phase"), Ok(Some("Succeeded" | "Failed")))
        }
        Thing::Object(Body::Node(_) | Body::Queue(_) | Body::TaskGroup(_) | Body::ResourceQuota(_)) => false,
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
