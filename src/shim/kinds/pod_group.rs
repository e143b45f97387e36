//! What is kept of other systems' PodGroups: what each says of the gang whose pods name it.

use super::Kept;
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::event::Event;
use crate::core::time::Mono;
use crate::shim::dialect::pod_group::{Family, Found, PENDING, PodGroup, PodGroupStatus, System, read};
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::shown::Shown;

/// What is kept of a PodGroup.
#[derive(Clone, Debug)]
pub struct PodGroupFacts {
    /// Its UID.
    pub uid: Uid,
    /// What it says; nothing where it is going and does not wait for its pods, or cannot be read.
    pub found: Option<Found>,
    /// What its status says of what we say there; nothing where it has none.
    pub status: Shown<Option<PodGroupStatus>>,
    /// What was last told of it that is wrong.
    pub told: Option<Text>,
    /// When a status of ours last left that was not refused for good.
    pub wrote: Option<Mono>,
}

impl PodGroupFacts {
    /// Whether its makers wait for a word that they may make its pods, and nothing is wrong with it. What was sent and not confirmed
    /// ends no waiting.
    pub fn waits(&self, system: System) -> bool {
        let is_right = self.found.as_ref().is_some_and(|found| found.problems.is_empty());
        let phase = self.status.last_seen().as_ref().map_or("", |status| &*status.phase);
        is_right && system.lets_in() && ["", PENDING].contains(&phase)
    }
}

/// All PodGroups of a system.
#[derive(Clone, Debug)]
pub(in crate::shim) struct PodGroups<F> {
    known: Known<PodGroupFacts>,
    family: std::marker::PhantomData<F>,
}

impl<F> Default for PodGroups<F> {
    fn default() -> Self {
        Self { known: Known::default(), family: std::marker::PhantomData }
    }
}

/// The core hears of TaskGroups alone, so that nothing follows for it.
impl<F: Family> Kept for PodGroups<F> {
    type Object = PodGroup<F>;
    type Facts = PodGroupFacts;

    fn known(&self) -> &Known<PodGroupFacts> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<PodGroupFacts> {
        &mut self.known
    }

    fn see(&mut self, at: Version, group: &PodGroup<F>) -> Vec<Event> {
        if matches!(self.known.sight(&at), Sight::Stale) {
            return Vec::new();
        }
        let (found, status) = (read(group), PodGroupStatus::read(F::SYSTEM, &group.status));
        match self.known.get_mut(&at.key) {
            Some(facts) => {
                facts.found = found;
                facts.status.read(status, false);
            }
            None => {
                let status = Shown::new(status);
                let facts = PodGroupFacts { uid: at.uid.clone(), found, status, told: None, wrote: None };
                self.known.put(at, Whose::Ours, facts);
            }
        }
        Vec::new()
    }

    fn see_malformed(&mut self, at: Version, _: Malformed) -> Vec<Event> {
        if !matches!(self.known.sight(&at), Sight::Stale) {
            let known = self.known.get(&at.key);
            let (told, wrote) = known.map_or((None, None), |facts| (facts.told.clone(), facts.wrote));
            let facts = PodGroupFacts { uid: at.uid.clone(), found: None, status: Shown::default(), told, wrote };
            self.known.put(at, Whose::Ours, facts);
        }
        Vec::new()
    }

    fn lost(&mut self, _: &Key, _: PodGroupFacts) -> Vec<Event> {
        Vec::new()
    }
}
