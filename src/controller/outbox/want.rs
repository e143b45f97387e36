//! What the controller says to the outbox and hears from it.

use super::verdict::Verdict;
use crate::core::base::ids::Key;
use crate::core::time::Millis;
use crate::shim::op::Kind;

/// What a call is for, in the order in which calls leave, but for what lets gangs be there: that goes before the Bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Binding of a pod.
    Bind,
    /// Deletion of a placeholder.
    Delete,
    /// End of a pod whose gang is given up.
    Fail,
    /// Creation of a placeholder.
    Create,
    /// Creation of a TaskGroup that a pod declares, or that pods of a PodGroup may be made.
    Declare,
    /// Condition of a waiting pod.
    Condition,
    /// Annotation of a pod whose gang has timed out, or goes on again.
    Annotate,
    /// Status of a TaskGroup or Queue.
    Status,
    /// Event.
    Event,
}

impl Slot {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Bind,
        Self::Delete,
        Self::Fail,
        Self::Create,
        Self::Declare,
        Self::Condition,
        Self::Annotate,
        Self::Status,
        Self::Event,
    ];

    /// Whether it puts something into words for people.
    pub const fn is_text(self) -> bool {
        match self {
            Self::Condition | Self::Status | Self::Event => true,
            Self::Bind | Self::Delete | Self::Fail | Self::Create | Self::Declare | Self::Annotate => false,
        }
    }

    /// Whether each try of it is made of what is so then, whatever became of the one before.
    pub(super) const fn is_made_anew(self) -> bool {
        self.is_text() || matches!(self, Self::Declare | Self::Annotate)
    }

    /// Whether it writes what is true at the time: wanted again in flight, it is sent again.
    pub(super) const fn is_patch(self) -> bool {
        match self {
            Self::Declare | Self::Condition | Self::Annotate | Self::Status => true,
            Self::Bind | Self::Delete | Self::Fail | Self::Create | Self::Event => false,
        }
    }
}

/// A Kubernetes object: at most one call about it is in flight.
pub type Object = (Kind, Key);

/// Who of one slot leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Before all others, and even if the window of its slot is full: it is about room that has just become free, and
    /// another scheduler can bind a pod of its own there. After a failure it is `Ordinary`.
    Next,
    /// In order of arrival: something is to be done, or a state or reason has changed.
    Ordinary,
    /// After those: the numbers beside a reason that everybody can read already, and TaskGroups that were refused.
    Numbers,
}

/// Something wanted of an object. `K` is the controller's name for it: the same key means the same thing.
#[derive(Clone, Debug)]
pub struct Want<K> {
    /// What for.
    pub slot: Slot,
    /// The controller's name for what is written.
    pub key: K,
    /// The object; `None` if nobody else writes it (events). Bind, Delete, Fail and Create need one: a pod; Declare a
    /// TaskGroup or PodGroup.
    pub object: Option<Object>,
    /// Who of its slot leaves first.
    pub urgency: Urgency,
    /// How long it waits, so that what changes until then goes out with it.
    pub delay: Millis,
    /// Not before the end of this entry as it is wanted now.
    pub after: Option<(Slot, K)>,
}

impl<K> Want<K> {
    /// Wanted at once, after nothing else.
    pub const fn new(slot: Slot, key: K, object: Option<Object>) -> Self {
        Self { slot, key, object, urgency: Urgency::Ordinary, delay: 0, after: None }
    }

    /// Wanted in a while, with what has changed until then.
    #[must_use]
    pub fn within(self, millis: Millis) -> Self {
        Self { delay: millis, ..self }
    }

    /// Wanted with another urgency.
    #[must_use]
    pub fn with(self, urgency: Urgency) -> Self {
        Self { urgency, ..self }
    }

    /// Wanted not before the end of another entry.
    #[must_use]
    pub fn after(self, slot: Slot, key: K) -> Self {
        Self { after: Some((slot, key)), ..self }
    }
}

/// Why a want is not made into a call at the moment when it could leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// It is not needed any more, or would say nothing new.
    Moot,
    /// Enough texts were made for now: no more calls leave before [`super::Outbox::next`] is called again.
    Later,
}

/// What is known of an entry.
#[derive(Clone, Debug)]
pub struct Report<K> {
    /// What it was for.
    pub slot: Slot,
    /// The controller's name for it.
    pub key: K,
    /// What is known now. All but [`Verdict::Denied`] end the entry.
    pub verdict: Verdict,
}
