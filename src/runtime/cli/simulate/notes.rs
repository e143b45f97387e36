//! What a reader should know of the input: what is left out, what nobody places, what was not understood.

use std::collections::BTreeMap;

use crate::api::names::SCHEDULER;
use crate::runtime::text::escape;

/// Most objects that one note names.
const NAMED: usize = 8;

/// What is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Note {
    /// Pods and Jobs that have ended.
    Ended,
    /// Pods on nodes that are not there.
    Nodeless,
    /// Pods and Jobs of other schedulers.
    OfOthers,
    /// Members of a TaskGroup that name another scheduler.
    Forgotten,
    /// Jobs that make nothing yet.
    Suspended,
    /// Jobs that ask for no pods.
    Idle,
    /// Pods and Jobs that may run for so long.
    Bounded,
    /// Names of PriorityClasses that are not there.
    Classless,
    /// Queues with a spec or a place that is wrong.
    Void,
    /// Fields that nobody knows.
    Unknown,
}

impl Note {
    /// What comes before the number, and what after the names.
    fn words(self) -> (String, &'static str) {
        let (before, after) = match self {
            Self::Ended => ("Pods and Jobs that have ended", "They are left out."),
            Self::Nodeless => ("Pods on nodes that are not in the files", "They are left out."),
            Self::OfOthers => {
                return (format!("Pods or Jobs without schedulerName {SCHEDULER}"), "Nobody places them here.");
            }
            Self::Forgotten => {
                return (format!("Members of a TaskGroup without schedulerName {SCHEDULER}"), "They do not join it.");
            }
            Self::Suspended => ("Suspended Jobs", "They make no pods."),
            Self::Idle => ("Jobs with parallelism or completions 0", "They make no pods."),
            Self::Bounded => ("Pods and Jobs with activeDeadlineSeconds", "Nothing ends them here before their time."),
            Self::Classless => ("PriorityClasses that are not in the files", "They count as none."),
            Self::Void => ("Queues that are wrong", "They do not count, as on a cluster."),
            Self::Unknown => ("Unknown fields", "They are not played."),
        };
        (before.to_owned(), after)
    }
}

/// All notes.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) left_out: BTreeMap<String, u32>,
    about: BTreeMap<Note, Vec<String>>,
}

impl Notes {
    /// An object of a kind that is not played.
    pub(super) fn leave_out(&mut self, kind: String) {
        *self.left_out.entry(kind).or_default() += 1;
    }

    /// Something of an object.
    pub(super) fn add(&mut self, note: Note, what: String) {
        self.about.entry(note).or_default().push(what);
    }

    /// A line for each sort; empty if there is nothing.
    pub(super) fn text(&self) -> String {
        let kinds: Vec<_> = self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let left_out = format!("Left out, as kinds that are not simulated: {}.", kinds.join(", "));
        let about = self.about.iter().map(|(note, names)| line(*note, names));
        let lines = (!kinds.is_empty()).then_some(left_out).into_iter().chain(about);
        lines.map(|line| escape(&line).into_owned()).collect::<Vec<_>>().join("\n")
    }
}

fn line(note: Note, names: &[String]) -> String {
    let (before, after) = note.words();
    let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{before}: {} ({named}{more}). {after}", names.len())
}
