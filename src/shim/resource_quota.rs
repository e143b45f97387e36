//! Reads a ResourceQuota: how much room its namespace leaves for pods at all.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceQuota;

use super::quantity::Quantity;
use super::requests;
use crate::core::base::ids::Text;
use crate::core::base::resources::Limit;

/// What a quota allows all pods of its namespace together, by the resources of pods; `None` if it counts only some of
/// them (scopes) or none. `limits.*` bound the requests too: placeholders have limits equal to requests, and no pod's
/// request exceeds its limit. `spec.hard` is read rather than `status.hard`, which follows it.
pub fn limit(quota: &ResourceQuota) -> Option<Limit> {
    let spec = quota.spec.as_ref()?;
    let scoped = spec.scopes.as_ref().is_some_and(|scopes| !scopes.is_empty());
    let selected = spec.scope_selector.as_ref().and_then(|selector| selector.match_expressions.as_ref());
    if scoped || selected.is_some_and(|expressions| !expressions.is_empty()) {
        return None;
    }
    let hard = spec.hard.iter().flatten();
    let bounds = hard.filter_map(|(name, hard)| bound(name, &hard.0));
    Some(smallest(bounds)).filter(|limit| !limit.is_unlimited())
}

/// The room that several quotas leave together: the smallest limit of each resource.
pub fn merge<'a>(limits: impl IntoIterator<Item = &'a Limit>) -> Limit {
    smallest(limits.into_iter().flat_map(Limit::iter))
}

fn smallest<'a>(bounds: impl Iterator<Item = (&'a str, i128)>) -> Limit {
    let mut smallest: BTreeMap<&str, i128> = BTreeMap::new();
    for (name, amount) in bounds {
        let least = smallest.entry(name).or_insert(amount);
        *least = (*least).min(amount);
    }
    Limit::new(smallest.into_iter().map(|(name, amount)| (Text::from(name), amount)))
}

/// An amount that cannot be read (the API server admits none) bounds nothing.
fn bound<'a>(name: &'a str, hard: &str) -> Option<(&'a str, i128)> {
    let resource = pod_resource(name)?;
    let hard: Quantity = hard.parse().ok()?;
    Some((resource, i128::from(requests::amount(resource, hard).max(0))))
}

/// The resource of pods that an entry of a quota bounds.
fn pod_resource(name: &str) -> Option<&str> {
    let requested = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits."));
    match (requested, name) {
        // Sums of volume claims.
        (Some("storage"), _) => None,
        (Some(resource), _) => Some(resource),
        (None, "count/pods") => Some("pods"),
        (None, "cpu" | "memory" | "ephemeral-storage" | "pods") => Some(name),
        (None, _) => name.starts_with("hugepages-").then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: &Value) -> Option<Vec<(String, i128)>> {
        let quota = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        limit(&quota).map(|limit| limit.iter().map(|(name, amount)| (name.to_owned(), amount)).collect())
    }

    #[test]
    fn a_quota_that_counts_every_pod_bounds_pods_resources() {
        let hard = json!({
            "cpu": "4", "requests.cpu": "3", "limits.cpu": "3500m", "limits.memory": "1Gi", "requests.storage": "1",
            "requests.ephemeral-storage": "2", "pods": "10", "count/pods": "9", "requests.example.com/gpu": "1",
            "hugepages-2Mi": "2Mi", "count/deployments.apps": "1", "services": "1", "persistentvolumeclaims": "1",
            "gold.storageclass.storage.k8s.io/requests.storage": "1", "requests.bad": "x",
        });
        let expected = [
            ("cpu", 3000),
            ("ephemeral-storage", 2),
            ("example.com/gpu", 1),
            ("hugepages-2Mi", 2 << 20),
            ("memory", 1 << 30),
            ("pods", 9),
        ];
        let expected = expected.map(|(name, amount)| (name.to_owned(), amount)).to_vec();
        assert_eq!(read(&json!({"hard": hard})), Some(expected));
    }

    #[test]
    fn a_quota_for_some_pods_or_for_none_bounds_nothing() {
        let selector = json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]});
        for spec in [
            json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
            json!({"hard": {"cpu": "1"}, "scopeSelector": selector}),
            json!({"hard": {"services": "1"}}),
            json!({}),
        ] {
            assert_eq!(read(&spec), None, "{spec}");
        }
        assert!(read(&json!({"hard": {"cpu": "1"}, "scopes": [], "scopeSelector": {}})).is_some());
    }

    #[test]
    fn of_several_quotas_the_smallest_limits_hold() {
        let (a, b) = (Limit::new([("cpu".into(), 1), ("pods".into(), 9)]), Limit::new([("cpu".into(), 2)]));
        assert_eq!(merge([&a, &b]), Limit::new([("cpu".into(), 1), ("pods".into(), 9)]));
        assert!(merge([]).is_unlimited());
    }
}
