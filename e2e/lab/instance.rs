//! `lab up` and `lab down`: a control plane that a process in the background owns.
//!
//! `up` starts that process, the supervisor, and reads from its standard output how far it is: one line for each step,
//! then one with the result, or the end of the stream when it failed. While it lives it holds the lock of the instance,
//! which is how everybody else knows that the instance is up; when it dies, however it dies, lock, programs and state
//! directory go with it.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, setsid};
use tokio::signal::unix::{SignalKind, signal};

use super::gangline;
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Error, Result};
use crate::support::go_build;
use crate::support::nodes::NodeSet;
use crate::support::process::tail;
use crate::support::progress::Progress;
use crate::support::real::site::{self, Site};
use crate::support::real::{self, PAUSE};
use crate::support::tools::{Program, user_cache};

/// How long `down` waits before it kills.
const DOWN_WITHIN: Duration = Duration::from_secs(30);

/// Begins the line with which the supervisor says that it is done.
const READY: &str = "ready";

/// Arguments of `lab up`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpArgs {
    /// Name, to have several side by side
    #[arg(long, default_value = "default", value_parser = name)]
    pub(crate) name: String,
    /// Nodes to begin with: pretended ones, or `real:3` with kubelets and containers (root and Debian packages needed)
    #[arg(long, default_value_t = Nodes::Pretended(20))]
    pub(crate) nodes: Nodes,
    /// Images that real nodes hold from the start: tar files (OCI image layout); can be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
    /// CPUs of each pretended node
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) node_cpu: u32,
    /// Also install gangline and run the one that was built with this program
    #[arg(long)]
    pub(crate) gangline: bool,
}

impl Default for UpArgs {
    fn default() -> Self {
        let (name, nodes) = ("default".to_owned(), Nodes::Pretended(20));
        Self { name, nodes, images: Vec::new(), node_cpu: 16, gangline: false }
    }
}

/// What nodes a control plane begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// Objects that kwok plays.
    Pretended(u32),
    /// Kubelets.
    Real(u8),
}

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(real) = text.strip_prefix("real:") else {
            return text.parse().map(Self::Pretended).map_err(|_| "a number, or real:NUMBER".to_owned());
        };
        let count = real.parse().ok().filter(|count| (1..=site::NODES).contains(count));
        count.map(Self::Real).ok_or_else(|| format!("real:1 to real:{}", site::NODES))
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pretended(count) => write!(f, "{count}"),
            Self::Real(count) => write!(f, "real:{count}"),
        }
    }
}

impl UpArgs {
    fn options(&self) -> Options {
        match self.nodes {
            Nodes::Pretended(_) => Options::default(),
            Nodes::Real(count) => Options { images: self.images.clone(), ..Options::real(count) },
        }
    }

    /// What it is, in messages.
    fn title(&self) -> String {
        match self.nodes {
            Nodes::Pretended(count) => format!("control plane {:?} with {count} nodes", self.name),
            Nodes::Real(count) => format!("control plane {:?} with {count} real nodes", self.name),
        }
    }

    /// Fails if it cannot be started here; builds what it needs.
    fn prepare(&self) -> Result<()> {
        let mut programs = [&Program::CONTROL_PLANE[..], &[Program::Kubectl]].concat();
        match (self.nodes, real::missing()) {
            (Nodes::Real(_), Some(why)) => return Err(Error::new(why)),
            (Nodes::Real(_), None) => programs.extend(Program::REAL_NODES),
            (Nodes::Pretended(_), _) if !self.images.is_empty() => {
                return Err(Error::new("only real nodes hold images: NODES=real:3"));
            }
            (Nodes::Pretended(_), _) => {}
        }
        go_build::ensure(&programs)
    }
}

/// Arguments of `lab down`.
#[derive(Debug, clap::Args)]
pub(crate) struct DownArgs {
    /// Name given to `up`
    #[arg(long, default_value = "default", value_parser = name)]
    name: String,
}

/// Starts a control plane in the background, waits until it is ready and says how to use it.
pub(crate) fn up(args: &UpArgs) -> Result<()> {
    let place = Place::of(&args.name)?;
    if place.lock()?.is_none() {
        println!("{:?} is up already", args.name);
        return usage(&place);
    }
    args.prepare()?;
    usage(&start(args)?)
}

/// Starts a control plane in the background and waits until it is ready.
pub(crate) fn start(args: &UpArgs) -> Result<Place> {
    let place = Place::of(&args.name)?;
    if place.lock()?.is_none() {
        return Err(Error::new(format!("{:?} is up already; `make down` ends it", args.name)));
    }
    let progress = Progress::start(&args.title());
    let mut supervisor = start_supervisor(args, &place)?;
    if !follow(&mut supervisor, &progress)? {
        let status = supervisor.wait().during("waiting for the supervisor")?;
        let error = Error::new(format!("the control plane did not start ({status})"));
        return Err(error.with_tail(&format!("last lines of {}", place.log().display()), &tail(&place.log())));
    }
    progress.done(&format!("{} is ready", args.title()));
    Ok(place)
}

/// Ends a control plane; what a killed supervisor left of its files goes as well.
pub(crate) fn down(args: &DownArgs) -> Result<()> {
    let place = Place::of(&args.name)?;
    let site = place.site();
    if place.lock()?.is_some() {
        place.clear();
        println!("{:?} is not up", args.name);
        return check_nothing_left(site);
    }
    let progress = Progress::start(&format!("ending control plane {:?}", args.name));
    let pid = place.pid()?;
    kill_process(pid, Signal::TERM).during("telling the supervisor to end")?;
    if !place.wait_until_free(DOWN_WITHIN)? {
        kill_process(pid, Signal::KILL).during("killing the supervisor")?;
        place.wait_until_free(DOWN_WITHIN)?;
    }
    place.clear();
    check_nothing_left(site)?;
    progress.done(&format!("control plane {:?} has ended", args.name));
    Ok(())
}

/// Looks at what real nodes had on this machine; a killed supervisor's is removed here.
fn check_nothing_left(site: Option<u8>) -> Result<()> {
    // Who has the number now has removed what was there before.
    let Some(site) = site.map(Site::claim).transpose()?.flatten() else { return Ok(()) };
    let left = site.end();
    if left.is_empty() { Ok(()) } else { Err(site::behind(&left)) }
}

/// Owns a control plane until SIGTERM or SIGINT.
pub(crate) fn supervise(args: &UpArgs) -> Result<()> {
    let place = Place::of(&args.name)?;
    let Some(lock) = place.lock()? else {
        return Err(Error::new(format!("{:?} is up already", args.name)));
    };
    // Closing the terminal that started it must not end it. It fails only for the leader of a group.
    let _ = setsid();
    fs::write(place.path("pid"), std::process::id().to_string()).during("writing the pid")?;
    let runtime = tokio::runtime::Runtime::new().during("starting the runtime")?;
    let result = runtime.block_on(own(args, &place));
    place.clear();
    drop(lock);
    result
}

async fn own(args: &UpArgs, place: &Place) -> Result<()> {
    let step = "listening for signals";
    let mut term = signal(SignalKind::terminate()).during(step)?;
    let mut interrupt = signal(SignalKind::interrupt()).during(step)?;
    let work = async {
        let plane = ControlPlane::start_telling(args.options(), say).await?;
        if let Nodes::Pretended(count) = args.nodes {
            plane.add_nodes(&NodeSet::of_cpus("node", count, args.node_cpu)).await?;
        }
        if let Some(site) = plane.site() {
            fs::write(place.path("site"), site.to_string()).during("noting the site")?;
        }
        let scheduler = match args.gangline {
            true => Some(gangline::start(&plane.client(), &plane.kubeconfig(), plane.dir()).await?),
            false => None,
        };
        fs::copy(plane.kubeconfig(), place.path("kubeconfig")).during("copying the kubeconfig")?;
        fs::write(place.path("state-dir"), plane.dir().display().to_string()).during("noting the state directory")?;
        say(READY);
        let ended = std::future::pending::<Result<()>>().await;
        // Both live as long as this waits, and the scheduler ends first.
        drop((scheduler, plane));
        ended
    };
    tokio::select! {
        result = work => result,
        _ = term.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// Tells `up`, which may be gone.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn start_supervisor(args: &UpArgs, place: &Place) -> Result<Child> {
    let step = "starting the supervisor";
    let log = File::create(place.log()).during(step)?;
    let mut command = Command::new(std::env::current_exe().during(step)?);
    command.args(["supervise", "--name", &args.name, "--nodes", &args.nodes.to_string()]);
    command.args(["--node-cpu", &args.node_cpu.to_string()]).args(args.gangline.then_some("--gangline"));
    for image in &args.images {
        command.arg("--image").arg(image);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().during(step)
}

/// Shows the supervisor's steps; whether it got ready.
fn follow(supervisor: &mut Child, progress: &Progress) -> Result<bool> {
    let output = supervisor.stdout.take().map(BufReader::new);
    for line in output.into_iter().flat_map(BufRead::lines) {
        let line = line.during("reading from the supervisor")?;
        if line == READY {
            return Ok(true);
        }
        progress.now(&line);
    }
    Ok(false)
}

fn usage(place: &Place) -> Result<()> {
    println!();
    place.say_environment()?;
    let built = gangline::binary().map(|path| path.display().to_string());
    let gangline = built.unwrap_or_else(|_| "cargo run --locked --".to_owned());
    if place.site().is_some() {
        println!("  # containers have these images: {PAUSE} (ours; args [2s, \"1\"] end it so), and those of IMAGES=");
    }
    println!(
        "  alias gangline='{gangline}'

Next:
  kubectl get nodes
  kubectl apply --server-side -f crds/
  {gangline} run --kubeconfig {kubeconfig}   # the scheduler, in another terminal
  kubectl apply -f examples/                  # or the first gang of the README
  gangline list -A
  make down{name}

Logs, audit log and data (in memory): {state}",
        kubeconfig = place.kubeconfig().display(),
        state = place.state_dir()?.display(),
        name = if place.name == "default" { String::new() } else { format!(" NAME={}", place.name) },
    );
    Ok(())
}

/// Files of an instance: `lock`, and while it is up `pid`, `kubeconfig`, `state-dir`, `supervisor.log`, and
/// with real nodes `site`.
#[derive(Debug)]
pub(crate) struct Place {
    name: String,
    dir: PathBuf,
}

impl Place {
    fn of(name: &str) -> Result<Self> {
        let dir = user_cache()?.join("gangline/lab").join(name);
        fs::create_dir_all(&dir).during(format!("making {}", dir.display()))?;
        Ok(Self { name: name.to_owned(), dir })
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// The kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path("kubeconfig")
    }

    /// Where its logs and data are.
    pub(crate) fn state_dir(&self) -> Result<PathBuf> {
        fs::read_to_string(self.path("state-dir")).during("reading where the state is").map(PathBuf::from)
    }

    /// Prints what a shell needs to reach it.
    pub(crate) fn say_environment(&self) -> Result<()> {
        println!("  export KUBECONFIG={}", self.kubeconfig().display());
        println!("  alias kubectl={}", Program::Kubectl.path()?.display());
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.path("supervisor.log")
    }

    fn lock_file(&self) -> Result<File> {
        let path = self.path("lock");
        File::options().create(true).append(true).open(&path).during(format!("opening {}", path.display()))
    }

    /// The lock, if no supervisor holds it.
    fn lock(&self) -> Result<Option<File>> {
        let file = self.lock_file()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).during("locking the instance"),
        }
    }

    /// Waits until no supervisor holds the lock; whether that came true.
    fn wait_until_free(&self, within: Duration) -> Result<bool> {
        let file = self.lock_file()?;
        let (sender, locked) = mpsc::channel();
        thread::spawn(move || sender.send(file.lock()));
        Ok(locked.recv_timeout(within).is_ok())
    }

    /// The supervisor, which is known to hold the lock.
    fn pid(&self) -> Result<Pid> {
        let text = fs::read_to_string(self.path("pid")).during("reading the supervisor's pid")?;
        let pid = text.trim().parse().during("reading the supervisor's pid")?;
        Pid::from_raw(pid).ok_or_else(|| Error::new("the supervisor's pid is 0"))
    }

    /// Number of what its real nodes have on this machine.
    fn site(&self) -> Option<u8> {
        fs::read_to_string(self.path("site")).ok()?.parse().ok()
    }

    /// Removes everything but the lock, which others may be waiting for.
    fn clear(&self) {
        for file in ["pid", "kubeconfig", "state-dir", "site"] {
            let _ = fs::remove_file(self.path(file));
        }
    }
}

/// A name becomes part of a path.
fn name(text: &str) -> Result<String, String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !text.is_empty() && text.len() <= 40 && text.chars().all(fine) {
        return Ok(text.to_owned());
    }
    Err("letters, digits and hyphens, at most 40".to_owned())
}
