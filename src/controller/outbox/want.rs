//! What the controller says to the outbox and hears from it.

use super::verdict::Verdict;
use crate::core::ids::Key;
use crate::core::time::{Millis, Mono};
use crate::shim::op::Kind;

/// What a call is for, in the order in which calls leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Binding of a pod.
    Bind,
    /// Deletion of a placeholder.
    Delete,
    /// Creation of a placeholder.
    Create,
    /// Condition of a waiting pod.
    Condition,
    /// Status of a TaskGroup or Queue.
    Status,
    /// Event.
    Event,
}

impl Slot {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [Self::Bind, Self::Delete, Self::Create, Self::Condition, Self::Status, Self::Event];

    /// Whether it writes what is true at the time: wanted again in flight, it is sent again.
    pub(super) const fn is_patch(self) -> bool {
        match self {
            Self::Condition | Self::Status => true,
            Self::Bind | Self::Delete | Self::Create | Self::Event => false,
        }
    }
}

/// A Kubernetes object: at most one call about it is in flight.
pub type Object = (Kind, Key);

/// How soon something is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// At once: a reason or state has changed.
    Now,
    /// In this many milliseconds, with whatever has changed until then: numbers.
    Within(Millis),
}

impl Urgency {
    /// The time it stands for.
    pub(super) const fn at(self, now: Mono) -> Mono {
        match self {
            Self::Now => now,
            Self::Within(millis) => now.after(millis),
        }
    }
}

/// Something wanted of an object. `K` is the controller's name for it: the same key means the same thing.
#[derive(Clone, Debug)]
pub struct Want<K> {
    /// What for.
    pub slot: Slot,
    /// The controller's name for what is written.
    pub key: K,
    /// The object; `None` if nobody else writes it (events). Bind, Delete and Create need one: a pod.
    pub object: Option<Object>,
    /// How soon.
    pub urgency: Urgency,
    /// Not before the end of this entry as it is wanted now.
    pub after: Option<(Slot, K)>,
}

impl<K> Want<K> {
    /// Wanted at once, after nothing else.
    pub const fn new(slot: Slot, key: K, object: Option<Object>) -> Self {
        Self { slot, key, object, urgency: Urgency::Now, after: None }
    }

    /// Wanted in a while, with what has changed until then.
    #[must_use]
    pub fn within(self, millis: Millis) -> Self {
        Self { urgency: Urgency::Within(millis), ..self }
    }

    /// Wanted not before the end of another entry.
    #[must_use]
    pub fn after(self, slot: Slot, key: K) -> Self {
        Self { after: Some((slot, key)), ..self }
    }
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
