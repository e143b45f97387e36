//! What must hold, read off the API server's objects (design 04, 4.2): when everything has come to rest, and in the end.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::{Mode, TaskGroup, TaskGroupStatus};
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::{has_ended, is_gated};
use gangline::sim::job::Jobs;
use gangline::sim::ordered::Sets;
use gangline::sim::store::metadata;
use k8s_openapi::api::core::v1::Pod;

use super::marks::{Seat, application_of_pod, group_of, is_member, life_mark, seat_label, seat_mark, uid_mark};
use super::people::{NS, is_mistyped, levels, node_of, says_timed_out};
use super::words::Family;
use super::world::World;

#[path = "asked.rs"]
mod asked;
#[path = "limited.rs"]
mod limited;
#[path = "planted/mod.rs"]
pub(crate) mod planted;
#[path = "plenty.rs"]
mod plenty;
#[path = "renewal.rs"]
mod renewal;
#[path = "sentences.rs"]
mod sentences;
#[path = "statuses.rs"]
mod statuses;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Violation {
    /// Which: `I2`, `L1`.
    pub(crate) promise: &'static str,
    /// How.
    pub(crate) what: String,
}

impl Violation {
    pub(crate) const fn new(promise: &'static str, what: String) -> Self {
        Self { promise, what }
    }
}

/// What had gone wrong has its consequences for so long.
const AFTERMATH_MS: u64 = 60_000;
/// So often nothing is as it was before, with deeds in between.
const REPETITIONS: u32 = 3;

/// Reasons of gangs that lack nobody.
const ALL_IS_WELL: &[&str] = &["Running", "Placed"];
/// Reasons of gangs that have nothing of what they need.
const WAITS_FOR_ROOM: &[&str] = &["WaitingForCapacity", "WaitingBehind", "WaitingForQuota", "WaitingForApplications"];

impl World {
    /// What holds whenever everything has come to rest.
    pub(crate) fn check_at_rest(&mut self) {
        self.check_starts();
        self.check_books();
        self.check_unresolved();
        self.check_gangs();
        self.check_rounds();
        self.check_written();
        self.check_applications();
        self.check_seats();
        self.check_placeholders();
        self.check_statuses();
        self.check_sentences();
        self.check_abroad();
        self.check_fixed_point();
    }

    /// I7: the books are what they are when computed anew, and always were when the process looked itself.
    pub(crate) fn check_books(&mut self) {
        let Some(process) = &self.process else { return };
        let problems = process.controller.core().audit();
        if !problems.is_empty() {
            self.violated("I7", problems.join("; "));
        }
        self.check_audits();
    }

    /// L5: nothing is in flight or in doubt.
    fn check_unresolved(&mut self) {
        let Some(process) = &self.process else { return };
        let stats = process.controller.stats();
        let (waiting, flying) = (stats.outbox_waiting, stats.outbox_in_flight);
        if waiting + flying > 0 {
            self.violated("L5", format!("{waiting} calls wait and {flying} are in flight, and nothing happens"));
        }
    }

    pub(crate) fn groups(&self) -> Vec<(String, TaskGroup)> {
        let groups = self.api.store.of_kind(Kind::TaskGroup).filter_map(|(key, body)| match body {
            Body::TaskGroup(group) => Some((key.name.to_string(), (**group).clone())),
            Body::Pod(_)
            | Body::Node(_)
            | Body::Queue(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => None,
        });
        groups.collect()
    }

    fn pods(&self) -> impl Iterator<Item = (&Key, &Body)> {
        self.api.store.of_kind(Kind::Pod)
    }

    /// Pods of a group. Members that were bound for an earlier TaskGroup of the name are not its own (01, 1.5).
    fn of_group(&self, name: &str, group: &TaskGroup) -> Numbers {
        let mut numbers = Numbers::default();
        let uid = group.metadata.uid.as_deref().unwrap_or_default();
        for (_, body) in self.pods().filter(|(key, body)| &*key.namespace == NS && group_of(body) == Some(name)) {
            let Body::Pod(pod) = body else { continue };
            let (bound, ended) = (node_of(body).is_some(), has_ended(pod));
            if bound && is_member(body) && uid_mark(body).is_none_or(|mark| mark != uid) {
                continue;
            }
            if is_member(body) {
                numbers.bound += u32::from(bound);
                numbers.scheduled += u32::from(bound && !ended);
                numbers.running += u32::from(bound && has_phase(pod, "Running"));
                let is_of_now = life_mark(body) == group.status.as_ref().map(|status| status.incarnation);
                numbers.seated += u32::from(bound && !ended && is_of_now && seat_mark(body).is_some());
                let waits = !bound && !ended && !is_gated(pod) && pod.metadata.deletion_timestamp.is_none();
                let waits = waits && !is_mistyped(body) && !says_timed_out(body);
                numbers.waiting += u32::from(waits);
            } else if self.is_made(body) {
                numbers.placeholders += 1;
                numbers.held += u32::from(bound && !ended);
                let deleted = metadata(body).uid.as_ref().is_some_and(|uid| self.called_off.contains(uid));
                numbers.called_off += u32::from(bound && !ended && deleted);
            }
        }
        numbers
    }

    /// All groups, with what they have.
    pub(super) fn counted(&self) -> Vec<Counted> {
        let counted = |(name, group): (String, TaskGroup)| Counted {
            numbers: self.of_group(&name, &group),
            application: application_of(&name, &group),
            name,
            group,
        };
        self.groups().into_iter().map(counted).collect()
    }

    /// I4: a gang that waits for room holds nothing, unless its mode says so. One that runs runs with all its members, where nothing outside took
    /// some; and where something did, it says so.
    fn check_gangs(&mut self) {
        let groups = self.counted();
        let running = groups.iter().filter(|counted| counted.numbers.bound > 0);
        let running: BTreeSet<String> = running.map(|counted| counted.application.clone()).collect();
        for Counted { numbers, name, group, application: app } in groups {
            let reason = group.status.as_ref().map_or("", |status| status.reason.as_str());
            let holds_for_long = group.spec.mode == Mode::NonStrict;
            if WAITS_FOR_ROOM.contains(&reason) && numbers.held > 0 && !holds_for_long {
                self.violated("I4", format!("{name} is {reason} and holds {} seats", numbers.held));
            }
            let deadlines = group.status.as_ref().and_then(|status| status.deadlines.as_ref());
            let ends = deadlines.is_some_and(|deadlines| deadlines.wait.is_some());
            if WAITS_FOR_ROOM.contains(&reason) && numbers.held > 0 && !ends {
                self.violated("I4", format!("{name} is {reason} and holds {} seats without an end", numbers.held));
            }
            let need = in_force(&group);
            let says_so = group.status.as_ref().is_some_and(|status| status.application_state == "Running");
            let runs = numbers.bound > 0 || says_so && running.contains(&app);
            let partial = runs && numbers.bound + numbers.held < need;
            let uid = group.metadata.uid.as_deref().unwrap_or_default();
            let ended = self.ended.get(uid).copied().unwrap_or(0);
            if partial && numbers.bound + numbers.held + ended < need && ALL_IS_WELL.contains(&reason) {
                self.violated("I4", format!("{name} has {} of {need} members, and is {reason}", numbers.bound));
            }
            if partial && !self.disturbed.contains_key(&name) && !self.overtaken.contains_key(&name) {
                self.violated("I4", format!("{name} has {} of {need} members: {numbers:?}", numbers.bound));
            }
        }
    }

    /// I3: no queue has more applications than it may, where it always had this limit. A new process forgets nothing that
    /// runs, whatever the one before had begun. An application of which nothing is left gives its place to others, and is
    /// not held up when it goes on.
    fn check_applications(&mut self) {
        self.note_pauses();
        if self.has_died() {
            return;
        }
        self.check_limited_applications();
        let mut apps: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (app, queue) in self.counted_applications() {
            levels(&queue).for_each(|level| _ = apps.entry(level.to_owned()).or_default().insert(app.clone()));
        }
        let limits = self.api.store.of_kind(Kind::Queue).filter_map(|(key, body)| match body {
            Body::Queue(queue) => Some((&key.name, queue.spec.max_applications? as usize)),
            Body::Pod(_)
            | Body::Node(_)
            | Body::TaskGroup(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => None,
        });
        let over = limits.filter(|(queue, _)| !self.relimited.contains(&***queue));
        let mut over = over.filter_map(|(queue, most)| {
            let found = apps.get(&**queue).filter(|apps| apps.len() > most)?;
            Some(format!("queue {queue} has {found:?}, and may have {most}"))
        });
        if let Some(what) = over.next() {
            drop(over);
            self.violated("I3", what);
        }
    }

    /// Applications that hold or use something, each with its queue.
    fn counted_applications(&self) -> BTreeSet<(String, String)> {
        let is_counted = |(name, group): &(String, TaskGroup)| {
            let state = group.status.as_ref().map(|status| status.application_state.as_str());
            let holds = self.of_group(name, group).placeholders > 0;
            let has_paused = self.paused.contains(&application_of(name, group));
            state == Some("Running") && !has_paused || state == Some("Accepted") && holds
        };
        let counted = self.groups().into_iter().filter(is_counted);
        counted.map(|(name, group)| (application_of(&name, &group), queue_of(&group).to_owned())).collect()
    }

    /// A task group says that nothing of its application runs or waits.
    pub(crate) fn note_pause(&mut self, name: &str) {
        let own = self.groups().into_iter().find(|(own, _)| own == name);
        self.paused.extend(own.map(|(name, group)| application_of(&name, &group)));
    }

    /// A task group says that a timeout has ended what its gang reserved: its members may run one by one (01, 1.7).
    pub(crate) fn note_timeout(&mut self, name: &str) {
        let groups = self.groups();
        let Some((_, own)) = groups.iter().find(|(own, _)| own == name) else { return };
        let application = application_of(name, own);
        let together = groups.iter().filter(|(name, group)| application_of(name, group) == application);
        for (name, _) in together {
            self.disturb(name);
            self.excuse_rounds(name);
        }
    }

    fn note_pauses(&mut self) {
        let groups: BTreeMap<String, TaskGroup> = self.groups().into_iter().collect();
        let of_group = |pod: &Body| group_of(pod).and_then(|name| Some(application_of(name, groups.get(name)?)));
        let lives = |pod: &&Body| matches!(pod, Body::Pod(pod) if !has_ended(pod));
        let living: BTreeSet<String> = (self.pods().map(|(_, pod)| pod))
            .filter(|pod| lives(pod) && !self.is_made(pod))
            .filter_map(|pod| application_of_pod(pod).map(str::to_owned).or_else(|| of_group(pod)))
            .collect();
        let of_state = |states: &[&str]| -> BTreeSet<String> {
            let is_so = |group: &TaskGroup| {
                group.status.as_ref().is_some_and(|status| states.contains(&status.application_state.as_str()))
            };
            groups.iter().filter(|(_, group)| is_so(group)).map(|(name, group)| application_of(name, group)).collect()
        };
        // A task group that was refused, as it came too late, says nothing of the application that it names.
        let begun = of_state(&["Resuming", "Running", "Waiting", "Completed"]);
        self.paused.retain(|app| begun.contains(app));
        self.paused.extend(of_state(&["Running", "Waiting"]).difference(&living).cloned());
    }

    /// I5: a seat is held or had by one pod at a time. What a process that died had sent may still happen, after the next
    /// one has given the seat away, but where a Lease says who decides.
    fn check_seats(&mut self) {
        if self.has_overlapped() {
            return;
        }
        let mut had: BTreeMap<Seat, &Key> = BTreeMap::new();
        let lives = |body: &Body| matches!(body, Body::Pod(pod) if !has_ended(pod));
        let seated = self.pods().filter(|(_, body)| node_of(body).is_some() && lives(body));
        let twice = seated.filter_map(|(key, body)| {
            let seat = if self.is_made(body) { seat_label(body) } else { seat_mark(body) }?;
            had.insert(seat.clone(), key).map(|other| format!("{other} and {key} have {seat:?}"))
        });
        if let Some(what) = twice.collect::<Vec<_>>().into_iter().next() {
            self.violated("I5", what);
        }
    }

    /// I6: a placeholder has an owner that lives, and a seat for it.
    fn check_placeholders(&mut self) {
        let groups: BTreeMap<String, TaskGroup> = self.groups().into_iter().collect();
        let strays: Vec<String> = self
            .pods()
            .filter(|(_, pod)| self.is_made(pod))
            .filter_map(|(key, pod)| {
                let Some(group) = group_of(pod).and_then(|name| groups.get(name)) else {
                    return Some(format!("{key} has no task group"));
                };
                let owner = metadata(pod).owner_references.iter().flatten().next().map(|owner| owner.uid.clone());
                let state = group.status.as_ref().map(|status| status.application_state.clone()).unwrap_or_default();
                let lives = matches!(state.as_str(), "Accepted" | "Resuming" | "Running" | "Waiting");
                let fine = (owner == group.metadata.uid || self.is_forged(pod)) && lives;
                (!fine).then(|| format!("{key} is left of {:?} ({state})", group.metadata.name))
            })
            .collect();
        if let Some(stray) = strays.into_iter().next() {
            self.violated("I6", stray);
        }
        for (name, group) in groups {
            let numbers = self.of_group(&name, &group);
            let seats = in_force(&group).saturating_sub(numbers.seated);
            if numbers.placeholders > seats {
                self.violated("I6", format!("{name} has more placeholders than seats: {numbers:?}"));
            }
        }
    }

    /// I11: who names a group of another namespace gets nothing by it. (That it does not count there is I12's.)
    fn check_abroad(&mut self) {
        let is_abroad = |key: &Key, body: &Body| &*key.namespace != NS && group_of(body).is_some();
        let bound = self.pods().find(|(key, body)| is_abroad(key, body) && node_of(body).is_some());
        if let Some(what) = bound.map(|(key, _)| format!("{key} is bound for a group of another namespace")) {
            self.violated("I11", what);
        }
    }

    /// L3: what was so does not come again and again while pods are bound, created and deleted: that would go on for ever.
    /// (In the middle of a swap, where the placeholder is gone and its member not bound, all is as it was before the
    /// placeholder was there.) `before` holds what was so since somebody last did something, with the deeds until then and how often.
    pub(crate) fn check_no_repetition(&mut self, before: &mut BTreeMap<Vec<String>, (usize, u32)>) {
        let is_quiet = self.is_calm_for(AFTERMATH_MS) && !self.are_two();
        if std::mem::take(&mut self.has_acted) || !is_quiet {
            return before.clear();
        }
        let deeds = self.deeds;
        // Looked at after every deed, once.
        if before.values().any(|(earlier, _)| *earlier == deeds) {
            return;
        }
        let now: Vec<String> = self.pods().map(|(key, body)| self.pod_line(key, body)).collect();
        let (earlier, times) = before.entry(now).or_insert((deeds, 0));
        *times += u32::from(*earlier != deeds);
        *earlier = deeds;
        if *times == REPETITIONS {
            let last = &self.writes[self.writes.len().saturating_sub(10)..];
            self.violated(
                "L3",
                format!("everything is as it was, for the {REPETITIONS}. time; the last writes: {last:#?}"),
            );
        }
    }

    /// Where a pod is; of a placeholder the seat counts, not the name.
    fn pod_line(&self, key: &Key, body: &Body) -> String {
        let Body::Pod(pod) = body else { return String::new() };
        let name = match seat_label(body) {
            Some(seat) if self.is_made(body) => format!("{seat:?}"),
            Some(_) | None => key.to_string(),
        };
        let leaves = metadata(body).deletion_timestamp.is_some();
        format!("{name} {:?} {} {leaves}", node_of(body), has_ended(pod))
    }

    /// L1: nothing more is written.
    fn check_fixed_point(&mut self) {
        let writes = self.writes.len();
        self.rest();
        if self.writes.len() > writes {
            let more = self.writes[writes..].join(", ");
            self.violated("L1", format!("writes go on at rest: {more}"));
        }
    }

    /// Groups that are submitted to a queue or to one below it.
    pub(crate) fn groups_in(&self, path: &str) -> Vec<String> {
        let mut groups = self.groups();
        let named = |group: &TaskGroup| group.spec.queue.clone().unwrap_or_else(|| "root.default".to_owned());
        let is_in = |queue: &str| levels(queue).any(|at| at == path);
        groups.retain(|(_, group)| is_in(queue_of(group)) || is_in(&named(group)));
        groups.into_iter().map(|(name, _)| name).collect()
    }

    /// Everything that people made is taken away.
    pub(crate) fn clear_away(&mut self) {
        self.say(|| "away with all".to_owned());
        self.come_again.clear();
        (self.jobs, self.sets) = (Jobs::default(), Sets::default());
        let made = |world: &Self, body: &Body| world.is_made(body);
        let pods: Vec<Key> = self.pods().filter(|(_, body)| !made(self, body)).map(|(key, _)| key.clone()).collect();
        let groups: Vec<Key> = self.api.store.of_kind(Kind::TaskGroup).map(|(key, _)| key.clone()).collect();
        // Whoever declares one goes before it.
        pods.iter().for_each(|key| self.api.store.remove(Kind::Pod, key));
        groups.iter().for_each(|key| self.api.store.remove(Kind::TaskGroup, key));
        for kind in [Kind::Queue, Kind::Node, Kind::Namespace].into_iter().chain(Family::ALL.map(Family::kind)) {
            let keys: Vec<Key> = self.api.store.of_kind(kind).map(|(key, _)| key.clone()).collect();
            keys.iter().for_each(|key| self.api.store.remove(kind, key));
        }
        self.rest();
    }

    /// I13, I6: nothing of ours is left, in the cluster or in memory.
    pub(crate) fn check_nothing_is_left(&mut self) {
        let left: Vec<String> = self.pods().map(|(key, _)| key.to_string()).collect();
        if !left.is_empty() {
            self.violated("I6", format!("left: {left:?}"));
        }
        let leftovers = self.process.as_ref().map(|process| process.controller.leftovers()).unwrap_or_default();
        if !leftovers.is_empty() {
            self.violated("I13", format!("still remembered: {leftovers:?}"));
        }
    }
}

/// Whether a pod is in a phase.
pub(crate) fn has_phase(pod: &Pod, phase: &str) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase)
}

/// The application of a group, by its id; where its gang lies in several namespaces, by what it lists (ADR 37).
pub(crate) fn application_of(name: &str, group: &TaskGroup) -> String {
    let listed: BTreeSet<&str> = group.spec.gang_group.iter().map(String::as_str).collect();
    let namespaces: BTreeSet<&str> = listed.iter().filter_map(|one| Some(one.split_once('/')?.0)).collect();
    if namespaces.len() > 1 && listed.contains(&*format!("{NS}/{name}")) {
        return listed.into_iter().collect::<Vec<_>>().join(" ");
    }
    group.spec.application_id.clone().unwrap_or_else(|| name.to_owned())
}

/// Whether a status says that a timeout has ended the reservation.
pub(crate) fn times_out(status: &TaskGroupStatus) -> bool {
    status.conditions.iter().any(|one| one.type_ == "TimedOut" && one.status == "True")
}

/// How many members a group needs; once it has started, as many as it did at its start: an edit that came before its status
/// said so counts for its next life.
pub(crate) fn in_force(group: &TaskGroup) -> u32 {
    let started = |state: &str| matches!(state, "Resuming" | "Running" | "Waiting" | "Completed");
    let status = group.status.as_ref().filter(|status| started(&status.application_state));
    status.map_or(group.spec.min_member, |status| status.counts.required)
}

/// The queue in which a gang is said to be counted, else the one that it names.
fn queue_of(group: &TaskGroup) -> &str {
    let said = group.status.as_ref().map(|status| status.queue.as_str()).filter(|queue| !queue.is_empty());
    said.or(group.spec.queue.as_deref()).unwrap_or("root.default")
}

/// A group, and what it has.
pub(super) struct Counted {
    pub(super) name: String,
    pub(super) application: String,
    pub(super) group: TaskGroup,
    pub(super) numbers: Numbers,
}

/// Pods of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    /// Members that have or had a node.
    pub(super) bound: u32,
    /// Those of them that have not ended.
    pub(super) scheduled: u32,
    /// Those of these whose containers run.
    pub(super) running: u32,
    /// Those of them that were bound for a seat in the present life.
    pub(super) seated: u32,
    pub(super) waiting: u32,
    pub(super) placeholders: u32,
    /// Those of them that have a node.
    pub(super) held: u32,
    /// Those of these whose deletion was sent.
    pub(super) called_off: u32,
}
