//! Task groups: named sets of equal members (01, 1.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, GangId, KeptId, Key, Text};
use crate::core::event::{GroupSpec, PlaceholderFor, Reservation};
use crate::core::model::ask::Rank;
use crate::core::model::seat::Seats;

/// A named set of equal members.
#[derive(Clone, Debug)]
pub struct Group {
    /// Namespace and name of the TaskGroup.
    pub key: Key,
    /// The spec in force: as last observed, but without what was edited after the start. `None` while only pods name it
    /// (Koordinator's "fake gang").
    pub spec: Option<Box<GroupSpec>>,
    /// The spec as last observed, if it is not in force because it was edited after its application had started.
    pub edited: Option<Box<GroupSpec>>,
    /// Its application, while the object exists.
    pub app: Option<AppId>,
    /// The gang with which it starts, while the object exists.
    pub gang: Option<GangId>,
    /// Its seats, from acceptance to completion.
    pub seats: Seats,
    /// The kept seats of its members, also of an earlier life.
    pub kept: BTreeSet<KeptId>,
    /// Every pod of it, placeholders included.
    pub asks: BTreeSet<AskId>,
    /// Members that wait for a seat, in the order of a pass.
    pub waiting: BTreeSet<(Rank, AskId)>,
    /// Members that wait after the start and for which there is no held seat: ordinary asks.
    pub overflow: BTreeSet<(Rank, AskId)>,
    /// Members by what became of them.
    pub members: Members,
    /// Members that have a node and do not run yet, by what the kubelet says of it.
    pub held_up: BTreeMap<Text, u32>,
    /// Members that ended in this incarnation.
    pub ended: Ended,
    /// Placeholders that gave their seat to a member, in this incarnation.
    pub replaced: u32,
    /// The last incarnation that it was part of. Later ones have higher numbers, even if the TaskGroup moves to another
    /// application, so that no name of a placeholder comes again under one UID.
    pub lived: u32,
    /// Its status says that its application timed out in this life.
    pub says_timed_out: bool,
    /// Its application is closed to it: the gang does not list it, or differs from it (01, 1.1).
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
    pub scheduled: u32,
    /// Of these: their containers run.
    pub running: u32,
    /// Have a node on the books, and their Binding is not decided yet.
    pub held_back: u32,
    /// Wait, and use what this version does not honour.
    pub unsupported: u32,
    /// Placeholder pods that exist.
    pub placeholders: u32,
}

/// How members ended, in one incarnation; also of those whose pods are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Succeeded.
    pub succeeded: u32,
    /// Of these: ended well when they were being deleted, as far as this process saw it. Their work is not done.
    pub stopped: u32,
    /// Failed.
    pub failed: u32,
    /// Of these by how, as far as this process saw it.
    pub how: BTreeMap<Text, u32>,
}

/// So many ways to fail are told apart.
const HOW_MAX: usize = 8;

impl Ended {
    /// How many have succeeded and were not stopped.
    pub const fn have_done_their_work(&self) -> u32 {
        self.succeeded.saturating_sub(self.stopped)
    }

    /// One more has succeeded (`None`) or failed.
    pub fn count(&mut self, failed: Option<Text>) {
        let Some(how) = failed else {
            self.succeeded = self.succeeded.saturating_add(1);
            return;
        };
        self.failed = self.failed.saturating_add(1);
        if !how.is_empty() && (self.how.len() < HOW_MAX || self.how.contains_key(&how)) {
            *self.how.entry(how).or_default() += 1;
        }
    }
}

impl Group {
    /// A group that pods name before its object is seen.
    pub fn unseen(key: Key) -> Self {
        Self {
            key,
            spec: None,
            edited: None,
            app: None,
            gang: None,
            seats: Seats::default(),
            kept: BTreeSet::new(),
            asks: BTreeSet::new(),
            waiting: BTreeSet::new(),
            overflow: BTreeSet::new(),
            members: Members::default(),
            held_up: BTreeMap::new(),
            ended: Ended::default(),
            replaced: 0,
            lived: 0,
            says_timed_out: false,
            closed_out: false,
            cut: None,
        }
    }

    /// Its namespace and the ID that it names: under these pods of its namespace name its application.
    pub fn named_by_pods(&self) -> Key {
        self.key.beside(&self.spec().application)
    }

    /// Key of the application that it names.
    pub fn application(&self) -> Key {
        self.spec().application_of(&self.key)
    }

    /// How it is called in what others of its gang are told: with its namespace where these lie in several.
    pub fn called(&self) -> Text {
        let lies_in_several = self.spec.as_ref().is_some_and(|spec| spec.across.is_some());
        if lies_in_several { self.key.to_string().into() } else { self.key.name.clone() }
    }

    /// Its spec, where it must have one: it belongs to an application.
    pub fn spec(&self) -> &GroupSpec {
        self.spec.as_deref().expect("a group of an application has a spec")
    }

    /// Members that wait for a node after the start, in the order of a pass: those that count on a held seat first.
    pub fn without_node(&self) -> impl Iterator<Item = &(Rank, AskId)> {
        self.waiting.iter().chain(&self.overflow)
    }

    /// How many members have or had a node in this incarnation, but for those that failed: each counts for a seat.
    pub fn had_a_seat(&self) -> u32 {
        self.members.scheduled.saturating_add(self.ended.have_done_their_work())
    }

    /// Whether its seats are held by placeholder pods.
    pub fn uses_placeholders(&self) -> bool {
        self.spec().reservation == Reservation::Placeholder
    }

    /// Whether placeholders are made for members that exist, too.
    pub fn reserves_for_all(&self) -> bool {
        self.uses_placeholders() && self.spec().placeholder_for == PlaceholderFor::All
    }

    /// Whether every seat is held, taken, or assumed for a real member (01, 1.3).
    pub fn is_satisfied(&self) -> bool {
        let tally = self.seats.tally();
        tally.open + tally.kept == 0 && tally.binding == 0 && tally.leaving == 0
    }
}
