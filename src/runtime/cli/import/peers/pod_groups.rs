//! What is made of PodGroups, in the words of the functions that make it, and what is refused of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{Made, Object};
use crate::api::task_group::{MatchPolicy, Mode, TaskGroupSpec};
use crate::api::whole_numbers;
use crate::core::reason::SpecError;
use crate::runtime::cli::import::config::Reader;
use crate::runtime::cli::import::report::Fate;
use crate::runtime::cli::simulate::read::field_of;
use crate::runtime::cli::simulate::typed;
use crate::runtime::cli::source::Node;
use crate::shim::dialect;
use crate::shim::dialect::pod_group::{self, Coscheduling, Family, Koordinator, PodGroup, System, Volcano};

/// Where an object is that does not say it, as `kubectl apply` has it.
const NAMESPACE: &str = "default";

/// Tells what a PodGroup is here. The answer is whose it is, if it is one that is read. A gang that does not say how long it waits
/// does so for `wait_seconds`.
pub(super) fn tell(object: &Object, wait_seconds: u32, made: &mut Made<'_>) -> Option<System> {
    let system = System::ALL.into_iter().find(|one| one.api_version() == object.api_version);
    match system {
        Some(System::Koordinator) => tell_one::<Koordinator>(object, wait_seconds, made),
        Some(System::Coscheduling) => tell_one::<Coscheduling>(object, wait_seconds, made),
        Some(System::Volcano) => tell_one::<Volcano>(object, wait_seconds, made),
        None => {
            let known = System::ALL.map(System::api_version).join(", ");
            let problem = format!("PodGroup of apiVersion {:?} is not read; those of {known} are", object.api_version);
            made.errors.push(object.wrong(object.node.place_of("apiVersion"), problem));
        }
    }
    system
}

fn tell_one<F: Family>(object: &Object, wait_seconds: u32, made: &mut Made<'_>) {
    let known = made.errors.len();
    let Some(mut group) = decode::<F>(object, made) else { return };
    if made.errors.len() > known {
        return;
    }
    group.metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned());
    let name = title(&group.metadata);
    let of = object.place(object.node.at, &name);
    if let Some(least) = object.node.get("spec").and_then(|spec| spec.get("minResources")) {
        made.report.look_up("PodGroup.spec.minResources", &object.place(least.at, &name), "");
    }
    let Some(found) = pod_group::read(&group) else {
        made.report.look_up("PodGroup.metadata.deletionTimestamp", &of, "");
        return;
    };
    for warning in &found.warnings {
        made.report.add(Fate::Different, "PodGroup", warning, &of, "");
    }
    let spoken = dialect::read(&naming(F::SYSTEM, &group.metadata), F::SYSTEM.kind().dialect(), wait_seconds);
    let spoken = spoken.unwrap_or_default();
    let declared = spoken.refers.as_ref().map(|refers| refers.declared(&found));
    let problems = match declared {
        Some(Ok(declared)) => {
            made.report.add(Fate::Read, "PodGroup", &words(&declared.spec), &name, "");
            Vec::new()
        }
        Some(Err(problems)) => problems,
        None => spoken.problems.into_iter().chain(found.problems).collect(),
    };
    for SpecError { field, problem } in &problems {
        let at = object.node.place_of(&in_metadata(object, field));
        made.report.add(Fate::Refused, &format!("PodGroup {field}"), problem, &object.place(at, &name), "");
    }
}

/// The object as its type; none if it has fields of another, or no name. What there is not is an error too, as to kubectl.
fn decode<F: Family>(object: &Object, made: &mut Made<'_>) -> Option<PodGroup<F>> {
    let mut value = object.node.value();
    whole_numbers(&mut value);
    for problem in typed::problems::<PodGroup<F>>(&value) {
        let at = object.node.place_of(field_of(&problem));
        made.errors.push(object.wrong(at, format!("PodGroup: {problem}")));
    }
    object.read(made.errors, |reader| check(object, &value, (fields_of(F::SYSTEM), reader)));
    serde_json::from_value(value).ok()
}

/// The fields of a spec.
const fn fields_of(system: System) -> &'static [&'static str] {
    match system {
        System::Koordinator | System::Coscheduling => &["minMember", "minResources", "scheduleTimeoutSeconds"],
        System::Volcano => &[
            "minMember",
            "minTaskMember",
            "minResources",
            "queue",
            "priorityClassName",
            "networkTopology",
            "subGroupPolicy",
        ],
    }
}

fn check(object: &Object, value: &Value, (known, reader): (&[&str], &mut Reader)) {
    if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        reader.wrong(object.node.place_of("metadata"), "a PodGroup must have a name");
    }
    reader.fields(&object.node, "a PodGroup", |reader, entry| {
        if entry.key == "spec" {
            reader.fields(&entry.value, "the spec of a PodGroup", |_, field| known.contains(&&*field.key));
        }
        ["apiVersion", "kind", "metadata", "spec", "status"].contains(&&*entry.key)
    });
}

/// `namespace/name`.
fn title(metadata: &ObjectMeta) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", part(&metadata.namespace), part(&metadata.name))
}

/// A pod that names the object, and says nothing else.
fn naming(system: System, metadata: &ObjectMeta) -> Pod {
    let said = Some(BTreeMap::from([(system.key().to_owned(), metadata.name.clone().unwrap_or_default())]));
    let (labels, annotations) = match system {
        System::Koordinator | System::Coscheduling => (said, None),
        System::Volcano => (None, said),
    };
    let namespace = metadata.namespace.clone();
    Pod { metadata: ObjectMeta { labels, annotations, namespace, ..ObjectMeta::default() }, ..Pod::default() }
}

/// What the TaskGroup says.
fn words(spec: &TaskGroupSpec) -> String {
    let mut words = format!("TaskGroup of its name, when a pod names it: minMember {}", spec.min_member);
    if let Some(queue) = &spec.queue {
        words += &format!(", queue {queue}");
    }
    if let Some(seconds) = spec.wait_timeout_seconds {
        words += &format!(", waitTimeoutSeconds {seconds}");
    }
    if spec.mode != Mode::default() {
        words += &format!(", mode {:?}", spec.mode);
    }
    if spec.match_policy != MatchPolicy::default() {
        words += &format!(", matchPolicy {:?}", spec.match_policy);
    }
    if !spec.gang_group.is_empty() {
        words += &format!(", started together with all of {}", spec.gang_group.join(" "));
    }
    words
}

/// The way to what an error is about: the field itself, or an annotation, with the number of an item behind it or not.
fn in_metadata(object: &Object, field: &str) -> String {
    let key = field.split_once('[').map_or(field, |(key, _)| key);
    let has = |map: &str| {
        let map = object.node.get("metadata").and_then(|metadata| metadata.get(map));
        map.is_some_and(|map: &Node| map.get(key).is_some())
    };
    match ["annotations", "labels"].into_iter().find(|map| has(map)) {
        Some(map) => format!("metadata.{map}[{key}]"),
        None => field.to_owned(),
    }
}
