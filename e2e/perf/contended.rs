//! Swaps on nodes that are exactly full while pods of kube-scheduler wait for the room: how often one of these gets in
//! between. Nodes are objects only, so that nothing but the control plane and the two schedulers needs the machine; what a
//! kubelet would refuse is seen from what both bound.

use std::path::Path;

use ::gangline::api::names::PLACEHOLDER;
use ::gangline::api::task_group::TaskGroup;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::DeleteParams;
use serde::Serialize;
use serde_json::{Value, json};

use super::contestant::{self, Contestant};
use super::swaps::{all_bound, gaps_ms, is_bound, lengths};
use super::workload::{MEMBER, post_pod};
use crate::gangline;
use crate::support::audit;
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::Result;
use crate::support::nodes::NodeSet;
use crate::support::objects::Objects;
use crate::support::scheduler::{Launch, Scheduler};

/// How many gangs follow each other.
const GANGS: usize = 50;
/// Nodes, and pods that each has room for: the seats of one gang.
const NODES: u32 = 3;
const EACH: u32 = 2;
const SEATS: usize = (NODES * EACH) as usize;
/// Begins the names of pods of kube-scheduler.
const OTHER: &str = "other-";

/// What became of the gangs of one run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Contended {
    /// Which build.
    build: String,
    gangs: usize,
    /// Gangs of which some members were bound, and others lost their room.
    in_part: usize,
    /// Gangs that lost all of it before any member was bound: they wait, whole.
    overtaken: usize,
    /// Seats that the other scheduler bound a pod to.
    seats_lost: usize,
    /// Milliseconds that each room belonged to nobody, in order, as far as its member got it.
    gaps_ms: Vec<f64>,
}

/// Makes one run with a build of the scheduler.
pub(super) async fn run(build: &str, binary: &Path) -> Result<Contended> {
    let plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
    Contestant::All.install(&plane).await?;
    plane.add_nodes(&NodeSet::of_cpus("node", NODES, EACH)).await?;
    let client = plane.client();
    let launch = gangline::account(&client, &plane.kubeconfig(), plane.dir()).await?;
    let scheduler = Scheduler::start(&Launch { binary: binary.to_path_buf(), ..launch }).await?;
    let other = contestant::kube_scheduler(&plane)?;
    let (mut members, mut lost) = (Vec::new(), Vec::new());
    for gang in 0..GANGS {
        let seen = one(&client, gang).await?;
        let others = seen.iter().filter(|pod| is_bound(pod) && name(pod).starts_with(OTHER)).count();
        let bound = seen.into_iter().filter(|pod| is_bound(pod) && name(pod).starts_with(MEMBER));
        let before = members.len();
        members.extend(bound);
        lost.push((others, members.len() - before));
    }
    drop((scheduler, other));
    Ok(Contended {
        build: build.to_owned(),
        gangs: GANGS,
        in_part: lost.iter().filter(|(others, bound)| *others > 0 && *bound > 0).count(),
        overtaken: lost.iter().filter(|(others, bound)| *others > 0 && *bound == 0).count(),
        seats_lost: lost.iter().map(|(others, _)| others).sum(),
        gaps_ms: gaps_ms(&members, &audit::read(&plane.audit_log())?),
    })
}

/// One gang: its seats are held, others wait, its members come. What there was once every room was taken.
async fn one(client: &Client, gang: usize) -> Result<Vec<Pod>> {
    let (groups, pods) = (Objects::<TaskGroup>::of(client, "default"), Objects::<Pod>::of(client, "default"));
    let group = format!("gang-{gang}");
    let spec = json!({
        "minMember": SEATS, "minResource": {"cpu": "1"}, "reservation": "Placeholder", "placeholderFor": "all",
    });
    groups.create(json!({"metadata": {"name": group}, "spec": spec})).await?;
    let held = format!("{PLACEHOLDER}=true");
    pods.wait_all(&held, "every seat is held", |pods| all_bound(pods, SEATS)).await?;
    post(client, |number| pod(&format!("{OTHER}{gang}-{number}"), Contestant::KubeScheduler, &json!({}))).await?;
    let wait = |pods: &[&Pod]| pods.iter().filter(|pod| is_unschedulable(pod)).count() == SEATS;
    pods.wait_all("", "others wait", wait).await?;
    let labels = json!({"gangline.dev/task-group": group});
    post(client, |number| pod(&format!("{MEMBER}{gang}-{number}"), Contestant::All, &labels)).await?;
    let taken = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod) && !is_placeholder(pod)).count() >= SEATS;
    let seen = pods.wait_all("", "every room is taken", taken).await?;
    groups.delete(&group).await?;
    clear(&pods).await?;
    Ok(seen)
}

/// Nodes without a kubelet end no pod.
async fn clear(pods: &Objects<Pod>) -> Result<()> {
    for pod in pods.list(&format!("!{PLACEHOLDER}")).await? {
        pods.delete_with(name(&pod), &DeleteParams::default().grace_period(0)).await?;
    }
    pods.wait_all("", "all pods are gone", |pods| pods.is_empty()).await.map(drop)
}

/// All at once.
async fn post(client: &Client, pod: impl Fn(usize) -> Value) -> Result<()> {
    let posts = stream::iter((0..SEATS).map(pod)).map(|pod| post_pod(client, pod));
    posts.buffer_unordered(SEATS).try_collect().await
}

fn pod(name: &str, contestant: Contestant, labels: &Value) -> Value {
    json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedulerName": contestant.scheduler_name(),
            "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1"}}}],
        },
    })
}

fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

fn is_placeholder(pod: &Pod) -> bool {
    pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(PLACEHOLDER))
}

fn is_unschedulable(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let says = |reason: Option<&str>| reason == Some("Unschedulable");
    name(pod).starts_with(OTHER) && conditions.is_some_and(|all| all.iter().any(|one| says(one.reason.as_deref())))
}

impl Contended {
    /// The run in a line.
    pub(super) fn sentence(&self) -> String {
        format!(
            "{} gangs of {SEATS} while {SEATS} pods of kube-scheduler wait: {} in part, {} overtaken as a whole, {} seats lost",
            self.gangs, self.in_part, self.overtaken, self.seats_lost
        )
    }
}

/// Prints each run as a row.
pub(super) fn print(all: &[Contended]) {
    if all.is_empty() {
        return;
    }
    println!(
        "
| build | gangs of {SEATS}, as many pods of kube-scheduler wait | in part | overtaken as a whole | seats lost | from the end of a placeholder to its member's Binding, p50 / p99 / longest |
|---|---:|---:|---:|---:|---:|"
    );
    for run in all {
        let Contended { build, gangs, in_part, overtaken, seats_lost, gaps_ms } = run;
        println!("| {build} | {gangs} | {in_part} | {overtaken} | {seats_lost} | {} |", lengths(gaps_ms));
    }
}
