//! Draws gangs in the words of Koordinator, scheduler-plugins, Volcano and Kubernetes, in plans whose scheduler understands all of these: drawn when
//! all else is, so that other plans are as they were.

use std::collections::BTreeMap;

use gangline::api::task_group::MatchPolicy;

use super::{Acts, Dice};
use crate::sim::acts::{Act, PodAct};
use crate::sim::words::{Family, PodGroupAct, Way, WordsAct};

/// A gang, as most of its pods and its PodGroup say it.
struct Gang {
    begins: u64,
    milli: u32,
    queue: Option<String>,
    /// Whether its pods start one by one, each by itself.
    basic: bool,
    words: WordsAct,
}

/// Some gangs, alone or with others, and what happens to their kinds.
pub(super) fn draw(dice: &mut Dice, acts: &mut Acts, queues: &[Option<String>]) {
    for (_, act) in acts.iter_mut() {
        if let Act::Pod(pod) = act {
            // The marker is understood.
            pod.foreign = false;
        }
    }
    let mut named = Vec::new();
    for number in 0..=dice.few(4) {
        let gangs = if dice.percent(25) { team(dice, number, queues) } else { vec![alone(dice, number, queues)] };
        for gang in gangs {
            named.extend(gang.words.way.family().map(|family| (family, gang.words.gang.clone())));
            draw_gang(dice, acts, &gang);
        }
    }
    trouble(dice, acts, &named);
}

fn alone(dice: &mut Dice, number: u64, queues: &[Option<String>]) -> Gang {
    let way = dice.of(&Way::ALL);
    let knows_modes = !matches!(way, Way::Coscheduling | Way::Volcano | Way::Kubernetes);
    let one_by_one = knows_modes && dice.percent(15);
    // What is held one by one is held where nobody else sees it, and not for long.
    let knows_times = !matches!(way, Way::Volcano | Way::Kubernetes);
    let is_short = one_by_one || knows_times && dice.percent(20);
    let basic = way == Way::Kubernetes && dice.percent(30);
    let words = WordsAct {
        way,
        gang: format!("gang{number}"),
        min: 1 + if basic { 0 } else { dice.few(4) as u32 },
        team: Vec::new(),
        one_by_one,
        waits: is_short.then(|| dice.of(&[1, 5, 20, 60])),
        total: None,
    };
    Gang { begins: dice.time(), milli: dice.of(&[500, 1_000, 1_000, 2_000]), queue: dice.of(queues), basic, words }
}

/// Gangs of which each lists all, or all others; or of which one lists others that do not list it; or each the next one.
fn team(dice: &mut Dice, number: u64, queues: &[Option<String>]) -> Vec<Gang> {
    let way = dice.of(&[Way::Annotations, Way::Labels, Way::Koordinator]);
    let first = alone(dice, number, queues);
    let form = dice.below(10);
    let count = if form < 8 { 2 + dice.few(1) as usize } else { 3 };
    let names: Vec<String> =
        ["a", "b", "c"].iter().take(count).map(|letter| format!("{}{letter}", first.words.gang)).collect();
    let listed = |at: usize| match form {
        0..=3 => names.clone(),
        4 | 5 => names.iter().filter(|name| **name != names[at]).cloned().collect(),
        6 | 7 if at == 0 => names.clone(),
        6 | 7 => Vec::new(),
        _ => vec![names[at].clone(), names[(at + 1) % count].clone()],
    };
    // They agree about all else.
    let waits = dice.percent(20).then(|| dice.of(&[20, 60]));
    let gang = |at: usize, dice: &mut Dice| Gang {
        begins: first.begins + dice.below(5_000),
        milli: first.milli,
        queue: first.queue.clone(),
        basic: false,
        words: WordsAct {
            way,
            gang: names[at].clone(),
            min: 1 + dice.few(2) as u32,
            team: listed(at),
            one_by_one: false,
            waits,
            total: None,
        },
    };
    (0..count).map(|at| gang(at, dice)).collect()
}

/// A gang, its pods, and what becomes of them.
fn draw_gang(dice: &mut Dice, acts: &mut Acts, gang: &Gang) {
    let Gang { begins, milli, queue, basic, words } = gang;
    let object = words.way.family().map(|family| PodGroupAct {
        family,
        name: words.gang.clone(),
        min: words.min.into(),
        team: words.team.clone(),
        one_by_one: words.one_by_one,
        waits: words.waits,
        total: None,
        policy: MatchPolicy::default(),
        queue: queue.clone().filter(|_| family == Family::Volcano),
        basic: *basic,
    });
    object.iter().for_each(|object| draw_object(dice, acts, *begins, object));
    let ends = dice.percent(60).then(|| begins + 5_000 + dice.below(40_000));
    let count = (words.min + dice.few(2) as u32).saturating_sub(u32::from(dice.percent(15)));
    for number in 0..count {
        let name = format!("{}-{number}", words.gang);
        let differs = u32::from(object.is_none() && dice.percent(8));
        let own = match &object {
            // Who names a PodGroup says no more.
            Some(_) => WordsAct { min: 0, team: Vec::new(), one_by_one: false, waits: None, ..words.clone() },
            None => WordsAct { min: words.min + differs, ..words.clone() },
        };
        let queue = queue.clone().filter(|_| words.way != Way::Volcano);
        let pod = PodAct { name: name.clone(), milli: *milli, queue, words: Some(own), ..PodAct::default() };
        acts.push((begins + dice.below(8_000), Act::Pod(pod)));
        let well = dice.percent(85);
        acts.extend(ends.map(|ends| (ends + dice.below(500), Act::End { name: name.clone(), well })));
        if dice.percent(5) {
            acts.push((begins + dice.below(60_000), Act::DropPod { name, again: dice.percent(50) }));
        }
    }
    if dice.percent(8) {
        acts.push((begins + dice.below(30_000), Act::DropGroup { name: words.gang.clone() }));
    }
}

/// A PodGroup before or after its pods, and who edits it, or makes it anew with another size.
fn draw_object(dice: &mut Dice, acts: &mut Acts, begins: u64, object: &PodGroupAct) {
    let comes = begins + if dice.percent(60) { 0 } else { dice.of(&[2_000, 8_000, 30_000]) };
    let another = |dice: &mut Dice| Act::PodGroup(PodGroupAct { min: 1 + dice.few(4).cast_signed(), ..object.clone() });
    if dice.percent(6) {
        // Somebody slipped, and may see it.
        acts.push((comes, Act::PodGroup(PodGroupAct { min: dice.of(&[0, -1]), ..object.clone() })));
        if dice.percent(70) {
            acts.push((comes + 10_000, Act::PodGroup(object.clone())));
        }
    } else {
        acts.push((comes, Act::PodGroup(object.clone())));
    }
    if dice.percent(30) {
        let at = comes + dice.of(&[500, 5_000, 40_000]) + dice.below(1_000);
        acts.push((at, another(dice)));
    }
    if dice.percent(20) {
        let at = comes + dice.below(60_000);
        acts.push((at, Act::DropPodGroup { family: object.family, name: object.name.clone() }));
        if dice.percent(70) {
            acts.push((at + dice.of(&[1, 500, 8_000]), another(dice)));
        }
    }
}

/// What some gangs of Koordinator's say beside their number: how many belong to them, of whom some are there, and who counts after the
/// start; and who edits that. Drawn when all else is, so that other plans are as they were.
pub(super) fn annotate(dice: &mut Dice, acts: &mut Acts) {
    let mut totals: BTreeMap<String, Option<u32>> = BTreeMap::new();
    let mut policies: BTreeMap<String, MatchPolicy> = BTreeMap::new();
    let mut draw = |dice: &mut Dice, gang: &str, min: u32| {
        // A few say fewer than start together.
        let drawn = |dice: &mut Dice| if dice.percent(15) { 0 } else { min + dice.few(3) as u32 };
        *totals.entry(gang.to_owned()).or_insert_with(|| dice.percent(40).then(|| drawn(dice)))
    };
    for (_, act) in acts.iter_mut() {
        if let Act::PodGroup(group) = act
            && group.family == Family::Koordinator
        {
            group.total = draw(dice, &group.name, group.min.clamp(1, 9) as u32);
            let policy = |dice: &mut Dice| if dice.percent(30) { dice.of(&POLICIES) } else { MatchPolicy::default() };
            let policy = *policies.entry(group.name.clone()).or_insert_with(|| policy(dice));
            // Those of one team agree.
            group.policy = if group.team.is_empty() { policy } else { MatchPolicy::default() };
        } else if let Act::Pod(PodAct { words: Some(words), .. }) = act
            && matches!(words.way, Way::Annotations | Way::Labels)
        {
            words.total = draw(dice, &words.gang, words.min);
        }
    }
    let gangs: Vec<(String, u32)> = totals.into_iter().filter_map(|(gang, total)| Some((gang, total?))).collect();
    gangs.iter().for_each(|(gang, total)| join(dice, acts, gang, *total));
    edit(dice, acts);
}

/// All match policies.
const POLICIES: [MatchPolicy; 3] =
    [MatchPolicy::OnceSatisfied, MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting];

/// Some more pods of a gang come, like the first one of it and at about the same time.
fn join(dice: &mut Dice, acts: &mut Acts, gang: &str, total: u32) {
    let is_its = |pod: &PodAct| pod.words.as_ref().is_some_and(|words| words.gang == gang);
    let mut pods = acts.iter().filter_map(|(at, act)| if let Act::Pod(pod) = act { Some((*at, pod)) } else { None });
    let Some((at, first)) = pods.find(|(_, pod)| is_its(pod)).map(|(at, pod)| (at, pod.clone())) else { return };
    for number in 0..dice.below(u64::from(total).min(4) + 1) {
        let pod = PodAct { name: format!("{gang}-beyond{number}"), ..first.clone() };
        acts.push((at + dice.below(1_000), Act::Pod(pod)));
    }
}

/// Somebody edits what PodGroups of Koordinator say in annotations; of gangs that start alone also what these must agree about.
fn edit(dice: &mut Dice, acts: &mut Acts) {
    let mut objects: BTreeMap<String, Vec<(u64, PodGroupAct)>> = BTreeMap::new();
    for (at, act) in acts.iter() {
        if let Act::PodGroup(group) = act
            && group.family == Family::Koordinator
        {
            objects.entry(group.name.clone()).or_default().push((*at, group.clone()));
        }
    }
    for mut versions in objects.into_values() {
        versions.sort_by_key(|(at, _)| *at);
        let mut at = versions[0].0;
        let edits = if dice.percent(60) { 1 + dice.few(2) } else { 0 };
        for _ in 0..edits {
            at += dice.of(&[500, 5_000, 40_000]) + dice.below(1_000);
            let there = versions.iter().rev().find(|(from, _)| *from <= at).map(|(_, group)| group.clone());
            let Some(mut group) = there else { continue };
            annotate_anew(dice, &mut group);
            versions.push((at, group.clone()));
            acts.push((at, Act::PodGroup(group)));
        }
    }
}

/// One or several of its annotations say something else.
fn annotate_anew(dice: &mut Dice, group: &mut PodGroupAct) {
    let is_alone = group.team.is_empty();
    if is_alone && dice.percent(50) {
        group.one_by_one = !group.one_by_one;
        // What is held one by one is not held for long.
        group.waits = group.waits.or_else(|| group.one_by_one.then(|| dice.of(&[1, 5, 20, 60])));
    }
    if is_alone && dice.percent(50) {
        group.policy = dice.of(&POLICIES);
    }
    if !is_alone || dice.percent(50) {
        group.total = dice.percent(80).then(|| 1 + dice.few(6) as u32);
    }
}

/// A kind is missing for a while, from the beginning or later; its watch breaks, or is not heard; or an object cannot be read.
fn trouble(dice: &mut Dice, acts: &mut Acts, named: &[(Family, String)]) {
    if dice.percent(25) {
        let at = if dice.percent(50) { 0 } else { dice.time() };
        let kind = dice.of(&Family::ALL).kind();
        acts.push((at, Act::Vanish { kind, for_ms: dice.of(&[1_000, 30_000, 90_000]) }));
    }
    if dice.percent(25) {
        acts.push((dice.time(), Act::Cut { kind: dice.of(&Family::ALL).kind() }));
    }
    if dice.percent(25) {
        let kind = dice.of(&Family::ALL).kind();
        acts.push((dice.time(), Act::Mute { kind, for_ms: dice.of(&[500, 5_000, 40_000]) }));
    }
    if dice.percent(25) && !named.is_empty() {
        let (family, name) = dice.of(named);
        acts.push((dice.time(), Act::Garble { kind: family.kind(), name, for_ms: dice.of(&[1_000, 20_000, 100_000]) }));
    }
}
