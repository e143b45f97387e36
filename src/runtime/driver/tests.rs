//! What never ends keeps nothing else from happening: each test has one stream that does not stop.

use kube::Config;
use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::super::client::configure;
use super::*;
use crate::controller::lease::{Standing, Timing};
use crate::core::time::Mono;
use crate::shim::observation::{Outcome, WatchFact};
use crate::shim::op::{CallId, Kind};

/// Goes on for ever in the way it is told, and counts.
#[derive(Default)]
struct Restless {
    steps: usize,
    facts: usize,
    /// Every step is followed by one more outcome.
    outcomes: Option<mpsc::UnboundedSender<Observation>>,
    /// Every answer is followed by one more question.
    asker: Option<mpsc::Sender<Question>>,
    more: bool,
    wake_in: Option<u64>,
    /// Told of every step: how many, and how many facts.
    told: Option<mpsc::UnboundedSender<(usize, usize)>>,
}

impl Owned for Restless {
    fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn {
        self.steps += 1;
        self.facts += batch.drain(..).filter(|one| matches!(one, Observation::Watch { .. })).count();
        if let Some(outcomes) = &self.outcomes {
            let id = CallId { incarnation: 1, sequence: 1 };
            outcomes.send(Observation::Outcome { id, outcome: Outcome::NotSent }).unwrap();
        }
        if let Some(told) = &self.told {
            // Nobody listens any more once enough was seen.
            let _ = told.send((self.steps, self.facts));
        }
        let wake = self.wake_in.map(|wait| Mono(now.mono.0 + wait));
        Turn { more: self.more, wake, ..Turn::default() }
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    fn state(&self) -> Value {
        if let Some(asker) = &self.asker {
            // A full channel is a question too.
            let _ = asker.try_send(Question::State(oneshot::channel().0));
        }
        json!(self.steps)
    }
}

/// The owner task with nobody to talk to, and the ends of its channels.
struct Bench {
    driver: Driver<Restless>,
    asked: mpsc::Sender<Question>,
    facts: mpsc::Sender<Fact>,
    told: mpsc::UnboundedReceiver<(usize, usize)>,
    /// Watches end when nobody listens.
    _watched: mpsc::Receiver<Fact>,
}

fn bench(change: impl FnOnce(&mut Restless, mpsc::UnboundedSender<Observation>, mpsc::Sender<Question>)) -> Bench {
    let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
    config.root_cert = Some(Vec::new());
    let (asked, questions) = mpsc::channel(64);
    let clock = Clock::start();
    let wiring = Wiring {
        client: Client::try_from(configure(config)).unwrap(),
        clock,
        counters: Arc::default(),
        heartbeat: Heartbeat::new(clock.mono()),
        questions,
        lead: Lead::always(),
        flights: Flights::default(),
    };
    let (tell, told) = mpsc::unbounded_channel();
    let mut driver = Driver::new(Restless { told: Some(tell), ..Restless::default() }, wiring, Some(0));
    let (outcome, outcomes) = mpsc::unbounded_channel();
    let (fact, facts) = mpsc::channel(64);
    driver.outcomes = outcomes;
    let watched = std::mem::replace(&mut driver.facts, facts);
    change(&mut driver.controller, outcome, asked.clone());
    Bench { driver, asked, facts: fact, told, _watched: watched }
}

/// How many steps there had been when each of so many questions was answered.
async fn answers(bench: Bench, count: usize) -> Vec<u64> {
    let ask = |_| {
        let (answer, answered) = oneshot::channel();
        bench.asked.try_send(Question::State(answer)).unwrap();
        answered
    };
    let answered: Vec<_> = (0..count).map(ask).collect();
    let (all, mut steps) = (async { futures::future::join_all(answered).await }, Vec::new());
    let stop = async { steps = all.await };
    timeout(Duration::from_secs(20), bench.driver.run(stop)).await.expect("all are answered").unwrap();
    steps.into_iter().map(|answer| answer.unwrap().as_u64().unwrap()).collect()
}

fn take_turns(answers: &[u64]) -> bool {
    answers.windows(2).all(|pair| pair[0] < pair[1])
}

#[tokio::test]
async fn steps_without_end_and_questions_take_turns() {
    let answers = answers(bench(|restless, _, _| restless.more = true), 50).await;
    assert!(take_turns(&answers), "{answers:?}");
}

#[tokio::test]
async fn what_comes_one_after_another_is_taken_together() {
    let mut bench = bench(|restless, outcomes, _| restless.outcomes = Some(outcomes));
    let begin = Instant::now();
    let seen = async { while bench.told.recv().await.is_some_and(|(steps, _)| steps < 20) {} };
    timeout(Duration::from_secs(20), bench.driver.run(seen)).await.expect("it goes on").unwrap();
    assert!(begin.elapsed() >= 18 * APART, "twenty steps in {:?}", begin.elapsed());
}

/// Its room belongs to nobody until the next call leaves.
#[tokio::test]
async fn what_an_answer_frees_is_decided_at_once() {
    let mut sender = None;
    let mut bench = bench(|_, outcomes, _| sender = Some(outcomes));
    bench.driver.stepped = Instant::now() + Duration::from_secs(3_600);
    let sender = sender.expect("a bench");
    for outcome in [Outcome::Ok(None), Outcome::Removed] {
        let id = CallId { incarnation: 1, sequence: 1 };
        sender.send(Observation::Outcome { id, outcome }).unwrap();
    }
    let seen = async { assert!(bench.told.recv().await.is_some()) };
    timeout(Duration::from_secs(20), bench.driver.run(seen)).await.expect("a step").unwrap();
}

#[tokio::test]
async fn outcomes_without_end_and_questions_take_turns() {
    let answers = answers(bench(|restless, outcomes, _| restless.outcomes = Some(outcomes)), 50).await;
    assert!(take_turns(&answers), "{answers:?}");
}

/// Runs with a question always there until this many steps and facts were seen.
async fn run_asked_until(mut bench: Bench, steps: usize, facts: usize) {
    bench.asked.try_send(Question::State(oneshot::channel().0)).unwrap();
    let seen = async { while bench.told.recv().await.is_some_and(|(done, seen)| done < steps || seen < facts) {} };
    timeout(Duration::from_secs(20), bench.driver.run(seen)).await.expect("it goes on").unwrap();
}

#[tokio::test]
async fn questions_without_end_do_not_hold_up_facts() {
    let bench = bench(|restless, _, asker| restless.asker = Some(asker));
    let fact = || {
        let observation = Observation::Watch { kind: Kind::Node, conn: 1, fact: WatchFact::ListBegin };
        Fact { kind: Kind::Node, observation, read: Instant::now() }
    };
    let facts = bench.facts.clone();
    // One at a time, or a single step would take them all.
    let send = async {
        for _ in 0..20 {
            facts.send(fact()).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(run_asked_until(bench, 2, 20), send);
}

#[tokio::test]
async fn questions_without_end_do_not_hold_up_timers() {
    let asked = |restless: &mut Restless, _, asker| (restless.asker, restless.wake_in) = (Some(asker), Some(3));
    run_asked_until(bench(asked), 20, 0).await;
}

const TIMING: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

/// Runs in this role until it ends by itself; what is to be done meanwhile gets the bench's ends.
async fn turns(
    reign: Option<u64>,
    first: Standing,
    then: impl AsyncFnOnce(&mut Bench, watch::Sender<Standing>),
) -> Why {
    let mut bench = bench(|_, _, _| ());
    let (standing, shown) = watch::channel(first);
    bench.driver.lead = Lead::new(shown, TIMING);
    bench.driver.reign = reign;
    let driver = std::mem::replace(&mut bench.driver, self::bench(|_, _, _| ()).driver);
    let change = async {
        then(&mut bench, standing).await;
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = timeout(Duration::from_secs(20), driver.run(std::future::pending())) => ended,
        () = change => unreachable!("it waits for ever"),
    };
    ended.expect("it ends").unwrap().why
}

fn fact() -> Fact {
    let observation = Observation::Watch { kind: Kind::Node, conn: 1, fact: WatchFact::ListBegin };
    Fact { kind: Kind::Node, observation, read: Instant::now() }
}

const FAR: Mono = Mono(u64::MAX);

#[tokio::test]
async fn it_follows_until_it_leads() {
    let why = turns(None, Standing::Follows, async |bench, standing| {
        bench.facts.send(fact()).await.unwrap();
        assert_eq!(bench.told.recv().await, Some((1, 1)), "it hears before it leads");
        standing.send_replace(Standing::Leads { reign: 1, until: FAR });
    });
    assert_eq!(why.await, Why::Turned);
}

#[tokio::test]
async fn it_leads_until_its_reign_ends() {
    let why = turns(Some(1), Standing::Leads { reign: 1, until: FAR }, async |bench, standing| {
        // A renewal is no news, nor is it missed that there was another reign in between.
        standing.send_replace(Standing::Leads { reign: 1, until: Mono(u64::MAX - 1) });
        bench.facts.send(fact()).await.unwrap();
        while bench.told.recv().await.is_some_and(|(_, facts)| facts < 1) {}
        standing.send_replace(Standing::Leads { reign: 2, until: FAR });
    });
    assert_eq!(why.await, Why::Turned);
}

#[tokio::test]
async fn a_reign_ends_by_itself() {
    let until = Clock::start().mono().after(50);
    // A loop that has nothing to do looks again with its heartbeat; until then nothing leaves.
    assert_eq!(turns(Some(1), Standing::Leads { reign: 1, until }, async |_, _| ()).await, Why::Turned);
}

#[tokio::test]
async fn what_became_of_a_call_in_doubt_is_not_known_at_the_end() {
    let refused = |code| Outcome::Refused { code, reason: "r".into(), message: "m".into(), retry_after: None };
    for (outcome, settled) in
        [(Outcome::Ok(None), true), (refused(409), true), (refused(504), false), (Outcome::Unknown, false)]
    {
        let mut sender = None;
        let mut bench = bench(|_, outcomes, _| sender = Some(outcomes));
        let id = CallId { incarnation: 1, sequence: 1 };
        sender.expect("a bench").send(Observation::Outcome { id, outcome: outcome.clone() }).unwrap();
        let seen = async { while bench.told.recv().await.is_some_and(|(steps, _)| steps < 1) {} };
        let ended = timeout(Duration::from_secs(20), bench.driver.run(seen)).await.expect("it ends").unwrap();
        assert_eq!(ended.why, Why::Stopped { settled }, "{outcome:?}");
    }
}

/// A call of the reign before may be carried out yet, in room that a list made now does not show as taken.
#[tokio::test]
async fn whoever_leads_again_waits_for_its_calls_of_before() {
    for (in_flight, reign) in [(1, Some(1)), (0, Some(1)), (0, None)] {
        let mut bench = bench(|_, _, _| ());
        let (_standing, shown) = watch::channel(Standing::Leads { reign: 2, until: FAR });
        // Of what another driver left.
        let until = bench.driver.clock.mono().after(300);
        bench.driver.flights = Flights { in_flight, doubt: reign.is_none().then_some(until) };
        (bench.driver.lead, bench.driver.reign) = (Lead::new(shown, TIMING), reign);
        let clock = bench.driver.clock;
        let ended = timeout(Duration::from_secs(20), bench.driver.run(std::future::pending())).await;
        let ended = ended.expect("it ends").unwrap();
        assert_eq!(ended.why, Why::Turned);
        assert_eq!(ended.wiring.reign(), Some(2).filter(|_| in_flight == 0), "{in_flight} {reign:?}");
        assert!(reign.is_some() || clock.mono() >= until);
    }
}
