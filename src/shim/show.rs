//! What users see: status, conditions and events, from the core's reports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, PodCondition};
use k8s_openapi::api::events::v1::Event as KubeEvent;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta, Time};

use super::escape;
use super::ledger::GroupFacts;
use crate::api::names::{GROUP, SCHEDULER, TASK_GROUP, VERSION};
use crate::api::queue::QueueStatus;
use crate::api::task_group::{Counts, Deadlines, TaskGroupStatus};
use crate::core::ids::{Key, Text, Uid};
use crate::core::lifecycle::AppState;
use crate::core::reason::SpecError;
use crate::core::report::{GroupReport, QueueReport};
use crate::core::resources::{Amount, Totals};
use crate::core::time::Wall;

/// Longest message in a condition or status: events allow 1024 characters, and nobody reads more.
const MAX_MESSAGE: usize = 1_000;

/// A wall time as Kubernetes writes it, in whole seconds.
pub fn time(wall: Wall) -> Time {
    Time(jiff::Timestamp::from_second(wall.0.div_euclid(1000)).unwrap_or_default())
}

fn quantities(totals: &Totals) -> BTreeMap<String, Quantity> {
    totals.iter().map(|(name, amount)| (name.to_owned(), Quantity(Amount(name, amount).to_string()))).collect()
}

/// The status of a task group; times of conditions that did not change are kept from its last status.
pub fn group_status(report: &GroupReport, (name, facts): (&Text, &GroupFacts), now: Wall) -> TaskGroupStatus {
    let seats = report.seats;
    TaskGroupStatus {
        observed_generation: report.generation,
        queue: report.queue.to_string(),
        application_state: report.state.name().to_owned(),
        incarnation: report.incarnation,
        reason: report.reason.to_owned(),
        message: escape::bounded(&report.message, MAX_MESSAGE).to_string(),
        placeholder_ask: quantities(&report.ask),
        counts: Counts {
            required: report.required,
            pending: report.pending,
            held: seats.held + seats.releasing,
            placeholders: report.members.placeholders,
            replaced: report.replaced,
            running: report.members.running,
            succeeded: report.members.succeeded,
            failed: report.members.failed,
        },
        deadlines: report.completes.map(|wall| Deadlines { completion: Some(time(wall)) }),
        conditions: group_conditions(report, &facts.status.conditions, now),
        selector: format!("{TASK_GROUP}={name}"),
    }
}

fn group_conditions(report: &GroupReport, old: &[Condition], now: Wall) -> Vec<Condition> {
    use AppState as S;
    let (reason, message) = (report.reason, report.message.as_str());
    let finished = report.state == S::Completed;
    let running = matches!(report.state, S::Running);
    let yes =
        |is: bool, yes: (&'static str, &str)| if is { (yes.0, yes.1.to_owned()) } else { (reason, message.to_owned()) };
    let accepted = (report.accepted, yes(report.accepted, ("Accepted", "the application is in its queue")));
    let quota = (report.past_gate, yes(report.past_gate, ("QuotaReserved", "the whole gang fits the quota")));
    let placed = (report.placed, yes(report.placed, ("Placed", "every member of the gang was bound")));
    let runs = (running, yes(running, (reason, message)));
    let ends = (finished, yes(finished, ("Completed", "the application is complete")));
    [("Accepted", accepted), ("QuotaReserved", quota), ("Placed", placed), ("Running", runs), ("Finished", ends)]
        .into_iter()
        .map(|(kind, (is, (reason, message)))| condition(kind, is, (reason, &message), report.generation, old, now))
        .collect()
}

fn condition(
    kind: &str,
    is: bool,
    (reason, message): (&str, &str),
    generation: i64,
    old: &[Condition],
    now: Wall,
) -> Condition {
    let status = if is { "True" } else { "False" };
    let same = old.iter().find(|old| old.type_ == kind && old.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: escape::bounded(message, MAX_MESSAGE).to_string(),
        observed_generation: Some(generation),
        last_transition_time: same.map_or_else(|| time(now), |old| old.last_transition_time.clone()),
    }
}

/// Whether two statuses differ in what is written at once: state, reasons, conditions; not in numbers.
pub fn is_urgent(old: &TaskGroupStatus, new: &TaskGroupStatus) -> bool {
    let truths = |status: &TaskGroupStatus| {
        status.conditions.iter().map(|c| (c.type_.clone(), c.status.clone())).collect::<Vec<_>>()
    };
    old.application_state != new.application_state
        || old.incarnation != new.incarnation
        || old.observed_generation != new.observed_generation
        || truths(old) != truths(new)
        || old.reason != new.reason
}

/// The status of a queue.
pub fn queue_status(
    report: &QueueReport,
    problems: &[SpecError],
    (generation, in_force): (i64, bool),
    old: &QueueStatus,
    now: Wall,
) -> QueueStatus {
    let headroom = report.headroom.iter();
    QueueStatus {
        observed_generation: generation,
        allocated: quantities(&report.allocated),
        pending: quantities(&report.pending),
        headroom: headroom.map(|(name, left)| (name.to_string(), Quantity(Amount(name, *left).to_string()))).collect(),
        applications: report.applications.iter().map(|(state, count)| (state.name().to_owned(), *count)).collect(),
        conditions: queue_conditions(problems, (generation, in_force), old, now),
    }
}

/// The conditions of a queue: what is written at once when it changes.
pub fn queue_conditions(
    problems: &[SpecError],
    (generation, in_force): (i64, bool),
    old: &QueueStatus,
    now: Wall,
) -> Vec<Condition> {
    let (reason, message) = match problems {
        [] => ("Active", "the queue has a valid place in the tree".to_owned()),
        problems => {
            let text = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            ("InvalidSpec", if in_force { format!("{text}; the last valid spec stays in force") } else { text })
        }
    };
    vec![condition("Active", problems.is_empty(), (reason, &message), generation, &old.conditions, now)]
}

/// `PodScheduled=False` with the pod's reason.
pub fn pod_condition(reason: &str, message: &str, now: Wall) -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(escape::bounded(message, MAX_MESSAGE).to_string()),
        last_transition_time: Some(time(now)),
        ..PodCondition::default()
    }
}

/// Something that users should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `Pod` or `TaskGroup`.
    pub kind: &'static str,
    /// Whose event it is.
    pub key: Key,
    /// Its UID.
    pub uid: Uid,
    /// Whether somebody should act.
    pub warning: bool,
    /// Code.
    pub reason: Text,
    /// Sentence.
    pub message: Text,
}

/// The event of a notice. Its name is unique per process and number, so that a repetition after an unknown outcome is
/// the same event.
pub fn event(notice: &Notice, instance: u64, number: u64, now: Wall) -> KubeEvent {
    let api_version = if notice.kind == "TaskGroup" { format!("{GROUP}/{VERSION}") } else { "v1".to_owned() };
    let stamp = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    let prefix: String = notice.key.name.chars().take(200).collect();
    KubeEvent {
        metadata: ObjectMeta {
            name: Some(format!("{prefix}.{instance:x}.{number:x}")),
            namespace: Some(notice.key.namespace.to_string()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(stamp)),
        action: Some("Scheduling".to_owned()),
        reason: Some(notice.reason.to_string()),
        note: Some(escape::bounded(&notice.message, MAX_MESSAGE).to_string()),
        type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(api_version),
            kind: Some(notice.kind.to_owned()),
            name: Some(notice.key.name.to_string()),
            namespace: Some(notice.key.namespace.to_string()),
            uid: Some(notice.uid.to_string()),
            ..ObjectReference::default()
        }),
        reporting_controller: Some(format!("{GROUP}/{SCHEDULER}")),
        reporting_instance: Some(format!("{SCHEDULER}-{instance:x}")),
        ..KubeEvent::default()
    }
}
