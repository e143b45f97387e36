//! What each word of the configurations of YuniKorn, Koordinator and scheduler-plugins is here: the one table of them. `import` writes
//! what has a field, and says the rest. When a field comes to exist, its row is what changes.

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

/// A word of another system's.
#[derive(Debug)]
pub(super) struct Row {
    /// Where it is: of a queue, of a partition, of a scheduler and its profiles, of an object, or a key of a ConfigMap. `*` stands for
    /// anything.
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
const NODES: &str = "the fullest node that fits is taken; a plugin that rates or refuses nodes has no equivalent";
const REQUESTS: &str = "nodes are chosen by what pods request, not by what is used there";
const CPUS: &str = "which CPUs and NUMA nodes a pod has is left to the kubelet";
const OWN_ACCOUNT: &str = "in the cluster its service account is used";
const OTHERS: &str = "pods with required affinity to others, or with DoNotSchedule, are refused";
const VOLUMES: &str = "pods with volumes whose place matters are refused";
const CLAIMS: &str = "pods with resource claims are refused";
const GIVEN_UP: &str = "at its end the gang is given up (WaitTimeout) until its pods are gone and others come, or the TaskGroup is \
                        changed; there its pods go back into the queue";
const LOOKED_AT: &str = "what waits is looked at again as soon as something changes for it";

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
    row(
        "scheduler.leaderElection",
        Same,
        "config.leaderElection has times of its own, and a Lease for each scheduler name",
    ),
    row("scheduler.clientConnection", Nothing, OWN_ACCOUNT),
    row("scheduler.parallelism", Nothing, NO_SETTING),
    row("scheduler.percentageOfNodesToScore", Nothing, "every node counts"),
    row("scheduler.podInitialBackoffSeconds", Same, LOOKED_AT),
    row("scheduler.podMaxBackoffSeconds", Same, LOOKED_AT),
    row("scheduler.extenders", Nothing, "no other program is asked about nodes"),
    row("scheduler.enableProfiling", Nothing, NO_SETTING),
    row("scheduler.enableContentionProfiling", Nothing, NO_SETTING),
    row("scheduler.healthzBindAddress", Nothing, "/livez and /readyz are at config.http.address"),
    row("scheduler.metricsBindAddress", Nothing, "/metrics is at config.http.address"),
    row("scheduler.delayCacheUntilActive", Same, ""),
    row("profile", Nothing, "it enables no Coscheduling: its pods are in no gang, and its name is not served here"),
    row(
        "profile.schedulerName.default-scheduler",
        Nothing,
        "left out, since all pods that name no scheduler would be placed here: those of gangs name gangline in spec.schedulerName",
    ),
    row(
        "profile.schedulerName",
        Value("config.schedulerNames"),
        "served here, so that pods stay as they are; the scheduler of that name must be gone before, since two of them bind the same pods",
    ),
    row("plugin.Coscheduling", Value("config.dialects"), ""),
    row("plugin.ElasticQuota", Same, "Queues are what limits: import the ElasticQuota objects too"),
    row("plugin.CapacityScheduling", Nothing, "its ElasticQuotas are not read: Queues are what limits"),
    row("plugin.Reservation", Nothing, "Koordinator's Reservations are not read; gangs hold their own seats"),
    row("plugin.LoadAwareScheduling", Nothing, REQUESTS),
    row("plugin.TargetLoadPacking", Nothing, REQUESTS),
    row("plugin.LoadVariationRiskBalancing", Nothing, REQUESTS),
    row("plugin.LowRiskOverCommitment", Nothing, REQUESTS),
    row("plugin.NodeNUMAResource", Nothing, CPUS),
    row("plugin.NodeResourceTopologyMatch", Nothing, CPUS),
    row("plugin.DeviceShare", Nothing, "devices are counted whole, as nodes offer them: no share of one is given"),
    row("plugin.DefaultPreBind", Same, ""),
    row("plugin.DefaultBinder", Same, ""),
    row("plugin.PrioritySort", Same, ""),
    row("plugin.SchedulingGates", Same, ""),
    row("plugin.NodeName", Same, ""),
    row("plugin.NodePorts", Same, ""),
    row("plugin.NodeUnschedulable", Same, ""),
    row("plugin.NodeAffinity", Same, ""),
    row("plugin.TaintToleration", Same, ""),
    row("plugin.NodeResourcesFit", Same, "the fullest node that fits is taken, whatever its scoringStrategy"),
    row("plugin.InterPodAffinity", Nothing, OTHERS),
    row("plugin.PodTopologySpread", Nothing, OTHERS),
    row("plugin.VolumeBinding", Nothing, VOLUMES),
    row("plugin.VolumeZone", Nothing, VOLUMES),
    row("plugin.VolumeRestrictions", Nothing, VOLUMES),
    row("plugin.NodeVolumeLimits", Nothing, VOLUMES),
    row("plugin.DynamicResources", Nothing, CLAIMS),
    row("plugin.DefaultPreemption", Nothing, NO_PREEMPTION),
    row("plugin.PreemptionToleration", Nothing, NO_PREEMPTION),
    row("plugin.disabled.*", Nothing, "no rule by which nodes are chosen can be switched off"),
    row("plugin.*", Nothing, NODES),
    row("CoschedulingArgs.defaultTimeout", Value("config.defaultWaitTimeout"), GIVEN_UP),
    row("CoschedulingArgs.permitWaitingTimeSeconds", Value("config.defaultWaitTimeout"), GIVEN_UP),
    row(
        "CoschedulingArgs.permitWaitingTimeSeconds.unset",
        Same,
        "60s there where nothing says it; here one time counts for all, config.defaultWaitTimeout, and a gang is given up at its end",
    ),
    row("CoschedulingArgs.controllerWorkers", Nothing, NO_SETTING),
    row("CoschedulingArgs.skipCheckScheduleCycle", Same, "there are no cycles: a gang is planned as a whole"),
    row("CoschedulingArgs.enablePreemption", Nothing, NO_PREEMPTION),
    row(
        "CoschedulingArgs.awareNetworkTopology",
        Nothing,
        "networks are not read, and gangs that ask for nodes of one are refused",
    ),
    row(
        "CoschedulingArgs.defaultMatchPolicy",
        Nothing,
        "the default is once-satisfied: a gang that wants another says so in its annotation match-policy",
    ),
    row("CoschedulingArgs.podGroupBackoffSeconds", Same, LOOKED_AT),
    row("CoschedulingArgs.deniedPGExpirationTimeSeconds", Same, LOOKED_AT),
    row("CoschedulingArgs.podGroupRejectPercentage", Same, "nothing is held in part"),
    row("CoschedulingArgs.kubeMaster", Nothing, OWN_ACCOUNT),
    row("CoschedulingArgs.kubeConfigPath", Nothing, OWN_ACCOUNT),
    row(
        "PodGroup.spec.minResources",
        Nothing,
        "members count with what they request, those to come like the first that is there",
    ),
    row(
        "PodGroup.spec.priorityClassName",
        Nothing,
        "gangs are ordered by the priority of their pods, whose templates must name the class",
    ),
    row("PodGroup.spec.priority", Nothing, "gangs are ordered by the priority of their pods"),
    row("PodGroup.spec.preemptionPolicy", Nothing, NO_PREEMPTION),
    row("PodGroup.spec.disruptionMode", Nothing, NO_PREEMPTION),
    row("PodGroup.spec.workloadRef", Nothing, "all that counts stands in the PodGroup itself"),
    row(
        "PodGroup.status.phase",
        Same,
        "with this dialect all PodGroups of its kind are let in (Inqueue), whoever schedules their pods: not for a cluster in which \
         Volcano schedules too",
    ),
    row("PodGroup.metadata.deletionTimestamp", Nothing, "it is being deleted, and nothing is made of it"),
    row(
        "ElasticQuota",
        Same,
        "pods name their queue by the label gangline.dev/queue, or their namespace does it for them (spec.namespaceSelector of the Queue)",
    ),
    row(
        "ElasticQuota.own",
        Same,
        "Koordinator makes it itself; root and root.default are there by themselves, without a limit",
    ),
    row("ElasticQuota.spec.max", Field("max"), ""),
    row(
        "ElasticQuota.spec.min",
        Field("guaranteed"),
        "who uses less than that goes first; what goes beyond it is shared by who came first, and never taken back",
    ),
    row("ElasticQuota.is-parent", Same, "a queue with none below it is a leaf here, which pods may name"),
    row(
        "ElasticQuota.shared-weight",
        Nothing,
        "what goes beyond min is shared by priority and who came first, without weights",
    ),
    row("ElasticQuota.allow-lent-resource", Nothing, "what a queue is promised and does not use others may use"),
    row("ElasticQuota.namespaces", Nothing, "a Queue chooses namespaces by their labels: spec.namespaceSelector"),
    row("ElasticQuota.tree-id", Nothing, "there is one tree, of all nodes"),
    row("ElasticQuota.is-root", Nothing, "there is one tree, of all nodes"),
    row("ElasticQuota.*", Same, ""),
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
