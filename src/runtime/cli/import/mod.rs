//! `import`: what YuniKorn, Koordinator and scheduler-plugins are told, as Queue objects and values of the chart, and what is not the
//! same afterwards.

mod check;
mod config;
mod equivalents;
mod files;
mod peers;
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
use peers::Made;
use report::{Fate, Remark, Report};

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
    let is_yunikorn = read.queues.is_some() || !read.keys.is_empty();
    if errors.is_empty() && !is_yunikorn && read.objects.is_empty() {
        let problem = "there is no configuration of YuniKorn, Koordinator or scheduler-plugins in the files".to_owned();
        return Err(vec![SourceError::Text { file: "import".to_owned(), at: None, problem }]);
    }
    let mut report = Report::default();
    let text = read.queues.or_else(|| {
        // It has queues all the same.
        is_yunikorn.then(|| {
            report.look_up("queues.yaml", "the files", "");
            files::by_default()
        })
    });
    let mut queues = text.map(|text| of_text(&text, &mut report, &mut errors)).unwrap_or_default();
    let mut values = values::values(&read.keys, &mut report, &mut errors);
    if queues.iter().any(|queue| queue["spec"].get("limits").is_some()) {
        values::put(&mut values, "config.submitters", true.into());
    }
    let mut made = Made { queues: &mut queues, values: &mut values, report: &mut report, errors: &mut errors };
    peers::add(&read.objects, &mut made);
    if errors.is_empty() { Ok(Imported { queues, values, report: report.0 }) } else { Err(errors) }
}

fn of_text(text: &Text, report: &mut Report, errors: &mut Vec<SourceError>) -> Vec<Value> {
    let mut reader = Reader::default();
    let mut partitions = reader.partitions(&text.node);
    check::check(&mut partitions, &mut reader);
    errors.extend(reader.into_errors(&text.name));
    if errors.is_empty() { queues::queues(&partitions, report) } else { Vec::new() }
}

impl Imported {
    fn reply(self, form: ImportOutput) -> Reply {
        let report = Report(self.report);
        let note = report.text();
        let imported = Self { report: report.0, ..self };
        let (out, note) = match form {
            ImportOutput::Queues => {
                let hint = imported.hint();
                (imported.queues.iter().map(document).collect(), joined(&note, hint))
            }
            ImportOutput::Values => (yaml(&imported.values), note),
            ImportOutput::Json => (json(&imported), String::new()),
        };
        Reply { out, note, code: 0 }
    }

    /// What is not among the Queues that are printed.
    fn hint(&self) -> &'static str {
        let has_values = self.values.as_object().is_some_and(|values| !values.is_empty());
        let lacks_some = self.report.iter().any(|remark| remark.fate == Fate::Missing);
        match (self.queues.is_empty(), lacks_some, has_values) {
            (true, false, true) => {
                "No Queue has to be made: root exists by itself. -o values prints what the chart is to be told."
            }
            (true, false, false) => "No Queue has to be made: root exists by itself.",
            // The report says which.
            (true, true, true) => "-o values prints what the chart is to be told.",
            (true, true, false) | (false, ..) => "",
        }
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
