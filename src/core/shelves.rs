//! Where a waiting pod stands: the pass looks only there.

use super::ask::Shelf;
use super::event::{Place, Role};
use super::ids::{AppId, AskId, ClassId, GroupId};
use super::judge::usable_queue;
use super::lifecycle::AppState;
use super::queue::DEFAULT_QUEUE;
use super::scheduler::Scheduler;

impl Scheduler {
    /// Puts a waiting pod where it belongs now.
    pub(super) fn reshelve(&mut self, id: AskId) {
        let (old, shelf) = (self.books.asks[id].shelf, self.shelf_of(id));
        let urgent = self.is_urgent(id);
        self.books.shelve(id, shelf, urgent);
        if old != shelf {
            self.stirred |= shelf != Shelf::Off;
            self.left_shelf(old);
            self.left_shelf(shelf);
        }
    }

    /// What an application asks for changes with those that wait: a refused one is judged again when its originators
    /// change, and a plan that asked for too much may ask for less.
    pub(super) fn left_shelf(&mut self, shelf: Shelf) {
        let app = match shelf {
            Shelf::Originator(app) => Some(app),
            Shelf::Seat(group) => self.books.groups.get(group).and_then(|group| group.app),
            Shelf::Off | Shelf::Ordinary(..) | Shelf::Queueless => None,
        };
        let Some(entry) = app.and_then(|app| self.books.apps.get_mut(app)) else { return };
        entry.real_ask = None;
        if let (Shelf::Originator(app), AppState::Rejected) = (shelf, entry.state) {
            self.renew(app);
        }
    }

    /// Every pod of an application outside its task groups.
    pub(super) fn reshelve_own(&mut self, id: AppId) {
        for ask in self.books.apps[id].asks.clone() {
            self.reshelve(ask);
        }
    }

    fn shelf_of(&self, id: AskId) -> Shelf {
        let ask = &self.books.asks[id];
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
        let ask = &self.books.asks[id];
        if ask.spec.role != Role::Singleton {
            return Shelf::Off;
        }
        let path = ask.spec.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
        usable_queue(&self.books, path).map_or(Shelf::Queueless, |queue| Shelf::Ordinary(queue, class))
    }

    fn shelf_in_app(&self, id: AskId, (app, group): (AppId, Option<GroupId>), class: ClassId) -> Shelf {
        let entry = &self.books.apps[app];
        let ordinary = entry.queue.map_or(Shelf::Off, |queue| Shelf::Ordinary(queue, class));
        match (entry.state, group) {
            (AppState::Running | AppState::Waiting, None) => ordinary,
            (AppState::Accepted, None) if entry.groups.is_empty() => ordinary,
            // One that came after the gate opened is an ordinary ask, from the start on (01, 1.2.2).
            (AppState::Accepted, None) if entry.is_past_gate() && !entry.party.contains(&id) => Shelf::Off,
            (_, None) => Shelf::Originator(app),
            (AppState::Running | AppState::Waiting, Some(group)) => {
                let group_entry = &self.books.groups[group];
                let seated = group_entry.waiting.len() < group_entry.seats.tally().held as usize;
                if seated { Shelf::Seat(group) } else { ordinary }
            }
            (_, Some(group)) => Shelf::Seat(group),
        }
    }

    /// Members of a gang that was interrupted in its start, or lost members before it was complete, go first.
    fn is_urgent(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let Some((app, group)) = ask.app.zip(ask.group) else { return false };
        let (app, group) = (&self.books.apps[app], &self.books.groups[group]);
        let others = group.overflow.len() - usize::from(matches!(ask.shelf, Shelf::Ordinary(..)));
        app.state == AppState::Running && !app.placed && others < group.seats.tally().open as usize
    }

    /// After the start: as many waiting members as there are held seats wait for a swap, the others are ordinary asks.
    pub(super) fn balance(&mut self, id: GroupId) {
        loop {
            let group = &self.books.groups[id];
            let (held, waiting) = (group.seats.tally().held as usize, group.waiting.len());
            let (last, first) =
                (group.waiting.last().map(|(_, ask)| *ask), group.overflow.first().map(|(_, ask)| *ask));
            let moved = match (last, first) {
                (Some(last), _) if waiting > held => [Some(last), None],
                (_, Some(first)) if waiting < held => [Some(first), None],
                // Seats are for those that come first in the order, whoever came first.
                (Some(last), Some(first)) if self.comes_before(first, last) => [Some(first), Some(last)],
                (_, _) => return,
            };
            moved.into_iter().flatten().for_each(|ask| self.books.shelve(ask, Shelf::Off, false));
            moved.into_iter().flatten().for_each(|ask| self.reshelve(ask));
        }
    }

    fn comes_before(&self, one: AskId, other: AskId) -> bool {
        self.books.asks[one].rank(false) < self.books.asks[other].rank(false)
    }
}
