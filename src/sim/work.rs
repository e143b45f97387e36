//! Pods that are in no task group, by the Job that made them: when they started and ended.

use std::collections::BTreeMap;

use serde::Serialize;

use super::api::has_ended;
use super::job;
use super::store::metadata;
use crate::api::names;
use crate::core::base::ids::Key;
use crate::core::time::Millis;
use crate::shim::observation::Body;

/// A Job or a pod outside task groups. Times are milliseconds after the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// `Job namespace/name`, or `Pod namespace/name` of one without a Job.
    pub name: String,
    /// Pods in all.
    pub pods: u32,
    /// When the first of them ran.
    pub started: Option<Millis>,
    /// When the last of them had ended; none if one has not.
    pub ended: Option<Millis>,
}

/// What became of such pods so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Works {
    works: BTreeMap<String, Work>,
    /// Pods that have not ended, and whose they are.
    active: BTreeMap<Key, String>,
    left: BTreeMap<String, u32>,
}

impl Works {
    /// A pod came, changed, or is gone.
    pub(super) fn note(&mut self, now: Millis, pod: &Key, body: &Body, gone: bool) {
        let Body::Pod(state) = body else { return };
        let ends = gone || has_ended(state);
        if !self.active.contains_key(pod) && (ends || !is_news(body)) {
            return;
        }
        let name = job::owner(pod, body).map_or_else(|| format!("Pod {pod}"), |job| format!("Job {job}"));
        let work = self.works.entry(name.clone()).or_insert_with(|| Work { name: name.clone(), ..Work::default() });
        let left = self.left.entry(name.clone()).or_default();
        if ends {
            self.active.remove(pod);
            *left -= 1;
            work.ended = (*left == 0).then_some(now);
            return;
        }
        if self.active.insert(pod.clone(), name).is_none() {
            work.pods += 1;
            (*left, work.ended) = (*left + 1, None);
        }
        let runs = state.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
        work.started = work.started.or(runs.then_some(now));
    }

    /// All of it, by name.
    pub(super) fn end(self) -> Vec<Work> {
        self.works.into_values().collect()
    }
}

/// Whether a pod that was not seen before belongs here: members are told of with their gang, and what came with a node is
/// no news but what the cluster was like.
fn is_news(body: &Body) -> bool {
    let Body::Pod(pod) = body else { return false };
    let labels = metadata(body).labels.as_ref();
    let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    !bound && labels.is_none_or(|labels| !labels.contains_key(names::TASK_GROUP))
}
