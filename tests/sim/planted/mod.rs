//! Each promise is broken on purpose, and its judge says so. (What the audit of I7 finds is in `spec_audit.rs`, its judges
//! and those of I14 need a bug of the product, and are in `tests/rivals/`.)

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use gangline::api::queue::QueueStatus;
use gangline::api::task_group::{Counts, TaskGroupStatus};
use gangline::core::base::ids::{Key, Uid};
use gangline::core::codes::Code;
use gangline::core::time::Mono;
use gangline::shim::decode;
use gangline::shim::observation::{Body, Malformed, Outcome, Seen, WatchFact};
use gangline::shim::op::{Call, CallId, Kind, Op};
use gangline::sim::store::metadata;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;

use super::super::acts::{Act, GroupAct, NodeAct, PodAct, QueueAct};
use super::super::forks;
use super::super::marks::seat_mark;
use super::super::people::{ABROAD, NS};
use super::super::place::Place;
use super::super::plan::{Faults, Head, Plan};
use super::super::process::{Process, Step};
use super::super::run::to_rest;
use super::super::words::USUAL;
use super::super::world::{GARBLED, START_MS, World};
use super::AFTERMATH_MS;

mod along;
mod fair;
mod gangs;
mod homes;
mod kept;
mod limits;
mod replicas;
mod rounds;
mod written;

/// A gang of three in a queue of six cores, started or not, and a pod that nothing is large enough for.
pub(crate) fn world(started: bool) -> World {
    let mut world = World::new(1, Faults::default(), None);
    world.node("n0", 8);
    world.node("n1", 8);
    world.queue("root", 100);
    world.queue("root.q", 6);
    world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
    if started {
        (0..3).for_each(|number| world.member("g", number, "1"));
    }
    world.rest();
    world.pod("single", &json!({}), "1");
    world.pod("large", &json!({}), "20");
    world.pod("refused", &json!({"gangline.dev/queue": "root.q"}), "4");
    world.rest();
    assert_eq!(world.violation, None);
    world
}

fn node(name: &str, cpu: u32, cordoned: bool, tainted: bool) -> Act {
    Act::Node(NodeAct { name: name.to_owned(), cpu, cordoned, tainted, ..NodeAct::default() })
}

fn key(pod: &str) -> Key {
    Key::new(NS, pod)
}

fn uid(world: &World, pod: &str) -> Uid {
    let body = world.api.store.get(Kind::Pod, &key(pod)).expect("the pod is there");
    Uid::new(metadata(body).uid.clone().expect("it has one"))
}

fn judge(world: &mut World, op: &Op) -> Option<&'static str> {
    let id = CallId { incarnation: 0, sequence: 999 };
    let now = world.now();
    let process = world.process.as_mut().expect("it runs");
    process.judge(now, id, op, &BTreeSet::new()).err().map(|violation| violation.promise)
}

fn bind(world: &mut World, pod: &str, node: &str, queue: &str) -> Option<&'static str> {
    let annotations = [("gangline.dev/binding".to_owned(), format!("queue={queue}"))].into();
    let op = Op::Bind { pod: key(pod), uid: uid(world, pod), node: node.into(), annotations };
    judge(world, &op)
}

/// The UID of the gang.
fn gang_uid(world: &World) -> Uid {
    let body = world.api.store.get(Kind::TaskGroup, &key("g")).expect("it is there");
    Uid::new(metadata(body).uid.clone().expect("it has one"))
}

/// The process is told that something is gone.
fn is_gone(world: &mut World, kind: Kind, name: &str, uid: Uid) {
    let body = Err(Malformed { problem: "".into(), generation: 0 });
    let (gone, now) = (Seen { uid, key: key(name), rv: u64::MAX, body }, world.now());
    world.process.as_mut().expect("it runs").hear(now, kind, WatchFact::Gone(gone));
}

/// What the checks of a cluster at rest say first.
fn found(mut world: World, check: fn(&mut World)) -> Option<&'static str> {
    check(&mut world);
    world.violation.map(|violation| violation.promise)
}

fn remove_pods(world: &mut World, wanted: impl Fn(&str) -> bool) {
    let pods: Vec<Key> = world.api.store.of_kind(Kind::Pod).map(|(key, _)| key.clone()).collect();
    pods.iter().filter(|key| wanted(&key.name)).for_each(|key| world.api.store.remove(Kind::Pod, key));
}

fn edit_status(world: &mut World, name: &str, edit: impl Fn(&mut TaskGroupStatus)) {
    let key = key(name);
    let Some(Body::TaskGroup(group)) = world.api.store.get(Kind::TaskGroup, &key) else { panic!("it is there") };
    let mut group = group.clone();
    edit(Arc::make_mut(&mut group).status.get_or_insert_default());
    world.api.store.put(&key, Body::TaskGroup(group));
}

fn edit_queue_status(world: &mut World, path: &str, edit: impl Fn(&mut QueueStatus)) {
    let key = Key::cluster(path);
    let Some(Body::Queue(queue)) = world.api.store.get(Kind::Queue, &key) else { panic!("it is there") };
    let mut queue = queue.clone();
    edit(Arc::make_mut(&mut queue).status.get_or_insert_default());
    world.api.store.put(&key, Body::Queue(queue));
}

#[test]
fn i1_a_pod_is_bound_twice() {
    let mut world = world(false);
    assert_eq!(bind(&mut world, "single", "n1", "root.default"), Some("I1"), "it is on a node");
    gated(&mut world, &[("one", 100, "root.default")]);
    assert_eq!(bind(&mut world, "one", "n0", "root.default"), None);
    assert_eq!(bind(&mut world, "one", "n0", "root.default"), None, "the same again");
    assert_eq!(bind(&mut world, "one", "n1", "root.default"), Some("I1"), "elsewhere, while it may be on n0");
    let annotations = [("gangline.dev/binding".to_owned(), "queue=root.default".to_owned())].into();
    let gone = Op::Bind { pod: key("nobody"), uid: Uid::new("x"), node: "n0".into(), annotations };
    assert_eq!(judge(&mut world, &gone), Some("I1"), "it is not there");
}

#[test]
fn i2_a_node_is_given_more_than_it_has() {
    let mut world = world(false);
    assert_eq!(bind(&mut world, "large", "n0", "root.default"), Some("I2"));
    assert_eq!(bind(&mut world, "refused", "nowhere", "root.default"), Some("I2"), "a node that is not there");
    world.act(&node("n2", 64, true, false));
    world.rest();
    world.pod("late", &json!({}), "30");
    world.rest();
    assert_eq!(bind(&mut world, "late", "n2", "root.default"), Some("I2"), "a node that takes no pods");
    world.act(&node("n3", 64, false, true));
    for (name, place) in [("selected", Place::Selected), ("near", Place::Near)] {
        let pod = PodAct { name: name.to_owned(), milli: 9_000, place: Some(place), ..PodAct::default() };
        world.act(&Act::Pod(pod));
    }
    world.rest();
    assert_eq!(bind(&mut world, "late", "n3", "root.default"), Some("I2"), "a node whose taint it does not tolerate");
    world.act(&node("n3", 64, false, false));
    world.rest();
    for pod in ["selected", "near"] {
        assert_eq!(bind(&mut world, pod, "n3", "root.default"), Some("I2"), "{pod}: a node of another zone");
    }
}

/// Pods that the scheduler leaves alone, which ask for memory, with what they ask for beside and the queues that they name.
fn gated(world: &mut World, pods: &[(&str, u32, &str)]) {
    for (name, milli, queue) in pods {
        let (name, milli, queue) = ((*name).to_owned(), *milli, Some((*queue).to_owned()));
        world.act(&Act::Pod(PodAct { name, milli, mib: 1_024, gated: true, queue, ..PodAct::default() }));
    }
    world.rest();
}

#[test]
fn i2_and_i3_of_memory_and_of_the_number_of_pods() {
    let mut world = world(false);
    let in_m = "root.m";
    gated(&mut world, &[("one", 100, in_m), ("two", 100, in_m)]);
    let small = |name: &str| NodeAct { name: name.to_owned(), cpu: 64, cordoned: false, ..NodeAct::default() };
    remove_pods(&mut world, |name| !["one", "two"].contains(&name));
    world.act(&Act::Node(NodeAct { mib: Some(512), ..small("n4") }));
    world.act(&Act::Node(NodeAct { pods: Some(1), ..small("n5") }));
    let queue = QueueAct { path: "root.m".to_owned(), cpu: 64, mib: Some(1_536), ..QueueAct::default() };
    world.act(&Act::Queue(queue));
    world.rest();
    assert_eq!(bind(&mut world, "one", "n4", in_m), Some("I2"), "memory of a node");
    assert_eq!(bind(&mut world, "one", "n5", in_m), None);
    assert_eq!(bind(&mut world, "two", "n5", in_m), Some("I2"), "pods of a node");
    assert_eq!(bind(&mut world, "two", "n0", in_m), Some("I3"), "memory of a queue");
}

#[test]
fn i3_a_queue_is_given_more_than_it_has() {
    let mut world = world(false);
    assert_eq!(bind(&mut world, "refused", "n1", "root.q"), Some("I3"));
    gated(&mut world, &[("one", 100, "root.q"), ("two", 4_000, "root.q.below"), ("three", 100, "root.default")]);
    assert_eq!(bind(&mut world, "two", "n1", "root.q.below"), Some("I3"), "on a level above");
    let wrong = ["root.default", "", "root"].map(|queue| bind(&mut world, "one", "n1", queue));
    assert_eq!(wrong, [Some("I3"); 3], "a queue that it does not name");
    assert_eq!(bind(&mut world, "three", "n1", "root.q"), Some("I3"), "nor does one that names the usual one");
    assert_eq!(bind(&mut world, "one", "n1", "root.q"), None);
    let mut one_too_many = self::world(true);
    one_too_many.act(&Act::Queue(QueueAct { path: "root.q".to_owned(), cpu: 6, apps: Some(0), ..QueueAct::default() }));
    // As if it had always been so.
    one_too_many.relimited.clear();
    assert_eq!(found(one_too_many, World::check_applications), Some("I3"), "more applications than it may have");
}

/// Three are used. A limit below that excuses what comes until it is above again.
#[test]
fn i3_a_queue_whose_limit_was_lowered_is_given_more_than_it_has() {
    let after = |limits: &[u32]| {
        let mut world = world(true);
        for cpu in limits {
            world.act(&Act::Queue(QueueAct { path: "root.q".to_owned(), cpu: *cpu, ..QueueAct::default() }));
            world.run_for(1_000);
        }
        bind(&mut world, "refused", "n1", "root.q")
    };
    assert_eq!([after(&[5]), after(&[2]), after(&[2, 5])], [Some("I3"), None, Some("I3")]);
}

#[test]
fn i6_a_placeholder_is_left() {
    let mut orphaned = world(false);
    orphaned.api.store.remove(Kind::TaskGroup, &key("g"));
    assert_eq!(found(orphaned, World::check_placeholders), Some("I6"), "its group is gone");
    let mut ended = world(false);
    edit_status(&mut ended, "g", |status| status.application_state = "Rejected".to_owned());
    assert_eq!(found(ended, World::check_placeholders), Some("I6"), "its gang is not alive");
    assert_eq!(found(world(false), World::check_nothing_is_left), Some("I6"), "in the end");
}

#[test]
fn i6_a_placeholder_outlives_its_task_group() {
    let outlives = |ms: u64| {
        let mut world = world(false);
        let made = world.placeholders().first().cloned().expect("it holds seats");
        let Some(body) = world.api.store.get(Kind::Pod, &key(&made)).cloned() else { panic!("it is there") };
        world.calm_down();
        world.api.store.remove(Kind::TaskGroup, &key("g"));
        world.run_for(ms);
        world.bury(&key(&made), &body);
        world.violation.map(|violation| violation.promise)
    };
    assert_eq!([outlives(50_000), outlives(70_000)], [None, Some("I6")]);
}

#[test]
fn i8_a_pod_of_somebody_else_is_touched() {
    let mut world = world(false);
    let op = Op::DeletePod { pod: key("single"), uid: uid(&world, "single") };
    assert_eq!(judge(&mut world, &op), Some("I8"));
    world.apply(
        Kind::Pod,
        &json!({"metadata": {"name": "foreign", "namespace": NS}, "spec": {"schedulerName": "other", "containers": []}}),
    );
    world.rest();
    assert_eq!(bind(&mut world, "foreign", "n0", "root.default"), Some("I8"));
}

#[test]
fn i8_a_pod_is_failed_that_does_not_wait_or_is_not_to() {
    let mut world = world(false);
    let foreign =
        json!({"metadata": {"name": "foreign", "namespace": NS}, "spec": {"schedulerName": "other", "containers": []}});
    world.apply(Kind::Pod, &foreign);
    world.rest();
    let made = world.placeholders().first().cloned().expect("it holds seats");
    let mut fails = |name: &str| {
        let (pod, uid, resource_version) = (key(name), uid(&world, name), NonZeroU64::MIN);
        let op = Op::FailPod { pod, uid, resource_version, reason: Code::ReservationLost, message: "".into() };
        judge(&mut world, &op)
    };
    assert_eq!(["single", "foreign", &made].map(&mut fails), [Some("I8"); 3]);
    assert_eq!(fails("large"), None);
}

#[test]
fn i9_a_placeholder_is_made_for_nobody() {
    let mut world = world(false);
    let made = world.placeholders().first().cloned().expect("it holds seats");
    let Some(Body::Pod(pod)) = world.api.store.get(Kind::Pod, &key(&made)) else { panic!("it is there") };
    let (known, mut other) = ((**pod).clone(), (**pod).clone());
    assert_eq!(judge(&mut world, &Op::CreatePod(Box::new(known))), None);
    other.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.uid = "unseen".to_owned());
    assert_eq!(judge(&mut world, &Op::CreatePod(Box::new(other.clone()))), Some("I9"));
    let uid = gang_uid(&world);
    other.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.uid = uid.0.to_string());
    is_gone(&mut world, Kind::TaskGroup, "g", uid);
    assert_eq!(judge(&mut world, &Op::CreatePod(Box::new(other.clone()))), None, "it may have been made");
    other.metadata.name = Some("another".to_owned());
    assert_eq!(judge(&mut world, &Op::CreatePod(Box::new(other))), Some("I9"), "its TaskGroup is gone");
}

#[test]
fn i9_something_is_written_about_an_earlier_one_of_the_name() {
    let mut world = world(false);
    let unseen = || Uid::new("unseen");
    let status = Box::default();
    let ops = [
        Op::PatchTaskGroupStatus { group: key("g"), uid: unseen(), status },
        Op::PatchQueueStatus { queue: "root.q".into(), uid: unseen(), status: Box::default() },
        Op::PatchPodCondition { pod: key("large"), uid: unseen(), condition: Box::default() },
        Op::FailPod {
            pod: key("large"),
            uid: unseen(),
            resource_version: NonZeroU64::MIN,
            reason: Code::ReservationLost,
            message: "".into(),
        },
        event("unseen"),
    ];
    assert_eq!(ops.map(|op| judge(&mut world, &op)), [Some("I9"); 5]);
    let uid = uid(&world, "large");
    assert_eq!(judge(&mut world, &event(&uid.0)), None);
}

/// An event about the pod `large`.
fn event(uid: &str) -> Op {
    let about = json!({"kind": "Pod", "namespace": NS, "name": "large", "uid": uid});
    let event = json!({"metadata": {}, "eventTime": null, "regarding": about});
    Op::CreateEvent(Box::new(serde_json::from_value(event).expect("it is one")))
}

#[test]
fn i10_a_process_acts_before_it_has_seen_everything() {
    let mut world = world(false);
    world.process = Some(Process::new(9, USUAL));
    assert_eq!(bind(&mut world, "single", "n0", "root.default"), Some("I10"));
}

#[test]
fn i11_a_pod_gets_a_node_for_a_group_of_another_namespace() {
    let mut world = world(false);
    let abroad = PodAct { name: "a".to_owned(), group: Some("g".to_owned()), abroad: true, ..PodAct::default() };
    world.act(&Act::Pod(abroad));
    world.rest();
    assert_eq!(world.violation, None, "it waits");
    let bound = world.api.change_pod(&Key::new(ABROAD, "a"), |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n0".to_owned());
        Ok(())
    });
    assert!(bound.is_ok());
    assert_eq!(found(world, World::check_abroad), Some("I11"));
}

#[test]
fn i12_more_is_said_than_was_seen() {
    let mut world = world(true);
    let uid = gang_uid(&world);
    let says = |running, placeholders| {
        let counts = Counts { scheduled: running, running, placeholders, ..Counts::default() };
        let status = Box::new(TaskGroupStatus { counts, ..TaskGroupStatus::default() });
        Op::PatchTaskGroupStatus { group: key("g"), uid: uid.clone(), status }
    };
    let verdicts = [says(3, 0), says(4, 0), says(3, 1)].map(|op| judge(&mut world, &op));
    assert_eq!(verdicts, [None, Some("I12"), Some("I12")]);
}

/// L6: a sentence that was true once stays.
#[test]
fn l6_a_sentence_says_what_is_not_so() {
    let mut world = world(true);
    edit_status(&mut world, "g", |status| status.message = "9 of 9 members run".to_owned());
    assert_eq!(found(world, World::check_sentences), Some("L6"));
}

#[test]
fn i12_a_status_says_what_is_not_so() {
    let mut readable = world(true);
    edit_status(&mut readable, "g", |status| status.message = GARBLED.to_owned());
    assert_eq!(found(readable, World::check_statuses), Some("I12"), "of what can be read");
    let edits: [fn(&mut TaskGroupStatus); 12] = [
        |status| status.counts.required = 1,
        |status| status.counts.running = 2,
        |status| status.counts.scheduled = 2,
        |status| status.counts.held = 1,
        |status| status.counts.placeholders = 1,
        |status| status.counts.pending = 1,
        |status| status.counts.succeeded = 1,
        |status| status.counts.failed = 1,
        |status| status.conditions[3].status = "False".to_owned(),
        |status| drop(status.conditions.pop()),
        |status| status.conditions[0].observed_generation = Some(7),
        |status| status.observed_generation = 2,
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let mut gang = world(true);
        edit_status(&mut gang, "g", edit);
        assert_eq!(found(gang, World::check_statuses), Some("I12"), "edit {number} of a gang");
    }
    let edits: [fn(&mut QueueStatus); 8] = [
        |status| _ = status.pending.insert("cpu".to_owned(), Quantity("1".to_owned())),
        |status| drop(status.headroom.remove("cpu")),
        |status| _ = status.applications.insert("Running".to_owned(), 2),
        |status| _ = status.applications.insert("Rejected".to_owned(), 1),
        |status| status.conditions[0].status = "False".to_owned(),
        |status| status.applications.clear(),
        |status| drop(status.allocated.remove("cpu")),
        |status| status.observed_generation = 2,
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let mut queue = world(true);
        edit_queue_status(&mut queue, "root.q", edit);
        assert_eq!(found(queue, World::check_statuses), Some("I12"), "edit {number} of a queue");
    }
    let mut waits = world(true);
    waits.group("h", 5, &json!({"queue": "root.q", "placeholderFor": "all"}));
    waits.rest();
    assert_eq!(waits.violation, None);
    edit_queue_status(&mut waits, "root", |status| status.pending.clear());
    assert_eq!(found(waits, World::check_statuses), Some("I12"), "a gang waits");
    let said_to_be_active = |mut world: World, cpu| {
        world.queue("root.q.below", cpu);
        edit_queue_status(&mut world, "root.q.below", |status| {
            *status = serde_json::from_value(json!({
                // What the gang leaves of the queue above.
                "observedGeneration": 1, "headroom": {"cpu": "3"},
                "conditions": [{"type": "Active", "status": "True", "observedGeneration": 1, "reason": "Active",
                                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}))
            .expect("a status");
        });
        found(world, World::check_statuses)
    };
    let mut nowhere = world(true);
    nowhere.api.store.remove(Kind::Queue, &Key::cluster("root.q"));
    assert_eq!(said_to_be_active(nowhere, 1), Some("I12"), "a queue without a place");
    let within = |cpu| said_to_be_active(world(true), cpu);
    assert_eq!([within(6), within(7)], [None, Some("I12")], "a queue that may use more than the one above it");
}

#[test]
fn i13_what_is_gone_is_remembered() {
    let mut world = world(false);
    remove_pods(&mut world, |_| true);
    assert_eq!(found(world, World::check_nothing_is_left), Some("I13"), "nobody told the process");
}

#[test]
fn l1_there_is_no_rest() {
    let mut world = world(false);
    let acts: Vec<_> = (0..=200_000).map(|at| (at, Act::Compact)).collect();
    world.plan(&acts);
    assert_eq!(found(world, World::rest), Some("L1"));
}

#[test]
fn l1_there_is_something_to_do_at_rest() {
    let more_room = |world: &mut World| world.node("n2", 64);
    let mut goes_on = world(false);
    more_room(&mut goes_on);
    assert_eq!(found(goes_on, World::check_fixed_point), Some("L1"), "for this process");
    let mut anew = world(false);
    anew.process = None;
    more_room(&mut anew);
    assert_eq!(found(anew, World::check_restart), Some("L1"), "for the next");
    let mut otherwise = world(true);
    edit_status(&mut otherwise, "g", |status| status.reason = "Other".to_owned());
    assert_eq!(found(otherwise, World::check_restart), Some("L1"), "the next sees it otherwise");
}

#[test]
fn l2_somebody_waits_for_room() {
    assert_eq!(found(world(false), World::check_everything_runs), Some("L2"), "a pod");
    let mut gang = world(false);
    remove_pods(&mut gang, |name| name == "large" || name == "refused");
    edit_status(&mut gang, "g", |status| status.reason = "WaitingForQuota".to_owned());
    assert_eq!(found(gang, World::check_everything_runs), Some("L2"), "a gang");
    let mut over = world_without_waiting();
    assert_eq!(found(world_without_waiting(), World::check_everything_runs), None);
    over.member("g", 9, "1000");
    edit_status(&mut over, "g", |status| status.application_state = "Completed".to_owned());
    assert_eq!(found(over, World::check_everything_runs), Some("L2"), "a member of a gang that is over");
    let mut forgotten = world_without_waiting();
    forgotten.member("g", 9, "1");
    assert_eq!(found(forgotten, World::check_all_have_nodes), Some("L2"), "a member of which nothing is said");
    let mut alone = world_without_waiting();
    alone.pod("forgotten", &json!({}), "1");
    assert_eq!(found(alone, World::check_all_have_nodes), Some("L2"), "a pod of which nothing is said");
}

fn world_without_waiting() -> World {
    let mut world = world(true);
    remove_pods(&mut world, |name| name == "large" || name == "refused");
    world
}

#[test]
fn l3_all_is_as_it_was_again_and_again() {
    let mut world = world(true);
    world.calm_ms = Some(0);
    world.run_for(AFTERMATH_MS);
    let mut before = BTreeMap::new();
    for _ in 0..3 {
        world.check_no_repetition(&mut before);
        world.deeds += 1;
    }
    world.check_no_repetition(&mut before.clone());
    assert_eq!(world.violation.take().map(|violation| violation.promise), Some("L3"));
    world.has_acted = true;
    world.check_no_repetition(&mut before);
    assert!(world.violation.is_none() && before.is_empty(), "somebody did something");
}

/// A node of four cores, a pod that no room that is added is enough for, and such a gang.
fn too_large() -> Plan {
    let node = node("n0", 4, false, false);
    let pod = |name: &str, group: Option<&str>| {
        let group = group.map(str::to_owned);
        Act::Pod(PodAct { name: name.to_owned(), milli: 100_000, group, ..PodAct::default() })
    };
    let group =
        GroupAct { name: "g".to_owned(), min: 1, milli: 100_000, direct: true, all: true, ..GroupAct::default() };
    let acts = [node, pod("huge", None), Act::Group(group), pod("g-0", Some("g"))];
    let head = Head { seed: 1, faults: Faults::default(), replicas: false, dialects: false };
    Plan { head, acts: acts.into_iter().map(|act| (0, act)).collect() }
}

#[test]
fn l6_a_reason_is_not_true() {
    let of = |wrong: fn(&mut World)| {
        let plan = too_large();
        let mut world = to_rest(World::new(1, Faults::default(), None), &plan);
        wrong(&mut world);
        forks::check(&mut world);
        world.violation.map(|violation| (violation.promise, violation.what)).unwrap_or_default()
    };
    // Reasons about room, which do not go when there is more.
    assert_eq!(of(|world| remove_pods(world, |name| name != "huge")).0, "L6");
    let of_gang = of(|world| remove_pods(world, |name| name == "huge"));
    assert!(of_gang.0 == "L6" && of_gang.1.contains('g'), "{of_gang:?}");
    let says = |reason: &'static str| {
        move |world: &mut World| edit_status(world, "g", |status| reason.clone_into(&mut status.reason))
    };
    let (passes, unknown) = (says("BindRefused"), says("Nonsense"));
    for (wrong, word) in [(&passes as &dyn Fn(&mut World), "at rest"), (&unknown, "no reason")] {
        let plan = too_large();
        let mut world = to_rest(World::new(1, Faults::default(), None), &plan);
        remove_pods(&mut world, |_| true);
        wrong(&mut world);
        forks::check(&mut world);
        let found = world.violation.expect("it is found");
        assert!(found.promise == "L6" && found.what.contains(word), "{found:?}");
    }
}

/// What a call that was carried out says of who is first in line, or who starts with it.
fn note_firsts(world: &mut World, op: Op) {
    let number = world.process.as_ref().expect("it runs").number;
    let call = Call { id: CallId { incarnation: number, sequence: 999 }, not_after: Mono(u64::MAX), op };
    world.note_firsts(&call, &Outcome::Ok(None));
}

#[test]
fn l4_somebody_starts_who_stands_behind_the_first_in_line() {
    let of = |queue: &str, pod: &str| {
        let mut world = World::new(1, Faults::default(), None);
        world.node("n0", 8);
        let bound = QueueAct { path: "root.q".to_owned(), cpu: 4, overtakes: Some(0), ..QueueAct::default() };
        world.act(&Act::Queue(bound));
        world.pod("before", &json!({"gangline.dev/queue": "root.q"}), "3");
        world.rest();
        world.group("big", 4, &json!({"queue": "root.q", "reservation": "Direct"}));
        (0..4).for_each(|number| world.member("big", number, "1"));
        world.run_for(5_000);
        world.pod("behind", &json!({"gangline.dev/queue": "root.q"}), "1");
        world.run_for(5_000);
        assert_eq!(world.violation, None);
        let Some(Body::TaskGroup(group)) = world.api.store.get(Kind::TaskGroup, &key("big")) else {
            panic!("it is there")
        };
        let status = Box::new(group.status.clone().expect("it is told"));
        let uid_of_group = Uid::new(group.metadata.uid.clone().expect("it has one"));
        let says = Op::PatchTaskGroupStatus { group: key("big"), uid: uid_of_group, status };
        note_firsts(&mut world, says.clone());
        world.run_for(1_000);
        let _ = bind(&mut world, pod, "n0", queue);
        let annotations = [("gangline.dev/binding".to_owned(), format!("queue={queue}"))].into();
        let starts = Op::Bind { pod: key(pod), uid: uid(&world, pod), node: "n0".into(), annotations };
        note_firsts(&mut world, starts);
        assert_eq!(world.violation, None, "it may be first no more");
        note_firsts(&mut world, says);
        world.violation.map(|violation| violation.promise)
    };
    assert_eq!(of("root.q", "behind"), Some("L4"));
    assert_eq!((of("root.q", "before"), of("root.b", "behind")), (None, None));
}

#[test]
fn l5_a_call_stays_in_doubt() {
    let mut world = world(false);
    world.plan(&[(0, node("n2", 64, false, false))]);
    // The step, and not yet the way of the call.
    world.run_for(1);
    let process = world.process.as_ref().expect("it runs");
    assert!(process.controller.stats().outbox_in_flight > 0);
    assert_eq!(found(world, World::check_unresolved), Some("L5"));
}
