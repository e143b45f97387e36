//! The arguments of the plugin Coscheduling, which are others in Koordinator (1.8) and in scheduler-plugins (0.34).

use crate::runtime::cli::import::config::Reader;
use crate::runtime::cli::source::{Entry, Is, Place};
use crate::shim::dialect::pod_group::System;
use crate::shim::go_duration;

/// How an argument is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A time with its unit: `600s`.
    Time,
    /// A time as a number of seconds.
    Seconds,
    /// A whole number from the one to the other.
    Number(u64, u64),
    Flag,
    Text,
}

/// An argument that there is.
#[derive(Debug)]
struct Row {
    system: System,
    name: &'static str,
    form: Form,
    /// What is so where nothing is said.
    default: &'static str,
}

const fn row(system: System, name: &'static str, form: Form, default: &'static str) -> Row {
    Row { system, name, form, default }
}

/// All of them, those of older versions too.
const ROWS: [Row; 12] = [
    row(System::Koordinator, "defaultTimeout", Form::Time, ""),
    row(System::Koordinator, "controllerWorkers", Form::Number(1, u64::MAX), "1"),
    row(System::Koordinator, "skipCheckScheduleCycle", Form::Flag, "false"),
    row(System::Koordinator, "enablePreemption", Form::Flag, "false"),
    row(System::Koordinator, "awareNetworkTopology", Form::Flag, "false"),
    row(System::Koordinator, "defaultMatchPolicy", Form::Text, "once-satisfied"),
    row(System::Coscheduling, "permitWaitingTimeSeconds", Form::Seconds, ""),
    row(System::Coscheduling, "podGroupBackoffSeconds", Form::Number(0, u64::MAX), "0"),
    row(System::Coscheduling, "podGroupRejectPercentage", Form::Number(0, 100), "10"),
    row(System::Coscheduling, "deniedPGExpirationTimeSeconds", Form::Number(0, u64::MAX), "3"),
    row(System::Coscheduling, "kubeMaster", Form::Text, ""),
    row(System::Coscheduling, "kubeConfigPath", Form::Text, ""),
];

/// What the plugin is told and is not so anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) at: Place,
    pub(super) name: &'static str,
    pub(super) text: String,
    /// How long a gang waits that does not say it, if that is what the argument says.
    pub(super) wait_seconds: Option<u64>,
}

/// Whose arguments these are, as far as their names tell.
pub(super) fn system(entries: &[Entry]) -> Option<System> {
    let of = |entry: &Entry| ROWS.iter().find(|row| row.name == entry.key).map(|row| row.system);
    entries.iter().find_map(of)
}

/// Reads the arguments of a system; another's are none that there are.
pub(super) fn read(system: System, entries: &[Entry], reader: &mut Reader) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for entry in entries {
        match ROWS.iter().find(|row| row.system == system && row.name == entry.key) {
            Some(row) => arguments.extend(argument(row, entry, reader).filter(|said| said.text != row.default)),
            None if ["apiVersion", "kind"].contains(&&*entry.key) => {}
            None => {
                let of = match system {
                    System::Koordinator => "Koordinator",
                    System::Coscheduling => "scheduler-plugins",
                    System::Volcano => "Volcano",
                    System::Kubernetes => "Kubernetes",
                };
                reader.wrong(entry.at, format!("unknown field {:?} of the CoschedulingArgs of {of}", entry.key));
            }
        }
    }
    arguments
}

fn argument(row: &Row, entry: &Entry, reader: &mut Reader) -> Option<Argument> {
    let value = &entry.value;
    if value.is == Is::Nothing {
        return None;
    }
    let (text, wait_seconds) = match row.form {
        Form::Time => {
            let text = reader.text(value).text;
            let seconds = go_duration::seconds(&text);
            if seconds.is_none() {
                reader.wrong(value.at, format!("{text:?} must be a time with its unit, such as 600s or 1h30m"));
            }
            (text, Some(seconds?))
        }
        Form::Seconds => {
            let seconds = reader.number(value)?;
            (format!("{seconds}s"), Some(seconds))
        }
        Form::Number(least, most) => {
            let number = reader.number(value)?;
            if !(least..=most).contains(&number) {
                let most = if most == u64::MAX { String::new() } else { format!(" and at most {most}") };
                reader.wrong(value.at, format!("must be at least {least}{most}"));
            }
            (number.to_string(), None)
        }
        Form::Flag => (reader.flag(value)?.1.to_string(), None),
        Form::Text => (reader.text(value).text, None),
    };
    Some(Argument { at: entry.at, name: row.name, text, wait_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::cli::import::equivalents;

    #[test]
    fn the_table_of_equivalents_has_every_argument() {
        for row in &ROWS {
            let word = format!("CoschedulingArgs.{}", row.name);
            assert_eq!(equivalents::of(&word).word, word);
        }
    }
}
