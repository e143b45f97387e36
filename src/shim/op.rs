//! Calls to the API server as complete values.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::api::events::v1::Event as KubeEvent;

use super::dialect::pod_group::{PodGroupStatus, System};
pub use super::kinds::Kind;
use crate::api::queue::QueueStatus;
use crate::api::task_group::{MatchPolicy, Mode, TaskGroup, TaskGroupStatus};
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::codes::Code;
use crate::core::time::Mono;

/// A call's number: unique over all processes, since the incarnation is drawn at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// Drawn once per process.
    pub incarnation: u64,
    /// Rises by one.
    pub sequence: u64,
}

/// A call ready to be sent, once.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number; the outcome carries it.
    pub id: CallId,
    /// Not to be sent after this time: a stalled process sends nothing late.
    pub not_after: Mono,
    /// What to do.
    pub op: Op,
}

/// One request. Every field is final: nothing is looked up when it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// POST pods/NAME/binding with UID precondition; the annotations are copied to the pod with the node name.
    Bind {
        /// The pod.
        pod: Key,
        /// Its UID.
        uid: Uid,
        /// The node's name.
        node: Text,
        /// What is written on the pod.
        annotations: BTreeMap<String, String>,
    },
    /// DELETE a pod with UID precondition.
    DeletePod {
        /// The pod.
        pod: Key,
        /// Its UID.
        uid: Uid,
    },
    /// PATCH (strategic merge) the phase of a pod to Failed, with its UID and its version: whoever has given the pod a
    /// node meanwhile, or changed it otherwise, makes this a conflict.
    FailPod {
        /// The pod.
        pod: Key,
        /// Its UID.
        uid: Uid,
        /// The version at which it was seen without a node. Never 0: the API server takes that for any version.
        resource_version: NonZeroU64,
        /// The word that says why.
        reason: Code,
        /// The sentence that says why.
        message: Text,
    },
    /// POST a placeholder pod.
    CreatePod(Box<Pod>),
    /// POST a TaskGroup that a pod declares in another system's words.
    CreateTaskGroup(Box<TaskGroup>),
    /// PATCH (JSON) what can be changed of such a TaskGroup, with its UID and generation: the object of which it was made has been edited.
    EditTaskGroup {
        /// The TaskGroup.
        group: Key,
        /// Its UID.
        uid: Uid,
        /// Its generation, since what another makes of it in the same moment is not seen yet.
        generation: i64,
        /// What it is to say.
        edit: GroupEdit,
    },
    /// GET a pod: settles a 409.
    GetPod {
        /// The pod.
        pod: Key,
    },
    /// PATCH (strategic merge) one condition of a pod, with its UID.
    PatchPodCondition {
        /// The pod.
        pod: Key,
        /// Its UID.
        uid: Uid,
        /// The condition.
        condition: Box<PodCondition>,
    },
    /// PATCH (merge) the annotation of a pod that says, in Koordinator's words, that its gang has timed out, with its UID.
    AnnotateTimeout {
        /// The pod.
        pod: Key,
        /// Its UID.
        uid: Uid,
        /// Whether it is to say so; else the annotation is taken away.
        timed_out: bool,
    },
    /// PATCH (JSON) the status of a TaskGroup, with its UID.
    PatchTaskGroupStatus {
        /// The TaskGroup.
        group: Key,
        /// Its UID.
        uid: Uid,
        /// The whole status.
        status: Box<TaskGroupStatus>,
    },
    /// PATCH (JSON) the status of a Queue, with its UID.
    PatchQueueStatus {
        /// The Queue's name.
        queue: Text,
        /// Its UID.
        uid: Uid,
        /// The whole status.
        status: Box<QueueStatus>,
    },
    /// PATCH (JSON) fields of the status of another system's PodGroup, with its UID; of one of Kubernetes' (strategic merge) one
    /// condition. The definitions of Koordinator and of Volcano make no resource of its own of the status.
    PatchPodGroupStatus {
        /// Whose kind it is.
        system: System,
        /// The PodGroup.
        group: Key,
        /// Its UID.
        uid: Uid,
        /// What we say there.
        status: PodGroupStatus,
        /// It has no status yet.
        is_first: bool,
    },
    /// POST an event.
    CreateEvent(Box<KubeEvent>),
}

/// RBAC resource (`pods/binding`) and verb (`create`); another system's with its API group, as [`Kind::plural`] names it.
pub type Rule = (&'static str, &'static str);

/// What a TaskGroup is to say that follows the object of which it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupEdit {
    /// `spec.minMember`.
    pub min_member: u32,
    /// `spec.totalMember`: no less, also where nobody says it.
    pub total_member: u32,
    /// `spec.mode`, where the object's system says it.
    pub mode: Option<Mode>,
    /// `spec.matchPolicy`, likewise.
    pub match_policy: Option<MatchPolicy>,
    /// `spec.waitTimeoutSeconds`, where the object's system has a time.
    pub wait_timeout_seconds: Option<u32>,
}

impl Op {
    /// What the call needs. `tests/charts.rs` compares the shipped role with these.
    pub const fn rule(&self) -> Rule {
        match self {
            Self::Bind { .. } => ("pods/binding", "create"),
            Self::DeletePod { .. } => ("pods", "delete"),
            Self::CreatePod(_) => ("pods", "create"),
            Self::CreateTaskGroup(_) => ("taskgroups", "create"),
            Self::EditTaskGroup { .. } => ("taskgroups", "patch"),
            Self::GetPod { .. } => ("pods", "get"),
            Self::FailPod { .. } | Self::PatchPodCondition { .. } => ("pods/status", "patch"),
            Self::AnnotateTimeout { .. } => ("pods", "patch"),
            Self::PatchTaskGroupStatus { .. } => ("taskgroups/status", "patch"),
            Self::PatchQueueStatus { .. } => ("queues/status", "patch"),
            Self::PatchPodGroupStatus { system: System::Koordinator, .. } => {
                ("podgroups.scheduling.sigs.k8s.io", "patch")
            }
            Self::PatchPodGroupStatus { system: System::Coscheduling, .. } => {
                ("podgroups.scheduling.x-k8s.io/status", "patch")
            }
            Self::PatchPodGroupStatus { system: System::Volcano, .. } => ("podgroups.scheduling.volcano.sh", "patch"),
            Self::PatchPodGroupStatus { system: System::Kubernetes, .. } => {
                ("podgroups.scheduling.k8s.io/status", "patch")
            }
            Self::CreateEvent(_) => ("events", "create"),
        }
    }
}
