//! Pods outside the task groups of an application: those that come before the start are of the gang (01, 1.2.2).

use gangline::core::base::resources::Limit;
use gangline::core::event::{Event, GroupSpec};
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, NS, listed, size};
use crate::support::phases::phases;

/// 01, 1.2.2: the originator "is part of rejection, gate and transaction (a gang that fills the quota must not lock out
/// its own driver)": here the gate, before which no placeholder exists.
#[test]
fn an_originator_counts_at_the_gate() {
    let mut cluster = Cluster::default().nodes(9, 4).queue("root.q", 4);
    cluster.other("other", "root.q", 1);
    cluster.originator("driver", "g");
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle().wait(120_000).settle();
    let report = cluster.report("g");
    let found = (report.reason, report.past_gate, cluster.why("driver"));
    assert_eq!(found, ("WaitingForQuota", false, Some("WaitingForQuota")));
    assert!(report.message.contains("asks for 4 cpu"), "{}", report.message);
    assert_eq!(cluster.logged("create"), 0, "{:#?}", cluster.log);
    cluster.delete("other");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 3));
    assert!(cluster.node_of("driver").is_some());
}

/// 01, 1.2.2: it "joins in the same way, whatever was reserved by then: … (too large: Rejected and everything given back
/// …)".
#[test]
fn an_originator_may_come_in_every_phase_before_the_start() {
    let before = ["gate", "creating", "pending", "binding", "held"];
    let phases: Vec<_> = phases().into_iter().filter(|(phase, _)| before.contains(phase)).collect();
    assert_eq!(phases.len(), before.len());
    for (phase, mut cluster) in phases {
        cluster.set_queue("root.q", 3);
        cluster.originator("driver", "g");
        cluster.settle();
        assert_eq!(
            (cluster.state("g"), cluster.placeholders()),
            (AppState::Rejected, 0),
            "{phase}: {:#?}",
            cluster.log
        );
        assert_eq!((cluster.why("driver"), cluster.node_of("driver")), (Some("ExceedsMaxQuota"), None), "{phase}");
        cluster.set_queue("root.q", 5);
        cluster.node("n9", 4);
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 3), "{phase}");
        assert!(cluster.node_of("driver").is_some(), "{phase}");
    }
}

/// 01, 1.2.2: "After the start they are ordinary asks": one that comes then waits for itself and costs the seats nothing.
#[test]
fn an_originator_that_comes_after_the_start_is_an_ordinary_ask() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.member("g-0", "g");
    cluster.settle().taken();
    cluster.originator("driver", "g");
    cluster.settle();
    assert_eq!((cluster.why("driver"), cluster.log.clone()), (Some("WaitingForQuota"), Vec::new()));
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 2));
    cluster.set_queue("root.q", 4);
    cluster.settle();
    assert_eq!(cluster.why("driver"), Some("Unschedulable"));
    cluster.node("n1", 1);
    cluster.settle();
    assert_eq!((cluster.node_of("driver"), cluster.report("g").seats.held), (Some("n1".into()), 2));
}

/// 01, 1.2.3: "the namespace's ResourceQuota cannot hold placeholderAsk plus its largest member": the originator is in
/// it, and is there while each member has to be made beside the placeholders.
#[test]
fn a_namespace_quota_has_room_for_the_originator_too() {
    for (pods, reason) in [(4, "NamespaceQuotaTooSmall"), (5, "Starting")] {
        let mut cluster = Cluster::default().nodes(2, 4);
        cluster.tell(Event::NamespaceLimit(NS.into(), Limit::new([("pods".into(), pods)])));
        cluster.originator("driver", "g");
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.settle();
        let shown = cluster.report("g");
        let names_it = shown.message.contains("pods outside the task groups");
        assert_eq!((shown.reason, names_it), (reason, pods == 4), "{pods}: {}", shown.message);
    }
}

/// As above, whenever it comes, and no longer than it is there.
#[test]
fn a_namespace_quota_is_looked_at_when_an_originator_comes_or_goes() {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.tell(Event::NamespaceLimit(NS.into(), Limit::new([("pods".into(), 4)])));
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster.originator("driver", "g");
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.placeholders()), ("NamespaceQuotaTooSmall", 0));
    cluster.delete("driver");
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
}

/// 01, 1.2.3: "plus its largest member": of all task groups, whichever is the first.
#[test]
fn a_namespace_quota_has_room_for_the_largest_member_of_all_task_groups() {
    for (cpu, reason) in [(6, "NamespaceQuotaTooSmall"), (7, "WaitingForFirstPod")] {
        for sizes in [[3, 1], [1, 3]] {
            let mut cluster = Cluster::default().nodes(2, 4);
            cluster.tell(Event::NamespaceLimit(NS.into(), Limit::new([("cpu".into(), cpu * 1000)])));
            for (name, cores) in ["p0", "p1"].into_iter().zip(sizes) {
                let spec = GroupSpec {
                    application: "pair".into(),
                    gang: listed(["p0", "p1"]),
                    min_resource: size(cores),
                    ..cluster.group(name, 1)
                };
                cluster.apply(name, spec);
            }
            cluster.settle();
            assert_eq!(["p0", "p1"].map(|name| cluster.report(name).reason), [reason; 2], "{cpu} for {sizes:?}");
        }
    }
}
