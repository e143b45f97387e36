//! Processes of the scheduler in a world: they start, take steps beside each other, end and are killed.

use gangline::shim::op::Kind;

use super::{Event, Process, World};
use crate::sim::coverage::MEETINGS;
use crate::sim::oracle::Violation;
use crate::sim::process::{Along, Order};
use crate::sim::words::EVERY;

impl World {
    /// When which process takes its next step.
    pub(super) fn next_step(&self) -> Option<(u64, u64)> {
        let due = |process: &Process| Some((process.due_at(self.now_ms)?, process.number));
        self.running().filter(|process| !self.takes_no_step(process.number)).filter_map(due).min()
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Process> {
        self.older.iter().chain(&self.process)
    }

    pub(super) fn life(&mut self, number: u64) -> Option<&mut Process> {
        self.older.iter_mut().chain(&mut self.process).find(|process| process.number == number)
    }

    /// The process starts anew, knows nothing, and lists everything.
    pub(crate) fn start(&mut self) {
        self.processes += 1;
        self.ledger.excuse_all();
        let number = self.processes;
        self.say(|| format!("start {number}"));
        self.process = Some(Process::new(number, self.dialects));
        self.leave_room_to_others();
        for kind in self.kinds() {
            match self.chance.delay("list", kind.plural(), self.faults.lag_ms) {
                0 => self.list(number, kind),
                delay => self.at(self.now_ms + delay, Event::List(number, kind)),
            }
        }
        if self.faults.lag_ms == 0 {
            self.step(number);
        }
    }

    /// From now on every system's words are understood. Nothing has happened yet.
    pub(crate) fn speak(&mut self) {
        (self.process, self.processes, self.dialects) = (None, 0, EVERY);
        self.agenda.clear();
        self.start();
    }

    /// The kinds that processes watch.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        Kind::watched(self.dialects)
    }

    /// Another process starts while this one goes on, for a while: then the one that came, or the one that was there, ends.
    pub(crate) fn overlap(&mut self, for_ms: u64, newer_ends: bool) {
        if !self.older.is_empty() || self.replicas.is_some() {
            return;
        }
        let Some(old) = self.process.take() else { return };
        let ends = if newer_ends { self.processes + 1 } else { old.number };
        self.at(self.now_ms + for_ms, Event::End(ends));
        self.older.push(old);
        self.start();
    }

    /// One process ends; after the last one another comes.
    pub(super) fn stop(&mut self, number: u64) {
        self.check_audits();
        self.say(|| format!("end {number}"));
        self.older.retain(|process| process.number != number);
        if self.process.as_ref().is_some_and(|process| process.number == number) {
            self.process = self.older.pop();
            if self.process.is_none() {
                self.at(self.now_ms, Event::Start);
            }
        }
    }

    /// Every process is killed, and one comes again after a while.
    pub(crate) fn kill(&mut self, down_ms: u64) {
        if self.kill_of_two(None, down_ms) {
            return;
        }
        self.check_audits();
        self.older.clear();
        if self.process.take().is_some() {
            self.say(|| format!("killed for {down_ms} ms"));
            self.at(self.now_ms + down_ms, Event::Start);
        }
    }

    /// I7: no process has found, once a minute, that its books do not add up.
    pub(crate) fn check_audits(&mut self) {
        let found: u64 = self.running().map(|process| process.controller.stats().violations).sum();
        if found > 0 {
            self.violated("I7", format!("a process found {found} times that its books do not add up"));
        }
    }

    pub(super) fn step_soon(&mut self, number: u64) {
        let at = self.now_ms + self.delayed("stall_ms", ("step", ""), self.faults.stall_ms);
        if let Some(process) = self.life(number) {
            process.step_at = Some(process.step_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    pub(super) fn step(&mut self, number: u64) {
        self.become_first(number);
        self.stop_in_step(number);
        let now = self.now_of(number);
        loop {
            let Some(process) = self.life(number) else { return };
            process.step_at = None;
            self.listen(number);
            let Some(process) = self.life(number) else { return };
            let (before, unplanned) = (process.waiting_asks(), process.unplanned());
            let turn = process.controller.step(now, &mut process.batch);
            process.wake = turn.wake;
            let verdict = before.map_or(Ok(Order::default()), |before| process.judge_order(&before));
            let along = unplanned.map_or(Ok(Along::default()), |before| process.judge_along(&before));
            self.steps += 1;
            self.heed(verdict);
            self.heed_along(along);
            self.look();
            self.note_calls(number, turn.calls.len());
            for call in turn.calls {
                self.leave(call);
                if self.life(number).is_none() {
                    return;
                }
            }
            if !turn.more {
                break;
            }
        }
    }

    /// Whether somebody was served before others who had waited for longer is what was promised (L8).
    fn heed(&mut self, verdict: Result<Order, Violation>) {
        match verdict {
            Ok(Order { waits, decides }) => {
                self.contended += u64::from(decides);
                for (_, meeting) in [(waits, MEETINGS[9]), (decides, MEETINGS[10])].iter().filter(|(is_so, _)| *is_so) {
                    self.note(|| (*meeting).to_owned());
                }
            }
            Err(violation) => drop(self.violation.get_or_insert(violation)),
        }
    }

    /// Whether those who belong to a gang beyond the least had their turn with it (L9).
    fn heed_along(&mut self, verdict: Result<Along, Violation>) {
        match verdict {
            Ok(Along { goes, stays }) => {
                for (_, meeting) in [(goes, MEETINGS[13]), (stays, MEETINGS[14])].iter().filter(|(is_so, _)| *is_so) {
                    self.note(|| (*meeting).to_owned());
                }
            }
            Err(violation) => drop(self.violation.get_or_insert(violation)),
        }
    }

    /// Notes what a process is about to hear.
    fn listen(&mut self, number: u64) {
        let Some(coverage) = &mut self.coverage else { return };
        let process = self.older.iter().chain(&self.process).find(|process| process.number == number);
        process.into_iter().for_each(|process| coverage.told(number, process.controller.core(), &process.batch));
    }

    /// Notes how far every process has come.
    fn look(&mut self) {
        let Some(coverage) = &mut self.coverage else { return };
        for process in self.older.iter().chain(&self.process) {
            coverage.step(process.number, process.controller.core());
        }
    }

    /// Whether two processes go on beside each other.
    pub(crate) const fn are_two(&self) -> bool {
        !self.older.is_empty()
    }

    /// Whether what one process had sent may have been made when the next one had begun.
    pub(crate) const fn has_overlapped(&self) -> bool {
        self.has_died() && !self.is_orderly
    }

    /// Whether this process is not the first.
    pub(crate) const fn has_died(&self) -> bool {
        self.processes > 1
    }
}
