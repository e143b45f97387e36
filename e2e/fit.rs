//! What makes a pod fit a node, as kube-scheduler decides it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use crate::harness::context::{merge, node, phase};
use crate::harness::words::{is_bound, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("fit: a pod requests what kube-scheduler counts", Needs::Shared, requests),
        test("fit: node selectors, affinity and taints", Needs::Shared, constraints),
        test("fit: a host port is taken once on a node", Needs::Nodes(2), host_ports),
        test("fit: an unschedulable node gets nothing until it is schedulable", Needs::Nodes(1), unschedulable),
        test("fit: no more pods than a node may hold", Needs::Shared, pod_count),
        test("fit: a pod that ended frees its node", Needs::Nodes(1), ended),
        test("fit: a node that grows takes who waits", Needs::Nodes(1), grows),
    ]
}

/// Label of nodes that one case is about.
const CASE: &str = "e2e.gangline.dev/case";

/// Containers, init containers and the like, and what they need together: the least node on which they fit.
fn shapes() -> Vec<(&'static str, Value, Value)> {
    let container = |cpu: &str| json!({"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}});
    let named = |name: &str, cpu: &str, policy: Value| json!({"name": name, "image": "i", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}});
    let always = || json!("Always");
    vec![
        (
            "containers",
            json!({"containers": [container("1"), named("other", "500m", Value::Null)]}),
            json!({"cpu": "1500m"}),
        ),
        (
            "big-init",
            json!({"initContainers": [named("i", "3", Value::Null)], "containers": [container("1")]}),
            json!({"cpu": "3"}),
        ),
        (
            "sidecar",
            json!({"initContainers": [named("s", "1", always())], "containers": [container("1")]}),
            json!({"cpu": "2"}),
        ),
        (
            // An init container runs beside the sidecars that started before it.
            "sidecar-then-init",
            json!({"initContainers": [named("s", "1", always()), named("i", "2", Value::Null)], "containers": [container("1")]}),
            json!({"cpu": "3"}),
        ),
        (
            "init-then-sidecar",
            json!({"initContainers": [named("i", "2", Value::Null), named("s", "1", always())], "containers": [container("1")]}),
            json!({"cpu": "2"}),
        ),
        (
            "pod-level",
            json!({"resources": {"requests": {"cpu": "2500m"}}, "containers": [container("1")]}),
            json!({"cpu": "2500m"}),
        ),
        (
            "extended",
            json!({"containers": [{"name": "main", "image": "i", "resources": {
                "requests": {"cpu": "1", "example.com/gpu": 2}, "limits": {"example.com/gpu": 2}}}]}),
            json!({"cpu": "1", "example.com/gpu": "2"}),
        ),
        (
            // A limit without a request is the request.
            "limit",
            json!({"containers": [{"name": "main", "image": "i", "resources": {"limits": {"cpu": "1250m"}}}]}),
            json!({"cpu": "1250m"}),
        ),
        (
            "memory",
            json!({"containers": [{"name": "main", "image": "i", "resources": {"requests": {"memory": "1.5Gi"}}}]}),
            json!({"memory": "1536Mi"}),
        ),
    ]
}

/// Each shape fits the node of just its size and not one that is smaller by the least amount.
async fn requests(t: &mut Context) -> Result<()> {
    let runtime = runtime_class(t).await?;
    let container = json!({"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}});
    let mut shapes = shapes();
    shapes.push(("overhead", json!({"runtimeClassName": runtime, "containers": [container]}), json!({"cpu": "1250m"})));
    for (name, _, size) in &shapes {
        exact_nodes(t, name, size).await?;
    }
    for (name, spec, _) in &shapes {
        for suffix in ["fits", "short"] {
            let mut pod = t.pod(&format!("{name}-{suffix}"), "1", json!({}));
            merge(&mut pod["spec"], spec.clone());
            pod["spec"]["nodeSelector"][CASE] = json!(format!("{name}-{suffix}"));
            t.pods().create(pod).await?;
        }
    }
    let settled = |pods: &[&Pod]| {
        pods.len() == 2 * shapes.len() && pods.iter().all(|pod| is_bound(pod) || why_waits(pod).0 == "Unschedulable")
    };
    let pods = t.pods().wait_all("", "every pod is placed or Unschedulable", settled).await?;
    for pod in &pods {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        assert_eq!(is_bound(pod), name.ends_with("-fits"), "{name}: {:?}", why_waits(pod));
        assert!(is_bound(pod) || why_waits(pod).1.contains("Insufficient"), "{name}: {}", why_waits(pod).1);
    }
    use k8s_openapi::api::node::v1::RuntimeClass;
    t.everywhere::<RuntimeClass>().delete(&runtime).await
}

pub(crate) async fn runtime_class(t: &Context) -> Result<String> {
    use k8s_openapi::api::node::v1::RuntimeClass;
    let class = json!({"metadata": {"name": t.id}, "handler": "x", "overhead": {"podFixed": {"cpu": "250m"}}});
    t.everywhere::<RuntimeClass>().create(class).await?;
    Ok(t.id.clone())
}

/// A node of just this size, and one that lacks the least of it.
async fn exact_nodes(t: &mut Context, name: &str, size: &Value) -> Result<()> {
    let text = |size: &Value, key: &str| size[key].as_str().map(str::to_owned);
    let mut short = size.clone();
    let (key, less) = if size.get("example.com/gpu").is_some() {
        ("example.com/gpu", "1".to_owned())
    } else if let Some(cpu) = text(size, "cpu") {
        let milli = cpu.strip_suffix('m').map_or_else(|| format!("{cpu}000"), str::to_owned);
        ("cpu", format!("{}m", milli.parse::<u32>().unwrap_or_default() - 1))
    } else {
        ("memory", format!("{}", 1536 * 1024 * 1024 - 1))
    };
    short[key] = json!(less);
    for (suffix, size) in [("fits", size), ("short", &short)] {
        let case = format!("{name}-{suffix}");
        t.add_nodes(&case, 1, |nodes| {
            nodes.labels.insert(CASE.to_owned(), case.clone());
            nodes.cpu = text(size, "cpu").unwrap_or_else(|| "4".to_owned());
            nodes.memory = text(size, "memory").unwrap_or_else(|| "4Gi".to_owned());
            nodes.extended.extend(text(size, "example.com/gpu").map(|count| ("example.com/gpu".to_owned(), count)));
        })
        .await?;
    }
    Ok(())
}

/// Three nodes that differ; each pod says which of them it may be on.
async fn constraints(t: &mut Context) -> Result<()> {
    let mut names = Vec::new();
    for (name, zone, generation) in [("a", "north", "3"), ("b", "south", "5"), ("c", "", "x")] {
        let labels = [("zone", zone), ("gen", generation)].into_iter().filter(|(_, value)| !value.is_empty());
        let labels: Vec<_> = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let made = t.add_nodes(name, 1, |nodes| {
            nodes.labels.extend(labels);
            if name == "c" {
                nodes.taints.push(("special".to_owned(), "yes".to_owned(), "NoSchedule".to_owned()));
            }
        });
        names.push(made.await?.remove(0));
    }
    let cases = constraint_cases(t, &names);
    for (name, spec, _) in &cases {
        t.pods().create(t.pod(name, "10m", json!({"spec": spec}))).await?;
    }
    let settled = |pods: &[&Pod]| {
        pods.len() == cases.len() && pods.iter().all(|pod| is_bound(pod) || why_waits(pod).0 == "Unschedulable")
    };
    let pods = t.pods().wait_all("", "every pod is placed or Unschedulable", settled).await?;
    for (name, _, allowed) in &cases {
        let pod = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(name.as_str()));
        let on = pod.map(node).unwrap_or_default();
        let allowed: BTreeSet<&str> = allowed.chars().map(|c| names[usize::from(c as u8 - b'a')].as_str()).collect();
        assert_eq!(allowed.is_empty(), on.is_empty(), "{name} is on {on:?}");
        assert!(on.is_empty() || allowed.contains(on), "{name} is on {on}, but may be on {allowed:?}");
    }
    Ok(())
}

/// Name, spec, and the nodes (of a, b, c) that it allows.
fn constraint_cases(t: &Context, names: &[String]) -> Vec<(String, Value, &'static str)> {
    let expression = |key: &str, operator: &str, values: &[&str]| match values {
        [] => json!({"key": key, "operator": operator}),
        values => json!({"key": key, "operator": operator, "values": values}),
    };
    let terms = |terms: Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
    let one = |key: &str, operator: &str, values: &[&str]| {
        terms(json!([{"matchExpressions": [expression(key, operator, values)]}]))
    };
    let mut tolerations = t.placement()["tolerations"].as_array().cloned().unwrap_or_default();
    tolerations.push(json!({"key": "special", "operator": "Exists"}));
    let tolerant = |mut spec: Value| {
        spec["tolerations"] = json!(tolerations);
        spec
    };
    let field = |operator: &str| {
        terms(json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": [names[0]]}]}]))
    };
    let both = json!([{"matchExpressions": [expression("zone", "Exists", &[]), expression("gen", "In", &["5"])]}]);
    let either = json!([
        {"matchExpressions": [expression("zone", "In", &["west"])]}, {"matchExpressions": [expression("gen", "In", &["3"])]},
    ]);
    let cases = [
        ("free", json!({}), "ab"),
        ("selector", json!({"nodeSelector": {"zone": "south"}}), "b"),
        ("selector-none", json!({"nodeSelector": {"zone": "west"}}), ""),
        ("selector-tainted", json!({"nodeSelector": {"gen": "x"}}), ""),
        ("tolerant", tolerant(json!({"nodeSelector": {"gen": "x"}})), "c"),
        ("in", one("zone", "In", &["north", "west"]), "a"),
        ("not-in", one("zone", "NotIn", &["north"]), "b"),
        ("not-in-absent", tolerant(one("zone", "NotIn", &["north", "south"])), "c"),
        ("exists", one("zone", "Exists", &[]), "ab"),
        ("absent", one("zone", "DoesNotExist", &[]), ""),
        ("absent-tolerant", tolerant(one("zone", "DoesNotExist", &[])), "c"),
        ("greater", tolerant(one("gen", "Gt", &["4"])), "b"),
        ("less", tolerant(one("gen", "Lt", &["4"])), "a"),
        ("field", field("In"), "a"),
        ("not-field", field("NotIn"), "b"),
        ("all-of", terms(both), "b"),
        ("one-of", terms(either), "a"),
        ("empty-term", terms(json!([{}])), ""),
    ];
    cases.into_iter().map(|(name, spec, allowed)| (name.to_owned(), spec, allowed)).collect()
}

async fn host_ports(t: &mut Context) -> Result<()> {
    let ports = |port: u16, protocol: &str, address: &str| {
        let mut port = json!({"containerPort": 80, "hostPort": port, "protocol": protocol});
        if !address.is_empty() {
            port["hostIP"] = json!(address);
        }
        let resources = json!({"requests": {"cpu": "100m"}});
        json!({"spec": {"containers": [{"name": "main", "image": "i", "ports": [port], "resources": resources}]}})
    };
    // As a gang: two find nodes apart.
    t.group("web", 2, "100m", json!({"reservation": "Direct"})).await?;
    for number in 0..2 {
        t.member("web", number, "100m", ports(8080, "TCP", "")).await?;
    }
    let pods = t.wait_running("web", 2).await?;
    assert_ne!(node(&pods[0]), node(&pods[1]), "two pods with one port are on one node");
    for (name, patch) in [
        ("same", ports(8080, "TCP", "")),
        ("same-on-one-address", ports(8080, "TCP", "127.0.0.1")),
        ("other-protocol", ports(8080, "UDP", "")),
        ("other-port", ports(8081, "TCP", "")),
    ] {
        t.pods().create(t.pod(name, "100m", patch)).await?;
    }
    for name in ["other-protocol", "other-port"] {
        t.pods().wait(name, "runs", |pod| phase(pod) == "Running").await?;
    }
    for name in ["same", "same-on-one-address"] {
        let message = t.wait_pod_reason(name, "Unschedulable").await?;
        assert!(message.contains("free ports"), "{message}");
    }
    t.delete_members("web", 0..1).await?;
    let one = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == 4;
    t.pods().wait_all("", "one of them has the port", one).await.map(drop)
}

async fn unschedulable(t: &mut Context) -> Result<()> {
    let (nodes, name) = (t.everywhere::<Node>(), format!("{}-node-0", t.id));
    nodes.patch(&name, json!({"spec": {"unschedulable": true}})).await?;
    // The cordon is seen when a pod that came after it waits.
    t.group("pair", 2, "1", json!({"reservation": "Direct"})).await?;
    t.members("pair", 0..2, "1").await?;
    let group = t.wait_reason("pair", "WaitingForCapacity").await?;
    assert!(
        status(&group).message.starts_with("none of the 2 members of pair finds a node"),
        "{}",
        status(&group).message
    );
    let message = t.wait_pod_reason("pair-0", "Unschedulable").await?;
    assert!(message.contains("unschedulable"), "{message}");
    nodes.patch(&name, json!({"spec": {"unschedulable": false}})).await?;
    t.wait_running("pair", 2).await.map(drop)
}

async fn pod_count(t: &mut Context) -> Result<()> {
    t.add_nodes("small", 1, |nodes| nodes.pods = 2).await?;
    for name in ["one", "two"] {
        t.pods().create(t.pod(name, "10m", json!({}))).await?;
        t.pods().wait(name, "runs", |pod| phase(pod) == "Running").await?;
    }
    t.pods().create(t.pod("three", "10m", json!({}))).await?;
    let message = t.wait_pod_reason("three", "Unschedulable").await?;
    assert!(message.contains("Too many pods"), "{message}");
    t.pods().delete("one").await?;
    t.pods().wait("three", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

async fn ended(t: &mut Context) -> Result<()> {
    let short = json!({"metadata": {"annotations": {"gangline.dev/demo-run-for": "1ms"}}});
    t.pods().create(t.pod("short", "16", short)).await?;
    t.pods().wait("short", "succeeds", |pod| phase(pod) == "Succeeded").await?;
    t.pods().create(t.pod("next", "16", json!({}))).await?;
    t.pods().wait("next", "runs", |pod| phase(pod) == "Running").await.map(drop)
}

async fn grows(t: &mut Context) -> Result<()> {
    t.pods().create(t.pod("large", "20", json!({}))).await?;
    let message = t.wait_pod_reason("large", "Unschedulable").await?;
    assert!(message.contains("Insufficient cpu") && message.contains("4 cpu short"), "{message}");
    let name = format!("{}-node-0", t.id);
    t.everywhere::<Node>().patch_status(&name, json!({"allocatable": {"cpu": "20"}})).await?;
    t.pods().wait("large", "runs", |pod| phase(pod) == "Running").await.map(drop)
}
