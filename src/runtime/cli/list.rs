//! `list`: gangs by queue, those submitted first on top.

use jiff::Timestamp;
use serde::Serialize;

use super::Reply;
use super::fetch::{Cluster, FetchError, Found};
use super::output::{self, Tone, json, yaml};
use crate::api::task_group::TaskGroup;
use crate::runtime::args::{ListArgs, TableOutput};
use crate::runtime::text::age;

/// Where TaskGroups without a queue go.
pub(super) const DEFAULT_QUEUE: &str = "root.default";
/// State of a TaskGroup that the scheduler has said nothing about.
pub(in crate::runtime) const UNSEEN: &str = "Unseen";
/// State of a TaskGroup that cannot be read.
pub(in crate::runtime) const UNREADABLE: &str = "Unreadable";

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Gang {
    namespace: String,
    name: String,
    application: String,
    queue: String,
    min: u32,
    held: u32,
    running: u32,
    pending: u32,
    state: String,
    reason: String,
    message: String,
    created: Option<Timestamp>,
}

/// The answer to `list`.
pub(super) async fn list(args: &ListArgs) -> Result<Reply, FetchError> {
    let cluster = Cluster::new(&args.cluster).await?;
    let namespace = args.namespace.clone().unwrap_or_else(|| cluster.namespace.clone());
    let namespace = (!args.all_namespaces).then_some(&*namespace);
    let found = cluster.list::<TaskGroup>(namespace, args.selector.as_deref()).await?;
    let gangs = select(found.into_iter().map(Gang::from).collect(), args);
    if gangs.is_empty() && matches!(args.output, TableOutput::Table | TableOutput::Wide) {
        let place = namespace.map_or("any namespace".to_owned(), |name| format!("namespace {name} (-A for all)"));
        let chosen = args.state.is_some() || args.queue.is_some() || args.selector.is_some();
        let which = if chosen { "No such gangs" } else { "No gangs" };
        return Ok(Reply { note: format!("{which} found in {place}."), ..Reply::default() });
    }
    Ok(Reply::done(render(&gangs, args, Timestamp::now(), output::colours())))
}

impl From<Found<TaskGroup>> for Gang {
    fn from(found: Found<TaskGroup>) -> Self {
        let Found { namespace, name, object } = found;
        match object {
            Ok(group) => Self::of(namespace, name, &group),
            Err(problem) => Self { state: UNREADABLE.into(), message: problem, ..Self::unknown(namespace, name) },
        }
    }
}

impl Gang {
    fn unknown(namespace: String, name: String) -> Self {
        let (application, queue, state) = (String::new(), String::new(), UNSEEN.to_owned());
        let (reason, message, created) = (String::new(), String::new(), None);
        let (min, held, running, pending) = (0, 0, 0, 0);
        Self { namespace, name, application, queue, min, held, running, pending, state, reason, message, created }
    }

    fn of(namespace: String, name: String, group: &TaskGroup) -> Self {
        let status = group.status.clone().unwrap_or_default();
        Self {
            application: group.spec.application_id.clone().unwrap_or_else(|| name.clone()),
            queue: queue_of(group),
            min: group.spec.min_member,
            held: status.counts.held,
            running: status.counts.running,
            pending: status.counts.pending,
            state: state(group).to_owned(),
            reason: status.reason,
            message: status.message,
            created: group.metadata.creation_timestamp.as_ref().map(|time| time.0),
            ..Self::unknown(namespace, name)
        }
    }
}

/// The application's state as the status tells it.
pub(super) fn state(group: &TaskGroup) -> &str {
    let state = group.status.as_ref().map_or("", |status| &status.application_state);
    if state.is_empty() { UNSEEN } else { state }
}

/// The queue in which a gang is counted, as far as Gangline has said so, else the one that it names: a spec that is edited
/// while the gang runs waits.
pub(super) fn queue_of(group: &TaskGroup) -> String {
    let said = group.status.as_ref().map(|status| status.queue.clone()).filter(|queue| !queue.is_empty());
    said.or_else(|| group.spec.queue.clone()).unwrap_or_else(|| DEFAULT_QUEUE.into())
}

/// Whether `queue` is `above` or lies below it.
pub(super) fn is_within(queue: &str, above: &str) -> bool {
    queue.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Filters, and sorts by queue, then in the order of submission.
fn select(mut gangs: Vec<Gang>, args: &ListArgs) -> Vec<Gang> {
    let in_queue = |gang: &Gang| args.queue.as_ref().is_none_or(|queue| is_within(&gang.queue, queue));
    let in_state = |gang: &Gang| args.state.as_ref().is_none_or(|state| gang.state.eq_ignore_ascii_case(state));
    gangs.retain(|gang| in_queue(gang) && in_state(gang));
    let key = |gang: &Gang| (gang.queue.clone(), gang.created, gang.namespace.clone(), gang.name.clone());
    gangs.sort_by_cached_key(key);
    gangs
}

#[derive(Serialize)]
struct Items<'a> {
    items: &'a [Gang],
}

fn render(gangs: &[Gang], args: &ListArgs, now: Timestamp, colours: bool) -> String {
    let wide = match args.output {
        TableOutput::Table => false,
        TableOutput::Wide => true,
        TableOutput::Json => return json(&Items { items: gangs }),
        TableOutput::Yaml => return yaml(&Items { items: gangs }),
    };
    let mut header = vec!["NAME", "APPLICATION", "QUEUE", "MIN", "HELD", "RUNNING", "STATE", "REASON", "AGE"];
    if args.all_namespaces {
        header.insert(0, "NAMESPACE");
    }
    if wide {
        header.push("MESSAGE");
    }
    let rows: Vec<_> = gangs.iter().map(|gang| (gang.tone(), gang.cells(args.all_namespaces, wide, now))).collect();
    output::table(&header, &rows, colours)
}

impl Gang {
    fn tone(&self) -> Tone {
        match &*self.state {
            "Running" | "Completed" => Tone::Plain,
            "Rejected" | UNREADABLE => Tone::Problem,
            _ => Tone::Waiting,
        }
    }

    fn cells(&self, namespaced: bool, wide: bool, now: Timestamp) -> Vec<String> {
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let namespace = namespaced.then(|| self.namespace.clone());
        let names = [self.name.clone(), or_dash(&self.application), or_dash(&self.queue)];
        let numbers = [self.min, self.held, self.running].map(|number| number.to_string());
        let words = [self.state.clone(), or_dash(&self.reason)];
        let age = self.created.map_or("-".to_owned(), |created| age(created, now));
        let message = wide.then(|| or_dash(&self.message));
        namespace.into_iter().chain(names).chain(numbers).chain(words).chain([age]).chain(message).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T01:00:00Z";

    fn found(name: &str, created: &str, object: &serde_json::Value) -> Found<TaskGroup> {
        let mut all = serde_json::json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup",
            "metadata": {"name": name, "namespace": "data", "creationTimestamp": created}});
        all.as_object_mut().unwrap().extend(object.as_object().unwrap().clone());
        serde_json::from_value::<kube::core::DynamicObject>(all).unwrap().into()
    }

    fn three() -> Vec<Gang> {
        let old = found(
            "old",
            "2026-01-01T00:10:00Z",
            &serde_json::json!({
            "spec": {"minMember": 4, "minResource": {"cpu": "1"}, "queue": "root.edited", "applicationId": "etl"},
            "status": {"queue": "root.b", "applicationState": "Accepted", "reason": "WaitingForQuota", "counts": {"held": 2, "running": 1},
                "message": "waits for 3 cpu of queue root.b\u{1b}[2J"}}),
        );
        let young = found(
            "young",
            "2026-01-01T00:59:30Z",
            &serde_json::json!({
            "spec": {"minMember": 1, "minResource": {}, "queue": "root.b"}}),
        );
        let bad = found("bad", "2026-01-01T00:00:00Z", &serde_json::json!({"spec": {"minMember": -1}}));
        [young, old, bad].into_iter().map(Gang::from).collect()
    }

    fn show(args: &ListArgs) -> String {
        render(&select(three(), args), args, NOW.parse().unwrap(), false)
    }

    #[test]
    fn gangs_are_listed_by_queue_and_submission() {
        let expected = "\
NAME   APPLICATION  QUEUE   MIN  HELD  RUNNING  STATE       REASON           AGE
bad    -            -       0    0     0        Unreadable  -                -
old    etl          root.b  4    2     1        Accepted    WaitingForQuota  50m
young  young        root.b  1    0     0        Unseen      -                30s
";
        assert_eq!(show(&ListArgs::default()), expected);
    }

    #[test]
    fn wide_and_all_namespaces_add_columns_and_show_no_control_character() {
        let args = ListArgs {
            output: TableOutput::Wide,
            all_namespaces: true,
            state: Some("accepted".into()),
            ..Default::default()
        };
        let expected = "\
NAMESPACE  NAME  APPLICATION  QUEUE   MIN  HELD  RUNNING  STATE     REASON           AGE  MESSAGE
data       old   etl          root.b  4    2     1        Accepted  WaitingForQuota  50m  waits for 3 cpu of queue root.b\\u{1b}[2J
";
        assert_eq!(show(&args), expected);
    }

    #[test]
    fn a_queue_means_itself_and_all_below_it() {
        for (queue, names) in [("root", 2), ("root.b", 2), ("root.bb", 0), ("root.", 0), ("root.b.c", 0)] {
            let args = ListArgs { queue: Some(queue.into()), ..ListArgs::default() };
            assert_eq!(select(three(), &args).len(), names, "{queue}");
        }
    }

    #[test]
    fn json_has_every_field() {
        let args = ListArgs { output: TableOutput::Json, queue: Some("root.b".into()), ..ListArgs::default() };
        let value: serde_json::Value = serde_json::from_str(&show(&args)).unwrap();
        let expected = serde_json::json!({"namespace": "data", "name": "old", "application": "etl", "queue": "root.b",
            "min": 4, "held": 2, "running": 1, "pending": 0, "state": "Accepted", "reason": "WaitingForQuota",
            "message": "waits for 3 cpu of queue root.b\u{1b}[2J", "created": "2026-01-01T00:10:00Z"});
        assert_eq!(value["items"][0], expected);
        assert_eq!(value["items"].as_array().map(Vec::len), Some(2));
    }
}
