//! The application's state machine: one table, one function (01, 1.9).

use std::fmt;

/// State of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AppState {
    /// Known, not yet judged or not yet whole.
    #[default]
    New,
    /// In its queue; waiting for quota, or reserving.
    Accepted,
    /// A placeholder timeout ended before the start, style Soft: its placeholders leave, and then its pods are placed one
    /// by one.
    Resuming,
    /// Has or had real allocations.
    Running,
    /// Nothing active, nothing pending.
    Waiting,
    /// Judged and refused; judged again when spec or queue change.
    Rejected,
    /// Final; removed from the queue.
    Completed,
    /// A placeholder timeout ended before the start, style Hard: as Completed, and its pods fail.
    Killed,
}

/// What happens to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// Judged and found good.
    Accept,
    /// Judged and refused.
    Reject,
    /// The placeholder timeout ended before the start, style Soft.
    Resume,
    /// The placeholder timeout ended before the start, style Hard.
    Kill,
    /// First real allocation, a pending ask after Waiting, or the last placeholder gone in Resuming.
    Run,
    /// Its start came to nothing: a seat was lost before any of its pods was bound.
    CallOff,
    /// No real allocation and no pending ask.
    Idle,
    /// The completion timeout ended.
    Complete,
    /// To be judged again: spec or queue changed, it is not whole any more, an ended ID is used again, or a gang restarts.
    Renew,
}

impl AppEvent {
    /// All events, for tables.
    pub const ALL: [Self; 9] = [
        Self::Accept,
        Self::Reject,
        Self::Resume,
        Self::Kill,
        Self::Run,
        Self::CallOff,
        Self::Idle,
        Self::Complete,
        Self::Renew,
    ];
}

impl AppState {
    /// All states, for tables.
    pub const ALL: [Self; 8] = [
        Self::New,
        Self::Accepted,
        Self::Resuming,
        Self::Running,
        Self::Waiting,
        Self::Rejected,
        Self::Completed,
        Self::Killed,
    ];

    /// Reads the word that users see; `None` if no state is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The word that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Accepted => "Accepted",
            Self::Resuming => "Resuming",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::Rejected => "Rejected",
            Self::Completed => "Completed",
            Self::Killed => "Killed",
        }
    }

    /// The next state; `None` where the event means nothing.
    pub const fn next(self, event: AppEvent) -> Option<Self> {
        use AppEvent as E;
        match (self, event) {
            (Self::New, E::Accept) => Some(Self::Accepted),
            (Self::New, E::Reject) => Some(Self::Rejected),
            // New: after a restart the application is found so, and is not judged again (01, 1.11).
            (Self::New | Self::Accepted, E::Resume) => Some(Self::Resuming),
            (Self::New | Self::Accepted, E::Kill) => Some(Self::Killed),
            (Self::New | Self::Accepted | Self::Resuming | Self::Waiting, E::Run) => Some(Self::Running),
            // Its start was decided, and nothing of it was bound yet (ADR 25).
            (Self::Running, E::CallOff) => Some(Self::Accepted),
            (Self::New, E::Complete) => Some(Self::Completed),
            // Accepted: only without a TaskGroup object, when everything is withdrawn. Resuming: no pod came.
            (Self::Accepted | Self::Resuming | Self::Running, E::Idle) => Some(Self::Waiting),
            (Self::Waiting, E::Complete) => Some(Self::Completed),
            // Running and Waiting: others come and none of its pods lives (a restart is a start). An application of pods
            // alone also when it gets its first TaskGroup. Resuming: when its only TaskGroup was made anew.
            (
                Self::Accepted
                | Self::Resuming
                | Self::Running
                | Self::Waiting
                | Self::Rejected
                | Self::Completed
                | Self::Killed,
                E::Renew,
            ) => Some(Self::New),
            (Self::New, E::CallOff | E::Idle | E::Renew)
            | (Self::Accepted, E::Accept | E::Reject | E::CallOff | E::Complete)
            | (Self::Resuming, E::Accept | E::Reject | E::Resume | E::Kill | E::CallOff | E::Complete)
            | (Self::Running, E::Accept | E::Reject | E::Resume | E::Kill | E::Run | E::Complete)
            | (Self::Waiting, E::Accept | E::Reject | E::Resume | E::Kill | E::CallOff | E::Idle)
            | (
                Self::Rejected | Self::Completed | Self::Killed,
                E::Accept | E::Reject | E::Resume | E::Kill | E::Run | E::CallOff | E::Idle | E::Complete,
            ) => None,
        }
    }
}

impl fmt::Display for AppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table; docs/states.md shows the same.
    #[test]
    fn the_table_is_what_the_design_says() {
        let mut table = String::new();
        for state in AppState::ALL {
            for event in AppEvent::ALL {
                if let Some(next) = state.next(event) {
                    table.push_str(&format!("{state} --{event:?}--> {next}\n"));
                }
            }
        }
        let expected = "\
New --Accept--> Accepted
New --Reject--> Rejected
New --Resume--> Resuming
New --Kill--> Killed
New --Run--> Running
New --Complete--> Completed
Accepted --Resume--> Resuming
Accepted --Kill--> Killed
Accepted --Run--> Running
Accepted --Idle--> Waiting
Accepted --Renew--> New
Resuming --Run--> Running
Resuming --Idle--> Waiting
Resuming --Renew--> New
Running --CallOff--> Accepted
Running --Idle--> Waiting
Running --Renew--> New
Waiting --Run--> Running
Waiting --Complete--> Completed
Waiting --Renew--> New
Rejected --Renew--> New
Completed --Renew--> New
Killed --Renew--> New
";
        assert_eq!(table, expected);
    }
}
