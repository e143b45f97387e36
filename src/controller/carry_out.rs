//! Decisions of the core become wants of the outbox; facts settle what is in doubt.

use std::sync::Arc;

use super::Controller;
use super::outbox::{Slot, Want};
use super::target::Target;
use crate::core::decision::{Decision, TerminationType};
use crate::core::event::{Event, Place, PlaceholderName, Role};
use crate::core::ids::{AskId, GroupId, Key, QueueId, Text};
use crate::core::lifecycle::AppState;
use crate::core::reason::AskReason;
use crate::core::time::Millis;
use crate::shim::op::Kind;
use crate::shim::placeholder::pod_name;
use crate::shim::show::{self, Notice};

/// Numbers of a status are written at most this often per object (design 03, 3.7).
const NUMBERS_EVERY_MS: Millis = 30_000;
/// A stage that passes by itself is written only if it lasts this long: a gang that just starts costs no writes for it.
const PROGRESS_MS: Millis = 2_000;
/// A pod's reason is written only if it lasts this long: most pods wait a moment while their gang is planned.
const CONDITION_MS: Millis = 500;

impl Controller {
    pub(super) fn carry_out(&mut self, decision: Decision) {
        *self.decided.entry(name(&decision)).or_default() += 1;
        match decision {
            Decision::Allocate { ask, node, mark } => {
                let Some(node) = self.core.books.nodes.name(node).cloned() else { return };
                self.bindings.insert(ask, (node, mark));
                self.want_pod(Slot::Bind, ask);
            }
            Decision::CreatePlaceholder(name) => self.want_placeholder(name),
            Decision::CancelPlaceholder(name) => {
                self.outbox.cancel(Slot::Create, &Target::Placeholder(Arc::new(name)));
            }
            Decision::Release(ask, why) => {
                tracing::debug!(pod = %self.pod_key(ask), ?why, "release");
                self.want_pod(Slot::Delete, ask);
            }
            Decision::ShowGroup(group) => self.show_group(group),
            Decision::ShowAsk(ask) => self.show_ask(ask),
            Decision::ShowQueue(queue) => self.show_queue(queue),
        }
    }

    fn pod_key(&self, ask: AskId) -> Key {
        self.ledger.pod(ask).map_or_else(|| Key::cluster("?"), |pod| pod.key.clone())
    }

    fn want_pod(&mut self, slot: Slot, ask: AskId) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let want = Want::new(slot, Target::Ask(ask), Some((Kind::Pod, pod.key.clone())));
        self.outbox.want(self.now.mono, want);
    }

    fn want_placeholder(&mut self, name: PlaceholderName) {
        let Some(facts) = self.ledger.group(&name.group) else { return };
        let pod = Key::new(name.group.namespace.clone(), pod_name(&name, &facts.blueprint.application));
        let want = Want::new(Slot::Create, Target::Placeholder(Arc::new(name)), Some((Kind::Pod, pod)));
        self.outbox.want(self.now.mono, want);
    }

    /// A state or reason is written at once, progress after a moment, numbers now and then.
    fn show_group(&mut self, id: GroupId) {
        let Some(report) = self.core.group_report(id) else { return };
        let key = self.core.books.groups[id].key.clone();
        let Some(facts) = self.ledger.group(&key) else { return };
        let new = show::group_status(&report, (&key.name, facts), self.now.wall);
        let object = (Kind::TaskGroup, key.clone());
        let target = Target::Group(key.clone());
        let want = Want::new(Slot::Status, target.clone(), Some(object));
        let progress = self.core.is_in_progress(id);
        let starts = new.application_state == AppState::Running.name()
            && facts.status.application_state != new.application_state;
        let want = match (show::is_urgent(&facts.status, &new), progress && !starts) {
            (true, false) => want,
            (true, true) => want.within(PROGRESS_MS),
            (false, _) => want.within(self.until_numbers(&target)),
        };
        self.outbox.want(self.now.mono, want);
        if !progress {
            self.announce_group(target, &key, &report);
        }
    }

    fn until_numbers(&self, target: &Target) -> Millis {
        let last = self.written.get(target);
        last.map_or(0, |last| NUMBERS_EVERY_MS.saturating_sub(self.now.mono.since(*last)))
    }

    fn announce_group(&mut self, target: Target, key: &Key, report: &crate::core::report::GroupReport) {
        let Some(facts) = self.ledger.group(key) else { return };
        let uid = facts.uid.clone();
        let warning =
            !matches!(report.reason, "Submitted" | "Starting" | "Running" | "Completed" | "WaitingForCompletion");
        let notice = Notice {
            kind: "TaskGroup",
            key: key.clone(),
            uid,
            warning,
            reason: report.reason.into(),
            message: report.message.as_str().into(),
        };
        self.announce(target, report.reason, notice);
    }

    /// One event per object and reason, when the reason changes.
    fn announce(&mut self, target: Target, code: &str, notice: Notice) {
        if self.announced.get(&target).is_some_and(|last| **last == *code) {
            return;
        }
        tracing::info!(object = %notice.key, kind = notice.kind, reason = %notice.reason, message = %notice.message);
        self.announced.insert(target, code.into());
        let number = self.next_notice;
        self.next_notice += 1;
        if self.outbox.want(self.now.mono, Want::new(Slot::Event, Target::Event(number), None)) {
            self.notices.insert(number, notice);
        }
    }

    fn show_ask(&mut self, ask: AskId) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        if self.core.ask_reason(ask).is_none() {
            self.outbox.cancel(Slot::Condition, &Target::Ask(ask));
            return;
        }
        let want = Want::new(Slot::Condition, Target::Ask(ask), Some((Kind::Pod, pod.key.clone())));
        self.outbox.want(self.now.mono, want.within(CONDITION_MS));
    }

    /// The event that says why one pod waits: only together with its condition, so that a pod which merely waits for
    /// its turn costs none.
    pub(super) fn announce_pod(&mut self, ask: AskId) {
        let Some(reason) = self.core.ask_reason(ask).filter(concerns_this_pod_alone) else { return };
        let message = format!("{}: {}", reason.code(), self.sentence(&reason)).into();
        let Some(pod) = self.ledger.pod(ask) else { return };
        let (key, uid) = (pod.key.clone(), pod.uid.clone());
        let notice = Notice { kind: "Pod", key, uid, warning: true, reason: "FailedScheduling".into(), message };
        self.announce(Target::Ask(ask), reason.code(), notice);
    }

    fn show_queue(&mut self, id: QueueId) {
        if let Some(queue) = self.core.books.queues.get(id) {
            let path = queue.path.clone();
            self.want_queue_status(path);
        }
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

    /// Another condition or generation is written at once, numbers now and then.
    fn want_queue_status(&mut self, path: Text) {
        if self.ledger.queue(&path).is_none() {
            return;
        }
        let urgent = self.is_queue_urgent(&path);
        let target = Target::Queue(path.clone());
        let want = Want::new(Slot::Status, target.clone(), Some((Kind::Queue, Key::cluster(path))));
        let want = if urgent { want } else { want.within(self.until_numbers(&target)) };
        self.outbox.want(self.now.mono, want);
    }

    fn is_queue_urgent(&self, path: &str) -> bool {
        let Some(facts) = self.ledger.queue(path) else { return false };
        let (problems, in_force) = (self.ledger.queue_problems(path), self.is_queue_defined(path));
        let conditions = show::queue_conditions(problems, (facts.generation, in_force), &facts.status, self.now.wall);
        conditions != facts.status.conditions
    }

    /// Whether a spec of the queue is in force.
    pub(super) fn is_queue_defined(&self, path: &str) -> bool {
        let queues = &self.core.books.queues;
        queues.find(path).is_some_and(|queue| queues[queue].defined)
    }

    /// What a fact says about calls that are wanted or in doubt.
    pub(super) fn settle_calls(&mut self, event: &Event) {
        match event {
            Event::Ask(ask, spec) => {
                if let Place::On { .. } | Place::Finished { .. } = spec.place {
                    self.outbox.settle(Slot::Bind, &Target::Ask(*ask));
                    self.bindings.remove(ask);
                }
                if let Role::Placeholder(name) = &spec.role {
                    self.outbox.settle(Slot::Create, &Target::Placeholder(Arc::new(name.clone())));
                }
            }
            Event::AskGone(ask) => {
                let target = Target::Ask(*ask);
                self.bindings.remove(ask);
                self.outbox.settle(Slot::Bind, &target);
                self.outbox.settle(Slot::Delete, &target);
                self.outbox.cancel(Slot::Condition, &target);
                self.announced.remove(&target);
            }
            Event::GroupGone(key) => {
                let target = Target::Group(key.clone());
                self.outbox.cancel(Slot::Status, &target);
                self.written.remove(&target);
                self.announced.remove(&target);
            }
            Event::QueueGone(path) => {
                let target = Target::Queue(path.clone());
                self.outbox.cancel(Slot::Status, &target);
                self.written.remove(&target);
            }
            Event::Group(..)
            | Event::Queue(..)
            | Event::Node(..)
            | Event::NodeGone(_)
            | Event::Namespace(..)
            | Event::Bind(..)
            | Event::CreateRefused(..)
            | Event::ReleaseRefused(..)
            | Event::GroupsListed
            | Event::Synced => {}
        }
    }
}

/// Reasons that the pod does not share with its gang, whose own event says it.
fn concerns_this_pod_alone(reason: &AskReason) -> bool {
    match reason {
        AskReason::Unsupported(_)
        | AskReason::ApplicationClosed(_)
        | AskReason::TaskGroupNotFound(_)
        | AskReason::Queue(_)
        | AskReason::Quota(_)
        | AskReason::Capacity(_)
        | AskReason::SeatTooSmall { .. }
        | AskReason::BindRefused(_) => true,
        AskReason::Rejected { .. } | AskReason::Gang(..) | AskReason::Wanted(_) => false,
    }
}

fn name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allocate { .. } => "allocate",
        Decision::CreatePlaceholder(_) => "create_placeholder",
        Decision::CancelPlaceholder(_) => "cancel_placeholder",
        Decision::Release(_, TerminationType::StoppedByRm) => "release_stopped",
        Decision::Release(_, TerminationType::Timeout) => "release_timeout",
        Decision::Release(_, TerminationType::PreemptedByScheduler) => "release_preempted",
        Decision::Release(_, TerminationType::PlaceholderReplaced) => "release_replaced",
        Decision::ShowGroup(_) => "show_group",
        Decision::ShowAsk(_) => "show_pod",
        Decision::ShowQueue(_) => "show_queue",
    }
}
