//! One run: a control plane, the objects, the contestant, and what is read from it all when every pod has a node.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Plan;
use super::contestant::Running;
use super::figures::{Cpu, Figures, Used};
use super::proc;
use super::workload::MEMBER;
use crate::support::audit;
use crate::support::components::{Component, Options};
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Error, Result};
use crate::support::nodes::NodeSet;

/// How often the audit log is read for new bindings.
const POLL: Duration = Duration::from_millis(200);

/// How long a run may take: the slowest contestant needs half a minute.
const GIVE_UP: Duration = Duration::from_secs(300);

/// How long the rest of a scheduler's work is waited for when every pod has a node: status and events.
const SETTLE: Duration = Duration::from_secs(4);

/// CPUs of a node.
const NODE_CPU: u32 = 32;

/// Makes one run.
pub(super) async fn run(plan: Plan, keep: Option<&PathBuf>, tell: impl Fn(&str)) -> Result<Figures> {
    let plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
    plan.contestant.install(&plane).await?;
    tell("making the nodes and pods");
    plane.add_nodes(&NodeSet::of_cpus("node", plan.nodes, NODE_CPU)).await?;
    plan.workload.create(&plane.client(), plan.contestant).await?;
    tell("scheduling");
    let began = jiff::Timestamp::now();
    let mut running = plan.contestant.start(&plane, plan.workload).await?;
    let per_bind = wait_bound(&plane, plan.workload.pods(), &mut running).await?;
    tokio::time::sleep(SETTLE).await;
    let used =
        Used { scheduler_cpu: proc::cpu_seconds(running.pid())?, per_bind, peak_mib: proc::peak_mib(running.pid())? };
    if let Some(dir) = keep {
        keep_logs(plan, &plane, dir)?;
    }
    drop(running);
    Ok(Figures::of(plan, began, used, &audit::read(&plane.audit_log())?))
}

/// What everybody had used when so many pods were bound.
struct Mark {
    bound: usize,
    cpu: Cpu,
}

impl Mark {
    fn take(plane: &ControlPlane, running: &Running, bound: usize) -> Result<Self> {
        let pids = plane.pids();
        let of = |component| pids.get(&component).map_or(Ok(0.0), |pid| proc::cpu_seconds(*pid));
        let (api_server, etcd) = (of(Component::ApiServer)?, of(Component::Etcd)?);
        Ok(Self { bound, cpu: Cpu { api_server, etcd, scheduler: proc::cpu_seconds(running.pid())? } })
    }

    /// `None` if nothing was bound in between.
    fn per_bind_since(&self, earlier: &Self) -> Option<Cpu> {
        let bound = self.bound.checked_sub(earlier.bound).filter(|bound| *bound > 0)? as f64;
        Some(Cpu {
            api_server: (self.cpu.api_server - earlier.cpu.api_server) / bound,
            etcd: (self.cpu.etcd - earlier.cpu.etcd) / bound,
            scheduler: (self.cpu.scheduler - earlier.cpu.scheduler) / bound,
        })
    }
}

/// Waits until the audit log shows a binding of every pod. Nothing is asked of the server meanwhile. Returns what a
/// binding cost between a fifth and four fifths of them: without anybody's start, and without what comes after.
async fn wait_bound(plane: &ControlPlane, pods: usize, running: &mut Running) -> Result<Option<Cpu>> {
    let step = "reading the audit log";
    let give_up = Instant::now() + GIVE_UP;
    let mut file = File::open(plane.audit_log()).during(step)?;
    file.seek(SeekFrom::End(0)).during(step)?;
    let (mut text, mut bound, mut first, mut last) = (Vec::new(), 0, None, None);
    while bound < pods {
        running.check_running()?;
        if Instant::now() > give_up {
            return Err(Error::new(format!("only {bound} of {pods} pods were bound in {} s", GIVE_UP.as_secs())));
        }
        tokio::time::sleep(POLL).await;
        file.read_to_end(&mut text).during(step)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = text.drain(..whole).collect();
        bound += String::from_utf8_lossy(&lines).lines().filter(|line| is_binding(line)).count();
        if (pods / 5..=pods * 4 / 5).contains(&bound) {
            let mark = if first.is_none() { &mut first } else { &mut last };
            *mark = Some(Mark::take(plane, running, bound)?);
        }
    }
    Ok(first.zip(last).and_then(|(first, last)| last.per_bind_since(&first)))
}

/// Without reading all of it: this runs while the contestant needs the machine.
fn is_binding(line: &str) -> bool {
    let pods = format!("/pods/{MEMBER}");
    (line.contains("/binding?") || line.contains("/binding\"")) && line.contains(&pods) && line.contains("\"code\":201")
}

fn keep_logs(plan: Plan, plane: &ControlPlane, dir: &Path) -> Result<()> {
    let (gangs, size) = (plan.workload.gangs, plan.workload.size);
    let name = format!("{:03}-{gangs}x{size}-{}-{}", plan.turn, plan.contestant.name(), plan.round);
    for file in ["audit.log", "gangline.log", "kube-scheduler.log"] {
        let from = plane.dir().join(file);
        if from.is_file() {
            fs::copy(&from, dir.join(format!("{name}-{file}"))).during("keeping logs")?;
        }
    }
    Ok(())
}
