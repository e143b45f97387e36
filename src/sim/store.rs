//! One log of versions, as etcd has it: objects, every change of them, and who has read how far.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::core::base::ids::{Key, Uid};
pub use crate::shim::kinds::{kind, metadata, metadata_mut};
use crate::shim::observation::{Body, Seen};
use crate::shim::op::Kind;

/// What generated names are made of: no vowels, so that no words come out.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// A longer prefix of a generated name is cut off.
const PREFIX_MAX: usize = 58;

/// A change that a watch tells of.
#[derive(Clone, Debug)]
pub struct Change {
    /// `resourceVersion` of the change.
    pub revision: u64,
    /// The kind of the object.
    pub kind: Kind,
    /// Whether the object is gone by it; `seen` is its last state then.
    pub deleted: bool,
    /// The object after it.
    pub seen: Seen,
}

/// The changes after a revision are not kept any more: HTTP 410.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld;

/// All objects and their history.
#[derive(Clone, Debug, Default)]
pub struct Store {
    revision: u64,
    objects: BTreeMap<(Kind, Key), Body>,
    changes: Vec<Change>,
    /// Changes up to here are forgotten.
    forgotten: u64,
    /// Objects keep the UID with which they come: those of a cluster that is played on, where others name it.
    pub keeps_uids: bool,
    /// How often a name was used.
    lives: BTreeMap<(Kind, Key), u32>,
}

impl Store {
    /// The latest revision.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// An object as it is now.
    pub fn get(&self, kind: Kind, key: &Key) -> Option<&Body> {
        self.objects.get(&(kind, key.clone()))
    }

    /// The objects of a kind in the order of their paths (`ns-a/x` comes before `ns/x`), and the revision from which to
    /// watch.
    pub fn list(&self, kind: Kind) -> (u64, Vec<Seen>) {
        let mut all: Vec<Seen> = self.of_kind(kind).map(|(key, body)| seen(key, body)).collect();
        all.sort_by(|one, other| path(&one.key).cmp(path(&other.key)));
        (self.revision, all)
    }

    /// The objects of a kind in the order of their names.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Body)> {
        let from = (kind, Key::cluster(""));
        let all = self.objects.range(from..).take_while(move |((of, _), _)| *of == kind);
        all.map(|((_, key), body)| (key, body))
    }

    /// What happened to a kind after a revision.
    ///
    /// # Errors
    /// That much history is not kept.
    pub fn after(&self, kind: Kind, revision: u64) -> Result<impl Iterator<Item = &Change>, TooOld> {
        Ok(self.all_after(revision)?.iter().filter(move |change| change.kind == kind))
    }

    /// What happened after a revision.
    ///
    /// # Errors
    /// That much history is not kept.
    pub fn all_after(&self, revision: u64) -> Result<&[Change], TooOld> {
        if revision < self.forgotten {
            return Err(TooOld);
        }
        let from = self.changes.partition_point(|change| change.revision <= revision);
        Ok(&self.changes[from..])
    }

    /// Forgets the changes up to a revision, that one too; who has read less than that is told so (HTTP 410).
    ///
    /// A store that is compacted at revision R has forgotten what was before R; a server that begins anew, what was before it:
    /// there who was behind is told so, and who lists goes on (`e2e/conformance/history.rs`; not where exactly that begins).
    pub fn forget(&mut self, up_to: u64) {
        self.forgotten = self.forgotten.max(up_to.min(self.revision));
        let forgotten = self.changes.partition_point(|change| change.revision <= self.forgotten);
        self.changes.drain(..forgotten);
    }

    /// Stores a new object, with a UID of its own; `seconds` since the epoch is its creation time.
    pub fn create(&mut self, key: &Key, mut body: Body, seconds: i64) -> Seen {
        let uid = self.next_uid(kind(&body), key);
        let generation = first_generation(kind(&body));
        let meta = metadata_mut(&mut body);
        meta.uid = meta.uid.take().filter(|own| self.keeps_uids && !own.is_empty()).or(Some(uid));
        meta.generation = generation;
        meta.creation_timestamp = jiff::Timestamp::from_second(seconds).ok().map(Into::into);
        self.put(key, body)
    }

    /// A UID that follows from the name and how often it was used: without another object it would be the same.
    fn next_uid(&mut self, kind: Kind, key: &Key) -> String {
        let life = self.lives.entry((kind, key.clone())).or_default();
        *life += 1;
        let hash = Sha256::digest(format!("{}/{key}/{life}", kind.plural()));
        let hex: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("uid-{hex}")
    }

    /// Stores an object as it is now.
    pub fn put(&mut self, key: &Key, mut body: Body) -> Seen {
        self.revision += 1;
        metadata_mut(&mut body).resource_version = Some(self.revision.to_string());
        let seen = seen(key, &body);
        self.objects.insert((kind(&body), key.clone()), body);
        self.note(false, seen.clone());
        seen
    }

    /// Takes an object away.
    pub fn remove(&mut self, kind: Kind, key: &Key) {
        if let Some(mut body) = self.objects.remove(&(kind, key.clone())) {
            self.revision += 1;
            metadata_mut(&mut body).resource_version = Some(self.revision.to_string());
            self.note(true, seen(key, &body));
        }
    }

    fn note(&mut self, deleted: bool, seen: Seen) {
        let Ok(body) = &seen.body else { return };
        self.changes.push(Change { revision: self.revision, kind: kind(body), deleted, seen });
    }
}

/// As the store sorts it.
fn path(key: &Key) -> impl Iterator<Item = u8> {
    key.namespace.bytes().chain(std::iter::once(b'/')).chain(key.name.bytes())
}

/// A name that the server makes: the prefix and five letters, which here follow from a number.
pub fn generated(prefix: &str, number: u64) -> String {
    let hash = Sha256::digest(format!("{prefix}{number}"));
    let letters = hash.iter().take(5).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    prefix.chars().take(PREFIX_MAX).chain(letters).collect()
}

/// Not every kind counts changes of its spec.
const fn first_generation(kind: Kind) -> Option<i64> {
    match kind {
        Kind::Pod | Kind::TaskGroup | Kind::Queue => Some(1),
        Kind::Node
        | Kind::ResourceQuota
        | Kind::Namespace
        | Kind::KoordinatorPodGroup
        | Kind::CoschedulingPodGroup
        | Kind::VolcanoPodGroup
        | Kind::KubernetesPodGroup => None,
    }
}

/// An object as a list or watch shows it.
pub fn seen(key: &Key, body: &Body) -> Seen {
    let meta = metadata(body);
    let rv = meta.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
    Seen { key: key.clone(), uid: Uid::new(meta.uid.as_deref().unwrap_or_default()), rv, body: Ok(body.clone()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::{Node, Pod};

    use super::*;

    #[test]
    fn a_watch_tells_what_a_list_did_not() {
        let mut store = Store::default();
        let (a, b) = (Key::new("ns", "a"), Key::new("ns", "b"));
        store.create(&a, Body::Pod(Arc::new(Pod::default())), 1);
        let (revision, listed) = store.list(Kind::Pod);
        assert_eq!((revision, listed.len()), (1, 1));
        store.create(&Key::cluster("n"), Body::Node(Arc::new(Node::default())), 1);
        store.create(&b, Body::Pod(Arc::new(Pod::default())), 1);
        store.remove(Kind::Pod, &a);
        let told = |store: &Store, from| {
            let changes = store.after(Kind::Pod, from)?;
            Ok(changes.map(|change| (change.seen.key.name.to_string(), change.deleted, change.seen.rv)).collect())
        };
        let all: Result<Vec<_>, TooOld> = told(&store, revision);
        assert_eq!(all, Ok(vec![("b".to_owned(), false, 3), ("a".to_owned(), true, 4)]));
        store.forget(3);
        assert_eq!(told(&store, revision), Err(TooOld));
        assert_eq!(told(&store, 3), Ok(vec![("a".to_owned(), true, 4)]), "who has read what is forgotten goes on");
        store.forget(9);
        assert_eq!(told(&store, 3), Err(TooOld));
        assert_eq!(told(&store, 4), Ok(Vec::new()), "nothing is forgotten that did not happen yet");
    }

    #[test]
    fn a_name_that_is_used_again_is_another_object() {
        let mut store = Store::default();
        let key = Key::new("ns", "a");
        let old = store.create(&key, Body::Pod(Arc::new(Pod::default())), 1);
        store.remove(Kind::Pod, &key);
        let new = store.create(&key, Body::Pod(Arc::new(Pod::default())), 2);
        assert!(old.uid != new.uid && new.rv > old.rv);
    }
}
