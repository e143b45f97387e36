//! What the scheduler would say of the gangs of the files: it is asked, with these queues and namespaces and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::finding::{Finding, Severity};
use super::pods::Pods;
use super::room::Nodes;
use super::{Site, played};
use crate::api::names;
use crate::api::task_group::TaskGroup;
use crate::core::base::ids::{Key, Text};
use crate::core::codes::Code;
use crate::core::event::GroupSpec;
use crate::core::model::lifecycle::AppState;
use crate::runtime::cli::simulate::input::{Input, make_namespaces};
use crate::shim::dialect::Spoken;
use crate::shim::dialect::pod_group::{self, Found, Reference, System};
use crate::shim::observation::Body;
use crate::shim::task_group::group_spec;
use crate::sim::play::{Arrival, Thing};

/// A task group of the files, or one that pods in them declare.
struct Group<'a> {
    object: Arc<TaskGroup>,
    spec: GroupSpec,
    /// Who is told of it.
    site: Site<'a>,
    /// Its field that says how many start together.
    min_member: &'static str,
}

/// Everything about gangs.
pub(super) fn findings(input: &Input, pods: &[Pods], nodes: &Nodes) -> Vec<Finding> {
    let groups = groups(input, pods);
    let mut found: Vec<Finding> = groups.values().flat_map(|group| of_spec(group, nodes)).collect();
    let objects = pod_groups(input);
    let mut named: BTreeMap<(System, Key), Vec<&Reference>> = BTreeMap::new();
    for one in pods {
        if let Some(refers) = one.spoken.as_ref().and_then(|spoken| spoken.refers.as_ref()) {
            named.entry((refers.system, one.ask.key.beside(&refers.name))).or_default().push(refers);
        }
    }
    let named = named.iter().filter_map(|(key, by)| Some((objects.get(key)?, by)));
    found.extend(named.flat_map(|((object, site), by)| of_pod_group(object, site, by)));
    found.extend(judged(input, &groups));
    found.extend(groups.iter().filter_map(|(key, group)| too_few(key, group, pods)));
    found.extend(pods.iter().filter_map(|one| without_group(one, pods, &groups)));
    found
}

fn groups<'a>(input: &'a Input, pods: &[Pods<'a>]) -> BTreeMap<Key, Group<'a>> {
    let mut groups = BTreeMap::new();
    for arrival in &input.arrivals {
        let (Thing::Object(Body::TaskGroup(group)), Some(site)) = (&arrival.what, Site::of(input, arrival)) else {
            continue;
        };
        groups.insert(arrival.key.clone(), Group::new(&arrival.key, TaskGroup::clone(group), site, "spec.minMember"));
    }
    let objects = pod_groups(input);
    for pods in pods {
        for declared in pods.spoken.iter().flat_map(|spoken| &spoken.declares) {
            let key = pods.ask.key.beside(&declared.name);
            let object = TaskGroup::new(&declared.name, declared.spec.clone());
            groups.entry(key.clone()).or_insert_with(|| Group::new(&key, object, pods.site.clone(), ""));
        }
        for object in pods.spoken.iter().filter_map(|spoken| spoken.refers.as_ref()) {
            let key = pods.ask.key.beside(&object.name);
            let there = objects.get(&(object.system, key.clone()));
            let declared = there.and_then(|(found, site)| Some((object.declared(found).ok()?, site)));
            if let Some((declared, site)) = declared {
                let made = TaskGroup::new(&declared.name, declared.spec);
                groups.entry(key.clone()).or_insert_with(|| Group::new(&key, made, site.clone(), ""));
            }
        }
    }
    groups
}

/// The PodGroups of the files.
fn pod_groups(input: &Input) -> BTreeMap<(System, Key), (Found, Site<'_>)> {
    let read = |arrival: &Arrival| match &arrival.what {
        Thing::Object(Body::KoordinatorPodGroup(group)) => Some((System::Koordinator, pod_group::read(group)?)),
        Thing::Object(Body::CoschedulingPodGroup(group)) => Some((System::Coscheduling, pod_group::read(group)?)),
        Thing::Object(Body::VolcanoPodGroup(group)) => Some((System::Volcano, pod_group::read(group)?)),
        Thing::Object(Body::KubernetesPodGroup(group)) => Some((System::Kubernetes, pod_group::read(group)?)),
        Thing::Object(_) | Thing::Job(_) => None,
    };
    let read = |arrival| {
        let (system, found) = read(arrival)?;
        Some(((system, arrival.key.clone()), (found, Site::of(input, arrival)?)))
    };
    input.arrivals.iter().filter_map(read).collect()
}

/// What a PodGroup is wrong about, and what of it decides nothing beside what those pods say that name it.
fn of_pod_group(object: &Found, site: &Site, by: &[&Reference]) -> Vec<Finding> {
    let problems = object.problems.iter();
    let errors = problems.map(|error| site.finding(Severity::Error, &error.field, error.problem.to_string()));
    let warnings: BTreeSet<Text> = by.iter().flat_map(|refers| refers.warnings(object)).collect();
    let warnings = warnings.iter().map(|warning| {
        let (field, message) = warning.split_once(": ").unwrap_or(("", &**warning));
        site.finding(Severity::Warning, field, message.to_owned())
    });
    errors.chain(warnings).collect()
}

impl<'a> Group<'a> {
    fn new(key: &Key, mut object: TaskGroup, site: Site<'a>, min_member: &'static str) -> Self {
        object.metadata.namespace = Some(key.namespace.to_string());
        Self { spec: group_spec(&object), object: Arc::new(object), site, min_member }
    }
}

/// What its spec is wrong about; and whether the nodes have room for it.
fn of_spec(group: &Group, nodes: &Nodes) -> Vec<Finding> {
    let spec = &group.spec;
    // Of those that pods declare the pods were told already.
    let errors = spec.errors.iter().filter(|_| !group.min_member.is_empty());
    let mut found: Vec<Finding> =
        errors.map(|error| group.site.finding(Severity::Error, &error.field, error.problem.to_string())).collect();
    if let Some(lack) = nodes.lack_for(&spec.shape, spec.min_member) {
        found.push(group.site.finding(Severity::Warning, group.min_member, lack));
    }
    found
}

/// What the scheduler refuses, in its own words. Each sentence is said once for an application.
fn judged(input: &Input, groups: &BTreeMap<Key, Group>) -> Vec<Finding> {
    let is_of_queues = |what: &Thing| matches!(what, Thing::Object(Body::Queue(_) | Body::Namespace(_)));
    let queues = input.arrivals.iter().filter(|arrival| is_of_queues(&arrival.what)).cloned();
    let own = groups.iter().map(|(key, group)| {
        let what = Thing::Object(Body::TaskGroup(group.object.clone()));
        Arrival { at: 0, key: key.clone(), what, lasts: None }
    });
    let mut arrivals: Vec<Arrival> = queues.map(|queue| Arrival { at: 0, ..queue }).chain(own).collect();
    make_namespaces(&mut arrivals);
    let story = played(arrivals.into_iter());
    let by_name: BTreeMap<String, &Group> = groups.iter().map(|(key, group)| (key.to_string(), group)).collect();
    let (mut said, mut found) = (BTreeSet::new(), Vec::new());
    for gang in &story.gangs {
        let Some(group) = by_name.get(&gang.name) else { continue };
        let Some(severity) = severity(gang.state, gang.reason) else { continue };
        if said.insert((gang.application.clone(), gang.message.clone())) {
            found.push(group.site.finding(severity, "", gang.message.clone()));
        }
    }
    found
}

/// How bad a verdict is. That a spec is wrong was said, field by field; what other objects may mend is a warning.
fn severity(state: &str, reason: &str) -> Option<Severity> {
    let (state, code) = (AppState::from_name(state)?, Code::from_name(reason)?);
    if matches!(code, Code::GangGroupMismatch | Code::AskTooLarge) {
        return Some(Severity::Error);
    }
    let stays = state == AppState::Rejected && code != Code::InvalidSpec || code == Code::WaitingForTaskGroups;
    stays.then_some(Severity::Warning)
}

/// Members in the files that are fewer than start together. Where there are none they come from elsewhere.
fn too_few(key: &Key, group: &Group, pods: &[Pods]) -> Option<Finding> {
    let is_member = |pods: &&Pods| pods.ask.key.namespace == key.namespace && pods.group() == Some(&key.name);
    let members: u64 = pods.iter().filter(is_member).map(|pods| u64::from(pods.count)).sum();
    let min = group.spec.min_member;
    // Whoever declares a gang in another system's words makes its other pods later.
    let are_too_few = !group.min_member.is_empty() && (1..u64::from(min)).contains(&members);
    let message = || format!("{min} start together, and the Pods and Jobs in the files make {members}");
    are_too_few.then(|| group.site.finding(Severity::Warning, group.min_member, message()))
}

fn without_group(pods: &Pods, all: &[Pods], groups: &BTreeMap<Key, Group>) -> Option<Finding> {
    let group = pods.group().filter(|_| pods.are_to_be_placed())?;
    if groups.contains_key(&pods.ask.key.beside(group)) {
        return None;
    }
    Some(match &pods.spoken {
        None => {
            let field = format!("metadata.labels[{}]", names::TASK_GROUP);
            let message = format!("TaskGroup {} is not in the files", pods.ask.key.beside(group));
            pods.finding(Severity::Warning, &field, message)
        }
        Some(Spoken { refers: Some(object), .. }) => {
            let message = format!("{} is not in the files, or is wrong", object.words());
            pods.finding(Severity::Warning, "", message)
        }
        Some(spoken) => {
            let is_beside = |other: &&Pods| other.ask.key.namespace == pods.ask.key.namespace;
            let of_app = all.iter().filter(is_beside).filter_map(|other| other.spoken.as_ref());
            let declared: Vec<_> =
                of_app.filter(|other| other.application == spoken.application && other.is_declaration()).collect();
            if declared.iter().any(|other| other.left_out.contains(group)) {
                return None;
            }
            let then = if declared.is_empty() { "" } else { ": it starts as an ordinary pod of its application" };
            let message = format!("no pod in the files declares its {} task group ({group} here){then}", spoken.system);
            pods.finding(Severity::Warning, "", message)
        }
    })
}
