//! Kept seats: the room of pods that were lost, reserved for those that come in their place (01, 1.5). No pod stands for
//! one: a charge in the books does.

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, KeptId, NodeId};
use crate::core::base::resources::{Resources, Totals};
use crate::core::decision::TerminationType;
use crate::core::event::Place;
use crate::core::model::application::App;
use crate::core::model::ask::{Ask, AskState, Charge, Rank};
use crate::core::model::books::Books;
use crate::core::model::countdown::{Countdown, Deadline};
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::model::timers::Timer;
use crate::core::shape::HostPort;
use crate::core::time::{Millis, Mono, Now, Wall};

/// The room of one pod that was lost.
#[derive(Clone, Debug)]
pub struct KeptSeat {
    /// The application of the pod.
    pub app: AppId,
    /// Its task group; `None` of a pod outside task groups.
    pub group: Option<GroupId>,
    /// Its seat, in the life in which it was lost; `None` once the gang has begun anew.
    pub seat: Option<u32>,
    /// The pod's place in the order of a pass.
    pub rank: Rank,
    /// What the pod needed of a node.
    pub class: ClassId,
    /// What is reserved; `None` while no node is known that has the room, or there is no quota for it.
    pub charge: Option<Charge>,
    /// The node that had just refused the pod: it is not tried again.
    pub refused_by: Option<NodeId>,
    /// How often nodes had got more room when none but that one was found.
    pub vain_at: Option<u64>,
    /// When the pod was lost.
    pub lost_at: Mono,
    /// When a member last renewed it; first when the pod was lost.
    pub renewed_at: Mono,
    /// How long it is kept.
    pub hold: Hold,
    /// Until when, on both clocks.
    pub until: (Mono, Wall),
}

/// How long a seat is kept.
#[derive(Clone, Copy, Debug)]
pub enum Hold {
    /// `seatHoldSeconds` from the loss of a pod that ran, or from when a member last renewed it, and twice that at most.
    Lost(Millis),
    /// A placeholder held it for a member that has not come yet: as long as that could have held it (01, 1.5 "after the start
    /// too, while members are to come").
    ForMember(Countdown),
}

impl KeptSeat {
    /// What is reserved on nodes, with the host ports that the pod had there.
    pub fn on_node<'a>(&'a self, books: &'a Books) -> Option<(NodeId, &'a Resources, &'a [HostPort])> {
        let charge = self.charge.as_ref()?;
        Some((charge.node, &charge.on_node, &books.classes.shape(self.class).ports))
    }
}

impl Books {
    /// The kept seats of an application, in no order.
    pub fn kept_of(&self, app: AppId) -> impl Iterator<Item = KeptId> {
        let app = &self.apps[app];
        let of_groups = app.groups.iter().flat_map(|group| &self.groups[*group].kept);
        of_groups.chain(&app.kept).copied()
    }

    /// Whether an application has kept seats of pods that ran. Like a placeholder, what is kept for a member that never came does
    /// not keep an application from its end.
    pub fn keeps_seats(&self, app: AppId) -> bool {
        self.kept_of_lost(app).next().is_some()
    }

    fn kept_of_lost(&self, app: AppId) -> impl Iterator<Item = KeptId> {
        self.kept_of(app).filter(|kept| matches!(self.kept[*kept].hold, Hold::Lost(_)))
    }

    /// The kept seats of the applications of a gang that have a node, by their ids.
    pub fn kept_of_gang(&self, gang: GangId) -> Vec<KeptId> {
        let mut kept: Vec<_> = self.kept_for_plan(gang).filter(|kept| self.kept[*kept].charge.is_some()).collect();
        kept.sort_unstable();
        kept
    }

    /// What is left of an ask when the gang gets what is kept for it in its queue.
    pub fn beyond_kept(&self, gang: GangId, ask: Totals) -> Totals {
        let charges = self.kept_for_plan(gang).filter_map(|kept| self.kept[kept].charge.as_ref());
        charges.fold(ask, |ask, charge| ask.without(&charge.in_queue))
    }

    /// When the last kept seat of an application is given back; `None` without any.
    pub fn kept_until(&self, app: AppId) -> Option<Wall> {
        self.kept_of(app).map(|kept| self.kept[kept].until.1).max()
    }

    /// The same of those for which it waits with its end.
    pub fn kept_lost_until(&self, app: AppId) -> Option<Wall> {
        self.kept_of_lost(app).map(|kept| self.kept[kept].until.1).max()
    }

    /// A pod is lost: what it has on the books is kept for the next one, if it left a seat that somebody may come for. To be
    /// called in the update that takes the pod off the books, before it does.
    pub(in crate::core) fn keep(&mut self, id: AskId) {
        let Some((app, hold)) = self.hold_of(id) else { return };
        let ask = &self.asks[id];
        let Some(charge) = ask.charge.clone() else { return };
        let in_its_queue = self.apps[app].queue.is_none_or(|queue| charge.queue == Some(queue));
        if !in_its_queue && ask.hands_over {
            // The application has begun anew in another queue, which has given it nothing.
            return;
        }
        let (group, rank, shape) = (ask.group, ask.rank(), ask.spec.shape.clone());
        let seat = ask.seat.filter(|_| !ask.hands_over && !self.is_of_an_earlier_life(ask));
        let is_refused = matches!(ask.spec.place, Place::Failed { refused: true, .. });
        let refused_by = is_refused.then_some(charge.node);
        let is_there = self.nodes.spec(charge.node).is_some() && !is_refused && in_its_queue;
        let class = self.classes.intern(&shape, &self.nodes);
        let Now { mono: lost_at, wall } = self.now;
        let (until, renewed_at) = ((lost_at, wall), lost_at);
        let kept = KeptSeat {
            app,
            group,
            seat,
            rank,
            class,
            charge: None,
            refused_by,
            vain_at: None,
            lost_at,
            renewed_at,
            hold,
            until,
        };
        let kept = self.kept.insert(kept);
        self.time_hold(kept);
        match group {
            Some(group) => _ = self.groups[group].kept.insert(kept),
            None => _ = self.apps[app].kept.insert(kept),
        }
        if let Some((group, seat)) = group.zip(seat) {
            self.seat(group, seat, SeatState::Kept(kept));
        }
        if is_there {
            self.charge_kept(kept, Some(charge));
            // The node may have been cordoned long before.
            self.due.kept.insert(kept);
        } else {
            self.unhoused.insert(kept);
            self.changes.pass_due = true;
        }
        self.show_kept(app);
    }

    /// The application for which the room of a pod is kept, and for how long. Of a placeholder that goes after the start it is
    /// kept whatever `seatHoldSeconds` says: nobody of the gang was lost.
    fn hold_of(&self, id: AskId) -> Option<(AppId, Hold)> {
        let ask = &self.asks[id];
        let app = ask.app?;
        let entry = &self.apps[app];
        let has_room = match ask.state {
            AskState::Bound { .. } => true,
            // It goes before it was seen with its node.
            AskState::Assumed { sent, .. } => sent && !ask.is_placeholder(),
            AskState::Waiting | AskState::Parked { .. } | AskState::Finished => false,
        };
        let is_wanted = match entry.state() {
            AppState::Running | AppState::Waiting => {
                // Before any of the gang is bound its seats are planned again.
                !ask.hands_over && left_a_seat(ask, entry) && !(ask.is_placeholder() && self.may_call_off(app))
            }
            // It began anew, and this one was of the life before.
            AppState::New | AppState::Accepted => self.hands_over(ask),
            AppState::Resuming | AppState::Rejected | AppState::Completed | AppState::Killed => false,
        };
        let goes_on = matches!(entry.state(), AppState::Running | AppState::Waiting);
        let hold = if ask.is_placeholder() && goes_on {
            let lasts = entry.countdowns().of(Deadline::Placeholder);
            Hold::ForMember(lasts.unwrap_or(Countdown::beginning(self.now)))
        } else {
            Hold::Lost(self.hold_in(app, ask.group).filter(|hold| *hold > 0)?)
        };
        (has_room && is_wanted && !ask.has_succeeded()).then_some((app, hold))
    }

    /// How long the room of a pod of a task group is kept, or, of one outside them, of the longest. `None` without any.
    fn hold_in(&self, app: AppId, group: Option<GroupId>) -> Option<Millis> {
        let holds = self.apps[app].groups.iter().map(|group| self.groups[*group].spec().seat_hold);
        match group {
            Some(group) => self.groups[group].spec.as_ref().map(|spec| spec.seat_hold),
            None => holds.max(),
        }
    }

    /// Whether the room of a pod of an earlier life is for the next one when the pod is gone.
    pub(in crate::core) fn hands_over(&self, ask: &Ask) -> bool {
        ask.hands_over || self.is_found_to_hand_over(ask)
    }

    /// The same of a pod that a new process finds: it is of an earlier life, in which it had a seat or started with the gang.
    fn is_found_to_hand_over(&self, ask: &Ask) -> bool {
        let had_part =
            ask.spec.mark.as_ref().is_some_and(|mark| mark.seat.is_some() || mark.started && mark.task_group.is_none());
        had_part && self.is_of_an_earlier_life(ask)
    }

    /// Reserves a kept seat on a node and in a queue, or nowhere: the one function that does.
    pub(in crate::core) fn charge_kept(&mut self, id: KeptId, charge: Option<Charge>) {
        let ports = self.classes.shape(self.kept[id].class).ports.clone();
        if let Some(new) = &charge {
            self.nodes.charge(new.node, &new.on_node, &ports);
            new.queue.into_iter().for_each(|queue| self.queues.charge(queue, &new.in_queue));
            match self.kept_on.get_mut(&new.node) {
                Some(kept) => _ = kept.insert(id),
                None => _ = self.kept_on.insert(new.node, [id].into()),
            }
            self.unhoused.remove(&id);
        }
        let old = std::mem::replace(&mut self.kept[id].charge, charge);
        let is = self.kept[id].charge.as_ref();
        let queues: Vec<_> = old.as_ref().into_iter().chain(is).filter_map(|charge| charge.queue).collect();
        queues.into_iter().for_each(|queue| self.show_queue(queue));
        self.changes.nodes = true;
        if let Some(old) = old {
            self.leave_node(id, old.node);
            self.nodes.discharge(old.node, &old.on_node, &ports);
            old.queue.into_iter().for_each(|queue| self.queues.discharge(queue, &old.in_queue));
            self.changes.grown.insert(old.node);
            self.changes.pass_due = true;
        }
    }

    fn leave_node(&mut self, id: KeptId, node: NodeId) {
        let is_same = self.kept[id].charge.as_ref().is_some_and(|charge| charge.node == node);
        if let Some(kept) = self.kept_on.get_mut(&node).filter(|_| !is_same) {
            kept.remove(&id);
            if kept.is_empty() {
                self.kept_on.remove(&node);
            }
        }
    }

    /// The node of a kept seat does not have the room any more: another one is looked for.
    pub(in crate::core) fn unhouse(&mut self, id: KeptId) {
        self.charge_kept(id, None);
        self.unhoused.insert(id);
        self.changes.pass_due = true;
        self.show_kept(self.kept[id].app);
    }

    /// A kept seat is given back: its time is over, somebody took it, or nobody can come for it any more.
    pub(in crate::core) fn give_up_kept(&mut self, id: KeptId) {
        if self.kept.get(id).is_none() {
            return;
        }
        self.charge_kept(id, None);
        self.unhoused.remove(&id);
        self.timers.stop(Timer::Hold(id));
        let kept = self.kept.remove(id).expect("looked at just now");
        self.classes.release(kept.class);
        self.due.dropped.insert(kept.class);
        match kept.group.and_then(|group| self.groups.get_mut(group)) {
            Some(group) => _ = group.kept.remove(&id),
            None => _ = self.apps[kept.app].kept.remove(&id),
        }
        if let Some((group, seat)) = kept.group.zip(kept.seat)
            && self.groups[group].seats.get(seat).is_some_and(|seat| seat.state == SeatState::Kept(id))
        {
            self.seat(group, seat, SeatState::Open(Reserve::None));
        }
        self.show_kept(kept.app);
        if !self.keeps_seats(kept.app) {
            self.dismiss_if_idle(kept.app);
        }
    }

    /// All kept seats of an application are given back.
    pub(in crate::core) fn give_up_all_kept(&mut self, app: AppId) {
        let all: Vec<_> = self.kept_of(app).collect();
        all.into_iter().for_each(|kept| self.give_up_kept(kept));
    }

    /// The seats of a task group that are kept are open for a plan, which has what is kept for them (01, 1.8).
    pub(in crate::core) fn open_kept_seats(&mut self, id: GroupId) {
        for (seat, kept) in self.groups[id].seats.kept().collect::<Vec<_>>() {
            self.kept[kept].seat = None;
            self.seat(id, seat, SeatState::Open(Reserve::None));
        }
    }

    /// All kept seats of a task group that goes are given back, and with the last task group those of pods outside.
    pub(in crate::core) fn give_up_kept_of_group(&mut self, id: GroupId) {
        let of_group: Vec<_> = self.groups[id].kept.iter().copied().collect();
        of_group.into_iter().for_each(|kept| self.give_up_kept(kept));
        let app = self.groups[id].app.filter(|app| self.apps[*app].groups.len() == 1);
        app.into_iter().for_each(|app| self.give_up_all_kept(app));
    }

    /// A member or an originator came: what is kept for the others is kept longer, up to twice its time since the loss.
    pub(in crate::core) fn renew_kept(&mut self, app: AppId) {
        for id in self.kept_of(app).collect::<Vec<_>>() {
            self.kept[id].renewed_at = self.now.mono;
            self.time_hold(id);
        }
        self.show_kept(app);
    }

    /// `seatHoldSeconds` or `placeholderTimeoutSeconds` was changed: what is kept already is kept as long as they say now, counted
    /// from where it was.
    pub(in crate::core) fn rehold(&mut self, app: AppId) {
        for id in self.kept_of(app).collect::<Vec<_>>() {
            if let (Hold::Lost(_), Some(hold)) = (self.kept[id].hold, self.hold_in(app, self.kept[id].group)) {
                self.kept[id].hold = Hold::Lost(hold);
            }
            self.time_hold(id);
        }
        self.show_kept(app);
    }

    fn time_hold(&mut self, id: KeptId) {
        let (now, kept) = (self.now, &self.kept[id]);
        let until = match kept.hold {
            Hold::Lost(hold) => kept.renewed_at.after(hold).min(kept.lost_at.after(2 * hold)),
            Hold::ForMember(lasts) => {
                self.timeout(kept.app, Deadline::Placeholder).map_or(Mono(u64::MAX), |timeout| lasts.ends(timeout).0)
            }
        };
        let kept = &mut self.kept[id];
        kept.until = (until, now.wall.after(until.since(now.mono)));
        self.timers.set(Timer::Hold(id), until);
    }

    /// What is kept for an application has changed: it is looked at, and shown.
    pub(in crate::core) fn show_kept(&mut self, app: AppId) {
        self.changes.apps.insert(app);
        let groups = &self.apps[app].groups;
        self.changes.groups.extend(groups);
    }
}

/// Whether a pod that goes had a seat, or started with its gang: a member beyond `minMember` leaves none. Nor does a
/// placeholder that was given up, unless for a member that went meanwhile.
fn left_a_seat(ask: &Ask, app: &App) -> bool {
    let is_given_up = !matches!(ask.leaving, None | Some(TerminationType::PlaceholderReplaced));
    match ask.group {
        Some(_) => ask.seat.is_some() && !is_given_up,
        None => ask.started_with_gang && !app.groups.is_empty(),
    }
}
