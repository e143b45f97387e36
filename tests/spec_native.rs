//! Gangs as PodGroups of Kubernetes itself declare them (1.37, `scheduling.k8s.io`): pods name one by the field `spec.schedulingGroup`,
//! and its status has the condition that kube-scheduler would write.

use gangline::core::codes::Code;
use gangline::shim::dialect::Dialect;
use gangline::shim::dialect::kubernetes::InitiallyScheduled;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::spec_koordinator::{adjusted, conditions, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::{edit, gone, pod_group, wrong};
use crate::spec_yunikorn::{GROUP, GROUPS, bound, declared, run, run_refusing};
use crate::support::driven::{Driven, member, node};

const KIND: Kind = Kind::KubernetesPodGroup;

/// With a node of 16 cpu, and nothing else.
fn cluster() -> Driven {
    let mut driven = Driven::speaking(&[Dialect::YuniKorn, Dialect::Volcano, Dialect::Kubernetes]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

/// Pods of one core that name a PodGroup.
fn pods(group: &str, count: u32) -> Vec<Value> {
    let pod = |number| {
        let mut pod = member(&format!("{group}-{number}"));
        pod["metadata"]["labels"] = json!({});
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
        pod
    };
    (0..count).map(pod).collect()
}

/// The spec of a PodGroup of which so many start together.
fn gang(min_count: i64) -> Value {
    json!({"schedulingPolicy": {"gang": {"minCount": min_count}}})
}

/// The conditions that were written to PodGroups, in order.
fn said(calls: &[Call]) -> Vec<InitiallyScheduled> {
    let mut said = Vec::new();
    for call in calls {
        if let Op::PatchPodGroupStatus { uid, status, .. } = &call.op {
            assert_eq!((&*uid.0, &*status.phase), ("pg-g", ""), "there is no phase");
            said.push(status.condition.clone().expect("nothing else is said"));
        }
    }
    said
}

/// peers 6.1: "spec.schedulingGroup.podGroupName", "gang{minCount}". It is a TaskGroup of that name, which goes with it, and waits for
/// as long as it takes.
#[test]
fn pods_that_name_a_pod_group_of_kubernetes_start_together() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &gang(3)));
    let pods = pods("g", 3);
    see(&mut driven, &pods[..2]);
    let calls = run(&mut driven, 5);
    let [made] = made(&calls)[..] else { panic!("one TaskGroup") };
    let spec = &made.spec;
    assert_eq!((made.metadata.name.as_deref(), spec.min_member, spec.wait_timeout_seconds), (Some("g"), 3, None));
    let [owner] = &made.metadata.owner_references.clone().unwrap_or_default()[..] else { panic!("one owner") };
    assert_eq!((&*owner.api_version, &*owner.kind), ("scheduling.k8s.io/v1beta1", "PodGroup"));
    assert_eq!((&*owner.name, &*owner.uid, owner.controller), ("g", "pg-g", None));
    assert_eq!((bound(&calls).len(), why(&driven.controller, "g-0")), (0, Some(Code::WaitingForMembers)));
    see(&mut driven, &pods[2..]);
    assert_eq!(bound(&run(&mut driven, 5)).len(), 3);
}

/// 01, 1.2.7: "Pods that arrive before their TaskGroup object are parked", here before the object of which that is made. kube-scheduler
/// says nothing to such pods (peers 6.2, 1).
#[test]
fn pods_wait_for_a_pod_group_of_kubernetes_that_is_not_there_yet() {
    let mut driven = cluster();
    see(&mut driven, &pods("g", 2));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), bound(&calls).len(), conditions(&calls).len()), (0, 0, 2));
    for (reason, message) in conditions(&calls) {
        assert_eq!(reason, Code::TaskGroupNotFound.name());
        assert!(message.contains("PodGroup g of scheduling.k8s.io"), "{message}");
    }
    driven.upsert(KIND, &pod_group("g", &gang(2)));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), bound(&calls).len()), (1, 2));
}

/// peers 6.1: "policy: basic or gang": with the first each pod starts by itself.
#[test]
fn with_the_basic_policy_each_pod_starts() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &json!({"schedulingPolicy": {"basic": {}}})));
    let pods = pods("g", 3);
    see(&mut driven, &pods[..1]);
    let calls = run(&mut driven, 5);
    assert_eq!(bound(&calls), ["g-0"].into());
    see(&mut driven, &as_bound(&pods[..1], &calls));
    for number in 1..3 {
        see(&mut driven, &pods[number..=number]);
        assert_eq!(bound(&run(&mut driven, 5)), [&*format!("g-{number}")].into());
    }
}

/// 01, 1.2.3: "queue's sort policy is `Fair` and the application asks for a gang": with that policy it asks for none.
#[test]
fn in_a_fair_queue_pods_of_the_basic_policy_start() {
    for (policy, is_gang) in [
        (json!({"basic": {}}), false),
        (json!({"gang": {"minCount": 1}}), true),
        (json!({"gang": {"minCount": 2}}), true),
    ] {
        let (mut driven, mut pods) = (cluster(), pods("g", 2));
        let fair = json!({"metadata": {"name": "root.fair"}, "spec": {"parent": "root", "sortPolicy": "Fair"}});
        driven.upsert(Kind::Queue, &fair);
        driven.upsert(KIND, &pod_group("g", &json!({"schedulingPolicy": policy})));
        pods.iter_mut().for_each(|pod| pod["metadata"]["labels"] = json!({"gangline.dev/queue": "root.fair"}));
        see(&mut driven, &pods);
        let calls = run(&mut driven, 5);
        assert_eq!(bound(&calls).len(), if is_gang { 0 } else { 2 }, "{policy}");
        assert!(!is_gang || why(&driven.controller, "g-1") == Some(Code::GangInFairQueue), "{policy}");
    }
}

/// 01, 1.3: "it says how many belong to it, so members up to it that exist are planned with it as far as they fit". kube-scheduler
/// places all pods of a group that are there with those that start together: whoever names it belongs to it, and nobody else has a turn
/// in between.
#[test]
fn pods_beyond_the_least_count_are_placed_with_the_gang() {
    for (policy, total, own) in [(json!({"gang": {"minCount": 2}}), Some(100_000), 4), (json!({"basic": {}}), None, 3)]
    {
        let mut driven = Driven::speaking(&[Dialect::Kubernetes]);
        driven.list(&[]);
        driven.upsert(KIND, &pod_group("g", &json!({"schedulingPolicy": policy})));
        let (mut all, mut other) = (pods("g", 4), member("other"));
        other["metadata"]["labels"] = json!({});
        all.push(other);
        for pod in &mut all {
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("4");
        }
        see(&mut driven, &all);
        let made = made(&run(&mut driven, 5)).first().map(|group| group.spec.total_member);
        driven.upsert(Kind::Node, &node("n1"));
        let calls = run(&mut driven, 5);
        let of_gang = bound(&calls).into_iter().filter(|name| name.starts_with("g-")).count();
        assert_eq!((made, of_gang, bound(&calls).len()), (Some(total), own, 4), "{policy}");
    }
}

/// 03, 3.4: "Bad values are refused visibly", and so is what decides on which nodes, or with whom, a gang starts, and is not looked at.
#[test]
fn what_is_wrong_with_a_pod_group_of_kubernetes_is_told_on_a_pod() {
    let with = |field: &str, value: Value| {
        let mut spec = gang(2);
        spec[field] = value;
        spec
    };
    for (spec, place) in [
        (gang(0), "spec.schedulingPolicy.gang.minCount"),
        (gang(5_000_000_000), "spec.schedulingPolicy.gang.minCount"),
        (json!({}), "spec.schedulingPolicy.gang.minCount"),
        (with("schedulingConstraints", json!({"topology": [{"key": "rack"}]})), "spec.schedulingConstraints"),
        (with("resourceClaims", json!([{"name": "gpus"}])), "spec.resourceClaims"),
        (with("parentCompositePodGroupName", json!("all")), "spec.parentCompositePodGroupName"),
        (json!({"schedulingPolicy": {"gang": {"minCount": 2, "later": 1}}}), "spec.schedulingPolicy.gang.later"),
        (json!({"schedulingPolicy": {"gang": {"minCount": 2}, "later": {}}}), "spec.schedulingPolicy.later"),
        (json!({"schedulingPolicy": {"basic": {"later": true}}}), "spec.schedulingPolicy.basic.later"),
    ] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &spec));
        see(&mut driven, &pods("g", 2));
        driven.upsert(KIND, &pod_group("g", &spec));
        let calls = run(&mut driven, 5);
        let [told] = &wrong(&calls)[..] else { panic!("told once: {spec}") };
        assert!(told.contains("PodGroup g of scheduling.k8s.io") && told.contains(place), "{told}");
        assert_eq!((declared(&calls).len(), bound(&calls).len(), said(&calls).len()), (0, 0, 0), "{spec}");
        // It is made anew, since nothing but its number can be changed.
        gone(&mut driven, KIND, &pod_group("g", &spec));
        let mut right = pod_group("g", &gang(2));
        right["metadata"]["uid"] = json!("pg-again");
        driven.upsert(KIND, &right);
        assert_eq!(bound(&run(&mut driven, 5)).len(), 2, "{spec}");
    }
}

/// peers 6.1: "PodGroupInitiallyScheduled (sticky True; False reasons Unschedulable, SchedulerError)". What was said of a generation is
/// not said of ours.
#[test]
fn the_condition_of_a_pod_group_says_why_it_waits_and_then_that_it_was_placed() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &gang(3)));
    let pods = pods("g", 3);
    see(&mut driven, &pods[..1]);
    let waiting = said(&run(&mut driven, 40));
    let [waits] = &waiting[..] else { panic!("said once: {waiting:?}") };
    assert_eq!((waits.holds, &*waits.reason, waits.message.is_empty()), (false, "WaitingForMembers", false));
    assert_eq!(waits.written().get("observedGeneration"), Some(&json!(null)));
    see(&mut driven, &pods[1..2]);
    assert_eq!(said(&run(&mut driven, 70)).len(), 0, "one less is missing: the TaskGroup says that");
    see(&mut driven, &pods[2..]);
    let calls = run(&mut driven, 5);
    let running = as_bound(&pods, &calls);
    assert_eq!(running.len(), 3);
    see(&mut driven, &running);
    let said_now: Vec<InitiallyScheduled> = said(&calls).into_iter().chain(said(&run(&mut driven, 40))).collect();
    let [placed] = &said_now[..] else { panic!("said once: {said_now:?}") };
    assert_eq!((placed.holds, &*placed.reason), (true, "Scheduled"));
    running.iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
    see(&mut driven, &self::pods("g", 1));
    assert_eq!(said(&run(&mut driven, 70)).len(), 0, "it stays, whatever becomes of them");
}

/// 01, 1.3 "Autoscaler": "a gang that waits for quota, a rejection: another reason, never `Unschedulable`", here of the condition, of
/// which the API says "Unschedulable: The PodGroup cannot be scheduled due to resource constraints, affinity/anti-affinity rules, or
/// insufficient capacity".
#[test]
fn the_condition_of_a_pod_group_says_unschedulable_of_nodes_alone() {
    let no_queue = |pod: &mut Value| pod["metadata"]["labels"] = json!({"gangline.dev/queue": "root.none"});
    for (count, change, reason) in
        [(17, None, "Unschedulable"), (1, None, "WaitingForMembers"), (17, Some(no_queue), "QueueNotFound")]
    {
        let (mut driven, mut pods) = (cluster(), pods("g", count));
        driven.upsert(KIND, &pod_group("g", &gang(17)));
        change.iter().for_each(|change| pods.iter_mut().for_each(change));
        see(&mut driven, &pods);
        let said = said(&run(&mut driven, 60));
        let last = said.last().map(|said| (said.holds, &*said.reason));
        assert_eq!(last, Some((false, reason)), "{count}: {said:?}");
    }
}

/// As above: "Once this condition transitions to True, it serves as a terminal state". What an earlier process did not come to say the
/// next one does.
#[test]
fn a_new_process_says_that_a_gang_was_placed_where_nobody_has() {
    let (pods, mut driven) = (pods("g", 2), cluster());
    driven.upsert(KIND, &pod_group("g", &gang(2)));
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    let mut task_group = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    task_group["metadata"]["generation"] = json!(1);
    let running = as_bound(&pods, &calls);
    assert_eq!(running.len(), 2);
    let condition = |status: &str| {
        json!({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": status, "reason": "Unschedulable",
                               "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    };
    for (status, times) in [(json!(null), 1), (json!({}), 1), (condition("False"), 1), (condition("True"), 0)] {
        let mut restarted = Driven::speaking(&[Dialect::Kubernetes]);
        let (mut group, node) = (pod_group("g", &gang(2)), node("n1"));
        group["status"] = status.clone();
        let objects = [(Kind::Node, &node), (Kind::TaskGroup, &task_group), (KIND, &group)];
        restarted.list(&objects.into_iter().chain(running.iter().map(|pod| (Kind::Pod, pod))).collect::<Vec<_>>());
        let said = said(&run(&mut restarted, 60));
        assert_eq!((said.len(), said.iter().all(|said| said.holds)), (times, true), "{status}: {said:?}");
    }
}

/// 02, 2.1: a status that is refused is no reason not to start, and is not tried without a pause.
#[test]
fn a_condition_that_is_refused_holds_nothing_up() {
    for code in [403, 404, 409, 422] {
        let mut driven = cluster();
        driven.upsert(KIND, &pod_group("g", &gang(1)));
        see(&mut driven, &pods("g", 1));
        let refuses = |op: &Op| matches!(op, Op::PatchPodGroupStatus { .. }).then_some(code);
        let calls = run_refusing(&mut driven, 60, refuses);
        assert_eq!(bound(&calls).len(), 1, "{code}");
        assert!((1..40).contains(&said(&calls).len()), "{code}: {:?}", said(&calls));
    }
}

/// 43, 2: "edited while waiting": the one field of a PodGroup that can be changed (peers 6.1, "minCount mutable"); of a time nothing is
/// said.
#[test]
fn an_edit_of_the_least_count_reaches_the_task_group() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &gang(3)));
    see(&mut driven, &pods("g", 2));
    let mut group = serde_json::to_value(made(&run(&mut driven, 5))[0]).expect("it is JSON");
    driven.upsert(KIND, &pod_group("g", &gang(2)));
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

/// A PodGroup that is deleted stays until no pod names it (1.37, its finalizer `scheduling.k8s.io/podgroup-protection`): pods that
/// waited for another one would keep it there, and wait, for ever.
#[test]
fn a_pod_group_of_kubernetes_that_is_deleted_counts_until_it_is_gone() {
    let (mut driven, mut group) = (cluster(), pod_group("g", &gang(2)));
    group["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    driven.upsert(KIND, &group);
    see(&mut driven, &pods("g", 2));
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls), bound(&calls).len()), (["g".to_owned()].into(), 2));
}

/// kube-scheduler starts no gang of which a pod has another priority than the PodGroup. Here pods count with their own, and the first of
/// them is told so (03, 3.4: "never defaulted silently").
#[test]
fn a_priority_of_a_pod_group_that_is_not_its_pods_is_told() {
    for (of_group, times) in [(json!(7), 1), (json!(5), 0), (json!(null), 0)] {
        let (mut driven, mut spec, mut pods) = (cluster(), gang(2), pods("g", 2));
        spec["priority"] = of_group;
        driven.upsert(KIND, &pod_group("g", &spec));
        pods.iter_mut().for_each(|pod| pod["spec"]["priority"] = json!(5));
        see(&mut driven, &pods);
        let calls = run(&mut driven, 5);
        let told = adjusted(&calls);
        assert_eq!((told.len(), bound(&calls).len()), (times, 2), "{told:?}");
        let says = |told: &String| told.starts_with("PodGroup g of scheduling.k8s.io: spec.priority: 7 is left out");
        assert!(told.iter().all(says), "{told:?}");
    }
}

/// 43, 7: "precedence, and a warning that says which won": our own label first, and words that name no gang last.
#[test]
fn the_field_of_kubernetes_counts_before_words_that_name_no_gang() {
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &gang(1)));
    let mut pod = pods("g", 1).remove(0);
    pod["metadata"]["labels"]["applicationId"] = json!("app");
    see(&mut driven, &[pod]);
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls), bound(&calls).len()), (["g".to_owned()].into(), 1));
    let told = adjusted(&calls).join("; ");
    assert!(
        told.contains("words of YuniKorn is left out") && told.contains("those of Kubernetes count first"),
        "{told}"
    );
    let mut driven = cluster();
    driven.upsert(KIND, &pod_group("g", &gang(1)));
    let mut pod = pods("g", 1).remove(0);
    pod["metadata"]["labels"] = json!({"gangline.dev/task-group": "own"});
    see(&mut driven, &[pod]);
    let calls = run(&mut driven, 5);
    assert_eq!((declared(&calls).len(), bound(&calls).len()), (0, 0));
    assert_eq!(why(&driven.controller, "g-0"), Some(Code::TaskGroupNotFound));
}

/// 03, 3.4: the words of other systems come in their order, and the gang of one whose dialect is off "is **not** run one by one". The
/// controller of Jobs makes a PodGroup for each Job (1.37, `WorkloadWithJob`), `basic` where nobody says otherwise, whoever else
/// declares a gang of its pods.
#[test]
fn a_pod_group_of_kubernetes_unmakes_no_gang_of_another_system() {
    assert!(Dialect::ALL.iter().all(|other| *other <= Dialect::Kubernetes), "in the order in which they count");
    let prefix = "gang.scheduling.koordinator.sh";
    let koordinator = json!({format!("{prefix}/name"): "k", format!("{prefix}/min-available"): "3"});
    let groups = json!([{"name": "w", "minMember": 3, "minResource": {"cpu": "1"}}]).to_string();
    let yunikorn = json!({GROUPS: groups, GROUP: "w"});
    for (dialect, system, annotations) in
        [(Dialect::Koordinator, "Koordinator", koordinator), (Dialect::YuniKorn, "YuniKorn", yunikorn)]
    {
        let mut pods = pods("g", 2);
        for pod in &mut pods {
            pod["metadata"]["labels"] = json!({"applicationId": "app"});
            pod["metadata"]["annotations"] = annotations.clone();
        }
        for is_on in [true, false] {
            let dialects = [Dialect::Kubernetes, dialect];
            let mut driven = Driven::speaking(&dialects[..1 + usize::from(is_on)]);
            driven.list(&[(Kind::Node, &node("n1"))]);
            driven.upsert(KIND, &pod_group("g", &json!({"schedulingPolicy": {"basic": {}}})));
            see(&mut driven, &pods);
            let calls = run(&mut driven, 5);
            let (declared, told) = (declared(&calls), adjusted(&calls).join("; "));
            if is_on {
                assert!(declared.len() == 1 && !declared.contains("g"), "{system}: {declared:?}");
                assert!(told.contains(&format!("words of Kubernetes is left out, since those of {system}")), "{told}");
            } else {
                assert_eq!((declared.len(), bound(&calls).len()), (0, 0), "{system}");
                assert_eq!(why(&driven.controller, "g-0"), Some(Code::DialectNotSupported), "{system}");
            }
        }
    }
}

/// 43, 2: "Group CRDs are optional: absent, appearing later, removed, without a restart"; "it must never be what breaks them". Without
/// its feature gate an API server does not serve the kind.
#[test]
fn the_kind_of_kubernetes_may_be_missing_come_later_and_go() {
    let mut driven = Driven::speaking(&[Dialect::Kubernetes]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven.fact(KIND, WatchFact::Unserved);
    see(&mut driven, &pods("g", 1));
    let mut alone = member("alone");
    alone["metadata"]["labels"] = json!({});
    see(&mut driven, &[alone]);
    let calls = run(&mut driven, 5);
    assert_eq!(bound(&calls), ["alone"].into(), "nobody else is held up");
    let told: Vec<_> = conditions(&calls).into_iter().map(|(reason, _)| reason).collect();
    assert!(told.contains(&Code::TaskGroupNotFound.name().to_owned()), "{told:?}");
    driven.fact(KIND, WatchFact::ListBegin);
    let seen = driven.seen(KIND, &pod_group("g", &gang(1)));
    driven.fact(KIND, WatchFact::Listed(seen));
    driven.fact(KIND, WatchFact::ListEnd);
    driven.step();
    assert_eq!(bound(&run(&mut driven, 5)).len(), 1);
    driven.fact(KIND, WatchFact::Unserved);
    driven.step();
    assert_eq!(driven.controller.stats().objects[KIND.plural()], 0, "what is gone with its kind is forgotten");
    see(&mut driven, &pods("h", 1));
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
}

/// 03, 3.4: "A row of that table stays when its dialect is built, and holds while it is off".
#[test]
fn without_the_dialect_pods_of_a_scheduling_group_are_kubernetes() {
    for dialects in [&[][..], &[Dialect::YuniKorn, Dialect::Koordinator, Dialect::Coscheduling, Dialect::Volcano]] {
        assert!(!Kind::watched(dialects).any(|kind| kind == KIND));
        let mut driven = Driven::speaking(dialects);
        driven.list(&[(Kind::Node, &node("n1"))]);
        see(&mut driven, &pods("g", 1));
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls).len(), declared(&calls).len()), (0, 0));
        assert_eq!(why(&driven.controller, "g-0"), Some(Code::DialectNotSupported));
    }
    // A field of which later versions may have more is not read with it either.
    let mut driven = cluster();
    let mut pod = pods("g", 1).remove(0);
    pod["spec"]["schedulingGroup"] = json!({"later": "g"});
    see(&mut driven, &[pod]);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), why(&driven.controller, "g-0")), (0, Some(Code::DialectNotSupported)));
}

/// 04, I13: nothing is left of what is gone.
#[test]
fn nothing_is_remembered_of_pod_groups_of_kubernetes_that_are_gone() {
    let mut driven = Driven::speaking(&[Dialect::Kubernetes]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    let (group, pods) = (pod_group("g", &gang(3)), pods("g", 2));
    driven.upsert(KIND, &group);
    see(&mut driven, &pods);
    let calls = run(&mut driven, 5);
    let made = serde_json::to_value(made(&calls)[0]).expect("it is JSON");
    pods.iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
    gone(&mut driven, KIND, &group);
    gone(&mut driven, Kind::TaskGroup, &made);
    gone(&mut driven, Kind::Node, &node("n1"));
    run(&mut driven, 60);
    assert_eq!(driven.controller.leftovers(), Vec::<&str>::new());
}
