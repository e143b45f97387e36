//! A `queues.yaml` as YuniKorn's core reads it (1.9): strictly. Everything that is wrong with its form is said at once.

use std::collections::BTreeMap;

use crate::runtime::cli::source::{Entry, Is, Node, Place, SourceError};

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wrong {
    pub(super) at: Place,
    pub(super) problem: String,
}

/// Text, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) at: Place,
    pub(super) text: String,
}

/// An amount of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) at: Place,
    /// In whole units, of `vcore` in thousandths.
    pub(super) number: i128,
    /// As Kubernetes writes it.
    pub(super) text: String,
}

/// Amounts by resource, in YuniKorn's names.
pub(super) type Amounts = BTreeMap<String, Amount>;

/// A part of the cluster with queues of its own. The shim uses the one that is called `default`.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    pub(super) at: Place,
    pub(super) name: Said,
    pub(super) queues: Option<Vec<Queue>>,
    pub(super) rules: Vec<Rule>,
    pub(super) limits: Vec<Limit>,
    pub(super) preemption: Option<(Place, bool)>,
    pub(super) quota_preemption: Option<(Place, bool)>,
    pub(super) node_order: Said,
    pub(super) weights: Vec<(Said, f64)>,
    pub(super) resolver: Said,
}

/// A queue, with those below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) at: Place,
    pub(super) name: Said,
    pub(super) parent: Option<(Place, bool)>,
    pub(super) sizes: Sizes,
    pub(super) max_applications: Option<(Place, u64)>,
    pub(super) properties: Vec<(Said, String)>,
    pub(super) admin_acl: Said,
    pub(super) submit_acl: Said,
    pub(super) template: Option<Template>,
    pub(super) queues: Vec<Self>,
    pub(super) limits: Vec<Limit>,
}

/// What the queues are that are made below one.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pub(super) sizes: Sizes,
    pub(super) max_applications: Option<(Place, u64)>,
    pub(super) properties: Vec<(Said, String)>,
}

/// `resources`: what a queue may use, and what it is promised.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    pub(super) guaranteed: Option<(Place, Amounts)>,
    pub(super) max: Option<(Place, Amounts)>,
}

impl Sizes {
    pub(super) fn max(&self) -> Amounts {
        self.max.as_ref().map(|(_, amounts)| amounts.clone()).unwrap_or_default()
    }

    pub(super) fn guaranteed(&self) -> Amounts {
        self.guaranteed.as_ref().map(|(_, amounts)| amounts.clone()).unwrap_or_default()
    }
}

/// Which queue an application comes into.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) at: Place,
    pub(super) name: Said,
    pub(super) create: Option<(Place, bool)>,
    pub(super) value: Said,
    pub(super) filter: Option<Filter>,
    pub(super) parent: Option<Box<Self>>,
}

/// For whom a rule is.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) kind: Said,
    pub(super) users: Vec<Said>,
    pub(super) groups: Vec<Said>,
}

/// What users and groups may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limit {
    pub(super) at: Place,
    pub(super) users: Vec<Said>,
    pub(super) groups: Vec<Said>,
    pub(super) max: Option<Amounts>,
    pub(super) max_applications: u64,
}

/// Reads a document, and keeps what is wrong with it.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) wrong: Vec<Wrong>,
}

impl Reader {
    /// The partitions of a `queues.yaml`.
    pub(super) fn partitions(&mut self, node: &Node) -> Vec<Partition> {
        let mut partitions = Vec::new();
        self.fields(node, "queues.yaml", |reader, entry| {
            match &*entry.key {
                "partitions" => partitions = reader.list(&entry.value, Self::partition),
                "checksum" => drop(reader.text(&entry.value)),
                _ => return false,
            }
            true
        });
        partitions
    }

    fn partition(&mut self, node: &Node) -> Partition {
        let mut partition = Partition { at: node.at, ..Partition::default() };
        self.fields(node, "a partition", |reader, entry| {
            let value = &entry.value;
            match &*entry.key {
                "name" => partition.name = reader.text(value),
                "queues" => {
                    partition.queues = Some(reader.list(value, Self::queue)).filter(|_| value.is != Is::Nothing)
                }
                "placementrules" => partition.rules = reader.list(value, Self::rule),
                "limits" => partition.limits = reader.list(value, Self::limit),
                "preemption" => reader.preemption(value, &mut partition),
                "nodesortpolicy" => reader.node_order(value, &mut partition),
                "usergroupresolver" => reader.fields(value, "usergroupresolver", |reader, entry| {
                    let is_known = entry.key == "type";
                    if is_known {
                        partition.resolver = reader.text(&entry.value);
                    }
                    is_known
                }),
                _ => return false,
            }
            true
        });
        partition
    }

    fn preemption(&mut self, node: &Node, partition: &mut Partition) {
        self.fields(node, "preemption", |reader, entry| {
            match &*entry.key {
                "enabled" => partition.preemption = reader.flag(&entry.value),
                "quotapreemptionenabled" => partition.quota_preemption = reader.flag(&entry.value),
                _ => return false,
            }
            true
        });
    }

    fn node_order(&mut self, node: &Node, partition: &mut Partition) {
        self.fields(node, "nodesortpolicy", |reader, entry| {
            match &*entry.key {
                "type" => partition.node_order = reader.text(&entry.value),
                "resourceweights" => partition.weights = reader.weights(&entry.value),
                _ => return false,
            }
            true
        });
    }

    fn weights(&mut self, node: &Node) -> Vec<(Said, f64)> {
        let mut weights = Vec::new();
        self.fields(node, "resourceweights", |reader, entry| {
            let name = Said { at: entry.at, text: entry.key.clone() };
            match &entry.value.is {
                Is::Number(number) => weights.push((name, number.as_f64().unwrap_or_default())),
                Is::Nothing | Is::Bool(_) | Is::Text(_) | Is::List(_) | Is::Map(_) => {
                    reader.wrong(entry.value.at, "must be a number");
                }
            }
            true
        });
        weights
    }

    fn queue(&mut self, node: &Node) -> Queue {
        let mut queue = Queue { at: node.at, ..Queue::default() };
        self.fields(node, "a queue", |reader, entry| {
            let value = &entry.value;
            match &*entry.key {
                "name" => queue.name = reader.text(value),
                "parent" => queue.parent = reader.flag(value),
                "resources" => queue.sizes = reader.sizes(value),
                "maxapplications" => queue.max_applications = reader.number(value).map(|number| (value.at, number)),
                "properties" => queue.properties = reader.properties(value),
                "adminacl" => queue.admin_acl = reader.text(value),
                "submitacl" => queue.submit_acl = reader.text(value),
                "childtemplate" => queue.template = reader.template(entry),
                "queues" => queue.queues = reader.list(value, Self::queue),
                "limits" => queue.limits = reader.list(value, Self::limit),
                _ => return false,
            }
            true
        });
        queue
    }

    fn sizes(&mut self, node: &Node) -> Sizes {
        let mut sizes = Sizes::default();
        self.fields(node, "resources", |reader, entry| {
            let amounts = |reader: &mut Self| {
                Some((entry.at, reader.amounts(&entry.value))).filter(|_| entry.value.is != Is::Nothing)
            };
            match &*entry.key {
                "guaranteed" => sizes.guaranteed = amounts(reader),
                "max" => sizes.max = amounts(reader),
                _ => return false,
            }
            true
        });
        sizes
    }

    /// A template that says something.
    fn template(&mut self, entry: &Entry) -> Option<Template> {
        let mut template = Template::default();
        self.fields(&entry.value, "childtemplate", |reader, entry| {
            let value = &entry.value;
            match &*entry.key {
                "maxapplications" => template.max_applications = reader.number(value).map(|number| (value.at, number)),
                "properties" => template.properties = reader.properties(value),
                "resources" => template.sizes = reader.sizes(value),
                _ => return false,
            }
            true
        });
        Some(template).filter(|_| !entry.value.entries().is_empty())
    }

    fn properties(&mut self, node: &Node) -> Vec<(Said, String)> {
        let mut properties = Vec::new();
        self.fields(node, "properties", |reader, entry| {
            let name = Said { at: entry.at, text: entry.key.clone() };
            properties.push((name, reader.text(&entry.value).text));
            true
        });
        properties
    }

    fn rule(&mut self, node: &Node) -> Rule {
        let mut rule = Rule { at: node.at, ..Rule::default() };
        self.fields(node, "a placement rule", |reader, entry| {
            let value = &entry.value;
            match &*entry.key {
                "name" => rule.name = reader.text(value),
                "create" => rule.create = reader.flag(value),
                "value" => rule.value = reader.text(value),
                "filter" => rule.filter = Some(reader.filter(value)),
                "parent" => rule.parent = Some(Box::new(reader.rule(value))).filter(|_| value.is != Is::Nothing),
                _ => return false,
            }
            true
        });
        rule
    }

    fn filter(&mut self, node: &Node) -> Filter {
        let mut filter = Filter::default();
        self.fields(node, "a filter", |reader, entry| {
            match &*entry.key {
                "type" => filter.kind = reader.text(&entry.value),
                "users" => filter.users = reader.list(&entry.value, Self::text),
                "groups" => filter.groups = reader.list(&entry.value, Self::text),
                _ => return false,
            }
            true
        });
        filter
    }

    fn limit(&mut self, node: &Node) -> Limit {
        let mut limit = Limit { at: node.at, ..Limit::default() };
        self.fields(node, "a limit", |reader, entry| {
            let value = &entry.value;
            match &*entry.key {
                "limit" => drop(reader.text(value)),
                "users" => limit.users = reader.list(value, Self::text),
                "groups" => limit.groups = reader.list(value, Self::text),
                "maxresources" => limit.max = Some(reader.amounts(value)).filter(|_| value.is != Is::Nothing),
                "maxapplications" => limit.max_applications = reader.number(value).unwrap_or(0),
                _ => return false,
            }
            true
        });
        limit
    }

    fn amounts(&mut self, node: &Node) -> Amounts {
        let mut amounts = Amounts::new();
        self.fields(node, "resources", |reader, entry| {
            let said = reader.text(&entry.value);
            match amount(&said.text, entry.key == "vcore") {
                Ok((number, text)) => drop(amounts.insert(entry.key.clone(), Amount { at: said.at, number, text })),
                Err(problem) => reader.wrong(said.at, format!("{:?} of {} {problem}", said.text, entry.key)),
            }
            true
        });
        amounts
    }

    pub(super) fn wrong(&mut self, at: Place, problem: impl Into<String>) {
        self.wrong.push(Wrong { at, problem: problem.into() });
    }

    /// What is wrong, in the order in which it stands in a file; each once.
    pub(super) fn into_errors(mut self, file: &str) -> impl Iterator<Item = SourceError> {
        self.wrong.sort();
        self.wrong.dedup();
        let wrong = self.wrong.into_iter();
        wrong.map(move |Wrong { at, problem }| SourceError::Text { file: file.to_owned(), at: Some(at), problem })
    }

    /// Each field of a map. One that is not taken is none that there is.
    pub(super) fn fields(&mut self, node: &Node, what: &str, mut take: impl FnMut(&mut Self, &Entry) -> bool) {
        match &node.is {
            Is::Map(entries) => {
                for entry in entries {
                    if !take(self, entry) {
                        self.wrong(entry.at, format!("unknown field {:?} of {what}", entry.key));
                    }
                }
            }
            Is::Nothing => {}
            Is::Bool(_) | Is::Number(_) | Is::Text(_) | Is::List(_) => {
                self.wrong(node.at, format!("{what} must be a map"));
            }
        }
    }

    pub(super) fn list<T>(&mut self, node: &Node, read: fn(&mut Self, &Node) -> T) -> Vec<T> {
        match &node.is {
            Is::List(items) => items.iter().map(|item| read(self, item)).collect(),
            Is::Nothing => Vec::new(),
            Is::Bool(_) | Is::Number(_) | Is::Text(_) | Is::Map(_) => {
                self.wrong(node.at, "must be a list");
                Vec::new()
            }
        }
    }

    pub(super) fn text(&mut self, node: &Node) -> Said {
        let text = match &node.is {
            Is::Text(text) => text.clone(),
            // Without an exponent.
            Is::Number(number) => match number.as_f64() {
                Some(fraction) if number.is_f64() => fraction.to_string(),
                Some(_) | None => number.to_string(),
            },
            Is::Bool(value) => value.to_string(),
            Is::Nothing => String::new(),
            Is::List(_) | Is::Map(_) => {
                self.wrong(node.at, "must be text");
                String::new()
            }
        };
        Said { at: node.at, text }
    }

    /// Go takes the words of old YAML too where a boolean is asked for.
    pub(super) fn flag(&mut self, node: &Node) -> Option<(Place, bool)> {
        let value = match &node.is {
            Is::Nothing => return None,
            Is::Bool(value) => Some(*value),
            Is::Text(text) => match &*text.to_ascii_lowercase() {
                "yes" | "on" | "y" => Some(true),
                "no" | "off" | "n" => Some(false),
                _ => None,
            },
            Is::Number(_) | Is::List(_) | Is::Map(_) => None,
        };
        if value.is_none() {
            self.wrong(node.at, "must be true or false");
        }
        value.map(|value| (node.at, value))
    }

    pub(super) fn number(&mut self, node: &Node) -> Option<u64> {
        match &node.is {
            Is::Nothing => None,
            Is::Number(number) if number.is_u64() => number.as_u64(),
            Is::Number(_) | Is::Bool(_) | Is::Text(_) | Is::List(_) | Is::Map(_) => {
                self.wrong(node.at, "must be a whole number that is not negative");
                None
            }
        }
    }
}

/// What the suffixes of amounts mean.
const SUFFIXES: [(&str, i128); 13] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("Ei", 1 << 60),
];

/// An amount as YuniKorn reads it: whole numbers with a suffix, maybe a space between; `m` for cores alone.
fn amount(text: &str, cores: bool) -> Result<(i128, String), &'static str> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = (&text[..end], text[end..].trim_start());
    let number: i64 = match digits.parse() {
        Ok(number) => number,
        Err(_) if digits.is_empty() => return Err("is no whole number with a suffix such as k, M, G, Ki, Mi, Gi"),
        Err(_) => return Err("is too large"),
    };
    let number = i128::from(number);
    let units = match SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        _ if suffix == "m" && cores => number,
        Some((_, scale)) => number.saturating_mul(*scale).saturating_mul(if cores { 1_000 } else { 1 }),
        None => return Err("has no suffix that there is"),
    };
    if units > i128::from(i64::MAX) { Err("is too large") } else { Ok((units, format!("{digits}{suffix}"))) }
}
