//! When a side of a run was allowed to run, and how far it was by its own time, which stands still otherwise.

use jiff::Timestamp;

/// The times in which a side ran, in order; the last may go on.
#[derive(Debug, Default)]
pub(super) struct Shifts {
    over: Vec<(Timestamp, Timestamp)>,
}

impl Shifts {
    /// One more, later than the others.
    pub(super) fn add(&mut self, from: Timestamp, to: Timestamp) {
        self.over.push((from, to));
    }

    /// Seconds that it had run at that time. What is said to have happened between two shifts counts as the end of the
    /// first: a signal takes effect a little after it was sent.
    pub(super) fn own_seconds(&self, at: Timestamp) -> f64 {
        let ran = |(from, to): &(Timestamp, Timestamp)| at.min(*to).duration_since(*from).as_secs_f64().max(0.0);
        self.over.iter().map(ran).sum()
    }
}
