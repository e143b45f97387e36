//! Where configurations are: a `queues.yaml` of YuniKorn's, the configuration of a scheduler that is made of plugins, the ConfigMaps
//! that hold either, or what `kubectl get -o yaml` says of them and of objects.

use std::collections::BTreeMap;

use super::peers::{Kind, Object, SCHEDULER};
use crate::runtime::cli::source::{self, Entry, Is, Node, Place, SourceError};

/// The key of a ConfigMap that says how the key with the queues is called.
const POLICY_GROUP: &str = "service.policyGroup";
/// The ConfigMaps, in the order in which they are read: a later one wins.
const MAPS: [&str; 2] = ["yunikorn-defaults", "yunikorn-configs"];

/// What YuniKorn's core has for queues where nobody says any (`DefaultSchedulerConfig`).
const BY_DEFAULT: &str = "partitions:
- name: default
  placementrules: [{name: tag, value: namespace, create: true}]
  queues: [{name: root, submitacl: '*'}]
";

/// The queues that there are without a `queues.yaml`.
pub(super) fn by_default() -> Text {
    let name = "YuniKorn's own queues.yaml";
    let (documents, _) = source::documents_in_words(name, BY_DEFAULT);
    Text { name: name.to_owned(), node: documents.into_iter().next().expect("it is one document") }
}

/// A text with queues, and what it is called when something is wrong with it.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) node: Node,
}

/// A key of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// `cm.yaml: ConfigMap yunikorn-configs`.
    pub(super) within: String,
    pub(super) at: Place,
    pub(super) value: String,
}

/// Everything that files say.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Documents with partitions.
    texts: Vec<Text>,
    /// Keys of each ConfigMap, by the order in which these are read.
    keys: BTreeMap<usize, BTreeMap<String, Key>>,
    /// What Koordinator and scheduler-plugins have.
    objects: Vec<Object>,
    pub(super) errors: Vec<SourceError>,
}

/// What counts of it.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) queues: Option<Text>,
    pub(super) keys: BTreeMap<String, Key>,
    pub(super) objects: Vec<Object>,
}

/// What the items of a list are that do not say it, as the list says it once for all.
#[derive(Default)]
struct Sort {
    kind: String,
    api_version: String,
}

impl Found {
    /// Takes a file.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        let (documents, errors) = source::documents_in_words(file, text);
        self.errors.extend(errors);
        documents.into_iter().for_each(|node| self.document(file, node, &Sort::default()));
    }

    fn document(&mut self, file: &str, node: Node, of: &Sort) {
        let said = |field: &str, otherwise: &str| node.get(field).and_then(Node::text).unwrap_or(otherwise).to_owned();
        let (kind, api_version) = (said("kind", &of.kind), said("apiVersion", &of.api_version));
        match (&*kind, Kind::of(&kind)) {
            ("List" | "ConfigMapList" | "PodGroupList" | "ElasticQuotaList", _) => {
                let of = Sort { kind: kind.trim_end_matches("List").to_owned(), api_version };
                let items = node.get("items").map(Node::items).unwrap_or_default().to_vec();
                items.into_iter().for_each(|item| self.document(file, item, &of));
            }
            ("ConfigMap", _) => self.config_map(file, &node),
            (_, Some(kind)) => self.objects.push(Object { file: file.to_owned(), kind, api_version, node }),
            ("", None) if node.get("partitions").is_some() => self.texts.push(Text { name: file.to_owned(), node }),
            ("", None) if is_data(&node) => self.data(file, MAPS.len() - 1, node.entries()),
            (_, None) => {
                let problem = format!(
                    "neither a queues.yaml (partitions: …) nor a {SCHEDULER}, a ConfigMap that holds one of them, a PodGroup or an \
                     ElasticQuota"
                );
                self.errors.push(SourceError::Text { file: file.to_owned(), at: Some(node.at), problem });
            }
        }
    }

    fn config_map(&mut self, file: &str, node: &Node) {
        let name = node.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::text);
        let Some(order) = MAPS.iter().position(|map| Some(*map) == name) else {
            self.other_map(file, name.unwrap_or_default(), node);
            return;
        };
        let within = format!("{file}: ConfigMap {}", MAPS[order]);
        self.data(&within, order, node.get("data").map(Node::entries).unwrap_or_default());
        for entry in node.get("binaryData").map(Node::entries).unwrap_or_default() {
            let problem = format!("binaryData[{}] is compressed: put its text under data", entry.key);
            self.errors.push(SourceError::Text { file: within.clone(), at: Some(entry.at), problem });
        }
    }

    /// A ConfigMap that may hold the configuration of a scheduler under any key.
    fn other_map(&mut self, file: &str, name: &str, node: &Node) {
        let entries = node.get("data").map(Node::entries).unwrap_or_default();
        let held = |entry: &Entry| {
            let text = entry.value.text().filter(|text| text.contains(SCHEDULER))?;
            Some((format!("{file}: ConfigMap {name}, {}", entry.key), text.to_owned()))
        };
        let held: Vec<(String, String)> = entries.iter().filter_map(held).collect();
        if held.is_empty() {
            let problem =
                format!("ConfigMap {name:?} is none of YuniKorn's: {}; and it holds no {SCHEDULER}", MAPS.join(", "));
            self.errors.push(SourceError::Text { file: file.to_owned(), at: Some(node.at), problem });
        }
        for (within, text) in held {
            let (documents, errors) = source::documents_in_words(&within, &text);
            self.errors.extend(errors);
            for node in documents {
                if node.get("kind").and_then(Node::text) == Some(SCHEDULER) {
                    self.document(&within, node, &Sort::default());
                } else {
                    let (file, problem) = (within.clone(), format!("must be a {SCHEDULER}"));
                    self.errors.push(SourceError::Text { file, at: Some(node.at), problem });
                }
            }
        }
    }

    fn data(&mut self, within: &str, order: usize, data: &[Entry]) {
        for entry in data {
            let value = match &entry.value.is {
                Is::Text(text) => text.clone(),
                Is::Nothing => String::new(),
                Is::Bool(value) => value.to_string(),
                Is::Number(number) => number.to_string(),
                Is::List(_) | Is::Map(_) => {
                    let problem = format!("{} must be text", entry.key);
                    let (file, at) = (within.to_owned(), Some(entry.at));
                    self.errors.push(SourceError::Text { file, at, problem });
                    continue;
                }
            };
            let key = Key { within: within.to_owned(), at: entry.at, value };
            self.keys.entry(order).or_default().insert(entry.key.clone(), key);
        }
    }

    /// What counts of all that was found.
    pub(super) fn read(mut self) -> (Read, Vec<SourceError>) {
        let mut keys: BTreeMap<String, Key> = std::mem::take(&mut self.keys).into_values().flatten().collect();
        let group = keys.get(POLICY_GROUP).map_or_else(|| "queues".to_owned(), |key| key.value.trim().to_owned());
        let queues = keys.remove(&format!("{group}.yaml"));
        if let Some(Key { within, value, .. }) = queues {
            self.embedded(&format!("{within}, {group}.yaml"), &value);
        }
        let mut texts = std::mem::take(&mut self.texts).into_iter();
        let queues = texts.next();
        for other in texts {
            let problem = "there are queues already, in another document or file".to_owned();
            self.errors.push(SourceError::Text { file: other.name, at: Some(other.node.at), problem });
        }
        (Read { queues, keys, objects: self.objects }, self.errors)
    }

    /// A document inside of another.
    fn embedded(&mut self, name: &str, text: &str) {
        let (documents, errors) = source::documents_in_words(name, text);
        self.errors.extend(errors);
        self.texts.extend(documents.into_iter().map(|node| Text { name: name.to_owned(), node }));
    }
}

/// Whether a map is the data of a ConfigMap by itself, as examples have it.
fn is_data(node: &Node) -> bool {
    let prefixes = ["service.", "log.", "kubernetes.", "admissionController.", "event.", "health."];
    let is_key = |key: &str| key.ends_with(".yaml") || prefixes.iter().any(|prefix| key.starts_with(prefix));
    !node.entries().is_empty() && node.entries().iter().all(|entry| is_key(&entry.key))
}
