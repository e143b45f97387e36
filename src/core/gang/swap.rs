//! The end of a swap: the placeholder is gone, and its member has the node and is bound (01, 1.4); unless the start of its gang
//! comes to nothing before any member was bound (ADR 25).

use std::collections::BTreeSet;

use crate::core::base::ids::{AskId, GangId, NodeId};
use crate::core::model::ask::AskState;
use crate::core::model::due::Verdict;
use crate::core::model::gang::Stage;
use crate::core::model::lifecycle::AppEvent;
use crate::core::model::seat::SeatState;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Parked members whose placeholders are gone get their nodes: in one update of application, queue and node, before
    /// anything else is placed (01, 1.4). Returns those that have one, for [`Self::bind_swapped`].
    pub(super) fn finish_swaps(&mut self) -> Vec<AskId> {
        let freed = std::mem::take(&mut self.books.due.freed);
        let mut members = self.books.by_name(freed);
        members.retain(|member| {
            let ask = &self.books.asks[*member];
            let seat = ask.group.zip(ask.seat).and_then(|(group, seat)| self.books.groups[group].seats.get(seat));
            seat.is_some_and(|seat| seat.state == SeatState::Freed(*member))
        });
        // First those that go where they were to go: who must look for another node may not take theirs.
        let mut seated = Vec::new();
        members.retain(|member| match self.planner.place_of_swap(&self.books, *member) {
            Some(node) => {
                self.finish_swap(*member, Some(node), &mut seated);
                false
            }
            None => true,
        });
        for member in members {
            let node = self.planner.other_place_of_swap(&self.books, member);
            self.finish_swap(member, node, &mut seated);
        }
        seated
    }

    fn finish_swap(&mut self, member: AskId, node: Option<NodeId>, seated: &mut Vec<AskId>) {
        let queue = self.books.asks[member].app.and_then(|app| self.books.apps[app].queue);
        let place = node.zip(queue);
        self.books.hand_over(member, place);
        if place.is_some() {
            seated.push(member);
        } else {
            self.books.line_up(member);
        }
    }

    /// Decides the Bindings of members that swapped, once all that is known of nodes is heeded: they are the next to leave.
    /// Members of a gang that has not started, or whose start is called off now, keep their nodes until it starts.
    pub(super) fn bind_swapped(&mut self, mut seated: Vec<AskId>) {
        seated.retain(|id| {
            self.books.asks.get(*id).is_some_and(|ask| matches!(ask.state, AskState::Assumed { sent: false, .. }))
        });
        let gangs: BTreeSet<GangId> = seated.iter().filter_map(|member| self.gang_of_member(*member)).collect();
        for gang in gangs {
            self.calls_off_start(gang);
        }
        for member in seated {
            let gang = self.gang_of_member(member);
            if gang.is_some_and(|gang| *self.books.gangs[gang].stage() == Stage::Started) {
                self.send_next(member);
            }
        }
    }

    /// Whether each member of a gang that waits for its placeholder to go will have room then, as far as is known.
    pub(super) fn swaps_have_room(&mut self, id: GangId) -> bool {
        let groups = self.books.groups_of(id).filter(|group| group.seats.tally().releasing > 0);
        let seats = groups.flat_map(|group| group.seats.iter());
        let swaps = seats.filter_map(|(_, seat)| match seat.state {
            SeatState::Releasing { placeholder, member } => Some((placeholder, member)),
            SeatState::Open(_)
            | SeatState::Assumed(_)
            | SeatState::Binding(_)
            | SeatState::Held(_)
            | SeatState::Leaving(_)
            | SeatState::Freed(_)
            | SeatState::Kept(_)
            | SeatState::Taken(_) => None,
        });
        let swaps: Vec<_> = swaps.collect();
        swaps.into_iter().all(|(placeholder, member)| self.planner.swap_has_room(&self.books, placeholder, member))
    }

    fn gang_of_member(&self, id: AskId) -> Option<GangId> {
        self.books.groups[self.books.asks[id].group?].gang
    }

    /// Calls off the start of a gang of which nothing is bound or being bound yet, if a seat of it was lost, or if nobody comes
    /// any more: its seats are planned again, all or none (01, 1.3 "No hold and wait"). Members go on waiting for the
    /// placeholders that are being deleted for them. Returns whether it was called off.
    pub(super) fn calls_off_start(&mut self, id: GangId) -> bool {
        if !self.books.may_call_off_gang(id) || !self.takes_misfits_back(id) && self.has_all(id) {
            return false;
        }
        for app in self.books.gangs[id].apps.clone() {
            self.transit(app, AppEvent::CallOff);
        }
        self.books.enter(id, Stage::Reserving);
        for group in self.books.gangs[id].groups.clone() {
            self.books.open_kept_seats(group);
            self.books.sorted_asks(group).into_iter().for_each(|ask| self.books.line_up(ask));
        }
        self.books.line_up_originators(id);
        self.books.changes.pass_due = true;
        self.heed_what_waited(id);
        true
    }

    /// What changes nothing for a gang that has started is heeded now: specs that were edited, and what limits it.
    fn heed_what_waited(&mut self, id: GangId) {
        for group in self.books.gangs[id].groups.clone() {
            if let Some(spec) = self.books.groups[group].edited.take() {
                self.books.resubmit(group, *spec);
            }
        }
        for app in self.books.gangs[id].apps.clone() {
            let is_whole = self.missing_groups(app).is_empty() && self.group_to_edit(app).is_none();
            self.books.due.judge(app, if is_whole { Verdict::InDoubt } else { Verdict::Incomplete });
        }
    }
}
