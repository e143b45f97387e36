//! Operators that others write, run beside Gangline as their users run them: the built programs, as processes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;
use crate::support::process::{Process, Spec};
use crate::support::tools::Program;
use crate::support::{components, http_probe, kubeconfig, manifests, ports};

/// How long one may take to be ready: it reads the cluster first.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How often it is asked.
const POLL: Duration = Duration::from_millis(50);

/// Where most say whether they are.
const READY: &str = "/readyz";

/// An operator that can be told whose gangs it is to make, and for which namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    /// KubeRay's.
    KubeRay,
    /// mpi-operator.
    Mpi,
    /// training-operator, for two of its kinds.
    Training,
}

impl Operator {
    fn program(self) -> Program {
        match self {
            Self::KubeRay => Program::KubeRay,
            Self::Mpi => Program::MpiOperator,
            Self::Training => Program::TrainingOperator,
        }
    }

    /// The files that define the kinds on which it works.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::KubeRay => &["ray.io_rayclusters", "ray.io_rayjobs", "ray.io_rayservices"],
            Self::Mpi => &["kubeflow.org_mpijobs"],
            Self::Training => &["kubeflow.org_pytorchjobs", "kubeflow.org_tfjobs"],
        }
    }

    /// How its users tell it whose its gangs are: of a scheduler, or of a system that it knows. The port is where it says that it is
    /// well. mpi-operator always looks whether it leads; in a namespace of its own it does at once.
    fn args(self, gangs_of: &str, namespace: &str, port: u16) -> Vec<String> {
        let health = format!("--health-probe-bind-address=127.0.0.1:{port}");
        match self {
            Self::KubeRay => vec![
                format!("--batch-scheduler={gangs_of}"),
                format!("--watch-namespace={namespace}"),
                "--enable-leader-election=false".to_owned(),
                "--metrics-addr=0".to_owned(),
                health,
            ],
            Self::Mpi => vec![
                format!("--gang-scheduling={gangs_of}"),
                format!("--namespace={namespace}"),
                format!("--lock-namespace={namespace}"),
                // It asks five times a second otherwise.
                "--kube-api-qps=50".to_owned(),
                "--kube-api-burst=100".to_owned(),
                format!("--health-port={port}"),
            ],
            Self::Training => vec![
                format!("--gang-scheduler-name={gangs_of}"),
                format!("--namespace={namespace}"),
                "--enable-scheme=pytorchjob".to_owned(),
                "--enable-scheme=tfjob".to_owned(),
                health,
            ],
        }
    }

    /// Where it says that it is well.
    fn health(self) -> &'static str {
        match self {
            Self::KubeRay | Self::Training => READY,
            Self::Mpi => "/healthz",
        }
    }
}

/// Which operators' kinds are defined.
#[derive(Default)]
pub(crate) struct Defined {
    kuberay: OnceCell<Result<()>>,
    mpi: OnceCell<Result<()>>,
    training: OnceCell<Result<()>>,
}

impl Defined {
    /// Defines the kinds of an operator, once.
    async fn define(&self, client: &Client, operator: Operator) -> Result<()> {
        let cell = match operator {
            Operator::KubeRay => &self.kuberay,
            Operator::Mpi => &self.mpi,
            Operator::Training => &self.training,
        };
        let wanted: Vec<String> = operator.kinds().iter().map(|&kind| kind.to_owned()).collect();
        let define = || manifests::install_kinds(client, operator.program(), &wanted);
        cell.get_or_init(define).await.clone()
    }
}

/// Runs an operator for one namespace, as its users run it, without webhooks: `id` tells it from others in logs. Another one may
/// make other gangs of the same kinds elsewhere.
pub(crate) async fn operate(
    (operator, gangs_of): (Operator, &str),
    (plane, defined): (&ControlPlane, &Defined),
    work: &Path,
    (id, namespace): (&str, &str),
) -> Result<Process> {
    defined.define(&plane.client(), operator).await?;
    let (program, health) = (operator.program(), ports::free()?);
    let spec = spec(plane, work, program, &operator.args(gangs_of, namespace, health))?;
    let log = work.join(format!("{}-{id}.log", program.name()));
    let mut process = Process::start(&Spec { log, ..spec })?;
    ready(&mut process, (health, operator.health()), program).await?;
    Ok(process)
}

/// Where the Spark operator's webhook is, for the API server.
const WEBHOOK: (&str, &str) = ("spark-operator", "spark-operator-webhook");

/// Runs the Spark operator with batch schedulers, without leader election: its webhook and its controller, each a process.
/// In place of Spark it has what [`crate::gangs::spark_submit`] does.
pub(crate) async fn spark(plane: &ControlPlane, work: &Path) -> Result<[Process; 2]> {
    let kinds = ["sparkapplications", "scheduledsparkapplications", "sparkconnects"];
    let kinds = kinds.map(|kind| format!("sparkoperator.k8s.io_{kind}"));
    manifests::install_kinds(&plane.client(), Program::SparkOperator, &kinds).await?;
    let webhook = spark_webhook(plane, work).await?;
    let health = ports::free()?;
    let args = [
        "controller".to_owned(),
        "start".to_owned(),
        "--namespaces=\"\"".to_owned(),
        "--enable-batch-scheduler=true".to_owned(),
        format!("--health-probe-bind-address=127.0.0.1:{health}"),
    ];
    let mut spec = spec(plane, work, Program::SparkOperator, &args)?;
    spec.env.extend(spark_env(plane, work)?);
    let mut controller = Process::start(&spec)?;
    ready(&mut controller, (health, READY), Program::SparkOperator).await?;
    Ok([webhook, controller])
}

/// Where Spark is, and where it would find the API server from inside a cluster.
fn spark_env(plane: &ControlPlane, work: &Path) -> Result<[(String, String); 3]> {
    let home = work.join("spark");
    let (bin, step) = (home.join("bin"), "making a stand-in of Spark");
    fs::create_dir_all(&bin).during(step)?;
    let this = std::env::current_exe().during(step)?;
    std::os::unix::fs::symlink(this, bin.join("spark-submit")).during(step)?;
    let server = kubeconfig::server(&plane.kubeconfig())?;
    let address = server["server"].as_str().and_then(|url| url.strip_prefix("https://")).unwrap_or_default();
    let (host, port) = address.split_once(':').ok_or_else(|| Error::new(format!("no host and port: {server}")))?;
    Ok([
        ("SPARK_HOME".to_owned(), home.display().to_string()),
        ("KUBERNETES_SERVICE_HOST".to_owned(), host.to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_owned()),
    ])
}

/// Runs the webhook as in a cluster: it makes its certificate, and tells the API server by whom that is signed. Its Service is
/// an alias of this machine, as it runs in no pod.
async fn spark_webhook(plane: &ControlPlane, work: &Path) -> Result<Process> {
    let (namespace, name) = WEBHOOK;
    let (port, health) = (ports::free()?, ports::free()?);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
                         "spec": {"type": "ExternalName", "externalName": "localhost"}});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let objects = [vec![space, service], spark_webhook_configurations(port)].concat();
    manifests::apply_objects(&plane.client(), objects, namespace, &[]).await?;
    let mut args =
        ["webhook", "start", "--namespaces=\"\"", "--webhook-secret-name=certificate"].map(str::to_owned).to_vec();
    for flag in ["mutating-webhook-name", "validating-webhook-name", "webhook-svc-name"] {
        args.push(format!("--{flag}={name}"));
    }
    for flag in ["webhook-secret-namespace", "webhook-svc-namespace"] {
        args.push(format!("--{flag}={namespace}"));
    }
    args.push(format!("--webhook-cert-dir={}", work.join("spark-webhook").display()));
    args.push(format!("--webhook-port={port}"));
    args.push(format!("--health-probe-bind-address=127.0.0.1:{health}"));
    let spec = spec(plane, work, Program::SparkOperator, &args)?;
    let mut process = Process::start(&Spec { log: work.join("spark-webhook.log"), ..spec })?;
    ready(&mut process, (health, READY), Program::SparkOperator).await?;
    webhook_is_asked(plane).await?;
    Ok(process)
}

/// What the operator's chart makes with its default values, but for kinds that no test uses.
fn spark_webhook_configurations(port: u16) -> Vec<Value> {
    let hook = |path: &str, group: &str, version: &str, kind: &str, operations: &[&str]| {
        let service = json!({"namespace": WEBHOOK.0, "name": WEBHOOK.1, "port": port, "path": path});
        json!({
            "name": format!("{}.sparkoperator.k8s.io", path.trim_start_matches('/')),
            "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail",
            "clientConfig": {"service": service},
            "rules": [{"apiGroups": [group], "apiVersions": [version], "resources": [kind], "operations": operations}],
        })
    };
    let (group, version, kind) = ("sparkoperator.k8s.io", "v1beta2", "sparkapplications");
    let both = ["CREATE", "UPDATE"];
    let mut pods = hook("/mutate--v1-pod", "", "v1", "pods", &["CREATE"]);
    pods["objectSelector"] = json!({"matchLabels": {"sparkoperator.k8s.io/launched-by-spark-operator": "true"}});
    let mutates = hook("/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication", group, version, kind, &both);
    let validates = hook("/validate-sparkoperator-k8s-io-v1beta2-sparkapplication", group, version, kind, &both);
    let configuration = |kind: &str, hooks: Vec<Value>| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": WEBHOOK.1},
               "webhooks": hooks})
    };
    vec![
        configuration("MutatingWebhookConfiguration", vec![pods, mutates]),
        configuration("ValidatingWebhookConfiguration", vec![validates]),
    ]
}

/// Waits until the API server asks the webhook, which it does not trust at first.
async fn webhook_is_asked(plane: &ControlPlane) -> Result<()> {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "i"}]},
                     "metadata": {"name": "asked", "labels": {"sparkoperator.k8s.io/launched-by-spark-operator": "true"}}});
    let pod = serde_json::from_value(pod).during("describing a pod")?;
    let pods = Objects::<Pod>::of(&plane.client(), "default");
    let (params, give_up) = (PostParams { dry_run: true, ..PostParams::default() }, Instant::now() + READY_WITHIN);
    loop {
        match pods.untyped().create(&params, &pod).await {
            Ok(_) => return Ok(()),
            Err(_) if Instant::now() < give_up => tokio::time::sleep(POLL).await,
            Err(error) => return Err(error).during("asking the Spark operator's webhook"),
        }
    }
}

/// The scheduler name that pods of Kubernetes' own scheduler name here. Tests have others that name `default-scheduler`, and want
/// nobody to place them.
pub(crate) const STOCK: &str = "stock";

/// Runs Kubernetes' own scheduler with its defaults, but for that name. Nobody has to wait for it: pods do.
pub(crate) fn kube_scheduler(plane: &ControlPlane, work: &Path) -> Result<Process> {
    let program = Program::KubeScheduler;
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": plane.kubeconfig_of(program.name())},
        "profiles": [{"schedulerName": STOCK}],
    });
    let path = work.join("kube-scheduler.json");
    fs::write(&path, config.to_string()).during("writing the configuration of kube-scheduler")?;
    let args = components::kube_scheduler(format!("--config={}", path.display()));
    Process::start(&spec(plane, work, program, &args)?)
}

/// How to run an operator: with all rights, as a user of its own.
fn spec(plane: &ControlPlane, work: &Path, program: Program, args: &[String]) -> Result<Spec> {
    let name = program.name();
    let kubeconfig = plane.kubeconfig_of(name).display().to_string();
    Ok(Spec {
        name: name.to_owned(),
        program: program.find()?,
        args: args.to_vec(),
        env: vec![("KUBECONFIG".to_owned(), kubeconfig), ("HOME".to_owned(), work.display().to_string())],
        log: work.join(format!("{name}.log")),
    })
}

/// Waits until it says that it is ready.
async fn ready(process: &mut Process, (port, path): (u16, &str), program: Program) -> Result<()> {
    let give_up = Instant::now() + READY_WITHIN;
    while !matches!(http_probe::get(port, path), Some((200, _))) {
        process.check_running()?;
        if Instant::now() > give_up {
            return Err(process.last_words(&format!("{} is not ready", program.name())));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// What to say where an operator is wanted on a cluster that is there already.
pub(crate) fn needs_own_plane() -> Error {
    Error::new("operators run beside a control plane of ours")
}
