//! L4: while a gang says that nothing behind it in its queue starts before it does, nothing does.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::{TaskGroup, TaskGroupStatus};
use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::{Call, Kind, Op};
use gangline::sim::store::metadata;

use super::World;
use crate::sim::marks::{application_of_pod, group_of, queue_in, seat_in};
use crate::sim::oracle::application_of;
use crate::sim::people::{label, node_of};

/// In what a gang says that is first in line.
const SAYS: &str = "; first in line in queue ";

/// So long the Binding of a placeholder may wait that was decided on with the start after which somebody holds: until the watch
/// shows its pod, or a call about it without an answer is given up.
const UNHEARD_MS: u64 = 6_000;

/// Who says to be first in line, and what has started since somebody did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firsts {
    /// By the name of a task group.
    said: BTreeMap<String, Said>,
    starts: Vec<Start>,
    /// A call is being made that was given up long ago: what it says was so then.
    pub(crate) is_late: bool,
}

/// What a task group says of its gang.
#[derive(Clone, Debug)]
struct Said {
    /// Of which queue, and since when: the same words mean that it has gone on.
    words: String,
    /// When they were first written, and by which process.
    at: u64,
    by: u64,
}

/// Somebody started.
#[derive(Clone, Debug)]
struct Start {
    decided: u64,
    queue: String,
    place: Place,
}

/// Submission and name; priorities are not looked at where there are any.
type Place = (i64, Key);

impl World {
    /// A call was carried out that says who is first in line, or with which somebody starts.
    pub(crate) fn note_firsts(&mut self, call: &Call, outcome: &Outcome) {
        if !matches!(outcome, Outcome::Ok(_)) || !self.is_of_the_only_one(call) {
            return;
        }
        match &call.op {
            Op::PatchTaskGroupStatus { group, status, .. } => self.note_first(group, status, call.id.incarnation),
            Op::Bind { pod, uid, annotations, .. } => {
                let queue = queue_in(annotations).map(str::to_owned);
                let decided = self.process.as_ref().and_then(|process| process.decided(uid));
                let place = self.starts_with(pod, uid);
                if let (Some(queue), Some(decided), Some(place)) = (queue, decided, place)
                    && !self.had_its_room(annotations, decided)
                {
                    self.firsts.starts.push(Start { decided, queue, place });
                }
            }
            Op::CreatePod(_)
            | Op::CreateTaskGroup(_)
            | Op::EditTaskGroup { .. }
            | Op::DeletePod { .. }
            | Op::FailPod { .. }
            | Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::AnnotateTimeout { .. }
            | Op::PatchQueueStatus { .. }
            | Op::PatchPodGroupStatus { .. }
            | Op::CreateEvent(_) => {}
        }
    }

    /// Whether who takes a seat had its room before: it was held, or is kept of a life that ended.
    fn had_its_room(&self, annotations: &BTreeMap<String, String>, decided: u64) -> bool {
        let (Some(process), Some(seat)) = (&self.process, seat_in(annotations)) else { return false };
        let held = seat.life().and_then(|life| process.swapped(&seat.uid(), life, seat.number));
        held.is_some() || process.may_begin_in_kept_room(&seat.uid(), decided)
    }

    fn note_first(&mut self, group: &Key, status: &TaskGroupStatus, by: u64) {
        let mut messages = status.conditions.iter().filter_map(|one| one.message.split_once(SAYS));
        let Some((_, words)) = messages.next().filter(|_| !self.firsts.is_late) else {
            return drop(self.firsts.said.remove(&*group.name));
        };
        let is_same = |said: &&Said| said.words == words && said.by == by;
        let Some(said) = self.firsts.said.get(&*group.name).filter(is_same) else {
            let said = Said { words: words.to_owned(), at: self.now_ms, by };
            return drop(self.firsts.said.insert(group.name.to_string(), said));
        };
        let Some(place) = self.place_of_gang(&group.name) else { return };
        let queue = words.split(':').next().unwrap_or_default();
        let overtook = |start: &&Start| {
            start.decided > said.at + UNHEARD_MS
                && start.queue == queue
                && start.place > place
                && start.place.1 != place.1
        };
        if let Some(start) = self.firsts.starts.iter().find(overtook) {
            let what = format!("{} is first in line ({words}), and {start:?} after {}", group.name, said.at);
            self.violated("L4", what);
        }
    }

    /// The place in the order of whom a Binding of this pod starts; `None` if it starts nobody, or that is not known.
    fn starts_with(&self, pod: &Key, uid: &Uid) -> Option<Place> {
        let body = self.api.store.get(Kind::Pod, pod)?;
        if metadata(body).uid.as_deref() != Some(&*uid.0) || priority(body) != 0 {
            return None;
        }
        let Some(group) = group_of(body) else {
            let is_alone = application_of_pod(body).is_none() && label(body, "gangline.dev/placeholder").is_none();
            return is_alone.then(|| (created(body), pod.clone()));
        };
        let groups = self.groups();
        let (_, own) = groups.iter().find(|(name, _)| name == group)?;
        let waits = own.status.as_ref().is_some_and(|status| status.application_state == "Accepted");
        let application = application_of(group, own);
        let has_node = self.pods_of(&groups, &application).any(|(key, body)| key != pod && node_of(body).is_some());
        self.place_of_gang(group).filter(|_| waits && !has_node)
    }

    /// A gang's place, if none of its pods has a priority.
    fn place_of_gang(&self, group: &str) -> Option<Place> {
        let groups = self.groups();
        let (_, own) = groups.iter().find(|(name, _)| name == group)?;
        let application = application_of(group, own);
        let together = groups.iter().filter(|(name, group)| application_of(name, group) == application);
        let created = together.filter_map(|(_, group)| created_at(group)).min()?;
        let namespace = own.metadata.namespace.as_deref()?;
        let is_plain = self.pods_of(&groups, &application).all(|(_, body)| priority(body) == 0);
        is_plain.then(|| (created, Key::new(namespace, application.as_str())))
    }

    /// The pods of an application, placeholders included.
    fn pods_of<'a>(
        &'a self,
        groups: &[(String, TaskGroup)],
        application: &str,
    ) -> impl Iterator<Item = (&'a Key, &'a Body)> + use<'a> {
        let own = groups.iter().filter(|(name, group)| application_of(name, group) == application);
        let own: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
        let application = application.to_owned();
        let is_of = move |body: &Body| match group_of(body) {
            Some(group) => own.contains(group),
            None => application_of_pod(body) == Some(&*application),
        };
        self.api.store.of_kind(Kind::Pod).filter(move |(_, body)| is_of(body))
    }
}

fn priority(body: &Body) -> i32 {
    let Body::Pod(pod) = body else { return 0 };
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

fn created(body: &Body) -> i64 {
    metadata(body).creation_timestamp.as_ref().map_or(0, |time| time.0.as_second())
}

fn created_at(group: &TaskGroup) -> Option<i64> {
    Some(group.metadata.creation_timestamp.as_ref()?.0.as_second())
}
