//! The programs of a control plane: which, in which version, and where they are kept.
//!
//! Each is built from a Go module of this repository (`e2e/tools/*`) whose `go.sum` pins its whole source. They are kept
//! per user and outside the checkout, under a key made of version, module files and build flags: a change of any of
//! these is a new key, and several checkouts share one copy.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::{During, Error, Result};

/// A program that the lab can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// Jobs, ReplicaSets, garbage collection, namespaces and so on.
    ControllerManager,
    /// Kubernetes' own scheduler, to compare with.
    KubeScheduler,
    /// For people.
    Kubectl,
    /// Pretends to be the nodes.
    Kwok,
    /// Is a node.
    Kubelet,
    /// Does nothing, in containers of such nodes.
    Pause,
    /// Renders and checks the chart.
    Helm,
    /// The operator of Ray.
    KubeRay,
    /// The operator of Spark.
    SparkOperator,
    /// The operator of MPI jobs.
    MpiOperator,
    /// The operator of jobs of PyTorch, TensorFlow and others.
    TrainingOperator,
    /// The definition of scheduler-plugins' PodGroup.
    CoschedulingKinds,
    /// The definition of Koordinator's.
    KoordinatorKinds,
    /// The definition of Volcano's.
    VolcanoKinds,
}

/// A Go module that pins one or more programs.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Directory under `e2e/tools`.
    pub name: &'static str,
    /// The requirement whose version the programs carry.
    pub requirement: &'static str,
    /// Module file.
    pub go_mod: &'static str,
    /// Checksums.
    pub go_sum: &'static str,
    /// The program itself, where it is one of ours; where it is there for a requirement, it imports that.
    pub main_go: Option<&'static str>,
    /// Directories of the requirement's source of which tests read files: the kinds that an operator works on, say.
    pub kept: &'static [&'static str],
}

static KUBERNETES: Module = Module {
    name: "kubernetes",
    requirement: "k8s.io/kubernetes",
    go_mod: include_str!("../tools/kubernetes/go.mod"),
    go_sum: include_str!("../tools/kubernetes/go.sum"),
    main_go: None,
    kept: &[],
};
static ETCD: Module = Module {
    name: "etcd",
    requirement: "go.etcd.io/etcd/server/v3",
    go_mod: include_str!("../tools/etcd/go.mod"),
    go_sum: include_str!("../tools/etcd/go.sum"),
    main_go: None,
    kept: &[],
};
static KWOK: Module = Module {
    name: "kwok",
    requirement: "sigs.k8s.io/kwok",
    go_mod: include_str!("../tools/kwok/go.mod"),
    go_sum: include_str!("../tools/kwok/go.sum"),
    main_go: None,
    kept: &[],
};
static HELM: Module = Module {
    name: "helm",
    requirement: "helm.sh/helm/v4",
    go_mod: include_str!("../tools/helm/go.mod"),
    go_sum: include_str!("../tools/helm/go.sum"),
    main_go: None,
    kept: &[],
};
static PAUSE: Module = Module {
    name: "pause",
    requirement: "",
    go_mod: include_str!("../tools/pause/go.mod"),
    go_sum: include_str!("../tools/pause/go.sum"),
    main_go: Some(include_str!("../tools/pause/main.go")),
    kept: &[],
};
static KUBERAY: Module = Module {
    name: "kuberay",
    requirement: "github.com/ray-project/kuberay/ray-operator",
    go_mod: include_str!("../tools/kuberay/go.mod"),
    go_sum: include_str!("../tools/kuberay/go.sum"),
    main_go: None,
    kept: &[KINDS],
};
static SPARK_OPERATOR: Module = Module {
    name: "spark-operator",
    requirement: "github.com/kubeflow/spark-operator/v2",
    go_mod: include_str!("../tools/spark-operator/go.mod"),
    go_sum: include_str!("../tools/spark-operator/go.sum"),
    main_go: None,
    kept: &[KINDS],
};
static MPI_OPERATOR: Module = Module {
    name: "mpi-operator",
    requirement: "github.com/kubeflow/mpi-operator",
    go_mod: include_str!("../tools/mpi-operator/go.mod"),
    go_sum: include_str!("../tools/mpi-operator/go.sum"),
    main_go: Some(include_str!("../tools/mpi-operator/main.go")),
    kept: &["manifests/base"],
};
static TRAINING_OPERATOR: Module = Module {
    name: "training-operator",
    requirement: "github.com/kubeflow/training-operator",
    go_mod: include_str!("../tools/training-operator/go.mod"),
    go_sum: include_str!("../tools/training-operator/go.sum"),
    main_go: Some(include_str!("../tools/training-operator/main.go")),
    kept: &["manifests/base/crds"],
};

static COSCHEDULING_KINDS: Module = Module {
    name: "coscheduling-kinds",
    requirement: "sigs.k8s.io/scheduler-plugins",
    go_mod: include_str!("../tools/coscheduling-kinds/go.mod"),
    go_sum: include_str!("../tools/coscheduling-kinds/go.sum"),
    main_go: Some(include_str!("../tools/coscheduling-kinds/main.go")),
    kept: &[KINDS],
};
static KOORDINATOR_KINDS: Module = Module {
    name: "koordinator-kinds",
    requirement: "github.com/koordinator-sh/koordinator",
    go_mod: include_str!("../tools/koordinator-kinds/go.mod"),
    go_sum: include_str!("../tools/koordinator-kinds/go.sum"),
    main_go: Some(include_str!("../tools/koordinator-kinds/main.go")),
    kept: &[KINDS],
};

static VOLCANO_KINDS: Module = Module {
    name: "volcano-kinds",
    requirement: "volcano.sh/volcano",
    go_mod: include_str!("../tools/volcano-kinds/go.mod"),
    go_sum: include_str!("../tools/volcano-kinds/go.sum"),
    main_go: Some(include_str!("../tools/volcano-kinds/main.go")),
    kept: &["config/crd/volcano/bases"],
};

/// Where most modules that define kinds keep them.
const KINDS: &str = "config/crd/bases";

impl Program {
    /// All of them, the ones needed most first.
    pub const ALL: [Self; 16] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Kwok,
        Self::Kubectl,
        Self::KubeScheduler,
        Self::Helm,
        Self::KubeRay,
        Self::SparkOperator,
        Self::MpiOperator,
        Self::TrainingOperator,
        Self::CoschedulingKinds,
        Self::KoordinatorKinds,
        Self::VolcanoKinds,
        Self::Kubelet,
        Self::Pause,
    ];

    /// What a control plane of ours consists of.
    pub const CONTROL_PLANE: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Kwok];

    /// What real nodes need besides.
    pub const REAL_NODES: [Self; 3] = [Self::KubeScheduler, Self::Kubelet, Self::Pause];

    /// Name of the executable.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Helm => "helm",
            Self::KubeRay => "kuberay-operator",
            Self::SparkOperator => "spark-operator",
            Self::MpiOperator => "mpi-operator",
            Self::TrainingOperator => "training-operator",
            Self::CoschedulingKinds => "coscheduling-kinds",
            Self::KoordinatorKinds => "koordinator-kinds",
            Self::VolcanoKinds => "volcano-kinds",
            Self::Kubelet => "kubelet",
            Self::Pause => "pause",
        }
    }

    /// The program with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// The module that pins it.
    pub fn module(self) -> &'static Module {
        match self {
            Self::Etcd => &ETCD,
            Self::ApiServer | Self::ControllerManager | Self::KubeScheduler | Self::Kubectl | Self::Kubelet => {
                &KUBERNETES
            }
            Self::Kwok => &KWOK,
            Self::Helm => &HELM,
            Self::KubeRay => &KUBERAY,
            Self::SparkOperator => &SPARK_OPERATOR,
            Self::MpiOperator => &MPI_OPERATOR,
            Self::TrainingOperator => &TRAINING_OPERATOR,
            Self::CoschedulingKinds => &COSCHEDULING_KINDS,
            Self::KoordinatorKinds => &KOORDINATOR_KINDS,
            Self::VolcanoKinds => &VOLCANO_KINDS,
            Self::Pause => &PAUSE,
        }
    }

    /// Import path of its main package.
    pub fn package(self) -> String {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            Self::ApiServer | Self::ControllerManager | Self::KubeScheduler | Self::Kubectl | Self::Kubelet => {
                format!("k8s.io/kubernetes/cmd/{}", self.name())
            }
            Self::Kwok => "sigs.k8s.io/kwok/cmd/kwok".to_owned(),
            Self::Helm => "helm.sh/helm/v4/cmd/helm".to_owned(),
            Self::KubeRay => KUBERAY.requirement.to_owned(),
            Self::SparkOperator => "github.com/kubeflow/spark-operator/v2/cmd/operator".to_owned(),
            Self::Pause
            | Self::MpiOperator
            | Self::TrainingOperator
            | Self::CoschedulingKinds
            | Self::KoordinatorKinds
            | Self::VolcanoKinds => ".".to_owned(),
        }
    }

    /// Linker flags: no symbol tables, and the version that Kubernetes' programs report (clients look at it).
    pub fn ldflags(self) -> String {
        let version = self.module().version();
        match self {
            Self::ApiServer | Self::ControllerManager | Self::KubeScheduler | Self::Kubectl | Self::Kubelet => {
                kubernetes_ldflags(version)
            }
            Self::Etcd
            | Self::Kwok
            | Self::Helm
            | Self::KubeRay
            | Self::SparkOperator
            | Self::MpiOperator
            | Self::TrainingOperator
            | Self::CoschedulingKinds
            | Self::KoordinatorKinds
            | Self::VolcanoKinds
            | Self::Pause => "-s -w".to_owned(),
        }
    }

    /// Where the built program is, or would be.
    pub fn path(self) -> Result<PathBuf> {
        Ok(cache_dir()?.join(self.key()).join(self.name()))
    }

    /// Where the built program is; an error that says how to get it if it is not built.
    pub fn find(self) -> Result<PathBuf> {
        let path = self.path()?;
        if path.is_file() {
            return Ok(path);
        }
        let (name, version) = (self.name(), self.module().version());
        Err(Error::new(format!(
            "{name} {version} is not built yet: run `cargo run --example lab -- tools` (once; needs Go, takes minutes)"
        )))
    }

    /// The files of the kept directories of its source ([`Module::kept`]), in the order of their names in each.
    pub fn kept_files(self) -> Result<Vec<PathBuf>> {
        let files = self.module().kept.iter().map(|dir| self.files_of(dir)).collect::<Result<Vec<_>>>()?;
        Ok(files.concat())
    }

    fn files_of(self, dir: &str) -> Result<Vec<PathBuf>> {
        let dir = self.find()?.with_file_name(dir);
        let step = format!("listing {}", dir.display());
        let files = fs::read_dir(&dir).during(&step)?.map(|entry| Ok(entry.during(&step)?.path()));
        let mut files = files.collect::<Result<Vec<_>>>()?;
        files.sort();
        Ok(files)
    }

    /// Directory of the build of its module.
    fn key(self) -> String {
        let module = self.module();
        let mut hash = Sha256::new();
        let flags = self.ldflags();
        let parts = [module.go_mod, module.go_sum, &flags].into_iter().chain(module.main_go);
        for part in parts.chain(module.kept.iter().copied()) {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-{digest}", module.name, module.version())
    }
}

impl Module {
    /// Version of what the module pins, as its module file says.
    pub fn version(&self) -> &'static str {
        if self.requirement.is_empty() {
            return env!("CARGO_PKG_VERSION");
        }
        let mut requirements = self.go_mod.lines().filter_map(|line| line.strip_prefix("require "));
        let version = requirements.find_map(|line| line.strip_prefix(self.requirement)?.strip_prefix(' '));
        version.map_or("unknown", str::trim)
    }
}

/// Kubernetes' own build stamps these by its scripts, which a plain `go build` does not run.
fn kubernetes_ldflags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let base = "k8s.io/component-base/version";
    format!(
        "-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor} \
         -X k8s.io/client-go/pkg/version.gitVersion={version}"
    )
}

/// The user's directory for built tools.
pub fn cache_dir() -> Result<PathBuf> {
    Ok(user_cache()?.join("gangline/tools"))
}

/// `$XDG_CACHE_HOME`, or `~/.cache`.
pub fn user_cache() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| Error::new("neither XDG_CACHE_HOME nor HOME is set: no place to keep built tools"))
}
