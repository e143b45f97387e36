//! The shipped manifests against the code: the role is what the calls need, the kinds are the types', names agree.
//!
//! That `manifests/` is what the chart renders to, that it installs, and that its policies hold, needs helm and an API
//! server: `e2e/chart.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use gangline::api::names;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::codes::Code;
use gangline::shim::op::{Kind, Op};
use serde_json::{Value, json};

/// API group, resource, verb.
type Right = (String, String, String);

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(yaml: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).expect("YAML");
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// The objects of one kind in `manifests/gangline.yaml`.
fn manifests(kind: &str) -> Vec<Value> {
    documents(&read("manifests/gangline.yaml")).into_iter().filter(|object| object["kind"] == kind).collect()
}

fn manifest(kind: &str, name: &str) -> Value {
    let found = manifests(kind).into_iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("manifests/gangline.yaml has no {kind} {name}"))
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().expect("a string").to_owned()).collect()
}

fn granted(role: &Value) -> Vec<Right> {
    let mut rights = Vec::new();
    for rule in role["rules"].as_array().expect("rules") {
        assert!(rule.get("resourceNames").is_none(), "{rule}: no object is named");
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    rights.push((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    rights
}

/// One call of every variant. The match has no use but that a new variant does not compile until it is listed here.
fn every_call() -> Vec<Op> {
    let (key, uid) = (|| Key::new("n", "p"), || Uid::new("u"));
    let calls = vec![
        Op::Bind { pod: key(), uid: uid(), node: "n".into(), annotations: Default::default() },
        Op::DeletePod { pod: key(), uid: uid() },
        Op::FailPod {
            pod: key(),
            uid: uid(),
            resource_version: NonZeroU64::MIN,
            reason: Code::ReservationLost,
            message: "".into(),
        },
        Op::CreatePod(Box::default()),
        Op::GetPod { pod: key() },
        Op::PatchPodCondition { pod: key(), uid: uid(), condition: Box::default() },
        Op::PatchTaskGroupStatus { group: key(), uid: uid(), status: Box::default() },
        Op::PatchQueueStatus { queue: "q".into(), uid: uid(), status: Box::default() },
        Op::CreateEvent(Box::default()),
    ];
    for (listed, call) in calls.iter().enumerate() {
        let number = match call {
            Op::Bind { .. } => 0,
            Op::DeletePod { .. } => 1,
            Op::FailPod { .. } => 2,
            Op::CreatePod(_) => 3,
            Op::GetPod { .. } => 4,
            Op::PatchPodCondition { .. } => 5,
            Op::PatchTaskGroupStatus { .. } => 6,
            Op::PatchQueueStatus { .. } => 7,
            Op::CreateEvent(_) => 8,
        };
        assert_eq!(number, listed, "every variant is listed once, in its order");
    }
    calls
}

fn group_of(resource: &str) -> &'static str {
    match resource.split('/').next() {
        Some("taskgroups" | "queues") => names::GROUP,
        Some("events") => "events.k8s.io",
        _ => "",
    }
}

#[test]
fn the_role_grants_what_the_code_asks_for_and_nothing_else() {
    let right = |resource: &str, verb: &str| (group_of(resource).to_owned(), resource.to_owned(), verb.to_owned());
    let calls = every_call();
    let calls = calls.iter().map(Op::rule).map(|(resource, verb)| right(resource, verb));
    let watches = Kind::ALL.iter().flat_map(|kind| ["list", "watch"].map(|verb| right(kind.plural(), verb)));
    let needed: BTreeSet<Right> = calls.chain(watches).collect();
    let granted = granted(&manifest("ClusterRole", "gangline"));
    let as_set: BTreeSet<Right> = granted.iter().cloned().collect();
    assert_eq!(as_set, needed);
    assert_eq!(granted.len(), as_set.len(), "nothing is granted twice");
}

/// Where the Leases are: one for each scheduler name, and nothing of any other.
#[test]
fn the_account_may_use_the_leases_of_its_scheduler_names() {
    let role = manifest("Role", "gangline-leader-election");
    let leases = json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]});
    let rule = |verbs: Value, names: Option<Value>| {
        let mut rule = leases.clone();
        rule["verbs"] = verbs;
        names.into_iter().for_each(|names| rule["resourceNames"] = names);
        rule
    };
    let named = rule(json!(["get", "patch"]), Some(json!([names::SCHEDULER])));
    assert_eq!(role["rules"], json!([rule(json!(["create"]), None), named]));
    let config =
        documents(manifest("ConfigMap", "gangline")["data"]["config.yaml"].as_str().expect("a file")).remove(0);
    assert_eq!(role["metadata"]["namespace"], config["leaderElection"]["namespace"]);
    let deployment = manifest("Deployment", "gangline");
    let expected = (&json!(2), &json!("RollingUpdate"), &json!(true));
    let spec = &deployment["spec"];
    assert_eq!((&spec["replicas"], &spec["strategy"]["type"], &config["leaderElection"]["enabled"]), expected);
}

#[test]
fn the_role_is_bound_to_the_service_account_of_the_pod_and_to_nobody_else() {
    let account = json!({"kind": "ServiceAccount", "name": "gangline", "namespace": "gangline-system"});
    let bindings = manifests("ClusterRoleBinding");
    assert_eq!(bindings.len(), 1);
    assert_eq!(bindings[0]["roleRef"]["name"], "gangline");
    assert_eq!(bindings[0]["subjects"], json!([account]));
    let of_leases = manifests("RoleBinding");
    assert_eq!(of_leases.len(), 1);
    assert_eq!(of_leases[0]["roleRef"]["name"], "gangline-leader-election");
    assert_eq!(of_leases[0]["subjects"], json!([account]));
    let pod = &manifest("Deployment", "gangline")["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "gangline");
}

/// JSON without the difference between `1` and `1.0`, which Helm does not keep.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), plain(field))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn the_kinds_are_those_of_the_types() {
    let shipped = manifests("CustomResourceDefinition");
    let files = super::crds::files();
    assert_eq!(shipped.len(), files.len());
    for (name, text) in files {
        let file = documents(&text).remove(0);
        let shipped = shipped.iter().find(|crd| crd["metadata"]["name"] == file["metadata"]["name"]).expect(&name);
        assert!(plain(&shipped["spec"]) == plain(&file["spec"]), "manifests/ has another {name}: run `make chart`");
        assert_eq!(shipped["metadata"]["annotations"]["helm.sh/resource-policy"], "keep", "{name}");
    }
}

#[test]
fn it_runs_without_any_privilege() {
    let deployment = manifest("Deployment", "gangline");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["schedulerName"], "default-scheduler", "a scheduler must not need itself");
    assert_eq!(pod["securityContext"]["runAsUser"], 65532);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        assert_eq!(pod["containers"][0][probe]["httpGet"]["path"], path, "{probe}");
    }
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(
        (&container["readOnlyRootFilesystem"], &container["allowPrivilegeEscalation"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn the_configuration_has_the_names_of_the_code() {
    let map = manifest("ConfigMap", "gangline");
    let config = documents(map["data"]["config.yaml"].as_str().expect("a file")).remove(0);
    assert_eq!(config["schedulerNames"], json!([names::SCHEDULER]));
    let fields: Vec<&str> = config.as_object().expect("fields").keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "http",
            "ignoreForeignMarkers",
            "leaderElection",
            "log",
            "maxPlaceholders",
            "placeholderImage",
            "schedulerNames"
        ]
    );
    let args = &manifest("Deployment", "gangline")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*args, json!(["run", "--config=/etc/gangline/config.yaml"]));
}

#[cfg(feature = "runtime")]
#[test]
fn the_configuration_is_read_and_changes_no_default_but_the_log_format() {
    use gangline::runtime::args::RunArgs;
    use gangline::runtime::settings::{LogFormat, Settings};

    let map = manifest("ConfigMap", "gangline");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), map["data"]["config.yaml"].as_str().expect("a file")).expect("it can be written");
    let shipped = Settings::load(&RunArgs { config: Some(file.path().into()), ..RunArgs::default() });
    let default = Settings::load(&RunArgs::default()).expect("defaults");
    assert_eq!(shipped.expect("valid"), Settings { log_format: LogFormat::Json, ..default });
}

#[test]
fn the_policies_speak_of_our_label_and_our_account() {
    for (name, word) in [
        ("gangline-self-restraint-creates", names::PLACEHOLDER),
        ("gangline-self-restraint-deletes", names::PLACEHOLDER),
        ("gangline-self-restraint-status", "PodScheduled"),
        ("gangline-binding-labels", names::PLACEHOLDER),
        ("gangline-anti-forgery", names::PLACEHOLDER),
    ] {
        let policy = manifest("ValidatingAdmissionPolicy", name);
        let text = policy["spec"].to_string();
        assert!(text.contains(word), "{name}");
        // A Binding makes a pod a placeholder for nobody.
        let is_for_all = name == "gangline-binding-labels";
        assert_ne!(text.contains("system:serviceaccount:gangline-system:gangline"), is_for_all, "{name}");
        assert_eq!(policy["spec"]["failurePolicy"], "Fail", "{name}");
        let binding = manifest("ValidatingAdmissionPolicyBinding", name);
        assert_eq!(binding["spec"], json!({"policyName": name, "validationActions": ["Deny"]}));
    }
    let status = manifest("ValidatingAdmissionPolicy", "gangline-self-restraint-status")["spec"].to_string();
    let config =
        documents(manifest("ConfigMap", "gangline")["data"]["config.yaml"].as_str().expect("a file")).remove(0);
    assert!(status.contains(&format!("in ['{}']", Code::PlaceholderTimeout)), "pods fail with a reason of ours");
    let names = format!("in {}", config["schedulerNames"]).replace('"', "\\\"");
    assert!(status.contains(&names), "pods of ours fail");
    let restraint = manifest("ValidatingAdmissionPolicy", "gangline-self-restraint-creates")["spec"].to_string();
    let image = config["placeholderImage"].as_str().expect("a text");
    assert!(restraint.contains(&format!("== \\\"{image}\\\"")), "placeholders have the configured image");
    assert!(restraint.contains("container.name == 'placeholder'"));
    let forgery = manifest("ValidatingAdmissionPolicy", "gangline-anti-forgery")["spec"].to_string();
    assert!(forgery.contains(&format!("startsWith('{}')", names::PREFIX)));
}
