//! What a driver of Spark does of which a scheduler sees something: it makes executors, and deletes those that it needs no more.

use std::ops::Range;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::conf::Conf;
use super::submit::{PROPERTIES, TEMPLATE, conf_map};
use crate::harness::Context;
use crate::harness::words::label;
use crate::support::error::{During, Result};

/// A driver pod that runs, and what it was told.
pub(super) struct Driver<'a> {
    t: &'a Context,
    pod: Pod,
    conf: Conf,
    template: Value,
}

impl<'a> Driver<'a> {
    /// Begins to do the work of a driver pod.
    pub(super) async fn of(t: &'a Context, pod: Pod) -> Result<Self> {
        let map = t.objects::<ConfigMap>().wait(&conf_map(&pod.name_any()), "is there", |_| true).await?;
        let data = map.data.unwrap_or_default();
        let text = |key: &str| data.get(key).map_or("", String::as_str);
        let template = serde_saphyr::from_str(text(TEMPLATE)).during("reading the template of executors")?;
        Ok(Self { t, pod, conf: Conf::from_text(text(PROPERTIES))?, template })
    }

    /// Makes executors of these numbers.
    pub(super) async fn make(&self, numbers: Range<u32>) -> Result<()> {
        for number in numbers {
            let application = label(&self.pod, "spark-app-selector");
            let mut pod = self.conf.pod("executor", self.template.clone(), application, &self.name(number))?;
            pod["metadata"]["labels"]["spark-exec-id"] = json!(number.to_string());
            let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": self.pod.name_any(),
                               "uid": self.pod.metadata.uid, "controller": true});
            pod["metadata"]["ownerReferences"].as_array_mut().expect("the operator's is there").push(owner);
            self.t.pods().create(pod).await?;
        }
        Ok(())
    }

    /// Deletes executors of these numbers.
    pub(super) async fn let_go(&self, numbers: Range<u32>) -> Result<()> {
        for number in numbers {
            self.t.pods().delete(&self.name(number)).await?;
        }
        Ok(())
    }

    /// The name of an executor, another one for each driver.
    fn name(&self, number: u32) -> String {
        let application = label(&self.pod, "spark-app-selector");
        format!("{application}-exec-{number}")
    }
}
