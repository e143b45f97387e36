//! L9: members that are there beyond those that start together get their nodes with these, up to `totalMember`, as far as there is
//! room (01, 1.3): before those behind their gang have their turn.
//!
//! Looked at with every step of a process, by its books: for which gangs all nodes were found with it, whom else of theirs it left
//! without one, and who got one with it. Less is claimed than is promised, so that the order within the step does not have to be known:
//! - of gangs that had not started, of whose task group all seats that were open have a node since this step, the first of those
//!   beyond the seats, up to the number that it says;
//! - of those who are served pods outside applications, of the same queue, which came after the TaskGroup and are no more urgent than
//!   any of its pods, in whose place one of these could be, on the node and in the queue;
//! - not where the step gave room back, nor where another gang waits for a limit of the same queues, or somebody between the gang and
//!   one of those beyond the seats, nor where a queue is promised something: what others ask for is left to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::{AskId, GangId, GroupId, KeptId, NodeId, QueueId};
use gangline::core::event::Role;
use gangline::core::model::ask::{Ask, AskState};
use gangline::core::model::books::Books;
use gangline::core::model::gang::Gang;
use gangline::core::model::group::Group;
use gangline::core::model::lifecycle::AppState;

use super::Process;
use super::fair::{Served, is_promised, most, served, used_of};
use crate::sim::oracle::Violation;

/// What was so before a step.
pub(crate) struct Unplanned {
    /// How many seats are open of task groups that say how many belong to them, and whose gangs have not started.
    open: BTreeMap<GroupId, u32>,
    /// Pods that have something on the books, and on which node.
    charged: BTreeMap<AskId, NodeId>,
    /// Room that is kept for those who come in the place of others.
    kept: BTreeSet<KeptId>,
    /// Gangs and pods outside applications that wait, each with its place in the order.
    lined_up: Vec<(Who, Place)>,
}

/// Somebody who waits for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Gang(Option<GangId>),
    Pod,
}

/// How urgent somebody is, and since when it waits.
type Place = (Reverse<i32>, i64);

/// What a step showed of those who are there beyond the seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Along {
    /// Some of them got their nodes with the others.
    pub(crate) goes: bool,
    /// Some did not.
    pub(crate) stays: bool,
}

/// The members of a task group beyond its seats when nodes were found for these, in the order of a pass.
struct Beyond<'a> {
    goes: usize,
    stays: Vec<&'a Ask>,
}

impl Process {
    /// What is so before a step, where a gang may have members beyond those that start together.
    pub(crate) fn unplanned(&self) -> Option<Unplanned> {
        let books = self.books();
        let waits = |group: &Group| group.app.is_some_and(|app| books.apps[app].state() == AppState::Accepted);
        let says = |group: &Group| group.spec.as_ref().is_some_and(|spec| spec.total_member.is_some());
        let open = books.groups.iter().map(|(id, group)| (id, group.seats.tally().open, says(group) && waits(group)));
        let open: BTreeMap<GroupId, u32> =
            open.filter(|(_, open, is_one)| *open > 0 && *is_one).map(|(id, open, _)| (id, open)).collect();
        let is_promised = books.queues.iter().any(|(_, queue)| is_promised(queue));
        (!open.is_empty() && !is_promised).then(|| Unplanned {
            open,
            charged: books.asks.iter().filter_map(|(id, ask)| Some((id, ask.charge.as_ref()?.node))).collect(),
            kept: books.kept.iter().map(|(id, _)| id).collect(),
            lined_up: lined_up(books),
        })
    }

    /// L9, of a step before which this was so. What it showed where it is right.
    pub(crate) fn judge_along(&self, before: &Unplanned) -> Result<Along, Violation> {
        let mut found = Along::default();
        let is_sure = !self.gave_room_back(before);
        for (id, open) in &before.open {
            let group = self.books().groups.get(*id).filter(|group| self.was_planned(group, *open, before));
            let Some((group, beyond)) = group.and_then(|group| Some((group, self.beyond(group, before)?))) else {
                continue;
            };
            found.goes |= beyond.goes > 0;
            found.stays |= !beyond.stays.is_empty();
            if let Some(what) = self.overtaken(group, &beyond, before).filter(|_| is_sure) {
                return Err(Violation::new("L9", what));
            }
        }
        Ok(found)
    }

    /// Whether a step took something back that it, or one before it, had given.
    fn gave_room_back(&self, before: &Unplanned) -> bool {
        let books = self.books();
        let is_back = |(id, node): (&AskId, &NodeId)| {
            let is_elsewhere = |ask: &Ask| ask.node().is_none_or(|now| now != *node);
            books.asks.get(*id).is_some_and(|ask| ask.state != AskState::Finished && is_elsewhere(ask))
        };
        before.charged.iter().any(is_back) || before.kept.iter().any(|kept| books.kept.get(*kept).is_none())
    }

    /// Whether so many seats of a task group that were open have a node since this step.
    fn was_planned(&self, group: &Group, open: u32, before: &Unplanned) -> bool {
        let has_a_seat = |id: &&AskId| {
            let ask = self.books().asks.get(**id).filter(|_| !before.charged.contains_key(*id));
            ask.is_some_and(|ask| ask.seat.is_some() && ask.node().is_some())
        };
        group.seats.tally().open == 0 && group.asks.iter().filter(has_a_seat).count() == open as usize
    }

    fn beyond(&self, group: &Group, before: &Unplanned) -> Option<Beyond<'_>> {
        let books = self.books();
        let has_node = |ask: &Ask| ask.seat.is_none() && !ask.is_placeholder() && ask.node().is_some();
        let (before, now): (Vec<_>, Vec<_>) = (group.asks.iter())
            .filter_map(|id| Some((id, books.asks.get(*id)?)))
            .filter(|(_, ask)| has_node(ask))
            .partition(|(id, _)| before.charged.contains_key(*id));
        let tally = group.seats.tally();
        let for_seats = tally.binding + tally.held + tally.leaving;
        let stays = group.without_node().skip(for_seats as usize).filter_map(|(_, id)| books.asks.get(*id));
        let mut all: Vec<&Ask> = now.iter().map(|(_, ask)| *ask).chain(stays).collect();
        all.sort_by_key(|ask| ask.rank());
        let most =
            group.spec.as_ref()?.total_member?.saturating_sub((group.seats.iter().count() + before.len()) as u32);
        all.truncate(most as usize);
        all.retain(|ask| ask.node().is_none());
        Some(Beyond { goes: now.len(), stays: all })
    }

    /// Who got a node that one of those could have had who belong to a gang before it.
    fn overtaken(&self, group: &Group, beyond: &Beyond<'_>, before: &Unplanned) -> Option<String> {
        let books = self.books();
        let queue = books.apps.get(group.app?)?.queue?;
        if beyond.stays.is_empty() || self.is_claimed(group.gang?, queue) || has_a_rival(group, beyond, before) {
            return None;
        }
        let is_new = |(id, _): &(AskId, &Ask)| !before.charged.contains_key(id);
        let behind = books.asks.iter().filter(is_new).filter_map(|(id, _)| served(books, id));
        let behind = behind.filter(|one| books.queues.leaf(one.queue) == books.queues.leaf(queue));
        let mut behind = behind.filter(|one| stands_behind(books, one.ask, group));
        let could = |one: &Served<'_>| beyond.stays.iter().find(|ask| self.could_be(ask, queue, one)).copied();
        let (one, ask) = behind.find_map(|one| could(&one).map(|ask| (one, ask)))?;
        let (theirs, own) = (&one.ask.spec.key, &ask.spec.key);
        Some(format!("{own} belongs to {}, which has its nodes, and has none; {theirs} behind it has one", group.key))
    }

    /// Whether another gang waits that has a limit in common with this queue.
    fn is_claimed(&self, own: GangId, queue: QueueId) -> bool {
        let books = self.books();
        let is_limited = |at: &QueueId| !books.queues[*at].spec.max.is_unlimited();
        let limited: BTreeSet<QueueId> = books.queues.charged(queue).filter(is_limited).collect();
        let queue_of = |gang: &Gang| books.apps.get(*gang.apps.first()?)?.queue;
        let waits = |gang: &Gang| gang.turn().is_some() || gang.place().is_some();
        let mut others = books.gangs.iter().filter(|(id, gang)| *id != own && waits(gang));
        others
            .any(|(_, gang)| queue_of(gang).is_some_and(|of| books.queues.charged(of).any(|at| limited.contains(&at))))
    }

    /// Whether a pod of a gang in this queue could have the node of another one, in that one's place there and in the queues of both.
    fn could_be(&self, ask: &Ask, queue: QueueId, other: &Served<'_>) -> bool {
        let books = self.books();
        let theirs = self.pods.get(&other.ask.spec.key).map(|pod| pod.asks).unwrap_or_default();
        let of_both: BTreeSet<QueueId> = books.queues.charged(other.queue).collect();
        self.fits_instead(ask, other).is_some_and(|asks| {
            books.queues.charged(queue).all(|at| {
                let used = used_of(&books.queues[at]);
                let used = if of_both.contains(&at) { used.less(theirs) } else { used };
                most(&books.queues[at].spec.max).lets_in(asks, used + asks)
            })
        })
    }
}

/// Who waits for a turn.
fn lined_up(books: &Books) -> Vec<(Who, Place)> {
    let gangs = books.gangs.iter().filter_map(|(id, gang)| Some((Who::Gang(Some(id)), gang.turn()?.rank().clone())));
    let pods = books.asks.iter().filter(|(_, ask)| ask.state == AskState::Waiting && ask.app.is_none());
    let pods = pods.map(|(_, ask)| (Who::Pod, ask.rank()));
    gangs.chain(pods).map(|(who, rank)| (who, (rank.priority, rank.created))).collect()
}

/// Whether somebody else waited whose turn comes after that of the gang, and before that of one of those beyond the seats, each of which
/// has its own priority: with the same step those may have one who come behind both.
fn has_a_rival(group: &Group, beyond: &Beyond<'_>, before: &Unplanned) -> bool {
    let created = group.spec.as_ref().map_or(i64::MAX, |spec| spec.created);
    let least = beyond.stays.iter().map(|ask| ask.spec.priority).min().unwrap_or(i32::MIN);
    let least = (Reverse(least), created);
    let own = before.lined_up.iter().find(|(who, _)| *who == Who::Gang(group.gang)).map(|(_, place)| *place);
    let is_between = |place: &Place| own.is_none_or(|own| own < *place) && *place <= least;
    before.lined_up.iter().any(|(who, place)| *who != Who::Gang(group.gang) && is_between(place))
}

/// Whether a pod needs no others, and has its turn after the gang of a task group.
fn stands_behind(books: &Books, ask: &Ask, group: &Group) -> bool {
    let is_served = matches!(ask.state, AskState::Assumed { .. });
    let is_alone = ask.spec.role == Role::Singleton && ask.app.is_none();
    let came = group.spec.as_ref().map_or(i64::MAX, |spec| spec.created);
    let urgency = group.asks.iter().filter_map(|id| books.asks.get(*id)).map(|ask| ask.spec.priority).min();
    let is_urgent = urgency.is_none_or(|urgency| ask.spec.priority > urgency);
    is_served && is_alone && ask.spec.created > came && !is_urgent
}
