//! An image of one static program, written by hand: a tar file as `ctr images import` takes it (OCI image layout).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Tar files consist of blocks of this size.
const BLOCK: usize = 512;

/// A tar file with an image, under each of these names, that consists of a program at `/NAME of the program`, which it runs.
/// The same program gives the same bytes.
pub fn of_program(images: &[&str], program: &str, binary: &[u8]) -> Vec<u8> {
    let layer = tar(&[(program, 0o755, binary)]);
    let config = json!({
        "architecture": architecture(), "os": "linux",
        "config": {"Entrypoint": [format!("/{program}")], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", &layer)],
    });
    let manifest = manifest.to_string().into_bytes();
    let entry = |image: &&str| {
        let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
        entry["platform"] = json!({"architecture": architecture(), "os": "linux"});
        entry["annotations"] = json!({"io.containerd.image.name": image});
        entry
    };
    let entries: Vec<Value> = images.iter().map(entry).collect();
    let index = json!({"schemaVersion": 2, "manifests": entries}).to_string().into_bytes();
    let blobs = [&config, &manifest, &layer].map(|blob| (format!("blobs/sha256/{}", hex(blob)), blob.as_slice()));
    let mut files =
        vec![("oci-layout", 0o644, &br#"{"imageLayoutVersion":"1.0.0"}"#[..]), ("index.json", 0o644, &index)];
    files.extend(blobs.iter().map(|(name, blob)| (name.as_str(), 0o644, *blob)));
    tar(&files)
}

fn descriptor(kind: &str, blob: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": digest(blob), "size": blob.len()})
}

fn digest(blob: &[u8]) -> String {
    format!("sha256:{}", hex(blob))
}

fn hex(blob: &[u8]) -> String {
    Sha256::digest(blob).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// This machine's, in Go's words: the program was built here.
const fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// A tar file (ustar) of files: name, mode, content. All of root and of 1970.
fn tar(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, mode, content) in files {
        tar.extend(header(name, *mode, content.len()));
        tar.extend(*content);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks are its end.
    tar.resize(tar.len() + 2 * BLOCK, 0);
    tar
}

fn header(name: &str, mode: u32, size: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    // The checksum counts itself as spaces.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}
