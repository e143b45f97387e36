//! Makes facts for the core of what is known of calls that ended.

use std::sync::Arc;

use super::Controller;
use super::outbox::{Report, Slot, Urgency, Verdict, Why};
use super::target::Target;
use crate::core::base::ids::AskId;
use crate::core::event::{BindOutcome, Event, PlaceholderName};
use crate::core::reason::Refusal;
use crate::shim::observation::Seen;
use crate::shim::op::Kind;

impl Controller {
    pub(super) fn answer(&mut self, report: Report<Target>) {
        let Report { slot, key, verdict } = report;
        match &verdict {
            Verdict::Denied(why) => return self.held_up(slot, &key, why),
            Verdict::Refused(why, _) => self.denied.call_refused(why),
            Verdict::Done(_) | Verdict::Fact(_) | Verdict::Gone => {}
        }
        match (slot, key) {
            (Slot::Bind, Target::Ask(ask)) => self.bind_answered(ask, verdict),
            (Slot::Delete, Target::Ask(ask)) => self.delete_answered(ask, verdict),
            (Slot::Fail, Target::Ask(ask)) => self.fail_answered(ask, verdict),
            (Slot::Create, Target::Placeholder(name)) => self.create_answered(&name, verdict),
            (Slot::Event, Target::Event(number)) => drop(self.matters.remove(&number)),
            (Slot::Status, target) | (Slot::Declare, target @ Target::PodGroup(..)) => {
                self.status_answered(&target, &verdict);
            }
            (Slot::Condition, Target::Ask(ask)) => self.condition_answered(ask, &verdict),
            (Slot::Annotate, Target::Ask(ask)) => self.timeout_answered(ask, &verdict),
            (Slot::Declare, Target::Group(key)) if matches!(verdict, Verdict::Gone) => self.want_declared(&key),
            (
                Slot::Bind
                | Slot::Delete
                | Slot::Fail
                | Slot::Create
                | Slot::Declare
                | Slot::Condition
                | Slot::Annotate
                | Slot::Event,
                Target::Ask(_)
                | Target::Placeholder(_)
                | Target::Group(_)
                | Target::Queue(_)
                | Target::PodGroup(..)
                | Target::Event(_),
            ) => {}
        }
    }

    /// A call is refused for now, and the outbox tries it again: the log and the core are told.
    fn held_up(&mut self, slot: Slot, key: &Target, why: &Why) {
        if self.is_edit_too_late(slot, key, &why.refusal) {
            return;
        }
        self.denied.call_held_up(why);
        let refusal = why.refusal.clone();
        match (slot, key) {
            // A creation that is denied is not waited for: the gang gives back what it holds and says why.
            (Slot::Create, Target::Placeholder(name)) => {
                self.outbox.cancel(Slot::Create, key);
                self.events.push(Event::CreateRefused((**name).clone(), refusal));
            }
            (Slot::Delete, Target::Ask(ask)) => self.events.push(Event::ReleaseHeldUp(*ask, refusal)),
            (Slot::Declare, Target::Group(key)) => self.declaration_held_up(key, &refusal),
            (
                Slot::Bind
                | Slot::Delete
                | Slot::Fail
                | Slot::Create
                | Slot::Declare
                | Slot::Condition
                | Slot::Annotate
                | Slot::Status
                | Slot::Event,
                _,
            ) => {}
        }
    }

    pub(super) fn fact(&mut self, seen: Seen) {
        let events = self.ledger.answered(seen);
        self.take(events);
    }

    pub(super) fn pod_gone(&mut self, ask: AskId) {
        if let Some(pod) = self.ledger.pod(ask).cloned() {
            let events = self.ledger.lose(Kind::Pod, &pod.key, &pod.uid);
            self.take(events);
        }
    }

    fn bind_answered(&mut self, ask: AskId, verdict: Verdict) {
        self.bindings.remove(&ask);
        match verdict {
            Verdict::Done(_) => self.events.push(Event::Bind(ask, BindOutcome::Bound)),
            Verdict::Fact(seen) => {
                let refusal = Refusal { code: 409, message: "the pod changed meanwhile".into() };
                self.fact(*seen);
                self.events.push(Event::Bind(ask, BindOutcome::Failed(refusal)));
            }
            Verdict::Gone => self.pod_gone(ask),
            Verdict::Refused(why, seen) => {
                seen.into_iter().for_each(|seen| self.fact(*seen));
                self.events.push(Event::Bind(ask, BindOutcome::Failed(why.refusal)));
            }
            Verdict::Denied(_) => {}
        }
    }

    /// A placeholder is gone when the watch or an answer says so; that a deletion was accepted does not say so yet.
    fn delete_answered(&mut self, ask: AskId, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) | Verdict::Denied(_) => {}
            Verdict::Fact(seen) => {
                self.pod_gone(ask);
                self.fact(*seen);
            }
            Verdict::Gone => self.pod_gone(ask),
            Verdict::Refused(why, _) => self.events.push(Event::ReleaseRefused(ask, why.refusal)),
        }
    }

    fn create_answered(&mut self, name: &Arc<PlaceholderName>, verdict: Verdict) {
        match verdict {
            Verdict::Done(None) => {}
            Verdict::Done(Some(seen)) | Verdict::Fact(seen) => {
                let message = format!(
                    "pod {} exists and is not the placeholder: admission changed its labels or schedulerName, or \
                     somebody else made it; the gang needs it deleted",
                    seen.key
                );
                self.fact(*seen);
                // Without effect if the pod is the placeholder after all: then the fact has shown that to the core.
                let refusal = Refusal { code: 409, message: message.into() };
                self.events.push(Event::CreateRefused((**name).clone(), refusal));
            }
            Verdict::Refused(why, _) => self.events.push(Event::CreateRefused((**name).clone(), why.refusal)),
            Verdict::Gone | Verdict::Denied(_) => {}
        }
    }

    /// A status counts as written once the API server says so; one that it refused is wanted again, as urgently as it
    /// was, and the outbox waits before it tries again.
    fn status_answered(&mut self, target: &Target, verdict: &Verdict) {
        match verdict {
            Verdict::Done(_) => self.status_settled(target, true),
            Verdict::Refused(why, _) => {
                tracing::warn!(?target, refusal = %why.refusal, "a status was refused");
                self.status_settled(target, false);
                // The outbox remembers how urgent it was.
                self.want_status(target, Urgency::Numbers, 0);
            }
            Verdict::Gone => self.status_found_nothing(target),
            Verdict::Fact(_) | Verdict::Denied(_) => {}
        }
    }

    /// The object is gone, or the API server does not serve its kind just now. For that case the status is wanted again, and the
    /// outbox waits before it tries; if the object is gone its watch says so.
    fn status_found_nothing(&mut self, target: &Target) {
        self.status_settled(target, false);
        match target {
            // Or its definition has no status of its own: what comes next of the gang is tried again. Who is not let in yet has no gang.
            Target::PodGroup(system, key) => self.let_in(*system, key),
            Target::Ask(_) | Target::Placeholder(_) | Target::Group(_) | Target::Queue(_) | Target::Event(_) => {
                self.want_status(target, Urgency::Ordinary, 0);
            }
        }
    }

    fn status_settled(&mut self, target: &Target, written: bool) {
        match target {
            Target::Group(key) => {
                self.ledger.group_mut(key).into_iter().for_each(|facts| facts.status.settle(written));
                self.look_at_timeout_of(key);
            }
            Target::Queue(path) => {
                self.ledger.queue_mut(path).into_iter().for_each(|facts| facts.status.settle(written));
            }
            Target::PodGroup(system, key) => {
                let Some(facts) = self.ledger.pod_group_mut(*system, key) else { return };
                facts.status.settle(written);
                // What was refused is paced by the outbox.
                facts.wrote = facts.wrote.filter(|_| written);
            }
            Target::Ask(_) | Target::Placeholder(_) | Target::Event(_) => {}
        }
    }

    /// A condition that was refused is still to be shown, if it still holds.
    fn condition_answered(&mut self, ask: AskId, verdict: &Verdict) {
        if let Verdict::Refused(why, _) = verdict {
            tracing::warn!(?ask, refusal = %why.refusal, "a condition was refused");
            self.show_ask(ask);
        }
    }
}
