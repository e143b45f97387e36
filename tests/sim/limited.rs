//! Limits of users and groups at rest: what queues say of those (I12), and how many applications each of them has (I3).

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::{LimitedStatus, Queue, QueueStatus};
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;
use gangline::sim::store::metadata;

use super::application_of;
use crate::sim::amount::Amount;
use crate::sim::limits::{Submitter, most};
use crate::sim::marks::queue_mark;
use crate::sim::people::levels;
use crate::sim::world::World;

impl World {
    /// I12: a queue says of every user and group that it limits what they use of it, and what they may. `kept`: what may be used
    /// beside.
    pub(super) fn wrong_limited(&self, name: &str, queue: &Queue, kept: Amount) -> Option<String> {
        let exists = |level: &str| self.api.store.get(Kind::Queue, &Key::cluster(level)).is_some();
        let is_whole = levels(name).skip(1).all(|level| level == "root.default" || exists(level));
        let status = queue.status.as_ref().filter(|_| is_whole)?;
        let mut used = self.used_by_submitters(name, queue);
        let wrong = status.limited.iter().find_map(|said| {
            let whose = whose(said);
            let least = used.remove(&whose).unwrap_or_default();
            let uses = Amount::of(Some(&said.allocated), Amount::default());
            let is_right = least.is_within(uses) && uses.is_within(least + kept);
            (!is_right).then(|| format!("{whose} is said to use {uses:?}: {least:?}, and {kept:?} may be kept"))
        });
        let hidden = || used.iter().find(|(_, used)| **used != Amount::default());
        let wrong = wrong.or_else(|| hidden().map(|(whose, used)| format!("{whose} uses {used:?}, which is not said")));
        wrong.or_else(|| self.wrong_bounds(queue, status))
    }

    /// What those use whom a queue limits, by what their pods say.
    fn used_by_submitters(&self, name: &str, queue: &Queue) -> BTreeMap<String, Amount> {
        let mut used: BTreeMap<String, Amount> = BTreeMap::new();
        for (_, body) in self.pods() {
            let Body::Pod(pod) = body else { continue };
            let is_in = queue_mark(body).is_some_and(|queue| levels(&queue).any(|level| level == name));
            let submitter = Submitter::of_pod(pod).filter(|_| is_in && !has_ended(pod));
            for (whose, _) in submitter.iter().flat_map(|submitter| submitter.limits(&queue.spec.limits)) {
                let sum = used.entry(whose).or_default();
                *sum = *sum + Amount::of_pod(pod);
            }
        }
        used
    }

    /// Of whom something is there, the limits are shown that its queue has for them.
    fn wrong_bounds(&self, queue: &Queue, status: &QueueStatus) -> Option<String> {
        let submitters: BTreeSet<Submitter> = [Kind::Pod, Kind::TaskGroup]
            .into_iter()
            .flat_map(|kind| self.api.store.of_kind(kind))
            .filter_map(|(_, body)| Submitter::of(metadata(body).annotations.as_ref()))
            .collect();
        let limits: BTreeMap<String, _> =
            submitters.iter().flat_map(|submitter| submitter.limits(&queue.spec.limits)).collect();
        status.limited.iter().find_map(|said| {
            let limit = limits.get(&whose(said))?;
            let says = Amount::of(Some(&said.max), Amount::ENDLESS);
            let is_right = says == most(limit) && said.max_applications == limit.max_applications;
            (!is_right).then(|| format!("{} may use {limit:?}, and {says:?} is said", whose(said)))
        })
    }

    /// I3: no user and no group has more applications in a queue than it may, where that always had these limits.
    pub(super) fn check_limited_applications(&mut self) {
        let mut apps: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
        for (app, queue) in self.counted_applications() {
            let Some(submitter) = self.submitter_of(&app) else { continue };
            for level in levels(&queue).filter(|level| !self.relimited.contains(*level)) {
                let Some(Body::Queue(queue)) = self.api.store.get(Kind::Queue, &Key::cluster(level)) else { continue };
                for (whose, limit) in submitter.limits(&queue.spec.limits) {
                    let Some(most) = limit.max_applications else { continue };
                    let own = apps.entry(format!("{whose} in {level}")).or_insert((most as usize, BTreeSet::new()));
                    own.1.insert(app.clone());
                }
            }
        }
        if let Some((whose, (most, found))) = apps.into_iter().find(|(_, (most, apps))| apps.len() > *most) {
            self.violated("I3", format!("{whose} has {found:?}, and may have {most}"));
        }
    }

    /// Who submitted an application, where all of its task groups say the same and always did.
    fn submitter_of(&self, application: &str) -> Option<Submitter> {
        let mut own = self.groups();
        own.retain(|(name, group)| application_of(name, group) == application);
        let is_as_it_was = own.iter().all(|(name, _)| !self.disturbed.contains_key(name));
        let mut all = own.iter().map(|(_, group)| Submitter::of(group.metadata.annotations.as_ref()));
        let first = all.next().flatten().filter(|_| is_as_it_was)?;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

/// For whom a limit counts that is shown: `user alice`.
pub(super) fn whose(said: &LimitedStatus) -> String {
    let of_group = said.group.iter().map(|group| format!("group {group}"));
    said.user.iter().map(|user| format!("user {user}")).chain(of_group).collect()
}
