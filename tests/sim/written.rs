//! I8, I5, I4 of gangs that pods or PodGroups declare: what is made of them says what users wrote, as far as their process was told.

use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::Seen;
use gangline::shim::op::{GroupEdit, Kind};

use super::{EXCUSED_MS, GroupSeen, PodSeen, Process};
use crate::sim::oracle::Violation;
use crate::sim::words::{Family, Terms, WordsAct, made_of, terms_of};

/// A PodGroup as it was seen last.
#[derive(Clone)]
pub(super) struct PodGroupSeen {
    uid: Uid,
    /// What it says; nothing where it is wrong or cannot be read.
    terms: Option<Terms>,
    /// Since when it says that.
    changed_ms: u64,
}

impl Process {
    pub(super) fn see_pod_group(&mut self, kind: Kind, seen: &Seen) {
        let terms = seen.body.as_ref().ok().and_then(terms_of);
        let name = (kind, seen.key.clone());
        let old = self.pod_groups.get(&name).filter(|old| old.uid == seen.uid && old.terms == terms);
        let changed_ms = old.map_or(self.now_ms, |old| old.changed_ms);
        self.pod_groups.insert(name, PodGroupSeen { uid: seen.uid.clone(), terms, changed_ms });
    }

    /// A kind is not served any more: nothing is known of its objects.
    pub(super) fn lose_sight_of(&mut self, kind: Kind) {
        self.pod_groups.retain(|(of, _), _| *of != kind);
    }

    /// Names of PodGroups that it knows.
    pub(super) fn known_pod_groups(&self, kind: Kind) -> impl Iterator<Item = Key> {
        self.pod_groups.keys().filter(move |(of, _)| *of == kind).map(|(_, key)| key.clone())
    }

    /// I8: a TaskGroup is made that a pod declares which waits for a node, itself or by the PodGroup that it names; and it says what
    /// is written there.
    pub(super) fn judge_declared(&self, made: &TaskGroup) -> Result<(), Violation> {
        let (namespace, name) = (made.metadata.namespace.as_deref(), made.metadata.name.as_deref());
        let key = Key::new(namespace.unwrap_or_default(), name.unwrap_or_default());
        let waits = |pod: &PodSeen| pod.ours && pod.node.is_none() && !pod.ended;
        let says = |words: &WordsAct| {
            let terms = words.terms().or_else(|| self.terms_of_its_owner(made, &key, words.way.family()?));
            *words.gang == *key.name && terms.is_some_and(|terms| terms.are_said_by(&made.spec))
        };
        let declares =
            |pod: &PodSeen| pod.declares.iter().any(|own| **own == *key.name) || pod.words.as_ref().is_some_and(says);
        if self.pods.iter().any(|(of, pod)| of.namespace == key.namespace && waits(pod) && declares(pod)) {
            return Ok(());
        }
        let what = format!("TaskGroup {key} is made, which nobody declares so: {:?}", made.spec);
        Err(Violation::new("I8", what))
    }

    /// What the PodGroup says with which a TaskGroup is to go.
    fn terms_of_its_owner(&self, made: &TaskGroup, key: &Key, family: Family) -> Option<Terms> {
        let (kind, uid) = made_of(made).filter(|(kind, _)| *kind == family.kind())?;
        let there = self.pod_groups.get(&(kind, key.clone()));
        there.filter(|there| *there.uid.0 == *uid)?.terms.clone()
    }

    /// I8: a TaskGroup is edited to what its PodGroup says.
    pub(super) fn judge_edit(&self, key: &Key, uid: &Uid, edit: &GroupEdit) -> Result<(), Violation> {
        let there = self.groups.get(uid).and_then(|group| self.origin_of(group));
        let said = there.and_then(|there| there.terms.as_ref());
        if said.is_some_and(|terms| terms.are_said_by_edit(edit)) {
            return Ok(());
        }
        Err(Violation::new("I8", format!("TaskGroup {key} is edited to {edit:?}, and {said:?} is written")))
    }

    /// Whether a TaskGroup was made of a PodGroup whose name another has by now: it goes, and is nobody's any more.
    pub(super) fn is_left(&self, group: &GroupSeen) -> bool {
        let origin = group.last.as_ref().and_then(|last| made_of(last));
        origin.is_some_and(|(kind, uid)| {
            self.pod_groups.get(&(kind, group.key.clone())).is_some_and(|there| *there.uid.0 != *uid)
        })
    }

    /// Whether the PodGroup is gone of which a TaskGroup was made: that counts as gone from then on.
    pub(super) fn is_orphaned(&self, group: &GroupSeen) -> bool {
        group.last.as_ref().is_some_and(|last| made_of(last).is_some()) && self.origin_of(group).is_none()
    }

    /// The PodGroup of which a TaskGroup was made, as it is known.
    fn origin_of(&self, group: &GroupSeen) -> Option<&PodGroupSeen> {
        let (kind, uid) = made_of(group.last.as_ref()?)?;
        self.pod_groups.get(&(kind, group.key.clone())).filter(|there| *there.uid.0 == *uid)
    }

    /// How many a gang needs that has not started in its first life, where its PodGroup was edited and has said that for a while. (How
    /// many it needs in a later one follows from when it was edited.)
    pub(super) fn written_min(&self, group: &GroupSeen) -> Option<u32> {
        let last = group.last.as_ref()?;
        let there = self.origin_of(group)?;
        let is_old = self.now_ms >= there.changed_ms + EXCUSED_MS;
        let waits = last.status.as_ref().is_none_or(|status| {
            status.incarnation <= 1 && ["New", "Accepted"].contains(&status.application_state.as_str())
        });
        let min = there.terms.as_ref()?.min;
        (is_old && waits && last.spec.min_member == min).then_some(min)
    }
}
