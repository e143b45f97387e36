//! Draws namespaces that have queues of their own, or that queues choose: drawn when all else is, so that other plans are as they were.
//!
//! What nobody can read is put right again some time later: what was right before is not known to a process that begins.

use super::{Acts, Dice, LENGTH_MS, group};
use crate::sim::acts::{Act, GroupAct, PodAct, QueueAct};
use crate::sim::homes::NamespaceAct;

/// Queues that choose namespaces, and of which teams.
const DOORS: [(&str, &str); 2] = [("root.team", "a"), ("root.crew", "b")];

/// The namespace of all gangs belongs to somebody, then to others; it is deleted now and then, and comes again.
pub(super) fn draw(dice: &mut Dice, acts: &mut Acts) {
    acts.push((0, Act::Namespace(says(dice, Some("a")))));
    let team = dice.percent(20).then(|| "b".to_owned());
    acts.push((0, Act::Namespace(NamespaceAct { abroad: true, team, ..NamespaceAct::default() })));
    for (path, team) in DOORS {
        door(dice, acts, path, team);
    }
    for _ in 0..dice.few(3) {
        let team = dice.of(&[Some("a"), Some("a"), Some("b"), None]);
        acts.push((dice.time(), Act::Namespace(says(dice, team))));
    }
    if dice.percent(25) {
        slip(dice, acts);
    }
    if dice.percent(20) {
        acts.push((dice.time(), Act::DropNamespace { for_ms: dice.of(&[0, 5_000]) }));
    }
    for number in 0..2 + dice.few(4) {
        work(dice, acts, number);
    }
}

/// What the namespace says of its queue.
fn says(dice: &mut Dice, team: Option<&str>) -> NamespaceAct {
    NamespaceAct {
        abroad: false,
        team: team.map(str::to_owned),
        cpu: dice.percent(60).then(|| 1 + dice.below(6) as u32),
        old: dice.percent(30),
        guaranteed: dice.percent(20).then(|| 1 + dice.below(3) as u32),
        apps: dice.percent(15).then(|| 1 + dice.few(2) as u32),
        above: dice.percent(15).then(|| dice.of(&["root.team", "root.team", "root.crew"]).to_owned()),
        wrong: false,
    }
}

/// A queue for the namespaces of a team, with a queue for each of them or without.
fn door(dice: &mut Dice, acts: &mut Acts, path: &str, team: &str) {
    let at = if dice.percent(80) { 0 } else { dice.time() };
    let draw = |dice: &mut Dice| {
        let gives = dice.percent(65).then(|| 1 + dice.below(6) as u32);
        let chooses = dice.percent(95).then(|| team.to_owned());
        // Without a choice there is nobody to give to.
        let gives = gives.filter(|_| chooses.is_some());
        QueueAct { path: path.to_owned(), cpu: 6 + dice.below(6) as u32, chooses, gives, ..QueueAct::default() }
    };
    let queue = draw(dice);
    acts.push((at, Act::Queue(queue.clone())));
    if dice.percent(25) {
        acts.push((at + dice.below(LENGTH_MS), Act::Queue(draw(dice))));
    }
    if dice.percent(15) {
        let goes = at + dice.below(LENGTH_MS);
        acts.push((goes, Act::DropQueue { path: path.to_owned() }));
        if dice.percent(70) {
            acts.push((goes + dice.of(&[1, 500, 20_000]), Act::Queue(queue)));
        }
    }
}

/// Somebody slips, and sees it.
fn slip(dice: &mut Dice, acts: &mut Acts) {
    let (at, right) = (dice.below(LENGTH_MS), says(dice, Some("a")));
    acts.push((at, Act::Namespace(NamespaceAct { wrong: true, ..right.clone() })));
    acts.push((at + dice.of(&[5_000, 40_000]), Act::Namespace(right)));
}

/// Pods that need no others, and gangs, which name no queue, or one that is not for all.
fn work(dice: &mut Dice, acts: &mut Acts, number: u64) {
    let begins = dice.time();
    let queue = dice.percent(25).then(|| dice.of(&["root.team", "root.crew", "root.crew"]).to_owned());
    if dice.percent(50) {
        let (name, min, direct) = (format!("home{number}"), 1 + dice.few(2) as u32, dice.percent(50));
        let spec = GroupAct { name, min, milli: 1_000, queue, direct, all: true, ..GroupAct::default() };
        return group(dice, acts, begins, &spec);
    }
    for pod in 0..=dice.few(2) {
        let (name, queue, milli) = (format!("homed{number}-{pod}"), queue.clone(), dice.of(&[500, 1_000, 3_000]));
        acts.push((
            begins + dice.below(5_000),
            Act::Pod(PodAct { name: name.clone(), milli, queue, ..PodAct::default() }),
        ));
        if dice.percent(40) {
            acts.push((begins + 5_000 + dice.below(60_000), Act::End { name, well: true }));
        }
    }
}
