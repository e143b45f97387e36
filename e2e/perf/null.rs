//! A scheduler that decides nothing: lists once and binds pod after pod that has no node to the next one. No scheduler binds faster
//! with one request for each pod, so this is the ceiling of the machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::api::names;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::PlaceholderName;
use gangline::runtime::settings::PLACEHOLDER_IMAGE;
use gangline::shim::placeholder::{self, Blueprint, PlaceholderConfig};
use gangline::shim::protobuf::{self, Binding, ObjectMeta, ObjectReference};
use http::header::ACCEPT;
use http::{Request, request};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::client::Body;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::error::{During, Error, Result};
use crate::support::kubeconfig;

/// Where pods are made.
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Bindings in flight: as many as Gangline's window holds at most.
const IN_FLIGHT: usize = 64;

/// Arguments of `lab null`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who it is
    #[arg(long)]
    kubeconfig: PathBuf,
    /// How many pods there have to be
    #[arg(long)]
    pods: usize,
    /// Makes, binds and deletes a placeholder for each, and binds the pod then
    #[arg(long)]
    swaps: bool,
}

/// Binds everything, then waits to be ended, so that its memory can be looked at.
pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().during("starting the runtime")?;
    runtime.block_on(async {
        let client = kubeconfig::client(&args.kubeconfig).await?;
        let pods = list(&client, PODS).await?;
        if pods.len() != args.pods {
            return Err(Error::new(format!("{} pods instead of {}", pods.len(), args.pods)));
        }
        let nodes = list(&client, "/api/v1/nodes").await?;
        let waiting = pods.iter().filter(|pod| pod.spec.node_name.is_none());
        let bindings = waiting.zip(nodes.iter().cycle());
        let bindings = bindings.map(async |(pod, node)| {
            if args.swaps {
                hold(&client, &pod.metadata.name, &node.metadata.name).await?;
            }
            bind(&client, &pod.metadata.name, &node.metadata.name).await
        });
        stream::iter(bindings).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        std::future::pending().await
    })
}

/// A list of pods or nodes, as far as it is read.
#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

async fn list(client: &Client, path: &str) -> Result<Vec<Item>> {
    let step = format!("listing {path}");
    let request = Request::get(path).body(Vec::new()).during(&step)?;
    let list: List = client.request(request).await.during(&step)?;
    Ok(list.items)
}

/// A placeholder as Gangline makes it, of a gang that there is not: made, bound and deleted.
async fn hold(client: &Client, pod: &str, node: &str) -> Result<()> {
    let step = "making a placeholder";
    let made = answered_with_a_pod(client, Request::post(PODS), &placeholder_for(pod), step).await?;
    let Metadata { name, uid } = serde_json::from_slice::<Item>(&made).during(step)?.metadata;
    bind(client, &name, node).await?;
    let step = "deleting a placeholder";
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
    let request = Request::delete(format!("{PODS}/{name}"));
    answered_with_a_pod(client, request, &options, step).await.map(drop)
}

/// Sends what is answered with a pod, and asks for that as Gangline does, since the server writes it in a fraction of the time that
/// JSON takes it; returns the pod as Gangline reads it. A server that answers in JSON would be no ceiling: that is an error.
async fn answered_with_a_pod(
    client: &Client,
    request: request::Builder,
    body: &impl Serialize,
    step: &str,
) -> Result<Vec<u8>> {
    let request = json_request(request.header(ACCEPT, protobuf::ACCEPTED), body, step)?;
    let answer = client.send(request.map(Body::from)).await.during(step)?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await.during(step)?.to_bytes();
    let said = protobuf::to_json(&bytes);
    if !status.is_success() {
        let words = String::from_utf8_lossy(said.as_deref().unwrap_or(&bytes)).into_owned();
        return Err(Error::new(format!("{step}: {status}: {words}")));
    }
    said.during(step)
}

/// The very object: what it costs the API server follows from its fields.
fn placeholder_for(pod: &str) -> Pod {
    let uid = Uid::new("6f1b7f9e-5b0e-4f0e-8c8e-3d1c0a3f9b11");
    let name = PlaceholderName { group: Key::new("default", pod), uid, incarnation: 1, seat: 0, attempt: 0 };
    let min_resource = BTreeMap::from([("cpu".into(), "100m".into()), ("memory".into(), "128Mi".into())]);
    let blueprint = Blueprint { application: pod.into(), min_resource, ..Blueprint::default() };
    let config = PlaceholderConfig {
        scheduler_name: names::SCHEDULER.into(),
        image: PLACEHOLDER_IMAGE.into(),
        queue: "root.default".into(),
        submitter: None,
    };
    placeholder::pod(&name, &blueprint, &config)
}

fn json_request(request: request::Builder, body: &impl Serialize, step: &str) -> Result<Request<Vec<u8>>> {
    let body = serde_json::to_vec(body).during(step)?;
    request.header("content-type", "application/json").body(body).during(step)
}

async fn bind(client: &Client, pod: &str, node: &str) -> Result<()> {
    let step = "binding a pod";
    let binding = Binding {
        metadata: Some(ObjectMeta { name: pod.to_owned(), ..ObjectMeta::default() }),
        target: Some(ObjectReference { kind: "Node".to_owned(), name: node.to_owned() }),
    };
    let request = Request::post(format!("{PODS}/{pod}/binding"));
    let request = request.header("content-type", protobuf::CONTENT).body(binding.to_body());
    // Read to its end, or the connection is not used again.
    client.request_text(request.during(step)?).await.during(step).map(drop)
}
