//! TaskGroup: a named set of equal members that start together (design 03, 3.2).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LocalObjectReference, NodeAffinity, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;

/// A set of equal members of an application that start together or not at all.
#[allow(clippy::duplicated_attributes, reason = "each printed column says its type")]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangline.dev",
    version = "v1alpha1",
    kind = "TaskGroup",
    plural = "taskgroups",
    shortname = "tg",
    category = "gangline",
    namespaced,
    derive = "PartialEq",
    doc = "A set of equal pods, its members, that start together or not at all. A pod is a member by its label \
           gangline.dev/task-group and schedulerName gangline.",
    status = "TaskGroupStatus",
    scale(
        spec_replicas_path = ".spec.minMember",
        status_replicas_path = ".status.counts.scheduled",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Queue", type_ = "string", json_path = ".status.queue"),
    printcolumn(
        name = "Min",
        type_ = "integer",
        json_path = ".spec.minMember",
        description = "Members that start together"
    ),
    printcolumn(
        name = "Held",
        type_ = "integer",
        json_path = ".status.counts.held",
        description = "Places that placeholders hold"
    ),
    printcolumn(
        name = "Running",
        type_ = "integer",
        json_path = ".status.counts.running",
        description = "Members whose containers run"
    ),
    printcolumn(
        name = "State",
        type_ = "string",
        json_path = ".status.applicationState",
        description = "State of the application"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.reason",
        description = "Why it is in this state"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.counts.pending", priority = 1),
    printcolumn(name = "Scheduled", type_ = "integer", json_path = ".status.counts.scheduled", priority = 1),
    printcolumn(name = "Placeholders", type_ = "integer", json_path = ".status.counts.placeholders", priority = 1),
    printcolumn(name = "Replaced", type_ = "integer", json_path = ".status.counts.replaced", priority = 1),
    printcolumn(name = "Reservation", type_ = "string", json_path = ".spec.reservation", priority = 1),
    printcolumn(
        name = "Deadline",
        type_ = "string",
        json_path = ".status.nextDeadline",
        description = "When what runs out, and what happens then",
        priority = 1
    ),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    schema::rule(&schema::same("self", "oldSelf", "applicationId"), "applicationId can never be changed"),
    schema::rule_of(
        ".totalMember",
        "!has(self.totalMember) || self.totalMember >= self.minMember",
        "must be minMember at least",
    ),
]))]
pub struct TaskGroupSpec {
    /// Everything that is submitted together has the same id in the same namespace. Default: the name of the TaskGroup.
    /// Can never be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::LABEL_VALUE))]
    pub application_id: Option<String>,
    /// Path of the leaf queue whose quota is used, such as root.data. Default: the queue of the namespace, if the namespaceSelector
    /// of a Queue chooses it, else root.default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = schema::QUEUE_PATH))]
    pub queue: Option<String>,
    /// How many members start together. Pods beyond this number are scheduled when there is room.
    #[schemars(range(min = 1, max = 100_000))]
    pub min_member: u32,
    /// How many members belong to it. Nobody waits for those beyond minMember; but where some of them are there when nodes are
    /// found for the others, they are placed with these and start with them, as far as there is room. Members beyond this
    /// number are placed like other pods once the application has started. Default: minMember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub total_member: Option<u32>,
    /// What one member requests, such as cpu: 500m, memory: 4Gi or nvidia.com/gpu: 1. minMember times this must fit the
    /// queue before anything of the application is placed; members that exist count with what they request.
    #[schemars(transform = schema::positive_amounts, extend("minProperties" = 1))]
    pub min_resource: BTreeMap<String, Quantity>,
    /// The TaskGroups that start together, as namespace/name, this one included. Each must list the same: one of another namespace
    /// that does not is not concerned, and this one waits. Where all are of one namespace they have the same applicationId, by which
    /// pods outside the groups start with them; with groups in several namespaces no such pod does. Default: this one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 127), regex(pattern = schema::NAMESPACED_NAME)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub gang_group: Vec<String>,
    /// How places are held until the members run. Placeholder: by pods that do nothing and give way to members. Direct:
    /// by no pods; the members are placed together once minMember of them exist.
    #[serde(default)]
    pub reservation: Reservation,
    /// For whom placeholders are created. missing: for members that do not exist yet, once a first pod of the
    /// application exists. all: for every member, but for those that exist and request more than minResource, or other
    /// nodes than the placeholderTemplate.
    #[serde(default)]
    pub placeholder_for: PlaceholderFor,
    /// What a placeholder needs to stand where a member will. Give it what the members' pod template has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_template: Option<PlaceholderTemplate>,
    /// What happens when placeholderTimeoutSeconds are over and no pod of the application has a node. Soft: its placeholders
    /// go, and its pods are placed one by one. Hard: its placeholders go, its pods fail, and it is Killed.
    #[serde(default)]
    pub style: Style,
    /// Whether seats are held before there is a node for each of them. Strict: all find nodes together, or none is held. NonStrict:
    /// each is held as soon as there is a node for it, for waitTimeoutSeconds at most; two such gangs may keep each other
    /// waiting for so long. In either mode no member runs before the whole gang has what it needs.
    #[serde(default)]
    pub mode: Mode,
    /// Who counts once the application has started. OnceSatisfied: nobody, members that come are placed as there is room.
    /// WaitingAndRunning: when fewer than minMember are left, those that come wait until they and the others are minMember, and
    /// are placed together. OnlyWaiting: those that come are placed together each time that minMember of them wait.
    #[serde(default)]
    pub match_policy: MatchPolicy,
    /// Seconds from the first pod on within which the whole application must fit the quota; after that it is Rejected until
    /// it is changed, or its pods are gone and others come. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub admission_timeout_seconds: Option<u32>,
    /// Seconds from the first placeholder that has a node on within which every seat must have a member. After that what no
    /// member took is given back; before the first member has a node, style says what happens. Default: 900.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub placeholder_timeout_seconds: Option<u32>,
    /// Seconds within which nodes must be found for all of the application after they were found for some; after that it is
    /// Rejected until it is changed, or its pods are gone and others come. Default: no limit; 600 with mode NonStrict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub wait_timeout_seconds: Option<u32>,
    /// Seconds without running and waiting pods after which the application is Completed and what it still holds is
    /// given back. Default: 30. Only timeouts can be changed once the application has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 86_400))]
    pub completion_timeout_seconds: Option<u32>,
    /// Seconds for which the room of a member that is lost (it failed, was evicted or deleted while it ran) is kept for the
    /// one that comes in its place: the same node and the same share of the quota, which nobody else is given. Each member
    /// that comes renews what is kept for the others, to at most twice as long after their loss. 0: nothing is kept.
    /// Default: 60. Can be changed like timeouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3_600))]
    pub seat_hold_seconds: Option<u32>,
}

/// How the places of a task group are held until the members run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Reservation {
    /// By placeholder pods.
    #[default]
    Placeholder,
    /// By no pods: the members themselves are planned and bound together.
    Direct,
}

/// What a placeholder timeout before the start does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Style {
    /// Placeholders go, and pods are placed one by one.
    #[default]
    Soft,
    /// Placeholders go, and pods fail.
    Hard,
}

/// Whether seats are held before there is a node for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// No: all find nodes together, or none is held.
    #[default]
    Strict,
    /// Yes: each is held as soon as there is a node for it.
    NonStrict,
}

/// Who counts once the application has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MatchPolicy {
    /// Nobody: members that come are ordinary pods.
    #[default]
    OnceSatisfied,
    /// Members that have a node, and members that wait.
    WaitingAndRunning,
    /// Members that wait.
    OnlyWaiting,
}

/// For whom placeholders are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceholderFor {
    /// For members that do not exist yet.
    #[default]
    Missing,
    /// For every member.
    All,
}

/// What a placeholder needs to stand where a member will.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceholderTemplate {
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::selector)]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that are tolerated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::tolerations)]
    pub tolerations: Vec<Toleration>,
    /// Affinity to nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<PlaceholderAffinity>,
    /// Name of the members' PriorityClass. It counts once the placeholders exist: before the gate a gang without pods
    /// has priority 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = schema::OBJECT_NAME))]
    pub priority_class_name: Option<String>,
    /// Name of the members' RuntimeClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = schema::OBJECT_NAME))]
    pub runtime_class_name: Option<String>,
    /// Labels of placeholders. Keys under gangline.dev/, kubernetes.io/ and k8s.io/ are refused. Of the labels of members
    /// placeholders have those alone: leave out what a Service with publishNotReadyAddresses selects, or it lists
    /// placeholders, which answer nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::template_labels)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of placeholders. Keys under gangline.dev/, kubernetes.io/ and k8s.io/ are refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::template_annotations)]
    pub annotations: BTreeMap<String, String>,
    /// Secrets for pulling the placeholders' image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::secrets)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

/// Affinity of a placeholder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceholderAffinity {
    /// Node affinity as in pods. What is preferred is handed on to the placeholder and not weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::node_affinity)]
    pub node_affinity: Option<NodeAffinity>,
}

/// What Gangline observed of a task group and decided about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskGroupStatus {
    /// Generation of the spec that this status is about.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub observed_generation: i64,
    /// Path of the application's queue, also where it names none.
    #[serde(default)]
    #[schemars(length(max = 63))]
    pub queue: String,
    /// State of the application: New, Accepted, Resuming, Running, Waiting, Rejected, Completed or Killed.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub application_state: String,
    /// Number of the application's life under this object, from 1; 0 = never accepted.
    #[serde(default)]
    pub incarnation: u32,
    /// The most telling condition's reason, for people.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub reason: String,
    /// One sentence: what it waits for, with counts and the binding constraint.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub message: String,
    /// What the whole application announces: minMember times minResource, summed up over its task groups, and its pods
    /// outside them that start with it.
    #[serde(default)]
    #[schemars(transform = schema::shown_amounts)]
    pub placeholder_ask: BTreeMap<String, Quantity>,
    /// Numbers of seats and members.
    #[serde(default)]
    pub counts: Counts,
    /// When something ends unless it changes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// The next of these, and what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub next_deadline: Option<String>,
    /// Where a timeout has ended this life: pods made until then belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods_until: Option<Time>,
    /// How many lives in a row a timeout ended before the application started.
    #[serde(default)]
    pub unstarted_lives: u32,
    /// Accepted, QuotaReserved, Placed, Running, Finished, TimedOut.
    #[serde(default)]
    #[schemars(transform = schema::conditions)]
    pub conditions: Vec<Condition>,
    /// Selects the group's pods: for kubectl scale, autoscalers and PodDisruptionBudgets.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub selector: String,
}

/// Numbers of seats and members of one task group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Seats: `minMember`.
    #[serde(default)]
    pub required: u32,
    /// Members that wait for a node.
    #[serde(default)]
    pub pending: u32,
    /// Seats held by a bound placeholder.
    #[serde(default)]
    pub held: u32,
    /// Placeholder pods that exist.
    #[serde(default)]
    pub placeholders: u32,
    /// Lost members whose room is kept for those who come in their place.
    #[serde(default)]
    pub kept: u32,
    /// Placeholders that gave their seat to a member, in this incarnation.
    #[serde(default)]
    pub replaced: u32,
    /// Members that have a node and are not finished.
    #[serde(default)]
    pub scheduled: u32,
    /// Of these: their containers run, as the phase of the pod says.
    #[serde(default)]
    pub running: u32,
    /// Members that succeeded in this incarnation, also where their pods are gone.
    #[serde(default)]
    pub succeeded: u32,
    /// Members that failed in this incarnation, likewise, or went with their node.
    #[serde(default)]
    pub failed: u32,
}

/// When something ends unless it changes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// The application is Rejected, as it does not fit the quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Time>,
    /// What no member took is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<Time>,
    /// The application is Rejected, as not all of it find nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Time>,
    /// Waiting becomes Completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Time>,
}

/// Bounds of `metadata.name`: a label value.
pub(super) const NAME: (u32, &str) = (63, schema::OBJECT_NAME);

/// Rules over the whole object.
pub(super) fn rules() -> Vec<Value> {
    // The first half is for what an earlier definition let through: `[1]` would fail.
    let itself = "!has(self.spec.gangGroup) || \
                  self.spec.gangGroup.exists(one, one.contains('/') && one.split('/')[1] == self.metadata.name)";
    let alive = "cannot be changed while the application is Running, Waiting or Resuming, but for timeouts";
    vec![
        schema::rule_of(".spec.gangGroup", itself, "must list the TaskGroup itself"),
        schema::rule_of(".spec", &unchanged(), alive),
    ]
}

/// Once the application has started its gang is what it was. Before that an edit is judged anew.
fn unchanged() -> String {
    let alive = "has(oldSelf.status) && has(oldSelf.status.applicationState) && \
                 oldSelf.status.applicationState in ['Resuming', 'Running', 'Waiting']";
    let fixed = ["minMember", "minResource"].map(|field| format!("self.spec.{field} == oldSelf.spec.{field}"));
    let held = ["queue", "gangGroup", "reservation", "placeholderFor", "placeholderTemplate"];
    let optional = held.into_iter().chain(["style", "mode", "matchPolicy", "totalMember"]);
    let optional: Vec<_> = optional.map(|field| schema::same("self.spec", "oldSelf.spec", field)).collect();
    format!("!({alive}) || ({} && {})", fixed.join(" && "), optional.join(" && "))
}
