//! Names that users and other programs see (design 03, 3.1). Fixed: changing one breaks clusters.

/// API group of our kinds.
pub const GROUP: &str = "gangline.dev";
/// Version of our kinds.
pub const VERSION: &str = "v1alpha1";
/// Default `spec.schedulerName`.
pub const SCHEDULER: &str = "gangline";

/// Label on pods: the TaskGroup (of the same namespace) that the pod is a member of.
pub const TASK_GROUP: &str = "gangline.dev/task-group";
/// Label on pods: the application that the pod belongs to outside any task group.
pub const APPLICATION: &str = "gangline.dev/application-id";
/// Label on pods: the queue of a pod outside any task group. On placeholders: the queue of their group.
pub const QUEUE: &str = "gangline.dev/queue";
/// Label on placeholders, `"true"`.
pub const PLACEHOLDER: &str = "gangline.dev/placeholder";

/// Annotation written by a Binding; label on placeholders: the seat, from 0.
pub const SEAT: &str = "gangline.dev/seat";
/// Annotation written by a Binding; label on placeholders: TaskGroup UID and incarnation counter, `UID.1`. Absent on
/// pods outside task groups.
pub const INCARNATION: &str = "gangline.dev/incarnation";
/// Annotation written by the Binding of a real member once its gang was satisfied: `"true"`.
pub const STARTED: &str = "gangline.dev/started";
/// Annotation written by a Binding: the queue that is charged.
pub const CHARGED_QUEUE: &str = "gangline.dev/charged-queue";
/// Label on placeholders: the attempt, from 0.
pub const ATTEMPT: &str = "gangline.dev/attempt";

/// Prefix of every label and annotation of ours; refused in placeholder templates.
pub const PREFIX: &str = "gangline.dev/";
/// Readiness gate of placeholders: never becomes true, so that no Service sends them traffic.
pub const READINESS_GATE: &str = "gangline.dev/placeholder-is-never-ready";
