//! What is kept of Namespaces: what each last said of its queue, where all of that was right.

use k8s_openapi::api::core::v1::Namespace;

use super::Kept;
use crate::core::base::ids::Key;
use crate::core::event::{Event, NamespaceSpec, OwnQueue};
use crate::shim::dialect::yunikorn;
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::spec_errors::Errors;

/// All Namespaces.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct Namespaces {
    known: Known<OwnQueue>,
    /// YuniKorn's words are understood.
    speaks_yunikorn: bool,
}

impl Namespaces {
    /// None so far.
    pub(in crate::shim) fn new(speaks_yunikorn: bool) -> Self {
        Self { known: Known::default(), speaks_yunikorn }
    }
}

impl Kept for Namespaces {
    type Object = Namespace;
    type Facts = OwnQueue;

    fn known(&self) -> &Known<OwnQueue> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<OwnQueue> {
        &mut self.known
    }

    fn see(&mut self, at: Version, namespace: &Namespace) -> Vec<Event> {
        if matches!(self.known.sight(&at), Sight::Stale) {
            return Vec::new();
        }
        // One that was made anew under this name has said nothing yet.
        let name = at.key.name.clone();
        let spec = read(namespace, self.speaks_yunikorn, self.known.get(&at.key));
        match self.known.get_mut(&at.key) {
            Some(says) => says.clone_from(&spec.says),
            None => self.known.put(at, Whose::Ours, spec.says.clone()),
        }
        vec![Event::Namespace(name, Box::new(spec))]
    }

    fn see_malformed(&mut self, at: Version, _: Malformed) -> Vec<Event> {
        match self.known.sight(&at) {
            // Whoever had its name before is gone, and of this one nothing is known.
            Sight::Replaced(_) => vec![Event::NamespaceGone(at.key.name)],
            // What was known of it stays.
            Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
        }
    }

    fn lost(&mut self, key: &Key, _: OwnQueue) -> Vec<Event> {
        vec![Event::NamespaceGone(key.name.clone())]
    }
}

/// A Namespace in the core's words. Where one of its annotations is wrong, what it said last counts.
fn read(namespace: &Namespace, speaks_yunikorn: bool, last: Option<&OwnQueue>) -> NamespaceSpec {
    let labels = namespace.metadata.labels.iter().flatten();
    let mut errors = Errors::default();
    let says = if speaks_yunikorn { yunikorn::namespace::says(namespace, &mut errors) } else { OwnQueue::default() };
    let errors = errors.into_sorted();
    NamespaceSpec {
        labels: labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect(),
        says: if errors.is_empty() { says } else { last.cloned().unwrap_or_default() },
        errors,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::shim::kinds::Kind;
    use crate::shim::ledger::Ledger;
    use crate::shim::observation::WatchFact;
    use crate::shim::pod::Served;
    use crate::shim::{decode, dialect::Dialect};

    const APPS: &str = "yunikorn.apache.org/namespace.maxApps";

    fn saw(ledger: &mut Ledger, (uid, rv): (&str, u64), apps: &str) -> (NamespaceSpec, Vec<String>) {
        let metadata = json!({"name": "ns", "uid": uid, "resourceVersion": rv.to_string(),
            "labels": {"team": "a"}, "annotations": {APPS: apps}});
        let seen = decode::seen(Kind::Namespace, &json!({"metadata": metadata}).to_string()).expect("it has a name");
        let events = ledger.watch(Kind::Namespace, WatchFact::Upsert(seen));
        let [Event::Namespace(name, spec)] = &*events else { panic!("{events:?}") };
        assert_eq!(&**name, "ns");
        let errors = spec.errors.iter().map(ToString::to_string).collect();
        ((**spec).clone(), errors)
    }

    #[test]
    fn what_was_right_last_counts_until_it_is_right_again() {
        let mut ledger = Ledger::new(Served::default().speaking(Dialect::ALL));
        let apps = |(spec, _): &(NamespaceSpec, Vec<String>)| spec.says.max_applications;
        let right = saw(&mut ledger, ("u1", 1), "3");
        assert_eq!((apps(&right), right.1.len()), (Some(3), 0));
        assert_eq!(right.0.labels, [("team".into(), "a".into())].into());
        let wrong = saw(&mut ledger, ("u1", 2), "x");
        assert_eq!((apps(&wrong), wrong.1.len()), (Some(3), 1));
        assert_eq!(apps(&saw(&mut ledger, ("u1", 3), "4")), Some(4));
        assert_eq!(apps(&saw(&mut ledger, ("u2", 4), "x")), None, "another namespace of that name said nothing");
    }

    #[test]
    fn without_the_dialect_annotations_say_nothing() {
        let (spec, errors) = saw(&mut Ledger::new(Served::default()), ("u1", 1), "x");
        assert_eq!((spec.says, errors.len()), (OwnQueue::default(), 0));
    }
}
