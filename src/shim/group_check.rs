//! What can be wrong with a TaskGroup by itself, the rules of its CRD included: they are not enforced everywhere.

use k8s_openapi::api::core::v1::NodeAffinity;

use super::quantity::Quantity;
use super::spec_errors::{Errors, is_divisible, is_other_resource};
use super::task_group::{SEAT_HOLD_MOST, seconds};
use super::{constraints, node_affinity, syntax};
use crate::api::schema::{
    AMOUNT_MAX, ANNOTATION_MAX, KEY_MAX, LABELS_MAX, NAME_MAX, SECRETS_MAX, TERMS_MAX, TOLERATIONS_MAX, VALUES_MAX,
};
use crate::api::task_group::{PlaceholderTemplate, TaskGroup};
use crate::core::model::countdown::Deadline;

/// Most members of one task group: a million seats would cost memory before any quota refuses them.
pub const MAX_MEMBERS: u32 = 100_000;
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
    let is_enough = spec.total_member.is_none_or(|total| (spec.min_member..=MAX_MEMBERS).contains(&total));
    errors.unless(is_enough, "spec.totalMember", format!("must be minMember to {MAX_MEMBERS}"));
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
    if amount.len() > AMOUNT_MAX {
        return Err(format!("must have at most {AMOUNT_MAX} characters, has {}", amount.len()));
    }
    let exponent = amount.rsplit_once(['e', 'E']).map(|(_, digits)| digits.trim_start_matches(['+', '-']));
    if exponent.is_some_and(|digits| digits.len() > 2) {
        return Err(format!("{amount:?} must have an exponent of at most two digits"));
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
    check_sizes(template, errors);
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

/// Bounds of the definition of the kind, so that what is declared in other words is not refused by the API server for ever.
fn check_sizes(template: &PlaceholderTemplate, errors: &mut Errors) {
    let counts = [
        ("labels", template.labels.len(), LABELS_MAX),
        ("annotations", template.annotations.len(), LABELS_MAX),
        ("nodeSelector", template.node_selector.len(), LABELS_MAX),
        ("tolerations", template.tolerations.len(), TOLERATIONS_MAX),
        ("imagePullSecrets", template.image_pull_secrets.len(), SECRETS_MAX),
    ];
    for (field, count, most) in counts {
        let field = format!("spec.placeholderTemplate.{field}");
        errors.unless(count <= most, field, format!("must have at most {most} entries, has {count}"));
    }
    for (key, value) in &template.annotations {
        check_length(value, ANNOTATION_MAX, &format!("spec.placeholderTemplate.annotations[{key}]"), errors);
    }
    for (number, toleration) in template.tolerations.iter().enumerate() {
        let field = format!("spec.placeholderTemplate.tolerations[{number}]");
        check_length(toleration.key.as_deref().unwrap_or_default(), KEY_MAX, &format!("{field}.key"), errors);
        let value = toleration.value.as_deref().unwrap_or_default();
        check_length(value, syntax::MAX_LABEL, &format!("{field}.value"), errors);
    }
    if let Some(affinity) = template.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()) {
        check_affinity(affinity, errors);
    }
}

fn check_affinity(affinity: &NodeAffinity, errors: &mut Errors) {
    let at = "spec.placeholderTemplate.affinity.nodeAffinity";
    let mut most = |count: usize, most: usize, field: &str, of: &str| {
        errors.unless(count <= most, field, format!("must have at most {most} {of}, has {count}"));
    };
    let required = affinity.required_during_scheduling_ignored_during_execution.iter();
    let required: Vec<_> = required.flat_map(|required| &required.node_selector_terms).collect();
    let preferred = affinity.preferred_during_scheduling_ignored_during_execution.as_deref().unwrap_or_default();
    for (field, terms) in [
        ("requiredDuringSchedulingIgnoredDuringExecution", required),
        ("preferredDuringSchedulingIgnoredDuringExecution", preferred.iter().map(|one| &one.preference).collect()),
    ] {
        let field = format!("{at}.{field}");
        most(terms.len(), TERMS_MAX, &field, "terms");
        for term in terms {
            let requirements =
                [&term.match_expressions, &term.match_fields].map(|all| all.as_deref().unwrap_or_default());
            requirements.iter().for_each(|all| most(all.len(), TERMS_MAX, &field, "requirements in a term"));
            for requirement in requirements.into_iter().flatten() {
                let values = requirement.values.as_deref().unwrap_or_default();
                most(values.len(), VALUES_MAX, &field, "values in a requirement");
                let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
                most(longest, NAME_MAX, &field, "characters in a value");
                most(requirement.key.chars().count(), KEY_MAX, &field, "characters in a key");
            }
        }
    }
}

fn check_length(text: &str, most: usize, field: &str, errors: &mut Errors) {
    let count = text.chars().count();
    errors.unless(count <= most, field, format!("must have at most {most} characters, has {count}"));
}

fn check_key(key: &str, field: &str, errors: &mut Errors) {
    if !syntax::is_qualified_name(key) {
        errors.add(field, "must have a key that is a qualified name");
    } else if syntax::is_reserved_key(key) {
        errors.add(field, "must not lie under gangline.dev/, kubernetes.io/ or k8s.io/");
    }
}
