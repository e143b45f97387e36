//! What YuniKorn's core asserts of applications and placeholders (`scheduler/objects`).

use std::sync::Arc;

use gangline::core::base::resources::Resources;
use gangline::core::event::{AskSpec, GroupSpec, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::shape::Shape;

use crate::support::cluster::{Cluster, timeouts};
use crate::support::phases::{held, running};

/// Completion takes 600 s, and placeholders hold seats for 60 s.
fn a_running_gang_of_three(style: Style) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 9);
    let timeouts = timeouts(Deadline::Completion, 600).with(Deadline::Placeholder, Some(60_000));
    let spec = GroupSpec { style, timeouts, ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.member("g-0", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 2));
    drop(cluster.taken());
    cluster
}

fn releases(cluster: &mut Cluster) -> Vec<String> {
    cluster.taken().into_iter().filter(|line| line.starts_with("release")).collect()
}

/// TestRemoveAllocAskWithPlaceholders: there the application is Completing when its last placeholder ask is removed. Here a
/// gang that has not started keeps what it asks for: the seats are asked for again, and it stays Accepted.
#[test]
fn pending_placeholders_that_go_are_asked_for_again() {
    let mut cluster = Cluster::default().queue("root.q", 4);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    for (gone, left) in [("ph-g-1-0-0", "ph-g-1-1-0"), ("ph-g-1-1-0", "ph-g-1-0-1")] {
        cluster.delete(gone);
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Accepted, 2));
        assert!(cluster.pods.contains_key(left), "{:?}", cluster.pods.keys());
        assert_eq!(cluster.cpu("root.q"), 0);
    }
}

/// TestRemovePlaceholderAllocationWithNoRealAllocation: there the application is Completing without its only placeholder. Here
/// the seat is held again, and charged once.
#[test]
fn the_only_placeholder_that_goes_is_made_again() {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    let spec = cluster.all("g", 1);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.delete("ph-g-1-0-0");
    cluster.step();
    assert_eq!(cluster.state("g"), AppState::Accepted);
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.cpu("root.q")), (vec!["ph-g-1-0-1".to_owned()], 1_000));
}

/// TestGangAllocChange: there the application is Running when the sum of its placeholders equals what it asks for. Here when
/// its first real pod is to be bound, whatever the placeholders add up to; later pods leave it so, and usage adds up.
#[test]
fn a_gang_runs_with_its_first_member_and_not_with_its_last_placeholder() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 9);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.step().carry("create");
    for placeholder in ["bind ph-g-1-0-0", "bind ph-g-1-1-0"] {
        cluster.carry(placeholder);
        assert_eq!(cluster.state("g"), AppState::Accepted, "{placeholder}");
    }
    for (number, cpu) in [(0, 2_000), (1, 2_000), (2, 3_000)] {
        cluster.member(&format!("g-{number}"), "g");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.cpu("root.q")), (AppState::Running, cpu));
    }
}

/// TestReplaceAllocation: a placeholder that goes without a partner is removed; it counts as replaced there. Here only one
/// whose seat a member took does, and its room is kept for the member that is to come (01, 1.5).
#[test]
fn a_placeholder_without_a_partner_is_not_counted_as_replaced() {
    let mut cluster = running();
    let before = cluster.report("g").replaced;
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!((before, cluster.report("g").replaced, cluster.cpu("root.q")), (1, 1, 3_000));
    cluster.member("g-1", "g");
    cluster.settle();
    let report = cluster.report("g");
    assert!(cluster.node_of("g-1").is_some());
    assert_eq!(report.replaced + u32::try_from(cluster.placeholders()).expect("few"), 2, "{:#?}", cluster.log);
}

/// TestReplaceAllocationTracking: placeholders are counted until the last one is swapped, and a confirmation that comes twice
/// counts once.
#[test]
fn placeholders_are_counted_down_with_each_swap() {
    let mut cluster = held();
    for number in 0..3 {
        cluster.member(&format!("g-{number}"), "g");
        cluster.settle();
        let report = cluster.report("g");
        assert_eq!((report.replaced, report.members.placeholders), (number + 1, 2 - number));
        assert_eq!(cluster.cpu("root.q"), 3_000);
    }
}

/// TestTimeoutPlaceholderAllocReleased: of a gang that runs, a timeout takes the placeholders that do not leave already, and
/// the application goes on, in either style.
#[test]
fn a_timeout_takes_no_placeholder_that_leaves_already() {
    for style in [Style::Soft, Style::Hard] {
        let mut cluster = a_running_gang_of_three(style);
        cluster.wait(59_000);
        cluster.member("g-1", "g");
        cluster.step();
        assert_eq!(releases(&mut cluster).len(), 1, "the swap");
        cluster.wait(1_000);
        cluster.carry_out_shows().step();
        assert_eq!(releases(&mut cluster).len(), 1, "the other one");
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.placeholders(), cluster.bound().len()), (AppState::Running, 0, 2));
    }
}

/// TestTimeoutPlaceholderAllocPreempted and TestTimeoutPlaceholderCompletingWithPreemptedPh: one that is being evicted when the
/// time is over is not released once more, whether the application runs or waits for its end.
#[test]
fn a_timeout_does_not_release_what_is_being_evicted() {
    for ends in [false, true] {
        let mut cluster = a_running_gang_of_three(Style::Soft);
        if ends {
            cluster.finish("g-0", true);
            cluster.settle();
        }
        let state = cluster.state("g");
        assert_eq!(state, if ends { AppState::Waiting } else { AppState::Running });
        cluster.change("ph-g-1-1-0", |spec| spec.terminating = true);
        cluster.settle().taken();
        cluster.wait(600_000).carry_out_shows().step();
        assert_eq!(releases(&mut cluster), ["release ph-g-1-2-0 timeout"], "{ends}");
    }
}

/// TestTimeoutPlaceholderCompleting: an application that waits for its end, with placeholders left, gives them up at their
/// timeout, and still waits.
#[test]
fn a_gang_that_waits_for_its_end_gives_placeholders_up_in_time() {
    let mut cluster = a_running_gang_of_three(Style::Soft);
    cluster.finish("g-0", true);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Waiting, 2));
    cluster.wait(60_000).settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Waiting, 0));
    let expected = ["release ph-g-1-1-0 timeout", "release ph-g-1-2-0 timeout"];
    assert_eq!(releases(&mut cluster), expected);
}

/// TestAppTimersAfterAppRemoval: with the application its timers go, too.
#[test]
fn an_application_that_is_removed_leaves_no_timer() {
    for style in [Style::Soft, Style::Hard] {
        let mut cluster = a_running_gang_of_three(style);
        assert!(cluster.report("g").deadlines.of(Deadline::Placeholder).is_some());
        assert_eq!(cluster.clear_away(), [""; 0]);
        assert_eq!((cluster.scheduler.step(cluster.now, []).wake, cluster.waiting()), (None, vec![]));
    }
}

/// TestGetOutstandingRequests_AskReplaceable: for a pod that has a seat nobody has to add a node, so it is not Unschedulable.
#[test]
fn a_pod_that_can_take_a_seat_calls_for_no_node() {
    let mut cluster = Cluster::default().nodes(1, 3);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.members("g", 4);
    cluster.step();
    let why = |cluster: &Cluster| (0..4).map(|number| cluster.why(&format!("g-{number}"))).collect::<Vec<_>>();
    let unschedulable = |cluster: &Cluster| why(cluster).iter().filter(|why| **why == Some("Unschedulable")).count();
    assert_eq!(unschedulable(&cluster), 1, "the one beyond the seats: {:?}", why(&cluster));
    cluster.settle();
    assert_eq!((unschedulable(&cluster), cluster.bound().len()), (1, 3));
}

/// TestNodeReplaceAllocation: after a swap the node is charged with the real pod: what that is smaller is there for others,
/// and no more.
#[test]
fn a_node_has_the_difference_after_a_swap() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let spec = cluster.all("g", 1);
    cluster.apply("g", spec);
    cluster.settle();
    let half = Arc::new(Shape { request: Resources::pod(500, 1 << 20), ..Shape::default() });
    let member = cluster.pod("g-0", Role::Member { group: "g".into() });
    cluster.show(AskSpec { shape: half.clone(), ..member });
    for name in ["s-0", "s-1"] {
        let single = cluster.pod(name, Role::Singleton);
        cluster.show(AskSpec { shape: half.clone(), created: 30, ..single });
    }
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("s-1")), (vec!["g-0".into(), "s-0".into()], Some("Unschedulable")));
}
