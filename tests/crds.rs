//! `crds/` equals the types, and the chart ships the same. `make crds` writes both anew.

use std::fs;
use std::path::Path;

use gangline::api;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// File name and text of each definition.
pub(super) fn files() -> Vec<(String, String)> {
    api::crds().iter().map(|crd| (format!("{}.yaml", crd.spec.names.plural), text(crd))).collect()
}

fn text(crd: &CustomResourceDefinition) -> String {
    let yaml = serde_saphyr::to_string(crd).expect("a definition is plain data");
    format!("# Generated from src/api by `make crds`.\n{yaml}")
}

#[test]
fn the_files_are_what_the_types_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in files() {
        for dir in ["crds", "charts/gangline/files/crds"] {
            let path = root.join(dir).join(&name);
            if std::env::var_os("UPDATE").is_some() {
                fs::create_dir_all(root.join(dir)).expect("the directory can be made");
                fs::write(&path, &text).expect("the file can be written");
            }
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert!(found == text, "{dir}/{name} is not what src/api says: run `make crds`");
        }
    }
}
