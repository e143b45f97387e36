//! The controller's names for what it wants of the API server.

use std::sync::Arc;

use crate::core::base::ids::{AskId, Key, Text};
use crate::core::event::PlaceholderName;
use crate::shim::dialect::pod_group::System;

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A pod.
    Ask(AskId),
    /// A placeholder that does not exist yet.
    Placeholder(Arc<PlaceholderName>),
    /// A TaskGroup.
    Group(Key),
    /// A Queue.
    Queue(Text),
    /// Another system's PodGroup.
    PodGroup(System, Key),
    /// An event by its number.
    Event(u64),
}
