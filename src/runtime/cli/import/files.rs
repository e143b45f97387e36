//! Where YuniKorn's configuration is: a `queues.yaml`, the ConfigMaps that hold it, or what `kubectl get -o yaml` says of them.

use std::collections::BTreeMap;

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
    pub(super) errors: Vec<SourceError>,
}

/// What counts of it.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) queues: Option<Text>,
    pub(super) keys: BTreeMap<String, Key>,
}

impl Found {
    /// Takes a file.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        let (documents, errors) = source::documents_in_words(file, text);
        self.errors.extend(errors);
        documents.into_iter().for_each(|node| self.document(file, node));
    }

    fn document(&mut self, file: &str, node: Node) {
        let kind = node.get("kind").and_then(Node::text);
        match kind {
            Some("List" | "ConfigMapList") => {
                let items = node.get("items").map(Node::items).unwrap_or_default().to_vec();
                for item in items {
                    if item.get("kind").is_some() || kind == Some("List") {
                        self.document(file, item);
                    } else {
                        self.config_map(file, &item);
                    }
                }
            }
            Some("ConfigMap") => self.config_map(file, &node),
            None if node.get("partitions").is_some() => self.texts.push(Text { name: file.to_owned(), node }),
            None if is_data(&node) => self.data(file, MAPS.len() - 1, node.entries()),
            None | Some(_) => {
                let problem = "neither a queues.yaml (partitions: …) nor a ConfigMap of YuniKorn".to_owned();
                self.errors.push(SourceError::Text { file: file.to_owned(), at: Some(node.at), problem });
            }
        }
    }

    fn config_map(&mut self, file: &str, node: &Node) {
        let name = node.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::text);
        let Some(order) = MAPS.iter().position(|map| Some(*map) == name) else {
            let problem =
                format!("ConfigMap {:?} is none of YuniKorn's: {}", name.unwrap_or_default(), MAPS.join(", "));
            self.errors.push(SourceError::Text { file: file.to_owned(), at: Some(node.at), problem });
            return;
        };
        let within = format!("{file}: ConfigMap {}", MAPS[order]);
        self.data(&within, order, node.get("data").map(Node::entries).unwrap_or_default());
        for entry in node.get("binaryData").map(Node::entries).unwrap_or_default() {
            let problem = format!("binaryData[{}] is compressed: put its text under data", entry.key);
            self.errors.push(SourceError::Text { file: within.clone(), at: Some(entry.at), problem });
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
        (Read { queues, keys }, self.errors)
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
