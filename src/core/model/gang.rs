//! Gangs: the task groups and pods that start together or not at all (01, 1.1, 1.3).

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, ClassId, GroupId, QueueId, Text};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;
use crate::core::model::front::{Chance, Place};
use crate::core::model::turn::Turn;
use crate::core::reason::Reason;
use crate::core::time::{Millis, Mono};

/// What starts together: one transaction over the seats of these task groups and over these originators.
#[derive(Clone, Debug, Default)]
pub struct Gang {
    /// The applications that start with it, in the order of their names.
    pub apps: Vec<AppId>,
    /// Its task groups, in the order of their names. A gang without any consists of pods that do not need each other.
    pub groups: Vec<GroupId>,
    /// Originators that wait for the start, in the order of a pass.
    pub originators: BTreeSet<(Rank, AskId)>,
    /// Where it stands. Only [`super::books::Books`] changes it, together with the state of its applications.
    pub(super) stage: Stage,
    /// How many placeholders it may come to ask for, by namespace, while it is past the gate and before its start.
    pub(super) reserved: BTreeMap<Text, u64>,
    /// The queue in which it is between the open gate and its start.
    pub(super) starts_in: Option<QueueId>,
    /// Why it does not start yet.
    pub waits: Option<Reason>,
    /// Failed attempts to reserve in a row, for the back-off.
    pub failures: u32,
    /// Its place among the gangs that try to start; `None` while it has nothing to try.
    pub(super) turn: Option<Turn>,
    /// Its place among those of its queue that wait for quota or for nodes; `None` while it waits for neither.
    pub(super) place: Option<Place>,
    /// What the last plan on trial lacked; or the real plan, if that failed after the one on trial had succeeded.
    pub tried: Option<Tried>,
    /// What the last plan would have used, if that did not fit the quota although what the task groups announce did:
    /// then the gate counts this.
    pub real_ask: Option<Totals>,
}

/// How a plan fell short: as long as nodes have no more of the room that it lacked, another one would as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What it lacked.
    pub room: Room,
    /// How often nodes had got more room.
    pub growth: u64,
    /// Seats that found a node, of the class that fell short.
    pub fit: u32,
    /// Seats of that class.
    pub need: u32,
}

/// Room on nodes that waiting work lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// For so many of this class, whatever else is placed.
    For(ClassId, u32),
    /// Any: each class fits alone but not all together, or other members could stand in.
    Any,
}

/// Where a gang stands, with what belongs to that phase alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Its applications are not in a queue: not judged yet, refused, or ended.
    #[default]
    Outside,
    /// The whole ask does not fit the quota yet, or too few members exist (Direct). No placeholder exists.
    Gate,
    /// Past the gate: waits whether more members come before placeholders are made for the missing ones.
    Settling {
        /// Ends if no new member comes.
        until: Mono,
        /// Ends in any case.
        latest: Mono,
    },
    /// Past the gate: placeholders are created, planned and bound until every seat is satisfied.
    Reserving,
    /// A reservation failed: tried again later.
    BackOff {
        /// Until then.
        until: Mono,
    },
    /// It gave up to start as a whole: its placeholders leave.
    Leaving,
    /// Its members may run.
    Started,
}

/// How long to wait for one more member before placeholders are made for the missing ones (01, 1.3).
pub const SETTLE_MS: Millis = 1_000;
/// How long to wait for more members at most (01, 1.3).
pub const SETTLE_AT_MOST_MS: Millis = 5_000;
/// How old the numbers may be in what a gang at the gate is told. That it waits for something else is told at once.
pub const NUMBERS_MS: Millis = 30_000;
/// First pause after a failed reservation.
pub const BACK_OFF_MS: Millis = 1_000;
/// Longest pause: an administrator who makes room does not wait longer than this.
pub const BACK_OFF_AT_MOST_MS: Millis = 60_000;
/// If two placeholders of one seat are lost within this time, the gang backs off. It is longer than the longest pause
/// between two attempts, so that a loss in each of two attempts counts.
pub const LOST_AGAIN_MS: Millis = 2 * BACK_OFF_AT_MOST_MS;

impl Gang {
    /// Its place among the gangs that try to start; `None` while it has nothing to try.
    pub const fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Its place among those of its queue that wait for quota or for nodes.
    pub const fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// What is known of whether it would find nodes if none of our pods were there; `None` while it does not wait.
    pub fn chance(&self) -> Option<Chance> {
        self.place.as_ref().map(Place::chance)
    }

    /// The queue in which it is between the open gate and its start.
    pub const fn starts_in(&self) -> Option<QueueId> {
        self.starts_in
    }

    /// Where it stands.
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Whether its applications are in their queue and it has not started.
    pub const fn is_before_start(&self) -> bool {
        match self.stage {
            Stage::Gate | Stage::Settling { .. } | Stage::Reserving | Stage::BackOff { .. } => true,
            Stage::Outside | Stage::Leaving | Stage::Started => false,
        }
    }

    /// Whether its whole ask was found to fit the quota, so that it may have placeholders.
    pub const fn is_past_gate(&self) -> bool {
        match self.stage {
            Stage::Settling { .. } | Stage::Reserving | Stage::Leaving | Stage::Started => true,
            Stage::Outside | Stage::Gate | Stage::BackOff { .. } => false,
        }
    }

    /// Whether placeholders come into being or are there, and not all seats are satisfied.
    pub const fn is_reserving(&self) -> bool {
        matches!(self.stage, Stage::Reserving)
    }

    /// Pause after the failures so far: doubles from [`BACK_OFF_MS`] to [`BACK_OFF_AT_MOST_MS`].
    pub fn back_off(&self) -> Millis {
        BACK_OFF_MS.saturating_mul(1 << self.failures.saturating_sub(1).min(16)).min(BACK_OFF_AT_MOST_MS)
    }
}
