//! The two clocks: the only place that reads them. On the wall the API server's counts: what it makes has its times, and every
//! process, on whatever machine, must mean the same by a deadline in a status.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::core::time::{Mono, Now, Wall};

/// Counts [`Mono`] from its making. Unlike [`Instant`] it goes on while the machine is suspended: whoever wakes up knows
/// that its Lease is over.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Duration,
    /// Milliseconds by which this machine's clock on the wall is ahead of the API server's. All copies share it.
    ahead: &'static AtomicI64,
}

/// So many milliseconds may two clocks differ without anybody's taking notice: the API server tells its time in whole seconds, and
/// several of one cluster may differ a little.
const ALIKE_MS: u64 = 5_000;

impl Clock {
    /// A clock that starts now. One per process: it is never freed.
    pub fn start() -> Self {
        Self { start: since_boot(), ahead: Box::leak(Box::default()) }
    }

    /// Both clocks, read together.
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), wall: self.of_server(wall(SystemTime::now())) }
    }

    /// The API server said just now what time it is, in whole seconds. Returns by how many milliseconds this machine is ahead of it,
    /// if that is another figure than before; 0 where they are alike.
    pub fn heard(&self, server: Wall) -> Option<i64> {
        self.compare(wall(SystemTime::now()), server)
    }

    fn compare(&self, own: Wall, server: Wall) -> Option<i64> {
        // What is left out of whole seconds is half a second as a rule.
        let ahead = own.0.saturating_sub(server.0.saturating_add(500));
        let before = self.ahead.load(Ordering::Relaxed);
        let is = if ahead.unsigned_abs() <= ALIKE_MS { 0 } else { ahead };
        let is_new = is.abs_diff(before) > if is == 0 { 0 } else { ALIKE_MS };
        if is_new {
            self.ahead.store(is, Ordering::Relaxed);
        }
        is_new.then_some(is)
    }

    fn of_server(&self, own: Wall) -> Wall {
        Wall(own.0.saturating_sub(self.ahead.load(Ordering::Relaxed)))
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
    fn the_time_of_the_api_server_counts() {
        let clock = Clock::start();
        let own = Wall(1_800_000_000_700);
        let server = |seconds: i64| Wall(1_800_000_000_000 + seconds * 1_000);
        // What it says, what is new of it, and what time it is then.
        for (says, new, now) in [
            (0, None, own),
            (-4, None, own),
            (-3_600, Some(3_600_200), server(-3_600).after(500)),
            (-3_602, None, server(-3_600).after(500)),
            (7_200, Some(-7_199_800), server(7_200).after(500)),
            (3, Some(0), own),
            (5, None, own),
        ] {
            assert_eq!((clock.compare(own, server(says)), clock.of_server(own)), (new, now), "{says}");
        }
        assert_eq!(clock.compare(own, Wall(i64::MAX)), Some(own.0 - i64::MAX));
        assert!(clock.of_server(Wall(i64::MAX)).0 > 0, "nonsense breaks nothing");
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
