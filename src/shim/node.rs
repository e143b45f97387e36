//! Reads a Node: what it offers and whom it keeps away.

use k8s_openapi::api::core::v1::{Node, Taint as KubeTaint};

use super::constraints::{effect, text_map};
use super::requests;
use crate::core::base::resources::Resources;
use crate::core::shape::{NodeSpec, Taint};

/// Most that a node offers of anything: one less than a saturated request, so that such a request fits nowhere.
const MAX_OFFER: i64 = i64::MAX - 1;

/// A node in the core's words. A node without `status.allocatable` offers nothing.
pub fn node_spec(node: &Node) -> NodeSpec {
    let spec = node.spec.as_ref();
    let taints = spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let mut taints: Vec<_> = taints.iter().filter_map(taint).collect();
    taints.sort_unstable();
    NodeSpec {
        allocatable: allocatable(node),
        labels: text_map(node.metadata.labels.as_ref()),
        taints,
        unschedulable: spec.is_some_and(|spec| spec.unschedulable == Some(true)),
    }
}

fn allocatable(node: &Node) -> Resources {
    let list = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let mut resources = list.map(requests::of_offer).unwrap_or_default();
    resources.base = resources.base.map(|amount| amount.min(MAX_OFFER));
    for (_, amount) in &mut resources.rare {
        *amount = (*amount).min(MAX_OFFER);
    }
    resources
}

/// A taint with an effect that we do not know keeps nobody away, as in kube-scheduler.
fn taint(taint: &KubeTaint) -> Option<Taint> {
    let effect = effect(&taint.effect)?;
    let value = taint.value.as_deref().unwrap_or_default().into();
    Some(Taint { key: taint.key.as_str().into(), value, effect })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::shape::Effect;

    fn read(node: Value) -> NodeSpec {
        node_spec(&serde_json::from_value(node).unwrap())
    }

    #[test]
    fn a_node_is_its_allocatable_labels_and_taints() {
        let node = read(json!({
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": {"unschedulable": true, "taints": [
                {"key": "k", "effect": "NoExecute"}, {"key": "k", "value": "v", "effect": "Sometimes"},
            ]},
            "status": {
                "capacity": {"cpu": "8"},
                "allocatable": {"cpu": "7910m", "memory": "1Gi", "pods": "110", "example.com/gpu": "4", "hugepages-1Gi": "0"},
            },
        }));
        let mut allocatable = Resources { base: [7910, 1 << 30, 0, 110], rare: vec![] };
        allocatable.set("example.com/gpu", 4);
        assert_eq!(node.allocatable, allocatable);
        assert_eq!(node.taints, [Taint { key: "k".into(), value: "".into(), effect: Effect::NoExecute }]);
        assert!(node.unschedulable && node.labels.get("zone").is_some_and(|zone| &**zone == "a"));
    }

    #[test]
    fn absurd_nodes_offer_nothing_or_less_than_a_saturated_request() {
        assert_eq!(read(json!({"metadata": {}})), NodeSpec::default());
        let offer =
            |cpu: &str| read(json!({"metadata": {}, "status": {"allocatable": {"cpu": cpu}}})).allocatable.base[0];
        assert_eq!((offer("-1"), offer("1e30"), offer("")), (0, MAX_OFFER, 0));
    }
}
