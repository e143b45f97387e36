//! Finds the seats of pods that exist: after a start, and when a pod appears or is bound (01, 1.11).

use crate::core::base::ids::{AppId, AskId, GroupId};
use crate::core::decision::TerminationType;
use crate::core::event::{PlaceholderName, Role};
use crate::core::model::ask::{Ask, AskState};
use crate::core::model::gang::Stage;
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::reason::Loss;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Finds the seat that a pod's own marks or our decision give it. Needs an accepted application; before that the
    /// pod is only charged, and it is looked at again when the application is accepted (`make_seats`).
    pub(in crate::core) fn absorb(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        match &ask.spec.role {
            Role::Placeholder(name) => {
                let name = name.clone();
                self.absorb_placeholder(id, &name);
            }
            Role::Member { .. } => self.absorb_member(id),
            Role::Foreign | Role::Singleton | Role::Originator { .. } => {}
        }
    }

    fn absorb_placeholder(&mut self, id: AskId, name: &PlaceholderName) {
        let Some(group) = self.books.asks[id].group else { return };
        if !self.books.listed.all {
            return;
        }
        if self.is_stray(group, id, name) {
            self.give_up_name(group, name);
            return self.books.release(id, TerminationType::StoppedByRm);
        }
        let Some(seat) = self.books.groups[group].seats.get(name.seat) else { return };
        let ask = &self.books.asks[id];
        let (is_bound, stays) = (matches!(ask.state, AskState::Bound { .. }), self.may_hold(ask));
        match seat.state {
            SeatState::Open(Reserve::Pending(own))
            | SeatState::Binding(own)
            | SeatState::Held(own)
            | SeatState::Leaving(own)
                if own == id =>
            {
                match (stays, is_bound) {
                    (true, true) => self.hold(id, group, name.seat),
                    (true, false) => {}
                    (false, true) => self.books.seat(group, name.seat, SeatState::Leaving(id)),
                    (false, false) => {
                        self.books.vacate(id, SeatState::Open(Reserve::None));
                        if self.books.asks[id].leaving.is_none() {
                            self.books.placeholder_lost(group, name.seat, Loss::Deleted);
                        }
                    }
                }
            }
            SeatState::Releasing { placeholder, .. } if placeholder == id => {}
            SeatState::Open(Reserve::None | Reserve::Creating) if stays && self.is_wanted_now(group, is_bound) => {
                self.adopt(id, group, name);
            }
            SeatState::Open(Reserve::None) if self.is_waited_for(group, id) => {
                self.books.seat(group, name.seat, SeatState::Leaving(id));
            }
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Releasing { .. }
            | SeatState::Freed(_)
            | SeatState::Kept(_)
            | SeatState::Taken(_) => self.refuse_placeholder(id, group, name),
        }
    }

    /// A placeholder is bound and holds its seat. After the start a member may wait for this very seat, so a pass is
    /// due.
    fn hold(&mut self, id: AskId, group: GroupId, number: u32) {
        let app = self.books.groups[group].app;
        self.books.changes.pass_due |= app.is_some_and(|app| self.books.apps[app].has_started());
        self.books.seat(group, number, SeatState::Held(id));
    }

    /// While a stray of this life exists, the next placeholder of its seat needs another name.
    fn give_up_name(&mut self, group: GroupId, name: &PlaceholderName) {
        let entry = &self.books.groups[group];
        let incarnation = entry.app.map(|app| self.books.apps[app].incarnation);
        let is_of_this_life = entry.spec.as_ref().is_some_and(|spec| spec.uid == name.uid);
        if is_of_this_life && incarnation == Some(name.incarnation) && entry.seats.get(name.seat).is_some() {
            self.books.groups[group].seats.next_attempt(name.seat, name.attempt.saturating_add(1));
        }
    }

    /// A pending or bound placeholder of ours takes its open seat.
    fn adopt(&mut self, id: AskId, group: GroupId, name: &PlaceholderName) {
        let Some(seat) = self.books.groups[group].seats.get(name.seat) else { return };
        if seat.state == SeatState::Open(Reserve::Creating) && seat.attempt != name.attempt {
            // This placeholder comes from an earlier creation, which was called off too late. It takes the seat, so the
            // later creation is called off.
            self.books.cancel_creation(group, name.seat);
        }
        let is_bound = matches!(self.books.asks[id].state, AskState::Bound { .. });
        let state = if is_bound { SeatState::Held(id) } else { SeatState::Open(Reserve::Pending(id)) };
        self.books.seat(group, name.seat, state);
        self.books.groups[group].seats.next_attempt(name.seat, name.attempt);
        self.books.changes.pass_due = true;
    }

    /// Releases a placeholder whose seat another pod has, or whose seat is not to be held now.
    fn refuse_placeholder(&mut self, id: AskId, group: GroupId, name: &PlaceholderName) {
        let seat = self.books.groups[group].seats.get(name.seat);
        if seat.is_some_and(|seat| seat.state == SeatState::Open(Reserve::Creating) && seat.attempt <= name.attempt) {
            // This is the very placeholder whose creation was awaited, but it is on its way out already.
            self.books.seat(group, name.seat, SeatState::Open(Reserve::None));
        }
        self.books.groups[group].seats.next_attempt(name.seat, name.attempt.saturating_add(1));
        self.books.release(id, TerminationType::StoppedByRm);
    }

    /// Whether a placeholder can hold a seat: it is not on its way out, and its node exists.
    fn may_hold(&self, ask: &Ask) -> bool {
        let has_node = ask.node().is_none_or(|node| self.books.nodes.spec(node).is_some());
        has_node && !ask.spec.terminating && ask.leaving.is_none() && ask.state != AskState::Finished
    }

    /// Before the gate a gang has no placeholders; after the start only those that hold a node are of use.
    fn is_wanted_now(&self, group: GroupId, is_bound: bool) -> bool {
        let gang = self.books.groups[group].gang.map(|gang| &self.books.gangs[gang]);
        gang.is_some_and(|gang| gang.is_past_gate() && (is_bound || *gang.stage() != Stage::Started))
    }

    /// Whether a gang that reserves lost this placeholder before we began, and it is not gone yet: as for whoever saw it lost,
    /// its seat is open only then. Until then it would take the room from its own successor.
    fn is_waited_for(&self, group: GroupId, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let gang = self.books.groups[group].gang.map(|gang| &self.books.gangs[gang]);
        let reserves = gang.is_some_and(|gang| gang.is_past_gate() && gang.is_before_start());
        reserves && ask.spec.terminating && ask.leaving.is_none() && matches!(ask.state, AskState::Bound { .. })
    }

    /// A placeholder that no seat can want: another incarnation's, a deleted group's, or of a gang that needs none.
    fn is_stray(&self, group: GroupId, id: AskId, name: &PlaceholderName) -> bool {
        let group = &self.books.groups[group];
        let Some((spec, app)) = group.spec.as_ref().zip(group.app) else { return self.books.listed.groups };
        let app = &self.books.apps[app];
        let is_known = app.state() == AppState::Accepted || app.has_started() || app.state() == AppState::Killed;
        let is_wanted = is_known && name.incarnation == app.incarnation && name.seat < group.seats.len();
        // Nothing of an application is thrown away while it is New: it is judged first.
        let is_open = is_wanted || app.state() == AppState::New;
        spec.uid != name.uid || !is_open || self.books.asks[id].state == AskState::Finished
    }

    fn absorb_member(&mut self, id: AskId) {
        let ask = &self.books.asks[id];
        let (Some(group), Some(_)) = (ask.group, ask.app) else { return };
        let has_part = match ask.state {
            AskState::Bound { .. } => !self.books.is_of_an_earlier_life(ask),
            AskState::Finished => self.succeeded_here(ask),
            AskState::Waiting | AskState::Parked { .. } | AskState::Assumed { .. } => false,
        };
        if !has_part {
            return;
        }
        // One that has a seat took it in the moment in which it was confirmed.
        if ask.seat.is_some() {
            return;
        }
        let seats = &self.books.groups[group].seats;
        let Some(seat) = self.seat_it_was_bound_for(ask, group).or_else(|| seats.first_free()) else { return };
        self.clear_for_member(group, seat);
        self.books.seat(group, seat, SeatState::Taken(Some(id)));
    }

    /// The seat for which a member was bound, if no other member has it. A placeholder may hold that seat by now: an
    /// earlier process bound the member, and this process reserved the seat anew before it heard of that.
    fn seat_it_was_bound_for(&self, ask: &Ask, group: GroupId) -> Option<u32> {
        let (mark, group) = (ask.spec.mark.as_ref()?, &self.books.groups[group]);
        let is_of_this_life = mark.incarnation == self.books.apps[group.app?].incarnation;
        mark.seat.filter(|seat| match group.seats.get(*seat).map(|seat| seat.state) {
            Some(SeatState::Open(_) | SeatState::Kept(_)) => true,
            Some(SeatState::Binding(_) | SeatState::Held(_) | SeatState::Leaving(_)) => is_of_this_life,
            Some(SeatState::Assumed(_) | SeatState::Releasing { .. } | SeatState::Freed(_) | SeatState::Taken(_))
            | None => false,
        })
    }

    /// An earlier process had started this gang. Its Binding of a member is seen only now, when this process has begun
    /// to reserve anew or has rejected the gang. The gang goes on as if the Binding had been seen at the restart (01,
    /// 1.11).
    pub(in crate::core) fn take_up_start(&mut self, id: AskId) {
        let Some(app) = self.books.asks[id].app.filter(|_| self.books.listed.all) else { return };
        match self.books.apps[app].state() {
            AppState::Accepted if self.books.started_in(id, self.books.apps[app].incarnation) => {
                self.start_as_found(app)
            }
            AppState::Rejected | AppState::Killed if self.started_after(id, self.books.apps[app].incarnation) => {
                self.renew(app);
            }
            AppState::New
            | AppState::Accepted
            | AppState::Resuming
            | AppState::Running
            | AppState::Waiting
            | AppState::Rejected
            | AppState::Completed
            | AppState::Killed => {}
        }
    }

    fn start_as_found(&mut self, app: AppId) {
        for group in self.books.apps[app].groups.clone() {
            let seats = &self.books.groups[group].seats;
            let pending = seats.open_with_placeholder().map(|(seat, _)| seat);
            let unused: Vec<_> = seats.open_creating().chain(pending).collect();
            unused.into_iter().for_each(|seat| self.clear_for_member(group, seat));
        }
        let gang = self.books.apps[app].gang;
        self.takes_misfits_back(gang);
        self.books.apps[app].has_lived = true;
        self.start(gang);
    }

    /// Gives open and kept seats to members that run or have succeeded and have no seat, because more members than seats
    /// were placed. A process that starts now would do the same (01, 1.11).
    pub(in crate::core) fn seat_surplus(&mut self, id: GroupId) {
        let tally = self.books.groups[id].seats.tally();
        if tally.open + tally.kept == 0 || self.had_a_seat(id) <= tally.taken {
            return;
        }
        for ask in self.books.sorted_asks(id) {
            if self.books.asks[ask].seat.is_none() && !self.books.asks[ask].is_placeholder() {
                self.absorb_member(ask);
            }
        }
        self.seat_the_gone(id);
    }

    /// How many members have or had a node in this life, but for those that failed. Those of an earlier one are about to go.
    fn had_a_seat(&self, id: GroupId) -> u32 {
        let group = &self.books.groups[id];
        let some_go = group.app.is_some_and(|app| self.books.apps[app].active > self.books.apps[app].living);
        let is_old = |ask: &&AskId| {
            let ask = &self.books.asks[**ask];
            matches!(ask.state, AskState::Bound { .. })
                && !ask.is_placeholder()
                && self.books.is_of_an_earlier_life(ask)
        };
        let old = if some_go { group.asks.iter().filter(is_old).count() as u32 } else { 0 };
        group.had_a_seat().saturating_sub(old)
    }

    /// Members that succeeded and are gone have seats as well, so that no other member takes these. Of a process that was
    /// not there when they went, status tells how many there were.
    pub(in crate::core) fn seat_the_gone(&mut self, id: GroupId) {
        let group = &self.books.groups[id];
        let gone = self.had_a_seat(id).saturating_sub(group.seats.tally().taken);
        for _ in 0..gone.min(group.ended.have_done_their_work()) {
            let Some(seat) = self.books.groups[id].seats.first_free() else { return };
            self.clear_for_member(id, seat);
            self.books.seat(id, seat, SeatState::Taken(None));
        }
    }

    /// A member takes a seat: the placeholder that holds it, or was to hold it, is not wanted any more.
    pub(in crate::core) fn clear_for_member(&mut self, group: GroupId, seat: u32) {
        match self.books.groups[group].seats.get(seat).map(|seat| seat.state) {
            Some(
                SeatState::Open(Reserve::Pending(placeholder))
                | SeatState::Binding(placeholder)
                | SeatState::Held(placeholder),
            ) => {
                self.books.give_back(placeholder, TerminationType::PlaceholderReplaced);
            }
            Some(SeatState::Open(Reserve::Creating)) => self.books.cancel_creation(group, seat),
            Some(SeatState::Kept(kept)) => self.books.give_up_kept(kept),
            Some(
                SeatState::Open(Reserve::None)
                | SeatState::Assumed(_)
                | SeatState::Leaving(_)
                | SeatState::Releasing { .. }
                | SeatState::Freed(_)
                | SeatState::Taken(_),
            )
            | None => {}
        }
    }

    /// Whether a finished member succeeded in this incarnation: it keeps its seat.
    fn succeeded_here(&self, ask: &Ask) -> bool {
        ask.has_succeeded() && self.books.is_of_this_life(ask)
    }
}
