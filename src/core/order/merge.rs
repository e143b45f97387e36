//! The lines that take their turn in a pass, merged: whose turn is next (01, 1.2.5, 1.12). Queues come in the order of how far
//! they are below what they are promised, and then of the first of each; the lines of one queue by its policy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, QueueId};
use crate::core::base::resources::Resources;
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

/// Lines in the order of their turns.
#[derive(Debug, Default)]
pub(super) struct Merge {
    queues: BTreeSet<(Seen, QueueId)>,
    lines: BTreeMap<QueueId, OfQueue>,
}

#[derive(Debug)]
struct OfQueue {
    /// Where the queue stands in [`Merge::queues`].
    seen: Seen,
    lines: BTreeSet<(Spot, Line)>,
}

/// How far a line may go on in its turn before that of another one comes.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Up to this place in the order of submission.
    rank: Option<Rank>,
    /// As long as its queue is served less well than this.
    standing: Option<Standing>,
    /// As long as its application uses less than this.
    share: Option<Share>,
}

impl Spot {
    /// The place of a line whose first has this rank.
    pub(super) fn of(books: &Books, line: &Line, rank: Rank) -> Self {
        let share = match line {
            Line::Pods(PodLine { queue, app: Some(app), .. }) => {
                share_of(books, *queue, *app, (&Resources::default(), 0))
            }
            Line::Pods(_) | Line::Gate(..) | Line::Gang(_) => Share::NOTHING,
        };
        Self { priority: rank.priority, share, rank }
    }
}

impl Merge {
    /// A line takes its turn in this pass.
    pub(super) fn add(&mut self, queues: &Queues, Due { queue, spot, line }: Due) {
        let seen = queues.seen(queue, &spot.rank);
        let of_queue = self.lines.entry(queue).or_insert_with(|| OfQueue { seen, lines: BTreeSet::new() });
        of_queue.lines.insert((spot, line));
        self.put(queues, queue);
    }

    /// The line whose turn is next. A queue that is better served by now, or an application of a `Fair` queue, goes behind
    /// those that are not.
    pub(super) fn pop(&mut self, books: &Books) -> Option<Due> {
        loop {
            let (seen, queue) = self.queues.pop_first()?;
            let of_queue = self.lines.get_mut(&queue)?;
            let (spot, line) = of_queue.lines.pop_first()?;
            let fresh = Spot::of(books, &line, spot.rank.clone());
            let is_next = fresh <= spot && books.queues.seen(queue, &spot.rank) <= seen;
            if is_next {
                self.put(&books.queues, queue);
                return Some(Due { queue, spot: fresh, line });
            }
            of_queue.lines.insert((fresh, line));
            self.put(&books.queues, queue);
        }
    }

    /// How far a line that was popped may go on.
    pub(super) fn reach(&self, queues: &Queues, due: &Due) -> Reach {
        let mut reach = Reach::default();
        let beside = self.lines.get(&due.queue).and_then(|of_queue| of_queue.lines.first());
        if let Some((next, _)) = beside {
            let is_like = next.priority == due.spot.priority;
            reach.share = is_like.then_some(next.share);
            // Whose application uses less goes on, however late it was submitted.
            reach.rank = (!is_like || next.share == due.spot.share).then(|| next.rank.clone());
        }
        let other = self.queues.iter().find(|(_, queue)| *queue != due.queue);
        if let Some((other, _)) = other {
            let standing = queues.standing(due.queue);
            if standing >= other.standing {
                reach.up_to(raw(other, queues.priority_offset(due.queue)));
            }
            if !standing.is_met() {
                reach.standing = Some(other.standing.clone());
            }
        }
        reach
    }

    /// Puts a queue where its first line belongs, or takes it out.
    fn put(&mut self, queues: &Queues, queue: QueueId) {
        let Some(of_queue) = self.lines.get_mut(&queue) else { return };
        self.queues.remove(&(of_queue.seen.clone(), queue));
        match of_queue.lines.first() {
            Some((spot, _)) => {
                of_queue.seen = queues.seen(queue, &spot.rank);
                self.queues.insert((of_queue.seen.clone(), queue));
            }
            None => drop(self.lines.remove(&queue)),
        }
    }
}

impl Reach {
    fn up_to(&mut self, rank: Rank) {
        self.rank = Some(match self.rank.take() {
            Some(own) => own.min(rank),
            None => rank,
        });
    }

    /// Whether somebody with this rank still has a turn.
    pub(super) fn holds(&self, rank: &Rank) -> bool {
        self.rank.as_ref().is_none_or(|last| rank <= last)
    }

    /// How many of these many pods of a line, one at least, still have a turn.
    pub(super) fn most(&self, books: &Books, line: PodLine, count: usize) -> usize {
        let share = self.share.zip(line.app);
        if count <= 1 || self.standing.is_none() && share.is_none() {
            return count;
        }
        let request = &books.classes.shape(line.class).request;
        let more = |count: usize| {
            let before = (request, count.saturating_sub(1) as u32);
            let is_owed = |most: &Standing| books.queues.standing_with(line.queue, before) < *most;
            self.standing.as_ref().is_none_or(is_owed)
                && share.is_none_or(|(most, app)| share_of(books, line.queue, app, before) < most)
        };
        // Where it has as much as the other one, their places in the order of submission decide: that is another turn.
        largest(count, |count| count <= 1 || more(count)).max(1)
    }
}

/// The largest number up to `count` for which this holds. It holds for 0, and not for one after it has ceased to hold.
pub(super) fn largest(count: usize, holds: impl Fn(usize) -> bool) -> usize {
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

/// What an application uses of its queue with so many copies more, measured by what the queue is promised or may use; by
/// all nodes where neither is said.
fn share_of(books: &Books, queue: QueueId, app: AppId, more: (&Resources, u32)) -> Share {
    let used = &books.apps[app].used;
    let of_queue = Share::dominant(&books.queues.measure(queue), used, more);
    of_queue.or_else(|| Share::dominant(&books.nodes.offered(), used, more)).unwrap_or(Share::NOTHING)
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
