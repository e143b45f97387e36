//! Gangs as pods declare them in Koordinator's words (the fourth seed, 002; design 03, 3.4): sentence by sentence, as far as they
//! are of labels and annotations of pods; those of PodGroup objects are in `spec_pod_groups.rs`, those of pods that say of
//! themselves that their gang has timed out in `spec_koordinator_timeout.rs`. What follows from a mode or a match policy once it
//! is read is in `spec_modes.rs` and `spec_rounds.rs`.

use std::collections::BTreeSet;

use gangline::api::task_group::{MatchPolicy, Mode, Reservation, TaskGroup};
use gangline::controller::Controller;
use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::spec_ordinary::as_bound;
use crate::spec_yunikorn::{bound, declared, events, run, run_refusing};
use crate::support::driven::{Driven, member, node};

const NAME_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/name";
const MIN_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/min-available";
const PREFIX: &str = "gang.scheduling.koordinator.sh/";

/// A pod of one core with these labels, and these annotations under Koordinator's prefix.
fn pod(name: &str, labels: &Value, annotations: &Value) -> Value {
    let mut pod = member(name);
    pod["metadata"]["labels"] = labels.clone();
    for (key, value) in annotations.as_object().expect("annotations") {
        pod["metadata"]["annotations"][format!("{PREFIX}{key}")] = value.clone();
    }
    pod
}

/// Pods of a gang of so many that declare it by annotations, with more of these.
pub(super) fn gang(name: &str, min: u32, count: u32, more: &Value) -> Vec<Value> {
    let mut annotations = json!({"name": name, "min-available": min.to_string()});
    for (key, value) in more.as_object().expect("annotations") {
        annotations[key] = value.clone();
    }
    (0..count).map(|number| pod(&format!("{name}-{number}"), &json!({}), &annotations)).collect()
}

/// In an empty cluster with a node of 16 cpu.
fn cluster() -> Driven {
    let mut driven = Driven::speaking(&[Dialect::YuniKorn, Dialect::Koordinator]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

pub(super) fn see(driven: &mut Driven, pods: &[Value]) {
    pods.iter().for_each(|pod| driven.upsert(Kind::Pod, pod));
}

/// What comes of these pods in a cluster of their own.
fn played(pods: &[Value]) -> (Driven, Vec<Call>) {
    let mut driven = cluster();
    see(&mut driven, pods);
    let calls = run(&mut driven, 10);
    (driven, calls)
}

/// Why a pod waits.
pub(super) fn why(controller: &Controller, name: &str) -> Option<Code> {
    let core = controller.core();
    let (id, _) = core.books.asks.iter().find(|(_, ask)| *ask.spec.key.name == *name)?;
    core.ask_reason(id).map(|reason| reason.code())
}

/// The TaskGroups that are made, by name. (One that another pod declares before the answer is there is asked for once more; the
/// API server has it already.)
pub(super) fn made(calls: &[Call]) -> Vec<&TaskGroup> {
    let made =
        calls.iter().filter_map(|call| if let Op::CreateTaskGroup(group) = &call.op { Some(&**group) } else { None });
    let mut made: Vec<&TaskGroup> = made.collect();
    made.sort_by_key(|group| group.metadata.name.clone());
    made.dedup_by_key(|group| group.metadata.name.clone());
    made
}

/// What conditions say to pods, by reason.
pub(super) fn conditions(calls: &[Call]) -> Vec<(String, String)> {
    let conditions = calls
        .iter()
        .filter_map(|call| if let Op::PatchPodCondition { condition, .. } = &call.op { Some(condition) } else { None });
    conditions.map(|one| (one.reason.clone().unwrap_or_default(), one.message.clone().unwrap_or_default())).collect()
}

pub(super) fn adjusted(calls: &[Call]) -> Vec<String> {
    let told = events(calls).into_iter().filter(|(reason, _)| reason == Code::DeclarationAdjusted.name());
    told.map(|(_, note)| note).collect()
}

/// That nothing is made of a pod, nothing placed, and it is told why, in these words.
fn is_refused(pod: &Value, words: &[&str]) {
    let (_, calls) = played(std::slice::from_ref(pod));
    assert!(declared(&calls).is_empty() && bound(&calls).is_empty(), "{pod}");
    let [(reason, message)] = &conditions(&calls)[..] else { panic!("told once: {pod}") };
    assert_eq!(reason, Code::InvalidDeclaration.name(), "{pod}");
    assert!(
        message.contains("Koordinator") && words.iter().all(|word| message.contains(word)),
        "{message} lacks {words:?}"
    );
}

/// Seed 002 "Annotation way": "gang.scheduling.koordinator.sh/name, gang.scheduling.koordinator.sh/min-available: the upper
/// definitions are indispensable"; "Goals": "Define API to announce Gang scheduling configuration"; "Definition": "We also provide
/// a lighting way to just use annotations to use Gang feature".
#[test]
fn a_gang_is_declared_by_its_name_and_its_number() {
    let (driven, calls) = played(&gang("gang-a", 5, 5, &json!({})));
    let [group] = made(&calls)[..] else { panic!("one TaskGroup") };
    assert_eq!(group.metadata.name.as_deref(), Some("gang-a"));
    assert_eq!((group.spec.min_member, group.spec.reservation), (5, Reservation::Direct));
    assert_eq!((bound(&calls).len(), why(&driven.controller, "gang-a-0")), (5, None));
    is_refused(&pod("p", &json!({}), &json!({"name": "a"})), &["min-available"]);
    is_refused(&pod("p", &json!({}), &json!({"min-available": "3"})), &["gang.scheduling.koordinator.sh/name"]);
    is_refused(&pod("p", &json!({}), &json!({"name": "a", "min-available": "five"})), &["min-available", "five"]);
}

/// As above, "We are compatible with pod-group.scheduling.sigs.k8s.io, pod-group.scheduling.sigs.k8s.io/name and
/// pod-group.scheduling.sigs.k8s.io/min-available in community": with the last two.
#[test]
fn labels_declare_a_gang_too() {
    let labels = json!({NAME_LABEL: "gang-a", MIN_LABEL: "3"});
    let pods = ["x", "y", "z"].map(|name| pod(name, &labels, &json!({})));
    let (driven, calls) = played(&pods[..2]);
    assert_eq!((made(&calls).len(), bound(&calls).len()), (1, 0));
    assert_eq!(why(&driven.controller, "x"), Some(Code::WaitingForMembers));
    assert_eq!(bound(&played(&pods).1), ["x", "y", "z"].into());
}

/// Seed 002 "PreFilter": "Check whether childes in Gang has met the requirements of minimum number under each Gang, and reject the
/// pod if negative"; "Summary": "only when assigned-resources reach the given limitation can trigger the binding"; "Permit": "If
/// Gang meet the bind-condition, we will give every waiting pod a "Success" status"; "Init": "We will register pod's event handler
/// to watch pod event for updating Gang".
#[test]
fn nothing_is_bound_before_all_are_there_and_have_room() {
    let mut driven = cluster();
    let pods = gang("g", 3, 3, &json!({}));
    see(&mut driven, &pods[..2]);
    let calls = run(&mut driven, 10);
    assert_eq!((bound(&calls).len(), why(&driven.controller, "g-0")), (0, Some(Code::WaitingForMembers)));
    let told = conditions(&calls);
    assert!(told.iter().any(|(_, message)| message.starts_with("2 of 3 members of g exist")), "{told:?}");
    see(&mut driven, &pods[2..]);
    assert_eq!(bound(&run(&mut driven, 10)), ["g-0", "g-1", "g-2"].into());

    let (driven, calls) = played(&gang("large", 17, 17, &json!({})));
    assert_eq!((bound(&calls).len(), why(&driven.controller, "large-0")), (0, Some(Code::Unschedulable)), "16 cores");
}

/// Seed 002 "Strict and NonStrict": "in Strict, if a pod failed to be scheduled, the pods that have been successfully scheduled in
/// this scheduling cycle will be rolled back, and the remaining pods waiting for scheduling will be rejected in PreFilter check
/// util this scheduling cycle passed"; "PostFilter": "If Strict, we will set scheduleCycleValid to false and release all assumed
/// pods": the room in which not all of them fit is there for others.
#[test]
fn a_gang_that_does_not_fit_holds_nothing() {
    let mut driven = cluster();
    see(&mut driven, &gang("large", 17, 17, &json!({})));
    run(&mut driven, 5);
    see(&mut driven, &gang("small", 16, 16, &json!({})));
    assert_eq!(bound(&run(&mut driven, 10)).len(), 16);
}

/// Seed 002 "CRD way": "gang.scheduling.koordinator.sh/name indicates the gang's name, it should be emphasized that the name should be
/// in the form of RFC 1123".
#[test]
fn a_name_that_no_object_may_have_is_refused() {
    for name in ["Gang_A", "-a", "a b", "ä"] {
        is_refused(&pod("p", &json!({}), &json!({"name": name, "min-available": "1"})), &["RFC 1123"]);
    }
}

/// Seed 002 "Annotation way": "gang.scheduling.koordinator.sh/waiting-time represents max wait time since first pod comes to permit
/// stage. Default is a global config"; "After Gang": "WaitTime is the max wait time since first pod comes to permit stage".
#[test]
fn a_gang_of_which_some_have_found_nodes_waits_so_long_and_no_longer() {
    let (_, calls) = played(&gang("g", 2, 1, &json!({})));
    assert_eq!(made(&calls)[0].spec.wait_timeout_seconds, Some(600));
    let mut driven = cluster();
    see(&mut driven, &gang("g", 17, 17, &json!({"waiting-time": "20s"})));
    let calls = run(&mut driven, 15);
    assert_eq!(made(&calls)[0].spec.wait_timeout_seconds, Some(20));
    assert_eq!(why(&driven.controller, "g-0"), Some(Code::Unschedulable));
    run(&mut driven, 10);
    assert_eq!(why(&driven.controller, "g-0"), Some(Code::WaitTimeout));
    // The gang is scheduled no more, though there is room now.
    driven.upsert(Kind::Node, &node("n2"));
    assert_eq!(bound(&run(&mut driven, 10)), BTreeSet::new());
}

/// As above, peers 1.1: "Go duration; \"\", illegal, \"0\", negative => default", and 03, 3.4: "that default plus a warning event".
#[test]
fn a_waiting_time_that_makes_no_sense_is_the_default_and_that_is_told() {
    let (_, calls) = played(&gang("g", 1, 1, &json!({"waiting-time": "600"})));
    assert_eq!((made(&calls)[0].spec.wait_timeout_seconds, bound(&calls).len()), (Some(600), 1));
    let [note] = &adjusted(&calls)[..] else { panic!("told once") };
    assert!(note.contains("waiting-time") && note.contains("600s"), "{note}");
}

/// Seed 002 "Annotation way": "gang.scheduling.koordinator.sh/total-number helps to calculate Gang scheduling cycle in strict mode … Default
/// equals to gang.scheduling.koordinator.sh/min-available": it delays nothing (01, 1.3), and those who are there are placed with
/// the gang as far as they fit.
#[test]
fn a_total_number_delays_nothing() {
    let (driven, calls) = played(&gang("g", 15, 18, &json!({"total-number": "20"})));
    assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (16, 0));
    assert_eq!(made(&calls)[0].spec.total_member, Some(20));
    let waits = (0..18).filter(|number| why(&driven.controller, &format!("g-{number}")) == Some(Code::Unschedulable));
    assert_eq!(waits.count(), 2);
    let (_, calls) = played(&gang("g", 2, 2, &json!({"total-number": "1"})));
    assert_eq!(made(&calls)[0].spec.total_member, None);
    assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (2, 2), "less than the least number: each pod is told");
}

/// Seed 002 "Annotation way": "gang.scheduling.koordinator.sh/mode determines Strict or NonStrict. Default is Strict"; "Summary":
/// "We provide Strict and NonStrict to control the resource-accumulation-process by a configuration".
#[test]
fn the_mode_is_strict_if_nothing_else_is_said() {
    let (_, calls) = played(&gang("g", 2, 2, &json!({"mode": "Strict", "match-policy": "once-satisfied"})));
    assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (2, 0));
    for (policy, read) in [
        ("once-satisfied", MatchPolicy::OnceSatisfied),
        ("waiting-and-running", MatchPolicy::WaitingAndRunning),
        ("only-waiting", MatchPolicy::OnlyWaiting),
    ] {
        let (_, calls) = played(&gang("g", 1, 1, &json!({"match-policy": policy})));
        assert_eq!(made(&calls)[0].spec.match_policy, read);
    }
    let (_, calls) = played(&gang("g", 1, 1, &json!({"mode": "strict"})));
    assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (1, 1));
}

/// Seed 002 "Strict and NonStrict": "In NonStrict, if a pod failed to be scheduled, it has no impact on any other pod. We will
/// continue to accumulate the allocated pod until the condition of Gang is met"; "Alternatives": "User can choose use Gang by
/// Strict and NonStrict case by case". The pods say it, or their PodGroup.
#[test]
fn a_gang_that_is_not_strict_holds_what_it_finds() {
    let mode = |gang: &[Value]| made(&played(gang).1)[0].spec.mode;
    assert_eq!(mode(&gang("g", 1, 1, &json!({"mode": "NonStrict"}))), Mode::NonStrict);
    assert_eq!(mode(&gang("g", 1, 1, &json!({}))), Mode::Strict);
    for (mode, bound_after) in [("NonStrict", 0), ("Strict", 1)] {
        let mut driven = cluster();
        see(&mut driven, &gang("g", 17, 17, &json!({"mode": mode})));
        run(&mut driven, 10);
        see(&mut driven, &[pod("other", &json!({}), &json!({}))]);
        let calls = run(&mut driven, 10);
        assert_eq!(bound(&calls).len(), bound_after, "{mode}: all 16 cores of the node are held, or none");
        driven.upsert(Kind::Node, &node("n2"));
        assert_eq!(bound(&run(&mut driven, 10)).len(), 18 - bound_after, "{mode}");
    }
    let (mut driven, _) = played(&gang("g", 3, 1, &json!({"mode": "NonStrict"})));
    see(&mut driven, &gang("g", 3, 2, &json!({}))[1..]);
    let told = adjusted(&run(&mut driven, 10));
    assert!(told.len() == 1 && told[0].contains("is there with another mode"), "{told:?}");
}

/// The list of a group of the pods' namespace.
fn groups(names: &[&str]) -> Value {
    let names: Vec<String> = names.iter().map(|name| format!("ns/{name}")).collect();
    json!({"groups": json!(names).to_string()})
}

/// Seed 002 "GangGroup": "All pods in a GangGroup can trigger the bind process only after all roles in a GangGroup meet their Gang
/// conditions"; "Permit": "Scheduler will calculate all Gangs in GangGroup whether the current number of assumed-pods in each Gang
/// meets the Gang's minimum requirement": in whichever order they come, and in whichever order they list each other.
#[test]
fn gangs_of_one_group_start_together() {
    let of_a = gang("gang-a", 2, 2, &groups(&["gang-a", "gang-b"]));
    let of_b = gang("gang-b", 3, 3, &groups(&["gang-b", "gang-a"]));
    for (first, second) in [(&of_a, &of_b), (&of_b, &of_a)] {
        let mut driven = cluster();
        see(&mut driven, first);
        let calls = run(&mut driven, 10);
        assert_eq!((made(&calls).len(), bound(&calls).len()), (1, 0));
        let name = first[0]["metadata"]["name"].as_str().expect("a name");
        assert_eq!(why(&driven.controller, name), Some(Code::WaitingForTaskGroups));
        see(&mut driven, &second[..1]);
        assert_eq!(bound(&run(&mut driven, 10)).len(), 0, "one of the other gang does not make it whole");
        see(&mut driven, &second[1..]);
        assert_eq!(bound(&run(&mut driven, 10)).len(), 5);
    }
    let (_, calls) = played(&[of_a.clone(), of_b].concat());
    let [a, b] = made(&calls)[..] else { panic!("two TaskGroups") };
    assert_eq!(a.spec.gang_group, ["ns/gang-a", "ns/gang-b"]);
    assert_eq!((&a.spec.application_id, &a.spec.gang_group), (&b.spec.application_id, &b.spec.gang_group));
    // Neither has room without the other.
    let large = gang("gang-b", 15, 15, &groups(&["gang-b", "gang-a"]));
    assert_eq!(bound(&played(&[of_a, large].concat()).1).len(), 0);
}

/// Seed 002 "CRD way", "Annotation way": "gang.scheduling.koordinator.sh/groups describes GangGroups. Default is empty, which means don't
/// need to form a GangGroup with others."
#[test]
fn without_a_list_each_gang_starts_alone() {
    let empty = json!({"groups": "", "waiting-time": "3600s", "total-number": "5", "mode": "Strict"});
    let (_, calls) = played(&[gang("gang-a", 5, 5, &empty), gang("gang-b", 5, 4, &empty)].concat());
    assert_eq!(bound(&calls).len(), 5);
    let [a, b] = made(&calls)[..] else { panic!("two TaskGroups") };
    let application = |group: &TaskGroup| group.spec.application_id.clone().unwrap_or_default();
    assert_eq!((application(a), application(b)), ("gang-a".to_owned(), "gang-b".to_owned()));
}

/// As above, "gang-groups should be found in PodGroup's annotation if needed": the other spelling counts where the first is not
/// there.
#[test]
fn both_spellings_of_the_list_are_read() {
    let spelled = |name: &str| json!({"gang-groups": groups(&["gang-a", "gang-b"])["groups"], "name": name});
    let pods =
        [gang("gang-a", 1, 1, &spelled("gang-a")), gang("gang-b", 1, 1, &groups(&["gang-a", "gang-b"]))].concat();
    let (_, calls) = played(&pods);
    assert_eq!((bound(&calls).len(), made(&calls)[0].spec.gang_group.len()), (2, 2));
}

/// Seed 002 "CRD way": "the gangs in one gangGroup can from different namespaces": they start together, once each of them lists the
/// other; until then who lists another one waits for it.
#[test]
fn the_gangs_of_a_group_can_be_of_different_namespaces() {
    let wrong = json!({"groups": r#"["ns/gang-a", "namespaceB/gang-b"]"#});
    is_refused(&gang("gang-a", 1, 1, &wrong)[0], &["groups[1]", "must be namespace/name"]);
    let across = json!({"groups": r#"["ns/gang-a", "other/gang-b"]"#});
    let elsewhere = |more: &Value| {
        let mut pod = gang("gang-b", 1, 1, more).remove(0);
        pod["metadata"]["namespace"] = json!("other");
        pod
    };
    let (driven, calls) = played(&[gang("gang-a", 1, 1, &across).remove(0), elsewhere(&json!({}))]);
    assert_eq!(bound(&calls), ["gang-b-0"].into(), "who is listed is not concerned");
    assert_eq!(why(&driven.controller, "gang-a-0"), Some(Code::WaitingForTaskGroups));
    let (_, calls) = played(&[gang("gang-a", 1, 1, &across).remove(0), elsewhere(&across)]);
    assert_eq!(bound(&calls), ["gang-a-0", "gang-b-0"].into());
}

/// Seed 002 "Annotation way": "And gangGroup should be announced with \" gangNamespace\" + \"/\" + \"gangName \"".
#[test]
fn a_list_of_names_alone_is_refused_and_one_that_is_no_json_is_the_gang_alone() {
    is_refused(&gang("gang-a", 1, 1, &json!({"groups": r#"["gang-a", "gang-b"]"#}))[0], &["groups[0]", "groups[1]"]);
    let (_, calls) = played(&gang("gang-a", 1, 1, &json!({"groups": "gang-a,gang-b"})));
    assert_eq!((bound(&calls).len(), adjusted(&calls).len()), (1, 1));
}

/// 01, 1.6: "the group is valid only if every listed TaskGroup exists and lists the same set (mutual)": who is named and does not
/// name back starts alone, and who named it says why it waits.
#[test]
fn who_does_not_list_back_is_not_held_up() {
    let pods = [gang("gang-a", 1, 1, &groups(&["gang-a", "gang-b"])), gang("gang-b", 1, 1, &json!({}))].concat();
    let (driven, calls) = played(&pods);
    assert_eq!(bound(&calls), ["gang-b-0"].into());
    assert_eq!(why(&driven.controller, "gang-a-0"), Some(Code::GangGroupMismatch));
}

/// Seed 002 "After Gang": "when once Gang has been satisfied, all subsequent resource allocations are no longer constrained by Gang
/// rules, and their performance is similar to ordinary pod"; "Data-Structure": "Once Permit stage passed, we will set
/// ResourceSatisfied=true".
#[test]
fn after_the_start_members_are_ordinary_pods() {
    let mut driven = cluster();
    let pods = gang("g", 15, 17, &json!({}));
    see(&mut driven, &pods[..15]);
    let calls = run(&mut driven, 5);
    let running = as_bound(&pods[..15], &calls);
    assert_eq!(running.len(), 15);
    see(&mut driven, &running);
    see(&mut driven, &pods[15..]);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls), declared(&calls).len()), (["g-15"].into(), 0), "alone, as there is room");
    assert_eq!(why(&driven.controller, "g-16"), Some(Code::Unschedulable));
}

/// Seed 002 "Un-reserve": "When binding failed, as mentioned above, the collection of Gang's resource is over, we will do nothing
/// except roll back the failed pod resource": the others have their nodes, and that one is tried again. Until it has one the gang has
/// not started whole, and nobody else is given its room.
#[test]
fn a_binding_that_fails_costs_the_others_nothing() {
    let mut driven = cluster();
    let pods = gang("g", 16, 16, &json!({}));
    see(&mut driven, &pods);
    let refuses = |op: &Op| matches!(op, Op::Bind { pod, .. } if &*pod.name == "g-3").then_some(422);
    let calls = run_refusing(&mut driven, 3, refuses);
    let (failed, others): (Vec<Value>, Vec<Value>) = pods.into_iter().partition(|pod| pod["metadata"]["name"] == "g-3");
    see(&mut driven, &as_bound(&others, &calls));
    assert_eq!(why(&driven.controller, "g-3"), Some(Code::BindRefused));
    see(&mut driven, &[pod("other", &json!({}), &json!({}))]);
    let calls = run(&mut driven, 10);
    assert_eq!(bound(&calls), ["g-3"].into(), "neither those that have a node, nor one of no gang");
    see(&mut driven, &as_bound(&failed, &calls));
    run(&mut driven, 1);
    assert_eq!(why(&driven.controller, "other"), Some(Code::Unschedulable));
}

/// ADR 38: a TaskGroup that was made of a PodGroup follows that, and no pod that comes later and says something else itself.
#[test]
fn a_pod_that_comes_later_resizes_no_gang() {
    let mut driven = cluster();
    let object = json!({"metadata": {"name": "g", "namespace": "ns", "uid": "pg"}, "spec": {"minMember": 3}});
    driven.upsert(Kind::KoordinatorPodGroup, &object);
    let labels = json!({"pod-group.scheduling.sigs.k8s.io": "g"});
    see(&mut driven, &[pod("p-1", &labels, &json!({})), pod("p-2", &labels, &json!({}))]);
    assert_eq!(made(&run(&mut driven, 5))[0].spec.min_member, 3);
    see(&mut driven, &[pod("a-first", &labels, &json!({"min-available": "1"}))]);
    let calls = run(&mut driven, 5);
    assert!(!calls.iter().any(|call| matches!(call.op, Op::EditTaskGroup { .. })));
    assert_eq!(bound(&calls).len(), 3, "it is the third");
}

/// 43, 1 "illegal values": what Koordinator reads and nothing here does is refused by name.
#[test]
fn what_is_not_read_is_refused() {
    let pod = pod("p", &json!({}), &json!({"name": "g", "min-available": "1", "network-topology-index": "1"}));
    is_refused(&pod, &["network-topology-index"]);
    let alone = pod_with(&json!({"network-topology-index": "1"}));
    let (_, calls) = played(&[alone]);
    let [(reason, _)] = &conditions(&calls)[..] else { panic!("told once") };
    assert_eq!((&**reason, bound(&calls).len()), (Code::DialectNotSupported.name(), 0));
}

/// A pod of which nothing else is said.
fn pod_with(annotations: &Value) -> Value {
    pod("p", &json!({}), annotations)
}

/// 03, 3.4: "A pod of ours that carries gang markers of a system whose dialect is not built or not switched on … waits with reason
/// `DialectNotSupported`": what the dialect reads is a marker while it is off.
#[test]
fn without_the_dialect_the_same_pods_are_another_systems() {
    for dialects in [&[][..], &[Dialect::YuniKorn]] {
        let mut driven = Driven::speaking(dialects);
        driven.list(&[(Kind::Node, &node("n1"))]);
        see(&mut driven, &gang("g", 1, 1, &json!({})));
        see(&mut driven, &[pod("p", &json!({NAME_LABEL: "g", MIN_LABEL: "1"}), &json!({}))]);
        // What names an application to YuniKorn, and no gang, does not unmake this one.
        see(&mut driven, &[pod("s", &json!({NAME_LABEL: "g", MIN_LABEL: "1", "spark-app-selector": "s"}), &json!({}))]);
        let calls = run(&mut driven, 10);
        assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
        for name in ["g-0", "p", "s"] {
            assert_eq!(why(&driven.controller, name), Some(Code::DialectNotSupported));
        }
    }
}

/// 03, 3.4: "precedence: TaskGroup label, then Koordinator's … YuniKorn annotations".
#[test]
fn of_several_dialects_the_first_counts_and_that_is_told() {
    let groups = json!([{"name": "executor", "minMember": 9, "minResource": {"cpu": "9"}}]).to_string();
    let mut both = gang("g", 1, 1, &json!({})).remove(0);
    both["metadata"]["labels"] = json!({"applicationId": "app", "queue": "root.default"});
    both["metadata"]["annotations"]["yunikorn.apache.org/task-groups"] = json!(groups);
    both["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"] = json!("executor");
    let (_, calls) = played(std::slice::from_ref(&both));
    assert_eq!((bound(&calls).len(), declared(&calls)), (1, ["g".to_owned()].into()));
    let [note] = &adjusted(&calls)[..] else { panic!("told once") };
    assert!(note.contains("Koordinator count first") && note.contains("YuniKorn"), "{note}");
    both["metadata"]["labels"]["gangline.dev/application-id"] = json!("mine");
    let (_, calls) = played(&[both]);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (1, 0), "ours comes first");
}

/// 43, 7: "two pods of one gang with different parameters": the first by name is heeded, and the other told. What they request is
/// no parameter of the gang.
#[test]
fn of_pods_that_declare_a_gang_differently_one_is_heeded_and_the_other_told() {
    let pods = [gang("g", 2, 1, &json!({})), gang("g", 3, 2, &json!({})).split_off(1)].concat();
    let (_, calls) = played(&pods);
    let [group] = made(&calls)[..] else { panic!("one TaskGroup") };
    assert_eq!((group.spec.min_member, bound(&calls).len()), (2, 2));
    let told = adjusted(&calls);
    assert!(
        !told.is_empty() && told.iter().all(|note| note.contains("differs") || note.contains("minMember")),
        "{told:?}"
    );

    let mut pods = gang("g", 2, 2, &json!({}));
    pods[1]["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "7", "memory": "1Gi"});
    for pods in [pods.clone(), pods.into_iter().rev().collect()] {
        let (_, calls) = played(&pods);
        assert_eq!((bound(&calls).len(), adjusted(&calls)), (2, vec![]));
    }
}

/// peers 1.1: "`0` is legal": a gang of nobody waits for nobody.
#[test]
fn a_gang_of_nobody_waits_for_nobody() {
    let (_, calls) = played(&gang("g", 0, 17, &json!({})));
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (16, 0));
}
