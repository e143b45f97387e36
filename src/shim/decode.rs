//! Reads one Kubernetes object from JSON, leniently: a bad one is quarantined with its name, the others go on.

use std::sync::Arc;

use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::escape;
use super::kinds::{Kind, Watched};
use super::observation::{Malformed, Seen};
use crate::core::base::ids::{Key, Text, Uid};

/// An object of this kind; `None` if the text does not even name one.
pub fn seen(kind: Kind, json: &str) -> Option<Seen> {
    kind.read(json)
}

/// An object of this type; `None` if the text does not even name one.
pub fn read<T: Watched>(json: &str) -> Option<Seen> {
    let Ok(read) = serde_json::from_str::<T::Form>(json) else { return quarantine::<T::Form>(json) };
    let object: T = read.into();
    let ObjectMeta { namespace, name, uid, resource_version, .. } = object.meta();
    Some(Seen {
        key: Key::new(namespace.as_deref().unwrap_or_default(), name.as_deref()?),
        uid: Uid::new(uid.as_deref().unwrap_or_default()),
        rv: number(resource_version.as_deref()),
        body: Ok(Arc::new(object).body()),
    })
}

/// The name of an object that does not decode, and what is wrong with it. Slow, and rare.
fn quarantine<T: DeserializeOwned>(json: &str) -> Option<Seen> {
    let value: Value = serde_json::from_str(json).ok()?;
    let text = |field: &str| value.pointer("/metadata")?.get(field)?.as_str();
    let generation = value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    Some(Seen {
        key: Key::new(text("namespace").unwrap_or_default(), text("name")?),
        uid: Uid::new(text("uid").unwrap_or_default()),
        rv: number(text("resourceVersion")),
        body: Err(Malformed { problem: problem::<T>(json), generation }),
    })
}

/// `spec.minMember: invalid type: string "x", expected u32`.
fn problem<T: DeserializeOwned>(json: &str) -> Text {
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json));
    let Err(error) = read else { return Text::from("does not decode") };
    let inner = error.inner().to_string();
    // Without line and column: they are of a text that nobody else sees.
    let what = inner.split(" at line ").next().unwrap_or(&inner);
    escape::message(&format!("{}: {what}", error.path()))
}

fn number(resource_version: Option<&str>) -> u64 {
    resource_version.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::observation::Body;

    #[test]
    fn a_pod_is_read_without_what_nobody_needs() {
        let json = r#"{"metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"12","managedFields":[{}]},
                       "spec":{"containers":[],"nodeName":"n1"},"status":{"someFieldOfTomorrow":1}}"#;
        let seen = seen(Kind::Pod, json).expect("named");
        assert_eq!((seen.key, seen.uid, seen.rv), (Key::new("n", "p"), Uid::new("u"), 12));
        let Ok(Body::Pod(pod)) = seen.body else { panic!("decodes") };
        assert_eq!(pod.metadata.managed_fields, None);
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()), Some("n1"));
    }

    #[test]
    fn a_bad_object_says_where() {
        let table = [
            (
                Kind::TaskGroup,
                r#"{"metadata":{"name":"g"},"spec":{"minMember":"two"}}"#,
                "spec.minMember: invalid type: string \"two\", expected u32",
            ),
            (Kind::TaskGroup, r#"{"metadata":{"name":"g"}}"#, ".: missing field `spec`"),
            (
                Kind::Pod,
                r#"{"metadata":{"name":"g","uid":"u","labels":7}}"#,
                "metadata.labels: invalid type: integer `7`, expected a map",
            ),
            (
                Kind::Node,
                r#"{"metadata":{"name":"g"},"status":{"allocatable":{"cpu":true}}}"#,
                "status.allocatable.cpu: invalid type: boolean `true`, expected Quantity",
            ),
        ];
        for (kind, json, expected) in table {
            let seen = seen(kind, json).expect("named");
            assert_eq!(&*seen.key.name, "g");
            assert_eq!(seen.body.err().map(|bad| bad.problem.to_string()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_quantity_may_be_an_integer() {
        let json = r#"{"metadata":{"name":"g"},"spec":{"minMember":2,"minResource":{"cpu":2}}}"#;
        let Ok(Body::TaskGroup(group)) = seen(Kind::TaskGroup, json).expect("named").body else { panic!("decodes") };
        assert_eq!(group.spec.min_resource["cpu"].0, "2");
    }

    #[test]
    fn what_has_no_name_is_no_object() {
        for json in ["", "[]", "{", r#"{"metadata":{}}"#, r#"{"metadata":{"name":1}}"#] {
            assert!(seen(Kind::Pod, json).is_none(), "{json}");
        }
        assert_eq!(seen(Kind::Pod, r#"{"metadata":{"name":"p","resourceVersion":"x"}}"#).map(|seen| seen.rv), Some(0));
    }
}
