//! One pass over the waiting work that may go on, in order: gangs before their start and runs of ordinary asks (01,
//! 1.2.5).
//!
//! 1. Bounds on room are brought up to date with the nodes that got more.
//! 2. Gangs that were interrupted in the middle of their start get what they lack, and members beside a held seat that
//!    is too small try again (01, 1.6: "planned first, before anything else").
//! 3. The lines for which something changed are merged in the order of their queues and within these ([`merge`](super::merge)): the first
//!    of each is planned and committed.

use std::cmp::Reverse;

use crate::core::base::ids::{AppId, GroupId, QueueId};
use crate::core::base::resources::{CPU, MEMORY};
use crate::core::gang::replace::Reach;
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::QuotaExcess;
use crate::core::model::turn::{Line, Turn};
use crate::core::order::lines::{Hold, Until};
use crate::core::order::merge::{Due, Merge, Spot};
use crate::core::step::{PLACED_PER_STEP, Scheduler};

/// What came of a line's turn.
pub(in crate::core) struct Served {
    /// How many pods were placed.
    pub(in crate::core) placed: u32,
    /// How the line goes on.
    pub(in crate::core) next: Next,
}

/// How a line goes on after its turn.
pub(in crate::core) enum Next {
    /// With its next one, if there is one.
    Goes,
    /// In the next pass.
    Later,
    /// When one of these has come.
    Waits(Box<Until>),
}

impl Next {
    /// The line sleeps until something of this comes.
    pub(in crate::core) fn waits(until: Until) -> Self {
        Self::Waits(Box::new(until))
    }
}

impl Served {
    /// The line goes on with its next one.
    pub(in crate::core) const fn goes(placed: u32) -> Self {
        Self { placed, next: Next::Goes }
    }
}

impl Scheduler {
    /// Plans and commits what waits and may go on. `share` is how many applications this step still looks at.
    pub(in crate::core) fn pass(&mut self, share: &mut usize) {
        self.widen();
        self.house_kept();
        self.serve_started();
        self.settle(share);
        self.wake_lines();
        self.serve_lines();
        self.renew_heads();
    }

    /// Whether a pass has something to look at.
    pub(in crate::core) fn pass_is_due(&self) -> bool {
        let changes = &self.books.changes;
        changes.pass_due
            || !changes.fronts.is_empty()
            || !changes.lines.is_empty()
            || self.lines.has_due()
            || self.books.queues.has_moved()
    }

    /// Brings the bounds on room up to date, and wakes who waits for room on nodes.
    fn widen(&mut self) {
        self.forget_classes();
        let grown = std::mem::take(&mut self.books.changes.grown);
        if grown.is_empty() {
            return;
        }
        for (class, room) in self.planner.bounds.widen(&self.books, &grown) {
            self.lines.widened(class, room);
        }
        self.lines.any_room();
    }

    /// Serves members of gangs that have started; the gangs in the order of the first waiting member of each.
    fn serve_started(&mut self) {
        let first = |app: &AppId| {
            let groups = self.books.apps[*app].groups.iter().map(|group| &self.books.groups[*group]);
            groups.filter_map(|group| group.without_node().map(|(rank, _)| rank).min()).min().cloned()
        };
        let lacking_room = std::mem::take(&mut self.books.lacking_room).into_iter();
        let mut lacking_room: Vec<_> = lacking_room.map(|app| (first(&app), app)).collect();
        lacking_room.sort_unstable();
        // An application may have ended since: only those that run are served.
        let is_running = |app: &AppId| self.books.apps[*app].state() == AppState::Running;
        let apps: Vec<_> = lacking_room.iter().map(|(_, app)| *app).filter(is_running).collect();
        let groups: Vec<_> = apps.iter().flat_map(|app| self.hardest_first(&self.books.apps[*app].groups)).collect();
        for app in &apps {
            self.fill_kept_outside(*app, Reach::Beyond);
        }
        groups.iter().for_each(|group| self.fill_kept(*group, Reach::Beyond));
        groups.iter().for_each(|group| self.fill_open_seats(*group));
        for group in groups {
            self.replace(group, Reach::Beyond);
            self.books.balance(group);
        }
        lacking_room.into_iter().for_each(|(_, app)| self.books.touch(app));
    }

    /// As [`crate::core::place::fill::fill`] has it: the groups that are hardest to place choose first. The members of
    /// a group are alike, so the first that waits tells how many nodes they may use.
    fn hardest_first(&self, groups: &[GroupId]) -> Vec<GroupId> {
        let mut groups = groups.to_vec();
        groups.sort_by_cached_key(|group| {
            let group = &self.books.groups[*group];
            let class = group.without_node().next().and_then(|(_, ask)| self.books.asks[*ask].class);
            let choice = class.map_or(usize::MAX, |class| self.books.classes.eligible_count(class));
            let size = &group.spec().min_resource;
            (choice, Reverse((size.base[CPU], size.base[MEMORY])))
        });
        groups
    }

    /// Wakes the lines that hold somebody who came or changed, and those that wait for what happened in queues.
    fn wake_lines(&mut self) {
        for line in std::mem::take(&mut self.books.changes.lines) {
            self.lines.wake(&line);
        }
        for namespace in std::mem::take(&mut self.books.changes.freed) {
            self.lines.freed(&namespace);
        }
        let moved = self.books.queues.take_moved();
        for queue in moved.loosened.iter().chain(&moved.tightened) {
            if self.lines.wait_for_limits() {
                self.tell_numbers_later(*queue);
            }
        }
        moved.loosened.into_iter().for_each(|queue| self.lines.loosened(&self.books.queues, queue));
        moved.calmed.iter().for_each(|queue| self.lines.calmed(*queue));
        if moved.relimited {
            self.lines.relimited();
        }
        for queue in moved.tightened {
            self.lines.tightened(&self.books.queues, queue, moved.kept.contains(&queue));
            for gang in self.books.queues.squeezed(queue) {
                self.lines.wake(&Line::Gang(gang));
            }
        }
    }

    /// Gives the first of every line that is due its turn, in the order of their queues and within these.
    fn serve_lines(&mut self) {
        let mut budget = PLACED_PER_STEP;
        let mut merge = Merge::default();
        for line in self.lines.take_due() {
            self.line_up_head(&mut merge, line);
        }
        while let Some(due) = merge.pop(&self.books) {
            if budget == 0 {
                self.lines.wake(&due.line);
                merge.renew(&self.books.queues, due.queue);
                continue;
            }
            let (queue, rank) = (due.queue, &due.spot.rank);
            let reach = merge.reach(&self.books, &due);
            let Served { placed, next } = match &due.line {
                Line::Pods(line) => self.serve_pods(*line, rank, &reach, budget),
                Line::Gate(queue, form) => self.serve_gate((*queue, form), rank, &reach),
                Line::Gang(gang) => self.serve_gang(*gang, &reach),
            };
            budget = budget.saturating_sub(placed);
            let is_renewed = match next {
                Next::Goes => {
                    if let Line::Pods(_) = due.line {
                        // What it has just been given is noted as a change of it.
                        self.books.changes.lines.remove(&due.line);
                    }
                    self.line_up_head(&mut merge, due.line)
                }
                Next::Later => {
                    self.lines.wake(&due.line);
                    false
                }
                Next::Waits(until) => {
                    self.fall_asleep(due.line, *until);
                    false
                }
            };
            // Pods that were let in just now take their turn in this pass, too. Their lines are the first in the set.
            while let Some(Line::Pods(..)) = self.books.changes.lines.first() {
                let line = self.books.changes.lines.pop_first().expect("looked at just now");
                self.line_up_head(&mut merge, line);
            }
            // What is left of it has another first, or none. Where somebody is promised something, what was given counts, too. (Putting
            // the line back has renewed its queue after that.)
            if !is_renewed {
                merge.renew(&self.books.queues, queue);
            }
        }
    }

    /// A line is not looked at until something of this comes.
    pub(in crate::core) fn fall_asleep(&mut self, line: Line, until: Until) {
        self.books.changes.lines.remove(&line);
        if self.first_of(&line).is_none() {
            // Those who stood in it belong elsewhere, since their application has started.
            return self.lines.forget(&line);
        }
        self.tell_pods(&line, &until);
        self.lines.sleep(&self.books.queues, line, until);
    }

    /// Puts a line among those that take their turn in this pass, if somebody stands in it. Returns whether somebody does.
    fn line_up_head(&mut self, merge: &mut Merge, line: Line) -> bool {
        let Some((queue, rank)) = self.first_of(&line) else {
            self.lines.forget(&line);
            return false;
        };
        let spot = Spot::of(&self.books, &line, rank);
        merge.add(&self.books.queues, Due { queue, spot, line });
        true
    }

    /// The first of a line and its queue: the parts that submitters have of that take their turns together.
    fn first_of(&self, line: &Line) -> Option<(QueueId, Rank)> {
        let (queue, rank) = self.first_in(line)?;
        Some((self.books.queues.leaf(queue), rank))
    }

    fn first_in(&self, line: &Line) -> Option<(QueueId, Rank)> {
        match line {
            Line::Pods(line) => self.books.ordinary.get(line)?.first().map(|(rank, _)| (line.queue, rank.clone())),
            Line::Gate(queue, form) => {
                let line = self.books.gate.get(&(*queue, form.clone()))?;
                line.gangs.first_key_value().map(|(rank, _)| (*queue, rank.clone()))
            }
            Line::Gang(gang) => match self.books.gangs.get(*gang)?.turn()? {
                Turn::Past { rank, queue, .. } | Turn::Round { rank, queue, .. } => Some((*queue, rank.clone())),
                Turn::Gate { .. } => None,
            },
        }
    }

    /// To wait until a limit holds what it refused; `behind`: beside what is claimed before this place.
    pub(in crate::core) fn until_held(&self, refused: &QuotaExcess, behind: Option<(QueueId, &Rank, Before)>) -> Until {
        let (resource, asked) = (Some(refused.excess.resource.clone()), refused.excess.asked);
        let queue = self.books.queues.find(&refused.queue);
        let behind = behind.filter(|_| refused.kept.is_some());
        let behind = behind.map(|(leaf, rank, which)| (leaf, rank.clone(), which));
        Until { limit: queue.map(|queue| Hold { queue, resource, asked, behind }), ..Until::default() }
    }
}
