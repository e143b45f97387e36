//! Recovery: a start, a leader change and a re-list are one code path (01, 1.11).

use gangline::core::decision::{Decision, TerminationType};
use gangline::core::event::{Event, GroupSpec, Place, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::SpecError;
use gangline::core::step::Scheduler;
use gangline::core::time::Mono;
use gangline::shim::observation::Outcome;
use gangline::shim::op::{Kind, Op};
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::driven::{Driven, group, member, node};
use crate::support::phases::{endings, held, interrupted, phases, running, timed_out};

/// 01, 1.11: "the state is a pure function of what the API server holds": whenever the process dies, the next one ends
/// where the first would have ended, without a word where there was nothing to do.
#[test]
fn a_restart_in_any_phase_ends_where_it_would_have_ended() {
    for (phase, cluster) in phases() {
        let mut through = cluster.clone();
        through.settle();
        let mut again = cluster.clone();
        again.restart().settle();
        assert_eq!(again.summary(), through.summary(), "{phase}: {:#?}", again.log);
        again.taken();
        again.restart().settle();
        assert_eq!((again.summary(), again.log), (through.summary(), Vec::new()), "{phase}, at rest");
    }
}

/// As above: nor does the order count in which the objects are listed.
#[test]
fn the_order_of_the_lists_does_not_count() {
    for (phase, cluster) in phases() {
        let mut first = cluster.clone();
        first.restart().settle();
        for turn in 0..6 {
            let mut other = cluster.clone();
            other.restart_in_order(|objects| {
                let half = objects.len() / 2;
                objects.rotate_left(turn * half / 3);
                if turn % 2 == 1 {
                    objects.reverse();
                }
            });
            other.settle();
            assert_eq!((other.summary(), &other.log), (first.summary(), &first.log), "{phase}, turn {turn}");
        }
    }
}

/// 01, 1.11: "Every pod that has a node is charged (nodes, queues, seats) before anything is decided"; 02, 2.1: "only
/// decisions wait for all kinds to be synced or unserved".
#[test]
fn nothing_is_decided_before_everything_is_listed() {
    let mut cluster = Cluster::unsynced().queue("root.q", 1);
    let mut wanted = cluster.pod("wanted", Role::Singleton);
    wanted.queue = Some("root.q".into());
    cluster.show(wanted);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.tell(Event::GroupsListed);
    cluster.node("n0", 4);
    cluster.step();
    assert_eq!((cluster.decisions.len(), cluster.scheduler.step(cluster.now, []).wake), (0, None));
    let mut running = cluster.pod("running", Role::Singleton);
    (running.queue, running.place) = (Some("root.q".into()), Place::On { node: "n0".into(), running: true });
    cluster.show(running);
    cluster.tell(Event::Synced);
    cluster.settle();
    assert_eq!(cluster.why("wanted"), Some("WaitingForQuota"));
    assert_eq!((cluster.cpu("root.q"), cluster.report("g").seats.held), (1000, 2));
}

/// 01, 1.11: "Every pod that has a node is charged": also on a node that is listed after it. That is seed 004 "node add": "recover
/// the allocation on the new node using a special process", without one.
#[test]
fn a_pod_is_charged_on_a_node_that_is_listed_later() {
    let mut cluster = Cluster::unsynced();
    let mut foreign = cluster.sized("foreign", Role::Foreign, 3);
    foreign.place = Place::On { node: "n0".into(), running: true };
    cluster.show(foreign);
    cluster.single("a");
    cluster.single("b");
    cluster.node("n0", 4);
    let mut cluster = cluster.synced();
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("b")), (vec!["a".into(), "foreign".into()], Some("Unschedulable")));
}

/// 01, 1.11: "placeholders are recognised by their own labels and name, with task group and flag"; seed 000 "Application
/// recovery": else they would be "skipped as part of the normal allocation cycle that replaces the placeholders".
#[test]
fn placeholders_found_are_replaced_like_others() {
    let mut cluster = held();
    cluster.restart().settle();
    assert_eq!((cluster.logged("create"), cluster.report("g").seats.held), (3, 3), "{:#?}", cluster.log);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.logged("release")), (vec!["g-0".into(), "g-1".into(), "g-2".into()], 3));
}

/// 01, 1.11: status is an input for what only it tells (ADR 0017): how many placeholders gave their seat to a member;
/// what somebody else wrote there does no harm.
#[test]
fn the_count_of_replaced_placeholders_goes_on() {
    for (said, then) in [(1, 2), (u32::MAX, u32::MAX)] {
        let mut cluster = held();
        cluster.member("g-0", "g");
        cluster.settle();
        cluster.statuses.get_mut("g").expect("it was shown").replaced = said;
        cluster.restart().settle();
        assert_eq!(cluster.report("g").replaced, said);
        cluster.member("g-1", "g");
        cluster.settle();
        assert_eq!(cluster.report("g").replaced, then);
        let spec = cluster.all("g", 3);
        cluster.lose_group("g");
        cluster.apply("g", spec);
        cluster.settle();
        assert_eq!(cluster.report("g").replaced, 0, "of another TaskGroup");
    }
}

/// 01, 1.11: "missing seats up to minMember are planned again only if no member carries the started annotation".
#[test]
fn seats_lost_while_we_are_down() {
    let mut before = held();
    before.pods.remove("ph-g-1-1-0");
    before.restart().settle();
    assert_eq!((before.report("g").seats.held, before.logged("create")), (3, 4));
    let mut after = running();
    after.pods.remove("ph-g-1-1-0");
    after.taken();
    after.restart().settle();
    assert_eq!((after.report("g").seats.open, after.log.clone()), (1, Vec::new()));
    assert_eq!((after.state("g"), after.report("g").reason), (AppState::Running, "PartiallyLost"));
}

/// As above: "and Placed is not True": all members went while we were down, and the gang does not begin anew.
#[test]
fn placed_says_that_a_gang_started() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    assert!(cluster.statuses["g"].placed);
    cluster.pods.clear();
    cluster.taken();
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.log.clone()), (AppState::Waiting, Vec::new()));
    cluster.wait(30_000).settle();
    assert_eq!(cluster.state("g"), AppState::Completed);
}

/// As above: "of this incarnation": what ran in an earlier life starts nothing.
#[test]
fn members_of_an_earlier_incarnation_start_nothing() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    (0..2).for_each(|number| cluster.finish(&format!("g-{number}"), true));
    cluster.settle().wait(30_000).settle();
    let spec = GroupSpec { generation: 2, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    cluster.settle();
    cluster.pods.remove("ph-g-2-1-0");
    cluster.restart().settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.incarnation, report.seats.held), (AppState::Accepted, 2, 2), "{:#?}", cluster.log);
}

/// 01, 1.11, the known exception: "all started members vanish while we are down and before any status was written".
#[test]
fn a_start_that_nothing_tells_of_begins_anew() {
    let mut cluster = interrupted(1, 4);
    cluster.pods.remove("g-0");
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Accepted, "WaitingForMembers"));
}

/// 01, 1.12: "shrinking or deleting one never disturbs running work (a deleted queue drains)": within its limits, which the
/// next process reads from an object that has no valid place any more.
#[test]
fn a_queue_without_a_place_keeps_its_limits_over_a_restart() {
    let mut cluster = running();
    cluster.node("n9", 4);
    let max = cluster.queues["root.q"].clone();
    cluster.queues.remove("root.q");
    for number in 1..12 {
        cluster.member(&format!("g-{number}"), "g");
    }
    cluster.restart_in_order(|objects| objects.insert(0, Event::QueueDisplaced("root.q".into(), max.clone())));
    cluster.settle();
    assert_eq!(cluster.cpu("root.q"), 9000, "its limit, although twelve ask, and there is room for them");
}

/// 01, 1.11: "Quota below usage after a configuration change never rejects or forgets running work": nor does a queue
/// that is gone, or a spec that is wrong by now.
#[test]
fn running_work_survives_what_was_changed_while_we_were_down() {
    let changes: [fn(&mut Cluster); 3] = [
        |cluster| cluster.set_queue("root.q", 1),
        |cluster| cluster.lose_queue("root.q"),
        |cluster| {
            let spec = cluster.groups.get_mut("g").expect("the group exists");
            spec.errors = vec![SpecError { field: "spec.x".into(), problem: "is wrong".into() }];
            spec.generation = 2;
        },
    ];
    for change in changes {
        for mut cluster in [running(), interrupted(3, 4)] {
            cluster.settle();
            let (bound, usage) = (cluster.bound(), cluster.cpu("root"));
            change(&mut cluster);
            cluster.taken();
            cluster.restart().settle();
            assert_eq!((cluster.state("g"), cluster.bound()), (AppState::Running, bound), "{:#?}", cluster.log);
            assert_eq!((cluster.cpu("root.q"), cluster.cpu("root"), cluster.log.len()), (usage, usage, 0));
        }
    }
}

/// 01, 1.11: "no placeholder is created for a gang that already started": nor for members that are missing.
#[test]
fn a_started_gang_gets_no_placeholders() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 4);
    cluster.apply("g", spec);
    cluster.members("g", 4);
    cluster.settle();
    ["g-1", "g-2"].iter().for_each(|name| drop(cluster.pods.remove(*name)));
    cluster.taken();
    cluster.restart().settle().wait(60_000).settle();
    assert_eq!((cluster.report("g").reason, cluster.log.clone()), ("PartiallyLost", Vec::new()));
}

/// 01, 1.11: "nothing leaks": whenever the process died, nothing is left when all objects are gone.
#[test]
fn nothing_leaks_over_a_restart() {
    for (phase, mut cluster) in phases() {
        cluster.restart().settle();
        assert_eq!(cluster.clear_away(), [""; 0], "{phase}");
    }
}

/// 01, 1.11: status is an input for "deadlines"; 1.7: "All deadlines are durable across a restart and visible".
#[test]
fn the_completion_deadline_goes_on_over_a_restart() {
    let mut cluster = interrupted(3, 4);
    cluster.settle();
    (0..3).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    let ends = cluster.report("g").deadlines.of(Deadline::Completion).expect("it waits");
    cluster.wait(10_000);
    cluster.now.mono = Mono(0);
    cluster.restart().settle();
    assert_eq!(
        (cluster.state("g"), cluster.report("g").deadlines.of(Deadline::Completion)),
        (AppState::Waiting, Some(ends))
    );
    cluster.wait(19_999).settle();
    assert_eq!(cluster.state("g"), AppState::Waiting);
    cluster.wait(1).settle();
    assert_eq!(cluster.state("g"), AppState::Completed);
}

/// 02, 2.1: "jumps of the wall clock neither fire nor freeze anything", whether we run or are down.
#[test]
fn the_wall_clock_may_jump() {
    let mut waiting = interrupted(3, 4);
    waiting.settle();
    (0..3).for_each(|number| waiting.delete(&format!("g-{number}")));
    waiting.settle();
    let decade = 10 * 365 * 24 * 3_600_000_i64;
    for jump in [decade, -decade] {
        for restart in [false, true] {
            let mut cluster = waiting.clone();
            cluster.now.wall.0 += jump;
            if restart {
                cluster.restart();
            }
            cluster.settle();
            // A process that starts ten years later finds the deadline over.
            let is_over = restart && jump > 0;
            assert_eq!(cluster.state("g") == AppState::Completed, is_over, "{jump} {restart}");
            cluster.wait(30_000).settle();
            assert_eq!(cluster.state("g"), AppState::Completed, "{jump} {restart}");
        }
    }
}

/// 01, 1.11: status is an input for "terminal states": a completed application stays completed, in its incarnation.
#[test]
fn a_completed_application_stays_completed() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    (0..2).for_each(|number| cluster.finish(&format!("g-{number}"), true));
    cluster.settle().wait(30_000).settle();
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Completed, 1));
    cluster.members("g", 3);
    cluster.pods.remove("g-0");
    cluster.restart().settle();
    assert_eq!(cluster.report("g").incarnation, 2, "a new ask is a new life all the same");
}

/// 01, 1.11: a starting API server says of a kind for a moment that it is not served; what was reserved in a queue stays
/// until the queues are known.
#[test]
fn seats_stay_while_nobody_can_know_their_queue() {
    let mut blind = held();
    let objects = blind.objects();
    blind.scheduler = Scheduler::new();
    blind.taken();
    let (queues, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(|event| matches!(event, Event::Queue(..)));
    others.into_iter().for_each(|event| blind.tell(event));
    blind.tell(Event::GroupsListed);
    blind.tell(Event::Synced);
    blind.settle();
    assert_eq!((blind.log.len(), blind.placeholders(), blind.report("g").reason), (0, 3, "WaitingForQueues"));
    queues.into_iter().for_each(|event| blind.tell(event));
    blind.tell(Event::QueuesListed);
    blind.settle();
    assert_eq!((blind.log.len(), blind.report("g").seats.held, blind.cpu("root.q")), (0, 3, 3000));
}

/// 01, 1.11: a kind that is not served yet is not known to be empty: a pod outside applications is not told that its
/// queue does not exist before that is known.
#[test]
fn a_pod_whose_queue_nobody_can_know_is_told_so() {
    let mut cluster = Cluster::unsynced();
    let mut single = cluster.pod("single", Role::Singleton);
    single.queue = Some("root.none".into());
    cluster.show(single);
    cluster.tell(Event::GroupsListed);
    cluster.tell(Event::Synced);
    cluster.settle();
    assert_eq!(cluster.told("single").map(|(code, _)| code), Some("WaitingForQueues"));
    let mut above = cluster.pod("above", Role::Singleton);
    above.queue = Some("root".into());
    cluster.show(above);
    cluster.settle();
    assert_eq!(cluster.why("above"), Some("QueueNotLeaf"), "that is certain");
    cluster.tell(Event::QueuesListed);
    cluster.settle();
    assert_eq!(cluster.told("single").map(|(code, _)| code), Some("QueueNotFound"));
}

/// 01, 1.2.3: what can be known of a queue without a Queue object is said at once.
#[test]
fn a_queue_that_is_no_leaf_is_known_to_be_none() {
    let mut cluster = Cluster::unsynced();
    cluster.tell(Event::GroupsListed);
    cluster.tell(Event::Synced);
    let spec = cluster.direct("g", 1);
    cluster.submit("g", "root", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "QueueNotLeaf");
}

/// 01, 1.5 and 1.11: placeholders whose TaskGroup went while we were down are deleted, but not as long as nobody can know.
#[test]
fn strays_are_deleted_once_task_groups_are_listed() {
    let mut cluster = held();
    cluster.groups.remove("g");
    let objects = cluster.objects();
    let mut blind = cluster;
    blind.scheduler = Scheduler::new();
    blind.taken();
    objects.into_iter().for_each(|event| blind.tell(event));
    blind.tell(Event::Synced);
    blind.settle();
    assert_eq!((blind.log.len(), blind.placeholders(), blind.cpu("root")), (0, 3, 3000));
    blind.tell(Event::GroupsListed);
    blind.step();
    let stopped = |decision: &Decision| matches!(decision, Decision::Release(_, TerminationType::StoppedByRm));
    assert_eq!(blind.decisions.iter().filter(|decision| stopped(decision)).count(), 3);
    blind.settle();
    assert_eq!(blind.clear_away(), [""; 0]);
}

/// 01, 1.2.3: "a restart must not decide differently": pods and TaskGroups before their Queue, all in one list.
#[test]
fn a_rejection_is_the_same_after_a_restart() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 3);
    for (name, min) in [("small", 3), ("large", 4)] {
        let spec = cluster.direct(name, min);
        cluster.submit(name, "root.q", spec);
        cluster.members(name, min);
    }
    cluster.settle();
    let expected = cluster.summary();
    cluster.restart_in_order(|objects| objects.reverse()).settle();
    assert_eq!(cluster.summary(), expected);
    assert_eq!((cluster.state("large"), cluster.state("small")), (AppState::Rejected, AppState::Running));
}

/// 01, 1.11: "A start, a leader change and a re-list are one code path": in every phase all objects may be listed once
/// more, and nothing follows.
#[test]
fn a_list_of_what_is_known_changes_nothing() {
    for (phase, cluster) in phases().into_iter().chain(endings()) {
        let mut again = cluster.clone();
        let mut objects = again.objects();
        objects.extend([Event::GroupsListed, Event::QueuesListed, Event::Synced]);
        objects.into_iter().for_each(|event| again.tell(event));
        again.step();
        assert_eq!((again.waiting(), again.summary()), (cluster.waiting(), cluster.summary()), "{phase}");
    }
}

/// 01, 1.11: "status is an input for exactly these: incarnation, deadlines, `Placed=True`, terminal states, Resuming,
/// timed out, counts of members that ended": whatever else it says decides nothing.
#[test]
fn nothing_else_that_status_says_counts() {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Running", "message": "2 of 2 members run", "observedGeneration": 1,
               "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let conditions = ["Accepted", "QuotaReserved", "Running", "Finished"].map(condition);
    let mut known = group(&json!({"reservation": "Direct"}));
    known["status"] = json!({
        "observedGeneration": 1, "queue": "root.default", "applicationState": "Running", "incarnation": 1,
        "reason": "Running", "message": "2 of 2 members run", "selector": "x=y",
        "counts": {"required": 2, "pending": 0, "held": 2, "placeholders": 2, "kept": 2, "replaced": 0, "scheduled": 2,
                   "running": 2, "succeeded": 0, "failed": 0},
        "conditions": conditions});
    let mut driven = Driven::unsynced();
    driven.list(&[(Kind::Node, &node("n1")), (Kind::TaskGroup, &known), (Kind::Pod, &member("m0"))]);
    driven.wait(60_000);
    let calls = driven.taken();
    let mut statuses = calls
        .iter()
        .filter_map(|call| if let Op::PatchTaskGroupStatus { status, .. } = &call.op { Some(status) } else { None });
    let last = statuses.next_back().map(|status| (&*status.application_state, &*status.reason));
    assert_eq!(last, Some(("Accepted", "WaitingForMembers")), "{calls:#?}");
    assert!(!calls.iter().any(|call| matches!(call.op, Op::Bind { .. } | Op::CreatePod(_) | Op::DeletePod { .. })));
    calls.iter().for_each(|call| driven.answer(call, Outcome::Ok(None)));
    driven.upsert(Kind::Pod, &member("m1"));
    assert_eq!(driven.rules().get("create pods/binding"), Some(&2));
}

/// 01, 1.11: "Running members are never failed": not for a status that says Killed, whoever wrote it.
#[test]
fn who_runs_does_not_fail_for_what_status_says() {
    let mut cluster = timed_out(Style::Hard);
    cluster.carry_out_shows();
    assert_eq!(cluster.statuses["g"].state, Some(AppState::Killed));
    cluster.change("g-0", |spec| spec.place = Place::On { node: "n0".into(), running: true });
    cluster.taken();
    for _ in 0..3 {
        cluster.restart().settle().wait(60_000).settle();
        assert_eq!((cluster.logged("fail"), cluster.logged("create")), (0, 0), "{:#?}", cluster.log);
        assert!(cluster.bound().contains(&"g-0".to_owned()) && cluster.cpu("root") >= 1_000);
    }
}

/// As above where the TaskGroup went, in whatever state: of it the next process finds pods alone.
#[test]
fn a_task_group_that_went_while_we_were_down_leaves_what_runs() {
    for (phase, mut cluster) in phases().into_iter().chain(endings()) {
        cluster.groups.remove("g");
        cluster.statuses.remove("g");
        let runs =
            |cluster: &Cluster| cluster.bound().into_iter().filter(|pod| !pod.starts_with("ph-")).collect::<Vec<_>>();
        let before = runs(&cluster);
        cluster.restart().settle();
        assert_eq!((cluster.placeholders(), runs(&cluster)), (0, before.clone()), "{phase}: {:#?}", cluster.log);
        assert_eq!(cluster.cpu("root"), 1_000 * i128::try_from(before.len()).expect("few"), "{phase}");
        assert_eq!(cluster.clear_away(), [""; 0], "{phase}");
    }
}
