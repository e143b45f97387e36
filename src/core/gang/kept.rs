//! Kept seats find their next member, or another node (01, 1.5).

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, KeptId, NodeId, QueueId};
use crate::core::base::resources::Resources;
use crate::core::gang::replace::{Reach, excess_refused};
use crate::core::model::ask::{Charge, Rank, WaitsFor};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Members that wait take the kept seats of their group, in the order of a pass: where they are, or, with
    /// [`Reach::Beyond`], wherever there is room with the kept seat given back. Not those that start together: their round takes what is kept for it.
    pub(in crate::core) fn fill_kept(&mut self, id: GroupId, reach: Reach) {
        let group = &self.books.groups[id];
        if group.seats.tally().kept == 0 || self.books.starts_in_rounds(group) {
            return;
        }
        let members: Vec<_> = self.books.groups[id].without_node().map(|(_, ask)| *ask).collect();
        let kept: Vec<_> = self.books.groups[id].seats.kept().map(|(_, kept)| kept).collect();
        self.take_kept_seats(members, kept, (self.books.groups[id].app, reach));
    }

    /// The same for pods outside task groups.
    pub(in crate::core) fn fill_kept_outside(&mut self, id: AppId, reach: Reach) {
        if self.books.apps[id].kept.is_empty() {
            return;
        }
        let waiting = self.books.apps[id].asks.iter().filter(|ask| self.books.asks[**ask].is_pending());
        let mut waiting: Vec<_> = waiting.map(|ask| (self.books.asks[*ask].rank(), *ask)).collect();
        waiting.sort_unstable();
        let kept = self.in_order(self.books.apps[id].kept.iter().copied());
        self.take_kept_seats(waiting.into_iter().map(|(_, ask)| ask).collect(), kept, (Some(id), reach));
    }

    /// Each of these pods takes one of these seats, if one suits it. What suited none of a class suits no other of it.
    fn take_kept_seats(&mut self, pods: Vec<AskId>, mut kept: Vec<KeptId>, (app, reach): (Option<AppId>, Reach)) {
        let mut vain = BTreeSet::new();
        for pod in pods {
            if kept.is_empty() {
                return;
            }
            let ask = &self.books.asks[pod];
            let class = ask.class;
            // Who stands in no line was refused just now, or is given up.
            if ask.waits_for == WaitsFor::Nothing || vain.contains(&class) {
                continue;
            }
            if let Some(taken) = self.take_kept(pod, &kept, reach) {
                kept.retain(|kept| *kept != taken);
                continue;
            }
            vain.insert(class);
            // They try again with each pass.
            let is_new = app.is_some_and(|app| self.books.lacking_room.insert(app));
            self.books.changes.pass_due |= is_new && reach == Reach::Seat;
        }
    }

    /// In the order of the pods that were lost: ids depend on the order of arrival.
    fn in_order(&self, kept: impl Iterator<Item = KeptId>) -> Vec<KeptId> {
        let mut kept: Vec<(&Rank, KeptId)> = kept.map(|id| (&self.books.kept[id].rank, id)).collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, id)| id).collect()
    }

    /// Gives a pod the first of these kept seats that it fits; which, if there is one.
    fn take_kept(&mut self, pod: AskId, kept: &[KeptId], reach: Reach) -> Option<KeptId> {
        let ask = &self.books.asks[pod];
        let queue = ask.app.and_then(|app| self.books.apps[app].queue);
        let (queue, class) = (queue?, ask.class?);
        let suits = kept.iter().find_map(|kept| {
            let charge = self.books.kept[*kept].charge.as_ref()?;
            let fits = !self.lacks_quota(pod, queue, &charge.in_queue)
                && self.planner.fits_kept(&self.books, class, *kept, charge.node);
            fits.then_some((*kept, charge.node))
        });
        let found = suits.or_else(|| {
            // The first of which something is reserved, if there is one.
            let mut reserved = kept.iter().filter(|kept| self.books.kept[**kept].charge.is_some());
            let first = *reserved.next().or_else(|| kept.first()).filter(|_| reach == Reach::Beyond)?;
            let reserved = self.books.kept[first].charge.as_ref().map(|charge| charge.in_queue.clone());
            let may = !self.lacks_quota(pod, queue, &reserved.unwrap_or_default());
            let node = may.then(|| self.planner.find_beside_kept(&self.books, class, first)).flatten()?;
            Some((first, node))
        });
        let (kept, node) = found?;
        self.replace_lost(pod, kept, node, queue);
        Some(kept)
    }

    /// Whether the quota refuses what a pod needs beyond what is reserved.
    fn lacks_quota(&self, pod: AskId, queue: QueueId, reserved: &Resources) -> bool {
        let excess = self.books.request(pod).excess_over(reserved);
        excess_refused(&self.books, queue, &excess).is_some()
    }

    /// A pod comes in place of one that was lost: in one update the kept seat goes and the pod has its node.
    fn replace_lost(&mut self, pod: AskId, kept: KeptId, node: NodeId, queue: QueueId) {
        let seat = self.books.kept[kept].seat;
        self.books.give_up_kept(kept);
        self.books.assume(pod, node, queue, seat);
        self.books.asks[pod].started_with_gang = self.books.asks[pod].group.is_none();
        self.send(pod);
    }

    /// Somebody came to these applications: what is kept for the others is kept longer.
    pub(super) fn renew_all_kept(&mut self) {
        for app in std::mem::take(&mut self.books.due.joined) {
            if self.books.apps.get(app).is_some() && self.books.keeps_seats(app) {
                self.books.renew_kept(app);
            }
        }
    }

    /// Seats kept on a node that is gone, or that does not take their pods any more, are kept elsewhere if there is room; so are
    /// those for which others left no quota, once there is some.
    pub(super) fn check_kept(&mut self) {
        let kept = std::mem::take(&mut self.books.due.kept);
        let beyond_quota = std::mem::take(&mut self.books.due.beyond_quota);
        for id in self.still_kept(kept) {
            if !self.planner.kept_may_stay(&self.books, id) {
                self.books.unhouse(id);
            }
        }
        for id in self.still_kept(beyond_quota) {
            if !self.has_quota_for(id) {
                self.books.unhouse(id);
            }
        }
    }

    /// Those of these for which something is reserved still, in their order.
    fn still_kept(&self, ids: BTreeSet<KeptId>) -> Vec<KeptId> {
        let is_there = |id: &KeptId| self.books.kept.get(*id).is_some_and(|kept| kept.charge.is_some());
        self.in_order(ids.into_iter().filter(is_there))
    }

    /// Whether what is reserved in a queue for a kept seat is within the limits there, beside all that is used.
    fn has_quota_for(&self, id: KeptId) -> bool {
        let charge = self.books.kept[id].charge.as_ref();
        let reserved = charge.and_then(|charge| Some((charge.queue?, &charge.in_queue)));
        reserved.is_none_or(|(queue, reserved)| !self.books.queues.is_overdrawn(queue, reserved))
    }

    /// Looks for nodes for kept seats that have none, before anything else of their queues is placed.
    pub(in crate::core) fn house_kept(&mut self) {
        if self.books.unhoused.is_empty() {
            return;
        }
        for id in self.in_order(self.books.unhoused.iter().copied()) {
            let kept = &self.books.kept[id];
            let app = &self.books.apps[kept.app];
            let Some(queue) = app.queue else { continue };
            let request = self.books.classes.shape(kept.class).request.clone();
            if excess_refused(&self.books, queue, &request).is_none()
                && let Some(node) = self.another_node_for(id)
            {
                let charge = Charge { node, on_node: request.clone(), queue: Some(queue), in_queue: request };
                self.books.charge_kept(id, Some(charge));
                self.books.show_kept(self.books.kept[id].app);
            }
        }
    }

    /// A node for a kept seat, but not the one that refused its pod. A search in vain is not made again before a node has more
    /// room.
    fn another_node_for(&mut self, id: KeptId) -> Option<NodeId> {
        let kept = &self.books.kept[id];
        let Some(not) = kept.refused_by else { return self.planner.find(&self.books, kept.class) };
        let growth = self.planner.bounds.growth();
        if kept.vain_at == Some(growth) {
            return None;
        }
        let found = self.planner.find_but(&self.books, kept.class, not);
        self.books.kept[id].vain_at = found.is_none().then_some(growth);
        found
    }

    /// A gang gets its nodes: what was kept for it until now is given back in the same update.
    pub(super) fn spend_kept(&mut self, id: GangId) {
        for app in self.books.gangs[id].apps.clone() {
            self.books.give_up_all_kept(app);
        }
    }
}
