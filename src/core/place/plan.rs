//! The plan of one gang: candidates for every open seat and a node for each, all or none (01, 1.3).

use std::collections::{BTreeMap, VecDeque};

use crate::core::base::ids::{AskId, ClassId, GangId, GroupId, NodeId};
use crate::core::event::PlaceholderFor;
use crate::core::place::fill::{Demand, Placed, Shortfall, fill, fill_until_short};
use crate::core::place::overlay::Scratch;
use crate::core::step::Scheduler;

/// One seat or originator of a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct Candidate {
    pub(in crate::core) ask: AskId,
    pub(in crate::core) class: ClassId,
    /// The group whose seat it takes; `None` for an originator.
    pub(in crate::core) group: Option<GroupId>,
}

/// The class that fell short first in a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct Shortage {
    pub(in crate::core) class: ClassId,
    /// How many of it fit.
    pub(in crate::core) fit: u32,
    /// How many are needed.
    pub(in crate::core) need: u32,
    /// Whether other candidates could have taken their place, or other classes were in the way.
    pub(in crate::core) has_others: bool,
    /// Whether another attempt gets further even if nothing changes.
    pub(in crate::core) goes_on: bool,
}

/// How often one plan chooses other candidates. Each round lowers the number of one class at least by one; a gang with
/// more classes that fit nowhere learns of them in several plans.
const ROUNDS: u32 = 16;

impl Scheduler {
    /// Who would take the open seats: members first where they may, placeholders for the rest, and the originators. `None`
    /// while there are fewer than seats.
    pub(in crate::core) fn candidates(&self, id: GangId) -> Option<Vec<Vec<Candidate>>> {
        let gang = &self.books.gangs[id];
        let mut all = Vec::with_capacity(gang.groups.len() + 1);
        for id in &gang.groups {
            let group = &self.books.groups[*id];
            let candidate = |ask: AskId| Some(Candidate { ask, class: self.books.asks[ask].class?, group: Some(*id) });
            let placeholders = || group.seats.open_with_placeholder().filter_map(|(_, ask)| candidate(ask));
            let members = || group.waiting.iter().filter_map(|(_, ask)| candidate(*ask));
            let of_group: Vec<_> = match (group.uses_placeholders(), group.spec().placeholder_for) {
                (false, _) => members().collect(),
                (true, PlaceholderFor::Missing) => members().chain(placeholders()).collect(),
                (true, PlaceholderFor::All) => placeholders().collect(),
            };
            if (of_group.len() as u32) < group.seats.tally().open {
                return None;
            }
            all.push(of_group);
        }
        let originator = |ask: AskId| Some(Candidate { ask, class: self.books.asks[ask].class?, group: None });
        all.push(gang.originators.iter().filter_map(|(_, ask)| originator(*ask)).collect());
        Some(all)
    }

    /// Chooses candidates for every seat and a node for each, all or none. A candidate that fits nowhere is skipped for
    /// another (01, 1.3): after a shortfall its class may not be chosen more often than it fits.
    pub(in crate::core) fn plan(
        &mut self,
        candidates: &[Vec<Candidate>],
    ) -> Result<Vec<(Candidate, NodeId)>, Shortage> {
        let mut caps = BTreeMap::new();
        let mut first = None;
        let mut learned = false;
        for _round in 0..ROUNDS {
            let Some(chosen) = self.choose(candidates, &caps, |class| self.room.get(&class).copied()) else {
                return Err(self.shortage(candidates, first));
            };
            let demands = demands_of(&chosen);
            match self.fill(&demands) {
                Ok(()) => return Ok(assign(&chosen, &demands, &self.placed)),
                Err(Shortfall { demand, fit }) => {
                    let demand = demands[demand];
                    first.get_or_insert((demand, fit));
                    caps.insert(demand.class, fit);
                    learned |= demands.len() == 1 || self.fill(&[demand]).is_err();
                }
            }
        }
        // What was learned about room stays known: the next attempt gets further.
        self.books.changes.pass_due |= learned;
        Err(Shortage { goes_on: learned, ..self.shortage(candidates, first) })
    }

    /// What to say of a plan that failed: the first class that fell short, found by a search or known before.
    fn shortage(&self, candidates: &[Vec<Candidate>], found: Option<(Demand, u32)>) -> Shortage {
        let known = || {
            let chosen = self.choose(candidates, &BTreeMap::new(), |_| None)?;
            demands_of(&chosen).into_iter().find_map(|demand| {
                let fit = *self.room.get(&demand.class)?;
                (fit < demand.count).then_some((demand, fit))
            })
        };
        let (Demand { class, count }, fit) = found.or_else(known).expect("without a shortfall every seat has one");
        let has_others = self.choose(candidates, &BTreeMap::from([(class, fit)]), |_| None).is_some();
        Shortage { class, fit, need: count, has_others, goes_on: false }
    }

    /// Where a plan of the gang's first candidates would fall short now: the demand, how many of it fit, and the nodes
    /// as the next one sees them. `None` if it would not.
    pub(in crate::core) fn shortfall_now(&self, id: GangId) -> Option<(Demand, u32, Scratch)> {
        let demands = demands_of(&self.choose(&self.candidates(id)?, &BTreeMap::new(), |_| None)?);
        let mut scratch = Scratch::default();
        let short = fill_until_short(&self.books.nodes, &self.books.classes, &mut scratch, &demands)?;
        Some((demands[short.demand], short.fit, scratch))
    }

    /// Finds nodes for all demands, in `placed`. What a single demand lacks bounds every plan until nodes get more room.
    fn fill(&mut self, demands: &[Demand]) -> Result<(), Shortfall> {
        self.placed.clear();
        self.scratch.begin();
        let result = fill(&self.books.nodes, &self.books.classes, &mut self.scratch, demands, &mut self.placed);
        if let ([demand], Err(Shortfall { fit, .. })) = (demands, &result) {
            self.room.insert(demand.class, *fit);
        }
        result
    }

    /// The first candidates of each group, in order, within the caps of their classes; `None` if there are too few.
    fn choose(
        &self,
        candidates: &[Vec<Candidate>],
        caps: &BTreeMap<ClassId, u32>,
        bound: impl Fn(ClassId) -> Option<u32>,
    ) -> Option<Vec<Candidate>> {
        let mut left = caps.clone();
        let mut chosen = Vec::new();
        for of_group in candidates {
            let first = of_group.first();
            let need = match first.and_then(|candidate| candidate.group) {
                Some(group) => self.books.groups[group].seats.tally().open as usize,
                None => of_group.len(),
            };
            let before = chosen.len();
            for candidate in of_group {
                if chosen.len() - before == need {
                    break;
                }
                let cap = left.entry(candidate.class).or_insert_with(|| bound(candidate.class).unwrap_or(u32::MAX));
                if *cap > 0 {
                    *cap -= 1;
                    chosen.push(*candidate);
                }
            }
            if chosen.len() - before < need {
                return None;
            }
        }
        Some(chosen)
    }
}

fn demands_of(chosen: &[Candidate]) -> Vec<Demand> {
    // In the order of the candidates: ids depend on the order of arrival.
    let (mut demands, mut places) = (Vec::new(), BTreeMap::new());
    for Candidate { class, .. } in chosen {
        let at = *places.entry(*class).or_insert_with(|| {
            demands.push(Demand { class: *class, count: 0 });
            demands.len() - 1
        });
        demands[at].count += 1;
    }
    demands
}

/// Hands the nodes of each class to its candidates, in their order.
fn assign(chosen: &[Candidate], demands: &[Demand], placed: &[Placed]) -> Vec<(Candidate, NodeId)> {
    let mut nodes: BTreeMap<ClassId, VecDeque<NodeId>> = BTreeMap::new();
    for Placed { demand, node, count } in placed {
        let of_class = nodes.entry(demands[*demand].class).or_default();
        of_class.extend(std::iter::repeat_n(*node, *count as usize));
    }
    let node = |candidate: &Candidate| nodes.get_mut(&candidate.class).and_then(|nodes| nodes.pop_front());
    chosen.iter().map(node).zip(chosen.iter()).filter_map(|(node, candidate)| Some((*candidate, node?))).collect()
}
