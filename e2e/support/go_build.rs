//! Builds the pinned programs with the Go toolchain.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::error::{During, Error, Result};
use super::progress::Progress;
use super::tools::{self, Module, Program};

/// The Go that the modules ask for.
const GO: (u32, u32) = (1, 26);

/// How often a build without a terminal says that it is still going on.
const STILL: Duration = Duration::from_secs(30);

/// Builds those of the programs that are not there yet. Safe to run several times at once.
pub fn ensure(programs: &[Program]) -> Result<()> {
    if missing(programs)?.is_empty() {
        return Ok(());
    }
    check_go()?;
    let _only_one = lock()?;
    // What another process built while we waited for it is not built again.
    for program in missing(programs)? {
        build(program)?;
    }
    Ok(())
}

fn missing(programs: &[Program]) -> Result<Vec<Program>> {
    let mut missing = Vec::new();
    for &program in programs {
        if !program.path()?.is_file() {
            missing.push(program);
        }
    }
    Ok(missing)
}

/// Held while building: two builds at once would only slow each other down.
fn lock() -> Result<File> {
    let dir = tools::cache_dir()?;
    let step = format!("locking {}", dir.display());
    fs::create_dir_all(&dir).during(&step)?;
    let file = File::create(dir.join("lock")).during(&step)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let waiting = Progress::start("waiting for another build of the tools");
            file.lock().during(&step)?;
            waiting.done("the other build is over");
        }
        Err(TryLockError::Error(error)) => return Err(error).during(&step),
    }
    Ok(file)
}

/// Builds in a directory of its own and moves the result into place: what is in place is always complete.
fn build(program: Program) -> Result<()> {
    let (name, module, target) = (program.name(), program.module(), program.path()?);
    let step = format!("building {name} {}", module.version());
    let progress = Progress::start(&step);
    let dir = tempfile::Builder::new().prefix(".build-").tempdir_in(tools::cache_dir()?).during(&step)?;
    fs::write(dir.path().join("go.mod"), module.go_mod).during(&step)?;
    fs::write(dir.path().join("go.sum"), module.go_sum).during(&step)?;
    if let Some(main) = module.main_go {
        fs::write(dir.path().join("main.go"), main).during(&step)?;
    }
    let output = run(go_build(program, dir.path()), &progress).during(&step)?;
    if !output.status.success() {
        return Err(Error::new(&step).with_tail("go build said", &String::from_utf8_lossy(&output.stderr)));
    }
    check_sums(program, dir.path())?;
    let parent = target.parent().unwrap_or(dir.path());
    fs::create_dir_all(parent).during(&step)?;
    keep_files(module, dir.path(), parent)?;
    fs::rename(dir.path().join("program"), &target).during(&step)?;
    progress.done(&format!("built {name} {}", module.version()));
    Ok(())
}

fn go_build(program: Program, dir: &Path) -> Command {
    let mut command = Command::new("go");
    // `-mod=mod` because the module files name only what they pin; the go command completes its copy of them.
    command.args(["build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", &program.ldflags()]);
    command.args(["-o", "program", &program.package()]);
    command.current_dir(dir).env("CGO_ENABLED", "0").env("GOWORK", "off").stdin(Stdio::null());
    command
}

/// Copies what tests read of a module's source beside its programs, since the Go module cache may be cleaned.
fn keep_files(module: &Module, dir: &Path, target: &Path) -> Result<()> {
    if module.kept.is_empty() {
        return Ok(());
    }
    let step = format!("looking for the source of {}", module.requirement);
    let mut list = Command::new("go");
    list.args(["list", "-mod=mod", "-m", "-f", "{{.Dir}}", module.requirement]);
    let output = list.current_dir(dir).env("GOWORK", "off").stdin(Stdio::null()).output().during(&step)?;
    if !output.status.success() {
        return Err(Error::new(&step).with_tail("go list said", &String::from_utf8_lossy(&output.stderr)));
    }
    let source = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    for kept in module.kept {
        copy_files(&source.join(kept), &target.join(kept))
            .during(format!("keeping {kept} of {}", module.requirement))?;
    }
    Ok(())
}

/// Copies the files of a directory, not those below it.
fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let file = entry?.path();
        // Read and written, as the module cache has its files read-only.
        if let Some(name) = file.file_name().filter(|_| file.is_file()) {
            fs::write(to.join(name), fs::read(&file)?)?;
        }
    }
    Ok(())
}

/// Runs to the end, saying now and then that it is still running.
fn run(mut command: Command, progress: &Progress) -> std::io::Result<Output> {
    let (sender, result) = mpsc::channel();
    thread::spawn(move || sender.send(command.output()));
    loop {
        match result.recv_timeout(STILL) {
            Ok(output) => return output,
            Err(mpsc::RecvTimeoutError::Timeout) => progress.still(),
            Err(error @ mpsc::RecvTimeoutError::Disconnected) => return Err(std::io::Error::other(error)),
        }
    }
}

/// A source whose checksum is not committed is not pinned.
fn check_sums(program: Program, dir: &Path) -> Result<()> {
    let module = program.module();
    let after = fs::read_to_string(dir.join("go.sum")).during("reading go.sum after the build")?;
    let new: Vec<&str> = after.lines().filter(|line| !module.go_sum.contains(line)).collect();
    if new.is_empty() {
        return Ok(());
    }
    let (name, file) = (program.name(), module.name);
    Err(Error::new(format!("{name} needs sources that e2e/tools/{file}/go.sum does not pin"))
        .with_tail("missing in go.sum", &new.join("\n")))
}

/// Says which Go to install when there is none, or an old one.
fn check_go() -> Result<()> {
    let install = format!("install Go {}.{} or newer (https://go.dev/dl) and put it on PATH", GO.0, GO.1);
    // Outside any module, so that no go.mod chooses another toolchain.
    let output = Command::new("go").args(["env", "GOVERSION"]).current_dir("/").stdin(Stdio::null()).output();
    let Ok(output) = output else {
        return Err(Error::new(format!("the control plane is built with Go, which is not there: {install}")));
    };
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match go_version(&text) {
        Some(version) if version >= GO => Ok(()),
        _ => Err(Error::new(format!("the control plane needs a newer Go than {text:?}: {install}"))),
    }
}

/// Major and minor of `go1.26.8`, `go1.27rc1`, `go1.27-devel_…`.
fn go_version(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.strip_prefix("go")?.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}
