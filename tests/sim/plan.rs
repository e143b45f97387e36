//! A plan: everything that is done to a cluster, as text that can be kept, changed and played again.
//!
//! First line: the seed of all choices and the faults. Each further line: the millisecond, and an act.

use gangline::shim::observation::Body;
use gangline::shim::op::{Kind, Op};
use gangline::sim::admission::{Hook, Verdict};
use gangline::sim::quota;
use gangline::sim::store::Store;
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::acts::Act;
use super::people::{is_placeholder, says_placeholder};

/// Everything that happens that does not follow from the rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) head: Head,
    /// By time.
    pub(crate) acts: Vec<(u64, Act)>,
}

/// What all choices follow from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
    /// There are two processes, of which a Lease says who decides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) replicas: bool,
    /// The scheduler understands the words of all systems, not of YuniKorn alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) dialects: bool,
}

/// How often, in a hundred, and how strongly things go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Faults {
    /// Calls are refused with 429, 500, 503 or 504, and not made.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) refused: u8,
    /// Calls are made, and nobody hears of it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) answer_lost: u8,
    /// Calls are not made, and nobody hears of it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) lost: u8,
    /// Calls are made long after they were given up.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) late: u8,
    /// Longest way of a call, in milliseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) slow_ms: u64,
    /// Longest delay of what a watch says.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) lag_ms: u64,
    /// What a watch says is its last word: it breaks, and lists anew.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) cut: u8,
    /// Longest pause between two steps of the process.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) stall_ms: u64,
    /// Longest delay of kubelets and garbage collection.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) idle_ms: u64,
    /// The process dies at a write, in one of the four ways of [`Death`](super::world::Death).
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) crash: u8,
    /// A kubelet does not take a pod that was bound to it (OutOfcpu): it fails.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) unfit: u8,
    /// A question after a pod is answered as it would have been before its last change.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) stale: u8,
    /// The right to one thing is missing.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) denied: Option<Denied>,
    /// What admission does to new pods.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) admission: Option<Admission>,
    /// The definition of TaskGroups is of a version that does not know their deadlines: the API server drops these.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) prunes: bool,
    /// Somebody deletes placeholders as they come.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) taken: u8,
}

impl Faults {
    /// All of them.
    pub(crate) const ALL: Self = Self {
        refused: 1,
        answer_lost: 1,
        lost: 1,
        late: 1,
        slow_ms: 1,
        lag_ms: 1,
        cut: 1,
        stall_ms: 1,
        idle_ms: 1,
        crash: 1,
        unfit: 1,
        stale: 1,
        denied: Some(Denied::Bindings),
        admission: Some(Admission::Quota),
        prunes: true,
        taken: 1,
    };

    /// Names of those that are on.
    pub(crate) fn names(self) -> Vec<String> {
        self.written().into_iter().map(|(name, _)| name).collect()
    }

    /// The same without one of them.
    pub(crate) fn without(self, name: &str) -> Self {
        let mut faults = self.written();
        faults.remove(name);
        serde_json::from_value(Value::Object(faults)).expect("faults are data")
    }

    fn written(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(faults)) => faults,
            other => panic!("faults are data: {other:?}"),
        }
    }
}

/// What says nothing is not written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What admission does to new pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Admission {
    /// A quota of the namespace: no more than three placeholders at a time.
    Quota,
    /// Every pod gets one more container, of 100m.
    Sidecar,
}

impl Admission {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Quota, Self::Sidecar];

    /// As the model is told of it.
    pub(crate) fn hook(self) -> Hook {
        match self {
            Self::Quota => few_placeholders,
            Self::Sidecar => sidecar,
        }
    }
}

fn few_placeholders(store: &Store, pod: &Pod) -> Verdict {
    let there = store.of_kind(Kind::Pod).filter(|(_, body)| is_placeholder(body));
    if says_placeholder(pod) && there.count() >= 3 {
        return Verdict::Deny { code: 403, reason: "Forbidden" };
    }
    quota::admit(store, pod)
}

/// Name of a sidecar that admission adds.
const SIDECAR: &str = "sidecar";
/// What one asks for.
pub(crate) const SIDECAR_MILLI: u64 = 100;

fn sidecar(store: &Store, pod: &Pod) -> Verdict {
    let requests = Some([("cpu".to_owned(), Quantity(format!("{SIDECAR_MILLI}m")))].into());
    let resources = Some(ResourceRequirements { requests, ..ResourceRequirements::default() });
    let mut pod = pod.clone();
    let container = Container { name: SIDECAR.to_owned(), resources, ..Container::default() };
    pod.spec.get_or_insert_default().containers.push(container);
    match quota::admit(store, &pod) {
        Verdict::Allow => Verdict::Mutate(Box::new(pod)),
        verdict @ (Verdict::Mutate(_) | Verdict::Deny { .. }) => verdict,
    }
}

/// Whether a pod has a sidecar.
pub(crate) fn has_sidecar(body: &Body) -> bool {
    let Body::Pod(pod) = body else { return false };
    pod.spec.iter().flat_map(|spec| &spec.containers).any(|container| container.name == SIDECAR)
}

/// What the role may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Denied {
    Bindings,
    PodCreations,
    PodDeletions,
    PodQuestions,
    PodConditions,
    GroupStatuses,
    QueueStatuses,
    Events,
    GroupCreations,
    GroupEdits,
    PodGroupStatuses,
}

impl Denied {
    /// All of them: the last ones are drawn where pods or PodGroups declare TaskGroups.
    pub(crate) const ALL: [Self; 11] = [
        Self::Bindings,
        Self::PodCreations,
        Self::PodDeletions,
        Self::PodQuestions,
        Self::PodConditions,
        Self::GroupStatuses,
        Self::QueueStatuses,
        Self::Events,
        Self::GroupCreations,
        Self::GroupEdits,
        Self::PodGroupStatuses,
    ];

    /// Whether an operation needs the right that is missing.
    pub(crate) const fn concerns(self, op: &Op) -> bool {
        match op {
            Op::Bind { .. } => matches!(self, Self::Bindings),
            Op::CreatePod(_) => matches!(self, Self::PodCreations),
            Op::DeletePod { .. } => matches!(self, Self::PodDeletions),
            Op::GetPod { .. } => matches!(self, Self::PodQuestions),
            Op::FailPod { .. } | Op::PatchPodCondition { .. } => matches!(self, Self::PodConditions),
            Op::PatchTaskGroupStatus { .. } => matches!(self, Self::GroupStatuses),
            Op::PatchQueueStatus { .. } => matches!(self, Self::QueueStatuses),
            Op::CreateEvent(_) => matches!(self, Self::Events),
            Op::CreateTaskGroup(_) => matches!(self, Self::GroupCreations),
            Op::EditTaskGroup { .. } => matches!(self, Self::GroupEdits),
            // What users of other systems are told on their own objects goes together.
            Op::PatchPodGroupStatus { .. } | Op::AnnotateTimeout { .. } => matches!(self, Self::PodGroupStatuses),
        }
    }
}

impl Plan {
    /// The same with other choices.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        Self { head: Head { seed, ..self.head.clone() }, acts: self.acts.clone() }
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        let head = serde_json::to_string(&self.head).expect("a plan is data");
        let acts = self.acts.iter().map(|(at, act)| {
            let act = serde_json::to_string(act).expect("an act is data");
            format!("{at} {act}\n")
        });
        format!("{head}\n{}", acts.collect::<String>())
    }

    /// From text; lines that begin with `#` are for people.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let head = lines.next().ok_or("a plan has a first line")?;
        let head = serde_json::from_str(head).map_err(|problem| format!("{head}: {problem}"))?;
        let act = |line: &str| {
            let (at, act) = line.split_once(' ').ok_or_else(|| format!("{line}: no act"))?;
            let at: u64 = at.parse().map_err(|problem| format!("{line}: {problem}"))?;
            let act = serde_json::from_str(act).map_err(|problem| format!("{line}: {problem}"))?;
            Ok((at, act))
        };
        Ok(Self { head, acts: lines.map(act).collect::<Result<_, String>>()? })
    }
}
