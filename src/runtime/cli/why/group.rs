//! Why a gang runs or not, from its TaskGroup's status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::super::list::{DEFAULT_QUEUE, UNSEEN, queue_of, state};
use super::{Answer, Waiting};
use crate::api::task_group::{Counts, Reservation, TaskGroup, TaskGroupStatus};
use crate::core::codes::Code;
use crate::runtime::text::age;

/// The conditions on the way to a running gang, in their order.
const STEPS: [&str; 4] = ["Accepted", "QuotaReserved", "Placed", "Running"];

/// How to find out whether anybody schedules.
const IS_IT_RUNNING: &str = "Is Gangline running? kubectl get pods -A -l app.kubernetes.io/name=gangline";

/// So long after an object was made, silence is no sign: a reason is written when it has lasted a moment.
const NEW_SECONDS: u64 = 10;

/// Members of one job come within moments.
const LONG_SECONDS: i64 = 60;

/// What helps where Gangline has said nothing about an object.
pub(super) fn silence_hint(created: Option<&Time>, now: Timestamp) -> String {
    // Clocks differ by a little.
    let is_new = created.is_some_and(|time| now.as_second().abs_diff(time.0.as_second()) < NEW_SECONDS);
    if is_new { "It is new: ask again in some seconds.".to_owned() } else { IS_IT_RUNNING.to_owned() }
}

/// The answer about a TaskGroup.
pub(super) fn answer(group: &TaskGroup, now: Timestamp) -> Answer {
    let (name, namespace) =
        (group.metadata.name.clone().unwrap_or_default(), group.metadata.namespace.clone().unwrap_or_default());
    let status = group.status.clone().unwrap_or_default();
    let waiting_for = waiting_for(&status);
    let base = Answer {
        kind: "TaskGroup",
        state: state(group).to_owned(),
        application: Some(group.spec.application_id.clone().unwrap_or_else(|| name.clone())),
        queue: Some(queue_of(group)),
        hints: hints(group, &status, now),
        namespace,
        name,
        ..Answer::default()
    };
    if base.state == UNSEEN {
        let message = unseen(group, now);
        return Answer { reason: UNSEEN.into(), message, ..base };
    }
    let message = sentence(&base, &status, waiting_for.as_ref());
    let counts = Counts { required: group.spec.min_member, ..status.counts };
    Answer { reason: status.reason, message, waiting_for, counts: Some(counts), ..base }
}

/// What helps where the rest of a Direct gang does not come while some of it is there.
const IN_A_CIRCLE: &str = "If what makes the other members first waits until these run, both wait for ever: with reservation \
                           Placeholder the gang starts with the members that are there, and keeps places for the others.";

/// Whether some members of a Direct gang have waited for the others for long.
fn waits_in_a_circle(group: &TaskGroup, status: &TaskGroupStatus, now: Timestamp) -> bool {
    let created = group.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let is_old = created.is_some_and(|time| now.duration_since(time).as_secs() >= LONG_SECONDS);
    let waits = Code::from_name(&status.reason) == Some(Code::WaitingForMembers) && status.counts.pending > 0;
    group.spec.reservation == Reservation::Direct && waits && is_old
}

/// Whether an application that names no queue has another than everybody.
fn is_by_namespace(group: &TaskGroup, status: &TaskGroupStatus) -> bool {
    group.spec.queue.is_none() && !status.queue.is_empty() && status.queue != DEFAULT_QUEUE
}

/// By what rule it has that queue.
pub(super) fn by_namespace(namespace: Option<&str>, queue: &str) -> String {
    let namespace = namespace.unwrap_or_default();
    let own = queue.rsplit_once('.').filter(|(_, last)| *last == namespace);
    let chosen = own.map_or(queue, |(above, _)| above);
    format!(
        "It names no queue: {queue} is that of namespace {namespace}, by its labels and the namespaceSelector of {chosen} \
         (kubectl get namespace {namespace} --show-labels, kubectl get gq {chosen} -o yaml)."
    )
}

fn unseen(group: &TaskGroup, now: Timestamp) -> String {
    let name = group.metadata.name.as_deref().unwrap_or_default();
    let namespace = group.metadata.namespace.as_deref().unwrap_or_default();
    let since = group.metadata.creation_timestamp.as_ref().map(|time| age(time.0, now));
    let since = since.map_or(String::new(), |age| format!(" in the {age} since it was created"));
    format!("TaskGroup {namespace}/{name}: Gangline has said nothing about it{since}.")
}

/// The first step that is not done.
fn waiting_for(status: &TaskGroupStatus) -> Option<Waiting> {
    let find = |step: &&str| status.conditions.iter().find(|condition| condition.type_ == **step);
    let open = STEPS.iter().filter_map(find).find(|condition| condition.status != "True");
    // Of a gang that is over no step is waited for.
    let over = ["Completed", "Killed"].contains(&&*status.application_state);
    open.filter(|_| !over).map(|condition: &Condition| Waiting {
        condition: condition.type_.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    })
}

fn sentence(base: &Answer, status: &TaskGroupStatus, waiting: Option<&Waiting>) -> String {
    let words = [&*status.message, waiting.map_or("", |waiting| &waiting.message)];
    let words = words.into_iter().find(|words| !words.is_empty());
    let reason = if status.reason.is_empty() { String::new() } else { format!(" ({})", status.reason) };
    let head = format!("TaskGroup {}/{} is {}{reason}", base.namespace, base.name, base.state);
    match words.map(|words| words.trim_end_matches('.')) {
        Some(words) => format!("{head}: {words}."),
        None => format!("{head}."),
    }
}

fn hints(group: &TaskGroup, status: &TaskGroupStatus, now: Timestamp) -> Vec<String> {
    let generation = group.metadata.generation.unwrap_or_default();
    let unseen = state(group) == UNSEEN;
    let stale = !unseen && status.observed_generation < generation;
    let next = status.next_deadline.clone();
    let timed_out = status.conditions.iter().any(|one| one.type_ == "TimedOut" && one.status == "True");
    let hints = [
        (next.is_some() && !unseen, format!("Deadline: {}.", next.unwrap_or_default())),
        (unseen, silence_hint(group.metadata.creation_timestamp.as_ref(), now)),
        (
            stale,
            format!(
                "This is about generation {} of the object; Gangline has not judged generation {generation} yet.",
                status.observed_generation
            ),
        ),
        (
            status.application_state == "Rejected" && !timed_out,
            "It is judged again when what it was judged by changes: its spec, a Queue on its path, the quota or the labels of \
             its namespace."
                .to_owned(),
        ),
        (
            status.application_state == "Rejected" && timed_out,
            "It is judged again when its spec changes, or its pods are gone and others come.".to_owned(),
        ),
        (group.metadata.deletion_timestamp.is_some(), "It is being deleted.".to_owned()),
        (waits_in_a_circle(group, status, now), IN_A_CIRCLE.to_owned()),
        (is_by_namespace(group, status), by_namespace(group.metadata.namespace.as_deref(), &status.queue)),
    ];
    hints.into_iter().filter(|(applies, _)| *applies).map(|(_, hint)| hint).collect()
}
