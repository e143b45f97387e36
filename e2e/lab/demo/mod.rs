//! `lab demo`: the examples of this repository on a control plane of its own, told step by step, and the proof.

mod proof;
mod scene;
mod show;
mod story;

use std::path::PathBuf;

use kube::Client;

use super::gangline;
use super::instance::{self, Nodes, UpArgs};
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Result};
use crate::support::go_build;
use crate::support::kubeconfig;
use crate::support::nodes::NodeSet;
use crate::support::progress::Progress;
use crate::support::scheduler::Scheduler;
use crate::support::tools::Program;
use show::Show;

/// Size of a node: small, so that the examples' gangs need several.
const NODE_CPU: u32 = 2;

/// Arguments of `lab demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pretended nodes
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(6..=1000))]
    nodes: u32,
    /// Leave the control plane and the scheduler running, as `up` does
    #[arg(long)]
    keep: bool,
}

/// Where the story is played. Dropping it ends what it owns, the scheduler first.
struct Stage {
    client: Client,
    audit_log: PathBuf,
    _owned: Option<(Scheduler, ControlPlane)>,
}

/// Plays the story; fails if the proof does.
pub(crate) fn run(args: &Args) -> Result<()> {
    gangline::binary()?;
    go_build::ensure(&[&Program::CONTROL_PLANE[..], &[Program::Kubectl]].concat())?;
    let runtime = tokio::runtime::Runtime::new().during("starting the runtime")?;
    let what = format!("a control plane with {} pretended nodes, and gangline on it", args.nodes);
    let kept = args.keep.then(|| instance::start(&up_args(args))).transpose()?;
    let result = runtime.block_on(async {
        let stage = match &kept {
            Some(instance) => kept_stage(instance).await?,
            None => own_stage(args.nodes, &what).await?,
        };
        play(&stage, args.keep).await
    });
    match &kept {
        Some(instance) => usage(instance)?,
        None => println!("\nmake demo KEEP=1 leaves it all running, to look around with kubectl."),
    }
    result
}

async fn play(stage: &Stage, keep: bool) -> Result<()> {
    let mut show = Show::start(&stage.client);
    let played = story::play(&stage.client, &mut show, keep).await;
    show.end();
    played?;
    proof::give(&stage.client, &stage.audit_log).await
}

/// A stage that goes with this process.
async fn own_stage(nodes: u32, what: &str) -> Result<Stage> {
    let progress = Progress::start(&format!("starting {what}"));
    let plane = ControlPlane::start_telling(Options::default(), |step| progress.now(step)).await?;
    plane.add_nodes(&NodeSet::of_cpus("node", nodes, NODE_CPU)).await?;
    progress.now("starting gangline");
    let scheduler = gangline::start(&plane.client(), &plane.kubeconfig(), plane.dir()).await?;
    progress.done(what);
    let (client, audit_log) = (plane.client(), plane.audit_log());
    Ok(Stage { client, audit_log, _owned: Some((scheduler, plane)) })
}

/// A stage that stays.
async fn kept_stage(instance: &instance::Place) -> Result<Stage> {
    let client = kubeconfig::client(&instance.kubeconfig()).await?;
    Ok(Stage { client, audit_log: instance.state_dir()?.join("audit.log"), _owned: None })
}

fn up_args(args: &Args) -> UpArgs {
    UpArgs { nodes: Nodes::Pretended(args.nodes), node_cpu: NODE_CPU, gangline: true, ..UpArgs::default() }
}

fn usage(instance: &instance::Place) -> Result<()> {
    println!("\nIt is still there. Look around:\n");
    instance.say_environment()?;
    println!(
        "  alias gangline={}

  kubectl get taskgroups -o wide
  kubectl get pods -o wide
  gangline queue
  gangline why tg/too-big

`make down` ends it.",
        gangline::binary()?.display()
    );
    Ok(())
}
