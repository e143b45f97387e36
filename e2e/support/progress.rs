//! Says what is going on: a spinner with the time on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// One thing that takes longer than a moment. Written to standard error: standard output holds results only.
#[derive(Debug)]
pub struct Progress {
    what: String,
    began: Instant,
    spinner: Option<ProgressBar>,
}

impl Progress {
    /// Says that it begins.
    pub fn start(what: &str) -> Self {
        let spinner = std::io::stderr().is_terminal().then(|| spinner(what));
        if spinner.is_none() {
            eprintln!("{what} …");
        }
        Self { what: what.to_owned(), began: Instant::now(), spinner }
    }

    /// Says which part has been reached.
    pub fn now(&self, part: &str) {
        match &self.spinner {
            Some(spinner) => spinner.set_message(format!("{}: {part}", self.what)),
            None => eprintln!("  {part}"),
        }
    }

    /// Says, where no spinner turns, that it still goes on.
    pub fn still(&self) {
        if self.spinner.is_none() {
            eprintln!("  still {} ({} s)", self.what, self.began.elapsed().as_secs());
        }
    }

    /// Says that it is done and how long it took.
    pub fn done(self, what: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
        eprintln!("{what} ({:.1} s)", self.began.elapsed().as_secs_f64());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TICK);
    spinner
}
