//! A Spark application with dynamic allocation, in YuniKorn's words: executors beyond those that start with the driver come in
//! waves, and go in between.

use std::ops::Range;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::middles::{Middle, Scenario};
use super::yunikorn::{GROUP, GROUPS, PARAMETERS, task_groups};
use super::yunikorn_apps::{has_placeholders, outlast_first_look};
use crate::harness::Context;
use crate::harness::context::phase;
use crate::harness::words::{MEMBERS, is_bound, label};
use crate::support::error::Result;

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![Scenario::new("yunikorn: a Spark application whose executors come in two waves", 2, |t, middle| {
        Box::pin(waves(t, middle))
    })]
}

const APPLICATION: &str = "spark-waves";
/// Executors that start with the driver.
const AT_FIRST: u32 = 2;
/// Executors that the queue has room for, beside the driver.
const AT_MOST: u32 = 5;

async fn waves(t: &mut Context, middle: &Middle) -> Result<()> {
    let queue = t.queue(json!({"cpu": (AT_MOST + 1).to_string()})).await?;
    let driver = t.pods().create(driver(t, &queue)).await?;
    t.pods().wait("driver", "runs", |pod| phase(pod) == "Running").await?;
    t.wait_placeholders("hold the seats", AT_FIRST as usize, |pod| phase(pod) == "Running").await?;
    executors(t, &driver, 1..AT_FIRST + 1).await?;
    wait_executors(t, AT_FIRST).await?;
    t.wait_no_placeholders().await?;

    // From now on they are ordinary pods, however few there are.
    let goes_on = |pods: &[&Pod]| {
        let is_driver = |pod: &&&Pod| pod.name_any() == "driver";
        pods.iter().find(is_driver).is_some_and(|pod| phase(pod) == "Running") && !has_placeholders(pods, APPLICATION)
    };
    let waves = async {
        // One more than there is room for.
        executors(t, &driver, AT_FIRST + 1..AT_MOST + 2).await?;
        wait_executors(t, AT_MOST).await?;
        t.wait_pod_reason(&format!("exec-{}", AT_MOST + 1), "WaitingForQuota").await?;
        // Those of the wave go, and those of the gang: no executor is left.
        retire(t, AT_FIRST + 1..AT_MOST + 1).await?;
        wait_executors(t, AT_FIRST + 1).await?;
        retire(t, 1..AT_FIRST + 1).await?;
        retire(t, AT_MOST + 1..AT_MOST + 2).await?;
        middle.pass().await?;
        outlast_first_look(t).await?;
        executors(t, &driver, 10..10 + AT_MOST).await?;
        wait_executors(t, AT_MOST).await
    };
    t.pods().always("", "the driver runs, and nothing is reserved", goes_on, waves).await?;

    t.pods().delete("newcomer-0").await?;
    // The executors go with their driver, and with all of them what the application used.
    t.pods().delete("driver").await?;
    t.groups().wait_all("", "they are gone", |groups| groups.is_empty()).await?;
    let cpus = (AT_MOST + 1).to_string();
    t.pods().create(t.pod("next", &cpus, json!({"metadata": {"labels": {"queue": queue}}}))).await?;
    t.pods().wait("next", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

/// As the operator for Spark makes it: the driver is of a task group of its own, and declares that of its executors.
fn driver(t: &Context, queue: &str) -> Value {
    let annotations = json!({
        GROUPS: task_groups(t, &[("spark-driver", 1), ("spark-executor", AT_FIRST)]),
        GROUP: "spark-driver",
        PARAMETERS: "placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard",
    });
    let labels = json!({"spark-role": "driver", "spark-app-selector": APPLICATION, "queue": queue});
    t.pod("driver", "1", json!({"metadata": {"labels": labels, "annotations": annotations}}))
}

/// Executors of these numbers, as the driver makes them.
async fn executors(t: &Context, driver: &Pod, numbers: Range<u32>) -> Result<()> {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": driver.uid(), "controller": true});
    let labels = json!({"spark-role": "executor", "spark-app-selector": APPLICATION, "queue": label(driver, "queue")});
    for number in numbers {
        let metadata = json!({"labels": labels, "annotations": {GROUP: "spark-executor"}, "ownerReferences": [owner]});
        t.pods().create(t.pod(&format!("exec-{number}"), "1", json!({"metadata": metadata}))).await?;
    }
    Ok(())
}

/// The driver lets executors go that are idle.
async fn retire(t: &Context, numbers: Range<u32>) -> Result<()> {
    for number in numbers {
        t.pods().delete(&format!("exec-{number}")).await?;
        t.pods().wait_gone(&format!("exec-{number}")).await?;
    }
    Ok(())
}

/// Waits until exactly so many executors run.
async fn wait_executors(t: &Context, count: u32) -> Result<()> {
    let run = |pods: &[&Pod]| {
        let running = pods.iter().filter(|pod| phase(pod) == "Running");
        running.count() == count as usize && pods.iter().filter(|pod| is_bound(pod)).count() == count as usize
    };
    let executors = format!("{MEMBERS},spark-role=executor");
    t.pods().wait_all(&executors, &format!("{count} executors run"), run).await.map(drop)
}
