//! `import`: YuniKorn's configuration as Queue objects and values of the chart, and what is not the same afterwards.

mod check;
mod config;
mod equivalents;
mod files;
mod queues;
mod report;
mod values;

use serde::Serialize;
use serde_json::Value;

use super::output::{json, yaml};
use super::source::{self, SourceError};
use super::{FAILED, NO, Reply, complaint};
use crate::runtime::args::{ImportArgs, ImportOutput};
use config::Reader;
use files::{Found, Text};
use report::{Remark, Report};

/// What is made of a configuration.
#[derive(Debug, Default, Serialize)]
struct Imported {
    queues: Vec<Value>,
    values: Value,
    report: Vec<Remark>,
}

/// The answer to `import`.
pub(super) fn import(args: &ImportArgs) -> Reply {
    let mut found = Found::default();
    for path in &args.files {
        match source::text_of(path) {
            Ok(text) => found.add(&path.display().to_string(), &text),
            Err(error) => found.errors.push(error),
        }
    }
    match imported(found) {
        Ok(imported) => imported.reply(args.output),
        Err(errors) => {
            let unreadable = errors.iter().any(|error| matches!(error, SourceError::Unreadable { .. }));
            let note = errors.iter().map(|error| complaint(error)).collect::<Vec<_>>().join("\n");
            Reply { out: String::new(), note, code: if unreadable { FAILED } else { NO } }
        }
    }
}

/// What is made of what was found; or everything that is wrong with it.
fn imported(found: Found) -> Result<Imported, Vec<SourceError>> {
    let (read, mut errors) = found.read();
    if errors.is_empty() && read.queues.is_none() && read.keys.is_empty() {
        let problem = "there is no configuration of YuniKorn in the files".to_owned();
        return Err(vec![SourceError::Text { file: "import".to_owned(), at: None, problem }]);
    }
    let mut report = Report::default();
    let text = read.queues.unwrap_or_else(|| {
        report.look_up("queues.yaml", "the files", "");
        files::by_default()
    });
    let queues = of_text(&text, &mut report, &mut errors);
    let mut values = values::values(&read.keys, &mut report, &mut errors);
    if queues.iter().any(|queue| queue["spec"].get("limits").is_some()) {
        values::put(&mut values, "config.submitters", true.into());
    }
    if errors.is_empty() { Ok(Imported { queues, values, report: report.0 }) } else { Err(errors) }
}

fn of_text(text: &Text, report: &mut Report, errors: &mut Vec<SourceError>) -> Vec<Value> {
    let mut reader = Reader::default();
    let mut partitions = reader.partitions(&text.node);
    check::check(&mut partitions, &mut reader);
    reader.wrong.sort();
    reader.wrong.dedup();
    let wrong = reader.wrong.into_iter();
    errors.extend(wrong.map(|wrong| {
        let (file, at) = (text.name.clone(), Some(wrong.at));
        SourceError::Text { file, at, problem: wrong.problem }
    }));
    if errors.is_empty() { queues::queues(&partitions, report) } else { Vec::new() }
}

impl Imported {
    fn reply(self, form: ImportOutput) -> Reply {
        let report = Report(self.report);
        let note = report.text();
        let imported = Self { report: report.0, ..self };
        let (out, note) = match form {
            ImportOutput::Queues => {
                let hint =
                    if imported.queues.is_empty() { "No Queue has to be made: root exists by itself." } else { "" };
                (imported.queues.iter().map(document).collect(), joined(&note, hint))
            }
            ImportOutput::Values => (yaml(&imported.values), note),
            ImportOutput::Json => (json(&imported), String::new()),
        };
        Reply { out, note, code: 0 }
    }
}

/// One document of several.
fn document(object: &Value) -> String {
    format!("---\n{}", yaml(object))
}

fn joined(note: &str, hint: &str) -> String {
    [hint, note].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
