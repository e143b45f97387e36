//! The scheduler on a control plane of the lab: the program built beside the lab, under the role that it ships with.

use std::path::{Path, PathBuf};

use kube::Client;

use crate::support::error::{During, Error, Result};
use crate::support::manifests;
use crate::support::scheduler::{Launch, Scheduler};

/// Namespace and name of the ServiceAccount of the shipped manifests.
const ACCOUNT: (&str, &str) = ("gangline-system", "gangline");

/// The program that was built with the lab: `target/PROFILE/gangline` beside `target/PROFILE/examples/lab`.
pub(crate) fn binary() -> Result<PathBuf> {
    let lab = std::env::current_exe().during("finding this program")?;
    let found = lab.ancestors().nth(2).map(|profile| profile.join("gangline")).filter(|path| path.is_file());
    found.ok_or_else(|| {
        Error::new(format!("no gangline beside {}: build it (cargo build, with --release as the lab)", lab.display()))
    })
}

/// How to run the scheduler with a token of its account, which is installed.
pub(crate) async fn account(client: &Client, admin: &Path, dir: &Path) -> Result<Launch> {
    Ok(Launch {
        name: "gangline".to_owned(),
        binary: binary()?,
        kubeconfig: kubeconfig(client, admin, dir).await?,
        dir: dir.to_path_buf(),
        args: Vec::new(),
        env: Vec::new(),
    })
}

/// A kubeconfig with a token of its account, which is installed.
pub(crate) async fn kubeconfig(client: &Client, admin: &Path, dir: &Path) -> Result<PathBuf> {
    let kubeconfig = dir.join("gangline.kubeconfig");
    manifests::service_account_kubeconfig(client, admin, ACCOUNT, &kubeconfig).await?;
    Ok(kubeconfig)
}

/// Installs the kinds and what else is shipped, starts the scheduler and waits until it is ready.
pub(crate) async fn start(client: &Client, admin: &Path, dir: &Path) -> Result<Scheduler> {
    manifests::install(client, Path::new(env!("CARGO_MANIFEST_DIR"))).await?;
    Scheduler::start(&account(client, admin, dir).await?).await
}
