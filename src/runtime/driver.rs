//! The owner task: the one place that calls the controller, with everything that happened since the last step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};

use super::clock::Clock;
use super::execute::Executor;
use super::lease::Lead;
use super::shell::{Heartbeat, Question, ShellCounters};
use super::watch::{Fact, Watches};
use crate::controller::Controller;
use crate::controller::follower::Follower;
use crate::controller::lease::Flights;
use crate::controller::stats::Stats;
use crate::controller::turn::Turn;
use crate::core::time::Now;
use crate::shim::observation::{Observation, Outcome};

/// Most facts of one step: a step over this many takes a few milliseconds, and answers wait no longer than that.
const BATCH_MAX: usize = 1_024;
/// Facts that may wait for the owner task. Beyond that the watches stop reading: a few batches, so that it never
/// starves, and at about 5 kB a pod 20 MB.
const FACTS_WAITING_MAX: usize = 4 * BATCH_MAX;
/// Longest sleep of an owner task with nothing to do, so that its heartbeat tells idle from dead (F10: 30 s).
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How far a step is from the one before: what comes in between is decided in one, which costs less than a step for each,
/// and a time in the past can never make the task spin. A call takes longer than this, and 64 of them are in flight. What
/// comes after a pause is decided at once, and so is what an answer frees ([`Driver::pause`]).
const APART: Duration = Duration::from_millis(2);
/// How long calls in flight may take to end after SIGTERM: half of F6's 10 s, the other half for the rest of the exit.
const STOP_WITHIN: Duration = Duration::from_secs(4);

/// What the owner task owns: a [`Controller`], a [`Follower`] while another leads, or a stand-in of a test.
pub trait Owned: Send + 'static {
    /// Takes what happened and says what to do.
    fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn;
    /// Numbers about itself.
    fn stats(&self) -> Stats;
    /// Its state for people.
    fn state(&self) -> Value;
}

impl Owned for Follower {
    fn step(&mut self, _: Now, batch: &mut Vec<Observation>) -> Turn {
        Self::step(self, batch)
    }
    fn stats(&self) -> Stats {
        Self::stats(self)
    }
    fn state(&self) -> Value {
        Self::state(self)
    }
}

impl Owned for Controller {
    fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn {
        Self::step(self, now, batch)
    }
    fn stats(&self) -> Stats {
        Self::stats(self)
    }
    fn state(&self) -> Value {
        Self::state(self)
    }
}

/// Why the owner task gave up.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A bug: watches go on as long as somebody listens.
    #[error("a watch ended")]
    WatchEnded,
}

/// What the owner task shares with the rest of the shell.
pub struct Wiring {
    /// Configured by [`super::client::configure`].
    pub client: Client,
    /// The clock of the process.
    pub clock: Clock,
    /// To be counted in.
    pub counters: Arc<ShellCounters>,
    /// To be beaten at every turn.
    pub heartbeat: Heartbeat,
    /// To be answered, at most one in a step.
    pub questions: mpsc::Receiver<Question>,
    /// Whether we lead.
    pub lead: Lead,
    /// What has left, in whatever reign.
    pub flights: Flights,
}

impl Wiring {
    /// The reign in which decisions can be made now: none either while it is not known what became of the last ones.
    pub fn reign(&self) -> Option<u64> {
        self.flights.begins(self.lead.standing(), self.clock.mono())
    }
}

/// What is left when the owner task has ended.
pub struct Ended<C> {
    /// What it owned, as it was then.
    pub controller: C,
    /// What it shared, with the questions that were not answered.
    pub wiring: Wiring,
    /// Why it ended.
    pub why: Why,
}

/// Why the owner task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was told to.
    Stopped {
        /// Whether it is known what became of every call that was sent.
        settled: bool,
    },
    /// We lead now, or do not any more. What was decided and not sent is forgotten; whoever leads next, this process too,
    /// decides from the beginning. This one may have to wait for that ([`Wiring::flights`]), as others do.
    Turned,
}

/// The owner task before it runs.
pub struct Driver<C> {
    controller: C,
    client: Client,
    clock: Clock,
    counters: Arc<ShellCounters>,
    heartbeat: Heartbeat,
    executor: Executor,
    watches: Watches,
    outcomes: mpsc::UnboundedReceiver<Observation>,
    facts: mpsc::Receiver<Fact>,
    questions: mpsc::Receiver<Question>,
    lead: Lead,
    /// The reign in which it decides; none if it waits for one.
    reign: Option<u64>,
    /// As [`Wiring::flights`].
    flights: Flights,
    batch: Vec<Observation>,
    /// When the last step ended.
    stepped: Instant,
    /// When the next step is due if nothing happens.
    due: Instant,
}

/// What ended a wait.
enum Woken {
    /// Something is in the batch, or a timer is due.
    Step,
    /// Only the heartbeat, a question that is answered, or another end of the same standing.
    Nothing,
    Turned,
    Stop,
}

impl<C: Owned> Driver<C> {
    /// Starts the watches, and makes the owner task to be run: in a reign, or until there is one.
    pub fn new(controller: C, wiring: Wiring, reign: Option<u64>) -> Self {
        let Wiring { client, clock, counters, heartbeat, questions, lead, flights } = wiring;
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let (fact_sender, facts) = mpsc::channel(FACTS_WAITING_MAX);
        Self {
            controller,
            clock,
            heartbeat,
            executor: Executor::new(client.clone(), clock, outcome_sender, Arc::clone(&counters))
                .under(lead.clone(), reign.unwrap_or_default()),
            watches: Watches::start(&client, &fact_sender, &counters),
            counters,
            client,
            outcomes,
            facts,
            questions,
            lead,
            reign,
            flights,
            batch: Vec::new(),
            stepped: Instant::now(),
            due: Instant::now(),
        }
    }

    /// Runs until `stop` is ready, then lets the calls in flight end; or until somebody else leads than now.
    ///
    /// # Errors
    /// If it cannot go on.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<Ended<C>, DriverError> {
        tokio::pin!(stop);
        let why = loop {
            self.heartbeat.beat(self.clock.mono());
            let woken = tokio::select! {
                biased;
                () = &mut stop => Woken::Stop,
                woken = self.wait() => woken?,
            };
            match woken {
                Woken::Step => self.step(),
                Woken::Nothing => {}
                Woken::Turned => {
                    self.abandon();
                    break Why::Turned;
                }
                Woken::Stop => break Why::Stopped { settled: self.finish().await },
            }
        };
        let Self { controller, client, clock, counters, heartbeat, questions, lead, flights, .. } = self;
        let wiring = Wiring { client, clock, counters, heartbeat, questions, lead, flights };
        Ok(Ended { controller, wiring, why })
    }

    /// Waits for something to do. Outcomes come first: they free what facts may only show later. Questions come last, so
    /// that nobody who asks holds up facts and timers; a step answers one, so that nothing holds up who asks.
    async fn wait(&mut self) -> Result<Woken, DriverError> {
        self.pause().await;
        if self.has_turned() {
            return Ok(Woken::Turned);
        }
        let (now, due) = (Instant::now(), self.due);
        // Not left to the sleep, which may not have heard of the time yet.
        if due <= now || !self.batch.is_empty() {
            return Ok(Woken::Step);
        }
        let heartbeat = now + HEARTBEAT;
        let woken = tokio::select! {
            biased;
            Some(outcome) = self.outcomes.recv() => {
                self.landed(outcome);
                Woken::Step
            }
            () = self.lead.changed() => Woken::Nothing,
            () = self.watches.ended() => return Err(DriverError::WatchEnded),
            Some(fact) = self.facts.recv() => {
                self.take(fact);
                Woken::Step
            }
            () = sleep_until(due.min(heartbeat).into()) => if due <= heartbeat { Woken::Step } else { Woken::Nothing },
            Some(question) = self.questions.recv() => {
                self.answer(question);
                Woken::Nothing
            }
        };
        Ok(woken)
    }

    /// Waits until the next step may begin; only an answer that shows a pod gone is not kept waiting. If that was a placeholder,
    /// its room is free for every scheduler of the cluster until the Binding that follows is carried out.
    async fn pause(&mut self) {
        let soonest = sleep_until((self.stepped + APART).into());
        tokio::pin!(soonest);
        loop {
            tokio::select! {
                biased;
                () = &mut soonest => return,
                Some(outcome) = self.outcomes.recv() => {
                    let frees = matches!(outcome, Observation::Outcome { outcome: Outcome::Removed, .. });
                    self.landed(outcome);
                    if frees {
                        return;
                    }
                }
            }
        }
    }

    /// Whether we lead and did not, or do not any more.
    fn has_turned(&self) -> bool {
        self.flights.has_turned(self.reign, self.lead.standing(), self.clock.mono())
    }

    /// Of the calls in flight nobody here will know what became of them.
    fn abandon(&mut self) {
        while let Ok(outcome) = self.outcomes.try_recv() {
            self.landed(outcome);
        }
        self.flights.abandon(self.clock.mono());
    }

    /// One step over everything that has come so far, and one answer.
    fn step(&mut self) {
        while let Ok(outcome) = self.outcomes.try_recv() {
            self.landed(outcome);
        }
        while self.batch.len() < BATCH_MAX
            && let Ok(fact) = self.facts.try_recv()
        {
            self.take(fact);
        }
        let turn = self.turn();
        self.stepped = Instant::now();
        self.due = if turn.more { self.stepped } else { self.due_after(&turn) };
        self.start(turn);
        if let Ok(question) = self.questions.try_recv() {
            self.answer(question);
        }
    }

    fn turn(&mut self) -> Turn {
        let begin = Instant::now();
        let turn = self.controller.step(self.clock.now(), &mut self.batch);
        self.counters.stepped(begin.elapsed());
        self.batch.clear();
        turn
    }

    fn due_after(&self, turn: &Turn) -> Instant {
        turn.wake.map_or(self.stepped + HEARTBEAT, |at| self.clock.instant(at))
    }

    fn start(&mut self, turn: Turn) {
        self.flights.leave(turn.calls.len());
        for call in turn.calls {
            self.executor.start(call);
        }
    }

    fn landed(&mut self, outcome: Observation) {
        if let Observation::Outcome { outcome, .. } = &outcome {
            self.flights.land(self.clock.mono(), outcome);
        }
        self.batch.push(outcome);
    }

    fn take(&mut self, fact: Fact) {
        self.counters.watch(fact.kind).waited(fact.read.elapsed());
        self.batch.push(fact.observation);
    }

    fn answer(&self, question: Question) {
        // Whoever asked may have gone.
        match question {
            Question::Stats(answer) => drop(answer.send(self.controller.stats())),
            Question::State(answer) => drop(answer.send(self.controller.state())),
        }
    }

    /// The last step, and the end of what is in flight; whether it is known what became of all that was sent.
    async fn finish(&mut self) -> bool {
        self.batch.push(Observation::Stop);
        let turn = self.turn();
        self.start(turn);
        let landing = async {
            while self.flights.in_flight > 0
                && let Some(outcome) = self.outcomes.recv().await
            {
                self.landed(outcome);
            }
        };
        let late = timeout(STOP_WITHIN, landing).await.is_err();
        tracing::info!(in_flight = self.flights.in_flight, late, "stopped");
        self.turn();
        self.flights.are_settled(self.clock.mono())
    }
}

#[cfg(test)]
mod tests;
