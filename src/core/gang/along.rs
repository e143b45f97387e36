//! Members beyond the seats start with their gang, up to `totalMember`, as far as there is room (01, 1.3). Nobody waits for them, and
//! they take nothing that the seats need: they are placed in the same turn as the seats, after these and as far as it reaches, and
//! bound once the start can not be called off any more.

use std::cmp::Reverse;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;
use crate::core::model::claims::Before;
use crate::core::model::seat::SeatState;
use crate::core::model::turn::PodLine;
use crate::core::order::merge::{Reach, largest};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Gives nodes to those who are there beyond the seats of a gang that was just planned as a whole: how many. Before others of its
    /// queue have their turn, but not from what is kept for gangs that stand before it, nor when it is the turn of others by then. Who
    /// is left is an ordinary pod after the start.
    pub(super) fn take_along(&mut self, id: GangId, (queue, rank): (QueueId, &Rank), reach: &Reach) -> u32 {
        let mut taken = 0;
        for group in self.books.gangs[id].groups.clone() {
            for alike in self.along_in_turn(group, (queue, rank), reach).chunk_by(|a, b| a.0 == b.0) {
                taken += self.take_alike_along(alike, (queue, rank), reach);
            }
        }
        taken
    }

    /// Those of a task group who are there beyond its seats, each in its line, up to the first whose turn comes after that of another
    /// one. They stand at the place of their gang in the order of submission, but each with its own priority.
    fn along_in_turn(&self, id: GroupId, (queue, rank): (QueueId, &Rank), reach: &Reach) -> Vec<(PodLine, AskId)> {
        let group = &self.books.groups[id];
        let Some(app) = group.app else { return Vec::new() };
        let has_turn = |(_, ask): &(PodLine, AskId)| {
            let priority = Reverse(self.books.asks[*ask].spec.priority);
            reach.holds(&Rank { priority, ..rank.clone() })
        };
        let line = |class: ClassId| self.books.line_in(queue, class, (app, false));
        let members = self.books.beyond_seats(group).into_iter();
        let members = members.filter_map(|ask| Some((line(self.books.asks[ask].class?), ask)));
        members.take_while(has_turn).collect()
    }

    fn take_alike_along(&mut self, alike: &[(PodLine, AskId)], (queue, rank): (QueueId, &Rank), reach: &Reach) -> u32 {
        let Some((line, _)) = alike.first().copied() else { return 0 };
        let class = line.class;
        let request = &self.books.classes.shape(class).request;
        let fits = |count: usize| {
            let mut asked = Totals::default();
            asked.add(request, count as u32);
            let queues = &self.books.queues;
            queues.refuses(queue, &asked).is_none() && queues.refuses_behind(queue, rank, &asked, Before::All).is_none()
        };
        let count = largest(reach.most_after(&self.books, line, alike.len()), fits);
        if count == 0 || self.planner.bounds.is_full(class) {
            return 0;
        }
        let placed = self.planner.fill_some(&self.books, class, count as u32).to_vec();
        let nodes = placed.iter().flat_map(|placed| std::iter::repeat_n(placed.node, placed.count as usize));
        alike.iter().zip(nodes).map(|((_, ask), node)| self.books.assume(*ask, node, queue, None)).count() as u32
    }

    /// Before the start a seat that was lost goes to somebody who has a node beyond the seats, and for whom a seat is held waits for
    /// the start as others do.
    pub(super) fn seat_those_along(&mut self, id: GangId) {
        for group in self.books.gangs[id].groups.clone() {
            if self.books.groups[group].wants_who_goes_along() {
                let members = self.books.going_along(&self.books.groups[group]);
                members.into_iter().for_each(|member| self.seat_along(group, member));
            }
        }
    }

    fn seat_along(&mut self, group: GroupId, member: AskId) {
        let entry = &self.books.groups[group];
        if !entry.wants_who_goes_along() {
            return;
        }
        if entry.seats.tally().open == 0 {
            self.books.unassume(member);
        } else if let Some(seat) = self.clear_a_seat(member) {
            self.books.seat(group, seat, SeatState::Assumed(member));
        }
    }

    /// Decides the Bindings of those who go along with a start, now that it can not be called off any more.
    pub(super) fn send_those_along(&mut self, id: AppId) {
        for group in self.books.apps[id].groups.clone() {
            let members = self.books.going_along(&self.books.groups[group]);
            members.into_iter().for_each(|member| self.send(member));
        }
    }
}
