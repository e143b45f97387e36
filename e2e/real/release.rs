//! Gangline as users have it: installed by helm from the packed image, as pods on nodes that run containers.

use std::time::Duration;

use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::{codes, container, ended, gang, state};
use crate::breakage::{MEMBERS as OF_GANG, in_the_middle_of_gangs, none_bound_twice};
use crate::harness::Context;
use crate::harness::context::{SLOT, merge, node, phase};
use crate::harness::words::{PLACEHOLDERS, status};
use crate::support::chart;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;
use crate::support::real::WORKER;
use crate::support::tools::Program;

/// How long a Deployment may take: images are on the nodes, but a machine may be busy.
const AVAILABLE_WITHIN: Duration = Duration::from_secs(120);

/// Installs the packed image by helm, under restricted Pod Security, and waits until both replicas are ready.
pub(super) async fn install(t: &Context) -> Result<()> {
    install_with(t, &[]).await
}

/// The same with these options.
pub(super) async fn install_with(t: &Context, options: &[&str]) -> Result<()> {
    let enforce = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    t.everywhere::<Namespace>().create(json!({"metadata": {"name": chart::NAMESPACE, "labels": enforce}})).await?;
    chart::install_with(&Program::Helm.find()?, &t.cluster.kubeconfig, chart::CHART, options)?;
    wait_available(t).await
}

/// Upgrades the release to these values and waits until what runs is of them.
pub(super) async fn upgrade(t: &Context, set: &str) -> Result<()> {
    chart::upgrade_with(&Program::Helm.find()?, &t.cluster.kubeconfig, &["--set", set])?;
    wait_available(t).await
}

fn deployments(t: &Context) -> Objects<Deployment> {
    Objects::<Deployment>::of(&t.client, chart::NAMESPACE).within(AVAILABLE_WITHIN)
}

/// Gangline's own pods.
pub(super) fn replicas(t: &Context) -> Objects<Pod> {
    Objects::<Pod>::of(&t.client, chart::NAMESPACE).within(AVAILABLE_WITHIN)
}

/// All replicas are of the newest template and ready, and no others are left.
async fn wait_available(t: &Context) -> Result<()> {
    let available = |one: &Deployment| {
        let status = one.status.clone().unwrap_or_default();
        let wanted = one.spec.as_ref().and_then(|spec| spec.replicas);
        status.observed_generation == one.metadata.generation
            && [status.replicas, status.updated_replicas, status.available_replicas].iter().all(|now| *now == wanted)
    };
    deployments(t).wait("gangline", "is available", available).await.map(drop)
}

/// Containers in gangs run, succeed, fail, run out of memory and are deleted with a grace period, and the TaskGroup says so.
pub(super) async fn containers(t: &mut Context) -> Result<()> {
    install(t).await?;
    gang(t, "stays", &["1h"]).await?;
    let running = t.wait_running("stays", 3).await?;
    assert!(running.iter().all(|pod| t.taken().iter().any(|taken| taken == node(pod))));
    t.groups().wait("stays", "says that three run", |group| status(group).counts.running == 3).await?;

    gang(t, "succeeds", &["2s"]).await?;
    assert_eq!(codes(&ended(t, "succeeds", "Succeeded").await?), [0, 0, 0]);
    gang(t, "fails", &["2s", "3"]).await?;
    assert_eq!(codes(&ended(t, "fails", "Failed").await?), [3, 3, 3]);
    wait_told(t, "fails", "exit code 3").await?;
    failed_for_good(t).await?;

    hungry(t).await?;
    // A busy containerd may hear of the end before it hears why: then the kubelet says `Error`, with the code of who was killed.
    let ended = ended(t, "hungry", "Failed").await?;
    let killed = ended.iter().filter_map(|pod| state(pod)?.terminated.as_ref());
    let killed: Vec<_> = killed.map(|end| (end.exit_code, end.reason.as_deref() == Some("OOMKilled"))).collect();
    assert!(killed.len() == 3 && killed.iter().all(|(code, is_known)| *code == 137 || *is_known), "{killed:?}");
    let is_known = killed.iter().any(|(_, is_known)| *is_known);
    wait_told(t, "hungry", if is_known { "OOMKilled" } else { "exit code 137" }).await?;

    t.delete_members("stays", 0..3).await?;
    for number in 0..3 {
        t.pods().wait_gone(&format!("stays-{number}")).await?;
    }
    unpullable(t).await?;
    // On a cluster of somebody else's the nodes have no image of ours.
    if t.real_nodes().is_ok() { with_our_pause(t).await } else { Ok(()) }
}

/// Waits until a TaskGroup says that three failed, and how.
async fn wait_told(t: &Context, group: &str, how: &str) -> Result<()> {
    let told = |group: &TaskGroup| status(group).counts.failed == 3 && status(group).message.contains(how);
    t.groups().wait(group, &format!("says that three failed, with {how}"), told).await.map(drop)
}

/// A Job that makes no pod anew has failed for good, and the TaskGroup does not say that all is well.
async fn failed_for_good(t: &Context) -> Result<()> {
    t.group("hopeless", 3, "10m", json!({"placeholderFor": "all", "completionTimeoutSeconds": 1})).await?;
    let mut job = job(t, "hopeless", 3, &container(&["2s", "3"]));
    merge(&mut job, json!({"spec": {"backoffLimit": 0}}));
    t.objects::<Job>().create(job).await?;
    let failed = |job: &Job| {
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Failed" && one.status == "True"))
    };
    t.objects::<Job>().wait("hopeless", "has failed", failed).await?;
    let group = t.wait_reason("hopeless", "SomeFailed").await?;
    assert!(status(&group).message.contains("exit code 3"), "{}", status(&group).message);
    t.objects::<Job>().delete_with("hopeless", &DeleteParams::background()).await
}

/// A Job of a gang: its members, each made anew when it is refused.
fn job(t: &Context, name: &str, members: u32, container: &Value) -> Value {
    let pod = t.pod(name, "10m", json!({"spec": {"restartPolicy": "Never", "containers": [container]}}));
    let template = json!({"metadata": {"labels": {names::TASK_GROUP: name}}, "spec": pod["spec"]});
    json!({"metadata": {"name": name}, "spec": {
        "parallelism": members, "completions": members, "backoffLimit": 1000, "template": template,
    }})
}

/// Members that take memory until they are killed for it.
async fn hungry(t: &Context) -> Result<()> {
    t.group("hungry", 3, "10m", json!({"placeholderFor": "all"})).await?;
    let resources = json!({"requests": {"cpu": "10m"}, "limits": {"memory": "32Mi"}});
    let container = json!({"name": "main", "image": WORKER, "args": ["eat"], "resources": resources});
    for number in 0..3 {
        t.member("hungry", number, "10m", json!({"spec": {"restartPolicy": "Never", "containers": [container]}}))
            .await?;
    }
    Ok(())
}

/// Images that nobody can pull. A member's: it has a node and does not run, and that is what is said. Placeholders': a seat
/// is held by the object, and the swap works.
async fn unpullable(t: &Context) -> Result<()> {
    let nowhere = "nowhere.invalid/program:1";
    t.group("absent", 3, "10m", json!({"placeholderFor": "all"})).await?;
    for number in 0..3 {
        let image = if number == 0 { nowhere } else { WORKER };
        let container = json!({"name": "main", "image": image, "resources": {"requests": {"cpu": "10m"}}});
        t.member("absent", number, "10m", json!({"spec": {"containers": [container]}})).await?;
    }
    t.wait_running("absent", 2).await?;
    let told = |counts: gangline::api::task_group::Counts| (counts.scheduled, counts.running) == (3, 2);
    t.groups().wait("absent", "says that two of three run", |group| told(status(group).counts)).await?;

    upgrade(t, &format!("config.placeholderImage={nowhere}")).await?;
    t.group("held", 3, "10m", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("have a node", 3, |pod| !node(pod).is_empty()).await?;
    for number in 0..3 {
        t.member("held", number, "10m", json!({})).await?;
    }
    t.wait_running("held", 3).await?;
    t.wait_no_placeholders().await
}

/// Placeholders run the image that is built beside the program's.
async fn with_our_pause(t: &Context) -> Result<()> {
    upgrade(t, concat!("config.placeholderImage=gangline-pause:", env!("CARGO_PKG_VERSION"))).await?;
    t.group("paused", 3, "10m", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    for number in 0..3 {
        t.member("paused", number, "10m", json!({})).await?;
    }
    t.wait_running("paused", 3).await?;
    t.wait_no_placeholders().await
}

/// Where the Lease is that says who leads.
pub(super) fn leases(t: &Context) -> Objects<Lease> {
    Objects::of(&t.client, "kube-system")
}

/// Who holds the Lease.
pub(super) fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// The pod that leads.
pub(super) async fn leader(t: &Context) -> Result<Pod> {
    let lease = leases(t).wait("gangline", "has a holder", |lease| !holder(lease).is_empty()).await?;
    let mut all = replicas(t).list("").await?.into_iter();
    let named = all.find(|pod| holder(&lease).starts_with(&pod.name_any()));
    named.ok_or_else(|| Error::new(format!("{} names no pod", holder(&lease))))
}

/// The leader's pod is killed, then all pods are replaced by an upgrade, while gangs start; then the release goes.
pub(super) async fn replicas_come_and_go(t: &mut Context) -> Result<()> {
    install(t).await?;
    in_the_middle_of_gangs(t, "killed", "10m", async {
        let now = DeleteParams::default().grace_period(0);
        replicas(t).delete_with(&leader(t).await?.name_any(), &now).await?;
        wait_available(t).await
    })
    .await?;
    in_the_middle_of_gangs(t, "upgraded", "10m", upgrade(t, "config.log.level=debug")).await?;
    t.wait_no_placeholders().await?;
    if t.plane().is_ok() {
        // On a cluster of somebody else's nobody can read the log of the API server.
        none_bound_twice(t)?;
    }

    // A gang that holds its seats when all of it goes.
    t.group("held", OF_GANG, "10m", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("have a node", OF_GANG as usize, |pod| !node(pod).is_empty()).await?;
    chart::uninstall_with(&Program::Helm.find()?, &t.cluster.kubeconfig, &["--timeout", "5m"])?;
    assert!(t.pods().list(PLACEHOLDERS).await?.is_empty(), "placeholders are left");
    assert!(leases(t).get("gangline").await?.is_none(), "the Lease is left");
    replicas(t).wait_all("", "no replica is left", |pods| pods.is_empty()).await?;
    // What ran runs on.
    let pods = t.pods().list("").await?;
    assert_eq!(pods.iter().filter(|pod| phase(pod) == "Running").count(), pods.len());
    Ok(())
}

/// Gives every node of the test so many of what tests fill nodes with; the kubelet keeps it.
pub(super) async fn give_slots(t: &Context, each: u32) -> Result<()> {
    let nodes = t.everywhere::<Node>();
    let slots = json!({SLOT: each.to_string()});
    for name in t.taken() {
        nodes.patch_status(name, json!({"capacity": slots, "allocatable": slots})).await?;
    }
    let given = |node: &&&Node| {
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        allocatable.is_some_and(|all| all.get(SLOT).is_some_and(|amount| amount.0 == each.to_string()))
    };
    let all_given = |all: &[&Node]| all.iter().filter(given).count() == t.taken().len();
    nodes.wait_all("", "all have slots", all_given).await.map(drop)
}

/// A container that takes one of them.
pub(super) fn in_slot(args: &[&str]) -> Value {
    let resources = json!({"requests": {"cpu": "10m", SLOT: "1"}, "limits": {SLOT: "1"}});
    json!({"name": "main", "image": WORKER, "args": args, "resources": resources})
}

/// What a container of [`in_slot`] asks for.
pub(super) fn slot_ask() -> Value {
    json!({"minResource": {"cpu": "10m", SLOT: "1"}})
}

/// A number from the environment.
pub(super) fn number(name: &str, default: u32) -> Result<u32> {
    std::env::var(name).map_or(Ok(default), |text| text.parse().during(format!("reading {name}")))
}
