//! Lines of waiting work: which are due in the next pass, and what wakes the others. So the cost of a pass follows what
//! changed, and not how much waits.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{ClassId, QueueId, Text};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;
use crate::core::model::gang::Room;
use crate::core::model::queue::Queues;
use crate::core::model::turn::{Line, PodLine};
use crate::core::reason::Reason;

/// All lines that hold somebody, and no other.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Lines {
    due: BTreeSet<Line>,
    asleep: BTreeMap<Line, Asleep>,
    /// By queue and by the limit that refused (`None`: that of applications), in the order of how much each asks for.
    by_limit: BTreeMap<QueueId, BTreeMap<Option<Text>, Asks>>,
    by_class: BTreeMap<ClassId, BTreeSet<Line>>,
    for_any_room: BTreeSet<Line>,
    /// By the namespace in which too many placeholders are asked for.
    by_namespace: BTreeMap<Text, BTreeSet<Line>>,
    /// By the `StateAware` queue in which another gang starts.
    by_starting: BTreeMap<QueueId, BTreeSet<Line>>,
    /// By the queue of who is first in line, in the order of the first of each.
    by_first: BTreeMap<QueueId, BTreeSet<(Rank, Line)>>,
    /// By queue and limited resource, in the order of how much each asks for.
    by_ask: BTreeMap<(QueueId, Text), Asks>,
    /// Queues that those who wait for them were told old numbers of.
    old_numbers: BTreeSet<QueueId>,
    /// What the pods of a line, or the gangs at the gate, were told.
    pub(in crate::core) told: BTreeMap<Line, Told>,
}

/// Lines in the order of how much they ask for.
type Asks = BTreeSet<(i128, Line)>;

/// What a line waits for: it is due again with the first of these.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Until {
    /// A limit may hold the first of the line.
    pub(in crate::core) limit: Option<Hold>,
    /// Nodes have more room.
    pub(in crate::core) room: Option<Room>,
    /// Who is first in line in this queue, and keeps the line waiting, does not any more; with the place of the first of
    /// the line.
    pub(in crate::core) first: Option<(QueueId, Rank)>,
    /// Gangs of this namespace ask for fewer placeholders.
    pub(in crate::core) namespace: Option<Text>,
    /// A gang of this queue has started, or waits for nodes.
    pub(in crate::core) starting: Option<QueueId>,
    /// The limits on the path of this queue do not hold so much any more: then it waits for something else.
    pub(in crate::core) refused: Option<(QueueId, Totals)>,
}

/// A limit that held a line up.
#[derive(Clone, Debug)]
pub(in crate::core) struct Hold {
    /// Whose limit.
    pub(in crate::core) queue: QueueId,
    /// Of which resource; `None`: of applications.
    pub(in crate::core) resource: Option<Text>,
    /// How much of it the first of the line asks for; of applications one.
    pub(in crate::core) asked: i128,
    /// It was refused for what others claim who stand before this place of its queue, or for what is kept for one of them.
    pub(in crate::core) behind: Option<(QueueId, Rank, Before)>,
}

/// A line that is not due.
#[derive(Clone, Debug)]
struct Asleep {
    until: Until,
    /// What [`Until::refused`] asks of limits on the path, as these were when the line fell asleep.
    asks: Vec<(QueueId, Text, i128)>,
}

/// Why those in a line wait, as far as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::core) enum Told {
    /// Pods.
    Pods(PodsWait),
    /// Gangs at the gate.
    Gangs {
        /// Why.
        reason: Reason,
        /// All are to be told anew, since the numbers have changed.
        again: bool,
    },
}

/// What the pods of a line wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum PodsWait {
    /// A node.
    Room,
    /// Quota, perhaps kept for somebody who is first in line.
    Quota,
    /// Who is first in line in their queue.
    First,
}

impl Until {
    /// Until somebody in the line changes.
    pub(in crate::core) fn it_changes() -> Self {
        Self::default()
    }
}

impl Lines {
    /// A line is looked at in the next pass.
    pub(in crate::core) fn wake(&mut self, line: &Line) {
        self.rouse(line);
        self.due.insert(line.clone());
    }

    /// Nobody stands in a line any more.
    pub(in crate::core) fn forget(&mut self, line: &Line) {
        self.rouse(line);
        self.due.remove(line);
        self.told.remove(line);
    }

    /// A line is not looked at before what it waits for has come.
    pub(in crate::core) fn sleep(&mut self, queues: &Queues, line: Line, until: Until) {
        self.rouse(&line);
        self.due.remove(&line);
        if let Some(Hold { queue, resource, asked, .. }) = &until.limit {
            let of_queue = self.by_limit.entry(*queue).or_default();
            of_queue.entry(resource.clone()).or_default().insert((*asked, line.clone()));
        }
        match until.room {
            Some(Room::For(class, _)) => drop(self.by_class.entry(class).or_default().insert(line.clone())),
            Some(Room::Any) => drop(self.for_any_room.insert(line.clone())),
            None => {}
        }
        if let Some((queue, rank)) = &until.first {
            self.by_first.entry(*queue).or_default().insert((rank.clone(), line.clone()));
        }
        if let Some(namespace) = &until.namespace {
            self.by_namespace.entry(namespace.clone()).or_default().insert(line.clone());
        }
        if let Some(queue) = until.starting {
            self.by_starting.entry(queue).or_default().insert(line.clone());
        }
        let asks = until.refused.as_ref().map_or_else(Vec::new, |(queue, asked)| asks_of_limits(queues, *queue, asked));
        for (queue, resource, amount) in &asks {
            self.by_ask.entry((*queue, resource.clone())).or_default().insert((*amount, line.clone()));
        }
        self.asleep.insert(line, Asleep { until, asks });
    }

    /// The lines that are due, in no order that means anything.
    pub(in crate::core) fn take_due(&mut self) -> BTreeSet<Line> {
        std::mem::take(&mut self.due)
    }

    /// Whether a line is due.
    pub(in crate::core) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Who was first in line in a queue keeps nobody waiting any more, or nobody up to this place, from which on another
    /// gang does.
    pub(in crate::core) fn first_gone(&mut self, queue: QueueId, next: Option<&Rank>) {
        let behind = self.by_first.get(&queue).into_iter().flatten();
        let free = behind.take_while(|(rank, _)| next.is_none_or(|next| rank <= next));
        let free: Vec<_> = free.map(|(_, line)| line.clone()).collect();
        free.iter().for_each(|line| self.wake_anew(line));
    }

    /// Who keeps a line waiting changes. Pods say what is so when they are shown, which may be another thing than the last
    /// pass found: whatever the next one finds is told again.
    pub(in crate::core) fn wake_anew(&mut self, line: &Line) {
        if matches!(line, Line::Pods(_)) {
            self.told.remove(line);
        }
        self.wake(line);
    }

    /// A gang of a queue has started, or waits for nodes.
    pub(in crate::core) fn calmed(&mut self, queue: QueueId) {
        for line in self.by_starting.remove(&queue).unwrap_or_default() {
            self.wake(&line);
        }
    }

    /// Fewer placeholders are asked for in a namespace.
    pub(in crate::core) fn freed(&mut self, namespace: &Text) {
        for line in self.by_namespace.remove(namespace).unwrap_or_default() {
            self.wake(&line);
        }
    }

    /// The limits of a queue may hold more: wakes those who fit beside what is used and claimed. What is kept for somebody
    /// who is first in line is looked at in their turn.
    pub(in crate::core) fn loosened(&mut self, queues: &Queues, queue: QueueId) {
        let left = |resource: &Option<Text>| {
            let queue = queues.get(queue)?;
            match resource {
                Some(resource) => queue.left_of(resource),
                None => Some(i128::from(queue.spec.max_applications?) - i128::from(queue.admitted)),
            }
        };
        let mut held = Vec::new();
        for (resource, asks) in self.by_limit.get(&queue).into_iter().flatten() {
            let left = left(resource).unwrap_or(i128::MAX);
            let fit = asks.iter().take_while(|(asked, _)| *asked <= left).map(|(_, line)| line);
            held.extend(fit.filter(|line| self.fits_behind(queues, line, left)).cloned());
        }
        held.iter().for_each(|line| self.wake(line));
    }

    /// Whether a line fits beside the claims for which it was refused, with so much left beside what is used.
    fn fits_behind(&self, queues: &Queues, line: &Line, left: i128) -> bool {
        let hold = self.asleep[line].until.limit.as_ref();
        let Some(Hold { queue, resource: Some(resource), asked, behind: Some((leaf, rank, which)) }) = hold else {
            return true;
        };
        if queues.get(*queue).is_none() || queues.get(*leaf).is_none() {
            return true;
        }
        asked + queues.claimed_before(*queue, (*leaf, rank), *which).1.get(resource) <= left
    }

    /// A limit of a queue may hold less; `kept`: since something is kept there that was not.
    pub(in crate::core) fn tightened(&mut self, queues: &Queues, queue: QueueId, kept: bool) {
        let Some(limited) = queues.get(queue) else { return };
        for resource in limited.spec.max.names() {
            let kept = limited.keeps.as_ref().filter(|_| kept).map_or(0, |keep| keep.need.get(resource));
            let left = limited.left_of(resource).unwrap_or(0) - kept;
            let Some(asks) = self.by_ask.get(&(queue, resource.clone())) else { continue };
            let refused: Vec<_> = asks.iter().rev().take_while(|(asked, _)| *asked > left).cloned().collect();
            refused.iter().for_each(|(_, line)| self.wake(line));
        }
    }

    /// Some queue has another spec: what each line asks of limits is looked at anew, also which of them count for whom, and whether only
    /// one gang starts at a time.
    pub(in crate::core) fn relimited(&mut self) {
        let depends = |(_, asleep): &(&Line, &Asleep)| {
            let until = &asleep.until;
            until.refused.is_some() || until.limit.is_some() || until.starting.is_some()
        };
        let lines: Vec<_> = self.asleep.iter().filter(depends).map(|(line, _)| line.clone()).collect();
        lines.iter().for_each(|line| self.wake(line));
    }

    /// So many of a class may fit now.
    pub(in crate::core) fn widened(&mut self, class: ClassId, room: u32) {
        let fits = |line: &&Line| matches!(self.asleep[*line].until.room, Some(Room::For(_, need)) if need <= room);
        let lines: Vec<_> = self.by_class.get(&class).into_iter().flatten().filter(fits).cloned().collect();
        lines.iter().for_each(|line| self.wake(line));
    }

    /// Some node has more room.
    pub(in crate::core) fn any_room(&mut self) {
        for line in std::mem::take(&mut self.for_any_room) {
            self.wake(&line);
        }
    }

    /// Whether somebody waits for a limit, or is about to be looked at and may wait for the same as before.
    pub(in crate::core) fn wait_for_limits(&self) -> bool {
        !self.by_limit.is_empty() || !self.due.is_empty()
    }

    /// The numbers in what was told to those who wait for a limit of a queue are not true any more.
    pub(in crate::core) fn numbers_changed(&mut self, queue: QueueId) {
        self.old_numbers.insert(queue);
    }

    /// All who wait for such queues, or for one below, are told anew: another limit on the path may be the first that
    /// does not hold them. So are those who are looked at anyway, since of these only who is new would be told. Returns
    /// the lines of pods, whose reasons are made when they are shown.
    pub(in crate::core) fn tell_numbers(&mut self, queues: &Queues) -> Vec<PodLine> {
        let old = std::mem::take(&mut self.old_numbers);
        let is_old = |queue: QueueId| queues.get(queue).is_some() && queues.charged(queue).any(|at| old.contains(&at));
        let held = old.iter().filter_map(|queue| self.by_limit.get(queue)).flat_map(BTreeMap::values).flatten();
        let mut lines: BTreeSet<Line> = held.map(|(_, line)| line.clone()).chain(self.due.iter().cloned()).collect();
        lines.extend(self.told.keys().filter(|line| line.queue().is_some_and(is_old)).cloned());
        let mut pods = Vec::new();
        for line in lines {
            match (self.told.get_mut(&line), &line) {
                (Some(Told::Gangs { again, .. }), _) => {
                    *again = true;
                    self.wake(&line);
                }
                (Some(Told::Pods(PodsWait::Quota | PodsWait::First)), Line::Pods(line)) => pods.push(*line),
                // It is told by its own turn.
                (_, Line::Gang(_)) => self.wake(&line),
                (Some(Told::Pods(_)) | None, Line::Pods(..) | Line::Gate(..)) => {}
            }
        }
        pods
    }

    /// How many are remembered.
    pub(in crate::core) fn sizes(&self) -> [(&'static str, usize); 4] {
        let indexed = self.by_limit.len()
            + self.by_class.len()
            + self.for_any_room.len()
            + self.by_starting.len()
            + self.by_first.len()
            + self.by_namespace.len()
            + self.by_ask.len();
        [
            ("lines", self.due.len() + self.asleep.len()),
            ("what lines wait for", indexed),
            ("old numbers", self.old_numbers.len()),
            ("told", self.told.len()),
        ]
    }

    /// Whether a line is due or asleep.
    pub(in crate::core) fn knows(&self, line: &Line) -> bool {
        self.due.contains(line) || self.asleep.contains_key(line)
    }

    /// All lines.
    pub(in crate::core) fn iter(&self) -> impl Iterator<Item = &Line> {
        self.due.iter().chain(self.asleep.keys())
    }

    /// Takes a line out of those that sleep.
    fn rouse(&mut self, line: &Line) {
        let Some(Asleep { until, asks }) = self.asleep.remove(line) else { return };
        if let Some(Hold { queue, resource, asked, .. }) = until.limit {
            let of_queue = self.by_limit.entry(queue).or_default();
            leave(of_queue, &resource, &(asked, line.clone()));
            if of_queue.is_empty() {
                self.by_limit.remove(&queue);
            }
        }
        match until.room {
            Some(Room::For(class, _)) => leave(&mut self.by_class, &class, line),
            Some(Room::Any) => drop(self.for_any_room.remove(line)),
            None => {}
        }
        if let Some(queue) = until.starting {
            leave(&mut self.by_starting, &queue, line);
        }
        if let Some((queue, rank)) = until.first {
            leave(&mut self.by_first, &queue, &(rank, line.clone()));
        }
        if let Some(namespace) = until.namespace {
            leave(&mut self.by_namespace, &namespace, line);
        }
        for (queue, resource, amount) in asks {
            leave(&mut self.by_ask, &(queue, resource), &(amount, line.clone()));
        }
    }
}

/// What an ask takes of each limit on the path of a queue.
fn asks_of_limits(queues: &Queues, queue: QueueId, asked: &Totals) -> Vec<(QueueId, Text, i128)> {
    let limits = queues.charged(queue).flat_map(|at| queues[at].spec.max.names().map(move |name| (at, name)));
    limits.map(|(at, name)| (at, name.clone(), asked.get(name))).filter(|(_, _, amount)| *amount > 0).collect()
}

fn leave<K: Ord, L: Ord>(index: &mut BTreeMap<K, BTreeSet<L>>, key: &K, line: &L) {
    if let Some(lines) = index.get_mut(key) {
        lines.remove(line);
        if lines.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::arena::Id;

    #[test]
    fn who_is_looked_at_anyway_is_told_other_numbers_too() {
        let queue = QueueId::new(1, 0);
        let line = |at| Line::Gate(QueueId::new(at, 0), Default::default());
        let mut lines = Lines::default();
        for at in [1, 2, 3] {
            let told = Told::Gangs { reason: Reason::Settling, again: false };
            lines.told.insert(line(at), told);
        }
        let limit = |queue| Some(Hold { queue, resource: None, asked: 1, behind: None });
        for (at, queue) in [(1, queue), (3, QueueId::new(3, 0))] {
            lines.sleep(&Queues::default(), line(at), Until { limit: limit(queue), ..Until::default() });
        }
        lines.wake(&line(2));
        lines.numbers_changed(queue);
        lines.tell_numbers(&Queues::default());
        let again = [1, 2, 3].map(|at| matches!(lines.told[&line(at)], Told::Gangs { again: true, .. }));
        assert_eq!((again, lines.take_due().len()), ([true, true, false], 2), "the third waits for another queue");
    }
}
