//! What users wrote in the words of others, and what is made of it (I4, I5, I8, L2).

use gangline::api::task_group::{MatchPolicy, Mode, TaskGroup};
use gangline::shim::op::GroupEdit;

use super::super::super::words::{Family, PodGroupAct, Way, WordsAct};
use super::*;

/// A PodGroup that says no more than its number.
fn plain(family: Family, min: i64) -> PodGroupAct {
    let (name, team, one_by_one) = ("w".to_owned(), Vec::new(), false);
    let (waits, total, policy, queue) = (None, None, MatchPolicy::default(), None);
    PodGroupAct { family, name, min, team, one_by_one, waits, total, policy, queue, basic: false }
}

fn pod_group(min: i64) -> Act {
    Act::PodGroup(plain(Family::Coscheduling, min))
}

fn says(way: Way, gang: &str, min: u32, team: &[&str]) -> WordsAct {
    let team = team.iter().map(|name| (*name).to_owned()).collect();
    WordsAct { way, gang: gang.to_owned(), min, team, one_by_one: false, waits: None, total: None }
}

fn pod(name: &str, words: WordsAct) -> Act {
    Act::Pod(PodAct { name: name.to_owned(), milli: 1_000, words: Some(words), ..PodAct::default() })
}

/// A PodGroup of three, and two pods that name it.
fn waits() -> World {
    waits_for(Family::Coscheduling, Way::Coscheduling)
}

/// The same in these words.
fn waits_for(family: Family, way: Way) -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.speak();
    world.node("n0", 8);
    world.act(&Act::PodGroup(plain(family, 3)));
    (0..2).for_each(|number| world.act(&pod(&format!("w-{number}"), says(way, "w", 0, &[]))));
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

/// What a PodGroup of Koordinator's says in annotations counts like its number.
#[test]
fn i8_a_task_group_says_otherwise_than_the_annotations_of_its_pod_group() {
    let waits = || waits_for(Family::Koordinator, Way::Koordinator);
    let made_with = |say: fn(&mut TaskGroup)| {
        let mut world = waits();
        let mut group = made(&world);
        say(&mut group);
        judge(&mut world, &Op::CreateTaskGroup(Box::new(group)))
    };
    let made_otherwise: [fn(&mut TaskGroup); 3] = [
        |group| group.spec.mode = Mode::NonStrict,
        |group| group.spec.match_policy = MatchPolicy::OnlyWaiting,
        |group| group.spec.total_member = Some(4),
    ];
    assert_eq!((made_with(|_| ()), made_otherwise.map(made_with)), (None, [Some("I8"); 3]));
    let edited_to = |say: fn(&mut GroupEdit)| {
        let mut world = waits();
        let uid = Uid::new(made(&world).metadata.uid.expect("it has one"));
        let (mode, match_policy) = (Some(Mode::Strict), Some(MatchPolicy::OnceSatisfied));
        let mut edit = GroupEdit { min_member: 3, total_member: 3, mode, match_policy, ..GroupEdit::default() };
        say(&mut edit);
        judge(&mut world, &Op::EditTaskGroup { group: key("w"), uid, generation: 1, edit })
    };
    let edited_otherwise: [fn(&mut GroupEdit); 3] = [
        |edit| edit.mode = Some(Mode::NonStrict),
        |edit| edit.match_policy = Some(MatchPolicy::OnlyWaiting),
        |edit| edit.total_member = 4,
    ];
    assert_eq!((edited_to(|_| ()), edited_otherwise.map(edited_to)), (None, [Some("I8"); 3]));
    let annotations: [fn(&mut PodGroupAct); 3] = [
        |group| (group.one_by_one, group.waits) = (true, Some(60)),
        |group| group.policy = MatchPolicy::OnlyWaiting,
        |group| group.total = Some(4),
    ];
    for annotate in annotations {
        let mut world = waits();
        let mut group = plain(Family::Koordinator, 3);
        annotate(&mut group);
        world.act(&Act::PodGroup(group));
        let mut followed = world.clone();
        assert_eq!(found(world, World::check_written), Some("I8"), "the scheduler has not heard of it");
        followed.rest();
        assert_eq!(found(followed, World::check_written), None);
    }
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
            world.plan(&[(10_000, Act::PodGroup(plain(family, 2)))]);
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
