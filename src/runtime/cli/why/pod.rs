//! Why a pod runs or not: where it is, what its conditions say, and what its gang waits for.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};

use super::super::list::DEFAULT_QUEUE;
use super::group;
use super::{Answer, Gang, Waiting};
use crate::api::names;
use crate::core::base::ids::Text;
use crate::core::codes::Code;
use crate::core::event::Mark;
use crate::runtime::text::age;
use crate::shim::dialect::{Dialect, WAIT_TIMEOUT_SECONDS};
use crate::shim::mark;
use crate::shim::pod::{belongs_to, binding, in_other_words, label};

/// Said of a pod whose mark somebody changed.
const UNREADABLE_MARK: &str = "Its annotation gangline.dev/binding cannot be read: it counts as if it were not there.";

/// Where a pod stands, as far as a reader outside can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// Another scheduler's.
    Foreign,
    /// Succeeded or Failed.
    Finished,
    /// Has a node.
    Bound,
    /// Is deleted before it got a node.
    Deleting,
    /// Has scheduling gates.
    Gated,
    /// Waits for a node.
    Pending,
}

/// Whether a pod that waits for this waits for no TaskGroup: none is made before it is another pod, or it is an ordinary pod of
/// its application.
fn waits_for_something_else(reason: &str) -> bool {
    Code::from_name(reason).is_some_and(|code| code != Code::TaskGroupNotFound)
}

impl Stand {
    fn of(pod: &Pod, served: &[String]) -> Self {
        let spec = pod.spec.as_ref();
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let scheduler = spec.and_then(|spec| spec.scheduler_name.as_ref());
        let gated = spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty());
        match () {
            () if !scheduler.is_some_and(|name| served.contains(name)) && !is_written_by_us(pod) => Self::Foreign,
            () if matches!(phase, Some("Succeeded" | "Failed")) => Self::Finished,
            () if spec.and_then(|spec| spec.node_name.as_ref()).is_some() => Self::Bound,
            () if pod.metadata.deletion_timestamp.is_some() => Self::Deleting,
            () if gated => Self::Gated,
            () => Self::Pending,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Foreign => "Foreign",
            Self::Finished => "Finished",
            Self::Bound => "Bound",
            Self::Deleting => "Deleting",
            Self::Gated => "Gated",
            Self::Pending => "Pending",
        }
    }
}

/// Whether the pod shows that a Gangline serves its scheduler's name, whatever names this command was told: it was bound
/// by one, or has a reason that no other scheduler gives.
fn is_written_by_us(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut reasons = conditions.into_iter().flatten().filter(|condition| condition.type_ == "PodScheduled");
    let is_ours = |reason: &str| Code::from_name(reason).is_some_and(|code| !code.is_unschedulable());
    binding(pod).is_some() || reasons.any(|condition| condition.reason.as_deref().is_some_and(is_ours))
}

/// Task group and application of a pod; of a placeholder by its labels, which make it one.
pub(super) fn belonging(pod: &Pod) -> (Option<Text>, Option<Text>) {
    let mark = binding(pod).filter(|_| label(pod, names::PLACEHOLDER) != Some("true"));
    // Which systems' words the scheduler understands this command is not told: all are read.
    belongs_to(pod, mark.as_ref(), in_other_words(pod, Dialect::ALL, WAIT_TIMEOUT_SECONDS).as_ref())
}

/// The answer about a pod.
pub(super) fn answer(pod: &Pod, gang: &Gang, served: &[String], now: Timestamp) -> Answer {
    let facts = Facts { pod, gang, now };
    let stand = Stand::of(pod, served);
    let base = facts.base(stand);
    match stand {
        Stand::Foreign => facts.foreign(base, served),
        Stand::Finished => facts.finished(base),
        Stand::Bound => facts.bound(base),
        Stand::Deleting => facts.simple(base, "is being deleted; it never had a node"),
        Stand::Gated => facts.gated(base),
        Stand::Pending => facts.pending(base),
    }
}

struct Facts<'a> {
    pod: &'a Pod,
    gang: &'a Gang,
    now: Timestamp,
}

impl Facts<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.pod.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// What the Binding of this pod left on it; an error if somebody made something unreadable of it.
    fn mark(&self) -> Result<Option<Mark>, ()> {
        let text = self.pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(names::BINDING));
        text.map(|text| mark::read(text).ok_or(())).transpose()
    }

    fn is_placeholder(&self) -> bool {
        self.label(names::PLACEHOLDER) == Some("true")
    }

    fn scheduled(&self) -> Option<&PodCondition> {
        self.pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == "PodScheduled")
    }

    fn base(&self, stand: Stand) -> Answer {
        let text = |value: Option<&String>| value.cloned().unwrap_or_default();
        let mark = self.mark().ok().flatten();
        let taken = mark.as_ref().and_then(|mark| mark.seat).map(|seat| seat.to_string());
        let charged = mark.map(|mark| mark.queue.to_string());
        Answer {
            kind: "Pod",
            namespace: text(self.pod.metadata.namespace.as_ref()),
            name: text(self.pod.metadata.name.as_ref()),
            state: stand.name().into(),
            application: self.application(),
            queue: charged.or_else(|| self.label(names::QUEUE).map(str::to_owned)),
            seat: self.label(names::SEAT).map(str::to_owned).or(taken),
            ..Answer::default()
        }
    }

    fn application(&self) -> Option<String> {
        match belonging(self.pod) {
            (Some(_), _) => self.label(names::APPLICATION).map(str::to_owned),
            (None, application) => application.map(|application| application.to_string()),
        }
    }

    /// `Pod data/executor-1`, with what it is for Gangline.
    fn subject(&self) -> String {
        let key = |value: &Option<String>| value.clone().unwrap_or_default();
        let (namespace, name) = (key(&self.pod.metadata.namespace), key(&self.pod.metadata.name));
        let role = match belonging(self.pod) {
            (Some(group), _) if self.is_placeholder() => {
                let seat = self.label(names::SEAT).unwrap_or("?");
                format!(", the placeholder that holds seat {seat} of TaskGroup {group},")
            }
            (Some(group), _) => format!(", a member of TaskGroup {group},"),
            (None, Some(application)) => format!(", of application {application} outside its task groups,"),
            (None, None) => String::new(),
        };
        format!("Pod {namespace}/{name}{role}")
    }

    fn simple(&self, base: Answer, predicate: &str) -> Answer {
        Answer { message: format!("{} {predicate}.", self.subject()), ..base }
    }

    fn foreign(&self, base: Answer, served: &[String]) -> Answer {
        let scheduler = self.pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or_default();
        let message = format!("Pod {}/{} is scheduled by {scheduler}, not by Gangline.", base.namespace, base.name);
        let labelled = [names::TASK_GROUP, names::APPLICATION].into_iter().find(|key| self.label(key).is_some());
        let known = served.join(" or ");
        let label = labelled
            .map(|key| format!("It has the label {key}, which has no effect without spec.schedulerName: {known}."));
        // Nothing on the cluster says which names a Gangline serves.
        let perhaps = (scheduler != "default-scheduler").then(|| {
            format!(
                "Known here is {known}; if a Gangline serves {scheduler} too, ask with --scheduler-name {scheduler}."
            )
        });
        let hints = label.into_iter().chain(perhaps).collect();
        Answer { message, reason: "OtherScheduler".into(), hints, foreign: true, ..base }
    }

    fn finished(&self, base: Answer) -> Answer {
        let phase = self.pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let node = self.pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let place = node.as_ref().map_or(" without a node".to_owned(), |node| format!(" on node {node}"));
        let answer = self.simple(base, &format!("is finished ({phase}){place}{}", self.how_it_ended()));
        Answer { node, reason: phase, ..answer }
    }

    /// `; PlaceholderTimeout: the gang was given up`, as its status says; empty where that says nothing.
    fn how_it_ended(&self) -> String {
        let status = self.pod.status.as_ref();
        let reason = status.and_then(|status| status.reason.clone()).filter(|reason| !reason.is_empty());
        let message = status.and_then(|status| status.message.clone()).filter(|message| !message.is_empty());
        let said: Vec<String> = reason.into_iter().chain(message).collect();
        if said.is_empty() { String::new() } else { format!("; {}", said.join(": ").trim_end_matches('.')) }
    }

    fn bound(&self, base: Answer) -> Answer {
        let node = self.pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        let phase = self.pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let since = self.bound_since();
        let when = since.map_or(String::new(), |time| format!(" since {time} ({})", age(time, self.now)));
        let mark = self.mark();
        let unreadable = mark.is_err().then(|| UNREADABLE_MARK.to_owned());
        let rule = mark.as_ref().ok().and_then(Option::as_ref).and_then(|mark| self.rule(mark));
        let taken = mark.ok().flatten().and_then(|mark| mark.seat).filter(|_| !self.is_placeholder());
        let seat = taken.map_or(String::new(), |seat| format!(" in seat {seat}"));
        let answer = self.simple(base, &format!("is on node {node}{seat}{when}; phase {phase}"));
        let leaving = self.pod.metadata.deletion_timestamp.is_some().then(|| "It is being deleted.".to_owned());
        let hints = leaving.into_iter().chain(unreadable).chain(rule).collect();
        self.with_gang(Answer { node: Some(node), since, reason: phase, hints, ..answer })
    }

    /// By what rule a pod outside task groups is in a queue that it does not name.
    fn rule(&self, mark: &Mark) -> Option<String> {
        let spoken = in_other_words(self.pod, Dialect::ALL, WAIT_TIMEOUT_SECONDS).and_then(|spoken| spoken.queue);
        let is_named = self.label(names::QUEUE).is_some() || spoken.is_some() || belonging(self.pod).0.is_some();
        let is_by_namespace = !is_named && *mark.queue != *DEFAULT_QUEUE;
        is_by_namespace.then(|| group::by_namespace(self.pod.metadata.namespace.as_deref(), &mark.queue))
    }

    fn bound_since(&self) -> Option<Timestamp> {
        let bound = self.scheduled().filter(|condition| condition.status == "True");
        let time = bound.and_then(|condition| condition.last_transition_time.as_ref());
        time.or(self.pod.status.as_ref()?.start_time.as_ref()).map(|time| time.0)
    }

    fn gated(&self, base: Answer) -> Answer {
        let gates = self.pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
        let gates: Vec<_> = gates.into_iter().flatten().map(|gate| &*gate.name).collect();
        let predicate = format!("waits for its scheduling gates to be removed: {}", gates.join(", "));
        Answer { reason: "SchedulingGated".into(), ..self.simple(base, &predicate) }
    }

    fn pending(&self, base: Answer) -> Answer {
        let said = self.scheduled().filter(|condition| condition.status != "True");
        let waiting_for = said.map(|condition| Waiting {
            condition: condition.type_.clone(),
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        });
        let mut answer = match &waiting_for {
            Some(Waiting { reason, message, .. }) if !message.is_empty() => {
                self.simple(base, &format!("waits ({reason}): {}", message.trim_end_matches('.')))
            }
            Some(Waiting { reason, .. }) => self.simple(base, &format!("waits ({reason})")),
            None => self.unsaid(base),
        };
        answer.reason = waiting_for.as_ref().map_or(answer.reason, |waiting| waiting.reason.clone());
        self.with_gang(Answer { waiting_for, ..answer })
    }

    /// The scheduler has said nothing about the pod itself. Its gang may still explain it.
    fn unsaid(&self, base: Answer) -> Answer {
        let created = self.pod.metadata.creation_timestamp.as_ref();
        let since = created.map_or(String::new(), |time| format!(" for {}", age(time.0, self.now)));
        // The gang's answer says it if the gang was not seen either.
        let explained = matches!(self.gang, Gang::Found(_));
        let answer = self.simple(base, &format!("has waited for a node{since}"));
        let hint = (!explained).then(|| group::silence_hint(created, self.now));
        Answer { reason: "Pending".into(), hints: hint.into_iter().collect(), ..answer }
    }

    fn with_gang(&self, mut answer: Answer) -> Answer {
        match self.gang {
            Gang::None => {}
            // What it declares is made when it is right, and the pod says what is wrong.
            Gang::Missing(_) if answer.node.is_none() && waits_for_something_else(&answer.reason) => {}
            Gang::Missing(name) => {
                let effect = if answer.node.is_none() { ": the pod waits until it does" } else { "" };
                let place = &answer.namespace;
                answer.hints.push(format!("TaskGroup {name} does not exist in namespace {place}{effect}."));
            }
            Gang::Unreadable(name, problem) => {
                answer.hints.push(format!("TaskGroup {name} cannot be read: {problem}"));
            }
            Gang::Found(group) => answer.group = Some(Box::new(group::answer(group, self.now))),
        }
        answer
    }
}
