//! `crds`: the CustomResourceDefinitions as YAML.

use crate::api;
use crate::runtime::cli::output::yaml;

/// All CRDs as one YAML stream for `kubectl apply`.
pub fn manifest() -> String {
    api::crds().iter().map(|crd| format!("---\n{}", yaml(crd))).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

    use super::*;

    #[test]
    fn what_is_printed_reads_back_as_the_crds() {
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&manifest()).unwrap();
        assert_eq!(read, api::crds());
        let names: Vec<_> = read.iter().filter_map(|crd| crd.metadata.name.as_deref()).collect();
        assert_eq!(names, ["queues.gangline.dev", "taskgroups.gangline.dev"]);
    }
}
