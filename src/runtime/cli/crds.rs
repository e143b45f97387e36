//! `crds`: the CustomResourceDefinitions as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::api;

/// All CRDs as one YAML stream for `kubectl apply`.
pub fn manifest() -> String {
    api::crds().iter().map(|crd| format!("---\n{}", yaml(crd))).collect()
}

/// Our own text, none from a cluster: written as it is, long descriptions as blocks.
fn yaml(crd: &CustomResourceDefinition) -> String {
    // Only map keys that are no strings could fail; a CRD has none.
    api::crd_yaml(crd).unwrap_or_else(|error| format!("# {error}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_as_the_crds() {
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&manifest()).unwrap();
        // Whole numbers have no point in YAML, and none is lost on the way.
        let json = |crds: &[CustomResourceDefinition]| {
            serde_json::to_string(crds).unwrap().replace(".0,", ",").replace(".0}", "}")
        };
        assert_eq!(json(&read), json(&api::crds()), "the YAML says something else than the types");
        let names: Vec<_> = read.iter().filter_map(|crd| crd.metadata.name.as_deref()).collect();
        assert_eq!(names, ["taskgroups.gangline.dev", "queues.gangline.dev"]);
    }

    /// Every object of ours in `examples/` says only what the types know, and comes after a header that explains it.
    #[test]
    fn the_examples_speak_the_api() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("# "), "{} has no header", path.display());
            let objects: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
            objects.iter().for_each(|object| assert_eq!(again(object), *object, "{}", path.display()));
        }
    }

    /// The object as our types write it again, without the fields that they add.
    fn again(object: &serde_json::Value) -> serde_json::Value {
        let typed = match object["kind"].as_str() {
            Some("TaskGroup") => serde_json::from_value::<api::task_group::TaskGroup>(object.clone())
                .map(|group| serde_json::to_value(group).unwrap()),
            Some("Queue") => serde_json::from_value::<api::queue::Queue>(object.clone())
                .map(|queue| serde_json::to_value(queue).unwrap()),
            _ => return object.clone(),
        };
        let (mut kept, typed) = (object.clone(), typed.unwrap());
        for (field, value) in kept["spec"].as_object_mut().unwrap() {
            *value = typed["spec"][field].clone();
        }
        kept
    }
}
