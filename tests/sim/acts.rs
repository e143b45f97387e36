//! What people and machines do, as it stands in a plan.

use gangline::api::queue::SortPolicy;
use gangline::api::task_group::MatchPolicy;
use gangline::shim::op::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::homes::NamespaceAct;
use super::place::Place;
use super::plan::is_default;
use super::words::{Family, PodGroupAct, WordsAct};

/// The kinds that are played with in every plan; in some also those of other systems.
pub(crate) const PLAYED: [Kind; 6] =
    [Kind::Pod, Kind::Node, Kind::TaskGroup, Kind::Queue, Kind::ResourceQuota, Kind::Namespace];

/// What people and machines do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Act {
    /// A node comes, or changes.
    Node(NodeAct),
    /// A node goes.
    LoseNode { name: String },
    /// A node takes no pods any more, and everything on it is deleted.
    Drain { name: String },
    /// The machine of a node dies: its kubelet does nothing any more, and after a while it is marked for that.
    Die { node: String },
    /// Everything on a node is deleted, as is done where one has been dead for long.
    Evict { node: String },
    /// The machine of a node is back.
    Revive { node: String },
    /// An autoscaler adds a node as soon as a pod is marked Unschedulable; it looks every 10 s.
    Autoscale { name: String, cpu: u32 },
    /// A queue comes, or changes.
    Queue(QueueAct),
    /// A queue's object goes.
    DropQueue { path: String },
    /// A Namespace comes, or is edited; as long as that is being deleted, it comes when it is gone.
    Namespace(NamespaceAct),
    /// A task group comes, or is edited.
    Group(GroupAct),
    /// A task group goes.
    DropGroup { name: String },
    /// Another system's PodGroup comes, or is edited.
    PodGroup(PodGroupAct),
    /// One goes, and what was made of it with it.
    DropPodGroup { family: Family, name: String },
    /// A pod comes.
    Pod(PodAct),
    /// A Job comes: its controller makes pods anew, under other names, for those that fail or go.
    Job(JobAct),
    /// A StatefulSet comes: its controller makes one pod after the other, and anew under its name what is gone.
    Set(SetAct),
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
    /// Somebody deletes a placeholder of a group: the n-th by name. Or its node puts it off, for want of memory.
    DropPlaceholder {
        group: String,
        nth: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        fails: bool,
    },
    /// Somebody makes the placeholder that comes next for the first seat of a group, who knows how it is named; or another
    /// pod of that name, which an administrator takes away in the end.
    Forge { group: String, milli: u32, squats: bool },
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
    /// A kind that is not Kubernetes' own is not served for a while, and all its objects go: its definition was deleted.
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
    /// Something happens to one of two processes, or to the Lease that says which of them decides.
    Replica { which: Which, does: ReplicaDeed, ms: u64 },
}

/// Which of two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Which {
    /// The one that decides.
    Leader,
    /// The other one.
    Follower,
}

impl Which {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Leader, Self::Follower];
}

/// What happens to one of two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReplicaDeed {
    /// It stands still for so long (SIGSTOP, and SIGCONT).
    Stop,
    /// It is killed, and another begins in its place after so long.
    Kill,
    /// It is told to end (SIGTERM), and another begins in its place so long after it has.
    End,
    /// It cannot reach the server for so long.
    Part,
    /// The wall clock of its machine is so far ahead from now on, or right again.
    Clock,
    /// Somebody clears the holder of the Lease.
    Clear,
    /// Somebody writes another holder into the Lease.
    Steal,
    /// Somebody deletes the Lease.
    Delete,
}

impl ReplicaDeed {
    /// All of them.
    pub(crate) const ALL: [Self; 8] =
        [Self::Stop, Self::Kill, Self::End, Self::Part, Self::Clock, Self::Clear, Self::Steal, Self::Delete];
}

/// What Jobs want of their pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct JobAct {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) group: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) milli: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) mib: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: u32,
    /// So many pods at a time, until so many have succeeded.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) parallelism: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) completions: u32,
    /// Who submitted it, if that is known: `alice:dev,ops`.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) by: Option<String>,
}

/// What StatefulSets want of their pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SetAct {
    pub(crate) group: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) milli: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) mib: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) replicas: u32,
    /// Who submitted it, if that is known: `alice:dev,ops`.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) by: Option<String>,
}

/// Who has to be there for an act to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nobody is asked.
    Nobody,
    /// The API server.
    Server,
    /// The API server, with the definition of a kind.
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

    /// The names of all acts, as serde knows them.
    pub(crate) fn names() -> Vec<String> {
        let refusal = serde_json::from_str::<Self>(r#""?""#).expect_err("no act has this name").to_string();
        quoted(&refusal)
    }

    /// What its fields say, those that are as if they were not there left out.
    pub(crate) fn said(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(act)) => act.into_iter().find_map(|(_, fields)| fields.as_object().cloned()),
            _ => None,
        }
        .unwrap_or_default()
    }

    /// The names of the fields of an act, as serde knows them.
    pub(crate) fn fields(name: &str) -> Vec<String> {
        let wrong = serde_json::from_value::<Self>(json!({name: {"?": 0}}));
        let refusal = wrong.expect_err("no act has this field").to_string();
        if refusal.contains("unknown field") { quoted(&refusal) } else { Vec::new() }
    }

    /// Who has to be there for it.
    pub(crate) const fn needs(&self) -> Needs {
        match self {
            Self::Queue(_) | Self::DropQueue { .. } => Needs::Served(Kind::Queue),
            Self::Group(_) | Self::DropGroup { .. } => Needs::Served(Kind::TaskGroup),
            Self::PodGroup(group) => Needs::Served(group.family.kind()),
            Self::DropPodGroup { family, .. } => Needs::Served(family.kind()),
            Self::Vanish { kind, .. } | Self::Garble { kind, .. } => Needs::Served(*kind),
            Self::Node(_)
            | Self::LoseNode { .. }
            | Self::Drain { .. }
            | Self::Evict { .. }
            | Self::Revive { .. }
            | Self::Autoscale { .. }
            | Self::Pod(_)
            | Self::Job(_)
            | Self::Set(_)
            | Self::DropPod { .. }
            | Self::LetGo { .. }
            | Self::Label { .. }
            | Self::Ungate { .. }
            | Self::End { .. }
            | Self::DropPlaceholder { .. }
            | Self::Forge { .. }
            | Self::Foreign { .. }
            | Self::Resize { .. }
            | Self::Quota { .. }
            | Self::Namespace(_)
            | Self::DropNamespace { .. } => Needs::Server,
            Self::Kill { .. }
            | Self::Overlap { .. }
            | Self::Cut { .. }
            | Self::Mute { .. }
            | Self::Hang { .. }
            | Self::Die { .. }
            | Self::Storm { .. }
            | Self::Away { .. }
            | Self::Compact
            | Self::Jump { .. }
            | Self::Replica { .. } => Needs::Nobody,
        }
    }
}

/// What serde names in the place of `?`.
fn quoted(refusal: &str) -> Vec<String> {
    refusal.split('`').skip(1).step_by(2).filter(|name| *name != "?").map(str::to_owned).collect()
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NodeAct {
    pub(crate) name: String,
    pub(crate) cpu: u32,
    /// Memory, in MiB, if it is not plenty.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) mib: Option<u32>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: u32,
    /// How many pods it takes, if not many.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) pods: Option<u32>,
    pub(crate) cordoned: bool,
    /// It takes only who tolerates that.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) tainted: bool,
}

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QueueAct {
    pub(crate) path: String,
    pub(crate) cpu: u32,
    /// Memory, in MiB, if that is limited.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) mib: Option<u32>,
    /// Graphics processors, if these are limited.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: Option<u32>,
    /// So many applications at a time.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) apps: Option<u32>,
    /// By so many applications who is first in line is overtaken.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) overtakes: Option<u32>,
    /// For so many seconds it is.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) overtaken_s: Option<u32>,
    /// So many cores it is promised.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) guaranteed: Option<u32>,
    /// How its applications are put in order, if it says so.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) sorts: Option<SortPolicy>,
    /// What it adds to priorities.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) offset: Option<i32>,
    /// It takes no new applications.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) stopped: bool,
    /// What users and groups may use of it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) limits: Vec<LimitAct>,
    /// The team for whose namespaces it is, if not for all.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) chooses: Option<String>,
    /// So many cores each of them may use in a queue of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gives: Option<u32>,
}

/// What each of some users, or the members of each of some groups together, may use of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitAct {
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) users: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) groups: Vec<String>,
    /// So many cores, if that is limited.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) cpu: Option<u32>,
    /// So many applications at a time.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) apps: Option<u32>,
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
    pub(crate) mib: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: u32,
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
    /// Whether its pods fail when no member came in time.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) hard: bool,
    /// Whether seats are held before there is a node for each.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) one_by_one: bool,
    /// Who counts once it has started.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) policy: MatchPolicy,
    /// How many belong to it, if that is said.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) total: Option<u32>,
    /// How long placeholders hold its seats, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) holds: Option<u32>,
    /// How long it waits for nodes for all after it found some, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) waits: Option<u32>,
    /// How long it waits at the gate, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) admits: Option<u32>,
    /// How long the room of a lost member is kept, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) hold: Option<u32>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) flaw: Option<Flaw>,
    /// Where its placeholders may be.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) place: Option<Place>,
    /// Who submitted it, if that is known: `alice:dev,ops`.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) by: Option<String>,
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
    pub(crate) mib: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) gpu: u32,
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
    /// Another system's marker makes it a member of a gang, where no label of ours does.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) foreign: bool,
    /// Instead of its group it names one by a label that there is not: somebody mistyped it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) mistyped: bool,
    /// It is in another namespace than the group that it names.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) abroad: bool,
    /// What it says in YuniKorn's words, and in none of ours.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) spoken: Option<SpokenAct>,
    /// What it says in the words of others, and in none of ours.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) words: Option<WordsAct>,
    /// Where it may be.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) place: Option<Place>,
    /// Who submitted it, if that is known: `alice:dev,ops`.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) by: Option<String>,
}

/// What a pod says in YuniKorn's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SpokenAct {
    /// Its application.
    pub(crate) app: String,
    /// The task group that it is of.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) group: Option<String>,
    /// The task groups that it declares: name, members, and what each asks for.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) declares: Vec<(String, u32, u32)>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) hard: bool,
    /// How long placeholders hold seats, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) holds: Option<u32>,
    /// What it declares cannot be read.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) wrong: bool,
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
