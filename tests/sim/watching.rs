//! How the API server speaks to the processes: lists and watches, and when it does not: a watch breaks, a connection is
//! half open, a kind is not served, an object cannot be read, the server is away.

use std::collections::BTreeMap;
use std::ops::Range;

use gangline::core::base::ids::Key;
use gangline::shim::observation::{Malformed, Seen, WatchFact};
use gangline::shim::op::Kind;
use gangline::sim::store::{Change, metadata};

use super::{Act, Event, Process, World};
use crate::sim::acts::Needs;
use crate::sim::chance::hash;
use crate::sim::coverage::MEETINGS;
use crate::sim::process::EXCUSED_MS;

/// What the server does not serve, and what it does not say.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    /// Kinds that are not served, and until when.
    unserved: BTreeMap<Kind, u64>,
    /// Kinds whose watches say nothing, and until when.
    muted: BTreeMap<Kind, u64>,
    /// The server is away until then.
    away_until: u64,
    /// The latest time in which every call is refused.
    storm: Option<Storm>,
    /// Objects that cannot be read: from which revision on, and before which.
    garbled: BTreeMap<(Kind, Key), Vec<Range<u64>>>,
}

/// Every call is refused for a while.
#[derive(Clone, Copy, Debug)]
struct Storm {
    code: u16,
    since: u64,
    until: u64,
}

/// What is said of an object that cannot be read.
pub(crate) const GARBLED: &str = "no reader of this version";

impl World {
    /// Until when an act is refused: the server is away, or does not serve its kind.
    pub(super) fn refused_until(&self, act: &Act) -> Option<u64> {
        match act.needs() {
            Needs::Nobody => None,
            Needs::Server => self.away_until(),
            Needs::Served(kind) => self.away_until().max(self.silence.unserved.get(&kind).copied()),
        }
    }

    /// Until when the server is away, if it is.
    pub(super) fn away_until(&self) -> Option<u64> {
        Some(self.silence.away_until).filter(|until| *until > self.now_ms)
    }

    /// The server is away for a while, and comes back with what it has stored.
    pub(crate) fn go_away(&mut self, for_ms: u64) {
        self.silence.away_until = self.silence.away_until.max(self.now_ms + for_ms);
        self.deaf_for(for_ms);
        self.kinds().for_each(|kind| self.cut(kind, 0));
    }

    /// The connection of a kind's watches is half open: nothing is heard until somebody notices.
    pub(crate) fn mute(&mut self, kind: Kind, for_ms: u64) {
        let until = self.now_ms + for_ms;
        self.silence.muted.insert(kind, until);
        self.deaf_for(for_ms);
        self.at(until, Event::Unmute(kind));
    }

    /// Every call is refused for a while.
    pub(crate) fn storm(&mut self, code: u16, for_ms: u64) {
        self.silence.storm = Some(Storm { code, since: self.now_ms, until: self.now_ms + for_ms });
        self.ledger.excuse_all();
    }

    /// What every call is refused with, if it is.
    pub(super) fn refuses(&self) -> Option<u16> {
        self.silence.storm.filter(|storm| storm.until > self.now_ms).map(|storm| storm.code)
    }

    /// When the storm began that was on less than this time ago.
    pub(super) fn storm_within(&self, ms: u64) -> Option<u64> {
        self.silence.storm.filter(|storm| storm.until + ms > self.now_ms).map(|storm| storm.since)
    }

    /// Somebody writes an object in a form that cannot be read, and for a while every version of it is so.
    pub(crate) fn garble(&mut self, kind: Kind, key: &Key, for_ms: u64) {
        let Some(body) = self.api.store.get(kind, key).cloned() else { return };
        let from = self.api.store.revision() + 1;
        self.silence.garbled.entry((kind, key.clone())).or_default().push(from..u64::MAX);
        self.api.store.put(key, body);
        self.at(self.now_ms + for_ms, Event::Mend(kind, key.clone()));
    }

    /// Somebody writes an object as it should be.
    pub(super) fn mend(&mut self, kind: Kind, key: &Key) {
        let readable = self.api.store.revision() + 1;
        let spans = self.silence.garbled.get_mut(&(kind, key.clone())).into_iter().flatten();
        spans.for_each(|span| span.end = span.end.min(readable));
        if let Some(body) = self.api.store.get(kind, key).cloned() {
            self.api.store.put(key, body);
        }
    }

    /// Whether an object can or could not be read.
    pub(super) fn is_garbled(&self, kind: Kind, key: &Key) -> bool {
        self.silence.garbled.contains_key(&(kind, key.clone()))
    }

    /// An object as a process reads it.
    pub(super) fn as_read(&self, kind: Kind, mut seen: Seen) -> Seen {
        let spans = self.silence.garbled.get(&(kind, seen.key.clone()));
        if spans.into_iter().flatten().any(|span| span.contains(&seen.rv)) {
            let generation = seen.body.as_ref().ok().and_then(|body| metadata(body).generation).unwrap_or(0);
            seen.body = Err(Malformed { problem: GARBLED.into(), generation });
        }
        seen
    }

    /// What nobody hears may be decided against for a while longer.
    pub(super) fn deaf_for(&mut self, for_ms: u64) {
        self.deaf_until = self.deaf_until.max(self.now_ms + for_ms + EXCUSED_MS);
        self.ledger.excuse_all();
    }

    pub(super) fn unmute(&mut self, kind: Kind) {
        if self.silence.muted.get(&kind).is_some_and(|until| *until <= self.now_ms) {
            self.silence.muted.remove(&kind);
            self.cut(kind, 0);
        }
    }

    /// From now on everything is served and said.
    pub(super) fn serve_all(&mut self) {
        self.silence.away_until = self.now_ms;
        self.silence.storm.iter_mut().for_each(|storm| storm.until = storm.until.min(self.now_ms));
        let garbled: Vec<(Kind, Key)> = self.silence.garbled.keys().cloned().collect();
        garbled.iter().for_each(|(kind, key)| self.mend(*kind, key));
        for kind in self.kinds() {
            self.silence.unserved.entry(kind).and_modify(|until| *until = self.now_ms);
            self.silence.muted.entry(kind).and_modify(|until| *until = self.now_ms);
            self.serve(kind);
            self.unmute(kind);
        }
    }

    /// A watch of every process breaks, and lists anew.
    pub(crate) fn cut(&mut self, kind: Kind, code: u16) {
        let numbers: Vec<u64> = self.running().map(|process| process.number).collect();
        numbers.into_iter().for_each(|number| self.cut_one(number, kind, code));
    }

    fn cut_one(&mut self, number: u64, kind: Kind, code: u16) {
        let (now, lag) = (self.now(), self.chance.delay("list", kind.plural(), self.faults.lag_ms));
        let Some(process) = self.life(number).filter(|process| process.listed.contains(&kind)) else { return };
        process.hear(now, kind, WatchFact::Broken { code, message: "cut".into() });
        self.at(self.now_ms + lag, Event::List(number, kind));
        self.step_soon(number);
    }

    /// From now on a kind is not served.
    pub(crate) fn stop_serving(&mut self, kind: Kind, for_ms: u64) {
        let until = self.now_ms + for_ms;
        self.silence.unserved.insert(kind, until);
        self.at(until, Event::Serve(kind));
        self.announce(kind);
    }

    /// A kind is served again; everybody lists it.
    pub(super) fn serve(&mut self, kind: Kind) {
        if self.silence.unserved.get(&kind).is_none_or(|until| *until > self.now_ms) {
            return;
        }
        self.say(|| format!("{} are served", kind.plural()));
        self.silence.unserved.remove(&kind);
        let waits = |process: &&Process| !process.listed.contains(&kind);
        let numbers: Vec<u64> = self.running().filter(waits).map(|process| process.number).collect();
        for number in numbers {
            let lag = self.chance.delay("list", kind.plural(), self.faults.lag_ms);
            self.at(self.now_ms + lag, Event::List(number, kind));
        }
    }

    /// Whether there are objects of a kind.
    pub(super) fn serves(&self, kind: Kind) -> bool {
        !self.silence.unserved.contains_key(&kind)
    }

    pub(super) fn list(&mut self, number: u64, kind: Kind) {
        let now = self.now();
        if let Some(until) = self.away_until().max(self.hears_nothing_until(number, false)) {
            return self.at(until, Event::List(number, kind));
        }
        if self.silence.unserved.contains_key(&kind) {
            self.life(number).into_iter().for_each(|process| process.hear(now, kind, WatchFact::Unserved));
            return self.step_soon(number);
        }
        let (revision, objects) = self.api.store.list(kind);
        let mut objects: Vec<Seen> = objects.into_iter().map(|seen| self.as_read(kind, seen)).collect();
        if let Some(order) = self.order {
            objects.sort_by_cached_key(|seen| hash(order, seen.key.to_string().as_bytes()));
        }
        let Some(process) = self.life(number) else { return };
        if objects.iter().any(|seen| process.knew_another(kind, seen)) {
            self.note(|| MEETINGS[0].to_owned());
        }
        let Some(process) = self.life(number) else { return };
        process.hear(now, kind, WatchFact::ListBegin);
        objects.into_iter().for_each(|seen| process.hear(now, kind, WatchFact::Listed(seen)));
        process.hear(now, kind, WatchFact::ListEnd);
        process.read.insert(kind, revision);
        if kind == Kind::Pod {
            process.pods_listed = revision;
        }
        self.step_soon(number);
    }

    pub(super) fn watch(&mut self, number: u64, kind: Kind) {
        if self.silence.muted.contains_key(&kind) {
            return;
        }
        let (now, revision) = (self.now(), self.api.store.revision());
        let is_gone = self.silence.unserved.contains_key(&kind);
        let Some(process) = self.life(number).filter(|process| process.listed.contains(&kind)) else { return };
        let from = process.read.insert(kind, revision).unwrap_or(0);
        let Ok(changes) = self.api.store.after(kind, from) else {
            self.note(|| MEETINGS[5].to_owned());
            return self.cut_one(number, kind, 410);
        };
        let read = |change: &Change| (change.deleted, self.as_read(kind, change.seen.clone()));
        let changes: Vec<(bool, Seen)> = changes.map(read).collect();
        let Some(process) = self.life(number) else { return };
        for (deleted, seen) in changes {
            process.hear(now, kind, if deleted { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) });
        }
        if is_gone {
            process.hear(now, kind, WatchFact::Unserved);
        } else if self.happens("cut", ("cut", kind.plural()), self.faults.cut) {
            self.cut_one(number, kind, 0);
        }
        self.step_soon(number);
    }

    /// The watches are going to tell of it.
    pub(super) fn announce(&mut self, kind: Kind) {
        let numbers: Vec<u64> = self.running().map(|process| process.number).collect();
        for number in numbers {
            if self.speaking.insert((number, kind)) {
                let lag = self.delayed("lag_ms", ("watch", kind.plural()), self.faults.lag_ms);
                self.at(self.now_ms + lag, Event::Watch(number, kind));
            }
        }
    }
}
