//! Storage by index and generation: a stale id finds nothing, and nothing is iterated in order of arrival by accident.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;

/// An index into an [`Arena`] with the generation of its slot.
pub trait Id: Copy + Eq {
    /// The id of a slot.
    fn new(index: u32, generation: u32) -> Self;
    /// The slot.
    fn index(self) -> u32;
    /// The slot's generation.
    fn generation(self) -> u32;
}

/// Values under ids that are never given twice.
#[derive(Clone, Debug)]
pub struct Arena<I, T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
    live: usize,
    id: PhantomData<I>,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), live: 0, id: PhantomData }
    }
}

impl<I: Id, T> Arena<I, T> {
    /// Stores a value under a new id.
    pub fn insert(&mut self, value: T) -> I {
        self.live += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.1 = Some(value);
            return I::new(index, slot.0);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 objects fit into memory");
        self.slots.push((0, Some(value)));
        I::new(index, 0)
    }

    /// Takes a value out; its id is dead afterwards.
    pub fn remove(&mut self, id: I) -> Option<T> {
        let slot = self.slots.get_mut(id.index() as usize).filter(|slot| slot.0 == id.generation())?;
        let value = slot.1.take()?;
        slot.0 += 1;
        self.free.push(id.index());
        self.live -= 1;
        Some(value)
    }

    /// The value under a live id.
    pub fn get(&self, id: I) -> Option<&T> {
        self.slots.get(id.index() as usize).filter(|slot| slot.0 == id.generation())?.1.as_ref()
    }

    /// The value under a live id, to change it.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.index() as usize).filter(|slot| slot.0 == id.generation())?.1.as_mut()
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// All values in slot order: for sums and audits, never to choose one.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, (generation, value))| {
            value.as_ref().map(|value| (I::new(index as u32, *generation), value))
        })
    }
}

impl<I: Id, T> std::ops::Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        self.get(id).expect("ids inside the core are live")
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).expect("ids inside the core are live")
    }
}

/// A hash map that can be asked but not iterated: its order can decide nothing.
#[derive(Clone, Debug)]
pub struct Lookup<K, V>(HashMap<K, V>);

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash, V> Lookup<K, V> {
    /// Stores a value; returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// Takes a value out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.0.remove(key)
    }

    /// The value of a key.
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.0.get(key)
    }

    /// The value of a key, to change it.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.0.get_mut(key)
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Values under ids that somebody else gives: a side table of another arena.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    slots: Vec<Option<(I, T)>>,
    live: usize,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { slots: Vec::new(), live: 0 }
    }
}

impl<I: Id, T> Table<I, T> {
    /// Stores a value; one under an earlier id of the same slot is dropped.
    pub fn insert(&mut self, id: I, value: T) {
        let index = id.index() as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        self.live += usize::from(self.slots[index].is_none());
        self.slots[index] = Some((id, value));
    }

    /// Takes a value out.
    pub fn remove(&mut self, id: I) -> Option<T> {
        let slot = self.slots.get_mut(id.index() as usize)?;
        if slot.as_ref()?.0 != id {
            return None;
        }
        self.live -= 1;
        slot.take().map(|(_, value)| value)
    }

    /// The value of an id.
    pub fn get(&self, id: I) -> Option<&T> {
        self.slots.get(id.index() as usize)?.as_ref().filter(|(own, _)| *own == id).map(|(_, value)| value)
    }

    /// The value of an id, to change it.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.index() as usize)?.as_mut().filter(|(own, _)| *own == id).map(|(_, value)| value)
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// All values in slot order: for sums and audits, never to choose one.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.slots.iter().flatten().map(|(id, value)| (*id, value))
    }
}

impl<I: Id, T> std::ops::Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        self.get(id).expect("ids inside the core are live")
    }
}

impl<I: Id, T> std::ops::IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).expect("ids inside the core are live")
    }
}
