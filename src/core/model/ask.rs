//! Asks: one per pod that is ours, from its first sight to its end; and what each has on the books.

use std::cmp::Reverse;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, Key, NodeId, QueueId};
use crate::core::base::resources::Resources;
use crate::core::codes::Code;
use crate::core::decision::TerminationType;
use crate::core::event::{AskSpec, Place, Role};
use crate::core::model::turn::PodLine;
use crate::core::reason::{AskReason, Refusal};
use crate::core::time::Mono;

/// Order of a pass (01, 1.2.5): priority, submission, namespace/name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Higher first.
    pub priority: Reverse<i32>,
    /// Seconds since the epoch, earlier first.
    pub created: i64,
    /// Breaks ties by content.
    pub key: Key,
}

/// One pod.
#[derive(Clone, Debug)]
pub struct Ask {
    /// As last observed, but for the role: that is settled with its Binding.
    pub spec: AskSpec,
    /// The role that its labels say now, if that is another one: it counts if the Binding is not made.
    pub relabelled: Option<Role>,
    /// Its shape, while it may be placed by us.
    pub class: Option<ClassId>,
    /// Its application.
    pub app: Option<AppId>,
    /// Its task group.
    pub group: Option<GroupId>,
    /// Where it stands in our decisions.
    pub state: AskState,
    /// The seat of its group that it has, or for which it is parked; [`crate::core::model::seat::Seats`] says the same
    /// from its side.
    pub seat: Option<u32>,
    /// What it has on the books.
    pub charge: Option<Charge>,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// Why the deletion of this placeholder was decided, if it was: a placeholder is not released twice (seed
    /// "released").
    pub leaving: Option<TerminationType>,
    /// It is outside the task groups of its application and started with them.
    pub started_with_gang: bool,
    /// It is of a life of its application that is over, and its room is kept for the next one when it is gone.
    pub hands_over: bool,
    /// It ended well when it was being deleted: its work is not done.
    pub was_stopped: bool,
    /// It is to fail, since its gang was given up.
    pub failing: bool,
    /// Its last Binding, or the deletion of a placeholder, was refused: not tried again before this time.
    pub refused: Option<(Refusal, Mono)>,
    /// What was last reported for it: the reason's code, and its words where they change rarely.
    pub shown: Option<Shown>,
}

/// What was last reported of why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The reason's code.
    pub code: Code,
    /// The gang whose reason it is; `None` if it is the pod's own.
    pub gang: Option<GangId>,
    /// Its words, where they change rarely.
    pub words: String,
}

impl Shown {
    /// What is reported of a reason.
    pub fn of(reason: &AskReason) -> Self {
        Self { code: reason.code(), gang: reason.gang(), words: reason.lasting_words() }
    }
}

/// Where an ask stands in our decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskState {
    /// No node yet: waits, is gated, refused, or parked without its TaskGroup.
    Waiting,
    /// Waits until the placeholder whose seat it takes is gone (01, 1.4.2).
    Parked {
        /// The placeholder that leaves.
        placeholder: AskId,
    },
    /// Has a node on the books.
    Assumed {
        /// The node.
        node: NodeId,
        /// Whether its Binding was decided; until the gang is satisfied real members are held back.
        sent: bool,
    },
    /// The API server has it on that node.
    Bound {
        /// The node.
        node: NodeId,
    },
    /// Succeeded or failed: uses nothing.
    Finished,
}

/// What one ask has on the books: node and queue change together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The node.
    pub node: NodeId,
    /// What is charged there.
    pub on_node: Resources,
    /// The queue, unless the pod is another scheduler's.
    pub queue: Option<QueueId>,
    /// What is charged there: less than on the node while the placeholder it replaces is still charged.
    pub in_queue: Resources,
}

/// What a pod waits for, and in which line the pass finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing: it cannot be placed now.
    Nothing,
    /// For a seat, among the members of its group.
    Seat(GroupId),
    /// For the start of its application, among its originators.
    Start(AppId),
    /// For room, among ordinary asks that are alike.
    Room(PodLine),
    /// For a queue that takes it, outside applications.
    Queue,
}

impl Ask {
    /// Whether it holds a seat for a member.
    pub fn is_placeholder(&self) -> bool {
        matches!(self.spec.role, Role::Placeholder(_))
    }

    /// Whether it could be given a node if there were one: a pending ask.
    pub fn is_pending(&self) -> bool {
        self.state == AskState::Waiting && self.spec.place == Place::Pending && !self.spec.terminating
    }

    /// Whether it is a real allocation: decided or bound, not finished, not a placeholder.
    pub fn is_active(&self) -> bool {
        !self.is_placeholder() && self.node().is_some()
    }

    /// Whether it has a node without a seat, and is not being bound yet: a member beyond the seats, with which its gang starts.
    pub fn goes_along(&self) -> bool {
        let is_seatless_member = self.group.is_some() && self.seat.is_none() && !self.is_placeholder();
        is_seatless_member && matches!(self.state, AskState::Assumed { sent: false, .. })
    }

    /// Whether its work is done.
    pub fn has_succeeded(&self) -> bool {
        self.spec.place == Place::Succeeded && !self.was_stopped && !self.is_placeholder()
    }

    /// The node it has or is to have.
    pub fn node(&self) -> Option<NodeId> {
        match self.state {
            AskState::Assumed { node, .. } | AskState::Bound { node } => Some(node),
            AskState::Waiting | AskState::Parked { .. } | AskState::Finished => None,
        }
    }

    /// Its place in the order of a pass.
    pub fn rank(&self) -> Rank {
        Rank { priority: Reverse(self.spec.priority), created: self.spec.created, key: self.spec.key.clone() }
    }
}
