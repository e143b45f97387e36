//! Which applications take a turn in a pass before their start, and in which order (01, 1.2.5).

use crate::core::base::ids::AppId;
use crate::core::model::application::Stage;
use crate::core::model::lifecycle::AppState;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Keeps the gang's place among those that contend; one whose seats are all settled does not.
    pub(in crate::core) fn contend_again(&mut self, id: AppId) {
        let Some(app) = self.books.apps.get(id) else { return };
        let waits = app.state == AppState::Accepted && self.back_off_is_over(id);
        let rank = (waits && self.lacks_something(id)).then(|| self.gang_rank(id));
        let app = &mut self.books.apps[id];
        if app.contends == rank {
            return;
        }
        if let Some(old) = std::mem::replace(&mut app.contends, rank.clone()) {
            self.contending.remove(&old);
        }
        if let Some(rank) = rank {
            self.contending.insert(rank, id);
            self.stirred = true;
        }
    }

    /// Takes the gang out of the contest.
    pub(in crate::core) fn leave_contest(&mut self, id: AppId) {
        if let Some(rank) = self.books.apps[id].contends.take() {
            self.contending.remove(&rank);
        }
    }

    fn back_off_is_over(&mut self, id: AppId) -> bool {
        let Stage::BackOff { until } = self.books.apps[id].stage else { return true };
        if until > self.now.mono {
            self.set_timer(id, until);
            return false;
        }
        self.books.apps[id].stage = Stage::Gate;
        true
    }

    /// Whether a seat is open, or an originator that starts with the gang has no node.
    fn lacks_something(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        !app.originators.is_empty() || app.groups.iter().any(|group| self.books.groups[*group].seats.tally().open > 0)
    }

    /// Priority of its first waiting pod, submission, name.
    fn gang_rank(&self, id: AppId) -> crate::core::model::ask::Rank {
        let app = &self.books.apps[id];
        let groups = || app.groups.iter().map(|group| &self.books.groups[*group]);
        let of_members = groups().filter_map(|group| group.waiting.first().map(|(rank, _)| rank.priority.0));
        // Those of one group are made alike.
        let placeholders = groups().filter_map(|group| group.seats.open_with_placeholder().next());
        let of_placeholders = placeholders.map(|(_, ask)| self.books.asks[ask].spec.priority);
        let originator = app.originators.first().map(|(rank, _)| rank);
        let of_originators = originator.map(|rank| rank.priority.0);
        crate::core::model::ask::Rank {
            priority: std::cmp::Reverse(of_members.chain(of_placeholders).chain(of_originators).max().unwrap_or(0)),
            created: (groups().map(|group| group.spec().created).min())
                .unwrap_or_else(|| originator.map_or(0, |rank| rank.created)),
            key: app.key.clone(),
        }
    }
}
