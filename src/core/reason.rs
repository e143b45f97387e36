//! Why something waits or is refused: one enum each, and the one wording that users see everywhere.

use std::fmt;

use crate::core::base::ids::{GroupId, Text};
use crate::core::codes::Code;
use crate::core::event::MatchPolicy;
use crate::core::model::queue::{First, QuotaExcess};
use crate::core::time::Wall;

pub use lack::{Loss, NEAREST, Short, without_numbers};
pub use pod::AskReason;
pub use reject::RejectReason;
pub use words::quota_sentence;
use words::{members_refused_sentence, next_life_sentence, rejected_sentence, round_sentence, start_sentence};

mod lack;
mod pod;
mod reject;
mod words;

/// One thing wrong with a spec, naming its field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecError {
    /// Path of the field: `spec.minResource[cpu]`.
    pub field: Text,
    /// What is wrong, without the field's name.
    pub problem: Text,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

/// A constraint of a pod that this version does not honour, so that the pod is refused rather than placed wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The field, as a user would look for it: `spec.topologySpreadConstraints`.
    pub field: Text,
}

/// What makes a pod a member of a gang in another system's words, which are not understood here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignMarker {
    /// Whose words they are: `YuniKorn`.
    pub system: &'static str,
    /// What it is, as a user would look for it: `the annotation yunikorn.apache.org/task-group-name`.
    pub marker: Text,
    /// What to make of the gang, as an order: `make a TaskGroup of each of its task groups`.
    pub remedy: &'static str,
}

/// Why a pod is given no node, whatever is free, until it is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// It uses something that this version does not honour.
    Unsupported(Unsupported),
    /// A marker of another system makes it a member of a gang that we do not know.
    OtherDialect(ForeignMarker),
    /// What it says in the words of a system that we know is wrong.
    Misdeclared {
        /// Whose words they are: `YuniKorn`.
        system: &'static str,
        /// Everything that is wrong.
        problems: Vec<SpecError>,
    },
    /// It says itself, in an annotation of this name, that its gang has timed out.
    GivenUp(&'static str),
}

impl Objection {
    /// The code on the pod's condition.
    pub const fn code(&self) -> Code {
        match self {
            Self::Unsupported(_) => Code::UnsupportedConstraint,
            Self::OtherDialect(_) => Code::DialectNotSupported,
            Self::Misdeclared { .. } => Code::InvalidDeclaration,
            Self::GivenUp(_) => Code::WaitTimeout,
        }
    }

    /// What on the pod it is about, as a user would look for it.
    pub fn subject(&self) -> &str {
        match self {
            Self::Unsupported(Unsupported { field }) => field,
            Self::OtherDialect(found) => &found.marker,
            Self::Misdeclared { problems, .. } => problems.first().map_or("a declaration", |problem| &problem.field),
            Self::GivenUp(annotation) => annotation,
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(Unsupported { field }) => {
                write!(f, "{field} is not supported by this version of Gangline, so the pod is not placed")
            }
            Self::OtherDialect(ForeignMarker { system, marker, remedy }) => write!(
                f,
                "{marker} makes the pod a member of a gang of {system}, whose words are not understood here, so the \
                 pod is not placed alone: {remedy} and name it in the label gangline.dev/task-group of the pods; or let Gangline place such pods one by one (--ignore-foreign-markers)"
            ),
            Self::Misdeclared { system, problems } => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let problems = problems.join("; ");
                write!(f, "what the pod says in the words of {system} is wrong, so it is not placed: {problems}")
            }
            Self::GivenUp(annotation) => write!(
                f,
                "the annotation {annotation} says that the gang of the pod has timed out, so the pod is placed no more: delete \
                 the pod and submit it again, or remove the annotation"
            ),
        }
    }
}

/// A call that the API server refused for good or for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// The server's message, bounded and with control characters escaped.
    pub message: Text,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// How far it is known that a gang cannot be placed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Surely: of some class too few fit even if nothing else is placed, whoever takes the seats.
    Alone,
    /// Surely: each class fits alone, and there is no way to place all together.
    Searched,
    /// Not: of the ways to place all together so many were tried, and there are more.
    GaveUp {
        /// Orders of the seats, and ways to fill one node.
        steps: u32,
    },
}

/// Why an accepted gang does not start yet, or what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// TaskGroups that its gangGroup lists do not exist yet, or do not list the same.
    WaitingForTaskGroups {
        /// Their names.
        missing: Vec<Text>,
        /// How many are listed.
        listed: u32,
    },
    /// A TaskGroup is to be edited first, since the object of which it was made says something else by now.
    WaitingForEdit {
        /// Its name.
        group: Text,
    },
    /// It names a queue while the cluster does not serve Queues: whether it exists cannot be known.
    WaitingForQueues {
        /// The queue.
        queue: Text,
    },
    /// Its Namespace has not been seen, and queues are chosen by its labels.
    WaitingForNamespace {
        /// The namespace.
        namespace: Text,
    },
    /// Nothing is reserved before a first pod of the application exists.
    WaitingForFirstPod,
    /// Pods that start with the gang use what this version does not honour, and there are too few others.
    MembersRefused {
        /// Their group; `None` for pods outside the groups.
        group: Option<GroupId>,
        /// How many.
        count: u32,
    },
    /// Direct: fewer members exist than start together.
    WaitingForMembers {
        /// Of which group.
        group: Text,
        /// Pending members that exist.
        have: u32,
        /// Members that are needed.
        need: u32,
    },
    /// The gang has started, and its match policy makes members start together once more: fewer are there than that takes.
    WaitingForRound {
        /// Of which group.
        group: Text,
        /// Members that are there: of [`MatchPolicy::WaitingAndRunning`] those that have a node, too.
        have: u32,
        /// Members that are needed.
        need: u32,
        /// Who counts.
        policy: MatchPolicy,
    },
    /// The whole ask does not fit what is left of a quota.
    WaitingForQuota(QuotaExcess),
    /// The gang has started, and what members ask for that start together once more does not fit what is left of a quota.
    RoundWaitsForQuota(QuotaExcess),
    /// `maxApplications` of a queue is reached.
    WaitingForApplications {
        /// The queue.
        queue: Text,
        /// Its limit.
        max: u32,
    },
    /// Another gang of its `StateAware` queue is past the gate and has not started.
    WaitingForStart {
        /// The queue.
        queue: Text,
        /// The application that starts.
        application: Text,
    },
    /// Gangs of its namespace ask for as many placeholders as they may.
    WaitingForPlaceholders {
        /// The namespace.
        namespace: Text,
        /// How many those ask for that are past the gate and have not started.
        asked: u64,
        /// How many they may.
        max: u64,
    },
    /// Another gang is first in line in its queue, and nothing behind that one starts before it does.
    WaitingForFirst(First),
    /// A reservation was given back for a reason that has passed; nothing is held until the next attempt.
    Pausing,
    /// Waits a moment for members that may still come.
    Settling,
    /// Placeholders are being created.
    CreatingPlaceholders {
        /// Exist.
        have: u32,
        /// Needed.
        need: u32,
    },
    /// The seats do not find nodes together.
    WaitingForCapacity {
        /// Seats that find a node, counted in the plan that failed, of the class that fell short.
        fit: u32,
        /// Seats of that class.
        need: u32,
        /// How far that is known.
        proof: Proof,
    },
    /// The seats do not find nodes together, and the ask does not fit beside those of gangs before it that nodes block,
    /// too: it makes no placeholders.
    WaitingBehind {
        /// Seats that find a node, of the class that fell short in the plan on trial.
        fit: u32,
        /// Seats of that class.
        need: u32,
        /// What is left beside the others.
        refused: QuotaExcess,
    },
    /// All seats have nodes; their placeholders are being bound.
    BindingPlaceholders {
        /// Bound.
        have: u32,
        /// All.
        need: u32,
    },
    /// All seats are held; no member came yet that can be placed.
    Held,
    /// Placeholders that were given up are still there: a finalizer, their node, or a refused deletion holds them.
    PlaceholdersLeaving {
        /// How many.
        count: u32,
    },
    /// The application never started in its last lives; the next one begins after a pause.
    WaitingForNextLife {
        /// How many lives in a row.
        lives: u32,
        /// When the next one begins.
        at: Wall,
    },
    /// The API server refused a placeholder or failed to create it; nothing is held until the next attempt.
    PlaceholderRejected(Refusal),
    /// Two placeholders of a seat were lost within [`LOST_AGAIN_MS`](crate::core::model::gang::LOST_AGAIN_MS); nothing
    /// is held until the next attempt.
    PlaceholdersLost(Loss),
    /// Pods outside the groups came while seats were held, and found no node; nothing is held until the next attempt.
    JoinedLate {
        /// How many of them found none.
        short: u32,
    },
    /// Seats were lost and could not be replaced; nothing is held until the next attempt.
    ReservationLost {
        /// Seats that found no node.
        short: u32,
    },
}

impl Reason {
    /// The reason's code on conditions and events.
    pub const fn code(&self) -> Code {
        match self {
            Self::WaitingForTaskGroups { .. } | Self::WaitingForEdit { .. } => Code::WaitingForTaskGroups,
            Self::WaitingForQueues { .. } => Code::WaitingForQueues,
            Self::WaitingForNamespace { .. } => Code::WaitingForNamespace,
            Self::WaitingForFirstPod => Code::WaitingForFirstPod,
            Self::MembersRefused { .. } => Code::MembersRefused,
            Self::WaitingForMembers { .. } | Self::WaitingForRound { .. } => Code::WaitingForMembers,
            Self::WaitingForQuota(_) | Self::RoundWaitsForQuota(_) => Code::WaitingForQuota,
            Self::WaitingForApplications { .. } => Code::WaitingForApplications,
            Self::WaitingForStart { .. } => Code::WaitingForStart,
            Self::WaitingForPlaceholders { .. } => Code::WaitingForPlaceholders,
            Self::WaitingForFirst(_) => Code::WaitingForFirst,
            Self::Pausing => Code::Pausing,
            Self::Settling | Self::CreatingPlaceholders { .. } => Code::CreatingPlaceholders,
            Self::WaitingForCapacity { .. } => Code::WaitingForCapacity,
            Self::WaitingBehind { .. } => Code::WaitingBehind,
            Self::BindingPlaceholders { .. } => Code::BindingPlaceholders,
            Self::Held => Code::WaitingForMembers,
            Self::PlaceholdersLeaving { .. } => Code::PlaceholdersLeaving,
            Self::WaitingForNextLife { .. } => Code::WaitingForNextLife,
            Self::PlaceholderRejected(refusal) if refusal.code >= 500 => Code::PlaceholderFailed,
            Self::PlaceholderRejected(_) => Code::PlaceholderRejected,
            Self::PlaceholdersLost(_) => Code::PlaceholdersLost,
            Self::JoinedLate { .. } => Code::JoinedLate,
            Self::ReservationLost { .. } => Code::ReservationLost,
        }
    }

    /// Whether two reasons differ in their numbers at most.
    pub fn has_cause_of(&self, other: &Self) -> bool {
        let limit = |reason: &Self| match reason {
            Self::WaitingForQuota(refused)
            | Self::RoundWaitsForQuota(refused)
            | Self::WaitingBehind { refused, .. } => {
                Some((refused.queue.clone(), Some(refused.excess.resource.clone())))
            }
            Self::WaitingForApplications { queue, .. } => Some((queue.clone(), None)),
            // Who starts is told as numbers are: of those that wait there may be many.
            Self::WaitingForStart { queue, .. } => Some((queue.clone(), None)),
            Self::WaitingForPlaceholders { namespace, .. } => Some((namespace.clone(), None)),
            // Who is first is told as numbers are: of those behind it there may be many.
            Self::WaitingForFirst(first) => Some((first.queue.clone(), None)),
            Self::WaitingForTaskGroups { .. }
            | Self::WaitingForEdit { .. }
            | Self::WaitingForQueues { .. }
            | Self::WaitingForNamespace { .. }
            | Self::WaitingForFirstPod
            | Self::MembersRefused { .. }
            | Self::WaitingForMembers { .. }
            | Self::WaitingForRound { .. }
            | Self::Pausing
            | Self::Settling
            | Self::CreatingPlaceholders { .. }
            | Self::WaitingForCapacity { .. }
            | Self::BindingPlaceholders { .. }
            | Self::Held
            | Self::PlaceholdersLeaving { .. }
            | Self::WaitingForNextLife { .. }
            | Self::PlaceholderRejected(_)
            | Self::PlaceholdersLost(_)
            | Self::JoinedLate { .. }
            | Self::ReservationLost { .. } => None,
        };
        self.code() == other.code() && limit(self) == limit(other)
    }

    /// Whether it says what nodes lack.
    pub const fn is_of_nodes(&self) -> bool {
        match self {
            Self::WaitingForCapacity { .. } | Self::WaitingBehind { .. } => true,
            Self::WaitingForTaskGroups { .. }
            | Self::WaitingForEdit { .. }
            | Self::WaitingForQueues { .. }
            | Self::WaitingForNamespace { .. }
            | Self::WaitingForFirstPod
            | Self::MembersRefused { .. }
            | Self::WaitingForMembers { .. }
            | Self::WaitingForRound { .. }
            | Self::WaitingForQuota(_)
            | Self::RoundWaitsForQuota(_)
            | Self::WaitingForApplications { .. }
            | Self::WaitingForStart { .. }
            | Self::WaitingForPlaceholders { .. }
            | Self::WaitingForFirst(_)
            | Self::Pausing
            | Self::Settling
            | Self::CreatingPlaceholders { .. }
            | Self::BindingPlaceholders { .. }
            | Self::Held
            | Self::PlaceholdersLeaving { .. }
            | Self::WaitingForNextLife { .. }
            | Self::PlaceholderRejected(_)
            | Self::PlaceholdersLost(_)
            | Self::JoinedLate { .. }
            | Self::ReservationLost { .. } => false,
        }
    }

    /// The sentence with what a look at the nodes shows: who finds too few, and what the nodes lack.
    pub fn with_lack(&self, short: &Short, nodes: &str) -> String {
        let next = if short.fit > 0 { "for the next one " } else { "" };
        let found = format!("{short}; {next}{nodes}");
        match self {
            Self::WaitingBehind { refused, .. } => {
                format!(
                    "{found}. No placeholders are made before all find one, since {}",
                    quota_sentence("the gang", refused)
                )
            }
            Self::WaitingForCapacity { proof: Proof::Alone | Proof::Searched, .. } => found,
            Self::WaitingForCapacity { proof: Proof::GaveUp { steps }, .. } => {
                format!("{found} (gave up after {steps} attempts to place all)")
            }
            Self::WaitingForTaskGroups { .. }
            | Self::WaitingForEdit { .. }
            | Self::WaitingForQueues { .. }
            | Self::WaitingForNamespace { .. }
            | Self::WaitingForFirstPod
            | Self::MembersRefused { .. }
            | Self::WaitingForMembers { .. }
            | Self::WaitingForRound { .. }
            | Self::WaitingForQuota(_)
            | Self::RoundWaitsForQuota(_)
            | Self::WaitingForApplications { .. }
            | Self::WaitingForStart { .. }
            | Self::WaitingForPlaceholders { .. }
            | Self::WaitingForFirst(_)
            | Self::Pausing
            | Self::Settling
            | Self::CreatingPlaceholders { .. }
            | Self::BindingPlaceholders { .. }
            | Self::Held
            | Self::PlaceholdersLeaving { .. }
            | Self::WaitingForNextLife { .. }
            | Self::PlaceholderRejected(_)
            | Self::PlaceholdersLost(_)
            | Self::JoinedLate { .. }
            | Self::ReservationLost { .. } => self.to_string(),
        }
    }

    /// Whether the gang goes on by itself within moments: nothing is shown on its pods meanwhile.
    pub const fn is_progress(&self) -> bool {
        match self {
            Self::Settling | Self::CreatingPlaceholders { .. } | Self::BindingPlaceholders { .. } | Self::Held => true,
            Self::WaitingForTaskGroups { .. }
            | Self::WaitingForEdit { .. }
            | Self::WaitingForQueues { .. }
            | Self::WaitingForNamespace { .. }
            | Self::WaitingForFirstPod
            | Self::WaitingForPlaceholders { .. }
            | Self::WaitingForFirst(_)
            | Self::Pausing
            | Self::MembersRefused { .. }
            | Self::WaitingForMembers { .. }
            | Self::WaitingForRound { .. }
            | Self::WaitingForQuota(_)
            | Self::RoundWaitsForQuota(_)
            | Self::WaitingForApplications { .. }
            | Self::WaitingForStart { .. }
            | Self::WaitingForCapacity { .. }
            | Self::WaitingBehind { .. }
            | Self::PlaceholdersLeaving { .. }
            | Self::WaitingForNextLife { .. }
            | Self::PlaceholderRejected(_)
            | Self::PlaceholdersLost(_)
            | Self::JoinedLate { .. }
            | Self::ReservationLost { .. } => false,
        }
    }
}

fn missing_sentence(missing: &[Text], listed: u32) -> String {
    let (have, missing) = (listed as usize - missing.len(), missing.join(", "));
    format!("{have} of {listed} TaskGroups of the gang exist and list the same; missing: {missing}")
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForTaskGroups { missing, listed } => f.write_str(&missing_sentence(missing, *listed)),
            Self::WaitingForEdit { group } => {
                write!(f, "TaskGroup {group} is edited first, since its PodGroup has been")
            }
            Self::WaitingForQueues { queue } => {
                write!(f, "whether queue {queue} exists cannot be known: the cluster does not serve the kind Queue")
            }
            Self::WaitingForNamespace { namespace } => write!(
                f,
                "namespace {namespace} has not been seen yet, and some queues are for namespaces with certain labels"
            ),
            Self::WaitingForFirstPod => f.write_str(
                "no pod of the application exists yet, so nothing is reserved; a suspended job, or one that was not \
                 submitted, holds no room",
            ),
            Self::MembersRefused { count, .. } => f.write_str(&members_refused_sentence(*count)),
            Self::WaitingForMembers { group, have, need } => {
                write!(f, "{have} of {need} members of {group} exist; the gang starts when all do")
            }
            Self::WaitingForRound { group, have, need, policy } => {
                f.write_str(&round_sentence(group, (*have, *need), *policy))
            }
            Self::WaitingForQuota(refused) => f.write_str(&quota_sentence("the gang", refused)),
            Self::RoundWaitsForQuota(refused) => f.write_str(&quota_sentence("the next round of the gang", refused)),
            Self::WaitingForApplications { queue, max } => {
                write!(f, "queue {queue} already runs {max} applications, its maxApplications")
            }
            Self::WaitingForStart { queue, application } => f.write_str(&start_sentence(queue, application)),
            Self::WaitingForPlaceholders { namespace, asked, max } => write!(
                f,
                "gangs of namespace {namespace} that reserve already ask for {asked} placeholders, and {max} are the most there"
            ),
            Self::WaitingForFirst(first) => write!(f, "{first}"),
            Self::Pausing => f.write_str("what was held was given back; nothing is lacking now, trying again soon"),
            Self::Settling => f.write_str("waiting a moment for members before placeholders are created"),
            Self::CreatingPlaceholders { have, need } => write!(f, "{have} of {need} placeholders exist"),
            Self::WaitingForCapacity { fit, need, proof: Proof::Alone | Proof::Searched } => {
                write!(f, "{fit} of {need} seats find a node")
            }
            Self::WaitingForCapacity { fit, need, proof: Proof::GaveUp { steps } } => {
                write!(f, "{fit} of {need} seats find a node (gave up after {steps} attempts to place all)")
            }
            Self::WaitingBehind { fit, need, refused } => write!(
                f,
                "{fit} of {need} seats find a node now; no placeholders are made before all do, since {}",
                quota_sentence("the gang", refused)
            ),
            Self::BindingPlaceholders { have, need } => write!(f, "{have} of {need} seats are held"),
            Self::Held => f.write_str("every seat is held; waiting for the first member"),
            Self::PlaceholdersLeaving { count } => {
                write!(f, "waiting until placeholders that were given up are gone: {count}")
            }
            Self::WaitingForNextLife { lives, at } => f.write_str(&next_life_sentence(*lives, *at)),
            Self::PlaceholderRejected(refusal) => f.write_str(&rejected_sentence(refusal)),
            Self::PlaceholdersLost(how) => {
                write!(f, "{how}, within two minutes of the loss of another, so nothing is held; trying again soon")
            }
            Self::JoinedLate { short } => write!(
                f,
                "pods came that start with the gang, and {short} of them found no node beside the seats, so nothing is \
                 held; trying again soon"
            ),
            Self::ReservationLost { short } => {
                write!(f, "{short} seats were lost and found no other node, so nothing is held; trying again soon")
            }
        }
    }
}
