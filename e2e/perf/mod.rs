//! `lab perf`: how fast pods are bound end to end, beside a scheduler that decides nothing.
//!
//! Both sides of a run have a control plane of their own: store and server, nodes that are objects only, no controllers.
//! Everything that is to be scheduled exists before the schedulers start. What happened is read from the audit logs. What
//! takes more than a scheduler and what waits for it is measured apart ([`Apart`]).

mod contended;
mod contestant;
mod dialect;
mod figures;
mod measure;
pub(crate) mod null;
mod proc;
mod report;
mod shifts;
mod side;
mod swaps;
mod takeover;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use crate::gangline;
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
    /// Only these contestants; the ceiling alone is measured beside itself, which shows how exact this is. Gangs in the words of
    /// Koordinator, scheduler-plugins and Volcano are measured only where they are named
    #[arg(long, value_enum, value_delimiter = ',')]
    contestants: Vec<Contestant>,
    /// Only these of what is measured apart
    #[arg(long, value_enum, value_delimiter = ',')]
    apart: Vec<Apart>,
    /// Another build of gangline, whose swaps are measured too
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// Leave each run's logs in target/perf
    #[arg(long)]
    keep: bool,
}

/// What is measured apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Apart {
    /// Swaps while other pods are bound
    Swaps,
    /// Swaps on full nodes, whose room kube-scheduler's pods wait for
    Contended,
    /// A second replica takes over, with 10 000 pods
    Handover,
    /// The only replica begins, with 100 000 pods
    Restart,
}

impl Apart {
    const ALL: [Self; 4] = [Self::Swaps, Self::Contended, Self::Handover, Self::Restart];
}

/// The figures of what is measured apart.
#[derive(Default, Serialize)]
struct Others {
    swaps: Vec<swaps::Swaps>,
    contended: Vec<contended::Contended>,
    gaps: Vec<takeover::Gap>,
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
    contestant::prepare(&args.contestants)?;
    go_build::ensure(&[Program::Etcd, Program::ApiServer, Program::KubeScheduler])?;
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/perf");
    fs::create_dir_all(&dir).during("making target/perf")?;
    let runtime = tokio::runtime::Runtime::new().during("starting the runtime")?;
    let (mut all, mut others) = (Vec::new(), Others::default());
    for plan in plans(args) {
        all.extend(runtime.block_on(one(plan, args.keep.then_some(&dir)))?);
        write(&dir.join("runs.json"), &all)?;
    }
    for round in 1..=args.rounds {
        for apart in apart(args) {
            runtime.block_on(others.measure(apart, round, args.beside.as_ref()))?;
            write(&dir.join("apart.json"), &others)?;
        }
    }
    if !all.is_empty() {
        report::print(&all);
    }
    others.print();
    println!("\nRaw figures: {}", dir.display());
    report::check(&all)
}

/// Where only some workloads or contestants are wanted, nothing is measured apart unless that is wanted too.
fn apart(args: &Args) -> Vec<Apart> {
    let all = args.workloads.is_empty() && args.contestants.is_empty();
    Apart::ALL.into_iter().filter(|one| args.apart.contains(one) || all && args.apart.is_empty()).collect()
}

impl Others {
    async fn measure(&mut self, apart: Apart, round: u32, beside: Option<&PathBuf>) -> Result<()> {
        let builds = match apart {
            Apart::Swaps | Apart::Contended => builds(beside)?,
            Apart::Handover | Apart::Restart => vec![("gangline", gangline::binary()?)],
        };
        for (build, binary) in builds {
            let what = format!("round {round}, {} of {build}", name(apart));
            let progress = Progress::start(&what);
            let sentences = match apart {
                Apart::Swaps => {
                    self.swaps.push(swaps::run(build, &binary).await?);
                    self.swaps.last().map(swaps::Swaps::sentence).into_iter().collect()
                }
                Apart::Contended => {
                    self.contended.push(contended::run(build, &binary).await?);
                    self.contended.last().map(contended::Contended::sentence).into_iter().collect()
                }
                Apart::Handover => self.add(takeover::handover().await?),
                Apart::Restart => self.add(takeover::restart().await?),
            };
            progress.done(&format!("{what}: {}", sentences.join("; ")));
        }
        Ok(())
    }

    fn add(&mut self, gaps: Vec<takeover::Gap>) -> Vec<String> {
        let sentences = gaps.iter().map(takeover::Gap::sentence).collect();
        self.gaps.extend(gaps);
        sentences
    }

    fn print(&self) {
        swaps::print(&self.swaps);
        contended::print(&self.contended);
        takeover::print(&self.gaps);
    }
}

fn name(apart: Apart) -> String {
    apart.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The builds that are measured: this one, and another one if it is named.
fn builds(beside: Option<&PathBuf>) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut builds = vec![("gangline", gangline::binary()?)];
    builds.extend(beside.map(|binary| ("the one beside", binary.clone())));
    Ok(builds)
}

/// Rounds outermost, so that whatever disturbs the machine for a while disturbs all contestants.
fn plans(args: &Args) -> Vec<Plan> {
    if !args.apart.is_empty() {
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
    if !wanted.is_empty() && wanted.iter().all(|contestant| contestant.is_ceiling()) {
        return wanted.to_vec();
    }
    let is_wanted =
        |contestant: &Contestant| if wanted.is_empty() { contestant.is_usual() } else { wanted.contains(contestant) };
    let all = contestant::of(workload).iter().copied().filter(|contestant| !contestant.is_ceiling());
    all.filter(is_wanted).flat_map(|contestant| std::iter::repeat_n(contestant, contestant.turns())).collect()
}

async fn one(plan: Plan, keep: Option<&PathBuf>) -> Result<[Figures; 2]> {
    let what = format!("round {}, {}, {}", plan.round, plan.workload, plan.contestant);
    let progress = Progress::start(&what);
    let figures = measure::run(plan, keep.map(PathBuf::as_path), |step| progress.now(step)).await?;
    progress.done(&format!("{what}: {}", figures[1].sentence()));
    Ok(figures)
}

fn write(path: &Path, all: &impl Serialize) -> Result<()> {
    let step = format!("writing {}", path.display());
    fs::write(path, serde_json::to_string_pretty(all).during(&step)?).during(&step)
}
