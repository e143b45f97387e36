//! The same gang in the words of each system: what its users write.

use std::ops::Range;

use gangline::api::names;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};

use super::native::{self, NativeGroup};
use super::pod_groups::{CoschedulingGroup, KoordinatorGroup, VolcanoGroup, define, named, says};
use super::yunikorn_apps::{App, Role, on_node};
use crate::harness::Context;
use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, label};
use crate::support::error::{During, Result};
use crate::support::objects::Objects;

/// Marks the pods of one gang, for those who watch.
const GANG: &str = "e2e.gangline.dev/gang";

/// Whose words, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// A TaskGroup.
    Gangline,
    /// Annotations of YuniKorn.
    YuniKorn,
    /// A PodGroup of Koordinator, which a label names.
    Koordinator,
    /// Annotations of Koordinator.
    KoordinatorAnnotations,
    /// A PodGroup of scheduler-plugins, which a label names.
    Coscheduling,
    /// A PodGroup of Volcano, which an annotation names.
    Volcano,
    /// A PodGroup of Kubernetes' own, which a field names.
    Kubernetes,
}

impl Words {
    /// Those in which a gang does without placeholders, but for our own.
    pub(super) const WITHOUT_PLACEHOLDERS: [Self; 5] =
        [Self::KoordinatorAnnotations, Self::Koordinator, Self::Coscheduling, Self::Volcano, Self::Kubernetes];

    /// Those in which annotations say more of a gang than its number, on each pod or on its PodGroup: with which others it starts, who
    /// counts once it has started, and that it has timed out. None of the other systems has a word for any of these.
    pub(super) const OF_KOORDINATOR: [Self; 2] = [Self::KoordinatorAnnotations, Self::Koordinator];

    /// Name of a gang in these words; the suffix tells it from others.
    pub(super) fn gang(self, suffix: &str) -> String {
        format!("{self:?}{suffix}").to_lowercase()
    }

    /// Defines the kind of the objects that declare such gangs, where Gangline does not bring it.
    pub(super) async fn define(self, t: &Context) -> Result<()> {
        match self {
            Self::Gangline | Self::YuniKorn | Self::KoordinatorAnnotations | Self::Kubernetes => Ok(()),
            Self::Koordinator => define::<KoordinatorGroup>(t).await,
            Self::Coscheduling => define::<CoschedulingGroup>(t).await,
            Self::Volcano => define::<VolcanoGroup>(t).await,
        }
    }

    /// The kind of the objects that declare such gangs; none where pods alone do.
    fn kind(self) -> Option<ApiResource> {
        fn of<G: Resource<DynamicType = ()>>() -> ApiResource {
            ApiResource::erase::<G>(&())
        }
        match self {
            Self::Gangline | Self::YuniKorn | Self::KoordinatorAnnotations => None,
            Self::Koordinator => Some(of::<KoordinatorGroup>()),
            Self::Coscheduling => Some(of::<CoschedulingGroup>()),
            Self::Volcano => Some(of::<VolcanoGroup>()),
            Self::Kubernetes => Some(of::<NativeGroup>()),
        }
    }

    /// The spec of an object that says so many start together.
    fn spec(self, min: u32) -> Value {
        match self {
            Self::Gangline | Self::YuniKorn | Self::KoordinatorAnnotations | Self::Koordinator | Self::Coscheduling => {
                json!({"minMember": min})
            }
            Self::Volcano => json!({"minMember": min, "queue": "default"}),
            Self::Kubernetes => native::gang(min),
        }
    }

    /// What says how many seconds some may have found nodes and not all. YuniKorn bounds how long placeholders are there instead, and
    /// in Volcano and Kubernetes nobody gives a gang up for having waited.
    pub(super) fn waits(self, seconds: u32) -> Option<Value> {
        match self {
            Self::KoordinatorAnnotations => {
                let waiting_time = json!({"gang.scheduling.koordinator.sh/waiting-time": format!("{seconds}s")});
                Some(json!({"metadata": {"annotations": waiting_time}}))
            }
            Self::Koordinator | Self::Coscheduling => Some(json!({"spec": {"scheduleTimeoutSeconds": seconds}})),
            Self::Gangline => Some(json!({"spec": {"waitTimeoutSeconds": seconds}})),
            Self::YuniKorn | Self::Volcano | Self::Kubernetes => None,
        }
    }
}

/// What a gang waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lack {
    /// Some of its members are not there.
    Members,
    /// All are there, and not all find nodes.
    Room,
}

/// A gang of pods that request the same.
pub(super) struct Gang<'a> {
    pub(super) words: Words,
    pub(super) name: String,
    /// Where it lies, if not in the namespace of the test. TaskGroups are always there.
    pub(super) namespace: Option<&'a str>,
    pub(super) min: u32,
    pub(super) cpu: &'a str,
    /// Where its pods go, if not to all nodes of the test.
    pub(super) node: Option<&'a str>,
    /// What is said of it beside its number: merged into the object that declares it, or into each pod where pods alone do.
    pub(super) terms: Value,
    /// Merged into each pod.
    pub(super) patch: Value,
}

impl<'a> Gang<'a> {
    /// One of which no more is said; the suffix tells its name from others.
    pub(super) fn new(words: Words, suffix: &str, min: u32, cpu: &'a str) -> Self {
        let (name, terms, patch) = (words.gang(suffix), json!({}), json!({}));
        Self { words, name, namespace: None, min, cpu, node: None, terms, patch }
    }

    /// Makes the object that declares it, where there is one.
    pub(super) async fn declare(&self, t: &Context) -> Result<()> {
        if self.words == Words::Gangline {
            let mut object = json!({"spec": {"reservation": "Direct"}});
            merge(&mut object, self.terms.clone());
            return t.group(&self.name, self.min, self.cpu, object["spec"].take()).await.map(drop);
        }
        let Some(kind) = self.words.kind() else { return Ok(()) };
        let mut object = json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.name},
                                "spec": self.words.spec(self.min)});
        merge(&mut object, self.terms.clone());
        let step = format!("declaring {}", self.name);
        let object: DynamicObject = serde_json::from_value(object).during(&step)?;
        self.api(t, &kind).create(&PostParams::default(), &object).await.during(&step).map(drop)
    }

    /// Says that so many start together: in the object that declares it, or where pods alone do in the TaskGroup that was made of what
    /// they say, if that has its name (YuniKorn's has not).
    pub(super) async fn resize(&self, t: &Context, min: u32) -> Result<()> {
        let spec = json!({"spec": self.words.spec(min)});
        let Some(kind) = self.words.kind() else { return t.groups().patch(&self.name, spec).await.map(drop) };
        let resized = self.api(t, &kind).patch(&self.name, &PatchParams::default(), &Patch::Merge(spec)).await;
        resized.during(format!("resizing {}", self.name)).map(drop)
    }

    /// Its pods of these numbers go, and then what declares it.
    pub(super) async fn end(&self, t: &Context, numbers: Range<u32>) -> Result<()> {
        let pods = self.pods(t);
        for number in numbers.clone() {
            pods.delete(&self.member(number)).await?;
        }
        for number in numbers {
            pods.wait_gone(&self.member(number)).await?;
        }
        self.withdraw(t).await
    }

    /// The object that declares it goes, where there is one.
    pub(super) async fn withdraw(&self, t: &Context) -> Result<()> {
        if self.words == Words::Gangline {
            return t.groups().delete(&self.name).await;
        }
        let Some(kind) = self.words.kind() else { return Ok(()) };
        let deleted = self.api(t, &kind).delete(&self.name, &DeleteParams::default()).await;
        deleted.during(format!("deleting what declares {}", self.name)).map(drop)
    }

    /// The objects of a kind where it lies.
    fn api(&self, t: &Context, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(t.client.clone(), self.namespace.unwrap_or(&t.namespace), kind)
    }

    /// The pods where it lies.
    fn pods(&self, t: &Context) -> Objects<Pod> {
        Objects::of(&t.client, self.namespace.unwrap_or(&t.namespace))
    }

    /// What makes a pod a member.
    fn marks(&self, t: &Context) -> Value {
        let name = &self.name;
        let metadata = match self.words {
            Words::Gangline => json!({"labels": {names::TASK_GROUP: name}}),
            Words::YuniKorn => {
                let app = App { node: self.node, ..App::new(t, name, self.min, self.cpu) };
                let pod = app.object(name, self.cpu, Role::Member, json!({}));
                json!({"labels": pod["metadata"]["labels"], "annotations": pod["metadata"]["annotations"]})
            }
            Words::Koordinator => named::<KoordinatorGroup>(name),
            Words::KoordinatorAnnotations => json!({"annotations": {
                "gang.scheduling.koordinator.sh/name": name,
                "gang.scheduling.koordinator.sh/min-available": self.min.to_string(),
            }}),
            Words::Coscheduling => named::<CoschedulingGroup>(name),
            Words::Volcano => named::<VolcanoGroup>(name),
            Words::Kubernetes => return native::named(name),
        };
        json!({"metadata": metadata})
    }

    /// Name of a member.
    pub(super) fn member(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// A member.
    pub(super) fn pod(&self, t: &Context, number: u32) -> Value {
        let mut pod = t.pod(&self.member(number), self.cpu, self.marks(t));
        merge(&mut pod, json!({"metadata": {"labels": {GANG: self.name}}}));
        if let Some(namespace) = self.namespace {
            merge(&mut pod, json!({"metadata": {"namespace": namespace}}));
        }
        if let Some(node) = self.node {
            merge(&mut pod, json!({"spec": {"nodeSelector": on_node(node)}}));
        }
        if matches!(self.words, Words::YuniKorn | Words::KoordinatorAnnotations) {
            merge(&mut pod, self.terms.clone());
        }
        merge(&mut pod, self.patch.clone());
        pod
    }

    /// Creates members of these numbers.
    pub(super) async fn create(&self, t: &Context, numbers: Range<u32>) -> Result<()> {
        let pods = self.pods(t);
        for number in numbers {
            pods.create(self.pod(t, number)).await?;
        }
        Ok(())
    }

    /// How many of these are members that have nodes.
    pub(super) fn bound(&self, pods: &[&Pod]) -> usize {
        pods.iter().filter(|pod| label(pod, GANG) == self.name && is_bound(pod)).count()
    }

    /// Waits until exactly so many members have nodes.
    pub(super) async fn wait_bound(&self, t: &Context, count: u32) -> Result<()> {
        let bound = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == count as usize;
        let what = format!("{count} of {} have nodes", self.name);
        self.pods(t).wait_all(&self.selector(), &what, bound).await.map(drop)
    }

    /// Waits until exactly so many members run.
    pub(super) async fn wait_running(&self, t: &Context, count: u32) -> Result<()> {
        let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == count as usize;
        self.pods(t).wait_all(&self.selector(), &format!("{count} of {} run", self.name), run).await.map(drop)
    }

    /// Waits until its PodGroup, where it has one, says that so many run.
    pub(super) async fn wait_said(&self, t: &Context, running: u32) -> Result<()> {
        let (name, running) = (&self.name, u64::from(running));
        match self.words {
            Words::Gangline | Words::YuniKorn | Words::KoordinatorAnnotations => Ok(()),
            Words::Koordinator => says::<KoordinatorGroup>(t, name, "Running", running).await,
            Words::Coscheduling => says::<CoschedulingGroup>(t, name, "Running", running).await,
            Words::Volcano => says::<VolcanoGroup>(t, name, "Running", running).await,
            // It does not say how many run.
            Words::Kubernetes => native::says_placed(t, name).await,
        }
    }

    /// Waits until its PodGroup, where it has one, says that it waits, and for what if it has a word for that.
    pub(super) async fn wait_said_to_lack(&self, t: &Context, lack: Lack) -> Result<()> {
        let name = &self.name;
        let (phase, reason) = match lack {
            Lack::Members => ("Pending", "WaitingForMembers"),
            Lack::Room => ("Scheduling", "Unschedulable"),
        };
        match self.words {
            Words::Gangline | Words::YuniKorn | Words::KoordinatorAnnotations => Ok(()),
            Words::Koordinator => says::<KoordinatorGroup>(t, name, phase, 0).await,
            Words::Coscheduling => says::<CoschedulingGroup>(t, name, phase, 0).await,
            // Whoever makes the pods of one that is Pending would wait with them.
            Words::Volcano => says::<VolcanoGroup>(t, name, "Inqueue", 0).await,
            Words::Kubernetes => native::says(t, name, ("False", reason)).await,
        }
    }

    /// Selects its members.
    pub(super) fn selector(&self) -> String {
        format!("{GANG}={}", self.name)
    }
}
