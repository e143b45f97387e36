//! `crds/` equals the types, and the chart ships the same. `make crds` writes both anew.

use std::fs;
use std::path::Path;

use gangline::api;

/// Client-side apply keeps the whole object in an annotation; far below its limit of 256 KiB.
const MAX_SIZE: usize = 50_000;

/// File name and text of each definition.
pub(super) fn files() -> Vec<(String, String)> {
    api::crds()
        .iter()
        .map(|crd| (api::crd_file(crd), api::crd_yaml(crd).expect("a definition is plain data")))
        .collect()
}

#[test]
fn the_files_are_what_the_types_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in files() {
        assert!(text.len() < MAX_SIZE, "{name} has {} bytes", text.len());
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
