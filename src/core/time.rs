//! Time as an argument: the core is told what time it is and never asks.

use std::fmt;

/// A duration in milliseconds.
pub type Millis = u64;

/// Milliseconds of a clock that never goes back; it starts with the process. Timers and back-off run on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

impl Mono {
    /// This time plus a duration; saturates.
    pub const fn after(self, millis: Millis) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds since an earlier time; 0 when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Millis {
        self.0.saturating_sub(earlier.0)
    }
}

/// Milliseconds since the Unix epoch. Used for what is shown or must survive a restart, never for timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

impl Wall {
    /// This time plus a duration; saturates.
    pub const fn after(self, millis: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(millis))
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Year, month and day of so many days after 1970-01-01. By hand, since sentences are made in the core, which knows no
/// library of calendars. In years that begin in March the day of a leap year is the last one,
/// and 400 such years have 146097 days.
const fn date(days: i64) -> (i64, i64, i64) {
    // The first of March of the year 0 is 719468 days before 1970.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months of March to July have 153 days, as have the five after them.
    let month = (5 * day + 2) / 153;
    let is_next_year = month >= 10;
    let of_year = if is_next_year { month - 9 } else { month + 3 };
    (era * 400 + year + is_next_year as i64, of_year, day - (153 * month + 2) / 5 + 1)
}

/// The two clocks, read together by the shell at the start of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// For timers.
    pub mono: Mono,
    /// For what is shown or stored.
    pub wall: Wall,
}

impl Now {
    /// When a durable deadline is due here: `mono + clamp(deadline - wall, 0, timeout)`. A jump of the wall clock
    /// neither fires nor freezes it (design 02, 2.1 "Two clocks").
    pub fn due(self, deadline: Wall, timeout: Millis) -> Mono {
        let left = deadline.0.saturating_sub(self.wall.0).max(0).unsigned_abs();
        self.mono.after(left.min(timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_time_is_shown_by_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_825_600, "2000-02-29T12:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (13_574_563_201, "2400-02-29T00:00:01Z"),
        ] {
            assert_eq!(Wall(seconds * 1_000 + 999 * i64::from(seconds >= 0)).to_string(), text);
        }
    }
}
