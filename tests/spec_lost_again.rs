//! Placeholders that are lost again and again: given less and less, and told of (01, 1.5; docs/adr/0015).

use gangline::core::decision::Decision;
use gangline::core::event::{BindOutcome, Event};
use gangline::core::model::gang::{BACK_OFF_AT_MOST_MS, BACK_OFF_MS, LOST_AGAIN_MS};
use gangline::core::reason::Refusal;

use crate::support::cluster::Cluster;
use crate::support::phases::held;

/// 01, 1.5: what is lost is planned again at once. Who takes whatever comes would be given more without a pause else
/// (docs/adr/0015).
#[test]
fn who_takes_placeholders_again_and_again_is_given_less_and_less() {
    /// What somebody does to a placeholder that holds a seat, and what is said of it.
    type Taken = (fn(&mut Cluster, &str), &'static str);
    fn terminates(cluster: &mut Cluster, name: &str) {
        cluster.change(name, |spec| spec.terminating = true);
        cluster.step();
    }
    let acts: [Taken; 5] = [
        (|cluster, name| cluster.finish(name, false), "was refused or put off by node n0 (Error)"),
        (|cluster, name| cluster.finish(name, true), "ended by itself"),
        (|cluster, name| cluster.delete(name), "was deleted by somebody else"),
        (
            |cluster, name| {
                terminates(cluster, name);
                cluster.wait(1).delete(name);
            },
            "was deleted by somebody else",
        ),
        (
            |cluster, name| {
                terminates(cluster, name);
                cluster.wait(1).finish(name, false);
                // That it is gone in the end is no second loss.
                cluster.wait(1).delete(name);
            },
            "was deleted by somebody else",
        ),
    ];
    for (act, said) in acts {
        let mut cluster = Cluster::default().nodes(1, 4);
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.settle();
        is_given_less_and_less(&mut cluster, |cluster| act(cluster, &cluster.bound().remove(1)), said);
    }
}

/// As above, of placeholders that wait for nodes: their deletion is told twice, or at once.
#[test]
fn who_takes_pending_placeholders_again_and_again_is_given_less_and_less() {
    for told_twice in [false, true] {
        let mut cluster = Cluster::default().nodes(1, 2);
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.settle();
        let take = |cluster: &mut Cluster| {
            let name = cluster.pods.keys().find(|name| name.starts_with("ph-g-1-1-")).cloned().expect("it waits");
            if told_twice {
                cluster.change(&name, |spec| spec.terminating = true);
                cluster.step();
            }
            cluster.delete(&name);
        };
        is_given_less_and_less(&mut cluster, take, "was deleted by somebody else");
    }
}

/// As above, where it is noticed by the answer to its Binding.
#[test]
fn who_changes_placeholders_while_they_are_bound_is_given_less_and_less() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    let refuse = |cluster: &mut Cluster| {
        cluster.step().carry("create");
        let name = cluster.pods.keys().find(|name| name.starts_with("ph-g-1-1-")).cloned().expect("it is there");
        let (ask, _) = cluster.pods[&name];
        let is_its = |decision: &Decision| matches!(decision, Decision::Allocate { ask: own, .. } if *own == ask);
        cluster.decisions.retain(|decision| !is_its(decision));
        let refusal = Refusal { code: 409, message: "changed".into() };
        cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal)));
        cluster.step();
    };
    refuse(&mut cluster);
    cluster.wait(1).carry("release").carry("create");
    refuse(&mut cluster);
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((cluster.placeholders(), report.reason), (0, "PlaceholdersLost"), "{:#?}", cluster.log);
    assert!(report.message.contains("was deleted or changed by somebody else while it was being bound"));
}

/// A member that comes and goes before the start is no placeholder that is lost.
#[test]
fn a_member_that_goes_again_and_again_loses_no_placeholder() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle().wait(1_000).carry("create");
    for _ in 0..3 {
        assert_eq!(cluster.report("g").reason, "BindingPlaceholders", "g-0 has a seat");
        cluster.delete("g-0");
        cluster.wait(1);
        assert_ne!(cluster.report("g").reason, "PlaceholdersLost");
        cluster.member("g-0", "g");
        cluster.wait(1);
    }
}

fn is_given_less_and_less(cluster: &mut Cluster, take: impl Fn(&mut Cluster), said: &str) {
    let there = cluster.placeholders();
    take(cluster);
    cluster.settle();
    assert_eq!((cluster.placeholders(), there), (3, 3), "once is nothing");
    let pauses = std::iter::successors(Some(BACK_OFF_MS), |pause| Some(BACK_OFF_AT_MOST_MS.min(2 * pause)));
    for (round, pause) in pauses.take(9).enumerate() {
        // Longer than a moment after the longest pause too.
        cluster.wait(if round < 3 { 1 } else { 5_000 });
        take(cluster);
        cluster.settle();
        let report = cluster.report("g");
        assert_eq!((cluster.placeholders(), report.reason), (0, "PlaceholdersLost"), "{said}");
        assert!(report.message.contains(said), "{}", report.message);
        // Since it was taken.
        cluster.wait(pause - 2);
        assert_eq!(cluster.waiting(), [""; 0]);
        cluster.wait(2).settle();
        assert_eq!(cluster.placeholders(), 3);
    }
}

/// Who takes the placeholders of many seats once, as a drain does, or one of a seat long after another, is given others.
#[test]
fn a_seat_that_is_lost_once_in_a_while_is_planned_again_at_once() {
    let mut cluster = held();
    for names in [["ph-g-1-0-0", "ph-g-1-1-0", "ph-g-1-2-0"], ["ph-g-1-0-1", "ph-g-1-1-1", "ph-g-1-2-1"]] {
        for name in names {
            cluster.delete(name);
            cluster.settle();
            assert_eq!((cluster.report("g").seats.held, cluster.report("g").reason), (3, "WaitingForMembers"));
            cluster.wait(1);
        }
        cluster.wait(LOST_AGAIN_MS);
    }
}
