//! Members that have CPUs to themselves (the kubelet's static CPU manager), on nodes that have no other to give.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::release::install_with;
use crate::breakage::{wait_held, wait_whole};
use crate::harness::context::{node, phase};
use crate::harness::words::PLACEHOLDERS;
use crate::harness::{Context, Needs};
use crate::support::components::Options;
use crate::support::error::{Error, Result};
use crate::support::real::WORKER;

/// Members, and nodes, each of which has one CPU to give.
const MEMBERS: u32 = 3;
/// Seconds in which members may end once they are told to.
const GRACE: u64 = 6;

/// All CPUs of this machine but the last are the system's, on every node.
pub(super) fn needs() -> Needs {
    let kubelet = json!({"cpuManagerPolicy": "static", "reservedSystemCPUs": format!("0-{}", exclusive() - 1)});
    Needs::RealNodes(Options { kubelet, ..Options::real(MEMBERS as u8) })
}

/// The CPU that nodes give.
fn exclusive() -> usize {
    available_parallelism().map_or(1, |cpus| cpus.get().max(2) - 1)
}

/// Placeholders have the CPUs, too: they ask for what the members ask for, whole CPUs as their limit. A kubelet takes a
/// member only when it has its placeholder's back, and refuses for good whoever comes too early.
pub(super) async fn cpus(t: &mut Context) -> Result<()> {
    // All that nodes have is for the gangs.
    install_with(t, &["--set", "resources.requests.cpu=0"]).await?;
    make_group(t, "first").await?;
    for placeholder in wait_held(t, "first", MEMBERS).await? {
        let name = placeholder.metadata.name.unwrap_or_default();
        has_the_cpu(t, &t.pods().wait(&name, "runs", |pod| phase(pod) == "Running").await?)?;
    }
    make_members(t, "first", "stay").await?;
    follow(t, "first").await?;

    // Another one waits for the same CPUs, and goes on waiting while the first ends: its members do not when they are told to.
    make_group(t, "second").await?;
    make_members(t, "second", "1h").await?;
    t.wait_reason("second", "WaitingForCapacity").await?;
    let told = Instant::now();
    t.delete_members("first", 0..MEMBERS).await?;
    let ended = async {
        for number in 0..MEMBERS {
            t.pods().wait_gone(&format!("first-{number}")).await?;
        }
        Ok(told.elapsed())
    };
    let what = "no node has a member of each of two gangs";
    let took = t.pods().always(&format!("!{PLACEHOLDERS}"), what, one_on_each, ended).await?;
    assert!(took >= Duration::from_secs(GRACE), "ended after {took:?}");
    follow(t, "second").await
}

/// Of the members that have not ended no two are on the same node.
fn one_on_each(pods: &[&Pod]) -> bool {
    let live = |pod: &&&Pod| !node(pod).is_empty() && !["Succeeded", "Failed"].contains(&phase(pod));
    let mut nodes: Vec<&str> = pods.iter().filter(live).map(|pod| node(pod)).collect();
    let all = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len() == all
}

async fn make_group(t: &Context, name: &str) -> Result<()> {
    let spec = json!({"placeholderFor": "all", "minResource": ask()});
    t.group(name, MEMBERS, "1", spec).await.map(drop)
}

fn ask() -> Value {
    json!({"cpu": "1", "memory": "64Mi"})
}

async fn make_members(t: &Context, group: &str, does: &str) -> Result<()> {
    let resources = json!({"requests": ask(), "limits": ask()});
    let container = json!({"name": "main", "image": WORKER, "args": [does], "resources": resources});
    let spec = json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": GRACE, "containers": [container]});
    for number in 0..MEMBERS {
        t.member(group, number, "1", json!({"spec": spec})).await?;
    }
    Ok(())
}

/// All members run, none was refused, and each has a CPU to itself.
async fn follow(t: &Context, group: &str) -> Result<()> {
    wait_whole(t, group, MEMBERS).await?;
    for pod in t.wait_running(group, MEMBERS as usize).await? {
        has_the_cpu(t, &pod)?;
    }
    Ok(())
}

fn has_the_cpu(t: &Context, pod: &Pod) -> Result<()> {
    let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
    let container = status.and_then(|status| status.container_id.as_deref()?.rsplit('/').next());
    let container = container.ok_or_else(|| Error::new("the pod runs and names no container"))?;
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    assert_eq!(t.real_nodes()?.cpus_of(node(pod), uid, container)?, exclusive().to_string());
    Ok(())
}
