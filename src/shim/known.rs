//! The objects of one kind that are known: mark and sweep over lists, newest version per UID, tombstones (design 02,
//! 2.1).

use std::collections::{BTreeMap, VecDeque};

use crate::core::base::ids::{Key, Uid};

/// How many deleted UIDs are remembered on each side: as many as calls about them can be in flight or waiting for a
/// repetition, many times over.
const TOMBSTONES: usize = 4_096;

/// Which object was seen, and at which version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Namespace and name.
    pub key: Key,
    /// UID.
    pub uid: Uid,
    /// `metadata.resourceVersion` as a number (0 if it is none).
    pub rv: u64,
}

/// Whose an object is. Objects that are gone are remembered apart for the two sides: we cannot bound how many pods
/// others create and delete, and these must not make us forget a pod of ours whose call is still in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A pod of ours, or an object of a kind that is nobody's in particular.
    Ours,
    /// A pod of another scheduler.
    Others,
}

/// Objects of one kind by key.
#[derive(Clone, Debug)]
pub struct Known<V> {
    objects: BTreeMap<Key, Entry<V>>,
    list: u64,
    ours: Graves,
    others: Graves,
}

/// The UIDs of objects that are gone, the oldest forgotten first.
#[derive(Clone, Debug, Default)]
struct Graves {
    order: VecDeque<Uid>,
    deaths: BTreeMap<Uid, Death>,
}

/// How it is known that an object is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// It was seen to go.
    Seen,
    /// A list did not show it. If the list was older than an answer that did show the object, the watch after the list
    /// shows it again.
    Missed,
}

#[derive(Clone, Debug)]
struct Entry<V> {
    uid: Uid,
    rv: u64,
    whose: Whose,
    /// The last list that showed it.
    list: u64,
    value: V,
}

impl<V> Default for Known<V> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), list: 0, ours: Graves::default(), others: Graves::default() }
    }
}

/// What a sight of an object means.
#[derive(Debug, PartialEq, Eq)]
pub enum Sight<V> {
    /// Never seen.
    New,
    /// Another object of the same name was there: it is gone.
    Replaced(V),
    /// A later version.
    Changed,
    /// Nothing new, or older than what is known.
    Stale,
}

impl<V> Known<V> {
    /// A list begins: what it does not show is gone at its end.
    pub fn list_begins(&mut self) {
        self.list += 1;
    }

    /// A list ended: takes out what it did not show.
    pub fn list_ends(&mut self) -> Vec<(Key, V)> {
        let list = self.list;
        let gone: Vec<_> =
            (self.objects.iter()).filter(|(_, entry)| entry.list != list).map(|(key, _)| key.clone()).collect();
        gone.into_iter().filter_map(|key| self.take(&key, Death::Missed).map(|value| (key, value))).collect()
    }

    /// Whether an object is known to be gone, so that an answer which shows it is out of date.
    pub fn is_buried(&self, uid: &Uid) -> bool {
        self.death(uid).is_some()
    }

    fn death(&self, uid: &Uid) -> Option<Death> {
        self.ours.deaths.get(uid).or_else(|| self.others.deaths.get(uid)).copied()
    }

    /// The list that is under way shows an object of this name: what is known under the name is not taken out when the
    /// list ends. (If the list shows an earlier object than the known one, the watch after the list shows the later
    /// one. An answer that comes meanwhile does not count like the list, since it may be older.)
    pub fn listed(&mut self, key: &Key) {
        let list = self.list;
        self.objects.get_mut(key).into_iter().for_each(|entry| entry.list = list);
    }

    /// Notes that an object was seen; the caller then stores its value with [`Self::put`] unless it is stale.
    pub fn sight(&mut self, at: &Version) -> Sight<V> {
        let Version { key, uid, rv } = at;
        let Some(entry) = self.objects.get_mut(key) else {
            return if self.rises(uid) { Sight::New } else { Sight::Stale };
        };
        if entry.uid == *uid {
            if *rv != 0 && *rv <= entry.rv {
                return Sight::Stale;
            }
            entry.rv = *rv;
            return Sight::Changed;
        }
        // Resource versions rise over the whole of a kind: an older sight is of a predecessor.
        if *rv < entry.rv || !self.rises(uid) {
            return Sight::Stale;
        }
        self.take(key, Death::Seen).map_or(Sight::New, Sight::Replaced)
    }

    /// Whether an object that is not known can be a new one. It cannot if it was seen to go. If only a list did not
    /// show it, it can, and is not remembered as gone any more.
    fn rises(&mut self, uid: &Uid) -> bool {
        if self.death(uid) == Some(Death::Missed) {
            self.ours.open(uid);
            self.others.open(uid);
        }
        !self.is_buried(uid)
    }

    /// Stores what is kept of an object.
    pub fn put(&mut self, at: Version, whose: Whose, value: V) {
        let Version { key, uid, rv } = at;
        self.objects.insert(key, Entry { uid, rv, whose, list: 0, value });
    }

    /// An object is gone; its last value. `None` if it is not known, or another one has the name now; then `whose` says
    /// where it is remembered.
    pub fn gone(&mut self, key: &Key, uid: &Uid, whose: Whose) -> Option<V> {
        if self.objects.get(key).is_none_or(|entry| entry.uid != *uid) {
            self.graves(whose).bury(uid.clone(), Death::Seen);
            return None;
        }
        self.take(key, Death::Seen)
    }

    fn take(&mut self, key: &Key, death: Death) -> Option<V> {
        let Entry { uid, whose, value, .. } = self.objects.remove(key)?;
        self.graves(whose).bury(uid, death);
        Some(value)
    }

    const fn graves(&mut self, whose: Whose) -> &mut Graves {
        match whose {
            Whose::Ours => &mut self.ours,
            Whose::Others => &mut self.others,
        }
    }

    /// What is kept of an object.
    pub fn get(&self, key: &Key) -> Option<&V> {
        self.objects.get(key).map(|entry| &entry.value)
    }

    /// What is kept of an object, to change it.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut V> {
        self.objects.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Objects from a key on, in the order of their keys.
    pub fn from(&self, key: &Key) -> impl Iterator<Item = (&Key, &V)> {
        self.objects.range(key.clone()..).map(|(key, entry)| (key, &entry.value))
    }

    /// Nothing is known any more, and nothing is remembered as gone.
    pub fn forget(&mut self) {
        self.objects.clear();
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }
}

impl Graves {
    fn bury(&mut self, uid: Uid, death: Death) {
        if self.deaths.insert(uid.clone(), death).is_none() {
            self.order.push_back(uid);
        }
        if self.order.len() > TOMBSTONES
            && let Some(oldest) = self.order.pop_front()
        {
            self.deaths.remove(&oldest);
        }
    }

    /// Forgets that an object is gone.
    fn open(&mut self, uid: &Uid) {
        if self.deaths.remove(uid).is_some() {
            self.order.retain(|buried| buried != uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(text: &str) -> Uid {
        Uid::new(text)
    }

    /// `ns/a` with this UID at this version.
    fn at(text: &str, rv: u64) -> Version {
        Version { key: Key::new("ns", "a"), uid: uid(text), rv }
    }

    #[test]
    fn older_sights_and_sights_of_the_dead_change_nothing() {
        let mut known = Known::default();
        let key = Key::new("ns", "a");
        assert_eq!(known.sight(&at("1", 5)), Sight::New);
        known.put(at("1", 5), Whose::Ours, "one");
        assert_eq!(known.sight(&at("1", 5)), Sight::Stale);
        assert_eq!(known.sight(&at("1", 4)), Sight::Stale);
        assert_eq!(known.sight(&at("1", 6)), Sight::Changed);
        assert_eq!(known.sight(&at("2", 7)), Sight::Replaced("one"));
        known.put(at("2", 7), Whose::Ours, "two");
        assert_eq!(known.sight(&at("1", 8)), Sight::Stale);
        assert_eq!(known.gone(&key, &uid("1"), Whose::Ours), None);
        assert_eq!(known.gone(&key, &uid("2"), Whose::Ours), Some("two"));
        assert_eq!(known.sight(&at("2", 9)), Sight::Stale);
    }

    #[test]
    fn what_a_list_does_not_show_is_gone() {
        let mut known = Known::default();
        for name in ["a", "b"] {
            known.put(Version { key: Key::new("ns", name), uid: uid(name), rv: 1 }, Whose::Ours, name);
        }
        assert_eq!(known.from(&Key::new("ns", "aa")).map(|(_, name)| *name).collect::<Vec<_>>(), ["b"]);
        known.list_begins();
        known.listed(&Key::new("ns", "b"));
        assert_eq!(known.sight(&at("a", 2)), Sight::Changed, "an answer");
        assert_eq!(known.list_ends(), [(Key::new("ns", "a"), "a")]);
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn what_a_list_was_too_old_to_show_is_shown_by_the_watch_after_it() {
        let mut known = Known::default();
        let key = Key::new("ns", "a");
        known.put(at("1", 101), Whose::Ours, "made");
        known.list_begins();
        assert_eq!(known.list_ends().len(), 1);
        assert!(known.is_buried(&uid("1")), "an answer from before does not bring it back");
        assert_eq!(known.sight(&at("1", 101)), Sight::New);
        known.put(at("1", 101), Whose::Ours, "made");
        assert_eq!(known.gone(&key, &uid("1"), Whose::Ours), Some("made"));
        assert_eq!(known.sight(&at("1", 102)), Sight::Stale);
    }

    #[test]
    fn the_dead_of_each_side_are_forgotten_by_themselves() {
        let mut known = Known::default();
        known.put(at("mine", 1), Whose::Ours, ());
        assert_eq!(known.gone(&Key::new("ns", "a"), &uid("mine"), Whose::Ours), Some(()));
        for number in 0..=TOMBSTONES {
            known.gone(&Key::new("ns", "b"), &uid(&number.to_string()), Whose::Others);
        }
        assert!(known.is_buried(&uid("mine")) && known.is_buried(&uid("1")));
        assert!(!known.is_buried(&uid("0")), "the oldest of others");
        for number in 0..TOMBSTONES {
            known.gone(&Key::new("ns", "b"), &uid(&format!("own{number}")), Whose::Ours);
        }
        assert!(!known.is_buried(&uid("mine")) && known.is_buried(&uid("1")), "the oldest of ours");
    }
}
