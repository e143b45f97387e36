//! What a real API server takes and refuses of our kinds, by their definitions. The model is asked the same
//! (`src/sim/schema/tests.rs`).

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::api::{Answer, POLL, PUBLISHED_WITHIN, ask, refused};
use crate::bounds::{Broken, broken};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};

const CASES: &str = include_str!("../tests/golden/schema_cases.yaml");

const GROUP_VERSION: &str = "/apis/gangline.dev/v1alpha1";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/taskgroups.gangline.dev";

/// Nothing is kept, and no field is unknown.
const ONLY_ASK: &str = "dryRun=All&fieldValidation=Strict";

pub(crate) fn tests() -> Vec<Test> {
    // No scheduler and no controllers: the cases set status themselves.
    let server = Options { kwok: false, controllers: false, ..Options::default() };
    vec![test("api: every case of the schemas", Needs::OwnControlPlane(server), schemas).without_gangline()]
}

async fn schemas(t: &mut Context) -> Result<()> {
    t.cluster.install().await?;
    make_namespace(&t.client, "data").await?;
    // The cases are ours: many aliases of few anchors are no attack.
    let options = serde_saphyr::options! { budget: None };
    let mut cases: Vec<Value> = serde_saphyr::from_str_with_options(CASES, options).during("reading the cases")?;
    cases.iter_mut().for_each(gangline::api::whole_numbers);
    let (upgraded, cases): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| !case["before"].is_null());
    assert!(cases.len() > 60 && upgraded.len() > 15, "only {} and {} cases", cases.len(), upgraded.len());
    let mut wrong = Vec::new();
    for case in &cases {
        wrong.extend(problem(case, answer(&t.client, case).await?));
    }
    wrong.extend(after_an_upgrade(&t.client, &upgraded).await?);
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len() + upgraded.len(), wrong.join("\n"));
    every_bound(&t.client).await
}

async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    ask(client, Method::POST, "/api/v1/namespaces", &namespace).await?.map_err(refused).map(drop)
}

fn collection(object: &Value, namespace: &str) -> String {
    match object["kind"].as_str() {
        Some("Queue") => format!("{GROUP_VERSION}/queues"),
        _ => format!("{GROUP_VERSION}/namespaces/{namespace}/taskgroups"),
    }
}

/// Creates an object, and sets its status. Its path, and what became of it.
async fn make(client: &Client, object: &Value, namespace: &str) -> Result<(String, Value)> {
    let collection = collection(object, namespace);
    let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap_or_default());
    let mut made = ask(client, Method::POST, &collection, object).await?.map_err(refused)?;
    if !object["status"].is_null() {
        let status = json!({"status": object["status"]});
        made = ask(client, Method::PATCH, &format!("{path}/status"), &status).await?.map_err(refused)?;
    }
    Ok((path, made))
}

async fn answer(client: &Client, case: &Value) -> Result<Answer> {
    let object = &case["object"];
    if case["old"].is_null() {
        return ask(client, Method::POST, &format!("{}?{ONLY_ASK}", collection(object, "data")), object).await;
    }
    let (path, made) = make(client, &case["old"], "data").await?;
    let answer = replace(client, &path, &made, object).await?;
    ask(client, Method::DELETE, &path, &json!({})).await?.map_err(refused)?;
    Ok(answer)
}

async fn replace(client: &Client, path: &str, made: &Value, object: &Value) -> Result<Answer> {
    let mut object = object.clone();
    ["namespace", "resourceVersion"]
        .iter()
        .for_each(|field| object["metadata"][field] = made["metadata"][field].clone());
    ask(client, Method::PUT, &format!("{path}?{ONLY_ASK}"), &object).await
}

/// What is not as expected.
fn problem(case: &Value, answer: Answer) -> Option<String> {
    let (name, expected) = (&case["name"], case["expected"].as_str().unwrap_or_default());
    match answer {
        Ok(_) if expected == "ok" => None,
        Ok(_) => Some(format!("{name}: taken, but expected {expected:?}")),
        Err((422, message)) if expected != "ok" && message.contains(expected) => None,
        Err((400, message)) if expected.starts_with("unknown field") && message.contains(expected) => None,
        Err((code, message)) => Some(format!("{name}: {code} {message:?}, but expected {expected:?}")),
    }
}

/// Cases of what an earlier definition, one that refuses nothing, let through: what is not as expected.
async fn after_an_upgrade(client: &Client, cases: &[Value]) -> Result<Vec<String>> {
    let ours = ask(client, Method::GET, DEFINITION, &json!(null)).await?.map_err(refused)?;
    let mut earlier = ours.clone();
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    earlier["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = anything;
    define(client, &earlier, true).await?;
    let mut made = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let namespace = format!("before-{number}");
        make_namespace(client, &namespace).await?;
        let mut before = case["before"].clone();
        before["metadata"]["namespace"] = json!(namespace);
        made.push(make(client, &before, &namespace).await?);
    }
    define(client, &ours, false).await?;
    let mut wrong = Vec::new();
    for (case, (path, made)) in cases.iter().zip(made) {
        let answer = if case["status"].is_null() {
            replace(client, &path, &made, &case["object"]).await?
        } else {
            let status = json!({"status": case["status"]});
            ask(client, Method::PATCH, &format!("{path}/status?{ONLY_ASK}"), &status).await?
        };
        wrong.extend(problem(case, answer));
    }
    Ok(wrong)
}

/// Writes a definition of TaskGroups and waits until it is in effect: one that takes nonsense, or does not.
async fn define(client: &Client, definition: &Value, takes_nonsense: bool) -> Result<()> {
    let there = ask(client, Method::GET, DEFINITION, &json!(null)).await?.map_err(refused)?;
    let mut definition = definition.clone();
    definition["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
    ask(client, Method::PUT, DEFINITION, &definition).await?.map_err(refused)?;
    let nonsense = json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup", "metadata": {"name": "probe"}, "spec": {"minMember": 0}});
    let path = format!("{}?dryRun=All", collection(&nonsense, "data"));
    let give_up = Instant::now() + PUBLISHED_WITHIN;
    while ask(client, Method::POST, &path, &nonsense).await?.is_ok() != takes_nonsense {
        if Instant::now() > give_up {
            return Err(Error::new(format!("the definition is not in effect after {PUBLISHED_WITHIN:?}")));
        }
        sleep(POLL).await;
    }
    Ok(())
}

/// Breaks every bound of the specs and of the statuses, one at a time.
async fn every_bound(client: &Client) -> Result<()> {
    let (mut tried, mut wrong) = (0, Vec::new());
    for crd in gangline::api::crds() {
        let crd = serde_json::to_value(crd).during("writing the schema")?;
        let properties = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        let kind = &crd["spec"]["names"]["kind"];
        let (name, least) = match kind.as_str() {
            Some("Queue") => ("root.bounds", json!({"parent": "root"})),
            _ => ("bounds", json!({"minMember": 1, "minResource": {"cpu": 1}})),
        };
        let least =
            json!({"apiVersion": "gangline.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": least});
        let new = format!("{}?dryRun=All", collection(&least, "data"));
        for bad in broken("spec", &properties["spec"]) {
            let mut object = least.clone();
            object["spec"] = bad.value.clone();
            if kind == "Queue" && object["spec"]["parent"].is_null() {
                object["spec"]["parent"] = json!("root");
            }
            tried += 1;
            wrong.extend(taken(&bad, ask(client, Method::POST, &new, &object).await?));
        }
        let (path, _) = make(client, &least, "data").await?;
        for bad in broken("status", &properties["status"]) {
            let status = json!({"status": bad.value});
            tried += 1;
            wrong.extend(taken(&bad, ask(client, Method::PATCH, &format!("{path}/status?dryRun=All"), &status).await?));
        }
    }
    assert!(wrong.is_empty(), "{} of {tried} bounds:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 80, "only {tried} bounds");
    Ok(())
}

/// Something bad that was not refused as expected.
fn taken(Broken { name, expected, .. }: &Broken, answer: Answer) -> Option<String> {
    match answer {
        Err((422, message)) if message.contains(expected) => None,
        answer => Some(format!("{name}: expected {expected:?}, but {answer:?}")),
    }
}
