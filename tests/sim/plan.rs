//! A plan: everything that is done to a cluster, as text that can be kept, changed and played again.
//!
//! First line: the seed of all choices and the faults. Each further line: the millisecond, and an act.

use gangline::shim::op::{Kind, Op};
use gangline::sim::admission::{Hook, Verdict};
use gangline::sim::quota;
use gangline::sim::store::Store;
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::people::{is_placeholder, says_placeholder};
use super::place::Place;

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
}

/// How often, in a hundred, and how strongly things go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Faults {
    /// Calls are refused with 500, 503 or 429, and not made.
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
    /// The process dies at a write: before it, after it, or having heard of it.
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
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
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

fn sidecar(store: &Store, pod: &Pod) -> Verdict {
    let requests = Some([("cpu".to_owned(), Quantity("100m".to_owned()))].into());
    let resources = Some(ResourceRequirements { requests, ..ResourceRequirements::default() });
    let mut pod = pod.clone();
    let container = Container { name: "sidecar".to_owned(), resources, ..Container::default() };
    pod.spec.get_or_insert_default().containers.push(container);
    match quota::admit(store, &pod) {
        Verdict::Allow => Verdict::Mutate(Box::new(pod)),
        verdict @ (Verdict::Mutate(_) | Verdict::Deny { .. }) => verdict,
    }
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
}

impl Denied {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Bindings,
        Self::PodCreations,
        Self::PodDeletions,
        Self::PodQuestions,
        Self::PodConditions,
        Self::GroupStatuses,
        Self::QueueStatuses,
        Self::Events,
    ];

    /// Whether an operation needs the right that is missing.
    pub(crate) const fn concerns(self, op: &Op) -> bool {
        match op {
            Op::Bind { .. } => matches!(self, Self::Bindings),
            Op::CreatePod(_) => matches!(self, Self::PodCreations),
            Op::DeletePod { .. } => matches!(self, Self::PodDeletions),
            Op::GetPod { .. } => matches!(self, Self::PodQuestions),
            Op::PatchPodCondition { .. } => matches!(self, Self::PodConditions),
            Op::PatchTaskGroupStatus { .. } => matches!(self, Self::GroupStatuses),
            Op::PatchQueueStatus { .. } => matches!(self, Self::QueueStatuses),
            Op::CreateEvent(_) => matches!(self, Self::Events),
        }
    }
}

/// What people and machines do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Act {
    /// A node of so many cores comes, or changes.
    Node {
        name: String,
        cpu: u32,
        cordoned: bool,
        /// It takes only who tolerates that.
        #[serde(default, skip_serializing_if = "is_default")]
        tainted: bool,
    },
    /// A node goes.
    LoseNode { name: String },
    /// A node takes no pods any more, and everything on it is deleted.
    Drain { name: String },
    /// An autoscaler adds a node, if a pod is marked Unschedulable.
    Autoscale { name: String, cpu: u32 },
    /// A queue comes, or changes.
    Queue {
        path: String,
        cpu: u32,
        /// So many applications at a time.
        #[serde(default, skip_serializing_if = "is_default")]
        apps: Option<u32>,
    },
    /// A queue's object goes.
    DropQueue { path: String },
    /// A task group comes, or is edited.
    Group(GroupAct),
    /// A task group goes.
    DropGroup { name: String },
    /// A pod comes.
    Pod(PodAct),
    /// Somebody deletes a pod; where its controller makes it anew, under its name, as soon as it is gone.
    DropPod {
        name: String,
        #[serde(default, skip_serializing_if = "is_default")]
        again: bool,
    },
    /// Whoever held a pod by a finalizer lets it go.
    LetGo { name: String },
    /// Somebody edits what a pod says that it belongs to; what is not given is taken away.
    Label {
        name: String,
        #[serde(default, skip_serializing_if = "is_default")]
        group: Option<String>,
        #[serde(default, skip_serializing_if = "is_default")]
        app: Option<String>,
    },
    /// Whoever held a pod back by a scheduling gate lifts it.
    Ungate { name: String },
    /// A pod that runs ends, well or not.
    End { name: String, well: bool },
    /// Somebody deletes a placeholder of a group: the n-th by name.
    DropPlaceholder { group: String, nth: u32 },
    /// Another scheduler puts a pod on a node.
    Foreign { name: String, node: String, cpu: u32 },
    /// A pod that runs asks for another amount, in place, which is refused beyond its node: its kubelet gives it where it can,
    /// and goes on as before where not.
    Resize { name: String, milli: u32 },
    /// A ResourceQuota of the namespace comes or changes, or goes.
    Quota { milli: Option<u32> },
    /// The namespace is deleted with everything in it, and made again some time after it is gone.
    DropNamespace { for_ms: u64 },
    /// An object cannot be read for a while: somebody wrote it in a form that this version does not know.
    Garble {
        #[serde(with = "plural")]
        kind: Kind,
        name: String,
        for_ms: u64,
    },
    /// The kubelet of a node does nothing for a while.
    Hang { node: String, for_ms: u64 },
    /// A kind of ours is not served for a while, and all its objects go: its definition was deleted.
    Vanish {
        #[serde(with = "plural")]
        kind: Kind,
        for_ms: u64,
    },
    /// The process is killed, and comes again.
    Kill { down_ms: u64 },
    /// Another process begins while this one goes on; then the one that came, or the one that was there, ends.
    Overlap { for_ms: u64, newer_ends: bool },
    /// A watch breaks.
    Cut {
        #[serde(with = "plural")]
        kind: Kind,
    },
    /// A watch hears nothing for a while; then that is noticed, and it lists anew.
    Mute {
        #[serde(with = "plural")]
        kind: Kind,
        for_ms: u64,
    },
    /// The API server refuses every call for a while.
    Storm { code: u16, for_ms: u64 },
    /// The API server is away for a while, and comes back with what it has stored.
    Away { for_ms: u64 },
    /// The API server forgets its history: a watch that is behind has to list anew (410).
    Compact,
    /// The wall clock is put forward or back.
    Jump { ms: i64 },
}

/// Who has to be there for an act to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nobody is asked.
    Nobody,
    /// The API server.
    Server,
    /// The API server, with the definition of a kind of ours.
    Served(Kind),
}

impl Act {
    /// Its name, as it is written.
    pub(crate) fn name(&self) -> String {
        let name = match serde_json::to_value(self) {
            Ok(Value::Object(act)) => act.into_iter().next().map(|(name, _)| name),
            Ok(Value::String(name)) => Some(name),
            _ => None,
        };
        name.expect("an act is data")
    }

    /// Who has to be there for it.
    pub(crate) const fn needs(&self) -> Needs {
        match self {
            Self::Queue { .. } | Self::DropQueue { .. } => Needs::Served(Kind::Queue),
            Self::Group(_) | Self::DropGroup { .. } => Needs::Served(Kind::TaskGroup),
            Self::Vanish { kind, .. } | Self::Garble { kind, .. } => Needs::Served(*kind),
            Self::Node { .. }
            | Self::LoseNode { .. }
            | Self::Drain { .. }
            | Self::Autoscale { .. }
            | Self::Pod(_)
            | Self::DropPod { .. }
            | Self::LetGo { .. }
            | Self::Label { .. }
            | Self::Ungate { .. }
            | Self::End { .. }
            | Self::DropPlaceholder { .. }
            | Self::Foreign { .. }
            | Self::Resize { .. }
            | Self::Quota { .. }
            | Self::DropNamespace { .. } => Needs::Server,
            Self::Kill { .. }
            | Self::Overlap { .. }
            | Self::Cut { .. }
            | Self::Mute { .. }
            | Self::Hang { .. }
            | Self::Storm { .. }
            | Self::Away { .. }
            | Self::Compact
            | Self::Jump { .. } => Needs::Nobody,
        }
    }
}

/// A task group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GroupAct {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) min: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) milli: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) queue: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) direct: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) all: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) app: Option<String>,
    /// All groups of its gang, where it is not alone.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gang: Vec<String>,
    /// How long its application waits for more when nothing of it runs, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) timeout: Option<u32>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) flaw: Option<Flaw>,
    /// Where its placeholders may be.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) place: Option<Place>,
}

/// What can be wrong with a task group that the API server takes, or took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Flaw {
    /// A field that only the definition of an earlier version let through.
    Field,
    /// Members so large that their sum cannot be counted.
    Huge,
    /// Its gang has a group in another namespace, which only the definition of an earlier version let through.
    Abroad,
}

impl Flaw {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Field, Self::Huge, Self::Abroad];

    /// Whether the API server refuses it by the definition of today.
    pub(crate) const fn is_refused(self) -> bool {
        match self {
            Self::Field | Self::Abroad => true,
            Self::Huge => false,
        }
    }
}

/// A pod that Gangline schedules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PodAct {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) milli: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) group: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) app: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) queue: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) priority: i32,
    /// Somebody holds it by a finalizer: deleted, it stays until it is let go.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) held: bool,
    /// Somebody holds it back by a scheduling gate.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gated: bool,
    /// Says that it is a placeholder of its group; it is not.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) forged: bool,
    /// It is in another namespace than the group that it names.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) abroad: bool,
    /// Where it may be.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) place: Option<Place>,
}

/// A kind by its plural.
mod plural {
    use gangline::shim::op::Kind;
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
    pub(super) fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.plural())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Kind::ALL.into_iter().find(|kind| kind.plural() == name);
        found.ok_or_else(|| de::Error::custom(format!("no kind {name:?}")))
    }
}

impl Plan {
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
