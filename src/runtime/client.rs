//! Clients of the API server: one that schedules and never repeats a request, one that reads for a person.

use std::sync::Arc;
use std::time::Duration;

use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::args::ClusterArgs;
use super::transport;
use crate::core::time::Wall;

/// The cluster's address or credentials are unusable; nothing has been asked yet.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig that was named.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] KubeconfigError),
    /// Neither a kubeconfig nor a service account.
    #[error("no kubeconfig (--kubeconfig, $KUBECONFIG, ~/.kube/config) and no service account of a pod")]
    Infer(#[source] InferConfigError),
    /// Certificates or addresses in it.
    #[error("cannot make a client")]
    Build(#[source] kube::Error),
}

/// A person waits this long for a connection or an answer. The scheduler has limits of its own per request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server on the same network answers a connection in milliseconds; a dead one never.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest silence of a connection: above a watch's own 55 s (`watch::WATCH_SECONDS`), below what F22 allows.
const READ_TIMEOUT: Duration = Duration::from_secs(65);
/// Our requests fit into a few packets: a write that takes longer has nobody at the other end.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// Where the cluster is and who we are.
///
/// # Errors
/// No usable configuration.
pub async fn config(args: &ClusterArgs) -> Result<Config, ClientError> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &args.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(ClientError::Kubeconfig)?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(ClientError::Kubeconfig)?
        }
        // A named context can only be one of a kubeconfig.
        None if args.context.is_some() => Config::from_kubeconfig(&options).await.map_err(ClientError::Kubeconfig)?,
        None => Config::infer().await.map_err(ClientError::Infer)?,
    };
    // What a failed request means is decided by the controller, or by the person.
    config.default_retry = false;
    Ok(config)
}

/// The configuration with which every call is sent once and no connection stays silently dead.
///
/// kube retries 429, 503 and 504 of every method up to 15 times by default, Binding POSTs too: a 504 that took effect
/// would come back as a 409. What is repeated is the outbox's decision alone.
#[must_use]
pub fn configure(mut config: Config) -> Config {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    // Otherwise the time a connection lay idle in the pool would count against its next answer.
    config.reset_reader_on_write = true;
    config
}

/// The client of the scheduler. It makes one TLS connection for each request in flight (kube speaks HTTP/1.1 only). `heard` is told
/// what time it is at the API server, by its answers.
///
/// # Errors
/// Unusable certificates or addresses.
pub fn scheduling(config: Config, heard: impl Fn(Wall) + Send + Sync + 'static) -> Result<Client, ClientError> {
    transport::client(configure(config), Arc::new(heard)).map_err(ClientError::Build)
}

/// The client of the commands that read: it gives up soon.
///
/// # Errors
/// Unusable certificates or addresses.
pub fn reading(mut config: Config) -> Result<Client, ClientError> {
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    Client::try_from(config).map_err(ClientError::Build)
}
