//! Inputs that are large, absurd or another system's: they cost what they are worth, and hurt nobody else.

use std::sync::LazyLock;

use gangline::core::codes::Code;
use gangline::core::model::lifecycle::AppState;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use gangline::shim::show;
use gangline::sim::schema;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::driven::{Driven, group, member, node};

/// Everything that leaves within so many seconds, each call answered as by a server that grants everything.
fn calls(driven: &mut Driven, seconds: u64) -> Vec<Call> {
    let mut all = Vec::new();
    for _ in 0..seconds {
        driven.wait(1_000);
        let calls = driven.taken();
        calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
        all.extend(calls);
    }
    all
}

/// A pod of no gang of ours.
fn single(name: &str, annotations: &Value) -> Value {
    let mut pod = member(name);
    pod["metadata"]["labels"] = json!({});
    pod["metadata"]["annotations"] = annotations.clone();
    pod
}

/// 03, 3.4: "waits with reason DialectNotSupported, naming the marker and what to do": also where the marker is no JSON,
/// which YuniKorn itself would run as an ordinary application. No autoscaler builds for it, and nobody waits for it.
#[test]
fn a_foreign_marker_that_makes_no_sense_is_told_once_and_never_placed() {
    let mut driven = Driven::synced();
    let marker = json!({"yunikorn.apache.org/task-groups": "[{".repeat(20_000)});
    driven.upsert(Kind::Pod, &single("theirs", &marker));
    driven.upsert(Kind::Pod, &single("plain", &json!({})));
    let calls = calls(&mut driven, 120);
    let bound =
        calls.iter().filter_map(|call| if let Op::Bind { pod, .. } = &call.op { Some(&*pod.name) } else { None });
    assert_eq!(bound.collect::<Vec<_>>(), ["plain"]);
    let conditions: Vec<_> = (calls.iter())
        .filter_map(|call| if let Op::PatchPodCondition { condition, .. } = &call.op { Some(condition) } else { None })
        .collect();
    let [condition] = conditions[..] else { panic!("told once: {conditions:#?}") };
    assert_eq!(condition.reason.as_deref(), Some(Code::DialectNotSupported.name()));
    let message = condition.message.as_deref().unwrap_or_default();
    let words = ["YuniKorn", "yunikorn.apache.org/task-groups", "gangline.dev/task-group", "--ignore-foreign-markers"];
    assert!(message.len() < 1_000 && words.iter().all(|word| message.contains(word)), "{message}");
    let events: Vec<_> = calls
        .iter()
        .filter_map(|call| if let Op::CreateEvent(event) = &call.op { Some(event) } else { None })
        .collect();
    let [event] = events[..] else { panic!("one event: {events:#?}") };
    assert_eq!(event.reason.as_deref(), Some("FailedScheduling"));
    assert!(event.note.as_deref().is_some_and(|note| note.starts_with("DialectNotSupported: ") && note.len() <= 1_024));
}

/// The way to make it ours.
#[test]
fn a_pod_that_gets_our_label_is_ours_whatever_else_it_says() {
    let mut driven = Driven::synced();
    let marker = json!({"yunikorn.apache.org/task-group-name": "workers"});
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct"})));
    let mut pods = ["a", "b"].map(|name| single(name, &marker));
    pods.iter().for_each(|pod| driven.upsert(Kind::Pod, pod));
    assert!(calls(&mut driven, 10).iter().all(|call| !matches!(call.op, Op::Bind { .. })));
    for pod in &mut pods {
        pod["metadata"]["labels"] = json!({"gangline.dev/task-group": "g"});
        driven.upsert(Kind::Pod, pod);
    }
    assert_eq!(calls(&mut driven, 5).iter().filter(|call| matches!(call.op, Op::Bind { .. })).count(), 2);
}

/// 01, 1.2.3: the gate holds the sum over task groups and originators, however many those are.
#[test]
fn five_hundred_originators_of_one_application() {
    for (queue, starts) in [(502, true), (501, false)] {
        let mut cluster = Cluster::default().nodes(6, 100).queue("root.q", queue);
        (0..500).for_each(|number| cluster.originator(&format!("o{number:03}"), "g"));
        let spec = cluster.direct("g", 2);
        cluster.submit("g", "root.q", spec);
        cluster.members("g", 2);
        cluster.settle();
        let report = cluster.report("g");
        assert!(report.message.len() < 500, "{}", report.message);
        if starts {
            assert_eq!(
                (cluster.bound().len(), cluster.state("g"), cluster.cpu("root.q")),
                (502, AppState::Running, 502_000)
            );
        } else {
            assert_eq!((report.reason, cluster.bound().len(), cluster.cpu("root.q")), ("ExceedsMaxQuota", 0, 0));
        }
    }
}

/// It waits for its members, holds nothing, and costs few calls and a short status, however many come of the many.
#[test]
fn a_gang_of_a_hundred_thousand_waits_for_its_members() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"minMember": 100_000, "reservation": "Direct"})));
    (0..200).for_each(|number| driven.upsert(Kind::Pod, &member(&format!("g-{number}"))));
    driven.upsert(Kind::Pod, &single("plain", &json!({})));
    let calls = calls(&mut driven, 60);
    let statuses: Vec<_> = (calls.iter())
        .filter_map(|call| if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status) } else { None })
        .collect();
    let last = statuses.last().expect("it is told");
    assert_eq!(last.reason, Code::WaitingForMembers.name());
    let longest = statuses.iter().map(|status| serde_json::to_string(status).expect("JSON").len()).max();
    assert!(statuses.len() <= 4 && longest.is_some_and(|longest| longest < 4_096), "{} of {longest:?}", statuses.len());
    let bound =
        calls.iter().filter_map(|call| if let Op::Bind { pod, .. } = &call.op { Some(&*pod.name) } else { None });
    assert_eq!(bound.collect::<Vec<_>>(), ["plain"], "nobody waits for it");
    assert!(calls.iter().all(|call| !matches!(call.op, Op::CreatePod(_))), "it holds its seats by no pods");
}

/// 02: a node that takes less than what it has keeps what runs and gets nothing new, until that is less again.
/// (Each step of the fixture audits the books.)
#[test]
fn a_node_that_shrinks_below_what_runs_on_it() {
    let mut cluster = Cluster::default().nodes(1, 4);
    (0..3).for_each(|number| cluster.single(&format!("s{number}")));
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
    cluster.node("n0", 2);
    cluster.single("late");
    let spec = cluster.direct("g", 1);
    cluster.apply("g", spec);
    cluster.members("g", 1);
    cluster.settle();
    assert_eq!(cluster.bound(), ["s0", "s1", "s2"], "nothing is taken away, nothing comes");
    assert_eq!((cluster.why("late"), cluster.report("g").reason), (Some("Unschedulable"), "WaitingForCapacity"));
    cluster.finish("s0", true);
    cluster.settle();
    assert_eq!(cluster.bound(), ["s1", "s2"], "it is full");
    cluster.restart().settle();
    assert_eq!((cluster.bound().len(), cluster.logged("release")), (2, 0), "{:#?}", cluster.log);
    cluster.finish("s1", true);
    cluster.finish("s2", true);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "late"], "{:#?}", cluster.log);
}

/// A member of so many cores, in its n-th life.
fn life(name: &str, cpu: &str, number: u32) -> Value {
    let mut pod = member(name);
    pod["metadata"]["uid"] = json!(format!("uid-{name}-{number}"));
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
    pod
}

/// Answers what has left, and what leaves then; of events that are kept back nothing is heard.
fn answer_all(driven: &mut Driven, mut kept: Option<&mut Vec<Call>>) -> Vec<Call> {
    let mut all = Vec::new();
    loop {
        let calls = driven.taken();
        if calls.is_empty() {
            return all;
        }
        for call in calls {
            match kept.as_deref_mut() {
                Some(kept) if matches!(call.op, Op::CreateEvent(_)) => kept.push(call),
                Some(_) | None => {
                    driven.answer(&call, Outcome::Ok(None));
                    all.push(call);
                }
            }
        }
    }
}

/// Lets time pass; every answer comes at once.
fn answered(driven: &mut Driven, millis: u64) -> Vec<Call> {
    let mut all = answer_all(driven, None);
    for _ in 0..millis / 50 {
        driven.wait(50);
        all.extend(answer_all(driven, None));
    }
    all
}

/// Two of three members of a gang that the nodes have no room for.
fn two_of_three() -> Driven {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&THREE_OF_6));
    ["a", "b"].iter().for_each(|name| driven.upsert(Kind::Pod, &life(name, "6", 0)));
    driven
}

static THREE_OF_6: LazyLock<Value> =
    LazyLock::new(|| json!({"minMember": 3, "minResource": {"cpu": "6"}, "reservation": "Direct"}));

/// The third comes, and goes after so long, and is away for as long: a hundred times. What leaves meanwhile.
fn flap(driven: &mut Driven, millis: u64) -> Vec<Call> {
    let mut all = Vec::new();
    for number in 0..100 {
        let pod = life("flaps", "6", number);
        driven.upsert(Kind::Pod, &pod);
        all.extend(answered(driven, millis));
        let gone = driven.seen(Kind::Pod, &pod);
        driven.fact(Kind::Pod, WatchFact::Gone(gone));
        driven.step();
        all.extend(answered(driven, millis));
    }
    all
}

/// The reasons that a gang's status, the condition of a pod, and the gang's events gave.
fn told<'a>(calls: &'a [Call], of: &str) -> [Vec<&'a str>; 3] {
    let (mut statuses, mut of_pod, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for call in calls {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
            statuses.push(status.reason.as_str());
        } else if let Op::PatchPodCondition { pod, condition, .. } = &call.op {
            of_pod.extend(condition.reason.as_deref().filter(|_| &*pod.name == of));
        } else if let Op::CreateEvent(event) = &call.op {
            let is_of_gang = event.regarding.as_ref().is_some_and(|of| of.name.as_deref() == Some("g"));
            events.extend(event.reason.as_deref().filter(|_| is_of_gang));
        }
    }
    [statuses, of_pod, events]
}

/// What is said of a gang swings with a member that comes and goes, and does not cost a write for each time: neither on
/// the gang, nor on the pods that stay. In the end it is true.
#[test]
fn what_swings_with_a_member_is_not_written_each_time() {
    for millis in [600, 1_000, 1_500] {
        let mut driven = two_of_three();
        let mut driver = life("driver", "1", 0);
        driver["metadata"]["labels"] = json!({"gangline.dev/application-id": "g"});
        driven.upsert(Kind::Pod, &driver);
        let mut calls = flap(&mut driven, millis);
        calls.extend(answered(&mut driven, 60_000));
        let turns = 10 + (200 * millis + 60_000) as usize / 10_000;
        for pod in ["a", "driver"] {
            for (what, reasons) in ["statuses", "conditions", "events"].iter().zip(told(&calls, pod)) {
                let count = reasons.len();
                // Numbers beside the reason, of which there are two a minute.
                assert!((5..=turns + turns / 3).contains(&count), "{count} {what} of {turns} turns, {pod}, {millis}");
                assert_eq!(reasons.last(), Some(&Code::WaitingForMembers.name()), "{what}, {pod}, {millis}");
            }
        }
        let [statuses, ..] = told(&calls, "a");
        assert!(statuses.contains(&Code::WaitingForCapacity.name()), "both are seen: {statuses:?}");
    }
}

/// However long it has swung: what lasts is told within two turns, and what ends the swinging for good at once.
#[test]
fn what_swung_for_long_is_told_soon_when_something_lasts() {
    let mut driven = two_of_three();
    let calls = flap(&mut driven, 1_500);
    let status =
        |call: &Call| if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status.clone()) } else { None };
    let last = calls.iter().filter_map(status).next_back().expect("it was told");
    let mut edited = group(&THREE_OF_6);
    edited["spec"]["queue"] = json!("root.none");
    edited["metadata"]["generation"] = json!(2);
    edited["status"] = json!(last);
    driven.upsert(Kind::TaskGroup, &edited);
    let rejected = answered(&mut driven, 20_000);
    assert_eq!(told(&rejected, "a").map(|reasons| reasons.last().copied()), [Some("QueueNotFound"); 3]);
    // Room for all, and all are there.
    edited["spec"] = THREE_OF_6.clone();
    edited["metadata"]["generation"] = json!(3);
    edited["status"] = json!(rejected.iter().filter_map(status).next_back());
    driven.upsert(Kind::TaskGroup, &edited);
    driven.upsert(Kind::Pod, &life("c", "4", 0));
    let started = answered(&mut driven, 1_000);
    assert_eq!(started.iter().filter(|call| matches!(call.op, Op::Bind { .. })).count(), 3);
    let state = started.iter().filter_map(status).next_back().map(|status| status.application_state);
    assert_eq!(state.as_deref(), Some("Running"), "a start waits for no turn");
}

/// An event that was not made, since its reason had gone, is made when the reason comes back and stays.
#[test]
fn a_reason_that_lasts_has_its_event() {
    let mut driven = two_of_three();
    let mut kept = Vec::new();
    for number in 0..6 {
        let pod = life("flaps", "6", number);
        driven.upsert(Kind::Pod, &pod);
        for is_there in [true, false] {
            if !is_there {
                let gone = driven.seen(Kind::Pod, &pod);
                driven.fact(Kind::Pod, WatchFact::Gone(gone));
                driven.step();
            }
            answer_all(&mut driven, Some(&mut kept));
            if is_there || number < 5 {
                driven.wait(1_000);
                answer_all(&mut driven, Some(&mut kept));
            }
        }
    }
    while let Some(call) = kept.pop() {
        driven.answer(&call, Outcome::Ok(None));
    }
    answer_all(&mut driven, None);
    // For good now, and as the status says already.
    driven.upsert(Kind::Pod, &life("flaps", "6", 9));
    let calls = answered(&mut driven, 60_000);
    let [_, _, events] = told(&calls, "a");
    assert_eq!(events.last(), Some(&Code::WaitingForCapacity.name()));
}

/// 01, 1.3 missing: "reserves nothing before a first pod of the application exists": where the only one comes and goes,
/// placeholders are made again after a pause, longer each time.
#[test]
fn placeholders_do_not_follow_a_first_pod_that_comes_and_goes() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    for _ in 0..100 {
        cluster.member("g-0", "g");
        cluster.settle().wait(1_000).settle();
        cluster.delete("g-0");
        cluster.settle().wait(1_000).settle();
    }
    let made = cluster.logged("create");
    assert!((4..=20).contains(&made), "{made} placeholders were made in 200 s");
    assert_eq!((cluster.report("g").reason, cluster.placeholders()), ("WaitingForFirstPod", 0));
}

/// Times that nobody may ask for: the field, and what it says.
fn wrong_times() -> Vec<(&'static str, Value)> {
    let waits = ["placeholderTimeoutSeconds", "admissionTimeoutSeconds", "waitTimeoutSeconds"];
    let wrong = [json!(0), json!(-1), json!(31_536_001), json!(1_u64 << 40), json!("60"), json!(1.5)];
    let mut all: Vec<_> = waits.iter().flat_map(|field| wrong.clone().map(|value| (*field, value))).collect();
    all.extend([json!(-1), json!(86_401)].map(|value| ("completionTimeoutSeconds", value)));
    all.extend([json!(-1), json!(3_601), json!(u64::MAX)].map(|value| ("seatHoldSeconds", value)));
    all
}

/// State, reason and sentence of the last status that was written.
fn last_status(calls: &[Call]) -> Option<[String; 3]> {
    let mut statuses = calls
        .iter()
        .filter_map(|call| if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status) } else { None });
    statuses.next_back().map(|status| [&status.application_state, &status.reason, &status.message].map(Clone::clone))
}

/// 01, 1.7, and 1.5 "at most 3600": a time that is 0, negative, of more than a year, or no whole number is refused by the
/// definition, and where that is not in force the gang is Rejected, by the name of the field; nothing of it runs.
#[test]
fn times_that_nobody_may_ask_for_are_refused_by_name() {
    for (field, value) in wrong_times() {
        let mut object = group(&json!({"reservation": "Direct"}));
        object["spec"][field] = value.clone();
        let problems = schema::problems("TaskGroup", &object, None);
        assert!(problems.iter().any(|problem| problem.said.contains(field)), "{field} {value}: {problems:?}");
        let mut driven = Driven::synced();
        driven.upsert(Kind::TaskGroup, &object);
        ["m0", "m1"].iter().for_each(|name| driven.upsert(Kind::Pod, &member(name)));
        let calls = calls(&mut driven, 120);
        let [state, reason, message] = last_status(&calls).expect("it is told");
        assert_eq!((&*state, &*reason), ("Rejected", "InvalidSpec"), "{field} {value}");
        assert!(message.contains(field), "{field} {value}: {message}");
        assert!(calls.iter().all(|call| !matches!(call.op, Op::Bind { .. } | Op::CreatePod(_))), "{field} {value}");
    }
}

/// As above: the least and the most that may be asked for.
#[test]
fn the_least_and_the_most_times_are_taken() {
    let least = json!({"admissionTimeoutSeconds": 1, "placeholderTimeoutSeconds": 1, "waitTimeoutSeconds": 1,
                       "completionTimeoutSeconds": 0, "seatHoldSeconds": 0});
    let most = json!({"admissionTimeoutSeconds": 31_536_000, "placeholderTimeoutSeconds": 31_536_000,
                      "waitTimeoutSeconds": 31_536_000, "completionTimeoutSeconds": 86_400, "seatHoldSeconds": 3_600});
    for mut times in [least, most] {
        times["reservation"] = json!("Direct");
        let object = group(&times);
        assert_eq!(schema::problems("TaskGroup", &object, None), []);
        let mut driven = Driven::synced();
        driven.upsert(Kind::TaskGroup, &object);
        ["m0", "m1"].iter().for_each(|name| driven.upsert(Kind::Pod, &member(name)));
        let calls = calls(&mut driven, 5);
        assert_eq!(calls.iter().filter(|call| matches!(call.op, Op::Bind { .. })).count(), 2, "{times}");
        assert_eq!(last_status(&calls).map(|[state, ..]| state).as_deref(), Some("Running"), "{times}");
    }
}

/// 01, 1.7, "default": of what a TaskGroup leaves out completion has 30 s and placeholders 900 s, and nothing else ends.
#[test]
fn what_is_left_out_has_its_default() {
    let deadlines = |calls: &[Call]| -> Vec<_> {
        let statuses = calls.iter().filter_map(|call| {
            if let Op::PatchTaskGroupStatus { status, .. } = &call.op { status.deadlines.clone() } else { None }
        });
        statuses.collect()
    };
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"reservation": "Direct"})));
    driven.upsert(Kind::Pod, &member("m0"));
    assert_eq!(deadlines(&calls(&mut driven, 3_600)), [], "one member waits without a limit");
    let mut driven = Driven::synced();
    let began = driven.wall();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all"})));
    let made = driven.grant();
    made.iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod.clone())));
    driven.step();
    let shown = deadlines(&calls(&mut driven, 60));
    let [one] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((&one.admission, &one.wait, &one.completion), (&None, &None, &None));
    assert_eq!(one.placeholder, Some(show::time(began.after(900_000))));
}

/// 01, 1.5: "Garbage is a pod with our label, our schedulerName, and a name equal to the hash of its own labels": such a
/// pod without its TaskGroup is deleted, also when its owner reference is gone, and no other.
#[test]
fn garbage_is_what_has_our_label_our_scheduler_and_its_own_name() {
    let mut maker = Driven::synced();
    maker.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all", "minMember": 1})));
    let made =
        maker.taken().into_iter().find_map(|call| if let Op::CreatePod(pod) = call.op { Some(pod) } else { None });
    let mut pod = serde_json::to_value(made.expect("a placeholder is made")).expect("a pod is JSON");
    pod["metadata"]["uid"] = json!("uid-placeholder");
    pod["metadata"]["ownerReferences"] = json!([]);
    let changes: [(&str, &[&str], Value, bool); 5] = [
        ("as it was made", &["metadata", "namespace"], json!("ns"), true),
        ("another name", &["metadata", "name"], json!("tg-g-mine"), false),
        ("another scheduler", &["spec", "schedulerName"], json!("default-scheduler"), false),
        ("no label", &["metadata", "labels", "gangline.dev/placeholder"], json!("false"), false),
        ("another seat", &["metadata", "labels", "gangline.dev/seat"], json!("7"), false),
    ];
    for (said, at, value, is_garbage) in changes {
        let mut found = pod.clone();
        *at.iter().fold(&mut found, |value, field| &mut value[*field]) = value;
        let mut driven = Driven::unsynced();
        driven.list(&[(Kind::Node, &node("n1")), (Kind::Pod, &found)]);
        let deleted = calls(&mut driven, 60).iter().any(|call| matches!(call.op, Op::DeletePod { .. }));
        assert_eq!(deleted, is_garbage, "{said}");
    }
}
