//! Fields that our kinds do not have: an API server that is asked strictly refuses them, and so does a simulation, since a
//! slip of the pen would be played as if nothing had been said.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// The schemas of our kinds, as the API server has them.
static SCHEMAS: LazyLock<Vec<Value>> = LazyLock::new(|| crate::api::crds().iter().map(|crd| json!(crd.spec)).collect());

/// The first field of the spec of an object of ours that its kind does not have: `spec.mode`.
pub(super) fn unknown(kind: &str, object: &Value) -> Option<String> {
    let crd = SCHEMAS.iter().find(|crd| crd["names"]["kind"] == kind)?;
    let schema = crd.pointer("/versions/0/schema/openAPIV3Schema/properties/spec")?;
    // Metadata is everybody's, and a status is what the play is to find out.
    let strange = object.as_object()?.keys().find(|field| !TOP.contains(&field.as_str()));
    strange.cloned().or_else(|| find("spec", schema, object.get("spec")?))
}

/// What every object has.
const TOP: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

fn find(path: &str, schema: &Value, value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(field, value)| {
            let path = format!("{path}.{field}");
            let known = schema["properties"].get(field).or_else(|| schema.get("additionalProperties"));
            known.map_or_else(|| Some(path.clone()), |schema| find(&path, schema, value))
        }),
        Value::Array(items) => {
            let at = |(number, item)| find(&format!("{path}[{number}]"), &schema["items"], item);
            items.iter().enumerate().find_map(at)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
