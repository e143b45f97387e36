//! Plays the plans of many seeds, on all processors.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// From one sign of life to the next.
const SIGN: Duration = Duration::from_secs(15);

/// The first seed of which something holds; those after it are not all looked at. `sign` is called again and again, with
/// how many were begun.
pub(crate) fn first_that(
    seeds: Range<u64>,
    sign: impl Fn(u64) + Sync,
    holds: impl Fn(u64) -> bool + Sync,
) -> Option<u64> {
    let (next, end) = (AtomicU64::new(seeds.start), AtomicU64::new(seeds.end));
    let signed = Mutex::new(Instant::now());
    let is_due = || {
        let mut signed = signed.lock().expect("nobody fails over a clock");
        let is_due = signed.elapsed() >= SIGN;
        if is_due {
            *signed = Instant::now();
        }
        is_due
    };
    let work = || {
        // Some plans take longer than others: who is done takes the next.
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end.load(Ordering::Relaxed) {
                return;
            }
            if is_due() {
                sign(seed - seeds.start);
            }
            if holds(seed) {
                end.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        (0..workers).for_each(|_| _ = scope.spawn(work));
    });
    Some(end.into_inner()).filter(|seed| *seed < seeds.end)
}

/// Does something with every seed.
pub(crate) fn each(seeds: Range<u64>, sign: impl Fn(u64) + Sync, work: impl Fn(u64) + Sync) {
    first_that(seeds, sign, |seed| {
        work(seed);
        false
    });
}
