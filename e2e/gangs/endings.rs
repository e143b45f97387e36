//! How gangs end, and begin again: completion, deletion, another size.

use gangline::api::names;
use gangline::api::queue::Queue;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::json;

use crate::harness::context::phase;
use crate::harness::words::{MEMBERS, condition, is_bound, marked, status, uid, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: completes, and comes again under the same id", Needs::Nodes(1), completes),
        test("gangs: leftover placeholders end with the application", Needs::Nodes(1), leftovers),
        test("gangs: a TaskGroup deleted while its placeholders wait", Needs::Nodes(1), deleted_waiting),
        test("gangs: a TaskGroup deleted while its seats are held", Needs::Nodes(1), deleted_held),
        test("gangs: a TaskGroup deleted while members run", Needs::Nodes(1), deleted_running),
        test("gangs: a TaskGroup deleted by --cascade=orphan leaves no placeholder", Needs::Nodes(1), orphaned),
        test("gangs: a TaskGroup may come after its pods", Needs::Nodes(1), late_group),
        test("gangs: a TaskGroup created anew with another size", Needs::Nodes(1), recreated),
        test("gangs: members lost after the start are shown and replaced", Needs::Nodes(1), partially_lost),
        test("gangs: a rejected spec is judged again when it changes", Needs::Nodes(1), corrected),
    ]
}

async fn completes(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "2"})).await?;
    let spec = json!({"reservation": "Direct", "completionTimeoutSeconds": 1, "queue": queue});
    let group = t.group("once", 2, "1", spec).await?;
    let short = json!({"metadata": {"annotations": {"gangline.dev/demo-run-for": "1ms"}}});
    for number in 0..2 {
        t.member("once", number, "1", short.clone()).await?;
    }
    let ended = t.wait_reason("once", "Completed").await?;
    assert_eq!(status(&ended).application_state, "Completed");
    assert_eq!(condition(&ended, "Finished").0, "True");
    assert_eq!(condition(&ended, "Running").0, "False");
    let counts = status(&ended).counts;
    assert_eq!((counts.running, counts.succeeded, counts.failed), (0, 2, 0));
    // Finished pods are left to whoever made them, and nothing is charged for them.
    let used = |queue: &Queue| {
        let used = queue.status.as_ref().map(|status| status.allocated.get("cpu").map_or("0", |cpu| cpu.0.as_str()));
        used == Some("0")
    };
    t.everywhere::<Queue>().wait(&queue, "is empty", used).await?;

    t.members("once", 2..4, "1").await?;
    let pods = t.wait_running("once", 2).await?;
    let incarnation = format!("{}.2", uid(&group));
    let running = pods.iter().filter(|pod| phase(pod) == "Running");
    let second: Vec<_> = running.map(|pod| marked(pod, "incarnation")).collect();
    assert_eq!(second, [incarnation.as_str(); 2]);
    let again = |group: &TaskGroup| status(group).incarnation == 2 && condition(group, "Placed").0 == "True";
    let group = t.groups().wait("once", "runs again", again).await?;
    assert_eq!(status(&group).application_state, "Running");
    Ok(())
}

async fn leftovers(t: &mut Context) -> Result<()> {
    t.group("half", 3, "1", json!({"placeholderFor": "all", "completionTimeoutSeconds": 1})).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    t.member("half", 0, "1", json!({"metadata": {"annotations": {"gangline.dev/demo-run-for": "1ms"}}})).await?;
    t.wait_reason("half", "Completed").await?;
    t.wait_no_placeholders().await
}

async fn deleted_waiting(t: &mut Context) -> Result<()> {
    t.group("wide", 3, "8", json!({"placeholderFor": "all"})).await?;
    t.members("wide", 0..1, "8").await?;
    t.wait_placeholders("are Unschedulable", 3, |pod| why_waits(pod).0 == "Unschedulable").await?;
    t.groups().delete("wide").await?;
    t.wait_no_placeholders().await?;
    t.wait_pod_reason("wide-0", "TaskGroupNotFound").await.map(drop)
}

async fn deleted_held(t: &mut Context) -> Result<()> {
    t.group("held", 3, "5", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("run", 3, |pod| phase(pod) == "Running").await?;
    t.groups().delete("held").await?;
    t.wait_no_placeholders().await?;
    // The room is free again.
    t.pods().create(t.pod("next", "16", json!({}))).await?;
    t.pods().wait("next", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

async fn deleted_running(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "4"})).await?;
    t.group("run", 2, "1", json!({"reservation": "Direct", "queue": queue})).await?;
    t.members("run", 0..3, "1").await?;
    t.wait_running("run", 3).await?;
    let stays = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() >= 3;
    let delete = async {
        t.groups().delete("run").await?;
        t.groups().wait_gone("run").await?;
        t.members("run", 3..4, "1").await?;
        t.wait_pod_reason("run-3", "TaskGroupNotFound").await?;
        // They stay charged: of four CPUs one is left.
        t.group("next", 2, "1", json!({"reservation": "Direct", "queue": queue})).await?;
        t.members("next", 0..2, "1").await?;
        let group = t.wait_reason("next", "WaitingForQuota").await?;
        assert!(status(&group).message.ends_with("has 1 of 4 left"), "{}", status(&group).message);
        Ok(())
    };
    let which = format!("{}=run", names::TASK_GROUP);
    t.pods().always(&which, "running members go on", stays, delete).await?;
    t.delete_members("run", 0..3).await?;
    t.wait_running("next", 2).await.map(drop)
}

/// Without its owner the garbage collector keeps a placeholder: Gangline deletes it itself.
async fn orphaned(t: &mut Context) -> Result<()> {
    t.group("parent", 2, "1", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("run", 2, |pod| phase(pod) == "Running").await?;
    let params =
        DeleteParams { propagation_policy: Some(kube::api::PropagationPolicy::Orphan), ..DeleteParams::default() };
    t.groups().delete_with("parent", &params).await?;
    t.wait_no_placeholders().await
}

async fn late_group(t: &mut Context) -> Result<()> {
    t.members("late", 0..2, "1").await?;
    let message = t.wait_pod_reason("late-1", "TaskGroupNotFound").await?;
    assert_eq!(message, "TaskGroup late does not exist in this namespace");
    t.group("late", 2, "1", json!({"reservation": "Direct"})).await?;
    t.wait_running("late", 2).await.map(drop)
}

/// What ran under the first object never counts for the second.
async fn recreated(t: &mut Context) -> Result<()> {
    t.group("again", 2, "1", json!({"reservation": "Direct"})).await?;
    t.members("again", 0..2, "1").await?;
    t.wait_running("again", 2).await?;
    t.groups().delete("again").await?;
    let second = t.group("again", 3, "1", json!({"reservation": "Direct"})).await?;
    t.members("again", 2..4, "1").await?;
    let two = |group: &TaskGroup| status(group).message.starts_with("2 of 3 members of again exist");
    t.groups().wait("again", "counts its own members", two).await?;
    t.members("again", 4..5, "1").await?;
    let pods = t.wait_running("again", 5).await?;
    let own = pods.iter().filter(|pod| marked(pod, "incarnation") == format!("{}.1", uid(&second)));
    assert_eq!(own.count(), 3);
    Ok(())
}

async fn partially_lost(t: &mut Context) -> Result<()> {
    t.group("work", 3, "1", json!({"reservation": "Direct"})).await?;
    t.members("work", 0..3, "1").await?;
    t.wait_running("work", 3).await?;
    t.delete_members("work", 1..2).await?;
    let group = t.wait_reason("work", "PartiallyLost").await?;
    assert!(status(&group).message.starts_with("1 of 3 seats"), "{}", status(&group).message);
    t.members("work", 3..4, "1").await?;
    t.wait_running("work", 3).await?;
    t.wait_reason("work", "Running").await.map(drop)
}

async fn corrected(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "2"})).await?;
    t.group("wrong", 3, "1", json!({"reservation": "Direct", "queue": queue})).await?;
    t.members("wrong", 0..2, "1").await?;
    t.wait_reason("wrong", "ExceedsMaxQuota").await?;
    t.groups().patch("wrong", json!({"spec": {"minMember": 2}})).await?;
    t.wait_running("wrong", 2).await?;
    assert_eq!(t.pods().list(MEMBERS).await?.len(), 2);
    Ok(())
}
