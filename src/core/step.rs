//! The scheduler: one value, one way in. Events and a time go in, decisions come out.

use crate::core::decision::Decision;
use crate::core::event::Event;
use crate::core::model::books::Books;
use crate::core::model::bound::MostPlaceholders;
use crate::core::model::timers::Timer;
use crate::core::order::heads::Heads;
use crate::core::order::lines::Lines;
use crate::core::place::planner::Planner;
use crate::core::show::lacks::Lacks;
use crate::core::time::{Mono, Now};

/// Decides for one cluster.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Everything it knows.
    pub books: Books,
    /// What plans are made with.
    pub(in crate::core) planner: Planner,
    pub(in crate::core) out: Vec<Decision>,
    /// Which waiting work is looked at in the next pass, and what wakes the rest.
    pub(in crate::core) lines: Lines,
    /// Who is first in line in each queue.
    pub(in crate::core) heads: Heads,
    /// What those who wait for room on nodes were told.
    pub(in crate::core) lacks: Lacks,
    /// Rises with everything that may have changed an answer: see [`Scheduler::revision`].
    pub(in crate::core) revision: u64,
}

/// What a step decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// To be carried out, in this order.
    pub decisions: Vec<Decision>,
    /// When to step again even if nothing happens.
    pub wake: Option<Mono>,
    /// Whether there is more to decide now.
    pub more: bool,
}

/// How many pods a pass places before the calls it decided are handed out: at the ceiling of about 2000 binds a second
/// this is some seconds of work, and a pass of this size takes some milliseconds.
pub(in crate::core) const PLACED_PER_STEP: u32 = 8_192;

/// How many applications a step looks at before its calls are handed out: each takes some microseconds.
const SETTLED_PER_STEP: usize = 16_384;

/// After so many rounds all applications have settled: more rounds would be a cycle, which is a bug of ours.
const ROUNDS: u32 = 8;

impl Scheduler {
    /// A scheduler that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A scheduler that has seen nothing, with another bound on the placeholders of one gang.
    pub fn with_most_placeholders(most: u32) -> Self {
        let mut scheduler = Self::default();
        scheduler.books.most_placeholders = MostPlaceholders(most);
        scheduler
    }

    /// How often a gang was looked for in more ways than the first order of its seats.
    pub const fn searches(&self) -> u64 {
        self.planner.bounds.searches()
    }

    /// How often nodes were looked for, for all seats of a gang or all members of a round.
    pub const fn plans(&self) -> u64 {
        self.planner.plans()
    }

    /// Applies the events, goes as far as they allow at `now`, and returns what is to be done. The only way to change a
    /// scheduler.
    pub fn step(&mut self, now: Now, events: impl IntoIterator<Item = Event>) -> Step {
        self.books.now = now;
        self.revision += u64::from(!self.is_at_rest());
        for event in events {
            if !self.books.knows(&event) {
                self.revision += 1;
                self.books.apply(event);
            }
        }
        self.heed_facts();
        if !self.books.listed.all {
            // Before every kind is listed nothing is decided. So the step asks for no other step either: if one kind
            // cannot be listed, the shell would otherwise step without pause, and use up a whole CPU core.
            return Step::default();
        }
        self.expire();
        let mut share = SETTLED_PER_STEP;
        self.settle(&mut share);
        if self.pass_is_due() {
            self.books.changes.pass_due = false;
            self.pass(&mut share);
            self.settle(&mut share);
        }
        self.look_at_chances_later();
        self.withdraw();
        self.report_changes();
        Step { decisions: std::mem::take(&mut self.out), wake: self.wake(), more: self.has_more() }
    }

    /// A number that changes whenever something may have changed: while it is the same, every reason and sentence that
    /// was given before still holds.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether a step without events changes nothing.
    fn is_at_rest(&self) -> bool {
        let is_due = self.wake().is_some_and(|at| at <= self.books.now.mono);
        !is_due && !self.has_more()
    }

    /// Whether there is more to decide even if nothing happens.
    fn has_more(&self) -> bool {
        let changes = &self.books.changes;
        self.lacks.has_due()
            || self.pass_is_due()
            || !changes.apps.is_empty()
            || !self.books.due.is_empty()
            || self.books.queues.has_drained()
    }

    /// Whether decisions are made: every kind has been listed or is known to be unserved.
    pub fn is_synced(&self) -> bool {
        self.books.listed.all
    }

    /// Looks at every application that changed, in the order of their names (ids depend on the order of arrival), until
    /// nothing changes any more. Applications beyond the share of this step are left to the next one.
    pub(in crate::core) fn settle(&mut self, share: &mut usize) {
        let mut rounds = 0;
        while *share > 0 && !(self.books.due.is_empty() && self.books.changes.apps.is_empty()) {
            self.heed_facts();
            // A round does what the one before it noted, and moves applications on; the state machine has no cycle
            // without an event.
            rounds += 1;
            debug_assert!(rounds <= ROUNDS, "applications settle");
            let marked = self.books.changes.apps.take().into_iter();
            let mut changed: Vec<_> =
                marked.filter_map(|id| self.books.apps.get(id).map(|app| (app.key.clone(), id))).collect();
            changed.sort_unstable();
            // One whose place was another's before may be marked twice.
            changed.dedup();
            let later = changed.split_off(changed.len().min(*share));
            *share -= changed.len();
            self.books.changes.apps.extend(later.into_iter().map(|(_, id)| id));
            changed.into_iter().for_each(|(_, id)| self.advance(id));
        }
    }

    pub(in crate::core) fn decide(&mut self, decision: Decision) {
        self.out.push(decision);
    }

    fn wake(&self) -> Option<Mono> {
        self.books.timers.next()
    }

    fn expire(&mut self) {
        let mut retries = Vec::new();
        for timer in self.books.timers.expire(self.books.now.mono) {
            match timer {
                Timer::Settle(gang) | Timer::BackOff(gang) => self.books.touch_gang(gang),
                Timer::Deadline(app, _) | Timer::Unsaid(app) | Timer::NextLife(app) => self.books.touch(app),
                Timer::Head(queue) => drop(self.books.changes.fronts.insert(queue)),
                Timer::Hold(kept) => self.books.give_up_kept(kept),
                Timer::Chances => self.look_at_chances_again(),
                Timer::Numbers => self.renew_limits(),
                Timer::Nodes => {
                    self.renew_lacks();
                    continue;
                }
                Timer::Retry(ask) => {
                    retries.push(ask);
                    continue;
                }
            }
            self.books.changes.pass_due = true;
        }
        self.retry_due(&retries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::ids::{AskId, Key};
    use crate::core::base::resources::Resources;
    use crate::core::event::{AskSpec, Place, Role};
    use crate::core::model::lifecycle::AppState;
    use crate::core::shape::Shape;

    /// A pod of an application of its own.
    fn lonely(index: u32) -> Event {
        let name = format!("pod-{index:06}");
        let spec = AskSpec {
            key: Key::new("ns", &*name),
            created: 1,
            priority: 0,
            shape: Shape { request: Resources::pod(1, 1), ..Shape::default() }.into(),
            queue: None,
            submitter: None,
            role: Role::Originator { application: name.into() },
            place: Place::Pending,
            held_up: None,
            application: None,
            declares: None,
            declared_by: None,
            controller: None,
            mark: None,
            terminating: false,
        };
        Event::Ask(AskId { index, generation: 0 }, Box::new(spec))
    }

    #[test]
    fn what_a_step_does_not_get_to_is_left_to_the_next() {
        let mut scheduler = Scheduler::new();
        let count = SETTLED_PER_STEP as u32 + 1;
        let judged = |scheduler: &Scheduler| {
            scheduler.books.apps.iter().filter(|(_, app)| app.state() != AppState::New).count() as u32
        };
        let mut step = scheduler.step(Now::default(), (0..count).map(lonely).chain([Event::Synced]));
        assert!(judged(&scheduler) < count && step.more, "{} of {count}", judged(&scheduler));
        for _round in 0..10 {
            step = scheduler.step(Now::default(), []);
        }
        assert_eq!((judged(&scheduler), step.more), (count, false));
    }
}
