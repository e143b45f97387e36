//! Where YuniKorn's gangs go wrong: the same pods, in its words. Here each gang starts, or says what is wrong.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::{LimitRange, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, is_placeholder, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("yunikorn S3: a pending placeholder is deleted, then members come", Needs::Nodes(1), pending_deleted),
        test("yunikorn S4, S15: bound placeholders are deleted, one after the other", Needs::Nodes(1), bound_deleted),
        test("yunikorn S5: two gangs of 60 % of a quota", Needs::Nodes(1), two_of_sixty),
        test("yunikorn S6: the quota of a gang without its originator", Needs::Nodes(1), without_originator),
        test("yunikorn S7: a LimitRange changes placeholders", Needs::Nodes(1), limit_range),
        test("yunikorn S11: a member larger than its seat", Needs::Nodes(1), larger),
        test("yunikorn S12: a gang that never fits", Needs::Nodes(1), never_fits),
    ]
}

const APP_ID: &str = "yunikorn.apache.org/app-id";

/// An application with one task group.
struct App<'a> {
    t: &'a Context,
    id: &'a str,
    min: u32,
    cpu: &'a str,
    queue: Option<&'a str>,
}

impl<'a> App<'a> {
    const fn new(t: &'a Context, id: &'a str, min: u32, cpu: &'a str) -> Self {
        Self { t, id, min, cpu, queue: None }
    }

    /// A pod of the application; a member of its group, or outside.
    async fn pod(&self, name: &str, cpu: &str, is_member: bool) -> Result<()> {
        let mut group = json!({"name": "all", "minMember": self.min, "minResource": {"cpu": self.cpu}});
        merge(&mut group, self.t.placement());
        let mut annotations = json!({"yunikorn.apache.org/task-groups": json!([group]).to_string()});
        if is_member {
            annotations["yunikorn.apache.org/task-group-name"] = json!("all");
        }
        let mut labels = json!({APP_ID: self.id});
        if let Some(queue) = self.queue {
            labels["queue"] = json!(queue);
        }
        let metadata = json!({"metadata": {"labels": labels, "annotations": annotations}});
        self.t.pods().create(self.t.pod(name, cpu, metadata)).await.map(drop)
    }

    /// The first pod of the application: it declares the gang, and its seats are reserved.
    async fn driver(&self) -> Result<()> {
        self.pod(&format!("{}-driver", self.id), "100m", false).await
    }

    async fn members(&self, count: u32) -> Result<()> {
        for number in 0..count {
            self.pod(&format!("{}-{number}", self.id), self.cpu, true).await?;
        }
        Ok(())
    }

    /// Waits until so many of its own pods run.
    async fn wait_run(&self, count: usize) -> Result<()> {
        let run =
            |pods: &[&Pod]| pods.iter().filter(|pod| !is_placeholder(pod) && phase(pod) == "Running").count() == count;
        self.t.pods().wait_all(&format!("{APP_ID}={}", self.id), "they run", run).await.map(drop)
    }

    /// Waits until its TaskGroup says so.
    async fn wait_reason(&self, reason: &str) -> Result<TaskGroup> {
        let label = |group: &&&TaskGroup| group.spec.application_id.as_deref() == Some(self.id);
        let says =
            |groups: &[&TaskGroup]| groups.iter().find(label).is_some_and(|group| status(group).reason == reason);
        let groups = self.t.groups().wait_all("", &format!("{} is {reason}", self.id), says).await?;
        Ok(groups.into_iter().find(|group| group.spec.application_id.as_deref() == Some(self.id)).expect("it says so"))
    }
}

async fn held(t: &Context, count: usize) -> Result<Vec<Pod>> {
    t.wait_placeholders("hold the seats", count, |pod| phase(pod) == "Running").await
}

async fn pending_deleted(t: &mut Context) -> Result<()> {
    let app = App::new(t, "pending", 3, "7");
    app.driver().await?;
    let pending = t.wait_placeholders("wait for nodes", 3, |pod| !is_bound(pod)).await?;
    app.wait_reason("WaitingForCapacity").await?;
    t.pods().delete(&pending[0].name_any()).await?;
    t.pods().wait_gone(&pending[0].name_any()).await?;
    t.wait_placeholders("wait for nodes again", 3, |pod| !is_bound(pod)).await?;
    t.add_nodes("more", 1, |_| ()).await?;
    held(t, 3).await?;
    let app = App::new(t, "pending", 3, "7");
    app.members(3).await?;
    app.wait_run(4).await
}

async fn bound_deleted(t: &mut Context) -> Result<()> {
    let app = App::new(t, "bound", 3, "1");
    app.driver().await?;
    app.wait_run(1).await?;
    for pod in held(t, 3).await? {
        t.pods().delete(&pod.name_any()).await?;
        t.pods().wait_gone(&pod.name_any()).await?;
    }
    // The driver runs by now, so their room is kept for its members.
    app.members(3).await?;
    app.wait_run(4).await
}

async fn two_of_sixty(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "10"})).await?;
    let [first, second] = ["sixty-a", "sixty-b"].map(|id| App { queue: Some(&queue), ..App::new(t, id, 3, "2") });
    first.members(1).await?;
    held(t, 2).await?;
    second.members(1).await?;
    second.wait_reason("WaitingForQuota").await?;
    assert_eq!(t.pods().list("gangline.dev/placeholder").await?.len(), 2, "the second holds nothing");
    for number in 1..3 {
        first.pod(&format!("sixty-a-{number}"), "2", true).await?;
    }
    first.wait_run(3).await?;
    for number in 0..3 {
        t.pods().delete(&format!("sixty-a-{number}")).await?;
    }
    for number in 1..3 {
        second.pod(&format!("sixty-b-{number}"), "2", true).await?;
    }
    second.wait_run(3).await
}

async fn without_originator(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "6"})).await?;
    let app = App { queue: Some(&queue), ..App::new(t, "driven", 3, "2") };
    app.driver().await?;
    app.wait_reason("ExceedsMaxQuota").await?;
    t.wait_pod_reason("driven-driver", "ExceedsMaxQuota").await?;
    t.everywhere::<gangline::api::queue::Queue>().patch(&queue, json!({"spec": {"max": {"cpu": "6100m"}}})).await?;
    held(t, 3).await?;
    app.members(3).await?;
    app.wait_run(4).await
}

async fn limit_range(t: &mut Context) -> Result<()> {
    let limits = json!([{"type": "Container", "defaultRequest": {"memory": "300Mi"}, "default": {"memory": "600Mi"}}]);
    t.objects::<LimitRange>().create(json!({"metadata": {"name": "more"}, "spec": {"limits": limits}})).await?;
    let app = App::new(t, "limited", 3, "1");
    app.driver().await?;
    let placeholders = held(t, 3).await?;
    let memory = |pod: &Pod| -> Value { json!(pod.spec.as_ref().map(|spec| &spec.containers[0].resources)) };
    assert_eq!(memory(&placeholders[0])["requests"]["memory"], "300Mi", "it was changed");
    app.members(3).await?;
    app.wait_run(4).await?;
    t.wait_no_placeholders().await
}

async fn larger(t: &mut Context) -> Result<()> {
    let app = App::new(t, "large", 3, "1");
    app.driver().await?;
    held(t, 3).await?;
    app.pod("large-0", "1001m", true).await?;
    for number in 1..3 {
        app.pod(&format!("large-{number}"), "1", true).await?;
    }
    app.wait_run(4).await?;
    t.wait_no_placeholders().await
}

async fn never_fits(t: &mut Context) -> Result<()> {
    let huge = App::new(t, "huge", 3, "17");
    huge.driver().await?;
    let group = huge.wait_reason("WaitingForCapacity").await?;
    assert!(status(&group).message.contains("none of the 3 members"), "{}", status(&group).message);
    // It costs others nothing.
    let small = App::new(t, "small", 2, "1");
    small.members(2).await?;
    small.wait_run(2).await
}
