//! `version`: what this program is and which API it speaks.

use serde::Serialize;

use super::Reply;
use super::output::{json, yaml};
use crate::api::names;
use crate::runtime::args::PlainOutput;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    api_version: String,
}

/// The answer to `version`.
pub(super) fn version(output: PlainOutput) -> Reply {
    let version =
        Version { version: env!("CARGO_PKG_VERSION"), api_version: format!("{}/{}", names::GROUP, names::VERSION) };
    Reply::done(match output {
        PlainOutput::Table => format!("gangline {} (API {})\n", version.version, version.api_version),
        PlainOutput::Json => json(&version),
        PlainOutput::Yaml => yaml(&version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_names_version_and_api() {
        for output in [PlainOutput::Table, PlainOutput::Json, PlainOutput::Yaml] {
            let text = version(output).out;
            assert!(text.contains(env!("CARGO_PKG_VERSION")) && text.contains("gangline.dev/v1alpha1"), "{text}");
        }
    }
}
