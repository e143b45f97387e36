//! The commands for a person. Those that read the cluster fetch apart from rendering, which is pure.

pub mod crds;
mod fetch;
mod import;
mod list;
mod output;
mod queue;
mod release;
mod simulate;
mod source;
mod validate;
mod version;
mod why;

use std::process::ExitCode;

use super::args::{Command, CommandLine};
use super::run;
use super::text::{chain, escape_lines};
pub(super) use list::{UNREADABLE, UNSEEN};

/// What a command says, and its exit code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// For standard output: safe, ends with a line end unless empty.
    pub(super) out: String,
    /// For standard error: hints that are no part of the answer.
    pub(super) note: String,
    /// 0 = done, 1 = not found or no.
    pub(super) code: u8,
}

/// Exit code: the object does not exist, or the answer is no; or nobody could be told.
pub(super) const NO: u8 = 1;
/// Exit code: wrong usage or configuration, or the cluster cannot be reached or refuses.
pub(super) const FAILED: u8 = 2;

impl Reply {
    pub(super) fn done(out: String) -> Self {
        Self { out, ..Self::default() }
    }

    pub(super) fn not_found(note: String) -> Self {
        Self { note, code: NO, ..Self::default() }
    }
}

/// Does what the command line says.
pub fn execute(line: CommandLine) -> ExitCode {
    match line.command {
        Command::Run(args) => run::main(&args),
        Command::List(args) => answer(list::list(&args)),
        Command::Why(args) => answer(why::why(&args)),
        Command::Queue(args) => answer(queue::queue(&args)),
        Command::Simulate(args) => say(&simulate::simulate(&args)),
        Command::Validate(args) => say(&validate::validate(&args)),
        Command::Import(args) => say(&import::import(&args)),
        Command::ReleasePlaceholders(args) => answer(release::release(&args)),
        Command::Crds => say(&Reply::done(crds::manifest())),
        Command::Version(args) => say(&version::version(args.output)),
    }
}

/// Runs a command that asks the cluster, on this thread.
fn answer<E: std::error::Error>(command: impl Future<Output = Result<Reply, E>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(command) {
        Ok(reply) => say(&reply),
        Err(error) => fail(&error),
    }
}

fn say(reply: &Reply) -> ExitCode {
    let printed = output::print(&reply.out);
    output::complain(&reply.note);
    match printed {
        Ok(()) => ExitCode::from(reply.code),
        Err(error) => {
            output::complain(&format!("error: cannot write the answer: {}", chain(&error)));
            ExitCode::from(NO)
        }
    }
}

/// Says what went wrong on standard error.
pub(super) fn fail(error: &dyn std::error::Error) -> ExitCode {
    output::complain(&complaint(error));
    ExitCode::from(FAILED)
}

/// What went wrong, safe to show.
fn complaint(error: &dyn std::error::Error) -> String {
    format!("error: {}", escape_lines(&chain(error)))
}
