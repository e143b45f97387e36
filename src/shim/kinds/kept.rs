//! What is kept of the objects of one kind, and what every kind does in the same way.

use crate::core::base::ids::{Key, Uid};
use crate::core::event::Event;
use crate::shim::known::{Known, Version, Whose};
use crate::shim::observation::Malformed;

/// The objects of one kind as the ledger keeps them. What is asked for here is what differs from kind to kind.
pub(in crate::shim) trait Kept {
    /// The type of the objects.
    type Object;
    /// What is kept of each.
    type Facts;

    /// The objects that are known.
    fn known(&self) -> &Known<Self::Facts>;

    /// The objects that are known, to be changed.
    fn known_mut(&mut self) -> &mut Known<Self::Facts>;

    /// Whose an object is.
    fn whose(&self, _: &Self::Object) -> Whose {
        Whose::Ours
    }

    /// Takes an object as seen at one version; returns what follows for the core.
    fn see(&mut self, at: Version, object: &Self::Object) -> Vec<Event>;

    /// Takes an object that does not decode; returns what follows for the core. What was known of the object stays, and
    /// if it has a status, that says what is wrong.
    fn see_malformed(&mut self, at: Version, malformed: Malformed) -> Vec<Event>;

    /// An object was taken out of those that are known; returns what follows for the core.
    fn lost(&mut self, key: &Key, facts: Self::Facts) -> Vec<Event>;

    /// What is remembered beside the objects, by name, if there is any of it.
    fn beside(&self) -> Option<&'static str> {
        None
    }
}

/// The same for all kinds alike.
pub(in crate::shim) trait AnyKept {
    /// A list begins: what it does not show is gone at its end.
    fn list_begins(&mut self);

    /// The list that is under way shows an object of this name.
    fn listed(&mut self, key: &Key);

    /// The list is complete; returns what follows for the core from what it did not show.
    fn list_ends(&mut self) -> Vec<Event>;

    /// Whether there are objects cannot be known any more: none counts, and nothing follows for the core.
    fn forget(&mut self);

    /// Takes an object that does not decode; returns what follows for the core.
    fn see_malformed(&mut self, at: Version, malformed: Malformed) -> Vec<Event>;

    /// An object is gone; returns what follows for the core.
    fn lose(&mut self, key: &Key, uid: &Uid, whose: Whose) -> Vec<Event>;

    /// How many objects are known.
    fn count(&self) -> usize;

    /// What is remembered beside the objects, by name, if there is any of it.
    fn beside(&self) -> Option<&'static str>;
}

impl<K: Kept> AnyKept for K {
    fn list_begins(&mut self) {
        self.known_mut().list_begins();
    }

    fn listed(&mut self, key: &Key) {
        self.known_mut().listed(key);
    }

    fn list_ends(&mut self) -> Vec<Event> {
        let gone = self.known_mut().list_ends();
        gone.into_iter().flat_map(|(key, facts)| self.lost(&key, facts)).collect()
    }

    fn forget(&mut self) {
        self.known_mut().forget();
    }

    fn see_malformed(&mut self, at: Version, malformed: Malformed) -> Vec<Event> {
        Kept::see_malformed(self, at, malformed)
    }

    fn lose(&mut self, key: &Key, uid: &Uid, whose: Whose) -> Vec<Event> {
        let gone = self.known_mut().gone(key, uid, whose);
        gone.map(|facts| self.lost(key, facts)).unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.known().len()
    }

    fn beside(&self) -> Option<&'static str> {
        Kept::beside(self)
    }
}
