//! A structural schema of one of our definitions, or a part of it, and what of a value it is about.

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::rules::Rules;

/// A schema. A word that it does not know is an error: no bound is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Node {
    #[serde(rename = "type")]
    pub(super) type_: Option<String>,
    pub(super) format: Option<Format>,
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub(super) int_or_string: bool,
    pub(super) properties: BTreeMap<String, Self>,
    pub(super) additional_properties: Option<Box<Self>>,
    pub(super) items: Option<Box<Self>>,
    pub(super) required: Vec<String>,
    #[serde(rename = "enum")]
    pub(super) one_of: Vec<Value>,
    #[serde(deserialize_with = "pattern")]
    pub(super) pattern: Option<Regex>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list_type: Option<ListType>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub(super) list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-validations")]
    pub(super) rules: Rules,
    /// Whether it or a part of it has rules.
    #[serde(skip)]
    pub(super) is_ruled: bool,
    // What follows bounds nothing.
    #[serde(rename = "x-kubernetes-map-type")]
    _map_type: Ignored,
    #[serde(rename = "default")]
    _default: Ignored,
    #[serde(rename = "description")]
    _description: Ignored,
    #[serde(rename = "title")]
    _title: Ignored,
}

type Ignored = Option<serde::de::IgnoredAny>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListType {
    Atomic,
    Set,
    Map,
}

/// Those that our definitions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Int32,
    Int64,
    DateTime,
}

fn pattern<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    Regex::new(&String::deserialize(from)?).map(Some).map_err(serde::de::Error::custom)
}

/// A part of a value: its schema, what it is, what it was, if that can be told, and where it lies.
pub(super) struct Part<'a> {
    pub(super) node: &'a Node,
    pub(super) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    within: Option<(&'a Self, Segment<'a>)>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Field(&'a str),
    /// Of a map.
    Entry(&'a str),
    /// Of a list.
    Item(usize),
}

impl<'a> Part<'a> {
    /// The whole of an object.
    pub(super) const fn whole(node: &'a Node, value: &'a Value, old: Option<&'a Value>) -> Self {
        Self { node, value, old, within: None }
    }

    /// Whether it is what it was, the order of a set included: then nothing of it is said again. The whole object is another
    /// with each write. (To an API server the order of a list with keys means nothing.)
    pub(super) fn is_as_it_was(&self) -> bool {
        self.within.is_some() && self.old == Some(self.value)
    }

    /// Its path as bounds say it: `spec.max.cpu`.
    pub(super) fn at(&self) -> String {
        self.path(|within, key| format!("{within}.{key}"))
    }

    /// Its path as rules say it: `spec.max[cpu]`.
    pub(super) fn rule_at(&self) -> String {
        self.path(|within, key| format!("{within}[{key}]"))
    }

    fn path(&self, entry: fn(&str, &str) -> String) -> String {
        match self.within {
            None => String::new(),
            Some((within, Segment::Field(field))) => dotted(&within.path(entry), field),
            Some((within, Segment::Entry(key))) => entry(&within.path(entry), key),
            Some((within, Segment::Item(nth))) => format!("{}[{nth}]", within.path(entry)),
        }
    }

    /// Visits the parts that it has a schema of.
    pub(super) fn each(&self, mut visit: impl FnMut(&Part)) {
        match self.value {
            Value::Object(fields) => {
                fields.iter().filter_map(|(field, value)| self.field(field, value)).for_each(|part| visit(&part));
            }
            Value::Array(items) => {
                for (node, (nth, value)) in self.node.items.iter().cycle().zip(items.iter().enumerate()) {
                    let within = Some((self, Segment::Item(nth)));
                    visit(&Part { node, value, old: self.old_item(value), within });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn field<'b>(&'b self, field: &'b str, value: &'b Value) -> Option<Part<'b>> {
        let old = self.old.and_then(|old| old.get(field));
        let part = |node, segment| Part { node, value, old, within: Some((self, segment)) };
        match self.node.properties.get(field) {
            Some(node) => Some(part(node, Segment::Field(field))),
            None => self.node.additional_properties.as_deref().map(|node| part(node, Segment::Entry(field))),
        }
    }

    /// Which item this one was: only lists with keys tell.
    fn old_item(&self, item: &Value) -> Option<&Value> {
        let is_keyed = self.node.list_type == Some(ListType::Map);
        let old = self.old.filter(|_| is_keyed).and_then(Value::as_array)?;
        old.iter().find(|old| self.node.identity(old) == self.node.identity(item))
    }
}

/// The path of a field: `spec.queue`.
pub(super) fn dotted(at: &str, field: &str) -> String {
    if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") }
}

impl Node {
    /// Finds out which parts have rules.
    pub(super) fn settled(mut self) -> Self {
        self.settle();
        self
    }

    fn settle(&mut self) -> bool {
        let parts = self.properties.values_mut();
        let parts = parts.chain(self.additional_properties.as_deref_mut()).chain(self.items.as_deref_mut());
        let ruled = parts.filter_map(|part| part.settle().then_some(())).count();
        self.is_ruled = ruled > 0 || self.rules.are_some();
        self.is_ruled
    }

    /// What no other item of the list may have.
    pub(super) fn identity(&self, item: &Value) -> Option<String> {
        match self.list_type? {
            ListType::Atomic => None,
            ListType::Set => Some(item.to_string()),
            ListType::Map => Some(self.list_map_keys.iter().map(|key| format!("{},", item[key])).collect()),
        }
    }

    /// Puts the sets of a value in one order: theirs means nothing to a rule.
    pub(super) fn put_in_order(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    let node = self.properties.get(field).or(self.additional_properties.as_deref());
                    node.into_iter().for_each(|node| node.put_in_order(value));
                }
            }
            Value::Array(items) => {
                self.items.iter().for_each(|node| items.iter_mut().for_each(|item| node.put_in_order(item)));
                if self.list_type == Some(ListType::Set) {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
