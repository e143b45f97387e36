//! Pods are read in protobuf: what that reader takes out of a pod is what the API server says of it in JSON.

use std::collections::BTreeMap;

use gangline::shim::pod::{Served, ask_spec};
use gangline::shim::protobuf;
use http::{Request, header};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::fit::runtime_class;
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::{During, Result};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("encodings: a pod is the same in protobuf and in JSON", Needs::Shared, one_pod).without_gangline(),
        test("encodings: lists and refusals are read in protobuf", Needs::Shared, lists).without_gangline(),
    ]
}

/// The scheduler of these pods, which nobody runs.
const NOBODY: &str = "e2e-nobody";

/// A pod with everything that decides anything and that the API server keeps, and more.
fn everything() -> Value {
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}});
    let pod_terms = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]});
    let affinity = json!({
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}],
        }]}},
        "podAffinity": pod_terms, "podAntiAffinity": pod_terms,
    });
    let requests = json!({"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}});
    let ports = json!([{"containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "127.0.0.1"}, {"containerPort": 81}]);
    let container = |name: &str, more: Value| {
        let mut container = json!({"name": name, "image": "i", "resources": requests, "ports": ports});
        crate::harness::context::merge(&mut container, more);
        container
    };
    json!({
        "metadata": {
            "labels": {"gangline.dev/queue": "root.a", "empty": ""},
            "annotations": {"words": "\"quoted\"\n\u{1b}[31m ü", "empty": ""},
            "finalizers": ["e2e.gangline.dev/keep"],
        },
        "spec": {
            "schedulerName": NOBODY,
            "containers": [container("main", json!({}))],
            "initContainers": [container("first", json!({})), container("beside", json!({"restartPolicy": "Always"}))],
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "hostNetwork": false,
            "affinity": affinity,
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}, {"operator": "Exists"}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}],
            "schedulingGates": [{"name": "e2e.gangline.dev/gate"}],
            "resourceClaims": [{"name": "claim", "resourceClaimName": "c"}],
            "resources": {"requests": {"cpu": "9", "memory": "9Gi"}},
            "volumes": [
                {"name": "claimed", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "made", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
                {"name": "gce", "gcePersistentDisk": {"pdName": "d"}},
                {"name": "aws", "awsElasticBlockStore": {"volumeID": "d"}},
                {"name": "azure", "azureDisk": {"diskName": "d", "diskURI": "https://blob/d.vhd"}},
                {"name": "cinder", "cinder": {"volumeID": "d"}},
                {"name": "vsphere", "vsphereVolume": {"volumePath": "d"}},
                {"name": "portworx", "portworxVolume": {"volumeID": "d"}},
                {"name": "iscsi", "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:d", "lun": 0}},
                {"name": "rbd", "rbd": {"monitors": ["m"], "image": "d"}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    })
}

/// Volumes that are no matter of scheduling.
fn harmless_volumes() -> Value {
    json!([
        {"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/x"}}, {"name": "c", "configMap": {"name": "x"}},
        {"name": "d", "secret": {"secretName": "x"}}, {"name": "e", "nfs": {"server": "x", "path": "/x"}},
        {"name": "f", "projected": {"sources": []}}, {"name": "g", "downwardAPI": {"items": []}},
        {"name": "h", "csi": {"driver": "x"}}, {"name": "i", "image": {"reference": "x"}},
    ])
}

/// What a kubelet says of such a pod while it is resized.
fn kubelet_status() -> Value {
    let resources = json!({"requests": {"cpu": "2", "memory": "3Gi"}});
    let container = |name: &str| {
        json!({"name": name, "image": "i", "imageID": "", "ready": true, "restartCount": 0, "resources": resources,
            "allocatedResources": {"cpu": "1750m"}})
    };
    json!({
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "no room"},
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why"}],
        "containerStatuses": [container("main")],
        "initContainerStatuses": [container("first"), container("beside")],
        "resources": resources, "allocatedResources": {"cpu": "3"},
    })
}

/// What such a pod must have, or it would not show that a field is read.
const READ: &[&str] = &[
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/deletionGracePeriodSeconds",
    "/metadata/finalizers/0",
    "/metadata/ownerReferences/0/controller",
    "/metadata/annotations/words",
    "/metadata/labels/empty",
    "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0",
    "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0",
    "/spec/topologySpreadConstraints/0/whenUnsatisfiable",
    "/spec/schedulingGates/0",
    "/spec/resourceClaims/0",
    "/spec/resources/requests/cpu",
    "/spec/overhead/cpu",
    "/spec/priority",
    "/spec/containers/0/ports/0/hostIP",
    "/spec/initContainers/1/restartPolicy",
    "/spec/volumes/0/persistentVolumeClaim",
    "/spec/volumes/1/ephemeral",
    "/spec/volumes/2/gcePersistentDisk",
    "/spec/volumes/3/awsElasticBlockStore",
    "/spec/volumes/4/azureDisk",
    "/spec/volumes/5/cinder",
    "/spec/volumes/6/vsphereVolume",
    "/spec/volumes/7/portworxVolume",
    "/spec/volumes/8/iscsi",
    "/spec/volumes/9/rbd",
    "/status/phase",
    "/status/conditions/0/reason",
    "/status/conditions/1/status",
    "/status/conditions/1/message",
    "/status/containerStatuses/0/allocatedResources/cpu",
    "/status/initContainerStatuses/1/resources/requests/cpu",
    "/status/resources/requests/memory",
    "/status/allocatedResources/cpu",
];

async fn one_pod(t: &mut Context) -> Result<()> {
    let runtime = runtime_class(t).await?;
    // An owner that exists: the garbage collector deletes what belongs to nobody.
    let owner = t.everywhere::<RuntimeClass>().get(&runtime).await?.and_then(|class| class.metadata.uid);
    let owner = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "name": runtime, "uid": owner, "controller": true});
    let mut pod = t.pod("everything", "1", everything());
    pod["spec"]["runtimeClassName"] = json!(runtime);
    pod["metadata"]["ownerReferences"] = json!([owner]);
    t.pods().create(pod).await?;
    let path = format!("/api/v1/namespaces/{}/pods/everything", t.namespace);
    let pending = compare(&t.client, &path).await?;
    assert!(pending.pointer("/metadata/deletionTimestamp").is_none());
    t.pods().patch_status("everything", kubelet_status()).await?;
    // Its finalizer keeps it.
    t.pods().delete("everything").await?;
    let leaving = compare(&t.client, &path).await?;
    let missing: Vec<&str> = READ.iter().copied().filter(|path| leaving.pointer(path).is_none()).collect();
    assert!(missing.is_empty(), "not read: {missing:?} of {leaving:#}");
    t.pods().patch("everything", json!({"metadata": {"finalizers": null}})).await?;
    t.everywhere::<RuntimeClass>().delete(&runtime).await?;
    let plain = json!({"spec": {"schedulerName": NOBODY, "volumes": harmless_volumes()}});
    t.pods().create(t.pod("plain", "1", plain)).await?;
    let plain = compare(&t.client, &format!("/api/v1/namespaces/{}/pods/plain", t.namespace)).await?;
    let volumes = plain["spec"]["volumes"].as_array().into_iter().flatten();
    assert!(volumes.clone().count() > 8 && volumes.clone().all(|volume| volume.get("name").is_some()));
    let spec = json!({"spec": {"schedulerName": NOBODY, "nodeName": "nowhere", "hostNetwork": true}});
    t.pods().create(t.pod("bound", "1", spec)).await?;
    let bound = compare(&t.client, &format!("/api/v1/namespaces/{}/pods/bound", t.namespace)).await?;
    assert_eq!((&bound["spec"]["nodeName"], &bound["spec"]["hostNetwork"]), (&json!("nowhere"), &json!(true)));
    Ok(())
}

/// Reads a pod in both encodings; nothing differs but that protobuf's has only what is read. Returns the latter.
async fn compare(client: &Client, path: &str) -> Result<Value> {
    let (json, read) = loop {
        let (json, read) = both(client, path).await?;
        // Controllers may have changed it in between.
        if json["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"] {
            break (json, read);
        }
    };
    let (told, mut strange) = (leaves(&json), leaves(&read));
    // JSON leaves out most of what is 0 or false.
    let nothing = |leaf: &Value| matches!(leaf, Value::Bool(false)) || *leaf == json!(0);
    strange.retain(|path, leaf| told.get(path).map_or(!nothing(leaf), |told| told != leaf));
    assert!(strange.is_empty(), "not as in JSON: {strange:?}");
    let facts = |pod: &Value| {
        let pod: Pod = serde_json::from_value(pod.clone()).during("reading a pod")?;
        Ok(format!("{:?}", ask_spec(&pod, &Served::new([NOBODY]), None)))
    };
    assert_eq!(facts(&read)?, facts(&json)?);
    Ok(read)
}

async fn both(client: &Client, path: &str) -> Result<(Value, Value)> {
    let json = serde_json::from_slice(&get(client, path, "application/json").await?).during("reading JSON")?;
    let body = get(client, path, protobuf::CONTENT).await?;
    let read = protobuf::to_json(&body).during("reading protobuf")?;
    Ok((json, serde_json::from_slice(&read).during("reading what became of it")?))
}

/// Every text, number and so on in a value, by its path.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let under = |key: String, value| leaves(value).into_iter().map(move |(path, leaf)| (format!("/{key}{path}"), leaf));
    match value {
        Value::Object(map) => map.iter().flat_map(|(key, value)| under(key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().flat_map(|(at, value)| under(at.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            BTreeMap::from([(String::new(), value.clone())])
        }
    }
}

async fn lists(t: &mut Context) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/pods?limit=2", t.namespace);
    let none = protobuf::to_json(&get(&t.client, &path, protobuf::CONTENT).await?).during("reading an empty list")?;
    let none: Value = serde_json::from_slice(&none).during("reading what became of it")?;
    assert_eq!(none["items"], json!([]));
    for name in ["one", "two", "three"] {
        t.pods().create(t.pod(name, "1", json!({"spec": {"schedulerName": NOBODY}}))).await?;
    }
    let list = protobuf::to_json(&get(&t.client, &path, protobuf::CONTENT).await?).during("reading a list")?;
    let list: Value = serde_json::from_slice(&list).during("reading what became of it")?;
    let names: Vec<_> =
        list["items"].as_array().into_iter().flatten().map(|pod| pod["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["one", "three"]);
    assert_eq!(list["kind"], "PodList");
    assert!(list["metadata"]["continue"].is_string() && list["metadata"]["resourceVersion"].is_string(), "{list}");
    let refusal = get(&t.client, "/api/v1/namespaces/none/pods/none", protobuf::CONTENT).await?;
    let refusal = protobuf::to_json(&refusal).during("reading a refusal")?;
    let refusal: Value = serde_json::from_slice(&refusal).during("reading what became of it")?;
    let facts = [&refusal["kind"], &refusal["reason"], &refusal["code"], &refusal["message"]];
    assert_eq!(facts, [&json!("Status"), &json!("NotFound"), &json!(404), &json!("pods \"none\" not found")]);
    Ok(())
}

async fn get(client: &Client, path: &str, media: &str) -> Result<Vec<u8>> {
    let step = format!("GET {path} as {media}");
    let request = Request::get(path).header(header::ACCEPT, media).body(Body::empty()).during(&step)?;
    let answer = client.send(request).await.during(&step)?;
    Ok(answer.into_body().collect().await.during(step)?.to_bytes().to_vec())
}
