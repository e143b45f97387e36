//! How many placeholders a gang and a namespace may ask for (01, 1.3 "Bound").

use gangline::core::event::GroupSpec;
use gangline::core::model::lifecycle::AppState;
use gangline::core::step::Scheduler;

use crate::support::cluster::{Cluster, listed};

/// 01, 1.3 "Bound": "a gang may ask for at most `--max-placeholders` placeholders (… Rejected `TooManyPlaceholders`,
/// suggesting Direct)".
#[test]
fn a_gang_has_no_more_placeholders_than_it_may() {
    let mut cluster = Cluster::default().nodes(9, 4);
    cluster.scheduler = Scheduler::with_most_placeholders(5);
    let (least, most) = (cluster.all("least", 5), cluster.all("most", 6));
    let (first, second) = (cluster.group("first", 3), cluster.group("second", 3));
    let direct = cluster.direct("direct", 6);
    for (name, spec) in [("least", least), ("most", most), ("direct", direct)] {
        cluster.submit(name, "root.default", spec);
    }
    for (name, spec) in [("first", first), ("second", second)] {
        let gang = listed(["first", "second"]);
        cluster.submit(name, "root.default", GroupSpec { application: "both".into(), gang, ..spec });
    }
    cluster.members("direct", 6);
    cluster.settle();
    assert_eq!(cluster.logged("create "), 5, "{:?}", cluster.log);
    for name in ["most", "first", "second"] {
        let report = cluster.report(name);
        assert_eq!((report.state, report.reason), (AppState::Rejected, "TooManyPlaceholders"), "{name}");
        assert!(report.message.contains("asks for 6 placeholders, and 5 are") && report.message.contains("Direct"));
    }
    assert_eq!(cluster.bound().iter().filter(|pod| pod.starts_with("direct")).count(), 6);
}

/// 01, 1.3 "Bound": "… and a namespace for ten times that (there a gang waits instead)."
#[test]
fn a_namespace_has_no_more_placeholders_than_it_may() {
    let mut cluster = Cluster::default().nodes(9, 4);
    cluster.scheduler = Scheduler::with_most_placeholders(2);
    let names: Vec<String> = (0..12).map(|number| format!("g{number:02}")).collect();
    for name in &names {
        let spec = cluster.all(name, 2);
        cluster.submit(name, "root.default", spec);
    }
    let direct = cluster.direct("direct", 2);
    cluster.submit("direct", "root.default", direct);
    cluster.members("direct", 2);
    cluster.settle();
    let waiting =
        |cluster: &Cluster| names.iter().filter(|name| cluster.report(name).reason == "WaitingForPlaceholders").count();
    assert_eq!((cluster.placeholders(), waiting(&cluster), cluster.state("direct")), (20, 2, AppState::Running));
    assert!(cluster.report("g11").message.contains("ask for 20 placeholders"), "{}", cluster.report("g11").message);
    // One starts, another is withdrawn: each makes place for one.
    cluster.members("g00", 2);
    cluster.settle();
    assert_eq!((cluster.state("g00"), waiting(&cluster)), (AppState::Running, 1));
    cluster.lose_group("g01");
    cluster.settle();
    assert_eq!(names.iter().filter(|name| *name != "g01" && cluster.report(name).past_gate).count(), 11);
}
