//! Gangs that run in part, or start so, and seats that two have (I4, I5).

use gangline::shim::op::Call;

use super::*;

#[test]
fn i4_a_gang_runs_in_part() {
    let mut world = world(true);
    remove_pods(&mut world, |name| name == "g-0");
    assert_eq!(found(world, World::check_gangs), Some("I4"));
    let mut other = self::world(true);
    other.group("h", 1, &json!({"queue": "root.q", "applicationId": "g"}));
    edit_status(&mut other, "h", |status| {
        "Running".clone_into(&mut status.application_state);
        status.counts.required = 1;
    });
    assert_eq!(found(other, World::check_gangs), Some("I4"), "without one of its task groups");
    let excused = |reason: &str| {
        let mut world = self::world(true);
        world.disturb("g");
        remove_pods(&mut world, |name| name == "g-0");
        edit_status(&mut world, "g", |status| reason.clone_into(&mut status.reason));
        found(world, World::check_gangs)
    };
    assert_eq!([excused("PartiallyLost"), excused("Running")], [None, Some("I4")], "it is to say so");
    let mut world = self::world(false);
    edit_status(&mut world, "g", |status| "WaitingForCapacity".clone_into(&mut status.reason));
    assert_eq!(found(world, World::check_gangs), Some("I4"), "it waits and holds its seats");
}

/// A gang with a seat that nobody holds any more, as its process was told.
fn half_held() -> World {
    let mut half = world(false);
    let one = half.placeholders().first().cloned().expect("they are there");
    let uid = uid(&half, &one);
    is_gone(&mut half, Kind::Pod, &one, uid);
    half
}

/// The process is told of a member that was bound for no seat.
fn is_spare(world: &mut World) {
    let mark = format!("queue=root.q task-group=g incarnation={}.1", gang_uid(world).0);
    let pod = json!({
        "metadata": {"name": "spare", "namespace": NS, "uid": "spare", "resourceVersion": "999999",
                     "labels": {"gangline.dev/task-group": "g"}, "annotations": {"gangline.dev/binding": mark}},
        "spec": {"schedulerName": "gangline", "nodeName": "n1", "containers": [{"name": "main"}]},
    });
    let (seen, now) = (decode::seen(Kind::Pod, &pod.to_string()).expect("a pod"), world.now());
    world.process.as_mut().expect("it runs").hear(now, Kind::Pod, WatchFact::Upsert(seen));
}

/// What is said of a gang that starts now.
fn starts(world: &mut World) -> Option<&'static str> {
    starts_as(world, false)
}

/// As above, where it says that it lacks members, or not.
fn starts_as(world: &mut World, lost: bool) -> Option<&'static str> {
    let uid = gang_uid(world);
    world.note_start(1, (uid.clone(), format!("{}.1", uid.0), Step::Said { lost }));
    world.run_for(START_MS);
    world.check_starts();
    world.violation.take().map(|violation| violation.promise)
}

/// Who says that it lacks members is believed where somebody had taken some.
#[test]
fn i4_a_gang_starts_short_and_says_so() {
    let short = |taken: bool, lost: bool| {
        let mut half = half_held();
        if taken {
            half.disturb("g");
        }
        half.run_for(1);
        starts_as(&mut half, lost)
    };
    assert_eq!([short(false, true), short(true, false), short(true, true)], [Some("I4"), Some("I4"), None]);
}

#[test]
fn i4_a_member_that_was_bound_for_no_seat_counts_once() {
    let mut half = half_held();
    is_spare(&mut half);
    assert_eq!(starts(&mut half), None, "one seat, and one member");
    let mut less = half_held();
    let other = less.placeholders().pop().expect("they are there");
    let uid = uid(&less, &other);
    is_gone(&mut less, Kind::Pod, &other, uid);
    is_spare(&mut less);
    assert_eq!(starts(&mut less), Some("I4"), "two seats, and one member");
}

/// Whom an act disturbs, in a world that was changed.
fn disturbed_by(change: impl FnOnce(&mut World), act: &Act) -> Vec<String> {
    let mut world = world(false);
    change(&mut world);
    world.act(act);
    world.run_for(1_000);
    world.disturbed.into_keys().collect()
}

fn foreign(node: &str, cpu: u32) -> Act {
    Act::Foreign { name: "foreign".to_owned(), node: node.to_owned(), cpu }
}

/// All seats are on n1: what becomes of other nodes takes nothing from the gang, where its process hears at once.
#[test]
fn i4_nodes_go_and_are_filled_where_a_gang_is_and_elsewhere() {
    let unchanged = |_: &mut World| {};
    let lost = |name: &str| Act::LoseNode { name: name.to_owned() };
    let excused = [lost("n1"), node("n1", 1, false, false), node("n1", 8, true, false), foreign("n1", 5)];
    excused.iter().for_each(|act| assert_eq!(disturbed_by(unchanged, act), ["g"], "{act:?}"));
    let elsewhere = [lost("n0"), node("n9", 1, true, true), node("n1", 9, false, false), foreign("n1", 4)];
    elsewhere.iter().for_each(|act| assert_eq!(disturbed_by(unchanged, act), [""; 0], "{act:?}"));
    let late = |world: &mut World| world.faults.lag_ms = 1;
    assert_eq!(disturbed_by(late, &lost("n0")), ["g"], "somebody may be sent there yet");
    assert_eq!(disturbed_by(late, &foreign("n1", 1)), [""; 0], "nothing is swapped");
    let called_off = |world: &mut World| {
        late(world);
        let placeholder = world.placeholders().pop().expect("they are there");
        let uid = uid(world, &placeholder);
        world.called_off.insert(uid.0.to_string());
    };
    assert_eq!(disturbed_by(called_off, &foreign("n1", 1)), ["g"]);
}

/// Of a gang one task group has its seats; the other one has nothing yet, and may lose the quota or the room.
#[test]
fn i4_something_is_taken_from_a_gang_of_which_another_task_group_has_begun() {
    let beside = |application: &'static str| {
        move |world: &mut World| {
            world.group("h", 1, &json!({"queue": "root.q", "applicationId": application}));
            world.faults.lag_ms = 1;
        }
    };
    let smaller = |path: &str, cpu: u32| Act::Queue(QueueAct { path: path.to_owned(), cpu, ..QueueAct::default() });
    assert_eq!(disturbed_by(beside("g"), &smaller("root.q", 3)), ["g", "h"]);
    assert_eq!(disturbed_by(beside("g"), &smaller("root", 3)), ["g", "h"]);
    assert_eq!(disturbed_by(beside("g"), &foreign("n1", 1)), ["h"]);
    assert_eq!(disturbed_by(beside("h"), &smaller("root.q", 3)), ["g"], "the other one has nothing");
    assert_eq!(disturbed_by(beside("h"), &foreign("n1", 1)), [""; 0]);
    let not_smaller = [smaller("root.q", 7), smaller("root.z", 1), smaller("root.q.z", 1)];
    not_smaller.iter().for_each(|act| assert_eq!(disturbed_by(beside("g"), act), [""; 0], "{act:?}"));
}

/// A process that is gone had sent a Binding: the next one may have decided without it.
#[test]
fn i4_a_pod_of_the_gang_is_bound_by_a_process_that_is_gone() {
    let overtaken = |incarnation: u64, labels: &serde_json::Value| {
        let mut world = world(false);
        world.group("h", 1, &json!({"queue": "root.q", "applicationId": "g"}));
        world.pod("late", labels, "1");
        let op = Op::Bind { pod: key("late"), uid: uid(&world, "late"), node: "n0".into(), annotations: [].into() };
        let id = CallId { incarnation, sequence: 999 };
        world.make(&Call { id, not_after: world.now().mono.after(1), op });
        world.overtaken.into_keys().collect::<Vec<_>>()
    };
    let (member, driver) = (json!({"gangline.dev/task-group": "g"}), json!({"gangline.dev/application-id": "g"}));
    assert_eq!([overtaken(0, &member), overtaken(0, &driver)], [["g", "h"], ["g", "h"]]);
    assert_eq!([overtaken(1, &member), overtaken(1, &driver)], [[""; 0], [""; 0]], "it is the only one");
    assert_eq!(overtaken(0, &json!({"gangline.dev/application-id": "h"})), [""; 0], "of another application");
}

#[test]
fn i4_a_gang_starts_with_one_seat_that_nobody_holds() {
    assert_eq!(starts(&mut world(false)), None, "all are held");
    let mut half = half_held();
    half.disturb("g");
    half.run_for(1);
    assert_eq!(starts(&mut half), Some("I4"), "somebody took something before it started");
}

#[test]
fn i4_somebody_takes_a_seat_of_a_gang_that_starts() {
    let mut half = half_held();
    let uid = gang_uid(&half);
    half.note_start(1, (uid.clone(), format!("{}.1", uid.0), Step::Said { lost: false }));
    half.run_for(1);
    half.disturb("g");
    half.run_for(START_MS);
    half.check_starts();
    assert_eq!(half.violation, None);
}

#[test]
fn i4_somebody_takes_a_seat_of_a_gang_whose_bindings_have_to_wait() {
    // When somebody takes one (minutes), and when the first Binding leaves (ms after the storm, from minute 1 to 2).
    let held = |taken: u64, leaves: u64| {
        let mut half = half_held();
        let uid = gang_uid(&half);
        for minute in 0..2 {
            if minute == 1 {
                half.storm(503, 60_000);
            }
            half.run_for(30_000);
            if minute == taken {
                half.disturb("g");
            }
            half.run_for(30_000);
        }
        half.run_for(leaves);
        half.note_start(1, (uid.clone(), format!("{}.1", uid.0), Step::Seat(99)));
        half.run_for(START_MS);
        half.check_starts();
        half.violation.map(|violation| violation.promise)
    };
    assert_eq!(held(1, 5_000), None, "the start may have been decided before");
    assert_eq!(held(0, 5_000), Some("I4"), "before the storm a Binding leaves at once");
    assert_eq!(held(1, 11_000), Some("I4"), "and so it does after the storm");
}

#[test]
fn i5_a_seat_is_given_twice() {
    let mut world = world(true);
    let body = world.api.store.get(Kind::Pod, &key("g-0")).expect("it is there");
    let seat = seat_mark(body).expect("it is bound");
    let other = uid(&world, "g-1");
    world.note_seat(&key("g-1"), &other, seat, true);
    assert_eq!(world.violation.map(|violation| violation.promise), Some("I5"));
}

/// A Binding of a member of another group, or of this one, with what it says on the pod.
fn bind_as(world: &mut World, pod: &str, mark: String) -> Option<&'static str> {
    let annotations = [("gangline.dev/binding".to_owned(), mark)].into();
    let op = Op::Bind { pod: key(pod), uid: uid(world, pod), node: "n1".into(), annotations };
    judge(world, &op)
}

#[test]
fn i5_and_i3_a_member_is_bound_for_a_group_or_a_queue_that_is_not_its_own() {
    let mut world = world(false);
    let life = format!("task-group=g incarnation={}.1", gang_uid(&world).0);
    world.member("h", 0, "1");
    world.member("g", 9, "100");
    world.rest();
    assert_eq!(bind_as(&mut world, "h-0", format!("queue=root.q {life}")), Some("I5"));
    assert_eq!(bind_as(&mut world, "g-9", format!("queue=root.default {life}")), Some("I3"));
    assert_eq!(bind_as(&mut world, "g-9", life.clone()), Some("I3"), "no queue");
    let uid = gang_uid(&world);
    is_gone(&mut world, Kind::TaskGroup, "g", uid);
    assert_eq!(bind_as(&mut world, "g-9", format!("queue=root.q {life}")), Some("I5"), "its group is gone");
}

#[test]
fn i5_two_have_one_seat() {
    let mut world = world(true);
    let mark = |world: &World, pod: &str| {
        let body = world.api.store.get(Kind::Pod, &key(pod)).expect("it is there");
        metadata(body)
            .annotations
            .as_ref()
            .and_then(|all| all.get("gangline.dev/binding"))
            .cloned()
            .expect("it is bound")
    };
    let first = mark(&world, "g-0");
    let changed = world.api.change_pod(&key("g-1"), |pod| {
        pod.metadata.annotations.get_or_insert_default().insert("gangline.dev/binding".to_owned(), first);
        Ok(())
    });
    assert!(changed.is_ok());
    assert_eq!(found(world, World::check_seats), Some("I5"));
}

#[test]
fn i4_a_placeholder_is_deleted_by_a_process_that_is_gone() {
    let disturbs = |incarnation: u64| {
        let mut world = world(false);
        let placeholder = world.placeholders().pop().expect("they are there");
        let op = Op::DeletePod { pod: key(&placeholder), uid: uid(&world, &placeholder) };
        let id = CallId { incarnation, sequence: 999 };
        world.make(&Call { id, not_after: world.now().mono.after(1), op });
        world.disturbed.contains_key("g")
    };
    assert_eq!([disturbs(1), disturbs(0)], [false, true], "what this one decides is no disturbance");
    let mut world = world(false);
    let placeholder = world.placeholders().pop().expect("they are there");
    let op = Op::DeletePod { pod: key(&placeholder), uid: uid(&world, &placeholder) };
    world.api.store.remove(Kind::TaskGroup, &key("g"));
    world.group("g", 3, &json!({"queue": "root.q"}));
    world.make(&Call { id: CallId { incarnation: 0, sequence: 999 }, not_after: world.now().mono.after(1), op });
    assert!(!world.disturbed.contains_key("g"), "one that is left of an earlier gang");
}
