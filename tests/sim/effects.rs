//! What a plan says goes wrong goes wrong indeed.

use gangline::api::task_group::TaskGroupStatus;
use gangline::core::ids::Key;
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::Kind;
use serde_json::json;

use super::people::{NS, node_of};
use super::plan::Faults;
use super::world::World;

/// A node.
fn world(faults: Faults) -> World {
    let mut world = World::new(1, faults, None);
    world.node("n0", 4);
    world.rest();
    world
}

fn body<'a>(world: &'a World, pod: &str) -> &'a Body {
    world.api.store.get(Kind::Pod, &Key::new(NS, pod)).expect("it is there")
}

fn phase(world: &World, pod: &str) -> Option<String> {
    let Body::Pod(pod) = body(world, pod) else { return None };
    pod.status.as_ref()?.phase.clone()
}

#[test]
fn a_storm_refuses_every_call_until_it_is_over() {
    let mut world = world(Faults::default());
    world.storm(503, 10_000);
    world.pod("p", &json!({}), "1");
    world.run_for(9_000);
    assert!(world.writes.iter().any(|write| write.contains("binding")), "it was tried: {:?}", world.writes);
    assert_eq!(node_of(body(&world, "p")), None);
    world.rest();
    assert_eq!(node_of(body(&world, "p")), Some("n0"));
}

#[test]
fn who_is_asked_for_patience_is_told_for_how_long_sometimes() {
    let mut world = world(Faults::default());
    let mut patience = |code| {
        let troubles = (0..100).map(|_| world.trouble(code));
        let told = |outcome: &Outcome| matches!(outcome, Outcome::Refused { retry_after: Some(1_000..=5_000), .. });
        troubles.filter(told).count()
    };
    assert!((20..80).contains(&patience(429)));
    assert_eq!(patience(500), 0);
}

#[test]
fn a_kubelet_that_hangs_starts_nothing_until_it_is_back() {
    let mut world = world(Faults::default());
    world.hang("n0", 20_000);
    world.pod("p", &json!({}), "1");
    world.run_for(19_000);
    assert_eq!((node_of(body(&world, "p")), phase(&world, "p").as_deref()), (Some("n0"), Some("Pending")));
    world.rest();
    assert_eq!(phase(&world, "p").as_deref(), Some("Running"));
}

#[test]
fn an_older_definition_drops_what_it_does_not_know() {
    let status = |prunes: bool| {
        let mut world = world(Faults { prunes, ..Faults::default() });
        world.group("g", 1, &json!({"reservation": "Direct", "completionTimeoutSeconds": 1_000}));
        world.member("g", 0, "1");
        world.rest();
        world.succeed("g-0");
        world.run_for(60_000);
        let (_, group) = world.groups().into_iter().next().expect("it is there");
        let TaskGroupStatus { application_state, deadlines, .. } = group.status.expect("it has one");
        (application_state, deadlines.is_some())
    };
    assert_eq!([status(false), status(true)], [("Waiting".to_owned(), true), ("Waiting".to_owned(), false)]);
}
