//! Runs the tests: those that share a cluster side by side, then those that must be alone, one by one.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::cluster::Cluster;
use super::context::Context;
use super::report;
use super::{Body, IMAGE, Needs, Test, image, images};
use crate::support::components::Options;
use crate::support::error::{During, Result};
use crate::support::tools::Program;
use crate::support::{chart, real};

/// Tests that share the cluster at the same time, unless `--test-threads` says otherwise. They mostly wait.
const THREADS: usize = 4;

/// Runs against this cluster instead of a control plane of our own.
const EXISTING: &str = "E2E_KUBECONFIG";

/// Set if kwok plays all nodes of that cluster that have no kubelet.
const KWOK: &str = "E2E_KWOK";

/// Set if that cluster's nodes run containers, hold the images of the tests, and have nothing else to do.
const REAL: &str = "E2E_REAL";

/// Keeps what the tests made.
const KEEP: &str = "E2E_KEEP";

/// How one test ended.
#[derive(Debug)]
enum End {
    Passed,
    Failed,
    Skipped(String),
}

/// What the tests of a run have in common.
struct Suite {
    runtime: Runtime,
    existing: Option<PathBuf>,
    shared: Mutex<Arc<OnceCell<Result<Arc<Cluster>>>>>,
    ends: Mutex<Vec<(&'static str, End)>>,
}

/// Runs what the command line selects.
pub(crate) fn run(tests: Vec<Test>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let suite = match Suite::new() {
        Ok(suite) => Arc::new(suite),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Before the first test, or each would say it again.
    if !arguments.list
        && suite.existing.is_some()
        && let Err(error) = suite.runtime.block_on(suite.shared())
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    keep_panics();
    let (alone, together): (Vec<_>, Vec<_>) = tests.into_iter().partition(|test| test.alone());
    let (last, together): (Vec<_>, Vec<_>) = together.into_iter().partition(|test| test.last);
    let mut failed = run_phase(&suite, &arguments, together);
    failed |= run_phase(&suite, &arguments, last);
    suite.stop();
    arguments.test_threads = Some(1);
    failed |= run_phase(&suite, &arguments, alone);
    if !arguments.list {
        suite.summary();
    }
    if failed { ExitCode::from(101) } else { ExitCode::SUCCESS }
}

/// Runs those tests of a list that the command line selects; whether one failed.
fn run_phase(suite: &Arc<Suite>, arguments: &Arguments, tests: Vec<Test>) -> bool {
    let trials = tests.into_iter().map(|test| trial(Arc::clone(suite), test));
    let mut trials: Vec<Trial> = trials.collect();
    trials.retain(|trial| !arguments.is_filtered_out(trial));
    !trials.is_empty() && libtest_mimic::run(arguments, trials).has_failed()
}

fn trial(suite: Arc<Suite>, test: Test) -> Trial {
    let name = test.name;
    Trial::ignorable_test(name, move || {
        if let Some(why) = suite.skips(&test) {
            suite.note(name, End::Skipped(why.clone()));
            return Ok(Completion::ignored_with(why));
        }
        let result = suite.run(test);
        suite.note(name, if result.is_ok() { End::Passed } else { End::Failed });
        result.map(|()| Completion::Completed).map_err(Failed::from)
    })
}

impl Suite {
    fn new() -> Result<Self> {
        Ok(Self {
            runtime: Runtime::new().during("starting the runtime")?,
            existing: std::env::var_os(EXISTING).map(PathBuf::from),
            shared: Mutex::default(),
            ends: Mutex::default(),
        })
    }

    /// Why a test cannot run on this machine, or on the cluster given.
    fn skips(&self, test: &Test) -> Option<String> {
        if test.real && self.existing.is_none() {
            let unpacked = || format!("{IMAGE} names no image: `make e2e-real` packs one and runs this");
            return real::missing().or_else(|| (test.packed && image().is_none()).then(unpacked));
        }
        self.existing.as_ref()?;
        if test.audited {
            return Some("reads the audit log of a control plane of its own".to_owned());
        }
        if test.operated {
            return Some("runs an operator, and defines its kinds, beside a control plane of its own".to_owned());
        }
        match &test.body {
            Body::On { needs: Needs::Shared, .. } => None,
            Body::On { needs: Needs::Nodes(_), .. } if std::env::var_os(KWOK).is_some() => None,
            Body::On { needs: Needs::Nodes(_), .. } => {
                Some(format!("needs nodes played by kwok; set {KWOK}=1 if that cluster has it"))
            }
            Body::On { needs: Needs::RealNodes(_), .. } if test.anywhere && std::env::var_os(REAL).is_some() => None,
            Body::On { needs: Needs::RealNodes(_), .. } if test.anywhere => Some(format!(
                "needs nodes that run containers; set {REAL}=1 if that cluster has them for the tests alone"
            )),
            Body::On { needs: Needs::RealNodes(_) | Needs::OwnControlPlane(_), .. } | Body::Bare(_) => {
                Some("needs no cluster, or one of its own".to_owned())
            }
        }
    }

    fn run(&self, test: Test) -> Result<(), String> {
        match test.body {
            Body::Bare(run) => caught(|| run(&self.runtime)),
            Body::On { needs, gangline, run } => {
                let prepared = self.runtime.block_on(self.prepare(test.name, &needs, gangline));
                let mut context = prepared.map_err(|error| error.to_string())?;
                let result = caught(|| run(&self.runtime, &mut context));
                let result = result.map_err(|error| self.explain(&error, &context));
                self.runtime.block_on(finish(context, test.packed));
                result
            }
        }
    }

    /// The cluster, and on it what is the test's own.
    async fn prepare(&self, name: &str, needs: &Needs, gangline: bool) -> Result<Context> {
        let cluster = match needs {
            Needs::Shared | Needs::Nodes(_) => self.shared().await?,
            Needs::RealNodes(options) => match &self.existing {
                Some(kubeconfig) => Arc::new(Cluster::existing(kubeconfig).await?),
                None => Arc::new(Cluster::own(Options { images: images(), ..options.clone() }).await?),
            },
            Needs::OwnControlPlane(options) => Arc::new(Cluster::own(options.clone()).await?),
        };
        if gangline {
            cluster.scheduler().await?;
        }
        let mut context = Context::new(cluster, name).await?;
        if let Needs::Nodes(count) = needs {
            context.add_nodes("node", *count, |_| ()).await?;
        }
        if let Needs::RealNodes(_) = needs {
            context.take_nodes().await?;
        }
        Ok(context)
    }

    /// The cluster that tests share, started by the first that asks.
    async fn shared(&self) -> Result<Arc<Cluster>> {
        let cell = Arc::clone(&self.shared.lock().unwrap_or_else(PoisonError::into_inner));
        let start = || async {
            let cluster = match &self.existing {
                Some(kubeconfig) => Cluster::existing(kubeconfig).await?,
                None => Cluster::own(Options::default()).await?,
            };
            Ok(Arc::new(cluster))
        };
        cell.get_or_init(start).await.clone()
    }

    /// Ends the shared cluster, or leaves it as it was found.
    fn stop(&self) {
        let cell = std::mem::take(&mut *self.shared.lock().unwrap_or_else(PoisonError::into_inner));
        let keep = self.existing.is_some() && std::env::var_os(KEEP).is_some();
        let cluster = Arc::into_inner(cell).and_then(OnceCell::into_inner).and_then(Result::ok);
        self.runtime.block_on(async {
            // No test holds it any more.
            let Some(cluster) = cluster.and_then(Arc::into_inner) else { return };
            if let Err(error) = cluster.end(keep).await {
                eprintln!("cleaning up: {error}");
            }
        });
    }

    /// An error with everything known about the test's objects.
    fn explain(&self, error: &str, context: &Context) -> String {
        let report = self.runtime.block_on(report::report(context));
        let logs = report::keep_logs(context).map_or_else(|error| error.to_string(), |path| path.display().to_string());
        format!("{error}\n{report}--- logs are kept in {logs}")
    }

    fn note(&self, name: &'static str, end: End) {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push((name, end));
    }

    /// How many passed, and by name which failed or were skipped.
    fn summary(&self) {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |wanted: fn(&End) -> bool| ends.iter().filter(|(_, end)| wanted(end)).count();
        let (passed, failed) = (count(|end| matches!(end, End::Passed)), count(|end| matches!(end, End::Failed)));
        let skipped = count(|end| matches!(end, End::Skipped(_)));
        println!("\nend to end: {passed} passed, {failed} failed, {skipped} skipped");
        for (name, end) in ends.iter() {
            match end {
                End::Passed => {}
                End::Failed => println!("  failed:  {name}"),
                End::Skipped(why) => println!("  skipped: {name} ({why})"),
            }
        }
    }
}

/// Removes what the test made and ends what was its own; with what it installed by helm, if it did.
async fn finish(context: Context, installs: bool) {
    let alone = Arc::strong_count(&context.cluster) == 1;
    let gone_anyway = alone && context.cluster.plane.is_some();
    if gone_anyway || std::env::var_os(KEEP).is_some() {
        return;
    }
    let id = context.id.clone();
    let removed = if alone { leave(context, installs).await } else { context.clean_up().await };
    if let Err(error) = removed {
        eprintln!("{id}: {error}");
    }
}

/// Leaves a cluster that is not ours as it was found, for the next test that is alone there.
async fn leave(context: Context, installs: bool) -> Result<()> {
    context.clean_up().await?;
    context.wait_clean().await?;
    if installs {
        chart::remove(&Program::Helm.find()?, &context.client, &context.cluster.kubeconfig).await?;
    }
    match Arc::into_inner(context.cluster) {
        Some(cluster) => cluster.end(false).await,
        None => Ok(()),
    }
}

thread_local! {
    /// The last panic of this thread, in the words of the standard hook.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the words of panics for the report instead of printing them between the lines of other tests.
fn keep_panics() {
    panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|last| *last = Some(info.to_string()))));
}

/// The result of a test; a panic, such as a failed assertion, is an error like others.
fn caught(run: impl FnOnce() -> Result<()>) -> Result<(), String> {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(PANIC.take().unwrap_or_else(|| "a panic".to_owned())),
    }
}
