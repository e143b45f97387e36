//! Gangs of PodGroups, with the kinds as scheduler-plugins, Koordinator and Volcano define them: no TaskGroup but the ones that Gangline makes.

use std::fmt::Debug;

use gangline::api::task_group::{MatchPolicy, Reservation, TaskGroup};
use http::Method;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{CustomResource, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::context::phase;
use crate::harness::words::{is_bound, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::manifests::install_kinds;
use crate::support::objects::Objects;
use crate::support::policies::{Asker, SCHEDULER};
use crate::support::tools::Program;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test(
            "pod groups: a gang of scheduler-plugins starts whole, and goes with its PodGroup",
            Needs::Nodes(2),
            coscheduling,
        ),
        test(
            "pod groups: a gang of Koordinator starts whole, and goes with its PodGroup",
            Needs::Nodes(2),
            koordinator,
        ),
        test(
            "pod groups: a gang of Volcano is let in, starts whole, and goes with its PodGroup",
            Needs::Nodes(2),
            volcano,
        ),
        test("pod groups: what is wrong with one is told on a pod", Needs::Nodes(1), wrong),
        test(
            "pod groups: an edited annotation is followed before the start, and told after it",
            Needs::Nodes(1),
            edited,
        ),
    ];
    tests.map(Test::operated).into()
}

/// scheduler-plugins' PodGroup, as far as tests need its type; operators write it, too.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "scheduling.x-k8s.io",
    version = "v1alpha1",
    kind = "PodGroup",
    root = "CoschedulingGroup",
    plural = "podgroups",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
pub(super) struct CoschedulingGroupSpec {
    #[serde(flatten)]
    fields: Value,
}

/// Koordinator's, likewise.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "scheduling.sigs.k8s.io",
    version = "v1alpha1",
    kind = "PodGroup",
    root = "KoordinatorGroup",
    plural = "podgroups",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
pub(super) struct KoordinatorGroupSpec {
    #[serde(flatten)]
    fields: Value,
}

/// Volcano's, likewise.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "scheduling.volcano.sh",
    version = "v1beta1",
    kind = "PodGroup",
    root = "VolcanoGroup",
    plural = "podgroups",
    namespaced,
    schema = "disabled",
    status = "Value"
)]
pub(super) struct VolcanoGroupSpec {
    #[serde(flatten)]
    fields: Value,
}

/// One of these.
pub(super) trait PodGroup:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + 'static
{
    /// What of its metadata a pod names one by, and the key.
    const NAMED_BY: (&'static str, &'static str);
    /// What defines the kind.
    const KINDS: Program;
    /// Name of the file of the definition.
    const FILE: &'static str;
    /// Whether its status is no resource of its own.
    const IS_WRITTEN_WHOLE: bool;

    fn status(&self) -> &Value;
}

impl PodGroup for CoschedulingGroup {
    const NAMED_BY: (&'static str, &'static str) = ("labels", "scheduling.x-k8s.io/pod-group");
    const KINDS: Program = Program::CoschedulingKinds;
    const FILE: &'static str = "scheduling.x-k8s.io_podgroups";
    const IS_WRITTEN_WHOLE: bool = false;

    fn status(&self) -> &Value {
        self.status.as_ref().unwrap_or(&Value::Null)
    }
}

impl PodGroup for KoordinatorGroup {
    const NAMED_BY: (&'static str, &'static str) = ("labels", "pod-group.scheduling.sigs.k8s.io");
    const KINDS: Program = Program::KoordinatorKinds;
    const FILE: &'static str = "scheduling.sigs.k8s.io_podgroups";
    const IS_WRITTEN_WHOLE: bool = true;

    fn status(&self) -> &Value {
        self.status.as_ref().unwrap_or(&Value::Null)
    }
}

impl PodGroup for VolcanoGroup {
    const NAMED_BY: (&'static str, &'static str) = ("annotations", "scheduling.k8s.io/group-name");
    const KINDS: Program = Program::VolcanoKinds;
    const FILE: &'static str = "scheduling.volcano.sh_podgroups";
    const IS_WRITTEN_WHOLE: bool = true;

    fn status(&self) -> &Value {
        self.status.as_ref().unwrap_or(&Value::Null)
    }
}

/// The PodGroups of the test's namespace.
fn pod_groups<G: PodGroup>(t: &Context) -> Objects<G> {
    t.objects::<G>()
}

/// Defines the kind.
pub(super) async fn define<G: PodGroup>(t: &Context) -> Result<()> {
    install_kinds(&t.cluster.client, G::KINDS, &[G::FILE.to_owned()]).await
}

/// Waits until a PodGroup says so, and that so many run.
pub(super) async fn says<G: PodGroup>(t: &Context, name: &str, phase: &str, running: u64) -> Result<()> {
    // Where nobody runs, some say nothing of it.
    let seen = |group: &G| group.status()["running"].as_u64().unwrap_or(0);
    let does = |group: &G| group.status()["phase"] == phase && seen(group) == running;
    pod_groups::<G>(t).wait(name, &format!("says {phase}, and that {running} run"), does).await.map(drop)
}

/// Waits until no PodGroup has this name.
pub(super) async fn is_gone<G: PodGroup>(t: &Context, name: &str) -> Result<()> {
    pod_groups::<G>(t).wait_gone(name).await
}

/// A PodGroup of so many.
fn pod_group<G: PodGroup>(name: &str, min: u32) -> Value {
    let api_version = format!("{}/{}", G::group(&()), G::version(&()));
    json!({"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": name},
           "spec": {"minMember": min, "scheduleTimeoutSeconds": 3_600}})
}

/// The metadata by which a pod names one.
pub(super) fn named<G: PodGroup>(group: &str) -> Value {
    let (of, key) = G::NAMED_BY;
    json!({of: {key: group}})
}

async fn add_pod<G: PodGroup>(t: &Context, name: &str, group: &str) -> Result<()> {
    let metadata = named::<G>(group);
    t.pods().create(t.pod(name, "1", json!({"metadata": metadata}))).await.map(drop)
}

async fn coscheduling(t: &mut Context) -> Result<()> {
    whole::<CoschedulingGroup>(t).await
}

async fn koordinator(t: &mut Context) -> Result<()> {
    whole::<KoordinatorGroup>(t).await
}

async fn whole<G: PodGroup>(t: &mut Context) -> Result<()> {
    // Gangline runs before the kind is there, in most orders of the tests.
    for number in 0..2 {
        add_pod::<G>(t, &format!("trio-{number}"), "trio").await?;
    }
    let message = t.wait_pod_reason("trio-1", "TaskGroupNotFound").await?;
    assert!(message.contains(&format!("PodGroup trio of {}", G::group(&()))), "{message}");
    define::<G>(t).await?;
    pod_groups::<G>(t).create(pod_group::<G>("trio", 4)).await?;
    let message = t.wait_pod_reason("trio-1", "WaitingForMembers").await?;
    assert!(message.starts_with("2 of 4 members of trio exist"), "{message}");
    pod_groups::<G>(t).patch("trio", json!({"spec": {"minMember": 3}})).await?;
    t.groups().wait("trio", "follows the edit", |group| group.spec.min_member == 3).await?;
    let is = |expected: &'static str| move |group: &G| group.status()["phase"] == expected;
    pod_groups::<G>(t).wait("trio", "says that it waits", is("Pending")).await?;
    let of = starts_whole::<G>(t).await?;
    let group = t.groups().wait("trio", "is there", |_| true).await?;
    assert_eq!((group.spec.min_member, group.spec.reservation), (3, Reservation::Direct));
    assert_eq!(group.spec.wait_timeout_seconds, Some(3_600));
    let owners: Vec<_> = group.owner_references().iter().map(|owner| owner.uid.clone()).collect();
    assert_eq!(owners, [of.uid().unwrap_or_default()]);
    goes_with_its_object::<G>(t).await
}

/// Volcano's operators make no pods before the PodGroup says that they may.
async fn volcano(t: &mut Context) -> Result<()> {
    define::<VolcanoGroup>(t).await?;
    let spec = json!({"minMember": 3, "queue": "default", "minResources": {"cpu": "3"}});
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "trio"},
                       "spec": spec});
    pod_groups::<VolcanoGroup>(t).create(group).await?;
    let is_let_in = |group: &VolcanoGroup| group.status()["phase"] == "Inqueue";
    pod_groups::<VolcanoGroup>(t).wait("trio", "is let in without a pod", is_let_in).await?;
    for number in 0..2 {
        add_pod::<VolcanoGroup>(t, &format!("trio-{number}"), "trio").await?;
    }
    let message = t.wait_pod_reason("trio-1", "WaitingForMembers").await?;
    assert!(message.starts_with("2 of 3 members of trio exist"), "{message}");
    starts_whole::<VolcanoGroup>(t).await?;
    let group = t.groups().wait("trio", "is there", |_| true).await?;
    assert_eq!((group.spec.min_member, group.spec.wait_timeout_seconds), (3, None));
    goes_with_its_object::<VolcanoGroup>(t).await
}

/// The last of three comes: none of them has a node before. What the PodGroup says then.
async fn starts_whole<G: PodGroup>(t: &Context) -> Result<G> {
    let start = async {
        add_pod::<G>(t, "trio-2", "trio").await?;
        let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 3;
        t.pods().wait_all("", "three run", run).await.map(drop)
    };
    let whole_or_none = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod)) || pods.len() >= 3;
    t.pods().always("", "none has a node before all are there", whole_or_none, start).await?;
    t.groups().wait("trio", "says that three run", |group| status(group).counts.running == 3).await?;
    let runs = |group: &G| group.status()["phase"] == "Running" && group.status()["running"] == 3;
    pod_groups::<G>(t).wait("trio", "says that three run", runs).await
}

/// Nothing else can be made of either object, and with the PodGroup the TaskGroup goes.
async fn goes_with_its_object<G: PodGroup>(t: &Context) -> Result<()> {
    restrained::<G>(t).await?;
    pod_groups::<G>(t).delete("trio").await?;
    t.groups().wait_all("", "it is gone", |groups| groups.is_empty()).await.map(drop)
}

/// Whoever has the scheduler's token cannot make anything else of either object.
async fn restrained<G: PodGroup>(t: &Context) -> Result<()> {
    let scheduler = Asker::new(&t.cluster.kubeconfig, Some(SCHEDULER)).await?;
    let path = |version: &str, plural: &str| format!("/apis/{version}/namespaces/{}/{plural}/trio", t.namespace);
    let version = format!("{}/{}", G::group(&()), G::version(&()));
    let (of, label) = (path(&version, "podgroups"), json!({"metadata": {"labels": {"stolen": "yes"}}}));
    if G::IS_WRITTEN_WHOLE {
        scheduler.refused(Method::PATCH, &of, Some(&label), "a label of a PodGroup").await?;
        scheduler
            .refused(Method::PATCH, &of, Some(&json!({"spec": {"minMember": 1}})), "the spec of a PodGroup")
            .await?;
    } else {
        scheduler.expect(Method::PATCH, &of, Some(&label), 403, "the role allows its status alone").await?;
    }
    let made = path("gangline.dev/v1alpha1", "taskgroups");
    scheduler.refused(Method::PATCH, &made, Some(&label), "a label of a TaskGroup").await?;
    scheduler.refused(Method::PATCH, &made, Some(&json!({"spec": {"completionTimeoutSeconds": 7}})), "its end").await
}

async fn wrong(t: &mut Context) -> Result<()> {
    define::<KoordinatorGroup>(t).await?;
    pod_groups::<KoordinatorGroup>(t).create(pod_group::<KoordinatorGroup>("none", 0)).await?;
    add_pod::<KoordinatorGroup>(t, "none-0", "none").await?;
    let says = |event: &Event| {
        let message = event.message.as_deref().unwrap_or_default();
        event.reason.as_deref() == Some("InvalidDeclaration") && message.contains("spec.minMember: must be a number")
    };
    t.objects::<Event>().wait_all("", "one names the field", |events| events.iter().any(|event| says(event))).await?;
    let message = t.wait_pod_reason("none-0", "TaskGroupNotFound").await?;
    assert!(message.contains("when that is there and right"), "{message}");
    let right = pod_group::<KoordinatorGroup>("none", 1);
    pod_groups::<KoordinatorGroup>(t).patch("none", json!({"spec": right["spec"]})).await?;
    t.pods().wait("none-0", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

/// An annotation of Koordinator's.
fn annotation(key: &str, value: &str) -> Value {
    let key = format!("gang.scheduling.koordinator.sh/{key}");
    json!({"metadata": {"annotations": {key: value}}})
}

async fn edited(t: &mut Context) -> Result<()> {
    define::<KoordinatorGroup>(t).await?;
    let objects = pod_groups::<KoordinatorGroup>(t);
    objects.create(pod_group::<KoordinatorGroup>("edited", 3)).await?;
    for number in 0..2 {
        add_pod::<KoordinatorGroup>(t, &format!("edited-{number}"), "edited").await?;
    }
    t.wait_pod_reason("edited-1", "WaitingForMembers").await?;
    objects.patch("edited", annotation("match-policy", "only-waiting")).await?;
    let follows = |policy: MatchPolicy| move |group: &TaskGroup| group.spec.match_policy == policy;
    t.groups().wait("edited", "follows the edit", follows(MatchPolicy::OnlyWaiting)).await?;
    add_pod::<KoordinatorGroup>(t, "edited-2", "edited").await?;
    let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 3;
    t.pods().wait_all("", "three run", run).await?;
    // It counts: who comes now waits for two others.
    add_pod::<KoordinatorGroup>(t, "edited-3", "edited").await?;
    t.wait_pod_reason("edited-3", "WaitingForMembers").await?;
    objects.patch("edited", annotation("match-policy", "once-satisfied")).await?;
    let says = |event: &Event| {
        let message = event.message.as_deref().unwrap_or_default();
        let is_told = message.contains("another matchPolicy") && message.contains("it counts as it is");
        event.reason.as_deref() == Some("DeclarationAdjusted") && is_told
    };
    t.objects::<Event>().wait_all("", "one tells of the edit", |events| events.iter().any(|event| says(event))).await?;
    t.groups().wait("edited", "says what it said", follows(MatchPolicy::OnlyWaiting)).await?;
    t.wait_pod_reason("edited-3", "WaitingForMembers").await.map(drop)
}
