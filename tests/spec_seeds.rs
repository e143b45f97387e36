//! Sentences of YuniKorn's two designs that no other file shows: 000 is of the core, 001 (2021) of shim and core.

use gangline::core::base::ids::Uid;
use gangline::core::decision::Decision;
use gangline::core::event::{GroupSpec, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::shim::observation::{Outcome, WatchFact};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::json;

use crate::support::cluster::{Cluster, listed};
use crate::support::driven::{Driven, group, member};
use crate::support::phases::{ending, held, running};

/// Seed 000 "Generic flow": "In case the flow is triggered from the creation of an application CRD there will not be a
/// first pod. … From the core side there should be no difference between the two cases."
#[test]
fn whether_the_pods_or_the_object_come_first_makes_no_difference() {
    for kind in [Cluster::group, Cluster::all, Cluster::direct] {
        let mut ends = Vec::new();
        for pods_first in [true, false] {
            let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
            let spec = kind(&cluster, "g", 3);
            if pods_first {
                cluster.members("g", 3);
                cluster.settle();
                assert_eq!((cluster.bound().len(), cluster.log.len()), (0, 0));
            }
            cluster.submit("g", "root.q", spec);
            cluster.settle();
            if !pods_first {
                cluster.members("g", 3);
            }
            cluster.settle().wait(5_000).settle();
            let report = cluster.report("g");
            ends.push((cluster.bound(), report.state, report.incarnation, report.seats, cluster.cpu("root.q")));
        }
        assert_eq!(ends[0], ends[1]);
        assert_eq!(ends[0].0.len(), 3);
    }
}

/// Seed 000 "Generic flow", 7: "After the real pod and all all the placeholder pods are scheduled the shim starts the
/// real pod that triggered the application creation."
#[test]
fn the_first_pod_starts_when_the_last_placeholder_has_a_node() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.originator("driver", "g");
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    // The application of the driver has a TaskGroup when it is looked at first.
    cluster.step().carry("create");
    let is_bound = |cluster: &Cluster| cluster.waiting().iter().any(|line| line.starts_with("bind driver"));
    for last in ["ph-g-1-0-0", "ph-g-1-1-0"] {
        assert!(!is_bound(&cluster) && cluster.node_of("driver").is_none(), "{:?}", cluster.waiting());
        cluster.carry(&format!("bind {last}"));
    }
    assert!(is_bound(&cluster), "{:?}", cluster.waiting());
}

/// Seed 000 "Total placeholder size": "If the placeholderAsk is larger than the queue quota set on the queue the
/// application must be rejected. … For all other cases the application is accepted and will be scheduled as per normal":
/// also where it is as large, and the queue is full now.
#[test]
fn a_gang_as_large_as_its_queue_is_accepted_and_waits() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 3);
    cluster.other("other", "root.q", 3);
    for (name, min) in [("g", 3), ("h", 4)] {
        let spec = cluster.direct(name, min);
        cluster.submit(name, "root.q", spec);
        cluster.members(name, min);
    }
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.state("h")), (AppState::Accepted, AppState::Rejected));
    cluster.delete("other");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.bound().len()), (AppState::Running, 3));
}

/// Seed 000 "Scheduling in queues with a quota set": "From an application perspective there is no limit set on the
/// resource it can request. The gang defined on the application is a guaranteed number of resources, not a maximum
/// number".
#[test]
fn a_gang_is_what_is_guaranteed_and_no_limit() {
    let mut cluster = Cluster::default().nodes(2, 8).queue("root.q", 9);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 4);
    cluster.originator("driver", "g");
    cluster.settle();
    cluster.large_member("g-large", "g", 3);
    cluster.originator("another", "g");
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q")), (7, 9_000), "{:#?}", cluster.log);
    cluster.member("g-last", "g");
    cluster.settle();
    assert_eq!((cluster.why("g-last"), cluster.state("g")), (Some("WaitingForQuota"), AppState::Running));
}

/// Seed 000 "Scheduler logic changes": "in the case that the AllocationAsk has the placeholder flag set the allocation
/// should not trigger a state change, the application stays in Accepted state". "Placeholder asks are considered pending
/// resource asks": those that find no node keep it from its end, too.
#[test]
fn placeholders_leave_an_application_accepted() {
    for nodes in [0, 1, 2] {
        let mut cluster = Cluster::default().nodes(nodes, 2);
        let spec = cluster.all("g", 4);
        cluster.apply("g", spec);
        cluster.settle().wait(3_600_000).settle();
        let seats = cluster.report("g").seats;
        assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Accepted, 4), "{nodes}");
        assert_eq!((seats.held, seats.pending), if nodes == 2 { (4, 0) } else { (0, 4) }, "{nodes}");
    }
}

/// Seed 000 "Scheduler logic changes": "The core cannot and must not assume that there is only one task group per
/// application"; step 1: "a placeholder allocation with the same taskGroupName".
#[test]
fn a_member_takes_a_seat_of_its_own_task_group_alone() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 3);
    for (name, min) in [("a", 1), ("b", 2)] {
        let gang = listed(["a", "b"]);
        let spec = GroupSpec { application: "job".into(), gang, ..cluster.all(name, min) };
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    cluster.members("a", 2);
    cluster.settle();
    let held = ["a", "b"].map(|name| cluster.report(name).seats.held);
    assert_eq!((held, cluster.node_of("a-0").is_some(), cluster.node_of("a-1")), ([0, 2], true, None));
    assert_eq!(cluster.why("a-1"), Some("WaitingForQuota"), "the seats of b are not for it");
}

/// Seed 000 "AllocationAsk": "Each member of the task group is passed to the core as a separate AllocationAsk …. Proposal
/// is to use option: A".
#[test]
fn each_seat_is_an_ask_of_its_own() {
    let mut cluster = Cluster::default().nodes(3, 1);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.step();
    assert_eq!(cluster.waiting(), ["create g/0", "create g/1", "create g/2"]);
    cluster.settle();
    let mut nodes: Vec<_> = cluster.bound().iter().map(|pod| cluster.node_of(pod)).collect();
    nodes.sort();
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
    // One goes, and the others stay as they are.
    cluster.taken();
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!((cluster.logged("create g/1"), cluster.logged("create"), cluster.logged("release")), (1, 1, 0));
}

/// Seed 000 "Application": "The application object should be able to track the placeholder allocations separately from
/// the real allocations"; "Queue & Node": "The placeholder allocations should be counted as “real” allocations on the
/// Queue and Node."
#[test]
fn placeholders_are_told_from_members_and_count_like_them() {
    let mut cluster = running();
    let report = cluster.report("g");
    assert_eq!((report.seats.taken, report.seats.held), (1, 2));
    assert_eq!((report.members.scheduled, report.members.placeholders, cluster.cpu("root.q")), (1, 2, 3_000));
    (0..6).for_each(|number| cluster.single(&format!("s{number}")));
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.why("s5")), (8, Some("Unschedulable")), "both nodes are full");
}

/// Seed 000 "Allocated placeholders": "The application state change to the completed state on the core side is only
/// dependent on the removal of all placeholders pods, not on a response to the UpdatedApplication message."
#[test]
fn completion_waits_for_no_status() {
    let mut cluster = ending();
    cluster.decisions.retain(|decision| matches!(decision, Decision::Release(..)));
    cluster.carry("release");
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Completed, 0));
    assert_eq!((cluster.applications("root.q"), cluster.cpu("root.q")), (Vec::new(), 0));
}

/// Seed 000 "Allocated placeholders": "cron like submissions using the same application ID for each invocation": each is
/// a gang.
#[test]
fn each_invocation_of_a_cron_job_is_a_gang() {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 2);
    let spec = cluster.direct("g", 2);
    cluster.submit("g", "root.q", spec);
    for invocation in 1..4 {
        let pods = [0, 1].map(|number| format!("run-{invocation}-{number}"));
        for pod in &pods {
            assert!(cluster.bound().is_empty(), "one alone starts nothing");
            let mut spec = cluster.pod(pod, Role::Member { group: "g".into() });
            spec.controller = Some(Uid::new(format!("job-{invocation}")));
            spec.created += i64::from(invocation);
            cluster.show(spec);
            cluster.settle();
        }
        assert_eq!((cluster.bound(), cluster.report("g").incarnation), (pods.to_vec(), invocation));
        pods.iter().for_each(|pod| cluster.finish(pod, true));
        cluster.settle().wait(30_000).settle();
        assert_eq!((cluster.state("g"), cluster.applications("root.q")), (AppState::Completed, Vec::new()));
        if invocation == 2 {
            pods.iter().for_each(|pod| cluster.delete(pod));
        }
    }
}

/// Seed 000 "AllocationRelease": "a pod that is removed from K8s will trigger an AllocationRelease …. The core processes
/// the request removing the allocation from the internal structures": a running one, and likewise the ask of one that
/// waits.
#[test]
fn a_pod_that_is_removed_is_released_at_once() {
    let mut cluster = Cluster::default().nodes(1, 2).queue("root.q", 2);
    let spec = cluster.direct("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 4);
    cluster.settle();
    cluster.taken();
    cluster.delete("g-2");
    cluster.settle();
    assert_eq!((cluster.cpu("root.q"), cluster.report("g").members.pending, cluster.log.len()), (2_000, 1, 0));
    cluster.delete("g-0");
    cluster.step();
    assert_eq!(cluster.waiting(), ["bind g-3 n0 started"], "in the same update");
    assert_eq!(cluster.cpu("root.q"), 2_000);
}

/// Seed 001 "Application recovery": "the placeholder pods are recovered as any other pod on a node. … Existing
/// allocations do not have a corresponding AllocationAsk in the core": nothing is asked for, made or bound once more.
#[test]
fn allocations_that_are_found_need_no_ask() {
    for mut cluster in [held(), running()] {
        let (usage, bound) = (cluster.cpu("root.q"), cluster.bound());
        cluster.taken();
        cluster.restart().settle();
        assert_eq!((cluster.cpu("root.q"), cluster.bound(), cluster.log.len()), (usage, bound, 0));
    }
}

/// How many of these calls make a pod, delete one, and bind one.
fn counts(calls: &[Call]) -> [usize; 3] {
    let is: [fn(&Op) -> bool; 3] = [
        |op| matches!(op, Op::CreatePod(_)),
        |op| matches!(op, Op::DeletePod { .. }),
        |op| matches!(op, Op::Bind { .. }),
    ];
    is.map(|is| calls.iter().filter(|call| is(&call.op)).count())
}

/// Seed 001 "Generic flow": "The shim creates placeholder pods for each of the members"; "The shim at that point should
/// create the AllocationAsk for the real pod(s) that it has buffered"; "The shim must take action based on the type and
/// confirm the allocation release": for a member that has come a placeholder is deleted, and when it is gone the member
/// has its node.
#[test]
fn the_shim_makes_placeholders_and_gives_them_up_for_members() {
    let mut driven = Driven::synced();
    driven.upsert(Kind::TaskGroup, &group(&json!({"placeholderFor": "all", "minMember": 3})));
    ["m0", "m1"].into_iter().for_each(|name| driven.upsert(Kind::Pod, &member(name)));
    let calls = driven.taken();
    assert_eq!(counts(&calls), [3, 0, 0], "members wait");
    for call in &calls {
        let pod = if let Op::CreatePod(pod) = &call.op { Some(serde_json::to_value(pod).expect("JSON")) } else { None };
        let made = pod.map(|pod| driven.seen(Kind::Pod, &pod));
        made.clone().into_iter().for_each(|pod| driven.fact(Kind::Pod, WatchFact::Upsert(pod)));
        driven.hear(call, Outcome::Ok(made.map(Box::new)));
    }
    driven.step();
    let calls = driven.taken();
    assert_eq!(counts(&calls), [0, 0, 3], "placeholders");
    calls.iter().for_each(|call| driven.hear(call, Outcome::Ok(None)));
    driven.step();
    let calls = driven.taken();
    assert_eq!(counts(&calls), [0, 2, 0], "one for each member");
    driven.wait(1_000);
    assert_eq!(counts(&driven.taken())[2], 0, "nothing is confirmed yet");
    for call in calls.iter().filter(|call| matches!(call.op, Op::DeletePod { .. })) {
        driven.answer(call, Outcome::Removed);
        assert_eq!(counts(&driven.taken())[2], 1);
    }
}
