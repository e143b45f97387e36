//! What is kept of TaskGroups: what their placeholders are made of, and their status as it stands and as it is on its
//! way.

use super::Kept;
use crate::api::task_group::{TaskGroup, TaskGroupStatus};
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::base::resources::Resources;
use crate::core::event::{Event, GroupSpec, MatchPolicy, Mode, PlaceholderFor, Remembered, Reservation, Style};
use crate::core::model::countdown::{Deadline, Timeouts};
use crate::core::reason::SpecError;
use crate::shim::dialect::pod_group::{self, System};
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::placeholder::Blueprint;
use crate::shim::shown::Shown;
use crate::shim::submitter;
use crate::shim::task_group::{blueprint, group_spec};

/// All TaskGroups.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct TaskGroups {
    known: Known<GroupFacts>,
    /// What they say of who submitted them is believed.
    knows_submitters: bool,
}

impl TaskGroups {
    /// No TaskGroups.
    pub(in crate::shim) fn new(knows_submitters: bool) -> Self {
        Self { knows_submitters, ..Self::default() }
    }

    fn spec(&self, group: &TaskGroup) -> GroupSpec {
        let submitter = if self.knows_submitters { submitter::read(group.metadata.annotations.as_ref()) } else { None };
        GroupSpec { submitter, ..group_spec(group) }
    }
}

/// What is kept of a TaskGroup.
#[derive(Clone, Debug)]
pub struct GroupFacts {
    /// Its UID.
    pub uid: Uid,
    /// What its placeholders are made of; `None` while it could never be read.
    pub blueprint: Option<Blueprint>,
    /// Its status.
    pub status: Shown<TaskGroupStatus>,
    /// The PodGroup of which it was made.
    pub made_of: Option<MadeOf>,
}

/// The PodGroup of which a TaskGroup was made.
#[derive(Clone, Debug)]
pub struct MadeOf {
    /// Whose kind it is.
    pub system: System,
    /// Its UID.
    pub uid: Uid,
    /// The TaskGroup as it was last seen.
    pub spec: Box<GroupSpec>,
    /// The PodGroup is gone, or another one has its name: the API server will take the TaskGroup away, which counts as gone.
    pub is_left: bool,
}

/// What a TaskGroup was made of, as its owners say.
fn made_of(group: &TaskGroup, spec: &GroupSpec, before: Option<&MadeOf>) -> Option<MadeOf> {
    let (system, uid) = pod_group::origin(&group.metadata)?;
    let is_left = before.is_some_and(|before| before.is_left && before.uid == uid);
    Some(MadeOf { system, uid, spec: Box::new(spec.clone()), is_left })
}

impl Kept for TaskGroups {
    type Object = TaskGroup;
    type Facts = GroupFacts;

    fn known(&self) -> &Known<GroupFacts> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<GroupFacts> {
        &mut self.known
    }

    fn see(&mut self, at: Version, group: &TaskGroup) -> Vec<Event> {
        let mut events = Vec::new();
        match self.known.sight(&at) {
            Sight::Stale => return events,
            Sight::Replaced(facts) => events.extend(self.lost(&at.key, facts)),
            Sight::New | Sight::Changed => {}
        }
        let blueprint = Some(blueprint(group));
        let (key, spec) = (at.key.clone(), Box::new(self.spec(group)));
        let made_of = made_of(group, &spec, self.known.get(&key).and_then(|facts| facts.made_of.as_ref()));
        let counts = made_of.as_ref().is_none_or(|made_of| !made_of.is_left);
        let is_first_reading = self.known.get(&key).is_some_and(|facts| facts.blueprint.is_none());
        match self.known.get_mut(&key) {
            Some(facts) => (facts.blueprint, facts.made_of) = (blueprint, made_of),
            None => {
                let status = Shown::new(group.status.clone().unwrap_or_default());
                let facts = GroupFacts { uid: at.uid.clone(), blueprint, status, made_of };
                self.known.put(at, Whose::Ours, facts);
            }
        }
        if counts {
            events.push(if is_first_reading { Event::GroupRead(key, spec) } else { Event::Group(key, spec) });
        }
        events
    }

    fn see_malformed(&mut self, at: Version, malformed: Malformed) -> Vec<Event> {
        match self.known.sight(&at) {
            // What was known of it stays: its members may run.
            Sight::Stale | Sight::Changed => Vec::new(),
            Sight::New | Sight::Replaced(_) => {
                let (key, uid) = (at.key.clone(), at.uid.clone());
                let spec = unreadable(&key, uid.clone(), malformed);
                self.known.put(
                    at,
                    Whose::Ours,
                    GroupFacts { uid, blueprint: None, status: Shown::default(), made_of: None },
                );
                vec![Event::GroupGone(key.clone()), Event::Group(key, Box::new(spec))]
            }
        }
    }

    fn lost(&mut self, key: &Key, _: GroupFacts) -> Vec<Event> {
        vec![Event::GroupGone(key.clone())]
    }
}

/// A TaskGroup of which nothing is known but that it cannot be read.
fn unreadable(key: &Key, uid: Uid, malformed: Malformed) -> GroupSpec {
    let Malformed { problem, generation } = malformed;
    GroupSpec {
        uid,
        generation,
        created: 0,
        application: key.name.clone(),
        queue: None,
        submitter: None,
        min_member: 1,
        total_member: None,
        min_resource: Resources::default(),
        shape: Default::default(),
        gang: vec![key.clone()],
        across: None,
        reservation: Reservation::Placeholder,
        placeholder_for: PlaceholderFor::Missing,
        style: Style::Soft,
        mode: Mode::Strict,
        match_policy: MatchPolicy::OnceSatisfied,
        timeouts: Timeouts::default().with(Deadline::Completion, Some(0)),
        seat_hold: 0,
        errors: vec![SpecError { field: Text::from("the object"), problem }],
        remembered: Remembered::default(),
        terminating: false,
        awaits_edit: false,
    }
}
