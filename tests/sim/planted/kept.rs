//! I2, I3: the room of a member that was lost is given to somebody else while it is kept.

use super::*;

/// A gang of three lost a member that ran on the only node, which has eight cores.
fn lost(hold_s: u32) -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 8);
    world.queue("root.q", 6);
    world.group("g", 3, &json!({"queue": "root.q", "reservation": "Direct", "seatHoldSeconds": hold_s}));
    (0..3).for_each(|number| world.member("g", number, "1"));
    world.rest();
    let all = "root.default";
    gated(&mut world, &[("fits", 5_000, all), ("large", 6_000, all), ("queued", 4_000, "root.q")]);
    world.delete_pod("g-0");
    world.run_for(1_000);
    world
}

#[test]
fn i2_and_i3_the_room_of_a_lost_member_is_given_away() {
    let mut world = lost(60);
    assert_eq!(bind(&mut world, "large", "n0", "root.default"), Some("I2"), "the room of the member too");
    assert_eq!(bind(&mut world, "queued", "n0", "root.q"), Some("I3"), "its share of the queue");
    assert_eq!(bind(&mut world, "fits", "n0", "root.default"), None, "beside that room");
}

#[test]
fn nobody_is_kept_from_room_that_is_not_kept() {
    let is_given = |mut world: World| bind(&mut world, "large", "n0", "root.default").is_none();
    assert!(is_given(lost(0)), "a hold of 0");
    let mut world = lost(60);
    world.run_for(60_000);
    assert!(is_given(world), "the hold has ended");
    let mut world = lost(60);
    world.member("g", 3, "1");
    world.act(&Act::DropPod { name: "g-3".to_owned(), again: false });
    world.run_for(1_000);
    assert!(is_given(world), "somebody came, who may have had it");
    let mut world = lost(60);
    world.delete(Kind::TaskGroup, "g");
    world.run_for(1_000);
    assert!(is_given(world), "its task group is gone");
    let mut world = lost(60);
    world.act(&node("n0", 9, false, false));
    world.run_for(1_000);
    assert!(is_given(world), "its node is not as it was");
    let mut world = lost(60);
    world.kill(0);
    world.run_for(10);
    assert!(is_given(world), "another process was not told");
}
