//! Gangs in YuniKorn's words (design 03, 3.2 and 3.4): "for a gang declared by annotations the controller creates the TaskGroup
//! object itself; the gang goes on when the object exists".

use std::collections::BTreeSet;

use gangline::api::task_group::TaskGroup;
use gangline::core::codes::Code;
use gangline::core::event::Submitter;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use gangline::shim::submitter;
use serde_json::{Value, json};

use crate::support::driven::{Driven, member, node, refused};

pub(super) const GROUPS: &str = "yunikorn.apache.org/task-groups";
pub(super) const GROUP: &str = "yunikorn.apache.org/task-group-name";

/// The annotation that declares a driver and two executors.
fn spark() -> String {
    let group = |name: &str, min: u32| json!({"name": name, "minMember": min, "minResource": {"cpu": "1"}});
    json!([group("driver", 1), group("executor", 2)]).to_string()
}

/// A pod of the application `app` with these annotations.
fn pod(name: &str, annotations: &Value) -> Value {
    let mut pod = member(name);
    pod["metadata"]["labels"] = json!({"applicationId": "app", "queue": "root.default"});
    pod["metadata"]["annotations"] = annotations.clone();
    pod
}

fn driver(name: &str) -> Value {
    pod(name, &json!({GROUPS: spark(), GROUP: "driver"}))
}

fn executor(name: &str) -> Value {
    pod(name, &json!({GROUP: "executor"}))
}

/// In an empty cluster with a node of 16 cpu.
fn cluster() -> Driven {
    let mut driven = Driven::speaking(&Dialect::ALL);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

pub(super) fn is_declaration(call: &Call) -> bool {
    matches!(call.op, Op::CreateTaskGroup(_))
}

/// The TaskGroups that are being made now, by name.
pub(super) fn declared(calls: &[Call]) -> BTreeSet<String> {
    let made =
        calls.iter().filter_map(|call| if let Op::CreateTaskGroup(group) = &call.op { Some(group) } else { None });
    made.filter_map(|group| group.metadata.name.clone()).collect()
}

/// The TaskGroup of a call as its watch shows it.
pub(super) fn shown(driven: &mut Driven, call: &Call) -> Value {
    let Op::CreateTaskGroup(group) = &call.op else { panic!("{call:?}") };
    let mut group: Value = serde_json::to_value(group).expect("it is JSON");
    group["metadata"]["generation"] = json!(1);
    driven.upsert(Kind::TaskGroup, &group);
    group
}

/// What is declared now is made, and shown.
fn made(driven: &mut Driven) -> Vec<Value> {
    let calls: Vec<Call> = driven.taken().into_iter().filter(is_declaration).collect();
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    calls.iter().map(|call| shown(driven, call)).collect()
}

/// Answers everything for so long as a server that grants everything; what was made is shown.
pub(super) fn run(driven: &mut Driven, seconds: u64) -> Vec<Call> {
    run_refusing(driven, seconds, |_| None)
}

/// The same; what is to be refused is answered with this code.
pub(super) fn run_refusing(driven: &mut Driven, seconds: u64, refuses: impl Fn(&Op) -> Option<u16>) -> Vec<Call> {
    let mut all = Vec::new();
    for _ in 0..10 * seconds {
        driven.wait(100);
        for call in driven.taken() {
            if let Some(code) = refuses(&call.op) {
                driven.answer(&call, refused(code));
                all.push(call);
                continue;
            }
            driven.grant_one(&call);
            if is_declaration(&call) {
                shown(driven, &call);
            }
            all.push(call);
        }
    }
    all
}

pub(super) fn bound(calls: &[Call]) -> BTreeSet<&str> {
    let bound =
        calls.iter().filter_map(|call| if let Op::Bind { pod, .. } = &call.op { Some(&*pod.name) } else { None });
    bound.filter(|name| !name.starts_with("tg-")).collect()
}

pub(super) fn events(calls: &[Call]) -> Vec<(String, String)> {
    let events = calls.iter().filter_map(|call| if let Op::CreateEvent(event) = &call.op { Some(event) } else { None });
    events.map(|event| (event.reason.clone().unwrap_or_default(), event.note.clone().unwrap_or_default())).collect()
}

/// "(owned by the originator; named by a hash of application and group …)", or by who makes the originator anew (ADR 29).
#[test]
fn the_groups_of_a_driver_are_made_with_its_owner_and_the_gang_starts_whole() {
    let mut driven = cluster();
    let mut first = driver("driver");
    first["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "o"},
        {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "name": "pi", "uid": "s",
         "controller": true, "blockOwnerDeletion": true},
    ]);
    driven.upsert(Kind::Pod, &first);
    let calls = run(&mut driven, 2);
    assert_eq!(declared(&calls).len(), 2);
    for call in calls.iter().filter(|call| is_declaration(call)) {
        let Op::CreateTaskGroup(group) = &call.op else { panic!("{call:?}") };
        let [owner] = group.metadata.owner_references.as_deref().unwrap_or_default() else { panic!("{group:?}") };
        assert_eq!(
            (&*owner.kind, &*owner.uid, owner.controller, owner.block_owner_deletion),
            ("SparkApplication", "s", None, None)
        );
        assert_eq!(group.metadata.namespace.as_deref(), Some("ns"));
    }
    // Those who are to come have their seats first.
    let binds =
        calls.iter().filter_map(|call| if let Op::Bind { pod, .. } = &call.op { Some(&*pod.name) } else { None });
    let binds: Vec<&str> = binds.collect();
    assert!(
        binds.len() == 3 && binds[2] == "driver" && binds[..2].iter().all(|pod| pod.starts_with("tg-")),
        "{binds:?}"
    );
    driven.upsert(Kind::Pod, &executor("executor-0"));
    driven.upsert(Kind::Pod, &executor("executor-1"));
    let calls = run(&mut driven, 5);
    assert!(declared(&calls).is_empty(), "each once");
    assert_eq!(bound(&calls), ["executor-0", "executor-1"].into());
}

/// What is there is not made: neither when a process starts, where pods may be listed before TaskGroups, nor when somebody else
/// made it meanwhile.
#[test]
fn what_is_there_is_not_made() {
    let mut maker = cluster();
    maker.upsert(Kind::Pod, &driver("driver"));
    let calls = maker.taken();
    let groups: Vec<TaskGroup> = (calls.into_iter())
        .filter_map(|call| if let Op::CreateTaskGroup(group) = call.op { Some(*group) } else { None })
        .collect();
    let groups: Vec<Value> = groups.iter().map(|group| serde_json::to_value(group).expect("it is JSON")).collect();
    let mut restarted = Driven::speaking(&Dialect::ALL);
    let driver = driver("driver");
    let mut objects: Vec<(Kind, &Value)> = groups.iter().map(|group| (Kind::TaskGroup, group)).collect();
    objects.push((Kind::Pod, &driver));
    restarted.list(&objects);
    assert_eq!(declared(&run(&mut restarted, 60)), BTreeSet::new());

    let mut late = cluster();
    late.upsert(Kind::Pod, &driver);
    let calls: Vec<Call> = late.taken().into_iter().filter(is_declaration).collect();
    for call in &calls {
        late.answer(call, refused(409));
        shown(&mut late, call);
    }
    late.wait(120_000);
    assert_eq!(declared(&late.taken()), BTreeSet::new(), "the watch has shown it");
}

/// "made anew when its owner went and a new life begins"
#[test]
fn it_is_made_anew_as_long_as_a_pod_declares_it() {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver"));
    let groups = made(&mut driven);
    run(&mut driven, 1);
    let gone = |driven: &mut Driven, object: &Value, kind| {
        let seen = driven.seen(kind, object);
        driven.fact(kind, WatchFact::Gone(seen));
        driven.step();
    };
    gone(&mut driven, &groups[0], Kind::TaskGroup);
    assert_eq!(declared(&driven.taken()), [groups[0]["metadata"]["name"].as_str().expect("a name").to_owned()].into());

    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver"));
    let groups = made(&mut driven);
    let mut ended = driver("driver");
    ended["status"]["phase"] = json!("Succeeded");
    driven.upsert(Kind::Pod, &ended);
    groups.iter().for_each(|group| gone(&mut driven, group, Kind::TaskGroup));
    assert_eq!(declared(&run(&mut driven, 60)), BTreeSet::new(), "who ended declares nothing");
    driven.upsert(Kind::Pod, &driver("driver-of-the-next-life"));
    let names = groups.iter().filter_map(|group| group["metadata"]["name"].as_str().map(str::to_owned));
    assert_eq!(declared(&run(&mut driven, 60)), names.collect(), "the same application, in its next life");
}

/// A conflict may be one with a quota: it is tried again.
#[test]
fn a_conflict_is_not_taken_for_success() {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver"));
    let calls: Vec<Call> = driven.taken().into_iter().filter(is_declaration).collect();
    calls.iter().for_each(|call| driven.answer(call, refused(409)));
    driven.wait(120_000);
    assert_eq!(declared(&driven.taken()).len(), 2);
}

/// A gang that runs needs no other TaskGroup than the one with which it started: another would hold seats for it once more. One
/// whose pods are gated is not to hold any yet.
#[test]
fn who_runs_or_is_gated_declares_nothing() {
    let mut running = driver("driver");
    running["spec"]["nodeName"] = json!("n1");
    running["status"]["phase"] = json!("Running");
    let mut gated = driver("driver");
    gated["spec"]["schedulingGates"] = json!([{"name": "queue.example.com/admission"}]);
    for pod in [running, gated] {
        let mut driven = cluster();
        driven.upsert(Kind::Pod, &pod);
        assert_eq!(declared(&run(&mut driven, 60)), BTreeSet::new(), "{pod}");
    }
}

/// 03, 3.4: "Bad values are refused visibly (condition, event, on the pod too), never defaulted silently".
#[test]
fn a_wrong_declaration_is_refused_on_the_pod_and_nothing_is_made_of_it() {
    let mut driven = cluster();
    let wrong = json!([{"name": "a", "minMember": -1, "minResource": {"cpu": "x"}}]).to_string();
    driven.upsert(Kind::Pod, &pod("wrong", &json!({GROUPS: wrong, GROUP: "a"})));
    let calls = run(&mut driven, 10);
    assert!(declared(&calls).is_empty() && bound(&calls).is_empty());
    let conditions: Vec<_> = (calls.iter())
        .filter_map(|call| if let Op::PatchPodCondition { condition, .. } = &call.op { Some(condition) } else { None })
        .collect();
    let [condition] = conditions[..] else { panic!("told once: {conditions:#?}") };
    assert_eq!(condition.reason.as_deref(), Some(Code::InvalidDeclaration.name()));
    let message = condition.message.as_deref().unwrap_or_default();
    for field in ["task-groups[0].minMember", "task-groups[0].minResource[cpu]", "YuniKorn"] {
        assert!(message.contains(field), "{message}");
    }
}

/// A right that is missing, or a policy: "the gang goes on when the object exists".
#[test]
fn what_is_refused_is_tried_again_and_told_once() {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver"));
    let (mut all, mut tries) = (Vec::new(), 0);
    for _ in 0..300 {
        driven.wait(1_000);
        for call in driven.taken() {
            let is_declaration = is_declaration(&call);
            tries += u32::from(is_declaration);
            driven.answer(&call, if is_declaration { refused(403) } else { Outcome::Ok(None) });
            all.push(call);
        }
    }
    assert!((4..60).contains(&tries), "{tries}");
    let told = events(&all).into_iter().filter(|(reason, _)| reason == Code::DeclarationRefused.name());
    assert_eq!(told.count(), 2, "once for each TaskGroup");
    driven.upsert(Kind::Pod, &executor("executor-0"));
    driven.upsert(Kind::Pod, &executor("executor-1"));
    assert_eq!(bound(&run(&mut driven, 120)).len(), 3, "it goes on by itself");
}

/// 42, 7: "two pods of one application that declare different groups".
#[test]
fn of_pods_that_declare_it_differently_one_is_heeded_and_the_other_told() {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver-a"));
    let other = json!([{"name": "driver", "minMember": 7, "minResource": {"cpu": "1"}}]).to_string();
    driven.upsert(Kind::Pod, &pod("driver-b", &json!({GROUPS: other, GROUP: "driver"})));
    let calls = run(&mut driven, 3);
    let sizes: Vec<u32> = (calls.iter())
        .filter_map(|call| if let Op::CreateTaskGroup(group) = &call.op { Some(group.spec.min_member) } else { None })
        .collect();
    assert_eq!(sizes.iter().copied().collect::<BTreeSet<_>>(), [1, 2].into());
    let told: Vec<_> =
        events(&calls).into_iter().filter(|(reason, _)| reason == Code::DeclarationAdjusted.name()).collect();
    let [(_, note)] = &told[..] else { panic!("{told:?}") };
    assert!(note.contains("driver-a"), "{note}");
}

/// A TaskGroup that is there already counts, and who declares it otherwise is told: once, whichever of the two comes first.
#[test]
fn a_task_group_that_is_there_with_another_spec_counts_and_that_is_told() {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &driver("driver"));
    let mut made = made(&mut driven);
    assert_eq!(made.len(), 2);
    run(&mut driven, 3);
    let told = |calls: &[Call]| -> Vec<String> {
        let events = events(calls).into_iter();
        events.filter(|(reason, _)| reason == Code::DeclarationAdjusted.name()).map(|(_, note)| note).collect()
    };
    // Another spelling of the same amount is no other spec.
    let of_driver = made.iter_mut().find(|group| group["metadata"]["name"].as_str().unwrap().starts_with("driver"));
    let group = of_driver.expect("it declares that");
    group["spec"]["minResource"]["cpu"] = json!("1000m");
    driven.upsert(Kind::TaskGroup, group);
    assert_eq!(told(&run(&mut driven, 3)), [""; 0]);
    group["spec"]["minMember"] = json!(3);
    driven.upsert(Kind::TaskGroup, group);
    group["metadata"]["annotations"] = json!({"a": "b"});
    driven.upsert(Kind::TaskGroup, group);
    let [note] = &told(&run(&mut driven, 3))[..] else { panic!("told once") };
    assert!(note.contains("minMember") && !note.contains("minResource"), "{note}");

    let mut driven = cluster();
    driven.upsert(Kind::TaskGroup, group);
    run(&mut driven, 1);
    driven.upsert(Kind::Pod, &driver("driver"));
    assert_eq!(told(&run(&mut driven, 3)).len(), 1);
    driven.upsert(Kind::Pod, &driver("later"));
    assert_eq!(told(&run(&mut driven, 3)).len(), 1, "each is told that says something else");
}

/// 01, 1.2.1: "from a pod that carries a gang annotation (then the controller makes the TaskGroup object and goes on when it
/// exists)": a driver that is in none of the groups which it declares starts with them, and not before they are there.
#[test]
fn a_driver_outside_its_groups_starts_with_them() {
    let groups = |min: u32| json!([{"name": "executor", "minMember": min, "minResource": {"cpu": "1"}}]).to_string();
    let mut driven = cluster();
    let before = pod("before", &json!({}));
    driven.upsert(Kind::Pod, &pod("driver", &json!({GROUPS: groups(30)})));
    driven.upsert(Kind::Pod, &before);
    driven.wait(1_000);
    let calls = driven.taken();
    let conditions = calls.iter().filter(|call| matches!(call.op, Op::PatchPodCondition { .. })).count();
    assert_eq!((bound(&calls), declared(&calls).len(), conditions), ([].into(), 1, 2), "both wait for the TaskGroup");
    calls.iter().filter(|call| is_declaration(call)).for_each(|call| {
        driven.answer(call, Outcome::Ok(None));
        shown(&mut driven, call);
    });
    assert_eq!(bound(&run(&mut driven, 5)), [].into(), "there is no room for all of it");

    let mut driven = cluster();
    driven.upsert(Kind::Pod, &pod("driver", &json!({GROUPS: groups(3)})));
    assert_eq!(bound(&run(&mut driven, 5)), ["driver"].into());

    // Whichever pod declares them.
    let mut driven = cluster();
    driven.upsert(Kind::Pod, &pod("member", &json!({GROUPS: groups(30), GROUP: "executor"})));
    driven.upsert(Kind::Pod, &before);
    assert_eq!(bound(&run(&mut driven, 5)), [].into());
}

/// 03, 3.4: "precedence: TaskGroup label, then …".
#[test]
fn a_pod_that_says_it_in_our_words_too_is_ours_alone() {
    let mut driven = cluster();
    let mut both = driver("both");
    both["metadata"]["labels"]["gangline.dev/application-id"] = json!("mine");
    driven.upsert(Kind::Pod, &both);
    let calls = run(&mut driven, 5);
    assert!(declared(&calls).is_empty());
    assert_eq!(bound(&calls), ["both"].into());
}

/// 01, 1.2.3: "user and group limits apply where the shipped admission policy stamps who created the object": the scheduler makes the
/// TaskGroup, and it is of whoever made the pod that declares it.
#[test]
fn a_declared_gang_is_counted_for_who_submitted_its_driver() {
    let limits = json!([{"users": ["alice"], "max": {"cpu": "2"}}]);
    let queue = json!({"metadata": {"name": "root.q"}, "spec": {"parent": "root", "limits": limits}});
    for (user, binds) in [("alice", BTreeSet::from([])), ("bob", BTreeSet::from(["driver"]))] {
        let mut driven = Driven::speaking(&Dialect::ALL);
        driven.list(&[(Kind::Node, &node("n1")), (Kind::Queue, &queue)]);
        let mut driver = driver("driver");
        driver["metadata"]["labels"]["queue"] = json!("root.q");
        let (key, value) = submitter::annotation(&Submitter { user: user.into(), groups: vec!["data".into()] });
        driver["metadata"]["annotations"][&key] = json!(value);
        driven.upsert(Kind::Pod, &driver);
        let calls = run(&mut driven, 5);
        assert_eq!(bound(&calls), binds, "{user}");
        let made =
            calls.iter().filter_map(|call| if let Op::CreateTaskGroup(group) = &call.op { Some(group) } else { None });
        let said: Vec<_> =
            made.map(|group| group.metadata.annotations.as_ref().and_then(|all| all.get(&key))).collect();
        assert_eq!(said, [Some(&value), Some(&value)]);
        let refused =
            driven.controller.core().books.apps.iter().flat_map(|(_, app)| &app.rejected).map(ToString::to_string);
        let refused: Vec<_> = refused.collect();
        assert_eq!(refused.iter().any(|reason| reason.contains("alice")), user == "alice", "{refused:?}");
    }
}
