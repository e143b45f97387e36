//! Queues in an order: what they are promised, their policies, and queues that are stopped.

use gangline::api::names;
use gangline::api::queue::Queue;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use super::restarts::{delete_all, wait_none};
use super::yunikorn::APP_ID;
use super::yunikorn_apps::App;
use crate::harness::words::{is_bound, label, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::Result;
use crate::support::scheduler::Scheduler;

pub(crate) fn tests() -> Vec<Test> {
    let own = Needs::OwnControlPlane(Options::default());
    vec![
        test("queues: each gets what it is promised, over a restart", own, promises).without_gangline(),
        test("queues: a StateAware queue starts one gang at a time, a Fair one takes none", Needs::Nodes(2), policies),
        test("queues: a stopped queue takes nothing new", Needs::Nodes(1), stopped),
    ]
}

/// Pods of one core outside applications, `QUEUE-0` and so on.
async fn singles(t: &Context, queue: &str, count: u32) -> Result<()> {
    for number in 0..count {
        let labels = json!({names::QUEUE: format!("root.{queue}"), "queue-of": queue});
        t.pods().create(t.pod(&format!("{queue}-{number}"), "1", json!({"metadata": {"labels": labels}}))).await?;
    }
    Ok(())
}

/// Waits until six pods have nodes; how many of each queue.
async fn shares(t: &Context) -> Result<[usize; 2]> {
    let six = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == 6;
    let pods = t.pods().wait_all("queue-of", "six have nodes", six).await?;
    let of = |queue: &str| pods.iter().filter(|pod| is_bound(pod) && pod.labels()["queue-of"] == queue).count();
    Ok([of("a"), of("b")])
}

/// Deletes so many pods of a queue that have nodes.
async fn end_some(t: &Context, queue: &str, count: usize) -> Result<()> {
    let pods = t.pods().list(&format!("queue-of={queue}")).await?;
    for pod in pods.iter().filter(|pod| is_bound(pod)).take(count) {
        t.pods().delete(&pod.name_any()).await?;
        t.pods().wait_gone(&pod.name_any()).await?;
    }
    Ok(())
}

async fn promises(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 1, |nodes| nodes.cpu = "6".to_owned()).await?;
    let mut scheduler = t.start_scheduler("gangline", &[]).await?;
    t.queue_at("root.a", json!({"guaranteed": {"cpu": "4"}})).await?;
    t.queue_at("root.b", json!({"guaranteed": {"cpu": "2"}})).await?;
    singles(t, "b", 12).await?;
    assert_eq!(shares(t).await?, [0, 6], "who is promised more asks for nothing");
    singles(t, "a", 12).await?;
    t.wait_pod_reason("a-11", "Unschedulable").await?;
    scheduler.kill9()?;
    end_some(t, "b", 3).await?;
    scheduler.restart().await?;
    assert_eq!(shares(t).await?, [3, 3]);
    end_some(t, "b", 1).await?;
    assert_eq!(shares(t).await?, [4, 2]);
    // What ends comes back to whom it is promised.
    end_some(t, "b", 1).await?;
    assert_eq!(shares(t).await?, [4, 2]);
    end_some(t, "a", 1).await?;
    assert_eq!(shares(t).await?, [4, 2]);
    has_its_promise(t, "root.a").await?;
    delete_all(t, "queue-of").await?;
    wait_none(t, "queue-of").await?;
    promised_to_gangs(t, &mut scheduler).await
}

/// Waits until a queue says that it uses all that it is promised.
async fn has_its_promise(t: &Context, queue: &str) -> Result<()> {
    let whole = |queue: &Queue| queue.status.as_ref().and_then(|status| status.guaranteed_share) == Some(100);
    t.everywhere::<Queue>().wait(queue, "says that it has all of its promise", whole).await.map(drop)
}

/// A gang of each queue waits while the pods of one of them fill the node: first, in YuniKorn's words, one of the queue that uses more
/// than it is promised. Four of six cores become free while no scheduler runs. Half of them would do for that gang, and the one of the
/// other queue needs all: it gets what its queue is promised.
async fn promised_to_gangs(t: &Context, scheduler: &mut Scheduler) -> Result<()> {
    singles(t, "b", 6).await?;
    assert_eq!(shares(t).await?, [0, 6]);
    let first = App { queue: Some("root.b"), ..App::new(t, "gang-b", 2, "1") };
    first.members(0..2).await?;
    first.wait_reason("WaitingForCapacity").await?;
    t.group("gang-a", 4, "1", json!({"queue": "root.a", "reservation": "Direct"})).await?;
    t.members("gang-a", 0..4, "1").await?;
    t.wait_reason("gang-a", "WaitingForCapacity").await?;
    scheduler.kill9()?;
    end_some(t, "b", 4).await?;
    let restarted = async {
        scheduler.restart().await?;
        t.wait_running("gang-a", 4).await
    };
    let is_of_first = |pod: &Pod| label(pod, APP_ID) == first.id || label(pod, names::APPLICATION) == first.id;
    let waits = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod) && is_of_first(pod));
    t.pods().always("", "nobody else gets what is promised", waits, restarted).await?;
    // The two that are left of the singles are in its way.
    end_some(t, "b", 2).await?;
    first.wait_run(2).await?;
    has_its_promise(t, "root.a").await?;
    has_its_promise(t, "root.b").await
}

async fn policies(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    t.queue_at(&queue, json!({"sortPolicy": "StateAware"})).await?;
    for gang in ["one", "two"] {
        t.group(gang, 2, "1", json!({"queue": queue, "placeholderFor": "all"})).await?;
        let reason = if gang == "one" { "WaitingForMembers" } else { "WaitingForStart" };
        let group = t.wait_reason(gang, reason).await?;
        assert!(gang == "one" || status(&group).message.contains("/one "), "{}", status(&group).message);
    }
    t.members("one", 0..2, "1").await?;
    t.wait_running("one", 2).await?;
    t.wait_reason("two", "WaitingForMembers").await?;
    t.everywhere::<Queue>().patch(&queue, json!({"spec": {"sortPolicy": "Fair"}})).await?;
    t.group("three", 2, "1", json!({"queue": queue})).await?;
    t.wait_reason("three", "GangInFairQueue").await?;
    t.wait_running("one", 2).await.map(drop)
}

async fn stopped(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    t.queue_at(&queue, json!({"stopped": true})).await?;
    t.group("gang", 1, "1", json!({"queue": queue, "reservation": "Direct"})).await?;
    t.members("gang", 0..1, "1").await?;
    t.wait_reason("gang", "QueueStopped").await?;
    t.wait_pod_reason("gang-0", "QueueStopped").await?;
    t.everywhere::<Queue>().patch(&queue, json!({"spec": {"stopped": false}})).await?;
    t.wait_running("gang", 1).await.map(drop)
}
