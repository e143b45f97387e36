//! The development lab: builds the tools and runs disposable control planes. Never installed.
#![allow(clippy::print_stdout, reason = "a command-line program: what it prints is its result")]

mod chart;
mod demo;
mod gangline;
mod instance;
mod nodes;
#[path = "../perf/mod.rs"]
mod perf;
#[path = "../support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the end-to-end suite; each uses its part")]
mod support;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use support::error::Result;

/// Gangline's development lab: a real Kubernetes control plane without containers, and what to do with it.
#[derive(Debug, Parser)]
#[command(name = "lab")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the pinned programs (etcd, Kubernetes, kwok, helm, operators of others) into a cache of this user
    Tools(tools::Args),
    /// Say what nodes that run containers lack on this machine, if anything
    Nodes(nodes::Args),
    /// Write the image that containers of the tests run, for nodes of a cluster that is there
    Worker(nodes::WorkerArgs),
    /// Check the Helm chart, write manifests/ anew from it, and try it on a control plane of its own
    Chart,
    /// Play the examples on a disposable control plane, told step by step
    Demo(demo::Args),
    /// Start a control plane in the background
    Up(instance::UpArgs),
    /// End a control plane and remove its state
    Down(instance::DownArgs),
    /// Measure throughput end to end, beside a scheduler that decides nothing
    Perf(perf::Args),
    /// Bind every pod to the next node, deciding nothing (what `perf` compares with)
    #[command(hide = true)]
    Null(perf::null::Args),
    /// Own a control plane until told to end (what `up` starts)
    #[command(hide = true)]
    Supervise(instance::UpArgs),
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Tools(args) => tools::run(&args),
        Command::Nodes(args) => nodes::run(&args),
        Command::Worker(args) => nodes::write_worker(&args),
        Command::Chart => chart::run(),
        Command::Demo(args) => demo::run(&args),
        Command::Perf(args) => perf::run(&args),
        Command::Null(args) => perf::null::run(&args),
        Command::Up(args) => instance::up(&args),
        Command::Down(args) => instance::down(&args),
        Command::Supervise(args) => instance::supervise(&args),
    }
}
