//! Restarts under contention: pods of gangs are made anew by those who do it in real clusters, while a stranger waits for
//! their room. A gang that restarts starts whole, and while its seats are kept nobody else gets their room (01, 1.5, 1.8).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::harness::context::{merge, node, phase};
use crate::harness::words::{MEMBERS, is_bound, is_placeholder, label, marked, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::{During, Result};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("restarts: Direct gangs under contention", Needs::Nodes(0), direct),
        test("restarts: Direct gangs in a queue that is full", Needs::Nodes(0), in_a_full_queue),
        test("restarts: gangs with placeholders for missing members under contention", Needs::Nodes(0), missing),
        test("restarts: gangs with placeholders for all under contention", Needs::Nodes(0), all),
        test("restarts: a Job with more completions than parallelism goes on", Needs::Nodes(0), completions),
        test("restarts: a StatefulSet whose pods come in order", Needs::Nodes(0), in_order),
        test("restarts: a worker's seat is kept elsewhere when its node goes", Needs::Nodes(0), node_goes),
    ]
}

/// With this annotation the pretended nodes let a pod run so long.
const RUN_FOR: &str = "gangline.dev/demo-run-for";

/// Keeps a pod that is deleted where it is.
const HOLD: &str = "e2e.gangline.dev/hold";

/// Members of a gang here: they fill their node. The controller of Jobs makes pods anew 10 s after one has failed, twice as long
/// after two, and so on: with four that fail at once the seats would be kept too short.
const MIN: usize = 3;

/// Who makes pods anew, and how.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// All pods of a Job fail at once; others come while the old ones are there (`TerminatingOrFailed`).
    JobFails,
    /// The pods of a Job are deleted; others come when they are gone (`podReplacementPolicy: Failed`).
    JobLosesPods,
    /// A Job is deleted and another one made, as a JobSet does.
    JobMadeAnew,
    /// A Job is suspended and resumed.
    JobSuspended,
    /// The pods of a Deployment are deleted: others come at once, beside those that terminate.
    DeploymentLosesPods,
    /// Pods that nobody controls are deleted, and made again one by one.
    OneByOne,
    /// The same, after the hold.
    AfterTheHold,
}

impl Way {
    const ALL: [Self; 7] = [
        Self::JobFails,
        Self::JobLosesPods,
        Self::JobMadeAnew,
        Self::JobSuspended,
        Self::DeploymentLosesPods,
        Self::OneByOne,
        Self::AfterTheHold,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::JobFails => "all pods of a Job fail at once (TerminatingOrFailed)",
            Self::JobLosesPods => "all pods of a Job are deleted (Failed)",
            Self::JobMadeAnew => "a Job is deleted and made anew (JobSet)",
            Self::JobSuspended => "a Job is suspended and resumed",
            Self::DeploymentLosesPods => "all pods of a Deployment are deleted",
            Self::OneByOne => "pods made again one by one within the hold",
            Self::AfterTheHold => "pods made again after the hold",
        }
    }
}

async fn direct(t: &mut Context) -> Result<()> {
    on_a_full_node(t, "Direct", &json!({"reservation": "Direct"})).await
}

async fn missing(t: &mut Context) -> Result<()> {
    on_a_full_node(t, "Placeholder/missing", &json!({})).await
}

async fn all(t: &mut Context) -> Result<()> {
    on_a_full_node(t, "Placeholder/all", &json!({"placeholderFor": "all"})).await
}

async fn on_a_full_node(t: &mut Context, kind: &str, spec: &Value) -> Result<()> {
    t.add_nodes("full", 1, |nodes| nodes.cpu = MIN.to_string()).await?;
    table(t, kind, spec).await
}

/// The node has room for two such gangs, their queue for one.
async fn in_a_full_queue(t: &mut Context) -> Result<()> {
    t.add_nodes("wide", 1, |nodes| nodes.cpu = (2 * MIN).to_string()).await?;
    let queue = t.queue(json!({"cpu": MIN.to_string()})).await?;
    table(t, "Direct, a full queue", &json!({"reservation": "Direct", "queue": queue})).await
}

/// Every way of one kind of gang, one after the other where there is room for one. Prints a row for each.
async fn table(t: &Context, kind: &str, spec: &Value) -> Result<()> {
    for (number, way) in Way::ALL.into_iter().enumerate() {
        let began = Instant::now();
        let name = format!("g{number}");
        restart(t, &name, spec, way).await?;
        let stranger = if matches!(way, Way::AfterTheHold) { "is before it" } else { "waits" };
        let took = began.elapsed().as_secs_f64();
        println!("restarts: | {kind} | {} | starts whole | the stranger {stranger} | {took:.1} s |", way.words());
    }
    Ok(())
}

/// A gang that fills its node, or its queue, is restarted while a stranger waits for room there.
async fn restart(t: &Context, name: &str, spec: &Value, way: Way) -> Result<()> {
    let hold = if matches!(way, Way::AfterTheHold) { 2 } else { 60 };
    let (queue, mut spec) = (spec["queue"].as_str(), spec.clone());
    merge(&mut spec, json!({"seatHoldSeconds": hold, "completionTimeoutSeconds": 600}));
    t.group(name, MIN as u32, "1", spec).await?;
    let first = make(t, name, way, 0).await?;
    let stranger = format!("stranger-{name}");
    let labels = queue.map(|queue| json!({names::QUEUE: queue}));
    t.pods().create(t.pod(&stranger, "1", json!({"metadata": {"labels": labels}}))).await?;
    t.wait_pod_reason(&stranger, if queue.is_some() { "WaitingForQuota" } else { "Unschedulable" }).await?;

    let keeps_out = !matches!(way, Way::AfterTheHold);
    let holds = |pods: &[&Pod]| {
        let is_stranger = |pod: &&&Pod| pod.metadata.name.as_deref() == Some(&*stranger);
        let got_room = pods.iter().find(is_stranger).is_some_and(|pod| is_bound(pod));
        starts_whole(name, &first, pods) && !(keeps_out && got_room)
    };
    let again = async {
        make_anew(t, name, way, &stranger).await?;
        let labels = format!("{MEMBERS},{}={name}", names::TASK_GROUP);
        let is_new = |pod: &Pod| !first.contains(uid(pod)) && phase(pod) == "Running";
        let whole = |pods: &[&Pod]| pods.iter().filter(|pod| is_new(pod)).count() == MIN;
        t.pods().wait_all(&labels, "all members run anew", whole).await
    };
    let pods = t.pods().always("", "it starts whole, and nobody else gets the room", holds, again).await?;
    // All of them say that they are of the second life.
    let lives: BTreeSet<_> =
        pods.iter().filter(|pod| !first.contains(uid(pod))).map(|pod| marked(pod, "incarnation")).collect();
    assert_eq!(lives.len(), 1, "{lives:?}");
    let runs = |group: &TaskGroup| status(group).application_state == "Running" && status(group).incarnation == 2;
    t.groups().wait(name, "runs its second life", runs).await?;
    clear_away(t, name, way, &stranger).await
}

/// Whoever of the new members has a node: with it every seat is held, or its member is there.
fn starts_whole(group: &str, first: &BTreeSet<String>, pods: &[&Pod]) -> bool {
    let own = |pod: &&&Pod| label(pod, names::TASK_GROUP) == group && !first.contains(uid(pod));
    let new = || pods.iter().filter(own);
    let started = new().any(|pod| !is_placeholder(pod) && is_bound(pod));
    let members = new().filter(|pod| !is_placeholder(pod)).count();
    let held = new().filter(|pod| is_placeholder(pod) && is_bound(pod)).count();
    !started || members + held >= MIN
}

pub(super) fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// The pods of the first life, by their UIDs: all run.
async fn make(t: &Context, name: &str, way: Way, life: u32) -> Result<BTreeSet<String>> {
    match way {
        Way::JobFails => make_job(t, name, life, "TerminatingOrFailed").await?,
        Way::JobLosesPods | Way::JobMadeAnew | Way::JobSuspended => make_job(t, name, life, "Failed").await?,
        Way::DeploymentLosesPods => make_deployment(t, name).await?,
        Way::OneByOne | Way::AfterTheHold => t.members(name, 0..MIN as u32, "1").await?,
    }
    let pods = t.wait_running(name, MIN).await?;
    Ok(pods.iter().map(|pod| uid(pod).to_owned()).collect())
}

fn template(t: &Context, name: &str, policy: &str) -> Value {
    let pod = t.pod("", "1", json!({"spec": {"restartPolicy": policy}}));
    let labels = json!({"app": name, names::TASK_GROUP: name});
    // Pods of Jobs would end at once.
    json!({"metadata": {"labels": labels, "annotations": {RUN_FOR: "1h"}}, "spec": pod["spec"]})
}

async fn make_job(t: &Context, name: &str, life: u32, replacement: &str) -> Result<()> {
    let spec = json!({
        "parallelism": MIN, "completions": MIN, "backoffLimit": 100, "podReplacementPolicy": replacement,
        "template": template(t, name, "Never"),
    });
    t.objects::<Job>().create(json!({"metadata": {"name": format!("{name}-{life}")}, "spec": spec})).await.map(drop)
}

async fn make_deployment(t: &Context, name: &str) -> Result<()> {
    let spec = json!({
        "replicas": MIN, "selector": {"matchLabels": {"app": name}}, "template": template(t, name, "Always"),
    });
    t.objects::<Deployment>().create(json!({"metadata": {"name": name}, "spec": spec})).await.map(drop)
}

/// The restart.
async fn make_anew(t: &Context, name: &str, way: Way, stranger: &str) -> Result<()> {
    let job = format!("{name}-0");
    match way {
        Way::JobFails => {
            for pod in members(t, name).await? {
                t.pods().patch_status(&pod, json!({"phase": "Failed"})).await?;
            }
            Ok(())
        }
        Way::JobLosesPods => delete_all(t, &members_of(name)).await,
        Way::DeploymentLosesPods => lose_beside_others(t, name).await,
        Way::JobMadeAnew => {
            t.objects::<Job>().delete(&job).await?;
            delete_all(t, &members_of(name)).await?;
            make_job(t, name, 1, "Failed").await
        }
        Way::JobSuspended => {
            t.objects::<Job>().patch(&job, json!({"spec": {"suspend": true}})).await?;
            let all = |pods: &[&Pod]| pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_some());
            t.pods().wait_all(&members_of(name), "are being deleted", all).await?;
            stop(t, &members_of(name)).await?;
            wait_none(t, &members_of(name)).await?;
            t.objects::<Job>().patch(&job, json!({"spec": {"suspend": false}})).await.map(drop)
        }
        Way::OneByOne => {
            delete_all(t, &members_of(name)).await?;
            for number in 10..10 + MIN as u32 {
                t.member(name, number, "1", json!({})).await?;
                let pod = format!("{name}-{number}");
                // It was looked at before the next one comes.
                t.pods().wait(&pod, "waits or has a node", |pod| is_bound(pod) || !why_waits(pod).0.is_empty()).await?;
            }
            Ok(())
        }
        Way::AfterTheHold => {
            delete_all(t, &members_of(name)).await?;
            t.pods().wait(stranger, "gets the room after the hold", is_bound).await?;
            t.members(name, 10..10 + MIN as u32, "1").await?;
            t.pods().wait(&format!("{name}-10"), "waits", |pod| !why_waits(pod).0.is_empty()).await?;
            t.pods().delete(stranger).await
        }
    }
}

/// Others come while all of the pods that were deleted are still there.
async fn lose_beside_others(t: &Context, name: &str) -> Result<()> {
    let old = members(t, name).await?;
    for pod in &old {
        t.pods().patch(pod, json!({"metadata": {"finalizers": [HOLD]}})).await?;
    }
    delete_all(t, &members_of(name)).await?;
    let lives = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
    let come = |pods: &[&Pod]| pods.iter().filter(|pod| lives(pod)).count() == MIN;
    t.pods().wait_all(&members_of(name), "others have come", come).await?;
    for pod in &old {
        t.pods().patch(pod, json!({"metadata": {"finalizers": null}})).await?;
    }
    Ok(())
}

fn members_of(name: &str) -> String {
    format!("{MEMBERS},{}={name}", names::TASK_GROUP)
}

async fn members(t: &Context, name: &str) -> Result<Vec<String>> {
    let pods = t.pods().list(&members_of(name)).await?;
    Ok(pods.into_iter().filter_map(|pod| pod.metadata.name).collect())
}

pub(super) async fn wait_none(t: &Context, labels: &str) -> Result<()> {
    t.pods().wait_all(labels, "all pods are gone", |pods: &[&Pod]| pods.is_empty()).await.map(drop)
}

/// Deletes the pods that are there, all at once, and they stop.
pub(super) async fn delete_all(t: &Context, labels: &str) -> Result<()> {
    ask_to_stop(t, labels).await?;
    stop(t, labels).await
}

/// Deletes the pods that are there, all at once: their kubelets are to stop them.
pub(super) async fn ask_to_stop(t: &Context, labels: &str) -> Result<()> {
    let all = ListParams::default().labels(labels);
    t.pods().untyped().delete_collection(&DeleteParams::default(), &all).await.during("deleting all of them").map(drop)
}

/// The pretended kubelets end no pod that the controller of Jobs keeps by a finalizer: it is said to have stopped, as a kubelet
/// would.
async fn stop(t: &Context, labels: &str) -> Result<()> {
    let terminates = |pod: &Pod| pod.metadata.deletion_timestamp.is_some() && phase(pod) == "Running";
    for pod in t.pods().list(labels).await?.into_iter().filter(terminates) {
        // It may have gone meanwhile.
        let _gone = t.pods().patch_status(&pod.metadata.name.unwrap_or_default(), json!({"phase": "Failed"})).await;
    }
    Ok(())
}

/// The node is empty again.
async fn clear_away(t: &Context, name: &str, way: Way, stranger: &str) -> Result<()> {
    match way {
        Way::JobFails | Way::JobLosesPods | Way::JobSuspended => {
            t.objects::<Job>().delete(&format!("{name}-0")).await?
        }
        Way::JobMadeAnew => t.objects::<Job>().delete(&format!("{name}-1")).await?,
        Way::DeploymentLosesPods => t.objects::<Deployment>().delete(name).await?,
        Way::OneByOne | Way::AfterTheHold => {}
    }
    t.groups().delete(name).await?;
    delete_all(t, &members_of(name)).await?;
    if !matches!(way, Way::AfterTheHold) {
        t.pods().delete(stranger).await?;
    }
    wait_none(t, "").await
}

/// The second wave of a Job belongs to the same life, and is placed one by one as the first wave ends.
async fn completions(t: &mut Context) -> Result<()> {
    t.add_nodes("full", 1, |nodes| nodes.cpu = "2".to_owned()).await?;
    t.group(
        "waves",
        2,
        "1",
        json!({"reservation": "Direct", "completionTimeoutSeconds": 600, "seatHoldSeconds": null}),
    )
    .await?;
    let spec = json!({"parallelism": 2, "completions": 4, "template": template(t, "waves", "Never")});
    t.objects::<Job>().create(json!({"metadata": {"name": "waves"}, "spec": spec})).await?;
    for _wave in 0..2 {
        let pods = t.wait_running("waves", 2).await?;
        let lives: BTreeSet<_> =
            pods.iter().filter(|pod| phase(pod) == "Running").map(|pod| marked(pod, "incarnation")).collect();
        assert_eq!(lives.len(), 1, "{lives:?}");
        for pod in pods.iter().filter(|pod| phase(pod) == "Running") {
            let name = pod.metadata.name.clone().unwrap_or_default();
            t.pods().patch_status(&name, json!({"phase": "Succeeded"})).await?;
        }
    }
    let succeeded = |job: &Job| job.status.as_ref().and_then(|status| status.succeeded) == Some(4);
    t.objects::<Job>().wait("waves", "is complete", succeeded).await?;
    let group = t.wait_reason("waves", "WaitingForCompletion").await?;
    assert_eq!((status(&group).incarnation, status(&group).counts.succeeded), (1, 4));
    Ok(())
}

/// With placeholders the first pod of a StatefulSet starts, and the others find their seats held; Direct waits for all, and
/// says what would help.
async fn in_order(t: &mut Context) -> Result<()> {
    t.add_nodes("full", 1, |nodes| nodes.cpu = "3".to_owned()).await?;
    let set = |name: &str| {
        let selector = json!({"matchLabels": {"app": name}});
        let spec =
            json!({"replicas": 3, "serviceName": name, "selector": selector, "template": template(t, name, "Always")});
        json!({"metadata": {"name": name}, "spec": spec})
    };
    t.group("ordered", 3, "1", json!({"seatHoldSeconds": null})).await?;
    t.objects::<StatefulSet>().create(set("ordered")).await?;
    let first: BTreeSet<String> = t.wait_running("ordered", 3).await?.iter().map(|pod| uid(pod).to_owned()).collect();
    delete_all(t, &members_of("ordered")).await?;
    let is_new = |pod: &Pod| !first.contains(uid(pod)) && phase(pod) == "Running";
    let whole = |pods: &[&Pod]| pods.iter().filter(|pod| is_new(pod)).count() == 3;
    t.pods().wait_all(&members_of("ordered"), "all run anew", whole).await?;
    t.objects::<StatefulSet>().delete("ordered").await?;
    t.groups().delete("ordered").await?;
    wait_none(t, "").await?;

    t.group("whole", 3, "1", json!({"reservation": "Direct"})).await?;
    t.objects::<StatefulSet>().create(set("whole")).await?;
    t.wait_reason("whole", "WaitingForMembers").await?;
    let none = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    t.pods().always("", "nobody starts alone", none, t.wait_pod_reason("whole-0", "WaitingForMembers")).await.map(drop)
}

/// A node goes with a worker on it: its seat is kept on another one, before anybody else gets the room there.
async fn node_goes(t: &mut Context) -> Result<()> {
    let nodes = t.add_nodes("worker", 2, |nodes| nodes.cpu = "2".to_owned()).await?;
    t.group("team", 2, "2", json!({"reservation": "Direct", "seatHoldSeconds": null})).await?;
    t.members("team", 0..2, "2").await?;
    t.wait_running("team", 2).await?;
    t.add_nodes("spare", 1, |nodes| nodes.cpu = "2".to_owned()).await?;
    let lost = t.pods().wait("team-0", "runs", is_bound).await?;
    let node = node(&lost).to_owned();
    assert!(nodes.contains(&node), "{node}");
    t.everywhere::<Node>().delete(&node).await?;
    // Whoever collects pods of nodes that are gone looks every 20 s, and waits for 40 s more.
    t.pods().within(Duration::from_secs(180)).wait_gone("team-0").await?;
    let kept = |group: &TaskGroup| status(group).counts.kept == 1 && status(group).reason == "SeatsKept";
    t.groups().wait("team", "keeps the seat of the lost worker", kept).await?;
    t.pods().create(t.pod("stranger", "2", json!({}))).await?;
    t.wait_pod_reason("stranger", "Unschedulable").await?;
    t.members("team", 2..3, "2").await?;
    t.wait_running("team", 2).await?;
    let stranger = t.pods().get("stranger").await?;
    assert!(stranger.is_some_and(|pod| !is_bound(&pod)));
    Ok(())
}
