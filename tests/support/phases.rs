//! One gang in every phase of its life: for sentences that hold always.

use super::cluster::Cluster;

/// What the phases have in common: `g` of three members of 1 core with a placeholder each, in `root.q`.
fn gang(nodes: u32, cpu: i64, quota: i64) -> Cluster {
    let mut cluster = Cluster::default().nodes(nodes, cpu).queue("root.q", quota);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster
}

/// Three seats are held.
pub fn held() -> Cluster {
    let mut cluster = gang(2, 4, 9);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster
}

/// One member runs, two seats are held for those to come.
pub fn running() -> Cluster {
    let mut cluster = held();
    cluster.member("g-0", "g");
    cluster.settle();
    assert_eq!((cluster.report("g").seats.taken, cluster.report("g").seats.held), (1, 2));
    cluster
}

/// Nothing runs or is pending; two seats are held.
pub fn waiting() -> Cluster {
    let mut cluster = running();
    cluster.delete("g-0");
    cluster.settle();
    cluster
}

/// Completed; its last two placeholders are to be deleted.
pub fn ending() -> Cluster {
    let mut cluster = waiting();
    cluster.wait(30_000);
    cluster
}

/// Every phase by name. The logs begin here.
pub fn phases() -> Vec<(&'static str, Cluster)> {
    let mut phases = before_the_start();
    phases.extend([("running", running()), ("waiting", waiting()), ("ending", ending())]);
    let mut completed = ending();
    completed.settle();
    phases.push(("completed", completed));
    phases.iter_mut().for_each(|(_, cluster)| drop(cluster.taken()));
    phases
}

fn before_the_start() -> Vec<(&'static str, Cluster)> {
    let mut rejected = gang(2, 4, 2);
    rejected.settle();
    let mut gate = gang(2, 4, 3);
    let mut single = gate.pod("s", gangline::core::event::Role::Singleton);
    (single.queue, single.created) = (Some("root.q".into()), 1);
    gate.show(single);
    gate.settle();
    let mut creating = gang(2, 4, 9);
    creating.step();
    let mut pending = gang(1, 2, 9);
    pending.settle();
    let mut binding = creating.clone();
    binding.carry("create");
    let mut swapping = held();
    swapping.member("g-0", "g");
    swapping.step();
    let mut starting = swapping.clone();
    starting.carry("release");
    vec![
        ("rejected", rejected),
        ("gate", gate),
        ("creating", creating),
        ("pending", pending),
        ("binding", binding),
        ("held", held()),
        ("swapping", swapping),
        ("starting", starting),
    ]
}

/// Three members of a Direct gang, `bound` of them bound before the process died.
pub fn interrupted(bound: u32, cpu: i64) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, cpu).queue("root.q", 9);
    let spec = cluster.direct("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.members("g", 3);
    cluster.step();
    for number in 0..bound {
        cluster.carry(&format!("g-{number}"));
    }
    cluster.taken();
    cluster
}
