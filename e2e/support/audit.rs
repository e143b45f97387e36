//! What the API server recorded: who asked for what, when, and with which answer.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::error::{During, Result};

/// One answered request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When it was answered.
    pub stage_timestamp: Timestamp,
    /// `create`, `patch` and so on.
    pub verb: String,
    /// Who asked.
    pub user: User,
    /// What it was about; requests outside the API's objects have none.
    pub object_ref: Option<ObjectRef>,
    /// The answer.
    pub response_status: Option<Status>,
}

/// Who asked.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct User {
    /// `admin`, `system:serviceaccount:…`
    #[serde(default)]
    pub username: String,
}

/// What a request was about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ObjectRef {
    /// `pods`
    pub resource: String,
    /// Empty for objects without one.
    pub namespace: String,
    /// Empty for lists, and for creations.
    pub name: String,
    /// `binding`, `status`, or nothing.
    pub subresource: String,
}

/// The answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// HTTP code.
    pub code: u16,
}

impl Record {
    /// HTTP code; 0 if there was no answer.
    pub fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }

    /// Resource with subresource: `pods/binding`.
    pub fn resource(&self) -> String {
        match &self.object_ref {
            None => String::new(),
            Some(object) if object.subresource.is_empty() => object.resource.clone(),
            Some(object) => format!("{}/{}", object.resource, object.subresource),
        }
    }

    /// Namespace and name of the pod that this request bound.
    pub fn bound(&self) -> Option<(&str, &str)> {
        let object = self.object_ref.as_ref()?;
        let binding = self.verb == "create" && object.resource == "pods" && object.subresource == "binding";
        (binding && self.code() == 201).then_some((&object.namespace, &object.name))
    }

    /// Namespace and name of the pod that this request deleted.
    pub fn deleted(&self) -> Option<(&str, &str)> {
        let object = self.object_ref.as_ref()?;
        let deletion = self.verb == "delete" && object.resource == "pods" && object.subresource.is_empty();
        (deletion && self.code() == 200).then_some((&object.namespace, &object.name))
    }

    /// Whether a user of this name asked, or the ServiceAccount of this name.
    pub fn is_by(&self, user: &str) -> bool {
        let name = &self.user.username;
        name == user
            || name.strip_prefix("system:serviceaccount:").is_some_and(|name| name.ends_with(&format!(":{user}")))
    }
}

/// Reads an audit log; a line that is still being written is left out.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let step = format!("reading {}", path.display());
    let mut records = Vec::new();
    for line in BufReader::new(File::open(path).during(&step)?).lines() {
        records.extend(serde_json::from_str(&line.during(&step)?));
    }
    Ok(records)
}
