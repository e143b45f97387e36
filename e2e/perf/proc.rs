//! What the kernel knows of a process.

use std::fs;

use crate::support::error::{During, Error, Result};

/// Ticks a second of the times in `/proc/PID/stat`: 100 on every Linux that people run.
const TICKS: f64 = 100.0;

/// CPU seconds that a process has used, itself and the kernel for it.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let text = read(pid, "stat")?;
    // The program's name comes first and may hold anything but is in brackets.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (ticks(11), ticks(12));
    user.zip(system).map(|(user, system)| (user + system) / TICKS).ok_or_else(|| Error::new("reading CPU times"))
}

/// The most memory that a process has had, in MiB.
pub(super) fn peak_mib(pid: u32) -> Result<f64> {
    let text = read(pid, "status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or_else(|| Error::new("reading memory"))
}

fn read(pid: u32, file: &str) -> Result<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).during(format!("reading {file} of process {pid}"))
}
