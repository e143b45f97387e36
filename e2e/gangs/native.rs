//! Gangs of Kubernetes' own PodGroups: 1.37, with its feature gate `GenericWorkload`.

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::context::phase;
use crate::harness::words::{is_bound, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::objects::Objects;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test(
            "native: a gang of Kubernetes' own starts whole, says so, and goes with its PodGroup",
            Needs::Nodes(2),
            whole,
        ),
        test("native: with the basic policy each pod starts", Needs::Nodes(1), basic),
        test("native: what is not looked at is refused", Needs::Nodes(1), wrong),
    ];
    tests.map(Test::operated).into()
}

/// Kubernetes' PodGroup, as far as tests need its type.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "scheduling.k8s.io",
    version = "v1beta1",
    kind = "PodGroup",
    root = "NativeGroup",
    plural = "podgroups",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
pub(super) struct NativeGroupSpec {
    #[serde(flatten)]
    fields: Value,
}

fn groups(t: &Context) -> Objects<NativeGroup> {
    t.objects::<NativeGroup>()
}

/// A PodGroup with this spec.
fn group(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec})
}

/// The spec of one of which so many start together.
pub(super) fn gang(min_count: u32) -> Value {
    json!({"schedulingPolicy": {"gang": {"minCount": min_count}}})
}

/// Makes one of which so many start together.
async fn declare(t: &Context, name: &str, min_count: u32) -> Result<()> {
    groups(t).create(group(name, &gang(min_count))).await.map(drop)
}

/// That by which a pod names one.
pub(super) fn named(group: &str) -> Value {
    json!({"spec": {"schedulingGroup": {"podGroupName": group}}})
}

async fn add_pod(t: &Context, name: &str, group: &str) -> Result<()> {
    t.pods().create(t.pod(name, "1", named(group))).await.map(drop)
}

/// Waits until a PodGroup says that its gang was placed.
pub(super) async fn says_placed(t: &Context, name: &str) -> Result<()> {
    says(t, name, ("True", "Scheduled")).await
}

/// Waits until the condition of a PodGroup has this status and reason.
pub(super) async fn says(t: &Context, name: &str, expected: (&'static str, &'static str)) -> Result<()> {
    let does = move |group: &NativeGroup| {
        let conditions = group.status.as_ref().and_then(|status| status["conditions"].as_array());
        let mut of_type = conditions.into_iter().flatten().filter(|one| one["type"] == "PodGroupInitiallyScheduled");
        of_type.any(|one| one["status"] == expected.0 && one["reason"] == expected.1)
    };
    groups(t).wait(name, &format!("says {expected:?}"), does).await.map(drop)
}

async fn whole(t: &mut Context) -> Result<()> {
    for number in 0..2 {
        add_pod(t, &format!("trio-{number}"), "trio").await?;
    }
    let message = t.wait_pod_reason("trio-1", "TaskGroupNotFound").await?;
    assert!(message.contains("PodGroup trio of scheduling.k8s.io"), "{message}");
    declare(t, "trio", 4).await?;
    let message = t.wait_pod_reason("trio-1", "WaitingForMembers").await?;
    assert!(message.starts_with("2 of 4 members of trio exist"), "{message}");
    groups(t).patch("trio", json!({"spec": gang(3)})).await?;
    t.groups().wait("trio", "follows the edit", |group| group.spec.min_member == 3).await?;
    says(t, "trio", ("False", "WaitingForMembers")).await?;
    let start = async {
        add_pod(t, "trio-2", "trio").await?;
        let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 3;
        t.pods().wait_all("", "three run", run).await.map(drop)
    };
    let whole_or_none = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod)) || pods.len() >= 3;
    t.pods().always("", "none has a node before all are there", whole_or_none, start).await?;
    t.groups().wait("trio", "says that three run", |group| status(group).counts.running == 3).await?;
    says_placed(t, "trio").await?;
    let made = t.groups().wait("trio", "is there", |_| true).await?;
    assert_eq!(
        (made.spec.min_member, made.spec.total_member, made.spec.wait_timeout_seconds),
        (3, Some(100_000), None)
    );
    let owners: Vec<_> = made.owner_references().iter().map(|owner| owner.uid.clone()).collect();
    let of = groups(t).wait("trio", "is there", |_| true).await?;
    assert_eq!(owners, [of.uid().unwrap_or_default()]);
    // It is protected as long as a pod names it.
    for number in 0..3 {
        t.pods().delete(&format!("trio-{number}")).await?;
    }
    groups(t).delete("trio").await?;
    t.groups().wait_all("", "it is gone", |groups| groups.is_empty()).await.map(drop)
}

async fn basic(t: &mut Context) -> Result<()> {
    groups(t).create(group("each", &json!({"schedulingPolicy": {"basic": {}}}))).await?;
    for number in 0..2 {
        let name = format!("each-{number}");
        add_pod(t, &name, "each").await?;
        t.pods().wait(&name, "runs", |pod| phase(pod) == "Running").await?;
    }
    says_placed(t, "each").await
}

async fn wrong(t: &mut Context) -> Result<()> {
    let mut spec = gang(1);
    spec["schedulingConstraints"] = json!({"topology": [{"key": "zone"}]});
    groups(t).create(group("rack", &spec)).await?;
    add_pod(t, "rack-0", "rack").await?;
    let says = |event: &Event| {
        let message = event.message.as_deref().unwrap_or_default();
        event.reason.as_deref() == Some("InvalidDeclaration") && message.contains("spec.schedulingConstraints")
    };
    t.objects::<Event>().wait_all("", "one names the field", |events| events.iter().any(|event| says(event))).await?;
    t.wait_pod_reason("rack-0", "TaskGroupNotFound").await.map(drop)
}
