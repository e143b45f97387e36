//! Gangs on nodes that kube-scheduler fills meanwhile, with a DaemonSet and with pods of nobody.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::release::{give_slots, in_slot, install, slot_ask};
use crate::breakage::{members_of, wait_held, wait_whole};
use crate::harness::Context;
use crate::harness::context::{TEST, merge, phase};
use crate::harness::words::{is_bound, status};
use crate::support::error::Result;

/// Slots of each of three nodes.
const EACH: u32 = 2;
/// Members of each gang: all slots.
const SEATS: u32 = 6;
/// Slots that a DaemonSet takes.
const NODES: u32 = 3;

pub(super) async fn filled_meanwhile(t: &mut Context) -> Result<()> {
    install(t).await?;
    give_slots(t, EACH).await?;

    // The room is taken, and comes back in two parts: the gang takes none of the first.
    run_daemons(t, "agents", json!({})).await?;
    let others: Vec<String> = (0..SEATS - NODES).map(|number| format!("other-{number}")).collect();
    for name in &others {
        let patch = json!({"spec": {"schedulerName": "default-scheduler", "containers": [in_slot(&[])]}});
        t.pods().create(t.pod(name, "10m", patch)).await?;
        t.pods().wait(name, "runs", |pod| phase(pod) == "Running").await?;
    }
    make_group(t, "late").await?;
    make_members(t, "late").await?;
    starts_after(t, "late", "agents", async {
        t.wait_reason("late", "WaitingForCapacity").await?;
        for name in &others {
            t.pods().delete(name).await?;
        }
        Ok(())
    })
    .await?;

    // The room is held, and kube-scheduler takes half of it for what is more important: placeholders are pods of no
    // priority. Then the rest is of no use.
    make_group(t, "displaced").await?;
    wait_held(t, "displaced", SEATS).await?;
    run_daemons(t, "urgent", json!({"spec": {"priorityClassName": "system-node-critical"}})).await?;
    make_members(t, "displaced").await?;
    starts_after(t, "displaced", "urgent", async { Ok(()) }).await
}

/// Does something; the gang sees that there is room for half of it, and no member has a node. All of them have one once the
/// DaemonSet is gone. Then the gang goes.
async fn starts_after(t: &Context, group: &str, daemons: &str, work: impl Future<Output = Result<()>>) -> Result<()> {
    let half = format!("{} of {SEATS}", SEATS - NODES);
    let none_bound = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let sees = async {
        work.await?;
        let sees = |group: &TaskGroup| status(group).message.contains(&half);
        t.groups().wait(group, "sees room for half of it", sees).await.map(drop)
    };
    t.pods().always(&members_of(group), "no member has a node", none_bound, sees).await?;
    t.objects::<DaemonSet>().delete_with(daemons, &DeleteParams::background()).await?;
    wait_whole(t, group, SEATS).await?;
    t.delete_members(group, 0..SEATS).await?;
    t.groups().delete(group).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await.map(drop)
}

async fn make_group(t: &Context, name: &str) -> Result<()> {
    let mut spec = slot_ask();
    merge(&mut spec, json!({"placeholderFor": "all"}));
    t.group(name, SEATS, "10m", spec).await.map(drop)
}

async fn make_members(t: &Context, group: &str) -> Result<()> {
    for number in 0..SEATS {
        t.member(group, number, "10m", json!({"spec": {"containers": [in_slot(&["1h"])]}})).await?;
    }
    Ok(())
}

/// A DaemonSet that takes a slot of each node; `patch` is merged into its pods.
async fn run_daemons(t: &Context, name: &str, patch: Value) -> Result<()> {
    let labels = json!({"app": name});
    let mut template = json!({"metadata": {"labels": labels}, "spec": {
        "nodeSelector": {TEST: t.id}, "terminationGracePeriodSeconds": 1, "containers": [in_slot(&[])],
    }});
    merge(&mut template, patch);
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    t.objects::<DaemonSet>().create(json!({"metadata": {"name": name}, "spec": spec})).await?;
    let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == NODES as usize;
    t.pods().wait_all(&format!("app={name}"), "every node runs one", run).await.map(drop)
}
