//! The chart, tried: rendered, installed, upgraded, and its admission policies attacked on a real API server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::error::{During, Error, Result};

/// Release and namespace of `manifests/` and of the trial installation.
const RELEASE: &str = "gangline";
const NAMESPACE: &str = "gangline-system";
/// The user that the API server sees in the scheduler's requests.
const SCHEDULER: &str = "system:serviceaccount:gangline-system:gangline";
/// A controller that creates whatever pods a user's template says.
const REPLICA_SETS: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Policies are in force once the API server's own watch has seen them; that takes about a second.
const IN_FORCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn manifests() -> PathBuf {
    root().join("manifests/gangline.yaml")
}

/// Runs helm with its own directories, so that nothing of the person at the keyboard matters.
fn helm(helm: &Path, arguments: &[&str]) -> Result<String> {
    let step = format!("helm {}", arguments.join(" "));
    let home = tempfile::tempdir().during(&step)?;
    let mut command = Command::new(helm);
    command.args(arguments).current_dir(root()).env_remove("KUBECONFIG").env_remove("HELM_NAMESPACE");
    for directory in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(directory, home.path());
    }
    let output = command.output().during(&step)?;
    if output.status.success() {
        return String::from_utf8(output.stdout).during(&step);
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Err(Error::new(format!("{step}: {}\n{}", output.status, said.join("\n").trim())))
}

/// `helm lint`, warnings included.
pub fn lint(program: &Path) -> Result<()> {
    helm(program, &["lint", "--strict", "charts/gangline"]).map(drop)
}

/// What `manifests/gangline.yaml` must be: the namespace, then the rendered chart.
pub fn render(program: &Path, options: &[&str]) -> Result<String> {
    let chart =
        helm(program, &[&["template", RELEASE, "charts/gangline", "--namespace", NAMESPACE], options].concat())?;
    Ok(format!(
        "# Generated from charts/gangline by `make chart`: what `helm template` gives with the default values.\n\
         apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n  labels:\n    \
         pod-security.kubernetes.io/enforce: restricted\n{chart}"
    ))
}

/// Writes `manifests/` anew.
pub fn write_manifests(program: &Path) -> Result<()> {
    fs::write(manifests(), render(program, &[])?).during(format!("writing {}", manifests().display()))
}

/// `manifests/` is what the chart gives.
pub fn manifests_are_current(program: &Path) -> Result<()> {
    let found = fs::read_to_string(manifests()).during(format!("reading {}", manifests().display()))?;
    let wanted = render(program, &[])?;
    match found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted) {
        None if found == wanted => Ok(()),
        line => {
            Err(Error::new(format!("manifests/gangline.yaml differs from the chart at {line:?}: run `make chart`")))
        }
    }
}

/// Every switch of the chart switches, and a misspelt value is refused.
pub fn values_are_honoured(program: &Path) -> Result<()> {
    for (set, gone) in [
        ("policies.selfRestraint=false", "name: gangline-self-restraint"),
        ("policies.antiForgery=false", "name: gangline-anti-forgery"),
        ("crds.install=false", "kind: CustomResourceDefinition"),
        ("crds.keep=false", "helm.sh/resource-policy: keep"),
        ("rbac.create=false", "kind: ClusterRoleBinding"),
        ("rbac.aggregate=false", "rbac.authorization.k8s.io/aggregate-to"),
        ("serviceAccount.create=false,serviceAccount.name=other", "kind: ServiceAccount\nmetadata"),
        ("service.create=false", "kind: Service\n"),
        ("config.http.address=[::]:9090", "containerPort: 8080"),
    ] {
        if !render(program, &[])?.contains(gone) {
            return Err(Error::new(format!("the default does not contain `{gone}`")));
        }
        if render(program, &["--set", set])?.contains(gone) {
            return Err(Error::new(format!("--set {set} leaves `{gone}`")));
        }
    }
    for (set, there) in [
        ("image.registry=r.example,image.tag=v7", "image: \"r.example/gangline:v7\""),
        (&*format!("image.digest=sha256:{}", "a".repeat(64)), "image: \"gangline@sha256:aaaa"),
        ("config.schedulerNames={one,two}", r#"in ["one","two"]"#),
        ("serviceAccount.name=other", "system:serviceaccount:gangline-system:other"),
    ] {
        if !render(program, &["--set", set])?.contains(there) {
            return Err(Error::new(format!("--set {set} does not give `{there}`")));
        }
    }
    for set in ["replicas=2", "policies.selfrestraint=false", "config.log.format=loud", "image.digest=sha256:1"] {
        if render(program, &["--set", set]).is_ok() {
            return Err(Error::new(format!("--set {set} is accepted")));
        }
    }
    Ok(())
}

/// Installs the chart. The pod itself needs an image and a kubelet, so that nothing is waited for.
pub fn install(program: &Path, kubeconfig: &Path) -> Result<()> {
    release(program, kubeconfig, &["install", RELEASE, "charts/gangline", "--create-namespace"])
}

/// Upgrades the release and takes the upgrade back.
pub fn upgrade(program: &Path, kubeconfig: &Path) -> Result<()> {
    release(program, kubeconfig, &["upgrade", RELEASE, "charts/gangline", "--set", "config.log.level=debug"])?;
    release(program, kubeconfig, &["rollback", RELEASE, "1"])
}

/// Uninstalls the release. The definitions stay, and with them every TaskGroup and Queue.
pub async fn uninstall(program: &Path, kubeconfig: &Path) -> Result<()> {
    release(program, kubeconfig, &["uninstall", RELEASE])?;
    let admin = Asker::new(kubeconfig, None).await?;
    for plural in ["taskgroups", "queues"] {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.gangline.dev");
        admin.expect(Method::GET, &path, None, 200, "the definitions are kept").await?;
    }
    Ok(())
}

fn release(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Result<()> {
    let kubeconfig = kubeconfig.to_str().ok_or_else(|| Error::new("the path of the kubeconfig is not UTF-8"))?;
    helm(program, &[arguments, &["--namespace", NAMESPACE, "--kubeconfig", kubeconfig]].concat()).map(drop)
}

/// Sends requests as one user.
struct Asker {
    client: Client,
    user: String,
}

impl Asker {
    /// As the kubeconfig's own user, or as another one in its name.
    async fn new(kubeconfig: &Path, user: Option<&str>) -> Result<Self> {
        let step = format!("making a client from {}", kubeconfig.display());
        let file = Kubeconfig::read_from(kubeconfig).during(&step)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.during(&step)?;
        config.default_retry = false;
        config.auth_info.impersonate = user.map(str::to_owned);
        let client = Client::try_from(config).during(&step)?;
        Ok(Self { client, user: user.unwrap_or("the administrator").to_owned() })
    }

    /// Status code and body of a request.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, String)> {
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
    async fn expect(&self, method: Method, path: &str, body: Option<&Value>, code: u16, why: &str) -> Result<()> {
        let (found, said) = self.ask(method.clone(), path, body).await?;
        if found == code {
            return Ok(());
        }
        Err(Error::new(format!("{why}: {method} {path} by {} gave {found}, not {code}: {said}", self.user)))
    }
}

const PODS: &str = "/api/v1/namespaces/chart-check/pods";

/// A pod of our scheduler with these labels.
fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedulerName": "gangline", "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": "pause"}],
        },
    })
}

fn placeholder(name: &str) -> Value {
    pod(name, &json!({"gangline.dev/placeholder": "true", "gangline.dev/task-group": "a", "gangline.dev/seat": "0"}))
}

/// A pod with one more field of its spec.
fn with(mut pod: Value, field: &str, value: Value) -> Value {
    pod["spec"][field] = value;
    pod
}

fn binding(name: &str, node: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "labels": labels},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    })
}

fn labels(labels: &Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

/// Attacks the policies of an installed chart, and does what must go on as if they were not there.
pub async fn policies_hold(kubeconfig: &Path) -> Result<()> {
    let admin = Asker::new(kubeconfig, None).await?;
    let scheduler = Asker::new(kubeconfig, Some(SCHEDULER)).await?;
    let controller = Asker::new(kubeconfig, Some(REPLICA_SETS)).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "chart-check"}});
    admin.expect(Method::POST, "/api/v1/namespaces", Some(&namespace), 201, "a namespace").await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    // The controller may have made it already.
    admin.ask(Method::POST, "/api/v1/namespaces/chart-check/serviceaccounts", Some(&account)).await?;
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
    the_scheduler_is_restrained(scheduler).await
}

/// Waits until a pod is refused that a policy must refuse.
async fn in_force(asker: &Asker, pod: &Value) -> Result<()> {
    let began = Instant::now();
    loop {
        let (code, said) = asker.ask(Method::POST, &format!("{PODS}?dryRun=All"), Some(pod)).await?;
        if code == 403 && said.contains("ValidatingAdmissionPolicy") {
            return Ok(());
        }
        if began.elapsed() > IN_FORCE {
            return Err(Error::new(format!("no policy refuses {pod} by {}: {code} {said}", asker.user)));
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
    let bind = binding("plain", "n", &json!({"gangline.dev/placeholder": "true"}));
    admin.expect(Method::PATCH, &plain, Some(&add), 403, "the label added").await?;
    admin.expect(Method::PATCH, &plain_status, Some(&add), 403, "the label added by way of the status").await?;
    admin.expect(Method::POST, &format!("{plain}/binding"), Some(&bind), 403, "the label added by a Binding").await?;
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
    admin.expect(Method::DELETE, &format!("{seat}?gracePeriodSeconds=0"), None, 200, "anybody's deletion").await
}

async fn the_scheduler_is_restrained(scheduler: &Asker) -> Result<()> {
    for (pod, why) in [
        (pod("foreign", &json!({})), "a pod that is no placeholder"),
        (pod("foreign", &json!({"gangline.dev/placeholder": "false"})), "a pod that says it is no placeholder"),
        (with(placeholder("bad"), "schedulerName", json!("default-scheduler")), "another scheduler's placeholder"),
        (with(placeholder("bad"), "hostNetwork", json!(true)), "a placeholder in the host's network"),
        (with(placeholder("bad"), "hostPID", json!(true)), "a placeholder that sees the host's processes"),
        (with(placeholder("bad"), "nodeName", json!("n")), "a placeholder that is on a node already"),
        (with(placeholder("bad"), "automountServiceAccountToken", json!(null)), "a placeholder with a token"),
        (with(placeholder("bad"), "volumes", json!([{"name": "v", "hostPath": {"path": "/"}}])), "the host's files"),
        (with(placeholder("bad"), "volumes", json!([{"name": "v", "secret": {"secretName": "s"}}])), "a secret"),
    ] {
        scheduler.expect(Method::POST, PODS, Some(&pod), 403, why).await?;
    }
    let (plain, seat) = (format!("{PODS}/plain"), format!("{PODS}/seat2"));
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "WaitingForMembers"});
    let status = json!({"status": {"conditions": [condition]}});
    let relabel = labels(&json!({"team": "b"}));
    let annotate = json!({"metadata": {"annotations": {"a": "b"}}});
    scheduler.expect(Method::DELETE, &plain, None, 403, "an ordinary pod deleted").await?;
    let at = format!("{plain}/status");
    scheduler.expect(Method::PATCH, &at, Some(&relabel), 403, "a label by way of the status").await?;
    scheduler.expect(Method::PATCH, &at, Some(&annotate), 403, "an annotation by way of the status").await?;
    scheduler.expect(Method::PATCH, &at, Some(&status), 200, "a condition").await?;
    let at = format!("{plain}/binding");
    scheduler.expect(Method::POST, &at, Some(&binding("plain", "n", &json!({}))), 201, "a Binding").await?;
    scheduler.expect(Method::POST, PODS, Some(&placeholder("seat2")), 201, "a placeholder").await?;
    scheduler.expect(Method::PATCH, &seat, Some(&relabel), 403, "RBAC: no change of a pod itself").await?;
    scheduler.expect(Method::DELETE, &seat, None, 200, "a placeholder deleted").await
}
