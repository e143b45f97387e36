//! How many placeholders may be asked for: by one gang, and by the gangs of one namespace (01, 1.3).

use std::collections::BTreeMap;

use crate::core::base::ids::{GangId, Text};
use crate::core::model::books::Books;
use crate::core::model::gang::Stage;

/// The most placeholders that a gang may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostPlaceholders(pub u32);

impl Default for MostPlaceholders {
    fn default() -> Self {
        Self(5_000)
    }
}

impl MostPlaceholders {
    /// The most that gangs of one namespace ask for at a time which are past the gate and have not started.
    pub fn of_namespace(self) -> u64 {
        10 * u64::from(self.0)
    }
}

impl Books {
    /// How many placeholders the task groups of a gang may come to ask for, by namespace.
    pub fn placeholders_of(&self, id: GangId) -> BTreeMap<Text, u64> {
        let mut asked: BTreeMap<Text, u64> = BTreeMap::new();
        for group in self.groups_of(id).filter(|group| group.uses_placeholders()) {
            *asked.entry(group.key.namespace.clone()).or_default() += u64::from(group.spec().min_member);
        }
        asked
    }

    /// A namespace of a gang and what is asked for there, if there is no place for the placeholders of this one beside
    /// those of others.
    pub fn crowded_namespace(&self, id: GangId) -> Option<(Text, u64)> {
        self.placeholders_of(id).into_iter().find_map(|(namespace, own)| {
            let asked = self.reserved.get(&namespace).copied().unwrap_or(0);
            let is_beyond = asked + own > self.most_placeholders.of_namespace();
            is_beyond.then_some((namespace, asked))
        })
    }

    /// What a gang asks for in its namespaces in another stage.
    pub(super) fn reserve_for(&mut self, id: GangId, stage: &Stage) {
        let reserves = matches!(stage, Stage::Settling { .. } | Stage::Reserving);
        let now = if reserves { self.placeholders_of(id) } else { BTreeMap::new() };
        if self.gangs[id].reserved == now {
            return;
        }
        for (namespace, asked) in &now {
            *self.reserved.entry(namespace.clone()).or_default() += asked;
        }
        for (namespace, asked) in std::mem::replace(&mut self.gangs[id].reserved, now) {
            self.give_up_reserved(namespace, asked);
        }
    }

    fn give_up_reserved(&mut self, namespace: Text, asked: u64) {
        let sum = self.reserved.get_mut(&namespace).expect("it was counted");
        *sum -= asked;
        if *sum == 0 {
            self.reserved.remove(&namespace);
        }
        self.changes.freed.insert(namespace);
        self.changes.pass_due = true;
    }
}
