//! Command lines of the control plane's programs.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;

use super::error::Result;
use super::ports;
use super::process::Spec;
use super::state_dir::StateDir;
use super::tools::Program;

/// What a control plane is made of and how it is tuned.
#[derive(Clone, Debug)]
pub struct Options {
    /// Nodes made at the start, named `node-0` and so on (`nodes.rs` makes others).
    pub nodes: u32,
    /// Whether kwok plays the nodes: makes them Ready, runs, completes and deletes pods.
    pub kwok: bool,
    /// Whether the controller manager runs.
    pub controllers: bool,
    /// For measurements: no limit on the requests in flight, no priority and fairness, no ServiceAccount admission.
    pub load: bool,
    /// Whether requests are recorded in `audit.log` of the state directory.
    pub audit: bool,
    /// Further flags of the API server.
    pub api_server_flags: Vec<String>,
    /// Further flags of the controller manager.
    pub controller_flags: Vec<String>,
    /// Real nodes (`real/`), named as the others. Then nobody may pretend any. Kubernetes' own scheduler runs beside, as
    /// everywhere where containers do: Gangline's own pod names no scheduler.
    pub real_nodes: u8,
    /// Images that these hold from the start, as tar files.
    pub images: Vec<PathBuf>,
    /// Further settings of their kubelets, by name.
    pub kubelet: Value,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodes: 0,
            kwok: true,
            controllers: true,
            load: false,
            audit: true,
            api_server_flags: Vec::new(),
            controller_flags: Vec::new(),
            real_nodes: 0,
            images: Vec::new(),
            kubelet: Value::Null,
        }
    }
}

impl Options {
    /// A control plane for measurements: nothing but the store and the server, without limits and audit.
    pub fn bare() -> Self {
        Self { kwok: false, controllers: false, load: true, audit: false, ..Self::default() }
    }

    /// With so many real nodes, and nothing pretended.
    pub fn real(nodes: u8) -> Self {
        Self { kwok: false, real_nodes: nodes, ..Self::default() }
    }

    /// With this many nodes.
    pub fn with_nodes(self, nodes: u32) -> Self {
        Self { nodes, ..self }
    }
}

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers.
    ControllerManager,
    /// The nodes.
    Kwok,
    /// Places the pods that name no other scheduler.
    KubeScheduler,
}

impl Component {
    /// The program behind it.
    pub fn program(self) -> Program {
        match self {
            Self::Etcd => Program::Etcd,
            Self::ApiServer => Program::ApiServer,
            Self::ControllerManager => Program::ControllerManager,
            Self::Kwok => Program::Kwok,
            Self::KubeScheduler => Program::KubeScheduler,
        }
    }

    /// Name of the program, of its user, of its log without `.log`.
    pub fn name(self) -> &'static str {
        self.program().name()
    }
}

/// Ports of one control plane; kept over restarts of its components.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Where the API server listens: loopback, unless nodes have to reach it.
    pub host: Ipv4Addr,
    etcd: u16,
    etcd_peer: u16,
    /// The API server's.
    pub api_server: u16,
    /// kwok's, for its health.
    pub kwok: u16,
}

impl Ports {
    /// Four free ones.
    pub fn take(host: Ipv4Addr) -> Result<Self> {
        let (etcd, etcd_peer) = (ports::free()?, ports::free()?);
        Ok(Self { host, etcd, etcd_peer, api_server: ports::free()?, kwok: ports::free()? })
    }

    /// The store's address.
    pub fn store(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd)
    }
}

/// The controllers that users of batch workloads meet. Those of nodes are not among them: they would taint and empty
/// nodes whose kubelet is not there.
const CONTROLLERS: [&str; 19] = [
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    // Without it no PodGroup of Kubernetes' could be deleted.
    "podgroup-protection-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
];

/// Kubernetes' own gangs, which are off by default.
const GATES: &str = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true";

/// Those of nodes, which really do stop here when they have kubelets, and of what runs on each of them.
const NODE_CONTROLLERS: [&str; 3] = ["daemonset-controller", "node-lifecycle-controller", "taint-eviction-controller"];

/// How to run a component.
pub fn spec(component: Component, dir: &StateDir, ports: &Ports, options: &Options) -> Result<Spec> {
    let args = match component {
        Component::Etcd => etcd(dir, ports),
        Component::ApiServer => api_server(dir, ports, options),
        Component::ControllerManager => controller_manager(dir, options),
        Component::Kwok => kwok(dir, ports),
        Component::KubeScheduler => kube_scheduler(format!("--kubeconfig={}", dir.join("kube-scheduler.kubeconfig"))),
    };
    let name = component.name();
    Ok(Spec {
        name: name.to_owned(),
        program: component.program().find()?,
        args,
        // kwok and kubectl look into the home directory.
        env: vec![("HOME".to_owned(), dir.path().display().to_string())],
        log: dir.path().join(format!("{name}.log")),
    })
}

fn etcd(dir: &StateDir, ports: &Ports) -> Vec<String> {
    let (client, peer) = (ports.store(), format!("http://127.0.0.1:{}", ports.etcd_peer));
    vec![
        format!("--data-dir={}", dir.join("etcd")),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // What a crash of the machine would lose is not wanted afterwards.
        "--unsafe-no-fsync".to_owned(),
        "--quota-backend-bytes=8589934592".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

fn api_server(dir: &StateDir, ports: &Ports, options: &Options) -> Vec<String> {
    // The server makes itself an RSA key and a certificate; the key serves for service-account tokens as well, so that
    // no other program has to make one.
    let key = dir.join("pki/apiserver.key");
    let real = options.real_nodes > 0;
    let mut disabled = Vec::new();
    if !real {
        // Without the node controllers nobody would remove the taint that this plugin gives new nodes.
        disabled.push("TaintNodesByCondition");
    }
    if options.load || !options.controllers {
        // Nobody makes the service accounts that it asks for.
        disabled.push("ServiceAccount");
    }
    let mut args = vec![
        format!("--etcd-servers={}", ports.store()),
        format!("--bind-address={}", ports.host),
        format!("--advertise-address={}", ports.host),
        format!("--secure-port={}", ports.api_server),
        // A restart must not wait for the old connections' remains.
        "--permit-address-sharing=true".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--cert-dir={}", dir.join("pki")),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={key}"),
        format!("--service-account-signing-key-file={key}"),
        format!("--authorization-mode={}", if real { "Node,RBAC" } else { "RBAC" }),
        format!("--token-auth-file={}", dir.join("tokens.csv")),
        format!("--disable-admission-plugins={}", disabled.join(",")),
        // As every cluster has it; or policies against privileged pods would seem to hold.
        "--allow-privileged=true".to_owned(),
        GATES.to_owned(),
        "--runtime-config=scheduling.k8s.io/v1beta1=true".to_owned(),
    ];
    if real {
        args.push("--enable-admission-plugins=NodeRestriction".to_owned());
        args.push("--kubelet-preferred-address-types=InternalIP".to_owned());
    }
    if options.audit {
        args.push(format!("--audit-policy-file={}", dir.join("audit-policy.yaml")));
        args.push(format!("--audit-log-path={}", dir.join("audit.log")));
        args.push("--audit-log-mode=batch".to_owned());
        // Nothing may be dropped or moved away: figures are counted from it.
        args.push("--audit-log-batch-buffer-size=100000".to_owned());
        args.push("--audit-log-maxsize=4096".to_owned());
    }
    if options.load {
        args.push("--enable-priority-and-fairness=false".to_owned());
        args.push("--max-requests-inflight=0".to_owned());
        args.push("--max-mutating-requests-inflight=0".to_owned());
    }
    args.extend(options.api_server_flags.iter().cloned());
    args
}

fn controller_manager(dir: &StateDir, options: &Options) -> Vec<String> {
    let of_nodes = if options.real_nodes > 0 { &NODE_CONTROLLERS[..] } else { &[] };
    let mut args = vec![
        format!("--kubeconfig={}", dir.join("kube-controller-manager.kubeconfig")),
        format!("--controllers={}", [&CONTROLLERS[..], of_nodes].concat().join(",")),
        format!("--service-account-private-key-file={}", dir.join("pki/apiserver.key")),
        format!("--root-ca-file={}", dir.join("pki/apiserver.crt")),
        "--leader-elect=false".to_owned(),
        "--kube-api-qps=5000".to_owned(),
        "--kube-api-burst=10000".to_owned(),
        GATES.to_owned(),
        // It serves nothing that anybody asks for.
        "--secure-port=0".to_owned(),
    ];
    args.extend(options.controller_flags.iter().cloned());
    args
}

fn kwok(dir: &StateDir, ports: &Ports) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", dir.join("kwok.kubeconfig")),
        format!("--config={}", dir.join("stages.yaml")),
        "--manage-all-nodes=true".to_owned(),
        "--node-lease-duration-seconds=0".to_owned(),
        "--cidr=10.244.0.0/16".to_owned(),
        "--node-ip=10.0.0.1".to_owned(),
        format!("--server-address=127.0.0.1:{}", ports.kwok),
    ]
}

/// Flags of Kubernetes' own scheduler, of which there is one: with this one, which says where its API server is.
pub fn kube_scheduler(server: String) -> Vec<String> {
    vec![
        server,
        "--authentication-skip-lookup".to_owned(),
        "--leader-elect=false".to_owned(),
        // It serves nothing that anybody asks for.
        "--secure-port=0".to_owned(),
    ]
}
