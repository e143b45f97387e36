//! The plan of one gang: candidates for every open seat and a node for each, all or none (01, 1.3).

use std::collections::{BTreeMap, VecDeque};

use super::event::PlaceholderFor;
use super::fill::{Demand, Placed, Shortfall, fill};
use super::ids::{AppId, AskId, ClassId, GroupId, NodeId};
use super::reason::Reason;
use super::scheduler::Scheduler;

/// One seat or originator of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) ask: AskId,
    pub(super) class: ClassId,
    /// The group whose seat it takes; `None` for an originator.
    pub(super) group: Option<GroupId>,
}

/// The class that fell short first in a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortage {
    pub(super) class: ClassId,
    /// How many of it fit.
    pub(super) fit: u32,
    /// How many are needed.
    pub(super) need: u32,
    /// Whether other candidates could have taken their place, or other classes were in the way.
    pub(super) has_others: bool,
    /// Whether another attempt gets further even if nothing changes.
    pub(super) goes_on: bool,
}

/// How often one plan chooses other candidates. Each round lowers the number of one class at least by one; a gang with
/// more classes that fit nowhere learns of them in several plans.
const ROUNDS: u32 = 16;

impl Scheduler {
    /// Who would take the open seats: members first where they may, placeholders for the rest, and the originators.
    pub(super) fn candidates(&self, id: AppId) -> Result<Vec<Vec<Candidate>>, Reason> {
        let app = &self.books.apps[id];
        let mut all = Vec::with_capacity(app.groups.len() + 1);
        for id in &app.groups {
            let group = &self.books.groups[*id];
            let candidate = |ask: AskId| Some(Candidate { ask, class: self.books.asks[ask].class?, group: Some(*id) });
            let placeholders = || group.seats.open_with_placeholder().filter_map(|(_, ask)| candidate(ask));
            let members = || group.waiting.iter().filter_map(|(_, ask)| candidate(*ask));
            let of_group: Vec<_> = match (group.uses_placeholders(), group.spec().placeholder_for) {
                (false, _) => members().collect(),
                (true, PlaceholderFor::Missing) => members().chain(placeholders()).collect(),
                (true, PlaceholderFor::All) => placeholders().collect(),
            };
            let open = group.seats.tally().open;
            if (of_group.len() as u32) < open {
                return Err(Reason::CreatingPlaceholders { have: of_group.len() as u32, need: open });
            }
            all.push(of_group);
        }
        let originator = |ask: AskId| Some(Candidate { ask, class: self.books.asks[ask].class?, group: None });
        all.push(app.originators.iter().filter_map(|(_, ask)| originator(*ask)).collect());
        Ok(all)
    }

    /// Chooses candidates for every seat and a node for each, all or none. A candidate that fits nowhere is skipped for
    /// another (01, 1.3): after a shortfall its class may not be chosen more often than it fits.
    pub(super) fn plan(&mut self, candidates: &[Vec<Candidate>]) -> Result<Vec<(Candidate, NodeId)>, Shortage> {
        let mut caps = BTreeMap::new();
        let mut first = None;
        let mut learned = false;
        for round in 0..ROUNDS {
            let Some(chosen) = self.choose(candidates, &caps) else {
                return Err(Shortage {
                    has_others: round > 1,
                    ..first.expect("without a shortfall every seat has one")
                });
            };
            let demands = demands_of(&chosen);
            let known: Vec<_> = demands.iter().filter_map(|demand| self.known_short(*demand)).collect();
            if let Some(short) = known.first() {
                first.get_or_insert(*short);
                caps.extend(known.iter().map(|short| (short.class, short.fit)));
                continue;
            }
            match self.fill(&demands) {
                Ok(()) => return Ok(assign(&chosen, &demands, &self.placed)),
                Err(Shortfall { demand, fit }) => {
                    let demand = demands[demand];
                    first.get_or_insert(Shortage {
                        class: demand.class,
                        fit,
                        need: demand.count,
                        has_others: true,
                        goes_on: false,
                    });
                    caps.insert(demand.class, fit);
                    learned |= demands.len() == 1 || self.fill(&[demand]).is_err();
                }
            }
        }
        // What was learned about room stays known: the next attempt gets further.
        self.stirred |= learned;
        Err(Shortage { goes_on: learned, ..first.expect("each round found a shortfall") })
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

    /// Whether fewer of a class fit than are needed, known without looking at a node again.
    fn known_short(&self, Demand { class, count }: Demand) -> Option<Shortage> {
        let fit = *self.room.get(&class)?;
        (fit < count).then_some(Shortage { class, fit, need: count, has_others: true, goes_on: false })
    }

    /// The first candidates of each group, in order, within the caps of their classes; `None` if there are too few.
    fn choose(&self, candidates: &[Vec<Candidate>], caps: &BTreeMap<ClassId, u32>) -> Option<Vec<Candidate>> {
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
                match left.get_mut(&candidate.class) {
                    Some(0) => {}
                    Some(cap) => {
                        *cap -= 1;
                        chosen.push(*candidate);
                    }
                    None => chosen.push(*candidate),
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
    let mut demands: Vec<Demand> = Vec::new();
    for Candidate { class, .. } in chosen {
        match demands.iter_mut().find(|demand| demand.class == *class) {
            Some(demand) => demand.count += 1,
            None => demands.push(Demand { class: *class, count: 1 }),
        }
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
