//! What the shim tells the core. Every event is a fact that may be repeated or late without harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::base::ids::{AskId, Key, Text, Uid};
use crate::core::base::resources::{Limit, Resources};
use crate::core::model::countdown::{Deadlines, TimedOut, Timeouts};
use crate::core::model::lifecycle::AppState;
use crate::core::reason::{Objection, Refusal, SpecError};
use crate::core::shape::{NodeSpec, Requirement, Shape};
use crate::core::time::Millis;

/// A fact for the core.
#[derive(Clone, Debug)]
pub enum Event {
    /// A pod as last observed. The id is the shim's; the same id always means the same pod UID.
    Ask(AskId, Box<AskSpec>),
    /// The pod is gone from the API server: confirms a release, or takes an ask or allocation away.
    AskGone(AskId),
    /// A TaskGroup as last observed.
    Group(Key, Box<GroupSpec>),
    /// A TaskGroup that could not be read until now. It was judged without its spec, so it is judged anew.
    GroupRead(Key, Box<GroupSpec>),
    /// The TaskGroup is gone.
    GroupGone(Key),
    /// A Queue as last observed and found valid in the tree.
    Queue(Text, QueueSpec),
    /// A Queue without a valid place in the tree: the queue accepts nothing new, and the pods that still run in it stay
    /// within these limits.
    QueueDisplaced(Text, QueueSpec),
    /// The Queue is gone: it drains.
    QueueGone(Text),
    /// A Node as last observed.
    Node(Text, Box<NodeSpec>),
    /// The Node is gone.
    NodeGone(Text),
    /// A Namespace as last observed.
    Namespace(Text, Box<NamespaceSpec>),
    /// The Namespace is gone.
    NamespaceGone(Text),
    /// The room that the ResourceQuotas of a namespace leave for pods at all (`hard`, minimum over the quotas that
    /// count every pod).
    NamespaceLimit(Text, Limit),
    /// Outcome of a Binding.
    Bind(AskId, BindOutcome),
    /// The API server refused to create a placeholder. Without effect if the placeholder has been seen all the same.
    CreateRefused(PlaceholderName, Refusal),
    /// A release could not be carried out because the pod is not ours to delete any more (permanent refusal).
    ReleaseRefused(AskId, Refusal),
    /// The deletion of a placeholder is refused for now, and is tried again without another decision.
    ReleaseHeldUp(AskId, Refusal),
    /// TaskGroups have been listed, so a placeholder whose TaskGroup is not known is a stray. Before that nobody can
    /// know: an API server that starts says for a moment that it does not serve the kind.
    GroupsListed,
    /// Queues have been listed: one that is not known does not exist.
    QueuesListed,
    /// All kinds are listed or known to be unserved: decisions may begin (01, 1.11).
    Synced,
}

/// Outcome of a Binding.
#[derive(Clone, Debug)]
pub enum BindOutcome {
    /// The API server has it, or the watch shows it on that node.
    Bound,
    /// It certainly did not happen; the ask waits again.
    Failed(Refusal),
    /// It was called off before it was sent.
    Recalled,
}

/// One seat's placeholder of one incarnation (03, 3.5): determines the pod's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceholderName {
    /// The TaskGroup.
    pub group: Key,
    /// The TaskGroup's UID.
    pub uid: Uid,
    /// Incarnation of the application, from 1.
    pub incarnation: u32,
    /// Seat, from 0.
    pub seat: u32,
    /// Attempt, from 0; rises only after the previous one's pod was seen terminal or deleting.
    pub attempt: u32,
}

/// A pod as the core sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskSpec {
    /// Namespace and name.
    pub key: Key,
    /// Seconds since the epoch: `metadata.creationTimestamp`.
    pub created: i64,
    /// `spec.priority` as admission resolved it.
    pub priority: i32,
    /// What it needs of a node.
    pub shape: Arc<Shape>,
    /// Queue named by the pod itself (label, or annotation of its Binding); else its TaskGroup's, else the default.
    pub queue: Option<Text>,
    /// Who submitted it, if that is known.
    pub submitter: Option<Arc<Submitter>>,
    /// What it belongs to.
    pub role: Role,
    /// The application that a member names beside its task group. Where that is known not to have such a task group, the pod
    /// is an ordinary pod of it.
    pub application: Option<Text>,
    /// The task groups that it declares for its application.
    pub declares: Option<Box<Declares>>,
    /// The object of another system that declares its task group, for people.
    pub declared_by: Option<Text>,
    /// UID of the object that made it and makes others in its place: a Job, a StatefulSet.
    pub controller: Option<Uid>,
    /// Where it stands.
    pub place: Place,
    /// Why containers of it do not run although it has a node, in the kubelet's word: `ImagePullBackOff`.
    pub held_up: Option<Text>,
    /// Marks that our Binding left on it.
    pub mark: Option<Mark>,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
}

/// Who created an object, as admission wrote on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Submitter {
    /// The user.
    pub user: Text,
    /// The groups that the user was in then; sorted.
    pub groups: Vec<Text>,
}

/// All task groups of an application, as a pod of it declares them. While the pod waits for a node TaskGroups are made of them,
/// and before these are there their application does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declares {
    /// The application's id.
    pub application: Text,
    /// Names of the TaskGroups, in the pod's namespace; none where nobody is to start together.
    pub groups: Vec<Text>,
}

/// What a pod belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Another scheduler's: charged on its node, not in a queue, never scheduled by us.
    Foreign,
    /// Ours, no application named.
    Singleton,
    /// Of an application (of this namespace), in none of its task groups.
    Originator {
        /// The application's id.
        application: Text,
    },
    /// Of a task group of its own namespace.
    Member {
        /// The TaskGroup's name.
        group: Text,
    },
    /// A placeholder of ours: label, schedulerName and name equal to the hash of its labels.
    Placeholder(PlaceholderName),
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Has scheduling gates: not a member yet.
    Gated,
    /// It cannot be given what it asks for: never placed, reason shown.
    Refused(Box<Objection>),
    /// Waits for a node.
    Pending,
    /// Has a node and is not finished. `running`: phase Running.
    On {
        /// Node name.
        node: Text,
        /// Whether its phase is Running.
        running: bool,
    },
    /// Phase Succeeded: uses nothing.
    Succeeded,
    /// Phase Failed: uses nothing.
    Failed {
        /// `status.reason`, for example why its node did not take the pod (`OutOfcpu`); else how the first container ended
        /// that failed (`OOMKilled`, `exit code 1`). May be empty.
        reason: Text,
        /// No container of it ever was: its node did not take it.
        refused: bool,
    },
}

impl Place {
    /// How a pod failed; `None` of one that did not.
    pub const fn failure(&self) -> Option<&Text> {
        match self {
            Self::Failed { reason, .. } => Some(reason),
            Self::Gated | Self::Refused(_) | Self::Pending | Self::On { .. } | Self::Succeeded => None,
        }
    }

    /// Whether the pod waits for nobody but whoever made it, since we cannot give what it asks for.
    pub const fn is_refused(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Gated | Self::Pending | Self::On { .. } | Self::Succeeded | Self::Failed { .. } => false,
        }
    }

    /// Whether the pod says itself that its gang has timed out.
    pub fn is_given_up(&self) -> bool {
        matches!(self, Self::Refused(objection) if matches!(**objection, Objection::GivenUp(_)))
    }
}

/// What a Binding of ours wrote on a pod with its node name (design 02, 2.1 "written ahead").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Name of the TaskGroup of which the pod is a member. It is in the mark because labels can change after the
    /// Binding, and what the pod was bound as must not.
    pub task_group: Option<Text>,
    /// The application of a pod that is in none of its task groups; in the mark for the same reason.
    pub application: Option<Text>,
    /// UID of the TaskGroup it was bound for; `None` for a pod outside task groups.
    pub group: Option<Uid>,
    /// Incarnation of its application.
    pub incarnation: u32,
    /// Its seat, if it took one.
    pub seat: Option<u32>,
    /// It is a real member that was bound once the gang was satisfied.
    pub started: bool,
    /// Queue it was charged to.
    pub queue: Text,
}

/// How the seats of a group are held before the start (01, 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reservation {
    /// By placeholder pods.
    #[default]
    Placeholder,
    /// By no pods: the members are planned and bound together.
    Direct,
}

/// For whom placeholders are created (01, 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaceholderFor {
    /// For members that do not exist yet.
    #[default]
    Missing,
    /// For every member.
    All,
}

/// What becomes of a gang whose placeholder timeout ends before a real pod of it was bound (01, 1.7; seed 000
/// "gangSchedulingStyle").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Its placeholders go, and its pods are placed one by one.
    #[default]
    Soft,
    /// Its placeholders go, and its pods fail.
    Hard,
}

/// Whether seats are held before there is a node for each of them (01, 1.3; seed 002 "Strict and NonStrict").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No: all find nodes together, or none is held.
    #[default]
    Strict,
    /// Yes: each is held as soon as there is a node for it.
    NonStrict,
}

/// Who counts once a gang has started (01, 1.6; peers 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchPolicy {
    /// Nobody: members that come are ordinary pods.
    #[default]
    OnceSatisfied,
    /// Members that have a node and members that wait: those that wait are placed together when both are enough.
    WaitingAndRunning,
    /// Members that wait: as many as start at first are placed together each time.
    OnlyWaiting,
}

/// A TaskGroup as the core sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// UID of the object.
    pub uid: Uid,
    /// `metadata.generation`.
    pub generation: i64,
    /// Seconds since the epoch: `metadata.creationTimestamp`.
    pub created: i64,
    /// Application id (default: the object's name).
    pub application: Text,
    /// Queue path; `None` = it names none, and the one of its namespace counts.
    pub queue: Option<Text>,
    /// Who submitted it, if that is known.
    pub submitter: Option<Arc<Submitter>>,
    /// Seats, at least 1.
    pub min_member: u32,
    /// How many members belong to it, where that is more than the seats (01, 1.3).
    pub total_member: Option<u32>,
    /// `minResource` plus one pod.
    pub min_resource: Resources,
    /// What a placeholder is expected to need of a node, before admission changes it.
    pub shape: Arc<Shape>,
    /// All task groups of the gang, this one included; sorted.
    pub gang: Vec<Key>,
    /// Of a gang that lies in several namespaces, the name of what its task groups are together: another one for each set of task
    /// groups, so that who lists somebody who does not list it back is never one with it (01, 1.6).
    pub across: Option<Text>,
    /// How seats are held.
    pub reservation: Reservation,
    /// For whom placeholders are created.
    pub placeholder_for: PlaceholderFor,
    /// What a placeholder timeout before the start does.
    pub style: Style,
    /// Whether its seats are held one by one.
    pub mode: Mode,
    /// Who counts once the gang has started.
    pub match_policy: MatchPolicy,
    /// How long what may last.
    pub timeouts: Timeouts,
    /// How long the room of a lost member is kept for the next one (01, 1.5); 0 = not at all.
    pub seat_hold: Millis,
    /// Everything wrong with the spec, at once; empty = valid.
    pub errors: Vec<SpecError>,
    /// What status remembers (01, 1.11): read once per UID, ignored afterwards.
    pub remembered: Remembered,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// The object of which it was made says something else by now: it is edited before its gang starts (ADR 38).
    pub awaits_edit: bool,
}

impl GroupSpec {
    /// Key of the application that it names, if the object has this one: in its namespace, or in none where its gang lies in
    /// several.
    pub fn application_of(&self, key: &Key) -> Key {
        let across = self.across.as_ref().map(|name| Key::cluster(name.clone()));
        across.unwrap_or_else(|| key.beside(&self.application))
    }

    /// Whether the spec was edited since status was written: status is about another generation.
    pub fn is_edited(&self) -> bool {
        self.remembered.generation != self.generation
    }

    /// Whether a later spec asks for nothing new but timeouts.
    pub fn differs_in_timeouts_only(&self, later: &Self) -> bool {
        let Self { generation, timeouts, seat_hold, remembered, awaits_edit, .. } = later.clone();
        Self { generation, timeouts, seat_hold, remembered, awaits_edit, ..self.clone() } == *later
    }
}

/// Facts that only status holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Incarnation of the application, 0 = never accepted.
    pub incarnation: u32,
    /// Generation of the spec that was in force; 0 = status was never written.
    pub generation: i64,
    /// `Placed=True`: the gang was satisfied and bound.
    pub placed: bool,
    /// `applicationState`; `None` = not written, or of a TaskGroup that stays outside its application.
    pub state: Option<AppState>,
    /// `TimedOut=True`: which timeout ended the reservation of that incarnation.
    pub timed_out: Option<TimedOut>,
    /// When what runs out.
    pub deadlines: Deadlines,
    /// How many lives in a row never started, up to that incarnation.
    pub unstarted_lives: u32,
    /// How many placeholders of that incarnation had given their seat to a member (ADR 0017).
    pub replaced: u32,
    /// How many of its members had succeeded, and how many had failed.
    pub ended: (u32, u32),
}

impl Remembered {
    /// Whether that incarnation is over if it had started, and the next one is not accepted yet.
    pub const fn is_unaccepted(&self) -> bool {
        matches!(self.state, Some(AppState::New | AppState::Rejected)) && self.timed_out.is_none()
    }
}

/// A queue as the core sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSpec {
    /// What may be used by the queue and all below it.
    pub max: Limit,
    /// What the queue and all below it are promised; an amount of 0 promises nothing.
    pub guaranteed: Limit,
    /// In which order applications start; `None` = as the queue above says.
    pub sort_policy: Option<SortPolicy>,
    /// Added to the priority of its pods where they are put in order with those of other queues.
    pub priority_offset: i32,
    /// It and all below it take no new applications.
    pub stopped: bool,
    /// How many applications may be past the gate at once; `None` = no limit.
    pub max_applications: Option<u32>,
    /// How often, or how long, who is first in line is overtaken; `None` = as the queue above says.
    pub head_of_line: Option<HeadOfLine>,
    /// What single users and groups may use of the queue and all below it, in the order in which they are said.
    pub limits: Vec<SubmitterLimit>,
    /// For which namespaces the queue and all below it are; `None` = for all, and none has its home there.
    pub namespaces: Option<Selector>,
    /// The queue of its own that each of these namespaces has below it.
    pub template: Option<LeafSpec>,
}

/// What each of some users, or the members of each of some groups together, may use of a queue (01, 1.2.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubmitterLimit {
    /// Users; `*` for each of all others.
    pub users: Vec<Text>,
    /// Groups; `*` for all others together.
    pub groups: Vec<Text>,
    /// How much.
    pub max: Limit,
    /// How many applications may be past the gate at once; `None` = no limit.
    pub max_applications: Option<u32>,
}

/// Labels that a namespace must have; without any requirement it chooses all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(pub Vec<Requirement>);

/// What the queue of one namespace may use (01, 1.12: dynamic leaf queues).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeafSpec {
    /// As of a queue.
    pub max: Limit,
    /// As of a queue.
    pub guaranteed: Limit,
    /// As of a queue.
    pub sort_policy: Option<SortPolicy>,
    /// As of a queue.
    pub max_applications: Option<u32>,
}

/// A namespace as the core sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// Its labels.
    pub labels: BTreeMap<Text, Text>,
    /// What it says of its own queue.
    pub says: OwnQueue,
    /// What is wrong with what it says; the last that was right counts.
    pub errors: Vec<SpecError>,
}

/// What a namespace says of its own queue. What it leaves out is as the template says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnQueue {
    /// The path of the queue above.
    pub above: Option<Text>,
    /// What may be used; in place of the whole of the template's.
    pub max: Option<Limit>,
    /// What is promised, likewise.
    pub guaranteed: Option<Limit>,
    /// How many applications may be past the gate at once.
    pub max_applications: Option<u32>,
}

/// In which order the applications of a leaf queue start (01, 1.12); priority comes first in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortPolicy {
    /// As they were submitted.
    #[default]
    Fifo,
    /// As they were submitted, one gang at a time between the open gate and Running (01, 1.2.5).
    StateAware,
    /// The smallest share first. No gangs (01, 1.2.3).
    Fair,
}

/// How often, or how long, the gang that is first in line is overtaken by applications behind it (01, 1.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOfLine {
    /// Any number of times, for any time.
    Unbounded,
    /// By so many applications.
    MaxOvertakes(u32),
    /// For so long after it became first in line.
    After(Millis),
}

impl Default for HeadOfLine {
    /// What holds where no queue says anything.
    fn default() -> Self {
        Self::After(600_000)
    }
}

impl QueueSpec {
    /// Whether work can wait because of it.
    pub fn limits_something(&self) -> bool {
        !self.max.is_unlimited() || self.max_applications.is_some()
    }

    /// Whether the order of work among queues is another one because of it.
    pub fn orders_something(&self) -> bool {
        self.priority_offset != 0 || self.guaranteed.iter().any(|(_, amount)| amount > 0)
    }
}
