//! The shipped manifests against the code: the role is what the calls need, the kinds are the types', names agree.
//!
//! That `manifests/` is what the chart renders to, that it installs, and that its policies hold, needs helm and an API
//! server: `e2e/chart/`.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use gangline::api::names;
use gangline::api::task_group::{MatchPolicy, Mode, TaskGroup, TaskGroupSpec};
use gangline::controller::access::{Page, RULES};
use gangline::core::base::ids::{Key, Uid};
use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::dialect::pod_group::System;
use gangline::shim::op::{GroupEdit, Kind, Op};
use gangline::shim::wire::request;
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

/// One call of every variant.
fn every_call() -> Vec<Op> {
    let (key, uid) = (|| Key::new("n", "p"), || Uid::new("u"));
    let (resource_version, reason) = (NonZeroU64::MIN, Code::ReservationLost);
    let status_of = |system: System| Op::PatchPodGroupStatus {
        system,
        group: key(),
        uid: uid(),
        status: Default::default(),
        is_first: true,
    };
    let calls = vec![
        Op::Bind { pod: key(), uid: uid(), node: "n".into(), annotations: Default::default() },
        Op::DeletePod { pod: key(), uid: uid() },
        Op::FailPod { pod: key(), uid: uid(), resource_version, reason, message: "".into() },
        Op::CreatePod(Box::default()),
        Op::GetPod { pod: key() },
        Op::PatchPodCondition { pod: key(), uid: uid(), condition: Box::default() },
        Op::PatchTaskGroupStatus { group: key(), uid: uid(), status: Box::default() },
        Op::PatchQueueStatus { queue: "q".into(), uid: uid(), status: Box::default() },
        Op::CreateEvent(Box::default()),
        Op::CreateTaskGroup(Box::new(TaskGroup::new("g", TaskGroupSpec::default()))),
        Op::EditTaskGroup { group: key(), uid: uid(), generation: 1, edit: Default::default() },
        status_of(System::Koordinator),
        status_of(System::Coscheduling),
        status_of(System::Volcano),
        status_of(System::Kubernetes),
        Op::AnnotateTimeout { pod: key(), uid: uid(), timed_out: true },
    ];
    let places: Vec<usize> = calls.iter().map(place_of).collect();
    assert_eq!(places, (0..calls.len()).collect::<Vec<_>>(), "every variant is listed once, in its order");
    calls
}

/// The place of a call in that list. It has no use but that a new variant does not compile until it is listed there.
const fn place_of(call: &Op) -> usize {
    match call {
        Op::Bind { .. } => 0,
        Op::DeletePod { .. } => 1,
        Op::FailPod { .. } => 2,
        Op::CreatePod(_) => 3,
        Op::GetPod { .. } => 4,
        Op::PatchPodCondition { .. } => 5,
        Op::PatchTaskGroupStatus { .. } => 6,
        Op::PatchQueueStatus { .. } => 7,
        Op::CreateEvent(_) => 8,
        Op::CreateTaskGroup(_) => 9,
        Op::EditTaskGroup { .. } => 10,
        Op::PatchPodGroupStatus { system: System::Koordinator, .. } => 11,
        Op::PatchPodGroupStatus { system: System::Coscheduling, .. } => 12,
        Op::PatchPodGroupStatus { system: System::Volcano, .. } => 13,
        Op::PatchPodGroupStatus { system: System::Kubernetes, .. } => 14,
        Op::AnnotateTimeout { .. } => 15,
    }
}

/// The fields of a TaskGroup's spec that an edit of ours writes where it says all that it may: one that is new does not compile until
/// it is said here.
fn edited() -> BTreeSet<String> {
    let edit = GroupEdit {
        min_member: 2,
        total_member: 3,
        mode: Some(Mode::NonStrict),
        match_policy: Some(MatchPolicy::OnlyWaiting),
        wait_timeout_seconds: Some(60),
    };
    let op = Op::EditTaskGroup { group: Key::new("n", "g"), uid: Uid::new("u"), generation: 1, edit };
    let patch: Vec<Value> = serde_json::from_slice(request(&op, 10).body()).expect("a JSON patch");
    let paths = patch.iter().filter_map(|change| change["path"].as_str()?.strip_prefix("/spec/"));
    paths.map(str::to_owned).collect()
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
    // The kinds of systems in whose words nothing is read need no rights; e2e/support/values.rs has those of the others.
    let dialects = [Dialect::YuniKorn];
    let is_of_others =
        |op: &Op| matches!(op, Op::PatchPodGroupStatus { .. } | Op::EditTaskGroup { .. } | Op::AnnotateTimeout { .. });
    let calls = every_call();
    let calls = calls.iter().filter(|op| !is_of_others(op)).map(Op::rule).map(|(resource, verb)| right(resource, verb));
    let watches = Kind::watched(&dialects).flat_map(|kind| ["list", "watch"].map(|verb| right(kind.plural(), verb)));
    let reviews = RULES.map(|(group, resource, verb)| (group.to_owned(), resource.to_owned(), verb.to_owned()));
    let needed: BTreeSet<Right> = calls.chain(watches).chain(reviews).collect();
    let granted = granted(&manifest("ClusterRole", "gangline"));
    let as_set: BTreeSet<Right> = granted.iter().cloned().collect();
    assert_eq!(as_set, needed);
    assert_eq!(granted.len(), as_set.len(), "nothing is granted twice");
}

/// The policy that fences the right to edit TaskGroups names every field but those that an edit writes, since they follow a PodGroup:
/// one that is new would be open to whoever has the scheduler's token.
#[test]
fn the_policy_on_task_groups_names_every_field_that_is_not_ours_to_edit() {
    let template = format!("{}/charts/gangline/templates/policies.yaml", env!("CARGO_MANIFEST_DIR"));
    let template = fs::read_to_string(template).expect("it is there");
    let (_, after) = template.split_once("{{- range list \"applicationId\"").expect("the list of fields");
    let (rest, _) = after.split_once("}}").expect("its end");
    let named = rest.split('"').filter(|part| !part.trim().is_empty()).chain(["applicationId"]);
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    let kind =
        gangline::api::crds().into_iter().map(|crd| json!(crd)).find(|crd| crd["spec"]["names"]["kind"] == "TaskGroup");
    let schema = kind.expect("it is ours")["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    let spec = &schema["properties"]["spec"];
    let fields: BTreeSet<String> = spec["properties"].as_object().expect("fields").keys().cloned().collect();
    let edited = edited();
    assert!(edited.is_subset(&fields) && !edited.is_empty(), "{edited:?}");
    assert_eq!(named, fields.difference(&edited).cloned().collect());
}

/// Nobody is let read what is served but by whom an administrator binds these roles to.
#[test]
fn there_is_a_role_for_each_page() {
    for (page, name) in [(Page::Metrics, "gangline-metrics-reader"), (Page::State, "gangline-state-reader")] {
        let role = manifest("ClusterRole", name);
        assert_eq!(role["rules"], json!([{"nonResourceURLs": [page.path()], "verbs": ["get"]}]));
        let labels = role["metadata"]["labels"].as_object().expect("labels");
        assert!(!labels.keys().any(|label| label.contains("aggregate")), "{name} is part of no other role");
    }
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
    for (probe, path) in [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        let expected = json!({"path": path, "port": "http", "scheme": "HTTPS"});
        assert_eq!(pod["containers"][0][probe]["httpGet"], expected, "{probe}");
    }
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(
        (&container["readOnlyRootFilesystem"], &container["allowPrivilegeEscalation"]),
        (&json!(true), &json!(false))
    );
}

/// Started: it answers. Live: the loop turns. Ready: everything is listed. (What these paths answer: `runtime/http`.)
#[test]
fn its_probes_ask_what_they_are_for() {
    let deployment = manifest("Deployment", "gangline");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    for (probe, path) in [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"]["path"], path, "{probe}");
    }
    let number = |probe: &str, field: &str| container[probe][field].as_u64().expect("a number");
    let patience = |probe: &str| number(probe, "periodSeconds") * number(probe, "failureThreshold");
    // The loop is silent for 30 s before /livez says so (`LIVE_MS`): nobody is killed for less.
    assert_eq!((patience("startupProbe"), patience("livenessProbe")), (60, 30));
}

#[test]
fn its_replicas_keep_apart_softly_and_block_no_drain() {
    let deployment = manifest("Deployment", "gangline");
    let (labels, pod) = (&deployment["spec"]["selector"]["matchLabels"], &deployment["spec"]["template"]["spec"]);
    let expected = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map(|key| {
        json!({
            "topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels}, "matchLabelKeys": ["pod-template-hash"],
        })
    });
    assert_eq!(pod["topologySpreadConstraints"], json!(expected));
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    let budget = manifest("PodDisruptionBudget", "gangline");
    let spec = json!({
        "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": {"matchLabels": labels},
    });
    assert_eq!(budget["spec"], spec);
}

/// What helm runs at the end of a release would be applied, and run, at its beginning.
#[test]
fn the_manifests_have_no_hooks() {
    let manifests = read("manifests/gangline.yaml");
    assert!(!manifests.contains("helm.sh/hook") && !manifests.contains("uninstall"));
    assert!(read("charts/gangline/templates/uninstall.yaml").contains("helm.sh/hook: post-delete"));
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
            "defaultWaitTimeout",
            "dialects",
            "http",
            "ignoreForeignMarkers",
            "leaderElection",
            "log",
            "maxPlaceholders",
            "placeholderImage",
            "schedulerNames",
            "submitters"
        ]
    );
    let args = &manifest("Deployment", "gangline")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*args, json!(["run", "--config=/etc/gangline/config.yaml"]));
}

#[cfg(feature = "runtime")]
#[test]
fn the_configuration_is_read_and_changes_no_default_but_the_log_format_and_who_is_served() {
    use gangline::runtime::args::RunArgs;
    use gangline::runtime::settings::{Certificate, Http, LogFormat, Settings};

    let map = manifest("ConfigMap", "gangline");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), map["data"]["config.yaml"].as_str().expect("a file")).expect("it can be written");
    let shipped = Settings::load(&RunArgs { config: Some(file.path().into()), ..RunArgs::default() });
    let default = Settings::load(&RunArgs::default()).expect("defaults");
    let http = Http { address: ([0, 0, 0, 0], 8080).into(), auth: true, tls: Some(Certificate::Own) };
    assert_eq!(http.warning(), None);
    assert_eq!(shipped.expect("valid"), Settings { log_format: LogFormat::Json, http, ..default });
}

/// A tag may be moved to another image; that is nobody's to decide but the administrator's.
#[test]
fn placeholders_have_an_image_by_digest() {
    let config =
        documents(manifest("ConfigMap", "gangline")["data"]["config.yaml"].as_str().expect("a file")).remove(0);
    let image = config["placeholderImage"].as_str().expect("a text");
    let digest = image.split_once("@sha256:").expect("a digest").1;
    assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{image}");
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

/// Placeholders of other schedulers are not this release's to judge, and of its own nobody but its account makes any.
#[test]
fn forged_placeholders_are_those_of_our_names_that_others_make() {
    let policy = manifest("ValidatingAdmissionPolicy", "gangline-anti-forgery");
    let conditions = policy["spec"]["matchConditions"].as_array().expect("conditions").iter();
    let conditions: Vec<&str> = conditions.map(|one| one["expression"].as_str().expect("a text")).collect();
    let ours = format!("object.spec.?schedulerName.orValue('') in {}", json!([names::SCHEDULER]));
    let others =
        format!("!(request.userInfo.username in {})", json!(["system:serviceaccount:gangline-system:gangline"]));
    assert_eq!(conditions, [ours, others]);
}

/// The blocks of a page that are to be run.
fn commands_of(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```").expect("a block has an end").0.to_owned()).collect()
}

/// What is walked on real nodes (`e2e/real/walk.rs`) is what the README says, and the other way round.
#[test]
fn the_readme_begins_as_the_page_about_installing_does() {
    let (readme, page) = (commands_of(&read("README.md")), commands_of(&read("docs/install.md")));
    assert_eq!(readme.len(), 3, "{readme:#?}");
    assert_eq!(readme[..], page[..3]);
}

fn schema() -> Value {
    serde_json::from_str(&read("charts/gangline/values.schema.json")).expect("JSON")
}

/// What takes any field: values of charts above this one, and objects of Kubernetes' own that the chart hands on.
const OPEN: &str = "/definitions/open";

#[test]
fn no_level_of_the_values_takes_a_key_that_it_does_not_know() {
    let schema = schema();
    let mut open = Vec::new();
    let mut references = BTreeSet::new();
    walk(&schema, "", &mut |path, node| {
        let closed = node["additionalProperties"] == false || node["additionalProperties"].is_object();
        if node["type"] == "object" && !closed {
            open.push(path.to_owned());
        }
        if let Some(reference) = node["$ref"].as_str() {
            references.insert(reference.trim_start_matches('#').to_owned());
        }
    });
    assert_eq!(open, [OPEN], "an object with `properties` says additionalProperties: false");
    for reference in &references {
        assert!(schema.pointer(reference).is_some(), "{reference} is not defined");
    }
    let definitions = schema["definitions"].as_object().expect("definitions").keys();
    let defined: BTreeSet<String> = definitions.map(|name| format!("/definitions/{name}")).collect();
    assert_eq!(defined, references, "what is defined is used");
}

/// Shows each schema in a schema, with its path.
fn walk(node: &Value, path: &str, show: &mut impl FnMut(&str, &Value)) {
    match node {
        Value::Object(fields) => {
            show(path, node);
            fields.iter().for_each(|(name, field)| walk(field, &format!("{path}/{name}"), show));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, path, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_schema_has_the_values_and_the_values_have_the_schema() {
    let values = documents(&read("charts/gangline/values.yaml")).remove(0);
    same_keys(&values, &schema(), "");
}

/// The objects that the schema spells out where they stand have the same keys in `values.yaml`: each value is seen there with
/// its default.
fn same_keys(values: &Value, schema: &Value, path: &str) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let keys = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<BTreeSet<String>>();
    let mut known = keys(properties);
    if path.is_empty() {
        // Helm's own, from the charts above.
        assert!(known.remove("global"));
    }
    let given = keys(values.as_object().unwrap_or_else(|| panic!("{path} is no object")));
    assert_eq!(given, known, "{path}: values.yaml, and its schema");
    for key in known {
        same_keys(&values[&key], &properties[&key], &format!("{path}.{key}"));
    }
}

/// Flags win over the configuration file, which is what policies, roles and ports are made from.
#[cfg(feature = "runtime")]
#[test]
fn no_argument_contradicts_the_configuration() {
    use clap::CommandFactory;

    let schema = schema();
    let pattern = schema["properties"]["extraArgs"]["items"]["not"]["pattern"].as_str().expect("a pattern");
    let refused = regex::Regex::new(pattern).expect("a pattern");
    let command = gangline::runtime::args::CommandLine::command();
    let run = command.find_subcommand("run").expect("it runs");
    let flags: BTreeSet<&str> = run.get_arguments().filter_map(clap::Arg::get_long).collect();
    let allowed: Vec<&&str> = flags.iter().filter(|flag| !refused.is_match(&format!("--{flag}=x"))).collect();
    assert_eq!(allowed, [&"context", &"kubeconfig"], "other flags have a value in `config`");
    assert!(refused.is_match("--http") && !refused.is_match("--kubeconfig"));
}
