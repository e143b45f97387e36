//! The owner task with a stand-in for the controller: what reaches it, what it is told to do, and how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gangline::controller::lease::Flights;
use gangline::controller::stats::Stats;
use gangline::controller::turn::Turn;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::time::Now;
use gangline::runtime::clock::Clock;
use gangline::runtime::driver::{Driver, Owned, Wiring};
use gangline::runtime::lease::Lead;
use gangline::runtime::shell::{Heartbeat, Question, ShellCounters, WatchState};
use gangline::shim::observation::{Observation, Outcome, WatchFact};
use gangline::shim::op::{Call, CallId, Kind, Op};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::scripted::{Reply, Server};

/// Binds one pod when the nodes are listed, and asks to be woken a little later.
#[derive(Default)]
struct StandIn {
    steps: usize,
    outcomes: Vec<Outcome>,
    synced: bool,
    woken_at: Option<u64>,
    wake_at: Option<u64>,
    stopped: bool,
    /// Told when the call has an outcome and when the wake came.
    told: Option<mpsc::UnboundedSender<&'static str>>,
}

impl Owned for StandIn {
    fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn {
        self.steps += 1;
        if self.wake_at.is_some_and(|at| now.mono.0 >= at) && self.woken_at.is_none() {
            self.woken_at = Some(now.mono.0);
            self.tell("woken");
        }
        let mut turn = Turn::default();
        for observation in batch.drain(..) {
            match observation {
                Observation::Watch { kind: Kind::Node, fact: WatchFact::ListEnd, .. } => {
                    self.synced = true;
                    self.wake_at = Some(now.mono.0 + 120);
                    turn.calls.push(bind(now));
                }
                Observation::Outcome { outcome, .. } => {
                    self.outcomes.push(outcome);
                    self.tell("answered");
                }
                Observation::Stop => self.stopped = true,
                Observation::Watch { .. } => {}
            }
        }
        turn.wake = self.wake_at.filter(|_| self.woken_at.is_none()).map(gangline::core::time::Mono);
        turn
    }

    fn stats(&self) -> Stats {
        Stats { synced: self.synced, pending_pods: self.outcomes.len() as u64, ..Stats::default() }
    }

    fn state(&self) -> Value {
        json!({"steps": self.steps})
    }
}

impl StandIn {
    fn tell(&self, what: &'static str) {
        // Only one test listens.
        let _ = self.told.as_ref().map(|told| told.send(what));
    }
}

fn bind(now: Now) -> Call {
    let op = Op::Bind { pod: Key::new("d", "p"), uid: Uid::new("u"), node: "n".into(), annotations: BTreeMap::new() };
    Call { id: CallId { incarnation: 1, sequence: 1 }, not_after: now.mono.after(5_000), op }
}

/// Serves nodes; a Binding is answered after a while.
fn server(binding: Duration) -> Server {
    Server::start(move |asked| {
        if asked.line.contains("/binding") {
            std::thread::sleep(binding);
            Reply::json(201, "{}")
        } else if asked.line.contains("/nodes?") && !asked.line.contains("watch=true") {
            Reply::json(200, r#"{"kind":"NodeList","metadata":{"resourceVersion":"3"},"items":[]}"#)
        } else if asked.line.contains("/nodes?") {
            Reply::Stream(vec![], Duration::from_secs(30))
        } else {
            Reply::json(404, "404 page not found")
        }
    })
}

/// A running owner task and what it is asked and seen by.
struct Bench {
    running: tokio::task::JoinHandle<StandIn>,
    stop: oneshot::Sender<()>,
    questions: mpsc::Sender<Question>,
    counters: Arc<ShellCounters>,
    heartbeat: Heartbeat,
    clock: Clock,
    told: mpsc::UnboundedReceiver<&'static str>,
}

impl Bench {
    fn start(server: &Server) -> Self {
        let (clock, counters) = (Clock::start(), Arc::<ShellCounters>::default());
        let heartbeat = Heartbeat::new(clock.mono());
        let (questions, asked) = mpsc::channel(4);
        let (stop, stopped) = oneshot::channel::<()>();
        let (client, beaten) = (server.client(), heartbeat.clone());
        let wiring = Wiring {
            client,
            clock,
            counters: Arc::clone(&counters),
            heartbeat: beaten,
            questions: asked,
            lead: Lead::always(),
            flights: Flights::default(),
        };
        let (tell, told) = mpsc::unbounded_channel();
        let driver = Driver::new(StandIn { told: Some(tell), ..StandIn::default() }, wiring, Some(0));
        let running =
            tokio::spawn(async { driver.run(async { drop(stopped.await) }).await.expect("no error").controller });
        Self { running, stop, questions, counters, heartbeat, clock, told }
    }

    async fn stats(&self) -> Stats {
        let (answer, answered) = oneshot::channel();
        self.questions.send(Question::Stats(answer)).await.expect("it runs");
        answered.await.expect("it answers")
    }

    async fn state(&self) -> Value {
        let (answer, answered) = oneshot::channel();
        self.questions.send(Question::State(answer)).await.expect("it runs");
        answered.await.expect("it answers")
    }

    /// Waits until both have happened.
    async fn woken_and_answered(&mut self) {
        let mut happened = BTreeSet::new();
        while happened.len() < 2 {
            let next = timeout(Duration::from_secs(10), self.told.recv()).await;
            happened.insert(next.unwrap_or_else(|_| panic!("only {happened:?}")).expect("it runs"));
        }
    }

    async fn end(self) -> StandIn {
        self.stop.send(()).expect("it runs");
        self.running.await.expect("no panic")
    }
}

#[tokio::test]
async fn it_syncs_calls_answers_wakes_and_stops() {
    let server = server(Duration::from_millis(20));
    let mut bench = Bench::start(&server);
    bench.woken_and_answered().await;
    assert_eq!(bench.stats().await.pending_pods, 1);
    assert!(bench.state().await["steps"].as_u64() > Some(2));
    assert!(bench.heartbeat.silent(bench.clock.mono()) < 6_000);
    assert_eq!(bench.counters.kinds(&[WatchState::Synced]), [Kind::Node]);
    assert_eq!(
        bench.counters.kinds(&[WatchState::Unserved]),
        [
            Kind::TaskGroup,
            Kind::Queue,
            Kind::KoordinatorPodGroup,
            Kind::CoschedulingPodGroup,
            Kind::VolcanoPodGroup,
            Kind::KubernetesPodGroup,
        ],
        "only ours and those of other systems may be missing"
    );
    assert_eq!(bench.counters.watch(Kind::Node).relists(), 1);
    let controller = bench.end().await;
    assert!(controller.stopped && controller.synced);
    assert!(matches!(controller.outcomes[..], [Outcome::Ok(None)]));
    let (wake_at, woken_at) = (controller.wake_at.expect("asked"), controller.woken_at.expect("woken"));
    // Not early, and not by the heartbeat of an owner task with nothing to do.
    assert!((wake_at..wake_at + 4_000).contains(&woken_at), "woken at {woken_at} instead of {wake_at}");
}

#[tokio::test]
async fn what_is_in_flight_may_end_before_it_stops() {
    let server = server(Duration::from_millis(400));
    let bench = Bench::start(&server);
    while server.asked().iter().all(|asked| !asked.line.contains("/binding")) {
        sleep(Duration::from_millis(5)).await;
    }
    let controller = bench.end().await;
    assert!(matches!(controller.outcomes[..], [Outcome::Ok(None)]));
}
