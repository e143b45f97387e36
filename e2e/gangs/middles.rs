//! Scenarios in whose middle the scheduler can die: each is a test by itself, and all of them are played once more side by side,
//! with one death in the middle of all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{LocalBoxFuture, try_join_all};
use tokio::sync::Barrier;

use crate::breakage::none_bound_twice;
use crate::harness::cluster::Cluster;
use crate::harness::{Context, Needs, Test, report, test};
use crate::support::components::Options;
use crate::support::error::{Error, Result};

/// The test in which it dies, in the middle of all these scenarios.
pub(super) fn killed(scenarios: Vec<Scenario>) -> Test {
    let own = Needs::OwnControlPlane(Options::default());
    let body = async move |t: &mut Context| all_at_once(t, &scenarios).await;
    test("scenarios: the scheduler is killed in the middle of each", own, body).without_gangline()
}

/// What is played.
pub(super) type Play = for<'a> fn(&'a mut Context, &'a Middle) -> LocalBoxFuture<'a, Result<()>>;

/// A story with a middle.
#[derive(Clone, Copy)]
pub(super) struct Scenario {
    name: &'static str,
    /// Nodes of its own that it begins with.
    nodes: u32,
    play: Play,
}

impl Scenario {
    pub(super) const fn new(name: &'static str, nodes: u32, play: Play) -> Self {
        Self { name, nodes, play }
    }

    /// The scenario as a test in which nobody dies, beside others.
    pub(super) fn test(self) -> Test {
        let body = async move |t: &mut Context| (self.play)(t, &Middle { met: None }).await;
        test(self.name, Needs::Nodes(self.nodes), body)
    }

    /// Plays it beside others on a cluster, in a namespace of its own.
    async fn play_beside(self, cluster: Arc<Cluster>, middle: &Middle) -> Result<()> {
        let mut context = Context::new(cluster, self.name).await?;
        if self.nodes > 0 {
            context.add_nodes("node", self.nodes, |_| ()).await?;
        }
        let began = Instant::now();
        let Err(error) = (self.play)(&mut context, middle).await else {
            println!("scenarios: | {} | {:.1} s |", self.name, began.elapsed().as_secs_f64());
            return Ok(());
        };
        Err(Error::new(format!("{}: {error}\n{}", self.name, report::report(&context).await)))
    }
}

/// What a scenario has in its middle: nothing, or the death of the scheduler. Each scenario comes to it once.
pub(super) struct Middle {
    /// Where all scenarios and who kills meet.
    met: Option<Barrier>,
}

/// How long one waits for the others: a scenario may wait for several things, each with a deadline of its own.
const ALL_MET_WITHIN: Duration = Duration::from_secs(180);

impl Middle {
    /// Whether the scheduler dies in the middle.
    pub(super) const fn kills(&self) -> bool {
        self.met.is_some()
    }

    /// Lets this happen in the middle: while there is no scheduler, if it dies there. Returns when there is another one.
    pub(super) async fn during<T>(&self, events: impl Future<Output = Result<T>>) -> Result<T> {
        self.meet("every scenario is in its middle").await?;
        self.meet("the scheduler is dead").await?;
        let happened = events.await?;
        self.meet("everything has happened").await?;
        self.meet("another scheduler is ready").await?;
        Ok(happened)
    }

    /// The same with nothing that happens.
    pub(super) async fn pass(&self) -> Result<()> {
        self.during(std::future::ready(Ok(()))).await
    }

    async fn meet(&self, what: &str) -> Result<()> {
        let Some(barrier) = &self.met else { return Ok(()) };
        let met = tokio::time::timeout(ALL_MET_WITHIN, barrier.wait()).await;
        met.map(drop).map_err(|_| Error::new(format!("not within {} s: {what}", ALL_MET_WITHIN.as_secs())))
    }
}

async fn all_at_once(t: &mut Context, scenarios: &[Scenario]) -> Result<()> {
    let mut scheduler = t.start_scheduler("gangline", &[]).await?;
    let began = Instant::now();
    let middle = Middle { met: Some(Barrier::new(scenarios.len() + 1)) };
    let kill = async {
        middle.meet("every scenario is in its middle").await?;
        println!("scenarios: all are in their middle after {:.1} s", began.elapsed().as_secs_f64());
        scheduler.kill9()?;
        middle.meet("the scheduler is dead").await?;
        middle.meet("everything has happened").await?;
        scheduler.restart().await?;
        println!("scenarios: another scheduler is ready after {:.1} s", began.elapsed().as_secs_f64());
        middle.meet("another scheduler is ready").await
    };
    let plays = scenarios.iter().map(|scenario| scenario.play_beside(Arc::clone(&t.cluster), &middle));
    tokio::try_join!(kill, try_join_all(plays))?;
    none_bound_twice(t)
}
