//! A release from its installation to its end, by helm itself: what it says, what it upgrades, and what is left of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use gangline::api::task_group::TaskGroup;
use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::discovery::{Discovery, verbs};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::breakage::{requests, until};
use crate::harness::cluster::binary;
use crate::harness::words::{PLACEHOLDERS, is_bound};
use crate::harness::{Context, Needs, Test, test};
use crate::support::chart::{self, CHART, NAMESPACE, RELEASE};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};
use crate::support::manifests;
use crate::support::objects::Objects;
use crate::support::policies::{Asker, refused_in_the_end};
use crate::support::scheduler::{Launch, Scheduler};
use crate::support::tools::Program;

/// The account of the hook, and its Job.
pub(super) const HOOK: &str = "gangline-uninstall";

pub(crate) fn tests() -> Vec<Test> {
    let own = |nodes| Needs::OwnControlPlane(Options::default().with_nodes(nodes));
    vec![
        test("chart: definitions are upgraded with the release, and outlive it", own(0), definitions)
            .without_gangline(),
        test("chart: what helm says works when it is pasted, and nothing is left in the end", own(2), whole_life)
            .without_gangline(),
    ]
}

/// Helm itself would never change a definition that is there.
async fn definitions(t: &mut Context) -> Result<()> {
    let (helm, admin) = (Program::Helm.find()?, t.cluster.kubeconfig.clone());
    let older = older_chart(t.cluster.work())?;
    let hold = |group: &TaskGroup| group.spec.seat_hold_seconds;
    let seven = json!({"seatHoldSeconds": 7});
    chart::install_with(&helm, &admin, &older.display().to_string(), &[])?;
    let old = t.group("old", 1, "1", seven.clone()).await?;
    assert_eq!(hold(&old), None, "the older definition knows the field");
    chart::upgrade_with(&helm, &admin, &[])?;
    knows_the_field(t, Some(7)).await?;
    let kept = t.groups().get("old").await?;
    assert_eq!(kept.and_then(|group| group.metadata.uid), old.metadata.uid, "an upgrade keeps what there is");
    chart::roll_back(&helm, &admin, "1")?;
    knows_the_field(t, None).await?;
    chart::upgrade_with(&helm, &admin, &[])?;
    knows_the_field(t, Some(7)).await?;
    chart::uninstall(&helm, &admin).await?;
    chart::install(&helm, &admin)?;
    let kept = t.groups().get("old").await?;
    assert_eq!(kept.and_then(|group| group.metadata.uid), old.metadata.uid, "so do an end and a beginning");
    Ok(())
}

/// Waits until a TaskGroup with the field that the older definition lacks comes out like this.
async fn knows_the_field(t: &Context, expected: Option<u32>) -> Result<()> {
    let what = format!("seatHoldSeconds is {expected:?}");
    until(&what, async || {
        let group = t.group("new", 1, "1", json!({"seatHoldSeconds": 7})).await?;
        t.groups().delete("new").await?;
        Ok(group.spec.seat_hold_seconds == expected)
    })
    .await
}

/// The chart as if TaskGroups had no `seatHoldSeconds` yet.
fn older_chart(work: &Path) -> Result<PathBuf> {
    let target = work.join("older");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART), &target)?;
    let file = target.join("files/crds/gangline.dev_taskgroups.yaml");
    let text = fs::read_to_string(&file).during("reading the definition")?;
    let mut definition: Value = serde_saphyr::from_str(&text).during("reading the definition")?;
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let fields = definition.pointer_mut(spec).and_then(Value::as_object_mut);
    let removed = fields.and_then(|fields| fields.remove("seatHoldSeconds"));
    removed.ok_or_else(|| Error::new("the definition has no such field"))?;
    fs::write(&file, definition.to_string()).during("writing the definition")?;
    Ok(target)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let step = format!("copying {}", from.display());
    fs::create_dir_all(to).during(&step)?;
    for entry in fs::read_dir(from).during(&step)? {
        let path = entry.during(&step)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).during(&step)?;
        }
    }
    Ok(())
}

async fn whole_life(t: &mut Context) -> Result<()> {
    let (helm, admin) = (Program::Helm.find()?, t.cluster.kubeconfig.clone());
    // Whoever waits for a Lease waits less.
    let set = "config.schedulerNames={gangline,spark},config.leaderElection.leaseDurationSeconds=4,\
               config.leaderElection.renewDeadlineSeconds=3,config.leaderElection.retryPeriodSeconds=1";
    chart::install_with(&helm, &admin, CHART, &["--set", set])?;
    t.take_nodes().await?;
    let scheduler = replicas(t).await?;
    paste(t, &chart::notes(&helm, &admin)?)?;
    // The second name.
    t.pods().create(t.pod("operated", "1", json!({"spec": {"schedulerName": "spark"}}))).await?;
    t.pods().wait("operated", "has a node", is_bound).await?;
    t.group("held", 2, "1", json!({"placeholderFor": "all"})).await?;
    t.wait_placeholders("have nodes", 2, is_bound).await?;
    left_alone_while_somebody_leads(t).await?;
    uninstall(t, helm, scheduler).await?;
    nothing_is_left(&t.client).await?;
    // What is the users' stays.
    assert!(t.pods().get("operated").await?.is_some() && t.groups().get("held").await?.is_some());
    Ok(())
}

/// Plays what makes the Deployment's replicas run: a node for each, and the scheduler as the one that leads.
pub(super) async fn replicas(t: &Context) -> Result<Scheduler> {
    let pods = Objects::<Pod>::of(&t.client, NAMESPACE);
    // In a rolling update the second is made when the first runs.
    for on in ["node-0", "node-1"] {
        let waits = |pod: &Pod| !is_bound(pod);
        let made = pods
            .wait_all("app.kubernetes.io/name=gangline", "a replica waits", |pods| pods.iter().any(|pod| waits(pod)))
            .await?;
        let name = made.iter().find(|pod| waits(pod)).map(ResourceExt::name_any).unwrap_or_default();
        bind(&pods, &name, on).await?;
    }
    scheduler_of(t, NAMESPACE, RELEASE).await
}

/// The scheduler of a release: with the configuration and a token of the account that its objects of this name are.
pub(super) async fn scheduler_of(t: &Context, namespace: &str, name: &str) -> Result<Scheduler> {
    let map = Objects::<ConfigMap>::of(&t.client, namespace).get(name).await?;
    let config = map.and_then(|map| map.data?.remove("config.yaml")).unwrap_or_default();
    let file = t.cluster.work().join(format!("{name}.yaml"));
    fs::write(&file, config).during("writing the configuration")?;
    let launch = Launch {
        name: format!("released-{name}"),
        binary: binary(),
        kubeconfig: token(t, namespace, name).await?,
        dir: t.cluster.work().to_path_buf(),
        // Plain on loopback, where the suite asks it whether it is ready.
        args: [
            &*format!("--config={}", file.display()),
            "--leader-elect=true",
            "--http-auth=never",
            "--http-tls=never",
        ]
        .map(str::to_owned)
        .to_vec(),
        env: Vec::new(),
    };
    Scheduler::start(&launch).await
}

/// A kubeconfig with a token of an account of the release.
async fn token(t: &Context, namespace: &str, account: &str) -> Result<PathBuf> {
    let file = t.cluster.work().join(format!("{account}.kubeconfig"));
    manifests::service_account_kubeconfig(&t.client, &t.cluster.kubeconfig, (namespace, account), &file).await?;
    Ok(file)
}

pub(super) async fn bind(pods: &Objects<Pod>, pod: &str, node: &str) -> Result<()> {
    let binding = json!({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
    let answer =
        pods.untyped().create_subresource::<Value, Value>("binding", pod, &PostParams::default(), &binding).await;
    answer.during(format!("binding {pod} to {node}")).map(drop)
}

/// Gives the whole text to a shell, as somebody would who copies it.
fn paste(t: &Context, notes: &str) -> Result<()> {
    let text = notes.trim_start().strip_prefix("NOTES:").unwrap_or(notes);
    assert!(text.lines().filter(|line| line.starts_with("kubectl ")).count() >= 5, "{text}");
    // Not every shell knows comments at its prompt.
    let acts =
        |line: &&str| line.starts_with('#') && line.contains(['`', '\'', '"', '$', ';', '|', '&', '<', '>', '(']);
    assert_eq!(text.lines().find(acts), None, "a comment that a shell could take for more");
    let file = t.cluster.work().join("notes.sh");
    fs::write(&file, text).during("writing what is pasted")?;
    let programs = [Program::Kubectl.find()?, binary()];
    let paths = programs.iter().filter_map(|program| program.parent()).map(|dir| dir.display().to_string());
    let path = paths.chain(["/usr/bin".to_owned(), "/bin".to_owned()]).collect::<Vec<_>>().join(":");
    let mut shell = Command::new("bash");
    shell.arg("-eu").arg(&file).env_clear().env("PATH", path).env("HOME", t.cluster.work());
    shell.env("KUBECONFIG", &t.cluster.kubeconfig);
    let said = done(shell.output().during("running bash")?, "what helm says, pasted")?;
    for expected in ["successfully rolled out", "job.batch/first created", "TaskGroup default/first", "3 succeeded"] {
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
    Ok(())
}

/// What a program said, if it ended well.
fn done(output: Output, what: &str) -> Result<String> {
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(said) } else { Err(Error::new(format!("{what}: {}\n{said}", output.status))) }
}

fn release_placeholders(kubeconfig: &Path, arguments: &[String]) -> Result<String> {
    let mut command = Command::new(binary());
    command.env_clear().args(arguments).arg("--kubeconfig").arg(kubeconfig);
    done(command.output().during("running gangline")?, "releasing placeholders")
}

async fn left_alone_while_somebody_leads(t: &Context) -> Result<()> {
    let arguments = ["release-placeholders", "--timeout=6s"].map(str::to_owned);
    let said = release_placeholders(&t.cluster.kubeconfig, &arguments)?;
    assert!(said.starts_with("gangline: left alone: ") && said.contains("kube-system/gangline"), "{said}");
    t.wait_placeholders("are still there", 2, is_bound).await.map(drop)
}

/// `helm uninstall`, and what nodes would do meanwhile: the replica that leads is killed, and the hook's Job runs.
async fn uninstall(t: &Context, helm: PathBuf, mut scheduler: Scheduler) -> Result<()> {
    let admin = t.cluster.kubeconfig.clone();
    // Not a task of the runtime, which would wait for it also where this test fails.
    let helm = thread::spawn(move || chart::uninstall_with(&helm, &admin, &["--timeout=3m"]));
    Objects::<Deployment>::of(&t.client, NAMESPACE).wait_gone(RELEASE).await?;
    scheduler.kill9()?;
    Objects::<Job>::of(&t.client, NAMESPACE).wait(HOOK, "is there", |_| true).await?;
    let pods = Objects::<Pod>::of(&t.client, NAMESPACE);
    let made = pods.wait_all(&format!("job-name={HOOK}"), "the hook's pod is made", |pods| pods.len() == 1).await?;
    the_hook_is_restrained(t).await?;
    let granted = rights_of_the_hook(t).await?;
    let container = made[0].spec.as_ref().and_then(|spec| spec.containers.first());
    let arguments = container.and_then(|container| container.args.clone()).unwrap_or_default();
    let said = release_placeholders(&token(t, NAMESPACE, HOOK).await?, &arguments)?;
    assert_eq!(said, "gangline: 2 placeholders deleted\nspark: 0 placeholders deleted\n");
    every_right_was_used(t, granted).await?;
    // A node that pretends to run pods lets those of a Job succeed.
    bind(&pods, &made[0].name_any(), "node-0").await?;
    helm.join().map_err(|_| Error::new("helm's thread panicked"))?
}

/// The account deletes no pod that is none of the placeholders.
async fn the_hook_is_restrained(t: &Context) -> Result<()> {
    let hook = Asker::new(&t.cluster.kubeconfig, Some(&format!("system:serviceaccount:{NAMESPACE}:{HOOK}"))).await?;
    let pods = format!("/api/v1/namespaces/{}/pods", t.namespace);
    refused_in_the_end(&hook, Method::DELETE, &format!("{pods}/operated?dryRun=All"), None).await?;
    let pod = t.pod("own", "1", json!({}));
    hook.expect(Method::POST, &pods, Some(&pod), 403, "RBAC: it creates nothing").await?;
    hook.expect(Method::GET, "/api/v1/secrets", None, 403, "RBAC: it reads nothing else").await
}

/// Verb and resource.
type Right = (String, String);

async fn rights_of_the_hook(t: &Context) -> Result<BTreeSet<Right>> {
    let everywhere = t.everywhere::<ClusterRole>().get(HOOK).await?.and_then(|role| role.rules);
    let leases = Objects::<Role>::of(&t.client, "kube-system").get(HOOK).await?.and_then(|role| role.rules);
    let mut rights = BTreeSet::new();
    for rule in everywhere.into_iter().chain(leases).flatten() {
        for resource in rule.resources.unwrap_or_default() {
            rights.extend(rule.verbs.iter().map(|verb| (verb.clone(), resource.clone())));
        }
    }
    Ok(rights)
}

/// But for the one that a Lease needs which is not there yet.
async fn every_right_was_used(t: &Context, mut granted: BTreeSet<Right>) -> Result<()> {
    assert!(granted.remove(&("create".to_owned(), "leases".to_owned())), "{granted:?}");
    let plane = t.cluster.plane.as_ref().ok_or_else(|| Error::new("this test has a control plane of its own"))?;
    let user = format!("system:serviceaccount:{NAMESPACE}:{HOOK}");
    let mut used = BTreeSet::new();
    let all = until("every right of the hook was used, and no other", async || {
        let its_own = requests(&plane.audit_log())?.into_iter().filter(|one| one.user == user);
        used = its_own.map(|one| (one.verb, one.resource)).collect();
        Ok(used == granted)
    });
    let all = all.await;
    all.map_err(|error| error.with_tail("granted, and used", &format!("{granted:?}\n{used:?}")))
}

/// Nothing but the definitions, whatever its kind; and no placeholder and no Lease.
async fn nothing_is_left(client: &Client) -> Result<()> {
    let pods = Objects::<Pod>::all(client).list(PLACEHOLDERS).await?;
    assert!(pods.is_empty(), "placeholders are left");
    for name in ["gangline", "spark"] {
        let lease = Objects::<Lease>::of(client, "kube-system").get(name).await?;
        assert!(lease.is_none(), "a Lease is left: {lease:?}");
    }
    let expected = ["CustomResourceDefinition queues.gangline.dev", "CustomResourceDefinition taskgroups.gangline.dev"];
    // The garbage collector takes a moment for pods.
    let mut found = Vec::new();
    let gone = until("all objects of the release are gone", async || {
        found = of_the_release(client).await?;
        Ok(found == expected)
    });
    let gone = gone.await;
    gone.map_err(|error| error.with_tail("left", &found.join("\n")))
}

/// Kind and name of all objects with the release's label, in order.
async fn of_the_release(client: &Client) -> Result<Vec<String>> {
    let discovery = Discovery::new(client.clone()).run().await.during("asking which kinds there are")?;
    let which = ListParams::default().labels(&format!("app.kubernetes.io/instance={RELEASE}"));
    let mut found = Vec::new();
    let kinds = discovery.groups().flat_map(|group| group.recommended_resources());
    for (kind, _) in kinds.filter(|(_, capabilities)| capabilities.supports_operation(verbs::LIST)) {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        let listed = api.list(&which).await.during(format!("listing {}", kind.plural))?;
        found.extend(listed.items.iter().map(|object| format!("{} {}", kind.kind, object.name_any())));
    }
    found.sort();
    Ok(found)
}
