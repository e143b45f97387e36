//! Who leads: what to ask of the API server about one Lease next, and until when we hold it.
//!
//! Pure, and by the semantics of client-go:
//!
//! - only a write that was answered makes or keeps a holder, for [`Timing::renew_ms`] from when it was *sent*;
//! - others leave the Lease alone for [`Timing::duration_ms`], which is longer, from when they *saw* its latest version:
//!   no time that another process wrote counts;
//! - every write names the version that it replaces, so that of two only one is carried out;
//! - what became of a write without an answer is found out by looking.

mod leases;
#[cfg(test)]
mod properties;
mod reign;
#[cfg(test)]
mod tests;

use crate::core::base::ids::Text;
use crate::core::time::{Millis, Mono};
pub use leases::Leases;
pub use reign::Flights;

/// How often one who waits looks, at least: a holder that has let go is to be followed within two seconds.
const LOOK_MS: Millis = 1_000;
/// Nobody is waited for longer, whatever duration the Lease names: it may have been written by hand.
pub const DURATION_MAX_MS: Millis = 600_000;

/// How long everything takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// For so long after another was seen to renew the Lease it is not taken.
    pub duration_ms: Millis,
    /// For so long after a write was sent that was then answered the Lease is held. Shorter than the duration.
    pub renew_ms: Millis,
    /// How far a renewal is from the one before, and a try from one that failed.
    pub retry_ms: Millis,
}

/// The Lease as the API server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its resourceVersion.
    pub version: Text,
    /// Who holds it.
    pub holder: Option<Text>,
    /// For how long after a renewal it is to be left alone, says its holder.
    pub duration_ms: Millis,
    /// How often it has passed from one to another.
    pub transitions: u32,
}

/// What to ask of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read it.
    Look,
    /// Make it, in our name.
    Create,
    /// Write it in our name, if this is its version.
    Take {
        /// The version that is replaced.
        version: Text,
        /// What it says from then on.
        transitions: u32,
    },
    /// Write anew that it is ours, if this is its version.
    Renew {
        /// The version that is replaced.
        version: Text,
    },
    /// Write that it is nobody's, if this is its version.
    Release {
        /// The version that is replaced.
        version: Text,
    },
}

/// A request that leaves now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The answer carries it, so that a late one is told from the one that is waited for.
    pub number: u64,
    /// What to ask.
    pub verb: Verb,
    /// Without an answer in this time it has [`Answer::Failed`].
    pub within_ms: Millis,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The Lease as it is, or as it was just written.
    Shown(Record),
    /// There is none.
    Absent,
    /// A write was refused, since there is another version.
    Conflict,
    /// It was refused, or there was no answer.
    Failed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this, once, and hand back what became of it.
    Ask(Request),
    /// Nothing before this time.
    Wait(Mono),
    /// Nothing any more: it was given back.
    End,
}

/// Whether we lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Another does, or nobody.
    Follows,
    /// We do.
    Leads {
        /// Rises each time we begin to: what was decided in one reign is not carried out in another.
        reign: u64,
        /// The last moment of it, unless the Lease is renewed.
        until: Mono,
    },
}

/// What was seen of the Lease last.
#[derive(Clone, Debug)]
enum Known {
    Nothing,
    Gone,
    There(Record),
}

#[derive(Clone, Copy, Debug)]
enum Stance {
    /// It is not to be taken before this time.
    Waits {
        free_at: Mono,
    },
    Holds {
        until: Mono,
    },
    /// It is given back as soon as nothing is asked.
    Leaves {
        until: Mono,
    },
    Left,
}

#[derive(Clone, Debug)]
struct Asked {
    number: u64,
    verb: Verb,
    sent: Mono,
}

/// One Lease, as one process goes about it.
#[derive(Clone, Debug)]
pub struct Lease {
    own: Text,
    timing: Timing,
    stance: Stance,
    known: Known,
    /// Whether a write has failed since, so that there may be another version.
    doubted: bool,
    asked: Option<Asked>,
    newest: u64,
    reign: u64,
    /// Nothing is asked before.
    next: Mono,
}

impl Lease {
    /// A Lease of which nothing was seen. No other process may bear the name `own`.
    pub fn new(own: Text, timing: Timing) -> Self {
        debug_assert!(timing.renew_ms < timing.duration_ms, "settings are checked");
        Self {
            own,
            timing,
            stance: Stance::Waits { free_at: Mono(0) },
            known: Known::Nothing,
            doubted: false,
            asked: None,
            newest: 0,
            reign: 0,
            next: Mono(0),
        }
    }

    /// What to do now.
    pub fn next(&mut self, now: Mono) -> Next {
        self.expire(now);
        if let Some(asked) = &self.asked {
            return Next::Wait(asked.sent.after(self.patience()));
        }
        match self.stance {
            Stance::Left => Next::End,
            Stance::Leaves { .. } => self.give_back(now),
            Stance::Holds { until } if now < self.next => Next::Wait(self.next.min(until.after(1))),
            Stance::Waits { .. } if now < self.next => Next::Wait(self.next),
            Stance::Holds { .. } => self.ask(now, self.renewal()),
            Stance::Waits { free_at } => self.ask(now, self.attempt(now >= free_at)),
        }
    }

    /// Takes an answer. One that nobody waits for any more changes nothing.
    pub fn heard(&mut self, now: Mono, number: u64, answer: Answer) {
        self.expire(now);
        let Some(asked) = self.asked.take_if(|asked| asked.number == number) else { return };
        let (is_write, sent) = (asked.verb != Verb::Look, asked.sent);
        match (asked.verb, answer) {
            // Whatever came of it: if the Lease is still ours the others wait for it.
            (Verb::Release { .. }, _) => self.stance = Stance::Left,
            (_, Answer::Shown(record)) if is_write && record.holder.as_ref() == Some(&self.own) => {
                self.hold(sent, record);
            }
            (_, Answer::Shown(record)) => self.see(now, record),
            (Verb::Create | Verb::Take { .. } | Verb::Renew { .. }, Answer::Conflict) => self.contest(now),
            // There is not even a namespace for it.
            (Verb::Create, Answer::Absent) | (Verb::Look, Answer::Conflict) | (_, Answer::Failed) => self.fail(sent),
            (Verb::Look | Verb::Take { .. } | Verb::Renew { .. }, Answer::Absent) => self.see_none(now),
        }
    }

    /// How we stand.
    pub fn standing(&self, now: Mono) -> Standing {
        match self.stance {
            Stance::Holds { until } if now <= until => Standing::Leads { reign: self.reign, until },
            // Once it is to be given back another may hold it at any moment.
            Stance::Holds { .. } | Stance::Leaves { .. } | Stance::Waits { .. } | Stance::Left => Standing::Follows,
        }
    }

    /// Whether it is ours, to be kept or to be given back.
    fn is_ours(&self, now: Mono) -> bool {
        match self.stance {
            Stance::Holds { until } | Stance::Leaves { until } => now <= until,
            Stance::Waits { .. } | Stance::Left => false,
        }
    }

    /// Whether it is not ours, and to be had.
    fn is_sought(&self, now: Mono) -> bool {
        match self.stance {
            Stance::Holds { until } => now > until,
            Stance::Waits { .. } => true,
            Stance::Leaves { .. } | Stance::Left => false,
        }
    }

    /// Who else holds it, as far as is known.
    pub fn holder(&self) -> Option<&Text> {
        let Known::There(record) = &self.known else { return None };
        record.holder.as_ref().filter(|holder| **holder != self.own)
    }

    /// We lead no more and want to no more: the Lease is given back, if it is ours.
    pub fn release(&mut self) {
        self.stance = match self.stance {
            Stance::Holds { until } | Stance::Leaves { until } => Stance::Leaves { until },
            Stance::Waits { .. } | Stance::Left => Stance::Left,
        };
    }

    /// Half of the time in which a renewal must succeed, so that there can be another one.
    fn patience(&self) -> Millis {
        self.timing.renew_ms / 2
    }

    fn expire(&mut self, now: Mono) {
        match self.stance {
            Stance::Holds { until } if now > until => self.stance = Stance::Waits { free_at: now },
            Stance::Leaves { until } if now > until => self.stance = Stance::Left,
            Stance::Holds { .. } | Stance::Leaves { .. } | Stance::Waits { .. } | Stance::Left => {}
        }
    }

    fn ask(&mut self, now: Mono, verb: Verb) -> Next {
        self.newest += 1;
        // Whoever leads hears at once that it does not any more.
        let within_ms = match self.stance {
            Stance::Holds { until } | Stance::Leaves { until } => self.patience().min(until.after(1).since(now)),
            Stance::Waits { .. } | Stance::Left => self.patience(),
        };
        self.asked = Some(Asked { number: self.newest, verb: verb.clone(), sent: now });
        Next::Ask(Request { number: self.newest, verb, within_ms })
    }

    fn renewal(&self) -> Verb {
        match &self.known {
            Known::There(record) if !self.doubted => Verb::Renew { version: record.version.clone() },
            Known::Gone if !self.doubted => Verb::Create,
            Known::There(_) | Known::Gone | Known::Nothing => Verb::Look,
        }
    }

    fn attempt(&self, is_free: bool) -> Verb {
        if self.doubted || !is_free {
            return Verb::Look;
        }
        match &self.known {
            Known::Nothing => Verb::Look,
            Known::Gone => Verb::Create,
            Known::There(record) => {
                let passes = record.holder.as_ref() != Some(&self.own);
                let transitions = record.transitions.saturating_add(u32::from(passes));
                Verb::Take { version: record.version.clone(), transitions }
            }
        }
    }

    fn give_back(&mut self, now: Mono) -> Next {
        match &self.known {
            Known::There(record) if !self.doubted => {
                let version = record.version.clone();
                self.ask(now, Verb::Release { version })
            }
            // Of which version is unknown: the others wait for it to expire.
            Known::There(_) | Known::Gone | Known::Nothing => {
                self.stance = Stance::Left;
                Next::End
            }
        }
    }

    /// A write of ours was carried out, some time after it was sent.
    fn hold(&mut self, sent: Mono, record: Record) {
        let until = sent.after(self.timing.renew_ms);
        self.stance = match self.stance {
            Stance::Holds { .. } => Stance::Holds { until },
            Stance::Leaves { .. } => Stance::Leaves { until },
            Stance::Waits { .. } => {
                self.reign += 1;
                Stance::Holds { until }
            }
            Stance::Left => Stance::Left,
        };
        (self.known, self.doubted) = (Known::There(record), false);
        self.next = sent.after(self.timing.retry_ms);
    }

    /// The Lease as it is, which is not as we wrote it just now.
    fn see(&mut self, now: Mono, record: Record) {
        let is_ours = record.holder.as_ref() == Some(&self.own);
        let is_free = record.holder.is_none() || is_ours && !self.is_late_creation(now, &record);
        let is_known = matches!(&self.known, Known::There(known) if known.version == record.version);
        let duration_ms = self.timing.duration_ms.max(record.duration_ms.min(DURATION_MAX_MS));
        self.stance = match self.stance {
            Stance::Holds { .. } | Stance::Leaves { .. } if is_ours => self.stance,
            Stance::Leaves { .. } | Stance::Left => Stance::Left,
            Stance::Waits { .. } if is_known => self.stance,
            Stance::Holds { .. } | Stance::Waits { .. } if is_free => Stance::Waits { free_at: now },
            Stance::Holds { .. } | Stance::Waits { .. } => Stance::Waits { free_at: now.after(duration_ms) },
        };
        (self.known, self.doubted) = (Known::There(record), false);
        self.look_again(now);
    }

    /// Whether one in our name was made by us, and not taken: a creation names no version that it replaces. If it had no
    /// answer it may have come after the Lease of another who still leads was deleted.
    fn is_late_creation(&self, now: Mono, record: &Record) -> bool {
        let was_ours = matches!(&self.known, Known::There(known) if known.holder == record.holder);
        let waits = matches!(self.stance, Stance::Waits { free_at } if now < free_at);
        record.transitions == 0 && (!was_ours || waits)
    }

    /// There is no Lease. Whoever has seen one waits as for a holder: it may have been deleted while somebody holds it,
    /// who makes it anew.
    fn see_none(&mut self, now: Mono) {
        if let (Stance::Waits { .. }, Known::There(_)) = (self.stance, &self.known) {
            self.stance = Stance::Waits { free_at: now.after(self.timing.duration_ms) };
        }
        (self.known, self.doubted) = (Known::Gone, false);
        self.look_again(now);
    }

    fn look_again(&mut self, now: Mono) {
        self.next = match self.stance {
            Stance::Waits { free_at } => now.after(LOOK_MS.min(self.timing.retry_ms)).min(free_at.max(now)),
            Stance::Holds { .. } | Stance::Leaves { .. } | Stance::Left => now,
        };
    }

    /// Somebody else has written it: until it is seen what, we do not lead.
    fn contest(&mut self, now: Mono) {
        if let Stance::Holds { .. } = self.stance {
            self.stance = Stance::Waits { free_at: now };
        }
        (self.doubted, self.next) = (true, now);
    }

    /// Looked at next, at the pace of tries.
    fn fail(&mut self, sent: Mono) {
        self.doubted = true;
        self.next = sent.after(self.timing.retry_ms);
    }
}
