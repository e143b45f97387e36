//! One of several processes, while another leads: it hears whether it could begin, and keeps nothing else.
//!
//! Not even objects: what a watch has shown may be older than the last Bindings of who led before, and room on a node, other
//! than a pod, is not protected by a UID. Who begins to lead lists everything, as a start does (ADR 26).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::denied::Denied;
use super::stats::Stats;
use super::turn::Turn;
use crate::shim::dialect::Dialect;
use crate::shim::kinds::Kind;
use crate::shim::observation::{Observation, WatchFact};

/// What it knows.
#[derive(Clone, Debug)]
pub struct Follower {
    /// The kinds that are watched and could not be listed so far, nor are known not to be served.
    open: BTreeSet<Kind>,
    denied: Denied,
}

impl Follower {
    /// One that has heard nothing, where the words of these systems are understood.
    pub fn new(dialects: &[Dialect]) -> Self {
        Self { open: Kind::watched(dialects).collect(), denied: Denied::default() }
    }

    /// Takes what was observed, and asks for nothing. Drains `batch`.
    pub fn step(&mut self, batch: &mut Vec<Observation>) -> Turn {
        batch.drain(..).for_each(|observation| match observation {
            Observation::Watch { kind, fact, .. } => self.watch(kind, &fact),
            Observation::Outcome { .. } | Observation::Stop => {}
        });
        Turn::default()
    }

    fn watch(&mut self, kind: Kind, fact: &WatchFact) {
        match fact {
            WatchFact::Unserved | WatchFact::ListEnd => {
                self.open.remove(&kind);
                self.denied.watch_works(kind);
            }
            WatchFact::Broken { code, message } => {
                self.denied.watch_broke(kind, *code, message);
                if fact.leaves_out(kind) {
                    self.open.remove(&kind);
                }
            }
            WatchFact::ListBegin | WatchFact::Listed(_) | WatchFact::Upsert(_) | WatchFact::Gone(_) => {}
        }
    }

    fn is_whole(&self) -> bool {
        self.open.is_empty()
    }

    /// A picture in numbers.
    pub fn stats(&self) -> Stats {
        let denied = self.denied.iter().map(|(rule, _)| *rule).collect();
        Stats { synced: self.is_whole(), denied, ..Stats::default() }
    }

    /// The state, for people.
    pub fn state(&self) -> Value {
        json!({"leads": false, "synced": self.is_whole()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(follower: &mut Follower, kind: Kind, fact: WatchFact) {
        let turn = follower.step(&mut vec![Observation::Watch { kind, conn: 1, fact }]);
        assert!(turn.calls.is_empty() && turn.wake.is_none() && !turn.more);
    }

    #[test]
    fn it_could_begin_when_every_kind_was_listed_or_is_not_served() {
        let mut follower = Follower::new(&[Dialect::Coscheduling]);
        for kind in Kind::watched(&[Dialect::Coscheduling]) {
            assert!(!follower.stats().synced, "{kind:?} is missing");
            heard(&mut follower, kind, WatchFact::ListBegin);
            let end = if kind == Kind::Queue { WatchFact::Unserved } else { WatchFact::ListEnd };
            heard(&mut follower, kind, end);
        }
        assert!(follower.stats().synced && !follower.stats().leads);
        assert_eq!(follower.state()["synced"], true);
    }

    #[test]
    fn a_right_that_is_missing_is_named_until_it_is_there() {
        let mut follower = Follower::new(&[]);
        let refusal = WatchFact::Broken { code: 403, message: "no".into() };
        heard(&mut follower, Kind::Pod, refusal);
        assert_eq!(follower.stats().denied.len(), 1);
        heard(&mut follower, Kind::Pod, WatchFact::ListEnd);
        assert!(follower.stats().denied.is_empty());
    }
}
