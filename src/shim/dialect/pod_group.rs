//! PodGroup objects: what is said there of the gang whose pods name it. Four systems have such a kind in API groups of their own:
//! two with the same fields (`scheduling.sigs.k8s.io` Koordinator, `scheduling.x-k8s.io` scheduler-plugins), Volcano
//! (`scheduling.volcano.sh`), whose has some more and no time to wait, and Kubernetes itself (`scheduling.k8s.io`), whose has others.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::marker::PhantomData;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kubernetes::InitiallyScheduled;
use super::{Declared, coscheduling, koordinator, kubernetes, volcano};
use crate::api::task_group::{MatchPolicy, Mode, Reservation, TaskGroupSpec};
use crate::core::base::ids::{Text, Uid};
use crate::core::model::countdown::Deadline;
use crate::core::reason::SpecError;
use crate::shim::group_check::{MAX_MEMBERS, range_of};
use crate::shim::kinds::Kind;
use crate::shim::spec_errors::Errors;

/// Name of these kinds.
const KIND: &str = "PodGroup";

/// A system that has a kind PodGroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// Koordinator.
    Koordinator,
    /// The Coscheduling plugin of kube-scheduler, of the project scheduler-plugins.
    Coscheduling,
    /// Volcano.
    Volcano,
    /// Kubernetes itself.
    Kubernetes,
}

impl System {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Koordinator, Self::Coscheduling, Self::Volcano, Self::Kubernetes];

    /// Whose kind this is.
    pub fn of(kind: Kind) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.kind() == kind)
    }

    /// The API group of its kind.
    pub const fn api_group(self) -> &'static str {
        match self {
            Self::Koordinator => "scheduling.sigs.k8s.io",
            Self::Coscheduling => "scheduling.x-k8s.io",
            Self::Volcano => "scheduling.volcano.sh",
            Self::Kubernetes => "scheduling.k8s.io",
        }
    }

    /// The version of its kind.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Koordinator | Self::Coscheduling => "v1alpha1",
            Self::Volcano | Self::Kubernetes => "v1beta1",
        }
    }

    /// Group and version of its kind.
    pub fn api_version(self) -> String {
        format!("{}/{}", self.api_group(), self.version())
    }

    /// The label by which a pod names an object of its kind; Volcano's pods have an annotation instead, those of Kubernetes a field.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Koordinator => koordinator::POD_GROUP,
            Self::Coscheduling => coscheduling::POD_GROUP,
            Self::Volcano => volcano::GROUP_NAME,
            Self::Kubernetes => kubernetes::GROUP_NAME,
        }
    }

    /// The field of its kind that says how many start together.
    const fn size_field(self) -> &'static str {
        match self {
            Self::Koordinator | Self::Coscheduling | Self::Volcano => "spec.minMember",
            Self::Kubernetes => "spec.schedulingPolicy.gang.minCount",
        }
    }

    /// Its kind.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Koordinator => Kind::KoordinatorPodGroup,
            Self::Coscheduling => Kind::CoschedulingPodGroup,
            Self::Volcano => Kind::VolcanoPodGroup,
            Self::Kubernetes => Kind::KubernetesPodGroup,
        }
    }

    /// Whether its PodGroups say more of a gang than its number and its time: a mode, a match policy, and how many belong to it.
    pub const fn has_annotations(self) -> bool {
        match self {
            Self::Koordinator => true,
            Self::Coscheduling | Self::Volcano | Self::Kubernetes => false,
        }
    }

    /// Whether one of its PodGroups that is deleted stays as long as a pod that has not ended names it: who waits for it would keep it
    /// there for ever.
    pub const fn stays_while_named(self) -> bool {
        match self {
            Self::Koordinator | Self::Coscheduling | Self::Volcano => false,
            Self::Kubernetes => true,
        }
    }

    /// Whether those who write its PodGroups make no pods before one says that they may, by its phase.
    pub const fn lets_in(self) -> bool {
        match self {
            Self::Koordinator | Self::Coscheduling | Self::Kubernetes => false,
            Self::Volcano => true,
        }
    }
}

/// A system as a type, so that each has a kind of its own.
pub trait Family: Clone + Copy + Debug + Default + Send + Sync + 'static {
    /// Which.
    const SYSTEM: System;
}

/// [`System::Koordinator`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Koordinator;

/// [`System::Coscheduling`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Coscheduling;

/// [`System::Volcano`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Volcano;

/// [`System::Kubernetes`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Kubernetes;

impl Family for Koordinator {
    const SYSTEM: System = System::Koordinator;
}

impl Family for Coscheduling {
    const SYSTEM: System = System::Coscheduling;
}

impl Family for Volcano {
    const SYSTEM: System = System::Volcano;
}

impl Family for Kubernetes {
    const SYSTEM: System = System::Kubernetes;
}

/// A PodGroup of one of these systems. What decides nothing is left out, such as `minResources`, which Koordinator does not read
/// either. Of the fields of its spec each system has some.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(bound = "")]
pub struct PodGroup<F> {
    /// Its metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default)]
    pub spec: PodGroupSpec,
    /// What its system, or we, said of its gang last.
    #[serde(default)]
    pub status: Value,
    #[serde(skip)]
    family: PhantomData<F>,
}

/// What a PodGroup asks for.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct PodGroupSpec {
    /// How many pods start together.
    pub min_member: Option<i64>,
    /// Seconds for which some of them may have found nodes and not all.
    pub schedule_timeout_seconds: Option<i64>,
    /// The queue, in Volcano.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// How many of each task start together, in Volcano.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_task_member: Option<BTreeMap<String, i64>>,
    /// Within which domain of the network, in Volcano.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
    /// Groups within the group, in Volcano.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_group_policy: Option<Vec<Value>>,
    /// How its pods start, in Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
    /// Within which domain of nodes, in Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_constraints: Option<Value>,
    /// Which claims of devices its pods share, in Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_claims: Option<Vec<Value>>,
    /// The group of groups that it is a part of, in Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_composite_pod_group_name: Option<String>,
    /// The priority, in Kubernetes, where admission writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
}

/// How the pods of a PodGroup of Kubernetes' start: one of these.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct SchedulingPolicy {
    /// Each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic: Option<BasicPolicy>,
    /// So many together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangPolicy>,
    /// What this version of the API does not have.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// Each pod of a PodGroup of Kubernetes' starts by itself, of which there is no more to say.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct BasicPolicy {
    /// What this version of the API does not have.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// How many pods of a PodGroup of Kubernetes' start together.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct GangPolicy {
    /// The least number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_count: Option<i64>,
    /// What this version of the API does not have.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// Within which domain of the network the pods of a PodGroup of Volcano's are to be.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct NetworkTopology {
    /// `hard` or `soft`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What we say of a gang in the status of its PodGroup; what else stands there is somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodGroupStatus {
    /// How far it is.
    pub phase: String,
    /// How many have a node and have not ended, where the system says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<u32>,
    /// How many run.
    pub running: u32,
    /// How many have succeeded.
    pub succeeded: u32,
    /// How many have failed.
    pub failed: u32,
    /// All that is said in that of one of Kubernetes', which is written in a way of its own.
    #[serde(skip)]
    pub condition: Option<InitiallyScheduled>,
}

impl PodGroupStatus {
    /// What stands in a status of this system's; none where there is no status at all. What makes no sense there counts as nothing.
    pub fn read(system: System, status: &Value) -> Option<Self> {
        let fields = status.as_object()?;
        if system == System::Kubernetes {
            return Some(Self { condition: InitiallyScheduled::read(status), ..Self::default() });
        }
        let count = |name: &str| fields.get(name).and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
        let phase = fields.get("phase").and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            // The longest word that either system has is shorter.
            phase: phase.chars().take(PHASE_MAX).collect(),
            scheduled: count("scheduled"),
            running: count("running").unwrap_or(0),
            succeeded: count("succeeded").unwrap_or(0),
            failed: count("failed").unwrap_or(0),
            condition: None,
        })
    }
}

/// Longest phase that is kept.
const PHASE_MAX: usize = 32;
/// The phase of a PodGroup of which too few pods are there; of Volcano's also of one that is not let in yet.
pub const PENDING: &str = "Pending";
/// The phase of one of Volcano's that its makers may make pods for.
pub const LET_IN: &str = "Inqueue";

impl<F: Family> Resource for PodGroup<F> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        KIND.into()
    }
    fn group((): &()) -> Cow<'_, str> {
        F::SYSTEM.api_group().into()
    }
    fn version((): &()) -> Cow<'_, str> {
        F::SYSTEM.version().into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "podgroups".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What one source says of a gang: a pod or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// How many start together.
    pub min_member: Option<u32>,
    /// How many belong to it.
    pub total_member: Option<u32>,
    /// Seconds for which some may have found nodes and not all.
    pub wait_seconds: Option<u32>,
    /// Whether seats are held one by one.
    pub mode: Option<Mode>,
    /// Who counts once the gang has started.
    pub match_policy: Option<MatchPolicy>,
    /// The gangs with which it starts, as `namespace/name`, itself among them. None where that is not said; alone where it is empty.
    pub team: Option<BTreeSet<String>>,
}

/// What is kept of a PodGroup.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// With whom a TaskGroup goes that is made of it.
    owner: OwnerReference,
    terms: Terms,
    /// The queue, which counts where a pod names none.
    queue: Option<Text>,
    /// The priority that its pods are to have, where it says one.
    priority: Option<i64>,
    /// What is wrong: nothing is made of it.
    pub problems: Vec<SpecError>,
    /// What was read otherwise than it is written, for people.
    pub warnings: Vec<Text>,
}

/// Reads a PodGroup; `None` of one that is going, unless it stays as long as pods name it.
pub fn read<F: Family>(group: &PodGroup<F>) -> Option<Found> {
    if group.metadata.deletion_timestamp.is_some() && !F::SYSTEM.stays_while_named() {
        return None;
    }
    let said = match F::SYSTEM {
        System::Koordinator | System::Coscheduling => group.spec.min_member,
        System::Volcano => Some(volcano::min_member(group.spec.min_member)),
        System::Kubernetes => kubernetes::min_count(&group.spec),
    };
    let min_member = said.and_then(|min| u32::try_from(min).ok()).filter(|min| (1..=MAX_MEMBERS).contains(min));
    let mut errors = Errors::default();
    let problem = format!("must be a number from 1 to {MAX_MEMBERS}");
    errors.unless(min_member.is_some(), F::SYSTEM.size_field(), problem);
    let (mut terms, mut queue, mut warnings) = (Terms { min_member, ..Terms::default() }, None, Vec::new());
    match F::SYSTEM {
        System::Koordinator => {
            let by_field = wait_seconds(&group.spec);
            (terms, warnings) = koordinator::of_object(&group.metadata, min_member, by_field, &mut errors);
        }
        System::Coscheduling => terms.wait_seconds = wait_seconds(&group.spec),
        System::Volcano => (queue, warnings) = volcano::of_object(&group.spec, min_member, &mut errors),
        System::Kubernetes => {
            terms.total_member = kubernetes::total_count(&group.spec);
            kubernetes::check(&group.spec, &mut errors);
        }
    }
    let (owner, priority, problems) = (owner(group), group.spec.priority, errors.into_sorted());
    Some(Found { owner, terms, queue, priority, problems, warnings })
}

/// How long some may have found nodes and not all. Neither system that has a time takes 0 or less for one, nor says anything of it.
fn wait_seconds(spec: &PodGroupSpec) -> Option<u32> {
    let (least, most) = range_of(Deadline::Wait);
    let wait = spec.schedule_timeout_seconds.filter(|seconds| *seconds > 0)?;
    Some(u32::try_from(wait).unwrap_or(most).clamp(least, most))
}

/// With whom a TaskGroup goes that is made of a PodGroup.
fn owner<F: Family>(group: &PodGroup<F>) -> OwnerReference {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    OwnerReference {
        api_version: F::SYSTEM.api_version(),
        kind: KIND.to_owned(),
        name: text(&group.metadata.name),
        uid: text(&group.metadata.uid),
        // It controls the TaskGroup in no way, and nothing of it waits for the TaskGroup's end.
        ..OwnerReference::default()
    }
}

/// A pod names a PodGroup: what it says itself, which counts before what is said there.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Whose object that is.
    pub system: System,
    /// Its name, in the pod's namespace, which is that of the TaskGroup.
    pub name: Text,
    /// The queue that the pod names.
    pub(super) queue: Option<Text>,
    /// What the pod requests, which is all that is known of how large members are.
    pub(super) min_resource: BTreeMap<String, Quantity>,
    pub(super) terms: Terms,
    /// Seconds that the gang waits where neither says it; none: for ever.
    pub(super) wait_seconds: Option<u32>,
    /// The pod's priority, where its system wants the object's to be the same.
    pub(super) priority: Option<i32>,
}

impl Reference {
    /// The object, for people: `PodGroup g of scheduling.x-k8s.io`.
    pub fn words(&self) -> Text {
        format!("PodGroup {} of {}", self.name, self.system.api_group()).into()
    }

    /// Whether the pod leaves it all to the object.
    pub fn says_nothing_itself(&self) -> bool {
        self.terms == Terms::default()
    }

    /// What was read of the object otherwise than it is written, or decides nothing beside what the pod says.
    pub fn warnings(&self, found: &Found) -> Vec<Text> {
        let of_pod = self.priority.map(i64::from);
        let differs = of_pod.zip(found.priority).filter(|(of_pod, of_object)| of_pod != of_object);
        let warning = differs.map(|(of_pod, of_object)| -> Text {
            format!("spec.priority: {of_object} is left out: pods count with their own, which is {of_pod} here").into()
        });
        found.warnings.iter().cloned().chain(warning).collect()
    }

    /// The TaskGroup that is made of the object.
    ///
    /// # Errors
    /// What is wrong with the object.
    pub fn declared(&self, found: &Found) -> Result<Declared, Vec<SpecError>> {
        if !found.problems.is_empty() {
            return Err(found.problems.clone());
        }
        let Terms { min_member, total_member, wait_seconds, mode, match_policy, team } = &self.terms;
        let team = team.as_ref().or(found.terms.team.as_ref()).cloned().unwrap_or_default();
        let spec = Agreed {
            name: &self.name,
            queue: self.queue.clone().or_else(|| found.queue.clone()),
            min_member: min_member.or(found.terms.min_member).unwrap_or(1),
            total_member: total_member.or(found.terms.total_member),
            min_resource: self.min_resource.clone(),
            wait_seconds: wait_seconds.or(found.terms.wait_seconds).or(self.wait_seconds),
            mode: mode.or(found.terms.mode).unwrap_or_default(),
            match_policy: match_policy.or(found.terms.match_policy).unwrap_or_default(),
            team: &team,
        };
        Ok(Declared { name: self.name.clone(), spec: spec.task_group(), owner: found.owner.clone() })
    }
}

/// The PodGroup of which a TaskGroup was made, with its UID; none where it was made of no such object.
pub fn origin(metadata: &ObjectMeta) -> Option<(System, Uid)> {
    let mut owners = metadata.owner_references.iter().flatten().filter(|owner| owner.kind == KIND);
    owners.find_map(|owner| {
        let system = System::ALL.into_iter().find(|system| system.api_version() == owner.api_version)?;
        Some((system, Uid::new(owner.uid.as_str())))
    })
}

/// All that is said of a gang.
#[derive(Debug)]
pub(super) struct Agreed<'a> {
    pub(super) name: &'a str,
    pub(super) queue: Option<Text>,
    pub(super) min_member: u32,
    /// Fewer than start together count as these: of what a pod says itself and what its object says, one may not know the other.
    pub(super) total_member: Option<u32>,
    pub(super) min_resource: BTreeMap<String, Quantity>,
    pub(super) wait_seconds: Option<u32>,
    pub(super) mode: Mode,
    pub(super) match_policy: MatchPolicy,
    pub(super) team: &'a BTreeSet<String>,
}

impl Agreed<'_> {
    /// The gang as a TaskGroup: without placeholders, and of one application with those with which it starts (ADR 36).
    pub(super) fn task_group(self) -> TaskGroupSpec {
        let listed = self.team.iter().filter(|_| self.team.len() > 1).cloned();
        TaskGroupSpec {
            application_id: Some(koordinator::application(self.name, self.team).to_string()),
            queue: self.queue.as_deref().map(str::to_owned),
            min_member: self.min_member,
            total_member: self.total_member.filter(|total| *total > self.min_member),
            min_resource: self.min_resource,
            gang_group: listed.collect(),
            reservation: Reservation::Direct,
            wait_timeout_seconds: self.wait_seconds,
            mode: self.mode,
            match_policy: self.match_policy,
            ..TaskGroupSpec::default()
        }
    }
}
