//! Those who act by themselves: kubelets, garbage collection, the namespace controller, controllers of pods.

use gangline::core::ids::Key;
use gangline::shim::op::Kind;
use gangline::sim::store::Change;
use gangline::sim::{garbage, kubelet, namespace};

use super::{Event, World};
use crate::sim::people::{NS, node_of};

/// How often the namespace controller looks at what is left.
const SWEEP_MS: u64 = 1_000;

impl World {
    /// When something can happen that cannot happen now: the server is away, or a kubelet does nothing.
    pub(super) fn not_before(&self, event: &Event) -> Option<u64> {
        match event {
            Event::Kubelet(key) => self.away_until().max(self.hangs_until(key)),
            Event::Collect(_) | Event::Sweep(_) | Event::Found | Event::Mend(..) => self.away_until(),
            Event::Act(_)
            | Event::Start
            | Event::End(_)
            | Event::List(..)
            | Event::Watch(..)
            | Event::Serve(_)
            | Event::Unmute(_)
            | Event::Arrive(..)
            | Event::Answer(..) => None,
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

    /// The namespace controller looks at a namespace that terminates.
    pub(crate) fn sweep(&mut self, for_ms: u64) {
        if self.calm_ms.is_some() {
            // Whoever holds something there lets it go.
            let held: Vec<Key> = self.api.store.of_kind(Kind::Pod).map(|(key, _)| key.clone()).collect();
            held.iter().filter(|key| &*key.namespace == NS).for_each(|key| drop(self.api.let_go(Kind::Pod, key)));
        }
        let now = self.now().wall;
        if namespace::collect(&mut self.api, NS, now) {
            self.at(self.now_ms + SWEEP_MS, Event::Sweep(for_ms));
        } else {
            self.at(self.now_ms + for_ms, Event::Found);
        }
    }

    /// A kubelet, or the collector of what was on lost nodes, does what there is to do for a pod.
    pub(super) fn look_on_node(&mut self, key: &Key) {
        match kubelet::task(&self.api, key) {
            Some(kubelet::Task::Start) if self.chance.percent("unfit", &key.name, self.faults.unfit) => {
                self.end_on_node(key);
            }
            Some(kubelet::Task::Fail | kubelet::Task::Collect) => self.disturb_group_at(key),
            Some(kubelet::Task::Start | kubelet::Task::Stop | kubelet::Task::End) | None => {}
        }
        let now = self.now().wall;
        kubelet::act(&mut self.api, key, now);
    }

    pub(super) fn notice(&mut self, change: &Change) {
        self.announce(change.kind);
        match change.kind {
            Kind::Pod if !change.deleted => self.look_at(&change.seen.key),
            Kind::Pod => self.make_again(&change.seen.key),
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
            Kind::Node | Kind::TaskGroup | Kind::Queue | Kind::ResourceQuota => {}
        }
    }

    fn look_at(&mut self, key: &Key) {
        let idle = self.faults.idle_ms;
        if kubelet::task(&self.api, key).is_some() && self.looked_at.insert((true, key.clone())) {
            let delay = self.chance.delay("kubelet", &key.name, idle);
            self.at(self.now_ms + delay, Event::Kubelet(key.clone()));
        }
        if garbage::is_garbage(&self.api, key) && self.looked_at.insert((false, key.clone())) {
            let delay = self.chance.delay("garbage", &key.name, idle);
            self.at(self.now_ms + delay, Event::Collect(key.clone()));
        }
    }
}
