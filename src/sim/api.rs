//! What the API server makes of a request: the same codes and effects, as far as the scheduler's requests go. Every rule
//! here was seen on a real one (design 04, 4.3; `e2e/`).

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use serde_json::{Value, json};

use super::admission::{Hook, Verdict};
use super::namespace::Namespaces;
use super::store::{Store, generated, kind, metadata, metadata_mut, seen};
use super::{defaults, edit, schema};
use crate::api::task_group::TaskGroupSpec;
use crate::core::base::ids::{Key, Uid};
use crate::core::time::Wall;
use crate::shim::dialect::koordinator::{TIMED_OUT, TIMEOUT};
use crate::shim::dialect::kubernetes::InitiallyScheduled;
use crate::shim::dialect::pod_group::PodGroupStatus;
use crate::shim::observation::{Body, Outcome, Seen};
use crate::shim::op::{GroupEdit, Kind, Op};

/// Milliseconds of a second.
const SECOND: i64 = 1_000;
/// The condition that says whether a pod has a node.
const SCHEDULED: &str = "PodScheduled";
/// Grace of a pod that does not say.
const GRACE_SECONDS: i64 = 30;

/// The API server over its store.
#[derive(Clone, Debug, Default)]
pub struct Api {
    /// The objects.
    pub store: Store,
    /// Where they may be.
    pub namespaces: Namespaces,
    /// What is said of new pods; nothing, where it is not set.
    pub admission: Option<Hook>,
    /// The definitions of our kinds are those of an earlier version, which let everything through that was not a change.
    pub lets_all_through: bool,
    /// What they let through so, of what there is.
    let_through: BTreeSet<(Kind, Key)>,
    /// Names of events that exist.
    events: BTreeSet<Key>,
}

/// A refusal, or a success that did nothing.
pub(super) type Answer = Result<Option<Seen>, Outcome>;

impl Api {
    /// Carries out a request of the scheduler.
    pub fn call(&mut self, op: &Op, now: Wall) -> Outcome {
        let answer = match op {
            Op::Bind { pod, uid, node, annotations } => self.bind(pod, uid, node, annotations),
            Op::DeletePod { pod, uid } => self.delete_pod(pod, Some(uid), now),
            Op::FailPod { pod, uid, resource_version, reason, message } => self.change_pod(pod, |pod| {
                expect_version(pod, *resource_version)?;
                expect_uid(pod, uid, 422, "Invalid")?;
                let status = pod.status.get_or_insert_default();
                status.phase = Some("Failed".to_owned());
                (status.reason, status.message) = (Some(reason.to_string()), Some(message.to_string()));
                Ok(())
            }),
            Op::CreatePod(pod) => self.create_pod(pod, now),
            Op::CreateTaskGroup(group) => {
                let metadata = &group.metadata;
                let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
                let key = Key::new(namespace.unwrap_or_default(), name.unwrap_or_default());
                self.create(&key, Body::TaskGroup(Arc::new((**group).clone())), now)
            }
            Op::EditTaskGroup { group, uid, generation, edit } => self.edit_task_group(group, (uid, *generation), edit),
            Op::GetPod { pod } => return self.get_pod(pod),
            Op::PatchPodCondition { pod, uid, condition } => self.change_pod(pod, |pod| {
                expect_uid(pod, uid, 422, "Invalid")?;
                set_condition(pod, condition);
                Ok(())
            }),
            Op::AnnotateTimeout { pod, uid, timed_out } => self.annotate_timeout(pod, uid, *timed_out),
            Op::PatchTaskGroupStatus { group, uid, status } => self.change(Kind::TaskGroup, group, uid, |body| {
                if let Body::TaskGroup(group) = body {
                    Arc::make_mut(group).status = Some((**status).clone());
                }
            }),
            Op::PatchQueueStatus { queue, uid, status } => {
                self.change(Kind::Queue, &Key::cluster(queue.clone()), uid, |body| {
                    if let Body::Queue(queue) = body {
                        Arc::make_mut(queue).status = Some((**status).clone());
                    }
                })
            }
            Op::PatchPodGroupStatus { system, group, uid, status, .. } => {
                self.change(system.kind(), group, uid, |body| set_pod_group_status(body, status))
            }
            Op::CreateEvent(event) => {
                let name = Key::new(
                    event.metadata.namespace.as_deref().unwrap_or_default(),
                    event.metadata.name.as_deref().unwrap_or_default(),
                );
                self.create_event(name)
            }
        };
        match answer {
            // Whom a DELETE removes it shows as it was last; one that terminates is there.
            Ok(_) if matches!(op, Op::DeletePod { pod, .. } if self.store.get(Kind::Pod, pod).is_none()) => {
                Outcome::Removed
            }
            Ok(seen) => Outcome::Ok(seen.filter(|_| matches!(op, Op::CreatePod(_))).map(Box::new)),
            Err(refusal) => refusal,
        }
    }

    /// A merge: what is to be taken away need not be there.
    fn annotate_timeout(&mut self, pod: &Key, uid: &Uid, timed_out: bool) -> Answer {
        self.change_pod(pod, |pod| {
            expect_uid(pod, uid, 422, "Invalid")?;
            if timed_out {
                let own = pod.metadata.annotations.get_or_insert_default();
                own.insert(TIMEOUT.to_owned(), TIMED_OUT.to_owned());
            } else {
                pod.metadata.annotations.iter_mut().for_each(|own| drop(own.remove(TIMEOUT)));
            }
            Ok(())
        })
    }

    /// A Binding is something new in its namespace.
    fn bind(&mut self, pod: &Key, uid: &Uid, node: &str, annotations: &BTreeMap<String, String>) -> Answer {
        self.namespaces.admit(&pod.namespace)?;
        self.change_pod(pod, |pod| {
            expect_uid(pod, uid, 409, "Conflict")?;
            bindable(pod)?;
            pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
            let own = pod.metadata.annotations.get_or_insert_default();
            own.extend(annotations.iter().map(|(key, value)| (key.clone(), value.clone())));
            set_condition(pod, &condition(SCHEDULED, "True"));
            Ok(())
        })
    }

    /// Deletes a pod as anybody may; with a UID only that one. One that was never bound, has ended, or has no grace is
    /// gone at once; others terminate until their node says so, and all until nobody holds them.
    pub fn delete_pod(&mut self, key: &Key, uid: Option<&Uid>, now: Wall) -> Answer {
        self.delete_within(key, uid, None, now)
    }

    /// Deletes a pod without grace, as its node does when it has ended.
    pub fn end_pod(&mut self, key: &Key, now: Wall) -> Answer {
        self.delete_within(key, None, Some(0), now)
    }

    fn delete_within(&mut self, key: &Key, uid: Option<&Uid>, grace: Option<i64>, now: Wall) -> Answer {
        let Some(Body::Pod(pod)) = self.store.get(Kind::Pod, key) else { return Err(refused(404, "NotFound")) };
        if let Some(uid) = uid {
            expect_uid(pod, uid, 409, "Conflict")?;
        }
        let spec = pod.spec.as_ref();
        let on_node = spec.is_some_and(|spec| spec.node_name.is_some());
        let own = || spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
        let leaves = pod.metadata.deletion_timestamp.as_ref();
        let grace = match (leaves.map(|_| pod.metadata.deletion_grace_period_seconds.unwrap_or(0)), grace) {
            // It can be made shorter, by those who say so.
            (Some(left), Some(wanted)) if wanted < left => wanted,
            (Some(_), _) => return Ok(None),
            (None, wanted) if on_node && !has_ended(pod) => wanted.unwrap_or_else(own),
            (None, _) => 0,
        };
        let goes = grace == 0 && !is_held(pod);
        let seen = self.terminate(Kind::Pod, key, grace, now);
        if goes {
            // A watch tells of both.
            self.store.remove(Kind::Pod, key);
            return Ok(None);
        }
        Ok(seen)
    }

    /// Deletes an object of any kind as anybody may; who is held stays, terminating.
    ///
    /// # Errors
    /// There is none: 404.
    pub fn delete(&mut self, kind: Kind, key: &Key, now: Wall) -> Answer {
        if kind == Kind::Pod {
            return self.delete_pod(key, None, now);
        }
        let Some(body) = self.store.get(kind, key) else { return Err(refused(404, "NotFound")) };
        let meta = metadata(body);
        if meta.finalizers.as_ref().is_none_or(Vec::is_empty) {
            self.store.remove(kind, key);
            return Ok(None);
        }
        Ok(if meta.deletion_timestamp.is_some() { None } else { self.terminate(kind, key, 0, now) })
    }

    /// From now on it terminates.
    fn terminate(&mut self, kind: Kind, key: &Key, grace: i64, now: Wall) -> Option<Seen> {
        let mut body = self.store.get(kind, key)?.clone();
        if metadata(&body).deletion_timestamp.is_none() {
            edit::grow(&mut body);
        }
        let meta = metadata_mut(&mut body);
        meta.deletion_timestamp = time(now);
        meta.deletion_grace_period_seconds = Some(grace);
        Some(self.store.put(key, body))
    }

    /// Whoever held an object lets it go.
    pub fn let_go(&mut self, kind: Kind, key: &Key) -> Answer {
        let Some(body) = self.store.get(kind, key) else { return Err(refused(404, "NotFound")) };
        if metadata(body).deletion_timestamp.is_some() && metadata(body).deletion_grace_period_seconds == Some(0) {
            // What a watch tells of is the object as it was before.
            self.store.remove(kind, key);
            return Ok(None);
        }
        self.edit(kind, key, |body| metadata_mut(body).finalizers = None)
    }

    fn create_pod(&mut self, pod: &Pod, now: Wall) -> Answer {
        let meta = &pod.metadata;
        let key = Key::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
        self.create(&key, Body::Pod(Arc::new(pod.clone())), now)
    }

    /// Creates an object as anybody may; without a name, under one that the server makes of `generateName`.
    ///
    /// # Errors
    /// One of this name exists: 409. It has no name, or is of ours and not as its definition says: 422. Its namespace does
    /// not exist: 404, or terminates: 403. A pod that is not admitted: what the script says.
    pub fn create(&mut self, key: &Key, body: Body, now: Wall) -> Answer {
        let key = &self.named(key, &body)?;
        self.namespaces.admit(&key.namespace)?;
        let mut body = self.admitted(filled_in(key, body))?;
        edit::without_status(&mut body);
        let is_wrong = self.validate(key, &body, None)?;
        if self.store.get(kind(&body), key).is_some() {
            return Err(refused(409, "AlreadyExists"));
        }
        if let Body::Pod(pod) = &mut body {
            begin(Arc::make_mut(pod));
        }
        let name = (kind(&body), key.clone());
        if is_wrong {
            self.let_through.insert(name)
        } else {
            self.let_through.remove(&name)
        };
        Ok(Some(self.store.create(key, body, now.0.div_euclid(SECOND))))
    }

    fn named(&self, key: &Key, body: &Body) -> Result<Key, Outcome> {
        let prefix = metadata(body).generate_name.as_deref().filter(|prefix| !prefix.is_empty());
        match prefix {
            _ if !key.name.is_empty() => Ok(key.clone()),
            Some(prefix) => Ok(Key { name: generated(prefix, self.store.revision()).into(), ..key.clone() }),
            None => Err(refused(422, "Invalid")),
        }
    }

    fn admitted(&self, body: Body) -> Result<Body, Outcome> {
        let (Body::Pod(pod), Some(hook)) = (&body, self.admission) else { return Ok(body) };
        match hook(&self.store, pod) {
            Verdict::Allow => Ok(body),
            Verdict::Mutate(pod) => Ok(Body::Pod(Arc::new(*pod))),
            Verdict::Deny { code, reason } => Err(refused(code, reason)),
        }
    }

    /// An object of ours, or a change of one, is as its definition says. Whether that let something through.
    fn validate(&self, key: &Key, body: &Body, old: Option<&Body>) -> Result<bool, Outcome> {
        let was_right = old.is_some() && !self.let_through.contains(&(kind(body), key.clone()));
        let problems = schema::problems_of(body, old, was_right);
        if problems.iter().any(|problem| problem.of_change || !self.lets_all_through) {
            return Err(refused(422, "Invalid"));
        }
        Ok(!problems.is_empty())
    }

    fn create_event(&mut self, name: Key) -> Answer {
        self.namespaces.admit(&name.namespace)?;
        if self.events.insert(name) { Ok(None) } else { Err(refused(409, "AlreadyExists")) }
    }

    /// The events of a namespace are gone.
    pub(super) fn forget_events(&mut self, namespace: &str) {
        self.events.retain(|name| &*name.namespace != namespace);
    }

    fn get_pod(&self, key: &Key) -> Outcome {
        let pod = self.store.get(Kind::Pod, key);
        pod.map_or_else(|| refused(404, "NotFound"), |pod| Outcome::Ok(Some(Box::new(seen(key, pod)))))
    }

    /// Changes what a pod is beside its spec, or gives it a node; a change that changes nothing is none.
    pub fn change_pod(&mut self, key: &Key, change: impl FnOnce(&mut Pod) -> Result<(), Outcome>) -> Answer {
        let Some(Body::Pod(found)) = self.store.get(Kind::Pod, key) else { return Err(refused(404, "NotFound")) };
        let mut pod = (**found).clone();
        change(&mut pod)?;
        let same = pod == **found;
        Ok(if same { None } else { Some(self.store.put(key, Body::Pod(Arc::new(pod)))) })
    }

    /// Whoever held a pod back by scheduling gates lifts them. That it was held back goes on being said at its condition.
    ///
    /// # Errors
    /// There is none: 404.
    pub fn ungate(&mut self, key: &Key) -> Answer {
        self.edit(Kind::Pod, key, |body| {
            if let Body::Pod(pod) = body {
                Arc::make_mut(pod).spec.iter_mut().for_each(|spec| spec.scheduling_gates = None);
            }
        })
    }

    /// Changes the metadata and the spec of an object as anybody may; a change that changes nothing is none.
    ///
    /// # Errors
    /// There is none: 404. It is of ours, and the change is not as its definition says: 422.
    pub fn edit(&mut self, kind: Kind, key: &Key, change: impl FnOnce(&mut Body)) -> Answer {
        let Some(old) = self.store.get(kind, key) else { return Err(refused(404, "NotFound")) };
        let mut new = old.clone();
        change(&mut new);
        edit::keep_status(&mut new, old);
        self.put_changed(key, new)
    }

    /// Writes a status of ours.
    fn change(&mut self, kind: Kind, key: &Key, uid: &Uid, change: impl FnOnce(&mut Body)) -> Answer {
        let Some(old) = self.store.get(kind, key) else { return Err(refused(404, "NotFound")) };
        if metadata(old).uid.as_deref() != Some(&*uid.0) {
            return Err(refused(422, "Invalid"));
        }
        let mut new = old.clone();
        change(&mut new);
        self.put_changed(key, new)
    }

    fn edit_task_group(&mut self, group: &Key, (uid, generation): (&Uid, i64), edit: &GroupEdit) -> Answer {
        let there = self.store.get(Kind::TaskGroup, group).map(metadata);
        if there.is_some_and(|there| there.generation != Some(generation)) {
            return Err(refused(422, "Invalid"));
        }
        self.change(Kind::TaskGroup, group, uid, |body| {
            if let Body::TaskGroup(group) = body {
                edit_spec(&mut Arc::make_mut(group).spec, edit);
            }
        })
    }

    /// Stores what became of an object, if that is allowed; nothing, where nothing differs.
    fn put_changed(&mut self, key: &Key, new: Body) -> Answer {
        let kind = kind(&new);
        let Some(old) = self.store.get(kind, key) else { return Err(refused(404, "NotFound")) };
        let is_wrong = self.validate(key, &new, Some(old))?;
        let new = edit::finished(old, new);
        if is_wrong {
            self.let_through.insert((kind, key.clone()));
        }
        Ok(new.map(|new| self.store.put(key, new)))
    }
}

/// An object with what the server fills in before anybody looks at it.
fn filled_in(key: &Key, mut body: Body) -> Body {
    let meta = metadata_mut(&mut body);
    meta.namespace = Some(key.namespace.to_string()).filter(|namespace| !namespace.is_empty());
    meta.name = Some(key.name.to_string());
    if let Body::Pod(pod) = &mut body {
        defaults::fill(Arc::make_mut(pod));
    }
    body
}

/// A pod begins.
fn begin(pod: &mut Pod) {
    pod.status.get_or_insert_with(PodStatus::default).phase = Some("Pending".to_owned());
    if is_gated(pod) {
        let gated = PodCondition { reason: Some("SchedulingGated".to_owned()), ..condition(SCHEDULED, "False") };
        set_condition(pod, &gated);
    }
}

fn edit_spec(spec: &mut TaskGroupSpec, edit: &GroupEdit) {
    let GroupEdit { min_member, total_member, mode, match_policy, wait_timeout_seconds } = edit;
    (spec.min_member, spec.total_member) = (*min_member, Some(*total_member));
    (spec.mode, spec.match_policy) = (mode.unwrap_or(spec.mode), match_policy.unwrap_or(spec.match_policy));
    spec.wait_timeout_seconds = wait_timeout_seconds.or(spec.wait_timeout_seconds);
}

fn set_pod_group_status(body: &mut Body, status: &PodGroupStatus) {
    let set = |old: &mut Value| {
        let mut fields = old.as_object().cloned().unwrap_or_default();
        fields.extend(json!(status).as_object().cloned().unwrap_or_default());
        *old = fields.into();
    };
    match body {
        Body::KoordinatorPodGroup(group) => set(&mut Arc::make_mut(group).status),
        Body::CoschedulingPodGroup(group) => set(&mut Arc::make_mut(group).status),
        Body::VolcanoPodGroup(group) => set(&mut Arc::make_mut(group).status),
        Body::KubernetesPodGroup(group) => {
            let said = status.condition.iter().map(InitiallyScheduled::written);
            said.for_each(|condition| merge_condition(&mut Arc::make_mut(group).status, &condition));
        }
        Body::Pod(_)
        | Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_) => {}
    }
}

/// A strategic merge: by the type of the condition, and then field by field; `null` takes one away.
fn merge_condition(status: &mut Value, condition: &Value) {
    let known = status.get("conditions").and_then(Value::as_array).into_iter().flatten().cloned();
    let (own, others): (Vec<Value>, Vec<Value>) = known.partition(|known| known["type"] == condition["type"]);
    let mut fields = own.first().and_then(Value::as_object).cloned().unwrap_or_default();
    fields.extend(condition.as_object().cloned().unwrap_or_default());
    fields.retain(|_, value| !value.is_null());
    // Of nothing an index makes an object.
    status["conditions"] = others.into_iter().chain([fields.into()]).collect();
}

fn expect_uid(pod: &Pod, uid: &Uid, code: u16, reason: &str) -> Result<(), Outcome> {
    if pod.metadata.uid.as_deref() == Some(&*uid.0) { Ok(()) } else { Err(refused(code, reason)) }
}

/// It is compared before anything else is looked at.
fn expect_version(pod: &Pod, version: NonZeroU64) -> Result<(), Outcome> {
    let is_latest = pod.metadata.resource_version.as_ref().is_some_and(|latest| *latest == version.to_string());
    if is_latest { Ok(()) } else { Err(refused(409, "Conflict")) }
}

/// Causes of a Binding's 409 look alike.
fn bindable(pod: &Pod) -> Result<(), Outcome> {
    let spec = pod.spec.as_ref();
    let bound = spec.is_some_and(|spec| spec.node_name.is_some());
    if bound || is_gated(pod) || pod.metadata.deletion_timestamp.is_some() {
        Err(refused(409, "Conflict"))
    } else {
        Ok(())
    }
}

/// Whether somebody holds a pod back from scheduling.
pub fn is_gated(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty())
}

/// Whether somebody wants to do something before a pod goes.
pub fn is_held(pod: &Pod) -> bool {
    pod.metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty())
}

/// Whether a pod has ended.
pub fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Merges a condition by its type.
pub fn set_condition(pod: &mut Pod, condition: &PodCondition) {
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    match conditions.iter_mut().find(|known| known.type_ == condition.type_) {
        Some(known) => *known = condition.clone(),
        None => conditions.push(condition.clone()),
    }
}

/// A condition that says no more than this.
pub fn condition(type_: &str, status: &str) -> PodCondition {
    PodCondition { type_: type_.to_owned(), status: status.to_owned(), ..PodCondition::default() }
}

fn time(now: Wall) -> Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
    jiff::Timestamp::from_second(now.0.div_euclid(SECOND)).ok().map(Into::into)
}

/// What a server says that waited too long for its store: 504. The write may have been made, or may be yet.
pub fn gave_up() -> Outcome {
    refused(504, "Timeout")
}

/// A refusal; nobody reads the model's words.
pub(super) fn refused(code: u16, reason: &str) -> Outcome {
    Outcome::Refused { code, reason: reason.into(), message: reason.into(), retry_after: None }
}

#[cfg(test)]
mod tests;
