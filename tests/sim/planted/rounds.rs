//! I4 of rounds: some of those that come after a start are bound, and others of their round are not.

use super::*;

/// A gang without placeholders of three that counts anew, and runs.
fn running(policy: &str) -> World {
    running_of(policy, 3)
}

/// The same, to which so many belong.
fn running_of(policy: &str, total: u32) -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 8);
    world.group("g", 3, &json!({"reservation": "Direct", "matchPolicy": policy, "totalMember": total}));
    (0..3).for_each(|number| world.member("g", number, "1"));
    world.rest();
    world.check_at_rest();
    assert_eq!(world.violation, None);
    world
}

/// Somebody who comes is bound, whoever else waits.
fn bound(world: &mut World, number: u32) {
    world.member("g", number, "1");
    let pod = key(&format!("g-{number}"));
    let mark = format!("queue=root.default task-group=g incarnation={}.1", gang_uid(world).0);
    let annotations = [("gangline.dev/binding".to_owned(), mark)].into();
    let op = Op::Bind { uid: uid(world, &pod.name), pod, node: "n0".into(), annotations };
    let call = Call { id: CallId { incarnation: 1, sequence: 999 }, not_after: world.now().mono.after(1), op };
    let outcome = world.make(&call);
    assert!(matches!(outcome, Outcome::Ok(_)), "{outcome:?}");
    world.note_arrival(&call, &outcome, true);
}

fn lose(world: &mut World, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| world.delete_pod(&format!("g-{number}")));
    world.rest();
    assert_eq!(world.violation, None);
}

#[test]
fn i4_a_round_of_those_that_wait_is_bound_in_part() {
    let after = |count: u32| {
        let mut world = running("OnlyWaiting");
        (3..3 + count).for_each(|number| bound(&mut world, number));
        found(world, World::check_rounds)
    };
    assert_eq!([0, 1, 2, 3].map(after), [None, Some("I4"), Some("I4"), None]);
}

/// Who belongs to a gang beyond a round may have started with the first one.
#[test]
fn i4_a_round_is_bound_in_part_after_a_start_of_more() {
    let after = |count: u32| {
        let mut world = running_of("OnlyWaiting", 4);
        (3..3 + count).for_each(|number| bound(&mut world, number));
        found(world, World::check_rounds)
    };
    assert_eq!([0, 1, 2, 3, 4].map(after), [None, None, Some("I4"), None, None]);
}

#[test]
fn i4_some_of_those_that_were_lost_are_replaced() {
    let after = |lost: u32, count: u32| {
        let mut world = running("WaitingAndRunning");
        lose(&mut world, 0..lost);
        (3..3 + count).for_each(|number| bound(&mut world, number));
        found(world, World::check_rounds)
    };
    assert_eq!([after(2, 0), after(2, 1), after(2, 2), after(0, 1)], [None, Some("I4"), None, None]);
    let mut at_once = running("WaitingAndRunning");
    bound(&mut at_once, 3);
    bound(&mut at_once, 4);
    remove_pods(&mut at_once, |name| name != "g-4");
    at_once.run_for(1);
    bound(&mut at_once, 5);
    assert_eq!(found(at_once, World::check_rounds), None, "nobody knew yet who was lost");
}

/// Whose members may be bound one by one is not asked.
#[test]
fn i4_a_round_is_bound_in_part_for_a_reason() {
    let excused = |excuse: fn(&mut World)| {
        let mut world = running("OnlyWaiting");
        excuse(&mut world);
        bound(&mut world, 3);
        found(world, World::check_rounds)
    };
    assert_eq!(excused(|_| ()), Some("I4"));
    assert_eq!(excused(|world| world.act(&Act::DropGroup { name: "h".to_owned() })), Some("I4"), "another is deleted");
    assert_eq!(excused(|world| world.note_timeout("g")), None, "a timeout has ended it");
    let has_a_driver = excused(|world| {
        world.pod("driver", &json!({"gangline.dev/application-id": "g"}), "1");
        world.run_for(1);
    });
    assert_eq!(has_a_driver, None);
}
