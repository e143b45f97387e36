//! Tests of the lab itself: what all others stand on.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota, Secret};
use serde_json::json;

use crate::harness::context::{node, phase};
use crate::harness::{Context, Needs, Test, bare, test};
use crate::support::components::{Component, Options};
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Result};
use crate::support::kubeconfig;
use crate::support::manifests::service_account_kubeconfig;
use crate::support::objects::Objects;

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("control plane: a pod bound by hand runs on a kwok node", Needs::Nodes(1), bound_by_hand)
            .without_gangline(),
        test("control plane: a pod runs for as long as its annotation says", Needs::Nodes(1), runs_for)
            .without_gangline(),
        test("control plane: readiness gates are not fulfilled", Needs::Nodes(1), readiness_gate).without_gangline(),
        test("control plane: a Job completes", Needs::Nodes(2), job_completes).without_gangline(),
        test("control plane: a ResourceQuota counts", Needs::Shared, quota_counts).without_gangline(),
        test("control plane: a service account can do what its role says only", Needs::Shared, service_account)
            .without_gangline(),
        test("control plane: components restart on their data", own(), components_restart).without_gangline(),
        test("control plane: a paused store delays requests", own(), paused_store).without_gangline(),
        bare("control plane: two side by side", side_by_side),
        bare("control plane: nothing is left behind", nothing_left),
        bare("tools: what to install is said where Go is missing or too old", go_is_missing),
    ]
}

/// The lab with nothing built yet, in a world with this Go.
async fn go_is_missing() -> Result<()> {
    let lab = std::env::current_exe().during("finding this program")?;
    let lab = lab.ancestors().nth(2).map(|profile| profile.join("examples/lab")).unwrap_or_default();
    let tell = |version: &str| format!("#!/bin/sh\necho {version}\n");
    for (go, hint) in [(None, "which is not there"), (Some("go1.25.9"), "newer Go than"), (Some("?"), "newer Go than")]
    {
        let home = tempfile::tempdir().during("making a directory")?;
        if let Some(version) = go {
            let program = home.path().join("go");
            fs::write(&program, tell(version)).during("writing a program")?;
            fs::set_permissions(&program, Permissions::from_mode(0o755)).during("writing a program")?;
        }
        let mut command = Command::new(&lab);
        command.arg("tools").env("XDG_CACHE_HOME", home.path()).env("PATH", home.path());
        let output = command.output().during("running the lab")?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(hint) && said.contains("install Go 1.26"), "{go:?}: {said}");
    }
    Ok(())
}

async fn bound_by_hand(t: &mut Context) -> Result<()> {
    t.pods().create(t.pod("a", "1", json!({}))).await?;
    let target = format!("{}-node-0", t.id);
    t.bind("a", &target).await?;
    let pod = t.pods().wait("a", "runs", |pod| phase(pod) == "Running").await?;
    assert_eq!(node(&pod), target);
    t.pods().delete("a").await?;
    t.pods().wait_gone("a").await
}

async fn runs_for(t: &mut Context) -> Result<()> {
    let annotated =
        |key: &str| json!({"metadata": {"annotations": {key: "300ms"}}, "spec": {"restartPolicy": "Never"}});
    let node = format!("{}-node-0", t.id);
    t.pods().create(t.pod("succeeds", "1", annotated("gangline.dev/demo-run-for"))).await?;
    t.pods().create(t.pod("fails", "1", annotated("gangline.dev/demo-fail-after"))).await?;
    t.bind("succeeds", &node).await?;
    t.bind("fails", &node).await?;
    t.pods().wait("succeeds", "succeeds", |pod| phase(pod) == "Succeeded").await?;
    t.pods().wait("fails", "fails", |pod| phase(pod) == "Failed").await?;
    Ok(())
}

async fn readiness_gate(t: &mut Context) -> Result<()> {
    let gate = json!({"spec": {"readinessGates": [{"conditionType": "gangline.dev/never"}]}});
    t.pods().create(t.pod("gated", "1", gate)).await?;
    t.bind("gated", &format!("{}-node-0", t.id)).await?;
    let pod = t.pods().wait("gated", "runs", |pod| phase(pod) == "Running").await?;
    let conditions = pod.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    assert_eq!(ready.map(|condition| condition.status.as_str()), Some("False"));
    Ok(())
}

async fn job_completes(t: &mut Context) -> Result<()> {
    let mut template = t.pod("", "1", json!({"metadata": null, "spec": {"restartPolicy": "Never"}}));
    template["spec"]["nodeName"] = json!(format!("{}-node-1", t.id));
    let spec = json!({"completions": 2, "parallelism": 2, "template": {"spec": template["spec"]}});
    t.objects::<Job>().create(json!({"metadata": {"name": "job"}, "spec": spec})).await?;
    let succeeded = |job: &Job| job.status.as_ref().and_then(|status| status.succeeded);
    t.objects::<Job>().wait("job", "has succeeded", |job| succeeded(job) == Some(2)).await.map(drop)
}

async fn quota_counts(t: &mut Context) -> Result<()> {
    let quota = json!({"metadata": {"name": "quota"}, "spec": {"hard": {"pods": "2"}}});
    let quotas = t.objects::<ResourceQuota>();
    quotas.create(quota).await?;
    let used =
        |quota: &ResourceQuota| quota.status.as_ref()?.used.as_ref()?.get("pods").map(|quantity| quantity.0.clone());
    quotas.wait("quota", "is counted", |quota| used(quota).as_deref() == Some("0")).await?;
    t.pods().create(t.pod("one", "1", json!({}))).await?;
    quotas.wait("quota", "counts the pod", |quota| used(quota).as_deref() == Some("1")).await?;
    Ok(())
}

/// A stand-in for the shipped manifests: applied as they are, and the token obeys the role.
async fn service_account(t: &mut Context) -> Result<()> {
    let stand_in = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: watcher}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watcher}
rules: [{apiGroups: [''], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watcher}
subjects: [{kind: ServiceAccount, name: watcher, namespace: NAMESPACE}]
";
    t.apply(&stand_in.replace("NAMESPACE", &t.namespace)).await?;
    let file = t.cluster.work().join(format!("{}.kubeconfig", t.id));
    service_account_kubeconfig(&t.client, &t.cluster.kubeconfig, (&t.namespace, "watcher"), &file).await?;
    let client = kubeconfig::client(&file).await?;
    Objects::<Pod>::of(&client, &t.namespace).list("").await?;
    let refused = Objects::<Secret>::of(&client, &t.namespace).list("").await;
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("403")), "{refused:?}");
    Ok(())
}

async fn components_restart(t: &mut Context) -> Result<()> {
    let node = t.add_nodes("node", 1, |_| ()).await?.remove(0);
    t.pods().create(t.pod("before", "1", json!({}))).await?;
    for component in [Component::Etcd, Component::ApiServer, Component::ControllerManager, Component::Kwok] {
        t.plane()?.restart(component).await?;
    }
    t.pods().create(t.pod("after", "1", json!({}))).await?;
    t.bind("before", &node).await?;
    t.bind("after", &node).await?;
    t.pods().wait_all("", "both run", |pods| pods.len() == 2 && pods.iter().all(|pod| phase(pod) == "Running")).await?;
    Ok(())
}

/// A write that a paused store holds up is not answered, and goes through once the store runs on.
async fn paused_store(t: &mut Context) -> Result<()> {
    t.plane()?.pause(Component::Etcd)?;
    let (pods, pod) = (t.pods(), t.pod("late", "1", json!({})));
    let mut write = pin!(pods.create(pod));
    let answered = tokio::time::timeout(Duration::from_millis(500), &mut write).await;
    assert!(answered.is_err(), "the store was paused, but a write was answered: {answered:?}");
    t.plane()?.resume(Component::Etcd)?;
    write.await.map(drop)
}

async fn side_by_side() -> Result<()> {
    let options = || Options::default().with_nodes(2);
    let (one, two) = tokio::try_join!(ControlPlane::start(options()), ControlPlane::start(options()))?;
    for plane in [&one, &two] {
        assert_eq!(Objects::<Node>::all(&plane.client()).list("").await?.len(), 2);
    }
    drop(one);
    Objects::<Node>::all(&two.client()).list("").await.map(drop)
}

async fn nothing_left() -> Result<()> {
    let plane = ControlPlane::start(Options::default().with_nodes(1)).await?;
    let dir = plane.dir().to_path_buf();
    let running = processes_naming(&dir)?;
    assert!(running.len() >= 4, "only {running:?} are running");
    drop(plane);
    assert!(!dir.exists(), "{} is still there", dir.display());
    assert_eq!(processes_naming(&dir)?, Vec::<String>::new());
    Ok(())
}

/// Command lines of processes that contain a path.
fn processes_naming(path: &Path) -> Result<Vec<String>> {
    let (path, mut found) = (path.display().to_string(), Vec::new());
    for entry in fs::read_dir("/proc").during("listing processes")?.flatten() {
        let command: PathBuf = entry.path().join("cmdline");
        // A process may end while we look.
        let command = fs::read(command).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&path) {
            found.push(command);
        }
    }
    Ok(found)
}
