//! Which nodes a pod may have: nodes have zones, and some a taint.

use gangline::api::task_group::PlaceholderTemplate;
use k8s_openapi::api::core::v1::{LocalObjectReference, Node, Pod, Taint, Toleration};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The label of nodes that says their zone.
pub(crate) const ZONE: &str = "zone";
const TAINT: &str = "dedicated";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What a pod says of where it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// In the first zone, by a selector.
    Selected,
    /// In the first zone, by an affinity.
    Near,
    /// On tainted nodes too.
    Tolerant,
}

impl Place {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Selected, Self::Near, Self::Tolerant];

    /// As the spec of a pod and a placeholderTemplate say it.
    pub(crate) fn fields(self) -> Value {
        match self {
            Self::Selected => json!({"nodeSelector": {ZONE: zone_of("0")}}),
            Self::Near => {
                let is_there = json!({"key": ZONE, "operator": "In", "values": [zone_of("0")]});
                let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [is_there]}]});
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
            }
            Self::Tolerant => json!({"tolerations": [{"key": TAINT, "operator": "Exists"}]}),
        }
    }

    /// A template that says so, and everything else that one can say.
    pub(crate) fn template(self) -> PlaceholderTemplate {
        let said: PlaceholderTemplate = serde_json::from_value(self.fields()).expect("a template");
        let pair = || [("team".to_owned(), "blue".to_owned())].into();
        PlaceholderTemplate {
            node_selector: said.node_selector,
            tolerations: said.tolerations,
            affinity: said.affinity,
            priority_class_name: Some("system-node-critical".to_owned()),
            // The API server would look for it.
            runtime_class_name: None,
            labels: pair(),
            annotations: pair(),
            image_pull_secrets: vec![LocalObjectReference { name: "pull".to_owned() }],
        }
    }
}

/// The zone of a node: those with even numbers are in the first.
pub(crate) fn zone_of(node: &str) -> &'static str {
    if node.bytes().last().is_some_and(|digit| digit % 2 == 0) { "first" } else { "second" }
}

/// The taint of a node.
pub(crate) fn taint() -> Taint {
    Taint { key: TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }
}

pub(crate) fn is_tainted(node: &Node) -> bool {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).any(|taint| taint.key == TAINT)
}

/// The taints of a node of which nothing is heard.
pub(crate) fn unreachable() -> [Taint; 2] {
    ["NoSchedule", "NoExecute"].map(|effect| Taint {
        key: UNREACHABLE.to_owned(),
        effect: effect.to_owned(),
        ..Taint::default()
    })
}

pub(crate) fn is_unreachable(taint: &Taint) -> bool {
    taint.key == UNREACHABLE
}

/// Whether nothing is heard of a node.
pub(crate) fn is_dead(node: &Node) -> bool {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).any(is_unreachable)
}

/// Where a pod may be. Read by itself, not as the scheduler reads it.
#[derive(Clone, Debug)]
pub(crate) struct Wants {
    zone: Option<String>,
    /// Tainted nodes too.
    pub(crate) tolerates: bool,
}

impl Wants {
    pub(crate) fn of(pod: &Pod) -> Self {
        let spec = || pod.spec.iter();
        let selected = spec().flat_map(|spec| spec.node_selector.iter().flatten()).filter(|(key, _)| *key == ZONE);
        let affinity = spec().filter_map(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
        let required = affinity.filter_map(|near| near.required_during_scheduling_ignored_during_execution.as_ref());
        let terms = required.flat_map(|required| required.node_selector_terms.iter());
        let named = terms.flat_map(|term| term.match_expressions.iter().flatten());
        let named = named.flat_map(|expression| expression.values.iter().flatten());
        let is_ours = |toleration: &Toleration| toleration.key.as_deref() == Some(TAINT);
        Self {
            zone: selected.map(|(_, zone)| zone).chain(named).next().cloned(),
            tolerates: spec().flat_map(|spec| spec.tolerations.iter().flatten()).any(is_ours),
        }
    }

    /// Whether it may be in a zone.
    pub(crate) fn takes(&self, zone: Option<&String>) -> bool {
        self.zone.is_none() || self.zone.as_ref() == zone
    }
}
