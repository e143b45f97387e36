//! Tests that take away what Gangline stands on: kinds, rights, the API server, nodes, queues, readable objects.

use std::path::Path;
use std::process::Command;

use gangline::api::queue::Queue;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::breakage::{
    SCHEDULER, make_gang, make_group, make_members, members_of, metric, none_bound_twice, requests, state, until,
    wait_reason, wait_whole,
};
use crate::harness::context::phase;
use crate::harness::words::{is_bound, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::{Component, Options};
use crate::support::error::{During, Result};
use crate::support::objects::{DEADLINE, wait_untyped};
use crate::support::scheduler::{Launch, Scheduler};

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("faults: kinds that are missing or old", own(), kinds).without_gangline(),
        test("faults: an API server that is away, restarts and hangs", own(), api_server).without_gangline(),
        test("faults: objects that cannot be read, and evil ones", own(), evil).without_gangline(),
        test("faults: a queue is lowered and deleted under running work", Needs::Nodes(1), queue),
    ]
}

/// The kinds that Gangline brings.
const KINDS: [&str; 2] = ["taskgroups", "queues"];

/// With a Lease, as users have it: it leads without the kinds.
async fn kinds(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &["--leader-elect=true"]).await?;
    let definitions = t.everywhere::<CustomResourceDefinition>();
    for kind in KINDS {
        definitions.delete(&format!("{kind}.gangline.dev")).await?;
        definitions.wait_gone(&format!("{kind}.gangline.dev")).await?;
    }
    let scheduler = Scheduler::start(&launch).await?;
    let says_missing = |text: &str| {
        text.contains("taskgroups") && text.contains("queues") && text.contains("gangline crds | kubectl apply")
    };
    let (_, ready) = scheduler.get("/readyz").unwrap_or_default();
    assert!(says_missing(&ready), "/readyz: {ready}");
    // Its log says so when it leads, each kind once.
    let log = || scheduler.log_about("does not serve", 9);
    until("its log says what is missing", async || Ok(says_missing(&log()?))).await?;
    assert_eq!(log()?.lines().count(), 2, "{}", log()?);

    let list = Command::new(&launch.binary).args(["list", "-A", "--kubeconfig"]).arg(&t.cluster.kubeconfig).output();
    let hint = String::from_utf8_lossy(&list.during("running gangline")?.stderr).into_owned();
    assert!(hint.contains("gangline crds | kubectl apply"), "gangline list: {hint}");

    // Pods without a gang are scheduled meanwhile, members wait.
    make_members(t, "old", 3).await?;
    t.pods().create(t.pod("single", "1", json!({}))).await?;
    t.pods().wait("single", "runs", |pod| phase(pod) == "Running").await?;
    assert!(!t.pods().list(&members_of("old")).await?.iter().any(is_bound));

    // Kinds of an older version, then those of this one.
    for kind in KINDS {
        t.apply(&older(definition(kind)?).to_string()).await?;
    }
    make_group(t, "old", 3, json!({})).await?;
    wait_whole(t, "old", 3).await?;
    let older = |text: &str| text.contains("taskgroups/status") && text.contains("older");
    until("it says that the kinds are older", async || Ok(older(&scheduler.log_about("kept in part", 1)?))).await?;
    assert!(scheduler.log_about("kept in part", 1)?.contains("gangline crds | kubectl apply"));
    assert_eq!(scheduler.log_about("serves this kind now", 9)?.lines().count(), 2);
    let all = requests(&t.plane()?.audit_log())?;
    let tries =
        all.iter().filter(|one| one.user == SCHEDULER && one.resource == "taskgroups" && one.code == 404).count();
    assert!((1..=14).contains(&tries), "listed {tries} times");
    let (_, ready) = scheduler.get("/readyz").unwrap_or_default();
    assert!(!ready.contains("not served"), "/readyz: {ready}");
    for kind in KINDS {
        t.apply(&definition(kind)?.to_string()).await?;
    }
    make_gang(t, "new", 3, json!({"placeholderFor": "all", "completionTimeoutSeconds": 60})).await?;
    wait_whole(t, "new", 3).await?;
    until("all of it is kept", async || {
        Ok(!scheduler.get("/readyz").unwrap_or_default().1.contains("taskgroups/status"))
    })
    .await
}

/// The shipped definition of a kind.
fn definition(kind: &str) -> Result<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crds/gangline.dev_{kind}.yaml"));
    let text = std::fs::read_to_string(&path).during(format!("reading {}", path.display()))?;
    serde_saphyr::from_str(&text).during("reading a definition")
}

fn schema(definition: &mut Value) -> &mut Value {
    &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// A definition that lacks some fields and every rule.
fn older(mut definition: Value) -> Value {
    definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    let schema = schema(&mut definition);
    remove_everywhere(schema, "x-kubernetes-validations");
    for (part, field) in [
        ("spec", "completionTimeoutSeconds"),
        ("spec", "placeholderFor"),
        ("spec", "maxApplications"),
        ("status", "deadlines"),
        ("status", "selector"),
        ("status", "headroom"),
    ] {
        if let Some(fields) = schema["properties"][part]["properties"].as_object_mut() {
            fields.remove(field);
        }
    }
    definition
}

/// A definition under which everything can be stored.
fn lax(mut definition: Value) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    let schema = schema(&mut definition);
    remove_everywhere(schema, "x-kubernetes-validations");
    schema["properties"]["spec"] = anything;
    definition
}

fn remove_everywhere(value: &mut Value, key: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(key);
        fields.values_mut().for_each(|value| remove_everywhere(value, key));
    }
}

async fn api_server(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &[]).await?;

    // Away at the start.
    t.plane()?.kill(Component::ApiServer)?;
    let mut scheduler = Scheduler::spawn(&launch)?;
    until("it says that it waits", async || Ok(!scheduler.log_about("does not answer", 1)?.is_empty())).await?;
    t.plane()?.revive(Component::ApiServer).await?;
    scheduler.wait_ready().await?;

    // Killed while placeholders are bound and replaced.
    make_gang(t, "restarted", 8, json!({"placeholderFor": "all"})).await?;
    t.pods().wait_all("", "one is bound", |pods| pods.iter().any(|pod| is_bound(pod))).await?;
    t.plane()?.restart(Component::ApiServer).await?;
    wait_whole(t, "restarted", 8).await?;

    // Pods are heard of again, too: each kind is watched again after a pause of its own.
    t.pods().create(t.pod("heard", "1", json!({}))).await?;
    t.pods().wait("heard", "has a node", is_bound).await?;

    // A store that hangs until the server gives up: whether the Bindings took effect nobody knows.
    make_group(t, "slow", 4, json!({"reservation": "Direct"})).await?;
    wait_reason(t, "slow", "WaitingForMembers").await?;
    scheduler.pause()?;
    make_members(t, "slow", 4).await?;
    // What the API server has not heard of its store by then no watch tells before that goes on.
    t.pods().wait_all(&members_of("slow"), "they are there", |pods| pods.len() == 4).await?;
    t.plane()?.pause(Component::Etcd)?;
    scheduler.resume()?;
    let unknown =
        |code: &str| metric(&scheduler, "gangline_calls_total", &["pods/binding", &format!("code=\"{code}\"")]);
    let before = unknown("504") + unknown("0");
    until("Bindings fail", async || Ok(unknown("504") + unknown("0") > before)).await?;
    t.plane()?.resume(Component::Etcd)?;
    wait_whole(t, "slow", 4).await?;
    none_bound_twice(t)
}

async fn evil(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 1, |_| ()).await?;
    let launch = t.cluster.launch("gangline", &["--log-level", "debug"]).await?;
    for kind in KINDS {
        t.apply(&lax(definition(kind)?).to_string()).await?;
    }
    let scheduler = Scheduler::start(&launch).await?;

    // Objects that no program of this version would have stored.
    let groups = t.objects::<TaskGroup>();
    let bad = json!({"minMember": "two", "minResource": {"cpu": "1"}, "placeholderTemplate": t.placement()});
    store(t, groups.untyped(), "TaskGroup", json!({"name": "bad"}), bad).await?;
    let queues = t.everywhere::<Queue>();
    store(t, queues.untyped(), "Queue", json!({"name": "root.bad"}), json!({"parent": "root", "max": 7})).await?;
    let escapes = "\n\u{1b}[2J\u{9b}31m\u{202e}";
    let sick = json!({"minMember": 1, "minResource": {format!("cpu{escapes}"): "1"}, "queue": format!("root.{escapes}"),
                      "applicationId": format!("app{escapes}"), "gangGroup": [format!("{}/evil", t.namespace), escapes]});
    let annotated = json!({"name": "evil", "annotations": {"e2e.gangline.dev/note": escapes}});
    store(t, groups.untyped(), "TaskGroup", annotated, sick).await?;
    for (number, request) in ["1e30", "9223372036854775807Ei", "12345678901234567890123"].into_iter().enumerate() {
        let resources = json!({"requests": {"memory": request}});
        let container = json!({"name": "main", "image": "pause", "resources": resources});
        let huge = json!({"metadata": {"annotations": {"e2e.gangline.dev/note": escapes}}, "spec": {"containers": [container]}});
        t.pods().create(t.pod(&format!("vast-{number}"), "1", huge)).await?;
    }
    let huge = json!({"minResource": {"cpu": "9223372036854775807Ei"}});
    make_gang(t, "huge", 2, huge).await?;

    // Each says what is wrong with it, the others go on.
    for name in ["bad", "evil"] {
        let says = |object: &DynamicObject| object.data["status"]["reason"] == "InvalidSpec";
        wait_untyped(groups.untyped(), name, DEADLINE, "is refused", &says).await?;
    }
    let says = |object: &DynamicObject| object.data["status"]["conditions"][0]["status"] == "False";
    wait_untyped(queues.untyped(), "root.bad", DEADLINE, "is refused", &says).await?;
    let bad = groups.untyped().get("bad").await.during("reading the TaskGroup")?;
    assert!(bad.data["status"]["message"].to_string().contains("spec.minMember"), "{}", bad.data["status"]);
    let malformed = state(&scheduler)?["malformed"].to_string();
    assert!(malformed.contains("/bad\"") && malformed.contains("root.bad\""), "{malformed}");
    make_gang(t, "good", 3, json!({})).await?;
    wait_whole(t, "good", 3).await?;
    for number in 0..3 {
        t.pods()
            .wait(&format!("vast-{number}"), "says why it waits", |pod| why_waits(pod).0 == "Unschedulable")
            .await?;
    }
    wait_reason(t, "huge", "AskTooLarge").await?;

    garble(t, &scheduler).await?;

    // Repaired, it runs.
    groups.patch("bad", json!({"spec": {"minMember": 2}})).await?;
    make_members(t, "bad", 2).await?;
    wait_whole(t, "bad", 2).await?;
    nothing_unescaped(t, &scheduler, &launch)
}

/// A TaskGroup that cannot be read any more: its members run on.
async fn garble(t: &mut Context, scheduler: &Scheduler) -> Result<()> {
    let groups = t.objects::<TaskGroup>();
    let garbled = json!({"spec": {"minMember": "three"}});
    let patch = async |patch: Value| {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        groups.untyped().patch("good", &params, &patch).await.during("patching a TaskGroup").map(drop)
    };
    let run =
        |pods: &[&Pod]| pods.iter().all(|pod| phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none());
    let breaking = async {
        patch(garbled).await?;
        until("it is quarantined", async || Ok(state(scheduler)?["malformed"].to_string().contains("/good\""))).await?;
        patch(json!({"spec": {"minMember": 3}})).await?;
        until("it is read again", async || Ok(!state(scheduler)?["malformed"].to_string().contains("/good\""))).await?;
        wait_reason(t, "good", "Running").await
    };
    t.pods().always(&members_of("good"), "members of a garbled TaskGroup run on", run, breaking).await?;
    Ok(())
}

/// Nobody's terminal is at risk: neither from the log nor from what the commands print.
fn nothing_unescaped(t: &Context, scheduler: &Scheduler, launch: &Launch) -> Result<()> {
    assert_harmless("the log", &std::fs::read(scheduler.log()).during("reading the log")?, true);
    let namespace = t.namespace.clone();
    let in_namespace = |command: &[&str]| -> Vec<String> {
        command.iter().map(|&word| word.to_owned()).chain(["-n".to_owned(), namespace.clone()]).collect()
    };
    let commands = [
        in_namespace(&["why", "tg/evil"]),
        in_namespace(&["why", "tg/bad"]),
        in_namespace(&["why", "pod/vast-0"]),
        in_namespace(&["list", "-o", "wide"]),
        vec!["queue".to_owned()],
    ];
    for command in commands {
        let output =
            Command::new(&launch.binary).args(&command).arg("--kubeconfig").arg(&t.cluster.kubeconfig).output();
        let output = output.during("running gangline")?;
        assert!(!output.stdout.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_harmless(&format!("{command:?}"), &[output.stdout, output.stderr].concat(), false);
    }
    Ok(())
}

/// Stores an object as it is.
async fn store(t: &Context, api: &kube::Api<DynamicObject>, kind: &str, metadata: Value, spec: Value) -> Result<()> {
    let object = json!({"apiVersion": "gangline.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
    let object: DynamicObject = serde_json::from_value(object).during("describing an object")?;
    api.create(&PostParams::default(), &object).await.during(format!("storing a {kind} in {}", t.namespace)).map(drop)
}

/// No control character but line ends, and in a log every line one JSON object.
fn assert_harmless(what: &str, bytes: &[u8], is_log: bool) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let bad = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!text.contains(bad), "{what} contains {:?} in {text:?}", text.chars().find(|c| bad(*c)));
    if is_log {
        let broken = text.lines().find(|line| serde_json::from_str::<Value>(line).is_err());
        assert_eq!(broken, None, "{what}");
    }
}

async fn queue(t: &mut Context) -> Result<()> {
    let (name, queues) = (format!("root.{}", t.id), t.everywhere::<Queue>());
    let labels = json!({crate::harness::context::TEST: t.id});
    queues
        .create(json!({"metadata": {"name": name, "labels": labels}, "spec": {"parent": "root", "max": {"cpu": "4"}}}))
        .await?;
    make_gang(t, "first", 4, json!({"queue": name})).await?;
    wait_whole(t, "first", 4).await?;
    let runs =
        |pods: &[&Pod]| pods.iter().all(|pod| phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none());
    let breaking = async {
        // Below what is used.
        queues.patch(&name, json!({"spec": {"max": {"cpu": "2"}}})).await?;
        make_gang(t, "second", 1, json!({"queue": name})).await?;
        wait_reason(t, "second", "WaitingForQuota").await?;
        make_gang(t, "third", 3, json!({"queue": name})).await?;
        wait_reason(t, "third", "ExceedsMaxQuota").await?;
        // Gone.
        queues.delete(&name).await?;
        queues.wait_gone(&name).await?;
        make_gang(t, "fourth", 1, json!({"queue": name})).await?;
        let gone = |group: &TaskGroup| {
            let reason = group.status.as_ref().map(|status| status.reason.as_str()).unwrap_or_default();
            matches!(reason, "QueueDraining" | "QueueNotFound")
        };
        t.objects::<TaskGroup>().wait("fourth", "is refused", gone).await?;
        Ok(())
    };
    t.pods().always(&members_of("first"), "running members are left alone", runs, breaking).await?;
    let waiting = t.pods().list("gangline.dev/task-group in (second, third, fourth)").await?;
    assert!(waiting.len() == 5 && !waiting.iter().any(is_bound), "{}", waiting.len());
    let first = t.objects::<TaskGroup>().get("first").await?.and_then(|group| group.status).unwrap_or_default();
    assert_eq!(first.application_state, "Running");
    Ok(())
}
