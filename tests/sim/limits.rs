//! Limits of users and groups of a queue, and who submitted what: as plans say it, and as objects do. Read by itself, not as
//! the scheduler reads it.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::SubmitterLimit;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::acts::{Act, LimitAct, QueueAct};
use super::amount::Amount;
use super::draw::Dice;

/// What the shipped admission policy writes on TaskGroups and pods, and on the templates of pods.
pub(crate) const SUBMITTER: &str = "gangline.dev/submitter";

/// Those who submit in plans, with their groups.
const WHO: [&str; 4] = ["alice:dev", "bob:dev", "carol:dev,ops", "dave"];
/// Users of limits that are of one queue, and groups of such: nobody is named twice.
const USERS: [&[&str]; 3] = [&["alice"], &["bob", "carol"], &["*"]];
const GROUPS: [&[&str]; 3] = [&["ops"], &["dev"], &["*"]];

/// Who submitted an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Submitter {
    user: String,
    groups: Vec<String>,
}

impl Submitter {
    pub(crate) fn new(user: &str, groups: impl Iterator<Item = String>) -> Self {
        Self { user: user.to_owned(), groups: groups.collect() }
    }

    /// As annotations say it.
    pub(crate) fn of(annotations: Option<&BTreeMap<String, String>>) -> Option<Self> {
        let written: Value = serde_json::from_str(annotations?.get(SUBMITTER)?).ok()?;
        let groups = written["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let user = written["user"].as_str().filter(|user| !user.is_empty())?;
        Some(Self::new(user, groups.map(str::to_owned)))
    }

    pub(crate) fn of_pod(pod: &Pod) -> Option<Self> {
        Self::of(pod.metadata.annotations.as_ref())
    }

    /// For whom a pod counts that was made by this one and is bound with these annotations: they may say another one, or nobody.
    pub(crate) fn bound(annotations: &BTreeMap<String, String>, own: Option<Self>) -> Option<Self> {
        if annotations.contains_key(SUBMITTER) { Self::of(Some(annotations)) } else { own }
    }

    /// The limits of a queue that count for it, and for whom each does: for a user the one that names it, else the one for
    /// every user; and the first that names a group of it, else the one for those of whom none is named.
    pub(crate) fn limits<'a>(&self, limits: &'a [SubmitterLimit]) -> Vec<(String, &'a SubmitterLimit)> {
        let user = |name: &str| limits.iter().find(|limit| limit.users.iter().any(|user| user == name));
        let of_user = user(&self.user).or_else(|| user("*")).map(|limit| (format!("user {}", self.user), limit));
        let named = |limit: &'a SubmitterLimit| {
            let group = limit.groups.iter().find(|group| self.groups.contains(group))?;
            Some((format!("group {group}"), limit))
        };
        let for_others = || limits.iter().find(|limit| limit.groups.iter().any(|group| group == "*"));
        let of_group = limits.iter().find_map(named);
        let of_group = of_group.or_else(|| for_others().map(|limit| ("group *".to_owned(), limit)));
        of_user.into_iter().chain(of_group).collect()
    }
}

/// How much a limit is.
pub(crate) fn most(limit: &SubmitterLimit) -> Amount {
    Amount::of(Some(&limit.max), Amount::ENDLESS)
}

/// The annotations of what somebody submits: `alice:dev,ops`.
pub(super) fn stamp(by: Option<&String>) -> Value {
    let Some(by) = by else { return json!({}) };
    let (user, groups) = by.split_once(':').unwrap_or((by, ""));
    let groups: Vec<&str> = groups.split(',').filter(|group| !group.is_empty()).collect();
    json!({SUBMITTER: json!({"user": user, "groups": groups}).to_string()})
}

/// As a Queue has them.
pub(super) fn of_queue(limits: &[LimitAct]) -> Vec<SubmitterLimit> {
    let limit = |LimitAct { users, groups, cpu, apps }: &LimitAct| SubmitterLimit {
        users: users.clone(),
        groups: groups.clone(),
        max: cpu.map(|cpu| ("cpu".to_owned(), Quantity(cpu.to_string()))).into_iter().collect(),
        max_applications: *apps,
    };
    limits.iter().map(limit).collect()
}

/// Some queues limit users and groups, now so and then otherwise, and of most objects it is known who submitted them.
pub(super) fn draw(dice: &mut Dice, acts: &mut Vec<(u64, Act)>) {
    let is_root = |act: &Act| matches!(act, Act::Queue(queue) if queue.path == "root");
    if dice.percent(50) && !acts.iter().any(|(_, act)| is_root(act)) {
        acts.push((0, Act::Queue(QueueAct { path: "root".to_owned(), cpu: 1_000, ..QueueAct::default() })));
    }
    let mut paths = BTreeSet::new();
    let mut edits = Vec::new();
    for (_, act) in acts.iter_mut() {
        if let Act::Queue(queue) = act {
            queue.limits = if dice.percent(70) { some(dice) } else { Vec::new() };
            if paths.insert(queue.path.clone()) && dice.percent(50) {
                edits.push((dice.time(), Act::Queue(QueueAct { limits: some(dice), ..queue.clone() })));
            }
        }
    }
    acts.extend(edits);
    submit(dice, acts);
}

/// Limits of one queue.
fn some(dice: &mut Dice) -> Vec<LimitAct> {
    let mut limits = Vec::new();
    for (users, groups) in USERS.into_iter().zip(GROUPS) {
        let named = |wanted: bool, names: &[&str]| -> Vec<String> {
            if wanted { names.iter().map(|name| (*name).to_owned()).collect() } else { Vec::new() }
        };
        let users = named(dice.percent(40), users);
        let groups = named(dice.percent(30), groups);
        let apps = dice.percent(20).then(|| dice.few(3) as u32);
        let cpu = (apps.is_none() || dice.percent(50)).then(|| 1 + dice.below(6) as u32);
        if !users.is_empty() || !groups.is_empty() {
            limits.push(LimitAct { users, groups, cpu, apps });
        }
    }
    limits
}

/// The task groups of an application have one submitter, mostly. Pods are theirs, or a controller's or another user's.
fn submit(dice: &mut Dice, acts: &mut [(u64, Act)]) {
    let mut of_groups: BTreeMap<String, Option<String>> = BTreeMap::new();
    let anybody = |dice: &mut Dice| dice.percent(90).then(|| dice.of(&WHO).to_owned());
    for (_, act) in acts.iter_mut() {
        if let Act::Group(group) = act {
            let application = group.app.as_ref().unwrap_or(&group.name).clone();
            let own = of_groups.entry(application).or_insert_with(|| anybody(dice)).clone();
            group.by = if dice.percent(4) { anybody(dice) } else { own };
            of_groups.insert(group.name.clone(), group.by.clone());
        }
    }
    for (_, act) in acts {
        let (of, by) = if let Act::Pod(pod) = act {
            let app = pod.app.as_ref().or(pod.spoken.as_ref().map(|spoken| &spoken.app));
            (pod.group.as_ref().or(app), &mut pod.by)
        } else if let Act::Job(job) = act {
            (job.group.as_ref(), &mut job.by)
        } else if let Act::Set(set) = act {
            (Some(&set.group), &mut set.by)
        } else {
            continue;
        };
        let own = of.and_then(|of| of_groups.get(of)).filter(|_| dice.percent(85)).cloned();
        *by = own.unwrap_or_else(|| anybody(dice));
    }
}
