//! Kubelets of all nodes and pod garbage collection: what is bound to a node runs, what terminates there goes.

use k8s_openapi::api::core::v1::Pod;

use super::api::{Api, condition, has_ended, is_held, set_condition};
use crate::core::ids::Key;
use crate::core::time::Wall;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// What a node has to do for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Start it.
    Start,
    /// Its containers have stopped: it goes.
    End,
    /// Its node is gone: it goes.
    Collect,
}

/// What is to be done for a pod, if anything.
pub fn task(api: &Api, key: &Key) -> Option<Task> {
    let Some(Body::Pod(pod)) = api.store.get(Kind::Pod, key) else { return None };
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    let leaves = pod.metadata.deletion_timestamp.is_some();
    if leaves && is_held(pod) {
        return None;
    }
    if api.store.get(Kind::Node, &Key::cluster(node)).is_none() {
        return Some(Task::Collect);
    }
    if leaves {
        return Some(Task::End);
    }
    (!has_ended(pod) && !runs(pod)).then_some(Task::Start)
}

/// Whether a pod was admitted by its node.
fn runs(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

/// Does what is to be done for a pod; false: nothing was.
pub fn act(api: &mut Api, key: &Key, now: Wall) -> bool {
    match task(api, key) {
        None => false,
        Some(Task::Collect | Task::End) => api.end_pod(key, now).is_ok(),
        Some(Task::Start) => api
            .change_pod(key, |pod| {
                pod.status.get_or_insert_default().phase = Some("Running".to_owned());
                set_condition(pod, &condition("Ready", "True"));
                Ok(())
            })
            .is_ok(),
    }
}

/// A pod has done its work.
pub fn succeed(api: &mut Api, key: &Key) {
    // It may be gone.
    let _ = api.change_pod(key, |pod| {
        pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
        Ok(())
    });
}
