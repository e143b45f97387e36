//! The Lease of two processes on the API server, what people do to it, and the way to it and back.

use gangline::controller::lease::{Answer, Record, Request, Timing, Verb};
use gangline::core::base::ids::Text;

use super::replicas::Post;
use super::{GIVEN_UP_MS, World};

/// As the chart has it.
pub(super) const TIMING: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

/// The Lease as the server has it, and how often it was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub(super) lease: Option<Record>,
    version: u64,
}

/// What is done with a request on its way.
#[derive(Clone, Copy, Debug)]
struct Way {
    arrives_ms: Option<u64>,
    /// How long after it has arrived; `None`: never.
    answered_ms: Option<u64>,
    is_refused: bool,
}

impl Stored {
    fn write(&mut self, holder: Option<Text>, transitions: u32) -> Answer {
        self.version += 1;
        let version = self.version.to_string().into();
        let record = Record { version, holder, duration_ms: TIMING.duration_ms, transitions };
        Answer::Shown(self.lease.insert(record).clone())
    }

    /// As an API server does it.
    fn carry_out(&mut self, own: &Text, verb: &Verb) -> Answer {
        let own = || Some(own.clone());
        let Some(record) = self.lease.clone() else {
            return if *verb == Verb::Create { self.write(own(), 0) } else { Answer::Absent };
        };
        match verb {
            Verb::Look => Answer::Shown(record),
            Verb::Take { version, transitions } if *version == record.version => self.write(own(), *transitions),
            Verb::Renew { version } if *version == record.version => self.write(own(), record.transitions),
            Verb::Release { version } if *version == record.version => self.write(None, record.transitions),
            Verb::Create | Verb::Take { .. } | Verb::Renew { .. } | Verb::Release { .. } => Answer::Conflict,
        }
    }

    /// Somebody writes this holder into it.
    pub(super) fn edit(&mut self, holder: Option<Text>) {
        if let Some(transitions) = self.lease.as_ref().map(|lease| lease.transitions) {
            self.write(holder, transitions);
        }
    }

    /// Whether there was one that is gone.
    pub(super) const fn is_gone(&self) -> bool {
        self.lease.is_none() && self.version > 0
    }
}

/// The name of a process: no two have the same.
pub(super) fn own_name(of: u64) -> Text {
    format!("replica {of}").into()
}

impl World {
    /// A request about the Lease leaves, and meets what plans do to calls.
    pub(super) fn ask_of_lease(&mut self, of: u64, request: Request, is_apart: bool) {
        let own = own_name(of);
        let way = self.way_of_request(&own, is_apart);
        self.say(|| format!("    {own}: {:?} {way:?}", request.verb));
        let Some(arrives_ms) = way.arrives_ms else { return };
        if way.is_refused {
            let answer = Post::Answer { of, number: request.number, answer: Answer::Failed };
            return self.post(arrives_ms + way.answered_ms.unwrap_or(0), answer);
        }
        self.post(arrives_ms, Post::Arrive { of, request, answered_ms: way.answered_ms });
    }

    fn way_of_request(&mut self, own: &Text, is_apart: bool) -> Way {
        let (faults, chance) = (self.faults, &mut self.chance);
        let is_late = chance.percent("lease late", own, faults.late);
        let is_lost = chance.percent("lease lost", own, faults.lost) || is_apart && chance.percent("apart", own, 50);
        let is_unheard = chance.percent("lease answer lost", own, faults.answer_lost) || is_apart || is_late;
        let late_ms = if is_late { GIVEN_UP_MS + chance.below("lease lateness", own, GIVEN_UP_MS) } else { 0 };
        let there_ms = 1 + chance.delay("way to the lease", own, faults.slow_ms);
        let back_ms = 1 + chance.delay("way from the lease", own, faults.slow_ms);
        Way {
            arrives_ms: (!is_lost).then_some(there_ms + late_ms),
            answered_ms: (!is_unheard).then_some(back_ms),
            is_refused: chance.percent("lease refused", own, faults.refused) && !is_unheard,
        }
    }

    /// It arrives, whoever still waits for the answer.
    pub(super) fn lease_is_asked(&mut self, of: u64, request: &Request, answered_ms: Option<u64>) {
        let refuses = self.away_until().is_some() || self.refuses().is_some();
        let Some(replicas) = &mut self.replicas else { return };
        let answer = if refuses { Answer::Failed } else { replicas.stored.carry_out(&own_name(of), &request.verb) };
        if let Some(after_ms) = answered_ms {
            self.post(after_ms, Post::Answer { of, number: request.number, answer });
        }
    }
}
