//! Rounds: members of a gang that has started are placed together, or not at all, where its match policy says so (01, 1.6).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::core::base::ids::{AppId, AskId, GangId, NodeId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::gang::Room;
use crate::core::model::rounds::Round;
use crate::core::model::turn::Turn;
use crate::core::order::lines::Until;
use crate::core::order::pass::{Next, Served};
use crate::core::place::plan::Shortage;
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Members that start together once more take a turn in the pass when enough of them wait. Until then nothing is asked of
    /// queues or nodes for them. What happens to others of the gang is no reason to look for nodes again.
    pub(super) fn take_round(&mut self, app: AppId) {
        let gang = self.books.apps[app].gang;
        let had_one = matches!(self.books.gangs[gang].turn(), Some(Turn::Round { .. }));
        if !had_one && !self.books.may_have_rounds(gang) {
            return;
        }
        match (self.books.round_of(gang), self.books.apps[app].queue) {
            (Round::Due(rank), Some(queue)) => {
                let form = Arc::new(self.books.round_form(gang));
                self.books.set_turn(gang, Some(Turn::Round { rank, queue, form }));
            }
            (Round::Lacks(reason), _) => {
                self.books.take_no_turn(gang);
                self.wait(gang, reason);
            }
            (Round::Idle | Round::Due(_), _) => {
                self.books.take_no_turn(gang);
                if self.books.gangs[gang].waits.take().is_some() {
                    self.books.show_gang(gang);
                }
            }
        }
    }

    /// One transaction over as many members as start together: all of them find nodes within the quota, or nothing is held.
    pub(in crate::core) fn serve_round(&mut self, id: GangId, queue: QueueId) -> Served {
        let least = self.books.least_ask(id, &BTreeSet::new());
        if let Some(refused) = self.books.queues.refuses(queue, &self.books.beyond_kept(id, least.clone())) {
            let until = self.until_held(&refused, None);
            self.wait(id, Reason::RoundWaitsForQuota(refused));
            return Served { placed: 0, next: Next::waits(until) };
        }
        let plan = match self.planner.plan(&self.books, id) {
            Some(Ok(plan)) => plan,
            Some(Err(short)) => return Served { placed: 0, next: self.round_lacks_nodes(id, short, (queue, least)) },
            // Too few wait by now: what comes, or goes, is seen on its pods.
            None => return Served { placed: 0, next: Next::waits(Until::it_changes()) },
        };
        let ask = self.books.requests(plan.iter().map(|(member, _)| *member));
        if let Some(refused) = self.books.queues.refuses(queue, &self.books.beyond_kept(id, ask)) {
            // With room for others the plan may be another one.
            let until = Until { room: Some(Room::Any), ..self.until_held(&refused, None) };
            self.wait(id, Reason::RoundWaitsForQuota(refused));
            return Served { placed: 0, next: Next::waits(until) };
        }
        self.place_round(id, queue, &plan);
        Served::goes(plan.len() as u32)
    }

    /// A plan found too few nodes: exactly those that it wanted to place call for more, as long as the quota has room for them.
    fn round_lacks_nodes(&mut self, id: GangId, short: Shortage, (queue, least): (QueueId, Totals)) -> Next {
        for group in self.books.gangs[id].groups.clone() {
            self.mark_wanted(group);
        }
        let Shortage { fit, need, goes_on, proof, .. } = short;
        self.wait(id, Reason::WaitingForCapacity { fit, need, proof });
        if goes_on {
            return Next::Later;
        }
        let refused = Some((queue, self.books.beyond_kept(id, least)));
        Next::waits(Until { room: Some(self.tried(id, &short).room), refused, ..Until::default() })
    }

    /// In one update what is kept goes, and each member has its node and, as far as there are any, a seat.
    fn place_round(&mut self, id: GangId, queue: QueueId, plan: &[(AskId, NodeId)]) {
        let kept: Vec<_> = self.books.kept_for_plan(id).collect();
        kept.into_iter().for_each(|kept| self.books.give_up_kept(kept));
        self.books.take_no_turn(id);
        for (member, node) in plan {
            self.allocate(*member, *node, queue);
        }
        self.books.touch_gang(id);
    }
}
