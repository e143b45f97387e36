//! Child processes that never outlive their owner and whose output goes to a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::error::{During, Error, Result};

/// How long a program may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// How often an ending program is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How much of a log's end is shown with an error.
const TAIL_BYTES: u64 = 16 * 1024;
const TAIL_LINES: usize = 25;

/// What to run and where its output goes.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name for messages and the log file.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment but for PATH: proxies and settings of the person at the keyboard must not matter.
    pub env: Vec<(String, String)>,
    /// File to which standard output and error are appended.
    pub log: PathBuf,
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts the program.
    pub fn start(spec: &Spec) -> Result<Self> {
        let step = format!("starting {} ({})", spec.name, spec.program.display());
        let log = File::options().create(true).append(true).open(&spec.log).during(&step)?;
        let mut command = guarded(&spec.program);
        command.args(&spec.args).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(spec.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone().during(&step)?).stderr(log);
        // A group of its own: Ctrl-C reaches the owner, who ends its children in order.
        command.process_group(0);
        let child = spawn(command).during(&step)?;
        Ok(Self { name: spec.name.clone(), log: spec.log.clone(), child })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file with everything that the program printed.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the program's log.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// An error if the program has ended, with its last words.
    pub fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait().during(format!("looking after {}", self.name))? {
            None => Ok(()),
            Some(status) => Err(self.last_words(&format!("{} ended early ({status})", self.name))),
        }
    }

    /// An error about this program with the tail of its log.
    pub fn last_words(&self, what: &str) -> Error {
        Error::new(what).with_tail(&format!("last lines of {}", self.log.display()), &self.log_tail())
    }

    /// Stops the program from running at all (SIGSTOP) until [`Self::resume`]. On a busy machine its threads do not stop
    /// at once: returns when all of them have, or the program has ended.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let stops = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), stops).during(format!("pausing {}", self.name))?;
        Ok(())
    }

    /// Lets a paused program run on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends the program as a crash would (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        let step = format!("killing {}", self.name);
        self.child.kill().during(&step)?;
        self.child.wait().during(&step)?;
        Ok(())
    }

    /// Asks the program to end (SIGTERM) and waits; kills it when it takes too long.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        let step = format!("ending {}", self.name);
        if let Some(status) = self.child.try_wait().during(&step)? {
            return Ok(status);
        }
        self.signal(Signal::TERM)?;
        let give_up = Instant::now() + GRACE;
        while Instant::now() < give_up {
            if let Some(status) = self.child.try_wait().during(&step)? {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
        self.child.kill().during(&step)?;
        self.child.wait().during(&step)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal).during(format!("signalling {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a file; empty if there is none.
pub fn tail(path: &Path) -> String {
    let text = read_end(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

fn read_end(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A command whose process the kernel kills when the thread that spawned it ends.
///
/// `setpriv` (util-linux) sets that signal for us, as doing it ourselves between fork and exec would need `unsafe`.
/// Where it is missing the programs still end with the owner's destructors, only not when the owner is killed.
fn guarded(program: &Path) -> Command {
    static SETPRIV: OnceLock<bool> = OnceLock::new();
    let available = *SETPRIV.get_or_init(|| {
        let probe = Command::new("setpriv").args(["--pdeathsig", "KILL", "true"]).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    });
    if !available {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

type Request = (Command, mpsc::Sender<std::io::Result<Child>>);

/// Spawns from the one thread that lives as long as this process, since the death signal belongs to the thread.
fn spawn(command: Command) -> std::io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (requests, inbox) = mpsc::channel::<Request>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                // The asker waits for the answer, so it is there.
                let _ = reply.send(command.spawn());
            }
        });
        requests
    });
    let (reply, answer) = mpsc::channel();
    spawner.send((command, reply)).map_err(std::io::Error::other)?;
    answer.recv().map_err(std::io::Error::other)?
}
