//! What was given to whom in the whole of a play: the start of every gang (I4), and every seat (I5).

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;
use gangline::sim::store::metadata;

use super::World;
use crate::sim::marks::{Seat, life_in};
use crate::sim::oracle::times_out;
use crate::sim::people::node_of;
use crate::sim::process::{Missing, Step};
use crate::sim::words::words_of;

/// How long after its first member every member of a gang is on its way, or has a seat that is held.
pub(crate) const START_MS: u64 = 180_000;

/// How long a Binding that was decided on may wait until it is sent, where the server asks for patience, or has just ceased
/// to.
const HELD_MS: u64 = 10_000;

/// How long one may wait otherwise: until the process hears of what it has just done.
const UNHEARD_MS: u64 = 1_000;

/// What was given to whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The latest start of every task group, by its UID.
    starts: BTreeMap<Uid, Start>,
    /// Who has a seat, by its incarnation and number.
    seats: BTreeMap<Seat, Holder>,
}

/// A member that was given a seat.
#[derive(Clone, Debug)]
struct Holder {
    key: Key,
    uid: Uid,
    /// By the only process that there was, and not by one that had died.
    known: bool,
}

/// Members of a task group begin to be bound.
#[derive(Clone, Debug)]
struct Start {
    /// Which it is, where its gang is known and judged.
    group: Option<Key>,
    /// Which life of it, once a member says so.
    incarnation: Option<String>,
    at: u64,
    /// When that was decided, at the earliest.
    decided: u64,
    /// Seats that nobody holds or has, and for which nobody was sent yet.
    missing: Missing,
    /// Whether that need not be so.
    excused: bool,
}

impl Ledger {
    /// Groups that have begun to start, with seats for which nobody was sent yet.
    pub(crate) fn begun(&self) -> BTreeSet<String> {
        let begun = self.starts.values().filter(|start| start.missing.count() > 0);
        begun.filter_map(|start| Some(start.group.as_ref()?.name.to_string())).collect()
    }

    /// What follows from starts so far is not judged: the scheduler died, or is not heard or told.
    pub(super) fn excuse_all(&mut self) {
        self.starts.values_mut().for_each(|start| start.excused = true);
    }
}

impl World {
    /// A call leaves a process that binds a member for this life of a task group, or says that it has started: with the
    /// first of them, every seat of its gang is held by a placeholder that the process knows to be bound, or its member is
    /// bound or about to be.
    pub(crate) fn note_start(&mut self, number: u64, (uid, life, step): (Uid, String, Step)) {
        // It says itself that it lacks members, of whichever of its task groups, and somebody took some.
        let is_lost = matches!(step, Step::Said { lost: true }) && self.was_disturbed(number, &uid);
        let begins = |start: &Start| start.incarnation.as_ref().is_some_and(|known| *known != life);
        if self.ledger.starts.get(&uid).is_none_or(begins) {
            let (at, is_new) = (self.now_ms, !self.ledger.starts.contains_key(&uid));
            let Some(process) = self.life(number) else { return };
            let counter = life_in(&life).unwrap_or(0);
            let gang = process.gang_of(&uid).into_iter();
            let gang: Vec<_> =
                gang.map(|(uid, key, min)| (uid.clone(), key.clone(), process.unseated(uid, counter, min))).collect();
            // One of them is gone already: it may have been there when the others were sent, and these had to wait.
            let is_short = gang.iter().any(|(_, key, missing)| process.waiting(key) < missing.count());
            let decided = if is_short && matches!(step, Step::Seat(_)) { self.held_since() } else { at };
            let is_excused = is_lost || self.refuses().is_some() || at < self.deaf_until;
            let excused = is_excused || is_new && self.joins(&uid, &life, &gang);
            // Known as one that has started, also where its gang is not.
            let own = Start { group: None, incarnation: None, at, decided, missing: Missing::default(), excused };
            self.ledger.starts.insert(uid.clone(), own);
            for (of, group, missing) in gang {
                let start = Start { group: Some(group), incarnation: None, at, decided, missing, excused };
                if of == uid {
                    self.ledger.starts.insert(of, start);
                } else {
                    // One that has started and one that joins are a gang too.
                    self.ledger.starts.entry(of).or_insert(start);
                }
            }
        }
        let Some(start) = self.ledger.starts.get_mut(&uid) else { return };
        start.incarnation = Some(life);
        match step {
            Step::Seat(seat) => _ = start.missing.seats.remove(&seat),
            Step::Said { .. } => start.excused |= is_lost && start.at == self.now_ms,
        }
    }

    /// I4: a life of which nobody lives any more is over: who comes then starts as a whole, in the next one (01, 1.8). Not
    /// where a timeout has ended it, so that its pods are placed one by one.
    pub(crate) fn check_goes_on(&mut self, number: u64, pod: &Uid, (uid, life, step): &(Uid, String, Step)) {
        let start = self.ledger.starts.get(uid).filter(|start| start.incarnation.as_ref() == Some(life));
        let is_complete = start.is_some_and(|start| start.missing.count() == 0) && !self.has_died();
        let is_held = self.faults.refused > 0 || self.storm_within(HELD_MS).is_some();
        let held_ms = if is_held { HELD_MS } else { UNHEARD_MS };
        let Some(process) = self.life(number).filter(|_| is_complete) else { return };
        let Some(counter) = life_in(life) else { return };
        let dead = process.dead_since(uid, counter, pod);
        let begun = if let Step::Seat(seat) = step { process.swapped(uid, counter, *seat) } else { None };
        // Its swap goes on that had begun when somebody lived.
        let dead = dead.filter(|since| begun.is_none_or(|begun| begun > since + HELD_MS));
        let decided = dead.zip(process.decided(pod)).filter(|(since, decided)| *decided > since + held_ms);
        let Some((since, decided)) = decided else { return };
        let has_timed_out = self.groups().iter().any(|(_, group)| {
            group.metadata.uid.as_deref() == Some(&*uid.0) && group.status.as_ref().is_some_and(times_out)
        });
        if !has_timed_out {
            self.violated("I4", format!("{life} goes on at {decided}, of which nobody lives since {since}"));
        }
    }

    /// Whether somebody ever took members or seats from a task group of this gang, as the process knows it, or another
    /// process bound some.
    fn was_disturbed(&self, number: u64, uid: &Uid) -> bool {
        let process = self.running().find(|process| process.number == number);
        let mut gang = process.into_iter().flat_map(|process| process.gang_of(uid));
        gang.any(|(_, key, _)| [&self.disturbed, &self.overtaken].iter().any(|heard| heard.contains_key(&*key.name)))
    }

    /// Since when a Binding that was decided on may have waited until it is sent, as the server asked for patience.
    fn held_since(&self) -> u64 {
        let refused = (self.faults.refused > 0).then(|| self.now_ms.saturating_sub(HELD_MS));
        self.storm_within(HELD_MS).into_iter().chain(refused).min().unwrap_or(self.now_ms)
    }

    /// Whether others of the gang had begun to start in that life before: a TaskGroup that comes, or comes again, then is
    /// part of what runs (01, 1.5).
    fn joins(&self, uid: &Uid, life: &str, gang: &[(Uid, Key, Missing)]) -> bool {
        let counter = |life: &str| life.rsplit('.').next().map(str::to_owned);
        let others = gang.iter().filter(|(other, ..)| other != uid);
        let mut begun =
            others.filter_map(|(other, ..)| self.ledger.starts.get(other).filter(|start| start.at < self.now_ms));
        begun.any(|start| start.incarnation.as_deref().is_some_and(|known| counter(known) == counter(life)))
    }

    /// I4: a gang that starts starts with all its members, unless somebody took some, or the scheduler died over it.
    pub(crate) fn check_starts(&mut self) {
        let now = self.now_ms;
        let (disturbed, overtaken) = (&self.disturbed, &self.overtaken);
        let is_due = |start: &&mut Start| now >= start.at + START_MS && start.missing.count() > 0;
        let mut half: Option<String> = None;
        for start in self.ledger.starts.values_mut().filter(is_due) {
            let Some(group) = &start.group else { continue };
            let mut heard = [disturbed, overtaken].into_iter().filter_map(|heard| heard.get(&*group.name));
            let is_disturbed = heard.any(|heard| *heard >= start.decided);
            if !start.excused && !is_disturbed {
                let (missing, at) = (start.missing.count(), start.at);
                half.get_or_insert(format!(
                    "{group} began to start at {at}, without {missing} for seats {:?}",
                    start.missing.seats
                ));
            }
            start.missing = Missing::default();
        }
        if let Some(what) = half {
            self.violated("I4", what);
        }
    }

    /// I5: a Binding is made. No other member has the seat, unless a process that had died gave or gives it.
    pub(crate) fn note_seat(&mut self, key: &Key, uid: &Uid, seat: Seat, known: bool) {
        if self.made.contains(&*uid.0) {
            return;
        }
        let words = self.api.store.get(Kind::Pod, key).and_then(words_of);
        words.into_iter().for_each(|words| self.note(|| words.way.start()));
        let holder = Holder { key: key.clone(), uid: uid.clone(), known };
        let before = self.ledger.seats.insert(seat.clone(), holder);
        let Some(before) = before.filter(|before| before.uid != *uid && before.known && known) else { return };
        let has = |body: &Body| {
            let Body::Pod(pod) = body else { return false };
            let same = metadata(body).uid.as_deref() == Some(&*before.uid.0);
            same && node_of(body).is_some() && !has_ended(pod) && metadata(body).deletion_timestamp.is_none()
        };
        // Who begins while a pod cannot be read does not know of it.
        let is_told = !self.is_garbled(Kind::Pod, &before.key);
        if is_told && self.api.store.get(Kind::Pod, &before.key).is_some_and(has) {
            let Seat { number, incarnation } = seat;
            self.violated("I5", format!("{key} gets seat {number} of {incarnation}, which {} has", before.key));
        }
    }
}
