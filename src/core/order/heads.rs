//! Who is first in line in each leaf queue, how often it was overtaken, and what is kept for it past the bound (01,
//! 1.2.6). Kept in memory: a new process counts anew (ADR 21).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::base::arena::Id;
use crate::core::base::ids::{ClassId, GangId, QueueId};
use crate::core::event::{HeadOfLine, Role};
use crate::core::model::ask::Rank;
use crate::core::model::changes::Outside;
use crate::core::model::front::{Chance, Front, TurnAsFirst};
use crate::core::model::node::Nodes;
use crate::core::model::queue::{First, Keep};
use crate::core::model::timers::Timer;
use crate::core::model::turn::{Line, PodLine, Turn};
use crate::core::place::planner::Planner;
use crate::core::reason::Reason;
use crate::core::show::queues::FirstReport;
use crate::core::step::Scheduler;
use crate::core::time::{Millis, Mono};

/// So many gangs are judged at once, one after another in line: each costs a plan.
const JUDGED_AT_ONCE: usize = 16;
/// How long what was judged is believed after nodes have changed.
const JUDGED_MS: Millis = 30_000;
/// A plan learns of one class at a time what does not fit; so many attempts are made.
const ATTEMPTS: usize = 16;

/// Who is first in line in each queue where somebody waits.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Heads {
    by_queue: BTreeMap<QueueId, Head>,
    /// Queues in which somebody has ceased to keep others waiting, each with the first place from which it did.
    released: BTreeMap<QueueId, Rank>,
    /// Queues in which somebody would, but for another one that has headroom kept which both want.
    yielding: BTreeSet<QueueId>,
    empty: Option<Box<Empty>>,
    /// Everything that is known of gangs' chances was found in this epoch.
    epoch: u64,
}

/// Who is first in line in a queue.
#[derive(Clone, Debug)]
struct Head {
    gang: GangId,
    rank: Rank,
    turn: TurnAsFirst,
    /// Since when it keeps those behind it waiting, and how that is said.
    holds: Option<(Mono, First)>,
    /// The queues that keep headroom for it.
    levels: BTreeSet<QueueId>,
}

/// The nodes without our own pods, and what is known about room there.
#[derive(Clone, Debug)]
struct Empty {
    nodes: Nodes,
    planner: Planner,
    made: Mono,
    outside: Outside,
}

impl Heads {
    /// Who keeps those behind it in a queue waiting.
    pub(in crate::core) fn of(&self, queue: QueueId) -> Option<First> {
        let (_, first) = self.by_queue.get(&queue)?.holds.as_ref()?;
        Some(first.clone())
    }

    /// Who is first in line in a queue, to be shown.
    pub(in crate::core) fn report(&self, queue: QueueId) -> Option<FirstReport> {
        let head = self.by_queue.get(&queue)?;
        let application = head.rank.key.to_string().into();
        Some(FirstReport { application, since: head.turn.since.wall, holds: head.holds.is_some() })
    }

    /// The same, if it is this gang.
    pub(in crate::core) fn is_of(&self, queue: QueueId, gang: GangId) -> Option<First> {
        self.of(queue).filter(|_| self.by_queue[&queue].gang == gang)
    }

    /// The same, if this place in the order is behind it.
    pub(in crate::core) fn keeps_waiting(&self, queue: QueueId, rank: &Rank) -> Option<First> {
        self.of(queue).filter(|_| self.by_queue[&queue].rank < *rank)
    }

    /// A class is not in use any more.
    pub(in crate::core) fn forget(&mut self, class: ClassId) {
        self.empty.iter_mut().for_each(|empty| empty.planner.bounds.forget(class));
    }

    /// In how many queues somebody is first in line.
    pub(in crate::core) fn len(&self) -> usize {
        self.by_queue.len()
    }

    /// The queues that keep headroom, in their order.
    pub(in crate::core) fn levels(&self) -> impl Iterator<Item = QueueId> {
        self.by_queue.values().flat_map(|head| &head.levels).copied().collect::<BTreeSet<_>>().into_iter()
    }

    fn holds(&self) -> bool {
        self.by_queue.values().any(|head| head.holds.is_some())
    }
}

impl Scheduler {
    /// How many applications may start now from this place in the order of a queue on; or who is first in line and keeps
    /// them waiting.
    pub(in crate::core) fn may_overtake(&mut self, queue: QueueId, rank: &Rank) -> Result<u32, First> {
        let queue = self.books.queues.leaf(queue);
        self.find_first(queue);
        let Some(head) = self.heads.by_queue.get(&queue) else { return Ok(u32::MAX) };
        if head.rank == *rank {
            // How its own turn ends decides whether it keeps others waiting, and where something is kept for it.
            self.books.changes.fronts.insert(queue);
        } else if head.rank < *rank && head.holds.is_none() && self.is_overtaken_enough(queue, head) {
            self.renew_head(queue);
        }
        self.heads.keeps_waiting(queue, rank).map_or_else(|| Ok(self.overtakes_left(queue, rank)), Err)
    }

    /// The next place in the order behind this one, in a queue or above it, that may keep those behind it waiting.
    pub(in crate::core) fn next_first(&self, queue: QueueId, rank: &Rank) -> Option<Rank> {
        let own = self.heads.by_queue.get(&self.books.queues.leaf(queue)).map(|head| &head.rank);
        let kept = self.books.queues.keeps_on_path(queue).map(|keep| &keep.rank);
        own.into_iter().chain(kept).filter(|first| *first > rank).min().cloned()
    }

    /// Whether somebody is first in line in a queue.
    pub(in crate::core) fn has_first(&self, queue: QueueId) -> bool {
        self.heads.by_queue.contains_key(&self.books.queues.leaf(queue))
    }

    /// An application starts that stands at this place in the order of a queue.
    pub(in crate::core) fn note_start(&mut self, queue: QueueId, rank: &Rank) {
        let HeadOfLine::MaxOvertakes(most) = self.books.queues.head_of_line(queue) else { return };
        let queue = self.books.queues.leaf(queue);
        let Some(head) = self.heads.by_queue.get_mut(&queue).filter(|head| head.rank < *rank) else { return };
        let overtakers = &mut head.turn.overtakers;
        // One whose Binding was refused starts a second time.
        let is_known = overtakers.iter().any(|(_, who)| who == rank);
        if !is_known && overtakers.len() < most as usize {
            overtakers.push((self.books.now.mono, rank.clone()));
            self.books.changes.fronts.insert(queue);
        }
    }

    /// Looks at who is first in line where that may have changed, or where a bound was passed.
    pub(in crate::core) fn renew_heads(&mut self) {
        let mut later = BTreeSet::new();
        for queue in std::mem::take(&mut self.books.changes.fronts) {
            if !self.renew_head(queue) {
                later.insert(queue);
            }
            self.set_bound(queue);
        }
        self.books.changes.fronts.extend(later);
        for queue in std::mem::take(&mut self.heads.released).into_keys() {
            self.release(queue);
        }
        let now = self.books.now.mono;
        if !self.heads.holds() && self.heads.empty.as_ref().is_some_and(|empty| now >= empty.made.after(JUDGED_MS)) {
            self.heads.empty = None;
        }
    }

    /// Nodes have changed, or somebody asks for something else: judges anew whoever was judged before that, if it keeps
    /// others waiting or is impossible.
    pub(in crate::core) fn look_at_chances_again(&mut self) {
        let mut impossible = Vec::new();
        for (queue, front) in &self.books.fronts {
            // One more than are judged says that some are left.
            impossible.extend(front.impossible().take(JUDGED_AT_ONCE + 1));
            self.books.changes.fronts.insert(*queue);
        }
        let firsts: Vec<_> = self.books.fronts.values().filter_map(|front| Some(front.first()?.1)).collect();
        firsts.into_iter().for_each(|id| self.books.doubt(id));
        impossible.sort_unstable();
        self.books.changes.doubted |= impossible.len() > JUDGED_AT_ONCE;
        for (_, id) in impossible.into_iter().take(JUDGED_AT_ONCE) {
            self.judge_chance(id);
        }
    }

    /// Sets the time of [`Self::look_at_chances_again`].
    pub(in crate::core) fn look_at_chances_later(&mut self) {
        let epoch = self.books.changes.outside.epoch();
        let doubted = std::mem::take(&mut self.books.changes.doubted);
        if self.books.timers.is_set(Timer::Chances) || !doubted && self.heads.epoch == epoch {
            return;
        }
        if self.books.fronts.values().any(|front| front.is_old(&self.books, epoch)) {
            self.books.timers.set(Timer::Chances, self.books.now.mono.after(JUDGED_MS));
        } else {
            self.heads.epoch = epoch;
        }
    }

    /// Brings who is first in line in a queue up to date, and what is kept for it. Whether that is known: else so many
    /// were found impossible that the next ones are left to another look.
    fn renew_head(&mut self, queue: QueueId) -> bool {
        for _ in 0..JUDGED_AT_ONCE {
            self.find_first(queue);
            let Some(head) = self.heads.by_queue.get(&queue) else { return true };
            if !self.is_overtaken_enough(queue, head) {
                self.let_go(queue);
                return true;
            }
            if self.has_chance(head.gang) {
                self.keep_others_waiting(queue);
                return true;
            }
            self.pass_on(queue);
        }
        false
    }

    fn has_chance(&mut self, id: GangId) -> bool {
        match self.books.gangs[id].chance() {
            Some(Chance::Possible(_)) => true,
            Some(Chance::Unknown) => self.judge_chance(id),
            Some(Chance::Impossible(_)) | None => false,
        }
    }

    /// Notes who is first in line in a queue. One that is so again goes on where it was.
    fn find_first(&mut self, queue: QueueId) {
        self.judge_newcomer(queue);
        let first = self.books.fronts.get(&queue).and_then(Front::first);
        match (first, self.heads.by_queue.get_mut(&queue)) {
            (None, _) => self.drop_head(queue),
            (Some((rank, id)), Some(head)) if head.gang == id => {
                if head.rank != *rank {
                    let old = std::mem::replace(&mut head.rank, rank.clone());
                    if head.holds.is_some() {
                        if *rank < old {
                            self.wake_those_in(queue);
                        }
                        self.note_released(queue, old);
                    }
                }
            }
            (Some((rank, gang)), _) => {
                let rank = rank.clone();
                self.drop_head(queue);
                let known = self.books.gangs[gang].place().and_then(|place| place.turn_as_first.clone());
                let new = || TurnAsFirst { since: self.books.now, overtakers: Vec::new() };
                self.put_first(queue, (rank, gang), known.unwrap_or_else(new));
            }
        }
    }

    /// Who comes before a gang that keeps others waiting is first in line if it is possible, and not before that is known.
    fn judge_newcomer(&mut self, queue: QueueId) {
        for _ in 0..JUDGED_AT_ONCE {
            let Some(head) = self.heads.by_queue.get(&queue).filter(|head| head.holds.is_some()) else { return };
            let first = self.books.fronts.get(&queue).and_then(Front::first).map(|(_, id)| id);
            let newcomer =
                first.filter(|id| *id != head.gang && self.books.gangs[*id].chance() == Some(Chance::Unknown));
            if newcomer.is_none_or(|id| self.judge_chance(id)) {
                return;
            }
        }
    }

    fn put_first(&mut self, queue: QueueId, (rank, gang): (Rank, GangId), turn: TurnAsFirst) {
        self.heads.by_queue.insert(queue, Head { gang, rank, turn, holds: None, levels: BTreeSet::new() });
        self.books.changes.queues.insert(queue);
        self.set_bound(queue);
    }

    /// Who was first in line is impossible: the next one has been first since it came, and who overtook the one before
    /// it has overtaken it, too, if it stands behind it.
    fn pass_on(&mut self, queue: QueueId) {
        let Some(old) = self.heads.by_queue.get(&queue).map(|head| head.turn.clone()) else { return };
        self.drop_head(queue);
        let first = self.books.fronts.get(&queue).and_then(Front::first);
        let Some((rank, id)) = first.map(|(rank, id)| (rank.clone(), id)) else { return };
        let Some(place) = self.books.gangs[id].place() else { return };
        let since = if place.since.mono > old.since.mono { place.since } else { old.since };
        let overtakers = old.overtakers.into_iter().filter(|(at, who)| *at >= since.mono && *who > rank).collect();
        let inherited = TurnAsFirst { since, overtakers };
        let own = place.turn_as_first.clone().filter(|own| own.since.mono <= since.mono);
        self.put_first(queue, (rank, id), own.unwrap_or(inherited));
    }

    fn drop_head(&mut self, queue: QueueId) {
        self.let_go(queue);
        if let Some(head) = self.heads.by_queue.remove(&queue) {
            self.books.changes.queues.insert(queue);
            self.books.timers.stop(Timer::Head(queue));
            self.books.remember_turn(head.gang, head.turn);
        }
    }

    fn is_overtaken_enough(&self, queue: QueueId, head: &Head) -> bool {
        match self.books.queues.head_of_line(queue) {
            HeadOfLine::Unbounded => false,
            HeadOfLine::MaxOvertakes(most) => head.turn.overtakers.len() >= most as usize,
            HeadOfLine::After(time) => self.books.now.mono >= head.turn.since.mono.after(time),
        }
    }

    fn overtakes_left(&self, queue: QueueId, rank: &Rank) -> u32 {
        let head = self.heads.by_queue.get(&queue).filter(|head| head.rank < *rank);
        match (head, self.books.queues.head_of_line(queue)) {
            // Past the bound it waits without keeping others: another one is kept headroom, or it is being judged.
            (Some(head), HeadOfLine::MaxOvertakes(most)) if head.turn.overtakers.len() < most as usize => {
                most - head.turn.overtakers.len() as u32
            }
            (Some(_) | None, _) => u32::MAX,
        }
    }

    /// Looks again when the first in line has waited for as long as it may be overtaken.
    fn set_bound(&mut self, queue: QueueId) {
        let Some(head) = self.heads.by_queue.get(&queue) else { return };
        match self.books.queues.head_of_line(queue) {
            HeadOfLine::After(time) if !self.is_overtaken_enough(queue, head) => {
                self.books.timers.set(Timer::Head(queue), head.turn.since.mono.after(time));
            }
            HeadOfLine::After(_) | HeadOfLine::MaxOvertakes(_) | HeadOfLine::Unbounded => {
                self.books.timers.stop(Timer::Head(queue));
            }
        }
    }

    /// Who is first in line in a queue keeps those behind it waiting from now on, and has the headroom that it lacks kept
    /// for it; unless somebody has done so longer where both want it.
    fn keep_others_waiting(&mut self, queue: QueueId) {
        let Some(head) = self.heads.by_queue.get(&queue) else { return };
        let (id, rank) = (head.gang, head.rank.clone());
        if !self.lacks_what_others_have(id, head.holds.is_some()) {
            return self.let_go(queue);
        }
        let (need, levels) = (self.books.open_ask(id), self.levels_of(queue, head));
        let begun = head.holds.as_ref().map_or(self.books.now.mono, |(since, _)| *since);
        let keeps = levels.iter().filter_map(|level| self.books.queues[*level].keeps.as_ref());
        let others: Vec<_> = keeps.filter(|keep| keep.leaf != queue).cloned().collect();
        if others.iter().any(|keep| (keep.since, &keep.rank) < (begun, &rank)) {
            self.heads.yielding.insert(queue);
            return self.let_go(queue);
        }
        others.iter().for_each(|keep| self.let_go(keep.leaf));
        self.heads.yielding.extend(others.iter().map(|keep| keep.leaf));
        let first = self.begin_to_hold(queue, &rank);
        let old = self.heads.by_queue.get_mut(&queue).map(|head| std::mem::replace(&mut head.levels, levels.clone()));
        for level in old.unwrap_or_default().difference(&levels) {
            self.keep_nothing(*level);
        }
        for level in levels {
            let (need, rank, first) = (need.clone(), rank.clone(), first.clone());
            self.books.queues.keep(level, Some(Keep { leaf: queue, rank, need, since: begun, first }));
        }
    }

    /// Whether a gang waits for quota or for nodes, which others give back when they end. One that begins to reserve goes
    /// on keeping others waiting (`holds`) until it has what it lacks.
    fn lacks_what_others_have(&self, id: GangId, holds: bool) -> bool {
        if self.lacks_place(id).is_some() {
            // Its place is kept by somebody who may be behind it, and has not started.
            return false;
        }
        let Some(reason) = &self.books.gangs[id].waits else { return holds };
        match reason {
            Reason::WaitingForQuota(_) | Reason::WaitingForCapacity { .. } | Reason::WaitingBehind { .. } => true,
            Reason::WaitingForPlaceholders { .. }
            | Reason::PlaceholderRejected(_)
            | Reason::PlaceholdersLost(_)
            | Reason::WaitingForApplications { .. }
            | Reason::WaitingForStart { .. }
            | Reason::WaitingForTaskGroups { .. }
            | Reason::WaitingForEdit { .. }
            | Reason::WaitingForQueues { .. }
            | Reason::WaitingForNamespace { .. }
            | Reason::WaitingForFirstPod
            | Reason::MembersRefused { .. }
            | Reason::WaitingForMembers { .. }
            | Reason::WaitingForRound { .. }
            | Reason::RoundWaitsForQuota(_) => false,
            Reason::WaitingForFirst(_)
            | Reason::Pausing
            | Reason::Settling
            | Reason::CreatingPlaceholders { .. }
            | Reason::BindingPlaceholders { .. }
            | Reason::Held
            | Reason::PlaceholdersLeaving { .. }
            | Reason::WaitingForNextLife { .. }
            | Reason::JoinedLate { .. }
            | Reason::ReservationLost { .. } => holds,
        }
    }

    /// The queues up to the one that refuses a gang now; past the gate those that refused it before.
    fn levels_of(&self, queue: QueueId, head: &Head) -> BTreeSet<QueueId> {
        if self.books.gangs[head.gang].turn().is_some_and(Turn::is_past_gate) {
            return head.levels.clone();
        }
        let (need, queues) = (self.books.open_ask(head.gang), &self.books.queues);
        let refuser = queues.refuses(queue, &need).and_then(|refused| queues.find(&refused.queue));
        let above = refuser.and_then(|refuser| queues[refuser].parent);
        let path = queues.path(queue).take_while(|level| refuser.is_some() && Some(*level) != above);
        path.filter(|level| !queues[*level].spec.max.is_unlimited()).collect()
    }

    fn begin_to_hold(&mut self, queue: QueueId, rank: &Rank) -> First {
        let (now, path) = (self.books.now, self.books.queues[queue].path.clone());
        let head = self.heads.by_queue.get_mut(&queue).expect("it is first in line");
        if let Some((_, first)) = &head.holds {
            return first.clone();
        }
        let first = First { application: rank.key.to_string().into(), queue: path, since: now.wall };
        head.holds = Some((now.mono, first.clone()));
        self.books.changes.queues.insert(queue);
        self.books.changes.groups.extend(&self.books.gangs[head.gang].groups);
        // Those who waited for the one behind which it stands wait for it, and are told before long.
        if self.heads.released.get(&queue).is_none_or(|before| rank < before) {
            self.wake_those_in(queue);
        }
        first
    }

    /// Headroom of a queue is kept for nobody any more: those who wanted it, too, may have it.
    fn keep_nothing(&mut self, level: QueueId) {
        self.books.queues.keep(level, None);
        self.books.changes.fronts.append(&mut self.heads.yielding);
    }

    /// Whoever waits in a queue for something else waits for who is first in line from now on.
    fn wake_those_in(&mut self, queue: QueueId) {
        let (books, lines) = (&self.books, &mut self.lines);
        for queue in books.queues.with_parts(queue) {
            let least = PodLine { queue, class: ClassId::new(0, 0), starts: false, app: None };
            let pods = books.ordinary.range(least..).map(|(line, _)| line).take_while(|line| line.queue == queue);
            pods.filter(|line| line.starts).for_each(|line| lines.wake_anew(&Line::Pods(*line)));
            let at_gate = books.gate.range((queue, Arc::default())..).take_while(|((of, _), _)| *of == queue);
            at_gate.for_each(|((_, form), _)| lines.wake(&Line::Gate(queue, form.clone())));
        }
        let past_gate = books.queues[queue].claims.iter().map(|(_, claim)| claim.gang);
        past_gate.for_each(|gang| lines.wake(&Line::Gang(gang)));
    }

    /// Nobody waits for who is first in line in a queue any more.
    fn let_go(&mut self, queue: QueueId) {
        let Some(head) = self.heads.by_queue.get_mut(&queue).filter(|head| head.holds.is_some()) else { return };
        head.holds = None;
        self.books.changes.queues.insert(queue);
        let (levels, gang, rank) = (std::mem::take(&mut head.levels), head.gang, head.rank.clone());
        levels.into_iter().for_each(|level| self.keep_nothing(level));
        self.note_released(queue, rank);
        self.books.changes.groups.extend(self.books.gangs.get(gang).into_iter().flat_map(|gang| &gang.groups));
        self.books.changes.pass_due = true;
    }

    /// Somebody has ceased to keep those behind this place of a queue waiting.
    fn note_released(&mut self, queue: QueueId, rank: Rank) {
        let before = self.heads.released.entry(queue).or_insert_with(|| rank.clone());
        *before = before.clone().min(rank);
    }

    /// Nobody keeps others waiting in a queue any more, or another gang does, further behind.
    fn release(&mut self, queue: QueueId) {
        let next = self.heads.by_queue.get(&queue).filter(|head| head.holds.is_some()).map(|head| &head.rank);
        self.lines.first_gone(queue, next);
        if next.is_some() {
            self.tell_numbers_later(queue);
        }
    }

    /// Finds out whether a gang would find nodes if none of our pods were there.
    fn judge_chance(&mut self, id: GangId) -> bool {
        self.renew_empty();
        let form = self.books.form_of(id);
        let Some(empty) = &mut self.heads.empty else { return false };
        std::mem::swap(&mut self.books.nodes, &mut empty.nodes);
        let mut attempts = (0..ATTEMPTS).map(|_| empty.planner.try_out_on_empty(&self.books, id, &form));
        let last = attempts.find(|short| short.is_none_or(|short| !short.goes_on));
        let is_possible = matches!(last, Some(None));
        std::mem::swap(&mut self.books.nodes, &mut empty.nodes);
        self.books.release_form(&form);
        let epoch = self.books.changes.outside.epoch();
        let chance = if is_possible { Chance::Possible(epoch) } else { Chance::Impossible(epoch) };
        self.books.judge_in_front(id, chance);
        is_possible
    }

    /// Brings the picture of the nodes without our pods up to date. Pods of others may be as they were a while ago.
    fn renew_empty(&mut self) {
        let (now, outside) = (self.books.now.mono, self.books.changes.outside);
        let is_young = |empty: &Empty| now < empty.made.after(JUDGED_MS) && empty.outside.nodes == outside.nodes;
        if self.heads.empty.as_ref().is_some_and(|empty| empty.outside == outside || is_young(empty)) {
            return;
        }
        let mut nodes = self.books.nodes.clone();
        for (node, ..) in self.books.nodes.iter() {
            let residents = self.books.residents.get(&node).into_iter().flatten();
            let own = residents.map(|id| &self.books.asks[*id]).filter(|ask| ask.spec.role != Role::Foreign);
            for (ask, charge) in own.filter_map(|ask| Some((ask, ask.charge.as_ref()?))) {
                nodes.discharge(node, &charge.on_node, &ask.spec.shape.ports);
            }
            for kept in self.books.kept_on.get(&node).into_iter().flatten() {
                if let Some((node, request, ports)) = self.books.kept[*kept].on_node(&self.books) {
                    nodes.discharge(node, request, ports);
                }
            }
        }
        self.heads.empty = Some(Box::new(Empty { nodes, planner: Planner::default(), made: now, outside }));
    }
}
