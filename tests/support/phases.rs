//! One gang in every phase of its life: for sentences that hold always.

use gangline::core::event::{GroupSpec, Style};
use gangline::core::model::countdown::Deadline;

use super::cluster::{Cluster, timeouts};

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

/// The placeholder timeout ended before the start: placeholders leave.
pub fn timed_out(style: Style) -> Cluster {
    let mut cluster = held();
    let timeouts = timeouts(Deadline::Completion, 30).with(Deadline::Placeholder, Some(60_000));
    cluster.apply("g", GroupSpec { style, timeouts, generation: 2, ..cluster.groups["g"].clone() });
    cluster.settle().wait(60_000);
    cluster.carry_out_shows().step();
    cluster
}

/// Three members that run; what they leave is kept for a minute.
pub fn full() -> Cluster {
    let mut cluster = gang(1, 3, 3);
    cluster.apply("g", GroupSpec { seat_hold: 60_000, generation: 2, ..cluster.groups["g"].clone() });
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.taken, 3);
    cluster
}

/// Phases that an earlier process cannot hand on, or that no healthy gang comes to: seats are kept, or a timeout has ended.
pub fn rare() -> Vec<(&'static str, Cluster)> {
    let mut resumed = timed_out(Style::Soft);
    resumed.settle();
    let mut killed = timed_out(Style::Hard);
    killed.settle();
    let mut keeping = full();
    keeping.delete("g-0");
    keeping.settle();
    let mut all_kept = keeping.clone();
    all_kept.delete("g-1");
    all_kept.finish("g-2", false);
    all_kept.settle();
    let mut anew = all_kept.clone();
    anew.member("g-3", "g");
    anew.step();
    let mut anew_held = anew.clone();
    anew_held.settle();
    let mut phases = vec![
        ("resuming", timed_out(Style::Soft)),
        ("resumed", resumed),
        ("ending after a kill", timed_out(Style::Hard)),
        ("killed", killed),
        ("running with a kept seat", keeping),
        ("waiting with kept seats", all_kept),
        ("the next life begins", anew),
        ("the next life runs", anew_held),
    ];
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
