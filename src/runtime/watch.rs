//! Watches: one task per kind, each event one fact. No store: the controller's is the only one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryFutureExt, pin_mut};
use kube::runtime::watcher;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::item::Item;
use super::shell::{ShellCounters, WatchState};
use super::text::chain;
use crate::shim::escape;
use crate::shim::kinds::{self, Kind, PerKind, Watched};
use crate::shim::observation::{Observation, WatchFact};

/// How long the server serves one watch; kube takes a silent one for dead 5 s later. F22 wants that within a minute.
const WATCH_SECONDS: u32 = 55;
/// First and longest wait before a broken watch is started again: a restarting server is back in 3 s (measured).
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// A watch that went well for this long starts again without waiting longer than the first time: twice the longest
/// wait, as kube does, so that list and failure in turn do not come back every 200 ms.
const CALM: Duration = Duration::from_secs(20);

/// A fact on its way to the owner task.
#[derive(Debug)]
pub struct Fact {
    /// The kind that it is about.
    pub kind: Kind,
    /// The fact.
    pub observation: Observation,
    /// When it was read.
    pub read: Instant,
}

/// The running watches; they end when this is dropped.
pub struct Watches {
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts a watch of every kind that is to be watched. A full channel stops the reading, never the order.
    pub fn start(client: &Client, facts: &Sender<Fact>, counters: &Arc<ShellCounters>) -> Self {
        // Those of another owner task may have been there before.
        counters.watched().for_each(|kind| counters.watch(kind).set_state(WatchState::Connecting));
        let mut start = Start { client, facts, counters, tasks: JoinSet::new() };
        kinds::for_each(&mut start);
        Self { tasks: start.tasks }
    }

    /// Waits for a watch to end, which none does while somebody listens.
    pub async fn ended(&mut self) {
        while self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// What every watch is started with.
struct Start<'a> {
    client: &'a Client,
    facts: &'a Sender<Fact>,
    counters: &'a Arc<ShellCounters>,
    tasks: JoinSet<()>,
}

impl PerKind for Start<'_> {
    fn take<T: Watched>(&mut self) {
        if !self.counters.is_watched(T::KIND) {
            return;
        }
        let line = Line::new(T::KIND, self.facts.clone(), Arc::clone(self.counters));
        self.tasks.spawn(watch::<T>(Api::all(self.client.clone()), line));
    }
}

/// Nobody listens any more.
struct Closed;

async fn watch<T: Watched>(api: Api<Item<T>>, mut line: Line) {
    loop {
        let stream = watcher(api.clone(), watcher::Config::default().timeout(WATCH_SECONDS));
        pin_mut!(stream);
        line.conn += 1;
        line.stage = Stage::Asked;
        // It never ends by itself.
        while let Some(event) = stream.next().await {
            match line.take(event).await {
                Ok(Then::Go) => {}
                Ok(Then::Restart) => break,
                Err(Closed) => return,
            }
        }
    }
}

/// What follows from an event.
enum Then {
    Go,
    Restart,
}

/// How far a watch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A list was asked for; nothing of it has come.
    Asked,
    /// The list comes.
    Listing,
    /// Changes come.
    Live,
}

/// One kind's way to the owner task.
struct Line {
    kind: Kind,
    conn: u32,
    stage: Stage,
    facts: Sender<Fact>,
    backoff: Backoff,
    counters: Arc<ShellCounters>,
    /// People were told that the kind is not served, or that nobody answers.
    told: Option<Told>,
}

/// What people were told of a watch that is to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Unserved,
    NoAnswer,
}

impl Line {
    fn new(kind: Kind, facts: Sender<Fact>, counters: Arc<ShellCounters>) -> Self {
        Self { kind, conn: 0, stage: Stage::Asked, facts, backoff: Backoff::default(), counters, told: None }
    }

    async fn take<T: Watched>(&mut self, event: Result<Event<Item<T>>, watcher::Error>) -> Result<Then, Closed> {
        match event {
            // Also said before a list that then fails: `ListBegin` waits for the first of it.
            Ok(Event::Init) => self.stage = Stage::Asked,
            Ok(Event::InitApply(item)) => {
                self.take_back();
                self.begin().await?;
                self.say(WatchFact::Listed(item.seen)).await?;
            }
            Ok(Event::InitDone) => {
                self.take_back();
                self.begin().await?;
                self.stage = Stage::Live;
                self.counters.watch(self.kind).set_state(WatchState::Synced);
                self.say(WatchFact::ListEnd).await?;
            }
            Ok(Event::Apply(item)) => {
                self.take_back();
                self.say(WatchFact::Upsert(item.seen)).await?;
            }
            Ok(Event::Delete(item)) => {
                self.take_back();
                self.say(WatchFact::Gone(item.seen)).await?;
            }
            Err(error) => return self.fail(&error).await,
        }
        Ok(Then::Go)
    }

    /// What was said of the watch is over.
    fn take_back(&mut self) {
        let kind = self.kind.plural();
        match self.told.take() {
            Some(Told::Unserved) => tracing::info!(kind, "the kind is served now"),
            Some(Told::NoAnswer) => tracing::info!("the API server answers again"),
            None => {}
        }
    }

    async fn begin(&mut self) -> Result<(), Closed> {
        if self.stage == Stage::Listing {
            return Ok(());
        }
        self.stage = Stage::Listing;
        self.counters.watch(self.kind).relisted();
        self.show_listing();
        self.say(WatchFact::ListBegin).await
    }

    /// A kind that was listed once is ready, whatever happens to its watch later.
    fn show_listing(&self) {
        let watch = self.counters.watch(self.kind);
        if watch.state() != WatchState::Synced {
            watch.set_state(WatchState::Listing);
        }
    }

    async fn fail(&mut self, error: &watcher::Error) -> Result<Then, Closed> {
        let (code, message) = problem(self.kind, error);
        self.conn += 1;
        self.counters.broke(self.kind, code);
        let then = if code == 404 && self.kind.may_be_missing() {
            self.counters.watch(self.kind).set_state(WatchState::Unserved);
            self.told = Some(Told::Unserved);
            self.say(WatchFact::Unserved).await?;
            // A watch that is only resumed would never see that its CRD is back with other objects.
            Then::Restart
        } else {
            self.tell(code, &message);
            let fact = WatchFact::Broken { code, message: escape::message(&message) };
            if fact.leaves_out(self.kind) && self.counters.watch(self.kind).state() == WatchState::Connecting {
                self.counters.watch(self.kind).set_state(WatchState::LeftOut);
            }
            self.say(fact).await?;
            Then::Go
        };
        tokio::time::sleep(self.backoff.next(Instant::now())).await;
        Ok(then)
    }

    /// The first break in a row is for everybody, unless it is an ordinary one or the controller says it: a right that is
    /// missing, and what is too old to go on from.
    fn tell(&mut self, code: u16, message: &str) {
        let kind = self.kind.plural();
        // All watches are of one server: one speaks for it, at the second failure in a row.
        let is_lost = matches!(code, 0 | 404) && self.kind == Kind::Pod && !self.backoff.is_fresh(Instant::now());
        if is_lost && self.told.replace(Told::NoAnswer).is_none() {
            if code == 0 {
                tracing::warn!(problem = message, "the API server does not answer; trying again");
            } else {
                tracing::warn!(problem = message, "what answers is no API server, since it has no pods; trying again");
            }
        } else if self.backoff.is_fresh(Instant::now()) && !matches!(code, 401 | 403 | 410) {
            tracing::info!(kind, code, problem = message, "a watch broke; trying again");
        } else {
            tracing::debug!(kind, code, problem = message, "watch broke");
        }
    }

    async fn say(&self, fact: WatchFact) -> Result<(), Closed> {
        let observation = Observation::Watch { kind: self.kind, conn: self.conn, fact };
        self.facts.send(Fact { kind: self.kind, observation, read: Instant::now() }).map_err(|_| Closed).await
    }
}

/// How long a broken watch waits before it starts again.
#[derive(Default)]
struct Backoff {
    failures: u32,
    broke: Option<Instant>,
}

impl Backoff {
    /// Whether it went well for long before this break.
    fn is_fresh(&self, now: Instant) -> bool {
        self.broke.is_none_or(|broke| now.duration_since(broke) > CALM)
    }

    /// Between half and all of a doubling wait: five watches that broke together do not come back together.
    fn next(&mut self, now: Instant) -> Duration {
        if self.is_fresh(now) {
            self.failures = 0;
        }
        self.broke = Some(now);
        // 2^6 times the first wait is beyond the longest.
        let whole = (BACKOFF.0 * (1 << self.failures.min(6))).min(BACKOFF.1);
        self.failures += 1;
        // The standard library's only source of chance.
        let chance = RandomState::new().build_hasher().finish() % 1024;
        whole / 2 + whole.mul_f64(chance as f64 / 2048.0)
    }
}

/// HTTP status (0 = connection) and words of a broken watch: `list pods: …`, so that a missing rule is named.
fn problem(kind: Kind, error: &watcher::Error) -> (u16, String) {
    let (verb, code, words) = match error {
        watcher::Error::InitialListFailed(error) => ("list", api_code(error), chain(error)),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            ("watch", api_code(error), chain(error))
        }
        watcher::Error::WatchError(status) => ("watch", status.code, status.message.clone()),
        watcher::Error::NoResourceVersion => ("watch", 0, "an object without resourceVersion".to_owned()),
    };
    (code, format!("{verb} {}: {words}", kind.plural()))
}

fn api_code(error: &kube::Error) -> u16 {
    if let kube::Error::Api(status) = error { status.code } else { 0 }
}
