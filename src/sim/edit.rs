//! What the server makes of a change: nothing where nothing differs, a generation more where the spec does.

use std::sync::Arc;

use serde_json::Value;

use super::store::{metadata, metadata_mut};
use crate::shim::observation::Body;

/// The object to be stored; `None` if the change changed nothing.
pub(super) fn finished(old: &Body, mut new: Body) -> Option<Body> {
    let (spec, status) = differs(old, &new);
    if !spec && !status && metadata(old) == metadata(&new) {
        return None;
    }
    if spec {
        grow(&mut new);
    }
    Some(new)
}

/// The generation counts changes of the spec, and the beginning of the end. Not every kind has one.
pub(super) fn grow(body: &mut Body) {
    let meta = metadata_mut(body);
    meta.generation = meta.generation.map(|generation| generation + 1);
}

/// What people write as a status is not read where the status is a resource of its own; a new pod is Pending.
pub(super) fn without_status(body: &mut Body) {
    match body {
        Body::Pod(pod) => Arc::make_mut(pod).status = None,
        Body::TaskGroup(group) => Arc::make_mut(group).status = None,
        Body::Queue(queue) => Arc::make_mut(queue).status = None,
        Body::ResourceQuota(quota) => Arc::make_mut(quota).status = None,
        Body::Namespace(namespace) => Arc::make_mut(namespace).status = None,
        Body::CoschedulingPodGroup(group) => Arc::make_mut(group).status = Value::Null,
        Body::KubernetesPodGroup(group) => Arc::make_mut(group).status = Value::Null,
        // A new node may say what it is, and of these PodGroups the status is no resource of its own.
        Body::Node(_) | Body::KoordinatorPodGroup(_) | Body::VolcanoPodGroup(_) => {}
    }
}

/// An edit of the spec leaves the status as it was.
pub fn keep_status(body: &mut Body, old: &Body) {
    match (body, old) {
        (Body::Pod(new), Body::Pod(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::Node(new), Body::Node(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::TaskGroup(new), Body::TaskGroup(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::Queue(new), Body::Queue(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::ResourceQuota(new), Body::ResourceQuota(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::Namespace(new), Body::Namespace(old)) => Arc::make_mut(new).status.clone_from(&old.status),
        (Body::KoordinatorPodGroup(new), Body::KoordinatorPodGroup(old)) => {
            Arc::make_mut(new).status.clone_from(&old.status);
        }
        (Body::CoschedulingPodGroup(new), Body::CoschedulingPodGroup(old)) => {
            Arc::make_mut(new).status.clone_from(&old.status);
        }
        (Body::VolcanoPodGroup(new), Body::VolcanoPodGroup(old)) => {
            Arc::make_mut(new).status.clone_from(&old.status);
        }
        (Body::KubernetesPodGroup(new), Body::KubernetesPodGroup(old)) => {
            Arc::make_mut(new).status.clone_from(&old.status);
        }
        (
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
            _,
        ) => {}
    }
}

/// Whether the specs differ, and whether the statuses do.
fn differs(old: &Body, new: &Body) -> (bool, bool) {
    match (old, new) {
        (Body::Pod(old), Body::Pod(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::Node(old), Body::Node(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::TaskGroup(old), Body::TaskGroup(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::Queue(old), Body::Queue(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::ResourceQuota(old), Body::ResourceQuota(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::Namespace(old), Body::Namespace(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::KoordinatorPodGroup(old), Body::KoordinatorPodGroup(new)) => {
            (old.spec != new.spec, old.status != new.status)
        }
        (Body::CoschedulingPodGroup(old), Body::CoschedulingPodGroup(new)) => {
            (old.spec != new.spec, old.status != new.status)
        }
        (Body::VolcanoPodGroup(old), Body::VolcanoPodGroup(new)) => (old.spec != new.spec, old.status != new.status),
        (Body::KubernetesPodGroup(old), Body::KubernetesPodGroup(new)) => {
            (old.spec != new.spec, old.status != new.status)
        }
        (
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
            _,
        ) => (true, true),
    }
}
