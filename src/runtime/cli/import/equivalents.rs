//! What each word of YuniKorn's configuration is here: the one table of them. `import` writes what has a field, and says the
//! rest. When a field comes to exist, its row is what changes.

use Here::{Field, Nothing, Same, Value};

/// What something is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    /// A field of the Queue.
    Field(&'static str),
    /// A value of the chart.
    Value(&'static str),
    /// Nothing that must be said: it is so here anyway.
    Same,
    /// Nothing.
    Nothing,
}

/// A word of YuniKorn's.
#[derive(Debug)]
pub(super) struct Row {
    /// Where it is: of a queue, of a partition, or a key of a ConfigMap. `*` stands for anything.
    pub(super) word: &'static str,
    pub(super) here: Here,
    /// What users have to know of it; of what is the same, what is different all the same.
    pub(super) note: &'static str,
}

const fn row(word: &'static str, here: Here, note: &'static str) -> Row {
    Row { word, here, note }
}

const NO_PREEMPTION: &str = "nothing that runs is removed for something else";
const NO_USERS: &str = "queues are not chosen by users or groups";
const LIMITS: &str = "who is in several groups counts for the first that the list names; the value config.submitters has it known who \
                      submits what";
const NO_WEBHOOK: &str = "nothing changes pods: they name Gangline in spec.schedulerName and their queue themselves";
const NO_SETTING: &str = "there is nothing to set";

/// All of them.
pub(super) const ROWS: &[Row] = &[
    row("queue.resources.max", Field("max"), ""),
    row(
        "queue.resources.guaranteed",
        Field("guaranteed"),
        "who uses less than that goes first, whatever the priorities; beyond it, who came first",
    ),
    row("queue.maxapplications", Field("maxApplications"), ""),
    row(
        "queue.parent",
        Same,
        "a queue with none below it is a leaf here; none is made below it when somebody names one",
    ),
    row("queue.adminacl", Nothing, "RBAC on Queue objects says who may change them"),
    row("queue.submitacl", Nothing, "whoever may create pods may name any queue"),
    row(
        "queue.childtemplate",
        Nothing,
        "only a queue below which each namespace has one of its own (a rule tag namespace with create) gives those limits",
    ),
    row("queue.limits", Field("limits"), LIMITS),
    row(
        "queue.properties.application.sort.policy",
        Field("sortPolicy"),
        "fair is Fair, where a gang is refused; fifo and stateaware are FIFO, as in YuniKorn since 1.6",
    ),
    row("queue.properties.application.sort.priority", Nothing, "priority always counts before who came first"),
    row("queue.properties.priority.offset", Field("priorityOffset"), ""),
    row("queue.properties.priority.policy", Nothing, "priority counts in the whole tree"),
    row("queue.properties.preemption.policy", Nothing, NO_PREEMPTION),
    row("queue.properties.preemption.delay", Nothing, NO_PREEMPTION),
    row("queue.properties.quota.preemption.delay", Nothing, "what runs goes on when max is lowered"),
    row(
        "queue.properties.application.unschedasks.backoff",
        Same,
        "what waits and cannot be helped by a change costs nothing",
    ),
    row("queue.properties.application.unschedasks.backoff.delay", Same, ""),
    row("queue.properties.*", Nothing, "YuniKorn does not know it either"),
    row(
        "partition.other",
        Nothing,
        "Kubernetes' pods are all in the partition default, so that YuniKorn does not use it there either",
    ),
    row("partition.preemption", Nothing, NO_PREEMPTION),
    row("partition.preemption.quotapreemptionenabled", Nothing, "what runs goes on when max is lowered"),
    row("partition.nodesortpolicy.binpacking", Same, ""),
    row("partition.nodesortpolicy.fair", Nothing, "the fullest node that fits is taken"),
    row("partition.nodesortpolicy.resourceweights", Nothing, "the fullest node that fits is taken"),
    row("partition.usergroupresolver", Nothing, "groups are those that the API server knows a user by"),
    row("placementrule.provided", Same, "a pod that names no queue is charged to root.default"),
    row("placementrule.create", Nothing, "no queue is made when somebody names it"),
    row("placementrule.filter", Nothing, NO_USERS),
    row("placementrule.fixed", Nothing, "pods name their queue"),
    row(
        "placementrule.tag",
        Nothing,
        "queues are chosen by namespaces alone (value: namespace), below a fixed queue or root",
    ),
    row(
        "placementrule.tag.namespace",
        Field("namespaceSelector"),
        "each namespace has a queue of its own below it, with the limits of its childTemplate; only work that names no queue goes there",
    ),
    row("placementrule.user", Nothing, NO_USERS),
    row(
        "queues.yaml",
        Same,
        "there is none, so that YuniKorn gives each namespace a queue of its own below the root; so does what is printed. Where it is \
         in another ConfigMap or file, add that",
    ),
    row("service.placeholderImage", Value("config.placeholderImage"), ""),
    row(
        "service.disableGangScheduling",
        Value("config.dialects"),
        "the queues that pods name in YuniKorn's words are not read then either",
    ),
    row("service.policyGroup", Same, ""),
    row("service.enableConfigHotRefresh", Same, "Queue objects are in force as soon as they are changed"),
    row("service.clusterId", Nothing, "an instance needs no name"),
    row("service.schedulingInterval", Same, "what changes is decided on at once"),
    row("service.volumeBindTimeout", Nothing, "pods with volumes whose place matters are refused"),
    row("service.eventChannelCapacity", Nothing, NO_SETTING),
    row("service.dispatchTimeout", Nothing, NO_SETTING),
    row("service.placeholderRunAsUser", Nothing, "placeholders run as the user of their image, which is not root"),
    row("service.placeholderRunAsGroup", Nothing, "placeholders run as the user of their image, which is not root"),
    row("service.placeholderFsGroup", Nothing, "placeholders have no volumes"),
    row("service.nodeInstanceTypeNodeLabelKey", Nothing, "use is not told apart by types of nodes"),
    row("kubernetes.qps", Nothing, "as many requests are under way as the API server takes"),
    row("kubernetes.burst", Nothing, "as many requests are under way as the API server takes"),
    row("log.level", Value("config.log.level"), ""),
    row("log.*", Nothing, "levels of parts of the program have other names: config.log.level"),
    row("health.checkInterval", Nothing, "/livez and /readyz are there all the time"),
    row("event.*", Nothing, "events are Kubernetes' own"),
    row("admissionController.*", Nothing, NO_WEBHOOK),
    row("*", Nothing, "YuniKorn does not know it either"),
];

/// The row of a word: its own, or the nearest with a star.
pub(super) fn of(word: &str) -> &'static Row {
    let matches = |row: &&Row| match row.word.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => row.word == word,
    };
    // The last one takes anything.
    ROWS.iter().find(matches).unwrap_or(&ROWS[ROWS.len() - 1])
}
