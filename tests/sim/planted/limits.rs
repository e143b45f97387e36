//! I3, I12 of limits of users and groups.

use gangline::api::queue::QueueStatus;
use gangline::shim::op::Kind;

use super::{World, bind, edit_queue_status, found, key, remove_pods, world};
use crate::sim::acts::{Act, GroupAct, LimitAct, PodAct, QueueAct};

/// A limit of so many cores, or applications, for the user or the group of this name.
fn limit(user: &str, group: &str, cpu: Option<u32>, apps: Option<u32>) -> LimitAct {
    let names = |name: &str| if name.is_empty() { Vec::new() } else { vec![name.to_owned()] };
    LimitAct { users: names(user), groups: names(group), cpu, apps }
}

fn set(world: &mut World, limits: &[LimitAct]) {
    let queue = QueueAct { path: "root.q".to_owned(), cpu: 6, limits: limits.to_vec(), ..QueueAct::default() };
    world.act(&Act::Queue(queue));
}

/// A pod of one core of somebody in root.q, held back or not.
fn pod(world: &mut World, name: &str, by: &str, gated: bool) {
    let queue = Some("root.q".to_owned());
    let (name, by) = (name.to_owned(), Some(by.to_owned()));
    world.act(&Act::Pod(PodAct { name, milli: 1_000, queue, gated, by, ..PodAct::default() }));
}

/// Alice uses one of six cores of root.q, where these limits are; two pods wait that the scheduler leaves alone.
fn limited(limits: &[LimitAct]) -> World {
    let mut world = world(false);
    world.api.store.remove(Kind::TaskGroup, &key("g"));
    remove_pods(&mut world, |name| name == "refused");
    world.rest();
    set(&mut world, limits);
    pod(&mut world, "uses", "alice:dev", false);
    pod(&mut world, "hers", "alice:dev", true);
    pod(&mut world, "his", "bob:dev", true);
    world.rest();
    assert_eq!(world.violation, None);
    world
}

#[test]
fn i3_somebody_is_given_more_than_a_limit_says() {
    let verdicts = |limits: &[LimitAct]| {
        let mut world = limited(limits);
        ["hers", "his"].map(|pod| bind(&mut world, pod, "n1", "root.q"))
    };
    assert_eq!(verdicts(&[limit("alice", "", Some(1), None)]), [Some("I3"), None], "a user");
    assert_eq!(verdicts(&[limit("", "dev", Some(1), None)]), [Some("I3"), Some("I3")], "a group");
    assert_eq!(verdicts(&[limit("*", "", Some(1), None)]), [Some("I3"), None], "every user by itself");
    assert_eq!(verdicts(&[limit("", "ops", Some(1), None)]), [None, None], "another group");
    assert_eq!(verdicts(&[limit("", "*", Some(2), None)]), [None, Some("I3")], "all whom none names, together");
}

/// One core is used. A limit below that excuses what comes until it is above again.
#[test]
fn i3_somebody_is_given_more_than_a_limit_says_that_was_lowered() {
    let after = |cores: &[u32]| {
        let mut world = limited(&[limit("alice", "", Some(5), None)]);
        for cpu in cores {
            set(&mut world, &[limit("alice", "", Some(*cpu), None)]);
            world.run_for(1_000);
        }
        bind(&mut world, "hers", "n1", "root.q")
    };
    assert_eq!([after(&[1]), after(&[0]), after(&[0, 1]), after(&[2])], [Some("I3"), None, Some("I3"), None]);
}

#[test]
fn i3_somebody_has_more_applications_than_a_limit_says() {
    let mut world = limited(&[]);
    let queue = Some("root.q".to_owned());
    for name in ["g", "h"] {
        let (name, by) = (name.to_owned(), Some("alice:dev".to_owned()));
        let group = GroupAct { name, min: 1, milli: 500, queue: queue.clone(), all: true, by, ..GroupAct::default() };
        world.act(&Act::Group(group));
    }
    world.rest();
    set(&mut world, &[limit("alice", "", None, Some(1))]);
    // As if it had always been so.
    world.relimited.clear();
    world.disturbed.clear();
    assert_eq!(found(world, World::check_applications), Some("I3"));
}

#[test]
fn i12_a_queue_says_what_nobody_uses_of_its_limits() {
    let said = |edit: fn(&mut QueueStatus)| {
        let mut world = limited(&[limit("alice", "dev", Some(4), None)]);
        edit_queue_status(&mut world, "root.q", edit);
        found(world, World::check_statuses)
    };
    assert_eq!(said(|_| ()), None);
    assert_eq!(said(|status| status.limited.clear()), Some("I12"), "of alice nothing is said");
    assert_eq!(said(|status| status.limited[0].allocated.clear()), Some("I12"), "she uses something");
    assert_eq!(said(|status| status.limited[0].max.clear()), Some("I12"), "she has a limit");
}
