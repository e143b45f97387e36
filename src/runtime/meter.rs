//! Plain counters of the shell, read by whoever shows them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds: three a decade from the shortest step (0.1 ms) to the longest request
/// (15 s).
const BOUNDS_MICROS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 15_000_000,
];

/// Durations, counted by bucket.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS_MICROS.len()],
    beyond: AtomicU64,
    sum_micros: AtomicU64,
}

/// A histogram at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Their sum.
    pub sum_seconds: f64,
    /// Upper bound in seconds and number of durations in this bucket alone; the last bound is infinite.
    pub buckets: Vec<(f64, u64)>,
}

impl Histogram {
    /// Counts a duration.
    pub fn record(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let index = BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        self.buckets.get(index).unwrap_or(&self.beyond).fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn read(&self) -> Durations {
        let bounds = BOUNDS_MICROS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        let counts = self.buckets.iter().chain([&self.beyond]).map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.zip(counts).collect();
        Durations {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum_seconds: self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6,
            buckets,
        }
    }
}

/// What a request was and how it ended: verb, resource, and HTTP status, 0 without one.
pub type Request = (&'static str, &'static str, u16);

/// Requests by kind.
#[derive(Debug, Default)]
pub struct Requests(Mutex<BTreeMap<Request, Histogram>>);

impl Requests {
    /// Counts a request.
    pub fn record(&self, request: Request, duration: Duration) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.entry(request).or_default().record(duration);
    }

    /// What was counted so far.
    pub fn read(&self) -> BTreeMap<Request, Durations> {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.iter().map(|(request, durations)| (*request, durations.read())).collect()
    }
}

/// The shell's counters and its heartbeat.
#[derive(Debug, Default)]
pub struct Meters {
    /// Requests sent, watches aside.
    pub requests: Requests,
    /// Steps of the controller.
    pub steps: Histogram,
    /// How long facts of the watches waited for the step that took them.
    pub watch_lag: Histogram,
    /// Facts and outcomes taken.
    pub observations: AtomicU64,
    /// When the owner task was last seen alive, in [`crate::core::time::Mono`] milliseconds.
    pub heartbeat_ms: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_their_buckets() {
        let histogram = Histogram::default();
        for micros in [1, 100, 101, 20_000_000] {
            histogram.record(Duration::from_micros(micros));
        }
        let read = histogram.read();
        let filled: Vec<_> = read.buckets.iter().filter(|(_, count)| *count > 0).copied().collect();
        assert_eq!(filled, [(0.0001, 2), (0.00025, 1), (f64::INFINITY, 1)]);
        assert_eq!((read.count, read.sum_seconds), (4, 20.000202));
    }

    #[test]
    fn requests_are_counted_by_kind() {
        let requests = Requests::default();
        for code in [201, 201, 0] {
            requests.record(("create", "pods", code), Duration::from_millis(3));
        }
        let counts: Vec<_> =
            requests.read().into_iter().map(|((_, _, code), durations)| (code, durations.count)).collect();
        assert_eq!(counts, [(0, 1), (201, 2)]);
    }
}
