//! A gang that fits is placed, and what was searched for in vain is not searched for again (01, 1.3).

use std::sync::Arc;

use gangline::core::base::resources::Resources;
use gangline::core::event::{AskSpec, GroupSpec, PlaceholderFor, Reservation, Role};
use gangline::core::shape::{NodeSpec, Shape};

use crate::support::cluster::{Cluster, listed};

fn resources(cpu: i64, gpu: i64, pods: i64) -> Resources {
    let mut resources = Resources { base: [cpu * 1000, 4 << 30, 0, pods], rare: Vec::new() };
    resources.set("example.com/gpu", gpu);
    resources
}

fn node(cluster: &mut Cluster, name: &str, cpu: i64, gpu: i64) {
    let allocatable = Resources { base: [cpu * 1000, 32 << 30, 0, 110], ..resources(0, gpu, 0) };
    cluster.show_node(name, NodeSpec { allocatable, ..NodeSpec::default() });
}

/// A driver of 6 cpu and a worker of 4 cpu and a GPU, which start together.
fn submit(cluster: &mut Cluster, reservation: Reservation) {
    for (name, request) in [("driver", resources(6, 0, 1)), ("worker", resources(4, 1, 1))] {
        let shape = Arc::new(Shape { request: request.clone(), ..Shape::default() });
        let spec = GroupSpec {
            application: "job".into(),
            gang: listed(["driver", "worker"]),
            min_resource: request,
            shape: shape.clone(),
            reservation,
            placeholder_for: PlaceholderFor::All,
            ..cluster.group(name, 1)
        };
        cluster.apply(name, spec);
        let member = cluster.pod(&format!("{name}-0"), Role::Member { group: name.into() });
        cluster.show(AskSpec { shape, ..member });
    }
}

/// shared/cases/driver-and-gpu-worker: "It fits in one way: the driver on the node without a GPU", and "names of nodes
/// decide nothing but ties".
#[test]
fn a_driver_leaves_the_gpu_to_the_worker() {
    for reservation in [Reservation::Direct, Reservation::Placeholder] {
        for (with, without) in [("gpu-1", "cpu-1"), ("a", "b"), ("b", "a"), ("n0", "n1"), ("n1", "n0")] {
            let mut cluster = Cluster::default();
            node(&mut cluster, with, 8, 1);
            node(&mut cluster, without, 8, 0);
            submit(&mut cluster, reservation);
            cluster.settle();
            assert_eq!(cluster.bound(), ["driver-0", "worker-0"], "{reservation:?} {with} {without}");
            let started = |name, node| cluster.log.contains(&format!("bind {name} {node} started"));
            assert!(started("driver-0", without) && started("worker-0", with), "{:#?}", cluster.log);
        }
    }
}

/// 01, 1.3: "Only a plan that has proven it says that a gang cannot be placed": here two ways are all there are, so nothing is said
/// of giving up; and the same search is not made again while nodes have no more room, whatever else happens. Also seed 002
/// "Data-Structure": "any pod in this Gang shouldn't be scheduled until it is set to "true", and the remaining pods should be
/// rejected in PreFilter stage".
#[test]
fn what_was_searched_for_in_vain_is_not_searched_for_again() {
    for reservation in [Reservation::Direct, Reservation::Placeholder] {
        let mut cluster = Cluster::default();
        node(&mut cluster, "gpu-1", 8, 1);
        node(&mut cluster, "small-1", 4, 0);
        submit(&mut cluster, reservation);
        cluster.settle();
        let shown = cluster.report("worker");
        assert_eq!((cluster.bound().len(), shown.reason), (0, "WaitingForCapacity"), "{reservation:?}");
        assert!(shown.message.starts_with("the one member of worker finds no node"), "{}", shown.message);
        assert!(!shown.message.contains("gave up"), "{}", shown.message);
        assert_eq!(cluster.scheduler.searches(), 1, "{reservation:?}");
        // Room goes, a queue that has nothing to do with it comes, a member is there that has no seat, time passes.
        cluster.single("other");
        cluster.set_queue("root.other", 5);
        cluster.settle();
        let surplus = cluster.pod("driver-1", Role::Member { group: "driver".into() });
        cluster.show(AskSpec { shape: cluster.pods["driver-0"].1.shape.clone(), ..surplus });
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.bound(), cluster.scheduler.searches()), (vec!["other".into()], 1), "{reservation:?}");
        // More room, and still not enough: once more.
        node(&mut cluster, "small-2", 4, 0);
        cluster.settle();
        assert_eq!((cluster.bound().len(), cluster.scheduler.searches()), (1, 2), "{reservation:?}");
        node(&mut cluster, "cpu-1", 8, 0);
        cluster.settle();
        assert!(cluster.bound().contains(&"worker-0".into()), "{reservation:?}: {:#?}", cluster.log);
    }
}

/// What the first order places costs no search.
#[test]
fn a_gang_that_fits_at_once_is_not_searched_for() {
    let mut cluster = Cluster::default();
    node(&mut cluster, "gpu-1", 16, 1);
    submit(&mut cluster, Reservation::Direct);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.scheduler.searches()), (2, 0));
}

/// A class that finds no node even alone is named, not one that others leave without.
#[test]
fn who_finds_no_node_even_alone_is_named() {
    let mut cluster = Cluster::default();
    node(&mut cluster, "n0", 8, 0);
    for (name, cpu) in [("a", 8), ("b", 5), ("c", 4)] {
        let shape = Arc::new(Shape { request: resources(cpu, i64::from(name == "c"), 1), ..Shape::default() });
        let gang = listed(["a", "b", "c"]);
        let spec = GroupSpec { application: "job".into(), gang, shape: shape.clone(), ..cluster.direct(name, 1) };
        cluster.apply(name, spec);
        let member = cluster.pod(&format!("{name}-0"), Role::Member { group: name.into() });
        cluster.show(AskSpec { shape, ..member });
    }
    cluster.settle();
    let message = cluster.report("a").message;
    assert!(message.contains("Insufficient example.com/gpu"), "{message}");
    assert_eq!(cluster.scheduler.searches(), 1);
    cluster.node("n1", 64);
    cluster.settle();
    assert_eq!(cluster.scheduler.searches(), 1, "room that is of no use to it wakes nobody");
}
