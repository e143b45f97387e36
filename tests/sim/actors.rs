//! Those who act by themselves: kubelets, garbage collection, the namespace controller, controllers of pods.

use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;
use gangline::sim::store::{Change, metadata};
use gangline::sim::{garbage, kubelet, namespace};

use super::{Act, Event, World};
use crate::sim::coverage::MEETINGS;
use crate::sim::marks::{is_member, seat_label, uid_mark};
use crate::sim::people::{NS, node_of};
use crate::sim::words::made_of;

/// How often the namespace controller looks at what is left.
const SWEEP_MS: u64 = 1_000;
/// How long nothing is heard of a node until it is marked.
const MARKED_MS: u64 = 40_000;
/// How long a controller waits that was refused something.
const TRIES_AGAIN_MS: u64 = 5_000;
/// How long a placeholder may be without its task group.
const ORPHANED_MS: u64 = 60_000;
/// How often an autoscaler looks.
const LOOKS_MS: u64 = 10_000;

impl World {
    /// When something can happen that cannot happen now: the server is away, or a kubelet does nothing.
    pub(super) fn not_before(&self, event: &Event) -> Option<u64> {
        match event {
            Event::Kubelet(key) => self.away_until().max(self.hangs_until(key)),
            Event::Collect(_)
            | Event::Orphans(_)
            | Event::Sweep(_)
            | Event::Found
            | Event::Mend(..)
            | Event::Mark(_)
            | Event::Jobs => self.away_until(),
            Event::Watch(number, _) => self.hears_nothing_until(*number, false),
            Event::Answer(number, ..) => self.hears_nothing_until(*number, true),
            Event::Act(_)
            | Event::Start
            | Event::End(_)
            | Event::List(..)
            | Event::Serve(_)
            | Event::Unmute(_)
            | Event::Arrive(..)
            | Event::Lease(_) => None,
        }
    }

    /// The kubelet of a node does nothing for a while.
    pub(crate) fn hang(&mut self, node: &str, for_ms: u64) {
        self.hanging.insert(node.to_owned(), self.now_ms + for_ms);
    }

    /// Until when the kubelet of a pod does nothing. What was on a node that is gone is not its business.
    fn hangs_until(&self, key: &Key) -> Option<u64> {
        let node = node_of(self.api.store.get(Kind::Pod, key)?)?;
        self.api.store.get(Kind::Node, &Key::cluster(node))?;
        self.hanging.get(node).copied().filter(|until| *until > self.now_ms)
    }

    /// The machine of a node dies.
    pub(crate) fn die_on(&mut self, node: &str) {
        let is_there = self.api.store.get(Kind::Node, &Key::cluster(node)).is_some();
        if is_there && self.dead.insert(node.to_owned()) {
            self.at(self.now_ms + MARKED_MS, Event::Mark(node.to_owned()));
        }
    }

    /// Whether the node of a pod is dead.
    fn is_on_a_dead_node(&self, key: &Key) -> bool {
        let node = self.api.store.get(Kind::Pod, key).and_then(node_of);
        node.is_some_and(|node| self.dead.contains(node))
    }

    /// An autoscaler looks for pods that are marked Unschedulable, now and from now on.
    pub(crate) fn autoscale(&mut self, name: &str, cpu: u32) {
        if self.somebody_finds_no_node() {
            self.node(name, cpu);
        } else if self.calm_ms.is_none() {
            let again = Act::Autoscale { name: name.to_owned(), cpu };
            self.at(self.now_ms + LOOKS_MS, Event::Act(Box::new(again)));
        }
    }

    /// The controllers of Jobs and StatefulSets are going to look, if one may want pods.
    pub(super) fn jobs_look(&mut self, longest: u64) {
        if (self.jobs.want() || self.sets.want()) && !self.jobs_due {
            self.jobs_due = true;
            let delay = self.chance.delay("jobs", "", longest);
            self.at(self.now_ms + delay, Event::Jobs);
        }
    }

    pub(crate) fn jobs_act(&mut self) {
        self.jobs_due = false;
        let now = self.now().wall;
        self.jobs.act(&mut self.api, now, usize::MAX);
        self.sets.act(&mut self.api, now);
        if self.jobs.want() || self.sets.want() {
            self.jobs_due = true;
            self.at(self.now_ms + TRIES_AGAIN_MS, Event::Jobs);
        }
    }

    /// The namespace controller looks at a namespace that terminates.
    pub(crate) fn sweep(&mut self, for_ms: u64) {
        let now = self.now().wall;
        if self.calm_ms.is_some() {
            // Whoever holds something there lets it go, and somebody takes away by force what no kubelet ends.
            let held: Vec<Key> = self.api.store.of_kind(Kind::Pod).map(|(key, _)| key.clone()).collect();
            for key in held.iter().filter(|key| &*key.namespace == NS) {
                // Of what neither finds anything to do.
                drop(self.api.let_go(Kind::Pod, key));
                if self.is_on_a_dead_node(key) {
                    drop(self.api.end_pod(key, now));
                }
            }
        }
        if namespace::collect(&mut self.api, NS, now) {
            self.at(self.now_ms + SWEEP_MS, Event::Sweep(for_ms));
        } else {
            self.api.store.remove(Kind::Namespace, &Key::cluster(NS));
            self.at(self.now_ms + for_ms, Event::Found);
        }
    }

    /// A kubelet, or the collector of what was on lost nodes, does what there is to do for a pod.
    pub(super) fn look_on_node(&mut self, key: &Key) {
        if self.is_on_a_dead_node(key) {
            return;
        }
        match kubelet::task(&self.api, key) {
            Some(kubelet::Task::Start) => {
                let unfit = self.happens("unfit", ("unfit", &key.name), self.faults.unfit).then(|| "cpu".into());
                let lacks = kubelet::lacks(&self.api, key);
                if lacks.is_some() {
                    self.note(|| MEETINGS[2].to_owned());
                }
                if let Some(lacks) = lacks.or(unfit) {
                    self.put_off(key, &format!("OutOf{lacks}"));
                }
            }
            Some(kubelet::Task::Fail | kubelet::Task::Collect) => self.disturb_group_at(key),
            Some(kubelet::Task::Stop | kubelet::Task::End) | None => {}
        }
        let now = self.now().wall;
        kubelet::act(&mut self.api, key, now);
    }

    pub(super) fn notice(&mut self, change: &Change) {
        self.announce(change.kind);
        if change.kind == Kind::Pod {
            self.remember(change);
            if let Ok(body) = &change.seen.body {
                self.jobs.note(&change.seen.key, body, change.deleted);
                self.sets.note(&change.seen.key, body);
                self.note_end(&change.seen.uid, body, change.deleted);
            }
            self.jobs_look(self.faults.idle_ms);
        }
        if change.kind == Kind::TaskGroup && change.deleted {
            self.went.insert(change.seen.uid.0.to_string(), self.now_ms);
        }
        if let Ok(Body::TaskGroup(group)) = &change.seen.body {
            self.mins.entry(change.seen.uid.0.to_string()).or_default().insert(group.spec.min_member);
            if !change.deleted {
                self.look_at_owner(&change.seen.key, group);
            }
        }
        match change.kind {
            Kind::Pod if !change.deleted => self.look_at(&change.seen.key),
            Kind::Pod => {
                change.seen.body.iter().for_each(|body| self.bury(&change.seen.key, body));
                self.make_again(&change.seen.key);
                self.collect_groups_of(&change.seen.uid.0);
            }
            Kind::TaskGroup | Kind::Node if change.deleted || change.kind == Kind::Node => {
                let node = &*change.seen.key.name;
                let concerned = |key: &Key, pod| {
                    let there = change.kind == Kind::Node && node_of(pod) == Some(node);
                    there || change.kind == Kind::TaskGroup && garbage::is_garbage(&self.api, key)
                };
                let pods = self.api.store.of_kind(Kind::Pod).filter(|(key, pod)| concerned(key, pod));
                let keys: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| self.look_at(key));
            }
            Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup
                if change.deleted =>
            {
                self.orphan(&change.seen.uid.0);
            }
            Kind::Node
            | Kind::TaskGroup
            | Kind::Queue
            | Kind::ResourceQuota
            | Kind::Namespace
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => {}
        }
    }

    /// A TaskGroup comes, perhaps when the PodGroup is gone of which it was made.
    fn look_at_owner(&mut self, key: &Key, group: &TaskGroup) {
        let Some((kind, uid)) = made_of(group) else { return };
        let owner = self.api.store.get(kind, key).and_then(|body| metadata(body).uid.clone());
        if owner.as_deref() != Some(uid) {
            self.orphan(uid);
        }
    }

    /// A PodGroup is gone: the garbage collector is going to take what was made of it.
    fn orphan(&mut self, owner: &str) {
        let delay = self.chance.delay("garbage", owner, self.faults.idle_ms);
        self.at(self.now_ms + delay, Event::Orphans(owner.to_owned()));
    }

    pub(super) fn collect_orphans(&mut self, owner: &str) {
        let mut groups = self.groups();
        groups.retain(|(_, group)| made_of(group).is_some_and(|(_, uid)| uid == owner));
        for (name, _) in groups {
            self.has_acted = true;
            self.act(&Act::DropGroup { name });
        }
    }

    /// A pod is gone: of a member that had ended nobody is left to tell. I6: a placeholder outlives its task group by a minute
    /// at most, where nothing goes wrong.
    pub(crate) fn bury(&mut self, key: &Key, body: &Body) {
        // Garbage collection takes those with an owner, of others only the scheduler.
        let group = seat_label(body).map(|seat| seat.uid().0.to_string());
        let went = group.and_then(|group| self.went.get(&group)).filter(|_| self.is_made(body));
        let orphaned = went.zip(self.calm_ms).map(|(went, calm)| self.now_ms - calm.max(*went));
        if let Some(orphaned) = orphaned.filter(|ms| *ms > ORPHANED_MS) {
            self.violated("I6", format!("{key} outlived its task group by {orphaned} ms"));
        }
        let has_ended = matches!(body, Body::Pod(pod) if has_ended(pod));
        if let Some(uid) = uid_mark(body).filter(|_| is_member(body)) {
            let gone = if has_ended { &mut self.ended } else { &mut self.lost };
            *gone.entry(uid.to_owned()).or_default() += 1;
        }
    }

    /// The garbage collector takes the TaskGroups that went with a pod.
    fn collect_groups_of(&mut self, pod: &str) {
        let mut groups = self.groups();
        groups.retain(|(_, group)| group.metadata.owner_references.iter().flatten().any(|owner| owner.uid == pod));
        for (name, _) in groups {
            let delay = self.chance.delay("garbage", &name, self.faults.idle_ms);
            self.at(self.now_ms + delay, Event::Act(Box::new(Act::DropGroup { name })));
        }
    }

    fn look_at(&mut self, key: &Key) {
        let idle = self.faults.idle_ms;
        let has_work = !self.is_on_a_dead_node(key) && kubelet::task(&self.api, key).is_some();
        if has_work && self.looked_at.insert((true, key.clone())) {
            let delay = self.delayed("idle_ms", ("kubelet", &key.name), idle);
            self.at(self.now_ms + delay, Event::Kubelet(key.clone()));
        }
        if garbage::is_garbage(&self.api, key) && self.looked_at.insert((false, key.clone())) {
            let delay = self.chance.delay("garbage", &key.name, idle);
            self.at(self.now_ms + delay, Event::Collect(key.clone()));
        }
    }
}
