//! What the parts of the shell share: the heartbeat, the counters, the questions to the owner task, the end.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{oneshot, watch};

use crate::controller::access::Page;
use crate::controller::stats::Stats;
use crate::core::time::{Millis, Mono};
use crate::shim::dialect::Dialect;
use crate::shim::op::Kind;

/// A question to the owner task. It answers between two steps; a dropped receiver is no error.
#[derive(Debug)]
pub enum Question {
    /// The numbers for `/metrics` and `/readyz`.
    Stats(oneshot::Sender<Stats>),
    /// The whole state as JSON, for `/state`.
    State(oneshot::Sender<serde_json::Value>),
}

/// When the owner loop last turned. The loop must beat at every turn and wake for it every few seconds even if nothing
/// happens: `/livez` fails 30 s after the last beat.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// A heart that beats first `now`.
    pub fn new(now: Mono) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    /// The loop turned.
    pub fn beat(&self, now: Mono) {
        self.0.store(now.0, Ordering::Relaxed);
    }

    /// How long ago the loop turned.
    pub fn silent(&self, now: Mono) -> Millis {
        now.since(Mono(self.0.load(Ordering::Relaxed)))
    }
}

/// Told to everything that runs when the process is to end.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// The order to end (send `true`) and what waits for it.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (order, seen) = watch::channel(false);
        (order, Self(seen))
    }

    /// Returns when the process is to end, also when whoever could order it is gone. Cancel-safe.
    pub async fn ordered(&mut self) {
        // An error means that the sender is gone: nobody could order it any more.
        drop(self.0.wait_for(|ordered| *ordered).await);
    }
}

/// How far a watch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchState {
    /// Not answered yet since the start.
    #[default]
    Connecting,
    /// The first list is being read.
    Listing,
    /// Listed at least once; a later break is a matter of lag, not of readiness.
    Synced,
    /// The API server does not know the kind: its CRD is missing.
    Unserved,
    /// It is not watched: the kind of another system, in whose words nothing is read.
    Off,
    /// It cannot be read so far, and is another system's kind: nobody waits for it.
    LeftOut,
}

impl WatchState {
    /// The word for metrics and `/readyz`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Listing => "listing",
            Self::Synced => "synced",
            Self::Unserved => "unserved",
            Self::Off => "off",
            Self::LeftOut => "left out",
        }
    }

    /// All of them, by the number they are stored as.
    pub const ALL: [Self; 6] =
        [Self::Connecting, Self::Listing, Self::Synced, Self::Unserved, Self::Off, Self::LeftOut];
}

/// Numbers about one kind's watch. The task of that watch writes them.
#[derive(Debug, Default)]
pub struct WatchCounters {
    state: AtomicU8,
    relists: AtomicU64,
    lag_ms: AtomicU64,
}

impl WatchCounters {
    /// The watch got this far.
    pub fn set_state(&self, state: WatchState) {
        let number = WatchState::ALL.iter().position(|other| *other == state).unwrap_or_default();
        self.state.store(u8::try_from(number).unwrap_or_default(), Ordering::Relaxed);
    }

    /// How far the watch is.
    pub fn state(&self) -> WatchState {
        WatchState::ALL.get(usize::from(self.state.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    /// A list began, the first one included.
    pub fn relisted(&self) {
        self.relists.fetch_add(1, Ordering::Relaxed);
    }

    /// A fact waited this long, from its reading to the step that took it.
    pub fn waited(&self, lag: Duration) {
        self.lag_ms.store(u64::try_from(lag.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Lists begun so far.
    pub fn relists(&self) -> u64 {
        self.relists.load(Ordering::Relaxed)
    }

    /// How long the newest fact waited, in seconds.
    pub fn lag_seconds(&self) -> f64 {
        Duration::from_millis(self.lag_ms.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// What an election has come to, for people.
#[derive(Clone, Debug, Default)]
pub struct ElectionSeen {
    /// Who else leads.
    pub holder: Option<String>,
    /// What is refused to us, so that we could not lead.
    pub refused: Option<String>,
}

/// Verb, resource and HTTP code of a request.
pub type RequestLabels = [(&'static str, String); 3];

/// Numbers that only the shell knows; shared by everything that runs. All methods are cheap and never block for long.
#[derive(Debug)]
pub struct ShellCounters {
    watches: [WatchCounters; Kind::ALL.len()],
    election: Mutex<ElectionSeen>,
    /// Seconds per step.
    pub(super) steps: Histogram,
    /// Seconds per request to the API server.
    pub(super) requests: Family<RequestLabels, Histogram>,
    /// Broken watches by kind and HTTP code.
    pub(super) watch_errors: Family<[(&'static str, String); 2], Counter>,
    /// Requests for pages that were refused, by path and HTTP code.
    pub(super) turned_away: Family<[(&'static str, String); 2], Counter>,
    /// Seconds by which this machine's clock is ahead of the API server's.
    pub(super) clock_ahead: Gauge<f64, AtomicU64>,
}

impl Default for ShellCounters {
    fn default() -> Self {
        Self {
            watches: Default::default(),
            election: Mutex::default(),
            steps: Histogram::new(STEP_SECONDS),
            requests: Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS)),
            watch_errors: Family::default(),
            turned_away: Family::default(),
            clock_ahead: Gauge::default(),
        }
    }
}

/// A step over a quiet cluster takes microseconds, one that plans thousands of pods some 10 ms; above 1 s is a fault.
const STEP_SECONDS: [f64; 11] = [0.00001, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0];
/// A Binding takes 7 to 45 ms (reference/control-plane.md); clients give up after 30 s.
const REQUEST_SECONDS: [f64; 11] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

impl ShellCounters {
    /// Those of a program that follows nothing, and so lacks nothing that it would have to read.
    pub fn without_watches() -> Self {
        let counters = Self::default();
        Kind::ALL.iter().for_each(|kind| counters.watch(*kind).set_state(WatchState::Synced));
        counters
    }

    /// Those of a program in which the words of these systems are understood.
    pub fn understanding(dialects: &[Dialect]) -> Self {
        let counters = Self::default();
        let off = Kind::ALL.into_iter().filter(|kind| Kind::watched(dialects).all(|watched| watched != *kind));
        off.for_each(|kind| counters.watch(kind).set_state(WatchState::Off));
        counters
    }

    /// Whether objects of a kind are watched.
    pub fn is_watched(&self, kind: Kind) -> bool {
        self.watch(kind).state() != WatchState::Off
    }

    /// The kinds that are watched.
    pub fn watched(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| self.is_watched(*kind))
    }

    /// The numbers of one kind's watch.
    pub fn watch(&self, kind: Kind) -> &WatchCounters {
        &self.watches[kind as usize]
    }

    /// A step of the controller took this long.
    pub fn stepped(&self, took: Duration) {
        self.steps.observe(took.as_secs_f64());
    }

    /// A request to the API server ended after this long with an HTTP code; 0 = no answer. Verb and resource are those
    /// of [`crate::shim::op::Op::rule`], of Leases, or of [`crate::controller::access::RULES`].
    pub fn requested(&self, verb: &'static str, resource: &'static str, code: u16, took: Duration) {
        let labels = [("verb", verb.to_owned()), ("resource", resource.to_owned()), ("code", code.to_string())];
        self.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// The clock of this machine is ahead of the API server's by so many seconds; 0 where they are alike.
    pub fn set_clock_ahead(&self, seconds: f64) {
        self.clock_ahead.set(seconds);
    }

    /// The watch of a kind broke with this HTTP status (0 = connection).
    pub fn broke(&self, kind: Kind, code: u16) {
        let labels = [("kind", kind.plural().to_owned()), ("code", code.to_string())];
        self.watch_errors.get_or_create(&labels).inc();
    }

    /// Whether every kind was listed since the watches began, or is known not to be served, or is nobody's to wait for.
    pub fn is_whole(&self) -> bool {
        self.kinds(&[WatchState::Connecting, WatchState::Listing]).is_empty()
    }

    /// What the election has come to.
    pub fn election(&self) -> ElectionSeen {
        self.lock().clone()
    }

    /// Another process leads, or none that is known.
    pub fn set_holder(&self, holder: Option<&str>) {
        self.lock().holder = holder.map(str::to_owned);
    }

    /// A Lease is refused to us, or none any more.
    pub fn set_lease_refused(&self, refused: Option<String>) {
        self.lock().refused = refused;
    }

    fn lock(&self) -> MutexGuard<'_, ElectionSeen> {
        self.election.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody was not let in who asked for this page.
    pub fn turned_away(&self, page: Page, code: u16) {
        let labels = [("path", page.path().to_owned()), ("code", code.to_string())];
        self.turned_away.get_or_create(&labels).inc();
    }

    /// The kinds whose watch is in one of these states.
    pub fn kinds(&self, states: &[WatchState]) -> Vec<Kind> {
        Kind::ALL.into_iter().filter(|kind| states.contains(&self.watch(*kind).state())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_survive_their_number() {
        let counters = ShellCounters::default();
        for state in WatchState::ALL {
            counters.watch(Kind::Queue).set_state(state);
            assert_eq!(counters.watch(Kind::Queue).state(), state);
        }
        counters.watch(Kind::Queue).set_state(WatchState::Unserved);
        assert_eq!(counters.kinds(&[WatchState::Unserved]), [Kind::Queue]);
    }

    #[test]
    fn each_kind_has_counters_of_its_own() {
        let counters = ShellCounters::default();
        Kind::ALL.iter().for_each(|kind| counters.watch(*kind).relisted());
        assert!(Kind::ALL.iter().all(|kind| counters.watch(*kind).relists() == 1));
    }

    #[test]
    fn a_heart_ages_from_its_last_beat() {
        let heart = Heartbeat::new(Mono(5));
        heart.beat(Mono(100));
        assert_eq!((heart.silent(Mono(130)), heart.silent(Mono(90))), (30, 0));
    }
}
