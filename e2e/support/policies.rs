//! The chart's admission policies, attacked on a real API server, with what must go on as if they were not there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use gangline::runtime::settings::PLACEHOLDER_IMAGE;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::error::{During, Error, Result};
use super::nodes::TOPOLOGY;

/// The user that the API server sees in the scheduler's requests.
pub const SCHEDULER: &str = "system:serviceaccount:gangline-system:gangline";
/// A controller that creates whatever pods a user's template says.
const REPLICA_SETS: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Policies are in force once the API server's own watch has seen them; that takes about a second.
const IN_FORCE: Duration = Duration::from_secs(60);

/// Sends requests as one user.
pub struct Asker {
    client: Client,
    user: String,
}

impl Asker {
    /// As the kubeconfig's own user, or as another one in its name.
    pub async fn new(kubeconfig: &Path, user: Option<&str>) -> Result<Self> {
        Self::made(kubeconfig, user, Vec::new()).await
    }

    async fn made(kubeconfig: &Path, user: Option<&str>, groups: Vec<String>) -> Result<Self> {
        let step = format!("making a client from {}", kubeconfig.display());
        let file = Kubeconfig::read_from(kubeconfig).during(&step)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.during(&step)?;
        config.default_retry = false;
        config.auth_info.impersonate = user.map(str::to_owned);
        config.auth_info.impersonate_groups = Some(groups).filter(|groups| !groups.is_empty());
        let client = Client::try_from(config).during(&step)?;
        Ok(Self { client, user: user.unwrap_or("the administrator").to_owned() })
    }

    /// As somebody who is in this group.
    pub async fn of_group(kubeconfig: &Path, user: &str, group: &str) -> Result<Self> {
        Self::made(kubeconfig, Some(user), vec![group.to_owned()]).await
    }

    /// Status code and body of a request.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, String)> {
        let step = format!("{method} {path} by {}", self.user);
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("Content-Type", kind).body(Body::from(body));
        let request = request.during(&step)?;
        let response = self.client.send(request).await.during(&step)?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.during(&step)?.to_bytes();
        Ok((code, String::from_utf8_lossy(&body).into_owned()))
    }

    /// A request that must be answered with this code.
    pub async fn expect(&self, method: Method, path: &str, body: Option<&Value>, code: u16, why: &str) -> Result<()> {
        let (found, said) = self.ask(method.clone(), path, body).await?;
        if found == code {
            return Ok(());
        }
        Err(Error::new(format!("{why}: {method} {path} by {} gave {found}, not {code}: {said}", self.user)))
    }

    /// A request that a policy of ours must refuse: no other admission, and no missing right.
    pub async fn refused(&self, method: Method, path: &str, body: Option<&Value>, why: &str) -> Result<()> {
        let (code, said) = self.ask(method.clone(), path, body).await?;
        if code == 403 && said.contains("ValidatingAdmissionPolicy") {
            return Ok(());
        }
        Err(Error::new(format!("{why}: no policy refused {method} {path} by {}: {code} {said}", self.user)))
    }
}

const PODS: &str = "/api/v1/namespaces/chart-check/pods";

/// A pod as Gangline makes its placeholders, with these labels. No node takes it: a scheduler may run here.
fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedulerName": "gangline", "automountServiceAccountToken": false, "nodeSelector": {"nowhere": "true"},
            "containers": [{"name": "placeholder", "image": PLACEHOLDER_IMAGE}],
        },
    })
}

/// A placeholder as Gangline makes them.
pub fn placeholder(name: &str) -> Value {
    pod(name, &json!({"gangline.dev/placeholder": "true", "gangline.dev/task-group": "a", "gangline.dev/seat": "0"}))
}

/// A pod with one more field of its spec.
fn with(mut pod: Value, field: &str, value: Value) -> Value {
    pod["spec"][field] = value;
    pod
}

/// A placeholder whose container has one more field.
fn with_container(field: &str, value: Value) -> Value {
    let mut pod = placeholder("bad");
    pod["spec"]["containers"][0][field] = value;
    pod
}

/// A placeholder with one more container, as an injector adds it.
fn with_sidecar(list: &str, change: &Value) -> Value {
    let mut sidecar = json!({"name": "sidecar", "image": "proxy"});
    for (field, value) in change.as_object().into_iter().flatten() {
        sidecar[field] = value.clone();
    }
    let mut pod = placeholder("bad");
    let mut containers = pod["spec"][list].as_array().cloned().unwrap_or_default();
    containers.push(sidecar);
    pod["spec"][list] = containers.into();
    pod
}

/// A placeholder with a volume.
fn with_volume(volume: &Value) -> Value {
    let mut all = volume.clone();
    all["name"] = json!("v");
    with(placeholder("bad"), "volumes", json!([all]))
}

fn binding(name: &str, node: &str, metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    metadata["name"] = json!(name);
    json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    })
}

fn labels(labels: &Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

/// Attacks the policies of an installed chart, and does what must go on as if they were not there.
pub async fn hold(kubeconfig: &Path) -> Result<()> {
    let admin = Asker::new(kubeconfig, None).await?;
    let scheduler = Asker::new(kubeconfig, Some(SCHEDULER)).await?;
    let controller = Asker::new(kubeconfig, Some(REPLICA_SETS)).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "chart-check"}});
    admin.expect(Method::POST, "/api/v1/namespaces", Some(&namespace), 201, "a namespace").await?;
    for name in ["default", "powerful"] {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        // The controller may have made the first already.
        admin.ask(Method::POST, "/api/v1/namespaces/chart-check/serviceaccounts", Some(&account)).await?;
    }
    let attacked = attack(&admin, &scheduler, &controller).await;
    // No kubelet ends a pod that was bound to a node which does not exist.
    admin.ask(Method::DELETE, &format!("{PODS}?gracePeriodSeconds=0"), None).await?;
    admin.ask(Method::DELETE, "/api/v1/namespaces/chart-check", None).await?;
    attacked
}

async fn attack(admin: &Asker, scheduler: &Asker, controller: &Asker) -> Result<()> {
    in_force(admin, &placeholder("forged")).await?;
    in_force(scheduler, &pod("foreign", &json!({}))).await?;
    nobody_forges(admin, controller, scheduler).await?;
    the_phase_is_restrained(admin, scheduler).await?;
    the_scheduler_is_restrained(scheduler).await
}

/// Waits until a pod is refused that a policy must refuse.
async fn in_force(asker: &Asker, pod: &Value) -> Result<()> {
    refused_in_the_end(asker, Method::POST, &format!("{PODS}?dryRun=All"), Some(pod)).await
}

/// A policy is in force a moment after it was written.
pub async fn refused_in_the_end(asker: &Asker, method: Method, at: &str, object: Option<&Value>) -> Result<()> {
    let by_policy = |code, said: &str| code == 403 && said.contains("ValidatingAdmissionPolicy");
    answered_in_the_end(asker, (method, at, object), by_policy).await
}

/// The same of what no right allows, or where another system's words need that right a policy of its own forbids.
async fn forbidden_in_the_end(asker: &Asker, method: Method, at: &str, object: Option<&Value>) -> Result<()> {
    answered_in_the_end(asker, (method, at, object), |code, _| code == 403).await
}

async fn answered_in_the_end(
    asker: &Asker,
    (method, at, object): (Method, &str, Option<&Value>),
    is_right: impl Fn(u16, &str) -> bool,
) -> Result<()> {
    let began = Instant::now();
    loop {
        let (code, said) = asker.ask(method.clone(), at, object).await?;
        if is_right(code, &said) {
            return Ok(());
        }
        if began.elapsed() > IN_FORCE {
            let what = object.map(Value::to_string).unwrap_or_default();
            return Err(Error::new(format!("no policy refuses {method} {at} {what} by {}: {code} {said}", asker.user)));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn nobody_forges(admin: &Asker, controller: &Asker, scheduler: &Asker) -> Result<()> {
    let forged = placeholder("forged");
    for asker in [admin, controller] {
        asker.expect(Method::POST, PODS, Some(&forged), 403, "a forged placeholder").await?;
    }
    admin.expect(Method::POST, PODS, Some(&pod("plain", &json!({}))), 201, "an ordinary pod").await?;
    scheduler.expect(Method::POST, PODS, Some(&placeholder("seat")), 201, "our placeholder").await?;

    let add = labels(&json!({"gangline.dev/placeholder": "true"}));
    let (plain, seat) = (format!("{PODS}/plain"), format!("{PODS}/seat"));
    let (plain_status, seat_status) = (format!("{plain}/status"), format!("{seat}/status"));
    let bind = binding("plain", "n", &labels(&json!({"gangline.dev/placeholder": "true"}))["metadata"]);
    admin.expect(Method::PATCH, &plain, Some(&add), 403, "the label added").await?;
    admin.expect(Method::PATCH, &plain_status, Some(&add), 403, "the label added by way of the status").await?;
    let bindings = PODS.replace("/pods", "/bindings");
    for at in [&format!("{plain}/binding"), &bindings] {
        admin.expect(Method::POST, at, Some(&bind), 403, "the label added by a Binding").await?;
    }
    for change in [
        json!({"gangline.dev/placeholder": null}),
        json!({"gangline.dev/placeholder": "false"}),
        json!({"gangline.dev/seat": "1"}),
        json!({"gangline.dev/attempt": "1"}),
        json!({"gangline.dev/task-group": null}),
    ] {
        admin.expect(Method::PATCH, &seat, Some(&labels(&change)), 403, "a placeholder's labels changed").await?;
    }

    let running = json!({"status": {"phase": "Running"}});
    let ordinary = labels(&json!({"team": "a", "gangline.dev/task-group": "a"}));
    admin.expect(Method::PATCH, &plain_status, Some(&running), 200, "a kubelet's report").await?;
    admin.expect(Method::PATCH, &seat_status, Some(&running), 200, "a kubelet's report on a placeholder").await?;
    admin.expect(Method::PATCH, &plain, Some(&ordinary), 200, "an ordinary label").await?;
    admin.expect(Method::PATCH, &seat, Some(&labels(&json!({"team": "a"}))), 200, "a foreign label").await?;
    admin.expect(Method::DELETE, &format!("{seat}?gracePeriodSeconds=0"), None, 200, "anybody's deletion").await?;
    others_placeholders_are_theirs(admin, scheduler).await
}

/// A pod of another scheduler is no placeholder of ours, whatever its labels: that is for the policies of that one.
async fn others_placeholders_are_theirs(admin: &Asker, scheduler: &Asker) -> Result<()> {
    let theirs = with(placeholder("elsewhere"), "schedulerName", json!("another"));
    admin.expect(Method::POST, PODS, Some(&theirs), 201, "another scheduler's placeholder").await?;
    let other = labels(&json!({"gangline.dev/seat": "1"}));
    admin.expect(Method::PATCH, &format!("{PODS}/elsewhere"), Some(&other), 200, "its labels changed").await?;
    scheduler.refused(Method::POST, PODS, Some(&theirs), "another scheduler's placeholder, made by ours").await
}

async fn the_scheduler_is_restrained(scheduler: &Asker) -> Result<()> {
    for (pod, why) in foreign_pods().into_iter().chain(stolen_rights()).chain(stolen_secrets()) {
        scheduler.refused(Method::POST, PODS, Some(&pod), why).await?;
    }
    for (pod, why) in injected() {
        scheduler.refused(Method::POST, PODS, Some(&pod), why).await?;
    }
    the_status_is_restrained(scheduler).await?;
    let plain = format!("{PODS}/plain");
    scheduler.refused(Method::DELETE, &plain, None, "an ordinary pod deleted").await?;
    let at = format!("{plain}/binding");
    let disguise = binding("plain", "n", &labels(&json!({"gangline.dev/placeholder": "true"}))["metadata"]);
    scheduler.refused(Method::POST, &at, Some(&disguise), "a pod made a placeholder by a Binding").await?;
    scheduler.expect(Method::POST, &at, Some(&ours("n")), 201, "a Binding").await?;
    let seat = format!("{PODS}/seat2");
    let relabel = labels(&json!({"team": "b"}));
    scheduler.expect(Method::POST, PODS, Some(&placeholder("seat2")), 201, "a placeholder").await?;
    // Where the right is granted for Koordinator's words, a policy of its own sees to it, which was written last.
    forbidden_in_the_end(scheduler, Method::PATCH, &seat, Some(&relabel)).await?;
    scheduler.expect(Method::DELETE, &seat, None, 200, "a placeholder deleted").await
}

/// A Binding as Gangline makes them.
fn ours(node: &str) -> Value {
    binding("plain", node, &json!({"annotations": {"gangline.dev/binding": "queue=root.default"}}))
}

async fn the_status_is_restrained(scheduler: &Asker) -> Result<()> {
    let at = format!("{PODS}/plain/status");
    let ready = json!({"type": "Ready", "status": "False"});
    for (patch, why) in [
        (labels(&json!({"team": "b"})), "a label"),
        (json!({"metadata": {"annotations": {"a": "b"}}}), "an annotation"),
        (json!({"metadata": {"finalizers": ["example.com/stuck"]}}), "a finalizer"),
        (json!({"status": {"phase": "Failed"}}), "an end"),
        (json!({"status": {"reason": "Evicted"}}), "a reason"),
        (json!({"status": {"message": "evicted"}}), "a message"),
        (json!({"status": {"startTime": "2020-01-01T00:00:00Z"}}), "a start"),
        (json!({"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}}), "an address"),
        (json!({"status": {"conditions": [ready]}}), "another condition"),
    ] {
        scheduler.refused(Method::PATCH, &at, Some(&patch), &format!("{why} by way of the status")).await?;
    }
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "WaitingForMembers"});
    let status = json!({"status": {"conditions": [condition]}});
    scheduler.expect(Method::PATCH, &at, Some(&status), 200, "a condition").await
}

/// The status with which a pod of a gang that is given up fails.
fn failure() -> Value {
    json!({"phase": "Failed", "reason": "PlaceholderTimeout", "message": "the gang was given up"})
}

/// The same with another value of a field.
fn failure_with(field: &str, value: Value) -> Value {
    let mut failure = failure();
    failure[field] = value;
    failure
}

/// The scheduler may fail a pod of its own that waits for a node, with its own reason, and no other; and it changes no
/// phase otherwise.
async fn the_phase_is_restrained(admin: &Asker, scheduler: &Asker) -> Result<()> {
    let status = |status: Value| json!({"status": status});
    for (name, scheduler_name) in [("waits", "gangline"), ("theirs", "default-scheduler"), ("bound", "gangline")] {
        let pod = with(pod(name, &json!({})), "schedulerName", json!(scheduler_name));
        admin.expect(Method::POST, PODS, Some(&pod), 201, "an ordinary pod").await?;
    }
    let bind = binding("bound", "n", &json!({}));
    scheduler.expect(Method::POST, &format!("{PODS}/bound/binding"), Some(&bind), 201, "a Binding").await?;
    for name in ["bound", "theirs"] {
        let why = format!("the end of a pod that is {name}");
        let at = format!("{PODS}/{name}/status");
        scheduler.refused(Method::PATCH, &at, Some(&status(failure())), &why).await?;
    }
    let at = format!("{PODS}/waits/status");
    for (refused, why) in [
        (json!({"phase": "Running"}), "a run"),
        (json!({"phase": "Succeeded"}), "a good end"),
        (json!({"phase": "Failed"}), "an end without a reason"),
        (failure_with("phase", json!("Running")), "a run with our reason"),
        (failure_with("phase", json!("Succeeded")), "a good end with our reason"),
        (failure_with("reason", json!("Evicted")), "an end with a reason of others"),
        (failure_with("podIP", json!("10.9.9.9")), "an end with an address"),
        (failure_with("startTime", json!("2020-01-01T00:00:00Z")), "an end with a start"),
    ] {
        scheduler.refused(Method::PATCH, &at, Some(&status(refused)), why).await?;
    }
    scheduler.expect(Method::PATCH, &at, Some(&status(failure())), 200, "the end of a pod that waits").await?;
    for (refused, why) in [
        (json!({"phase": "Pending"}), "a pod that has failed begins anew"),
        (json!({"phase": "Succeeded"}), "a pod that has failed ends well"),
        (json!({"message": "another"}), "another message for a pod that has failed"),
    ] {
        scheduler.refused(Method::PATCH, &at, Some(&status(refused)), why).await?;
    }
    Ok(())
}

type Attack = (Value, &'static str);

/// Pods that are no placeholders.
fn foreign_pods() -> Vec<Attack> {
    vec![
        (pod("foreign", &json!({})), "a pod that is no placeholder"),
        (pod("foreign", &json!({"gangline.dev/placeholder": "false"})), "a pod that says it is no placeholder"),
        (with(placeholder("bad"), "schedulerName", json!("default-scheduler")), "another scheduler's placeholder"),
        (with(placeholder("bad"), "nodeName", json!("n")), "a placeholder that is on a node already"),
        (with_container("image", json!("evil")), "another image"),
        (with_container("command", json!(["sh"])), "a command"),
        (with_container("args", json!(["-c", "evil"])), "arguments"),
        (with_container("ports", json!([{"containerPort": 1, "hostPort": 1}])), "a port of the node"),
        (
            with_container("livenessProbe", json!({"httpGet": {"host": "10.0.0.1", "port": 1}})),
            "a request by the kubelet",
        ),
    ]
}

/// Placeholders with more rights than a pod needs that does nothing. Refused whatever the chart's values say.
fn stolen_rights() -> Vec<Attack> {
    let privileged = json!({"securityContext": {"privileged": true}});
    let capable = json!({"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}});
    vec![
        (with(placeholder("bad"), "hostNetwork", json!(true)), "a placeholder in the host's network"),
        (with(placeholder("bad"), "hostPID", json!(true)), "a placeholder that sees the host's processes"),
        (with(placeholder("bad"), "hostIPC", json!(true)), "a placeholder that shares the host's memory"),
        (with(placeholder("bad"), "automountServiceAccountToken", json!(null)), "a placeholder with a token"),
        (with(placeholder("bad"), "serviceAccountName", json!("powerful")), "a placeholder with another account"),
        (with_container("securityContext", privileged["securityContext"].clone()), "a privileged placeholder"),
        (with_container("securityContext", capable["securityContext"].clone()), "a capability"),
        (with_sidecar("initContainers", &privileged), "a privileged init container"),
        (with_sidecar("initContainers", &capable), "an init container with a capability"),
        (with_sidecar("containers", &privileged), "a privileged sidecar"),
    ]
}

/// Placeholders that read what is not theirs. Refused whatever the chart's values say.
fn stolen_secrets() -> Vec<Attack> {
    let from_key = json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
    let from_secret = json!([{"secretRef": {"name": "s"}}]);
    let token = json!({"serviceAccountToken": {"path": "t"}});
    let projected = |source: Value| json!({"projected": {"sources": [source]}});
    vec![
        (with_container("env", from_key.clone()), "a secret's key in the environment"),
        (with_container("envFrom", from_secret.clone()), "a secret in the environment"),
        (with_sidecar("initContainers", &json!({"env": from_key})), "a secret's key in an init container"),
        (with_sidecar("containers", &json!({"envFrom": from_secret})), "a secret in a sidecar"),
        (with_volume(&json!({"hostPath": {"path": "/"}})), "the host's files"),
        (with_volume(&json!({"secret": {"secretName": "s"}})), "a secret"),
        (with_volume(&projected(token)), "a projected token"),
        (with_volume(&projected(json!({"secret": {"name": "s"}}))), "a projected secret"),
        (with_volume(&json!({"csi": {"driver": "secrets-store.csi.k8s.io"}})), "a driver's volume"),
        (with_volume(&json!({"persistentVolumeClaim": {"claimName": "c"}})), "a claim"),
    ]
}

/// What injectors add to pods. Refused unless the chart's values allow it.
fn injected() -> Vec<Attack> {
    vec![
        (with_sidecar("containers", &json!({"args": ["proxy"]})), "a sidecar"),
        (with_sidecar("initContainers", &json!({"restartPolicy": "Always"})), "a sidecar that starts first"),
        (with_container("env", json!([{"name": "A", "value": "b"}])), "a variable"),
        (with_volume(&json!({"emptyDir": {}})), "an empty directory"),
        (with_volume(&json!({"projected": {"sources": [{"configMap": {"name": "c"}}]}})), "a configuration"),
    ]
}

/// With `policies.allowInjected`: what injectors add is taken, what a thief wants still is not.
pub async fn injection_is_allowed_and_no_more(kubeconfig: &Path) -> Result<()> {
    let scheduler = Asker::new(kubeconfig, Some(SCHEDULER)).await?;
    let at = "/api/v1/namespaces/default/pods?dryRun=All";
    taken(&scheduler, at, &injected()[0].0).await?;
    for (pod, why) in injected() {
        scheduler.expect(Method::POST, at, Some(&pod), 201, why).await?;
    }
    for (pod, why) in foreign_pods().into_iter().chain(stolen_secrets()) {
        scheduler.refused(Method::POST, at, Some(&pod), why).await?;
    }
    // Without the account of another name, which is not there.
    for (pod, why) in stolen_rights().into_iter().filter(|(pod, _)| pod["spec"]["serviceAccountName"].is_null()) {
        scheduler.refused(Method::POST, at, Some(&pod), why).await?;
    }
    Ok(())
}

/// Who makes placeholders, too, where [`makers_are_let_in`] holds.
pub const MAKER: &str = "system:serviceaccount:other-system:other-gangline";

/// With `policies.placeholderMakers`: who is named there makes placeholders of the names that are served, and nobody else does.
pub async fn makers_are_let_in(kubeconfig: &Path) -> Result<()> {
    let maker = Asker::of_group(kubeconfig, MAKER, "system:masters").await?;
    let nobody = Asker::of_group(kubeconfig, "system:serviceaccount:other-system:default", "system:masters").await?;
    let at = "/api/v1/namespaces/default/pods?dryRun=All";
    taken(&maker, at, &placeholder("theirs")).await?;
    nobody
        .refused(Method::POST, at, Some(&placeholder("forged")), "a placeholder of somebody who is not named")
        .await?;
    let scheduler = Asker::new(kubeconfig, Some(SCHEDULER)).await?;
    scheduler.expect(Method::POST, at, Some(&placeholder("seat")), 201, "our placeholder beside theirs").await
}

/// With `policies.bindings`: Bindings bring what Gangline puts there, and what the API server adds (from 1.35 on: the
/// zone of the node, before policies judge).
pub async fn bindings_are_judged(kubeconfig: &Path) -> Result<()> {
    const NODES: &str = "/api/v1/nodes";
    let admin = Asker::new(kubeconfig, None).await?;
    let scheduler = Asker::new(kubeconfig, Some(SCHEDULER)).await?;
    let pods = "/api/v1/namespaces/default/pods";
    let zone: BTreeMap<_, _> = TOPOLOGY.into();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "in-a-zone", "labels": zone}});
    admin.expect(Method::POST, NODES, Some(&node), 201, "a node in a zone").await?;
    admin.expect(Method::POST, pods, Some(&pod("plain", &json!({}))), 201, "an ordinary pod").await?;
    let plain = format!("{pods}/plain");
    let at = format!("{plain}/binding");
    let label = binding("plain", "in-a-zone", &json!({"labels": {"team": "b"}}));
    refused_in_the_end(&scheduler, Method::POST, &format!("{at}?dryRun=All"), Some(&label)).await?;
    let annotation = binding("plain", "in-a-zone", &json!({"annotations": {"k8s.v1.cni.cncf.io/networks": "x"}}));
    scheduler.refused(Method::POST, &at, Some(&annotation), "an annotation by way of a Binding").await?;
    scheduler.expect(Method::POST, &at, Some(&ours("in-a-zone")), 201, "a Binding to a node in a zone").await?;
    admin.expect(Method::DELETE, &format!("{plain}?gracePeriodSeconds=0"), None, 200, "the pod deleted").await?;
    admin.expect(Method::DELETE, &format!("{NODES}/in-a-zone"), None, 200, "the node deleted").await
}

/// Waits until a pod is taken that the policy before refused.
pub async fn taken(asker: &Asker, at: &str, pod: &Value) -> Result<()> {
    let began = Instant::now();
    loop {
        match asker.ask(Method::POST, at, Some(pod)).await? {
            (201, _) => return Ok(()),
            (code, said) if began.elapsed() > IN_FORCE => {
                return Err(Error::new(format!("{pod} by {} is not taken: {code} {said}", asker.user)));
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
