//! Tests of what is shipped: the scheduler needs the rights that it is given, and no other.

use std::collections::BTreeSet;
use std::fs;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use serde_json::{Value, json};

use crate::access::{self, Guarded};
use crate::harness::context::phase;
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::{During, Result};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("install: every right of the role is used, and none was missing", Needs::Nodes(1), rights)
            .last()
            .audited(),
        test("install: the examples are taken as they are", Needs::Shared, examples).without_gangline(),
    ]
}

/// Group, resource with its subresource, verb.
pub(crate) type Right = (String, String, String);

/// What only a call in doubt needs: others than this test see to it.
const IN_DOUBT: (&str, &str, &str) = ("", "pods", "get");

/// Goes through everything that the scheduler writes; then the audit log tells of the whole run until now.
async fn rights(t: &mut Context) -> Result<()> {
    let queue = t.queue(json!({"cpu": "4"})).await?;
    t.group("work", 2, "1", json!({"placeholderFor": "all", "queue": queue})).await?;
    t.members("work", 0..2, "1").await?;
    t.wait_running("work", 2).await?;
    t.wait_no_placeholders().await?;
    t.pods().create(t.pod("never", "64", json!({}))).await?;
    t.wait_pod_reason("never", "Unschedulable").await?;
    let told = |events: &[&k8s_openapi::api::events::v1::Event]| !events.is_empty();
    t.objects::<k8s_openapi::api::events::v1::Event>().wait_all("", "an event tells", told).await?;
    let groups = r#"[{"name": "g", "minMember": 1, "minResource": {"cpu": "1"}}]"#;
    let annotations = json!({"yunikorn.apache.org/task-groups": groups, "yunikorn.apache.org/task-group-name": "g"});
    let metadata = json!({"labels": {"applicationId": "other"}, "annotations": annotations});
    t.pods().create(t.pod("declares", "1", json!({"metadata": metadata}))).await?;
    t.pods().wait("declares", "runs", |pod| phase(pod) == "Running").await?;
    somebody_asks(t).await?;
    let counted = |queue: &gangline::api::queue::Queue| queue.status.is_some();
    t.everywhere::<gangline::api::queue::Queue>().wait(&queue, "has a status", counted).await?;

    let (used, denied) = asked_for(t)?;
    assert!(denied.is_empty(), "denied: {denied:#?}");
    let role = t.everywhere::<ClusterRole>().get("gangline").await?;
    let mut idle = rights_of(role.and_then(|role| role.rules).unwrap_or_default().iter());
    assert!(idle.len() > 10, "{idle:?}");
    idle.retain(|right| !used.contains(right));
    idle.remove(&(IN_DOUBT.0.to_owned(), IN_DOUBT.1.to_owned(), IN_DOUBT.2.to_owned()));
    assert!(idle.is_empty(), "granted and not used: {idle:#?}");
    Ok(())
}

/// A right that was lacking, and the refusal.
type Lack = (Right, String);

/// The rights that the scheduler's requests so far needed, and those that it lacked.
pub(crate) fn asked_for(t: &Context) -> Result<(BTreeSet<Right>, BTreeSet<Lack>)> {
    let plane = t.cluster.plane.as_ref().expect("a test that reads the audit log has it");
    let audit = fs::read_to_string(plane.audit_log()).during("reading the audit log")?;
    let mut used = BTreeSet::new();
    let mut denied = BTreeSet::new();
    // The last line may be half written.
    for event in audit.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if event["user"]["username"] != "system:serviceaccount:gangline-system:gangline" {
            continue;
        }
        let right = right(&event);
        let refusal = event["responseStatus"]["message"].as_str().unwrap_or_default();
        // One test has a webhook change placeholders, so that they are refused.
        let by_policy = refusal.contains("ValidatingAdmissionPolicy") && !refusal.contains("tg-meshed-");
        if event["annotations"]["authorization.k8s.io/decision"] == "forbid" || by_policy {
            denied.insert((right.clone(), refusal.to_owned()));
        }
        used.insert(right);
    }
    Ok((used, denied))
}

/// Somebody asks who may not: the API server says whose the token is, and that they may not.
async fn somebody_asks(t: &Context) -> Result<()> {
    let guarded = Guarded::start(t, None).await?;
    let (token, _) = access::account(t, "curious").await?;
    assert_eq!(guarded.get("/metrics", &token).await?.0, 403);
    guarded.end(t).await
}

fn right(event: &Value) -> Right {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["objectRef"];
    let (resource, subresource) = (text(&object["resource"]), text(&object["subresource"]));
    let resource = if subresource.is_empty() { resource } else { format!("{resource}/{subresource}") };
    (text(&object["apiGroup"]), resource, text(&event["verb"]))
}

/// The rights that rules grant.
pub(crate) fn rights_of<'a>(rules: impl Iterator<Item = &'a PolicyRule>) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
            }
        }
    }
    rights
}

/// Every example is valid where it is applied; nothing of it is kept.
async fn examples(t: &mut Context) -> Result<()> {
    t.cluster.install().await?;
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for file in fs::read_dir(&dir).during("listing the examples")?.flatten() {
        let text = fs::read_to_string(file.path()).during("reading an example")?;
        // The gang group names the namespace that the example is for.
        let text = text.replace("default/", &format!("{}/", t.namespace));
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).during(file.path().display().to_string())?;
        for document in documents.into_iter().filter(|document| !document.is_null()) {
            dry_run(t, document).await?;
            count += 1;
        }
    }
    assert!(count > 15, "only {count} objects");
    Ok(())
}

async fn dry_run(t: &Context, document: Value) -> Result<()> {
    use kube::api::{Api, ApiResource, DynamicObject, PostParams};
    use kube::core::GroupVersionKind;
    let object: DynamicObject = serde_json::from_value(document).during("reading an object")?;
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types).during("reading a kind")?;
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match types.kind.as_str() {
        "Queue" => Api::all_with(t.client.clone(), &resource),
        _ => Api::namespaced_with(t.client.clone(), &t.namespace, &resource),
    };
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let step = format!("creating {} {}", types.kind, object.metadata.name.as_deref().unwrap_or_default());
    api.create(&params, &object).await.during(step).map(drop)
}
