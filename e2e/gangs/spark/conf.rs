//! Spark's configuration, and the part of Spark that makes the pods of an application from it: what is there of it is named in
//! Spark's words, and does what Spark 4 does; the rest of Spark is not there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::harness::context::merge;
use crate::support::error::{During, Error, Result};

/// Spark's least overhead of memory, in MiB.
const LEAST_OVERHEAD: u64 = 384;

/// Properties by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Conf(BTreeMap<String, String>);

impl Conf {
    /// What `--conf KEY=VALUE` says in arguments of `spark-submit`.
    pub(super) fn from_arguments(arguments: impl Iterator<Item = String>) -> Self {
        let arguments: Vec<String> = arguments.collect();
        let pairs = arguments.windows(2).filter(|pair| pair[0] == "--conf").filter_map(|pair| pair[1].split_once('='));
        Self(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// Reads what [`Self::to_text`] has written.
    pub(super) fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map(Self).during("reading the configuration of a driver")
    }

    /// All of it, for the driver.
    pub(super) fn to_text(&self) -> String {
        json!(self.0).to_string()
    }

    /// A property.
    pub(super) fn get(&self, key: &str) -> Result<&str> {
        self.find(key).ok_or_else(|| Error::new(format!("the operator passes no {key}")))
    }

    fn find(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Properties whose names begin like this, by the rest of their names.
    fn below(&self, prefix: &str) -> Map<String, Value> {
        let below = self.0.iter().filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value)));
        below.map(|(rest, value)| (rest.to_owned(), json!(value))).collect()
    }

    /// The pod of a role, `driver` or `executor`, from the template that the operator has written for it: what the properties
    /// say of labels, annotations, nodes, image and size, and the labels by which Spark knows its pods.
    pub(super) fn pod(&self, role: &str, mut template: Value, application: &str, name: &str) -> Result<Value> {
        let mut labels = self.below(&format!("spark.kubernetes.{role}.label."));
        labels.insert("spark-app-selector".to_owned(), json!(application));
        labels.insert("spark-role".to_owned(), json!(role));
        let annotations = self.below(&format!("spark.kubernetes.{role}.annotation."));
        let mut nodes = self.below("spark.kubernetes.node.selector.");
        nodes.extend(self.below(&format!("spark.kubernetes.{role}.node.selector.")));
        let metadata = json!({"name": name, "namespace": self.get("spark.kubernetes.namespace")?, "labels": labels,
                              "annotations": annotations});
        let spec = json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "nodeSelector": nodes});
        merge(&mut template, json!({"metadata": metadata, "spec": spec}));
        let container = self.get(&format!("spark.kubernetes.{role}.podTemplateContainerName"))?;
        let containers = template["spec"]["containers"].as_array_mut();
        let container = containers.and_then(|all| all.iter_mut().find(|one| one["name"] == container));
        let container =
            container.ok_or_else(|| Error::new(format!("the template of the {role} lacks its container")))?;
        let image = self.get(&format!("spark.kubernetes.{role}.container.image"))?;
        merge(container, json!({"image": image, "resources": self.resources(role)?}));
        Ok(template)
    }

    /// What a pod of a role requests.
    fn resources(&self, role: &str) -> Result<Value> {
        let cores = self.find(&format!("spark.kubernetes.{role}.request.cores"));
        let cores = cores.or_else(|| self.find(&format!("spark.{role}.cores"))).unwrap_or("1");
        let memory = mebibytes(self.get(&format!("spark.{role}.memory"))?)?;
        let overhead = match self.find(&format!("spark.{role}.memoryOverhead")) {
            Some(overhead) => mebibytes(overhead)?,
            // The factor of programs on the JVM.
            None => LEAST_OVERHEAD.max(memory / 10),
        };
        let memory = format!("{}Mi", memory + overhead);
        Ok(json!({"requests": {"cpu": cores, "memory": memory}, "limits": {"memory": memory}}))
    }
}

/// Spark's `512m` and `1g`.
fn mebibytes(text: &str) -> Result<u64> {
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let number: u64 = number.parse().during(format!("reading {text:?} as memory"))?;
    match unit {
        "m" => Ok(number),
        "g" => Ok(number * 1024),
        _ => Err(Error::new(format!("memory in another unit than m and g: {text:?}"))),
    }
}
