//! A cluster whose policy wants every image by its digest.

use std::thread;

use http::Method;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use serde_json::json;

use super::life::{HOOK, bind, replicas};
use crate::breakage::wait_held;
use crate::harness::{Context, Needs, Test, test};
use crate::support::chart::{self, CHART, NAMESPACE};
use crate::support::components::Options;
use crate::support::error::{Error, Result};
use crate::support::objects::Objects;
use crate::support::policies::{Asker, refused_in_the_end};
use crate::support::tools::Program;

/// What the policy says.
const WANTED: &str = "images are named by their digest";
/// Any image of the chart, by digest.
const DIGEST: &str = "image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000";

pub(super) fn tests() -> Vec<Test> {
    let own = Needs::OwnControlPlane(Options::default().with_nodes(2));
    vec![test("chart: under a policy that wants images by digest", own, by_digest).without_gangline()]
}

async fn by_digest(t: &mut Context) -> Result<()> {
    let (helm, admin) = (Program::Helm.find()?, t.cluster.kubeconfig.clone());
    demand_digests(t).await?;
    // A tag, as the chart has it by default: no pod, and the words of the policy where the page has one look.
    chart::install_with(&helm, &admin, CHART, &[])?;
    let refused = |event: &Event| {
        let said = event.message.as_deref().unwrap_or_default();
        event.involved_object.kind.as_deref() == Some("ReplicaSet") && said.contains(WANTED)
    };
    let events = Objects::<Event>::of(&t.client, NAMESPACE);
    events.wait_all("", "its ReplicaSet says why there is no pod", |all| all.iter().any(|one| refused(one))).await?;
    assert!(Objects::<ReplicaSet>::of(&t.client, NAMESPACE).list("").await?.iter().all(makes_none));
    assert!(Objects::<Pod>::of(&t.client, NAMESPACE).list("").await?.is_empty());

    chart::upgrade_with(&helm, &admin, &["--set", DIGEST])?;
    t.take_nodes().await?;
    let mut scheduler = replicas(t).await?;
    t.group("held", 2, "1", json!({"placeholderFor": "all"})).await?;
    wait_held(t, "held", 2).await?;

    // And what runs when the release goes.
    let uninstalling = thread::spawn(move || chart::uninstall_with(&helm, &admin, &["--timeout=3m"]));
    Objects::<Job>::of(&t.client, NAMESPACE).wait(HOOK, "is there", |_| true).await?;
    scheduler.terminate()?;
    let pods = Objects::<Pod>::of(&t.client, NAMESPACE);
    let made = pods.wait_all(&format!("job-name={HOOK}"), "the hook's pod is made", |pods| pods.len() == 1).await?;
    // A node that pretends to run pods lets those of a Job succeed.
    bind(&pods, &made[0].name_any(), "node-0").await?;
    uninstalling.join().map_err(|_| Error::new("helm's thread panicked"))?
}

fn makes_none(set: &ReplicaSet) -> bool {
    set.status.as_ref().is_some_and(|status| status.replicas == 0)
}

/// A policy of the cluster's own, in force.
async fn demand_digests(t: &Context) -> Result<()> {
    let everywhere = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let all = "(object.spec.containers + object.spec.?initContainers.orValue([]))\
               .all(container, container.?image.orValue('').contains('@sha256:'))";
    let (name, metadata) = ("digests", json!({"name": "digests"}));
    let policy = json!({"metadata": metadata, "spec": {
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [everywhere]},
        "validations": [{"expression": all, "message": WANTED, "reason": "Forbidden"}],
    }});
    t.everywhere::<ValidatingAdmissionPolicy>().create(policy).await?;
    let binding = json!({"metadata": metadata, "spec": {"policyName": name, "validationActions": ["Deny"]}});
    t.everywhere::<ValidatingAdmissionPolicyBinding>().create(binding).await?;
    let admin = Asker::new(&t.cluster.kubeconfig, None).await?;
    let at = format!("/api/v1/namespaces/{}/pods?dryRun=All", t.namespace);
    refused_in_the_end(&admin, Method::POST, &at, Some(&t.pod("tagged", "1", json!({})))).await
}
