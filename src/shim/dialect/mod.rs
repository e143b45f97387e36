//! What other systems' words on a pod mean here (design 03, 3.4): one pure function for each system, from a pod to what it
//! belongs to and what it declares, or to the object that declares it.

pub mod coscheduling;
pub mod koordinator;
pub mod kubernetes;
pub mod pod_group;
pub mod volcano;
pub mod yunikorn;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use pod_group::Reference;

use crate::api::task_group::{Reservation, TaskGroupSpec};
use crate::core::base::ids::Text;
use crate::core::reason::SpecError;
use crate::shim::{digest, escape};

/// A system whose words are understood, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Koordinator.
    Koordinator,
    /// The Coscheduling plugin of kube-scheduler.
    Coscheduling,
    /// Volcano.
    Volcano,
    /// Apache YuniKorn.
    YuniKorn,
    /// Kubernetes itself: last, since its controller of Jobs makes a PodGroup for each Job, whoever else declares a gang of its pods.
    Kubernetes,
}

/// Seconds of `waitTimeoutSeconds` where neither the pod nor the configuration says it: Koordinator's own default.
pub const WAIT_TIMEOUT_SECONDS: u32 = 600;

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Koordinator, Self::Coscheduling, Self::Volcano, Self::YuniKorn, Self::Kubernetes];

    /// What a pod says in its words; none if it says nothing.
    fn read(self, pod: &Pod, wait_timeout_seconds: u32) -> Option<Spoken> {
        match self {
            Self::Koordinator => koordinator::read(pod, wait_timeout_seconds),
            Self::Coscheduling => coscheduling::read(pod, wait_timeout_seconds),
            Self::Volcano => volcano::read(pod),
            Self::YuniKorn => yunikorn::read(pod),
            Self::Kubernetes => kubernetes::read(pod),
        }
    }
}

/// What a pod says in the words of the first of these systems in which it names a gang, or else in which it says anything. What it
/// says in those of the others is left out, which is told. `wait_timeout_seconds` is meant where it does not say how long its gang
/// waits, in the words of a system that has such a default.
pub fn read(pod: &Pod, dialects: impl IntoIterator<Item = Dialect>, wait_timeout_seconds: u32) -> Option<Spoken> {
    let read = dialects.into_iter().filter_map(|dialect| dialect.read(pod, wait_timeout_seconds));
    // Such as the application that Spark writes on every pod.
    let (gangs, without): (Vec<_>, Vec<_>) = read.partition(Spoken::names_gang);
    let mut read = gangs.into_iter().chain(without);
    let mut spoken = read.next()?;
    let others: Vec<_> = read.map(|other| other.system).collect();
    if !others.is_empty() {
        let (system, others) = (spoken.system, others.join(" and "));
        let warning = format!("what is said in the words of {others} is left out, since those of {system} count first");
        spoken.warnings.insert(0, warning.into());
    }
    Some(spoken)
}

/// What a pod says in another system's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spoken {
    /// Whose words they are, for people.
    pub system: &'static str,
    /// The application that it belongs to; none where that cannot be read, which is among the problems.
    pub application: Option<Text>,
    /// The TaskGroup that it is a member of, by the name of the object.
    pub group: Option<Text>,
    /// The queue that it names.
    pub queue: Option<Text>,
    /// The TaskGroups that it declares.
    pub declares: Vec<Arc<Declared>>,
    /// The object that declares the TaskGroup of which it is a member.
    pub refers: Option<Arc<Reference>>,
    /// Task groups of nobody that it declares beside these, by the names that their TaskGroups would have: none is made, and
    /// pods that name one are ordinary pods of the application.
    pub left_out: Vec<Text>,
    /// Whether it says that its gang has timed out; none in words that do not say so.
    pub timed_out: Option<bool>,
    /// What is wrong. Such a pod gets no node, and nothing is made of what it declares.
    pub problems: Vec<SpecError>,
    /// What was read otherwise than it is written, for people.
    pub warnings: Vec<Text>,
}

impl Spoken {
    /// Whether the pod says which task groups its application has.
    pub const fn is_declaration(&self) -> bool {
        !self.declares.is_empty() || !self.left_out.is_empty()
    }

    /// Whether the pod is of a gang by these words, or was to be: what is wrong in them may have named one.
    pub const fn names_gang(&self) -> bool {
        self.group.is_some() || self.is_declaration() || !self.problems.is_empty()
    }

    /// Whether the pod says that its gang has timed out. It gets no node, and nothing is made of what it declares.
    pub const fn has_timed_out(&self) -> bool {
        matches!(self.timed_out, Some(true))
    }
}

/// Most warnings that are kept of one pod: people mend a few at a time.
const WARNINGS_MAX: usize = 16;
/// Longest warning, in characters.
const WARNING_MAX: usize = 200;

/// What was read otherwise than it is written: bounded in number and length, and escaped.
#[derive(Debug, Default)]
struct Warnings(Vec<Text>);

impl Warnings {
    fn add(&mut self, warning: impl FnOnce() -> String) {
        if self.0.len() < WARNINGS_MAX {
            self.0.push(escape::bounded(&warning(), WARNING_MAX));
        }
    }
}

/// A TaskGroup that a pod declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Name of the object.
    pub name: Text,
    /// Its spec.
    pub spec: TaskGroupSpec,
    /// With whom it goes: whoever makes the pod anew that declares it, or the pod where nobody does.
    pub owner: OwnerReference,
}

impl Declared {
    /// Whether another pod says the same of this TaskGroup, as far as it can.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let sizes = if self.says_sizes() { &other.spec.min_resource } else { &self.spec.min_resource };
        self.spec == TaskGroupSpec { min_resource: sizes.clone(), ..other.spec.clone() }
    }

    /// Whether `minResource` says how large the members are. Without placeholders each counts with what it requests; what one of
    /// them requests says nothing of the others.
    pub fn says_sizes(&self) -> bool {
        self.spec.reservation == Reservation::Placeholder
    }
}

/// A label. To these systems an empty text is none.
fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    said(pod.metadata.labels.as_ref()?.get(key))
}

/// An annotation, likewise.
fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    said(pod.metadata.annotations.as_ref()?.get(key))
}

fn said(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// Characters of a readable text that a name repeats.
const NAME_MAX: usize = 40;
/// Characters of the hash behind it: 16 of 5 bits.
const HASH: usize = 16;

/// A name that is fit for objects and labels: as much of a text as can be read in it, or the other one where nothing can, and a
/// hash, another one for each list of texts.
fn hashed(readable: &str, otherwise: &str, texts: &[&str]) -> Text {
    let kept = readable.to_ascii_lowercase();
    let kept = kept.chars().map(|one| if one.is_ascii_lowercase() || one.is_ascii_digit() { one } else { '-' });
    let kept: String = kept.skip_while(|one| *one == '-').take(NAME_MAX).collect();
    let kept = kept.trim_end_matches('-');
    let hash: String = digest::of_texts(texts.iter().copied())
        .iter()
        .take(HASH)
        .map(|byte| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[*byte as usize % 32]))
        .collect();
    format!("{}-{hash}", if kept.is_empty() { otherwise } else { kept }).into()
}

/// With whom a TaskGroup goes that this pod declares. A pod that its controller makes anew must not take along the gang that
/// goes on with the next one.
fn owner(pod: &Pod) -> OwnerReference {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true)).cloned().unwrap_or_else(|| itself(pod));
    // It controls the TaskGroup in no way, and nothing of it waits for the TaskGroup's end.
    OwnerReference { controller: None, block_owner_deletion: None, ..owner }
}

/// A pod as the owner of what goes with it.
fn itself(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}
