//! A stand-in of `spark-submit`, which the operator runs: it makes of the operator's `--conf` and pod template what Spark's
//! makes of them in cluster mode, and nothing else: a driver pod, and a ConfigMap with what the driver is to know.
//! There is no Java, and no Spark runs in the driver either: a test does what it would do (`driver.rs`).

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::conf::Conf;
use crate::support::error::{During, Error, Result};
use crate::support::kubeconfig;
use crate::support::objects::Objects;

/// Where a driver finds the configuration, and the template of its executors.
pub(super) const PROPERTIES: &str = "spark.properties";
pub(super) const TEMPLATE: &str = "pod-spec-template.yml";

/// Name of the ConfigMap of a driver.
pub(super) fn conf_map(driver: &str) -> String {
    format!("{driver}-conf-map")
}

/// Runs it with the arguments of this process.
pub(crate) fn main() -> ExitCode {
    let made = tokio::runtime::Runtime::new().during("starting the runtime").and_then(|runtime| {
        let conf = Conf::from_arguments(std::env::args());
        runtime.block_on(submit(&conf))
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn submit(conf: &Conf) -> Result<()> {
    // As Spark names an application; the operator leaves that to it.
    let application = format!("spark-{}", random()?);
    let name = conf.get("spark.kubernetes.driver.pod.name")?;
    let driver = conf.pod("driver", template(conf, "driver")?, &application, name)?;
    let executors = serde_saphyr::to_string(&template(conf, "executor")?).during("writing a template")?;
    let kubeconfig = std::env::var_os("KUBECONFIG").ok_or_else(|| Error::new("the operator has no KUBECONFIG"))?;
    let client = kubeconfig::client(Path::new(&kubeconfig)).await?;
    let namespace = conf.get("spark.kubernetes.namespace")?;
    let driver = Objects::<Pod>::of(&client, namespace).create(driver).await?;
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": driver.name_any(), "uid": driver.metadata.uid,
                       "controller": true});
    let map = json!({"metadata": {"name": conf_map(name), "ownerReferences": [owner]},
                     "data": {PROPERTIES: conf.to_text(), TEMPLATE: executors}});
    Objects::<ConfigMap>::of(&client, namespace).create(map).await.map(drop)
}

/// The template of a role that the operator has written.
fn template(conf: &Conf, role: &str) -> Result<Value> {
    let file = conf.get(&format!("spark.kubernetes.{role}.podTemplateFile"))?;
    let text = fs::read_to_string(file).during(format!("reading {file}"))?;
    serde_saphyr::from_str(&text).during(format!("reading {file}"))
}

fn random() -> Result<String> {
    let (mut bytes, step) = ([0_u8; 16], "reading random bytes");
    File::open("/dev/urandom").during(step)?.read_exact(&mut bytes).during(step)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
