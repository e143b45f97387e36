//! Gangs of Koordinator's users: pods with its labels or annotations, and no TaskGroup but the ones that Gangline makes.

use gangline::api::task_group::{Reservation, TaskGroup};
use gangline::shim::dialect::koordinator::TIMEOUT;
use http::Method;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, label, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::policies::{Asker, SCHEDULER};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("koordinator: a gang declared by labels starts whole", Needs::Nodes(2), by_labels),
        test("koordinator: a gang declared by annotations goes with its Job", Needs::Nodes(2), by_annotations),
        test("koordinator: two gangs of one group start together or not", Needs::Nodes(2), group),
        test("koordinator: a wrong declaration is refused on the pod", Needs::Nodes(1), wrong),
        test("koordinator: who belongs to a gang beyond the least starts with it if there", Needs::Nodes(1), beyond),
        test(
            "koordinator: of a pod nothing is written but that its gang has timed out, and who brings that along waits",
            Needs::Nodes(1),
            timed_out,
        ),
    ]
}

/// The label that names the gang.
const NAME_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/name";
/// The label that says how many start together.
const MIN_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/min-available";
/// What the keys of the annotations begin with.
const PREFIX: &str = "gang.scheduling.koordinator.sh/";
/// Marks the pods of one gang, for those who watch.
const GANG: &str = "e2e.gangline.dev/gang";
/// With this annotation the pretended nodes let a pod of a Job run so long.
const RUN_FOR: &str = "gangline.dev/demo-run-for";

/// Annotations of a gang of so many, with more of them.
fn annotations(gang: &str, min: u32, more: &Value) -> Value {
    let mut all = json!({"name": gang, "min-available": min.to_string()});
    merge(&mut all, more.clone());
    let prefixed = all.as_object().expect("annotations").iter();
    prefixed.map(|(key, value)| (format!("{PREFIX}{key}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
}

/// A pod of a gang, that many of which start together.
fn pod(t: &Context, gang: &str, number: u32, cpu: &str, annotations: &Value) -> Value {
    let metadata = json!({"labels": {GANG: gang}, "annotations": annotations});
    t.pod(&format!("{gang}-{number}"), cpu, json!({"metadata": metadata}))
}

/// Whether none of the pods has a node, or at least so many have.
pub(super) fn whole_or_none(pods: &[&Pod], min: usize) -> bool {
    let bound = pods.iter().filter(|pod| is_bound(pod)).count();
    bound == 0 || pods.len() >= min
}

async fn wait_run(t: &Context, gang: &str, count: usize) -> Result<()> {
    let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == count;
    t.pods().wait_all(&format!("{GANG}={gang}"), &format!("{count} run"), run).await.map(drop)
}

async fn by_labels(t: &mut Context) -> Result<()> {
    let labels = json!({NAME_LABEL: "trio", MIN_LABEL: "3", GANG: "trio"});
    let start = async {
        for number in 0..3 {
            t.pods().create(t.pod(&format!("trio-{number}"), "1", json!({"metadata": {"labels": labels}}))).await?;
        }
        wait_run(t, "trio", 3).await
    };
    let pods = t.pods();
    pods.always("", "none has a node before all are there", |pods| whole_or_none(pods, 3), start).await?;
    let runs = |group: &TaskGroup| status(group).counts.running == 3;
    let group = t.groups().wait("trio", "says that three run", runs).await?;
    assert_eq!((group.spec.min_member, group.spec.reservation), (3, Reservation::Direct));
    assert_eq!(group.spec.wait_timeout_seconds, Some(600));
    t.wait_no_placeholders().await?;
    // One more is an ordinary pod of the gang.
    t.pods().create(t.pod("trio-3", "1", json!({"metadata": {"labels": labels}}))).await?;
    wait_run(t, "trio", 4).await?;
    for number in 0..4 {
        t.pods().delete_with(&format!("trio-{number}"), &DeleteParams::default()).await?;
    }
    // Nobody controls the pods: the TaskGroup goes with the one for which it was made.
    t.groups().wait_all("", "it is gone", |groups| groups.is_empty()).await.map(drop)
}

async fn by_annotations(t: &mut Context) -> Result<()> {
    let mut annotations = annotations("work", 3, &json!({"waiting-time": "1h", "total-number": "3", "mode": "Strict"}));
    annotations[RUN_FOR] = json!("1h");
    let template = t.pod("work", "1", json!({"metadata": {"labels": {GANG: "work"}, "annotations": annotations}}));
    let template =
        json!({"metadata": {"labels": {GANG: "work"}, "annotations": annotations}, "spec": template["spec"]});
    let mut job = json!({"metadata": {"name": "work"}, "spec": {
        "parallelism": 3, "completions": 3, "backoffLimit": 100, "template": template}});
    merge(&mut job, json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}));
    t.objects::<Job>().create(job).await?;
    let pods = t.pods();
    let started = wait_run(t, "work", 3);
    pods.always("", "none has a node before all are there", |pods| whole_or_none(pods, 3), started).await?;
    let group = t.groups().wait("work", "is there", |_| true).await?;
    let owners: Vec<&str> = group.metadata.owner_references.iter().flatten().map(|owner| &*owner.kind).collect();
    assert_eq!((owners, group.spec.wait_timeout_seconds), (vec!["Job"], Some(3_600)));
    t.objects::<Job>().delete_with("work", &DeleteParams::background()).await?;
    t.groups().wait_all("", "it is gone", |groups| groups.is_empty()).await.map(drop)
}

async fn group(t: &mut Context) -> Result<()> {
    let listed = json!([format!("{}/role-a", t.namespace), format!("{}/role-b", t.namespace)]).to_string();
    let declared = |gang: &str, min: u32| annotations(gang, min, &json!({"groups": listed}));
    let wait = async {
        for number in 0..2 {
            t.pods().create(pod(t, "role-a", number, "1", &declared("role-a", 2))).await?;
        }
        let message = t.wait_pod_reason("role-a-1", "WaitingForTaskGroups").await?;
        assert!(message.contains("role-b"), "{message}");
        t.pods().create(pod(t, "role-b", 0, "1", &declared("role-b", 2))).await?;
        let message = t.wait_pod_reason("role-a-1", "WaitingForMembers").await?;
        assert!(message.contains("role-b"), "{message}");
        Ok(())
    };
    t.pods().always("", "no member has a node", |pods| !pods.iter().any(|pod| is_bound(pod)), wait).await?;
    let start = async {
        t.pods().create(pod(t, "role-b", 1, "1", &declared("role-b", 2))).await?;
        wait_run(t, "role-a", 2).await?;
        wait_run(t, "role-b", 2).await
    };
    t.pods().always("", "none has a node before all are there", |pods| whole_or_none(pods, 4), start).await?;
    let groups = t.groups().list("").await?;
    let applications: Vec<_> = groups.iter().map(|group| group.spec.application_id.clone()).collect();
    assert!(applications.len() == 2 && applications[0] == applications[1], "{applications:?}");
    Ok(())
}

async fn wrong(t: &mut Context) -> Result<()> {
    let listed = r#"["gang-b"]"#;
    for (number, (more, word)) in (0..).zip([
        (json!({"min-available": "five"}), "min-available"),
        (json!({"network-topology-spec": "{}"}), "topology"),
        (json!({"groups": listed}), "must be namespace/name"),
    ]) {
        let gang = format!("wrong-{number}");
        t.pods().create(pod(t, &gang, 0, "1", &annotations(&gang, 1, &more))).await?;
        let message = t.wait_pod_reason(&format!("{gang}-0"), "InvalidDeclaration").await?;
        assert!(message.contains("Koordinator") && message.contains(word), "{message}");
    }
    let (code, why) = t.gangline(&["why", "pod/wrong-1-0"])?;
    assert!(code == Some(0) && why.contains("is not supported yet"), "{why}");
    // Koordinator's default is taken, and the pod says so.
    t.pods().create(pod(t, "adjusted", 0, "1", &annotations("adjusted", 1, &json!({"waiting-time": "600"})))).await?;
    wait_run(t, "adjusted", 1).await?;
    let groups = t.groups().list("").await?;
    assert_eq!(groups.len(), 1, "nothing is made of what is wrong: {groups:?}");
    let waiting = t.pods().list("").await?;
    assert!(waiting.iter().filter(|pod| !is_bound(pod)).all(|pod| !why_waits(pod).0.is_empty()));
    Ok(())
}

/// Three of a gang of five start together. Four are there when there is room for so many, and somebody waits behind them, who could
/// have the place of the fourth.
async fn beyond(t: &mut Context) -> Result<()> {
    let pods = t.pods();
    let declared = annotations("five", 3, &json!({"total-number": "5"}));
    pods.create(t.pod("first", "13", json!({}))).await?;
    pods.wait("first", "runs", |pod| phase(pod) == "Running").await?;
    for number in 0..4 {
        pods.create(pod(t, "five", number, "4", &declared)).await?;
    }
    t.wait_pod_reason("five-0", "Unschedulable").await?;
    pods.wait("five-3", "says why it waits", |pod| !why_waits(pod).0.is_empty()).await?;
    pods.create(t.pod("stranger", "4", json!({}))).await?;
    t.wait_pod_reason("stranger", "Unschedulable").await?;
    let start = async {
        pods.delete("first").await?;
        wait_run(t, "five", 4).await
    };
    let is_behind = |pods: &[&Pod]| {
        let named = |name: &str| pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(name));
        let of_gang = pods.iter().filter(|pod| label(pod, GANG) == "five" && is_bound(pod)).count();
        (named("first").is_none() || of_gang == 0) && !named("stranger").is_some_and(|pod| is_bound(pod))
    };
    pods.always("", "all of them go before the stranger", is_behind, start).await?;
    let group = t.groups().wait("five", "says that four run", |group| status(group).counts.running == 4).await?;
    assert_eq!((group.spec.min_member, group.spec.total_member), (3, Some(5)));
    pods.delete("stranger").await?;
    // The fifth is an ordinary pod.
    let last = async {
        pods.create(pod(t, "five", 4, "4", &declared)).await?;
        t.wait_pod_reason("five-4", "Unschedulable").await?;
        t.add_nodes("more", 1, |_| ()).await?;
        wait_run(t, "five", 5).await
    };
    let four_stay = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() >= 4;
    pods.always(&format!("{GANG}=five"), "four have nodes all the time", four_stay, last).await
}

async fn timed_out(t: &mut Context) -> Result<()> {
    t.pods().create(pod(t, "late", 0, "1", &annotations("late", 2, &json!({})))).await?;
    t.wait_pod_reason("late-0", "WaitingForMembers").await?;
    restrained(t).await?;
    // Who brings it along declares nothing.
    let brought = annotations("brought", 1, &json!({"timeout": "true"}));
    t.pods().create(pod(t, "brought", 0, "1", &brought)).await?;
    let message = t.wait_pod_reason("brought-0", "WaitTimeout").await?;
    assert!(message.contains("submit it again"), "{message}");
    assert!(t.groups().get("brought").await?.is_none());
    Ok(())
}

/// Whoever has the scheduler's token can make nothing else of a pod.
async fn restrained(t: &Context) -> Result<()> {
    let scheduler = Asker::new(&t.cluster.kubeconfig, Some(SCHEDULER)).await?;
    t.pods().create(t.pod("theirs", "1", json!({"spec": {"schedulerName": "another"}}))).await?;
    let at = |pod: &str| format!("/api/v1/namespaces/{}/pods/{pod}?dryRun=All", t.namespace);
    let annotated = |key: &str, value: Value| json!({"metadata": {"annotations": {key: value}}});
    for (patch, why) in [
        (annotated("stolen", json!("yes")), "another annotation"),
        (annotated("stolen", json!("")), "an empty one"),
        (annotated(&format!("{PREFIX}name"), json!("other")), "another annotation changed"),
        (annotated(&format!("{PREFIX}name"), Value::Null), "another annotation taken away"),
        (annotated(TIMEOUT, json!("false")), "another value"),
        (json!({"metadata": {"labels": {"stolen": "yes"}}}), "a label"),
        (json!({"metadata": {"finalizers": ["example.com/stuck"]}}), "a finalizer"),
        (json!({"spec": {"activeDeadlineSeconds": 1}}), "its end"),
    ] {
        scheduler.refused(Method::PATCH, &at("late-0"), Some(&patch), why).await?;
    }
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"});
    let owned = json!({"metadata": {"ownerReferences": [owner]}});
    scheduler.refused(Method::PATCH, &at("late-0"), Some(&owned), "an owner").await?;
    let says = annotated(TIMEOUT, json!("true"));
    scheduler.refused(Method::PATCH, &at("theirs"), Some(&says), "a pod of another scheduler").await?;
    for (patch, why) in [(says, "that it has timed out"), (annotated(TIMEOUT, Value::Null), "that it has not")] {
        scheduler.expect(Method::PATCH, &at("late-0"), Some(&patch), 200, why).await?;
    }
    Ok(())
}
