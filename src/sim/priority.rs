//! Priorities as the API server admits them: what a PriorityClass gives to the pods that name it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::api::scheduling::v1::PriorityClass;

/// Every cluster has them.
const SYSTEM: [(&str, i32); 2] = [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The PriorityClasses of a cluster.
#[derive(Clone, Debug)]
pub struct Classes {
    values: BTreeMap<String, i32>,
    /// What a pod has that names none.
    default: Option<i32>,
}

impl Default for Classes {
    fn default() -> Self {
        Self { values: SYSTEM.map(|(name, value)| (name.to_owned(), value)).into(), default: None }
    }
}

impl Classes {
    /// One more. Of several that are to be the default the lowest is, as in Kubernetes.
    pub fn add(&mut self, name: &str, class: &PriorityClass) {
        let value = class.value.unwrap_or(0);
        self.values.insert(name.to_owned(), value);
        if class.global_default == Some(true) {
            self.default = Some(self.default.map_or(value, |other| other.min(value)));
        }
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Gives a new pod its priority. One that was admitted before has one, which stays where its class is not known.
    pub fn admit(&self, spec: &mut PodSpec) {
        match spec.priority_class_name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => spec.priority = self.values.get(name).copied().or(spec.priority),
            None => spec.priority = spec.priority.or(self.default),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_the_priority_of_its_class_or_of_the_default() {
        let mut classes = Classes::default();
        let admitted = |classes: &Classes, class: Option<&str>, priority| {
            let name = class.map(str::to_owned);
            let mut spec = PodSpec { priority_class_name: name, priority, ..PodSpec::default() };
            classes.admit(&mut spec);
            spec.priority
        };
        assert_eq!(admitted(&classes, None, None), None);
        for (name, value, default) in [("urgent", 1_000, false), ("usual", 7, true), ("low", 3, true)] {
            let class = PriorityClass { value: Some(value), global_default: Some(default), ..PriorityClass::default() };
            classes.add(name, &class);
        }
        for (class, priority, expected) in [
            (Some("urgent"), None, Some(1_000)),
            (Some("urgent"), Some(5), Some(1_000)),
            (Some("system-node-critical"), None, Some(2_000_001_000)),
            (Some("strange"), None, None),
            (Some("strange"), Some(5), Some(5)),
            (Some(""), None, Some(3)),
            (None, None, Some(3)),
            (None, Some(5), Some(5)),
        ] {
            assert_eq!(admitted(&classes, class, priority), expected, "{class:?} {priority:?}");
        }
        assert!(classes.has("urgent") && classes.has("system-cluster-critical") && !classes.has("strange"));
    }
}
