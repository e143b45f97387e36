//! Kubelets that die and nodes that go, under running members, under seats that are held, and in the middle of a swap.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::DeleteParams;
use serde_json::json;

use super::release::{give_slots, in_slot, install, slot_ask};
use crate::breakage::{members_of, wait_held, wait_whole};
use crate::harness::Context;
use crate::harness::context::{merge, node, phase};
use crate::harness::words::PLACEHOLDERS;
use crate::support::error::{During, Result};

/// Slots of each of five nodes.
const EACH: u32 = 2;

pub(super) async fn nodes_go(t: &mut Context) -> Result<()> {
    install(t).await?;
    give_slots(t, EACH).await?;

    // A kubelet dies in the middle of a swap, and comes back.
    let held = make_group(t, "restarted", 4).await?;
    open_swap(t, "restarted", 4, &held).await?;
    t.real_nodes()?.kill_kubelet(&held)?;
    still_open(t, "restarted", &held).await?;
    wait_whole(t, "restarted", 4).await?;
    t.pods().wait_all(PLACEHOLDERS, "none is left", |pods| pods.is_empty()).await?;
    remove(t, "restarted", 4).await?;

    // Under running members: their seats are held elsewhere at once, and whoever replaces them gets these.
    let lost = make_group(t, "running", 4).await?;
    make_members(t, "running", 0..4).await?;
    wait_whole(t, "running", 4).await?;
    let members = t.pods().list(&members_of("running")).await?;
    let there: Vec<u32> = (0..4).filter(|number| node(&members[*number as usize]) == lost).collect();
    assert!(!there.is_empty(), "some run on {lost}");
    take_away(t, &lost).await?;
    for number in &there {
        make_members(t, "running", 10 + number..11 + number).await?;
    }
    t.wait_running("running", 4).await?;
    assert!(t.pods().list(&members_of("running")).await?.iter().all(|pod| node(pod) != lost));
    for pod in t.pods().list(&members_of("running")).await? {
        t.pods().delete(&pod.metadata.name.unwrap_or_default()).await?;
    }
    t.groups().delete("running").await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await?;

    // Under seats that are held, with no member there yet.
    let lost = make_group(t, "waits", 4).await?;
    take_away(t, &lost).await?;
    let elsewhere = |pods: &[&Pod]| {
        let held = |pod: &&&Pod| phase(pod) == "Running" && node(pod) != lost;
        pods.len() == 4 && pods.iter().filter(held).count() == 4
    };
    t.pods().wait_all(PLACEHOLDERS, "all are held elsewhere", elsewhere).await?;
    make_members(t, "waits", 0..4).await?;
    wait_whole(t, "waits", 4).await?;
    remove(t, "waits", 4).await?;

    // In the middle of a swap.
    let lost = make_group(t, "swapped", 4).await?;
    open_swap(t, "swapped", 4, &lost).await?;
    t.plane()?.kill_node(&lost)?;
    still_open(t, "swapped", &lost).await?;
    take_out(t, &lost).await?;
    // Whoever owned those that were lost makes others.
    let gone = |pods: &[&Pod]| pods.iter().all(|pod| node(pod) != lost);
    let left = t.pods().wait_all(&members_of("swapped"), "none is on the node that went", gone).await?;
    make_members(t, "swapped", 10..10 + (4 - left.len() as u32)).await?;
    wait_whole(t, "swapped", 4).await
}

/// A TaskGroup whose placeholders run; the node of one of them.
async fn make_group(t: &Context, name: &str, members: u32) -> Result<String> {
    let mut spec = slot_ask();
    // For a restart of the lost, its room is kept.
    merge(&mut spec, json!({"placeholderFor": "all", "seatHoldSeconds": 60}));
    t.group(name, members, "10m", spec).await?;
    let held = wait_held(t, name, members).await?;
    t.wait_placeholders("run", held.len(), |pod| phase(pod) == "Running").await?;
    Ok(node(&held[0]).to_owned())
}

async fn make_members(t: &Context, group: &str, numbers: std::ops::Range<u32>) -> Result<()> {
    for number in numbers {
        t.member(group, number, "10m", json!({"spec": {"containers": [in_slot(&["1h"])]}})).await?;
    }
    Ok(())
}

/// Makes the members, until a swap is open on a node.
async fn open_swap(t: &Context, group: &str, members: u32, at: &str) -> Result<()> {
    let (pods, which, what) = (t.pods(), members_of(group), format!("a swap is open on {at}"));
    let opens = pods.wait_all(&which, &what, |pods| is_open(pods, at));
    tokio::try_join!(make_members(t, group, 0..members), opens).map(drop)
}

/// A member has the room of a placeholder there, which is gone for the API server at once, and does not run yet.
fn is_open(pods: &[&Pod], at: &str) -> bool {
    pods.iter().any(|pod| node(pod) == at && phase(pod) != "Running")
}

/// What was killed could not end the swap any more: it was in the middle of it.
async fn still_open(t: &Context, group: &str, at: &str) -> Result<()> {
    let pods = t.pods().list(&members_of(group)).await?;
    assert!(is_open(&pods.iter().collect::<Vec<_>>(), at), "the swap on {at} was over before anything was killed");
    Ok(())
}

/// A node loses its power, and whoever manages the machines takes it out of the cluster with its pods.
async fn take_away(t: &mut Context, name: &str) -> Result<()> {
    t.plane()?.kill_node(name)?;
    take_out(t, name).await
}

/// Takes a node out of the cluster, with its pods.
async fn take_out(t: &Context, name: &str) -> Result<()> {
    t.everywhere::<Node>().delete(name).await?;
    let now = DeleteParams::default().grace_period(0);
    for pod in t.pods().list("").await?.iter().filter(|pod| node(pod) == name) {
        let pod = pod.metadata.name.as_deref().unwrap_or_default();
        match t.pods().untyped().delete(pod, &now).await {
            // The collector of garbage, or Gangline for a placeholder, may have been faster.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            answer => drop(answer.during(format!("deleting {pod}"))?),
        }
    }
    Ok(())
}

async fn remove(t: &Context, group: &str, members: u32) -> Result<()> {
    t.delete_members(group, 0..members).await?;
    t.groups().delete(group).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await.map(drop)
}
