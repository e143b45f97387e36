//! What users wrote of gangs in the words of others is what becomes of them (I4, I8, L2), by what stands on their pods and PodGroups
//! and not by the TaskGroups that are made of these.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::{has_ended, is_gated};
use gangline::sim::store::metadata;

use crate::sim::people::{NS, node_of, says_timed_out};
use crate::sim::words::{Family, WordsAct, made_of, team_of, terms_of, words_of};
use crate::sim::world::World;

impl World {
    /// What holds of them whenever everything has come to rest.
    pub(super) fn check_written(&mut self) {
        if let Some(what) = self.starts_with_others() {
            self.violated("I4", what);
        }
        if let Some(what) = self.says_otherwise() {
            self.violated("I8", what);
        }
    }

    /// Pods that speak so.
    fn speaking(&self) -> impl Iterator<Item = (&Key, &Body, WordsAct)> {
        let here = self.api.store.of_kind(Kind::Pod).filter(|(key, _)| &*key.namespace == NS);
        here.filter_map(|(key, body)| Some((key, body, words_of(body)?)))
    }

    /// I4: nobody is bound of a gang that lists one which does not list the same.
    fn starts_with_others(&self) -> Option<String> {
        let kinds = [Kind::Pod].into_iter().chain(Family::ALL.map(Family::kind));
        let written = kinds.flat_map(|kind| self.api.store.of_kind(kind)).filter_map(|(_, body)| team_of(body));
        let teams: BTreeMap<String, BTreeSet<String>> = written.collect();
        let differs = |own: &str| {
            let team = teams.get(own)?;
            let mut others = team.iter().filter_map(|name| name.split_once('/'));
            others.find_map(|(_, other)| teams.get(other).filter(|theirs| *theirs != team).map(|_| other))
        };
        self.speaking().find_map(|(key, body, words)| {
            let other = node_of(body).and_then(|_| differs(&words.gang))?;
            Some(format!("{key} is bound, and its gang lists {other}, which does not list the same"))
        })
    }

    /// I8: a TaskGroup that was made of a PodGroup says what that says, until its gang has started.
    fn says_otherwise(&self) -> Option<String> {
        let waits = |name: &str| self.speaking().any(|(_, body, words)| words.gang == name && waits_for_a_node(body));
        self.groups().into_iter().find_map(|(name, group)| {
            let (kind, uid) = made_of(&group)?;
            let there = self.api.store.get(kind, &Key::new(NS, name.as_str()))?;
            let terms = terms_of(there).filter(|_| metadata(there).uid.as_deref() == Some(uid))?;
            let state = group.status.as_ref().map_or("", |status| status.application_state.as_str());
            let is_before = ["New", "Accepted"].contains(&state);
            (is_before && !terms.are_followed_by(&group.spec) && waits(&name))
                .then(|| format!("{name} says {:?}, and {terms:?} are written", group.spec))
        })
    }

    /// L2: of what a pod says that waits, itself or by the PodGroup that it names, a TaskGroup is made, unless one of its gang has a
    /// node already: then it may be placed by itself (ADR 29). Nothing is made of one that says that its gang has timed out (ADR 42).
    pub(super) fn check_all_are_made(&mut self) {
        let made: BTreeSet<String> = self.groups().into_iter().map(|(name, _)| name).collect();
        let has_nodes: BTreeSet<String> =
            self.speaking().filter(|(_, body, _)| node_of(body).is_some()).map(|(_, _, words)| words.gang).collect();
        let is_right = |words: &WordsAct| match words.way.family() {
            None => !has_nodes.contains(&words.gang),
            Some(family) => {
                let there = self.api.store.get(family.kind(), &Key::new(NS, words.gang.as_str()));
                there.and_then(terms_of).is_some()
            }
        };
        let lacks = |body: &Body, words: &WordsAct| {
            waits_for_a_node(body) && !says_timed_out(body) && !made.contains(&words.gang) && is_right(words)
        };
        let left = self.speaking().find(|(_, body, words)| lacks(body, words));
        if let Some(what) = left.map(|(key, _, words)| format!("{key} waits, and nothing is made of {words:?}")) {
            self.violated("L2", what);
        }
    }
}

fn waits_for_a_node(body: &Body) -> bool {
    let Body::Pod(pod) = body else { return false };
    node_of(body).is_none() && !has_ended(pod) && !is_gated(pod) && pod.metadata.deletion_timestamp.is_none()
}
