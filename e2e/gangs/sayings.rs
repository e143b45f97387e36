//! What is said of gangs and pods is true now, and the same wherever one looks.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::harness::words::{condition, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: what nodes lack is said as it is now, everywhere alike", Needs::Nodes(1), lacks_now),
        test("gangs: who has a node and does not run is told apart", Needs::Nodes(1), not_running),
        test("gangs: how members ended is said, and outlives them", Needs::Nodes(1), endings),
    ]
}

/// What a TaskGroup says.
fn says(words: &str) -> impl Fn(&TaskGroup) -> bool {
    move |group| status(group).message.contains(words)
}

async fn lacks_now(t: &mut Context) -> Result<()> {
    let large = json!({"spec": {"nodeSelector": {"e2e.gangline.dev/large": "true"}}});
    t.group("choosy", 2, "8", json!({"reservation": "Direct"})).await?;
    for number in 0..2 {
        t.member("choosy", number, "8", large.clone()).await?;
    }
    t.groups()
        .wait("choosy", "lacks a node of its kind", says("node(s) didn't match Pod's node affinity/selector"))
        .await?;
    // One comes, and is too small. (What is said counts the nodes of other tests too.)
    let nodes = t
        .add_nodes("small", 1, |nodes| {
            nodes.cpu = "4".to_owned();
            nodes.labels.insert("e2e.gangline.dev/large".to_owned(), "true".to_owned());
        })
        .await?;
    let words = format!("nearest is {}, 4 cpu short", nodes[0]);
    t.groups().wait("choosy", "lacks cpu on the one that came", says(&words)).await?;
    let agree = |pods: &[&Pod]| pods.len() == 2 && pods.iter().all(|pod| why_waits(pod).1.contains(&words));
    t.pods().wait_all("", "the members say what their gang says", agree).await?;
    for name in ["taskgroup/choosy", "pod/choosy-1"] {
        let (_, why) = t.gangline(&["why", name])?;
        assert!(why.contains(&words), "{why}\ndoes not say: {words}");
    }
    Ok(())
}

/// The status of a pod whose container waits, or has ended.
fn container(phase: &str, state: &Value) -> Value {
    let main =
        json!({"name": "main", "image": "main", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    json!({"phase": phase, "containerStatuses": [main]})
}

fn ended(code: u8, reason: &str) -> Value {
    container(
        if code == 0 { "Succeeded" } else { "Failed" },
        &json!({"terminated": {"exitCode": code, "reason": reason}}),
    )
}

async fn not_running(t: &mut Context) -> Result<()> {
    t.group("team", 3, "1", json!({"reservation": "Direct"})).await?;
    t.members("team", 0..3, "1").await?;
    t.groups().wait("team", "runs", says("3 of 3 members run")).await?;
    let waits = container("Pending", &json!({"waiting": {"reason": "ImagePullBackOff"}}));
    t.pods().patch_status("team-1", waits).await?;
    let words = "3 of 3 members have a node, 2 run: ImagePullBackOff on 1";
    let group = t.groups().wait("team", "tells who does not run", says(words)).await?;
    let counts = status(&group).counts;
    assert_eq!((counts.scheduled, counts.running), (3, 2));
    Ok(())
}

async fn endings(t: &mut Context) -> Result<()> {
    t.group("team", 3, "1", json!({"reservation": "Direct", "completionTimeoutSeconds": 1})).await?;
    for number in 0..3 {
        t.member("team", number, "1", json!({"spec": {"restartPolicy": "Never"}})).await?;
    }
    t.wait_running("team", 3).await?;
    t.pods().patch_status("team-0", ended(0, "Completed")).await?;
    t.pods().patch_status("team-1", ended(137, "OOMKilled")).await?;
    t.groups().wait("team", "tells how two ended", says("1 member succeeded, 1 failed (OOMKilled)")).await?;
    t.pods().patch_status("team-2", ended(3, "Error")).await?;
    let group = t.groups().wait("team", "is finished", |group| condition(group, "Finished").0 == "True").await?;
    assert_eq!(condition(&group, "Finished").1, "SomeFailed");
    let words = "1 member succeeded, 2 failed (1 OOMKilled, 1 exit code 3)";
    assert!(status(&group).message.contains(words), "{}", status(&group).message);
    t.delete_members("team", 0..3).await?;
    t.pods().wait_all("", "all are gone", |pods: &[&Pod]| pods.is_empty()).await?;
    // What is gone is counted still.
    let counts = |group: &TaskGroup| (status(group).counts.succeeded, status(group).counts.failed) == (1, 2);
    t.groups().wait("team", "counts them", counts).await.map(drop)
}
