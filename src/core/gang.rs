//! A gang before its start: the gate, its placeholders, and the plan that places all of its seats or none (01, 1.2.5, 1.3).

use super::application::{LOST_AGAIN_MS, SETTLE_AT_MOST_MS, SETTLE_MS, Stage, Stuck};
use super::ask::{AskState, Shelf};
use super::decision::{Decision, TerminationType};
use super::event::{PlaceholderFor, PlaceholderName, Reservation};
use super::ids::{AppId, AskId, GroupId, NodeId, QueueId};
use super::lifecycle::AppState;
use super::plan::{Candidate, Shortage};
use super::queue::Ahead;
use super::reason::{Loss, Reason, Refusal};
use super::resources::Totals;
use super::scheduler::Scheduler;
use super::seat::{Reserve, SeatState};

impl Scheduler {
    /// One turn of a gang in a pass. Returns how many pods it placed.
    pub(super) fn try_gang(&mut self, id: AppId, ahead: &mut Ahead) -> u32 {
        if self.books.apps[id].groups.is_empty() {
            self.let_in(id);
            return 0;
        }
        if let Some(reason) = self.lacks_members(id) {
            self.close_gate_for(id, reason);
            return 0;
        }
        let need = self.open_ask(id);
        if let Some(reason) = self.at_gate(id, ahead, &need) {
            self.close_gate_for(id, reason);
            if !self.books.apps[id].originators.is_empty() {
                // One may have come that makes the gang impossible for good.
                self.judge_again(id);
            }
            return 0;
        }
        self.open_gate(id);
        if self.is_stuck(id) {
            return self.stay_blocked(id, &need, ahead);
        }
        let placed = match self.prepare(id) {
            Some(reason) => {
                self.wait(id, reason);
                0
            }
            None => self.plan_or_wait(id),
        };
        if placed > 0 { placed } else { self.stay_blocked(id, &need, ahead) }
    }

    /// Past the gate and blocked by nodes: charged virtually for this pass (01, 1.2.5).
    fn stay_blocked(&self, id: AppId, need: &Totals, ahead: &mut Ahead) -> u32 {
        let app = &self.books.apps[id];
        if let Some(queue) = app.queue.filter(|_| app.is_past_gate()) {
            ahead.charge(&self.books.queues, queue, need);
        }
        0
    }

    /// Direct: the members themselves must exist before anything is asked of the queue.
    pub(super) fn lacks_members(&self, id: AppId) -> Option<Reason> {
        self.books.apps[id].groups.iter().map(|group| &self.books.groups[*group]).find_map(|group| {
            let (have, need) = (group.waiting.len() as u32, group.seats.tally().open);
            let taken = group.seats.len() - need;
            (!group.uses_placeholders() && have < need).then(|| Reason::WaitingForMembers {
                group: group.key.name.clone(),
                have: have + taken,
                need: group.seats.len(),
                unsupported: group.members.unsupported,
            })
        })
    }

    /// What the gang still has to be given.
    fn open_ask(&self, id: AppId) -> Totals {
        let app = &self.books.apps[id];
        if let Some(ask) = &app.real_ask {
            return ask.clone();
        }
        let mut ask = Totals::default();
        for group in app.groups.iter().map(|group| &self.books.groups[*group]) {
            ask.add(&group.spec().min_resource, group.seats.tally().open);
        }
        for (_, originator) in &app.originators {
            ask.add(self.books.request(*originator), 1);
        }
        ask
    }

    fn at_gate(&self, id: AppId, ahead: &Ahead, need: &Totals) -> Option<Reason> {
        let app = &self.books.apps[id];
        let queue = app.queue?;
        if let Some(refused) = self.books.queues.refuses(queue, ahead, need) {
            return Some(Reason::WaitingForQuota(refused));
        }
        self.lacks_place(id)
    }

    fn lacks_place(&self, id: AppId) -> Option<Reason> {
        let app = &self.books.apps[id];
        let (queue, max) = self.books.queues.full_of_applications(app.queue?).filter(|_| !app.admitted)?;
        Some(Reason::WaitingForApplications { queue, max })
    }

    /// An application without TaskGroups reserves nothing: once there is a place for it among those of its queue, its pods
    /// are ordinary asks.
    fn let_in(&mut self, id: AppId) {
        if let Some(reason) = self.lacks_place(id) {
            return self.wait(id, reason);
        }
        self.admit(id);
        let app = &mut self.books.apps[id];
        app.waits = None;
        self.shown_asks.extend(&app.asks);
        self.reshelve_own(id);
    }

    fn open_gate(&mut self, id: AppId) {
        self.admit(id);
        let (now, settles) = (self.now.mono, self.may_settle(id));
        let app = &mut self.books.apps[id];
        if app.stage == Stage::Gate {
            if settles {
                app.stage = Stage::Settle { until: now.after(SETTLE_MS), latest: now.after(SETTLE_AT_MOST_MS) };
            } else {
                app.begin_reserving();
            }
            self.show_app(id);
        }
    }

    /// Counts the application as past the gate.
    pub(super) fn admit(&mut self, id: AppId) {
        let app = &mut self.books.apps[id];
        if let (false, Some(queue)) = (app.admitted, app.queue) {
            app.admitted = true;
            self.books.queues.admit(queue);
        }
    }

    /// `missing`: some members do not exist yet, and may come in a moment.
    fn may_settle(&self, id: AppId) -> bool {
        self.books.apps[id].groups.iter().map(|group| &self.books.groups[*group]).any(|group| {
            let spec = group.spec();
            spec.reservation == Reservation::Placeholder
                && spec.placeholder_for == PlaceholderFor::Missing
                && (group.waiting.len() as u32) < group.seats.tally().open
        })
    }

    /// Nothing of the gang may exist before the gate: what does is given back.
    fn close_gate_for(&mut self, id: AppId, reason: Reason) {
        if self.books.apps[id].stage != Stage::Gate {
            self.abandon(id, TerminationType::StoppedByRm);
        }
        // Once it is through again it is planned again, and says what it waits for then.
        self.books.apps[id].stuck = None;
        self.wait(id, reason);
    }

    /// Back before the gate.
    pub(super) fn close_gate(&mut self, id: AppId) {
        self.dismiss(id);
        let app = &mut self.books.apps[id];
        app.stage = Stage::Gate;
        app.party.clear();
        self.reshelve_own(id);
    }

    /// Brings the placeholders that the plan needs into being; says what is still to come.
    fn prepare(&mut self, id: AppId) -> Option<Reason> {
        if let Stage::Settle { until, latest } = self.books.apps[id].stage {
            if self.now.mono < until.min(latest) && self.may_settle(id) {
                self.set_timer(id, until.min(latest));
                return Some(Reason::Settling);
            }
            self.books.apps[id].begin_reserving();
        }
        let (mut have, mut creating) = (0, 0);
        for group in self.books.apps[id].groups.clone() {
            self.create_placeholders(group);
            let tally = self.books.groups[group].seats.tally();
            have += tally.pending + tally.held;
            creating += tally.creating;
        }
        (creating > 0).then_some(Reason::CreatingPlaceholders { have, need: have + creating })
    }

    /// A member came while the gang settles: it waits a little longer for more.
    pub(super) fn extend_settling(&mut self, id: AppId) {
        let now = self.now.mono;
        if let Stage::Settle { until, .. } = &mut self.books.apps[id].stage {
            *until = now.after(SETTLE_MS);
        }
    }

    /// Creates what is missing and gives back what members make superfluous.
    fn create_placeholders(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        if !group.uses_placeholders() {
            return;
        }
        let members = match group.spec().placeholder_for {
            PlaceholderFor::All => 0,
            PlaceholderFor::Missing => group.waiting.len() as u32,
        };
        let tally = group.seats.tally();
        let wanted = tally.open.saturating_sub(members);
        let existing = tally.creating + tally.pending;
        if existing < wanted {
            let seats: Vec<_> = group.seats.open_without_placeholder().take((wanted - existing) as usize).collect();
            seats.into_iter().for_each(|seat| self.create_placeholder(id, seat));
        } else {
            // Those that are too many, if any; of these first what does not exist yet.
            let pending = group.seats.open_with_placeholder().map(|(seat, _)| seat);
            let spare: Vec<_> = group.seats.open_creating().chain(pending).take((existing - wanted) as usize).collect();
            spare.into_iter().for_each(|seat| self.clear_for_member(id, seat));
        }
    }

    fn create_placeholder(&mut self, id: GroupId, seat: u32) {
        let Some(name) = self.placeholder_name(id, seat) else { return };
        self.books.seat(id, seat, SeatState::Open(Reserve::Creating));
        self.decide(Decision::CreatePlaceholder(name));
    }

    /// Takes back the creation of a seat's placeholder. One that was sent already is found a stray when it appears.
    pub(super) fn cancel_creation(&mut self, id: GroupId, seat: u32) {
        let Some(name) = self.placeholder_name(id, seat) else { return };
        self.books.seat(id, seat, SeatState::Open(Reserve::None));
        self.books.groups[id].seats.next_attempt(seat, name.attempt.saturating_add(1));
        self.decide(Decision::CancelPlaceholder(name));
    }

    fn placeholder_name(&self, id: GroupId, seat: u32) -> Option<PlaceholderName> {
        let group = &self.books.groups[id];
        let incarnation = self.books.apps[group.app?].incarnation;
        let (spec, attempt) = (group.spec.as_ref()?, group.seats.get(seat)?.attempt);
        Some(PlaceholderName { group: group.key.clone(), uid: spec.uid.clone(), incarnation, seat, attempt })
    }

    /// The API server will not have a placeholder: nothing is held until the next attempt.
    pub(super) fn create_refused(&mut self, name: &PlaceholderName, refusal: Refusal) {
        let Some(id) = self.books.group_ids.get(&name.group).copied() else { return };
        let group = &self.books.groups[id];
        let is_current = self.placeholder_name(id, name.seat).as_ref() == Some(name);
        let is_creating =
            matches!(group.seats.get(name.seat).map(|seat| seat.state), Some(SeatState::Open(Reserve::Creating)));
        let (true, true, Some(app)) = (is_current, is_creating, group.app) else { return };
        self.books.seat(id, name.seat, SeatState::Open(Reserve::None));
        if self.books.apps[app].state == AppState::Accepted {
            self.fall_back(app, Reason::PlaceholderRejected(refusal));
        }
    }

    /// The placeholder of a seat is lost: its node refuses it or puts it off, or somebody deletes it. The seat is planned
    /// again at once. Where that happens again and again, placeholders would be made for ever, as fast as the API server takes
    /// it: the second time within [`LOST_AGAIN_MS`] the gang gives everything back, and waits before it tries again, longer
    /// each time (docs/adr/0015).
    pub(super) fn placeholder_lost(&mut self, group: GroupId, seat: u32, how: Loss) {
        let (now, group) = (self.now.mono, &mut self.books.groups[group]);
        let again = group.seats.lost_again(seat, now, LOST_AGAIN_MS);
        let app = group.app.filter(|app| again && self.books.apps[*app].state == AppState::Accepted);
        if let Some(app) = app {
            self.fall_back(app, Reason::PlaceholdersLost(how));
        }
    }

    /// Gives everything back and tries again later.
    pub(super) fn fall_back(&mut self, id: AppId, reason: Reason) {
        self.abandon(id, TerminationType::StoppedByRm);
        let app = &mut self.books.apps[id];
        app.failures += 1;
        let until = self.now.mono.after(app.back_off());
        app.stage = Stage::BackOff { until };
        self.leave_contest(id);
        self.set_timer(id, until);
        self.wait(id, reason);
        self.touch(Some(id));
    }

    /// One transaction over all open seats.
    fn plan_or_wait(&mut self, id: AppId) -> u32 {
        let Some(candidates) = self.candidates(id) else {
            debug_assert!(false, "a gang that lacks members or placeholders waits for these");
            return 0;
        };
        match self.plan(&candidates) {
            Ok(plan) => self.commit(id, &plan),
            Err(short) => {
                self.blocked(id, short);
                0
            }
        }
    }

    fn blocked(&mut self, id: AppId, short: Shortage) {
        let Shortage { class, fit, need, has_others, goes_on } = short;
        if self.holds_something(id) {
            return self.fall_back(id, Reason::ReservationLost { short: need - fit });
        }
        let lacks_alone = !has_others && self.room.get(&class).is_some_and(|room| *room < need);
        let stuck = if lacks_alone { Stuck::Alone { class, need } } else { Stuck::Together { growth: self.growth } };
        self.books.apps[id].stuck = (!goes_on).then_some(stuck);
        for group in self.books.apps[id].groups.clone() {
            self.mark_wanted(group);
        }
        self.wait(id, Reason::WaitingForCapacity { fit, need });
    }

    /// Notes which waiting members the plan wanted to place; those behind them do not ask for more nodes.
    fn mark_wanted(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        let open = group.seats.tally().open as usize;
        let cut = group.waiting.iter().take(open).next_back().map(|(rank, _)| rank.clone());
        if group.cut != cut {
            self.shown_asks.extend(group.waiting.iter().map(|(_, ask)| *ask));
            self.books.groups[id].cut = cut;
        }
    }

    /// Whether the last plan found too few nodes and no more fit now.
    fn is_stuck(&self, id: AppId) -> bool {
        self.books.apps[id].stuck.is_some_and(|stuck| match stuck {
            Stuck::Alone { class, need } => self.room.get(&class).is_some_and(|room| *room < need),
            Stuck::Together { growth } => growth == self.growth,
        })
    }

    /// What exists is larger than what was announced: members count with their real requests, placeholders as admitted.
    /// Other placeholders would be as large, so the gang backs off before it creates them again.
    fn too_large_for_quota(&mut self, id: AppId, ask: Totals, reason: Reason) {
        // What a part of it needs is not the ask of the whole gang, which is what is reserved next.
        let is_whole = !self.holds_something(id);
        self.books.apps[id].real_ask = is_whole.then_some(ask);
        let tallies = self.books.apps[id].groups.iter().map(|group| self.books.groups[*group].seats.tally());
        if tallies.into_iter().any(|tally| tally.pending > 0) || self.holds_something(id) {
            self.fall_back(id, reason);
        } else {
            self.close_gate_for(id, reason);
        }
    }

    /// Whether a seat is held or assumed, or an originator has its node, although seats are open: no hold and wait (01, 1.3).
    fn holds_something(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        let mut tallies = app.groups.iter().map(|group| self.books.groups[*group].seats.tally());
        let is_assumed = |ask: &AskId| matches!(self.books.asks[*ask].state, AskState::Assumed { sent: false, .. });
        tallies.any(|tally| tally.assumed + tally.held > 0) || app.party.iter().any(is_assumed)
    }

    /// Puts the whole plan on the books: placeholders are bound now, real pods when all seats are satisfied.
    fn commit(&mut self, id: AppId, plan: &[(Candidate, NodeId)]) -> u32 {
        let Some(queue) = self.books.apps[id].queue else { return 0 };
        let mut ask = Totals::default();
        plan.iter().for_each(|(candidate, _)| ask.add(self.books.request(candidate.ask), 1));
        if let Some(refused) = self.books.queues.refuses(queue, &Ahead::default(), &ask) {
            self.too_large_for_quota(id, ask, Reason::WaitingForQuota(refused));
            return 0;
        }
        // What is lost of it later is planned again by what was announced.
        self.books.apps[id].real_ask = None;
        let count = plan.len() as u32;
        for (candidate, node) in plan {
            self.assume(*candidate, *node, queue);
        }
        self.leave_contest(id);
        let (have, need) = self.progress(id);
        self.wait(id, Reason::BindingPlaceholders { have, need });
        count
    }

    fn assume(&mut self, candidate: Candidate, node: NodeId, queue: QueueId) {
        let Candidate { ask, group, .. } = candidate;
        self.books.shelve(ask, Shelf::Off);
        self.books.charge_whole(ask, node, Some(queue));
        self.books.change(ask, |ask| ask.state = AskState::Assumed { node, sent: false });
        self.shown_asks.insert(ask);
        let Some(group) = group else { return };
        if let Some(seat) = self.books.asks[ask].seat {
            self.books.seat(group, seat, SeatState::Binding(ask));
            self.send(ask);
        } else if let Some(seat) = self.books.groups[group].seats.first_open() {
            self.clear_for_member(group, seat);
            self.books.seat(group, seat, SeatState::Assumed(ask));
        }
    }

    /// Seats that are settled, and all seats.
    pub(super) fn progress(&self, id: AppId) -> (u32, u32) {
        let groups = self.books.apps[id].groups.iter().map(|group| &self.books.groups[*group].seats);
        groups.fold((0, 0), |(have, need), seats| {
            let tally = seats.tally();
            (have + seats.len() - tally.open - tally.binding - tally.leaving, need + seats.len())
        })
    }
}
