//! The books recomputed from scratch tell every way in which they can be wrong (04, I7): each is made wrong on purpose.

use gangline::core::base::ids::{AppId, AskId, GroupId, Key};
use gangline::core::model::ask::WaitsFor;
use gangline::core::model::seat::{Reserve, SeatState};
use gangline::core::step::Scheduler;

use crate::support::cluster::{Cluster, NS};

/// What is made wrong, and the part of the sentence that says so.
type Mistake = (fn(&mut Scheduler, Ids), &'static str);

#[derive(Clone, Copy)]
struct Ids {
    /// A member that runs.
    member: AskId,
    /// A pod outside any gang that waits.
    single: AskId,
    /// The placeholder that holds a seat.
    placeholder: AskId,
    app: AppId,
    group: GroupId,
}

/// A gang of two, one member of which runs while a placeholder holds the seat of the other, and a pod that is too large.
fn cluster() -> (Cluster, Ids) {
    let mut cluster = Cluster::default().nodes(2, 4);
    cluster.submit("g", "root.default", cluster.all("g", 2));
    cluster.member("g-0", "g");
    cluster.show(cluster.sized("single", gangline::core::event::Role::Singleton, 9));
    cluster.settle();
    let id = |name: &str| cluster.pods[name].0;
    let placeholder = cluster.pods.keys().find(|name| name.starts_with("ph-")).expect("one is left").clone();
    let books = &cluster.scheduler.books;
    let group = *books.group_ids.get(&Key::new(NS, "g")).expect("it is known");
    let app = books.groups[group].app.expect("it has one");
    let ids = Ids { member: id("g-0"), single: id("single"), placeholder: id(&placeholder), app, group };
    (cluster, ids)
}

fn seat_of(scheduler: &Scheduler, ask: AskId) -> u32 {
    scheduler.books.asks[ask].seat.expect("it has a seat")
}

/// The seat of a pod would be that of a swap, of whose two pods one has no part in it.
fn releases(core: &mut Scheduler, own: AskId, placeholder: AskId, member: AskId) {
    let seat = seat_of(core, own);
    let group = core.books.asks[own].group.expect("it is in one");
    core.books.groups[group].seats.set(seat, SeatState::Releasing { placeholder, member });
}

const MISTAKES: &[Mistake] = &[
    (|core, ids| core.books.asks[ids.member].charge = None, "its charge is"),
    (
        |core, ids| {
            let charge = core.books.asks[ids.member].charge.as_mut().expect("it runs");
            charge.on_node.base[0] += 1;
        },
        "is charged otherwise than by its pods",
    ),
    (
        |core, ids| core.books.asks[ids.member].charge.as_mut().expect("it runs").on_node.base[0] -= 1,
        "not charged whole",
    ),
    (
        |core, ids| {
            let charge = core.books.asks[ids.member].charge.as_mut().expect("it runs");
            charge.in_queue.base[0] += 1;
        },
        "queue root is charged otherwise than by its pods",
    ),
    (|core, ids| core.books.asks[ids.placeholder].seat = None, "but its pod says otherwise"),
    (|core, ids| core.books.asks[ids.placeholder].group = None, "but its pod says otherwise"),
    (|core, ids| releases(core, ids.placeholder, ids.placeholder, ids.single), "but its pod says otherwise"),
    (|core, ids| releases(core, ids.member, ids.single, ids.member), "but its pod says otherwise"),
    (
        |core, ids| {
            let seat = seat_of(core, ids.placeholder);
            core.books.groups[ids.group].seats.set(seat, SeatState::Open(Reserve::None));
        },
        "believes to have seat",
    ),
    (|core, ids| core.books.apps[ids.app].active += 1, "active, living and pending pods"),
    (|core, ids| core.books.apps[ids.app].pending += 1, "active, living and pending pods"),
    (|core, ids| core.books.apps[ids.app].living += 1, "active, living and pending pods"),
    (|core, ids| core.books.asks[ids.single].waits_for = WaitsFor::Queue, "waits for Queue"),
    (|core, ids| core.books.asks[ids.single].waits_for = WaitsFor::Nothing, "an ordinary ask waits that is not there"),
    (|core, _| core.books.ordinary.clear(), "waits for Room"),
    (|core, ids| _ = core.books.groups[ids.group].asks.insert(AskId { index: 99, generation: 0 }), "lists pods that"),
    (
        |core, ids| {
            let rank = core.books.asks[ids.single].rank();
            core.books.groups[ids.group].waiting.insert((rank, ids.single));
        },
        "lists pods that",
    ),
    (
        |core, ids| {
            let rank = core.books.asks[ids.member].rank();
            core.books.groups[ids.group].overflow.insert((rank, ids.member));
        },
        "lists pods that",
    ),
    (|core, ids| _ = core.books.apps[ids.app].asks.insert(ids.single), "lists what is not there"),
    (|core, ids| core.books.apps[ids.app].admitted = false, "counts other applications"),
    (|core, ids| core.books.apps[ids.app].counted = None, "and counted as None"),
    (
        |core, ids| {
            let gang = core.books.apps[ids.app].gang;
            core.books.gangs[gang].groups.clear();
        },
        "and what starts with it differ",
    ),
    (|core, ids| core.books.groups[ids.group].gang = None, "and what starts with it differ"),
];

/// Seed 004 "Object existing in both cache and scheduler": "Maintaining two states for the same object is not possible": what
/// follows from pods and seats is kept beside them for speed alone; it is computed anew, and each difference is told (04, I7).
#[test]
fn each_mistake_in_the_books_is_told() {
    let (cluster, ids) = cluster();
    assert_eq!(cluster.scheduler.audit(), Vec::<String>::new());
    for (number, (spoil, sentence)) in MISTAKES.iter().enumerate() {
        let mut scheduler = cluster.scheduler.clone();
        spoil(&mut scheduler, ids);
        let told = scheduler.audit();
        assert!(told.iter().any(|told| told.contains(sentence)), "{number}: {sentence:?} is not in {told:#?}");
    }
}
