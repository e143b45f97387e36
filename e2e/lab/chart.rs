//! `lab chart`: checks the chart, writes `manifests/` anew from it, and tries it on a control plane of its own.

use std::path::Path;

use crate::support::chart;
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Result};
use crate::support::go_build;
use crate::support::policies;
use crate::support::progress::Progress;
use crate::support::tools::Program;
use crate::support::values;

/// Runs `helm lint`, writes what the chart renders to, then installs, attacks, upgrades and uninstalls it.
pub(crate) fn run() -> Result<()> {
    go_build::ensure(&[&Program::CONTROL_PLANE[..], &[Program::Helm]].concat())?;
    let helm = Program::Helm.find()?;
    chart::lint(&helm)?;
    chart::write_manifests(&helm)?;
    values::are_honoured(&helm)?;
    println!("linted; manifests/ is what the chart renders to; every value is honoured");
    let runtime = tokio::runtime::Runtime::new().during("starting the runtime")?;
    runtime.block_on(try_out(&helm))
}

async fn try_out(helm: &Path) -> Result<()> {
    let progress = Progress::start("trying the chart on a control plane of its own");
    let options = Options { kwok: false, audit: false, ..Options::default() };
    let plane = ControlPlane::start_telling(options, |step| progress.now(step)).await?;
    let kubeconfig = plane.kubeconfig();
    progress.now("installing");
    chart::install(helm, &kubeconfig)?;
    progress.now("attacking its policies");
    policies::hold(&kubeconfig).await?;
    progress.now("upgrading, and back");
    chart::upgrade(helm, &kubeconfig)?;
    chart::other_policies(helm, &kubeconfig)?;
    policies::injection_is_allowed_and_no_more(&kubeconfig).await?;
    policies::makers_are_let_in(&kubeconfig).await?;
    policies::bindings_are_judged(&kubeconfig).await?;
    progress.now("uninstalling");
    chart::uninstall(helm, &kubeconfig).await?;
    progress.done("the chart installs, upgrades, rolls back and uninstalls, and its policies hold");
    Ok(())
}
