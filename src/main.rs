//! The `gangline` program, also `kubectl gangline`. Everything is in `gangline::runtime`.

use std::process::ExitCode;

#[cfg(feature = "runtime")]
fn main() -> ExitCode {
    use gangline::runtime::{args, cli};
    match args::parse(std::env::args_os().collect()) {
        Ok(line) => cli::execute(line),
        // Usage errors, and the texts of --help and --version: clap prints them and ends the process with 2 or 0.
        Err(error) => error.exit(),
    }
}

/// Without the feature `runtime` there is only the library.
#[cfg(not(feature = "runtime"))]
fn main() -> ExitCode {
    ExitCode::from(2)
}
