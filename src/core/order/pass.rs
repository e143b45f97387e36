//! One pass over waiting work, in order: gangs before their start and runs of ordinary asks (01, 1.2.5).
//!
//! 1. Bounds on room are brought up to date with the nodes that got more.
//! 2. Gangs that were interrupted in the middle of their start get what they lack, and members beside a held seat that
//!    is too small try again (01, 1.6: "planned first, before anything else").
//! 3. Gangs and ordinary asks, merged by rank, are planned and committed one after the other.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, QueueId};
use crate::core::base::resources::{CPU, MEMORY, Totals};
use crate::core::gang::replace::Reach;
use crate::core::model::ask::{Rank, WaitsFor};
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::model::queue::Ahead;
use crate::core::step::{PLACED_PER_STEP, Scheduler};

impl Scheduler {
    /// Plans and commits what waits. `share` is how many applications this step still looks at.
    pub(in crate::core) fn pass(&mut self, share: &mut usize) {
        self.widen();
        self.serve_started();
        self.settle(share);
        let mut runs = self.run_heads();
        self.place_in_order(&mut runs);
        self.judge_waiting();
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
        let running =
            lacking_room.iter().map(|(_, app)| &self.books.apps[*app]).filter(|app| app.state() == AppState::Running);
        let groups: Vec<_> = running.flat_map(|app| self.hardest_first(&app.groups)).collect();
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

    /// Pods of one queue and class wait for the same thing. When that changes, the reason of all of them is shown anew.
    fn judge_waiting(&mut self) {
        let mut waits_for_quota = std::collections::BTreeMap::new();
        for ((queue, class), asks) in &self.books.ordinary {
            let mut one = Totals::default();
            one.add(&self.books.classes.shape(*class).request, 1);
            let by_quota = self.books.queues.refuses(*queue, &Ahead::default(), &one).is_some();
            if self.waits_for_quota.get(&(*queue, *class)) != Some(&by_quota) {
                self.books.changes.asks.extend(asks.iter().map(|(_, ask)| *ask));
            }
            waits_for_quota.insert((*queue, *class), by_quota);
        }
        self.waits_for_quota = waits_for_quota;
    }

    /// Gangs and runs of ordinary asks, merged by rank.
    fn place_in_order(&mut self, runs: &mut BTreeSet<(Rank, (QueueId, ClassId))>) {
        let mut budget = PLACED_PER_STEP;
        let mut ahead = Ahead::default();
        let mut exhausted = BTreeSet::new();
        let mut waits = false;
        let mut gang = self.books.turns.first_key_value().map(|(rank, gang)| (rank.clone(), *gang));
        loop {
            let run = runs.first().cloned();
            let gang_first = match (&gang, &run) {
                (None, None) => return,
                (Some((gang, _)), Some((run, _))) => gang < run,
                (gang, _) => gang.is_some(),
            };
            if budget == 0 {
                self.unfinished = true;
                return;
            }
            if gang_first {
                let (rank, id) = gang.take().expect("chosen just now");
                let placed = self.try_to_start(id, &mut ahead);
                self.unfinished |= waits && placed > 0;
                // A gang before its gate says already that it waits for quota: it need not be looked at again.
                waits |= placed == 0 && self.books.gangs[id].is_past_gate();
                budget = budget.saturating_sub(placed);
                runs.extend(self.let_in_now(id));
                gang = self
                    .books
                    .turns
                    .range((std::ops::Bound::Excluded(rank), std::ops::Bound::Unbounded))
                    .next()
                    .map(|(rank, gang)| (rank.clone(), *gang));
            } else if let Some((head, key)) = run {
                runs.remove(&(head.clone(), key));
                let limit =
                    gang.as_ref().map(|(rank, _)| rank).into_iter().chain(runs.first().map(|(rank, _)| rank)).min();
                let (placed, next) = self.place_run(key, &head, limit.cloned().as_ref(), budget, &mut exhausted);
                self.unfinished |= waits && placed > 0;
                budget = budget.saturating_sub(placed);
                runs.extend(next.map(|rank| (rank, key)));
            }
        }
    }

    /// The first ask of every run that may find a node.
    fn run_heads(&self) -> BTreeSet<(Rank, (QueueId, ClassId))> {
        let heads = self.books.ordinary.iter().filter(|((_, class), _)| !self.planner.bounds.is_full(*class));
        heads.filter_map(|(key, asks)| Some((asks.first()?.0.clone(), *key))).collect()
    }

    /// The asks of an application without TaskGroups that was let in just now: they, too, take their turn in this pass.
    fn let_in_now(&self, id: GangId) -> Vec<(Rank, (QueueId, ClassId))> {
        let gang = &self.books.gangs[id];
        if !gang.groups.is_empty() {
            return Vec::new();
        }
        let own = gang.apps.iter().flat_map(|app| &self.books.apps[*app].asks).map(|ask| &self.books.asks[*ask]);
        own.filter_map(|ask| match ask.waits_for {
            WaitsFor::Room(queue, class) => Some((ask.rank(), (queue, class))),
            WaitsFor::Nothing | WaitsFor::Seat(_) | WaitsFor::Start(_) | WaitsFor::Queue => None,
        })
        .collect()
    }

    /// Bounds on room are brought up to date.
    fn widen(&mut self) {
        let grown = std::mem::take(&mut self.books.changes.grown);
        self.planner.bounds.widen(&self.books, &grown);
    }

    /// Places ordinary asks of one queue and class from `head` on, up to what stands at `limit` in the order. Returns
    /// how many were placed and where the run goes on.
    fn place_run(
        &mut self,
        (queue, class): (QueueId, ClassId),
        head: &Rank,
        limit: Option<&Rank>,
        budget: u32,
        exhausted: &mut BTreeSet<ClassId>,
    ) -> (u32, Option<Rank>) {
        let Some(waiting) = self.books.ordinary.get(&(queue, class)) else { return (0, None) };
        if exhausted.contains(&class) {
            return (0, None);
        }
        let within = |rank: &Rank| limit.is_none_or(|limit| rank <= limit || rank == head);
        let mut run: Vec<_> =
            waiting.iter().take_while(|(rank, _)| within(rank)).take(budget as usize).map(|(_, ask)| *ask).collect();
        let wanted = run.len();
        run.truncate(self.quota_for(queue, class, run.len()));
        if run.is_empty() {
            return (0, None);
        }
        let quota_bound = run.len() < wanted;
        let placed = self.place_some(queue, class, &run);
        if (placed as usize) < run.len() {
            exhausted.insert(class);
            return (placed, None);
        }
        let next = self.books.ordinary.get(&(queue, class)).and_then(|asks| asks.first()).map(|(rank, _)| rank.clone());
        (placed, next.filter(|_| !quota_bound))
    }

    /// How many of `count` pods of a class the quota of a queue allows now.
    fn quota_for(&self, queue: QueueId, class: ClassId, count: usize) -> usize {
        let request = &self.books.classes.shape(class).request;
        let fits = |count: usize| {
            let mut asked = Totals::default();
            asked.add(request, count as u32);
            self.books.queues.refuses(queue, &Ahead::default(), &asked).is_none()
        };
        if fits(count) {
            return count;
        }
        let (mut low, mut high) = (0, count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    fn place_some(&mut self, queue: QueueId, class: ClassId, run: &[AskId]) -> u32 {
        let placed = self.planner.fill_some(&self.books, class, run.len() as u32).to_vec();
        let nodes = placed.iter().flat_map(|placed| std::iter::repeat_n(placed.node, placed.count as usize));
        run.iter().zip(nodes).map(|(ask, node)| self.allocate(*ask, node, queue)).count() as u32
    }

    /// Gives an ordinary ask a node; a member takes an open seat of its group along.
    pub(in crate::core) fn allocate(&mut self, ask: AskId, node: crate::core::base::ids::NodeId, queue: QueueId) {
        let seat = self.clear_a_seat(ask);
        self.books.assume(ask, node, queue, seat);
        self.send(ask);
        if let Some(app) = self.books.asks[ask].app.filter(|app| self.books.apps[*app].groups.is_empty()) {
            self.transit(app, AppEvent::Run);
        }
    }

    /// A gang before its start takes its turn. Returns how many pods it placed.
    fn try_to_start(&mut self, id: GangId, ahead: &mut Ahead) -> u32 {
        let placed = self.try_gang(id, ahead);
        self.take_turn(id);
        if placed > 0 {
            self.books.touch_gang(id);
        }
        placed
    }
}
