//! What users see: status, conditions and events, from the core's reports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, PodCondition};
use k8s_openapi::api::events::v1::Event as KubeEvent;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta, Time};

use super::dialect::pod_group::{LET_IN, PENDING, PodGroupStatus, System};
use super::escape;
use super::ledger::GroupFacts;
use crate::api::names::{GROUP, SCHEDULER, TASK_GROUP, VERSION};
use crate::api::queue::{FirstInLine, LEAVES_MAX, LeafStatus, LimitedStatus, QueueStatus};
use crate::api::task_group::{Counts, Deadlines, TaskGroupStatus};
use crate::api::{LEAF_AMOUNTS_MAX, SHOWN_AMOUNTS_MAX};
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::base::resources::{Amount, Limit, Totals};
use crate::core::codes::{Code, EventType};
use crate::core::event::Style;
use crate::core::model::countdown::Deadline;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::share::Whose;
use crate::core::reason::{SpecError, without_numbers};
use crate::core::show::queues::{FirstReport, LeafReport, LimitedReport, QueueReport};
use crate::core::show::report::GroupReport;
use crate::core::time::Wall;

/// Longest message in a condition or status: events allow 1024 characters, and nobody reads more.
pub(super) const MAX_MESSAGE: usize = 1_000;
/// The condition that says that a timeout has ended the reservation of this life.
pub(super) const TIMED_OUT: &str = "TimedOut";

/// A wall time as Kubernetes writes it, in whole seconds.
pub fn time(wall: Wall) -> Time {
    Time(jiff::Timestamp::from_second(wall.0.div_euclid(1000)).unwrap_or_default())
}

fn quantities(totals: &Totals) -> BTreeMap<String, Quantity> {
    let amounts = totals.iter().take(SHOWN_AMOUNTS_MAX);
    amounts.map(|(name, amount)| (name.to_owned(), Quantity(Amount(name, amount).to_string()))).collect()
}

/// The status of a task group; times of conditions that did not change are kept from its last status.
pub fn group_status(
    report: &GroupReport,
    message: &str,
    (name, facts): (&Text, &GroupFacts),
    now: Wall,
) -> TaskGroupStatus {
    let seats = report.seats;
    TaskGroupStatus {
        observed_generation: report.generation,
        queue: report.queue.to_string(),
        application_state: report.state.name().to_owned(),
        incarnation: report.incarnation,
        reason: report.reason.name().to_owned(),
        message: escape::bounded(message, MAX_MESSAGE).to_string(),
        placeholder_ask: quantities(&report.ask),
        counts: Counts {
            required: report.required,
            pending: report.members.pending,
            held: seats.held + seats.releasing,
            placeholders: report.members.placeholders,
            kept: report.kept,
            replaced: report.replaced,
            scheduled: report.members.scheduled,
            running: report.members.running,
            succeeded: report.ended.succeeded,
            failed: report.ended.failed,
        },
        deadlines: deadlines(report),
        next_deadline: next_deadline(report),
        pods_until: report.timed_out.as_ref().and_then(|timed_out| timed_out.pods_until).map(time),
        unstarted_lives: report.unstarted_lives,
        conditions: group_conditions(report, message, &facts.status.latest().conditions, now),
        selector: format!("{TASK_GROUP}={name}"),
    }
}

/// The status of a PodGroup, in the words of its system's controller (scheduler-plugins `podgroup_controller.go`, Koordinator
/// `controller/podgroup.go`, Volcano `framework/session.go`).
pub fn pod_group_status(system: System, report: &GroupReport) -> PodGroupStatus {
    let (members, ended) = (&report.members, &report.ended);
    let phase = match system {
        System::Koordinator => phase(report, "Scheduled"),
        System::Coscheduling => phase(report, SCHEDULING),
        System::Volcano => volcano_phase(report),
        // It has a condition instead (`dialect/kubernetes.rs`).
        System::Kubernetes => "",
    };
    PodGroupStatus {
        phase: phase.to_owned(),
        scheduled: (system == System::Koordinator).then_some(members.scheduled),
        running: members.running,
        succeeded: ended.succeeded,
        failed: ended.failed,
        condition: None,
    }
}

/// The phase of a PodGroup some of whose pods have no node yet, or do not run.
const SCHEDULING: &str = "Scheduling";

/// How far a gang is in the words of Koordinator and scheduler-plugins, which differ in what they say `once_scheduled`.
fn phase(report: &GroupReport, once_scheduled: &'static str) -> &'static str {
    let (members, ended, min) = (&report.members, &report.ended, report.required);
    let there = members.pending + members.scheduled + ended.succeeded + ended.failed;
    match () {
        () if there < min => PENDING,
        () if ended.succeeded >= min => "Finished",
        () if ended.failed > 0 && ended.failed + members.running + ended.succeeded >= min => "Failed",
        () if members.running + ended.succeeded >= min => "Running",
        () if members.scheduled + ended.succeeded >= min => once_scheduled,
        () => SCHEDULING,
    }
}

/// The same in Volcano's. Once all had a node, whoever starts in the place of a lost member need not run yet. It is never Pending:
/// whoever makes its pods would wait with them again.
fn volcano_phase(report: &GroupReport) -> &'static str {
    let (members, ended, min) = (&report.members, &report.ended, report.required);
    let done = ended.succeeded + ended.failed;
    let goes_on = report.placed && members.running + done > 0;
    match () {
        () if report.placed && members.running > 0 && members.scheduled + ended.succeeded < min => "Unknown",
        () if done >= min && members.pending + members.scheduled == 0 => "Completed",
        () if members.running + done >= min => "Running",
        () if goes_on && members.scheduled + done >= min => "Running",
        () => LET_IN,
    }
}

fn deadlines(report: &GroupReport) -> Option<Deadlines> {
    let of = |what| report.deadlines.of(what).map(time);
    let deadlines = Deadlines {
        admission: of(Deadline::Admission),
        placeholder: of(Deadline::Placeholder),
        wait: of(Deadline::Wait),
        completion: of(Deadline::Completion),
    };
    (deadlines != Deadlines::default()).then_some(deadlines)
}

/// `2026-01-01T00:00:00Z: Killed, pods fail (placeholderTimeoutSeconds)`, of the deadline that comes first.
fn next_deadline(report: &GroupReport) -> Option<String> {
    let next = Deadline::ALL.into_iter().filter_map(|what| Some((report.deadlines.of(what)?, what))).min()?;
    let does = match (next.1, report.state, report.style) {
        (Deadline::Admission | Deadline::Wait, ..) => "Rejected",
        (Deadline::Completion, ..) => "Completed",
        (Deadline::Placeholder, AppState::Accepted, Style::Soft) => "Resuming, pods are placed one by one",
        (Deadline::Placeholder, AppState::Accepted, Style::Hard) => "Killed, pods fail",
        (Deadline::Placeholder, ..) => "seats without a member are given back",
    };
    Some(format!("{}: {does} ({})", next.0, next.1))
}

/// The conditions of a task group: whether each holds, and what is said of it if it does.
fn truths(report: &GroupReport) -> [(&'static str, bool, (Code, &str)); 6] {
    let running = report.state == AppState::Running;
    let finished = matches!(report.state, AppState::Completed | AppState::Killed);
    let timed_out = report.timed_out.as_ref();
    [
        ("Accepted", report.accepted, (Code::Accepted, "the application was taken into its queue")),
        ("QuotaReserved", report.past_gate, (Code::QuotaReserved, "the whole gang fits the quota")),
        ("Placed", report.placed, (Code::Placed, "every member of the gang was bound")),
        // Running gives the reason and message of the group, which say how many members run.
        ("Running", running, (report.reason, "")),
        // As does Finished, unless what is left of it still leaves.
        ("Finished", finished, finish(report)),
        // What it says stays as it is, whatever becomes of the application.
        (TIMED_OUT, timed_out.is_some(), timed_out.map_or((report.reason, ""), |it| (it.what.code(), &it.sentence))),
    ]
}

/// What Finished says: how members ended.
fn finish(report: &GroupReport) -> (Code, &str) {
    let is_said = [Code::SomeFailed, Code::Completed, Code::PlaceholderTimeout].contains(&report.reason);
    match (&report.timed_out, is_said) {
        (_, true) => (report.reason, ""),
        (Some(timed_out), false) if report.state == AppState::Killed => (timed_out.what.code(), &timed_out.sentence),
        (_, false) => (Code::Completed, "the application is complete"),
    }
}

/// A condition that does not hold gives the reason why the group stands where it stands.
fn group_conditions(report: &GroupReport, message: &str, old: &[Condition], now: Wall) -> Vec<Condition> {
    let written = |(kind, is, (reason, text)): (&str, bool, (Code, &str))| {
        let said = if is && !text.is_empty() { (reason, text) } else { (report.reason, message) };
        condition(kind, is, said, report.generation, old, now)
    };
    let mut conditions: Vec<_> = truths(report).map(written).into();
    // A new process takes from the time of this one when the next life may begin.
    let since = report.timed_out.as_ref().map(|timed_out| time(timed_out.since));
    for condition in conditions.iter_mut().filter(|condition| condition.type_ == TIMED_OUT) {
        since.clone().into_iter().for_each(|since| condition.last_transition_time = since);
    }
    conditions
}

fn condition(
    kind: &str,
    is: bool,
    (reason, message): (Code, &str),
    generation: i64,
    old: &[Condition],
    now: Wall,
) -> Condition {
    let status = if is { "True" } else { "False" };
    let same = old.iter().find(|old| old.type_ == kind && old.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.name().to_owned(),
        message: escape::bounded(message, MAX_MESSAGE).to_string(),
        observed_generation: Some(generation),
        last_transition_time: same.map_or_else(|| time(now), |old| old.last_transition_time.clone()),
    }
}

/// Whether the application starts, or starts again.
fn starts(old: &TaskGroupStatus, new: &GroupReport) -> bool {
    let is_another = old.application_state != new.state.name() || old.incarnation != new.incarnation;
    new.state == AppState::Running && is_another
}

/// Whether a timeout has ended something, and the status does not say so yet: what follows from that waits for it.
pub fn times_out(old: &TaskGroupStatus, new: &GroupReport) -> bool {
    let was_timed_out = old.conditions.iter().any(|old| old.type_ == TIMED_OUT && old.status == "True");
    new.timed_out.is_some() && !was_timed_out
}

/// Whether a report differs from the status in what everybody waits for, or a new process has to know: a start, another
/// incarnation, that all are placed, the end. What keeps changing to and fro is none of these.
pub fn is_lasting(old: &TaskGroupStatus, new: &GroupReport) -> bool {
    let was_placed = old.conditions.iter().any(|old| old.type_ == "Placed" && old.status == "True");
    let ends = matches!(new.state, AppState::Completed | AppState::Killed | AppState::Resuming)
        && old.application_state != new.state.name();
    starts(old, new) || ends || times_out(old, new) || old.incarnation != new.incarnation || was_placed != new.placed
}

fn has_deadline(status: &TaskGroupStatus, what: Deadline) -> bool {
    status.deadlines.as_ref().is_some_and(|deadlines| match what {
        Deadline::Admission => deadlines.admission.is_some(),
        Deadline::Placeholder => deadlines.placeholder.is_some(),
        Deadline::Wait => deadlines.wait.is_some(),
        Deadline::Completion => deadlines.completion.is_some(),
    })
}

/// Whether a report differs from the status in something that is written at once: state, reason, conditions, and what
/// its sentence is about; not numbers.
pub fn is_urgent(old: &TaskGroupStatus, new: &GroupReport, message: &str) -> bool {
    let message = escape::bounded(message, MAX_MESSAGE);
    let holds = |kind: &str, is: bool| {
        let status = if is { "True" } else { "False" };
        old.conditions.iter().any(|old| old.type_ == kind && old.status == status)
    };
    old.application_state != new.state.name()
        || old.incarnation != new.incarnation
        || old.observed_generation != new.generation
        || Code::from_name(&old.reason) != Some(new.reason)
        || !without_numbers(&old.message).eq(without_numbers(&message))
        // A new process goes on with a deadline as status has it.
        || Deadline::ALL.into_iter().any(|what| new.deadlines.of(what).is_some() && !has_deadline(old, what))
        || truths(new).iter().any(|(kind, is, _)| !holds(kind, *is))
}

/// The status of a queue.
pub fn queue_status(
    report: &QueueReport,
    problems: &[SpecError],
    (generation, keeps_earlier): (i64, bool),
    old: &QueueStatus,
    now: Wall,
) -> QueueStatus {
    QueueStatus {
        observed_generation: generation,
        allocated: quantities(&report.allocated),
        pending: quantities(&report.pending),
        guaranteed_share: report.share.map(percent),
        first_in_line: report.first.as_ref().map(first_in_line),
        headroom: left(&report.headroom).collect(),
        applications: by_state(&report.applications),
        limited: report.limited.iter().take(LEAVES_MAX).map(limited_status).collect(),
        leaves: report.leaves.iter().take(LEAVES_MAX).map(leaf_status).collect(),
        leaves_left_out: u32::try_from(report.leaves.len().saturating_sub(LEAVES_MAX)).ok().filter(|more| *more > 0),
        conditions: queue_conditions(problems, (generation, keeps_earlier), old, now),
    }
}

fn left(headroom: &[(Text, i128)]) -> impl Iterator<Item = (String, Quantity)> {
    headroom.iter().map(|(name, left)| (name.to_string(), Quantity(Amount(name, *left).to_string())))
}

fn percent(share: u128) -> i64 {
    i64::try_from(share).unwrap_or(i64::MAX)
}

fn first_in_line(first: &FirstReport) -> FirstInLine {
    FirstInLine { application: first.application.to_string(), since: time(first.since), holds: first.holds }
}

fn by_state(applications: &[(AppState, u32)]) -> BTreeMap<String, u32> {
    applications.iter().map(|(state, count)| (state.name().to_owned(), *count)).collect()
}

fn limited_status(limited: &LimitedReport) -> LimitedStatus {
    let (user, group) = match &limited.whose {
        Whose::User(name) => (Some(name.to_string()), None),
        Whose::Group(name) => (None, Some(name.to_string())),
    };
    LimitedStatus {
        user,
        group,
        max: written(&limited.max),
        max_applications: limited.max_applications,
        allocated: quantities(&limited.allocated).into_iter().take(LEAF_AMOUNTS_MAX).collect(),
        applications: by_state(&limited.applications),
    }
}

fn written(limit: &Limit) -> BTreeMap<String, Quantity> {
    limit.iter().map(|(name, amount)| (name.to_owned(), Quantity(Amount(name, amount).to_string()))).collect()
}

fn leaf_status(leaf: &LeafReport) -> LeafStatus {
    let drains = leaf.drains.then(|| "drains: what runs goes on, nothing new is accepted".to_owned());
    let problems: Vec<String> = drains.into_iter().chain(leaf.errors.iter().map(ToString::to_string)).collect();
    let allocated = quantities(&leaf.allocated).into_iter().take(LEAF_AMOUNTS_MAX);
    LeafStatus {
        name: leaf.path.to_string(),
        max: written(&leaf.max),
        max_applications: leaf.max_applications,
        guaranteed: written(&leaf.guaranteed),
        guaranteed_share: leaf.share.map(percent),
        allocated: allocated.collect(),
        first_in_line: leaf.first.as_ref().map(first_in_line),
        headroom: left(&leaf.headroom).take(LEAF_AMOUNTS_MAX).collect(),
        applications: by_state(&leaf.applications),
        problem: (!problems.is_empty()).then(|| escape::bounded(&problems.join("; "), MAX_MESSAGE - 1).to_string()),
    }
}

/// The conditions of a queue: what is written at once when it changes.
pub fn queue_conditions(
    problems: &[SpecError],
    (generation, keeps_earlier): (i64, bool),
    old: &QueueStatus,
    now: Wall,
) -> Vec<Condition> {
    let (reason, message) = match problems {
        [] => (Code::Active, "the queue has a valid place in the tree".to_owned()),
        problems => {
            let text = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            (
                Code::InvalidSpec,
                if keeps_earlier { format!("{text}; the last valid spec stays in force") } else { text },
            )
        }
    };
    vec![condition("Active", problems.is_empty(), (reason, &message), generation, &old.conditions, now)]
}

/// `PodScheduled=False` with the pod's reason.
pub fn pod_condition(reason: Code, message: &str, now: Wall) -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some(reason.name().to_owned()),
        message: Some(escape::bounded(message, MAX_MESSAGE).to_string()),
        last_transition_time: Some(time(now)),
        ..PodCondition::default()
    }
}

/// What events are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod.
    Pod,
    /// A TaskGroup.
    TaskGroup,
    /// Another system's PodGroup.
    PodGroup(System),
}

impl Subject {
    /// Its kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::TaskGroup => "TaskGroup",
            Self::PodGroup(_) => "PodGroup",
        }
    }

    fn api_version(self) -> String {
        match self {
            Self::Pod => "v1".to_owned(),
            Self::TaskGroup => format!("{GROUP}/{VERSION}"),
            Self::PodGroup(system) => system.api_version(),
        }
    }
}

/// Something that users should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Of which kind is what it is about.
    pub subject: Subject,
    /// Whose event it is.
    pub key: Key,
    /// Its UID.
    pub uid: Uid,
    /// Whether somebody should act.
    pub event_type: EventType,
    /// The code or, of a pod, what kube-scheduler says there.
    pub reason: &'static str,
    /// Sentence.
    pub message: Text,
}

/// The event of a notice. Its name is unique per process and number, so that a repetition after an unknown outcome is
/// the same event.
pub fn event(notice: &Notice, instance: u64, number: u64, now: Wall) -> KubeEvent {
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
        reason: Some(notice.reason.to_owned()),
        note: Some(escape::bounded(&notice.message, MAX_MESSAGE).to_string()),
        type_: Some(notice.event_type.name().to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(notice.subject.api_version()),
            kind: Some(notice.subject.kind().to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::countdown::{Each, TimedOut};
    use crate::core::model::group::{Ended, Members};
    use crate::core::model::seat::Tally;

    /// As Kubernetes asks of conditions: the time is that of the last change of this one.
    #[test]
    fn the_time_of_a_condition_is_that_of_its_last_change() {
        let at = |old: &[Condition], kind: &str, is: bool, now: i64| {
            condition(kind, is, (Code::WaitingForQuota, ""), 1, old, Wall(now)).last_transition_time
        };
        let old = [
            condition("Other", true, (Code::WaitingForQuota, ""), 1, &[], Wall(1_000)),
            condition("Placed", false, (Code::WaitingForQuota, ""), 1, &[], Wall(2_000)),
        ];
        assert_eq!(at(&old, "Placed", false, 9_000), time(Wall(2_000)), "as it was");
        assert_eq!(at(&old, "Placed", true, 9_000), time(Wall(9_000)), "changed");
        assert_eq!(at(&old, "New", true, 9_000), time(Wall(9_000)), "new");
    }

    /// What a gang is that waits for members, and the status that says so.
    fn waits() -> (GroupReport, TaskGroupStatus) {
        let report = GroupReport {
            kept: 0,
            state: AppState::Accepted,
            incarnation: 1,
            reason: Code::WaitingForMembers,
            ask: Totals::default(),
            seats: Tally::default(),
            required: 3,
            members: Members::default(),
            ended: Ended::default(),
            replaced: 0,
            accepted: true,
            past_gate: false,
            placed: false,
            deadlines: Default::default(),
            style: Style::Soft,
            timed_out: None,
            unstarted_lives: 0,
            generation: 1,
            queue: "root.default".into(),
        };
        let said = TaskGroupStatus {
            application_state: "Accepted".into(),
            incarnation: 1,
            observed_generation: 1,
            reason: "WaitingForMembers".into(),
            message: "0 of 3".into(),
            conditions: group_conditions(&report, "", &[], Wall(1_000)),
            ..TaskGroupStatus::default()
        };
        (report, said)
    }

    /// ADR 22: of these none waits for a turn; what may change to and fro does.
    #[test]
    fn starts_incarnations_placing_and_the_end_last() {
        let (report, said) = waits();
        let in_state = |state| GroupReport { state, ..report.clone() };
        let lasts = |new: GroupReport| is_lasting(&said, &new);
        let lasting = [AppState::Running, AppState::Completed, AppState::Killed, AppState::Resuming];
        assert!(lasting.into_iter().all(|state| lasts(in_state(state))));
        let timed_out = TimedOut { what: Deadline::Wait, since: Wall(1_000), pods_until: None, sentence: "why".into() };
        assert!(lasts(GroupReport { timed_out: Some(timed_out), ..in_state(AppState::Rejected) }));
        assert!(lasts(GroupReport { incarnation: 2, ..report.clone() }));
        assert!(lasts(GroupReport { placed: true, ..report.clone() }));
        assert!(!lasts(in_state(AppState::Rejected)) && !lasts(in_state(AppState::Waiting)));
        assert!(!lasts(GroupReport {
            reason: Code::WaitingForQuota,
            generation: 2,
            past_gate: true,
            ..report.clone()
        }));
        let running = TaskGroupStatus { application_state: "Running".into(), ..said.clone() };
        assert!(!starts(&running, &in_state(AppState::Running)));
        assert!(starts(&running, &GroupReport { incarnation: 2, ..in_state(AppState::Running) }), "it starts again");
    }

    /// 01, 1.7: the deadline that comes first, and what it does to a gang that stands there and has this style.
    #[test]
    fn the_next_deadline_says_what_it_does() {
        let (report, _) = waits();
        let next = |state, style, of: &[(Deadline, i64)]| {
            let each = Default::default();
            let deadlines = of.iter().fold(each, |all: Each<_>, (what, at)| all.with(*what, Some(Wall(1_000 * at))));
            next_deadline(&GroupReport { state, style, deadlines, ..report.clone() }).unwrap_or_default()
        };
        let (accepted, running) = (AppState::Accepted, AppState::Running);
        let holds = [(Deadline::Placeholder, 2), (Deadline::Wait, 3)];
        assert!(next(accepted, Style::Hard, &holds).starts_with("1970-01-01T00:00:02Z: Killed, pods fail"));
        assert!(next(accepted, Style::Soft, &holds).contains("Resuming, pods are placed one by one"));
        assert!(next(running, Style::Hard, &holds).contains("are given back (placeholderTimeoutSeconds)"));
        let waits = [(Deadline::Placeholder, 4), (Deadline::Wait, 3)];
        assert_eq!(next(accepted, Style::Soft, &waits), "1970-01-01T00:00:03Z: Rejected (waitTimeoutSeconds)");
        assert_eq!(next(accepted, Style::Soft, &[]), "");
    }

    /// 02, 2.6: each of these alone is written at once, a number that changed is not.
    #[test]
    fn state_incarnation_generation_reason_and_conditions_are_written_at_once() {
        let (report, said) = waits();
        let says = |new: GroupReport| is_urgent(&said, &new, "1 of 3");
        assert!(!says(report.clone()));
        assert!(!is_urgent(&said, &report, "2 of 3") && is_urgent(&said, &report, "2 of 3 lack cpu"), "another cause");
        assert!(!says(GroupReport { replaced: 1, required: 9, ..report.clone() }));
        assert!(says(GroupReport { state: AppState::Rejected, ..report.clone() }));
        assert!(says(GroupReport { incarnation: 2, ..report.clone() }));
        assert!(says(GroupReport { generation: 2, ..report.clone() }));
        assert!(says(GroupReport { reason: Code::WaitingForQuota, ..report.clone() }));
        let mut ending = report.clone();
        ending.deadlines.set(Deadline::Wait, Some(Wall(1_000)));
        assert!(says(ending), "a new process goes on with the deadline");
        assert!(says(GroupReport { past_gate: true, ..report }));
    }

    /// What `kubectl describe` and `kubectl events --for` look for, and what the server asks of an event.
    #[test]
    fn an_event_names_whom_it_is_about_and_who_says_it() {
        let notice = Notice {
            subject: Subject::TaskGroup,
            key: Key::new("data", "executors"),
            uid: Uid::new("uid-1"),
            event_type: EventType::Warning,
            reason: Code::InvalidSpec.name(),
            message: "why".into(),
        };
        let found = serde_json::to_value(event(&notice, 0xa, 0x1f, Wall(2_000))).expect("it is written");
        let expected = serde_json::json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "executors.a.1f", "namespace": "data"},
            "regarding": {"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup", "namespace": "data", "name": "executors",
                          "uid": "uid-1"},
            "type": "Warning", "reason": "InvalidSpec", "action": "Scheduling", "note": "why",
            "eventTime": "1970-01-01T00:00:02.000000Z",
            "reportingController": "gangline.dev/gangline", "reportingInstance": "gangline-a",
        });
        assert_eq!(found, expected);
    }
}
