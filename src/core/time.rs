//! Time as an argument: the core is told what time it is and never asks.

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
