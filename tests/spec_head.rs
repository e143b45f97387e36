//! Starvation: how often, or how long, the first possible gang in line is overtaken (01, 1.2.6).

use std::sync::Arc;

use gangline::core::base::resources::{Limit, Resources};
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, Event, HeadOfLine, Place, QueueSpec, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::Refusal;
use gangline::core::shape::{NodeSpec, Shape};
use gangline::core::time::Wall;
use proptest::prelude::*;

use crate::support::cluster::{Cluster, size};

/// What holds where nothing is said: `afterSeconds: 600`.
const BOUND_MS: u64 = 600_000;

fn bounded(cpu: Option<i128>, bound: HeadOfLine) -> QueueSpec {
    let max = Limit::new(cpu.into_iter().map(|cpu| ("cpu".into(), cpu * 1000)));
    QueueSpec { max, head_of_line: Some(bound), ..QueueSpec::default() }
}

/// A Direct gang with all its members of one core, the `created`th to come.
fn gang(cluster: &mut Cluster, name: &str, queue: &str, (created, count): (i64, u32)) {
    let mut spec = cluster.direct(name, count);
    spec.created = created;
    cluster.submit(name, queue, spec);
    cluster.members(name, count);
    cluster.settle();
}

fn runs(cluster: &Cluster, name: &str) -> bool {
    cluster.state(name) == AppState::Running
}

/// A gang that has started ends, with all its members.
fn end(cluster: &mut Cluster, name: &str, count: u32) {
    (0..count).for_each(|number| cluster.delete(&format!("{name}-{number}")));
    cluster.settle();
}

/// A queue of four cores of which `run` has two for good; `big` asks for four, and others for two.
fn crowded(bound: HeadOfLine) -> Cluster {
    let mut cluster = Cluster::default().nodes(9, 4);
    cluster.show_queue("root.q", bounded(Some(4), bound));
    gang(&mut cluster, "run", "root.q", (1, 2));
    gang(&mut cluster, "big", "root.q", (2, 4));
    cluster
}

/// 01, 1.2.6: "bounds how often … it is overtaken. Past the bound no application behind it in its leaf queue starts
/// before it does …, and headroom freed … is kept for it."
#[test]
fn the_first_in_line_is_overtaken_so_often_and_no_more() {
    for most in [0, 1, 3] {
        let mut cluster = crowded(HeadOfLine::MaxOvertakes(most));
        for number in 0..most {
            let name = format!("small{number}");
            gang(&mut cluster, &name, "root.q", (3 + i64::from(number), 2));
            assert!(runs(&cluster, &name), "{name} of {most}");
            end(&mut cluster, &name, 2);
        }
        gang(&mut cluster, "last", "root.q", (9, 2));
        assert_eq!((runs(&cluster, "last"), cluster.report("last").reason), (false, "WaitingForFirst"));
        assert_eq!(cluster.why("last-0"), Some("WaitingForFirst"));
        let (told, said) = (cluster.report("last").message, cluster.report("big").message);
        assert!(told.contains("big is first in line in queue root.q") && told.contains("since 1970-01-01T"), "{told}");
        assert!(said.contains("asks for 4 cpu"), "{said}");
        assert!(said.contains("first in line in queue root.q: since 1970-01-01T"), "{said}");
        end(&mut cluster, "run", 2);
        assert_eq!((runs(&cluster, "big"), runs(&cluster, "last")), (true, false));
        assert!(!cluster.report("last").message.contains("big is first"), "{}", cluster.report("last").message);
        end(&mut cluster, "big", 4);
        assert!(runs(&cluster, "last"));
    }
}

/// As above, of applications of pods alone, which are let in together: each starts in its own turn.
#[test]
fn of_applications_of_pods_alone_so_many_overtake_and_no_more() {
    for most in [0, 1, 2] {
        let mut cluster = crowded(HeadOfLine::MaxOvertakes(most));
        for name in ["x", "y"] {
            let spec = cluster.pod(name, Role::Originator { application: name.into() });
            cluster.show(AskSpec { queue: Some("root.q".into()), ..spec });
        }
        cluster.settle();
        let bound = |cluster: &Cluster| cluster.bound().iter().filter(|name| ["x", "y"].contains(&&***name)).count();
        assert_eq!(bound(&cluster), most as usize);
        assert_eq!(cluster.why("y"), (most < 2).then_some("WaitingForFirst"), "{most}");
    }
}

/// 01, 1.2.6: "… or how long"; "default `afterSeconds: 600`", "inherited".
#[test]
fn the_first_in_line_is_overtaken_so_long_and_no_longer() {
    for (bound, own, above) in [
        (5_000, Some(HeadOfLine::After(5_000)), Some(HeadOfLine::Unbounded)),
        (7_000, None, Some(HeadOfLine::After(7_000))),
        (BOUND_MS, None, None),
    ] {
        let mut cluster = crowded(HeadOfLine::Unbounded);
        cluster.show_queue("root", QueueSpec { head_of_line: above, ..QueueSpec::default() });
        let spec = bounded(Some(4), HeadOfLine::Unbounded);
        cluster.show_queue("root.q", QueueSpec { head_of_line: own, ..spec });
        cluster.wait(bound - 1).settle();
        gang(&mut cluster, "early", "root.q", (3, 2));
        assert!(runs(&cluster, "early"), "{bound}");
        cluster.wait(1).settle();
        assert!(cluster.report("big").message.contains("nothing behind it starts"), "{bound}: by the timer alone");
        end(&mut cluster, "early", 2);
        gang(&mut cluster, "late", "root.q", (4, 2));
        assert_eq!(cluster.report("late").reason, "WaitingForFirst", "{bound}");
    }
}

/// 01, 1.2.6: "`{}` = unbounded" (ADR 21).
#[test]
fn without_a_bound_it_is_overtaken_for_ever() {
    let mut cluster = crowded(HeadOfLine::Unbounded);
    for number in 0..20 {
        cluster.wait(BOUND_MS).settle();
        let name = format!("small{number}");
        gang(&mut cluster, &name, "root.q", (3 + number, 2));
        assert!(runs(&cluster, &name));
        end(&mut cluster, &name, 2);
    }
    // Another bound holds as soon as the queue says so.
    cluster.show_queue("root.q", bounded(Some(4), HeadOfLine::After(1)));
    gang(&mut cluster, "last", "root.q", (99, 2));
    assert!(!runs(&cluster, "last"));
    cluster.show_queue("root.q", bounded(Some(4), HeadOfLine::Unbounded));
    cluster.settle();
    assert!(runs(&cluster, "last"));
}

/// 01, 1.2.6: "possible means that its plan succeeds on the eligible nodes with our own pods taken away (DaemonSet,
/// static and other schedulers' pods stay)"; "An impossible gang never holds anything."
#[test]
fn an_impossible_gang_keeps_nobody_waiting() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.show_queue("root.q", bounded(None, HeadOfLine::MaxOvertakes(0)));
    // A pod of a DaemonSet on each node: no member of four cores ever fits.
    for node in ["n0", "n1"] {
        let mut daemon = cluster.pod(&format!("daemon-{node}"), Role::Foreign);
        daemon.place = Place::On { node: node.into(), running: true };
        cluster.show(daemon);
    }
    for (created, name) in [(1, "whole"), (2, "more")] {
        let mut spec = cluster.direct(name, 1);
        (spec.created, spec.min_resource) = (created, size(4));
        cluster.submit(name, "root.q", spec);
        cluster.large_member(&format!("{name}-0"), name, 4);
        cluster.settle();
    }
    gang(&mut cluster, "small", "root.q", (3, 3));
    assert!(runs(&cluster, "small"), "{}", cluster.report("small").message);
    gang(&mut cluster, "next", "root.q", (4, 4));
    assert!(!runs(&cluster, "next"), "it is possible, and first in line");
    gang(&mut cluster, "tiny", "root.q", (5, 1));
    assert_eq!(cluster.report("tiny").reason, "WaitingForFirst");
    // The nodes lose their DaemonSet: within half a minute the first is possible, and first in line.
    cluster.delete("daemon-n0");
    cluster.delete("daemon-n1");
    cluster.settle();
    end(&mut cluster, "small", 3);
    cluster.wait(30_000).settle();
    assert!(
        runs(&cluster, "whole") || cluster.report("tiny").message.contains("whole is first"),
        "{}",
        cluster.summary()
    );
}

/// Gangs that were impossible and ask for less now are all looked at again, however many and however quiet the nodes are.
#[test]
fn more_impossible_gangs_than_one_look_judges() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.show_queue("root.q", bounded(None, HeadOfLine::MaxOvertakes(0)));
    cluster.other("run", "root.q", 4);
    let names: Vec<String> = (0..18).map(|number| format!("g{number:02}")).collect();
    for (created, name) in (30..).zip(&names) {
        let mut spec = cluster.direct(name, 1);
        (spec.created, spec.min_resource) = (created, size(4));
        cluster.submit(name, "root.q", spec);
        cluster.large_member(&format!("{name}-0"), name, 5);
    }
    cluster.settle();
    assert!(names.iter().all(|name| !cluster.report(name).message.contains("first in line")));
    for name in &names {
        cluster
            .change(&format!("{name}-0"), |spec| spec.shape = Arc::new(Shape { request: size(4), ..Shape::default() }));
    }
    cluster.settle();
    (0..3).for_each(|_| _ = cluster.wait(30_000).settle());
    assert!(cluster.report("g00").message.contains("first in line"), "{}", cluster.report("g00").message);
    names[..17].iter().for_each(|name| cluster.lose_group(name));
    cluster.settle();
    assert!(cluster.report("g17").message.contains("first in line"), "{}", cluster.report("g17").message);
}

/// A node that takes a gang is all it needs to be possible again, and one that goes makes it impossible.
#[test]
fn who_is_first_follows_the_nodes() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.show_queue("root.q", bounded(None, HeadOfLine::MaxOvertakes(0)));
    gang(&mut cluster, "run", "root.q", (1, 3));
    gang(&mut cluster, "big", "root.q", (2, 8));
    gang(&mut cluster, "small", "root.q", (3, 1));
    assert!(runs(&cluster, "small"), "eight members do not fit a node of four cores");
    cluster.show_node("n1", node(4));
    cluster.show_node("n2", node(1));
    cluster.settle();
    cluster.wait(30_000).settle();
    gang(&mut cluster, "late", "root.q", (4, 1));
    assert_eq!(cluster.report("late").reason, "WaitingForFirst");
    cluster.lose_node("n1");
    cluster.settle();
    cluster.wait(30_000).settle();
    assert!(runs(&cluster, "late"), "{}", cluster.report("late").message);
}

fn node(cpu: i64) -> NodeSpec {
    let allocatable = Resources { base: [cpu * 1000, 100 << 30, 0, 110], rare: Vec::new() };
    NodeSpec { allocatable, ..NodeSpec::default() }
}

/// 01, 1.2.6: "those that started go on and get what they ask for: a driver must not wait for executors that wait for its
/// end"; pods alone start applications, too.
#[test]
fn who_has_started_gets_what_it_asks_for() {
    let mut cluster = Cluster::default().nodes(9, 4);
    cluster.show_queue("root.q", bounded(Some(6), HeadOfLine::MaxOvertakes(0)));
    gang(&mut cluster, "driver", "root.q", (1, 1));
    let mut alone = cluster.pod("alone-0", Role::Originator { application: "alone".into() });
    alone.queue = Some("root.q".into());
    cluster.show(alone);
    cluster.settle();
    assert!(cluster.node_of("alone-0").is_some());
    gang(&mut cluster, "big", "root.q", (2, 5));
    for (name, role) in [
        ("single", Role::Singleton),
        ("other-0", Role::Originator { application: "other".into() }),
        ("alone-1", Role::Originator { application: "alone".into() }),
    ] {
        let mut pod = cluster.pod(name, role);
        pod.queue = Some("root.q".into());
        cluster.show(pod);
    }
    cluster.member("driver-1", "driver");
    cluster.settle();
    let placed = ["driver-1", "alone-1", "single", "other-0"].map(|name| cluster.node_of(name).is_some());
    assert_eq!(placed, [true, true, false, false]);
    assert_eq!((cluster.why("single"), cluster.why("other-0")), (Some("WaitingForFirst"), Some("WaitingForFirst")));
    end(&mut cluster, "driver", 2);
    cluster.delete("alone-0");
    cluster.delete("alone-1");
    cluster.settle();
    assert!(runs(&cluster, "big"));
    assert!(cluster.node_of("single").is_some() != cluster.node_of("other-0").is_some(), "one core is left");
}

/// 01, 1.2.6: "headroom freed on its path up to the ancestor that refuses it is kept for it": against those behind it in
/// the order, in other queues, too.
#[test]
fn what_an_ancestor_lacks_is_kept() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.p", 4);
    cluster.show_queue("root.p.a", bounded(None, HeadOfLine::MaxOvertakes(0)));
    cluster.show_queue("root.p.b", bounded(None, HeadOfLine::Unbounded));
    gang(&mut cluster, "run", "root.p.b", (1, 2));
    gang(&mut cluster, "big", "root.p.a", (5, 4));
    gang(&mut cluster, "behind", "root.p.b", (6, 1));
    let told = cluster.report("behind").message;
    assert_eq!(cluster.report("behind").reason, "WaitingForQuota");
    assert!(told.contains("big is first in line in queue root.p.a"), "{told}");
    let mut pod = cluster.pod("single", Role::Singleton);
    pod.queue = Some("root.p.b".into());
    cluster.show(pod);
    gang(&mut cluster, "before", "root.p.b", (2, 1));
    assert_eq!((runs(&cluster, "before"), cluster.node_of("single")), (true, None));
    assert_eq!(cluster.why("single"), Some("WaitingForQuota"));
    end(&mut cluster, "before", 1);
    end(&mut cluster, "run", 2);
    assert!(runs(&cluster, "big") && !runs(&cluster, "behind"));
    end(&mut cluster, "big", 4);
    assert!(runs(&cluster, "behind") && cluster.node_of("single").is_some());
}

/// Its own queue holds more than it asks for, and nothing above refuses it: others lose nothing by it.
#[test]
fn what_nobody_refuses_is_not_kept() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.p", 9);
    cluster.show_queue("root.p.a", bounded(None, HeadOfLine::MaxOvertakes(0)));
    gang(&mut cluster, "run", "root.p.b", (1, 1));
    cluster.show_queue("root.p.b", bounded(None, HeadOfLine::Unbounded));
    cluster.settle();
    gang(&mut cluster, "big", "root.p.a", (2, 4));
    assert!(cluster.report("big").message.contains("first in line"), "{}", cluster.report("big").message);
    gang(&mut cluster, "behind", "root.p.b", (3, 2));
    assert!(runs(&cluster, "behind"), "{}", cluster.report("behind").message);
}

/// 01, 1.2.6: "where two holds meet at one ancestor the older one wins, and the other waits without holding".
#[test]
fn of_two_that_meet_the_older_one_holds() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.p", 4);
    for queue in ["root.p.a", "root.p.b"] {
        cluster.show_queue(queue, bounded(None, HeadOfLine::MaxOvertakes(0)));
    }
    gang(&mut cluster, "run", "root.p.a", (1, 2));
    gang(&mut cluster, "second", "root.p.b", (6, 4));
    cluster.wait(1).settle();
    gang(&mut cluster, "first", "root.p.a", (5, 3));
    let holds = |cluster: &Cluster, name: &str| cluster.report(name).message.contains("nothing behind it starts");
    assert_eq!((holds(&cluster, "second"), holds(&cluster, "first")), (true, false));
    end(&mut cluster, "run", 2);
    assert!(runs(&cluster, "first") && !runs(&cluster, "second"), "it comes first in the order, all the same");
    end(&mut cluster, "first", 3);
    assert!(runs(&cluster, "second"));
}

/// One that comes before it and starts at once, or never can, changes nothing of how long it was first.
#[test]
fn who_passes_by_takes_nothing_from_the_first_in_line() {
    let mut cluster = crowded(HeadOfLine::After(5_000));
    cluster.wait(5_000).settle();
    gang(&mut cluster, "small", "root.q", (3, 2));
    assert!(!runs(&cluster, "small"));
    // Older ones: the first fits, the second no node.
    gang(&mut cluster, "older", "root.q", (0, 1));
    assert_eq!((runs(&cluster, "older"), runs(&cluster, "small")), (true, false));
    let mut spec = cluster.direct("huge", 1);
    spec.created = 0;
    cluster.submit("huge", "root.q", spec);
    let mut huge = cluster.pod("huge-0", Role::Member { group: "huge".into() });
    let selector = [("zone".into(), "none".into())].into();
    huge.shape = Arc::new(Shape { selector, ..(*huge.shape).clone() });
    cluster.show(huge);
    cluster.settle();
    assert!(!runs(&cluster, "small") && cluster.report("small").message.contains("big is first"));
    end(&mut cluster, "older", 1);
    end(&mut cluster, "run", 2);
    assert!(runs(&cluster, "big"));
}

/// A gang that waits for a place among the applications of its queue keeps nobody waiting who has one: it would wait for
/// their end, and they for its start.
#[test]
fn nobody_waits_for_a_gang_that_waits_for_a_place_among_applications() {
    let mut cluster = Cluster::default();
    let spec = bounded(None, HeadOfLine::MaxOvertakes(0));
    cluster.show_queue("root.q", QueueSpec { max_applications: Some(1), ..spec });
    let mut alone = cluster.pod("alone", Role::Originator { application: "alone".into() });
    alone.queue = Some("root.q".into());
    cluster.show(alone);
    cluster.settle();
    gang(&mut cluster, "big", "root.q", (2, 4));
    assert_eq!(cluster.report("big").reason, "WaitingForApplications");
    cluster.node("n0", 4);
    cluster.settle();
    assert!(cluster.node_of("alone").is_some(), "{:?}", cluster.why("alone"));
    cluster.delete("alone");
    cluster.settle();
    assert!(runs(&cluster, "big"));
}

/// What the API server refuses, nobody can give: a gang that waits for neither quota nor nodes keeps nobody waiting.
#[test]
fn nobody_waits_for_a_gang_whose_placeholders_are_refused() {
    let mut cluster = Cluster::default().nodes(9, 4);
    cluster.show_queue("root.q", bounded(None, HeadOfLine::MaxOvertakes(0)));
    let refusal = Refusal { code: 403, message: "no".into() };
    let spec = cluster.all("refused", 2);
    cluster.submit("refused", "root.q", spec);
    cluster.step();
    let refused = cluster.decisions.iter().filter_map(|decision| {
        let Decision::CreatePlaceholder(name) = decision else { return None };
        Some(Event::CreateRefused(name.clone(), refusal.clone()))
    });
    let refused: Vec<_> = refused.collect();
    cluster.decisions.clear();
    refused.into_iter().for_each(|event| cluster.tell(event));
    cluster.step();
    assert_eq!(cluster.report("refused").reason, "PlaceholderRejected");
    gang(&mut cluster, "other", "root.q", (99, 2));
    assert!(runs(&cluster, "other"), "{}", cluster.report("other").message);
}

/// The one that waits without holding holds as soon as the older one has gone, whether or not somebody asks.
#[test]
fn who_had_to_yield_holds_when_the_older_one_goes() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.p", 4);
    for queue in ["root.p.a", "root.p.b"] {
        cluster.show_queue(queue, bounded(None, HeadOfLine::MaxOvertakes(0)));
    }
    cluster.show_queue("root.p.c", bounded(None, HeadOfLine::Unbounded));
    gang(&mut cluster, "run", "root.p.a", (1, 2));
    gang(&mut cluster, "older", "root.p.b", (6, 4));
    cluster.wait(1).settle();
    gang(&mut cluster, "younger", "root.p.a", (5, 3));
    assert!(!cluster.report("younger").message.contains("first in line"));
    cluster.lose_group("older");
    cluster.settle();
    assert!(cluster.report("younger").message.contains("first in line in queue root.p.a"));
    gang(&mut cluster, "third", "root.p.c", (9, 1));
    assert_eq!((runs(&cluster, "third"), cluster.report("third").reason), (false, "WaitingForQuota"));
}

/// Who stands between the first in line and the next waits for the first alone.
#[test]
fn who_stands_before_the_next_first_does_not_wait_for_it() {
    let mut cluster = crowded(HeadOfLine::MaxOvertakes(0));
    cluster.change("big-0", |spec| spec.priority = 5);
    let mut between = cluster.pod("between", Role::Singleton);
    (between.queue, between.priority) = (Some("root.q".into()), 3);
    cluster.show(between);
    gang(&mut cluster, "next", "root.q", (3, 3));
    assert_eq!((cluster.why("between"), cluster.report("next").reason), (Some("WaitingForFirst"), "WaitingForFirst"));
    cluster.lose_group("big");
    cluster.settle();
    assert!(cluster.node_of("between").is_some(), "{:?}", cluster.why("between"));
    assert!(cluster.report("next").message.contains("first in line in queue root.q"), "it is the first now");
}

/// Who leaves the line lets go: its task group is deleted, or it starts.
#[test]
fn who_goes_lets_go() {
    let mut cluster = crowded(HeadOfLine::MaxOvertakes(0));
    gang(&mut cluster, "small", "root.q", (3, 2));
    assert!(!runs(&cluster, "small"));
    cluster.lose_group("big");
    cluster.settle();
    assert!(runs(&cluster, "small"));
    assert_eq!(cluster.clear_away(), [""; 0]);
}

proptest! {
    /// "since when": as Kubernetes' own times are written.
    #[test]
    fn a_time_is_written_as_in_rfc_3339(seconds in -62_135_596_800_i64..253_402_300_799, millis in 0_i64..1_000) {
        let expected = jiff::Timestamp::from_second(seconds).expect("a year of four digits").to_string();
        prop_assert_eq!(Wall(seconds * 1_000 + millis).to_string(), expected);
    }
}

/// 01, 1.2.6: "headroom freed on its path up to the ancestor that refuses it is kept for it": and above that one nothing.
#[test]
fn above_the_queue_that_refuses_nothing_is_kept() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.p", 6);
    cluster.show_queue("root.p.a", bounded(Some(4), HeadOfLine::MaxOvertakes(0)));
    cluster.show_queue("root.p.b", bounded(None, HeadOfLine::Unbounded));
    gang(&mut cluster, "run", "root.p.a", (1, 2));
    gang(&mut cluster, "big", "root.p.a", (2, 4));
    assert!(cluster.report("big").message.contains("first in line"), "{}", cluster.report("big").message);
    gang(&mut cluster, "beside", "root.p.b", (3, 4));
    assert!(runs(&cluster, "beside"), "its own queue refuses it: {}", cluster.report("beside").message);
    end(&mut cluster, "run", 2);
    gang(&mut cluster, "late", "root.p.b", (9, 2));
    assert_eq!((runs(&cluster, "big"), cluster.report("late").reason), (false, "WaitingForQuota"), "now root.p does");
    end(&mut cluster, "beside", 4);
    assert!(runs(&cluster, "big"));
}

/// Whoever stands behind the place of the first in line waits for it, also where it has come before them since.
#[test]
fn who_is_passed_by_the_first_in_line_waits_for_it() {
    let mut cluster = crowded(HeadOfLine::MaxOvertakes(0));
    cluster.other("urgent", "root.q", 3);
    cluster.change("urgent", |spec| spec.priority = 3);
    cluster.settle();
    assert_eq!(cluster.why("urgent"), Some("WaitingForQuota"), "it stands before the first in line");
    (0..4).for_each(|number| cluster.change(&format!("big-{number}"), |spec| spec.priority = 5));
    cluster.settle();
    assert_eq!(cluster.why("urgent"), Some("WaitingForFirst"));
    (0..4).for_each(|number| cluster.change(&format!("big-{number}"), |spec| spec.priority = 0));
    cluster.settle();
    assert_eq!(cluster.why("urgent"), Some("WaitingForQuota"));
}
