//! Outcomes by what can be concluded from them.

use std::sync::Arc;

use crate::core::reason::Refusal;
use crate::shim::observation::{Outcome, Seen};

/// Outcomes by what can be concluded from them.
pub(super) enum Answer {
    /// 2xx, with the object if it came along.
    Done(Option<Box<Seen>>),
    /// 404.
    Missing(Refusal),
    /// 409.
    Conflict(Refusal),
    /// 401, 403: somebody has to allow it.
    Denied(Refusal),
    /// Another 3xx or 4xx: the same call will be refused again.
    Rejected(Refusal),
    /// 429, 503 and other 5xx: not now. Also a call that never left.
    Busy(Refusal),
    /// It may have happened or may happen yet.
    Unknown(Refusal),
}

impl Answer {
    /// What an outcome of a call with this resource and verb says.
    pub(super) fn of(outcome: Outcome, (resource, verb): (&'static str, &'static str)) -> Self {
        match outcome {
            Outcome::Ok(seen) => Self::Done(seen),
            Outcome::Unknown => Self::Unknown(refusal(0, "no answer")),
            Outcome::NotSent => Self::Busy(refusal(0, "not sent")),
            Outcome::Refused { code, message, .. } => match code {
                404 => Self::Missing(Refusal { code, message }),
                409 => Self::Conflict(Refusal { code, message }),
                401 | 403 => Self::Denied(refusal(code, &format!("{verb} {resource}: {message}"))),
                408 | 500 | 502 | 504 => Self::Unknown(Refusal { code, message }),
                429 | 500.. => Self::Busy(Refusal { code, message }),
                0..=499 => Self::Rejected(Refusal { code, message }),
            },
        }
    }
}

fn refusal(code: u16, message: &str) -> Refusal {
    Refusal { code, message: Arc::from(message) }
}
