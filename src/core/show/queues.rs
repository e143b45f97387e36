//! What is shown of queues, and of those below them that no Queue object defines.

use crate::core::base::ids::{QueueId, Text};
use crate::core::base::resources::{Limit, Totals};
use crate::core::base::share::Share;
use crate::core::decision::Decision;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::Queue;
use crate::core::model::queue::share::Whose;
use crate::core::reason::SpecError;
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
    /// Limits of users and groups that count for somebody in it or below it.
    pub limited: Vec<LimitedReport>,
    /// Queues directly below it that no Queue object defines, in order of their paths.
    pub leaves: Vec<LeafReport>,
}

/// What is shown of a queue without an object: a namespace's own, or one that drains.
#[derive(Clone, Debug)]
pub struct LeafReport {
    /// Its path.
    pub path: Text,
    /// Its object is gone, or its namespace has it no more.
    pub drains: bool,
    /// What may be used by it.
    pub max: Limit,
    /// How many applications may be past the gate at once.
    pub max_applications: Option<u32>,
    /// What it is promised.
    pub guaranteed: Limit,
    /// How much of that it uses, in percent; `None` without a promise.
    pub share: Option<u128>,
    /// Used by it and all below it.
    pub allocated: Totals,
    /// Who is first in line in it.
    pub first: Option<FirstReport>,
    /// What is left of each resource limited here or above.
    pub headroom: Vec<(Text, i128)>,
    /// Applications by state.
    pub applications: Vec<(AppState, u32)>,
    /// What is wrong with what its namespace says of it.
    pub errors: Vec<SpecError>,
}

/// What is shown of a limit of a user or group.
#[derive(Clone, Debug)]
pub struct LimitedReport {
    /// Whose it is.
    pub whose: Whose,
    /// What may be used.
    pub max: Limit,
    /// How many applications may be past the gate at once.
    pub max_applications: Option<u32>,
    /// What is used.
    pub allocated: Totals,
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
        let mut queues: Vec<_> = (self.books.changes.queues.take().into_iter())
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
        Some(QueueReport {
            allocated: queue.allocated.clone(),
            pending: queue.pending.clone(),
            share: queue.share().map(Share::percent),
            first: self.heads.report(id),
            headroom: self.books.queues.headroom(id),
            applications: counted(queue),
            limited: self.books.queues.limits_in(id).map(limited).collect(),
            leaves: self.leaves(id),
        })
    }
    /// The queues directly below one that no object defines: those that are in use, or of whose namespace something is wrong.
    fn leaves(&self, above: QueueId) -> Vec<LeafReport> {
        let below = self.books.queues.iter().filter(|(_, queue)| queue.parent == Some(above));
        let is_shown = |(_, queue): &(QueueId, &Queue)| {
            let is_used = !queue.allocated.is_nothing() || queue.applications.iter().any(|count| *count > 0);
            !queue.has_object() && (is_used || !self.errors_of(queue).is_empty())
        };
        let leaves = below.filter(is_shown).map(|(id, queue)| LeafReport {
            path: queue.path.clone(),
            drains: !queue.defined,
            max: queue.spec.max.clone(),
            max_applications: queue.spec.max_applications,
            guaranteed: queue.spec.guaranteed.clone(),
            share: queue.share().map(Share::percent),
            allocated: queue.allocated.clone(),
            first: self.heads.report(id),
            headroom: self.books.queues.headroom(id),
            applications: counted(queue),
            errors: self.errors_of(queue).to_vec(),
        });
        let mut leaves: Vec<_> = leaves.collect();
        leaves.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        leaves
    }

    fn errors_of(&self, queue: &Queue) -> &[SpecError] {
        let namespace = queue.namespace.as_ref().and_then(|name| self.books.namespaces.get(name));
        namespace.map_or(&[], |namespace| &namespace.spec.errors)
    }
}

/// The applications of a queue and of all below it, by state.
fn limited((whose, limit): (&Whose, &Queue)) -> LimitedReport {
    LimitedReport {
        whose: whose.clone(),
        max: limit.spec.max.clone(),
        max_applications: limit.spec.max_applications,
        allocated: limit.allocated.clone(),
        applications: counted(limit),
    }
}

fn counted(queue: &Queue) -> Vec<(AppState, u32)> {
    let counts = AppState::ALL.into_iter().zip(queue.applications);
    counts.filter(|(_, count)| *count > 0).collect()
}
