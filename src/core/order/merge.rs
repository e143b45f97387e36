//! The lines that take their turn in a pass, merged: whose turn is next (01, 1.2.5, 1.12). Queues come in the order of how far
//! they are below what they are promised, and then of the first of each; the lines of one queue by its policy. A turn changes the
//! places of its own queue and of those above it, and of no other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::core::base::ids::{AppId, QueueId};
use crate::core::base::resources::{Limit, Resources};
use crate::core::base::share::Share;
use crate::core::model::ask::Rank;
use crate::core::model::books::Books;
use crate::core::model::queue::Queues;
use crate::core::model::queue::standing::{Seen, Standing};
use crate::core::model::turn::{Line, PodLine};

/// The place of the first of a line in the order of its queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    priority: Reverse<i32>,
    /// What its application uses, where the queue is `Fair`; nothing elsewhere.
    share: Share,
    /// Its place in the order of submission.
    pub(super) rank: Rank,
}

/// A line whose turn it is.
pub(super) struct Due {
    /// Its queue.
    pub(super) queue: QueueId,
    /// The place of its first.
    pub(super) spot: Spot,
    /// It.
    pub(super) line: Line,
}

/// Lines in the order of their turns: a tree of the queues in which some are due.
#[derive(Debug, Default)]
pub(super) struct Merge {
    /// By queue; `None`: above the root, or above all queues where none is promised anything.
    nodes: BTreeMap<Option<QueueId>, Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// Queues directly below it, in the order in which it sees them.
    below: BTreeSet<(Seen, QueueId)>,
    /// Lines of its own.
    lines: BTreeSet<(Spot, Line)>,
    /// Where the queue above has it.
    place: Option<Seen>,
}

/// How far a line may go on in its turn before that of another one comes.
#[derive(Debug, Default)]
pub(in crate::core) struct Reach {
    /// Its queue and those above it.
    path: Vec<QueueId>,
    /// Up to this place in the order of submission.
    rank: Option<Rank>,
    /// As long as its application uses less than this.
    share: Option<Share>,
    /// As long as so many queues of the path, from the leaf upwards, are served less well than this.
    standings: Vec<(usize, Standing)>,
}

impl Spot {
    /// The place of a line whose first has this rank.
    pub(super) fn of(books: &Books, line: &Line, rank: Rank) -> Self {
        let share = match line {
            Line::Pods(PodLine { queue, app: Some(app), .. }) => {
                Measure::of(books, *queue).share(books, *app, (&Resources::default(), 0))
            }
            Line::Pods(_) | Line::Gate(..) | Line::Gang(_) => Share::NOTHING,
        };
        Self { priority: rank.priority, share, rank }
    }
}

impl Due {
    /// The place of the next gang in a line before the gate: that has another turn.
    fn behind(&self, books: &Books) -> Option<Spot> {
        let Line::Gate(queue, form) = &self.line else { return None };
        let gangs = &books.gate.get(&(*queue, form.clone()))?.gangs;
        let (rank, _) = gangs.range::<Rank, _>((Bound::Excluded(&self.spot.rank), Bound::Unbounded)).next()?;
        Some(Spot::of(books, &self.line, rank.clone()))
    }
}

impl Node {
    /// Its first line, or the first of the queues below it, as it sees them.
    fn first(&self, queues: &Queues, own: Option<QueueId>) -> Option<Seen> {
        let line = self.lines.first().zip(own).map(|((spot, _), own)| queues.seen_within(own, &spot.rank));
        let below = self.below.first().map(|(seen, _)| seen);
        match (line, below) {
            (Some(line), Some(below)) => Some(line.min(below.clone())),
            (line, below) => line.or_else(|| below.cloned()),
        }
    }

    /// The queue below it whose turn is before that of its own lines.
    fn below_first(&self, queues: &Queues, own: Option<QueueId>) -> Option<QueueId> {
        let (seen, queue) = self.below.first()?;
        let line = self.lines.first().zip(own);
        let is_behind = line.is_some_and(|((spot, _), own)| queues.seen_within(own, &spot.rank) <= *seen);
        (!is_behind).then_some(*queue)
    }
}

impl Merge {
    /// A line takes its turn in this pass.
    pub(super) fn add(&mut self, queues: &Queues, Due { queue, spot, line }: Due) {
        self.nodes.entry(Some(queue)).or_default().lines.insert((spot, line));
        self.renew(queues, queue);
    }

    /// Something was placed in a queue, or waits there: it and those above it come where they belong now.
    pub(super) fn renew(&mut self, queues: &Queues, queue: QueueId) {
        let mut next = Some(queue);
        while let Some(at) = next {
            let above = if queues.are_ordered() { queues[at].parent } else { None };
            let Some(node) = self.nodes.get_mut(&Some(at)) else { return };
            let place = node.first(queues, Some(at)).map(|seen| {
                let more = (&Resources::default(), 0);
                let owed = if queues.are_ordered() { queues.owed(at, more) } else { None };
                seen.from_above(owed, queues[at].spec.priority_offset)
            });
            let is_empty = place.is_none();
            if node.place != place {
                let old = std::mem::replace(&mut node.place, place.clone());
                let beside = &mut self.nodes.entry(above).or_default().below;
                if let Some(old) = old {
                    beside.remove(&(old, at));
                }
                beside.extend(place.map(|place| (place, at)));
            }
            if is_empty {
                self.nodes.remove(&Some(at));
            }
            next = above;
        }
    }

    /// The line whose turn is next. Its queue keeps its place until it is renewed, once what comes of the turn is known. Of an
    /// application of a `Fair` queue that uses more by now another line may be behind those of others: it is put there when it is met.
    pub(super) fn pop(&mut self, books: &Books) -> Option<Due> {
        loop {
            let mut at = None;
            while let Some(below) = self.nodes.get(&at)?.below_first(&books.queues, at) {
                at = Some(below);
            }
            let queue = at?;
            let (spot, line) = self.nodes.get_mut(&at)?.lines.pop_first()?;
            let fresh = Spot::of(books, &line, spot.rank.clone());
            if fresh <= spot {
                return Some(Due { queue, spot: fresh, line });
            }
            self.add(&books.queues, Due { queue, spot: fresh, line });
        }
    }

    /// How far a line that was popped may go on.
    pub(super) fn reach(&self, books: &Books, due: &Due) -> Reach {
        let queues = &books.queues;
        let path = if queues.are_ordered() { queues.path(due.queue).collect() } else { vec![due.queue] };
        let mut reach = Reach { path, ..Reach::default() };
        let beside = self.nodes.get(&Some(due.queue)).and_then(|node| node.lines.first()).map(|(spot, _)| spot);
        let behind = due.behind(books);
        if let Some(next) = beside.into_iter().chain(&behind).min() {
            let is_like = next.priority == due.spot.priority;
            reach.share = is_like.then_some(next.share);
            // Whose application uses less goes on, however late it was submitted.
            reach.rank = (!is_like || next.share == due.spot.share).then(|| next.rank.clone());
        }
        let mut offset = 0;
        for level in 0..reach.path.len() {
            let (queue, above) = (reach.path[level], reach.path.get(level + 1));
            offset += i64::from(queues[queue].spec.priority_offset);
            let Some(node) = self.nodes.get(&above.copied()) else { continue };
            let other = node.below.iter().find(|(_, other)| *other != queue).map(|(seen, _)| seen);
            let line = node.lines.first().zip(above).map(|((spot, _), above)| queues.seen_within(*above, &spot.rank));
            for rival in other.into_iter().chain(&line) {
                reach.up_to(queues, level + 1, rival, offset);
            }
        }
        reach
    }
}

impl Reach {
    /// Another one is seen by the queue above so many of the path.
    fn up_to(&mut self, queues: &Queues, levels: usize, rival: &Seen, offset: i64) {
        let own = self.standing(queues, levels, (&Resources::default(), 0));
        if own >= rival.standing {
            let rank = raw(rival, offset);
            self.rank = Some(match self.rank.take() {
                Some(own) => own.min(rank),
                None => rank,
            });
        }
        if !own.is_met() {
            self.standings.push((levels, rival.standing.clone()));
        }
    }

    fn standing(&self, queues: &Queues, levels: usize, more: (&Resources, u32)) -> Standing {
        if queues.are_ordered() {
            queues.standing_of(self.path.iter().take(levels).copied(), more)
        } else {
            Standing::default()
        }
    }

    /// Whether somebody with this rank still has a turn.
    pub(in crate::core) fn holds(&self, rank: &Rank) -> bool {
        self.rank.as_ref().is_none_or(|last| rank <= last)
    }

    /// How many of these many pods of a line, one at least, still have a turn.
    pub(super) fn most(&self, books: &Books, line: PodLine, count: usize) -> usize {
        // Where it has as much as the other one, their places in the order of submission decide: that is another turn.
        if count <= 1 { count } else { self.most_after(books, line, count).max(1) }
    }

    /// How many of these many pods of a line still have the turn that others of their application had before them.
    pub(in crate::core) fn most_after(&self, books: &Books, line: PodLine, count: usize) -> usize {
        let share = self.share.zip(line.app);
        if self.standings.is_empty() && share.is_none() {
            return count;
        }
        let (request, measure) = (&books.classes.shape(line.class).request, Measure::of(books, line.queue));
        let more = |count: usize| {
            let before = (request, count.saturating_sub(1) as u32);
            let mut standings = self.standings.iter();
            standings.all(|(levels, most)| self.standing(&books.queues, *levels, before) < *most)
                && share.is_none_or(|(most, app)| measure.share(books, app, before) < most)
        };
        largest(count, |count| count == 0 || more(count))
    }
}

/// What the shares of the applications of a `Fair` queue are measured by: what the queue is promised or may use; all nodes where
/// neither is said.
struct Measure(Limit);

impl Measure {
    fn of(books: &Books, queue: QueueId) -> Self {
        let own = books.queues.measure(queue);
        Self(if own.iter().any(|(_, amount)| amount > 0) { own } else { books.nodes.offered() })
    }

    /// What an application uses with so many copies more.
    fn share(&self, books: &Books, app: AppId, more: (&Resources, u32)) -> Share {
        Share::dominant(&self.0, &books.apps[app].used, more).unwrap_or(Share::NOTHING)
    }
}

/// The largest number up to `count` for which this holds. It holds for 0, and not for one after it has ceased to hold.
pub(in crate::core) fn largest(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    if holds(count) {
        return count;
    }
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// The place of somebody of another queue, as one of a queue has it that adds this much to priorities.
fn raw(seen: &Seen, offset: i64) -> Rank {
    let priority = (seen.priority.0 - offset).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    Rank { priority: Reverse(priority), created: seen.created, key: seen.key.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_that_holds_is_found() {
        for most in 0..20 {
            assert_eq!(largest(12, |count| count <= most), most.min(12));
        }
    }
}
