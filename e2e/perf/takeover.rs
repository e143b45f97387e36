//! How long a cluster has nobody who decides: when who leads ends or is killed and a second replica stands by, and when the
//! only one begins anew, with everything to read.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::json;

use super::contestant::{Contestant, Running};
use super::swaps::is_bound;
use super::workload::{self, MEMBER, Workload};
use crate::gangline;
use crate::support::audit;
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{Error, Result};
use crate::support::nodes::NodeSet;
use crate::support::objects::Objects;
use crate::support::scheduler::{Launch, Scheduler};

/// What runs already when a replica takes over: 10 000 pods.
const RUNNING: Workload = Workload { gangs: 500, size: 20 };
/// Nodes for that.
const NODES: u32 = 1_000;
/// The gangs that come while nobody decides have numbers from this one on.
const LATER: usize = 10_000;
/// Members of each.
const SIZE: usize = 20;
/// Pods that run already when the only one begins anew.
const RESTART_PODS: usize = 100_000;
/// What waits for it.
const WAITING: usize = 20;

/// One time without anybody who decides.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Gap {
    how: How,
    /// Pods that run meanwhile.
    pods: usize,
    /// From the end of who decided, or the start of who begins, to the first Binding of what waits.
    seconds: f64,
}

/// Why nobody decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// Who leads is told to end.
    Ended,
    /// Who leads is killed.
    Killed,
    /// The only one begins.
    Began,
    /// The ceiling begins: it reads all pods and nodes once, as one answer each.
    CeilingBegan,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "who leads is told to end, a second replica stands by",
            Self::Killed => "who leads is killed, a second replica stands by",
            Self::Began => "gangline begins",
            Self::CeilingBegan => "null (the ceiling) begins",
        })
    }
}

/// Two replicas with the timing that users have, in turns.
pub(super) async fn handover() -> Result<Vec<Gap>> {
    let plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
    Contestant::Direct.install(&plane).await?;
    plane.add_nodes(&NodeSet::of_cpus("node", NODES, 32)).await?;
    let client = plane.client();
    RUNNING.create(&client, Contestant::Direct).await?;
    let launch = gangline::account(&client, &plane.kubeconfig(), plane.dir()).await?;
    let named =
        |name: &str| Launch { name: name.to_owned(), args: vec!["--leader-elect=true".to_owned()], ..launch.clone() };
    let mut leads = Scheduler::start(&named("first")).await?;
    all_bound(&plane, RUNNING.pods()).await?;
    let mut stands_by = Scheduler::start(&named("second")).await?;
    let mut gaps = Vec::new();
    for (number, how) in [How::Ended, How::Killed].into_iter().enumerate() {
        let from = Timestamp::now();
        if how == How::Killed {
            leads.kill9()?;
        } else {
            leads.terminate()?;
        }
        let gang = Workload { gangs: 1, size: SIZE };
        gang.create_from(&client, Contestant::Direct, LATER + number).await?;
        all_bound(&plane, RUNNING.pods() + (number + 1) * SIZE).await?;
        let first = first_binding(&plane, &format!("{MEMBER}{}-", LATER + number))?;
        gaps.push(Gap { how, pods: RUNNING.pods(), seconds: first.duration_since(from).as_secs_f64() });
        leads.restart().await?;
        std::mem::swap(&mut leads, &mut stands_by);
    }
    Ok(gaps)
}

/// One that begins with very many pods that run, after the other each on a control plane of its own.
pub(super) async fn restart() -> Result<Vec<Gap>> {
    let mut gaps = Vec::new();
    for (how, contestant) in [(How::CeilingBegan, Contestant::Null), (How::Began, Contestant::Direct)] {
        let plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
        contestant.install(&plane).await?;
        plane.add_nodes(&NodeSet::of_cpus("node", NODES, 32)).await?;
        let client = plane.client();
        let running = (0..RESTART_PODS).map(|number| {
            let mut pod = Workload { gangs: 1, size: 1 }.pod(0, 0, contestant);
            pod["metadata"] = json!({"name": format!("running-{number}")});
            pod["spec"]["nodeName"] = json!(format!("node-{}", number % NODES as usize));
            pod
        });
        workload::post_pods(&client, running).await?;
        let waiting = Workload { gangs: WAITING, size: 1 };
        waiting.create(&client, contestant).await?;
        let from = Timestamp::now();
        let _running: Running = contestant.start(&plane, Workload { gangs: RESTART_PODS + WAITING, size: 1 }).await?;
        let pods = Objects::<Pod>::of(&client, "default").within(Duration::from_secs(120));
        pods.wait(&format!("{MEMBER}0-0"), "is bound", is_bound).await?;
        let first = first_binding(&plane, MEMBER)?;
        gaps.push(Gap { how, pods: RESTART_PODS, seconds: first.duration_since(from).as_secs_f64() });
    }
    Ok(gaps)
}

async fn all_bound(plane: &ControlPlane, count: usize) -> Result<()> {
    let pods = Objects::<Pod>::of(&plane.client(), "default").within(Duration::from_secs(120));
    let bound = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == count;
    pods.wait_all("", &format!("{count} pods are bound"), bound).await.map(drop)
}

/// When the first pod whose name begins like this was bound.
fn first_binding(plane: &ControlPlane, prefix: &str) -> Result<Timestamp> {
    let records = audit::read(&plane.audit_log())?;
    let bound = records.iter().filter(|record| record.bound().is_some_and(|(_, name)| name.starts_with(prefix)));
    bound.map(|record| record.stage_timestamp).min().ok_or_else(|| Error::new("no Binding is in the audit log"))
}

impl Gap {
    /// It in a line.
    pub(super) fn sentence(&self) -> String {
        format!("{}, {} pods run: {:.1} s until the first Binding", self.how, self.pods, self.seconds)
    }
}

/// Prints how long each way took, one row for each.
pub(super) fn print(all: &[Gap]) {
    if all.is_empty() {
        return;
    }
    println!("\n| nobody decides since | pods that run | until the first Binding, s |\n|---|---:|---|");
    let mut ways: Vec<(How, usize)> = all.iter().map(|gap| (gap.how, gap.pods)).collect();
    ways.sort_unstable();
    ways.dedup();
    for (how, pods) in ways {
        let gaps = all.iter().filter(|gap| (gap.how, gap.pods) == (how, pods));
        let seconds: Vec<String> = gaps.map(|gap| format!("{:.1}", gap.seconds)).collect();
        println!("| {how} | {pods} | {} |", seconds.join(" / "));
    }
}
