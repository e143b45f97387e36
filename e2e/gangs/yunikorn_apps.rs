//! What scenarios in YuniKorn's words say often: an application with one task group, its pods, and what becomes of them.

use std::ops::Range;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::yunikorn::{APP_ID, GROUP, GROUPS, PARAMETERS};
use crate::harness::Context;
use crate::harness::context::{merge, phase};
use crate::harness::words::{PLACEHOLDERS, is_bound, is_placeholder, label, status};
use crate::support::error::Result;

/// Requests in flight while members are made.
const IN_FLIGHT: usize = 16;

/// An application with one task group.
#[derive(Clone, Copy)]
pub(super) struct App<'a> {
    pub(super) t: &'a Context,
    pub(super) id: &'a str,
    pub(super) min: u32,
    pub(super) cpu: &'a str,
    pub(super) queue: Option<&'a str>,
    /// `schedulingPolicyParameters`.
    pub(super) parameters: &'a str,
    /// Where its placeholders go, beside to the nodes of the test.
    pub(super) node: Option<&'a str>,
}

/// What a pod is in its application.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Of the task group.
    Member,
    /// Outside of it.
    Originator,
}

impl<'a> App<'a> {
    pub(super) const fn new(t: &'a Context, id: &'a str, min: u32, cpu: &'a str) -> Self {
        Self { t, id, min, cpu, queue: None, parameters: "", node: None }
    }

    /// A pod of the application, which declares its task group; `patch` is merged into it.
    pub(super) fn object(&self, name: &str, cpu: &str, role: Role, patch: Value) -> Value {
        let mut group = json!({"name": "all", "minMember": self.min, "minResource": {"cpu": self.cpu}});
        merge(&mut group, self.t.placement());
        if let Some(node) = self.node {
            merge(&mut group, json!({"nodeSelector": on_node(node)}));
        }
        let mut annotations = json!({GROUPS: json!([group]).to_string()});
        if role == Role::Member {
            annotations[GROUP] = json!("all");
        }
        if !self.parameters.is_empty() {
            annotations[PARAMETERS] = json!(self.parameters);
        }
        let mut labels = json!({APP_ID: self.id});
        if let Some(queue) = self.queue {
            labels["queue"] = json!(queue);
        }
        let metadata = json!({"metadata": {"labels": labels, "annotations": annotations}});
        let mut pod = self.t.pod(name, cpu, metadata);
        merge(&mut pod, patch);
        pod
    }

    /// Creates one pod of the application.
    pub(super) async fn pod(&self, name: &str, cpu: &str, role: Role, patch: Value) -> Result<Pod> {
        self.t.pods().create(self.object(name, cpu, role, patch)).await
    }

    /// The first pod of the application: it declares the gang, and its seats are reserved.
    pub(super) async fn driver(&self) -> Result<()> {
        self.pod(&format!("{}-driver", self.id), "100m", Role::Originator, json!({})).await.map(drop)
    }

    /// Members of these numbers.
    pub(super) async fn members(&self, numbers: Range<u32>) -> Result<()> {
        self.members_with(numbers, &json!({})).await
    }

    /// Members of these numbers into which a patch is merged.
    pub(super) async fn members_with(&self, numbers: Range<u32>, patch: &Value) -> Result<()> {
        let names = stream::iter(numbers.map(|number| format!("{}-{number}", self.id)));
        let created = names
            .map(async |name: String| self.pod(&name, self.cpu, Role::Member, patch.clone()).await)
            .buffer_unordered(IN_FLIGHT);
        created.try_for_each(|_| std::future::ready(Ok(()))).await
    }

    /// Waits until so many of its own pods run.
    pub(super) async fn wait_run(&self, count: usize) -> Result<Vec<Pod>> {
        let run =
            |pods: &[&Pod]| pods.iter().filter(|pod| !is_placeholder(pod) && phase(pod) == "Running").count() == count;
        self.t.pods().wait_all(&format!("{APP_ID}={}", self.id), "they run", run).await
    }

    /// Waits until its TaskGroup says so.
    pub(super) async fn wait_reason(&self, reason: &str) -> Result<TaskGroup> {
        let of_it = |group: &TaskGroup| group.spec.application_id.as_deref() == Some(self.id);
        let says = |groups: &[&TaskGroup]| {
            groups.iter().find(|group| of_it(group)).is_some_and(|group| status(group).reason == reason)
        };
        let groups = self.t.groups().wait_all("", &format!("{} is {reason}", self.id), says).await?;
        Ok(groups.into_iter().find(of_it).expect("it says so"))
    }
}

/// Selects one node.
pub(super) fn on_node(node: &str) -> Value {
    json!({"kubernetes.io/hostname": node})
}

/// Waits until so many placeholders run.
pub(super) async fn held(t: &Context, count: usize) -> Result<Vec<Pod>> {
    t.wait_placeholders("hold the seats", count, |pod| phase(pod) == "Running").await
}

/// Whether an application has placeholders among these.
pub(super) fn has_placeholders(pods: &[&Pod], application: &str) -> bool {
    pods.iter().any(|pod| is_placeholder(pod) && label(pod, names::APPLICATION) == application)
}

/// Waits until a gang that comes now holds a seat: by then one that came earlier would, too, if it were to reserve.
pub(super) async fn outlast_first_look(t: &Context) -> Result<()> {
    App::new(t, "newcomer", 2, "100m").members(0..1).await?;
    let holds = |pods: &[&Pod]| {
        pods.iter().any(|pod| is_bound(pod) && is_placeholder(pod) && label(pod, names::APPLICATION) == "newcomer")
    };
    t.pods().wait_all(PLACEHOLDERS, "the newcomer holds a seat", holds).await.map(drop)
}

/// Deletes pods, one after the other.
pub(super) async fn delete_one_by_one(t: &Context, pods: &[Pod]) -> Result<()> {
    for pod in pods {
        t.pods().delete(&pod.name_any()).await?;
        t.pods().wait_gone(&pod.name_any()).await?;
    }
    Ok(())
}
