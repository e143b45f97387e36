//! One gang in every phase of its life: for sentences that hold always.

use gangline::core::event::{GroupSpec, Place, PlaceholderFor, Reservation, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use super::cluster::{Cluster, listed, timeouts};

/// How long seats are kept in [`full`].
pub const HOLD_MS: u64 = 60_000;

/// A gang of `min` members of 1 core that fills its nodes and its queue `root.q`, and runs. The log begins here.
pub fn full(min: u32, nodes: u32, (reservation, placeholder_for): (Reservation, PlaceholderFor)) -> Cluster {
    let mut cluster = Cluster::default().nodes(nodes, i64::from(min / nodes)).queue("root.q", i64::from(min));
    let spec = GroupSpec { seat_hold: HOLD_MS, reservation, placeholder_for, ..cluster.group("g", min) };
    cluster.submit("g", "root.q", spec);
    cluster.members("g", min);
    cluster.settle().wait(1_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.taken), (AppState::Running, min), "{:#?}", cluster.log);
    drop(cluster.taken());
    cluster
}

/// The same without placeholders.
pub fn full_direct(min: u32, nodes: u32) -> Cluster {
    full(min, nodes, (Reservation::Direct, PlaceholderFor::Missing))
}

/// Three held seats for which nobody comes, since `g-0` has a scheduling gate: they may be held for 60 s.
pub fn unclaimed(style: Style) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 4).queue("root.q", 4);
    let timeouts = timeouts(Deadline::Completion, 30).with(Deadline::Placeholder, Some(60_000));
    let spec = GroupSpec { style, timeouts, ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    let gated = cluster.pod("g-0", Role::Member { group: "g".into() });
    cluster.show(gated);
    cluster.change("g-0", |spec| spec.place = Place::Gated);
    cluster.settle();
    cluster
}

/// As long is over. Nothing is carried out yet.
pub fn timed_out(style: Style) -> Cluster {
    let mut cluster = unclaimed(style);
    cluster.wait(60_000);
    assert_eq!(cluster.placeholders(), 3, "{:#?}", cluster.log);
    cluster
}

/// Whatever the phases leave out: timeouts and losses. The logs begin here.
pub fn endings() -> Vec<(&'static str, Cluster)> {
    let mut new = Cluster::default().nodes(1, 4).queue("root.q", 4);
    let spec = GroupSpec { gang: listed(["g", "h"]), ..new.all("g", 2) };
    new.submit("g", "root.q", spec);
    new.members("g", 1);
    new.settle();
    assert_eq!(new.state("g"), AppState::New);
    let (resuming, killing) = (timed_out(Style::Soft), timed_out(Style::Hard));
    assert_eq!((resuming.state("g"), killing.state("g")), (AppState::Resuming, AppState::Killed));
    let mut killed = killing.clone();
    killed.settle();
    let mut kept = full_direct(4, 2);
    kept.delete("g-1");
    kept.settle();
    let mut all_kept = full_direct(4, 2);
    (0..4).for_each(|number| all_kept.delete(&format!("g-{number}")));
    all_kept.settle();
    assert_eq!((all_kept.state("g"), all_kept.report("g").seats.kept), (AppState::Waiting, 4));
    let mut second_life = all_kept.clone();
    second_life.member("g-4", "g");
    second_life.settle();
    assert_eq!((second_life.state("g"), second_life.report("g").incarnation), (AppState::Accepted, 2));
    let mut endings = vec![
        ("new", new),
        ("resuming", resuming),
        ("killing", killing),
        ("killed", killed),
        ("kept", kept),
        ("all kept", all_kept),
        ("second life", second_life),
    ];
    endings.iter_mut().for_each(|(_, cluster)| drop(cluster.taken()));
    endings
}

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
    let mut single = gate.pod("s", Role::Singleton);
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
