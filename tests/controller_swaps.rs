//! A swap from the end of its placeholder to the Binding of its member: nothing leaves in between (01, 1.4).

use gangline::core::base::ids::Text;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::json;

use crate::support::driven::{Driven, group, member, node};

/// Most calls in flight.
const WINDOW: usize = 64;

/// A gang of two whose members have come: the deletions of its placeholders are on their way.
fn swapping() -> (Driven, Vec<Call>) {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    driven.grant();
    ["m0", "m1"].into_iter().for_each(|name| driven.upsert(Kind::Pod, &member(name)));
    let calls = driven.taken();
    let deletions: Vec<Call> = calls.iter().filter(|call| matches!(call.op, Op::DeletePod { .. })).cloned().collect();
    assert_eq!(deletions.len(), 2, "{calls:#?}");
    for call in calls.iter().filter(|call| !matches!(call.op, Op::DeletePod { .. })) {
        driven.answer(call, Outcome::Ok(None));
    }
    (driven, deletions)
}

/// More Bindings than may be in flight are wanted, for pods outside gangs.
fn pods_pour_in(driven: &mut Driven) {
    let mut large = node("n2");
    large["status"]["allocatable"]["pods"] = json!("500");
    driven.upsert(Kind::Node, &large);
    for number in 0..2 * WINDOW {
        let pod = json!({"metadata": {"name": format!("s{number}"), "namespace": "ns"}, "spec": {
            "schedulerName": "gangline",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1m"}}}]}});
        let seen = driven.seen(Kind::Pod, &pod);
        driven.fact(Kind::Pod, WatchFact::Upsert(seen));
    }
    driven.step();
}

fn bound(calls: &[Call]) -> Vec<Text> {
    let name = |call: &Call| if let Op::Bind { pod, .. } = &call.op { pod.name.clone() } else { panic!("{call:?}") };
    calls.iter().map(name).collect()
}

fn is_of_a_swap(name: &Text) -> bool {
    name.starts_with('m')
}

/// The answer that shows the placeholder gone is enough, and the slot that the deletion has left is the Binding's, whatever
/// else waits, and has waited for longer.
#[test]
fn the_binding_of_a_swap_is_the_next_call_to_leave() {
    let (mut driven, deletions) = swapping();
    pods_pour_in(&mut driven);
    let others = driven.taken();
    assert_eq!(driven.controller.stats().outbox_in_flight as usize, WINDOW, "no more may leave");
    for deletion in &deletions {
        driven.answer(deletion, Outcome::Removed);
        let calls = driven.taken();
        assert!(matches!(&bound(&calls)[..], [name] if is_of_a_swap(name)), "{calls:#?}");
    }
    driven.answer(&others[0], Outcome::Ok(None));
    assert!(!bound(&driven.taken()).iter().any(is_of_a_swap), "then it is the turn of the others");
}

/// As above, where a window has room and much else may leave in the same step.
#[test]
fn bindings_of_swaps_lead_those_that_leave_with_them() {
    let (mut driven, deletions) = swapping();
    pods_pour_in(&mut driven);
    let others = driven.taken();
    let answered = others.iter().take(20).chain(&deletions);
    for call in answered {
        let outcome = if matches!(call.op, Op::DeletePod { .. }) { Outcome::Removed } else { Outcome::Ok(None) };
        driven.hear(call, outcome);
    }
    driven.step();
    let calls = driven.taken();
    let names = bound(&calls);
    assert_eq!(names.len(), 22);
    assert!(names[..2].iter().all(is_of_a_swap), "{names:?}");
}

/// What the watch says later is nothing new.
#[test]
fn the_watch_confirms_once_more() {
    let (mut driven, deletions) = swapping();
    deletions.iter().for_each(|deletion| driven.answer(deletion, Outcome::Removed));
    assert_eq!(bound(&driven.taken()), ["m0".into(), "m1".into()]);
    deletions.iter().for_each(|deletion| gone(&mut driven, deletion));
    driven.step();
    assert_eq!(driven.taken().len(), 0);
    assert_eq!((driven.controller.stats().seats["releasing"], driven.controller.stats().seats["assumed"]), (0, 2));
}

/// Where the answer shows less, the watch confirms, and the Binding takes the first slot that becomes free.
#[test]
fn the_watch_confirms_what_no_answer_did() {
    for answer in [Outcome::Ok(None), Outcome::Unknown] {
        let (mut driven, deletions) = swapping();
        pods_pour_in(&mut driven);
        let others = driven.taken();
        driven.answer(&deletions[0], answer.clone());
        assert!(!bound(&driven.taken()).iter().any(is_of_a_swap), "{answer:?} shows nothing");
        gone(&mut driven, &deletions[0]);
        driven.step();
        assert_eq!(driven.taken().len(), 0, "no more may leave");
        driven.answer(&others[0], Outcome::Ok(None));
        assert!(matches!(&bound(&driven.taken())[..], [name] if is_of_a_swap(name)), "{answer:?}");
    }
}

/// The watch shows that the pod of a deletion is gone.
fn gone(driven: &mut Driven, deletion: &Call) {
    let Op::DeletePod { pod, uid } = &deletion.op else { panic!("a deletion") };
    let last = json!({"metadata": {"name": &*pod.name, "namespace": &*pod.namespace, "uid": &*uid.0}});
    let seen = driven.seen(Kind::Pod, &last);
    driven.fact(Kind::Pod, WatchFact::Gone(seen));
}
