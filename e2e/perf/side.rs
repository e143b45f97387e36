//! One side of a run: a control plane with its objects, who schedules there, and how far that is.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::Plan;
use super::contestant::Running;
use super::figures::{Cpu, Figures, Used};
use super::proc;
use super::shifts::Shifts;
use super::workload::MEMBER;
use crate::support::audit;
use crate::support::components::{Component, Options};
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Result};
use crate::support::nodes::NodeSet;

/// CPUs of a node.
const NODE_CPU: u32 = 32;

/// What works for a binding besides the scheduler; clients of the others first.
const COMPONENTS: [Component; 2] = [Component::ApiServer, Component::Etcd];

/// A control plane where everything waits for its scheduler. It stands still.
pub(super) struct Ready {
    plan: Plan,
    plane: ControlPlane,
}

impl Ready {
    /// Makes the control plane and its objects.
    pub(super) async fn make(plan: Plan) -> Result<Self> {
        let mut plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
        plan.contestant.install(&plane).await?;
        plane.add_nodes(&NodeSet::of_cpus("node", plan.nodes, NODE_CPU)).await?;
        plan.workload.create(&plane.client(), plan.contestant).await?;
        COMPONENTS.into_iter().try_for_each(|component| plane.pause(component))?;
        Ok(Self { plan, plane })
    }

    /// Starts the scheduler; it stands still too, with its first instruction at most done.
    pub(super) async fn start(self) -> Result<Side> {
        let Self { plan, mut plane } = self;
        COMPONENTS.into_iter().rev().try_for_each(|component| plane.resume(component))?;
        let mut log = File::open(plane.audit_log()).during(READING)?;
        log.seek(SeekFrom::End(0)).during(READING)?;
        let running = plan.contestant.start(&plane, plan.workload).await?;
        let mut side = Side {
            plan,
            plane,
            running,
            shifts: Shifts::default(),
            log,
            text: Vec::new(),
            bound: 0,
            marks: (None, None),
        };
        side.pause()?;
        Ok(side)
    }
}

const READING: &str = "reading the audit log";

/// A side at work. It stands still except during its shifts.
pub(super) struct Side {
    plan: Plan,
    // The scheduler ends before the server that it talks to.
    running: Running,
    plane: ControlPlane,
    shifts: Shifts,
    log: File,
    text: Vec<u8>,
    bound: usize,
    /// Used between a fifth and four fifths of the bindings: without anybody's start, and without what comes after.
    marks: (Option<Mark>, Option<Mark>),
}

impl Side {
    /// Whether the audit log shows a binding of every pod.
    pub(super) const fn is_done(&self) -> bool {
        self.bound >= self.plan.workload.pods()
    }

    /// How far it is: `137 of 1000`.
    pub(super) fn progress(&self) -> String {
        format!("{} of {}", self.bound, self.plan.workload.pods())
    }

    /// Lets it run for so long, alone; looks at it when it stands still again.
    pub(super) async fn shift(&mut self, long: Duration) -> Result<()> {
        let from = Timestamp::now();
        self.resume()?;
        tokio::time::sleep(long).await;
        self.pause()?;
        self.shifts.add(from, Timestamp::now());
        self.running.check_running()?;
        self.count()
    }

    /// Lets it run on.
    pub(super) fn resume(&mut self) -> Result<()> {
        COMPONENTS.into_iter().rev().try_for_each(|component| self.plane.resume(component))?;
        self.running.resume()
    }

    fn pause(&mut self) -> Result<()> {
        self.running.pause()?;
        COMPONENTS.into_iter().try_for_each(|component| self.plane.pause(component))
    }

    fn count(&mut self) -> Result<()> {
        self.log.read_to_end(&mut self.text).during(READING)?;
        let whole = self.text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.text.drain(..whole).collect();
        self.bound += String::from_utf8_lossy(&lines).lines().filter(|line| is_binding(line)).count();
        let pods = self.plan.workload.pods();
        if (pods / 5..=pods * 4 / 5).contains(&self.bound) {
            let mark = Mark::take(&self.plane, &self.running, self.bound)?;
            let place = if self.marks.0.is_none() { &mut self.marks.0 } else { &mut self.marks.1 };
            *place = Some(mark);
        }
        Ok(())
    }

    /// Ends it and says what it comes to. The logs stay in the directory, if one is named.
    pub(super) fn finish(self, keep: Option<&Path>) -> Result<Figures> {
        let Self { plan, running, plane, shifts, marks: (first, last), .. } = self;
        let per_bind = first.zip(last).and_then(|(first, last)| last.per_bind_since(&first));
        let pid = running.pid();
        let used = Used { scheduler_cpu: proc::cpu_seconds(pid)?, per_bind, peak_mib: proc::peak_mib(pid)? };
        if let Some(dir) = keep {
            keep_logs(plan, &plane, dir)?;
        }
        drop(running);
        Ok(Figures::of(plan, &shifts, used, &audit::read(&plane.audit_log())?))
    }
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
        let [api_server, etcd] = COMPONENTS.map(of);
        Ok(Self {
            bound,
            cpu: Cpu { api_server: api_server?, etcd: etcd?, scheduler: proc::cpu_seconds(running.pid())? },
        })
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

/// Without reading all of it: nothing is measured meanwhile, but people wait.
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
