//! What a real API server does with our requests, of those things that are easily done otherwise.

use serde_json::json;

use super::super::kubelet;
use super::*;
use crate::api::task_group::TaskGroupStatus;
use crate::core::codes::Code;

const NOW: Wall = Wall(5_000);

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

/// An API server with the pod `a`, and its UID.
fn with_pod(change: impl FnOnce(&mut Pod)) -> (Api, Uid) {
    let mut api = Api::default();
    let mut pod = Pod::default();
    change(&mut pod);
    let seen = api.create(&key("a"), Body::Pod(Arc::new(pod)), NOW).expect("it is new").expect("it is told");
    (api, seen.uid)
}

fn bind(uid: &Uid) -> Op {
    let annotations = BTreeMap::from([("gangline.dev/binding".to_owned(), "queue=root.q".to_owned())]);
    Op::Bind { pod: key("a"), uid: uid.clone(), node: "n".into(), annotations }
}

fn code(outcome: &Outcome) -> u16 {
    match outcome {
        Outcome::Ok(_) | Outcome::Removed => 200,
        Outcome::Refused { code, .. } => *code,
        Outcome::Pruned | Outcome::Unknown | Outcome::NotSent => 0,
    }
}

fn pod(api: &Api) -> Option<&Pod> {
    match api.store.get(Kind::Pod, &key("a"))? {
        Body::Pod(pod) => Some(pod),
        Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    }
}

/// Design 04, 4.3: six causes, one code; the annotations come with the node name, also of a node that does not exist.
#[test]
fn a_binding_as_the_real_server_takes_it() {
    let (mut api, uid) = with_pod(|_| ());
    assert_eq!(code(&api.call(&bind(&Uid::new("other")), NOW)), 409);
    assert_eq!(code(&api.call(&bind(&uid), NOW)), 200);
    let bound = pod(&api).expect("it is there");
    assert_eq!(bound.spec.as_ref().and_then(|spec| spec.node_name.as_deref()), Some("n"));
    assert!(bound.metadata.annotations.as_ref().is_some_and(|all| all.contains_key("gangline.dev/binding")));
    assert_eq!(code(&api.call(&bind(&uid), NOW)), 409, "once only, to the same node too");
    let (mut gated, uid) = with_pod(|pod| {
        let gate = k8s_openapi::api::core::v1::PodSchedulingGate { name: "g".to_owned() };
        pod.spec.get_or_insert_default().scheduling_gates = Some(vec![gate]);
    });
    assert_eq!(code(&gated.call(&bind(&uid), NOW)), 409);
    let (mut held, uid) = with_pod(|pod| pod.metadata.finalizers = Some(vec!["example.com/f".to_owned()]));
    assert_eq!(code(&held.call(&Op::DeletePod { pod: key("a"), uid: uid.clone() }, NOW)), 200);
    assert_eq!(code(&held.call(&bind(&uid), NOW)), 409, "it terminates");
}

#[test]
fn a_deletion_as_the_real_server_takes_it() {
    let (mut api, uid) = with_pod(|_| ());
    let delete = |uid: &Uid| Op::DeletePod { pod: key("a"), uid: uid.clone() };
    assert_eq!(code(&api.call(&delete(&Uid::new("other")), NOW)), 409);
    assert!(matches!(api.call(&delete(&uid), NOW), Outcome::Removed), "it never had a node");
    assert_eq!((pod(&api).is_none(), code(&api.call(&delete(&uid), NOW))), (true, 404));
    let (mut api, uid) = with_pod(|pod| pod.spec.get_or_insert_default().termination_grace_period_seconds = Some(0));
    api.call(&bind(&uid), NOW);
    assert!(matches!(api.call(&delete(&uid), NOW), Outcome::Removed), "it asks for no grace");
    let (mut held, uid) = with_pod(|pod| pod.metadata.finalizers = Some(vec!["example.com/f".to_owned()]));
    assert!(matches!(held.call(&delete(&uid), NOW), Outcome::Ok(None)), "somebody holds it");
    let (mut api, uid) = with_pod(|_| ());
    api.call(&bind(&uid), NOW);
    assert!(matches!(api.call(&delete(&uid), NOW), Outcome::Ok(None)));
    let terminating = pod(&api).expect("its node ends it");
    assert_eq!(terminating.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(kubelet::task(&api, &key("a")), Some(kubelet::Task::Fail), "without its node it is garbage");
    api.store.create(&Key::cluster("n"), Body::Node(Arc::default()), 1);
    assert_eq!(kubelet::task(&api, &key("a")), Some(kubelet::Task::Stop));
    assert!(kubelet::act(&mut api, &key("a"), NOW) && pod(&api).is_some_and(has_ended), "its end is told first");
    assert_eq!(kubelet::task(&api, &key("a")), Some(kubelet::Task::End));
    assert!(kubelet::act(&mut api, &key("a"), NOW) && pod(&api).is_none());
}

/// A merge: what is to be taken away need not be there.
#[test]
fn an_annotation_as_the_real_server_takes_it() {
    let (mut api, uid) = with_pod(|_| ());
    let says = |api: &Api| {
        let own = pod(api).and_then(|pod| pod.metadata.annotations.clone()).unwrap_or_default();
        own.get("gang.scheduling.koordinator.sh/timeout").cloned()
    };
    let annotate = |uid: &Uid, timed_out: bool| Op::AnnotateTimeout { pod: key("a"), uid: uid.clone(), timed_out };
    assert_eq!((code(&api.call(&annotate(&Uid::new("other"), true), NOW)), says(&api)), (422, None));
    assert_eq!((code(&api.call(&annotate(&uid, true), NOW)), says(&api)), (200, Some("true".to_owned())));
    for _ in 0..2 {
        assert_eq!((code(&api.call(&annotate(&uid, false), NOW)), says(&api)), (200, None));
    }
    api.store.remove(Kind::Pod, &key("a"));
    assert_eq!(code(&api.call(&annotate(&uid, true), NOW)), 404);
}

/// Only in the version that is named, which is compared first; whether the pod has a node is not asked.
#[test]
fn a_failure_as_the_real_server_takes_it() {
    let (mut api, uid) = with_pod(|_| ());
    let version = |api: &Api| -> NonZeroU64 {
        let version = pod(api).and_then(|pod| pod.metadata.resource_version.as_ref()?.parse().ok());
        version.expect("versions are numbers")
    };
    let fail = |uid: &Uid, resource_version: NonZeroU64| {
        let (reason, message) = (Code::ReservationLost, "too late".into());
        Op::FailPod { pod: key("a"), uid: uid.clone(), resource_version, reason, message }
    };
    let first = version(&api);
    let other = Uid::new("other");
    assert_eq!(code(&api.call(&fail(&other, first), NOW)), 422);
    let condition = Box::new(condition(SCHEDULED, "False"));
    api.call(&Op::PatchPodCondition { pod: key("a"), uid: uid.clone(), condition }, NOW);
    assert_eq!([&uid, &other].map(|uid| code(&api.call(&fail(uid, first), NOW))), [409; 2], "it was changed");
    let latest = version(&api);
    assert_eq!(code(&api.call(&fail(&uid, latest), NOW)), 200);
    let status = pod(&api).and_then(|pod| pod.status.clone()).expect("it has one");
    let said = [status.phase, status.reason, status.message];
    assert_eq!(said, ["Failed", "ReservationLost", "too late"].map(|word| Some(word.to_owned())));
    assert_eq!(status.conditions.map(|all| all.len()), Some(1), "the rest stays as it is");
    let after = version(&api);
    assert_eq!((code(&api.call(&fail(&uid, after), NOW)), version(&api)), (200, after), "nothing new");
    api.store.remove(Kind::Pod, &key("a"));
    assert_eq!(code(&api.call(&fail(&uid, latest), NOW)), 404);
}

/// A Binding gives it a node, which counts as no change of the spec.
#[test]
fn a_generation_is_a_change_of_the_spec() {
    let gate = k8s_openapi::api::core::v1::PodSchedulingGate { name: "g".to_owned() };
    let (mut api, uid) = with_pod(|pod| pod.spec.get_or_insert_default().scheduling_gates = Some(vec![gate]));
    let generation = |api: &Api| pod(api).and_then(|pod| pod.metadata.generation);
    assert_eq!(generation(&api), Some(1));
    assert!(api.ungate(&key("a")).is_ok_and(|seen| seen.is_some()));
    assert!(api.ungate(&key("a")).is_ok_and(|seen| seen.is_none()), "it has none any more");
    assert_eq!((code(&api.call(&bind(&uid), NOW)), generation(&api)), (200, Some(2)));
}

#[test]
fn what_exists_is_not_made_twice_and_what_does_not_is_not_found() {
    let (mut api, _) = with_pod(|_| ());
    let mut again = Pod::default();
    (again.metadata.namespace, again.metadata.name) = (Some("ns".to_owned()), Some("a".to_owned()));
    assert_eq!(code(&api.call(&Op::CreatePod(Box::new(again)), NOW)), 409);
    assert_eq!(code(&api.call(&Op::GetPod { pod: key("a") }, NOW)), 200);
    assert_eq!(code(&api.call(&Op::GetPod { pod: key("b") }, NOW)), 404);
    let status = Op::PatchQueueStatus { queue: "root".into(), uid: Uid::new("u"), status: Box::default() };
    assert_eq!(code(&api.call(&status, NOW)), 404);
    let condition = Op::PatchPodCondition {
        pod: key("a"),
        uid: Uid::new("other"),
        condition: Box::new(condition("PodScheduled", "False")),
    };
    assert_eq!(code(&api.call(&condition, NOW)), 422, "the UID is a field that cannot be changed");
}

#[test]
fn the_server_makes_a_name_of_a_prefix() {
    let mut api = Api::default();
    let mut made = |prefix: &str| {
        let mut pod = Pod::default();
        pod.metadata.generate_name = Some(prefix.to_owned());
        api.create(&Key::new("ns", ""), Body::Pod(Arc::new(pod)), NOW)
            .map(|seen| seen.map(|seen| seen.key.name.to_string()))
    };
    let (one, other) = (made("p-").expect("it is made"), made("p-").expect("it is made"));
    assert!(one != other && one.is_some_and(|name| name.starts_with("p-") && name.len() == 7));
    let long = made(&"x".repeat(80)).expect("it is made");
    assert_eq!(long.map(|name| name.len()), Some(63));
    assert_eq!(made("").map_err(|refusal| code(&refusal)), Err(422), "no name and no prefix");
}

#[test]
fn admission_is_asked_before_anything_is_stored() {
    fn script(store: &Store, pod: &Pod) -> Verdict {
        match store.of_kind(Kind::Pod).count() {
            0 => Verdict::Allow,
            1 => {
                let mut pod = pod.clone();
                pod.metadata.labels = Some(BTreeMap::from([("added".to_owned(), String::new())]));
                Verdict::Mutate(Box::new(pod))
            }
            _ => Verdict::Deny { code: 403, reason: "Forbidden" },
        }
    }
    let mut api = Api { admission: Some(script), ..Api::default() };
    let mut make = |name: &str| api.create(&key(name), Body::Pod(Arc::default()), NOW);
    let labels = |answer: Answer| match answer {
        Ok(seen) => Ok(seen.and_then(|seen| seen.body.ok()).and_then(|body| metadata(&body).labels.clone())),
        Err(refusal) => Err(code(&refusal)),
    };
    assert_eq!(labels(make("a")), Ok(None));
    assert!(labels(make("b")).is_ok_and(|labels| labels.is_some()));
    assert_eq!(labels(make("a")), Err(403), "before it is found that there is one");
    assert_eq!(api.store.of_kind(Kind::Pod).count(), 2);
}

/// A TaskGroup of so many members, whose gang is one that is named so.
fn group(least: u32, listed: &str) -> Body {
    let spec = json!({"minMember": least, "minResource": {"cpu": "1"}, "gangGroup": [format!("ns/{listed}")]});
    let group = json!({"metadata": {"name": "g"}, "spec": spec});
    Body::TaskGroup(Arc::new(serde_json::from_value(group).expect("it reads")))
}

fn create(api: &mut Api, body: Body) -> u16 {
    api.create(&key("g"), body, NOW).map_or_else(|refused| code(&refused), |_| 200)
}

fn edit(api: &mut Api, to: Body) -> u16 {
    let answer = api.edit(Kind::TaskGroup, &key("g"), |body| {
        let meta = metadata(body).clone();
        *body = to;
        *metadata_mut(body) = meta;
    });
    answer.map_or_else(|refused| code(&refused), |_| 200)
}

fn say(api: &mut Api, state: &str) -> u16 {
    let there = metadata(api.store.get(Kind::TaskGroup, &key("g")).expect("there"));
    let uid = Uid::new(there.uid.clone().expect("it has one"));
    let status = TaskGroupStatus { application_state: state.to_owned(), ..TaskGroupStatus::default() };
    let op = Op::PatchTaskGroupStatus { group: key("g"), uid, status: Box::new(status) };
    code(&api.call(&op, NOW))
}

/// What the definitions say of each object is asked beside them (`schema/tests.rs`).
#[test]
fn objects_of_ours_are_as_their_definitions_say() {
    let mut api = Api::default();
    assert_eq!(create(&mut api, group(0, "g")), 422, "a bound");
    assert_eq!(create(&mut api, group(1, "h")), 422, "a rule");
    assert_eq!(create(&mut api, group(1, "g")), 200);
    assert_eq!(edit(&mut api, group(1, "h")), 422, "a rule");
    assert_eq!(say(&mut api, &"x".repeat(33)), 422, "a bound of a status");
    assert_eq!(say(&mut api, "Running"), 200);
    assert_eq!(edit(&mut api, group(2, "g")), 422, "a change of one that lives");
    api.lets_all_through = true;
    assert_eq!(edit(&mut api, group(2, "g")), 422, "a change of one that lives, whatever else is let through");
}

/// A rule over the whole object is asked of each write of what an earlier definition let through.
#[test]
fn what_was_let_through_is_not_taken_for_right() {
    let mut api = Api { lets_all_through: true, ..Api::default() };
    assert_eq!(create(&mut api, group(1, "h")), 200);
    api.lets_all_through = false;
    assert_eq!(say(&mut api, "Rejected"), 422, "as it was created");
    api.store.remove(Kind::TaskGroup, &key("g"));
    assert_eq!(create(&mut api, group(1, "g")), 200);
    api.lets_all_through = true;
    assert_eq!(edit(&mut api, group(1, "h")), 200);
    api.lets_all_through = false;
    assert_eq!(say(&mut api, "Rejected"), 422, "as it was edited");
    assert_eq!(edit(&mut api, group(1, "g")), 200, "it is made right");
    assert_eq!(say(&mut api, "Rejected"), 200);
}

/// What the writer of a condition does not name stays as another one wrote it.
#[test]
fn a_condition_is_merged_by_its_type_and_null_takes_a_field_away() {
    let other = json!({"type": "DisruptionTarget", "status": "True"});
    let first = json!({"type": "A", "reason": "x", "observedGeneration": 1, "later": 7});
    let mut status = json!({"conditions": [first, other]});
    merge_condition(&mut status, &json!({"type": "A", "reason": "y", "observedGeneration": null}));
    assert_eq!(status, json!({"conditions": [other, {"type": "A", "reason": "y", "later": 7}]}));
    let mut none = Value::Null;
    merge_condition(&mut none, &json!({"type": "A", "observedGeneration": null}));
    assert_eq!(none, json!({"conditions": [{"type": "A"}]}));
}
