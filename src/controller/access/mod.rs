//! Who may read what is served of the cluster: when the API server is asked about a token, and for how long its answer holds.
//!
//! Pure: time is an argument, and who asks the API server (`runtime/http/gate.rs`) tells what it answered. A token stands
//! here as its hash, never as itself. All of it is bounded:
//!
//! - an answer holds for a while ([`LET_IN_MS`], a refusal [`REFUSED_MS`]), and so many are kept;
//! - one question about a token and a page is asked at a time, whoever else waits for its answer;
//! - so many questions a second, and at once. Whoever was let in lately has a share of its own: a flood of tokens that
//!   nobody knows is no flood of reviews, and keeps out nobody who comes regularly.

mod review;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::bucket::{Bucket, Rate};
use crate::core::base::ids::Text;
use crate::core::time::{Millis, Mono};
pub use review::{identified, identify, permit, permitted};

/// For so long whoever was let in is let in again: a token that is revoked is good here for no longer.
pub const LET_IN_MS: Millis = 60_000;
/// For so long a refusal holds: whoever is given a right does not want to wait for it.
pub const REFUSED_MS: Millis = 10_000;
/// For so long after it was let in a token is a regular one: scrapes are seconds or minutes apart.
const REGULAR_MS: Millis = 3_600_000;
/// Answers that are kept, for as many tokens at most: a hundred times as many as read a scheduler's pages.
const KEPT: usize = 512;
/// Of tokens that were not let in lately, so many questions: what some people and a new Prometheus need. Each is two
/// requests for an API server that takes a thousand and more a second.
const STRANGERS: Share = Share { rate: Rate { per_second: 5, burst: 20 }, at_once: 4 };
/// Of those that were: as often as [`KEPT`] of them could be asked about every [`LET_IN_MS`].
const REGULARS: Share = Share { rate: Rate { per_second: 10, burst: 50 }, at_once: 4 };
/// No token is longer: one with hundreds of groups in it has a few kilobytes.
const TOKEN_MAX: usize = 16 << 10;

/// What the API server is asked needs these rights: group, resource, verb. `tests/charts.rs` compares the role with them.
pub const RULES: [(&str, &str, &str); 2] =
    [("authentication.k8s.io", TOKEN_REVIEWS, "create"), ("authorization.k8s.io", ACCESS_REVIEWS, "create")];
/// The resource that says whose a token is.
pub const TOKEN_REVIEWS: &str = "tokenreviews";
/// The resource that says what somebody may do.
pub const ACCESS_REVIEWS: &str = "subjectaccessreviews";

/// What is served that tells of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// Numbers, and names of queues.
    Metrics,
    /// Everything.
    State,
}

impl Page {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Metrics, Self::State];

    /// Its path, which is also what a role names (`nonResourceURLs`).
    pub const fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::State => "/state",
        }
    }
}

/// Whether a token may read a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The token's SHA-256.
    token: [u8; 32],
    /// The page.
    pub page: Page,
}

impl Question {
    /// About this token.
    pub fn new(token: &str, page: Page) -> Self {
        Self { token: Sha256::digest(token).into(), page }
    }
}

/// The token of a request: none unless there is exactly one, in the form that RFC 6750 gives it.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_one = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= TOKEN_MAX;
    (is_one && token.bytes().all(|byte| byte.is_ascii_graphic())).then_some(token)
}

/// What the API server says of a token and a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its owner may read it.
    Allowed,
    /// It is nobody's.
    Unknown,
    /// Its owner may not.
    Forbidden {
        /// The owner's name, cut to a bound.
        user: Text,
    },
}

/// Why the API server says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// We are not logged in there: we have just begun, or its address or our credentials cannot be used.
    #[error("not logged in there yet; if this lasts, the log says why")]
    NoClient,
    /// There was no answer in time.
    #[error("no answer to create {0}")]
    NoAnswer(&'static str),
    /// It answered with an error: a right is missing, or it is not well.
    #[error("it answers create {resource} with {code}")]
    Refused {
        /// What was to be created.
        resource: &'static str,
        /// The HTTP code.
        code: u16,
    },
    /// It answered something else than what was asked.
    #[error("its answer to create {0} says nothing")]
    Empty(&'static str),
}

/// Why somebody is not let in, in words for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No token came with the request.
    #[error("unauthorized: say who asks, by one header `Authorization: Bearer TOKEN` with a token of this cluster")]
    NoToken,
    /// The token is nobody's.
    #[error("unauthorized: the API server does not know this token, or it has expired")]
    BadToken,
    /// Its owner lacks the right.
    #[error(
        "forbidden: user \"{user}\" cannot get path \"{}\": bind a ClusterRole to it that has the verb get for this one of \
         nonResourceURLs", .page.path()
    )]
    Forbidden {
        /// Who.
        user: Text,
        /// What.
        page: Page,
    },
    /// Too many tokens are to be asked about.
    #[error("too many requests with tokens that are not known yet; try again in a second")]
    TooMany,
    /// The API server says nothing.
    #[error("the API server cannot be asked who may read this: {0}")]
    Unanswered(Trouble),
}

impl Refusal {
    /// The HTTP code.
    pub const fn code(&self) -> u16 {
        match self {
            Self::NoToken | Self::BadToken => 401,
            Self::Forbidden { .. } => 403,
            Self::TooMany => 429,
            Self::Unanswered(_) => 503,
        }
    }

    /// What an answer means for who asked for this page.
    ///
    /// # Errors
    /// Anything but [`Verdict::Allowed`].
    pub fn unless_allowed(answer: Result<Verdict, Trouble>, page: Page) -> Result<(), Self> {
        match answer.map_err(Self::Unanswered)? {
            Verdict::Allowed => Ok(()),
            Verdict::Unknown => Err(Self::BadToken),
            Verdict::Forbidden { user } => Err(Self::Forbidden { user, page }),
        }
    }
}

/// What is to be done about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: this is the answer.
    Answered(Verdict),
    /// Ask the API server, and say what it answered ([`Access::heard`]).
    Ask,
    /// Wait for the answer to the same question.
    Join,
    /// Refuse it: too many others are to be asked about.
    Later,
}

/// Who comes with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// Was let in lately.
    Regular,
    /// Anybody else.
    Stranger,
}

/// How much may be asked about one kind of callers.
#[derive(Clone, Copy, Debug)]
struct Share {
    rate: Rate,
    at_once: usize,
}

/// An answer, and when it was asked for: it is no truer than at that time.
#[derive(Clone, Debug)]
struct Known {
    verdict: Verdict,
    asked: Mono,
}

impl Known {
    fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allowed
    }

    /// How long it holds, and how long its token is remembered.
    fn lasts(&self) -> (Millis, Millis) {
        if self.is_allowed() { (LET_IN_MS, REGULAR_MS) } else { (REFUSED_MS, REFUSED_MS) }
    }

    fn holds(&self, now: Mono) -> bool {
        now.since(self.asked) < self.lasts().0
    }

    fn is_remembered(&self, now: Mono) -> bool {
        now.since(self.asked) < self.lasts().1
    }
}

/// What is known of tokens, and what is being asked about them.
#[derive(Clone, Debug)]
pub struct Access {
    known: BTreeMap<Question, Known>,
    asked: BTreeMap<Question, (Caller, Mono)>,
    regulars: Bucket,
    strangers: Bucket,
}

impl Default for Access {
    fn default() -> Self {
        let (regulars, strangers) = (Bucket::full(REGULARS.rate), Bucket::full(STRANGERS.rate));
        Self { known: BTreeMap::new(), asked: BTreeMap::new(), regulars, strangers }
    }
}

impl Access {
    /// Somebody comes with this question.
    pub fn turn(&mut self, now: Mono, question: Question) -> Turn {
        self.known.retain(|_, known| known.is_remembered(now));
        let known = self.known.get(&question);
        if let Some(known) = known.filter(|known| known.holds(now)) {
            return Turn::Answered(known.verdict.clone());
        }
        if self.asked.contains_key(&question) {
            return Turn::Join;
        }
        let caller = if known.is_some() { Caller::Regular } else { Caller::Stranger };
        if !self.has_room(now, caller) {
            return Turn::Later;
        }
        self.asked.insert(question, (caller, now));
        Turn::Ask
    }

    /// The API server answered a question that [`Turn::Ask`] was said to, or did not. Without an answer nothing is learnt.
    pub fn heard(&mut self, question: Question, answer: &Result<Verdict, Trouble>) {
        let (Some((_, asked)), Ok(verdict)) = (self.asked.remove(&question), answer) else { return };
        self.known.insert(question, Known { verdict: verdict.clone(), asked });
        if self.known.len() > KEPT {
            self.forget_one();
        }
    }

    /// Takes a place in the share of such callers, if there is one.
    fn has_room(&mut self, now: Mono, caller: Caller) -> bool {
        let (share, bucket) = match caller {
            Caller::Regular => (REGULARS, &mut self.regulars),
            Caller::Stranger => (STRANGERS, &mut self.strangers),
        };
        let in_flight = self.asked.values().filter(|(other, _)| *other == caller).count();
        let has_room = in_flight < share.at_once && bucket.when(now) <= now;
        if has_room {
            bucket.take(now);
        }
        has_room
    }

    /// The oldest refusal, or the oldest of all: refusals come in floods.
    fn forget_one(&mut self) {
        let least = self.known.iter().min_by_key(|(_, known)| (known.is_allowed(), known.asked));
        if let Some(question) = least.map(|(question, _)| *question) {
            self.known.remove(&question);
        }
    }
}
