//! The subresource `resize`: what a container of a pod requests is changed in place.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as KubeQuantity;

use super::api::{Answer, Api, refused};
use super::store::Store;
use crate::core::base::ids::Key;
use crate::core::base::resources::{CPU, MEMORY};
use crate::shim::observation::{Body, Outcome};
use crate::shim::op::Kind;
use crate::shim::quantity::Quantity;
use crate::shim::requests;

/// The first container of a pod requests so much CPU from now on, whether the pod runs, waits or has ended.
///
/// # Errors
/// There is no such pod: 404. Its limit is less, or who asked for nothing asks for something, or the other way round: 422.
/// Its node does not exist, or is smaller: 403.
pub fn resize(api: &mut Api, key: &Key, cpu: &str) -> Answer {
    let Some(Body::Pod(old)) = api.store.get(Kind::Pod, key) else { return Err(refused(404, "NotFound")) };
    let mut new = (**old).clone();
    if let Some(first) = new.spec.iter_mut().flat_map(|spec| &mut spec.containers).next() {
        let requests = first.resources.get_or_insert_default().requests.get_or_insert_default();
        requests.insert("cpu".to_owned(), KubeQuantity(cpu.to_owned()));
    }
    if new.spec != old.spec {
        is_valid(old, &new)?;
        is_possible(&api.store, &new)?;
    }
    api.edit(Kind::Pod, key, |body| *body = Body::Pod(Arc::new(new)))
}

/// The class of a pod may not change: here it is whether the pod asks for anything. (To have as much of CPU and memory as
/// the limits are is a class too, which nobody here is of.)
fn is_valid(old: &Pod, new: &Pod) -> Result<(), Outcome> {
    if containers(new).any(asks_beyond_limit) || asks(old) != asks(new) {
        return Err(refused(422, "Invalid"));
    }
    Ok(())
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.iter().flat_map(|spec| &spec.containers)
}

fn asks_beyond_limit(container: &Container) -> bool {
    let Some(resources) = &container.resources else { return false };
    let cpu = |all: Option<&BTreeMap<String, KubeQuantity>>| all?.get("cpu")?.0.parse::<Quantity>().ok();
    let (asked, limit) = (cpu(resources.requests.as_ref()), cpu(resources.limits.as_ref()));
    asked.zip(limit).is_some_and(|(asked, limit)| asked > limit)
}

fn asks(pod: &Pod) -> bool {
    containers(pod).any(|container| {
        let resources = container.resources.iter();
        let mut amounts = resources.flat_map(|all| all.requests.iter().chain(&all.limits)).flat_map(BTreeMap::values);
        amounts.any(|amount| amount.0.parse::<Quantity>().is_ok_and(|amount| amount > Quantity::ZERO))
    })
}

/// A pod without a node can be as large as it likes.
fn is_possible(store: &Store, pod: &Pod) -> Result<(), Outcome> {
    let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) else { return Ok(()) };
    match store.get(Kind::Node, &Key::cluster(node)) {
        Some(Body::Node(node)) if has_room(node, pod) => Ok(()),
        Some(
            Body::Pod(_)
            | Body::Node(_)
            | Body::TaskGroup(_)
            | Body::Queue(_)
            | Body::ResourceQuota(_)
            | Body::Namespace(_)
            | Body::KoordinatorPodGroup(_)
            | Body::CoschedulingPodGroup(_)
            | Body::VolcanoPodGroup(_)
            | Body::KubernetesPodGroup(_),
        )
        | None => Err(refused(403, "Forbidden")),
    }
}

/// Whether a node has as much as a pod wants, whoever else is there.
fn has_room(node: &Node, pod: &Pod) -> bool {
    let has = node.status.as_ref().and_then(|status| status.allocatable.as_ref()).map(requests::of_offer);
    let wants = requests::of_pod(&Pod { status: None, ..pod.clone() });
    has.is_some_and(|has| [CPU, MEMORY].into_iter().all(|index| wants.base[index] <= has.base[index]))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::store::metadata;
    use super::*;

    /// The code of the answer, and the generation after it.
    fn tried(spec: &Value, cpu: &str) -> (u16, i64) {
        let (mut api, key) = (Api::default(), Key::new("ns", "p"));
        let node = json!({"metadata": {}, "status": {"allocatable": {"cpu": "2"}}});
        api.store.put(&Key::cluster("n"), Body::Node(Arc::new(serde_json::from_value(node).expect("a node"))));
        let pod: Pod = serde_json::from_value(json!({"metadata": {}, "spec": spec})).expect("a pod");
        api.store.create(&key, Body::Pod(Arc::new(pod)), 1);
        let code = match resize(&mut api, &key, cpu) {
            Ok(_) => 200,
            Err(Outcome::Refused { code, .. }) => code,
            Err(Outcome::Ok(_) | Outcome::Removed | Outcome::Pruned | Outcome::Unknown | Outcome::NotSent) => 0,
        };
        (code, api.store.get(Kind::Pod, &key).and_then(|pod| metadata(pod).generation).unwrap_or_default())
    }

    #[test]
    fn a_pod_is_resized_as_the_real_server_does_it() {
        let pod = |resources: Value, node: Value| json!({"nodeName": node, "containers": [{"name": "a", "resources": resources}]});
        let (asks, waits) = (json!({"requests": {"cpu": "1"}}), json!(null));
        assert_eq!(tried(&pod(asks.clone(), waits.clone()), "500m"), (200, 2));
        assert_eq!(tried(&pod(asks.clone(), waits.clone()), "1"), (200, 1), "it asks for that already");
        assert_eq!(tried(&pod(asks.clone(), waits.clone()), "9"), (200, 2), "no node is too small yet");
        assert_eq!(tried(&pod(asks.clone(), json!("n")), "2"), (200, 2));
        assert_eq!(tried(&pod(asks.clone(), json!("n")), "2001m"), (403, 1), "its node is smaller");
        assert_eq!(tried(&pod(asks.clone(), json!("gone")), "500m"), (403, 1));
        assert_eq!(tried(&pod(json!({"limits": {"cpu": "1"}}), waits.clone()), "1001m"), (422, 1));
        assert_eq!(tried(&pod(json!({}), waits.clone()), "1"), (422, 1), "it asked for nothing");
        assert_eq!(tried(&pod(asks, waits), "0"), (422, 1), "it asked for something");
    }
}
