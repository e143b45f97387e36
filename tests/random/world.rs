//! The cluster of a random history: what is decided and not carried out yet, and what was done to whom.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, BindOutcome, Event, Place, PlaceholderName, Role};
use gangline::core::ids::{AskId, Text};
use gangline::core::reason::Refusal;

use super::dice::Dice;
use crate::support::cluster::{Cluster, pod_name};

/// Something on its way.
#[derive(Clone, Debug)]
pub enum Work {
    /// A decision to be carried out.
    Do(Decision),
    /// A pod that terminates ends.
    Kill(String),
}

/// A cluster, and what is known of it from outside.
pub struct World {
    pub cluster: Cluster,
    pub dice: Dice,
    pub work: Vec<Work>,
    /// Pods whose watch event is late.
    pub late: Vec<AskSpec>,
    /// Bindings decided and not answered: node and queue.
    pub intents: BTreeMap<AskId, (Text, Text)>,
    /// Groups from which something outside took members or seats after they started.
    pub disturbed: BTreeSet<String>,
    /// Queues whose limit was lowered, perhaps below usage.
    pub lowered: bool,
    /// Whether calls fail.
    pub faulty: bool,
    pub serial: u32,
    verbose: bool,
}

impl World {
    pub fn new(seed: u64, verbose: bool) -> Self {
        let mut world = Self {
            cluster: Cluster::default(),
            dice: Dice(seed),
            work: Vec::new(),
            late: Vec::new(),
            intents: BTreeMap::new(),
            disturbed: BTreeSet::new(),
            lowered: false,
            faulty: seed % 3 != 0,
            serial: 0,
            verbose,
        };
        for number in 0..1 + world.dice.below(4) {
            let cpu = 1 + world.dice.below(5) as i64;
            world.cluster.node(&format!("n{number}"), cpu);
        }
        world.cluster.set_queue("root.a", 3 + world.dice.below(6) as i64);
        world.cluster.set_queue("root.b", 20);
        world.cluster.set_queue("root.b.x", 2 + world.dice.below(4) as i64);
        world.cluster.set_queue("root.b.y", 6);
        world.step();
        world
    }

    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("{:>7} {}", self.cluster.now.mono.0, what());
        }
    }

    /// One step; what it decides is checked and waits to be carried out.
    pub fn step(&mut self) {
        let before = self.cluster.log.len();
        self.cluster.step();
        for line in &self.cluster.log[before..] {
            self.say(|| format!("        -> {line}"));
        }
        for decision in std::mem::take(&mut self.cluster.decisions) {
            self.check_decision(&decision);
            match &decision {
                Decision::Allocate { ask, node, mark } => {
                    let node = self.cluster.scheduler.books.nodes.name(*node).expect("a node with a name").clone();
                    self.intents.insert(*ask, (node, mark.queue.clone()));
                    self.work.push(Work::Do(decision));
                }
                Decision::Recall(ask) => self.recall(*ask),
                Decision::CancelPlaceholder(name) => self.cancel(&name.clone()),
                Decision::CreatePlaceholder(_) | Decision::Release(..) | Decision::ShowGroup(_) => {
                    self.work.push(Work::Do(decision));
                }
                Decision::ShowAsk(_) | Decision::ShowQueue(_) => {}
            }
        }
        self.check_always();
    }

    /// A creation that was sent already is not taken back.
    fn cancel(&mut self, name: &PlaceholderName) {
        let keep = self.faulty && self.dice.percent(20);
        self.work.retain(|work| keep || !matches!(work, Work::Do(Decision::CreatePlaceholder(own)) if own == name));
    }

    /// A Binding that was sent already is not taken back either.
    fn recall(&mut self, ask: AskId) {
        let is_it = |work: &Work| matches!(work, Work::Do(Decision::Allocate { ask: own, .. }) if *own == ask);
        let waits = self.work.iter().any(is_it);
        if waits && !(self.faulty && self.dice.percent(20)) {
            self.work.retain(|work| !is_it(work));
            self.intents.remove(&ask);
            self.cluster.tell(Event::Bind(ask, BindOutcome::Recalled));
        }
    }

    pub fn name_of(&self, ask: AskId) -> Option<String> {
        self.cluster.pods.iter().find(|(_, (id, _))| *id == ask).map(|(name, _)| name.clone())
    }

    /// Carries out one piece of work.
    pub fn work_on(&mut self, at: usize) {
        let work = self.work.remove(at);
        match work {
            Work::Kill(name) => self.remove_pod(&name),
            Work::Do(Decision::Allocate { ask, node, mark }) => {
                self.say(|| format!("bind {:?}", self.name_of(ask)));
                let (node_name, queue) = self.intents.remove(&ask).expect("every Binding is an intent");
                let pod = self.name_of(ask).map(|name| self.cluster.pods[&name].1.clone());
                let fine = pod.filter(|spec| spec.place == Place::Pending && !spec.terminating);
                let code = if fine.is_none() { 409 } else { [403, 422, 500][self.dice.below(3)] };
                match fine {
                    Some(mut spec) if !(self.faulty && self.dice.percent(10)) => {
                        let _ = (node, queue);
                        spec.place = Place::On { node: node_name, running: true };
                        spec.mark = Some(mark);
                        self.bound(ask, spec);
                    }
                    refused => {
                        self.say(|| format!("     refused {code}"));
                        refused.into_iter().for_each(|spec| self.disturb(&spec));
                        let refusal = Refusal { code, message: "no".into() };
                        self.cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal)));
                    }
                }
            }
            Work::Do(Decision::CreatePlaceholder(name)) => {
                let exists = self.cluster.pods.contains_key(&pod_name(&name));
                if exists || self.faulty && self.dice.percent(8) {
                    self.say(|| format!("refuse to create {}/{}", name.group.name, name.seat));
                    let refusal = Refusal { code: if exists { 409 } else { 403 }, message: "no".into() };
                    return self.cluster.tell(Event::CreateRefused(name, refusal));
                }
                self.say(|| format!("create {}/{}-{}", name.group.name, name.seat, name.attempt));
                self.cluster.create(&name);
            }
            Work::Do(Decision::Release(ask, _)) => {
                let Some(name) = self.name_of(ask) else { return };
                if self.faulty && self.dice.percent(10) {
                    self.say(|| format!("refuse to delete {name}"));
                    let refusal = Refusal { code: 403, message: "no".into() };
                    return self.cluster.tell(Event::ReleaseRefused(ask, refusal));
                }
                if self.dice.percent(40) { self.terminate(&name) } else { self.remove_pod(&name) }
            }
            Work::Do(decision) => self.cluster.carry_out(decision),
        }
    }

    /// Outcome and watch come in either order, or the watch late.
    fn bound(&mut self, ask: AskId, spec: AskSpec) {
        self.late.retain(|late| late.key != spec.key);
        let name = spec.key.name.to_string();
        match self.dice.below(3) {
            0 => {
                self.cluster.pods.get_mut(&name).expect("it is bound").1 = spec.clone();
                self.cluster.tell(Event::Bind(ask, BindOutcome::Bound));
                self.late.push(spec);
            }
            1 => {
                self.cluster.tell(Event::Bind(ask, BindOutcome::Bound));
                self.cluster.show(spec);
            }
            _ => {
                self.cluster.show(spec);
                self.cluster.tell(Event::Bind(ask, BindOutcome::Bound));
            }
        }
    }

    /// Shows a changed pod; what was late about it is past.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut AskSpec)) {
        let mut spec = self.cluster.pods[name].1.clone();
        change(&mut spec);
        self.late.retain(|late| late.key != spec.key);
        self.cluster.show(spec);
    }

    pub fn terminate(&mut self, name: &str) {
        self.say(|| format!("terminate {name}"));
        self.disturb(&self.cluster.pods[name].1.clone());
        self.change(name, |spec| spec.terminating = true);
        self.work.push(Work::Kill(name.into()));
    }

    pub fn remove_pod(&mut self, name: &str) {
        let Some((_, spec)) = self.cluster.pods.get(name) else { return };
        self.say(|| format!("pod {name} is gone"));
        let spec = spec.clone();
        self.disturb(&spec);
        self.late.retain(|late| late.key != spec.key);
        self.cluster.delete(name);
    }

    /// Something happens to a pod that its gang cannot help.
    pub fn disturb(&mut self, spec: &AskSpec) {
        // A placeholder whose member is to come is released by us: no disturbance.
        if !(matches!(spec.role, Role::Placeholder(_)) && self.is_releasing(spec)) {
            self.disturb_gang(spec);
        }
    }

    pub fn disturb_gang(&mut self, spec: &AskSpec) {
        self.disturbed.extend(match &spec.role {
            Role::Member { group } => Some(group.to_string()),
            Role::Placeholder(name) => Some(name.group.name.to_string()),
            Role::Foreign | Role::Singleton | Role::Originator { .. } => None,
        });
    }

    pub fn is_releasing(&self, spec: &AskSpec) -> bool {
        let (id, _) = &self.cluster.pods[&*spec.key.name];
        self.cluster.scheduler.books.asks.get(*id).is_some_and(|ask| ask.leaving.is_some())
    }

    /// The process dies; bindings on their way may still be carried out or not, nobody learns how they end.
    pub fn restart(&mut self) {
        self.say(|| "restart".into());
        for at in (0..self.work.len()).rev() {
            if matches!(self.work[at], Work::Do(_)) && self.dice.percent(30) {
                self.work_on(at);
            }
        }
        for work in std::mem::take(&mut self.work) {
            match work {
                Work::Kill(_) => self.work.push(work),
                Work::Do(Decision::Allocate { ask, .. }) => {
                    let pod = self.name_of(ask).map(|name| self.cluster.pods[&name].1.clone());
                    pod.into_iter().for_each(|spec| self.disturb(&spec));
                }
                Work::Do(_) => {}
            }
        }
        self.intents.clear();
        self.late.clear();
        let dice = &mut self.dice;
        self.cluster.restart_in_order(|objects| {
            for at in (1..objects.len()).rev() {
                objects.swap(at, dice.below(at + 1));
            }
        });
    }
}
