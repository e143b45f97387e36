//! Outcomes by what can be concluded from them.

use std::sync::Arc;

use super::verdict::Why;
use crate::core::reason::Refusal;
use crate::shim::observation::{Outcome, Seen, is_doubtful};
use crate::shim::op::Rule;

/// Outcomes by what can be concluded from them.
pub(super) enum Answer {
    /// 2xx, with the object if it came along.
    Done(Option<Box<Seen>>),
    /// 2xx, and the object is gone.
    Removed,
    /// 404.
    Missing(Why),
    /// 409.
    Conflict(Why),
    /// 401, 403: somebody has to allow it.
    Denied(Why),
    /// Another 3xx or 4xx: the same call will be refused again.
    Rejected(Why),
    /// 429, 503 and other 5xx: not now. Also a call that never left.
    Busy(Why),
    /// It may have happened or may happen yet.
    Unknown(Why),
}

impl Answer {
    /// What the outcome of a call that needs this rule says.
    pub(super) fn of(outcome: Outcome, rule: Rule) -> Self {
        let why = |code, message| Why { rule, refusal: Refusal { code, message } };
        match outcome {
            Outcome::Ok(seen) => Self::Done(seen),
            Outcome::Removed => Self::Removed,
            Outcome::Pruned => Self::Done(None),
            Outcome::Unknown => Self::Unknown(why(0, "no answer".into())),
            Outcome::NotSent => Self::Busy(why(0, "not sent".into())),
            Outcome::Refused { code, message, .. } => match code {
                404 => Self::Missing(why(code, message)),
                409 => Self::Conflict(why(code, message)),
                401 | 403 => Self::Denied(why(code, denied(rule, &message))),
                code if is_doubtful(code) => Self::Unknown(why(code, message)),
                429 | 500.. => Self::Busy(why(code, message)),
                0..=499 => Self::Rejected(why(code, message)),
            },
        }
    }
}

/// Names the call: a server behind a proxy says no more than `Unauthorized`.
fn denied((resource, verb): Rule, message: &str) -> Arc<str> {
    format!("{verb} {resource}: {message}").into()
}
