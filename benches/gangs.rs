//! The scheduler's own step, from facts to decisions: gangs that start, pods that pour in, and gangs that wait.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use gangline::core::base::ids::{AskId, Key, Text, Uid};
use gangline::core::base::resources::{Limit, Resources};
use gangline::core::decision::Decision;
use gangline::core::event::{
    AskSpec, BindOutcome, Event, GroupSpec, MatchPolicy, Mode, Place, PlaceholderFor, QueueSpec, Remembered,
    Reservation, Role, SortPolicy, Style,
};
use gangline::core::model::class::Classes;
use gangline::core::model::countdown::{Deadline, Timeouts};
use gangline::core::place::fill::{Demand, fill};
use gangline::core::place::overlay::Scratch;
use gangline::core::shape::{NodeSpec, Shape};
use gangline::core::step::Scheduler;
use gangline::core::time::Now;

const GIB: i64 = 1 << 30;
/// Members of the gang that starts.
const MEMBERS: u32 = 1_000;
/// Pods that pour in.
const PODS: u32 = 10_000;
/// Gangs of as many members in all that start together.
const GROUPED: u32 = 10;
/// Gangs that wait.
const GANGS: u32 = 1_000;
/// Queues in which gangs wait.
const QUEUES: u32 = 100;

fn shape(cpu: i64) -> Arc<Shape> {
    Arc::new(Shape { request: Resources::pod(cpu, GIB), ..Shape::default() })
}

/// A scheduler that knows so many nodes of 64 cores, and a first queue with a limit nobody reaches.
fn cluster(nodes: u32) -> Scheduler {
    let mut scheduler = Scheduler::new();
    let allocatable = Resources { base: [64_000, 256 * GIB, 100 * GIB, 250], rare: Vec::new() };
    let node = |at: u32| {
        let name = Text::from(format!("node-{at:06}"));
        Event::Node(name, Box::new(NodeSpec { allocatable: allocatable.clone(), ..NodeSpec::default() }))
    };
    scheduler.step(Now::default(), (0..nodes).map(node));
    let max = Limit::new([("cpu".into(), 1 << 60), ("memory".into(), 1 << 100)]);
    let queue = QueueSpec { max, ..QueueSpec::default() };
    scheduler.step(Now::default(), [Event::Queue("root.q".into(), queue)]);
    scheduler
}

fn pod(index: u32, role: Role, shape: &Arc<Shape>) -> Event {
    let spec = AskSpec {
        key: Key::new("ns", format!("pod-{index:06}")),
        created: 20,
        priority: 0,
        shape: shape.clone(),
        queue: Some("root.q".into()),
        submitter: None,
        role,
        place: Place::Pending,
        held_up: None,
        application: None,
        declares: None,
        declared_by: None,
        controller: None,
        mark: None,
        terminating: false,
    };
    Event::Ask(AskId { index, generation: 0 }, Box::new(spec))
}

fn gang(name: &str, min_member: u32, shape: &Arc<Shape>) -> Event {
    let spec = GroupSpec {
        uid: Uid::new(format!("uid-{name}")),
        generation: 1,
        created: 10,
        application: name.into(),
        queue: Some("root.q".into()),
        submitter: None,
        min_member,
        total_member: None,
        min_resource: shape.request.clone(),
        shape: shape.clone(),
        gang: vec![Key::new("ns", name)],
        across: None,
        reservation: Reservation::Direct,
        placeholder_for: PlaceholderFor::Missing,
        style: Style::Soft,
        mode: Mode::Strict,
        match_policy: MatchPolicy::OnceSatisfied,
        timeouts: Timeouts::default().with(Deadline::Completion, Some(30_000)),
        seat_hold: 60_000,
        errors: Vec::new(),
        remembered: Remembered::default(),
        terminating: false,
        awaits_edit: false,
    };
    Event::Group(Key::new("ns", name), Box::new(spec))
}

fn member(index: u32, group: &str, shape: &Arc<Shape>) -> Event {
    pod(index, Role::Member { group: group.into() }, shape)
}

/// Another scheduler's pod, which all but fills a node.
fn foreign(node: u32, index: u32) -> Event {
    foreign_of(node, index, 60)
}

/// Another scheduler's pod of so many cores.
fn foreign_of(node: u32, index: u32, cores: i64) -> Event {
    let mut event = pod(index, Role::Foreign, &shape(cores * 1000));
    if let Event::Ask(_, spec) = &mut event {
        spec.place = Place::On { node: format!("node-{node:06}").into(), running: true };
    }
    event
}

/// Steps until nothing more is decided; returns how many pods were given a node.
fn run(scheduler: &mut Scheduler, events: Vec<Event>) -> u32 {
    let mut events = Some(events);
    let mut placed = 0;
    loop {
        let step = scheduler.step(Now::default(), events.take().unwrap_or_default());
        placed += step.decisions.iter().filter(|decision| matches!(decision, Decision::Allocate { .. })).count() as u32;
        if !step.more {
            return placed;
        }
    }
}

fn measure(bencher: Bencher<'_, '_>, items: u32, ready: &Scheduler, events: impl Fn() -> Vec<Event>, placed: u32) {
    bencher.counter(ItemsCount::new(items)).with_inputs(|| (ready.clone(), events())).bench_local_values(
        |(mut scheduler, events)| {
            assert_eq!(run(&mut scheduler, events), placed);
            scheduler
        },
    );
}

/// The last member of a gang of 1000 comes: plan, commit, decisions.
#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 20, sample_size = 1)]
fn gang_of_1000_starts(bencher: Bencher<'_, '_>, nodes: u32) {
    let (mut ready, shape) = (cluster(nodes), shape(1000));
    run(&mut ready, vec![Event::Synced, gang("g", MEMBERS, &shape)]);
    run(&mut ready, (1..MEMBERS).map(|at| member(at, "g", &shape)).collect());
    measure(bencher, MEMBERS, &ready, || vec![member(0, "g", &shape)], MEMBERS);
}

/// 10,000 pods outside applications wait for the first decision.
#[divan::bench(args = [1_000, 10_000], sample_count = 20, sample_size = 1)]
fn singletons_are_placed(bencher: Bencher<'_, '_>, nodes: u32) {
    let (mut ready, shape) = (cluster(nodes), shape(1000));
    run(&mut ready, (0..PODS).map(|at| pod(at, Role::Singleton, &shape)).collect());
    measure(bencher, PODS, &ready, || vec![Event::Synced], PODS);
}

/// 10,000 pods outside applications come in one batch and are placed.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn singletons_come_and_are_placed(bencher: Bencher<'_, '_>) {
    let (mut ready, shape) = (cluster(10_000), shape(1000));
    run(&mut ready, vec![Event::Synced]);
    measure(bencher, PODS, &ready, || (0..PODS).map(|at| pod(at, Role::Singleton, &shape)).collect(), PODS);
}

/// How full the nodes are on which gangs start together.
#[derive(Clone, Copy, Debug)]
enum Filled {
    /// Not at all: all are alike.
    Empty,
    /// From none to all but four cores are in use.
    Unevenly,
}

const FILLED: [Filled; 2] = [Filled::Empty, Filled::Unevenly];

/// What a member of one of the gangs that start together asks for: another amount in each.
fn grouped(gang: u32) -> Arc<Shape> {
    shape(1000 + 500 * i64::from(gang))
}

/// 5000 nodes, and ten gangs of 100 that start together; all members but the first are there.
fn gang_group(filled: Filled) -> Scheduler {
    let (gangs, size, nodes) = (GROUPED, MEMBERS / GROUPED, 5_000);
    let mut ready = cluster(nodes);
    let others = match filled {
        Filled::Empty => 0,
        Filled::Unevenly => nodes,
    };
    let others = (0..others).map(|node| foreign_of(node, MEMBERS + node, i64::from(7 * node % 61)));
    run(&mut ready, others.chain([Event::Synced]).collect());
    let all: Vec<Key> = (0..gangs).map(|at| Key::new("ns", format!("gang-{at}"))).collect();
    let group = |at: u32| {
        let mut event = gang(&format!("gang-{at}"), size, &grouped(at));
        if let Event::Group(_, spec) = &mut event {
            (spec.application, spec.gang) = ("group".into(), all.clone());
        }
        event
    };
    run(&mut ready, (0..gangs).map(group).collect());
    let members = (1..MEMBERS).map(|at| member(at, &format!("gang-{}", at / size), &grouped(at / size)));
    assert_eq!(run(&mut ready, members.collect()), 0);
    ready
}

/// The last member of a group of ten gangs of 100 comes: plan, commit, decisions.
#[divan::bench(args = FILLED, sample_count = 50, sample_size = 1)]
fn gang_group_of_10_starts(bencher: Bencher<'_, '_>, filled: Filled) {
    let ready = gang_group(filled);
    measure(bencher, MEMBERS, &ready, || vec![member(0, "gang-0", &grouped(0))], MEMBERS);
}

/// The part of [`gang_group_of_10_starts`] that looks for nodes: one plan, of which nothing is committed.
#[divan::bench(args = FILLED, sample_count = 100, sample_size = 10)]
fn one_plan_of_a_gang_group_of_10(bencher: Bencher<'_, '_>, filled: Filled) {
    let ready = gang_group(filled);
    let mut classes = Classes::default();
    let demand = |at: u32| Demand { class: classes.intern(&grouped(at), &ready.books.nodes), count: MEMBERS / GROUPED };
    let demands: Vec<Demand> = (0..GROUPED).map(demand).collect();
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    bencher.bench_local(|| {
        scratch.begin();
        out.clear();
        assert!(fill(&ready.books.nodes, &classes, &mut scratch, &demands, &mut out).is_ok());
    });
}

/// So many gangs of ten members wait, each of a shape of its own, for room on 100 nodes that are all but full.
fn waiting(gangs: u32) -> Scheduler {
    let mut ready = cluster(100);
    run(&mut ready, (0..100).map(|node| foreign(node, node)).collect());
    run(&mut ready, vec![Event::Synced]);
    for at in 0..gangs {
        let (name, shape) = (format!("gang-{at:04}"), shape(30_000 + i64::from(at)));
        let members = (0..10).map(|number| member(1000 + 10 * at + number, &name, &shape));
        run(&mut ready, std::iter::once(gang(&name, 10, &shape)).chain(members).collect());
    }
    ready
}

/// 1000 gangs of ten members wait, each of a shape of its own; another scheduler's pod goes.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn gangs_wait_while_a_pod_goes(bencher: Bencher<'_, '_>) {
    measure(bencher, GANGS, &waiting(GANGS), || vec![Event::AskGone(AskId { index: 7, generation: 0 })], 0);
}

/// None or 1000 gangs wait for room while a pod of one that has started is shown anew, running or not any more: nothing that
/// could help them, so it takes no longer where they wait.
#[divan::bench(args = [0, GANGS], sample_count = 100, sample_size = 100)]
fn gangs_wait_while_a_member_changes(bencher: Bencher<'_, '_>, gangs: u32) {
    let (mut scheduler, size) = (waiting(gangs), shape(1000));
    let id = AskId { index: 1000 + 10 * gangs, generation: 0 };
    let seen = || member(id.index, "runs", &size);
    assert_eq!(run(&mut scheduler, vec![gang("runs", 1, &size), seen()]), 1);
    run(&mut scheduler, vec![Event::Bind(id, BindOutcome::Bound)]);
    let node = scheduler.books.asks[id].node().and_then(|node| scheduler.books.nodes.name(node)).cloned();
    let node = node.expect("it has just been bound");
    let mut running = false;
    bencher.bench_local(|| {
        running = !running;
        let mut event = seen();
        if let Event::Ask(_, spec) = &mut event {
            spec.place = Place::On { node: node.clone(), running };
        }
        assert_eq!(run(&mut scheduler, vec![event]), 0);
    });
}

/// 1000 gangs of two members wait, which ask for 5 to 30 cores each, another amount in each gang; of 64 cores of every node
/// four are free, and then so many more of one. They are room for no gang, for one, for any of 201, or for any of all; where
/// several could use it, one or six get it. Who cannot use it is not looked at: the first two differ by one gang that starts,
/// and the others by as many as could.
#[divan::bench(args = [(4, 0), (6, 2), (16, 2), (60, 12)], sample_count = 50, sample_size = 1)]
fn gangs_wait_while_a_node_is_freed(bencher: Bencher<'_, '_>, (cores, placed): (i64, u32)) {
    let mut ready = cluster(100);
    let (first, freed) = (1000, 7);
    let others = (0..100).map(|node| foreign_of(node, node, if node == freed { cores } else { 60 }));
    let rest = foreign_of(freed, 100, 60 - cores);
    run(&mut ready, others.chain([rest, Event::Synced]).collect());
    for at in 0..GANGS {
        let (name, size) = (format!("gang-{at:04}"), shape(5_000 + 25 * i64::from(at)));
        let members = (0..2).map(|number| member(first + 2 * at + number, &name, &size));
        assert_eq!(run(&mut ready, std::iter::once(gang(&name, 2, &size)).chain(members).collect()), 0);
    }
    measure(bencher, GANGS, &ready, || vec![Event::AskGone(AskId { index: freed, generation: 0 })], placed);
}

/// So many gangs of one member that was lost: the seat of each is kept, and each is about to complete. A pod comes, is placed
/// and ends: what that takes does not follow from how many timers run.
#[divan::bench(args = [10, 10_000], sample_count = 100, sample_size = 100)]
fn a_pod_comes_while_timers_run(bencher: Bencher<'_, '_>, gangs: u32) {
    let mut scheduler = cluster(100);
    run(&mut scheduler, vec![Event::Synced]);
    let shape = shape(10);
    let name = |at: u32| format!("gang-{at:05}");
    run(
        &mut scheduler,
        (0..gangs).flat_map(|at| [gang(&name(at), 1, &shape), member(at, &name(at), &shape)]).collect(),
    );
    let ask = |at: u32| AskId { index: at, generation: 0 };
    run(&mut scheduler, (0..gangs).map(|at| Event::Bind(ask(at), BindOutcome::Bound)).collect());
    run(&mut scheduler, (0..gangs).map(|at| Event::AskGone(ask(at))).collect());
    assert_eq!(scheduler.books.kept.iter().count(), gangs as usize);
    bencher.bench_local(|| {
        assert_eq!(run(&mut scheduler, vec![pod(PODS, Role::Singleton, &shape)]), 1);
        assert_eq!(run(&mut scheduler, vec![Event::AskGone(ask(PODS))]), 0);
    });
}

/// 10,000 pods of 100 shapes wait for room; another scheduler's pod goes.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn singletons_wait_while_a_pod_goes(bencher: Bencher<'_, '_>) {
    let mut ready = cluster(100);
    let shapes: Vec<_> = (0..100).map(|at| shape(65_000 + at)).collect();
    run(&mut ready, vec![Event::Synced]);
    run(&mut ready, (0..PODS).map(|at| pod(at, Role::Singleton, &shapes[at as usize % 100])).collect());
    run(&mut ready, vec![foreign(7, PODS)]);
    measure(bencher, PODS, &ready, || vec![Event::AskGone(AskId { index: PODS, generation: 0 })], 0);
}

/// What they wait for.
#[derive(Clone, Copy, Debug)]
enum Lack {
    /// For quota: in each queue a pod runs.
    Quota,
    /// For nodes: in each queue the first have placeholders or members that are planned, and the others wait behind them.
    Nodes,
}

fn in_queue(mut event: Event, queue: u32) -> Event {
    let name = Text::from(format!("root.q.{queue:03}"));
    if let Event::Ask(_, spec) = &mut event {
        spec.queue = Some(name);
    } else if let Event::Group(_, spec) = &mut event {
        spec.queue = Some(name);
    }
    event
}

/// So many gangs of three members wait in each of 100 queues below a limited one, and two pods run in each of these.
fn crowd(waiting: u32, lack: Lack) -> Scheduler {
    let mut ready = cluster(100);
    let max = match lack {
        Lack::Quota => 50_000,
        Lack::Nodes => 5_000_000,
    };
    let queue = |at: u32| {
        let max = Limit::new([("cpu".into(), max)]);
        Event::Queue(format!("root.q.{at:03}").into(), QueueSpec { max, ..QueueSpec::default() })
    };
    run(&mut ready, (0..QUEUES).map(queue).chain([Event::Synced]).collect());
    let runs = |at: u32| in_queue(pod(at, Role::Singleton, &shape(10_000)), at % QUEUES);
    assert_eq!(run(&mut ready, (0..2 * QUEUES).map(runs).collect()), 2 * QUEUES);
    let size = shape(match lack {
        Lack::Quota => 16_000,
        // More than any node has.
        Lack::Nodes => 65_000,
    });
    for at in 0..waiting * QUEUES {
        let name = format!("gang-{at:06}");
        let members = (0..3).map(|number| member(1000 + 3 * at + number, &name, &size));
        let come = std::iter::once(gang(&name, 3, &size)).chain(members);
        assert_eq!(run(&mut ready, come.map(|event| in_queue(event, at % QUEUES)).collect()), 0);
    }
    ready
}

/// No, 100, 1000 or 10 000 gangs wait in 100 queues while a pod comes to one of these, is placed and ends: what that takes
/// does not follow from how many wait.
#[divan::bench(
    args = [0, 1, 10, 100].into_iter().flat_map(|waiting| [Lack::Quota, Lack::Nodes].map(|lack| (waiting, lack))),
    sample_count = 100, sample_size = 100
)]
fn gangs_wait_in_100_queues(bencher: Bencher<'_, '_>, (waiting, lack): (u32, Lack)) {
    let mut scheduler = crowd(waiting, lack);
    let (id, size) = (AskId { index: 1000 + 3 * waiting * QUEUES, generation: 0 }, shape(1000));
    let mut queue = 0;
    bencher.bench_local(|| {
        queue = (queue + 1) % QUEUES;
        let comes = in_queue(pod(id.index, Role::Singleton, &size), queue);
        assert_eq!(run(&mut scheduler, vec![comes]), 1);
        assert_eq!(run(&mut scheduler, vec![Event::AskGone(id)]), 0);
    });
}

/// No, 1000 or 10 000 gangs wait in 100 queues while nothing changes for them: another scheduler's pod is shown once more.
#[divan::bench(
    args = [0, 10, 100].into_iter().flat_map(|waiting| [Lack::Quota, Lack::Nodes].map(|lack| (waiting, lack))),
    sample_count = 100, sample_size = 100
)]
fn gangs_wait_while_nothing_changes(bencher: Bencher<'_, '_>, (waiting, lack): (u32, Lack)) {
    let mut scheduler = crowd(waiting, lack);
    let index = 1000 + 3 * waiting * QUEUES;
    run(&mut scheduler, vec![foreign_of(7, index, 1)]);
    bencher.bench_local(|| assert_eq!(run(&mut scheduler, vec![foreign_of(7, index, 1)]), 0));
}

/// What puts the pods of 100 queues in order.
#[derive(Clone, Copy, Debug)]
enum Sorts {
    /// Nothing but when they came.
    Fifo,
    /// What each queue is promised.
    Promised,
    /// The shares of the applications of each.
    Fair,
}

/// 10,000 applications of one pod each are placed, in 100 queues.
#[divan::bench(args = [Sorts::Fifo, Sorts::Promised, Sorts::Fair], sample_count = 20, sample_size = 1)]
fn applications_in_100_queues(bencher: Bencher<'_, '_>, sorts: Sorts) {
    let (mut ready, shape) = (cluster(1_000), shape(1000));
    let queue = |at: u32| {
        let cpu = |cores: i128| Limit::new([("cpu".into(), cores)]);
        let spec = match sorts {
            Sorts::Fifo => QueueSpec::default(),
            Sorts::Promised => QueueSpec { guaranteed: cpu(10_000 + i128::from(at) * 3_000), ..QueueSpec::default() },
            Sorts::Fair => QueueSpec { sort_policy: Some(SortPolicy::Fair), ..QueueSpec::default() },
        };
        Event::Queue(format!("root.q.{at:03}").into(), spec)
    };
    run(&mut ready, (0..QUEUES).map(queue).collect());
    let application = |at: u32| {
        let role = Role::Originator { application: format!("app-{at:05}").into() };
        in_queue(pod(at, role, &shape), at % QUEUES)
    };
    run(&mut ready, (0..PODS).map(application).collect());
    measure(bencher, PODS, &ready, || vec![Event::Synced], PODS);
}

/// 100 or 10,000 applications run in 100 queues that are promised something, while a pod comes to one of these, is placed and
/// ends: what that takes does not follow from how many run.
#[divan::bench(args = [100, 10_000], sample_count = 100, sample_size = 100)]
fn a_pod_comes_while_applications_run(bencher: Bencher<'_, '_>, running: u32) {
    let (mut scheduler, shape) = (cluster(1_000), shape(1000));
    let queue = |at: u32| {
        let guaranteed = Limit::new([("cpu".into(), 1_000_000)]);
        Event::Queue(format!("root.q.{at:03}").into(), QueueSpec { guaranteed, ..QueueSpec::default() })
    };
    run(&mut scheduler, (0..QUEUES).map(queue).chain([Event::Synced]).collect());
    let application = |at: u32| {
        let role = Role::Originator { application: format!("app-{at:05}").into() };
        in_queue(pod(at, role, &shape), at % QUEUES)
    };
    assert_eq!(run(&mut scheduler, (0..running).map(application).collect()), running);
    let id = AskId { index: running, generation: 0 };
    let mut queue = 0;
    bencher.bench_local(|| {
        queue = (queue + 1) % QUEUES;
        let comes = in_queue(pod(id.index, Role::Singleton, &shape), queue);
        assert_eq!(run(&mut scheduler, vec![comes]), 1);
        assert_eq!(run(&mut scheduler, vec![Event::AskGone(id)]), 0);
    });
}

/// How the last gang of [`tight`] falls short.
#[derive(Clone, Copy, Debug)]
enum Short {
    /// Its workers find too few nodes even alone, as the first order of its seats shows.
    Alone,
    /// Drivers and workers find nodes, but not together: every order fails, and a search reaches its bound.
    Together,
}

/// So many nodes, all but full; 300 have 8 cores left: for a driver, or for two workers. With how many workers a gang of
/// 200 drivers falls short.
fn tight(nodes: u32, short: Short) -> (Scheduler, u32) {
    let (mut ready, apart) = (cluster(nodes), nodes / 300);
    let is_free = |node: u32| node.is_multiple_of(apart) && node / apart < 300;
    let others = (0..nodes).map(|node| foreign_of(node, node, if is_free(node) { 56 } else { 62 }));
    run(&mut ready, others.chain([Event::Synced]).collect());
    let workers = match short {
        Short::Alone => 601,
        Short::Together => 201,
    };
    (ready, workers)
}

/// A gang that fits the nodes in no way: its last member comes. Compare [`one_pass_of_a_gang`].
#[divan::bench(
    args = [1_000, 10_000].into_iter().flat_map(|nodes| [Short::Alone, Short::Together].map(|short| (nodes, short))),
    sample_count = 20, sample_size = 1
)]
fn gang_fits_in_no_way(bencher: Bencher<'_, '_>, (nodes, short): (u32, Short)) {
    let (mut ready, workers) = tight(nodes, short);
    let (driver, worker) = (shape(6000), shape(4000));
    let of_job = |name: &str, count: u32, shape: &Arc<Shape>| {
        let mut event = gang(name, count, shape);
        if let Event::Group(_, spec) = &mut event {
            (spec.application, spec.gang) =
                ("job".into(), ["driver", "worker"].map(|name| Key::new("ns", name)).to_vec());
        }
        event
    };
    run(&mut ready, vec![of_job("driver", 200, &driver), of_job("worker", workers, &worker)]);
    run(&mut ready, (0..200).map(|at| member(nodes + at, "driver", &driver)).collect());
    run(&mut ready, (1..workers).map(|at| member(nodes + 200 + at, "worker", &worker)).collect());
    let last = || vec![member(nodes + 200, "worker", &worker)];
    measure(bencher, 200 + workers, &ready, last, 0);
    run(&mut ready, last());
    assert_eq!(ready.searches(), u64::from(matches!(short, Short::Together)), "{short:?}");
}

/// The drivers and workers of [`gang_fits_in_no_way`] are placed one after the other, until one falls short.
#[divan::bench(args = [1_000, 10_000], sample_count = 100, sample_size = 10)]
fn one_pass_of_a_gang(bencher: Bencher<'_, '_>, nodes: u32) {
    let (ready, workers) = tight(nodes, Short::Together);
    let mut classes = Classes::default();
    let demands = [(6000, 200), (4000, workers)]
        .map(|(cpu, count)| Demand { class: classes.intern(&shape(cpu), &ready.books.nodes), count });
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    bencher.bench_local(|| {
        scratch.begin();
        assert!(fill(&ready.books.nodes, &classes, &mut scratch, &demands, &mut out).is_err());
    });
}

/// The books are recomputed from scratch: what that takes grows with the number of applications, no faster.
#[divan::bench(args = [1_000, 10_000], sample_count = 10, sample_size = 1)]
fn audit_of_gangs_that_wait(bencher: Bencher<'_, '_>, gangs: u32) {
    let (mut scheduler, shape) = (cluster(1), shape(1000));
    let wait = (0..gangs).flat_map(|at| {
        let name = format!("g-{at:06}");
        [gang(&name, 2, &shape), member(at, &name, &shape)]
    });
    run(&mut scheduler, std::iter::once(Event::Synced).chain(wait).collect());
    bencher.counter(ItemsCount::new(gangs)).bench_local(|| assert_eq!(scheduler.audit(), [""; 0]));
}
