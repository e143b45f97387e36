//! What a structural schema says of a value, in an API server's words: types, bounds, patterns, required fields.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Problem;
use super::node::{Format, Node, Part, dotted};

impl Node {
    /// Every bound that an object breaks, but for what is as it was.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>) -> Vec<Problem> {
        let mut wrong = Vec::new();
        check(&Part::whole(self, object, old), &mut wrong);
        let twice = self.duplicates(object);
        // Where something was twice before, it may be so again.
        if !twice.is_empty() && old.is_none_or(|old| self.duplicates(old).is_empty()) {
            wrong.extend(twice);
        }
        wrong
    }

    /// Whether a field without rules is within its bounds, or there is none.
    pub(super) fn lets_through(&self, field: &str, value: &Value) -> bool {
        let node = self.properties.get(field).filter(|node| !node.is_ruled);
        value.is_null() || node.is_some_and(|node| node.check(value, None).is_empty())
    }

    /// What is twice in a set, or in a list with keys.
    fn duplicates(&self, object: &Value) -> Vec<Problem> {
        let mut wrong = Vec::new();
        duplicates(&Part::whole(self, object, None), &mut wrong);
        wrong
    }

    /// Types that it should have and has not.
    fn other_type(&self, value: &Value) -> Option<&str> {
        let found = type_of(value);
        if self.int_or_string {
            return (!matches!(found, "integer" | "string")).then_some("integer,string");
        }
        self.type_.as_deref().filter(|wanted| *wanted != found)
    }
}

fn check(part: &Part, wrong: &mut Vec<Problem>) {
    let Part { node, value, .. } = part;
    if part.is_as_it_was() {
        return;
    }
    if let Some(types) = node.other_type(value) {
        let (at, found) = (part.at(), type_of(value));
        let what = format!("Invalid value: {found:?}: {at} in body must be of type {types}: {found:?}");
        return wrong.push(Problem::hiding(&at, &what));
    }
    match value {
        Value::String(text) => check_text(part, text, wrong),
        Value::Number(number) => check_number(part, number.as_f64().unwrap_or_default(), wrong),
        Value::Array(items) => check_count(part, items.len(), node.max_items, wrong),
        Value::Object(fields) => check_fields(part, fields, wrong),
        Value::Null | Value::Bool(_) => {}
    }
    if !node.one_of.is_empty() && !node.one_of.contains(value) {
        let known: Vec<_> = node.one_of.iter().map(Value::to_string).collect();
        let what = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        wrong.push(Problem::hiding(&part.at(), &what));
    }
    part.each(|part| check(part, wrong));
}

fn check_text(part: &Part, text: &str, wrong: &mut Vec<Problem>) {
    let node = part.node;
    let length = text.chars().count();
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        wrong.push(Problem::hiding(&part.at(), &format!("Too long: may not be more than {most} bytes")));
    }
    if node.format == Some(Format::DateTime) && text.parse::<Timestamp>().is_err() {
        let at = part.at();
        let what = format!("Invalid value: {text:?}: {at} in body must be of type date-time: {text:?}");
        wrong.push(Problem::hiding(&at, &what));
    }
    let mut invalid = |what: String| {
        let at = part.at();
        wrong.push(Problem::new(&at, &format!("Invalid value: {text:?}: {at} in body should {what}")));
    };
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        invalid(format!("be at least {least} chars long"));
    }
    if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        invalid(format!("match '{pattern}'"));
    }
}

fn check_number(part: &Part, number: f64, wrong: &mut Vec<Problem>) {
    let node = part.node;
    let of_32_bits = f64::from(i32::MIN)..=f64::from(i32::MAX);
    if node.format == Some(Format::Int32) && !of_32_bits.contains(&number) {
        let at = part.at();
        let what = format!("Invalid value: \"\": Checked value must be of type integer with format int32 in {at}");
        wrong.push(Problem::new("<nil>", &what));
    }
    let mut invalid = |what: &str, bound: f64| {
        let at = part.at();
        let what = format!("Invalid value: {number}: {at} in body should be {what} than or equal to {bound}");
        wrong.push(Problem::new(&at, &what));
    };
    if let Some(least) = node.minimum.filter(|least| number < *least) {
        invalid("greater", least);
    }
    if let Some(most) = node.maximum.filter(|most| number > *most) {
        invalid("less", most);
    }
}

fn check_fields(part: &Part, fields: &Map<String, Value>, wrong: &mut Vec<Problem>) {
    let node = part.node;
    let missing = node.required.iter().filter(|field| !fields.contains_key(*field));
    wrong.extend(missing.map(|field| Problem::hiding(&dotted(&part.at(), field), "Required value")));
    let least = node.min_properties.unwrap_or(0);
    if fields.len() < least {
        let at = part.at();
        let what = format!("Invalid value: {at} in body should have at least {least} properties");
        wrong.push(Problem::new(&at, &what));
    }
    check_count(part, fields.len(), node.max_properties, wrong);
}

fn check_count(part: &Part, count: usize, most: Option<usize>, wrong: &mut Vec<Problem>) {
    if let Some(most) = most.filter(|most| count > *most) {
        wrong.push(Problem::hiding(&part.at(), &format!("Too many: {count}: must have at most {most} items")));
    }
}

fn duplicates(part: &Part, wrong: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (nth, item) in part.value.as_array().into_iter().flatten().enumerate() {
        if part.node.identity(item).is_some_and(|identity| !seen.insert(identity)) {
            wrong.push(Problem::new(&format!("{}[{nth}]", part.at()), &format!("Duplicate value: {item}")));
        }
    }
    part.each(|part| duplicates(part, wrong));
}

/// The server reads a whole number as such if it has 64 bits.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
