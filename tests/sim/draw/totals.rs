//! Draws how many belong to gangs beyond those that start together, some of whom are there: drawn when all else is, so that other
//! plans are as they were.

use std::collections::BTreeMap;

use super::{Acts, Dice, plain_node};
use crate::sim::acts::{Act, GroupAct, PodAct, QueueAct};

/// The queue of gangs that wait for quota with others behind them.
const QUEUE: &str = "root.t";
/// How often somebody looks whether what fills that queue runs, and ends it.
const ENDS: u64 = 5;

/// Of some task groups it is said how many belong to them: no more than start together, more than are there, or fewer.
pub(super) fn draw(dice: &mut Dice, acts: &mut Acts) {
    let mut groups: BTreeMap<String, (u64, GroupAct, Option<u32>)> = BTreeMap::new();
    for (at, act) in acts.iter_mut() {
        let Act::Group(group) = act else { continue };
        let first = || (*at, group.clone(), dice.percent(60).then(|| dice.few(3) as u32));
        let (.., beyond) = groups.entry(group.name.clone()).or_insert_with(first);
        group.total = beyond.map(|beyond| group.min + beyond);
    }
    for (at, group, beyond) in groups.into_values() {
        if let Some(beyond) = beyond {
            join(dice, acts, (at, &group), beyond);
        }
    }
    if dice.percent(70) {
        wait_for_quota(dice, acts);
    }
}

/// Some more members of a task group come at about the same time, like the first one of it.
fn join(dice: &mut Dice, acts: &mut Acts, (at, group): (u64, &GroupAct), beyond: u32) {
    let is_its = |pod: &PodAct| {
        let is_wrong = pod.forged || pod.abroad || pod.mistyped;
        pod.group.as_ref() == Some(&group.name) && !is_wrong
    };
    let mut pods = acts.iter().filter_map(|(_, act)| if let Act::Pod(pod) = act { Some(pod) } else { None });
    let Some(first) = pods.find(|pod| is_its(pod)).cloned() else { return };
    for number in 0..dice.below(u64::from(beyond) + 2) {
        let pod = PodAct { name: format!("{}-beyond{number}", group.name), ..first.clone() };
        acts.push((at + dice.below(2_000), Act::Pod(pod)));
    }
}

/// A gang with members beyond those that start together waits until somebody gives quota back, and so do pods behind it: there is
/// enough for the gang and for some more.
fn wait_for_quota(dice: &mut Dice, acts: &mut Acts) {
    let (begins, min, more) = (dice.below(60_000), 1 + dice.few(3) as u32, dice.below(3) as u32);
    acts.push((0, plain_node("t", 8)));
    let queue = QueueAct { path: QUEUE.to_owned(), cpu: min + more, ..QueueAct::default() };
    acts.push((0, Act::Queue(queue)));
    let pod = |name: String, milli: u32, group: Option<&str>| {
        let queue = group.is_none().then(|| QUEUE.to_owned());
        Act::Pod(PodAct { name, milli, group: group.map(str::to_owned), queue, ..PodAct::default() })
    };
    acts.push((begins, pod("holder".to_owned(), 1_000 * (min + more), None)));
    let comes = begins + 5_000;
    let group = GroupAct {
        name: "qg".to_owned(),
        min,
        milli: 1_000,
        queue: Some(QUEUE.to_owned()),
        direct: dice.percent(50),
        total: Some(min + 1 + dice.few(2) as u32),
        ..GroupAct::default()
    };
    acts.push((comes, Act::Group(group)));
    for number in 0..u64::from(min) + 1 + dice.few(2) {
        acts.push((comes + dice.below(1_000), pod(format!("qg-{number}"), 1_000, Some("qg"))));
    }
    for number in 0..=dice.few(2) {
        acts.push((comes + 3_000 + dice.below(3_000), pod(format!("behind{number}"), 1_000, None)));
    }
    let mut ends = comes + 8_000;
    for _ in 0..ENDS {
        ends += 2_000 + dice.below(20_000);
        acts.push((ends, Act::End { name: "holder".to_owned(), well: true }));
    }
}
