//! What one process may do in a reign: what leaves, and for how long the server may try it; when it begins and ceases to
//! decide; and whether it may give the Lease back.

use super::{Standing, Timing};
use crate::core::time::{Millis, Mono};
use crate::shim::observation::Outcome;
use crate::shim::wire::TRIES_SECONDS;

impl Timing {
    /// For so long after the end of our time nobody else leads.
    pub const fn spare_ms(self) -> Millis {
        self.duration_ms.saturating_sub(self.renew_ms)
    }
}

impl Standing {
    /// The reign that lasts now.
    pub fn reign(self, now: Mono) -> Option<u64> {
        match self {
            Self::Leads { reign, until } if now <= until => Some(reign),
            Self::Leads { .. } | Self::Follows => None,
        }
    }

    /// For so many seconds the server may try a call that leaves now and was decided in this reign; none if it is not to
    /// leave. It has ended before another can lead, who would not know of the room that it takes.
    pub fn tries_seconds(self, reign: u64, spare_ms: Millis, now: Mono) -> Option<u64> {
        let Self::Leads { until, .. } = self else { return None };
        let left = until.since(now).saturating_add(spare_ms);
        let seconds = (left / 1_000).min(TRIES_SECONDS);
        (self.reign(now) == Some(reign) && seconds > 0).then_some(seconds)
    }
}

/// The calls of one process, of whatever reign: what it does not know the end of takes room that no list may show yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flights {
    /// How many have left and not ended.
    pub in_flight: usize,
    /// Until then the server may carry out one of which it is not known what became.
    pub doubt: Option<Mono>,
}

impl Flights {
    /// So many leave.
    pub const fn leave(&mut self, count: usize) {
        self.in_flight += count;
    }

    /// One has ended.
    pub fn land(&mut self, now: Mono, outcome: &Outcome) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if outcome.is_in_doubt() {
            self.doubt = Some(doubt_from(now));
        }
    }

    /// Of those in flight nobody will hear what became of them.
    pub fn abandon(&mut self, now: Mono) {
        if std::mem::take(&mut self.in_flight) > 0 {
            self.doubt = Some(doubt_from(now));
        }
    }

    /// Whether it is known what became of all of them, or the server has given them up. Only then the Lease may be given
    /// back: another would plan without them.
    pub fn are_settled(&self, now: Mono) -> bool {
        self.in_flight == 0 && self.doubt.is_none_or(|until| until <= now)
    }

    /// The reign in which can be decided, from the beginning, now: none either while another one would have to wait, whose
    /// lists could lack what we have sent ourselves.
    pub fn begins(&self, standing: Standing, now: Mono) -> Option<u64> {
        standing.reign(now).filter(|_| self.are_settled(now))
    }

    /// Whether what was decided in this reign, or waits for one, is over.
    pub fn has_turned(&self, present: Option<u64>, standing: Standing, now: Mono) -> bool {
        match present {
            Some(reign) => standing.reign(now) != Some(reign),
            None => self.begins(standing, now).is_some(),
        }
    }
}

/// The server is asked to try no longer.
const fn doubt_from(now: Mono) -> Mono {
    now.after(1_000 * TRIES_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::super::tests::TIMING;
    use super::*;

    const LEADS: Standing = Standing::Leads { reign: 3, until: Mono(10_000) };

    #[test]
    fn a_call_leaves_in_its_reign_and_is_given_up_before_another_can_lead() {
        let tries = |reign, now| LEADS.tries_seconds(reign, TIMING.spare_ms(), Mono(now));
        // Another one waits 15 s from the renewal that it saw, which was 10 s before the end.
        let cases = [(0, Some(10)), (5_000, Some(10)), (5_001, Some(9)), (10_000, Some(5)), (10_001, None)];
        for (now, seconds) in cases {
            assert_eq!(tries(3, now), seconds, "{now}");
        }
        assert_eq!((tries(2, 0), tries(4, 0)), (None, None));
        assert_eq!(Standing::Follows.tries_seconds(3, TIMING.spare_ms(), Mono(0)), None);
        let always = Standing::Leads { reign: 0, until: Mono(u64::MAX) };
        assert_eq!(always.tries_seconds(0, 0, Mono(7)), Some(10));
        // Whoever leaves no time to spare sends nothing in the last second.
        assert_eq!(LEADS.tries_seconds(3, 0, Mono(9_001)), None);
    }

    fn refused(code: u16) -> Outcome {
        Outcome::Refused { code, reason: "r".into(), message: "m".into(), retry_after: None }
    }

    #[test]
    fn what_is_in_doubt_is_settled_when_the_server_has_given_it_up() {
        let settled = |outcome: &Outcome| {
            let mut flights = Flights::default();
            flights.leave(1);
            assert!(!flights.are_settled(Mono(0)));
            flights.land(Mono(1_000), outcome);
            [1_000, 10_999, 11_000].map(|now| flights.are_settled(Mono(now)))
        };
        for known in [Outcome::Ok(None), Outcome::NotSent, refused(409)] {
            assert_eq!(settled(&known), [true; 3], "{known:?}");
        }
        for doubtful in [Outcome::Unknown, refused(504)] {
            assert_eq!(settled(&doubtful), [false, false, true], "{doubtful:?}");
        }
    }

    #[test]
    fn whoever_leads_again_waits_for_what_it_has_abandoned() {
        let mut flights = Flights::default();
        flights.abandon(Mono(0));
        assert_eq!(flights.begins(LEADS, Mono(0)), Some(3), "nothing was in flight");
        flights.leave(2);
        flights.abandon(Mono(0));
        assert_eq!([9_999, 10_000].map(|now| flights.begins(LEADS, Mono(now))), [None, Some(3)]);
        assert_eq!(flights.begins(Standing::Follows, Mono(10_000)), None);
    }

    #[test]
    fn who_decides_does_so_until_its_reign_ends_and_who_waits_until_one_can_begin() {
        let mut flights = Flights { in_flight: 0, doubt: Some(Mono(5)) };
        let waits = [4, 5, 10_001].map(|now| flights.has_turned(None, LEADS, Mono(now)));
        assert_eq!(waits, [false, true, false]);
        flights.leave(1);
        let decides = [(3, 10_000), (3, 10_001), (2, 0)];
        assert_eq!(decides.map(|(reign, now)| flights.has_turned(Some(reign), LEADS, Mono(now))), [false, true, true]);
        assert!(flights.has_turned(Some(3), Standing::Follows, Mono(0)));
    }
}
