//! A gang restarts as a gang (01, 1.8): when none of its pods lives any more and others come, these begin another life of
//! the application, which starts as a whole like the first.

use crate::core::base::ids::{AppId, AskId, QueueId, Uid};
use crate::core::decision::TerminationType;
use crate::core::model::ask::AskState;
use crate::core::model::lifecycle::{AppEvent, AppState};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Whether pods that wait begin another life of an application that has started.
    pub(super) fn comes_anew(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        let has_lived = app.state() == AppState::Waiting || app.has_lived;
        has_lived && app.living == 0 && app.pending > 0 && !app.groups.is_empty() && self.somebody_new_waits(id)
    }

    /// Whether a pod waits that does not go on with this life.
    fn somebody_new_waits(&self, id: AppId) -> bool {
        let mut waiting = self.books.app_asks(id).filter(|ask| {
            let ask = &self.books.asks[*ask];
            ask.is_pending() && !ask.is_placeholder()
        });
        waiting.any(|ask| !self.goes_on_with(id, ask))
    }

    /// Whether a pod goes on with a life of which nobody lives: others of its maker have succeeded (a Job with more
    /// completions than parallelism); some have succeeded, and it was made no later than those that ran (they were more than
    /// the seats); or it was to be placed alone, since a timeout had ended the reservation.
    fn goes_on_with(&self, id: AppId, ask: AskId) -> bool {
        let (app, pod) = (&self.books.apps[id], &self.books.asks[ask]);
        let of_this_life = || {
            let asks = self.books.app_asks(id).map(|ask| &self.books.asks[ask]);
            asks.filter(|ask| self.books.life_of(ask) == Some(app.incarnation))
        };
        let succeeded = || of_this_life().filter(|ask| ask.has_succeeded());
        let of_its_maker = |maker: &Uid| {
            app.succeeded_under.contains(maker)
                || succeeded().any(|other| other.spec.controller.as_ref() == Some(maker))
        };
        let some_succeeded = || {
            let mut groups = app.groups.iter().map(|group| &self.books.groups[*group]);
            groups.any(|group| group.ended.have_done_their_work() > 0) || succeeded().next().is_some()
        };
        let newest = || of_this_life().map(|ask| ask.spec.created).max().max(app.newest_lived);
        pod.spec.controller.as_ref().is_some_and(of_its_maker)
            || newest() >= Some(pod.spec.created) && some_succeeded()
            || self.is_of_timed_out(id, ask)
    }

    /// The next life begins. What is kept, and what its pods and placeholders have until they are gone, is kept for it.
    pub(super) fn begin_anew(&mut self, id: AppId) {
        let heirs: Vec<_> = self.books.app_asks(id).filter(|ask| self.leaves_room(*ask)).collect();
        heirs.into_iter().for_each(|ask| self.books.asks[ask].hands_over = true);
        self.release_placeholders(id, TerminationType::StoppedByRm);
        self.renew(id);
        self.take_up_edits(id);
        if self.books.apps.get(id).is_none() {
            return;
        }
        self.books.apps[id].begun_anew = true;
        for group in self.books.apps[id].groups.clone() {
            self.books.sorted_asks(group).into_iter().for_each(|ask| self.books.line_up(ask));
        }
    }

    /// The pods with which a life began are gone before it started: the job was taken away, or is made once more.
    pub(super) fn wait_again(&mut self, id: AppId) {
        let gang = self.books.apps[id].gang;
        self.abandon(gang, TerminationType::StoppedByRm);
        self.books.take_no_turn(gang);
        self.books.gangs[gang].waits = None;
        self.transit(id, AppEvent::Idle);
    }

    /// Whether the room of a pod of the life that is over is wanted by the next one: it has a node, and had a seat or
    /// started with the gang.
    fn leaves_room(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let has_part = ask.seat.is_some() || ask.started_with_gang;
        matches!(ask.state, AskState::Bound { .. }) && has_part
    }

    /// What is kept elsewhere than in the queue of an application is of no use to it.
    pub(super) fn keep_only_in(&mut self, id: AppId, queue: QueueId) {
        let elsewhere = self.books.kept_of(id).filter(|kept| {
            let charge = self.books.kept[*kept].charge.as_ref();
            charge.is_some_and(|charge| charge.queue != Some(queue))
        });
        let elsewhere: Vec<_> = elsewhere.collect();
        elsewhere.into_iter().for_each(|kept| self.books.give_up_kept(kept));
    }
}
