//! In which line a waiting pod stands. The pass looks at these lines only.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, QueueId, Text};
use crate::core::event::{Place, Role, SortPolicy};
use crate::core::model::ask::{Rank, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::due::Verdict;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::is_on_path_of;
use crate::core::model::turn::PodLine;
use crate::core::reason::RejectReason;

impl Books {
    /// Puts a waiting pod into the line where it belongs now.
    pub(in crate::core) fn line_up(&mut self, id: AskId) {
        let (old, waits_for) = (self.asks[id].waits_for, self.what_it_waits_for(id));
        let waits_for = self.in_its_part(id, waits_for);
        self.stand_in_line(id, waits_for);
        if old != waits_for {
            self.ask_changed(old, true);
            self.ask_changed(waits_for, self.may_ask_for_more(id, waits_for));
        }
    }

    /// A pod outside applications stands in line for the part of its queue that its submitter has.
    fn in_its_part(&mut self, id: AskId, waits_for: WaitsFor) -> WaitsFor {
        let ask = &self.asks[id];
        match waits_for {
            WaitsFor::Room(line) if ask.app.is_none() => {
                let queue = self.queues.share(line.queue, ask.spec.submitter.as_ref());
                WaitsFor::Room(PodLine { queue, ..line })
            }
            WaitsFor::Room(_) | WaitsFor::Nothing | WaitsFor::Seat(_) | WaitsFor::Start(_) | WaitsFor::Queue => {
                waits_for
            }
        }
    }

    /// A pod began or ceased to wait for a seat or a start, and so its gang asks for something else. What the last plan
    /// would have used is forgotten, and the application is judged again where it may ask for more than its queue can ever
    /// hold, or, having been refused, for less (01, 1.2.3).
    pub(in crate::core) fn ask_changed(&mut self, waits_for: WaitsFor, may_be_more: bool) {
        let app = match waits_for {
            WaitsFor::Start(app) => Some(app),
            WaitsFor::Seat(group) => self.groups.get(group).and_then(|group| group.app),
            WaitsFor::Nothing | WaitsFor::Room(..) | WaitsFor::Queue => None,
        };
        let Some(app) = app.filter(|app| self.apps.get(*app).is_some()) else { return };
        let id = self.apps[app].gang;
        (self.gangs[id].real_ask, self.gangs[id].tried) = (None, None);
        // It may lack a member now, or ask for something else: then it stands in another line.
        self.touch_gang(id);
        match self.apps[app].state() {
            AppState::Rejected => self.due.judge(app, Verdict::InDoubt),
            AppState::Accepted if may_be_more => self.due.judge(app, Verdict::InDoubt),
            AppState::New
            | AppState::Accepted
            | AppState::Resuming
            | AppState::Running
            | AppState::Waiting
            | AppState::Completed
            | AppState::Killed => {}
        }
    }

    /// Whether a pod that begins to wait may make its gang ask for more: not a member that is as announced.
    fn may_ask_for_more(&self, id: AskId, waits_for: WaitsFor) -> bool {
        match waits_for {
            WaitsFor::Seat(group) => {
                let spec = self.groups.get(group).and_then(|group| group.spec.as_ref());
                spec.is_none_or(|spec| self.request(id).first_beyond(&spec.min_resource).is_some())
            }
            WaitsFor::Start(_) | WaitsFor::Nothing | WaitsFor::Room(..) | WaitsFor::Queue => true,
        }
    }

    /// Lines up every pod outside the task groups of a gang's applications.
    pub(in crate::core) fn line_up_originators(&mut self, id: GangId) {
        for ask in self.originators_of(id) {
            self.line_up(ask);
        }
    }

    /// Pods outside applications look for their queue again: one of these may take them no more, or again, or that of their
    /// namespace may be another one. A queue below makes one above no leaf.
    pub(in crate::core) fn line_up_singles(&mut self, changed: &BTreeSet<Text>, homes: &BTreeSet<Text>) {
        let mut asks: Vec<AskId> = self.queueless.iter().copied().collect();
        let mut sorted_otherwise = Vec::new();
        for (PodLine { queue, app, .. }, waiting) in &self.ordinary {
            let is_concerned = is_on_path_of(&self.queues[*queue].path, changed);
            let of_home = |ask: &AskId| homes.contains(&self.asks[*ask].spec.key.namespace);
            let waiting = waiting.iter().map(|(_, ask)| *ask).filter(|ask| is_concerned || of_home(ask));
            if app.is_some() != (self.queues.sort_policy(*queue) == SortPolicy::Fair) {
                sorted_otherwise.extend(waiting.clone());
            }
            // Most stand where they belong, but may be told something else.
            let (stay, go): (Vec<_>, Vec<_>) =
                waiting.partition(|ask| self.single_queue(*ask) == Ok(self.queues.leaf(*queue)));
            self.changes.asks.extend(stay);
            asks.extend(go);
        }
        for ask in asks {
            if self.asks[ask].app.is_none() {
                self.line_up(ask);
            }
            self.changes.asks.insert(ask);
        }
        sorted_otherwise.into_iter().for_each(|ask| self.line_up(ask));
    }

    fn what_it_waits_for(&self, id: AskId) -> WaitsFor {
        let ask = &self.asks[id];
        let cooling = ask.refused.as_ref().is_some_and(|(_, until)| *until > self.now.mono);
        let may_wait = ask.is_pending() && !ask.is_placeholder() && !ask.failing;
        let (Some(class), true, false) = (ask.class, may_wait, cooling) else {
            return WaitsFor::Nothing;
        };
        match (ask.app, ask.group) {
            (None, None) if ask.spec.place == Place::Pending => self.single_waits_for(id, class),
            (Some(app), group) => {
                let waits_for = self.waits_for_in_app((app, group), class);
                // Who names a task group that its application does not have is no part of its start.
                let is_put_off = matches!(waits_for, WaitsFor::Start(_)) && !self.apps[app].groups.is_empty();
                if is_put_off && self.is_ordinary(id) { WaitsFor::Nothing } else { waits_for }
            }
            (None, _) => WaitsFor::Nothing,
        }
    }

    fn single_waits_for(&self, id: AskId, class: ClassId) -> WaitsFor {
        let ask = &self.asks[id];
        if ask.spec.role != Role::Singleton {
            return WaitsFor::Nothing;
        }
        let lacks_namespace = self.lacks_namespace(&ask.spec.key.namespace);
        let queue = self.single_queue(id).ok().filter(|_| !lacks_namespace);
        queue.map_or(WaitsFor::Queue, |queue| WaitsFor::Room(PodLine { queue, class, starts: true, app: None }))
    }

    /// The queue of a pod outside applications.
    ///
    /// # Errors
    /// Why it takes none.
    pub(in crate::core) fn single_queue(&self, id: AskId) -> Result<QueueId, RejectReason> {
        let spec = &self.asks[id].spec;
        self.queue_of_work(&spec.key.namespace, spec.queue.as_ref())
    }

    /// The line of pods of an application.
    pub(in crate::core) fn line_in(&self, queue: QueueId, class: ClassId, (app, starts): (AppId, bool)) -> PodLine {
        let app = (self.queues.sort_policy(queue) == SortPolicy::Fair).then_some(app);
        PodLine { queue, class, starts, app }
    }

    fn waits_for_in_app(&self, (app, group): (AppId, Option<GroupId>), class: ClassId) -> WaitsFor {
        let entry = &self.apps[app];
        let starts = entry.state() == AppState::Accepted;
        let ordinary =
            entry.queue.map_or(WaitsFor::Nothing, |queue| WaitsFor::Room(self.line_in(queue, class, (app, starts))));
        match (entry.state(), group) {
            (AppState::Running | AppState::Waiting, None) => ordinary,
            (AppState::Accepted, None) if entry.groups.is_empty() && entry.admitted => ordinary,
            // Whenever it comes before the start it starts with the gang (01, 1.2.2).
            (_, None) => WaitsFor::Start(app),
            (AppState::Running | AppState::Waiting, Some(group)) if self.holds_back(&self.groups[group]) => {
                WaitsFor::Seat(group)
            }
            // [`Self::balance`] then moves members for which there is a held seat to the line for seats.
            (AppState::Running | AppState::Waiting, Some(_)) => ordinary,
            (_, Some(group)) => WaitsFor::Seat(group),
        }
    }

    /// After the start: as many waiting members as there are held seats wait for a swap, all where they are held back,
    /// and the others are ordinary asks. Which members swap follows from the order of a pass alone, not from which of them came first.
    pub(in crate::core) fn balance(&mut self, id: GroupId) {
        while let Some((ask, waits_for)) = self.misplaced(id) {
            self.stand_in_line(ask, waits_for);
        }
    }

    /// The next member that stands in the wrong line, and the line where it belongs. This ends, since each move brings
    /// the number of members in the line for seats nearer to the number of held seats, or members into it that come
    /// earlier in the order.
    fn misplaced(&self, id: GroupId) -> Option<(AskId, WaitsFor)> {
        let group = &self.groups[id];
        let id_of_app = group.app?;
        let app = &self.apps[id_of_app];
        let places = if self.holds_back(group) { u32::MAX } else { group.seats.tally().held };
        let (ask, up) = step(&group.waiting, places, group.overflow.first())?;
        let down = || Some(WaitsFor::Room(self.line_in(app.queue?, self.asks[ask].class?, (id_of_app, false))));
        Some((ask, if up { WaitsFor::Seat(id) } else { down().unwrap_or(WaitsFor::Nothing) }))
    }
}

/// One move after which a line is nearer to having `places` members, and those the first in the order. `beyond` is the
/// first member outside the line. Returns who moves, and whether into the line (true) or out of it (false).
fn step(line: &BTreeSet<(Rank, AskId)>, places: u32, beyond: Option<&(Rank, AskId)>) -> Option<(AskId, bool)> {
    let last = line.last();
    match (last, beyond) {
        (Some((_, last)), _) if line.len() > places as usize => Some((*last, false)),
        (_, Some((_, beyond))) if line.len() < places as usize => Some((*beyond, true)),
        (Some(last), Some(beyond)) if beyond < last => Some((beyond.1, true)),
        (_, _) => None,
    }
}
