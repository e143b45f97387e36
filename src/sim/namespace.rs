//! Namespaces, as far as they refuse: one that terminates takes nothing new, one that is gone has nothing.

use std::collections::BTreeMap;

use super::api::{Api, refused};
use super::store::metadata;
use crate::core::base::ids::Text;
use crate::core::time::Wall;
use crate::shim::observation::Outcome;
use crate::shim::op::Kind;

/// A namespace that does not simply exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// It is being deleted.
    Terminates,
    /// It does not exist.
    Gone,
}

/// The namespaces. Each exists until somebody says otherwise: most clusters that are played never speak of one.
#[derive(Clone, Debug, Default)]
pub struct Namespaces(BTreeMap<Text, Lack>);

impl Namespaces {
    /// It is deleted: nothing new comes, and what is there goes when [`collect`] looks at it.
    pub fn delete(&mut self, name: &str) {
        self.0.insert(name.into(), Lack::Terminates);
    }

    /// It never was, or somebody made it again.
    pub fn set_exists(&mut self, name: &str, exists: bool) {
        if exists {
            self.0.remove(name);
        } else {
            self.0.insert(name.into(), Lack::Gone);
        }
    }

    /// Whether something new may come into it; nothing has to be asked for what has no namespace.
    pub(super) fn admit(&self, name: &str) -> Result<(), Outcome> {
        match self.0.get(name) {
            None => Ok(()),
            Some(Lack::Terminates) => Err(refused(403, "Forbidden")),
            Some(Lack::Gone) => Err(refused(404, "NotFound")),
        }
    }

    fn terminates(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Lack::Terminates)
    }
}

/// The namespace controller looks at a namespace that terminates: what is in it is deleted, as anybody would, pods first
/// and the others when no pod is left; when nothing is left it is gone. False: it does not terminate.
pub fn collect(api: &mut Api, name: &str, now: Wall) -> bool {
    if !api.namespaces.terminates(name) {
        return false;
    }
    if !empty(api, &[Kind::Pod], name, now) {
        return true;
    }
    api.forget_events(name);
    if empty(api, &Kind::ALL, name, now) {
        api.namespaces.set_exists(name, false);
    }
    true
}

/// Deletes what there is of some kinds; whether nothing is left of it.
fn empty(api: &mut Api, kinds: &[Kind], name: &str, now: Wall) -> bool {
    let inside = |api: &Api, kind: Kind| {
        let all = api.store.of_kind(kind).filter(|(key, _)| &*key.namespace == name);
        all.map(|(key, body)| (key.clone(), metadata(body).deletion_timestamp.is_some())).collect::<Vec<_>>()
    };
    for kind in kinds {
        for (key, _) in inside(api, *kind).iter().filter(|(_, leaves)| !leaves) {
            // It was there a moment ago.
            let _ = api.delete(*kind, key, now);
        }
    }
    kinds.iter().all(|kind| inside(api, *kind).is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::core::base::ids::Key;
    use crate::shim::observation::Body;

    /// `e2e/conformance/namespaces.rs` puts the like to a real namespace controller.
    #[test]
    fn a_namespace_that_is_deleted_takes_everything_along() {
        let (mut api, now) = (Api::default(), Wall(5_000));
        let mut held = Pod::default();
        held.metadata.finalizers = Some(vec!["example.com/f".to_owned()]);
        let mut make = |name: &str, pod: Pod| api.create(&Key::new("ns", name), Body::Pod(Arc::new(pod)), now).is_ok();
        assert!(make("free", Pod::default()) && make("held", held));
        let quota = Key::new("ns", "quota");
        api.store.put(&quota, Body::ResourceQuota(Arc::default()));
        assert!(!collect(&mut api, "ns", now), "nobody deletes it");
        api.namespaces.delete("ns");
        assert!(collect(&mut api, "ns", now));
        let code = |api: &mut Api| match api.create(&Key::new("ns", "new"), Body::Pod(Arc::default()), now) {
            Err(Outcome::Refused { code, .. }) => code,
            Ok(_) | Err(_) => 0,
        };
        assert_eq!((api.store.of_kind(Kind::Pod).count(), code(&mut api)), (1, 403), "one is held");
        assert!(api.store.get(Kind::ResourceQuota, &quota).is_some(), "and a pod goes before what is no pod");
        api.let_go(Kind::Pod, &Key::new("ns", "held")).expect("it is there");
        assert!(collect(&mut api, "ns", now) && !collect(&mut api, "ns", now), "it is gone");
        assert_eq!(code(&mut api), 404);
        api.namespaces.set_exists("ns", true);
        assert_eq!(code(&mut api), 0, "somebody made it again");
    }
}
