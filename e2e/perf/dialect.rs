//! Gangs in the words of other systems: what their users write, and what Gangline is given to understand it.

use serde_json::{Value, json};

use crate::support::chart::{self, NAMESPACE};
use crate::support::control_plane::ControlPlane;
use crate::support::error::Result;
use crate::support::manifests;
use crate::support::tools::Program;

/// Whose words, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// Annotations of YuniKorn.
    YuniKorn,
    /// A PodGroup of Koordinator, which a label names.
    Koordinator,
    /// Annotations of Koordinator.
    KoordinatorAnnotations,
    /// A PodGroup of scheduler-plugins, which a label names.
    Coscheduling,
    /// A PodGroup of Volcano, which an annotation names.
    Volcano,
}

/// An object that declares a gang.
pub(super) struct Declaration {
    /// Where such objects are made.
    pub(super) path: String,
    /// The object.
    pub(super) object: Value,
}

/// Where the chart has what the scheduler may do.
const RIGHTS: [&str; 4] = ["--show-only", "templates/rbac.yaml", "--show-only", "templates/policies.yaml"];

impl Words {
    /// What is built before such gangs are measured.
    pub(super) fn programs(self) -> Vec<Program> {
        self.kind().map_or_else(Vec::new, |(program, ..)| vec![Program::Helm, program])
    }

    /// The dialects that Gangline is told of: as the pages say that users switch this one on. None where it is on by default.
    const fn dialects(self) -> Option<&'static str> {
        match self {
            Self::YuniKorn => None,
            Self::Koordinator | Self::KoordinatorAnnotations => Some("yunikorn,koordinator"),
            Self::Coscheduling => Some("yunikorn,coscheduling"),
            Self::Volcano => Some("yunikorn,volcano"),
        }
    }

    /// What defines the kind of a cluster with such gangs, in a file of which name; and group and version of the kind.
    const fn kind(self) -> Option<(Program, &'static str, &'static str)> {
        match self {
            Self::YuniKorn => None,
            Self::Koordinator | Self::KoordinatorAnnotations => {
                Some((Program::KoordinatorKinds, "scheduling.sigs.k8s.io_podgroups", "scheduling.sigs.k8s.io/v1alpha1"))
            }
            Self::Coscheduling => {
                Some((Program::CoschedulingKinds, "scheduling.x-k8s.io_podgroups", "scheduling.x-k8s.io/v1alpha1"))
            }
            Self::Volcano => {
                Some((Program::VolcanoKinds, "scheduling.volcano.sh_podgroups", "scheduling.volcano.sh/v1beta1"))
            }
        }
    }

    /// Arguments of Gangline.
    pub(super) fn args(self) -> Vec<String> {
        self.dialects().map(|dialects| format!("--dialects={dialects}")).into_iter().collect()
    }

    /// Defines the kind, and makes role and policies those that the chart has where the dialect is on.
    pub(super) async fn install(self, plane: &ControlPlane) -> Result<()> {
        let client = plane.client();
        if let Some((program, file, _)) = self.kind() {
            manifests::install_kinds(&client, program, &[file.to_owned()]).await?;
        }
        if let Some(dialects) = self.dialects() {
            let set = format!("config.dialects={{{dialects}}}");
            let rights = chart::render(&Program::Helm.find()?, &[&["--set", set.as_str()], &RIGHTS[..]].concat())?;
            manifests::apply(&client, &rights, NAMESPACE, &[]).await?;
        }
        Ok(())
    }

    /// The object that declares a gang of so many, where it is one.
    pub(super) fn declaration(self, gang: usize, size: usize) -> Option<Declaration> {
        let spec = match self {
            Self::YuniKorn | Self::KoordinatorAnnotations => return None,
            Self::Koordinator | Self::Coscheduling => json!({"minMember": size}),
            Self::Volcano => json!({"minMember": size, "queue": "default"}),
        };
        let (.., version) = self.kind()?;
        Some(Declaration {
            path: format!("/apis/{version}/namespaces/default/podgroups"),
            object: json!({
                "apiVersion": version, "kind": "PodGroup", "metadata": {"name": name(gang)}, "spec": spec,
            }),
        })
    }

    /// Labels and annotations of a pod of such a gang.
    pub(super) fn marks(self, gang: usize, size: usize) -> Value {
        let name = name(gang);
        match self {
            Self::YuniKorn => {
                let group =
                    json!([{"name": "all", "minMember": size, "minResource": {"cpu": "100m", "memory": "128Mi"}}]);
                json!({
                    "labels": {"applicationId": format!("app-{gang}")},
                    "annotations": {
                        "yunikorn.apache.org/task-groups": group.to_string(),
                        "yunikorn.apache.org/task-group-name": "all",
                    },
                })
            }
            Self::Koordinator => json!({"labels": {"pod-group.scheduling.sigs.k8s.io": name}}),
            Self::KoordinatorAnnotations => json!({"annotations": {
                "gang.scheduling.koordinator.sh/name": name,
                "gang.scheduling.koordinator.sh/min-available": size.to_string(),
            }}),
            Self::Coscheduling => json!({"labels": {"scheduling.x-k8s.io/pod-group": name}}),
            Self::Volcano => json!({"annotations": {"scheduling.k8s.io/group-name": name}}),
        }
    }
}

/// The name of a gang.
fn name(gang: usize) -> String {
    format!("gang-{gang}")
}
