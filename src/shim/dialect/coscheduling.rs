//! Gangs of kube-scheduler's Coscheduling plugin (scheduler-plugins 0.34), which the operators of Kubeflow, KubeRay and Spark write
//! too: a pod names a PodGroup by a label, and that says all there is to say (`pod_group.rs`).

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::pod_group::{Reference, System, Terms};
use super::{Spoken, koordinator, label};
use crate::api::names;
use crate::core::base::ids::Text;
use crate::shim::spec_errors::Errors;
use crate::shim::{escape, syntax};

/// Its name, for people.
const SYSTEM: &str = "scheduler-plugins";
/// Label: the PodGroup that is the pod's gang.
pub(super) const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";

/// What a pod says; none if it names no PodGroup. Its gang waits for `wait_timeout_seconds` where the object does not say how long.
pub fn read(pod: &Pod, wait_timeout_seconds: u32) -> Option<Spoken> {
    let name = label(pod, POD_GROUP)?;
    let mut errors = Errors::default();
    koordinator::check_name(&mut errors, POD_GROUP, name);
    let queue = queue(pod, &mut errors);
    let problems = errors.into_sorted();
    let reference = Reference {
        system: System::Coscheduling,
        name: name.into(),
        queue: queue.clone(),
        min_resource: koordinator::min_resource(pod),
        terms: Terms::default(),
        wait_seconds: Some(wait_timeout_seconds),
        priority: None,
    };
    let refers = problems.is_empty().then(|| Arc::new(reference));
    Some(Spoken { system: SYSTEM, group: Some(name.into()), queue, refers, problems, ..Spoken::default() })
}

/// The queue, which has no words in these systems.
pub(super) fn queue(pod: &Pod, errors: &mut Errors) -> Option<Text> {
    let path = label(pod, names::QUEUE)?;
    let problem = "must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots";
    errors.unless(syntax::is_queue_path(path), names::QUEUE, problem);
    Some(escape::bounded(path, syntax::MAX_LABEL))
}
