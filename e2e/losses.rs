//! Tests in which nodes, pods and TaskGroups go half way, and writes arrive late or are refused for now.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::DeleteParams;
use serde_json::json;

use crate::breakage::{
    make_group, make_members, member, members_of, metric, none_bound_twice, placeholders_of, until, wait_held,
    wait_reason, wait_whole,
};
use crate::harness::context::{node, phase};
use crate::harness::words::{is_bound, is_placeholder, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::Result;
use crate::support::objects::Objects;
use crate::support::proxy::{Proxy, Rule};
use crate::support::scheduler::Scheduler;

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("losses: a node goes with held placeholders", Needs::Nodes(3), node_of_placeholders),
        test("losses: a node goes in the middle of a swap", Needs::Nodes(2), node_in_swap),
        test("losses: a node goes between decision and Binding", Needs::Nodes(1), node_before_binding),
        test("losses: a user deletes a placeholder in the middle of its swap", Needs::Nodes(1), placeholder_in_swap),
        test("losses: members and TaskGroups are deleted half way", Needs::Nodes(1), deleted_half_way),
        test("losses: 429 with Retry-After, and a pod that goes before its Binding arrives", own(), proxied)
            .without_gangline(),
    ]
}

const HOLD: &str = "e2e.gangline.dev/hold";

/// A finalizer keeps the placeholder where it is: deleted by the scheduler first, then by a user, and the other way round.
async fn placeholder_in_swap(t: &mut Context) -> Result<()> {
    for (group, user_first) in [("second", false), ("first", true)] {
        make_group(t, group, 2, json!({"placeholderFor": "all"})).await?;
        let held = wait_held(t, group, 2).await?;
        let names: Vec<String> = held.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
        for name in &names {
            t.pods().patch(name, json!({"metadata": {"finalizers": [HOLD]}})).await?;
        }
        let leaves = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
        if user_first {
            // The gang has not started: it waits until that seat is held again.
            t.pods().delete(&names[0]).await?;
            make_members(t, group, 2).await?;
            t.pods().wait(&names[0], "is being deleted", leaves).await?;
        } else {
            make_members(t, group, 2).await?;
            for name in &names {
                t.pods().wait(name, "is being deleted", leaves).await?;
            }
            t.pods().delete(&names[0]).await?;
        }
        // No seat is given twice while its placeholder is still there.
        let early = |pods: &[&Pod]| {
            let members = pods.iter().filter(|pod| !is_placeholder(pod) && is_bound(pod)).count();
            members + pods.iter().filter(|pod| is_placeholder(pod)).count() <= 2
        };
        let ours = format!("gangline.dev/task-group={group}");
        let release = async {
            for name in &names {
                t.pods().patch(name, json!({"metadata": {"finalizers": null}})).await?;
            }
            wait_whole(t, group, 2).await
        };
        t.pods().always(&ours, "no seat is given twice", early, release).await?;
    }
    Ok(())
}

/// Writes that the API server refuses for now, and a Binding that arrives when another pod has its pod's name.
async fn proxied(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &[]).await?;
    let proxy = Proxy::start(&t.cluster.kubeconfig).await?;
    proxy.redirect(&launch.kubeconfig)?;
    let scheduler = Scheduler::start(&launch).await?;
    refused_for_now(t, &scheduler, &proxy).await?;
    late_binding(t, &proxy).await?;
    none_bound_twice(t)
}

/// How many requests of each kind are refused.
const REFUSED: usize = 3;

async fn refused_for_now(t: &Context, scheduler: &Scheduler, proxy: &Proxy) -> Result<()> {
    let kinds = [("POST", "/binding"), ("PATCH", "/patient/status"), ("PATCH", "/large/status"), ("POST", "/pods")];
    for (method, path) in kinds {
        proxy.rule(method, path, Rule::Refuse(REFUSED));
    }
    make_group(t, "patient", 3, json!({"placeholderFor": "all"})).await?;
    t.pods().create(t.pod("large", "64", json!({}))).await?;
    wait_held(t, "patient", 3).await?;
    make_members(t, "patient", 3).await?;
    wait_whole(t, "patient", 3).await?;
    wait_reason(t, "patient", "Running").await?;
    t.pods().wait("large", "says why it waits", |pod| why_waits(pod).0 == "Unschedulable").await?;

    let log = proxy.log();
    for (method, path) in kinds {
        let of_kind: Vec<_> =
            log.iter().filter(|one| one.line.starts_with(method) && one.line.ends_with(path)).collect();
        assert_eq!(of_kind.iter().filter(|one| one.refused).count(), REFUSED, "{method} {path}");
        // What was asked for is waited for. Placeholders share a path: any of them may go meanwhile.
        for (number, refused) in of_kind.iter().enumerate().filter(|(_, one)| one.refused && path != "/pods") {
            let next = of_kind[number + 1..].iter().find(|next| next.line == refused.line);
            let gap = next.map(|next| next.at.duration_since(refused.at).as_millis());
            assert!(gap.is_none_or(|gap| gap >= 950), "{} came again after {gap:?} ms", refused.line);
        }
    }
    assert!(metric(scheduler, "gangline_calls_total", &["code=\"429\""]) >= (REFUSED * kinds.len()) as f64);
    proxy.release();
    Ok(())
}

/// A gang of two whose first pod is deleted while both Bindings are on their way.
async fn lose_in_flight(t: &Context, proxy: &Proxy, name: &str) -> Result<()> {
    make_group(t, name, 2, json!({"reservation": "Direct"})).await?;
    wait_reason(t, name, "WaitingForMembers").await?;
    proxy.rule("POST", "/binding", Rule::Hold);
    make_members(t, name, 2).await?;
    until("both Bindings are on their way", async || Ok(proxy.held() == 2)).await?;
    let first = format!("{name}-0");
    t.pods().delete_with(&first, &DeleteParams::default().grace_period(0)).await?;
    t.pods().wait_gone(&first).await
}

/// The Bindings of a gang are on their way when one of its pods is deleted and another one takes its name.
async fn late_binding(t: &Context, proxy: &Proxy) -> Result<()> {
    lose_in_flight(t, proxy, "late").await?;
    t.pods().create(member(t, "late", 0)).await?;
    proxy.release();
    wait_whole(t, "late", 2).await?;
    wait_reason(t, "late", "Running").await?;
    // And one that stays away.
    lose_in_flight(t, proxy, "gone").await?;
    proxy.release();
    t.pods().create(member(t, "gone", 2)).await?;
    let run = |pods: &[&Pod]| pods.len() == 2 && pods.iter().all(|pod| phase(pod) == "Running");
    t.pods().wait_all(&members_of("gone"), "run", run).await.map(drop)
}

async fn node_of_placeholders(t: &mut Context) -> Result<()> {
    // Two fit a node.
    make_group(t, "held", 4, json!({"minResource": {"cpu": "7"}, "placeholderFor": "all"})).await?;
    let held = wait_held(t, "held", 4).await?;
    let lost = node(&held[0]).to_owned();
    t.everywhere::<Node>().delete(&lost).await?;
    let elsewhere = |pods: &[&Pod]| pods.len() == 4 && pods.iter().all(|pod| is_bound(pod) && node(pod) != lost);
    t.pods().wait_all(&placeholders_of("held"), "all are held elsewhere", elsewhere).await?;
    make_members(t, "held", 4).await?;
    wait_whole(t, "held", 4).await
}

/// A finalizer keeps the placeholder in the middle of its deletion.
async fn node_in_swap(t: &mut Context) -> Result<()> {
    make_group(t, "swap", 1, json!({"placeholderFor": "all"})).await?;
    let placeholder = wait_held(t, "swap", 1).await?.remove(0);
    let (name, lost) = (placeholder.metadata.name.clone().unwrap_or_default(), node(&placeholder).to_owned());
    t.pods().patch(&name, json!({"metadata": {"finalizers": ["e2e.gangline.dev/hold"]}})).await?;
    make_members(t, "swap", 1).await?;
    t.pods().wait(&name, "is being deleted", |pod| pod.metadata.deletion_timestamp.is_some()).await?;
    t.everywhere::<Node>().delete(&lost).await?;
    t.everywhere::<Node>().wait_gone(&lost).await?;
    t.pods().patch(&name, json!({"metadata": {"finalizers": null}})).await?;
    wait_whole(t, "swap", 1).await?;
    let pod = t.pods().wait("swap-0", "has a node", is_bound).await?;
    assert_ne!(node(&pod), lost);
    Ok(())
}

/// What that race leaves, made by hand: the API server binds to nodes that do not exist. The pod is somebody else's to
/// remove (the pod garbage collector does after 40 s); meanwhile and afterwards the gang goes on.
async fn node_before_binding(t: &mut Context) -> Result<()> {
    make_group(t, "ghost", 2, json!({"reservation": "Direct"})).await?;
    wait_reason(t, "ghost", "WaitingForMembers").await?;
    let mut first = member(t, "ghost", 0);
    first["spec"]["schedulingGates"] = json!([{"name": "e2e.gangline.dev/wait"}]);
    t.pods().create(first).await?;
    t.pods().patch("ghost-0", json!({"spec": {"schedulingGates": null, "nodeSelector": {"nowhere": "true"}}})).await?;
    t.bind("ghost-0", &format!("{}-ghost", t.id)).await?;
    t.pods().create(member(t, "ghost", 1)).await?;
    t.pods().wait("ghost-1", "runs", |pod| phase(pod) == "Running").await?;
    t.pods().delete_with("ghost-0", &DeleteParams::default().grace_period(0)).await?;
    wait_reason(t, "ghost", "PartiallyLost").await?;
    t.pods().create(member(t, "ghost", 2)).await?;
    wait_whole(t, "ghost", 2).await
}

async fn deleted_half_way(t: &mut Context) -> Result<()> {
    // Direct: members go before there are enough.
    make_group(t, "direct", 3, json!({"reservation": "Direct"})).await?;
    make_members(t, "direct", 2).await?;
    wait_reason(t, "direct", "WaitingForMembers").await?;
    t.pods().delete("direct-0").await?;
    t.pods().create(member(t, "direct", 2)).await?;
    t.pods().create(member(t, "direct", 3)).await?;
    wait_whole(t, "direct", 3).await?;

    // Placeholders: members go while others are awaited.
    make_group(t, "missing", 3, json!({})).await?;
    make_members(t, "missing", 1).await?;
    t.pods().delete("missing-0").await?;
    t.pods().wait_gone("missing-0").await?;
    for number in 1..4 {
        t.pods().create(member(t, "missing", number)).await?;
    }
    wait_whole(t, "missing", 3).await?;

    // The TaskGroup goes while its placeholders find no room, and leaves them orphans.
    make_group(t, "large", 3, json!({"minResource": {"cpu": "9"}, "placeholderFor": "all"})).await?;
    let three = |pods: &[&Pod]| pods.len() == 3;
    t.pods().wait_all(&placeholders_of("large"), "the placeholders exist", three).await?;
    wait_reason(t, "large", "WaitingForCapacity").await?;
    let orphaning =
        DeleteParams { propagation_policy: Some(kube::api::PropagationPolicy::Orphan), ..DeleteParams::default() };
    t.objects::<TaskGroup>().delete_with("large", &orphaning).await?;
    t.pods().wait_all(&placeholders_of("large"), "none is left", |pods| pods.is_empty()).await?;

    // The namespace goes while a gang of it waits.
    let other = t.add_namespace("other", json!({})).await?;
    let spec = json!({"minMember": 3, "minResource": {"cpu": "9"}, "placeholderFor": "all",
        "placeholderTemplate": t.placement()});
    Objects::<TaskGroup>::of(&t.client, &other).create(json!({"metadata": {"name": "doomed"}, "spec": spec})).await?;
    Objects::<Pod>::of(&t.client, &other).wait_all("", "the placeholders exist", three).await?;
    t.everywhere::<Namespace>().delete(&other).await?;
    t.everywhere::<Namespace>().wait_gone(&other).await
}
