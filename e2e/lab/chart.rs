//! `lab chart`: checks the chart and writes `manifests/` anew from it.

use crate::support::chart;
use crate::support::error::Result;
use crate::support::go_build;
use crate::support::tools::Program;

/// Runs `helm lint`, then writes what the chart renders to.
pub(crate) fn run() -> Result<()> {
    go_build::ensure(&[Program::Helm])?;
    let helm = Program::Helm.find()?;
    chart::lint(&helm)?;
    chart::write_manifests(&helm)
}
