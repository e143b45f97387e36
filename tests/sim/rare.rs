//! Draws what few clusters see: drawn when all else of the acts is, so that without it a plan is as it was.

use crate::sim::acts::PLAYED;
use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::SortPolicy;
use gangline::api::task_group::MatchPolicy;
use gangline::shim::op::Kind;

use super::acts::{Act, GroupAct, JobAct, NodeAct, PodAct, SetAct};
use super::coverage::STORMS;
use super::draw::Dice;
use super::people::NS;
use super::place::Place;

/// What changes little of the rest.
pub(super) fn rare(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, nodes: &[String]) {
    let group = format!("g{}", dice.few(8));
    let member = format!("{group}-{}", dice.few(3));
    if dice.percent(8) {
        let kind = dice.of(&PLAYED);
        let name = match kind {
            Kind::Pod => member.clone(),
            Kind::Node => dice.of(nodes),
            Kind::TaskGroup => group.clone(),
            Kind::Queue => dice.of(&["root", "root.a", "root.a.x", "root.b"]).to_owned(),
            Kind::ResourceQuota => "quota".to_owned(),
            Kind::Namespace => NS.to_owned(),
            Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => group.clone(),
        };
        acts.push((dice.time(), Act::Garble { kind, name, for_ms: dice.of(&[1_000, 20_000, 100_000]) }));
    }
    if dice.percent(8) {
        let milli = dice.of(&[100, 1_500, 4_000]);
        acts.push((dice.time(), Act::Resize { name: member, milli }));
    }
    if dice.percent(3) {
        acts.push((dice.time(), Act::DropNamespace { for_ms: dice.of(&[0, 5_000]) }));
    }
    if dice.percent(6) {
        acts.push((dice.time(), Act::Hang { node: dice.of(nodes), for_ms: dice.of(&[20_000, 200_000]) }));
    }
    if dice.percent(8) {
        let code = dice.of(&STORMS);
        acts.push((dice.time(), Act::Storm { code, for_ms: dice.of(&[2_000, 30_000, 90_000]) }));
    }
    if dice.percent(8) {
        let app = dice.percent(50).then(|| group.clone());
        let pod = PodAct {
            name: "abroad".to_owned(),
            milli: 500,
            group: Some(group),
            app,
            forged: dice.percent(30),
            abroad: true,
            ..PodAct::default()
        };
        acts.push((dice.time(), Act::Pod(pod)));
    }
    if dice.percent(8) {
        hold_some(dice, acts);
    }
    if dice.percent(8) {
        // All groups of an application should agree, and mostly are one.
        let timeout = Some(dice.of(&[1, 10, 200]));
        let mut groups =
            acts.iter_mut().filter_map(|(_, act)| if let Act::Group(group) = act { Some(group) } else { None });
        groups.nth(dice.few(4) as usize).into_iter().for_each(|group| group.timeout = timeout);
    }
    if dice.percent(6) {
        let (name, cpu) = (dice.of(nodes), 1 + dice.below(6) as u32);
        let node = Act::Node(NodeAct { name, cpu, tainted: true, ..NodeAct::default() });
        acts.push((if dice.percent(50) { 0 } else { dice.time() }, node));
    }
    if dice.percent(10) {
        place_some(dice, acts);
    }
}

/// What changes whole clusters.
pub(super) fn rarer(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, (nodes, queues): (&[String], &[Option<String>])) {
    if dice.percent(8) {
        label_some(dice, acts);
    }
    if dice.percent(6) {
        gate_some(dice, acts);
    }
    if dice.percent(10) {
        jobs(dice, acts);
    }
    if dice.percent(6) {
        machine_dies(dice, acts, nodes);
    }
    if dice.percent(6) {
        placeholders_fail(dice, acts);
    }
    if dice.percent(15) {
        edit_some(dice, acts, queues);
    }
    if dice.percent(12) {
        scarce(dice, acts);
    }
    if dice.percent(8) {
        forge_some(dice, acts);
    }
    if dice.percent(6) {
        mark_some(dice, acts);
    }
    if dice.percent(40) {
        bound_some(dice, acts);
    }
    if dice.percent(5) {
        flap(dice, acts);
    }
    if dice.percent(8) {
        gpus(dice, acts);
    }
    if dice.percent(5) {
        mistype(dice, acts);
    }
    if dice.percent(30) {
        hurry(dice, acts);
    }
    if dice.percent(30) {
        restart_some(dice, acts);
    }
    if dice.percent(6) {
        sets(dice, acts);
    }
    if dice.percent(20) {
        sort_some(dice, acts);
    }
}

/// StatefulSets have the members of some groups: one comes after the other. All of them are deleted now and then, and some
/// fail.
fn sets(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut groups: BTreeMap<String, (u64, GroupAct)> = BTreeMap::new();
    for (at, act) in acts.iter() {
        if let Act::Group(group) = act {
            groups.entry(group.name.clone()).or_insert((*at, group.clone()));
        }
    }
    for (name, (at, group)) in groups {
        if !dice.percent(40) {
            continue;
        }
        acts.retain(|(_, act)| !matches!(act, Act::Pod(pod) if pod.group.as_ref() == Some(&name)));
        let replicas = group.min + dice.few(1) as u32;
        let GroupAct { milli, mib, gpu, .. } = group;
        acts.push((at, Act::Set(SetAct { group: name.clone(), milli, mib, gpu, replicas, by: None })));
        let member = |number: u32| format!("{name}-set-{number}");
        for _ in 0..dice.few(3) {
            let again = at + 10_000 + dice.below(100_000);
            // At once: the first is made anew when all are gone or about to go.
            let drop = |number| (again, Act::DropPod { name: member(number), again: false });
            acts.extend((0..replicas).map(drop));
        }
        if dice.percent(30) {
            let name = member(dice.below(replicas.into()) as u32);
            acts.push((at + dice.below(100_000), Act::End { name, well: dice.percent(20) }));
        }
    }
}

/// Some gangs are restarted: their members are deleted or fail, all at about the same time, and others come, soon or late, at
/// once or one after the other.
fn restart_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut groups: BTreeMap<String, u64> = BTreeMap::new();
    for (at, act) in acts.iter() {
        if let Act::Group(group) = act {
            groups.entry(group.name.clone()).or_insert(*at);
        }
    }
    for (name, begins) in groups {
        if !dice.percent(40) {
            continue;
        }
        let hold = if dice.percent(40) { Some(dice.of(&[0, 5, 20])) } else { None };
        let is_deleted = dice.percent(60);
        let ends = begins + 20_000 + dice.below(60_000);
        let comes = ends + dice.of(&[0, 500, 8_000, 40_000, 100_000]);
        let within = dice.of(&[100, 100, 20_000]);
        let mut more = Vec::new();
        for (_, act) in acts.iter_mut() {
            if let Act::Group(group) = act
                && group.name == name
            {
                group.hold = hold;
            }
            let Act::Pod(pod) = act else { continue };
            if pod.group.as_ref() != Some(&name) || pod.forged {
                continue;
            }
            let own = pod.name.clone();
            let again = PodAct { name: format!("{own}-again"), ..pod.clone() };
            let end =
                if is_deleted { Act::DropPod { name: own, again: false } } else { Act::End { name: own, well: false } };
            more.push((ends + dice.below(300), end));
            more.push((comes + dice.below(within), Act::Pod(again)));
        }
        acts.extend(more);
    }
}

/// Some gangs have little time.
fn hurry(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let mut hurried: BTreeMap<String, [Option<u32>; 3]> = BTreeMap::new();
    let draw = |dice: &mut Dice| [0; 3].map(|_| dice.percent(30).then(|| dice.of(&[1, 5, 20, 60])));
    for (_, act) in acts {
        let Act::Group(group) = act else { continue };
        let application = group.app.clone().unwrap_or_else(|| group.name.clone());
        let [holds, waits, admits] = *hurried.entry(application).or_insert_with(|| draw(dice));
        (group.holds, group.waits, group.admits) = (holds, waits, admits);
        // They should agree.
        group.hard = holds.is_some_and(|holds| holds > 5);
    }
}

/// Some gangs hold seats one by one, and not for long: what is held without placeholders nobody else sees.
pub(super) fn hold_one_by_one(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let mut chosen: BTreeMap<String, Option<u32>> = BTreeMap::new();
    for (_, act) in acts {
        let Act::Group(group) = act else { continue };
        let application = group.app.clone().unwrap_or_else(|| group.name.clone());
        let drawn = chosen.entry(application);
        if let Some(waits) = drawn.or_insert_with(|| dice.percent(50).then(|| dice.of(&[1, 5, 20, 60]))) {
            (group.one_by_one, group.waits) = (true, Some(*waits));
        }
    }
}

/// Some gangs count anew who starts together once they have started.
pub(super) fn count_anew(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let mut chosen: BTreeMap<String, MatchPolicy> = BTreeMap::new();
    for (_, act) in acts {
        let Act::Group(group) = act else { continue };
        let application = group.app.clone().unwrap_or_else(|| group.name.clone());
        let of_round = [MatchPolicy::WaitingAndRunning, MatchPolicy::WaitingAndRunning, MatchPolicy::OnlyWaiting];
        let drawn = || if dice.percent(70) { dice.of(&of_round) } else { MatchPolicy::OnceSatisfied };
        group.policy = *chosen.entry(application).or_insert_with(drawn);
    }
}

/// A member comes and goes, up to a hundred times.
fn flap(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let group = format!("g{}", dice.few(4));
    let (first, period) = (dice.time(), dice.of(&[60, 700, 3_000]));
    let pod = PodAct { name: format!("{group}-flap"), milli: 1_000, group: Some(group), ..PodAct::default() };
    for number in 0..20 + dice.below(80) {
        let at = first + number * period;
        acts.push((at, Act::Pod(pod.clone())));
        acts.push((at + period / 2, Act::DropPod { name: pod.name.clone(), again: false }));
    }
}

/// Who is first in line in some queues is overtaken so often, or so long.
fn bound_some(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    for (_, act) in acts {
        if let Act::Queue(queue) = act {
            queue.overtakes = dice.percent(50).then(|| dice.of(&[0, 0, 1, 3]));
            let is_free = queue.overtakes.is_none() && dice.percent(50);
            queue.overtaken_s = is_free.then(|| dice.of(&[0, 5, 60]));
        }
    }
}

/// Some queues are promised something, or have an order of their own; a few take nothing new.
fn sort_some(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    for (_, act) in acts {
        if let Act::Queue(queue) = act {
            queue.guaranteed = dice.percent(50).then(|| 1 + dice.below(6) as u32);
            queue.sorts =
                dice.percent(40).then(|| dice.of(&[SortPolicy::StateAware, SortPolicy::StateAware, SortPolicy::Fair]));
            queue.offset = dice.percent(10).then(|| dice.of(&[-5, 5, i32::MAX]));
            queue.stopped = dice.percent(3);
        }
    }
}

/// Some pods were written for another gang scheduler; a few of them belong to a gang of ours all the same.
fn mark_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    for number in 0..=dice.few(3) {
        let group = dice.percent(20).then(|| format!("g{}", dice.few(4)));
        let pod = PodAct {
            name: format!("their{number}"),
            milli: dice.of(&[100, 1_000]),
            group,
            foreign: true,
            ..PodAct::default()
        };
        acts.push((dice.time(), Act::Pod(pod)));
    }
}

/// Some gangs cannot be everywhere, and do not always say the same of their placeholders and of their members.
fn place_some(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let (place, is_said) = (dice.of(&Place::ALL), dice.percent(85));
    let mut placed = BTreeSet::new();
    for (_, act) in acts.iter_mut() {
        if let Act::Group(group) = act
            && (placed.contains(&group.name) || dice.percent(40))
        {
            group.place = is_said.then_some(place);
            placed.insert(group.name.clone());
        }
    }
    for (_, act) in acts {
        if let Act::Pod(pod) = act
            && pod.group.as_ref().is_some_and(|group| placed.contains(group))
        {
            pod.place = dice.percent(95).then_some(place);
        }
    }
}

/// Somebody holds members by a finalizer, and may let them go.
fn hold_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut names = Vec::new();
    for (_, act) in acts.iter_mut() {
        if let Act::Pod(pod) = act
            && dice.percent(20)
        {
            pod.held = true;
            names.push(pod.name.clone());
        }
    }
    for name in names {
        if dice.percent(60) {
            acts.push((dice.time(), Act::LetGo { name: name.clone() }));
        }
        if dice.percent(30) {
            acts.push((dice.time(), Act::DropPod { name, again: false }));
        }
    }
}

/// The names of the pods that come, and of what they belong to.
fn pods(acts: &[(u64, Act)]) -> Vec<(u64, PodAct)> {
    let pod = |(at, act): &(u64, Act)| if let Act::Pod(pod) = act { Some((*at, pod.clone())) } else { None };
    acts.iter().filter_map(pod).collect()
}

/// Somebody edits what some pods say that they belong to, and may think better of it.
fn label_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let pods = pods(acts);
    let count = if pods.is_empty() { 0 } else { 1 + dice.few(3) };
    for _ in 0..count {
        let (comes, PodAct { name, group, app, .. }) = dice.of(&pods);
        let PodAct { group: other, app: elsewhere, .. } = dice.of(&pods).1;
        let at = comes + dice.of(&[5, 500, 5_000, 40_000]) + dice.below(1_000);
        if dice.percent(40) {
            acts.push((at + dice.below(20_000), Act::Label { name: name.clone(), group, app }));
        }
        acts.push((at, Act::Label { name, group: other, app: elsewhere }));
    }
}

/// Somebody holds some pods back, most of them for a while.
fn gate_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut lifted = Vec::new();
    for (at, act) in acts.iter_mut() {
        if let Act::Pod(pod) = act
            && dice.percent(20)
        {
            pod.gated = true;
            if dice.percent(80) {
                lifted.push((*at + dice.of(&[100, 3_000, 60_000]), Act::Ungate { name: pod.name.clone() }));
            }
        }
    }
    acts.extend(lifted);
}

/// Somebody edits some task groups, whatever becomes of them meanwhile.
fn edit_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, queues: &[Option<String>]) {
    let group = |(at, act): &(u64, Act)| if let Act::Group(group) = act { Some((*at, group.clone())) } else { None };
    let groups: Vec<(u64, GroupAct)> = acts.iter().filter_map(group).collect();
    for _ in 0..=dice.few(4) {
        let (at, mut group) = dice.of(&groups);
        match dice.below(5) {
            0 => group.queue = dice.of(queues),
            1 => group.milli = dice.of(&[500, 1_000, 3_000]),
            2 => group.timeout = Some(dice.of(&[1, 60])),
            3 => group.place = Some(dice.of(&Place::ALL)),
            _ => group.min = 1 + dice.few(4) as u32,
        }
        acts.push((at + dice.of(&[500, 5_000, 40_000, 120_000]) + dice.below(1_000), Act::Group(group)));
    }
}

/// Somebody knows how placeholders are named.
fn forge_some(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let group =
        |(at, act): &(u64, Act)| if let Act::Group(group) = act { Some((*at, group.name.clone())) } else { None };
    let groups: Vec<(u64, String)> = acts.iter().filter_map(group).collect();
    let count = if groups.is_empty() { 0 } else { 1 + dice.few(3) };
    for _ in 0..count {
        let (at, group) = dice.of(&groups);
        let at = at + dice.of(&[0, 1_000, 10_000]) + dice.below(1_000);
        acts.push((at, Act::Forge { group, milli: dice.of(&[100, 1_000, 3_000]), squats: dice.percent(40) }));
    }
}

/// Jobs have the members of some groups: with new names in the place of those that fail or go.
fn jobs(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut groups: Vec<(u64, GroupAct)> = Vec::new();
    for (at, act) in acts.iter() {
        if let Act::Group(group) = act
            && !groups.iter().any(|(_, known)| known.name == group.name)
            && dice.percent(40)
        {
            groups.push((*at, group.clone()));
        }
    }
    for (at, group) in groups {
        if dice.percent(70) {
            acts.retain(|(_, act)| !matches!(act, Act::Pod(pod) if pod.group.as_ref() == Some(&group.name)));
        }
        job(dice, acts, at, &group);
    }
}

/// A Job of a group, and what becomes of its pods.
fn job(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, at: u64, group: &GroupAct) {
    let (name, parallelism) = (format!("{}-job", group.name), group.min + dice.few(2) as u32);
    let completions = parallelism + dice.few(3) as u32;
    let comes = (at + dice.below(4_000)).saturating_sub(2_000);
    let job = JobAct {
        name: name.clone(),
        group: Some(group.name.clone()),
        milli: group.milli,
        mib: group.mib,
        gpu: group.gpu,
        parallelism,
        completions,
        by: None,
    };
    acts.push((comes, Act::Job(job)));
    for number in 0..completions + 2 {
        let name = format!("{name}-{number}");
        let ends = comes + dice.below(80_000);
        if dice.percent(10) {
            acts.push((ends, Act::DropPod { name, again: false }));
        } else if dice.percent(70) {
            acts.push((ends, Act::End { name, well: dice.percent(60) }));
        }
    }
}

/// The machine of a node dies; in time what is on it is given up, and it comes back, or goes.
fn machine_dies(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, nodes: &[String]) {
    let (node, at) = (dice.of(nodes), dice.time());
    acts.push((at, Act::Die { node: node.clone() }));
    if dice.percent(80) {
        acts.push((at + 45_000 + dice.below(30_000), Act::Evict { node: node.clone() }));
    }
    let later = at + dice.of(&[5_000, 60_000, 120_000]) + dice.below(20_000);
    match dice.below(3) {
        0 => {}
        1 => acts.push((later, Act::Revive { node })),
        _ => acts.push((later, Act::LoseNode { name: node })),
    }
}

/// Nodes put off some placeholders.
fn placeholders_fail(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let group =
        |(at, act): &(u64, Act)| if let Act::Group(group) = act { Some((*at, group.name.clone())) } else { None };
    let groups: Vec<(u64, String)> = acts.iter().filter_map(group).collect();
    for _ in 0..=dice.few(3) {
        let (at, group) = dice.of(&groups);
        let nth = dice.below(5) as u32;
        acts.push((at + dice.below(30_000), Act::DropPlaceholder { group, nth, fails: true }));
    }
}

/// Memory is scarce on nodes and in queues, or there may be few pods on a node.
fn scarce(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let (memory, pods) = (dice.percent(70), dice.percent(40));
    let mut of_groups = BTreeMap::new();
    for (_, act) in acts.iter_mut() {
        if let Act::Node(node) = act {
            node.mib = memory.then(|| 512 * (1 + dice.below(8) as u32));
            node.pods = pods.then(|| 2 + dice.below(5) as u32);
        } else if let (Act::Queue(queue), true) = (&mut *act, memory) {
            queue.mib = dice.percent(50).then(|| 512 * (1 + dice.below(12) as u32));
        } else if let (Act::Group(group), true) = (act, memory) {
            group.mib = *of_groups.entry(group.name.clone()).or_insert_with(|| dice.of(&[0, 256, 512, 1_024]));
        }
    }
    announce(dice, acts, &of_groups, 256, |asks| asks.mib);
}

/// Some nodes have GPUs, and some gangs ask for them.
fn gpus(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let mut of_groups = BTreeMap::new();
    for (_, act) in acts.iter_mut() {
        if let Act::Node(node) = act {
            node.gpu = dice.of(&[0, 1, 2, 4]);
        } else if let Act::Queue(queue) = act {
            queue.gpu = dice.percent(30).then(|| dice.of(&[1, 2, 4, 8]));
        } else if let Act::Group(group) = act {
            group.gpu = *of_groups.entry(group.name.clone()).or_insert_with(|| dice.of(&[0, 0, 1, 2]));
        }
    }
    announce(dice, acts, &of_groups, 1, |asks| asks.gpu);
}

/// What a pod, or a Job's pods, ask for besides cpu.
struct Asks<'a> {
    mib: &'a mut u32,
    gpu: &'a mut u32,
}

/// Pods ask for as much of a resource as their groups say, and a few for more.
fn announce(
    dice: &mut Dice,
    acts: &mut [(u64, Act)],
    of_groups: &BTreeMap<String, u32>,
    more: u32,
    of: impl for<'a> Fn(Asks<'a>) -> &'a mut u32,
) {
    for (_, act) in acts {
        let (group, asks) = if let Act::Pod(pod) = act {
            (&pod.group, Asks { mib: &mut pod.mib, gpu: &mut pod.gpu })
        } else if let Act::Job(job) = act {
            (&job.group, Asks { mib: &mut job.mib, gpu: &mut job.gpu })
        } else {
            continue;
        };
        let announced = group.as_ref().and_then(|group| of_groups.get(group)).copied().unwrap_or(0);
        *of(asks) = if dice.percent(6) { announced + more } else { announced };
    }
}

/// Somebody mistypes the label of some members, and mostly makes them again as they should be.
fn mistype(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let mut again = Vec::new();
    for (at, act) in acts.iter_mut() {
        if let Act::Pod(pod) = act
            && pod.group.is_some()
            && dice.percent(15)
        {
            if dice.percent(60) {
                let (name, later) = (pod.name.clone(), *at + dice.of(&[200, 5_000, 40_000]));
                again.push((later, Act::DropPod { name, again: false }));
                again.push((later + 1_000, Act::Pod(pod.clone())));
            }
            pod.mistyped = true;
        }
    }
    acts.extend(again);
}
