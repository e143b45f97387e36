//! What a pod requests, as kube-scheduler computes it (component-helpers 0.36 `resource.PodRequests`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as KubeQuantity;

use super::quantity::Quantity;
use crate::core::base::resources::{PODS, Resources};

/// A resource list as the API holds it.
type Listed = BTreeMap<String, KubeQuantity>;
/// A resource list being computed.
type Requests<'a> = BTreeMap<&'a str, Quantity>;

/// The pod's request: containers, init containers and sidecars at their worst moment, pod-level resources, overhead,
/// one pod. Of a pod that is resized in place, the larger of wanted, allocated and actual, as kube-scheduler 1.36 does.
pub fn of_pod(pod: &Pod) -> Resources {
    let Some(spec) = &pod.spec else { return Resources::pod(0, 0) };
    let status = pod.status.as_ref();
    let mut sum = of_containers(spec, status);
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    replace_by_pod_level(&mut sum, requests, status);
    add(&mut sum, &read(spec.overhead.as_ref()));
    let mut resources = to_resources(&sum);
    resources.base[PODS] = 1;
    resources
}

/// What is offered, in the core's units: cpu in millicores, others in whole units, rounded up, never below 0. What
/// cannot be read is nothing.
pub fn of_offer(list: &Listed) -> Resources {
    to_resources(&read_or(Some(list), Quantity::ZERO))
}

/// One amount in the core's units: cpu in millicores, others in whole units, rounded up.
pub fn amount(resource: &str, quantity: Quantity) -> i64 {
    if resource == "cpu" { quantity.milli_value() } else { quantity.value() }
}

fn to_resources(list: &Requests<'_>) -> Resources {
    let mut resources = Resources::default();
    for (name, quantity) in list {
        resources.set(name, amount(name, *quantity).max(0));
    }
    resources
}

/// A request that cannot be read (the API server admits none) counts as more than anything has.
fn read(list: Option<&Listed>) -> Requests<'_> {
    read_or(list, Quantity::MAX)
}

fn read_or(list: Option<&Listed>, unreadable: Quantity) -> Requests<'_> {
    let amount = |quantity: &KubeQuantity| quantity.0.parse().unwrap_or(unreadable);
    list.into_iter().flatten().map(|(name, quantity)| (name.as_str(), amount(quantity))).collect()
}

fn add<'a>(sum: &mut Requests<'a>, more: &Requests<'a>) {
    for (name, amount) in more {
        let total = sum.entry(name).or_insert(Quantity::ZERO);
        *total = total.plus(*amount);
    }
}

fn raise<'a>(max: &mut Requests<'a>, other: &Requests<'a>) {
    for (name, amount) in other {
        let larger = max.entry(name).or_insert(*amount);
        *larger = (*larger).max(*amount);
    }
}

/// The sum of containers and sidecars, or the largest moment of initialisation: the sidecars started so far plus one
/// init container (KEP-753).
fn of_containers<'a>(spec: &'a PodSpec, status: Option<&'a PodStatus>) -> Requests<'a> {
    let mut sum = Requests::new();
    for container in &spec.containers {
        add(&mut sum, &of_container(container, status));
    }
    let (mut sidecars, mut start) = (Requests::new(), Requests::new());
    for container in spec.init_containers.iter().flatten() {
        let moment = if is_sidecar(container) {
            let request = of_container(container, status);
            add(&mut sum, &request);
            add(&mut sidecars, &request);
            sidecars.clone()
        } else {
            let mut moment = read(requests(container.resources.as_ref()));
            add(&mut moment, &sidecars);
            moment
        };
        raise(&mut start, &moment);
    }
    raise(&mut sum, &start);
    sum
}

/// Whether an init container runs as long as the pod does.
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn requests(resources: Option<&ResourceRequirements>) -> Option<&Listed> {
    resources.and_then(|resources| resources.requests.as_ref())
}

fn of_container<'a>(container: &'a Container, status: Option<&'a PodStatus>) -> Requests<'a> {
    let wanted = requests(container.resources.as_ref());
    let seen = status.and_then(|status| container_status(status, &container.name));
    match (status, seen) {
        (Some(status), Some(ContainerStatus { resources: Some(actual), allocated_resources, .. })) => {
            effective(wanted, actual.requests.as_ref(), allocated_resources.as_ref(), status)
        }
        _ => read(wanted),
    }
}

fn container_status<'a>(status: &'a PodStatus, name: &str) -> Option<&'a ContainerStatus> {
    let both = status.init_container_statuses.iter().chain(&status.container_statuses);
    both.flatten().find(|container| container.name == name)
}

/// Pod-level requests of cpu, memory and huge pages take the place of the containers' sums.
fn replace_by_pod_level<'a>(sum: &mut Requests<'a>, wanted: Option<&'a Listed>, status: Option<&'a PodStatus>) {
    let effective = match status {
        Some(status @ PodStatus { resources: Some(actual), .. }) => {
            effective(wanted, actual.requests.as_ref(), status.allocated_resources.as_ref(), status)
        }
        Some(_) | None => read(wanted),
    };
    for name in wanted.into_iter().flatten().map(|(name, _)| name.as_str()) {
        if name == "cpu" || name == "memory" || name.starts_with("hugepages-") {
            sum.insert(name, effective.get(name).copied().unwrap_or(Quantity::ZERO));
        }
    }
}

/// Of a resize: what is wanted counts too, unless the kubelet said that it is infeasible.
fn effective<'a>(
    wanted: Option<&'a Listed>,
    actual: Option<&'a Listed>,
    allocated: Option<&'a Listed>,
    status: &PodStatus,
) -> Requests<'a> {
    let mut largest = read(actual);
    raise(&mut largest, &read(allocated));
    if !is_infeasible(status) {
        raise(&mut largest, &read(wanted));
    }
    largest
}

fn is_infeasible(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    let resize = conditions.find(|condition| condition.type_ == "PodResizePending");
    resize.is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn container(name: &str, requests: &Value) -> Value {
        json!({"name": name, "resources": {"requests": requests}})
    }

    fn sidecar(name: &str, requests: &Value) -> Value {
        json!({"name": name, "restartPolicy": "Always", "resources": {"requests": requests}})
    }

    fn resized(wanted: &str, actual: &str, allocated: &str, conditions: &Value) -> Value {
        json!({
            "spec": {"containers": [container("a", &json!({"cpu": wanted}))]},
            "status": {"conditions": conditions, "containerStatuses": [{
                "name": "a", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated},
            }]},
        })
    }

    #[test]
    fn requests_are_what_kube_scheduler_computes() {
        let infeasible = json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        let table = [
            ("nothing is requested", json!({"spec": {"containers": [{"name": "a"}]}}), vec![]),
            (
                "containers add up, cpu is rounded up to millicores and bytes to whole ones",
                json!({"spec": {"containers": [
                    container("a", &json!({"cpu": "100.5m", "memory": "1.5", "example.com/gpu": "1"})),
                    container("b", &json!({"cpu": "0.1m", "ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi"})),
                ]}}),
                vec![
                    ("cpu", 101),
                    ("memory", 2),
                    ("example.com/gpu", 1),
                    ("ephemeral-storage", 1 << 30),
                    ("hugepages-2Mi", 4 << 20),
                ],
            ),
            (
                "an init container counts with the sidecars before it, not with those after it",
                json!({"spec": {
                    "containers": [container("a", &json!({"cpu": "1", "memory": "1Gi"}))],
                    "initContainers": [
                        container("i", &json!({"cpu": "3", "memory": "1"})),
                        sidecar("s", &json!({"cpu": "500m"})),
                        container("j", &json!({"cpu": "3"})),
                        sidecar("t", &json!({"cpu": "100m"})),
                    ],
                }}),
                vec![("cpu", 3500), ("memory", 1 << 30)],
            ),
            (
                "pod-level resources replace the sums of cpu, memory and huge pages only, overhead is added",
                json!({"spec": {
                    "containers": [container("a", &json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "7"}))],
                    "resources": {"requests": {"cpu": "250m", "ephemeral-storage": "1"}},
                    "overhead": {"cpu": "50m", "memory": "1Gi"},
                }}),
                vec![("cpu", 300), ("memory", 2 << 30), ("ephemeral-storage", 7)],
            ),
            ("a pod that shrinks keeps what it has", resized("1", "2", "1", &json!([])), vec![("cpu", 2000)]),
            ("a pod that grows counts what it wants", resized("3", "2", "2", &json!([])), vec![("cpu", 3000)]),
            ("an infeasible resize does not count", resized("3", "1", "2", &infeasible), vec![("cpu", 2000)]),
            (
                "absurd amounts saturate",
                json!({"spec": {"containers": [
                    container("a", &json!({"cpu": "1e30", "memory": "9223372036854775807Ei"})),
                    container("b", &json!({"cpu": "1e30", "memory": "9223372036854775807Ei"})),
                ]}}),
                vec![("cpu", i64::MAX), ("memory", i64::MAX)],
            ),
            (
                "what cannot be read is more than anything has; what is negative is nothing",
                json!({"spec": {"containers": [container("a", &json!({"cpu": "lots", "memory": "-1"}))]}}),
                vec![("cpu", i64::MAX)],
            ),
        ];
        for (what, pod, expected) in table {
            let mut request = Resources::pod(0, 0);
            expected.into_iter().for_each(|(name, amount)| request.set(name, amount));
            assert_eq!(of_pod(&serde_json::from_value(pod).unwrap()), request, "{what}");
        }
    }

    #[test]
    fn pod_level_resources_are_resized_like_containers() {
        let pod = json!({
            "spec": {"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}},
            "status": {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}},
        });
        assert_eq!(of_pod(&serde_json::from_value(pod).unwrap()).get("cpu"), 3000);
    }
}
