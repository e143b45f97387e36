//! Applications and their task groups: what is submitted together and starts together (01, 1.1).

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, ClassId, GroupId, Key, QueueId};
use crate::core::base::resources::Totals;
use crate::core::event::{GroupSpec, Reservation};
use crate::core::model::ask::Rank;
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::Seats;
use crate::core::reason::{Reason, RejectReason};
use crate::core::time::{Millis, Mono, Now, Wall};

/// What is submitted together.
#[derive(Clone, Debug)]
pub struct App {
    /// Namespace and application id.
    pub key: Key,
    /// Its task groups (of accepted applications: exactly the gang), in order of their names.
    pub groups: Vec<GroupId>,
    /// Every pod of it outside its task groups.
    pub asks: BTreeSet<AskId>,
    /// Originators that wait for the start, in the order of a pass.
    pub originators: BTreeSet<(Rank, AskId)>,
    /// The originators that were pending when the reservation began: they start with the gang, later ones are ordinary
    /// asks.
    pub party: BTreeSet<AskId>,
    /// TaskGroups that name it and that it is closed to (01, 1.1): they come in when it consists of others no more.
    pub latecomers: BTreeSet<GroupId>,
    /// Names of TaskGroups that its gang lists and that it did not have when it was judged.
    pub awaits: Vec<crate::core::base::ids::Text>,
    /// State; only [`crate::core::model::lifecycle`] says what follows on what.
    pub state: AppState,
    /// Number of its life under its objects, from 1; 0 before the first.
    pub incarnation: u32,
    /// Its queue, once accepted.
    pub queue: Option<QueueId>,
    /// Where it stands before its start.
    pub stage: Stage,
    /// Whether it is counted against `maxApplications`.
    pub admitted: bool,
    /// Every seat had a bound real member once: `Placed=True`.
    pub placed: bool,
    /// Why it is refused; empty unless Rejected.
    pub rejected: Vec<RejectReason>,
    /// Why it does not start yet.
    pub waits: Option<Reason>,
    /// Failed attempts to reserve in a row, for the back-off.
    pub failures: u32,
    /// Since when it waits for its end.
    pub idle: Option<Idle>,
    /// Its place among the gangs that contend in a pass.
    pub contends: Option<Rank>,
    /// Real allocations: its own and its groups' (a tally, changed where an ask's state changes).
    pub active: u32,
    /// Pending asks likewise.
    pub pending: u32,
    /// Ended, and its spec changed since: a new life once its last placeholder is gone.
    pub resubmitted: bool,
    /// Its one timer.
    pub timer: Option<Mono>,
    /// The last plan found too few nodes: not tried again before more may fit.
    pub stuck: Option<Stuck>,
    /// What the last plan would have used, where that was more than its task groups announce: counts at the gate.
    pub real_ask: Option<Totals>,
    /// What its queues count of it.
    pub counted: Option<Counted>,
}

/// Since when an application waits for its end. When that is follows from the timeout in force, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Counted from here on,
    pub from: Mono,
    /// when so much was over already, in an earlier process.
    pub over: Millis,
    /// The beginning, where it must survive a restart.
    pub wall: Wall,
}

impl Idle {
    /// From now on.
    pub const fn beginning(now: Now) -> Self {
        Self { from: now.mono, over: 0, wall: now.wall }
    }

    /// As a deadline tells that an earlier process wrote.
    pub fn ending(now: Now, deadline: Wall, timeout: Millis) -> Self {
        let left = now.due(deadline, timeout).since(now.mono);
        let wall = Wall(deadline.0.saturating_sub_unsigned(timeout));
        Self { from: now.mono, over: timeout.saturating_sub(left), wall }
    }

    /// When it ends.
    pub const fn ends(self, timeout: Millis) -> (Mono, Wall) {
        (self.from.after(timeout.saturating_sub(self.over)), self.wall.after(timeout))
    }
}

/// What must change before a gang that found too few nodes is planned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// So many of a class must fit, whatever else is placed.
    Alone {
        /// The class.
        class: ClassId,
        /// How many.
        need: u32,
    },
    /// Each class fits alone, all of them do not: any node must have got more room since this count of such changes.
    Together {
        /// [`crate::core::step::Scheduler`]'s count.
        growth: u64,
    },
}

/// What the queues on an application's path count of it; taken back as it was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its queue.
    pub queue: QueueId,
    /// Its state.
    pub state: AppState,
    /// What it waits for.
    pub pending: Totals,
}

/// Where an accepted application stands before its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// The whole ask does not fit the quota yet, or too few members exist (Direct). No placeholder exists.
    #[default]
    Gate,
    /// Past the gate: waits whether more members come before placeholders are made for the missing ones.
    Settle {
        /// Ends if no new member comes.
        until: Mono,
        /// Ends in any case.
        latest: Mono,
    },
    /// Past the gate: placeholders are created, planned and bound until every seat is satisfied.
    Reserve,
    /// A reservation failed: tried again later.
    BackOff {
        /// Until then.
        until: Mono,
    },
}

/// How long to wait for one more member before placeholders are made for the missing ones (01, 1.3).
pub const SETTLE_MS: Millis = 1_000;
/// How long to wait for more members at most (01, 1.3).
pub const SETTLE_AT_MOST_MS: Millis = 5_000;
/// First pause after a failed reservation.
pub const BACK_OFF_MS: Millis = 1_000;
/// Longest pause: an administrator who makes room does not wait longer than this.
pub const BACK_OFF_AT_MOST_MS: Millis = 60_000;
/// Two losses of placeholders of one seat within this time are one too many: longer than the longest pause between two
/// attempts.
pub const LOST_AGAIN_MS: Millis = 2 * BACK_OFF_AT_MOST_MS;

/// A named set of equal members.
#[derive(Clone, Debug)]
pub struct Group {
    /// Namespace and name of the TaskGroup.
    pub key: Key,
    /// In force: as last observed, but for what was edited after the start. `None` while only pods name it
    /// (Koordinator's "fake gang").
    pub spec: Option<Box<GroupSpec>>,
    /// As last observed, where that is not in force: its application had started before it was edited.
    pub edited: Option<Box<GroupSpec>>,
    /// Its application, while the object exists.
    pub app: Option<crate::core::base::ids::AppId>,
    /// Its seats, from acceptance to completion.
    pub seats: Seats,
    /// Every pod of it, placeholders included.
    pub asks: BTreeSet<AskId>,
    /// Members that wait for a seat, in the order of a pass.
    pub waiting: BTreeSet<(Rank, AskId)>,
    /// Members that wait although there is no held seat for them, after the start: ordinary asks.
    pub overflow: BTreeSet<(Rank, AskId)>,
    /// Members by what became of them.
    pub members: Members,
    /// Placeholders that gave their seat to a member, in this incarnation.
    pub replaced: u32,
    /// The last incarnation that it was part of: names of placeholders must not come again under one UID, even if it
    /// moves to another application.
    pub lived: u32,
    /// Its application is closed to it: it is not listed in the gang (01, 1.1).
    pub closed_out: bool,
    /// The last of its waiting members that the plan wanted to place: those after it are surplus.
    pub cut: Option<Rank>,
}

/// A task group's members by what became of them (a tally, changed where a pod's place changes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Wait for a node.
    pub pending: u32,
    /// Have a node and are not finished.
    pub running: u32,
    /// Succeeded.
    pub succeeded: u32,
    /// Failed.
    pub failed: u32,
    /// Wait, and use what this version does not honour.
    pub unsupported: u32,
    /// Placeholder pods that exist.
    pub placeholders: u32,
}

impl Group {
    /// A group that pods name before its object is seen.
    pub fn unseen(key: Key) -> Self {
        Self {
            key,
            spec: None,
            edited: None,
            app: None,
            seats: Seats::default(),
            asks: BTreeSet::new(),
            waiting: BTreeSet::new(),
            overflow: BTreeSet::new(),
            members: Members::default(),
            replaced: 0,
            lived: 0,
            closed_out: false,
            cut: None,
        }
    }

    /// Its spec, where it must have one: it belongs to an application.
    pub fn spec(&self) -> &GroupSpec {
        self.spec.as_deref().expect("a group of an application has a spec")
    }

    /// Members that wait for a node after the start, in the order of a pass: those who count on a held seat first.
    pub fn without_node(&self) -> impl Iterator<Item = &(Rank, AskId)> {
        self.waiting.iter().chain(&self.overflow)
    }

    /// Whether its seats are held by placeholder pods.
    pub fn uses_placeholders(&self) -> bool {
        self.spec().reservation == Reservation::Placeholder
    }

    /// Whether every seat is held, taken, or assumed for a real member (01, 1.3).
    pub fn is_satisfied(&self) -> bool {
        let tally = self.seats.tally();
        tally.open == 0 && tally.binding == 0 && tally.leaving == 0
    }
}

impl App {
    /// An application just heard of.
    pub fn new(key: Key) -> Self {
        Self {
            key,
            groups: Vec::new(),
            asks: BTreeSet::new(),
            originators: BTreeSet::new(),
            party: BTreeSet::new(),
            latecomers: BTreeSet::new(),
            awaits: Vec::new(),
            state: AppState::New,
            incarnation: 0,
            queue: None,
            stage: Stage::Gate,
            admitted: false,
            placed: false,
            rejected: Vec::new(),
            waits: None,
            failures: 0,
            idle: None,
            contends: None,
            active: 0,
            pending: 0,
            resubmitted: false,
            timer: None,
            stuck: None,
            real_ask: None,
            counted: None,
        }
    }

    /// Pause after the failures so far: doubles from [`BACK_OFF_MS`] to [`BACK_OFF_AT_MOST_MS`].
    pub fn back_off(&self) -> Millis {
        BACK_OFF_MS.saturating_mul(1 << self.failures.saturating_sub(1).min(16)).min(BACK_OFF_AT_MOST_MS)
    }

    /// From here on placeholders come into being: originators that come later are ordinary asks (01, 1.2.2).
    pub fn begin_reserving(&mut self) {
        self.stage = Stage::Reserve;
        self.party = self.originators.iter().map(|(_, ask)| *ask).collect();
    }

    /// Whether real members may run: it started.
    pub fn has_started(&self) -> bool {
        matches!(self.state, AppState::Running | AppState::Waiting)
    }

    /// Whether its whole ask was found to fit the quota, so that it may have placeholders.
    pub fn is_past_gate(&self) -> bool {
        self.has_started()
            || self.state == AppState::Accepted && matches!(self.stage, Stage::Settle { .. } | Stage::Reserve)
    }
}
