//! What users wrote in the words of others, and what is made of it (I4, I5, I8, L2).

use gangline::api::task_group::TaskGroup;
use gangline::shim::op::GroupEdit;

use super::super::super::words::{Family, PodGroupAct, Way, WordsAct};
use super::*;

fn pod_group(min: i64) -> Act {
    let (family, name) = (Family::Coscheduling, "w".to_owned());
    Act::PodGroup(PodGroupAct { family, name, min, team: Vec::new(), one_by_one: false, waits: None, queue: None })
}

fn says(way: Way, gang: &str, min: u32, team: &[&str]) -> WordsAct {
    let team = team.iter().map(|name| (*name).to_owned()).collect();
    WordsAct { way, gang: gang.to_owned(), min, team, one_by_one: false, waits: None }
}

fn pod(name: &str, words: WordsAct) -> Act {
    Act::Pod(PodAct { name: name.to_owned(), milli: 1_000, words: Some(words), ..PodAct::default() })
}

/// A PodGroup of three, and two pods that name it.
fn waits() -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.speak();
    world.node("n0", 8);
    world.act(&pod_group(3));
    (0..2).for_each(|number| world.act(&pod(&format!("w-{number}"), says(Way::Coscheduling, "w", 0, &[]))));
    world.rest();
    world.check_at_rest();
    assert_eq!(world.violation, None);
    world
}

fn made(world: &World) -> TaskGroup {
    let (_, group) = world.groups().into_iter().next().expect("it is made");
    group
}

#[test]
fn i8_a_task_group_says_otherwise_than_its_pod_group() {
    let made_for = |min: u32| {
        let mut world = waits();
        let mut group = made(&world);
        group.spec.min_member = min;
        judge(&mut world, &Op::CreateTaskGroup(Box::new(group)))
    };
    assert_eq!([made_for(3), made_for(2)], [None, Some("I8")]);
    let edited_to = |min_member: u32| {
        let mut world = waits();
        let uid = Uid::new(made(&world).metadata.uid.expect("it has one"));
        let edit = GroupEdit { min_member, total_member: min_member, ..GroupEdit::default() };
        judge(&mut world, &Op::EditTaskGroup { group: key("w"), uid, generation: 1, edit })
    };
    assert_eq!([edited_to(3), edited_to(2)], [None, Some("I8")]);
    let mut world = waits();
    // The scheduler has not heard of it.
    world.act(&pod_group(2));
    assert_eq!(found(world, World::check_written), Some("I8"));
}

#[test]
fn i8_a_task_group_says_otherwise_than_its_pods() {
    let made_for = |min: u32, team: &[&str]| {
        let mut world = World::new(1, Faults::default(), None);
        world.speak();
        world.act(&pod("a-0", says(Way::Annotations, "a", 2, &["b"])));
        world.rest();
        let mut group = made(&world);
        group.spec.min_member = min;
        group.spec.gang_group = team.iter().map(|name| format!("{NS}/{name}")).collect();
        judge(&mut world, &Op::CreateTaskGroup(Box::new(group)))
    };
    assert_eq!([made_for(2, &["a", "b"]), made_for(1, &["a", "b"])], [None, Some("I8")]);
    assert_eq!(made_for(2, &[]), Some("I8"), "with nobody else");
}

#[test]
fn i4_somebody_starts_whom_the_other_does_not_list() {
    let mut world = World::new(1, Faults::default(), None);
    world.speak();
    world.node("n0", 8);
    world.act(&pod("a-0", says(Way::Labels, "a", 1, &["a", "b"])));
    world.act(&pod("b-0", says(Way::Labels, "b", 1, &[])));
    world.rest();
    world.check_at_rest();
    assert_eq!(world.violation, None);
    let bound = world.api.change_pod(&key("a-0"), |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n0".to_owned());
        Ok(())
    });
    assert!(bound.is_ok());
    assert_eq!(found(world, World::check_written), Some("I4"));
}

#[test]
fn l2_nothing_is_made_of_what_users_wrote() {
    let mut world = waits();
    world.api.store.remove(Kind::TaskGroup, &key("w"));
    assert_eq!(found(world, World::check_all_are_made), Some("L2"));
}

/// A PodGroup that is made anew with another size, while another one's TaskGroup is there.
#[test]
fn i5_somebody_is_bound_for_what_was_made_of_an_earlier_pod_group() {
    let mut world = waits();
    let mark =
        format!("queue=root.default task-group=w incarnation={}.1 seat=0", made(&world).metadata.uid.expect("one"));
    let annotations: BTreeMap<String, String> = [("gangline.dev/binding".to_owned(), mark)].into();
    let (pod, uid, node) = (key("w-0"), uid(&world, "w-0"), "n0".into());
    let op = Op::Bind { pod, uid, node, annotations };
    let mut again = world.clone();
    assert_eq!(judge(&mut world, &op), None);
    // Whatever it says.
    let body = Err(Malformed { problem: "".into(), generation: 0 });
    let (seen, now) = (Seen { uid: Uid::new("another"), key: key("w"), rv: u64::MAX, body }, again.now());
    let process = again.process.as_mut().expect("it runs");
    process.hear(now, Kind::CoschedulingPodGroup, WatchFact::Upsert(seen));
    assert_eq!(judge(&mut again, &op), Some("I5"));
}

/// Every way of saying it starts a gang, as soon as all are there, and its kind is served.
#[test]
fn every_way_starts_a_gang() {
    for way in Way::ALL {
        let mut world = World::new(1, Faults::default(), None);
        world.speak();
        world.node("n0", 8);
        if let Some(family) = way.family() {
            world.act(&Act::Vanish { kind: family.kind(), for_ms: 5_000 });
            let (name, queue, waits) = ("w".to_owned(), None, None);
            let object = PodGroupAct { family, name, min: 2, team: Vec::new(), one_by_one: false, waits, queue };
            world.plan(&[(10_000, Act::PodGroup(object))]);
        }
        (0..2).for_each(|number| world.act(&pod(&format!("w-{number}"), says(way, "w", 2, &[]))));
        world.rest();
        world.check_at_rest();
        assert_eq!(world.violation, None);
        let bound =
            ["w-0", "w-1"].map(|name| seat_mark(world.api.store.get(Kind::Pod, &key(name)).expect("it is there")));
        assert!(bound.iter().all(Option::is_some), "{way:?}: {bound:?}");
    }
}
