//! What happened to gangs and queues in a cluster that is played, in the words that a cluster would show.

use std::collections::BTreeMap;

use serde::Serialize;

use super::api::Api;
use super::waiting::{self, Waiting};
use super::work::{Work, Works};
use crate::controller::turn::News;
use crate::core::base::ids::{GroupId, Key};
use crate::core::base::resources::Amount;
use crate::core::codes::Code;
use crate::core::model::lifecycle::AppState;
use crate::core::step::Scheduler;
use crate::core::time::Millis;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::shim::requests::amount;

/// Everything that happened.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// How long was played, in milliseconds.
    pub played: Millis,
    /// Why no longer.
    pub end: End,
    /// The Job that wanted more pods than are made, if that is why.
    pub lacks: Option<String>,
    /// In the order of time.
    pub timeline: Vec<Moment>,
    /// By namespace and name.
    pub gangs: Vec<Gang>,
    /// What belongs to no TaskGroup, by name.
    pub outside: Vec<Work>,
    /// By path.
    pub queues: Vec<Queue>,
    /// What all nodes have in the end, by resource: in milli-cores, bytes, or pieces.
    pub nodes_have: BTreeMap<String, i64>,
    /// Pods that have no node in the end, and why.
    pub waiting: Vec<Waiting>,
    /// What would have come later.
    pub later: Vec<Later>,
}

/// Why a play ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// Nothing more will happen, however long anybody waits.
    #[default]
    NothingMore,
    /// No more was to be played.
    Until,
    /// There would be too many pods.
    TooManyPods,
}

/// Something that was to come after the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Later {
    /// When, milliseconds after the beginning.
    pub at: Millis,
    /// Kind and name.
    pub what: String,
}

/// How a play ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    pub(super) played: Millis,
    pub(super) end: End,
    pub(super) lacks: Option<Key>,
    pub(super) later: Vec<Later>,
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    timeline: Vec<Moment>,
    gangs: BTreeMap<Key, Gang>,
    queues: BTreeMap<String, Queue>,
    works: Works,
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
    /// `namespace/name` of its TaskGroup.
    pub name: String,
    /// The application, whose TaskGroups start together: `namespace/applicationId`.
    pub application: String,
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
    /// When nothing of it ran or waited any more.
    pub finished: Option<Millis>,
    /// State of its application in the end.
    pub state: &'static str,
    /// The reason in the end.
    pub reason: &'static str,
    /// The sentence in the end.
    pub message: String,
    /// How long it waited before its start, and for what. What it waits for when nothing more will happen has no length.
    pub waited: BTreeMap<&'static str, Millis>,
    /// Whether it waits for its start in the end.
    pub still_waits: bool,
    /// State and reason as they were when it was last looked at.
    #[serde(skip)]
    stands: Option<(AppState, Code)>,
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

impl Record {
    /// Looks at the gangs and queues of which there is something new to say, gangs in the order of their names.
    pub(super) fn look(&mut self, now: Millis, core: &Scheduler, news: &[News]) {
        let mut groups: BTreeMap<&Key, GroupId> = BTreeMap::new();
        for one in news {
            match one {
                News::Group(id) => groups.extend(core.books.groups.get(*id).map(|group| (&group.key, *id))),
                News::Queue(path) => {
                    let queue = core.books.queues.find(path);
                    queue.into_iter().for_each(|id| self.look_at_queue(now, &core.books.queues[id]));
                }
            }
        }
        groups.into_iter().for_each(|(key, id)| self.look_at_gang(now, core, key, id));
    }

    fn look_at_gang(&mut self, now: Millis, core: &Scheduler, key: &Key, id: GroupId) {
        let Some(report) = core.group_report(id) else { return };
        let gang = self.gangs.entry(key.clone()).or_insert_with(|| Gang {
            name: key.to_string(),
            application: application(core, key, id),
            queue: report.queue.to_string(),
            members: report.required,
            submitted: now,
            since: now,
            ..Gang::default()
        });
        let stands = (report.state, report.reason);
        if gang.stands != Some(stands) {
            gang.waits_no_more(now);
            (gang.stands, gang.since) = (Some(stands), now);
            (gang.state, gang.reason) = (report.state.name(), report.reason.name());
            gang.message = core.group_message(id);
            let moment = Moment {
                at: now,
                gang: gang.name.clone(),
                state: gang.state,
                reason: gang.reason,
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
        // Of an application with several task groups each has its own time.
        let all_taken = report.state == AppState::Running && report.seats.taken >= report.required;
        note(&mut gang.placed, report.placed || all_taken);
        match report.state {
            AppState::Waiting | AppState::Completed | AppState::Killed => note(&mut gang.finished, true),
            AppState::New | AppState::Accepted | AppState::Resuming | AppState::Rejected | AppState::Running => {
                gang.finished = None
            }
        }
    }

    fn look_at_queue(&mut self, now: Millis, queue: &crate::core::model::queue::Queue) {
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

    /// A pod came, changed, or is gone.
    pub(super) fn note_pod(&mut self, now: Millis, pod: &Key, body: &Body, gone: bool) {
        self.works.note(now, pod, body, gone);
    }

    /// The play is over. What is said of gangs and pods is what holds now, not what was written when it was news.
    pub(super) fn end(mut self, ending: Ending, api: &Api, core: &Scheduler) -> Story {
        let Ending { played, end, lacks, later } = ending;
        for (key, gang) in &mut self.gangs {
            gang.still_waits = gang.waits();
            if !(gang.still_waits && end == End::NothingMore) {
                gang.waits_no_more(played);
            }
            let id = core.books.group_ids.get(key);
            gang.message = id.map_or_else(|| std::mem::take(&mut gang.message), |id| core.group_message(*id));
        }
        Story {
            played,
            end,
            lacks: lacks.map(|job| job.to_string()),
            timeline: self.timeline,
            gangs: self.gangs.into_values().collect(),
            outside: self.works.end(),
            queues: self.queues.into_iter().map(|(name, queue)| Queue { name, ..queue }).collect(),
            nodes_have: nodes_have(api),
            waiting: waiting::all(api, core),
            later,
        }
    }
}

fn application(core: &Scheduler, key: &Key, id: GroupId) -> String {
    let spec = core.books.groups.get(id).and_then(|group| group.spec.as_ref());
    spec.map_or_else(String::new, |spec| spec.application_of(key).to_string())
}

impl Gang {
    /// The time until now is counted for what it waited for, if it had not started.
    fn waits_no_more(&mut self, now: Millis) {
        let waited = now - self.since;
        if self.waits() && waited > 0 {
            *self.waited.entry(self.reason).or_default() += waited;
        }
        self.since = now;
    }

    /// Whether it has not started and may.
    fn waits(&self) -> bool {
        let may_start = self.stands.is_some_and(|(state, _)| match state {
            AppState::New | AppState::Accepted | AppState::Resuming | AppState::Running | AppState::Waiting => true,
            AppState::Rejected | AppState::Completed | AppState::Killed => false,
        });
        self.started.is_none() && may_start
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

/// What cannot be read is nothing.
fn nodes_have(api: &Api) -> BTreeMap<String, i64> {
    let mut sum: BTreeMap<String, i64> = BTreeMap::new();
    for (_, body) in api.store.of_kind(Kind::Node) {
        let Body::Node(node) = body else { continue };
        let status = node.status.as_ref();
        for (name, text) in status.and_then(|status| status.allocatable.as_ref()).into_iter().flatten() {
            let entry = sum.entry(name.clone()).or_default();
            *entry = entry.saturating_add(text.0.parse().map_or(0, |quantity| amount(name, quantity)));
        }
    }
    sum
}

/// Nothing that is used or allowed is larger, but for what was saturated.
fn whole(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
