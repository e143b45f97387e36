//! `run`: puts the parts of the scheduler together, and takes them apart at the end.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use kube::Client;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};

use super::args::{ClusterArgs, RunArgs};
use super::cli::{FAILED, fail};
use super::client::{self, ClientError};
use super::clock::Clock;
use super::driver::{Driver, DriverError, Ended, Owned, Why, Wiring};
use super::http::{Gate, ListenError, Server, Sources, Tls, TlsError};
use super::lease::{Candidate, Election, Lead};
use super::settings::Settings;
use super::shell::{Heartbeat, ShellCounters, Shutdown};
use super::telemetry;
use super::text::chain;
use crate::controller::follower::Follower;
use crate::controller::lease::Flights;
use crate::controller::{self, Controller};
use crate::core::time::{Mono, Wall};

/// Questions that wait: a scrape, two probes, some people. More are answered as late.
const QUESTIONS: usize = 16;
/// While the API server is silent it is asked at most this often, and at least this often.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// How long requests that have come may still be answered once the scheduler has ended: an answer takes milliseconds, and
/// nobody's half request may hold the process up.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Why the scheduler could not start.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot serve HTTPS")]
    Tls(#[from] TlsError),
    #[error("cannot handle signals")]
    Signals(#[source] io::Error),
    #[error("the scheduling loop ended by itself")]
    Loop(#[from] DriverError),
    #[error("the scheduling loop panicked")]
    Panic,
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl RunError {
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Client(_) | Self::Listen(_) | Self::Tls(_) | Self::Signals(_) | Self::Thread(_) => FAILED,
            // What a panic of the main thread would give.
            Self::Loop(_) | Self::Panic => 101,
        }
    }
}

/// Runs the scheduler until it is told to end.
pub(super) fn main(args: &RunArgs) -> ExitCode {
    let settings = match Settings::load(args) {
        Ok(settings) => settings,
        Err(error) => return fail(&error),
    };
    if let Err(error) = telemetry::start(&settings) {
        return fail(&error);
    }
    let runtime = match one_thread() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let ended = runtime.block_on(run(settings, args.cluster.clone()));
    // Not by dropping it: that waits for look-ups of names, which take as long as they like.
    runtime.shutdown_background();
    let code = ended.map_or_else(
        |error| {
            // The log is where people and machines look by now.
            tracing::error!(problem = chain(&error), "Cannot run");
            ExitCode::from(error.exit_code())
        },
        |()| ExitCode::SUCCESS,
    );
    telemetry::flush();
    code
}

/// A runtime of one thread.
fn one_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Signals and questions on this thread, everything else on another: however long a step takes, there is an answer that
/// says so, and a second signal ends the process.
async fn run(settings: Settings, cluster: ClusterArgs) -> Result<(), RunError> {
    let (order, shutdown) = Shutdown::new();
    end_on_signals(order)?;
    let (asked, questions) = mpsc::channel(QUESTIONS);
    let (counters, heartbeat) = (Arc::new(ShellCounters::understanding(&settings.dialects)), Heartbeat::new(mono()));
    let server = Server::bind(settings.http.address).await?;
    let address = server.address;
    let tls = settings.http.tls.as_ref().map(|certificate| Tls::new(certificate, &host(), wall)).transpose()?;
    let gate = settings.http.auth.then(|| Gate::new(cluster.clone(), mono, Arc::clone(&counters)));
    let (https, auth) = (tls.is_some(), gate.is_some());
    let sources = Sources { heartbeat: heartbeat.clone(), clock: mono, questions: asked, counters: counters.clone() };
    let http = tokio::spawn(server.serve(sources, gate, tls, shutdown.clone()));
    if let Some(warning) = settings.http.warning() {
        tracing::warn!(%address, "{warning}");
    }
    let ended = on_a_thread(async move {
        let config = client::config(&cluster).await?;
        let url = config.cluster_url.to_string();
        let client = client::scheduling(config, heard_by(Arc::clone(&counters)))?;
        tracing::info!(%address, https, auth, version = env!("CARGO_PKG_VERSION"), api_server = %url, "Started");
        tokio::spawn(report_silence(client.clone(), url, shutdown.clone()));
        let (lead, flights) = (Lead::always(), Flights::default());
        let wiring = Wiring { client, clock: *CLOCK, counters, heartbeat, questions, lead, flights };
        schedule(settings, wiring, shutdown).await
    })?;
    // A panic there must end the process, which then starts anew from the API server's facts.
    ended.await.map_err(|_| RunError::Panic)??;
    // Late or not, there is nothing to do about it.
    drop(tokio::time::timeout(LAST_ANSWERS, http).await);
    tracing::info!("Ended");
    Ok(())
}

/// The scheduler with all its traffic on one thread: the API server is what limits, long before that thread is busy, and
/// each thing that one thread hands to another costs both (an eighth of our CPU per binding, `lab perf --workloads medium
/// --contestants direct`).
fn on_a_thread(
    work: impl Future<Output = Result<(), RunError>> + Send + 'static,
) -> Result<oneshot::Receiver<Result<(), RunError>>, RunError> {
    let runtime = one_thread().map_err(RunError::Thread)?;
    let (done, ended) = oneshot::channel();
    let run = move || {
        let result = runtime.block_on(work);
        runtime.shutdown_background();
        // Nobody listens only if the process ends.
        drop(done.send(result));
    };
    thread::Builder::new().name("scheduler".to_owned()).spawn(run).map_err(RunError::Thread)?;
    Ok(ended)
}

/// The owner task, until the order to end. Whenever somebody else leads than before it begins anew, with lists of
/// everything.
async fn schedule(settings: Settings, mut wiring: Wiring, mut shutdown: Shutdown) -> Result<(), RunError> {
    let mut election = elect(&settings, &wiring);
    if let Some(election) = &election {
        wiring.lead = election.lead.clone();
    }
    loop {
        let why;
        (wiring, why) = match wiring.reign() {
            Some(reign) => {
                let controller = Controller::new(of_controller(&settings));
                play(Driver::new(controller, wiring, Some(reign)), &mut shutdown, election.as_mut()).await?
            }
            None => {
                play(Driver::new(Follower::new(&settings.dialects), wiring, None), &mut shutdown, election.as_mut())
                    .await?
            }
        };
        match why {
            Why::Turned => {}
            Why::Stopped { settled } => {
                // What was sent and has no answer may be carried out yet: others wait until the Lease has expired.
                if let Some(election) = election.filter(|_| settled) {
                    election.release().await;
                }
                return Ok(());
            }
        }
    }
}

/// One owner task, to its end.
async fn play<C: Owned>(
    driver: Driver<C>,
    shutdown: &mut Shutdown,
    election: Option<&mut Election>,
) -> Result<(Wiring, Why), RunError> {
    tokio::select! {
        ended = driver.run(shutdown.ordered()) => Ok(ended.map(|Ended { wiring, why, .. }| (wiring, why))?),
        () = ended(election) => Err(RunError::Panic),
    }
}

fn of_controller(settings: &Settings) -> controller::settings::Settings {
    controller::settings::Settings {
        scheduler_names: settings.scheduler_names.iter().map(|name| name.as_str().into()).collect(),
        placeholder_image: settings.placeholder_image.as_str().into(),
        ignore_foreign_markers: settings.ignore_foreign_markers,
        dialects: settings.dialects.clone(),
        default_wait_timeout_seconds: settings.default_wait_timeout_seconds,
        submitters: settings.submitters,
        max_placeholders: settings.max_placeholders,
        instance: instance(),
    }
}

/// The election, if there is one.
fn elect(settings: &Settings, wiring: &Wiring) -> Option<Election> {
    let candidate = Candidate {
        client: wiring.client.clone(),
        clock: wiring.clock,
        counters: Arc::clone(&wiring.counters),
        namespace: settings.leader_election.namespace.clone(),
        own: own_name().into(),
        timing: settings.leader_election.timing,
    };
    let names = settings.scheduler_names.iter().map(|name| name.as_str().into());
    settings.leader_election.enabled.then(|| Election::start(candidate, names))
}

async fn ended(election: Option<&mut Election>) {
    match election {
        Some(election) => election.ended().await,
        None => std::future::pending().await,
    }
}

/// The host's name, a pod's own, and something that no other process has: two of one name would both lead.
pub(super) fn own_name() -> String {
    let chance = RandomState::new().build_hasher().finish();
    format!("{}_{chance:016x}", host())
}

/// Empty where it cannot be told.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Drawn from the wall clock and the process: call numbers and event names are unique over processes.
fn instance() -> u64 {
    CLOCK.now().wall.0.unsigned_abs() << 16 ^ u64::from(std::process::id())
}

/// The clock of the process.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::start);

/// Milliseconds since the start of the process.
fn mono() -> Mono {
    CLOCK.mono()
}

fn wall() -> Wall {
    CLOCK.now().wall
}

/// Goes by the API server's time, and says so where this machine's is another.
fn heard_by(counters: Arc<ShellCounters>) -> impl Fn(Wall) {
    move |server| {
        let Some(ahead) = CLOCK.heard(server) else { return };
        let seconds = ahead as f64 / 1_000.0;
        counters.set_clock_ahead(seconds);
        if ahead == 0 {
            tracing::info!("the clock of this machine and that of the API server are alike again");
        } else {
            let is = if ahead > 0 { "ahead of" } else { "behind" };
            let seconds = seconds.abs();
            tracing::warn!(seconds, "the clock of this machine is {is} the API server's, whose time counts");
        }
    }
}

/// The first SIGTERM or SIGINT orders the end, the second one ends the process at once.
fn end_on_signals(order: watch::Sender<bool>) -> Result<(), RunError> {
    let take = |kind| signal(kind).map_err(RunError::Signals);
    let (mut terminate, mut interrupt) = (take(SignalKind::terminate())?, take(SignalKind::interrupt())?);
    tokio::spawn(async move {
        let name = next(&mut terminate, &mut interrupt).await.0;
        tracing::info!(signal = name, "Ending; another signal ends at once");
        // Nobody listens only if everything has ended already.
        order.send_replace(true);
        let (name, number) = next(&mut terminate, &mut interrupt).await;
        tracing::warn!(signal = name, "Ended at once");
        telemetry::flush();
        std::process::exit(128 + number);
    });
    Ok(())
}

/// Name and number of the next signal.
async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> (&'static str, i32) {
    tokio::select! {
        _ = terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
        _ = interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
    }
}

/// Says, at the start, whether the API server answers. Nothing waits for this: the watches try again by themselves.
async fn report_silence(client: Client, url: String, mut shutdown: Shutdown) {
    tokio::select! {
        () = shutdown.ordered() => {}
        () = wait_for(&client, &url) => {}
    }
}

async fn wait_for(client: &Client, url: &str) {
    let (mut pause, longest) = ASK_AGAIN;
    let mut said = String::new();
    loop {
        let answer = tokio::time::timeout(longest, client.apiserver_version()).await;
        let problem = match answer {
            Ok(Ok(version)) => {
                tracing::info!(api_server = %url, version = %version.git_version, "The API server answers");
                return;
            }
            // It answers, if not this question: the watches will say what is refused to them.
            Ok(Err(kube::Error::Api(status))) if status.code < 500 => {
                tracing::info!(api_server = %url, code = status.code, "The API server answers");
                return;
            }
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("no answer within {} s", longest.as_secs()),
        };
        if problem != said {
            tracing::warn!(api_server = %url, %problem, "The API server does not answer; waiting for it");
            said = problem;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
