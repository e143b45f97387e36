//! Draws plans: few nodes, queues and applications, everything that can happen to them, and which faults are on.

use crate::sim::acts::PLAYED;
use gangline::api::task_group::MatchPolicy;
use gangline::shim::op::Kind;

use super::acts::{Act, Flaw, GroupAct, NodeAct, PodAct, QueueAct};
use super::chance::mix;
use super::plan::{Admission, Denied, Faults, Head, Plan};
use super::{limits, pair, rare, spoken};

mod contended;
mod dialects;
mod homes;
mod rounds;
mod totals;

/// How long people act.
pub(crate) const LENGTH_MS: u64 = 360_000;
/// In so many waves applications come, each when most of the one before has ended.
const WAVES: u64 = 6;
/// How long a wave lasts.
const WAVE_MS: u64 = LENGTH_MS / WAVES;

/// The acts of a plan.
type Acts = Vec<(u64, Act)>;

/// Numbers drawn one after the other.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.0 = mix(self.0);
        if end == 0 { 0 } else { self.0 % end }
    }

    pub(super) const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Small mostly: each further one half as likely.
    pub(super) fn few(&mut self, most: u64) -> u64 {
        (0..most).take_while(|_| self.percent(50)).count() as u64
    }

    pub(super) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    pub(super) const fn time(&mut self) -> u64 {
        self.below(LENGTH_MS)
    }
}

/// The plan of a seed.
pub(crate) fn draw(seed: u64) -> Plan {
    seed.checked_sub(pair::FROM).map_or_else(|| draw_one(seed), |number| pair::draw(seed, draw_one(number)))
}

/// The plan of a seed, with one process.
fn draw_one(seed: u64) -> Plan {
    let mut dice = Dice(mix(seed));
    let mut acts = Vec::new();
    let is_large = dice.percent(1);
    let count = if is_large { 60 } else { 1 + dice.few(5) };
    let nodes = cluster(&mut dice, &mut acts, count);
    let queues = queues(&mut dice, &mut acts);
    let mut number = 0;
    for wave in 0..WAVES {
        let more = if is_large { 6 } else { dice.few(3) };
        for _ in 0..=more {
            let begins = wave * WAVE_MS + dice.below(WAVE_MS / 2);
            application(&mut dice, &mut acts, (number, begins), &queues);
            number += 1;
        }
    }
    (0..dice.few(8)).for_each(|number| single(&mut dice, &mut acts, number, &queues));
    (0..dice.few(3)).for_each(|number| alone(&mut dice, &mut acts, number, &queues));
    if dice.percent(15) {
        namespace_quota(&mut dice, &mut acts);
    }
    if dice.percent(6) {
        let at = if dice.percent(50) { 0 } else { dice.time() };
        let kind = dice.of(&[Kind::TaskGroup, Kind::Queue]);
        acts.push((at, Act::Vanish { kind, for_ms: dice.of(&[1_000, 20_000]) }));
    }
    (0..dice.few(8)).for_each(|number| trouble(&mut dice, &mut acts, number, &nodes));
    let mut faults = faults(&mut dice);
    rare::rare(&mut dice, &mut acts, &nodes);
    faults.prunes = dice.percent(5);
    faults.taken = if dice.percent(4) { dice.of(&[10, 50, 100]) } else { 0 };
    rare::rarer(&mut dice, &mut acts, (&nodes, &queues));
    if dice.percent(12) {
        spoken::draw(&mut dice, &mut acts, &queues);
        faults.denied = if dice.percent(8) { Some(Denied::GroupCreations) } else { faults.denied };
    }
    if dice.percent(12) {
        limits::draw(&mut dice, &mut acts);
    }
    if dice.percent(10) {
        rare::hold_one_by_one(&mut dice, &mut acts);
    }
    let counts_anew = dice.percent(10);
    if counts_anew {
        rare::count_anew(&mut dice, &mut acts);
    }
    let dialects = dice.percent(12);
    if dialects {
        dialects::draw(&mut dice, &mut acts, &queues);
        faults.denied = if dice.percent(10) { Some(dice.of(&Denied::ALL[8..])) } else { faults.denied };
    }
    if counts_anew {
        rounds::draw(&mut dice, &mut acts);
    }
    if dice.percent(8) {
        contended::draw(&mut dice, &mut acts);
    }
    if dice.percent(12) {
        homes::draw(&mut dice, &mut acts);
    }
    if dice.percent(12) {
        totals::draw(&mut dice, &mut acts);
    }
    if dialects {
        dialects::annotate(&mut dice, &mut acts);
    }
    acts.sort_by_key(|(at, _)| *at);
    Plan { head: Head { seed, faults, replicas: false, dialects }, acts }
}

/// A node of so many cores, as it should be.
fn plain_node(name: &str, cpu: u32) -> Act {
    Act::Node(NodeAct { name: name.to_owned(), cpu, ..NodeAct::default() })
}

fn a_queue(path: &str, cpu: u32, apps: Option<u32>) -> Act {
    Act::Queue(QueueAct { path: path.to_owned(), cpu, apps, ..QueueAct::default() })
}

fn cluster(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, count: u64) -> Vec<String> {
    let nodes: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
    for name in &nodes {
        let at = if dice.percent(85) { 0 } else { dice.time() };
        let cpu = 1 + dice.below(6) as u32;
        acts.push((at, plain_node(name, cpu)));
        if dice.percent(10) {
            acts.push((
                dice.time(),
                Act::Node(NodeAct { name: name.clone(), cpu, cordoned: true, ..NodeAct::default() }),
            ));
        }
        if dice.percent(6) {
            let cpu = 1 + dice.below(8) as u32;
            acts.push((dice.time(), plain_node(name, cpu)));
        }
        if dice.percent(4) {
            acts.push((dice.time(), Act::Drain { name: name.clone() }));
        }
        if dice.percent(10) {
            let at = dice.time();
            acts.push((at, Act::LoseNode { name: name.clone() }));
            if dice.percent(60) {
                acts.push((at + 1 + dice.below(9_000), plain_node(name, cpu)));
            }
        }
    }
    for number in 0..dice.few(3) {
        let cpu = 1 + dice.below(6) as u32;
        acts.push((dice.time(), Act::Autoscale { name: format!("auto{number}"), cpu }));
    }
    nodes
}

fn queues(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) -> Vec<Option<String>> {
    let mut names = vec![None];
    for path in ["root", "root.a", "root.a.x", "root.b"] {
        let wanted = if path == "root" { 40 } else { 60 };
        if !dice.percent(wanted) || path == "root.a.x" && !names.contains(&Some("root.a".to_owned())) {
            continue;
        }
        let at = if dice.percent(80) { 0 } else { dice.time() };
        let apps = dice.percent(15).then(|| dice.few(3) as u32);
        acts.push((at, a_queue(path, 2 + dice.below(10) as u32, apps)));
        if dice.percent(20) {
            let apps = if dice.percent(80) { apps } else { None };
            acts.push((dice.time(), a_queue(path, 1 + dice.below(12) as u32, apps)));
        }
        if path != "root" {
            if dice.percent(8) {
                acts.push((dice.time(), Act::DropQueue { path: path.to_owned() }));
            }
            names.push(Some(path.to_owned()));
        }
    }
    names
}

fn application(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, (number, begins): (u64, u64), queues: &[Option<String>]) {
    let count = if dice.percent(75) { 1 } else { 2 + dice.few(2) as usize };
    let names: Vec<String> = (0..count).map(|group| format!("g{number}{}", ["", "b", "c", "d"][group])).collect();
    let app = (count > 1).then(|| format!("app{number}"));
    let (queue, direct) = (dice.of(queues), dice.percent(25));
    for name in &names {
        let spec = GroupAct {
            name: name.clone(),
            min: 1 + dice.few(5) as u32,
            milli: dice.of(&[1_000, 1_000, 500, 2_000]),
            mib: 0,
            gpu: 0,
            // They should agree.
            queue: if dice.percent(2) { dice.of(queues) } else { queue.clone() },
            direct,
            all: dice.percent(50),
            app: app.clone(),
            gang: if app.is_some() { names.clone() } else { Vec::new() },
            timeout: None,
            hard: false,
            one_by_one: false,
            policy: MatchPolicy::default(),
            total: None,
            holds: None,
            waits: None,
            admits: None,
            hold: None,
            place: None,
            flaw: dice.percent(2).then(|| dice.of(&Flaw::ALL)),
            by: None,
        };
        group(dice, acts, begins, &spec);
    }
    if dice.percent(3) {
        // Nobody lists it.
        let (name, app) = (format!("g{number}x"), app.clone().unwrap_or_else(|| names[0].clone()));
        let spec = GroupAct { name, min: 1, milli: 500, queue, direct, app: Some(app), ..GroupAct::default() };
        let comes = begins + dice.below(20_000);
        group(dice, acts, comes, &spec);
    }
    if dice.percent(20) {
        let own = app.or_else(|| names.first().cloned());
        let driver = PodAct { name: format!("driver{number}"), milli: 500, app: own, ..PodAct::default() };
        acts.push((begins.saturating_sub(dice.below(2_000)) + dice.below(2_000), Act::Pod(driver)));
    }
}

/// A group, its members, and what becomes of them.
fn group(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, begins: u64, spec: &GroupAct) {
    let name = &spec.name;
    acts.push((begins + dice.below(1_500), Act::Group(spec.clone())));
    let pause = dice.of(&[0, 0, 500, 5_000, 20_000]);
    let comes = begins + dice.below(pause + 500);
    let count = (u64::from(spec.min) + dice.few(2)).saturating_sub(u64::from(dice.percent(20)));
    let ends = dice.percent(60).then(|| comes + dice.below(40_000));
    for number in 0..count {
        let milli = if dice.percent(8) { spec.milli + 500 } else { spec.milli };
        let pod = PodAct {
            name: format!("{name}-{number}"),
            milli,
            group: Some(name.clone()),
            priority: if dice.percent(5) { 10 } else { 0 },
            ..PodAct::default()
        };
        acts.push((comes + dice.below(pause / 4 + 50), Act::Pod(pod)));
        if let Some(ends) = ends {
            let well = dice.percent(85);
            acts.push((ends + dice.below(500), Act::End { name: format!("{name}-{number}"), well }));
        }
        if dice.percent(4) {
            let again = dice.percent(50);
            acts.push((dice.time(), Act::DropPod { name: format!("{name}-{number}"), again }));
        }
    }
    if let (Some(ends), true) = (ends, dice.percent(10)) {
        // Its application may be complete by then.
        let comes = ends + dice.below(60_000);
        let late =
            PodAct { name: format!("{name}-late"), milli: spec.milli, group: Some(name.clone()), ..PodAct::default() };
        acts.push((comes, Act::Pod(late)));
        acts.push((comes + dice.below(30_000), Act::End { name: format!("{name}-late"), well: true }));
    }
    if dice.percent(12) {
        acts.push((
            begins + dice.below(20_000),
            Act::DropPlaceholder { group: name.clone(), nth: dice.below(5) as u32, fails: false },
        ));
    }
    if dice.percent(10) {
        let at = begins + dice.below(30_000);
        acts.push((at, Act::DropGroup { name: name.clone() }));
        if dice.percent(60) {
            let again = GroupAct { min: 1 + dice.few(4) as u32, ..spec.clone() };
            acts.push((at + dice.below(4_000), Act::Group(again)));
        }
    }
    if dice.percent(8) {
        let edited = GroupAct { min: 1 + dice.few(4) as u32, all: dice.percent(50), ..spec.clone() };
        acts.push((begins + dice.below(40_000), Act::Group(edited)));
    }
}

fn single(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, number: u64, queues: &[Option<String>]) {
    let name = format!("single{number}");
    let at = dice.time();
    let (milli, queue) = (dice.of(&[500, 1_000, 3_000]), dice.of(queues));
    acts.push((at, Act::Pod(PodAct { name: name.clone(), milli, queue, ..PodAct::default() })));
    if dice.percent(40) {
        acts.push((at + dice.below(20_000), Act::End { name, well: true }));
    }
}

/// An application of pods alone, which may be withdrawn, or get a task group later.
fn alone(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, number: u64, queues: &[Option<String>]) {
    let (app, begins, queue) = (format!("alone{number}"), dice.time(), dice.of(queues));
    for pod in 0..=dice.few(3) {
        let (name, comes) = (format!("{app}-{pod}"), begins + dice.below(10_000));
        let (app, queue, milli) = (Some(app.clone()), queue.clone(), dice.of(&[500, 1_000, 7_000]));
        let held = dice.percent(20);
        acts.push((comes, Act::Pod(PodAct { name: name.clone(), milli, app, queue, held, ..PodAct::default() })));
        let ends = comes + dice.below(30_000);
        acts.push(if dice.percent(50) {
            (ends, Act::End { name: name.clone(), well: true })
        } else {
            (ends, Act::DropPod { name: name.clone(), again: dice.percent(30) })
        });
        if held && dice.percent(60) {
            acts.push((ends + dice.below(60_000), Act::LetGo { name }));
        }
    }
    if dice.percent(40) {
        let name = format!("{app}g");
        let spec = GroupAct { name, min: 1, milli: 500, queue, app: Some(app), ..GroupAct::default() };
        let comes = begins + dice.below(60_000);
        group(dice, acts, comes, &spec);
    }
}

/// What all pods of the namespace may have together: for a while little, or less than some gang needs.
fn namespace_quota(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    for _ in 0..=dice.few(2) {
        let milli = 1_000 * (1 + dice.below(12)) as u32;
        acts.push((dice.time(), Act::Quota { milli: Some(milli) }));
    }
    if dice.percent(50) {
        acts.push((dice.time(), Act::Quota { milli: None }));
    }
}

fn trouble(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, number: u64, nodes: &[String]) {
    let at = dice.time();
    let act = match dice.below(10) {
        0 | 1 => Act::Kill { down_ms: dice.of(&[0, 10, 1_000, 10_000]) },
        2 => Act::Cut { kind: dice.of(&PLAYED) },
        3 => Act::Foreign { name: format!("foreign{number}"), node: dice.of(nodes), cpu: 1 + dice.below(3) as u32 },
        4 => Act::Compact,
        5 => Act::Overlap { for_ms: dice.of(&[10, 1_000, 30_000]), newer_ends: dice.percent(50) },
        6 => Act::Mute { kind: dice.of(&PLAYED), for_ms: dice.of(&[500, 5_000, 40_000]) },
        7 => Act::Away { for_ms: dice.of(&[500, 10_000, 60_000]) },
        8 => Act::Jump { ms: dice.of(&[-3_600_000, -20_000, 1_500, 60_000, 3_600_000]) },
        _ => Act::Pod(PodAct {
            name: format!("forged{number}"),
            milli: 500,
            group: Some("g0".to_owned()),
            app: Some("g0".to_owned()),
            forged: true,
            ..PodAct::default()
        }),
    };
    acts.push((at, act));
}

/// Which faults are on, and how strong: most plans have a few.
fn faults(dice: &mut Dice) -> Faults {
    let unfit = if dice.percent(8) { dice.of(&[2, 20]) } else { 0 };
    let mut some = |strengths: &[u64]| if dice.percent(40) { dice.of(strengths) } else { 0 };
    Faults {
        refused: some(&[2, 10, 40]) as u8,
        answer_lost: some(&[2, 10, 30]) as u8,
        lost: some(&[2, 10]) as u8,
        late: some(&[2, 10]) as u8,
        slow_ms: some(&[20, 300, 3_000]),
        lag_ms: some(&[20, 500, 8_000]),
        cut: some(&[1, 10]) as u8,
        stall_ms: some(&[50, 4_000]),
        idle_ms: some(&[100, 3_000, 20_000]),
        crash: some(&[1, 5]) as u8,
        unfit,
        stale: some(&[5, 50]) as u8,
        denied: dice.percent(10).then(|| dice.of(&Denied::ALL[..8])),
        admission: dice.percent(6).then(|| dice.of(&Admission::ALL)),
        prunes: false,
        taken: 0,
    }
}
