//! The model's side of a sequence.

use std::sync::Arc;

use gangline::core::base::ids::Key;
use gangline::core::time::Wall;
use gangline::shim::decode;
use gangline::shim::observation::{Body, Outcome, Seen};
use gangline::shim::op::Kind;
use gangline::sim::admission::Verdict;
use gangline::sim::api::Api;
use gangline::sim::resize::resize;
use gangline::sim::store::{Store, kind, metadata, metadata_mut, seen};
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::Value;

use super::place::Place;
use super::steps::{ADMISSION, Deed, Step, cpu, object, op, patch, phase};
use super::view::Lives;
use crate::harness::context::merge;

/// When everything happens.
pub(super) const NOW: Wall = Wall(5_000);

/// The model, and what was seen in it.
pub(super) struct Model {
    pub(super) api: Api,
    pub(super) lives: Lives,
}

impl Model {
    pub(super) fn new(place: &Place) -> Self {
        let mut api = Api::default();
        api.admission = Some(admission);
        place.namespaces.iter().for_each(|name| api.namespaces.set_exists(&format!("{name}-nowhere"), false));
        Self { api, lives: Lives::default() }
    }

    /// Carries out a step.
    pub(super) fn ask(&mut self, key: &Key, step: Step) -> Outcome {
        let kind = step.kind;
        if let Some(op) = op(key, &self.lives, step) {
            return self.api.call(&op, NOW);
        }
        let answer = match step.deed {
            Deed::Create(form) => self.api.create(key, body(kind, &object(kind, key, form)), NOW),
            Deed::Drop => self.api.delete(kind, key, NOW),
            Deed::End => self.api.end_pod(key, NOW),
            Deed::LetGo => self.api.let_go(kind, key),
            Deed::Finish(well) => self.api.change_pod(key, |pod| {
                pod.status.get_or_insert_default().phase = Some(phase(well).to_owned());
                Ok(())
            }),
            Deed::Edit(_) | Deed::Label(_) => {
                let patch = patch(step).expect("an edit is a patch");
                self.api.edit(kind, key, |old| *old = patched(old, patch))
            }
            Deed::Ungate => self.api.ungate(key),
            Deed::Resize(number) => resize(&mut self.api, key, cpu(number)),
            Deed::Bind(_)
            | Deed::Delete(_)
            | Deed::Get
            | Deed::Condition(..)
            | Deed::Fail { .. }
            | Deed::Status(..)
            | Deed::Event { .. } => unreachable!("an op"),
        };
        answer.map_or_else(|refusal| refusal, |_| Outcome::Ok(None))
    }

    /// An object as it is now.
    pub(super) fn get(&self, kind: Kind, key: &Key) -> Option<Seen> {
        self.api.store.get(kind, key).map(|body| seen(key, body))
    }
}

/// An object as people write it.
pub(super) fn body(kind: Kind, object: &Value) -> Body {
    let seen = decode::seen(kind, &object.to_string()).expect("it has a name");
    let mut body = seen.body.expect("it decodes");
    // The scheduler's reader leaves out what it does not need.
    let finalizers = object["metadata"]["finalizers"].as_array();
    let finalizers = finalizers.map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
    metadata_mut(&mut body).finalizers = finalizers;
    body
}

/// An object with a merge patch in it.
fn patched(old: &Body, patch: Value) -> Body {
    let object = match old {
        Body::Pod(pod) => serde_json::to_value(&**pod),
        Body::Node(node) => serde_json::to_value(&**node),
        Body::TaskGroup(group) => serde_json::to_value(&**group),
        Body::Queue(queue) => serde_json::to_value(&**queue),
        Body::ResourceQuota(quota) => serde_json::to_value(&**quota),
        Body::Namespace(namespace) => serde_json::to_value(&**namespace),
        Body::KoordinatorPodGroup(group) => serde_json::to_value(&**group),
        Body::CoschedulingPodGroup(group) => serde_json::to_value(&**group),
        Body::VolcanoPodGroup(group) => serde_json::to_value(&**group),
        Body::KubernetesPodGroup(group) => serde_json::to_value(&**group),
    };
    let mut object = object.expect("objects have text keys only");
    merge(&mut object, patch);
    let mut new = body(kind(old), &object);
    let labels = metadata(&new).labels.clone();
    *metadata_mut(&mut new) = metadata(old).clone();
    metadata_mut(&mut new).labels = labels;
    new
}

/// What the objects of `fixtures.rs` do: a LimitRange in each second namespace, an injector, and a policy that refuses.
fn admission(_: &Store, pod: &Pod) -> Verdict {
    let mut pod = pod.clone();
    if pod.metadata.namespace.as_deref().is_some_and(|name| name.ends_with("-b")) {
        let asks = |one: &Container| one.resources.as_ref().is_some_and(|all| all.requests.is_some());
        let containers = pod.spec.get_or_insert_default().containers.iter_mut();
        for container in containers.filter(|one| !asks(one)) {
            request(container, "100m");
            let said = "LimitRanger plugin set: cpu request for container main".to_owned();
            pod.metadata.annotations.get_or_insert_default().insert("kubernetes.io/limit-ranger".to_owned(), said);
        }
    }
    match pod.metadata.labels.as_ref().and_then(|labels| labels.get(ADMISSION)).map(String::as_str) {
        Some("deny") => return Verdict::Deny { code: 403, reason: "Forbidden" },
        Some("sidecar") => {
            let mut sidecar = Container { name: "sidecar".to_owned(), ..Container::default() };
            request(&mut sidecar, "50m");
            pod.spec.get_or_insert_default().containers.push(sidecar);
        }
        Some(_) | None => {}
    }
    Verdict::Mutate(Box::new(pod))
}

fn request(container: &mut Container, cpu: &str) {
    let requests = Some([("cpu".to_owned(), Quantity(cpu.to_owned()))].into());
    container.resources = Some(ResourceRequirements { requests, ..ResourceRequirements::default() });
}

/// An object of its full type.
pub(super) fn typed(kind: Kind, json: &[u8]) -> serde_json::Result<Body> {
    Ok(match kind {
        Kind::Pod => Body::Pod(Arc::new(serde_json::from_slice(json)?)),
        Kind::Node => Body::Node(Arc::new(serde_json::from_slice(json)?)),
        Kind::TaskGroup => Body::TaskGroup(Arc::new(serde_json::from_slice(json)?)),
        Kind::Queue => Body::Queue(Arc::new(serde_json::from_slice(json)?)),
        Kind::ResourceQuota => Body::ResourceQuota(Arc::new(serde_json::from_slice(json)?)),
        Kind::Namespace => Body::Namespace(Arc::new(serde_json::from_slice(json)?)),
        Kind::KoordinatorPodGroup => Body::KoordinatorPodGroup(Arc::new(serde_json::from_slice(json)?)),
        Kind::CoschedulingPodGroup => Body::CoschedulingPodGroup(Arc::new(serde_json::from_slice(json)?)),
        Kind::VolcanoPodGroup => Body::VolcanoPodGroup(Arc::new(serde_json::from_slice(json)?)),
        Kind::KubernetesPodGroup => Body::KubernetesPodGroup(Arc::new(serde_json::from_slice(json)?)),
    })
}
