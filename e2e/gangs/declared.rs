//! The same gang in the words of each system: what its users write.

use std::ops::Range;

use gangline::api::names;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::native;
use super::pod_groups::{CoschedulingGroup, KoordinatorGroup, VolcanoGroup, declare, define, named, says};
use super::yunikorn_apps::{App, Role, on_node};
use crate::harness::Context;
use crate::harness::context::{merge, phase};
use crate::harness::words::is_bound;
use crate::support::error::Result;

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
}

/// A gang of pods that request the same.
pub(super) struct Gang<'a> {
    pub(super) words: Words,
    pub(super) name: String,
    pub(super) min: u32,
    pub(super) cpu: &'a str,
    /// Where its pods go, if not to all nodes of the test.
    pub(super) node: Option<&'a str>,
    /// Merged into each pod.
    pub(super) patch: Value,
}

impl Gang<'_> {
    /// Makes the object that declares it, where there is one.
    pub(super) async fn declare(&self, t: &Context) -> Result<()> {
        let (name, min) = (&self.name, self.min);
        let spec = json!({"minMember": min});
        match self.words {
            Words::Gangline => t.group(name, min, self.cpu, json!({"reservation": "Direct"})).await.map(drop),
            Words::YuniKorn | Words::KoordinatorAnnotations => Ok(()),
            Words::Koordinator => declare::<KoordinatorGroup>(t, name, &spec).await,
            Words::Coscheduling => declare::<CoschedulingGroup>(t, name, &spec).await,
            Words::Volcano => declare::<VolcanoGroup>(t, name, &json!({"minMember": min, "queue": "default"})).await,
            Words::Kubernetes => native::declare(t, name, min).await,
        }
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
        if let Some(node) = self.node {
            merge(&mut pod, json!({"spec": {"nodeSelector": on_node(node)}}));
        }
        merge(&mut pod, self.patch.clone());
        pod
    }

    /// Creates members of these numbers.
    pub(super) async fn create(&self, t: &Context, numbers: Range<u32>) -> Result<()> {
        for number in numbers {
            t.pods().create(self.pod(t, number)).await?;
        }
        Ok(())
    }

    /// Waits until exactly so many members have nodes.
    pub(super) async fn wait_bound(&self, t: &Context, count: u32) -> Result<()> {
        let bound = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == count as usize;
        let what = format!("{count} of {} have nodes", self.name);
        t.pods().wait_all(&self.selector(), &what, bound).await.map(drop)
    }

    /// Waits until exactly so many members run.
    pub(super) async fn wait_running(&self, t: &Context, count: u32) -> Result<()> {
        let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == count as usize;
        t.pods().wait_all(&self.selector(), &format!("{count} of {} run", self.name), run).await.map(drop)
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

    /// Selects its members.
    pub(super) fn selector(&self) -> String {
        format!("{GANG}={}", self.name)
    }
}
