//! Why something waits or is refused: one enum each, and the one wording that users see everywhere.

use std::fmt;

use super::ids::Text;

/// One thing wrong with a spec, naming its field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecError {
    /// Path of the field: `spec.minResource[cpu]`.
    pub field: Text,
    /// What is wrong, without the field's name.
    pub problem: Text,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

/// A constraint of a pod that this version does not honour, so that the pod is refused rather than placed wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The field, as a user would look for it: `spec.topologySpreadConstraints`.
    pub field: Text,
}

/// A call that the API server refused for good or for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// The server's message, bounded and with control characters escaped.
    pub message: Text,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}
