//! Applies YAML of any kind, and installs what Gangline ships but for its Deployment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::error::{During, Error, Result};
use super::kubeconfig;
use super::objects::wait_untyped;
use super::tools::Program;

/// How long a new kind may take to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(20);

/// How often discovery is asked for a kind that has just been defined.
const POLL: Duration = Duration::from_millis(100);

/// How long removed objects may take to be gone: kinds and namespaces take what is of them along.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// Owner of the fields that are applied.
const MANAGER: &str = "gangline-lab";

/// Validity of the tokens made: longer than any run.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// Installs the kinds (`crds/`) and everything of `manifests/gangline.yaml` but the Deployment: the program under test
/// runs beside the control plane, with the rights of the shipped ServiceAccount.
pub async fn install(client: &Client, root: &Path) -> Result<Installed> {
    install_without(client, root, &["Deployment"]).await
}

/// The same without the objects of some kinds.
pub async fn install_without(client: &Client, root: &Path, leave_out: &[&str]) -> Result<Installed> {
    let mut documents: Vec<Value> = Vec::new();
    for file in yaml_files(&root.join("crds"))?.into_iter().chain([root.join("manifests/gangline.yaml")]) {
        documents.extend(serde_saphyr::from_multiple::<Value>(&read(&file)?).during("reading YAML")?);
    }
    documents.retain(|object| !object.is_null() && !leave_out.iter().any(|kind| object["kind"] == *kind));
    let mut installed = Installed::default();
    for document in documents {
        let (api, object) = resolve(client, document, "default").await?;
        let step = format!("looking for {}", object.name_any());
        if api.get_opt(&object.name_any()).await.during(step)?.is_none() {
            installed.0.push((api.clone(), object.name_any()));
        }
        apply_to(&api, &object).await?;
    }
    Ok(installed)
}

/// What an installation made; what was there before it stays.
#[derive(Clone, Debug, Default)]
pub struct Installed(Vec<(Api<DynamicObject>, String)>);

impl Installed {
    /// Removes it, the last first, and waits until it is gone. With the kinds go all objects of them.
    pub async fn remove(self) -> Result<()> {
        for (api, name) in self.0.iter().rev() {
            // What was in a namespace went with it.
            if api.get_opt(name).await.during(format!("looking for {name}"))?.is_some() {
                api.delete(name, &DeleteParams::default()).await.during(format!("deleting {name}"))?;
            }
        }
        for (api, name) in &self.0 {
            let give_up = Instant::now() + GONE_WITHIN;
            while api.get_opt(name).await.during(format!("looking for {name}"))?.is_some() {
                if Instant::now() > give_up {
                    return Err(Error::new(format!("{name} is still there")));
                }
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }
}

/// Applies every document of a YAML text (server side, taking over fields), except those of the kinds left out. Objects
/// without a namespace go to `namespace`. A new kind is waited for until it is served.
pub async fn apply(client: &Client, yaml: &str, namespace: &str, leave_out: &[&str]) -> Result<Vec<DynamicObject>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).during("reading YAML")?;
    apply_objects(client, documents, namespace, leave_out).await
}

/// Applies objects as [`apply`] does.
pub async fn apply_objects(
    client: &Client,
    objects: Vec<Value>,
    namespace: &str,
    leave_out: &[&str],
) -> Result<Vec<DynamicObject>> {
    let mut applied = Vec::new();
    for document in objects.into_iter().filter(|object| !object.is_null()) {
        let kind = document["kind"].as_str().unwrap_or_default();
        if !leave_out.contains(&kind) {
            applied.push(apply_one(client, document, namespace).await?);
        }
    }
    Ok(applied)
}

/// Defines those kinds of a module that are wanted, by the names of the files that define them.
pub async fn install_kinds(client: &Client, program: Program, wanted: &[String]) -> Result<()> {
    for file in program.kept_files()? {
        let is_wanted = file.file_stem().is_some_and(|stem| wanted.iter().any(|wanted| stem == wanted.as_str()));
        if is_wanted {
            apply(client, &read(&file)?, "default", &[]).await?;
        }
    }
    Ok(())
}

/// Whether the API server would take every document of a YAML text, with no field that it does not know; nothing is kept.
/// How many there are.
pub async fn would_be_taken(client: &Client, yaml: &str, namespace: &str) -> Result<usize> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).during("reading YAML")?;
    let documents: Vec<Value> = documents.into_iter().filter(|object| !object.is_null()).collect();
    let params = PatchParams::apply(MANAGER).force().dry_run().validation_strict();
    let count = documents.len();
    for document in documents {
        let (api, object) = resolve(client, document, namespace).await?;
        let kind = object.types.as_ref().map_or("", |types| &types.kind);
        let step = format!("applying {kind} {} strictly", object.name_any());
        api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await.during(step)?;
    }
    Ok(count)
}

async fn apply_one(client: &Client, document: Value, namespace: &str) -> Result<DynamicObject> {
    let (api, object) = resolve(client, document, namespace).await?;
    apply_to(&api, &object).await
}

/// An object, and where objects of its kind and namespace are.
async fn resolve(client: &Client, document: Value, namespace: &str) -> Result<(Api<DynamicObject>, DynamicObject)> {
    let mut object: DynamicObject = serde_json::from_value(document).during("reading an object")?;
    let (kind, capabilities) = served(client, &object).await?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &kind),
        Scope::Namespaced => {
            let namespace = object.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
            Api::namespaced_with(client.clone(), namespace, &kind)
        }
    };
    Ok((api, object))
}

async fn apply_to(api: &Api<DynamicObject>, object: &DynamicObject) -> Result<DynamicObject> {
    let kind = object.types.as_ref().map_or("", |types| &types.kind);
    let step = format!("applying {kind} {}", object.name_any());
    let params = PatchParams::apply(MANAGER).force();
    let applied = api.patch(&object.name_any(), &params, &Patch::Apply(object)).await.during(&step)?;
    if kind == "CustomResourceDefinition" {
        let name = applied.name_any();
        wait_untyped(api, &name, SERVED_WITHIN, "is served", &is_established).await?;
    }
    Ok(applied)
}

fn is_established(definition: &DynamicObject) -> bool {
    let conditions = definition.data["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Established" && one["status"] == "True"))
}

/// The resource of an object's kind. Discovery lags behind a new definition.
async fn served(client: &Client, object: &DynamicObject) -> Result<(ApiResource, ApiCapabilities)> {
    let types = object.types.as_ref().ok_or_else(|| Error::new("an object without apiVersion and kind"))?;
    let kind = GroupVersionKind::try_from(types).during("reading an object's kind")?;
    let give_up = Instant::now() + SERVED_WITHIN;
    loop {
        match pinned_kind(client, &kind).await {
            Ok(found) => return Ok(found),
            // Kubernetes' own are there from the beginning.
            Err(_) if kind.group.contains('.') && !kind.group.ends_with("k8s.io") && Instant::now() < give_up => {
                tokio::time::sleep(POLL).await
            }
            Err(error) => return Err(error).during(format!("looking up {} {}", types.api_version, types.kind)),
        }
    }
}

/// Writes a kubeconfig that holds a token of a ServiceAccount, for the same server as `admin`'s.
pub async fn service_account_kubeconfig(
    client: &Client,
    admin: &Path,
    (namespace, account): (&str, &str),
    target: &Path,
) -> Result<()> {
    let step = format!("requesting a token of {namespace}/{account}");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let answer = accounts.create_token_request(account, &PostParams::default(), &request).await.during(&step)?;
    let token = answer.status.and_then(|status| status.token).ok_or_else(|| Error::new(format!("{step}: no token")))?;
    kubeconfig::write(target, &kubeconfig::server(admin)?, account, &token, namespace)
}

fn yaml_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let step = format!("listing {}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).during(&step)? {
        files.push(entry.during(&step)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(format!("reading {}", path.display()))
}
