//! What can be wrong with a TaskGroup by itself, the rules of its CRD included: they are not enforced everywhere.

use super::quantity::Quantity;
use super::spec_errors::{Errors, is_divisible, is_other_resource};
use super::task_group::{SEAT_HOLD_MOST, seconds};
use super::{constraints, node_affinity, syntax};
use crate::api::task_group::{PlaceholderTemplate, TaskGroup};
use crate::core::model::countdown::Deadline;

/// Most members of one task group: a million seats would cost memory before any quota refuses them.
const MAX_MEMBERS: u32 = 100_000;
/// Most resources of one member; the CRD's own rules cost too much beyond (tried).
pub const MAX_RESOURCES: usize = 16;

/// Adds every error of the spec but those of `gangGroup`.
pub fn check(group: &TaskGroup, errors: &mut Errors) {
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
    for what in Deadline::ALL {
        let (least, most) = range_of(what);
        let is_fine = seconds(group, what).is_none_or(|seconds| (least..=most).contains(&seconds));
        errors.unless(is_fine, format!("spec.{what}"), format!("must be {least} to {most}"));
    }
    let hold = spec.seat_hold_seconds.unwrap_or(0);
    errors.unless(hold <= SEAT_HOLD_MOST, "spec.seatHoldSeconds", format!("must be 0 to {SEAT_HOLD_MOST}"));
    if let Some(template) = &spec.placeholder_template {
        check_template(template, errors);
    }
}

/// How many seconds a timeout may have: a day for completion, which keeps a queue from forgetting what ended, and a year for
/// what users wait for. Nothing but completion can be over at once.
pub const fn range_of(what: Deadline) -> (u32, u32) {
    match what {
        Deadline::Completion => (0, 86_400),
        Deadline::Admission | Deadline::Placeholder | Deadline::Wait => (1, 31_536_000),
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
    // Resources beyond the limit are not worth reading.
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
    if name == "pods" {
        return Err("is counted by itself: one for each member".to_owned());
    }
    if !is_divisible(name) && !is_other_resource(name) {
        return Err("must be cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain".to_owned());
    }
    let amount: Quantity = amount.parse().map_err(|problem| format!("{amount:?} {problem}"))?;
    if amount <= Quantity::ZERO {
        return Err("must be greater than 0".to_owned());
    }
    if !is_divisible(name) && !amount.is_whole() {
        return Err("must be a whole number".to_owned());
    }
    Ok(())
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
    if let Some(Err(unsupported)) = affinity.map(node_affinity::required) {
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
