//! Kept seats: the room of lost members (01, 1.5).

use gangline::core::base::ids::Key;
use gangline::core::event::{Event, GroupSpec, Place, Role};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::NodeSpec;

use crate::support::cluster::{Cluster, NS, timeouts};
use crate::support::phases::{HOLD_MS, full_direct as full};

fn kept(cluster: &Cluster) -> (u32, u32) {
    (cluster.report("g").seats.kept, cluster.report("g").seats.open)
}

/// 01, 1.5: "When a Taken member fails, is evicted, or is deleted while it was running, its seat becomes Kept in the same
/// update that frees the allocation: the same node and size stay charged to node and queue (no pod is made for it)".
#[test]
fn the_seat_of_a_lost_member_is_kept() {
    let losses: [fn(&mut Cluster); 4] = [
        |cluster| cluster.delete("g-1"),
        |cluster| cluster.finish("g-1", false),
        |cluster| cluster.change("g-1", |spec| spec.place = Place::Failed { reason: "Evicted".into(), refused: false }),
        // Whoever stops when told may end well: its work was not done.
        |cluster| {
            cluster.change("g-1", |spec| spec.terminating = true);
            cluster.finish("g-1", true);
        },
    ];
    for loss in losses {
        let mut cluster = full(4, 2);
        let node = cluster.node_of("g-1").expect("it runs");
        loss(&mut cluster);
        // In the same update: nobody is given the room.
        cluster.single("stranger");
        cluster.settle();
        assert_eq!((kept(&cluster), cluster.cpu("root.q")), ((1, 0), 4000), "{:#?}", cluster.log);
        assert_eq!((cluster.why("stranger"), cluster.logged("create")), (Some("Unschedulable"), 0));
        assert_eq!((cluster.report("g").reason, cluster.state("g")), ("SeatsKept", AppState::Running));
        cluster.member("g-4", "g");
        cluster.settle();
        assert_eq!((cluster.node_of("g-4"), cluster.report("g").seats.taken), (Some(node), 4));
        assert_eq!((cluster.why("stranger"), cluster.report("g").reason), (Some("Unschedulable"), "Running"));
    }
}

/// 01, 1.5: "A member that Succeeded, or is itself beyond `minMember`, leaves no Kept seat".
#[test]
fn who_succeeded_or_was_beyond_the_seats_leaves_none() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 3) };
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    cluster.member("g-3", "g");
    cluster.settle();
    cluster.delete("g-3");
    cluster.finish("g-0", true);
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.report("g").seats.taken), ((0, 0), 3));
    cluster.single("stranger");
    cluster.settle();
    assert!(cluster.node_of("stranger").is_some());
}

/// 01, 1.5: "A running member beyond `minMember` takes over a lost seat at once, and nothing is kept."
#[test]
fn a_member_beyond_the_seats_takes_over_a_lost_one() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 3) };
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    cluster.member("g-3", "g");
    cluster.settle();
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.report("g").seats.taken), ((0, 0), 3));
    assert_eq!(cluster.report("g").reason, "Running");
}

/// 01, 1.5: "for `seatHoldSeconds` (default 60, 0 = never)"; 1.7: "the Kept seat is given back"; then `PartiallyLost`.
#[test]
fn a_hold_ends() {
    let mut cluster = full(4, 2);
    cluster.delete("g-1");
    cluster.single("stranger");
    cluster.settle().wait(HOLD_MS - 1).settle();
    assert_eq!((kept(&cluster), cluster.node_of("stranger")), ((1, 0), None));
    cluster.wait(1).settle();
    assert_eq!((kept(&cluster), cluster.report("g").reason), ((0, 1), "PartiallyLost"));
    assert_eq!((cluster.node_of("stranger").is_some(), cluster.cpu("root.q")), (true, 3000));
    let mut cluster = full(4, 2);
    let spec = GroupSpec { seat_hold: 0, generation: 2, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    cluster.settle();
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!(kept(&cluster), (0, 1), "a hold is changed like a timeout");
}

/// 01, 1.2.4: "once started, only timeouts can be changed", and a hold that runs changes with them: it ends as if it had
/// always been so long.
#[test]
fn a_hold_that_runs_changes_with_its_time() {
    let change = |cluster: &mut Cluster, seat_hold: u64, generation: i64| {
        let spec = GroupSpec { seat_hold, generation, ..cluster.groups["g"].clone() };
        cluster.apply("g", spec);
        cluster.settle();
    };
    let mut cluster = full(4, 2);
    cluster.delete("g-1");
    cluster.settle().wait(40_000);
    change(&mut cluster, 100_000, 2);
    cluster.wait(HOLD_MS - 1).settle();
    assert_eq!(kept(&cluster), (1, 0), "just before 100 s");
    cluster.wait(1).settle();
    assert_eq!(kept(&cluster), (0, 1));
    // Over, counted anew.
    cluster.delete("g-2");
    cluster.settle().wait(30_000);
    assert_eq!(kept(&cluster), (1, 1));
    change(&mut cluster, 20_000, 3);
    cluster.wait(1).settle();
    assert_eq!(kept(&cluster), (0, 2));
    // An edit that leaves it as it is changes nothing.
    cluster.delete("g-3");
    cluster.settle();
    change(&mut cluster, 20_000, 4);
    cluster.wait(19_999).settle();
    assert_eq!(kept(&cluster), (1, 2));
}

/// 01, 1.5: "A new member of the gang renews the others' holds, to at most twice the time since their loss."
#[test]
fn members_that_come_renew_the_other_holds() {
    let mut cluster = full(4, 1);
    (0..3).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle().wait(50_000);
    cluster.member("g-4", "g");
    cluster.settle().wait(HOLD_MS - 1).settle();
    assert_eq!(kept(&cluster), (2, 0), "110 s after the loss");
    cluster.member("g-5", "g");
    cluster.settle().wait(10_000).settle();
    assert_eq!(kept(&cluster), (1, 0), "just before 120 s");
    cluster.wait(2).settle();
    assert_eq!(kept(&cluster), (0, 1), "twice the hold is over");
}

/// 01, 1.5: "on that node if it fits and else wherever it does with the seat's charge credited."
#[test]
fn a_larger_member_goes_where_it_fits_with_the_kept_seat_given_back() {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", 4);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    let (lost, other) = (cluster.node_of("g-0").expect("it runs"), cluster.node_of("g-1").expect("it runs"));
    assert_eq!(lost, other, "the fullest node first");
    cluster.delete("g-0");
    cluster.settle();
    cluster.large_member("g-2", "g", 2);
    cluster.settle();
    let node = cluster.node_of("g-2").expect("the other node has room");
    assert!(node != lost && kept(&cluster) == (0, 0), "{:#?}", cluster.log);
    // With the seat given back the quota suffices: 1 + 3 of 4.
    cluster.node("n9", 3);
    cluster.delete("g-2");
    cluster.settle();
    cluster.large_member("g-3", "g", 3);
    cluster.settle();
    assert_eq!((cluster.node_of("g-3"), cluster.cpu("root.q")), (Some("n9".into()), 4000), "{:#?}", cluster.log);
}

/// 01, 1.5: "If the node is gone, cordoned, or has just refused the member, the seat is planned elsewhere at once, and
/// until that succeeds it is tried first in its queue's order."
#[test]
fn a_seat_whose_node_does_not_take_it_is_kept_elsewhere() {
    let losses: [fn(&mut Cluster, &str); 3] = [
        |cluster, node| cluster.lose_node(node),
        |cluster, node| cluster.show_node(node, NodeSpec { unschedulable: true, ..cluster.nodes[node].clone() }),
        |cluster, _| {
            cluster.change("g-0", |spec| spec.place = Place::Failed { reason: "OutOfcpu".into(), refused: true });
        },
    ];
    for loss in losses {
        for is_room in [true, false] {
            let mut cluster = Cluster::default().nodes(2, 1).queue("root.q", 9);
            let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
            cluster.submit("g", "root.q", spec);
            cluster.members("g", 2);
            cluster.settle();
            let node = cluster.node_of("g-0").expect("it runs");
            if is_room {
                cluster.node("n2", 1);
            }
            loss(&mut cluster, &node);
            cluster.settle();
            if cluster.pods["g-0"].1.place.failure().is_none() {
                cluster.delete("g-0");
            }
            cluster.settle();
            assert_eq!(
                (kept(&cluster), kept_on(&cluster)),
                ((1, 0), is_room.then(|| "n2".to_owned())),
                "{:#?}",
                cluster.log
            );
            if is_room {
                cluster.single("stranger");
                cluster.member("g-2", "g");
                cluster.settle();
                assert_eq!(cluster.node_of("g-2"), Some("n2".to_owned()), "who comes in its place has it");
                assert_ne!(cluster.node_of("stranger"), Some("n2".to_owned()));
                continue;
            }
            assert!(
                cluster.report("g").message.contains("nothing is reserved now for 1 of them"),
                "{}",
                cluster.report("g").message
            );
            ["stranger", "another"].iter().for_each(|name| cluster.single(name));
            cluster.settle();
            cluster.node("n3", 1);
            cluster.settle();
            assert_eq!(kept_on(&cluster), Some("n3".to_owned()), "before others that wait");
            assert!(["stranger", "another"].iter().all(|name| cluster.node_of(name) != Some("n3".into())));
        }
    }
}

/// Where the one seat is kept.
fn kept_on(cluster: &Cluster) -> Option<String> {
    let books = &cluster.scheduler.books;
    let charge = books.kept.iter().find_map(|(_, kept)| kept.charge.as_ref())?;
    books.nodes.name(charge.node).map(ToString::to_string)
}

/// 01, 1.5: "or an originator that started with the gang"; "(for an originator: the next pod of the application outside its
/// groups)"; "nor does one whose TaskGroup is deleted".
#[test]
fn the_room_of_a_lost_originator_is_kept_for_the_next() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.originator("driver", "g");
    cluster.settle();
    assert!(cluster.node_of("driver").is_some());
    cluster.delete("driver");
    cluster.single("stranger");
    cluster.settle();
    assert_eq!((cluster.cpu("root.q"), cluster.why("stranger")), (3000, Some("Unschedulable")));
    cluster.originator("driver-2", "g");
    cluster.settle();
    assert!(cluster.node_of("driver-2").is_some());
    cluster.delete("driver-2");
    cluster.settle();
    cluster.lose_group("g");
    cluster.settle();
    assert!(cluster.node_of("stranger").is_some(), "nobody can come for it any more");
}

/// 01, 1.5: "An application is not Completed before its last hold ends, and counts towards `maxApplications` while it has
/// one."
#[test]
fn an_application_with_kept_seats_is_not_complete() {
    let mut cluster = full(2, 1);
    let limits = cluster.queues["root.q"].clone();
    cluster.show_queue("root.q", gangline::core::event::QueueSpec { max_applications: Some(1), ..limits });
    let other =
        GroupSpec { min_resource: gangline::core::base::resources::Resources::pod(1, 1), ..cluster.direct("h", 1) };
    cluster.submit("h", "root.q", other);
    let mut small = cluster.pod("h-0", Role::Member { group: "h".into() });
    small.shape = std::sync::Arc::new(gangline::core::shape::Shape {
        request: gangline::core::base::resources::Resources::pod(0, 1),
        ..Default::default()
    });
    cluster.show(small);
    cluster.settle();
    assert_eq!(cluster.report("h").reason, "WaitingForApplications");
    ["g-0", "g-1"].into_iter().for_each(|pod| cluster.delete(pod));
    cluster.settle().wait(45_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("h").reason), (AppState::Waiting, "WaitingForApplications"));
    cluster.wait(15_000).settle();
    assert_eq!((cluster.state("g"), cluster.state("h")), (AppState::Completed, AppState::Running));
}

/// 01, 1.5: "Kept seats are memory: a restart forgets them."
#[test]
fn a_new_process_keeps_nothing() {
    let mut cluster = full(4, 2);
    cluster.delete("g-1");
    cluster.settle();
    cluster.restart().settle();
    assert_eq!((kept(&cluster), cluster.cpu("root.q")), ((0, 1), 3000));
    assert_eq!(cluster.clear_away(), Vec::<&str>::new());
}

/// A gang of three of which one runs; the room of one that is to come was lost with its placeholder. Placeholders may hold seats
/// for so long.
fn a_placeholder_lost(seat_hold: u64, seconds: u64) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let timeouts = timeouts(Deadline::Completion, 30).with(Deadline::Placeholder, Some(1_000 * seconds));
    let spec = GroupSpec { seat_hold, timeouts, ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.settle().wait(100_000);
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.delete("ph-g-1-2-0");
    cluster.single("stranger");
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.why("stranger")), ((1, 0), Some("Unschedulable")));
    cluster
}

/// 01, 1.5: "A placeholder lost … after [the start] too, while members are to come": whatever is said of members that are lost.
#[test]
fn a_placeholder_lost_after_the_start_is_held_on() {
    for seat_hold in [0, HOLD_MS] {
        let mut cluster = a_placeholder_lost(seat_hold, 900);
        cluster.wait(2 * HOLD_MS + 1).settle();
        assert_eq!((kept(&cluster), cluster.why("stranger")), ((1, 0), Some("Unschedulable")));
        cluster.member("g-1", "g");
        cluster.settle();
        let seats = cluster.report("g").seats;
        assert_eq!((kept(&cluster), seats.held, seats.taken), ((0, 0), 1, 2), "who comes takes it first");
        cluster.member("g-2", "g");
        cluster.settle();
        assert_eq!((kept(&cluster), cluster.report("g").seats.taken), ((0, 0), 3));
    }
}

/// As long as the placeholder could have held it, by the timeout that is in force.
#[test]
fn what_a_placeholder_held_is_kept_until_placeholders_go() {
    let over = |cluster: &mut Cluster, ms: u64| {
        cluster.wait(ms - 1).settle();
        assert_eq!(kept(cluster), (1, 0));
        cluster.wait(1).settle();
        assert_eq!(
            (kept(cluster), cluster.node_of("stranger").is_some()),
            ((0, 2), true),
            "the other one is given back"
        );
    };
    over(&mut a_placeholder_lost(HOLD_MS, 900), 800_000);
    let mut longer = a_placeholder_lost(HOLD_MS, 900);
    let timeouts = longer.groups["g"].timeouts.with(Deadline::Placeholder, Some(1_000_000));
    let spec = GroupSpec { timeouts, generation: 2, ..longer.groups["g"].clone() };
    longer.apply("g", spec);
    longer.settle();
    over(&mut longer, 900_000);
}

/// 01, 1.8: placeholders that are left do not keep an application from its end, nor does what is kept for them.
#[test]
fn what_a_placeholder_held_goes_with_the_end() {
    let mut cluster = a_placeholder_lost(0, 900);
    cluster.finish("g-0", true);
    cluster.settle().wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.kept), (AppState::Completed, 0));
    assert!(cluster.node_of("stranger").is_some());
}

/// As above: another scheduler, which does not know of it, gives the room away.
#[test]
fn a_seat_whose_room_another_scheduler_gives_away_is_kept_elsewhere() {
    let mut cluster = full(2, 2);
    cluster.delete("g-0");
    cluster.settle();
    let node = kept_on(&cluster).expect("it is kept");
    cluster.node("n9", 1);
    let mut foreign = cluster.sized("foreign", Role::Foreign, 1);
    foreign.place = Place::On { node: node.as_str().into(), running: true };
    cluster.show(foreign);
    cluster.settle();
    assert_eq!(kept_on(&cluster), Some("n9".to_owned()));
}

/// 01, 1.11 with 1.5: what is kept is kept in the queue of the application, and credited there only.
#[test]
fn what_is_kept_in_another_queue_is_not_credited() {
    let mut cluster = full(2, 1).queue("root.b", 2);
    cluster.node("n9", 4);
    let edited = GroupSpec { queue: Some("root.b".into()), generation: 2, ..cluster.groups["g"].clone() };
    cluster.apply("g", edited);
    (0..2).for_each(|number| cluster.change(&format!("g-{number}"), |spec| spec.terminating = true));
    cluster.other("small", "root.b", 1);
    (2..4).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    assert_eq!((cluster.cpu("root.b"), cluster.report("g").reason), (1000, "WaitingForQuota"), "{:#?}", cluster.log);
    cluster.delete("small");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.b")), (AppState::Running, 2000));
}

/// 01, 1.5: "an originator that started with the gang": a new process knows who did, and keeps the seats that are lost
/// after it began.
#[test]
fn a_new_process_knows_who_started_with_the_gang() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.originator("driver", "g");
    cluster.settle();
    cluster.restart().settle();
    ["driver", "g-0"].iter().for_each(|name| cluster.delete(name));
    cluster.single("stranger");
    cluster.settle();
    assert_eq!((cluster.cpu("root.q"), cluster.why("stranger")), (3000, Some("Unschedulable")));
}

/// 01, 1.5: "A replacement … takes a Kept seat of its group first, on that node if it fits": though it would be placed
/// elsewhere if it were any other pod.
#[test]
fn who_comes_takes_the_kept_room_before_any_other() {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", 9);
    let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.direct("g", 2) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 2);
    cluster.settle();
    let node = cluster.node_of("g-0").expect("it runs");
    cluster.delete("g-0");
    cluster.settle();
    for replacement in ["g-2", "g-3"] {
        let other = format!("before-{replacement}");
        cluster.single(&other);
        cluster.member(replacement, "g");
        cluster.settle();
        assert_eq!(
            (cluster.node_of(replacement).as_ref(), kept(&cluster)),
            (Some(&node), (0, 0)),
            "{:#?}",
            cluster.log
        );
        assert!(cluster.node_of(&other).is_some_and(|elsewhere| elsewhere != node));
        cluster.delete(replacement);
        cluster.settle();
    }
}

/// 01, 1.5: "a restart or a change of leader forgets them …, a re-list does not": every object comes once more.
#[test]
fn a_list_takes_nothing_that_is_kept_away() {
    let mut cluster = full(4, 2);
    cluster.delete("g-1");
    cluster.single("stranger");
    cluster.settle();
    let before = cluster.summary();
    let mut objects = cluster.objects();
    objects.extend([Event::GroupsListed, Event::QueuesListed, Event::Synced]);
    objects.into_iter().for_each(|event| cluster.tell(event));
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.summary()), ((1, 0), before));
}

/// 01, 1.5: "nor does one whose TaskGroup is deleted": who goes after it leaves nothing.
#[test]
fn nothing_is_kept_of_who_goes_after_its_task_group() {
    let mut cluster = full(4, 2);
    cluster.single("stranger");
    cluster.lose_group("g");
    cluster.settle();
    assert_eq!((cluster.node_of("stranger"), cluster.cpu("root.q")), (None, 4_000));
    cluster.delete("g-2");
    cluster.settle();
    assert_eq!((cluster.node_of("stranger").is_some(), cluster.cpu("root.q")), (true, 3_000));
}

/// 01, 1.5: "Scaling down by the user is not a loss: the hold runs out quietly, and `PartiallyLost` is said only while
/// seats are wanted by members that exist, or were never filled again within the hold."
#[test]
fn a_seat_that_nobody_wants_is_not_said_to_be_lost_while_it_is_kept() {
    let mut cluster = full(4, 4);
    let node = cluster.node_of("g-1").expect("it runs");
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.report("g").reason), ((1, 0), "SeatsKept"));
    // The room is gone, and still nobody wants it.
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!((kept(&cluster), cluster.report("g").reason), ((1, 0), "SeatsKept"));
    let id = *cluster.scheduler.books.group_ids.get(&Key::new(NS, "g")).expect("it is known");
    let passes = |cluster: &Cluster| cluster.scheduler.may_pass_soon(id);
    assert!(passes(&cluster));
    cluster.member("g-4", "g");
    cluster.settle();
    assert_eq!((cluster.node_of("g-4"), cluster.report("g").reason), (None, "PartiallyLost"));
    assert!(!passes(&cluster), "what is said of those that wait is not kept back");
    cluster.node("n9", 1);
    cluster.settle();
    assert_eq!((cluster.node_of("g-4"), cluster.report("g").reason), (Some("n9".into()), "Running"));
}

/// 01, 1.5: a seat that is lost after the start is kept: also one whose member goes while its placeholder leaves for it, or
/// before it is seen bound.
#[test]
fn the_room_of_a_member_that_goes_in_its_swap_is_kept() {
    for late in [false, true] {
        let mut cluster = Cluster::default().nodes(2, 1);
        let spec = GroupSpec { seat_hold: HOLD_MS, ..cluster.all("g", 2) };
        cluster.apply("g", spec);
        cluster.settle();
        cluster.member("g-0", "g");
        cluster.settle();
        cluster.single("s");
        cluster.settle();
        cluster.member("g-1", "g");
        cluster.step();
        assert_eq!(cluster.report("g").seats.releasing, 1);
        if late {
            cluster.carry("release");
            cluster.decisions.clear();
        }
        cluster.delete("g-1");
        cluster.settle();
        assert_eq!((cluster.node_of("s"), cluster.report("g").kept), (None, 1), "late: {late}, {:#?}", cluster.log);
        cluster.member("g-2", "g");
        cluster.settle();
        assert!(cluster.node_of("g-2").is_some() && cluster.node_of("s").is_none(), "{:#?}", cluster.log);
    }
}
