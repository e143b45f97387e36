//! The kinds we define and the names of labels and annotations. No logic.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

pub mod names;
pub mod queue;
pub mod schema;
pub mod task_group;

pub use schema::{LEAF_AMOUNTS_MAX, SHOWN_AMOUNTS_MAX, whole_numbers};

/// The definitions of our kinds, as `crds/` holds them.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        complete(&task_group::TaskGroup::crd(), task_group::NAME, &task_group::rules()),
        complete(&queue::Queue::crd(), queue::NAME, &queue::rules()),
    ]
}

/// Adds the bounds of the name and the rules over the whole object, which a derive cannot say.
///
/// # Panics
/// If the derive's result is no definition any more: our own mistake, which the tests would show.
fn complete(crd: &CustomResourceDefinition, name: (u32, &str), rules: &[Value]) -> CustomResourceDefinition {
    let mut crd = json!(crd);
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let (max, pattern) = name;
    let name = json!({"type": "string", "maxLength": max, "pattern": pattern});
    schema["properties"]["metadata"] = json!({"type": "object", "properties": {"name": name}});
    schema["x-kubernetes-validations"] = json!(rules);
    schema::tidy(schema);
    serde_json::from_value(crd).expect("a definition with rules is a definition")
}

/// Name of a definition's file in `crds/`.
pub fn crd_file(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

/// A definition as its file in `crds/` holds it.
#[cfg(feature = "runtime")]
pub fn crd_yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    let mut crd = json!(crd);
    whole_numbers(&mut crd);
    serde_saphyr::to_string(&crd)
}
