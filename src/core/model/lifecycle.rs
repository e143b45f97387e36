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
    /// Has or had real allocations.
    Running,
    /// Nothing active, nothing pending.
    Waiting,
    /// Judged and refused; judged again when spec or queue change.
    Rejected,
    /// Final; removed from the queue.
    Completed,
}

/// What happens to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// Judged and found good.
    Accept,
    /// Judged and refused.
    Reject,
    /// First real allocation, or a pending ask after Waiting.
    Run,
    /// No real allocation and no pending ask.
    Idle,
    /// The completion timeout ended.
    Complete,
    /// To be judged again: spec or queue changed, it is not whole any more, or an ended ID is used again.
    Renew,
}

impl AppEvent {
    /// All events, for tables.
    pub const ALL: [Self; 6] = [Self::Accept, Self::Reject, Self::Run, Self::Idle, Self::Complete, Self::Renew];
}

impl AppState {
    /// All states, for tables.
    pub const ALL: [Self; 6] =
        [Self::New, Self::Accepted, Self::Running, Self::Waiting, Self::Rejected, Self::Completed];

    /// The word that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Accepted => "Accepted",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::Rejected => "Rejected",
            Self::Completed => "Completed",
        }
    }

    /// The next state; `None` where the event means nothing.
    pub const fn next(self, event: AppEvent) -> Option<Self> {
        use AppEvent as E;
        match (self, event) {
            (Self::New, E::Accept) => Some(Self::Accepted),
            (Self::New, E::Reject) => Some(Self::Rejected),
            // New: after a restart the application is found running, and is not judged again (01, 1.11).
            (Self::New | Self::Accepted | Self::Waiting, E::Run) => Some(Self::Running),
            (Self::New, E::Complete) => Some(Self::Completed),
            // Accepted: only without a TaskGroup object, when everything is withdrawn.
            (Self::Accepted | Self::Running, E::Idle) => Some(Self::Waiting),
            (Self::Waiting, E::Complete) => Some(Self::Completed),
            // Running and Waiting: only an application of pods alone, when it gets its first TaskGroup, or when some of
            // its pods wait and none runs.
            (Self::Accepted | Self::Running | Self::Waiting | Self::Rejected | Self::Completed, E::Renew) => {
                Some(Self::New)
            }
            (Self::New, E::Idle | E::Renew)
            | (Self::Accepted, E::Accept | E::Reject | E::Complete)
            | (Self::Running, E::Accept | E::Reject | E::Run | E::Complete)
            | (Self::Waiting, E::Accept | E::Reject | E::Idle)
            | (Self::Rejected | Self::Completed, E::Accept | E::Reject | E::Run | E::Idle | E::Complete) => None,
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
New --Run--> Running
New --Complete--> Completed
Accepted --Run--> Running
Accepted --Idle--> Waiting
Accepted --Renew--> New
Running --Idle--> Waiting
Running --Renew--> New
Waiting --Run--> Running
Waiting --Complete--> Completed
Waiting --Renew--> New
Rejected --Renew--> New
Completed --Renew--> New
";
        assert_eq!(table, expected);
    }
}
