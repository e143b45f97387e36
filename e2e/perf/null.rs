//! A scheduler that decides nothing: lists once and binds pod after pod that has no node to the next one. No scheduler binds faster
//! with one request for each pod, so this is the ceiling of the machine.

use std::path::PathBuf;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::shim::protobuf::{self, Binding, ObjectMeta, ObjectReference};
use http::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

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

/// A placeholder as Gangline makes it, in the same words: made, bound and deleted.
async fn hold(client: &Client, pod: &str, node: &str) -> Result<()> {
    let name = format!("tg-{pod}");
    let amounts = json!({"cpu": "100m", "memory": "128Mi"});
    let limits = json!({"runAsNonRoot": true, "runAsUser": 65532, "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}});
    let placeholder = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
            "labels": {"gangline.dev/placeholder": "true", "gangline.dev/application-id": pod, "gangline.dev/queue": "root.default"},
        },
        "spec": {
            "schedulerName": "gangline", "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 0, "readinessGates": [{"conditionType": "gangline.dev/never"}],
            "containers": [{"name": "placeholder", "image": "registry.k8s.io/pause:3.10", "securityContext": limits,
                "resources": {"requests": amounts, "limits": amounts}}],
        },
    });
    let step = "making a placeholder";
    let made: Item = client.request(json_request(Request::post(PODS), &placeholder, step)?).await.during(step)?;
    bind(client, &name, node).await?;
    let step = "deleting a placeholder";
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": made.metadata.uid}});
    let request = json_request(Request::delete(format!("{PODS}/{name}")), &options, step)?;
    client.request_text(request).await.during(step).map(drop)
}

fn json_request(request: http::request::Builder, body: &Value, step: &str) -> Result<Request<Vec<u8>>> {
    request.header("content-type", "application/json").body(body.to_string().into_bytes()).during(step)
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
