//! Who schedules: Gangline in its ways, Kubernetes' own scheduler, and one that decides nothing.

use std::fmt;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use super::dialect::Words;
use super::workload::Workload;
use crate::gangline;
use crate::support::components;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Result};
use crate::support::go_build;
use crate::support::manifests;
use crate::support::process::{Process, Spec};
use crate::support::scheduler::Scheduler;
use crate::support::tools::Program;

/// Who schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Contestant {
    /// Binds every pod to the next node: the ceiling
    Null,
    /// Gangline without placeholders
    Direct,
    /// Gangline with placeholders for members that are missing: none is
    Missing,
    /// Makes, binds and deletes a placeholder for every pod and binds the pod then: the ceiling of those who do so too
    NullSwaps,
    /// Gangline with a placeholder for every member
    All,
    /// The same where pods declare their gangs in YuniKorn's words
    Yunikorn,
    /// Gangline without placeholders, of PodGroups of Koordinator
    Koordinator,
    /// The same where pods declare their gangs in Koordinator's annotations
    KoordinatorAnnotations,
    /// Gangline without placeholders, of PodGroups of scheduler-plugins
    Coscheduling,
    /// Gangline without placeholders, of PodGroups of Volcano
    Volcano,
    /// Kubernetes' own, with its rate limit lifted
    KubeScheduler,
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null (the ceiling)",
            Self::NullSwaps => "null with four writes a pod (the ceiling of the two below)",
            Self::Direct => "gangline, Direct",
            Self::Missing => "gangline, Placeholder (missing)",
            Self::All => "gangline, Placeholder (all)",
            Self::Yunikorn => "gangline, in YuniKorn's words (all)",
            Self::Koordinator => "gangline, PodGroups of Koordinator (Direct)",
            Self::KoordinatorAnnotations => "gangline, in Koordinator's annotations (Direct)",
            Self::Coscheduling => "gangline, PodGroups of scheduler-plugins (Direct)",
            Self::Volcano => "gangline, PodGroups of Volcano (Direct)",
            Self::KubeScheduler => "kube-scheduler, qps 5000",
        })
    }
}

/// Those that a workload can be given to. The ceiling, which comes first, runs beside each of the others.
pub(super) const fn of(workload: Workload) -> &'static [Contestant] {
    use Contestant::{
        All, Coscheduling, Direct, Koordinator, KoordinatorAnnotations, KubeScheduler, Missing, Null, NullSwaps,
        Volcano, Yunikorn,
    };
    if workload.has_gangs() {
        &[
            Null,
            Direct,
            Koordinator,
            KoordinatorAnnotations,
            Coscheduling,
            Volcano,
            Missing,
            NullSwaps,
            All,
            Yunikorn,
            KubeScheduler,
        ]
    } else {
        &[Null, Direct, KubeScheduler]
    }
}

/// An error if one of them could not run. What some need and most do not is built.
pub(super) fn prepare(wanted: &[Contestant]) -> Result<()> {
    if wanted.is_empty() || wanted.iter().any(|contestant| contestant.is_gangline()) {
        gangline::binary()?;
    }
    let words = wanted.iter().filter_map(|contestant| contestant.words());
    go_build::ensure(&words.flat_map(Words::programs).collect::<Vec<_>>())
}

impl Contestant {
    /// How often it is measured each time that a workload is: more often where it has a share of the ceiling to reach.
    pub(super) const fn turns(self) -> usize {
        if self.is_direct() { 3 } else { 1 }
    }

    /// Whether it is measured where nobody is named: others take their time only when they are asked for.
    pub(super) const fn is_usual(self) -> bool {
        match self {
            Self::Koordinator | Self::KoordinatorAnnotations | Self::Coscheduling | Self::Volcano => false,
            Self::Null
            | Self::Direct
            | Self::Missing
            | Self::NullSwaps
            | Self::All
            | Self::Yunikorn
            | Self::KubeScheduler => true,
        }
    }

    /// In whose words gangs are, where they are not TaskGroups.
    pub(super) const fn words(self) -> Option<Words> {
        match self {
            Self::Yunikorn => Some(Words::YuniKorn),
            Self::Koordinator => Some(Words::Koordinator),
            Self::KoordinatorAnnotations => Some(Words::KoordinatorAnnotations),
            Self::Coscheduling => Some(Words::Coscheduling),
            Self::Volcano => Some(Words::Volcano),
            Self::Null | Self::Direct | Self::Missing | Self::NullSwaps | Self::All | Self::KubeScheduler => None,
        }
    }

    /// Whether it decides nothing.
    pub(super) const fn is_ceiling(self) -> bool {
        matches!(self, Self::Null | Self::NullSwaps)
    }

    /// Whether it is Gangline without placeholders, in whose words ever gangs are.
    pub(super) const fn is_direct(self) -> bool {
        match self {
            Self::Direct | Self::Koordinator | Self::KoordinatorAnnotations | Self::Coscheduling | Self::Volcano => {
                true
            }
            Self::Null | Self::Missing | Self::NullSwaps | Self::All | Self::Yunikorn | Self::KubeScheduler => false,
        }
    }

    /// Who makes the same writes for each pod and decides nothing.
    pub(super) const fn ceiling(self) -> Self {
        match self {
            Self::NullSwaps | Self::All | Self::Yunikorn => Self::NullSwaps,
            Self::Null
            | Self::Direct
            | Self::Koordinator
            | Self::KoordinatorAnnotations
            | Self::Coscheduling
            | Self::Volcano
            | Self::Missing
            | Self::KubeScheduler => Self::Null,
        }
    }

    /// Whether it is Gangline.
    pub(super) const fn is_gangline(self) -> bool {
        match self {
            Self::Direct
            | Self::Missing
            | Self::All
            | Self::Yunikorn
            | Self::Koordinator
            | Self::KoordinatorAnnotations
            | Self::Coscheduling
            | Self::Volcano => true,
            Self::Null | Self::NullSwaps | Self::KubeScheduler => false,
        }
    }

    const fn is_kube_scheduler(self) -> bool {
        matches!(self, Self::KubeScheduler)
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Its name in the audit log.
    pub(super) const fn user(self) -> &'static str {
        if self.is_kube_scheduler() { "kube-scheduler" } else { "gangline" }
    }

    /// What pods name.
    pub(super) const fn scheduler_name(self) -> &'static str {
        if self.is_kube_scheduler() { "default-scheduler" } else { "gangline" }
    }

    /// The part of a TaskGroup that makes the difference; the others take plain pods.
    pub(super) fn gang_spec(self) -> Option<Value> {
        match self {
            Self::Direct => Some(json!({"reservation": "Direct"})),
            Self::Missing => Some(json!({"reservation": "Placeholder", "placeholderFor": "missing"})),
            Self::All => Some(json!({"reservation": "Placeholder", "placeholderFor": "all"})),
            // Pods, or the objects that they name, declare the TaskGroups.
            Self::Yunikorn | Self::Koordinator | Self::KoordinatorAnnotations | Self::Coscheduling | Self::Volcano => {
                None
            }
            Self::Null | Self::NullSwaps | Self::KubeScheduler => None,
        }
    }

    /// Installs what it needs before any object is made. Gangline runs with the admission policies that it ships; they
    /// would also tax the bindings of others, who run without.
    pub(super) async fn install(self, plane: &ControlPlane) -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut leave_out = vec!["Deployment"];
        if !self.is_gangline() {
            leave_out.extend(["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
        }
        manifests::install_without(&plane.client(), root, &leave_out).await?;
        match self.words() {
            Some(words) => words.install(plane).await,
            None => Ok(()),
        }
    }

    /// Starts it; does not wait.
    pub(super) async fn start(self, plane: &ControlPlane, workload: Workload) -> Result<Running> {
        match self {
            Self::Null => null(plane, workload, &[]).await.map(Running::Program),
            Self::NullSwaps => null(plane, workload, &["--swaps"]).await.map(Running::Program),
            Self::KubeScheduler => kube_scheduler(plane).map(Running::Program),
            Self::Direct
            | Self::Missing
            | Self::All
            | Self::Yunikorn
            | Self::Koordinator
            | Self::KoordinatorAnnotations
            | Self::Coscheduling
            | Self::Volcano => {
                let mut launch = gangline::account(&plane.client(), &plane.kubeconfig(), plane.dir()).await?;
                launch.args.extend(self.words().into_iter().flat_map(Words::args));
                launch.env.extend(std::env::var("RUST_LOG").map(|filter| ("RUST_LOG".to_owned(), filter)));
                Scheduler::spawn(&launch).map(Running::Gangline)
            }
        }
    }
}

/// A contestant at work.
pub(super) enum Running {
    /// Gangline.
    Gangline(Scheduler),
    /// Another one.
    Program(Process),
}

impl Running {
    /// Process id.
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Gangline(scheduler) => scheduler.pid(),
            Self::Program(process) => process.pid(),
        }
    }

    /// Stops it from running until [`Self::resume`].
    pub(super) fn pause(&self) -> Result<()> {
        match self {
            Self::Gangline(scheduler) => scheduler.pause(),
            Self::Program(process) => process.pause(),
        }
    }

    /// Lets it run on.
    pub(super) fn resume(&self) -> Result<()> {
        match self {
            Self::Gangline(scheduler) => scheduler.resume(),
            Self::Program(process) => process.resume(),
        }
    }

    /// An error if it has ended.
    pub(super) fn check_running(&mut self) -> Result<()> {
        match self {
            Self::Gangline(scheduler) => scheduler.check_running(),
            Self::Program(process) => process.check_running(),
        }
    }
}

/// With Gangline's account: what a request costs the server depends on who asks (an administrator's meet no role).
async fn null(plane: &ControlPlane, workload: Workload, more: &[&str]) -> Result<Process> {
    let kubeconfig = gangline::kubeconfig(&plane.client(), &plane.kubeconfig(), plane.dir()).await?;
    let kubeconfig = kubeconfig.display().to_string();
    let args = ["null", "--kubeconfig", &kubeconfig, "--pods", &workload.pods().to_string()].map(str::to_owned);
    let args = args.into_iter().chain(more.iter().map(|arg| (*arg).to_owned())).collect();
    let program = std::env::current_exe().during("finding this program")?;
    let log = plane.dir().join("null.log");
    Process::start(&Spec { name: "null".to_owned(), program, args, env: Vec::new(), log })
}

/// Kubernetes' own, with its rate limit lifted.
pub(super) fn kube_scheduler(plane: &ControlPlane) -> Result<Process> {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": plane.kubeconfig_of("kube-scheduler"), "qps": 5000, "burst": 10_000},
    });
    let path = plane.dir().join("kube-scheduler.json");
    fs::write(&path, config.to_string()).during("writing the configuration of kube-scheduler")?;
    let args = components::kube_scheduler(format!("--config={}", path.display()));
    let program = Program::KubeScheduler.find()?;
    let log = plane.dir().join("kube-scheduler.log");
    Process::start(&Spec { name: "kube-scheduler".to_owned(), program, args, env: Vec::new(), log })
}
