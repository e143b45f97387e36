//! Rounds: members of a gang that has started are placed together, or not at all, where its match policy says so (01, 1.6).

use crate::core::base::ids::{AppId, AskId, GangId, NodeId, QueueId};
use crate::core::model::rounds::Round;
use crate::core::model::turn::Turn;
use crate::core::order::lines::Until;
use crate::core::order::pass::{Next, Served};
use crate::core::place::plan::{Shortage, first_chosen};
use crate::core::reason::Reason;
use crate::core::step::Scheduler;

impl Scheduler {
    /// Members that start together once more take a turn in the pass when enough of them wait. Until then nothing is asked of
    /// queues or nodes for them.
    pub(super) fn take_round(&mut self, app: AppId) {
        let gang = self.books.apps[app].gang;
        if !self.books.may_have_rounds(gang) {
            return;
        }
        match (self.books.round_of(gang), self.books.apps[app].queue) {
            (Round::Due(rank), Some(queue)) => self.books.set_turn(gang, Some(Turn::Round { rank, queue })),
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
        let first = first_chosen(&self.books, id);
        if let Some(next) = self.round_beyond_quota(id, queue, first.into_iter()) {
            return Served { placed: 0, next };
        }
        let plan = match self.planner.plan(&self.books, id) {
            Some(Ok(plan)) => plan,
            Some(Err(short)) => return Served { placed: 0, next: self.round_lacks_nodes(id, short) },
            // Too few wait by now: what comes, or goes, is seen on its pods.
            None => return Served { placed: 0, next: Next::waits(Until::it_changes()) },
        };
        if let Some(next) = self.round_beyond_quota(id, queue, plan.iter().map(|(member, _)| *member)) {
            return Served { placed: 0, next };
        }
        self.place_round(id, queue, &plan);
        Served::goes(plan.len() as u32)
    }

    /// If the quota has no room for these members, until when they wait.
    fn round_beyond_quota(&mut self, id: GangId, queue: QueueId, members: impl Iterator<Item = AskId>) -> Option<Next> {
        let ask = self.books.beyond_kept(id, self.books.requests(members));
        let refused = self.books.queues.refuses(queue, &ask)?;
        let until = self.until_held(&refused, None);
        self.wait(id, Reason::WaitingForQuota(refused));
        Some(Next::waits(until))
    }

    /// A plan found too few nodes: exactly those that it wanted to place call for more.
    fn round_lacks_nodes(&mut self, id: GangId, short: Shortage) -> Next {
        for group in self.books.gangs[id].groups.clone() {
            self.mark_wanted(group);
        }
        let Shortage { fit, need, goes_on, proof, .. } = short;
        self.wait(id, Reason::WaitingForCapacity { fit, need, proof });
        if goes_on {
            return Next::Later;
        }
        Next::waits(Until { room: Some(self.tried(id, &short).room), ..Until::default() })
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
