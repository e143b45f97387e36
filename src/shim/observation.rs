//! What the shell tells the controller: watch facts and outcomes of calls (design 02, 2.1).

pub use super::kinds::Body;
use super::kinds::Kind;
use super::op::CallId;
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::time::Millis;

/// A fact from outside.
#[derive(Clone, Debug)]
pub enum Observation {
    /// Something a watch said. Order is guaranteed within one kind only.
    Watch {
        /// Which kind's watch.
        kind: Kind,
        /// Number of the connection, rising; for logs.
        conn: u32,
        /// What it said.
        fact: WatchFact,
    },
    /// How a call ended.
    Outcome {
        /// The call.
        id: CallId,
        /// How.
        outcome: Outcome,
    },
    /// The process is asked to end: nothing new is begun.
    Stop,
}

/// What a watch says.
#[derive(Clone, Debug)]
pub enum WatchFact {
    /// The kind is not served (404: its CRD is missing); the shell keeps trying.
    Unserved,
    /// A (re)list begins.
    ListBegin,
    /// One object of the list.
    Listed(Seen),
    /// The list is complete: what was not in it is gone.
    ListEnd,
    /// An object was added or changed.
    Upsert(Seen),
    /// An object was deleted; the body is its last state.
    Gone(Seen),
    /// The watch broke with this HTTP status (0 = connection); the shell starts it again.
    Broken {
        /// HTTP status, or 0.
        code: u16,
        /// The server's words.
        message: Text,
    },
}

impl WatchFact {
    /// Whether it says that the objects of a kind cannot be seen now, which is nothing to wait for where they are another
    /// system's: without those everything else goes on.
    pub const fn leaves_out(&self, kind: Kind) -> bool {
        kind.dialect().is_some() && matches!(self, Self::Broken { .. })
    }

    /// Whether it says that nothing will be heard any more of objects of a kind that is another system's: it is not served, or
    /// not ours to see.
    pub const fn ends_sight(&self, kind: Kind) -> bool {
        kind.dialect().is_some() && matches!(self, Self::Unserved | Self::Broken { code: 403, .. })
    }
}

/// One object as seen at one resource version.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Namespace and name.
    pub key: Key,
    /// UID.
    pub uid: Uid,
    /// `metadata.resourceVersion` as a number (0 if it is none).
    pub rv: u64,
    /// The object, or why it could not be read.
    pub body: Result<Body, Malformed>,
}

/// An object that does not decode: it is quarantined, the others go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The decoder's words with the path of the field, bounded and escaped.
    pub problem: Text,
    /// `metadata.generation`, 0 where there is none.
    pub generation: i64,
}

/// Whether an answer with this HTTP status leaves it open what became of the request: it may have happened, or may happen
/// yet.
pub const fn is_doubtful(code: u16) -> bool {
    matches!(code, 408 | 500 | 502 | 504)
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// 2xx, with the object if the response carries one that we read.
    Ok(Option<Box<Seen>>),
    /// 2xx to a DELETE, with the object as it was last: it is gone.
    Removed,
    /// 2xx to a status of which the server kept a part: its definition of the kind is older and lacks fields.
    Pruned,
    /// The server answered with an error; some leave doubt ([`is_doubtful`]).
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status object: `AlreadyExists`, `Forbidden`, …
        reason: Text,
        /// `message` of the Status object, bounded and escaped.
        message: Text,
        /// `Retry-After`.
        retry_after: Option<Millis>,
    },
    /// No answer: it may or may not have happened, or may happen yet. A cut connection, a timeout.
    Unknown,
    /// It never left: `not_after` had passed, or the process is ending.
    NotSent,
}

impl Outcome {
    /// Whether the call may have happened, or may happen yet.
    pub const fn is_in_doubt(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Refused { code, .. } => is_doubtful(*code),
            Self::Ok(_) | Self::Removed | Self::Pruned | Self::NotSent => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_have_happened_is_in_doubt() {
        let refused =
            |code| Outcome::Refused { code, reason: Text::default(), message: Text::default(), retry_after: None };
        let certain =
            [Outcome::Ok(None), Outcome::Removed, Outcome::Pruned, Outcome::NotSent, refused(409), refused(429)];
        assert!(certain.iter().all(|outcome| !outcome.is_in_doubt()));
        let doubtful = [Outcome::Unknown, refused(500), refused(504)];
        assert!(doubtful.iter().all(Outcome::is_in_doubt));
    }
}
