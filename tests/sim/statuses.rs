//! I12 at rest: what statuses say is what is there.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::{Queue, QueueStatus};
use gangline::api::task_group::{Reservation, TaskGroup, TaskGroupStatus};
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;
use serde_json::json;

use super::{Numbers, WAITS_FOR_ROOM, application_of, has_phase};
use crate::sim::amount::Amount;
use crate::sim::marks::{application_of_pod, group_of, life_mark, queue_mark, uid_mark};
use crate::sim::people::{NS, levels, node_of};
use crate::sim::plan::{SIDECAR_MILLI, has_sidecar};
use crate::sim::world::{GARBLED, World};

impl World {
    /// I12 at rest: what statuses say is what is there.
    pub(super) fn check_statuses(&mut self) {
        self.check_garbled();
        for (name, group) in self.groups() {
            let wrong = match &group.status {
                None => Some("no status".to_owned()),
                Some(status) => {
                    let numbers = self.of_group(&name, &group);
                    let wrong = self.wrong_counts(&name, &group, status, numbers);
                    wrong.or_else(|| wrong_conditions(&group, status)).or_else(|| kept_too_long(&group, status))
                }
            };
            if let Some(wrong) = wrong {
                self.violated("I12", format!("{name}: {wrong}"));
            }
        }
        let queues: Vec<(String, Queue)> = self.queues();
        let used = Use { by_pods: self.used(), kept: self.kept_for_members() };
        for (name, queue) in &queues {
            let Some(status) = &queue.status else { continue };
            let wrong = wrong_use(name, status, &used).or_else(|| self.wrong_applications(name, status));
            let wrong = wrong.or_else(|| wrong_place(name, queue, status, &queues));
            let wrong = wrong.or_else(|| self.wrong_pending(name, status));
            let kept = used.kept.get(name).copied().unwrap_or_default();
            let wrong = wrong.or_else(|| self.wrong_limited(name, queue, kept));
            if let Some(wrong) = wrong.or_else(|| wrong_headroom(name, status, &queues, &used)) {
                self.violated("I12", format!("queue {name}: {wrong}"));
            }
        }
    }

    /// Nobody is said to be unreadable who can be read.
    fn check_garbled(&mut self) {
        let words = |body: &Body| match body {
            Body::TaskGroup(group) => json!(group.status).to_string(),
            Body::Queue(queue) => json!(queue.status).to_string(),
            Body::Pod(_)
            | Body::Node(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => String::new(),
        };
        let said = [Kind::TaskGroup, Kind::Queue].into_iter().flat_map(|kind| self.api.store.of_kind(kind));
        let garbled: Vec<String> =
            said.filter(|(_, body)| words(body).contains(GARBLED)).map(|(key, _)| key.to_string()).collect();
        if !garbled.is_empty() {
            self.violated("I12", format!("{garbled:?} are said to be unreadable, and are not"));
        }
    }

    fn queues(&self) -> Vec<(String, Queue)> {
        let queues = self.api.store.of_kind(Kind::Queue).filter_map(|(key, body)| match body {
            Body::Queue(queue) => Some((key.name.to_string(), (**queue).clone())),
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
        queues.collect()
    }

    fn wrong_counts(
        &self,
        name: &str,
        group: &TaskGroup,
        status: &TaskGroupStatus,
        numbers: Numbers,
    ) -> Option<String> {
        let counts = &status.counts;
        // A gang that has started needs what it needed then, whatever is edited.
        let had = self.mins.get(group.metadata.uid.as_deref().unwrap_or_default());
        let is_needed = |required| match status.application_state.as_str() {
            "Running" | "Waiting" | "Completed" => had.is_some_and(|had| had.contains(&required)),
            // An edit while placeholders leave counts for the next life.
            "Resuming" => true,
            _ => required == group.spec.min_member,
        };
        if !is_needed(counts.required) {
            return Some(format!("{} are said to be required, and were never", counts.required));
        }
        // Of those that are gone nobody knows in which life, nor how; and a process that came later may not have heard.
        let uid = group.metadata.uid.as_deref().unwrap_or_default();
        let gone = |gone: &BTreeMap<String, u32>| gone.get(uid).copied().unwrap_or(0);
        let is_judged = !matches!(status.application_state.as_str(), "New" | "Rejected");
        let between = |phase, lost| {
            let of_life = |body: &Body| life_mark(body) == Some(status.incarnation) && was_bound_for(body, group);
            let there = self.ended_as(phase, |body| group_of(body) == Some(name) && of_life(body));
            (if is_judged { there } else { 0 }, there + gone(&self.ended) + lost)
        };
        let exactly = |found: u32| (found, found);
        let numbers = [
            ("scheduled", counts.scheduled, exactly(numbers.scheduled)),
            ("running", counts.running, exactly(numbers.running)),
            ("held", counts.held, exactly(numbers.held)),
            ("placeholders", counts.placeholders, exactly(numbers.placeholders)),
            ("succeeded", counts.succeeded, between("Succeeded", 0)),
            ("failed", counts.failed, between("Failed", gone(&self.lost))),
            ("pending", counts.pending, exactly(numbers.waiting)),
        ];
        let wrong = numbers.iter().find(|(_, said, (least, most))| !(*least..=*most).contains(said));
        wrong.map(|(what, said, (least, most))| {
            let (state, reason) = (&status.application_state, &status.reason);
            format!("{state} {reason}: {said} are said to be {what}, and {least} to {most} are")
        })
    }

    /// How many of these pods have ended so, and are there.
    fn ended_as(&self, phase: &str, which: impl Fn(&Body) -> bool) -> u32 {
        let own = |body: &Body| !self.is_made(body) && which(body);
        let is_so = |body: &Body| matches!(body, Body::Pod(pod) if has_phase(pod, phase));
        self.pods().filter(|(key, body)| &*key.namespace == NS && own(body) && is_so(body)).count() as u32
    }

    /// What is used of each queue.
    fn used(&self) -> BTreeMap<String, Amount> {
        let mut used: BTreeMap<String, Amount> = BTreeMap::new();
        for (_, body) in self.pods() {
            if let (Some(queue), Body::Pod(pod)) = (queue_mark(body), body)
                && !has_ended(pod)
            {
                for level in levels(&queue) {
                    let sum = used.entry(level.to_owned()).or_default();
                    *sum = *sum + Amount::of_pod(pod);
                }
            }
        }
        used
    }

    /// What may be used of each queue beside: the room of placeholders that were lost, for members that are to come. Of members that
    /// were lost nothing is kept any more by now. Where there is no room for it, nothing is charged.
    fn kept_for_members(&self) -> BTreeMap<String, Amount> {
        let mut kept: BTreeMap<String, Amount> = BTreeMap::new();
        // Admission may have made the lost placeholders larger than was asked for.
        let grew = self.pods().any(|(_, body)| has_sidecar(body));
        let more = Amount { milli: if grew { SIDECAR_MILLI } else { 0 }, ..Amount::default() };
        for (_, group) in self.groups() {
            // Without placeholders there are none that could be lost.
            let Some(status) = group.status.as_ref().filter(|_| !is_direct(&group)) else { continue };
            let each = Amount::of(Some(&group.spec.min_resource), Amount::default()) + more;
            for level in levels(&status.queue) {
                let sum = kept.entry(level.to_owned()).or_default();
                *sum = *sum + each.times(status.counts.kept);
            }
        }
        kept
    }

    /// What gangs in a queue, or below it, ask for and wait for. Whether drivers wait with them follows from when they came.
    fn wrong_pending(&self, name: &str, status: &QueueStatus) -> Option<String> {
        let (mut least, mut most, mut applications) = (Amount::default(), Amount::default(), BTreeSet::new());
        for (own, group) in self.groups() {
            let Some(status) = &group.status else { continue };
            if status.application_state != "Accepted" || levels(&status.queue).all(|level| level != name) {
                continue;
            }
            let asks = Amount::of(Some(&group.spec.min_resource), Amount::default()).times(group.spec.min_member);
            if WAITS_FOR_ROOM.contains(&&*status.reason) {
                least = least + asks;
            }
            most = most + asks;
            applications.insert(application_of(&own, &group));
        }
        for (key, body) in self.pods() {
            let is_driver = application_of_pod(body).is_some_and(|application| applications.contains(application));
            if let (true, None, Body::Pod(pod)) = (is_driver && &*key.namespace == NS, node_of(body), body) {
                most = most + Amount::of_pod(pod);
            }
        }
        let said = Amount::of(Some(&status.pending), Amount::default());
        let is_right = least.is_within(said) && said.is_within(most);
        (!is_right).then(|| format!("{said:?} are said to be pending: {least:?} to {most:?}"))
    }

    /// Applications that run in a queue, or below it. Those of pods alone have no object that says where they stand, and are
    /// in the queue of a TaskGroup that is gone, perhaps.
    fn wrong_applications(&self, name: &str, status: &QueueStatus) -> Option<String> {
        let groups = self.groups();
        let applications: BTreeSet<String> = groups.iter().map(|(name, group)| application_of(name, group)).collect();
        let alone = self
            .pods()
            .any(|(_, body)| application_of_pod(body).is_some_and(|application| !applications.contains(application)));
        let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (own, group) in &groups {
            let Some(status) = &group.status else { continue };
            if levels(&status.queue).any(|level| level == name) {
                found.entry(&status.application_state).or_default().insert(application_of(own, group));
            }
        }
        let counted = ["Accepted", "Running", "Waiting"];
        if let Some(other) = status.applications.keys().find(|state| !counted.contains(&&***state)) {
            return Some(format!("applications that are {other} are said to be in it"));
        }
        let wrong = counted.into_iter().find(|state| {
            let said = status.applications.get(*state).copied().unwrap_or(0) as usize;
            let found = found.get(state).map_or(0, BTreeSet::len);
            said < found || said > found && !alone
        })?;
        let said = status.applications.get(wrong);
        Some(format!("{said:?} applications are said to be {wrong}, and {:?} are", found.get(wrong)))
    }
}

fn was_bound_for(body: &Body, group: &TaskGroup) -> bool {
    uid_mark(body).is_some() && uid_mark(body) == group.metadata.uid.as_deref()
}

/// Conditions say what the state and the counts beside them say, of the spec that they name.
fn wrong_conditions(group: &TaskGroup, status: &TaskGroupStatus) -> Option<String> {
    let state = status.application_state.as_str();
    let is_over_gate = matches!(state, "Resuming" | "Running" | "Waiting" | "Completed" | "Killed");
    let times_out = match state {
        "Resuming" | "Killed" => Some(true),
        "New" | "Accepted" => Some(false),
        _ => None,
    };
    let expected = [
        ("Accepted", Some(!matches!(state, "New" | "Rejected"))),
        ("QuotaReserved", is_over_gate.then_some(true)),
        ("Placed", (!is_over_gate).then_some(false)),
        ("Running", Some(state == "Running")),
        ("Finished", Some(matches!(state, "Completed" | "Killed"))),
        ("TimedOut", times_out),
    ];
    let found: Vec<_> = status.conditions.iter().map(|one| (one.type_.as_str(), one.status == "True")).collect();
    let is_so = |((kind, is), (expected, wanted)): (&(&str, bool), &(&str, Option<bool>))| {
        kind == expected && wanted.is_none_or(|wanted| wanted == *is)
    };
    if found.len() != expected.len() || !found.iter().zip(&expected).all(is_so) {
        return Some(format!("{state}, and its conditions are {found:?}"));
    }
    let generation = group.metadata.generation.unwrap_or(0);
    let generations = status.conditions.iter().map(|one| one.observed_generation);
    if status.observed_generation > generation
        || generations.flatten().any(|observed| observed != status.observed_generation)
    {
        return Some(format!("generation {generation}, and its status is about {}", status.observed_generation));
    }
    None
}

/// The room of members that were lost is kept for a minute, and everything has been quiet for longer.
fn kept_too_long(group: &TaskGroup, status: &TaskGroupStatus) -> Option<String> {
    (is_direct(group) && status.counts.kept > 0).then(|| format!("{} seats are kept at rest", status.counts.kept))
}

fn is_direct(group: &TaskGroup) -> bool {
    group.spec.reservation == Reservation::Direct
}

/// What is used of each queue, and what may be beside.
struct Use {
    by_pods: BTreeMap<String, Amount>,
    kept: BTreeMap<String, Amount>,
}

impl Use {
    /// What is used of a queue at least and at most.
    fn of(&self, queue: &str) -> (Amount, Amount) {
        let of = |what: &BTreeMap<String, Amount>| what.get(queue).copied().unwrap_or_default();
        let least = of(&self.by_pods);
        (least, least + of(&self.kept))
    }
}

fn wrong_use(name: &str, status: &QueueStatus, used: &Use) -> Option<String> {
    let said = Amount::of(Some(&status.allocated), Amount::default());
    let (least, most) = used.of(name);
    let is_right = least.is_within(said) && said.is_within(most);
    (!is_right).then(|| format!("{said:?} is said to be used: {least:?} to {most:?}"))
}

/// What is left of the limits of a queue and of those above it.
fn wrong_headroom(name: &str, status: &QueueStatus, queues: &[(String, Queue)], used: &Use) -> Option<String> {
    let left = |most: bool| {
        let of = move |level: &str| {
            let (_, queue) = queues.iter().find(|(known, _)| known == level)?;
            let (by_pods, with_kept) = used.of(level);
            Some(Amount::of_queue(queue).less(if most { by_pods } else { with_kept }))
        };
        levels(name).filter_map(of).fold(Amount::ENDLESS, Amount::smaller)
    };
    let (least, most) = (left(false), left(true));
    let said = Amount::of(Some(&status.headroom), Amount::ENDLESS);
    // Whether limits of queues without an object count follows from who remembers them.
    let is_whole = levels(name)
        .skip(1)
        .filter(|level| *level != "root.default")
        .all(|level| queues.iter().any(|(known, _)| known == level));
    let is_right = least.is_within(said) && said.is_within(most);
    (is_whole && !is_right).then(|| format!("{said:?} is said to be left: {least:?} to {most:?}"))
}

/// Whether a queue may use what it is promised, and those below it are not promised more together.
fn promise_can_be_kept(name: &str, queue: &Queue, queues: &[(String, Queue)]) -> bool {
    let promised = |queue: &Queue| Amount::of(Some(&queue.spec.guaranteed), Amount::default()).milli;
    let path = levels(name).filter_map(|level| queues.iter().find(|(path, _)| path == level));
    let limits = path.map(|(_, queue)| Amount::of(Some(&queue.spec.max), Amount::ENDLESS));
    let most = limits.fold(Amount::ENDLESS, Amount::smaller).milli;
    let is_child = |path: &str| path.rsplit_once('.').is_some_and(|(parent, _)| parent == name);
    let below: u64 = queues.iter().filter(|(path, _)| is_child(path)).map(|(_, queue)| promised(queue)).sum();
    promised(queue) == 0 || promised(queue) <= most && below <= promised(queue)
}

/// Whether nobody's limit of a queue is more than all may use there.
fn limits_can_be_used(name: &str, queue: &Queue, queues: &[(String, Queue)]) -> bool {
    let path = levels(name).filter_map(|level| queues.iter().find(|(path, _)| path == level));
    let most = path.map(|(_, queue)| Amount::of_queue(queue)).fold(Amount::ENDLESS, Amount::smaller);
    queue.spec.limits.iter().all(|limit| Amount::of(Some(&limit.max), Amount::default()).is_within(most))
}

/// Whether a queue gives namespaces no more than all may use there.
fn template_can_be_used(name: &str, queue: &Queue, queues: &[(String, Queue)]) -> bool {
    let path = levels(name).filter_map(|level| queues.iter().find(|(path, _)| path == level));
    let most = path.map(|(_, queue)| Amount::of_queue(queue)).fold(Amount::ENDLESS, Amount::smaller);
    let template = queue.spec.child_template.iter();
    template.map(|template| Amount::of(Some(&template.max), Amount::default())).all(|given| given.is_within(most))
}

/// Whether a queue has a place, and its status is of today.
fn wrong_place(name: &str, queue: &Queue, status: &QueueStatus, queues: &[(String, Queue)]) -> Option<String> {
    let generation = queue.metadata.generation.unwrap_or(0);
    let observed = (status.observed_generation, status.conditions.first().and_then(|one| one.observed_generation));
    if observed != (generation, Some(generation)) {
        return Some(format!("generation {generation}, and its status is about {observed:?}"));
    }
    let find = |level: &str| queues.iter().find(|(known, _)| known == level).map(|(_, queue)| queue);
    let has_place = levels(name).all(|level| matches!(level, "root" | "root.default") || find(level).is_some());
    // The nearest limit of those above.
    let above = levels(name).filter(|level| *level != name).filter_map(find);
    let limit = above.fold(Amount::ENDLESS, |limit, queue| Amount::of(Some(&queue.spec.max), limit));
    let is_right = has_place
        && Amount::of(Some(&queue.spec.max), Amount::default()).is_within(limit)
        && promise_can_be_kept(name, queue, queues)
        && limits_can_be_used(name, queue, queues)
        && template_can_be_used(name, queue, queues);
    let is_active = status.conditions.iter().any(|one| one.type_ == "Active" && one.status == "True");
    (is_active != is_right).then(|| format!("it has its place: {is_right}; its conditions: {:?}", status.conditions))
}
