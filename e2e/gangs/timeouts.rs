//! Timeouts: what they end, and what is left of a gang then.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::harness::context::phase;
use crate::harness::words::{is_bound, is_placeholder, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: style Hard fails the pods of a gang that nobody completes", Needs::Nodes(1), hard),
        test("gangs: style Soft places the pods of such a gang one by one", Needs::Nodes(1), soft),
        test("gangs: seats that no member took in time are given back", Needs::Nodes(1), leftovers),
        test("gangs: who does not fit the quota in time is rejected", Needs::Nodes(1), admission),
        test("gangs: who does not find nodes in time is rejected", Needs::Nodes(1), wait),
    ]
}

/// Three held seats for so many seconds, and a member that a scheduling gate holds back.
async fn held(t: &mut Context, style: &str) -> Result<()> {
    let spec = json!({"placeholderFor": "all", "style": style, "placeholderTimeoutSeconds": 3});
    t.group("team", 3, "1", spec).await?;
    t.member("team", 0, "1", json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}})).await?;
    t.wait_placeholders("hold the seats", 3, is_bound).await.map(drop)
}

/// Whether the condition TimedOut says that the placeholder timeout is over.
fn has_timed_out(group: &TaskGroup) -> bool {
    let mut conditions = status(group).conditions.into_iter();
    conditions.any(|one| one.type_ == "TimedOut" && one.status == "True" && one.reason == "PlaceholderTimeout")
}

async fn hard(t: &mut Context) -> Result<()> {
    held(t, "Hard").await?;
    let pod = t.pods().wait("team-0", "fails", |pod| phase(pod) == "Failed").await?;
    let said = pod.status.unwrap_or_default();
    assert_eq!(said.reason.as_deref(), Some("PlaceholderTimeout"));
    assert!(said.message.is_some_and(|message| message.contains("placeholderTimeoutSeconds")));
    let group = t.wait_reason("team", "PlaceholderTimeout").await?;
    assert_eq!((&*status(&group).application_state, has_timed_out(&group)), ("Killed", true));
    t.wait_no_placeholders().await.map(drop)
}

async fn soft(t: &mut Context) -> Result<()> {
    held(t, "Soft").await?;
    t.wait_no_placeholders().await?;
    let none = |pods: &[&Pod]| !pods.iter().any(|pod| is_placeholder(pod));
    let one_by_one = async {
        t.pods().patch("team-0", json!({"spec": {"schedulingGates": []}})).await?;
        t.wait_running("team", 1).await?;
        // Numbers are written some seconds later.
        let says_so = |group: &TaskGroup| status(group).message.contains("1 of 3 members");
        t.groups().wait("team", "says who runs", says_so).await
    };
    let group = t.pods().always("", "nothing is reserved again", none, one_by_one).await?;
    assert!(has_timed_out(&group) && status(&group).reason == "PlaceholderTimeout", "{}", status(&group).reason);
    Ok(())
}

async fn leftovers(t: &mut Context) -> Result<()> {
    let spec = json!({"placeholderFor": "all", "style": "Hard", "placeholderTimeoutSeconds": 5});
    t.group("team", 3, "1", spec).await?;
    t.members("team", 0..1, "1").await?;
    t.wait_placeholders("hold the other seats", 2, is_bound).await?;
    t.wait_no_placeholders().await?;
    let group = t.wait_reason("team", "PlaceholderTimeout").await?;
    assert_eq!((&*status(&group).application_state, status(&group).counts.scheduled), ("Running", 1));
    t.members("team", 1..3, "1").await?;
    t.wait_running("team", 3).await.map(drop)
}

async fn admission(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "2"})).await?;
    t.group("first", 2, "1", json!({"queue": queue, "reservation": "Direct"})).await?;
    t.members("first", 0..2, "1").await?;
    t.wait_running("first", 2).await?;
    let spec = json!({"queue": queue, "reservation": "Direct", "admissionTimeoutSeconds": 2});
    t.group("second", 2, "1", spec).await?;
    t.members("second", 0..2, "1").await?;
    let group = t.wait_reason("second", "AdmissionTimeout").await?;
    assert_eq!(status(&group).application_state, "Rejected");
    assert!(status(&group).message.contains("has 0 of 2 left"), "{}", status(&group).message);
    // Who changes it may try again.
    t.delete_members("first", 0..2).await?;
    t.groups().patch("second", json!({"spec": {"admissionTimeoutSeconds": 60}})).await?;
    t.wait_running("second", 2).await.map(drop)
}

/// One of the two finds a node.
async fn wait(t: &mut Context) -> Result<()> {
    t.group("large", 2, "10", json!({"reservation": "Direct", "waitTimeoutSeconds": 2})).await?;
    t.members("large", 0..2, "10").await?;
    let group = t.wait_reason("large", "WaitTimeout").await?;
    assert_eq!(status(&group).application_state, "Rejected");
    assert!(status(&group).message.contains("(waitTimeoutSeconds)"), "{}", status(&group).message);
    // Room alone changes nothing; who changes the gang may try again.
    t.add_nodes("more", 1, |_| ()).await?;
    t.pods().create(t.pod("other", "1", json!({}))).await?;
    t.pods().wait("other", "is placed after the node was seen", is_bound).await?;
    let rejected = t.groups().get("large").await?;
    assert_eq!(rejected.map(|group| status(&group).application_state), Some("Rejected".to_owned()));
    t.groups().patch("large", json!({"spec": {"waitTimeoutSeconds": 60}})).await?;
    t.wait_running("large", 2).await.map(drop)
}
