//! L8: somebody is served before others to whom more is promised.

use serde_json::json;

use super::World;
use crate::sim::acts::{Act, QueueAct};
use crate::sim::plan::Faults;
use crate::sim::process::Order;

fn promise(world: &mut World, path: &str, guaranteed: u32) {
    let guaranteed = Some(guaranteed).filter(|cores| *cores > 0);
    world.act(&Act::Queue(QueueAct { path: path.to_owned(), cpu: 20, guaranteed, ..QueueAct::default() }));
}

/// What the judge says of a step in which a pod of three cores of root.other got a node of four, if another one of so many, of
/// root.q, waited.
fn verdict(cores: &str, (to_it, to_other): (u32, u32)) -> Result<Order, &'static str> {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 4);
    promise(&mut world, "root", 0);
    promise(&mut world, "root.q", to_it);
    promise(&mut world, "root.other", to_other);
    world.rest();
    world.pod("served", &json!({"gangline.dev/queue": "root.other"}), "3");
    world.run_for(1);
    world.pod("waits", &json!({"gangline.dev/queue": "root.q"}), cores);
    world.run_for(1);
    assert_eq!(world.violation, None);
    let process = world.process.as_ref().expect("it runs");
    let mut before = process.waiting_asks().expect("something is promised");
    // As if all had been decided in one step.
    before.all.extend(process.controller.core().books.asks.iter().map(|(id, _)| id));
    process.judge_order(&before).map_err(|violation| violation.promise)
}

#[test]
fn l8_a_queue_below_its_promise_waits_while_another_one_is_served() {
    let waits = |cores: &str, promises| verdict(cores, promises).map(|order| order.waits);
    assert_eq!(waits("2", (4, 0)), Err("L8"));
    assert_eq!(waits("2", (4, 5)), Ok(false), "that one is below its promise, too");
    assert_eq!(waits("5", (4, 0)), Ok(true), "nothing is large enough");
    assert_eq!(waits("2", (0, 1)), Ok(false), "it is promised nothing");
}

/// The same of a gang of two without placeholders of root.other, which got the node, and a pod of three cores of root.q, which came
/// then.
fn verdict_on_a_gang((to_it, to_other): (u32, u32)) -> Result<bool, &'static str> {
    let mut world = World::new(1, Faults::default(), None);
    promise(&mut world, "root", 0);
    promise(&mut world, "root.q", to_it);
    promise(&mut world, "root.other", to_other);
    world.group("g", 2, &json!({"queue": "root.other", "reservation": "Direct"}));
    (0..2).for_each(|number| world.member("g", number, "1"));
    world.rest();
    let waiting =
        |world: &World| world.process.as_ref().expect("it runs").waiting_asks().expect("something is promised");
    let starting = waiting(&world).starting;
    assert_eq!(starting.len(), 2, "it waits for a node");
    world.node("n0", 4);
    world.run_for(1);
    world.pod("waits", &json!({"gangline.dev/queue": "root.q"}), "3");
    world.run_for(1);
    assert_eq!(world.violation, None);
    let mut before = waiting(&world);
    // As if all had been decided in one step.
    before.all.extend(&starting);
    before.starting = starting;
    let process = world.process.as_ref().expect("it runs");
    process.judge_order(&before).map(|order| order.waits).map_err(|violation| violation.promise)
}

#[test]
fn l8_a_queue_below_its_promise_waits_while_a_gang_of_another_one_starts() {
    assert_eq!(verdict_on_a_gang((4, 0)), Err("L8"));
    assert_eq!(verdict_on_a_gang((4, 3)), Ok(false), "that one is below its promise, too");
    assert_eq!(verdict_on_a_gang((0, 1)), Ok(false), "it is promised nothing");
}

/// In how many steps a promise decided, where a pod of so many cores of root.q, which comes first by its name, and one of three of
/// root.other had waited for a node, and there came one of four.
fn choices(cores: &str, (to_first, to_second): (u32, u32)) -> u64 {
    let mut world = World::new(1, Faults::default(), None);
    promise(&mut world, "root", 0);
    promise(&mut world, "root.q", to_first);
    promise(&mut world, "root.other", to_second);
    world.rest();
    world.pod("first", &json!({"gangline.dev/queue": "root.q"}), cores);
    world.pod("second", &json!({"gangline.dev/queue": "root.other"}), "3");
    world.rest();
    assert_eq!(world.contended, 0, "there is no room for anybody");
    world.node("n0", 4);
    world.rest();
    assert_eq!(world.violation, None);
    world.contended
}

/// What makes a step one that shows something of promises.
#[test]
fn a_promise_makes_the_choice() {
    assert_eq!(choices("3", (0, 1)), 1, "the first would have had it");
    assert_eq!(choices("5", (0, 1)), 0, "nothing is large enough");
    assert_eq!(choices("3", (1, 0)), 0, "it is the first anyway");
    assert_eq!(choices("3", (4, 5)), 0, "both are below their promises");
    assert_eq!(choices("3", (0, 0)), 0, "nothing is promised");
}
