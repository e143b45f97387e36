//! The gate: whether the whole of a gang fits its queue now, and what happens on either side of it (01, 1.2.5).

use crate::core::base::ids::GangId;
use crate::core::base::resources::Totals;
use crate::core::decision::TerminationType;
use crate::core::event::{PlaceholderFor, Reservation};
use crate::core::model::gang::{SETTLE_AT_MOST_MS, SETTLE_MS, Stage};
use crate::core::model::queue::Ahead;
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// One turn of a gang in a pass. Returns how many pods it placed.
    pub(in crate::core) fn try_gang(&mut self, id: GangId, ahead: &mut Ahead) -> u32 {
        if self.books.gangs[id].groups.is_empty() {
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
            if !self.books.gangs[id].originators.is_empty() {
                // An originator may have come with which the ask is larger than the queue can ever hold.
                self.judge_gang_again(id);
            }
            return 0;
        }
        self.open_gate(id);
        if self.is_blocked(id) {
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

    fn judge_gang_again(&mut self, id: GangId) {
        self.books.gangs[id].apps.clone().into_iter().for_each(|app| self.judge_again(app));
    }

    /// A gang past the gate is blocked by nodes: what it needs is charged virtually, for the rest of this pass (01,
    /// 1.2.5).
    fn stay_blocked(&self, id: GangId, need: &Totals, ahead: &mut Ahead) -> u32 {
        if let Some(queue) = self.books.queue_of(id).filter(|_| self.books.gangs[id].is_past_gate()) {
            ahead.charge(&self.books.queues, queue, need);
        }
        0
    }

    /// Direct: the members themselves must exist before anything is asked of the queue.
    pub(in crate::core) fn lacks_members(&self, id: GangId) -> Option<Reason> {
        self.books.groups_of(id).find_map(|group| {
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
    fn open_ask(&self, id: GangId) -> Totals {
        let gang = &self.books.gangs[id];
        if let Some(ask) = &gang.real_ask {
            return ask.clone();
        }
        let mut ask = Totals::default();
        for group in self.books.groups_of(id) {
            ask.add(&group.spec().min_resource, group.seats.tally().open);
        }
        for (_, originator) in &gang.originators {
            ask.add(self.books.request(*originator), 1);
        }
        ask
    }

    fn at_gate(&self, id: GangId, ahead: &Ahead, need: &Totals) -> Option<Reason> {
        let queue = self.books.queue_of(id)?;
        if let Some(refused) = self.books.queues.refuses(queue, ahead, need) {
            return Some(Reason::WaitingForQuota(refused));
        }
        self.lacks_place(id)
    }

    /// Whether `maxApplications` of the queue leaves no place for an application of the gang.
    pub(super) fn lacks_place(&self, id: GangId) -> Option<Reason> {
        let apps = self.books.gangs[id].apps.iter().map(|app| &self.books.apps[*app]);
        let mut outside = apps.filter(|app| !app.admitted);
        let (queue, max) = outside.find_map(|app| self.books.queues.full_of_applications(app.queue?))?;
        Some(Reason::WaitingForApplications { queue, max })
    }

    /// An application without TaskGroups reserves nothing: once there is a place for it among those of its queue, its
    /// pods are ordinary asks.
    fn let_in(&mut self, id: GangId) {
        if let Some(reason) = self.lacks_place(id) {
            return self.wait(id, reason);
        }
        self.admit(id);
        self.books.gangs[id].waits = None;
        self.books.changes.asks.extend(self.books.originators_of(id));
        self.books.line_up_originators(id);
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
            self.books.begin_reserving(id);
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
    pub(super) fn close_gate_for(&mut self, id: GangId, reason: Reason) {
        let tallies = self.books.groups_of(id).map(|group| group.seats.tally());
        if tallies.map(|tally| tally.creating + tally.pending).sum::<u32>() > 0 {
            return self.fall_back(id, reason);
        }
        if *self.books.gangs[id].stage() != Stage::Gate {
            self.abandon(id, TerminationType::StoppedByRm);
        }
        // When the gang passes the gate again, it is planned again and says what it waits for then.
        self.books.gangs[id].blocked = None;
        self.wait(id, reason);
    }

    /// Back before the gate.
    pub(in crate::core) fn close_gate(&mut self, id: GangId) {
        self.books.gangs[id].apps.clone().into_iter().for_each(|app| self.books.dismiss(app));
        self.books.enter(id, Stage::Gate);
        self.books.line_up_originators(id);
    }
}
