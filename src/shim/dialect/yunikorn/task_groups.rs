//! The JSON of task groups: an array of objects, whose keys Go reads in any case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Affinity, Pod, Toleration, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{APP_ID, Parameters, QUEUE, TASK_GROUPS, object_name, owner};
use crate::api::task_group::{PlaceholderAffinity, PlaceholderTemplate, TaskGroup, TaskGroupSpec};
use crate::core::base::ids::Text;
use crate::shim::dialect::{Declared, Warnings};
use crate::shim::spec_errors::Errors;
use crate::shim::task_group::MAX_GANG;
use crate::shim::{group_check, syntax};

/// Longest text that is read: all annotations of a pod together may have no more.
const LONGEST: usize = 256 << 10;

/// The keys of a task group.
const KEYS: [&str; 9] = [
    "name",
    "minMember",
    "minResource",
    "labels",
    "annotations",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
];

/// What the task groups of an application have in common.
pub(super) struct Of<'a> {
    /// Who declares them.
    pub(super) pod: &'a Pod,
    pub(super) application: &'a str,
    pub(super) queue: Option<&'a str>,
    pub(super) parameters: Parameters,
}

/// One of them as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    name: String,
    min_member: Option<i64>,
    min_resource: BTreeMap<String, Value>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    node_selector: BTreeMap<String, String>,
    tolerations: Vec<Toleration>,
    affinity: Option<Affinity>,
    topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// The TaskGroups that a text declares, and the names of those that it would if they had a member.
pub(super) fn read(
    text: &str,
    of: &Of<'_>,
    errors: &mut Errors,
    warnings: &mut Warnings,
) -> (Vec<Arc<Declared>>, Vec<Text>) {
    let written = match parse(text) {
        Ok(written) => written,
        Err(problem) => {
            errors.add(TASK_GROUPS, problem);
            return Default::default();
        }
    };
    let count = written.len();
    errors.unless(
        (1..=MAX_GANG).contains(&count),
        TASK_GROUPS,
        format!("must have 1 to {MAX_GANG} groups, has {count}"),
    );
    let (mut groups, mut names) = (Vec::new(), BTreeSet::new());
    for (number, one) in written.into_iter().take(MAX_GANG).enumerate() {
        let at = format!("{TASK_GROUPS}[{number}]");
        match canonical(one, &at, warnings)
            .and_then(|one| serde_json::from_value::<Written>(one).map_err(|problem| problem.to_string()))
        {
            Ok(one) => {
                errors.unless(names.insert(one.name.clone()), format!("{at}.name"), "is the name of another one too");
                groups.push((at, one));
            }
            Err(problem) => errors.add(&at, problem),
        }
    }
    // YuniKorn runs the whole as no gang then. Operators write it of workers of which none is there at first.
    let (left_out, groups): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, one)| one.min_member == Some(0));
    for (at, one) in &left_out {
        errors.unless(!one.name.is_empty(), format!("{at}.name"), "must not be empty");
        warnings
            .add(|| format!("{at}.minMember is 0: no gang waits for its pods, and each is placed where it has room"));
    }
    let team: Vec<String> = groups.iter().map(|(_, one)| of.path(&one.name)).collect();
    let declared = groups.into_iter().map(|(at, one)| Arc::new(of.declared(&at, one, &team, errors, warnings)));
    let left_out = left_out.iter().map(|(_, one)| object_name(of.application, &one.name));
    (declared.collect(), left_out.collect())
}

fn parse(text: &str) -> Result<Vec<Value>, String> {
    if text.len() > LONGEST {
        return Err(format!("must have at most {LONGEST} characters, has {}", text.len()));
    }
    serde_json::from_str(text).map_err(|problem| format!("is no JSON array: {problem}"))
}

/// The same with its keys as they are written in the documents; those that nobody knows are left out.
fn canonical(group: Value, at: &str, warnings: &mut Warnings) -> Result<Value, String> {
    let Value::Object(group) = group else { return Err("must be an object".to_owned()) };
    let mut known = Map::new();
    for (key, value) in group {
        match KEYS.into_iter().find(|known| known.eq_ignore_ascii_case(&key)) {
            // To Go null leaves the field as it is.
            Some(_) if value.is_null() => {}
            Some(name) => drop(known.insert(name.to_owned(), value)),
            None => warnings.add(|| format!("{at}.{key} is not known, and left out")),
        }
    }
    Ok(Value::Object(known))
}

impl Of<'_> {
    fn path(&self, group: &str) -> String {
        let namespace = self.pod.metadata.namespace.as_deref().unwrap_or_default();
        format!("{namespace}/{}", object_name(self.application, group))
    }

    fn declared(
        &self,
        at: &str,
        written: Written,
        team: &[String],
        errors: &mut Errors,
        warnings: &mut Warnings,
    ) -> Declared {
        errors.unless(!written.name.is_empty(), format!("{at}.name"), "must not be empty");
        let name = object_name(self.application, &written.name);
        let min_member = written.min_member.and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
        let spec = TaskGroupSpec {
            application_id: Some(self.application.to_owned()),
            queue: self.queue.map(str::to_owned),
            min_member,
            min_resource: amounts(&written, at, errors),
            gang_group: if team.len() > 1 { team.to_vec() } else { Vec::new() },
            style: self.parameters.style,
            placeholder_timeout_seconds: self.parameters.timeout_seconds,
            placeholder_template: Some(self.template(written, at, errors, warnings)),
            ..TaskGroupSpec::default()
        };
        let metadata = ObjectMeta { name: Some(name.to_string()), ..ObjectMeta::default() };
        let group = TaskGroup { metadata, spec, status: None };
        check(&group, at, errors);
        Declared { name, spec: group.spec, owner: owner(self.pod) }
    }

    /// What placeholders need to stand where members will. Priority and secrets they have from the pod that declares them.
    fn template(
        &self,
        written: Written,
        at: &str,
        errors: &mut Errors,
        warnings: &mut Warnings,
    ) -> PlaceholderTemplate {
        let spec = self.pod.spec.as_ref();
        spread(&written.topology_spread_constraints, at, errors, warnings);
        PlaceholderTemplate {
            node_selector: written.node_selector,
            tolerations: written.tolerations,
            affinity: written.affinity.map(|affinity| of_nodes(affinity, at, errors, warnings)),
            priority_class_name: spec.and_then(|spec| spec.priority_class_name.clone()).filter(|name| !name.is_empty()),
            labels: without_reserved(written.labels, &format!("{at}.labels"), warnings),
            annotations: without_reserved(written.annotations, &format!("{at}.annotations"), warnings),
            image_pull_secrets: spec.and_then(|spec| spec.image_pull_secrets.clone()).unwrap_or_default(),
            ..PlaceholderTemplate::default()
        }
    }
}

/// Amounts are texts, or numbers as Go takes them too.
fn amounts(written: &Written, at: &str, errors: &mut Errors) -> BTreeMap<String, Quantity> {
    let mut amounts = BTreeMap::new();
    for (name, amount) in &written.min_resource {
        let text = match amount {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                errors.add(format!("{at}.minResource[{name}]"), "must be an amount, such as 500m or 2Gi");
                continue;
            }
        };
        // What its core calls cpu.
        let is_core_name = name == "vcore";
        errors.unless(!is_core_name, format!("{at}.minResource[{name}]"), "must be named cpu");
        if !is_core_name {
            amounts.insert(name.clone(), Quantity(text));
        }
    }
    amounts
}

/// Everything that would be wrong with the TaskGroup, where it is written.
fn check(group: &TaskGroup, at: &str, errors: &mut Errors) {
    let mut found = Errors::default();
    group_check::check(group, &mut found);
    for error in found.into_sorted() {
        let field = match &*error.field {
            "spec.applicationId" => APP_ID.to_owned(),
            "spec.queue" => QUEUE.to_owned(),
            "metadata.name" => format!("{at}.name"),
            field => {
                let field = field.strip_prefix("spec.").unwrap_or(field);
                format!("{at}.{}", field.strip_prefix("placeholderTemplate.").unwrap_or(field))
            }
        };
        errors.add(field, &error.problem);
    }
}

/// Where placeholders stand nodes alone decide; members may have more.
fn of_nodes(affinity: Affinity, at: &str, errors: &mut Errors, warnings: &mut Warnings) -> PlaceholderAffinity {
    let to = affinity.pod_affinity.as_ref();
    let from = affinity.pod_anti_affinity.as_ref();
    let required = [
        ("podAffinity", to.and_then(|to| to.required_during_scheduling_ignored_during_execution.as_ref())),
        ("podAntiAffinity", from.and_then(|from| from.required_during_scheduling_ignored_during_execution.as_ref())),
    ];
    for (field, terms) in required {
        errors.unless(terms.is_none_or(Vec::is_empty), format!("{at}.affinity.{field}"), "is not supported");
    }
    let preferred = to.is_some_and(|to| to.preferred_during_scheduling_ignored_during_execution.is_some())
        || from.is_some_and(|from| from.preferred_during_scheduling_ignored_during_execution.is_some());
    if preferred {
        warnings.add(|| format!("{at}.affinity: what is preferred between pods is left out"));
    }
    PlaceholderAffinity { node_affinity: affinity.node_affinity }
}

fn spread(constraints: &[TopologySpreadConstraint], at: &str, errors: &mut Errors, warnings: &mut Warnings) {
    let field = format!("{at}.topologySpreadConstraints");
    if constraints.iter().any(|constraint| constraint.when_unsatisfiable != "ScheduleAnyway") {
        errors.add(field, "is not supported, but with ScheduleAnyway");
    } else if !constraints.is_empty() {
        warnings.add(|| format!("{field}: what is preferred is left out"));
    }
}

/// Those under keys that are Kubernetes' or ours are members' alone.
fn without_reserved(
    mut pairs: BTreeMap<String, String>,
    at: &str,
    warnings: &mut Warnings,
) -> BTreeMap<String, String> {
    pairs.retain(|key, _| {
        let is_reserved = syntax::is_reserved_key(key);
        if is_reserved {
            warnings.add(|| format!("{at}[{key}]: placeholders do not have it"));
        }
        !is_reserved
    });
    pairs
}
