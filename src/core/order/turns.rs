//! Which gangs take a turn in a pass before their start, and in which order (01, 1.2.5).

use std::cmp::Reverse;

use crate::core::base::ids::{GangId, Key};
use crate::core::codes::Code;
use crate::core::model::ask::Rank;
use crate::core::model::gang::{Gang, Stage};
use crate::core::model::queue::QuotaExcess;
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Gives a gang its place among those that try to start, or takes it away: a gang that lacks nothing does not try,
    /// and one that lacks members (Direct) holds nothing until they exist.
    pub(in crate::core) fn take_turn(&mut self, id: GangId) {
        if !self.books.gangs.get(id).is_some_and(Gang::is_before_start) {
            return self.books.take_no_turn(id);
        }
        if !self.back_off_is_over(id) {
            self.books.take_no_turn(id);
            return self.renew_lack_of_pods(id);
        }
        if let Some(reason) = self.lacks_pods(id) {
            self.books.leave_front(id);
            self.books.take_no_turn(id);
            if matches!(reason, Reason::WaitingForMembers { .. }) && self.keeps_what_it_holds(id) {
                // That one is gone has no effect on the others.
                return self.wait(id, reason);
            }
            return self.close_gate_for(id, reason);
        }
        if !self.lacks_something(id) {
            self.books.leave_front(id);
            return self.books.take_no_turn(id);
        }
        let rank = self.gang_rank(id);
        self.stand_in_front(id, &rank);
        let turn = self.books.turn_of(id, rank);
        self.books.set_turn(id, turn);
    }

    /// A gang stands in front of its queue at this place of the order, unless it waits for a limit of its own submitter: that
    /// is nothing which those behind it could leave to it.
    fn stand_in_front(&mut self, id: GangId, rank: &Rank) {
        let gang = &self.books.gangs[id];
        let is_limited = gang.waits.as_ref().is_some_and(|reason| self.is_of_submitter(reason));
        if let (false, false, Some(queue)) = (is_limited, gang.groups.is_empty(), self.books.queue_of(id)) {
            self.books.stand_in_front(id, self.books.queues.leaf(queue), rank);
        }
    }

    /// A gang waits for something else than before: it leaves the front of its queue, or comes back there.
    pub(in crate::core) fn leave_or_stand_in_front(&mut self, id: GangId, before: Option<&Reason>) {
        let gang = &self.books.gangs[id];
        let is_limited = |reason: Option<&Reason>| reason.is_some_and(|reason| self.is_of_submitter(reason));
        match (is_limited(before), is_limited(gang.waits.as_ref())) {
            (false, true) => self.books.leave_front(id),
            (true, false) => {
                if let Some(rank) = gang.turn().filter(|_| gang.is_before_start()).map(|turn| turn.rank().clone()) {
                    self.stand_in_front(id, &rank);
                }
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Whether what a gang waits for is a limit of a user or group.
    fn is_of_submitter(&self, reason: &Reason) -> bool {
        let (Reason::WaitingForQuota(QuotaExcess { queue, .. }) | Reason::WaitingForApplications { queue, .. }) =
            reason
        else {
            return false;
        };
        self.books.queues.is_limit(queue)
    }

    /// While a gang pauses, pods that it lacked may come, or others go.
    fn renew_lack_of_pods(&mut self, id: GangId) {
        let lacked = match self.books.gangs[id].waits.as_ref().map(Reason::code) {
            Some(code) => matches!(code, Code::WaitingForFirstPod | Code::MembersRefused | Code::WaitingForMembers),
            None => false,
        };
        match self.lacks_pods(id) {
            Some(reason) => {
                self.books.leave_front(id);
                self.wait(id, reason);
            }
            None if lacked => self.wait(id, Reason::Pausing),
            None => {}
        }
    }

    fn back_off_is_over(&mut self, id: GangId) -> bool {
        let Stage::BackOff { until } = *self.books.gangs[id].stage() else { return true };
        if until > self.books.now.mono {
            return false;
        }
        self.books.enter(id, Stage::Gate);
        true
    }

    /// Whether a seat is open, or an originator that starts with the gang has no node.
    pub(in crate::core) fn lacks_something(&self, id: GangId) -> bool {
        !self.books.gangs[id].originators.is_empty()
            || self.books.groups_of(id).any(|group| group.seats.tally().open > 0)
    }

    /// Priority of its first waiting pod, submission, name.
    fn gang_rank(&self, id: GangId) -> Rank {
        let gang = &self.books.gangs[id];
        let groups = || self.books.groups_of(id);
        let of_members = groups().filter_map(|group| group.waiting.first().map(|(rank, _)| rank.priority.0));
        // The placeholders of one group have the same priority.
        let placeholders = groups().filter_map(|group| group.seats.open_with_placeholder().next());
        let of_placeholders = placeholders.map(|(_, ask)| self.books.asks[ask].spec.priority);
        let originator = gang.originators.first().map(|(rank, _)| rank);
        let of_originators = originator.map(|rank| rank.priority.0);
        Rank {
            priority: Reverse(of_members.chain(of_placeholders).chain(of_originators).max().unwrap_or(0)),
            created: (groups().map(|group| group.spec().created).min())
                .unwrap_or_else(|| originator.map_or(0, |rank| rank.created)),
            key: self.gang_key(id),
        }
    }

    /// Names a gang: the first of its applications.
    pub(in crate::core) fn gang_key(&self, id: GangId) -> Key {
        let app = self.books.gangs[id].apps.first().expect("a gang has an application");
        self.books.apps[*app].key.clone()
    }
}
