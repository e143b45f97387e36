//! What the API server fills in of what people leave out, as far as the scheduler can tell
//! (kubernetes `pkg/apis/core/v1/defaults.go`).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};

/// A container that has a limit and no request asks for its limit; so does a pod as a whole for what no container names.
pub(super) fn fill(pod: &mut Pod) {
    let Some(spec) = &mut pod.spec else { return };
    let mut asked = BTreeSet::new();
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        if let Some(resources) = &mut container.resources {
            ask_for_limits(resources, |_| true);
            asked.extend(resources.requests.iter().flatten().map(|(name, _)| name.clone()));
        }
    }
    if let Some(resources) = &mut spec.resources {
        ask_for_limits(resources, |name| is_of_pods(name) && !asked.contains(name));
    }
}

/// What may be said of a pod as a whole.
fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn ask_for_limits(resources: &mut ResourceRequirements, which: impl Fn(&str) -> bool) {
    for (name, limit) in resources.limits.iter().flatten().filter(|(name, _)| which(name)) {
        resources.requests.get_or_insert_default().entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn who_has_a_limit_and_no_request_asks_for_the_limit() {
        let requests = |container: &Value, whole: &Value| {
            let spec = json!({"containers": [{"name": "a", "resources": container}], "resources": whole});
            let mut pod: Pod = serde_json::from_value(json!({"spec": spec})).expect("a pod");
            fill(&mut pod);
            let spec = pod.spec.expect("it has one");
            let of_container = spec.containers[0].resources.as_ref().and_then(|all| all.requests.clone());
            let of_pod = spec.resources.and_then(|all| all.requests);
            (json!(of_container), json!(of_pod))
        };
        let none = json!(null);
        assert_eq!(
            requests(&json!({"limits": {"cpu": "2", "x/y": 1}}), &none),
            (json!({"cpu": "2", "x/y": "1"}), none)
        );
        let both = json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}});
        assert_eq!(requests(&both, &json!(null)), (json!({"cpu": "1", "memory": "1Gi"}), json!(null)));
        assert_eq!(
            requests(&json!({}), &json!({"limits": {"cpu": "3", "x/y": 1}})),
            (json!(null), json!({"cpu": "3"}))
        );
        let half = json!({"requests": {"cpu": "1"}});
        let whole = json!({"limits": {"cpu": "3", "memory": "1Gi"}});
        assert_eq!(requests(&half, &whole), (json!({"cpu": "1"}), json!({"memory": "1Gi"})));
    }
}
