//! Where a waiting pod stands: the pass looks only there.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId};
use crate::core::event::{Place, Role};
use crate::core::model::ask::{Rank, Shelf};
use crate::core::model::books::Books;
use crate::core::model::due::Verdict;
use crate::core::model::gang::{Gang, Stage};
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::DEFAULT_QUEUE;

impl Books {
    /// Puts a waiting pod where it belongs now.
    pub(in crate::core) fn reshelve(&mut self, id: AskId) {
        let (old, shelf) = (self.asks[id].shelf, self.shelf_of(id));
        self.shelve(id, shelf);
        if old != shelf {
            self.left_shelf(old);
            self.left_shelf(shelf);
        }
    }

    /// What an application asks for changes with those that wait: a refused one is judged again when its originators
    /// change, and a plan that asked for too much may ask for less.
    pub(in crate::core) fn left_shelf(&mut self, shelf: Shelf) {
        let gang = match shelf {
            Shelf::Originator(app) => self.apps.get(app).map(|app| app.gang),
            Shelf::Seat(group) => self.groups.get(group).and_then(|group| group.gang),
            Shelf::Off | Shelf::Ordinary(..) | Shelf::Queueless => None,
        };
        let Some(gang) = gang.and_then(|gang| self.gangs.get_mut(gang)) else { return };
        gang.real_ask = None;
        // Who waits for capacity may lack a member now, and leave its share of the quota to those behind it.
        self.changes.pass_due |= gang.turn.is_some();
        if let Shelf::Originator(app) = shelf
            && self.apps[app].state() == AppState::Rejected
        {
            self.due.judge(app, Verdict::InDoubt);
        }
    }

    /// Every pod outside task groups of the applications of a gang.
    pub(in crate::core) fn reshelve_originators(&mut self, id: GangId) {
        for ask in self.originators_of(id) {
            self.reshelve(ask);
        }
    }

    fn shelf_of(&self, id: AskId) -> Shelf {
        let ask = &self.asks[id];
        let cooling = ask.refused.as_ref().is_some_and(|(_, until)| *until > self.now.mono);
        let (Some(class), true, false) = (ask.class, ask.is_pending() && !ask.is_placeholder(), cooling) else {
            return Shelf::Off;
        };
        match (ask.app, ask.group) {
            (None, None) if ask.spec.place == Place::Pending => self.shelf_of_single(id, class),
            (Some(app), group) => self.shelf_in_app(id, (app, group), class),
            (None, _) => Shelf::Off,
        }
    }

    fn shelf_of_single(&self, id: AskId, class: ClassId) -> Shelf {
        let ask = &self.asks[id];
        if ask.spec.role != Role::Singleton {
            return Shelf::Off;
        }
        let path = ask.spec.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
        self.queues.usable(path).map_or(Shelf::Queueless, |queue| Shelf::Ordinary(queue, class))
    }

    fn shelf_in_app(&self, id: AskId, (app, group): (AppId, Option<GroupId>), class: ClassId) -> Shelf {
        let entry = &self.apps[app];
        let ordinary = entry.queue.map_or(Shelf::Off, |queue| Shelf::Ordinary(queue, class));
        match (entry.state(), group) {
            (AppState::Running | AppState::Waiting, None) => ordinary,
            (AppState::Accepted, None) if entry.groups.is_empty() && entry.admitted => ordinary,
            // One that came after the reservation began is an ordinary ask, from the start on (01, 1.2.2).
            (AppState::Accepted, None) if came_late(self.gang_of(app), id) => Shelf::Off,
            (_, None) => Shelf::Originator(app),
            // [`Self::balance`] says for whom there is a seat.
            (AppState::Running | AppState::Waiting, Some(_)) => ordinary,
            (_, Some(group)) => Shelf::Seat(group),
        }
    }

    /// After the start: as many waiting members as there are held seats wait for a swap, and the others are ordinary asks.
    /// The first in the order come first, whoever came first.
    pub(in crate::core) fn balance(&mut self, id: GroupId) {
        while let Some((ask, shelf)) = self.misplaced(id) {
            self.shelve(ask, shelf);
        }
    }

    /// The next member that is to stand elsewhere. Each step fills a place, or brings one that comes earlier in the order
    /// where one that comes later stood, so that there is an end.
    fn misplaced(&self, id: GroupId) -> Option<(AskId, Shelf)> {
        let group = &self.groups[id];
        let app = &self.apps[group.app?];
        let (ask, up) = step(&group.waiting, group.seats.tally().held, group.overflow.first())?;
        let down = || Some(Shelf::Ordinary(app.queue?, self.asks[ask].class?));
        Some((ask, if up { Shelf::Seat(id) } else { down().unwrap_or(Shelf::Off) }))
    }
}

/// Whether a pod came after the gang had begun to reserve.
fn came_late(gang: &Gang, ask: AskId) -> bool {
    matches!(gang.stage(), Stage::Reserving { party } if !party.contains(&ask))
}

/// How a shelf with so many places comes nearer to holding the first in the order, `beyond` being the first of the others:
/// who moves, and whether up to it.
fn step(shelf: &BTreeSet<(Rank, AskId)>, places: u32, beyond: Option<&(Rank, AskId)>) -> Option<(AskId, bool)> {
    let last = shelf.last();
    match (last, beyond) {
        (Some((_, last)), _) if shelf.len() > places as usize => Some((*last, false)),
        (_, Some((_, beyond))) if shelf.len() < places as usize => Some((*beyond, true)),
        (Some(last), Some(beyond)) if beyond < last => Some((beyond.1, true)),
        (_, _) => None,
    }
}
