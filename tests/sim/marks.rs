//! What Bindings and labels of ours say, read by itself and not as the scheduler reads it.

use std::collections::BTreeMap;

use gangline::core::base::ids::Uid;
use gangline::shim::observation::Body;
use gangline::sim::store::metadata;

use super::people::{APPLICATION, TASK_GROUP, is_placeholder, label, node_of};

/// The annotation that a Binding leaves.
pub(crate) const MARK: &str = "gangline.dev/binding";

/// A seat in one life of a task group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seat {
    /// `UID.LIFE`.
    pub(crate) incarnation: String,
    pub(crate) number: u32,
}

impl Seat {
    /// Of the task group.
    pub(crate) fn uid(&self) -> Uid {
        Uid::new(uid_in(&self.incarnation))
    }

    /// Which life of it, from 1.
    pub(crate) fn life(&self) -> Option<u32> {
        life_in(&self.incarnation)
    }
}

fn uid_in(incarnation: &str) -> &str {
    incarnation.rsplit_once('.').map_or("", |(uid, _)| uid)
}

/// One word of a mark: `queue=root.a`.
fn word<'a>(mark: &'a str, name: &str) -> Option<&'a str> {
    mark.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

fn mark_of(pod: &Body) -> Option<&str> {
    metadata(pod).annotations.as_ref()?.get(MARK).map(String::as_str)
}

/// The queue that a Binding charges its pod to.
pub(crate) fn queue_in(annotations: &BTreeMap<String, String>) -> Option<&str> {
    word(annotations.get(MARK)?, "queue")
}

/// UID of the task group for which a Binding is.
pub(crate) fn group_in(annotations: &BTreeMap<String, String>) -> Option<Uid> {
    Some(Uid::new(uid_in(word(annotations.get(MARK)?, "incarnation")?)))
}

/// Name of the task group of which a Binding makes its pod a member.
pub(crate) fn member_of(annotations: &BTreeMap<String, String>) -> Option<&str> {
    word(annotations.get(MARK)?, "task-group")
}

/// The life of a task group for which a Binding is: `UID.LIFE`.
pub(crate) fn incarnation_in(annotations: &BTreeMap<String, String>) -> Option<&str> {
    word(annotations.get(MARK)?, "incarnation")
}

/// The seat that a Binding gives.
pub(crate) fn seat_in(annotations: &BTreeMap<String, String>) -> Option<Seat> {
    seat(annotations.get(MARK)?)
}

fn seat(mark: &str) -> Option<Seat> {
    Some(Seat { incarnation: word(mark, "incarnation")?.to_owned(), number: word(mark, "seat")?.parse().ok()? })
}

/// The queue that a pod is charged to, by its Binding.
pub(crate) fn queue_mark(pod: &Body) -> Option<String> {
    node_of(pod)?;
    word(mark_of(pod)?, "queue").map(str::to_owned)
}

/// UID of the TaskGroup for which a pod was bound, by its Binding.
pub(crate) fn uid_mark(pod: &Body) -> Option<&str> {
    word(mark_of(pod)?, "incarnation").map(uid_in)
}

/// The life of the TaskGroup for which a pod was bound, by its Binding.
pub(crate) fn life_mark(pod: &Body) -> Option<u32> {
    life_in(incarnation_mark(pod)?)
}

/// The same with the UID: `UID.LIFE`.
pub(crate) fn incarnation_mark(pod: &Body) -> Option<&str> {
    word(mark_of(pod)?, "incarnation")
}

/// The life in `UID.LIFE`.
pub(crate) fn life_in(incarnation: &str) -> Option<u32> {
    incarnation.rsplit_once('.')?.1.parse().ok()
}

/// The seat of a member, by its Binding.
pub(crate) fn seat_mark(pod: &Body) -> Option<Seat> {
    seat(mark_of(pod)?)
}

/// The seat of a placeholder.
pub(crate) fn seat_label(pod: &Body) -> Option<Seat> {
    let incarnation = label(pod, "gangline.dev/incarnation")?.to_owned();
    Some(Seat { incarnation, number: label(pod, "gangline.dev/seat")?.parse().ok()? })
}

/// The group of a pod: the one that it was bound for, or the one that it names.
pub(crate) fn group_of(pod: &Body) -> Option<&str> {
    bound_for(pod, "task-group", TASK_GROUP)
}

/// The application of a pod outside task groups: the one that it was bound for, or the one that it names.
pub(crate) fn application_of_pod(pod: &Body) -> Option<&str> {
    bound_for(pod, "application", APPLICATION)
}

/// What our Binding says, since labels can change later, else what a label says.
fn bound_for<'a>(pod: &'a Body, name: &str, labelled: &str) -> Option<&'a str> {
    match mark_of(pod).filter(|_| node_of(pod).is_some() && !is_placeholder(pod)) {
        Some(mark) => word(mark, name),
        None => label(pod, labelled),
    }
}

/// A member: not a placeholder, and not one that says so.
pub(crate) fn is_member(pod: &Body) -> bool {
    !is_placeholder(pod) && group_of(pod).is_some()
}
