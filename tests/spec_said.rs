//! What is said of gangs and pods is true now (issue 39, 3): what nodes lack, who runs, and how members ended.

use gangline::core::base::resources::Resources;
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, Place, Role};
use gangline::core::model::gang::NUMBERS_MS;
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::{Effect, NodeSpec, Shape, Taint};

use crate::support::cluster::{Cluster, listed, size};

/// A second after nodes have changed, those who wait are told.
const SOON_MS: u64 = 1_000;

fn taint(key: &str) -> Vec<Taint> {
    vec![Taint { key: key.into(), value: "".into(), effect: Effect::NoSchedule }]
}

fn of_8() -> NodeSpec {
    NodeSpec { allocatable: Resources { base: [8_000, 100 << 30, 0, 110], rare: Vec::new() }, ..NodeSpec::default() }
}

/// A gang of two pods of two cores, and one of that size alone, which only node `n0` might take, and that is tainted.
fn who_wait_for_a_tainted_node() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.show_node("n0", NodeSpec { taints: taint("x"), ..of_8() });
    let mut spec = cluster.direct("g", 2);
    spec.min_resource = size(2);
    cluster.apply("g", spec);
    ["g-0", "g-1"].iter().for_each(|name| cluster.large_member(name, "g", 2));
    let alone = cluster.sized("alone", Role::Singleton, 2);
    cluster.show(alone);
    cluster.settle();
    cluster
}

/// What a pod says.
fn says(cluster: &Cluster, pod: &str) -> String {
    let reason = cluster.scheduler.ask_reason(cluster.pods[pod].0).expect("it waits");
    cluster.scheduler.ask_message(&reason)
}

#[test]
fn who_waits_says_what_nodes_lack_now() {
    let mut cluster = who_wait_for_a_tainted_node();
    let tainted = "0/1 nodes are available: 1 node(s) had untolerated taint(s)";
    let of_gang = |nodes: &str| format!("none of the 2 members of g finds a node; {nodes}");
    assert_eq!((cluster.report("g").message, says(&cluster, "alone")), (of_gang(tainted), tainted.to_owned()));
    assert_eq!(says(&cluster, "g-0"), of_gang(tainted), "as its gang");
    cluster.node("n1", 1);
    cluster.settle().wait(SOON_MS);
    let both =
        "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 Insufficient cpu; nearest is n1, 1 cpu short";
    assert_eq!((cluster.report("g").message, says(&cluster, "alone")), (of_gang(both), both.to_owned()));
    assert_eq!(says(&cluster, "g-1"), of_gang(both));
    assert_eq!(["g-0", "g-1", "alone"].map(|pod| shown(&cluster, pod)), [1; 3], "another cause is shown at once");
    assert!(cluster.decisions.iter().any(|decision| matches!(decision, Decision::ShowGroup(_))));
    // The taint goes, and somebody else has the node.
    let other = AskSpec { place: on("n0", true), ..cluster.sized("other", Role::Foreign, 7) };
    cluster.show(other);
    cluster.show_node("n0", of_8());
    cluster.settle().wait(NUMBERS_MS).settle();
    let full = "0/2 nodes are available: 2 Insufficient cpu; nearest is n0, 1 cpu short";
    assert_eq!((cluster.report("g").message, says(&cluster, "alone")), (of_gang(full), full.to_owned()));
}

/// How often a pod is to be shown.
fn shown(cluster: &Cluster, pod: &str) -> usize {
    let id = cluster.pods[pod].0;
    cluster.decisions.iter().filter(|decision| **decision == Decision::ShowAsk(id)).count()
}

fn on(node: &str, running: bool) -> Place {
    Place::On { node: node.into(), running }
}

/// What a node that comes and goes makes, many times, costs a look at the nodes each half minute.
#[test]
fn nodes_that_change_often_are_looked_at_now_and_then() {
    let mut cluster = who_wait_for_a_tainted_node();
    cluster.node("n1", 1);
    cluster.settle().wait(SOON_MS).settle();
    for _ in 0..10 {
        cluster.lose_node("n1");
        cluster.wait(SOON_MS);
        cluster.node("n1", 1);
        cluster.wait(SOON_MS);
    }
    assert_eq!((shown(&cluster, "alone"), shown(&cluster, "g-0")), (0, 0));
    cluster.lose_node("n1");
    cluster.settle().wait(NUMBERS_MS);
    assert!(says(&cluster, "alone").starts_with("0/1 nodes"), "{}", says(&cluster, "alone"));
    assert_eq!(shown(&cluster, "alone"), 1);
}

/// Who waits for something of its own is told in its turn, and what it shows is so in the end.
#[test]
fn many_who_wait_for_different_things_are_told_one_after_the_other() {
    let mut cluster = Cluster::default().nodes(1, 1);
    for cpu in 2..202 {
        let pod = cluster.sized(&format!("p{cpu}"), Role::Singleton, cpu);
        cluster.show(pod);
    }
    let mut steps = 0;
    loop {
        let events = std::mem::take(&mut cluster.events);
        steps += 1;
        if !cluster.scheduler.step(cluster.now, events).more {
            break;
        }
    }
    assert!(steps > 3, "{steps} steps for 200 looks at the nodes");
    cluster.settle();
    assert!(says(&cluster, "p201").ends_with("200 cpu short"), "{}", says(&cluster, "p201"));
}

/// The group that is short is named, in a gang of several too.
#[test]
fn the_task_group_that_is_short_is_named() {
    let mut cluster = Cluster::default().nodes(1, 4);
    for (name, cpu) in [("driver", 1), ("workers", 2)] {
        let mut spec = cluster.direct(name, if name == "driver" { 1 } else { 3 });
        (spec.application, spec.min_resource) = ("app".into(), size(cpu));
        spec.gang = listed(["driver", "workers"]);
        cluster.apply(name, spec);
    }
    cluster.member("driver-0", "driver");
    ["workers-0", "workers-1", "workers-2"].iter().for_each(|name| cluster.large_member(name, "workers", 2));
    cluster.settle();
    for name in ["driver", "workers"] {
        let message = cluster.report(name).message;
        assert!(message.contains("of 3 members of workers find"), "{message}");
    }
}

/// A gang of three that has nodes, and nothing of it runs.
fn bound(count: u32) -> Cluster {
    let mut cluster = Cluster::default().nodes(count, 1);
    let spec = cluster.direct("g", count);
    cluster.apply("g", spec);
    cluster.members("g", count);
    cluster.settle();
    cluster
}

#[test]
fn scheduled_is_not_running() {
    let mut cluster = bound(3);
    let set = |cluster: &mut Cluster, name: &str, runs: bool, held_up: Option<&str>| {
        let held_up = held_up.map(Into::into);
        cluster.change(name, |spec| {
            let Place::On { running, .. } = &mut spec.place else { panic!("it has a node") };
            (*running, spec.held_up) = (runs, held_up.clone());
        });
        cluster.settle();
    };
    ["g-0", "g-1", "g-2"].iter().for_each(|name| set(&mut cluster, name, false, None));
    assert_eq!(cluster.report("g").message, "3 of 3 members have a node, 0 run yet");
    ["g-0", "g-1"].iter().for_each(|name| set(&mut cluster, name, false, Some("ImagePullBackOff")));
    set(&mut cluster, "g-2", true, None);
    let report = cluster.report("g");
    assert_eq!(report.message, "3 of 3 members have a node, 1 runs: ImagePullBackOff on 2");
    assert_eq!((report.members.scheduled, report.members.running), (3, 1));
    ["g-0", "g-1"].iter().for_each(|name| set(&mut cluster, name, true, None));
    assert_eq!(cluster.report("g").message, "3 of 3 members run");
}

#[test]
fn a_node_that_is_not_ready_is_named() {
    let mut cluster = bound(2);
    let node = cluster.node_of("g-1").expect("it has one");
    let spec = cluster.nodes[&node].clone();
    cluster.show_node(&node, NodeSpec { taints: taint("node.kubernetes.io/unreachable"), ..spec.clone() });
    cluster.step();
    assert!(cluster.decisions.iter().any(|decision| matches!(decision, Decision::ShowGroup(_))));
    assert_eq!(cluster.report("g").message, format!("2 of 2 members run; node {node} is not ready (1 member)"));
    cluster.show_node(&node, spec);
    cluster.settle();
    assert_eq!(cluster.report("g").message, "2 of 2 members run");
}

/// "A Job that failed for good is not 'nothing is pending' without a word of the failure."
#[test]
fn how_members_ended_is_said() {
    let mut cluster = bound(3);
    cluster.finish("g-0", true);
    cluster.change("g-1", |spec| spec.place = Place::Failed { reason: "OOMKilled".into(), refused: false });
    cluster.settle();
    assert!(cluster.report("g").message.ends_with("; 1 member succeeded, 1 failed (OOMKilled)"));
    cluster.change("g-2", |spec| spec.place = Place::Failed { reason: "exit code 3".into(), refused: false });
    cluster.settle();
    let report = cluster.report("g");
    let ended = "1 member succeeded, 2 failed (1 OOMKilled, 1 exit code 3)";
    assert_eq!(
        (report.reason, report.message.starts_with(ended)),
        ("WaitingForCompletion", true),
        "{}",
        report.message
    );
    cluster.wait(30_000).settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.reason), (AppState::Completed, "SomeFailed"));
    assert_eq!(report.message, format!("the application is complete: {ended}"));
    // Pods are taken away, and a new process knows the numbers from status.
    ["g-0", "g-1", "g-2"].iter().for_each(|name| cluster.delete(name));
    cluster.settle().restart().settle();
    let report = cluster.report("g");
    assert_eq!(
        (report.reason, &*report.message),
        ("SomeFailed", "the application is complete: 1 member succeeded, 2 failed")
    );
}

/// A member that went with its node has failed; one that somebody deletes has not.
#[test]
fn who_went_with_its_node_is_lost() {
    let mut cluster = bound(2);
    let node = cluster.node_of("g-0").expect("it has one");
    cluster.lose_node(&node);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.reason, report.ended.failed), ("PartiallyLost", 1));
    assert!(report.message.ends_with("; 1 member failed (node lost)"), "{}", report.message);
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!(cluster.report("g").ended.failed, 1);
}

/// 01, 1.11: status is an input for "counts of members that ended": a success is not forgotten by a restart.
#[test]
fn a_seat_of_a_member_that_succeeded_and_is_gone_stays_taken_over_a_restart() {
    let mut cluster = bound(3);
    cluster.finish("g-0", true);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    let shown =
        |cluster: &Cluster| (cluster.report("g").reason, cluster.report("g").seats, cluster.report("g").message);
    let before = shown(&cluster);
    assert_eq!((before.0, &*before.2), ("Running", "2 of 3 members run; 1 member succeeded"));
    cluster.restart().settle();
    assert_eq!(shown(&cluster), before);
}

/// 01, 1.11: "counts of members that ended" are those of the incarnation: members of an earlier life are not in this
/// one's sentence.
#[test]
fn who_ended_in_an_earlier_life_does_not_count() {
    let mut cluster = bound(2);
    ["g-0", "g-1"].iter().for_each(|name| cluster.finish(name, true));
    cluster.settle().wait(30_000).settle();
    assert_eq!(cluster.state("g"), AppState::Completed);
    ["g-2", "g-3"].iter().for_each(|name| cluster.member(name, "g"));
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.incarnation, report.ended.succeeded, &*report.message), (2, 0, "2 of 2 members run"));
    cluster.restart().settle();
    assert_eq!((cluster.report("g").ended.succeeded, &*cluster.report("g").message), (0, "2 of 2 members run"));
}

/// What a pod asks for that no node has.
#[test]
fn who_waits_where_there_is_no_node_says_so() {
    let mut cluster = Cluster::default();
    let shape = Shape { request: Resources::pod(1, 1), ..Shape::default() };
    let alone = AskSpec { shape: shape.into(), ..cluster.pod("alone", Role::Singleton) };
    cluster.show(alone);
    cluster.settle();
    assert_eq!(says(&cluster, "alone"), "there is no node");
}
