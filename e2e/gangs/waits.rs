//! What gangs wait for, what they are refused for, and that they say so.

use gangline::api::names;
use gangline::api::queue::Queue;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::harness::context::phase;
use crate::harness::words::{MEMBERS, condition, is_bound, is_placeholder, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("gangs: a gang waits for quota, says so, and runs when the first ends", Needs::Nodes(1), quota),
        test(
            "gangs: an ask beyond the quota is rejected, and accepted when the queue grows",
            Needs::Nodes(1),
            rejected,
        ),
        test("gangs: a queue may come after its TaskGroup", Needs::Nodes(1), late_queue),
        test("gangs: what never fits is Unschedulable by its placeholders alone", Needs::Nodes(2), never_fits),
        test("gangs: unsupported constraints are refused visibly", Needs::Nodes(1), unsupported),
        test("gangs: errors of the queue tree are conditions", Needs::Shared, queue_tree),
        test("gangs: maxApplications lets one in at a time", Needs::Nodes(1), max_applications),
        test("gangs: who is first in line is overtaken as often as it may be", Needs::Nodes(1), head_of_line),
        test("gangs: a TaskGroup that a running application does not list is refused", Needs::Nodes(1), closed),
        test("gangs: a deleted queue drains", Needs::Nodes(1), draining),
        test("gangs: names and numbers at their limits", Needs::Nodes(1), limits),
        test("gangs: a gang group that contradicts itself is rejected", Needs::Nodes(1), mismatch),
    ]
}

async fn quota(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "4"})).await?;
    let spec = json!({"reservation": "Direct", "queue": queue});
    t.group("first", 3, "1", spec.clone()).await?;
    t.members("first", 0..3, "1").await?;
    t.wait_running("first", 3).await?;
    t.group("second", 3, "1", spec).await?;
    t.members("second", 0..3, "1").await?;
    let group = t.wait_reason("second", "WaitingForQuota").await?;
    assert_eq!(status(&group).message, format!("the gang asks for 3 cpu, but queue {queue} has 1 of 4 left"));
    assert_eq!(condition(&group, "Accepted").0, "True");
    assert_eq!(condition(&group, "QuotaReserved"), ("False".to_owned(), "WaitingForQuota".to_owned()));
    for pod in ["second-0", "second-1", "second-2"] {
        t.wait_pod_reason(pod, "WaitingForQuota").await?;
    }
    t.delete_members("first", 0..3).await?;
    t.wait_running("second", 3).await.map(drop)
}

async fn rejected(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "2"})).await?;
    let none = |pods: &[&Pod]| !pods.iter().any(|pod| is_placeholder(pod) || is_bound(pod));
    let refused = async {
        t.group("big", 3, "1", json!({"queue": queue, "placeholderFor": "all"})).await?;
        t.members("big", 0..3, "1").await?;
        let group = t.wait_reason("big", "ExceedsMaxQuota").await?;
        t.wait_pod_reason("big-0", "ExceedsMaxQuota").await?;
        Ok(group)
    };
    let group = t.pods().always("", "nothing is created or bound for it", none, refused).await?;
    assert_eq!(status(&group).application_state, "Rejected");
    assert_eq!(condition(&group, "Accepted"), ("False".to_owned(), "ExceedsMaxQuota".to_owned()));
    let message = format!("the gang asks for 3 cpu, but queue {queue} allows at most 2: it can never start");
    assert_eq!(status(&group).message, message);
    t.everywhere::<Queue>().patch(&queue, json!({"spec": {"max": {"cpu": "3"}}})).await?;
    t.wait_running("big", 3).await?;
    t.wait_no_placeholders().await
}

async fn late_queue(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    t.group("early", 2, "1", json!({"queue": queue, "reservation": "Direct"})).await?;
    t.members("early", 0..2, "1").await?;
    let group = t.wait_reason("early", "QueueNotFound").await?;
    let message = status(&group).message;
    assert!(message.starts_with(&format!("queue {queue} does not exist")), "{message}");
    t.wait_pod_reason("early-0", "QueueNotFound").await?;
    t.queue(json!({"cpu": "8"})).await?;
    t.wait_running("early", 2).await?;
    // What it used is shown, and given back.
    let uses = |cpu: &'static str| {
        move |queue: &Queue| {
            queue.status.as_ref().and_then(|status| status.allocated.get("cpu")).map(|q| q.0.as_str()) == Some(cpu)
        }
    };
    t.everywhere::<Queue>().wait(&queue, "shows what is used", uses("2")).await.map(drop)
}

/// Three seats of 12 CPUs on two nodes of 16: exactly the pods that the plan wants to place are what more nodes would
/// help, so an autoscaler sees three pods and not the member behind them.
async fn never_fits(t: &mut Context) -> Result<()> {
    t.group("wide", 3, "12", json!({"placeholderFor": "all"})).await?;
    t.members("wide", 0..1, "12").await?;
    let nothing = |pods: &[&Pod]| {
        !pods.iter().any(|pod| is_bound(pod) || (!is_placeholder(pod) && why_waits(pod).0 == "Unschedulable"))
    };
    let wait = async {
        t.wait_placeholders("are Unschedulable", 3, |pod| why_waits(pod).0 == "Unschedulable").await?;
        let group = t.wait_reason("wide", "WaitingForCapacity").await?;
        t.wait_pod_reason("wide-0", "WaitingForCapacity").await?;
        Ok(group)
    };
    let group = t.pods().always("", "nothing is bound, and only placeholders are Unschedulable", nothing, wait).await?;
    let message = status(&group).message;
    assert!(message.starts_with("2 of 3 members of wide find a node; for the next one 0/"), "{message}");
    assert_eq!(condition(&group, "QuotaReserved").0, "True");
    // One more node, and all of it starts.
    t.add_nodes("more", 1, |_| ()).await?;
    t.wait_running("wide", 1).await?;
    t.wait_placeholders("are left", 2, is_bound).await.map(drop)
}

async fn unsupported(t: &mut Context) -> Result<()> {
    let term = json!([{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]);
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let cases = [
        ("near", json!({"affinity": {"podAffinity": {required: term}}}), "spec.affinity.podAffinity"),
        ("apart", json!({"affinity": {"podAntiAffinity": {required: term}}}), "spec.affinity.podAntiAffinity"),
        (
            "spread",
            json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
            "spec.topologySpreadConstraints",
        ),
        (
            "claim",
            json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]}),
            "spec.volumes[data].persistentVolumeClaim",
        ),
    ];
    let never = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod) || why_waits(pod).0 == "Unschedulable");
    let refuse = async {
        for (name, spec, field) in &cases {
            t.pods().create(t.pod(name, "1", json!({"spec": spec}))).await?;
            let message = t.wait_pod_reason(name, "UnsupportedConstraint").await?;
            assert!(message.starts_with(&format!("{field} is not supported")), "{message}");
        }
        Ok(())
    };
    t.pods().always("", "none is bound or Unschedulable", never, refuse).await
}

async fn queue_tree(t: &mut Context) -> Result<()> {
    let active = |wanted: &'static str| {
        move |queue: &Queue| {
            let conditions = queue.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            conditions.iter().any(|one| one.type_ == "Active" && one.status == wanted)
        }
    };
    let message = |queue: &Queue| queue.status.as_ref().map(|status| status.conditions[0].message.clone());
    let (queues, parent) = (t.everywhere::<Queue>(), format!("root.{}", t.id));
    let (child, orphan) = (format!("{parent}.child"), format!("{parent}.none.orphan"));
    t.queue_at(&orphan, json!({})).await?;
    let seen = queues.wait(&orphan, "has no parent", active("False")).await?;
    assert!(message(&seen).is_some_and(|text| text.contains("spec.parent")), "{:?}", message(&seen));
    t.queue_at(&parent, json!({"max": {"cpu": "4"}})).await?;
    t.queue_at(&child, json!({"max": {"cpu": "2"}})).await?;
    queues.wait(&child, "is active", active("True")).await?;
    queues.patch(&child, json!({"spec": {"max": {"cpu": "5"}}})).await?;
    let seen = queues.wait(&child, "asks for more than its parent has", active("False")).await?;
    let text = message(&seen).unwrap_or_default();
    assert!(text.contains("5 is more than the 4 of") && text.ends_with("which counts"), "{text}");
    // The parent takes no applications.
    t.group("inner", 1, "1", json!({"queue": parent, "reservation": "Direct"})).await?;
    t.wait_reason("inner", "QueueNotLeaf").await?;
    queues.patch(&parent, json!({"spec": {"max": {"cpu": "5"}}})).await?;
    queues.wait(&child, "is active again", active("True")).await?;
    t.queue_at(&format!("{parent}.none"), json!({})).await?;
    queues.wait(&orphan, "has found its parent", active("True")).await.map(drop)
}

async fn max_applications(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    t.queue_at(&queue, json!({"maxApplications": 1})).await?;
    let spec = json!({"queue": queue, "reservation": "Direct", "completionTimeoutSeconds": 0});
    t.group("first", 1, "1", spec.clone()).await?;
    t.members("first", 0..1, "1").await?;
    t.wait_running("first", 1).await?;
    t.group("second", 1, "1", spec).await?;
    t.members("second", 0..1, "1").await?;
    let group = t.wait_reason("second", "WaitingForApplications").await?;
    assert_eq!(status(&group).message, format!("queue {queue} already runs 1 applications, its maxApplications"));
    t.delete_members("first", 0..1).await?;
    t.wait_running("second", 1).await.map(drop)
}

async fn head_of_line(t: &mut Context) -> Result<()> {
    let queue = format!("root.{}", t.id);
    for wrong in
        [json!({"maxOvertakes": 1, "afterSeconds": 1}), json!({"maxOvertakes": -1}), json!({"afterSeconds": -1})]
    {
        let refused = t.queue_at(&queue, json!({"headOfLine": wrong})).await;
        let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("spec.headOfLine"), "{refused}");
    }
    t.queue_at(&queue, json!({"max": {"cpu": "4"}, "headOfLine": {"maxOvertakes": 1}})).await?;
    let spec = json!({"queue": queue, "reservation": "Direct", "completionTimeoutSeconds": 0});
    t.group("run", 2, "1", spec.clone()).await?;
    t.members("run", 0..2, "1").await?;
    t.wait_running("run", 2).await?;
    t.group("big", 4, "1", spec.clone()).await?;
    t.members("big", 0..4, "1").await?;
    t.wait_reason("big", "WaitingForQuota").await?;
    t.group("overtakes", 2, "1", spec.clone()).await?;
    t.members("overtakes", 0..2, "1").await?;
    t.wait_running("overtakes", 2).await?;
    t.delete_members("overtakes", 0..2).await?;
    t.group("late", 2, "1", spec).await?;
    t.members("late", 0..2, "1").await?;
    let late = t.wait_reason("late", "WaitingForFirst").await?;
    let first = format!("{}/big is first in line in queue {queue}", t.namespace);
    assert!(status(&late).message.starts_with(&first), "{}", status(&late).message);
    let said = t.wait_pod_reason("late-0", "WaitingForFirst").await?;
    assert_eq!(said, status(&late).message);
    let says = |group: &_| status(group).message.contains("nothing behind it starts before it does");
    t.groups().wait("big", "says that it is first in line", says).await?;
    t.delete_members("run", 0..2).await?;
    t.wait_running("big", 4).await?;
    t.delete_members("big", 0..4).await?;
    t.wait_running("late", 2).await.map(drop)
}

async fn limits(t: &mut Context) -> Result<()> {
    for (min, problem) in [(0, "minimum"), (-1, "minimum"), (100_001, "maximum"), (i64::from(i32::MAX), "less than")] {
        let spec = json!({"minMember": min, "minResource": {"cpu": "1"}});
        let refused = t.groups().create(json!({"metadata": {"name": "count"}, "spec": spec})).await;
        let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            refused.contains("spec.minMember") && (refused.contains(problem) || refused.contains("should be")),
            "{min}: {refused}"
        );
    }
    // As many as can be said: judged, not created.
    t.group("many", 100_000, "1", json!({"reservation": "Direct"})).await?;
    t.members("many", 0..1, "1").await?;
    let message = t.wait_pod_reason("many-0", "WaitingForMembers").await?;
    assert!(message.starts_with("1 of 100000 members of many exist"), "{message}");
    let group = t.wait_reason("many", "WaitingForMembers").await?;
    assert_eq!(status(&group).placeholder_ask["cpu"].0, "100000");
    let queue = t.queue(json!({"cpu": "4", "memory": "1Gi"})).await?;
    t.group("large", 100_000, "9E", json!({"queue": queue})).await?;
    let large = |group: &_| ["ExceedsMaxQuota", "AskTooLarge"].contains(&status(group).reason.as_str());
    t.groups().wait("large", "is rejected", large).await?;
    t.group("placeholders", 5_001, "1", json!({})).await?;
    let group = t.wait_reason("placeholders", "TooManyPlaceholders").await?;
    assert!(status(&group).message.contains("use reservation Direct"), "{}", status(&group).message);

    // Longest names: 63 characters for TaskGroup and application, dots at the cut.
    let name = format!("{}.{}", "g".repeat(29), "h".repeat(33));
    let application = format!("A{}zz", "_.".repeat(30));
    t.group(&name, 1, "1", json!({"applicationId": application, "placeholderFor": "all"})).await?;
    let held = t.wait_placeholders("run", 1, |pod| phase(pod) == "Running").await?;
    assert!(held[0].metadata.name.as_ref().is_some_and(|name| name.len() <= 63), "{:?}", held[0].metadata.name);
    let labels = json!({"metadata": {"labels": {names::TASK_GROUP: name}}});
    t.pods().create(t.pod("member", "1", labels)).await?;
    t.pods().wait("member", "runs", |pod| phase(pod) == "Running").await?;
    t.wait_no_placeholders().await
}

async fn mismatch(t: &mut Context) -> Result<()> {
    let gang = json!([format!("{}/left", t.namespace), format!("{}/right", t.namespace)]);
    let spec = json!({"applicationId": "both", "gangGroup": gang, "reservation": "Direct"});
    t.group("left", 1, "1", spec.clone()).await?;
    t.group("right", 1, "1", json!({"applicationId": "both", "gangGroup": gang})).await?;
    t.members("left", 0..1, "1").await?;
    let group = t.wait_reason("left", "GangGroupMismatch").await?;
    assert!(status(&group).message.contains("about spec.reservation"), "{}", status(&group).message);
    t.wait_pod_reason("left-0", "GangGroupMismatch").await?;
    t.groups().patch("right", json!({"spec": {"reservation": "Direct"}})).await?;
    t.members("right", 0..1, "1").await?;
    t.wait_running("left", 1).await?;
    t.wait_running("right", 1).await?;
    let unplaced = t.pods().list(MEMBERS).await?.iter().filter(|pod| !is_bound(pod)).count();
    assert_eq!(unplaced, 0);
    Ok(())
}

async fn closed(t: &mut Context) -> Result<()> {
    let spec = json!({"applicationId": "one", "reservation": "Direct"});
    t.group("first", 1, "1", spec.clone()).await?;
    t.members("first", 0..1, "1").await?;
    t.wait_running("first", 1).await?;
    t.group("second", 1, "1", spec).await?;
    t.members("second", 0..1, "1").await?;
    t.wait_reason("second", "ApplicationClosed").await?;
    t.wait_pod_reason("second-0", "ApplicationClosed").await?;
    // Where the first one is deleted, the second is the application.
    t.groups().delete("first").await?;
    t.wait_running("second", 1).await.map(drop)
}

/// What runs goes on, and what comes later is refused.
async fn draining(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "4"})).await?;
    let spec = json!({"queue": queue, "reservation": "Direct"});
    t.group("first", 2, "1", spec.clone()).await?;
    t.members("first", 0..2, "1").await?;
    t.wait_running("first", 2).await?;
    let stays = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == 2;
    let which = format!("{}=first", names::TASK_GROUP);
    let refuse = async {
        t.everywhere::<Queue>().delete(&queue).await?;
        t.group("second", 1, "1", spec).await?;
        t.members("second", 0..1, "1").await?;
        t.wait_reason("second", "QueueDraining").await?;
        t.wait_pod_reason("second-0", "QueueDraining").await
    };
    t.pods().always(&which, "what runs goes on", stays, refuse).await?;
    t.queue(json!({"cpu": "4"})).await?;
    t.wait_running("second", 1).await.map(drop)
}
