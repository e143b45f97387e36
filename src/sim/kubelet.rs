//! Kubelets of all nodes: what is bound to one runs, and what terminates on one goes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::api::{Api, condition, has_ended, set_condition};
use crate::core::ids::Key;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// Lets every kubelet do what it has to do; false: nothing was to be done.
pub fn act(api: &mut Api) -> bool {
    let (_, pods) = api.store.list(Kind::Pod);
    let mut acted = false;
    for seen in pods {
        if let Ok(Body::Pod(pod)) = &seen.body {
            acted |= act_on(api, &seen.key, pod);
        }
    }
    acted
}

fn act_on(api: &mut Api, key: &Key, pod: &Arc<Pod>) -> bool {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    if node.is_none_or(|node| api.store.get(Kind::Node, &Key::cluster(node)).is_none()) {
        return false;
    }
    let held = pod.metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty());
    if pod.metadata.deletion_timestamp.is_some() && !held {
        api.store.remove(Kind::Pod, key);
        return true;
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if has_ended(pod) || phase == Some("Running") {
        return false;
    }
    api.change_pod(key, |pod| {
        pod.status.get_or_insert_default().phase = Some("Running".to_owned());
        set_condition(pod, &condition("Ready", "True"));
        Ok(())
    })
    .is_ok()
}
