//! Requests to the letter, and every kind of answer.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::api::queue::QueueStatus;
use crate::api::task_group::{MatchPolicy, Mode, TaskGroupStatus};
use crate::core::codes::Code;
use crate::shim::dialect::kubernetes::InitiallyScheduled;
use crate::shim::observation::Body;

fn key() -> Key {
    Key::new("data", "worker-0")
}

fn uid() -> Uid {
    Uid::new("c4f15988")
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.into()), namespace: Some("data".into()), ..ObjectMeta::default() }
}

/// `METHOD uri content-type` and the body.
fn text(op: &Op) -> (String, Value) {
    let request = request(op, TRIES_SECONDS);
    let content = request.headers().get(CONTENT_TYPE).map_or("-", |value| value.to_str().unwrap());
    let head = format!("{} {} {content}", request.method(), request.uri());
    (head, serde_json::from_slice(request.body()).unwrap_or(Value::Null))
}

#[test]
fn a_binding_names_the_pod_its_uid_the_node_and_the_mark() {
    let annotations = BTreeMap::from([("gangline.dev/binding".to_owned(), "queue=root.a".to_owned())]);
    let op = Op::Bind { pod: key(), uid: uid(), node: "n1".into(), annotations: annotations.clone() };
    let (head, _) = text(&op);
    let line = "POST /api/v1/namespaces/data/pods/worker-0/binding?fieldManager=gangline&timeout=10s";
    assert_eq!(head, format!("{line} application/vnd.kubernetes.protobuf"));
    let (name, namespace, uid) = ("worker-0".into(), "data".into(), "c4f15988".into());
    let metadata = Some(protobuf::ObjectMeta { name, namespace, uid, annotations });
    let target = Some(protobuf::ObjectReference { kind: "Node".into(), name: "n1".into() });
    assert_eq!(request(&op, TRIES_SECONDS).body(), &protobuf::Binding { metadata, target }.to_body());
}

#[test]
fn a_status_that_is_kept_in_part_is_told() {
    let warned = |text: &str| HeaderMap::from_iter([(WARNING, text.parse().unwrap())]);
    let group = Op::PatchTaskGroupStatus { group: key(), uid: uid(), status: Box::default() };
    let queue = Op::PatchQueueStatus { queue: "root".into(), uid: uid(), status: Box::default() };
    let lacks = warned("299 - \"unknown field \\\"status.selector\\\"\"");
    for (op, headers, pruned) in [
        (&group, &lacks, true),
        (&queue, &lacks, true),
        (&Op::DeletePod { pod: key(), uid: uid() }, &lacks, false),
        (&group, &warned("299 - \"deprecated\""), false),
        (&group, &HeaderMap::new(), false),
    ] {
        assert_eq!(matches!(response(op, 200, headers, b"{}"), Outcome::Pruned), pruned, "{op:?} {headers:?}");
    }
}

#[test]
fn of_pod_groups_and_of_what_is_made_of_them_as_much_is_written_as_may_be() {
    let status = |scheduled| PodGroupStatus { phase: "Running".into(), scheduled, running: 2, ..Default::default() };
    let table = [
        (
            Op::EditTaskGroup {
                group: Key::new("data", "g"),
                uid: uid(),
                generation: 2,
                edit: GroupEdit {
                    min_member: 3,
                    total_member: 4,
                    mode: Some(Mode::NonStrict),
                    match_policy: Some(MatchPolicy::OnlyWaiting),
                    wait_timeout_seconds: Some(60),
                },
            },
            "PATCH /apis/gangline.dev/v1alpha1/namespaces/data/taskgroups/g?fieldManager=gangline&timeout=10s \
             application/json-patch+json",
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "c4f15988"},
                {"op": "test", "path": "/metadata/generation", "value": 2},
                {"op": "add", "path": "/spec/minMember", "value": 3},
                {"op": "add", "path": "/spec/totalMember", "value": 4},
                {"op": "add", "path": "/spec/mode", "value": "NonStrict"},
                {"op": "add", "path": "/spec/matchPolicy", "value": "OnlyWaiting"},
                {"op": "add", "path": "/spec/waitTimeoutSeconds", "value": 60},
            ]),
        ),
        (
            Op::PatchPodGroupStatus {
                system: System::Coscheduling,
                group: Key::new("data", "g"),
                uid: uid(),
                status: status(None),
                is_first: true,
            },
            "PATCH /apis/scheduling.x-k8s.io/v1alpha1/namespaces/data/podgroups/g/status?fieldManager=gangline&timeout=10s \
             application/json-patch+json",
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "c4f15988"},
                {
                    "op": "add", "path": "/status",
                    "value": {"phase": "Running", "running": 2, "succeeded": 0, "failed": 0},
                },
            ]),
        ),
        (
            Op::PatchPodGroupStatus {
                system: System::Koordinator,
                group: Key::new("data", "g"),
                uid: uid(),
                status: status(Some(2)),
                is_first: false,
            },
            "PATCH /apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/data/podgroups/g?fieldManager=gangline&timeout=10s \
             application/json-patch+json",
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "c4f15988"},
                {"op": "add", "path": "/status/failed", "value": 0},
                {"op": "add", "path": "/status/phase", "value": "Running"},
                {"op": "add", "path": "/status/running", "value": 2},
                {"op": "add", "path": "/status/scheduled", "value": 2},
                {"op": "add", "path": "/status/succeeded", "value": 0},
            ]),
        ),
    ];
    for (op, head, body) in table {
        assert_eq!(text(&op), (head.to_owned(), body));
    }
}

/// It has no time to wait, and no resource of its own for its status.
#[test]
fn of_volcanos_pod_groups_no_more_is_written_either() {
    let (group, uid) = (|| Key::new("data", "g"), || Uid::new("c4f15988"));
    let edit = GroupEdit { min_member: 3, total_member: 3, ..GroupEdit::default() };
    let edit = Op::EditTaskGroup { group: group(), uid: uid(), generation: 2, edit };
    let of_generation = json!({"op": "test", "path": "/metadata/generation", "value": 2});
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "c4f15988"});
    let (_, body) = text(&edit);
    let of_spec = |field: &str| json!({"op": "add", "path": format!("/spec/{field}"), "value": 3});
    assert_eq!(body, json!([test, of_generation, of_spec("minMember"), of_spec("totalMember")]));
    let status = PodGroupStatus { phase: "Inqueue".to_owned(), ..Default::default() };
    let system = System::Volcano;
    let (head, body) = text(&Op::PatchPodGroupStatus { system, group: group(), uid: uid(), status, is_first: false });
    let expected = "PATCH /apis/scheduling.volcano.sh/v1beta1/namespaces/data/podgroups/g?fieldManager=gangline&timeout=10s \
                    application/json-patch+json";
    assert_eq!(head, expected);
    let add = |field: &str, value: Value| json!({"op": "add", "path": format!("/status/{field}"), "value": value});
    let counts = ["running", "succeeded"].map(|field| add(field, json!(0)));
    assert_eq!(body, json!([test, add("failed", json!(0)), add("phase", json!("Inqueue")), counts[0], counts[1]]));
}

/// One condition, which the server merges with those of others.
#[test]
fn of_pod_groups_of_kubernetes_one_condition_is_written() {
    let condition = InitiallyScheduled {
        holds: false,
        reason: Code::Unschedulable.name().to_owned(),
        message: "1 of 3 lack cpu".to_owned(),
        since: "2026-01-01T00:00:00Z".to_owned(),
    };
    let status = PodGroupStatus { condition: Some(condition), ..Default::default() };
    let (system, group) = (System::Kubernetes, Key::new("data", "g"));
    let (head, body) = text(&Op::PatchPodGroupStatus { system, group, uid: uid(), status, is_first: true });
    let expected = "PATCH /apis/scheduling.k8s.io/v1beta1/namespaces/data/podgroups/g/status?fieldManager=gangline&timeout=10s \
                    application/strategic-merge-patch+json";
    assert_eq!(head, expected);
    let condition = json!({
        "type": "PodGroupInitiallyScheduled", "status": "False", "reason": Code::Unschedulable.name(),
        "message": "1 of 3 lack cpu", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": null,
    });
    assert_eq!(body, json!({"metadata": {"uid": "c4f15988"}, "status": {"conditions": [condition]}}));
}

#[test]
fn requests_are_what_the_server_expects() {
    let pod = Pod { metadata: metadata("tg-0a1b"), ..Pod::default() };
    let condition = PodCondition { type_: "PodScheduled".into(), status: "False".into(), ..Default::default() };
    let status = TaskGroupStatus { incarnation: 2, ..Default::default() };
    let table = [
        (
            Op::DeletePod { pod: key(), uid: uid() },
            "DELETE /api/v1/namespaces/data/pods/worker-0?fieldManager=gangline&timeout=10s application/json",
            json!({"preconditions": {"uid": "c4f15988"}}),
        ),
        (
            Op::FailPod {
                pod: key(),
                uid: uid(),
                resource_version: NonZeroU64::new(7).unwrap(),
                reason: Code::PlaceholderTimeout,
                message: "\"too\" late".into(),
            },
            "PATCH /api/v1/namespaces/data/pods/worker-0/status?fieldManager=gangline&timeout=10s \
             application/strategic-merge-patch+json",
            json!({
                "metadata": {"uid": "c4f15988", "resourceVersion": "7"},
                "status": {"phase": "Failed", "reason": Code::PlaceholderTimeout.name(), "message": "\"too\" late"},
            }),
        ),
        (
            Op::CreatePod(Box::new(pod)),
            "POST /api/v1/namespaces/data/pods?fieldManager=gangline&timeout=10s application/json",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tg-0a1b", "namespace": "data"}}),
        ),
        (Op::GetPod { pod: key() }, "GET /api/v1/namespaces/data/pods/worker-0?timeout=10s -", Value::Null),
        (
            Op::PatchPodCondition { pod: key(), uid: uid(), condition: Box::new(condition) },
            "PATCH /api/v1/namespaces/data/pods/worker-0/status?fieldManager=gangline&timeout=10s \
             application/strategic-merge-patch+json",
            json!({
                "metadata": {"uid": "c4f15988"},
                "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]},
            }),
        ),
        (
            Op::PatchTaskGroupStatus { group: Key::new("data", "g"), uid: uid(), status: Box::new(status.clone()) },
            "PATCH /apis/gangline.dev/v1alpha1/namespaces/data/taskgroups/g/status?fieldManager=gangline&timeout=10s \
             application/json-patch+json",
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "c4f15988"},
                {"op": "add", "path": "/status", "value": status},
            ]),
        ),
        (
            Op::PatchQueueStatus { queue: "root.data".into(), uid: uid(), status: Box::default() },
            "PATCH /apis/gangline.dev/v1alpha1/queues/root.data/status?fieldManager=gangline&timeout=10s \
             application/json-patch+json",
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "c4f15988"},
                {"op": "add", "path": "/status", "value": QueueStatus::default()},
            ]),
        ),
        (
            Op::CreateEvent(Box::new(Event { metadata: metadata("e.1"), ..Event::default() })),
            "POST /apis/events.k8s.io/v1/namespaces/data/events?fieldManager=gangline&timeout=10s application/json",
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e.1", "namespace": "data"},
            }),
        ),
    ];
    for (op, head, body) in table {
        assert_eq!(text(&op), (head.to_owned(), body));
    }
}

#[test]
fn that_a_gang_has_timed_out_is_one_annotation() {
    for (timed_out, value) in [(true, json!("true")), (false, Value::Null)] {
        let (head, body) = text(&Op::AnnotateTimeout { pod: key(), uid: uid(), timed_out });
        let expected = "PATCH /api/v1/namespaces/data/pods/worker-0?fieldManager=gangline&timeout=10s application/merge-patch+json";
        let annotations = json!({"gang.scheduling.koordinator.sh/timeout": value});
        assert_eq!((&*head, body), (expected, json!({"metadata": {"uid": "c4f15988", "annotations": annotations}})));
    }
}

#[test]
fn a_forged_name_does_not_change_the_path() {
    for (name, path) in [("../../nodes/n1", "..%2F..%2Fnodes%2Fn1"), ("a?b#c%2e", "a%3Fb%23c%252e"), ("..", "%2E%2E")] {
        let uri = request(&Op::GetPod { pod: Key::new("ns", name) }, TRIES_SECONDS).uri().to_string();
        assert_eq!(uri, format!("/api/v1/namespaces/ns/pods/{path}?timeout=10s"));
    }
}

fn answer(op: &Op, status: u16, body: &str) -> Outcome {
    response(op, status, &HeaderMap::new(), body.as_bytes())
}

fn create() -> Op {
    Op::CreatePod(Box::default())
}

#[test]
fn success_carries_the_pod_where_it_is_read() {
    let body = r#"{"kind":"Pod","metadata":{"name":"worker-0","namespace":"data","uid":"u","resourceVersion":"7"}}"#;
    for (op, status) in [(create(), 201), (Op::GetPod { pod: key() }, 200)] {
        let Outcome::Ok(Some(seen)) = answer(&op, status, body) else { panic!("{op:?}") };
        assert_eq!((seen.key.clone(), seen.rv), (key(), 7));
        assert!(matches!(seen.body, Ok(Body::Pod(_))));
    }
    let bind = Op::Bind { pod: key(), uid: uid(), node: "n1".into(), annotations: BTreeMap::new() };
    assert!(matches!(answer(&bind, 201, r#"{"kind":"Status","code":201}"#), Outcome::Ok(None)));
    assert!(matches!(answer(&create(), 201, "garbage"), Outcome::Unknown), "it is looked into");
    assert!(matches!(answer(&Op::GetPod { pod: key() }, 200, "garbage"), Outcome::Unknown));
}

/// The pod while it is being deleted with so much grace, as it becomes of protobuf.
fn from_protobuf(grace: u8, finalizer: &str) -> String {
    let field = |number: u8, bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[(number << 3) | 2, length][..], bytes].concat()
    };
    let name = [field(1, b"worker-0"), field(5, b"c4f15988")].concat();
    let mut metadata = [name, field(9, b"\x08\x3c"), vec![10 << 3, grace]].concat();
    if !finalizer.is_empty() {
        metadata.extend(field(14, finalizer.as_bytes()));
    }
    let type_meta = [field(1, b"v1"), field(2, b"Pod")].concat();
    let body = [b"k8s\0".to_vec(), field(1, &type_meta), field(2, &field(1, &metadata))].concat();
    String::from_utf8(protobuf::to_json(&body).unwrap()).unwrap()
}

/// As a real server answers: with the pod in its last state, if it is gone.
#[test]
fn a_deletion_is_told_from_its_beginning() {
    let pod = |meta: &str| format!(r#"{{"kind":"Pod","metadata":{{"name":"worker-0","uid":"c4f15988",{meta}}}}}"#);
    let terminates = r#""deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds""#;
    for (body, removed) in [
        (pod(&format!("{terminates}:0")), true),
        (pod(&format!(r#"{terminates}:0,"finalizers":[]"#)), true),
        (pod(&format!(r#"{terminates}:0,"finalizers":["example.com/keep"]"#)), false),
        (pod(&format!("{terminates}:30")), false),
        (from_protobuf(0, ""), true),
        (from_protobuf(0, "example.com/keep"), false),
        (from_protobuf(30, ""), false),
        (pod(r#""labels":{}"#), false),
        (pod(&format!("{terminates}:0")).replace("c4f15988", "other"), false),
        (r#"{"kind":"Status","status":"Success","details":{"name":"worker-0","uid":"c4f15988"}}"#.to_owned(), false),
        ("garbage".to_owned(), false),
    ] {
        let outcome = answer(&Op::DeletePod { pod: key(), uid: uid() }, 200, &body);
        assert!(matches!(outcome, Outcome::Removed | Outcome::Ok(None)), "{outcome:?}");
        assert_eq!(matches!(outcome, Outcome::Removed), removed, "{body}");
    }
}

#[test]
fn errors_keep_code_reason_and_message() {
    let status = r#"{"kind":"Status","reason":"Forbidden","message":"pods \"x\" is forbidden\n","code":403}"#;
    for code in [400, 401, 403, 404, 408, 409, 410, 422, 429, 500, 502, 503, 504] {
        let Outcome::Refused { code: got, reason, message, retry_after } = answer(&create(), code, status) else {
            panic!("{code}")
        };
        assert_eq!((got, &*reason, retry_after), (code, "Forbidden", None));
        assert_eq!(&*message, "pods \"x\" is forbidden\\n");
    }
    for (body, expected) in [("404 page not found\n", "404 page not found"), ("", ""), ("\u{1b}[2J", "\\u{1b}[2J")] {
        let Outcome::Refused { message, .. } = answer(&create(), 404, body) else { panic!("{body}") };
        assert_eq!(&*message, expected);
    }
    let page = "é".repeat(5_000);
    let Outcome::Refused { message, .. } = answer(&create(), 502, &page) else { panic!("refused") };
    assert!(message.chars().count() <= PLAIN_MAX);
}

#[test]
fn retry_after_is_read_in_seconds() {
    for (value, expected) in [("1", Some(1_000)), (" 30 ", Some(30_000)), ("Wed, 21 Oct 2026 07:28:00 GMT", None)] {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
        let Outcome::Refused { retry_after, .. } = response(&create(), 429, &headers, b"{}") else { panic!("refused") };
        assert_eq!(retry_after, expected, "{value}");
    }
}
