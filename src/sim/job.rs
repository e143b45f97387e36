//! Jobs as far as they make pods: so many at a time, until so many have succeeded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::api::{Api, has_ended};
use super::store::metadata;
use crate::core::base::ids::Key;
use crate::core::time::{Millis, Wall};
use crate::shim::observation::Body;
use crate::shim::op::Kind;

/// All Jobs, with the pods of each counted as they come and end: none looks at the pods of others.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    running: BTreeMap<Key, Running>,
    counts: BTreeMap<Key, Count>,
    /// Pods that have not ended and are not being deleted, and the Job of each.
    active: BTreeMap<Key, Key>,
    /// Those that are being deleted: others come in their place at once (`podReplacementPolicy: TerminatingOrFailed`).
    leaving: BTreeSet<Key>,
    /// Those that may want pods now.
    stirred: BTreeSet<Key>,
}

/// A Job at work.
#[derive(Clone, Debug)]
struct Running {
    job: Job,
    /// How long each of its pods runs.
    lasts: Millis,
    /// Names used so far.
    named: u32,
}

/// Pods of a Job.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    active: u32,
    succeeded: u32,
}

/// What the Jobs made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// New pods, and how long each runs.
    pub pods: Vec<(Key, Millis)>,
    /// A Job that wanted more than there may be.
    pub lacks: Option<Key>,
}

impl Jobs {
    /// A Job comes. One that was exported at work goes on from there: what has succeeded is not done again.
    pub fn add(&mut self, key: &Key, job: Job, lasts: Millis) {
        let succeeded = job.status.as_ref().and_then(|status| status.succeeded).unwrap_or(0).max(0).cast_unsigned();
        self.counts.entry(key.clone()).or_default().succeeded += succeeded;
        self.running.insert(key.clone(), Running { job, lasts, named: 0 });
        self.stirred.insert(key.clone());
    }

    /// A pod came, changed, or is gone.
    pub fn note(&mut self, pod: &Key, body: &Body, gone: bool) {
        let (Some(job), Body::Pod(state)) = (owner(pod, body), body) else { return };
        let count = self.counts.entry(job.clone()).or_default();
        let (ends, leaves) = (gone || has_ended(state), state.metadata.deletion_timestamp.is_some());
        if !ends && !leaves {
            if self.active.insert(pod.clone(), job).is_none() {
                count.active += 1;
            }
            return;
        }
        let was_active = self.active.remove(pod).is_some();
        if was_active {
            count.active -= 1;
            self.stirred.insert(job.clone());
        }
        if !ends {
            self.leaving.insert(pod.clone());
        } else if self.leaving.remove(pod) || was_active {
            let phase = state.status.as_ref().and_then(|status| status.phase.as_deref());
            count.succeeded += u32::from(phase == Some("Succeeded"));
            self.stirred.insert(job);
        }
    }

    /// Whether a Job may want pods now.
    pub fn want(&self) -> bool {
        !self.stirred.is_empty()
    }

    /// Makes the pods that are wanted now, but no more than so many. A Job that is refused one tries again the next time.
    pub fn act(&mut self, api: &mut Api, now: Wall, most: usize) -> Made {
        let mut made = Made::default();
        for key in std::mem::take(&mut self.stirred) {
            let Some(running) = self.running.get_mut(&key) else { continue };
            let count = self.counts.entry(key.clone()).or_default();
            for _ in 0..running.lacks(*count) {
                if made.pods.len() >= most {
                    made.lacks = Some(key);
                    return made;
                }
                let Some(pod) = running.make(&key, api, now) else {
                    self.stirred.insert(key);
                    break;
                };
                count.active += 1;
                self.active.insert(pod.clone(), key.clone());
                made.pods.push((pod, running.lasts));
            }
        }
        made
    }
}

impl Running {
    /// How many pods more it wants.
    fn lacks(&self, count: Count) -> u32 {
        let Some(spec) = self.job.spec.as_ref().filter(|spec| spec.suspend != Some(true)) else { return 0 };
        let parallelism = spec.parallelism.unwrap_or(1).max(0).cast_unsigned();
        parallelism.min(completions(spec).saturating_sub(count.succeeded)).saturating_sub(count.active)
    }

    /// A pod of it, under a name that nobody has; `None` if it is refused.
    fn make(&mut self, job: &Key, api: &mut Api, now: Wall) -> Option<Key> {
        let template = self.job.spec.as_ref()?.template.clone();
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.owner_references = Some(vec![OwnerReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: job.name.to_string(),
            uid: format!("job-{}", job.name),
            controller: Some(true),
            ..OwnerReference::default()
        }]);
        let pod = Body::Pod(Arc::new(Pod { metadata, spec: template.spec, status: None }));
        loop {
            let key = Key { name: format!("{}-{}", job.name, self.named).into(), ..job.clone() };
            self.named += 1;
            if api.store.get(Kind::Pod, &key).is_none() {
                return api.create(&key, pod, now).is_ok().then_some(key);
            }
        }
    }
}

/// How many pods of a Job are to succeed.
pub fn completions(spec: &JobSpec) -> u32 {
    spec.completions.or(spec.parallelism).unwrap_or(1).max(0).cast_unsigned()
}

/// The Job that a pod belongs to.
pub fn owner(pod: &Key, body: &Body) -> Option<Key> {
    owner_of_kind("Job", pod, body)
}

/// Who made a pod, if that is of this kind.
pub(super) fn owner_of_kind(kind: &str, pod: &Key, body: &Body) -> Option<Key> {
    let mut owners = metadata(body).owner_references.iter().flatten();
    let maker = owners.find(|owner| owner.kind == kind)?;
    Some(Key { namespace: pod.namespace.clone(), name: maker.name.as_str().into() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Wall = Wall(0);

    fn job(spec: &serde_json::Value, succeeded: i32) -> Job {
        serde_json::from_value(json!({"spec": spec, "status": {"succeeded": succeeded}})).expect("a Job")
    }

    fn made(jobs: &mut Jobs, api: &mut Api, most: usize) -> Vec<String> {
        jobs.act(api, NOW, most).pods.iter().map(|(pod, _)| pod.name.to_string()).collect()
    }

    fn end(jobs: &mut Jobs, api: &mut Api, name: &str, phase: &str) {
        let key = Key::new("ns", name);
        let mut pod = match api.store.get(Kind::Pod, &key) {
            Some(Body::Pod(pod)) => (**pod).clone(),
            other => panic!("{other:?}"),
        };
        pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        jobs.note(&key, &Body::Pod(Arc::new(pod)), false);
    }

    #[test]
    fn so_many_at_a_time_until_so_many_have_succeeded() {
        let (mut api, mut jobs) = (Api::default(), Jobs::default());
        let key = Key::new("ns", "j");
        // Somebody else has the name of the first.
        api.create(&Key::new("ns", "j-0"), Body::Pod(Arc::default()), NOW).expect("it is made");
        jobs.add(&key, job(&json!({"parallelism": 3, "completions": 5, "template": {}}), 1), 7);
        assert_eq!(made(&mut jobs, &mut api, 9), ["j-1", "j-2", "j-3"]);
        assert!(made(&mut jobs, &mut api, 9).is_empty(), "all that it wants is there");
        end(&mut jobs, &mut api, "j-1", "Succeeded");
        end(&mut jobs, &mut api, "j-1", "Succeeded");
        end(&mut jobs, &mut api, "j-2", "Failed");
        assert_eq!(made(&mut jobs, &mut api, 9), ["j-4", "j-5"], "3 more succeed, of which one runs");
        for name in ["j-3", "j-4", "j-5"] {
            end(&mut jobs, &mut api, name, "Succeeded");
        }
        assert!(made(&mut jobs, &mut api, 9).is_empty());
    }

    #[test]
    fn who_is_being_deleted_is_replaced_at_once_and_may_still_succeed() {
        let (mut api, mut jobs) = (Api::default(), Jobs::default());
        jobs.add(&Key::new("ns", "j"), job(&json!({"parallelism": 1, "completions": 2, "template": {}}), 0), 7);
        assert_eq!(made(&mut jobs, &mut api, 9), ["j-0"]);
        let key = Key::new("ns", "j-0");
        api.change_pod(&key, |pod| {
            pod.spec.get_or_insert_default().node_name = Some("n".to_owned());
            Ok(())
        })
        .expect("it is there");
        api.delete_pod(&key, None, NOW).expect("it is there");
        let body = api.store.get(Kind::Pod, &key).cloned().expect("it terminates");
        jobs.note(&key, &body, false);
        assert_eq!(made(&mut jobs, &mut api, 9), ["j-1"]);
        end(&mut jobs, &mut api, "j-0", "Succeeded");
        end(&mut jobs, &mut api, "j-1", "Succeeded");
        assert!(made(&mut jobs, &mut api, 9).is_empty(), "two have succeeded");
    }

    #[test]
    fn no_more_are_made_than_there_may_be() {
        let (mut api, mut jobs) = (Api::default(), Jobs::default());
        let key = Key::new("ns", "j");
        jobs.add(&key, job(&json!({"parallelism": 3, "suspend": true, "template": {}}), 0), 7);
        assert_eq!(jobs.act(&mut api, NOW, 9), Made::default(), "it is suspended");
        jobs.add(&key, job(&json!({"parallelism": 3, "template": {}}), 0), 7);
        let made = jobs.act(&mut api, NOW, 2);
        assert_eq!((made.pods.len(), made.lacks), (2, Some(key)));
    }
}
