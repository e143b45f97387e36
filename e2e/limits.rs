//! Limits of users and groups: what admission writes down of who made an object, and what follows.

use gangline::api::queue::Queue;
use gangline::api::task_group::TaskGroup;
use http::Method;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::breakage::until;
use crate::harness::context::{merge, phase};
use crate::harness::words::{annotation, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::chart;
use crate::support::components::Options;
use crate::support::error::{Error, Result};
use crate::support::policies::Asker;
use crate::support::tools::Program;

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![test("limits: of users and groups, by who made the objects", own(), limits).without_gangline()]
}

const SUBMITTER: &str = "gangline.dev/submitter";
/// What alice might rather be.
const FORGED: &str = r#"{"user":"root","groups":[]}"#;

/// Whether it says that this user made it, who is in this group.
fn is_by(text: &str, user: &str, group: &str) -> bool {
    let said: Value = serde_json::from_str(text).unwrap_or_default();
    let is_in = said["groups"].as_array().is_some_and(|groups| groups.contains(&json!(group)));
    said["user"] == user && is_in
}

async fn limits(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 1, |nodes| nodes.cpu = "64".to_owned()).await?;
    t.cluster.install().await?;
    // Its controllers have one user here.
    let set = "config.submitters=true,policies.trustedSubmitters={kube-controller-manager}";
    let helm = Program::Helm.find()?;
    t.apply(&chart::render(&helm, &["--set", set, "--show-only", "templates/submitters.yaml"])?).await?;
    let [alice, bob] = [person(t, "alice").await?, person(t, "bob").await?];
    in_force(t, &alice).await?;
    nobody_says_it_is_somebody_else(t, &alice).await?;
    templates_say_who_made_them(t, &alice).await?;
    gangs_of_users(t, &alice, &bob).await
}

/// Somebody of the group research, who may do everything in the test's namespace.
async fn person(t: &Context, name: &str) -> Result<Asker> {
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    });
    t.everywhere::<ClusterRoleBinding>().create(binding).await?;
    Asker::of_group(&t.cluster.kubeconfig, name, "research").await
}

fn pods_at(t: &Context) -> String {
    format!("/api/v1/namespaces/{}/pods", t.namespace)
}

fn groups_at(t: &Context) -> String {
    format!("/apis/gangline.dev/v1alpha1/namespaces/{}/taskgroups", t.namespace)
}

/// A TaskGroup that says somebody else submitted it.
fn group(name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "annotations": {SUBMITTER: FORGED}});
    json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup", "metadata": metadata, "spec": spec})
}

fn job(name: &str, template: &Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}})
}

fn cron_job(name: &str, template: &Value) -> Value {
    let spec = json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}});
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec})
}

/// Each policy is in force a moment after it was written, and each for itself.
async fn in_force(t: &Context, asker: &Asker) -> Result<()> {
    let template = || json!({"spec": t.pod("dry", "1", json!({"spec": {"restartPolicy": "Never"}}))["spec"]});
    let batch = format!("/apis/batch/v1/namespaces/{}", t.namespace);
    let dry = [
        (pods_at(t), t.pod("dry", "1", json!({})), "/metadata"),
        (groups_at(t), group("dry", &json!({"minMember": 1, "minResource": {"cpu": "1"}})), "/metadata"),
        (format!("{batch}/jobs"), job("dry", &template()), "/spec/template/metadata"),
        (format!("{batch}/cronjobs"), cron_job("dry", &template()), "/spec/jobTemplate/spec/template/metadata"),
    ];
    for (at, object, metadata) in dry {
        let (at, marked) = (format!("{at}?dryRun=All"), format!("{metadata}/annotations"));
        let mut answer = String::new();
        let seen = until("admission says who makes it", async || {
            let (code, said) = asker.ask(Method::POST, &at, Some(&object)).await?;
            let made: Value = serde_json::from_str(&said).unwrap_or_default();
            let text = made.pointer(&marked).and_then(|marks| marks[SUBMITTER].as_str());
            let is_marked = text.is_some_and(|text| is_by(text, "alice", "research"));
            answer = format!("{code} {said}");
            Ok(is_marked)
        })
        .await;
        seen.map_err(|error| Error::new(format!("{error}: {at}: {answer}")))?;
    }
    Ok(())
}

async fn nobody_says_it_is_somebody_else(t: &Context, alice: &Asker) -> Result<()> {
    let at = pods_at(t);
    // Nobody schedules it.
    let nowhere =
        json!({"spec": {"nodeSelector": {"nowhere": "true"}}, "metadata": {"annotations": {SUBMITTER: FORGED}}});
    alice.expect(Method::POST, &at, Some(&t.pod("forged", "1", nowhere)), 201, "a pod").await?;
    let change = json!({"metadata": {"annotations": {SUBMITTER: FORGED, "own": "kept"}}});
    let gone = json!({"metadata": {"annotations": null}});
    for (path, change) in [("forged", &change), ("forged/status", &change), ("forged", &gone)] {
        alice.expect(Method::PATCH, &format!("{at}/{path}"), Some(change), 200, "a change").await?;
        let pod = t.pods().wait("forged", "is there", |_| true).await?;
        assert!(is_by(annotation(&pod, SUBMITTER), "alice", "research"), "{path}: {}", annotation(&pod, SUBMITTER));
    }
    // Who makes objects for others hands on what their templates say.
    let admin = json!({"metadata": {"annotations": {SUBMITTER: FORGED}}, "spec": {"schedulerName": "another"}});
    alice.expect(Method::POST, &at, Some(&t.pod("theirs", "1", admin)), 201, "a pod of another scheduler").await?;
    let theirs = t.pods().wait("theirs", "is there", |_| true).await?;
    assert_eq!(annotation(&theirs, SUBMITTER), FORGED, "what others schedule is left as it is");
    for name in ["forged", "theirs"] {
        t.pods().delete(name).await?;
    }
    Ok(())
}

async fn templates_say_who_made_them(t: &Context, alice: &Asker) -> Result<()> {
    let template = || {
        let pod =
            t.pod("unused", "1", json!({"spec": {"restartPolicy": "Never", "nodeSelector": {"nowhere": "true"}}}));
        json!({"spec": pod["spec"]})
    };
    let batch = format!("/apis/batch/v1/namespaces/{}", t.namespace);
    alice.expect(Method::POST, &format!("{batch}/jobs"), Some(&job("work", &template())), 201, "a Job").await?;
    let says = |pods: &[&Pod]| pods.len() == 1 && is_by(annotation(pods[0], SUBMITTER), "alice", "research");
    t.pods().wait_all("job-name=work", "its pod says who made the Job", says).await?;
    let mut marked = template();
    merge(&mut marked, json!({"metadata": {"annotations": {SUBMITTER: FORGED}}}));
    alice
        .expect(Method::POST, &format!("{batch}/cronjobs"), Some(&cron_job("yearly", &marked)), 201, "a CronJob")
        .await?;
    let said = |cron: &CronJob| {
        let template = cron.spec.job_template.spec.as_ref()?.template.metadata.as_ref()?;
        template.annotations.as_ref()?.get(SUBMITTER).cloned()
    };
    let is_alice = |cron: &CronJob| said(cron).is_some_and(|text| is_by(&text, "alice", "research"));
    t.objects::<CronJob>().wait("yearly", "says who made it", is_alice).await?;
    t.objects::<CronJob>().delete("yearly").await?;
    t.objects::<Job>().delete_with("work", &DeleteParams::background()).await?;
    t.pods().wait_all("job-name=work", "its pod is gone", |pods| pods.is_empty()).await.map(drop)
}

/// A Direct gang of somebody in a queue, with its members, which somebody else makes.
async fn gang(t: &Context, who: &Asker, name: &str, queue: &str, min: u32) -> Result<()> {
    let spec = json!({"minMember": min, "minResource": {"cpu": "1"}, "queue": queue, "reservation": "Direct"});
    who.expect(Method::POST, &groups_at(t), Some(&group(name, &spec)), 201, "a TaskGroup").await?;
    t.members(name, 0..min, "1").await.map(drop)
}

async fn gangs_of_users(t: &Context, alice: &Asker, bob: &Asker) -> Result<()> {
    let limit = json!([{"users": ["alice"], "max": {"cpu": "3"}}, {"groups": ["research"], "max": {"cpu": "5"}}]);
    t.queue_at("root.limited", json!({"limits": limit})).await?;
    let scheduler = t.start_scheduler("first", &["--submitters"]).await?;
    gang(t, alice, "first", "root.limited", 2).await?;
    t.wait_running("first", 2).await?;
    gang(t, alice, "second", "root.limited", 2).await?;
    gang(t, bob, "third", "root.limited", 3).await?;
    t.wait_running("third", 3).await?;
    let waits = |whose: &'static str| {
        move |group: &TaskGroup| status(group).reason == "WaitingForQuota" && status(group).message.contains(whose)
    };
    t.groups().wait("second", "waits for alice's limit", waits("root.limited (user alice)")).await?;
    gang(t, bob, "fourth", "root.limited", 1).await?;
    t.groups().wait("fourth", "waits for the limit of its group", waits("root.limited (group research)")).await?;
    shows(t, &["user alice: cpu 2", "group research: cpu 5"]).await?;
    drop(scheduler);
    let _second = t.start_scheduler("second", &["--submitters"]).await?;
    t.groups().wait("second", "still waits", waits("root.limited (user alice)")).await?;
    let (code, table) = t.gangline(&["queue", "root.limited"])?;
    assert!(code == Some(0) && table.contains("root.limited (user alice)"), "{table}");
    for (name, members) in [("fourth", 1), ("first", 2)] {
        t.groups().delete(name).await?;
        for number in 0..members {
            t.pods().delete(&format!("{name}-{number}")).await?;
        }
    }
    t.wait_running("second", 2).await?;
    let pods = t.pods().wait_all("gangline.dev/task-group=second", "they run", |pods| pods.len() == 2).await?;
    // The test made them; the gang is alice's.
    let run = |pod: &Pod| phase(pod) == "Running" && is_by(annotation(pod, SUBMITTER), "alice", "research");
    assert!(pods.iter().all(run), "{pods:?}");
    shows(t, &["user alice: cpu 2"]).await
}

/// Waits until the queue's status says this of users and groups, as `user alice: cpu 2`.
async fn shows(t: &Context, expected: &[&str]) -> Result<()> {
    let says = |queue: &Queue| {
        let limited = queue.status.iter().flat_map(|status| &status.limited);
        let lines: Vec<String> = limited
            .map(|one| {
                let user = one.user.as_ref().map(|user| format!("user {user}"));
                let whose = user.or_else(|| one.group.as_ref().map(|group| format!("group {group}")));
                let cpu = one.allocated.get("cpu").map(|amount| amount.0.clone()).unwrap_or_default();
                format!("{}: cpu {cpu}", whose.unwrap_or_default())
            })
            .collect();
        expected.iter().all(|line| lines.iter().any(|said| said == line))
    };
    t.everywhere::<Queue>().wait("root.limited", &format!("says {expected:?}"), says).await.map(drop)
}
