//! What the API server says of each case, and of each bound (`e2e/schemas.rs` asks it).

use serde_json::{Value, json};

use super::without_nulls;
use crate::api::whole_numbers;
use crate::shim::decode;
use crate::shim::op::Kind;

#[path = "../../../e2e/bounds.rs"]
mod broken;

fn problems(kind: &str, object: &Value, old: Option<&Value>) -> String {
    let problems = super::problems(kind, object, old);
    problems.into_iter().map(|problem| problem.said).collect::<Vec<_>>().join(", ")
}

fn cases() -> Vec<Value> {
    let options = serde_saphyr::options! { budget: None };
    let text = include_str!("../../../tests/golden/schema_cases.yaml");
    let mut cases: Vec<Value> = serde_saphyr::from_str_with_options(text, options).expect("they read");
    cases.iter_mut().for_each(whole_numbers);
    cases.iter_mut().for_each(without_nulls);
    cases
}

/// What is written of a case, and what was there.
fn written(case: &Value) -> (Value, Option<&Value>) {
    let old = case.get("old").or(case.get("before"));
    let mut new = case.get("object").or(old).cloned().expect("an object, or what was");
    // An edit of the spec leaves the status as it is.
    let status = case.get("status").or(old.and_then(|old| old.get("status")));
    status.into_iter().for_each(|status| new["status"] = status.clone());
    (new, old)
}

#[test]
fn the_model_refuses_what_the_server_refuses() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for case in cases() {
        let expected = case["expected"].as_str().expect("each expects something");
        // Of fields that do not exist nothing is left when an object is read.
        if expected.starts_with("unknown field") {
            continue;
        }
        let (object, old) = written(&case);
        let found = problems(object["kind"].as_str().expect("a kind"), &object, old);
        if expected == "ok" && old.is_none() {
            let kind = if object["kind"] == "Queue" { Kind::Queue } else { Kind::TaskGroup };
            let read = decode::seen(kind, &object.to_string()).expect("it has a name").body;
            assert!(read.is_ok(), "{}: {read:?}", case["name"]);
        }
        let is_right = if expected == "ok" { found.is_empty() } else { found.contains(expected) };
        if !is_right {
            wrong.push(format!("{}: expected {expected:?}, found {found:?}", case["name"]));
        }
        tried += 1;
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 80, "only {tried}");
}

#[test]
fn every_bound_is_kept() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for crd in crate::api::crds() {
        let kind = crd.spec.names.kind.clone();
        let crd = json!(crd);
        let properties = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        for part in ["spec", "status"] {
            for bad in broken::broken(part, &properties[part]) {
                let least = broken::least(&properties["spec"]);
                let mut object = json!({"metadata": {"name": "root.bounds"}, "spec": least});
                object[part] = bad.value;
                let found = problems(&kind, &object, None);
                if !found.contains(&bad.expected) {
                    wrong.push(format!("{kind} {}: expected {:?}, found {found:?}", bad.name, bad.expected));
                }
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 80, "only {tried}");
}
