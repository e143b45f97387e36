//! Errors of the lab: which step failed, why, and what the program concerned said last.

use std::error::Error as StdError;

/// A failed step of the lab or of a test's preparation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// Result of the lab's steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that has no other error as its cause.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same error with a component's last words below it.
    pub fn with_tail(self, title: &str, tail: &str) -> Self {
        if tail.trim().is_empty() {
            return self;
        }
        let indented = tail.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
        Self(format!("{}\n  {title}:\n{indented}", self.0))
    }
}

/// Adds the name of the step to any error.
pub trait During<T> {
    /// Turns an error into "`step`: cause: cause of the cause".
    fn during(self, step: impl AsRef<str>) -> Result<T>;
}

impl<T, E: StdError> During<T> for Result<T, E> {
    fn during(self, step: impl AsRef<str>) -> Result<T> {
        self.map_err(|error| Error(format!("{}: {}", step.as_ref(), chain(&error))))
    }
}

/// An error with its causes, without the repetitions that wrappers like to make.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}
