//! A directory in memory that is gone when its owner is, however the owner ends.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use tempfile::TempDir;

use super::error::{During, Result};

/// Removes the directory once its standard input ends, which happens when the owner ends. Programs that are being killed
/// at the same moment may still be writing, hence the repetition.
const REAPER: &str = r#"cat >/dev/null; for i in 1 2 3 4 5 6 7 8 9 10; do
rm -rf -- "$1" 2>/dev/null && exit; sleep 0.2; done"#;

/// State of one control plane: data, keys, logs.
#[derive(Debug)]
pub struct StateDir {
    dir: Option<TempDir>,
    path: PathBuf,
    reaper: Child,
    alive: Option<ChildStdin>,
}

impl StateDir {
    /// A new directory, in memory where the machine has such a place: etcd's writes then cost no disk.
    pub fn create() -> Result<Self> {
        let step = "making the state directory";
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("gangline-").tempdir_in(parent).during(step)?;
        let path = dir.path().to_path_buf();
        let mut reaper = Command::new("sh");
        reaper.args(["-c", REAPER, "sh"]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C must not reach it.
        let mut reaper = reaper.process_group(0).spawn().during(step)?;
        let alive = reaper.stdin.take();
        Ok(Self { dir: Some(dir), path, reaper, alive })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in it as text for command lines.
    pub fn join(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        // What cannot be removed here the reaper tries again.
        drop(self.dir.take().map(TempDir::close));
        drop(self.alive.take());
        let _ = self.reaper.wait();
    }
}
