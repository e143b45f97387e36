//! A second release in the cluster: of another scheduler name, and of the same one.

use http::Method;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::life::scheduler_of;
use crate::breakage::{wait_held, wait_whole};
use crate::harness::{Context, Needs, Test, test};
use crate::support::chart::{self, ANOTHER, NAMESPACE, RELEASE};
use crate::support::components::Options;
use crate::support::error::{Error, Result};
use crate::support::policies::{Asker, placeholder, refused_in_the_end, taken};
use crate::support::scheduler::Scheduler;
use crate::support::tools::Program;

/// What the objects of the second release are called, its account included.
const NAME: &str = "trial-gangline";

pub(super) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default().with_nodes(2));
    vec![
        test("chart: a second release of another name places gangs beside the first", own(), of_another_name)
            .without_gangline(),
        test("chart: a second release of the same name waits, and takes over", own(), of_the_same_name)
            .without_gangline(),
    ]
}

/// The account of a release, as the API server calls it.
fn account(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

async fn of_another_name(t: &mut Context) -> Result<()> {
    let (helm, admin) = (Program::Helm.find()?, t.cluster.kubeconfig.clone());
    chart::install(&helm, &admin)?;
    let refused = chart::install_another(&helm, &admin, &[]).err();
    let said = refused.ok_or_else(|| Error::new("the definitions belong to two releases"))?.to_string();
    for word in ["CustomResourceDefinition", "gangline.dev", "cannot be imported into the current release"] {
        assert!(said.contains(word), "no `{word}` in {said}");
    }
    chart::install_another(&helm, &admin, &["--set", "crds.install=false,config.schedulerNames={trial}"])?;
    t.take_nodes().await?;
    each_makes_its_own(t).await?;

    let _first = scheduler_of(t, NAMESPACE, RELEASE).await?;
    let _second = scheduler_of(t, ANOTHER.1, NAME).await?;
    // Half of each gang is there: the other half is held.
    for scheduler in ["gangline", "trial"] {
        t.group(scheduler, 2, "1", json!({})).await?;
        t.member(scheduler, 0, "1", json!({"spec": {"schedulerName": scheduler}})).await?;
    }
    for scheduler in ["gangline", "trial"] {
        let held = wait_held(t, scheduler, 1).await?;
        assert_eq!(scheduler_name(&held[0]), scheduler);
        t.member(scheduler, 1, "1", json!({"spec": {"schedulerName": scheduler}})).await?;
        wait_whole(t, scheduler, 2).await?;
    }
    Ok(())
}

fn scheduler_name(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or_default()
}

/// A placeholder for a scheduler of this name.
fn placeholder_for(scheduler: &str) -> Value {
    let mut pod = placeholder("tried");
    pod["spec"]["schedulerName"] = json!(scheduler);
    pod
}

/// The policies of both releases are in force: of each name one account makes placeholders, and nobody else.
async fn each_makes_its_own(t: &Context) -> Result<()> {
    let at = format!("/api/v1/namespaces/{}/pods?dryRun=All", t.namespace);
    let first = Asker::new(&t.cluster.kubeconfig, Some(&account(NAMESPACE, RELEASE))).await?;
    let second = Asker::new(&t.cluster.kubeconfig, Some(&account(ANOTHER.1, NAME))).await?;
    let somebody = Asker::new(&t.cluster.kubeconfig, None).await?;
    for (scheduler, own, other) in [("gangline", &first, &second), ("trial", &second, &first)] {
        let pod = placeholder_for(scheduler);
        for asker in [&somebody, other] {
            refused_in_the_end(asker, Method::POST, &at, Some(&pod)).await?;
        }
        own.expect(Method::POST, &at, Some(&pod), 201, "a placeholder of its own name").await?;
    }
    Ok(())
}

async fn of_the_same_name(t: &mut Context) -> Result<()> {
    let (helm, admin) = (Program::Helm.find()?, t.cluster.kubeconfig.clone());
    // Whoever waits for a Lease waits less.
    let hurried = "config.leaderElection.leaseDurationSeconds=4,config.leaderElection.renewDeadlineSeconds=3,\
                   config.leaderElection.retryPeriodSeconds=1";
    chart::install_with(&helm, &admin, chart::CHART, &["--set", hurried])?;
    let values = format!("{hurried},crds.install=false");
    chart::install_another(&helm, &admin, &["--set", &values])?;
    t.take_nodes().await?;
    let mut first = scheduler_of(t, NAMESPACE, RELEASE).await?;
    let second = scheduler_of(t, ANOTHER.1, NAME).await?;
    follows(&second)?;

    // Each keeps the other's account from making placeholders, until it is told of it.
    let at = format!("/api/v1/namespaces/{}/pods?dryRun=All", t.namespace);
    let accounts = [account(NAMESPACE, RELEASE), account(ANOTHER.1, NAME)];
    let askers = [Asker::new(&admin, Some(&accounts[0])).await?, Asker::new(&admin, Some(&accounts[1])).await?];
    for asker in &askers {
        refused_in_the_end(asker, Method::POST, &at, Some(&placeholder_for("gangline"))).await?;
    }
    let makers = |account: &str| format!("policies.placeholderMakers={{{account}}}");
    chart::upgrade_with(&helm, &admin, &["--set", hurried, "--set", &makers(&accounts[1])])?;
    chart::upgrade_another(&helm, &admin, &["--set", &values, "--set", &makers(&accounts[0])])?;
    for asker in &askers {
        taken(asker, &at, &placeholder_for("gangline")).await?;
    }

    first.kill9()?;
    t.group("held", 2, "1", json!({"placeholderFor": "all"})).await?;
    wait_held(t, "held", 2).await?;
    t.members("held", 0..2, "1").await?;
    wait_whole(t, "held", 2).await
}

/// It is ready, and another one leads.
fn follows(scheduler: &Scheduler) -> Result<()> {
    let (code, said) = scheduler.get("/readyz").unwrap_or_default();
    if code == 200 && said.contains("role: follower") { Ok(()) } else { Err(Error::new(format!("{code} {said}"))) }
}
