//! Kubelets that are not heard of for a while, and a leader whose node is cut off; both come back.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::release::{give_slots, holder, in_slot, install, leader, leases, replicas, slot_ask};
use super::{container, uids};
use crate::breakage::{in_the_middle_of_gangs, none_bound_twice, wait_held, wait_whole};
use crate::harness::context::{merge, node, phase};
use crate::harness::words::{PLACEHOLDERS, status};
use crate::harness::{Context, Needs};
use crate::support::components::Options;
use crate::support::error::Result;
use crate::support::nodes::is_ready;

/// Slots of each of three nodes.
const EACH: u32 = 3;
/// Seats that are held when the kubelet goes: all slots but those of the two gangs that run.
const HELD: u32 = 3 * EACH - 4;

/// The taint of a node that is not heard of.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Controllers that lose patience with a kubelet after seconds, which takes minutes on a cluster.
pub(super) fn needs() -> Needs {
    let flags = ["--node-monitor-grace-period=12s", "--node-monitor-period=1s"];
    Needs::RealNodes(Options { controller_flags: flags.map(str::to_owned).into(), ..Options::real(3) })
}

pub(super) async fn kubelet_returns(t: &mut Context) -> Result<()> {
    install(t).await?;
    give_slots(t, EACH).await?;
    let away = t.taken()[0].clone();
    // One gang stays where it is however long that takes, as pods do for five minutes unless they say otherwise; another's
    // pods leave such a node at once; and a third one holds the room that is left.
    run_two(t, "stays", &away, &json!([])).await?;
    let leave = json!({"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0});
    run_two(t, "leaves", &away, &json!([leave])).await?;
    let mut spec = slot_ask();
    merge(&mut spec, json!({"placeholderFor": "all"}));
    t.group("held", HELD, "10m", spec).await?;
    wait_held(t, "held", HELD).await?;
    let stays = t.wait_running("stays", 2).await?;

    t.real_nodes()?.take_kubelet_away(&away)?;
    bound_to_nobody(t, &away).await?;
    not_heard_of(t, &away).await?;
    t.real_nodes()?.let_kubelet_return(&away)?;
    t.everywhere::<Node>().wait(&away, "is Ready again", is_ready).await?;

    // Who stayed was never touched, who was bound meanwhile runs, and who was to leave is gone.
    wait_counts(t, "bound", (2, 2)).await?;
    let back = t.wait_running("stays", 2).await?;
    assert_eq!((uids(&back), restarts(&back)), (uids(&stays), 0));
    t.pods().wait_gone("leaves-0").await?;
    wait_whole(t, "leaves", 2).await?;
    wait_held(t, "held", HELD).await?;
    for number in 0..HELD {
        t.member("held", number, "10m", json!({"spec": {"containers": [in_slot(&["1h"])]}})).await?;
    }
    wait_whole(t, "held", HELD).await
}

/// A node whose kubelet stays.
fn elsewhere(t: &Context) -> &str {
    &t.taken()[1]
}

/// A gang of two, of which the first is on a certain node, and the second elsewhere.
async fn run_two(t: &Context, name: &str, on: &str, tolerations: &Value) -> Result<()> {
    let mut spec = slot_ask();
    merge(&mut spec, json!({"reservation": "Direct"}));
    t.group(name, 2, "10m", spec).await?;
    for (number, node) in [on, elsewhere(t)].into_iter().enumerate() {
        let mut pod = member(&in_slot(&["1h"]), Some(node));
        merge(&mut pod, json!({"spec": {"tolerations": tolerations}}));
        t.member(name, number as u32, "10m", pod).await?;
    }
    wait_whole(t, name, 2).await
}

/// What makes a pod one of this container, on a certain node if one is given.
fn member(container: &Value, node: Option<&str>) -> Value {
    let mut pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    if let Some(node) = node {
        merge(&mut pod, json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": node}}}));
    }
    pod
}

/// A gang of two is placed, one of them where no kubelet is: it has a node, and that is all that is said of it.
async fn bound_to_nobody(t: &Context, away: &str) -> Result<()> {
    t.group("bound", 2, "10m", json!({"reservation": "Direct"})).await?;
    for (number, node) in [away, elsewhere(t)].into_iter().enumerate() {
        t.member("bound", number as u32, "10m", member(&container(&["1h"]), Some(node))).await?;
    }
    wait_counts(t, "bound", (2, 1)).await
}

/// Waits until a TaskGroup says that so many of its members have a node, and so many run.
async fn wait_counts(t: &Context, group: &str, (scheduled, running): (u32, u32)) -> Result<()> {
    let told = |group: &TaskGroup| {
        let counts = status(group).counts;
        (counts.scheduled, counts.running) == (scheduled, running)
    };
    t.groups().wait(group, &format!("says that {scheduled} have a node and {running} run"), told).await.map(drop)
}

/// What is said and done while a node is not heard of.
async fn not_heard_of(t: &Context, away: &str) -> Result<()> {
    t.everywhere::<Node>().wait(away, "is not heard of", |node| !is_ready(node)).await?;
    let named = |group: &TaskGroup| status(group).message.contains(away);
    t.groups().wait("stays", "names the node that is not ready", named).await?;
    // Who is to leave is still there: nobody knows whether it runs. Who comes in its place runs elsewhere, in the room of
    // seats that are held for nobody any more, since not all of them are.
    t.pods().wait("leaves-0", "is to leave", |pod| pod.metadata.deletion_timestamp.is_some()).await?;
    t.member("leaves", 10, "10m", member(&in_slot(&["1h"]), None)).await?;
    let other = t.pods().wait("leaves-10", "runs", |pod| phase(pod) == "Running").await?;
    assert_ne!(node(&other), away);
    assert!(t.pods().get("leaves-0").await?.is_some(), "it is gone, and nobody said that it has ended");
    let none_there = |pods: &[&Pod]| pods.iter().all(|pod| node(pod) != away);
    t.pods().wait_all(PLACEHOLDERS, "no seat is held there", none_there).await?;
    wait_counts(t, "bound", (2, 1)).await
}

fn restarts(pods: &[Pod]) -> i32 {
    let statuses = pods.iter().filter_map(|pod| pod.status.as_ref()?.container_statuses.as_ref());
    statuses.flatten().map(|container| container.restart_count).sum()
}

/// The node of the leader is cut off, so that for all that the API server knows its pod runs on. Another one leads all the
/// same, and goes on with what was half done; the one of before follows when it hears of it.
pub(super) async fn leader_is_cut_off(t: &mut Context) -> Result<()> {
    install(t).await?;
    let first = leader(t).await?;
    let (name, there) = (first.name_any(), node(&first));
    in_the_middle_of_gangs(t, "cut", "10m", async {
        t.real_nodes()?.cut_off(there, true)?;
        let others = |lease: &Lease| !holder(lease).is_empty() && !holder(lease).starts_with(&name);
        leases(t).wait("gangline", "is another's", others).await?;
        let shown = replicas(t).get(&name).await?;
        assert_eq!(shown.as_ref().map(phase), Some("Running"), "nobody could say so");
        t.real_nodes()?.cut_off(there, false)
    })
    .await?;
    assert_ne!(leader(t).await?.name_any(), name);
    t.wait_no_placeholders().await?;
    none_bound_twice(t)
}
