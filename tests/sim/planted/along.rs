//! L9: somebody is served before others who belong to a gang that starts.

use serde_json::json;

use super::World;
use crate::sim::acts::{Act, PodAct};
use crate::sim::plan::Faults;
use crate::sim::process::Along;

/// What the judge says, as if all had been decided in one step: on a node of three cores two members start, of a gang of two to which
/// so many belong; the third, of so many cores, has no node, and a pod of one core has.
fn verdict(total: u32, cores: &str, (queue, priority): (&str, i32)) -> Option<Result<Along, &'static str>> {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 3);
    ["root", "root.q", "root.other"].iter().for_each(|path| world.queue(path, 20));
    world.group("g", 2, &json!({"queue": "root.q", "reservation": "Direct", "totalMember": total}));
    world.member("g", 0, "1");
    world.rest();
    let before = world.process.as_ref().expect("it runs").unplanned()?;
    // What is decided stays decided.
    world.storm(503, 60_000);
    let (name, queue) = ("other".to_owned(), Some(queue.to_owned()));
    world.act(&Act::Pod(PodAct { name, milli: 1_000, queue, priority, ..PodAct::default() }));
    world.run_for(1_000);
    for (number, cores) in [(1, "1"), (2, cores)] {
        world.member("g", number, cores);
        world.run_for(1_000);
    }
    assert_eq!(world.violation, None);
    let process = world.process.as_ref().expect("it runs");
    Some(process.judge_along(&before).map_err(|violation| violation.promise))
}

#[test]
fn l9_who_belongs_to_a_gang_waits_while_somebody_behind_it_is_served() {
    let stays = Some(Ok(Along { goes: false, stays: true }));
    assert_eq!(verdict(3, "1", ("root.q", 0)), Some(Err("L9")));
    assert_eq!(verdict(3, "1", ("root.other", 0)), stays, "another queue has an order of its own");
    assert_eq!(verdict(3, "1", ("root.q", 10)), stays, "that one is more urgent");
    assert_eq!(verdict(3, "2", ("root.q", 0)), stays, "it does not fit there");
    assert_eq!(verdict(2, "1", ("root.q", 0)), None, "it is one beyond those who belong to it");
}

/// Who starts with a gang beyond its seats is seen to.
#[test]
fn who_belongs_to_a_gang_starts_with_it() {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 3);
    world.group("g", 2, &json!({"reservation": "Direct", "totalMember": 4}));
    world.member("g", 0, "1");
    world.rest();
    let before = world.process.as_ref().expect("it runs").unplanned().expect("it waits");
    world.pod("first", &json!({}), "3");
    world.run_for(1_000);
    (1..4).for_each(|number| world.member("g", number, "1"));
    world.run_for(1_000);
    world.delete_pod("first");
    world.run_for(60_000);
    let found = world.process.as_ref().expect("it runs").judge_along(&before);
    assert_eq!((world.violation, found), (None, Ok(Along { goes: true, stays: true })));
}
