//! What must hold, judged from outside: by the objects and by what was decided, not by the scheduler's books.

use std::collections::BTreeSet;

use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, Event, Mark, Place, QueueSpec, Reservation, Role};
use gangline::core::ids::{AskId, Key, Uid};
use gangline::core::lifecycle::AppState;
use gangline::core::resources::Totals;

use super::world::{Work, World};
use crate::support::cluster::{NS, pod_name};

impl World {
    /// One decision, in the order of decisions, before it is carried out.
    pub fn check_decision(&self, decision: &Decision) {
        match decision {
            Decision::Allocate { ask, node, mark } => {
                let name = self.name_of(*ask).expect("a pod that exists is bound");
                let spec = &self.cluster.pods[&name].1;
                assert!(!self.intents.contains_key(ask), "{name} is bound twice");
                assert_eq!(spec.place, Place::Pending, "{name} is bound though it is {:?}", spec.place);
                assert!(!spec.terminating, "{name} is bound though it goes");
                let node = self.cluster.scheduler.books.nodes.name(*node).expect("a node with a name");
                self.check_node(node, spec);
                self.check_quota(&mark.queue, spec);
                self.check_start(spec, mark);
            }
            Decision::CreatePlaceholder(name) => {
                let pod = self.cluster.pods.get(&pod_name(name));
                assert!(pod.is_none_or(|(_, spec)| spec.terminating || self.faulty), "{name:?} is created again");
                let again = |work: &Work| matches!(work, Work::Do(Decision::CreatePlaceholder(own)) if own == name);
                assert!(!self.work.iter().any(again), "{name:?} is created twice");
            }
            Decision::Release(ask, _) => {
                let name = self.name_of(*ask).expect("a pod that exists is released");
                let spec = &self.cluster.pods[&name].1;
                assert!(matches!(spec.role, Role::Placeholder(_)), "{name} is not ours to delete");
                let again = |work: &Work| matches!(work, Work::Do(Decision::Release(own, _)) if own == ask);
                assert!(!self.work.iter().any(again), "{name} is released twice");
            }
            Decision::Recall(_)
            | Decision::CancelPlaceholder(_)
            | Decision::ShowGroup(_)
            | Decision::ShowAsk(_)
            | Decision::ShowQueue(_) => {}
        }
    }

    /// The first member of a gang that is bound: no seat of it is on a node that is cordoned.
    fn check_start(&self, pod: &AskSpec, mark: &Mark) {
        let Role::Member { group } = &pod.role else { return };
        let is_of_gang = |uid: &Uid| mark.group.as_ref() == Some(uid);
        let is_real = |spec: &AskSpec| matches!(&spec.role, Role::Member { group: own } if own == group);
        let has_node = |(id, spec): &(AskId, AskSpec)| spec.mark.is_some() || self.intents.contains_key(id);
        let started = self.cluster.pods.values().any(|pod| is_real(&pod.1) && has_node(pod))
            || self
                .cluster
                .log
                .iter()
                .any(|line| line.starts_with(&format!("release ph-{group}")) && line.ends_with("replaced"));
        if started || self.disturbed.contains(&**group) {
            return;
        }
        for (_, spec) in self.cluster.pods.values() {
            if let (Role::Placeholder(name), Place::On { node, .. }) = (&spec.role, &spec.place)
                && is_of_gang(&name.uid)
                && let Some(object) = self.cluster.nodes.get(&**node)
            {
                assert!(!object.unschedulable, "{group} starts with a seat on {node}, which is cordoned");
            }
        }
    }

    /// The pods on a node, and those that are to be bound there.
    fn pods_on(&self, node: &str) -> impl Iterator<Item = &AskSpec> {
        self.cluster
            .pods
            .values()
            .filter(move |(id, spec)| match &spec.place {
                Place::On { node: own, .. } => **own == *node,
                Place::Gated | Place::Refused(_) | Place::Pending => {
                    self.intents.get(id).is_some_and(|(own, _)| **own == *node)
                }
                Place::Succeeded | Place::Failed { .. } => false,
            })
            .map(|(_, spec)| spec)
    }

    fn check_node(&self, node: &str, pod: &AskSpec) {
        let object = self.cluster.nodes.get(node).unwrap_or_else(|| panic!("{} goes to no node", pod.key));
        assert!(!object.unschedulable, "{} goes to a cordoned node", pod.key);
        let mut used = Totals::default();
        self.pods_on(node).chain([pod]).for_each(|spec| used.add(&spec.shape.request, 1));
        for (name, amount) in used.iter().filter(|(name, _)| pod.shape.request.get(name) > 0) {
            assert!(amount <= i128::from(object.allocatable.get(name)), "{} overloads {node} by {name}", pod.key);
        }
    }

    fn queue_of(&self, id: AskId, spec: &AskSpec) -> Option<gangline::core::ids::Text> {
        match &spec.place {
            Place::Succeeded | Place::Failed { .. } => None,
            Place::On { .. } => spec.mark.as_ref().map(|mark| mark.queue.clone()),
            Place::Gated | Place::Refused(_) | Place::Pending => self.intents.get(&id).map(|(_, queue)| queue.clone()),
        }
    }

    fn check_quota(&self, queue: &str, pod: &AskSpec) {
        if self.lowered {
            return;
        }
        for (path, QueueSpec { max, .. }) in &self.cluster.queues {
            let within = |queue: &str| queue == path || queue.starts_with(&format!("{path}."));
            if !within(queue) {
                continue;
            }
            let mut used = Totals::default();
            let charged = self
                .cluster
                .pods
                .values()
                .filter(|(id, spec)| self.queue_of(*id, spec).is_some_and(|queue| within(&queue)));
            charged.map(|(_, spec)| spec).chain([pod]).for_each(|spec| used.add(&spec.shape.request, 1));
            assert_eq!(max.refuses(&Totals::default(), &used), None, "{} exceeds {path}", pod.key);
        }
    }

    /// Always true, whatever is on its way.
    pub fn check_always(&self) {
        let mut seats = BTreeSet::new();
        for (name, (_, spec)) in &self.cluster.pods {
            let Some(mark) = spec.mark.as_ref().filter(|_| matches!(spec.role, Role::Member { .. })) else { continue };
            if let (Place::On { .. }, Some(group), Some(seat)) = (&spec.place, &mark.group, mark.seat) {
                let seat = (group.clone(), mark.incarnation, seat);
                assert!(seats.insert(seat.clone()), "{name} has a seat that another has: {seat:?}");
            }
        }
    }

    /// Everything on its way arrives, nothing fails any more, and time passes until nothing changes.
    pub fn calm_down(&mut self) {
        self.say(|| "calm".into());
        self.faulty = false;
        let lost: Vec<_> = (self.cluster.pods.iter())
            .filter(|(_, (_, spec))| matches!(&spec.place, Place::On { node, .. } if !self.cluster.nodes.contains_key(&**node)))
            .map(|(name, _)| name.clone())
            .collect();
        lost.iter().for_each(|name| self.remove_pod(name));
        self.settle();
    }

    fn settle(&mut self) {
        let mut quiet = 0;
        for _round in 0..60 {
            self.step();
            for spec in std::mem::take(&mut self.late) {
                self.cluster.show(spec);
            }
            let mut idle = true;
            while !self.work.is_empty() {
                let at = self.dice.below(self.work.len());
                idle &= matches!(self.work[at], Work::Do(Decision::ShowGroup(_)));
                self.work_on(at);
                for spec in std::mem::take(&mut self.late) {
                    self.cluster.show(spec);
                }
                self.step();
            }
            quiet = if idle { quiet + 1 } else { 0 };
            if quiet == 3 {
                return;
            }
            let now = &mut self.cluster.now;
            (now.mono, now.wall) = (now.mono.after(61_000), now.wall.after(61_000));
        }
        panic!("it never comes to rest: {:#?}", &self.cluster.log[self.cluster.log.len().saturating_sub(20)..]);
    }

    fn bound_of(&self, group: &str) -> (u32, u32) {
        let Some(object) = self.cluster.groups.get(group) else { return (0, 0) };
        let (mut real, mut held) = (0, 0);
        for (_, spec) in self.cluster.pods.values() {
            let is_on = matches!(spec.place, Place::On { .. });
            match &spec.role {
                Role::Member { group: own } if **own == *group => {
                    let counts = spec.mark.as_ref().is_some_and(|mark| mark.group.as_ref() == Some(&object.uid));
                    let done = matches!(spec.place, Place::Succeeded);
                    real += u32::from(counts && (is_on || done));
                }
                Role::Placeholder(name) if name.uid == object.uid => held += u32::from(is_on),
                Role::Foreign
                | Role::Singleton
                | Role::Originator { .. }
                | Role::Member { .. }
                | Role::Placeholder(_) => {}
            }
        }
        (real, held)
    }

    /// At rest: a Strict gang runs whole or not at all, and every placeholder has a seat.
    pub fn check_quiet(&self) {
        for (name, (id, spec)) in &self.cluster.pods {
            if let Role::Placeholder(own) = &spec.role {
                let object = self.cluster.groups.get(&*own.group.name);
                assert!(object.is_some_and(|object| object.uid == own.uid), "{name} has no living group");
                let ask = self.cluster.scheduler.books.asks.get(*id).expect("a known pod");
                assert_eq!(ask.seat, Some(own.seat), "{name} has no seat");
            }
        }
        for group in self.cluster.groups.keys().filter(|group| !self.disturbed.contains(*group)) {
            let ((real, held), report) = (self.bound_of(group), self.cluster.report(group));
            if real > 0 && !matches!(report.state, AppState::Completed | AppState::Rejected) {
                let min = report.required;
                assert!(real + held >= min, "{real} members and {held} placeholders of {group}, minMember {min}");
            }
        }
    }

    /// At rest: another look at everything finds nothing to do, and no reason that is out of date.
    pub fn check_nothing_is_overlooked(&self) {
        let mut looked = self.cluster.scheduler.clone();
        // A node without room: everybody who waits takes another turn.
        let nudge = Event::Node("nudge".into(), Box::default());
        for decision in looked.step(self.cluster.now, [nudge]).decisions {
            let is_shown = matches!(decision, Decision::ShowGroup(_) | Decision::ShowAsk(_) | Decision::ShowQueue(_));
            assert!(is_shown, "{decision:?} was overlooked");
        }
        for (name, (id, _)) in &self.cluster.pods {
            // Numbers are taken when somebody asks for the sentence.
            let [said, is] =
                [&self.cluster.scheduler, &looked].map(|at| at.ask_reason(*id).map(|reason| reason.code()));
            assert_eq!(said, is, "the reason of {name} is out of date");
        }
        for group in self.cluster.groups.keys() {
            let id = looked.books.group_ids.get(&Key::new(NS, &**group)).expect("the group is known");
            let reason = looked.group_report(*id).expect("the group has an object").reason;
            assert_eq!(self.cluster.report(group).reason, reason, "the reason of {group} is out of date");
        }
    }

    /// One of those that wait goes, and nothing else happens.
    pub fn lose_a_waiting_pod(&mut self) {
        let waits = |spec: &AskSpec| spec.place == Place::Pending && !matches!(spec.role, Role::Placeholder(_));
        let waiting: Vec<_> = self.cluster.pods.iter().filter(|(_, (_, spec))| waits(spec)).collect();
        if waiting.is_empty() {
            return;
        }
        let name = waiting[self.dice.below(waiting.len())].0.clone();
        self.say(|| format!("at rest, {name} goes"));
        self.remove_pod(&name);
        self.settle();
    }

    /// Room and quota for all.
    pub fn enrich(&mut self) {
        self.say(|| "room for all".into());
        for number in 0..30 {
            self.cluster.node(&format!("big{number}"), 16);
        }
        // Those that drain keep their limits, until they are there again.
        let queues = self.cluster.scheduler.books.queues.iter();
        let limited = queues.filter(|(_, queue)| queue.spec != QueueSpec::default());
        for path in limited.map(|(_, queue)| queue.path.to_string()).collect::<BTreeSet<_>>() {
            self.cluster.show_queue(&path, QueueSpec::default());
        }
        self.settle();
    }

    /// With room for all, everything runs that may run.
    pub fn check_everything_runs(&self) {
        for (name, (id, spec)) in &self.cluster.pods {
            if spec.place != Place::Pending || spec.terminating {
                continue;
            }
            let reason = self.cluster.scheduler.ask_reason(*id);
            match reason.as_ref().map(|reason| reason.code()) {
                Some(
                    "TaskGroupNotFound"
                    | "ApplicationClosed"
                    | "WaitingForTaskGroups"
                    | "QueueNotFound"
                    | "QueueNotLeaf"
                    | "QueueDraining"
                    | "InvalidSpec"
                    | "GangGroupMismatch",
                ) => {}
                Some("WaitingForMembers") if self.lacks_members() => {}
                other => panic!("{name} does not run though there is room: {other:?}"),
            }
        }
        for group in self.cluster.groups.keys() {
            let report = self.cluster.report(group);
            if report.state == AppState::Accepted {
                assert_eq!(report.reason, "WaitingForMembers", "{group}: {report:?}");
            }
        }
    }

    /// Whether some Direct gang has fewer pending members than it needs.
    fn lacks_members(&self) -> bool {
        self.cluster.groups.iter().any(|(name, spec)| {
            let pending = self.cluster.pods.values().filter(|(_, pod)| {
                matches!(&pod.role, Role::Member { group } if **group == **name) && pod.place == Place::Pending
            });
            // The spec may have been changed after it was accepted, which changes nothing.
            spec.reservation == Reservation::Direct && pending.count() < self.cluster.report(name).required as usize
        })
    }

    /// Every object goes.
    pub fn clear_away(&mut self) {
        self.say(|| "clear away".into());
        let objects = (self.cluster.groups.clone(), self.cluster.nodes.clone(), self.cluster.queues.clone());
        let pods: Vec<_> = self.cluster.pods.keys().cloned().collect();
        pods.iter().for_each(|name| self.remove_pod(name));
        objects.0.keys().for_each(|name| self.cluster.lose_group(name));
        objects.1.keys().for_each(|name| self.cluster.lose_node(name));
        objects.2.keys().for_each(|path| self.cluster.lose_queue(path));
        self.settle();
        let pods: Vec<_> = self.cluster.pods.keys().cloned().collect();
        assert!(pods.is_empty(), "{pods:?} are left");
    }

    pub fn check_nothing_is_left(&self) {
        let left = self.cluster.scheduler.leftovers();
        assert!(left.is_empty(), "left over: {left:?}");
    }
}
