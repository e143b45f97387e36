//! Tests that take rights from the scheduler: each is named where people look, and what waited for it goes on with it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use serde_json::{Value, json};

use crate::breakage::{
    SCHEDULER, denials, make_gang, make_group, make_members, members_of, none_bound_twice, placeholders_of,
    says_denied, until, wait_held, wait_reason, wait_whole,
};
use crate::harness::cluster::ACCOUNT;
use crate::harness::context::phase;
use crate::harness::words::why_waits;
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{During, Result};
use crate::support::kubeconfig;
use crate::support::objects::Objects;
use crate::support::scheduler::Scheduler;

/// How long it may take until a token that was replaced in its file is in use, and what waited for it has happened.
const RENEWED_WITHIN: Duration = Duration::from_secs(150);

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("rights: to read, to bind and to make placeholders are missing", own(), rights).without_gangline(),
        test("rights: to delete placeholders and to say why are missing", own(), writes).without_gangline(),
        test("rights: a token that is worth nothing any more", own(), token).without_gangline(),
        test("rights: a token in a file that is replaced", own(), token_file).without_gangline(),
    ]
}

async fn rights(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &[]).await?;

    // A list and a watch at the start: nothing is decided on half a picture.
    let all = revoke(t, "resourcequotas", "list").await?;
    revoke(t, "nodes", "watch").await?;
    let mut scheduler = Scheduler::spawn(&launch)?;
    let refused = |scheduler: &Scheduler| scheduler.get("/readyz").filter(|(code, _)| *code == 503);
    until("/readyz names the right", async || {
        Ok(refused(&scheduler).is_some_and(|(_, text)| text.contains("list resourcequotas")))
    })
    .await?;
    assert!(says_denied(&scheduler, "list", "resourcequotas")?);
    until("/state names the other", async || says_denied(&scheduler, "watch", "nodes")).await?;
    grant(t, &all).await?;
    scheduler.wait_ready().await?;
    assert!(!says_denied(&scheduler, "list", "resourcequotas")?);
    let tries = denials(t, "list", "resourcequotas")?;
    assert!((1..=12).contains(&tries), "listed {tries} times");

    // Bindings.
    let all = revoke(t, "pods/binding", "create").await?;
    make_gang(t, "direct", 2, json!({"reservation": "Direct"})).await?;
    until("the right is named", async || says_denied(&scheduler, "create", "pods/binding")).await?;
    let shows = |pod: &Pod| why_waits(pod).0 == "BindRefused";
    t.pods().wait_all(&members_of("direct"), "show the refusal", |pods| pods.iter().all(|pod| shows(pod))).await?;
    grant(t, &all).await?;
    wait_whole(t, "direct", 2).await?;
    assert!(!says_denied(&scheduler, "create", "pods/binding")?);
    let tries = denials(t, "create", "pods/binding")?;
    assert!((1..=16).contains(&tries), "bound {tries} times");

    // Placeholders.
    let all = revoke(t, "pods", "create").await?;
    make_group(t, "held", 2, json!({"placeholderFor": "all"})).await?;
    let message = wait_reason(t, "held", "PlaceholderRejected").await?;
    assert!(message.contains("create pods"), "{message}");
    assert!(says_denied(&scheduler, "create", "pods")?);
    grant(t, &all).await?;
    wait_held(t, "held", 2).await?;
    assert!(!says_denied(&scheduler, "create", "pods")?);
    let tries = denials(t, "create", "pods")?;
    assert!((1..=24).contains(&tries), "created {tries} times");
    make_members(t, "held", 2).await?;
    wait_whole(t, "held", 2).await?;

    // Each once in the log, by verb and resource, at the level of what somebody has to act on.
    let log = scheduler.log_about("denies a call", 99)?;
    for right in ["resourcequotas", "nodes", "pods/binding", "pods\""] {
        assert!(log.lines().any(|line| line.contains(right) && line.contains("WARN")), "{right} in {log}");
    }
    assert_eq!(log.lines().count(), 4, "{log}");
    none_bound_twice(t)
}

/// What is written late is written: the deletion of a swap, why a pod waits, what a TaskGroup is.
async fn writes(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let scheduler = t.start_scheduler("gangline", &[]).await?;

    make_group(t, "swap", 2, json!({"placeholderFor": "all"})).await?;
    let held = wait_held(t, "swap", 2).await?;
    let all = revoke(t, "pods", "delete").await?;
    make_members(t, "swap", 2).await?;
    named(&scheduler, "delete", "pods").await?;
    let placeholders = t.pods().list(&placeholders_of("swap")).await?;
    assert_eq!(placeholders.len(), held.len(), "nobody else deletes them");
    grant(t, &all).await?;
    wait_whole(t, "swap", 2).await?;
    until("it is not named any more", async || Ok(!says_denied(&scheduler, "delete", "pods")?)).await?;

    let all = revoke(t, "pods/status", "patch").await?;
    t.pods().create(t.pod("large", "64", json!({}))).await?;
    named(&scheduler, "patch", "pods/status").await?;
    grant(t, &all).await?;
    t.pods().wait("large", "says why it waits", |pod| why_waits(pod).0 == "Unschedulable").await?;

    let all = revoke(t, "taskgroups/status", "patch").await?;
    make_group(t, "mute", 2, json!({"reservation": "Direct"})).await?;
    named(&scheduler, "patch", "taskgroups/status").await?;
    // The gang does not wait for it.
    make_members(t, "mute", 2).await?;
    let run = |pods: &[&Pod]| pods.len() == 2 && pods.iter().all(|pod| phase(pod) == "Running");
    t.pods().wait_all(&members_of("mute"), "run", run).await?;
    grant(t, &all).await?;
    wait_reason(t, "mute", "Running").await?;

    for (verb, resource, most) in
        [("delete", "pods", 24), ("patch", "pods/status", 24), ("patch", "taskgroups/status", 24)]
    {
        assert!(!says_denied(&scheduler, verb, resource)?, "{verb} {resource}");
        let tries = denials(t, verb, resource)?;
        assert!((1..=most).contains(&tries), "{verb} {resource}: tried {tries} times");
    }
    let log = scheduler.log_about("denies a call", 99)?;
    assert_eq!(log.lines().filter(|line| line.contains("WARN")).count(), 3, "{log}");
    none_bound_twice(t)
}

/// As after its end: the account is made anew, so that the API server knows nothing of the tokens of the one before.
async fn token(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &[]).await?;
    let mut scheduler = Scheduler::start(&launch).await?;
    make_group(t, "held", 2, json!({"placeholderFor": "all"})).await?;
    wait_held(t, "held", 2).await?;

    make_account_anew(t).await?;
    worthless(t, &launch.kubeconfig).await?;
    make_members(t, "held", 2).await?;
    until("a call is denied", async || says_denied(&scheduler, "delete", "pods")).await?;
    let log = scheduler.log_about("denies a call", 1)?;
    assert!(log.contains("401") && log.contains("WARN"), "{log}");

    t.cluster.launch("gangline", &[]).await?;
    scheduler.restart().await?;
    wait_whole(t, "held", 2).await?;
    assert!(!says_denied(&scheduler, "delete", "pods")?);
    none_bound_twice(t)
}

/// The account is made anew: the tokens of the one before are worth nothing.
async fn make_account_anew(t: &Context) -> Result<()> {
    let accounts = Objects::<ServiceAccount>::of(&t.client, ACCOUNT.0);
    accounts.delete(ACCOUNT.1).await?;
    accounts.wait_gone(ACCOUNT.1).await?;
    accounts.create(json!({"metadata": {"name": ACCOUNT.1}})).await.map(drop)
}

/// Waits until a token is refused. The API server believes for some seconds what it knew of one.
async fn worthless(t: &Context, kubeconfig: &Path) -> Result<()> {
    let old = Objects::<Pod>::of(&kubeconfig::client(kubeconfig).await?, &t.namespace);
    until("the token is worth nothing", async || Ok(old.list("").await.is_err())).await
}

/// A token that expires is replaced in its file, as kubelets do in a pod; nobody restarts the process for that.
async fn token_file(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let (launch, file) = (t.cluster.launch("gangline", &[]).await?, t.cluster.work().join("token"));
    let kept = t.cluster.work().join("kept.kubeconfig");
    fs::copy(&launch.kubeconfig, &kept).during("keeping the first token")?;
    kubeconfig::move_token(&launch.kubeconfig, &file)?;
    let mut scheduler = Scheduler::start(&launch).await?;
    make_group(t, "held", 2, json!({"placeholderFor": "all"})).await?;
    wait_held(t, "held", 2).await?;

    make_account_anew(t).await?;
    let renewed = t.cluster.launch("renewed", &[]).await?;
    kubeconfig::move_token(&renewed.kubeconfig, &file)?;
    worthless(t, &kept).await?;
    make_members(t, "held", 2).await?;
    // The client reads the file once a minute, and what was refused meanwhile is tried again after a while.
    let all_run = |pods: &[&Pod]| pods.len() == 2 && pods.iter().all(|pod| phase(pod) == "Running");
    t.pods().within(RENEWED_WITHIN).wait_all(&members_of("held"), "all run with the new token", all_run).await?;
    wait_whole(t, "held", 2).await?;
    scheduler.check_running()?;
    assert!(!says_denied(&scheduler, "delete", "pods")?);
    none_bound_twice(t)
}

/// Waits until a missing right is named by `/state`, `/readyz` and the log.
async fn named(scheduler: &Scheduler, verb: &str, resource: &str) -> Result<()> {
    until(&format!("{verb} {resource} is named"), async || says_denied(scheduler, verb, resource)).await?;
    let (_, ready) = scheduler.get("/readyz").unwrap_or_default();
    assert!(ready.contains(&format!("{verb} {resource}\n")), "/readyz: {ready}");
    let log = scheduler.log_about("denies a call", 99)?;
    let quoted = |word: &str| format!("\"{word}\"");
    assert!(log.lines().any(|line| line.contains(&quoted(verb)) && line.contains(&quoted(resource))), "{log}");
    Ok(())
}

/// Takes a right from the scheduler's role and waits until that holds; the rules as they were.
async fn revoke(t: &Context, resource: &str, verb: &str) -> Result<Value> {
    let role = t.everywhere::<ClusterRole>().get("gangline").await?.and_then(|role| role.rules);
    let all = serde_json::to_value(role).during("reading the role")?;
    let rules = all.as_array().into_iter().flatten().flat_map(|rule| without(rule, resource, verb));
    t.everywhere::<ClusterRole>().patch("gangline", json!({"rules": rules.collect::<Vec<_>>()})).await?;
    until("the right is gone", async || Ok(!may(t, resource, verb).await?)).await?;
    Ok(all)
}

/// Puts the rules back.
async fn grant(t: &Context, rules: &Value) -> Result<()> {
    t.everywhere::<ClusterRole>().patch("gangline", json!({"rules": rules})).await.map(drop)
}

/// A rule without one verb of one resource: none, one or two.
fn without(rule: &Value, resource: &str, verb: &str) -> Vec<Value> {
    let has = |field: &str, word: &str| rule[field].as_array().is_some_and(|all| all.iter().any(|one| one == word));
    if !has("resources", resource) || !has("verbs", verb) {
        return vec![rule.clone()];
    }
    let rest = |field: &str, word: &str| -> Vec<Value> {
        rule[field].as_array().into_iter().flatten().filter(|one| *one != word).cloned().collect()
    };
    let (mut others, mut this) = (rule.clone(), rule.clone());
    others["resources"] = rest("resources", resource).into();
    this["resources"] = json!([resource]);
    this["verbs"] = rest("verbs", verb).into();
    let is_something = |rule: &Value| ["resources", "verbs"].iter().all(|field| rule[field] != json!([]));
    [others, this].into_iter().filter(is_something).collect()
}

/// Whether the API server lets the scheduler do this by now.
async fn may(t: &Context, resource: &str, verb: &str) -> Result<bool> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({"verb": verb, "resource": resource, "subresource": subresource, "namespace": ""});
    let review = json!({"metadata": {}, "spec": {"user": SCHEDULER, "resourceAttributes": attributes}});
    let review = t.everywhere::<SubjectAccessReview>().create(review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}
