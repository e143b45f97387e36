//! What is found in manifests: where it is, how bad, and in which words.

use serde::Serialize;

use crate::runtime::cli::simulate::input::Origin;
use crate::runtime::cli::simulate::read::{InputError, field_of};
use crate::runtime::cli::source::{Place, SourceError};
use crate::runtime::text::{chain, escape};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// The API server or the scheduler refuses it.
    Error,
    /// It may be meant, or the cluster may have what the files lack.
    Warning,
}

impl Severity {
    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong, or may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) file: String,
    /// `document 2, item 3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<u64>,
    /// Kind, namespace and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<String>,
    pub(super) message: String,
}

impl Finding {
    /// About a field of an object; an empty field is the whole of it.
    pub(super) fn of(severity: Severity, origin: &Origin, field: &str, message: String) -> Self {
        let at = origin.node.place_of(field);
        let document = Some(origin.document.clone());
        let finding = Self {
            severity,
            document,
            object: Some(short(origin.title.clone(), OBJECT_MAX)),
            ..Self::of_file(&origin.file, message)
        };
        Self { field: (!field.is_empty()).then(|| field.to_owned()), ..finding }.at(Some(at))
    }

    /// An error of a whole file.
    pub(super) fn of_file(file: &str, message: String) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            document: None,
            line: None,
            column: None,
            object: None,
            field: None,
            message: short(message, MESSAGE_MAX),
        }
    }

    fn at(self, at: Option<Place>) -> Self {
        Self { line: at.map(|at| at.line), column: at.map(|at| at.column), ..self }
    }

    /// As compilers say it: `queues.yaml:7:14: error: Queue root.a: spec.max[cpu]: must be …`.
    pub(super) fn text(&self) -> String {
        let place = [self.line, self.column].into_iter().flatten().map(|number| format!(":{number}"));
        let place = format!("{}{}", self.file, place.collect::<String>());
        let parts = [Some(&*place), Some(self.severity.name()), self.object.as_deref(), self.field.as_deref()];
        let parts = parts.into_iter().flatten().chain([&*self.message]);
        format!("{}\n", escape(&parts.collect::<Vec<_>>().join(": ")))
    }
}

impl From<&InputError> for Finding {
    fn from(error: &InputError) -> Self {
        match error {
            InputError::Source(SourceError::Text { file, at, problem }) => Self::of_file(file, problem.clone()).at(*at),
            InputError::Source(unreadable @ SourceError::Unreadable { file, .. }) => {
                Self::of_file(file, chain(unreadable))
            }
            InputError::Object { file, document, object, at, problem } => {
                let (field, message) = parts(problem);
                let object = (object != document).then(|| short(object.clone(), OBJECT_MAX));
                let finding = Self { document: Some(document.clone()), object, ..Self::of_file(file, message) };
                Self { field, ..finding }.at(Some(*at))
            }
            InputError::Flag(problem) => Self::of_file("-", problem.clone()),
        }
    }
}

/// Longest message, in characters.
const MESSAGE_MAX: usize = 2_000;
/// Longest name of an object, with its kind.
const OBJECT_MAX: usize = 400;

/// A text, or its beginning.
fn short(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The field of a problem, and what is wrong with it.
fn parts(problem: &str) -> (Option<String>, String) {
    let field = field_of(problem);
    if problem.starts_with("unknown field ") {
        return (Some(field.to_owned()), "unknown field".to_owned());
    }
    let message = problem.strip_prefix(field).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(problem);
    // What the server says of no field in particular.
    let field = Some(field).filter(|field| !field.is_empty() && *field != "<nil>");
    (field.map(str::to_owned), message.to_owned())
}
