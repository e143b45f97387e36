//! What happened to gangs and queues in a cluster that is played, in the words that a cluster would show.

use std::collections::BTreeMap;

use serde::Serialize;

use super::api::{Api, has_ended};
use crate::core::ids::{GroupId, Key};
use crate::core::lifecycle::AppState;
use crate::core::resources::Amount;
use crate::core::scheduler::Scheduler;
use crate::core::time::Millis;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// Everything that happened.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// When the last thing happened, milliseconds after the beginning.
    pub ended: Millis,
    /// In the order of time.
    pub timeline: Vec<Moment>,
    /// By namespace and name.
    pub gangs: Vec<Gang>,
    /// By path.
    pub queues: Vec<Queue>,
    /// Pods that have no node in the end, and why: by namespace and name.
    pub waiting: Vec<Waiting>,
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    timeline: Vec<Moment>,
    gangs: BTreeMap<Key, Gang>,
    queues: BTreeMap<String, Queue>,
}

/// Something became another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Milliseconds after the beginning.
    pub at: Millis,
    /// `namespace/name` of the TaskGroup.
    pub gang: String,
    /// State of its application.
    pub state: &'static str,
    /// The reason, as in its status.
    pub reason: &'static str,
    /// The sentence, as in its status.
    pub message: String,
}

/// What became of a TaskGroup. Times are milliseconds after the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// `namespace/name`.
    pub name: String,
    /// Its queue.
    pub queue: String,
    /// `minMember`.
    pub members: u32,
    /// When it was there.
    pub submitted: Millis,
    /// When its whole ask first fitted the quota.
    pub admitted: Option<Millis>,
    /// When its members were let start, all of them.
    pub started: Option<Millis>,
    /// When every member had a node.
    pub placed: Option<Millis>,
    /// When nothing of it ran or waited any more, or it was rejected.
    pub finished: Option<Millis>,
    /// State of its application in the end.
    pub state: &'static str,
    /// The reason in the end.
    pub reason: &'static str,
    /// The sentence in the end.
    pub message: String,
    /// How long it waited before its start, and for what.
    pub waited: BTreeMap<&'static str, Millis>,
    #[serde(skip)]
    since: Millis,
}

/// What a queue and all below it used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Its path.
    pub name: String,
    /// By resource.
    pub resources: BTreeMap<String, Usage>,
}

/// How much of a resource was used over time, in milli-cores, bytes, or pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The limit, if there is one.
    pub max: Option<i64>,
    /// The most that was used.
    pub peak: i64,
    /// That, as Kubernetes writes it.
    pub peak_text: String,
    /// The limit, as Kubernetes writes it.
    pub max_text: Option<String>,
    /// From these times on so much was used.
    pub over_time: Vec<(Millis, i64)>,
}

/// A pod that waits in the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// `namespace/name`.
    pub pod: String,
    /// The reason at its condition `PodScheduled`, if it has one.
    pub reason: Option<String>,
    /// The sentence there.
    pub message: Option<String>,
}

impl Record {
    /// Looks at gangs and queues as they are now.
    pub(super) fn look(&mut self, now: Millis, core: &Scheduler) {
        let mut groups: Vec<(Key, GroupId)> =
            core.books.groups.iter().map(|(id, group)| (group.key.clone(), id)).collect();
        groups.sort_unstable();
        for (key, id) in groups {
            self.look_at_gang(now, core, &key, id);
        }
        for (_, queue) in core.books.queues.iter() {
            self.look_at_queue(now, queue);
        }
    }

    fn look_at_gang(&mut self, now: Millis, core: &Scheduler, key: &Key, id: GroupId) {
        let Some(report) = core.group_report(id) else { return };
        let gang = self.gangs.entry(key.clone()).or_insert_with(|| Gang {
            name: key.to_string(),
            queue: report.queue.to_string(),
            members: report.required,
            submitted: now,
            since: now,
            ..Gang::default()
        });
        let state = report.state.name();
        if (gang.state, gang.reason) != (state, report.reason) {
            gang.waits_no_more(now);
            (gang.state, gang.reason, gang.since) = (state, report.reason, now);
            gang.message = core.group_message(id);
            let moment = Moment {
                at: now,
                gang: gang.name.clone(),
                state,
                reason: report.reason,
                message: gang.message.clone(),
            };
            self.timeline.push(moment);
        }
        let note = |place: &mut Option<Millis>, is: bool| {
            if is && place.is_none() {
                *place = Some(now);
            }
        };
        note(&mut gang.admitted, report.past_gate);
        note(&mut gang.started, report.state == AppState::Running);
        note(&mut gang.placed, report.placed);
        match report.state {
            AppState::Waiting | AppState::Completed | AppState::Rejected => note(&mut gang.finished, true),
            AppState::New | AppState::Accepted | AppState::Running => gang.finished = None,
        }
    }

    fn look_at_queue(&mut self, now: Millis, queue: &crate::core::queue::Queue) {
        let entry = self.queues.entry(queue.path.to_string()).or_default();
        let limits = queue.spec.max.iter().map(|(name, max)| (name, Some(max)));
        let used = queue.allocated.iter().map(|(name, _)| (name, None));
        for (name, max) in limits.chain(used) {
            let usage = entry.resources.entry(name.to_owned()).or_default();
            if let Some(max) = max {
                (usage.max, usage.max_text) = (Some(whole(max)), Some(Amount(name, max).to_string()));
            }
            usage.note(now, name, queue.allocated.get(name));
        }
        // What is not used any more is not named any more.
        let gone = entry.resources.iter_mut().filter(|(name, _)| queue.allocated.get(name) == 0);
        gone.for_each(|(name, usage)| usage.note(now, name, 0));
    }

    /// Nothing more happens.
    pub(super) fn end(mut self, now: Millis, api: &Api, core: &Scheduler) -> Story {
        self.look(now, core);
        for (key, gang) in &mut self.gangs {
            gang.waits_no_more(now);
            let id = core.books.group_ids.get(key);
            gang.message = id.map_or_else(|| std::mem::take(&mut gang.message), |id| core.group_message(*id));
        }
        Story {
            ended: now,
            timeline: self.timeline,
            gangs: self.gangs.into_values().collect(),
            queues: self.queues.into_iter().map(|(name, queue)| Queue { name, ..queue }).collect(),
            waiting: api.store.of_kind(Kind::Pod).filter_map(|(key, body)| waiting(key, body)).collect(),
        }
    }
}

impl Gang {
    /// The time until now is counted for what it waited for, if it had not started.
    fn waits_no_more(&mut self, now: Millis) {
        let waited = now - self.since;
        if self.started.is_none() && waited > 0 && !matches!(self.state, "" | "Rejected" | "Completed") {
            *self.waited.entry(self.reason).or_default() += waited;
        }
        self.since = now;
    }
}

impl Usage {
    fn note(&mut self, now: Millis, name: &str, used: i128) {
        let amount = whole(used);
        if self.over_time.last().map_or(0, |(_, last)| *last) == amount {
            return;
        }
        // Within one moment the last counts.
        if self.over_time.last().is_some_and(|(at, _)| *at == now) {
            self.over_time.pop();
        }
        self.over_time.push((now, amount));
        if amount > self.peak {
            (self.peak, self.peak_text) = (amount, Amount(name, used).to_string());
        }
    }
}

/// Nothing that is used or allowed is larger, but for what was saturated.
fn whole(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

fn waiting(key: &Key, body: &Body) -> Option<Waiting> {
    let Body::Pod(pod) = body else { return None };
    let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    if bound || has_ended(pod) {
        return None;
    }
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let scheduled = conditions.find(|condition| condition.type_ == "PodScheduled");
    Some(Waiting {
        pod: key.to_string(),
        reason: scheduled.and_then(|condition| condition.reason.clone()),
        message: scheduled.and_then(|condition| condition.message.clone()),
    })
}
