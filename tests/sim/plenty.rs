//! Plenty of everything, and what must be so then (L2).

use std::collections::BTreeSet;

use gangline::api::task_group::{MatchPolicy, Reservation, TaskGroup, TaskGroupSpec};
use gangline::core::base::ids::Key;
use gangline::core::codes::Code;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::{has_ended, is_gated};
use gangline::sim::store::metadata;

use super::{application_of, times_out};
use crate::sim::acts::{Act, NodeAct};
use crate::sim::amount::{Amount, GPU};
use crate::sim::marks::{application_of_pod, group_of, is_member, queue_mark, seat_mark};
use crate::sim::people::{FOREIGN, NS, is_held_back, is_mistyped, label, levels, node_of};
use crate::sim::pods::set_of;
use crate::sim::spoken::is_misspoken;
use crate::sim::world::World;

/// Reasons that room can end: none of them remains when there is plenty of it.
const ABOUT_ROOM: [Code; 13] = [
    Code::ExceedsMaxQuota,
    Code::WaitingForCapacity,
    Code::WaitingBehind,
    Code::WaitingForQuota,
    Code::WaitingForApplications,
    Code::CreatingPlaceholders,
    Code::BindingPlaceholders,
    Code::PlaceholderRejected,
    Code::PlaceholderFailed,
    Code::PlaceholdersLost,
    Code::PlaceholdersLeaving,
    Code::ReservationLost,
    Code::NamespaceQuotaTooSmall,
];
/// More than anything has.
const HUGE_MILLI: u64 = 1_000_000;
/// What can run runs after so long: longer than the longest pause between two tries.
const SOON_MS: u64 = 360_000;

impl World {
    /// There is plenty of everything: what can run runs.
    pub(crate) fn enrich(&mut self) {
        self.say(|| "plenty".to_owned());
        self.lift_quotas();
        self.set_namespace_quota(None);
        self.add_room();
        self.run_for(SOON_MS);
        self.check_everything_runs();
        self.rest();
    }

    pub(crate) fn lift_quotas(&mut self) {
        self.lift_namespaces(true);
        for (path, door) in self.doors() {
            match door {
                Some(door) => self.write_queue(&door.with_plenty(&path, 1_000)),
                None => self.queue(&path, 1_000),
            }
        }
    }

    pub(crate) fn add_room(&mut self) {
        for number in 0..6 {
            self.act(&Act::Node(NodeAct { name: format!("plenty{number}"), cpu: 64, gpu: 64, ..NodeAct::default() }));
        }
    }

    /// Whether a queue, or one above it, has no object, and is no namespace's own.
    pub(crate) fn drains(&self, queue: &str) -> bool {
        let has_object = |level: &str| self.api.store.get(Kind::Queue, &Key::cluster(level)).is_some();
        let exists = |level: &str| has_object(level) || self.is_own(level);
        levels(queue).skip(1).any(|level| !exists(level))
    }

    /// L2: nobody waits for room, or for a gang that is over.
    pub(crate) fn check_everything_runs(&mut self) {
        self.check_all_have_nodes();
        self.check_all_are_made();
        for (name, group) in self.groups() {
            let waiting = self.of_group(&name, &group).waiting;
            if waiting > 0 && group.status.as_ref().is_some_and(|status| status.application_state == "Completed") {
                self.violated("L2", format!("{name} is Completed, and {waiting} of its members wait"));
            }
            let status = group.status.unwrap_or_default();
            let room = Code::from_name(&status.reason).is_some_and(|code| ABOUT_ROOM.contains(&code));
            if room && status.application_state != "Running" {
                self.violated(
                    "L2",
                    format!("{name}: {} {}: {}", status.application_state, status.reason, status.message),
                );
            }
        }
        for reason in [Code::Unschedulable, Code::WaitingForQuota] {
            for key in self.pods_waiting_for(reason.name()) {
                self.violated("L2", format!("{key} waits for room"));
            }
        }
    }

    /// L2, by what is asked for, and not by what the scheduler says of it: with plenty of everything every pod that may have
    /// a node has one.
    pub(crate) fn check_all_have_nodes(&mut self) {
        let groups = self.groups();
        let sound: BTreeSet<&String> =
            groups.iter().filter(|group| self.may_run(group, &groups)).map(|(name, _)| name).collect();
        let applications: BTreeSet<String> = groups.iter().map(|(name, group)| application_of(name, group)).collect();
        let may_have_one = |key: &Key, body: &Body| {
            let application = label(body, "gangline.dev/application-id");
            match group_of(body) {
                _ if &*key.namespace != NS || label(body, "gangline.dev/placeholder").is_some() => false,
                _ if is_mistyped(body) || is_misspoken(body) => false,
                Some(group) => sound.contains(&group.to_owned()),
                None if application.is_some_and(|application| applications.contains(application)) => false,
                None if label(body, FOREIGN).is_some() => false,
                None => self.is_open(&self.queue_of(&key.namespace, body)),
            }
        };
        let waits = |body: &Body| {
            let Body::Pod(pod) = body else { return false };
            node_of(body).is_none() && !has_ended(pod) && !is_gated(pod) && pod.metadata.deletion_timestamp.is_none()
        };
        let left = self.pods().find(|(key, body)| waits(body) && may_have_one(key, body));
        if let Some(what) = left.map(|(key, _)| format!("{key} has no node, with plenty of everything")) {
            self.violated("L2", what);
        }
    }

    /// The queue of a pod outside task groups: of an application it is that of the first of its pods that runs, else the one
    /// that the first of its pods names (ADR 0016).
    pub(crate) fn queue_of(&self, namespace: &str, pod: &Body) -> String {
        let named = |body: &Body| label(body, "gangline.dev/queue").map(str::to_owned);
        let application = application_of_pod(pod);
        let is_beside = |(key, body): &(&Key, &Body)| {
            let same = application_of_pod(body) == application && group_of(body).is_none();
            application.is_some() && &*key.namespace == namespace && same
        };
        let beside = || self.pods().filter(is_beside).map(|(_, body)| body);
        let runs = |body: &&Body| !matches!(body, Body::Pod(pod) if has_ended(pod));
        let of_application = beside().filter(runs).find_map(queue_mark).or_else(|| beside().find_map(named));
        let named = of_application.or_else(|| named(pod)).or_else(|| self.home(namespace));
        // Nobody has work in the root.
        named.unwrap_or_else(|| "root".to_owned())
    }

    /// The queue of a task group; of one that names none, and runs, the one where it is said to.
    fn queue_of_group(&self, group: &TaskGroup) -> Option<String> {
        let runs = group.status.as_ref().filter(|status| status.application_state == "Running");
        let said = runs.map(|status| status.queue.clone()).filter(|queue| !queue.is_empty());
        group.spec.queue.clone().or(said).or_else(|| self.home(NS))
    }

    /// Whether a queue exists, on every level, and takes applications of the namespace: it is a leaf, also without the queues that
    /// namespaces have of their own, and for that.
    fn is_open(&self, queue: &str) -> bool {
        let below = format!("{queue}.");
        let has_objects = self.api.store.of_kind(Kind::Queue).any(|(key, _)| key.name.starts_with(&below));
        let is_leaf = !has_objects && !self.own_paths().iter().any(|path| path.starts_with(&below));
        is_leaf && self.is_for(queue, NS) && (queue == "root.default" || !self.drains(queue) && queue != "root")
    }

    /// Whether a task group can be satisfied: its gang agrees with itself, has enough members, and is not over.
    fn may_run(&self, own: &(String, TaskGroup), groups: &[(String, TaskGroup)]) -> bool {
        let application = |(name, group): &(String, TaskGroup)| application_of(name, group);
        let together: Vec<&(String, TaskGroup)> =
            groups.iter().filter(|other| application(other) == application(own)).collect();
        let names: BTreeSet<String> = together.iter().map(|(name, _)| format!("{NS}/{name}")).collect();
        let agrees = |(name, group): &&(String, TaskGroup)| {
            let listed: BTreeSet<String> = group.spec.gang_group.iter().cloned().collect();
            let listed = if listed.is_empty() { [format!("{NS}/{name}")].into() } else { listed };
            let (spec, first) = (&group.spec, &own.1.spec);
            let same = spec.queue == first.queue
                && spec.reservation == first.reservation
                && spec.style == first.style
                && spec.mode == first.mode
                && spec.match_policy == first.match_policy
                && timeouts(spec) == timeouts(first);
            let is_known = spec.min_resource.keys().all(|name| matches!(name.as_str(), "cpu" | "memory" | GPU));
            let asks = Amount::of(Some(&spec.min_resource), Amount::ENDLESS);
            listed == names && same && is_known && asks.milli < HUGE_MILLI
        };
        let is_over = |(_, group): &&(String, TaskGroup)| {
            group.status.as_ref().is_some_and(|status| {
                let is_refused = status.application_state == "Rejected" && times_out(status);
                is_refused || ["Waiting", "Completed", "Killed"].contains(&&*status.application_state)
            })
        };
        let has_enough = |(name, group): &&(String, TaskGroup)| {
            let status = group.status.as_ref().map_or("", |status| &*status.application_state);
            if status == "Running" && group.spec.match_policy != MatchPolicy::OnceSatisfied {
                // Whoever else counts, so many are a round.
                return self.of_group(name, group).waiting >= group.spec.min_member;
            }
            self.in_this_life(name, group).max(self.in_order(name, group)) >= group.spec.min_member
        };
        // A pod outside the task groups belongs to the gang too, and nothing places one that is refused.
        let (app, mut pods) = (application(own), self.pods());
        let is_wrong = |body: &Body| is_mistyped(body) || is_misspoken(body);
        let is_refused = |body: &Body| is_wrong(body) && application_of_pod(body) == Some(app.as_str());
        if pods.any(|(key, body)| &*key.namespace == NS && node_of(body).is_none() && is_refused(body)) {
            return false;
        }
        let queue = self.queue_of_group(&own.1);
        queue.is_some_and(|queue| self.is_open(&queue))
            && together.iter().all(|one| agrees(one) && has_enough(one) && !is_over(one))
    }

    /// How many members come one after the other, each when those before it run: a gang that waits until all are there waits
    /// for ever, and one whose placeholders stand for those to come does not.
    fn in_order(&self, name: &str, group: &TaskGroup) -> u32 {
        let waits = group.spec.reservation == Reservation::Direct;
        if waits { 0 } else { self.sets.replicas(&set_of(name)) }
    }

    /// Members that wait, or were bound in the present life of their task group.
    fn in_this_life(&self, name: &str, group: &TaskGroup) -> u32 {
        let life = group.status.as_ref().map_or(0, |status| status.incarnation);
        let now = format!("{}.{life}", group.metadata.uid.as_deref().unwrap_or_default());
        let counts = |body: &Body| match seat_mark(body) {
            Some(seat) => seat.incarnation == now,
            None => {
                let comes = !is_held_back(body) && !is_mistyped(body);
                node_of(body).is_none() && comes && metadata(body).deletion_timestamp.is_none()
            }
        };
        let own = |key: &Key, body: &Body| &*key.namespace == NS && is_member(body) && group_of(body) == Some(name);
        self.pods().filter(|(key, body)| own(key, body) && counts(body)).count() as u32
    }
}

/// All timeouts that a spec sets.
const fn timeouts(spec: &TaskGroupSpec) -> [Option<u32>; 4] {
    [
        spec.admission_timeout_seconds,
        spec.placeholder_timeout_seconds,
        spec.wait_timeout_seconds,
        spec.completion_timeout_seconds,
    ]
}
