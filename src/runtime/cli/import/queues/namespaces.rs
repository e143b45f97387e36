//! Queues by namespace: the placement rule `tag namespace` with `create`, and what the queues that it makes may use.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::config::{Queue, Rule};
use super::super::report::{Fate, Report};
use super::{applications, is_default, object, property, sizes};
use crate::runtime::cli::import::check::ROOT;

/// Queues, as YuniKorn calls them, below which each namespace has one of its own; what other rules are is told.
pub(super) fn homes(rules: &[Rule], report: &mut Report) -> BTreeSet<String> {
    let mut homes = BTreeSet::new();
    for rule in rules {
        match home(rule) {
            Some(home) => {
                report.look_up("placementrule.tag.namespace", "rule tag", &rule.value.text);
                if rule.filter.is_some() {
                    report.look_up("placementrule.filter", "rule tag", "");
                }
                homes.insert(home);
            }
            None => placement(rule, report),
        }
    }
    homes
}

fn placement(rule: &Rule, report: &mut Report) {
    let of = format!("rule {}", rule.name.text);
    report.look_up(&format!("placementrule.{}", rule.name.text.to_lowercase()), &of, &rule.value.text);
    if creates(rule) {
        report.look_up("placementrule.create", &of, "");
    }
    if rule.filter.is_some() {
        report.look_up("placementrule.filter", &of, "");
    }
    rule.parent.iter().for_each(|parent| placement(parent, report));
}

fn is(rule: &Rule, name: &str) -> bool {
    rule.name.text.eq_ignore_ascii_case(name)
}

fn creates(rule: &Rule) -> bool {
    rule.create.is_some_and(|(_, create)| create)
}

/// The queue below which a rule makes one for each namespace: the root, or a fixed one.
fn home(rule: &Rule) -> Option<String> {
    let is_by_namespace = is(rule, "tag") && rule.value.text.eq_ignore_ascii_case("namespace") && creates(rule);
    match rule.parent.as_deref() {
        _ if !is_by_namespace => None,
        None => Some(ROOT.to_owned()),
        Some(parent) if is(parent, "fixed") && parent.parent.is_none() => {
            let value = parent.value.text.to_lowercase();
            Some(if value == ROOT || value.starts_with("root.") { value } else { format!("{ROOT}.{value}") })
        }
        Some(_) => None,
    }
}

/// What a Queue says that gives each namespace one below it.
pub(super) fn below(queue: &Queue, there: &str, report: &mut Report) -> Map<String, Value> {
    let mut template = Map::new();
    let said = queue.template.clone().unwrap_or_default();
    let of = format!("{there}.*");
    template
        .extend(sizes(&said.sizes, &of, report).into_iter().map(|(field, amounts)| (field.to_owned(), json!(amounts))));
    if let Some(most) = said.max_applications.and_then(|(_, most)| applications(most, &of, report)) {
        template.insert("maxApplications".to_owned(), most.into());
    }
    for (name, value) in said.properties.iter().filter(|(name, value)| !is_default(&name.text, value)) {
        let word = format!("queue.properties.{}", name.text);
        match &*name.text {
            "application.sort.policy" => {
                let field = report.look_up(&word, &of, value);
                template.extend(field.map(|field| (field.to_owned(), property(&name.text, value))));
            }
            other => report.add(
                Fate::Lost,
                &format!("childtemplate.{other}"),
                "a childTemplate has no such field",
                &of,
                value,
            ),
        }
    }
    let mut fields = Map::new();
    fields.insert("namespaceSelector".to_owned(), json!({}));
    fields.insert("childTemplate".to_owned(), template.into());
    fields
}

/// Of the queues that rules name and that are not there the root exists by itself.
pub(super) fn missing(homes: BTreeSet<String>, objects: &mut Vec<Value>, report: &mut Report) {
    for home in homes {
        if home == ROOT {
            objects.insert(0, object(ROOT, below(&Queue::default(), ROOT, report)));
        } else {
            let note = "the queue above is not in queues.yaml";
            report.add(Fate::Lost, "placementrule.tag.namespace", note, "rule tag", &home);
        }
    }
}
