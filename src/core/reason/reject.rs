//! Why an application is refused.

use std::fmt;

use crate::core::base::ids::Text;
use crate::core::base::resources::{Amount, Excess};
use crate::core::codes::Code;
use crate::core::model::countdown::Deadline;
use crate::core::model::queue::{MAX_PATH, QuotaExcess};
use crate::core::reason::SpecError;
use crate::core::reason::words::never_sentence;

/// Why an application is refused (01, 1.2.3). All that hold are shown at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The spec of a TaskGroup is wrong.
    InvalidSpec {
        /// The TaskGroup.
        group: Text,
        /// The error.
        error: SpecError,
    },
    /// The TaskGroups of the gang contradict each other.
    GangGroupMismatch {
        /// Whose spec differs from the first one's.
        group: Text,
        /// In which field.
        field: &'static str,
    },
    /// The queue is not defined.
    QueueNotFound(Text),
    /// The queue has queues below it.
    QueueNotLeaf(Text),
    /// The queue's object was deleted; it only drains.
    QueueDraining(Text),
    /// The queue, or one above it, takes no new applications: this one says so.
    QueueStopped(Text),
    /// The queue's sort policy is `Fair`, and the application asks for a gang (seed: FIFO or StateAware only).
    GangInFairQueue(Text),
    /// The queue is for other namespaces.
    QueueNotOpen {
        /// The queue that is named.
        queue: Text,
        /// The namespace.
        namespace: Text,
        /// That queue, or the one above it, which does not choose the namespace.
        by: Text,
    },
    /// The namespace says that its queue is below one that gives it none.
    ParentQueueNotOpen {
        /// The queue that it says.
        queue: Text,
        /// The namespace.
        namespace: Text,
    },
    /// The queue that the namespace is to have of its own would have a name that is too long.
    QueueNameTooLong {
        /// The queue above.
        queue: Text,
        /// The namespace.
        namespace: Text,
    },
    /// The sum is beyond what can be counted: no cluster has that much.
    AskTooLarge,
    /// The gang asks for more placeholders than one may.
    TooManyPlaceholders {
        /// How many.
        asked: u64,
        /// `--max-placeholders`.
        max: u32,
    },
    /// The whole ask exceeds the quota of the queue or of an ancestor: it could never start.
    ExceedsMaxQuota(Box<QuotaExcess>),
    /// A timeout ended the application before it started.
    TimedOut {
        /// Which.
        what: Deadline,
        /// Which time is over, and what the gang waited for then.
        sentence: Text,
    },
    /// The namespace's ResourceQuota cannot hold the placeholders and the largest member at once.
    NamespaceQuotaTooSmall {
        /// The namespace.
        namespace: Text,
        /// What is asked and what the quota allows.
        excess: Excess,
        /// Whether it could hold the members alone.
        members_fit: bool,
    },
}

impl RejectReason {
    /// The reason's code on conditions and events.
    pub const fn code(&self) -> Code {
        match self {
            Self::InvalidSpec { .. } => Code::InvalidSpec,
            Self::GangGroupMismatch { .. } => Code::GangGroupMismatch,
            Self::QueueNotFound(_) => Code::QueueNotFound,
            Self::QueueNotLeaf(_) => Code::QueueNotLeaf,
            Self::QueueDraining(_) => Code::QueueDraining,
            Self::QueueStopped(_) => Code::QueueStopped,
            Self::GangInFairQueue(_) => Code::GangInFairQueue,
            Self::QueueNotOpen { .. } | Self::ParentQueueNotOpen { .. } => Code::QueueNotOpen,
            Self::QueueNameTooLong { .. } => Code::QueueNameTooLong,
            Self::AskTooLarge => Code::AskTooLarge,
            Self::TooManyPlaceholders { .. } => Code::TooManyPlaceholders,
            Self::ExceedsMaxQuota(_) => Code::ExceedsMaxQuota,
            Self::NamespaceQuotaTooSmall { .. } => Code::NamespaceQuotaTooSmall,
            Self::TimedOut { what, .. } => what.code(),
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidSpec { group, error } => write!(f, "TaskGroup {group}: {error}"),
            Self::GangGroupMismatch { group, field } => {
                write!(f, "TaskGroup {group} disagrees with the other TaskGroups of its gang about spec.{field}")
            }
            Self::QueueNotFound(queue) => write!(f, "queue {queue} does not exist or has no valid place in the tree"),
            Self::QueueNotLeaf(queue) => write!(f, "queue {queue} has queues below it; name one of those"),
            Self::QueueDraining(queue) => write!(f, "queue {queue} is not defined any more and only drains"),
            Self::QueueStopped(queue) => write!(f, "queue {queue} is stopped: it takes no new applications"),
            Self::GangInFairQueue(queue) => write!(
                f,
                "the sortPolicy of queue {queue} is Fair, which puts single pods in order and no gangs; use a queue with FIFO \
                 or StateAware"
            ),
            Self::QueueNotOpen { queue, namespace, by } => {
                write!(f, "queue {queue} is not open to namespace {namespace}: {by} is for other namespaces")
            }
            Self::ParentQueueNotOpen { queue, namespace } => write!(
                f,
                "namespace {namespace} says that its queue is below {queue} (annotation yunikorn.apache.org/parentqueue), \
                 which does not choose it by a namespaceSelector, or has no childTemplate"
            ),
            Self::QueueNameTooLong { queue, namespace } => {
                let length = queue.len() + 1 + namespace.len();
                write!(
                    f,
                    "the queue of namespace {namespace} would be {queue}.{namespace}, whose name has {length} characters: more \
                     than {MAX_PATH}; name another queue, or have a queue with a shorter name choose the namespace"
                )
            }
            Self::AskTooLarge => f.write_str("the sum of minMember x minResource is too large to count"),
            Self::TooManyPlaceholders { asked, max } => write!(
                f,
                "the gang asks for {asked} placeholders, and {max} are the most (--max-placeholders): use reservation Direct, \
                 which makes none"
            ),
            Self::ExceedsMaxQuota(excess) => f.write_str(&never_sentence("the gang", excess)),
            Self::TimedOut { sentence, .. } => f.write_str(sentence),
            Self::NamespaceQuotaTooSmall { namespace, excess, members_fit } => {
                let way_out = if *members_fit { "use reservation Direct or a larger quota" } else { "it is too small" };
                let (name, asked, max) = (&excess.resource, excess.asked, excess.left);
                let (asked, max) = (Amount(name, asked), Amount(name, max));
                write!(
                    f,
                    "placeholders, pods outside the task groups and the largest member together need {asked} {name}, but \
                     the ResourceQuota of namespace {namespace} allows {max}: {way_out}"
                )
            }
        }
    }
}
