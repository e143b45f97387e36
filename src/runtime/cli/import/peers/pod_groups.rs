//! What is made of PodGroups, in the words of the functions that make it, and what is refused of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodSchedulingGroup, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{Made, Object};
use crate::api::task_group::{MatchPolicy, Mode, TaskGroupSpec};
use crate::api::whole_numbers;
use crate::core::model::namespaces::own_path;
use crate::core::reason::SpecError;
use crate::runtime::cli::import::check::ROOT;
use crate::runtime::cli::import::config::Reader;
use crate::runtime::cli::import::report::Fate;
use crate::runtime::cli::simulate::read::field_of;
use crate::runtime::cli::simulate::typed;
use crate::runtime::cli::source::{Is, Node};
use crate::shim::dialect;
use crate::shim::dialect::pod_group::{self, Coscheduling, Family, Koordinator, Kubernetes, PodGroup, System, Volcano};
use crate::shim::queue::{IMPLICIT, parent};

/// Where an object is that does not say it, as `kubectl apply` has it.
const NAMESPACE: &str = "default";

/// A PodGroup of which a TaskGroup can be made.
#[derive(Debug)]
pub(super) struct Gang {
    pub(super) system: System,
    namespace: String,
    /// The queue that it names, as its path here, and where.
    queue: Option<(String, String)>,
}

/// Tells what a PodGroup is here. The answer is what is read of it; none of one that is refused or on its way out. A gang that does
/// not say how long it waits does so for `wait_seconds`.
pub(super) fn tell(object: &Object, wait_seconds: u32, made: &mut Made<'_>) -> Option<Gang> {
    match System::ALL.into_iter().find(|one| one.api_version() == object.api_version) {
        Some(System::Koordinator) => tell_one::<Koordinator>(object, wait_seconds, made),
        Some(System::Coscheduling) => tell_one::<Coscheduling>(object, wait_seconds, made),
        Some(System::Volcano) => tell_one::<Volcano>(object, wait_seconds, made),
        Some(System::Kubernetes) => tell_one::<Kubernetes>(object, wait_seconds, made),
        None => {
            let known = System::ALL.map(System::api_version).join(", ");
            let problem = format!("PodGroup of apiVersion {:?} is not read; those of {known} are", object.api_version);
            made.errors.push(object.wrong(object.node.place_of("apiVersion"), problem));
            None
        }
    }
}

/// Tells which queues these name that are not there afterwards.
pub(super) fn tell_queues(gangs: &[Gang], made: &mut Made<'_>) {
    let queues = made.queues.iter().filter_map(|queue| Some((queue["metadata"]["name"].as_str()?, &queue["spec"])));
    let queues: BTreeMap<&str, &Value> = queues.collect();
    // Each namespace has one below such a queue.
    let gives = |above: &str| queues.get(above).is_some_and(|spec| spec.get("childTemplate").is_some());
    for Gang { namespace, queue, .. } in gangs {
        let Some((path, of)) = queue else { continue };
        let below = format!("{path}.");
        let is_own = parent(path).is_some_and(|above| gives(above) && *own_path(above, namespace) == **path);
        let (fate, note) = if path == ROOT || queues.keys().any(|other| other.starts_with(&below)) {
            let note =
                format!("{path} has queues below it; the gang is refused (QueueNotLeaf) until it names one of those");
            (Fate::Refused, note)
        } else if IMPLICIT.contains(&&**path) || queues.contains_key(&**path) || is_own {
            continue;
        } else {
            (Fate::Missing, format!("a Queue {path}; until it is there the gang is refused (QueueNotFound)"))
        };
        made.report.add(fate, "PodGroup spec.queue", &note, of, "");
    }
}

fn tell_one<F: Family>(object: &Object, wait_seconds: u32, made: &mut Made<'_>) -> Option<Gang> {
    let known = made.errors.len();
    let mut group = decode::<F>(object, made)?;
    if made.errors.len() > known {
        return None;
    }
    group.metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned());
    let name = title(&group.metadata);
    let of = object.place(object.node.at, &name);
    let Some(found) = pod_group::read(&group) else {
        made.report.look_up("PodGroup.metadata.deletionTimestamp", &of, "");
        return None;
    };
    for field in left_out(F::SYSTEM) {
        let said = object.node.get("spec").and_then(|spec| spec.get(field));
        if let Some(said) = said.filter(|said| said.is != Is::Nothing && said.text() != Some("")) {
            made.report.look_up(&format!("PodGroup.spec.{field}"), &object.place(said.at, &name), "");
        }
    }
    for warning in &found.warnings {
        made.report.add(Fate::Different, "PodGroup", warning, &of, "");
    }
    let spoken = dialect::read(&naming(F::SYSTEM, &group.metadata), F::SYSTEM.kind().dialect(), wait_seconds);
    let spoken = spoken.unwrap_or_default();
    let declared = spoken.refers.as_ref().map(|refers| refers.declared(&found));
    let problems = match declared {
        Some(Ok(declared)) => {
            made.report.add(Fate::Read, "PodGroup", &words(&declared.spec), &name, "");
            let at = object.place(object.node.place_of("spec.queue"), &name);
            let queue = declared.spec.queue.map(|path| (path, at));
            let namespace = group.metadata.namespace.unwrap_or_default();
            return Some(Gang { system: F::SYSTEM, namespace, queue });
        }
        Some(Err(problems)) => problems,
        None => spoken.problems.into_iter().chain(found.problems).collect(),
    };
    for SpecError { field, problem } in &problems {
        let at = object.node.place_of(&in_metadata(object, field));
        made.report.add(Fate::Refused, &format!("PodGroup {field}"), problem, &object.place(at, &name), "");
    }
    None
}

/// The object as its type; none if it has fields of another, or no name. What there is not is an error too, as to kubectl.
fn decode<F: Family>(object: &Object, made: &mut Made<'_>) -> Option<PodGroup<F>> {
    let mut value = object.node.value();
    whole_numbers(&mut value);
    for problem in typed::problems::<PodGroup<F>>(&value) {
        let at = object.node.place_of(field_of(&problem));
        made.errors.push(object.wrong(at, format!("PodGroup: {problem}")));
    }
    object.read(made.errors, |reader| check(object, &value, F::SYSTEM, reader));
    serde_json::from_value(value).ok()
}

/// The fields of a spec that are read. There are no others but those that are left out.
const fn read_of(system: System) -> &'static [&'static str] {
    match system {
        System::Koordinator | System::Coscheduling => &["minMember", "scheduleTimeoutSeconds"],
        System::Volcano => &["minMember", "minTaskMember", "queue", "networkTopology", "subGroupPolicy"],
        System::Kubernetes => {
            &["schedulingPolicy", "schedulingConstraints", "resourceClaims", "parentCompositePodGroupName", "priority"]
        }
    }
}

/// The fields of a spec that decide nothing here, which is told of each. A priority is read to be compared with that of pods.
const fn left_out(system: System) -> &'static [&'static str] {
    match system {
        System::Koordinator | System::Coscheduling => &["minResources"],
        System::Volcano => &["minResources", "priorityClassName"],
        System::Kubernetes => &["workloadRef", "disruptionMode", "priorityClassName", "priority", "preemptionPolicy"],
    }
}

fn check(object: &Object, value: &Value, system: System, reader: &mut Reader) {
    let is_known = |field: &str| [read_of(system), left_out(system)].iter().any(|fields| fields.contains(&field));
    if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        reader.wrong(object.node.place_of("metadata"), "a PodGroup must have a name");
    }
    reader.fields(&object.node, "a PodGroup", |reader, entry| {
        if entry.key == "spec" {
            reader.fields(&entry.value, "the spec of a PodGroup", |_, field| is_known(&field.key));
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
    let (labels, annotations, scheduling_group) = match system {
        System::Koordinator | System::Coscheduling => (said, None, None),
        System::Volcano => (None, said, None),
        System::Kubernetes => (None, None, Some(PodSchedulingGroup { pod_group_name: metadata.name.clone() })),
    };
    let namespace = metadata.namespace.clone();
    let metadata = ObjectMeta { labels, annotations, namespace, ..ObjectMeta::default() };
    Pod { metadata, spec: Some(PodSpec { scheduling_group, ..PodSpec::default() }), status: None }
}

/// What the TaskGroup says.
fn words(spec: &TaskGroupSpec) -> String {
    let mut words = format!("TaskGroup of its name, when a pod names it: minMember {}", spec.min_member);
    if let Some(total) = spec.total_member {
        words += &format!(", totalMember {total}");
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::runtime::cli::import::equivalents;
    use crate::shim::dialect::pod_group::{NetworkTopology, PodGroupSpec, SchedulingPolicy};

    #[test]
    fn every_field_of_a_spec_is_read_or_told() {
        // All of them: one that is added has to be added here.
        let spec = PodGroupSpec {
            min_member: Some(1),
            schedule_timeout_seconds: Some(1),
            queue: Some(String::new()),
            min_task_member: Some(BTreeMap::new()),
            network_topology: Some(NetworkTopology::default()),
            sub_group_policy: Some(Vec::new()),
            scheduling_policy: Some(SchedulingPolicy::default()),
            scheduling_constraints: Some(Value::Null),
            resource_claims: Some(Vec::new()),
            parent_composite_pod_group_name: Some(String::new()),
            priority: Some(0),
        };
        let spec = serde_json::to_value(spec).expect("it is JSON");
        let fields: BTreeSet<&str> = spec.as_object().expect("fields").keys().map(String::as_str).collect();
        let read: BTreeSet<&str> = System::ALL.into_iter().flat_map(read_of).copied().collect();
        assert_eq!(read, fields);
        for field in System::ALL.into_iter().flat_map(left_out) {
            let word = format!("PodGroup.spec.{field}");
            assert_eq!(equivalents::of(&word).word, word);
        }
    }
}
