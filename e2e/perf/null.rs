//! A scheduler that decides nothing: lists once and binds pod after pod that has no node to the next one. No scheduler binds faster
//! with one request for each pod, so this is the ceiling of the machine.

use std::path::PathBuf;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::shim::protobuf::{self, Binding, ObjectMeta, ObjectReference};
use http::Request;
use kube::Client;
use serde::Deserialize;

use crate::support::error::{During, Error, Result};
use crate::support::kubeconfig;

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
}

/// Binds everything, then waits to be ended, so that its memory can be looked at.
pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().during("starting the runtime")?;
    runtime.block_on(async {
        let client = kubeconfig::client(&args.kubeconfig).await?;
        let pods = list(&client, "/api/v1/namespaces/default/pods").await?;
        if pods.len() != args.pods {
            return Err(Error::new(format!("{} pods instead of {}", pods.len(), args.pods)));
        }
        let nodes = list(&client, "/api/v1/nodes").await?;
        let waiting = pods.iter().filter(|pod| pod.spec.node_name.is_none());
        let bindings = waiting.zip(nodes.iter().cycle());
        let bindings = bindings.map(|(pod, node)| bind(&client, &pod.metadata.name, &node.metadata.name));
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

async fn bind(client: &Client, pod: &str, node: &str) -> Result<()> {
    let step = "binding a pod";
    let binding = Binding {
        metadata: Some(ObjectMeta { name: pod.to_owned(), ..ObjectMeta::default() }),
        target: Some(ObjectReference { kind: "Node".to_owned(), name: node.to_owned() }),
    };
    let request = Request::post(format!("/api/v1/namespaces/default/pods/{pod}/binding"));
    let request = request.header("content-type", protobuf::CONTENT).body(binding.to_body());
    // Read to its end, or the connection is not used again.
    client.request_text(request.during(step)?).await.during(step).map(drop)
}
