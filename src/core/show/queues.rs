//! What is shown of queues.

use crate::core::base::ids::{QueueId, Text};
use crate::core::base::resources::Totals;
use crate::core::base::share::Share;
use crate::core::decision::Decision;
use crate::core::model::lifecycle::AppState;
use crate::core::step::Scheduler;
use crate::core::time::Wall;

/// Everything that is shown of one queue.
#[derive(Clone, Debug, Default)]
pub struct QueueReport {
    /// Used by it and all below it.
    pub allocated: Totals,
    /// Asked by waiting applications of it and all below it.
    pub pending: Totals,
    /// How much of what it is promised it uses, in percent; `None` without a promise.
    pub share: Option<u128>,
    /// Who is first in line in it.
    pub first: Option<FirstReport>,
    /// What is left of each resource limited here or above.
    pub headroom: Vec<(Text, i128)>,
    /// Applications by state.
    pub applications: Vec<(AppState, u32)>,
}

/// Who is first in line in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstReport {
    /// `namespace/name` of its application, the first if it has several.
    pub application: Text,
    /// Since when it is the first.
    pub since: Wall,
    /// Whether nothing behind it starts before it does.
    pub holds: bool,
}

impl Scheduler {
    pub(super) fn report_queues(&mut self) {
        let mut queues: Vec<_> = std::mem::take(&mut self.books.changes.queues)
            .into_iter()
            .filter(|id| self.books.queues.get(*id).is_some())
            .flat_map(|id| self.books.queues.path(id).collect::<Vec<_>>())
            .collect();
        queues.sort_unstable_by(|a, b| self.books.queues[*a].path.cmp(&self.books.queues[*b].path));
        queues.dedup();
        for id in queues {
            self.decide(Decision::ShowQueue(self.books.queues[id].path.clone()));
        }
    }

    /// Everything that is shown of a queue.
    pub fn queue_report(&self, id: QueueId) -> Option<QueueReport> {
        let queue = self.books.queues.get(id)?;
        let counts = AppState::ALL.into_iter().zip(queue.applications);
        Some(QueueReport {
            allocated: queue.allocated.clone(),
            pending: queue.pending.clone(),
            share: queue.share().map(Share::percent),
            first: self.heads.report(id),
            headroom: self.books.queues.headroom(id),
            applications: counts.filter(|(_, count)| *count > 0).collect(),
        })
    }
}
