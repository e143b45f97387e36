//! `crds/` is what the code says: UPDATE=1 writes it.
#![cfg(feature = "runtime")]

use std::fs;

use gangline::api;

/// Client-side apply keeps the whole object in an annotation; far below its limit of 256 KiB.
const MAX_SIZE: usize = 50_000;

#[test]
fn the_files_are_what_the_code_says() {
    for crd in api::crds() {
        let path = format!("{}/crds/{}", env!("CARGO_MANIFEST_DIR"), api::crd_file(&crd));
        let yaml = api::crd_yaml(&crd).unwrap();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &yaml).unwrap();
        }
        assert!(yaml.len() < MAX_SIZE, "{path} has {} bytes", yaml.len());
        let file = fs::read_to_string(&path).unwrap_or_default();
        assert!(file == yaml, "{path} is out of date: run the tests with UPDATE=1");
    }
}
