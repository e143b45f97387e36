//! The gate: whether the whole of a gang fits its queue now, and what happens on either side of it (01, 1.2.5).

use std::ops::Bound;
use std::sync::Arc;

use crate::core::base::ids::{GangId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::decision::TerminationType;
use crate::core::event::{PlaceholderFor, Reservation};
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;
use crate::core::model::gang::{Gang, NUMBERS_MS, Room, SETTLE_AT_MOST_MS, SETTLE_MS, Stage, Tried};
use crate::core::model::queue::QuotaExcess;
use crate::core::model::timers::Timer;
use crate::core::model::turn::{Form, Line, Turn};
use crate::core::order::lines::{Hold, Told, Until};
use crate::core::order::merge::Reach;
use crate::core::order::pass::{Next, Served};
use crate::core::reason::Reason;
use crate::core::step::{PLACED_PER_STEP, Scheduler};

impl Scheduler {
    /// The turn of the first gang of a line before the gate, which reaches so far.
    pub(in crate::core) fn serve_gate(
        &mut self,
        (queue, form): (QueueId, &Arc<Form>),
        rank: &Rank,
        reach: &Reach,
    ) -> Served {
        let line = self.books.gate.get(&(queue, form.clone()));
        let Some(id) = line.and_then(|line| line.gangs.get(rank)).copied() else { return Served::goes(0) };
        // Who begins anew in the room that is kept for it takes nothing from those before it.
        let overtakes = if form.asks_for_nothing_new() { Ok(1) } else { self.may_overtake(queue, rank) };
        if let Err(first) = overtakes {
            let until = Until { first: Some((self.books.queues.leaf(queue), rank.clone())), ..Until::default() };
            return self.stay_at_gate(queue, form, (Reason::WaitingForFirst(first), Next::waits(until)));
        }
        if let Some(refused) = self.refused_at_gate(id, queue, rank, &form.need) {
            return self.stay_at_gate(queue, form, refused);
        }
        if let Some((namespace, asked)) = self.books.crowded_namespace(id) {
            let max = self.books.most_placeholders.of_namespace();
            let until = Until { namespace: Some(namespace.clone()), ..Until::default() };
            let reason = Reason::WaitingForPlaceholders { namespace, asked, max };
            return self.stay_at_gate(queue, form, (reason, Next::waits(until)));
        }
        if let Some(application) = self.books.somebody_starts(id, queue).filter(|_| !form.is_alone()) {
            let reason = Reason::WaitingForStart { queue: self.books.queues[queue].path.clone(), application };
            let until = Until { starting: Some(self.books.queues.leaf(queue)), ..Until::default() };
            return self.stay_at_gate(queue, form, (reason, Next::waits(until)));
        }
        if form.is_alone() {
            self.let_in(id);
            self.let_in_behind((queue, form), rank);
            return Served::goes(0);
        }
        if let Some(refused) = self.books.queues.refuses_behind(queue, rank, &form.need, Before::All)
            && let Some(refused) = self.try_out(id, (queue, rank), form, refused)
        {
            return self.stay_at_gate(queue, form, refused);
        }
        self.open_gate(id);
        self.take_turn(id);
        let Served { placed, next } = self.serve_gang(id, reach);
        let line = Line::Gang(id);
        match next {
            Next::Waits(until) => self.fall_asleep(line, *until),
            Next::Goes | Next::Later => self.books.changes.lines.extend([line]),
        }
        Served::goes(placed)
    }

    /// A gang that does not fit beside those before it that nodes block makes no placeholders before a plan without them
    /// finds nodes for all (01, 1.2.5). Says why it does not, and when to try again.
    fn try_out(
        &mut self,
        id: GangId,
        (queue, rank): (QueueId, &Rank),
        form: &Form,
        refused: QuotaExcess,
    ) -> Option<(Reason, Next)> {
        let tried = match self.books.gangs[id].tried.filter(|tried| self.still_lacks(id, tried)) {
            Some(tried) => tried,
            None => {
                let short = self.planner.try_out(&self.books, id, form);
                if short.is_some_and(|short| short.fit > 0 || short.has_others) {
                    self.some_found_nodes(id);
                }
                let tried = short.map(|short| self.tried(id, &short));
                self.books.gangs[id].tried = tried.filter(|_| short.is_some_and(|short| !short.goes_on));
                tried?
            }
        };
        let Tried { room, fit, need, .. } = tried;
        let held = self.until_held(&refused, Some((queue, rank, Before::All)));
        let until = Until { room: Some(room), refused: Some((queue, form.need.clone())), ..held };
        let next = if self.books.gangs[id].tried.is_some() { Next::waits(until) } else { Next::Later };
        Some((Reason::WaitingBehind { fit, need, refused }, next))
    }

    /// Whether nodes still lack the room that a plan lacked.
    fn still_lacks(&self, id: GangId, tried: &Tried) -> bool {
        match tried.room {
            // Room that is kept for it came later.
            Room::For(..) if !self.books.kept_of_gang(id).is_empty() => false,
            Room::For(class, need) => self.planner.bounds.is_short(class, need),
            Room::Any => tried.growth == self.planner.bounds.growth(),
        }
    }

    /// The first of a line cannot pass the gate, so nor can those behind it. They are told the same: at once if the
    /// cause is another one, and else when the numbers are told anew.
    fn stay_at_gate(&mut self, queue: QueueId, form: &Arc<Form>, (reason, next): (Reason, Next)) -> Served {
        let Some(gangs) = self.books.gate.get_mut(&(queue, form.clone())) else { return Served::goes(0) };
        let line = Line::Gate(queue, form.clone());
        let fresh = std::mem::take(&mut gangs.fresh);
        let mut are_old = false;
        let told = match self.lines.told.get(&line) {
            Some(Told::Gangs { reason: old, again: false }) if old.has_cause_of(&reason) => {
                are_old = *old != reason;
                fresh.into_iter().collect()
            }
            Some(Told::Gangs { .. } | Told::Pods(_)) | None => gangs.gangs.values().copied().collect::<Vec<_>>(),
        };
        told.into_iter().for_each(|id| self.wait(id, reason.clone()));
        if let (true, Next::Waits(until)) = (are_old, &next) {
            let own = (until.namespace.is_some() || until.starting.is_some()).then(|| self.books.queues.leaf(queue));
            until.limit.iter().map(|hold| hold.queue).chain(own).for_each(|queue| self.tell_numbers_later(queue));
        }
        // A line that is looked at in the next pass has no limit by which it would be found.
        let again = are_old && matches!(next, Next::Later);
        self.lines.told.insert(line, Told::Gangs { reason, again });
        Served { placed: 0, next }
    }

    /// Those who wait for a limit of a queue are told other numbers before long.
    pub(in crate::core) fn tell_numbers_later(&mut self, queue: QueueId) {
        self.lines.numbers_changed(queue);
        if !self.books.timers.is_set(Timer::Numbers) {
            self.books.timers.set(Timer::Numbers, self.books.now.mono.after(NUMBERS_MS));
        }
    }

    /// The turn of a gang past the gate, or of a round. All of its seats have it, and whoever goes along as far as it reaches.
    pub(in crate::core) fn serve_gang(&mut self, id: GangId, reach: &Reach) -> Served {
        let (rank, queue, need) = match self.books.gangs.get(id).and_then(Gang::turn).cloned() {
            Some(Turn::Past { rank, queue, need }) => (rank, queue, need),
            Some(Turn::Round { queue, .. }) => return self.serve_round(id, queue),
            Some(Turn::Gate { .. }) | None => return Served::goes(0),
        };
        if let Some((reason, next)) = self.refused_at_gate(id, queue, &rank, &need) {
            if self.keeps_what_it_holds(id) {
                self.books.block(id);
                self.wait(id, reason);
                return Served { placed: 0, next };
            }
            self.close_gate_for(id, reason);
            self.take_turn(id);
            return Served::goes(0);
        }
        let gets_its_own = self.holds_something(id) && !self.keeps_what_it_holds(id);
        let takes_nothing = gets_its_own || need.is_nothing() && !self.books.kept_of_gang(id).is_empty();
        let overtakes = if takes_nothing { Ok(1) } else { self.may_overtake(queue, &rank) };
        if let Err(first) = overtakes {
            // Its placeholders stay, and what it holds one by one: it does not start, and that is all.
            self.books.block(id);
            self.wait(id, Reason::WaitingForFirst(first));
            let first = Some((self.books.queues.leaf(queue), rank));
            return Served { placed: 0, next: Next::waits(Until { first, ..Until::default() }) };
        }
        if let Some(reason) = self.prepare(id) {
            self.wait(id, reason);
            // What it waits for is seen on its placeholders and members.
            return Served { placed: 0, next: Next::waits(Until::it_changes()) };
        }
        let (placed, next) = self.plan_or_wait(id, (queue, &rank), &need, reach);
        if placed > 0 {
            self.books.touch_gang(id);
        }
        Served { placed, next }
    }

    /// Why a gang may not pass the gate, and what may change that: the limits, beside what is used and what gangs that
    /// are about to be planned ask for.
    fn refused_at_gate(&self, id: GangId, queue: QueueId, rank: &Rank, need: &Totals) -> Option<(Reason, Next)> {
        let queues = &self.books.queues;
        let refused = queues.refuses(queue, need).or_else(|| queues.refuses_behind(queue, rank, need, Before::Planned));
        if let Some(refused) = refused {
            let watched = refused.kept.is_some().then(|| (queue, need.clone()));
            let held = self.until_held(&refused, Some((queue, rank, Before::Planned)));
            let until = Until { refused: watched, ..held };
            return Some((Reason::WaitingForQuota(refused), Next::waits(until)));
        }
        let reason = self.lacks_place(id)?;
        let Reason::WaitingForApplications { queue, .. } = &reason else { return None };
        let hold = queues.find(queue).map(|queue| Hold { queue, resource: None, asked: 1, behind: None });
        let until = Until { limit: hold, ..Until::default() };
        Some((reason, Next::waits(until)))
    }

    /// Which pods must come, or go, before anything is asked of the queue for a gang.
    pub(in crate::core) fn lacks_pods(&self, id: GangId) -> Option<Reason> {
        self.has_refused_pods(id).or_else(|| self.lacks_first_pod(id)).or_else(|| self.lacks_members(id))
    }

    /// Members that nothing can place: where the others, with those still to come, are too few, the gang holds nothing
    /// (01, 1.3). An originator starts with the gang, so one that nothing can place is one too many.
    fn has_refused_pods(&self, id: GangId) -> Option<Reason> {
        let of_group = self.books.gangs[id].groups.iter().find_map(|id| {
            let group = &self.books.groups[*id];
            let (refused, seats) = (group.members.unsupported, group.seats.len());
            let others = group.members.pending + group.seats.tally().members() + group.seats.tally().taken;
            let to_come = seats.saturating_sub(others + refused);
            (refused > 0 && others + to_come < seats).then_some((Some(*id), refused))
        });
        let of_app = || {
            let apps = self.books.gangs[id].apps.iter().map(|app| &self.books.apps[*app]);
            apps.filter(|app| !app.groups.is_empty()).map(|app| app.refused).find(|refused| *refused > 0)
        };
        let (group, count) = of_group.or_else(|| Some((None, of_app()?)))?;
        Some(Reason::MembersRefused { group, count })
    }

    /// Nothing is reserved for a job that is suspended, or was never submitted (01, 1.3).
    fn lacks_first_pod(&self, id: GangId) -> Option<Reason> {
        let mut groups = self.books.groups_of(id);
        let waits = groups.any(|group| group.uses_placeholders() && !group.reserves_for_all());
        (waits && !self.somebody_comes(id)).then_some(Reason::WaitingForFirstPod)
    }

    /// Direct: the members themselves must exist before anything is asked of the queue.
    fn lacks_members(&self, id: GangId) -> Option<Reason> {
        self.books.groups_of(id).find_map(|group| {
            let (have, need) = (group.waiting.len() as u32, group.seats.tally().open);
            let taken = group.seats.len() - need;
            (!group.uses_placeholders() && have < need).then(|| Reason::WaitingForMembers {
                group: group.called(),
                have: have + taken,
                need: group.seats.len(),
            })
        })
    }

    /// Whether `maxApplications` of the queue leaves no place for an application of the gang.
    pub(in crate::core) fn lacks_place(&self, id: GangId) -> Option<Reason> {
        let apps = self.books.gangs[id].apps.iter().map(|app| &self.books.apps[*app]);
        let mut outside = apps.filter(|app| !app.admitted);
        let (queue, max) = outside.find_map(|app| self.books.queues.full_of_applications(app.queue?))?;
        Some(Reason::WaitingForApplications { queue, max })
    }

    /// An application without TaskGroups reserves nothing: now that there is a place for it among those of its queue, its
    /// pods are ordinary asks.
    fn let_in(&mut self, id: GangId) {
        self.admit(id);
        self.books.gangs[id].waits = None;
        self.books.changes.asks.extend(self.books.originators_of(id));
        self.books.line_up_originators(id);
        self.take_turn(id);
    }

    /// Those behind one that was let in take nothing from anybody either, where no limit counts applications: they are let in with it,
    /// and each pod still has its own turn.
    fn let_in_behind(&mut self, (queue, form): (QueueId, &Arc<Form>), rank: &Rank) {
        if self.books.queues.limits_applications(queue) {
            return;
        }
        let Some(line) = self.books.gate.get(&(queue, form.clone())) else { return };
        let behind = line.gangs.range::<Rank, _>((Bound::Excluded(rank), Bound::Unbounded));
        let behind: Vec<_> = behind.take(PLACED_PER_STEP as usize).map(|(rank, id)| (rank.clone(), *id)).collect();
        for (rank, id) in behind {
            let waits = self.may_overtake(queue, &rank).is_err();
            if waits || self.refused_at_gate(id, queue, &rank, &form.need).is_some() {
                return;
            }
            self.let_in(id);
        }
    }

    fn open_gate(&mut self, id: GangId) {
        self.admit(id);
        if *self.books.gangs[id].stage() != Stage::Gate {
            return;
        }
        if self.may_settle(id) {
            let now = self.books.now.mono;
            let (until, latest) = (now.after(SETTLE_MS), now.after(SETTLE_AT_MOST_MS));
            self.books.enter(id, Stage::Settling { until, latest });
        } else {
            self.books.enter(id, Stage::Reserving);
        }
        self.books.show_gang(id);
    }

    /// Counts the applications of the gang as past the gate.
    pub(in crate::core) fn admit(&mut self, id: GangId) {
        for app in &self.books.gangs[id].apps {
            let app = &mut self.books.apps[*app];
            if let (false, Some(queue)) = (app.admitted, app.queue) {
                app.admitted = true;
                self.books.queues.admit(queue);
            }
        }
    }

    /// Whether a task group with `placeholderFor: missing` has open seats for which no member exists yet: the members
    /// may come in a moment, and then need no placeholders.
    pub(super) fn may_settle(&self, id: GangId) -> bool {
        self.books.groups_of(id).any(|group| {
            let spec = group.spec();
            spec.reservation == Reservation::Placeholder
                && spec.placeholder_for == PlaceholderFor::Missing
                && (group.waiting.len() as u32) < group.seats.tally().open
        })
    }

    /// Sends a gang back before the gate. No placeholder of it may exist there, so everything is given back. A gang
    /// that had placeholders comes again after a pause, longer each time: if others take the quota and give it back
    /// again and again, all its placeholders would otherwise be made and deleted at every turn (01, 1.2.5).
    pub(in crate::core) fn close_gate_for(&mut self, id: GangId, reason: Reason) {
        let tallies = self.books.groups_of(id).map(|group| group.seats.tally());
        if tallies.map(|tally| tally.creating + tally.pending).sum::<u32>() > 0 {
            return self.fall_back(id, reason);
        }
        if *self.books.gangs[id].stage() != Stage::Gate {
            self.abandon(id, TerminationType::StoppedByRm);
        }
        self.wait(id, reason);
    }

    /// Back before the gate.
    pub(in crate::core) fn close_gate(&mut self, id: GangId) {
        self.books.enter(id, Stage::Gate);
        self.books.gangs[id].apps.clone().into_iter().for_each(|app| self.books.dismiss_if_idle(app));
        self.books.line_up_originators(id);
        // From now on it waits for its queue, which may last only so long.
        self.books.touch_gang(id);
    }
}
