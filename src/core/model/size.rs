//! How much gangs ask for: members that exist count with their own size and constraints, those still to come as
//! announced (01, 1.2.2, 1.3).

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, GangId, Text};
use crate::core::base::resources::{BASE_NAMES, Resources, Totals};
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::group::Group;

impl Books {
    /// The waiting members to which a plan before the start may give the open seats, in their order: all of them, or,
    /// where placeholders are made for all, those for which a placeholder cannot stand in.
    pub fn members_for_seats(&self, group: &Group) -> impl Iterator<Item = AskId> {
        let (mut known, in_round) = (BTreeMap::new(), self.starts_in_rounds(group));
        group.waiting.iter().map(|(_, ask)| *ask).filter(move |ask| {
            let ask = &self.asks[*ask];
            let stands_in = || group.spec().shape.stands_in_for(&ask.spec.shape);
            !group.reserves_for_all()
                || in_round
                || ask.class.is_some_and(|class| !*known.entry(class).or_insert_with(stands_in))
        })
    }

    /// What these pods ask for.
    pub fn requests(&self, pods: impl Iterator<Item = AskId>) -> Totals {
        let mut all = Totals::default();
        pods.for_each(|pod| all.add(self.request(pod), 1));
        all
    }

    /// The least that all of a gang's next plan can ask for of which these pods find nodes: they as they are, and those that take the
    /// other seats of each resource the smallest amounts.
    pub fn least_ask(&self, gang: GangId, placed: &BTreeSet<AskId>) -> Totals {
        let mut ask = self.requests(placed.iter().copied());
        for id in &self.gangs[gang].groups {
            let group = &self.groups[*id];
            let placeholders = group.seats.open_with_placeholder().map(|(_, ask)| ask);
            let others = self.members_for_seats(group).chain(placeholders).filter(|other| !placed.contains(other));
            let others: Vec<_> = others.map(|other| self.request(other)).collect();
            let own = placed.iter().filter(|pod| self.asks[**pod].group == Some(*id)).count();
            let left = (self.places_to_plan(group) as usize).saturating_sub(own);
            smallest(&others, left).iter().for_each(|least| ask.add(least, 1));
        }
        let originators = self.gangs[gang].originators.iter().map(|(_, ask)| *ask);
        originators.filter(|pod| !placed.contains(pod)).for_each(|pod| ask.add(self.request(pod), 1));
        ask
    }

    /// What the open seats of a group ask for.
    pub fn open_seats_ask(&self, group: &Group) -> Totals {
        let (mut ask, mut left) = (Totals::default(), group.seats.tally().open);
        for member in self.members_for_seats(group).take(left as usize) {
            ask.add(self.request(member), 1);
            left -= 1;
        }
        ask.add(&group.spec().min_resource, left);
        ask
    }

    /// What all seats of a group ask for before its start. Where more members exist than there are seats it is the
    /// least that they can ask for, whichever of them take the seats: of each resource the smallest amounts.
    pub fn whole_ask(&self, group: &Group) -> Totals {
        let (mut ask, seats) = (Totals::default(), group.spec().min_member);
        let members = self.members_for_seats(group).chain(group.seats.assumed()).map(|member| self.request(member));
        let members: Vec<_> = members.collect();
        let count = members.len() as u32;
        if count <= seats {
            members.into_iter().for_each(|member| ask.add(member, 1));
            ask.add(&group.spec().min_resource, seats - count);
        } else {
            smallest(&members, seats as usize).iter().for_each(|least| ask.add(least, 1));
        }
        ask
    }

    /// The originators that start with an application: those that wait for the start, and those that have a node and
    /// are held back until then.
    pub fn starting_originators(&self, app: AppId) -> impl Iterator<Item = AskId> {
        self.apps[app].asks.iter().copied().filter(|ask| {
            let ask = &self.asks[*ask];
            matches!(ask.waits_for, WaitsFor::Start(_)) || matches!(ask.state, AskState::Assumed { sent: false, .. })
        })
    }
}

/// As many requests as are asked for, of which each has no more of any resource than a member that is not among them.
fn smallest(members: &[&Resources], count: usize) -> Vec<Resources> {
    let rare = members.iter().flat_map(|member| member.rare.iter().map(|(name, _)| name.clone()));
    let names = BASE_NAMES.iter().map(|name| Text::from(*name)).chain(rare);
    let mut least = vec![Resources::default(); count];
    for name in names.collect::<BTreeSet<_>>() {
        let mut amounts: Vec<_> = members.iter().map(|member| member.get(&name)).collect();
        amounts.sort_unstable();
        least.iter_mut().zip(amounts).for_each(|(least, amount)| least.set(&name, amount));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_members_can_ask_for_is_the_least_of_each_resource() {
        let gpu = |cpu: i64, gpus: i64| {
            let mut request = Resources::pod(cpu, 1);
            request.set("x/gpu", gpus);
            request
        };
        let members = [gpu(3, 0), gpu(1, 2), gpu(2, 1)];
        let least = smallest(&members.iter().collect::<Vec<_>>(), 2);
        assert_eq!(least, [gpu(1, 0), gpu(2, 1)]);
    }
}
