//! Gangs as tests of Koordinator and of kube-scheduler's Coscheduling plugin assert them of their own schedulers, where no other test
//! shows it here. The tables of all of them are in `tests/peers`.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::codes::Code;
use gangline::core::event::Role;
use gangline::shim::dialect::Dialect;
use gangline::shim::op::{Kind, Op};
use serde_json::{Map, Value, json};

use crate::spec_koordinator::{conditions, gang, made, see, why};
use crate::spec_ordinary::as_bound;
use crate::spec_pod_groups::{BOTH, KOORDINATOR_LABEL, LABEL, annotated, cluster, gone, pod_group, pods, statuses};
use crate::spec_yunikorn::{bound, declared, run};
use crate::support::cluster::Cluster;
use crate::support::driven::{Driven, member, node};

/// A node of so many cpu.
fn node_of(cpu: u32) -> Value {
    let allocatable = json!({"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110"});
    json!({"metadata": {"name": "n1"}, "status": {"allocatable": allocatable}})
}

fn asks_for(pod: &mut Value, cpu: u32) {
    pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": cpu.to_string()});
}

/// 01, 1.2.1: "a pod that names neither (a singleton: no gang, normal scheduling)": whatever else is on it. One that fits no node
/// keeps no gang waiting.
#[test]
fn who_says_nothing_of_a_gang_is_placed_alone() {
    let bare = |name: &str, cpu: u32| {
        let mut pod = member(name);
        pod["metadata"]["labels"] = json!({"test": "gang"});
        pod["metadata"]["annotations"] = json!({"test": "gang"});
        asks_for(&mut pod, cpu);
        pod
    };
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
        see(&mut driven, &[bare("alone", 1), bare("large", 17)]);
        see(&mut driven, &pods(label, "g", 3));
        let calls = run(&mut driven, 10);
        assert_eq!(bound(&calls), ["alone", "g-0", "g-1", "g-2"].into());
        assert_eq!(declared(&calls), ["g".to_owned()].into());
        assert_eq!(why(&driven.controller, "large"), Some(Code::Unschedulable));
    }
}

/// 03, 3.2: whoever waits is told why: each member of a gang that finds no nodes, in the same words, and once.
#[test]
fn each_member_of_a_gang_that_finds_no_nodes_says_so_once() {
    let mut driven = cluster();
    see(&mut driven, &gang("g", 17, 17, &json!({})));
    let mut said = BTreeMap::new();
    for call in &run(&mut driven, 40) {
        if let Op::PatchPodCondition { pod, condition, .. } = &call.op {
            said.insert(pod.name.to_string(), (condition.reason.clone(), condition.message.clone()));
        }
    }
    let words: BTreeSet<_> = said.values().cloned().collect();
    let words: Vec<_> = words.into_iter().collect();
    let [(Some(reason), Some(message))] = &words[..] else { panic!("all say the same: {words:?}") };
    assert_eq!((said.len(), reason.as_str()), (17, Code::Unschedulable.name()));
    assert!(message.starts_with("16 of 17 members of g find a node"), "{message}");
    let later = run(&mut driven, 30);
    assert!(!later.iter().any(|call| matches!(call.op, Op::PatchPodCondition { .. })), "nothing is new");
}

/// 01, 1.3: "all find a node together, or nothing is held and nobody is bound": of four gang groups, the pods of which come mixed, one
/// starts. In each of the others a member fits no node, and they hold nothing.
#[test]
fn of_four_gang_groups_the_one_that_can_start_does_and_the_others_hold_nothing() {
    let groups: [&[(&str, u32, bool)]; 4] = [
        &[("a", 20, true), ("b", 10, true), ("c", 32, false)],
        &[("d", 20, true), ("e", 20, true)],
        &[("f", 18, false), ("g", 43, true)],
        &[("h", 20, true), ("i", 30, true), ("j", 20, false)],
    ];
    let mut driven = Driven::speaking(&[Dialect::Koordinator]);
    let nodes: Vec<Value> = (0..20).map(|number| node(&format!("n{number}"))).collect();
    driven.list(&nodes.iter().map(|node| (Kind::Node, node)).collect::<Vec<_>>());
    let mut all = Vec::new();
    for group in groups {
        let listed: Vec<String> = group.iter().map(|(name, ..)| format!("ns/{name}")).collect();
        let listed = json!({"groups": json!(listed).to_string()});
        for (name, min, fits) in group {
            let object = annotated(pod_group(name, &json!({"minMember": min})), &listed);
            driven.upsert(Kind::KoordinatorPodGroup, &object);
            let mut members = pods(KOORDINATOR_LABEL, name, *min);
            if !fits {
                asks_for(&mut members[7], 17);
            }
            all.extend(members.into_iter().enumerate());
        }
    }
    all.sort_by_key(|(number, _)| *number);
    all.iter().for_each(|(_, pod)| driven.upsert(Kind::Pod, pod));
    let calls = run(&mut driven, 20);
    let started = bound(&calls);
    assert!(started.len() == 40 && started.iter().all(|name| name.starts_with(['d', 'e'])), "{started:?}");
    let core = driven.controller.core();
    let root = core.books.queues.find("root").expect("it is there");
    assert_eq!(core.queue_report(root).expect("it is there").allocated.get("cpu"), 40_000, "and no more is held");
}

/// 01, 1.3: "So two gangs never wait for each other's seats": four of them, with room for one, run one after the other.
#[test]
fn four_gangs_with_room_for_one_run_one_after_the_other() {
    let gangs = ["a", "b", "c", "d"];
    let mut driven = Driven::speaking(&[Dialect::Koordinator]);
    driven.list(&[(Kind::Node, &node_of(13))]);
    for name in gangs {
        driven.upsert(Kind::KoordinatorPodGroup, &pod_group(name, &json!({"minMember": 13})));
    }
    let of_each = gangs.map(|name| pods(KOORDINATOR_LABEL, name, 13));
    let mut mixed = Vec::new();
    for number in 0..13 {
        mixed.extend(of_each.iter().map(|members| members[number].clone()));
    }
    see(&mut driven, &mixed);
    let mut finished = BTreeSet::new();
    for _ in gangs {
        let calls = run(&mut driven, 5);
        let running = as_bound(&mixed, &calls);
        let names: BTreeSet<String> = bound(&calls).iter().map(|name| name[..1].to_owned()).collect();
        assert_eq!((running.len(), names.len()), (13, 1), "one gang, whole: {names:?}");
        finished.extend(names);
        for mut pod in running {
            pod["status"]["phase"] = json!("Succeeded");
            driven.upsert(Kind::Pod, &pod);
        }
    }
    assert_eq!(finished.len(), 4);
}

/// What a PodGroup that is years old says of its gang once the pods, which all have nodes, stand so. `gone` is one that was deleted
/// while it ran.
fn said_of(kind: Kind, label: &str, min: u32, phases: &[&str]) -> Map<String, Value> {
    let mut driven = cluster();
    let mut object = pod_group("g", &json!({"minMember": min}));
    object["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    driven.upsert(kind, &object);
    let members = pods(label, "g", phases.len() as u32);
    see(&mut driven, &members);
    let calls = run(&mut driven, 5);
    let running = as_bound(&members, &calls);
    assert_eq!(running.len(), phases.len(), "all of them start");
    let mut told = statuses(&calls);
    for (mut pod, phase) in running.into_iter().zip(phases) {
        let is_gone = *phase == "gone";
        pod["status"]["phase"] = json!(if is_gone { "Running" } else { *phase });
        driven.upsert(Kind::Pod, &pod);
        if is_gone {
            gone(&mut driven, Kind::Pod, &pod);
        }
    }
    told.extend(statuses(&run(&mut driven, 70)));
    told.pop().expect("it is told")
}

/// 03, 3.4: "status written back": phase and counts follow the pods, however old the PodGroup is.
#[test]
fn the_phase_of_a_pod_group_is_that_of_its_pods() {
    let cases: [(u32, &[&str], &str, [u32; 3]); 8] = [
        (2, &["Running", "Running"], "Running", [2, 0, 0]),
        (2, &["Running", "Running", "Running", "Running"], "Running", [4, 0, 0]),
        (4, &["Running", "Running", "Running", "Running"], "Running", [4, 0, 0]),
        (2, &["Failed", "Failed"], "Failed", [0, 0, 2]),
        (3, &["Failed", "Running", "Running"], "Failed", [2, 0, 1]),
        (2, &["Succeeded", "Succeeded"], "Finished", [0, 2, 0]),
        (3, &["Succeeded", "Running", "Running"], "Running", [2, 1, 0]),
        (2, &["gone", "gone"], "Pending", [0, 0, 0]),
    ];
    for (kind, label, _) in BOTH {
        for (min, phases, phase, counts) in cases {
            let said = said_of(kind, label, min, phases);
            let told = ["running", "succeeded", "failed"].map(|count| said[count].clone());
            assert_eq!(
                (&said["phase"], told),
                (&json!(phase), counts.map(|count| json!(count))),
                "{min} of {phases:?}"
            );
            if phases.iter().all(|phase| *phase == "Running") {
                let scheduled = (kind == Kind::KoordinatorPodGroup).then(|| json!(counts[0]));
                assert_eq!(said.get("scheduled"), scheduled.as_ref(), "{min} of {phases:?}");
            }
        }
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 17})));
        see(&mut driven, &pods(label, "g", 17));
        let last = statuses(&run(&mut driven, 40)).pop().expect("they wait");
        assert_eq!((&last["phase"], &last["running"]), (&json!("Scheduling"), &json!(0)), "without nodes for all");
    }
    let said = said_of(Kind::CoschedulingPodGroup, LABEL, 4, &["Running", "Running", "gone", "gone"]);
    assert_eq!((&said["phase"], &said["running"]), (&json!("Pending"), &json!(2)), "two of four are left");
}

/// peers 1.2, 2.2: `minResources` (seed 002 "CRD way": "MinResources", of which it says no more) keeps no gang that fits from its
/// start, and starts none that does not.
#[test]
fn the_least_resources_of_a_pod_group_decide_nothing() {
    for (kind, label, _) in BOTH {
        for (min, cpu, binds, reason) in [(2, "100", 2, None), (17, "1", 0, Some(Code::Unschedulable))] {
            let mut driven = cluster();
            driven.upsert(kind, &pod_group("g", &json!({"minMember": min, "minResources": {"cpu": cpu}})));
            see(&mut driven, &pods(label, "g", min));
            assert_eq!(bound(&run(&mut driven, 10)).len(), binds);
            assert_eq!(why(&driven.controller, "g-0"), reason);
        }
    }
}

/// 01, 1.2.7: "Gated pods are not members until ungated", so that a PodGroup has as many as have none.
#[test]
fn pods_with_gates_do_not_count_for_a_pod_group() {
    for (kind, label, _) in BOTH {
        for (gated, binds) in [(1, 3), (2, 0), (4, 0)] {
            let mut driven = cluster();
            driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
            let mut members = pods(label, "g", 4);
            for pod in &mut members[..gated] {
                pod["spec"]["schedulingGates"] = json!([{"name": "queue.example.com/admission"}]);
            }
            see(&mut driven, &members);
            let calls = run(&mut driven, 5);
            let made = usize::from(gated < 4);
            assert_eq!((bound(&calls).len(), declared(&calls).len()), (binds, made), "{gated} have gates");
            for pod in &mut members[..gated] {
                pod["spec"]["schedulingGates"] = json!([]);
            }
            see(&mut driven, &members[..gated]);
            assert_eq!(bound(&run(&mut driven, 5)).len(), 4 - binds, "{gated} had gates");
        }
    }
}

/// 01, 1.1: "A member *lives* while it is neither terminal nor terminating": one that had ended before its gang was to start is
/// none of those that start. Also seed 002 "Init": "watch pod event for updating Gang".
#[test]
fn a_pod_that_has_completed_does_not_count_for_a_gang_to_come() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 6})));
        let mut members = pods(label, "g", 6);
        members[0]["spec"]["nodeName"] = json!("n1");
        members[0]["status"]["phase"] = json!("Succeeded");
        see(&mut driven, &members);
        let calls = run(&mut driven, 10);
        assert_eq!((bound(&calls).len(), why(&driven.controller, "g-1")), (0, Some(Code::WaitingForMembers)));
        let told = conditions(&calls);
        assert!(told.iter().any(|(_, message)| message.starts_with("5 of 6 members of g exist")), "{told:?}");
    }
}

/// Which pods get nodes of 6 cpu, by their letters. Of each letter: cores, priority, and how many start together by a PodGroup of
/// scheduler-plugins (0: each by itself). They come in this order, and the node before or after them.
fn placed(kinds: &[(char, u32, i32, u32)], order: &str, (has_min_resources, is_node_late): (bool, bool)) -> String {
    let mut driven = Driven::speaking(&[Dialect::Coscheduling]);
    let node = node_of(6);
    let early = (!is_node_late).then_some((Kind::Node, &node));
    driven.list(early.as_slice());
    for (letter, cpu, _, min) in kinds.iter().filter(|(.., min)| *min > 0) {
        let mut spec = json!({"minMember": min});
        if has_min_resources {
            spec["minResources"] = json!({"cpu": (cpu * min).to_string()});
        }
        driven.upsert(Kind::CoschedulingPodGroup, &pod_group(&letter.to_string(), &spec));
    }
    for (number, letter) in order.chars().enumerate() {
        let (_, cpu, priority, min) = kinds.iter().find(|(own, ..)| *own == letter).expect("a kind of pods");
        let mut pod = member(&format!("{letter}-{number}"));
        pod["metadata"]["labels"] = if *min > 0 { json!({LABEL: letter.to_string()}) } else { json!({}) };
        pod["spec"]["priority"] = json!(priority);
        asks_for(&mut pod, *cpu);
        driven.upsert(Kind::Pod, &pod);
    }
    let mut calls = run(&mut driven, 5);
    if is_node_late {
        driven.upsert(Kind::Node, &node);
        calls.extend(run(&mut driven, 5));
    }
    bound(&calls).iter().map(|name| &name[..1]).collect()
}

/// 01, 1.2.5: "A gang that waits never stops another that could start": one that can never be whole, for want of room or of members,
/// leaves all of the room to those that can, however their pods are mixed.
#[test]
fn a_gang_that_cannot_be_whole_leaves_the_room_to_the_others() {
    let (fits, large, other) = (('a', 1, 0, 3), ('b', 2, 0, 4), ('d', 2, 0, 4));
    for has_min_resources in [false, true] {
        for (kinds, order, expected) in [
            (&[fits, large][..], "aaabbbb", "aaa"),
            (&[fits, large], "abababb", "aaa"),
            (&[('a', 1, 0, 4), ('c', 2, 0, 0)], "acaca", "cc"),
            (&[fits, large, other], "abdabdabdbd", "aaa"),
            (&[('a', 4, 0, 6), ('b', 2, 0, 1)], "aaaaaab", "b"),
        ] {
            assert_eq!(placed(kinds, order, (has_min_resources, false)), expected, "{order}");
        }
    }
}

/// 01, 1.2.5 "Order of a pass: priority": of gangs and pods that wait for the same room the more urgent get it, though the others
/// came first. Also seed 002 "QueueSortPlugin": "Firstly, compare the priorities of the two pods, the higher priority is at the
/// front of the queue".
#[test]
fn the_more_urgent_of_those_that_wait_get_the_room() {
    let (low, high) = (('a', 2, 0, 3), ('b', 1, 5, 3));
    for (kinds, order, expected) in [
        (&[low, high][..], "aaabbb", "bbb"),
        (&[low, high], "ababab", "bbb"),
        (&[('a', 1, 0, 3), ('c', 2, 5, 0)], "acacac", "ccc"),
    ] {
        assert_eq!(placed(kinds, order, (false, true)), expected, "{order}");
    }
}

/// 01, 1.2.5 "Order of a pass: … namespace/name": also between a gang and a pod that are as old as each other. Also seed 002
/// "QueueSortPlugin": "Finally, compare pod's namespace, if pod belongs to a Gang, then we compare Gang name".
#[test]
fn a_gang_and_a_pod_of_one_age_go_by_their_names() {
    for (name, first) in [("a", "a"), ("h", "g")] {
        let mut cluster = Cluster::default();
        let spec = cluster.direct("g", 3);
        let created = spec.created;
        cluster.apply("g", spec);
        cluster.members("g", 3);
        let mut single = cluster.pod(name, Role::Singleton);
        single.created = created;
        cluster.show(single);
        cluster.settle();
        cluster.node("n0", 3);
        cluster.settle();
        assert!(cluster.log[0].starts_with(&format!("bind {first}")), "{name}: {:?}", cluster.log);
    }
}

/// 01, 1.2.7: a TaskGroup that was made of a PodGroup stays while that does, also without pods, and is made once.
#[test]
fn a_gang_of_a_pod_group_outlives_its_pods() {
    for (kind, label, _) in BOTH {
        let mut driven = cluster();
        driven.upsert(kind, &pod_group("g", &json!({"minMember": 3})));
        let members = pods(label, "g", 5);
        see(&mut driven, &members[..2]);
        assert_eq!(declared(&run(&mut driven, 5)).len(), 1);
        members[..2].iter().for_each(|pod| gone(&mut driven, Kind::Pod, pod));
        run(&mut driven, 5);
        see(&mut driven, &members[2..]);
        let calls = run(&mut driven, 5);
        assert_eq!((bound(&calls), declared(&calls).len()), (["g-2", "g-3", "g-4"].into(), 0));
    }
}

/// ADR 38: what goes with a PodGroup is what was made of it, and not a gang of the same name that its pods declare themselves.
#[test]
fn a_gang_that_pods_declare_does_not_go_with_a_pod_group_of_its_name() {
    let mut driven = cluster();
    let object = pod_group("g", &json!({"minMember": 9}));
    driven.upsert(Kind::KoordinatorPodGroup, &object);
    let members = gang("g", 2, 2, &json!({}));
    see(&mut driven, &members[..1]);
    let calls = run(&mut driven, 5);
    let [group] = made(&calls)[..] else { panic!("one TaskGroup") };
    let owners: Vec<&str> = group.metadata.owner_references.iter().flatten().map(|owner| &*owner.kind).collect();
    assert_eq!((group.spec.min_member, owners), (2, vec!["Pod"]));
    gone(&mut driven, Kind::KoordinatorPodGroup, &object);
    see(&mut driven, &members[1..]);
    let calls = run(&mut driven, 5);
    assert_eq!((bound(&calls).len(), declared(&calls).len()), (2, 0));
}
