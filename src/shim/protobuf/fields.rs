//! The fields that are read of a pod, of a list of pods and of a refusal: all that the rest of the shim looks at.
//! Whoever reads a pod from a watch does not see fields that are not here; `e2e/encodings.rs` compares both encodings
//! of one pod.

/// One field of a message.
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// What a field holds.
pub(super) enum Kind {
    /// Text; absent if it is empty, as in most of the JSON.
    Text,
    /// An integer.
    Number,
    /// True or false.
    Flag,
    /// Seconds and nanoseconds since the epoch; text in JSON.
    Time,
    /// A message with one text; just the text in JSON.
    Quantity,
    /// Another message.
    Object(&'static [Field]),
    /// A message whose fields are the outer one's in JSON.
    Inline(&'static [Field]),
    /// Several; absent if there are none.
    List(&'static Self),
    /// Text to something.
    Map(&'static Self),
}

use Kind::{Flag, Inline, List, Map, Number, Object, Quantity, Text, Time};

const fn field(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind }
}

/// `PodList` without its pods ([`ITEMS`]), which are written each by itself, so that a bad one is no harm to the others.
pub(super) const POD_LIST: &[Field] = &[field(METADATA, "metadata", Object(LIST_META))];
/// The metadata of a list.
pub(super) const METADATA: u32 = 1;
/// What a list lists.
pub(super) const ITEMS: u32 = 2;

const LIST_META: &[Field] = &[field(2, "resourceVersion", Text), field(CONTINUE, "continue", Text)];
/// In the metadata of a list: the token with which the page after this one is asked for.
pub(super) const CONTINUE: u32 = 3;

/// `Status`: a refusal.
pub(super) const STATUS: &[Field] =
    &[field(2, "status", Text), field(3, "message", Text), field(4, "reason", Text), field(6, "code", Number)];

/// `Pod`.
pub(super) const POD: &[Field] = &[
    field(1, "metadata", Object(OBJECT_META)),
    field(2, "spec", Object(POD_SPEC)),
    field(3, "status", Object(POD_STATUS)),
];

const OBJECT_META: &[Field] = &[
    field(1, "name", Text),
    field(3, "namespace", Text),
    field(5, "uid", Text),
    field(6, "resourceVersion", Text),
    field(7, "generation", Number),
    field(8, "creationTimestamp", Time),
    field(9, "deletionTimestamp", Time),
    // Whether the answer to a DELETE is the last that there is of a pod.
    field(10, "deletionGracePeriodSeconds", Number),
    field(14, "finalizers", List(&Text)),
    field(11, "labels", Map(&Text)),
    field(12, "annotations", Map(&Text)),
    field(13, "ownerReferences", List(&Object(OWNER_REFERENCE))),
];

const OWNER_REFERENCE: &[Field] = &[
    field(5, "apiVersion", Text),
    field(1, "kind", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(6, "controller", Flag),
];

const POD_SPEC: &[Field] = &[
    field(1, "volumes", List(&Object(VOLUME))),
    field(2, "containers", List(&Object(CONTAINER))),
    field(20, "initContainers", List(&Object(CONTAINER))),
    field(7, "nodeSelector", Map(&Text)),
    field(10, "nodeName", Text),
    field(11, "hostNetwork", Flag),
    field(18, "affinity", Object(AFFINITY)),
    field(19, "schedulerName", Text),
    field(22, "tolerations", List(&Object(TOLERATION))),
    field(25, "priority", Number),
    field(32, "overhead", Map(&Quantity)),
    field(33, "topologySpreadConstraints", List(&Object(&[field(3, "whenUnsatisfiable", Text)]))),
    field(38, "schedulingGates", List(&Object(NAMED))),
    field(39, "resourceClaims", List(&Object(NAMED))),
    field(40, "resources", Object(RESOURCES)),
    field(43, "schedulingGroup", Object(&[field(1, "podGroupName", Text)])),
];

const NAMED: &[Field] = &[field(1, "name", Text)];

/// Of the source of a volume it matters only that it is there.
const VOLUME: &[Field] = &[
    field(1, "name", Text),
    field(
        2,
        "volumeSource",
        Inline(&[
            field(3, "gcePersistentDisk", Object(&[])),
            field(4, "awsElasticBlockStore", Object(&[])),
            field(8, "iscsi", Object(&[])),
            field(10, "persistentVolumeClaim", Object(&[])),
            field(11, "rbd", Object(&[])),
            field(13, "cinder", Object(&[])),
            field(20, "vsphereVolume", Object(&[])),
            field(22, "azureDisk", Object(&[])),
            field(24, "portworxVolume", Object(&[])),
            field(29, "ephemeral", Object(&[])),
        ]),
    ),
];

const CONTAINER: &[Field] = &[
    field(1, "name", Text),
    field(6, "ports", List(&Object(PORT))),
    field(8, "resources", Object(RESOURCES)),
    field(24, "restartPolicy", Text),
];

const PORT: &[Field] = &[
    field(2, "hostPort", Number),
    field(3, "containerPort", Number),
    field(4, "protocol", Text),
    field(5, "hostIP", Text),
];

const RESOURCES: &[Field] = &[field(2, "requests", Map(&Quantity))];

const AFFINITY: &[Field] = &[
    field(1, "nodeAffinity", Object(&[field(1, REQUIRED, Object(NODE_SELECTOR))])),
    field(2, "podAffinity", Object(&[field(1, REQUIRED, List(&Object(POD_AFFINITY_TERM)))])),
    field(3, "podAntiAffinity", Object(&[field(1, REQUIRED, List(&Object(POD_AFFINITY_TERM)))])),
];

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

const NODE_SELECTOR: &[Field] = &[field(
    1,
    "nodeSelectorTerms",
    List(&Object(&[
        field(1, "matchExpressions", List(&Object(REQUIREMENT))),
        field(2, "matchFields", List(&Object(REQUIREMENT))),
    ])),
)];

const REQUIREMENT: &[Field] = &[field(1, "key", Text), field(2, "operator", Text), field(3, "values", List(&Text))];

const POD_AFFINITY_TERM: &[Field] = &[field(3, "topologyKey", Text)];

const TOLERATION: &[Field] =
    &[field(1, "key", Text), field(2, "operator", Text), field(3, "value", Text), field(4, "effect", Text)];

const POD_STATUS: &[Field] = &[
    field(1, "phase", Text),
    field(2, "conditions", List(&Object(CONDITION))),
    field(4, "reason", Text),
    field(8, "containerStatuses", List(&Object(CONTAINER_STATUS))),
    field(10, "initContainerStatuses", List(&Object(CONTAINER_STATUS))),
    field(19, "allocatedResources", Map(&Quantity)),
    field(20, "resources", Object(RESOURCES)),
];

const CONDITION: &[Field] =
    &[field(1, "type", Text), field(2, "status", Text), field(5, "reason", Text), field(6, "message", Text)];

const CONTAINER_STATE: &[Field] = &[
    field(1, "waiting", Object(&[field(1, "reason", Text)])),
    field(3, "terminated", Object(&[field(1, "exitCode", Number), field(3, "reason", Text)])),
];

const CONTAINER_STATUS: &[Field] = &[
    field(1, "name", Text),
    field(2, "state", Object(CONTAINER_STATE)),
    field(10, "allocatedResources", Map(&Quantity)),
    field(11, "resources", Object(RESOURCES)),
];
