//! Draws members that come when gangs that count anew have started, and others that are lost by then: drawn when all else is, so
//! that other plans are as they were.

use std::collections::BTreeMap;

use gangline::api::task_group::MatchPolicy;

use super::{Acts, Dice};
use crate::sim::acts::{Act, GroupAct, PodAct};

/// How long a gang has to start until somebody is lost, and until others come.
const STARTS_MS: u64 = 40_000;

/// Of some of these gangs others come, as many as a round or one fewer or more; half of them have no placeholders.
pub(super) fn draw(dice: &mut Dice, acts: &mut Acts) {
    let mut groups: BTreeMap<String, (u64, GroupAct)> = BTreeMap::new();
    for (at, act) in acts.iter() {
        if let Act::Group(group) = act
            && group.policy != MatchPolicy::OnceSatisfied
        {
            groups.entry(group.name.clone()).or_insert((*at, group.clone()));
        }
    }
    let mut are_direct: BTreeMap<String, bool> = BTreeMap::new();
    for (at, group) in groups.into_values() {
        let application = group.app.clone().unwrap_or_else(|| group.name.clone());
        if *are_direct.entry(application).or_insert_with(|| dice.percent(50)) {
            reserve_nothing(acts, &group.name);
        }
        if dice.percent(60) {
            come(dice, acts, at, &group);
        }
    }
}

/// A task group has no placeholders.
fn reserve_nothing(acts: &mut [(u64, Act)], name: &str) {
    for (_, act) in acts.iter_mut() {
        if let Act::Group(group) = act
            && group.name == name
        {
            group.direct = true;
        }
    }
}

/// Some members are lost, and others come.
fn come(dice: &mut Dice, acts: &mut Acts, begins: u64, group: &GroupAct) {
    let GroupAct { name, min, milli, mib, gpu, .. } = group;
    let lost_ms = begins + STARTS_MS + dice.below(20_000);
    let lost = if dice.percent(60) { 1 + dice.few(2) } else { 0 };
    for number in 0..lost {
        let name = format!("{name}-{number}");
        let end = if dice.percent(50) {
            Act::DropPod { name, again: false }
        } else {
            Act::End { name, well: dice.percent(20) }
        };
        acts.push((lost_ms + dice.below(300), end));
    }
    let comes = lost_ms + STARTS_MS + dice.below(60_000);
    let count = (min + dice.few(2) as u32).saturating_sub(u32::from(dice.percent(30)));
    for number in 0..count {
        let (name, group) = (format!("{name}-more{number}"), Some(name.clone()));
        let pod = PodAct { name: name.clone(), milli: *milli, mib: *mib, gpu: *gpu, group, ..PodAct::default() };
        acts.push((comes + dice.below(3_000), Act::Pod(pod)));
        if dice.percent(30) {
            acts.push((comes + 60_000 + dice.below(30_000), Act::End { name, well: true }));
        }
    }
}
