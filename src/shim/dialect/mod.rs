//! What other systems' words on a pod mean here (design 03, 3.4): one pure function for each system, from a pod to what it
//! belongs to and what it declares.

pub mod yunikorn;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::api::task_group::TaskGroupSpec;
use crate::core::base::ids::Text;
use crate::core::reason::SpecError;
use crate::shim::escape;

/// A system whose words are understood, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Apache YuniKorn.
    YuniKorn,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::YuniKorn];

    /// What a pod says in its words; none if it says nothing.
    pub fn read(self, pod: &Pod) -> Option<Spoken> {
        match self {
            Self::YuniKorn => yunikorn::read(pod),
        }
    }
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
    /// Task groups of nobody that it declares beside these, by the names that their TaskGroups would have: none is made, and
    /// pods that name one are ordinary pods of the application.
    pub left_out: Vec<Text>,
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
