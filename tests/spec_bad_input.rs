//! Inputs that are large, absurd or another system's: they cost what they are worth, and hurt nobody else.

use gangline::core::codes::Code;
use gangline::core::model::lifecycle::AppState;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::driven::{Driven, group, member};

/// Everything that leaves within so many seconds, each call answered as by a server that grants everything.
fn calls(driven: &mut Driven, seconds: u64) -> Vec<Call> {
    let mut all = Vec::new();
    for _ in 0..seconds {
        driven.wait(1_000);
        let calls = driven.taken();
        calls.iter().for_each(|call| driven.answer(call, gangline::shim::observation::Outcome::Ok(None)));
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

/// It comes for a second and is away for a second, so often; what leaves meanwhile, and a minute after.
fn flap(driven: &mut Driven, times: u32, cpu: &str) -> Vec<Call> {
    let mut all = Vec::new();
    for number in 0..times {
        let pod = life("flaps", cpu, number);
        driven.upsert(Kind::Pod, &pod);
        all.extend(calls(driven, 1));
        let gone = driven.seen(Kind::Pod, &pod);
        driven.fact(Kind::Pod, WatchFact::Gone(gone));
        all.extend(calls(driven, 1));
    }
    all.extend(calls(driven, 60));
    all
}

/// What is said of a gang swings with a member that comes and goes, and does not cost a write for each time: neither on
/// the gang, nor on the members that stay. In the end it is true.
#[test]
fn what_swings_with_a_member_is_not_written_each_time() {
    let mut driven = Driven::synced();
    let spec = json!({"minMember": 3, "minResource": {"cpu": "6"}, "reservation": "Direct"});
    driven.upsert(Kind::TaskGroup, &group(&spec));
    ["a", "b"].iter().for_each(|name| driven.upsert(Kind::Pod, &life(name, "6", 0)));
    let calls = flap(&mut driven, 100, "6");
    let (mut statuses, mut of_member, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for call in &calls {
        if let Op::PatchTaskGroupStatus { status, .. } = &call.op {
            statuses.push(status.reason.as_str());
        } else if let Op::PatchPodCondition { pod, condition, .. } = &call.op {
            of_member.extend(condition.reason.as_deref().filter(|_| &*pod.name == "a"));
        } else if let Op::CreateEvent(event) = &call.op {
            let is_of_gang = event.regarding.as_ref().is_some_and(|of| of.name.as_deref() == Some("g"));
            events.extend(event.reason.as_deref().filter(|_| is_of_gang));
        }
    }
    // 200 seconds: some at once, then one in ten seconds; the reason changed 200 times.
    for (what, written) in [("statuses", &statuses), ("conditions of a member", &of_member), ("events", &events)] {
        assert!((5..=45).contains(&written.len()), "{} {what}", written.len());
        assert_eq!(written.last(), Some(&Code::WaitingForMembers.name()), "{what}");
    }
    assert!(statuses.contains(&Code::WaitingForCapacity.name()), "both are seen: {statuses:?}");
}

/// Placeholders of a gang whose only pod comes and goes are made again after a pause, longer each time.
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
