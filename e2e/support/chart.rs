//! The chart, tried: rendered, installed, upgraded, uninstalled. Its values: `values.rs`; its admission policies:
//! `policies.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;

use super::error::{During, Error, Result};
use super::objects::Objects;
use super::policies::{Asker, MAKER};

/// Release of `manifests/` and of the trial installation.
pub const RELEASE: &str = "gangline";
/// Namespace of both.
pub const NAMESPACE: &str = "gangline-system";
/// Release and namespace of a second installation beside that.
pub const ANOTHER: (&str, &str) = ("trial", "trial-system");
/// The chart, from the root of the repository.
pub const CHART: &str = "charts/gangline";

/// How long what a release leaves may take to be gone, with all that is in it.
const REMOVED_WITHIN: Duration = Duration::from_secs(120);

/// Values with which everything is there that can be.
pub const EVERYTHING: &str = "e2e/chart/everything.yaml";

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

/// `helm lint`, warnings included, with the default values and with everything switched on.
pub fn lint(program: &Path) -> Result<()> {
    helm(program, &["lint", "--strict", CHART])?;
    helm(program, &["lint", "--strict", CHART, "--values", EVERYTHING]).map(drop)
}

/// All that the chart gives, hooks included.
pub fn render(program: &Path, options: &[&str]) -> Result<String> {
    helm(program, &[&["template", RELEASE, CHART, "--namespace", NAMESPACE], options].concat())
}

/// What `manifests/gangline.yaml` must be: the namespace, then the rendered chart. Hooks are helm's: applied by hand they
/// would run at once.
fn rendered_manifests(program: &Path) -> Result<String> {
    let chart = render(program, &["--no-hooks"])?;
    Ok(format!(
        "# Generated from charts/gangline by `make chart`: what `helm template --no-hooks` gives with the default values.\n\
         apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n  labels:\n    \
         pod-security.kubernetes.io/enforce: restricted\n{chart}"
    ))
}

/// Writes `manifests/` anew.
pub fn write_manifests(program: &Path) -> Result<()> {
    fs::write(manifests(), rendered_manifests(program)?).during(format!("writing {}", manifests().display()))
}

/// `manifests/` is what the chart gives.
pub fn manifests_are_current(program: &Path) -> Result<()> {
    let found = fs::read_to_string(manifests()).during(format!("reading {}", manifests().display()))?;
    let wanted = rendered_manifests(program)?;
    match found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted) {
        None if found == wanted => Ok(()),
        line => {
            Err(Error::new(format!("manifests/gangline.yaml differs from the chart at {line:?}: run `make chart`")))
        }
    }
}

/// Installs the chart. The pod itself needs an image and a kubelet, so that nothing is waited for.
pub fn install(program: &Path, kubeconfig: &Path) -> Result<()> {
    install_with(program, kubeconfig, CHART, &[])
}

/// Installs a chart with these options.
pub fn install_with(program: &Path, kubeconfig: &Path, chart: &str, options: &[&str]) -> Result<()> {
    release(program, kubeconfig, &[&["install", RELEASE, chart, "--create-namespace"], options].concat()).map(drop)
}

/// Upgrades the release to a chart whose policies let webhooks add to placeholders and another account make some, and judge
/// Bindings.
pub fn other_policies(program: &Path, kubeconfig: &Path) -> Result<()> {
    let set = format!("policies.allowInjected=true,policies.bindings=true,policies.placeholderMakers={{{MAKER}}}");
    upgrade_with(program, kubeconfig, &["--set", &set])
}

/// Upgrades the release to the chart with these options.
pub fn upgrade_with(program: &Path, kubeconfig: &Path, options: &[&str]) -> Result<()> {
    release(program, kubeconfig, &[&["upgrade", RELEASE, CHART], options].concat()).map(drop)
}

/// Takes upgrades back: to this revision of the release.
pub fn roll_back(program: &Path, kubeconfig: &Path, revision: &str) -> Result<()> {
    release(program, kubeconfig, &["rollback", RELEASE, revision]).map(drop)
}

/// Upgrades the release and takes the upgrade back.
pub fn upgrade(program: &Path, kubeconfig: &Path) -> Result<()> {
    upgrade_with(program, kubeconfig, &["--set", "config.log.level=debug"])?;
    roll_back(program, kubeconfig, "1")
}

/// Installs a second release of the chart with these options, in a namespace of its own.
pub fn install_another(program: &Path, kubeconfig: &Path, options: &[&str]) -> Result<()> {
    let arguments = [&["install", ANOTHER.0, CHART, "--create-namespace"], options].concat();
    release_in(program, kubeconfig, ANOTHER.1, &arguments).map(drop)
}

/// Upgrades the second release to the chart with these options.
pub fn upgrade_another(program: &Path, kubeconfig: &Path, options: &[&str]) -> Result<()> {
    release_in(program, kubeconfig, ANOTHER.1, &[&["upgrade", ANOTHER.0, CHART], options].concat()).map(drop)
}

/// What helm said at the end of the installation.
pub fn notes(program: &Path, kubeconfig: &Path) -> Result<String> {
    release(program, kubeconfig, &["get", "notes", RELEASE])
}

/// Uninstalls the release, with these options. It waits for the hook's Job, unless these say otherwise.
pub fn uninstall_with(program: &Path, kubeconfig: &Path, options: &[&str]) -> Result<()> {
    release(program, kubeconfig, &[&["uninstall", RELEASE], options].concat()).map(drop)
}

/// Uninstalls the release, without its hook, which needs a node. The definitions stay, and with them every TaskGroup and
/// Queue.
pub async fn uninstall(program: &Path, kubeconfig: &Path) -> Result<()> {
    uninstall_with(program, kubeconfig, &["--no-hooks"])?;
    let admin = Asker::new(kubeconfig, None).await?;
    for plural in ["taskgroups", "queues"] {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.gangline.dev");
        admin.expect(Method::GET, &path, None, 200, "the definitions are kept").await?;
    }
    Ok(())
}

/// Removes the release and what it leaves: the definitions with all TaskGroups and Queues, and its namespace.
pub async fn remove(program: &Path, client: &Client, kubeconfig: &Path) -> Result<()> {
    uninstall_with(program, kubeconfig, &["--ignore-not-found", "--wait", "--timeout", "5m"])?;
    let definitions = Objects::<CustomResourceDefinition>::all(client).within(REMOVED_WITHIN);
    for name in ["taskgroups.gangline.dev", "queues.gangline.dev"] {
        if definitions.get(name).await?.is_some() {
            definitions.delete(name).await?;
            definitions.wait_gone(name).await?;
        }
    }
    let namespaces = Objects::<Namespace>::all(client).within(REMOVED_WITHIN);
    if namespaces.get(NAMESPACE).await?.is_some() {
        namespaces.delete(NAMESPACE).await?;
        namespaces.wait_gone(NAMESPACE).await?;
    }
    Ok(())
}

fn release(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
    release_in(program, kubeconfig, NAMESPACE, arguments)
}

fn release_in(program: &Path, kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Result<String> {
    let kubeconfig = kubeconfig.to_str().ok_or_else(|| Error::new("the path of the kubeconfig is not UTF-8"))?;
    helm(program, &[arguments, &["--namespace", namespace, "--kubeconfig", kubeconfig]].concat())
}
