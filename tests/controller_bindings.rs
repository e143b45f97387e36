//! Bindings that have been decided and have not left: what must not be any more does not leave.

use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::json;

use crate::support::driven::{Driven, group, member, node, refused};

/// Whatever keeps a Binding from leaving (here the server, which has too much to do), its node may change meanwhile.
#[test]
fn a_binding_that_has_not_left_does_not_go_to_a_node_that_takes_it_no_more() {
    let pod = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"schedulerName": "gangline",
                     "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}});
    let sent_to = |driven: &mut Driven| {
        let calls = driven.taken();
        let to = calls.iter().filter_map(|call| if let Op::Bind { node, .. } = &call.op { Some(node) } else { None });
        let to: Vec<String> = to.map(|node| node.to_string()).collect();
        calls.iter().for_each(|call| driven.answer(call, refused(429)));
        to
    };
    for change in ["none", "gone", "cordoned", "smaller"] {
        let mut driven = Driven::synced();
        driven.upsert(Kind::Node, &node("n2"));
        driven.upsert(Kind::Pod, &pod);
        let first = sent_to(&mut driven).pop().expect("it is bound");
        let mut changed = node(&first);
        match change {
            "cordoned" => changed["spec"] = json!({"unschedulable": true}),
            "smaller" => changed["status"]["allocatable"]["cpu"] = json!("1"),
            _ => {}
        }
        let seen = driven.seen(Kind::Node, &changed);
        driven.fact(Kind::Node, if change == "gone" { WatchFact::Gone(seen) } else { WatchFact::Upsert(seen) });
        driven.step();
        driven.wait(60_000);
        let then = sent_to(&mut driven);
        let other = if first == "n1" { "n2" } else { "n1" };
        let expected = if change == "none" { &*first } else { other };
        assert!(!then.is_empty() && then.iter().all(|node| node == expected), "{change}: {first}, then {then:?}");
    }
}

/// 01, 1.5: unbound members of a TaskGroup that is deleted park. So do those whose Binding has not left.
#[test]
fn a_binding_that_has_not_left_is_not_made_for_a_task_group_that_is_gone() {
    for is_gone in [false, true] {
        let mut driven = Driven::synced();
        let spec = group(&json!({"reservation": "Direct", "minMember": 1}));
        driven.upsert(Kind::TaskGroup, &spec);
        driven.upsert(Kind::Pod, &member("m"));
        driven.wait(1_000);
        let is_binding = |call: &&Call| matches!(call.op, Op::Bind { .. });
        let calls = driven.taken();
        assert_eq!(calls.iter().filter(is_binding).count(), 1);
        calls.iter().for_each(|call| driven.answer(call, refused(429)));
        if is_gone {
            let seen = driven.seen(Kind::TaskGroup, &spec);
            driven.fact(Kind::TaskGroup, WatchFact::Gone(seen));
            driven.step();
        }
        driven.wait(60_000);
        let calls = driven.taken();
        let says_so = |op: &Op| {
            let Op::PatchPodCondition { condition, .. } = op else { return false };
            condition.reason.as_deref() == Some("TaskGroupNotFound")
        };
        let parks = calls.iter().any(|call| says_so(&call.op));
        assert_eq!((calls.iter().any(|call| is_binding(&call)), parks), (!is_gone, is_gone));
    }
}

/// As above, where another TaskGroup of the name comes in the same batch, and the member is written meanwhile: the Binding
/// that leaves is for the new one.
#[test]
fn a_binding_that_has_not_left_is_made_for_the_next_task_group_of_the_name() {
    let mut driven = Driven::synced();
    let spec = group(&json!({"reservation": "Direct", "minMember": 1}));
    driven.upsert(Kind::TaskGroup, &spec);
    driven.upsert(Kind::Pod, &member("m"));
    driven.wait(1_000);
    driven.taken().iter().for_each(|call| driven.answer(call, refused(429)));
    let seen = driven.seen(Kind::TaskGroup, &spec);
    driven.fact(Kind::TaskGroup, WatchFact::Gone(seen));
    let mut next = spec.clone();
    next["metadata"]["uid"] = json!("next");
    let mut written = member("m");
    written["spec"]["tolerations"] = json!([{"key": "other", "operator": "Exists"}]);
    for (kind, object) in [(Kind::TaskGroup, &next), (Kind::Pod, &written)] {
        let seen = driven.seen(kind, object);
        driven.fact(kind, WatchFact::Upsert(seen));
    }
    driven.step();
    driven.wait(60_000);
    let marks = marks_of(&driven.taken());
    assert!(!marks.is_empty() && marks.iter().all(|mark| mark.contains("incarnation=next.")), "{marks:?}");
}

/// Labels are mutable: what a pod belongs to is settled with its Binding. One that has not left does not leave; one that has
/// counts if it is made, and if not, what the labels say by then.
#[test]
fn a_member_that_names_another_task_group_before_it_is_bound_is_bound_for_that() {
    let ok = || Outcome::Ok(None);
    // What it names, edit by edit, until its first Binding is answered; the answer; what it names after that, edit by edit
    // in one batch; and for whom it is bound in the end.
    let cases: [(&[&str], Outcome, &[&str], &str); 7] = [
        (&[], refused(429), &["other"], "other"),
        (&[], refused(429), &["other", "g"], "g"),
        (&["other"], refused(429), &[], "other"),
        (&["other"], refused(403), &[], "other"),
        (&["other", "g"], refused(403), &[], "g"),
        (&["other"], ok(), &[], "g"),
        (&[], ok(), &["other"], "g"),
    ];
    for (before, answer, after, named) in cases {
        let mut driven = Driven::synced();
        for name in ["g", "other"] {
            let mut group = group(&json!({"reservation": "Direct", "minMember": 1}));
            group["metadata"]["name"] = json!(name);
            driven.upsert(Kind::TaskGroup, &group);
        }
        driven.upsert(Kind::Pod, &member("m"));
        driven.wait(1_000);
        let calls = driven.taken();
        let mut marks = marks_of(&calls);
        assert!(marks.len() == 1 && marks[0].contains("incarnation=uid-g."), "{marks:?}");
        let naming = |name: &str| {
            let mut pod = member("m");
            pod["metadata"]["labels"]["gangline.dev/task-group"] = json!(name);
            pod
        };
        before.iter().for_each(|name| driven.upsert(Kind::Pod, &naming(name)));
        calls.iter().for_each(|call| driven.answer(call, answer.clone()));
        for name in after {
            let seen = driven.seen(Kind::Pod, &naming(name));
            driven.fact(Kind::Pod, WatchFact::Upsert(seen));
        }
        driven.step();
        for _ in 0..3 {
            driven.wait(5_000);
            let calls = driven.taken();
            marks.extend(marks_of(&calls));
            calls.iter().for_each(|call| driven.answer(call, ok()));
        }
        let last = marks.last().expect("it is bound");
        let is_right = last.contains(&format!("incarnation=uid-{named}."));
        assert!(is_right, "{before:?}, then {answer:?}, then {after:?}: {marks:?}");
    }
}

/// A pod of which it is said that it is not placed is not bound.
#[test]
fn a_binding_that_has_not_left_is_not_made_for_a_pod_that_asks_for_what_there_is_not() {
    for is_edited in [false, true] {
        let mut driven = Driven::synced();
        driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct", "minMember": 1})));
        driven.upsert(Kind::Pod, &member("m"));
        driven.wait(1_000);
        driven.taken().iter().for_each(|call| driven.answer(call, refused(429)));
        let mut edited = member("m");
        let label = if is_edited { "gangline.dev/no-such-thing" } else { "example.com/other" };
        edited["metadata"]["labels"][label] = json!("x");
        driven.upsert(Kind::Pod, &edited);
        driven.wait(60_000);
        assert_eq!(marks_of(&driven.taken()).is_empty(), is_edited);
    }
}

/// What the Bindings among these calls write to their pods.
fn marks_of(calls: &[Call]) -> Vec<String> {
    let marks = calls.iter().filter_map(|call| {
        if let Op::Bind { annotations, .. } = &call.op { annotations.values().next() } else { None }
    });
    marks.cloned().collect()
}

/// 04, 4.3: a Binding to a node that does not exist is taken by the API server, so that it must not leave.
#[test]
fn bindings_to_a_node_that_is_gone_do_not_leave() {
    const MANY: usize = 100;
    let mut driven = Driven::synced();
    let spec = json!({"reservation": "Direct", "minMember": MANY, "minResource": {"cpu": "100m"}});
    driven.upsert(Kind::TaskGroup, &group(&spec));
    for number in 0..MANY {
        let mut pod = member(&format!("m{number:03}"));
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("100m");
        let seen = driven.seen(Kind::Pod, &pod);
        driven.fact(Kind::Pod, WatchFact::Upsert(seen));
    }
    driven.step();
    let first = driven.taken();
    assert!(first.len() < MANY, "only so many are in flight: {}", first.len());
    let gone = driven.seen(Kind::Node, &node("n1"));
    driven.fact(Kind::Node, WatchFact::Gone(gone));
    driven.step();
    for call in first {
        driven.answer(&call, Outcome::Ok(None));
    }
    driven.wait(10_000);
    assert_eq!(driven.rules().get("create pods/binding"), None);
    driven.upsert(Kind::Node, &node("n2"));
    driven.wait(10_000);
    assert!(driven.taken().iter().any(|call| matches!(&call.op, Op::Bind { node, .. } if &**node == "n2")));
}
