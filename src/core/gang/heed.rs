//! Does what the facts of a step call for, once all of them are in: one kind of thing after the other, each in the
//! order of names.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, Text};
use crate::core::decision::Decision;
use crate::core::gang::judge::queue_path_of;
use crate::core::model::application::App;
use crate::core::model::due::Verdict;
use crate::core::model::gang::Gang;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::is_on_path_of;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Does all of it. Before every kind is listed task groups come into their applications, and nothing else happens.
    pub(in crate::core) fn heed_facts(&mut self) {
        self.forget_classes();
        if !self.books.listed.all {
            self.attach_arrived();
            return self.regroup();
        }
        let swapped = self.finish_swaps();
        self.renew_all_kept();
        self.lose_nodes();
        self.drained_queues_go();
        self.judge_the_concerned();
        self.attach_arrived();
        self.regroup();
        let found = self.books.due.found.take();
        let found = self.books.by_name(found);
        found.iter().for_each(|id| self.absorb(*id));
        self.doubt_decisions();
        self.bind_swapped(swapped);
        found.into_iter().for_each(|id| self.take_up_start(id));
        self.take_refusals();
        self.fall_back_all();
        self.withdraw();
    }

    /// Nothing is known any more about room for classes that nobody is in.
    pub(in crate::core) fn forget_classes(&mut self) {
        for class in std::mem::take(&mut self.books.due.dropped) {
            if !self.books.classes.contains(class) {
                self.planner.bounds.forget(class);
                self.heads.forget(class);
                self.lacks.forget(class);
            }
        }
    }

    /// A queue that drained is forgotten once nothing is left in it. Applications and pods that were refused because it
    /// drains are judged again: now it does not exist. Its Queue object may still be there, below one that is gone, so
    /// the status of that object and of those above is shown anew, without the use.
    fn drained_queues_go(&mut self) {
        for path in self.books.queues.take_drained() {
            self.books.changes.asks.extend(self.books.queueless.iter().copied());
            let up = std::iter::successors(Some(&*path), |path| path.rsplit_once('.').map(|(above, _)| above));
            up.for_each(|path| self.decide(Decision::ShowQueue(path.into())));
            self.books.due.queues.insert(path);
        }
    }

    /// Judges applications again after a change of something that they were judged by.
    fn judge_the_concerned(&mut self) {
        self.find_the_concerned();
        let verdicts = std::mem::take(&mut self.books.due.verdicts).into_iter();
        let mut verdicts: Vec<_> =
            verdicts.filter_map(|(id, verdict)| Some((self.books.apps.get(id)?.key.clone(), id, verdict))).collect();
        verdicts.sort_unstable();
        for (_, id, verdict) in verdicts {
            // The judgement of another application just now may have left this one without task groups and pods: then
            // it is forgotten.
            if self.books.apps.get(id).is_some() {
                self.judge_because(id, verdict);
            }
        }
    }

    /// Notes the applications that name a queue which changed, one above it or one below it, or are in one, or that are in a
    /// namespace whose ResourceQuotas or queues changed.
    fn find_the_concerned(&mut self) {
        let due = &mut self.books.due;
        let (queues, homes) = (std::mem::take(&mut due.queues), std::mem::take(&mut due.homes));
        let namespaces: BTreeSet<Text> = std::mem::take(&mut due.namespaces).union(&homes).cloned().collect();
        if queues.is_empty() && namespaces.is_empty() {
            return;
        }
        let shown = self.books.queues.iter().filter(|(_, queue)| is_on_path_of(&queue.path, &queues));
        self.books.changes.queues.extend(shown.map(|(id, _)| id));
        for (id, app) in self.books.apps.iter() {
            let of_queue = || is_on_path_of(&queue_path_of(&self.books, app, app.has_started()), &queues);
            let is_in_one = || app.queue.is_some_and(|queue| is_on_path_of(&self.books.queues[queue].path, &queues));
            let of_namespace = self.books.namespaces_of(app).any(|namespace| namespaces.contains(namespace));
            if of_namespace || of_queue() || is_in_one() || self.waits_for_namespace(app) {
                self.books.due.judge(id, Verdict::InDoubt);
            }
        }
        if !queues.is_empty() || !homes.is_empty() {
            self.books.line_up_singles(&queues, &homes);
        }
    }

    /// Whether nobody knew which queue its namespace has. Without a queue that chooses namespaces nobody need know.
    fn waits_for_namespace(&self, app: &App) -> bool {
        matches!(self.books.gangs[app.gang].waits, Some(Reason::WaitingForNamespace { .. }))
    }

    fn judge_because(&mut self, id: AppId, verdict: Verdict) {
        match (verdict, self.books.apps[id].state()) {
            (_, AppState::Resuming | AppState::Running | AppState::Waiting) => {}
            (Verdict::InDoubt, AppState::Accepted) => self.judge_again(id),
            // Nothing of it runs, and it would be refused for the same.
            (Verdict::InDoubt, AppState::Rejected) if self.stays_rejected(id) => {}
            (Verdict::InDoubt | Verdict::Incomplete, AppState::Completed | AppState::Killed) => {}
            (_, AppState::New | AppState::Accepted | AppState::Rejected | AppState::Completed | AppState::Killed) => {
                self.renew(id)
            }
        }
        if verdict > Verdict::InDoubt {
            self.let_outsiders_in(id);
        }
        self.books.touch(id);
        self.books.forget_app_if_idle(id);
    }

    /// The creation of a placeholder was refused, and the placeholder has not been seen: its gang gives everything back
    /// until the next attempt.
    fn take_refusals(&mut self) {
        for (name, refusal) in std::mem::take(&mut self.books.due.refused) {
            let Some(id) = self.books.group_ids.get(&name.group).copied() else { continue };
            let group = &self.books.groups[id];
            let state = group.seats.get(name.seat).map(|seat| seat.state);
            let is_current = self.books.placeholder_name(id, name.seat).as_ref() == Some(&name);
            if let (true, Some(SeatState::Open(Reserve::Creating)), Some(gang)) = (is_current, state, group.gang) {
                self.books.seat(id, name.seat, SeatState::Open(Reserve::None));
                self.books.due.setback(gang, None, Reason::PlaceholderRejected(refusal));
            }
        }
    }

    /// Gangs whose placeholders are refused, or lost again and again, give back what they hold.
    fn fall_back_all(&mut self) {
        let concerned: Vec<_> = self.books.due.setbacks.iter().map(|(gang, ..)| *gang).collect();
        for gang in concerned {
            if self.books.gangs.get(gang).is_some() {
                self.calls_off_start(gang);
            }
        }
        let books = &mut self.books;
        let mut setbacks = BTreeMap::new();
        for (gang, node, reason) in std::mem::take(&mut books.due.setbacks) {
            let holds = node.is_none_or(|node| books.nodes.spec(node).is_some());
            if holds && books.gangs.get(gang).is_some_and(Gang::is_before_start) {
                setbacks.entry(gang).or_insert(reason);
            }
        }
        let mut setbacks: Vec<_> =
            setbacks.into_iter().map(|(gang, reason)| (self.gang_key(gang), gang, reason)).collect();
        setbacks.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        setbacks.into_iter().for_each(|(_, gang, reason)| self.fall_back(gang, reason));
    }
}
