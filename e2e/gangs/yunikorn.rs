//! Gangs of YuniKorn's users: pods with its labels and annotations, and no TaskGroup but the ones that Gangline makes.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("yunikorn: a driver declares its executors, which hold seats and start together", Needs::Nodes(2), spark),
        test("yunikorn: a TaskGroup goes with the owner of the pods that declare it", Needs::Nodes(2), owned),
        test("yunikorn: a wrong declaration is refused on the pod", Needs::Nodes(1), wrong),
    ]
}

/// In YuniKorn's words, the application that a pod is of.
pub(super) const APP_ID: &str = "yunikorn.apache.org/app-id";
/// The task groups that a pod declares, as JSON.
pub(super) const GROUPS: &str = "yunikorn.apache.org/task-groups";
/// The one that it is a member of.
pub(super) const GROUP: &str = "yunikorn.apache.org/task-group-name";
/// With this annotation the pretended nodes let a pod of a Job run so long.
const RUN_FOR: &str = "gangline.dev/demo-run-for";
/// Timeout and style.
pub(super) const PARAMETERS: &str = "yunikorn.apache.org/schedulingPolicyParameters";

/// Task groups of one CPU each, on the test's nodes.
pub(super) fn task_groups(t: &Context, groups: &[(&str, u32)]) -> String {
    let groups = groups.iter().map(|(name, min)| {
        let mut group = json!({"name": name, "minMember": min, "minResource": {"cpu": "1"}});
        merge(&mut group, t.placement());
        group
    });
    Value::Array(groups.collect()).to_string()
}

/// A pod of an application, with these annotations.
fn pod(t: &Context, name: &str, app: &str, annotations: &Value) -> Value {
    t.pod(name, "1", json!({"metadata": {"labels": {APP_ID: app}, "annotations": annotations}}))
}

async fn spark(t: &mut Context) -> Result<()> {
    let groups = task_groups(t, &[("driver", 1), ("executor", 3)]);
    let parameters = "placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard";
    let annotations = json!({GROUPS: groups, GROUP: "driver", PARAMETERS: parameters});
    t.pods().create(pod(t, "driver", "spark-1", &annotations)).await?;
    // It starts with the seats of its executors held.
    t.pods().wait("driver", "runs", |pod| phase(pod) == "Running").await?;
    let placeholders = t.wait_placeholders("hold the seats", 3, |pod| phase(pod) == "Running").await?;
    assert_eq!(placeholders.len(), 3);
    let (code, list) = t.gangline(&["list"])?;
    assert!(code == Some(0) && list.contains("driver-") && list.contains("executor-"), "{list}");
    for number in 0..3 {
        t.pods().create(pod(t, &format!("executor-{number}"), "spark-1", &json!({GROUP: "executor"}))).await?;
    }
    let run = |pods: &[&Pod]| pods.len() == 4 && pods.iter().all(|pod| phase(pod) == "Running");
    t.pods().wait_all(&format!("{APP_ID}=spark-1"), "all run", run).await?;
    t.wait_no_placeholders().await?;
    let (code, why) = t.gangline(&["why", "pod/executor-0"])?;
    assert!(code == Some(0) && why.contains("executor-"), "{why}");
    // An executor beyond the group's number is an ordinary pod of the application.
    t.pods().create(pod(t, "executor-3", "spark-1", &json!({GROUP: "executor"}))).await?;
    t.pods().wait("executor-3", "runs", |pod| phase(pod) == "Running").await?;

    // Nobody controls the driver: its TaskGroups go with it.
    for name in ["driver", "executor-0", "executor-1", "executor-2", "executor-3"] {
        t.pods().delete_with(name, &DeleteParams::default()).await?;
    }
    t.groups().wait_all("", "they are gone", |groups| groups.is_empty()).await.map(drop)
}

/// A Job whose template has the annotations, as KubeRay writes them on every pod.
async fn owned(t: &mut Context) -> Result<()> {
    let annotations = json!({GROUPS: task_groups(t, &[("worker", 3)]), GROUP: "worker", RUN_FOR: "1h"});
    let template = pod(t, "worker", "job-1", &annotations);
    let template = json!({"metadata": {"labels": template["metadata"]["labels"], "annotations": annotations},
                          "spec": template["spec"]});
    let mut job = json!({"metadata": {"name": "work"}, "spec": {
        "parallelism": 3, "completions": 3, "backoffLimit": 100, "template": template}});
    merge(&mut job, json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}));
    t.objects::<Job>().create(job).await?;
    let members = format!("{APP_ID}=job-1");
    let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 3;
    let none_alone = |pods: &[&Pod]| {
        let bound = pods.iter().filter(|pod| is_bound(pod)).count();
        bound == 0 || pods.len() == 3
    };
    let pods = t.pods();
    let started = pods.wait_all(&members, "all run", run);
    t.pods().always(&members, "none has a node before all are there", none_alone, started).await?;
    let [group] = &t.groups().list("").await?[..] else { panic!("one TaskGroup") };
    let owner = group.metadata.owner_references.iter().flatten().map(|owner| owner.kind.as_str()).collect::<Vec<_>>();
    assert_eq!(owner, ["Job"]);
    let name = group.metadata.name.clone().unwrap_or_default();
    t.groups().wait(&name, "says that three run", |group: &TaskGroup| status(group).counts.running == 3).await?;
    t.objects::<Job>().delete_with("work", &DeleteParams::background()).await?;
    t.groups().wait_all("", "it is gone", |groups| groups.is_empty()).await.map(drop)
}

async fn wrong(t: &mut Context) -> Result<()> {
    let groups = r#"[{"name": "a", "minMember": -1, "minResource": {"cpu": "1"}}]"#;
    t.pods().create(pod(t, "wrong", "wrong-1", &json!({GROUPS: groups, GROUP: "a"}))).await?;
    let message = t.wait_pod_reason("wrong", "InvalidDeclaration").await?;
    assert!(message.contains("task-groups[0].minMember"), "{message}");
    let (code, why) = t.gangline(&["why", "pod/wrong"])?;
    assert!(code == Some(0) && why.contains("task-groups[0].minMember"), "{why}");
    assert!(t.groups().list("").await?.is_empty(), "nothing is made of it");
    Ok(())
}
