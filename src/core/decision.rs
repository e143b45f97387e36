//! What the core asks of the shim. Each decision is complete: it can be carried out with no choice left.

use crate::core::base::ids::{AskId, GroupId, NodeId, Text};
use crate::core::event::{Mark, PlaceholderName};

/// Why an allocation or ask is given back (seed 000 "TerminationType").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminationType {
    /// The Kubernetes side took it away.
    StoppedByRm,
    /// A timeout ended.
    Timeout,
    /// A victim of preemption.
    PreemptedByScheduler,
    /// A real member takes the placeholder's seat.
    PlaceholderReplaced,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Bind the pod to the node; already counted.
    Allocate {
        /// The pod.
        ask: AskId,
        /// The node.
        node: NodeId,
        /// What the Binding writes on the pod.
        mark: Mark,
        /// Whether it is the next call to leave: the placeholder whose seat the pod takes has just gone, and whoever binds first
        /// has that room (01, 1.4).
        next: bool,
    },
    /// Do not bind the pod where it was to go, if that has not been sent yet: its node does not take it any more, its
    /// TaskGroup is gone, or its labels say something else now.
    Recall(AskId),
    /// Create the placeholder pod of a seat.
    CreatePlaceholder(PlaceholderName),
    /// Do not create it any more, if that has not been sent yet.
    CancelPlaceholder(PlaceholderName),
    /// Delete a placeholder pod; nothing is freed until it is gone.
    Release(AskId, TerminationType),
    /// What is to be shown of a task group has changed.
    ShowGroup(GroupId),
    /// What is to be shown of a waiting pod has changed.
    ShowAsk(AskId),
    /// What is to be shown of the queue of this path has changed: it may be one that nothing refers to any more.
    ShowQueue(Text),
}
