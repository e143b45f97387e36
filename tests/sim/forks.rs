//! What a copy of the world shows.
//!
//! L6: why something waits is true. When the cause is taken away, it goes on or waits for something else. L1: what has
//! completed stays so when another process comes, whatever was taken away before.

use crate::sim::acts::PLAYED;
use std::collections::BTreeSet;
use std::sync::Arc;

use gangline::api::task_group::{MatchPolicy, Mode, TaskGroup, TaskGroupSpec};
use gangline::core::base::ids::Key;
use gangline::core::codes::{Code, Needs};
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::{has_ended, is_gated};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;

use super::homes::{Door, USUAL_QUEUE};
use super::marks::{group_of, queue_mark};
use super::oracle::{application_of, in_force};
use super::people::{
    ENDLESS_S, FOREIGN, MISTYPED, NS, is_mistyped, is_placeholder, label, levels, node_of, says_placeholder,
};
use super::spoken::{is_misspoken, unsay};
use super::words::Family;
use super::world::World;

/// The label that makes a placeholder.
const PLACEHOLDER: &str = "gangline.dev/placeholder";
/// The label that names a queue.
const QUEUE: &str = "gangline.dev/queue";

/// How a cause that is named is taken away: from a task group and its members, or, without a name, from other pods.
type Remedy = fn(&mut World, &str);

/// What is so of a reason when everything is at rest.
#[derive(Clone, Copy)]
enum Cause {
    /// Who has it does not have it any more when its cause is gone.
    Goes(Remedy),
    /// It passes by itself: nobody has it.
    Passes,
    /// It has no cause that could be taken away, and why.
    Stays(&'static str),
}

/// Reasons about the limits of a queue, which stay when it drains; who would take a seat that was lost meets them too.
const OF_LIMITS: [Code; 5] = [
    Code::ExceedsMaxQuota,
    Code::WaitingForQuota,
    Code::WaitingForApplications,
    Code::SeatTooSmall,
    Code::PartiallyLost,
];

/// What is so of each reason.
fn cause(code: Code) -> Cause {
    match code {
        Code::InvalidSpec | Code::AskTooLarge | Code::TooManyPlaceholders => Cause::Goes(World::correct),
        Code::GangGroupMismatch => Cause::Goes(World::agree),
        Code::QueueNotFound | Code::QueueDraining => Cause::Goes(World::define_queues),
        Code::QueueNotLeaf => Cause::Goes(|world, _| world.fell_queues()),
        Code::QueueStopped | Code::GangInFairQueue | Code::WaitingForStart => {
            Cause::Goes(|world, _| world.lift_quotas())
        }
        Code::QueueNotOpen | Code::QueueNameTooLong => Cause::Goes(|world, _| world.open_queues()),
        Code::NamespaceQuotaTooSmall => Cause::Goes(|world, _| world.set_namespace_quota(None)),
        Code::ExceedsMaxQuota | Code::WaitingForQuota | Code::WaitingForApplications | Code::SeatTooSmall => {
            Cause::Goes(|world, _| world.lift_quotas())
        }
        Code::WaitingForCapacity | Code::WaitingBehind | Code::Unschedulable => {
            Cause::Goes(|world, _| world.add_room())
        }
        // Who is left of a gang that is not whole any more is not judged anew.
        Code::AdmissionTimeout | Code::WaitTimeout => Cause::Goes(|world, group| {
            world.define_gang_of(group);
            world.lift_timeouts(group);
        }),
        Code::TaskGroupNotFound => Cause::Goes(|world, _| world.define_groups()),
        Code::WaitingForTaskGroups => Cause::Goes(World::define_listed),
        Code::WaitingForMembers | Code::WaitingForFirstPod => Cause::Goes(World::add_members),
        Code::Starting | Code::PartiallyLost | Code::SeatsKept => Cause::Goes(World::add_everybody),
        Code::UnsupportedConstraint => Cause::Goes(World::unmask),
        // Whichever group of the gang they belong to, or none.
        Code::MembersRefused => Cause::Goes(|world, _| {
            world.unmask("");
            world.unsay_all();
        }),
        Code::DialectNotSupported => Cause::Goes(|world, _| world.unmark()),
        Code::InvalidDeclaration => Cause::Goes(|world, _| world.unsay_all()),
        Code::DeclarationRefused => Cause::Passes,
        Code::DeclarationAdjusted => Cause::Stays("nothing is waited for"),
        Code::Submitted
        | Code::WaitingForQueues
        | Code::WaitingForNamespace
        | Code::CreatingPlaceholders
        | Code::PlaceholderRejected
        | Code::PlaceholderFailed
        | Code::PlaceholdersLost
        | Code::BindingPlaceholders
        | Code::PlaceholdersLeaving
        | Code::Pausing
        | Code::JoinedLate
        | Code::ReservationLost
        | Code::WaitingForCompletion
        | Code::Resuming
        | Code::WaitingForNextLife
        | Code::PlaceholderKept
        | Code::BindRefused => Cause::Passes,
        Code::WaitingForPlaceholders => Cause::Goes(|world, _| world.add_room()),
        Code::WaitingForFirst | Code::SeatHeld => Cause::Goes(|world, _| {
            world.lift_quotas();
            world.add_room();
        }),
        Code::ApplicationClosed => Cause::Stays("until the application is over"),
        Code::Accepted
        | Code::QuotaReserved
        | Code::Placed
        | Code::TemplateLacks
        | Code::Running
        | Code::Completed
        | Code::SomeFailed
        | Code::PlaceholderTimeout
        | Code::Active => Cause::Stays("nothing is waited for"),
    }
}

/// What `docs/reasons.md` says that a state needs is what the plays hold it to.
#[test]
fn what_ends_a_state_is_what_its_code_needs() {
    for code in Code::ALL {
        let is_so = match (code.needs(), cause(code)) {
            (Needs::Nothing | Needs::Others, Cause::Stays(why)) => !why.is_empty(),
            (Needs::Time | Needs::Arrivals | Needs::Others, Cause::Passes) => true,
            (Needs::Arrivals | Needs::Others | Needs::Nodes | Needs::Change | Needs::Anew, Cause::Goes(_)) => true,
            (Needs::Nothing, Cause::Passes | Cause::Goes(_))
            | (Needs::Time, Cause::Goes(_) | Cause::Stays(_))
            | (Needs::Arrivals, Cause::Stays(_))
            | (Needs::Nodes | Needs::Change | Needs::Anew, Cause::Passes | Cause::Stays(_)) => false,
        };
        assert!(is_so, "{code} needs {:?}", code.needs());
    }
}

/// Looks into a world at rest, in copies of it.
pub(crate) fn check(world: &mut World) {
    let mut rest = world.clone();
    rest.coverage = None;
    check_completed(&rest, world);
    check_reasons(&rest, world);
}

/// A new process leaves alone what has completed.
fn check_completed(rest: &World, world: &mut World) {
    let before = completed(rest);
    if before.is_empty() {
        return;
    }
    let mut fork = rest.clone();
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

/// What is said to wait waits for that: it does not when the causes are taken away, one at a time.
fn check_reasons(rest: &World, world: &mut World) {
    for (reason, name) in world.waiting() {
        let who = || if name.is_empty() { "somebody" } else { &name };
        match Code::from_name(&reason).map(cause) {
            None => world.violated("L6", format!("{} has no reason: {reason}", who())),
            Some(Cause::Passes) => world.violated("L6", format!("{} is {reason} at rest", who())),
            Some(Cause::Stays(_)) => {}
            Some(Cause::Goes(remedy)) => {
                let before = world.who_are(&reason, &name);
                let mut fork = without(rest, remedy, &name);
                fork.violation.take().into_iter().for_each(|found| _ = world.violation.get_or_insert(found));
                let after = fork.who_are(&reason, &name);
                let still: Vec<_> = before.intersection(&after).collect();
                if !still.is_empty() {
                    world.violated("L6", format!("{still:?} are {reason}, and are so when the cause is gone"));
                }
            }
        }
    }
}

/// The same world, where a cause is taken away.
fn without(rest: &World, remedy: Remedy, name: &str) -> World {
    let mut fork = rest.clone();
    remedy(&mut fork, name);
    fork.rest();
    fork
}

impl World {
    /// Reasons that are given, each with the name of the task group that has it or whose members have it; empty: of others.
    fn waiting(&self) -> BTreeSet<(String, String)> {
        let of_groups = self.groups().into_iter().map(|(name, group)| (group.status.unwrap_or_default().reason, name));
        let of_pods = self.reasons_of_pods().into_iter().map(|(reason, _, group)| (reason, group));
        of_groups.chain(of_pods).collect()
    }

    /// Who gives a reason: a task group, and its members; or pods without one.
    fn who_are(&self, reason: &str, name: &str) -> BTreeSet<String> {
        let has_limits = self.has_limits();
        let of_limits = OF_LIMITS.iter().any(|code| code.name() == reason);
        let judged = |group: &str| !of_limits || has_limits(group);
        let has = |group: &TaskGroup| group.status.as_ref().is_some_and(|status| status.reason == reason);
        let groups = self.groups().into_iter().filter(|(of, group)| of == name && has(group) && judged(of));
        let is_one = |(why, _, group): &(String, Key, String)| why == reason && group == name && judged(group);
        let pods = self.reasons_of_pods().into_iter().filter(is_one);
        let pods = pods.filter(|(_, key, group)| !of_limits || !group.is_empty() || self.may_have_more(key));
        groups.map(|(name, _)| name).chain(pods.map(|(_, key, _)| key.to_string())).collect()
    }

    /// Pods that say why they wait, none of the scheduler's own, each with its task group, or one of its application's.
    /// What terminates waits for its end, and what is gated says so by the API server.
    pub(crate) fn reasons_of_pods(&self) -> Vec<(String, Key, String)> {
        let groups = self.groups();
        let group_of_application = |application: &str| {
            let found = groups.iter().find(|(name, group)| application_of(name, group) == application);
            found.map(|(name, _)| name.as_str())
        };
        let is_there = |pod: &Pod| pod.metadata.deletion_timestamp.is_none() && !has_ended(pod);
        let waits = |pod: &Pod| is_there(pod) && !says_placeholder(pod) && !is_gated(pod);
        let reason = |(key, body): (&Key, &Body)| {
            let Body::Pod(pod) = body else { return None };
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let mut scheduled = conditions.filter(|one| one.type_ == "PodScheduled" && one.status == "False");
            let reason = scheduled.find_map(|one| one.reason.clone())?;
            let of_application = || label(body, "gangline.dev/application-id").and_then(group_of_application);
            let group = group_of(body).or_else(of_application).filter(|_| &*key.namespace == NS);
            let group = group.unwrap_or_default().to_owned();
            (node_of(body).is_none() && waits(pod)).then(|| (reason, key.clone(), group))
        };
        self.api.store.of_kind(Kind::Pod).filter_map(reason).collect()
    }

    /// Whether the limits of a task group's queue can be changed: those of one that drains stay.
    fn has_limits(&self) -> impl Fn(&str) -> bool {
        let drains = |group: &TaskGroup| charged(group).is_some_and(|queue| self.drains(queue));
        let draining = self.groups().into_iter().filter(|(_, group)| drains(group));
        let draining: BTreeSet<String> = draining.map(|(name, _)| name).collect();
        move |name| !draining.contains(name)
    }

    /// As above of a pod outside task groups.
    fn may_have_more(&self, key: &Key) -> bool {
        let queue = self.api.store.get(Kind::Pod, key).map(|body| self.queue_of(&key.namespace, body));
        queue.is_none_or(|queue| queue == "root.default" || !self.drains(&queue))
    }

    /// Pods with this reason at `PodScheduled`: none of a group or an application whose queue drains, since the limits of
    /// that one stay.
    pub(crate) fn pods_waiting_for(&self, reason: &str) -> Vec<Key> {
        let has_limits = self.has_limits();
        let may_have_more =
            |key: &Key, group: &str| if group.is_empty() { self.may_have_more(key) } else { has_limits(group) };
        let is_one = |(why, key, group): &(String, Key, String)| why == reason && may_have_more(key, group);
        self.reasons_of_pods().into_iter().filter(is_one).map(|(_, key, _)| key).collect()
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
        // Those who wait together again and again do so until the last of those who wait now has had its round.
        let counted = self.counted();
        let rounds = |(name, group): &(String, TaskGroup)| {
            let waiting = counted.iter().find(|of| of.name == *name).map_or(0, |of| of.numbers.waiting);
            waiting.div_ceil(group.spec.min_member.max(1))
        };
        let is_again = own.is_some_and(|(_, group)| group.spec.match_policy == MatchPolicy::OnlyWaiting);
        let rounds = groups.iter().filter(together).filter(|_| is_again).map(rounds).max().unwrap_or(0) + 1;
        for (name, group) in groups.iter().filter(together) {
            let cpu = &group.spec.min_resource["cpu"].0;
            // An edit that came before the status said that the gang has started counts for its next life.
            let count = in_force(group).max(group.spec.min_member);
            (0..count * rounds).for_each(|number| self.member(name, 1_000 + number, cpu));
        }
    }

    /// Everybody who can come, with room and quota.
    fn add_everybody(&mut self, group: &str) {
        self.lift_quotas();
        self.add_room();
        self.add_members(group);
    }

    /// Nobody says any more of a pod that it is a placeholder, which it is not, or mistypes a label: nothing else in plans is
    /// not supported.
    fn unmask(&mut self, group: &str) {
        let says = |body: &Body| is_placeholder(body) && !self.is_made(body) || is_mistyped(body);
        let own = |body: &Body| group.is_empty() || label(body, "gangline.dev/task-group") == Some(group);
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| says(body) && own(body));
        let pods: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
        for pod in pods {
            let edited = self.api.change_pod(&pod, |pod| {
                pod.metadata
                    .labels
                    .iter_mut()
                    .for_each(|labels| labels.retain(|name, _| name != PLACEHOLDER && name != MISTYPED));
                Ok(())
            });
            assert!(edited.is_ok(), "{pod} can be edited");
        }
    }

    /// No pod is a member of another system's gang any more.
    fn unmark(&mut self) {
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| label(body, FOREIGN).is_some());
        let pods: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
        for pod in pods {
            let edited = self.api.change_pod(&pod, |pod| {
                pod.metadata.labels.iter_mut().for_each(|labels| labels.retain(|name, _| name != FOREIGN));
                Ok(())
            });
            assert!(edited.is_ok(), "{pod} can be edited");
        }
    }

    /// No pod declares anything that cannot be read.
    fn unsay_all(&mut self) {
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| is_misspoken(body));
        let pods: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
        for pod in pods {
            let edited = self.api.change_pod(&pod, |pod| {
                unsay(pod);
                Ok(())
            });
            assert!(edited.is_ok(), "{pod} can be edited");
        }
    }

    /// Edits the specs of an application's task groups.
    fn edit_together(&mut self, group: &str, edit: impl Fn(&str, &mut TaskGroupSpec)) {
        let groups = self.groups();
        let Some((_, own)) = groups.iter().find(|(name, _)| name == group) else { return };
        let application = application_of(group, own);
        for (name, _) in groups.iter().filter(|(name, group)| application_of(name, group) == application) {
            let edited = self.api.edit(Kind::TaskGroup, &Key::new(NS, name.as_str()), |body| {
                if let Body::TaskGroup(group) = body {
                    edit(name, &mut Arc::make_mut(group).spec);
                }
            });
            assert!(edited.is_ok(), "{name} can be edited");
        }
    }

    /// A task group asks for what there may be, in a gang of what there is.
    fn correct(&mut self, group: &str) {
        self.edit_together(group, |_, spec| {
            spec.min_resource = [("cpu".to_owned(), Quantity("1".to_owned()))].into();
        });
        self.agree(group);
    }

    /// Its application may wait for ever.
    fn lift_timeouts(&mut self, group: &str) {
        self.edit_together(group, |_, spec| {
            // One whose seats are held one by one waits for ten minutes where it says nothing.
            spec.admission_timeout_seconds = None;
            spec.wait_timeout_seconds = (spec.mode == Mode::NonStrict).then_some(ENDLESS_S);
        });
        self.lift_timeouts_of_pod_groups();
    }

    /// A TaskGroup follows the PodGroup of which it was made.
    fn lift_timeouts_of_pod_groups(&mut self) {
        for kind in Family::ALL.map(Family::kind) {
            let keys: Vec<Key> = self.api.store.of_kind(kind).map(|(key, _)| key.clone()).collect();
            for key in keys {
                let edited = self.api.edit(kind, &key, |body| {
                    let wait = Some(i64::from(ENDLESS_S));
                    match body {
                        Body::KoordinatorPodGroup(group) => Arc::make_mut(group).spec.schedule_timeout_seconds = wait,
                        Body::CoschedulingPodGroup(group) => Arc::make_mut(group).spec.schedule_timeout_seconds = wait,
                        // They have no time.
                        Body::VolcanoPodGroup(_)
                        | Body::KubernetesPodGroup(_)
                        | Body::Pod(_)
                        | Body::Node(_)
                        | Body::TaskGroup(_)
                        | Body::Queue(_)
                        | Body::ResourceQuota(_)
                        | Body::Namespace(_) => {}
                    }
                });
                assert!(edited.is_ok(), "{key} can be edited");
            }
        }
    }

    /// All groups of an application agree with one of them: that one is edited only where it does not list them.
    fn agree(&mut self, group: &str) {
        let groups = self.groups();
        let Some((_, own)) = groups.iter().find(|(name, _)| name == group) else { return };
        let application = application_of(group, own);
        let together = groups.iter().filter(|(name, group)| application_of(name, group) == application);
        let mut gang_group: Vec<String> = together.map(|(name, _)| format!("{NS}/{name}")).collect();
        let listed: BTreeSet<&String> = own.spec.gang_group.iter().collect();
        if listed == gang_group.iter().collect() {
            gang_group.clone_from(&own.spec.gang_group);
        }
        self.edit_together(group, |_, spec| {
            *spec = TaskGroupSpec {
                application_id: spec.application_id.clone(),
                min_member: spec.min_member,
                total_member: spec.total_member,
                min_resource: spec.min_resource.clone(),
                gang_group: gang_group.clone(),
                ..own.spec.clone()
            };
        });
    }

    /// Every task group that one lists exists, and lists the same.
    fn define_listed(&mut self, group: &str) {
        let groups = self.groups();
        let Some((_, own)) = groups.iter().find(|(name, _)| name == group) else { return };
        for (namespace, name) in own.spec.gang_group.iter().filter_map(|listed| listed.split_once('/')) {
            let there = self.api.store.get(Kind::TaskGroup, &Key::new(namespace, name));
            let lists_the_same = |body: &Body| match body {
                Body::TaskGroup(group) => group.spec.gang_group == own.spec.gang_group,
                Body::Pod(_)
                | Body::Node(_)
                | Body::Queue(_)
                | Body::ResourceQuota(_)
                | Body::Namespace(_)
                | Body::KoordinatorPodGroup(_)
                | Body::CoschedulingPodGroup(_)
                | Body::VolcanoPodGroup(_)
                | Body::KubernetesPodGroup(_) => false,
            };
            if !there.is_some_and(lists_the_same) {
                let metadata = json!({"name": name, "namespace": namespace});
                // What is wrong with one is wrong with the other.
                self.apply_as_before(Kind::TaskGroup, &json!({"metadata": metadata, "spec": own.spec}));
            }
        }
    }

    /// The same, also for one that is gone and that others list.
    fn define_gang_of(&mut self, group: &str) {
        let own = format!("{NS}/{group}");
        let lists = |(name, other): &(String, TaskGroup)| name == group || other.spec.gang_group.contains(&own);
        self.groups().iter().filter(|one| lists(one)).for_each(|(name, _)| self.define_listed(name));
    }

    /// Queues that somebody names.
    fn named_queues(&self) -> BTreeSet<String> {
        let of_groups = self.groups().into_iter().filter_map(|(_, group)| group.spec.queue);
        let pods = self.api.store.of_kind(Kind::Pod).filter_map(|(_, body)| label(body, QUEUE));
        of_groups.chain(pods.map(str::to_owned)).collect()
    }

    /// The queue of a task group exists, or every one that somebody names, and those above.
    fn define_queues(&mut self, group: &str) {
        let own = self.groups().into_iter().find(|(name, _)| name == group);
        let own = own.and_then(|(_, group)| charged(&group).map(str::to_owned));
        let paths = if group.is_empty() { self.named_queues() } else { own.into_iter().collect() };
        for path in paths {
            for level in levels(&path).skip(1) {
                let exists = self.api.store.get(Kind::Queue, &Key::cluster(level)).is_some() || self.is_own(level);
                if !exists {
                    self.queue(level, 1_000);
                }
            }
        }
    }

    /// Every queue is for all namespaces, and none of these says where its own is.
    fn open_queues(&mut self) {
        self.lift_namespaces(false);
        self.doors().into_keys().for_each(|path| self.queue(&path, 1_000));
    }

    /// No queue lies below one that somebody names, be it a namespace's own, nor is anything there.
    fn fell_queues(&mut self) {
        let named = self.named_queues();
        let giving = |(path, door): (String, Option<Door>)| {
            Some((door.filter(|door| named.contains(&path) && door.gives())?, path))
        };
        for (door, path) in self.doors().into_iter().filter_map(giving) {
            self.rehome();
            self.write_queue(&door.without_own(&path, 1_000));
        }
        let is_below = |path: &str| levels(path).any(|above| above != path && named.contains(above));
        let of_group = |(_, group): &(String, TaskGroup)| group.spec.queue.as_deref().is_some_and(is_below);
        let groups: BTreeSet<String> = self.groups().into_iter().filter(of_group).map(|(name, _)| name).collect();
        let goes = |kind: Kind, key: &Key, body: &Body| match kind {
            Kind::Queue => is_below(&key.name),
            Kind::TaskGroup => groups.contains(&*key.name),
            Kind::Pod => {
                let charged = queue_mark(body);
                let queues = [label(body, QUEUE), charged.as_deref()];
                queues.into_iter().flatten().any(is_below) || group_of(body).is_some_and(|name| groups.contains(name))
            }
            Kind::Node
            | Kind::ResourceQuota
            | Kind::Namespace
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => false,
        };
        for kind in PLAYED {
            let all = self.api.store.of_kind(kind).filter(|(key, body)| goes(kind, key, body));
            let gone: Vec<Key> = all.map(|(key, _)| key.clone()).collect();
            gone.iter().for_each(|key| self.api.store.remove(kind, key));
        }
    }

    /// Every task group that a pod names exists.
    fn define_groups(&mut self) {
        let pods = self.api.store.of_kind(Kind::Pod);
        let named: BTreeSet<Key> =
            pods.filter_map(|(key, body)| Some(Key { name: group_of(body)?.into(), ..key.clone() })).collect();
        for Key { namespace, name } in named {
            if self.api.store.get(Kind::TaskGroup, &Key::new(&*namespace, &*name)).is_none() {
                let metadata = json!({"name": *name, "namespace": *namespace});
                let spec = json!({"minMember": 1, "minResource": {"cpu": "1"}});
                self.apply(Kind::TaskGroup, &json!({"metadata": metadata, "spec": spec}));
            }
        }
    }
}

/// The queue that a task group names; of one that names none the one where it is said to be, if that is not the usual one.
fn charged(group: &TaskGroup) -> Option<&str> {
    let said = group.status.as_ref().map(|status| status.queue.as_str());
    group.spec.queue.as_deref().or_else(|| said.filter(|queue| !["", USUAL_QUEUE].contains(queue)))
}
