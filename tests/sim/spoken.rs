//! Gangs that their pods declare in YuniKorn's words (03, 3.4; ADR 29): what such pods say in plans, and what of it judges read.

use gangline::shim::dialect::yunikorn::object_name;
use gangline::shim::observation::Body;
use gangline::sim::store::metadata;
use serde_json::{Value, json};

use super::acts::{Act, PodAct, SpokenAct};
use super::draw::Dice;
use super::people::{APPLICATION, TASK_GROUP};

/// A timeout that is longer than any play: a year.
const ENDLESS_S: u32 = 31_536_000;
/// Labels and annotations of YuniKorn.
const APP_ID: &str = "yunikorn.apache.org/app-id";
const QUEUE: &str = "yunikorn.apache.org/queue";
const GROUP: &str = "yunikorn.apache.org/task-group-name";
const GROUPS: &str = "yunikorn.apache.org/task-groups";
const PARAMETERS: &str = "yunikorn.apache.org/schedulingPolicyParameters";
/// The TaskGroup that a pod names by words which are not ours, as a label that only judges read.
pub(super) const MEANT: &str = "plan.example.com/task-group";

/// The words of a label of ours, in labels of a pod that has none of ours which say what it belongs to.
pub(super) fn in_other_words<'a>(pod: &'a Body, key: &str) -> Option<&'a str> {
    let labels = metadata(pod).labels.as_ref()?;
    let says = |key: &str| labels.get(key).map(String::as_str);
    if says(TASK_GROUP).or_else(|| says(APPLICATION)).is_some() {
        return None;
    }
    match key {
        TASK_GROUP => says(MEANT),
        // Who is of a task group is of its application.
        APPLICATION if says(MEANT).is_none() => says(APP_ID),
        "gangline.dev/queue" => says(QUEUE),
        _ => None,
    }
}

/// The TaskGroups that a pod declares, by name.
pub(super) fn declares(pod: &Body) -> Vec<String> {
    let (labels, annotations) = (metadata(pod).labels.as_ref(), metadata(pod).annotations.as_ref());
    let groups = annotations.and_then(|all| all.get(GROUPS)).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let app = labels.and_then(|labels| labels.get(APP_ID));
    let names = groups.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(|one| one["name"].as_str());
    app.into_iter().flat_map(|app| names.clone().map(|name| object_name(app, name).to_string())).collect()
}

/// Whether what a pod declares cannot be read.
pub(super) fn is_misspoken(pod: &Body) -> bool {
    let groups = metadata(pod).annotations.as_ref().and_then(|all| all.get(GROUPS));
    groups.is_some_and(|text| serde_json::from_str::<Value>(text).is_err())
}

/// Takes away what a pod declares.
pub(super) fn unsay(pod: &mut k8s_openapi::api::core::v1::Pod) {
    pod.metadata.annotations.iter_mut().for_each(|all| _ = all.remove(GROUPS));
}

/// Labels and annotations of a pod that says this, in this queue.
pub(super) fn words(spoken: &SpokenAct, queue: Option<&String>) -> (Value, Value) {
    let SpokenAct { app, group, declares, hard, holds, wrong } = spoken;
    let mut labels = json!({APP_ID: app});
    let mut annotations = json!({});
    if let Some(queue) = queue {
        labels[QUEUE] = json!(queue);
    }
    if let Some(group) = group {
        labels[MEANT] = json!(object_name(app, group).to_string());
        annotations[GROUP] = json!(group);
    }
    if *wrong {
        annotations[GROUPS] = json!("[");
    } else if !declares.is_empty() {
        let group = |(name, min, milli): &(String, u32, u32)| json!({"name": name, "minMember": min, "minResource": {"cpu": format!("{milli}m")}});
        annotations[GROUPS] = json!(Value::from_iter(declares.iter().map(group)).to_string());
    }
    let style = if *hard { "Hard" } else { "Soft" };
    let holds = holds.unwrap_or(ENDLESS_S);
    annotations[PARAMETERS] = json!(format!("placeholderTimeoutInSeconds={holds} gangSchedulingStyle={style}"));
    (labels, annotations)
}

/// Some gangs are declared by their pods.
pub(super) fn draw(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, queues: &[Option<String>]) {
    for number in 0..=dice.few(3) {
        gang(dice, acts, number, queues);
    }
}

/// A gang that one of its pods declares, or several do, who may not agree.
fn gang(dice: &mut Dice, acts: &mut Vec<(u64, Act)>, number: u64, queues: &[Option<String>]) {
    let (begins, queue) = (dice.time(), dice.of(queues));
    let says = said(dice, format!("yk{number}"));
    let is_apart = dice.percent(50);
    if is_apart {
        let name = format!("driver-{}", says.app);
        let spoken = SpokenAct { wrong: dice.percent(6), ..says.clone() };
        acts.push((begins, pod(name.clone(), 500, (&spoken, &queue))));
        if dice.percent(30) {
            let ends = begins + dice.below(60_000);
            acts.push((ends, Act::End { name, well: dice.percent(80) }));
        }
    }
    let ends = dice.percent(60).then(|| begins + 5_000 + dice.below(40_000));
    for (at, (group, min, milli)) in says.declares.iter().enumerate() {
        let object = object_name(&says.app, group);
        let count = (min + dice.few(2) as u32).saturating_sub(u32::from(dice.percent(15)));
        for member in 0..count {
            let declares = at == 0 && member == 0 && !is_apart || dice.percent(15);
            let name = format!("{object}-{member}");
            let spoken = SpokenAct {
                group: Some(group.clone()),
                declares: if declares { repeated(dice, &says) } else { Vec::new() },
                ..says.clone()
            };
            acts.push((begins + dice.below(8_000), pod(name.clone(), *milli, (&spoken, &queue))));
            let well = dice.percent(85);
            acts.extend(ends.map(|ends| (ends + dice.below(500), Act::End { name: name.clone(), well })));
            if dice.percent(5) {
                acts.push((begins + dice.below(60_000), Act::DropPod { name, again: dice.percent(50) }));
            }
        }
        if dice.percent(8) {
            acts.push((begins + dice.below(30_000), Act::DropGroup { name: object.to_string() }));
        }
        if dice.percent(10) {
            let (group, nth) = (object.to_string(), dice.below(5) as u32);
            acts.push((begins + dice.below(20_000), Act::DropPlaceholder { group, nth, fails: false }));
        }
    }
}

/// What the pods of an application say.
fn said(dice: &mut Dice, app: String) -> SpokenAct {
    let names = ["worker", "ps", "chief"];
    let count = 1 + dice.few(2) as usize;
    let group = |name: &&str, dice: &mut Dice| {
        ((*name).to_owned(), 1 + dice.few(3) as u32, dice.of(&[500, 1_000, 1_000, 2_000]))
    };
    let declares = names.iter().take(count).map(|name| group(name, dice)).collect();
    let holds = dice.percent(30).then(|| dice.of(&[1, 20, 60]));
    SpokenAct { app, declares, holds, hard: holds.is_some_and(|holds| holds > 5), ..SpokenAct::default() }
}

/// The same, or with a member more of the first.
fn repeated(dice: &mut Dice, says: &SpokenAct) -> Vec<(String, u32, u32)> {
    let mut declares = says.declares.clone();
    if dice.percent(15) {
        declares[0].1 += 1;
    }
    declares
}

fn pod(name: String, milli: u32, (spoken, queue): (&SpokenAct, &Option<String>)) -> Act {
    let (queue, spoken) = (queue.clone(), Some(spoken.clone()));
    Act::Pod(PodAct { name, milli, queue, spoken, ..PodAct::default() })
}
