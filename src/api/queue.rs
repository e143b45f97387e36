//! Queue: a cluster-scoped node of the quota tree (design 03, 3.3).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;

/// A queue of the quota tree. Its name is its path: `root.data` lies below `root`.
#[allow(clippy::duplicated_attributes, reason = "each printed column says its type")]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangline.dev",
    version = "v1alpha1",
    kind = "Queue",
    plural = "queues",
    shortname = "gq",
    category = "gangline",
    doc = "A queue of the quota tree: what the applications of it and of all queues below it may use together. Its name \
           is its path: root.data lies below root. The queues root and root.default exist, unlimited, without an object.",
    status = "QueueStatus",
    printcolumn(name = "Parent", type_ = "string", json_path = ".spec.parent"),
    printcolumn(
        name = "Running",
        type_ = "integer",
        json_path = ".status.applications.Running",
        description = "Applications that run"
    ),
    printcolumn(
        name = "Accepted",
        type_ = "integer",
        json_path = ".status.applications.Accepted",
        description = "Applications that were accepted and have not started"
    ),
    printcolumn(name = "CPU", type_ = "string", json_path = ".status.allocated.cpu", description = "CPU in use"),
    printcolumn(name = "Max CPU", type_ = "string", json_path = ".spec.max.cpu"),
    printcolumn(
        name = "Memory",
        type_ = "string",
        json_path = ".status.allocated.memory",
        description = "Memory in use"
    ),
    printcolumn(name = "Max Memory", type_ = "string", json_path = ".spec.max.memory"),
    printcolumn(
        name = "Active",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Active")].status"#,
        description = "Whether the queue has a valid place in the tree"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Active")].message"#,
        priority = 1
    ),
    printcolumn(name = "Guaranteed CPU", type_ = "string", json_path = ".spec.guaranteed.cpu", priority = 1),
    printcolumn(
        name = "Guaranteed Used",
        type_ = "integer",
        json_path = ".status.guaranteedShare",
        description = "How much of what the queue is guaranteed it uses, in percent",
        priority = 1
    ),
    printcolumn(
        name = "First In Line",
        type_ = "string",
        json_path = ".status.firstInLine.application",
        description = "The first gang that waits in this queue",
        priority = 1
    ),
    printcolumn(
        name = "Holds",
        type_ = "boolean",
        json_path = ".status.firstInLine.holds",
        description = "Whether nothing behind it in this queue starts before it does",
        priority = 1
    ),
    printcolumn(
        name = "CPU Left",
        type_ = "string",
        json_path = ".status.headroom.cpu",
        description = "What may still be used here and in all queues above; empty where nothing limits it",
        priority = 1
    ),
    printcolumn(
        name = "Memory Left",
        type_ = "string",
        json_path = ".status.headroom.memory",
        description = "As above",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// Path of the queue above: the name without its last part. Only `root` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = schema::QUEUE_PATH))]
    pub parent: Option<String>,
    /// What all pods of the queue and of the queues below it may request together, placeholders included. A resource
    /// that is not listed is not limited. No more than what the queues above may use. Lowering it takes nothing away
    /// from what runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::amounts_from_zero)]
    pub max: BTreeMap<String, Quantity>,
    /// What the queue and the queues below it are promised. Of queues that have work which could be placed now, the one
    /// furthest below its promise goes first, and those without a promise, or beyond it, come after them all. Its share is
    /// that of the resource of which it uses most, measured by this list, which should have every resource that is scarce for
    /// its pods. Nothing is taken from who runs. No more than max, and the queues below one are not promised more than it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::amounts_from_zero)]
    pub guaranteed: BTreeMap<String, Quantity>,
    /// In which order applications of the queue and of the queues below it start. Priority comes first in each. Not set: as
    /// the queue above says; `FIFO` where none says anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_policy: Option<SortPolicy>,
    /// Added to the priority of each pod of the queue and of the queues below it, where they are put in order with those of
    /// other queues; those above add theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_offset: Option<i32>,
    /// The queue and the queues below it take no new applications; those that have started go on and get what they ask for, also
    /// where they begin anew in room that is kept for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// How many applications of the queue and of the queues below it may hold or use resources at once. One of which no
    /// pod runs or waits any more does not count, and is not held up if it goes on. Not set: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub max_applications: Option<u32>,
    /// How often, or how long, the first gang in line may be overtaken by applications behind it. Past that nothing behind
    /// it starts before it does, and what it lacks of a quota is kept for it. Empty (`{}`): it may be overtaken for ever.
    /// Not set: as the queue above says; `afterSeconds: 600` where none says anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_of_line: Option<HeadOfLine>,
    /// What single users may use of the queue and of the queues below it, and what the members of a group may use together. It
    /// counts where the cluster writes down who submits what (the chart's config.submitters): for a gang whoever made its
    /// TaskGroup, else whoever made the pod, or what the pod was made from. Lowering one takes nothing away from what runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub limits: Vec<SubmitterLimit>,
    /// For which namespaces the queue and the queues below it are, by their labels: applications of others are refused. And
    /// here applications of these go that name no queue: if several queues choose a namespace, to the first by name. Empty
    /// (`{}`): for all. Not set: for all, and none of them comes here without naming the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<NamespaceSelector>,
    /// Gives each of these namespaces a queue of its own below this one, called as the namespace, with these limits. No Queue
    /// object is made for it; one of that name counts in its place. Needs a namespaceSelector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_template: Option<ChildTemplate>,
}

/// What some users, or groups, may use of a queue. Names users, groups, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::limit_of_somebody)]
pub struct SubmitterLimit {
    /// Users, each of whom may use so much. `*`: each whom no other limit of this queue names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    pub users: Vec<String>,
    /// Groups, the members of each of which may use so much together. Who is in several counts for the first that a limit of
    /// this queue names. `*`: all whose groups no other limit of this queue names, together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    pub groups: Vec<String>,
    /// As max of a queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::amounts_from_zero)]
    pub max: BTreeMap<String, Quantity>,
    /// As maxApplications of a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub max_applications: Option<u32>,
}

/// Labels that a namespace must have: all that is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// Labels with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::selector)]
    pub match_labels: BTreeMap<String, String>,
    /// Labels with one of some values, with none of them, with any, or that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<LabelRequirement>,
}

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::values_of_operator)]
pub struct LabelRequirement {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How its value is compared.
    pub operator: LabelOperator,
    /// Values, for In and NotIn alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// How the value of a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// It is one of the values.
    In,
    /// The label is not there, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
}

/// What the queue of one namespace may use. An annotation of the namespace can say otherwise, where YuniKorn's words are
/// understood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChildTemplate {
    /// As max of a queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::amounts_from_zero)]
    pub max: BTreeMap<String, Quantity>,
    /// As guaranteed of a queue. The sum over all namespaces is not compared with what this queue is promised.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::amounts_from_zero)]
    pub guaranteed: BTreeMap<String, Quantity>,
    /// As sortPolicy of a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_policy: Option<SortPolicy>,
    /// As maxApplications of a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub max_applications: Option<u32>,
}

/// In which order applications of a queue start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SortPolicy {
    /// As they were submitted.
    #[serde(rename = "FIFO")]
    Fifo,
    /// As they were submitted, and of the gangs one at a time is between its reservation and its first running member. One
    /// for which the nodes have no room does not count.
    StateAware,
    /// Whose share of the queue is smallest goes first, pods outside applications before all. A gang is refused here.
    Fair,
}

/// How often, or how long, the first gang in line may be overtaken; empty: any number of times, for any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::one_bound)]
pub struct HeadOfLine {
    /// By so many applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000))]
    pub max_overtakes: Option<u32>,
    /// For so long after it became the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 31_536_000))]
    pub after_seconds: Option<u32>,
}

/// What Gangline observed of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Generation of the spec that this status is about.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub observed_generation: i64,
    /// What pods of the queue and of the queues below it use, placeholders and kept seats included.
    #[serde(default)]
    #[schemars(transform = schema::shown_amounts)]
    pub allocated: BTreeMap<String, Quantity>,
    /// What waiting applications of the queue and of the queues below it ask for.
    #[serde(default)]
    #[schemars(transform = schema::shown_amounts)]
    pub pending: BTreeMap<String, Quantity>,
    /// How much of what it is guaranteed the queue uses, in percent: of the resource of which it uses most. Only where
    /// something is guaranteed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub guaranteed_share: Option<i64>,
    /// The first gang that waits in this queue, for quota or for nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_in_line: Option<FirstInLine>,
    /// What may still be used of each resource that is limited here or above.
    #[serde(default)]
    #[schemars(transform = schema::shown_amounts)]
    pub headroom: BTreeMap<String, Quantity>,
    /// Number of applications by state.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 16))]
    pub applications: BTreeMap<String, u32>,
    /// What users and groups use whom spec.limits limit and who have something here; of more than 256 the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LEAVES_MAX), extend("x-kubernetes-list-type" = "atomic"))]
    pub limited: Vec<LimitedStatus>,
    /// Queues directly below that have no Queue object, in order of their names, at most 256: those of namespaces that are in
    /// use, or whose annotations are wrong, and those that drain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = LEAVES_MAX),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub leaves: Vec<LeafStatus>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves_left_out: Option<u32>,
    /// `Active`: whether everything about the queue is right. The message says what is not, and what counts instead.
    #[serde(default)]
    #[schemars(transform = schema::conditions)]
    pub conditions: Vec<Condition>,
}

/// The first gang that waits in a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstInLine {
    /// `namespace/name` of its application, the first if it has several.
    #[schemars(length(max = 317))]
    pub application: String,
    /// Since when it is the first.
    pub since: Time,
    /// Whether nothing behind it starts before it does, and what it lacks of a quota is kept for it (`headOfLine`).
    pub holds: bool,
}

/// What a user, or the members of a group, use of a queue that limits them: one of the two is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitedStatus {
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub user: Option<String>,
    /// The group; `*`: all whom no other limit names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub group: Option<String>,
    /// What they may use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub max: BTreeMap<String, Quantity>,
    /// How many applications of them may hold or use resources at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_applications: Option<u32>,
    /// What pods of them use, placeholders and kept seats included; of more than 16 resources the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub allocated: BTreeMap<String, Quantity>,
    /// Number of their applications by state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub applications: BTreeMap<String, u32>,
}

/// Most queues without an object that a status shows: with two resources each they are some 50 KiB.
pub const LEAVES_MAX: usize = 256;

/// A queue that has no object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeafStatus {
    /// Its path.
    #[schemars(length(max = 63))]
    pub name: String,
    /// What it may use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub max: BTreeMap<String, Quantity>,
    /// How many applications of it may hold or use resources at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_applications: Option<u32>,
    /// What it is promised.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub guaranteed: BTreeMap<String, Quantity>,
    /// How much of that it uses, in percent: of the resource of which it uses most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub guaranteed_share: Option<i64>,
    /// What pods of it use, placeholders and kept seats included; of more than 16 resources the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub allocated: BTreeMap<String, Quantity>,
    /// The first gang that waits in it, for quota or for nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_in_line: Option<FirstInLine>,
    /// What may still be used of each resource that is limited here or above; of more than 16 the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::leaf_amounts)]
    pub headroom: BTreeMap<String, Quantity>,
    /// Number of its applications by state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub applications: BTreeMap<String, u32>,
    /// What is wrong with the annotations of its namespace, or that it drains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_000))]
    pub problem: Option<String>,
}

/// Bounds of `metadata.name`: a queue path and a label value.
pub(super) const NAME: (u32, &str) = (63, schema::QUEUE_PATH);

/// Rules over the whole object: the name is the path, so that no cycle can be written.
pub(super) fn rules() -> Vec<Value> {
    let parent = "self.metadata.name == 'root' ? !has(self.spec.parent) : (has(self.spec.parent) && \
                  self.metadata.name.startsWith(self.spec.parent + '.') && \
                  !self.metadata.name.substring(size(self.spec.parent) + 1).contains('.'))";
    let template = "!has(self.spec.childTemplate) || has(self.spec.namespaceSelector)";
    vec![
        schema::rule_of(".spec.parent", parent, "must be metadata.name without its last part; only root has none"),
        schema::rule_of(
            ".spec.childTemplate",
            template,
            "needs a namespaceSelector, which says for which namespaces it is",
        ),
    ]
}
