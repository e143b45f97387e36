//! What an answer means: one small state machine for each slot, as one table.
//!
//! Six causes of a Binding's 409 look alike, and a 504 may have happened or may happen yet (measured, design 04 4.3); a
//! 500 says as little (a webhook failed, or storage did after the write). A refusal that leaves doubt is looked into by
//! a GET, and what may have happened is repeated until a positive fact settles it.

use super::answer::Answer;
use super::pace::Pace;
use super::want::Slot;
use crate::core::base::ids::Uid;
use crate::core::reason::Refusal;
use crate::shim::observation::{Body, Outcome, Seen};
use crate::shim::op::{Op, Rule};

/// How often a patch is repeated on 409: the server itself has already tried five times each.
const CONFLICTS_MAX: u32 = 5;
/// How often an event is sent: it is for people, and often one of many.
const EVENT_ATTEMPTS_MAX: u32 = 3;

/// A call that was not carried out.
#[derive(Clone, Debug)]
pub struct Why {
    /// The right that the call needs. This may be the GET that looked into the refusal of the call that was wanted.
    pub rule: Rule,
    /// What the server said to it.
    pub refusal: Refusal,
}

impl Why {
    /// Whether we may not do this at all. The API server has no status code of its own for that, only words.
    pub fn is_missing_right(&self) -> bool {
        let Refusal { code, message } = &self.refusal;
        *code == 401 || *code == 403 && message.contains("forbidden: User ")
    }
}

/// What is known of something that was wanted.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It has happened, with the object if an answer carried it. Deleted objects may still be there, terminating.
    Done(Option<Box<Seen>>),
    /// It did not happen and will not: the object is another one, or (Bind) is on another node or being deleted, or (Fail)
    /// was changed meanwhile. To be taken in like a fact of the watch.
    Fact(Box<Seen>),
    /// The object is gone.
    Gone,
    /// It certainly did not happen. It is not tried again until it is wanted again, and then not too soon. With the
    /// object if it was looked at.
    Refused(Why, Option<Box<Seen>>),
    /// Refused or unanswered for now, and not for the first time or not for a moment only: it is tried again by itself.
    /// For people.
    Denied(Why),
}

/// What an entry does when it leaves.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// It is made.
    Make,
    /// It may have happened: exactly the same call again.
    Repeat(Box<Op>),
    /// It was refused: the object is looked at.
    Look(Look),
}

/// A refusal that only the object can explain.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// What was refused.
    pub(super) op: Box<Op>,
    /// The refusal.
    pub(super) why: Why,
    /// Whether an earlier attempt may have happened or may happen yet.
    pub(super) doubt: bool,
}

/// What is in flight.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    /// Bind, Delete, Fail or Create.
    Write {
        /// The call.
        op: Box<Op>,
        /// Whether an earlier attempt may have happened or may happen yet.
        doubt: bool,
    },
    /// A GET.
    Look(Look),
    /// A patch or event: made anew each time.
    Text,
}

/// What follows from an answer.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// It is over.
    End(Verdict),
    /// It is over and nobody wants to know.
    Forget,
    /// Another call follows.
    Go {
        /// Which.
        step: Step,
        /// How soon.
        pace: Pace,
        /// Because of what.
        why: Why,
    },
}

/// What the answer to a call of an entry means. `attempt` counts earlier failures, `rule` is what the call needs.
pub(super) fn judge(slot: Slot, sent: Sent, attempt: u32, rule: Rule, outcome: Outcome) -> Next {
    let answer = Answer::of(outcome, rule);
    match (sent, slot) {
        (Sent::Write { op, doubt }, _) => written(slot, op, doubt, answer),
        (Sent::Look(look), _) => looked(slot, look, attempt, answer),
        (Sent::Text, Slot::Event) => told(attempt, answer),
        (Sent::Text, Slot::Declare) => declared(answer),
        (
            Sent::Text,
            Slot::Bind | Slot::Delete | Slot::Fail | Slot::Create | Slot::Condition | Slot::Annotate | Slot::Status,
        ) => patched(attempt, answer),
    }
}

/// Answer to a Binding, DELETE, failure or creation.
fn written(slot: Slot, op: Box<Op>, doubt: bool, answer: Answer) -> Next {
    match answer {
        Answer::Done(seen) => Next::End(Verdict::Done(seen)),
        Answer::Removed => Next::End(Verdict::Gone),
        Answer::Missing(why) => Next::End(if slot == Slot::Create {
            // The namespace of the placeholder is gone.
            Verdict::Refused(why, None)
        } else {
            Verdict::Gone
        }),
        Answer::Conflict(why) => look(op, why, doubt),
        // An earlier attempt may have happened. Admission comes before storage, so a quota that the first attempt has
        // used up refuses the second.
        Answer::Denied(why) | Answer::Rejected(why) if doubt => look(op, why, doubt),
        Answer::Denied(why) if matches!(slot, Slot::Delete | Slot::Fail) => {
            Next::Go { step: Step::Make, pace: Pace::Long, why }
        }
        Answer::Denied(why) | Answer::Rejected(why) => Next::End(Verdict::Refused(why, None)),
        Answer::Busy(why) => Next::Go { step: again(op, doubt), pace: Pace::Brief, why },
        // Whether a pod is still to fail is asked again: a version that failed it is refused.
        Answer::Unknown(why) if slot == Slot::Fail => Next::Go { step: Step::Make, pace: Pace::Brief, why },
        Answer::Unknown(why) => Next::Go { step: Step::Repeat(op), pace: Pace::Brief, why },
    }
}

fn look(op: Box<Op>, why: Why, doubt: bool) -> Next {
    Next::Go { step: Step::Look(Look { op, why: why.clone(), doubt }), pace: Pace::Now, why }
}

fn again(op: Box<Op>, doubt: bool) -> Step {
    if doubt { Step::Repeat(op) } else { Step::Make }
}

/// Answer to the GET that looks into a refusal.
fn looked(slot: Slot, look: Look, attempt: u32, answer: Answer) -> Next {
    match answer {
        Answer::Done(Some(seen)) => found(slot, look, attempt, seen),
        Answer::Removed => Next::End(Verdict::Gone),
        Answer::Missing(_) => match slot {
            Slot::Create => not_yet(look, attempt, None),
            Slot::Bind
            | Slot::Delete
            | Slot::Fail
            | Slot::Declare
            | Slot::Condition
            | Slot::Annotate
            | Slot::Status
            | Slot::Event => Next::End(Verdict::Gone),
        },
        Answer::Done(None) => {
            let why = look.why.clone();
            Next::Go { step: Step::Look(look), pace: Pace::Brief, why }
        }
        Answer::Busy(why) | Answer::Unknown(why) => Next::Go { step: Step::Look(look), pace: Pace::Brief, why },
        Answer::Denied(why) | Answer::Rejected(why) | Answer::Conflict(why) => {
            Next::Go { step: Step::Look(look), pace: Pace::Long, why }
        }
    }
}

/// The object is there.
fn found(slot: Slot, look: Look, attempt: u32, seen: Box<Seen>) -> Next {
    if slot == Slot::Create {
        return Next::End(Verdict::Done(Some(seen)));
    }
    if let Op::FailPod { uid, resource_version, .. } = &*look.op {
        let is_changed = *uid == seen.uid && seen.rv > resource_version.get() && seen.body.is_ok();
        return if is_changed { Next::End(Verdict::Fact(seen)) } else { not_yet(look, attempt, Some(seen)) };
    }
    if target_uid(&look.op).is_some_and(|uid| *uid != seen.uid) {
        return Next::End(Verdict::Fact(seen));
    }
    match (node(&look.op), &seen.body) {
        (None, _) => not_yet(look, attempt, Some(seen)),
        // The pod cannot be read, so that nobody can tell on which node it is. Its watch says what is wrong with it.
        (Some(_), Err(_)) => {
            let why = look.why.clone();
            Next::Go { step: Step::Look(look), pace: Pace::Long, why }
        }
        (Some(wanted), Ok(body)) => match bound_to(body) {
            // It can be bound by no attempt any more, not even by one that is on its way: deletion is never taken back.
            None if terminates(body) => Next::End(Verdict::Fact(seen)),
            None => not_yet(look, attempt, Some(seen)),
            Some(node) if node == wanted => Next::End(Verdict::Done(Some(seen))),
            Some(_) => Next::End(Verdict::Fact(seen)),
        },
    }
}

/// The object shows that the call has not happened. If an earlier attempt is in doubt this settles nothing, since that
/// attempt may happen yet.
fn not_yet(look: Look, attempt: u32, seen: Option<Box<Seen>>) -> Next {
    let Look { op, why, doubt } = look;
    let conflict = why.refusal.code == 409;
    let refused_for_good = match &*op {
        Op::Bind { .. } => !doubt,
        // 409 also means that a quota was changed at the same time: worth another try.
        Op::DeletePod { .. } | Op::CreatePod(_) => !doubt && attempt >= CONFLICTS_MAX,
        // The answer shows no change of the pod: it is too old, or the conflict was about something else.
        Op::FailPod { .. }
        | Op::GetPod { .. }
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchTaskGroupStatus { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => true,
    };
    if refused_for_good {
        return Next::End(Verdict::Refused(why, seen));
    }
    let pace = if conflict { Pace::Brief } else { Pace::Long };
    Next::Go { step: again(op, doubt), pace, why }
}

/// Answer to a patch of a condition, annotation or status.
fn patched(attempt: u32, answer: Answer) -> Next {
    match answer {
        Answer::Done(_) => Next::End(Verdict::Done(None)),
        Answer::Removed | Answer::Missing(_) => Next::End(Verdict::Gone),
        Answer::Conflict(why) if attempt >= CONFLICTS_MAX => Next::End(Verdict::Refused(why, None)),
        Answer::Rejected(why) => Next::End(Verdict::Refused(why, None)),
        Answer::Denied(why) => Next::Go { step: Step::Make, pace: Pace::Long, why },
        Answer::Conflict(why) | Answer::Busy(why) | Answer::Unknown(why) => {
            Next::Go { step: Step::Make, pace: Pace::Brief, why }
        }
    }
}

/// Answer to an event.
fn told(attempt: u32, answer: Answer) -> Next {
    let why = match answer {
        // Each event has a name of its own, so a conflict means that an earlier attempt created it.
        Answer::Done(_) | Answer::Removed | Answer::Conflict(_) => return Next::End(Verdict::Done(None)),
        Answer::Missing(why) | Answer::Denied(why) | Answer::Rejected(why) => {
            return Next::End(Verdict::Refused(why, None));
        }
        Answer::Busy(why) | Answer::Unknown(why) => why,
    };
    if attempt + 1 >= EVENT_ATTEMPTS_MAX {
        return Next::End(Verdict::Refused(why, None));
    }
    Next::Go { step: Step::Make, pace: Pace::Brief, why }
}

/// Answer to the creation of a TaskGroup that is declared, or to the edit that lets a PodGroup in. Whatever refuses it may cease to,
/// and until then its pods wait. A conflict can be one with a quota; if there is such a TaskGroup already, the watch shows it, and
/// none is made any more.
fn declared(answer: Answer) -> Next {
    match answer {
        Answer::Done(_) | Answer::Removed => Next::End(Verdict::Done(None)),
        // The namespace is gone, or the kind is not served (yet).
        Answer::Missing(_) => Next::End(Verdict::Gone),
        Answer::Conflict(why) | Answer::Denied(why) | Answer::Rejected(why) => {
            Next::Go { step: Step::Make, pace: Pace::Long, why }
        }
        Answer::Busy(why) | Answer::Unknown(why) => Next::Go { step: Step::Make, pace: Pace::Brief, why },
    }
}

/// The UID that a Binding, DELETE or failure insists on.
fn target_uid(op: &Op) -> Option<&Uid> {
    match op {
        Op::Bind { uid, .. } | Op::DeletePod { uid, .. } | Op::FailPod { uid, .. } => Some(uid),
        Op::CreatePod(_)
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::GetPod { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchTaskGroupStatus { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => None,
    }
}

/// The node that a Binding names.
fn node(op: &Op) -> Option<&str> {
    match op {
        Op::Bind { node, .. } => Some(node),
        Op::DeletePod { .. }
        | Op::FailPod { .. }
        | Op::CreatePod(_)
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::GetPod { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchTaskGroupStatus { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => None,
    }
}

/// Whether a pod is being deleted.
fn terminates(body: &Body) -> bool {
    match body {
        Body::Pod(pod) => pod.metadata.deletion_timestamp.is_some(),
        Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => false,
    }
}

/// The node that a pod is on.
fn bound_to(body: &Body) -> Option<&str> {
    match body {
        Body::Pod(pod) => pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty()),
        Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    }
}
