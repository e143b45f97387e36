//! Sends calls: at once, once each, with no policy. Every call has exactly one outcome.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::clock::Clock;
use super::lease::Lead;
use super::shell::ShellCounters;
use super::text::chain;
use crate::shim::observation::{Observation, Outcome};
use crate::shim::op::{Call, CallId, Op};
use crate::shim::wire;

/// How long an answer is waited for: half again as long as the server is asked to try ([`wire::TRIES_SECONDS`]).
const PATIENCE: Duration = Duration::from_secs(15);
/// Largest answer that is read. A pod is at most as large as an etcd value (1.5 MiB) and grows a little as JSON.
const BODY_MAX: usize = 4 << 20;

/// Sends calls and hands back their outcomes.
#[derive(Clone)]
pub struct Executor {
    client: Client,
    clock: Clock,
    /// Unbounded, but the outbox's window bounds how many calls there are: each has one outcome.
    outcomes: UnboundedSender<Observation>,
    counters: Arc<ShellCounters>,
    patience: Duration,
    lead: Lead,
    /// In which its calls were decided.
    reign: u64,
}

impl Executor {
    /// An executor of one who leads always. The client must not retry ([`super::client::configure`]).
    pub fn new(
        client: Client,
        clock: Clock,
        outcomes: UnboundedSender<Observation>,
        counters: Arc<ShellCounters>,
    ) -> Self {
        Self { client, clock, outcomes, counters, patience: PATIENCE, lead: Lead::always(), reign: 0 }
    }

    /// With another time to wait for an answer, for tests.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// One that sends in this reign, and not later.
    #[must_use]
    pub fn under(self, lead: Lead, reign: u64) -> Self {
        Self { lead, reign, ..self }
    }

    /// Sends a call in a task of its own.
    pub fn start(&self, call: Call) {
        let pending = Pending { id: call.id, outcomes: self.outcomes.clone(), outcome: Outcome::Unknown };
        let executor = self.clone();
        tokio::spawn(async move { executor.perform(call, pending).await });
    }

    async fn perform(self, call: Call, mut pending: Pending) {
        let Some(tries) = self.tries_seconds(&call) else {
            pending.outcome = Outcome::NotSent;
            return;
        };
        let begin = Instant::now();
        let exchange = exchange(&self.client, &call.op, tries);
        let (code, outcome) = match timeout(self.patience, self.while_leading(exchange)).await {
            Ok(Some(Ok((code, outcome)))) => (code, outcome),
            Ok(Some(Err(error))) => {
                let problem = chain(&error);
                tracing::debug!(call = call.id.sequence, rule = ?call.op.rule(), problem, "no answer");
                (0, if never_left(&error) { Outcome::NotSent } else { Outcome::Unknown })
            }
            Ok(None) | Err(_) => (0, Outcome::Unknown),
        };
        let (resource, verb) = call.op.rule();
        self.counters.requested(verb, resource, code, begin.elapsed());
        pending.outcome = outcome;
    }

    /// For so many seconds the server may try a call that leaves now; none if it is not to leave.
    fn tries_seconds(&self, call: &Call) -> Option<u64> {
        let now = self.clock.mono();
        self.lead.tries_seconds(self.reign, now).filter(|_| now <= call.not_after)
    }

    fn leads(&self) -> bool {
        self.lead.holds(self.reign, self.clock.mono())
    }

    /// Goes on with it for as long as we lead: what has not left by then, since there was no connection yet, leaves no
    /// more.
    async fn while_leading<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let go_on = poll_fn(|context| match self.leads() {
            true => work.as_mut().poll(context).map(Some),
            false => Poll::Ready(None),
        });
        go_on.await
    }
}

/// The outcome of a call, reported when this is dropped: also if its task panics or is aborted.
struct Pending {
    id: CallId,
    outcomes: UnboundedSender<Observation>,
    outcome: Outcome,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Unknown);
        // Nobody listens any more once the process ends.
        let _ = self.outcomes.send(Observation::Outcome { id: self.id, outcome });
    }
}

async fn exchange(client: &Client, op: &Op, tries_seconds: u64) -> Result<(u16, Outcome), SendError> {
    let (status, headers, body) = send(client, op, tries_seconds).await?;
    Ok((status.as_u16(), wire::response(op, status.as_u16(), &headers, &body)))
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("cannot send the request")]
    Send(#[source] kube::Error),
    #[error("cannot read the answer")]
    Read(#[source] Box<dyn Error + Send + Sync>),
}

/// The body is read to its end: a connection with a rest in it is not used again.
async fn send(client: &Client, op: &Op, tries_seconds: u64) -> Result<(StatusCode, HeaderMap, Vec<u8>), SendError> {
    let response = client.send(wire::request(op, tries_seconds).map(Body::from)).await.map_err(SendError::Send)?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, BODY_MAX).collect().await.map_err(SendError::Read)?;
    Ok((head.status, head.headers, body.to_bytes().to_vec()))
}

/// Whether the request certainly never left: there was nobody to connect to, or nothing to authenticate with.
fn never_left(error: &SendError) -> bool {
    match error {
        SendError::Send(kube::Error::Auth(_)) => true,
        SendError::Send(error) => {
            std::iter::successors(Some(error as &(dyn Error + 'static)), |error| (*error).source())
                .any(is_refused_connection)
        }
        SendError::Read(_) => false,
    }
}

fn is_refused_connection(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kube::Config;
    use tokio::sync::{mpsc, oneshot, watch};

    use super::super::client::configure;
    use super::*;
    use crate::controller::lease::{Standing, Timing};
    use crate::core::base::ids::Key;
    use crate::core::time::Mono;

    const TIMING: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

    /// Another one waits 15 s from the last renewal that it saw, which was 10 s before the end.
    #[test]
    fn the_server_gives_a_call_up_before_another_can_lead() {
        let tries = |until: u64| {
            let (_standing, shown) = watch::channel(Standing::Leads { reign: 1, until: Mono(until) });
            let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
            config.root_cert = Some(Vec::new());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _inside = runtime.enter();
            let client = Client::try_from(configure(config)).unwrap();
            let executor = Executor::new(client, Clock::start(), mpsc::unbounded_channel().0, Arc::default());
            let op = Op::GetPod { pod: Key { namespace: "n".into(), name: "p".into() } };
            let call = Call { id: CallId { incarnation: 1, sequence: 1 }, op, not_after: Mono(u64::MAX) };
            executor.under(Lead::new(shown, TIMING), 1).tries_seconds(&call)
        };
        assert_eq!(tries(9_000), Some(10));
        assert!(matches!(tries(2_500), Some(6..=7)));
    }

    #[tokio::test]
    async fn what_waits_for_a_connection_when_another_leads_does_not_leave() {
        let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
        config.root_cert = Some(Vec::new());
        let client = Client::try_from(configure(config)).unwrap();
        let (standing, shown) = watch::channel(Standing::Leads { reign: 1, until: Mono(u64::MAX) });
        let executor = Executor::new(client, Clock::start(), mpsc::unbounded_channel().0, Arc::default());
        let executor = executor.under(Lead::new(shown, TIMING), 1);
        let (connect, connected) = oneshot::channel();
        let left = Cell::new(false);
        let call = executor.while_leading(async {
            let _: Result<(), _> = connected.await;
            left.set(true);
        });
        let depose = async {
            standing.send_replace(Standing::Leads { reign: 2, until: Mono(u64::MAX) });
            connect.send(()).unwrap();
        };
        let (ended, ()) = tokio::join!(call, depose);
        assert!(ended.is_none() && !left.get());
    }

    #[test]
    fn why_there_is_no_answer_is_told_once() {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "nobody listens");
        let sent = SendError::Send(kube::Error::Service(Box::new(refused())));
        assert_eq!(chain(&sent), "cannot send the request: ServiceError: nobody listens");
        assert!(never_left(&sent));
        let read = SendError::Read(Box::new(refused()));
        assert_eq!(chain(&read), "cannot read the answer: nobody listens");
        assert!(!never_left(&read), "it left, whatever became of it");
    }
}
