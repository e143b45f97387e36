//! Which call next: the controller says what it wants, the outbox says what leaves now and what an answer means.
//!
//! Pure (design 02, 2.1). An entry is one thing that is wanted of one object; it is made into an [`Op`] only when it
//! leaves, so that it carries the UID and text of that moment. Rules:
//!
//! - declare > bind > delete > fail > create > condition > annotate > status > event, and before all of them binds that are
//!   [`Urgency::Next`]; a TaskGroup that was refused is declared again after what is created; within one of them first what is
//!   `Next`, then `Ordinary`, then `Numbers`, each in order of arrival;
//! - one call per Kubernetes object at a time;
//! - at most 64 calls in flight, fewer of a slot that is in trouble;
//! - a call that may have happened is repeated until that is certain, and never replaced by another call meanwhile.

mod answer;
mod bucket;
mod entries;
mod entry;
mod pace;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turns;
mod verdict;
mod want;
mod window;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use crate::core::base::arena::Lookup;
use crate::core::time::{Millis, Mono};
use crate::shim::observation::Outcome;
use crate::shim::op::{Call, CallId, Op, Rule};
use bucket::Buckets;
use entries::{Departure, Entries};
use entry::{Id, Rest};
use pace::Pace;
use verdict::{Next, Sent};
pub use verdict::{Verdict, Why};
pub use want::{NotMade, Object, Report, Slot, Urgency, Want};
use window::Windows;

/// How long after a step a call may still be sent. A call is sent at once; only a process that was stopped or starved
/// for longer finds it expired, and by then somebody else may have decided otherwise.
const SEND_WITHIN_MS: Millis = 10_000;

/// Whose turn it is: of each slot what is at least so urgent. A TaskGroup that is declared is one call for a whole gang, which has no
/// place in its queue before that, and so is a PodGroup that is let in: behind the Bindings of all gangs that have started it would
/// come there too late. One that has failed has had that turn: hundreds that are refused all the time keep no Binding waiting.
const TURNS: [(Slot, Urgency); 11] = [
    (Slot::Bind, Urgency::Next),
    (Slot::Declare, Urgency::Ordinary),
    (Slot::Bind, Urgency::Numbers),
    (Slot::Delete, Urgency::Numbers),
    (Slot::Fail, Urgency::Numbers),
    (Slot::Create, Urgency::Numbers),
    (Slot::Declare, Urgency::Numbers),
    (Slot::Condition, Urgency::Numbers),
    (Slot::Annotate, Urgency::Numbers),
    (Slot::Status, Urgency::Numbers),
    (Slot::Event, Urgency::Numbers),
];

/// Failures in a row before people are told: after about half a second it is no hiccup any more.
const TELL_AFTER: u32 = 3;

/// Everything that is wanted and not yet certain. `K` is the controller's name for things.
#[derive(Clone, Debug)]
pub struct Outbox<K> {
    incarnation: u64,
    /// Sequence number of the newest call.
    newest: u64,
    entries: Entries<K>,
    flights: Lookup<u64, Flight<K>>,
    windows: Windows,
    buckets: Buckets,
    events_dropped: u64,
    answers: BTreeMap<(&'static str, &'static str, u16), u64>,
}

/// A call in flight.
#[derive(Clone, Debug)]
struct Flight<K> {
    id: Id<K>,
    /// The slot in whose turn it left: its own, or that of an entry which waits for it.
    rank: Slot,
    object: Option<Object>,
    /// Which of the entry's wants it carries.
    version: u32,
    rule: Rule,
    sent: Sent,
}

impl<K: Clone + Eq + Hash + Debug> Outbox<K> {
    /// An empty outbox. `incarnation` makes call numbers unique over processes.
    pub fn new(incarnation: u64) -> Self {
        Self {
            incarnation,
            newest: 0,
            entries: Entries::default(),
            flights: Lookup::default(),
            windows: Windows::default(),
            buckets: Buckets::default(),
            events_dropped: 0,
            answers: BTreeMap::new(),
        }
    }

    /// Wants something; wanting it again changes nothing but its urgency, and repeats a patch that is in flight.
    /// False: it was dropped, because too many events wait already.
    pub fn want(&mut self, now: Mono, want: Want<K>) -> bool {
        let accepted = self.entries.want(now, want);
        self.events_dropped += u64::from(!accepted);
        accepted
    }

    /// Takes a want back. True: it will not happen, and nothing more is reported. False: it may have happened or may
    /// yet happen; its end will be reported as if it had not been taken back, but no further call is made for it that
    /// is not needed.
    pub fn cancel(&mut self, slot: Slot, key: &K) -> bool {
        self.entries.cancel(&(slot, key.clone()))
    }

    /// A fact from the watch has settled this: nothing is repeated any more, whatever was in doubt. The answer of a
    /// call in flight is still reported if it is certain.
    pub fn settle(&mut self, slot: Slot, key: &K) {
        self.entries.settle(&(slot, key.clone()));
    }

    /// Whether a call may yet change what is known, or has and the watch has not shown it.
    pub fn is_under_way(&self, slot: Slot, key: &K) -> bool {
        self.entries.is_under_way(&(slot, key.clone()))
    }

    /// The calls that leave now. `make` turns a slot and key into the call of this moment.
    pub fn next(&mut self, now: Mono, make: &mut dyn FnMut(Slot, &K) -> Result<Op, NotMade>) -> Vec<Call> {
        self.entries.ring(now);
        let mut calls = Vec::new();
        while let Some((rank, id)) = self.pick(now) {
            match self.entries.depart(&id, make) {
                Ok(departure) => calls.push(self.left(now, rank, id, departure)),
                Err(NotMade::Moot) => self.entries.remove(&id),
                Err(NotMade::Later) => break,
            }
        }
        calls
    }

    /// Takes the answer of a call; says what is known now about its entry, if that is something new.
    pub fn outcome(&mut self, now: Mono, id: CallId, outcome: Outcome) -> Option<Report<K>> {
        let flight = self.land(now, id, &outcome)?;
        self.judge(now, flight, outcome)
    }

    /// Takes the answer of a call whose content may be out of date. It counts as an answer for window and statistics;
    /// the entry goes on as if there had been none.
    pub(super) fn outdated(&mut self, now: Mono, id: CallId, outcome: &Outcome) -> Option<Report<K>> {
        let flight = self.land(now, id, outcome)?;
        self.judge(now, flight, Outcome::Unknown)
    }

    fn land(&mut self, now: Mono, id: CallId, outcome: &Outcome) -> Option<Flight<K>> {
        if id.incarnation != self.incarnation {
            return None;
        }
        let flight = self.flights.remove(&id.sequence)?;
        self.windows.ended(now, flight.rank, id.sequence, self.newest, outcome);
        self.count(flight.rule, outcome);
        if let Some(object) = &flight.object {
            self.entries.land(object);
        }
        Some(flight)
    }

    /// The sequence of the last call that has left.
    pub(super) const fn newest(&self) -> u64 {
        self.newest
    }

    /// The right that a call in flight needs.
    pub fn rule(&self, id: CallId) -> Option<Rule> {
        self.flights.get(&id.sequence).filter(|_| id.incarnation == self.incarnation).map(|flight| flight.rule)
    }

    /// What a call in flight is about.
    pub fn about(&self, id: CallId) -> Option<&(Slot, K)> {
        self.flights.get(&id.sequence).filter(|_| id.incarnation == self.incarnation).map(|flight| &flight.id)
    }

    /// When [`Self::next`] has something to do again, if nothing happens before.
    pub fn wake(&self, now: Mono) -> Option<Mono> {
        let queues = Slot::ALL.into_iter().filter_map(|rank| self.when(rank, self.entries.first(rank)?.1, now));
        let at = self.entries.next_timer().into_iter().chain(queues).min()?;
        Some(at.max(now))
    }

    /// Entries that wait to be sent, for whatever reason.
    pub fn waiting(&self) -> usize {
        self.entries.wanted() - self.flights.len()
    }

    /// Calls in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// How many binds may be in flight now.
    pub const fn window(&self) -> usize {
        self.windows.size(Slot::Bind)
    }

    /// Events dropped so far: too many waited, or the server did not take them (F46).
    pub const fn events_dropped(&self) -> u64 {
        self.events_dropped
    }

    /// Ended calls so far by verb, resource and HTTP status (200 = any success, 0 = unknown or not sent).
    pub const fn answers(&self) -> &BTreeMap<(&'static str, &'static str, u16), u64> {
        &self.answers
    }

    /// The entry that leaves next, with the rank whose tokens it uses.
    fn pick(&mut self, now: Mono) -> Option<(Slot, Id<K>)> {
        for (rank, least) in TURNS {
            while let Some((id, urgency)) = self.entries.first(rank)
                && urgency <= least
                && self.when(rank, urgency, now).is_some_and(|at| at <= now)
            {
                let id = id.clone();
                if !self.entries.park_if_busy(&id) {
                    return Some((rank, id));
                }
            }
        }
        None
    }

    /// When a call of this rank and urgency may leave; `None` if a call in flight must end first.
    fn when(&self, rank: Slot, urgency: Urgency, now: Mono) -> Option<Mono> {
        let window = match urgency {
            Urgency::Next => self.windows.when_next(rank),
            Urgency::Ordinary | Urgency::Numbers => self.windows.when(rank),
        };
        window.map(|at| at.max(self.buckets.when(rank, now)))
    }

    fn left(&mut self, now: Mono, rank: Slot, id: Id<K>, (op, departure): (Op, Departure)) -> Call {
        self.newest += 1;
        self.buckets.take(rank, now);
        self.windows.left(rank);
        let (object, version, sent) = departure;
        self.flights.insert(self.newest, Flight { id, rank, object, version, rule: op.rule(), sent });
        let call = CallId { incarnation: self.incarnation, sequence: self.newest };
        Call { id: call, not_after: now.after(SEND_WITHIN_MS), op }
    }

    fn judge(&mut self, now: Mono, flight: Flight<K>, outcome: Outcome) -> Option<Report<K>> {
        let Flight { id, version, sent, rule, .. } = flight;
        let (attempt, wish) = self.entries.standing(&id)?;
        let looked = matches!(sent, Sent::Look(_));
        match wish.bend(verdict::judge(id.0, sent, attempt, rule, outcome), looked) {
            Next::End(verdict) => Some(self.end(now, id, (version, rule), verdict)),
            Next::Forget => {
                self.entries.remove(&id);
                None
            }
            Next::Go { step, pace, why } => {
                self.entries.again(now, &id, step, pace);
                let tell =
                    pace == Pace::Long || pace == Pace::Brief && attempt >= TELL_AFTER && is_telling(why.refusal.code);
                tell.then(|| Report { slot: id.0, key: id.1, verdict: Verdict::Denied(why) })
            }
        }
    }

    fn end(&mut self, now: Mono, id: Id<K>, (version, rule): (u32, Rule), verdict: Verdict) -> Report<K> {
        let refused = matches!(verdict, Verdict::Refused(..));
        self.events_dropped += u64::from(refused && id.0 == Slot::Event);
        self.entries.end(now, &id, version, rest_after(id.0, rule, &verdict));
        Report { slot: id.0, key: id.1, verdict }
    }

    fn count(&mut self, (resource, verb): Rule, outcome: &Outcome) {
        let code = match outcome {
            Outcome::Ok(_) | Outcome::Removed | Outcome::Pruned => 200,
            Outcome::Refused { code, .. } => *code,
            Outcome::Unknown | Outcome::NotSent => 0,
        };
        *self.answers.entry((verb, resource, code)).or_default() += 1;
    }
}

/// How long an entry does not leave again after such an end.
fn rest_after(slot: Slot, (resource, _): Rule, verdict: &Verdict) -> Rest {
    match verdict {
        Verdict::Refused(..) => Rest::Refused,
        // A status whose object was not found is wanted again as long as the object is known here, and so is a TaskGroup whose
        // kind was not found while a pod declares it. That must not be too soon either.
        Verdict::Gone if matches!(slot, Slot::Status | Slot::Declare) => Rest::Refused,
        // What was made of a TaskGroup is known here when the watch shows it: whoever wants it before that would make the same once
        // more, and be refused.
        Verdict::Done(_) if slot == Slot::Declare && resource == "taskgroups" => Rest::Made,
        Verdict::Done(_) | Verdict::Fact(_) | Verdict::Gone | Verdict::Denied(_) => Rest::Not,
    }
}

/// Whether a repeated refusal with this code says something about the object: silence, too many requests and a server
/// that starts or ends say nothing, and the watches tell of those.
const fn is_telling(code: u16) -> bool {
    !matches!(code, 0 | 429 | 503)
}
