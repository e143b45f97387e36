//! Why one pod waits.

use std::fmt;

use crate::core::base::ids::{AskId, ClassId, GangId, Text};
use crate::core::base::resources::Amount;
use crate::core::codes::Code;
use crate::core::model::queue::{First, QuotaExcess};
use crate::core::reason::words::never_sentence;
use crate::core::reason::{Objection, Reason, Refusal, RejectReason, quota_sentence};

/// Why one pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskReason {
    /// It names a TaskGroup that does not exist.
    TaskGroupNotFound {
        /// The TaskGroup.
        group: Text,
        /// The object of another system of which it is made.
        declared_by: Option<Text>,
    },
    /// Its TaskGroup stays outside its application.
    ApplicationClosed(Text),
    /// It cannot be given what it asks for.
    Refused(Box<Objection>),
    /// Its application is refused.
    Rejected {
        /// The first reason's code.
        code: Code,
        /// All reasons.
        text: String,
    },
    /// It shares its gang's reason.
    Gang(GangId, Reason),
    /// The plan of its gang wanted a node for it, and there are too few nodes.
    Wanted(GangId),
    /// A node is held for it, and others of its gang have none.
    SeatHeld(GangId),
    /// Its queue is not defined, not a leaf, or drains.
    Queue(RejectReason),
    /// Whether its queue exists is not known yet.
    QueueUnknown(Text),
    /// Its Namespace has not been seen, and queues are chosen by its labels.
    NamespaceUnknown(Text),
    /// Its own request does not fit what is left of a quota.
    Quota(QuotaExcess),
    /// A gang is first in line in its queue, and nothing behind that one starts before it does.
    BehindFirst(First),
    /// Its own request is beyond the max of its queue or of one above.
    TooLarge(QuotaExcess),
    /// It fits no node now.
    Capacity(ClassId),
    /// It needs more than the seats held for its group, and the quota has no room for the difference.
    SeatTooSmall {
        /// What it needs more of.
        resource: Text,
        /// How much more; cpu in millicores.
        more: i64,
        /// The placeholder of the seat.
        placeholder: AskId,
    },
    /// The placeholder that keeps its seat cannot be deleted; it is tried again.
    PlaceholderKept(Refusal),
    /// The last Binding was refused; it is tried again.
    BindRefused(Refusal),
}

impl AskReason {
    /// The reason's code on the pod's condition: `Unschedulable` only for what more nodes would help (01, 1.3).
    pub const fn code(&self) -> Code {
        match self {
            Self::TaskGroupNotFound { .. } => Code::TaskGroupNotFound,
            Self::ApplicationClosed(_) => Code::ApplicationClosed,
            Self::Refused(objection) => objection.code(),
            Self::Rejected { code, .. } => *code,
            Self::Gang(_, reason) => reason.code(),
            Self::SeatHeld(_) => Code::SeatHeld,
            Self::Queue(reason) => reason.code(),
            Self::QueueUnknown(_) => Code::WaitingForQueues,
            Self::NamespaceUnknown(_) => Code::WaitingForNamespace,
            Self::Quota(_) => Code::WaitingForQuota,
            Self::BehindFirst(_) => Code::WaitingForFirst,
            Self::TooLarge(_) => Code::ExceedsMaxQuota,
            Self::Capacity(_) | Self::Wanted(_) => Code::Unschedulable,
            Self::SeatTooSmall { .. } => Code::SeatTooSmall,
            Self::PlaceholderKept(_) => Code::PlaceholderKept,
            Self::BindRefused(_) => Code::BindRefused,
        }
    }

    /// The gang whose reason it shares.
    pub const fn gang(&self) -> Option<GangId> {
        match self {
            Self::Gang(gang, _) | Self::Wanted(gang) | Self::SeatHeld(gang) => Some(*gang),
            Self::TaskGroupNotFound { .. }
            | Self::ApplicationClosed(_)
            | Self::Refused(_)
            | Self::Rejected { .. }
            | Self::Queue(_)
            | Self::QueueUnknown(_)
            | Self::NamespaceUnknown(_)
            | Self::Quota(_)
            | Self::BehindFirst(_)
            | Self::TooLarge(_)
            | Self::Capacity(_)
            | Self::SeatTooSmall { .. }
            | Self::PlaceholderKept(_)
            | Self::BindRefused(_) => None,
        }
    }

    /// The sentence of a reason that changes only when somebody changes an object. Other sentences count what is free,
    /// and change too often to be written each time (design 03, 3.7): of these it says whose they are.
    pub fn lasting_words(&self) -> String {
        match self {
            Self::TaskGroupNotFound { .. }
            | Self::ApplicationClosed(_)
            | Self::Refused(_)
            | Self::Rejected { .. }
            | Self::Queue(_)
            | Self::QueueUnknown(_)
            | Self::NamespaceUnknown(_)
            | Self::BehindFirst(_)
            | Self::TooLarge(_)
            | Self::PlaceholderKept(_) => self.to_string(),
            Self::Gang(..) | Self::Wanted(_) | Self::SeatHeld(_) => "of its gang".to_owned(),
            Self::Quota(_) | Self::Capacity(_) | Self::SeatTooSmall { .. } | Self::BindRefused(_) => String::new(),
        }
    }
}

impl fmt::Display for AskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TaskGroupNotFound { group, declared_by } => {
                write!(f, "TaskGroup {group} does not exist in this namespace")?;
                let mut object = declared_by.iter();
                object.try_for_each(|object| write!(f, ": it is made of {object} when that is there and right"))
            }
            Self::ApplicationClosed(name) => {
                write!(f, "TaskGroup {name} stays outside its application; its status says why")
            }
            Self::Refused(objection) => write!(f, "{objection}"),
            Self::Rejected { text, .. } => write!(f, "the application was rejected: {text}"),
            Self::Gang(_, reason) => write!(f, "{reason}"),
            Self::Queue(reason) => write!(f, "{reason}"),
            Self::QueueUnknown(queue) => write!(f, "{}", Reason::WaitingForQueues { queue: queue.clone() }),
            Self::NamespaceUnknown(namespace) => {
                write!(f, "{}", Reason::WaitingForNamespace { namespace: namespace.clone() })
            }
            Self::Quota(refused) => f.write_str(&quota_sentence("the pod", refused)),
            Self::BehindFirst(first) => write!(f, "{first}"),
            Self::TooLarge(excess) => f.write_str(&never_sentence("the pod", excess)),
            Self::Capacity(_) => f.write_str("no node fits"),
            Self::Wanted(_) => f.write_str("the gang does not fit the nodes"),
            Self::SeatHeld(_) => f.write_str(
                "a node is held for the pod, which is bound when the others of its gang have one, too (mode NonStrict)",
            ),
            Self::SeatTooSmall { resource, more, .. } => {
                let more = Amount(resource, i128::from(*more));
                write!(f, "the pod needs {more} {resource} more than the seat kept for it, and that is not free")
            }
            Self::PlaceholderKept(refusal) => write!(
                f,
                "the API server refused to delete the placeholder that keeps this pod's seat: {refusal}; trying again"
            ),
            Self::BindRefused(refusal) => write!(f, "the API server refused the Binding: {refusal}; trying again"),
        }
    }
}
