//! What a follower keeps: of every object the latest that a watch has shown, so that it can begin without a list.

use std::collections::BTreeMap;

use crate::controller::denied::Denied;
use crate::controller::stats::Stats;
use crate::core::base::ids::Key;
use crate::shim::kinds::Kind;
use crate::shim::observation::{Observation, Seen, WatchFact};

/// The latest of everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Following {
    lines: [Line; Kind::ALL.len()],
    denied: Denied,
}

/// What the watch of one kind has said.
#[derive(Clone, Debug, Default)]
struct Line {
    answer: Answer,
    objects: BTreeMap<Key, Seen>,
    /// What has come of a list that has not ended.
    list: Option<BTreeMap<Key, Seen>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Answer {
    #[default]
    None,
    Unserved,
    Listed,
}

impl Following {
    pub(super) fn hear(&mut self, observation: Observation) {
        match observation {
            Observation::Watch { kind, fact, .. } => self.watch(kind, fact),
            Observation::Outcome { .. } | Observation::Lead | Observation::Stop => {}
        }
    }

    fn watch(&mut self, kind: Kind, fact: WatchFact) {
        let line = &mut self.lines[kind as usize];
        match fact {
            WatchFact::Unserved => {
                *line = Line { answer: Answer::Unserved, ..Line::default() };
                self.denied.watch_works(kind);
            }
            WatchFact::ListBegin => line.list = Some(BTreeMap::new()),
            WatchFact::Listed(seen) => {
                line.list.get_or_insert_default().insert(seen.key.clone(), seen);
            }
            WatchFact::ListEnd => {
                let objects = line.list.take().unwrap_or_default();
                *line = Line { answer: Answer::Listed, objects, list: None };
                self.denied.watch_works(kind);
            }
            WatchFact::Upsert(seen) => drop(line.objects.insert(seen.key.clone(), seen)),
            WatchFact::Gone(seen) => drop(line.objects.remove(&seen.key)),
            WatchFact::Broken { code, message } => self.denied.watch_broke(kind, code, &message),
        }
    }

    /// Whether every kind was listed or is known to be unserved.
    pub(super) fn is_whole(&self) -> bool {
        self.lines.iter().all(|line| line.answer != Answer::None)
    }

    /// All of it as watches would say it that begin now, and what has come of lists that go on.
    pub(super) fn into_facts(self) -> Vec<Observation> {
        let of_kinds = Kind::ALL.into_iter().zip(self.lines);
        of_kinds.flat_map(|(kind, line)| line.into_facts().map(move |fact| watch(kind, fact))).collect()
    }

    pub(super) fn stats(&self) -> Stats {
        let lines = || Kind::ALL.iter().map(|kind| (kind.plural(), &self.lines[*kind as usize].objects));
        let malformed = |objects: &BTreeMap<Key, Seen>| objects.values().filter(|seen| seen.body.is_err()).count();
        Stats {
            synced: self.is_whole(),
            objects: lines().map(|(kind, objects)| (kind, objects.len() as u64)).collect(),
            malformed: lines().map(|(kind, objects)| (kind, malformed(objects) as u64)).collect(),
            denied: self.denied.iter().map(|(rule, _)| *rule).collect(),
            ..Stats::default()
        }
    }
}

impl Line {
    fn into_facts(self) -> impl Iterator<Item = WatchFact> {
        let (begin, end) = match self.answer {
            Answer::None => (None, None),
            Answer::Unserved => (None, Some(WatchFact::Unserved)),
            Answer::Listed => (Some(WatchFact::ListBegin), Some(WatchFact::ListEnd)),
        };
        let known = begin.into_iter().chain(self.objects.into_values().map(WatchFact::Listed)).chain(end);
        let begun = self.list.is_some().then_some(WatchFact::ListBegin);
        known.chain(begun).chain(self.list.into_iter().flat_map(BTreeMap::into_values).map(WatchFact::Listed))
    }
}

fn watch(kind: Kind, fact: WatchFact) -> Observation {
    Observation::Watch { kind, conn: 0, fact }
}
