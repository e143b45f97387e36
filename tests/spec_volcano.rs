//! Gangs as Volcano's PodGroups declare them, which operators write (design 03, 3.4 "Later: Volcano's PodGroup handshake"): what
//! those who make pods rely on (the study of other schedulers, 3.4), and what users of Volcano know its phases to say.

use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Map, Value, json};

use crate::spec_koordinator::{adjusted, conditions, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::{edit, gone, pod_group, statuses, wrong};
use crate::spec_yunikorn::{bound, declared, run};
use crate::support::driven::{Driven, member, node, refused};

const KIND: Kind = Kind::VolcanoPodGroup;
const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
const OWN_GROUP_NAME: &str = "scheduling.volcano.sh/group-name";

/// With a node of 16 cpu, and nothing else.
fn cluster() -> Driven {
    let mut driven = Driven::speaking(&[Dialect::YuniKorn, Dialect::Volcano]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

/// Pods of one core that name a PodGroup by this annotation.
fn annotated(key: &str, group: &str, count: u32) -> Vec<Value> {
    let pod = |number| {
        let mut pod = member(&format!("{group}-{number}"));
        pod["metadata"]["labels"] = json!({});
        pod["metadata"]["annotations"] = json!({key: group, "volcano.sh/task-spec": "worker"});
        pod
    };
    (0..count).map(pod).collect()
}

/// As operators write them.
fn pods(group: &str, count: u32) -> Vec<Value> {
    annotated(GROUP_NAME, group, count)
}

/// A PodGroup of this phase.
fn of_phase(spec: &Value, phase: &str) -> Value {
    let mut group = pod_group("g", spec);
    group["status"] = json!({"phase": phase});
    group
}

/// What is written of a PodGroup that is let in.
fn let_in() -> Map<String, Value> {
    let fields = json!({"phase": "Inqueue", "running": 0, "succeeded": 0, "failed": 0});
    fields.as_object().expect("fields").clone()
}

/// peers 3.4: "pod annotation `scheduling.k8s.io/group-name`"; 3.1: "or `scheduling.volcano.sh/group-name`". It is a TaskGroup of
/// that name, which goes with it, and waits for as long as it takes.
#[test]
fn pods_that_name_a_pod_group_of_volcano_start_together() {
    for key in [GROUP_NAME, OWN_GROUP_NAME] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 3, "minResources": {"cpu": "1"}})));
        let pods = annotated(key, "g", 3);
        see(&mut driven, &pods[..2]);
        let calls = run(&mut driven, 5);
        let [made] = made(&calls)[..] else { panic!("one TaskGroup") };
        let spec = &made.spec;
        assert_eq!((made.metadata.name.as_deref(), spec.min_member, spec.wait_timeout_seconds), (Some("g"), 3, None));
        let [owner] = &made.metadata.owner_references.clone().unwrap_or_default()[..] else { panic!("one owner") };
        assert_eq!((&*owner.api_version, &*owner.kind), ("scheduling.volcano.sh/v1beta1", "PodGroup"));
        assert_eq!((&*owner.name, &*owner.uid, owner.controller), ("g", "pg-g", None));
        assert_eq!((bound(&calls).len(), why(&driven.controller, "g-0")), (0, Some(Code::WaitingForMembers)));
        see(&mut driven, &pods[2..]);
        assert_eq!(bound(&run(&mut driven, 5)).len(), 3, "{key}");
    }
}

/// 01, 1.2.7: "Pods that arrive before their TaskGroup object are parked", here before the object of which that is made.
#[test]
fn pods_wait_for_a_pod_group_of_volcano_that_is_not_there_yet() {
    let mut driven = cluster();
    see(&mut driven, &pods("g", 2));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), bound(&calls).len()), (0, 0));
    for (reason, message) in conditions(&calls) {
        assert_eq!(reason, Code::TaskGroupNotFound.name());
        assert!(message.contains("PodGroup g of scheduling.volcano.sh"), "{message}");
    }
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2})));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), bound(&calls).len()), (1, 2));
}

/// peers 3.4: "status.phase leaves \"\"/Pending (becomes Inqueue) before pods exist": once, and without a word where somebody said
/// so before.
#[test]
fn a_pod_group_is_let_in_before_any_pod_is_there() {
    for status in [json!(null), json!({}), json!({"phase": ""}), json!({"phase": "Pending"})] {
        let mut driven = cluster();
        let mut group = pod_group("g", &json!({"minMember": 3}));
        group["status"] = status.clone();
        driven.upsert(KIND, &group);
        let calls = run(&mut driven, 5);
        assert_eq!((statuses(&calls), calls.len()), (vec![let_in()], 1), "{status}");
        group["status"] = json!(let_in());
        driven.upsert(KIND, &group);
        group["metadata"]["annotations"] = json!({"somebody": "else"});
        driven.upsert(KIND, &group);
        assert_eq!(run(&mut driven, 60).len(), 0, "{status}");
    }
    for phase in ["Inqueue", "Running", "Unknown", "Completed"] {
        let mut driven = cluster();
        driven.upsert(KIND, &of_phase(&json!({"minMember": 3}), phase));
        assert_eq!(run(&mut driven, 60).len(), 0, "{phase}");
    }
}

/// Nobody makes pods of a gang before that, so that behind the Bindings of all who have started it would come to its queue too late.
#[test]
fn a_pod_group_is_let_in_before_bindings_leave() {
    let mut driven = cluster();
    let mut pod = member("single");
    pod["metadata"]["labels"] = json!({});
    for (kind, object) in [(Kind::Pod, pod), (KIND, pod_group("g", &json!({"minMember": 3})))] {
        let seen = driven.seen(kind, &object);
        driven.fact(kind, WatchFact::Upsert(seen));
    }
    driven.step();
    let rules: Vec<_> = driven.taken().iter().map(|call| call.op.rule()).collect();
    assert_eq!(rules, [("podgroups.scheduling.volcano.sh", "patch"), ("pods/binding", "create")]);
}

/// 02, 2.1: what an answer leaves open is done again. Nobody makes pods before, so that nothing else would bring it about, and the
/// first status is written as one each time.
#[test]
fn a_pod_group_is_let_in_in_the_end_whatever_the_first_answer() {
    let refusals = [401, 403, 404, 409, 422, 429, 500, 503, 504].map(refused);
    for outcome in [Outcome::Unknown, Outcome::NotSent].into_iter().chain(refusals) {
        for status in [json!(null), json!({"phase": "Pending"})] {
            let mut driven = cluster();
            let mut group = pod_group("g", &json!({"minMember": 3}));
            group["status"] = status.clone();
            driven.upsert(KIND, &group);
            let calls = driven.taken();
            assert_eq!((statuses(&calls), calls.len()), (vec![let_in()], 1), "{status}");
            driven.answer(&calls[0], outcome.clone());
            // It is seen once more, as it was.
            group["metadata"]["annotations"] = json!({"somebody": "else"});
            driven.upsert(KIND, &group);
            driven.wait(60_000);
            let again = driven.taken();
            assert_eq!(statuses(&again), [let_in()], "{outcome:?} {status}");
            for call in calls.iter().chain(&again) {
                let Op::PatchPodGroupStatus { is_first, .. } = &call.op else { panic!("{call:?}") };
                assert_eq!(*is_first, status.is_null(), "{outcome:?}");
            }
            driven.answer(&again[0], Outcome::Ok(None));
            driven.wait(120_000);
            assert_eq!(driven.taken().len(), 0, "{outcome:?} {status}");
        }
    }
}

/// As above, where the API server does not find what is still known here: seldom, and as long as it is known.
#[test]
fn who_is_let_in_and_not_found_is_let_in_seldom() {
    let mut driven = cluster();
    let group = of_phase(&json!({"minMember": 3}), "Pending");
    driven.upsert(KIND, &group);
    let mut tries = 0;
    for _ in 0..300 {
        driven.wait(1_000);
        for call in driven.taken() {
            tries += statuses(std::slice::from_ref(&call)).len();
            driven.answer(&call, refused(404));
        }
    }
    assert!((4..=15).contains(&tries), "{tries} times in five minutes");
    gone(&mut driven, KIND, &group);
    driven.wait(120_000);
    assert_eq!(driven.taken().len(), 0);
}

/// Whoever puts a PodGroup back to Pending before its pods are there waits again: for half a minute since it was let in last.
#[test]
fn a_pod_group_that_is_pending_once_more_is_let_in_once_more() {
    let mut driven = cluster();
    let (spec, inqueue) = (json!({"minMember": 3}), json!(let_in()));
    // How long after it was let in, and within how many seconds once more.
    for (later, soon, rest) in [(0, 20, 10), (60, 0, 5)] {
        driven.upsert(KIND, &of_phase(&spec, "Pending"));
        assert_eq!(statuses(&run(&mut driven, 5)), [let_in()]);
        let mut group = pod_group("g", &spec);
        group["status"] = inqueue.clone();
        driven.upsert(KIND, &group);
        assert_eq!(statuses(&run(&mut driven, later)).len(), 0);
        driven.upsert(KIND, &of_phase(&spec, "Pending"));
        assert_eq!(statuses(&run(&mut driven, soon)).len(), 0, "{later}");
        assert_eq!(statuses(&run(&mut driven, rest)), [let_in()], "{later}");
        driven.upsert(KIND, &group);
        run(&mut driven, 60);
    }
}

/// As above, where another scheduler puts it back each time: neither undoes the other's writes without a pause.
#[test]
fn who_is_put_back_again_and_again_is_let_in_now_and_then() {
    let mut driven = cluster();
    let pending = of_phase(&json!({"minMember": 3}), "Pending");
    let mut inqueue = pending.clone();
    inqueue["status"] = json!(let_in());
    driven.upsert(KIND, &pending);
    let mut written = 0;
    for _ in 0..120 {
        let said = statuses(&run(&mut driven, 1)).len();
        if said > 0 {
            driven.upsert(KIND, &inqueue);
            driven.upsert(KIND, &pending);
        }
        written += said;
    }
    assert!((4..=5).contains(&written), "{written} times in two minutes");
}

/// 01, 1.11: "no write before everything is listed", and what an earlier process did not come to write the next one does.
#[test]
fn a_new_process_lets_in_who_waits_and_says_what_an_earlier_one_did_not() {
    let (group, node) = (of_phase(&json!({"minMember": 2}), "Pending"), node("n1"));
    let mut driven = Driven::speaking(&[Dialect::Volcano]);
    driven.upsert(KIND, &group);
    assert_eq!(run(&mut driven, 5).len(), 0);
    driven.list(&[(Kind::Node, &node), (KIND, &group)]);
    assert_eq!(statuses(&run(&mut driven, 5)), [let_in()]);
    let pods = pods("g", 2);
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    let mut task_group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    task_group["metadata"]["generation"] = json!(1);
    let running = as_bound(&pods, &calls);
    assert_eq!(running.len(), 2);
    for phase in ["Pending", "Inqueue"] {
        let mut restarted = Driven::speaking(&[Dialect::Volcano]);
        let group = of_phase(&json!({"minMember": 2}), phase);
        let objects = [(Kind::Node, &node), (Kind::TaskGroup, &task_group), (KIND, &group)];
        let pods = running.iter().map(|pod| (Kind::Pod, pod));
        restarted.list(&objects.into_iter().chain(pods).collect::<Vec<_>>());
        let said = statuses(&run(&mut restarted, 60));
        let last = said.last().expect("it is said");
        assert_eq!((&last["phase"], &last["running"]), (&json!("Running"), &json!(2)), "{phase}: {said:?}");
    }
}

/// 03, 3.4: "Bad values are refused visibly". Nobody makes pods for such a PodGroup, so that it says so itself; where there are
/// some, the first of them does too, each once, and nothing is made until it is right.
#[test]
fn what_is_wrong_with_a_pod_group_of_volcano_is_told_on_it_and_on_a_pod() {
    for (spec, place) in [
        (json!({"minMember": -3}), "spec.minMember"),
        (json!({"minMember": 5_000_000_000_u64}), "spec.minMember"),
        (json!({"minMember": "three"}), "spec.minMember"),
        (json!({"minMember": 2, "minTaskMember": {"master": 1, "worker": 1}}), "spec.minTaskMember"),
        (json!({"minMember": 2, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}}), "spec.networkTopology"),
        (json!({"minMember": 2, "subGroupPolicy": [{"name": "a"}]}), "spec.subGroupPolicy"),
        (json!({"minMember": 2, "queue": "a_b"}), "spec.queue"),
    ] {
        let mut driven = cluster();
        (0..2).for_each(|_| driven.upsert(KIND, &pod_group("g", &spec)));
        let calls = run(&mut driven, 5);
        let [told] = &wrong(&calls)[..] else { panic!("told once: {spec}") };
        assert!(told.contains(place), "{told}");
        assert_eq!((about(&calls), statuses(&calls).len()), (vec!["PodGroup g".to_owned()], 0), "{spec}");
        see(&mut driven, &pods("g", 2));
        driven.upsert(KIND, &pod_group("g", &spec));
        let calls = run(&mut driven, 5);
        let [told] = &wrong(&calls)[..] else { panic!("told once: {spec}") };
        assert!(told.contains("PodGroup g of scheduling.volcano.sh") && told.contains(place), "{told}");
        assert_eq!((declared(&calls).len(), bound(&calls).len(), statuses(&calls).len()), (0, 0, 0), "{spec}");
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2})));
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), statuses(&calls)), (2, vec![let_in()]), "{spec}");
    }
}

/// What events are about.
fn about(calls: &[Call]) -> Vec<String> {
    let events = calls.iter().filter_map(|call| if let Op::CreateEvent(event) = &call.op { Some(event) } else { None });
    let about = events.filter_map(|event| event.regarding.as_ref());
    let name = |text: &Option<String>| text.clone().unwrap_or_default();
    about.map(|about| format!("{} {}", name(&about.kind), name(&about.name))).collect()
}

/// As above: what only prefers is left out, and that is told.
#[test]
fn a_soft_topology_is_left_out_and_told() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2, "networkTopology": {"mode": "soft"}})));
    see(&mut driven, &pods("g", 2));
    let calls = run(&mut driven, 5);
    let [told] = &adjusted(&calls)[..] else { panic!("told once: {:?}", adjusted(&calls)) };
    assert!(told.contains("PodGroup g") && told.contains("spec.networkTopology") && bound(&calls).len() == 2, "{told}");
}

/// In Volcano a PodGroup without `minMember`, or with 0, waits for nobody.
#[test]
fn a_pod_group_of_nobody_lets_each_pod_start() {
    for spec in [json!({}), json!({"minMember": 0})] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &spec));
        see(&mut driven, &pods("g", 1));
        assert_eq!(bound(&run(&mut driven, 5)), ["g-0"].into(), "{spec}");
        see(&mut driven, &pods("g", 2)[1..]);
        assert_eq!(bound(&run(&mut driven, 5)), ["g-1"].into(), "{spec}");
    }
}

/// peers 3.1: "queue (default "default")": whoever names that says nothing. Other names lie below `root`, and the queue that a pod
/// names counts before that of its PodGroup.
#[test]
fn the_queue_of_a_pod_group_of_volcano_lies_below_root() {
    for (name, own, expected) in [
        (None, None, None),
        (Some("default"), None, None),
        (Some("research"), None, Some("root.research")),
        (Some("root.research"), None, Some("root.research")),
        (Some("research"), Some("root.own"), Some("root.own")),
        (Some("default"), Some("root.own"), Some("root.own")),
    ] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 1, "queue": name})));
        let mut pod = pods("g", 1).remove(0);
        own.into_iter().for_each(|own| pod["metadata"]["labels"]["gangline.dev/queue"] = json!(own));
        see(&mut driven, &[pod]);
        let calls = run(&mut driven, 5);
        assert_eq!(made(&calls)[0].spec.queue.as_deref(), expected, "{name:?} {own:?}");
    }
}

/// peers 3.1: "phase Pending -> Inqueue -> Running (Unknown, Completed)" and "running, succeeded, failed", as Volcano says it; what
/// else stands in the status is somebody else's. Pending is not said again: nobody would make pods then.
#[test]
fn the_phase_of_a_pod_group_of_volcano_follows_its_pods() {
    let mut driven = cluster();
    let mut group = of_phase(&json!({"minMember": 2}), "Pending");
    group["status"]["conditions"] = json!([{"type": "Scheduled", "status": "True"}]);
    driven.upsert(KIND, &group);
    let calls = run(&mut driven, 5);
    assert_eq!(statuses(&calls), [let_in()]);
    assert!(
        !calls.iter().any(|call| matches!(call.op, Op::PatchPodGroupStatus { is_first: true, .. })),
        "others' stays"
    );
    let pods = pods("g", 2);
    see(&mut driven, &pods[..1]);
    assert_eq!(statuses(&run(&mut driven, 40)).len(), 0, "it waits, and was let in");
    see(&mut driven, &pods[1..]);
    let calls = run(&mut driven, 40);
    let running = as_bound(&pods, &calls);
    assert_eq!((running.len(), statuses(&calls).len()), (2, 0), "they do not run yet");
    see(&mut driven, &running);
    assert_eq!(last(&mut driven), ("Running".to_owned(), [2, 0, 0]));
    gone(&mut driven, Kind::Pod, &running[1]);
    assert_eq!(last(&mut driven), ("Unknown".to_owned(), [1, 0, 0]), "one of two is lost");
    let again = self::pods("g", 3).split_off(2);
    see(&mut driven, &again);
    let calls = run(&mut driven, 40);
    see(&mut driven, &as_bound(&again, &calls));
    assert_eq!(last(&mut driven), ("Running".to_owned(), [2, 0, 0]));
}

/// The phase and the counts that are written last within some time.
fn last(driven: &mut Driven) -> (String, [u64; 3]) {
    let status = statuses(&run(driven, 70)).pop().expect("it is said");
    let counts = ["running", "succeeded", "failed"].map(|field| status[field].as_u64().expect("a count"));
    (status["phase"].as_str().expect("a phase").to_owned(), counts)
}

/// As above: "Completed" says that all have ended, however they did.
#[test]
fn a_pod_group_of_volcano_whose_pods_have_ended_is_completed() {
    for (ends, counts) in [
        (["Succeeded", "Succeeded"], [0, 2, 0]),
        (["Failed", "Succeeded"], [0, 1, 1]),
        (["Failed", "Failed"], [0, 0, 2]),
    ] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2})));
        let pods = pods("g", 2);
        see(&mut driven, &pods);
        let calls = run(&mut driven, 5);
        for (mut pod, end) in as_bound(&pods, &calls).into_iter().zip(ends) {
            driven.upsert(Kind::Pod, &pod);
            pod["status"]["phase"] = json!(end);
            driven.upsert(Kind::Pod, &pod);
        }
        assert_eq!(last(&mut driven), ("Completed".to_owned(), counts), "{ends:?}");
    }
}

/// ADR 38: "where that controller runs too, nobody undoes the other's writes for ever".
#[test]
fn what_somebody_else_says_of_a_gang_that_runs_is_not_undone() {
    let mut driven = cluster();
    let spec = json!({"minMember": 2});
    driven.upsert(KIND, &pod_group("g", &spec));
    let pods = pods("g", 2);
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    see(&mut driven, &as_bound(&pods, &calls));
    assert_eq!(last(&mut driven), ("Running".to_owned(), [2, 0, 0]));
    for phase in ["Pending", "Unknown"] {
        driven.upsert(KIND, &of_phase(&spec, phase));
        assert_eq!(statuses(&run(&mut driven, 60)).len(), 0, "{phase}");
    }
}

/// 43, 2: "edited while waiting": the TaskGroup is edited likewise, and of its time nothing is said.
#[test]
fn an_edit_of_a_pod_group_of_volcano_says_nothing_of_a_time() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 3})));
    see(&mut driven, &pods("g", 2));
    let mut group = serde_json::to_value(made(&run(&mut driven, 5))[0]).expect("it is JSON");
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 2})));
    driven.wait(1_000);
    let calls = driven.taken();
    let edits: Vec<_> = calls.iter().filter_map(edit).collect();
    assert_eq!(edits, [(2, None)]);
    calls.iter().for_each(|call| driven.grant_one(call));
    group["spec"]["minMember"] = json!(2);
    group["metadata"]["generation"] = json!(2);
    driven.upsert(Kind::TaskGroup, &group);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), adjusted(&calls).len(), calls.iter().find_map(edit)), (2, 0, None));
}

/// 43, 7: "precedence, and a warning that says which won".
#[test]
fn of_two_annotations_operators_own_counts_and_other_systems_come_before_or_after() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &json!({"minMember": 1})));
    let mut pod = pods("g", 1).remove(0);
    pod["metadata"]["annotations"][OWN_GROUP_NAME] = json!("other");
    pod["metadata"]["labels"]["applicationId"] = json!("app");
    see(&mut driven, &[pod]);
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls), bound(&calls).len()), (["g".to_owned()].into(), 1));
    let told = adjusted(&calls).join("; ");
    assert!(told.contains("\"other\" is left out") && told.contains("those of Volcano count first"), "{told}");
    assert!(Dialect::Coscheduling < Dialect::Volcano && Dialect::Volcano < Dialect::YuniKorn);
}

/// 43, 2: "Group CRDs are optional: absent, appearing later, removed, without a restart"; "it must never be what breaks them".
#[test]
fn volcanos_kind_may_be_missing_come_later_and_go() {
    let mut driven = Driven::speaking(&[Dialect::Volcano]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven.fact(KIND, WatchFact::Unserved);
    see(&mut driven, &pods("g", 1));
    let mut alone = member("alone");
    alone["metadata"]["labels"] = json!({});
    see(&mut driven, &[alone]);
    assert_eq!(bound(&run(&mut driven, 5)), ["alone"].into(), "nobody else is held up");
    driven.fact(KIND, WatchFact::ListBegin);
    let seen = driven.seen(KIND, &pod_group("g", &json!({"minMember": 1})));
    driven.fact(KIND, WatchFact::Listed(seen));
    driven.fact(KIND, WatchFact::ListEnd);
    driven.step();
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), statuses(&calls)), (1, vec![let_in()]));
    driven.fact(KIND, WatchFact::Unserved);
    driven.step();
    assert_eq!(driven.controller.stats().objects[KIND.plural()], 0, "what is gone with its kind is forgotten");
    see(&mut driven, &pods("h", 1));
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
}

/// 03, 3.4: "A row of that table stays when its dialect is built, and holds while it is off": nothing is read or let in then.
#[test]
fn without_the_dialect_pods_and_pod_groups_are_volcanos() {
    for dialects in [&[][..], &[Dialect::YuniKorn, Dialect::Koordinator, Dialect::Coscheduling]] {
        assert!(!Kind::watched(dialects).any(|kind| kind == KIND));
        let mut driven = Driven::speaking(dialects);
        driven.list(&[(Kind::Node, &node("n1"))]);
        see(&mut driven, &pods("g", 1));
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
        assert_eq!(why(&driven.controller, "g-0"), Some(Code::DialectNotSupported));
    }
    // What makes a pod a part of a Job of Volcano's, and names no PodGroup, is not read with it either.
    let mut driven = cluster();
    let mut pod = pods("g", 1).remove(0);
    pod["metadata"]["annotations"] = json!({"volcano.sh/job-name": "j"});
    see(&mut driven, &[pod]);
    assert_eq!(
        (bound(&run(&mut driven, 5)).len(), why(&driven.controller, "g-0")),
        (0, Some(Code::DialectNotSupported))
    );
}

/// 04, I13: nothing is left of what is gone.
#[test]
fn nothing_is_remembered_of_pod_groups_of_volcano_that_are_gone() {
    let mut driven = Driven::speaking(&[Dialect::Volcano]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    let (group, pods) = (pod_group("g", &json!({"minMember": 3})), pods("g", 2));
    driven.upsert(KIND, &group);
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    let made = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    pods.iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
    gone(&mut driven, KIND, &group);
    gone(&mut driven, Kind::TaskGroup, &made);
    // One goes before it is let in, and one is wrong until the end.
    for (name, min) in [("h", 1), ("i", -1)] {
        let group = pod_group(name, &json!({"minMember": min}));
        let seen = driven.seen(KIND, &group);
        driven.fact(KIND, WatchFact::Upsert(seen));
        gone(&mut driven, KIND, &group);
    }
    gone(&mut driven, Kind::Node, &node("n1"));
    run(&mut driven, 60);
    assert_eq!(driven.controller.leftovers(), Vec::<&str>::new());
}
