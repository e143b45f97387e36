//! What is installed before the sequences: the kinds, the places, and what admission does to pods with a label.

use std::time::{Duration, Instant};

use gangline::shim::op::Kind;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::place::{PLAYED, Place};
use super::server::{Server, exchange};
use super::steps::{ADMISSION, Deed};
use super::view::Lives;
use super::{story, watches};
use crate::harness::Context;
use crate::support::error::{During, Error, Result};
use crate::support::manifests;

/// A policy is in force once the server's own watch has seen it: about a second.
const IN_FORCE: Duration = Duration::from_secs(60);
/// How often it is tried: nothing tells.
const POLL: Duration = Duration::from_millis(100);

/// Installs everything, and waits until it is in force.
pub(super) async fn install(t: &mut Context, places: usize) -> Result<Vec<Place>> {
    let kinds = gangline::api::crds().iter().map(|crd| json!(crd)).collect();
    manifests::apply_objects(&t.client, kinds, &t.namespace, &[]).await?;
    manifests::apply_objects(&t.client, policies(), &t.namespace, &[]).await?;
    let mut all = Vec::new();
    for number in 0..places {
        let prefix = format!("s{number}");
        let first = t.add_namespace(&prefix, json!({})).await?;
        let second = t.add_namespace(&format!("{prefix}-b"), json!({})).await?;
        manifests::apply_objects(&t.client, vec![limits()], &second, &[]).await?;
        all.push(Place { namespaces: [first, second], prefix });
    }
    for place in &all {
        in_force(&t.client, place).await?;
    }
    served(&t.client, &all[0]).await?;
    Ok(all)
}

/// The server begins to keep the history of a kind when somebody first asks for it: until then it has none to tell.
async fn served(client: &Client, place: &Place) -> Result<()> {
    let server = Server { client: client.clone(), place: place.clone(), lives: Lives::default() };
    for kind in PLAYED {
        let begun = Instant::now();
        while let Err(error) = tells(&server, kind).await {
            if begun.elapsed() > IN_FORCE {
                return Err(error);
            }
            server.force(kind, &place.sentinel(kind), Deed::End).await?;
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

async fn tells(server: &Server, kind: Kind) -> Result<()> {
    let begins = watches::list(&server.client, kind, &server.place).await?.0;
    story::told(server, kind, begins).await.map(drop)
}

/// A container that says nothing of its CPU is given some.
fn limits() -> Value {
    let limit = json!({"type": "Container", "defaultRequest": {"cpu": "100m"}});
    json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}, "spec": {"limits": [limit]}})
}

/// One refuses a pod, one adds a container: by the pod's label.
fn policies() -> Vec<Value> {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]);
    let says = |word: &str| {
        let rule =
            format!("has(object.metadata.labels) && object.metadata.labels[?'{ADMISSION}'].orValue('') == '{word}'");
        json!([{"name": "label", "expression": rule}])
    };
    let sidecar = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'sidecar', image: 'i', \
                   resources: Object.spec.containers.resources{requests: {'cpu': '50m'}}}]}}";
    let api = "admissionregistration.k8s.io/v1";
    let denies = json!({
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "matchConditions": says("deny"),
        "validations": [{"expression": "false", "message": "denied", "reason": "Forbidden"}],
    });
    let adds = json!({
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "matchConditions": says("sidecar"),
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": sidecar}}],
    });
    let one = |kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec});
    vec![
        one("ValidatingAdmissionPolicy", "e2e-denies", denies),
        one(
            "ValidatingAdmissionPolicyBinding",
            "e2e-denies",
            json!({"policyName": "e2e-denies", "validationActions": ["Deny"]}),
        ),
        one("MutatingAdmissionPolicy", "e2e-adds", adds),
        one("MutatingAdmissionPolicyBinding", "e2e-adds", json!({"policyName": "e2e-adds"})),
    ]
}

/// Tries, without leaving anything, until everything is done that is to be done.
async fn in_force(client: &Client, place: &Place) -> Result<()> {
    let begun = Instant::now();
    loop {
        let denied = try_one(client, &place.namespaces[0], "deny").await?;
        let added = try_one(client, &place.namespaces[1], "sidecar").await?;
        let cpu = |number: usize| &added.1["spec"]["containers"][number]["resources"]["requests"]["cpu"];
        if denied.0 == 403 && (cpu(0), cpu(1)) == (&json!("100m"), &json!("50m")) {
            return Ok(());
        }
        if begun.elapsed() > IN_FORCE {
            return Err(Error::new(format!("admission is not in force: {denied:?} {added:?}")));
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn try_one(client: &Client, namespace: &str, word: &str) -> Result<(u16, Value)> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "labels": {ADMISSION: word}},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "i"}]},
    });
    let path = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let body = pod.to_string().into_bytes();
    let (code, body) = exchange(client, Method::POST, &path, "application/json", body).await?;
    Ok((code, serde_json::from_slice(&body).during(path)?))
}
