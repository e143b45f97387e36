//! Fields that an object does not have: a slip of the pen would be played as if nothing had been said. Of our own kinds an
//! API server that is asked strictly refuses them, and so does a simulation; those of others may be of a newer Kubernetes.

use std::sync::LazyLock;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_ignored::Path;
use serde_json::{Map, Value, json};

use super::kinds::Played;

/// The schemas of our kinds, as the API server has them.
static SCHEMAS: LazyLock<Vec<Value>> = LazyLock::new(|| crate::api::crds().iter().map(|crd| json!(crd.spec)).collect());

/// The fields of an object of ours that its kind does not have: `spec.mode`.
pub(super) fn unknown(kind: &str, object: &Value) -> Vec<String> {
    let Some(crd) = SCHEMAS.iter().find(|crd| crd["names"]["kind"] == kind) else { return Vec::new() };
    let schema = crd.pointer("/versions/0/schema/openAPIV3Schema/properties/spec").unwrap_or(&Value::Null);
    // Metadata is everybody's, and a status is what the play is to find out.
    let strange = object.as_object().into_iter().flat_map(Map::keys).filter(|field| !TOP.contains(&field.as_str()));
    let mut found: Vec<String> = strange.cloned().collect();
    object.get("spec").into_iter().for_each(|spec| find("spec", schema, spec, &mut found));
    found
}

/// What every object has.
const TOP: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

fn find(path: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let path = format!("{path}.{field}");
                match schema["properties"].get(field).or_else(|| schema.get("additionalProperties")) {
                    Some(schema) => find(&path, schema, value, found),
                    None => found.push(path),
                }
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(number, item)| find(&format!("{path}[{number}]"), &schema["items"], item, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fields that Kubernetes, as far as we know it, does not have in such an object: `spec.paralelism`.
pub(super) fn ignored(played: Played, object: &Value) -> Vec<String> {
    match played {
        Played::Pod => of::<Pod>(object),
        Played::Node => of::<Node>(object),
        Played::Job => of::<Job>(object),
        Played::PriorityClass => of::<PriorityClass>(object),
        Played::Namespace => of::<Namespace>(object),
        // Of another system's kind all that decides nothing here is left out.
        Played::TaskGroup | Played::Queue | Played::PodGroup(_) => {
            let fields = object.get("metadata").map(of::<ObjectMeta>).unwrap_or_default();
            fields.into_iter().map(|field| format!("metadata.{field}")).collect()
        }
    }
}

fn of<T: DeserializeOwned>(value: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    // What does not decode is said by who needs it.
    let _: Result<T, _> = serde_ignored::deserialize(value, |path| fields.push(shown(&path)));
    fields
}

fn shown(path: &Path) -> String {
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", shown(parent)),
        Path::Map { parent, key } => match shown(parent) {
            above if above.is_empty() => key.clone(),
            above => format!("{above}.{key}"),
        },
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => shown(parent),
    }
}
