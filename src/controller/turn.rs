//! What a step of the controller hands to the shell.

use crate::core::base::ids::{GroupId, Text};
use crate::core::decision::Decision;
use crate::core::time::Mono;
use crate::shim::op::Call;

/// What is to be done after a step.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// To be sent at once, once each, in this order.
    pub calls: Vec<Call>,
    /// When `step` must be called again even if nothing happens.
    pub wake: Option<Mono>,
    /// Whether there is more to decide now, without anything else happening.
    pub more: bool,
    /// The objects of which there is something new to say. Calls of this or a later turn write it into their statuses.
    pub news: Vec<News>,
}

/// An object of which there is something new to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A task group.
    Group(GroupId),
    /// A queue, by its path.
    Queue(Text),
}

impl News {
    /// The news in a decision, if it is one to show something.
    pub(super) fn of(decision: &Decision) -> Option<Self> {
        match decision {
            Decision::ShowGroup(group) => Some(Self::Group(*group)),
            Decision::ShowQueue(path) => Some(Self::Queue(path.clone())),
            Decision::Allocate { .. }
            | Decision::Recall(_)
            | Decision::CreatePlaceholder(_)
            | Decision::CancelPlaceholder(_)
            | Decision::Release(..)
            | Decision::Fail(..)
            | Decision::Tell(..)
            | Decision::TellAsk(..)
            | Decision::ShowAsk(_) => None,
        }
    }
}
