//! Queues by namespace: gangs that name no queue go into the one that their namespace has, within its limits.

use futures::future::try_join_all;
use gangline::api::queue::{LeafStatus, Queue};
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use serde_json::json;

use super::middles::{Middle, Scenario};
use crate::harness::Context;
use crate::harness::context::{TEST, phase};
use crate::harness::words::{MEMBERS, is_bound, status};
use crate::support::error::Result;
use crate::support::objects::Objects;

pub(super) fn scenarios() -> Vec<Scenario> {
    // The name of the queue is made of that of the test twice, and may have 63 characters.
    vec![Scenario::new("gangs: by namespace", 2, |t, middle| Box::pin(fifty(t, middle)))]
}

/// Gangs of two pods.
const GANGS: u32 = 50;
/// So many of them run at once: the quota of the namespace.
const AT_ONCE: usize = 4;
/// The pretended nodes let a pod run so long.
const RUN_FOR: (&str, &str) = ("gangline.dev/demo-run-for", "500ms");
/// In YuniKorn's words, what the queue of a namespace may use.
const QUOTA: &str = "yunikorn.apache.org/namespace.quota";

async fn fifty(t: &mut Context, middle: &Middle) -> Result<()> {
    let above = format!("root.{}", t.id);
    let own = format!("{above}.{}", t.namespace);
    let annotation = json!({"metadata": {"annotations": {QUOTA: format!("{{\"cpu\": \"{}\"}}", 2 * AT_ONCE)}}});
    t.everywhere::<Namespace>().patch(&t.namespace.clone(), annotation).await?;
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": t.namespace}});
    let spec = json!({"namespaceSelector": selector, "childTemplate": {"max": {"cpu": "1"}, "maxApplications": 9}});
    t.queue_at(&above, spec).await?;
    let is_seen = |queue: &Queue| queue.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
    t.everywhere::<Queue>().wait(&above, "is seen", is_seen).await?;

    let few = |pods: &[&Pod]| {
        let running = pods.iter().filter(|pod| is_bound(pod) && phase(pod) != "Succeeded").count();
        running <= 2 * AT_ONCE
    };
    t.pods().always(MEMBERS, "no more run than the quota lets", few, all_run(t, &own, middle)).await?;
    refused_elsewhere(t, &own).await?;
    // It takes half a minute, and is the same after a restart.
    if middle.kills() { Ok(()) } else { shown(t, &above, &own).await }
}

/// Gangs that have run in the middle.
const IN_THE_MIDDLE: usize = 10;

/// Every gang runs to its end in the queue of its namespace.
async fn all_run(t: &Context, own: &str, middle: &Middle) -> Result<()> {
    let one = async |number: u32| {
        let name = format!("g{number:02}");
        t.group(&name, 2, "1", json!({"reservation": "Direct", "completionTimeoutSeconds": 3600})).await?;
        for member in 0..2 {
            let annotations = json!({"metadata": {"annotations": {RUN_FOR.0: RUN_FOR.1}}});
            t.member(&name, member, "1", annotations).await?;
        }
        t.groups().wait(&name, "has run", |group| status(group).counts.succeeded == 2).await
    };
    let some_have_run = |groups: &[&TaskGroup]| {
        groups.iter().filter(|group| status(group).counts.succeeded == 2).count() >= IN_THE_MIDDLE
    };
    let in_the_middle = async {
        t.groups().wait_all("", "some have run", some_have_run).await?;
        middle.pass().await
    };
    let (groups, ()) = tokio::try_join!(try_join_all((0..GANGS).map(one)), in_the_middle)?;
    assert!(groups.iter().all(|group| status(group).queue == own), "all of them in {own}");
    Ok(())
}

/// Another namespace may not use it, and has its own way.
async fn refused_elsewhere(t: &mut Context, own: &str) -> Result<()> {
    let other = t.add_namespace("b", json!({})).await?;
    let pods = Objects::<Pod>::of(&t.client, &other);
    let elsewhere = json!({"metadata": {"namespace": other}});
    let mut named = t.pod("named", "1", elsewhere.clone());
    named["metadata"]["labels"] = json!({"gangline.dev/queue": own});
    pods.create(named).await?;
    pods.create(t.pod("unnamed", "1", elsewhere)).await?;
    pods.wait("unnamed", "runs", |pod| phase(pod) == "Running").await?;
    let refused = |pod: &Pod| crate::harness::words::why_waits(pod).0 == "QueueNotOpen";
    pods.wait("named", "is refused", refused).await.map(drop)
}

/// The queue above tells of it, with the limits of the annotation as it is now; and so do the commands.
async fn shown(t: &mut Context, above: &str, own: &str) -> Result<()> {
    t.group("last", 1, "1", json!({"reservation": "Direct"})).await?;
    t.members("last", 0..1, "1").await?;
    t.wait_running("last", 1).await?;
    let leaf = |queue: &Queue| -> Option<LeafStatus> {
        let status = queue.status.clone()?;
        status.leaves.into_iter().find(|leaf| leaf.name == own)
    };
    let cpu = |leaf: &LeafStatus| leaf.max.get("cpu").map(|cpu| cpu.0.clone());
    let wide = json!({"metadata": {"annotations": {QUOTA: "{\"cpu\": \"100\"}"}}});
    t.everywhere::<Namespace>().patch(&t.namespace.clone(), wide).await?;
    let is_wide = |queue: &Queue| leaf(queue).is_some_and(|leaf| cpu(&leaf).as_deref() == Some("100"));
    t.everywhere::<Queue>().wait(above, "shows what the namespace says now", is_wide).await?;
    let wrong = json!({"metadata": {"annotations": {QUOTA: "100"}}});
    t.everywhere::<Namespace>().patch(&t.namespace.clone(), wrong).await?;
    let is_wrong = |queue: &Queue| {
        let leaf = leaf(queue);
        let says = leaf.as_ref().and_then(|leaf| leaf.problem.as_deref()).is_some_and(|text| text.contains(QUOTA));
        says && leaf.is_some_and(|leaf| cpu(&leaf).as_deref() == Some("100"))
    };
    t.everywhere::<Queue>().wait(above, "shows what is wrong, and what counts", is_wrong).await?;
    let (code, queues) = t.gangline(&["queue", above])?;
    assert!(code == Some(0) && queues.contains(&format!("{own} (dynamic)")), "{queues}");
    let (code, why) = t.gangline(&["why", "tg/last"])?;
    assert!(code == Some(0) && why.contains(&format!("the namespaceSelector of {above}")), "{why}");

    // Another label, and what comes goes where everybody's work goes; what runs stays.
    t.everywhere::<Queue>()
        .patch(above, json!({"spec": {"namespaceSelector": {"matchLabels": {TEST: "nobody"}}}}))
        .await?;
    let drains = |queue: &Queue| leaf(queue).and_then(|leaf| leaf.problem).is_some_and(|text| text.contains("drains"));
    t.everywhere::<Queue>().wait(above, "shows that it drains", drains).await?;
    t.group("new", 1, "1", json!({"reservation": "Direct"})).await?;
    t.members("new", 0..1, "1").await?;
    t.wait_running("new", 1).await?;
    let group = t.groups().wait("new", "says where it is", |group| !status(group).queue.is_empty()).await?;
    assert_eq!(status(&group).queue, "root.default");
    let last = t.groups().wait("last", "is where it was", |group| status(group).counts.running == 1).await?;
    assert_eq!(status(&last).queue, own);
    Ok(())
}
