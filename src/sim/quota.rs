//! ResourceQuotas on what pods request of CPU, as every API server has them: all pods of a namespace together request no
//! more than each of its quotas allows.

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};

use super::admission::Verdict;
use super::api::has_ended;
use super::store::Store;
use crate::core::base::resources::CPU;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::shim::quantity::Quantity;
use crate::shim::requests;

/// What the quotas of its namespace say of a new pod. One that asks for nothing is never too much, but it has to say so.
pub fn admit(store: &Store, pod: &Pod) -> Verdict {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let Some(most) = most_milli(store, namespace) else { return Verdict::Allow };
    let asked = milli_of(pod);
    if !says(pod) || (asked > 0 && used_milli(store, namespace).saturating_add(asked) > most) {
        return Verdict::Deny { code: 403, reason: "Forbidden" };
    }
    Verdict::Allow
}

/// What all pods of a namespace request together, in thousandths of a core.
pub fn used_milli(store: &Store, namespace: &str) -> i64 {
    let used = store.of_kind(Kind::Pod).filter_map(|(key, body)| match body {
        Body::Pod(pod) if &*key.namespace == namespace && counts(pod) => Some(milli_of(pod)),
        Body::Pod(_)
        | Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    });
    // Some ask for more than can be counted.
    used.fold(0, i64::saturating_add)
}

/// The least that a quota of a namespace allows.
fn most_milli(store: &Store, namespace: &str) -> Option<i64> {
    let quotas = store.of_kind(Kind::ResourceQuota).filter_map(|(key, body)| match body {
        Body::ResourceQuota(quota) if &*key.namespace == namespace => hard_milli(quota),
        Body::Pod(_)
        | Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    });
    quotas.min()
}

fn hard_milli(quota: &ResourceQuota) -> Option<i64> {
    let hard: Quantity = quota.spec.as_ref()?.hard.as_ref()?.get("requests.cpu")?.0.parse().ok()?;
    Some(hard.milli_value())
}

/// Who has ended, or only waits to be let go, takes no share.
fn counts(pod: &Pod) -> bool {
    let is_over = pod.metadata.deletion_timestamp.is_some() && pod.metadata.deletion_grace_period_seconds == Some(0);
    !has_ended(pod) && !is_over
}

fn milli_of(pod: &Pod) -> i64 {
    requests::of_pod(pod).base[CPU]
}

/// Whether each container says what it requests.
fn says(pod: &Pod) -> bool {
    let containers =
        pod.spec.iter().flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    let mut requests = containers.map(|one| one.resources.as_ref().and_then(|all| all.requests.as_ref()));
    requests.all(|requests| requests.is_some_and(|all| all.contains_key("cpu")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::api::Api;
    use super::super::kubelet;
    use super::*;
    use crate::core::base::ids::Key;
    use crate::core::time::Wall;
    use crate::shim::observation::Outcome;

    const NOW: Wall = Wall(5_000);

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    fn set_quota(api: &mut Api, name: &str, cpu: &str) {
        let quota = json!({"metadata": {}, "spec": {"hard": {"requests.cpu": cpu}}});
        let quota: ResourceQuota = serde_json::from_value(quota).expect("a quota");
        api.store.put(&key(name), Body::ResourceQuota(Arc::new(quota)));
    }

    /// The code of the answer to a new pod.
    fn make(api: &mut Api, name: &str, requests: &Value) -> u16 {
        let held = json!({"finalizers": ["example.com/f"]});
        let pod =
            json!({"metadata": held, "spec": {"containers": [{"name": "a", "resources": {"requests": requests}}]}});
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        match api.create(&key(name), Body::Pod(Arc::new(pod)), NOW) {
            Err(Outcome::Refused { code, .. }) => code,
            Ok(_) | Err(_) => 200,
        }
    }

    /// `e2e/conformance/quotas.rs` puts the like to a real server.
    #[test]
    fn pods_of_a_namespace_request_no_more_than_its_least_quota_allows() {
        let mut api = Api::default();
        api.admission = Some(admit);
        set_quota(&mut api, "wide", "3");
        set_quota(&mut api, "narrow", "1");
        let cpu = |amount: &str| json!({"cpu": amount});
        assert_eq!(make(&mut api, "a", &cpu("600m")), 200);
        assert_eq!((make(&mut api, "b", &cpu("401m")), make(&mut api, "b", &cpu("400m"))), (403, 200), "to the last");
        kubelet::succeed(&mut api, &key("a"));
        assert_eq!(make(&mut api, "c", &cpu("600m")), 200, "who has ended has no share");
        set_quota(&mut api, "narrow", "100m");
        assert_eq!(
            (used_milli(&api.store, "ns"), make(&mut api, "d", &cpu("1m"))),
            (1_000, 403),
            "nobody loses anything"
        );
        assert_eq!(
            (make(&mut api, "d", &cpu("0")), make(&mut api, "e", &json!({}))),
            (200, 403),
            "nothing, and silence"
        );
        for name in ["b", "c"] {
            api.delete_pod(&key(name), None, NOW).expect("it is there");
        }
        assert_eq!(make(&mut api, "e", &cpu("100m")), 200, "who only waits to be let go has no share");
    }
}
