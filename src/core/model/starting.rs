//! `StateAware` queues: one gang at a time is between the open gate and its start (01, 1.2.5).

use crate::core::base::ids::{GangId, QueueId, Text};
use crate::core::event::SortPolicy;
use crate::core::model::books::Books;
use crate::core::model::claims::Before;
use crate::core::model::gang::Stage;
use crate::core::model::turn::Turn;

impl Books {
    /// Notes in which queue a gang starts, in another stage.
    pub(super) fn count_start(&mut self, id: GangId, stage: &Stage) {
        let starts = matches!(stage, Stage::Settling { .. } | Stage::Reserving);
        let now = if starts { self.queue_of(id).map(|queue| self.queues.leaf(queue)) } else { None };
        let old = std::mem::replace(&mut self.gangs[id].starts_in, now);
        if old == now {
            return;
        }
        old.into_iter().for_each(|queue| self.queues.end_start(queue, id));
        now.into_iter().for_each(|queue| self.queues.begin_start(queue, id));
        self.changes.pass_due = true;
    }

    /// `namespace/name` of an application that keeps a gang of this `StateAware` queue at the gate, since it starts. One
    /// for which the nodes have no room does not.
    pub(in crate::core) fn somebody_starts(&self, id: GangId, queue: QueueId) -> Option<Text> {
        if self.queues.sort_policy(queue) != SortPolicy::StateAware {
            return None;
        }
        let queue = &self.queues[self.queues.leaf(queue)];
        let others = queue.starting.iter().filter(|other| **other != id);
        let is_blocked = |other: &GangId| match self.gangs[*other].turn() {
            Some(Turn::Past { rank, .. }) => !queue.claims.counts(rank, Before::Planned),
            Some(Turn::Gate { .. } | Turn::Round { .. }) | None => false,
        };
        let apps = others.filter(|other| !is_blocked(other)).filter_map(|other| self.gangs[*other].apps.first());
        apps.map(|app| &self.apps[*app].key).min().map(|key| key.to_string().into())
    }
}
