//! Gangs of Volcano (1.15, `scheduling.volcano.sh/v1beta1`), which the operators of Kubeflow, KubeRay, Spark and LeaderWorkerSet
//! write too: a pod names a PodGroup by an annotation, and that says all there is to say (`pod_group.rs`).
//!
//! Volcano's queues are flat and ours are a tree, so that a queue of its lies below `root` here. What it reads and nothing here
//! does is refused where it decides who starts with whom (members of each task, groups within the group, one domain of a network).
//! What only orders or prefers is left out: `minResources`, since members count with what they request, and `priorityClassName`,
//! since they have a priority themselves.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::pod_group::{PodGroupSpec, Reference, System, Terms};
use super::{Spoken, Warnings, annotation, coscheduling, koordinator};
use crate::core::base::ids::Text;
use crate::shim::spec_errors::Errors;
use crate::shim::syntax;

/// Its name, for people.
const SYSTEM: &str = "Volcano";
/// Annotation: the PodGroup that is the pod's gang, as operators write it. It counts first.
pub(super) const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
/// The same under Volcano's own prefix.
const OWN_GROUP_NAME: &str = "scheduling.volcano.sh/group-name";
/// The queue of whoever names none: there as here it is the one that everybody has.
const DEFAULT_QUEUE: &str = "default";

/// What a pod says; none if it names no PodGroup.
pub fn read(pod: &Pod) -> Option<Spoken> {
    let (first, own) = (annotation(pod, GROUP_NAME), annotation(pod, OWN_GROUP_NAME));
    let (key, name) = first.map(|name| (GROUP_NAME, name)).or_else(|| Some((OWN_GROUP_NAME, own?)))?;
    let (mut errors, mut warnings) = (Errors::default(), Warnings::default());
    if let Some(other) = own.filter(|own| *own != name) {
        let (counts, other) = (koordinator::start_of(name), koordinator::start_of(other));
        warnings.add(|| format!("{OWN_GROUP_NAME}: {other:?} is left out, since {GROUP_NAME} says {counts:?}"));
    }
    koordinator::check_name(&mut errors, key, name);
    let queue = coscheduling::queue(pod, &mut errors);
    let problems = errors.into_sorted();
    let reference = Reference {
        system: System::Volcano,
        name: name.into(),
        queue: queue.clone(),
        min_resource: koordinator::min_resource(pod),
        terms: Terms::default(),
        // A gang of Volcano's holds nothing in part, and nobody gives it up for having waited.
        wait_seconds: None,
        priority: None,
    };
    let refers = problems.is_empty().then(|| Arc::new(reference));
    let (group, warnings) = (Some(name.into()), warnings.0);
    Some(Spoken { system: SYSTEM, group, queue, refers, problems, warnings, ..Spoken::default() })
}

/// How many start together, as a PodGroup says it. Its definition has no default but Go's, 0, with which each pod is placed where
/// it has room: as in a gang of one.
pub(super) fn min_member(said: Option<i64>) -> i64 {
    said.filter(|said| *said != 0).unwrap_or(1)
}

/// The queue that a PodGroup of so many names, and what was read of it otherwise than it is written.
pub(super) fn of_object(
    spec: &PodGroupSpec,
    min_member: Option<u32>,
    errors: &mut Errors,
) -> (Option<Text>, Vec<Text>) {
    let mut warnings = Warnings::default();
    if counts_tasks(spec, min_member) {
        errors.add("spec.minTaskMember", "is not supported yet: how many of each task start together is not looked at");
    }
    if spec.sub_group_policy.as_ref().is_some_and(|groups| !groups.is_empty()) {
        errors.add("spec.subGroupPolicy", "is not supported yet: a gang has no groups within it");
    }
    let mode = spec.network_topology.as_ref().map(|topology| topology.mode.as_deref().unwrap_or_default());
    match mode {
        None => {}
        Some("soft") => {
            warnings.add(|| "spec.networkTopology: soft is left out: no domain of a network is preferred".to_owned())
        }
        // The default of its definition, too.
        Some(_) => {
            errors.add("spec.networkTopology", "hard is not supported yet: nothing is known of domains of a network")
        }
    }
    (queue(spec, errors), warnings.0)
}

/// Whether `minTaskMember` decides anything: Volcano itself does not look at it where its numbers are more than `minMember`
/// together, as in a Job whose `minAvailable` is less than all of its pods.
fn counts_tasks(spec: &PodGroupSpec, min_member: Option<u32>) -> bool {
    let of_tasks = spec.min_task_member.iter().flat_map(|tasks| tasks.values());
    let all = of_tasks.fold(0, |all: i64, of_one| all.saturating_add(*of_one));
    all > 0 && min_member.is_none_or(|min| all <= i64::from(min))
}

/// The queue as its path here.
fn queue(spec: &PodGroupSpec, errors: &mut Errors) -> Option<Text> {
    let name = spec.queue.as_deref().filter(|name| !["", DEFAULT_QUEUE].contains(name))?;
    let is_path = name == "root" || name.starts_with("root.");
    let path = if is_path { name.to_owned() } else { format!("root.{name}") };
    let problem = "must be DNS labels joined by dots, of at most 63 characters with root. before them";
    let is_fine = syntax::is_queue_path(&path);
    errors.unless(is_fine, "spec.queue", problem);
    is_fine.then(|| path.into())
}

#[cfg(test)]
mod tests;
