//! Applications: what is submitted together (01, 1.1).

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, GangId, GroupId, KeptId, Key, QueueId, Uid};
use crate::core::base::resources::Totals;
use crate::core::model::countdown::{Countdowns, TimedOut};
use crate::core::model::lifecycle::AppState;
use crate::core::reason::RejectReason;
use crate::core::time::{Mono, Wall};

/// What is submitted together.
#[derive(Clone, Debug)]
pub struct App {
    /// Namespace and application id; of one that lies in several namespaces, no namespace and a name for all of its task groups
    /// together.
    pub key: Key,
    /// The gang with which its originators start. Each task group names its gang itself.
    pub gang: GangId,
    /// Its task groups, in the order of their names.
    pub groups: Vec<GroupId>,
    /// Every pod of it outside its task groups.
    pub asks: BTreeSet<AskId>,
    /// The kept seats of pods outside its task groups.
    pub kept: BTreeSet<KeptId>,
    /// TaskGroups that name this application although it is closed to them (01, 1.1). They come in when it has no
    /// TaskGroup of its own any more, or has ended and lists them.
    pub outsiders: BTreeSet<GroupId>,
    /// TaskGroups that its gang lists and that it did not have when it was judged.
    pub awaits: Vec<Key>,
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
    /// What runs out unless it changes first. Only [`super::books::Books`] changes it, together with the timers.
    pub(super) countdowns: Countdowns,
    /// Which timeout ended the reservation of this life.
    pub timed_out: Option<TimedOut>,
    /// Until then nothing is deleted for that before status says so.
    pub unsaid_until: Mono,
    /// When its next life may begin, on both clocks, if a timeout ended this one before its start.
    pub rests_until: (Mono, Wall),
    /// How many lives in a row never started, this one included if a timeout ended it.
    pub unstarted_lives: u32,
    /// Real allocations: its own and its groups' (a tally, changed where an ask's state changes).
    pub active: u32,
    /// What its pods use of its queue, placeholders included and kept seats not (a tally, changed where a charge changes).
    pub used: Totals,
    /// Pending asks likewise.
    pub pending: u32,
    /// Of the active ones those that are not being deleted, and members that wait for their placeholder to go (a tally
    /// likewise).
    pub living: u32,
    /// Its present life began when those of the one before were gone: if the pods that it began with go before it starts, it
    /// waits for others like the one before.
    pub begun_anew: bool,
    /// A pod of its present life was bound, after its start: when none lives any more, the next that comes begins another life.
    pub has_lived: bool,
    /// When the newest pod was made that was bound in its present life, in seconds.
    pub newest_lived: Option<i64>,
    /// Who made pods that succeeded in this life, as far as this process saw it: a pod of the same maker goes on with this
    /// life.
    pub succeeded_under: BTreeSet<Uid>,
    /// Pods outside its task groups that wait, and use what this version does not honour (a tally likewise).
    pub refused: u32,
    /// Ended, and its spec changed since: a new life once its last placeholder is gone.
    pub resubmitted: bool,
    /// What its queues count of it.
    pub counted: Option<Counted>,
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
            kept: BTreeSet::new(),
            outsiders: BTreeSet::new(),
            awaits: Vec::new(),
            state: AppState::New,
            incarnation: 0,
            queue: None,
            admitted: false,
            placed: false,
            rejected: Vec::new(),
            countdowns: Countdowns::default(),
            timed_out: None,
            unsaid_until: Mono::default(),
            rests_until: Default::default(),
            unstarted_lives: 0,
            active: 0,
            used: Totals::default(),
            pending: 0,
            living: 0,
            begun_anew: false,
            has_lived: false,
            newest_lived: None,
            succeeded_under: BTreeSet::new(),
            refused: 0,
            resubmitted: false,
            counted: None,
        }
    }

    /// Its state; [`super::lifecycle`] says what follows on what.
    pub const fn state(&self) -> AppState {
        self.state
    }

    /// What runs out unless it changes first.
    pub const fn countdowns(&self) -> &Countdowns {
        &self.countdowns
    }

    /// Whether real members may run, or will when its placeholders are gone: it started, or gave up to start as a whole.
    pub fn has_started(&self) -> bool {
        matches!(self.state, AppState::Resuming | AppState::Running | AppState::Waiting)
    }

    /// Whether it is over: the next pod under its ID begins a new life.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, AppState::Completed | AppState::Killed)
    }
}
