//! Pods that name a task group in YuniKorn's words that their application does not have: ordinary pods of it, one by one, beside
//! the gang (design 03, 3.4; 01, 1.2.2: "after the start they are ordinary asks").

use std::collections::BTreeMap;

use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::spec_yunikorn::{GROUP, GROUPS, bound, declared, events, is_declaration, run, shown};
use crate::support::driven::{Driven, member, node};

/// The annotation that declares task groups with so many members.
fn groups(all: &[(&str, i64)]) -> Value {
    let group = |(name, min): &(&str, i64)| json!({"name": name, "minMember": min, "minResource": {"cpu": "1"}});
    Value::from(all.iter().map(group).collect::<Vec<_>>()).to_string().into()
}

/// A pod of the application `app` in the queue `root.q` that asks for so many cores.
fn pod(name: &str, cpu: u32, annotations: &Value) -> Value {
    let mut pod = member(name);
    pod["metadata"]["labels"] = json!({"applicationId": "app", "queue": "root.q"});
    pod["metadata"]["annotations"] = annotations.clone();
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu.to_string());
    pod
}

/// A pod that names a task group and declares nothing.
fn plain(name: &str, cpu: u32, group: &str) -> Value {
    pod(name, cpu, &json!({GROUP: group}))
}

/// A node of 16 cores, and the queue `root.q`.
fn cluster(objects: &[(Kind, &Value)]) -> Driven {
    let mut driven = Driven::speaking(&Dialect::ALL);
    let queue = json!({"metadata": {"name": "root.q"}, "spec": {"parent": "root"}});
    let node = node("n1");
    driven.list(&[&[(Kind::Node, &node), (Kind::Queue, &queue)], objects].concat());
    driven
}

/// The pods as they are with their Bindings.
pub(super) fn as_bound<'a>(pods: impl IntoIterator<Item = &'a Value>, calls: &[Call]) -> Vec<Value> {
    let bindings: BTreeMap<_, _> = (calls.iter())
        .filter_map(
            |call| if let Op::Bind { pod, annotations, .. } = &call.op { Some((pod, annotations)) } else { None },
        )
        .map(|(pod, annotations)| (pod.name.to_string(), annotations.clone()))
        .collect();
    let with = |pod: &Value| {
        let annotations = bindings.get(pod["metadata"]["name"].as_str()?)?;
        let mut pod = pod.clone();
        annotations.iter().for_each(|(key, value)| pod["metadata"]["annotations"][key] = json!(value));
        pod["spec"]["nodeName"] = json!("n1");
        pod["status"]["phase"] = json!("Running");
        Some(pod)
    };
    pods.into_iter().filter_map(with).collect()
}

/// What the Binding of a pod says.
fn mark(calls: &[Call], name: &str) -> String {
    let bindings = calls.iter().filter_map(|call| {
        if let Op::Bind { pod, annotations, .. } = &call.op { Some((pod, annotations)) } else { None }
    });
    let mut marks = bindings.filter(|(pod, _)| *pod.name == *name);
    marks.next().and_then(|(_, annotations)| annotations.get("gangline.dev/binding")).cloned().unwrap_or_default()
}

fn told(calls: &[Call]) -> Vec<String> {
    let adjusted = events(calls).into_iter().filter(|(reason, _)| reason == Code::DeclarationAdjusted.name());
    adjusted.map(|(_, note)| note).collect()
}

fn gone(driven: &mut Driven, kind: Kind, object: &Value) {
    let seen = driven.seen(kind, object);
    driven.fact(kind, WatchFact::Gone(seen));
    driven.step();
}

/// KubeRay with `minReplicas: 0`: each pod declares the head, and workers of which none is there at first. The head starts though
/// its workers do not fit together, in whichever order they are seen.
#[test]
fn pods_of_a_task_group_of_nobody_start_beside_the_gang() {
    let both = groups(&[("head", 1), ("workers", 0)]);
    let declaring = |name: &str, cpu: u32, group: &str| pod(name, cpu, &json!({GROUPS: both, GROUP: group}));
    let pods = [declaring("head", 1, "head"), declaring("a-worker", 10, "workers"), declaring("worker", 10, "workers")];
    for order in [[0, 1, 2], [1, 2, 0]] {
        let mut driven = cluster(&[]);
        order.iter().for_each(|at| driven.upsert(Kind::Pod, &pods[*at]));
        let calls = run(&mut driven, 10);
        assert_eq!(declared(&calls).len(), 1, "the head's alone");
        assert_eq!(bound(&calls), ["head", "a-worker"].into());
        assert!(mark(&calls, "a-worker").starts_with("queue=root.q application=app "), "{}", mark(&calls, "a-worker"));
        let why = driven.controller.core().books.asks.iter().find(|(_, ask)| *ask.spec.key.name == *"worker");
        let why = why.and_then(|(id, _)| driven.controller.core().ask_reason(id)).map(|reason| reason.code());
        assert_eq!(why, Some(Code::Unschedulable));
        let notes = told(&calls);
        assert!(notes.len() == 3 && notes.iter().all(|note| note.contains("task-groups[1].minMember")), "{notes:?}");
    }
}

/// Before the gang starts nothing is placed, and nobody waits for a worker that cannot be.
#[test]
fn they_wait_for_the_start_and_the_start_not_for_them() {
    let both = json!({GROUPS: groups(&[("head", 20), ("workers", 0)]), GROUP: "head"});
    let mut driven = cluster(&[]);
    driven.upsert(Kind::Pod, &pod("head", 1, &both));
    driven.upsert(Kind::Pod, &plain("worker", 1, "workers"));
    assert_eq!(bound(&run(&mut driven, 10)), [].into(), "the gang has no room");

    let mut driven = cluster(&[]);
    let mut refused = plain("worker", 1, "workers");
    refused["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    driven.upsert(Kind::Pod, &refused);
    driven.upsert(Kind::Pod, &pod("head", 1, &json!({GROUPS: groups(&[("head", 1), ("workers", 0)]), GROUP: "head"})));
    assert_eq!(bound(&run(&mut driven, 10)), ["head"].into());
}

/// Where nobody is to start together there is no gang, also for pods that come when who declares it runs, and for a process that
/// begins then.
#[test]
fn where_every_task_group_is_of_nobody_there_is_no_gang() {
    let nobody = json!({GROUPS: groups(&[("head", 0), ("workers", 0)]), GROUP: "head"});
    let (head, early, late) = (pod("head", 1, &nobody), plain("early", 1, "workers"), plain("late", 1, "workers"));
    let mut driven = cluster(&[]);
    driven.upsert(Kind::Pod, &early);
    assert_eq!(bound(&run(&mut driven, 10)), [].into(), "nobody declares anything yet");
    driven.upsert(Kind::Pod, &head);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls), declared(&calls).len()), (["head", "early"].into(), 0));
    assert!(mark(&calls, "head").starts_with("queue=root.q application=app"), "{}", mark(&calls, "head"));
    assert_eq!(told(&calls).len(), 2, "who declares it, and who names it without");
    let running = as_bound([&head, &early], &calls);
    running.iter().for_each(|pod| driven.upsert(Kind::Pod, pod));
    driven.upsert(Kind::Pod, &late);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls), told(&calls).len()), (["late"].into(), 1));

    let objects: Vec<(Kind, &Value)> = running.iter().chain([&late]).map(|pod| (Kind::Pod, pod)).collect();
    assert_eq!(bound(&run(&mut cluster(&objects), 5)), ["late"].into());
}

/// The Spark operator with `initialExecutors: 0`: executors name a task group that their driver does not declare. One that is seen
/// before the driver waits until it is known.
#[test]
fn pods_of_a_task_group_that_nobody_declares_start_beside_the_gang() {
    let driver = pod("driver", 1, &json!({GROUPS: groups(&[("driver", 1)]), GROUP: "driver"}));
    let (first, second) = (plain("executor-0", 1, "executor"), plain("executor-1", 1, "executor"));
    let mut driven = cluster(&[]);
    driven.upsert(Kind::Pod, &first);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls), told(&calls)), ([].into(), vec![]), "nothing is known of its application");
    driven.upsert(Kind::Pod, &driver);
    let calls = run(&mut driven, 10);
    assert_eq!(bound(&calls), ["driver", "executor-0"].into());
    let notes = told(&calls);
    assert!(notes.len() == 1 && notes[0].contains("ordinary pod of application app"), "{notes:?}");
    let taskgroups: Vec<Value> =
        calls.iter().filter(|call| is_declaration(call)).map(|call| shown(&mut cluster(&[]), call)).collect();

    // The driver is gone, and its TaskGroup still says what the application has.
    let running = as_bound([&first], &calls);
    let objects: Vec<(Kind, &Value)> = running.iter().map(|pod| (Kind::Pod, pod)).collect();
    let of_groups = taskgroups.iter().map(|group| (Kind::TaskGroup, group));
    let mut restarted =
        cluster(&objects.iter().copied().chain(of_groups).chain([(Kind::Pod, &second)]).collect::<Vec<_>>());
    assert_eq!(bound(&run(&mut restarted, 5)), ["executor-1"].into());

    gone(&mut driven, Kind::Pod, &driver);
    driven.upsert(Kind::Pod, &second);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls), told(&calls).len()), (["executor-1"].into(), 1), "told once");
}

/// Somebody makes the TaskGroup all the same, or the declaration is another one: those who wait are its members.
#[test]
fn who_waits_follows_what_is_declared() {
    let mut driven = cluster(&[]);
    let mut driver = pod("driver", 1, &json!({GROUPS: groups(&[("driver", 30)]), GROUP: "driver"}));
    driven.upsert(Kind::Pod, &driver);
    driven.upsert(Kind::Pod, &plain("executor-0", 1, "executor"));
    let calls = run(&mut driven, 2);
    assert_eq!((told(&calls).len(), bound(&calls)), (1, [].into()));
    driver["metadata"]["annotations"][GROUPS] = groups(&[("driver", 1), ("executor", 1)]);
    driven.upsert(Kind::Pod, &driver);
    for call in calls.iter().filter(|call| is_declaration(call)) {
        let Op::CreateTaskGroup(group) = &call.op else { continue };
        gone(&mut driven, Kind::TaskGroup, &serde_json::to_value(group).expect("it is JSON"));
    }
    let made: Vec<Call> = driven.taken().into_iter().filter(is_declaration).collect();
    for call in &made {
        driven.answer(call, Outcome::Ok(None));
        let Op::CreateTaskGroup(group) = &call.op else { continue };
        let mut group = serde_json::to_value(group).expect("it is JSON");
        (group["metadata"]["uid"], group["metadata"]["generation"]) = (json!(format!("{:?}", call.id)), json!(1));
        driven.upsert(Kind::TaskGroup, &group);
    }
    assert_eq!(declared(&made).len(), 2);
    let calls = run(&mut driven, 5);
    assert_eq!(bound(&calls), ["driver", "executor-0"].into());
    assert!(mark(&calls, "executor-0").contains("task-group=executor-"), "{}", mark(&calls, "executor-0"));
}

/// A driver is submitted again under the same ID before the garbage collector took the TaskGroups of the one before, and starts with
/// them; then they go. Its executors are not to wait for TaskGroups that nobody makes any more, and nothing is reserved once more
/// for the driver that runs.
#[test]
fn pods_whose_task_group_went_while_its_declarer_runs_are_placed() {
    let driver = pod("driver", 1, &json!({GROUPS: groups(&[("driver", 1), ("executor", 2)]), GROUP: "driver"}));
    let executor = plain("executor-0", 1, "executor");
    let mut driven = cluster(&[]);
    driven.upsert(Kind::Pod, &driver);
    let calls = run(&mut driven, 3);
    assert_eq!((bound(&calls), declared(&calls).len()), (["driver"].into(), 2));
    let running = as_bound([&driver], &calls);
    driven.upsert(Kind::Pod, &running[0]);
    for call in calls.iter().filter(|call| is_declaration(call)) {
        let Op::CreateTaskGroup(group) = &call.op else { continue };
        gone(&mut driven, Kind::TaskGroup, &serde_json::to_value(group).expect("it is JSON"));
    }
    run(&mut driven, 3);
    driven.upsert(Kind::Pod, &executor);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls), declared(&calls).len()), (["executor-0"].into(), 0));
    assert!(mark(&calls, "executor-0").starts_with("queue=root.q application=app"), "{}", mark(&calls, "executor-0"));
    let notes = told(&calls);
    assert!(notes.len() == 1 && notes[0].contains("is not there"), "{notes:?}");

    let mut restarted = cluster(&[(Kind::Pod, &running[0]), (Kind::Pod, &executor)]);
    assert_eq!(bound(&run(&mut restarted, 5)), ["executor-0"].into());
}

/// As long as a pod that waits declares it, its TaskGroup is made, whoever runs.
#[test]
fn what_a_pod_that_waits_declares_is_made_whoever_runs() {
    let declares = json!({GROUPS: groups(&[("driver", 1), ("executor", 2)]), GROUP: "driver"});
    let mut running = pod("driver", 1, &declares);
    running["spec"]["nodeName"] = json!("n1");
    running["status"]["phase"] = json!("Running");
    let mut driven = cluster(&[(Kind::Pod, &running)]);
    driven.upsert(Kind::Pod, &pod("driver-2", 1, &declares));
    driven.upsert(Kind::Pod, &plain("executor-0", 1, "executor"));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), told(&calls)), (2, vec![]));
    assert!(mark(&calls, "executor-0").contains("task-group=executor-"), "{}", mark(&calls, "executor-0"));
}
