//! Collects everything that is wrong with a spec, each naming its field, fit to be shown.

use super::{escape, syntax};
use crate::core::reason::SpecError;

/// Most errors that are kept of one spec: people mend a few at a time.
const MAX_ERRORS: usize = 32;
/// Longest field path that is kept, in characters.
const MAX_FIELD: usize = 160;

/// Errors of one spec.
#[derive(Debug, Default)]
pub struct Errors(Vec<SpecError>);

impl Errors {
    /// Adds one; both texts are bounded and escaped.
    pub fn add(&mut self, field: impl AsRef<str>, problem: impl AsRef<str>) {
        let field = escape::bounded(field.as_ref(), MAX_FIELD);
        self.0.push(SpecError { field, problem: escape::message(problem.as_ref()) });
    }

    /// Adds one if something does not hold.
    pub fn unless(&mut self, holds: bool, field: impl AsRef<str>, problem: impl AsRef<str>) {
        if !holds {
            self.add(field, problem);
        }
    }

    /// Adds others.
    pub fn extend(&mut self, others: impl IntoIterator<Item = SpecError>) {
        self.0.extend(others);
    }

    /// All of them in order of their fields, so that equal specs have equal errors; bounded.
    pub fn into_sorted(mut self) -> Vec<SpecError> {
        self.0.sort();
        self.0.truncate(MAX_ERRORS);
        self.0
    }
}

impl From<Vec<SpecError>> for Errors {
    fn from(errors: Vec<SpecError>) -> Self {
        Self(errors)
    }
}

/// Whether fractions of a resource may be asked for.
pub fn is_divisible(resource: &str) -> bool {
    ["cpu", "memory", "ephemeral-storage"].contains(&resource)
}

/// Whether a name is one of huge pages or of an extended resource.
pub fn is_other_resource(name: &str) -> bool {
    syntax::is_qualified_name(name) && (name.contains('/') || name.starts_with("hugepages-"))
}
