//! I3: no user and no group is given more of a queue than its limits say (01, 1.2.3), by what its process was told.
//!
//! Whoever is bound counts for whom its pod says (ADR 34), by the limits of each queue on its way as they are now. A limit that
//! comes, or changes, when more is used than it says is not judged until less is.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::{Queue, SubmitterLimit};
use gangline::core::base::ids::Key;
use gangline::core::model::queue::share::Part;

use super::{EXCUSED_MS, Intent, PodSeen, Process, QueueSeen, is_within};
use crate::sim::amount::{Amount, GPU};
use crate::sim::limits::{Submitter, most};
use crate::sim::oracle::Violation;
use crate::sim::people::levels;

/// Limits of users and groups of a queue that was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    limits: Vec<SubmitterLimit>,
    /// For whom more was used when that was limited, and still is: `user alice`.
    lowered: BTreeSet<String>,
}

/// What a user or group uses of a queue, and may use.
#[derive(Default)]
struct Use {
    used: Amount,
    counted: Amount,
    most: Amount,
}

impl Process {
    /// A queue is seen: whom its limits find with more than they say is left alone.
    pub(super) fn bounds_of(&self, name: &str, queue: &Queue, old: Option<&QueueSeen>) -> Bounds {
        let limits = queue.spec.limits.clone();
        match old.filter(|old| old.bounds.limits == limits) {
            Some(old) => old.bounds.clone(),
            None => Bounds { lowered: self.over(name, &limits), limits },
        }
    }

    /// Who is within a limit again is judged again.
    pub(super) fn forget_lowered(&mut self) {
        let lowered = self.queues.iter().filter(|(_, queue)| !queue.bounds.lowered.is_empty());
        let over: Vec<(Key, BTreeSet<String>)> =
            lowered.map(|(key, queue)| (key.clone(), self.over(&key.name, &queue.bounds.limits))).collect();
        for (key, over) in over {
            self.queues.entry(key).and_modify(|queue| queue.bounds.lowered.retain(|whose| over.contains(whose)));
        }
    }

    /// Who uses more than limits say when everything is first listed: they were lowered before.
    pub(super) fn mark_over(&mut self) {
        let limited = self.queues.iter().filter(|(_, queue)| !queue.bounds.limits.is_empty());
        let over: Vec<(Key, BTreeSet<String>)> =
            limited.map(|(key, queue)| (key.clone(), self.over(&key.name, &queue.bounds.limits))).collect();
        for (key, over) in over {
            self.queues.entry(key).and_modify(|queue| queue.bounds.lowered.extend(over));
        }
    }

    /// A pod that has a node asks for more: what its submitter uses is what it is.
    pub(super) fn outgrow(pod: &PodSeen, queue: &mut QueueSeen) {
        let Bounds { limits, lowered } = &mut queue.bounds;
        let of = pod.submitter.iter().flat_map(|submitter| submitter.limits(limits));
        lowered.extend(of.map(|(whose, _)| whose));
    }

    /// I3: by every limit of its submitter, on every level of the queue's path.
    pub(super) fn judge_bounds(&self, key: &Key, new: &Intent) -> Result<(), Violation> {
        let Some(submitter) = &new.submitter else { return Ok(()) };
        for level in levels(&new.queue) {
            let Some(queue) = self.queues.get(&Key::cluster(level)) else { continue };
            if new.decided_ms.saturating_sub(queue.changed_ms) < EXCUSED_MS {
                continue;
            }
            let Bounds { limits, lowered } = &queue.bounds;
            for (whose, limit) in submitter.limits(limits).into_iter().filter(|(whose, _)| !lowered.contains(whose)) {
                let used = self.used_by(level, limits, &whose) + new.asks;
                if !most(limit).lets_in(new.asks, used) {
                    let what = format!("{key} takes {whose} in {level} to {used:?} of {:?}", most(limit));
                    return Err(Violation::new("I3", what));
                }
            }
        }
        Ok(())
    }

    /// What one of those for whom limits of a queue count has there, and is sent.
    fn used_by(&self, level: &str, limits: &[SubmitterLimit], whose: &str) -> Amount {
        let is_its = |queue: &str, submitter: Option<&Submitter>| {
            let mut own = submitter.filter(|_| is_within(queue, level)).into_iter();
            own.any(|submitter| submitter.limits(limits).iter().any(|(own, _)| own == whose))
        };
        let there = self.pods.values().filter(|pod| pod.has_room());
        let there = there.filter(|pod| pod.queue.as_ref().is_some_and(|queue| is_its(queue, pod.submitter.as_ref())));
        let coming = self.intents.values().filter(|intent| is_its(&intent.queue, intent.submitter.as_ref()));
        there.map(|pod| pod.asks).chain(coming.map(|intent| intent.asks)).sum()
    }

    /// For whom more is used in a queue than these limits say, or is to be.
    fn over(&self, level: &str, limits: &[SubmitterLimit]) -> BTreeSet<String> {
        let mut uses: BTreeMap<String, Use> = BTreeMap::new();
        let mut add = |submitter: &Submitter, used: Amount, counted: Amount| {
            for (whose, limit) in submitter.limits(limits) {
                let of = uses.entry(whose).or_default();
                (of.used, of.counted, of.most) = (of.used + used, of.counted + counted, most(limit));
            }
        };
        for pod in self.pods.values().filter(|pod| !pod.ended) {
            if let (Some(queue), Some(submitter)) = (&pod.queue, &pod.submitter)
                && is_within(queue, level)
            {
                add(submitter, pod.asks, Amount::default());
            }
        }
        for (submitter, counted) in self.shares_in(level) {
            add(&submitter, Amount::default(), counted);
        }
        let over = uses.into_iter().filter(|(_, of)| !of.used.is_within(of.most) || !of.counted.is_within(of.most));
        over.map(|(whose, _)| whose).collect()
    }

    /// What it counts for each submitter in a queue and those below it, by its own books: also for seats that it has not made
    /// placeholders for.
    fn shares_in(&self, level: &str) -> Vec<(Submitter, Amount)> {
        let queues = self.controller.core().books.queues.all().map(|(_, queue)| queue);
        let within = queues.filter(|queue| is_within(&queue.path, level));
        let share = |queue: &gangline::core::model::queue::Queue| {
            let Part::Share { submitter, .. } = &queue.part else { return None };
            let amount = |name| queue.allocated.get(name) as u64;
            let amount = Amount { milli: amount("cpu"), mib: amount("memory") >> 20, gpu: amount(GPU) };
            Some((Submitter::new(&submitter.user, submitter.groups.iter().map(ToString::to_string)), amount))
        };
        within.filter_map(share).collect()
    }
}
