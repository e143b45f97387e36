//! Queue objects of Koordinator's ElasticQuotas: a tree by the label that names the quota above.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Made, Object};
use crate::runtime::cli::import::check::ROOT;
use crate::runtime::cli::import::config::{Reader, Said};
use crate::runtime::cli::import::queues::{free, label, object};
use crate::runtime::cli::import::report::{Fate, Report};
use crate::runtime::cli::import::values::first_line;
use crate::runtime::cli::source::{Node, Place};
use crate::shim::dialect::pod_group::System;
use crate::shim::quantity::Quantity;
use crate::shim::queue::MAX_RESOURCES;
use crate::shim::spec_errors::{is_divisible, is_other_resource};
use crate::shim::syntax::{MAX_LABEL, is_queue_path};

/// What the keys of labels and annotations begin with that say something of a quota.
const PREFIX: &str = "quota.scheduling.koordinator.sh/";
/// The quota that all others are below.
const ROOT_QUOTA: &str = "koordinator-root-quota";
/// Quotas that Koordinator makes itself.
const OWN: [&str; 3] = [ROOT_QUOTA, "koordinator-default-quota", "koordinator-system-quota"];
/// The queue below the root in which pods are that name none.
const DEFAULT_QUEUE: &str = "default";

/// Amounts by resource.
type Sizes = BTreeMap<String, Size>;

#[derive(Clone, Copy, Debug)]
struct Size {
    at: Place,
    amount: Quantity,
}

/// What an object says.
#[derive(Debug)]
struct Quota<'a> {
    object: &'a Object,
    name: String,
    /// Of labels and annotations, what is under the prefix.
    said: Vec<(String, Said)>,
    max: Sizes,
    min: Sizes,
}

impl<'a> Quota<'a> {
    fn read(object: &'a Object, reader: &mut Reader) -> Self {
        let mut quota = Self { object, name: String::new(), said: Vec::new(), max: Sizes::new(), min: Sizes::new() };
        if object.api_version != System::Koordinator.api_version() {
            let (said, known) = (&object.api_version, System::Koordinator.api_version());
            let problem = format!("ElasticQuota of apiVersion {said:?} is not read: that of {known} is");
            reader.wrong(object.node.place_of("apiVersion"), problem);
            return quota;
        }
        reader.fields(&object.node, "an ElasticQuota", |reader, entry| {
            match &*entry.key {
                "metadata" => quota.metadata(&entry.value, reader),
                "spec" => quota.spec(&entry.value, reader),
                key => return ["apiVersion", "kind", "status"].contains(&key),
            }
            true
        });
        if quota.name.is_empty() {
            reader.wrong(object.node.place_of("metadata"), "an ElasticQuota must have a name");
        }
        quota
    }

    fn metadata(&mut self, node: &Node, reader: &mut Reader) {
        self.name = node.get("name").map(|name| reader.text(name).text).unwrap_or_default();
        for map in ["labels", "annotations"] {
            for entry in node.get(map).map(Node::entries).unwrap_or_default() {
                if let Some(word) = entry.key.strip_prefix(PREFIX) {
                    self.said.push((word.to_owned(), reader.text(&entry.value)));
                }
            }
        }
    }

    fn spec(&mut self, node: &Node, reader: &mut Reader) {
        reader.fields(node, "the spec of an ElasticQuota", |reader, entry| {
            match &*entry.key {
                "max" => self.max = sizes(&entry.value, reader),
                "min" => self.min = sizes(&entry.value, reader),
                _ => return false,
            }
            true
        });
    }

    fn word(&self, word: &str) -> Option<&Said> {
        self.said.iter().find(|(said, value)| said == word && !value.text.is_empty()).map(|(_, value)| value)
    }

    /// The quota above it.
    fn parent(&self) -> &str {
        self.word("parent").map_or(ROOT_QUOTA, |parent| &*parent.text)
    }

    fn is_parent(&self) -> bool {
        self.word("is-parent").is_some_and(|is| is.text == "true")
    }

    fn place(&self, at: Place) -> String {
        self.object.place(at, &self.name)
    }
}

fn sizes(node: &Node, reader: &mut Reader) -> Sizes {
    let mut sizes = Sizes::new();
    reader.fields(node, "resources", |reader, entry| {
        let Said { at, text } = reader.text(&entry.value);
        match text.parse::<Quantity>() {
            Ok(amount) if amount.is_negative() => reader.wrong(at, "must not be negative"),
            Ok(amount) => {
                sizes.insert(entry.key.clone(), Size { at, amount });
            }
            Err(problem) => reader.wrong(at, format!("{text:?} of {} {problem}", entry.key)),
        }
        true
    });
    sizes
}

/// Adds a Queue for each quota.
pub(super) fn add<'a>(objects: impl Iterator<Item = &'a Object>, made: &mut Made<'_>) {
    let quotas: Vec<Quota> =
        objects.map(|object| object.read(made.errors, |reader| Quota::read(object, reader))).collect();
    let (own, quotas): (Vec<_>, Vec<_>) = quotas.into_iter().partition(|quota| OWN.contains(&&*quota.name));
    for quota in own {
        made.report.look_up("ElasticQuota.own", &quota.place(quota.object.node.at), "");
    }
    let tree = Tree::of(&quotas, made);
    tree.check(made);
    if let Some(first) = quotas.first().filter(|_| !made.queues.is_empty()) {
        let problem = "there are queues of YuniKorn already: import one or the other".to_owned();
        made.errors.push(first.object.wrong(first.object.node.at, problem));
    }
    if made.errors.is_empty() {
        tree.add_below(ROOT_QUOTA, ROOT, &Sizes::new(), made);
    }
}

/// The quotas by their names, and those directly below each.
struct Tree<'a> {
    quotas: BTreeMap<&'a str, &'a Quota<'a>>,
    below: BTreeMap<&'a str, Vec<&'a Quota<'a>>>,
}

impl<'a> Tree<'a> {
    fn of(quotas: &'a [Quota<'a>], made: &mut Made<'_>) -> Self {
        let mut tree = Self { quotas: BTreeMap::new(), below: BTreeMap::new() };
        for quota in quotas {
            if tree.quotas.insert(&quota.name, quota).is_some() {
                let problem = format!(
                    "there is an ElasticQuota {} already: Koordinator tells them apart by name alone",
                    quota.name
                );
                made.errors.push(quota.object.wrong(quota.object.node.at, problem));
            }
            tree.below.entry(quota.parent()).or_default().push(quota);
        }
        tree
    }

    /// What Koordinator's own webhook refuses.
    fn check(&self, made: &mut Made<'_>) {
        let reached = self.reached();
        for (name, quota) in &self.quotas {
            let mut wrong = |at: Place, problem: String| made.errors.push(quota.object.wrong(at, problem));
            let at = quota.word("parent").map_or(quota.object.node.at, |parent| parent.at);
            match self.quotas.get(quota.parent()) {
                None if quota.parent() == ROOT_QUOTA => {}
                None => wrong(at, format!("there is no ElasticQuota {} above it in the files", quota.parent())),
                Some(above) if !above.is_parent() => {
                    let problem = format!("{} above it is not marked as a parent ({PREFIX}is-parent)", above.name);
                    wrong(at, problem);
                }
                Some(_) if !reached.contains(name) => wrong(at, "is below itself".to_owned()),
                Some(_) => {}
            }
            for (resource, min) in &quota.min {
                if quota.max.get(resource).is_some_and(|max| max.amount < min.amount) {
                    wrong(min.at, format!("min of {resource} is more than max"));
                }
                if self.promised_below(name, resource) > min.amount {
                    let problem = format!("min of {resource} is less than that of the quotas below together");
                    wrong(min.at, problem);
                }
            }
        }
    }

    /// Those from which a way leads up to the root, or to a quota that is not there.
    fn reached(&self) -> BTreeSet<&'a str> {
        let is_top = |name: &&&str| !self.quotas.contains_key(**name);
        let mut next: Vec<&Quota> = self.below.keys().filter(is_top).flat_map(|name| self.below_of(name)).collect();
        let mut reached = BTreeSet::new();
        while let Some(quota) = next.pop() {
            if reached.insert(&*quota.name) {
                next.extend(self.below_of(&quota.name));
            }
        }
        reached
    }

    fn below_of(&self, name: &str) -> impl Iterator<Item = &'a Quota<'a>> {
        self.below.get(name).cloned().unwrap_or_default().into_iter()
    }

    fn promised_below(&self, name: &str, resource: &str) -> Quantity {
        let promised = self.below_of(name).filter_map(|quota| quota.min.get(resource));
        promised.fold(Quantity::ZERO, |sum, min| sum.plus(min.amount))
    }

    /// Adds the queues below one. They may use no more than those above it, and are promised no more than that.
    fn add_below(&self, name: &str, path: &str, above: &Sizes, made: &mut Made<'_>) {
        let is_kept =
            |quota: &&Quota| label(&quota.name) == quota.name && !(path == ROOT && quota.name == DEFAULT_QUEUE);
        let kept = self.below_of(name).filter(is_kept).map(|quota| quota.name.clone());
        let mut taken: BTreeSet<String> = kept.chain([DEFAULT_QUEUE.to_owned()]).collect();
        for quota in self.below_of(name) {
            let label = if is_kept(&quota) { quota.name.clone() } else { free(&label(&quota.name), &taken) };
            let below = format!("{path}.{label}");
            taken.insert(label);
            let of = quota.place(quota.object.node.at);
            if !is_queue_path(&below) {
                let note =
                    format!("the path would be longer than {MAX_LABEL} characters; it and all below it are left out");
                made.report.add(Fate::Lost, "ElasticQuota", &note, &of, "");
                continue;
            }
            made.report.look_up("ElasticQuota", &of, "");
            made.report.add(Fate::Renamed, "ElasticQuota", "", &of, &format!("→ {below}"));
            self.tell(quota, made.report);
            let (spec, most) = spec(quota, above, made.report);
            made.queues.push(object(&below, spec));
            let beyond =
                |(resource, min): &(&String, &Size)| most.get(*resource).is_some_and(|most| most.amount < min.amount);
            for (resource, min) in quota.min.iter().filter(beyond) {
                let problem = format!("min of {resource} is more than the quotas above may use");
                made.errors.push(quota.object.wrong(min.at, problem));
            }
            self.add_below(&quota.name, &below, &most, made);
        }
    }

    /// What a quota says beside its sizes.
    fn tell(&self, quota: &Quota, report: &mut Report) {
        for (word, value) in &quota.said {
            let is_default = match &**word {
                "parent" => true,
                "is-parent" => value.text != "true" || self.below.contains_key(&*quota.name),
                "allow-lent-resource" => value.text != "false",
                _ => value.text.is_empty(),
            };
            if !is_default {
                report.look_up(&format!("ElasticQuota.{word}"), &quota.place(value.at), &first_line(&value.text));
            }
        }
    }
}

/// The spec of the Queue, and what the queues below it may use.
fn spec(quota: &Quota, above: &Sizes, report: &mut Report) -> (Map<String, Value>, Sizes) {
    let mut spec = Map::new();
    let max = lowered(quota, "ElasticQuota.spec.max", &quota.max, above, report);
    let mut most = above.clone();
    most.extend(max.clone());
    let min: Sizes =
        quota.min.iter().filter(|(_, min)| !min.amount.is_zero()).map(|(name, min)| (name.clone(), *min)).collect();
    let min = lowered(quota, "ElasticQuota.spec.min", &min, &Sizes::new(), report);
    for (word, sizes) in [("ElasticQuota.spec.max", max), ("ElasticQuota.spec.min", min)] {
        let amounts: BTreeMap<_, _> = sizes.iter().map(|(name, size)| (name, size.amount.to_string())).collect();
        if !amounts.is_empty() {
            let field = report.look_up(word, &quota.place(quota.object.node.at), "");
            spec.extend(field.map(|field| (field.to_owned(), json!(amounts))));
        }
    }
    (spec, most)
}

/// Amounts of what a Queue knows, none more than may be used above it, as it is in Koordinator where the queue above is full. What is
/// another amount or none is told.
fn lowered(quota: &Quota, word: &str, sizes: &Sizes, most: &Sizes, report: &mut Report) -> Sizes {
    let mut kept = Sizes::new();
    for (name, size) in sizes {
        let (word, of) = (format!("{word}.{name}"), quota.place(size.at));
        let is_known = is_divisible(name) || name == "pods" || is_other_resource(name);
        if !is_known || kept.len() == MAX_RESOURCES {
            let note = if is_known {
                "is beyond the 16 resources that a Queue may have"
            } else {
                "is no resource of Kubernetes"
            };
            report.add(Fate::Lost, &word, note, &of, &size.amount.to_string());
            continue;
        }
        let limit = most.get(name).filter(|limit| limit.amount < size.amount);
        if let Some(limit) = limit {
            let note = format!("is {}, as in the queue above, which counts", limit.amount);
            report.add(Fate::Different, &word, &note, &of, &size.amount.to_string());
        }
        kept.insert(name.clone(), *limit.unwrap_or(size));
    }
    kept
}
