//! Gangs that the Spark operator makes for YuniKorn (`batchScheduler: yunikorn`). Operator and webhook are the real ones; Spark is
//! not there: `submit.rs` makes the driver pod as `spark-submit` would, `driver.rs` the executors as a driver would.

mod conf;
mod driver;
pub(super) mod submit;

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::driver::Driver;
use super::operated::{is_ended, is_whole, running};
use crate::harness::context::{merge, phase};
use crate::harness::words::{PLACEHOLDERS, is_placeholder, label};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test("spark operator: driver and executors start as a gang, and leave nothing", Needs::Nodes(1), starts),
        test("spark operator: an application without room waits as a whole", Needs::Nodes(1), waits),
        test("spark operator: an application that is submitted again starts as a gang again", Needs::Nodes(1), again),
        test("spark operator: executors come and go above and below the first number", Needs::Nodes(1), scales),
        test(
            "spark operator: an application that begins without executors gets them later",
            Needs::Nodes(1),
            from_none,
        ),
    ];
    tests.map(Test::operated).into()
}

/// A SparkApplication, as far as tests need its type.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "sparkoperator.k8s.io",
    version = "v1beta2",
    kind = "SparkApplication",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
struct SparkApplicationSpec {
    #[serde(flatten)]
    fields: Value,
}

/// Creates an application of a driver of one core, and so many executors of these cores; `patch` is merged into its spec.
async fn create(t: &Context, name: &str, executors: u32, cores: u32, patch: Value) -> Result<String> {
    t.cluster.spark_operator().await?;
    let queue = t.queue(json!({})).await?;
    let role = |role: Value| {
        let mut role = role;
        merge(&mut role, t.placement());
        role
    };
    let mut spec = json!({
        "type": "Scala", "mode": "cluster", "image": "spark:4.0.1", "sparkVersion": "4.0.1",
        "mainClass": "org.example.Main", "mainApplicationFile": "local:///opt/main.jar",
        "batchScheduler": "yunikorn", "batchSchedulerOptions": {"queue": queue},
        "restartPolicy": {"type": "Never"},
        "driver": role(json!({"cores": 1, "memory": "512m"})),
        "executor": role(json!({"cores": cores, "instances": executors, "memory": "1g"})),
    });
    merge(&mut spec, patch);
    t.objects::<SparkApplication>().create(json!({"metadata": {"name": name}, "spec": spec})).await?;
    Ok(queue)
}

/// Waits until the driver runs and so many placeholders hold the seats of its executors; it does not start before.
async fn driver_runs(t: &Context, held: usize) -> Result<Pod> {
    let are_held = |pods: &[&Pod]| {
        let placeholders = pods.iter().filter(|pod| is_placeholder(pod) && phase(pod) == "Running");
        running(pods) == 1 && placeholders.count() == held
    };
    let pods = t.pods();
    let started = pods.wait_all("", "the driver runs, and the seats of its executors are held", are_held);
    let whole = |pods: &[&Pod]| is_whole(pods, held + 1);
    let pods = pods.always("", "it does not start before every seat is held", whole, started).await?;
    Ok(pods.into_iter().find(|pod| label(pod, "spark-role") == "driver").expect("the driver"))
}

/// Waits until exactly so many pods are there and run, none of them a placeholder.
async fn all_run(t: &Context, count: usize) -> Result<Vec<Pod>> {
    let all = |pods: &[&Pod]| running(pods) == count && pods.iter().filter(|pod| !is_ended(pod)).count() == count;
    t.pods().wait_all("", &format!("{count} pods run, and nothing else"), all).await
}

/// Waits until the operator says so of an application.
async fn says(t: &Context, name: &str, state: &str) -> Result<()> {
    let is =
        |app: &SparkApplication| app.status.as_ref().is_some_and(|status| status["applicationState"]["state"] == state);
    t.objects::<SparkApplication>().wait(name, &format!("is {state}"), is).await.map(drop)
}

async fn delete(t: &Context, name: &str) -> Result<()> {
    t.objects::<SparkApplication>().delete(name).await?;
    t.objects::<SparkApplication>().wait_gone(name).await?;
    t.wait_nothing_left().await
}

async fn starts(t: &mut Context) -> Result<()> {
    let queue = create(t, "etl", 3, 2, json!({})).await?;
    let driver = Driver::of(t, driver_runs(t, 3).await?).await?;
    driver.make(1..4).await?;
    let pods = all_run(t, 4).await?;
    let application = label(&pods[0], "spark-app-selector").to_owned();
    for pod in &pods {
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()), Some("yunikorn"));
        assert_eq!((label(pod, "spark-app-selector"), label(pod, "queue")), (application.as_str(), queue.as_str()));
    }
    for group in t.wait_groups(2, "Running").await? {
        assert_eq!(group.spec.application_id, Some(application.clone()));
        assert_eq!(group.spec.queue.as_ref(), Some(&queue));
    }
    says(t, "etl", "RUNNING").await?;
    delete(t, "etl").await
}

async fn waits(t: &mut Context) -> Result<()> {
    // The driver and two of three executors would fit.
    create(t, "large", 3, 7, json!({})).await?;
    t.wait_groups(2, "WaitingForCapacity").await?;
    t.holds_nothing_until_there_is_room().await?;
    let driver = Driver::of(t, driver_runs(t, 3).await?).await?;
    driver.make(1..4).await?;
    all_run(t, 4).await?;
    delete(t, "large").await
}

async fn again(t: &mut Context) -> Result<()> {
    let policy = json!({"type": "OnFailure", "onFailureRetries": 1, "onFailureRetryInterval": 1});
    create(t, "nightly", 2, 3, json!({"restartPolicy": policy})).await?;
    let first = driver_runs(t, 2).await?;
    Driver::of(t, first.clone()).await?.make(1..3).await?;
    all_run(t, 3).await?;
    let exit = json!({"name": "spark-kubernetes-driver", "image": "spark:4.0.1", "imageID": "", "ready": false,
                      "restartCount": 0, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
    // Executors end when their driver does; the operator leaves them, as they are the application's too.
    for pod in t.pods().list("spark-role=executor").await? {
        t.pods().patch_status(&pod.name_any(), json!({"phase": "Failed"})).await?;
    }
    let failed = json!({"phase": "Failed", "containerStatuses": [exit]});
    t.pods().patch_status(&first.name_any(), failed).await?;
    // The TaskGroups of an application go with its driver.
    let others = |groups: &[&TaskGroup]| {
        let id = Some(label(&first, "spark-app-selector"));
        groups.len() == 2 && groups.iter().all(|group| group.spec.application_id.as_deref() != id)
    };
    t.groups().wait_all("", "only the second try has TaskGroups", others).await?;
    let second = driver_runs(t, 2).await?;
    assert_eq!(first.name_any(), second.name_any());
    assert_ne!(label(&first, "spark-app-selector"), label(&second, "spark-app-selector"), "another application");
    Driver::of(t, second).await?.make(1..3).await?;
    all_run(t, 3).await?;
    t.wait_groups(2, "Running").await?;
    delete(t, "nightly").await
}

async fn scales(t: &mut Context) -> Result<()> {
    let dynamic = json!({"enabled": true, "initialExecutors": 2, "minExecutors": 0, "maxExecutors": 5});
    create(t, "adhoc", 2, 3, json!({"executor": {"instances": null}, "dynamicAllocation": dynamic})).await?;
    let driver = Driver::of(t, driver_runs(t, 2).await?).await?;
    driver.make(1..3).await?;
    all_run(t, 3).await?;
    // Above: ordinary pods, each where it has room.
    driver.make(3..7).await?;
    let one_waits = |pods: &[&Pod]| running(pods) == 6 && pods.len() == 7;
    t.pods().wait_all("", "all executors run but one", one_waits).await?;
    let waiting = t.pods().list("").await?.into_iter().find(|pod| phase(pod) != "Running").expect("one waits");
    t.wait_pod_reason(&waiting.name_any(), "Unschedulable").await?;
    // Below: no placeholder is made for those that were let go.
    driver.let_go(1..7).await?;
    all_run(t, 1).await?;
    driver.make(7..10).await?;
    let no_placeholder = |pods: &[&Pod]| pods.is_empty();
    t.pods().always(PLACEHOLDERS, "there is no placeholder", no_placeholder, all_run(t, 4)).await?;
    delete(t, "adhoc").await
}

/// The operator declares no group of executors, which name one all the same.
async fn from_none(t: &mut Context) -> Result<()> {
    let dynamic = json!({"enabled": true, "initialExecutors": 0, "minExecutors": 0, "maxExecutors": 5});
    let queue = create(t, "idle", 0, 3, json!({"executor": {"instances": null}, "dynamicAllocation": dynamic})).await?;
    let driver = Driver::of(t, driver_runs(t, 0).await?).await?;
    driver.make(1..3).await?;
    let pods = all_run(t, 3).await?;
    assert!(pods.iter().all(|pod| label(pod, "queue") == queue));
    // Those of executors whose group is not there would hold seats for nobody.
    t.wait_groups(1, "Running").await?;
    delete(t, "idle").await
}
