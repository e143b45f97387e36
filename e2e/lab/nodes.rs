//! `lab nodes`: what nodes that run containers need on this machine; `lab worker`: the image that tests run on others.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::error::{During, Error, Result};
use crate::support::go_build;
use crate::support::real::{self, WORKER};
use crate::support::tools::Program;

/// Arguments of `lab nodes`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install the Debian packages that are missing (as root)
    #[arg(long)]
    install: bool,
}

/// Says in one line why there can be none, and nothing if there can.
pub(crate) fn run(args: &Args) -> Result<()> {
    let packages = real::packages();
    if args.install && !packages.is_empty() {
        apt_get(&["update", "--quiet"])?;
        apt_get(&[&["install", "--quiet", "--yes", "--no-install-recommends"], &packages[..]].concat())?;
    }
    if let Some(why) = real::missing() {
        println!("{why}");
    }
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let step = format!("apt-get {}", arguments.join(" "));
    let status = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
    let status = status.during(&step)?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{step}: {status}"))) }
}

/// Arguments of `lab worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// Where to write the tar file (OCI image layout)
    file: PathBuf,
}

/// Writes the image of the tests' containers, for nodes of a cluster that is there.
pub(crate) fn write_worker(args: &WorkerArgs) -> Result<()> {
    go_build::ensure(&[Program::Pause])?;
    fs::write(&args.file, real::image_as(&[WORKER])?).during(format!("writing {}", args.file.display()))
}
