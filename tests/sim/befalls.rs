//! What befalls one of two processes, or their Lease; and that one of them leads, and not two.

use gangline::controller::lease::Standing;
use gangline::core::time::Now;
use gangline::shim::observation::Observation;

use super::super::lease::TIMING;
use super::super::{Event, World};
use super::{End, Member, Post};
use crate::sim::acts::{ReplicaDeed, Which};
use crate::sim::coverage::{AFTER_A_KILL, AFTER_A_RELEASE, BOTH_LEAD, FROM_A_STOPPED_ONE};

/// When nothing goes wrong any more one leads within this time: a duration, and what is on its way.
const ELECTED_MS: u64 = 60_000;
/// How long the end waits for calls in flight, and then for the Lease to be given back.
const STOP_WITHIN_MS: u64 = 4_000;
const RELEASE_WITHIN_MS: u64 = 2_000;

/// Deeds.
impl World {
    /// Something happens to one of the two, or to the Lease.
    pub(crate) fn befalls(&mut self, which: Which, does: ReplicaDeed, ms: u64) {
        let Some(place) = self.place_of(which) else { return };
        match does {
            ReplicaDeed::Stop => self.stop_at(place, ms),
            ReplicaDeed::Kill => self.kill_at(place, ms),
            ReplicaDeed::End => self.end_at(place, ms),
            ReplicaDeed::Part => self.part(place, ms),
            ReplicaDeed::Clock => self.set_clock(place, ms),
            ReplicaDeed::Clear => {
                self.edit_lease(None);
                self.tear();
            }
            ReplicaDeed::Steal => self.edit_lease(Some("somebody")),
            ReplicaDeed::Delete => self.delete_lease(),
        }
    }

    /// Who decides is the leader; while nobody does, the first.
    fn place_of(&self, which: Which) -> Option<usize> {
        let leads = |member: &Member| member.decides.is_some();
        let leader = self.replicas.as_ref()?.members().find(|member| leads(member)).map_or(0, |member| member.place);
        Some(if which == Which::Leader { leader } else { 1 - leader })
    }

    fn at_place(&mut self, place: usize) -> Option<&mut Member> {
        self.replicas.as_mut()?.members[place].as_mut()
    }

    /// What happened to who decides: whoever decides next has taken over after that.
    fn note_last(&mut self, place: usize, what: &'static str) {
        let Some(replicas) = &mut self.replicas else { return };
        if replicas.members[place].as_ref().is_some_and(|member| member.decides.is_some()) {
            replicas.last = Some((place, what));
        }
    }

    /// One is killed, and another begins in its place after so long.
    fn kill_at(&mut self, place: usize, down_ms: u64) {
        self.note_last(place, AFTER_A_KILL);
        let Some(of) = self.at_place(place).map(|member| member.of) else { return };
        self.end_process_of(of);
        self.replicas.iter_mut().for_each(|replicas| replicas.members[place] = None);
        self.post(down_ms, Post::Begin(place));
    }

    /// The process of this number dies, or, without one, both do; whether there are two.
    pub(crate) fn kill_of_two(&mut self, number: Option<u64>, down_ms: u64) -> bool {
        let Some(replicas) = &self.replicas else { return false };
        let is_it = |member: &&Member| number.is_none_or(|number| member.decides.is_some_and(|(of, _)| of == number));
        let places: Vec<usize> = replicas.members().filter(is_it).map(|member| member.place).collect();
        places.into_iter().for_each(|place| self.kill_at(place, down_ms));
        true
    }

    /// SIGSTOP, and SIGCONT: of one that decides in the middle of its next step.
    fn stop_at(&mut self, place: usize, for_ms: u64) {
        let Some(member) = self.at_place(place) else { return };
        match member.decides {
            Some(_) => member.stops_for = Some(for_ms),
            None => self.stand_still(place, for_ms),
        }
    }

    /// A process begins a step, in which it is stopped, perhaps.
    pub(crate) fn stop_in_step(&mut self, number: u64) {
        let Some(place) = self.decider(number).map(|member| member.place) else { return };
        let for_ms = self.at_place(place).and_then(|member| member.stops_for.take());
        for_ms.into_iter().for_each(|for_ms| self.stand_still(place, for_ms));
    }

    fn stand_still(&mut self, place: usize, for_ms: u64) {
        self.note_last(place, FROM_A_STOPPED_ONE);
        let until = self.now_ms + for_ms;
        let Some(member) = self.at_place(place) else { return };
        member.stands_until = until.max(member.stands_until);
        let of = member.of;
        self.post(for_ms, Post::Wake(of));
        self.deaf_for(for_ms);
    }

    /// One that stood still goes on: of what it had decided leaves what may, and it hears what was said meanwhile.
    pub(super) fn wake(&mut self, of: u64) {
        let now_ms = self.now_ms;
        let Some(member) = self.candidate_mut(of).filter(|member| !member.stands_still(now_ms)) else { return };
        let held = std::mem::take(&mut member.held);
        member.turn_at = now_ms;
        held.into_iter().for_each(|call| self.leave(call));
        self.post(0, Post::Turn(of));
    }

    /// SIGTERM. What has left may end, nothing more is decided.
    fn end_at(&mut self, place: usize, away_ms: u64) {
        let now_ms = self.now_ms;
        let can = |member: &&mut Member| !member.stands_still(now_ms) && member.ends.is_none();
        let Some(member) = self.at_place(place).filter(can) else { return };
        let (of, number) = (member.of, member.decides.map(|(number, _)| number));
        if let Some(process) = number.and_then(|number| self.life(number)) {
            process.batch.push(Observation::Stop);
        }
        number.into_iter().for_each(|number| self.step(number));
        let Some(member) = self.candidate_mut(of) else { return };
        member.ends = Some(End { until: now_ms + STOP_WITHIN_MS, gives_back: false, away_ms });
        self.turn(of);
    }

    /// Who was told to end and knows what became of its calls gives the Lease back; who does not in time only ends.
    pub(super) fn end_if_settled(&mut self, of: u64) {
        let now_ms = self.now_ms;
        let Some(member) = self.candidate(of).filter(|member| !member.stands_still(now_ms)) else { return };
        let (Some(end), place) = (member.ends, member.place) else { return };
        let is_late = now_ms >= end.until;
        let waits = !end.gives_back && member.flights.in_flight > 0;
        if is_late && (waits || end.gives_back) || !waits && !member.flights.are_settled(member.mono(now_ms)) {
            return self.kill_at(place, end.away_ms);
        }
        if waits || end.gives_back {
            return;
        }
        self.note_last(place, AFTER_A_RELEASE);
        self.end_process_of(of);
        let Some(member) = self.candidate_mut(of) else { return };
        member.leases.release();
        member.ends = Some(End { until: now_ms + RELEASE_WITHIN_MS, gives_back: true, ..end });
    }

    /// One that ends has given back what it held.
    pub(super) fn has_given_back(&mut self, of: u64) {
        let Some((place, end)) = self.candidate(of).map(|member| (member.place, member.ends)) else { return };
        self.kill_at(place, end.map_or(0, |end| end.away_ms));
    }

    /// One cannot reach the server for a while.
    fn part(&mut self, place: usize, for_ms: u64) {
        let until = self.now_ms + for_ms;
        self.at_place(place).into_iter().for_each(|member| member.apart_until = until);
        self.deaf_for(for_ms);
    }

    /// The wall clock of a machine is ahead from now on, or right again.
    fn set_clock(&mut self, place: usize, ahead_ms: u64) {
        let Some(replicas) = &mut self.replicas else { return };
        let wall_ms = &mut replicas.walls_ms[place];
        *wall_ms = if *wall_ms == 0 { ahead_ms.cast_signed() } else { 0 };
    }

    /// Somebody writes this holder into the Lease.
    pub(crate) fn edit_lease(&mut self, holder: Option<&str>) {
        self.replicas.iter_mut().for_each(|replicas| replicas.stored.edit(holder.map(Into::into)));
    }

    /// Somebody deletes the Lease: whoever has seen it waits as long as for its holder.
    fn delete_lease(&mut self) {
        let Some(replicas) = &mut self.replicas else { return };
        replicas.stored.lease = None;
        if replicas.members().any(|member| !member.saw_it) {
            self.tear();
        }
    }

    /// From now on another may lead, for as long as one may that has led until now, and what that sends may be made.
    pub(super) fn tear(&mut self) {
        let until = self.now_ms + TIMING.duration_ms;
        self.is_orderly = false;
        self.replicas.iter_mut().for_each(|replicas| replicas.torn_until = until);
    }
}

/// What follows for the rest of the world, and what is promised of the two.
impl World {
    /// Whether two may lead.
    pub(crate) fn is_torn(&self) -> bool {
        self.replicas.as_ref().is_some_and(|replicas| self.now_ms <= replicas.torn_until)
    }

    /// I10: no two lead at the same time, by their own clocks, also while they stand still, unless somebody tampered with the
    /// Lease.
    pub(super) fn check_one_leads(&mut self) {
        let Some(replicas) = &self.replicas else { return };
        let holds = |member: &&Member| matches!(member.standing(self.now_ms).0, Standing::Leads { .. });
        if replicas.members().filter(holds).count() > 1 && !self.is_torn() {
            return self.violated("I10", "both lead".to_owned());
        }
        if replicas.members().filter(|member| member.leads(self.now_ms)).count() > 1 {
            self.note(|| BOTH_LEAD.to_owned());
        }
    }

    /// The clocks as a process reads them.
    pub(crate) fn now_of(&self, number: u64) -> Now {
        let mut now = self.now();
        let replicas = self.replicas.as_ref();
        let ahead = replicas.and_then(|replicas| Some(replicas.walls_ms[replicas.of_process(number)?.place]));
        now.wall.0 += ahead.unwrap_or(0);
        now
    }

    /// Until when a process hears nothing: it stands still, or, where that is no answer that has come, cannot reach the server.
    pub(crate) fn hears_nothing_until(&self, number: u64, is_answer: bool) -> Option<u64> {
        let member = self.decider(number)?;
        let apart_until = if is_answer { 0 } else { member.apart_until };
        Some(member.stands_until.max(apart_until)).filter(|until| *until > self.now_ms)
    }

    /// Whether a process cannot reach the server, nor the server a process.
    pub(crate) fn is_apart(&self, number: u64) -> bool {
        self.decider(number).is_some_and(|member| member.apart_until > self.now_ms)
    }

    /// Whether a process takes no step now.
    pub(crate) fn takes_no_step(&self, number: u64) -> bool {
        self.decider(number).is_some_and(|member| member.stands_still(self.now_ms) || member.ends.is_some())
    }

    /// L7: nothing goes wrong any more, and one leads soon. From then on it is alone, and there is no Lease.
    pub(crate) fn elect(&mut self) {
        let Some(replicas) = &mut self.replicas else { return };
        for member in replicas.members.iter_mut().flatten() {
            (member.stands_until, member.apart_until, member.stops_for) = (self.now_ms, self.now_ms, None);
        }
        let all: Vec<u64> = replicas.members().map(|member| member.of).collect();
        all.into_iter().for_each(|of| self.wake(of));
        let until = self.now_ms + ELECTED_MS;
        while self.now_ms < until && self.violation.is_none() && !self.is_settled() {
            self.run_for(1_000);
        }
        if !self.is_settled() {
            self.violated("L7", "nobody leads alone a minute after all is well".to_owned());
        }
        self.replicas = None;
    }

    /// Whether one decides who leads, and nothing is on its way that another has sent.
    fn is_settled(&self) -> bool {
        let (Some(replicas), Some(process)) = (&self.replicas, &self.process) else { return false };
        let leads = |member: &Member| member.leads(self.now_ms) && member.ends.is_none();
        let of_another =
            |event: &Event| matches!(event, Event::Arrive(call, _) if call.id.incarnation != process.number);
        replicas.of_process(process.number).is_some_and(leads)
            && self.older.is_empty()
            && !self.agenda.values().any(of_another)
    }
}
