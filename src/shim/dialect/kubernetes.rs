//! Gangs of Kubernetes itself (1.37, `scheduling.k8s.io/v1beta1`, behind its feature gate `GenericWorkload`): a pod names a PodGroup
//! by the field `spec.schedulingGroup`, and that says all there is to say (`pod_group.rs`).
//!
//! What kube-scheduler reads there and nothing here does is refused where it decides on which nodes a gang starts, or with whom: one
//! domain of nodes for all, claims of devices, a group of groups. What says who makes room for whom is left out (`disruptionMode`,
//! `preemptionPolicy`), since nobody is preempted here, and so is `priorityClassName`, since pods have a priority themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::pod_group::{PodGroupSpec, Reference, SchedulingPolicy, System, Terms};
use super::{Spoken, coscheduling, koordinator};
use crate::core::codes::Code;
use crate::core::model::lifecycle::AppState;
use crate::core::reason::without_numbers;
use crate::core::show::report::GroupReport;
use crate::core::time::Wall;
use crate::shim::escape;
use crate::shim::group_check::MAX_MEMBERS;
use crate::shim::show::MAX_MESSAGE;
use crate::shim::spec_errors::Errors;

/// Its name, for people.
const SYSTEM: &str = "Kubernetes";
/// The field by which a pod names the PodGroup that is its gang.
pub(super) const GROUP_NAME: &str = "spec.schedulingGroup.podGroupName";
/// The field of a PodGroup that says how its pods start.
const POLICY: &str = "spec.schedulingPolicy";

/// What a pod says; none if it names no PodGroup.
pub fn read(pod: &Pod) -> Option<Spoken> {
    let named = pod.spec.as_ref()?.scheduling_group.as_ref()?.pod_group_name.as_deref();
    let name = named.filter(|name| !name.is_empty())?;
    let mut errors = Errors::default();
    koordinator::check_name(&mut errors, GROUP_NAME, name);
    let queue = coscheduling::queue(pod, &mut errors);
    let problems = errors.into_sorted();
    let reference = Reference {
        system: System::Kubernetes,
        name: name.into(),
        queue: queue.clone(),
        min_resource: koordinator::min_resource(pod),
        terms: Terms::default(),
        // A gang of kube-scheduler's holds nothing in part, and nobody gives it up for having waited.
        wait_seconds: None,
        priority: pod.spec.as_ref().and_then(|spec| spec.priority),
    };
    let refers = problems.is_empty().then(|| Arc::new(reference));
    Some(Spoken { system: SYSTEM, group: Some(name.into()), queue, refers, problems, ..Spoken::default() })
}

/// How many start together, as a PodGroup says it. With the policy `basic` each pod is placed where it has room: as in a gang of one.
pub(super) fn min_count(spec: &PodGroupSpec) -> Option<i64> {
    let policy = spec.scheduling_policy.as_ref()?;
    match (&policy.gang, &policy.basic) {
        (Some(gang), _) => gang.min_count,
        (None, Some(_)) => Some(1),
        (None, None) => None,
    }
}

/// How many belong to a gang, as a PodGroup says it: whoever names it, since kube-scheduler places all that are there with those that
/// start together. Where each pod is placed by itself nobody starts with another.
pub(super) fn total_count(spec: &PodGroupSpec) -> Option<u32> {
    let policy = spec.scheduling_policy.as_ref()?;
    policy.gang.as_ref().map(|_| MAX_MEMBERS)
}

/// What a PodGroup asks for that nothing here looks at.
pub(super) fn check(spec: &PodGroupSpec, errors: &mut Errors) {
    spec.scheduling_policy.iter().for_each(|policy| check_policy(policy, errors));
    let is_free = spec.scheduling_constraints.as_ref().is_none_or(asks_for_nothing);
    let problem = "is not supported yet: nothing is known of domains of nodes within which all pods start";
    errors.unless(is_free, "spec.schedulingConstraints", problem);
    let has_claims = spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty());
    let problem = "is not supported yet: no node is chosen by its devices";
    errors.unless(!has_claims, "spec.resourceClaims", problem);
    let has_parent = spec.parent_composite_pod_group_name.as_ref().is_some_and(|name| !name.is_empty());
    let problem = "is not supported yet: a gang is no part of a group of groups";
    errors.unless(!has_parent, "spec.parentCompositePodGroupName", problem);
}

/// Fields of a policy that later versions may have: of them nothing is known but that they are there.
fn check_policy(policy: &SchedulingPolicy, errors: &mut Errors) {
    let mut refuse = |path: &str, rest: &BTreeMap<String, Value>| {
        for (field, _) in rest.iter().filter(|(_, value)| !value.is_null()) {
            errors.add(format!("{path}.{field}"), "is not supported: nothing here looks at it");
        }
    };
    refuse(POLICY, &policy.rest);
    policy.gang.iter().for_each(|gang| refuse(&format!("{POLICY}.gang"), &gang.rest));
    policy.basic.iter().for_each(|basic| refuse(&format!("{POLICY}.basic"), &basic.rest));
}

/// Whether constraints are there and say nothing. Of those that later versions may have nothing is known but that they are there.
fn asks_for_nothing(constraints: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    constraints.as_object().is_some_and(|fields| fields.values().all(is_empty))
}

/// Type of the one condition of a PodGroup that is written.
const TYPE: &str = "PodGroupInitiallyScheduled";
/// The reason that kube-scheduler gives when it is true.
const SCHEDULED: &str = "Scheduled";
/// The one that it gives where it finds no nodes for the gang; ours of a pod is the same word. A gang that waits for something else has
/// our own word for that.
const UNSCHEDULABLE: &str = Code::Unschedulable.name();
/// Longest text of a condition that is kept: longer than any of ours.
const READ_MAX: usize = 2 * MAX_MESSAGE;

/// The condition `PodGroupInitiallyScheduled` of a PodGroup: all that is said in its status of how far its gang is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitiallyScheduled {
    /// Whether as many as start together have had a node. Nobody takes that back, as kube-scheduler does not.
    pub holds: bool,
    /// The word that says why.
    pub reason: String,
    /// The sentence that says why.
    pub message: String,
    /// Since when it holds or does not, as it is written.
    pub since: String,
}

impl InitiallyScheduled {
    /// The condition in a status, whoever wrote it.
    pub fn read(status: &Value) -> Option<Self> {
        let mut conditions = status.get("conditions")?.as_array()?.iter();
        let found = conditions.find(|condition| condition.get("type").and_then(Value::as_str) == Some(TYPE))?;
        let text = |field: &str| -> String {
            found.get(field).and_then(Value::as_str).unwrap_or_default().chars().take(READ_MAX).collect()
        };
        let since = text("lastTransitionTime");
        Some(Self { holds: text("status") == "True", reason: text("reason"), message: text("message"), since })
    }

    /// What is to be said of a gang: that it was placed, or why it is not; nothing new while it is being placed. A sentence that
    /// differs in numbers alone is not said again: the TaskGroup has them.
    pub fn of(report: &GroupReport, message: &str, before: Option<&Self>, now: Wall) -> Option<Self> {
        if before.is_some_and(|before| before.holds) {
            return before.cloned();
        }
        let (members, ended) = (&report.members, &report.ended);
        let holds = report.placed || members.scheduled + ended.succeeded >= report.required;
        let waits = match report.state {
            AppState::New | AppState::Accepted | AppState::Resuming | AppState::Rejected | AppState::Killed => true,
            AppState::Running | AppState::Waiting | AppState::Completed => false,
        };
        let why = if report.reason == Code::WaitingForCapacity { UNSCHEDULABLE } else { report.reason.name() };
        let (reason, message) = match (holds, waits) {
            (true, _) => (SCHEDULED, "as many pods as start together have a node".to_owned()),
            (false, true) => (why, escape::bounded(message, MAX_MESSAGE).to_string()),
            (false, false) => return before.cloned(),
        };
        let says_so =
            |before: &Self| before.reason == reason && without_numbers(&before.message).eq(without_numbers(&message));
        let same = before.filter(|before| before.holds == holds);
        if same.is_some_and(says_so) {
            return before.cloned();
        }
        let since = same.map(|before| before.since.clone()).filter(|since| !since.is_empty());
        let since = since.unwrap_or_else(|| now.to_string());
        Some(Self { holds, reason: reason.to_owned(), message, since })
    }

    /// As a merge writes it into a status. What kube-scheduler said of the generation is not said of this, and is taken away.
    pub fn written(&self) -> Value {
        json!({
            "type": TYPE,
            "status": if self.holds { "True" } else { "False" },
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since,
            "observedGeneration": null,
        })
    }
}

#[cfg(test)]
mod tests;
