//! What a plan says goes wrong goes wrong indeed.

use gangline::api::task_group::TaskGroupStatus;
use gangline::core::base::ids::Key;
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::Kind;
use gangline::sim::store::metadata;
use serde_json::json;

use super::acts::{Act, JobAct};
use super::people::{ABROAD, NS, node_of};
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
        let troubles = (0..100).map(|_| world.trouble("a call", code));
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

#[test]
fn a_job_has_another_pod_for_one_that_fails_or_goes_until_enough_have_succeeded() {
    let mut world = world(Faults::default());
    let job = JobAct { name: "j".to_owned(), milli: 500, parallelism: 1, completions: 1, ..JobAct::default() };
    world.act(&Act::Job(job));
    world.rest();
    world.act(&Act::End { name: "j-0".to_owned(), well: false });
    world.rest();
    assert_eq!((phase(&world, "j-1").as_deref(), node_of(body(&world, "j-1"))), (Some("Running"), Some("n0")));
    world.delete_pod("j-1");
    world.rest();
    world.succeed("j-2");
    world.rest();
    assert_eq!(world.api.store.of_kind(Kind::Pod).count(), 2, "one that failed and one that succeeded");
}

#[test]
fn a_node_without_room_for_a_pod_that_was_bound_to_it_does_not_take_it() {
    let mut world = world(Faults::default());
    world.pod("p", &json!({}), "3");
    world.rest();
    let foreign = |name: &str| Act::Foreign { name: name.to_owned(), node: "n0".to_owned(), cpu: 1 };
    world.act(&foreign("fits"));
    world.act(&foreign("does-not"));
    world.rest();
    let phase = |name: &str| match world.api.store.get(Kind::Pod, &Key::new(ABROAD, name)) {
        Some(Body::Pod(pod)) => pod.status.clone().map(|status| (status.phase, status.reason)),
        other => panic!("{other:?}"),
    };
    assert_eq!(phase("fits"), Some((Some("Running".to_owned()), None)));
    assert_eq!(phase("does-not"), Some((Some("Failed".to_owned()), Some("OutOfcpu".to_owned()))));
}

#[test]
fn who_is_on_a_dead_node_stays_there_until_it_is_back_or_gone() {
    let mut world = world(Faults::default());
    world.pod("p", &json!({}), "1");
    world.rest();
    let node = || "n0".to_owned();
    world.act(&Act::Die { node: node() });
    world.rest();
    world.pod("later", &json!({}), "1");
    world.rest();
    assert_eq!(node_of(body(&world, "later")), None, "nobody is sent there any more");
    world.act(&Act::Evict { node: node() });
    world.rest();
    assert!(metadata(body(&world, "p")).deletion_timestamp.is_some(), "it terminates, and nobody ends it");
    world.act(&Act::Revive { node: node() });
    world.rest();
    assert!(world.api.store.get(Kind::Pod, &Key::new(NS, "p")).is_none());
    assert_eq!(node_of(body(&world, "later")), Some("n0"));
    world.act(&Act::Die { node: node() });
    world.act(&Act::Evict { node: node() });
    world.act(&Act::LoseNode { name: node() });
    world.rest();
    assert_eq!(world.api.store.of_kind(Kind::Pod).count(), 0);
}

#[test]
fn a_node_puts_a_placeholder_off() {
    let mut world = world(Faults::default());
    world.group("g", 2, &json!({"placeholderFor": "all"}));
    world.rest();
    let before = world.placeholders();
    world.act(&Act::DropPlaceholder { group: "g".to_owned(), nth: 0, fails: true });
    assert_eq!(phase(&world, &before[0]).as_deref(), Some("Failed"));
    world.rest();
    assert_ne!(world.placeholders(), before, "its seat is held by another one");
}

#[test]
fn an_autoscaler_adds_a_node_when_somebody_needs_one() {
    let mut world = world(Faults::default());
    let is_there = |world: &World| world.api.store.get(Kind::Node, &Key::cluster("auto")).is_some();
    world.plan(&[(0, Act::Autoscale { name: "auto".to_owned(), cpu: 8 })]);
    world.run_for(60_000);
    assert!(!is_there(&world), "nobody needs one");
    world.pod("p", &json!({}), "6");
    world.run_for(60_000);
    assert!(is_there(&world));
}

/// Who takes all placeholders is not to be given more and more of them: that would load the API server without an end.
#[test]
fn a_gang_that_loses_every_placeholder_tries_less_and_less() {
    for faults in [Faults { unfit: 100, ..Faults::default() }, Faults { taken: 100, ..Faults::default() }] {
        for members in [3, 5] {
            // Of five one finds no node: all of them are pending.
            let mut world = world(faults);
            world.group("g", members, &json!({"placeholderFor": "all"}));
            world.run_for(360_000);
            let made = world.writes.iter().filter(|write| write.starts_with("create pods tg-")).count();
            assert!((5..100).contains(&made), "{made} placeholders in six minutes: {faults:?}, {members}");
        }
    }
}
