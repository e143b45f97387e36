//! `lab tools`: builds the programs that a control plane needs.

use crate::support::error::{Error, Result};
use crate::support::go_build;
use crate::support::real;
use crate::support::tools::Program;

/// Arguments of `lab tools`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these programs, by name [default: all that can run here]
    programs: Vec<String>,
}

/// Builds what is missing and prints where everything is.
pub(crate) fn run(args: &Args) -> Result<()> {
    let programs = chosen(&args.programs)?;
    go_build::ensure(&programs)?;
    for program in programs {
        println!("{:<24} {:<9} {}", program.name(), program.module().version(), program.path()?.display());
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Program>> {
    if names.is_empty() {
        let why = real::missing();
        if let Some(why) = &why {
            eprintln!("left out: kubelet and pause ({why})");
        }
        let wanted = |program: &Program| why.is_none() || !matches!(program, Program::Kubelet | Program::Pause);
        return Ok(Program::ALL.into_iter().filter(wanted).collect());
    }
    let known = Program::ALL.map(Program::name).join(", ");
    let find = |name: &String| {
        Program::named(name).ok_or_else(|| Error::new(format!("no program {name:?}; there are {known}")))
    };
    names.iter().map(find).collect()
}
