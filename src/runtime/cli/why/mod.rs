//! `why`: one sentence about a pod or a gang, with counts and what it waits for.

mod gang;
mod group;
mod pod;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;

use super::fetch::{Cluster, FetchError, Found};
use super::output::{json, yaml};
use super::{NO, Reply};
use crate::api::task_group::{Counts, TaskGroup};
use crate::runtime::args::{PlainOutput, WhyArgs};
use crate::runtime::text::escape;
use gang::Gang;

/// What is known about one object, for people and for programs.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    namespace: String,
    name: String,
    /// Of a group: its application's state. Of a pod: see [`pod::answer`].
    state: String,
    reason: String,
    /// The sentence.
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<Waiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seat: Option<String>,
    /// What to do or to look at next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
    /// The gang that the pod belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Box<Self>>,
    /// Gangline does not schedule the pod.
    #[serde(skip)]
    foreign: bool,
}

/// The condition that stands in the way.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    /// Type of the condition.
    condition: String,
    reason: String,
    message: String,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'a> {
    Pod(&'a str),
    Group(&'a str),
    /// Whichever has the name.
    Either(&'a str),
}

impl<'a> Target<'a> {
    fn parse(text: &'a str) -> Result<Self, FetchError> {
        match text.split_once('/') {
            None if !text.is_empty() => Ok(Self::Either(text)),
            Some(("po" | "pod" | "pods", name)) if is_name(name) => Ok(Self::Pod(name)),
            Some(("tg" | "taskgroup" | "taskgroups" | "taskgroups.gangline.dev", name)) if is_name(name) => {
                Ok(Self::Group(name))
            }
            _ => Err(FetchError::Usage(format!(
                "`{}` is neither pod/NAME, taskgroup/NAME (tg/NAME) nor NAME; a namespace is given with -n",
                escape(text)
            ))),
        }
    }

    const fn name(self) -> &'a str {
        match self {
            Self::Pod(name) | Self::Group(name) | Self::Either(name) => name,
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/')
}

/// The answer to `why`.
pub(super) async fn why(args: &WhyArgs) -> Result<Reply, FetchError> {
    let target = Target::parse(&args.target)?;
    let cluster = Cluster::new(&args.cluster).await?;
    let namespace = args.namespace.clone().unwrap_or_else(|| cluster.namespace.clone());
    let (pod, group) = tokio::join!(cluster.pod(&namespace, target.name()), cluster.get(&namespace, target.name()));
    let now = Timestamp::now();
    let answer = match choose(target, pod, group)? {
        Chosen::Pod(pod) => {
            let gang = Gang::of(&cluster, &pod).await;
            pod::answer(&pod, &gang, &args.scheduler_names, now)
        }
        Chosen::Group(group, also) => {
            let mut answer = group::answer(&group, now);
            answer.hints.extend(also);
            answer
        }
        Chosen::Neither(also) => return Ok(Reply::not_found(missing(target, &namespace, also))),
    };
    Ok(reply(&answer, args.output))
}

/// The object that is answered about.
enum Chosen {
    Pod(Box<Pod>),
    /// With a hint.
    Group(Box<TaskGroup>, Option<String>),
    /// With what of the other type has the name.
    Neither(Option<&'static str>),
}

type Got<K> = Result<Option<Found<K>>, FetchError>;

/// An error counts only where the answer depends on it: who may read pods only still gets answers about pods.
fn choose(target: Target<'_>, pod: Got<Pod>, group: Got<TaskGroup>) -> Result<Chosen, FetchError> {
    let readable =
        |problem: String| FetchError::Usage(format!("{} cannot be read: {}", target.name(), escape(&problem)));
    match (target, pod, group) {
        (Target::Pod(_), Ok(Some(pod)), _) | (Target::Either(_), Ok(Some(pod)), Ok(None) | Err(_)) => {
            Ok(Chosen::Pod(pod.object.map_err(readable)?))
        }
        (Target::Group(_), _, Ok(Some(group))) | (Target::Either(_), Ok(None) | Err(_), Ok(Some(group))) => {
            Ok(Chosen::Group(group.object.map_err(readable)?, None))
        }
        (Target::Either(name), Ok(Some(_)), Ok(Some(group))) => {
            let hint = format!("A pod has the same name: gangline why pod/{name}");
            Ok(Chosen::Group(group.object.map_err(readable)?, Some(hint)))
        }
        (Target::Pod(_) | Target::Either(_), Err(error), _) | (Target::Group(_) | Target::Either(_), _, Err(error)) => {
            Err(error)
        }
        (Target::Pod(_), Ok(None), group) => Ok(Chosen::Neither(matches!(group, Ok(Some(_))).then_some("taskgroup"))),
        (Target::Group(_), pod, Ok(None)) => Ok(Chosen::Neither(matches!(pod, Ok(Some(_))).then_some("pod"))),
        (Target::Either(_), Ok(None), Ok(None)) => Ok(Chosen::Neither(None)),
    }
}

fn missing(target: Target<'_>, namespace: &str, also: Option<&str>) -> String {
    let what = match target {
        Target::Pod(name) => format!("Pod {name}"),
        Target::Group(name) => format!("TaskGroup {name}"),
        Target::Either(name) => format!("Neither a pod nor a TaskGroup {name}"),
    };
    let verb = if matches!(target, Target::Either(_)) { "exists" } else { "does not exist" };
    let hint = match also {
        Some(kind) => format!("A {kind} has that name: gangline why {kind}/{} -n {namespace}", target.name()),
        None => "For another namespace use -n; `gangline list -A` shows every gang.".to_owned(),
    };
    escape(&format!("{what} {verb} in namespace {namespace}. {hint}")).into_owned()
}

fn reply(answer: &Answer, output: PlainOutput) -> Reply {
    let out = match output {
        PlainOutput::Table => words(answer),
        PlainOutput::Json => json(answer),
        PlainOutput::Yaml => yaml(answer),
    };
    Reply { out, note: String::new(), code: if answer.foreign { NO } else { 0 } }
}

/// The sentence, the gang's sentence, numbers and hints: a line each.
fn words(answer: &Answer) -> String {
    let of_one = |answer: &Answer| {
        let lines = std::iter::once(answer.message.clone()).chain(numbers(answer)).chain(answer.hints.clone());
        lines.map(|line| format!("{}\n", escape(&line))).collect::<String>()
    };
    of_one(answer) + &answer.group.as_deref().map(of_one).unwrap_or_default()
}

fn numbers(answer: &Answer) -> Option<String> {
    let counts = answer.counts?;
    let seen = [
        (counts.running, "running"),
        (counts.scheduled.saturating_sub(counts.running), "with a node and not running"),
        (counts.held, "held by placeholders"),
        (counts.pending, "pending"),
        (counts.succeeded, "succeeded"),
        (counts.failed, "failed"),
    ];
    let seen: Vec<_> = seen.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let members = if seen.is_empty() { "none exists yet".to_owned() } else { seen.join(", ") };
    let queue = answer.queue.as_deref().unwrap_or_default();
    let application = answer.application.as_deref().unwrap_or_default();
    Some(format!("  {} must start together: {members}. Queue {queue}, application {application}.", counts.required))
}

#[cfg(test)]
mod tests;
