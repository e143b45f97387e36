//! Who submitted an object: the annotation that the shipped admission policy writes when it is made (design 01, 1.2.3; ADR 34).
//! `{"user":"alice","groups":["research"]}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::escape::bounded;
use crate::api::names;
use crate::core::base::ids::Text;
use crate::core::event::Submitter;

/// Longest name of a user or group that is told from others, in characters.
pub const NAME_MAX: usize = 256;
/// Longest annotation that is read, in bytes: all that the API server takes on one object, so that nobody escapes limits by the
/// number of its groups.
const TEXT_MAX: usize = 262_144;

#[derive(Serialize, Deserialize)]
struct Written {
    user: String,
    #[serde(default)]
    groups: Vec<String>,
}

/// Who submitted what has these annotations. `None` where they do not say it, or not as the policy does.
pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Option<Arc<Submitter>> {
    let text = annotations?.get(names::SUBMITTER).filter(|text| text.len() <= TEXT_MAX)?;
    let Written { user, groups } = serde_json::from_str(text).ok()?;
    let mut groups: Vec<Text> = groups.iter().map(|group| name(group)).collect();
    groups.sort_unstable();
    groups.dedup();
    (!user.is_empty()).then(|| Arc::new(Submitter { user: name(&user), groups }))
}

/// The annotation of an object that is made, or bound, for somebody.
pub fn annotation(submitter: &Submitter) -> (String, String) {
    let written = Written {
        user: submitter.user.to_string(),
        groups: submitter.groups.iter().map(ToString::to_string).collect(),
    };
    let text = serde_json::to_string(&written).unwrap_or_default();
    (names::SUBMITTER.to_owned(), text)
}

/// A user or group as it is compared and shown.
pub fn name(text: &str) -> Text {
    bounded(text, NAME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Option<Submitter> {
        read(Some(&BTreeMap::from([(names::SUBMITTER.to_owned(), text.to_owned())]))).map(|read| (*read).clone())
    }

    #[test]
    fn what_is_written_is_read() {
        let submitter = Submitter { user: "oidc:a\"b\\c ü".into(), groups: vec!["a,b".into(), "c".into()] };
        let (key, text) = annotation(&submitter);
        assert_eq!((key.as_str(), read_text(&text)), (names::SUBMITTER, Some(submitter)));
        assert_eq!(read_text(r#"{"user":"a"}"#), Some(Submitter { user: "a".into(), groups: Vec::new() }));
        let twice = read_text(r#"{"user":"a","groups":["z","b","z"],"uid":"1"}"#).expect("it is right");
        assert_eq!(twice.groups, ["b".into(), "z".into()] as [Text; 2]);
    }

    /// Who is in very many groups is limited like others.
    #[test]
    fn a_long_list_of_groups_is_read() {
        let groups: Vec<Text> = (0..6_000).map(|number| format!("department-{number:05}").into()).collect();
        let submitter = Submitter { user: "alice".into(), groups };
        let (_, text) = annotation(&submitter);
        assert!(text.len() > 100_000, "{}", text.len());
        assert_eq!(read_text(&text), Some(submitter));
    }

    #[test]
    fn what_nobody_can_read_says_nothing() {
        let long = format!(r#"{{"user":"{}"}}"#, "a".repeat(TEXT_MAX));
        for text in ["", "alice", "[]", "{}", r#"{"user":""}"#, r#"{"user":1}"#, r#"{"user":"a","groups":"b"}"#, &long]
        {
            assert_eq!(read_text(text), None, "{text:.40}");
        }
        assert_eq!(read(None), None);
        let odd = read_text(&format!(r#"{{"user":"{}\u0007"}}"#, "x".repeat(300))).expect("it is cut");
        assert_eq!(odd.user.chars().count(), NAME_MAX + 1, "{}", odd.user);
    }
}
