//! Shim, core and outbox together: what Queues and ResourceQuotas come to, and what is said of them.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::names::QUEUE;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::driven::{Driven, group, node};

/// Design 01, 1.12: what is wrong with a Queue is said on it, also when the last valid spec stays in force, so that nothing
/// changes for the core.
#[test]
fn a_queue_that_becomes_wrong_says_so_at_once() {
    let mut driven = Driven::synced();
    let mut queue = json!({"metadata": {"name": "root.a", "generation": 1},
                           "spec": {"parent": "root", "max": {"cpu": "4"}}});
    let mut said = |queue: &Value| {
        driven.upsert(Kind::Queue, queue);
        driven.wait(100);
        let calls = driven.taken();
        calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        let [Call { op: Op::PatchQueueStatus { status, .. }, .. }] = &*calls else { panic!("{calls:?}") };
        let condition = &status.conditions[0];
        (condition.reason.clone(), condition.message.clone())
    };
    assert_eq!(said(&queue).0, "Active");
    queue["metadata"]["generation"] = json!(2);
    queue["spec"]["max"]["cpu"] = json!("-4");
    let message = "spec.max[cpu]: must not be negative; the last valid spec stays in force";
    assert_eq!(said(&queue), ("InvalidSpec".to_owned(), message.to_owned()));
}

/// What its status says of a queue that cannot be read is known while it cannot: it is not written again.
#[test]
fn a_queue_that_cannot_be_read_is_not_told_the_same_again() {
    let mut driven = Driven::synced();
    let mut queue = json!({"metadata": {"name": "root.a", "generation": 1}, "spec": {"parent": 5}});
    driven.upsert(Kind::Queue, &queue);
    driven.wait(100);
    driven.grant();
    assert_eq!(driven.taken().len(), 0, "written and answered");
    queue["metadata"]["labels"] = json!({"a": "b"});
    driven.upsert(Kind::Queue, &queue);
    driven.wait(100);
    let calls = driven.taken();
    assert!(calls.is_empty(), "{calls:?}");
}

/// Design 01, 1.12: "headroom is the minimum over the path": what one queue uses is missing in those beside it, on every level,
/// and their statuses say so, in time.
#[test]
fn what_one_queue_uses_is_missing_in_those_beside_it() {
    let mut driven = Driven::synced();
    for (name, parent, max) in [
        ("root", None, json!({"cpu": "10"})),
        ("root.a", Some("root"), json!({})),
        ("root.b", Some("root"), json!({"cpu": "8"})),
        ("root.b.c", Some("root.b"), json!({})),
        ("root.default.d", Some("root.default"), json!({})),
    ] {
        let spec = json!({"parent": parent, "max": max});
        driven.upsert(Kind::Queue, &json!({"metadata": {"name": name, "generation": 1}, "spec": spec}));
    }
    driven.wait(1_000);
    driven.grant();
    let pod = json!({"metadata": {"name": "p", "namespace": "ns", "labels": {"gangline.dev/queue": "root.a"}},
                     "spec": {"schedulerName": "gangline",
                              "containers": [{"name": "main", "resources": {"requests": {"cpu": "4"}}}]}});
    driven.upsert(Kind::Pod, &pod);
    let mut left = BTreeMap::new();
    for _ in 0..4 {
        driven.wait(40_000);
        for call in driven.taken() {
            if let Op::PatchQueueStatus { queue, status, .. } = &call.op {
                left.insert(queue.to_string(), status.headroom["cpu"].0.clone());
            }
            driven.answer(&call, Outcome::Ok(None));
        }
    }
    let all = ["root", "root.a", "root.b", "root.b.c", "root.default.d"];
    assert_eq!(left, all.map(|queue| (queue.to_owned(), "6".to_owned())).into());
    driven.wait(300_000);
    assert_eq!(driven.rules(), [].into(), "and there is an end to it");
}

/// Design 01, 1.2.3: the ResourceQuotas of a namespace limit its own gangs, the smallest of them counts, and no others do.
#[test]
fn the_quotas_of_a_namespace_limit_its_own_gangs() {
    for (quotas, is_too_small) in [
        ([("ns", "a", "9"), ("nt", "a", "1")], false),
        ([("na", "a", "1"), ("ns", "a", "9")], false),
        ([("ns", "a", "9"), ("ns", "b", "1")], true),
        ([("ns", "a", "1"), ("nt", "a", "9")], true),
    ] {
        let mut driven = Driven::synced();
        for (namespace, name, cpu) in quotas {
            let quota = json!({"metadata": {"name": name, "namespace": namespace},
                               "spec": {"hard": {"requests.cpu": cpu}}});
            driven.upsert(Kind::ResourceQuota, &quota);
        }
        driven.upsert(Kind::TaskGroup, &group(&json!({})));
        driven.wait(5_000);
        let said = driven.taken().into_iter().find_map(|call| {
            if let Op::PatchTaskGroupStatus { status, .. } = call.op { Some(status.reason) } else { None }
        });
        assert_eq!(said.as_deref() == Some("NamespaceQuotaTooSmall"), is_too_small, "{quotas:?}: {said:?}");
        assert!(said.is_some());
    }
}

/// Design 04, 4.2 I13: nothing is remembered of a Queue that is gone, not even of one that never was in force.
#[test]
fn a_queue_that_was_never_right_leaves_nothing() {
    let mut driven = Driven::synced();
    let wrong = json!({"metadata": {"name": "root.a", "generation": 1}, "spec": {"parent": "root.b"}});
    let right = json!({"metadata": {"name": "root", "generation": 1}, "spec": {}});
    for queue in [wrong, right] {
        driven.upsert(Kind::Queue, &queue);
        driven.wait(60_000);
        driven.taken().iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        assert!(driven.controller.leftovers().contains(&"written"));
        let seen = driven.seen(Kind::Queue, &queue);
        driven.fact(Kind::Queue, WatchFact::Gone(seen));
        driven.step();
        assert_eq!(driven.controller.leftovers(), ["nodes", "nodes"], "of the shim, and of the core");
    }
}

/// Design 01, 1.12 and 03, 3.4: what the queue of a namespace uses, and what is wrong with the namespace's annotations, the queue
/// above tells, since the queue has no object; a placeholder and the TaskGroup name it.
#[test]
fn the_queue_above_tells_of_those_of_namespaces() {
    const QUOTA: &str = "yunikorn.apache.org/namespace.quota";
    const PROMISE: &str = "yunikorn.apache.org/namespace.guaranteed";
    let mut driven = Driven::speaking(&[Dialect::YuniKorn]);
    driven.list(&[(Kind::Node, &node("n1"))]);
    let spec = json!({"parent": "root", "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
                      "childTemplate": {"max": {"cpu": "1"}, "maxApplications": 5}});
    driven.upsert(Kind::Queue, &json!({"metadata": {"name": "root.teams", "generation": 1}, "spec": spec}));
    driven.upsert(Kind::TaskGroup, &group(&json!({"minMember": 2, "placeholderFor": "all"})));
    let namespace = |quota: &str| {
        let annotations = json!({QUOTA: quota, PROMISE: "{\"cpu\": \"4\"}"});
        json!({"metadata": {"name": "ns", "labels": {"team": "a"}, "annotations": annotations}})
    };
    driven.upsert(Kind::Namespace, &namespace("{\"cpu\": \"8\"}"));
    let (mut leaf, mut labels, mut queue) = (Value::Null, BTreeSet::new(), String::new());
    let mut play = |driven: &mut Driven| {
        for _ in 0..8 {
            driven.wait(40_000);
            for call in driven.taken() {
                if let Op::PatchQueueStatus { status, .. } = &call.op {
                    leaf = json!(status.leaves.first());
                }
                if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
                    queue.clone_from(&status.queue);
                }
                let made = if let Op::CreatePod(pod) = &call.op {
                    labels.extend(
                        pod.metadata
                            .labels
                            .iter()
                            .flatten()
                            .filter(|(key, _)| *key == QUEUE)
                            .map(|(_, path)| path.clone()),
                    );
                    Some(Box::new(driven.seen(Kind::Pod, &json!(pod))))
                } else {
                    None
                };
                driven.answer(&call, Outcome::Ok(made));
            }
        }
        leaf.clone()
    };
    let told = play(&mut driven);
    let expected = json!({"name": "root.teams.ns", "max": {"cpu": "8"}, "maxApplications": 5,
                          "guaranteed": {"cpu": "4"}, "guaranteedShare": 50, "headroom": {"cpu": "6"},
                          "allocated": {"cpu": "2", "pods": "2"}, "applications": {"Accepted": 1}});
    assert_eq!(told, expected);
    driven.upsert(Kind::Namespace, &namespace("8"));
    let told = play(&mut driven);
    assert_eq!(told["max"], json!({"cpu": "8"}), "what was right last counts");
    assert!(told["problem"].as_str().is_some_and(|text| text.starts_with(QUOTA)), "{told}");
    assert_eq!(queue, "root.teams.ns");
    assert_eq!(labels, ["root.teams.ns".to_owned()].into());
}
