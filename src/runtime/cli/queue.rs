//! `queue`: the tree of queues with use, limits, applications and problems.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Serialize;

use super::Reply;
use super::fetch::{Cluster, FetchError, Found};
use super::list::{DEFAULT_QUEUE, is_within};
use super::output::{self, Tone, json, yaml};
use crate::api::queue::{FirstInLine, LeafStatus, LimitedStatus, Queue, QueueSpec, QueueStatus, SortPolicy};
use crate::runtime::args::{QueueArgs, TableOutput};
use crate::runtime::text::escape;

type Amounts = BTreeMap<String, Quantity>;

/// One queue of the tree.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    /// It is a limit of the queue for this user or group: `user alice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// There is no Queue object: `root`, `root.default`, or a parent that is only named by others.
    implicit: bool,
    /// There is none, and the queue above says what is in use: a namespace's own queue, or one that drains.
    dynamic: bool,
    /// Whether a status says what is in use: without one it is not nothing.
    known: bool,
    allocated: Amounts,
    pending: Amounts,
    max: Amounts,
    guaranteed: Amounts,
    /// How much of that it uses, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    guaranteed_share: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_policy: Option<SortPolicy>,
    stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_in_line: Option<FirstInLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_applications: Option<u32>,
    headroom: Amounts,
    applications: BTreeMap<String, u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The answer to `queue`.
pub(super) async fn queue(args: &QueueArgs) -> Result<Reply, FetchError> {
    let cluster = Cluster::new(&args.cluster).await?;
    let found = cluster.list::<Queue>(None, None).await?;
    let objects = found.len();
    let nodes = tree(found);
    let shown: Vec<_> =
        nodes.iter().filter(|node| args.name.as_ref().is_none_or(|name| is_within(&node.name, name))).collect();
    if let (Some(name), true) = (&args.name, shown.is_empty()) {
        return Ok(Reply::not_found(missing(name, &nodes)));
    }
    let table = matches!(args.output, TableOutput::Table | TableOutput::Wide);
    let note = if table && objects == 0 {
        "No Queue objects: nothing new is limited. What runs in a queue that is gone stays within its last limits."
    } else {
        ""
    };
    Ok(Reply { out: render(&shown, args.output, output::colours()), note: note.to_owned(), code: 0 })
}

fn missing(name: &str, nodes: &[Node]) -> String {
    /// Enough to see the pattern, short enough to read.
    const SHOWN: usize = 10;
    let names: Vec<_> = nodes.iter().take(SHOWN).map(|node| &*node.name).collect();
    let more = if nodes.len() > SHOWN { ", …" } else { "" };
    escape(&format!("Queue {name} does not exist; there are {}{more}", names.join(", "))).into_owned()
}

/// All queues, parents before children, with the implicit ones.
fn tree(found: Vec<Found<Queue>>) -> Vec<Node> {
    let implicit = |name: &str| Node { name: name.to_owned(), implicit: true, ..Node::default() };
    // Ordered by the parts of the path: `root.a.b` comes before `root.a-b`.
    let mut nodes: BTreeMap<Vec<String>, Node> = BTreeMap::new();
    let leaves: Vec<Node> = found.iter().flat_map(leaves).collect();
    let limits: Vec<Node> = found.iter().flat_map(limits).collect();
    for node in found.into_iter().map(Node::from).chain([implicit(DEFAULT_QUEUE)]).chain(leaves) {
        let ancestors = node.name.match_indices('.').map(|(at, _)| implicit(&node.name[..at])).collect::<Vec<_>>();
        for ancestor in ancestors {
            nodes.entry(path(&ancestor.name)).or_insert(ancestor);
        }
        let known = nodes.entry(path(&node.name)).or_default();
        // Of a queue that has an object by now the one above may still say what was so before.
        let is_better = if node.dynamic { known.implicit } else { !node.implicit };
        if is_better || known.name.is_empty() {
            *known = node;
        }
    }
    // No part of a path begins like this, so that they come next after their queue.
    let key =
        |limit: &Node| path(&limit.name).into_iter().chain([format!(" {}", limit.of.clone().unwrap_or_default())]);
    nodes.extend(limits.into_iter().map(|limit| (key(&limit).collect(), limit)));
    nodes.into_values().collect()
}

/// The limits of users and groups of which the status of a queue tells.
fn limits(found: &Found<Queue>) -> Vec<Node> {
    let status = found.object.as_ref().ok().and_then(|queue| queue.status.as_ref());
    let limited = status.into_iter().flat_map(|status| status.limited.iter().cloned());
    limited.map(|limited| Node { name: found.name.clone(), ..Node::from(limited) }).collect()
}

impl From<LimitedStatus> for Node {
    fn from(limited: LimitedStatus) -> Self {
        let LimitedStatus { user, group, max, max_applications, allocated, applications } = limited;
        let user = user.map(|name| format!("user {name}"));
        let of = user.or_else(|| group.map(|name| format!("group {name}")));
        Self { of, known: true, allocated, max, max_applications, applications, ..Self::default() }
    }
}

/// The queues below one of which its status tells, since they have no objects; of those that it leaves out, how many.
fn leaves(above: &Found<Queue>) -> Vec<Node> {
    let status = above.object.as_ref().ok().and_then(|queue| queue.status.as_ref());
    let Some(status) = status else { return Vec::new() };
    let mut leaves: Vec<Node> = status.leaves.iter().cloned().map(Node::from).collect();
    leaves.extend(status.leaves_left_out.map(|more| Node {
        name: format!("{}.…", above.name),
        dynamic: true,
        problem: Some(format!("{more} more are in use")),
        ..Node::default()
    }));
    leaves
}

impl From<LeafStatus> for Node {
    fn from(leaf: LeafStatus) -> Self {
        let LeafStatus {
            name,
            max,
            max_applications,
            guaranteed,
            guaranteed_share,
            allocated,
            first_in_line,
            headroom,
            applications,
            problem,
        } = leaf;
        Self {
            name,
            dynamic: true,
            known: true,
            allocated,
            max,
            max_applications,
            guaranteed,
            guaranteed_share,
            first_in_line,
            headroom,
            applications,
            problem,
            ..Self::default()
        }
    }
}

fn path(name: &str) -> Vec<String> {
    name.split('.').map(str::to_owned).collect()
}

impl From<Found<Queue>> for Node {
    fn from(found: Found<Queue>) -> Self {
        let Found { name, object, .. } = found;
        let queue = match object {
            Ok(queue) => queue,
            Err(problem) => {
                return Self { name, problem: Some(format!("cannot be read: {problem}")), ..Self::default() };
            }
        };
        let problem = problem(&queue);
        let known = queue.status.is_some();
        let status = queue.status.unwrap_or_default();
        let QueueStatus { allocated, pending, headroom, applications, guaranteed_share, first_in_line, .. } = status;
        let QueueSpec { max, guaranteed, sort_policy, stopped, max_applications, .. } = queue.spec;
        Self {
            name,
            of: None,
            implicit: false,
            dynamic: false,
            known,
            allocated,
            pending,
            max,
            guaranteed,
            guaranteed_share,
            sort_policy,
            stopped: stopped.unwrap_or(false),
            first_in_line,
            max_applications,
            headroom,
            applications,
            problem,
        }
    }
}

/// What keeps the queue from being used as its object says.
fn problem(queue: &Queue) -> Option<String> {
    let Some(status) = &queue.status else { return Some("Gangline has said nothing about it".into()) };
    let active = status.conditions.iter().find(|condition| condition.type_ == "Active");
    let wrong = active.filter(|condition| condition.status != "True");
    let stale = status.observed_generation < queue.metadata.generation.unwrap_or_default();
    match wrong {
        Some(condition) => Some(format!("{}: {}", condition.reason, condition.message)),
        None if stale => Some("Gangline has not judged the latest change yet".into()),
        None => None,
    }
}

#[derive(Serialize)]
struct Items<'a> {
    items: &'a [&'a Node],
}

fn render(nodes: &[&Node], form: TableOutput, colours: bool) -> String {
    let wide = match form {
        TableOutput::Table => false,
        TableOutput::Wide => true,
        TableOutput::Json => return json(&Items { items: nodes }),
        TableOutput::Yaml => return yaml(&Items { items: nodes }),
    };
    let mut header =
        vec!["QUEUE", "ALLOCATED", "GUARANTEED", "MAX", "HEADROOM", "APPLICATIONS", "FIRST IN LINE", "PROBLEM"];
    if wide {
        header.splice(5..5, ["PENDING", "MAX APPLICATIONS", "SORT POLICY"]);
    }
    let top = nodes.iter().map(|node| depth(&node.name)).min().unwrap_or_default();
    let rows: Vec<_> = nodes.iter().map(|node| (node.tone(), node.cells(top, wide))).collect();
    output::table(&header, &rows, colours)
}

fn depth(name: &str) -> usize {
    name.matches('.').count()
}

impl Node {
    const fn tone(&self) -> Tone {
        if self.problem.is_some() { Tone::Problem } else { Tone::Plain }
    }

    fn cells(&self, top: usize, wide: bool) -> Vec<String> {
        let how = match (&self.of, self.implicit, self.dynamic) {
            (Some(of), ..) => format!(" ({of})"),
            (None, true, _) => " (implicit)".to_owned(),
            (None, false, true) => " (dynamic)".to_owned(),
            (None, false, false) if self.stopped => " (stopped)".to_owned(),
            (None, false, false) => String::new(),
        };
        let depth = depth(&self.name) - top + usize::from(self.of.is_some());
        let name = format!("{}{}{how}", "  ".repeat(depth), self.name);
        let none = if self.known { "-" } else { "unknown" };
        let (allocated, headroom) = (amounts(&self.allocated, none), amounts(&self.headroom, none));
        let limits = [name, allocated, self.guaranteed_text(), self.max_text(), headroom];
        let most = self.max_applications.map_or("-".to_owned(), |most| most.to_string());
        let policy = self.sort_policy.map_or("-".to_owned(), |policy| json_word(&policy));
        let more = wide.then(|| [amounts(&self.pending, none), most, policy]);
        let applications = self.applications.iter().filter(|(_, number)| **number > 0);
        let applications = joined(applications.map(|(state, number)| format!("{number} {state}")), none);
        let problem = self.problem.clone().unwrap_or_else(|| "-".into());
        let last = [applications, self.first_text(none), problem];
        limits.into_iter().chain(more.into_iter().flatten()).chain(last).collect()
    }

    /// `cpu 4 (75% used)`.
    fn guaranteed_text(&self) -> String {
        let share = self.guaranteed_share.map(|share| format!(" ({share}% used)")).unwrap_or_default();
        format!("{}{share}", amounts(&self.guaranteed, "-"))
    }

    /// `ns/train since 2026-01-01T00:00:00Z, holds`: who is first in line, and whether nothing starts before it.
    fn first_text(&self, none: &str) -> String {
        let Some(FirstInLine { application, since, holds }) = &self.first_in_line else { return none.to_owned() };
        let holds = if *holds { ", holds" } else { "" };
        format!("{application} since {}{holds}", since.0)
    }

    fn max_text(&self) -> String {
        amounts(&self.max, "unlimited")
    }
}

/// A value of an enum as it is written in an object.
fn json_word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

/// `cpu 4, memory 8Gi`.
fn amounts(amounts: &Amounts, none: &str) -> String {
    joined(amounts.iter().map(|(name, Quantity(amount))| format!("{name} {amount}")), none)
}

fn joined(parts: impl Iterator<Item = String>, none: &str) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, spec: &serde_json::Value, status: &serde_json::Value) -> Found<Queue> {
        let object = serde_json::json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "Queue",
            "metadata": {"name": name, "generation": 2}, "spec": spec, "status": status});
        serde_json::from_value::<kube::core::DynamicObject>(object).unwrap().into()
    }

    fn some() -> Vec<Node> {
        tree(vec![
            found("root.data-x", &serde_json::json!({}), &serde_json::Value::Null),
            found(
                "root.data.etl",
                &serde_json::json!({"parent": "root.data"}),
                &serde_json::json!({"observedGeneration": 2,
                "conditions": [{"type": "Active", "status": "False", "reason": "ParentMissing",
                    "message": "root.data is no Queue", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
            ),
            found(
                "root",
                &serde_json::json!({"max": {"cpu": "10", "memory": "20Gi"}, "guaranteed": {"cpu": "8"},
                    "sortPolicy": "StateAware", "maxApplications": 5}),
                &serde_json::json!({"observedGeneration": 2, "allocated": {"cpu": "4"}, "pending": {"cpu": "9"},
                    "guaranteedShare": 50,
                    "firstInLine": {"application": "ml/train", "since": "2026-01-01T00:00:00Z", "holds": true},
                    "headroom": {"cpu": "6", "memory": "20Gi"}, "applications": {"Running": 2, "Accepted": 1, "New": 0}}),
            ),
        ])
    }

    #[test]
    fn the_tree_shows_parents_first_and_what_is_implicit() {
        let nodes = some();
        let expected = "\
QUEUE ALLOCATED GUARANTEED MAX HEADROOM APPLICATIONS FIRST IN LINE PROBLEM
root cpu 4 cpu 8 (50% used) cpu 10, memory 20Gi cpu 6, memory 20Gi 1 Accepted, 2 Running ml/train since 2026-01-01T00:00:00Z, holds -
  root.data (implicit) unknown - unlimited unknown unknown unknown -
    root.data.etl - - unlimited - - - ParentMissing: root.data is no Queue
  root.data-x unknown - unlimited unknown unknown unknown Gangline has said nothing about it
  root.default (implicit) unknown - unlimited unknown unknown unknown -
";
        let shown = render(&nodes.iter().collect::<Vec<_>>(), TableOutput::Table, false);
        let words = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(words(&shown), words(expected), "\n{shown}");
        assert!(shown.contains("\n    root.data.etl "), "indented by depth:\n{shown}");
    }

    /// What has no object is shown as the queue above tells of it.
    #[test]
    fn queues_of_namespaces_are_rows_of_their_own() {
        let status = serde_json::json!({"leavesLeftOut": 3, "leaves": [
            {"name": "root.teams.b", "problem": "yunikorn.apache.org/namespace.maxApps: must be a number"},
            {"name": "root.teams.a", "max": {"cpu": "4"}, "maxApplications": 2, "allocated": {"cpu": "1"},
                "guaranteed": {"cpu": "2"}, "guaranteedShare": 50, "headroom": {"cpu": "3"},
                "firstInLine": {"application": "a/train", "since": "2026-01-01T00:00:00Z", "holds": false},
                "applications": {"Running": 1}},
            {"name": "root.teams.c", "allocated": {"cpu": "9"}},
        ]});
        let nodes = tree(vec![
            found("root.teams", &serde_json::json!({"parent": "root"}), &status),
            found("root.teams.c", &serde_json::json!({"parent": "root.teams"}), &serde_json::Value::Null),
        ]);
        let rows: Vec<_> = nodes.iter().map(|node| (&*node.name, node.dynamic)).collect();
        let expected = [
            ("root", false),
            ("root.default", false),
            ("root.teams", false),
            ("root.teams.a", true),
            ("root.teams.b", true),
            ("root.teams.c", false),
            ("root.teams.…", true),
        ];
        assert_eq!(rows, expected);
        let shown = render(&nodes.iter().collect::<Vec<_>>(), TableOutput::Wide, false);
        let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
        let own: Vec<_> = row("root.teams.a (dynamic)")
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect();
        let first = "a/train since 2026-01-01T00:00:00Z";
        assert_eq!(own[1..5], ["cpu 1", "cpu 2 (50% used)", "cpu 4", "cpu 3"], "{shown}");
        assert_eq!(own[own.len() - 3..], ["1 Running", first, "-"], "{shown}");
        assert!(row("root.teams.b (dynamic)").ends_with("must be a number"), "{shown}");
        assert!(row("root.teams.… (dynamic)").ends_with("3 more are in use"), "{shown}");
    }

    #[test]
    fn a_subtree_starts_at_the_margin() {
        let nodes = some();
        let below: Vec<_> = nodes.iter().filter(|node| is_within(&node.name, "root.data")).collect();
        let shown = render(&below, TableOutput::Wide, false);
        assert!(shown.contains("PENDING  MAX APPLICATIONS  SORT POLICY"), "{shown}");
        let implicit = shown.lines().find(|line| line.contains("(implicit)")).expect("one is implicit");
        assert_eq!(implicit.matches("unknown").count(), 5, "what is in use is nowhere said: {implicit}");
        assert!(shown.contains("\nroot.data (implicit) ") && shown.contains("\n  root.data.etl "), "{shown}");
        assert!(!shown.contains("data-x"), "{shown}");
    }

    #[test]
    fn without_objects_the_implicit_queues_are_shown() {
        let names: Vec<_> = tree(Vec::new()).into_iter().map(|node| (node.name, node.implicit)).collect();
        assert_eq!(names, [("root".to_owned(), true), (DEFAULT_QUEUE.to_owned(), true)]);
    }

    #[test]
    fn json_tells_limits_and_problems() {
        let nodes = some();
        let shown = render(&nodes.iter().collect::<Vec<_>>(), TableOutput::Json, false);
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value["items"][0]["max"]["cpu"], "10");
        assert_eq!(value["items"][0]["maxApplications"], 5);
        let known: Vec<_> = value["items"].as_array().unwrap().iter().map(|item| item["known"] == true).collect();
        assert_eq!(known, [true, false, true, false, false], "without a status nothing is known to be in use");
        assert_eq!(value["items"][2]["problem"], "ParentMissing: root.data is no Queue");
    }

    #[test]
    fn an_unknown_queue_is_answered_with_those_that_exist() {
        let text = missing("root.x\u{1b}", &some());
        let names = "root, root.data, root.data.etl, root.data-x, root.default";
        assert_eq!(text, format!("Queue root.x\\u{{1b}} does not exist; there are {names}"));
    }
}
