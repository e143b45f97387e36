//! Deadlines that users set: how long what may last, since when it lasts, and what has run out (01, 1.7).

use std::fmt;

use crate::core::base::ids::Text;
use crate::core::codes::Code;
use crate::core::time::{Millis, Mono, Now, Wall};

/// What may last only so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// That pods of the gang wait at the gate.
    Admission,
    /// That placeholders hold seats.
    Placeholder,
    /// That some of the gang find a node and not all.
    Wait,
    /// That nothing runs and nothing is pending.
    Completion,
}

impl Deadline {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Admission, Self::Placeholder, Self::Wait, Self::Completion];

    /// What is said of an application whose reservation it ended.
    pub const fn code(self) -> Code {
        match self {
            Self::Admission => Code::AdmissionTimeout,
            Self::Placeholder => Code::PlaceholderTimeout,
            Self::Wait => Code::WaitTimeout,
            Self::Completion => Code::Completed,
        }
    }

    /// The field of a spec that sets it.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Admission => "admissionTimeoutSeconds",
            Self::Placeholder => "placeholderTimeoutSeconds",
            Self::Wait => "waitTimeoutSeconds",
            Self::Completion => "completionTimeoutSeconds",
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field())
    }
}

/// Something of each deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each<T>([T; Deadline::ALL.len()]);

impl<T: Copy> Each<T> {
    /// What is said of one.
    pub const fn of(&self, what: Deadline) -> T {
        self.0[what as usize]
    }

    /// Says something else of one. Returns what was said before.
    pub const fn set(&mut self, what: Deadline, value: T) -> T {
        std::mem::replace(&mut self.0[what as usize], value)
    }

    /// The same with something else said of one.
    #[must_use]
    pub const fn with(mut self, what: Deadline, value: T) -> Self {
        self.0[what as usize] = value;
        self
    }
}

/// How long what may last; `None` = for ever.
pub type Timeouts = Each<Option<Millis>>;

/// When what runs out; `None` = it does not run.
pub type Deadlines = Each<Option<Wall>>;

/// Since when what lasts; `None` = it does not.
pub type Countdowns = Each<Option<Countdown>>;

/// Since when something lasts. Its end follows from this and the timeout in force, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countdown {
    /// From here on this process counts.
    from: Mono,
    /// How much was over by then, in an earlier process.
    over: Millis,
    /// The beginning on the wall clock: status shows a deadline that follows from it, which survives a restart.
    wall: Wall,
}

impl Countdown {
    /// Of what begins now.
    pub const fn beginning(now: Now) -> Self {
        Self { from: now.mono, over: 0, wall: now.wall }
    }

    /// Of what ends at a deadline that an earlier process wrote into status.
    pub fn ending(now: Now, deadline: Wall, timeout: Millis) -> Self {
        let left = now.due(deadline, timeout).since(now.mono);
        let wall = Wall(deadline.0.saturating_sub_unsigned(timeout));
        Self { from: now.mono, over: timeout.saturating_sub(left), wall }
    }

    /// When it ends.
    pub const fn ends(self, timeout: Millis) -> (Mono, Wall) {
        (self.from.after(timeout.saturating_sub(self.over)), self.wall.after(timeout))
    }
}

/// That a timeout has ended a reservation: in this life nothing is reserved any more (01, 1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedOut {
    /// Which.
    pub what: Deadline,
    /// When.
    pub since: Wall,
    /// When the newest pod was made that was there: pods made until then belong to the life that it ended.
    pub pods_until: Option<Wall>,
    /// What is said of it: which time is over, and what the gang waited for then.
    pub sentence: Text,
}
