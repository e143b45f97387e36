//! Timers by name: what is due when. Setting one never touches another.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, GangId, KeptId, QueueId};
use crate::core::model::countdown::Deadline;
use crate::core::time::Mono;

/// What a timer is for. What must survive a restart has its wall-clock form beside it, where it is shown:
/// [`super::countdown::Countdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// No new member came to a gang for a while: placeholders are made for the missing ones.
    Settle(GangId),
    /// A gang whose reservation failed tries again.
    BackOff(GangId),
    /// What an application does may last no longer.
    Deadline(AppId, Deadline),
    /// The status that says of an application that it timed out has not been written for long: its placeholders go all the
    /// same.
    Unsaid(AppId),
    /// An application that never started may begin its next life.
    NextLife(AppId),
    /// A kept seat is given back.
    Hold(KeptId),
    /// Who is first in line in a queue was overtaken for long enough.
    Head(QueueId),
    /// Nodes have changed: whether those who are first in line, or were found impossible, have a chance is looked at
    /// anew.
    Chances,
    /// Numbers in what gangs at the gate were told have changed: they are told anew.
    Numbers,
    /// Nodes have changed: those who wait for room are told anew what these lack.
    Nodes,
    /// A Binding or deletion that the API server refused is tried again.
    Retry(AskId),
}

/// All timers that run.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    by_name: BTreeMap<Timer, Mono>,
    by_time: BTreeSet<(Mono, Timer)>,
}

impl Timers {
    /// Sets a timer, or moves it.
    pub fn set(&mut self, timer: Timer, at: Mono) {
        let old = self.by_name.insert(timer, at);
        if old == Some(at) {
            return;
        }
        old.into_iter().for_each(|old| _ = self.by_time.remove(&(old, timer)));
        self.by_time.insert((at, timer));
    }

    /// Stops a timer, if it runs.
    pub fn stop(&mut self, timer: Timer) {
        if let Some(at) = self.by_name.remove(&timer) {
            self.by_time.remove(&(at, timer));
        }
    }

    /// Whether a timer runs.
    pub fn is_set(&self, timer: Timer) -> bool {
        self.by_name.contains_key(&timer)
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Mono> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Stops the timers that are due and returns them, the earliest first.
    pub fn expire(&mut self, now: Mono) -> Vec<Timer> {
        let mut due = Vec::new();
        while let Some((at, timer)) = self.by_time.first().copied().filter(|(at, _)| *at <= now) {
            self.by_time.remove(&(at, timer));
            self.by_name.remove(&timer);
            due.push(timer);
        }
        due
    }

    /// How many run.
    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::arena::Id;

    #[test]
    fn no_timer_takes_the_place_of_another() {
        let (gang, completion) = (GangId::new(0, 0), Timer::Deadline(AppId::new(0, 0), Deadline::Completion));
        let mut timers = Timers::default();
        timers.set(Timer::BackOff(gang), Mono(5));
        timers.set(completion, Mono(9));
        timers.set(Timer::Settle(gang), Mono(7));
        timers.set(Timer::BackOff(gang), Mono(8));
        assert_eq!((timers.next(), timers.len()), (Some(Mono(7)), 3));
        assert_eq!(timers.expire(Mono(8)), [Timer::Settle(gang), Timer::BackOff(gang)]);
        timers.stop(Timer::BackOff(gang));
        assert_eq!(timers.next(), Some(Mono(9)));
        timers.stop(completion);
        assert_eq!((timers.next(), timers.len()), (None, 0));
    }
}
