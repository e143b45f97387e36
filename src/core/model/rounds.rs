//! Rounds: members that start together once more after the start of their gang, where its match policy says so (01, 1.6).

use crate::core::base::ids::{GangId, KeptId};
use crate::core::event::MatchPolicy;
use crate::core::model::application::App;
use crate::core::model::ask::Rank;
use crate::core::model::books::Books;
use crate::core::model::gang::Stage;
use crate::core::model::group::Group;
use crate::core::model::lifecycle::AppState;
use crate::core::reason::Reason;

/// How the next round of a gang stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::core) enum Round {
    /// Nobody waits for one.
    Idle,
    /// Too few wait: what it lacks.
    Lacks(Reason),
    /// Enough wait; the place of the first of them in the order of a pass.
    Due(Rank),
}

impl Books {
    /// Whether the match policy of a gang makes members start together after its start.
    pub(in crate::core) fn may_have_rounds(&self, gang: GangId) -> bool {
        self.groups_of(gang).any(|group| policy_of(group) != MatchPolicy::OnceSatisfied)
    }

    /// Whether members of a task group that wait start together although their gang has started: each of its seats had a member
    /// once, and its policy counts anew. A start that was interrupted is completed first, one by one.
    pub(in crate::core) fn starts_in_rounds(&self, group: &Group) -> bool {
        let counts_anew = match policy_of(group) {
            MatchPolicy::OnceSatisfied => false,
            MatchPolicy::WaitingAndRunning => group.seats_without_member() > 0,
            MatchPolicy::OnlyWaiting => group.seats.len() > 0,
        };
        counts_anew && self.goes_on_whole(group).is_some_and(|app| app.placed)
    }

    /// Whether members of a task group that wait are no ordinary pods although their gang has started: they start together, or will
    /// within moments, when those of the start have been bound.
    pub(in crate::core) fn holds_back(&self, group: &Group) -> bool {
        let will = policy_of(group) == MatchPolicy::OnlyWaiting && group.seats.len() > 0;
        will && self.goes_on_whole(group).is_some_and(|app| self.all_seats_have_members(app))
            || self.starts_in_rounds(group)
    }

    /// Whether each seat of an application has a member, or one that is about to be bound.
    fn all_seats_have_members(&self, app: &App) -> bool {
        let mut seats = app.groups.iter().map(|group| &self.groups[*group].seats);
        seats.all(|seats| seats.tally().taken + seats.tally().members() == seats.len())
    }

    /// The application of a task group, if it goes on as a gang.
    fn goes_on_whole(&self, group: &Group) -> Option<&App> {
        let app = &self.apps[group.app?];
        let goes_on = matches!(app.state(), AppState::Running | AppState::Waiting) && app.timed_out.is_none();
        goes_on.then_some(app)
    }

    /// How many members of a task group the next plan of its gang places, or how many placeholders for it: one for each open
    /// seat, and in a round as many as start together.
    pub(in crate::core) fn places_to_plan(&self, group: &Group) -> u32 {
        if !self.starts_in_rounds(group) {
            return group.seats.tally().open;
        }
        match group.spec().match_policy {
            MatchPolicy::OnlyWaiting => group.seats.len(),
            MatchPolicy::OnceSatisfied | MatchPolicy::WaitingAndRunning => group.seats_without_member(),
        }
    }

    /// How the next round of a gang stands.
    pub(in crate::core) fn round_of(&self, gang: GangId) -> Round {
        let groups = || self.groups_of(gang).filter(|group| self.starts_in_rounds(group));
        let first = groups().filter_map(|group| group.waiting.first()).map(|(rank, _)| rank).min();
        let Some(first) = first else { return Round::Idle };
        let lacks = groups().find_map(|group| self.lacks_in_round(group));
        lacks.map_or_else(|| Round::Due(first.clone()), Round::Lacks)
    }

    fn lacks_in_round(&self, group: &Group) -> Option<Reason> {
        let (waiting, places) = (group.waiting.len() as u32, self.places_to_plan(group));
        if waiting >= places {
            return None;
        }
        let (need, policy) = (group.seats.len(), group.spec().match_policy);
        Some(Reason::WaitingForRound { group: group.called(), have: need - places + waiting, need, policy })
    }

    /// What is kept for those whom the next plan of a gang places: of one that has started what is kept for members.
    pub(in crate::core) fn kept_for_plan(&self, gang: GangId) -> impl Iterator<Item = KeptId> {
        let has_started = *self.gangs[gang].stage() == Stage::Started;
        let apps = self.gangs[gang].apps.iter();
        apps.flat_map(|app| self.kept_of(*app)).filter(move |kept| !has_started || self.kept[*kept].seat.is_some())
    }
}

fn policy_of(group: &Group) -> MatchPolicy {
    group.spec.as_ref().map_or(MatchPolicy::OnceSatisfied, |spec| spec.match_policy)
}

impl Group {
    /// Seats that no member has or is about to have.
    fn seats_without_member(&self) -> u32 {
        let tally = self.seats.tally();
        tally.open + tally.kept
    }
}
