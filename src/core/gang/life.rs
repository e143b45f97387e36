//! Moves an application on as far as the facts allow without competing for capacity.

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::decision::TerminationType;
use crate::core::gang::judge::{placeholder_ask, queue_of, queue_path_of, submitter_of};
use crate::core::gang::replace::Reach;
use crate::core::model::application::{App, Counted};
use crate::core::model::ask::{Ask, AskState};
use crate::core::model::countdown::Deadline;
use crate::core::model::gang::Stage;
use crate::core::model::group::Group;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::seat::{Seats, Tally};
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Looks at one application.
    pub(in crate::core) fn advance(&mut self, id: AppId) {
        let Some(app) = self.books.apps.get(id) else { return };
        match app.state() {
            AppState::New => self.judge(id),
            AppState::Accepted if app.begun_anew && app.active == 0 && app.pending == 0 => self.wait_again(id),
            AppState::Accepted => self.reserve_or_start(app.gang),
            AppState::Resuming => self.resume(id),
            AppState::Running => self.run_on(id),
            AppState::Waiting => self.wait_on(id),
            AppState::Completed => self.come_again(id),
            AppState::Killed => self.finish_off(id),
            AppState::Rejected if app.timed_out.is_some() => self.live_again(id),
            AppState::Rejected => {}
        }
        if self.books.apps.get(id).is_some() {
            self.books.dismiss_if_idle(id);
            self.keep_time(id);
            self.count(id);
        }
    }

    /// Brings up to date what the queues count of an application.
    fn count(&mut self, id: AppId) {
        let Some(app) = self.books.apps.get(id) else { return };
        let gang = &self.books.gangs[app.gang];
        let waits = gang.is_before_start() && (!gang.is_reserving() || gang.turn().is_some());
        let counted = app.queue.map(|queue| Counted {
            queue,
            state: app.state(),
            pending: if waits { placeholder_ask(&self.books, id) } else { Totals::default() },
        });
        self.books.count_app(id, counted);
    }

    /// Takes an event of the state machine, and shows what came of it.
    pub(in crate::core) fn transit(&mut self, id: AppId, event: AppEvent) {
        if self.books.transit(id, event) {
            match self.books.apps[id].state() {
                // Nothing of it is active or pending, so it keeps nobody out (`maxApplications`), unless seats are kept for
                // it. If it goes on, it is in its queue already, and is not held up.
                AppState::Waiting => self.books.dismiss_if_idle(id),
                AppState::Running => {
                    let gang = self.books.apps[id].gang;
                    self.admit(gang);
                    // Its other pods start nothing any more.
                    self.books.line_up_originators(gang);
                }
                AppState::New
                | AppState::Accepted
                | AppState::Resuming
                | AppState::Rejected
                | AppState::Completed
                | AppState::Killed => {}
            }
            self.books.show_app(id);
            self.books.touch(id);
        }
    }

    /// Puts an application into its queue and makes its seats; pods that exist already get the seats that are theirs.
    /// `event`: as what it is found.
    pub(in crate::core) fn accept(&mut self, id: AppId, event: AppEvent) {
        let started = event != AppEvent::Accept;
        let path = queue_path_of(&self.books, &self.books.apps[id], started);
        let is_known = self.books.queues.find(&path).is_some();
        // A queue that is not defined comes here only with an application that runs already: its pods are charged to
        // the queue that they name.
        let queue = queue_of(&self.books, id, started).unwrap_or_else(|_| self.books.queues.at(&path));
        let submitter = submitter_of(&self.books, &self.books.apps[id]).cloned();
        let queue = self.books.queues.share(queue, submitter.as_ref());
        self.books.queues.retain(queue);
        let app = &mut self.books.apps[id];
        app.queue = Some(queue);
        let (gang, groups) = (app.gang, app.groups.clone());
        if !started {
            (app.has_lived, app.newest_lived) = (false, None);
            app.succeeded_under.clear();
            let lived = groups.iter().map(|group| self.books.groups[*group].lived);
            app.incarnation = lived.fold(app.incarnation, u32::max).saturating_add(1);
        }
        let incarnation = app.incarnation;
        groups.iter().for_each(|group| self.books.groups[*group].lived = incarnation);
        self.forget_attempts(gang);
        self.books.gangs[gang].failures = 0;
        self.transit(id, event);
        self.keep_only_in(id, queue);
        if !started {
            // Placeholders of an earlier process get their seats below only if the gang is past the gate. Where it
            // really stands is found out after that (`stand_where_left`).
            self.books.enter(gang, Stage::Reserving);
        }
        self.go_on_with_remembered(id);
        for group in groups {
            self.make_seats(group);
        }
        self.stand_where_left(id, started);
        self.books.changes.pass_due = true;
        if !is_known {
            // The queue was made just now, to drain. Applications and pods that were told that it does not exist are
            // looked at again.
            self.books.queue_changed(queue);
        }
    }

    /// A gang that starts, or is accepted, has not waited yet.
    fn forget_attempts(&mut self, id: GangId) {
        let gang = &mut self.books.gangs[id];
        (gang.waits, gang.tried) = (None, None);
    }

    /// Finds out whether an earlier process had let the gang through the gate: it had if seats are held or taken, or
    /// placeholders exist. Placeholders without a node are a weak proof, since anybody may have made them: if
    /// `maxApplications` of the queue has no place for the application, they are given back.
    fn stand_where_left(&mut self, id: AppId, started: bool) {
        let gang = self.books.apps[id].gang;
        let tallies = || self.books.groups_of(gang).map(|group| (group.seats.len(), group.seats.tally()));
        let holds = tallies().any(|(seats, tally)| tally.open < seats);
        if started || holds || tallies().any(|(_, tally)| tally.pending > 0) {
            self.books.line_up_originators(gang);
            if started || holds || self.lacks_place(gang).is_none() {
                self.admit(gang);
            }
            if !started {
                self.books.enter(gang, Stage::Reserving);
                // The nodes of held seats may have changed while no process was watching.
                let held = self.held_seats(gang, |_| true);
                self.loses_seats(held);
            }
        } else {
            self.books.enter(gang, Stage::Gate);
            if self.books.keeps_its_place(id) {
                // It has not left `maxApplications`.
                self.admit(gang);
            }
        }
        self.books.line_up_originators(gang);
    }

    pub(in crate::core) fn make_seats(&mut self, id: GroupId) {
        let count = self.seat_count(id);
        self.books.clear_seats(id);
        let group = &mut self.books.groups[id];
        group.seats = Seats::new(count);
        group.cut = None;
        let mut asks = self.books.sorted_asks(id);
        // Pods whose mark names a seat come before those without, then members before placeholders, then those whose
        // seat still exists before those whose seat does not; equal ones in the order of their names.
        asks.sort_by_key(|ask| {
            let seat = self.marked_seat(*ask);
            (seat.is_none(), self.books.asks[*ask].is_placeholder(), seat >= Some(count))
        });
        for ask in asks {
            self.absorb(ask);
            self.books.line_up(ask);
        }
        self.seat_the_gone(id);
    }

    /// `minMember`. A gang that had started before its spec went wrong has seats for the pods that it has.
    fn seat_count(&self, id: GroupId) -> u32 {
        let group = &self.books.groups[id];
        let spec = group.spec();
        if spec.errors.is_empty() { spec.min_member } else { spec.min_member.min(group.asks.len() as u32) }
    }

    fn marked_seat(&self, ask: AskId) -> Option<u32> {
        self.books.asks[ask].spec.mark.as_ref()?.seat
    }

    /// Starts a gang that is satisfied and has a real pod to run. Any other gang goes on trying.
    fn reserve_or_start(&mut self, id: GangId) {
        let gang = &self.books.gangs[id];
        if gang.groups.is_empty() {
            return gang.apps.clone().into_iter().for_each(|app| self.run_without_groups(app));
        }
        self.seat_those_along(id);
        if self.may_start(id) && !self.takes_misfits_back(id) {
            self.start(id);
        } else if !self.gives_up(id) {
            self.take_turn(id);
            self.note_progress(id);
        }
    }

    /// Renews the reason of a gang where no plan will do it: when every seat has a node.
    fn note_progress(&mut self, id: GangId) {
        if self.lacks_something(id) || !self.books.gangs[id].is_reserving() {
            return;
        }
        let (have, need) = self.progress(id);
        // Before the start members wait for placeholders to go only if an earlier start was called off.
        let leaves = |tally: Tally| tally.leaving + tally.releasing;
        let reason = match self.books.groups_of(id).map(|group| leaves(group.seats.tally())).sum() {
            0 if have == need => Reason::Held,
            0 => Reason::BindingPlaceholders { have, need },
            count => Reason::PlaceholdersLeaving { count },
        };
        self.wait(id, reason);
    }

    /// An application without TaskGroups reserves nothing: its pods are ordinary asks once the queue has admitted it.
    /// If a pod of it runs already, it is admitted in any case.
    fn run_without_groups(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        let (gang, active, pending) = (app.gang, app.active, app.pending);
        if active > 0 {
            self.admit(gang);
            self.transit(id, AppEvent::Run);
            self.books.line_up_originators(gang);
        } else if pending == 0 && !app.asks.is_empty() {
            self.transit(id, AppEvent::Idle);
        } else if app.queue.is_some_and(|queue| self.is_charged_elsewhere(app, queue)) {
            // Another pod came, or a pod names another queue now: the application belongs to another queue, or is
            // somebody else's.
            return self.renew(id);
        }
        self.take_turn(gang);
    }

    /// Whether an application of pods alone belongs into another queue than this one, or to another submitter.
    fn is_charged_elsewhere(&self, app: &App, queue: QueueId) -> bool {
        let queues = &self.books.queues;
        queues[queue].path != queue_path_of(&self.books, app, app.has_started())
            || queues.submitter(queue) != submitter_of(&self.books, app)
    }

    /// Whether every seat is settled, a real pod waits for it, and none that belongs to the start is refused.
    fn may_start(&mut self, id: GangId) -> bool {
        self.has_all(id) && self.lacks_pods(id).is_none()
    }

    /// Whether every seat is settled, members that swap will have room, and somebody comes.
    pub(super) fn has_all(&mut self, id: GangId) -> bool {
        self.is_satisfied(id) && self.somebody_comes(id) && self.swaps_have_room(id)
    }

    fn is_satisfied(&self, id: GangId) -> bool {
        self.books.gangs[id].originators.is_empty() && self.books.groups_of(id).all(Group::is_satisfied)
    }

    /// Whether a real pod of the gang waits or is assumed: without one there is nothing to start.
    pub(super) fn somebody_comes(&self, id: GangId) -> bool {
        let mut apps = self.books.gangs[id].apps.iter().map(|app| &self.books.apps[*app]);
        apps.any(|app| app.living > 0 || app.pending > 0)
    }

    /// Takes back the members, and gives up the seats, whose node somebody else overloaded meanwhile; whether the gang lacks
    /// any of them.
    pub(super) fn takes_misfits_back(&mut self, id: GangId) -> bool {
        let mut found = false;
        for ask in self.held_back(id, |ask| self.may_not_fit(ask)) {
            if !self.still_fits(ask) {
                found |= !self.books.asks[ask].goes_along();
                self.books.unassume(ask);
            }
        }
        let is_overdrawn = |ask: &Ask| ask.node().is_none_or(|node| self.books.nodes.is_overdrawn(node));
        let doubtful = self.held_seats(id, is_overdrawn);
        self.loses_seats(doubtful) || found
    }

    /// The placeholders that hold seats of a gang and that `which` accepts, in the order of their seats.
    fn held_seats(&self, id: GangId, which: impl Fn(&Ask) -> bool) -> Vec<AskId> {
        let held = self.books.groups_of(id).flat_map(|group| group.seats.held()).map(|(_, placeholder)| placeholder);
        held.filter(|placeholder| which(&self.books.asks[*placeholder])).collect()
    }

    /// Gives up those of these seats that no member could take where they are; whether there were any.
    fn loses_seats(&mut self, held: Vec<AskId>) -> bool {
        let mut found = false;
        for placeholder in held {
            if !self.planner.may_stay(&self.books, placeholder) {
                self.books.lose_seat(placeholder);
                found = true;
            }
        }
        found
    }

    /// Whether it takes [`Self::still_fits`] to know that a pod fits. Most pods need no such look, and this test is
    /// cheaper: what others do to a node matters only to host ports, or if the node is overdrawn.
    fn may_not_fit(&self, ask: &Ask) -> bool {
        !ask.spec.shape.ports.is_empty() || ask.node().is_none_or(|node| self.books.nodes.is_overdrawn(node))
    }

    /// The members and originators that have a node and wait for the start, and that `which` accepts, in the order of a
    /// pass.
    fn held_back(&self, id: GangId, which: impl Fn(&Ask) -> bool) -> Vec<AskId> {
        let apps = self.books.gangs[id].apps.iter();
        let asks = apps.flat_map(|app| self.books.app_asks(*app)).map(|id| (id, &self.books.asks[id]));
        let held = asks.filter(|(_, ask)| matches!(ask.state, AskState::Assumed { sent: false, .. }) && which(ask));
        let mut held: Vec<_> = held.map(|(id, ask)| (ask.rank(), id)).collect();
        held.sort_unstable();
        held.into_iter().map(|(_, id)| id).collect()
    }

    /// The gang starts: the members held back are bound, the others swap with their placeholders (01, 1.3, 1.4).
    pub(in crate::core) fn start(&mut self, id: GangId) {
        self.books.take_no_turn(id);
        // All of it has its room.
        self.spend_kept(id);
        self.books.gangs[id].apps.clone().into_iter().for_each(|app| self.transit(app, AppEvent::Run));
        self.admit(id);
        self.forget_attempts(id);
        for ask in self.held_back(id, |ask| !ask.goes_along()) {
            self.books.asks[ask].started_with_gang = self.books.asks[ask].group.is_none();
            self.send(ask);
        }
        self.books.line_up_originators(id);
        for group in self.books.gangs[id].groups.clone() {
            self.books.balance(group);
        }
    }

    /// A running application: members swap with placeholders, and when nothing runs and nothing is pending it waits for
    /// its end.
    fn run_on(&mut self, id: AppId) {
        if self.comes_anew(id) {
            return self.begin_anew(id);
        }
        let gang = self.books.apps[id].gang;
        if self.calls_off_start(gang) {
            return;
        }
        if !self.books.may_call_off_gang(gang) {
            // From now on it has started.
            (self.books.apps[id].unstarted_lives, self.books.gangs[gang].failures) = (0, 0);
            self.send_those_along(id);
        }
        self.give_leftovers_back(id);
        self.fill_kept_outside(id, Reach::Seat);
        for group in self.books.apps[id].groups.clone() {
            self.seat_surplus(group);
            self.fill_kept(group, Reach::Seat);
            self.books.balance(group);
            if self.is_interrupted(group) {
                self.books.changes.pass_due |= self.books.lacking_room.insert(id);
            } else {
                self.replace(group, Reach::Seat);
                self.books.balance(group);
            }
        }
        let app = &mut self.books.apps[id];
        if !app.placed && !app.groups.is_empty() {
            let all = |group: &GroupId| {
                self.books.groups[*group].seats.tally().taken == self.books.groups[*group].seats.len()
            };
            if self.books.apps[id].groups.iter().all(all) && self.originators_are_bound(id) {
                self.books.apps[id].placed = true;
                self.books.show_app(id);
            }
        }
        self.take_round(id);
        let app = &mut self.books.apps[id];
        if app.active == 0 && app.pending > 0 && app.groups.is_empty() {
            // Now that no pod runs, nothing would tell a new process that this application ran. So this process, too,
            // treats the pods that wait as those of a new application (ADR 16).
            self.renew(id);
        } else if app.active == 0 && app.pending == 0 {
            self.transit(id, AppEvent::Idle);
        }
    }

    /// Whether none of its pods outside task groups is being bound.
    fn originators_are_bound(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        app.asks.iter().all(|ask| !matches!(self.books.asks[*ask].state, AskState::Assumed { .. }))
    }

    /// Nothing active, nothing pending: back to Running on a new ask, Completed at the deadline (01, 1.8).
    fn wait_on(&mut self, id: AppId) {
        if self.comes_anew(id) {
            return self.begin_anew(id);
        }
        let app = &self.books.apps[id];
        if app.active > 0 || app.pending > 0 {
            return self.transit(id, AppEvent::Run);
        }
        // What is kept is kept for pods that may still come.
        if app.groups.is_empty() || self.ran_out(id, Deadline::Completion) && !self.books.keeps_seats(id) {
            return self.complete(id);
        }
        self.give_leftovers_back(id);
    }

    /// Leftover placeholders, and what is kept for those that were lost, go with the state change; the application leaves its queue
    /// when the last is gone.
    fn complete(&mut self, id: AppId) {
        self.release_placeholders(id, TerminationType::Timeout);
        self.books.give_up_all_kept(id);
        self.transit(id, AppEvent::Complete);
        self.leave_queue_when_empty(id);
        self.take_up_edits(id);
        self.let_outsiders_in(id);
    }

    /// A new ask under an ended ID is a new incarnation (01, 1.8).
    fn come_again(&mut self, id: AppId) {
        self.leave_queue_when_empty(id);
        let app = &self.books.apps[id];
        match (app.pending > 0 || app.resubmitted, app.queue) {
            (true, None) => self.renew(id),
            (true, Some(_)) => self.await_placeholders_going(id),
            (false, _) if self.books.gang_of(id).waits.is_some() => {
                let gang = app.gang;
                self.books.gangs[gang].waits = None;
                self.books.show_app(id);
            }
            (false, _) => {}
        }
    }

    /// The next life waits until the last placeholder of this one is gone.
    pub(super) fn await_placeholders_going(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        let count = app.groups.iter().map(|group| self.books.groups[*group].members.placeholders).sum();
        self.wait(app.gang, Reason::PlaceholdersLeaving { count });
    }

    pub(super) fn leave_queue_when_empty(&mut self, id: AppId) {
        let groups = &self.books.apps[id].groups;
        if groups.iter().all(|group| self.books.groups[*group].members.placeholders == 0) {
            groups.clone().into_iter().for_each(|group| self.books.clear_seats(group));
            self.books.leave_queue(id);
        }
    }

    /// Releases every placeholder of the application.
    pub(in crate::core) fn release_placeholders(&mut self, id: AppId, why: TerminationType) {
        for group in self.books.apps[id].groups.clone() {
            let (tally, members) = (self.books.groups[group].seats.tally(), self.books.groups[group].members);
            if members.placeholders + members.held_back + tally.creating + tally.assumed == 0 {
                continue;
            }
            self.books.empty_seats(group, why);
            for ask in self.books.sorted_asks(group) {
                if self.books.asks[ask].is_placeholder() {
                    self.books.release(ask, why);
                }
            }
        }
    }
}
