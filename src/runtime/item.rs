//! An object of a watched kind as kube's watcher reads it: decoded once, and never an error for the others.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;

use kube::Resource;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::core::base::ids::{Key, Uid};
use crate::shim::decode;
use crate::shim::kinds::Watched;
use crate::shim::observation::{Malformed, Seen};

/// One object. kube's watcher reads its resourceVersion, and nothing else.
#[derive(Debug)]
pub(super) struct Item<T> {
    meta: ObjectMeta,
    /// The object, or what is wrong with it.
    pub(super) seen: Seen,
    kind: PhantomData<fn() -> T>,
}

/// Derived, it would ask the same of the kind.
impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        Self { meta: self.meta.clone(), seen: self.seen.clone(), kind: PhantomData }
    }
}

impl<'de, T: Watched> Deserialize<'de> for Item<T> {
    /// serde_json cannot go on after an error inside a value, but it can after a value it did not look into: the text
    /// is cut out first and read by itself. It is not copied for that: kube reads lists and events from whole texts.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        let seen = decode::read::<T>(raw.get()).unwrap_or_else(nameless);
        let resource_version = (seen.rv > 0).then(|| seen.rv.to_string());
        let meta = ObjectMeta { resource_version, ..ObjectMeta::default() };
        Ok(Self { meta, seen, kind: PhantomData })
    }
}

fn nameless() -> Seen {
    let problem = "metadata.name: missing".into();
    Seen { key: Key::cluster(""), uid: Uid::new(""), rv: 0, body: Err(Malformed { problem, generation: 0 }) }
}

impl<T: Watched> Resource for Item<T> {
    type DynamicType = ();
    type Scope = T::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        T::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        T::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        T::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        T::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::{ObjectList, WatchEvent};

    use super::*;
    use crate::api::task_group::TaskGroup;

    #[test]
    fn one_bad_object_does_not_break_a_list() {
        let json = r#"{"apiVersion":"gangline.dev/v1alpha1","kind":"TaskGroupList","metadata":{"resourceVersion":"9"},
            "items":[{"metadata":{"name":"good","resourceVersion":"1"},"spec":{"minMember":1,"minResource":{}}},
                     {"metadata":{"name":"bad","resourceVersion":"2"},"spec":{"minMember":"x"}},
                     {"metadata":{}}, 7]}"#;
        let list: ObjectList<Item<TaskGroup>> = serde_json::from_str(json).expect("the list reads");
        let items: Vec<_> = list.iter().map(|item| (&*item.seen.key.name, item.seen.body.is_ok())).collect();
        assert_eq!(items, [("good", true), ("bad", false), ("", false), ("", false)]);
        assert_eq!(list.items[1].meta.resource_version.as_deref(), Some("2"));
    }

    #[test]
    fn one_bad_object_does_not_break_a_watch() {
        let json = r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","resourceVersion":"5"},"spec":3}}"#;
        let Ok(WatchEvent::Added(item)) = serde_json::from_str::<WatchEvent<Item<Pod>>>(json) else { panic!("reads") };
        let problem = item.seen.body.err().map(|bad| bad.problem.to_string());
        assert_eq!(problem.as_deref(), Some("spec: invalid type: integer `3`, expected PodSpec"));
    }
}
