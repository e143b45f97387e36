//! Where YuniKorn's gangs go wrong: the same pods, in its words. Here each gang starts, or says what is wrong.

use gangline::api::queue::Queue;
use k8s_openapi::api::core::v1::{LimitRange, Pod};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::middles::{Middle, Scenario};
use super::yunikorn::APP_ID;
use super::yunikorn_apps::{App, Role, delete_one_by_one, held};
use crate::harness::Context;
use crate::harness::words::{PLACEHOLDERS, is_bound, status};
use crate::support::error::{During, Result};

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new("yunikorn S3: a pending placeholder is deleted, then members come", 1, |t, middle| {
            Box::pin(pending_deleted(t, middle))
        }),
        Scenario::new("yunikorn S15: all bound placeholders are deleted", 1, |t, middle| {
            Box::pin(bound_deleted(t, middle))
        }),
        Scenario::new("yunikorn S5: two gangs of 60 % of a quota", 1, |t, middle| Box::pin(two_of_sixty(t, middle))),
        Scenario::new("yunikorn S6: the quota of a gang without its originator", 1, |t, middle| {
            Box::pin(without_originator(t, middle))
        }),
        Scenario::new("yunikorn S7: a LimitRange changes placeholders", 1, |t, middle| {
            Box::pin(limit_range(t, middle))
        }),
        Scenario::new("yunikorn S11: a member larger than its seat", 1, |t, middle| Box::pin(larger(t, middle))),
        Scenario::new("yunikorn S12: a gang that never fits", 1, |t, middle| Box::pin(never_fits(t, middle))),
    ]
}

async fn pending_deleted(t: &mut Context, middle: &Middle) -> Result<()> {
    let app = App::new(t, "pending", 3, "7");
    app.driver().await?;
    let pending = t.wait_placeholders("wait for nodes", 3, |pod| !is_bound(pod)).await?;
    app.wait_reason("WaitingForCapacity").await?;
    middle.during(delete_one_by_one(t, &pending[..1])).await?;
    t.wait_placeholders("wait for nodes again", 3, |pod| !is_bound(pod)).await?;
    t.add_nodes("more", 1, |_| ()).await?;
    held(t, 3).await?;
    let app = App::new(t, "pending", 3, "7");
    app.members(0..3).await?;
    app.wait_run(4).await.map(drop)
}

/// Their driver runs by then, and the queue holds the gang alone: what they held is kept for the members, while a rival waits for
/// it. A scheduler that did not see them go does not know of them.
async fn bound_deleted(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = t.queue(json!({"cpu": "3100m"})).await?;
    let [app, rival] =
        [("bound", 3), ("rival", 2)].map(|(id, min)| App { queue: Some(&queue), ..App::new(t, id, min, "1") });
    app.driver().await?;
    app.wait_run(1).await?;
    let bound = held(t, 3).await?;
    middle.during(delete_one_by_one(t, &bound)).await?;
    let come = async {
        if !middle.kills() {
            rival.members(0..2).await?;
            rival.wait_reason("WaitingForQuota").await?;
        }
        app.members(0..3).await?;
        app.wait_run(4).await
    };
    let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    t.pods().always(&format!("{APP_ID}={}", rival.id), "the rival has no node", nothing, come).await?;
    if middle.kills() { Ok(()) } else { nobody_comes(t).await }
}

/// The same where no member comes: what is kept is given back when the timeout is over, although no placeholder is left. (On a
/// machine that is slow the timeout may end while they are still there, which shows less.)
async fn nobody_comes(t: &Context) -> Result<()> {
    let queue = format!("root.{}-late", t.id);
    t.queue_at(&queue, json!({"max": {"cpu": "2100m"}})).await?;
    let [late, heir] = ["late", "heir"].map(|id| App { queue: Some(&queue), ..App::new(t, id, 2, "1") });
    let late = App { parameters: "placeholderTimeoutInSeconds=3", ..late };
    late.driver().await?;
    t.pods().wait("late-driver", "has a node", is_bound).await?;
    let (pods, placeholders) = (t.pods(), ListParams::default().labels(PLACEHOLDERS));
    let deleted = pods.untyped().delete_collection(&DeleteParams::default(), &placeholders).await;
    deleted.during("deleting placeholders")?;
    heir.members(0..2).await?;
    heir.wait_run(2).await.map(drop)
}

async fn two_of_sixty(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = t.queue(json!({"cpu": "10"})).await?;
    let [first, second] = ["sixty-a", "sixty-b"].map(|id| App { queue: Some(&queue), ..App::new(t, id, 3, "2") });
    first.members(0..1).await?;
    held(t, 2).await?;
    second.members(0..1).await?;
    second.wait_reason("WaitingForQuota").await?;
    assert_eq!(t.pods().list("gangline.dev/placeholder").await?.len(), 2, "the second holds nothing");
    middle.pass().await?;
    first.members(1..3).await?;
    first.wait_run(3).await?;
    for number in 0..3 {
        t.pods().delete(&format!("sixty-a-{number}")).await?;
    }
    second.members(1..3).await?;
    second.wait_run(3).await.map(drop)
}

async fn without_originator(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = t.queue(json!({"cpu": "6"})).await?;
    let app = App { queue: Some(&queue), ..App::new(t, "driven", 3, "2") };
    app.driver().await?;
    app.wait_reason("ExceedsMaxQuota").await?;
    t.wait_pod_reason("driven-driver", "ExceedsMaxQuota").await?;
    let queues = t.everywhere::<Queue>();
    middle.during(queues.patch(&queue, json!({"spec": {"max": {"cpu": "6100m"}}}))).await?;
    held(t, 3).await?;
    app.members(0..3).await?;
    app.wait_run(4).await.map(drop)
}

async fn limit_range(t: &mut Context, middle: &Middle) -> Result<()> {
    let limits = json!([{"type": "Container", "defaultRequest": {"memory": "300Mi"}, "default": {"memory": "600Mi"}}]);
    t.objects::<LimitRange>().create(json!({"metadata": {"name": "more"}, "spec": {"limits": limits}})).await?;
    let app = App::new(t, "limited", 3, "1");
    app.driver().await?;
    let placeholders = held(t, 3).await?;
    let memory = |pod: &Pod| -> Value { json!(pod.spec.as_ref().map(|spec| &spec.containers[0].resources)) };
    assert_eq!(memory(&placeholders[0])["requests"]["memory"], "300Mi", "it was changed");
    middle.pass().await?;
    app.members(0..3).await?;
    app.wait_run(4).await?;
    t.wait_no_placeholders().await
}

/// The queue holds the gang and no more. Who is larger than its seat waits for the difference: its seat is held meanwhile, the
/// others take theirs, and somebody else gets none of them.
async fn larger(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = t.queue(json!({"cpu": "3100m"})).await?;
    let app = App { queue: Some(&queue), ..App::new(t, "large", 3, "1") };
    app.driver().await?;
    held(t, 3).await?;
    middle.during(app.pod("large-0", "1001m", Role::Member, json!({}))).await?;
    let others = async {
        t.wait_pod_reason("large-0", "SeatTooSmall").await?;
        t.pods().create(t.pod("outsider", "1", json!({"metadata": {"labels": {"gangline.dev/queue": queue}}}))).await?;
        t.wait_pod_reason("outsider", "WaitingForQuota").await?;
        app.members(1..3).await?;
        app.wait_run(3).await
    };
    let is_held = |pods: &[&Pod]| pods.iter().any(|pod| is_bound(pod) && pod.metadata.deletion_timestamp.is_none());
    t.pods().always(PLACEHOLDERS, "a seat is held for it", is_held, others).await?;
    t.wait_placeholders("is left", 1, is_bound).await?;
    t.everywhere::<Queue>().patch(&queue, json!({"spec": {"max": {"cpu": "3101m"}}})).await?;
    app.wait_run(4).await?;
    t.wait_no_placeholders().await?;
    let outsider = t.pods().get("outsider").await?;
    assert!(outsider.is_some_and(|pod| !is_bound(&pod)), "what is left is too little for it");
    Ok(())
}

async fn never_fits(t: &mut Context, middle: &Middle) -> Result<()> {
    let huge = App::new(t, "huge", 3, "17");
    huge.driver().await?;
    let group = huge.wait_reason("WaitingForCapacity").await?;
    assert!(status(&group).message.contains("none of the 3 members"), "{}", status(&group).message);
    middle.pass().await?;
    // It costs others nothing.
    let small = App::new(t, "small", 2, "1");
    small.members(0..2).await?;
    small.wait_run(2).await.map(drop)
}
