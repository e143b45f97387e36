//! Decisions of the core become wants of the outbox; facts settle calls whose outcome is in doubt.

use std::sync::Arc;

use super::Controller;
use super::announce::is_of_its_gang;
use super::cadence::NUMBERS_EVERY_MS;
use super::outbox::{Slot, Urgency, Want};
use super::target::Target;
use crate::core::base::ids::{AskId, GroupId, Key, Text};
use crate::core::codes::Code;
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::{BindOutcome, Event, Place, PlaceholderName, Role};
use crate::core::model::lifecycle::AppState;
use crate::core::time::Millis;
use crate::shim::ledger::PodName;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::shim::placeholder::pod_name;
use crate::shim::queue::parent;
use crate::shim::show;

/// A status that a watch shows this soon after a write of ours can be an earlier one of ours.
const ECHO_MS: Millis = 5_000;
/// A pod's reason is written only if it lasts this long: most pods wait a moment while their gang is planned.
const CONDITION_MS: Millis = 500;

impl Controller {
    pub(super) fn carry_out(&mut self, decision: Decision) {
        *self.decided.entry(name(&decision)).or_default() += 1;
        match decision {
            Decision::Allocate { ask, node, mark, next } => {
                let Some(node) = self.core.books.nodes.name(node).cloned() else { return };
                self.bindings.insert(ask, (node, mark));
                let urgency = if next { Urgency::Next } else { Urgency::Ordinary };
                self.want_pod(Slot::Bind, ask, urgency);
            }
            Decision::Recall(ask) => self.recall(ask),
            Decision::CreatePlaceholder(name) => self.want_placeholder(name),
            Decision::CancelPlaceholder(name) => {
                self.outbox.cancel(Slot::Create, &Target::Placeholder(Arc::new(name)));
            }
            Decision::Release(ask, why) => {
                tracing::debug!(pod = %self.pod_key(ask), ?why, "release");
                self.want_pod(Slot::Delete, ask, Urgency::Ordinary);
            }
            Decision::Fail(ask, reason, message) => self.fail(ask, reason, message),
            Decision::ShowGroup(group) => {
                self.show_group(group);
                self.look_at_timeout(group);
            }
            Decision::Tell(group, code, sentence) => self.tell(group, code, sentence),
            Decision::TellAsk(ask, code, sentence) => self.tell_pod(ask, code, sentence),
            Decision::ShowAsk(ask) => self.show_ask(ask),
            Decision::ShowQueue(path) => self.want_queue_status(path),
        }
    }

    pub(super) fn pod_key(&self, ask: AskId) -> Key {
        self.ledger.pod(ask).map_or_else(|| Key::cluster("?"), |pod| pod.key.clone())
    }

    pub(super) fn want_pod(&mut self, slot: Slot, ask: AskId, urgency: Urgency) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let want = Want::new(slot, Target::Ask(ask), Some((Kind::Pod, pod.key.clone())));
        self.outbox.want(self.now.mono, want.with(urgency));
    }

    fn want_placeholder(&mut self, name: PlaceholderName) {
        let facts = self.ledger.group(&name.group);
        let Some(blueprint) = facts.and_then(|facts| facts.blueprint.as_ref()) else { return };
        let pod = Key::new(name.group.namespace.clone(), pod_name(&name, &blueprint.application));
        let want = Want::new(Slot::Create, Target::Placeholder(Arc::new(name)), Some((Kind::Pod, pod)));
        self.outbox.want(self.now.mono, want);
    }

    /// A state or reason is written at once, one that may pass soon after a moment and then seldom, numbers now and then.
    fn show_group(&mut self, id: GroupId) {
        let Some(report) = self.core.group_report(id) else { return };
        let (key, message) = (self.core.books.groups[id].key.clone(), self.core.group_message(id));
        let Some(facts) = self.ledger.group(&key) else { return };
        let target = Target::Group(key.clone());
        let latest = facts.status.latest();
        let passes = self.core.may_pass_soon(id);
        let progress = passes && !show::times_out(latest, &report);
        let swings = if show::is_lasting(latest, &report) { 0 } else { self.until_news(&target) };
        let is_news = show::is_urgent(latest, &report, &message);
        let goes_on = latest.application_state == AppState::Waiting.name() && report.state != AppState::Waiting;
        let (urgency, delay) = match (is_news, progress) {
            (true, false) => (Urgency::Ordinary, swings),
            (true, true) => (Urgency::Ordinary, self.until_progress(&target, goes_on).max(swings)),
            (false, _) => (Urgency::Numbers, self.until_numbers(&target, progress).max(swings)),
        };
        self.want_status(&target, urgency, delay);
        // Where another reason waits for its turn, or may pass soon, the event is made when the status leaves.
        if !passes && (swings == 0 || !is_news) {
            self.announce_group(&key, report.reason);
        }
    }

    /// An object was seen with a status. If somebody else wrote it, or an earlier write of ours came late, ours is
    /// written again, though not at once. A status that is seen right after a write of ours can also be the one before
    /// that write.
    pub(super) fn look_at_status(&mut self, key: &Key, body: &Body) {
        let target = match body {
            Body::TaskGroup(_) => Target::Group(key.clone()),
            Body::Queue(_) => Target::Queue(key.name.clone()),
            Body::Pod(_)
            | Body::Node(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => return,
        };
        let soon = self.written.get(&target).is_some_and(|last| self.now.mono.since(last.at) < ECHO_MS);
        let is_other = match body {
            Body::TaskGroup(group) => self
                .ledger
                .group_mut(key)
                .is_some_and(|facts| facts.status.read(group.status.clone().unwrap_or_default(), soon)),
            Body::Queue(queue) => self
                .ledger
                .queue_mut(&key.name)
                .is_some_and(|facts| facts.status.read(queue.status.clone().unwrap_or_default(), soon)),
            Body::Pod(_)
            | Body::Node(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_) => false,
        };
        if is_other {
            self.want_status(&target, Urgency::Numbers, NUMBERS_EVERY_MS);
        }
        if matches!(target, Target::Group(_)) {
            self.look_at_timeout_of(key);
        }
    }

    /// A pod was seen with a reason that is not the one for which it waits: somebody else wrote it, an earlier write of
    /// ours came late, or the watch shows a state from before our last write. The right reason is written again if the
    /// wrong one stays. Likewise if it says, or does not, that its gang has timed out.
    pub(super) fn look_at_condition(&mut self, key: &Key) {
        let Some(ask) = self.ledger.ask(key) else { return };
        self.look_at_timeout_said(ask);
        let said = self.ledger.pod(ask).and_then(PodName::reason_said);
        let is_other = said.is_some_and(|said| {
            self.core.ask_reason(ask).is_some_and(|reason| Code::from_name(said) != Some(reason.code()))
        });
        if is_other {
            let want = Want::new(Slot::Condition, Target::Ask(ask), Some((Kind::Pod, key.clone())));
            self.outbox.want(self.now.mono, want.with(Urgency::Numbers).within(NUMBERS_EVERY_MS));
        }
    }

    /// Wants a status to be written. Of a PodGroup no more is urgent than that its pods may be made: for a gang that is as much as the
    /// TaskGroup that is made of it, and leaves as that does.
    pub(super) fn want_status(&mut self, target: &Target, urgency: Urgency, delay: Millis) {
        let object = match target {
            Target::Group(key) => (Kind::TaskGroup, key.clone()),
            Target::Queue(path) => (Kind::Queue, Key::cluster(path.clone())),
            Target::PodGroup(system, key) => (system.kind(), key.clone()),
            Target::Ask(_) | Target::Placeholder(_) | Target::Event(_) => return,
        };
        let lets_in = matches!(target, Target::PodGroup(..)) && urgency <= Urgency::Ordinary;
        let slot = if lets_in { Slot::Declare } else { Slot::Status };
        let want = Want::new(slot, target.clone(), Some(object));
        self.outbox.want(self.now.mono, want.with(urgency).within(delay));
    }

    pub(super) fn show_ask(&mut self, ask: AskId) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let Some(reason) = self.core.ask_reason(ask) else {
            self.outbox.cancel(Slot::Condition, &Target::Ask(ask));
            return;
        };
        let swings = if is_of_its_gang(&reason) { self.until_news_of_gang(ask) } else { 0 };
        let want = Want::new(Slot::Condition, Target::Ask(ask), Some((Kind::Pod, pod.key.clone())));
        self.outbox.want(self.now.mono, want.within(CONDITION_MS.max(swings)));
    }

    /// A Queue was seen or is gone: it and the queues below it may have another place in the tree now.
    pub(super) fn show_queues_from(&mut self, path: Text) {
        let below: Vec<Text> = self.ledger.queues_below(&path).cloned().collect();
        for queue in below {
            if self.is_queue_urgent(&queue) {
                self.want_queue_status(queue);
            }
        }
        self.want_queue_status(path);
    }

    /// The headroom of a queue is no more than that of the queues above it. So after the status of a queue those of the
    /// queues next below it are looked at, one level after the other, at the pace of numbers.
    pub(super) fn show_headroom_below(&mut self, path: &Text) {
        let is_next = |queue: &&Text| {
            let mut above = std::iter::successors(parent(queue), |queue| parent(queue));
            above.find(|queue| self.ledger.queue(queue).is_some()) == Some(&**path)
        };
        let below: Vec<Text> = self.ledger.queues_below(path).filter(is_next).cloned().collect();
        below.into_iter().for_each(|queue| self.want_queue_status(queue));
    }

    /// Forgets Queues that are gone: no status of them is written any more, and what was written last is not
    /// remembered. (The core is told only about Queues that were in force.)
    pub(super) fn forget_queues(&mut self) {
        let queues = self.written.range(Target::Queue("".into())..Target::Event(0)).map(|(target, _)| target);
        let is_gone = |target: &&Target| matches!(target, Target::Queue(path) if self.ledger.queue(path).is_none());
        let gone: Vec<Target> = queues.filter(is_gone).cloned().collect();
        for target in gone {
            self.outbox.cancel(Slot::Status, &target);
            self.written.remove(&target);
        }
    }

    /// Another condition or generation is written at once, numbers now and then.
    fn want_queue_status(&mut self, path: Text) {
        if self.ledger.queue(&path).is_none() {
            return;
        }
        let is_news = self.is_queue_urgent(&path);
        let target = Target::Queue(path);
        let (urgency, delay) =
            if is_news { (Urgency::Ordinary, 0) } else { (Urgency::Numbers, self.until_numbers(&target, false)) };
        self.want_status(&target, urgency, delay);
    }

    fn is_queue_urgent(&self, path: &str) -> bool {
        let Some(facts) = self.ledger.queue(path) else { return false };
        let (problems, keeps) = (self.ledger.queue_problems(path), self.ledger.keeps_earlier_spec(path));
        let conditions =
            show::queue_conditions(problems, (facts.generation, keeps), facts.status.latest(), self.now.wall);
        conditions != facts.status.latest().conditions
    }

    /// Takes back a Binding that has not left. The core is told in the next step.
    fn recall(&mut self, ask: AskId) {
        if self.bindings.contains_key(&ask) && self.outbox.cancel(Slot::Bind, &Target::Ask(ask)) {
            self.bindings.remove(&ask);
            self.events.push(Event::Bind(ask, BindOutcome::Recalled));
        }
    }

    /// What a fact says about calls that are wanted or in doubt.
    pub(super) fn settle_calls(&mut self, event: &Event) {
        match event {
            Event::Ask(ask, spec) => {
                if let Place::On { .. } | Place::Succeeded | Place::Failed { .. } = spec.place {
                    self.outbox.settle(Slot::Bind, &Target::Ask(*ask));
                    self.bindings.remove(ask);
                }
                self.look_at_failure(*ask, spec);
                if let Role::Placeholder(name) = &spec.role {
                    self.outbox.settle(Slot::Create, &Target::Placeholder(Arc::new(name.clone())));
                }
            }
            Event::AskGone(ask) => {
                let target = Target::Ask(*ask);
                self.bindings.remove(ask);
                self.outbox.settle(Slot::Bind, &target);
                self.outbox.settle(Slot::Delete, &target);
                self.settle_failure(*ask);
                self.outbox.cancel(Slot::Condition, &target);
                self.outbox.cancel(Slot::Annotate, &target);
                self.announced.remove(&target);
            }
            Event::GroupGone(key) => {
                let target = Target::Group(key.clone());
                self.given_up.remove(key);
                self.outbox.cancel(Slot::Status, &target);
                self.written.remove(&target);
                self.announced.remove(&target);
            }
            Event::Group(..)
            | Event::GroupRead(..)
            | Event::Queue(..)
            | Event::QueueGone(_)
            | Event::QueueDisplaced(..)
            | Event::Node(..)
            | Event::NodeGone(_)
            | Event::Namespace(..)
            | Event::NamespaceGone(_)
            | Event::NamespaceLimit(..)
            | Event::Bind(..)
            | Event::CreateRefused(..)
            | Event::ReleaseRefused(..)
            | Event::ReleaseHeldUp(..)
            | Event::GroupsListed
            | Event::QueuesListed
            | Event::Synced => {}
        }
    }
}

fn name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allocate { .. } => "allocate",
        Decision::Recall(_) => "recall",
        Decision::CreatePlaceholder(_) => "create_placeholder",
        Decision::CancelPlaceholder(_) => "cancel_placeholder",
        Decision::Release(_, TerminationType::StoppedByRm) => "release_stopped",
        Decision::Release(_, TerminationType::Timeout) => "release_timeout",
        Decision::Release(_, TerminationType::PreemptedByScheduler) => "release_preempted",
        Decision::Release(_, TerminationType::PlaceholderReplaced) => "release_replaced",
        Decision::Fail(..) => "fail",
        Decision::ShowGroup(_) => "show_group",
        Decision::Tell(..) | Decision::TellAsk(..) => "tell",
        Decision::ShowAsk(_) => "show_pod",
        Decision::ShowQueue(_) => "show_queue",
    }
}
