//! The cluster that tests run on: a control plane of ours, or one that is there already.

use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Client, ResourceExt};
use tokio::sync::OnceCell;

use super::operators::{self, Defined, Operator};
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{Error, Result};
use crate::support::manifests::Installed;
use crate::support::objects::Objects;
use crate::support::process::Process;
use crate::support::scheduler::{Launch, Scheduler};
use crate::support::state_dir::StateDir;
use crate::support::tools::Program;
use crate::support::{chart, kubeconfig, manifests};

/// Namespace and name of the ServiceAccount that the shipped manifests give the scheduler.
pub(crate) const ACCOUNT: (&str, &str) = ("gangline-system", "gangline");

/// The scheduler names that are served, ours and those that operators write into their pods for YuniKorn and Volcano; and the
/// systems whose words are understood.
pub(crate) const ARGS: [&str; 4] = [
    "--scheduler-name=gangline",
    "--scheduler-name=yunikorn",
    "--scheduler-name=volcano",
    "--dialects=yunikorn,koordinator,coscheduling,volcano,kubernetes",
];

/// The value of the chart that says the last of these.
const DIALECTS: &str = "config.dialects={yunikorn,koordinator,coscheduling,volcano,kubernetes}";

/// Where the chart has what the scheduler may do.
const RIGHTS: [&str; 4] = ["--show-only", "templates/rbac.yaml", "--show-only", "templates/policies.yaml"];

/// Names another program to test than the one just built.
const BINARY: &str = "E2E_GANGLINE";

/// A cluster and the scheduler on it.
pub(crate) struct Cluster {
    // The scheduler and the operators end before the control plane does.
    scheduler: OnceCell<Result<Scheduler>>,
    spark: OnceCell<Result<[Process; 2]>>,
    stock: OnceCell<Result<Process>>,
    installed: OnceCell<Result<Installed>>,
    defined: Defined,
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) plane: Option<ControlPlane>,
    work: StateDir,
}

/// The program under test.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os(BINARY).map_or_else(|| env!("CARGO_BIN_EXE_gangline").into(), PathBuf::from)
}

impl Cluster {
    /// A control plane of our own.
    pub(crate) async fn own(options: Options) -> Result<Self> {
        let plane = ControlPlane::start(options).await?;
        let (client, kubeconfig) = (plane.client(), plane.kubeconfig());
        Self::new(client, kubeconfig, Some(plane))
    }

    /// The cluster of a kubeconfig, on which no other Gangline may run.
    pub(crate) async fn existing(kubeconfig: &Path) -> Result<Self> {
        let client = kubeconfig::client(kubeconfig).await?;
        for deployment in Objects::<Deployment>::all(&client).list("").await? {
            refuse(&deployment)?;
        }
        Self::new(client, kubeconfig.to_path_buf(), None)
    }

    fn new(client: Client, kubeconfig: PathBuf, plane: Option<ControlPlane>) -> Result<Self> {
        let (scheduler, spark, stock) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let (installed, defined, work) = (OnceCell::new(), Defined::default(), StateDir::create()?);
        Ok(Self { scheduler, spark, stock, installed, defined, client, kubeconfig, plane, work })
    }

    /// Where the logs of schedulers are.
    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    /// The scheduler that all tests of this cluster share; installed and started by the first that asks.
    pub(crate) async fn scheduler(&self) -> Result<&Scheduler> {
        let start = || async { Scheduler::start(&self.launch("gangline", &ARGS).await?).await };
        self.scheduler.get_or_init(start).await.as_ref().map_err(Clone::clone)
    }

    /// Runs an operator for a test's namespace alone, there for gangs of one system or scheduler.
    pub(crate) async fn operator(
        &self,
        operator: Operator,
        gangs_of: &str,
        (id, namespace): (&str, &str),
    ) -> Result<Process> {
        let plane = self.plane.as_ref().ok_or_else(operators::needs_own_plane)?;
        operators::operate((operator, gangs_of), (plane, &self.defined), self.work(), (id, namespace)).await
    }

    /// The Spark operator, which all tests of this cluster share; started by the first that asks.
    pub(crate) async fn spark_operator(&self) -> Result<()> {
        let start = || async {
            let plane = self.plane.as_ref().ok_or_else(operators::needs_own_plane)?;
            operators::spark(plane, self.work()).await
        };
        self.spark.get_or_init(start).await.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Kubernetes' own scheduler for pods of [`operators::STOCK`], which all tests of this cluster share; started by the first that asks.
    pub(crate) async fn kube_scheduler(&self) -> Result<()> {
        let start = || async { self.start_kube_scheduler() };
        self.stock.get_or_init(start).await.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The same for one test, which may end it.
    pub(crate) fn start_kube_scheduler(&self) -> Result<Process> {
        operators::kube_scheduler(self.plane.as_ref().ok_or_else(operators::needs_own_plane)?, self.work())
    }

    /// How to run one more scheduler here, under the ServiceAccount of the shipped manifests.
    pub(crate) async fn launch(&self, name: &str, args: &[&str]) -> Result<Launch> {
        self.install().await?;
        let kubeconfig = self.work().join(format!("{name}.kubeconfig"));
        manifests::service_account_kubeconfig(&self.client, &self.kubeconfig, ACCOUNT, &kubeconfig).await?;
        Ok(Launch {
            name: name.to_owned(),
            binary: binary(),
            kubeconfig,
            dir: self.work().to_path_buf(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
        })
    }

    /// Applies the shipped kinds, roles, policies and accounts, once; roles and policies as the chart gives them where all systems'
    /// words are understood.
    pub(crate) async fn install(&self) -> Result<()> {
        let install = || async {
            let installed = manifests::install(&self.client, Path::new(env!("CARGO_MANIFEST_DIR"))).await?;
            let rights = chart::render(&Program::Helm.find()?, &[&["--set", DIALECTS], &RIGHTS[..]].concat())?;
            manifests::apply(&self.client, &rights, ACCOUNT.0, &[]).await?;
            Ok(installed)
        };
        self.installed.get_or_init(install).await.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Ends the scheduler; on a cluster that is not ours, removes what was not there before.
    pub(crate) async fn end(mut self, keep: bool) -> Result<()> {
        drop(self.spark.take());
        drop(self.stock.take());
        drop(self.scheduler.take());
        match self.installed.take() {
            Some(Ok(installed)) if self.plane.is_none() && !keep => installed.remove().await,
            _ => Ok(()),
        }
    }
}

/// Two schedulers of one name would plan the same room twice, and the tests' one would be blamed.
fn refuse(deployment: &Deployment) -> Result<()> {
    let spec = deployment.spec.as_ref();
    let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(1);
    let pod = spec.and_then(|spec| spec.template.spec.as_ref());
    let runs = pod.is_some_and(|pod| pod.containers.iter().any(|container| container.name == "gangline"));
    if replicas == 0 || !runs {
        return Ok(());
    }
    let (namespace, name) = (deployment.namespace().unwrap_or_default(), deployment.name_any());
    Err(Error::new(format!(
        "Gangline runs on this cluster: Deployment {namespace}/{name} has {replicas} replicas. \
         Scale it down first: kubectl -n {namespace} scale deployment/{name} --replicas=0"
    )))
}
