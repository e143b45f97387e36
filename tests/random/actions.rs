//! What can happen in a random history.

use gangline::core::event::{Event, Place, PlaceholderFor, PlaceholderName, QueueSpec, Reservation, Role};
use gangline::core::ids::{AskId, Key, Uid};
use gangline::core::reason::Unsupported;
use gangline::core::resources::Limit;
use gangline::core::shape::Shape;

use super::world::World;
use crate::support::cluster::{NS, size};

const GROUPS: [&str; 6] = ["g0", "g1", "g2", "g3", "p0", "p1"];
const QUEUES: [&str; 7] = ["root.default", "root.default", "root.a", "root.a", "root.b.x", "root.b.y", "root.none"];

impl World {
    /// One thing happens; mostly the scheduler looks at it at once.
    pub fn act(&mut self) {
        match self.dice.below(100) {
            0..36 => self.some_work(),
            36..42 => self.wait(),
            42..48 => self.some_group(),
            48..50 => self.change_group(),
            50..52 => self.lose_group(),
            52..67 => self.some_member(),
            67..71 => self.some_other_pod(),
            71..77 => self.some_pod(Self::remove_pod),
            77..80 => self.some_pod(Self::terminate),
            80..84 => self.some_pod(Self::finish),
            84..88 => self.some_node(),
            88..90 => self.lose_node(),
            90..93 => self.some_queue(),
            93 => self.lose_queue(),
            94 => self.foreign(),
            95..97 => self.repeat(),
            97 => self.forge(),
            98 => self.ungate(),
            _ if self.faulty => self.restart(),
            _ => self.some_member(),
        }
        if self.dice.percent(80) {
            self.step();
        }
    }

    fn some_work(&mut self) {
        if !self.late.is_empty() && self.dice.percent(20) {
            let at = self.dice.below(self.late.len());
            let spec = self.late.remove(at);
            return self.cluster.show(spec);
        }
        if !self.work.is_empty() {
            let at = self.dice.below(self.work.len());
            self.work_on(at);
        }
    }

    fn wait(&mut self) {
        let millis = [10, 400, 1_100, 2_000, 6_000, 31_000][self.dice.below(6)];
        let now = &mut self.cluster.now;
        (now.mono, now.wall) = (now.mono.after(millis), now.wall.after(millis));
    }

    fn some_group(&mut self) {
        let name = GROUPS[self.dice.below(GROUPS.len())];
        if self.cluster.groups.contains_key(name) {
            return;
        }
        self.serial += 1;
        let min = 1 + self.dice.below(4) as u32;
        let mut spec = self.cluster.group(name, min);
        spec.uid = Uid::new(format!("uid-{name}-{}", self.serial));
        spec.created = 10 + i64::from(self.serial % 3);
        spec.queue = QUEUES[self.dice.below(QUEUES.len())].into();
        spec.reservation = if self.dice.percent(40) { Reservation::Direct } else { Reservation::Placeholder };
        spec.placeholder_for = if self.dice.percent(50) { PlaceholderFor::All } else { PlaceholderFor::Missing };
        if name.starts_with('p') {
            spec.application = "pair".into();
            if self.dice.percent(85) {
                spec.gang = vec!["p0".into(), "p1".into()];
                (spec.queue, spec.reservation) = ("root.default".into(), Reservation::Placeholder);
            }
        }
        let cpu = 1 + i64::from(self.dice.percent(20));
        (spec.min_resource, spec.shape) = (size(cpu), Shape { request: size(cpu), ..Shape::default() }.into());
        self.say(|| {
            format!("group {name}: {min}x{cpu} {:?}/{:?} {}", spec.reservation, spec.placeholder_for, spec.queue)
        });
        self.disturbed.remove(name);
        self.cluster.apply(name, spec);
    }

    fn known_group(&mut self) -> Option<String> {
        let names: Vec<_> = self.cluster.groups.keys().cloned().collect();
        self.dice.pick(&names).cloned()
    }

    fn change_group(&mut self) {
        let Some(name) = self.known_group() else { return };
        let mut spec = self.cluster.groups[&name].clone();
        spec.generation += 1;
        // A restart knows only the latest spec, not the one that was accepted.
        self.disturbed.insert(name.clone());
        match self.dice.below(4) {
            0 => spec.completion_timeout_ms = 1_000 + 1_000 * self.dice.below(60) as u64,
            1 => spec.queue = QUEUES[self.dice.below(QUEUES.len())].into(),
            2 => spec.min_member = 1 + self.dice.below(4) as u32,
            _ => spec.application = "pair".into(),
        }
        self.say(|| format!("change {name}: {} {} {}", spec.min_member, spec.queue, spec.application));
        self.cluster.apply(&name, spec);
    }

    fn lose_group(&mut self) {
        let Some(name) = self.known_group() else { return };
        self.say(|| format!("lose group {name}"));
        self.disturbed.insert(name.clone());
        if name.starts_with('p') {
            self.disturbed.extend(["p0".to_owned(), "p1".to_owned()]);
        }
        self.cluster.lose_group(&name);
    }

    fn some_member(&mut self) {
        let name = match self.known_group() {
            Some(name) if self.dice.percent(90) => name,
            _ => GROUPS[self.dice.below(GROUPS.len())].to_owned(),
        };
        self.serial += 1;
        let mut spec =
            self.cluster.pod(&format!("{name}-m{}", self.serial), Role::Member { group: name.as_str().into() });
        self.vary(&mut spec);
        self.say(|| format!("member {} of {} cpu {}", spec.key.name, spec.shape.request.base[0], spec.priority));
        self.cluster.show(spec);
    }

    fn vary(&mut self, spec: &mut gangline::core::event::AskSpec) {
        spec.created = 20 + self.dice.below(3) as i64;
        spec.priority = i32::from(self.dice.percent(20));
        if self.dice.percent(15) {
            spec.shape = Shape { request: size(1 + self.dice.below(3) as i64), ..Shape::default() }.into();
        }
        match self.dice.below(40) {
            0 => spec.place = Place::Gated,
            1 => spec.place = Place::Refused(Unsupported { field: "spec.x".into() }),
            _ => {}
        }
    }

    fn some_other_pod(&mut self) {
        self.serial += 1;
        let role = if self.dice.percent(50) {
            Role::Singleton
        } else {
            let application = ["g0", "g1", "pair", "free"][self.dice.below(4)].into();
            Role::Originator { application }
        };
        let mut spec = self.cluster.pod(&format!("s{}", self.serial), role);
        self.vary(&mut spec);
        if self.dice.percent(50) {
            spec.queue = Some(QUEUES[self.dice.below(QUEUES.len())].into());
        }
        self.say(|| format!("pod {} {:?} {:?}", spec.key.name, spec.role, spec.queue));
        self.cluster.show(spec);
    }

    fn some_pod(&mut self, change: fn(&mut Self, &str)) {
        let names: Vec<_> = self.cluster.pods.keys().cloned().collect();
        if let Some(name) = self.dice.pick(&names).cloned() {
            change(self, &name);
        }
    }

    fn finish(&mut self, name: &str) {
        let spec = self.cluster.pods[name].1.clone();
        if !matches!(spec.place, Place::On { .. }) {
            return;
        }
        let succeeded = self.dice.percent(70);
        self.say(|| format!("{name} ends: {succeeded}"));
        self.disturb(&spec);
        let place = if succeeded { Place::Succeeded } else { Place::Failed { reason: "Error".into() } };
        self.change(name, |spec| spec.place = place);
    }

    fn ungate(&mut self) {
        let gated = |(name, (_, spec)): (&String, &(AskId, _))| {
            let spec: &gangline::core::event::AskSpec = spec;
            (spec.place == Place::Gated).then(|| name.clone())
        };
        let names: Vec<_> = self.cluster.pods.iter().filter_map(gated).collect();
        for name in names {
            self.say(|| format!("ungate {name}"));
            self.change(&name, |spec| spec.place = Place::Pending);
        }
    }

    fn some_node(&mut self) {
        let name = format!("n{}", self.dice.below(5));
        let cpu = 1 + self.dice.below(5) as i64;
        if self.dice.percent(30)
            && let Some(spec) = self.cluster.nodes.get(&name)
        {
            let mut spec = spec.clone();
            spec.unschedulable = !spec.unschedulable;
            // A swap under way may find its node closed when it is confirmed.
            for (_, pod) in self.cluster.pods.clone().values() {
                if matches!(pod.role, Role::Placeholder(_)) && self.is_releasing(pod) {
                    self.disturb_gang(pod);
                }
            }
            self.say(|| format!("node {name} unschedulable: {}", spec.unschedulable));
            return self.cluster.show_node(&name, spec);
        }
        self.say(|| format!("node {name} {cpu}"));
        if !self.cluster.nodes.contains_key(&name) || self.dice.percent(20) {
            self.cluster.node(&name, cpu);
        }
    }

    fn lose_node(&mut self) {
        let names: Vec<_> = self.cluster.nodes.keys().cloned().collect();
        let Some(name) = self.dice.pick(&names).cloned() else { return };
        self.say(|| format!("lose node {name}"));
        for (id, spec) in self.cluster.pods.clone().values() {
            let is_there = matches!(&spec.place, Place::On { node, .. } if **node == *name);
            if is_there || self.intents.get(id).is_some_and(|(node, _)| **node == *name) {
                self.disturb_gang(spec);
            }
        }
        self.cluster.lose_node(&name);
    }

    fn some_queue(&mut self) {
        let path = ["root.a", "root.a", "root.b", "root.b.x", "root.b.y", "root.a.z", "root.none"][self.dice.below(7)];
        let cpu = 1 + self.dice.below(9) as i64;
        self.say(|| format!("queue {path} {cpu}"));
        self.lowered = true;
        let max_applications = self.dice.percent(30).then(|| 1 + self.dice.below(2) as u32);
        let max = Limit::new([("cpu".into(), i128::from(cpu) * 1000)]);
        self.cluster.show_queue(path, QueueSpec { max, max_applications });
    }

    fn lose_queue(&mut self) {
        let paths: Vec<_> = self.cluster.queues.keys().cloned().collect();
        let Some(path) = self.dice.pick(&paths).cloned() else { return };
        self.say(|| format!("lose queue {path}"));
        self.cluster.lose_queue(&path);
    }

    /// Another scheduler's pod, wherever it wants to be.
    fn foreign(&mut self) {
        self.serial += 1;
        let mut spec = self.cluster.pod(&format!("f{}", self.serial), Role::Foreign);
        let node = format!("n{}", self.dice.below(5));
        self.say(|| format!("foreign {} on {node}", spec.key.name));
        // Whoever holds room there may find it taken when its swap is confirmed.
        for (_, pod) in self.cluster.pods.clone().values() {
            let is_there = matches!(&pod.place, Place::On { node: own, .. } if **own == *node);
            if is_there && matches!(pod.role, Role::Placeholder(_)) {
                self.disturb_gang(pod);
            }
        }
        spec.place = Place::On { node: node.as_str().into(), running: true };
        self.cluster.show(spec);
    }

    /// Facts that are known, or about what is gone.
    fn repeat(&mut self) {
        let names: Vec<_> = self.cluster.pods.keys().cloned().collect();
        if let Some(name) = self.dice.pick(&names).cloned() {
            self.change(&name, |_| {});
        }
        self.cluster.tell(Event::AskGone(AskId { index: 9_999, generation: 3 }));
        self.cluster.tell(Event::GroupGone(Key::new(NS, "nobody")));
        self.cluster.tell(Event::NodeGone("nowhere".into()));
        self.cluster.tell(Event::QueueGone("root.nothing".into()));
    }

    /// A placeholder that we never asked for.
    fn forge(&mut self) {
        let name = self.known_group().unwrap_or_else(|| "g0".into());
        let uid = match self.cluster.groups.get(&name) {
            Some(spec) if self.dice.percent(70) => spec.uid.clone(),
            _ => Uid::new("uid-forged"),
        };
        let group = Key::new(NS, name.as_str());
        let (incarnation, seat) = (1 + self.dice.below(2) as u32, self.dice.below(4) as u32);
        let forged = PlaceholderName { group, uid, incarnation, seat, attempt: self.dice.below(2) as u32 };
        self.say(|| format!("forge {name}/{seat}"));
        if !self.cluster.pods.contains_key(&crate::support::cluster::pod_name(&forged)) {
            self.cluster.create(&forged);
        }
    }
}
