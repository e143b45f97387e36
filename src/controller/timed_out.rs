//! Pods in Koordinator's words say by an annotation that their gang has timed out, as long as it is given up (01, 1.7, ADR 42).

use super::Controller;
use super::cadence::NUMBERS_EVERY_MS;
use super::outbox::{Slot, Verdict, Want};
use super::target::Target;
use crate::core::base::ids::{AskId, GroupId, Key};
use crate::core::model::countdown::Deadline;
use crate::core::time::Millis;
use crate::shim::dialect::Dialect;
use crate::shim::op::{Kind, Op};
use crate::shim::task_group::timed_out;

impl Controller {
    /// The gang of a TaskGroup may be given up now, or go on again: then its pods say so. Not before its status does: whatever
    /// process comes next finds with the annotation what it follows from (ADR 23).
    pub(super) fn look_at_timeout(&mut self, id: GroupId) {
        if !self.settings.dialects.contains(&Dialect::Koordinator) {
            return;
        }
        let Some(group) = self.core.books.groups.get(id) else { return };
        let key = group.key.clone();
        let Some(given_up) = self.core.is_given_up(id) else {
            // Whether it goes on is open: what its pods say stays.
            self.given_up.remove(&key);
            return;
        };
        if self.given_up.get(&key) == Some(&given_up) || given_up && !self.status_says_timed_out(&key) {
            return;
        }
        let members: Vec<AskId> = group.asks.iter().copied().collect();
        self.given_up.insert(key, given_up);
        for ask in members {
            if self.timeout_to_say(ask).is_some() {
                self.want_timeout(ask, 0);
            }
        }
    }

    /// The same of a TaskGroup whose status was read or written.
    pub(super) fn look_at_timeout_of(&mut self, key: &Key) {
        if let Some(group) = self.core.books.group_ids.get(key).copied() {
            self.look_at_timeout(group);
        }
    }

    fn status_says_timed_out(&self, key: &Key) -> bool {
        let said = self.ledger.group(key).and_then(|facts| timed_out(facts.status.confirmed()));
        said.is_some_and(|said| said.what == Deadline::Wait)
    }

    /// A pod was seen. If it does not say what its TaskGroup says, somebody else wrote that, or the watch shows a state from before
    /// our last write: what is right is written if the wrong one stays. Of a pod that is new the core does not know yet.
    pub(super) fn look_at_timeout_said(&mut self, ask: AskId) {
        let is_new = self.core.books.asks.get(ask).is_none();
        let says = self.ledger.pod(ask).is_some_and(|pod| pod.timed_out == Some(true));
        if is_new && says || self.timeout_to_say(ask).is_some() {
            self.want_timeout(ask, NUMBERS_EVERY_MS);
        }
    }

    /// What a pod is to say and does not.
    fn timeout_to_say(&self, ask: AskId) -> Option<bool> {
        let said = self.ledger.pod(ask)?.timed_out?;
        let group = self.core.books.groups.get(self.core.books.asks.get(ask)?.group?)?;
        let given_up = *self.given_up.get(&group.key)?;
        // Who came after the end of a gang that is given up is of its next life, and says what it says.
        let is_concerned = !given_up || self.core.is_left_of_timed_out(ask);
        (is_concerned && given_up != said).then_some(given_up)
    }

    fn want_timeout(&mut self, ask: AskId, delay: Millis) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let want = Want::new(Slot::Annotate, Target::Ask(ask), Some((Kind::Pod, pod.key.clone())));
        self.outbox.want(self.now.mono, want.within(delay));
    }

    /// The call of this moment; `None` if the pod says what it is to say.
    pub(super) fn make_timeout(&self, ask: AskId) -> Option<Op> {
        let timed_out = self.timeout_to_say(ask)?;
        let pod = self.ledger.pod(ask)?;
        Some(Op::AnnotateTimeout { pod: pod.key.clone(), uid: pod.uid.clone(), timed_out })
    }

    /// An annotation that was refused is still to be written, if it still holds; the outbox waits before it tries again.
    pub(super) fn timeout_answered(&mut self, ask: AskId, verdict: &Verdict) {
        if let Verdict::Refused(why, _) = verdict {
            tracing::warn!(pod = %self.pod_key(ask), refusal = %why.refusal, "an annotation was refused");
            self.want_timeout(ask, 0);
        }
    }
}
