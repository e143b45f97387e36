//! What another play of the same plan shows.
//!
//! L6: why something waits is true. When the cause is taken away, it goes on or waits for something else. L1: what has
//! completed stays so when another process comes, whatever was taken away before.

use gangline::api::task_group::TaskGroup;
use gangline::core::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;

use super::people::{NS, is_placeholder, label, levels, node_of};
use super::plan::Plan;
use super::run::to_rest;
use super::world::World;

/// How a cause that is named is taken away from a task group.
type Remedy = fn(&mut World, &str);

/// Reasons of task groups.
const OF_GROUPS: &[(&str, Remedy)] = &[
    ("WaitingForQuota", |world, _| world.lift_quotas()),
    ("ExceedsMaxQuota", |world, _| world.lift_quotas()),
    ("WaitingForApplications", |world, _| world.lift_quotas()),
    ("NamespaceQuotaTooSmall", |world, _| world.set_namespace_quota(None)),
    ("WaitingForCapacity", |world, _| world.add_room()),
    ("WaitingForMembers", World::add_members),
    ("QueueNotFound", World::define_queue),
    ("QueueDraining", World::define_queue),
];

/// Reasons of pods.
const OF_PODS: &[(&str, Remedy)] =
    &[("Unschedulable", |world, _| world.add_room()), ("WaitingForQuota", |world, _| world.lift_quotas())];

/// Looks into a world at rest.
pub(crate) fn check(plan: &Plan, world: &mut World) {
    check_completed(plan, world);
    check_reasons(plan, world);
}

/// A new process leaves alone what has completed.
fn check_completed(plan: &Plan, world: &mut World) {
    if completed(world).is_empty() {
        return;
    }
    let mut fork = to_rest(World::new(plan.head.seed, plan.head.faults, None), plan);
    let before = completed(&fork);
    fork.process = None;
    fork.start();
    fork.rest();
    let after = completed(&fork);
    if let Some((name, life)) = before.into_iter().find(|one| !after.contains(one)) {
        world.violated("L1", format!("{name} had completed its life {life}, and begins again with a new process"));
    }
}

/// Task groups that have completed, with their incarnations.
fn completed(world: &World) -> Vec<(String, u32)> {
    let groups = world.groups().into_iter().filter_map(|(name, group)| Some((name, group.status?)));
    let completed = groups.filter(|(_, status)| status.application_state == "Completed");
    completed.map(|(name, status)| (name, status.incarnation)).collect()
}

/// Takes away every cause that is named, one at a time.
fn check_reasons(plan: &Plan, world: &mut World) {
    let mut waiting: Vec<(String, &str, Remedy)> = Vec::new();
    for (name, group) in world.groups() {
        let status = group.status.unwrap_or_default();
        let drains = group.spec.queue.is_some_and(|queue| world.drains(&queue));
        let remedy =
            OF_GROUPS.iter().find(|(reason, _)| *reason == status.reason && status.application_state != "Running");
        // The limits of a queue that drains stay.
        waiting.extend(
            remedy
                .filter(|(reason, _)| !drains || reason.starts_with("Queue"))
                .map(|(reason, remedy)| (name, *reason, *remedy)),
        );
    }
    for (name, reason, remedy) in waiting {
        let mut fork = to_rest(World::new(plan.head.seed, plan.head.faults, None), plan);
        remedy(&mut fork, &name);
        fork.rest();
        let after = fork.groups().into_iter().find(|(of, _)| *of == name).and_then(|(_, group)| group.status);
        if after.is_some_and(|after| after.reason == reason) {
            world.violated("L6", format!("{name} is said to be {reason}, and is so when the cause is gone"));
        }
    }
    for (reason, remedy) in OF_PODS {
        let pods = world.pods_waiting_for(reason);
        if pods.is_empty() {
            continue;
        }
        let mut fork = to_rest(World::new(plan.head.seed, plan.head.faults, None), plan);
        remedy(&mut fork, "");
        fork.rest();
        let still: Vec<_> = fork.pods_waiting_for(reason).into_iter().filter(|pod| pods.contains(pod)).collect();
        if !still.is_empty() {
            world.violated("L6", format!("{still:?} are {reason}, and are so when the cause is gone"));
        }
    }
}

impl World {
    /// Pods with this reason at `PodScheduled`: none of the scheduler's own, nor of a group or an application whose queue
    /// drains, since the limits of that one stay.
    pub(crate) fn pods_waiting_for(&self, reason: &str) -> Vec<Key> {
        let drains = |group: &TaskGroup| group.spec.queue.as_ref().is_some_and(|queue| self.drains(queue));
        let draining = self.groups().into_iter().filter(|(_, group)| drains(group));
        let draining: Vec<_> =
            draining.map(|(name, group)| (group.spec.application_id.unwrap_or_else(|| name.clone()), name)).collect();
        let waits = |body: &Body| {
            let Body::Pod(pod) = body else { return false };
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let mut scheduled = conditions.filter(|one| one.type_ == "PodScheduled");
            let is_of = |(application, group): &(String, String)| {
                super::marks::group_of(body) == Some(group)
                    || label(body, "gangline.dev/application-id") == Some(application)
            };
            // What terminates waits for its end.
            node_of(body).is_none()
                && pod.metadata.deletion_timestamp.is_none()
                && !is_placeholder(body)
                && !draining.iter().any(is_of)
                && scheduled.any(|one| one.status == "False" && one.reason.as_deref() == Some(reason))
        };
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| waits(body));
        pods.map(|(key, _)| key.clone()).collect()
    }

    /// As many members as every group of a gang needs, and nobody is missing.
    fn add_members(&mut self, group: &str) {
        let groups = self.groups();
        let application = |(_, group): &&(String, TaskGroup)| group.spec.application_id.clone();
        let own = groups.iter().find(|(name, _)| name == group);
        let alone = own.and_then(|own| application(&own)).is_none();
        let together = |one: &&(String, TaskGroup)| {
            one.0 == group || !alone && application(one) == own.and_then(|own| application(&own))
        };
        for (name, group) in groups.iter().filter(together) {
            let cpu = &group.spec.min_resource["cpu"].0;
            (0..group.spec.min_member).for_each(|number| self.member(name, 1_000 + number, cpu));
        }
    }

    /// The queue of a group exists, and every one above it.
    fn define_queue(&mut self, group: &str) {
        let Some(Body::TaskGroup(found)) = self.api.store.get(Kind::TaskGroup, &Key::new(NS, group)) else { return };
        let Some(path) = found.spec.queue.clone() else { return };
        for level in levels(&path).skip(1) {
            if self.api.store.get(Kind::Queue, &Key::cluster(level)).is_none() {
                self.queue(level, 1_000);
            }
        }
    }
}
