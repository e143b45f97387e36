//! Whose turn it is when many calls may leave.

use super::tests::{Box_, next, one, op, refused, want};
use super::*;

/// What leaves now, in its order.
fn order(outbox: &mut Box_, now: u64) -> Vec<&'static str> {
    let mut order = Vec::new();
    outbox.next(Mono(now), &mut |slot, key| {
        order.push(*key);
        Ok(op(slot, key))
    });
    order
}

#[test]
fn every_slot_has_a_turn_however_urgent_it_is() {
    for slot in Slot::ALL {
        assert!(TURNS.contains(&(slot, Urgency::Numbers)), "{slot:?}");
    }
}

#[test]
fn the_order_is_by_slot_and_then_by_arrival() {
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Bind, "b3").with(Urgency::Next));
    for (slot, key) in [
        (Slot::Event, "e"),
        (Slot::Status, "s"),
        (Slot::Annotate, "a"),
        (Slot::Condition, "k"),
        (Slot::Create, "c"),
        (Slot::Fail, "f"),
        (Slot::Delete, "d"),
        (Slot::Bind, "b2"),
        (Slot::Bind, "b1"),
        (Slot::Declare, "t"),
    ] {
        outbox.want(Mono(0), want(slot, key));
    }
    assert_eq!(order(&mut outbox, 0), ["b3", "t", "b2", "b1", "d", "f", "c", "k", "a", "s", "e"]);
}

/// However many TaskGroups are refused all the time, they keep no Binding waiting. Nor does it help one to be wanted once more.
#[test]
fn a_task_group_that_has_failed_leaves_after_bindings() {
    for code in [403, 404, 409, 422, 503] {
        for in_flight in [true, false] {
            let mut outbox = Box_::new(1);
            outbox.want(Mono(0), want(Slot::Declare, "failed"));
            let call = one(&mut outbox, 0);
            if in_flight {
                outbox.want(Mono(1), want(Slot::Declare, "failed"));
            }
            outbox.outcome(Mono(2), call.id, refused(code));
            if !in_flight {
                outbox.want(Mono(3), want(Slot::Declare, "failed"));
            }
            for (slot, key) in [(Slot::Status, "s"), (Slot::Create, "c"), (Slot::Bind, "b"), (Slot::Declare, "new")] {
                outbox.want(Mono(4), want(slot, key));
            }
            assert_eq!(order(&mut outbox, 60_000), ["new", "b", "c", "failed", "s"], "{code} {in_flight}");
        }
    }
}

/// A call that is `Next` leaves even if its own slot may have no more calls in flight; not if no call at all may be
/// sent, and not a second time.
#[test]
fn what_is_to_be_next_leaves_first() {
    let keys: Vec<&'static str> = (0..100).map(|i| &*format!("p{i}").leak()).collect();
    let mut outbox = Box_::new(1);
    outbox.want(Mono(0), want(Slot::Delete, "d"));
    let deletion = one(&mut outbox, 0);
    assert!(keys.iter().all(|key| outbox.want(Mono(0), want(Slot::Bind, key))));
    let calls = next(&mut outbox, 0);
    assert_eq!((calls.len(), outbox.in_flight()), (63, 64));
    outbox.want(Mono(1), want(Slot::Bind, "a").with(Urgency::Next));
    assert!(next(&mut outbox, 1).is_empty(), "64 are in flight");
    outbox.outcome(Mono(2), deletion.id, Outcome::Removed);
    assert!(matches!(&one(&mut outbox, 2).op, Op::Bind { pod, .. } if &*pod.name == "a"));

    let busy = Outcome::Refused { code: 429, reason: "".into(), message: "".into(), retry_after: Some(1_000) };
    outbox.outcome(Mono(3), calls[0].id, busy);
    assert_eq!((outbox.window(), outbox.in_flight()), (32, 63), "the window is smaller than what is in flight");
    outbox.want(Mono(3), want(Slot::Bind, "b").with(Urgency::Next));
    assert!(next(&mut outbox, 3).is_empty(), "the server has asked for patience");
    let second = one(&mut outbox, 1_003);
    assert!(matches!(&second.op, Op::Bind { pod, .. } if &*pod.name == "b"));
    outbox.outcome(Mono(1_004), second.id, refused(503));
    assert!(next(&mut outbox, 9_000).is_empty(), "it was its turn once");
}
