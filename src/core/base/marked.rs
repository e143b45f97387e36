//! Ids that were marked since they were last taken, each once: a mark costs the same however many there are.

use crate::core::base::arena::Id;

/// A set of ids that is filled one by one and taken as a whole.
#[derive(Clone, Debug)]
pub struct Marked<I> {
    /// By slot, one more than the generation of the id that is marked there last; 0 for none.
    marks: Vec<u32>,
    ids: Vec<I>,
}

impl<I> Default for Marked<I> {
    fn default() -> Self {
        Self { marks: Vec::new(), ids: Vec::new() }
    }
}

impl<I: Id> Marked<I> {
    /// Marks an id.
    pub fn insert(&mut self, id: I) {
        let slot = id.index() as usize;
        if slot >= self.marks.len() {
            self.marks.resize(slot + 1, 0);
        }
        let mark = id.generation().wrapping_add(1);
        if std::mem::replace(&mut self.marks[slot], mark) != mark {
            self.ids.push(id);
        }
    }

    /// All that are marked, in no order; none is afterwards.
    pub fn take(&mut self) -> Vec<I> {
        let ids = std::mem::take(&mut self.ids);
        ids.iter().for_each(|id| self.marks[id.index() as usize] = 0);
        ids
    }

    /// How many are marked.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether none is marked.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl<I: Id> Extend<I> for Marked<I> {
    fn extend<T: IntoIterator<Item = I>>(&mut self, ids: T) {
        ids.into_iter().for_each(|id| self.insert(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::ids::AppId;

    #[test]
    fn an_id_is_marked_once_and_not_taken_for_its_successor() {
        let [one, later, other] = [AppId::new(3, 0), AppId::new(3, 1), AppId::new(0, 0)];
        let mut marked = Marked::default();
        marked.extend([one, other, one, later, later]);
        assert_eq!((marked.len(), marked.take()), (3, vec![one, other, later]));
        marked.insert(later);
        assert_eq!((marked.take(), marked.is_empty()), (vec![later], true));
    }
}
