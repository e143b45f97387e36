//! `gangline release-placeholders` as a process, against a server that keeps pods and a Lease: what goes, and what does not.

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::PlaceholderName;
use gangline::shim::placeholder::{Blueprint, PlaceholderConfig, pod};
use serde_json::{Value, json};

use crate::lease;
use crate::scripted::{Asked, Reply, Server};

/// What the server keeps.
#[derive(Default)]
struct Store {
    /// By the path at which they are deleted.
    pods: BTreeMap<String, Value>,
    lease: Option<Value>,
    /// What is answered to deletions of pods instead of carrying them out.
    refuses: Option<u16>,
}

type Kept = Arc<Mutex<Store>>;

fn server(store: Store) -> (Server, Kept) {
    let kept = Arc::new(Mutex::new(store));
    let stored = Arc::clone(&kept);
    let server = Server::start(move |asked| {
        let (code, body) = answer(&mut stored.lock().expect("no panic"), asked);
        Reply::json(code, body.to_string())
    });
    (server, kept)
}

fn answer(store: &mut Store, asked: &Asked) -> (u16, Value) {
    let mut words = asked.line.split(' ');
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let refusal = |code: u16| {
        (code, json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "r", "code": code}))
    };
    match (verb, path) {
        (_, lease) if lease.starts_with("/apis/coordination.k8s.io/") => lease::answer(&mut store.lease, asked),
        ("GET", "/api/v1/pods") => {
            assert!(asked.line.contains("labelSelector=gangline.dev%2Fplaceholder%3Dtrue"), "{}", asked.line);
            let items: Vec<&Value> = store.pods.values().collect();
            (200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}))
        }
        ("DELETE", _) if store.refuses.is_some() => refusal(store.refuses.unwrap_or_default()),
        ("DELETE", at) => {
            let sent: Value = serde_json::from_str(&asked.body).expect("options");
            match store.pods.get(at) {
                Some(pod) if sent["preconditions"]["uid"] == pod["metadata"]["uid"] => {
                    (200, store.pods.remove(at).unwrap_or_default())
                }
                Some(_) => refusal(409),
                None => refusal(404),
            }
        }
        _ => refusal(400),
    }
}

/// A placeholder as a scheduler of this name makes it.
fn placeholder(scheduler_name: &str, seat: u32) -> Value {
    let uid = Uid::new("6f1b7f9e-5b0e-4f0e-8c8e-3d1c0a3f9b11");
    let name = PlaceholderName { group: Key::new("data", "executors"), uid, incarnation: 1, seat, attempt: 0 };
    let blueprint = Blueprint { application: "spark".into(), ..Blueprint::default() };
    let scheduler_name = scheduler_name.into();
    let config = PlaceholderConfig { scheduler_name, image: "pause".into(), queue: "root".into(), submitter: None };
    let mut pod = serde_json::to_value(pod(&name, &blueprint, &config)).expect("plain data");
    pod["metadata"]["uid"] = json!(format!("uid-{seat}"));
    pod
}

fn store(pods: &[&Value]) -> Store {
    let at = |pod: &Value| {
        let text = |field: &str| pod["metadata"][field].as_str().expect("a text").to_owned();
        format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"))
    };
    Store { pods: pods.iter().map(|pod| (at(pod), (*pod).clone())).collect(), ..Store::default() }
}

/// Runs the command: its exit code, and what it says.
fn release(server: &Server, arguments: &[&str]) -> (Option<i32>, String) {
    let kubeconfig = tempfile::NamedTempFile::new().expect("a temporary file");
    let cluster = json!({"server": format!("http://{}", server.address()), "insecure-skip-tls-verify": true});
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
    });
    std::fs::write(kubeconfig.path(), text.to_string()).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gangline"));
    command.env_clear().arg("release-placeholders").arg("--kubeconfig").arg(kubeconfig.path()).args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn left(kept: &Kept) -> Vec<Value> {
    kept.lock().expect("no panic").pods.values().cloned().collect()
}

#[test]
fn placeholders_of_the_names_go_and_their_leases_and_nothing_else() {
    let (ours, also, theirs) = (placeholder("one", 0), placeholder("two", 1), placeholder("other", 2));
    let (mut forged, mut leaving) = (placeholder("one", 3), placeholder("one", 4));
    forged["metadata"]["labels"]["gangline.dev/seat"] = json!("9");
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut unreadable = placeholder("one", 5);
    unreadable["spec"]["containers"] = json!("none");
    let (server, kept) = server(store(&[&ours, &also, &theirs, &forged, &leaving, &unreadable]));
    let names = ["--scheduler-name=two", "--scheduler-name=one", "--leader-elect=false"];
    let (code, said) = release(&server, &names);
    assert_eq!((code, said.as_str()), (Some(0), "one: 1 placeholders deleted\ntwo: 1 placeholders deleted\n"));
    let mut expected = vec![theirs, forged, leaving, unreadable];
    expected.sort_by_key(|pod| pod["metadata"]["name"].to_string());
    assert_eq!(left(&kept), expected);
    assert!(!server.asked().iter().any(|asked| asked.line.contains("leases")), "no Lease is asked for");
}

#[test]
fn it_leads_before_it_deletes_and_takes_the_lease_along() {
    let (server, kept) = server(store(&[&placeholder("gangline", 0)]));
    let (code, said) = release(&server, &[]);
    assert_eq!((code, said.as_str()), (Some(0), "gangline: 1 placeholders deleted\n"));
    assert!(left(&kept).is_empty() && kept.lock().expect("no panic").lease.is_none());
    let asked = server.asked();
    let at = |start: &str| asked.iter().position(|asked| asked.line.starts_with(start)).expect("it was asked");
    let taken = at("POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
    let let_go = at("DELETE /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gangline");
    assert!(taken < at("GET /api/v1/pods") && at("DELETE /api/v1/") < let_go, "{asked:#?}");
}

/// Another release serves the name: what it holds is its own.
#[test]
fn while_another_process_leads_nothing_is_deleted() {
    let spec = json!({"holderIdentity": "another", "leaseDurationSeconds": 15});
    let lease = json!({"metadata": {"name": "gangline", "uid": "u", "resourceVersion": "1"}, "spec": spec});
    let (server, kept) = server(Store { lease: Some(lease), ..store(&[&placeholder("gangline", 0)]) });
    let (code, said) = release(&server, &["--timeout=1s"]);
    let expected =
        "gangline: left alone: another holds the Lease kube-system/gangline, and did not let go of it within 1 s\n";
    assert_eq!((code, said.as_str()), (Some(0), expected));
    assert_eq!(left(&kept).len(), 1);
    assert!(server.asked().iter().all(|asked| asked.line.starts_with("GET ")), "nothing is written");
}

#[test]
fn a_refusal_is_told_and_fails() {
    let (server, kept) = server(Store { refuses: Some(403), ..store(&[&placeholder("gangline", 0)]) });
    let (code, said) = release(&server, &["--leader-elect=false"]);
    assert!(code == Some(2) && said.starts_with("error: cannot delete the placeholder data/tg-executors-"), "{said}");
    assert_eq!(left(&kept).len(), 1);
}

/// Somebody makes new ones, or a webhook undoes the deletions: it does not go on for ever.
#[test]
fn what_comes_again_and_again_is_told() {
    let (server, kept) = server(Store { refuses: Some(409), ..store(&[&placeholder("gangline", 0)]) });
    let (code, said) = release(&server, &["--leader-elect=false"]);
    assert!(code == Some(2) && said.contains("are made as fast as they are deleted"), "{said}");
    assert_eq!(left(&kept).len(), 1);
}
