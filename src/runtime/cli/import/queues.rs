//! Queue objects of a partition's queues.

mod namespaces;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::check::{DEFAULT, ROOT};
use super::config::{Amounts, Limit, Partition, Queue, Said, Sizes};
use super::report::{Fate, Report};
use crate::api::names;
use crate::shim::queue::MAX_RESOURCES;
use crate::shim::spec_errors::{is_divisible, is_other_resource};
use crate::shim::syntax::{MAX_LABEL, is_queue_path};

/// What is made of partitions: Queue objects, parents first.
pub(super) fn queues(partitions: &[Partition], report: &mut Report) -> Vec<Value> {
    let mut objects = Vec::new();
    for partition in partitions {
        let name = &partition.name.text;
        if name.to_lowercase() != DEFAULT {
            report.look_up("partition.other", &format!("partition {name}"), "");
            continue;
        }
        settings(partition, report);
        let mut homes = namespaces::homes(&partition.rules, report);
        for root in partition.queues.iter().flatten() {
            let mut root = root.clone();
            if root.limits.is_empty() {
                root.limits.clone_from(&partition.limits);
            }
            add(&root, ROOT, ROOT, &mut Import { objects: &mut objects, homes: &mut homes, report });
        }
        namespaces::missing(homes, &mut objects, report);
    }
    objects
}

/// What a partition says beside its queues.
fn settings(partition: &Partition, report: &mut Report) {
    let of = format!("partition {}", partition.name.text);
    if partition.preemption.is_some_and(|(_, enabled)| enabled) {
        report.look_up("partition.preemption", &of, "enabled");
    }
    if partition.quota_preemption.is_some_and(|(_, enabled)| enabled) {
        report.look_up("partition.preemption.quotapreemptionenabled", &of, "");
    }
    if !partition.node_order.text.is_empty() {
        report.look_up(&format!("partition.nodesortpolicy.{}", partition.node_order.text), &of, "");
    }
    if !partition.weights.is_empty() {
        report.look_up("partition.nodesortpolicy.resourceweights", &of, "");
    }
    if !partition.resolver.text.is_empty() {
        report.look_up("partition.usergroupresolver", &of, &partition.resolver.text);
    }
}

/// What queues are made of.
struct Import<'a> {
    objects: &'a mut Vec<Value>,
    /// Queues, as YuniKorn calls them, below which each namespace has one, and which were not met yet.
    homes: &'a mut BTreeSet<String>,
    report: &'a mut Report,
}

/// Adds a queue by its path here, which was another there, and those below it.
fn add(queue: &Queue, path: &str, there: &str, import: &mut Import<'_>) {
    let mut spec = spec(queue, path, there, import.report);
    if import.homes.remove(&there.to_lowercase()) {
        spec.extend(namespaces::below(queue, there, import.report));
    } else if queue.template.is_some() {
        import.report.look_up("queue.childtemplate", there, "");
    }
    // It exists by itself.
    if path != ROOT || !spec.is_empty() {
        import.objects.push(object(path, spec));
    }
    // Who can keep a name keeps it.
    let keeps = |child: &&Queue| label(&child.name.text) == child.name.text;
    let mut taken: BTreeSet<String> = queue.queues.iter().filter(keeps).map(|child| child.name.text.clone()).collect();
    for child in &queue.queues {
        let there = format!("{there}.{}", child.name.text);
        let label = if keeps(&child) { child.name.text.clone() } else { free(&label(&child.name.text), &taken) };
        taken.insert(label.clone());
        let below = format!("{path}.{label}");
        if !is_queue_path(&below) {
            let note =
                format!("the path would be longer than {MAX_LABEL} characters; it and all below it are left out");
            import.report.add(Fate::Lost, "name", &note, &there, "");
            continue;
        }
        if label != child.name.text {
            import.report.add(Fate::Renamed, "name", "", &there, &format!("→ {below}"));
        }
        add(child, &below, &there, import);
    }
}

/// A label that no other queue beside it has.
pub(super) fn free(label: &str, taken: &BTreeSet<String>) -> String {
    let others = (2..).map(|number| format!("{label}-{number}"));
    std::iter::once(label.to_owned()).chain(others).find(|one| !taken.contains(one)).unwrap_or_default()
}

/// A name as a part of a path: letters, digits and `-`.
pub(super) fn label(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let label: String = name.to_lowercase().chars().map(|one| if allowed(one) { one } else { '-' }).collect();
    let label = label.trim_matches('-');
    if label.is_empty() { "queue".to_owned() } else { label.to_owned() }
}

/// A Queue of this path.
pub(super) fn object(path: &str, mut spec: Map<String, Value>) -> Value {
    if let Some((parent, _)) = path.rsplit_once('.') {
        spec.insert("parent".to_owned(), parent.into());
    }
    let api_version = format!("{}/{}", names::GROUP, names::VERSION);
    json!({"apiVersion": api_version, "kind": "Queue", "metadata": {"name": path}, "spec": spec})
}

/// Everything that a queue says, each word by its row.
fn spec(queue: &Queue, path: &str, there: &str, report: &mut Report) -> Map<String, Value> {
    let mut spec = Map::new();
    let mut put = |field: Option<&str>, value: Value| {
        if let Some(field) = field {
            spec.insert(field.to_owned(), value);
        }
    };
    for (field, amounts) in sizes(&queue.sizes, there, report) {
        put(Some(field), json!(amounts));
    }
    if let Some(most) = queue.max_applications.and_then(|(_, most)| applications(most, there, report)) {
        put(report.look_up("queue.maxapplications", there, ""), most.into());
    }
    let limits = limits(&queue.limits, there, report);
    put(Some("limits").filter(|_| !limits.is_empty()), limits.into());
    for (name, value) in &queue.properties {
        if !is_default(&name.text, value) {
            let field = report.look_up(&format!("queue.properties.{}", name.text), there, value);
            put(field, property(&name.text, value));
        }
    }
    rest(queue, path, there, report);
    spec
}

/// Most applications that a Queue may be told: more than there are.
const APPLICATIONS_MAX: u64 = 1_000_000;

/// Most limits of a Queue, and names of one.
const LIMITS_MAX: usize = 32;
const NAMES_MAX: usize = 64;

/// What has no value that could be written.
fn rest(queue: &Queue, path: &str, there: &str, report: &mut Report) {
    if path != ROOT && queue.queues.is_empty() && queue.parent.is_some_and(|(_, parent)| parent) {
        report.look_up("queue.parent", there, "");
    }
    for (word, acl) in [("queue.adminacl", &queue.admin_acl), ("queue.submitacl", &queue.submit_acl)] {
        // Everybody may here, too.
        if !acl.text.is_empty() && acl.text.trim() != "*" {
            report.look_up(word, there, &format!("{:?}", acl.text));
        }
    }
}

/// What a queue, or a template, may use and is promised, by field. YuniKorn heeds none that is nothing.
fn sizes(sizes: &Sizes, there: &str, report: &mut Report) -> Vec<(&'static str, BTreeMap<String, String>)> {
    let words = [("queue.resources.max", &sizes.max), ("queue.resources.guaranteed", &sizes.guaranteed)];
    let said = words.into_iter().filter_map(|(word, sizes)| Some((word, &sizes.as_ref()?.1)));
    let said = said.filter(|(_, amounts)| amounts.values().any(|amount| amount.number != 0));
    let written = said.filter_map(|(word, said)| {
        let field = report.look_up(word, there, &shown(said))?;
        let amounts = amounts(said, word, there, report);
        Some((field, amounts)).filter(|(_, amounts)| !amounts.is_empty())
    });
    written.collect()
}

/// A number of applications; none where it limits nothing.
fn applications(most: u64, there: &str, report: &mut Report) -> Option<u64> {
    if most > APPLICATIONS_MAX {
        let note = format!("is {APPLICATIONS_MAX}, the most that a Queue may be told");
        report.add(Fate::Different, "maxapplications", &note, there, &most.to_string());
    }
    Some(most.min(APPLICATIONS_MAX)).filter(|most| *most > 0)
}

/// Limits of users and groups.
fn limits(said: &[Limit], there: &str, report: &mut Report) -> Vec<Value> {
    let mut limits = Vec::new();
    for limit in said {
        let (users, groups) = (names_of(&limit.users), names_of(&limit.groups));
        if limits.len() == LIMITS_MAX || users.len().max(groups.len()) > NAMES_MAX {
            let note = format!("a Queue has at most {LIMITS_MAX} of them, each of at most {NAMES_MAX} names");
            report.add(Fate::Lost, "limits", &note, there, &whose(limit));
            continue;
        }
        report.look_up("queue.limits", there, &whose(limit));
        let mut written = Map::new();
        for (field, names) in [("users", users), ("groups", groups)] {
            if !names.is_empty() {
                written.insert(field.to_owned(), json!(names));
            }
        }
        let max = limit.max.as_ref().map(|max| amounts(max, "queue.limits.maxresources", there, report));
        if let Some(max) = max.filter(|max| !max.is_empty()) {
            written.insert("max".to_owned(), json!(max));
        }
        if let Some(most) = applications(limit.max_applications, there, report) {
            written.insert("maxApplications".to_owned(), most.into());
        }
        // What limits resources alone that Kubernetes does not know limits nothing.
        if written.contains_key("max") || written.contains_key("maxApplications") {
            limits.push(Value::Object(written));
        }
    }
    limits
}

fn names_of(said: &[Said]) -> Vec<&str> {
    said.iter().map(|name| &*name.text).collect()
}

fn whose(limit: &Limit) -> String {
    limit.users.iter().chain(&limit.groups).map(|name| &*name.text).collect::<Vec<_>>().join(" ")
}

/// What a property is as the value of a field.
fn property(name: &str, value: &str) -> Value {
    match name {
        "application.sort.policy" if value.eq_ignore_ascii_case("fair") => json!("Fair"),
        // It has been first in, first out in YuniKorn too since 1.6, also where it says stateaware.
        "application.sort.policy" => json!("FIFO"),
        _ => value.parse::<i32>().map_or_else(|_| value.into(), Value::from),
    }
}

/// Whether a property says what is so without it.
fn is_default(name: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    match name {
        "application.sort.policy" => value.is_empty(),
        "application.sort.priority" => value == "enabled",
        "priority.offset" => value == "0",
        "priority.policy" => value == "default",
        "preemption.policy" => value == "disabled",
        "quota.preemption.delay" => ["0", "0s"].contains(&&*value),
        "application.unschedasks.backoff" => value == "0",
        _ => false,
    }
}

/// Amounts in Kubernetes' names; what has none is told.
fn amounts(amounts: &Amounts, word: &str, there: &str, report: &mut Report) -> BTreeMap<String, String> {
    let mut named = BTreeMap::new();
    for (name, amount) in amounts {
        let here = if name == "vcore" { "cpu" } else { name };
        let is_known = is_divisible(here) || here == "pods" || is_other_resource(here);
        let is_counted = name != "cpu";
        if !(is_known && is_counted && named.len() < MAX_RESOURCES) {
            let note = match (is_counted, is_known) {
                (false, _) => "YuniKorn counts cpu as vcore, so that it limits nothing there",
                (true, false) => {
                    "is no resource of Kubernetes: cpu, memory, ephemeral-storage, pods, hugepages-SIZE, and names with a domain are"
                }
                (true, true) => "is beyond the 16 resources that a Queue may have",
            };
            report.add(Fate::Lost, &format!("{word}.{name}"), note, there, &amount.text);
            continue;
        }
        named.insert(here.to_owned(), amount.text.clone());
    }
    named
}

fn shown(amounts: &Amounts) -> String {
    let amounts = amounts.iter().map(|(name, amount)| format!("{name} {}", amount.text));
    format!("{{{}}}", amounts.collect::<Vec<_>>().join(", "))
}
