//! The two clocks: the only place that reads them.

use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::core::time::{Mono, Now, Wall};

/// Counts [`Mono`] from its making. Unlike [`Instant`] it goes on while the machine is suspended: whoever wakes up knows
/// that its Lease is over.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Duration,
}

impl Clock {
    /// A clock that starts now. One per process.
    pub fn start() -> Self {
        Self { start: since_boot() }
    }

    /// Both clocks, read together.
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), wall: wall(SystemTime::now()) }
    }

    /// Milliseconds since the start.
    pub fn mono(&self) -> Mono {
        Mono(millis(since_boot().saturating_sub(self.start)))
    }

    /// The shell's word for a time; now, for one that is past.
    pub fn instant(&self, at: Mono) -> Instant {
        let now = Instant::now();
        now.checked_add(Duration::from_millis(at.since(self.mono()))).unwrap_or(now + FAR)
    }
}

/// As good as for ever.
const FAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The clock that a suspended machine goes on with; elsewhere than on Linux the plain one.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

fn since_boot() -> Duration {
    // It only goes forward, from the boot on.
    Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default()
}

fn wall(time: SystemTime) -> Wall {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => Wall(0).after(millis(since)),
        Err(before) => Wall(i64::try_from(millis(before.duration())).map_or(i64::MIN, |millis| -millis)),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_may_be_before_1970() {
        assert_eq!(wall(SystemTime::UNIX_EPOCH + Duration::from_millis(1_500)), Wall(1_500));
        assert_eq!(wall(SystemTime::UNIX_EPOCH - Duration::from_millis(1_500)), Wall(-1_500));
    }

    #[test]
    fn a_time_comes_back_as_the_same_instant() {
        let clock = Clock::start();
        let (begin, at) = (Instant::now(), clock.instant(Mono(60_000)));
        assert!(at <= Instant::now() + Duration::from_secs(60) && at >= begin + Duration::from_secs(50));
        assert!(clock.instant(Mono(0)) <= Instant::now() && clock.instant(Mono(u64::MAX)) > at);
        assert!(clock.now().mono >= Mono(0) && clock.now().wall.0 > 1_700_000_000_000);
    }
}
