//! The image as `scripts/pack-image` writes it: what an engine reads, from any tree the same, and what the chart expects.
//!
//! The program is three bytes here. That the real one is static, small and twice the same takes two builds of it:
//! `scripts/image check`, a step of `make verify`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const REFERENCE: &str = "gangline:0.1.0";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A root of two files with these rights. A later call makes it at a later time.
fn root(program: u32, licence: u32) -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (name, text, mode) in [("LICENSE", "words", licence), ("gangline", "ELF", program)] {
        let path = root.path().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    root
}

fn run_pack(containerfile: &Path, root: &Path, reference: &str, out: &Path) -> Output {
    let mut command = Command::new(repository().join("scripts/pack-image"));
    command.arg(containerfile).arg(root).args([reference, "amd64"]).arg(out);
    command.env("VERSION", "0.1.0").env("REVISION", "abc").output().expect("it runs")
}

/// An image of a Containerfile of this repository, unpacked by tar, with the file it was and the digest that was printed.
struct Image {
    files: TempDir,
    tar: PathBuf,
    digest: String,
}

impl Image {
    fn pack(containerfile: &str, root: &TempDir, reference: &str) -> Self {
        let files = tempfile::tempdir().expect("a directory");
        let tar = files.path().join("image.tar");
        let output = run_pack(&repository().join(containerfile), root.path(), reference, &tar);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(tar_lines(&["-x", "-C"], files.path(), &tar), Vec::<String>::new());
        let digest = String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned();
        Self { files, tar, digest }
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&fs::read(self.files.path().join(path)).expect("the file is in it")).expect("JSON")
    }

    /// The file that a descriptor names.
    fn blob(&self, descriptor: &Value) -> PathBuf {
        let digest = descriptor["digest"].as_str().expect("a digest").strip_prefix("sha256:").expect("of that kind");
        let path = self.files.path().join("blobs/sha256").join(digest);
        let bytes = fs::read(&path).expect("the blob is in it");
        assert_eq!((sha256(&bytes), json!(bytes.len())), (digest.to_owned(), descriptor["size"].clone()));
        path
    }

    fn blob_json(&self, descriptor: &Value) -> Value {
        serde_json::from_slice(&fs::read(self.blob(descriptor)).expect("it is there")).expect("JSON")
    }

    /// What a container of it starts as.
    fn config(&self) -> Value {
        let manifest = self.blob_json(&self.json("index.json")["manifests"][0]);
        self.blob_json(&manifest["config"])
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `tar OPTIONS DIRECTORY -f FILE` prints.
fn tar_lines(options: &[&str], directory: &Path, file: &Path) -> Vec<String> {
    let output = Command::new("tar").args(options).arg(directory).arg("-f").arg(file).output().expect("tar runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// Rights, owner, date and name of each member.
fn listing(file: &Path) -> Vec<String> {
    let lines = tar_lines(&["--utc", "-tv", "-C"], repository(), file);
    let fields = |line: &String| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        [&fields[..2], &fields[3..]].concat().join(" ")
    };
    lines.iter().map(fields).collect()
}

/// A value that this repository's Cargo.toml has.
fn cargo(field: &str) -> String {
    let text = fs::read_to_string(repository().join("Cargo.toml")).expect("it is there");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{field} = \""))).expect("it has the field");
    line.trim_end_matches('"').to_owned()
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(repository().join(path)).expect("it is there")).expect("YAML")
}

#[test]
fn an_engine_finds_the_program_by_index_manifest_and_config() {
    let image = Image::pack("Containerfile", &root(0o755, 0o644), REFERENCE);
    assert_eq!(image.json("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}));
    let index = image.json("index.json");
    let [entry] = index["manifests"].as_array().expect("a list").as_slice() else { panic!("{index}") };
    assert_eq!(entry["digest"], image.digest);
    assert_eq!(entry["platform"], json!({"architecture": "amd64", "os": "linux"}));
    let manifest = image.blob_json(entry);
    let config = image.blob_json(&manifest["config"]);
    assert_eq!((&config["architecture"], &config["os"]), (&json!("amd64"), &json!("linux")));
    let [layer] = manifest["layers"].as_array().expect("a list").as_slice() else { panic!("{manifest}") };
    let unpacked = Command::new("gzip").arg("-dc").arg(image.blob(layer)).output().expect("gzip runs").stdout;
    assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", sha256(&unpacked))]));
    let members = ["-rw-r--r-- 0/0 1970-01-01 00:00 LICENSE", "-rwxr-xr-x 0/0 1970-01-01 00:00 gangline"];
    assert_eq!(listing(&image.blob(layer)), members);
    let header = &fs::read(image.blob(layer)).expect("it is there")[..10];
    assert_eq!(header, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3], "gzip has noted neither name nor time");
}

/// `docker load` before it knew OCI layouts reads this file instead.
#[test]
fn it_is_an_archive_of_docker_too() {
    let image = Image::pack("Containerfile", &root(0o755, 0o644), REFERENCE);
    let archive = image.json("manifest.json");
    let [entry] = archive.as_array().expect("a list").as_slice() else { panic!("{archive}") };
    assert_eq!(entry["RepoTags"], json!([REFERENCE]));
    let manifest = image.blob_json(&image.json("index.json")["manifests"][0]);
    let path =
        |descriptor: &Value| descriptor["digest"].as_str().expect("a digest").replace("sha256:", "blobs/sha256/");
    assert_eq!(entry["Config"], path(&manifest["config"]));
    assert_eq!(entry["Layers"], json!([path(&manifest["layers"][0])]));
}

#[test]
fn a_container_of_it_is_not_root_and_says_what_it_is() {
    let labels = |title: &str| {
        json!({
            "org.opencontainers.image.licenses": cargo("license"),
            "org.opencontainers.image.revision": "abc",
            "org.opencontainers.image.source": cargo("repository"),
            "org.opencontainers.image.title": title,
            "org.opencontainers.image.version": "0.1.0",
        })
    };
    let config = Image::pack("Containerfile", &root(0o755, 0o644), REFERENCE).config();
    let expected = json!({"Entrypoint": ["/gangline"], "ExposedPorts": {"8080/tcp": {}}, "User": "65532:65532",
        "Labels": labels("gangline")});
    assert_eq!(config["config"], expected);
    let config = Image::pack("e2e/pause/Containerfile", &root(0o755, 0o644), "gangline-pause:0.1.0").config();
    let expected = json!({"Entrypoint": ["/pause"], "User": "65535:65535", "Labels": labels("gangline-pause")});
    assert_eq!(config["config"], expected);
}

#[test]
fn times_rights_and_owners_of_the_files_do_not_change_a_byte() {
    let read = |image: &Image| fs::read(&image.tar).expect("it is there");
    let first = Image::pack("Containerfile", &root(0o755, 0o644), REFERENCE);
    let tight = root(0o700, 0o600);
    let old = fs::File::options().write(true).open(tight.path().join("gangline")).expect("it is ours");
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).expect("it is ours");
    let second = Image::pack("Containerfile", &tight, REFERENCE);
    assert!(read(&first) == read(&second), "{:?}\n{:?}", listing(&first.tar), listing(&second.tar));
    assert!(listing(&first.tar).iter().all(|line| line.contains(" 0/0 1970-01-01 00:00 ")));
    assert!(listing(&first.tar).iter().map(|line| line.rsplit(' ').next()).is_sorted(), "{:?}", listing(&first.tar));

    fs::write(tight.path().join("gangline"), "elf").expect("it is ours");
    assert_ne!(Image::pack("Containerfile", &tight, REFERENCE).digest, first.digest);
}

/// The kubelet asks containerd for the full name of what a pod calls `gangline:0.1.0`.
#[test]
fn the_name_is_the_one_that_a_kubelet_looks_for() {
    for (reference, name, tag) in [
        ("gangline:0.1.0", "docker.io/library/gangline:0.1.0", "0.1.0"),
        ("team/gangline:v7", "docker.io/team/gangline:v7", "v7"),
        ("r.example/team/gangline:v7", "r.example/team/gangline:v7", "v7"),
        ("localhost/gangline:v7", "localhost/gangline:v7", "v7"),
        ("host:5000/gangline:v7", "host:5000/gangline:v7", "v7"),
    ] {
        let image = Image::pack("Containerfile", &root(0o755, 0o644), reference);
        let expected = json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag});
        assert_eq!(image.json("index.json")["manifests"][0]["annotations"], expected);
    }
}

/// Installed with no value of its own, the chart asks for what `make image` calls its image.
#[test]
fn the_chart_asks_for_this_image_and_this_user() {
    let values = yaml("charts/gangline/values.yaml");
    let chart = yaml("charts/gangline/Chart.yaml");
    assert_eq!(values["image"]["registry"], "");
    let version = cargo("version");
    assert_eq!((&values["image"]["repository"], &chart["appVersion"]), (&json!("gangline"), &json!(version)));
    let script = fs::read_to_string(repository().join("scripts/image")).expect("it is there");
    assert!(script.contains("${IMAGE:-gangline:$version}"));
    let user = &values["podSecurityContext"];
    assert_eq!((&user["runAsUser"], &user["runAsGroup"]), (&json!(65532), &json!(65532)));
    assert_eq!(values["securityContext"]["readOnlyRootFilesystem"], true);
}

#[test]
fn what_is_not_understood_is_refused() {
    let text = fs::read_to_string(repository().join("Containerfile")).expect("it is there");
    let cases = [
        (format!("{text}VOLUME /data\n"), REFERENCE, "`VOLUME /data` is not understood"),
        (format!("{text}USER root\n"), REFERENCE, "`USER root` is not understood"),
        (text.replace("FROM scratch", "FROM debian"), REFERENCE, "`FROM debian` is not understood"),
        (text.replace("USER 65532:65532\n", ""), REFERENCE, "USER or ENTRYPOINT is missing"),
        (text.clone(), "gangline", "no form NAME:TAG"),
        (text, "gang\"line:v7", "no form NAME:TAG"),
    ];
    for (text, reference, expected) in cases {
        let place = tempfile::tempdir().expect("a directory");
        let (containerfile, out) = (place.path().join("Containerfile"), place.path().join("image.tar"));
        fs::write(&containerfile, text).expect("a file");
        let output = run_pack(&containerfile, root(0o755, 0o644).path(), reference, &out);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected) && !out.exists(), "{said} should say {expected}");
    }
}

/// The list is about what is shipped: not about macros, build scripts and tests.
#[test]
fn the_list_names_what_is_linked_and_nothing_else() {
    let program = root(0o755, 0o644);
    let mut command = Command::new(repository().join("scripts/sbom"));
    command.arg("x86_64-unknown-linux-gnu").arg(program.path().join("gangline"));
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let own = &list["metadata"]["component"];
    assert_eq!((&own["name"], &own["version"]), (&json!("gangline"), &json!(cargo("version"))));
    assert_eq!(own["hashes"], json!([{"alg": "SHA-256", "content": sha256(b"ELF")}]));

    let components = list["components"].as_array().expect("a list");
    let names: BTreeSet<&str> = components.iter().map(|part| part["name"].as_str().expect("a name")).collect();
    for part in ["tokio", "kube-client", "ring", "serde", "rust-std", "glibc"] {
        assert!(names.contains(part), "{part} is linked");
    }
    for part in ["gangline", "serde_derive", "syn", "cc", "proptest", "indicatif", "windows-sys"] {
        assert!(!names.contains(part), "{part} is not");
    }
    for part in components {
        assert!(part["licenses"][0]["expression"].is_string(), "{part} has a licence");
        assert!(
            part["purl"].is_null() || part["hashes"][0]["content"].is_string(),
            "{part} is a crate with a checksum"
        );
    }

    let named = |value: &Value| value.as_str().expect("a name").to_owned();
    let known: BTreeSet<String> = components.iter().chain([own]).map(|part| named(&part["bom-ref"])).collect();
    assert_eq!(known.len(), components.len() + 1, "each is there once");
    let uses = list["dependencies"].as_array().expect("a list");
    assert_eq!(uses.iter().map(|entry| named(&entry["ref"])).collect::<BTreeSet<_>>(), known);
    let used = uses.iter().flat_map(|entry| entry["dependsOn"].as_array().expect("a list"));
    let used: BTreeSet<String> = used.map(named).chain([named(&own["bom-ref"])]).collect();
    assert_eq!(used, known, "somebody uses each of them");
}
