//! Kubeconfigs written and clients made from them.

use std::fs;
use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::error::{During, Error, Result};

/// Writes a kubeconfig for one user of the server; `server` is the `cluster` part.
pub fn write(path: &Path, server: &Value, user: &str, token: &str, namespace: &str) -> Result<()> {
    let step = format!("writing {}", path.display());
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "gangline",
        "clusters": [{"name": "gangline", "cluster": server}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "gangline", "context": {"cluster": "gangline", "user": user, "namespace": namespace}}],
    });
    let text = serde_saphyr::to_string(&config).during(&step)?;
    fs::write(path, text).during(&step)
}

/// The `cluster` part of the current context of a kubeconfig: where the server is and how to trust it.
pub fn server(path: &Path) -> Result<Value> {
    let step = format!("reading {}", path.display());
    let config = Kubeconfig::read_from(path).during(&step)?;
    let wanted = config.current_context.as_deref();
    let context = config.contexts.iter().find(|context| Some(context.name.as_str()) == wanted);
    let name = context.and_then(|context| context.context.as_ref()).map(|context| context.cluster.as_str());
    let cluster = config.clusters.iter().find(|cluster| Some(cluster.name.as_str()) == name);
    let cluster = cluster.and_then(|cluster| cluster.cluster.as_ref());
    serde_json::to_value(cluster.ok_or_else(|| Error::new(format!("{step}: no current context with a cluster")))?)
        .during(&step)
}

/// Puts the token of a kubeconfig's user into a file of its own, which the kubeconfig names from then on. Nobody who reads the
/// file sees half of a token.
pub fn move_token(path: &Path, to: &Path) -> Result<()> {
    let step = format!("moving the token of {} to {}", path.display(), to.display());
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(path).during(&step)?).during(&step)?;
    let user = &mut config["users"][0]["user"];
    let token = user["token"].as_str().ok_or_else(|| Error::new(format!("{step}: there is none")))?;
    let beside = to.with_extension("new");
    fs::write(&beside, token).during(&step)?;
    fs::rename(&beside, to).during(&step)?;
    *user = json!({"tokenFile": to});
    fs::write(path, serde_saphyr::to_string(&config).during(&step)?).during(&step)
}

/// A client under a kubeconfig that sends each request once: the lab wants to see every refusal.
pub async fn client(path: &Path) -> Result<Client> {
    let step = format!("making a client from {}", path.display());
    let config = Kubeconfig::read_from(path).during(&step)?;
    let mut config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.during(&step)?;
    config.default_retry = false;
    Client::try_from(config).during(&step)
}
