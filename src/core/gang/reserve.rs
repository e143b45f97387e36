//! A gang past the gate: its placeholders, and the plan that places all of its seats or none (01, 1.3).

use std::collections::BTreeMap;

use crate::core::base::ids::{AskId, GangId, GroupId, NodeId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::codes::Code;
use crate::core::decision::{Decision, TerminationType};
use crate::core::model::ask::AskState;
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;
use crate::core::model::gang::{Room, Stage, Tried};
use crate::core::model::queue::QuotaExcess;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::order::lines::Until;
use crate::core::order::merge::Reach;
use crate::core::order::pass::Next;
use crate::core::place::plan::{Shortage, are_alike};
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Brings the placeholders that the plan needs into being; says what is still to come.
    pub(super) fn prepare(&mut self, id: GangId) -> Option<Reason> {
        if let Stage::Settling { until, latest } = *self.books.gangs[id].stage() {
            if self.books.now.mono < until.min(latest) && self.may_settle(id) {
                return Some(Reason::Settling);
            }
            self.books.enter(id, Stage::Reserving);
        }
        let (mut have, mut creating) = (0, 0);
        for group in self.books.gangs[id].groups.clone() {
            self.create_placeholders(group);
            let tally = self.books.groups[group].seats.tally();
            have += tally.pending + tally.held;
            creating += tally.creating;
        }
        (creating > 0).then_some(Reason::CreatingPlaceholders { have, need: have + creating })
    }

    /// Creates missing placeholders, and gives back those that are not needed because members exist.
    fn create_placeholders(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        if !group.uses_placeholders() {
            return;
        }
        let members = self.books.members_for_seats(group).count() as u32;
        let tally = group.seats.tally();
        let wanted = tally.open.saturating_sub(members);
        let existing = tally.creating + tally.pending;
        if existing < wanted {
            let seats: Vec<_> = group.seats.open_without_placeholder().take((wanted - existing) as usize).collect();
            seats.into_iter().for_each(|seat| self.create_placeholder(id, seat));
        } else {
            // Surplus placeholders, if there are any; first those that do not exist yet.
            let pending = group.seats.open_with_placeholder().map(|(seat, _)| seat);
            let spare: Vec<_> = group.seats.open_creating().chain(pending).take((existing - wanted) as usize).collect();
            spare.into_iter().for_each(|seat| self.clear_for_member(id, seat));
        }
    }

    fn create_placeholder(&mut self, id: GroupId, seat: u32) {
        let Some(name) = self.books.placeholder_name(id, seat) else { return };
        self.books.seat(id, seat, SeatState::Open(Reserve::Creating));
        self.decide(Decision::CreatePlaceholder(name));
    }

    /// Gives everything back and tries again later.
    pub(in crate::core) fn fall_back(&mut self, id: GangId, reason: Reason) {
        self.abandon(id, TerminationType::StoppedByRm);
        let gang = &mut self.books.gangs[id];
        gang.failures += 1;
        let until = self.books.now.mono.after(gang.back_off());
        self.books.enter(id, Stage::BackOff { until });
        self.books.take_no_turn(id);
        self.wait(id, reason);
        self.books.touch_gang(id);
    }

    /// One transaction over all open seats; where they do not find nodes together and the mode allows it, over those
    /// that do.
    pub(super) fn plan_or_wait(
        &mut self,
        id: GangId,
        (queue, rank): (QueueId, &Rank),
        need: &Totals,
        reach: &Reach,
    ) -> (u32, Next) {
        match self.planner.plan(&self.books, id) {
            Some(Ok(plan)) => self.commit(id, (queue, rank), &plan, reach),
            Some(Err(short)) => match self.books.queues.refuses_behind(queue, rank, need, Before::All) {
                // The next attempt at the whole gets further.
                None if short.goes_on => (0, self.blocked(id, short)),
                None => self.hold_some(id, queue).unwrap_or_else(|| (0, self.blocked(id, short))),
                Some(refused) => (0, self.outranked(id, short, refused, (queue, rank, need))),
            },
            None => {
                debug_assert!(false, "a gang that lacks members or placeholders waits for these");
                (0, Next::waits(Until::it_changes()))
            }
        }
    }

    /// A plan found too few nodes, and the gang does not fit beside those before it that nodes block, too.
    fn outranked(
        &mut self,
        id: GangId,
        short: Shortage,
        refused: QuotaExcess,
        (queue, rank, need): (QueueId, &Rank, &Totals),
    ) -> Next {
        let Shortage { fit, need: seats, goes_on, .. } = short;
        let keeps = self.keeps_what_it_holds(id);
        if goes_on || self.holds_something(id) && !keeps {
            return self.blocked(id, short);
        }
        self.note_found(id, &short);
        if keeps {
            // It takes no more before those have what they need, and calls for no node that it would not be given.
            let held = self.until_held(&refused, Some((queue, rank, Before::All)));
            let room = Some(self.tried(id, &short).room);
            self.books.block(id);
            self.wait(id, Reason::WaitingForQuota(refused));
            return Next::waits(Until { room, refused: Some((queue, need.clone())), ..held });
        }
        // Its placeholders may have come out larger than those of the plan on trial: that is not believed again.
        self.books.gangs[id].tried = Some(Tried { room: Room::Any, ..self.tried(id, &short) });
        self.close_gate_for(id, Reason::WaitingBehind { fit, need: seats, refused });
        self.take_turn(id);
        Next::Goes
    }

    /// A plan found too few nodes.
    fn blocked(&mut self, id: GangId, short: Shortage) -> Next {
        let Shortage { fit, need, goes_on, proof, .. } = short;
        self.note_found(id, &short);
        if self.holds_something(id) && !self.books.holds_one_by_one(id) {
            let lost = self.books.groups_of(id).any(|group| group.seats.tally().open > 0);
            let short = need - fit;
            self.fall_back(id, if lost { Reason::ReservationLost { short } } else { Reason::JoinedLate { short } });
            return Next::Goes;
        }
        self.books.block(id);
        for group in self.books.gangs[id].groups.clone() {
            self.mark_wanted(group);
        }
        self.wait(id, Reason::WaitingForCapacity { fit, need, proof });
        if goes_on {
            return Next::Later;
        }
        Next::waits(Until { room: Some(self.tried(id, &short).room), ..Until::default() })
    }

    /// A plan that fell short may have found nodes for some, as may one before it whose seats are still held.
    fn note_found(&mut self, id: GangId, short: &Shortage) {
        if short.fit > 0 || short.has_others || self.keeps_what_it_holds(id) {
            self.some_found_nodes(id);
        }
    }

    /// What a plan lacked that fell short.
    pub(super) fn tried(&self, id: GangId, short: &Shortage) -> Tried {
        let Shortage { class, fit, need, has_others, .. } = *short;
        // The first node for any of them begins the time that `waitTimeoutSeconds` bounds, or is held.
        let is_before = self.books.gangs[id].is_before_start();
        let any_will_do = is_before && (self.awaits_a_first_node(id) || self.books.holds_one_by_one(id));
        let lacks = if any_will_do { 1 } else { need };
        let is_alike = !any_will_do || are_alike(&self.books, id);
        // What is kept for it is there for nobody else: bounds say nothing of it.
        let is_alone = is_alike && !has_others && self.books.kept_of_gang(id).is_empty();
        let lacks_alone = is_alone && self.planner.bounds.is_short(class, lacks);
        let room = if lacks_alone { Room::For(class, lacks) } else { Room::Any };
        Tried { room, growth: self.planner.bounds.growth(), fit, need }
    }

    /// Notes which waiting members the plan wanted to place; those behind them do not ask for more nodes.
    pub(super) fn mark_wanted(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        let places = self.books.places_to_plan(group) as usize;
        let cut = self.books.members_for_seats(group).take(places).last().map(|ask| self.books.asks[ask].rank());
        if group.cut != cut {
            self.books.changes.asks.extend(group.waiting.iter().map(|(_, ask)| *ask));
            self.books.groups[id].cut = cut;
        }
    }

    /// The plan needs more quota than the task groups announce: members count with their real requests, placeholders as
    /// admission has changed them. New placeholders would be as large, so the gang backs off before it creates them
    /// again.
    fn too_large_for_quota(&mut self, id: GangId, ask: Totals, reason: Reason) {
        // If the gang holds seats already, this plan was for the other seats only, and `ask` is not what the whole gang
        // needs. The gate must not use it, since the gang gives everything back and reserves all its seats next.
        let is_whole = !self.holds_something(id);
        self.books.gangs[id].real_ask = is_whole.then_some(ask);
        if self.holds_something(id) {
            self.fall_back(id, reason);
        } else {
            self.close_gate_for(id, reason);
        }
    }

    /// Whether a seat is held or assumed, or an originator has its node, although seats are open: no hold and wait (01,
    /// 1.3).
    pub(super) fn holds_something(&self, id: GangId) -> bool {
        let mut tallies = self.books.groups_of(id).map(|group| group.seats.tally());
        let mut originators = self.books.gangs[id].apps.iter().flat_map(|app| self.books.starting_originators(*app));
        tallies.any(|tally| tally.assumed + tally.held + tally.releasing > 0)
            || originators.any(|ask| matches!(self.books.asks[ask].state, AskState::Assumed { .. }))
    }

    /// Puts the whole plan on the books, and those who are there beyond the seats.
    fn commit(
        &mut self,
        id: GangId,
        (queue, rank): (QueueId, &Rank),
        plan: &[(AskId, NodeId)],
        reach: &Reach,
    ) -> (u32, Next) {
        let ask = self.books.requests(plan.iter().map(|(pod, _)| *pod));
        if let Some(next) = self.wait_if_beyond_quota(id, queue, ask) {
            return (0, next);
        }
        self.take_up(id, queue, plan);
        let along = self.take_along(id, (queue, rank), reach);
        self.books.leave_front(id);
        self.books.take_no_turn(id);
        let (have, need) = self.progress(id);
        self.wait(id, Reason::BindingPlaceholders { have, need });
        (plan.len() as u32 + along, Next::Goes)
    }

    /// NonStrict: holds the seats for which there are nodes, although not for all (01, 1.3). Whoever finds none has no
    /// effect on the others. `None` if there is nothing to hold.
    fn hold_some(&mut self, id: GangId, queue: QueueId) -> Option<(u32, Next)> {
        if !self.books.holds_one_by_one(id) {
            return None;
        }
        let plan = self.planner.plan_some(&self.books, id);
        if plan.is_empty() {
            return None;
        }
        // Placeholders may have come out larger than announced: quota is for the whole, as it is.
        let whole = self.books.least_ask(id, &plan.iter().map(|(pod, _)| *pod).collect());
        if let Some(next) = self.wait_if_beyond_quota(id, queue, whole) {
            return Some((0, next));
        }
        self.take_up(id, queue, &plan);
        self.some_found_nodes(id);
        // From now on it asks for the rest alone, also of those behind it in this pass.
        self.take_turn(id);
        self.books.touch_gang(id);
        Some((plan.len() as u32, Next::Goes))
    }

    /// If the quota lacks room for what pods ask for, although it had it for what the task groups announce, the gang waits for
    /// that: until when.
    fn wait_if_beyond_quota(&mut self, id: GangId, queue: QueueId, ask: Totals) -> Option<Next> {
        let beyond = self.books.beyond_kept(id, ask.clone());
        let refused = self.books.queues.refuses(queue, &beyond)?;
        if self.keeps_what_it_holds(id) {
            let watched = refused.kept.is_some().then_some((queue, beyond));
            // With room for others the plan may be another one.
            let room = Some(Room::Any);
            let until = Until { room, refused: watched, ..self.until_held(&refused, None) };
            self.books.block(id);
            self.wait(id, Reason::WaitingForQuota(refused));
            return Some(Next::waits(until));
        }
        self.too_large_for_quota(id, ask, Reason::WaitingForQuota(refused));
        self.take_turn(id);
        Some(Next::Goes)
    }

    /// Whether a gang holds seats one by one, and so gives none back for what the others lack: its timeouts bound that.
    pub(in crate::core) fn keeps_what_it_holds(&self, id: GangId) -> bool {
        self.books.holds_one_by_one(id) && self.holds_something(id)
    }

    /// Puts a plan on the books: placeholders are bound now, real pods when all seats are satisfied.
    fn take_up(&mut self, id: GangId, queue: QueueId, plan: &[(AskId, NodeId)]) {
        // From now on the gate counts open seats by the announced size again: those that are lost later.
        self.books.gangs[id].real_ask = None;
        if let Some(place) = self.books.gangs[id].place().filter(|_| !self.holds_something(id)) {
            let rank = place.rank.clone();
            self.note_start(queue, &rank);
        }
        self.spend_kept(id);
        self.tell_own_seats(plan);
        for (chosen, node) in plan {
            self.assume(*chosen, *node, queue);
        }
    }

    /// Where placeholders are made for all, whoever is given a seat of its own is so since the template lacks something
    /// (01, 1.3 `all`).
    fn tell_own_seats(&mut self, plan: &[(AskId, NodeId)]) {
        let mut own: BTreeMap<GroupId, Vec<AskId>> = BTreeMap::new();
        for (id, _) in plan {
            let ask = &self.books.asks[*id];
            if let (Some(group), false) = (ask.group, ask.is_placeholder())
                && self.books.groups[group].reserves_for_all()
            {
                own.entry(group).or_default().push(*id);
            }
        }
        for (group, members) in own {
            let sentence = self.own_seats_sentence(group, &members);
            self.decide(Decision::Tell(group, Code::TemplateLacks, sentence.into()));
        }
    }

    fn assume(&mut self, ask: AskId, node: NodeId, queue: QueueId) {
        let own = self.books.asks[ask].seat;
        let seat = own.or_else(|| self.clear_a_seat(ask));
        self.books.assume(ask, node, queue, seat);
        if own.is_some() {
            self.send(ask);
        }
    }

    /// Finds an open seat of a member's group, and gives up its placeholder if it has one.
    pub(in crate::core) fn clear_a_seat(&mut self, member: AskId) -> Option<u32> {
        let group = self.books.asks[member].group?;
        let seat = self.books.groups[group].seats.first_free()?;
        self.clear_for_member(group, seat);
        Some(seat)
    }

    /// How many seats are settled (not open, not being bound, not leaving), and how many there are.
    pub(in crate::core) fn progress(&self, id: GangId) -> (u32, u32) {
        self.books.groups_of(id).map(|group| &group.seats).fold((0, 0), |(have, need), seats| {
            let tally = seats.tally();
            (have + seats.len() - tally.open - tally.binding - tally.leaving, need + seats.len())
        })
    }
}
