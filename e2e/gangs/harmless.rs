//! A gang that waits harms nobody: not by what it asks for, nor by pods that it does not have, or that nothing can place.

use gangline::api::names;
use gangline::api::queue::Queue;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::harness::context::phase;
use crate::harness::words::{MEMBERS, is_bound, is_placeholder, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: who fits no node keeps no quota from who does", Needs::Nodes(1), blocked),
        test("gangs: nothing is reserved before a pod of the job exists", Needs::Nodes(1), first_pod),
        test("gangs: a member that nothing can place makes its gang hold nothing", Needs::Nodes(1), refused_member),
        test("gangs: a driver that comes before the start is of the gang", Needs::Nodes(1), late_driver),
        test("gangs: members that exist count with their own size", Needs::Nodes(1), oversized),
        test("gangs: a TaskGroup can be edited until its application starts", Needs::Nodes(1), edited),
        test("gangs: an application that has ended gives its place away at once", Needs::Nodes(1), ended),
    ]
}

async fn blocked(t: &mut Context) -> Result<()> {
    // For both of the large ones, whichever comes first, and not for a small one beside them.
    let queue = t.queue(json!({"cpu": "70"})).await?;
    for (name, reservation) in [("wide", "Placeholder"), ("large", "Direct")] {
        t.group(name, 2, "17", json!({"queue": queue, "reservation": reservation})).await?;
        t.members(name, 0..2, "17").await?;
        t.wait_reason(name, "WaitingForCapacity").await?;
    }
    for (name, reservation) in [("small", "Placeholder"), ("direct", "Direct")] {
        t.group(name, 2, "4", json!({"queue": queue, "reservation": reservation})).await?;
        t.members(name, 0..2, "4").await?;
        t.wait_running(name, 2).await?;
    }
    let ours = t.pods().list(MEMBERS).await?;
    assert_eq!(ours.iter().filter(|pod| is_bound(pod)).count(), 4, "and the others have nothing");
    Ok(())
}

async fn first_pod(t: &mut Context) -> Result<()> {
    let none = |pods: &[&Pod]| !pods.iter().any(|pod| is_placeholder(pod));
    let suspended = async {
        t.group("job", 3, "4", json!({})).await?;
        let group = t.wait_reason("job", "WaitingForFirstPod").await?;
        assert!(status(&group).message.contains("a suspended job"), "{}", status(&group).message);
        // Nor is a pod that is held back.
        t.member("job", 0, "4", json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}})).await?;
        t.group("real", 4, "4", json!({"reservation": "Direct"})).await?;
        t.members("real", 0..4, "4").await?;
        t.wait_running("real", 4).await?;
        t.wait_reason("job", "WaitingForFirstPod").await
    };
    t.pods().always("", "it has no placeholders", none, suspended).await?;
    t.delete_members("real", 0..4).await?;
    t.pods().patch("job-0", json!({"spec": {"schedulingGates": []}})).await?;
    t.wait_running("job", 1).await?;
    t.wait_placeholders("hold the other seats", 2, is_bound).await.map(drop)
}

async fn refused_member(t: &mut Context) -> Result<()> {
    let claim = json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]}});
    t.group("claims", 3, "4", json!({})).await?;
    t.member("claims", 0, "4", claim).await?;
    let group = t.wait_reason("claims", "MembersRefused").await?;
    assert!(status(&group).message.contains("claims-0"), "{}", status(&group).message);
    t.members("claims", 1..2, "4").await?;
    t.group("other", 4, "4", json!({"reservation": "Direct"})).await?;
    t.members("other", 0..4, "4").await?;
    t.wait_running("other", 4).await?;
    t.wait_no_placeholders().await?;
    t.delete_members("other", 0..4).await?;
    t.delete_members("claims", 0..1).await?;
    t.members("claims", 2..3, "4").await?;
    t.wait_running("claims", 2).await?;
    t.wait_placeholders("holds the third seat", 1, is_bound).await.map(drop)
}

/// A pod outside the task groups.
fn driver(t: &Context, cpu: &str) -> Value {
    t.pod("driver", cpu, json!({"metadata": {"labels": {names::APPLICATION: "job"}}}))
}

async fn late_driver(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "3"})).await?;
    let spec = json!({"queue": queue, "reservation": "Direct", "applicationId": "job"});
    let nothing = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    let wait = async {
        t.group("workers", 2, "1", spec).await?;
        t.members("workers", 0..1, "1").await?;
        t.wait_reason("workers", "WaitingForMembers").await?;
        t.pods().create(driver(t, "2")).await?;
        let group = t.wait_reason("workers", "ExceedsMaxQuota").await?;
        assert!(status(&group).message.contains("4 cpu"), "{}", status(&group).message);
        t.everywhere::<Queue>().patch(&queue, json!({"spec": {"max": {"cpu": "4"}}})).await?;
        t.wait_reason("workers", "WaitingForMembers").await
    };
    t.pods().always("", "nothing starts without the second worker", nothing, wait).await?;
    t.members("workers", 1..2, "1").await?;
    t.wait_running("workers", 2).await?;
    t.pods().wait("driver", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

async fn oversized(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "4"})).await?;
    t.group("team", 2, "1", json!({"queue": queue})).await?;
    t.members("team", 0..1, "4").await?;
    let group = t.wait_reason("team", "ExceedsMaxQuota").await?;
    assert_eq!(status(&group).application_state, "Rejected");
    t.wait_no_placeholders().await?;
    t.delete_members("team", 0..1).await?;
    t.pods().wait_gone("team-0").await?;
    t.members("team", 0..1, "3").await?;
    t.wait_running("team", 1).await?;
    t.wait_placeholders("holds the second seat", 1, is_bound).await.map(drop)
}

async fn edited(t: &mut Context) -> Result<()> {
    t.group("team", 3, "20", json!({"reservation": "Direct"})).await?;
    t.members("team", 0..1, "1").await?;
    t.wait_reason("team", "WaitingForMembers").await?;
    t.groups().patch("team", json!({"spec": {"minMember": 2, "minResource": {"cpu": "1"}}})).await?;
    let counts = |group: &TaskGroup| status(group).message.starts_with("1 of 2 members of team exist");
    t.groups().wait("team", "waits for one more", counts).await?;
    t.members("team", 1..2, "1").await?;
    t.wait_running("team", 2).await?;
    t.wait_reason("team", "Running").await?;
    let late = t.groups().patch("team", json!({"spec": {"minMember": 1}})).await;
    let late = late.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(late.contains("cannot be changed while the application is Running"), "{late}");
    Ok(())
}

async fn ended(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    t.queue_at(&queue, json!({"maxApplications": 1})).await?;
    let spec = json!({"queue": queue, "reservation": "Direct", "completionTimeoutSeconds": 600});
    t.group("first", 1, "1", spec.clone()).await?;
    t.member("first", 0, "1", json!({"spec": {"restartPolicy": "Never"}})).await?;
    t.wait_running("first", 1).await?;
    t.group("second", 1, "1", spec).await?;
    t.members("second", 0..1, "1").await?;
    t.wait_reason("second", "WaitingForApplications").await?;
    t.pods().patch_status("first-0", json!({"phase": "Succeeded"})).await?;
    t.wait_running("second", 1).await?;
    let group = t.wait_reason("first", "WaitingForCompletion").await?;
    assert_eq!(status(&group).application_state, "Waiting");
    Ok(())
}
