//! A cluster that does what the core decides, one word at a time: nodes, queues, groups and pods by name, decisions
//! carried out when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use gangline::core::base::ids::{AskId, GroupId, Key, Text, Uid};
use gangline::core::base::resources::{Limit, Resources};
use gangline::core::codes::Code;
use gangline::core::decision::{Decision, TerminationType};
use gangline::core::event::{
    AskSpec, BindOutcome, Event, GroupSpec, Mark, MatchPolicy, Mode, NamespaceSpec, Place, PlaceholderFor,
    PlaceholderName, QueueSpec, Remembered, Reservation, Role, Style,
};
use gangline::core::model::countdown::{Deadline, Timeouts};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::Refusal;
use gangline::core::shape::{NodeSpec, Shape};
use gangline::core::show::report::GroupReport;
use gangline::core::step::Scheduler;
use gangline::core::time::{Mono, Now, Wall};

pub use super::names::listed;
use super::names::{key_of, name_of};

/// Namespace of everything here.
pub const NS: &str = "ns";

/// A scheduler with the cluster it believes in.
#[derive(Clone)]
pub struct Cluster {
    pub scheduler: Scheduler,
    pub now: Now,
    pub pods: BTreeMap<String, (AskId, AskSpec)>,
    pub groups: BTreeMap<String, GroupSpec>,
    pub nodes: BTreeMap<String, NodeSpec>,
    pub queues: BTreeMap<String, QueueSpec>,
    pub namespaces: BTreeMap<String, NamespaceSpec>,
    /// What the status of each task group says.
    pub statuses: BTreeMap<String, Remembered>,
    next: u32,
    /// Decisions not carried out yet.
    pub decisions: Vec<Decision>,
    pub events: Vec<Event>,
    /// Every decision so far, as text.
    pub log: Vec<String>,
    /// As what the placeholders of a group come out of admission, where that is not what was asked for.
    pub admitted: BTreeMap<String, Arc<Shape>>,
}

/// One timeout of so many seconds.
pub fn timeouts(what: Deadline, seconds: u64) -> Timeouts {
    Timeouts::default().with(what, Some(1_000 * seconds))
}

/// `cpu` cores and 1 GiB.
pub fn size(cpu: i64) -> Resources {
    Resources::pod(cpu * 1000, 1 << 30)
}

impl Default for Cluster {
    fn default() -> Self {
        Self::unsynced().synced()
    }
}

/// What is reported of a group, with its sentence.
#[derive(Debug)]
pub struct Shown {
    report: GroupReport,
    /// The word for its reason.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
}

impl std::ops::Deref for Shown {
    type Target = GroupReport;

    fn deref(&self) -> &GroupReport {
        &self.report
    }
}

impl Cluster {
    /// A scheduler that has not listed anything.
    pub fn unsynced() -> Self {
        Self {
            scheduler: Scheduler::new(),
            now: Now { mono: Mono(0), wall: Wall(1_000_000) },
            pods: BTreeMap::new(),
            groups: BTreeMap::new(),
            nodes: BTreeMap::new(),
            queues: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            statuses: BTreeMap::new(),
            next: 0,
            decisions: Vec::new(),
            events: Vec::new(),
            log: Vec::new(),
            admitted: BTreeMap::new(),
        }
    }

    /// Everything is listed.
    pub fn synced(mut self) -> Self {
        self.tell(Event::GroupsListed);
        self.tell(Event::QueuesListed);
        self.tell(Event::Synced);
        self
    }

    /// `count` nodes n0, n1, … of `cpu` cores, 100 GiB and 110 pods.
    pub fn nodes(mut self, count: u32, cpu: i64) -> Self {
        for number in 0..count {
            self.node(&format!("n{number}"), cpu);
        }
        self
    }

    /// One node.
    pub fn node(&mut self, name: &str, cpu: i64) {
        let allocatable = Resources { base: [cpu * 1000, 100 << 30, 0, 110], rare: Vec::new() };
        self.show_node(name, NodeSpec { allocatable, ..NodeSpec::default() });
    }

    /// Shows a node as it is now.
    pub fn show_node(&mut self, name: &str, spec: NodeSpec) {
        self.nodes.insert(name.into(), spec.clone());
        self.tell(Event::Node(name.into(), Box::new(spec)));
    }

    /// A node's object goes; its pods stay until somebody deletes them.
    pub fn lose_node(&mut self, name: &str) {
        self.nodes.remove(name);
        self.tell(Event::NodeGone(name.into()));
    }

    /// A queue with so many cores.
    pub fn queue(mut self, path: &str, cpu: i64) -> Self {
        self.set_queue(path, cpu);
        self
    }

    /// A queue with so many cores.
    pub fn set_queue(&mut self, path: &str, cpu: i64) {
        let max = Limit::new([("cpu".into(), i128::from(cpu) * 1000)]);
        self.show_queue(path, QueueSpec { max, ..QueueSpec::default() });
    }

    /// Shows a queue as it is now.
    pub fn show_queue(&mut self, path: &str, spec: QueueSpec) {
        self.queues.insert(path.into(), spec.clone());
        self.tell(Event::Queue(path.into(), spec));
    }

    /// Shows a namespace as it is now.
    pub fn show_namespace(&mut self, name: &str, spec: NamespaceSpec) {
        self.namespaces.insert(name.into(), spec.clone());
        self.tell(Event::Namespace(name.into(), Box::new(spec)));
    }

    /// A namespace goes.
    pub fn lose_namespace(&mut self, name: &str) {
        self.namespaces.remove(name);
        self.tell(Event::NamespaceGone(name.into()));
    }

    /// A queue's object goes.
    pub fn lose_queue(&mut self, path: &str) {
        self.queues.remove(path);
        self.tell(Event::QueueGone(path.into()));
    }

    /// A task group of `min` members of 1 core in `root.default`, placeholders for missing members.
    pub fn group(&self, name: &str, min: u32) -> GroupSpec {
        GroupSpec {
            uid: Uid::new(format!("uid-{name}")),
            generation: 1,
            created: 10,
            application: name.into(),
            queue: Some("root.default".into()),
            submitter: None,
            min_member: min,
            total_member: None,
            min_resource: size(1),
            shape: Arc::new(Shape { request: size(1), ..Shape::default() }),
            gang: listed([name]),
            across: None,
            reservation: Reservation::Placeholder,
            placeholder_for: PlaceholderFor::Missing,
            style: Style::Soft,
            mode: Mode::Strict,
            match_policy: MatchPolicy::OnceSatisfied,
            timeouts: timeouts(Deadline::Completion, 30),
            seat_hold: 0,
            errors: Vec::new(),
            remembered: Remembered::default(),
            terminating: false,
            awaits_edit: false,
        }
    }

    /// A task group whose seats are held by no pods.
    pub fn direct(&self, name: &str, min: u32) -> GroupSpec {
        GroupSpec { reservation: Reservation::Direct, ..self.group(name, min) }
    }

    /// A task group with a placeholder for every member.
    pub fn all(&self, name: &str, min: u32) -> GroupSpec {
        GroupSpec { placeholder_for: PlaceholderFor::All, ..self.group(name, min) }
    }

    /// Applies a task group in a queue.
    pub fn submit(&mut self, name: &str, queue: &str, spec: GroupSpec) {
        self.apply(name, GroupSpec { queue: Some(queue.into()), ..spec });
    }

    /// Applies a task group.
    pub fn apply(&mut self, name: &str, spec: GroupSpec) {
        self.groups.insert(name.into(), spec.clone());
        self.tell(Event::Group(key_of(name), Box::new(spec)));
    }

    /// A task group's object goes.
    pub fn lose_group(&mut self, name: &str) {
        self.groups.remove(name);
        self.statuses.remove(name);
        self.tell(Event::GroupGone(key_of(name)));
    }

    /// A pending pod of 1 core.
    pub fn pod(&self, name: &str, role: Role) -> AskSpec {
        AskSpec {
            key: Key::new(NS, name),
            created: 20,
            priority: 0,
            shape: Arc::new(Shape { request: size(1), ..Shape::default() }),
            queue: None,
            submitter: None,
            role,
            place: Place::Pending,
            held_up: None,
            application: None,
            declares: None,
            declared_by: None,
            controller: None,
            mark: None,
            terminating: false,
        }
    }

    /// Shows a pod as it is now.
    pub fn show(&mut self, spec: AskSpec) {
        let name = spec.key.name.to_string();
        let id = self.pods.get(&name).map_or(AskId { index: self.next, generation: 0 }, |(id, _)| *id);
        self.next += u32::from(id.index == self.next);
        self.pods.insert(name, (id, spec.clone()));
        self.tell(Event::Ask(id, Box::new(spec)));
    }

    /// A member of a group comes.
    pub fn member(&mut self, name: &str, group: &str) {
        let Key { namespace, name: group } = key_of(group);
        let spec = self.pod(name, Role::Member { group });
        self.show(AskSpec { key: Key { namespace, ..spec.key }, ..spec });
    }

    /// `count` members come, in one batch: GROUP-0, GROUP-1, …
    pub fn members(&mut self, group: &str, count: u32) {
        for number in 0..count {
            self.member(&format!("{group}-{number}"), group);
        }
    }

    /// A pending pod of so many cores.
    pub fn sized(&self, name: &str, role: Role, cpu: i64) -> AskSpec {
        AskSpec { shape: Arc::new(Shape { request: size(cpu), ..Shape::default() }), ..self.pod(name, role) }
    }

    /// A member of so many cores comes.
    pub fn large_member(&mut self, name: &str, group: &str, cpu: i64) {
        let spec = self.sized(name, Role::Member { group: group.into() }, cpu);
        self.show(spec);
    }

    /// A pod of no application takes so many cores of a queue.
    pub fn other(&mut self, name: &str, queue: &str, cpu: i64) {
        let spec = AskSpec { queue: Some(queue.into()), ..self.sized(name, Role::Singleton, cpu) };
        self.show(spec);
        self.settle();
    }

    /// A pod of an application that is in none of its task groups comes.
    pub fn originator(&mut self, name: &str, application: &str) {
        let spec = self.pod(name, Role::Originator { application: application.into() });
        self.show(spec);
    }

    /// Changes a pod and shows it.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut AskSpec)) {
        let mut spec = self.pods[name].1.clone();
        change(&mut spec);
        self.show(spec);
    }

    /// A pod ends.
    pub fn finish(&mut self, name: &str, succeeded: bool) {
        let place = if succeeded { Place::Succeeded } else { Place::Failed { reason: "Error".into(), refused: false } };
        self.change(name, |spec| spec.place = place);
    }

    /// A pod outside any application comes.
    pub fn single(&mut self, name: &str) {
        let spec = self.pod(name, Role::Singleton);
        self.show(spec);
    }

    /// A pod goes.
    pub fn delete(&mut self, name: &str) {
        let (id, _) = self.pods.remove(name).expect("the pod exists");
        self.tell(Event::AskGone(id));
    }

    /// Notes an event for the next step.
    pub fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    /// One step; its decisions wait to be carried out.
    pub fn step(&mut self) -> &mut Self {
        loop {
            let step = self.scheduler.step(self.now, std::mem::take(&mut self.events));
            let lines: Vec<_> = step.decisions.iter().filter_map(|decision| self.text(decision)).collect();
            self.log.extend(lines);
            self.decisions.extend(step.decisions);
            let violations = self.scheduler.audit();
            assert!(violations.is_empty(), "{violations:#?}\nlog: {:#?}", self.log);
            if !step.more {
                return self;
            }
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, millis: u64) -> &mut Self {
        self.now = Now { mono: self.now.mono.after(millis), wall: self.now.wall.after(millis) };
        self.step()
    }

    /// Carries out every decision, and those that follow, until nothing is left.
    pub fn settle(&mut self) -> &mut Self {
        self.step();
        for _round in 0..10_000 {
            let decisions = std::mem::take(&mut self.decisions);
            if decisions.is_empty() {
                self.check_told();
                return self;
            }
            decisions.into_iter().for_each(|decision| self.carry_out(decision));
            self.step();
        }
        panic!("decisions never end: {:?}", &self.log[self.log.len() - 20..]);
    }

    /// What was last told of every pod is so.
    fn check_told(&self) {
        for (id, ask) in self.scheduler.books.asks.iter() {
            let is = self.scheduler.ask_reason(id).as_ref().map(gangline::core::model::ask::Shown::of);
            assert_eq!(ask.shown, is, "{} was told the one, and the other is so", ask.spec.key);
        }
    }

    /// Carries out the waiting decisions whose text contains `what`, and steps.
    pub fn carry(&mut self, what: &str) -> &mut Self {
        let waiting = std::mem::take(&mut self.decisions);
        for decision in waiting {
            if self.text(&decision).is_some_and(|text| text.contains(what)) {
                self.carry_out(decision);
            } else {
                self.decisions.push(decision);
            }
        }
        self.step()
    }

    /// Waiting decisions as text, shows apart.
    pub fn waiting(&self) -> Vec<String> {
        self.decisions.iter().filter_map(|decision| self.text(decision)).collect()
    }

    /// Does what a decision says, as the API server would.
    pub fn carry_out(&mut self, decision: Decision) {
        match decision {
            Decision::Allocate { ask, node, mark, .. } => {
                let node = self.scheduler.books.nodes.name(node).cloned();
                self.bind(ask, node, mark);
            }
            Decision::CreatePlaceholder(name) => self.create(&name),
            Decision::Release(ask, _) => {
                if let Some(name) = self.name(ask) {
                    self.delete(&name);
                }
            }
            Decision::Fail(ask, reason, _) => self.fail(ask, reason),
            Decision::ShowGroup(group) => self.write_status(group),
            Decision::Recall(_)
            | Decision::CancelPlaceholder(_)
            | Decision::Tell(..)
            | Decision::TellAsk(..)
            | Decision::ShowAsk(_)
            | Decision::ShowQueue(_) => {}
        }
    }

    /// Carries out what only shows something: statuses are written.
    pub fn carry_out_shows(&mut self) -> &mut Self {
        let (shows, others) = std::mem::take(&mut self.decisions).into_iter().partition(|one| self.text(one).is_none());
        self.decisions = others;
        let shows: Vec<Decision> = shows;
        shows.into_iter().for_each(|decision| self.carry_out(decision));
        self
    }

    fn write_status(&mut self, group: GroupId) {
        let Some(report) = self.scheduler.group_report(group) else { return };
        let status = Remembered {
            incarnation: report.incarnation,
            generation: report.generation,
            placed: report.placed,
            state: Some(report.state).filter(|_| report.reason != Code::ApplicationClosed),
            timed_out: report.timed_out.clone(),
            deadlines: report.deadlines,
            unstarted_lives: report.unstarted_lives,
            replaced: report.replaced,
            ended: (report.ended.succeeded, report.ended.failed),
        };
        let name = name_of(&self.scheduler.books.groups[group].key);
        self.statuses.insert(name.clone(), status.clone());
        // The watch shows what was written.
        if let Some(spec) = self.groups.get(&name).filter(|_| status.timed_out.is_some()) {
            let spec = GroupSpec { remembered: status, ..spec.clone() };
            self.tell(Event::Group(key_of(&name), Box::new(spec)));
        }
    }

    fn bind(&mut self, ask: AskId, node: Option<Text>, mark: Mark) {
        let (Some(name), Some(node)) = (self.name(ask), node) else {
            let refusal = Refusal { code: 404, message: "not found".into() };
            return self.tell(Event::Bind(ask, BindOutcome::Failed(refusal)));
        };
        let mut spec = self.pods[&name].1.clone();
        spec.place = Place::On { node, running: true };
        spec.mark = Some(mark);
        if let Some(submitter) = self.scheduler.counted_for_another(ask) {
            spec.submitter = Some(submitter).filter(|submitter| !submitter.user.is_empty()).map(Arc::new);
        }
        self.tell(Event::Bind(ask, BindOutcome::Bound));
        self.show(spec);
    }

    fn fail(&mut self, ask: AskId, reason: Code) {
        if let Some(name) = self.name(ask) {
            let place = Place::Failed { reason: reason.name().into(), refused: false };
            self.show(AskSpec { place, ..self.pods[&name].1.clone() });
        }
    }

    /// The placeholder pod appears.
    pub fn create(&mut self, name: &PlaceholderName) {
        let asked = || self.groups.get(&name_of(&name.group)).map(|spec| spec.shape.clone());
        let shape = self.admitted.get(&*name.group.name).cloned().or_else(asked).unwrap_or_default();
        let pod = pod_name(name);
        let group = self.scheduler.books.group_ids.get(&name.group);
        let submitter = group.and_then(|group| self.scheduler.submitter_shown(*group)).cloned();
        let key = Key::new(name.group.namespace.clone(), pod.as_str());
        let spec = AskSpec { key, shape, submitter, ..self.pod(&pod, Role::Placeholder(name.clone())) };
        self.show(spec);
    }

    fn name(&self, ask: AskId) -> Option<String> {
        self.pods.iter().find(|(_, (id, _))| *id == ask).map(|(name, _)| name.clone())
    }

    /// A decision as text; what only shows something has none.
    pub fn text(&self, decision: &Decision) -> Option<String> {
        let name = |ask: &AskId| self.name(*ask).unwrap_or_else(|| format!("{ask:?}"));
        match decision {
            Decision::Allocate { ask, node, mark, .. } => {
                let node = self.scheduler.books.nodes.name(*node)?;
                let started = if mark.started { " started" } else { "" };
                Some(format!("bind {} {node}{started}", name(ask)))
            }
            Decision::Recall(ask) => Some(format!("recall {}", name(ask))),
            Decision::CreatePlaceholder(name) => Some(format!("create {}/{}", name.group.name, name.seat)),
            Decision::CancelPlaceholder(name) => Some(format!("cancel {}/{}", name.group.name, name.seat)),
            Decision::Release(ask, why) => Some(format!("release {} {}", name(ask), word(*why))),
            Decision::Fail(ask, reason, _) => Some(format!("fail {} {reason}", name(ask))),
            Decision::Tell(..)
            | Decision::TellAsk(..)
            | Decision::ShowGroup(_)
            | Decision::ShowAsk(_)
            | Decision::ShowQueue(_) => None,
        }
    }

    /// The log since the last call.
    pub fn taken(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// What is reported of a group.
    pub fn report(&self, group: &str) -> Shown {
        let books = &self.scheduler.books;
        let id = books.group_ids.get(&key_of(group)).expect("the group is known");
        let report = self.scheduler.group_report(*id).expect("the group has an object");
        Shown { reason: report.reason.name(), report, message: self.scheduler.group_message(*id) }
    }

    /// State of the application of a group.
    pub fn state(&self, group: &str) -> AppState {
        self.report(group).state
    }

    /// Why a pod waits, by code.
    pub fn why(&self, pod: &str) -> Option<&'static str> {
        let (id, _) = self.pods[pod];
        self.scheduler.ask_reason(id).map(|reason| reason.code().name())
    }

    /// Names of pods that have a node, sorted.
    pub fn bound(&self) -> Vec<String> {
        let is_bound = |spec: &AskSpec| matches!(spec.place, Place::On { .. });
        self.pods.iter().filter(|(_, (_, spec))| is_bound(spec)).map(|(name, _)| name.clone()).collect()
    }

    /// Placeholder pods that exist.
    pub fn placeholders(&self) -> usize {
        self.pods.keys().filter(|name| name.starts_with("ph-")).count()
    }

    /// The process dies: everything that is not an object is lost, decisions not carried out included. The next one
    /// lists everything.
    pub fn restart(&mut self) -> &mut Self {
        self.restart_in_order(|_| {})
    }

    /// A restart that lists the objects in another order; pods get ids in that order.
    pub fn restart_in_order(&mut self, order: impl FnOnce(&mut Vec<Event>)) -> &mut Self {
        self.scheduler = Scheduler::new();
        self.decisions.clear();
        self.events.clear();
        let mut objects = self.objects();
        order(&mut objects);
        self.next = 0;
        for event in &mut objects {
            if let Event::Ask(id, spec) = event {
                *id = AskId { index: self.next, generation: 0 };
                self.next += 1;
                self.pods.insert(spec.key.name.to_string(), (*id, (**spec).clone()));
            }
        }
        objects.extend([Event::GroupsListed, Event::QueuesListed, Event::Synced]);
        self.events = objects;
        self
    }

    /// Every object as a list would show it.
    pub fn objects(&self) -> Vec<Event> {
        let queues = self.queues.iter().map(|(path, spec)| Event::Queue(path.as_str().into(), spec.clone()));
        let nodes = self.nodes.iter().map(|(name, spec)| Event::Node(name.as_str().into(), Box::new(spec.clone())));
        let groups = self.groups.iter().map(|(name, spec)| {
            let remembered = self.statuses.get(name).cloned().unwrap_or_default();
            Event::Group(key_of(name), Box::new(GroupSpec { remembered, ..spec.clone() }))
        });
        let pods = self.pods.values().map(|(id, spec)| Event::Ask(*id, Box::new(spec.clone())));
        let namespaces = self.namespaces.iter();
        let namespaces = namespaces.map(|(name, spec)| Event::Namespace(name.as_str().into(), Box::new(spec.clone())));
        queues.chain(nodes).chain(groups).chain(pods).chain(namespaces).collect()
    }
}

/// The name of a placeholder's pod.
pub fn pod_name(name: &PlaceholderName) -> String {
    let life = name.uid.0.strip_prefix(&format!("uid-{}", name.group.name)).unwrap_or(&name.uid.0);
    format!("ph-{}{life}-{}-{}-{}", name.group.name, name.incarnation, name.seat, name.attempt)
}

fn word(why: TerminationType) -> &'static str {
    match why {
        TerminationType::StoppedByRm => "stopped",
        TerminationType::Timeout => "timeout",
        TerminationType::PreemptedByScheduler => "preempted",
        TerminationType::PlaceholderReplaced => "replaced",
    }
}
