//! What the core asks of the shim. Each decision is complete: it can be carried out with no choice left.

use crate::core::base::ids::{AskId, GroupId, NodeId, Text};
use crate::core::codes::Code;
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
        /// Whether the Binding leaves before every other call. The placeholder whose seat the pod takes has just gone,
        /// and until the pod is bound another scheduler can bind a pod of its own to that room (01, 1.4).
        next: bool,
    },
    /// Do not send the Binding of the pod, if it has not been sent yet: the node does not take the pod any more, its
    /// TaskGroup is gone, or its labels say something else now.
    Recall(AskId),
    /// Create the placeholder pod of a seat.
    CreatePlaceholder(PlaceholderName),
    /// Do not create the placeholder any more, if the call has not been sent yet.
    CancelPlaceholder(PlaceholderName),
    /// Delete a placeholder pod; nothing is freed until it is gone.
    Release(AskId, TerminationType),
    /// The pod has no node and its gang is given up: it is to fail, with this reason and message.
    Fail(AskId, Code, Text),
    /// What is to be shown of a task group has changed.
    ShowGroup(GroupId),
    /// Tell of a task group, once, what is not a reason for which it waits: with a code and a sentence.
    Tell(GroupId, Code, Text),
    /// The same of a pod.
    TellAsk(AskId, Code, Text),
    /// What is to be shown of a waiting pod has changed.
    ShowAsk(AskId),
    /// What is to be shown of the queue of this path has changed. It is named by its path because the core may have
    /// forgotten the queue by now.
    ShowQueue(Text),
}
