//! A Job as far as it makes pods: so many at a time, until so many have succeeded.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::api::{Api, has_ended};
use super::store::metadata;
use crate::core::ids::Key;
use crate::core::time::Wall;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// A Job at work.
#[derive(Clone, Debug)]
pub struct Running {
    key: Key,
    job: Job,
    /// Pods made so far.
    made: u32,
}

impl Running {
    /// A Job that has made nothing yet.
    pub const fn new(key: Key, job: Job) -> Self {
        Self { key, job, made: 0 }
    }

    /// Makes the pods that are wanted now; their names.
    pub fn act(&mut self, api: &mut Api, now: Wall) -> Vec<Key> {
        let (succeeded, active) = self.count(api);
        let Some(spec) = self.job.spec.as_ref().filter(|spec| spec.suspend != Some(true)) else { return Vec::new() };
        let parallelism = spec.parallelism.unwrap_or(1).max(0).cast_unsigned();
        let completions = spec.completions.map_or(parallelism, |completions| completions.max(0).cast_unsigned());
        let wanted = parallelism.min(completions.saturating_sub(succeeded));
        (active..wanted).map(|_| self.make(api, now)).collect()
    }

    /// Pods of it that have succeeded, and those that have not ended.
    fn count(&self, api: &Api) -> (u32, u32) {
        let is_own = |body: &&Body| {
            let mut owners = metadata(body).owner_references.iter().flatten();
            owners.any(|owner| owner.kind == "Job" && *owner.name == *self.key.name)
        };
        let in_namespace = api.store.of_kind(Kind::Pod).filter(|(key, _)| key.namespace == self.key.namespace);
        in_namespace.map(|(_, body)| body).filter(is_own).fold((0, 0), |(succeeded, active), body| match body {
            Body::Pod(pod) if !has_ended(pod) => (succeeded, active + 1),
            Body::Pod(pod) => {
                let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
                (succeeded + u32::from(phase == Some("Succeeded")), active)
            }
            Body::Node(_) | Body::TaskGroup(_) | Body::Queue(_) | Body::ResourceQuota(_) => (succeeded, active),
        })
    }

    fn make(&mut self, api: &mut Api, now: Wall) -> Key {
        let template = self.job.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.owner_references = Some(vec![OwnerReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: self.key.name.to_string(),
            uid: format!("job-{}", self.key.name),
            ..OwnerReference::default()
        }]);
        let key = Key { name: format!("{}-{}", self.key.name, self.made).into(), ..self.key.clone() };
        self.made += 1;
        let pod = Pod { metadata, spec: template.spec, status: None };
        // Somebody else's pod of this name stands for the one that is wanted.
        let _ = api.create(&key, Body::Pod(Arc::new(pod)), now);
        key
    }
}
