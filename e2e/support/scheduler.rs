//! Gangline as users run it: the built program, as a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::error::{Error, Result};
use super::http_probe;
use super::ports;
use super::process::{Process, Spec};

/// How long it may take to be ready: it reads the cluster first.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How often it is asked.
const POLL: Duration = Duration::from_millis(50);

/// How to run it.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name, for the log and messages: several can run at once.
    pub name: String,
    /// The program.
    pub binary: PathBuf,
    /// Who it is.
    pub kubeconfig: PathBuf,
    /// Directory of its log.
    pub dir: PathBuf,
    /// Arguments after the ones that every run has.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
}

/// A running scheduler; killed when dropped.
#[derive(Debug)]
pub struct Scheduler {
    spec: Spec,
    port: u16,
    process: Process,
}

impl Scheduler {
    /// Starts it and waits until it is ready.
    pub async fn start(launch: &Launch) -> Result<Self> {
        let mut scheduler = Self::spawn(launch)?;
        scheduler.wait_ready().await?;
        Ok(scheduler)
    }

    /// Starts it without waiting.
    pub fn spawn(launch: &Launch) -> Result<Self> {
        let port = ports::free()?;
        let mut args = vec!["run".to_owned(), "--kubeconfig".to_owned(), launch.kubeconfig.display().to_string()];
        args.extend(["--http".to_owned(), format!("127.0.0.1:{port}")]);
        args.extend(["--log-format".to_owned(), "json".to_owned()]);
        // Tests run one scheduler, and one after the other: none waits for the Lease of one that was killed.
        if !launch.args.iter().any(|arg| arg.starts_with("--leader-elect")) {
            args.push("--leader-elect=false".to_owned());
        }
        args.extend(launch.args.iter().cloned());
        let spec = Spec {
            name: launch.name.clone(),
            program: launch.binary.clone(),
            args,
            env: launch.env.clone(),
            log: launch.dir.join(format!("{}.log", launch.name)),
        };
        let process = Process::start(&spec)?;
        Ok(Self { spec, port, process })
    }

    /// Waits until its `/readyz` says so.
    pub async fn wait_ready(&mut self) -> Result<()> {
        let give_up = Instant::now() + READY_WITHIN;
        while !matches!(self.get("/readyz"), Some((200, _))) {
            self.process.check_running()?;
            if Instant::now() > give_up {
                return Err(self.process.last_words(&format!("{} is not ready", self.spec.name)));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Status code and body of one of its HTTP paths; none while it does not answer.
    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        http_probe::get(self.port, path)
    }

    /// The port that it serves on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// An error if it has ended.
    pub fn check_running(&mut self) -> Result<()> {
        self.process.check_running()
    }

    /// Ends it as a crash would.
    pub fn kill9(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Asks it to end and waits.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.process.terminate()
    }

    /// Stops it from running, as a stalled machine would.
    pub fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    /// Lets it run on.
    pub fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    /// Kills it if it runs, starts it again with the same arguments (the log goes on) and waits until it is ready.
    pub async fn restart(&mut self) -> Result<()> {
        // It may have ended already.
        let _ = self.process.kill();
        self.process = Process::start(&self.spec)?;
        self.wait_ready().await
    }

    /// The file with everything that it printed.
    pub fn log(&self) -> &Path {
        self.process.log()
    }

    /// The last lines of its log that contain a text, such as a namespace.
    pub fn log_about(&self, text: &str, lines: usize) -> Result<String> {
        log_about(self.log(), text, lines)
    }
}

/// The last lines of a log that contain a text.
pub fn log_about(log: &Path, text: &str, lines: usize) -> Result<String> {
    let all = fs::read(log).map_err(|error| Error::new(format!("reading {}: {error}", log.display())))?;
    let all = String::from_utf8_lossy(&all);
    let about: Vec<&str> = all.lines().filter(|line| line.contains(text)).collect();
    Ok(about[about.len().saturating_sub(lines)..].join("\n"))
}
