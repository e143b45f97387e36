//! Values of the chart, of the keys of YuniKorn's ConfigMaps.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::files::Key;
use super::report::Report;
use crate::runtime::cli::source::SourceError;

/// Keys whose value says that nothing is switched on or off.
const DEFAULTS: [(&str, &str); 3] = [
    ("service.disableGangScheduling", "false"),
    ("service.policyGroup", "queues"),
    ("admissionController.filtering.generateUniqueAppId", "false"),
];

/// The values that keys ask for; what asks for none is told, and what cannot be read is an error.
pub(super) fn values(keys: &BTreeMap<String, Key>, report: &mut Report, errors: &mut Vec<SourceError>) -> Value {
    let mut values = json!({});
    for (name, key) in keys {
        if DEFAULTS.contains(&(name.as_str(), key.value.trim())) {
            continue;
        }
        let Some(path) = report.look_up(name, &key.within, &first_line(&key.value)) else { continue };
        let read = match &**name {
            "service.disableGangScheduling" => gangs(&key.value),
            "log.level" => level(&key.value),
            _ => Ok(Some(key.value.trim().into())),
        };
        match read {
            Ok(Some(value)) => put(&mut values, path, value),
            Ok(None) => {}
            Err(problem) => {
                let (file, problem) = (key.within.clone(), format!("{name}: {:?} {problem}", key.value));
                errors.push(SourceError::Text { file, at: Some(key.at), problem });
            }
        }
    }
    // Then pods that declare gangs are placed one by one, as they are there.
    if values["config"].get("dialects").is_some() {
        put(&mut values, "config.ignoreForeignMarkers", true.into());
    }
    values
}

/// Sets the value of a path: `config.log.level`.
pub(super) fn put(values: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(values, |at, part| &mut at[part]);
    *place = value;
}

/// No dialect, where gangs are switched off.
fn gangs(text: &str) -> Result<Option<Value>, &'static str> {
    // As Go reads a boolean.
    match text.trim() {
        "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(Some(json!(["none"]))),
        "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(None),
        _ => Err("is neither true nor false"),
    }
}

/// A level by its name, or by zap's number.
fn level(text: &str) -> Result<Option<Value>, &'static str> {
    match &*text.trim().to_lowercase() {
        "-1" | "debug" => Ok(Some("debug".into())),
        "0" | "info" => Ok(Some("info".into())),
        "1" | "warn" => Ok(Some("warn".into())),
        "2" | "3" | "4" | "5" | "error" | "dpanic" | "panic" | "fatal" => Ok(Some("error".into())),
        _ => Err("is no level: debug, info, warn and error are"),
    }
}

/// As much of a text as people need to find it.
pub(super) fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(60).collect()
}
