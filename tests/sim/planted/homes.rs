//! I3 of namespaces: work that names no queue is charged to another one than its namespace has, or to more than that may use.

use super::*;
use crate::sim::homes::NamespaceAct;
use crate::sim::process::EXCUSED_MS;

/// Of team a, with so many cores for its own queue.
fn says(cpu: Option<u32>) -> NamespaceAct {
    NamespaceAct { team: Some("a".to_owned()), cpu, ..NamespaceAct::default() }
}

/// Namespaces of team a have queues of four cores below root.team; a pod of three names no queue, and is left alone by the scheduler.
fn housed(acts: &[NamespaceAct]) -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 8);
    let (chooses, gives) = (Some("a".to_owned()), Some(4));
    let queue = QueueAct { path: "root.team".to_owned(), cpu: 8, chooses, gives, ..QueueAct::default() };
    world.act(&Act::Queue(queue));
    for act in acts {
        world.act(&Act::Namespace(act.clone()));
        world.run_for(1_000);
    }
    world.act(&Act::Pod(PodAct { name: "three".to_owned(), milli: 3_000, gated: true, ..PodAct::default() }));
    world.rest();
    assert_eq!(world.violation, None);
    world
}

fn verdict(acts: &[NamespaceAct], queue: &str) -> Option<&'static str> {
    bind(&mut housed(acts), "three", "n0", queue)
}

#[test]
fn i3_a_namespace_is_given_more_than_its_quota() {
    let own = |acts: &[NamespaceAct]| verdict(acts, "root.team.ns");
    assert_eq!(own(&[says(None)]), None, "the template has four");
    assert_eq!([own(&[says(Some(2))]), own(&[says(Some(3))])], [Some("I3"), None]);
    let old = NamespaceAct { old: true, ..says(Some(2)) };
    assert_eq!(own(&[old]), Some("I3"), "in the older annotation");
    let wrong = NamespaceAct { wrong: true, ..says(Some(8)) };
    assert_eq!(own(&[says(Some(2)), wrong.clone()]), Some("I3"), "what was right last counts");
    assert_eq!(own(&[wrong]), None, "nothing was right, so that the template counts");
}

#[test]
fn i3_work_is_in_a_queue_of_another_namespace() {
    let usual = |acts: &[NamespaceAct]| verdict(acts, "root.default");
    let of_others = NamespaceAct { team: Some("b".to_owned()), ..NamespaceAct::default() };
    assert_eq!(usual(std::slice::from_ref(&of_others)), None, "nobody chooses it");
    assert_eq!(verdict(&[says(None)], "root.team"), Some("I3"), "not its own");
    assert_eq!(verdict(&[of_others], "root.team.ns"), Some("I3"), "it has none");
    let mut world = housed(&[says(None)]);
    // As if it had begun now.
    world.kill(0);
    world.rest();
    assert_eq!(bind(&mut world, "three", "n0", "root.default"), Some("I3"), "it has its own");
}

/// Where its work went before counts for as long as what was decided then may be on its way.
#[test]
fn i3_work_is_in_a_queue_that_its_namespace_has_left() {
    let of_others = NamespaceAct { team: Some("b".to_owned()), ..NamespaceAct::default() };
    let verdict = |millis: u64| {
        let mut world = housed(&[says(None)]);
        world.act(&Act::Namespace(of_others.clone()));
        world.run_for(millis);
        assert_eq!(world.home(NS).as_deref(), Some("root.default"));
        bind(&mut world, "three", "n0", "root.team.ns")
    };
    assert_eq!([verdict(EXCUSED_MS - 1_000), verdict(EXCUSED_MS + 1_000)], [None, Some("I3")]);
}

/// When everything in a namespace is gone, and that is made anew, it is as it was.
#[test]
fn a_namespace_that_was_deleted_comes_again() {
    let mut world = housed(&[says(Some(2))]);
    let there = |world: &World| world.api.store.get(Kind::Namespace, &Key::cluster(NS)).is_some();
    world.act(&Act::DropNamespace { for_ms: 60_000 });
    world.run_for(30_000);
    assert!(!there(&world));
    world.rest();
    assert!(there(&world));
    assert_eq!(world.home(NS).as_deref(), Some("root.team.ns"));
}
