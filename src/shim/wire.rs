//! The one translation between calls and HTTP: [`Op`] to request, status and body to [`Outcome`].

use http::header::{CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderMap, Method, Request};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Preconditions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decode::seen;
use super::dialect::koordinator::{TIMED_OUT, TIMEOUT};
use super::dialect::pod_group::{PodGroupStatus, System};
use super::observation::{Outcome, Seen};
use super::op::{GroupEdit, Kind, Op};
use super::{escape, protobuf};
use crate::api::names::{GROUP, VERSION};
use crate::core::base::ids::{Key, Uid};

/// For so many seconds the server is asked to try, at most (its own default is 60), so that a late write is rarely later
/// than the patience of the executor.
pub const TRIES_SECONDS: u64 = 10;

/// The request of a call, which the server gives up after so many seconds; its URI is relative to the API server's address.
pub fn request(op: &Op, tries_seconds: u64) -> Request<Vec<u8>> {
    let (mut head, body) = describe(op).into_parts();
    // The writer of fields is named too.
    let manager = if head.method == Method::GET { "" } else { "fieldManager=gangline&" };
    let uri = format!("{}?{manager}timeout={tries_seconds}s", head.uri);
    head.uri = uri.parse().expect("every segment of the path is escaped");
    Request::from_parts(head, body)
}

/// Content type of a JSON patch.
const JSON_PATCH: &str = "application/json-patch+json";
/// What the path of an object's status ends with.
const STATUS: &str = "/status";

/// The request without its query.
fn describe(op: &Op) -> Request<Vec<u8>> {
    match op {
        Op::Bind { pod, uid, node, annotations } => {
            let metadata = protobuf::ObjectMeta {
                name: pod.name.to_string(),
                namespace: pod.namespace.to_string(),
                uid: uid.to_string(),
                annotations: annotations.clone(),
            };
            let target = protobuf::ObjectReference { kind: "Node".to_owned(), name: node.to_string() };
            let binding = protobuf::Binding { metadata: Some(metadata), target: Some(target) };
            build(Method::POST, &pod_path(pod, "/binding"), Some(protobuf::CONTENT), binding.to_body())
        }
        Op::DeletePod { pod, uid } => {
            let preconditions = Preconditions { uid: Some(uid.to_string()), resource_version: None };
            let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
            json_request(Method::DELETE, &pod_path(pod, ""), &options)
        }
        Op::FailPod { pod, uid, resource_version, reason, message } => {
            let metadata = json!({"uid": &*uid.0, "resourceVersion": resource_version.to_string()});
            let status = json!({"phase": "Failed", "reason": reason.name(), "message": &**message});
            pod_status_patch(pod, &metadata, &status)
        }
        Op::CreatePod(pod) => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            json_request(Method::POST, &format!("/api/v1/namespaces/{}/pods", segment(namespace)), pod)
        }
        Op::CreateTaskGroup(group) => {
            let namespace = segment(group.metadata.namespace.as_deref().unwrap_or_default());
            json_request(Method::POST, &format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/taskgroups"), group)
        }
        Op::EditTaskGroup { group, uid, generation, edit } => edit_task_group(group, uid, *generation, edit),
        Op::GetPod { pod } => build(Method::GET, &pod_path(pod, ""), None, Vec::new()),
        Op::PatchPodCondition { pod, uid, condition } => {
            pod_status_patch(pod, &json!({"uid": &*uid.0}), &json!({"conditions": [condition]}))
        }
        Op::AnnotateTimeout { pod, uid, timed_out } => annotate_timeout(pod, uid, *timed_out),
        Op::PatchTaskGroupStatus { group, uid, status } => {
            let namespace = segment(&group.namespace);
            let name = segment(&group.name);
            let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/taskgroups/{name}{STATUS}");
            status_patch(&path, uid, status)
        }
        Op::PatchQueueStatus { queue, uid, status } => {
            status_patch(&format!("/apis/{GROUP}/{VERSION}/queues/{}{STATUS}", segment(queue)), uid, status)
        }
        Op::PatchPodGroupStatus { system, group, uid, status, is_first } => {
            pod_group_status(*system, (group, uid), status, *is_first)
        }
        Op::CreateEvent(event) => {
            let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
            let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", segment(namespace));
            json_request(Method::POST, &path, event)
        }
    }
}

/// A wrong UID or generation is a 422.
fn edit_task_group(group: &Key, uid: &Uid, generation: i64, edit: &GroupEdit) -> Request<Vec<u8>> {
    let GroupEdit { min_member, total_member, mode, match_policy, wait_timeout_seconds } = edit;
    let fields = [
        ("minMember", Some(json!(min_member))),
        ("totalMember", Some(json!(total_member))),
        ("mode", mode.map(|mode| json!(mode))),
        ("matchPolicy", match_policy.map(|policy| json!(policy))),
        ("waitTimeoutSeconds", wait_timeout_seconds.map(|seconds| json!(seconds))),
    ];
    let add = |(field, value): (&str, Option<Value>)| {
        value.map(|value| json!({"op": "add", "path": format!("/spec/{field}"), "value": value}))
    };
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": &*uid.0}),
        json!({"op": "test", "path": "/metadata/generation", "value": generation}),
    ];
    patch.extend(fields.into_iter().filter_map(add));
    let (namespace, name) = (segment(&group.namespace), segment(&group.name));
    let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/taskgroups/{name}");
    build(Method::PATCH, &path, Some(JSON_PATCH), bytes(&patch))
}

/// Field by field: what else stands there is another's. Where nothing does, there is no place for fields.
fn pod_group_status(
    system: System,
    (group, uid): (&Key, &Uid),
    status: &PodGroupStatus,
    is_first: bool,
) -> Request<Vec<u8>> {
    let (namespace, name) = (segment(&group.namespace), segment(&group.name));
    let path = format!("/apis/{}/namespaces/{namespace}/podgroups/{name}", system.api_version());
    let resource = match system {
        // Their definitions (1.8, 1.15) have no such resource: there the status is a field like any other.
        System::Koordinator | System::Volcano => "",
        System::Coscheduling | System::Kubernetes => STATUS,
    };
    let path = format!("{path}{resource}");
    if let Some(condition) = &status.condition {
        return conditions_patch(&path, &json!({"uid": &*uid.0}), &json!({"conditions": [condition.written()]}));
    }
    if is_first {
        return status_patch(&path, uid, status);
    }
    let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": &*uid.0})];
    for (field, value) in value(status).as_object().into_iter().flatten() {
        patch.push(json!({"op": "add", "path": format!("/status/{field}"), "value": value}));
    }
    build(Method::PATCH, &path, Some(JSON_PATCH), bytes(&patch))
}

fn pod_status_patch(pod: &Key, metadata: &Value, status: &Value) -> Request<Vec<u8>> {
    conditions_patch(&pod_path(pod, STATUS), metadata, status)
}

/// Of kinds of Kubernetes: conditions are merged by type. A wrong UID is a 422 here ("field is immutable", of pods tried on 1.36),
/// a version that is not the latest a 409.
fn conditions_patch(path: &str, metadata: &Value, status: &Value) -> Request<Vec<u8>> {
    let patch = json!({"metadata": metadata, "status": status});
    build(Method::PATCH, path, Some("application/strategic-merge-patch+json"), bytes(&patch))
}

/// One annotation, and nothing else of the pod: the policy `self-restraint-pods` lets no more through. In a merge `null` takes it
/// away, also where it is not there. A wrong UID is a 422, as of the status (tried on 1.36).
fn annotate_timeout(pod: &Key, uid: &Uid, timed_out: bool) -> Request<Vec<u8>> {
    let patch = json!({"metadata": {"uid": &*uid.0, "annotations": {TIMEOUT: timed_out.then_some(TIMED_OUT)}}});
    build(Method::PATCH, &pod_path(pod, ""), Some("application/merge-patch+json"), bytes(&patch))
}

/// A JSON patch, not a merge patch: tried on 1.36, the status of a custom resource ignores `metadata.uid` in a merge
/// patch and writes to whatever bears the name now; and a merge keeps map entries that are not there any more.
/// A wrong UID is a 422.
fn status_patch(path: &str, uid: &Uid, status: &impl Serialize) -> Request<Vec<u8>> {
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": &*uid.0},
        {"op": "add", "path": "/status", "value": value(status)},
    ]);
    build(Method::PATCH, path, Some(JSON_PATCH), bytes(&patch))
}

fn json_request(method: Method, path: &str, body: &impl Serialize) -> Request<Vec<u8>> {
    build(method, path, Some("application/json"), bytes(body))
}

fn build(method: Method, path: &str, content: Option<&'static str>, body: Vec<u8>) -> Request<Vec<u8>> {
    let mut builder = Request::builder().method(method).uri(path);
    if let Some(content) = content {
        builder = builder.header(CONTENT_TYPE, content);
    }
    builder.body(body).expect("every segment of the path is escaped")
}

fn bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("Kubernetes objects have text keys only")
}

fn value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).expect("Kubernetes objects have text keys only")
}

fn pod_path(pod: &Key, subresource: &str) -> String {
    format!("/api/v1/namespaces/{}/pods/{}{subresource}", segment(&pod.namespace), segment(&pod.name))
}

/// A name as one segment of a path. The server's own names need no escaping; a forged one must not change the path.
fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            b'.' if name != "." && name != ".." => out.push('.'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The outcome of a call that was answered.
pub fn response(op: &Op, status: u16, headers: &HeaderMap, body: &[u8]) -> Outcome {
    match status {
        200..=299 => accepted(op, headers, body),
        code => refused(code, headers, body),
    }
}

fn accepted(op: &Op, headers: &HeaderMap, body: &[u8]) -> Outcome {
    match op {
        Op::PatchTaskGroupStatus { .. } | Op::PatchQueueStatus { .. } if drops_fields(headers) => Outcome::Pruned,
        // An answer to a GET that does not carry the pod answers nothing. Nor does such an answer to a creation: the
        // pod may be gone before a watch can show it.
        Op::CreatePod(_) | Op::GetPod { .. } => pod(body).map_or(Outcome::Unknown, |seen| Outcome::Ok(Some(seen))),
        Op::DeletePod { uid, .. } if is_last_state(uid, body) => Outcome::Removed,
        Op::Bind { .. }
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::DeletePod { .. }
        | Op::FailPod { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchTaskGroupStatus { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => Outcome::Ok(None),
    }
}

/// What we read of the answer to the DELETE of a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Deleted {
    kind: String,
    metadata: DeletedMeta,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeletedMeta {
    uid: String,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<String>>,
}

/// Whether a DELETE was answered by the last state of its pod: with no grace left and no finalizer, the server removes
/// the pod before it answers. A Status that says Success shows less: other kinds are answered so while they terminate,
/// too.
fn is_last_state(uid: &Uid, body: &[u8]) -> bool {
    let Ok(Deleted { kind, metadata }) = serde_json::from_slice::<Deleted>(body) else { return false };
    let is_held = metadata.finalizers.is_some_and(|all| !all.is_empty());
    kind == "Pod" && metadata.uid == *uid.0 && metadata.deletion_grace_period_seconds == Some(0) && !is_held
}

fn pod(body: &[u8]) -> Option<Box<Seen>> {
    std::str::from_utf8(body).ok().and_then(|json| seen(Kind::Pod, json)).map(Box::new)
}

/// What we read of a Status object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
}

fn refused(code: u16, headers: &HeaderMap, body: &[u8]) -> Outcome {
    // Proxies and the server's own last resorts answer in plain text.
    let status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| Status {
        message: String::from_utf8_lossy(body.get(..PLAIN_MAX).unwrap_or(body)).trim().to_owned(),
        ..Status::default()
    });
    Outcome::Refused {
        code,
        reason: escape::message(&status.reason),
        message: escape::message(&status.message),
        retry_after: retry_after(headers),
    }
}

/// Whether the server warns that it dropped a field (`299 - "unknown field \"status.selector\""`). It does so for every
/// field, unless it is told not to.
fn drops_fields(headers: &HeaderMap) -> bool {
    headers.get_all(WARNING).iter().any(|text| text.as_bytes().windows(13).any(|part| part == b"unknown field"))
}

/// Bytes of a plain-text answer that are read: enough for a proxy's error page to say what it is.
const PLAIN_MAX: usize = 256;

/// Seconds only: the API server sends no dates.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1000))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
