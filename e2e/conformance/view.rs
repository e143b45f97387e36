//! What is compared of answers and objects: what both can know, with UIDs as numbers of lives.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::{Body, Outcome, Seen};
use gangline::shim::op::Kind;
use gangline::sim::store::{kind, metadata};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::steps::Whose;

/// A UID that no object has.
const NOBODY: &str = "5d1e2f3a-0000-4000-8000-000000000000";

/// The objects that each name stood for, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lives(BTreeMap<(Kind, Key), Name>);

/// What was seen under one name.
#[derive(Debug, Default)]
struct Name {
    uids: Vec<Uid>,
    /// The version before the last, and the last.
    versions: [u64; 2],
}

impl Lives {
    /// Which life of its name an object is, from 1, and whether it was not known before.
    pub(super) fn number(&mut self, kind: Kind, seen: &Seen) -> (usize, bool) {
        let Name { uids, versions } = self.0.entry((kind, seen.key.clone())).or_default();
        if seen.rv > versions[1] {
            *versions = [versions[1], seen.rv];
        }
        let known = uids.iter().position(|uid| *uid == seen.uid);
        let number = known.unwrap_or_else(|| {
            uids.push(seen.uid.clone());
            uids.len() - 1
        });
        (number + 1, known.is_none())
    }

    /// The UID that a request names.
    pub(super) fn uid(&self, kind: Kind, key: &Key, whose: Whose) -> Uid {
        let own = self.0.get(&(kind, key.clone())).and_then(|name| name.uids.last());
        own.filter(|_| matches!(whose, Whose::Own)).cloned().unwrap_or_else(|| Uid::new(NOBODY))
    }

    /// The version that a request names, the latest or the one before; where there is none, one that no object has.
    pub(super) fn version(&self, kind: Kind, key: &Key, is_latest: bool) -> NonZeroU64 {
        let seen = self.0.get(&(kind, key.clone())).map(|name| name.versions[usize::from(is_latest)]);
        seen.and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MAX)
    }
}

/// An answer: successes are one code, and the object that comes with it.
pub(super) fn answer(outcome: &Outcome, kind: Kind, lives: &mut Lives) -> Value {
    match outcome {
        Outcome::Ok(None) => json!(200),
        Outcome::Ok(Some(seen)) => json!([200, object(seen, kind, lives)]),
        Outcome::Refused { code, reason, .. } => json!([code, &**reason]),
        Outcome::Removed => json!("removed"),
        Outcome::Pruned => json!("pruned"),
        Outcome::Unknown => json!("unknown"),
        Outcome::NotSent => json!("not sent"),
    }
}

/// An object as the scheduler reads it.
pub(super) fn object(seen: &Seen, kind: Kind, lives: &mut Lives) -> Value {
    let life = lives.number(kind, seen).0;
    match &seen.body {
        Ok(body) => json!({"name": seen.key.to_string(), "life": life, "is": read(body)}),
        Err(bad) => json!({"name": seen.key.to_string(), "life": life, "malformed": &*bad.problem}),
    }
}

/// That, and what it does not read.
pub(super) fn whole(seen: &Seen, lives: &mut Lives) -> Value {
    let Ok(body) = &seen.body else { return json!("malformed") };
    let meta = metadata(body);
    let mut value = object(seen, kind(body), lives);
    value["finalizers"] = json!(meta.finalizers.as_ref().filter(|all| !all.is_empty()));
    value["grace"] = json!(meta.deletion_grace_period_seconds);
    if let Body::Pod(pod) = body {
        value["says"] = json!(pod.status.as_ref().map(|status| [&status.reason, &status.message]));
    }
    value
}

fn read(body: &Body) -> Value {
    let meta = metadata(body);
    let mut value = json!({
        "labels": meta.labels.as_ref().filter(|all| !all.is_empty()),
        "annotations": meta.annotations.as_ref().filter(|all| !all.is_empty()),
        "leaves": meta.deletion_timestamp.is_some(),
        "generation": meta.generation,
    });
    match body {
        Body::Pod(pod) => value["pod"] = pod_parts(pod),
        Body::Node(node) => {
            let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable);
            let room = node.status.as_ref().and_then(|status| status.allocatable.clone());
            value["node"] = json!([cordoned.unwrap_or(false), room]);
        }
        Body::TaskGroup(group) => value["group"] = json!([group.spec, group.status]),
        Body::Queue(queue) => value["queue"] = json!([queue.spec, queue.status]),
        Body::ResourceQuota(quota) => {
            value["quota"] = json!(quota.spec.as_ref().and_then(|spec| spec.hard.clone()));
        }
        Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => {}
    }
    value
}

fn pod_parts(pod: &Pod) -> Value {
    let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let scheduled = conditions.filter(|one| one.type_ == "PodScheduled").map(|one| json!([one.status, one.reason]));
    let containers = spec.map(|spec| &spec.containers).into_iter().flatten();
    let requests = containers.map(|one| json!(one.resources.as_ref().and_then(|all| all.requests.as_ref())));
    json!({
        "node": spec.and_then(|spec| spec.node_name.as_ref()),
        "gates": spec.and_then(|spec| spec.scheduling_gates.as_ref()),
        "phase": status.and_then(|status| status.phase.as_ref()),
        "scheduled": scheduled.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
    })
}
