//! Rules of a schema in CEL, as an API server asks them; the asking itself is a library's.

use kube_cel::{CompiledSchema, ErrorKind, ValidationError, compile_schema, validate_compiled};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::Problem;
use super::node::{Node, Part};

/// Fields within fields of our objects, lists not counted.
const DEPTH: usize = 12;

/// The rules of one node of a schema, none of what lies below it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// About what is.
    of_value: Option<Asked>,
    /// About what is and what was.
    of_change: Option<Asked>,
}

/// Rules, and the fields that they read: to turn all others into what the library reads costs more than its answer.
#[derive(Debug)]
struct Asked {
    rules: CompiledSchema,
    reads: Vec<Vec<String>>,
    reads_of_old: Vec<Vec<String>>,
}

/// A word that it does not know is an error.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    rule: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field_path: Option<String>,
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let rules = Vec::<Rule>::deserialize(from)?;
        let (of_change, of_value): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.rule.contains("oldSelf"));
        let asked = |rules: Vec<Rule>| Asked::new(&rules).map_err(serde::de::Error::custom);
        Ok(Self { of_value: asked(of_value)?, of_change: asked(of_change)? })
    }
}

impl Asked {
    fn new(rules: &[Rule]) -> Result<Option<Self>, String> {
        if rules.is_empty() {
            return Ok(None);
        }
        let reads = |of: &str| rules.iter().flat_map(|rule| paths(&rule.rule, of)).collect();
        let (reads, reads_of_old) = (reads("self."), reads("oldSelf."));
        // Maps of whatever there is, as deep as our objects: the library writes names of other fields in another way.
        let mut schema = (0..DEPTH).fold(json!({}), |within, _| json!({"additionalProperties": within}));
        schema["x-kubernetes-validations"] = json!(rules);
        let rules = compile_schema(&schema);
        match rules.compilation_errors().first() {
            Some(wrong) => Err(wrong.to_string()),
            None => Ok(Some(Self { rules, reads, reads_of_old })),
        }
    }

    fn errors(&self, new: &Value, old: Option<&Value>) -> impl Iterator<Item = ValidationError> + use<> {
        validate_compiled(&self.rules, new, old).err().into_iter().flatten()
    }
}

/// Fields that a rule names: `spec`, `queue` of `self.spec.queue == ''`.
fn paths(rule: &str, of: &str) -> Vec<Vec<String>> {
    let is_name = |one: &char| one.is_alphanumeric() || *one == '.';
    let names = rule.split(of).skip(1).map(|rest| rest.chars().take_while(is_name).collect::<String>());
    names.map(|path| path.split('.').map(str::to_owned).collect()).collect()
}

/// A part of a value that has these fields of it alone; all of what is no object of known fields.
fn read(node: &Node, value: &Value, paths: &[Vec<String>]) -> Value {
    if node.properties.is_empty() {
        return value.clone();
    }
    let mut all = Value::Object(Map::new());
    paths.iter().for_each(|path| add(&mut all, value, path));
    all
}

/// A path ends with a function where a rule calls one: of text, or of an object, which is then read as a whole.
fn add(to: &mut Value, from: &Value, path: &[String]) {
    match (path.split_first(), from, &mut *to) {
        (Some((field, rest)), Value::Object(there), Value::Object(fields)) => {
            let Some(value) = there.get(field) else {
                // Not a field, perhaps, but a function.
                return fields.extend(there.clone());
            };
            let empty = || if value.is_object() { Value::Object(Map::new()) } else { Value::Null };
            add(fields.entry(field.as_str()).or_insert_with(empty), value, rest);
        }
        _ => *to = from.clone(),
    }
}

impl Rules {
    /// Whether there is one.
    pub(super) const fn are_some(&self) -> bool {
        self.of_value.is_some() || self.of_change.is_some()
    }
}

impl Node {
    /// Every rule that an object breaks, but for those about what is as it was. They are asked about the whole object in any
    /// case, as by the server, unless it is known that they held.
    pub(super) fn ask(&self, object: &Value, old: Option<&Value>, was_right: bool) -> Vec<Problem> {
        let mut wrong = Vec::new();
        ask(&Part::whole(self, object, old), was_right, &mut wrong);
        wrong
    }
}

fn ask(part: &Part, was_right: bool, wrong: &mut Vec<Problem>) {
    let Part { node, value, old, .. } = part;
    if !node.is_ruled || part.is_as_it_was() {
        return;
    }
    if let Some(asked) = &node.rules.of_value {
        let new = read(node, value, &asked.reads);
        let held = was_right && old.is_some_and(|old| read(node, old, &asked.reads) == new);
        let errors = (!held).then(|| asked.errors(&new, None));
        wrong.extend(errors.into_iter().flatten().map(|error| problem(part, &error)));
    }
    if let Some((asked, old)) = node.rules.of_change.as_ref().zip(*old) {
        wrong.extend(of_change(part, asked, old));
    }
    part.each(|part| ask(part, was_right, wrong));
}

/// Where nothing changed that they read they are not asked: a server asks, but ours only say what must stay.
fn of_change(part: &Part, asked: &Asked, old: &Value) -> Vec<Problem> {
    let read = |value, paths| {
        let mut read = read(part.node, value, paths);
        part.node.put_in_order(&mut read);
        read
    };
    let new = read(part.value, &asked.reads);
    if new == read(old, &asked.reads) {
        return Vec::new();
    }
    let errors = asked.errors(&new, Some(&read(old, &asked.reads_of_old)));
    errors.map(|error| Problem { of_change: true, ..problem(part, &error) }).collect()
}

fn problem(part: &Part, error: &ValidationError) -> Problem {
    if error.kind != ErrorKind::ValidationFailure {
        // It met something that a bound does not let through.
        return Problem::new("<nil>", &format!("Invalid value: \"object\": {}", error.message));
    }
    let at = format!("{}{}", part.rule_at(), error.field_path);
    let is_shown = part.value.is_string() || part.value.is_number();
    let value = if is_shown { format!("{}: ", part.value) } else { String::new() };
    Problem::new(at.trim_start_matches('.'), &format!("Invalid value: {value}{}", error.message))
}
