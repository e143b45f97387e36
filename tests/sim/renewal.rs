//! L1: a new process finds what the one before had made of a cluster, and says the same of it.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use serde_json::json;

use super::limited::whose;
use super::{Numbers, application_of, queue_of};
use crate::sim::amount::Amount;
use crate::sim::marks::{group_of, is_member, queue_mark};
use crate::sim::people::{is_placeholder, label, levels, node_of};
use crate::sim::world::World;

/// Pods outside gangs, in a summary.
const OTHERS: &str = "of others";

impl World {
    /// A new process, with nothing but the objects, binds, creates and deletes nothing. It cannot know of members that
    /// ran and are gone (01, 1.11).
    pub(crate) fn check_restart(&mut self) {
        let mut doubtful = self.doubtful();
        let (kept_before, waited) = (self.somebody_keeps_others_waiting(), self.waiting_gangs());
        // What is kept is memory (01, 1.5): the room is anybody's for a new process.
        let keeps =
            self.groups().iter().any(|(_, group)| group.status.as_ref().is_some_and(|status| status.counts.kept > 0));
        let (writes, before, replaced) = (self.writes.len(), self.summary(), self.replaced());
        self.process = None;
        self.start();
        self.rest();
        if kept_before || self.somebody_keeps_others_waiting() {
            // Who was overtaken, and for how long, is forgotten (ADR 21): who waits may start before others.
            doubtful.extend(waited.chain([OTHERS.to_owned()]));
        }
        let matters = |write: &&String| !write.contains("status") && !write.contains("events");
        let mut changes: Vec<String> = self.writes[writes..].iter().filter(matters).cloned().collect();
        let after = self.summary();
        changes.extend(before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}")));
        changes.extend(after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}")));
        // As of gangs: who of those that hold nothing counts as one of the applications follows from when they came.
        let is_counted = |change: &String| change.contains(OTHERS) && change.contains("WaitingForApplications");
        if changes.iter().any(is_counted) {
            doubtful.insert(OTHERS.to_owned());
        }
        let groups = self.groups();
        let known: Vec<_> = groups.iter().map(|(name, _)| name).filter(|name| !doubtful.contains(*name)).collect();
        let compared = known.len();
        let runs = |lines: &[String], name: &str| {
            let line = format!("gang {name}: Running ");
            lines.iter().any(|at| at.starts_with(&line))
        };
        // Whatever happens to others.
        if let Some(name) = known.into_iter().find(|name| runs(&before, name) && !runs(&after, name)) {
            self.violated("L1", format!("{name} runs, and does not for a new process"));
        }
        // What one of them does differently changes the room of all others.
        let is_doubted = |change: &String| doubtful.iter().any(|group| is_about(change, group));
        if !changes.is_empty() && !keeps && !changes.iter().any(is_doubted) {
            self.violated("L1", format!("a new process does or sees something else: {changes:#?}"));
        }
        if changes.is_empty() {
            // What had happened, and nobody can see any more.
            let now = self.replaced();
            if let Some((life, _)) =
                replaced.iter().find(|(life, count)| now.get(*life).is_some_and(|now| now != *count))
            {
                self.violated("L1", format!("{life:?}: replaced {replaced:?}, and {now:?} for a new process"));
            }
            self.coverage.iter_mut().for_each(|coverage| coverage.restart(compared, groups.len()));
        }
    }

    /// Whether a gang that is first in line says that nothing behind it starts before it does.
    fn somebody_keeps_others_waiting(&self) -> bool {
        let conditions = self.groups().into_iter().flat_map(|(_, group)| group.status.unwrap_or_default().conditions);
        conditions.into_iter().any(|condition| condition.message.contains("; first in line in queue "))
    }

    /// Task groups of gangs that have not started.
    fn waiting_gangs(&self) -> impl Iterator<Item = String> + use<> {
        let waits =
            |group: &TaskGroup| group.status.as_ref().is_none_or(|status| status.application_state == "Accepted");
        self.groups().into_iter().filter(move |(_, group)| waits(group)).map(|(name, _)| name)
    }

    /// How many placeholders of each life of a task group are said to have been replaced.
    fn replaced(&self) -> BTreeMap<(String, u32), u32> {
        let groups = self.groups().into_iter().filter_map(|(name, group)| Some((name, group.status?)));
        groups.map(|(name, status)| ((name, status.incarnation), status.counts.replaced)).collect()
    }

    /// Groups of which a new process may know less, or decide otherwise, and those of the same applications.
    fn doubtful(&self) -> BTreeSet<String> {
        let starts = |(name, group): &(String, TaskGroup)| {
            let state = group.status.as_ref().map(|status| status.application_state.as_str());
            state == Some("Running") && self.of_group(name, group).bound == 0
        };
        let groups = self.groups();
        let app = |(name, group): &(String, TaskGroup)| application_of(name, group);
        // Who of those that hold nothing counts as one of the applications of a queue follows from when they came.
        let counted = |(name, group): &(String, TaskGroup)| {
            let is_relimited = levels(queue_of(group)).any(|level| self.relimited.contains(level));
            let Numbers { bound, placeholders, .. } = self.of_group(name, group);
            let waits = group.status.as_ref().is_some_and(|status| status.reason == "WaitingForApplications");
            waits || is_relimited && bound + placeholders == 0
        };
        let is_doubtful = |group: &(String, TaskGroup)| {
            let disturbed = self.disturbed.contains_key(&group.0) || counted(group);
            disturbed || starts(group) || self.is_larger(group)
        };
        let mut apps: BTreeSet<String> = groups.iter().filter(|group| is_doubtful(group)).map(app).collect();
        // What one of them asks for is kept for it, before those behind it.
        let reserves = |(_, group): &&(String, TaskGroup)| {
            group.status.as_ref().is_some_and(|status| status.application_state == "Accepted")
        };
        if groups.iter().filter(reserves).any(|group| apps.contains(&app(group))) {
            apps.extend(groups.iter().filter(reserves).map(app));
        }
        let all = groups.iter().filter(|group| apps.contains(&app(group))).map(|(name, _)| name.clone());
        // The limits of a queue without an object are known only while somebody remembers them.
        let drains = |(_, pod): (&Key, &Body)| {
            let queue = queue_mark(pod).or_else(|| label(pod, "gangline.dev/queue").map(str::to_owned));
            group_of(pod).is_none() && queue.is_some_and(|queue| queue != "root.default" && self.drains(&queue))
        };
        let others = (!self.relimited.is_empty() || self.pods().any(drains)).then(|| OTHERS.to_owned());
        all.chain(self.disturbed.keys().chain(&self.rehomed).cloned())
            .chain(apps.iter().cloned())
            .chain(others)
            .collect()
    }

    /// Whether a member that waits asks for more than its group announced. Its gang may have found out when it was about to
    /// start, that the quota is too small; a new process reserves once and finds out likewise.
    fn is_larger(&self, (name, group): &(String, TaskGroup)) -> bool {
        let announced = Amount::of(Some(&group.spec.min_resource), Amount::default());
        self.pods().any(|(_, body)| {
            let Body::Pod(pod) = body else { return false };
            let waits = group_of(body) == Some(name) && is_member(body) && node_of(body).is_none();
            waits && !Amount::of_pod(pod).is_within(announced)
        })
    }

    /// What is to be the same however often the process died: of every gang what it says of itself and what it has, and
    /// of every queue what it says is used. Without times, names of equal pods, and nodes.
    pub(crate) fn summary(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.groups().iter().map(|(name, group)| self.gang_line(name, group)).collect();
        for (key, body) in self.api.store.of_kind(Kind::Queue) {
            let Body::Queue(queue) = body else { continue };
            let status = queue.status.clone().unwrap_or_default();
            lines.push(format!("queue {}: uses {}", key.name, json!(status.allocated)));
            let uses = status.limited.iter().filter(|one| !one.allocated.is_empty());
            lines.extend(uses.map(|one| format!("queue {}: {} uses {}", key.name, whose(one), json!(one.allocated))));
        }
        let bound = |pod: &Body| !is_placeholder(pod) && group_of(pod).is_none() && node_of(pod).is_some();
        lines.push(format!("other pods bound: {}", self.pods().filter(|(_, pod)| bound(pod)).count()));
        lines.extend(self.waiting_lines());
        let forged = |pod: &Body| label(pod, "gangline.dev/placeholder").is_some() && !self.is_made(pod);
        lines.push(format!("forged placeholders: {}", self.pods().filter(|(_, pod)| forged(pod)).count()));
        lines
    }

    fn gang_line(&self, name: &str, group: &TaskGroup) -> String {
        let status = group.status.clone().unwrap_or_default();
        let numbers = self.of_group(name, group);
        let counts = &status.counts;
        let conditions = status.conditions.iter().filter(|condition| condition.status == "True");
        let conditions: Vec<&str> = conditions.map(|condition| condition.type_.as_str()).collect();
        format!(
            "gang {name}: {} {} held {} scheduled {}; {} members bound, {} placeholders; {conditions:?} in {}",
            status.application_state,
            status.reason,
            counts.held,
            counts.scheduled,
            numbers.bound,
            numbers.placeholders,
            status.queue
        )
    }

    /// What pods say that they wait for: how many of each group say what.
    fn waiting_lines(&self) -> impl Iterator<Item = String> {
        let mut waiting: BTreeMap<(String, String), u32> = BTreeMap::new();
        for (reason, _, group) in self.reasons_of_pods() {
            *waiting.entry((group, reason)).or_default() += 1;
        }
        let line = |((group, reason), count): ((String, String), u32)| match &*group {
            "" => format!("gang {OTHERS}: {count} pods are {reason}"),
            group => format!("gang {group}: {count} pods are {reason}"),
        };
        waiting.into_iter().map(line)
    }
}

/// Whether a write, or a line of a summary, is about a group, its pods, or a driver: whose gang that is its name does not say.
fn is_about(change: &str, group: &str) -> bool {
    let name = change.rsplit(['/', ' ']).next().unwrap_or_default();
    let own = |name: &str| name.strip_prefix(group).is_some_and(|rest| rest.starts_with('-'));
    change.contains(&format!("gang {group}:"))
        || own(name)
        || name.strip_prefix("tg-").is_some_and(own)
        || name.starts_with("driver")
}
