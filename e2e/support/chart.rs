//! The chart, tried: rendered, installed, upgraded, uninstalled. Its admission policies: `policies.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use http::Method;

use super::error::{During, Error, Result};
use super::policies::Asker;

/// Release and namespace of `manifests/` and of the trial installation.
const RELEASE: &str = "gangline";
pub const NAMESPACE: &str = "gangline-system";

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
        ("policies.selfRestraint=false,policies.antiForgery=false", "name: gangline-binding-labels"),
        ("crds.install=false", "kind: CustomResourceDefinition"),
        ("crds.keep=false", "helm.sh/resource-policy: keep"),
        ("rbac.create=false", "kind: ClusterRoleBinding"),
        ("rbac.aggregate=false", "rbac.authorization.k8s.io/aggregate-to"),
        ("serviceAccount.create=false,serviceAccount.name=other", "kind: ServiceAccount\nmetadata"),
        ("service.create=false", "kind: Service\n"),
        ("config.leaderElection.enabled=false,replicas=1", "kind: RoleBinding\n"),
        ("config.leaderElection.enabled=false,replicas=1", "type: RollingUpdate"),
        ("config.http.address=[::]:9090", "containerPort: 8080"),
    ] {
        if !render(program, &[])?.contains(gone) {
            return Err(Error::new(format!("the default does not contain `{gone}`")));
        }
        if render(program, &["--set", set])?.contains(gone) {
            return Err(Error::new(format!("--set {set} leaves `{gone}`")));
        }
    }
    values_arrive(program)?;
    for set in [
        "replica=2",
        "config.leaderElection.enabled=false",
        "policies.selfrestraint=false",
        "config.log.format=loud",
        "image.digest=sha256:1",
    ] {
        if render(program, &["--set", set]).is_ok() {
            return Err(Error::new(format!("--set {set} is accepted")));
        }
    }
    Ok(())
}

/// Every other value is found in what is rendered, and only where it is set.
fn values_arrive(program: &Path) -> Result<()> {
    // Either of the two policies needs it.
    for set in ["policies.selfRestraint=false", "policies.antiForgery=false"] {
        if !render(program, &["--set", set])?.contains("name: gangline-binding-labels") {
            return Err(Error::new(format!("--set {set} takes the policy of Bindings away")));
        }
    }
    let default = render(program, &[])?;
    for (set, there) in [
        ("image.registry=r.example,image.tag=v7", "image: \"r.example/gangline:v7\""),
        (&*format!("image.digest=sha256:{}", "a".repeat(64)), "image: \"gangline@sha256:aaaa"),
        ("config.schedulerNames={one,two}", r#"in ["one","two"]"#),
        ("config.placeholderImage=r.example/pause:3", r#"== "r.example/pause:3""#),
        ("config.ignoreForeignMarkers=true", "ignoreForeignMarkers: true"),
        ("config.maxPlaceholders=7", "maxPlaceholders: 7"),
        ("replicas=3", "replicas: 3"),
        ("config.leaderElection.leaseDurationSeconds=30", "leaseDurationSeconds: 30"),
        ("config.schedulerNames={one,two}", r#"resourceNames: ["one","two"]"#),
        ("policies.allowInjected=true", "has(volume.emptyDir)"),
        ("policies.bindings=true", "name: gangline-bindings"),
        ("serviceAccount.name=other", "system:serviceaccount:gangline-system:other"),
        ("serviceAccount.annotations.role=r", "role: r"),
        ("nameOverride=another", "app.kubernetes.io/name: another"),
        ("fullnameOverride=mine", "name: mine-anti-forgery"),
        ("commonLabels.team=a", "team: a"),
        ("image.pullPolicy=Always", "imagePullPolicy: Always"),
        ("imagePullSecrets[0].name=registry-key", "name: registry-key"),
        ("config.log.level=debug", "level: debug"),
        ("config.log.format=text", "format: text"),
        ("service.port=81", "port: 81"),
        ("service.annotations.scrape=yes", "scrape: \"yes\""),
        ("resources.limits.memory=3Gi", "memory: 3Gi"),
        ("priorityClassName=high", "priorityClassName: high"),
        ("nodeSelector.disk=ssd", "disk: ssd"),
        ("tolerations[0].key=only", "key: only"),
        ("affinity.nodeAffinity.x=kept", "x: kept"),
        ("podLabels.pod=l", "pod: l"),
        ("podAnnotations.note=kept", "note: kept"),
        ("revisionHistoryLimit=7", "revisionHistoryLimit: 7"),
        ("terminationGracePeriodSeconds=7", "terminationGracePeriodSeconds: 7"),
        ("podSecurityContext.runAsUser=7", "runAsUser: 7"),
        ("securityContext.runAsUser=8", "runAsUser: 8"),
        ("extraArgs={--log-level=debug}", "--log-level=debug"),
        ("extraEnv[0].name=PROXY,extraEnv[0].value=b", "name: PROXY"),
    ] {
        if default.contains(there) {
            return Err(Error::new(format!("the default contains `{there}` already: it proves nothing of {set}")));
        }
        if !render(program, &["--set", set])?.contains(there) {
            return Err(Error::new(format!("--set {set} does not give `{there}`")));
        }
    }
    Ok(())
}

/// Installs the chart. The pod itself needs an image and a kubelet, so that nothing is waited for.
pub fn install(program: &Path, kubeconfig: &Path) -> Result<()> {
    release(program, kubeconfig, &["install", RELEASE, "charts/gangline", "--create-namespace"])
}

/// Upgrades the release to its default values but for these.
pub fn upgrade_to(program: &Path, kubeconfig: &Path, set: &str) -> Result<()> {
    release(program, kubeconfig, &["upgrade", RELEASE, "charts/gangline", "--set", set])
}

/// Upgrades the release to a chart whose policies let webhooks add to placeholders, and judge Bindings.
pub fn other_policies(program: &Path, kubeconfig: &Path) -> Result<()> {
    let set = "policies.allowInjected=true,policies.bindings=true";
    release(program, kubeconfig, &["upgrade", RELEASE, "charts/gangline", "--set", set])
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
