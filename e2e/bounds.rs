//! One bad value for every bound of a schema, made from the schema itself: no bound is without a case.

use serde_json::{Map, Value, json};

/// A value that breaks one bound, with where and which.
pub(crate) struct Broken {
    /// `spec.gangGroup[0] maxLength`.
    pub(crate) name: String,
    /// The value of the whole that was asked about.
    pub(crate) value: Value,
    /// Part of the API server's refusal.
    pub(crate) expected: String,
}

/// Every way to break one bound of a schema.
pub(crate) fn broken(path: &str, schema: &Value) -> Vec<Broken> {
    if !schema.is_object() {
        return Vec::new();
    }
    let own = of_bounds(schema).into_iter().map(|(bound, value, expected)| {
        let name = format!("{path} {bound}");
        Broken { name, value, expected }
    });
    own.chain(of_items(path, schema)).chain(of_fields(path, schema)).chain(of_entries(path, schema)).collect()
}

/// The bounds of the value itself.
fn of_bounds(schema: &Value) -> Vec<(&'static str, Value, String)> {
    let number = |bound: &str| schema[bound].as_f64().map(|number| number as i64);
    let mut all = Vec::new();
    if let Some(most) = number("maxLength") {
        all.push(("maxLength", json!("1".repeat(most as usize + 1)), format!("may not be more than {most}")));
    }
    if let Some(least) = number("minLength").filter(|least| *least > 0) {
        all.push(("minLength", json!(""), format!("should be at least {least} chars long")));
    }
    if schema["pattern"].is_string() {
        all.push(("pattern", json!("!"), "should match".to_owned()));
    }
    if schema["enum"].is_array() {
        all.push(("enum", json!("Nothing"), "Unsupported value".to_owned()));
    }
    if let Some(least) = number("minimum") {
        all.push(("minimum", json!(least - 1), format!("greater than or equal to {least}")));
    }
    if let Some(most) = number("maximum") {
        all.push(("maximum", json!(most + 1), format!("less than or equal to {most}")));
    }
    if let Some(most) = number("maxItems") {
        let items = vec![least(&schema["items"]); most as usize + 1];
        all.push(("maxItems", json!(items), format!("must have at most {most} items")));
    }
    if let Some(most) = number("maxProperties") {
        let entries: Map<_, _> = (0..=most).map(|at| (key(at), least(&schema["additionalProperties"]))).collect();
        all.push(("maxProperties", Value::Object(entries), format!("must have at most {most} items")));
    }
    all
}

fn of_items(path: &str, schema: &Value) -> Vec<Broken> {
    let inner = broken(&format!("{path}[0]"), &schema["items"]);
    inner.into_iter().map(|broken| Broken { value: json!([broken.value]), ..broken }).collect()
}

fn of_entries(path: &str, schema: &Value) -> Vec<Broken> {
    let inner = broken(&format!("{path}[{}]", key(0)), &schema["additionalProperties"]);
    inner.into_iter().map(|broken| Broken { value: json!({key(0): broken.value}), ..broken }).collect()
}

fn of_fields(path: &str, schema: &Value) -> Vec<Broken> {
    let whole = least(schema);
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|field| {
        let mut value = whole.clone();
        value.as_object_mut().expect("only objects require fields").remove(field);
        // An API server leaves out that it is of the status.
        let path = path.strip_prefix("status.").unwrap_or(path);
        Broken { name: format!("{path}.{field} required"), value, expected: format!("{path}.{field}: Required value") }
    });
    let fields = schema["properties"].as_object().into_iter().flatten();
    let wrong = fields.flat_map(|(field, schema)| {
        let whole = whole.clone();
        broken(&format!("{path}.{field}"), schema).into_iter().map(move |broken| {
            let mut value = whole.clone();
            value[field] = broken.value;
            Broken { value, ..broken }
        })
    });
    missing.chain(wrong).collect()
}

/// The least that a schema takes.
pub(crate) fn least(schema: &Value) -> Value {
    if let Some(one) = schema["enum"].get(0) {
        return one.clone();
    }
    match schema["type"].as_str() {
        Some("object") if schema["additionalProperties"].is_object() => {
            json!({key(0): least(&schema["additionalProperties"])})
        }
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.map(|field| (field.to_owned(), least(&schema["properties"][field]))).collect::<Map<_, _>>().into()
        }
        Some("array") => json!([]),
        Some("integer") => json!(schema["minimum"].as_f64().map_or(1, |least| least as i64)),
        Some(_) => json!("root"),
        // A quantity.
        None => json!("1"),
    }
}

/// A key of every map that we have.
fn key(at: i64) -> String {
    format!("example.com/k{at}")
}
