//! What an API server refuses of our own kinds, by their definitions: bounds (`bounds`), and rules in CEL, which a library
//! runs (`rules`). What was wrong before and is as it was hinders nobody, as on the server ("ratcheting", Kubernetes 1.33).
//! End-to-end tests ask a real one about the same cases (`e2e/schemas.rs`).
//!
//! Bounds are checked here and not by a library, since kube-cel's own validation asks rules alone, validators of JSON schemas
//! have neither the server's words nor its list types, and none of them leaves alone what was wrong before (docs/adr/0014).

mod bounds;
mod node;
mod rules;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::{Value, json};

use self::node::Node;
use crate::shim::observation::Body;

/// The definitions of our kinds, by kind. All threads have the same.
static DEFINITIONS: LazyLock<BTreeMap<String, Node>> = LazyLock::new(|| {
    let all = crate::api::crds().into_iter();
    all.map(|crd| (crd.spec.names.kind.clone(), definition(&crd))).collect()
});

/// # Panics
/// If one of our own definitions has a word that nobody knows here, which the tests would show.
fn definition(crd: &CustomResourceDefinition) -> Node {
    let version = crd.spec.versions.first().and_then(|version| version.schema.as_ref());
    let schema = json!(version.and_then(|schema| schema.open_api_v3_schema.as_ref()));
    Node::deserialize(&schema).expect("each word of our definitions is known").settled()
}

/// One thing that is wrong with an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// With its field: `spec.minMember: Required value`.
    pub said: String,
    /// Not the object is wrong, but that it became so: a rule about what was before.
    pub of_change: bool,
    /// The rules are not asked then.
    hides_rules: bool,
}

impl Problem {
    fn new(at: &str, what: &str) -> Self {
        Self { said: format!("{at}: {what}"), of_change: false, hides_rules: false }
    }

    /// As long as there is one, the server does not ask the rules.
    fn hiding(at: &str, what: &str) -> Self {
        Self { hides_rules: true, ..Self::new(at, what) }
    }
}

/// Everything that the definition of an object of ours refuses of it, as JSON without nulls, or of a change of one; nothing
/// of other kinds.
pub fn problems(kind: &str, object: &Value, old: Option<&Value>) -> Vec<Problem> {
    DEFINITIONS.get(kind).map(|definition| of_change(definition, object, old, false)).unwrap_or_default()
}

/// The same of an object as it is stored. Where it is known that nothing was wrong before, nothing is asked again of what is
/// as it was.
pub(super) fn problems_of(body: &Body, old: Option<&Body>, was_right: bool) -> Vec<Problem> {
    let status = old.filter(|_| was_right).and_then(|old| only_status(body, old));
    if status.is_some_and(|(kind, status)| DEFINITIONS.get(kind).is_some_and(|of| of.lets_through("status", &status))) {
        return Vec::new();
    }
    let json = |body: &Body| match body {
        Body::TaskGroup(group) => Some(("TaskGroup", json!(Arc::as_ref(group)))),
        Body::Queue(queue) => Some(("Queue", json!(Arc::as_ref(queue)))),
        Body::Pod(_)
        | Body::Node(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    };
    let Some((kind, object)) = json(body) else { return Vec::new() };
    let old = old.and_then(json).map(|(_, old)| old);
    let definition = DEFINITIONS.get(kind);
    definition.map(|definition| of_change(definition, &object, old.as_ref(), was_right)).unwrap_or_default()
}

/// The new status of an object of ours whose spec is as it was.
fn only_status(new: &Body, old: &Body) -> Option<(&'static str, Value)> {
    if let (Body::TaskGroup(new), Body::TaskGroup(old)) = (new, old) {
        return (new.spec == old.spec).then(|| ("TaskGroup", json!(new.status)));
    }
    let (Body::Queue(new), Body::Queue(old)) = (new, old) else { return None };
    (new.spec == old.spec).then(|| ("Queue", json!(new.status)))
}

fn of_change(definition: &Node, object: &Value, old: Option<&Value>, was_right: bool) -> Vec<Problem> {
    let mut problems = definition.check(object, old);
    if problems.iter().any(|problem| problem.hides_rules) {
        problems.push(Problem::new("<nil>", NOT_ASKED));
    } else {
        problems.extend(definition.ask(object, old, was_right));
    }
    problems
}

/// What an API server says instead of asking the rules.
const NOT_ASKED: &str = "Invalid value: null: some validation rules were not checked because the object was invalid; correct \
                         the existing errors to complete validation";

/// Takes nulls away: in an object of ours one is taken as absent.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.iter_mut().for_each(|(_, value)| without_nulls(value));
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
