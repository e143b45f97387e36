//! Applications: what is submitted together (01, 1.1).

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, GangId, GroupId, Key, QueueId, Text};
use crate::core::base::resources::Totals;
use crate::core::model::lifecycle::AppState;
use crate::core::reason::RejectReason;
use crate::core::time::{Millis, Mono, Now, Wall};

/// What is submitted together.
#[derive(Clone, Debug)]
pub struct App {
    /// Namespace and application id.
    pub key: Key,
    /// The gang with which its originators start. Each task group names its gang itself.
    pub gang: GangId,
    /// Its task groups, in the order of their names.
    pub groups: Vec<GroupId>,
    /// Every pod of it outside its task groups.
    pub asks: BTreeSet<AskId>,
    /// TaskGroups that name this application although it is closed to them (01, 1.1). They come in when it has no
    /// TaskGroup of its own any more, or has ended and lists them.
    pub outsiders: BTreeSet<GroupId>,
    /// Names of TaskGroups that its gang lists and that it did not have when it was judged.
    pub awaits: Vec<Text>,
    /// Only [`super::books::Books`] changes it, together with the stage of its gang.
    pub(super) state: AppState,
    /// Number of its present life, from 1; 0 before the first.
    pub incarnation: u32,
    /// Its queue, once accepted.
    pub queue: Option<QueueId>,
    /// Whether it is counted against `maxApplications`.
    pub admitted: bool,
    /// Every seat had a bound real member once: `Placed=True`.
    pub placed: bool,
    /// Why it is refused; empty unless Rejected.
    pub rejected: Vec<RejectReason>,
    /// Since when it waits for its end.
    pub idle: Option<Idle>,
    /// Real allocations: its own and its groups' (a tally, changed where an ask's state changes).
    pub active: u32,
    /// Pending asks likewise.
    pub pending: u32,
    /// Pods outside its task groups that wait, and use what this version does not honour (a tally likewise).
    pub refused: u32,
    /// Ended, and its spec changed since: a new life once its last placeholder is gone.
    pub resubmitted: bool,
    /// What its queues count of it.
    pub counted: Option<Counted>,
}

/// Since when an application waits for its end. The end follows from this and the timeout in force, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// From here on this process counts.
    pub from: Mono,
    /// How much of the wait was over by then, in an earlier process.
    pub over: Millis,
    /// The beginning of the wait on the wall clock: status shows a deadline that follows from it, which survives a
    /// restart.
    pub wall: Wall,
}

impl Idle {
    /// A wait that begins now.
    pub const fn beginning(now: Now) -> Self {
        Self { from: now.mono, over: 0, wall: now.wall }
    }

    /// A wait whose deadline an earlier process wrote into status.
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

impl App {
    /// An application just heard of.
    pub fn new(key: Key, gang: GangId) -> Self {
        Self {
            key,
            gang,
            groups: Vec::new(),
            asks: BTreeSet::new(),
            outsiders: BTreeSet::new(),
            awaits: Vec::new(),
            state: AppState::New,
            incarnation: 0,
            queue: None,
            admitted: false,
            placed: false,
            rejected: Vec::new(),
            idle: None,
            active: 0,
            pending: 0,
            refused: 0,
            resubmitted: false,
            counted: None,
        }
    }

    /// Its state; [`super::lifecycle`] says what follows on what.
    pub const fn state(&self) -> AppState {
        self.state
    }

    /// Whether real members may run: it started.
    pub fn has_started(&self) -> bool {
        matches!(self.state, AppState::Running | AppState::Waiting)
    }
}
