//! What is lost, what is different and what has another name, in few words: the same thing of many queues once.

use std::collections::BTreeMap;

use serde::Serialize;

use super::equivalents::{self, Here};
use crate::runtime::text::escape;

/// Most places that one line names.
const NAMED: usize = 8;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fate {
    /// It has no equivalent.
    Lost,
    /// It is there, and works otherwise.
    Different,
    /// It has another name.
    Renamed,
    /// What is asked for there is refused here.
    Refused,
    /// It is named, and not among what is made.
    Missing,
    /// It is read as it is.
    Read,
}

impl Fate {
    const fn heading(self) -> &'static str {
        match self {
            Self::Lost => "Not imported, since nothing here is like it:",
            Self::Different => "Different here:",
            Self::Renamed => "Under another name, which pods must use:",
            Self::Refused => "Refused here, until it is changed:",
            Self::Missing => "To be made, since it is named and not imported:",
            Self::Read => "Read as it is, without an import:",
        }
    }
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Remark {
    pub(super) fate: Fate,
    /// In the other system's words: `properties.preemption.delay`.
    pub(super) word: String,
    pub(super) note: String,
    /// Of which queue, partition, ConfigMap, profile or object.
    pub(super) of: String,
    /// What was said there.
    pub(super) value: String,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Report(pub(super) Vec<Remark>);

impl Report {
    /// What the table has to say of a word. The answer is the field or value that it is written to.
    pub(super) fn look_up(&mut self, word: &str, of: &str, value: &str) -> Option<&'static str> {
        let row = equivalents::of(word);
        let (fate, written) = match row.here {
            Here::Field(name) | Here::Value(name) => (Fate::Different, Some(name)),
            Here::Same => (Fate::Different, None),
            Here::Nothing => (Fate::Lost, None),
        };
        if fate == Fate::Lost || !row.note.is_empty() {
            self.add(fate, word, row.note, of, value);
        }
        written
    }

    pub(super) fn add(&mut self, fate: Fate, word: &str, note: &str, of: &str, value: &str) {
        let word = word.strip_prefix("queue.").unwrap_or(word).to_owned();
        let (of, value, note) = (of.to_owned(), value.to_owned(), note.to_owned());
        self.0.push(Remark { fate, word, note, of, value });
    }

    /// Lines for people; empty if there is nothing to know.
    pub(super) fn text(&self) -> String {
        let mut groups: BTreeMap<(Fate, &str, &str), Vec<String>> = BTreeMap::new();
        for remark in &self.0 {
            let value = if remark.value.is_empty() { String::new() } else { format!(" {}", remark.value) };
            let places = groups.entry((remark.fate, &*remark.word, &*remark.note)).or_default();
            places.push(format!("{}{value}", remark.of));
        }
        let (mut lines, mut last) = (Vec::new(), None);
        for ((fate, word, note), places) in &groups {
            if last.replace(*fate) != Some(*fate) {
                lines.push(fate.heading().to_owned());
            }
            let more = places.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let named = places.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let note = if note.is_empty() { String::new() } else { format!(": {note}") };
            lines.push(escape(&format!("  {word} ({named}{more}){note}")).into_owned());
        }
        lines.join("\n")
    }
}
