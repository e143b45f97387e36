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

/// What makes a step one that shows something of promises.
#[test]
fn a_promise_makes_the_choice() {
    let decides = |cores: &str, promises| verdict(cores, promises).map(|order| order.decides);
    assert_eq!(decides("2", (0, 1)), Ok(true), "the other one would fit in its place");
    assert_eq!(decides("5", (0, 1)), Ok(false), "nothing is large enough");
    assert_eq!(decides("2", (4, 5)), Ok(false), "both are below their promises");
}
