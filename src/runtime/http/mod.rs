//! The HTTP server: probes, metrics and the state, all read-only. Probes are open; the rest is behind a gate.

mod gate;
mod listener;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::metrics;
use super::shell::{ElectionSeen, Heartbeat, Question, ShellCounters, Shutdown, WatchState};
use super::text::{escape, escape_json};
use crate::controller::APPLY_KINDS;
use crate::controller::access::Page;
use crate::controller::stats::Stats;
use crate::core::time::{Millis, Mono};
use crate::shim::op::Kind;
pub use gate::Gate;
use listener::Bounded;
pub use tls::{Tls, TlsError};

/// `/livez` fails when the owner loop has not turned for this long: far above any step, far below a person's patience.
const LIVE_MS: Millis = 30_000;
/// The owner task answers a question between two steps; a kubelet probe waits 1 s unless told otherwise.
const ANSWER: Duration = Duration::from_millis(800);
/// `/state` may be large.
const STATE_ANSWER: Duration = Duration::from_secs(5);
/// A request is answered or ended within this time.
const REQUEST: Duration = Duration::from_secs(8);

/// Answers of `/metrics` and `/state` made at the same time: they cost the owner task time, probes do not. Whoever waits to
/// be let in has no place among them.
const LARGE: usize = 8;

/// What the answers are made of.
#[derive(Clone)]
pub struct Sources {
    /// When the owner loop last turned.
    pub heartbeat: Heartbeat,
    /// The monotonic clock that the loop beats by.
    pub clock: fn() -> Mono,
    /// Questions to the owner task.
    pub questions: mpsc::Sender<Question>,
    /// Numbers of the shell.
    pub counters: Arc<ShellCounters>,
}

/// The server could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    address: SocketAddr,
    source: std::io::Error,
}

/// A server that has its port.
pub struct Server {
    listener: TcpListener,
    /// The address, with the port that was given for 0.
    pub address: SocketAddr,
}

impl Server {
    /// Takes the port.
    ///
    /// # Errors
    /// The port is taken or not allowed.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let wrap = |source| ListenError { address, source };
        let listener = TcpListener::bind(address).await.map_err(wrap)?;
        let address = listener.local_addr().map_err(wrap)?;
        Ok(Self { listener, address })
    }

    /// Serves until the end is ordered and the requests in flight are answered. Without a gate the pages are open.
    pub async fn serve(self, sources: Sources, gate: Option<Gate>, tls: Option<Tls>, end: Shutdown) {
        let gate = gate.map(Arc::new);
        let router = router(sources, gate.as_ref());
        let bounded = Bounded::new(self.listener, tls.as_ref().map(Tls::acceptor));
        tokio::select! {
            () = bounded.serve(router, end) => {}
            () = renew(tls) => {}
            () = log_in(gate) => {}
        }
    }
}

async fn renew(tls: Option<Tls>) {
    match tls {
        Some(tls) => tls.renew().await,
        None => std::future::pending().await,
    }
}

async fn log_in(gate: Option<Arc<Gate>>) {
    match gate {
        Some(gate) => gate.log_in().await,
        None => std::future::pending().await,
    }
}

const ENDPOINTS: &str = "\
gangline serves:
  /livez    200 while the scheduling loop turns
  /readyz   200 once every kind is listed, or known not to be served
  /metrics  OpenMetrics
  /state    the scheduler's state as JSON
The last two may want a token: Authorization: Bearer TOKEN.
";

/// All endpoints. Those that tell of the cluster are behind the gate, if there is one.
fn router(sources: Sources, gate: Option<&Arc<Gate>>) -> Router {
    let places = Arc::new(Semaphore::new(LARGE));
    let page = |page: Page| -> MethodRouter<Sources> {
        let handler = match page {
            Page::Metrics => get(metrics),
            Page::State => get(state),
        };
        let handler = handler.layer(middleware::from_fn_with_state(Arc::clone(&places), few));
        let Some(gate) = gate else { return handler };
        handler.layer(middleware::from_fn_with_state((Arc::clone(gate), page), gate::let_in))
    };
    let pages = Page::ALL.into_iter().fold(Router::new(), |router, next| router.route(next.path(), page(next)));
    pages
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .fallback(async || (StatusCode::NOT_FOUND, ENDPOINTS))
        // No endpoint reads a body.
        .layer(DefaultBodyLimit::max(0))
        .layer(middleware::from_fn(limits))
        .with_state(sources)
}

/// Ends slow requests, and the connection after each: whoever asks is rare, and connections that stay cost more.
async fn limits(request: Request, next: Next) -> Response {
    let late = (StatusCode::SERVICE_UNAVAILABLE, "not answered in time\n");
    let answer = tokio::time::timeout(REQUEST, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| late.into_response());
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Refuses what is too much at once, at once.
async fn few(State(places): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    match places.try_acquire() {
        Ok(_place) => next.run(request).await,
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "too many such requests at once\n").into_response(),
    }
}

async fn livez(State(sources): State<Sources>) -> (StatusCode, String) {
    let silent = sources.heartbeat.silent((sources.clock)());
    if silent <= LIVE_MS {
        return (StatusCode::OK, "ok\n".into());
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("the scheduling loop has not turned for {} s\n", silent / 1000))
}

async fn readyz(State(sources): State<Sources>) -> (StatusCode, String) {
    readiness(sources.stats().await.as_ref(), &sources.counters)
}

/// What `/readyz` says.
fn readiness(stats: Option<&Stats>, counters: &ShellCounters) -> (StatusCode, String) {
    let names = |kinds: Vec<Kind>| kinds.into_iter().map(Kind::plural).collect::<Vec<_>>();
    let waiting = names(counters.kinds(&[WatchState::Connecting, WatchState::Listing]));
    let (ours, others) = counters.kinds(&[WatchState::Unserved]).into_iter().partition(|kind| kind.is_brought());
    let (unserved, others) = (names(ours), names(others));
    let ElectionSeen { holder, refused } = counters.election();
    let not_ready = |why: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n"));
    let (code, mut body) = match (stats, refused) {
        (None, _) => not_ready("the scheduling loop does not answer"),
        (Some(stats), _) if !stats.synced => not_ready("the cluster is not read yet"),
        (Some(_), Some(refused)) => not_ready(&format!("it could not lead: {}", escape(&refused))),
        (Some(_), None) => (StatusCode::OK, "ok\n".to_owned()),
    };
    if let Some(stats) = stats {
        let role = if stats.leads { "leader" } else { "follower" };
        body.push_str(&format!("role: {role}\n"));
    }
    if let Some(holder) = holder {
        body.push_str(&format!("holder of the Lease: {}\n", escape(&holder)));
    }
    if !waiting.is_empty() {
        body.push_str(&format!("not listed yet: {}\n", waiting.join(", ")));
    }
    if !unserved.is_empty() {
        body.push_str(&format!("not served by the cluster: {}; apply them: {APPLY_KINDS}\n", unserved.join(", ")));
    }
    if !others.is_empty() {
        body.push_str(&format!(
            "not served by the cluster, so that no gang is declared by one: {}\n",
            others.join(", ")
        ));
    }
    for (resource, verb) in stats.into_iter().flat_map(|stats| &stats.denied) {
        body.push_str(&format!("denied by the API server, failing, or done in part: {verb} {resource}\n"));
    }
    (code, body)
}

async fn metrics(State(sources): State<Sources>) -> Response {
    // Without an answer the shell's own numbers are served: they show why.
    let stats = sources.stats().await;
    match metrics::text(stats.as_ref(), &sources.counters) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn state(State(sources): State<Sources>) -> Response {
    match sources.ask(Question::State, STATE_ANSWER).await {
        // Somebody will look at it with curl on a terminal.
        Some(state) => {
            let json = escape_json(&state.to_string()).into_owned();
            ([(header::CONTENT_TYPE, "application/json")], json).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "the scheduling loop does not answer\n").into_response(),
    }
}

impl Sources {
    async fn stats(&self) -> Option<Stats> {
        self.ask(Question::Stats, ANSWER).await
    }

    /// Asks the owner task; `None` if it does not answer in time.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question, patience: Duration) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            self.questions.send(question(answer)).await.ok()?;
            answered.await.ok()
        };
        tokio::time::timeout(patience, asked).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests;
