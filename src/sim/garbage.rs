//! The garbage collector: a pod whose owner is gone goes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::api::Api;
use super::store::metadata;
use crate::core::base::ids::Key;
use crate::core::time::Wall;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// Whether all owners of a pod are TaskGroups that are not there. (Owners of other kinds are taken to live.)
pub fn is_garbage(api: &Api, pod: &Key) -> bool {
    let Some(body) = api.store.get(Kind::Pod, pod) else { return false };
    let owners = metadata(body).owner_references.as_deref().unwrap_or_default();
    let is_gone = |owner: &OwnerReference| {
        let key = Key { namespace: pod.namespace.clone(), name: owner.name.as_str().into() };
        let found = api.store.get(Kind::TaskGroup, &key).map(metadata);
        owner.kind == "TaskGroup" && found.and_then(|meta| meta.uid.as_deref()) != Some(&owner.uid)
    };
    !owners.is_empty() && owners.iter().all(is_gone)
}

/// Deletes a pod if its owner is gone; false: nothing was to be done.
pub fn collect(api: &mut Api, pod: &Key, now: Wall) -> bool {
    let goes = api.store.get(Kind::Pod, pod).is_some_and(|body: &Body| metadata(body).deletion_timestamp.is_some());
    !goes && is_garbage(api, pod) && api.delete_pod(pod, None, now).is_ok()
}
