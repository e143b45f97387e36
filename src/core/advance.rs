//! Moves an application on as far as the facts allow without competing for capacity.

use super::application::Stage;
use super::ask::{AskState, Shelf};
use super::decision::{Decision, TerminationType};
use super::event::Place;
use super::ids::{AppId, AskId, GroupId};
use super::judge::{queue_of, usable_queue};
use super::lifecycle::{AppEvent, AppState};
use super::queue::DEFAULT_QUEUE;
use super::reason::Reason;
use super::scheduler::Scheduler;
use super::seat::{SeatState, Seats};

impl Scheduler {
    /// Looks at one application.
    pub(super) fn advance(&mut self, id: AppId) {
        let Some(app) = self.books.apps.get(id) else { return };
        match app.state {
            AppState::New => self.judge(id),
            AppState::Accepted => self.reserve_or_start(id),
            AppState::Running => self.run_on(id),
            AppState::Waiting => self.wait_on(id),
            AppState::Completed => self.come_again(id),
            AppState::Rejected => {}
        }
    }

    /// Takes an event of the state machine; the one function that sets a state (a renewal apart).
    pub(super) fn transit(&mut self, id: AppId, event: AppEvent) {
        let app = &mut self.books.apps[id];
        if let Some(next) = app.state.next(event) {
            app.state = next;
            self.show_app(id);
            self.dirty.insert(id);
        }
    }

    /// A gang that the cluster shows to have started, or to have ended, is not judged again (01, 1.11).
    pub(super) fn recovers(&mut self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        if app.groups.is_empty() {
            return false;
        }
        let specs = || app.groups.iter().map(|group| self.books.groups[*group].spec());
        let remembered = specs().map(|spec| spec.remembered.incarnation).max().unwrap_or(0);
        let shown = self.incarnation_of_pods(id);
        let incarnation = remembered.max(shown).max(app.incarnation);
        // What status says counts only for the incarnation that it is about.
        let is_current = incarnation == remembered && app.incarnation <= remembered;
        let completed = is_current && specs().any(|spec| spec.remembered.completed);
        let placed = is_current && specs().any(|spec| spec.remembered.placed);
        let started = placed || self.has_started_pods(id, incarnation);
        if completed && !started_anew(shown, remembered) {
            self.books.apps[id].incarnation = incarnation;
            self.forget_remembered(id);
            self.transit(id, AppEvent::Complete);
            return true;
        }
        if started && incarnation > app.incarnation {
            self.books.apps[id].incarnation = incarnation;
            self.books.apps[id].placed = placed;
            self.accept(id, true);
            return true;
        }
        // The same life goes on where it had not started; its placeholders keep their names.
        if incarnation > app.incarnation {
            self.books.apps[id].incarnation = incarnation - 1;
        }
        self.forget_remembered(id);
        false
    }

    /// Status is read once: afterwards this process knows better.
    fn forget_remembered(&mut self, id: AppId) {
        for group in self.books.apps[id].groups.clone() {
            if let Some(spec) = &mut self.books.groups[group].spec {
                spec.remembered = Default::default();
            }
        }
    }

    /// The latest incarnation that pods of the application bear.
    fn incarnation_of_pods(&self, id: AppId) -> u32 {
        self.app_asks(id).filter_map(|ask| self.borne_incarnation(ask)).max().unwrap_or(0)
    }

    fn borne_incarnation(&self, ask: AskId) -> Option<u32> {
        use super::event::Role;
        let ask = &self.books.asks[ask];
        let uids = |uid| self.is_uid_of(ask.app, uid);
        match (&ask.spec.role, &ask.spec.mark) {
            (Role::Placeholder(name), _) if uids(&name.uid) => Some(name.incarnation),
            (_, Some(mark)) if mark.group.as_ref().is_some_and(uids) => Some(mark.incarnation),
            _ => None,
        }
    }

    fn is_uid_of(&self, app: Option<AppId>, uid: &super::ids::Uid) -> bool {
        app.and_then(|app| self.books.apps.get(app))
            .is_some_and(|app| app.groups.iter().any(|group| self.books.groups[*group].spec().uid == *uid))
    }

    fn has_started_pods(&self, id: AppId, incarnation: u32) -> bool {
        self.app_asks(id).any(|ask| {
            let mark = self.books.asks[ask].spec.mark.as_ref();
            mark.is_some_and(|mark| mark.started && mark.incarnation == incarnation)
                && self.borne_incarnation(ask).is_some()
        })
    }

    /// All pods of an application, in no order.
    fn app_asks(&self, id: AppId) -> impl Iterator<Item = AskId> {
        let app = &self.books.apps[id];
        let of_groups = app.groups.iter().flat_map(|group| self.books.groups[*group].asks.iter());
        app.asks.iter().chain(of_groups).copied()
    }

    /// In its queue, with its seats; what exists already is found its seat.
    pub(super) fn accept(&mut self, id: AppId, started: bool) {
        let queue = queue_of(&self.books, id).unwrap_or_else(|_| {
            // Only for what runs already: it is charged where it says.
            let group = self.books.apps[id].groups.first().map(|group| self.books.groups[*group].spec().queue.clone());
            self.books.queues.at(group.as_deref().unwrap_or(DEFAULT_QUEUE))
        });
        self.books.queues.retain(queue);
        self.shown_queues.insert(queue);
        let app = &mut self.books.apps[id];
        (app.queue, app.stage, app.waits, app.failures) = (Some(queue), Stage::Gate, None, 0);
        if !started {
            app.incarnation += 1;
            app.placed = false;
        }
        let groups = app.groups.clone();
        self.transit(id, if started { AppEvent::Run } else { AppEvent::Accept });
        if started {
            self.admit(id);
        }
        self.load_deadline(id);
        for group in groups {
            self.make_seats(group);
        }
        for ask in self.books.apps[id].asks.clone() {
            self.reshelve(ask);
        }
        self.stirred = true;
    }

    fn make_seats(&mut self, id: GroupId) {
        let group = &mut self.books.groups[id];
        group.seats = Seats::new(group.spec().min_member);
        (group.replaced, group.shown) = (0, None);
        let asks = self.sorted_asks(id);
        for ask in &asks {
            self.books.asks[*ask].seat = None;
        }
        // Marked seats first, then the rest in the order of names.
        let (marked, rest): (Vec<_>, Vec<_>) = asks
            .iter()
            .copied()
            .partition(|ask| self.books.asks[*ask].spec.mark.as_ref().is_some_and(|m| m.seat.is_some()));
        for ask in marked.into_iter().chain(rest) {
            self.absorb(ask);
            self.reshelve(ask);
        }
    }

    /// Satisfied, with somebody to run: the start. Otherwise the gang goes on contending.
    fn reserve_or_start(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        if app.groups.is_empty() {
            self.run_without_groups(id);
        } else if self.is_satisfied(id) && self.somebody_comes(id) {
            self.start(id);
        } else {
            self.contend_again(id);
            self.note_progress(id);
        }
    }

    /// Every seat has a node: says how far the binding of the placeholders is.
    fn note_progress(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        if app.contends.is_none() && app.stage == Stage::Reserve {
            let (have, need) = self.progress(id);
            let reason = if have == need { Reason::Held } else { Reason::BindingPlaceholders { have, need } };
            self.wait(id, reason);
        }
    }

    /// An application without TaskGroups is its pods: nothing to reserve.
    fn run_without_groups(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        let (active, pending) = (app.active, app.pending);
        if active > 0 {
            self.transit(id, AppEvent::Run);
        } else if pending == 0 && !app.asks.is_empty() {
            self.transit(id, AppEvent::Idle);
        }
    }

    fn is_satisfied(&self, id: AppId) -> bool {
        let groups = &self.books.apps[id].groups;
        groups.iter().all(|group| {
            let group = &self.books.groups[*group];
            let tally = group.seats.tally();
            tally.open == 0
                && (tally.assumed == 0
                    || group.seats.iter().all(|(_, seat)| match seat.state {
                        SeatState::Assumed(ask) => !self.books.asks[ask].is_placeholder(),
                        SeatState::Open(_) | SeatState::Held(_) | SeatState::Releasing { .. } | SeatState::Taken(_) => {
                            true
                        }
                    }))
        })
    }

    /// Whether a real pod of the application waits or is assumed: without one there is nothing to start.
    fn somebody_comes(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        app.active > 0 || app.pending > 0
    }

    /// The gang starts: the members held back are bound, the others swap with their placeholders (01, 1.3, 1.4).
    fn start(&mut self, id: AppId) {
        self.leave_contest(id);
        self.transit(id, AppEvent::Run);
        let app = &mut self.books.apps[id];
        (app.waits, app.failures) = (None, 0);
        let mut asks: Vec<_> = (self.app_asks(id))
            .filter(|ask| matches!(self.books.asks[*ask].state, AskState::Assumed { sent: false, .. }))
            .map(|ask| (self.books.asks[ask].rank(false), ask))
            .collect();
        asks.sort_unstable();
        asks.into_iter().for_each(|(_, ask)| self.send(ask));
        for ask in self.books.apps[id].asks.clone() {
            self.reshelve(ask);
        }
        for group in self.books.apps[id].groups.clone() {
            self.balance(group);
        }
    }

    /// Decides the Binding of an assumed ask.
    pub(super) fn send(&mut self, ask: AskId) {
        let entry = &self.books.asks[ask];
        let (Some(node), Some(queue)) = (entry.node(), entry.charge.as_ref().and_then(|charge| charge.queue)) else {
            return;
        };
        let mark = self.mark(ask, queue, entry.seat, !entry.is_placeholder());
        self.books.change(ask, |ask| ask.state = AskState::Assumed { node, sent: true });
        self.shown_queues.insert(queue);
        self.decide(Decision::Allocate { ask, node, mark });
    }

    /// A running application: swaps, and its end.
    fn run_on(&mut self, id: AppId) {
        for group in self.books.apps[id].groups.clone() {
            self.balance(group);
            self.replace(group);
        }
        let app = &mut self.books.apps[id];
        if !app.placed && !app.groups.is_empty() {
            let all = |group: &GroupId| {
                self.books.groups[*group].seats.tally().taken == self.books.groups[*group].seats.len()
            };
            if self.books.apps[id].groups.iter().all(all) && self.all_taken_are_bound(id) {
                self.books.apps[id].placed = true;
                self.show_app(id);
            }
        }
        let app = &self.books.apps[id];
        if app.active == 0 && app.pending == 0 {
            self.transit(id, AppEvent::Idle);
        }
    }

    fn all_taken_are_bound(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        app.asks.iter().all(|ask| !matches!(self.books.asks[*ask].state, AskState::Assumed { .. }))
    }

    /// Nothing active, nothing pending: back to Running on a new ask, Completed at the deadline (01, 1.8).
    fn wait_on(&mut self, id: AppId) {
        let app = &self.books.apps[id];
        if app.active > 0 || app.pending > 0 {
            self.books.apps[id].completes = None;
            return self.transit(id, AppEvent::Run);
        }
        if app.groups.is_empty() {
            return self.complete(id);
        }
        let timeout = self.books.groups[app.groups[0]].spec().completion_timeout_ms;
        let deadline = app.completes.unwrap_or_else(|| (self.now.mono.after(timeout), self.now.wall.after(timeout)));
        if deadline.0 <= self.now.mono {
            return self.complete(id);
        }
        if self.books.apps[id].completes.replace(deadline).is_none() {
            self.show_app(id);
        }
        self.set_timer(id, deadline.0);
    }

    /// A deadline that status remembers goes on across a restart.
    fn load_deadline(&mut self, id: AppId) {
        let first = self.books.apps[id].groups.first().map(|group| self.books.groups[*group].spec());
        let deadline = first.and_then(|spec| Some((spec.remembered.completion_deadline?, spec.completion_timeout_ms)));
        self.books.apps[id].completes = deadline.map(|(wall, timeout)| (self.now.due(wall, timeout), wall));
        self.forget_remembered(id);
    }

    /// Leftover placeholders go with the state change; the application leaves its queue when the last is gone.
    fn complete(&mut self, id: AppId) {
        self.release_placeholders(id, TerminationType::Timeout);
        self.transit(id, AppEvent::Complete);
        self.books.apps[id].completes = None;
        self.leave_queue_when_empty(id);
    }

    /// A new ask under an ended ID is a new incarnation (01, 1.8).
    fn come_again(&mut self, id: AppId) {
        self.leave_queue_when_empty(id);
        if self.books.apps[id].pending > 0 && self.books.apps[id].queue.is_none() {
            self.renew(id);
        }
    }

    fn leave_queue_when_empty(&mut self, id: AppId) {
        let groups = &self.books.apps[id].groups;
        if groups.iter().all(|group| self.books.groups[*group].members.placeholders == 0) {
            for group in groups.clone() {
                self.books.replace_seats(group, Seats::default());
            }
            self.leave_queue(id);
        }
    }

    /// Releases every placeholder of the application.
    pub(super) fn release_placeholders(&mut self, id: AppId, why: TerminationType) {
        for group in self.books.apps[id].groups.clone() {
            self.empty_seats(group, why);
            for ask in self.sorted_asks(group) {
                if self.books.asks[ask].is_placeholder() {
                    self.release(ask, why);
                }
            }
        }
    }

    /// Puts a waiting pod where it belongs now.
    pub(super) fn reshelve(&mut self, id: AskId) {
        let shelf = self.shelf_of(id);
        let urgent = self.is_urgent(id);
        let changed = self.books.asks[id].shelf != shelf;
        self.books.shelve(id, shelf, urgent);
        if changed && shelf != Shelf::Off {
            self.stirred = true;
        }
    }

    fn shelf_of(&mut self, id: AskId) -> Shelf {
        let ask = &self.books.asks[id];
        let cooling = ask.refused.as_ref().is_some_and(|(_, until)| *until > self.now.mono);
        let (Some(class), true, false) = (ask.class, ask.is_pending() && !ask.is_placeholder(), cooling) else {
            return Shelf::Off;
        };
        match (ask.app, ask.group) {
            (None, None) if ask.spec.place == Place::Pending => self.shelf_of_single(id, class),
            (Some(app), group) => self.shelf_in_app(app, group, class),
            (None, _) => Shelf::Off,
        }
    }

    fn shelf_of_single(&mut self, id: AskId, class: super::ids::ClassId) -> Shelf {
        use super::event::Role;
        let ask = &self.books.asks[id];
        if ask.spec.role != Role::Singleton {
            return Shelf::Off;
        }
        let path = ask.spec.queue.clone().unwrap_or_else(|| DEFAULT_QUEUE.into());
        match usable_queue(&self.books, &path) {
            Ok(queue) => {
                self.forget_queueless(id);
                Shelf::Ordinary(queue, class)
            }
            Err(_) => {
                self.queueless.entry(path).or_default().insert(id);
                Shelf::Off
            }
        }
    }

    fn shelf_in_app(&self, app: AppId, group: Option<GroupId>, class: super::ids::ClassId) -> Shelf {
        let entry = &self.books.apps[app];
        let ordinary = entry.queue.map_or(Shelf::Off, |queue| Shelf::Ordinary(queue, class));
        match (entry.state, group) {
            (AppState::Running | AppState::Waiting, None) => ordinary,
            (AppState::Accepted, None) if entry.groups.is_empty() => ordinary,
            (_, None) => Shelf::Originator(app),
            (AppState::Running | AppState::Waiting, Some(group)) => {
                let group_entry = &self.books.groups[group];
                let seated = group_entry.waiting.len() < group_entry.seats.tally().held as usize;
                if seated { Shelf::Seat(group) } else { ordinary }
            }
            (_, Some(group)) => Shelf::Seat(group),
        }
    }

    /// Members of a gang that was interrupted in its start, or lost members before it was complete, go first.
    fn is_urgent(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let Some((app, group)) = ask.app.zip(ask.group) else { return false };
        let app = &self.books.apps[app];
        app.state == AppState::Running && !app.placed && self.books.groups[group].seats.tally().open > 0
    }

    /// After the start: as many waiting members as there are held seats wait for a swap, the others are ordinary asks.
    pub(super) fn balance(&mut self, id: GroupId) {
        loop {
            let group = &self.books.groups[id];
            let (held, waiting) = (group.seats.tally().held as usize, group.waiting.len());
            let moved = if waiting > held {
                group.waiting.last().map(|(_, ask)| *ask)
            } else if waiting < held {
                group.overflow.first().map(|(_, ask)| *ask)
            } else {
                None
            };
            let Some(ask) = moved else { return };
            self.books.shelve(ask, Shelf::Off, false);
            self.reshelve(ask);
        }
    }
}

/// Pods bear a later incarnation than status: it was written before they came.
fn started_anew(shown: u32, remembered: u32) -> bool {
    shown > remembered
}
