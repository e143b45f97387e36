//! Ordinary asks: pods that do not need each other, placed in runs of one queue and class.

use crate::core::base::ids::{AskId, ClassId, NodeId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;
use crate::core::model::gang::Room;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::queue::QuotaExcess;
use crate::core::model::turn::{Line, PodLine};
use crate::core::order::lines::{PodsWait, Told, Until};
use crate::core::order::merge::{Reach, largest};
use crate::core::order::pass::{Next, Served};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Places ordinary asks of one line from `head` on, as far as its turn reaches.
    pub(super) fn serve_pods(&mut self, line: PodLine, head: &Rank, reach: &Reach, budget: u32) -> Served {
        let PodLine { queue, class, starts, app: _ } = line;
        let most = match if starts { self.may_overtake(queue, head) } else { Ok(u32::MAX) } {
            Ok(most) => most.min(budget),
            Err(_) => {
                let until = Until { first: Some((self.books.queues.leaf(queue), head.clone())), ..Until::default() };
                return Served { placed: 0, next: Next::waits(until) };
            }
        };
        let mut run = self.run_of(line, head, reach, most);
        let wanted = run.len();
        run.truncate(self.quota_for(line, head, run.len()));
        if !run.is_empty() && self.planner.bounds.is_full(class) {
            return Served { placed: 0, next: Next::waits(self.until_room(queue, class)) };
        }
        let placed = if run.is_empty() { 0 } else { self.place_some(queue, class, &run) };
        let next = if (placed as usize) < run.len() {
            Next::waits(self.until_room(queue, class))
        } else if run.len() < wanted {
            self.until_quota(line, head)
        } else {
            Next::Goes
        };
        Served { placed, next }
    }

    /// The first of a line, up to so many, that have their turn at once.
    fn run_of(&self, line: PodLine, head: &Rank, reach: &Reach, most: u32) -> Vec<AskId> {
        // Those behind somebody who is first in line are looked at apart from those before it.
        let first = if line.starts { self.next_first(line.queue, head) } else { None };
        let within = |rank: &Rank| {
            let goes = reach.holds(rank) && first.as_ref().is_none_or(|first| rank < first);
            // Priority comes before the shares of applications.
            let is_like = line.app.is_none() || rank.priority == head.priority;
            goes && is_like || rank == head
        };
        let Some(waiting) = self.books.ordinary.get(&line) else { return Vec::new() };
        let queues = &self.books.queues;
        let leaf = queues.leaf(line.queue);
        // Who goes before whom may be another matter after each.
        let one_by_one =
            line.starts && queues.are_ordered() && queues.keeps_on_path(leaf).any(|keep| keep.leaf != leaf);
        let most = waiting.len().min(most as usize);
        let most = if one_by_one { 1 } else { reach.most(&self.books, line, most) };
        waiting.iter().take_while(|(rank, _)| within(rank)).take(most).map(|(_, ask)| *ask).collect()
    }

    fn until_room(&self, queue: QueueId, class: ClassId) -> Until {
        let refused = Some((queue, self.one_of(class)));
        Until { room: Some(Room::For(class, 1)), refused, ..Until::default() }
    }

    fn until_quota(&self, line: PodLine, head: &Rank) -> Next {
        let refused = self.refused(line, head, &self.one_of(line.class));
        refused.map_or(Next::Later, |refused| Next::waits(self.until_held(&refused, None)))
    }

    /// Why the quota refuses pods of a line; `head` is the first of them.
    fn refused(&self, line: PodLine, head: &Rank, asked: &Totals) -> Option<QuotaExcess> {
        let queues = &self.books.queues;
        let kept = || line.starts.then(|| queues.refuses_start(line.queue, head, asked)).flatten();
        queues.refuses(line.queue, asked).or_else(kept)
    }

    fn one_of(&self, class: ClassId) -> Totals {
        let mut one = Totals::default();
        one.add(&self.books.classes.shape(class).request, 1);
        one
    }

    /// How many of `count` pods of a line, of which `head` is the first, the quota of its queue allows now.
    fn quota_for(&self, line: PodLine, head: &Rank, count: usize) -> usize {
        let request = &self.books.classes.shape(line.class).request;
        let fits = |count: usize| {
            let mut asked = Totals::default();
            asked.add(request, count as u32);
            self.refused(line, head, &asked).is_none()
        };
        largest(count, fits)
    }

    fn place_some(&mut self, queue: QueueId, class: ClassId, run: &[AskId]) -> u32 {
        let placed = self.planner.fill_some(&self.books, class, run.len() as u32).to_vec();
        let nodes = placed.iter().flat_map(|placed| std::iter::repeat_n(placed.node, placed.count as usize));
        run.iter().zip(nodes).map(|(ask, node)| self.allocate(*ask, node, queue)).count() as u32
    }

    /// Gives an ordinary ask a node; a member takes an open seat of its group along.
    pub(in crate::core) fn allocate(&mut self, ask: AskId, node: NodeId, queue: QueueId) {
        let app = self.books.asks[ask].app;
        let starts = || app.is_none_or(|app| self.books.apps[app].state() == AppState::Accepted);
        if self.has_first(queue) && starts() {
            self.note_start(queue, &self.books.asks[ask].rank());
        }
        let seat = self.clear_a_seat(ask);
        self.books.assume(ask, node, queue, seat);
        self.send(ask);
        if let Some(app) = app.filter(|app| self.books.apps[*app].groups.is_empty()) {
            self.transit(app, AppEvent::Run);
        }
    }

    /// The pods of a line wait for the same. When that changes, the reason of all of them is shown anew.
    pub(super) fn tell_pods(&mut self, line: &Line, until: &Until) {
        let Line::Pods(pods) = line else { return };
        let wait = match (&until.first, until.room) {
            (Some(_), _) => PodsWait::First,
            (None, None) => PodsWait::Quota,
            (None, Some(_)) => PodsWait::Room,
        };
        let wait = Told::Pods(wait);
        if self.lines.told.get(line) != Some(&wait) {
            let asks = self.books.ordinary.get(pods).into_iter().flatten();
            self.books.changes.asks.extend(asks.map(|(_, ask)| *ask));
            self.lines.told.insert(line.clone(), wait);
        }
    }
}
