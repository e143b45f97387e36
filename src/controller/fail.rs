//! Pods whose gang is given up fail, as long as nobody has given them a node (01, 1.7).

use super::Controller;
use super::outbox::{Slot, Urgency, Verdict};
use super::target::Target;
use crate::core::base::ids::{AskId, Text};
use crate::core::codes::Code;
use crate::core::event::{AskSpec, Place};
use crate::shim::op::Op;

impl Controller {
    /// A pod is to fail, with this reason and message.
    pub(super) fn fail(&mut self, ask: AskId, reason: Code, message: Text) {
        if self.ledger.pod(ask).is_some() {
            self.failing.insert(ask, (reason, message));
            self.want_failure(ask);
        }
    }

    /// As long as it is to fail: who has a node, or has ended, is not any more.
    fn want_failure(&mut self, ask: AskId) {
        if self.failing.contains_key(&ask) {
            self.want_pod(Slot::Fail, ask, Urgency::Ordinary);
        }
    }

    /// The call of this moment. It names the version at which the pod was seen last, so that nobody who gives the pod a
    /// node meanwhile is overwritten. One that is bound by us, belongs to a gang that goes on by
    /// now, or is a placeholder does not fail whatever was decided.
    pub(super) fn make_fail(&self, ask: AskId) -> Option<Op> {
        let (reason, message) = self.failing.get(&ask)?;
        let (pod, there) = (self.ledger.pod(ask)?, self.core.books.asks.get(ask)?);
        if !there.failing || there.node().is_some() || there.is_placeholder() {
            return None;
        }
        Some(Op::FailPod {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            resource_version: pod.version?,
            reason: *reason,
            message: message.clone(),
        })
    }

    /// The pod of an ask was seen: it fails in the version that it has now, or not at all.
    pub(super) fn look_at_failure(&mut self, ask: AskId, spec: &AskSpec) {
        let waits = match spec.place {
            Place::Gated | Place::Refused(_) | Place::Pending => !spec.terminating,
            Place::On { .. } | Place::Succeeded | Place::Failed { .. } => false,
        };
        if waits { self.want_failure(ask) } else { self.settle_failure(ask) }
    }

    /// A pod is not to fail any more.
    pub(super) fn settle_failure(&mut self, ask: AskId) {
        if self.failing.remove(&ask).is_some() {
            self.outbox.settle(Slot::Fail, &Target::Ask(ask));
        }
    }

    /// A pod that was changed meanwhile is taken in as it is now, which says whether it is still to fail. A refusal is
    /// not the end: the outbox waits before it tries again.
    pub(super) fn fail_answered(&mut self, ask: AskId, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) => drop(self.failing.remove(&ask)),
            Verdict::Gone => self.pod_gone(ask),
            Verdict::Fact(seen) => {
                self.fact(*seen);
                self.want_failure(ask);
            }
            Verdict::Refused(why, seen) => {
                seen.into_iter().for_each(|seen| self.fact(*seen));
                if self.failing.contains_key(&ask) {
                    tracing::warn!(pod = %self.pod_key(ask), refusal = %why.refusal, "the failure of a pod was refused");
                }
                self.want_failure(ask);
            }
            Verdict::Denied(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
