//! All Leases that one process needs: one for each scheduler name that it serves, and it leads when it holds all of them.

use super::{Answer, Lease, Next, Request, Standing, Timing};
use crate::core::base::ids::Text;
use crate::core::time::{Millis, Mono};

/// How often it is looked whether the cluster could be read by now.
const WHOLE_MS: Millis = 100;

/// The Leases, in the order of their names. One is only taken when all before it are held: so two processes that serve
/// some of the same names never wait for each other.
#[derive(Clone, Debug)]
pub struct Leases(Vec<(Text, Lease)>);

impl Leases {
    /// One for each name, of which nothing was seen. No other process may bear the name `own`.
    pub fn new(names: impl IntoIterator<Item = Text>, own: &Text, timing: Timing) -> Self {
        let mut names: Vec<Text> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self(names.into_iter().map(|name| (name, Lease::new(own.clone(), timing))).collect())
    }

    /// What to do now; a request with the name of its Lease. They are answered one after the other. Whoever has not read the
    /// cluster (`is_whole`), and holds nothing, leaves the Leases to others.
    pub fn next(&mut self, now: Mono, is_whole: bool) -> (Text, Next) {
        let mut soonest = (Text::from(""), Next::End);
        if !is_whole && self.0.iter().all(|(_, lease)| lease.is_sought(now)) {
            return (soonest.0, Next::Wait(now.after(WHOLE_MS)));
        }
        let mut holds_all = true;
        for (name, lease) in &mut self.0 {
            let is_ours = lease.is_ours(now);
            if !is_ours && !holds_all {
                continue;
            }
            holds_all &= is_ours;
            match (lease.next(now), &soonest.1) {
                (Next::Ask(request), _) => return (name.clone(), Next::Ask(request)),
                (Next::Wait(at), Next::Wait(other)) if at >= *other => {}
                (Next::Wait(at), _) => soonest = (name.clone(), Next::Wait(at)),
                (Next::End, _) => {}
            }
        }
        soonest
    }

    /// Takes the answer of a request.
    pub fn heard(&mut self, now: Mono, name: &Text, request: &Request, answer: Answer) {
        if let Some((_, lease)) = self.0.iter_mut().find(|(other, _)| other == name) {
            lease.heard(now, request.number, answer);
        }
    }

    /// How we stand: we lead while we hold all of them, and begin anew when one of them was lost and is held again.
    pub fn standing(&self, now: Mono) -> Standing {
        let all = self.0.iter().map(|(_, lease)| lease.standing(now));
        let both = |one, other| match (one, other) {
            (Standing::Leads { reign, until }, Standing::Leads { reign: second, until: end }) => {
                Standing::Leads { reign: reign + second, until: until.min(end) }
            }
            (Standing::Follows, _) | (_, Standing::Follows) => Standing::Follows,
        };
        all.reduce(both).unwrap_or(Standing::Follows)
    }

    /// A Lease that another holds, with its holder.
    pub fn holder(&self) -> Option<(&Text, &Text)> {
        self.0.iter().find_map(|(name, lease)| Some((name, lease.holder()?)))
    }

    /// All of them are given back, if they are ours.
    pub fn release(&mut self) {
        self.0.iter_mut().for_each(|(_, lease)| lease.release());
    }
}
