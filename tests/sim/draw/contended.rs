//! Draws queues side by side that are promised less than there is, and want more than that: drawn when all else is, so that other
//! plans are as they were.

use super::{Acts, Dice, group};
use crate::sim::acts::{Act, GroupAct, NodeAct, PodAct, QueueAct};

/// The queues, each with what it is promised at most, in cores; of the last one nothing is.
const QUEUES: [(&str, u64); 3] = [("p", 3), ("q", 2), ("r", 0)];
/// What is there for them, beside what others leave.
const CORES: u32 = 6;
/// How long it takes at least until a pod ends that runs.
const RUNS_MS: u64 = 15_000;
/// How often somebody looks whether it runs, and ends it.
const ENDS: u64 = 5;

/// All want a node at about the same time. Who ends makes room for one of those who wait.
pub(super) fn draw(dice: &mut Dice, acts: &mut Acts) {
    acts.push((0, Act::Node(NodeAct { name: "contended".to_owned(), cpu: CORES, ..NodeAct::default() })));
    let begins = dice.below(60_000);
    for (name, most) in QUEUES {
        let path = format!("root.{name}");
        queue(dice, acts, &path, most);
        for number in 0..6 + dice.below(6) {
            let comes = begins + dice.below(20_000);
            if dice.percent(15) {
                gang(dice, acts, (&format!("{name}g{number}"), comes), &path);
            } else {
                single(dice, acts, (&format!("{name}{number}"), comes), &path);
            }
        }
    }
}

/// A queue, which may be promised something else later.
fn queue(dice: &mut Dice, acts: &mut Acts, path: &str, most: u64) {
    let promised = |dice: &mut Dice| (most > 0).then(|| 1 + dice.below(most) as u32);
    let queue = QueueAct { path: path.to_owned(), cpu: 12, guaranteed: promised(dice), ..QueueAct::default() };
    acts.push((0, Act::Queue(queue.clone())));
    if dice.percent(20) {
        acts.push((dice.time(), Act::Queue(QueueAct { guaranteed: promised(dice), ..queue })));
    }
}

/// A pod that needs no others.
fn single(dice: &mut Dice, acts: &mut Acts, (name, comes): (&str, u64), path: &str) {
    let (name, queue, milli) = (name.to_owned(), Some(path.to_owned()), dice.of(&[1_000, 1_000, 1_000, 500]));
    acts.push((comes, Act::Pod(PodAct { name: name.clone(), milli, queue, ..PodAct::default() })));
    let mut ends = comes;
    for _ in 0..ENDS {
        ends += RUNS_MS + dice.below(40_000);
        acts.push((ends, Act::End { name: name.clone(), well: true }));
    }
}

/// A gang of two, or of three.
fn gang(dice: &mut Dice, acts: &mut Acts, (name, comes): (&str, u64), path: &str) {
    let (name, queue) = (name.to_owned(), Some(path.to_owned()));
    let (min, direct) = (2 + dice.few(1) as u32, dice.percent(50));
    let spec = GroupAct { name, min, milli: 1_000, queue, direct, all: true, ..GroupAct::default() };
    group(dice, acts, comes, &spec);
}
