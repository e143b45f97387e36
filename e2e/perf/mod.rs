//! `lab perf`: how fast pods are bound end to end, beside a scheduler that decides nothing.
//!
//! Both sides of a run have a control plane of their own: store and server, nodes that are objects only, no controllers.
//! Everything that is to be scheduled exists before the schedulers start. What happened is read from the audit logs. Swaps
//! are measured apart, with members that come while other pods are bound.

mod contestant;
mod figures;
mod measure;
pub(crate) mod null;
mod proc;
mod report;
mod shifts;
mod side;
mod swaps;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::support::error::{During, Result};
use crate::support::go_build;
use crate::support::progress::Progress;
use crate::support::tools::Program;
use contestant::Contestant;
use figures::Figures;
use workload::Workload;

/// Arguments of `lab perf`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often everything is measured; contestants take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// A tenth of the pods, to try
    #[arg(long)]
    quick: bool,
    /// Nodes that exist as objects
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    nodes: u32,
    /// Only these workloads
    #[arg(long, value_enum, value_delimiter = ',')]
    workloads: Vec<workload::Name>,
    /// Only these contestants; the ceiling alone is measured beside itself, which shows how exact this is
    #[arg(long, value_enum, value_delimiter = ',')]
    contestants: Vec<Contestant>,
    /// Measure swaps alone
    #[arg(long)]
    swaps: bool,
    /// Another build of gangline, whose swaps are measured too
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// Leave each run's logs in target/perf
    #[arg(long)]
    keep: bool,
}

/// One run that is to be made.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Its place among all runs, from 0.
    turn: usize,
    round: u32,
    nodes: u32,
    workload: Workload,
    contestant: Contestant,
}

/// Measures, writes the raw figures and prints the table.
pub(crate) fn run(args: &Args) -> Result<()> {
    contestant::check(&args.contestants)?;
    go_build::ensure(&[Program::Etcd, Program::ApiServer, Program::KubeScheduler])?;
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/perf");
    fs::create_dir_all(&dir).during("making target/perf")?;
    let runtime = tokio::runtime::Runtime::new().during("starting the runtime")?;
    let (mut all, mut swaps) = (Vec::new(), Vec::new());
    for plan in plans(args) {
        all.extend(runtime.block_on(one(plan, args.keep.then_some(&dir)))?);
        write(&dir.join("runs.json"), &all)?;
    }
    for round in 1..=rounds_of_swaps(args) {
        for (build, binary) in swaps::builds(args.beside.as_ref())? {
            swaps.push(runtime.block_on(one_of_swaps(round, build, &binary))?);
            write(&dir.join("swaps.json"), &swaps)?;
        }
    }
    if !all.is_empty() {
        report::print(&all);
    }
    swaps::print(&swaps);
    println!("\nRaw figures: {}", dir.display());
    report::check(&all)
}

/// Where only some are wanted, swaps are not among them unless they are wanted too.
const fn rounds_of_swaps(args: &Args) -> u32 {
    if args.swaps || args.workloads.is_empty() && args.contestants.is_empty() { args.rounds } else { 0 }
}

async fn one_of_swaps(round: u32, build: &str, binary: &Path) -> Result<swaps::Swaps> {
    let what = format!("round {round}, swaps of {build}");
    let progress = Progress::start(&what);
    let swaps = swaps::run(build, binary).await?;
    progress.done(&format!("{what}: {}", swaps.sentence()));
    Ok(swaps)
}

/// Rounds outermost, so that whatever disturbs the machine for a while disturbs all contestants.
fn plans(args: &Args) -> Vec<Plan> {
    if args.swaps {
        return Vec::new();
    }
    let workloads = workload::Name::ALL.into_iter();
    let workloads = workloads.filter(|name| args.workloads.is_empty() || args.workloads.contains(name));
    let workloads: Vec<Workload> = workloads.map(|name| name.of(args.quick)).collect();
    let mut plans = Vec::new();
    for round in 1..=args.rounds {
        let repeated = workloads.iter().flat_map(|workload| (0..workload.repeats()).map(move |_| *workload));
        for workload in repeated {
            for contestant in beside_the_ceiling(workload, &args.contestants) {
                plans.push(Plan { turn: plans.len(), round, nodes: args.nodes, workload, contestant });
            }
        }
    }
    plans
}

/// Who is measured, in order; the ceiling itself only if nobody else is wanted.
fn beside_the_ceiling(workload: Workload, wanted: &[Contestant]) -> Vec<Contestant> {
    if wanted == [Contestant::Null] {
        return wanted.to_vec();
    }
    let is_wanted = |contestant: &Contestant| wanted.is_empty() || wanted.contains(contestant);
    let all = contestant::of(workload).iter().copied().filter(|contestant| *contestant != Contestant::Null);
    all.filter(is_wanted).flat_map(|contestant| std::iter::repeat_n(contestant, contestant.turns())).collect()
}

async fn one(plan: Plan, keep: Option<&PathBuf>) -> Result<[Figures; 2]> {
    let what = format!("round {}, {}, {}", plan.round, plan.workload, plan.contestant);
    let progress = Progress::start(&what);
    let figures = measure::run(plan, keep.map(PathBuf::as_path), |step| progress.now(step)).await?;
    progress.done(&format!("{what}: {}", figures[1].sentence()));
    Ok(figures)
}

fn write(path: &Path, all: &[impl Serialize]) -> Result<()> {
    let step = format!("writing {}", path.display());
    fs::write(path, serde_json::to_string_pretty(all).during(&step)?).during(&step)
}
