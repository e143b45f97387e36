//! Rules of a schema in CEL, as an API server asks them; the language itself is a library's.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel, objects};
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::Problem;
use super::node::{Node, Part};

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
    rules: Vec<Rule>,
    /// What the rules have texts match.
    patterns: Arc<Patterns>,
    reads: Vec<Vec<String>>,
    reads_of_old: Vec<Vec<String>>,
}

/// The library would compile them anew for each question, which costs more than all the rest of it.
type Patterns = BTreeMap<String, Regex>;

/// As it is written. A word that it does not know is an error.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    rule: String,
    message: String,
    #[serde(default)]
    field_path: String,
}

#[derive(Debug)]
struct Rule {
    program: Program,
    message: String,
    field_path: String,
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let rules = Vec::<Written>::deserialize(from)?;
        let (of_change, of_value): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.rule.contains("oldSelf"));
        let asked = |rules| Asked::new(rules).map_err(serde::de::Error::custom);
        Ok(Self { of_value: asked(of_value)?, of_change: asked(of_change)? })
    }
}

impl Asked {
    fn new(rules: Vec<Written>) -> Result<Option<Self>, String> {
        let reads = |of: &str| rules.iter().flat_map(|rule| paths(&rule.rule, of)).collect();
        let (reads, reads_of_old) = (reads("self."), reads("oldSelf."));
        let patterns = rules.iter().flat_map(|rule| patterns(&rule.rule)).collect::<Result<_, _>>();
        let patterns = Arc::new(patterns.map_err(|error| error.to_string())?);
        let rules = rules.into_iter().map(Rule::new).collect::<Result<Vec<_>, _>>()?;
        Ok((!rules.is_empty()).then_some(Self { rules, patterns, reads, reads_of_old }))
    }

    /// What is wrong with a part that reads so.
    fn problems(&self, part: &Part, new: &Value, old: Option<&Value>) -> impl Iterator<Item = Problem> {
        let mut context = Context::default().with_all();
        let patterns = Arc::clone(&self.patterns);
        context.add_function("matches", move |This(text): This<Arc<String>>, pattern: Arc<String>| {
            matches(&patterns, &text, &pattern)
        });
        context.add_variable_from_value("self", cel(new));
        if let Some(old) = old {
            context.add_variable_from_value("oldSelf", cel(old));
        }
        self.rules.iter().filter_map(move |rule| rule.problem(part, &context))
    }
}

impl Rule {
    fn new(written: Written) -> Result<Self, String> {
        let Written { rule, message, field_path } = written;
        let program = Program::compile(&rule).map_err(|error| format!("{rule}: {error}"))?;
        Ok(Self { program, message, field_path })
    }

    fn problem(&self, part: &Part, context: &Context) -> Option<Problem> {
        // A rule that cannot be answered met something that a bound does not let through.
        let unanswered = |why: String| Problem::new("<nil>", &format!("Invalid value: \"object\": {why}"));
        match self.program.execute(context) {
            Ok(Cel::Bool(true)) => None,
            Ok(Cel::Bool(false)) => Some(self.broken(part)),
            Ok(_) => Some(unanswered("rule evaluation error: no such overload".to_owned())),
            Err(error) => Some(unanswered(format!("rule evaluation error: {error}"))),
        }
    }

    fn broken(&self, part: &Part) -> Problem {
        let at = format!("{}{}", part.rule_at(), self.field_path);
        let is_shown = part.value.is_string() || part.value.is_number();
        let value = if is_shown { format!("{}: ", part.value) } else { String::new() };
        Problem::new(at.trim_start_matches('.'), &format!("Invalid value: {value}{}", self.message))
    }
}

/// `^a` of `self.matches('^a')`.
fn patterns(rule: &str) -> impl Iterator<Item = Result<(String, Regex), regex::Error>> {
    let written = rule.split(".matches('").skip(1).filter_map(|rest| rest.split_once('\'')).map(|(pattern, _)| pattern);
    written.map(|pattern| Ok((pattern.to_owned(), Regex::new(pattern)?)))
}

fn matches(known: &Patterns, text: &str, pattern: &String) -> Result<bool, ExecutionError> {
    let unknown = || ExecutionError::function_error("matches", format!("no rule has the pattern {pattern}"));
    known.get(pattern).map(|known| known.is_match(text)).ok_or_else(unknown)
}

/// Whole numbers as such, as a schema has them.
fn cel(json: &Value) -> Cel {
    match json {
        Value::Null => Cel::Null,
        Value::Bool(is) => Cel::Bool(*is),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Cel::Float(number.as_f64().unwrap_or_default()), Cel::Int)
        }
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(cel).collect::<Vec<_>>().into(),
        Value::Object(fields) => {
            let entries = fields.iter().map(|(field, value)| (field.as_str().into(), cel(value)));
            Cel::Map(objects::Map { map: Arc::new(entries.collect()) })
        }
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
        if !held {
            wrong.extend(asked.problems(part, &new, None));
        }
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
    let old = read(old, &asked.reads_of_old);
    asked.problems(part, &new, Some(&old)).map(|problem| Problem { of_change: true, ..problem }).collect()
}
