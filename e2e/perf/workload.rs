//! What is to be scheduled, and how it gets into the API server.

use std::fmt;

use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kube::Client;
use serde::Serialize;
use serde_json::{Value, json};

use super::contestant::Contestant;
use super::dialect::Declaration;
use crate::support::error::{During, Result};

/// Requests in flight while objects are made.
const IN_FLIGHT: usize = 32;

/// Begins the name of every pod that counts; placeholders' begin differently.
pub(super) const MEMBER: &str = "member-";

/// A workload on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Name {
    /// One gang of 1000
    Large,
    /// 500 gangs of 20
    Medium,
    /// 10 000 pods without a gang
    Singletons,
}

impl Name {
    pub(super) const ALL: [Self; 3] = [Self::Large, Self::Medium, Self::Singletons];

    /// What it is made of; a tenth of it, to try.
    pub(super) const fn of(self, quick: bool) -> Workload {
        match (self, quick) {
            (Self::Large, false) => Workload { gangs: 1, size: 1_000 },
            (Self::Large, true) => Workload { gangs: 1, size: 100 },
            (Self::Medium, false) => Workload { gangs: 500, size: 20 },
            (Self::Medium, true) => Workload { gangs: 50, size: 20 },
            (Self::Singletons, false) => Workload { gangs: 10_000, size: 1 },
            (Self::Singletons, true) => Workload { gangs: 1_000, size: 1 },
        }
    }
}

/// A number of equal gangs; gangs of one are plain pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Workload {
    pub(super) gangs: usize,
    pub(super) size: usize,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.has_gangs() {
            write!(f, "{}×{}", self.gangs, self.size)
        } else {
            write!(f, "{} singletons", self.gangs)
        }
    }
}

impl Workload {
    /// Whether its pods belong to gangs.
    pub(super) const fn has_gangs(self) -> bool {
        self.size > 1
    }

    /// Whether it is many gangs. Of one alone, what is written as time passes (its status while it grows, the Lease) is not what a
    /// gang costs.
    pub(super) const fn has_many_gangs(self) -> bool {
        self.has_gangs() && self.gangs > 1
    }

    /// How often it is measured in a round: one run of half a second says little.
    pub(super) const fn repeats(self) -> u32 {
        if self.pods() < 10_000 { 3 } else { 1 }
    }

    /// Pods of all gangs.
    pub(super) const fn pods(self) -> usize {
        self.gangs * self.size
    }

    /// The gang of a pod, from its name.
    pub(super) fn gang_of(pod: &str) -> Option<usize> {
        pod.strip_prefix(MEMBER)?.split('-').next()?.parse().ok()
    }

    /// Creates everything as the contestant wants it.
    pub(super) async fn create(self, client: &Client, contestant: Contestant) -> Result<()> {
        self.create_from(client, contestant, 0).await
    }

    /// The same with gangs that have numbers from this one on.
    pub(super) async fn create_from(self, client: &Client, contestant: Contestant, first: usize) -> Result<()> {
        self.create_groups(client, contestant, first).await?;
        let gangs = first..first + self.gangs;
        let pods = gangs.flat_map(|gang| (0..self.size).map(move |member| (gang, member)));
        post_pods(client, pods.map(|(gang, member)| self.pod(gang, member, contestant))).await
    }

    /// Creates the task groups alone, or what declares them, if the contestant takes any.
    pub(super) async fn create_groups(self, client: &Client, contestant: Contestant, first: usize) -> Result<()> {
        if !self.has_gangs() {
            return Ok(());
        }
        let gangs = first..first + self.gangs;
        if let Some(extra) = contestant.gang_spec() {
            let groups = gangs.map(|gang| self.group(gang, &extra));
            return post_all(client, "/apis/gangline.dev/v1alpha1/namespaces/default/taskgroups", groups).await;
        }
        let Some(words) = contestant.words() else { return Ok(()) };
        let Some(Declaration { path, .. }) = words.declaration(first, self.size) else { return Ok(()) };
        let objects = gangs.filter_map(|gang| words.declaration(gang, self.size)).map(|declared| declared.object);
        post_all(client, &path, objects).await
    }

    fn group(self, gang: usize, extra: &Value) -> Value {
        let mut spec = json!({"minMember": self.size, "minResource": {"cpu": "100m", "memory": "128Mi"}});
        extra.as_object().into_iter().flatten().for_each(|(key, value)| spec[key] = value.clone());
        json!({
            "apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup",
            "metadata": {"name": format!("gang-{gang}")}, "spec": spec,
        })
    }

    /// A pod of a gang.
    pub(super) fn pod(self, gang: usize, member: usize, contestant: Contestant) -> Value {
        let mut metadata = match (self.has_gangs(), contestant.words()) {
            (false, _) => json!({}),
            (true, Some(words)) => words.marks(gang, self.size),
            (true, None) => json!({"labels": {"gangline.dev/task-group": format!("gang-{gang}")}}),
        };
        metadata["name"] = json!(format!("{MEMBER}{gang}-{member}"));
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {
                "schedulerName": contestant.scheduler_name(),
                "automountServiceAccountToken": false,
                "containers": [{
                    "name": "main", "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                }],
            },
        })
    }
}

/// Where pods are made.
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Creates one pod.
pub(super) async fn post_pod(client: &Client, pod: Value) -> Result<()> {
    post(client, PODS, pod.to_string()).await
}

/// Creates many pods.
pub(super) async fn post_pods(client: &Client, pods: impl Iterator<Item = Value>) -> Result<()> {
    post_all(client, PODS, pods).await
}

async fn post_all(client: &Client, path: &str, objects: impl Iterator<Item = Value>) -> Result<()> {
    let posts = stream::iter(objects).map(|object| post(client, path, object.to_string()));
    posts.buffer_unordered(IN_FLIGHT).try_collect().await
}

/// Posts one object; an answer that is no success is an error.
async fn post(client: &Client, path: &str, body: String) -> Result<()> {
    let step = "creating an object";
    let request =
        Request::post(path).header("content-type", "application/json").body(body.into_bytes()).during(step)?;
    client.request_text(request).await.during(step).map(drop)
}
