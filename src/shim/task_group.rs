//! Reads a TaskGroup: defaults, every error at once, and what its status remembers.

use std::sync::Arc;

use super::placeholder::{self, Blueprint, PlaceholderConfig};
use super::quantity::Quantity;
use super::{constraints, pod, requests, syntax};
use crate::api::task_group::{self as api, PlaceholderTemplate, TaskGroup, TaskGroupStatus};
use crate::core::event::{GroupSpec, PlaceholderFor, PlaceholderName, Remembered, Reservation};
use crate::core::ids::{Key, Text, Uid};
use crate::core::reason::SpecError;
use crate::core::resources::{PODS, Resources};
use crate::core::time::Wall;
use crate::shim::escape;

/// Most members of one task group: a million seats would cost memory before any quota refuses them.
pub const MAX_MEMBERS: u32 = 100_000;
/// Most resources of one member; the CRD's own rules cost too much beyond (tried).
pub const MAX_RESOURCES: usize = 16;
/// Most task groups of one application.
pub const MAX_GANG: usize = 64;
/// Queue of a TaskGroup that names none.
pub const DEFAULT_QUEUE: &str = "root.default";
/// Seconds in Waiting before Completed, if the TaskGroup does not say.
const COMPLETION_TIMEOUT_SECONDS: u32 = 30;
/// Longest completion timeout: a day.
pub const MAX_COMPLETION_TIMEOUT_SECONDS: u32 = 86_400;

/// A TaskGroup in the core's words. With `errors` the other fields are as good as can be had.
pub fn group_spec(group: &TaskGroup) -> GroupSpec {
    let key = pod::key(&group.metadata);
    let mut errors = Errors::default();
    let gang = gang(group, &key, &mut errors);
    let shape = Arc::new(expected_shape(group, &key));
    check(group, &mut errors);
    GroupSpec {
        uid: uid(group),
        generation: group.metadata.generation.unwrap_or(0),
        created: pod::created(&group.metadata),
        application: application(group),
        queue: queue(group),
        min_member: group.spec.min_member,
        min_resource: min_resource(group),
        shape,
        gang,
        reservation: match group.spec.reservation {
            api::Reservation::Placeholder => Reservation::Placeholder,
            api::Reservation::Direct => Reservation::Direct,
        },
        placeholder_for: match group.spec.placeholder_for {
            api::PlaceholderFor::Missing => PlaceholderFor::Missing,
            api::PlaceholderFor::All => PlaceholderFor::All,
        },
        completion_timeout_ms: 1000 * u64::from(timeout(group).min(MAX_COMPLETION_TIMEOUT_SECONDS)),
        errors: errors.0,
        remembered: remembered(group.status.as_ref()),
        terminating: group.metadata.deletion_timestamp.is_some(),
    }
}

/// The facts of a TaskGroup from which its placeholders are made.
pub fn blueprint(group: &TaskGroup) -> Blueprint {
    let amounts = group.spec.min_resource.iter();
    Blueprint {
        application: application(group),
        queue: queue(group),
        min_resource: amounts.map(|(name, amount)| (name.as_str().into(), amount.0.as_str().into())).collect(),
        template: group.spec.placeholder_template.clone().map(Box::new),
    }
}

fn uid(group: &TaskGroup) -> Uid {
    Uid::new(group.metadata.uid.as_deref().unwrap_or_default())
}

fn application(group: &TaskGroup) -> Text {
    let name = group.metadata.name.as_deref().unwrap_or_default();
    group.spec.application_id.as_deref().unwrap_or(name).into()
}

fn queue(group: &TaskGroup) -> Text {
    group.spec.queue.as_deref().unwrap_or(DEFAULT_QUEUE).into()
}

fn timeout(group: &TaskGroup) -> u32 {
    group.spec.completion_timeout_seconds.unwrap_or(COMPLETION_TIMEOUT_SECONDS)
}

fn min_resource(group: &TaskGroup) -> Resources {
    let mut resources = Resources::default();
    for (name, amount) in &group.spec.min_resource {
        let amount: Quantity = amount.0.parse().unwrap_or(Quantity::MAX);
        resources.set(name, requests::amount(name, amount).max(0));
    }
    resources.base[PODS] = 1;
    resources
}

/// What a placeholder would need if admission changed nothing.
fn expected_shape(group: &TaskGroup, key: &Key) -> crate::core::shape::Shape {
    let name = PlaceholderName { group: key.clone(), uid: uid(group), incarnation: 1, seat: 0, attempt: 0 };
    let config = PlaceholderConfig { scheduler_name: "".into(), image: "".into() };
    // What cannot be honoured is among the errors and fits nowhere.
    pod::shape(&placeholder::pod(&name, &blueprint(group), &config)).0
}

fn remembered(status: Option<&TaskGroupStatus>) -> Remembered {
    let Some(status) = status else { return Remembered::default() };
    let deadline = status.deadlines.as_ref().and_then(|deadlines| deadlines.completion.as_ref());
    Remembered {
        incarnation: status.incarnation,
        placed: status.conditions.iter().any(|condition| condition.type_ == "Placed" && condition.status == "True"),
        completed: status.application_state == "Completed",
        completion_deadline: deadline.map(|time| Wall(time.0.as_millisecond())),
    }
}

/// Errors of one spec, in the order of its fields.
#[derive(Default)]
struct Errors(Vec<SpecError>);

impl Errors {
    fn add(&mut self, field: impl AsRef<str>, problem: impl AsRef<str>) {
        self.0.push(SpecError {
            field: escape::bounded(field.as_ref(), 128),
            problem: escape::message(problem.as_ref()),
        });
    }

    fn unless(&mut self, is_fine: bool, field: impl AsRef<str>, problem: impl AsRef<str>) {
        if !is_fine {
            self.add(field, problem);
        }
    }
}

fn check(group: &TaskGroup, errors: &mut Errors) {
    let spec = &group.spec;
    let name = group.metadata.name.as_deref().unwrap_or_default();
    errors.unless(
        syntax::is_label_value(name) && !name.is_empty(),
        "metadata.name",
        format!("must have at most {} characters, since it is also a label value", syntax::MAX_LABEL),
    );
    if let Some(application) = &spec.application_id {
        let is_fine = !application.is_empty() && syntax::is_label_value(application);
        errors.unless(is_fine, "spec.applicationId", "must be a label value of 1 to 63 characters");
    }
    if let Some(queue) = &spec.queue {
        let problem = "must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots";
        errors.unless(syntax::is_queue_path(queue), "spec.queue", problem);
    }
    let range = format!("must be 1 to {MAX_MEMBERS}");
    errors.unless((1..=MAX_MEMBERS).contains(&spec.min_member), "spec.minMember", range);
    check_resources(group, errors);
    let range = format!("must be 0 to {MAX_COMPLETION_TIMEOUT_SECONDS}");
    let is_fine = timeout(group) <= MAX_COMPLETION_TIMEOUT_SECONDS;
    errors.unless(is_fine, "spec.completionTimeoutSeconds", range);
    if let Some(template) = &spec.placeholder_template {
        check_template(template, errors);
    }
}

fn check_resources(group: &TaskGroup, errors: &mut Errors) {
    let resources = &group.spec.min_resource;
    let count = resources.len();
    errors.unless(
        (1..=MAX_RESOURCES).contains(&count),
        "spec.minResource",
        format!("must have 1 to {MAX_RESOURCES} resources, has {count}"),
    );
    // Whatever is beyond is not worth reading.
    for (name, amount) in resources.iter().take(MAX_RESOURCES) {
        if let Err(problem) = check_resource(name, &amount.0) {
            errors.add(format!("spec.minResource[{name}]"), problem);
        }
    }
    let huge = resources.keys().any(|name| name.starts_with("hugepages-"));
    let usual = resources.contains_key("cpu") || resources.contains_key("memory");
    errors.unless(!huge || usual, "spec.minResource", "huge pages need cpu or memory beside them");
}

fn check_resource(name: &str, amount: &str) -> Result<(), String> {
    let divisible = ["cpu", "memory", "ephemeral-storage"].contains(&name);
    if name == "pods" {
        return Err("is counted by itself: one for each member".to_owned());
    }
    if !divisible && !is_other_resource(name) {
        return Err("must be cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain".to_owned());
    }
    let amount: Quantity = amount.parse().map_err(|problem| format!("{amount:?} {problem}"))?;
    if amount <= Quantity::ZERO {
        return Err("must be greater than 0".to_owned());
    }
    if !divisible && !amount.is_whole() {
        return Err("must be a whole number".to_owned());
    }
    Ok(())
}

fn is_other_resource(name: &str) -> bool {
    syntax::is_qualified_name(name) && (name.contains('/') || name.starts_with("hugepages-"))
}

/// Names of the gang's groups, sorted; of a list that is wrong, those that are right.
fn gang(group: &TaskGroup, key: &Key, errors: &mut Errors) -> Vec<Text> {
    let listed = &group.spec.gang_group;
    if listed.is_empty() {
        return vec![key.name.clone()];
    }
    let count = listed.len();
    errors.unless(count <= MAX_GANG, "spec.gangGroup", format!("must have at most {MAX_GANG} entries, has {count}"));
    let mut gang: Vec<Text> = Vec::new();
    for (at, entry) in listed.iter().take(MAX_GANG).enumerate() {
        match gang_entry(entry, key) {
            Ok(name) if gang.iter().any(|known| **known == *name) => {
                errors.add(format!("spec.gangGroup[{at}]"), format!("{entry} is listed twice"));
            }
            Ok(name) => gang.push(name.into()),
            Err(problem) => errors.add(format!("spec.gangGroup[{at}]"), problem),
        }
    }
    let itself = gang.contains(&key.name) || count > MAX_GANG;
    errors.unless(itself, "spec.gangGroup", format!("must list the TaskGroup itself: {key}"));
    gang.sort_unstable();
    gang
}

fn gang_entry<'a>(entry: &'a str, key: &Key) -> Result<&'a str, String> {
    let parts = entry.split_once('/').filter(|(namespace, name)| {
        syntax::is_dns_label(namespace) && syntax::is_dns_subdomain(name) && syntax::is_label_value(name)
    });
    match parts {
        None => Err(format!("{entry:?} must be namespace/name")),
        Some((namespace, _)) if *namespace != *key.namespace => {
            Err(format!("{entry} is in another namespace; a gang lies in one namespace"))
        }
        Some((_, name)) => Ok(name),
    }
}

fn check_template(template: &PlaceholderTemplate, errors: &mut Errors) {
    for (key, value) in &template.labels {
        let field = format!("spec.placeholderTemplate.labels[{key}]");
        check_key(key, &field, errors);
        errors.unless(syntax::is_label_value(value), &field, "must be a label value of at most 63 characters");
    }
    for key in template.annotations.keys() {
        check_key(key, &format!("spec.placeholderTemplate.annotations[{key}]"), errors);
    }
    for (key, value) in &template.node_selector {
        let is_fine = syntax::is_qualified_name(key) && syntax::is_label_value(value);
        errors.unless(is_fine, format!("spec.placeholderTemplate.nodeSelector[{key}]"), "must be a label");
    }
    let prefixed = |field: &str| field.replacen("spec.", "spec.placeholderTemplate.", 1);
    if let Err(unsupported) = constraints::tolerations(&template.tolerations) {
        errors.add(prefixed(&unsupported.field), "is not supported");
    }
    let affinity = template.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    if let Some(Err(unsupported)) = affinity.map(constraints::required) {
        errors.add(prefixed(&unsupported.field), "is not supported");
    }
    let classes =
        [("priorityClassName", &template.priority_class_name), ("runtimeClassName", &template.runtime_class_name)];
    for (field, class) in classes {
        let is_fine = class.as_deref().is_none_or(syntax::is_dns_subdomain);
        errors.unless(is_fine, format!("spec.placeholderTemplate.{field}"), "must be an object's name");
    }
}

fn check_key(key: &str, field: &str, errors: &mut Errors) {
    if !syntax::is_qualified_name(key) {
        errors.add(field, "must have a key that is a qualified name");
    } else if syntax::is_reserved_key(key) {
        errors.add(field, "must not lie under gangline.dev/, kubernetes.io/ or k8s.io/");
    }
}
