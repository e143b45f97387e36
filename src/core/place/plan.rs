//! The plan of one gang: candidates for every open seat and a node for each, all or none (01, 1.3).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::core::base::ids::{AskId, ClassId, GangId, GroupId, NodeId};
use crate::core::model::books::Books;
use crate::core::model::turn::{Form, Turn};
use crate::core::place::fill::{Demand, Placed, fill_until_short};
use crate::core::place::overlay::Scratch;
use crate::core::place::planner::{Planner, credit_kept};
use crate::core::place::puzzle::STEPS;
use crate::core::place::tight::Miss;
use crate::core::reason::Proof;

/// Who may take one seat of a plan, or an originator.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// `None`: a placeholder that is not made yet, in a plan on trial.
    ask: Option<AskId>,
    class: ClassId,
    /// The group whose seat it takes; `None` for an originator.
    group: Option<GroupId>,
}

/// A node for each of those who are to have one.
pub(in crate::core) type Plan = Vec<(AskId, NodeId)>;

/// The class that fell short first in a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct Shortage {
    pub(in crate::core) class: ClassId,
    /// How many of it fit.
    pub(in crate::core) fit: u32,
    /// How many are needed.
    pub(in crate::core) need: u32,
    /// Whether there are enough candidates of other classes to take the place of those that do not fit.
    pub(in crate::core) has_others: bool,
    /// Whether another attempt gets further even if nothing changes.
    pub(in crate::core) goes_on: bool,
    /// How far it is known that there is no plan.
    pub(in crate::core) proof: Proof,
}

/// How often one plan chooses its candidates anew. Each round lowers how many of one class may be chosen, by at least
/// one; if more classes than this fit nowhere, it takes several plans to learn that of all.
const ROUNDS: u32 = 16;

/// Where a plan of the gang's first candidates would fall short now.
#[derive(Clone, Debug)]
pub(in crate::core) struct ShortNow {
    /// The first demand that would find too few nodes; of those that would even alone, if there is one.
    pub(in crate::core) demand: Demand,
    /// How many of it fit.
    pub(in crate::core) fit: u32,
    /// The nodes as the first pod sees them that finds none.
    pub(in crate::core) nodes: Scratch,
}

/// The pods that would take the open seats: members first where they may, placeholders for the rest; and the
/// originators. On trial the placeholders are those that would be made. `None` while a group has fewer candidates than
/// open seats.
fn candidates(books: &Books, id: GangId, on_trial: Option<&Form>) -> Option<Vec<Vec<Candidate>>> {
    let gang = &books.gangs[id];
    let mut all = Vec::with_capacity(gang.groups.len() + 1);
    let to_be_made = |at: usize| on_trial.and_then(|form| form.placeholders().nth(at).flatten());
    for (at, id) in gang.groups.iter().enumerate() {
        let group = &books.groups[*id];
        let candidate =
            |ask: AskId| Some(Candidate { ask: Some(ask), class: books.asks[ask].class?, group: Some(*id) });
        let made = group.seats.open_with_placeholder().filter_map(|(_, ask)| candidate(ask));
        let to_make = to_be_made(at).map(|class| Candidate { ask: None, class, group: Some(*id) });
        let places = books.places_to_plan(group);
        let count = (places as usize).saturating_sub(books.members_for_seats(group).count());
        let to_make = to_make.into_iter().flat_map(|one| std::iter::repeat_n(one, count));
        let members = books.members_for_seats(group).filter_map(candidate);
        let of_group: Vec<_> = members.chain(made).chain(to_make).collect();
        if (of_group.len() as u32) < places {
            return None;
        }
        all.push(of_group);
    }
    let originator = |ask: AskId| Some(Candidate { ask: Some(ask), class: books.asks[ask].class?, group: None });
    all.push(gang.originators.iter().filter_map(|(_, ask)| originator(*ask)).collect());
    Some(all)
}

impl Planner {
    /// Chooses candidates for every open seat of a gang and a node for each, all or none. A candidate that fits nowhere
    /// is skipped for another (01, 1.3): after a shortfall its class may not be chosen more often than it fits. `None`
    /// while there are fewer candidates than seats.
    pub(in crate::core) fn plan(&mut self, books: &Books, gang: GangId) -> Option<Result<Plan, Shortage>> {
        self.plans += 1;
        self.own(books.kept_of_gang(gang));
        let plan = candidates(books, gang, None).map(|candidates| self.plan_for(books, &candidates));
        self.own(Vec::new());
        plan
    }

    /// As many candidates as find nodes, for gangs whose seats are held one by one, in the order of the candidates. Nothing
    /// is learned of room here: what was found is not on the books yet.
    pub(in crate::core) fn plan_some(&mut self, books: &Books, gang: GangId) -> Plan {
        self.own(books.kept_of_gang(gang));
        let mut plan = Plan::new();
        self.begin(books);
        for of_group in candidates(books, gang, None).unwrap_or_default() {
            let mut open = need_of(books, &of_group);
            for alike in of_group.chunk_by(|a, b| a.class == b.class) {
                let placed = self.fill_beside(books, alike[0].class, alike.len().min(open) as u32);
                let nodes = placed.iter().flat_map(|placed| std::iter::repeat_n(placed.node, placed.count as usize));
                let before = plan.len();
                plan.extend(alike.iter().zip(nodes).filter_map(|(candidate, node)| Some((candidate.ask?, node))));
                open -= plan.len() - before;
            }
        }
        self.own(Vec::new());
        plan
    }

    /// Whether the nodes suffice for a gang with the placeholders that would be made for it; else where they fall
    /// short. Says nothing of a gang that lacks members.
    pub(in crate::core) fn try_out(&mut self, books: &Books, gang: GangId, form: &Form) -> Option<Shortage> {
        self.own(books.kept_of_gang(gang));
        let short = self.try_out_on_empty(books, gang, form);
        self.own(Vec::new());
        short
    }

    /// The same on nodes without our pods: nothing is kept there.
    pub(in crate::core) fn try_out_on_empty(&mut self, books: &Books, gang: GangId, form: &Form) -> Option<Shortage> {
        self.plan_for(books, &candidates(books, gang, Some(form))?).err()
    }

    fn plan_for(&mut self, books: &Books, candidates: &[Vec<Candidate>]) -> Result<Plan, Shortage> {
        let mut caps = BTreeMap::new();
        let mut first = None;
        let mut learned = false;
        // The steps that are left to all searches of this plan, and those whose outcome is known: the first order is
        // one.
        let (mut left, mut known) = (STEPS, 1);
        for _round in 0..ROUNDS {
            let Some(chosen) = choose(books, candidates, &caps, |class| self.bound_of(class)) else {
                return Err(self.shortage(books, candidates, first, known));
            };
            let demands = demands_of(&chosen);
            let mut short = match self.fill(books, &demands) {
                Ok(placed) => return Ok(assign(&chosen, &demands, placed)),
                Err(short) => short,
            };
            if demands.len() == 1 || self.fill(books, &[demands[short.demand]]).is_err() {
                learned = true;
            } else if left > 0 {
                match self.fill_tight(books, &demands, &mut left, &mut known) {
                    Ok(placed) => return Ok(assign(&chosen, &demands, placed)),
                    Err(Miss::Alone(other)) => (short, learned) = (other, true),
                    Err(Miss::Searched | Miss::GaveUp) => {}
                }
            }
            let demand = demands[short.demand];
            first.get_or_insert((demand, short.fit));
            caps.insert(demand.class, short.fit);
        }
        // What was learned about room stays known: the next attempt gets further. With kept room nothing is learned.
        let goes_on = learned && !self.has_own();
        Err(Shortage { goes_on, ..self.shortage(books, candidates, first, known) })
    }

    /// What to say of a plan that failed: the first class that fell short, found by a search or known before.
    fn shortage(
        &self,
        books: &Books,
        candidates: &[Vec<Candidate>],
        found: Option<(Demand, u32)>,
        steps: u32,
    ) -> Shortage {
        let known = || {
            let chosen = choose(books, candidates, &BTreeMap::new(), |_| None)?;
            demands_of(&chosen).into_iter().find_map(|demand| {
                let fit = self.bound_of(demand.class)?;
                (fit < demand.count).then_some((demand, fit))
            })
        };
        let (Demand { class, count }, fit) = found.or_else(known).expect("without a shortfall every seat has one");
        let has_others = choose(books, candidates, &BTreeMap::from([(class, fit)]), |_| None).is_some();
        let proof = self.proof(books, candidates, steps);
        Shortage { class, fit, need: count, has_others, goes_on: false, proof }
    }

    /// How far it is known that no plan can succeed, after so many steps of searches.
    fn proof(&self, books: &Books, candidates: &[Vec<Candidate>], steps: u32) -> Proof {
        let bound = |class| self.bound_of(class).unwrap_or(u32::MAX);
        let groups: Vec<_> = candidates.iter().map(|of_group| Usable::of(books, of_group, bound)).collect();
        if lacks_alone(&groups, bound) {
            return Proof::Alone;
        }
        let chosen = choose(books, candidates, &BTreeMap::new(), |class| self.bound_of(class));
        let vain = chosen.and_then(|chosen| self.vain(&demands_of(&chosen)));
        let is_proven = vain.is_some_and(|vain| vain.is_proven) && groups.iter().all(Usable::is_only_choice);
        if is_proven { Proof::Searched } else { Proof::GaveUp { steps } }
    }
}

/// What a plan of the gang's first candidates would ask of the nodes now; `None` while there are too few of them.
pub(in crate::core) fn first_demands(books: &Books, id: GangId) -> Option<Vec<Demand>> {
    let on_trial = match books.gangs[id].turn() {
        Some(Turn::Gate { form, .. }) => Some(&**form),
        Some(Turn::Past { .. } | Turn::Round { .. }) | None => None,
    };
    Some(demands_of(&choose(books, &candidates(books, id, on_trial)?, &BTreeMap::new(), |_| None)?))
}

/// Whether all who may take the open seats of a gang, and its originators, are of one class.
pub(in crate::core) fn are_alike(books: &Books, id: GangId) -> bool {
    let all = candidates(books, id, None).unwrap_or_default();
    let mut classes = all.iter().flatten().map(|candidate| candidate.class);
    let first = classes.next();
    first.is_some_and(|first| classes.all(|class| class == first))
}

/// Where a plan of these demands of a gang would fall short now; `None` if it would not.
pub(in crate::core) fn short_now(books: &Books, id: GangId, demands: &[Demand]) -> Option<ShortNow> {
    let own = books.kept_of_gang(id);
    let short = |demands: &[Demand]| {
        let mut nodes = Scratch::default();
        own.iter().for_each(|kept| credit_kept(&mut nodes, books, *kept));
        let short = fill_until_short(&books.nodes, &books.classes, &mut nodes, demands)?;
        Some(ShortNow { demand: demands[short.demand], fit: short.fit, nodes })
    };
    let first = short(demands)?;
    // A demand that finds too few nodes whatever else is placed says more than one that others leave without.
    let alone = || demands.iter().find_map(|demand| short(&[*demand]));
    if demands.len() == 1 || short(&[first.demand]).is_some() { Some(first) } else { Some(alone().unwrap_or(first)) }
}

/// The first candidates of each group, in order, within the caps of their classes; `None` if there are too few.
fn choose(
    books: &Books,
    candidates: &[Vec<Candidate>],
    caps: &BTreeMap<ClassId, u32>,
    bound: impl Fn(ClassId) -> Option<u32>,
) -> Option<Vec<Candidate>> {
    let mut left = caps.clone();
    let mut chosen = Vec::new();
    for of_group in candidates {
        let need = need_of(books, of_group);
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

/// How many seats of a group, or originators, are to be planned.
fn need_of(books: &Books, of_group: &[Candidate]) -> usize {
    match of_group.first().and_then(|candidate| candidate.group) {
        Some(group) => books.places_to_plan(&books.groups[group]) as usize,
        None => of_group.len(),
    }
}

/// The candidates of a group that find a node while nothing else is placed.
struct Usable {
    need: u64,
    /// So many of each class at most.
    most: BTreeMap<ClassId, u64>,
}

impl Usable {
    fn of(books: &Books, of_group: &[Candidate], bound: impl Fn(ClassId) -> u32) -> Self {
        let mut most: BTreeMap<ClassId, u64> = BTreeMap::new();
        of_group.iter().for_each(|candidate| *most.entry(candidate.class).or_default() += 1);
        most.iter_mut().for_each(|(class, count)| *count = (*count).min(u64::from(bound(*class))));
        most.retain(|_, count| *count > 0);
        Self { need: need_of(books, of_group) as u64, most }
    }

    fn sum(&self) -> u64 {
        self.most.values().sum()
    }

    /// Whether every choice takes as many of each class.
    fn is_only_choice(&self) -> bool {
        self.need == 0 || self.most.len() == 1 || self.sum() == self.need
    }

    /// How many of a class every choice takes.
    fn forced(&self, class: ClassId) -> u64 {
        let others = self.sum() - self.most.get(&class).copied().unwrap_or(0);
        self.need.saturating_sub(others)
    }
}

/// Whether some group finds too few nodes even if nothing else is placed, or all groups together need more of a class
/// than fit.
fn lacks_alone(groups: &[Usable], bound: impl Fn(ClassId) -> u32) -> bool {
    let classes = groups.iter().flat_map(|group| group.most.keys()).collect::<BTreeSet<_>>();
    let forced = |class: ClassId| groups.iter().map(|group| group.forced(class)).sum::<u64>();
    groups.iter().any(|group| group.sum() < group.need)
        || classes.into_iter().any(|class| forced(*class) > u64::from(bound(*class)))
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
fn assign(chosen: &[Candidate], demands: &[Demand], placed: &[Placed]) -> Plan {
    let mut nodes: BTreeMap<ClassId, VecDeque<NodeId>> = BTreeMap::new();
    for Placed { demand, node, count } in placed {
        let of_class = nodes.entry(demands[*demand].class).or_default();
        of_class.extend(std::iter::repeat_n(*node, *count as usize));
    }
    let node = |candidate: &Candidate| nodes.get_mut(&candidate.class).and_then(|nodes| nodes.pop_front());
    chosen.iter().map(node).zip(chosen.iter()).filter_map(|(node, candidate)| Some((candidate.ask?, node?))).collect()
}
