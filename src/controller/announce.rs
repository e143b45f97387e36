//! Events: one for each reason that somebody should hear of, put into words when it leaves.

use super::Controller;
use super::outbox::{Slot, Want};
use super::target::Target;
use crate::core::base::ids::{AskId, GroupId, Key, Text, Uid};
use crate::core::codes::{Code, EventType};
use crate::core::reason::AskReason;
use crate::shim::dialect::pod_group::System;
use crate::shim::op::Op;
use crate::shim::show::{self, Notice, Subject};

/// What an event is to tell of.
#[derive(Clone, Debug)]
pub(super) enum Matter {
    /// A TaskGroup or a pod, and the code of its reason. The sentence is written when the event leaves; if the reason
    /// has gone by then, no event leaves.
    Wanted(Target, Code),
    /// The event has left with this text, and keeps it if it has to be sent again; or it was decided with it.
    Said(Notice),
}

impl Controller {
    /// The event of a TaskGroup whose reason may be another one than before.
    pub(super) fn announce_group(&mut self, key: &Key, reason: Code) {
        let target = Target::Group(key.clone());
        let written = self.ledger.group(key).and_then(|facts| Code::from_name(&facts.status.confirmed().reason));
        if !self.announced.contains_key(&target) && written == Some(reason) {
            // An earlier process wrote this reason into the status, and announced it then.
            self.announced.insert(target, Some(reason));
        } else {
            self.announce(target, reason);
        }
    }

    /// The event that says why one pod waits: only together with its condition, so that a pod which merely waits for
    /// its turn costs none.
    pub(super) fn announce_pod(&mut self, ask: AskId) {
        if let Some(reason) = self.core.ask_reason(ask).filter(|reason| !is_of_its_gang(reason)) {
            self.announce(Target::Ask(ask), reason.code());
        }
    }

    /// One event per object and reason, when the reason changes.
    fn announce(&mut self, target: Target, reason: Code) {
        if self.announced.get(&target) == Some(&Some(reason)) {
            return;
        }
        // If too many events wait already this one is dropped, and tried again when the reason is shown the next time.
        if self.queue_event(Matter::Wanted(target.clone(), reason)) {
            self.announced.insert(target, Some(reason));
        }
    }

    /// An event that says what was so when it was decided.
    pub(super) fn tell(&mut self, group: GroupId, code: Code, message: Text) {
        let Some(key) = self.core.books.groups.get(group).map(|group| group.key.clone()) else { return };
        let Some(uid) = self.ledger.group(&key).map(|facts| facts.uid.clone()) else { return };
        self.say(Subject::TaskGroup, (key, uid), code, message);
    }

    /// A warning about a pod, which says what was so when it was decided.
    pub(super) fn tell_pod(&mut self, ask: AskId, code: Code, message: Text) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let object = (pod.key.clone(), pod.uid.clone());
        self.say(Subject::Pod, object, code, message);
    }

    /// A warning about another system's PodGroup, likewise.
    pub(super) fn tell_pod_group(&mut self, system: System, key: &Key, code: Code, message: Text) {
        let Some(uid) = self.ledger.pod_group(system, key).map(|facts| facts.uid.clone()) else { return };
        self.say(Subject::PodGroup(system), (key.clone(), uid), code, message);
    }

    fn say(&mut self, subject: Subject, (key, uid): (Key, Uid), code: Code, message: Text) {
        tracing::info!(object = %key, kind = subject.kind(), reason = %code, message = %message);
        let (event_type, reason) = (code.event_type(), code.name());
        self.queue_event(Matter::Said(Notice { subject, key, uid, event_type, reason, message }));
    }

    /// Has an event made; false: too many wait already.
    fn queue_event(&mut self, matter: Matter) -> bool {
        let number = self.next_matter;
        self.next_matter += 1;
        let is_taken = self.outbox.want(self.now.mono, Want::new(Slot::Event, Target::Event(number), None));
        if is_taken {
            self.matters.insert(number, matter);
        }
        is_taken
    }

    /// The event as it is to be sent now; `None` if its reason has gone.
    pub(super) fn make_event(&mut self, number: u64) -> Option<Op> {
        let notice = match self.matters.remove(&number)? {
            Matter::Said(notice) => notice,
            Matter::Wanted(target, reason) => {
                let notice = self.notice(&target, reason);
                if notice.is_none() {
                    self.take_back(target, reason);
                }
                notice?
            }
        };
        let event = show::event(&notice, self.settings.instance, number, self.now.wall);
        self.matters.insert(number, Matter::Said(notice));
        Some(Op::CreateEvent(Box::new(event)))
    }

    /// What is to be said, if it is still so.
    fn notice(&mut self, target: &Target, code: Code) -> Option<Notice> {
        let notice = match target {
            Target::Group(key) => self.notice_of_group(key, code),
            Target::Ask(ask) => self.notice_of_pod(*ask, code),
            Target::Placeholder(_) | Target::Queue(_) | Target::PodGroup(..) | Target::Event(_) => None,
        }?;
        let Notice { key, subject, reason, message, .. } = &notice;
        tracing::info!(object = %key, kind = subject.kind(), reason = %reason, message = %message);
        Some(notice)
    }

    fn notice_of_group(&self, key: &Key, code: Code) -> Option<Notice> {
        let group = *self.core.books.group_ids.get(key)?;
        let uid = self.ledger.group(key)?.uid.clone();
        self.core.group_report(group).filter(|report| report.reason == code)?;
        let message = self.core.group_message(group).into();
        Some(Notice {
            subject: Subject::TaskGroup,
            key: key.clone(),
            uid,
            event_type: code.event_type(),
            reason: code.name(),
            message,
        })
    }

    fn notice_of_pod(&mut self, ask: AskId, code: Code) -> Option<Notice> {
        let reason = self.core.ask_reason(ask).filter(|reason| reason.code() == code)?;
        let message = format!("{code}: {}", self.sentence(&reason)).into();
        let pod = self.ledger.pod(ask)?;
        let (key, uid) = (pod.key.clone(), pod.uid.clone());
        let (subject, event_type) = (Subject::Pod, EventType::Warning);
        Some(Notice { subject, key, uid, event_type, reason: "FailedScheduling", message })
    }

    /// An event did not leave because its reason has gone. If the reason comes again, it is announced again.
    fn take_back(&mut self, target: Target, reason: Code) {
        if self.announced.get(&target) == Some(&Some(reason)) {
            self.announced.insert(target, None);
        }
    }
}

/// Whether a pod shares a reason with its gang: then the event of the TaskGroup tells of it, and none of the pod.
pub(super) const fn is_of_its_gang(reason: &AskReason) -> bool {
    match reason {
        AskReason::Refused(_)
        | AskReason::ApplicationClosed(_)
        | AskReason::TaskGroupNotFound { .. }
        | AskReason::Queue(_)
        | AskReason::QueueUnknown(_)
        | AskReason::NamespaceUnknown(_)
        | AskReason::Quota(_)
        | AskReason::BehindFirst(_)
        | AskReason::TooLarge(_)
        | AskReason::Capacity(_)
        | AskReason::SeatTooSmall { .. }
        | AskReason::PlaceholderKept(_)
        | AskReason::BindRefused(_) => false,
        AskReason::Rejected { .. } | AskReason::Gang(..) | AskReason::Wanted(_) | AskReason::SeatHeld(_) => true,
    }
}
