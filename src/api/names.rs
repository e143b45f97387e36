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

/// Annotation written by every Binding of ours, on the pod from the moment it has a node: the queue that is charged,
/// and of a pod of a task group its incarnation, its seat and whether its gang had started
/// (`queue=root.data incarnation=UID.1 seat=3 started=true`).
pub const BINDING: &str = "gangline.dev/binding";
/// Annotation on TaskGroups, pods and templates of pods: who made the object, `{"user":"alice","groups":["research"]}`. The
/// shipped admission policy writes it; a Binding does where the pod is counted for somebody else.
pub const SUBMITTER: &str = "gangline.dev/submitter";
/// Label on placeholders: the seat, from 0.
pub const SEAT: &str = "gangline.dev/seat";
/// Label on placeholders: TaskGroup UID and incarnation counter, `UID.1`.
pub const INCARNATION: &str = "gangline.dev/incarnation";
/// Label on placeholders: the attempt, from 0.
pub const ATTEMPT: &str = "gangline.dev/attempt";

/// Prefix of every label and annotation of ours; refused in placeholder templates.
pub const PREFIX: &str = "gangline.dev/";
/// Readiness gate of placeholders: never becomes true, so that no Service sends them traffic.
pub const READINESS_GATE: &str = "gangline.dev/placeholder-is-never-ready";

/// Prefix of what `gangline simulate` alone reads.
pub const SIMULATED_PREFIX: &str = "gangline.dev/simulated-";
/// Annotation on Pods and Jobs, read by `gangline simulate` alone: how long each pod runs, `90s`.
pub const SIMULATED_RUN: &str = "gangline.dev/simulated-run";
/// Annotation on any object that is played, read by `gangline simulate` alone: when it is created, `5m` after the beginning.
pub const SIMULATED_START: &str = "gangline.dev/simulated-start";
