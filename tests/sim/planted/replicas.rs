//! What is promised of two processes, broken on purpose. (That one which does not lead sends or asks for nothing needs a bug of
//! the product.)

use super::*;
use crate::sim::acts::{ReplicaDeed, Which};
use crate::sim::amount::Amount;

/// Two, of which one decides, and a pod that waits.
fn two() -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.replicate();
    world.node("n0", 4);
    world.node("n1", 4);
    world.pod("large", &json!({}), "20");
    world.run_for(5_000);
    assert!(world.violation.is_none() && world.process.is_some(), "{:?}", world.violation);
    world
}

#[test]
fn i10_both_lead() {
    let mut world = two();
    // The judges do not hear of it.
    world.edit_lease(None);
    world.run_for(5_000);
    assert_eq!(found(world, |_| {}), Some("I10"));
}

#[test]
fn i10_a_call_is_made_when_the_next_one_has_begun() {
    let mut world = two();
    world.befalls(Which::Leader, ReplicaDeed::Kill, 1_000);
    world.run_for(20_000);
    assert!(world.violation.is_none() && world.process.is_some());
    let (pod, uid) = (key("large"), uid(&world, "large"));
    let op = Op::Bind { pod, uid, node: "n0".into(), annotations: BTreeMap::new() };
    let id = CallId { incarnation: 1, sequence: 999 };
    world.make(&Call { id, op, not_after: Mono(u64::MAX) });
    assert_eq!(found(world, |_| {}), Some("I10"));
}

#[test]
fn i1_i2_i3_what_another_has_sent_is_on_its_way() {
    let mut world = world(false);
    gated(&mut world, &[("one", 100, "root.q"), ("two", 100, "root.q")]);
    let one = uid(&world, "one");
    let process = world.process.as_mut().expect("it runs");
    process.leave_room(&one, ("n1", "root.q"), (None, Amount { milli: 8_000, ..Amount::default() }));
    let wrong = [("one", "n0"), ("two", "n1"), ("two", "n0")].map(|(pod, node)| bind(&mut world, pod, node, "root.q"));
    assert_eq!(wrong, [Some("I1"), Some("I2"), Some("I3")]);
}

#[test]
fn l7_nobody_leads() {
    let mut world = two();
    for which in Which::ALL {
        world.befalls(which, ReplicaDeed::Kill, 600_000);
    }
    world.calm_down();
    assert_eq!(found(world, |_| {}), Some("L7"));
}
