//! The two clocks: the only place that reads them.

use std::time::{Duration, Instant, SystemTime};

use crate::core::time::{Mono, Now, Wall};

/// Counts [`Mono`] from its making.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now. One per process.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both clocks, read together.
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), wall: wall(SystemTime::now()) }
    }

    /// Milliseconds since the start.
    pub fn mono(&self) -> Mono {
        Mono(millis(self.start.elapsed()))
    }

    /// The shell's word for a time.
    pub fn instant(&self, at: Mono) -> Instant {
        self.start + Duration::from_millis(at.0)
    }
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
        assert_eq!(clock.instant(Mono(40)) - clock.instant(Mono(0)), Duration::from_millis(40));
        assert!(clock.now().mono >= Mono(0) && clock.now().wall.0 > 1_700_000_000_000);
    }
}
